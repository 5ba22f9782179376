// SPDX-License-Identifier: LGPL-2.1-or-later

// Fleet's API without a socket: what its client sends becomes requests, and what these are answered becomes
// what its client reads.

#include "test.h"

#include <stdlib.h>

#include "fleet-call.h"
#include "macro.h"
#include "message.h"
#include "messages.h"
#include "str.h"

// ---- pages

static void a_token_is_the_one_that_fleet_makes(void **state) {
        char token[FLEET_PAGE_SIZE];
        const char *why;
        uint16_t page;

        fleet_page_format(2, token);
        assert_string_equal(token, "ZAACAA==");
        for (unsigned i = 1; i <= UINT16_MAX; i += 77) {
                fleet_page_format((uint16_t) i, token);
                assert_int_equal(fleet_page_parse(token, &page, &why), 0);
                assert_int_equal(page, i);
        }
}

static void what_is_no_token_of_ours_is_refused(void **state) {
        static const struct {
                const char *token, *why;
        } all[] = {
                {"", "malformed page token"},
                {"x", "malformed page token"},
                {"ZAACAA=", "malformed page token"},
                {"ZAACAAAA", "malformed page token"},
                {"ZAA AA==", "malformed page token"},
                {"ZQACAA==", "token limit must be 100"},
                {"ZAEBAA==", "token limit must be 100"},
                {"ZAAAAA==", "token page must be greater than zero"},
        };
        const char *why;
        uint16_t page;

        for (size_t i = 0; i < ELEMENTSOF(all); i++) {
                assert_int_equal(fleet_page_parse(all[i].token, &page, &why), -EINVAL);
                assert_string_equal(why, all[i].why);
        }
}

// ---- targets

static unsigned status_of(const char *method, const char *text) {
        FleetTarget t = {};
        const char *why = NULL;
        unsigned status = fleet_target_parse(text, method, &t, &why);

        assert_non_null(why);
        fleet_target_done(&t);
        return status;
}

static void each_thing_has_its_methods(void **state) {
        static const struct {
                const char *method, *target;
                unsigned status;
        } all[] = {
                {"GET", "/fleet/v1/units", 0},
                {"GET", "/v1-alpha/units?alt=json", 0},
                {"GET", "/fleet/v1/units?nextPageToken=ZAACAA%3D%3D", 0},
                {"GET", "/fleet/v1/units?nextPageToken=ZAACAA%3D%3D&nextPageToken=ZAACAA%3D%3D", 400},
                {"GET", "/fleet/v1/units?nextPageToken=", 400},
                {"POST", "/fleet/v1/units", 405},
                {"PUT", "/fleet/v1/units", 405},
                {"GET", "/fleet/v1/units/", 404},
                {"GET", "/fleet/v1/units/a.service", 0},
                {"PUT", "/fleet/v1/units/a.service", 0},
                {"DELETE", "/fleet/v1/units/a.service", 0},
                {"PATCH", "/fleet/v1/units/a.service", 405},
                {"HEAD", "/fleet/v1/units/a.service", 405},
                {"GET", "/fleet/v1/units/a/b.service", 404},
                {"GET", "/fleet/v1/units/a%2Fb.service", 404},
                {"GET", "/fleet/v1/units/a%00.service", 404},
                {"GET", "/fleet/v1/state", 0},
                {"GET", "/fleet/v1/state/a.service", 0},
                {"PUT", "/fleet/v1/state/a.service", 405},
                {"GET", "/fleet/v1/machines", 0},
                {"PATCH", "/fleet/v1/machines", 0},
                {"DELETE", "/fleet/v1/machines", 405},
                {"GET", "/fleet/v1/machines/x", 404},
                {"GET", "/fleet/v1/discovery", 0},
                {"PUT", "/fleet/v1/discovery", 400},
                {"GET", "/fleet/v1", 405},
                {"GET", "/", 405},
                {"GET", "/fleet/v1x/units", 404},
                {"GET", "/v1/units", 404},
                {"", "/fleet/v1/units", 405},
        };

        for (size_t i = 0; i < ELEMENTSOF(all); i++)
                if (status_of(all[i].method, all[i].target) != all[i].status)
                        fail_msg("%s %s is not %u", all[i].method, all[i].target, all[i].status);
}

// ---- options

static void check_file(const char *text, const char *written, const char *hash) {
        _cleanup_(fleet_options_done) FleetOptions o;
        _cleanup_buf_ Buf buf = {};
        char seen[FLEET_HASH_SIZE];

        assert_int_equal(fleet_options_read(text, strlen(text), &o), 0);
        assert_int_equal(fleet_options_write(&o, &buf), 0);
        assert_int_equal(buf.len, strlen(written));
        assert_true(buf.len == 0 || memcmp(buf.data, written, buf.len) == 0);
        assert_int_equal(fleet_options_hash(&o, seen), 0);
        if (hash)
                assert_string_equal(seen, hash);
}

