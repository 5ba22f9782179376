// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>

#include "printed.h"
#include "test.h"

#include "buf.h"
#include "http-write.h"
#include "macro.h"
#include "message.h"
#include "messages.h"
#include "request-key.h"
#include "secret-name.h"

static char *reason; // why the last one was refused

FIXTURE(end) {
        free(TAKE_PTR(reason));
}

static int write_of(const char *target, HttpMethod method, HttpWriteHeaders headers, const char *body,
                    Argosy__Request **ret) {
        HttpTarget t;
        const char *why;

        free(TAKE_PTR(reason));
        assert_int_equal(http_target_parse(target, method, &t, &why), 0);
        int r = http_write_parse(&t, &headers, body, strlen(body), ret, &reason);
        http_target_done(&t);
        assert_int_equal(r < 0, reason != NULL);
        return r;
}

static Argosy__Request *posted(const char *body) {
        Argosy__Request *q = NULL;

        if (write_of("/v1/jobs", HTTP_POST, (HttpWriteHeaders){}, body, &q) < 0)
                fail_msg("%s", reason);
        return q;
}

static void a_verb_becomes_the_request_that_argosyctl_would_send(void **state) {
        static const struct {
                const char *name;
                Argosy__Verb verb;
        } cases[] = {{"submit", ARGOSY__VERB__VERB_SUBMIT},   {"load", ARGOSY__VERB__VERB_LOAD},
                     {"start", ARGOSY__VERB__VERB_START},     {"stop", ARGOSY__VERB__VERB_STOP},
                     {"restart", ARGOSY__VERB__VERB_RESTART}, {"unload", ARGOSY__VERB__VERB_UNLOAD},
                     {"destroy", ARGOSY__VERB__VERB_DESTROY}};

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                Argosy__Request *q = posted(printed(
                        "{\"units\":[\"a.service\",\"b@1.socket\"],\"verb\":\"%s\"}", cases[i].name));
                assert_int_equal(q->what_case, ARGOSY__REQUEST__WHAT_CHANGE);
                assert_int_equal(q->change->verb, cases[i].verb);
                assert_int_equal(q->change->n_names, 2);
                assert_string_equal(q->change->names[1], "b@1.socket");
                assert_int_equal(q->change->id.len, REQUEST_KEY_ID_SIZE);
                assert_int_equal(q->job->n_targets, 2);
                assert_int_equal(q->job->more_targets, 0);
                message_free(q);
        }
}

static void members_have_their_places(void **state) {
        _cleanup_(message_freep) Argosy__Request *q = posted(
                "{\"verb\":\"start\",\"files\":{\"a.service\":\"[Service]\\n\",\"b@.service\":\"\"},"
                "\"units\":[\"b@1.service\"],\"replace\":true,\"plan\":true,\"reason\":\"it's \\u00e9\","
                "\"hold\":true,\"after\":[1,9007199254740992],\"queue\":true}");

        assert_int_equal(q->change->n_names, 1);
        assert_int_equal(q->change->n_files, 2);
        assert_string_equal(q->change->files[0]->name, "a.service");
        assert_string_equal(q->change->files[0]->path, "a.service");
        assert_int_equal(q->change->files[0]->content.len, strlen("[Service]\n"));
        assert_true(q->change->replace && q->change->preview && q->job->hold && q->job->queue);
        assert_string_equal(q->job->reason, "it's \xc3\xa9");
        assert_int_equal(q->job->n_after, 2);
        assert_true(q->job->after[1] == 9007199254740992);
}

static void without_units_those_of_the_files_are_meant(void **state) {
        _cleanup_(message_freep) Argosy__Request *q =
                posted("{\"verb\":\"submit\",\"files\":{\"a.service\":\"[Service]\\n\"}}");

        assert_int_equal(q->change->n_names, 1);
        assert_string_equal(q->change->names[0], "a.service");
}

static void assert_file(const Argosy__NamedFile *f, const char *name, const char *content) {
        assert_string_equal(f->name, name);
        assert_int_equal(f->content.len, strlen(content));
        assert_memory_equal(f->content.data, content, strlen(content));
}

