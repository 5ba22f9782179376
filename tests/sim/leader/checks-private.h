// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The functions of the table in checks.c that are about a leader in its rig; the others are in lib/checks-log.h.

#include "checks-log.h"
#include "world.h"

// checks-state.c
void voters_begin(void);
void voters_on_entry(const Argosy__LogBatch *batch);
void voters_on_calm(void);
void voters_end(void);
void limits_on_entry(const Argosy__LogBatch *batch);

// checks-stops.c
void heard_begin(void);
void heard_on_heard(uint32_t host, const Argosy__ToVoter *m);
// Whether whoever leads may call that host lost: it was silent for a lease, or has said goodbye, or is none any more.
bool heard_may_be_lost(uint32_t host);
void fence_on_order(uint32_t host, const Argosy__ToHost *m);
void orders_on_order(uint32_t host, const Argosy__ToHost *m);
void two_places_on_order(uint32_t host, const Argosy__ToHost *m);
void stops_on_order(uint32_t host, const Argosy__ToHost *m);
void moves_on_entry(const Argosy__LogBatch *batch);

// Whether a host has said that the unit failed there, or that its name is somebody else's.
bool heard_has_failed(unsigned unit);
bool heard_was_refused(unsigned unit);

// checks-places.c
uint32_t places_host_of(uint32_t node); // 0: no host has it
// What the node's host says is not true (lies.c): no check is about what follows from that.
bool places_lies(uint32_t node);
void places_begin(void);
void conflicts_on_calm(void);
void places_on_entry(const Argosy__LogBatch *batch);
// What is there, or was said of it, may keep it from nodes.
bool places_are_barred(unsigned unit);
// A node is up and open.
bool places_any_open(void);

// checks-end.c
void answered_on_end(void);
void queues_on_end(void);
void reached_on_end(void);
void stays_on_end(void);
// NULL: it is as it is to be, or whoever broke it knows why not.
const char *world_why_not_reached(unsigned unit);

// checks-units.c
void one_place_on_calm(void);

// checks-words.c
void lists_on_calm(void);

// checks-watch.c
void watch_begin(void);
void watch_on_entry(const Argosy__LogBatch *batch);
void watch_on_settled(void);
void watch_on_calm(void);
void watch_end(void);