static void a_file_of_options_is_what_fleet_makes_of_it(void **state) {
        check_file("", "", "da39a3ee5e6b4b0d3255bfef95601890afd80709");
        check_file("# a\n[Unit]\n Description = x y \n\n;b\n[Service]\nExecStart=/bin/a \\\n  b\n",
                   "[Unit]\nDescription=x y\n\n[Service]\nExecStart=/bin/a \\\n  b\n", NULL);
        check_file("[A]\nx=1\n[B]\ny=\n[A]\nz=3\n", "[A]\nx=1\nz=3\n\n[B]\ny=\n", NULL);
        check_file("x=1\n[A]\nnonsense\r\n# c \\\nx=2\nx=3\r\n", "[A]\nx=3\n", NULL);
        check_file("[Service]\nExecStart=/usr/bin/sleep infinity\n",
                   "[Service]\nExecStart=/usr/bin/sleep infinity\n",
                   "40ea6646945809f4b420a50475ee68503088f127");
}

// ---- calls

typedef struct Talk {
        FleetCall *call;
        Argosy__Request *asked; // NULL: nothing more
} Talk;

static void go_on(Talk *t) {
        message_free(TAKE_PTR(t->asked));
        assert_true(fleet_call_next(t->call, &t->asked) >= 0);
}

static unsigned begin(Talk *t, const char *method, const char *target, const char *body) {
        _cleanup_free_ char *why = NULL;
        const char *no;
        unsigned status;
        cJSON *json = body ? cJSON_Parse(body) : NULL;

        *t = (Talk){.call = fleet_call_new()};
        assert_int_equal(fleet_call_parse(t->call, target, method, &no), 0);
        status = body ? fleet_call_read(t->call, json, &why) : 0;
        cJSON_Delete(json);
        if (status > 0)
                assert_non_null(why);
        else
                go_on(t);
        return status;
}

static void answer(Talk *t, Argosy__Response *r) {
        assert_non_null(t->asked);
        assert_int_equal(fleet_call_take(t->call, r), 0);
        go_on(t);
}

static void answer_machines(Talk *t) {
        Argosy__Label rack = ARGOSY__LABEL__INIT, *labels = &rack;
        Argosy__Response__NodeRow rows[4], *list[4];
        Argosy__Response__Nodes nodes = ARGOSY__RESPONSE__NODES__INIT;
        Argosy__Response r = RESPONSE_OF(NODES, nodes, &nodes);

        assert_int_equal(t->asked->what_case, ARGOSY__REQUEST__WHAT_LIST_NODES);
        for (size_t i = 0; i < 4; i++) {
                static const char *const names[] = {"n1", "n2", "n2/user@7", "n3"}, *const ids[] = {
                                                                                            "id1", "id2",
                                                                                            "id2", "id3"};

                rows[i] = (Argosy__Response__NodeRow)
                        NODE_ROW_OF(.node = (char *) names[i], .machine_id = (char *) ids[i],
                                    .manager = (char *) (i == 2 ? "user@7" : ""),
                                    .state = (char *) (i == 3 ? "lost" : "online"),
                                    .address = (char *) (i == 0 ? "10.0.0.1:7" : "[::1]:7"));
                list[i] = &rows[i];
        }
        rack.key = (char *) "rack";
        rack.value = (char *) "a";
        rows[0].labels = &labels;
        rows[0].n_labels = 1;
        nodes.rows = list;
        nodes.n_rows = 4;
        answer(t, &r);
}

static void answer_file(Talk *t, const char *name, const char *desired, const char *current,
                        const char *node) {
        Argosy__Response__UnitFileRow row = UNIT_FILE_ROW_OF(.unit = (char *) name,
                                                             .desired = (char *) desired,
                                                             .state = (char *) current,
                                                             .node = (char *) node),
                                      *rows = &row;
        Argosy__Response__UnitFiles files =
                MESSAGE_OF(response__unit_files, .rows = &rows, .n_rows = name != NULL);

        assert_int_equal(t->asked->what_case, ARGOSY__REQUEST__WHAT_LIST_UNIT_FILES);
        answer(t, A_RESPONSE(UNIT_FILES, unit_files, &files));
}

static void answer_content(Talk *t, const char *text) {
        Argosy__Response__Cat cat = ARGOSY__RESPONSE__CAT__INIT;

        assert_int_equal(t->asked->what_case, ARGOSY__REQUEST__WHAT_CAT);
        cat.name = t->asked->cat->names[0];
        cat.content = (ProtobufCBinaryData){strlen(text), (uint8_t *) text};
        answer(t, A_RESPONSE(CAT, cat, &cat));
}

static void answer_change(Talk *t, int status, const char *message) {
        Argosy__Response__UnitResult result = UNIT_RESULT_OF(.status = status, .message = (char *) message),
                                     *results = &result;
        Argosy__Response__Change change = MESSAGE_OF(response__change, .units = &results, .n_units = 1);

        assert_int_equal(t->asked->what_case, ARGOSY__REQUEST__WHAT_CHANGE);
        answer(t, A_RESPONSE(CHANGE, change, &change));
}

