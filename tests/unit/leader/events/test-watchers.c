// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stream of events, as those see it who ask for it: what each is told, and copies of the cluster that are made of
// nothing else and have to be like it, whatever happens in between.
#include <errno.h>
#include <stdlib.h>

#include "answer.h"
#include "event-asks.h"
#include "leader-asks.h"
#include "leader-private.h"

#include "event-stream.h"
#include "job-state.h"
#include "message.h"
#include "response.h"
#include "watchers.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define OTHER "[Service]\nExecStart=/bin/sleep 2000\n"
#define EVERYWHERE SERVICE "[X-Argosy]\nGlobal=yes\n"
#define ZONE "global-7.service" // one of random names
#define IN_ZONE EVERYWHERE "MachineMetadata=zone=a\n"
#define START ARGOSY__VERB__VERB_START
#define STOP ARGOSY__VERB__VERB_STOP
#define DESTROY ARGOSY__VERB__VERB_DESTROY

enum { ROWS_MAX = 256, TEXT_MAX = 160, JOBS_MAX = 4096 };

static Rig g;
static unsigned seed;

static int setup(void **state) {
        rig_start(&g, 3);
        return 0;
}

static int teardown(void **state) {
        rig_stop(&g);
        return 0;
}

static unsigned draw(unsigned n) {
        return (unsigned) rand_r(&seed) % n;
}

// ------------------------------------------------------------------------------------------------ copies

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

static void drop_row(Copy *c, size_t i) {
        c->rows[i] = c->rows[--c->n];
}

static void drop_rows(Copy *c, const char *name, const char *node) {
        for (size_t i = c->n; i > 0; i--)
                if (streq(c->rows[i - 1].name, name) &&
                    (!node ? *c->rows[i - 1].node : streq(c->rows[i - 1].node, node)))
                        drop_row(c, i - 1);
}

static void put_row(Copy *c, const char *name, const char *node, const char *text) {
        Row *row = &c->rows[c->n++];

        assert_true(c->n <= ROWS_MAX);
        *row = (Row){};
        snprintf(row->name, sizeof(row->name), "%s", name);
        snprintf(row->node, sizeof(row->node), "%s", node);
        snprintf(row->text, sizeof(row->text), "%s", text);
}

static void describe_unit(const char *desired, const char *state, const char *node, char ret[TEXT_MAX]) {
        snprintf(ret, TEXT_MAX, "%s %s %s", desired, state, node);
}

static bool is_about(const Argosy__Event *e, const char *kind) {
        const char *kinds = event_value(e, EVENT_STREAM_KINDS);

        return !*kinds || strstr(kinds, kind);
}

static const char *kind_of(const Row *row) {
        return !*row->node ? "unit" : streq(row->node, CONTENT) ? "content" : "state";
}

static void take_begins(Copy *c, const Argosy__Event *e) {
        for (size_t i = 0; i < c->n; i++)
                c->rows[i].stale |= is_about(e, kind_of(&c->rows[i]));
        for (size_t i = 0; i < JOBS_MAX; i++)
                c->stale_jobs[i] |= is_about(e, "job");
}

static void take_complete(Copy *c) {
        for (size_t i = c->n; i > 0; i--)
                if (c->rows[i - 1].stale)
                        drop_row(c, i - 1);
        for (size_t i = 0; i < JOBS_MAX; i++) {
                if (c->stale_jobs[i])
                        *c->jobs[i] = '\0';
                c->stale_jobs[i] = false;
        }
}

