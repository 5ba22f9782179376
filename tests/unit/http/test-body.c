// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "buf.h"
#include "http-body.h"
#include "macro.h"
#include "messages.h"
#include "str.h"

static HttpPart packed(const Argosy__Response *r) {
        HttpPart p = {malloc(argosy__response__get_packed_size(r) + 1), 0};

        assert_non_null(p.data);
        p.len = argosy__response__pack(r, p.data);
        return p;
}

// Of units uN.service from `first` on.
static HttpPart units(size_t first, size_t n) {
        Argosy__Response__Units list = ARGOSY__RESPONSE__UNITS__INIT;
        Argosy__Response r = RESPONSE_OF(UNITS, units, &list);
        _cleanup_free_ Argosy__Response__UnitRow *rows = calloc(n + 1, sizeof(*rows));
        _cleanup_free_ Argosy__Response__UnitRow **pointers = calloc(n + 1, sizeof(*pointers));

        for (size_t i = 0; i < n; i++) {
                rows[i] = (Argosy__Response__UnitRow)
                        UNIT_ROW_OF(.unit = str_printf("u%zu.service", first + i),
                                    .active = (char *) ((first + i) % 2 ? "failed" : "active"));
                pointers[i] = &rows[i];
        }
        list.rows = pointers;
        list.n_rows = n;
        list.first = (uint32_t) first;
        HttpPart p = packed(&r);
        for (size_t i = 0; i < n; i++)
                free(rows[i].unit);
        return p;
}

static HttpBody *body_of(const char *text, const HttpPart *parts, size_t n) {
        HttpPart *copy = calloc(n + 1, sizeof(*copy));
        const char *why;
        HttpTarget t;

        memcpy(copy, parts, n * sizeof(*parts));
        assert_int_equal(http_target_parse(text, HTTP_GET, &t, &why), 0);
        HttpBody *b = http_body_new(&t, copy, n, NULL, 0);
        assert_non_null(b);
        assert_null(t.name); // it was taken
        return b;
}

static size_t count(const char *text, const char *word) {
        size_t n = 0;

        for (const char *p = text; (p = strstr(p, word)); p++)
                n++;
        return n;
}

static char *read_all(HttpBody *b, size_t piece) {
        _cleanup_buf_ Buf out = {};
        char buf[4096];
        ssize_t n;

        assert_true(piece <= sizeof(buf));
        while ((n = http_body_read(b, buf, piece)) > 0)
                assert_int_equal(buf_append(&out, buf, (size_t) n), 0);
        assert_int_equal(n, 0);
        assert_int_equal(http_body_read(b, buf, piece), 0);
        http_body_free(b);
        return buf_take_string(&out);
}

static void a_list_says_whether_somebody_leads_and_has_all_fields(void **state) {
        HttpPart part = units(0, 1);
        _cleanup_free_ char *text = read_all(body_of("/v1/units", &part, 1), 4096);

        assert_string_equal(
                text,
                "{\"no_leader\":false,\"units\":[{\"unit\":\"u0.service\",\"node\":\"\","
                "\"load\":\"\",\"active\":\"active\","
                "\"sub\":\"\",\"rev\":\"\",\"note\":\"\",\"drift\":false,\"stale\":false,\"error\":\"\","
                "\"host-id\":\"\",\"restarts\":0,\"since\":0,\"looping\":false,\"image\":\"\","
                "\"digest\":\"\",\"pulling\":false}]}\n");
}

static void an_empty_list_is_a_list(void **state) {
        HttpPart part = units(0, 0);
        _cleanup_free_ char *text = read_all(body_of("/v1/units", &part, 1), 4096);

        assert_string_equal(text, "{\"no_leader\":false,\"units\":[]}\n");
}

