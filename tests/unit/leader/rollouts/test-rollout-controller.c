// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Rolling updates and restarts, as the leader's neighbours see them.
#include <errno.h>

#include "rollout-words.h"

static void of_one_that_is_not_kept_nobody_says_how_it_ended(void **state) {
        const Argosy__Response *r = rig_last(wait_for("a.service", 7));

        assert_int_equal(r->status, ENODATA);
        assert_string_equal(r->message, "a.service: the record of this update or restart is not kept any "
                                        "more: how it ended is not known");
}

// ------------------------------------------------------------------------------------------------ templates

static void an_update_goes_through_the_instances_one_by_one(void **state) {
        start_instances(N_UNITS, OLD);
        RigAnswer *a = begin((RigRollout){UPDATE, "web@.service", NEW});
        assert_int_equal(rig_last(a)->progress->remaining, N_UNITS);
        assert_int_equal(watch(a), 1);
        assert_int_equal(rig_last(a)->status, 0);
        assert_int_equal(count_running(NEW), N_UNITS);
        assert_true(rig_has_content(&g, "web@.service", NEW));
}

// Its own file says how many of them may be down. The update is about another one, which says nothing.
static void a_file_of_one_instance_lets_no_more_of_them_be_down(void **state) {
        start_instances(N_UNITS, OLD);
        rig_change_with(&g, START, "web@1.service", OLD "[X-Argosy]\nMaxUnavailable=3\n", true, NULL);
        rig_pass_ms(&g, 2 * START_MS);
        RigAnswer *a = begin((RigRollout){UPDATE, "web@.service", NEW});
        assert_int_equal(watch(a), 1);
        assert_int_equal(count_running(NEW), N_UNITS - 1);
}

// Of the contents of its group, in whatever order these are kept.
static bool is_first_of_its_group(const char *unit) {
        const DisruptionBudget *group = unit_find(g.leader, unit)->budget;

        map_foreach (slot, &group->contents)
                return slot->value == unit_find(g.leader, unit)->content;
        return false;
}

// Also if it is not the first of them.
static void of_several_files_of_instances_a_restart_keeps_to_the_strictest(void **state) {
        start_instances(N_UNITS, OLD "[X-Argosy]\nMaxUnavailable=3\n");
        for (unsigned i = 1; i <= N_UNITS; i++) {
                _cleanup_free_ char *own = str_printf(OLD "[X-Argosy]\nMaxUnavailable=3\n# %u\n", i);

                rig_change_with(&g, START, printed("web@%u.service", i), own, true, NULL);
                rig_pass_ms(&g, 2 * START_MS);
        }
        for (unsigned i = 0; i == 0 || is_first_of_its_group("web@4.service"); i++) {
                _cleanup_free_ char *strict = str_printf(OLD ONE_DOWN "# %u\n", i);

                rig_change_with(&g, START, "web@4.service", strict, true, NULL);
                rig_pass_ms(&g, 2 * START_MS);
        }
        assert_int_equal(watch(begin((RigRollout){RESTART, "web@.service", NULL})), 1);
}

// systemd has restarted the first that runs with that content: it is up all the same.
static const char *restart_one_with(const char *content) {
        Hash hash = hash_of(content, strlen(content));

        for (uint32_t h = 1; h <= 3; h++)
                map_foreach (slot, &rig_host(&g, h)->virtual.units) {
                        VirtualUnit *u = slot->value;

                        if (u->active != ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE ||
                            !hash_equal(&u->order.spec, &hash))
                                continue;
                        u->n_restarts = 1;
                        rig_host_report_and_settle(&g, rig_host(&g, h), u,
                                                   ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE,
                                                   ARGOSY__OUTCOME__KIND__NONE);
                        return u->name;
                }
        return NULL;
}

static void what_systemd_restarts_by_itself_ends_the_way_forward(void **state) {
        start_instances(N_UNITS, OLD);
        assert_non_null(restart_one_with(OLD)); // before: that says nothing of what comes
        RigAnswer *a = begin((RigRollout){UPDATE, "web@.service", NEW});
        for (unsigned i = 0; i < 100 && count_running(NEW) < 2; i++)
                rig_pass_ms(&g, 250);
        const char *name = restart_one_with(NEW);
        assert_non_null(name);
        watch(a);
        assert_replies(rig_last(a), EIO, name);
        assert_non_null(strstr(rig_last(a)->message, "systemd restarted it"));
        assert_int_equal(count_running(OLD), N_UNITS);
}