static void take(Copy *c, const Argosy__Event *e) {
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
                snprintf(text, sizeof(text), "%s %s %s", event_field(e, "load"), event_field(e, "active"),
                         event_field(e, "sub"));
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
static void check_order(Copy *c, const Argosy__Event *e) {
        if (e->mark != ARGOSY__EVENT_MARK__EVENT_NEW) {
                c->seq = event_is_word(e, EVENT_STREAM_COMPLETE) ? e->seq : 0;
                return;
        }
        assert_true(c->seq == 0 || e->seq == c->seq + 1);
        c->seq = e->seq;
}

static void cursor_behind(const Asked *a, size_t i, char ret[EVENT_CURSOR_SIZE]) {
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

// Takes what there is; now and then he dies in the middle, and goes on from the cursor that he had.
static void follow(Copy *c, bool dies) {
        while (asked_pull(&g, &c->asked)) {
                size_t n = dies && c->asked.n > 0 && draw(3) == 0 ? 1 + draw((unsigned) c->asked.n)
                                                                  : c->asked.n;
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
}

static const Row *find_row(const Copy *c, const char *name, const char *node) {
        for (size_t i = 0; i < c->n; i++)
                if (streq(c->rows[i].name, name) && streq(c->rows[i].node, node))
                        return &c->rows[i];
        return NULL;
}

static void assert_row(const Copy *c, const char *name, const char *node, const char *text) {
        const Row *row = find_row(c, name, node);

        if (!row || !streq(row->text, text))
                fail_msg("%s %s: the copy has '%s', not '%s'", name, node, row ? row->text : "nothing",
                         text);
}

static size_t compare_units(const Copy *c) {
        Argosy__Response__UnitFiles files = ARGOSY__RESPONSE__UNIT_FILES__INIT;
        size_t n = 0, n_contents = 0;

        map_foreach (slot, &g.leader->units) {
                const Unit *u = slot->value;
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

// Of what is destroyed and still there, the unit counts as well.
static size_t compare_states(const Copy *c) {
        size_t n = 0;

        map_foreach (slot, &g.leader->units) {
                const Unit *u = slot->value;
                const UnitEntry *e = cluster_state_find_unit(g.state, u->name);
                size_t before = n;

                list_foreach (i, &u->on_nodes) {
                        const UnitOnNode *s = CONTAINER_OF(i, UnitOnNode, by_unit);
                        Argosy__Response__UnitRow *row;
                        char text[TEXT_MAX];

                        if (!unit_on_node_is_listed(g.leader, e, s))
                                continue;
                        row = unit_row_new(u->name, s->node->name);
                        assert_int_equal(unit_on_node_fill_row(s, row), 0);
                        snprintf(text, sizeof(text), "%s %s %s", row->load, row->active, row->sub);
                        assert_row(c, u->name, s->node->name, text);
                        message_free(row);
                        n++;
                }
                if (!e && n > before) {
                        assert_row(c, u->name, "", "destroyed  ");
                        n++;
                }
        }
        return n;
}

// Jobs are told of by each leader as if it were the first one.
static void compare_jobs(const Copy *c) {
        for (uint64_t number = 1; number <= cluster_state_last_job(g.state); number++) {
                const char *now = job_state_to_string(cluster_state_job_state(g.state, number));

                if (!streq(c->jobs[number], now))
                        fail_msg("job %llu: the copy has '%s', not '%s'", (unsigned long long) number,
                                 c->jobs[number], now);
        }
}

// Of none does he know what is so no more, and he knows those that have begun under this leader, who still has them. The others
// he may have been told by one before, and have forgotten.
static void compare_newest_jobs(const Copy *c) {
        for (uint64_t number = 1; number <= cluster_state_last_job(g.state); number++) {
                const char *now = job_state_to_string(cluster_state_job_state(g.state, number));
                const JobObject *j = map_find(&g.leader->events->jobs->by_number, &number, sizeof(number));

                if (((j && j->before_seq != UINT64_MAX) || *c->jobs[number]) && !streq(c->jobs[number], now))
                        fail_msg("job %llu: the copy has '%s', not '%s'", (unsigned long long) number,
                                 c->jobs[number], now);
        }
}

static void assert_like_the_cluster(const Copy *c) {
        size_t n = compare_units(c);

        n += compare_states(c);
        if (n != c->n)
                fail_msg("the copy has %zu rows, not %zu", c->n, n);
}

static void watch_all(Copy *c) {
        follow(c, false);
        assert_like_the_cluster(c);
}

static void assert_like_it_with_its_jobs(const Copy *c, bool few_jobs) {
        assert_like_the_cluster(c);
        if (few_jobs)
                compare_newest_jobs(c);
        else
                compare_jobs(c);
}

static void end(Copy *c) {
        asked_forget(&c->asked);
}

// ------------------------------------------------------------------------------------------------ tests

static void whoever_comes_from_nothing_is_told_everything_that_is_so(void **state) {
        Copy c = {};

        rig_change(&g, START, "web.service", SERVICE);
        rig_change(&g, START, "all.service", EVERYWHERE);
        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "idle.service", SERVICE);
        assert_true(asked_pull(&g, &c.asked));
        assert_true(event_is_word(c.asked.events[0], EVENT_STREAM_BEGINS));
        assert_true(event_is_word(c.asked.events[c.asked.n - 1], EVENT_STREAM_COMPLETE));
        for (size_t i = 0; i < c.asked.n; i++) {
                assert_int_equal(c.asked.events[i]->mark, ARGOSY__EVENT_MARK__EVENT_WHOLE);
                take(&c, c.asked.events[i]);
        }
        assert_non_null(asked_find(&c.asked, ARGOSY__EVENT_KIND__EVENT_NODE, "n2"));
        assert_non_null(asked_find(&c.asked, ARGOSY__EVENT_KIND__EVENT_LEADER, "n1"));
        assert_int_equal(c.n, 3 + 3 + 1 + 3); // units, contents, and what nodes say
        assert_like_the_cluster(&c);
        assert_false(asked_pull(&g, &c.asked));
        end(&c);
}

static void what_happens_is_told_once_with_what_has_changed(void **state) {
        const Argosy__Event *e;
        Asked a = {.from_now = true};

        rig_change(&g, START, "web.service", SERVICE);
        assert_true(asked_pull(&g, &a));
        assert_int_equal(a.n, 0);
        rig_change(&g, STOP, "web.service", NULL);
        assert_true(asked_pull(&g, &a));
        e = asked_find(&a, ARGOSY__EVENT_KIND__EVENT_UNIT, "web.service");
        assert_non_null(e);
        assert_int_equal(e->mark, ARGOSY__EVENT_MARK__EVENT_NEW);
        assert_string_equal(event_field(e, "desired"), "loaded");
        e = asked_find(&a, ARGOSY__EVENT_KIND__EVENT_STATE, "web.service");
        assert_non_null(e);
        assert_string_equal(event_field(e, "active"), "inactive");
        e = asked_find(&a, ARGOSY__EVENT_KIND__EVENT_JOB, "2");
        assert_non_null(e);
        assert_string_equal(event_field(e, "verb"), "stop");
        assert_false(asked_pull(&g, &a));
        rig_change(&g, START, "web.service", NULL);
        assert_true(asked_pull(&g, &a));
        e = asked_find(&a, ARGOSY__EVENT_KIND__EVENT_STATE, "web.service");
        assert_true(event_has_changed(e, "active"));
        assert_false(event_has_changed(e, "node") || event_has_changed(e, "unit"));
        e = asked_find(&a, ARGOSY__EVENT_KIND__EVENT_UNIT, "web.service");
        assert_true(event_has_changed(e, "desired") || event_has_changed(e, "state"));
        assert_false(event_has_changed(e, "rev"));
        rig_change(&g, DESTROY, "web.service", NULL);
        while (asked_pull(&g, &a))
                e = asked_find(&a, ARGOSY__EVENT_KIND__EVENT_UNIT, "web.service") ?: e;
        asked_forget(&a);
}

static void who_waits_is_told_in_the_turn_in_which_it_happens(void **state) {
        Asked a = {.from_now = true}, other = {.from_now = true, .pattern = "other*"};

        assert_true(asked_pull(&g, &a));
        assert_true(asked_pull(&g, &other));
        asked_ask(&g, &a);
        asked_ask(&g, &other);
        rig_settle(&g);
        assert_false(a.answered);
        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "web.service", SERVICE);
        assert_true(a.answered);
        assert_non_null(asked_find(&a, ARGOSY__EVENT_KIND__EVENT_UNIT, "web.service"));
        assert_false(other.answered);
        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "other.service", SERVICE);
        assert_true(other.answered);
        assert_int_equal(other.n, 2); // the unit, and its content
        assert_int_equal(g.leader->watchers.n, 0);
        asked_forget(&a);
        asked_forget(&other);
}

static void a_job_is_told_of_when_it_begins_and_when_it_has_ended(void **state) {
        Asked a = {.from_now = true, .kind = ARGOSY__EVENT_KIND__EVENT_JOB};
        const Argosy__Event *e;

        assert_true(asked_pull(&g, &a));
        rig_change(&g, START, "web.service", SERVICE);
        assert_true(asked_pull(&g, &a));
        e = asked_find(&a, ARGOSY__EVENT_KIND__EVENT_JOB, "1");
        assert_non_null(e);
        assert_string_equal(event_field(e, "state"), "running");
        rig_pass_ms(&g, 3000);
        assert_true(asked_pull(&g, &a));
        e = asked_find(&a, ARGOSY__EVENT_KIND__EVENT_JOB, "1");
        assert_non_null(e);
        assert_string_equal(event_field(e, "state"), "done");
        assert_true(event_has_changed(e, "state"));
        assert_false(event_has_changed(e, "verb"));
        assert_false(asked_pull(&g, &a));
        asked_forget(&a);
}

static void set_lazy(bool lazy) {
        for (uint32_t h = 1; h <= 3; h++)
                rig_host(&g, h)->lazy = lazy;
        if (!lazy)
                rig_settle(&g);
}

// The log keeps a job that is too old only until it has ended.
static void a_job_that_the_log_forgets_is_told_to_be_gone(void **state) {
        Asked a = {.from_now = true, .kind = ARGOSY__EVENT_KIND__EVENT_JOB},
              behind = {.kind = ARGOSY__EVENT_KIND__EVENT_JOB},
              late = {.kind = ARGOSY__EVENT_KIND__EVENT_JOB};
        const Argosy__Event *e;

        assert_true(asked_pull(&g, &a));
        set_lazy(true);
        rig_change(&g, START, "web.service", SERVICE);
        g.wall_us += (CLUSTER_JOB_DAYS_MAX + 1) * UINT64_C(86400) * USEC_PER_SEC;
        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "young.service", SERVICE);
        assert_true(asked_pull(&g, &a));
        e = asked_find(&a, ARGOSY__EVENT_KIND__EVENT_JOB, "1");
        assert_non_null(e);
        assert_string_equal(event_field(e, "state"), "running");
        memcpy(behind.cursor, a.cursor, sizeof(a.cursor));
        set_lazy(false);
        rig_pass_ms(&g, 3000);
        assert_true(asked_pull(&g, &a));
        e = asked_find(&a, ARGOSY__EVENT_KIND__EVENT_JOB, "1");
        assert_non_null(e);
        assert_true(e->gone);
        g.leader->events->ring.bytes_max = 1;
        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "other.service", SERVICE);
        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "third.service", SERVICE);
        assert_true(asked_pull(&g, &behind)); // by the order of changes
        e = asked_find(&behind, ARGOSY__EVENT_KIND__EVENT_JOB, "1");
        assert_non_null(e);
        assert_true(e->gone);
        assert_true(asked_pull(&g, &late)); // has never known it
        assert_non_null(asked_find(&late, ARGOSY__EVENT_KIND__EVENT_JOB, "2"));
        for (size_t i = 0; i < late.n; i++)
                assert_false(late.events[i]->gone);
        asked_forget(&a);
        asked_forget(&late);
        asked_forget(&behind);
}

