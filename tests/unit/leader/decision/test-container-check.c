// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A container's file is shown to one podman before it is stored. That of a virtual host refuses "Unheard="
// (virtual-host-calls.c).
#include "queue-words.h"

#define BOX "[Container]\nImage=localhost/box:1\n"
#define UNHEARD BOX "Unheard=of\n"
#define REFUSAL "podman's generator on n"

static unsigned n_asked; // files that hosts were asked about
static uint32_t asked, within_ms; // whom, last; and how long that one may take

static void on_host_message(Rig *rig, uint32_t host, const Argosy__ToHost *m) {
        if (m->msg_case == ARGOSY__TO_HOST__MSG_CALL && m->call->request &&
            m->call->request->what_case == ARGOSY__REQUEST__WHAT_VERIFY) {
                n_asked++;
                assert_int_equal(m->call->request->verify->within_ms, within_ms);
                asked = host;
        }
}

FIXTURE(setup_podman) {
        setup(state);
        n_asked = 0;
        within_ms = 5000;
        g.on_host_message = on_host_message;
        for (uint32_t i = 2; i <= 3; i++) { // host 1 has no podman
                rig_host_set_labels(&g, i, "podman", "5.4");
                rig_host_off(&g, i);
                rig_host_on(&g, i, false);
        }
        rig_settle(&g);
}

#define CHECK_TEST(f) cmocka_unit_test_setup_teardown(f, setup_podman, teardown)

static const Argosy__Response *change(Argosy__Verb verb, const char *name, const char *content,
                                      bool replace) {
        uint64_t id[2] = {++g.id, 55};
        RigAnswer *a = rig_change_with(&g, verb, name, content, replace, (const uint8_t *) id);

        rig_settle(&g);
        return rig_last(a);
}

// What is told of the unit, which was taken.
static const char *taken(const Argosy__Response *r) {
        assert_string_equal(r->message, "");
        assert_int_equal(r->status, 0);
        assert_int_equal(r->change->units[0]->status, 0);
        return r->change->units[0]->message;
}

static void what_a_podman_takes_is_stored(void **state) {
        assert_string_equal(taken(change(SUBMIT, "web.service", BOX, false)), "");
        assert_int_equal(n_asked, 1);
        assert_string_equal(taken(change(START, "web.service", BOX, false)), "");
        assert_string_equal(taken(change(SUBMIT, "api.service", BOX, false)), "");
        assert_int_equal(n_asked, 1); // the cluster knows that content
}

static void what_a_podman_refuses_is_not_stored(void **state) {
        static const Argosy__Verb verbs[] = {SUBMIT, START};

        for (size_t i = 0; i < ELEMENTSOF(verbs); i++) {
                const Argosy__Response *r = change(verbs[i], "web.service", UNHEARD, false);

                assert_int_equal(r->status, EINVAL);
                assert_memory_equal(r->message, "web.service: " REFUSAL, strlen("web.service: " REFUSAL));
                assert_non_null(strstr(r->message, ": unsupported key 'Unheard'; nothing was changed"));
                assert_null(cluster_state_find_unit(g.state, "web.service"));
        }
}

static void an_update_to_such_a_file_is_refused(void **state) {
        taken(change(START, "web.service", BOX, false));
        const Argosy__Response *r =
                rig_last(rig_rollout(&g, (RigRollout){.kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE,
                                                      .name = "web.service",
                                                      .content = UNHEARD}));
        assert_replies(r, EINVAL, REFUSAL);
}

static void a_file_that_is_not_taken_is_not_asked_about(void **state) {
        taken(change(START, "web.service", BOX, false));
        taken(change(START, "web.service", UNHEARD, false)); // it has a file, and no --replace
        assert_int_equal(n_asked, 1);
}

static void a_service_s_file_is_not_asked_about(void **state) {
        taken(change(START, "web.service", "[Service]\nExecStart=/bin/x\n", false));
        assert_int_equal(n_asked, 0);
}

static void without_a_host_that_could_say_it_is_taken_and_noted(void **state) {
        rig_host_off(&g, 2);
        rig_host_off(&g, 3);
        rig_pass_ms(&g, 2 * RIG_LEASE_MS);
        assert_non_null(
                strstr(taken(change(SUBMIT, "web.service", UNHEARD, false)), "so that is unchecked"));
        assert_int_equal(n_asked, 0);
}

