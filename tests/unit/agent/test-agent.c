// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The whole agent and what it is ordered: units start, stop and go, and what systemd says is told. What each
// test protects is its name.
#include "agent-world.h"

#include "agent-private.h"
#include "messages.h"

static void starts_a_hundred_units_in_one_batch(void **state) {
        enum { N = 100 };
        char names[N][32];
        Order orders[N];

        for (int i = 0; i < N; i++) {
                snprintf(names[i], sizeof(names[i]), "web@%i.service", i);
                orders[i] = (Order){
                        .name = names[i], .content = web, .from_template = true, .revision = 5, .start = 5};
        }
        meet_leader(NULL, 0);
        send_orders(orders, N);
        for (int i = 0; i < N; i++)
                loop_until(answered(names[i], 5));
        for (int i = 0; i < N; i++) {
                assert_int_equal(pid1_runs(pid1, names[i]), 1);
                assert_int_equal(report_of(names[i])->active, ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE);
                assert_int_equal(report_of(names[i])->node, NODE);
                assert_int_equal(report_of(names[i])->spec.len, HASH_SIZE);
        }
        assert_true(has_file("web@.service"));
        assert_false(has_file("web@1.service"));
        assert_true(w.n_report_messages < N / 4);
        assert_int_equal(pid1_n_reloads(pid1), 0);
}

static void a_loaded_unit_is_parsed_and_not_started(void **state) {
        meet_leader(NULL, 0);
        send_orders(
                (Order[]){{.name = "web.service", .content = web, .loaded_only = true, .revision = 5},
                          {.name = "odd.service", .content = broken, .loaded_only = true, .revision = 6}},
                2);
        loop_until(answered("web.service", 5) && answered("odd.service", 6));
        assert_int_equal(report_of("web.service")->load, ARGOSY__LOAD_STATE__LOAD_LOADED);
        assert_int_equal(report_of("web.service")->active, ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE);
        assert_string_equal(report_of("web.service")->error, "");
        assert_non_null(strstr(report_of("odd.service")->error, "no such section"));
        assert_int_equal(pid1_runs(pid1, "web.service"), 0);
}