static bool is_told(Asked *a, const char *state) {
        while (asked_pull(&g, a)) {
                const Argosy__Event *e = asked_find(a, ARGOSY__EVENT_KIND__EVENT_UNIT, "web.service");

                if (e && streq(event_field(e, "state"), state))
                        return true;
        }
        return false;
}

static void an_update_is_told_of_and_that_it_is_over(void **state) {
        RigRollout update = {
                .kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_RESTART, .name = "web.service", .health_ms = 1000};
        Asked a = {.from_now = true};

        rig_change(&g, START, "web.service", SERVICE);
        assert_true(asked_pull(&g, &a));
        (void) rig_rollout(&g, update);
        assert_true(is_told(&a, "restarting"));
        rig_pass_ms(&g, 20000);
        assert_true(is_told(&a, "launched"));
        asked_forget(&a);
}

static void only_what_is_asked_for_is_told(void **state) {
        Asked units = {.pattern = "web*"}, nodes = {.kind = ARGOSY__EVENT_KIND__EVENT_NODE};

        rig_change(&g, START, "web.service", SERVICE);
        rig_change(&g, START, "db.service", SERVICE);
        assert_true(asked_pull(&g, &units));
        assert_int_equal(units.n, 5); // two words, the unit, its content, its node
        assert_true(asked_pull(&g, &nodes));
        assert_int_equal(nodes.n, 3);
        (void) rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_CORDONED, 0, "disks");
        assert_false(asked_pull(&g, &units));
        assert_true(asked_pull(&g, &nodes));
        assert_int_equal(nodes.n, 1);
        assert_string_equal(event_field(nodes.events[0], "mode_reason"), "disks");
        assert_true(event_has_changed(nodes.events[0], "mode"));
        asked_forget(&units);
        asked_forget(&nodes);
}

