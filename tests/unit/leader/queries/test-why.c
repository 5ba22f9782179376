// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Every reason that `why` knows, each brought about.
#include "leader-asks.h"
#include "leader-private.h"
#include "messages.h"
#include "printed.h"
#include "str.h"
#include "why.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define ON_SSD SERVICE "[X-Argosy]\nMachineMetadata=disk=ssd\n"
#define START ARGOSY__VERB__VERB_START

enum { MANY = 3000 };

RIG_OF(3)

static void assert_why(const char *unit, const char *node, const char *reason) {
        const Argosy__Response__Status *s = rig_why(&g, unit)->status_reply;

        assert_non_null(s);
        assert_string_equal(s->row->node, node);
        assert_string_equal(s->why, reason);
}

static void as_wanted(void **state) {
        rig_change(&g, START, "web.service", SERVICE);
        assert_why("web.service", "n1", "");
}

static void hear_of_a_pull(const char *name, const char *pull, uint64_t since_ms) {
        Argosy__UnitReport report = UNIT_REPORT_OF(.node = 1, .name = (char *) name, .pulling = true,
                                                   .pull = (char *) pull, .pull_ms = since_ms),
                           *reports = &report;
        Argosy__ToVoter__Reports m = MESSAGE_OF(to_voter__reports, .reports = &reports, .n_reports = 1);
        Argosy__ToVoter message = TO_VOTER_OF(REPORTS, reports, &m);

        leader_on_message(g.leader, 1, &message);
        rig_settle(&g);
}

static void its_image_is_pulled(void **state) {
        uint8_t id[16] = {7};

        host_find(g.leader, 1)->reported_ms = 200000; // so long it is up
        rig_set_lazy(&g, true);
        (void) rig_change_with_and_settle(&g, START, "web.service", SERVICE, false, id);
        hear_of_a_pull("web.service", "", 0);
        assert_why("web.service", "n1", "its image is being pulled");
        hear_of_a_pull("web.service", "reg.example/web, attempt 2; podman has said: no route", 75000);
        assert_why("web.service", "n1",
                   "its image is being pulled, for 125 s: reg.example/web, attempt 2; podman has said: no "
                   "route");
}

static void the_image_of_what_it_names_is_pulled(void **state) {
        uint8_t ids[3][16] = {{7}, {8}, {9}};

        rig_set_lazy(&g, true);
        (void) rig_change_with_and_settle(&g, START, "db.service", SERVICE, false, ids[0]);
        (void) rig_change_with_and_settle(&g, START, "app.service",
                                          "[Unit]\nAfter=x.target db.service\n" SERVICE
                                          "[X-Argosy]\nSameNodeAs=db.service\n",
                                          false, ids[1]);
        (void) rig_change_with_and_settle(&g, START, "other.service",
                                          SERVICE "[X-Argosy]\nSameNodeAs=db.service\n", false, ids[2]);
        hear_of_a_pull("db.service", "", 0);
        assert_why("app.service", "n1",
                   "it is being started as soon as db.service is there, whose image is being pulled");
        assert_why("other.service", "n1", "it is being started");
}

static void unknown_and_unwanted(void **state) {
        assert_int_equal(rig_why(&g, "web.service")->status, ENOENT);
        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "web.service", SERVICE);
        assert_why("web.service", "-", "nobody wants it loaded; `start` starts it");
}

static void nobody_takes_it(void **state) {
        rig_host_set_labels(&g, 2, "disk", "ssd");
        rig_host_off_for(&g, 2, 2 * RIG_LEASE_MS);
        rig_change(&g, START, "fast.service", ON_SSD);
        assert_why("fast.service", "-", "no node takes it at present");
        const Argosy__Response__Status *s = rig_why(&g, "fast.service")->status_reply;
        assert_int_equal(s->n_refusals, 3);
        assert_string_equal(s->refusals[0]->reason, "needs label disk=ssd, has no label disk");
        assert_string_equal(s->refusals[1]->reason, "the node is lost");
}

