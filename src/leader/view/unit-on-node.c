// SPDX-License-Identifier: LGPL-2.1-or-later
//
// One unit on one node: what was ordered there and what its host says of it. Made by the first order or report and gone
// when nothing of the unit is there (tables.h says when). Where it is in between is one state (unit-on-node-life.h),
// which unit_on_node_event() alone writes. What follows from it is kept there, and nowhere else:
//
//      its content     counted for its host as long as it is to have the unit
//      n_leaving       of its node: what is to end there, and by its host's word has not
//
// What a report says is kept as it is, and what is asked of it (is it up, has it ended) follows from that, the record
// and the host.
//
// Without memory for a report its words stay those of the one before, and who took it ends the process.
#include "unit-on-node.h"

#include <assert.h>
#include <errno.h>

#include "clock.h"
#include "event-marks.h"
#include "host-marks.h"
#include "message.h"
#include "nodes.h"
#include "rollout-content.h"
#include "str.h"
#include "tables.h"
#include "tallies.h"
#include "turn.h"
#include "unit-marks.h"
#include "unit-record.h"
#include "unit-state.h"

// ------------------------------------------------------------------------------------------------ its life

bool unit_on_node_is_to_have(const UnitOnNode *s) {
        return unit_on_node_life_is_to_have(s->life);
}

bool unit_on_node_is_to_go(const UnitOnNode *s) {
        return unit_on_node_life_is_to_go(s->life);
}

bool unit_on_node_is_reported(const UnitOnNode *s) {
        return unit_on_node_life_is_reported(s->life);
}

bool unit_on_node_is_known(const UnitOnNode *s) {
        return unit_on_node_life_is_known(s->life);
}

// It is to end on its node, as far as that is seen.
static bool is_leaving(const UnitOnNode *s) {
        if (!unit_on_node_is_reported(s) || host_is_lost(s->node->host))
                return false;
        if (s->unit->life == LIFE_EVERYWHERE)
                return unit_on_node_is_to_go(s) || s->node->mode == ARGOSY__NODE_MODE__MODE_MAINTENANCE;
        return s->unit->node != s->node;
}

void unit_on_node_count(UnitOnNode *s) {
        bool leaving = is_leaving(s);

        s->node->n_leaving = s->node->n_leaving - s->counted + leaving;
        s->counted = leaving;
        tally_unit_on_node(s);
}

void unit_on_node_event(UnitOnNode *s, OnNodeEvent event) {
        UnitOnNodeLife after = unit_on_node_life_after(s->life, event);

        assert(after != ON_NODE_NEVER);
        s->life = after;
        if (!unit_on_node_is_to_have(s))
                unit_on_node_drop_spec(s);
        unit_on_node_count(s);
}

bool unit_on_node_is_consistent(const UnitOnNode *s) {
        return s->life != ON_NODE_ABSENT && (!s->spec || unit_on_node_is_to_have(s)) &&
               s->counted == is_leaving(s);
}

// ------------------------------------------------------------------------------------------------ the table

// By both lists at once, so the shorter one counts: of a global unit there are as many as nodes.
UnitOnNode *unit_on_node_find(const Unit *u, const Node *n) {
        const ListNode *on = u->on_nodes.next, *here = n->units_on_node.next;

        for (; on != &u->on_nodes && here != &n->units_on_node; on = on->next, here = here->next) {
                if (CONTAINER_OF(on, UnitOnNode, by_unit)->node == n)
                        return CONTAINER_OF(on, UnitOnNode, by_unit);
                if (CONTAINER_OF(here, UnitOnNode, by_node)->unit == u)
                        return CONTAINER_OF(here, UnitOnNode, by_node);
        }
        return NULL;
}

UnitOnNode *unit_on_node_get(Leader *l, Unit *u, Node *n) {
        UnitOnNode *s = unit_on_node_find(u, n);

        if (s)
                return s;
        s = calloc(1, sizeof(*s));
        if (!s)
                return NULL;
        s->unit = u;
        s->node = n;
        s->up_flip_us = leader_now(l);
        list_append(&u->on_nodes, &s->by_unit);
        list_append(&n->units_on_node, &s->by_node);
        n->n_units_on_node++;
        unit_on_node_event(s, ON_NODE_NAMED);
        event_mark_unit_on_node(l, s);
        return s;
}

