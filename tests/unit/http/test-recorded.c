// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What HTTP says, byte by byte, against recorded.txt: the document of each resource, of answers in which
// every field has a value and of answers in which none has; the Request that each target and each body
// becomes; why a target or a body is refused; the description. A change of any of these on purpose records
// them anew: ARGOSY_RECORD=tests/unit/http/recorded.txt, with this program.
#include "test.h"

#include <stdlib.h>

#include "buf.h"
#include "http-body.h"
#include "http-openapi.h"
#include "http-write.h"
#include "macro.h"
#include "message.h"
#include "str.h"

#define CURSOR "cwy32y6tpcukcdatkmvh2nry2vkzz6zg6g4hajw4vzpa"
#define REV "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const char *recorded; // the file's name
static Buf said;

static void say(const char *text) {
        assert_int_equal(buf_append(&said, text, strlen(text)), 0);
}

static void say_line(const char *one, const char *other) {
        say(one);
        say(" ");
        say(other);
        say("\n");
}

static void say_bytes(const uint8_t *data, size_t len) {
        char hex[3];

        for (size_t i = 0; i < len; i++) {
                if (data[i] > ' ' && data[i] < 0x7f && data[i] != '%') {
                        say((const char[]){(char) data[i], 0});
                        continue;
                }
                str_fit(hex, sizeof(hex), "%02x", data[i]);
                say("%");
                say(hex);
        }
        say("\n");
}

// ---- messages in which every field has a value, or none

enum { DEPTH_MAX = 4 };

typedef struct Filling {
        bool full;
        unsigned n; // values so far: no two are alike
} Filling;

static void *filled(const ProtobufCMessageDescriptor *type, Filling *f, unsigned depth);

static void fill_one(void *at, const ProtobufCFieldDescriptor *field, Filling *f, unsigned depth) {
        const ProtobufCEnumDescriptor *words = field->descriptor;
        ProtobufCBinaryData *bytes = at;
        unsigned n = ++f->n;

        switch (field->type) {
        case PROTOBUF_C_TYPE_STRING:
                *(char **) at = f->full ? str_printf("%s-%u", field->name, n) : strdup("");
                break;
        case PROTOBUF_C_TYPE_BYTES:
                *bytes = (ProtobufCBinaryData){f->full ? 3 : 0, f->full ? (uint8_t *) strdup("abc") : NULL};
                break;
        case PROTOBUF_C_TYPE_MESSAGE:
                *(void **) at = filled(field->descriptor, f, depth + 1);
                break;
        case PROTOBUF_C_TYPE_ENUM:
                *(int *) at = words->values[f->full ? 1 + n % (words->n_values - 1) : 0].value;
                break;
        case PROTOBUF_C_TYPE_BOOL:
                *(protobuf_c_boolean *) at = f->full;
                break;
        default:
                if (message_field_size(field->type) == sizeof(uint64_t))
                        *(uint64_t *) at = f->full ? 1000000 + n : 0;
                else
                        *(uint32_t *) at = f->full ? 1000 + n : 0;
        }
}

static void fill_list(char *message, const ProtobufCFieldDescriptor *field, Filling *f, unsigned depth) {
        size_t size = message_field_size(field->type), n = depth >= 2 && f->full ? 2 : 1;
        char *list = calloc(n, size);

        assert_non_null(list);
        for (size_t i = 0; i < n; i++)
                fill_one(list + i * size, field, f, depth);
        *(void **) (message + field->offset) = list;
        *(size_t *) (message + field->quantifier_offset) = n;
}

static void *filled(const ProtobufCMessageDescriptor *type, Filling *f, unsigned depth) {
        char *message = calloc(1, type->sizeof_message);

        assert_non_null(message);
        protobuf_c_message_init(type, (ProtobufCMessage *) message);
        for (unsigned i = 0; i < type->n_fields; i++) {
                const ProtobufCFieldDescriptor *field = &type->fields[i];

                if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) ||
                    (field->type == PROTOBUF_C_TYPE_MESSAGE && depth >= DEPTH_MAX))
                        continue;
                if (field->label == PROTOBUF_C_LABEL_REPEATED) {
                        fill_list(message, field, f, depth);
                        continue;
                }
                fill_one(message + field->offset, field, f, depth);
                if (field->label == PROTOBUF_C_LABEL_OPTIONAL && field->quantifier_offset > 0)
                        *(protobuf_c_boolean *) (message + field->quantifier_offset) = f->full;
        }
        return message;
}

