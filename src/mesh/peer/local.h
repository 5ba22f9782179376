// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The link between our own agent and our own leader: two queues in the process.

#include <stdbool.h>

#include "argosy.pb-c.h"
#include "buf.h"
#include "uvx.h"

typedef struct LocalOps { // from local_update() and local_deliver() only
        void (*link)(bool up, void *userdata); // up and down by turns
        void (*to_leader)(Argosy__ToVoter *message, void *userdata);
        void (*to_host)(const Argosy__ToHost *message, void *userdata);
        void (*drained)(void *userdata); // the host has taken all, after local_is_full()
} LocalOps;

typedef struct Local {
        const LocalOps *ops;
        void *userdata;
        // the owner's: it is marked when local_update() and local_deliver() have something to do
        Drain *drain;
        bool leading, up;
        uint64_t epoch;         // of the current leadership of ours
        uint64_t notified_epoch; // that `link` said is up
        Buf to_leader, to_host; // frames
} Local;

void local_init(Local *l, Drain *drain, const LocalOps *ops, void *userdata);
void local_done(Local *l);
// Another leadership than before, or none any more. false for good at the end of the owner.
void local_set_leading(Local *l, bool leading);
// Our own link is lost and back.
void local_restart(Local *l);

// Ups and downs, from the loop.
void local_update(Local *l);
// What was queued up to now, from the loop. Somebody else leads in a newer term if not `host_listens`: what
// was queued for the host is dropped.
void local_deliver(Local *l, bool host_listens);
// Whether we lead and `link` said so: before that nothing may be sent to ourselves, for it would be dropped.
bool local_is_up(const Local *l);

// -ENOTCONN: not up. -ENOBUFS, -EMSGSIZE, -ENOMEM: not queued.
int local_send_to_leader(Local *l, const Argosy__ToVoter *message);
int local_send_to_host(Local *l, const Argosy__ToHost *message);
bool local_is_full(const Local *l); // to the host
