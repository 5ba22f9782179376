// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stream of events, as those see it who ask for it: what each is told, and when.
#include <errno.h>
#include <stdlib.h>

#include "event-stream.h"
#include "leader-asks.h"
#include "messages.h"
#include "printed.h"
#include "str.h"
#include "watch-copy.h"
#include "watchers.h"

static void whoever_comes_from_nothing_is_told_everything_that_is_so(void **state) {
        _cleanup_(end) Copy c = {};

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
}

static void what_happens_is_told_once_with_what_has_changed(void **state) {
        Asked a = {.from_now = true};

        rig_change(&g, START, "web.service", SERVICE);
        assert_true(asked_pull(&g, &a));
        assert_int_equal(a.n, 0);
        rig_change(&g, STOP, "web.service", NULL);
        assert_true(asked_pull(&g, &a));
        const Argosy__Event *e = asked_find(&a, ARGOSY__EVENT_KIND__EVENT_UNIT, "web.service");
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

        assert_true(asked_pull(&g, &a));
        rig_change(&g, START, "web.service", SERVICE);
        assert_true(asked_pull(&g, &a));
        const Argosy__Event *e = asked_find(&a, ARGOSY__EVENT_KIND__EVENT_JOB, "1");
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

// The log keeps a job that is too old only until it has ended.
static void a_job_that_the_log_forgets_is_told_to_be_gone(void **state) {
        Asked a = {.from_now = true, .kind = ARGOSY__EVENT_KIND__EVENT_JOB},
              behind = {.kind = ARGOSY__EVENT_KIND__EVENT_JOB},
              late = {.kind = ARGOSY__EVENT_KIND__EVENT_JOB};

        assert_true(asked_pull(&g, &a));
        rig_set_lazy(&g, true);
        rig_change(&g, START, "web.service", SERVICE);
        rig_age(&g, (CLUSTER_JOB_DAYS_MAX + 1) * UINT64_C(86400) * USEC_PER_SEC);
        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "young.service", SERVICE);
        assert_true(asked_pull(&g, &a));
        const Argosy__Event *e = asked_find(&a, ARGOSY__EVENT_KIND__EVENT_JOB, "1");
        assert_non_null(e);
        assert_string_equal(event_field(e, "state"), "running");
        memcpy(behind.cursor, a.cursor, sizeof(a.cursor));
        rig_set_lazy(&g, false);
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

static bool is_reported(Asked *a, const char *state) {
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
        assert_true(is_reported(&a, "restarting"));
        rig_pass_ms(&g, 20000);
        assert_true(is_reported(&a, "launched"));
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
        _cleanup_(end) Copy c = {};

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
        _cleanup_(end) Copy c = {};

        rig_change(&g, START, "a.service", SERVICE);
        rig_change(&g, START, "b.service", SERVICE);
        watch_all(&c);
        rig_elect_anew(&g);
        rig_change(&g, DESTROY, "b.service", NULL);
        assert_true(asked_pull(&g, &c.asked));
        assert_true(event_is_word(c.asked.events[0], EVENT_STREAM_BEGINS));
        assert_int_equal(c.asked.events[0]->mark, ARGOSY__EVENT_MARK__EVENT_MISSED);
        for (size_t i = 0; i < c.asked.n; i++)
                take(&c, c.asked.events[i]);
        watch_all(&c);
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
        static Asked asked[LEADER_LIMIT_watchers + 1];
        Asked first = {.from_now = true};

        assert_true(asked_pull(&g, &first));
        for (size_t i = 0; i < ELEMENTSOF(asked); i++) {
                memcpy(asked[i].cursor, first.cursor, sizeof(first.cursor));
                asked_ask(&g, &asked[i]);
        }
        rig_turns(&g, 3);
        assert_false(asked[0].answered);
        assert_true(asked[LEADER_LIMIT_watchers].answered);
        assert_int_equal(asked[LEADER_LIMIT_watchers].status, EBUSY);
        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "web.service", SERVICE);
        for (size_t i = 0; i < LEADER_LIMIT_watchers; i++) {
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
        Asked first = {.from_now = true};
        Crowd crowd = {};
        uint64_t cancel;

        assert_true(asked_pull(&g, &first));
        Argosy__Request__Events q = MESSAGE_OF(request__events, .cursor = first.cursor);
        Argosy__Request request = REQUEST_OF(EVENTS, events, &q);
        for (unsigned i = 1; i <= MANY; i++) {
                crowd.waiting++;
                assert_int_equal(leader_request(g.leader, NULL, &request, on_one_of_many, &crowd, &cancel),
                                 0);
                if (i % 1000 == 0)
                        rig_turns(&g, 3);
        }
        assert_int_equal(crowd.waiting, LEADER_LIMIT_watchers);
        assert_int_equal(crowd.refused, MANY - LEADER_LIMIT_watchers);
        assert_int_equal(g.leader->watchers.n, LEADER_LIMIT_watchers);
        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "web.service", SERVICE);
        assert_int_equal(crowd.told, LEADER_LIMIT_watchers);
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
        Argosy__Request__Events q = MESSAGE_OF(request__events, .cursor = (char *) cursor);

        *a = (Asker){};
        assert_int_equal(
                leader_request(g.leader, NULL, A_REQUEST(EVENTS, events, &q), on_answered, a, &a->cancel),
                0);
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
        _cleanup_(end) Copy c = {.asked = {.max_bytes = 1024}};
        unsigned n = 0;

        for (int i = 0; i < 20; i++) {
                rig_change(&g, START, printed("unit-%d.service", i), SERVICE);
        }
        while (asked_pull(&g, &c.asked)) {
                assert_true(c.asked.bytes <= 1024);
                for (size_t i = 0; i < c.asked.n; i++)
                        take(&c, c.asked.events[i]);
                n++;
        }
        assert_true(n > 3);
        assert_like_the_cluster(&c);
}