static void who_has_fallen_behind_is_told_the_newest_of_what_has_changed(void **state) {
        Copy c = {};

        rig_change(&g, START, "a.service", SERVICE);
        rig_change(&g, START, "b.service", SERVICE);
        watch_all(&c);
        g.leader->events->ring.bytes_max = 1;
        for (int i = 0; i < 5; i++) {
                rig_change(&g, STOP, "a.service", NULL);
                rig_change(&g, START, "a.service", NULL);
        }
        assert_true(asked_pull(&g, &c.asked));
        assert_null(asked_find(&c.asked, ARGOSY__EVENT_KIND__EVENT_UNIT, "b.service"));
        assert_false(event_is_word(c.asked.events[0], EVENT_STREAM_BEGINS));
        assert_true(event_is_word(c.asked.events[c.asked.n - 1], EVENT_STREAM_COMPLETE));
        for (size_t i = 0; i < c.asked.n; i++) {
                assert_int_equal(c.asked.events[i]->mark, ARGOSY__EVENT_MARK__EVENT_MISSED);
                take(&c, c.asked.events[i]);
        }
        assert_like_the_cluster(&c);
        rig_change(&g, DESTROY, "b.service", NULL);
        rig_change(&g, DESTROY, "a.service", NULL);
        watch_all(&c);
        assert_int_equal(c.n, 0);
        end(&c);
}

// Who does not wait hears at once that there is nothing more, and never before he was told everything.
static void who_does_not_wait_is_answered_at_once(void **state) {
        Asked a = {.no_wait = true, .max_bytes = 1024}, place = {.no_wait = true, .from_now = true};
        size_t parts = 0;

        rig_change(&g, START, "a.service", SERVICE);
        rig_change(&g, START, "b.service", SERVICE);
        rig_change(&g, START, "c.service", SERVICE);
        rig_pass_ms(&g, 3000);
        for (; !a.all; parts++)
                assert_true(asked_pull(&g, &a));
        assert_true(parts > 1);
        assert_true(event_is_word(a.events[a.n - 1], EVENT_STREAM_COMPLETE));
        assert_true(asked_pull(&g, &a));
        assert_true(a.all && a.n == 0);
        assert_true(asked_pull(&g, &place));
        assert_true(place.all && place.n == 0);
        assert_string_equal(place.cursor, a.cursor);
        rig_change(&g, STOP, "a.service", NULL);
        assert_true(asked_pull(&g, &a));
        assert_true(a.n > 0);
        asked_forget(&a);
        place.from_now = true;
        *place.cursor = 0;
        assert_true(asked_pull(&g, &place));
        assert_true(place.all && place.n == 0);
        assert_string_not_equal(place.cursor, "");
}

