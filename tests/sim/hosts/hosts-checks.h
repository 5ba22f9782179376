// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What must be so in a story of whole hosts: the table is in hosts-checks.c. The truth is what the machines'
// PIDs 1 run, what the log has, and what clients were told. Besides checks of its own it has those that need
// the log alone (checks-log.h).

#include "asks.h"
#include "checks-log.h"

// A voter has applied that entry.
void hosts_checks_on_applied(uint32_t host, uint64_t index);
// Every host is attached to one and the same leader, and has all of the log.
bool hosts_checks_have_leader(void *data);
// It waits for something that perhaps never comes, or nobody waits for it.
bool hosts_checks_may_stay_open(const WorldAsked *a);

// hosts-checks-voters.c
void voters_begin(void);
void voters_end(void);
void leader_on_calm(void);
void voters_tell_links(uint32_t machine); // what it says of them, for people

// hosts-checks-disk.c: what argosyd leaves on its disk, what becomes of it, and who ends
void disk_begin(void);
void disk_on_entry(const Argosy__LogBatch *batch);
void disk_on_look(void);
void disk_end(void);
// An administrator has removed it.
void disk_fence_is_lost(uint32_t number);

// hosts-checks-pace.c
void pace_begin(void);
void pace_on_look(void);

// hosts-checks-places.c
void places_begin(void);
void places_on_entry(const Argosy__LogBatch *batch);
void places_on_look(void);
void reached_on_calm(void);
void stays_on_calm(void);

// hosts-checks-answers.c
void past_begin(void);
void past_on_entry(const Argosy__LogBatch *batch);
void past_on_answer(const WorldAsked *a, const Argosy__Response *r);
void past_end(void);
void answered_on_calm(void);

// hosts-checks-lists.c
// NULL: it is not answered whole, since the leader changes.
const Argosy__Response__Nodes *hosts_checks_ask_nodes(void);
uint32_t hosts_checks_place_of(const char *node); // of a name; 0: of nobody here
void lists_on_calm(void);
void contents_on_calm(void);
void addresses_on_calm(void);
