// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What fleet's API changes: units, what they are to be, metadata; and bodies that are wrong.
#include "fleet-words.h"
#include "messages.h"

static void answer_change(Talk *t, int status, const char *message) {
        Argosy__Response__UnitResult result = UNIT_RESULT_OF(.status = status, .message = (char *) message),
                                     *results = &result;
        Argosy__Response__Change change = MESSAGE_OF(response__change, .units = &results, .n_units = 1);

        assert_int_equal(t->asked->what_case, ARGOSY__REQUEST__WHAT_CHANGE);
        answer(t, A_RESPONSE(CHANGE, change, &change));
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
        Argosy__Response__Change change = ARGOSY__RESPONSE__CHANGE__INIT;
        Argosy__Response r = RESPONSE_OF(CHANGE, change, &change);

        for (size_t i = 0; i < n; i++) {
                all[i] = (Argosy__Refusal) MESSAGE_OF(refusal, .node = (char *) "n1",
                                                      .reason = (char *) "is full");
                list[i] = &all[i];
        }
        Argosy__Response__UnitResult result = UNIT_RESULT_OF(.message = (char *) "it waits",
                                                             .refusals = list, .n_refusals = n),
                                     *results = &result;
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

RUN_TESTS(cmocka_unit_test(a_new_unit_is_made),
          cmocka_unit_test(who_says_nothing_new_has_to_say_what_it_is_to_be),
          cmocka_unit_test(another_content_replaces_the_unit_which_is_inactive_then),
          cmocka_unit_test(what_a_unit_is_to_be_is_a_verb),
          cmocka_unit_test(what_can_run_nowhere_is_said_at_once),
          cmocka_unit_test(what_waits_for_a_place_is_taken), cmocka_unit_test(what_waits_may_stop_waiting),
          cmocka_unit_test(a_name_is_no_pattern), cmocka_unit_test(metadata_is_changed_one_after_the_other),
          cmocka_unit_test(what_is_wrong_in_a_body_is_refused))