static HttpPart part_of(const char *what, bool full) {
        const ProtobufCMessageDescriptor *type = &argosy__response__descriptor;
        const ProtobufCFieldDescriptor *field = protobuf_c_message_descriptor_get_field_by_name(type, what);
        Filling f = {.full = full};
        Argosy__Response *r = filled(type, &f, 0);
        HttpPart part;

        assert_non_null(field);
        r->what_case = (Argosy__Response__WhatCase) field->id;
        *(void **) ((char *) r + field->offset) = filled(field->descriptor, &f, 1);
        part.data = malloc(argosy__response__get_packed_size(r) + 1);
        assert_non_null(part.data);
        part.len = argosy__response__pack(r, part.data);
        message_free(r);
        return part;
}

// ---- documents

static HttpMethod method_of(const char *text, const char **ret_target) {
        char method[8] = "";

        *ret_target = strchr(text, ' ') + 1;
        str_fit(method, sizeof(method), "%.*s", (int) (*ret_target - text - 1), text);
        return http_method_from_string(method);
}

static HttpTarget parsed(const char *text) {
        const char *target, *why;
        HttpMethod method = method_of(text, &target);
        HttpTarget t;

        if (http_target_parse(target, method, &t, &why) != 0)
                fail_msg("%s: %s", text, why);
        return t;
}

static HttpPart *parts_of(const char *what, int full, size_t *ret_n) {
        HttpPart *parts = calloc(2, sizeof(*parts));

        assert_non_null(parts);
        *ret_n = 0;
        if (!*what)
                return parts;
        if (full)
                parts[(*ret_n)++] = part_of(what, true);
        parts[(*ret_n)++] = part_of(what, full == 1);
        return parts;
}

static void say_document(const char *target, const char *what, const char *aside, int full) {
        size_t n, n_asides;
        HttpPart *parts = parts_of(what, full, &n), *asides = parts_of(aside, full, &n_asides);
        HttpTarget t = parsed(target);
        HttpBody *b = http_body_new(&t, parts, n, asides, n_asides);
        char buf[1000], page[HTTP_PAGE_SIZE];
        ssize_t r;

        assert_non_null(b);
        say_line("##", target);
        if (http_body_next(b, page))
                say_line("next", page);
        while ((r = http_body_read(b, buf, sizeof(buf))) > 0)
                assert_int_equal(buf_append(&said, buf, (size_t) r), 0);
        assert_int_equal(r, 0);
        http_body_free(b);
}

static void say_documents(void) {
        static const struct {
                const char *target, *what, *aside;
        } answers[] = {
                {"GET /v1/units", "units", ""},
                {"GET /v1/units/a.service", "units", "status_reply"},
                {"GET /v1/unit-files", "unit_files", ""},
                {"GET /v1/unit-files/a.service", "unit_files", "cat"},
                {"GET /v1/unit-files/a.service?at=7", "unit_files", "cat"},
                {"PUT /v1/unit-files/a.service", "change", ""},
                {"DELETE /v1/unit-files/a.service", "change", ""},
                {"GET /v1/nodes", "nodes", ""},
                {"GET /v1/jobs", "jobs", ""},
                {"POST /v1/jobs", "change", ""},
                {"POST /v1/jobs", "rebalance", ""},
                {"POST /v1/jobs", "queue", ""},
                {"POST /v1/plan", "change", ""},
                {"POST /v1/plan", "rebalance", ""},
                {"POST /v1/verify", "verify", "verify"},
                {"GET /v1/jobs/7", "jobs", ""},
                {"GET /v1/jobs/7/targets", "jobs", ""},
                {"GET /v1/hosts", "cluster_status", ""},
                {"GET /v1/roles", "roles", ""},
                {"GET /v1/pools", "pools", ""},
                {"GET /v1/queue", "queue", ""},
                {"GET /v1/access", "access", ""},
                {"GET /v1/tokens", "tokens", ""},
                {"GET /v1/secrets", "secrets", ""},
                {"PUT /v1/secrets/db", "secrets", ""},
                {"DELETE /v1/secrets/db", "secrets", ""},
                {"GET /v1/history/a.service", "jobs", ""},
                {"GET /v1/usage", "usage", "usage"},
                {"GET /v1/units", "nodes", ""},
        };

        for (size_t i = 0; i < ELEMENTSOF(answers); i++)
                for (int full = 0; full < 3; full++)
                        say_document(answers[i].target, answers[i].what, answers[i].aside, full);
}

