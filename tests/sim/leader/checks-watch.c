// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Somebody watches from the beginning to the end, and keeps a copy of units that is made of nothing but the
// events that he is told. Now and then he dies in the middle of an answer, and goes on from the cursor
// behind the last event that he took; leaders come and go. What he has is what lists say at a calm moment.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "checks-private.h"
#include "event-asks.h"
#include "test.h"

enum { COPY_MAX = 8192, COPY_TEXT = 160, WATCH_BYTES = 8192 };

// A unit as list-unit-files has it, or with a node as list-units has it.
typedef struct CopyRow {
        char unit[64], node[64], text[COPY_TEXT];
        bool stale;  // from before the state that is being told
        bool listed; // by the list that it is compared with
        uint64_t news; // what the last piece of news about it said; 0: it was told of otherwise
} CopyRow;

static struct {
        Asked asked;
        CopyRow rows[COPY_MAX];
        size_t n;
        bool complete;
        uint64_t n_answers;
} copy;

void watch_begin(void) {
        memset(&copy, 0, sizeof(copy));
        copy.asked.no_wait = true;
        copy.asked.max_bytes = WATCH_BYTES;
}

void watch_end(void) {
        asked_forget(&copy.asked);
}

// ------------------------------------------------------------------------------------------ what he is told

// All that an event says. Never 0.
static uint64_t words_of(const Argosy__Event *e) {
        uint64_t h = UINT64_C(0xcbf29ce484222325);

        for (size_t i = 0; i < e->n_values; i++)
                for (const char *p = e->values[i];; p++) {
                        h = (h ^ (uint8_t) *p) * UINT64_C(0x100000001b3);
                        if (!*p)
                                break;
                }
        return h | 1;
}

static CopyRow *find(const char *unit, const char *node) {
        for (size_t i = 0; i < copy.n; i++)
                if (strcmp(copy.rows[i].unit, unit) == 0 && strcmp(copy.rows[i].node, node) == 0)
                        return &copy.rows[i];
        return NULL;
}

// Whoever has been told of everything is told of what has changed, and not of the same again. Returns what
// it says.
static uint64_t take_news(const Argosy__Event *e, const char *unit, const char *node) {
        const CopyRow *row = find(unit, node);
        uint64_t words = words_of(e);

        if (e->gone || e->mark != ARGOSY__EVENT_MARK__EVENT_NEW)
                return 0;
        if (row && row->news == words)
                check_fail("news-are-new", "who watches is told of %s %s, of which nothing has changed",
                           unit, node);
        check_says("news-are-new");
        return words;
}

static void forget_news(void) {
        for (size_t i = 0; i < copy.n; i++)
                copy.rows[i].news = 0;
}

// node NULL: the unit, and all that nodes say of it.
static void drop(const char *unit, const char *node) {
        for (size_t i = copy.n; i > 0; i--)
                if (strcmp(copy.rows[i - 1].unit, unit) == 0 &&
                    (!node || strcmp(copy.rows[i - 1].node, node) == 0))
                        copy.rows[i - 1] = copy.rows[--copy.n];
}

static CopyRow *add(const char *unit, const char *node) {
        CopyRow *row = &copy.rows[copy.n++];

        assert_true(copy.n <= COPY_MAX);
        *row = (CopyRow){};
        snprintf(row->unit, sizeof(row->unit), "%s", unit);
        snprintf(row->node, sizeof(row->node), "%s", node);
        return row;
}

static void describe_unit(const char *desired, const char *state, const char *node, char ret[COPY_TEXT]) {
        snprintf(ret, COPY_TEXT, "%s %s %s", desired, state, node);
}

static void describe_state(const char *load, const char *active, const char *sub, const char *note,
                           char ret[COPY_TEXT]) {
        snprintf(ret, COPY_TEXT, "%s %s %s %s", load, active, sub, note);
}

// What begins anew may be some kinds only, such as jobs, of which the leader keeps the newest.
static bool is_about_units(const Argosy__Event *e) {
        const char *kinds = event_value(e, EVENT_STREAM_KINDS);

        return !*kinds || strstr(kinds, "unit") || strstr(kinds, "state");
}