static void its_node_is_lost_or_to_be_emptied_and_nobody_else_takes_it(void **state) {
        rig_host_set_labels(&g, 2, "disk", "ssd");
        rig_change(&g, START, "fast.service", ON_SSD);
        (void) rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_DRAINING, 0, "");
        assert_why("fast.service", "n2", "n2 is to be emptied, and no other node takes it");
        (void) rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_OPEN, 0, "");
        assert_why("fast.service", "n2", "");
        rig_host_off_for(&g, 2, 2 * RIG_LEASE_MS);
        assert_why("fast.service", "n2", "n2 is lost, and no other node takes it");
}

#define MISMATCH(LACK)                                     \
        "its node does not match its file any more (" LACK \
        "); it stays there until `rebalance`, `drain` or `start` moves it"

static void its_node_does_not_match_any_more(void **state) {
        rig_label(&g, "n2", "disk", "ssd");
        rig_change(&g, START, "fast.service", ON_SSD);
        rig_change(&g, START, "other.service", SERVICE);
        assert_why("fast.service", "n2", "");
        rig_label(&g, "n2", "disk", NULL);
        assert_why("fast.service", "n2", MISMATCH("needs label disk=ssd, has no label disk"));
        assert_string_equal(rig_why(&g, "fast.service")->status_reply->row->note, "mismatch");
        assert_why("other.service", "n1", "");
        rig_label(&g, "n3", "disk", "ssd"); // it may run there, and is not moved by that
        (void) rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_CORDONED, 0, "");
        (void) rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_OPEN, 0, "");
        assert_why("fast.service", "n2", MISMATCH("needs label disk=ssd, has no label disk"));
        rig_label(&g, "n2", "disk", "ssd");
        assert_why("fast.service", "n2", "");
        assert_string_equal(rig_why(&g, "fast.service")->status_reply->row->note, "");
        rig_label(&g, "n2", "disk", NULL);
        (void) rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_DRAINING, 0, "");
        assert_why("fast.service", "n3", "");
}

static void a_drain_that_could_not_empty_it_and_ended_moves_it_no_more(void **state) {
        rig_label(&g, "n2", "disk", "ssd");
        rig_change(&g, START, "fast.service", ON_SSD);
        rig_label(&g, "n2", "disk", NULL);
        (void) rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_DRAINING, 0, "");
        assert_why("fast.service", "n2", "n2 is to be emptied, and no other node takes it");
        (void) rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_OPEN, 0, "");
        assert_why("fast.service", "n2", MISMATCH("needs label disk=ssd, has no label disk"));
        rig_label(&g, "n3", "disk", "ssd");
        assert_why("fast.service", "n2", MISMATCH("needs label disk=ssd, has no label disk"));
}

static void so_many_are_lost_that_nothing_is_moved(void **state) {
        g.leader->config.mass_loss_percent = 50;
        for (int i = 0; i < 3; i++)
                rig_change(&g, START, (const char *[]){"a.service", "b.service", "c.service"}[i], SERVICE);
        rig_host_off(&g, 2);
        rig_host_off_for(&g, 3, 2 * RIG_LEASE_MS);
        assert_why(
                "c.service", "n3",
                "its node is lost together with so many others that nothing is moved (see MassLossPercent= "
                "in argosy.conf(5))");
        assert_why("a.service", "n1", "");
}

// What it said of its units before may not be so any more: `status` says the same.
static void its_manager_cannot_be_used(void **state) {
        rig_host_set_manager(&g, 2, "user@1000");
        rig_change(&g, START, "mine.service", SERVICE "[X-Argosy]\nManager=user@*\n");
        rig_host_send_reason(&g, 2, "the user is not logged in");
        assert_why("mine.service", "n2/user@1000", "the user is not logged in");
        rig_host_send_reason(&g, 2, NULL);
        assert_why("mine.service", "n2/user@1000", "");
}

static void it_waits_for_its_end_elsewhere(void **state) {
        rig_change(&g, START, "web.service", SERVICE);
        rig_host(&g, 1)->deaf = true;
        (void) rig_set_mode(&g, "n1", ARGOSY__NODE_MODE__MODE_DRAINING, 0, "");
        assert_why("web.service", "n2", "it waits until it has ended on n1");
}

static void the_node_is_at_it(void **state) {
        rig_host(&g, 1)->deaf = true;
        rig_change(&g, START, "web.service", SERVICE);
        assert_why("web.service", "n1", "it is being started");
}

