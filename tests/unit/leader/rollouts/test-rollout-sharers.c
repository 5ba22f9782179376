// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Units of other names that share a network which an update changes: they go along as its own units do.
#include <errno.h>

#include "leader-asks.h"
#include "leader-private.h"
#include "messages.h"
#include "printed.h"
#include "str.h"

#define UPDATE ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE
#define START ARGOSY__VERB__VERB_START
#define NETWORK(subnet) "\n# front.network\n[Network]\nSubnet=" subnet "\n"
#define SHARER(image, options, subnet) \
        "[Container]\nImage=localhost/" image ":1\nNetwork=front.network\n" options NETWORK(subnet)

#define ON(host) "[X-Argosy]\nHost=" host "\n"
#define EVERYWHERE(subnet) SHARER("all", "[X-Argosy]\nGlobal=yes\n", subnet)

enum { START_MS = 1000, HEALTH_MS = 2000, MANY = 6000, LOOKS_MAX = 1100 };

static Rig g;
static unsigned n_looks, most_looks; // at contents, in a turn of the leader

bool __real_network_change_concerns(const void *c, const SpecEntry *spec);
bool __wrap_network_change_concerns(const void *c, const SpecEntry *spec);

bool __wrap_network_change_concerns(const void *c, const SpecEntry *spec) {
        n_looks++;
        return __real_network_change_concerns(c, spec);
}

static void on_turn_begin(Rig *rig) {
        n_looks = 0;
}

static void on_turn(Rig *rig) {
        most_looks = MAX_OF(most_looks, n_looks);
}

FIXTURE(setup) {
        rig_start(&g, 3);
        for (uint32_t i = 1; i <= 3; i++)
                rig_host_set_labels(&g, i, "podman", "5.4");
        g.start_ms = START_MS;
}

RIG_TEARDOWN

static RigAnswer *update(const char *name, const char *content) {
        RigRollout w = {UPDATE, name, content, .health_ms = HEALTH_MS};
        RigAnswer *a = rig_rollout(&g, w);
        const Argosy__Response *r = rig_last(a);

        assert_true(a->final);
        if (r->status != 0)
                fail_msg("refused: %s", r->message);
        Argosy__Request__RolloutWait m = MESSAGE_OF(request__rollout_wait, .name = (char *) name,
                                                    .revision = r->change->units[0]->revision);
        return rig_ask_and_settle(&g, A_REQUEST(ROLLOUT_WAIT, rollout_wait, &m));
}

static void start(const char *name, const char *content) {
        const Argosy__Response__UnitResult *r = rig_change(&g, START, name, content);

        if (r->status != 0)
                fail_msg("%s: %s", name, r->message);
        rig_pass_ms(&g, START_MS * 3);
}

static VirtualUnit *unit(const char *name) {
        return rig_unit_on(&g, rig_host_of(&g, name), name);
}

// Until the answer has come; whether `name` had the content at some time.
static bool pass(const RigAnswer *a, const char *name, const char *content) {
        Hash hash = hash_of(content, strlen(content));
        bool had = false;

        for (unsigned i = 0; i < 400 && !a->final; i++) {
                rig_pass_ms(&g, 250);
                had |= unit(name) && hash_equal(&unit(name)->order.spec, &hash);
        }
        assert_true(a->final);
        return had;
}

// ---- who fails

static void who_fails_with_the_network_ends_the_update_and_is_named(void **state) {
        RigAnswer *a;

        start("web.service", SHARER("web", ON("n2"), "1"));
        start("app.service", SHARER("app", ON("n2"), "1"));
        g.bad = hash_of(SHARER("app", ON("n2"), "2"), strlen(SHARER("app", ON("n2"), "2")));
        a = update("web.service", SHARER("web", ON("n2"), "2"));
        assert_true(pass(a, "app.service", SHARER("app", ON("n2"), "2")));
        assert_replies(rig_last(a), EIO, "app.service on n2");
        rig_pass_ms(&g, 10000);
        assert_true(rig_has_content(&g, "web.service", SHARER("web", ON("n2"), "1")));
        assert_true(rig_has_content(&g, "app.service", SHARER("app", ON("n2"), "1")));
        assert_int_equal(unit("app.service")->active, ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE);
}

#define NEEDS_DB(host) ON(host) "Requires=db.service\n"

