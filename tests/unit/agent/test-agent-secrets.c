// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The agent and secrets: a unit that runs after an order has those that the order names, whatever this host
// has missed.
#include "agent-world.h"

#include <sys/stat.h>

#include "agent-private.h"
#include "carried-files.h"
#include "clock.h"
#include "messages.h"

static const char reads[] = "[Service]\nExecStart=/bin/sleep 3\n[X-Argosy]\nSecret=db\n";

// An order for one unit with its secret in a version.
typedef struct Given {
        Argosy__OrderSecret secret, *secrets[1];
        Argosy__SecretValue value, *values[1];
        Order order;
} Given;

static void give(Given *g, uint64_t version, Order order) {
        g->secret = (Argosy__OrderSecret) MESSAGE_OF(order_secret, .id = (char *) "db",
                                                     .name = (char *) "db", .version = version);
        g->secrets[0] = &g->secret;
        g->value = (Argosy__SecretValue) MESSAGE_OF(
                secret_value, .name = (char *) "db", .version = version,
                .value = (ProtobufCBinaryData){1, (uint8_t *) "0123456789" + version});
        g->values[0] = &g->value;
        w.secret_values = g->values;
        w.n_secret_values = 1;
        g->order = order;
        g->order.name = "web.service";
        g->order.content = order.content ?: reads;
        g->order.secrets = g->secrets;
        g->order.n_secrets = 1;
}

static void order(uint64_t version, Order order) {
        Given g;

        give(&g, version, order);
        send_order(g.order);
        w.n_secret_values = 0;
}

static void meet(uint64_t version, Order order) {
        Given g;

        w.term++;
        give(&g, version, order);
        meet_leader(&g.order, 1);
        w.n_secret_values = 0;
}

// Of the link from which systemd takes it.
static unsigned version_in_place(void) {
        _cleanup_free_ char *path = str_printf("%s/units/web.service/db", w.secrets_dir);
        _cleanup_buf_ Buf text = {};

        assert_int_equal(file_read(AT_FDCWD, path, 100, &text), 0);
        return text.data[0] - '0';
}

// The empty file that the agent has asked for.
static void send_nothing_of_file(const Hash *hash) {
        Argosy__ToHost__FilePiece piece =
                MESSAGE_OF(to_host__file_piece,
                           .hash = (ProtobufCBinaryData){HASH_SIZE, (uint8_t *) hash->bytes}, .there = true);

        agent_on_message(w.agent, A_TO_HOST(FILE_PIECE, file_piece, &piece));
}

static AgentUnit *find(void) {
        return agent_unit_find(CONTAINER_OF(w.agent->nodes.next, AgentNode, in_agent), "web.service");
}

static void start_with_the_first(void) {
        meet_leader(NULL, 0);
        order(1, (Order){.revision = 5, .start = 5});
        loop_until(answered("web.service", 5));
        assert_int_equal(version_in_place(), 1);
        assert_int_equal(pid1_runs(pid1, "web.service"), 1);
}

static void assert_runs_with(unsigned version, unsigned runs) {
        assert_true(pid1_is_active(pid1, "web.service"));
        assert_int_equal(version_in_place(), version);
        assert_int_equal(pid1_runs(pid1, "web.service"), runs);
        assert_string_equal(report_of("web.service")->error, "");
}

// The cluster has taken it for stopped, and started it with what it has now.
static void a_unit_whose_stop_was_missed_starts_with_the_newer_one(void **state) {
        start_with_the_first();
        order(2, (Order){.revision = 7, .start = 7, .stop = 6});
        loop_until(answered("web.service", 7));
        assert_runs_with(2, 2);
        forget_reports();
        order(2, (Order){.revision = 8, .start = 8, .stop = 6}); // it runs with that
        loop_until(answered("web.service", 8));
        assert_runs_with(2, 2);
}

static void nor_did_an_argosyd_that_was_down_hear_of_it(void **state) {
        start_with_the_first();
        agent_restart();
        meet(2, (Order){.revision = 7, .start = 7, .stop = 6});
        loop_until(answered("web.service", 7));
        assert_runs_with(2, 2);
}

