// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The leader as its neighbours see it: fake hosts, the log in memory, a clock that stands still.
#include "clock.h"
#include "feature-level.h"
#include "leader-asks.h"
#include "leader-private.h"
#include "printed.h"
#include "test.h"
#include "messages.h"
#include "str.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define START ARGOSY__VERB__VERB_START
#define STOP ARGOSY__VERB__VERB_STOP

RIG_OF(3)

static void assert_done(const RigAnswer *a, int status) {
        assert_true(a->final);
        assert_int_equal(a->responses[a->n - 1]->status, 0);
        assert_int_equal(a->responses[a->n - 1]->progress->n_done, 1);
        assert_int_equal(a->responses[a->n - 1]->progress->done[0]->status, status);
}

static void a_started_unit_runs_on_one_node_and_the_wait_ends(void **state) {
        const Argosy__Response__UnitResult *r = rig_change(&g, START, "web.service", SERVICE);

        assert_int_equal(r->status, 0);
        assert_string_equal(r->node, "n1");
        assert_int_equal(rig_count_running(&g, "web.service"), 1);
        assert_done(rig_wait(&g, START, "web.service", r->revision), 0);
        assert_string_equal(rig_list_units(&g), "web.service n1 loaded active running\n");
}

// One way looks the names up, the other goes through all units: nobody can tell.
static void units_listed_by_name_are_those_that_a_pattern_finds(void **state) {
        static const struct {
                const char *names[4], *patterns[2]; // each ends with NULL
        } same[] = {
                {{"web.service"}, {"we[b].service"}},
                {{"web.service", "db.service"}, {"[wd]*.service"}},
                {{"db.service", "db.service", "db.service"}, {"[d]b.service"}},
                {{"t@1.service"}, {"t[@]1.service"}},
                {{"t@.service"}, {"t[@].service"}}, // a template is not listed
                {{"no.service"}, {"n[o].service"}},
                {{"gone.service"}, {"gon[e].service"}},
        };

        rig_change(&g, START, "web.service", SERVICE);
        rig_change(&g, START, "db.service", SERVICE);
        rig_change(&g, START, "gone.service", SERVICE);
        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "t@.service", SERVICE);
        rig_change(&g, START, "t@1.service", NULL);
        for (uint32_t host = 1; host <= 3; host++)
                rig_host(&g, host)->deaf = true;
        rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "gone.service", NULL);
        assert_string_not_equal(rig_list_units_matching(&g, same[6].names, 1), "");
        for (size_t i = 0; i < ELEMENTSOF(same); i++) {
                size_t n_names = 0;

                while (same[i].names[n_names])
                        n_names++;
                char *by_name = strdup(rig_list_units_matching(&g, same[i].names, n_names));
                assert_string_equal(rig_list_units_matching(&g, same[i].patterns, 1), by_name);
                free(by_name);
        }
}

static void a_stop_ends_when_it_is_stopped_and_a_destroy_when_it_is_gone(void **state) {
        rig_change(&g, START, "web.service", SERVICE);
        rig_host(&g, 1)->deaf = true;
        const Argosy__Response__UnitResult *r = rig_change(&g, STOP, "web.service", NULL);
        RigAnswer *a = rig_wait(&g, STOP, "web.service", r->revision);
        assert_false(a->final);
        rig_host(&g, 1)->deaf = false;
        rig_settle(&g);
        assert_done(a, 0);

        rig_host(&g, 1)->deaf = true;
        r = rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "web.service", NULL);
        assert_int_equal(r->status, 0);
        assert_null(rig_record(&g, "web.service"));
        a = rig_wait(&g, ARGOSY__VERB__VERB_DESTROY, "web.service", r->revision);
        assert_false(a->final);
        assert_string_equal(rig_list_units(&g),
                            "web.service n1 loaded inactive dead\n"); // no ghost: it is still there
        rig_host(&g, 1)->deaf = false;
        rig_settle(&g);
        assert_done(a, 0);
        assert_string_equal(rig_list_units(&g), "");
}