static void take_stream(const Argosy__Event *e) {
        forget_news();
        if (event_is_word(e, EVENT_STREAM_BEGINS) && !is_about_units(e))
                return;
        copy.complete = event_is_word(e, EVENT_STREAM_COMPLETE);
        for (size_t i = copy.n; i > 0; i--)
                if (!copy.complete)
                        copy.rows[i - 1].stale = true;
                else if (copy.rows[i - 1].stale)
                        copy.rows[i - 1] = copy.rows[--copy.n];
}

static void take(const Argosy__Event *e) {
        const char *unit = event_value(e, 0), *node = event_value(e, 1);
        bool is_unit = e->kind == ARGOSY__EVENT_KIND__EVENT_UNIT,
             is_state = e->kind == ARGOSY__EVENT_KIND__EVENT_STATE;
        uint64_t news = is_unit || is_state ? take_news(e, unit, is_unit ? "" : node) : 0;
        CopyRow *row = NULL;

        if (e->kind == ARGOSY__EVENT_KIND__EVENT_STREAM)
                take_stream(e);
        else if (e->kind == ARGOSY__EVENT_KIND__EVENT_UNIT) {
                // otherwise all of it follows
                drop(unit, e->mark != ARGOSY__EVENT_MARK__EVENT_NEW ? NULL : "");
                if (!e->gone)
                        describe_unit(event_field(e, "desired"), event_field(e, "state"),
                                      event_field(e, "node"), (row = add(unit, ""))->text);
        } else if (e->kind == ARGOSY__EVENT_KIND__EVENT_STATE) {
                drop(unit, node);
                if (!e->gone)
                        describe_state(event_field(e, "load"), event_field(e, "active"),
                                       event_field(e, "sub"), event_field(e, "note"),
                                       (row = add(unit, node))->text);
        }
        if (row)
                row->news = news;
}

// He goes on behind the event that he took last.
static void die_behind(size_t n) {
        const Argosy__Event *e = copy.asked.events[n - 1];
        EventCursor c;

        forget_news();
        assert_true(event_cursor_parse(copy.asked.cursor, &c));
        c.seq = e->seq;
        c.index = e->index;
        c.mode = e->mark == ARGOSY__EVENT_MARK__EVENT_WHOLE    ? EVENT_CURSOR_STATE
                 : e->mark == ARGOSY__EVENT_MARK__EVENT_MISSED ? EVENT_CURSOR_MISSED
                                                               : EVENT_CURSOR_RING;
        event_cursor_format(&c, copy.asked.cursor);
}

// False: nobody has answered; or others watch, and there is no room for one more.
static bool pull(void) {
        enum { TURNS = 40 };

        asked_ask(&world.rig, &copy.asked);
        for (unsigned i = 0; i < TURNS && !copy.asked.answered; i++)
                rig_turn(&world.rig);
        asked_cancel(&world.rig, &copy.asked);
        if (copy.asked.answered && copy.asked.status != EBUSY)
                assert_int_equal(copy.asked.status, 0);
        return copy.asked.answered && copy.asked.status == 0;
}

// False: nobody answered, or there is nothing more.
static bool follow(bool may_die) {
        Draw d = draw_from(world.plan.chance ^ ++copy.n_answers);
        size_t n;

        if (!pull())
                return false;
        n = copy.asked.n;
        if (may_die && n > 1 && draw_one_in(&d, 3)) {
                n = 1 + draw_below(&d, (unsigned) n - 1);
                die_behind(n);
        }
        for (size_t i = 0; i < n; i++)
                take(copy.asked.events[i]);
        return n < copy.asked.n || !copy.asked.all;
}

void watch_on_settled(void) {
        Draw d = draw_from(world.plan.chance ^ ~copy.n_answers);

        if (draw_one_in(&d, 2))
                (void) follow(true);
}

// ------------------------------------------------------------------------------------------- what lists say

