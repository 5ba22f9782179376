// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Hosts have the image that what runs there is to get before anything stops, and who cannot have it leaves:
// of an update, of an undo, and of a change at once.
#include <errno.h>
#include <inttypes.h>

#include "content-image.h"
#include "leader-asks.h"
#include "leader-private.h"
#include "rollout-controller.h"
#include "str.h"

#define IMAGE "[Container]\nImage=reg.example/web:1\n"
#define NEXT "[Container]\nImage=reg.example/web:2\n"
#define UPDATE ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE

#define START ARGOSY__VERB__VERB_START

enum { N = 6, HOSTS = 8 };

static Rig g;

static struct {
        uint32_t lacks;    // this host cannot have an image; 0: all can
        uint32_t slow;     // what these hosts say takes its time then: bit N
        bool down;         // no host can
        unsigned n;        // that were asked to
        unsigned n_states; // of units, when the last of them was asked
} pulls;

static const char *pull(Rig *rig, uint32_t host, const char *image) {
        pulls.n++;
        pulls.n_states = rig->n_states;
        assert_non_null(strstr(image, "reg.example/web@sha256:"));
        if (pulls.slow & 1u << host)
                rig_host(rig, host)->delayed = true;
        return pulls.down || host == pulls.lacks ? "dial tcp: connection refused" : NULL;
}

FIXTURE(setup_podman) {
        rig_start(&g, HOSTS);
        memset(&pulls, 0, sizeof(pulls));
        g.pull = pull;
        for (uint32_t i = 1; i <= HOSTS; i++) {
                rig_host_set_labels(&g, i, "podman", "5.4");
                if (i == 1)
                        continue;
                rig_host_off(&g, i);
                rig_host_on(&g, i, false);
        }
        rig_settle(&g);
        assert_int_equal(
                rig_last(rig_change_many(&g, START, "web", N,
                                         IMAGE "[X-Argosy]\nHost=n2 n3 n4 n5 n6 n7\nSpreadOver=host\n"))
                        ->status,
                0);
        rig_settle(&g);
}

RIG_TEARDOWN

#define PULL_TEST(f) cmocka_unit_test_setup_teardown(f, setup_podman, teardown)

static const char *image_of(unsigned i) {
        static char text[CONTENT_IMAGE_NAME_MAX];
        _cleanup_content_image_ ContentImage image = {};
        _cleanup_free_ char *name = str_printf("web@%u.service", i);
        const UnitEntry *e = cluster_state_find_unit(g.state, name);

        assert_non_null(e);
        assert_int_equal(content_image_read(name, e->spec->content, e->spec->len, &image), 0);
        snprintf(text, sizeof(text), "%s", image.name);
        return text;
}

static RigAnswer *update(const char *content) {
        return rig_rollout(
                &g,
                (RigRollout){.kind = UPDATE, .name = "web@.service", .content = content, .health_ms = 1000});
}

static unsigned count(const char *image) {
        unsigned n = 0;

        for (unsigned i = 0; i < N; i++)
                n += streq(image_of(i), image);
        return n;
}

static void all_hosts_have_the_image_before_the_first_unit_stops(void **state) {
        unsigned before = g.n_states;
        assert_int_equal(rig_last(update(NEXT))->status, 0);
        assert_int_equal(pulls.n, N);
        assert_int_equal(pulls.n_states, before);
        rig_pass_ms(&g, 60000);
        assert_int_equal(count("reg.example/web:2"), N);
}

// The start is decided in the entry before the update's.
static void what_is_started_while_the_update_waits_has_it_too(void **state) {
        assert_int_equal(rig_change(&g, START, "x.service", IMAGE "[X-Argosy]\nHost=n3\n")->status, 0);
        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_STOP, "x.service", NULL)->status, 0);
        (void) rig_change_with(&g, START, "x.service", IMAGE "[X-Argosy]\nHost=n3\nPriority=1\n", true,
                               NULL);
        RigAnswer *a = rig_rollout(
                &g, (RigRollout){.kind = UPDATE, .name = "x.service", .content = NEXT, .health_ms = 1000});
        assert_int_equal(rig_last(a)->status, 0);
        assert_int_equal(pulls.n, 1);
}

// More than a turn looks at.
static void a_large_group_has_it_everywhere_too(void **state) {
        enum { MANY = 1200 };

        assert_int_equal(
                rig_last(rig_change_many(&g, START, "big", MANY, IMAGE "[X-Argosy]\nHost=n2 n3 n4\n"))
                        ->status,
                0);
        rig_settle(&g);
        assert_int_equal(rig_last(rig_rollout(&g, (RigRollout){.kind = UPDATE,
                                                               .name = "big@.service",
                                                               .content = NEXT "[X-Argosy]\nHost=n2 n3 n4\n",
                                                               .health_ms = 1000}))
                                 ->status,
                         0);
        assert_int_equal(pulls.n, 3);
}