static void units_spread_and_move_when_their_node_is_lost(void **state) {
        for (int i = 0; i < 30; i++) {
                rig_change(&g, START, printed("u%d.service", i), SERVICE);
        }
        for (uint32_t h = 1; h <= 3; h++)
                assert_int_equal(rig_host(&g, h)->virtual.units.count, 10);
        assert_int_equal(rig_host(&g, 3)->virtual.specs_received, 1); // thirty units, one content
        rig_host_off_for(&g, 3, RIG_LEASE_MS - RIG_BEAT_MS);
        assert_int_equal(rig_host(&g, 1)->virtual.units.count, 10); // not too early
        rig_pass_ms(&g, 2 * RIG_BEAT_MS);
        assert_int_equal(rig_host(&g, 1)->virtual.units.count, 15);
        assert_int_equal(rig_host(&g, 2)->virtual.units.count, 15);

        // It comes back with its units still running: the newer placement wins.
        rig_host_on(&g, 3, false);
        assert_int_equal(rig_host(&g, 3)->virtual.units.count, 0);
        assert_int_equal(rig_count_running(&g, "u5.service"), 1);
}

static void what_still_belongs_to_a_returning_host_stays_untouched(void **state) {
        rig_change(&g, START, "web.service", SERVICE);
        rig_host_off_for(&g, 1, RIG_LEASE_MS / 4);
        rig_host_on(&g, 1, false);
        assert_int_equal(rig_unit_on(&g, 1, "web.service")->starts, 1);
        assert_int_equal(rig_count_running(&g, "web.service"), 1);
}

static void a_unit_that_no_other_node_takes_stays_with_its_lost_node(void **state) {
        rig_host_set_labels(&g, 2, "disk", "ssd");
        rig_change(&g, START, "db.service", SERVICE "[X-Argosy]\nMachineMetadata=disk=ssd\n");
        assert_int_equal(rig_record(&g, "db.service")->node, 2);
        rig_host_off_for(&g, 2, RIG_LEASE_MS + RIG_BEAT_MS);
        assert_int_equal(rig_record(&g, "db.service")->node, 2);
        assert_string_equal(rig_list_units(&g), "db.service n2 unknown unknown unknown\n");
        // To start it now is answered at once, with the reasons.
        const Argosy__Response__UnitResult *r = rig_change(&g, START, "db.service", NULL);
        assert_int_equal(r->status, 0);
        assert_int_equal(r->n_refusals, 3);
        RigAnswer *a = rig_wait(&g, START, "db.service", r->revision);
        assert_done(a, EAGAIN);
        assert_int_equal(a->responses[0]->progress->done[0]->n_refusals, 3);
        rig_host_on(&g, 2, false);
        assert_int_equal(rig_unit_on(&g, 2, "db.service")->starts, 1); // it never stopped
}

static void a_unit_that_no_member_can_ever_take_is_refused_with_the_reason_per_node(void **state) {
        const Argosy__Response__UnitResult *r =
                rig_change(&g, START, "gpu.service", SERVICE "[X-Argosy]\nMachineMetadata=gpu=yes\n");

        assert_int_equal(r->status, ENOSPC);
        assert_int_equal(r->n_refusals, 3);
        assert_string_equal(r->refusals[0]->node, "n1");
        assert_non_null(strstr(r->refusals[0]->reason, "gpu"));
        assert_null(rig_record(&g, "gpu.service"));
}

static void an_unplaced_unit_is_placed_when_a_node_comes_for_it(void **state) {
        rig_host_set_labels(&g, 3, "disk", "ssd");
        rig_host_off_for(&g, 3, RIG_LEASE_MS + RIG_BEAT_MS);
        rig_change(&g, START, "db.service", SERVICE "[X-Argosy]\nMachineMetadata=disk=ssd\n");
        assert_int_equal(rig_record(&g, "db.service")->node, 0);
        assert_string_equal(rig_list_units(&g), "db.service - - inactive dead\n");
        rig_host_on(&g, 3, true);
        assert_int_equal(rig_record(&g, "db.service")->node, 3);
        assert_int_equal(rig_count_running(&g, "db.service"), 1);
}

static void a_node_that_refuses_the_name_loses_the_unit_to_another(void **state) {
        rig_host(&g, 1)->refuses = true;
        rig_change(&g, START, "web.service", SERVICE);
        assert_int_equal(rig_record(&g, "web.service")->node, 2);
        assert_int_equal(rig_count_running(&g, "web.service"), 1);
        rig_host(&g, 2)->refuses = rig_host(&g, 3)->refuses = true;
        rig_change(&g, START, "other.service", SERVICE);
        assert_int_equal(rig_record(&g, "other.service")->node, 0);
}