static void a_cursor_of_another_leader_begins_anew(void **state) {
        Copy c = {};

        rig_change(&g, START, "a.service", SERVICE);
        rig_change(&g, START, "b.service", SERVICE);
        watch_all(&c);
        rig_depose(&g);
        rig_elect(&g);
        rig_change(&g, DESTROY, "b.service", NULL);
        assert_true(asked_pull(&g, &c.asked));
        assert_true(event_is_word(c.asked.events[0], EVENT_STREAM_BEGINS));
        assert_int_equal(c.asked.events[0]->mark, ARGOSY__EVENT_MARK__EVENT_MISSED);
        for (size_t i = 0; i < c.asked.n; i++)
                take(&c, c.asked.events[i]);
        watch_all(&c);
        end(&c);
}

static void who_waits_hears_that_his_leader_is_gone(void **state) {
        Asked a = {.from_now = true};

        assert_true(asked_pull(&g, &a));
        asked_ask(&g, &a);
        rig_settle(&g);
        rig_depose(&g);
        assert_true(a.answered);
        assert_int_equal(a.status, EAGAIN);
        rig_elect(&g);
        asked_forget(&a);
}

static void refused(const char *cursor, int status) {
        Asked a = {};

        snprintf(a.cursor, sizeof(a.cursor), "%s", cursor);
        asked_ask(&g, &a);
        rig_settle(&g);
        assert_true(a.answered);
        assert_int_equal(a.status, status);
}

static void a_cursor_that_is_none_or_another_cluster_s_is_refused(void **state) {
        Asked a = {.from_now = true};
        EventCursor c;

        assert_true(asked_pull(&g, &a));
        assert_true(event_cursor_parse(a.cursor, &c));
        refused("hello", EINVAL);
        c.seq += 1000;
        event_cursor_format(&c, a.cursor);
        refused(a.cursor, EINVAL);
        c.seq = 1;
        c.cluster[0] ^= 1;
        event_cursor_format(&c, a.cursor);
        refused(a.cursor, EINVAL);
}

static void too_many_are_refused(void **state) {
        static Asked asked[WATCHERS_MAX + 1];
        Asked first = {.from_now = true};

        assert_true(asked_pull(&g, &first));
        for (size_t i = 0; i < ELEMENTSOF(asked); i++) {
                memcpy(asked[i].cursor, first.cursor, sizeof(first.cursor));
                asked_ask(&g, &asked[i]);
        }
        rig_turns(&g, 3);
        assert_false(asked[0].answered);
        assert_true(asked[WATCHERS_MAX].answered);
        assert_int_equal(asked[WATCHERS_MAX].status, EBUSY);
        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "web.service", SERVICE);
        for (size_t i = 0; i < WATCHERS_MAX; i++) {
                assert_true(asked[i].answered);
                assert_non_null(asked_find(&asked[i], ARGOSY__EVENT_KIND__EVENT_UNIT, "web.service"));
                asked_forget(&asked[i]);
        }
}

typedef struct Crowd {
        unsigned waiting, refused, told;
} Crowd;

static void on_one_of_many(const Argosy__Response *r, void *userdata) {
        Crowd *crowd = userdata;

        assert_true(r->status == 0 || r->status == EBUSY);
        crowd->waiting--;
        if (r->status == 0)
                crowd->told++;
        else
                crowd->refused++;
}

static void of_ten_thousand_all_but_so_many_are_refused_and_these_are_told(void **state) {
        enum { MANY = 10000 };
        Argosy__Request__Events q = ARGOSY__REQUEST__EVENTS__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        Asked first = {.from_now = true};
        Crowd crowd = {};
        uint64_t cancel;

        assert_true(asked_pull(&g, &first));
        q.cursor = first.cursor;
        request.what_case = ARGOSY__REQUEST__WHAT_EVENTS;
        request.events = &q;
        for (unsigned i = 1; i <= MANY; i++) {
                crowd.waiting++;
                assert_int_equal(leader_request(g.leader, NULL, &request, on_one_of_many, &crowd, &cancel),
                                 0);
                if (i % 1000 == 0)
                        rig_turns(&g, 3);
        }
        assert_int_equal(crowd.waiting, WATCHERS_MAX);
        assert_int_equal(crowd.refused, MANY - WATCHERS_MAX);
        assert_int_equal(g.leader->watchers.n, WATCHERS_MAX);
        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "web.service", SERVICE);
        assert_int_equal(crowd.told, WATCHERS_MAX);
        assert_int_equal(g.leader->watchers.n, 0);
}

