// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include <errno.h>

#include "http-verbs.h"
#include "http-write.h"
#include "macro.h"
#include "message.h"
#include "messages.h"
#include "request-key.h"
#include "request-kind.h"

static const HttpTarget job = {.resource = HTTP_NEW_JOB};

static int parse(const char *body, Argosy__Request **ret, char **ret_why) {
        HttpWriteHeaders headers = {.key = "key"};

        return http_write_parse(&job, &headers, body, strlen(body), ret, ret_why);
}

static Argosy__Request *parsed(const char *body) {
        Argosy__Request *q = NULL;
        char *why;

        if (parse(body, &q, &why) < 0)
                fail_msg("%s: %s", body, why);
        return q;
}

#define HEX64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// Each is a request that changes something, and is known again by its key.
static void each_verb_is_a_request_that_argosyctl_would_send(void **state) {
        static const struct {
                const char *body;
                Argosy__Request__WhatCase what;
        } cases[] = {
                {"{\"verb\":\"cordon\",\"nodes\":[\"n1\"]}", ARGOSY__REQUEST__WHAT_NODE_CHANGE},
                {"{\"verb\":\"uncordon\",\"nodes\":[\"n1\",\"n2\"]}", ARGOSY__REQUEST__WHAT_NODE_CHANGE},
                {"{\"verb\":\"drain\",\"nodes\":[\"n1\"],\"deadline\":\"5min\"}",
                 ARGOSY__REQUEST__WHAT_NODE_CHANGE},
                {"{\"verb\":\"maintenance\",\"nodes\":[\"n1\",\"n2\"]}", ARGOSY__REQUEST__WHAT_NODE_CHANGE},
                {"{\"verb\":\"label\",\"node\":\"n1\",\"set\":{\"a\":\"b\"},\"unset\":[\"c\"]}",
                 ARGOSY__REQUEST__WHAT_LABEL_CHANGE},
                {"{\"verb\":\"rebalance\"}", ARGOSY__REQUEST__WHAT_REBALANCE},
                {"{\"verb\":\"rebalance --abort\"}", ARGOSY__REQUEST__WHAT_REBALANCE},
                {"{\"verb\":\"update\",\"unit\":\"a@.service\",\"files\":{\"a@.service\":\"x\"}}",
                 ARGOSY__REQUEST__WHAT_ROLLOUT},
                {"{\"verb\":\"update --abort\",\"unit\":\"a@.service\"}", ARGOSY__REQUEST__WHAT_ROLLOUT},
                {"{\"verb\":\"restart --rolling\",\"unit\":\"a@.service\"}", ARGOSY__REQUEST__WHAT_ROLLOUT},
                {"{\"verb\":\"undo\",\"job\":7}", ARGOSY__REQUEST__WHAT_UNDO},
                {"{\"verb\":\"job cancel\",\"jobs\":[1,2]}", ARGOSY__REQUEST__WHAT_JOB_CANCEL},
                {"{\"verb\":\"job release\",\"jobs\":[1]}", ARGOSY__REQUEST__WHAT_JOB_RELEASE},
                {"{\"verb\":\"history forget\",\"revs\":[\"ab\"]}", ARGOSY__REQUEST__WHAT_FORGET},
                {"{\"verb\":\"role set\",\"role\":\"web\"}", ARGOSY__REQUEST__WHAT_ROLE_CHANGE},
                {"{\"verb\":\"role delete\",\"role\":\"web\"}", ARGOSY__REQUEST__WHAT_ROLE_CHANGE},
                {"{\"verb\":\"pool set\",\"pool\":\"p\",\"nodes\":[\"n1\"]}",
                 ARGOSY__REQUEST__WHAT_POOL_CHANGE},
                {"{\"verb\":\"pool delete\",\"pool\":\"p\"}", ARGOSY__REQUEST__WHAT_POOL_CHANGE},
                {"{\"verb\":\"access grant\",\"right\":\"view\",\"who\":\"user:ann\"}",
                 ARGOSY__REQUEST__WHAT_ACCESS_CHANGE},
                {"{\"verb\":\"access revoke\",\"right\":\"admin\",\"who\":\"group:adm\"}",
                 ARGOSY__REQUEST__WHAT_ACCESS_CHANGE},
                {"{\"verb\":\"token create\",\"name\":\"ci\",\"right\":\"view\",\"hash\":\"" HEX64 "\"}",
                 ARGOSY__REQUEST__WHAT_TOKEN_CREATE},
                {"{\"verb\":\"token revoke\",\"tokens\":[\"ci\"]}", ARGOSY__REQUEST__WHAT_TOKEN_REVOKE},
                {"{\"verb\":\"queue rule add\",\"rule\":{\"action\":\"hold\"}}",
                 ARGOSY__REQUEST__WHAT_QUEUE_CHANGE},
                {"{\"verb\":\"queue rule delete\",\"rule\":1}", ARGOSY__REQUEST__WHAT_QUEUE_CHANGE},
                {"{\"verb\":\"queue close\",\"reason\":\"why\"}", ARGOSY__REQUEST__WHAT_QUEUE_CHANGE},
                {"{\"verb\":\"queue open\"}", ARGOSY__REQUEST__WHAT_QUEUE_CHANGE},
                {"{\"verb\":\"queue limit\",\"number\":3}", ARGOSY__REQUEST__WHAT_QUEUE_CHANGE},
                {"{\"verb\":\"history limit\",\"size\":\"64M\"}", ARGOSY__REQUEST__WHAT_QUEUE_CHANGE},
                {"{\"verb\":\"cluster promote\",\"node\":\"n1\"}", ARGOSY__REQUEST__WHAT_CLUSTER_ROLE},
                {"{\"verb\":\"cluster demote\",\"node\":\"n1\"}", ARGOSY__REQUEST__WHAT_CLUSTER_ROLE},
                {"{\"verb\":\"cluster remove\",\"node\":\"n1\"}", ARGOSY__REQUEST__WHAT_CLUSTER_REMOVE},
                {"{\"verb\":\"cluster remove --force\",\"node\":\"n1\"}",
                 ARGOSY__REQUEST__WHAT_CLUSTER_REMOVE},
                {"{\"verb\":\"cluster voters\",\"number\":3}", ARGOSY__REQUEST__WHAT_CLUSTER_VOTERS},
                {"{\"verb\":\"cluster rotate-ca\"}", ARGOSY__REQUEST__WHAT_CLUSTER_ROTATE_CA},
                {"{\"verb\":\"cluster rotate-ca --finish\"}", ARGOSY__REQUEST__WHAT_CLUSTER_ROTATE_CA},
                {"{\"verb\":\"secret rotate-key\"}", ARGOSY__REQUEST__WHAT_SECRET_ROTATE_KEY},
                {"{\"verb\":\"secret rotate-key --abort\"}", ARGOSY__REQUEST__WHAT_SECRET_ROTATE_KEY},
                {"{\"verb\":\"cluster set-time\"}", ARGOSY__REQUEST__WHAT_CLUSTER_SET_TIME},
                {"{\"verb\":\"cluster set-time\",\"time\":1795850000000000}",
                 ARGOSY__REQUEST__WHAT_CLUSTER_SET_TIME},
        };
        uint8_t id[REQUEST_KEY_ID_SIZE];

        request_key_id("key", 0, id);
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                Argosy__Request *q = parsed(cases[i].body);

                assert_int_equal(q->what_case, cases[i].what);
                assert_int_equal(request_kind(q->what_case)->effect, REQUEST_CHANGES);
                assert_int_equal(http_write_id(q)->len, sizeof(id));
                assert_memory_equal(http_write_id(q)->data, id, sizeof(id));
                message_free(q);
        }
}