static void a_global_unit_follows_labels(void **state) {
        rig_host_set_labels(&g, 2, "edge", "yes");
        rig_change(&g, START, "agent.service", SERVICE "[X-Argosy]\nGlobal=yes\nMachineMetadata=edge=yes\n");
        assert_null(rig_unit_on(&g, 1, "agent.service"));
        assert_non_null(rig_unit_on(&g, 2, "agent.service"));
        rig_host_set_labels(&g, 3, "edge", "yes");
        assert_non_null(rig_unit_on(&g, 3, "agent.service"));
        rig_host_set_labels(&g, 2, "edge", "no");
        assert_null(rig_unit_on(&g, 2, "agent.service"));
        assert_int_equal(rig_count_running(&g, "agent.service"), 1);
}

static void a_finished_one_shot_is_not_moved_and_not_run_again(void **state) {
        const Argosy__Response__UnitResult *r =
                rig_change(&g, START, "job.service", "[Service]\nType=oneshot\nExecStart=/bin/true\n");

        rig_host_report_and_settle(&g, rig_host(&g, 1), rig_unit_on(&g, 1, "job.service"),
                                   ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE, ARGOSY__OUTCOME__KIND__DONE);
        assert_int_equal(rig_record(&g, "job.service")->n_outcomes, 1);
        assert_done(rig_wait(&g, START, "job.service", r->revision), 0);
        rig_host_off(&g, 1);
        rig_pass_ms(&g, RIG_LEASE_MS + RIG_BEAT_MS); // host 1 leads, and a leader does not lose itself
        assert_int_equal(rig_record(&g, "job.service")->node, 1);
        rig_host_on(&g, 1, true);
        assert_int_equal(rig_unit_on(&g, 1, "job.service")->starts, 0);
        rig_change(&g, START, "job.service", NULL); // an explicit start runs it again
        assert_int_equal(rig_unit_on(&g, 1, "job.service")->starts, 1);
}

// While its host could not tell anybody.
static void a_one_shot_that_finished_unseen_is_known_after_the_attach(void **state) {
        rig_change(&g, START, "web.service", SERVICE); // on the leader's node
        rig_change(&g, START, "job.service", "[Service]\nType=oneshot\nExecStart=/bin/true\n");
        VirtualUnit *u = rig_unit_on(&g, 2, "job.service");
        u->active = ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE;
        u->outcome = ARGOSY__OUTCOME__KIND__DONE;
        assert_int_equal(rig_record(&g, "job.service")->n_outcomes, 0);
        rig_host_on(&g, 2, false);
        assert_int_equal(rig_record(&g, "job.service")->n_outcomes, 1);
        rig_host_off_for(&g, 2, RIG_LEASE_MS + RIG_BEAT_MS);
        assert_int_equal(rig_record(&g, "job.service")->node, 2);
}

// A member may be out of its mind, but not eat the leader's memory.
static void a_host_cannot_invent_units_without_limit(void **state) {
        Argosy__UnitReport r = ARGOSY__UNIT_REPORT__INIT, *pointers = &r;
        char name[64];
        size_t n = 0;
        Argosy__ToVoter__Reports reports =
                MESSAGE_OF(to_voter__reports, .reports = &pointers, .n_reports = 1);
        Argosy__ToVoter m = TO_VOTER_OF(REPORTS, reports, &reports);

        r.name = name;
        r.node = 2;
        for (int i = 0; i < 60000; i++) {
                snprintf(name, sizeof(name), i % 2 ? "u%d.service" : "no unit %d", i);
                leader_on_message(g.leader, 2, &m);
        }
        for (int i = 0; i < 60000; i++) {
                snprintf(name, sizeof(name), "v%d.service", i);
                leader_on_message(g.leader, 2, &m);
        }
        r.node = 3; // another host's node
        strcpy(name, "theirs.service");
        leader_on_message(g.leader, 2, &m);
        for (const char *p = rig_list_units(&g); (p = strchr(p, '\n')); p++)
                n++;
        assert_int_equal(n, 50000);
        assert_null(strstr(rig_list_units(&g), "theirs"));
}