// Who was answered, in which order.
typedef struct Asker {
        unsigned at; // 0: not yet
        uint64_t cancel;
} Asker;

static unsigned n_answered;

static void on_answered(const Argosy__Response *r, void *userdata) {
        ((Asker *) userdata)->at = ++n_answered;
}

static void ask_as(Asker *a, const char *cursor) {
        Argosy__Request__Events q = ARGOSY__REQUEST__EVENTS__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;

        *a = (Asker){};
        q.cursor = (char *) cursor;
        request.what_case = ARGOSY__REQUEST__WHAT_EVENTS;
        request.events = &q;
        assert_int_equal(leader_request(g.leader, NULL, &request, on_answered, a, &a->cancel), 0);
}

static void who_waits_does_not_wait_for_those_who_are_told_everything(void **state) {
        enum { FROM_NOTHING = 40, UNITS = 2000 };
        Asked first = {.from_now = true};
        Asker all[FROM_NOTHING], waits;

        rig_change_many(&g, ARGOSY__VERB__VERB_SUBMIT, "w", UNITS, SERVICE);
        assert_true(asked_pull(&g, &first));
        n_answered = 0;
        ask_as(&waits, first.cursor);
        rig_settle(&g);
        for (size_t i = 0; i < FROM_NOTHING; i++)
                ask_as(&all[i], "");
        rig_change_with(&g, ARGOSY__VERB__VERB_SUBMIT, "web.service", SERVICE, false, NULL);
        for (unsigned i = 0; i < 100 && waits.at == 0; i++)
                rig_turn(&g);
        assert_true(waits.at > 0 && waits.at < FROM_NOTHING / 2);
        rig_settle(&g);
        assert_int_equal(n_answered, FROM_NOTHING + 1);
}

static void patterns_that_take_long_to_compare_are_refused(void **state) {
        char longest[300];
        Asked a = {.pattern = longest};

        memset(longest, '*', sizeof(longest) - 1);
        longest[sizeof(longest) - 1] = '\0';
        asked_ask(&g, &a);
        rig_settle(&g);
        assert_true(a.answered);
        assert_int_equal(a.status, E2BIG);
}

static void an_answer_is_no_longer_than_was_asked_for(void **state) {
        Copy c = {.asked = {.max_bytes = 1024}};
        unsigned n = 0;

        for (int i = 0; i < 20; i++) {
                char name[32];

                snprintf(name, sizeof(name), "unit-%d.service", i);
                rig_change(&g, START, name, SERVICE);
        }
        while (asked_pull(&g, &c.asked)) {
                assert_true(c.asked.bytes <= 1024);
                for (size_t i = 0; i < c.asked.n; i++)
                        take(&c, c.asked.events[i]);
                n++;
        }
        assert_true(n > 3);
        assert_like_the_cluster(&c);
        end(&c);
}

static void nothing_is_kept_that_nobody_watches(void **state) {
        Copy c = {};

        rig_change(&g, START, "a.service", SERVICE);
        assert_false(g.leader->event_news.kept);
        assert_int_equal(g.leader->events->ring.n, 0);
        watch_all(&c);
        rig_change(&g, STOP, "a.service", NULL);
        assert_true(g.leader->events->ring.n > 0);
        g.leader->events->until_us = 0; // as if it were long ago
        rig_change(&g, START, "a.service", NULL);
        assert_false(g.leader->event_news.kept);
        assert_int_equal(g.leader->events->ring.n, 0);
        watch_all(&c);
        rig_change(&g, STOP, "a.service", NULL);
        watch_all(&c);
        end(&c);
}

static void what_was_told_in_an_earlier_ring_is_news_again(void **state) {
        Asked a = {.kind = ARGOSY__EVENT_KIND__EVENT_NODE};

        assert_true(asked_pull(&g, &a));
        (void) rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_CORDONED, 0, "disks");
        assert_true(asked_pull(&g, &a));
        g.leader->events->until_us = 0; // as if it were long ago
        (void) rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_OPEN, 0, "");
        assert_false(g.leader->event_news.kept);
        assert_true(asked_pull(&g, &a));
        (void) rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_CORDONED, 0, "disks");
        assert_true(asked_pull(&g, &a));
        assert_string_equal(event_field(a.events[0], "mode"), "cordoned");
        asked_forget(&a);
}

static void objects_that_are_gone_for_long_are_forgotten(void **state) {
        Copy c = {};

        rig_change(&g, START, "a.service", SERVICE);
        watch_all(&c);
        g.leader->events->ring.bytes_max = 1;
        rig_change(&g, DESTROY, "a.service", NULL);
        g.leader->events->n_gone = EVENTS_GONE_MAX; // as if there were so many
        rig_change(&g, START, "b.service", SERVICE);
        rig_change(&g, DESTROY, "b.service", NULL);
        assert_true(g.leader->events->forgotten_seq > 0);
        assert_true(asked_pull(&g, &c.asked));
        assert_true(event_is_word(c.asked.events[0], EVENT_STREAM_BEGINS));
        for (size_t i = 0; i < c.asked.n; i++)
                take(&c, c.asked.events[i]);
        watch_all(&c);
        g.leader->events->n_gone = 1;
        end(&c);
}

