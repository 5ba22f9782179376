// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What is to be looked at again, of the leader as a whole. Code that notes a fact sets what is due by it;
// the pass that decides takes the mark, once a turn at most, and looks at the facts as they are then. A mark
// stays until it is taken, also beyond a term, unless the next term begins by taking it. No mark names an
// object: marks of hosts, nodes and units are in view.

#include <stddef.h>
#include <string.h>

#include "leader-core.h"

typedef enum LeaderDue {
        // a node came or changed, or has room: units that wait for one may have it
        DUE_PLACEMENT = 1 << 0,
        // some units that wait in the Placement for another node may stay where they are
        DUE_ENQUEUED = 1 << 1,
        DUE_WAITS = 1 << 2,          // every wait is to be judged
        DUE_MASS_LOSS = 1 << 3,      // whether too many hosts were lost at once
        DUE_PREVIOUS_NODES = 1 << 4, // a host was heard, lost or removed: orders that wait for the end of a
                                     // unit there may go
        DUE_GLOBALS = 1 << 5,        // on which nodes units run that run on all
        DUE_VOTERS = 1 << 6,         // there may be a next step of a membership change: all hosts are looked
                                     // at
        DUE_VOTER_SECRETS = 1 << 7,  // which voter has which secrets
        DUE_OLD_SECRETS = 1 << 8,    // an older version of a secret may be unused
        DUE_FEATURES = 1 << 9,       // whether the log's feature level may rise
        DUE_CA = 1 << 10,            // the CAs of hosts' certificates; as long as they change
        DUE_WALL = 1 << 11,          // what leader_wall() moves
        DUE_DATA = 1 << 12,          // a node went or changed its mode: data there may bind no unit any more
        DUE_LABELS = 1 << 13,        // of all nodes: pools have changed, or what nodes can offer
        DUE_EVENTS = 1 << 14,        // the log may have news for watchers, or not all was drained
        DUE_MEMBERS = 1 << 15,       // the log's configuration may be another one
        DUE_SYNTHETIC = 1 << 16,     // whether the log may have what the next feature level has
        DUE_SECRETS_KEY = 1 << 17,   // the key of units' secrets; as long as it changes
} LeaderDue;

enum { // what a change of the cluster's record, or of hosts', makes due
        DUE_OF_CLUSTER_RECORD = DUE_FEATURES | DUE_SYNTHETIC | DUE_CA | DUE_SECRETS_KEY | DUE_MEMBERS
};

static inline void leader_set_due(Leader *l, unsigned due) { // of LeaderDue, one or more
        l->due |= due;
}
static inline bool leader_is_due(const Leader *l, LeaderDue due) {
        return l->due & due;
}
static inline bool leader_take_due(Leader *l, LeaderDue due) { // true: it was due; it is not now
        bool was = l->due & due;

        l->due &= ~(unsigned) due;
        return was;
}

// When a step of a turn has work. Whoever has many steps in a table looks at this first (due_step()), so
// that a turn costs what there is to do, and not how many steps there are. What a step looks at to find work
// has to be in its row, or it is not called. A step that is called without work does nothing.
typedef struct DueMember {
        size_t at;   // of a member of Leader
        size_t size; // 0: it is a list, and there is work if that has members; else if it is not all zeroes
} DueMember;

enum { DUE_MEMBERS_MAX = 9 };

typedef struct DueWhen { // any of these
        unsigned marks;                     // of LeaderDue
        DueMember members[DUE_MEMBERS_MAX]; // behind the last of them: zeroes
} DueWhen;

// 0; another type than that of a list does not compile, and neither does what is larger than a word.
#define DUE_IF(condition) (0 * sizeof(char[(condition) ? 1 : -1]))
#define DUE_TYPE(member) typeof(((Leader *) NULL)->member)
#define DUE_LIST(member) \
        {offsetof(Leader, member), DUE_IF(__builtin_types_compatible_p(DUE_TYPE(member), ListNode))}
#define DUE_SET(member) \
        {offsetof(Leader, member), \
         sizeof(DUE_TYPE(member)) + DUE_IF(sizeof(DUE_TYPE(member)) <= sizeof(uint64_t))}
#define MARKED_HOSTS(mark) DUE_LIST(host_marks[mark])

// A row's `when`.
#define MARKED(marks) .when = {marks}
#define WHEN(...) .when = {.members = {__VA_ARGS__}}
#define MARKED_OR_WHEN(marks, ...) .when = {marks, {__VA_ARGS__}}

static inline bool due_has_member(const Leader *l, const DueMember *m) {
        static const char zeroes[sizeof(uint64_t)];
        const char *member = (const char *) l + m->at;

        return m->size > 0 ? memcmp(member, zeroes, m->size) != 0
                           : !list_is_empty((const ListNode *) member);
}

static inline bool due_is_when(const Leader *l, const DueWhen *when) {
        bool due = l->due & when->marks || (l->all_due && when->members[0].at > 0);

        for (unsigned i = 0; !due && i < DUE_MEMBERS_MAX && when->members[i].at > 0; i++)
                due = due_has_member(l, &when->members[i]);
        return due;
}

// The first step at `from` or behind it that has work. Each of the `n` has `size` bytes and begins with its
// DueWhen. n: none has.
static inline size_t due_step(const Leader *l, const void *steps, size_t size, size_t n, size_t from) {
        while (from < n && !due_is_when(l, (const DueWhen *) ((const char *) steps + from * size)))
                from++;
        return from;
}
// Each that has work when its turn has come; `i` is its number. What one does may give work to those behind
// it.
#define due_foreach(i, l, steps, n) \
        for (size_t i = 0; (i = due_step(l, steps, sizeof(*(steps)), n, i)) < (n); i++)
#define due_any(l, steps, n) (due_step(l, steps, sizeof(*(steps)), n, 0) < (n))
