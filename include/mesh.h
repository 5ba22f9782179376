// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Sessions between hosts. Every host dials every voter and keeps the link; the voter that leads is the one it talks to. When this host
// leads itself, the same messages go through a queue in the process: agent and leader never notice the difference.
//
//   this host's agent  --mesh_to_leader()-->  ops.to_leader at the leader's host
//   the leader         --mesh_to_host()---->  ops.to_host at that host
//
// Links are cheap when idle: no frames but the agent's beats on the leader's link; the kernel's keep-alive finds dead peers.

#include <stdbool.h>
#include <uv.h>

#include "argosy.pb-c.h"
#include "hash.h"

typedef struct Mesh Mesh;
typedef struct Stream Stream;
typedef struct TlsContext TlsContext;

typedef struct MeshPeer { // a voter, as the log or the peers file names it
        uint32_t host;
        char address[64];
        uint16_t port;
        Hash pin;
        uint32_t raft_id; // passed on to those who dial us, so that a new voter knows its peers' ids before it has a log
} MeshPeer;

typedef struct MeshOps {
        // This host's view of who leads. leader 0: nobody that we can talk to. From now on mesh_to_leader() goes there.
        void (*leader_changed)(uint32_t leader, uint64_t term, void *userdata);
        // A message from the leader to this host (Welcome, BeatAck, Orders, ForwardReply, Call, CallCancel, StoreOpen, StoreClose, Removed, Renewed).
        void (*to_host)(const Argosy__ToHost *message, void *userdata);
        // At the leader: a message from a host (also our own). Attach, Beat, Goodbye, Forward, ForwardCancel, Reports, CallReply, StoreOpened, Renew.
        void (*to_leader)(uint32_t host, const Argosy__ToVoter *message, void *userdata);
        // At a voter: a host's link came up (hello) or went down (hello NULL).
        void (*host_link)(uint32_t host, const Argosy__ToVoter__Hello *hello, void *userdata);
        // The voters as the leader told us (for the peers file).
        void (*voters_told)(Argosy__Voter *const *voters, size_t n, void *userdata);
        // A link failed; for one log message per change. `why` is for people.
        void (*link_failed)(uint32_t host, const char *why, void *userdata);
} MeshOps;

typedef struct MeshConfig {
        uv_loop_t *loop;
        uint32_t self;               // host number
        TlsContext *tls;             // borrowed
        const uint8_t *cluster_id;   // 16 bytes
        uint64_t generation;
        uint8_t boot_id[16];
        unsigned redial_min_ms, redial_max_ms; // 0: defaults (100, 2000)
} MeshConfig;

int mesh_new(const MeshConfig *config, const MeshOps *ops, void *userdata, Mesh **ret);
void mesh_close(Mesh *m, void (*closed)(void *userdata), void *userdata);

// Whom to dial. Links to voters that are no longer named are closed; our own entry is skipped.
int mesh_set_voters(Mesh *m, const MeshPeer *voters, size_t n);
// Voters only, from the store's role callback and the log: told to every host that dialled us. `leading` only when caught up.
void mesh_set_leading(Mesh *m, bool leading, uint64_t term, uint32_t leader_host);
// The raft server id that Hello announces.
void mesh_set_raft_id(Mesh *m, uint32_t raft_id);
// An accepted stream with ALPN_MESH from the host whose pin it has. Owned by the mesh from here.
void mesh_accept(Mesh *m, Stream *stream, uint32_t host);
// Closes the session of a host that was removed (leader: after sending Removed).
void mesh_drop_host(Mesh *m, uint32_t host);

uint32_t mesh_leader(const Mesh *m);
// The message is packed at once and not kept. -ENOTCONN: no link.
int mesh_to_leader(Mesh *m, const Argosy__ToVoter *message);
int mesh_to_host(Mesh *m, uint32_t host, const Argosy__ToHost *message);