static void nodes_have_their_mode_and_the_reason(void **state) {
        _cleanup_(message_freep) Argosy__Request *q = parsed(
                "{\"verb\":\"drain\",\"nodes\":[\"n1\",\"n2\"],\"deadline\":\"5min\",\"reason\":\"disk\"}");

        assert_int_equal(q->node_change->mode, ARGOSY__NODE_MODE__MODE_DRAINING);
        assert_int_equal(q->node_change->deadline_sec, 300);
        assert_string_equal(q->node_change->reason, "disk");
        assert_string_equal(q->node_change->nodes[1], "n2");
        assert_string_equal(q->job->reason, "disk");
}

static void roles_have_amounts(void **state) {
        _cleanup_(message_freep) Argosy__Request *q = parsed(
                "{\"verb\":\"role set\",\"role\":\"web\",\"weight\":3,"
                "\"guarantee\":{\"cpu\":\"1.5\",\"memory\":\"2G\"},\"limit\":{\"gpu\":4,\"cpu\":null}}");
        const Argosy__Request__RoleChange *role = q->role_change;

        assert_int_equal(role->weight, 3);
        assert_int_equal(role->n_guarantee, 2);
        assert_int_equal(role->guarantee[0]->amount, 1500);
        assert_int_equal(role->guarantee[1]->amount, 2048);
        assert_int_equal(role->limit[0]->amount, 4);
        assert_string_equal(role->limit[0]->resource, "gpu");
        assert_true(role->limit[1]->unset);
}