static void one_that_has_it_runs_on(void **state) {
        start_with_the_first();
        order(1, (Order){.revision = 7, .start = 7, .stop = 6});
        loop_until(answered("web.service", 7));
        assert_runs_with(1, 1);
        // a version for its next start, which nobody asks for
        order(2, (Order){.revision = 8, .start = 7, .stop = 6});
        loop_until(answered("web.service", 8));
        assert_runs_with(1, 1);
}

// Of an update that systemd would refuse, say: what was promised to run on does.
static void an_undo_of_what_never_came_to_run_restarts_nothing(void **state) {
        start_with_the_first();
        order(2, (Order){.revision = 7, .start = 7});
        loop_until(answered("web.service", 7));
        assert_runs_with(1, 1);
}

// The look at what its files are bound over goes well each time.
static void a_look_before_the_start_ends_neither_the_pause_nor_the_error(void **state) {
        static const char text[] =
                "[Service]\nExecStart=/bin/sleep 3\n[X-Argosy]\nSecret=db\nFile=data:/srv\n";
        _cleanup_carried_files_ CarriedFiles files = {};
        _cleanup_(unit_file_freep) UnitFile *file = NULL;
        _cleanup_buf_ Buf content = {};
        _cleanup_free_ char *why = NULL;
        Hash none = hash_of("", 0);
        Given g;

        assert_int_equal(unit_file_parse("web.service", text, strlen(text), &file, &why), 0);
        assert_int_equal(carried_files_add(&files, "data/none", false, 0, &none), 0);
        assert_int_equal(buf_append(&content, text, strlen(text)), 0);
        assert_int_equal(carried_files_compose("web.service", file, &files, &content, &why), 0);
        assert_int_equal(buf_append(&content, "", 1), 0);
        meet_leader(NULL, 0);
        give(&g, 1, (Order){.content = (const char *) content.data, .revision = 5, .start = 5});
        w.n_secret_values = 0; // it has not come
        send_order(g.order);
        loop_until(w.n_file_asks == 1);
        send_nothing_of_file(&none);
        loop_until(find()->work && find()->work->failures == 1);
        for (unsigned i = 2; i <= 3; i++) {
                assert_true(str_has_prefix(report_of("web.service")->error, "it waits for its secret db"));
                find()->work->retry_us = clock_boot_us();
                agent_unit_mark(find());
                loop_until(find()->work->retry_us > clock_boot_us());
                assert_int_equal(find()->work->failures, i);
        }
}

// What a program has read is what was in place when its start began.
static void a_start_that_is_under_way_is_not_joined_by_one_with_a_newer_one(void **state) {
        meet_leader(NULL, 0);
        pid1_hold_jobs(pid1, true);
        order(1, (Order){.revision = 5, .start = 5});
        loop_until(pid1_n_jobs(pid1) == 1);
        order(2, (Order){.revision = 6, .start = 6});
        order(2, (Order){.revision = 7, .start = 7});
        loop_until(find()->work->wanted.revision == 7 && list_is_empty(&find()->dirty));
        assert_int_equal(pid1_n_jobs(pid1), 1);
        pid1_hold_jobs(pid1, false);
        loop_until(answered("web.service", 7));
        assert_runs_with(2, 2);
}

static int up(void **state) {
        int r = world_up(state);

        agent_down();
        w.secrets_dir = str_printf("%s/secrets", w.dir);
        assert_int_equal(mkdir(w.secrets_dir, 0700), 0);
        agent_up();
        return r;
}

static int down(void **state) {
        free((char *) w.secrets_dir);
        return world_down(state);
}

#define SECRETS_TEST(f) cmocka_unit_test_setup_teardown(f, up, down)

RUN_TESTS(
        SECRETS_TEST(a_unit_whose_stop_was_missed_starts_with_the_newer_one),
        SECRETS_TEST(nor_did_an_argosyd_that_was_down_hear_of_it),
        SECRETS_TEST(one_that_has_it_runs_on),
        SECRETS_TEST(an_undo_of_what_never_came_to_run_restarts_nothing),
        SECRETS_TEST(a_look_before_the_start_ends_neither_the_pause_nor_the_error),
        SECRETS_TEST(a_start_that_is_under_way_is_not_joined_by_one_with_a_newer_one)
)