static void end(Talk *t, unsigned status, const char *says) {
        char *text;

        assert_null(t->asked);
        assert_int_equal(fleet_call_answer(t->call, &text), status);
        if (says) {
                assert_non_null(text);
                assert_string_equal(text, says);
        } else
                assert_null(text);
        free(text);
        fleet_call_free(t->call);
}

static void machines_are_those_that_are_heard(void **state) {
        Talk t;

        begin(&t, "GET", "/fleet/v1/machines", NULL);
        answer_machines(&t);
        end(&t, 200,
            "{\"machines\":[{\"id\":\"id1\",\"metadata\":{\"rack\":\"a\"},\"primaryIP\":\"10.0.0.1\"},{"
            "\"id\":\"id2\",\"primaryIP\":\"::1\"}]}\n");
}

static void a_unit_is_shown_with_its_options(void **state) {
        Talk t;

        begin(&t, "GET", "/fleet/v1/units/a.service", NULL);
        answer_machines(&t);
        assert_string_equal(t.asked->list_unit_files->patterns[0], "a.service");
        answer_file(&t, "a.service", "launched", "failed", "n1");
        answer_content(&t, "[Service]\nExecStart=/bin/true\n");
        end(&t, 200,
            "{\"name\":\"a.service\",\"options\":[{\"section\":\"Service\",\"name\":\"ExecStart\",\"value\":"
            "\"/bin/true\"}],\"desiredState\":\"launched\","
            "\"currentState\":\"launched\",\"machineID\":\"id1\"}\n");
}

static void a_unit_that_there_is_not_is_not_found(void **state) {
        Talk t;

        begin(&t, "GET", "/fleet/v1/units/a.service", NULL);
        answer_machines(&t);
        answer_file(&t, NULL, NULL, NULL, NULL);
        end(&t, 404, "{\"error\":{\"code\":404,\"message\":\"unit does not exist\"}}\n");
        begin(&t, "DELETE", "/fleet/v1/units/a.service", NULL);
        answer_file(&t, NULL, NULL, NULL, NULL);
        end(&t, 404, "{\"error\":{\"code\":404,\"message\":\"unit does not exist\"}}\n");
}

#define OPTIONS "\"options\":[{\"section\":\"Service\",\"name\":\"ExecStart\",\"value\":\"/bin/true\"}]"

static void a_new_unit_is_made(void **state) {
        Talk t;

        begin(&t, "PUT", "/fleet/v1/units/a.service",
              "{\"name\":\"a.service\",\"desiredState\":\"launched\"," OPTIONS "}");
        answer_file(&t, NULL, NULL, NULL, NULL);
        assert_int_equal(t.asked->change->verb, ARGOSY__VERB__VERB_START);
        assert_int_equal(t.asked->change->n_files, 1);
        assert_memory_equal(t.asked->change->files[0]->content.data, "[Service]\nExecStart=/bin/true\n", 30);
        answer_change(&t, 0, "");
        end(&t, 201, NULL);
}

static void who_says_nothing_new_has_to_say_what_it_is_to_be(void **state) {
        Talk t;

        begin(&t, "PUT", "/fleet/v1/units/a.service", "{" OPTIONS "}");
        answer_file(&t, "a.service", "loaded", "loaded", "n1");
        answer_content(&t, "# the same\n[Service]\nExecStart = /bin/true\n");
        end(&t, 409,
            "{\"error\":{\"code\":409,\"message\":\"must provide DesiredState to update existing "
            "unit\"}}\n");
        begin(&t, "PUT", "/fleet/v1/units/a.service", "{}");
        answer_file(&t, NULL, NULL, NULL, NULL);
        end(&t, 409,
            "{\"error\":{\"code\":409,\"message\":\"unit does not exist and options field empty\"}}\n");
}

static void another_content_replaces_the_unit_which_is_inactive_then(void **state) {
        static const struct {
                const char *now;
                Argosy__Verb verb;
        } all[] = {
                {"inactive", ARGOSY__VERB__VERB_SUBMIT},
                {"loaded", ARGOSY__VERB__VERB_UNLOAD},
                {"launched", ARGOSY__VERB__VERB_UNLOAD},
        };

        for (size_t i = 0; i < ELEMENTSOF(all); i++) {
                Talk t;

                begin(&t, "PUT", "/fleet/v1/units/a.service", "{" OPTIONS "}");
                answer_file(&t, "a.service", all[i].now, all[i].now, "n1");
                answer_content(&t, "[Service]\nExecStart=/bin/false\n");
                assert_true(t.asked->change->replace);
                assert_int_equal(t.asked->change->verb, all[i].verb);
                answer_change(&t, 0, "");
                end(&t, 201, NULL);
        }
}

