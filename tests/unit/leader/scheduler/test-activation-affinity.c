// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Timers, sockets and paths, and what they activate: loaded together, on one node, wherever that is.
#include "leader-asks.h"
#include "leader-rig.h"
#include "printed.h"
#include "test.h"
#include "messages.h"
#include "str.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define ONE_SHOT "[Service]\nType=oneshot\nExecStart=/bin/true\n"
#define ON_SSD "[X-Argosy]\nMachineMetadata=disk=ssd\n"
#define TIMER "[Timer]\nOnActiveSec=1h\n"
#define SUBMIT ARGOSY__VERB__VERB_SUBMIT
#define LOAD ARGOSY__VERB__VERB_LOAD
#define START ARGOSY__VERB__VERB_START
#define STOP ARGOSY__VERB__VERB_STOP
#define LOADED ARGOSY__TARGET__TARGET_LOADED
#define LAUNCHED ARGOSY__TARGET__TARGET_LAUNCHED

RIG_OF(3)

// "LOADED NODE" of a unit that is not inactive.
static uint32_t node_of(const char *name, Argosy__Target target) {
        const Argosy__UnitRecord *r = rig_record(&g, name);

        assert_non_null(r);
        assert_int_equal(r->target, target);
        assert_int_not_equal(r->node, 0);
        return r->node;
}

static void change(Argosy__Verb verb, const char *name, const char *content, const char *says) {
        const Argosy__Response__UnitResult *r = rig_change(&g, verb, name, content);

        assert_int_equal(r->status, 0);
        assert_string_equal(r->message, says);
}

// Makes its node the last one that a unit of its own would get.
static void fill_node_of(const char *mate) {
        static unsigned n;
        uint32_t node = rig_record(&g, mate)->node;

        for (uint32_t i = 1; i <= 3; i++)
                rig_host_set_labels(&g, i, "full", rig_host(&g, i)->virtual.node == node ? "yes" : "no");
        rig_settle(&g);
        for (int i = 0; i < 20; i++) {
                change(START, printed("fill-%u.service", n++),
                       SERVICE "[X-Argosy]\nMachineMetadata=full=yes\n", "");
        }
}

static void a_timer_brings_its_service_along(void **state) {
        change(SUBMIT, "job.service", ONE_SHOT, "");
        change(START, "job.timer", TIMER, "");
        assert_int_equal(node_of("job.service", LOADED), node_of("job.timer", LAUNCHED));
        assert_int_equal(rig_record(&g, "job.service")->start_rev, 0);
}

static void whoever_comes_second_goes_where_the_first_is(void **state) {
        static const char *const types[] = {"timer", "socket", "path"};

        for (size_t i = 0; i < ELEMENTSOF(types); i++) {
                char activator[32], service[32];

                snprintf(activator, sizeof(activator), "a%zu.%s", i, types[i]);
                snprintf(service, sizeof(service), "a%zu.service", i);
                change(START, activator, "[Unit]\nDescription=x\n", "");
                fill_node_of(activator);
                change(LOAD, service, SERVICE, "");
                assert_int_equal(node_of(service, LOADED), node_of(activator, LAUNCHED));

                snprintf(activator, sizeof(activator), "b%zu.%s", i, types[i]);
                snprintf(service, sizeof(service), "b%zu.service", i);
                change(START, service, SERVICE, "");
                fill_node_of(service);
                change(START, activator, "[Unit]\nDescription=x\n", "");
                assert_int_equal(node_of(service, LAUNCHED), node_of(activator, LAUNCHED));
        }
}

static void an_activator_does_not_begin_beside_who_is_in_conflict_with_it(void **state) {
        static const char enemy[] = SERVICE "[X-Argosy]\nHost=n1\nConflicts=job.timer\n";

        change(START, "job.service", SERVICE "[X-Argosy]\nHost=n1\n", "");
        change(START, "enemy.service", enemy, "");
        assert_int_equal(node_of("enemy.service", LAUNCHED), node_of("job.service", LAUNCHED));
        assert_int_equal(rig_change(&g, START, "job.timer", TIMER)->status, 0);
        assert_int_not_equal(node_of("job.timer", LAUNCHED), node_of("enemy.service", LAUNCHED));
}