static void rules_and_rights_have_their_words(void **state) {
        _cleanup_(message_freep) Argosy__Request *q = parsed(
                "{\"verb\":\"queue rule add\",\"before\":2,\"rule\":{\"action\":\"limit\",\"limit\":3,"
                "\"author\":\"a*\",\"verb\":\"start\",\"unit\":\"w*\",\"role\":\"r\",\"reason\":\"x\"}}");
        const Argosy__QueueRule *rule = q->queue_change->add;

        assert_int_equal(q->queue_change->before, 2);
        assert_int_equal(rule->action, ARGOSY__QUEUE_ACTION__QUEUE_LIMIT);
        assert_int_equal(rule->limit, 3);
        assert_string_equal(rule->author, "a*");
        assert_string_equal(rule->verb, "start");
        assert_string_equal(rule->reason, "x");
        assert_string_equal(q->job->reason, "");
        message_free(q);
        q = parsed("{\"verb\":\"access "
                   "grant\",\"right\":\"operate\",\"who\":\"user:ann@n1\",\"role\":\"web\"}");
        assert_int_equal(q->access_change->right, ARGOSY__RIGHT__RIGHT_OPERATE);
        assert_false(q->access_change->revoke);
        assert_string_equal(q->access_change->user, "ann");
        assert_string_equal(q->access_change->host, "n1");
        assert_string_equal(q->access_change->role, "web");
}

static void tokens_have_what_argosyctl_says_of_them(void **state) {
        Argosy__Request *q =
                parsed("{\"verb\":\"token create\",\"name\":\"ci\",\"right\":\"operate\",\"role\":\"web\","
                       "\"ttl\":\"30d\",\"hash\":\"" HEX64 "\"}");

        assert_string_equal(q->token_create->name, "ci");
        assert_int_equal(q->token_create->right, ARGOSY__RIGHT__RIGHT_OPERATE);
        assert_string_equal(q->token_create->role, "web");
        assert_int_equal(q->token_create->ttl_sec, 30 * 86400);
        assert_int_equal(q->token_create->hash.len, 32);
        assert_int_equal(q->token_create->hash.data[31], 0xef);
        message_free(q);
        q = parsed("{\"verb\":\"token revoke\",\"tokens\":[\"ci\",\"0123abcd\"]}");
        assert_int_equal(q->token_revoke->n_tokens, 2);
        assert_string_equal(q->token_revoke->tokens[1], "0123abcd");
        message_free(q);
}

static void a_rebalance_is_begun_and_not_waited_for(void **state) {
        _cleanup_(message_freep) Argosy__Request *q = parsed(
                "{\"verb\":\"rebalance\",\"patterns\":[\"web@*\"],\"max-moves\":3,\"health\":\"10s\"}");

        assert_int_equal(q->rebalance->n_patterns, 1);
        assert_string_equal(q->rebalance->patterns[0], "web@*");
        assert_int_equal(q->rebalance->max_moves, 3);
        assert_int_equal(q->rebalance->health_us, 10000000);
        assert_true(q->rebalance->no_wait && !q->rebalance->preview);
        assert_false(q->rebalance->abort);
        assert_int_equal(q->rebalance->id.len, REQUEST_KEY_ID_SIZE);
}