static void what_a_unit_is_to_be_is_a_verb(void **state) {
        static const struct {
                const char *now, *wanted;
                Argosy__Verb verb;
        } all[] = {
                {"inactive", "loaded", ARGOSY__VERB__VERB_LOAD},
                {"launched", "loaded", ARGOSY__VERB__VERB_STOP},
                {"inactive", "launched", ARGOSY__VERB__VERB_START},
                {"loaded", "launched", ARGOSY__VERB__VERB_START},
                {"launched", "inactive", ARGOSY__VERB__VERB_UNLOAD},
                {"loaded", "inactive", ARGOSY__VERB__VERB_UNLOAD},
        };

        for (size_t i = 0; i < ELEMENTSOF(all); i++) {
                _cleanup_free_ char *body = str_printf("{\"desiredState\":\"%s\"}", all[i].wanted);
                Talk t;

                begin(&t, "PUT", "/fleet/v1/units/a.service", body);
                answer_file(&t, "a.service", all[i].now, all[i].now, "n1");
                assert_int_equal(t.asked->change->verb, all[i].verb);
                assert_int_equal(t.asked->change->n_files, 0);
                answer_change(&t, 0, "");
                if (all[i].verb == ARGOSY__VERB__VERB_STOP) {
                        Argosy__Response r = ARGOSY__RESPONSE__INIT;

                        assert_int_equal(t.asked->what_case, ARGOSY__REQUEST__WHAT_WAIT);
                        assert_true(fleet_call_stops(t.call));
                        r.status = EIO; // that it could not be stopped is for states to say
                        answer(&t, &r);
                }
                end(&t, 204, NULL);
        }
}

static void what_can_run_nowhere_is_said_at_once(void **state) {
        Talk t;

        begin(&t, "PUT", "/fleet/v1/units/a.service", "{\"desiredState\":\"launched\"}");
        answer_file(&t, "a.service", "inactive", "inactive", "-");
        answer_change(&t, EHOSTDOWN, "no node can take it");
        end(&t, 409, "{\"error\":{\"code\":409,\"message\":\"no node can take it\"}}\n");
}

static void answer_unplaced(Talk *t, size_t n) {
        _cleanup_free_ Argosy__Refusal *all = calloc(n, sizeof(*all)), **list = calloc(n, sizeof(*list));
        Argosy__Response__UnitResult result = ARGOSY__RESPONSE__UNIT_RESULT__INIT, *results = &result;
        Argosy__Response__Change change = ARGOSY__RESPONSE__CHANGE__INIT;
        Argosy__Response r = RESPONSE_OF(CHANGE, change, &change);

        for (size_t i = 0; i < n; i++) {
                all[i] = (Argosy__Refusal) MESSAGE_OF(refusal, .node = (char *) "n1",
                                                      .reason = (char *) "is full");
                list[i] = &all[i];
        }
        result.message = (char *) "it waits";
        result.refusals = list;
        result.n_refusals = n;
        change.units = &results;
        change.n_units = 1;
        answer(t, &r);
}

// Of a unit that is to be with another one, and is started first: fleet's client goes on only if nothing is
// refused.
static void what_waits_for_a_place_is_taken(void **state) {
        static const char *const bodies[] = {"{\"desiredState\":\"launched\"}",
                                             "{\"desiredState\":\"loaded\"}"};
        Talk t;

        for (size_t i = 0; i < ELEMENTSOF(bodies); i++) {
                begin(&t, "PUT", "/fleet/v1/units/a.service", bodies[i]);
                answer_file(&t, "a.service", "inactive", "inactive", "-");
                answer_unplaced(&t, 2);
                end(&t, 204, NULL);
        }
        begin(&t, "PUT", "/fleet/v1/units/a.service", "{\"desiredState\":\"launched\"," OPTIONS "}");
        answer_file(&t, NULL, NULL, NULL, NULL);
        answer_unplaced(&t, 2);
        end(&t, 201, NULL);
}

static void what_waits_may_stop_waiting(void **state) {
        Talk t;

        begin(&t, "PUT", "/fleet/v1/units/a.service", "{\"desiredState\":\"loaded\"}");
        answer_file(&t, "a.service", "launched", "inactive", "-");
        assert_int_equal(t.asked->change->verb, ARGOSY__VERB__VERB_STOP);
        answer_unplaced(&t, 2); // it is not launched any more, wherever that would be
        go_on(&t);
        end(&t, 204, NULL);
}

static void a_name_is_no_pattern(void **state) {
        Talk t;

        begin(&t, "GET", "/fleet/v1/units/*", NULL);
        answer_machines(&t);
        end(&t, 404, "{\"error\":{\"code\":404,\"message\":\"unit does not exist\"}}\n");
        begin(&t, "GET", "/fleet/v1/state/a%5B1%5D.service", NULL);
        answer_machines(&t);
        end(&t, 404, "{\"error\":{\"code\":404,\"message\":\"unit state does not exist\"}}\n");
        begin(&t, "GET", "/fleet/v1/state?unitName=%3F.service", NULL);
        answer_machines(&t);
        end(&t, 200, "{}\n");
        begin(&t, "DELETE", "/fleet/v1/units/*", NULL);
        end(&t, 404, "{\"error\":{\"code\":404,\"message\":\"unit does not exist\"}}\n");
}

