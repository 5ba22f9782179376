// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Which contents the units of a group (DisruptionBudget) have, and how many have each: kept as records are
// followed, so that a question about thousands of instances looks at a few contents. And the newest revision
// of a unit of the group.

#include "leader-core.h"
#include "tables.h"

enum { GROUP_SOURCES_COMPARED = 16 }; // contents of a group that one look compares

struct GroupContent {
        Hash spec;
        bool from_template;
        size_t n;       // units
        uint8_t key[HASH_SIZE + 1];
};

// that it has now; it is in its group. Ends the process without memory
void group_contents_note(Unit *u, const UnitEntry *e);
void group_contents_forget(Unit *u);                   // it leaves that
// How many units of the group got their content from the template, and have another one than that.
size_t group_contents_count_others(const DisruptionBudget *g, const Hash *spec);
// What all of them that got theirs from the template have. NULL, *ret_several: several; or none has.
SpecEntry *group_contents_common(const Leader *l, const DisruptionBudget *g, bool *ret_several);
// One of the contents that units got from the template, if all of these have the same source and differ in
// the digests of their image alone (content_image_same_source()). *ret NULL: they have several sources, or
// more than GROUP_SOURCES_COMPARED contents; or none has one. 0 or -ENOMEM.
int group_contents_one_source(const Leader *l, const DisruptionBudget *g, SpecEntry **ret);
// Each content once; those that the log has still.
void group_contents_each(const Leader *l, const DisruptionBudget *g,
                         void (*each)(SpecEntry *spec, void *userdata), void *userdata);
