// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Units that do not leave a lost node at once, or not at all.
#include "leader-asks.h"
#include "leader-private.h"
#include "printed.h"
#include "test.h"
#include "messages.h"
#include "str.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define DELAYED SERVICE "[X-Argosy]\nNodeLostDelaySec=60\n"
#define KEPT SERVICE "[X-Argosy]\nNodeLost=keep\n"
#define NEVER SERVICE "[X-Argosy]\nNodeLost=never\n"
#define FENCED SERVICE "TimeoutStopSec=10\n[X-Argosy]\nCutOff=stop\nCutOffSec=5\n"
#define DATA "[Container]\nImage=localhost/db:1\nVolume=data:/data\nVolume=/srv/db:/srv\n"
#define START ARGOSY__VERB__VERB_START

enum { FENCE_MS = 17019 }; // see test-node-loss-policy.c

RIG_OF(3)

static uint32_t node_of(const char *name) {
        return rig_record(&g, name)->node;
}

static void lose(uint32_t host) {
        rig_host_off_for(&g, host, RIG_LEASE_MS + RIG_BEAT_MS);
}

static const char *reason_of(const char *unit) {
        Argosy__Request__Why why = MESSAGE_OF(request__why, .names = (char **) &unit, .n_names = 1);

        return rig_ask(&g, A_REQUEST(WHY, why, &why))->responses[0]->status_reply->why;
}

// Puts x.service on a host that is not the leader's, and says which.
static uint32_t start_away(const char *content) {
        (void) rig_set_host_mode(&g, 1, ARGOSY__NODE_MODE__MODE_CORDONED, 0);
        assert_int_equal(rig_change(&g, START, "x.service", content)->status, 0);
        (void) rig_set_host_mode(&g, 1, ARGOSY__NODE_MODE__MODE_OPEN, 0);
        for (uint32_t h = 2; h <= 3; h++)
                if (rig_host(&g, h)->virtual.node == node_of("x.service"))
                        return h;
        fail_msg("x.service is nowhere");
        return 0;
}

static void a_delayed_unit_moves_when_its_time_has_come(void **state) {
        uint32_t h = start_away(DELAYED), node = node_of("x.service");

        lose(h);
        assert_int_equal(node_of("x.service"), node);
        assert_non_null(strstr(reason_of("x.service"), "its node is lost; it moves in "));
        rig_pass_ms(&g, 50000);
        assert_int_equal(node_of("x.service"), node);
        rig_pass_ms(&g, 15000);
        assert_int_not_equal(node_of("x.service"), node);
        assert_int_equal(rig_count_running(&g, "x.service"), 1);
}

static void a_node_that_is_back_in_time_keeps_its_delayed_units(void **state) {
        uint32_t h = start_away(DELAYED), node = node_of("x.service");

        lose(h);
        rig_pass_ms(&g, 30000);
        rig_host_on(&g, h, true);
        rig_pass_ms(&g, 60000);
        assert_int_equal(node_of("x.service"), node);
        assert_int_equal(rig_count_running(&g, "x.service"), 1);
}

static void a_second_loss_counts_anew(void **state) {
        uint32_t h = start_away(DELAYED), node = node_of("x.service");

        lose(h);
        rig_pass_ms(&g, 30000);
        rig_host_on(&g, h, false);
        rig_pass_ms(&g, 5000);
        lose(h);
        rig_pass_ms(&g, 45000);
        assert_int_equal(node_of("x.service"), node);
        rig_pass_ms(&g, 20000);
        assert_int_not_equal(node_of("x.service"), node);
}

static void a_new_leader_counts_anew(void **state) {
        uint32_t h = start_away(DELAYED), node = node_of("x.service");

        lose(h);
        rig_pass_ms(&g, 50000);
        rig_elect_anew(&g);
        rig_pass_ms(&g, 50000);
        assert_int_equal(node_of("x.service"), node);
        rig_pass_ms(&g, 20000);
        assert_int_not_equal(node_of("x.service"), node);
}

static void a_kept_unit_waits_for_its_node(void **state) {
        uint32_t h = start_away(KEPT), node = node_of("x.service");

        lose(h);
        rig_pass_ms(&g, 3600000);
        assert_int_equal(node_of("x.service"), node);
        assert_string_equal(reason_of("x.service"),
                            "its node is lost, and NodeLost=keep: it waits for the node");
        rig_host_on(&g, h, true);
        assert_int_equal(rig_count_running(&g, "x.service"), 1);
}

