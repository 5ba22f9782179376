// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Reading verbs, answered from the records and from what is seen. The leader may be not leading (stale
// answers). What the functions return and how they answer: Handler in handlers.h.

#include "leader-core.h"

Argosy__Response *answer_units(Leader *l, const Argosy__Request *request);
Argosy__Response *answer_unit_files(Leader *l, const Argosy__Request *request);
void answer_cat(Leader *l, const Argosy__Request *request, LeaderRespond respond, void *userdata);

// What lists show of a unit on a node: whether there is a row for it; `e`: the unit's record, NULL: it has
// none.
bool unit_on_node_is_listed(const Leader *l, const UnitEntry *e, const UnitOnNode *s);
// of one that is shown
int unit_row_fill_notes(Leader *l, const UnitOnNode *s, Argosy__Response__UnitRow *row);
// What is seen there of a unit: nothing is known of it on a node that is not heard (`n` NULL: nobody knows
// the node), and one that the node has not named (`s` may be NULL) is not there.
int unit_row_fill_states(Leader *l, const Node *n, const UnitOnNode *s, Argosy__Response__UnitRow *row);

// What lists are made of, for listings.c: the rows of one name, added in their order; none if there is
// nothing of it. 0 or -ENOMEM.
int answer_add_units(Leader *l, const char *name, Argosy__Response__Units *units);
// The same of a unit that may be on all hosts (global, or not gone everywhere yet), where it is on some of
// them; and if it is on none of any, what is said of it all the same. Whether it may be on more hosts than
// that.
typedef struct HostRange {
        uint32_t first, last; // numbers; `first` is not 0
} HostRange;
int answer_add_units_within(Leader *l, const char *name, HostRange range, Argosy__Response__Units *units);
int answer_add_unit_nowhere(Leader *l, const char *name, Argosy__Response__Units *units);
bool answer_is_wide(const Leader *l, const char *name, size_t many);
int answer_add_unit_files(Leader *l, const char *name, Argosy__Response__UnitFiles *files);
// one of them, or there are none
bool answer_name_matches(char *const *patterns, size_t n, const char *name);
bool answer_is_glob(const char *pattern); // else it is a name
// Whether the patterns are a few names, which need no look at all units.
bool answer_is_of_few_names(char *const *patterns, size_t n);
