// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Resource use as the agent tells it: which units, where their control groups are looked for, and when it is
// read. PID 1 is in memory, control groups are recorded trees.
#include <sys/stat.h>

#include "agent-rig.h"

#include "agent-private.h"
#include "fake-pid1.h"
#include "messages.h"
#include "printed.h"

static FakePid1 *pid1;
static char *root;

typedef struct Received { // pages of one look, copied
        Argosy__Response *pages[64];
        size_t n_pages;
        size_t n_rows, n_readings; // readings that were complete
        bool final;
        uint64_t cancel_after; // a look that is cancelled from inside the first page
} Received;

FIXTURE(world_up) {
        rig_up();
        root = str_printf("%s/cgroup", w.dir);
        assert_int_equal(mkdir(root, 0755), 0);
        w.cgroup_root = root;
        pid1 = pid1_new(w.unit_dir);
        agent_up();
}

static int world_down(void **state) {
        if (w.agent)
                agent_down();
        pid1 = pid1_free(pid1);
        free(TAKE_PTR(root));
        return rig_down();
}

static void received_done(Received *h) {
        for (size_t i = 0; i < h->n_pages; i++)
                argosy__response__free_unpacked(h->pages[i], NULL);
        *h = (Received){};
}

static void on_page(const Argosy__Response *response, void *userdata) {
        Received *h = userdata;
        size_t len = argosy__response__get_packed_size(response);
        uint8_t *bytes = malloc(len + 1);

        assert_false(h->final);
        assert_true(h->n_pages < ELEMENTSOF(h->pages));
        argosy__response__pack(response, bytes);
        h->pages[h->n_pages++] = argosy__response__unpack(NULL, len, bytes);
        free(bytes);
        h->final = response->final;
        if (response->what_case != ARGOSY__RESPONSE__WHAT_USAGE)
                return;
        h->n_rows += response->usage->n_rows;
        h->n_readings += response->usage->last;
        if (h->cancel_after)
                agent_cancel(w.agent, h->cancel_after);
}

static const Argosy__Response__UsageRow *row_of(const Received *h, const char *unit) {
        for (size_t i = h->n_pages; i > 0; i--) {
                const Argosy__Response__Usage *u = h->pages[i - 1]->usage;

                for (size_t k = 0; k < u->n_rows; k++)
                        if (streq(u->rows[k]->unit, unit))
                                return u->rows[k];
        }
        return NULL;
}

static int query(Received *h, const char *pattern, uint32_t interval_ms, uint64_t *ret) {
        char *patterns[] = {(char *) pattern};
        Argosy__Request__Top top =
                TOP_OF(.patterns = patterns, .n_patterns = pattern != NULL, .interval_ms = interval_ms);

        return agent_call(w.agent, 0, 0, A_REQUEST(TOP, top, &top), on_page, h, ret);
}

static void query_once(Received *h, const char *pattern) {
        uint64_t cancel;

        received_done(h);
        assert_int_equal(query(h, pattern, 0, &cancel), 0);
        loop_until(h->final);
        assert_int_equal(h->n_readings, 1);
}

// In place, as the kernel's files change: they are held open.
static void write_file(const char *path, const char *text) {
        FILE *f = fopen(path, "w");

        assert_non_null(f);
        assert_true(fputs(text, f) >= 0);
        assert_int_equal(fclose(f), 0);
}

// A control group below the root with this CPU time and a thread.
static void record(const char *path, unsigned cpu_us) {
        char step[512];
        int n;

        for (const char *p = path; p; p = strchr(p + 1, '/')) {
                const char *end = strchr(p + 1, '/') ?: path + strlen(path);

                n = snprintf(step, sizeof(step), "%s/%.*s", root, (int) (end - path), path);
                assert_true(n < (int) sizeof(step));
                assert_true(mkdir(step, 0755) == 0 || errno == EEXIST);
        }
        snprintf(step, sizeof(step), "%s/%s/cpu.stat", root, path);
        write_file(step, printed("usage_usec %u\n", cpu_us));
        snprintf(step, sizeof(step), "%s/%s/cgroup.threads", root, path);
        write_file(step, "1\n");
}