static void a_start_does_not_move_a_kept_unit(void **state) {
        uint32_t h = start_away(KEPT), node = node_of("x.service");

        lose(h);
        rig_change(&g, START, "x.service", NULL);
        assert_int_equal(node_of("x.service"), node);
}

static const Argosy__Response__UnitResult *result_of(const RigAnswer *a) {
        assert_true(a->final);
        return a->responses[a->n - 1]->progress->done[0];
}

static void start_what_waits(const char *content, const char *why) {
        uint32_t h = start_away(content), node = node_of("x.service");

        lose(h);
        const Argosy__Response__UnitResult *r = rig_change(&g, START, "x.service", NULL);
        assert_int_equal(r->status, 0);
        RigAnswer *a = rig_wait(&g, START, "x.service", r->revision);
        assert_int_equal(result_of(a)->status, EAGAIN);
        assert_string_equal(result_of(a)->message, why);
        assert_int_equal(result_of(a)->n_refusals, 0); // others would take it
        rig_host_on(&g, h, true);
        assert_int_equal(node_of("x.service"), node);
        assert_int_equal(rig_count_running(&g, "x.service"), 1);
        assert_int_equal(rig_unit_on(&g, h, "x.service")->order.start_rev, r->revision);
}

static void a_start_of_what_waits_for_its_node_says_so_at_once_and_is_kept(void **state) {
        start_what_waits(KEPT, "its node is lost, and NodeLost=keep: it waits for the node");
        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "x.service", NULL)->status, 0);
        start_what_waits(NEVER, "its node is lost, and NodeLost=never: it waits for the node");
}

static void a_start_of_what_moves_later_waits_for_that(void **state) {
        uint32_t h = start_away(DELAYED), node = node_of("x.service");

        lose(h);
        const Argosy__Response__UnitResult *r = rig_change(&g, START, "x.service", NULL);
        assert_int_equal(r->status, 0);
        RigAnswer *a = rig_wait(&g, START, "x.service", r->revision);
        assert_false(a->final);
        rig_pass_ms(&g, 65000);
        assert_int_equal(result_of(a)->status, 0);
        assert_int_not_equal(node_of("x.service"), node);
}

static void a_drain_of_the_lost_node_moves_what_is_kept_or_delayed(void **state) {
        uint32_t h = start_away(KEPT), node = node_of("x.service");

        lose(h);
        (void) rig_set_host_mode(&g, h, ARGOSY__NODE_MODE__MODE_DRAINING, 0);
        assert_int_not_equal(node_of("x.service"), node);
}

static void what_never_moves_is_stuck_in_a_drain(void **state) {
        uint32_t h = start_away(NEVER), node = node_of("x.service");

        (void) rig_set_host_mode(&g, h, ARGOSY__NODE_MODE__MODE_DRAINING, 0);
        assert_int_equal(node_of("x.service"), node);
        assert_non_null(strstr(reason_of("x.service"), "is to be emptied, and NodeLost=never"));
        lose(h);
        rig_pass_ms(&g, 60000);
        assert_int_equal(node_of("x.service"), node);
}

static void give_podman(void) {
        for (uint32_t i = 1; i <= 3; i++)
                rig_host_set_labels(&g, i, "podman", "5.4");
        for (uint32_t i = 2; i <= 3; i++) {
                rig_host_off(&g, i);
                rig_host_on(&g, i, false);
        }
        rig_settle(&g);
}

static void assert_says_of_n(const char *format, uint32_t host) {
        _cleanup_free_ char *expected = str_printf(format, host);

        if (!strstr(reason_of("x.service"), expected))
                fail_msg("\"%s\" does not say \"%s\"", reason_of("x.service"), expected);
}

static void a_container_stays_where_its_data_is_and_why_says_so(void **state) {
        give_podman();
        uint32_t h = start_away(DATA);
        uint32_t node = node_of("x.service");
        (void) rig_set_host_mode(&g, h, ARGOSY__NODE_MODE__MODE_DRAINING, 0);
        assert_says_of_n("its data is on n%u, which is to be emptied", h);
        (void) rig_set_host_mode(&g, h, ARGOSY__NODE_MODE__MODE_OPEN, 0);
        lose(h);
        assert_says_of_n("its data is on n%u, which is lost", h);
        rig_pass_ms(&g, 60000);
        assert_int_equal(node_of("x.service"), node);
        rig_host_on(&g, h, true);
        assert_int_equal(rig_count_running(&g, "x.service"), 1);
}