static void each_has_to_be_well_for_a_while_before_the_next(void **state) {
        start_instances(N_UNITS, OLD);
        begin((RigRollout){UPDATE, "web@.service", NEW});
        rig_pass_ms(&g, START_MS + HEALTH_MS - 500);
        assert_int_equal(count_running(NEW), 1);
        assert_int_equal(count_running(OLD), N_UNITS - 1);
        rig_pass_ms(&g, 1000);
        assert_int_equal(count_running(OLD), N_UNITS - 2);
}

// It may have failed long ago: what says so is still on its way.
static void a_host_that_has_not_told_everything_proves_nothing(void **state) {
        g.timed = true;
        start_instances(N_UNITS, OLD);
        begin((RigRollout){UPDATE, "web@.service", NEW});
        rig_pass_ms(&g, START_MS + HEALTH_MS / 2);
        assert_int_equal(count_running(NEW), 1);
        for (uint32_t h = 1; h <= 3; h++)
                rig_host(&g, h)->deaf = true;
        rig_pass_ms(&g, 3 * HEALTH_MS);
        for (uint32_t h = 1; h <= 3; h++)
                rig_host(&g, h)->deaf = false;
        rig_settle(&g);
        assert_int_equal(count_running(OLD), N_UNITS - 1);
        rig_pass_ms(&g, 2 * RIG_BEAT_MS);
        assert_int_equal(count_running(OLD), N_UNITS - 2);
}

static void a_gate_that_hosts_tell_the_time_of_goes_on_under_a_new_leader(void **state) {
        g.timed = true;
        start_instances(N_UNITS, OLD);
        begin((RigRollout){UPDATE, "web@.service", NEW});
        rig_pass_ms(&g, START_MS + HEALTH_MS - 1000);
        assert_int_equal(count_running(NEW), 1);
        rig_elect_anew(&g);
        assert_int_equal(count_running(OLD), N_UNITS - 1);
        rig_pass_ms(&g, 1000 + 2 * RIG_BEAT_MS);
        assert_int_equal(count_running(OLD), N_UNITS - 2);
}

// It is not waited for once more.
static void a_long_gate_is_looked_at_with_the_first_beats_of_a_new_leader(void **state) {
        enum { LONG_MS = 60000 };

        g.timed = true;
        start_instances(N_UNITS, OLD);
        (void) rig_rollout(&g, (RigRollout){UPDATE, "web@.service", NEW, .health_ms = LONG_MS});
        rig_pass_ms(&g, START_MS + LONG_MS - 1000);
        assert_int_equal(count_running(NEW), 1);
        rig_elect_anew(&g);
        rig_pass_ms(&g, 1000 + 2 * RIG_BEAT_MS);
        assert_int_equal(count_running(OLD), N_UNITS - 2);
}

static void so_many_as_the_command_says_go_together(void **state) {
        start_instances(N_UNITS, OLD);
        RigAnswer *a = begin((RigRollout){UPDATE, "web@.service", NEW, .max = 50, .percent = true});
        assert_int_equal(watch(a), 3);
        assert_int_equal(rig_last(a)->status, 0);
}

static void the_units_own_option_is_stricter_than_the_command(void **state) {
        start_instances(N_UNITS, OLD ONE_DOWN);
        assert_int_equal(watch(begin((RigRollout){UPDATE, "web@.service", NEW, .max = 4})), 1);
}

static void an_update_that_fails_goes_back(void **state) {
        start_instances(N_UNITS, OLD);
        RigAnswer *a = begin((RigRollout){UPDATE, "web@.service", BAD});
        assert_int_equal(watch(a), 1);
        assert_int_equal(rig_last(a)->status, EIO);
        assert_string_equal(rig_last(a)->message,
                            "web@1.service on n1: it failed; everything has the file of before again");
        assert_int_equal(count_running(OLD), N_UNITS);
        assert_true(rig_has_content(&g, "web@.service", OLD));
        assert_true(rig_has_content(&g, "web@1.service", OLD));
}