static void start(const char *name, bool from_template) {
        static uint64_t revision = 5;

        revision++;
        send_order((Order){.name = name,
                           .content = web,
                           .from_template = from_template,
                           .revision = revision,
                           .start = revision});
        loop_until(answered(name, revision));
}

static void active_units_have_rows(void **state) {
        _cleanup_(received_done) Received h = {};

        meet_leader(NULL, 0);
        start("web.service", false);
        start("my-web@1.service", true);
        start("memory.service", false);
        start("old.service", false);
        pid1_stop(pid1, "old.service");
        record("system.slice/web.service", 1000);
        record("system.slice/system-my\\x2dweb.slice/my-web@1.service", 2000);
        record("system.slice/_memory.service", 3000);
        record("system.slice/old.service", 4000); // stopped: not looked at
        query_once(&h, NULL);
        assert_int_equal(h.n_rows, 3);
        assert_string_equal(h.pages[0]->usage->node, "one");
        const Argosy__Response__UsageRow *row = row_of(&h, "web.service");
        assert_int_equal(row->known, 1 + 2);
        assert_int_equal(row->cpu_us, 1000);
        assert_int_equal(row->tasks, 1);
        assert_true(row->run != 0 && row->at_us != 0);
        assert_int_equal(row_of(&h, "my-web@1.service")->cpu_us, 2000);
        assert_int_equal(row_of(&h, "memory.service")->cpu_us, 3000);
        query_once(&h, "my-*");
        assert_int_equal(h.n_rows, 1);
        query_once(&h, "web.service");
        assert_int_equal(h.n_rows, 1);
        query_once(&h, "web.servic?");
        assert_int_equal(h.n_rows, 1);
        query_once(&h, "web");
        assert_int_equal(h.n_rows, 0);
        query_once(&h, "nothing*");
        assert_int_equal(h.n_rows, 0);
        assert_int_equal(pid1_n_groups(pid1), 0); // the rule knew them all
}

static void units_elsewhere_are_asked_for_once(void **state) {
        _cleanup_(received_done) Received h = {};

        meet_leader(NULL, 0);
        start("odd.service", false);
        record("told/odd.service", 5000);
        query_once(&h, NULL);
        assert_int_equal(h.n_rows, 0);
        loop_until(pid1_n_groups(pid1) == 1);
        query_once(&h, NULL);
        assert_int_equal(row_of(&h, "odd.service")->cpu_us, 5000);
        query_once(&h, NULL);
        assert_int_equal(pid1_n_groups(pid1), 1);
        start("none.service", false); // is nowhere
        query_once(&h, NULL);
        loop_until(pid1_n_groups(pid1) == 2);
        query_once(&h, NULL);
        query_once(&h, NULL);
        assert_int_equal(pid1_n_groups(pid1), 2);
        send_order((Order){.name = "odd.service", .revision = 1000, .remove = true});
        loop_until(is_gone("odd.service"));
        query_once(&h, NULL);
        assert_int_equal(h.n_rows, 0);
}

static void a_look_goes_on_until_it_is_cancelled(void **state) {
        Received h = {};
        uint64_t cancel;

        meet_leader(NULL, 0);
        assert_int_equal(query(&h, NULL, 100, &cancel), 0);
        loop_until(h.n_readings == 1); // of no units
        start("web.service", false);
        record("system.slice/web.service", 1);
        loop_until(h.n_rows >= 2);
        record("system.slice/web.service", 2);
        loop_until(row_of(&h, "web.service")->cpu_us == 2);
        assert_false(h.final);
        agent_cancel(w.agent, cancel);
        agent_cancel(w.agent, cancel);
        h.n_readings = 0;
        received_done(&h);
        query_once(&h, NULL);
        assert_int_equal(h.n_rows, 1);
        received_done(&h);
}

// However many units there are.
static void no_turn_has_more_than_its_pieces(void) {
        _cleanup_(received_done) Received h = {};
        uint64_t cancel;
        size_t before = 0;

        assert_int_equal(query(&h, NULL, 0, &cancel), 0);
        assert_int_equal(h.n_pages, 0);
        while (!h.final) {
                uv_run(&test_loop, UV_RUN_ONCE);
                assert_true(h.n_pages - before <= USAGE_JOBS_MAX);
                before = h.n_pages;
        }
}