// ---- targets

static void say_request(const char *name, Argosy__Request *q) {
        _cleanup_free_ uint8_t *data = NULL;

        if (!q)
                return;
        data = malloc(argosy__request__get_packed_size(q) + 1);
        assert_non_null(data);
        size_t len = argosy__request__pack(q, data);
        say(name);
        say(" ");
        say_bytes(data, len);
        message_free(q);
}

static void say_target(const char *text) {
        const char *target, *why;
        HttpMethod method = method_of(text, &target);
        char number[16], methods[HTTP_METHODS_SIZE];
        HttpTarget t;
        int r = http_target_parse(target, method, &t, &why);

        say_line("##", text);
        http_target_methods(target, methods);
        say_line("allow", methods);
        say_line("public", http_target_is_public(target) ? "yes" : "no");
        str_fit(number, sizeof(number), "%d", r);
        if (r < 0) {
                say_line(number, why);
                return;
        }
        say_request("request", http_resource_request(&t));
        if (http_target_has_aside(&t))
                say_request("aside", http_resource_aside(&t));
        http_target_done(&t);
}

static void say_targets(void) {
        static const char *const targets[] = {
                "GET /healthz",
                "GET /readyz",
                "GET /metrics",
                "GET /v1/openapi.json",
                "GET /",
                "GET /dashboard/main.js",
                "GET /dashboard/none",
                "GET /v1/units",
                "GET /v1/units?pattern=a*&pattern=b&state=failed&node=n1&node=n2&label=a%3Db&limit=7",
                "GET /v1/units/a.service",
                "GET /v1/units/web%407.service",
                "GET /v1/units/a",
                "GET /v1/units/a/b",
                "POST /v1/units",
                "GET /v1/unit-files",
                "GET /v1/unit-files?pattern=a*&state=loaded&node=n1&label=a=b&limit=1000",
                "GET /v1/unit-files/a.service",
                "GET /v1/unit-files/a.service?at=7",
                "GET /v1/unit-files/a.service?rev=" REV,
                "GET /v1/unit-files/a.service?rev=" REV "&at=7",
                "GET /v1/unit-files/a.service?rev=abc",
                "GET /v1/unit-files/a.service?rev=" REV "&rev=" REV,
                "GET /v1/unit-files/a.service?at=0",
                "PUT /v1/unit-files/a.service?wait=5",
                "DELETE /v1/unit-files/a.service?wait=5",
                "DELETE /v1/unit-files/.."
                "GET /v1/nodes",
                "GET /v1/nodes?state=online&node=n1&label=a=b",
                "GET /v1/nodes?state=failed",
                "GET /v1/nodes?pattern=a",
                "GET /v1/jobs",
                "GET /v1/jobs?pattern=a*&state=failed&state=done&node=n1&author=ann@*&limit=20",
                "GET /v1/jobs?state=active",
                "POST /v1/jobs",
                "POST /v1/jobs?wait=60",
                "POST /v1/jobs?wait=61",
                "PUT /v1/jobs",
                "POST /v1/plan",
                "GET /v1/plan",
                "POST /v1/plan?wait=1",
                "POST /v1/verify",
                "GET /v1/verify",
                "GET /v1/jobs/7",
                "GET /v1/jobs/7?wait=3",
                "GET /v1/jobs/0",
                "GET /v1/jobs/x",
                "GET /v1/jobs/7/targets",
                "GET /v1/jobs/7/targets?wait=3",
                "GET /v1/jobs/7/nothing",
                "GET /v1/jobs//targets",
                "GET /v1/jobs/7/",
                "GET /v1/hosts",
                "GET /v1/hosts?state=online&node=n1",
                "GET /v1/hosts?label=a=b",
                "GET /v1/roles",
                "GET /v1/pools",
                "GET /v1/queue",
                "GET /v1/access",
                "GET /v1/tokens",
                "GET /v1/secrets",
                "PUT /v1/secrets/db?wait=1",
                "DELETE /v1/secrets/db",
                "GET /v1/secrets/db",
                "PUT /v1/secrets/.db",
                "DELETE /v1/secrets/a%2Fb",
                "GET /v1/events",
                "GET /v1/events?since=0&kind=unit&kind=job&pattern=a*",
                "GET /v1/events?since=@7",
                "GET /v1/events?since=" CURSOR,
                "GET /v1/events?since=x",
                "GET /v1/events?kind=weather",
                "GET /v1/journal/a.service",
                "GET /v1/journal/a.service?lines=0&follow=true&node=n1",
                "GET /v1/journal/a.service?lines=x",
                "GET /v1/journal/a.service?follow=x",
                "GET /v1/journal/a.service?node=n1&node=n2",
                "GET /v1/journal/",
                "GET /v1/state",
                "GET /v1/state?since=" CURSOR,
                "GET /v1/state?since=0",
                "GET /v1/history/a.service",
                "GET /v1/history/a.service?author=ann&limit=3",
                "GET /v1/history/a.service?author=a&author=b",
                "GET /v1/diff",
                "GET /v1/diff?from=7&to=9",
                "GET /v1/diff?from=@7",
                "GET /v1/diff?from=x",
                "GET /v1/usage",
                "GET /v1/usage?pattern=a*&node=n1",
                "GET /v1/usage?node=n1&node=n2",
                "POST /v1/login",
                "GET /v1/login",
                "POST /v1/logout",
                "GET /v1/nothing",
                "GET /v1",
                "GET //",
                "GET /?a=b",
                "GET /v1/units?pattern",
                "GET /v1/units?pattern=",
                "GET /v1/units?pattern=%",
                "GET /v1/units?other=a",
                "GET /v1/units?limit=0",
                "GET /v1/units?limit=1&limit=2",
                "GET /v1/units?page=p17",
                "GET /v1/units?page=p1&page=p1",
                "GET /v1/units?label=disk",
                "GET /v1/units?label=disk%3D",
                "GET /v1/units?state=loopin",
                "GET /v1/units?=a",
                "GET /v1/units/%2e%2e%2fetc",
                "GET /v1/units/a%00.service",
                "GET /healthz?a=b",
                "POST /healthz",
                "DELETE /v1/jobs/7",
        };

        for (size_t i = 0; i < ELEMENTSOF(targets); i++)
                say_target(targets[i]);
}