// A host that is not told what to do, and says nothing of it, is waited for as long as a start may take.
static void an_update_that_nothing_is_heard_of_goes_back(void **state) {
        start_instances(1, OLD);
        RigHost *h = rig_host(&g, rig_host_of(&g, "web@1.service"));
        h->full = true;
        RigAnswer *a = begin((RigRollout){UPDATE, "web@.service", NEW});
        rig_pass_ms(&g, 299 * 1000);
        assert_true(rig_has_content(&g, "web@1.service", NEW));
        assert_false(a->final);
        rig_pass_ms(&g, 2 * 1000);
        assert_true(rig_has_content(&g, "web@1.service", OLD));
        rig_host_drain(&g, h->number);
        rig_pass_ms(&g, START_MS);
        assert_true(a->final);
        assert_string_equal(rig_last(a)->message,
                            "web@1.service on n1: it does not become active; everything has the file of "
                            "before again");
}

static void a_restart_goes_through_them_all_and_changes_nothing_else(void **state) {
        start_instances(N_UNITS, OLD);
        RigAnswer *a = begin((RigRollout){RESTART, "web@.service", .max = 2});
        assert_int_equal(watch(a), 2);
        assert_int_equal(rig_last(a)->status, 0);
        for (uint32_t h = 1; h <= 3; h++)
                map_foreach (slot, &rig_host(&g, h)->virtual.units)
                        assert_int_equal(((VirtualUnit *) slot->value)->restarts, 1);
}

// It has had its turn, and nobody can say that it was restarted.
static void of_a_unit_that_has_no_node_it_is_said_that_it_has_none(void **state) {
        start_instances(N_UNITS, OLD);
        for (uint32_t h = 1; h <= 3; h++)
                (void) rig_set_host_mode(&g, h, ARGOSY__NODE_MODE__MODE_CORDONED, 0);
        (void) rig_change_with_and_settle(&g, START, "lone.service", OLD, true, NULL);
        RigAnswer *a = begin((RigRollout){RESTART, "lone.service"});
        (void) watch(a);
        assert_int_equal(rig_last(a)->status, ENOSPC);
        assert_string_equal(rig_last(a)->message, "1 unit has no node, and starts as soon as one is found");
        rig_pass_ms(&g, 2000);
        assert_int_equal(cluster_state_job_state(g.state, cluster_state_last_job(g.state)),
                         ARGOSY__JOB_STATE__JOB_FAILED);
}

static void an_update_that_ties_units_to_each_other_is_refused(void **state) {
        assert_int_equal(rig_change(&g, START, "a.service", OLD)->status, 0);
        assert_int_equal(rig_change(&g, START, "b.service", OLD "[X-Argosy]\nMachineOf=a.service\n")->status,
                         0);
        const Argosy__Response *r =
                rig_last(ask((RigRollout){UPDATE, "a.service", OLD "[X-Argosy]\nMachineOf=b.service\n"}));
        assert_int_equal(r->status, EINVAL);
        assert_string_equal(r->message,
                            "a.service:4: units that are to be where each other is: a.service -> "
                            "b.service -> a.service");
        assert_true(rig_has_content(&g, "a.service", OLD));
}

#define BOX(image, label)                     \
        "[Container]\nImage=localhost/" image \
        "\nVolume=data.volume:/d\n\n# data.volume\n[Volume]\nLabel=" label "\n"

static void an_update_that_changes_a_volume_is_refused(void **state) {
        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "box.service", BOX("a:1", "x=1"))->status,
                         0);
        const Argosy__Response *r = rig_last(ask((RigRollout){UPDATE, "box.service", BOX("a:2", "x=2")}));
        assert_replies(r, EINVAL, "data.volume is not as it was");
        assert_true(rig_has_content(&g, "box.service", BOX("a:1", "x=1")));
}

static void a_second_update_is_refused_while_one_runs(void **state) {
        start_instances(N_UNITS, OLD);
        RigAnswer *a = begin((RigRollout){UPDATE, "web@.service", NEW});
        const Argosy__Response *r = rig_last(ask((RigRollout){UPDATE, "web@.service", BAD}));
        assert_replies(r, EEXIST, "it is being updated, 6 of 6 are left");
        assert_string_equal(why_of("web@.service"),
                            "it is being updated, 6 of 6 are left; 1 down or new, and 1 may be");
        RigAnswer *replace =
                rig_change_with(&g, START, "web@1.service", BAD, true, (const uint8_t[16]){200});
        rig_settle(&g);
        assert_int_equal(rig_last(replace)->change->units[0]->status, EEXIST);
        watch(a);
        assert_int_equal(count_running(NEW), N_UNITS);
}