// It would go along, or get the network in the end, and its start would wait: so it runs on as it is.
static void assert_goes_back_without(const char *app, const char *name, const char *before,
                                     const char *after, const char *why) {
        uint64_t started;
        RigAnswer *a;

        start("db.service", "[Service]\nExecStart=/bin/sleep 1000\n" ON("n1"));
        start(name, before);
        start("app.service", app);
        started = rig_record(&g, "app.service")->revision;
        rig_host_report_and_settle(&g, rig_host(&g, 1), rig_unit_on(&g, 1, "db.service"),
                                   ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, ARGOSY__OUTCOME__KIND__NONE);
        a = update(name, after);
        (void) pass(a, "app.service", app);
        assert_int_equal(rig_last(a)->status, EIO);
        if (!strstr(rig_last(a)->message, why))
                fail_msg("it says %s, not %s", rig_last(a)->message, why);
        rig_pass_ms(&g, 10000);
        assert_true(rig_has_content(&g, name, before));
        assert_int_equal(rig_record(&g, "app.service")->revision, started);
        assert_int_equal(unit("app.service")->active, ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE);
}

#define WOULD_WAIT ": it would not start again: it would wait for db.service on n1, which failed"

static void who_would_not_start_again_does_not_go_along(void **state) {
        assert_goes_back_without(SHARER("app", NEEDS_DB("n2"), "1"), "web.service",
                                 SHARER("web", ON("n2"), "1"), SHARER("web", ON("n2"), "2"),
                                 "app.service on n2" WOULD_WAIT);
}

static void who_would_not_start_again_is_not_taken_down_in_the_end(void **state) {
        assert_goes_back_without(SHARER("app", NEEDS_DB("n3"), "1"), "web.service",
                                 SHARER("web", ON("n2"), "1"), SHARER("web", ON("n2"), "2"),
                                 "app.service on n3" WOULD_WAIT);
}

static void who_would_not_start_again_does_not_go_along_on_a_node(void **state) {
        assert_goes_back_without(SHARER("app", NEEDS_DB("n2"), "1"), "all.service", EVERYWHERE("1"),
                                 EVERYWHERE("2"), "app.service on n2" WOULD_WAIT);
}

// Nothing else of the update is on its node.
static void who_fails_at_the_end_takes_the_update_back(void **state) {
        RigAnswer *a;

        start("web.service", SHARER("web", ON("n1"), "1"));
        start("app.service", SHARER("app", ON("n2"), "1"));
        start("more.service", SHARER("more", ON("n3"), "1"));
        g.bad = hash_of(SHARER("more", ON("n3"), "2"), strlen(SHARER("more", ON("n3"), "2")));
        a = update("web.service", SHARER("web", ON("n1"), "2"));
        (void) pass(a, "app.service", "");
        assert_replies(rig_last(a), EIO, "more.service on n3");
        assert_true(rig_has_content(&g, "web.service", SHARER("web", ON("n1"), "1")));
        assert_true(rig_has_content(&g, "app.service", SHARER("app", ON("n2"), "1")));
        assert_true(rig_has_content(&g, "more.service", SHARER("more", ON("n3"), "1")));
}

static void who_is_restarted_by_systemd_ends_the_update(void **state) {
        RigAnswer *a;

        start("web.service", SHARER("web", ON("n2"), "1"));
        start("app.service", SHARER("app", ON("n2"), "1"));
        a = update("web.service", SHARER("web", ON("n2"), "2"));
        for (unsigned i = 0; i < 40 && !(rig_has_content(&g, "app.service", SHARER("app", ON("n2"), "2")) &&
                                         unit("app.service")->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE);
             i++)
                rig_pass_ms(&g, 250);
        assert_false(a->final); // it is to live for HEALTH_MS
        unit("app.service")->n_restarts = 1;
        rig_host_report_and_settle(&g, rig_host(&g, 2), unit("app.service"),
                                   ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE, ARGOSY__OUTCOME__KIND__NONE);
        (void) pass(a, "app.service", "");
        assert_replies(rig_last(a), EIO, "app.service on n2");
        assert_true(rig_has_content(&g, "app.service", SHARER("app", ON("n2"), "1")));
}

