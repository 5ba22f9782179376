// SPDX-License-Identifier: LGPL-2.1-or-later
//
// States of units as fleet's API shows them, whole and a page at a time.
#include "fleet-words.h"
#include "messages.h"

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
                {"a.service", "n1", "loaded"}, {"b.service", "-", "-", true},  {"c.service", "-", "-", true},
                {"d.service", "-", "-"},       {"e.service", "n1", "unknown"}, {"f.service", "n1", "-"},
        };
        Argosy__Response gone = ARGOSY__RESPONSE__INIT;
        Talk t;

        begin(&t, "GET", "/fleet/v1/state", NULL);
        answer_machines(&t);
        answer_rows(&t, rows, ELEMENTSOF(rows));
        assert_int_equal(t.asked->cat->n_names, 5); // all but d, which is on no machine and waits for none
        for (size_t i = 0; i < 3; i++) {            // e and f have gone meanwhile
                Argosy__Response__Cat cat = MESSAGE_OF(response__cat, .name = t.asked->cat->names[i]);

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
                rows[i] = (Argosy__Response__NodeRow) NODE_ROW_OF(.node = (char *) "n1",
                                                                  .machine_id = (char *) "n1",
                                                                  .state = (char *) "online");
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

RUN_TESTS(cmocka_unit_test(the_state_of_what_waits_says_why),
          cmocka_unit_test(a_unit_that_exists_has_a_state),
          cmocka_unit_test(of_many_nodes_the_reasons_are_asked_for_bit_by_bit),
          cmocka_unit_test(a_page_is_cut_out_of_a_list_that_comes_in_parts),
          cmocka_unit_test(a_page_is_no_more_than_is_asked_for),
          cmocka_unit_test(a_page_begins_where_the_one_before_ended))
