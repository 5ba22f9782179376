// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Private to the leader, see retry-controller.c.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Retry Retry;
struct BatchBuilder;
struct Leader;
struct Scheduler;
struct UnitOnNode;
struct Unit;
struct UnitEntry;

// A unit was seen there.
void retry_controller_on_report(struct Leader *l, struct Unit *u, const struct UnitOnNode *s);
// Its record was written.
void retry_controller_on_record(struct Leader *l, struct Unit *u, const struct UnitEntry *e);
void retry_controller_on_time(struct Leader *l);
void retry_controller_on_rollout_end(struct Leader *l);
void retry_controller_take_back(struct Leader *l); // the log had no room
void retry_controller_forget(struct Leader *l, struct Unit *u);
void retry_controller_retire(struct Leader *l); // a term is over: nothing is tried again
// 0 or -ENOMEM.
int retry_controller_decide(struct Leader *l, struct BatchBuilder *b, struct Scheduler **scheduler);

// It has failed somewhere, and that is not forgiven yet: nobody moves it for anything less.
bool retry_controller_hold(const struct Leader *l, const struct Unit *u);
// Whether the entry that is being made has it begin again because it failed; other moves have other causes.
bool retry_controller_takes(const struct Unit *u);
// What happens next to a unit that has failed; false: nothing by itself.
bool retry_controller_phrase(const struct Leader *l, const struct Unit *u, char *ret, size_t size);
