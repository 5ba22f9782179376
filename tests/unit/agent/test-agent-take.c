// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What another program has left behind becomes ours as it runs, and nothing else does: whatever fails on the
// way, and wherever argosyd ends in between. The other program is fleet, its files are in a directory beside
// that of the units.
#include "agent-private.h"
#include "agent-world.h"
#include "held-pool.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "ledger.h"
#include "printed.h"
#include "process-name.h"
#include "unit-dir.h"

#define LEFT "[Service]\nExecStart=/bin/sleep infinity\n"
#define LEFT_JOB "[Service]\nType=oneshot\nExecStart=/bin/sleep 5\n"

static const char guarded[] = "[Service]\nExecStart=/bin/sleep 1\n[X-Argosy]\nCutOff=stop\n";

// ---- the ledger, as it is asked

static unsigned n_puts, n_queued;
static bool ledger_is_full;

int __real_ledger_put(Ledger *l, const LedgerRecord *record);
int __wrap_ledger_put(Ledger *l, const LedgerRecord *record);
int __wrap_ledger_put(Ledger *l, const LedgerRecord *record) {
        n_puts++;
        n_queued++;
        return __real_ledger_put(l, record);
}

int __real_ledger_forget(Ledger *l, const char *name);
int __wrap_ledger_forget(Ledger *l, const char *name);
int __wrap_ledger_forget(Ledger *l, const char *name) {
        n_queued++;
        return __real_ledger_forget(l, name);
}

int __real_ledger_flush(Ledger *l);
int __wrap_ledger_flush(Ledger *l);
int __wrap_ledger_flush(Ledger *l) {
        if (ledger_is_full && n_queued > 0)
                return -ENOSPC;
        n_queued = 0;
        return __real_ledger_flush(l);
}

// ---- memory for what a batch hands to the unit directory

static bool batches_fail;

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size) {
        return batches_fail && size == sizeof(UnitDirItem) ? NULL : __real_calloc(n, size);
}

// ---- processes of this machine, which another run of this test may have, too

static bool fleet_runs; // this test's

bool __real_process_name_runs(const char *name);
bool __wrap_process_name_runs(const char *name);
bool __wrap_process_name_runs(const char *name) {
        return fleet_runs && __real_process_name_runs(name);
}

// ---- the world

static char *fleet_dir;

FIXTURE(set_up) {
        rig_up();
        fleet_dir = str_printf("%s/fleet", w.dir);
        assert_int_equal(mkdir(fleet_dir, 0755), 0);
        w.take_from = fleet_dir;
        pid1 = pid1_new(w.unit_dir);
        n_puts = n_queued = 0;
        ledger_is_full = batches_fail = fleet_runs = false;
        agent_up();
}

static int tear_down(void **state) {
        int r = world_down(state);

        free(fleet_dir);
        return r;
}

static void put_file(const char *dir, const char *name, const char *content) {
        assert_int_equal(
                file_replace(AT_FDCWD, printed("%s/%s", dir, name), content, strlen(content), 0644, 0), 0);
}

static void put_link(const char *name, const char *of) {
        _cleanup_free_ char *link = str_printf("%s/%s", w.unit_dir, name),
                            *target = str_printf("%s/%s", fleet_dir, of);

        assert_int_equal(symlink(target, link), 0);
}

// As fleet has it when it is killed.
static void leave_behind(const char *name, const char *content) {
        _cleanup_free_ char *wants = str_printf("%s/multi-user.target.wants", w.unit_dir),
                            *below = str_printf("multi-user.target.wants/%s", name);

        put_file(fleet_dir, name, content);
        put_link(name, name);
        assert_true(mkdir(wants, 0755) == 0 || errno == EEXIST);
        put_link(below, name);
        pid1_start(pid1, name);
}