static void what_systemd_says(void **state) {
        RigHost *h = rig_host(&g, 1);

        rig_change(&g, START, "web.service", SERVICE);
        rig_host_report_and_settle(&g, h, rig_unit_on(&g, 1, "web.service"),
                                   ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, ARGOSY__OUTCOME__KIND__NONE);
        assert_why("web.service", "n1", "it failed (systemd does not say why)");
        rig_host_report_and_settle(&g, h, rig_unit_on(&g, 1, "web.service"),
                                   ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE, ARGOSY__OUTCOME__KIND__NONE);
        assert_why("web.service", "n1", "it ended by itself");
        rig_host_report_and_settle(&g, h, rig_unit_on(&g, 1, "web.service"),
                                   ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE, ARGOSY__OUTCOME__KIND__DONE);
        assert_why("web.service", "n1", ""); // as wanted
        assert_string_equal(rig_why(&g, "web.service")->status_reply->note,
                            "it has finished; `start` runs it again");
}

// ------------------------------------------------------------------------------------------------ by node

static void assert_among(Argosy__Refusal *const *refusals, size_t n, const char *node, const char *reason) {
        for (size_t i = 0; i < n; i++)
                if (strcmp(refusals[i]->node, node) == 0) {
                        assert_string_equal(refusals[i]->reason, reason);
                        return;
                }
        fail_msg("nothing is said of %s, which is to say: %s", node, reason);
}

// Whatever else the answer says, this is what it says of that node.
static void assert_refusal(const char *unit, const char *node, const char *reason) {
        const Argosy__Response__Status *s = rig_why(&g, unit)->status_reply;

        assert_non_null(s);
        assert_among(s->refusals, s->n_refusals, node, reason);
}

#define NOWHERE "RequireLabel=nowhere\n"

// Node 1 has disk=hdd, db and its enemies; node 2 has disk=ssd and rack=r1, is in a pool and offers a gpu;
// node 3 has nothing.
static const struct Refused {
        const char *options, *node, *reason;
} refused[] = {
        {"RequireLabel=zone\n", "n1", "needs label zone, has no label zone"},
        {"RequireLabel=!disk\n" NOWHERE, "n2", "needs no label disk, has disk=ssd"},
        {"RequireLabel=disk!=ssd\n" NOWHERE, "n2", "needs label disk!=ssd, has disk=ssd"},
        {"RequireLabel=disk=nvme|tape\n", "n1", "needs label disk=nvme or tape, has disk=hdd"},
        {"RequireLabel=disk=nvme|tape\n", "n3", "needs label disk=nvme or tape, has no label disk"},
        {"MachineMetadata=rack=r7\n", "n2", "needs label rack=r7, has rack=r1"},
        {"MachineID=00000000000000000000000000000042\n", "n1", "MachineID= names another machine"},
        {"Host=n9\n", "n1", "Host= names other hosts"},
        {"Manager=user@7\n", "n1", "Manager= names other managers"},
        {"Host=n1\nConflicts=db*\n", "n1", "conflicts with db.service there (Conflicts=db*)"},
        {"Host=n1\n", "n1", "enemy.service there conflicts with it (Conflicts=late*)"},
        {"Host=n2\nReserveResource=gpu:2\n", "n2", "needs 2 gpu, 1 of 1 is free"},
        {"Host=n2\nReserveMemory=900G\n", "n2", "needs 900G of memory, has none"},
        {"Pool=fast slow\n", "n2", "needs pool fast or slow, is in pool gold"},
        {"Pool=fast\n", "n1", "needs pool fast, is in no pool"},
        {"Host=n2\nSameNodeAs=db.service\n", "n2", "is to be where db.service is, which is not there"},
};

// `start` says it at once, and `why` later, if the unit is kept although no node can ever have it as things
// are.
static void each_demand_that_a_node_does_not_meet(void **state) {
        (void) rig_label(&g, "n1", "disk", "hdd");
        (void) rig_label(&g, "n2", "disk", "ssd");
        (void) rig_label(&g, "n2", "rack", "r1");
        (void) rig_label(&g, "n2", "offers/gpu", "1");
        (void) rig_label(&g, "n2", "pool", "gold");
        rig_change(&g, START, "db.service", SERVICE "[X-Argosy]\nHost=n1\n");
        rig_change(&g, START, "enemy.service", SERVICE "[X-Argosy]\nHost=n1\nConflicts=late*\n");
        for (size_t i = 0; i < ELEMENTSOF(refused); i++) {
                const Argosy__Response__UnitResult *r = rig_change(
                        &g, START, "late.service", printed(SERVICE "[X-Argosy]\n%s", refused[i].options));

                assert_among(r->refusals, r->n_refusals, refused[i].node, refused[i].reason);
                if (!rig_record(&g, "late.service"))
                        continue;
                assert_refusal("late.service", refused[i].node, refused[i].reason);
                rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "late.service", NULL);
        }
}

