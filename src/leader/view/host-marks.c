// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is due of a host, and what is counted of all of them, so that a turn looks at the hosts that it is about and at
// no others.
//
// Whoever changes the lease, the session, the mode or a manager of a host says so with host_touch(): the counts of
// Leader.n_hosts are right at once, the Placement hears of it before it is asked next (scheduler-nodes.c), and
// whoever plans the voters before he plans again (voters.c). What a host is to be sent, or says of itself, puts it into a list of Leader, whose
// follower takes it out. Each mark belongs to one host, costs the same with three hosts as with a thousand,
// and goes with the host.
#include "host-marks.h"

#include "due.h"
#include "event-marks.h"
#include "lease.h"
#include "message.h"
#include "tables.h"
#include "tallies.h"
#include "turn.h"

bool host_is_lost(const Host *h) {
        return h->lease.state == LEASE_LOST;
}

bool host_is_told(const Host *h) {
        return h->ever_attached && !h->half_told;
}

bool host_is_there(const Host *h) {
        return h && h->recorded && h->attached && !host_is_lost(h);
}

bool host_is_expected(const Host *h) {
        if (!h->recorded || h->leaving || h->down)
                return false;
        list_foreach (i, &h->nodes)
                if (CONTAINER_OF(i, Node, of_host)->mode != ARGOSY__NODE_MODE__MODE_MAINTENANCE)
                        return true;
        return false;
}

static HostCounts count(const Host *h) {
        bool lost = host_is_lost(h), expected = !lost && host_is_expected(h);

        if (!h->recorded)
                return (HostCounts){};
        return (HostCounts){
                .unattached = !lost && !h->ever_attached,
                .silent = !h->attached,
                .awaited = !lost && !h->attached && !h->leaving,
                .expected = expected,
                .suspect = expected && h->lease.state == LEASE_SUSPECT,
        };
}

static void recount(Leader *l, Host *h) {
        HostCounts now = count(h), *all = &l->n_hosts;

        if (now.unattached != h->counted.unattached) {
                all->unattached += now.unattached - h->counted.unattached;
                leader_set_due(l, DUE_WAITS);
                // They are all known: who is not taken now is told so, or preempts others.
                if (all->unattached == 0)
                        leader_set_due(l, DUE_PLACEMENT);
        }
        all->silent += now.silent - h->counted.silent;
        all->awaited += now.awaited - h->counted.awaited;
        all->expected += now.expected - h->counted.expected;
        all->suspect += now.suspect - h->counted.suspect;
        h->counted = now;
}

static void mark(ListNode *list, ListNode *host) {
        if (!list_is_linked(host))
                list_append(list, host);
}

void host_touch(Leader *l, Host *h) {
        recount(l, h);
        list_foreach (i, &h->nodes)
                tally_node(l, CONTAINER_OF(i, Node, of_host));
        if (!h->recorded || !host_is_lost(h)) {
                if (list_is_linked(&h->lost))
                        leader_set_due(l, DUE_ENQUEUED);
                list_unlink(&h->lost);
        } else
                mark(&l->lost_hosts, &h->lost);
        host_mark_place(l, h);
        host_mark_voters(l, h);
}

void host_mark_voters(Leader *l, Host *h) {
        mark(&l->voters_touched, &h->voters_touched);
}

void host_mark_place(Leader *l, Host *h) {
        l->n_host_changes++;
        list_foreach (i, &h->nodes)
                event_mark(l, &CONTAINER_OF(i, Node, of_host)->event);
        mark(&l->places_due, &h->place_due);
}

void host_mark_orders(Leader *l, Host *h) {
        mark(&l->orders_due, &h->orders_due);
        leader_mark(l);
}

void host_mark_globals(Leader *l, Host *h) {
        mark(&l->globals_due, &h->globals_due);
        leader_mark(l);
}

void host_mark_tombstones(Leader *l, Host *h) {
        if (cluster_state_n_tombstones(l->state) == 0 || list_is_linked(&h->tombstones_due))
                return;
        list_append(&l->tombstones_due, &h->tombstones_due);
        leader_mark(l);
}

void host_set_pending_record(Leader *l, Host *h, Argosy__HostRecord *pending_record) {
        message_free(h->pending_record);
        h->pending_record = pending_record;
        list_unlink(&h->pending_record_queue);
        if (pending_record)
                list_append(&l->pending_records_due, &h->pending_record_queue);
}

void host_forget_marks(Host *h) {
        message_free(h->pending_record);
        h->pending_record = NULL;
        h->counted = (HostCounts){};
        list_unlink(&h->pending_record_queue);
        list_unlink(&h->barrier_queue);
        list_unlink(&h->file_question.due);
        list_unlink(&h->beat_waiting);
        list_unlink(&h->orders_due);
        list_unlink(&h->globals_due);
        list_unlink(&h->place_due);
        list_unlink(&h->voters_touched);
        list_unlink(&h->lost);
        list_unlink(&h->own_due);
        h->own_lost = h->own_back = h->own_lost_flying = h->own_back_flying = false;
        list_unlink(&h->tombstones_due);
        list_unlink(&h->session_ended);
        list_unlink(&h->session_begun);
}