// It would drive its activator away, follow it, and so on for ever.
static void a_service_does_not_follow_an_activator_that_it_replaces(void **state) {
        uint32_t path, service;

        change(START, "job.path", "[Path]\nPathExists=/run/box\n", "");
        change(LOAD, "job.service", SERVICE "[X-Argosy]\nReplaces=job.path\n", "");
        rig_settle(&g);
        path = node_of("job.path", LAUNCHED);
        service = node_of("job.service", LOADED);
        assert_int_not_equal(service, path);
        rig_elect_anew(&g);
        rig_settle(&g);
        assert_int_equal(node_of("job.path", LAUNCHED), path);
        assert_int_equal(node_of("job.service", LOADED), service);
}

// What is given a node counts there before others have their turn in the same entry; else both would come,
// and have to leave again, and so on for ever.
static void who_waits_is_not_placed_beside_who_follows_its_activator_meanwhile(void **state) {
        static const char first[] = SERVICE "[X-Argosy]\nHost=n1\nConflicts=job.service rival.service\n",
                          rival[] = SERVICE "[X-Argosy]\nHost=n1\nConflicts=job.service\n";

        change(START, "first.service", first, "");
        change(START, "job.timer", TIMER "[X-Argosy]\nHost=n1\n", "");
        (void) rig_change(&g, START, "job.service", SERVICE "[X-Argosy]\nHost=n1\n");
        (void) rig_change(&g, START, "rival.service", rival);
        assert_int_equal(rig_record(&g, "job.service")->node, 0);
        assert_int_equal(rig_record(&g, "rival.service")->node, 0);
        change(ARGOSY__VERB__VERB_DESTROY, "first.service", NULL, "");
        rig_settle(&g);
        (void) node_of("job.service", LAUNCHED);
        assert_int_equal(rig_record(&g, "rival.service")->node, 0);
}

static void nobody_follows_where_no_units_are_taken_or_there_is_no_room(void **state) {
        for (uint32_t i = 1; i <= 3; i++) {
                rig_host(&g, i)->cpu_milli = 1000;
                rig_host(&g, i)->attached = false;
        }
        rig_settle(&g);
        change(START, "full.timer", TIMER "[X-Argosy]\nHost=n1\n", "");
        change(START, "other.service", SERVICE "[X-Argosy]\nHost=n1\nReserveCPU=0.8\n", "");
        (void) rig_change(&g, START, "full.service", SERVICE "[X-Argosy]\nReserveCPU=0.5\n");
        assert_int_not_equal(node_of("full.service", LAUNCHED), node_of("full.timer", LAUNCHED));

        change(START, "shut.timer", TIMER "[X-Argosy]\nHost=n2\n", "");
        (void) rig_set_host_mode(&g, 2, ARGOSY__NODE_MODE__MODE_CORDONED, 0);
        assert_int_equal(rig_change(&g, START, "shut.service", SERVICE)->status, 0);
        assert_int_not_equal(node_of("shut.service", LAUNCHED), node_of("shut.timer", LAUNCHED));
}

static void who_follows_takes_its_room_before_others_that_wait(void **state) {
        static const char service[] = SERVICE "[X-Argosy]\nHost=n1\nReserveCPU=0.6\n";

        rig_host(&g, 1)->cpu_milli = 1000;
        rig_host(&g, 1)->attached = false;
        rig_settle(&g);
        change(START, "job.service", SERVICE "[X-Argosy]\nHost=n1\n", "");
        change(START, "full.service", service, "");
        (void) rig_change(&g, START, "other.service", service);
        (void) rig_change(&g, START, "job.timer", TIMER "[X-Argosy]\nHost=n1\nReserveCPU=0.6\n");
        assert_int_equal(rig_record(&g, "other.service")->node, 0);
        assert_int_equal(rig_record(&g, "job.timer")->node, 0);

        change(ARGOSY__VERB__VERB_UNLOAD, "full.service", NULL, "");
        assert_int_equal(node_of("job.timer", LAUNCHED), node_of("job.service", LAUNCHED));
        assert_int_equal(rig_record(&g, "other.service")->node, 0);
}