static void drop_ins_come_as_files_beside_their_unit(void **state) {
        _cleanup_(message_freep) Argosy__Request *q = posted(
                "{\"verb\":\"start\",\"units\":[\"a.service\",\"b@1.service\",\"b@2.service\"],\"files\":{"
                "\"b@2.service.d/9.conf\":\"[Unit]\\n\",\"a.service.d/2.conf\":\"[Service]\\nNice=2\\n\","
                "\"a.service\":\"[Service]\\n\",\"b@.service\":\"[Service]\\n\","
                "\"b@.service.d/1.conf\":\"[Service]\\nNice=1\\n\",\"a.service.d/"
                "1.conf\":\"[Service]\\nNice=1\\n\"}}");

        assert_int_equal(q->change->n_files, 3);
        assert_file(q->change->files[0], "a.service",
                    "[Service]\n\n# a.service.d/1.conf\n[Service]\nNice=1\n\n# "
                    "a.service.d/2.conf\n[Service]\nNice=2\n");
        assert_file(q->change->files[1], "b@.service",
                    "[Service]\n\n# b@.service.d/1.conf\n[Service]\nNice=1\n");
        assert_file(
                q->change->files[2], "b@2.service",
                "[Service]\n\n# b@.service.d/1.conf\n[Service]\nNice=1\n\n# b@2.service.d/9.conf\n[Unit]\n");
}

static void a_containers_file_is_that_of_its_service(void **state) {
        _cleanup_(message_freep) Argosy__Request *q =
                posted("{\"verb\":\"start\",\"units\":[\"box@1.container\"],\"files\":{\"box@."
                       "container\":\"[Container]\\nImage=localhost/b:1\\n\","
                       "\"box@.container.d/1.conf\":\"[Container]\\nExec=x\\n\"}}");

        assert_string_equal(q->change->names[0], "box@1.service");
        assert_int_equal(q->change->n_files, 1);
        assert_file(q->change->files[0], "box@.service",
                    "[Container]\nImage=localhost/b:1\n\n# box@.container.d/1.conf\n[Container]\nExec=x\n");
}

static void what_a_container_names_is_part_of_it(void **state) {
        Argosy__Request *q =
                posted("{\"verb\":\"start\",\"files\":{\"data.volume\":\"[Volume]\\n\",\"box.container\":"
                       "\"[Container]\\nVolume=data.volume:/d\\nNetwork=db.container\\n\","
                       "\"db.container\":\"[Container]\\nImage=localhost/b:1\\n\"}}");

        assert_int_equal(q->change->n_files, 2);
        assert_file(q->change->files[0], "box.service",
                    "[Container]\nVolume=data.volume:/d\nNetwork=db.container\n\n# data.volume\n[Volume]\n"
                    "\n# db.container\n[Container]\nImage=localhost/b:1\n");
        assert_file(q->change->files[1], "db.service", "[Container]\nImage=localhost/b:1\n");
        message_free(q);
}

static void files_that_a_unit_names_come_with_it(void **state) {
        static const char body[] = "{\"verb\":\"start\",\"units\":[\"a.service\"],\"files\":{\"conf/"
                                   "a.conf\":\"abc\",\"x.sh\":{\"content\":\"YWJjZA==\","
                                   "\"encoding\":\"base64\",\"executable\":true},\"a.service\":\"[Service]"
                                   "\\n[X-Argosy]\\nFile=conf:/etc/a x.sh\\n\"}}";
        Argosy__Request *q;

        if (write_of("/v1/jobs", HTTP_POST, (HttpWriteHeaders){}, body, &q) < 0)
                fail_msg("%s", reason);
        assert_int_equal(q->change->n_files, 1);
        const Argosy__NamedFile *f = q->change->files[0];
        assert_int_equal(f->n_files, 2);
        assert_int_equal(f->files[0].len, 3);
        assert_int_equal(f->files[1].len, 4);
        assert_memory_equal(f->files[1].data, "abcd", 4);
        assert_non_null(
                memmem(f->content.data, f->content.len, "\n# a.service.d/~argosy.conf\n[Service]\n", 38));
        assert_non_null(memmem(f->content.data, f->content.len, "\n# 0444 3 ", 10));
        assert_non_null(memmem(f->content.data, f->content.len, "\n# 0555 4 ", 10));
        message_free(q);
}

