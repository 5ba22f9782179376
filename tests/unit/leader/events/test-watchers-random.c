// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Copies of the cluster that are made of nothing but events are like it, whatever happens in between.
#include <stdlib.h>

#include "event-stream.h"
#include "leader-asks.h"
#include "watch-copy.h"
#include "watchers.h"

#define OTHER "[Service]\nExecStart=/bin/sleep 2000\n"
#define ZONE "global-7.service" // one of random names
#define ALONE_IN_ZONE SERVICE "[X-Argosy]\nRequireLabel=zone=a\n" // a mismatch when its node has that no
                                                                  // more
#define IN_ZONE EVERYWHERE "MachineMetadata=zone=a\n"

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
                                       *name != 'g'       ? (draw(3) ? SERVICE : ALONE_IN_ZONE)
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
                        rig_elect_anew(&g);
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
        _cleanup_free_ Copy *copies = calloc(3, sizeof(*copies));

        assert_non_null(copies);
        copies[1].asked.max_bytes = 1024;
        for (unsigned round = 0; round < ROUNDS; round++) {
                for (unsigned i = draw(8); i > 0; i--)
                        live();
                if (draw(5) == 0)
                        g.leader->events->ring.bytes_max = draw(2) ? 2000 : EVENT_RING_BYTES;
                if (draw(20) == 0)
                        g.leader->events->until_us = 0; // nobody has watched for long
                g.leader->events->jobs->max = few_jobs ? 1 + draw(8) : LEADER_LIMIT_event_jobs;
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
        rig_elect_anew(&g);
        for (unsigned i = draw(6); i > 0; i--)
                live();
}

static void twenty_changes_of_leader(void) {
        _cleanup_free_ Copy *copies = calloc(2, sizeof(*copies));

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

// Behind each event of an answer once; the copy that he had when he asked, and was told all, is the same
// each time.
static void die_behind_each_event_from(const Copy *before) {
        size_t n = 0, n_reported;

        do {
                Copy *c = calloc(1, sizeof(*c));

                assert_non_null(c);
                *c = *before;
                assert_true(asked_pull(&g, &c->asked));
                n_reported = c->asked.n;
                take_first(c, ++n);
                watch_all(c);
                end(c);
                free(c);
        } while (n < n_reported);
        assert_true(n > 2 * (1 + 1 + 3)); // of two units, their contents and three nodes each
}

static void who_dies_in_the_middle_of_a_unit_is_told_all_of_it(void **state) {
        _cleanup_free_ Copy *c = calloc(1, sizeof(*c));

        assert_non_null(c);
        rig_change(&g, START, "a.service", EVERYWHERE);
        rig_change(&g, START, "b.service", EVERYWHERE);
        die_behind_each_event_from(c); // from nothing
        watch_all(c);
        g.leader->events->ring.bytes_max = 1;
        (void) rig_change_with(&g, START, "a.service", OTHER GLOBAL, true, NULL);
        (void) rig_change_with_and_settle(&g, START, "b.service", OTHER GLOBAL, true, NULL);
        die_behind_each_event_from(c); // from where he was
        end(c);
}

RUN_TESTS(
        WATCH_TEST(who_dies_in_the_middle_of_a_unit_is_told_all_of_it),
        WATCH_TEST(random_lives),
        WATCH_TEST(random_lives_of_which_few_jobs_are_told),
        WATCH_TEST(a_copy_is_like_the_cluster_through_twenty_changes_of_leader)
)