static void the_service_of_another_name_follows_too(void **state) {
        change(START, "night.timer", "[Timer]\nUnit=z-backup.service\n", "");
        fill_node_of("night.timer");
        change(START, "z-backup.service", SERVICE, "");
        assert_int_equal(node_of("z-backup.service", LAUNCHED), node_of("night.timer", LAUNCHED));
}

static void a_timer_goes_where_its_service_must_be(void **state) {
        rig_host_set_labels(&g, 3, "disk", "ssd");
        change(SUBMIT, "job.service", ONE_SHOT ON_SSD, "");
        change(START, "job.timer", TIMER, "");
        assert_int_equal(node_of("job.service", LOADED), rig_host(&g, 3)->virtual.node);
        assert_int_equal(node_of("job.timer", LAUNCHED), rig_host(&g, 3)->virtual.node);
}

static void they_move_together(void **state) {
        change(START, "first.service", SERVICE, ""); // on the leader's own host
        change(SUBMIT, "job.service", ONE_SHOT, "");
        change(SUBMIT, "z.service", SERVICE, "");
        change(START, "job.timer", TIMER, "");
        change(START, "a.timer", "[Timer]\nUnit=z.service\n", "");
        uint32_t before = node_of("job.timer", LAUNCHED);
        change(START, "job.service", NULL, ""); // runs by itself once, and is done
        rig_host_report_and_settle(&g, rig_host(&g, 2), rig_unit_on(&g, 2, "job.service"),
                                   ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE, ARGOSY__OUTCOME__KIND__DONE);
        assert_int_equal(before, rig_host(&g, 2)->virtual.node);
        rig_host_off_for(&g, 2, 3 * RIG_LEASE_MS);
        rig_settle(&g);
        uint32_t after = node_of("job.timer", LAUNCHED);
        assert_int_not_equal(after, before);
        assert_int_equal(node_of("job.service", LAUNCHED), after); // its file is needed there; it is not run
        assert_int_equal(rig_unit_on(&g, after, "job.service")->starts, 0);
        assert_int_equal(node_of("z.service", LOADED), node_of("a.timer", LAUNCHED));
}

// The file is needed where its timer is when the node is back.
static void what_a_kept_timer_activates_is_kept_with_it(void **state) {
        change(START, "first.service", SERVICE, ""); // on the leader's own host
        change(SUBMIT, "job.service", ONE_SHOT, "");
        change(START, "job.timer", TIMER "[X-Argosy]\nNodeLost=keep\n", "");
        uint32_t node = node_of("job.timer", LAUNCHED);
        assert_int_equal(node, rig_host(&g, 2)->virtual.node);
        rig_host_off_for(&g, 2, 3 * RIG_LEASE_MS);
        rig_settle(&g);
        assert_int_equal(node_of("job.timer", LAUNCHED), node);
        assert_int_equal(node_of("job.service", LOADED), node);
}

static void a_lost_node_gives_both_to_one_node(void **state) {
        for (int i = 0; i < 12; i++) {
                change(SUBMIT, printed("p%d.service", i), SERVICE, "");
                change(START, printed("p%d.timer", i), TIMER, "");
        }
        rig_host_off_for(&g, 3, 3 * RIG_LEASE_MS);
        rig_settle(&g);
        for (int i = 0; i < 12; i++) {
                char service[32], timer[32];

                snprintf(service, sizeof(service), "p%d.service", i);
                snprintf(timer, sizeof(timer), "p%d.timer", i);
                assert_int_equal(node_of(service, LOADED), node_of(timer, LAUNCHED));
                assert_int_not_equal(node_of(timer, LAUNCHED), rig_host(&g, 3)->virtual.node);
        }
}

// The timer's new content needs another node.
static void the_service_follows_a_timer_that_moves_by_itself(void **state) {
        change(SUBMIT, "job.service", ONE_SHOT, "");
        change(START, "job.timer", TIMER, "");
        uint32_t before = node_of("job.timer", LAUNCHED);
        for (uint32_t i = 1; i <= 3; i++)
                if (rig_host(&g, i)->virtual.node != before) {
                        rig_host_set_labels(&g, i, "disk", "ssd");
                        break;
                }
        rig_settle(&g);
        RigAnswer *a = rig_change_with_and_settle(&g, START, "job.timer", TIMER ON_SSD, true, NULL);
        assert_string_equal(a->responses[0]->change->units[0]->message, "");
        assert_int_not_equal(node_of("job.timer", LAUNCHED), before);
        assert_int_equal(node_of("job.service", LOADED), node_of("job.timer", LAUNCHED));
}

