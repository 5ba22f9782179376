// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// One unit on one node.

#include "leader-core.h"
#include "tables.h"
#include "unit-on-node-life.h"

UnitOnNode *unit_on_node_find(const Unit *u, const Node *n);
UnitOnNode *unit_on_node_get(Leader *l, Unit *u, Node *n); // makes it, expected; NULL: out of memory
// The only way to change UnitOnNode.life. What follows from it is kept by the unit, the node and its host as
// they are then.
void unit_on_node_event(UnitOnNode *s, OnNodeEvent event);
// As unit_on_node_life_*().
static inline bool unit_on_node_is_to_have(const UnitOnNode *s) {
        return unit_on_node_life_is_to_have(s->life);
}
static inline bool unit_on_node_is_to_go(const UnitOnNode *s) {
        return unit_on_node_life_is_to_go(s->life);
}
static inline bool unit_on_node_is_reported(const UnitOnNode *s) {
        return unit_on_node_life_is_reported(s->life);
}
static inline bool unit_on_node_is_known(const UnitOnNode *s) {
        return unit_on_node_life_is_known(s->life);
}
void unit_on_node_free(Leader *l, UnitOnNode *s);
void unit_on_node_discard(UnitOnNode *s); // as unit_discard()
void unit_on_node_forget_rows(Unit *u); // by number: the unit goes, or none is left
int unit_on_node_need_spec(UnitOnNode *s, const Hash *hash, bool *ret_new);
void unit_on_node_drop_spec(UnitOnNode *s);
int unit_on_node_report(Leader *l, UnitOnNode *s, const Argosy__UnitReport *report);
// The host is told to have the unit; revision 0: it is to be down there for a while. What it said of an
// earlier removal counts no more.
void unit_on_node_is_ordered(UnitOnNode *s, uint64_t revision);
void unit_on_node_count(UnitOnNode *s); // what besides its life decides about Node.n_leaving has changed
// What follows from its life is as that says: for tests.
bool unit_on_node_is_consistent(const UnitOnNode *s);
// A one-shot has ended here, and the log does not say yet how.
bool unit_on_node_is_unsettled(const UnitOnNode *s, const UnitEntry *e);
// What its host said last, never NULL; without a content a hash of zeros.
const char *unit_on_node_sub(const UnitOnNode *s);
const char *unit_on_node_result(const UnitOnNode *s);
const char *unit_on_node_error(const UnitOnNode *s);
const char *unit_on_node_down_by(const UnitOnNode *s);
// Of one whose image is being pulled: `what`, for how long, which image, and what podman has said last.
void unit_on_node_pull_phrase(const UnitOnNode *s, const char *what, char *ret, size_t size);
const Hash *unit_on_node_seen(const UnitOnNode *s);
const char *unit_on_node_bad_result(const UnitOnNode *s); // NULL: it is none, or "success"
// What it is like: as its record says; seen at all; down, as it was seen last; why it failed (NULL: it did
// not).
bool unit_on_node_is_up(const Leader *l, const UnitOnNode *s, const UnitEntry *e);
bool unit_on_node_is_unreachable(const UnitOnNode *s);
// what its host said last is what is so, as far as can be known
bool unit_on_node_is_heard(const UnitOnNode *s);
bool unit_on_node_is_shown(const UnitOnNode *s); // the same; NULL: it is not
bool unit_on_node_is_down(const UnitOnNode *s);
const char *unit_on_node_failure(const Leader *l, const UnitOnNode *s, const UnitEntry *e);
// Likewise, also if its host has yet to answer a later order that starts nothing, as the end of a rollout.
const char *unit_on_node_failure_since_start(const Leader *l, const UnitOnNode *s, const UnitEntry *e);
// Whether systemd has restarted it by itself (Restart=) since the last start that it had by order, and that
// was the one that its record asks for.
bool unit_on_node_was_restarted(const Leader *l, const UnitOnNode *s, const UnitEntry *e);
// When its active state became what it is, by our wall clock; 0: not known.
uint64_t unit_on_node_since_us(const UnitOnNode *s);
// Its start has still to prove itself: its host has not said yet that its process has lived long enough.
bool unit_on_node_is_on_probation(const UnitOnNode *s);
// systemd skipped its start, since a condition is not met; UnitOnNode.down_by says which. Not if it ran
// since.
bool unit_on_node_is_skipped(const UnitOnNode *s);
// What is odd about it there, as UnitRow.note has it; `mismatch`: scheduler_mismatches(); `older_secret`:
// unit_older_secret().
enum { UNIT_NOTES_SIZE = 128 };
void unit_on_node_notes(const UnitOnNode *s, bool mismatch, bool older_secret, char ret[UNIT_NOTES_SIZE]);
// What its host said last, in one piece.
typedef struct UnitSaid {
        const Hash *content;      // unit_on_node_seen()
        const char *sub, *error;
        uint64_t since_us;
        char notes[UNIT_NOTES_SIZE];
} UnitSaid;
void unit_on_node_said(const UnitOnNode *s, bool mismatch, bool older_secret, UnitSaid *ret);
// Its host says when the unit changed; then: for how long it has been as it is, by that host's clock and as
// far as everything is told.
bool unit_on_node_is_timed(const UnitOnNode *s);
uint64_t unit_on_node_known_us(const UnitOnNode *s);
