// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Marks that a pass of the next turn has work to do (due.h), one bit each. leader_set_due() by the cause of
// the work -> leader_take_due() by the pass, once per turn. A mark stays until it is taken, also beyond a
// term, unless the next term begins by taking it. due_step() finds in a table of steps those that have work,
// by marks and by members of Leader. Nothing fails.

#include "due.h"

#include <string.h>

void leader_set_due(Leader *l, unsigned due) {
        l->due |= due;
}

bool leader_take_due(Leader *l, LeaderDue due) {
        bool was = l->due & due;

        l->due &= ~(unsigned) due;
        return was;
}

static bool has_work(const Leader *l, const DueMember *m) {
        static const char zeroes[sizeof(uint64_t)];
        const char *member = (const char *) l + m->at;

        return m->size > 0 ? memcmp(member, zeroes, m->size) != 0
                           : !list_is_empty((const ListNode *) member);
}

static bool is_due(const Leader *l, const DueWhen *when) {
        bool due = l->due & when->marks || (l->all_due && when->members[0].at > 0);

        for (unsigned i = 0; !due && i < DUE_MEMBERS_MAX && when->members[i].at > 0; i++)
                due = has_work(l, &when->members[i]);
        return due;
}

size_t due_step(const Leader *l, const void *steps, size_t size, size_t n, size_t from) {
        while (from < n && !is_due(l, (const DueWhen *) ((const char *) steps + from * size)))
                from++;
        return from;
}