static const Argosy__Response__UnitResult *start_on(const char *name, uint32_t host, const char *options) {
        return rig_change(&g, START, name, printed(SERVICE "[X-Argosy]\nHost=n%u\n%s", host, options));
}

static const Argosy__Response__UnitResult *give_x(const char *content) {
        RigAnswer *a = rig_change_with(&g, START, "x.service", content, true, NULL);

        rig_settle(&g);
        return rig_last(a)->change->units[0];
}

static void a_replaced_container_waits_for_the_node_of_its_data(void **state) {
        give_podman();
        uint32_t h = start_away(DATA);
        uint32_t node = node_of("x.service");
        assert_int_equal(start_on("y.service", h, "Replaces=x.service\n")->status, 0);
        rig_settle(&g);
        assert_int_equal(node_of("x.service"), 0);
        assert_int_equal(rig_count_running(&g, "x.service"), 0);
        assert_says_of_n("its data is on n%u", h);
        rig_elect_anew(&g);
        rig_pass_ms(&g, 60000);
        assert_int_equal(node_of("x.service"), 0);
        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "y.service", NULL)->status, 0);
        rig_settle(&g);
        assert_int_equal(node_of("x.service"), node);
        assert_int_equal(rig_count_running(&g, "x.service"), 1);
}

static void a_container_that_was_unloaded_begins_where_its_data_is(void **state) {
        give_podman();
        uint32_t h = start_away(DATA);
        uint32_t node = node_of("x.service");
        rig_change(&g, ARGOSY__VERB__VERB_UNLOAD, "x.service", NULL);
        rig_settle(&g);
        assert_int_equal(node_of("x.service"), 0);
        (void) rig_set_host_mode(&g, h, ARGOSY__NODE_MODE__MODE_CORDONED, 0);
        (void) rig_change(&g, START, "x.service", NULL);
        assert_int_equal(node_of("x.service"), 0);
        assert_says_of_n("its data is on n%u", h);
        (void) rig_set_host_mode(&g, h, ARGOSY__NODE_MODE__MODE_OPEN, 0);
        assert_int_equal(node_of("x.service"), node);
}

static void what_needs_no_data_any_more_goes_anywhere(void **state) {
        give_podman();
        uint32_t h = start_away(DATA);
        uint32_t node = node_of("x.service");
        assert_int_equal(start_on("y.service", h, "Replaces=x.service\n")->status, 0);
        rig_settle(&g);
        assert_int_equal(node_of("x.service"), 0);
        assert_int_equal(give_x(DATA "[X-Argosy]\nVolumeLoss=accept\n")->status, 0);
        assert_int_not_equal(node_of("x.service"), 0);
        assert_int_not_equal(node_of("x.service"), node);
}

static void a_start_that_would_leave_its_data_is_refused(void **state) {
        give_podman();
        (void) start_away(DATA);
        uint32_t node = node_of("x.service");
        const Argosy__Response__UnitResult *r = give_x(DATA "[X-Argosy]\nHost=n1\n");
        assert_replies(r, EEXIST, "VolumeLoss=accept");
        assert_int_equal(node_of("x.service"), node);
        assert_int_equal(rig_count_running(&g, "x.service"), 1);
        assert_int_equal(give_x(DATA "[X-Argosy]\nHost=n1\nVolumeLoss=accept\n")->status, 0);
        assert_int_equal(node_of("x.service"), rig_host(&g, 1)->virtual.node);
}

static void data_of_a_node_that_is_to_be_empty_by_now_keeps_nobody(void **state) {
        give_podman();
        uint32_t h = start_away(DATA);
        uint32_t node = node_of("x.service");
        assert_int_equal(start_on("y.service", h, "Replaces=x.service\n")->status, 0);
        rig_settle(&g);
        assert_int_equal(node_of("x.service"), 0);
        (void) rig_set_host_mode(&g, h, ARGOSY__NODE_MODE__MODE_DRAINING, 2);
        rig_pass_ms(&g, 10000);
        assert_int_not_equal(node_of("x.service"), 0);
        assert_int_not_equal(node_of("x.service"), node);
}

