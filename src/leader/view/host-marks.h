// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What is due of a host, and what is counted of all of them.

#include "leader-core.h"
#include "tables.h"

// A mark is set once, behind those of other hosts, and stays until somebody takes it, or until nothing is
// due of the host any more.
bool host_mark(Leader *l, Host *h, HostMark mark); // false: it was set
void host_mark_now(Leader *l, Host *h, HostMark mark);   // and this turn looks at it, or the next one
static inline bool host_has_mark(const Host *h, HostMark mark) {
        return list_is_linked(&h->marks[mark]);
}
static inline void host_unmark(Host *h, HostMark mark) {
        list_unlink(&h->marks[mark]);
}
static inline bool hosts_have_mark(const Leader *l, HostMark mark) { // any
        return !list_is_empty(&l->host_marks[mark]);
}
// The first; NULL: none.
static inline Host *host_marked(const Leader *l, HostMark mark) {
        return hosts_have_mark(l, mark) ? CONTAINER_OF(l->host_marks[mark].next - mark, Host, marks) : NULL;
}
// Likewise, and it has the mark no more.
static inline Host *host_take_marked(Leader *l, HostMark mark) {
        Host *h = host_marked(l, mark);

        if (h)
                host_unmark(h, mark);
        return h;
}
// Takes those that have the mark now, first to last, until `each` returns false; the rest is in front of
// those that get it meanwhile.
void host_marks_each(Leader *l, HostMark mark, bool (*each)(Leader *l, Host *h, void *userdata),
                     void *userdata);
void host_marks_init(Leader *l);                         // of a leader that is made
// Its lease, its session, the mode of a node or what its managers say has changed: the counts, and what the
// Placement knows.
void host_touch(Leader *l, Host *h);
void host_mark_place(Leader *l, Host *h);   // only the Placement is to hear of it
void host_mark_tombstones(Leader *l, Host *h); // it may have let go of something
// What the log is to say of the host; takes the message over. NULL: as it is.
void host_set_pending_record(Leader *l, Host *h, Argosy__HostRecord *pending_record);
// Nothing is due of it any more, and it is not counted: it goes, or this leader's time is over.
void host_forget_marks(Host *h);
static inline bool host_is_lost(const Host *h) {
        return h->lease.state == LEASE_LOST;
}
// what it holds was told to this leader, whole; it may have changed since, while its link was down
bool host_has_reported(const Host *h);
// A member that has attached and was heard in time. NULL: it is not.
bool host_is_there(const Host *h);
// Neither off nor about to be, by its owner's word.
bool host_is_expected(const Host *h);
void host_marks_retire(Leader *l); // a term is over: no host has one, and none is counted