static void an_undo_may_have_a_pace(void **state) {
        _cleanup_(message_freep) Argosy__Request *q =
                parsed("{\"verb\":\"undo\",\"job\":7,\"max-unavailable\":\"25%\"}");

        assert_true(q->undo->rolling && q->undo->percent);
        assert_int_equal(q->undo->max_unavailable, 25);
        assert_int_equal(q->undo->health_us, 2000000); // as argosyctl has it
        message_free(q);
        q = parsed("{\"verb\":\"undo\",\"job\":7,\"rolling\":true,\"health\":\"10s\"}");
        assert_true(q->undo->rolling);
        assert_int_equal(q->undo->health_us, 10000000);
        message_free(q);
        q = parsed("{\"verb\":\"undo\",\"job\":7}");
        assert_false(q->undo->rolling);
        assert_int_equal(q->undo->health_us, 0);
}

static void rollouts_have_their_pace(void **state) {
        _cleanup_(message_freep) Argosy__Request *q = parsed(
                "{\"verb\":\"update\",\"unit\":\"a@.service\",\"files\":{\"a@.service\":\"[Service]\\n[X-"
                "Argosy]\\nFile=x\\n\","
                "\"a@.service.d/"
                "1.conf\":\"[Unit]\\n\",\"x\":\"1\"},\"max-unavailable\":\"25%\",\"health\":\"10s\"}");

        assert_string_equal(q->rollout->file->name, "a@.service");
        assert_non_null(memmem(q->rollout->file->content.data, q->rollout->file->content.len,
                               "\n# a@.service.d/1.conf\n[Unit]\n", 30));
        assert_int_equal(q->rollout->file->n_files, 1);
        assert_int_equal(q->rollout->max_unavailable, 25);
        assert_true(q->rollout->percent);
        assert_int_equal(q->rollout->health_us, 10000000);
        // it has a place of its own, where leaders look
        assert_int_equal(q->rollout->id.len, REQUEST_KEY_ID_SIZE);
        assert_int_equal(q->job->id.len, 0);
        message_free(q);
        q = parsed("{\"verb\":\"restart --rolling\",\"unit\":\"a@.service\",\"max-unavailable\":2}");
        assert_int_equal(q->rollout->kind, ARGOSY__ROLLOUT_KIND__ROLLOUT_RESTART);
        assert_int_equal(q->rollout->max_unavailable, 2);
        assert_false(q->rollout->percent);
        assert_int_equal(q->rollout->health_us, 2000000); // as argosyctl has it
}

