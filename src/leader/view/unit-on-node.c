// SPDX-License-Identifier: LGPL-2.1-or-later
//
// One unit on one node: what was ordered there and what its host says of it. Made by the first order or
// report and gone when nothing of the unit is there (tables.h says when). Where it is in between is one
// state (unit-on-node-life.h), which unit_on_node_event() alone writes. What follows from it is kept there,
// and nowhere else:
//
//      its content     counted for its host as long as it is to have the unit
//      n_leaving       of its node: what is to end there, and may be there by its host's word or an order
//
// What a report says is kept as it is, and what is asked of it (is it up, has it ended) follows from that,
// the record and the host.
//
// Without memory for a report its words stay those of the one before, and who took it ends the process.
#include "unit-on-node.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>

#include "clock.h"
#include "event-marks.h"
#include "host-marks.h"
#include "message.h"
#include "nodes.h"
#include "oom.h"
#include "rollout-content.h"
#include "row-walks.h"
#include "str.h"
#include "tables.h"
#include "tallies.h"
#include "turn.h"
#include "unit-marks.h"
#include "unit-on-node-work.h"
#include "unit-record.h"
#include "unit-state.h"

enum { PULL_TOLD_MS = 2000 }; // a pull that takes as long is told with its age

// ------------------------------------------------------------------------------------------------ its life