static void a_repeated_request_applies_nothing_twice(void **state) {
        const uint8_t id[16] = "0123456789abcde";
        RigAnswer *a = rig_change_with(&g, START, "web.service", SERVICE, false, id), *b;
        uint64_t start_rev;

        rig_settle(&g);
        start_rev = rig_record(&g, "web.service")->start_rev;
        b = rig_change_with_and_settle(&g, START, "web.service", SERVICE, false, id);
        assert_int_equal(rig_record(&g, "web.service")->start_rev, start_rev);
        assert_int_equal(b->responses[0]->change->units[0]->revision,
                         a->responses[0]->change->units[0]->revision);
        // The same for a destroy, whose unit is not there any more.
        a = rig_change_with_and_settle(&g, ARGOSY__VERB__VERB_DESTROY, "web.service", NULL, false,
                                       (const uint8_t *) "fedcba9876543210");
        b = rig_change_with_and_settle(&g, ARGOSY__VERB__VERB_DESTROY, "web.service", NULL, false,
                                       (const uint8_t *) "fedcba9876543210");
        assert_int_equal(a->responses[0]->change->units[0]->status, 0);
        assert_int_equal(b->responses[0]->change->units[0]->status, 0);
}

static void requests_of_one_turn_cost_one_entry(void **state) {
        unsigned before = g.batches;

        for (int i = 0; i < 100; i++) {
                rig_change_with(&g, START, printed("u%d.service", i), SERVICE, false, NULL);
        }
        rig_settle(&g);
        assert_int_equal(g.batches, before + 1);
}

// No decision builds on one that may still be rolled back.
static void one_batch_is_on_its_way_at_a_time(void **state) {
        unsigned before = g.batches;

        g.slow = true;
        RigAnswer *a = rig_change_with(&g, START, "a.service", SERVICE, false, NULL);
        rig_turns(&g, 5);
        assert_int_equal(g.n_held, 1);
        RigAnswer *b = rig_change_with(&g, START, "b.service", SERVICE, false, NULL);
        rig_turns(&g, 5);
        assert_int_equal(g.n_held, 1);
        assert_false(a->final);
        rig_hurry_and_settle(&g);
        assert_true(a->final);
        assert_true(b->final);
        assert_int_equal(g.batches, before + 2);
}

// A leader that was replaced without knowing it gets no barrier through, so it welcomes nobody.
// A leader that was frozen: what it has heard since lies in its sockets, and what it knows is old.
static void without_authority_nothing_is_said_that_lasts(void **state) {
        RigHost *h = rig_host(&g, 2);
        unsigned acks, welcomes;

        h->virtual.watches = true;
        store_memory_authority(g.store, g.now_us + 500 * USEC_PER_MSEC);
        rig_pass_ms(&g, 250);
        assert_int_equal(h->virtual.last_ack, h->virtual.beat_seq);
        rig_pass_ms(&g, 250); // now it is over
        acks = h->virtual.acks;
        welcomes = rig_host(&g, 3)->virtual.welcomes;
        RigAnswer *a = rig_change_with(&g, START, "web.service", SERVICE, false, NULL);
        rig_host(&g, 3)->linked = false; // attaches again
        rig_pass_ms(&g, 1000);
        assert_int_equal(h->virtual.acks, acks);
        assert_int_equal(rig_count_running(&g, "web.service"), 0);
        assert_int_equal(rig_host(&g, 3)->virtual.welcomes, welcomes);
        assert_false(a->final);

        store_memory_authority(g.store, 0); // the others have answered
        rig_settle(&g);
        assert_int_equal(h->virtual.acks, acks + 1); // the newest beat is enough
        assert_int_equal(h->virtual.last_ack, h->virtual.beat_seq);
        assert_int_equal(rig_count_running(&g, "web.service"), 1);
        assert_int_equal(rig_host(&g, 3)->virtual.welcomes, welcomes + 1);
        assert_true(a->final);
}

static void nobody_is_welcomed_before_a_barrier_that_began_after_the_attach(void **state) {
        RigHost *h = rig_host(&g, 2);
        unsigned before = h->virtual.welcomes;

        g.slow = true;
        h->attached = false;
        rig_turns(&g, 5);
        assert_true(h->attached);
        assert_int_equal(g.n_held, 1);
        assert_int_equal(h->virtual.welcomes, before);
        h->attached = false; // and once more, while the barrier is on its way
        rig_turns(&g, 5);
        assert_int_equal(h->virtual.welcomes, before);
        rig_release(&g);
        rig_turns(&g, 5);
        assert_int_equal(h->virtual.welcomes, before);
        assert_int_equal(g.n_held, 1); // that of the second Attach
        rig_hurry_and_settle(&g);
        assert_int_equal(h->virtual.welcomes, before + 1);
}

