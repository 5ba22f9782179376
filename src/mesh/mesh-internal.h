// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the parts of the mesh know of each other.
//
//   mesh.c      the object: voters, who leads, announcements
//   link.c      one voter that we dial; lives while it is named, over any number of streams
//   finder.c    where it is when it is not where the log says
//   session.c   one stream that a host dialled to us
//   local.c     the two queues between our own agent and our own leader
//   decide.c, elsewhere.c    decisions
//
// Lifetimes: links and sessions belong to the mesh and die in the `closed` of their last stream or handle,
// also after the mesh let them go (`abandoned`). The mesh dies when n_open is 0 after mesh_close().

#include "buf.h"
#include "elsewhere.h"
#include "list.h"
#include "mesh.h"
#include "str.h"
#include "stream.h"
#include "uvx.h"

typedef struct Link {
        ListNode node; // in Mesh.links
        Mesh *mesh;
        MeshPeer peer;
        Stream *stream;   // NULL between two dials
        uv_timer_t timer; // next dial
        unsigned failures;
        uint64_t epoch; // of this stream's `up`
        bool up;        // its Leader frame was here
        bool leading;   // as it says
        uint64_t term;
        uint32_t feature_level; // as it says
        bool hint; // named by a voter, not by mesh_set_voters()
        bool abandoned;
        bool dial_now;        // when the stream is gone
        MeshAddress found; // where it answered other than where it is dialled first; empty: nowhere
        Elsewhere elsewhere;
        Stream *probe; // to `probed`; NULL: none under way
        MeshAddress probed;
        unsigned probed_at;
        bool probe_again;     // there is news: from the beginning, when this one has ended
        char told_why[200];   // last link_failed()
        char pending_why[96]; // for link_failed(), from the loop
} Link;

typedef struct Session {
        ListNode node; // in Mesh.sessions
        Mesh *mesh;
        Stream *stream;
        uint32_t host;
        bool announced; // host_link() said that it is up, and not yet that it is down
        bool dropped;   // takes and gives nothing any more
} Session;

struct Mesh {
        uv_loop_t *loop;
        const MeshOps *ops;
        void *userdata;
        TlsContext *tls;
        uint32_t self, raft_id;
        uint8_t cluster_id[16], boot_id[16];
        uint64_t generation;
        uint32_t feature_level; // that we announce
        unsigned redial_min_ms, redial_max_ms;

        ListNode links, sessions;
        MeshPeer *voters; // as set, ourselves included
        size_t n_voters;

        bool leading; // we, as mesh_set_leading() says
        uint64_t term;
        uint32_t leader_host;

        // As leader_changed() said it last.
        uint32_t leader;
        uint64_t leader_term, leader_epoch;
        Link *leader_link;    // NULL: nobody, or we
        uint64_t newest_term; // in which anybody was seen leading
        uint64_t last_epoch;

        Drain drain; // what API calls changed: told from the loop
        bool links_changed;
        bool local_up;
        uint64_t local_epoch;      // of the current leadership of ours
        uint64_t local_told_epoch; // that host_link() said is up
        Buf to_leader, to_host;    // local queues, frames

        // Refusals that were told, so that a host that tries again and again is told once. A ring.
        struct {
                uint32_t host;
                const char *why; // static
        } refused[16];
        unsigned n_refused;

        bool closing;
        unsigned n_open; // links, sessions, the drain
        void (*closed)(void *userdata);
        void *closed_data;
};

// mesh.c
// Who leads now, from what links and we ourselves say. Tells it if it changed. Only from the loop.
void mesh_reconsider(Mesh *m);
void mesh_unref(Mesh *m); // one of n_open is gone
// Fills in what this voter says of itself. *ret_voters and *ret_pointers are freed by the caller.
typedef struct Announcement {
        Argosy__ToHost message;
        Argosy__ToHost__Leader leader;
        Argosy__Voter *voters, **pointers;
} Announcement;
int mesh_announcement(const Mesh *m, Announcement *ret);
void announcement_done(Announcement *a);
void mesh_fill_hello(Mesh *m, Argosy__ToVoter__Hello *ret);

// link.c
int link_new(Mesh *m, const MeshPeer *peer, bool hint, Link **ret);
void link_dial(Link *l);
// Leaves its stream and dials at once, with a Hello of now.
void link_dial_anew(Link *l);
// Dials anew if the key has changed, or the address to another one than the link is connected to.
void link_set_peer(Link *l, const MeshPeer *peer);
// This machine's addresses have changed: dials anew what is not up, or comes from an address that is ours no
// more.
void link_on_network(Link *l, bool (*is_ours)(const char *address, void *userdata), void *userdata);
MeshAddress link_where(const Link *l);
Link *link_find(const Mesh *m, uint32_t host);
// The link is abandoned: it goes if no stream is left.
void link_finish(Link *l);
void link_report_pending(Link *l);
// Forgets it; what was sent is still written if `flush`.
void link_abandon(Link *l, bool flush);

// finder.c
enum { FINDER_PATIENCE_MS = 500 }; // for a dial, before the voter is looked for elsewhere too

void finder_look(Link *l); // in all other places, unless a round is under way
void finder_on_heard(Mesh *m, uint32_t host, const char *address); // it dialled us from there
void finder_on_told(Mesh *m, const Argosy__Voter *voter);          // another voter says so

// session.c
Session *session_find(const Mesh *m, uint32_t host);
int session_send(Session *s, const ProtobufCMessage *message);
void session_drop(Session *s, int error, bool flush);

// local.c
int local_send(Mesh *m, Buf *queue, const ProtobufCMessage *message);
// Ups and downs of our own link, from the loop.
void local_update(Mesh *m);
void local_deliver(Mesh *m);
// Whether we lead and host_link() said so: before that nothing may be sent to ourselves, for it would be
// dropped.
bool local_is_up(const Mesh *m);
// Our own link is lost and back.
void local_restart(Mesh *m);