void unit_on_node_drop_spec(UnitOnNode *s) {
        HostSpec *spec = s->spec;

        s->spec = NULL;
        if (!spec || --spec->users)
                return;
        map_take(&s->node->host->specs, spec->hash.bytes, HASH_SIZE);
        free(spec);
}

int unit_on_node_need_spec(UnitOnNode *s, const Hash *hash, bool *ret_new) {
        Map *specs = &s->node->host->specs;
        HostSpec *spec = map_find(specs, hash->bytes, HASH_SIZE);

        *ret_new = false;
        if (s->spec && s->spec == spec)
                return 0;
        if (!spec) {
                spec = calloc(1, sizeof(*spec));
                if (!spec)
                        return -ENOMEM;
                spec->hash = *hash;
                if (map_add(specs, spec->hash.bytes, HASH_SIZE, spec) < 0) {
                        free(spec);
                        return -ENOMEM;
                }
                *ret_new = true;
        }
        spec->users++;
        unit_on_node_drop_spec(s);
        s->spec = spec;
        return 0;
}

// Nearly all that hosts say of units are these words: they are shared, and only others are copied.
static const char *const known_words[] = {
        "running", "success", "dead",      "exited",  "failed",  "exit-code",
        "signal",  "start",   "listening", "waiting", "mounted", "active",
};

static const char *known_word(const char *word) {
        for (size_t i = 0; i < ELEMENTSOF(known_words); i++)
                if (word == known_words[i] || streq(word, known_words[i]))
                        return known_words[i];
        return NULL;
}

static void drop_word(const char *word) {
        if (word && known_word(word) != word)
                free((char *) word);
}

void unit_on_node_discard(UnitOnNode *s) {
        message_free(s->outcome);
        drop_word(s->sub);
        drop_word(s->result);
        free(s->error);
        free(s->down_by);
        free(s->told);
        free(s);
}

void unit_on_node_free(Leader *l, UnitOnNode *s) {
        Unit *u = s->unit;

        unit_on_node_event(s, ON_NODE_GONE);
        event_mark_unit_on_node_gone(l, s);
        list_unlink(&s->by_unit);
        if (s->node->welcome_held == &s->by_node)
                s->node->welcome_held = s->by_node.next;
        list_unlink(&s->by_node);
        s->node->n_units_on_node--;
        host_mark_tombstones(l, s->node->host);
        list_unlink(&s->order);
        list_unlink(&s->awaiting);
        list_unlink(&s->outcome_due);
        unit_on_node_discard(s);
        unit_touch_itself(l, u);
        unit_release(l, u);
        unit_mark_unused(l, u);
}

// ------------------------------------------------------------------------------------------------ what is said of it

static int keep_text(char **field, const char *text, size_t max) {
        char *copy = NULL;

        if (*text) {
                copy = str_dup_cut(text, max);
                if (!copy)
                        return -ENOMEM;
        }
        free(*field);
        *field = copy;
        return 0;
}

static int keep_word(const char **field, const char *word) {
        const char *kept = *word ? known_word(word) : NULL;

        if (*word && !kept)
                kept = str_dup_cut(word, WORD_MAX);
        if (*word && !kept)
                return -ENOMEM;
        drop_word(*field);
        *field = kept;
        return 0;
}

int unit_on_node_report(UnitOnNode *s, const Argosy__UnitReport *report) {
        if (keep_word(&s->sub, report->sub) < 0 || keep_word(&s->result, report->result) < 0 ||
            keep_text(&s->error, report->error, REASON_MAX) < 0 ||
            keep_text(&s->down_by, report->down_by, REASON_MAX) < 0)
                return -ENOMEM;
        s->stays = report->stays;
        s->revision = s->stays ? 0 : report->revision;
        s->since_us = report->since_us;
        s->changed_ms = report->changed_ms;
        s->probation = (uint8_t) report->probation; // what this leader does not know is no reason to wait
        s->probation_ms = report->probation_ms;
        s->restarts = report->restarts;
        s->new_failures = s->restarts_heard ? (uint16_t) (report->failed_restarts - s->failed_restarts) : 0;
        s->restarts_heard = true;
        s->failed_restarts = report->failed_restarts;
        s->looping = report->looping;
        if (!hash_from_bytes(report->spec.data, report->spec.len, &s->seen))
                s->seen = (Hash){};
        s->load = report->load;
        s->active = report->active;
        s->down = report->down;
        s->drift = s->down == ARGOSY__DOWN_CAUSE__DOWN_STOPPED;
        s->went_along = s->down == ARGOSY__DOWN_CAUSE__DOWN_BOUND;
        s->comes_back = report->comes_back;
        s->file_stale = report->file_stale;
        s->leaving = report->leaving && !s->node->reason; // whoever cannot ask the manager does not know
        unit_on_node_event(s, ON_NODE_REPORTED);
        return 0;
}