// When it is said, some of them have found room.
static void voters_that_have_found_room_are_not_named(void **state) {
        g.slow = true;
        RigAnswer *a = rig_change_with(&g, START, "web.service", SERVICE, false, NULL);
        rig_turns(&g, 10);
        assert_int_equal(g.n_held, 1);
        g.slow = false;
        g.n_held = 0;
        g.held[0].done(STORE_NO_SPACE, 0, g.held[0].data);
        buf_done(&g.held[0].batch);
        assert_int_equal(g.n_members, 3);
        g.members[0].lacks_room = true;
        rig_settle(&g);
        assert_true(a->final);
        assert_string_equal(a->responses[0]->message,
                            "the disk under /var/lib/argosy has no room for the log on most of "
                            "the voters: nothing was changed");
}

static void a_full_disk_changes_nothing_and_says_so(void **state) {
        store_memory_fail(g.store, -ENOSPC);
        assert_int_equal(g.n_members, 3);
        g.members[0].lacks_room = g.members[2].lacks_room = true;
        RigAnswer *a = rig_change_with_and_settle(&g, START, "web.service", SERVICE, false, NULL);
        assert_true(a->final);
        assert_int_equal(a->responses[0]->status, ENOSPC);
        assert_string_equal(a->responses[0]->message,
                            "the disk under /var/lib/argosy has no room for the log on most of "
                            "the voters (n1, n3): nothing was changed");
        store_memory_fail(g.store, 0);
        assert_null(rig_record(&g, "web.service"));
        assert_int_equal(rig_change(&g, START, "web.service", SERVICE)->status, 0);
}

// Units that no other node takes stay where they are, on a node that is to be emptied.
static void a_full_disk_is_no_reason_to_look_at_all_units(void **state) {
        enum { UNITS = 30 };

        (void) rig_set_host_mode(&g, 1, ARGOSY__NODE_MODE__MODE_CORDONED, 0);
        (void) rig_set_host_mode(&g, 2, ARGOSY__NODE_MODE__MODE_CORDONED, 0);
        for (unsigned i = 0; i < UNITS; i++) {
                rig_change(&g, START, printed("u%u.service", i), SERVICE);
        }
        assert_int_equal(rig_host_of(&g, "u0.service"), 3);
        (void) rig_set_host_mode(&g, 3, ARGOSY__NODE_MODE__MODE_DRAINING, 0);
        rig_pass_ms(&g, 2000);
        store_memory_fail(g.store, -ENOSPC);
        // but for those who wait for a node
        uint64_t considered = g.leader->n_considered - g.leader->n_pending_judged;
        for (unsigned i = 0; i < 5; i++) {
                RigAnswer *a =
                        rig_change_with(&g, ARGOSY__VERB__VERB_SUBMIT, "web.service", SERVICE, false, NULL);

                rig_settle(&g);
                assert_int_equal(a->responses[0]->status, ENOSPC);
                rig_pass_ms(&g, 1500);
        }
        assert_int_equal(g.leader->n_considered - g.leader->n_pending_judged, considered);
        store_memory_fail(g.store, 0);
        (void) rig_set_host_mode(&g, 2, ARGOSY__NODE_MODE__MODE_OPEN, 0);
        rig_pass_ms(&g, 2000);
        assert_int_equal(rig_host_of(&g, "u0.service"), 2);
}

static void an_outcome_that_has_met_a_full_disk_is_written_later(void **state) {
        rig_change(&g, START, "job.service", "[Service]\nType=oneshot\nExecStart=/bin/true\n");
        uint32_t host = rig_host_of(&g, "job.service");
        store_memory_fail(g.store, -ENOSPC);
        rig_host_report(&g, rig_host(&g, host), rig_unit_on(&g, host, "job.service"),
                        ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE, ARGOSY__OUTCOME__KIND__DONE);
        rig_pass_ms(&g, 3000);
        assert_int_equal(rig_record(&g, "job.service")->n_outcomes, 0);
        store_memory_fail(g.store, 0);
        rig_pass_ms(&g, 3000);
        assert_int_equal(rig_record(&g, "job.service")->n_outcomes, 1);
}