// Also where the leader does not look at what was asked for.
static void rows_are_chosen_by_state_and_node(void **state) {
        static const struct {
                const char *target;
                bool is_there;
        } cases[] = {
                {"/v1/unit-files?state=loaded", true},
                {"/v1/unit-files?state=failed&state=launched", true},
                {"/v1/unit-files?state=launched", false},
                {"/v1/unit-files?state=loaded&node=n2", false},
                {"/v1/nodes?state=online&node=n1", true},
                {"/v1/nodes?state=draining", true},
                {"/v1/nodes?state=lost", false},
                {"/v1/nodes?node=n2&node=n3", false},
                {"/v1/hosts?state=online&state=lost", true},
                {"/v1/hosts?node=n1", true},
                {"/v1/hosts?state=lost", false},
                {"/v1/hosts?node=n2", false},
        };
        Argosy__Response__NodeRow node = ARGOSY__RESPONSE__NODE_ROW__INIT, *node_rows[] = {&node};
        Argosy__Response__Nodes nodes = MESSAGE_OF(response__nodes, .rows = node_rows);
        Argosy__Response__ClusterStatus__Member member = ARGOSY__RESPONSE__CLUSTER_STATUS__MEMBER__INIT,
                                                *members[] = {&member};
        Argosy__Response__UnitFileRow file = UNIT_FILE_ROW_OF(.unit = node.address = member.address =
                                                                      (char *) "that",
                                                              .node = node.node = member.name =
                                                                      (char *) "n1",
                                                              .desired = (char *) "loaded",
                                                              .state = (char *) "failed"),
                                      *file_rows[] = {&file};
        node.state = member.state = (char *) "online";
        node.mode = (char *) "draining";
        member.role = (char *) "leader";
        Argosy__Response__ClusterStatus status = CLUSTER_STATUS_OF(.members = members);
        Argosy__Response__UnitFiles files = MESSAGE_OF(response__unit_files, .rows = file_rows,
                                                       .n_rows = nodes.n_rows = status.n_members = 1);
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                Argosy__Response r =
                        RESPONSE_WITH(.what_case = i < 4   ? ARGOSY__RESPONSE__WHAT_UNIT_FILES
                                                   : i < 8 ? ARGOSY__RESPONSE__WHAT_NODES
                                                           : ARGOSY__RESPONSE__WHAT_CLUSTER_STATUS);
                _cleanup_free_ char *text = NULL;

                if (i < 4)
                        r.unit_files = &files;
                else if (i < 8)
                        r.nodes = &nodes;
                else
                        r.cluster_status = &status;
                HttpPart part = packed(&r);
                text = read_all(body_of(cases[i].target, &part, 1), 4096);
                assert_int_equal(count(text, "\"that\""), cases[i].is_there);
        }
}

static void what_is_known_without_a_leader_has_its_age(void **state) {
        Argosy__Response__Nodes nodes = ARGOSY__RESPONSE__NODES__INIT;
        _cleanup_free_ char *text = NULL;
        HttpPart part = packed(A_RESPONSE(NODES, nodes, &nodes, .no_leader = true, .stale_ms = 1500,
                                          .message = (char *) "\"odd\"\n"));

        text = read_all(body_of("/v1/nodes", &part, 1), 4096);
        assert_string_equal(
                text,
                "{\"no_leader\":true,\"stale_ms\":1500,\"message\":\"\\\"odd\\\"\\n\",\"nodes\":[]}\n");
}

static void a_page_of_jobs_says_where_the_next_one_begins(void **state) {
        Argosy__Response__JobRow row = JOB_ROW_OF(.job = 18), *rows[] = {&row};
        _cleanup_free_ char *more = NULL, *last = NULL, *begin = NULL;
        char page[HTTP_PAGE_SIZE];
        Argosy__Response__Jobs jobs = MESSAGE_OF(response__jobs, .rows = rows, .n_rows = 1, .before = 17);
        Argosy__Response r = RESPONSE_OF(JOBS, jobs, &jobs);

        HttpPart part = packed(&r);
        HttpBody *b = body_of("/v1/jobs", &part, 1);
        assert_true(http_body_next(b, page));
        more = read_all(b, 4096);
        begin = str_printf("{\"no_leader\":false,\"next\":\"%s\",\"jobs\":[{\"job\":18,", page);
        assert_ptr_equal(strstr(more, begin), more);
        jobs.before = 0;
        part = packed(&r);
        b = body_of("/v1/jobs", &part, 1);
        assert_false(http_body_next(b, page));
        last = read_all(b, 4096);
        assert_ptr_equal(strstr(last, "{\"no_leader\":false,\"jobs\":[{\"job\":18,"), last);
}

// Units of job 17 from number `first` on; more: behind these.
static HttpPart job(unsigned first, unsigned n, unsigned more) {
        Argosy__Response__Jobs jobs = ARGOSY__RESPONSE__JOBS__INIT;
        Argosy__Response r = RESPONSE_OF(JOBS, jobs, &jobs);
        Argosy__Response__JobRow row = ARGOSY__RESPONSE__JOB_ROW__INIT, *rows[] = {&row};
        Argosy__Response__JobUnitRow units[100], *pointers[100];
        Argosy__Response__JobSettingRow setting = ARGOSY__RESPONSE__JOB_SETTING_ROW__INIT,
                                        *settings[] = {&setting};
        uint64_t after[] = {7, 8}, waiting[] = {21};
        char names[100][16];

        assert_true(n <= ELEMENTSOF(units));
        for (unsigned i = 0; i < n; i++) {
                argosy__response__job_unit_row__init(&units[i]);
                str_fit(names[i], sizeof(names[i]), "u%u", first + i);
                units[i].unit = names[i];
                pointers[i] = &units[i];
        }
        if (first == 0) {
                units[0].end = (char *) "overtaken";
                units[0].end_message = (char *) "by job 18";
                units[0].by = 18;
                units[0].revision = 41;
        }
        setting.setting = (char *) "label disk of n1";
        setting.after = (char *) "ssd";
        row.job = 17;
        row.after = after;
        row.n_after = 2;
        row.waiting = waiting;
        row.n_waiting = 1;
        row.settings = settings;
        row.n_settings = first == 0;
        row.units = pointers;
        row.n_units = n;
        row.more_units = more;
        jobs.rows = rows;
        jobs.n_rows = 1;
        return packed(&r);
}