// ---- bodies

static void say_body(const char *target, const char *body) {
        const HttpWriteHeaders headers = {.key = "a-key"};
        _cleanup_free_ char *why = NULL, *copy = strdup(body);
        _cleanup_(http_target_done) HttpTarget t = parsed(target);
        Argosy__Request *q = NULL;
        char number[16];
        int r = http_write_parse(&t, &headers, copy, strlen(copy), &q, &why);

        say_line(target, body);
        if (r < 0) {
                str_fit(number, sizeof(number), "%d", r);
                say_line(number, why);
        } else
                say_request("request", q);
}

// What each verb is given: with everything that it takes, with nothing, with what it does not take, and each
// member with a value that is of another kind.
static void say_changes(const char *target) {
        static const char *const values[][2] = {
                {"action", "\"hold\""},
                {"after", "[7,8]"},
                {"all-max", "\"64M\""},
                {"before", "2"},
                {"deadline", "\"5min\""},
                {"file-max", "\"256K\""},
                {"files", "{\"a.service\":\"[Service]\\nExecStart=/bin/true\\n\"}"},
                {"force", "false"},
                {"guarantee", "{\"cpu\":\"1.5\",\"memory\":\"2G\",\"gpu\":3}"},
                {"hash", "\"" REV "\""},
                {"health", "\"3s\""},
                {"hold", "true"},
                {"job", "7"},
                {"jobs", "[7,9]"},
                {"labels", "{\"zone\":\"a\"}"},
                {"limit", "{\"cpu\":\"2\",\"disk\":null}"},
                {"max-moves", "3"},
                {"max-unavailable", "\"25%\""},
                {"name", "\"ci\""},
                {"node", "\"n1\""},
                {"nodes", "[\"n1\",\"n2\"]"},
                {"number", "3"},
                {"only-untouched", "true"},
                {"pull", "true"},
                {"unpinned", "true"},
                {"patterns", "[\"a*\"]"},
                {"plan", "true"},
                {"pool", "\"fast\""},
                {"queue", "true"},
                {"reason", "\"why not\""},
                {"replace", "true"},
                {"revs", "[\"abcd\"]"},
                {"right", "\"view\""},
                {"role", "\"web\""},
                {"rolling", "true"},
                {"set", "{\"disk\":\"ssd\"}"},
                {"size", "\"64M\""},
                {"time", "1000000"},
                {"tokens", "[\"t1\"]"},
                {"ttl", "\"30d\""},
                {"unit", "\"a.service\""},
                {"unit-max", "\"512K\""},
                {"units", "[\"a.service\",\"b.service\"]"},
                {"unset", "[\"old\"]"},
                {"weight", "5"},
                {"who", "\"user:ann@n1\""},
        };
        const HttpMember *of;
        const char *verb;

        for (size_t i = 0; (verb = http_write_verb(i)); i++) {
                _cleanup_free_ char *none = str_printf("{\"verb\":\"%s\"}", verb),
                                    *other = str_printf("{\"verb\":\"%s\",\"nothing\":1}", verb);
                Buf all = {};

                assert_int_equal(buf_append(&all, "", 0), 0);
                for (size_t k = 0; (of = http_write_member(i, k)); k++) {
                        const char *member = of->name, *value = streq(member, "rule")
                                                    ? streq(verb, "queue rule add")
                                                              ? "{\"action\":\"limit\",\"limit\":3,\"verb\":"
                                                                "\"start\",\"reason\":\"r\"}"
                                                              : "3"
                                                    : NULL;
                        _cleanup_free_ char *pair = NULL,
                                            *odd = str_printf("{\"verb\":\"%s\",\"%s\":[[]]}", verb, member);

                        for (size_t v = 0; v < ELEMENTSOF(values); v++)
                                if (streq(values[v][0], member) && !value)
                                        value = values[v][1];
                        if (!value)
                                fail_msg("'%s' has no sample", member);
                        pair = str_printf(",\"%s\":%s", member, value);
                        assert_int_equal(buf_append(&all, pair, strlen(pair)), 0);
                        say_body(target, odd);
                }
                assert_int_equal(buf_append(&all, "}", 2), 0);
                {
                        _cleanup_free_ char *whole =
                                str_printf("{\"verb\":\"%s\"%s", verb, (const char *) all.data);

                        say_body(target, whole);
                }
                buf_done(&all);
                say_body(target, none);
                say_body(target, other);
        }
}