static void its_group_is_to_be_spread(void **state) {
        static const char content[] = SERVICE "[X-Argosy]\nSpreadOver=rack\nReserveResource=gpu\n";

        (void) rig_label(&g, "n1", "rack", "a");
        (void) rig_label(&g, "n2", "rack", "b");
        (void) rig_label(&g, "n1", "offers/gpu", "9");
        (void) rig_label(&g, "n2", "offers/gpu", "1");
        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "w@.service", content);
        for (unsigned i = 1; i <= 4; i++) {
                rig_change(&g, START, printed("w@%u.service", i), NULL);
        }
        assert_refusal("w@4.service", "n1", "rack has 2 of its group there already, another has 1");
        assert_refusal("w@4.service", "n2", "needs 1 gpu, 0 of 1 are free");
        assert_refusal("w@4.service", "n3", "needs label rack, has no label rack");
}

// The last that it says when its machine shuts down, after its units.
static void end_argosyd(uint32_t host) {
        Argosy__ToVoter__Goodbye goodbye =
                MESSAGE_OF(to_voter__goodbye, .why = ARGOSY__TO_VOTER__GOODBYE__WHY__SHUTDOWN);

        leader_on_message(g.leader, host, A_TO_VOTER(GOODBYE, goodbye, &goodbye));
        rig_settle(&g);
}

static void each_state_of_a_node(void **state) {
        (void) rig_set_mode(&g, "n1", ARGOSY__NODE_MODE__MODE_CORDONED, 0, "");
        (void) rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_DRAINING, 0, "new disks");
        (void) rig_set_mode(&g, "n3", ARGOSY__NODE_MODE__MODE_MAINTENANCE, 0, "");
        rig_change(&g, START, "web.service", SERVICE);
        assert_refusal("web.service", "n1", "the node is cordoned");
        assert_refusal("web.service", "n2", "the node is being drained: new disks");
        assert_refusal("web.service", "n3", "the node is in maintenance");
        rig_host_off_for(&g, 2, RIG_LEASE_MS * 3 / 4);
        assert_refusal("web.service", "n2", "the node has not been heard of for a while");
        rig_pass_ms(&g, RIG_LEASE_MS);
        assert_refusal("web.service", "n2", "the node is lost");
        rig_host_goodbye(&g, 3);
        rig_settle(&g);
        assert_refusal("web.service", "n3", "the node is shutting down");
        end_argosyd(3);
        assert_refusal("web.service", "n3", "the node is shut down");
}

static void its_name_belongs_to_somebody_else(void **state) {
        for (uint32_t i = 1; i <= 3; i++)
                rig_host(&g, i)->refuses = true;
        rig_change(&g, START, "web.service", SERVICE);
        rig_settle(&g);
        for (unsigned i = 1; i <= 3; i++) {
                assert_refusal("web.service", printed("n%u", i),
                               "/etc/systemd/system has a unit of this name");
        }
}

// ---------------------------------------------------------------------------------------------- on its node

static char *reported_error, *reported_result; // NULL: none

static void report(Argosy__ActiveState active, const char *sub, Argosy__DownCause down, const char *by,
                   bool stale) {
        Argosy__ToVoter__Reports reports = ARGOSY__TO_VOTER__REPORTS__INIT;
        VirtualUnit *u = rig_unit_on(&g, 1, "web.service");
        Argosy__UnitReport r = UNIT_REPORT_OF(.node = u->order.node, .name = u->name,
                                              .spec = (ProtobufCBinaryData){HASH_SIZE, u->order.spec.bytes},
                                              .revision = u->order.revision,
                                              .load = ARGOSY__LOAD_STATE__LOAD_LOADED, .active = active,
                                              .sub = (char *) sub, .down = down, .down_by = (char *) by,
                                              .file_stale = stale),
                           *list = &r;
        Argosy__ToVoter m = TO_VOTER_OF(REPORTS, reports, &reports);

        if (reported_error)
                r.error = reported_error;
        if (reported_result)
                r.result = reported_result;
        reports.reports = &list;
        reports.n_reports = 1;
        leader_on_message(g.leader, 1, &m);
        rig_settle(&g);
}

