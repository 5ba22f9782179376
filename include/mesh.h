// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Sessions between hosts. Every host dials every voter and keeps the link; the voter that leads is the one
// it talks to. When this host leads itself, the same messages go through a queue in the process: agent and
// leader never notice the difference.
//
//   this host's agent  --mesh_to_leader()-->  ops.to_leader at the leader's host
//   the leader         --mesh_to_host()---->  ops.to_host at that host
//
// Links are cheap when idle: no frames but the agent's beats on the leader's link; the kernel's keep-alive
// finds dead peers. A link that is lost is dialled again with a growing, jittered delay. Nothing is kept for
// a link that is down, and a peer that takes nothing is cut (STREAM_QUEUE_MAX): the conversation starts
// again from the beginning (Attach) when the link is back.
//
// No callback fires from inside a call to a function of this file.

#include <stdbool.h>
#include <uv.h>

#include "argosy.pb-c.h"
#include "buf.h"
#include "counter.h"
#include "hash.h"
#include "mesh-peer.h"
#include "stream.h"

typedef struct Mesh Mesh;
typedef struct TlsContext TlsContext;

enum {
        MESH_VOTERS_MAX = 64,     // to dial at a time
        MESH_REDIAL_MIN_MS = 100, // first delay; doubles with each failure
        MESH_REDIAL_MAX_MS = 2000,
        // bytes of memory that a host's message may take; what holds more is told in parts
        MESH_MESSAGE_COST_MAX = 48 * 1024 * 1024,
};

typedef struct MeshLinkInfo { // to a voter; pointers are valid until the loop runs on
        uint32_t host;
        const MeshPeer *peer;
        bool up;
        const char *address; // that it is up to
        const char *why;     // it is not; empty: not tried yet
        MeshRefusal refusal;
} MeshLinkInfo;

typedef struct MeshOps {
        // This host's view of who leads. leader 0: nobody that we can talk to. From now on mesh_to_leader()
        // goes there. Fires whenever what was said to the leader so far may be lost, hence also when it
        // stayed the same but the link or the term is a new one.
        void (*leader_changed)(uint32_t leader, uint64_t term, void *userdata);
        // A message from the leader to this host (Welcome, BeatAck, Orders, ForwardReply, Call, CallCancel,
        // CallTaken, StoreOpen, StoreClose, Removed, Renewed, Access). Only from the one that
        // leader_changed() named last.
        void (*to_host)(const Argosy__ToHost *message, void *userdata);
        // While this host leads: a message from a host, also our own (Attach, Beat, Goodbye, Forward,
        // ForwardCancel, ForwardTaken, Reports, CallReply, StoreOpened, Renew). Always between an up and a
        // down of host_link(). May have been meant for an earlier leadership of this host, unless it follows
        // an Attach.
        void (*to_leader)(uint32_t host, Argosy__ToVoter *message, void *userdata);
        // At a voter, leading or not: a host's link came up (hello) or went down (hello NULL), by turns. Our
        // own is up exactly while we lead.
        void (*host_link)(uint32_t host, const Argosy__ToVoter__Hello *hello, void *userdata);
        // The voters as the leader told us (for the peers file). mesh_set_voters() is not called by itself.
        void (*voters_announced)(Argosy__Voter *const *voters, size_t n, void *userdata);
        // As somebody else whom we dial as a voter names them, who does not lead, or votes no more. May be
        // NULL.
        void (*voters_named)(Argosy__Voter *const *voters, size_t n, void *userdata);
        // A host has taken all that was queued for it, after mesh_host_is_full() was true.
        void (*host_drained)(uint32_t host, void *userdata);
        // The leader's link has taken all that was queued for it, after mesh_leader_is_full() was true. May
        // be NULL.
        void (*leader_drained)(void *userdata);
        // A link to or from a host failed or was refused. Told once until the link was up again or the
        // reason changes. `why` is for people.
        void (*link_failed)(uint32_t host, const char *why, void *userdata);
        // More than half of the voters of mesh_set_voters(), ourselves not counted, refuse this host (who
        // votes no more cannot know why), one of them, or of the voters that they name, since it was removed
        // from the cluster, and none takes it. Told once until a link came up. May be NULL.
        void (*removed)(void *userdata);
        // At a voter: a host whose certificate is of no CA that we trust, but whose key is a member's, asks
        // for another one. Appends it and that of its CA; negative errno: it gets none now. NULL: nobody
        // does.
        int (*sign)(uint32_t host, const Argosy__ToVoter__Renew *renew, Buf *ret_cert, Buf *ret_ca_cert,
                    void *userdata);
        // A voter says that of us: appends what we ask it for. Negative errno: not now. NULL: nothing is
        // asked.
        int (*renew_request)(Buf *ret_csr, void *userdata);
        // The answer to a request for a certificate; the link is dialled anew after it.
        void (*renewed)(const Argosy__ToHost__Renewed *renewed, void *userdata);
        // Links that we dialled came up: mesh_local_addresses() may say something new. May be NULL.
        void (*links_changed)(void *userdata);
} MeshOps;