static void units_may_go_during_a_reading(void **state) {
        enum { N = 4 * USAGE_UNITS_PER_READING };
        static char names[N][32];
        static Order orders[N];
        Received h = {};
        uint64_t cancel;

        meet_leader(NULL, 0);
        for (int i = 0; i < N; i++) {
                snprintf(names[i], sizeof(names[i]), "u%i.service", i);
                record(printed("told/%s", names[i]), 7);
                orders[i] = (Order){.name = names[i], .content = web, .revision = 5, .start = 5};
        }
        send_orders(orders, N);
        for (int i = 0; i < N; i++)
                loop_until(answered(names[i], 5));
        for (unsigned before = UINT32_MAX; before != pid1_n_groups(pid1);) {
                before = pid1_n_groups(pid1);
                query_once(&h, NULL);
                loop_until(w.agent->system->n_asking == 0);
        }
        received_done(&h);
        assert_int_equal(query(&h, NULL, 0, &cancel), 0);
        for (int i = 0; i < N; i++) {
                AgentUnit *u = agent_unit_find(w.agent->system, names[i]);

                if (i % 3 == 0)
                        agent_unit_free(u);
        }
        loop_until(h.final);
        assert_true(h.n_rows >= N - (N + 2) / 3 && h.n_rows <= N); // none of those that stayed is left out
        for (int i = 0; i < N; i++)
                assert_true(i % 3 == 0 || row_of(&h, names[i]));
        received_done(&h);
}

static void rows_come_in_pages_and_a_page_may_end_it(void **state) {
        enum { N = 1030, ORDERS = 500 };
        static char names[N][32];
        static Order orders[N];
        Received h = {};
        uint64_t cancel;

        meet_leader(NULL, 0);
        for (int i = 0; i < N; i++) {
                char path[64];

                snprintf(names[i], sizeof(names[i]), "u%i.service", i);
                orders[i] = (Order){.name = names[i], .content = web, .revision = 5, .start = 5};
                snprintf(path, sizeof(path), "told/%s", names[i]);
                if (i % 2)
                        snprintf(path, sizeof(path), "system.slice/%s", names[i]);
                record(path, (unsigned) i);
        }
        for (int i = 0; i < N; i += ORDERS)
                send_orders(orders + i, (size_t) MIN_OF(ORDERS, N - i));
        for (int i = 0; i < N; i++)
                loop_until(answered(names[i], 5));
        // Those beyond the first are spread over slices, where no group was recorded: systemd is asked.
        for (unsigned before = UINT32_MAX; before != pid1_n_groups(pid1);) {
                before = pid1_n_groups(pid1);
                query_once(&h, NULL);
                loop_until(w.agent->system->n_asking == 0);
        }
        query_once(&h, NULL);
        assert_true(h.n_rows > 512);
        assert_true(h.n_pages >= (h.n_rows + USAGE_UNITS_PER_READING - 1) / USAGE_UNITS_PER_READING);
        for (size_t i = 0; i < h.n_pages; i++) {
                assert_int_equal(h.pages[i]->usage->last, i + 1 == h.n_pages);
                assert_true(h.pages[i]->usage->n_rows <= USAGE_UNITS_PER_READING);
        }
        no_turn_has_more_than_its_pieces();

        received_done(&h);
        assert_int_equal(query(&h, NULL, 1000, &cancel), 0);
        h.cancel_after = cancel;
        loop_until(h.n_pages == 1);
        query_once(&h, "u1.service");
        assert_int_equal(h.n_pages, 1);
        received_done(&h);
}

static void too_many_patterns_are_refused(void **state) {
        Argosy__Request__Top top = ARGOSY__REQUEST__TOP__INIT;
        Argosy__Request request = REQUEST_OF(TOP, top, &top);
        char *patterns[65];
        uint64_t cancel;
        _cleanup_(received_done) Received h = {};

        for (size_t i = 0; i < ELEMENTSOF(patterns); i++)
                patterns[i] = (char *) (i < 64 ? "a*" : "b*");
        top.patterns = patterns;
        top.n_patterns = ELEMENTSOF(patterns);
        assert_int_equal(agent_call(w.agent, 0, 0, &request, on_page, &h, &cancel), -E2BIG);
        patterns[64] = (char *) "plain.service";
        assert_int_equal(agent_call(w.agent, 0, 0, &request, on_page, &h, &cancel), 0);
        loop_until(h.final);
}