static void assert_missing(char *error, const char *unit, const char *reason) {
        reported_error = error;
        report(ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE, "dead", ARGOSY__DOWN_CAUSE__DOWN_NOT, "", false);
        assert_why(unit, "n1", reason);
        reported_error = NULL;
}

static void what_systemd_does_not_find_may_be_elsewhere(void **state) {
        static char error[] = "start was refused by systemd: Unit db.service not found.";

        rig_change(&g, START, "web.service", SERVICE "[X-Argosy]\nHost=n1\n");
        assert_missing(error, "web.service",
                       "start was refused by systemd: Unit db.service not found; neither the node nor the "
                       "cluster has "
                       "db.service");
        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "db.service", SERVICE "[X-Argosy]\nHost=n2\n");
        assert_missing(
                error, "web.service",
                "start was refused by systemd: Unit db.service not found; the cluster has db.service, which "
                "is "
                "not loaded; load or start it: `SameNodeAs=db.service` in [X-Argosy] has both on one node; "
                "`Requires=db.service` there, instead of in [Unit], holds across nodes");
        rig_change(&g, START, "db.service", SERVICE);
        assert_missing(
                error, "web.service",
                "start was refused by systemd: Unit db.service not found; db.service is on n2: "
                "`SameNodeAs=db.service` in [X-Argosy] has both on one node; `Requires=db.service` there, "
                "instead of in [Unit], holds across nodes");
        assert_missing((char[]){"the name belongs to somebody else on this node: /etc/web.service"},
                       "web.service", "the name belongs to somebody else on this node: /etc/web.service");
        assert_missing((char[]) {"Unit  not found. Unit"}, "web.service", "Unit  not found. Unit");
}

static void what_it_does_there(void **state) {
        rig_change(&g, START, "web.service", SERVICE);
        report(ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING, "start-pre", ARGOSY__DOWN_CAUSE__DOWN_NOT, "",
               false);
        assert_why("web.service", "n1", "it is activating (start-pre)");
        reported_result = (char[]) {"exit-code"};
        report(ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING, "auto-restart", ARGOSY__DOWN_CAUSE__DOWN_NOT, "",
               false);
        assert_why("web.service", "n1",
                   "it failed (exit-code), and waits until systemd starts it again (auto-restart)");
        reported_result = NULL;
        report(ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING, "auto-restart", ARGOSY__DOWN_CAUSE__DOWN_NOT, "",
               false);
        assert_why("web.service", "n1", "it is activating (auto-restart)");
        report(ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE, "running", ARGOSY__DOWN_CAUSE__DOWN_NOT, "", true);
        assert_why("web.service", "n1", "its file is newer than what runs; `restart` takes it up at once");
}

static void assert_down(Argosy__DownCause cause, const char *by, const char *why, const char *note) {
        report(ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE, "dead", cause, by, false);
        assert_why("web.service", "n1", why);
        const Argosy__Response__Status *s = rig_why(&g, "web.service")->status_reply;
        assert_string_equal(s->row->note, note);
        assert_int_equal(s->row->drift, cause == ARGOSY__DOWN_CAUSE__DOWN_STOPPED);
}

