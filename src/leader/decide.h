// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What goes into the next batch.

#include "tickets.h"

void decide_next(Leader *l);
void decide_done(Leader *l, StoreOutcome outcome);
void change_parts_free(Ticket *t); // where it is with a Change in parts
void plan_turns_free(Ticket *t);   // or with one that is only asked about
void undo_work_free(Ticket *t);    // and with an Undo
void aim_work_free(Ticket *t);     // or an Apply
void cancel_work_free(Ticket *t);  // or a JobCancel
