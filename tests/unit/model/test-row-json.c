// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "buf.h"
#include "messages.h"
#include "row-json.h"

static void is(Json *j, const char *text) {
        _cleanup_free_ char *seen = NULL;

        assert_false(j->failed);
        seen = buf_take_string(&j->text);
        json_done(j);
        assert_string_equal(seen, text);
}

static void of_a_unit_of_a_job_it_is_said_how_it_ended_and_how_it_is(void **state) {
        Argosy__Response__JobUnitRow u =
                JOB_UNIT_ROW_OF(.unit = (char *) "a.service", .rev = (char *) "0123",
                                .desired = (char *) "launched", .end = (char *) "overtaken",
                                .end_message = (char *) "by job 18", .node = (char *) "n2",
                                .now = (char *) "changed since", .message = (char *) "by job 19",
                                .revision = 41, .by = 18);
        Json j = {};

        u.rev_after = (char *) "89ab"; // which a history tells, not this
        job_unit_json(&u, &j);
        is(&j, "{\"unit\":\"a.service\",\"rev\":\"0123\",\"desired\":\"launched\",\"end\":\"overtaken\","
               "\"end_message\":\"by job 18\",\"node\":\"n2\","
               "\"now\":\"changed since\",\"message\":\"by job "
               "19\",\"revision\":41,\"by\":18,\"from\":\"\",\"time\":0}");
}

static void what_is_unknown_of_a_unit_of_a_job_is_empty(void **state) {
        Argosy__Response__JobUnitRow u = ARGOSY__RESPONSE__JOB_UNIT_ROW__INIT;
        Json j = {};

        job_unit_json(&u, &j);
        is(&j, "{\"unit\":\"\",\"rev\":\"\",\"desired\":\"\",\"end\":\"\",\"end_message\":\"\",\"node\":"
               "\"\",\"now\":\"\",\"message\":\"\",\"revision\":0,\"by\":0,\"from\":\"\",\"time\":0}");
}

static void a_job_says_whom_it_waits_for_and_what_it_has_set(void **state) {
        Argosy__Response__JobSettingRow setting = ARGOSY__RESPONSE__JOB_SETTING_ROW__INIT,
                                        *settings[] = {&setting};
        uint64_t after[] = {7, 8}, waiting[] = {21};
        Json j = {};
        Argosy__Response__JobRow job = JOB_ROW_OF(.job = 17, .cut = true, .after = after, .n_after = 2,
                                                  .waiting = waiting, .n_waiting = 1, .settings = settings,
                                                  .n_settings = 1);

        setting.setting = (char *) "label disk of n1";
        setting.before = (char *) "hdd";
        json_begin(&j, '{');
        job_json_fields(&job, &j);
        json_end(&j, '}');
        is(&j, "{\"job\":17,\"time\":0,\"state\":\"\",\"author\":\"\",\"verb\":\"\",\"targets\":[],"
               "\"changed\":0,\"reason\":\"\",\"host\":\"\",\"before\":0,\"revision\":0,"
               "\"ended\":0,\"failed\":0,\"unplaced\":0,\"overtaken\":0,\"cancelled\":0,\"message\":\"\","
               "\"retries\":0,\"asked\":0,\"waits\":\"\",\"groups\":[],\"more-targets\":0,\"cut\":true,"
               "\"after\":[7,8],\"waiting\":[21],\"settings\":[{\"setting\":\"label disk of "
               "n1\",\"before\":\"hdd\",\"after\":\"\"}]}");
}

RUN_TESTS(
        cmocka_unit_test(of_a_unit_of_a_job_it_is_said_how_it_ended_and_how_it_is),
        cmocka_unit_test(what_is_unknown_of_a_unit_of_a_job_is_empty),
        cmocka_unit_test(a_job_says_whom_it_waits_for_and_what_it_has_set)
)