static void its_owner_can_give_it_up(void **state) {
        start_instances(N_UNITS, OLD);
        RigAnswer *a = begin((RigRollout){UPDATE, "web@.service", NEW});
        rig_pass_ms(&g, 2 * (START_MS + HEALTH_MS));
        assert_int_equal(rig_last(ask((RigRollout){UPDATE, "web@.service", .abort = true}))->status, 0);
        watch(a);
        assert_replies(rig_last(a), EIO, "its owner gave it up");
        assert_int_equal(count_running(OLD), N_UNITS);
        assert_int_equal(rig_last(ask((RigRollout){UPDATE, "web@.service", .abort = true}))->status, ENOENT);
}

static unsigned count_restarts(void) {
        unsigned n = 0;

        for (uint32_t h = 1; h <= 3; h++)
                map_foreach (slot, &rig_host(&g, h)->virtual.units)
                        n += ((VirtualUnit *) slot->value)->restarts;
        return n;
}

// With nothing to wait for, and nothing is done: neither then nor later.
static void assert_over_at_once(const char *name, const char *content) {
        unsigned restarts = count_restarts(), batches;
        RigAnswer *a = begin((RigRollout){UPDATE, name, content});

        assert_final(a, 0);
        rig_pass_ms(&g, HEALTH_MS); // that the job has ended is in the log
        batches = g.batches;
        rig_pass_ms(&g, 10 * HEALTH_MS);
        assert_int_equal(g.batches, batches);
        assert_int_equal(count_restarts(), restarts);
}

static void an_update_to_the_file_that_all_have_is_over_at_once(void **state) {
        start_instances(N_UNITS, OLD);
        assert_over_at_once("web@.service", OLD);
        rig_host_report_and_settle(&g, rig_host(&g, 1), rig_unit_on(&g, 1, "web@1.service"),
                                   ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, ARGOSY__OUTCOME__KIND__NONE);
        assert_over_at_once("web@.service", OLD);
        assert_false(begin((RigRollout){UPDATE, "web@.service", NEW})->final);
}

static void whatever_became_of_a_unit_before_the_file_that_it_has_is_no_update(void **state) {
        rig_change(&g, ARGOSY__VERB__VERB_LOAD, "db.service", OLD);
        assert_over_at_once("db.service", OLD);
        rig_change(&g, START, "db.service", NULL);
        assert_over_at_once("db.service", OLD);
        rig_host_report_and_settle(&g, rig_host(&g, 1), rig_unit_on(&g, 1, "db.service"),
                                   ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, ARGOSY__OUTCOME__KIND__NONE);
        assert_int_equal(rig_last(ask((RigRollout){UPDATE, "db.service", OLD}))->change->units[0]->status,
                         EIO);
        assert_string_equal(
                rig_last(ask((RigRollout){UPDATE, "db.service", OLD}))->change->units[0]->message,
                "it has that file already, so nothing is started; db.service is not well (it failed), and "
                "`restart` tries again");
        assert_over_at_once("db.service", OLD);
        rig_host_report_and_settle(&g, rig_host(&g, 1), rig_unit_on(&g, 1, "db.service"),
                                   ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE, ARGOSY__OUTCOME__KIND__NONE);
        assert_over_at_once("db.service", OLD);
}

static void what_is_destroyed_on_the_way_holds_up_nothing(void **state) {
        start_instances(N_UNITS, OLD);
        RigAnswer *a = begin((RigRollout){UPDATE, "web@.service", NEW});
        rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "web@1.service", NULL);
        rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "web@4.service", NULL);
        watch(a);
        assert_int_equal(rig_last(a)->status, 0);
        assert_int_equal(count_running(NEW), N_UNITS - 2);
}

static void a_new_leader_goes_on(void **state) {
        uint64_t revision;

        start_instances(N_UNITS, OLD);
        revision = rig_last(ask((RigRollout){UPDATE, "web@.service", NEW}))->change->units[0]->revision;
        rig_pass_ms(&g, START_MS + HEALTH_MS + 500);
        rig_elect_anew(&g);
        RigAnswer *a = wait_for("web@.service", revision);
        assert_int_equal(watch(a), 1);
        assert_int_equal(rig_last(a)->status, 0);
        assert_int_equal(count_running(NEW), N_UNITS);
}