static void a_host_that_cannot_have_it_leaves_the_update(void **state) {
        uint32_t host = rig_host_of(&g, "web@3.service");
        unsigned running = rig_unit_on(&g, host, "web@3.service")->starts;

        pulls.lacks = host;
        const Argosy__Response *r = rig_last(update(NEXT));
        assert_int_equal(r->status, 0);
        _cleanup_free_ char *words =
                str_printf("keeps the file of before: n%" PRIu32 ": dial tcp: connection refused", host);
        assert_non_null(strstr(r->change->units[0]->message, words));
        rig_pass_ms(&g, 60000);
        assert_int_equal(count("reg.example/web:2"), N - 1);
        assert_string_equal(image_of(3), "reg.example/web:1");
        assert_int_equal(rig_unit_on(&g, host, "web@3.service")->starts, running);
        assert_false(rollout_word(g.leader, "web@.service")); // it has ended
        pulls.lacks = 0;
        (void) update(NEXT);
        rig_pass_ms(&g, 60000);
        assert_int_equal(count("reg.example/web:2"), N);
}

static void who_goes_to_such_a_host_by_its_turn_is_waited_for(void **state) {
        pulls.lacks = 7;
        assert_int_equal(rig_last(update(NEXT "[X-Argosy]\nHost=n7\n"))->status, 0);
        rig_settle(&g);
        assert_int_equal(count("reg.example/web:2"), 1); // and the next one when that has been well
        rig_pass_ms(&g, 60000);
        assert_int_equal(count("reg.example/web:2"), N - 1);
}

static void a_registry_that_is_down_changes_nothing(void **state) {
        uint64_t revision = cluster_state_revision(g.state);

        pulls.down = true;
        const Argosy__Response *r = rig_last(update(NEXT));
        assert_replies(r, EREMOTEIO, "connection refused");
        rig_pass_ms(&g, 5000);
        assert_int_equal(count("reg.example/web:1"), N);
        assert_int_equal(cluster_state_revision(g.state), revision);
}

static void a_lost_host_is_not_waited_for(void **state) {
        uint32_t host = rig_host_of(&g, "web@3.service");

        rig_host_off_for(&g, host, 2 * RIG_LEASE_MS);
        assert_int_equal(rig_last(update(NEXT))->status, 0);
        rig_pass_ms(&g, 120000);
        assert_int_equal(count("reg.example/web:2"), N);
}

static void comes_now(uint32_t host) {
        rig_host(&g, host)->delayed = false;
        rig_settle(&g);
}

static void link_breaks(uint32_t host) {
        rig_host(&g, host)->delayed = true; // it attaches when that comes
        rig_host_on(&g, host, false);
}

static void a_host_that_is_back_while_others_pull_has_it_too(void **state) {
        uint32_t away = rig_host_of(&g, "web@3.service"), slow = rig_host_of(&g, "web@4.service");

        pulls.slow = 1u << slow;
        link_breaks(away);
        RigAnswer *a = update(NEXT);
        assert_int_equal(pulls.n, N - 1);
        rig_pass_ms(&g, 1000);
        assert_non_null(strstr(a->awaits, " to pull reg.example/web@sha256:"));
        assert_non_null(strstr(a->awaits, " (4 of 6 pulls are over)"));
        comes_now(away);
        comes_now(slow);
        assert_int_equal(rig_last(a)->status, 0);
        assert_int_equal(pulls.n, N);
}

static void a_host_that_goes_with_its_answer_is_asked_again(void **state) {
        uint32_t away = rig_host_of(&g, "web@3.service"), slow = rig_host_of(&g, "web@4.service");

        pulls.slow = 1u << slow | 1u << away;
        RigAnswer *a = update(NEXT);
        assert_int_equal(pulls.n, N);
        link_breaks(away);
        comes_now(away);
        comes_now(slow);
        assert_int_equal(pulls.n, N + 1);
        assert_false(a->final);
        comes_now(away);
        assert_int_equal(rig_last(a)->status, 0);
}