static void a_lost_leader_answers_with_an_unknown_outcome_that_may_be_repeated(void **state) {
        const uint8_t id[16] = "0123456789abcde";
        RigAnswer *a = rig_change_with(&g, START, "web.service", SERVICE, false, id);

        uv_run(&g.loop, UV_RUN_NOWAIT);
        rig_depose(&g);
        assert_true(a->final);
        assert_int_equal(a->responses[0]->status, EAGAIN);
        assert_true(a->responses[0]->no_leader);
        rig_elect(&g);
        rig_change_with_and_settle(&g, START, "web.service", SERVICE, false, id);
        assert_int_equal(rig_count_running(&g, "web.service"), 1);
}

static void a_new_leader_gives_everybody_a_full_lease_and_starts_nothing_again(void **state) {
        for (int i = 0; i < 9; i++) {
                rig_change(&g, START, printed("u%d.service", i), SERVICE);
        }
        rig_host_off(&g, 3);
        rig_depose(&g);
        g.now_us += 3600 * UINT64_C(1000000);
        rig_elect(&g);
        assert_int_equal(rig_host(&g, 1)->virtual.units.count, 3);
        assert_int_equal(rig_unit_on(&g, 1, "u0.service")->starts, 1);
        assert_non_null(strstr(rig_list_units(&g), "u2.service n3 unknown"));
        rig_pass_ms(&g, RIG_LEASE_MS + RIG_BEAT_MS);
        assert_int_equal(rig_host(&g, 1)->virtual.units.count + rig_host(&g, 2)->virtual.units.count, 9);
}

// What a former leader saw is not known to the new one: "gone" is only believed when every host has spoken.
static void a_destroy_waits_for_hosts_that_a_new_leader_has_not_heard_yet(void **state) {
        rig_change(&g, START, "web.service", SERVICE);
        rig_host_off(&g, 3);
        rig_elect_anew(&g);
        const Argosy__Response__UnitResult *r =
                rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "web.service", NULL);
        RigAnswer *a = rig_wait(&g, ARGOSY__VERB__VERB_DESTROY, "web.service", r->revision);
        assert_false(a->final);
        rig_pass_ms(&g, RIG_LEASE_MS + RIG_BEAT_MS);
        assert_done(a, 0);
}

static void a_shutdown_moves_units_without_waiting_for_the_lease(void **state) {
        rig_change(&g, START, "a.service", SERVICE);
        rig_change(&g, START, "b.service", SERVICE);
        assert_int_equal(rig_record(&g, "b.service")->node, 2);
        rig_host_goodbye(&g, 2);
        rig_settle(&g);
        rig_change(&g, START, "c.service", SERVICE);
        rig_change(&g, START, "d.service", SERVICE);
        assert_int_not_equal(rig_record(&g, "d.service")->node, 2); // nothing new for it
        assert_int_equal(rig_record(&g, "b.service")->node, 2); // its units are still being stopped there
        virtual_host_goodbye(&rig_host(&g, 2)->virtual, false);
        rig_settle(&g);
        assert_int_not_equal(rig_record(&g, "b.service")->node, 2);
        assert_int_equal(rig_count_running(&g, "b.service"), 1);
}

static void three_hosts_become_three_voters_and_a_removed_one_is_replaced(void **state) {
        Argosy__Request__ClusterRemove remove = ARGOSY__REQUEST__CLUSTER_REMOVE__INIT;
        Argosy__Request request = REQUEST_OF(CLUSTER_REMOVE, cluster_remove, &remove);

        assert_int_equal(g.n_members, 3);
        for (uint32_t h = 1; h <= 3; h++)
                assert_int_equal(cluster_state_find_host(g.state, h)->role, ARGOSY__HOST_ROLE__ROLE_VOTER);
        rig_change(&g, START, "a.service", SERVICE);
        rig_change(&g, START, "b.service", SERVICE);
        rig_change(&g, START, "c.service", SERVICE);
        rig_host_off_for(&g, 3, RIG_LEASE_MS + RIG_BEAT_MS);
        assert_int_equal(g.n_members, 3); // a dead voter stays until somebody removes it
        remove.host = "n3";
        RigAnswer *a = rig_ask_and_settle(&g, &request);
        assert_true(a->final);
        assert_int_equal(a->responses[0]->status, 0);
        assert_null(cluster_state_find_host(g.state, 3));
        assert_int_equal(g.n_members, 1); // of two hosts one votes
        assert_true(rig_host(&g, 2)->closed);
        assert_int_equal(rig_count_running(&g, "c.service"), 1);
}