static void what_runs_by_its_own_order_is_not_stopped_for_a_timer(void **state) {
        rig_host_set_labels(&g, 2, "disk", "ssd");
        change(START, "x.service", SERVICE ON_SSD, "");
        rig_host_set_labels(&g, 3, "rack", "b");
        change(START, "x.timer", TIMER "[X-Argosy]\nMachineMetadata=rack=b\n",
               "x.service is on another node, where this unit cannot activate it");
        rig_settle(&g);
        assert_int_equal(node_of("x.service", LAUNCHED), rig_host(&g, 2)->virtual.node);
        assert_int_equal(node_of("x.timer", LAUNCHED), rig_host(&g, 3)->virtual.node);
        assert_int_equal(rig_count_running(&g, "x.service"), 1);
}

static void who_may_be_started_again_is_told_so(void **state) {
        change(SUBMIT, "job.service", ONE_SHOT, "");
        change(START, "job.timer", TIMER, "");
        change(START, "job.service", NULL, "");
        change(STOP, "job.service", NULL, "job.timer may start it again");
        change(ARGOSY__VERB__VERB_UNLOAD, "job.service", NULL, "job.timer activates it, and will fail to");
        change(ARGOSY__VERB__VERB_DESTROY, "job.timer", NULL, "");
        change(ARGOSY__VERB__VERB_DESTROY, "job.service", NULL, "");
}

static void what_cannot_be_loaded_with_it_is_a_warning(void **state) {
        change(SUBMIT, "job.service", ONE_SHOT "[X-Argosy]\nMachineMetadata=no=where\n", "");
        change(START, "job.timer", TIMER,
               "job.service, which belongs to it, cannot be loaded: no node of this cluster can take the "
               "unit");
        assert_int_equal(rig_record(&g, "job.service")->target, ARGOSY__TARGET__TARGET_INACTIVE);
        node_of("job.timer", LAUNCHED);
}

static void instances_come_from_their_template(void **state) {
        change(SUBMIT, "job@.service", ONE_SHOT, "");
        change(START, "job@7.timer", TIMER, "");
        assert_int_equal(node_of("job@7.service", LOADED), node_of("job@7.timer", LAUNCHED));
        change(START, "lone.timer", TIMER, ""); // perhaps the node has it
        assert_null(rig_record(&g, "lone.service"));
}

static void also_means_also(void **state) {
        change(SUBMIT, "web.socket", "[Socket]\nListenStream=80\n[Install]\nAlso=web.service\n", "");
        change(START, "web.service", SERVICE "[Install]\nAlso=web.socket\n", "");
        assert_int_equal(node_of("web.socket", LOADED), node_of("web.service", LAUNCHED));
}

static void chains_and_cycles_come_to_an_end(void **state) {
        change(SUBMIT, "a.path", "[Path]\nUnit=b.timer\n", "");
        change(SUBMIT, "b.timer", "[Timer]\nUnit=a.path\n", "");
        change(START, "b.timer", NULL, "");
        assert_int_equal(node_of("a.path", LOADED), node_of("b.timer", LAUNCHED));
        change(START, "a.path", NULL, "");
        rig_settle(&g);
        assert_int_equal(node_of("a.path", LAUNCHED), node_of("b.timer", LAUNCHED));
        change(SUBMIT, "c.path", "[Path]\nUnit=d.timer\n", "");
        change(SUBMIT, "d.timer", TIMER, "");
        change(SUBMIT, "d.service", ONE_SHOT, "");
        change(START, "c.path", NULL, "");
        assert_int_equal(node_of("d.service", LOADED), node_of("c.path", LAUNCHED));
        assert_int_equal(node_of("d.timer", LOADED), node_of("c.path", LAUNCHED));
}

// --------------------------------------------------------------------------------- options of the activator

