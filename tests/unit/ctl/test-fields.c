// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "argosy.pb-c.h"
#include "fields.h"
#include "messages.h"

static size_t select_fields(const FieldList *list, const char *text, bool all, const Field **ret) {
        _cleanup_buf_ Buf why = {};
        size_t n;

        assert_int_equal(fields_select(list, text, all, ret, &n, &why), 0);
        return n;
}

static void defaults_are_the_promised_columns(void **state) {
        static const struct {
                const FieldList *list;
                const char *headers;
        } cases[] = {{&unit_fields, "UNIT NODE LOAD ACTIVE SUB RESTARTS SINCE "},
                     {&unit_file_fields, "UNIT REV DESIRED STATE NODE "},
                     {&node_fields, "NODE ADDRESS STATE ROLE UNITS LABELS "}};

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                const Field *fields[FIELDS_MAX];
                size_t n = select_fields(cases[i].list, NULL, false, fields);
                char text[128] = "";

                for (size_t k = 0; k < n; k++)
                        strcat(strcat(text, fields[k]->header), " ");
                assert_string_equal(text, cases[i].headers);
        }
}

static void fields_are_chosen_by_either_name(void **state) {
        const Field *fields[FIELDS_MAX];

        assert_int_equal(select_fields(&unit_fields, "unit,machine,hash", false, fields), 3);
        assert_string_equal(fields[1]->name, "node");
        assert_string_equal(fields[2]->name, "rev");
        assert_int_equal(select_fields(&unit_file_fields, "desc,dstate", false, fields), 2);
        assert_string_equal(fields[0]->name, "description");
        assert_int_equal(select_fields(&unit_fields, NULL, true, fields), unit_fields.n_fields);
}

static void unknown_fields_are_named_with_the_known_ones(void **state) {
        static const char *const bad[] = {"unit,colour", "", "unit,", "uni"};
        const Field *fields[FIELDS_MAX];
        size_t n;

        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                _cleanup_buf_ Buf why = {};

                assert_int_equal(fields_select(&node_fields, bad[i], false, fields, &n, &why), -EINVAL);
        }
        {
                _cleanup_buf_ Buf why = {};
                _cleanup_free_ char *text = NULL;

                assert_int_equal(fields_select(&unit_file_fields, "colour", false, fields, &n, &why),
                                 -EINVAL);
                text = buf_take_string(&why);
                assert_string_equal(
                        text,
                        "list-unit-files has no field 'colour'; it has unit, rev, desired, state, node, "
                        "global, set, description");
        }
}

static void values_come_from_the_row(void **state) {
        Argosy__Label a = ARGOSY__LABEL__INIT, b = ARGOSY__LABEL__INIT, *labels[] = {&a, &b};
        const Field *fields[FIELDS_MAX];
        _cleanup_buf_ Buf text = {};
        _cleanup_free_ char *got = NULL, *json = NULL;
        Json j = {};

        a.key = (char *) "disk", a.value = (char *) "ssd";
        b.key = (char *) "rack", b.value = (char *) "a";
        Argosy__Response__NodeRow row =
                NODE_ROW_OF(.node = (char *) "n1", .units = 12, .role = (char *) "voter");
        row.role = (char *) "voter";
        row.leader = true;
        row.labels = labels;
        row.n_labels = 2;
        size_t n = select_fields(&node_fields, "node,units,role,leader,labels,state", false, fields);
        for (size_t i = 0; i < n; i++) {
                assert_int_equal(field_append(fields[i], &row, &text), 0);
                assert_int_equal(buf_append(&text, "|", 1), 0);
        }
        got = buf_take_string(&text);
        assert_string_equal(got, "n1|12|leader|yes|disk=ssd,rack=a||");

        json_begin(&j, '{');
        for (size_t i = 0; i < n; i++)
                field_json(fields[i], &row, &j);
        json_end(&j, '}');
        json = buf_take_string(&j.text);
        assert_string_equal(json, "{\"node\":\"n1\",\"units\":12,\"role\":\"leader\",\"leader\":true,"
                                  "\"labels\":{\"disk\":\"ssd\",\"rack\":\"a\"},"
                                  "\"state\":\"\"}");
}

static void trouble_has_a_colour(void **state) {
        Argosy__Response__UnitRow u = UNIT_ROW_OF(.load = (char *) "loaded", .active = (char *) "failed");
        Argosy__Response__UnitFileRow f =
                UNIT_FILE_ROW_OF(.desired = (char *) "launched", .state = (char *) "loaded");
        Argosy__Response__NodeRow n = NODE_ROW_OF(.state = (char *) "lost");
        const Field *fields[FIELDS_MAX];

        select_fields(&unit_fields, "active,load,unit", false, fields);
        assert_int_equal(unit_fields.colour(fields[0], &u), COLOUR_RED);
        assert_int_equal(unit_fields.colour(fields[1], &u), COLOUR_NONE);
        assert_int_equal(unit_fields.colour(fields[2], &u), COLOUR_NONE);
        u.active = (char *) "unknown";
        assert_int_equal(unit_fields.colour(fields[0], &u), COLOUR_YELLOW);
        u.load = (char *) "bad-setting";
        assert_int_equal(unit_fields.colour(fields[1], &u), COLOUR_RED);

        select_fields(&unit_file_fields, "state", false, fields);
        assert_int_equal(unit_file_fields.colour(fields[0], &f), COLOUR_YELLOW);
        f.state = (char *) "launched";
        assert_int_equal(unit_file_fields.colour(fields[0], &f), COLOUR_NONE);

        select_fields(&node_fields, "state,labels", false, fields);
        assert_int_equal(node_fields.colour(fields[0], &n), COLOUR_RED);
        assert_int_equal(node_fields.colour(fields[1], &n), COLOUR_NONE);
}

RUN_TESTS(
        cmocka_unit_test(defaults_are_the_promised_columns),
        cmocka_unit_test(fields_are_chosen_by_either_name),
        cmocka_unit_test(unknown_fields_are_named_with_the_known_ones),
        cmocka_unit_test(values_come_from_the_row),
        cmocka_unit_test(trouble_has_a_colour)
)