static void a_drop_in_that_does_not_fit_is_refused(void **state) {
        static const struct {
                const char *files, *reason;
        } cases[] = {
                {"\"a.service.d/1.conf\":\"[Service]\\n\"", "its unit's file is not in 'files'"},
                {"\"a.service\":\"[Service]\\n\",\"a.service.d/1.conf\":\"Nice=1\\n\"",
                 "does not begin with a section"},
                {"\"a.service\":\"[Service]\\n\",\"service.d/1.conf\":\"[Service]\\n\"", "a drop-in"},
                {"\"a.service\":\"[Service]\\n\",\"a.service.d/../1.conf\":\"[Service]\\n\"", "a drop-in"},
                {"\"a.service\":\"[Service]\\n\",\"a.service.d/~argosy.conf\":\"[Service]\\n\"",
                 "is argosy's own"},
                {"\"a.service\":\"[Service]\\n\",\"a.service.d/1.txt\":\"[Service]\\n\"",
                 "is no name of a unit"},
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                Argosy__Request *q;
                char body[512];

                snprintf(body, sizeof(body), "{\"verb\":\"start\",\"units\":[\"a.service\"],\"files\":{%s}}",
                         cases[i].files);
                assert_int_equal(write_of("/v1/jobs", HTTP_POST, (HttpWriteHeaders){}, body, &q), -EINVAL);
                if (!strstr(reason, cases[i].reason))
                        fail_msg("'%s' is not in: %s", cases[i].reason, reason);
        }
}

// Thirty instances with drop-ins of their own, of a template of that size.
static int compose_instances(size_t size) {
        _cleanup_free_ char *comment = calloc(size + 1, 1);
        _cleanup_buf_ Buf body = {};
        Argosy__Request *q = NULL;

        memset(comment, 'a', size);
        assert_int_equal(buf_printf(&body,
                                    "{\"verb\":\"start\",\"units\":[\"b@1.service\"],\"files\":{\"b@."
                                    "service\":\"#%s\\n\"",
                                    comment),
                         0);
        for (int i = 0; i < 30; i++)
                assert_int_equal(buf_printf(&body, ",\"b@%d.service.d/1.conf\":\"[Unit]\\n\"", i), 0);
        assert_int_equal(buf_append(&body, "}}", 3), 0);
        int r = write_of("/v1/jobs", HTTP_POST, (HttpWriteHeaders){}, (const char *) body.data, &q);
        message_free(q);
        return r;
}

// A template is copied for each of them.
static void what_is_composed_has_a_limit(void **state) {
        assert_int_equal(compose_instances(1000), 0);
        assert_int_equal(compose_instances(10000), -EINVAL);
        assert_non_null(strstr(reason, "with their drop-ins these files are more than "));
        assert_int_equal(compose_instances(200000), -EINVAL);
}

static void what_is_no_proper_change_is_refused(void **state) {
        static const char *const bodies[] = {
                "{}",
                "[]",
                "{\"verb\":1}",
                "{\"verb\":\"fly\",\"units\":[\"a.service\"]}",
                "{\"verb\":\"start\"}",
                "{\"verb\":\"start\",\"units\":[]}",
                "{\"verb\":\"start\",\"units\":\"a.service\"}",
                "{\"verb\":\"start\",\"units\":[1]}",
                "{\"verb\":\"start\",\"units\":[\"../a.service\"]}",
                "{\"verb\":\"start\",\"units\":[\"a*.service\"]}",
                "{\"verb\":\"start\",\"units\":[\"a.service\"],\"unit\":1}",
                "{\"verb\":\"start\",\"units\":[\"a.service\"],\"Reason\":\"a\"}",
                "{\"verb\":\"start\",\"units\":[\"a.service\"],\"reason\":1}",
                "{\"verb\":\"start\",\"units\":[\"a.service\"],\"reason\":\"a\\nb\"}",
                "{\"verb\":\"start\",\"units\":[\"a.service\"],\"reason\":\"a\\u202eb\"}",
                "{\"verb\":\"start\",\"units\":[\"a.service\"],\"hold\":1}",
                "{\"verb\":\"start\",\"units\":[\"a.service\"],\"after\":1}",
                "{\"verb\":\"start\",\"units\":[\"a.service\"],\"after\":[0]}",
                "{\"verb\":\"start\",\"units\":[\"a.service\"],\"after\":[1.5]}",
                "{\"verb\":\"start\",\"units\":[\"a.service\"],\"after\":[1e99]}",
                "{\"verb\":\"start\",\"units\":[\"a.service\"],\"after\":[\"1\"]}",
                "{\"verb\":\"start\",\"units\":[\"a.service\"],\"files\":[]}",
                "{\"verb\":\"start\",\"units\":[\"a.service\"],\"files\":{\"a\":\"\"}}",
                "{\"verb\":\"start\",\"units\":[\"a.service\"],\"files\":{\"a.service\":1}}",
                "{\"verb\":\"stop\",\"units\":[\"a.service\"],\"files\":{\"a.service\":\"\"}}",
                "{\"verb\":\"stop\",\"units\":[\"a.service\"],\"replace\":true}",
                "{\"verb\":\"stop\",\"units\":[\"a.service\"],\"plan\":true}",
        };

        for (size_t i = 0; i < ELEMENTSOF(bodies); i++) {
                Argosy__Request *q = NULL;

                assert_int_equal(write_of("/v1/jobs", HTTP_POST, (HttpWriteHeaders){}, bodies[i], &q),
                                 -EINVAL);
                assert_null(q);
        }
}