static void a_host_that_is_lost_uses_up_the_budget_until_its_units_run_elsewhere(void **state) {
        start_instances(N_UNITS, OLD);
        RigAnswer *a = begin((RigRollout){UPDATE, "web@.service", NEW});
        rig_host_off(&g, 3);
        for (unsigned i = 0; i < 1000 && !a->final; i++)
                rig_pass_ms(&g, 250);
        assert_final(a, 0);
        assert_int_equal(count_with(NEW, ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE) >= N_UNITS, 1);
}

static void what_is_no_template_of_ours_is_refused(void **state) {
        start_instances(2, OLD);
        assert_int_equal(rig_last(ask((RigRollout){UPDATE, "no@.service", NEW}))->status, ENOENT);
        assert_int_equal(rig_last(ask((RigRollout){UPDATE, "web@1.service", NEW}))->status, EINVAL);
        assert_int_equal(
                rig_last(ask((RigRollout){UPDATE, "web@.service", "[X-Argosy]\nNonsense=1\n"}))->status,
                EINVAL);
        assert_int_equal(rig_last(ask((RigRollout){UPDATE, "web@.service", NEW GLOBAL}))->status, EINVAL);
        assert_int_equal(
                rig_last(ask((RigRollout){UPDATE, "web@.service", NEW, .max = 101, .percent = true}))
                        ->status,
                EINVAL);
        assert_int_equal(count_running(OLD), 2);
}

static void a_unit_that_stands_alone_can_be_updated_too(void **state) {
        rig_change(&g, START, "db.service", OLD);
        g.start_ms = START_MS;
        RigAnswer *a = begin((RigRollout){UPDATE, "db.service", BAD});
        watch(a);
        assert_int_equal(rig_last(a)->status, EIO);
        assert_int_equal(count_running(OLD), 1);
        a = begin((RigRollout){UPDATE, "db.service", NEW});
        watch(a);
        assert_int_equal(rig_last(a)->status, 0);
        assert_int_equal(count_running(NEW), 1);
}

static RigAnswer *begin_to_update(const char *name, const char *content) {
        Argosy__NamedFile file = NAMED_FILE_OF(.name = (char *) name,
                                               .content = (ProtobufCBinaryData){.data = (uint8_t *) content,
                                                                                .len = strlen(content)});
        uint64_t id[2] = {++g.id, 78};
        Argosy__Request__Rollout m =
                ROLLOUT_OF(.id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)},
                           .kind = UPDATE, .name = (char *) name, .file = &file);

        return rig_ask(&g, A_REQUEST(ROLLOUT, rollout, &m));
}

// Its turn and the other one's start are in one entry.
static void what_no_node_takes_with_another_content_goes_on_conflicting(void **state) {
        rig_change(&g, START, "db.service", OLD "[X-Argosy]\nHost=n1\nConflicts=web.service\n");
        assert_int_equal(rig_record(&g, "db.service")->node, 1);
        g.slow = true;
        RigAnswer *update = begin_to_update("db.service", NEW "[X-Argosy]\nHost=nobody\n");
        rig_turns(&g, 4);
        RigAnswer *start =
                rig_change_with(&g, START, "web.service", OLD "[X-Argosy]\nHost=n1\n", false, NULL);
        rig_hurry_and_settle(&g);
        assert_int_equal(rig_last(update)->status, 0);
        assert_true(start->final);
        assert_int_equal(rig_record(&g, "db.service")->node, 1);
        assert_int_equal(rig_record(&g, "web.service")->node, 0);
}