static void say_bodies(void) {
        static const char *const bodies[][2] = {
                {"POST /v1/jobs", "{}"},
                {"POST /v1/jobs", "[]"},
                {"POST /v1/jobs", "{\"verb\":7}"},
                {"POST /v1/jobs", "{\"verb\":\"fly\"}"},
                {"POST /v1/jobs", "{\"verb\":\"queue rule add\",\"rule\":{\"action\":\"refuse\"}}"},
                {"POST /v1/jobs", "{\"verb\":\"queue rule add\",\"rule\":{\"action\":\"fly\"}}"},
                {"POST /v1/jobs", "{\"verb\":\"queue rule add\",\"rule\":{\"action\":\"hold\",\"odd\":1}}"},
                {"POST /v1/jobs", "{\"verb\":\"undo\",\"job\":7,\"only-untouched\":true,\"force\":true}"},
                {"POST /v1/jobs", "{\"verb\":\"undo\",\"job\":7,\"force\":true,\"max-unavailable\":3}"},
                {"POST /v1/jobs", "{\"verb\":\"cordon\",\"nodes\":[\"n1\"]}"},
                {"POST /v1/jobs", "{\"verb\":\"label\",\"node\":\"n1\"}"},
                {"POST /v1/jobs", "{\"verb\":\"update\",\"unit\":\"a.service\"}"},
                {"POST /v1/verify", "{\"files\":{\"a.service\":\"x\"},\"node\":\"n1\"}"},
                {"POST /v1/verify", "{\"node\":\"n1\"}"},
                {"POST /v1/verify", "{\"files\":{\"a.service\":\"x\"},\"other\":\"n1\"}"},
                {"PUT /v1/unit-files/a.service", "[Service]\n"},
                {"PUT /v1/unit-files/a.service", ""},
                {"DELETE /v1/unit-files/a.service", ""},
                {"PUT /v1/secrets/db", "value"},
                {"PUT /v1/secrets/db", ""},
                {"DELETE /v1/secrets/db", ""},
        };

        say_changes("POST /v1/jobs");
        say_changes("POST /v1/plan");
        for (size_t i = 0; i < ELEMENTSOF(bodies); i++)
                say_body(bodies[i][0], bodies[i][1]);
}