static void a_host_that_goes_leaves_it_unchecked(void **state) {
        uint64_t id[2] = {++g.id, 55};

        rig_host(&g, 2)->mute = rig_host(&g, 3)->mute = true;
        RigAnswer *a =
                rig_change_with_and_settle(&g, SUBMIT, "web.service", UNHEARD, false, (const uint8_t *) id);
        assert_int_equal(a->n, 0);
        assert_int_equal(n_asked, 1);
        rig_host_off(&g, 2);
        rig_host_off(&g, 3);
        rig_pass_ms(&g, 2 * RIG_LEASE_MS);
        assert_true(a->final);
        assert_non_null(strstr(taken(rig_last(a)), "so that is unchecked"));
}

// Its session lives, and so does its lease. What it says later is about nothing any more.
static void a_host_that_hangs_is_waited_for_five_seconds(void **state) {
        uint64_t id[2] = {++g.id, 55};

        rig_host(&g, 2)->mute = rig_host(&g, 3)->mute = true;
        RigAnswer *a =
                rig_change_with_and_settle(&g, SUBMIT, "web.service", UNHEARD, false, (const uint8_t *) id);
        rig_pass_ms(&g, 4000);
        assert_int_equal(a->n, 0);
        assert_non_null(strstr(a->awaits, "podman on n"));
        assert_non_null(strstr(a->awaits, " to check web.service"));
        rig_pass_ms(&g, 1100);
        assert_true(a->final);
        assert_int_equal(n_asked, 1);
        assert_non_null(strstr(taken(rig_last(a)), "so that is unchecked"));
        assert_int_equal(deadline_heap_next(&g.leader->request_deadlines), 0);
}

// It has gone with its answer, the other one has all the time that is left.
static void the_next_host_is_asked_if_the_first_one_goes(void **state) {
        enum { SHORT_MS = 1000 };
        static const char *const contents[] = {UNHEARD, BOX};

        for (size_t i = 0; i < ELEMENTSOF(contents); i++) {
                uint64_t id[2] = {++g.id, 55};
                RigAnswer *a;
                uint32_t first;

                n_asked = 0;
                within_ms = 5000;
                rig_host(&g, 2)->mute = rig_host(&g, 3)->mute = true;
                a = rig_change_with_and_settle(&g, SUBMIT, "web.service", contents[i], false,
                                               (const uint8_t *) id);
                assert_int_equal(a->n, 0);
                first = asked;
                rig_host(&g, 5 - first)->mute = false;
                rig_pass_ms(&g, SHORT_MS);
                within_ms = 5000 - SHORT_MS;
                rig_host_off(&g, first);
                rig_host_on(&g, first, false); // a new session
                rig_settle(&g);
                assert_int_equal(n_asked, 2);
                assert_int_equal(asked, 5 - first);
                assert_true(a->final);
                if (i == 0)
                        assert_non_null(strstr(rig_last(a)->message, "unsupported key 'Unheard'"));
                else
                        assert_string_equal(taken(rig_last(a)), "");
                rig_host(&g, first)->mute = false;
        }
}

// His file is dropped, and he starts what somebody else has made meanwhile.
static void who_may_bring_nothing_by_then_is_told_of_no_file(void **state) {
        Argosy__Author alice = user("alice", 1000);
        uint64_t id[2] = {++g.id, 55};

        give(ARGOSY__RIGHT__RIGHT_DEPLOY, "alice", false);
        rig_host(&g, 2)->mute = rig_host(&g, 3)->mute = true;
        g.author = &alice;
        RigAnswer *a =
                rig_change_with_and_settle(&g, START, "web.service", UNHEARD, false, (const uint8_t *) id);
        g.author = NULL;
        assert_int_equal(a->n, 0);
        taken(change(SUBMIT, "web.service", SERVICE, false));
        give(ARGOSY__RIGHT__RIGHT_OPERATE, "alice", false);
        give(ARGOSY__RIGHT__RIGHT_DEPLOY, "alice", true);
        rig_host_off(&g, 2);
        rig_host_off(&g, 3);
        rig_pass_ms(&g, 2 * RIG_LEASE_MS);
        assert_true(a->final);
        assert_string_equal(taken(rig_last(a)), "");
}

RUN_TESTS(
        CHECK_TEST(who_may_bring_nothing_by_then_is_told_of_no_file),
        CHECK_TEST(what_a_podman_takes_is_stored),
        CHECK_TEST(what_a_podman_refuses_is_not_stored),
        CHECK_TEST(an_update_to_such_a_file_is_refused),
        CHECK_TEST(a_file_that_is_not_taken_is_not_asked_about),
        CHECK_TEST(a_service_s_file_is_not_asked_about),
        CHECK_TEST(without_a_host_that_could_say_it_is_taken_and_noted),
        CHECK_TEST(the_next_host_is_asked_if_the_first_one_goes),
        CHECK_TEST(a_host_that_goes_leaves_it_unchecked),
        CHECK_TEST(a_host_that_hangs_is_waited_for_five_seconds)
)