// In one request, and the first of the results that has a word.
static void start_two(const char *const names[2], const char *const contents[2], const char *says) {
        Argosy__NamedFile files[2], *pointers[2];
        Argosy__Request__Change m = ARGOSY__REQUEST__CHANGE__INIT;
        Argosy__Request request = REQUEST_OF(CHANGE, change, &m);
        uint64_t id[2] = {++g.id, 77};

        for (size_t i = 0; i < 2; i++) {
                files[i] = (Argosy__NamedFile) MESSAGE_OF(
                        named_file, .name = (char *) names[i], .path = (char *) names[i],
                        .content = (ProtobufCBinaryData){.data = (uint8_t *) contents[i],
                                                         .len = strlen(contents[i])});
                pointers[i] = &files[i];
        }
        m.id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)};
        m.verb = START;
        m.names = (char **) names;
        m.n_names = 2;
        m.files = pointers;
        m.n_files = 2;
        const Argosy__Response__Change *r = rig_change_answered(rig_ask_and_settle(&g, &request));
        for (size_t i = 0; i < 2; i++)
                assert_int_equal(r->units[i]->status, 0);
        assert_string_equal(*r->units[0]->message ? r->units[0]->message : r->units[1]->message, says);
}

static void start_db(void) {
        change(START, "db.service", SERVICE, "");
        fill_node_of("db.service");
}

static void a_service_is_brought_to_where_its_activator_is_to_be(void **state) {
        static const char *const types[] = {"timer", "socket", "path"};

        start_db();
        for (size_t i = 0; i < ELEMENTSOF(types); i++) {
                char activator[32], service[32];

                snprintf(activator, sizeof(activator), "a%zu.%s", i, types[i]);
                snprintf(service, sizeof(service), "a%zu.service", i);
                change(SUBMIT, service, ONE_SHOT, "");
                change(START, activator, "[X-Argosy]\nSameNodeAs=db.service\n", "");
                assert_int_equal(node_of(activator, LAUNCHED), node_of("db.service", LAUNCHED));
                assert_int_equal(node_of(service, LOADED), node_of("db.service", LAUNCHED));
        }
}

static void so_it_is_if_one_request_has_both(void **state) {
        static const char *const names[] = {"job.service", "job.timer"};

        start_db();
        start_two(names, (const char *const[]){SERVICE, TIMER "[X-Argosy]\nSameNodeAs=db.service\n"}, "");
        assert_int_equal(node_of("job.timer", LAUNCHED), node_of("db.service", LAUNCHED));
        assert_int_equal(node_of("job.service", LAUNCHED), node_of("db.service", LAUNCHED));
}

// Also with the unit that they are to be with.
static void so_it_is_if_one_request_has_all(void **state) {
        static const char *const names[] = {"job.timer", "job.service"};

        change(SUBMIT, "db.service", SERVICE, "");
        change(START, "db.service", NULL, "");
        start_two(names, (const char *const[]){TIMER "[X-Argosy]\nMachineOf=db.service\n", SERVICE}, "");
        assert_int_equal(node_of("job.timer", LAUNCHED), node_of("db.service", LAUNCHED));
        assert_int_equal(node_of("job.service", LAUNCHED), node_of("db.service", LAUNCHED));
}

static void both_are_where_both_can_be(void **state) {
        static const char *const names[] = {"job.service", "job.timer"};

        rig_host_set_labels(&g, 2, "disk", "ssd");
        rig_host_set_labels(&g, 3, "disk", "ssd");
        (void) rig_label(&g, "n3", "rack", "b");
        (void) rig_label(&g, "n1", "rack", "b");
        start_two(names, (const char *const[]){SERVICE ON_SSD, TIMER "[X-Argosy]\nRequireLabel=rack=b\n"},
                  "");
        assert_int_equal(node_of("job.timer", LAUNCHED), rig_host(&g, 3)->virtual.node);
        assert_int_equal(node_of("job.service", LAUNCHED), rig_host(&g, 3)->virtual.node);
        start_two((const char *const[]){"one.service", "one.timer"},
                  (const char *const[]){SERVICE, TIMER "[X-Argosy]\nHost=n2\n"}, "");
        assert_int_equal(node_of("one.timer", LAUNCHED), rig_host(&g, 2)->virtual.node);
        assert_int_equal(node_of("one.service", LAUNCHED), rig_host(&g, 2)->virtual.node);
}

