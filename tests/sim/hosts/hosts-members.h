// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Hosts that come and go in a story, and voters that change. A step asks for one of it, as argosyctl would:
// a token and with it a join, at the machine's own socket; a leave there; at any member a removal, a
// promotion, a demotion, another number of voters. What follows is argosyd's.
//
// By the log a machine is a member if a record has its name; by itself, if it has begun with an identity of
// the story's cluster. In the middle these differ: whoever was removed has not heard of it, and whoever has
// asked to join has not heard the answer. A machine whose key the record has is both.

#include <stdbool.h>
#include <stdint.h>

#include "argosy.pb-c.h"
#include "choices.h"
#include "sim-client.h"

void members_begin(void);
void members_step(Draw *d);
void members_ask_role(uint32_t at, uint32_t machine, bool promote);
void members_on_response(const SimAsk *ask, const Argosy__Response *r);

// The machine of that host of the log; 0: none.
uint32_t members_machine_of(uint32_t host);
// The record of that machine, if the log has one.
const Argosy__HostRecord *members_record(uint32_t machine);
// It is a member by the log and by itself.
bool members_is_in(uint32_t machine);
// It is no member any more, by a removal that has waited for its units: it was up, and not removed by force.
bool members_left_alive(uint32_t machine);
// That machine, or the next one that is a member; 0: there is none.
uint32_t members_or_next(uint32_t machine);

// Checks. In the end each machine is a member or none, by the log and by itself; whoever the log has and is
// none (its answer was lost) somebody removes first.
void members_on_entry(const Argosy__LogBatch *batch);
void members_on_look(void);
void members_on_calm(void);
void members_tell(void); // for people: who is what
