// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Machines and units as fleet's API shows them, and what it is without a leader.
#include "fleet-words.h"

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

static void without_a_leader_it_is_a_fleet_without_etcd(void **state) {
        Argosy__Response r = RESPONSE_WITH(.no_leader = true);
        Talk t;

        begin(&t, "GET", "/fleet/v1/state", NULL);
        answer(&t, &r);
        end(&t, 503,
            "{\"error\":{\"code\":503,\"message\":\"fleet server unable to communicate with etcd\"}}\n");
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

RUN_TESTS(cmocka_unit_test(machines_are_those_that_are_heard),
          cmocka_unit_test(a_unit_is_shown_with_its_options),
          cmocka_unit_test(a_unit_that_there_is_not_is_not_found),
          cmocka_unit_test(without_a_leader_it_is_a_fleet_without_etcd),
          cmocka_unit_test(the_discovery_document_is_json))