static void a_key_makes_the_same_id_and_none_another_one(void **state) {
        static const char body[] = "{\"verb\":\"stop\",\"units\":[\"a.service\"]}";
        uint8_t id[REQUEST_KEY_ID_SIZE];
        Argosy__Request *q = NULL, *other = posted(body), *third = posted(body);

        request_key_id("nightly", 0, id);
        assert_int_equal(write_of("/v1/jobs", HTTP_POST, (HttpWriteHeaders){.key = "nightly"}, body, &q), 0);
        assert_memory_equal(q->change->id.data, id, sizeof(id));
        assert_memory_not_equal(other->change->id.data, third->change->id.data, sizeof(id));
        message_free(q);
        message_free(other);
        message_free(third);
        assert_int_equal(write_of("/v1/jobs", HTTP_POST, (HttpWriteHeaders){.key = ""}, body, &q), -EINVAL);
        assert_int_equal(write_of("/v1/jobs", HTTP_POST, (HttpWriteHeaders){.key = "a\tb"}, body, &q),
                         -EINVAL);
}

static void a_plan_is_asked_for_at_its_place(void **state) {
        static const char *const good[] = {"{\"verb\":\"start\",\"units\":[\"a.service\"]}",
                                           "{\"verb\":\"start\",\"units\":[\"a.service\"],\"plan\":true}"},
                          *const bad[] = {"{\"verb\":\"start\",\"units\":[\"a.service\"],\"plan\":false}",
                                          "{\"verb\":\"start\",\"units\":[\"a.service\"],\"plan\":1}",
                                          "{\"verb\":\"stop\",\"units\":[\"a.service\"]}",
                                          "{\"verb\":\"cordon\",\"nodes\":[\"n1\"]}"};
        Argosy__Request *q = NULL;

        for (size_t i = 0; i < ELEMENTSOF(good); i++) {
                assert_int_equal(write_of("/v1/plan", HTTP_POST, (HttpWriteHeaders){}, good[i], &q), 0);
                assert_true(q->change->preview);
                message_free(q);
        }
        assert_int_equal(
                write_of("/v1/plan", HTTP_POST, (HttpWriteHeaders){}, "{\"verb\":\"undo\",\"job\":7}", &q),
                0);
        assert_true(q->undo->preview);
        message_free(q);
        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                assert_int_equal(write_of("/v1/plan", HTTP_POST, (HttpWriteHeaders){}, bad[i], &q), -EINVAL);
}

static void files_are_asked_about_without_a_job(void **state) {
        static const char *const bad[] = {"{}",
                                          "{\"files\":{}}",
                                          "{\"files\":{\"a\":\"\"}}",
                                          "{\"files\":{\"a.service\":1}}",
                                          "{\"files\":{\"a.service\":\"\"},\"verb\":\"start\"}",
                                          "{\"files\":{\"a.service\":\"\"},\"node\":1}"};
        Argosy__Request *q = NULL;

        assert_int_equal(
                write_of("/v1/verify", HTTP_POST, (HttpWriteHeaders){},
                         "{\"files\":{\"a.service\":\"[Service]\\n\",\"b@1.socket\":\"x\"},\"node\":\"n2\"}",
                         &q),
                0);
        assert_int_equal(q->what_case, ARGOSY__REQUEST__WHAT_VERIFY);
        assert_null(q->job);
        assert_string_equal(q->verify->node, "n2");
        assert_int_equal(q->verify->n_files, 2);
        assert_string_equal(q->verify->files[1]->name, "b@1.socket");
        assert_int_equal(q->verify->files[0]->content.len, strlen("[Service]\n"));
        message_free(q);
        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                assert_int_equal(write_of("/v1/verify", HTTP_POST, (HttpWriteHeaders){}, bad[i], &q),
                                 -EINVAL);
}