// Each goes when the other one is back, so that one of them is always asked.
static void hosts_that_come_and_go_are_not_waited_for_for_ever(void **state) {
        enum { ASKED_MAX = 3 };
        uint32_t hosts[] = {rig_host_of(&g, "web@3.service"), rig_host_of(&g, "web@4.service")};

        pulls.slow = 1u << hosts[0] | 1u << hosts[1];
        RigAnswer *a = update(NEXT);
        for (unsigned i = 0; i < 2 * ASKED_MAX; i++) {
                assert_false(a->final);
                link_breaks(hosts[i % 2]);
                comes_now(hosts[i % 2]);
        }
        assert_int_equal(rig_last(a)->status, 0);
        assert_int_equal(pulls.n, N + 2 * (ASKED_MAX - 1));
}

// -------------------------------------------------------------------------------------- at once, and back

// The job that gave all of them NEXT.
static uint64_t give_next(void) {
        assert_int_equal(rig_last(update(NEXT))->status, 0);
        uint64_t job = rig_last_job(&g);
        rig_pass_ms(&g, 60000);
        assert_int_equal(count("reg.example/web:2"), N);
        pulls.n = 0;
        return job;
}

static void an_undo_has_the_image_of_before_everywhere_first(void **state) {
        for (int rolling = 0; rolling <= 1; rolling++) {
                uint64_t job = give_next();
                unsigned before = g.n_states;
                assert_int_equal(rig_undo(&g, (RigUndo){.job = job, .rolling = rolling})->status, 0);
                assert_int_equal(pulls.n, N);
                assert_int_equal(pulls.n_states, before);
                rig_pass_ms(&g, 60000);
                assert_int_equal(count("reg.example/web:1"), N);
        }
}

static void a_host_that_lacks_the_image_of_before_leaves_the_undo(void **state) {
        for (int rolling = 0; rolling <= 1; rolling++) {
                uint64_t job = give_next();
                uint32_t host = rig_host_of(&g, "web@3.service");
                unsigned running = rig_unit_on(&g, host, "web@3.service")->starts;

                pulls.lacks = host;
                const Argosy__Response *r = rig_undo(&g, (RigUndo){.job = job, .rolling = rolling});
                assert_int_equal(r->status, 0);
                for (size_t i = 0; i < r->change->n_units; i++)
                        if (rolling || streq(r->change->units[i]->name, "web@3.service"))
                                assert_non_null(strstr(r->change->units[i]->message, "connection refused"));
                rig_pass_ms(&g, 60000);
                assert_int_equal(count("reg.example/web:1"), N - 1);
                assert_string_equal(image_of(3), "reg.example/web:2");
                assert_int_equal(rig_unit_on(&g, host, "web@3.service")->starts, running);
                pulls.lacks = 0;
                (void) update(IMAGE);
                rig_pass_ms(&g, 60000);
        }
}

static void an_undo_that_no_host_can_do_changes_nothing(void **state) {
        uint64_t job = give_next(), revision = cluster_state_revision(g.state);

        pulls.down = true;
        const Argosy__Response *r = rig_undo(&g, (RigUndo){.job = job, .rolling = true});
        assert_replies(r, EREMOTEIO, "nothing was changed");
        assert_int_equal(cluster_state_revision(g.state), revision);
        r = rig_undo(&g, (RigUndo){.job = job});
        for (size_t i = 0; i < r->change->n_units; i++)
                if (!streq(r->change->units[i]->name, "web@.service"))
                        assert_int_equal(r->change->units[i]->status, EREMOTEIO);
        rig_pass_ms(&g, 5000);
        assert_int_equal(count("reg.example/web:2"), N);
}

static void a_file_that_is_replaced_at_once_is_pulled_first(void **state) {
        uint64_t id[2] = {++g.id, 33};

        pulls.down = true;
        RigAnswer *a =
                rig_change_with_and_settle(&g, START, "web@3.service", NEXT, true, (const uint8_t *) id);
        const Argosy__Response__UnitResult *u = rig_last(a)->change->units[0];
        assert_replies(u, EREMOTEIO, "connection refused");
        assert_string_equal(image_of(3), "reg.example/web:1");
        pulls.down = false;
        (void) rig_change_as_job(&g, START, "web@3.service", NEXT);
        assert_int_equal(pulls.n, 2);
        assert_string_equal(image_of(3), "reg.example/web:2");
}

// As of any that starts, its pull is a step on its node: whoever asks has a job meanwhile.
static void of_what_has_no_node_no_image_is_waited_for(void **state) {
        rig_host(&g, 8)->refuses = true;
        rig_change(&g, START, "x.service", IMAGE "[X-Argosy]\nHost=n8\n");
        assert_string_equal(rig_node_name(&g, "x.service"), "");
        rig_host(&g, 8)->refuses = false;
        assert_int_equal(rig_change(&g, START, "x.service", NULL)->status, 0);
        assert_string_equal(rig_node_name(&g, "x.service"), "n8");
        assert_int_equal(pulls.n, 0);
}