static void where_no_node_is_for_both_that_is_said(void **state) {
        static const char *const names[] = {"job.service", "job.timer"};

        start_two(names,
                  (const char *const[]){SERVICE "[X-Argosy]\nHost=n2\n", TIMER "[X-Argosy]\nHost=n3\n"},
                  "job.service is on another node, where this unit cannot activate it");
        assert_int_equal(node_of("job.service", LAUNCHED), rig_host(&g, 2)->virtual.node);
        assert_int_equal(node_of("job.timer", LAUNCHED), rig_host(&g, 3)->virtual.node);
}

// What runs by its own order is not stopped for it, and the timer's own options count all the same.
static void an_activator_is_where_it_is_to_be_and_not_where_its_service_is(void **state) {
        start_db();
        change(START, "job.service", SERVICE, "");
        assert_int_not_equal(node_of("job.service", LAUNCHED), node_of("db.service", LAUNCHED));
        change(START, "job.timer", TIMER "[X-Argosy]\nSameNodeAs=db.service\n",
               "job.service is on another node, where this unit cannot activate it");
        assert_int_equal(node_of("job.timer", LAUNCHED), node_of("db.service", LAUNCHED));
}

// ------------------------------------------------------------------------------------------------ leaders

// What was moving when the leader changed is not forgotten.
static void the_next_leader_knows_who_belongs_together(void **state) {
        change(START, "night.timer", "[Timer]\nUnit=z-backup.service\n", "");
        fill_node_of("night.timer");
        rig_elect_anew(&g);
        change(LOAD, "z-backup.service", SERVICE, "");
        assert_int_equal(node_of("z-backup.service", LOADED), node_of("night.timer", LAUNCHED));
}

// ------------------------------------------------------------------------------------------------ data

#define DATA "[Container]\nImage=localhost/db:1\nVolume=data:/data\n"
#define ON(host) "[X-Argosy]\nHost=" host "\n"

static void give_podman(void) {
        for (uint32_t i = 1; i <= 3; i++)
                rig_host_set_labels(&g, i, "podman", "5.4");
        for (uint32_t i = 2; i <= 3; i++) {
                rig_host_off(&g, i);
                rig_host_on(&g, i, false);
        }
        rig_settle(&g);
}

// A container that has run on the second host, and whose data is there.
static uint32_t run_on_second(void) {
        give_podman();
        (void) rig_set_host_mode(&g, 1, ARGOSY__NODE_MODE__MODE_CORDONED, 0);
        (void) rig_set_host_mode(&g, 3, ARGOSY__NODE_MODE__MODE_CORDONED, 0);
        change(START, "x.service", DATA, "");
        (void) rig_set_host_mode(&g, 1, ARGOSY__NODE_MODE__MODE_OPEN, 0);
        (void) rig_set_host_mode(&g, 3, ARGOSY__NODE_MODE__MODE_OPEN, 0);
        assert_int_equal(node_of("x.service", LAUNCHED), rig_host(&g, 2)->virtual.node);
        return rig_host(&g, 2)->virtual.node;
}

static uint32_t at(const char *name) {
        return rig_record(&g, name)->node;
}

// Elsewhere it would find nothing to activate when its node is back.
static void a_timer_stays_where_the_data_of_its_container_is(void **state) {
        uint32_t node = run_on_second();

        change(STOP, "x.service", NULL, "");
        change(START, "x.timer", TIMER, "");
        assert_int_equal(node_of("x.timer", LAUNCHED), node);
        rig_host_off_for(&g, 2, 3 * RIG_LEASE_MS);
        rig_settle(&g);
        assert_int_equal(at("x.service"), node);
        assert_int_equal(at("x.timer"), node);
        rig_elect_anew(&g);
        rig_pass_ms(&g, 3 * RIG_LEASE_MS);
        assert_int_equal(at("x.timer"), node);
        rig_host_on(&g, 2, true);
        assert_int_equal(node_of("x.timer", LAUNCHED), node);
        assert_int_equal(node_of("x.service", LOADED), node);
        (void) rig_set_host_mode(&g, 2, ARGOSY__NODE_MODE__MODE_DRAINING, 0);
        assert_int_equal(at("x.timer"), node);
        change(ARGOSY__VERB__VERB_DESTROY, "x.service", NULL,
               "x.timer activates it, and will fail to; its volume stays on n2: data");
        rig_settle(&g);
        assert_int_not_equal(at("x.timer"), node);
}