#define UNIT_BEGINS(name) "{\"unit\":\"" name "\",\"rev\":\"\",\"desired\":\"\",\"end\":"

static void a_job_says_what_became_of_its_units(void **state) {
        HttpPart part = job(0, 1, 0);
        _cleanup_free_ char *text = read_all(body_of("/v1/jobs/17", &part, 1), 4096);

        assert_ptr_equal(strstr(text, "{\"no_leader\":false,\"jobs\":[{\"job\":17,"), text);
        assert_non_null(strstr(text,
                               "\"waits\":\"\",\"groups\":[],\"more-targets\":0,\"cut\":false,\"after\":[7,"
                               "8],\"waiting\":[21],\"settings\":[{\"setting\":\"label disk of n1\","
                               "\"before\":\"\",\"after\":\"ssd\"}],\"units\":[" UNIT_BEGINS(
                                       "u0") "\"overtaken\",\"end_message\":\"by job 18\","
                                             "\"node\":\"\",\"now\":\"\",\"message\":\"\",\"revision\":41,"
                                             "\"by\":18,\"from\":\"\",\"time\":0}]}]}\n"));
}

static void the_targets_of_a_job_are_the_names_of_all_its_units(void **state) {
        HttpPart parts[] = {job(0, 2, 2), job(2, 2, 0)}, none = job(0, 0, 0);
        _cleanup_free_ char *text = read_all(body_of("/v1/jobs/17/targets", parts, 2), 4096),
                            *empty = read_all(body_of("/v1/jobs/17/targets", &none, 1), 4096);

        assert_string_equal(text, "{\"no_leader\":false,\"targets\":[\"u0\",\"u1\",\"u2\",\"u3\"]}\n");
        assert_string_equal(empty, "{\"no_leader\":false,\"targets\":[]}\n");
}

// As it came in several answers, in whatever pieces it is read; and how many units are behind the last of
// them.
static void a_job_of_many_units_is_one_document(void **state) {
        HttpPart parts[] = {job(0, 100, 105), job(100, 100, 5), job(200, 2, 3)},
                 again[] = {job(0, 100, 105), job(100, 100, 5), job(200, 2, 3)}, none[] = {job(0, 0, 0)};
        _cleanup_free_ char *text = read_all(body_of("/v1/jobs/17", parts, 3), 4096),
                            *crumbs = read_all(body_of("/v1/jobs/17", again, 3), 1),
                            *empty = read_all(body_of("/v1/jobs/17", none, 1), 4096);

        assert_int_equal(count(text, "\"job\":17"), 1);
        assert_int_equal(count(text, "\"settings\":[{"), 1);
        assert_int_equal(count(text, "\"unit\":"), 202);
        assert_non_null(strstr(text, ",\"by\":0,\"from\":\"\",\"time\":0}," UNIT_BEGINS("u100")));
        assert_non_null(strstr(text, "}],\"more_units\":3}]}\n"));
        assert_string_equal(crumbs, text);
        assert_non_null(strstr(empty, "\"units\":[]}]}\n"));
}

static void what_would_move_is_told_as_of_a_start(void **state) {
        Argosy__Response__Rebalance__Move move = ARGOSY__RESPONSE__REBALANCE__MOVE__INIT, *moves[] = {&move};
        HttpTarget target = {.resource = HTTP_PLAN};
        _cleanup_free_ char *text = NULL;
        HttpPart *part = calloc(1, sizeof(*part));

        assert_non_null(part);
        move.unit = (char *) "a.service";
        move.from = (char *) "n1";
        move.to = (char *) "n3";
        move.why = (char *) "n3 has fewer";
        Argosy__Response__Rebalance rebalance =
                MESSAGE_OF(response__rebalance, .moves = moves, .n_moves = 1);
        *part = packed(A_RESPONSE(REBALANCE, rebalance, &rebalance));
        text = read_all(http_body_new(&target, part, 1, NULL, 0), 4096);
        assert_string_equal(text, "{\"job\":null,\"units\":[{\"unit\":\"a.service\",\"ok\":true,\"node\":"
                                  "\"n3\",\"message\":\"n3 has fewer\","
                                  "\"revision\":0,\"from\":\"n1\",\"because_of\":\"\",\"file_change\":\"\","
                                  "\"refusals\":[],\"may_run_on\":[]}]}\n");
}