static void who_destroys_a_container_is_told_where_its_volumes_stay(void **state) {
        char expected[64];

        give_podman();
        uint32_t h = start_away(DATA);
        snprintf(expected, sizeof(expected), "its volume stays on n%u: data", h);
        const Argosy__Response__UnitResult *r =
                rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "x.service", NULL);
        assert_int_equal(r->status, 0);
        assert_string_equal(r->message, expected);
}

static void a_fenced_unit_starts_elsewhere_when_it_has_certainly_stopped(void **state) {
        uint32_t h = start_away(FENCED), node = node_of("x.service");

        rig_host_off(&g, h); // its last beat is at most one beat old
        rig_pass_ms(&g, RIG_LEASE_MS + FENCE_MS - RIG_BEAT_MS - 100);
        assert_int_equal(node_of("x.service"), node);
        assert_non_null(strstr(reason_of("x.service"), "when it has certainly stopped there (CutOff=stop)"));
        rig_pass_ms(&g, RIG_BEAT_MS + 1000);
        assert_int_not_equal(node_of("x.service"), node);
}

static void no_order_shortens_the_fence(void **state) {
        uint32_t h = start_away(FENCED), node = node_of("x.service");

        lose(h);
        rig_change(&g, START, "x.service", NULL);
        assert_int_equal(node_of("x.service"), node);
        (void) rig_set_host_mode(&g, h, ARGOSY__NODE_MODE__MODE_DRAINING, 0);
        assert_int_equal(node_of("x.service"), node);
        rig_elect_anew(&g);
        rig_pass_ms(&g, FENCE_MS);
        assert_int_equal(node_of("x.service"), node); // the new leader granted a lease of its own first
        rig_pass_ms(&g, 2 * RIG_LEASE_MS);
        assert_int_not_equal(node_of("x.service"), node);
}

static void a_node_that_said_its_units_have_stopped_needs_no_fence(void **state) {
        uint32_t h = start_away(FENCED), node = node_of("x.service");
        Argosy__ToVoter__Goodbye goodbye =
                MESSAGE_OF(to_voter__goodbye, .why = ARGOSY__TO_VOTER__GOODBYE__WHY__SHUTDOWN);

        rig_host(&g, h)->up = false;
        leader_on_message(g.leader, h, A_TO_VOTER(GOODBYE, goodbye, &goodbye));
        rig_settle(&g);
        assert_int_not_equal(node_of("x.service"), node);
}

// The host's last words, and that x.service may still run there.
static void send_goodbye_but_for_x(uint32_t h, uint32_t node) {
        char *names[] = {"x.service", "nobody.service"};
        Argosy__ToVoter__Goodbye__Running running = MESSAGE_OF(to_voter__goodbye__running, .node = node,
                                                               .units = names, .n_units = ELEMENTSOF(names)),
                                          *list = &running;
        Argosy__ToVoter__Goodbye goodbye =
                MESSAGE_OF(to_voter__goodbye, .why = ARGOSY__TO_VOTER__GOODBYE__WHY__SHUTDOWN,
                           .running = &list, .n_running = 1);

        rig_host(&g, h)->up = false;
        leader_on_message(g.leader, h, A_TO_VOTER(GOODBYE, goodbye, &goodbye));
        rig_settle(&g);
}

// Only that waits, as for a host that died: what is not named begins elsewhere at once.
static void what_may_still_run_on_a_node_that_shut_down_waits_for_its_lease(void **state) {
        uint32_t h = start_away(SERVICE), node = node_of("x.service");

        send_goodbye_but_for_x(h, node);
        assert_int_equal(node_of("x.service"), node);
        rig_pass_ms(&g, RIG_LEASE_MS - RIG_BEAT_MS);
        assert_int_equal(node_of("x.service"), node);
        rig_pass_ms(&g, 2 * RIG_BEAT_MS);
        assert_int_not_equal(node_of("x.service"), node);
        assert_int_equal(rig_count_running(&g, "x.service"), 1);
}

// A new leader knows of no unit there before the host has attached.
static void names_that_a_leader_cannot_place_let_nothing_begin(void **state) {
        uint32_t h = start_away(SERVICE), node = node_of("x.service");

        rig_host(&g, h)->up = false;
        rig_elect_anew(&g);
        assert_false(host_find(g.leader, h)->attached);
        send_goodbye_but_for_x(h, node);
        assert_int_equal(node_of("x.service"), node);
        rig_pass_ms(&g, RIG_LEASE_MS - 2 * RIG_BEAT_MS);
        assert_int_equal(node_of("x.service"), node);
        rig_pass_ms(&g, 3 * RIG_BEAT_MS);
        assert_int_not_equal(node_of("x.service"), node);
}