// It is to end on its node, or to be let go of there: also if the host was told to have it and has not said
// yet that it has.
static bool is_leaving(const UnitOnNode *s) {
        if (!unit_on_node_is_known(s) || host_is_lost(s->node->host))
                return false;
        if (s->unit->life == LIFE_GLOBAL)
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

// ------------------------------------------------------------------------------------------------ its words

// Nearly all that hosts say of units are these words: which one it was is enough, and only others are
// copied.
static const char *const known_words[] = {
        "running", "success", "dead",      "exited",  "failed",  "exit-code",
        "signal",  "start",   "listening", "waiting", "mounted", "active",
};

static_assert(ELEMENTSOF(known_words) < 1 << 4); // UnitOnNode.sub and .result

// Its place + 1; 0: it is none of them.
static uint8_t known_word(const char *word) {
        for (size_t i = 0; i < ELEMENTSOF(known_words); i++)
                if (streq(word, known_words[i]))
                        return (uint8_t) (i + 1);
        return 0;
}

static const char *word(uint8_t known, const char *own) {
        return known ? known_words[known - 1] : own ?: "";
}

const char *unit_on_node_sub(const UnitOnNode *s) {
        return word(s->sub, s->words ? s->words->sub : NULL);
}

const char *unit_on_node_result(const UnitOnNode *s) {
        return word(s->result, s->words ? s->words->result : NULL);
}

const char *unit_on_node_error(const UnitOnNode *s) {
        return s->words && s->words->error ? s->words->error : "";
}

const char *unit_on_node_down_by(const UnitOnNode *s) {
        return s->words && s->words->down_by ? s->words->down_by : "";
}

void unit_on_node_pull_phrase(const UnitOnNode *s, const char *what, char *ret, size_t size) {
        const UnitOnNodeWords *w = s->words;
        uint64_t now_ms = s->node->host->reported_ms;
        size_t len = str_fit(ret, size, "%s", what);

        if (w && w->pull_ms > 0 && w->pull_ms + PULL_TOLD_MS <= now_ms)
                len += str_fit(ret + len, size - len, ", for %" PRIu64 " s",
                               (now_ms - w->pull_ms) / 1000);
        if (w && w->pull)
                str_fit(ret + len, size - len, ": %s", w->pull);
}

const char *unit_on_node_bad_result(const UnitOnNode *s) {
        const char *result = unit_on_node_result(s);

        return *result && !streq(result, "success") ? result : NULL;
}

const Hash *unit_on_node_seen(const UnitOnNode *s) {
        static const Hash none;

        return s->seen ? &s->seen->hash : &none;
}

static void words_free(UnitOnNodeWords *words) {
        if (!words)
                return;
        free(words->sub);
        free(words->result);
        free(words->error);
        free(words->down_by);
        free(words->pull);
        free(words);
}

// ------------------------------------------------------------------------------------------------ the table

enum { ROWS_OF_LIST = 16 }; // of a unit; if there are more, they have a map

void unit_on_node_forget_rows(Unit *u) {
        if (u->rows)
                map_done(u->rows);
        free(TAKE_PTR(u->rows));
}

static void map_rows(Unit *u) {
        size_t n = 0;

        list_foreach (i, &u->on_nodes)
                n++;
        if (n <= ROWS_OF_LIST)
                return;
        u->rows = oom_checked(calloc(1, sizeof(*u->rows)));
        list_foreach (i, &u->on_nodes) {
                UnitOnNode *s = CONTAINER_OF(i, UnitOnNode, by_unit);

                (void) oom_check(map_add(u->rows, &s->node->number, sizeof(s->node->number), s));
        }
}

static void add_row(Unit *u, UnitOnNode *s) {
        list_append(&u->on_nodes, &s->by_unit);
        if (u->rows)
                (void) oom_check(map_add(u->rows, &s->node->number, sizeof(s->node->number), s));
        else
                map_rows(u);
}

static void take_row(Unit *u, UnitOnNode *s) {
        list_unlink(&s->by_unit);
        if (u->rows)
                map_take(u->rows, &s->node->number, sizeof(s->node->number));
        if (list_is_empty(&u->on_nodes))
                unit_on_node_forget_rows(u);
}

// Walks both lists at once, so the shorter one counts.
UnitOnNode *unit_on_node_find(const Unit *u, const Node *n) {
        const ListNode *on = u->on_nodes.next, *here = n->units_on_node.next;

        if (u->rows)
                return map_find(u->rows, &n->number, sizeof(n->number));
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
        add_row(u, s);
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

static void drop_seen(Leader *l, UnitOnNode *s) {
        SeenSpec *seen = s->seen;

        s->seen = NULL;
        if (!seen || --seen->users)
                return;
        map_take(&l->seen_specs, seen->hash.bytes, HASH_SIZE);
        free(seen);
}

void unit_on_node_discard(UnitOnNode *s) {
        unit_on_node_work_discard(s->work);
        words_free(s->words);
        free(s->reported);
        free(s);
}

void unit_on_node_free(Leader *l, UnitOnNode *s) {
        Unit *u = s->unit;

        unit_on_node_event(s, ON_NODE_GONE);
        event_mark_unit_on_node_gone(l, s);
        row_walk_on_freed(l, s);
        take_row(u, s);
        node_ordering_pass_held(&s->node->ordering, &s->by_node);
        list_cursor_pass(&s->node->mark_held, &s->by_node);
        list_unlink(&s->by_node);
        s->node->n_units_on_node--;
        host_mark_tombstones(l, s->node->host);
        unit_on_node_work_free(s);
        drop_seen(l, s);
        unit_on_node_discard(s);
        unit_touch_itself(l, u);
        unit_release(l, u);
        unit_mark_unused(l, u);
}

// --------------------------------------------------------------------------------------- what is said of it

// False: out of memory.
static bool keep_text(char **field, const char *text, size_t max) {
        *field = *text ? str_dup_cut(text, max) : NULL;
        return *field || !*text;
}

// Whether nothing of it has to be kept besides.
static bool is_known(uint8_t *ret, const char *word) {
        *ret = known_word(word);
        return *ret || !*word;
}

static int keep_words(UnitOnNode *s, const Argosy__UnitReport *report) {
        uint8_t sub, result;
        bool known = is_known(&sub, report->sub) & is_known(&result, report->result);
        UnitOnNodeWords *words = NULL;

        if (!known || *report->error || *report->down_by || *report->pull) {
                words = calloc(1, sizeof(*words));
                if (!words)
                        return -ENOMEM;
                if (!keep_text(&words->sub, sub ? "" : report->sub, WORD_MAX) ||
                    !keep_text(&words->result, result ? "" : report->result, WORD_MAX) ||
                    !keep_text(&words->error, report->error, REASON_MAX) ||
                    !keep_text(&words->down_by, report->down_by, REASON_MAX) ||
                    !keep_text(&words->pull, report->pull, REASON_MAX)) {
                        words_free(words);
                        return -ENOMEM;
                }
                words->pull_ms = report->pull_ms;
        }
        words_free(s->words);
        s->words = words;
        s->sub = sub;
        s->result = result;
        return 0;
}

// Nearly always what it was before, and for all units of a template the same.
static void keep_seen(Leader *l, UnitOnNode *s, const ProtobufCBinaryData *spec) {
        SeenSpec *seen;
        Hash hash;

        if (!hash_from_bytes(spec->data, spec->len, &hash)) {
                drop_seen(l, s);
                return;
        }
        if (s->seen && hash_equal(&s->seen->hash, &hash))
                return;
        drop_seen(l, s);
        seen = map_find(&l->seen_specs, hash.bytes, HASH_SIZE);
        if (!seen) {
                seen = oom_checked(calloc(1, sizeof(*seen)));
                seen->hash = hash;
                (void) oom_check(map_add(&l->seen_specs, seen->hash.bytes, HASH_SIZE, seen));
        }
        seen->users++;
        s->seen = seen;
}

static_assert((unsigned) ARGOSY__ACTIVE_STATE__ACTIVE_REFRESHING < SMALL_UNKNOWN &&
              (unsigned) ARGOSY__DOWN_CAUSE__DOWN_UNSEEN < SMALL_UNKNOWN &&
              (unsigned) ARGOSY__LOAD_STATE__LOAD_MASKED < SMALL_UNKNOWN &&
              (unsigned) ARGOSY__PROBATION__PROBATION_ENDED < SMALL_UNKNOWN);
static_assert((unsigned) ON_NODE_STATES <= 1 << 3 && (unsigned) HOLD_STOP < 1 << 3);

// What this leader does not know stays that.
static unsigned small(int value) {
        return MIN_OF((unsigned) value, SMALL_UNKNOWN);
}

// A time on a host's clock.
static uint64_t host_ms(uint64_t ms) {
        return MIN_OF(ms, (UINT64_C(1) << HOST_MS_BITS) - 1);
}

int unit_on_node_report(Leader *l, UnitOnNode *s, const Argosy__UnitReport *report) {
        if (keep_words(s, report) < 0)
                return -ENOMEM;
        s->stays = report->stays;
        s->revision = s->stays ? 0 : report->revision;
        s->run_counted &= s->since_us == report->since_us;
        s->since_us = report->since_us;
        s->changed_ms = host_ms(report->changed_ms);
        s->probation = small((int) report->probation); // what this leader does not know is no reason to wait
        s->probation_ms = host_ms(report->probation_ms);
        s->restarts = report->restarts;
        s->new_failures = s->restarts_heard ? (uint16_t) (report->failed_restarts - s->failed_restarts) : 0;
        s->restarts_heard = true;
        s->failed_restarts = report->failed_restarts;
        s->looping = report->looping;
        s->pulling = report->pulling;
        keep_seen(l, s, &report->spec);
        s->load = small((int) report->load);
        s->active = small((int) report->active);
        s->down = small((int) report->down);
        s->comes_back = report->comes_back;
        s->file_stale = report->file_stale;
        // A host that cannot ask the manager does not know. One that has not acted on the last order to have
        // the unit may be about to begin it: what it removes is what it was to remove before that.
        s->leaving = report->leaving && !s->node->reason && s->revision >= s->had_revision;
        unit_on_node_event(s, ON_NODE_REPORTED);
        return 0;
}

void unit_on_node_is_ordered(UnitOnNode *s, uint64_t revision) {
        s->had_revision = MAX_OF(s->had_revision, revision);
        s->leaving = false;
}

// ------------------------------------------------------------------------------------------ what it is like

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

void unit_on_node_notes(const UnitOnNode *s, bool mismatch, bool older_secret, char ret[UNIT_NOTES_SIZE]) {
        const char *words[] = {s->looping ? "looping" : "", down_cause_to_string(s->down),
                               mismatch ? "mismatch" : "",  s->file_stale ? "stale" : "",
                               s->pulling ? "pulling" : "", older_secret ? "older-secret" : ""};
        size_t len = 0;

        *ret = '\0';
        for (size_t i = 0; i < ELEMENTSOF(words); i++)
                if (*words[i])
                        len += str_fit(ret + len, UNIT_NOTES_SIZE - len, "%s%s", len > 0 ? "," : "",
                                       words[i]);
}

void unit_on_node_said(const UnitOnNode *s, bool mismatch, bool older_secret, UnitSaid *ret) {
        ret->content = unit_on_node_seen(s);
        ret->sub = unit_on_node_sub(s);
        ret->error = unit_on_node_error(s);
        ret->since_us = unit_on_node_since_us(s);
        unit_on_node_notes(s, mismatch, older_secret, ret->notes);
}

static bool has_answered(const Leader *l, const UnitOnNode *s, const UnitEntry *e) {
        return unit_on_node_is_heard(s) &&
               s->revision >= rollout_content(l, e, s->node->number).revision;
}

bool unit_on_node_is_up(const Leader *l, const UnitOnNode *s, const UnitEntry *e) {
        return has_answered(l, s, e) && active_state_is_up(s->active);
}

// Whether what it said is of the last start that its record and its rollout ask for.
static bool has_answered_start(const Leader *l, const UnitOnNode *s, const UnitEntry *e) {
        return unit_on_node_is_heard(s) && s->revision >= e->record->start_rev &&
               s->revision >= rollout_content(l, e, s->node->number).restart_rev;
}

// Expects that what its host said counts.
static const char *failure_of(const UnitOnNode *s, const UnitEntry *e) {
        const char *result = unit_on_node_bad_result(s);
        const Argosy__Outcome *o;

        if (*unit_on_node_error(s))
                return unit_on_node_error(s);
        if (s->active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED)
                return result ? unit_result_phrase(result) : "it failed";
        if (s->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING &&
            str_has_prefix(unit_on_node_sub(s), "auto-restart"))
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

const char *unit_on_node_failure(const Leader *l, const UnitOnNode *s, const UnitEntry *e) {
        return has_answered(l, s, e) ? failure_of(s, e) : NULL;
}

const char *unit_on_node_failure_since_start(const Leader *l, const UnitOnNode *s, const UnitEntry *e) {
        return has_answered_start(l, s, e) ? failure_of(s, e) : NULL;
}

// systemd counts from zero again when somebody starts it.
bool unit_on_node_was_restarted(const Leader *l, const UnitOnNode *s, const UnitEntry *e) {
        return has_answered(l, s, e) && s->restarts > 0;
}

// Whether a unit in this state stays down; a one-shot's other states are final.
static bool stays_down(const UnitOnNode *s) {
        return s->down != ARGOSY__DOWN_CAUSE__DOWN_NOT && s->down != ARGOSY__DOWN_CAUSE__DOWN_SKIPPED;
}

bool unit_on_node_is_unsettled(const UnitOnNode *s, const UnitEntry *e) {
        const Argosy__Outcome *outcome = unit_on_node_work_seen(s)->outcome;
        bool failed = s->active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED,
             ended = s->active == ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE && !stays_down(s) &&
                     !*unit_on_node_error(s);

        if (!entry_ends_by_itself(e) || record_final_outcome(e->record, s->node->number))
                return false;
        if (outcome && outcome->start_rev == e->record->start_rev)
                return true;
        return failed || ended;
}
