// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A copy of the cluster that is made of nothing but the events that somebody is told, and has to be like it.

#include <stdlib.h>

#include "answer.h"
#include "event-asks.h"
#include "job-state.h"
#include "leader-private.h"
#include "message.h"
#include "printed.h"
#include "response.h"
#include "unit-row.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define GLOBAL "[X-Argosy]\nGlobal=yes\n"
#define EVERYWHERE SERVICE GLOBAL
#define START ARGOSY__VERB__VERB_START
#define STOP ARGOSY__VERB__VERB_STOP
#define DESTROY ARGOSY__VERB__VERB_DESTROY

enum { ROWS_MAX = 256, TEXT_MAX = 160, JOBS_MAX = 4096 };

static Rig g;
static unsigned seed;

FIXTURE(setup) {
        rig_start(&g, 3);
}

FIXTURE(teardown) {
        rig_stop(&g);
}

static inline unsigned draw(unsigned n) {
        return (unsigned) rand_r(&seed) % n;
}

#define CONTENT "/content" // no node's name

// What somebody keeps who is told: "UNIT ...", "UNIT NODE ..." and "UNIT CONTENT SHA256" as rows of words.
typedef struct Row {
        char name[64], node[16], text[TEXT_MAX];
        bool stale; // was there before the state that is being told
} Row;

typedef struct Copy {
        Asked asked;
        Row rows[ROWS_MAX];
        size_t n;
        char jobs[JOBS_MAX][12]; // state of each; empty: he does not know of it
        bool stale_jobs[JOBS_MAX];
        uint64_t seq, term;      // of the event that was taken last, if it was new; 0: of another one
        bool complete;
} Copy;

static inline void drop_row(Copy *c, size_t i) {
        c->rows[i] = c->rows[--c->n];
}

static inline void drop_rows(Copy *c, const char *name, const char *node) {
        for (size_t i = c->n; i > 0; i--)
                if (streq(c->rows[i - 1].name, name) &&
                    (!node ? *c->rows[i - 1].node : streq(c->rows[i - 1].node, node)))
                        drop_row(c, i - 1);
}

static inline void put_row(Copy *c, const char *name, const char *node, const char *text) {
        Row *row = &c->rows[c->n++];

        assert_true(c->n <= ROWS_MAX);
        *row = (Row){};
        snprintf(row->name, sizeof(row->name), "%s", name);
        snprintf(row->node, sizeof(row->node), "%s", node);
        snprintf(row->text, sizeof(row->text), "%s", text);
}

static inline void describe_unit(const char *desired, const char *state, const char *node,
                                 char ret[TEXT_MAX]) {
        snprintf(ret, TEXT_MAX, "%s %s %s", desired, state, node);
}

static inline bool is_about(const Argosy__Event *e, const char *kind) {
        const char *kinds = event_value(e, EVENT_STREAM_KINDS);

        return !*kinds || strstr(kinds, kind);
}

static inline const char *kind_of(const Row *row) {
        return !*row->node ? "unit" : streq(row->node, CONTENT) ? "content" : "state";
}

static inline void take_begins(Copy *c, const Argosy__Event *e) {
        for (size_t i = 0; i < c->n; i++)
                c->rows[i].stale |= is_about(e, kind_of(&c->rows[i]));
        for (size_t i = 0; i < JOBS_MAX; i++)
                c->stale_jobs[i] |= is_about(e, "job");
}

static inline void take_complete(Copy *c) {
        for (size_t i = c->n; i > 0; i--)
                if (c->rows[i - 1].stale)
                        drop_row(c, i - 1);
        for (size_t i = 0; i < JOBS_MAX; i++) {
                if (c->stale_jobs[i])
                        *c->jobs[i] = '\0';
                c->stale_jobs[i] = false;
        }
}