typedef struct Row {
        const char *unit, *node, *load;
        bool waits;
} Row;

static void answer_rows(Talk *t, const Row *from, size_t n) {
        Argosy__Response__UnitRow rows[8], *list[8];
        Argosy__Response__Units units = ARGOSY__RESPONSE__UNITS__INIT;
        Argosy__Response r = RESPONSE_OF(UNITS, units, &units);

        assert_int_equal(t->asked->what_case, ARGOSY__REQUEST__WHAT_LIST_UNITS);
        for (size_t i = 0; i < n; i++) {
                rows[i] = (Argosy__Response__UnitRow) UNIT_ROW_OF(.unit = (char *) from[i].unit,
                                                                  .node = (char *) from[i].node,
                                                                  .load = (char *) from[i].load,
                                                                  .active = (char *) "inactive",
                                                                  .sub = (char *) "dead",
                                                                  .waits = from[i].waits);
                list[i] = &rows[i];
        }
        units.rows = list;
        units.n_rows = n;
        answer(t, &r);
}

static void answer_why(Talk *t, const char *name, const char *why) {
        Argosy__Refusal refusal = MESSAGE_OF(refusal, .node = (char *) "n1", .reason = (char *) "is full"),
                        *refusals = &refusal;
        Argosy__Response__UnitRow row = UNIT_ROW_OF(.unit = (char *) name);
        Argosy__Response__Status status =
                STATUS_OF(.row = &row, .why = (char *) why, .refusals = &refusals, .n_refusals = 1);

        assert_int_equal(fleet_call_take(t->call, A_RESPONSE(STATUS_REPLY, status_reply, &status)), 0);
}

#define HASH_OF_NONE "\"hash\":\"da39a3ee5e6b4b0d3255bfef95601890afd80709\""

static void the_state_of_what_waits_says_why(void **state) {
        static const Row rows[] = {
                {"a.service", "n1", "loaded"}, {"b.service", "-", "-", true}, {"c.service", "-", "-", true},
                {"d.service", "-", "-"},       {"e.service", "n1", "unknown"}, {"f.service", "n1", "-"},
        };
        Argosy__Response gone = ARGOSY__RESPONSE__INIT;
        Talk t;

        begin(&t, "GET", "/fleet/v1/state", NULL);
        answer_machines(&t);
        answer_rows(&t, rows, ELEMENTSOF(rows));
        assert_int_equal(t.asked->cat->n_names, 5); // all but d, which is on no machine and waits for none
        for (size_t i = 0; i < 3; i++) { // e and f have gone meanwhile
                Argosy__Response__Cat cat = ARGOSY__RESPONSE__CAT__INIT;

                cat.name = t.asked->cat->names[i];
                assert_int_equal(fleet_call_take(t.call, A_RESPONSE(CAT, cat, &cat)), 0);
        }
        go_on(&t);
        assert_int_equal(t.asked->what_case, ARGOSY__REQUEST__WHAT_WHY);
        assert_int_equal(t.asked->why->n_names, 2);
        assert_string_equal(t.asked->why->names[0], "b.service");
        answer_why(&t, "b.service", "no node takes it");
        answer_why(&t, "a.service", "that is not what it waits for");
        gone.status = ENOENT;
        answer(&t, &gone); // c, meanwhile
        end(&t, 200,
            "{\"states\":[{\"name\":\"a.service\"," HASH_OF_NONE
            ",\"machineID\":\"id1\",\"systemdLoadState\":\"loaded\","
            "\"systemdActiveState\":\"inactive\",\"systemdSubState\":\"dead\"},"
            "{\"name\":\"b.service\"," HASH_OF_NONE
            ",\"systemdLoadState\":\"not-found\",\"systemdActiveState\":\"inactive\","
            "\"systemdSubState\":\"no node takes it: n1: is full\"},"
            "{\"name\":\"c.service\"," HASH_OF_NONE
            ",\"systemdLoadState\":\"not-found\",\"systemdActiveState\":\"inactive\","
            "\"systemdSubState\":\"dead\"}]}\n");
        begin(&t, "GET", "/fleet/v1/state?machineID=id1", NULL); // it waits on no machine
        answer_machines(&t);
        answer_rows(&t, rows + 1, 2);
        end(&t, 200, "{}\n");
}

