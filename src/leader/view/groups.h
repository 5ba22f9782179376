// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Units that stand in for each other, and how many of them may be down.

#include "leader-core.h"
#include "tables.h"

Group *group_find(const Leader *l, const char *name);
Group *group_get(Leader *l, const char *name); // makes it; NULL: out of memory
void group_drop_if_unused(Leader *l, Group *g);
int group_join(Leader *l, Unit *u, const UnitEntry *e);    // that it is of now, if any; 0 or -ENOMEM
int group_on_unit(Leader *l, Unit *u, const UnitEntry *e); // follows its record; 0 or -ENOMEM
void group_leave(Leader *l, Unit *u);
void group_look(Leader *l, Unit *u); // follows what is seen of it
// How many of the group may be down by the units' own options; SIZE_MAX: any number.
size_t group_budget(const Group *g, const UnitEntry *e);
// Whether the unit may be taken down now. If so the group remembers it until the next batch.
bool group_lets_go(Leader *l, Unit *u, const UnitEntry *e);
// Whether the unit is to leave a node that is emptied, and cannot yet for its group's sake.
bool group_keeps(Leader *l, Unit *u, const UnitEntry *e);
void group_ask_again(Leader *l, Unit *u); // whoever waits for its group
void group_take(Leader *l, Unit *u);
size_t group_taken(const Leader *l, const Group *g);
// Whether it would leave its node, and waits for others of its group.
bool group_holds_back(const Unit *u);
// What a site's unit is like: as its record says; seen at all; why it failed (NULL: it did not).
bool site_is_up(const Leader *l, const Site *s, const UnitEntry *e);
bool site_is_dark(const Site *s);
// Its host says when the unit changed; then: for how long it has been as it is, by that host's clock and as far as
// everything is told.
bool site_is_timed(const Site *s);
uint64_t site_known_us(const Site *s);
const char *site_failure(const Leader *l, const Site *s, const UnitEntry *e);