static inline void take(Copy *c, const Argosy__Event *e) {
        char text[TEXT_MAX];

        switch (e->kind) {
        case ARGOSY__EVENT_KIND__EVENT_STREAM:
                if (event_is_word(e, EVENT_STREAM_BEGINS))
                        take_begins(c, e);
                else
                        take_complete(c);
                c->complete = event_is_word(e, EVENT_STREAM_COMPLETE);
                break;
        case ARGOSY__EVENT_KIND__EVENT_UNIT:
                drop_rows(c, event_value(e, 0), "");
                if (e->mark != ARGOSY__EVENT_MARK__EVENT_NEW)
                        drop_rows(c, event_value(e, 0), NULL);
                describe_unit(event_field(e, "desired"), event_field(e, "state"), event_field(e, "node"),
                              text);
                if (!e->gone)
                        put_row(c, event_value(e, 0), "", text);
                break;
        case ARGOSY__EVENT_KIND__EVENT_STATE:
                drop_rows(c, event_value(e, 0), event_value(e, 1));
                snprintf(text, sizeof(text), "%s %s %s %s", event_field(e, "load"), event_field(e, "active"),
                         event_field(e, "sub"), event_field(e, "note"));
                if (!e->gone)
                        put_row(c, event_value(e, 0), event_value(e, 1), text);
                break;
        case ARGOSY__EVENT_KIND__EVENT_CONTENT:
                drop_rows(c, event_value(e, 0), CONTENT);
                if (!e->gone)
                        put_row(c, event_value(e, 0), CONTENT, event_field(e, "sha256"));
                break;
        case ARGOSY__EVENT_KIND__EVENT_JOB:
                assert_true(atoi(event_value(e, 0)) < JOBS_MAX);
                snprintf(c->jobs[atoi(event_value(e, 0))], sizeof(c->jobs[0]), "%s",
                         event_field(e, "state"));
                c->stale_jobs[atoi(event_value(e, 0))] = false;
                break;
        default:
                break;
        }
}

// New events come without a gap and once, all together.
static inline void check_order(Copy *c, const Argosy__Event *e) {
        if (e->mark != ARGOSY__EVENT_MARK__EVENT_NEW) {
                c->seq = event_is_word(e, EVENT_STREAM_COMPLETE) ? e->seq : 0;
                return;
        }
        assert_true(c->seq == 0 || e->seq == c->seq + 1);
        c->seq = e->seq;
}

static inline void cursor_behind(const Asked *a, size_t i, char ret[EVENT_CURSOR_SIZE]) {
        EventCursor c;

        assert_true(event_cursor_parse(a->cursor, &c));
        if (i + 1 < a->n) {
                c.seq = a->events[i]->seq;
                c.index = a->events[i]->index;
                c.mode = a->events[i]->mark == ARGOSY__EVENT_MARK__EVENT_WHOLE    ? EVENT_CURSOR_STATE
                         : a->events[i]->mark == ARGOSY__EVENT_MARK__EVENT_MISSED ? EVENT_CURSOR_MISSED
                                                                                  : EVENT_CURSOR_RING;
        }
        event_cursor_format(&c, ret);
}

// Of what he was answered, so much; then he goes on from the cursor that he had.
static inline void take_first(Copy *c, size_t n) {
        char cursor[EVENT_CURSOR_SIZE];

        for (size_t i = 0; i < n; i++) {
                check_order(c, c->asked.events[i]);
                take(c, c->asked.events[i]);
        }
        if (n < c->asked.n) {
                cursor_behind(&c->asked, n - 1, cursor);
                snprintf(c->asked.cursor, sizeof(c->asked.cursor), "%s", cursor);
        }
}

// Takes what there is; now and then he dies in the middle.
static inline void follow(Copy *c, bool dies) {
        while (asked_pull(&g, &c->asked)) {
                size_t n = dies && c->asked.n > 0 && draw(3) == 0 ? 1 + draw((unsigned) c->asked.n)
                                                                  : c->asked.n;

                take_first(c, n);
        }
}

static inline const Row *find_row(const Copy *c, const char *name, const char *node) {
        for (size_t i = 0; i < c->n; i++)
                if (streq(c->rows[i].name, name) && streq(c->rows[i].node, node))
                        return &c->rows[i];
        return NULL;
}

static inline void assert_row(const Copy *c, const char *name, const char *node, const char *text) {
        const Row *row = find_row(c, name, node);

        if (!row || !streq(row->text, text))
                fail_msg("%s %s: the copy has '%s', not '%s'", name, node, row ? row->text : "nothing",
                         text);
}