static bool is_link(const char *name) {
        _cleanup_free_ char *path = str_printf("%s/%s", w.unit_dir, name);
        struct stat st;

        return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

static bool is_as_it_was_left(const char *name) {
        _cleanup_free_ char *below = str_printf("multi-user.target.wants/%s", name),
                            *dropin = str_printf("%s.d", name);

        return is_link(name) && is_link(below) && !has_file(dropin);
}

static Order launch(const char *name, const char *content, uint64_t revision) {
        return (Order){.name = name, .content = content, .revision = revision, .start = revision};
}

static Order nobody_wants(const char *name, uint64_t revision) {
        return (Order){.name = name, .remove = true, .revision = revision};
}

static int pass_over(const LedgerRecord *record, void *userdata) {
        return 0;
}

// What a record looks like between the decision to take the name and systemd's reading of it.
static void record_that_it_is_taken(const char *name, const char *content) {
        _cleanup_free_ char *path = str_printf("%s/ledger", w.dir);
        LedgerRecord record = {.name = name, .spec = hash_of(content, strlen(content)), .taking = true};
        Ledger *l;

        assert_null(w.agent);
        assert_int_equal(ledger_open(path, pass_over, NULL, NULL, NULL, &l), 0);
        assert_int_equal(ledger_put(l, &record), 0);
        assert_int_equal(ledger_flush(l), 0);
        ledger_close(l);
}

static void assert_taken(const char *name, const char *content) {
        assert_string_equal(report_of(name)->error, "");
        assert_false(report_of(name)->refused);
        assert_false(is_link(name));
        assert_int_equal(pid1_runs(pid1, name), 1);
        assert_int_equal(pid1_n_reloads(pid1), 1);
        assert_string_equal(pid1_content(pid1, name), content);
}

// ---- it becomes ours

static void what_runs_goes_on_running(void **state) {
        leave_behind("web.service", LEFT);
        meet_leader(NULL, 0);
        send_order(launch("web.service", web, 5));
        loop_until(answered("web.service", 5));
        assert_taken("web.service", web);
        assert_false(is_link("multi-user.target.wants/web.service"));
        order_and_wait(
                (Order){.name = "web.service", .content = web, .revision = 6, .start = 5, .restart = 6});
        assert_int_equal(pid1_runs(pid1, "web.service"), 2);
        assert_int_equal(pid1_n_reloads(pid1), 1);
        // It is not read again by the next argosyd.
        agent_restart();
        meet_leader(&(Order){.name = "web.service", .content = web, .revision = 7, .start = 7, .restart = 6},
                    1);
        loop_until(answered("web.service", 7));
        assert_int_equal(pid1_n_reloads(pid1), 1);
}

static bool names(const Argosy__FleetUnits *said, const char *name) {
        for (size_t i = 0; said && i < said->n_units; i++)
                if (streq(said->units[i], name))
                        return true;
        return false;
}

static bool was_told(const char *name) {
        return w.fleet_units && names(w.fleet_units->fleet_units, name);
}

// The leader starts it nowhere else.
static void what_fleet_runs_is_told_to_the_leader(void **state) {
        leave_behind("web.service", LEFT);
        leave_behind("other.service", LEFT);
        put_file(fleet_dir, "loaded.service", LEFT);
        put_link("loaded.service", "loaded.service");
        pid1_disconnect(pid1);
        pid1_reconnect(pid1); // all is looked for anew
        meet_leader(NULL, 0);
        loop_until(w.fleet_units || w.attach->attach->fleet_units);
        loop_until(was_told("web.service") || names(w.attach->attach->fleet_units, "web.service"));
        const Argosy__FleetUnits *said =
                w.fleet_units ? w.fleet_units->fleet_units : w.attach->attach->fleet_units;
        assert_string_equal(said->directory, fleet_dir);
        assert_true(said->taken_over && !said->fleet_runs);
        loop_until(was_told("other.service") && !was_told("loaded.service"));
        send_order(launch("web.service", web, 5));
        loop_until(answered("web.service", 5));
        assert_taken("web.service", web);
        loop_until(!was_told("web.service")); // it is argosy's
        assert_true(was_told("other.service"));
        pid1_stop(pid1, "other.service"); // by hand
        loop_until(!was_told("other.service"));
}

// The leader is not kept waiting for it, and is told that nobody knows; then what there is.
static void a_search_that_hangs_keeps_no_host_from_its_leader(void **state) {
        unsigned before = w.n_attaches;

        leave_behind("web.service", LEFT);
        held_pool_hold(&test_loop); // whose the name is nobody sees meanwhile
        pid1_disconnect(pid1);
        pid1_reconnect(pid1);
        agent_on_leader(w.agent, 1, w.term);
        loop_until(w.n_attaches > before);
        assert_non_null(w.attach->attach->fleet_units);
        assert_string_equal(w.attach->attach->fleet_units->directory, "");
        assert_int_equal(w.attach->attach->fleet_units->n_units, 0);
        held_pool_let_go();
        welcome_until(NULL, 0, was_told("web.service"));
        assert_string_equal(w.fleet_units->fleet_units->directory, fleet_dir);
}

// Its program would stop them, or start them elsewhere.
static void nothing_is_taken_while_fleet_runs(void **state) {
        pid_t fleetd = fork();

        if (fleetd == 0) {
                (void) prctl(PR_SET_NAME, "fleetd");
                for (;;)
                        pause();
        }
        assert_true(fleetd > 0);
        fleet_runs = true;
        leave_behind("web.service", LEFT);
        meet_leader(NULL, 0);
        while (!process_name_runs("fleetd"))
                sched_yield();
        send_order(launch("web.service", web, 5));
        loop_until(report_of("web.service") && report_of("web.service")->refused);
        assert_non_null(strstr(report_of("web.service")->error, "fleetd runs on this host"));
        assert_true(is_as_it_was_left("web.service"));
        assert_int_equal(pid1_runs(pid1, "web.service"), 1);
        assert_int_equal(kill(fleetd, SIGKILL), 0);
        assert_int_equal(waitpid(fleetd, NULL, 0), fleetd);
}

static void what_is_on_its_way_up_is_waited_for(void **state) {
        leave_behind("job.service", LEFT_JOB);
        meet_leader(NULL, 0);
        send_order(launch("job.service", job, 5));
        loop_until(pid1_n_reloads(pid1) == 1);
        assert_string_equal(pid1_content(pid1, "job.service"), job);
        loop_until(pid1_is_held(pid1, "job.service"));
        loop_until(pid1_n_jobs(pid1) > 0 && pid1_n_held(pid1) == 0);
        pid1_finish(pid1, "job.service", true);
        loop_until(report_of("job.service") && report_of("job.service")->outcome);
        assert_int_equal(report_of("job.service")->outcome->kind, ARGOSY__OUTCOME__KIND__DONE);
        assert_int_equal(pid1_runs(pid1, "job.service"), 1);
}

static void what_has_failed_is_started_with_our_content(void **state) {
        leave_behind("web.service", bad);
        meet_leader(NULL, 0);
        send_order(launch("web.service", web, 5));
        loop_until(answered("web.service", 5) && pid1_is_active(pid1, "web.service"));
        assert_string_equal(pid1_content(pid1, "web.service"), web);
        assert_false(is_link("web.service") || is_link("multi-user.target.wants/web.service"));
}

static void what_is_only_loaded_is_ours_without_a_start(void **state) {
        leave_behind("web.service", LEFT);
        pid1_pin(pid1, "web.service");
        pid1_stop(pid1, "web.service");
        meet_leader(NULL, 0);
        order_and_wait((Order){.name = "web.service", .content = web, .revision = 5, .loaded_only = true});
        assert_taken("web.service", web);
        assert_false(pid1_is_active(pid1, "web.service"));
}

// ---- it does not

static void what_was_not_left_behind_leaves_no_trace_of_ours(void **state) {
        put_file(w.unit_dir, "plain.service", LEFT);
        pid1_start(pid1, "plain.service");
        meet_leader(NULL, 0);
        for (uint64_t revision = 5; revision < 8; revision++) {
                send_order(launch("plain.service", web, revision));
                loop_until(answered("plain.service", revision) && report_of("plain.service")->refused);
        }
        assert_non_null(strstr(report_of("plain.service")->error,
                               "that is not the cluster's is already active on this node"));
        assert_int_equal(n_puts, 0);
        send_order(nobody_wants("plain.service", 8));
        loop_until(is_gone("plain.service"));
        assert_true(pid1_is_active(pid1, "plain.service"));
        assert_int_equal(pid1_n_jobs(pid1), 0);
}

static void what_the_system_has_too_keeps_its_links(void **state) {
        write_foreign("etcd.service");
        leave_behind("etcd.service", LEFT);
        put_file(w.unit_dir, "web@.service", LEFT);
        leave_behind("web@1.service", LEFT);
        meet_leader(NULL, 0);
        send_order(launch("etcd.service", web, 5));
        send_order((Order){
                .name = "web@1.service", .content = web, .from_template = true, .revision = 6, .start = 6});
        loop_until(answered("etcd.service", 5) && answered("web@1.service", 6));
        assert_non_null(strstr(report_of("etcd.service")->error, "/etc/etcd.service"));
        assert_non_null(strstr(report_of("web@1.service")->error, "/web@.service"));
        assert_true(report_of("etcd.service")->refused && report_of("web@1.service")->refused);
        assert_true(is_as_it_was_left("etcd.service") && is_as_it_was_left("web@1.service"));
        assert_int_equal(n_puts, 0);
        assert_int_equal(pid1_n_reloads(pid1), 0);
}

// By the reload it would be bound to its guard, which only a start brings: systemd would stop it.
static void what_would_be_bound_to_a_guard_goes_over_when_it_is_down(void **state) {
        leave_behind("web.service", LEFT);
        meet_leader(NULL, 0);
        send_order(launch("web.service", guarded, 5));
        loop_until(answered("web.service", 5) && report_of("web.service")->refused);
        assert_non_null(strstr(report_of("web.service")->error, "CutOff=stop"));
        assert_int_equal(n_puts, 0);
        assert_true(pid1_is_active(pid1, "web.service") && is_as_it_was_left("web.service"));
        pid1_stop(pid1, "web.service");
        send_order(launch("web.service", guarded, 6));
        loop_until(answered("web.service", 6) && pid1_is_active(pid1, "web.service"));
        assert_string_equal(pid1_content(pid1, "web.service"), guarded);
}

// ---- nobody wants it any more

static AgentUnit *unit_of(const char *name) {
        return agent_unit_find(CONTAINER_OF(w.agent->nodes.next, AgentNode, in_agent), name);
}

static bool is_looked_at(const char *name) {
        const AgentUnit *u = unit_of(name);

        return u && agent_unit_doing(u)->busy == PLAN_LOOK;
}

static bool is_to_go(const char *name) {
        return agent_unit_doing(unit_of(name))->wanted.remove;
}

// Under the authority of before, so nothing has to be on the disk first.
static void order_while_nobody_looks(const char *name) {
        held_pool_hold(&test_loop);
        w.index--;
        send_order(launch(name, web, 5));
        loop_until(is_looked_at(name));
        w.index--;
}

static void what_is_destroyed_while_it_is_looked_at_stays_who_it_was(void **state) {
        leave_behind("web.service", LEFT);
        meet_leader(NULL, 0);
        order_while_nobody_looks("web.service");
        send_order(nobody_wants("web.service", 6));
        loop_until(is_to_go("web.service"));
        held_pool_let_go();
        loop_until(is_gone("web.service"));
        assert_true(pid1_is_active(pid1, "web.service") && is_as_it_was_left("web.service"));
        assert_int_equal(n_puts, 0);
        assert_int_equal(pid1_n_reloads(pid1), 0);
}

static void what_a_welcome_does_not_name_while_it_is_looked_at_stays_who_it_was(void **state) {
        leave_behind("web.service", LEFT);
        meet_leader(NULL, 0);
        order_while_nobody_looks("web.service");
        send_welcome(NULL, 0, 5000);
        loop_until(is_to_go("web.service"));
        held_pool_let_go();
        loop_until(!unit_of("web.service"));
        assert_true(pid1_is_active(pid1, "web.service") && is_as_it_was_left("web.service"));
        assert_int_equal(n_puts, 0);
        assert_int_equal(pid1_n_reloads(pid1), 0);
}

// The record has the next content already, and the disk the one before.
static void a_crash_before_the_second_content_leaves_no_file_of_nobody(void **state) {
        static const char second[] = "[Service]\nExecStart=/bin/sleep 2\n";
        Order order = {.name = "web.service", .content = second, .revision = 6, .loaded_only = true};
        Hash hash = hash_of(second, strlen(second));

        leave_behind("web.service", LEFT);
        pid1_pin(pid1, "web.service");
        pid1_stop(pid1, "web.service");
        meet_leader(NULL, 0);
        pid1_hold_jobs(pid1, true);
        send_order((Order){.name = "web.service", .content = web, .revision = 5, .loaded_only = true});
        loop_until(!is_link("web.service") && unit_of("web.service")->held.taking);
        send_order(order);
        loop_until(hash_equal(&unit_of("web.service")->held.spec->hash, &hash));
        agent_down();
        pid1_hold_jobs(pid1, false);
        forget_reports();
        agent_up();
        meet_leader(&order, 1);
        loop_until(answered("web.service", 6));
        if (report_of("web.service")->refused)
                fail_msg("%s", report_of("web.service")->error);
        assert_false(is_link("web.service"));
        send_order((Order){.name = "web.service", .content = second, .revision = 7, .start = 7});
        loop_until(answered("web.service", 7) && pid1_is_active(pid1, "web.service"));
        assert_string_equal(pid1_content(pid1, "web.service"), second);
}

// ---- what fails on the way

static void without_room_for_the_record_it_stays_who_it_was(void **state) {
        leave_behind("web.service", LEFT);
        put_file(w.unit_dir, "down.service", LEFT);
        meet_leader(NULL, 0);
        ledger_is_full = true;
        send_order(launch("web.service", web, 5));
        loop_until(answered("web.service", 5));
        assert_non_null(strstr(report_of("web.service")->error, "cannot write its file"));
        send_order(launch("down.service", web, 6));
        loop_until(answered("down.service", 6));
        assert_non_null(strstr(report_of("down.service")->error, "cannot write its file"));
        pid1_start(pid1, "down.service"); // by hand: it is somebody else's
        send_order(nobody_wants("web.service", 7));
        send_order(nobody_wants("down.service", 8));
        loop_until(is_gone("web.service") && is_gone("down.service"));
        assert_true(pid1_is_active(pid1, "web.service") && pid1_is_active(pid1, "down.service"));
        assert_true(is_as_it_was_left("web.service"));
        ledger_is_full = false;
        send_order(launch("web.service", web, 9));
        loop_until(answered("web.service", 9));
        assert_taken("web.service", web);
}

static void without_room_for_the_file_it_stays_who_it_was(void **state) {
        _cleanup_free_ char *in_the_way = str_printf("%s/web.service.d", w.unit_dir);

        put_file(w.unit_dir, "web.service.d", "");
        leave_behind("web.service", LEFT);
        meet_leader(NULL, 0);
        send_order(launch("web.service", web, 5));
        loop_until(answered("web.service", 5));
        assert_non_null(strstr(report_of("web.service")->error, "cannot write its file"));
        send_order(nobody_wants("web.service", 6));
        loop_until(is_gone("web.service"));
        assert_true(pid1_is_active(pid1, "web.service") && is_link("web.service"));
        send_order(launch("web.service", web, 7));
        loop_until(answered("web.service", 7));
        assert_int_equal(unlink(in_the_way), 0);
        loop_until(!*report_of("web.service")->error); // tried again
        loop_until(pid1_n_reloads(pid1) == 1 && !is_link("web.service"));
        assert_int_equal(pid1_runs(pid1, "web.service"), 1);
        assert_string_equal(pid1_content(pid1, "web.service"), web);
}

static void without_memory_for_a_batch_it_stays_who_it_was(void **state) {
        leave_behind("web.service", LEFT);
        put_file(w.foreign_dir, "nginx.service", LEFT);
        put_file(w.unit_dir, "plain.service", LEFT);
        pid1_start(pid1, "plain.service");
        meet_leader(NULL, 0);
        batches_fail = true;
        send_order(launch("web.service", web, 5));
        send_order(launch("plain.service", web, 6));
        send_order(launch("nginx.service", web, 7));
        loop_until(answered("web.service", 5) && answered("plain.service", 6) &&
                   answered("nginx.service", 7));
        assert_true(report_of("plain.service")->refused && report_of("nginx.service")->refused);
        assert_true(is_as_it_was_left("web.service"));
        batches_fail = false;
        send_order(launch("web.service", web, 8));
        loop_until(answered("web.service", 8));
        assert_taken("web.service", web);
}

// ---- argosyd ends on the way

static void a_record_without_a_file_makes_nothing_ours(void **state) {
        agent_down();
        leave_behind("left.service", LEFT);
        put_file(w.unit_dir, "plain.service", LEFT);
        pid1_start(pid1, "plain.service");
        record_that_it_is_taken("left.service", web);
        record_that_it_is_taken("plain.service", web);
        agent_up();
        meet_leader(NULL, 0); // which names neither
        send_order(launch("plain.service", web, 5));
        loop_until(answered("plain.service", 5));
        assert_true(report_of("plain.service")->refused);
        send_order(nobody_wants("left.service", 6));
        loop_until(is_gone("left.service"));
        assert_true(pid1_is_active(pid1, "left.service") && pid1_is_active(pid1, "plain.service"));
        assert_true(is_as_it_was_left("left.service") && has_file("plain.service") &&
                    !has_file("plain.service.d"));
        assert_int_equal(pid1_n_jobs(pid1), 0);
}

static void a_record_without_a_file_is_taken_again(void **state) {
        _cleanup_free_ char *dropin = str_printf("%s/web.service.d", w.unit_dir);
        Order order = launch("web.service", web, 5);

        agent_down();
        leave_behind("web.service", LEFT);
        assert_int_equal(mkdir(dropin, 0755), 0);
        put_file(dropin, "50-argosy.conf", "[Unit]\nAfter=argosy.target\n"); // what a batch begins with
        record_that_it_is_taken("web.service", web);
        agent_up();
        assert_true(is_as_it_was_left("web.service"));
        meet_leader(&order, 1);
        loop_until(answered("web.service", 5));
        assert_taken("web.service", web);
}

static void a_file_that_was_never_read_is_read(void **state) {
        Order order = launch("web.service", web, 5);

        leave_behind("web.service", LEFT);
        meet_leader(NULL, 0);
        pid1_hold_jobs(pid1, true);
        send_order(order);
        loop_until(pid1_n_held(pid1) == 1); // the reload
        assert_false(is_link("web.service"));
        agent_down();
        pid1_hold_jobs(pid1, false);
        forget_reports();
        agent_up();
        meet_leader(&order, 1);
        loop_until(answered("web.service", 5));
        assert_taken("web.service", web);
}

// Its file is ours, so it is: what nobody wants is stopped.
static void a_file_that_was_never_read_is_ours_all_the_same(void **state) {
        leave_behind("web.service", LEFT);
        meet_leader(NULL, 0);
        pid1_hold_jobs(pid1, true);
        send_order(launch("web.service", web, 5));
        loop_until(pid1_n_held(pid1) == 1);
        agent_down();
        pid1_hold_jobs(pid1, false);
        forget_reports();
        agent_up();
        meet_leader(NULL, 0);
        loop_until(is_gone("web.service"));
        assert_false(pid1_is_active(pid1, "web.service") || has_file("web.service"));
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

RUN_TESTS(
        T(what_runs_goes_on_running),
        T(what_fleet_runs_is_told_to_the_leader),
        T(a_search_that_hangs_keeps_no_host_from_its_leader),
        T(nothing_is_taken_while_fleet_runs),
        T(what_is_on_its_way_up_is_waited_for),
        T(what_has_failed_is_started_with_our_content),
        T(what_is_only_loaded_is_ours_without_a_start),
        T(what_is_destroyed_while_it_is_looked_at_stays_who_it_was),
        T(what_a_welcome_does_not_name_while_it_is_looked_at_stays_who_it_was),
        T(a_crash_before_the_second_content_leaves_no_file_of_nobody),
        T(what_was_not_left_behind_leaves_no_trace_of_ours),
        T(what_the_system_has_too_keeps_its_links),
        T(what_would_be_bound_to_a_guard_goes_over_when_it_is_down),
        T(without_room_for_the_record_it_stays_who_it_was),
        T(without_room_for_the_file_it_stays_who_it_was),
        T(without_memory_for_a_batch_it_stays_who_it_was),
        T(a_record_without_a_file_makes_nothing_ours),
        T(a_record_without_a_file_is_taken_again),
        T(a_file_that_was_never_read_is_read),
        T(a_file_that_was_never_read_is_ours_all_the_same)
)