// Whatever is known of it: fleet's client takes a unit without a state for one that is there, and crashes.
static void a_unit_that_exists_has_a_state(void **state) {
        static const Row of[][2] = {
                {{"a.service", "n1", "-"}},       // on its way there
                {{"a.service", "n3", "unknown"}}, // on a machine that is not heard
                {{"a.service", "-", "-"}},        // submitted
                {{"a.service", "n3", "unknown"},
                 {"a.service", "n1", "loaded"}}, // everywhere: of one that is heard
                {{"a.service", "n1", "loaded"}, {"a.service", "n3", "unknown"}},
        };
        static const char *const says[] = {
                "\"machineID\":\"id1\",\"systemdLoadState\":\"not-found\"",
                "\"machineID\":\"id3\",\"systemdLoadState\":\"unknown\"",
                "\"systemdLoadState\":\"not-found\"",
                "\"machineID\":\"id1\",\"systemdLoadState\":\"loaded\"",
                "\"machineID\":\"id1\",\"systemdLoadState\":\"loaded\"",
        };

        for (size_t i = 0; i < ELEMENTSOF(of); i++) {
                _cleanup_free_ char *all =
                        str_printf("{\"name\":\"a.service\"," HASH_OF_NONE ",%s,"
                                   "\"systemdActiveState\":\"inactive\",\"systemdSubState\":\"dead\"}\n",
                                   says[i]);
                Talk t;

                begin(&t, "GET", "/fleet/v1/state/a.service", NULL);
                answer_machines(&t);
                answer_rows(&t, of[i], of[i][1].unit ? 2 : 1);
                answer_content(&t, "");
                end(&t, 200, all);
        }
}

static void answer_many_machines(Talk *t, size_t n) {
        _cleanup_free_ Argosy__Response__NodeRow *rows = calloc(n, sizeof(*rows));
        _cleanup_free_ Argosy__Response__NodeRow **pointers = calloc(n, sizeof(*pointers));
        Argosy__Response__Nodes nodes = ARGOSY__RESPONSE__NODES__INIT;
        Argosy__Response r = RESPONSE_OF(NODES, nodes, &nodes);

        assert_true(rows && pointers);
        for (size_t i = 0; i < n; i++) {
                argosy__response__node_row__init(&rows[i]);
                rows[i].node = rows[i].machine_id = (char *) "n1";
                rows[i].state = (char *) "online";
                pointers[i] = &rows[i];
        }
        nodes.rows = pointers;
        nodes.n_rows = n;
        answer(t, &r);
}

// The leader makes what it answers to one request in one turn.
static void of_many_nodes_the_reasons_are_asked_for_bit_by_bit(void **state) {
        static const Row rows[] = {{"a.service", "-", "-", true},
                                   {"b.service", "n1", "loaded"},
                                   {"c.service", "-", "-", true},
                                   {"d.service", "-", "-", true}};
        static const size_t n_machines[] = {FLEET_REASONS_MAX / 2, FLEET_REASONS_MAX + 1},
                            n_asked[2][3] = {{2, 1}, {1, 1, 1}};

        for (size_t i = 0; i < 2; i++) {
                size_t n = 0;
                Talk t;

                begin(&t, "GET", "/fleet/v1/state", NULL);
                answer_many_machines(&t, n_machines[i]);
                answer_rows(&t, rows, ELEMENTSOF(rows));
                assert_int_equal(t.asked->what_case, ARGOSY__REQUEST__WHAT_CAT);
                for (size_t k = 0; k < ELEMENTSOF(rows); k++) {
                        Argosy__Response__Cat cat = MESSAGE_OF(response__cat, .name = (char *) rows[k].unit);

                        assert_int_equal(fleet_call_take(t.call, A_RESPONSE(CAT, cat, &cat)), 0);
                }
                for (size_t k = 0; n < 3; k++) {
                        go_on(&t);
                        assert_int_equal(t.asked->what_case, ARGOSY__REQUEST__WHAT_WHY);
                        assert_int_equal(t.asked->why->n_names, n_asked[i][k]);
                        for (size_t m = 0; m < n_asked[i][k]; m++)
                                answer_why(&t, t.asked->why->names[m], "no node takes it");
                        n += n_asked[i][k];
                }
                go_on(&t);
                for (size_t k = 0; k < ELEMENTSOF(rows); k++)
                        if (rows[k].waits)
                                assert_string_equal(t.call->rows[k].sub, "no node takes it: n1: is full");
                fleet_call_free(t.call);
        }
}

static void without_a_leader_it_is_a_fleet_without_etcd(void **state) {
        Argosy__Response r = RESPONSE_WITH(.no_leader = true);
        Talk t;

        begin(&t, "GET", "/fleet/v1/state", NULL);
        answer(&t, &r);
        end(&t, 503,
            "{\"error\":{\"code\":503,\"message\":\"fleet server unable to communicate with etcd\"}}\n");
}

typedef struct Part {
        // rows u<name>... of the list, which are number `first` and so on of this answer
        size_t name, first, n;
        bool more;
} Part;

static void answer_part(Talk *t, Part part) {
        size_t n = part.n;
        _cleanup_free_ Argosy__Response__UnitRow *rows = calloc(n, sizeof(*rows)),
                                                 **list = calloc(n, sizeof(*list));
        Argosy__Response__Units units = ARGOSY__RESPONSE__UNITS__INIT;
        Argosy__Response r = RESPONSE_OF(UNITS, units, &units);
        char names[130][16];

        assert_true(n <= ELEMENTSOF(names));
        for (size_t i = 0; i < n; i++) {
                str_fit(names[i], sizeof(names[i]), "u%zu.service", part.name + i);
                rows[i] = (Argosy__Response__UnitRow) UNIT_ROW_OF(.unit = names[i], .node = (char *) "n1",
                                                                  .load = (char *) "loaded");
                list[i] = &rows[i];
        }
        units.rows = list;
        units.n_rows = n;
        units.first = (uint32_t) part.first;
        units.more = part.more;
        assert_int_equal(fleet_call_take(t->call, &r), 0);
}

