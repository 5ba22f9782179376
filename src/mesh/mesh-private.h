// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// One Mesh in three files:
//
//   mesh.c          who leads, our own link, messages; beginning and end
//   mesh-voters.c   the links that we dial: to whom, hints of voters that we do not know, the network
//   mesh-hosts.c    the sessions that hosts dialled: who may talk, what all of them are told
//
// Lifetimes: links and sessions belong to the mesh and die in the `closed` of their last stream or handle,
// also after the mesh let them go. The mesh dies when n_open is 0 after mesh_close().

#include "link.h"
#include "local.h"
#include "map.h"
#include "mesh.h"
#include "session.h"

struct Mesh {
        uv_loop_t *loop;
        const MeshOps *ops;
        void *userdata;
        TlsContext *tls;
        MeshSelf self;
        unsigned redial_min_ms, redial_max_ms;

        ListNode links, sessions;
        Map announced;    // sessions by host: host_link() said that they are up
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
        uint64_t last_epoch;  // of a link

        Drain drain; // what API calls changed: told from the loop
        bool links_changed;
        bool removal_reported;
        Local local;

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
// Finds the leader from what links and this host say, and tells the owner if it changed. Only from the loop.
void mesh_reconsider(Mesh *m);
void mesh_unref(Mesh *m); // one of n_open is gone

// mesh-voters.c
// With a leader found, voters that others named are not needed any more. The leader's own link stays until
// the owner's list knows it.
void mesh_drop_hints(Mesh *m);
void mesh_drop_links(Mesh *m);
// one link's; marks the drain if there was one
void mesh_report_pending(Mesh *m);
bool mesh_is_removed(const Mesh *m); // as MeshOps.removed says
// It would be, if nobody else took us for a member; and nobody leads. Meanwhile we take nobody for one: two
// hosts that were removed would each hold the other one.
bool mesh_is_doubted(const Mesh *m);
void mesh_on_seen(Mesh *m, uint32_t host, const char *address);        // it dialled us from there

// mesh-hosts.c
Session *mesh_find_session(const Mesh *m, uint32_t host);
// Sends the leader and the voters to all hosts that dialled us. A link that fails to take it is cut, or its
// host would go on with what is no longer true.
void mesh_announce(Mesh *m);
void mesh_drop_sessions(Mesh *m);
