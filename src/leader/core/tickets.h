// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Requests from their arrival to their final response.

#include "leader-core.h"

typedef struct Wait Wait;

struct Ticket {
        uint64_t id;
        Leader *leader;
        LeaderRespond respond; // NULL: nobody listens any more
        void *userdata;
        Argosy__Request *request; // owned
        ListNode all;             // in Leader.tickets
        ListNode queue; // in Leader.queue, .flying while its batch is on the way, .settled when `response`
                        // may go out
        bool again;     // back into the queue when the batch is committed
        bool made;      // the log has what it asked for
        Argosy__Response *response;              // what will be said when the batch is committed
        void (*committed)(Leader *l, Ticket *t); // finishes `response`; NULL: nothing to add
        Wait *wait;
        ListNode calls;   // Call.by_ticket
        ListNode sayings; // answers that wait for the end of the turn (calls.c)
        ListNode marks;   // of lines of journals, that were not taken yet
        uint64_t last_mark;
        uint32_t window; // of each call of a journal; 0: there is none
        ListNode talking; // in Leader.talking while there are any
        size_t n_calls;
        uint64_t asked_us;   // when it arrived, by our clock
        uint32_t removing;   // host number, for ClusterRemove
        bool removal_begun;  // its record says that it is to be no voter
        ListNode drain;      // in Leader.drains, for DrainWait, or in .manager_waits
        uint32_t drain_left; // as it was told last
        ListNode rollout;    // in Leader.rollout_waits, for RolloutWait
        ListNode rebalance;  // in Leader.rebalance_waits, once it is under way
        size_t n_told;       // of its moves
        Hash pin;            // of a joining host
        Buf cert;            // of a joining host
};

Ticket *ticket_new(Leader *l, const Argosy__Request *request, LeaderRespond respond, void *userdata);
void ticket_free(Ticket *t);
// Sends and, if it is final, ends the ticket. Takes the response; NULL stands for out of memory.
void ticket_respond(Ticket *t, Argosy__Response *response);
void ticket_finish(Ticket *t, Argosy__Response *response); // sets final
// The same at the end of this turn: for callers that walk over tickets, since who is answered may cancel
// others.
void ticket_settle(Ticket *t, Argosy__Response *response);
void tickets_flush(Leader *l);