// It says nothing of the network.
static void who_was_down_before_ends_no_update(void **state) {
        RigAnswer *a;

        start("web.service", SHARER("web", ON("n2"), "1"));
        g.bad = hash_of(SHARER("app", ON("n2"), "1"), strlen(SHARER("app", ON("n2"), "1")));
        (void) rig_change(&g, START, "app.service", SHARER("app", ON("n2"), "1"));
        rig_pass_ms(&g, 10000);
        g.bad = hash_of(SHARER("app", ON("n2"), "2"), strlen(SHARER("app", ON("n2"), "2")));
        a = update("web.service", SHARER("web", ON("n2"), "2"));
        (void) pass(a, "app.service", "");
        assert_int_equal(rig_last(a)->status, 0);
        assert_true(rig_has_content(&g, "app.service", SHARER("app", ON("n2"), "2")));
}

// Its network of that name is another one, on another node: that it is changed meanwhile, and does not
// start, says nothing of the one that the update brings.
static void who_has_a_third_file_has_no_part_in_it(void **state) {
        static const char bad[] = SHARER("bad", ON("n3"), "3");
        uint8_t id[16] = {77};
        RigAnswer *a;

        start("web.service", SHARER("web", ON("n2"), "1"));
        start("far.service", SHARER("far", ON("n1"), "1"));
        start("else.service", SHARER("else", ON("n3"), "3"));
        g.bad = hash_of(bad, strlen(bad));
        a = update("web.service", SHARER("web", ON("n2"), "2"));
        (void) rig_change_with_and_settle(&g, START, "else.service", bad, true, id);
        assert_true(rig_has_content(&g, "else.service", bad));
        (void) pass(a, "far.service", "");
        assert_int_equal(rig_last(a)->status, 0);
        assert_true(rig_has_content(&g, "far.service", SHARER("far", ON("n1"), "2")));
        rig_pass_ms(&g, 10000);
        assert_true(rig_has_content(&g, "else.service", SHARER("else", ON("n3"), "3")));
}

// A leader that comes in the middle judges them, too.
static void the_next_leader_knows_who_went_along(void **state) {
        RigAnswer *a;

        start("web.service", SHARER("web", ON("n2"), "1"));
        start("app.service", SHARER("app", ON("n2"), "1"));
        g.bad = hash_of(SHARER("app", ON("n2"), "2"), strlen(SHARER("app", ON("n2"), "2")));
        rig_set_lazy(&g, true);
        a = update("web.service", SHARER("web", ON("n2"), "2"));
        rig_elect_anew(&g);
        rig_set_lazy(&g, false);
        for (unsigned i = 0; i < 400; i++)
                rig_pass_ms(&g, 250);
        (void) a;
        assert_true(rig_has_content(&g, "web.service", SHARER("web", ON("n2"), "1")));
        assert_true(rig_has_content(&g, "app.service", SHARER("app", ON("n2"), "1")));
}

// ---- units on every node

static void assert_one_network(const char *own, const char *next_own, const char *other,
                               const char *next_other, const char *own_name, const char *other_name) {
        Hash a[2] = {hash_of(own, strlen(own)), hash_of(next_own, strlen(next_own))},
             b[2] = {hash_of(other, strlen(other)), hash_of(next_other, strlen(next_other))};

        for (uint32_t h = 1; h <= 3; h++) {
                const VirtualUnit *x = rig_unit_on(&g, h, own_name), *y = rig_unit_on(&g, h, other_name);

                for (size_t i = 0; x && y && i < 2; i++)
                        assert_false(hash_equal(&x->order.spec, &a[i]) &&
                                     hash_equal(&y->order.spec, &b[1 - i]));
        }
}

static void who_shares_with_a_unit_on_every_node_goes_in_its_step(void **state) {
        RigAnswer *a;

        start("all.service", EVERYWHERE("1"));
        start("app.service", SHARER("app", ON("n3"), "1"));
        a = update("all.service", EVERYWHERE("2"));
        for (unsigned i = 0; i < 400 && !a->final; i++) {
                rig_pass_ms(&g, 250);
                assert_one_network(EVERYWHERE("1"), EVERYWHERE("2"), SHARER("app", ON("n3"), "1"),
                                   SHARER("app", ON("n3"), "2"), "all.service", "app.service");
        }
        assert_final(a, 0);
        assert_true(rig_has_content(&g, "app.service", SHARER("app", ON("n3"), "2")));
}

static void a_unit_on_every_node_goes_back_with_who_fails(void **state) {
        RigAnswer *a;

        start("all.service", EVERYWHERE("1"));
        start("app.service", SHARER("app", ON("n3"), "1"));
        g.bad = hash_of(SHARER("app", ON("n3"), "2"), strlen(SHARER("app", ON("n3"), "2")));
        a = update("all.service", EVERYWHERE("2"));
        (void) pass(a, "app.service", "");
        assert_replies(rig_last(a), EIO, "app.service on n3");
        assert_true(rig_has_content(&g, "all.service", EVERYWHERE("1")));
        assert_true(rig_has_content(&g, "app.service", SHARER("app", ON("n3"), "1")));
}