static void a_timer_waits_for_the_node_of_the_data_of_its_container(void **state) {
        uint32_t node = run_on_second();
        unsigned states;

        (void) rig_change(&g, ARGOSY__VERB__VERB_UNLOAD, "x.service", NULL);
        rig_settle(&g);
        (void) rig_set_host_mode(&g, 2, ARGOSY__NODE_MODE__MODE_CORDONED, 0);
        states = g.n_states;
        (void) rig_change(&g, START, "x.timer", TIMER);
        rig_settle(&g);
        assert_int_equal(g.n_states, states); // nowhere for a moment
        assert_int_equal(at("x.service"), 0);
        assert_int_equal(at("x.timer"), 0);
        assert_string_equal(rig_why(&g, "x.timer")->status_reply->why,
                            "the data of x.service, which it activates, is on n2");
        (void) rig_set_host_mode(&g, 2, ARGOSY__NODE_MODE__MODE_OPEN, 0);
        rig_settle(&g);
        assert_int_equal(node_of("x.service", LOADED), node);
        assert_int_equal(node_of("x.timer", LAUNCHED), node);
}

// Its own file says where it is to be: then it is told that it cannot activate the container.
static void a_container_with_data_does_not_follow_its_timer(void **state) {
        uint32_t node = run_on_second();

        change(STOP, "x.service", NULL, "");
        change(START, "x.timer", TIMER ON("n1"),
               "x.service is on another node, where this unit cannot activate it");
        assert_int_equal(node_of("x.timer", LAUNCHED), rig_host(&g, 1)->virtual.node);
        assert_int_equal(node_of("x.service", LOADED), node);
        rig_elect_anew(&g);
        rig_settle(&g);
        assert_int_equal(node_of("x.service", LOADED), node);
        (void) rig_change(&g, ARGOSY__VERB__VERB_UNLOAD, "x.service", NULL);
        (void) rig_change(&g, LOAD, "x.service", NULL);
        assert_int_equal(node_of("x.service", LOADED), node);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(
        T(a_timer_brings_its_service_along),
        T(whoever_comes_second_goes_where_the_first_is),
        T(an_activator_does_not_begin_beside_who_is_in_conflict_with_it),
        T(a_service_does_not_follow_an_activator_that_it_replaces),
        T(who_waits_is_not_placed_beside_who_follows_its_activator_meanwhile),
        T(nobody_follows_where_no_units_are_taken_or_there_is_no_room),
        T(who_follows_takes_its_room_before_others_that_wait),
        T(the_service_of_another_name_follows_too),
        T(a_timer_goes_where_its_service_must_be),
        T(they_move_together),
        T(what_a_kept_timer_activates_is_kept_with_it),
        T(a_lost_node_gives_both_to_one_node),
        T(the_service_follows_a_timer_that_moves_by_itself),
        T(what_runs_by_its_own_order_is_not_stopped_for_a_timer),
        T(who_may_be_started_again_is_told_so),
        T(what_cannot_be_loaded_with_it_is_a_warning),
        T(instances_come_from_their_template),
        T(also_means_also),
        T(chains_and_cycles_come_to_an_end),
        T(a_service_is_brought_to_where_its_activator_is_to_be),
        T(so_it_is_if_one_request_has_both),
        T(so_it_is_if_one_request_has_all),
        T(both_are_where_both_can_be),
        T(where_no_node_is_for_both_that_is_said),
        T(an_activator_is_where_it_is_to_be_and_not_where_its_service_is),
        T(the_next_leader_knows_who_belongs_together),
        T(a_timer_stays_where_the_data_of_its_container_is),
        T(a_timer_waits_for_the_node_of_the_data_of_its_container),
        T(a_container_with_data_does_not_follow_its_timer)
)