typedef struct MeshConfig {
        uv_loop_t *loop;
        uint32_t self;             // host number
        TlsContext *tls;           // borrowed
        const uint8_t *cluster_id; // 16 bytes, copied
        uint64_t generation;
        uint8_t boot_id[16];
        unsigned redial_min_ms, redial_max_ms; // 0: the defaults
        uint32_t feature_level;                // 0: that of this build
} MeshConfig;

// `ops` must outlive the mesh.
int mesh_new(const MeshConfig *config, const MeshOps *ops, void *userdata, Mesh **ret);
// What was sent is still written (at most STREAM_FLUSH_MS). No callback fires any more but `closed`, and
// then the mesh is gone.
void mesh_close(Mesh *m, void (*closed)(void *userdata), void *userdata);

// Sets the voters to dial. Links to voters that are no longer named are closed, those to a changed address
// or key dialled anew; our own entry is skipped. The list is also what hosts that dialled us are told.
// -E2BIG beyond MESH_VOTERS_MAX, -ENOMEM; both change nothing.
int mesh_set_voters(Mesh *m, const MeshPeer *voters, size_t n);
// Voters only, from the store's role callback and the log: told to every host that dialled us. `leading`
// only when caught up. `leader_host`: as far as known, else 0.
void mesh_set_leading(Mesh *m, bool leading, uint64_t term, uint32_t leader_host);
// The raft server id that Hello announces. When it changes, links are made anew, so that every voter knows
// it: the next leader judges by it whether this host came back with an empty disk. The leader's own link
// stays, since the leader is told by StoreOpened.
void mesh_set_raft_id(Mesh *m, uint32_t raft_id);
// The cluster was recovered. Hosts that know a newer generation than we do are refused, and refuse nothing.
void mesh_set_generation(Mesh *m, uint64_t generation);
// An accepted stream with ALPN_MESH from the host whose pin it has. Owned by the mesh from here. A session
// of the same host that is there already ends when this one has said Hello: the newest wins.
void mesh_accept(Mesh *m, Stream *stream, uint32_t host);
// An accepted stream with ALPN_MESH of a host that may be a member, while this host keeps no log. It is told
// the voters of mesh_set_voters(), and its session ends: it may have known us as a voter, and have been away
// since.
void mesh_guide(Mesh *m, Stream *stream);
// Ends the session of a host, after what was sent to it (e.g. Removed) has been written; it may dial again.
// For our own host: what is queued is dropped, and the link goes down and comes up as if it had dialled
// again.
void mesh_drop_host(Mesh *m, uint32_t host);
// Ends the sessions, started or not, of hosts that `is_member` does not know any more with this key.
void mesh_recheck(Mesh *m, bool (*is_member)(uint32_t host, const Hash *pin, void *userdata),
                  void *userdata);

// ---- where voters are: the address of the log, its name, and whatever else is learned meanwhile (finder.c)

// This machine's addresses have changed: what is down is dialled at once, what came from an address that is
// ours no more, anew.
void mesh_on_network(Mesh *m, bool (*is_ours)(const char *address, void *userdata), void *userdata);
// Somebody knows where the voters that we do not find may be. Replaces what was said before.
void mesh_try_addresses(Mesh *m, const MeshAddress *addresses, size_t n);
// Our own ends of links that are up, the leader's first. Returns how many were written.
size_t mesh_local_addresses(const Mesh *m, char (*ret)[STREAM_ADDRESS_SIZE], size_t max);
// Where a voter is: what its link is connected to, or will be dialled at. False: no link, or not known.
bool mesh_where(const Mesh *m, uint32_t host, MeshAddress *ret);
size_t mesh_links(const Mesh *m, MeshLinkInfo *ret, size_t max);

// What a mesh has now.
#define MESH_COUNTERS(COUNTER, GAUGE)                                 \
        GAUGE(mesh_links, "links of this host to voters that are up") \
        GAUGE(mesh_sessions, "hosts whose link to this voter is up")  \
        GAUGE(mesh_queued_bytes, "bytes that wait on these until the other end takes them")

typedef struct MeshStats {
        MESH_COUNTERS(COUNTER_FIELD, COUNTER_FIELD)
} MeshStats;
MeshStats mesh_stats(const Mesh *m); // cost: links and sessions, a few nanoseconds each

// As leader_changed() said it last.
uint32_t mesh_leader(const Mesh *m);
// The message is packed at once and not kept. -ENOTCONN: no link. -ENOBUFS: the peer was cut. -EMSGSIZE,
// -ENOMEM: not sent.
int mesh_to_leader(Mesh *m, const Argosy__ToVoter *message);
// One that was packed (frame_pack()), for the leader elsewhere. It is the mesh's from then on if the result
// is 0.
int mesh_to_leader_frame(Mesh *m, Buf *frame);
// As mesh_host_is_full(). What comes then is MeshOps.leader_drained, or another leader.
bool mesh_leader_is_full(const Mesh *m);
int mesh_to_host(Mesh *m, uint32_t host, const Argosy__ToHost *message);
// More than STREAM_LOW_WATER is queued for the host: who has much to say goes on at host_drained().
bool mesh_host_is_full(const Mesh *m, uint32_t host);