static void what_took_it_down_there(void **state) {
        rig_change(&g, START, "web.service", SERVICE);
        assert_down(ARGOSY__DOWN_CAUSE__DOWN_STOPPED, "",
                    "somebody stopped it there without argosy (systemctl stop, kill or isolate); `start` "
                    "starts it again",
                    "drift");
        assert_down(ARGOSY__DOWN_CAUSE__DOWN_SKIPPED, "ConditionPathExists=/x",
                    "systemd skipped its start: ConditionPathExists=/x is not met", "skipped");
        assert_down(ARGOSY__DOWN_CAUSE__DOWN_ENDED, "", "it ended by itself; `start` starts it again",
                    "ended");
        assert_down(ARGOSY__DOWN_CAUSE__DOWN_BOUND, "",
                    "it was stopped with a unit that it is bound to; `start` starts it again", "bound");
        assert_down(ARGOSY__DOWN_CAUSE__DOWN_CONFLICT, "db.service",
                    "systemd stopped it when db.service was started, which conflicts with it; `start` "
                    "starts it again",
                    "conflict");
        assert_down(ARGOSY__DOWN_CAUSE__DOWN_UNNEEDED, "",
                    "it was stopped, as systemd does when no unit needs it (StopWhenUnneeded=); `start` "
                    "starts it again",
                    "unneeded");
        assert_down(ARGOSY__DOWN_CAUSE__DOWN_RESET, "",
                    "it failed, and somebody has reset that (reset-failed); `start` starts it again",
                    "reset");
}

static void on_answer(const Argosy__Response *r, void *userdata) {
        if (!r->final)
                *(char **) userdata = strdup(r->status_reply->why);
}

static void nobody_leads(void **state) {
        _cleanup_free_ char *response = NULL;
        char *name = "web.service";
        uint64_t cancel;

        rig_change(&g, START, name, SERVICE);
        rig_depose(&g);
        Argosy__Request__Why names = MESSAGE_OF(request__why, .names = &name, .n_names = 1);
        leader_answer_stale(g.leader, NULL, A_REQUEST(WHY, why, &names), on_answer, &response, &cancel);
        assert_string_equal(response, "there is no leader who could tell");
        rig_elect(&g);
}

static void a_rollout_is_on_its_way(void **state) {
        static const char changed[] = SERVICE "Environment=A=1\n";
        RigRollout w = {ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE, "web@.service", changed, .health_ms = 5000};

        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "web@.service", SERVICE);
        rig_change(&g, START, "web@1.service", NULL);
        rig_change(&g, START, "web@2.service", NULL);
        g.start_ms = 1000;
        (void) rig_rollout(&g, w);
        assert_why("web@.service", "-", "it is being updated, 2 of 2 are left; 1 down or new, and 1 may be");
        rig_pass_ms(&g, 2000);
        w.abort = true;
        (void) rig_rollout(&g, w);
        assert_why("web@.service", "-",
                   "it goes back to the content of before, 1 of 2 are left; 1 down or new, and 1 may be "
                   "(its owner gave it up)");
        rig_pass_ms(&g, 5000);
        w = (RigRollout){ARGOSY__ROLLOUT_KIND__ROLLOUT_RESTART, "web@.service", .health_ms = 5000};
        (void) rig_rollout(&g, w);
        assert_why("web@.service", "-",
                   "it is being restarted, 2 of 2 are left; 1 down or new, and 1 may be");
}

// ------------------------------------------------------------------------------------------------ thousands

// Names of units that wait, and behind them one that there is not.
static char **names_of_many(void) {
        static char text[MANY + 1][32], *names[MANY + 1];

        for (size_t i = 0; i <= MANY; i++) {
                str_fit(text[i], sizeof(text[i]), "w@%zu.service", i);
                names[i] = text[i];
        }
        return names;
}

static RigAnswer *ask_about(size_t n) {
        Argosy__Request__Why why = MESSAGE_OF(request__why, .names = names_of_many(), .n_names = n);

        return rig_ask(&g, A_REQUEST(WHY, why, &why));
}

static void assert_told_of_many(const RigAnswer *a) {
        char **names = names_of_many();

        assert_true(a->final);
        assert_int_equal(a->n, MANY + 2);
        for (size_t i = 0; i < MANY; i++) {
                const Argosy__Response__Status *s = a->responses[i]->status_reply;

                assert_non_null(s);
                assert_string_equal(s->row->unit, names[i]);
                assert_int_equal(s->number, i + 1);
                assert_int_equal(s->n_refusals, 3);
        }
        assert_int_equal(a->responses[MANY]->status, ENOENT);
}

static void many_wait(void) {
        rig_host_set_labels(&g, 2, "disk", "ssd");
        rig_host_off_for(&g, 2, 2 * RIG_LEASE_MS);
        (void) rig_change_many(&g, START, "w", MANY, ON_SSD);
        rig_settle(&g);
}

// What was looked at since the last call.
static uint64_t n_looks(void) {
        static uint64_t before;
        uint64_t n = g.leader->n_why_looks - before;

        before += n;
        return n;
}