static size_t n_known_jobs(const Copy *c) {
        size_t n = 0;

        for (size_t i = 0; i < JOBS_MAX; i++)
                n += *c->jobs[i] != '\0';
        return n;
}

// Job 1 runs, and he knows that; when he asks the next time it has ended, and so many others have come that nobody tells its end.
static void many_jobs_end_behind_his_back(Copy *c) {
        set_lazy(true);
        rig_change(&g, START, "web.service", SERVICE);
        follow(c, false);
        assert_string_equal(c->jobs[1], "running");
        g.leader->events->ring.bytes_max = 1;
        set_lazy(false);
        rig_pass_ms(&g, 3000);
        for (unsigned i = 0; i < EVENT_JOBS_MAX; i++)
                (void) rig_label(&g, "n2", "a", i % 2 ? "b" : NULL);
        rig_pass_ms(&g, 3000);
}

static void who_has_missed_more_jobs_than_are_told_knows_the_newest(void **state) {
        Copy *c = calloc(1, sizeof(*c));

        assert_non_null(c);
        c->asked.max_bytes = 8192;
        many_jobs_end_behind_his_back(c);
        assert_true(asked_pull(&g, &c->asked));
        for (size_t i = 0; i < c->asked.n; i++)
                take(c, c->asked.events[i]);
        follow(c, false);
        assert_true(c->complete);
        assert_string_equal(c->jobs[1], "");
        assert_int_equal(n_known_jobs(c), EVENT_JOBS_MAX);
        compare_newest_jobs(c);
        assert_like_the_cluster(c); // of units, what was so before still counts
        end(c);
        free(c);
}

static void only_jobs_begin_anew_for_him(void **state) {
        Copy *c = calloc(1, sizeof(*c));
        size_t n = 0;

        assert_non_null(c);
        many_jobs_end_behind_his_back(c);
        c->asked.max_bytes = 4096;
        while (asked_pull(&g, &c->asked))
                for (size_t i = 0; i < c->asked.n; i++) {
                        const Argosy__Event *e = c->asked.events[i];

                        if (!event_is_word(e, EVENT_STREAM_BEGINS))
                                continue;
                        assert_string_equal(event_value(e, EVENT_STREAM_KINDS), "job");
                        assert_int_equal(e->mark, ARGOSY__EVENT_MARK__EVENT_MISSED);
                        n++;
                }
        assert_int_equal(n, 1);
        end(c);
        free(c);
}

// ------------------------------------------------------------------------------------------------ random lives

static void random_name(char name[32]) {
        unsigned i = draw(8);

        snprintf(name, 32, i < 6 ? "unit-%u.service" : "global-%u.service", i);
}

static void live(void) {
        const char *node = draw(2) ? "n2" : "n3";
        char name[32];

        random_name(name);
        switch (draw(16)) {
        case 0:
        case 1:
        case 2:
        case 3:
                (void) rig_change_with(&g, START, name,
                                       *name != 'g'       ? (draw(3) ? SERVICE : OTHER)
                                       : streq(name, ZONE) ? IN_ZONE
                                                           : EVERYWHERE,
                                       draw(2), NULL);
                break;
        case 4:
        case 5:
                (void) rig_change_with(&g, STOP, name, NULL, false, NULL);
                break;
        case 6:
        case 7:
                (void) rig_change_with(&g, DESTROY, name, NULL, false, NULL);
                break;
        case 8:
                (void) rig_change_with(&g, ARGOSY__VERB__VERB_UNLOAD, name, NULL, false, NULL);
                break;
        case 9:
                if (rig_host(&g, 3)->up)
                        rig_host_off(&g, 3);
                else
                        rig_host_on(&g, 3, draw(2));
                break;
        case 10:
                rig_pass_ms(&g, draw(2 * RIG_LEASE_MS));
                break;
        case 11:
                (void) rig_set_mode(
                        &g, node, draw(2) ? ARGOSY__NODE_MODE__MODE_OPEN : ARGOSY__NODE_MODE__MODE_DRAINING,
                        0, "");
                break;
        case 12:
                if (draw(4) == 0) {
                        rig_depose(&g);
                        rig_elect(&g);
                }
                break;
        case 13: // its link is lost, and made again
                rig_host(&g, 2 + draw(2))->linked = false;
                rig_turn(&g);
                break;
        case 14:
                (void) rig_label(&g, node, "zone", draw(2) ? "a" : NULL);
                break;
        default:
                rig_turns(&g, draw(4));
        }
}