static void answer_states(Talk *t, size_t first, size_t n) {
        answer_part(t, (Part){first, first, n, false});
}

static void asks_behind(const Talk *t, const char *unit, const char *node, uint32_t limit) {
        assert_int_equal(t->asked->what_case, ARGOSY__REQUEST__WHAT_LIST_UNITS);
        assert_non_null(t->asked->list_units->filter);
        assert_string_equal(t->asked->list_units->filter->after, unit);
        assert_string_equal(t->asked->list_units->filter->after_node, node);
        assert_int_equal(t->asked->list_units->filter->limit, limit);
}

static void a_page_is_no_more_than_is_asked_for(void **state) {
        FleetPlace place;
        Talk t;

        begin(&t, "GET", "/fleet/v1/state", NULL);
        assert_false(fleet_call_is_later_page(t.call));
        answer_machines(&t);
        asks_behind(&t, "", "", 101);
        answer_part(&t, (Part){0, 0, 50, true});
        answer_part(&t, (Part){0, 0, 60, true}); // another leader
        go_on(&t);
        asks_behind(&t, "u59.service", "n1", 41); // as some did not fit
        answer_part(&t, (Part){60, 0, 20, true});
        answer_part(&t, (Part){60, 0, 41, true}); // begins anew, from where it was asked for
        go_on(&t);
        assert_int_equal(t.asked->cat->n_names, 100);
        assert_string_equal(t.asked->cat->names[0], "u0.service");
        assert_string_equal(t.asked->cat->names[99], "u99.service");
        assert_false(fleet_call_page_ended(t.call, &place));
        go_on(&t);
        assert_true(fleet_call_page_ended(t.call, &place));
        assert_string_equal(place.unit, "u99.service");
        assert_string_equal(place.node, "n1");
        end(&t, 200, "{\"nextPageToken\":\"ZAACAA==\"}\n");
}

static void a_page_begins_where_the_one_before_ended(void **state) {
        static const FleetPlace behind = {"u99.service", "n1"};
        FleetPlace place;
        Talk t;

        begin(&t, "GET", "/fleet/v1/state?nextPageToken=ZAACAA%3D%3D", NULL);
        assert_true(fleet_call_is_later_page(t.call));
        fleet_call_begin_behind(t.call, &behind);
        answer_machines(&t);
        asks_behind(&t, "u99.service", "n1", 101);
        answer_part(&t, (Part){100, 0, 30, false});
        go_on(&t);
        assert_int_equal(t.asked->cat->n_names, 30);
        assert_string_equal(t.asked->cat->names[0], "u100.service");
        go_on(&t);
        assert_false(fleet_call_page_ended(t.call, &place)); // there is no other
        end(&t, 200, "{}\n");
}

static void a_page_is_cut_out_of_a_list_that_comes_in_parts(void **state) {
        Talk t;

        begin(&t, "GET", "/fleet/v1/state?nextPageToken=ZAACAA%3D%3D&machineID=id1", NULL);
        answer_machines(&t);
        answer_states(&t, 0, 90);
        answer_states(&t, 0, 120); // another leader
        answer_states(&t, 120, 130);
        go_on(&t);
        assert_int_equal(t.asked->cat->n_names, 100);
        assert_string_equal(t.asked->cat->names[0], "u100.service");
        assert_string_equal(t.asked->cat->names[99], "u199.service");
        answer_states(&t, 0, 1); // is no content
        go_on(&t);
        end(&t, 200, "{\"nextPageToken\":\"ZAADAA==\"}\n");
}

static void metadata_is_changed_one_after_the_other(void **state) {
        static const char body[] =
                "[{\"op\":\"add\",\"path\":\"/id2/metadata/"
                "a\",\"value\":{\"value\":\"b\"}},{\"op\":\"remove\",\"path\":\"/id1/metadata/rack\"}]";
        Argosy__Response r = ARGOSY__RESPONSE__INIT;
        Talk t;

        begin(&t, "PATCH", "/fleet/v1/machines", body);
        answer_machines(&t);
        assert_string_equal(t.asked->label_change->node, "n2");
        assert_string_equal(t.asked->label_change->set[0]->value, "b");
        answer(&t, &r);
        assert_string_equal(t.asked->label_change->node, "n1");
        assert_string_equal(t.asked->label_change->unset[0], "rack");
        answer(&t, &r);
        end(&t, 204, NULL);
        begin(&t, "PATCH", "/fleet/v1/machines",
              "[{\"op\":\"replace\",\"path\":\"/id9/metadata/a\",\"value\":\"b\"}]");
        answer_machines(&t);
        end(&t, 404, "{\"error\":{\"code\":404,\"message\":\"machine does not exist\"}}\n");
}