// A manager that was not reached is not heard of: its units were reported as not loaded, and may run.
static void what_is_named_may_run_whatever_was_reported_before(void **state) {
        uint32_t h = start_away(SERVICE), node = node_of("x.service");

        unit_on_node_find(unit_find(g.leader, "x.service"), node_find(g.leader, node))->active =
                ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE;
        send_goodbye_but_for_x(h, node);
        assert_int_equal(node_of("x.service"), node);
        rig_pass_ms(&g, RIG_LEASE_MS + RIG_BEAT_MS);
        assert_int_not_equal(node_of("x.service"), node);
}

static void what_left_a_node_that_is_cut_off_meanwhile_waits_all_the_same(void **state) {
        uint32_t h = start_away(FENCED), node = node_of("x.service");

        rig_host(&g, h)->deaf = true; // the order to remove it does not arrive
        (void) rig_set_host_mode(&g, h, ARGOSY__NODE_MODE__MODE_DRAINING, 0);
        assert_int_not_equal(node_of("x.service"), node);
        lose(h);
        rig_pass_ms(&g, FENCE_MS - 2 * RIG_BEAT_MS);
        assert_int_equal(rig_count_running(&g, "x.service"), 0);
        rig_pass_ms(&g, 3 * RIG_BEAT_MS);
        assert_int_equal(rig_count_running(&g, "x.service"), 1);
}

static void what_waits_for_the_fence_still_begins_when_its_record_changes_meanwhile(void **state) {
        uint32_t h = start_away(FENCED);

        rig_host(&g, h)->deaf = true;
        (void) rig_set_host_mode(&g, h, ARGOSY__NODE_MODE__MODE_DRAINING, 0);
        lose(h);
        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_RESTART, "x.service", NULL)->status, 0);
        assert_int_equal(rig_count_running(&g, "x.service"), 0);
        rig_pass_ms(&g, FENCE_MS + RIG_BEAT_MS);
        assert_int_equal(rig_count_running(&g, "x.service"), 1);
}

RUN_TESTS(
        RIG_TEST(a_delayed_unit_moves_when_its_time_has_come),
        RIG_TEST(a_node_that_is_back_in_time_keeps_its_delayed_units),
        RIG_TEST(a_second_loss_counts_anew),
        RIG_TEST(a_new_leader_counts_anew),
        RIG_TEST(a_kept_unit_waits_for_its_node),
        RIG_TEST(a_start_does_not_move_a_kept_unit),
        RIG_TEST(a_start_of_what_waits_for_its_node_says_so_at_once_and_is_kept),
        RIG_TEST(a_start_of_what_moves_later_waits_for_that),
        RIG_TEST(a_drain_of_the_lost_node_moves_what_is_kept_or_delayed),
        RIG_TEST(what_never_moves_is_stuck_in_a_drain),
        RIG_TEST(a_container_stays_where_its_data_is_and_why_says_so),
        RIG_TEST(a_replaced_container_waits_for_the_node_of_its_data),
        RIG_TEST(a_container_that_was_unloaded_begins_where_its_data_is),
        RIG_TEST(what_needs_no_data_any_more_goes_anywhere),
        RIG_TEST(a_start_that_would_leave_its_data_is_refused),
        RIG_TEST(data_of_a_node_that_is_to_be_empty_by_now_keeps_nobody),
        RIG_TEST(who_destroys_a_container_is_told_where_its_volumes_stay),
        RIG_TEST(a_fenced_unit_starts_elsewhere_when_it_has_certainly_stopped),
        RIG_TEST(no_order_shortens_the_fence),
        RIG_TEST(a_node_that_said_its_units_have_stopped_needs_no_fence),
        RIG_TEST(what_may_still_run_on_a_node_that_shut_down_waits_for_its_lease),
        RIG_TEST(names_that_a_leader_cannot_place_let_nothing_begin),
        RIG_TEST(what_is_named_may_run_whatever_was_reported_before),
        RIG_TEST(what_left_a_node_that_is_cut_off_meanwhile_waits_all_the_same),
        RIG_TEST(what_waits_for_the_fence_still_begins_when_its_record_changes_meanwhile)
)