// is_unsaid: it is listed since the log wants it there, and the node has said nothing of it, so nobody is
// told.
static void compare(const char *unit, const char *node, const char *text, bool is_unsaid) {
        for (size_t i = 0; i < copy.n; i++) {
                CopyRow *row = &copy.rows[i];

                if (strcmp(row->unit, unit) != 0 || strcmp(row->node, node) != 0)
                        continue;
                row->listed = true;
                if (strcmp(row->text, text) != 0)
                        check_fail("watchers-are-told", "who watches has '%s' of %s %s, and lists say '%s'",
                                   row->text, unit, node, text);
                return;
        }
        if (!is_unsaid)
                check_fail("watchers-are-told", "who watches has nothing of %s %s, and lists say '%s'", unit,
                           node, text);
}

// `message`: of that kind.
static const Argosy__Response *list(Argosy__Request__WhatCase what, void *message) {
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        const RigAnswer *a;

        request.what_case = what;
        request.change = message; // a union: all of them are pointers
        a = rig_ask(&world.rig, &request);
        rig_settle(&world.rig);
        return !a->error && a->n == 1 && a->responses[0]->status == 0 ? a->responses[0] : NULL;
}

static void compare_units(void) {
        Argosy__Request__ListUnitFiles m = ARGOSY__REQUEST__LIST_UNIT_FILES__INIT;
        const Argosy__Response *r = list(ARGOSY__REQUEST__WHAT_LIST_UNIT_FILES, &m);
        char text[COPY_TEXT];

        for (size_t i = 0; r && i < r->unit_files->n_rows; i++) {
                const Argosy__Response__UnitFileRow *row = r->unit_files->rows[i];

                describe_unit(row->desired, row->state, row->node, text);
                compare(row->unit, "", text, false);
        }
}

static void compare_states(void) {
        Argosy__Request__ListUnits m = ARGOSY__REQUEST__LIST_UNITS__INIT;
        const Argosy__Response *r = list(ARGOSY__REQUEST__WHAT_LIST_UNITS, &m);
        char text[COPY_TEXT];

        for (size_t i = 0; r && i < r->units->n_rows; i++) {
                const Argosy__Response__UnitRow *row = r->units->rows[i];

                if (!*row->node || strcmp(row->node, "-") == 0)
                        continue; // it waits for one
                describe_state(row->load, row->active, row->sub, row->note, text);
                compare(row->unit, row->node, text,
                        strcmp(row->load, "-") == 0 || strcmp(row->load, "unknown") == 0);
        }
}

static bool is_left_somewhere(const char *unit) {
        for (size_t i = 0; i < copy.n; i++)
                if (strcmp(copy.rows[i].unit, unit) == 0 && *copy.rows[i].node)
                        return true;
        return false;
}

// Of a unit that is destroyed and still there he is told so.
static bool is_gone(const CopyRow *row) {
        return !*row->node &&
               (strncmp(row->text, "destroyed", 9) == 0 ||
                strncmp(row->text, "not in the cluster", 18) == 0) &&
               is_left_somewhere(row->unit);
}

void watch_on_calm(void) {
        rig_settle(&world.rig);
        while (follow(false))
                ;
        if (copy.asked.answered && copy.asked.status == EBUSY)
                return;
        if (!copy.asked.answered)
                check_fail("watchers-are-told", "nobody answers who watches");
        if (!copy.complete)
                check_fail("watchers-are-told",
                           "who watches was told that there is no more, and not the whole state");
        for (size_t i = 0; i < copy.n; i++)
                copy.rows[i].listed = false;
        compare_units();
        compare_states();
        for (size_t i = 0; i < copy.n; i++)
                if (!copy.rows[i].listed && !is_gone(&copy.rows[i]))
                        check_fail("watchers-are-told",
                                   "who watches has '%s' of %s %s, and lists have no such row",
                                   copy.rows[i].text, copy.rows[i].unit, copy.rows[i].node);
        if (copy.n > 0)
                check_says("watchers-are-told");
}

void watch_on_look(void) {
        watch_on_calm();
}