static void what_is_wrong_in_a_body_is_refused(void **state) {
        static const struct {
                const char *method, *target, *body;
        } all[] = {
                {"PUT", "/fleet/v1/units/a.service", "{\"name\":\"b.service\"}"},
                {"PUT", "/fleet/v1/units/a.service", "{\"name\":7}"},
                {"PUT", "/fleet/v1/units/a.service", "{\"desiredState\":\"running\"}"},
                {"PUT", "/fleet/v1/units/a.service", "{\"options\":{}}"},
                {"PUT", "/fleet/v1/units/a.service", "{\"options\":[7]}"},
                {"PUT", "/fleet/v1/units/a.service",
                 "{\"options\":[{\"section\":\"A\",\"name\":\"b\",\"value\":\"c\\n[X]\\nd=e\"}]}"},
                {"PUT", "/fleet/v1/units/a.service",
                 "{\"options\":[{\"section\":\"A]\",\"name\":\"b\",\"value\":\"c\"}]}"},
                {"PUT", "/fleet/v1/units/nonsense", "{}"},
                {"PATCH", "/fleet/v1/machines", "[{\"op\":\"move\",\"path\":\"/id1/metadata/a\"}]"},
                {"PATCH", "/fleet/v1/machines", "[{\"op\":\"add\",\"path\":\"/id1/metadata/a\"}]"},
                {"PATCH", "/fleet/v1/machines",
                 "[{\"op\":\"add\",\"path\":\"/id1/metadata/a\",\"value\":\"\"}]"},
                {"PATCH", "/fleet/v1/machines", "[{\"op\":\"remove\",\"path\":\"/id1/other/a\"}]"},
                {"PATCH", "/fleet/v1/machines", "[{\"op\":\"remove\",\"path\":\"//metadata/a\"}]"},
                {"PATCH", "/fleet/v1/machines", "[7]"},
        };

        for (size_t i = 0; i < ELEMENTSOF(all); i++) {
                Talk t;

                if (begin(&t, all[i].method, all[i].target, all[i].body) != 400)
                        fail_msg("%s is taken", all[i].body);
                fleet_call_free(t.call);
        }
}

static void the_discovery_document_is_json(void **state) {
        Talk t;
        char *text;

        begin(&t, "GET", "/v1-alpha/discovery", NULL);
        assert_null(t.asked);
        assert_int_equal(fleet_call_answer(t.call, &text), 200);
        cJSON *json = cJSON_Parse(text);
        assert_non_null(cJSON_GetObjectItem(cJSON_GetObjectItem(json, "schemas"), "UnitStatePage"));
        assert_non_null(cJSON_GetObjectItem(
                cJSON_GetObjectItem(cJSON_GetObjectItem(cJSON_GetObjectItem(json, "resources"), "Units"),
                                    "methods"),
                "Set"));
        cJSON_Delete(json);
        free(text);
        fleet_call_free(t.call);
}

RUN_TESTS(
        cmocka_unit_test(a_token_is_the_one_that_fleet_makes),
        cmocka_unit_test(what_is_no_token_of_ours_is_refused),
        cmocka_unit_test(each_thing_has_its_methods),
        cmocka_unit_test(a_file_of_options_is_what_fleet_makes_of_it),
        cmocka_unit_test(machines_are_those_that_are_heard),
        cmocka_unit_test(a_unit_is_shown_with_its_options),
        cmocka_unit_test(a_unit_that_there_is_not_is_not_found),
        cmocka_unit_test(a_new_unit_is_made),
        cmocka_unit_test(who_says_nothing_new_has_to_say_what_it_is_to_be),
        cmocka_unit_test(another_content_replaces_the_unit_which_is_inactive_then),
        cmocka_unit_test(what_a_unit_is_to_be_is_a_verb),
        cmocka_unit_test(what_can_run_nowhere_is_said_at_once),
        cmocka_unit_test(what_waits_for_a_place_is_taken),
        cmocka_unit_test(what_waits_may_stop_waiting),
        cmocka_unit_test(a_name_is_no_pattern),
        cmocka_unit_test(the_state_of_what_waits_says_why),
        cmocka_unit_test(a_unit_that_exists_has_a_state),
        cmocka_unit_test(of_many_nodes_the_reasons_are_asked_for_bit_by_bit),
        cmocka_unit_test(without_a_leader_it_is_a_fleet_without_etcd),
        cmocka_unit_test(a_page_is_cut_out_of_a_list_that_comes_in_parts),
        cmocka_unit_test(a_page_is_no_more_than_is_asked_for),
        cmocka_unit_test(a_page_begins_where_the_one_before_ended),
        cmocka_unit_test(metadata_is_changed_one_after_the_other),
        cmocka_unit_test(what_is_wrong_in_a_body_is_refused),
        cmocka_unit_test(the_discovery_document_is_json)
)