static void say_types(void) {
        static const char *const targets[] = {"POST /v1/jobs",
                                              "POST /v1/plan",
                                              "POST /v1/verify",
                                              "POST /v1/login",
                                              "PUT /v1/unit-files/a.service",
                                              "DELETE /v1/unit-files/a.service",
                                              "PUT /v1/secrets/db",
                                              "DELETE /v1/secrets/db",
                                              "GET /v1/units"};

        for (size_t i = 0; i < ELEMENTSOF(targets); i++) {
                HttpTarget t = parsed(targets[i]);

                say_line(targets[i], http_resource(t.resource)->body ?: "-");
                http_target_done(&t);
        }
}

// ---- the whole

static char *read_file(const char *path) {
        FILE *f = fopen(path, "re");
        char buf[4096];
        Buf text = {};
        size_t n;

        assert_non_null(f);
        while ((n = fread(buf, 1, sizeof(buf), f)) > 0)
                assert_int_equal(buf_append(&text, buf, n), 0);
        fclose(f);
        return buf_take_string(&text);
}

static void compare(const char *was, const char *is) {
        size_t line = 1;

        for (const char *a = was, *b = is; *a || *b; line++) {
                size_t la = strcspn(a, "\n"), lb = strcspn(b, "\n");

                if (la != lb || memcmp(a, b, la) != 0)
                        fail_msg("line %zu of what is recorded is\n%.*s\nand now that is\n%.*s", line,
                                 (int) la, a, (int) lb, b);
                a += la + (a[la] != 0);
                b += lb + (b[lb] != 0);
        }
        assert_string_equal(is, was);
}

static void every_answer_is_as_it_was_recorded(void **state) {
        _cleanup_free_ char *is = NULL, *was = NULL, *openapi = http_openapi();
        const char *write = getenv("ARGOSY_RECORD");

        assert_non_null(openapi);
        say_documents();
        say_targets();
        say_bodies();
        say_types();
        say(openapi);
        is = buf_take_string(&said);
        if (write) {
                FILE *f = fopen(write, "we");

                assert_non_null(f);
                assert_true(fputs(is, f) >= 0);
                assert_int_equal(fclose(f), 0);
        }
        was = read_file(write ?: recorded);
        compare(was, is);
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_answer_is_as_it_was_recorded),
        };

        recorded = argc > 1 ? argv[1] : "tests/unit/http/recorded.txt";
        return cmocka_run_group_tests(tests, NULL, NULL);
}