static void stop_then_start_then_removal(void **state) {
        meet_leader(NULL, 0);
        order_and_wait((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        order_and_wait((Order){.name = "web.service",
                           .content = web,
                           .loaded_only = true,
                           .revision = 6,
                           .start = 5,
                           .stop = 6});
        assert_false(pid1_is_active(pid1, "web.service"));
        assert_int_equal(report_of("web.service")->load, ARGOSY__LOAD_STATE__LOAD_LOADED);
        order_and_wait((Order){.name = "web.service", .content = web, .revision = 7, .start = 7, .stop = 6});
        assert_true(pid1_is_active(pid1, "web.service"));
        send_order((Order){.name = "web.service", .remove = true, .revision = 8});
        loop_until(is_gone("web.service"));
        assert_false(pid1_is_active(pid1, "web.service"));
        assert_false(has_file("web.service"));
        assert_int_equal(agent_n_units(w.agent), 0);
}

static void restart_happens_once_however_often_it_is_ordered(void **state) {
        Order o = {.name = "web.service", .content = web, .revision = 5, .start = 5};

        meet_leader(NULL, 0);
        order_and_wait(o);
        o.revision = o.restart = 6;
        send_order(o);
        send_order(o);
        loop_until(answered("web.service", 6));
        send_order(o);
        o.revision = 7;
        order_and_wait(o);
        assert_int_equal(pid1_runs(pid1, "web.service"), 2);
}

static void one_failing_unit_holds_up_no_other(void **state) {
        meet_leader(NULL, 0);
        send_orders((Order[]){{.name = "bad.service", .content = bad, .revision = 5, .start = 5},
                              {.name = "web.service", .content = web, .revision = 6, .start = 6}},
                    2);
        loop_until(answered("web.service", 6) && answered("bad.service", 5));
        assert_int_equal(report_of("bad.service")->active, ARGOSY__ACTIVE_STATE__ACTIVE_FAILED);
        assert_string_equal(report_of("bad.service")->error, "start failed (exit-code)");
        assert_int_equal(pid1_runs(pid1, "bad.service"), 1);
        // A new request tries again; the failure is forgotten first.
        order_and_wait((Order){.name = "bad.service", .content = bad, .revision = 7, .start = 7});
        assert_int_equal(pid1_runs(pid1, "bad.service"), 2);
}

static void units_survive_a_restart_of_argosyd(void **state) {
        Order orders[] = {
                {.name = "web@1.service", .content = web, .from_template = true, .revision = 5, .start = 5},
                {.name = "idle.service", .content = web2, .loaded_only = true, .revision = 6}};

        meet_leader(NULL, 0);
        send_orders(orders, 2);
        loop_until(answered("web@1.service", 5) && answered("idle.service", 6));
        agent_restart();
        meet_leader(orders, 2);
        assert_int_equal(w.attach->attach->n_held, 2);
        assert_int_equal(w.attach->attach->held[0]->spec.len, HASH_SIZE);
        orders[0].revision = 9; // something else about it changed
        send_orders(orders, 1);
        loop_until(answered("web@1.service", 9));
        assert_int_equal(pid1_runs(pid1, "web@1.service"), 1);
        assert_int_equal(pid1_n_jobs(pid1), 1);
}

static void stopped_by_hand_stays_stopped_and_is_drift(void **state) {
        Order o = {.name = "web.service", .content = web, .revision = 5, .start = 5};

        meet_leader(NULL, 0);
        order_and_wait(o);
        pid1_stop(pid1, "web.service");
        loop_until(report_of("web.service")->down == ARGOSY__DOWN_CAUSE__DOWN_STOPPED);
        w.term++;
        meet_leader(&o, 1);
        o.revision = 6;
        order_and_wait(o);
        assert_true(report_of("web.service")->down == ARGOSY__DOWN_CAUSE__DOWN_STOPPED);
        assert_int_equal(pid1_runs(pid1, "web.service"), 1);
        o.revision = o.start = 7;
        send_order(o);
        loop_until(answered("web.service", 7));
        assert_false(report_of("web.service")->down == ARGOSY__DOWN_CAUSE__DOWN_STOPPED);
        assert_int_equal(pid1_runs(pid1, "web.service"), 2);
}

static void a_lost_connection_to_systemd_is_looked_over(void **state) {
        Order orders[] = {{.name = "web.service", .content = web, .revision = 5, .start = 5},
                          {.name = "late.service", .content = web2, .revision = 6, .start = 6}};

        meet_leader(NULL, 0);
        send_orders(orders, 1);
        loop_until(answered("web.service", 5));
        pid1_hold_jobs(pid1, true);
        send_orders(orders + 1, 1);
        loop_until(pid1_n_held(pid1) == 1);
        pid1_disconnect(pid1);
        pid1_hold_jobs(pid1, false);
        pid1_reconnect(pid1);
        loop_until(answered("late.service", 6));
        assert_int_equal(pid1_runs(pid1, "late.service"), 1);
        assert_int_equal(pid1_runs(pid1, "web.service"), 1);
}

static off_t ledger_size(void) {
        _cleanup_free_ char *path = str_printf("%s/ledger", w.dir);
        struct stat st;

        assert_int_equal(stat(path, &st), 0);
        return st.st_size;
}

// All units are looked at when the connection is back; of those that are as they are to be nothing is noted.
static void looking_at_a_unit_again_writes_nothing(void **state) {
        meet_leader(NULL, 0);
        order_and_wait((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        order_and_wait((Order){.name = "late.service", .content = web, .revision = 5, .start = 5});
        off_t before = ledger_size();
        pid1_stop(pid1, "web.service");
        loop_until(report_of("web.service")->down == ARGOSY__DOWN_CAUSE__DOWN_STOPPED);
        off_t one_record = ledger_size() - before + 1; // the other name is a byte longer
        before = ledger_size();
        pid1_disconnect(pid1);
        pid1_stop(pid1, "late.service");
        pid1_reconnect(pid1);
        loop_until(report_of("late.service")->down == ARGOSY__DOWN_CAUSE__DOWN_STOPPED);
        assert_int_equal(ledger_size(), before + one_record); // why that one is down
        order_and_wait((Order){.name = "web.service", .content = web, .revision = 6, .start = 6});
        assert_true(ledger_size() > before);
}

static void a_stop_overtakes_a_start(void **state) {
        meet_leader(NULL, 0);
        send_order((Order){.name = "job.service", .content = job, .revision = 5, .start = 5});
        loop_until(pid1_runs(pid1, "job.service") == 1);
        order_and_wait((Order){.name = "job.service",
                           .content = job,
                           .loaded_only = true,
                           .revision = 6,
                           .start = 5,
                           .stop = 6});
        assert_string_equal(report_of("job.service")->error, "");
        assert_null(report_of("job.service")->outcome);
}

// What the leader holds back has a revision of no start, and the start that it was is wanted again
// afterwards.
static void what_was_held_back_starts_again_by_the_same_order(void **state) {
        const Order start = {.name = "web.service", .content = web, .revision = 5, .start = 5},
                    held = {.name = "web.service",
                            .content = web,
                            .loaded_only = true,
                            .stay = true,
                            .start = 5};

        meet_leader(NULL, 0);
        send_order(start);
        loop_until(answered("web.service", 5));
        send_order(held);
        loop_until(report_of("web.service")->stays);
        assert_false(pid1_is_active(pid1, "web.service"));
        send_order(start);
        loop_until(answered("web.service", 5));
        assert_true(pid1_is_active(pid1, "web.service"));

        pid1_hold_jobs(pid1, true);
        send_order(held);
        loop_until(pid1_n_held(pid1) == 1);
        send_orders((Order[]){start,
                              {.name = "job.service", .content = job, .loaded_only = true, .revision = 6}},
                    2);
        loop_until(agent_unit_find(w.agent->system,
                                   "job.service")); // so both are heard before the stop has ended
        assert_int_equal(pid1_n_held(pid1), 1);
        pid1_hold_jobs(pid1, false);
        loop_until(pid1_runs(pid1, "web.service") == 3);
        loop_until(answered("web.service", 5) && pid1_is_active(pid1, "web.service"));
        assert_false(report_of("web.service")->down == ARGOSY__DOWN_CAUSE__DOWN_STOPPED);
}

static void a_name_that_is_active_without_a_file_is_refused(void **state) {
        _cleanup_free_ char *path = str_printf("%s/theirs.service", w.unit_dir);

        assert_int_equal(file_replace(AT_FDCWD, path, web, strlen(web), 0644, 0), 0);
        pid1_start(pid1, "theirs.service"); // as a transient unit
        assert_int_equal(unlink(path), 0);
        meet_leader(NULL, 0);
        order_and_wait((Order){.name = "theirs.service", .content = web2, .revision = 5, .start = 5});
        assert_true(report_of("theirs.service")->refused);
        assert_false(has_file("theirs.service"));
        send_order((Order){.name = "theirs.service", .remove = true, .revision = 6});
        loop_until(is_gone("theirs.service"));
        assert_true(pid1_is_active(pid1, "theirs.service"));
}

static Argosy__Response *local_answer;

static void on_local_answer(const Argosy__Response *response, void *userdata) {
        size_t len = argosy__response__get_packed_size(response);
        _cleanup_free_ uint8_t *bytes = malloc(len + 1);

        argosy__response__pack(response, bytes);
        local_answer = argosy__response__unpack(NULL, len, bytes);
}

static void local_units_are_listed_and_stopped_without_a_leader(void **state) {
        Argosy__Response rows = ARGOSY__RESPONSE__INIT;
        char *names[] = {(char *) "web.service", (char *) "other.service"};
        uint64_t cancel;

        meet_leader(NULL, 0);
        order_and_wait((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        agent_on_leader(w.agent, 0, 0);
        agent_local_units(w.agent, &rows);
        assert_int_equal(rows.units->n_rows, 1);
        assert_string_equal(rows.units->rows[0]->unit, "web.service");
        assert_string_equal(rows.units->rows[0]->active, "active");
        Argosy__Request__LocalStop stop = MESSAGE_OF(request__local_stop, .names = names, .n_names = 2);
        assert_int_equal(agent_call(w.agent, 0, 0, A_REQUEST(LOCAL_STOP, local_stop, &stop), on_local_answer,
                                    NULL, &cancel),
                         0);
        loop_until(local_answer);
        assert_int_equal(local_answer->change->units[0]->status, 0);
        assert_int_equal(local_answer->change->units[1]->status, ENOENT);
        assert_false(pid1_is_active(pid1, "web.service"));
        argosy__response__free_unpacked(local_answer, NULL);
        local_answer = NULL;
}

static void ask_for_status(uint64_t id, const char *name) {
        char *names[] = {(char *) name};
        Argosy__Request__Status status = MESSAGE_OF(request__status, .names = names, .n_names = 1);
        Argosy__Request request = REQUEST_OF(STATUS, status, &status);
        Argosy__ToHost__Call call = CALL_OF(.id = id, .node = NODE, .request = &request);

        agent_on_message(w.agent, A_TO_HOST(CALL, call, &call));
}

static void cancel_call(uint64_t id) {
        Argosy__ToHost__CallCancel cancel = MESSAGE_OF(to_host__call_cancel, .id = id);

        agent_on_message(w.agent, A_TO_HOST(CALL_CANCEL, call_cancel, &cancel));
}

// However many it asks about at once; what nobody wants to know any more is left out.
static void the_leader_gets_the_status_of_all_units_that_it_asks_about(void **state) {
        enum { ASKED = 200, CANCELLED = 40 };

        meet_leader(NULL, 0);
        order_and_wait((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        for (unsigned i = 0; i < ASKED; i++)
                ask_for_status(100 + i, i % 2 ? "web.service" : "none.service");
        for (unsigned i = 0; i < CANCELLED / 2; i++) {
                cancel_call(100 + i);             // it has begun
                cancel_call(100 + ASKED - 1 - i); // it waits
        }
        loop_until(w.n_call_replies == ASKED - CANCELLED);
        assert_int_equal(w.n_call_errors, 0);
}

static void the_leader_gets_the_status_of_a_unit(void **state) {
        const Argosy__Response *response;

        meet_leader(NULL, 0);
        order_and_wait((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        ask_for_status(77, "web.service");
        loop_until(w.call_reply);
        assert_int_equal(w.call_reply->call_reply->id, 77);
        response = w.call_reply->call_reply->response;
        assert_true(response->final);
        assert_int_equal(response->status, 0);
        assert_string_equal(response->status_reply->row->active, "active");
        assert_string_equal(response->status_reply->desired, "launched");
        assert_string_equal(response->status_reply->properties[0]->key, "Id");
}

RUN_TESTS(
        WORLD_TEST(starts_a_hundred_units_in_one_batch),
        WORLD_TEST(a_loaded_unit_is_parsed_and_not_started),
        WORLD_TEST(stop_then_start_then_removal),
        WORLD_TEST(restart_happens_once_however_often_it_is_ordered),
        WORLD_TEST(one_failing_unit_holds_up_no_other),
        WORLD_TEST(units_survive_a_restart_of_argosyd),
        WORLD_TEST(stopped_by_hand_stays_stopped_and_is_drift),
        WORLD_TEST(a_lost_connection_to_systemd_is_looked_over),
        WORLD_TEST(looking_at_a_unit_again_writes_nothing),
        WORLD_TEST(a_stop_overtakes_a_start),
        WORLD_TEST(what_was_held_back_starts_again_by_the_same_order),
        WORLD_TEST(a_name_that_is_active_without_a_file_is_refused),
        WORLD_TEST(local_units_are_listed_and_stopped_without_a_leader),
        WORLD_TEST(the_leader_gets_the_status_of_a_unit),
        WORLD_TEST(the_leader_gets_the_status_of_all_units_that_it_asks_about)
)