static void a_rolling_restart_pulls_what_was_removed(void **state) {
        RigAnswer *a = rig_rollout(&g, (RigRollout){.kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_RESTART,
                                                    .name = "web@.service",
                                                    .health_ms = 1000});

        assert_int_equal(rig_last(a)->status, 0);
        assert_int_equal(pulls.n, N);
}

// The registry has lost the image since: that changes nothing of what was done.
static void a_restart_that_was_done_asks_nobody_when_it_comes_again(void **state) {
        const RigRollout restart = {.kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_RESTART,
                                    .name = "web@.service",
                                    .health_ms = 1000};
        uint64_t id = g.id;

        assert_int_equal(rig_last(rig_rollout(&g, restart))->status, 0);
        rig_pass_ms(&g, 60000);
        pulls.n = 0;
        pulls.down = true;
        g.id = id;
        assert_int_equal(rig_last(rig_rollout(&g, restart))->status, 0);
        assert_int_equal(pulls.n, 0);
}

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define SMALL SERVICE "[X-Argosy]\nHost=n3\n"
#define LARGE SERVICE "[X-Argosy]\nHost=n3\nConflicts=small.service\n"

// web@3 with another image, and a unit that is not there yet.
static void start_both(uint64_t id) {
        const char *names[] = {"web@3.service", "large.service"},
                   *files[] = {"web@.service", "large.service"}, *contents[] = {NEXT, LARGE};
        Argosy__NamedFile file[2], *all[] = {&file[0], &file[1]};
        uint64_t ids[2] = {id, 77};
        Argosy__Request__Change change = MESSAGE_OF(request__change, .verb = START, .names = (char **) names,
                                                    .n_names = 2, .files = all, .n_files = 2,
                                                    .replace = true);
        Argosy__Request request = REQUEST_OF(CHANGE, change, &change);

        for (size_t i = 0; i < 2; i++)
                file[i] = (Argosy__NamedFile) NAMED_FILE_OF(
                        .name = (char *) files[i], .path = (char *) files[i],
                        .content = {.data = (uint8_t *) contents[i], .len = strlen(contents[i])});
        change.id = (ProtobufCBinaryData){sizeof(ids), (uint8_t *) ids};
        (void) rig_ask(&g, &request);
}

// In whichever turn the other one comes: in one of them both are looked at for the same entry.
static void what_waits_for_an_image_takes_no_place(void **state) {
        enum { TURNS = 8 };

        pulls.slow = 1u << rig_host_of(&g, "web@3.service");
        for (unsigned turns = 0; turns < TURNS; turns++) {
                start_both(turns + 1);
                rig_turns(&g, turns);
                RigAnswer *a = rig_change_with_and_settle(&g, START, "small.service", SMALL, true, NULL);
                assert_int_equal(rig_last(a)->change->units[0]->status, 0);
                assert_string_equal(rig_last(a)->change->units[0]->message, "");
                assert_string_equal(rig_node_name(&g, "small.service"), "n3");
                (void) rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "small.service", NULL);
        }
        assert_true(pulls.n > 0);
}

RUN_TESTS(
        PULL_TEST(all_hosts_have_the_image_before_the_first_unit_stops),
        PULL_TEST(what_is_started_while_the_update_waits_has_it_too),
        PULL_TEST(what_waits_for_an_image_takes_no_place),
        PULL_TEST(a_large_group_has_it_everywhere_too),
        PULL_TEST(a_host_that_cannot_have_it_leaves_the_update),
        PULL_TEST(who_goes_to_such_a_host_by_its_turn_is_waited_for),
        PULL_TEST(a_registry_that_is_down_changes_nothing),
        PULL_TEST(a_lost_host_is_not_waited_for),
        PULL_TEST(a_host_that_is_back_while_others_pull_has_it_too),
        PULL_TEST(a_host_that_goes_with_its_answer_is_asked_again),
        PULL_TEST(hosts_that_come_and_go_are_not_waited_for_for_ever),
        PULL_TEST(an_undo_has_the_image_of_before_everywhere_first),
        PULL_TEST(a_host_that_lacks_the_image_of_before_leaves_the_undo),
        PULL_TEST(an_undo_that_no_host_can_do_changes_nothing),
        PULL_TEST(a_file_that_is_replaced_at_once_is_pulled_first),
        PULL_TEST(of_what_has_no_node_no_image_is_waited_for),
        PULL_TEST(a_rolling_restart_pulls_what_was_removed),
        PULL_TEST(a_restart_that_was_done_asks_nobody_when_it_comes_again)
)
