// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is due of a host, and what is counted of all of them, so that a turn looks at the hosts that it is
// about and at no others.
//
// Code that changes the lease, the session, the mode or a manager of a host calls host_touch(): the counts
// of Leader.n_hosts are right at once, the Placement is updated before it is asked next (scheduler-nodes.c),
// and the plan of voters before its next pass (voters.c). What a host is to be sent, or says of itself, puts
// it into a list of Leader, whose follower takes it out. Each mark belongs to one host, costs the same with
// three hosts as with a thousand, and goes with the host.
#include "host-marks.h"

#include "due.h"
#include "event-marks.h"
#include "lease.h"
#include "message.h"
#include "nodes.h"
#include "tables.h"
#include "tallies.h"
#include "turn.h"

bool host_has_reported(const Host *h) {
        return h->ever_attached && !h->half_reported;
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
                .untold = !lost && !host_has_reported(h),
                .silent = !h->attached,
                .awaited = !lost && !h->attached && !h->leaving,
                .expected = expected,
                .suspect = expected && h->lease.state == LEASE_SUSPECT,
        };
}

static void recount(Leader *l, Host *h) {
        HostCounts now = count(h), *all = &l->n_hosts;

        // What may run there is another matter now, also of units of which nothing else is seen to change.
        if (now.untold != h->counted.untold)
                leader_set_due(l, DUE_WAITS);
        if (now.unattached != h->counted.unattached) {
                all->unattached += now.unattached - h->counted.unattached;
                // They are all known: who is not taken now is told so, or preempts others.
                if (all->unattached == 0)
                        leader_set_due(l, DUE_PLACEMENT);
        }
        all->untold += now.untold - h->counted.untold;
        all->silent += now.silent - h->counted.silent;
        all->awaited += now.awaited - h->counted.awaited;
        all->expected += now.expected - h->counted.expected;
        all->suspect += now.suspect - h->counted.suspect;
        h->counted = now;
}

bool host_mark(Leader *l, Host *h, HostMark mark) {
        bool new = !list_is_linked(&h->marks[mark]);

        if (new)
                list_append(&l->host_marks[mark], &h->marks[mark]);
        return new;
}

void host_mark_now(Leader *l, Host *h, HostMark mark) {
        host_mark(l, h, mark);
        leader_mark(l);
}

void host_marks_each(Leader *l, HostMark mark, bool (*each)(Leader *l, Host *h, void *userdata),
                     void *userdata) {
        ListNode now = LIST_INIT(now);
        bool more = true;

        list_splice(&now, &l->host_marks[mark]);
        while (more && !list_is_empty(&now)) {
                Host *h = CONTAINER_OF(now.next - mark, Host, marks);

                host_unmark(h, mark);
                more = each(l, h, userdata);
        }
        list_splice_front(&l->host_marks[mark], &now);
}

void host_marks_init(Leader *l) {
        for (unsigned mark = 0; mark < HOST_MARKS; mark++)
                list_init(&l->host_marks[mark]);
}

// Units that wait since it was lost are looked at again.
static void come_back(Leader *l, Host *h) {
        leader_set_due(l, DUE_ENQUEUED);
        list_foreach (i, &h->nodes)
                node_empty_anew(l, CONTAINER_OF(i, Node, of_host));
}

void host_touch(Leader *l, Host *h) {
        recount(l, h);
        list_foreach (i, &h->nodes)
                tally_node(l, CONTAINER_OF(i, Node, of_host));
        if (!h->recorded || !host_is_lost(h)) {
                if (list_is_linked(&h->lost))
                        come_back(l, h);
                list_unlink(&h->lost);
        } else if (!list_is_linked(&h->lost))
                list_append(&l->lost_hosts, &h->lost);
        host_mark_place(l, h);
        host_mark(l, h, HOST_VOTERS);
}

void host_mark_place(Leader *l, Host *h) {
        l->n_host_changes++;
        list_foreach (i, &h->nodes)
                event_mark(l, &CONTAINER_OF(i, Node, of_host)->event);
        host_mark(l, h, HOST_PLACE);
}

void host_mark_tombstones(Leader *l, Host *h) {
        if (cluster_state_n_tombstones(l->state) > 0 && host_mark(l, h, HOST_TOMBSTONES))
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
        list_unlink(&h->lost);
        memset(&h->news, 0, sizeof(h->news));
        for (unsigned mark = 0; mark < HOST_MARKS; mark++)
                list_unlink(&h->marks[mark]);
}

void host_marks_retire(Leader *l) {
        map_foreach (slot, &l->hosts)
                host_forget_marks(slot->value);
        l->n_hosts = (HostCounts){};
        list_init(&l->lost_hosts);
        list_init(&l->pending_records_due);
        list_init(&l->pending_records_flying);
}