static void copies_are_like_the_cluster_whatever_happens(bool few_jobs) {
        enum { ROUNDS = 200 };
        Copy *copies = calloc(3, sizeof(*copies));

        assert_non_null(copies);
        copies[1].asked.max_bytes = 1024;
        for (unsigned round = 0; round < ROUNDS; round++) {
                for (unsigned i = draw(8); i > 0; i--)
                        live();
                if (draw(5) == 0)
                        g.leader->events->ring.bytes_max = draw(2) ? 2000 : EVENT_RING_BYTES;
                if (draw(20) == 0)
                        g.leader->events->until_us = 0; // nobody has watched for long
                g.leader->events->jobs->max = few_jobs ? 1 + draw(8) : EVENT_JOBS_MAX;
                if (draw(2))
                        follow(&copies[0], false);
                if (draw(3) == 0)
                        follow(&copies[1], true);
                if (draw(10) == 0)
                        follow(&copies[2], true);
                if (round % 10 == 9) {
                        rig_settle(&g);
                        follow(&copies[0], false);
                        assert_like_it_with_its_jobs(&copies[0], few_jobs);
                }
        }
        rig_settle(&g);
        for (unsigned i = 0; i < 3; i++) {
                follow(&copies[i], false);
                assert_true(copies[i].complete);
                assert_like_it_with_its_jobs(&copies[i], few_jobs);
                end(&copies[i]);
        }
        free(copies);
}

static void live_from_seed(unsigned first, bool few_jobs) {
        for (unsigned i = 0; i < 6; i++) {
                seed = first + i;
                if (i > 0)
                        (void) setup(NULL);
                copies_are_like_the_cluster_whatever_happens(few_jobs);
                if (i < 5)
                        (void) teardown(NULL);
        }
}

static void random_lives(void **state) {
        live_from_seed(1, false);
}

static void random_lives_of_which_few_jobs_are_told(void **state) {
        live_from_seed(51, true);
}

// Requests are under way when the leader goes, and hosts come and go.
static void change_leader(void) {
        for (unsigned i = draw(6); i > 0; i--)
                live();
        rig_depose(&g);
        rig_elect(&g);
        for (unsigned i = draw(6); i > 0; i--)
                live();
}

static void twenty_changes_of_leader(void) {
        Copy *copies = calloc(2, sizeof(*copies));

        assert_non_null(copies);
        copies[1].asked.max_bytes = 1024;
        for (unsigned i = 0; i < 20; i++) {
                change_leader();
                follow(&copies[0], true);
                if (draw(3) == 0)
                        follow(&copies[1], true);
                rig_settle(&g);
                follow(&copies[0], false);
                assert_true(copies[0].complete);
                assert_like_it_with_its_jobs(&copies[0], false);
        }
        follow(&copies[1], false);
        assert_like_it_with_its_jobs(&copies[1], false);
        end(&copies[0]);
        end(&copies[1]);
        free(copies);
}

static void a_copy_is_like_the_cluster_through_twenty_changes_of_leader(void **state) {
        for (unsigned i = 1; i <= 4; i++) {
                seed = 100 + i;
                if (i > 1)
                        (void) setup(NULL);
                twenty_changes_of_leader();
                if (i < 4)
                        (void) teardown(NULL);
        }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(whoever_comes_from_nothing_is_told_everything_that_is_so),
                TEST(what_happens_is_told_once_with_what_has_changed),
                TEST(who_waits_is_told_in_the_turn_in_which_it_happens),
                TEST(a_job_is_told_of_when_it_begins_and_when_it_has_ended),
                TEST(a_job_that_the_log_forgets_is_told_to_be_gone),
                TEST(an_update_is_told_of_and_that_it_is_over),
                TEST(only_what_is_asked_for_is_told),
                TEST(who_has_fallen_behind_is_told_the_newest_of_what_has_changed),
                TEST(who_does_not_wait_is_answered_at_once),
                TEST(a_cursor_of_another_leader_begins_anew),
                TEST(who_waits_hears_that_his_leader_is_gone),
                TEST(a_cursor_that_is_none_or_another_cluster_s_is_refused),
                TEST(too_many_are_refused),
                TEST(of_ten_thousand_all_but_so_many_are_refused_and_these_are_told),
                TEST(who_waits_does_not_wait_for_those_who_are_told_everything),
                TEST(patterns_that_take_long_to_compare_are_refused),
                TEST(an_answer_is_no_longer_than_was_asked_for),
                TEST(nothing_is_kept_that_nobody_watches),
                TEST(what_was_told_in_an_earlier_ring_is_news_again),
                TEST(objects_that_are_gone_for_long_are_forgotten),
                TEST(who_has_missed_more_jobs_than_are_told_knows_the_newest),
                TEST(only_jobs_begin_anew_for_him),
                TEST(random_lives),
                TEST(random_lives_of_which_few_jobs_are_told),
                TEST(a_copy_is_like_the_cluster_through_twenty_changes_of_leader),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