// By whatever it was then: it is gone, or on all nodes. The next leader does not know who was of the group.
static void who_has_left_the_group_has_changed_it(void **state) {
        for (unsigned i = 0; i < 4; i++) {
                bool is_gone = i & 1, elect = i & 2;
                uint64_t seen, id[2] = {500 + i, 1};

                start_instances(3, OLD);
                seen = cluster_state_revision(g.state);
                if (is_gone)
                        (void) rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "web@1.service", NULL);
                else
                        (void) rig_change_with(&g, START, "web@1.service", OLD GLOBAL, true,
                                               (const uint8_t *) id);
                rig_settle(&g);
                if (elect && is_gone)
                        rig_elect_anew(&g);
                assert_int_equal(
                        rig_last(ask((RigRollout){RESTART, "web@.service", .if_revision = seen}))->status,
                        ESTALE);
                seen = cluster_state_revision(g.state);
                assert_int_equal(
                        rig_last(ask((RigRollout){RESTART, "web@.service", .if_revision = seen}))->status,
                        0);
                rig_pass_ms(&g, 60000);
                (void) rig_change_many(&g, ARGOSY__VERB__VERB_DESTROY, "web", 4, NULL);
                rig_settle(&g);
        }
}

// --------------------------------------------------------------------------------------------- global units

static void start_everywhere(void) {
        assert_int_equal(rig_change(&g, START, "all.service", OLD GLOBAL)->status, 0);
        assert_int_equal(count_running(OLD GLOBAL), 3);
        g.start_ms = START_MS;
}

static void a_global_unit_is_updated_node_by_node(void **state) {
        start_everywhere();
        RigAnswer *a = begin((RigRollout){UPDATE, "all.service", NEW GLOBAL});
        assert_int_equal(watch(a), 1);
        assert_int_equal(rig_last(a)->status, 0);
        assert_int_equal(count_running(NEW GLOBAL), 3);
        assert_true(rig_has_content(&g, "all.service", NEW GLOBAL));
        for (uint32_t h = 1; h <= 3; h++)
                assert_int_equal(rig_unit_on(&g, h, "all.service")->restarts, 1);
}

static void a_global_unit_that_has_the_file_is_left_alone(void **state) {
        start_everywhere();
        assert_over_at_once("all.service", OLD GLOBAL);
}

static void where_a_global_unit_is_down_already_it_has_its_turn_first(void **state) {
        start_everywhere();
        rig_host_report_and_settle(&g, rig_host(&g, 3), rig_unit_on(&g, 3, "all.service"),
                                   ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, ARGOSY__OUTCOME__KIND__NONE);
        RigAnswer *a = begin((RigRollout){UPDATE, "all.service", NEW GLOBAL});
        assert_int_equal(watch(a), 1);
        assert_int_equal(rig_last(a)->status, 0);
        assert_int_equal(count_running(NEW GLOBAL), 3);
}

// The end of a rollout is a revision more, which hosts answer later.
static void that_a_global_unit_is_not_well_is_known_before_hosts_answer_the_end_of_a_restart(void **state) {
        start_everywhere();
        for (uint32_t h = 1; h <= 3; h++)
                rig_host_report_and_settle(&g, rig_host(&g, h), rig_unit_on(&g, h, "all.service"),
                                           ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, ARGOSY__OUTCOME__KIND__NONE);
        for (uint32_t h = 1; h <= 3; h++)
                rig_host(&g, h)->lazy = true;
        RigAnswer *a = begin((RigRollout){RESTART, "all.service"});
        rig_pass_ms(&g, 2 * START_MS);
        rig_host_report_and_settle(&g, rig_host(&g, 1), rig_unit_on(&g, 1, "all.service"),
                                   ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, ARGOSY__OUTCOME__KIND__NONE);
        assert_int_equal(rig_last(a)->status, EIO);
        a = ask((RigRollout){UPDATE, "all.service", OLD GLOBAL});
        assert_int_equal(rig_last(a)->change->units[0]->status, EIO);
}

static void a_global_unit_goes_back_too(void **state) {
        g.bad = hash_of(BAD GLOBAL, strlen(BAD GLOBAL));
        start_everywhere();
        RigAnswer *a = begin((RigRollout){UPDATE, "all.service", BAD GLOBAL});
        assert_int_equal(watch(a), 1);
        assert_int_equal(rig_last(a)->status, EIO);
        assert_int_equal(count_running(OLD GLOBAL), 3);
        assert_true(rig_has_content(&g, "all.service", OLD GLOBAL));
}

static void a_global_unit_is_restarted_once_on_each_node(void **state) {
        start_everywhere();
        assert_int_equal(watch(begin((RigRollout){RESTART, "all.service"})), 1);
        for (uint32_t h = 1; h <= 3; h++)
                assert_int_equal(rig_unit_on(&g, h, "all.service")->restarts, 1);
}

