// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A Change of so many units that it is several entries of the log.

#include "decision.h"

// CHANGE_WHOLE: it is to be planned at once; else as decide_change().
enum { CHANGE_WHOLE = 2 };
int decide_parts(Decision *d, Ticket *t);
// As many units one entry has of a Change like that.
size_t change_part_units(const Leader *l, const Argosy__Request__Change *change);
// Names of the ticket's Change up to the end of the part that is planned. 0: it is none in parts.
uint32_t decide_parts_end(const Ticket *t);
// Whether the log has that part, by what is known of the whole request.
bool decide_part_is_done(const Leader *l, const Ticket *t);