static void a_revision_stands_in_quotes(void **state) {
        static const char body[] = "{\"verb\":\"stop\",\"units\":[\"a.service\"]}";
        static const char *const bad[] = {"",           "7",       "\"7",
                                          "\"\"",       "\"x\"",   "\"0\"",
                                          "*",          "W/\"7\"", "\"99999999999999999999\"",
                                          "\"7\",\"8\""};
        Argosy__Request *q = NULL;

        assert_int_equal(write_of("/v1/jobs", HTTP_POST, (HttpWriteHeaders){.if_match = "\"17\""}, body, &q),
                         0);
        assert_int_equal(q->job->if_revision, 17);
        message_free(q);
        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                assert_int_equal(
                        write_of("/v1/jobs", HTTP_POST, (HttpWriteHeaders){.if_match = bad[i]}, body, &q),
                        -EINVAL);
}

static void a_file_is_put_and_deleted(void **state) {
        Argosy__Request *q = NULL;

        assert_int_equal(
                write_of("/v1/unit-files/a.service", HTTP_PUT, (HttpWriteHeaders){}, "[Service]\n", &q), 0);
        assert_int_equal(q->change->verb, ARGOSY__VERB__VERB_SUBMIT);
        assert_true(q->change->replace);
        assert_string_equal(q->change->names[0], "a.service");
        assert_int_equal(q->change->files[0]->content.len, 10);
        message_free(q);
        assert_int_equal(write_of("/v1/unit-files/a.service", HTTP_PUT,
                                  (HttpWriteHeaders){.if_none_match = "*"}, "x", &q),
                         -EINVAL);
        assert_int_equal(write_of("/v1/unit-files/a.service", HTTP_PUT, (HttpWriteHeaders){}, "", &q),
                         -EINVAL);
        assert_int_equal(write_of("/v1/unit-files/a.service", HTTP_DELETE, (HttpWriteHeaders){}, "", &q), 0);
        assert_int_equal(q->change->verb, ARGOSY__VERB__VERB_DESTROY);
        message_free(q);
}

static void a_secret_is_any_bytes_and_no_error_says_which(void **state) {
        static char large[SECRET_VALUE_MAX + 2];
        Argosy__Request *q = NULL;
        HttpTarget t;
        char *told = NULL;
        const char *why;

        assert_int_equal(
                write_of("/v1/secrets/db", HTTP_PUT, (HttpWriteHeaders){.key = "k"}, "hunter2\n", &q), 0);
        assert_int_equal(q->what_case, ARGOSY__REQUEST__WHAT_SECRET_SET);
        assert_string_equal(q->secret_set->name, "db");
        assert_int_equal(q->secret_set->value.len, 8);
        assert_memory_equal(q->secret_set->value.data, "hunter2\n", 8);
        assert_int_equal(q->job->id.len, 16);
        message_free(q);
        assert_int_equal(write_of("/v1/secrets/db", HTTP_PUT, (HttpWriteHeaders){}, "", &q), -EINVAL);
        memset(large, 'x', sizeof(large) - 1);
        assert_int_equal(http_target_parse("/v1/secrets/db", HTTP_PUT, &t, &why), 0);
        assert_int_equal(http_write_parse(&t, &(HttpWriteHeaders){}, large, SECRET_VALUE_MAX + 1, &q, &told),
                         -E2BIG);
        assert_string_equal(told, "the body is too long: a secret has at most 65536 bytes");
        free(told);
        http_target_done(&t);
        assert_int_equal(write_of("/v1/secrets/db", HTTP_DELETE, (HttpWriteHeaders){}, "", &q), 0);
        assert_int_equal(q->what_case, ARGOSY__REQUEST__WHAT_SECRET_DELETE);
        assert_string_equal(q->secret_delete->names[0], "db");
        message_free(q);
}

#define TEST(name) cmocka_unit_test_teardown(name, end)

RUN_TESTS(
        TEST(a_verb_becomes_the_request_that_argosyctl_would_send),
        TEST(members_have_their_places),
        TEST(without_units_those_of_the_files_are_meant),
        TEST(drop_ins_come_as_files_beside_their_unit),
        TEST(a_containers_file_is_that_of_its_service),
        TEST(what_a_container_names_is_part_of_it),
        TEST(a_drop_in_that_does_not_fit_is_refused),
        cmocka_unit_test(files_that_a_unit_names_come_with_it),
        TEST(what_is_composed_has_a_limit),
        TEST(what_is_no_proper_change_is_refused),
        TEST(a_key_makes_the_same_id_and_none_another_one),
        TEST(a_plan_is_asked_for_at_its_place),
        TEST(a_secret_is_any_bytes_and_no_error_says_which),
        TEST(files_are_asked_about_without_a_job),
        TEST(a_revision_stands_in_quotes),
        TEST(a_file_is_put_and_deleted)
)