// Which rule is new; how the queue is is what a GET of it says.
static void a_change_of_the_queue_says_what_came_of_it(void **state) {
        Argosy__QueueRule rule = QUEUE_RULE_OF(.number = 3);
        HttpTarget target = {.resource = HTTP_NEW_JOB};
        _cleanup_free_ char *text = NULL;
        HttpPart *part = calloc(1, sizeof(*part));

        assert_non_null(part);
        Argosy__Response__QueueRow row = MESSAGE_OF(response__queue_row, .rule = &rule), *rows[] = {&row};
        Argosy__Response__Queue queue = QUEUE_OF(.rows = rows, .n_rows = 1);
        *part = packed(A_RESPONSE(QUEUE, queue, &queue, .job = 17, .held = true));
        text = read_all(http_body_new(&target, part, 1, NULL, 0), 4096);
        assert_string_equal(text, "{\"job\":17,\"rule\":3,\"held\":true,\"units\":[]}\n");
}

// However small the pieces are, and wherever the parts end.
static void pieces_and_parts_make_one_document(void **state) {
        HttpPart one[] = {units(0, 300)}, three[] = {units(0, 150), units(150, 0), units(150, 150)},
                 again[] = {units(0, 300)};
        _cleanup_free_ char *whole = read_all(body_of("/v1/units", one, 1), 4096),
                            *parted = read_all(body_of("/v1/units", three, 3), 1000),
                            *crumbs = read_all(body_of("/v1/units", again, 1), 1);

        assert_int_equal(count(whole, "\"unit\":"), 300);
        assert_string_equal(parted, whole);
        assert_string_equal(crumbs, whole);
}

static void states_choose_rows(void **state) {
        HttpPart part = units(0, 300);
        _cleanup_free_ char *text = read_all(body_of("/v1/units?state=failed", &part, 1), 4096);

        assert_int_equal(count(text, "\"unit\":"), 150);
        assert_null(strstr(text, "u0.service"));
        assert_null(strstr(text, ",,"));
}

// The first answers before anything of the second was looked at.
static void no_more_is_made_than_is_read(void **state) {
        HttpPart parts[] = {units(0, 1000), {NULL, 0}, units(1000, 1)};
        char buf[64];

        parts[1] = (HttpPart){(uint8_t *) strdup("\xff\xff"), 2};
        HttpBody *b = body_of("/v1/units", parts, 3);
        for (size_t i = 0; i < 100; i++)
                assert_int_equal(http_body_read(b, buf, sizeof(buf)), sizeof(buf));
        http_body_free(b);
}

static void what_cannot_be_read_ends_it_with_an_error(void **state) {
        HttpPart parts[] = {units(0, 1), {(uint8_t *) strdup("\xff\xff"), 2}, units(1, 1)}, nothing = {};
        HttpBody *b = body_of("/v1/units", parts, 3);
        char buf[4096];
        ssize_t n;

        while ((n = http_body_read(b, buf, sizeof(buf))) > 0)
                ;
        assert_int_equal(n, -EBADMSG);
        http_body_free(b);
        b = body_of("/v1/units", &nothing, 0);
        assert_int_equal(http_body_read(b, buf, sizeof(buf)), -EBADMSG);
        http_body_free(b);
}

RUN_TESTS(
        cmocka_unit_test(a_list_says_whether_somebody_leads_and_has_all_fields),
        cmocka_unit_test(an_empty_list_is_a_list),
        cmocka_unit_test(rows_are_chosen_by_state_and_node),
        cmocka_unit_test(what_is_known_without_a_leader_has_its_age),
        cmocka_unit_test(a_page_of_jobs_says_where_the_next_one_begins),
        cmocka_unit_test(a_job_says_what_became_of_its_units),
        cmocka_unit_test(the_targets_of_a_job_are_the_names_of_all_its_units),
        cmocka_unit_test(a_job_of_many_units_is_one_document),
        cmocka_unit_test(a_change_of_the_queue_says_what_came_of_it),
        cmocka_unit_test(what_would_move_is_told_as_of_a_start),
        cmocka_unit_test(pieces_and_parts_make_one_document),
        cmocka_unit_test(states_choose_rows),
        cmocka_unit_test(no_more_is_made_than_is_read),
        cmocka_unit_test(what_cannot_be_read_ends_it_with_an_error)
)