static void what_is_no_proper_operation_is_refused(void **state) {
        static const struct {
                const char *body, *saying;
        } cases[] = {
                {"{\"verb\":\"drain\"}", "'nodes'"},
                {"{\"verb\":\"drain\",\"nodes\":[]}", "'nodes'"},
                {"{\"verb\":\"drain\",\"nodes\":[\"n1\",2]}", "'nodes'"},
                {"{\"verb\":\"drain\",\"nodes\":[\"n1\"],\"units\":[\"a.service\"]}", "no member 'units'"},
                {"{\"verb\":\"cordon\",\"nodes\":[\"n1\"],\"deadline\":\"1s\"}", "no member 'deadline'"},
                {"{\"verb\":\"drain\",\"nodes\":[\"n1\"],\"deadline\":\"soon\"}", "'deadline'"},
                {"{\"verb\":\"drain\",\"nodes\":[\"n1\"],\"deadline\":\"31d\"}", "'deadline'"},
                {"{\"verb\":\"label\",\"node\":\"n1\"}", "'set', or 'unset'"},
                {"{\"verb\":\"label\",\"node\":\"n1\",\"set\":{\"a\":1}}", "'set'"},
                {"{\"verb\":\"label\",\"node\":\"n1\",\"set\":[\"a\"]}", "'set'"},
                {"{\"verb\":\"undo\",\"job\":0}", "'job'"},
                {"{\"verb\":\"undo\",\"job\":1.5}", "'job'"},
                {"{\"verb\":\"undo\",\"job\":1,\"force\":true,\"only-untouched\":true}", "exclude"},
                {"{\"verb\":\"job cancel\",\"jobs\":[]}", "'jobs'"},
                {"{\"verb\":\"job cancel\",\"jobs\":7}", "'jobs'"},
                {"{\"verb\":\"update\",\"unit\":\"a.service\",\"files\":7}", "'files'"},
                {"{\"verb\":\"update\",\"unit\":\"a.service\",\"files\":{\"b.service\":\"[Service]\\n\"}}",
                 "has the file of 'a.service'"},
                {"{\"verb\":\"update\",\"unit\":\"a.service\",\"max-unavailable\":\"101%\"}",
                 "'max-unavailable'"},
                {"{\"verb\":\"role set\",\"role\":\"r\",\"weight\":10001}", "'weight'"},
                {"{\"verb\":\"role set\",\"role\":\"r\",\"limit\":{\"cpu\":1}}", "'cpu'"},
                {"{\"verb\":\"role set\",\"role\":\"r\",\"limit\":{\"gpu\":0}}", "'gpu'"},
                {"{\"verb\":\"pool set\",\"pool\":\"p\"}", "'nodes', or 'labels'"},
                {"{\"verb\":\"access grant\",\"right\":\"fly\",\"who\":\"user:a\"}", "'right'"},
                {"{\"verb\":\"access grant\",\"right\":\"view\",\"who\":\"ann\"}", "'who'"},
                {"{\"verb\":\"token create\",\"name\":\"ci\",\"right\":\"fly\",\"hash\":\"" HEX64 "\"}",
                 "'right'"},
                {"{\"verb\":\"token create\",\"name\":\"ci\",\"right\":\"view\"}", "'hash'"},
                {"{\"verb\":\"token create\",\"name\":\"ci\",\"right\":\"view\",\"hash\":\"abc\"}",
                 "'hash'"},
                {"{\"verb\":\"token create\",\"name\":\"ci\",\"right\":\"view\",\"hash\":\"" HEX64
                 "\",\"ttl\":\"1826d\"}",
                 "'ttl'"},
                {"{\"verb\":\"token revoke\"}", "'tokens'"},
                {"{\"verb\":\"queue rule add\",\"rule\":{\"action\":\"fly\"}}", "'action'"},
                {"{\"verb\":\"queue rule add\",\"rule\":{\"action\":\"limit\"}}", "'limit'"},
                {"{\"verb\":\"queue rule add\",\"rule\":{\"action\":\"refuse\"}}", "'text'"},
                {"{\"verb\":\"queue rule add\",\"rule\":{\"action\":\"hold\",\"colour\":1}}", "'colour'"},
                {"{\"verb\":\"queue rule add\",\"rule\":[]}", "'rule'"},
                {"{\"verb\":\"queue limit\",\"number\":-1}", "'number'"},
                {"{\"verb\":\"history limit\",\"size\":\"64\"}", "'size'"}, // which would be bytes
                {"{\"verb\":\"cluster voters\"}", "'number'"},
                {"{\"verb\":\"cluster set-time\",\"time\":\"now\"}", "'time'"},
                {"{\"verb\":\"cluster token\"}", "no verb"}};

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                Argosy__Request *q;
                char *why = NULL;

                assert_int_equal(parse(cases[i].body, &q, &why), -EINVAL);
                if (!why || !strstr(why, cases[i].saying))
                        fail_msg("%s: %s", cases[i].body, why);
                free(why);
        }
}

RUN_TESTS(
        cmocka_unit_test(each_verb_is_a_request_that_argosyctl_would_send),
        cmocka_unit_test(nodes_have_their_mode_and_the_reason),
        cmocka_unit_test(roles_have_amounts),
        cmocka_unit_test(rules_and_rights_have_their_words),
        cmocka_unit_test(tokens_have_what_argosyctl_says_of_them),
        cmocka_unit_test(an_undo_may_have_a_pace),
        cmocka_unit_test(rollouts_have_their_pace),
        cmocka_unit_test(a_rebalance_is_begun_and_not_waited_for),
        cmocka_unit_test(what_is_no_proper_operation_is_refused)
)