static void too_many_looks_are_refused(void **state) {
        static Received received[AGENT_CALLS_MAX];
        Received h = {};
        uint64_t cancel;

        meet_leader(NULL, 0);
        for (size_t i = 0; i < AGENT_CALLS_MAX; i++)
                assert_int_equal(query(&received[i], NULL, 10000, &cancel), 0);
        assert_int_equal(query(&h, NULL, 10000, &cancel), -EBUSY);
        agent_cancel(w.agent, cancel);
        // and closing with looks under way leaves nothing behind
        agent_down();
        for (size_t i = 0; i < AGENT_CALLS_MAX; i++)
                received_done(&received[i]);
}

static void the_leader_looks_through_its_link(void **state) {
        Argosy__ToHost__CallCancel cancel = MESSAGE_OF(to_host__call_cancel, .id = 78);
        Argosy__Request__Top top = TOP_OF(.interval_ms = 100);
        Argosy__Request request = REQUEST_OF(TOP, top, &top);
        const Argosy__Response *response;

        meet_leader(NULL, 0);
        start("web.service", false);
        record("system.slice/web.service", 1);
        Argosy__ToHost__Call call = CALL_OF(.id = 78, .node = NODE, .request = &request);
        Argosy__ToHost m = TO_HOST_OF(CALL, call, &call);
        agent_on_message(w.agent, &m);
        loop_until(w.call_reply);
        assert_int_equal(w.call_reply->call_reply->id, 78);
        response = w.call_reply->call_reply->response;
        assert_int_equal(response->usage->n_rows, 1);
        assert_false(response->final);
        m.msg_case = ARGOSY__TO_HOST__MSG_CALL_CANCEL;
        m.call_cancel = &cancel;
        agent_on_message(w.agent, &m);
        assert_true(list_is_empty(&w.agent->usage_queries));
}

static void status_has_what_the_unit_uses(void **state) {
        char *names[] = {(char *) "web.service", (char *) "idle.service"};
        Received h = {};
        uint64_t cancel;

        meet_leader(NULL, 0);
        start("web.service", false);
        start("idle.service", false);
        record("told/web.service", 777); // as its property says
        Argosy__Request__Status status = MESSAGE_OF(request__status, .names = names, .n_names = 2);
        Argosy__Request request = REQUEST_OF(STATUS, status, &status);
        assert_int_equal(agent_call(w.agent, 0, 0, &request, on_page, &h, &cancel), 0);
        loop_until(h.final);
        assert_int_equal(h.n_pages, 2);
        assert_int_equal(h.pages[0]->status_reply->usage->cpu_us, 777);
        assert_string_equal(h.pages[0]->status_reply->usage->unit, "web.service");
        assert_null(h.pages[1]->status_reply->usage);
        received_done(&h);
        // cancelled at any point
        for (unsigned turns = 0; turns < 12; turns++) {
                assert_int_equal(agent_call(w.agent, 0, 0, &request, on_page, &h, &cancel), 0);
                for (unsigned i = 0; i < turns; i++)
                        uv_run(&test_loop, UV_RUN_NOWAIT);
                if (!h.final)
                        agent_cancel(w.agent, cancel);
                received_done(&h);
        }
}

#define WORLD_TEST(name) cmocka_unit_test_setup_teardown(name, world_up, world_down)

RUN_TESTS(
        WORLD_TEST(active_units_have_rows),
        WORLD_TEST(units_elsewhere_are_asked_for_once),
        WORLD_TEST(a_look_goes_on_until_it_is_cancelled),
        WORLD_TEST(rows_come_in_pages_and_a_page_may_end_it),
        WORLD_TEST(units_may_go_during_a_reading),
        WORLD_TEST(too_many_patterns_are_refused),
        WORLD_TEST(too_many_looks_are_refused),
        WORLD_TEST(the_leader_looks_through_its_link),
        WORLD_TEST(status_has_what_the_unit_uses)
)