static void an_agent_answers_status_and_journal(void **state) {
        char *names[] = {"web.service", "nothing.service"};

        rig_change(&g, START, "web.service", SERVICE);
        Argosy__Request__Status status = MESSAGE_OF(request__status, .names = names, .n_names = 2);
        Argosy__Request request = REQUEST_OF(STATUS, status, &status);
        RigAnswer *a = rig_ask_and_settle(&g, &request);
        assert_true(a->final);
        assert_int_equal(a->n, 2);
        for (size_t i = 0; i < a->n; i++) {
                const Argosy__Response *r = a->responses[i];

                if (r->status == ENOENT)
                        assert_string_equal(r->status_reply->row->unit, "nothing.service");
                else
                        assert_string_equal(r->status_reply->row->node, "n1");
        }

        Argosy__Request__Journal journal = JOURNAL_OF(.name = "web.service", .follow = true);
        request.what_case = ARGOSY__REQUEST__WHAT_JOURNAL;
        request.journal = &journal;
        a = rig_ask_and_settle(&g, &request);
        assert_int_equal(a->n, 1);
        assert_false(a->final);
        leader_cancel(g.leader, a->cancel);
        rig_settle(&g);
        assert_int_equal(a->n, 1);
        // A host that dies ends what it was asked.
        a = rig_ask_and_settle(&g, &request);
        rig_host(&g, 1)->linked = false;
        rig_settle(&g);
        assert_true(a->final);
        assert_int_equal(a->responses[a->n - 1]->status, EHOSTUNREACH);
}

static RigAnswer *ask_top(const char *node, uint32_t interval_ms) {
        Argosy__Request__Top top =
                MESSAGE_OF(request__top, .node = (char *) node, .interval_ms = interval_ms);

        return rig_ask_and_settle(&g, A_REQUEST(TOP, top, &top));
}

static void agents_of_all_nodes_tell_what_units_use(void **state) {
        RigAnswer *a = ask_top("", 0);
        unsigned seen = 0;

        assert_true(a->final);
        assert_int_equal(a->n, 3);
        for (size_t i = 0; i < a->n; i++) {
                assert_int_equal(a->responses[i]->status, 0);
                assert_int_equal(a->responses[i]->usage->node[0], 'n');
                seen |= 1u << (a->responses[i]->usage->node[1] - '0');
        }
        assert_int_equal(seen, 1 << 1 | 1 << 2 | 1 << 3);

        a = ask_top("n2", 0);
        assert_true(a->final && a->n == 1);
        assert_string_equal(a->responses[0]->usage->node, "n2");
        a = ask_top("n9", 0);
        assert_true(a->final && a->responses[0]->status == ENOENT);
}

static void a_top_goes_on_with_nodes_that_go_and_come(void **state) {
        RigAnswer *a = ask_top("", 1000), *one = ask_top("n3", 1000);

        assert_int_equal(a->n, 3);
        assert_false(a->final);
        rig_host_off_for(&g, 2, RIG_LEASE_MS + RIG_BEAT_MS);
        assert_int_equal(a->n, 4);
        assert_true(a->responses[3]->usage->gone);
        assert_string_equal(a->responses[3]->usage->node, "n2");
        assert_false(a->final);
        rig_host_on(&g, 2, false);
        assert_int_equal(a->n, 5);
        assert_string_equal(a->responses[4]->usage->node, "n2");
        assert_false(a->responses[4]->usage->gone);
        assert_int_equal(one->n, 1); // it asked for another node
        leader_cancel(g.leader, a->cancel);
        rig_host_off_for(&g, 3, RIG_LEASE_MS + RIG_BEAT_MS);
        assert_int_equal(a->n, 5);
        assert_true(one->final && one->responses[one->n - 1]->usage->gone);
        a = ask_top("n3", 1000);
        assert_true(a->final && a->responses[0]->status == EHOSTUNREACH);
}

static void a_cancelled_wait_leaves_nothing_behind(void **state) {
        rig_host(&g, 1)->deaf = true;
        const Argosy__Response__UnitResult *r = rig_change(&g, START, "web.service", SERVICE);
        RigAnswer *a = rig_wait(&g, START, "web.service", r->revision);
        assert_false(a->final);
        rig_cancel(&g, a);
        rig_host(&g, 1)->deaf = false;
        rig_settle(&g);
        assert_int_equal(a->n, 0);
}