// ------------------------------------------------------------------------------------------------ what it is like

bool unit_on_node_is_unreachable(const UnitOnNode *s) {
        return !node_is_heard(s->node);
}

bool unit_on_node_is_heard(const UnitOnNode *s) {
        return unit_on_node_is_reported(s) && !unit_on_node_is_unreachable(s);
}

bool unit_on_node_is_shown(const UnitOnNode *s) {
        return s && unit_on_node_is_heard(s);
}

bool unit_on_node_is_down(const UnitOnNode *s) {
        return active_state_is_down(s->active);
}

uint64_t unit_on_node_since_us(const UnitOnNode *s) {
        return s->since_us > 0 ? s->since_us - (uint64_t) s->node->host->clock.dates_ahead_us : 0;
}

bool unit_on_node_is_on_probation(const UnitOnNode *s) {
        return s->probation == ARGOSY__PROBATION__PROBATION_ON && s->node->host->lived_ms < s->probation_ms;
}

bool unit_on_node_is_timed(const UnitOnNode *s) {
        return s->changed_ms > 0;
}

uint64_t unit_on_node_known_us(const UnitOnNode *s) {
        uint64_t reported_ms = s->node->host->reported_ms;

        return reported_ms > s->changed_ms ? (reported_ms - s->changed_ms) * USEC_PER_MSEC : 0;
}

bool unit_on_node_is_skipped(const UnitOnNode *s) {
        return s->down == ARGOSY__DOWN_CAUSE__DOWN_SKIPPED;
}

int unit_on_node_add_notes(const UnitOnNode *s, bool mismatch, Buf *ret) {
        const char *words[] = {s->looping ? "looping" : "", down_cause_to_string(s->down), mismatch ? "mismatch" : "",
                               s->file_stale ? "stale" : ""};
        int r = 0;

        for (size_t i = 0; i < ELEMENTSOF(words) && r >= 0; i++)
                if (*words[i])
                        r = buf_printf(ret, "%s%s", ret->len > 0 ? "," : "", words[i]);
        return r < 0 ? r : 0;
}

static bool has_answered(const Leader *l, const UnitOnNode *s, const UnitEntry *e) {
        return unit_on_node_is_heard(s) &&
               s->revision >= rollout_content(l, e, s->node->number).revision;
}

bool unit_on_node_is_up(const Leader *l, const UnitOnNode *s, const UnitEntry *e) {
        return has_answered(l, s, e) && active_state_is_up(s->active);
}

const char *unit_on_node_failure(const Leader *l, const UnitOnNode *s, const UnitEntry *e) {
        const char *result = s->result && *s->result && !streq(s->result, "success") ? s->result : NULL;
        const Argosy__Outcome *o;

        if (!has_answered(l, s, e))
                return NULL;
        if (s->error && *s->error)
                return s->error;
        if (s->active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED)
                return result ? unit_result_phrase(result) : "it failed";
        if (s->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING && s->sub &&
            str_has_prefix(s->sub, "auto-restart"))
                return result ? unit_result_phrase(result) : "it failed; systemd is trying again";
        if (s->active != ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE)
                return NULL;
        o = record_final_outcome(e->record, s->node->number);
        if (!o && unit_on_node_is_skipped(s))
                return "systemd skipped its start";
        if (!o)
                return result ? unit_result_phrase(result) : "it is down";
        if (o->kind != ARGOSY__OUTCOME__KIND__DONE)
                return outcome_phrase(o);
        return NULL;
}

// Of a one-shot all others are an end for good.
static bool stays_down(const UnitOnNode *s) {
        return s->down != ARGOSY__DOWN_CAUSE__DOWN_NOT && s->down != ARGOSY__DOWN_CAUSE__DOWN_SKIPPED;
}

bool unit_on_node_is_unsettled(const UnitOnNode *s, const UnitEntry *e) {
        bool failed = s->active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED,
             ended = s->active == ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE && !stays_down(s) && !(s->error && *s->error);

        if (!entry_ends_by_itself(e) || record_final_outcome(e->record, s->node->number))
                return false;
        if (s->outcome && s->outcome->start_rev == e->record->start_rev)
                return true;
        return failed || ended;
}