static inline size_t compare_units(const Copy *c) {
        Argosy__Response__UnitFiles files = ARGOSY__RESPONSE__UNIT_FILES__INIT;
        size_t n = 0, n_contents = 0;

        name_table_foreach(unit, &g.leader->units) {
                const Unit *u = unit;
                const UnitEntry *e = cluster_state_find_unit(g.state, u->name);
                char text[TEXT_MAX];

                if (e) {
                        assert_int_equal(answer_add_unit_files(g.leader, u->name, &files), 0);
                        describe_unit(files.rows[n]->desired, files.rows[n]->state, files.rows[n]->node,
                                      text);
                        assert_row(c, u->name, "", text);
                        hash_hex(&e->spec->hash, HASH_SIZE, text);
                        assert_row(c, u->name, CONTENT, text);
                        n++;
                        n_contents++;
                }
        }
        for (size_t i = 0; i < files.n_rows; i++)
                message_free(files.rows[i]);
        free(files.rows);
        return n + n_contents;
}

// It was told that a unit is no more, as the log knew it then: that it was destroyed, or only that it is not
// there.
static inline void assert_gone(const Copy *c, const char *name) {
        const Row *row = find_row(c, name, "");

        if (!row || (!streq(row->text, "destroyed  ") && !streq(row->text, "not in the cluster  ")))
                fail_msg("%s: the copy has '%s' of a unit that is no more", name,
                         row ? row->text : "nothing");
}

// Of what is destroyed and still there, the unit counts as well.
static inline size_t compare_states(const Copy *c) {
        size_t n = 0;

        name_table_foreach(unit, &g.leader->units) {
                const Unit *u = unit;
                const UnitEntry *e = cluster_state_find_unit(g.state, u->name);
                size_t before = n;

                list_foreach (i, &u->on_nodes) {
                        const UnitOnNode *s = CONTAINER_OF(i, UnitOnNode, by_unit);

                        if (!unit_on_node_is_listed(g.leader, e, s))
                                continue;
                        Argosy__Response__UnitRow *row = unit_row_new(u->name, s->node->name);
                        assert_int_equal(unit_row_fill_states(g.leader, s->node, s, row), 0);
                        assert_row(c, u->name, s->node->name,
                                   printed("%s %s %s %s", row->load, row->active, row->sub, row->note));
                        message_free(row);
                        n++;
                }
                if (!e && n > before) {
                        assert_gone(c, u->name);
                        n++;
                }
        }
        return n;
}

// Jobs are told of by each leader as if it were the first one.
static inline void compare_jobs(const Copy *c) {
        for (uint64_t number = 1; number <= cluster_state_last_job(g.state); number++) {
                const char *now = job_state_to_string(cluster_state_job_state(g.state, number));

                if (!streq(c->jobs[number], now))
                        fail_msg("job %llu: the copy has '%s', not '%s'", (unsigned long long) number,
                                 c->jobs[number], now);
        }
}

// Of none does he know what is so no more, and he knows those that have begun under this leader, who still
// has them. The others he may have been told by one before, and have forgotten.
static inline void compare_newest_jobs(const Copy *c) {
        for (uint64_t number = 1; number <= cluster_state_last_job(g.state); number++) {
                const char *now = job_state_to_string(cluster_state_job_state(g.state, number));
                const JobObject *j = map_find(&g.leader->events->jobs->by_number, &number, sizeof(number));

                if (((j && j->before_seq != UINT64_MAX) || *c->jobs[number]) && !streq(c->jobs[number], now))
                        fail_msg("job %llu: the copy has '%s', not '%s'", (unsigned long long) number,
                                 c->jobs[number], now);
        }
}

static inline void assert_like_the_cluster(const Copy *c) {
        size_t n = compare_units(c);

        n += compare_states(c);
        if (n != c->n)
                fail_msg("the copy has %zu rows, not %zu", c->n, n);
}

static inline void watch_all(Copy *c) {
        follow(c, false);
        assert_like_the_cluster(c);
}

static inline void assert_like_it_with_its_jobs(const Copy *c, bool few_jobs) {
        assert_like_the_cluster(c);
        if (few_jobs)
                compare_newest_jobs(c);
        else
                compare_jobs(c);
}

static inline void end(Copy *c) {
        asked_forget(&c->asked);
}

#define WATCH_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