// Its host has still to hear of all three orders, and what it says of the first one comes between the last
// one's entry and that order.
static void what_is_destroyed_twice_ends_whenever_its_host_says_that_it_is_gone(void **state) {
        for (unsigned turns = 0; turns < 8; turns++) {
                _cleanup_free_ char *name = str_printf("web%u.service", turns);

                (void) rig_change(&g, START, name, SERVICE);
                RigHost *h = rig_host(&g, rig_host_of(&g, name));
                for (uint32_t other = 1; other <= 3; other++) // it comes back to the same one
                        if (other != h->number)
                                (void) rig_set_host_mode(&g, other, ARGOSY__NODE_MODE__MODE_CORDONED, 0);
                h->deaf = true;
                (void) rig_change(&g, ARGOSY__VERB__VERB_DESTROY, name, NULL);
                (void) rig_change(&g, START, name, SERVICE);
                (void) rig_change_with(&g, ARGOSY__VERB__VERB_DESTROY, name, NULL, false, NULL);
                rig_turns(&g, turns);
                h->deaf = false;
                rig_settle(&g);
                assert_null(rig_record(&g, name));
                assert_int_equal(rig_count_running(&g, name), 0);
                for (uint32_t other = 1; other <= 3; other++)
                        (void) rig_set_host_mode(&g, other, ARGOSY__NODE_MODE__MODE_OPEN, 0);
        }
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(
                what_is_destroyed_twice_ends_whenever_its_host_says_that_it_is_gone, setup,
                teardown),
        cmocka_unit_test_setup_teardown(a_started_unit_runs_on_one_node_and_the_wait_ends, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(units_listed_by_name_are_those_that_a_pattern_finds, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_stop_ends_when_it_is_stopped_and_a_destroy_when_it_is_gone,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(units_spread_and_move_when_their_node_is_lost, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_still_belongs_to_a_returning_host_stays_untouched,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_unit_that_no_other_node_takes_stays_with_its_lost_node,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
                a_unit_that_no_member_can_ever_take_is_refused_with_the_reason_per_node, setup,
                teardown),
        cmocka_unit_test_setup_teardown(an_unplaced_unit_is_placed_when_a_node_comes_for_it, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_node_that_refuses_the_name_loses_the_unit_to_another,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_global_unit_follows_labels, setup, teardown),
        cmocka_unit_test_setup_teardown(a_finished_one_shot_is_not_moved_and_not_run_again, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_one_shot_that_finished_unseen_is_known_after_the_attach,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_host_cannot_invent_units_without_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(a_repeated_request_applies_nothing_twice, setup, teardown),
        cmocka_unit_test_setup_teardown(requests_of_one_turn_cost_one_entry, setup, teardown),
        cmocka_unit_test_setup_teardown(one_batch_is_on_its_way_at_a_time, setup, teardown),
        cmocka_unit_test_setup_teardown(without_authority_nothing_is_said_that_lasts, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
                nobody_is_welcomed_before_a_barrier_that_began_after_the_attach, setup, teardown),
        cmocka_unit_test_setup_teardown(voters_that_have_found_room_are_not_named, setup, teardown),
        cmocka_unit_test_setup_teardown(a_full_disk_changes_nothing_and_says_so, setup, teardown),
        cmocka_unit_test_setup_teardown(a_full_disk_is_no_reason_to_look_at_all_units, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(an_outcome_that_has_met_a_full_disk_is_written_later, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
                a_lost_leader_answers_with_an_unknown_outcome_that_may_be_repeated, setup, teardown),
        cmocka_unit_test_setup_teardown(
                a_new_leader_gives_everybody_a_full_lease_and_starts_nothing_again, setup, teardown),
        cmocka_unit_test_setup_teardown(
                a_destroy_waits_for_hosts_that_a_new_leader_has_not_heard_yet, setup, teardown),
        cmocka_unit_test_setup_teardown(a_shutdown_moves_units_without_waiting_for_the_lease, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
                three_hosts_become_three_voters_and_a_removed_one_is_replaced, setup, teardown),
        cmocka_unit_test_setup_teardown(an_agent_answers_status_and_journal, setup, teardown),
        cmocka_unit_test_setup_teardown(agents_of_all_nodes_tell_what_units_use, setup, teardown),
        cmocka_unit_test_setup_teardown(a_top_goes_on_with_nodes_that_go_and_come, setup, teardown),
        cmocka_unit_test_setup_teardown(a_cancelled_wait_leaves_nothing_behind, setup, teardown)
)