static void nothing_is_kept_that_nobody_watches(void **state) {
        _cleanup_(end) Copy c = {};

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
        _cleanup_(end) Copy c = {};

        rig_change(&g, START, "a.service", SERVICE);
        watch_all(&c);
        g.leader->events->ring.bytes_max = 1;
        rig_change(&g, DESTROY, "a.service", NULL);
        g.leader->events->n_gone = LEADER_LIMIT_events_gone; // as if there were so many
        rig_change(&g, START, "b.service", SERVICE);
        rig_change(&g, DESTROY, "b.service", NULL);
        assert_true(g.leader->events->complete_from_seq > 0);
        assert_true(asked_pull(&g, &c.asked));
        assert_true(event_is_word(c.asked.events[0], EVENT_STREAM_BEGINS));
        for (size_t i = 0; i < c.asked.n; i++)
                take(&c, c.asked.events[i]);
        watch_all(&c);
        g.leader->events->n_gone = 1;
}

static size_t n_known_jobs(const Copy *c) {
        size_t n = 0;

        for (size_t i = 0; i < JOBS_MAX; i++)
                n += *c->jobs[i] != '\0';
        return n;
}

// Job 1 runs, and he knows that; when he asks the next time it has ended, and so many others have come that
// nobody tells its end.
static void many_jobs_end_behind_his_back(Copy *c) {
        rig_set_lazy(&g, true);
        rig_change(&g, START, "web.service", SERVICE);
        follow(c, false);
        assert_string_equal(c->jobs[1], "running");
        g.leader->events->ring.bytes_max = 1;
        rig_set_lazy(&g, false);
        rig_pass_ms(&g, 3000);
        for (unsigned i = 0; i < LEADER_LIMIT_event_jobs; i++)
                (void) rig_label(&g, "n2", "a", i % 2 ? "b" : NULL);
        rig_pass_ms(&g, 3000);
}

static void who_has_missed_more_jobs_than_are_told_knows_the_newest(void **state) {
        _cleanup_free_ Copy *c = calloc(1, sizeof(*c));

        assert_non_null(c);
        c->asked.max_bytes = 8192;
        many_jobs_end_behind_his_back(c);
        assert_true(asked_pull(&g, &c->asked));
        for (size_t i = 0; i < c->asked.n; i++)
                take(c, c->asked.events[i]);
        follow(c, false);
        assert_true(c->complete);
        assert_string_equal(c->jobs[1], "");
        assert_int_equal(n_known_jobs(c), LEADER_LIMIT_event_jobs);
        compare_newest_jobs(c);
        assert_like_the_cluster(c); // of units, what was so before still counts
        end(c);
}

static void only_jobs_begin_anew_for_him(void **state) {
        _cleanup_free_ Copy *c = calloc(1, sizeof(*c));
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
}

RUN_TESTS(
        WATCH_TEST(whoever_comes_from_nothing_is_told_everything_that_is_so),
        WATCH_TEST(what_happens_is_told_once_with_what_has_changed),
        WATCH_TEST(who_waits_is_told_in_the_turn_in_which_it_happens),
        WATCH_TEST(a_job_is_told_of_when_it_begins_and_when_it_has_ended),
        WATCH_TEST(a_job_that_the_log_forgets_is_told_to_be_gone),
        WATCH_TEST(an_update_is_told_of_and_that_it_is_over),
        WATCH_TEST(only_what_is_asked_for_is_told),
        WATCH_TEST(who_has_fallen_behind_is_told_the_newest_of_what_has_changed),
        WATCH_TEST(who_does_not_wait_is_answered_at_once),
        WATCH_TEST(a_cursor_of_another_leader_begins_anew),
        WATCH_TEST(who_waits_hears_that_his_leader_is_gone),
        WATCH_TEST(a_cursor_that_is_none_or_another_cluster_s_is_refused),
        WATCH_TEST(too_many_are_refused),
        WATCH_TEST(of_ten_thousand_all_but_so_many_are_refused_and_these_are_told),
        WATCH_TEST(who_waits_does_not_wait_for_those_who_are_told_everything),
        WATCH_TEST(patterns_that_take_long_to_compare_are_refused),
        WATCH_TEST(an_answer_is_no_longer_than_was_asked_for),
        WATCH_TEST(nothing_is_kept_that_nobody_watches),
        WATCH_TEST(what_was_told_in_an_earlier_ring_is_news_again),
        WATCH_TEST(objects_that_are_gone_for_long_are_forgotten),
        WATCH_TEST(who_has_missed_more_jobs_than_are_told_knows_the_newest),
        WATCH_TEST(only_jobs_begin_anew_for_him)
)