static uint64_t most_looks; // in a turn

static void on_turn(Rig *rig) {
        uint64_t n = n_looks();

        most_looks = MAX_OF(most_looks, n);
}

static void a_turn_explains_some_of_thousands(void **state) {
        size_t turns = 0;

        many_wait();
        (void) n_looks();
        most_looks = 0;
        g.on_turn = on_turn;
        RigAnswer *a = ask_about(MANY + 1);
        assert_true(ask_about(1)->final); // at once, whoever else asks
        (void) n_looks();
        for (size_t n = a->n; !a->final; turns++) {
                rig_turns(&g, 1);
                assert_true(a->n > n && a->n - n <= LEADER_LIMIT_why_looks / 3 + 1);
                n = a->n;
        }
        g.on_turn = NULL;
        assert_in_range(most_looks, 1, LEADER_LIMIT_why_looks + WHY_LOOKS_OF_UNIT + 3);
        assert_true(turns > MANY / LEADER_LIMIT_why_looks);
        assert_told_of_many(a);
}

static void each_of_those_who_ask_about_thousands_goes_on(void **state) {
        many_wait();
        RigAnswer *a = ask_about(MANY + 1);
        RigAnswer *b = ask_about(MANY + 1);
        rig_turns(&g, 2);
        assert_true(a->n > 0 && b->n > 0 && !a->final && !b->final);
        leader_cancel(g.leader, a->cancel);
        rig_settle(&g);
        assert_false(a->final);
        assert_told_of_many(b);
        assert_true(list_is_empty(&g.leader->whys_due));
}

// On a slow link nothing more is made, and others go on.
static void one_that_takes_no_more_holds_up_nobody(void **state) {
        Argosy__Author far = AUTHOR_OF(.host = 3, .owner = true);
        size_t n;

        many_wait();
        g.author = &far;
        RigAnswer *a = ask_about(MANY + 1);
        g.author = NULL;
        rig_host(&g, 3)->full = true;
        RigAnswer *b = ask_about(MANY + 1);
        rig_turns(&g, 2);
        n = a->n;
        rig_settle(&g);
        assert_told_of_many(b);
        assert_int_equal(a->n, n);
        rig_host_drain(&g, 3);
        assert_told_of_many(a);
}

static void who_does_not_lead_any_more_says_so(void **state) {
        many_wait();
        RigAnswer *a = ask_about(MANY + 1);
        rig_turns(&g, 2);
        assert_false(a->final);
        leader_set_leading(g.leader, false, 0);
        assert_final(a, EAGAIN);
        assert_true(list_is_empty(&g.leader->whys_due));
}

RUN_TESTS(RIG_TEST(as_wanted), RIG_TEST(its_image_is_pulled),
          RIG_TEST(the_image_of_what_it_names_is_pulled), RIG_TEST(unknown_and_unwanted),
          RIG_TEST(nobody_takes_it), RIG_TEST(its_node_is_lost_or_to_be_emptied_and_nobody_else_takes_it),
          RIG_TEST(its_node_does_not_match_any_more),
          RIG_TEST(a_drain_that_could_not_empty_it_and_ended_moves_it_no_more),
          RIG_TEST(so_many_are_lost_that_nothing_is_moved), RIG_TEST(its_manager_cannot_be_used),
          RIG_TEST(it_waits_for_its_end_elsewhere), RIG_TEST(the_node_is_at_it), RIG_TEST(what_systemd_says),
          RIG_TEST(each_demand_that_a_node_does_not_meet), RIG_TEST(its_group_is_to_be_spread),
          RIG_TEST(each_state_of_a_node), RIG_TEST(its_name_belongs_to_somebody_else),
          RIG_TEST(what_systemd_does_not_find_may_be_elsewhere), RIG_TEST(what_it_does_there),
          RIG_TEST(what_took_it_down_there), RIG_TEST(nobody_leads), RIG_TEST(a_rollout_is_on_its_way),
          RIG_TEST(a_turn_explains_some_of_thousands),
          RIG_TEST(each_of_those_who_ask_about_thousands_goes_on),
          RIG_TEST(one_that_takes_no_more_holds_up_nobody), RIG_TEST(who_does_not_lead_any_more_says_so))