static unsigned count_down(const char *name) {
        unsigned n = 0;

        for (uint32_t h = 1; h <= 3; h++)
                n += rig_unit_on(&g, h, name) &&
                     rig_unit_on(&g, h, name)->active != ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE;
        return n;
}

static void a_unit_on_every_node_that_shares_goes_node_by_node(void **state) {
        unsigned most = 0;
        uint64_t job;
        RigAnswer *a;

        start("all.service", EVERYWHERE("1"));
        start("web.service", SHARER("web", ON("n1"), "1"));
        a = update("web.service", SHARER("web", ON("n1"), "2"));
        job = rig_last_job(&g);
        for (unsigned i = 0; i < 400 && !a->final; i++) {
                rig_pass_ms(&g, 250);
                most = MAX_OF(most, count_down("all.service"));
        }
        assert_final(a, 0);
        assert_true(rig_has_content(&g, "all.service", EVERYWHERE("2")));
        assert_int_equal(most, 1);
        assert_int_equal(rig_show_job(&g, job)->changed, 2); // which is of the same job
}

static void a_unit_on_every_node_that_shares_and_fails_takes_the_update_back(void **state) {
        RigAnswer *a;

        start("all.service", EVERYWHERE("1"));
        start("web.service", SHARER("web", ON("n1"), "1"));
        g.bad = hash_of(EVERYWHERE("2"), strlen(EVERYWHERE("2")));
        a = update("web.service", SHARER("web", ON("n1"), "2"));
        (void) pass(a, "web.service", "");
        assert_replies(rig_last(a), EIO, "all.service on n");
        assert_null(strstr(rig_last(a)->message, "on -"));
        assert_true(rig_has_content(&g, "all.service", EVERYWHERE("1")));
        assert_true(rig_has_content(&g, "web.service", SHARER("web", ON("n1"), "1")));
        rig_pass_ms(&g, 10000);
        assert_int_equal(count_down("all.service"), 0);
}

// ---- many

#define HELD "[X-Argosy]\nMaxUnavailable=1\n"

// Thousands share it, and a budget has room for few of them: no turn looks at all of them.
static void thousands_that_share_are_looked_at_in_slices(void **state) {
        RigAnswer *a;

        start("web.service", SHARER("web", ON("n1"), "1"));
        (void) rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "app@.service", SHARER("app", HELD, "1"));
        for (unsigned i = 0; i < MANY; i++) {
                (void) rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, printed("app@%u.service", i), NULL);
        }
        g.on_turn_begin = on_turn_begin;
        g.on_turn = on_turn;
        most_looks = 0;
        a = update("web.service", SHARER("web", ON("n1"), "2"));
        (void) pass(a, "web.service", "");
        assert_int_equal(rig_last(a)->status, 0);
        assert_true(rig_has_content(&g, "app@7.service", SHARER("app", HELD, "2")));
        assert_in_range(most_looks, 1, LOOKS_MAX);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                RIG_TEST(who_fails_with_the_network_ends_the_update_and_is_named),
        RIG_TEST(who_would_not_start_again_does_not_go_along),
        RIG_TEST(who_would_not_start_again_is_not_taken_down_in_the_end),
        RIG_TEST(who_would_not_start_again_does_not_go_along_on_a_node),
                RIG_TEST(who_fails_at_the_end_takes_the_update_back),
                RIG_TEST(who_is_restarted_by_systemd_ends_the_update),
                RIG_TEST(who_was_down_before_ends_no_update),
                RIG_TEST(who_has_a_third_file_has_no_part_in_it),
                RIG_TEST(the_next_leader_knows_who_went_along),
                RIG_TEST(who_shares_with_a_unit_on_every_node_goes_in_its_step),
                RIG_TEST(a_unit_on_every_node_goes_back_with_who_fails),
                RIG_TEST(a_unit_on_every_node_that_shares_goes_node_by_node),
                RIG_TEST(a_unit_on_every_node_that_shares_and_fails_takes_the_update_back),
                RIG_TEST(thousands_that_share_are_looked_at_in_slices),
        };

        return cmocka_run_group_tests_name("rollout-sharers", tests, NULL, NULL);
}