static void under_a_new_leader_nodes_do_not_jump_to_the_new_content_at_once(void **state) {
        uint64_t revision;

        start_everywhere();
        revision =
                rig_last(ask((RigRollout){UPDATE, "all.service", NEW GLOBAL}))->change->units[0]->revision;
        rig_pass_ms(&g, START_MS + 500);
        rig_elect_anew(&g);
        assert_int_equal(count_running(NEW GLOBAL), 1);
        assert_int_equal(count_running(OLD GLOBAL), 2);
        assert_int_equal(watch(wait_for("all.service", revision)), 1);
        assert_int_equal(count_running(NEW GLOBAL), 3);
}

static void a_global_unit_that_is_destroyed_ends_its_rollout(void **state) {
        start_everywhere();
        RigAnswer *a = begin((RigRollout){UPDATE, "all.service", NEW GLOBAL});
        rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "all.service", NULL);
        watch(a);
        assert_int_equal(rig_last(a)->status, EIO);
        assert_string_equal(rig_last(a)->message, "the unit was destroyed; nothing more is changed");
        assert_null(rig_record(&g, "all.service"));
}

RUN_TESTS(
        RIG_TEST(of_one_that_is_not_kept_nobody_says_how_it_ended),
        RIG_TEST(a_file_of_one_instance_lets_no_more_of_them_be_down),
        RIG_TEST(of_several_files_of_instances_a_restart_keeps_to_the_strictest),
        RIG_TEST(an_update_goes_through_the_instances_one_by_one),
        RIG_TEST(what_systemd_restarts_by_itself_ends_the_way_forward),
        RIG_TEST(each_has_to_be_well_for_a_while_before_the_next),
        RIG_TEST(so_many_as_the_command_says_go_together),
        RIG_TEST(the_units_own_option_is_stricter_than_the_command),
        RIG_TEST(an_update_that_fails_goes_back),
        RIG_TEST(an_update_that_nothing_is_heard_of_goes_back),
        RIG_TEST(a_restart_goes_through_them_all_and_changes_nothing_else),
        RIG_TEST(of_a_unit_that_has_no_node_it_is_said_that_it_has_none),
        RIG_TEST(an_update_that_ties_units_to_each_other_is_refused),
        RIG_TEST(an_update_that_changes_a_volume_is_refused),
        RIG_TEST(a_second_update_is_refused_while_one_runs),
        RIG_TEST(its_owner_can_give_it_up),
        RIG_TEST(an_update_to_the_file_that_all_have_is_over_at_once),
        RIG_TEST(whatever_became_of_a_unit_before_the_file_that_it_has_is_no_update),
        RIG_TEST(what_is_destroyed_on_the_way_holds_up_nothing),
        RIG_TEST(a_new_leader_goes_on),
        RIG_TEST(a_host_that_has_not_told_everything_proves_nothing),
        RIG_TEST(a_gate_that_hosts_tell_the_time_of_goes_on_under_a_new_leader),
        RIG_TEST(a_long_gate_is_looked_at_with_the_first_beats_of_a_new_leader),
        RIG_TEST(a_host_that_is_lost_uses_up_the_budget_until_its_units_run_elsewhere),
        RIG_TEST(what_is_no_template_of_ours_is_refused),
        RIG_TEST(a_unit_that_stands_alone_can_be_updated_too),
        RIG_TEST(a_global_unit_is_updated_node_by_node),
        RIG_TEST(a_global_unit_that_has_the_file_is_left_alone),
        RIG_TEST(where_a_global_unit_is_down_already_it_has_its_turn_first),
        RIG_TEST(that_a_global_unit_is_not_well_is_known_before_hosts_answer_the_end_of_a_restart),
        RIG_TEST(a_global_unit_goes_back_too),
        RIG_TEST(a_global_unit_is_restarted_once_on_each_node),
        RIG_TEST(under_a_new_leader_nodes_do_not_jump_to_the_new_content_at_once),
        RIG_TEST(a_global_unit_that_is_destroyed_ends_its_rollout),
        RIG_TEST(what_no_node_takes_with_another_content_goes_on_conflicting),
        RIG_TEST(who_has_left_the_group_has_changed_it)
)
