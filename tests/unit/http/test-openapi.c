// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The document against the tables that requests are read by. Whether answers are as it says,
// tests/integration/http-described.py asks a cluster.
#include "test.h"

#include <cjson/cJSON.h>
#include <errno.h>

#include "buf.h"
#include "http-openapi.h"
#include "http-parameters.h"
#include "http-write.h"
#include "macro.h"
#include "message.h"
#include "messages.h"
#include "row-json.h"
#include "str.h"

static cJSON *document;

static int setup(void **state) {
        _cleanup_free_ char *text = http_openapi();

        document = text ? cJSON_Parse(text) : NULL;
        return document ? 0 : -1;
}

static int teardown(void **state) {
        cJSON_Delete(document);
        return 0;
}

static const cJSON *at(const cJSON *object, const char *name) {
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, name);

        if (!value)
                fail_msg("there is no %s", name);
        return value;
}

// With what stands for each name in it: as the description has it, or the manual.
static char *path_of(HttpResource r, bool manual) {
        const char *path = http_resource(r)->path, *brace;
        _cleanup_buf_ Buf text = {};

        for (; (brace = strchr(path, '{')); path = strchr(brace, '}') + 1) {
                const char *name = http_parameter_of_path(brace + 1)->name;

                assert_int_equal(buf_append(&text, path, (size_t) (brace - path)), 0);
                if (manual)
                        name = streq(name, "number") ? "NUMBER" : "NAME";
                assert_int_equal(buf_printf(&text, manual ? "%s" : "{%s}", name), 0);
        }
        assert_int_equal(buf_printf(&text, "%s", path), 0);
        return buf_take_string(&text);
}

static const char *const methods[] = {"get", "post", "put", "delete"};

static size_t method_of(HttpResource r) {
        size_t method = 0;

        while (1U << method != (unsigned) http_resource(r)->method)
                method++;
        return method;
}

static const cJSON *operation_of(HttpResource r) {
        _cleanup_free_ char *path = path_of(r, false);

        return at(at(at(document, "paths"), path), methods[method_of(r)]);
}

static void each_resource_is_there_in_words_with_its_parameters(void **state) {
        const HttpParameter *p;

        for (HttpResource r = 0; !http_resource_is_page(r); r++) {
                const cJSON *operation = operation_of(r), *list = at(operation, "parameters")->child;

                if (!*at(operation, "summary")->valuestring)
                        fail_msg("%s has no words", http_resource(r)->path);
                if (strchr(http_resource(r)->path, '{'))
                        list = list->next;
                for (size_t i = 0; (p = http_parameter(i)); i++) {
                        if (!(http_resource(r)->takes & p->takes))
                                continue;
                        if (!list)
                                fail_msg("%s: '%s' is not told of", http_resource(r)->path, p->name);
                        assert_string_equal(at(list, "name")->valuestring, p->name);
                        assert_true(*at(list, "description")->valuestring != 0);
                        list = list->next;
                }
                for (; list; list = list->next) // which table it is in is nobody's business
                        assert_string_equal(at(list, "in")->valuestring, "header");
        }
}

// Its text, without what makes words bold.
static char *manual(void) {
        FILE *f = fopen(MANUAL, "re");
        Buf text = {};

        assert_non_null(f);
        for (int c; (c = fgetc(f)) != EOF;)
                if (c != '*' && c != '_' && c != '\\')
                        assert_int_equal(buf_append(&text, &(char){(char) c}, 1), 0);
        fclose(f);
        return buf_take_string(&text);
}

static void the_manual_has_each_resource_and_each_parameter(void **state) {
        static const char *const verbs[] = {"", "POST ", "PUT ", "DELETE "};
        _cleanup_free_ char *text = manual();
        const HttpParameter *p;

        for (HttpResource r = 0; !http_resource_is_page(r); r++) {
                _cleanup_free_ char *path = path_of(r, true),
                                    *wanted = str_printf("%s%s", verbs[method_of(r)], path);

                if (!strstr(text, wanted))
                        fail_msg("argosy-api(7) says nothing of %s", wanted);
        }
        for (size_t i = 0; (p = http_parameter(i)); i++) {
                _cleanup_free_ char *wanted = str_printf("%s=", p->name);

                if (!strstr(text, wanted))
                        fail_msg("argosy-api(7) says nothing of %s", wanted);
        }
}

static const cJSON *find(const cJSON *object, const char *name) {
        return cJSON_GetObjectItemCaseSensitive(object, name);
}

static bool takes(const cJSON *operation, const char *header) {
        const cJSON *parameter;

        cJSON_ArrayForEach(parameter,
                           at(operation, "parameters")) if (streq(at(parameter, "name")->valuestring,
                                                                  header)) return true;
        return false;
}

// What http-thread.c reads and HttpWork.send sends besides bodies.
static void headers_are_told_of_where_they_mean_something(void **state) {
        for (HttpResource r = 0; !http_resource_is_page(r); r++) {
                const cJSON *operation = operation_of(r), *answers = at(operation, "responses"),
                            *sent = find(find(answers, "200"), "headers");
                bool has_tag = http_resource_is(r, HTTP_IS_TAGGED) || r == HTTP_STATE,
                     has_page = http_resource(r)->takes & TAKES_PAGE,
                     may_become_job = http_resource_is(r, HTTP_IS_WRITTEN) && r != HTTP_VERIFY,
                     becomes_job = may_become_job && r != HTTP_PLAN;

                assert_int_equal(takes(operation, "If-None-Match"), has_tag);
                assert_int_equal(find(sent, "ETag") != NULL, has_tag);
                assert_int_equal(find(answers, "304") != NULL, has_tag);
                assert_int_equal(find(sent, "Link") != NULL, has_page);
                assert_int_equal(takes(operation, "Idempotency-Key"), may_become_job);
                assert_int_equal(takes(operation, "If-Match"), may_become_job);
                assert_int_equal(find(sent, "Location") != NULL, becomes_job);
                assert_int_equal(find(answers, "504") != NULL, becomes_job);
                assert_int_equal(takes(operation, "Last-Event-ID"), r == HTTP_EVENTS);
        }
}

static bool refers_to(const cJSON *value, const char *name) {
        for (const cJSON *child = value->child; child; child = child->next)
                if ((child->string && streq(child->string, "$ref") &&
                     str_has_suffix(child->valuestring, name)) ||
                    refers_to(child, name))
                        return true;
        return false;
}

// As work-rows.c answers: with the job as it was taken, or as it has ended.
static void a_change_may_have_been_waited_for(void **state) {
        for (HttpResource r = 0; !http_resource_is_page(r); r++) {
                if (!http_resource_is(r, HTTP_CHANGES))
                        continue;
                for (size_t k = 0; k < 2; k++) {
                        const cJSON *answer = at(at(operation_of(r), "responses"), k == 0 ? "200" : "202");

                        assert_true(
                                refers_to(at(at(answer, "content"), "application/json"), "/units_of_a_job"));
                        assert_true(refers_to(at(at(answer, "content"), "application/json"), "/job"));
                }
        }
}

static bool is_defined(const char *where) {
        const cJSON *value = document;
        char copy[128], *save = NULL;

        assert_true(str_has_prefix(where, "#/") && str_copy(copy, sizeof(copy), where + 2));
        for (char *word = strtok_r(copy, "/", &save); word && value; word = strtok_r(NULL, "/", &save))
                value = cJSON_GetObjectItemCaseSensitive(value, word);
        return value;
}

static void look_at_references(const cJSON *value) {
        for (const cJSON *child = value->child; child; child = child->next) {
                if (child->string && streq(child->string, "$ref") && !is_defined(child->valuestring))
                        fail_msg("there is no %s", child->valuestring);
                look_at_references(child);
        }
}

static void whatever_is_referred_to_is_there(void **state) {
        look_at_references(document);
}

static const cJSON *row_of(const char *schema, const char *rows) {
        return at(at(at(at(at(at(document, "components"), "schemas"), schema), "properties"), rows),
                  "items");
}

static bool is_of_type(const cJSON *value, const char *type) {
        return (streq(type, "null") && cJSON_IsNull(value)) ||
               (streq(type, "string") && cJSON_IsString(value)) ||
               ((streq(type, "integer") || streq(type, "number")) && cJSON_IsNumber(value)) ||
               (streq(type, "boolean") && cJSON_IsBool(value)) ||
               (streq(type, "array") && cJSON_IsArray(value)) ||
               (streq(type, "object") && cJSON_IsObject(value));
}

static bool is_one_of(const cJSON *value, const cJSON *types) {
        const cJSON *type;

        if (cJSON_IsString(types))
                return is_of_type(value, types->valuestring);
        cJSON_ArrayForEach(type, types) if (is_of_type(value, type->valuestring)) return true;
        return false;
}

static void look_at_value(const cJSON *schema, const cJSON *value, const char *name) {
        const cJSON *member, *each;

        if (!is_one_of(value, at(schema, "type")))
                fail_msg("%s is not of that type", name);
        if (cJSON_IsArray(value))
                cJSON_ArrayForEach(each, value) look_at_value(at(schema, "items"), each, name);
        if (!cJSON_IsObject(value) || find(schema, "additionalProperties"))
                return;
        cJSON_ArrayForEach(member, value)
                look_at_value(at(at(schema, "properties"), member->string), member, member->string);
        cJSON_ArrayForEach(member, at(schema, "required")) (void) at(value, member->valuestring);
}

static void look_at_row(const char *schema, const char *rows, Json *j) {
        _cleanup_free_ char *text = NULL;
        const cJSON *member;

        assert_false(j->failed);
        text = buf_take_string(&j->text);
        json_done(j);
        *j = (Json){};
        cJSON *row = cJSON_Parse(text);
        assert_non_null(row);
        look_at_value(row_of(schema, rows), row, rows);
        cJSON_ArrayForEach(
                member, at(row_of(schema, rows), "properties")) if (!streq(member->string, "more_units") &&
                                                                    !streq(member->string, "units") &&
                                                                    !find(row, member->string))
                fail_msg("%s: nobody writes '%s'", rows, member->string);
        cJSON_Delete(row);
}

// As row-json.c writes them: with a word and without one.
static void rows_that_are_no_list_of_fields_are_as_they_are_written(void **state) {
        for (int full = 0; full < 2; full++) {
                char *word = (char *) (full ? "x" : "");
                char *words[] = {word};
                Argosy__Response__RoleUse use = ARGOSY__RESPONSE__ROLE_USE__INIT, *uses[] = {&use};
                Argosy__Response__RoleRow role = ARGOSY__RESPONSE__ROLE_ROW__INIT;
                Argosy__Label label = ARGOSY__LABEL__INIT, *labels[] = {&label};
                Argosy__QueueRule rule = MESSAGE_OF(queue_rule, .text = word, .author = word, .verb = word,
                                                    .unit = word, .role = word, .reason = word);
                Argosy__Response__QueueRow queue = MESSAGE_OF(response__queue_row, .rule = &rule);
                Argosy__Response__AccessRow access = ARGOSY__RESPONSE__ACCESS_ROW__INIT;
                Argosy__AccessTokenRecord record = ARGOSY__ACCESS_TOKEN_RECORD__INIT;
                Argosy__Response__TokenRow token = ARGOSY__RESPONSE__TOKEN_ROW__INIT;
                Argosy__Response__ClusterStatus__Member member =
                        ARGOSY__RESPONSE__CLUSTER_STATUS__MEMBER__INIT;
                Argosy__Response__UsageRow usage =
                        USAGE_ROW_OF(.known = full ? KNOWS_CPU | KNOWS_TASKS | KNOWS_MEMORY | KNOWS_IO : 0);
                Argosy__Response__Verify verify = ARGOSY__RESPONSE__VERIFY__INIT;
                Argosy__Response__Finding finding = ARGOSY__RESPONSE__FINDING__INIT,
                                          *findings[] = {&finding};
                Json j = {};

                use.has_guarantee = use.has_limit = full;
                role.uses = uses;
                role.n_uses = 1;
                row_json(&role_row, &role, &j);
                look_at_row("roles", "roles", &j);
                Argosy__Response__PoolRow pool = POOL_ROW_OF(.hosts = words, .nodes = words, .n_hosts = 1,
                                                             .n_nodes = 1, .n_labels = 1, .labels = labels);
                row_json(&pool_row, &pool, &j);
                look_at_row("pools", "pools", &j);
                rule.action = full ? ARGOSY__QUEUE_ACTION__QUEUE_HOLD : rule.action;
                row_json(&queue_rule_row, &queue, &j);
                look_at_row("rules", "rules", &j);
                Argosy__GrantRecord grant =
                        MESSAGE_OF(grant_record, .user = access.host = word, .group = access.host = word,
                                   .role = access.host = word, .right = ARGOSY__RIGHT__RIGHT_VIEW);
                access.grant = &grant;
                row_json(&grant_row, &access, &j);
                look_at_row("access", "access", &j);
                record.id = record.name = record.role = record.created_by = record.revoked_by = token.state =
                        word;
                record.right = ARGOSY__RIGHT__RIGHT_VIEW;
                record.used_us = record.revoked_us = (uint64_t) full;
                token.token = &record;
                row_json(&token_row, &token, &j);
                look_at_row("tokens", "tokens", &j);
                member.version = word;
                member.raft_id = (uint64_t) full;
                row_json(&member_row, &member, &j);
                look_at_row("hosts", "hosts", &j);
                usage_json(&usage, "n1", &j);
                look_at_row("usage", "usage", &j);
                finding.line = (uint32_t) full;
                Argosy__Response__FileFindings file =
                        FILE_FINDINGS_OF(.findings = findings, .n_findings = 1);
                findings_json(&file, &verify, &j);
                look_at_row("files_verified", "files", &j);
        }
}

static void a_job_is_as_it_is_written(void **state) {
        Argosy__Response__JobSettingRow setting = ARGOSY__RESPONSE__JOB_SETTING_ROW__INIT,
                                        *settings[] = {&setting};
        Argosy__Response__JobUnitRow unit = ARGOSY__RESPONSE__JOB_UNIT_ROW__INIT;
        uint64_t after[] = {7};
        Json j = {};
        Argosy__Response__JobRow job = JOB_ROW_OF(.after = after, .waiting = after, .settings = settings,
                                                  .n_after = 1, .n_waiting = 1, .n_settings = 1);

        json_begin(&j, '{');
        job_json_fields(&job, &j);
        json_key(&j, "units");
        json_begin(&j, '[');
        job_unit_json(&unit, &j);
        json_end(&j, ']');
        json_end(&j, '}');
        look_at_row("job", "jobs", &j);
        (void) at(at(row_of("job", "jobs"), "properties"), "more_units");
}

static const cJSON *change_of(const char *verb) {
        const cJSON *change;

        cJSON_ArrayForEach(
                change,
                at(at(at(at(document, "components"), "schemas"), "change"),
                   "oneOf")) if (streq(at(at(at(change, "properties"), "verb"), "const")->valuestring,
                                       verb)) return at(change, "properties");
        fail_msg("there is no verb %s", verb);
        return NULL;
}

static bool is_type(const cJSON *schema, const char *type) {
        const cJSON *value = at(schema, "type");

        if (cJSON_IsString(value))
                return streq(value->valuestring, type);
        cJSON_ArrayForEach(value, value) if (streq(value->valuestring, type)) return true;
        return false;
}

// What may stand there.
static const char *sample_of(const cJSON *schema, const char *member) {
        static const char *const samples[][2] = {
                {"deadline", "\"5min\""},
                {"health", "\"1s\""},
                {"right", "\"view\""},
                {"who", "\"user:ann\""},
                {"max-unavailable", "\"25%\""},
                {"nodes", "[\"n1\"]"},
                {"units", "[\"a.service\"]"},
                {"revs", "[\"abcd\"]"},
                {"unset", "[\"zone\"]"},
                {"size", "\"64M\""},
                {"unit", "\"a.service\""},
                {"file-max", "\"256K\""},
                {"unit-max", "\"512K\""},
                {"all-max", "\"32M\""},
                {"ttl", "\"30d\""},
                {"patterns", "[\"web@*\"]"},
                {"rolling", "true"},
                {"hash", "\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\""},
                {"tokens", "[\"ci\"]"},
                {"files", "{\"a.service\":\"\"}"},
        };

        for (size_t i = 0; i < ELEMENTSOF(samples); i++)
                if (streq(samples[i][0], member))
                        return samples[i][1];
        if (streq(member, "rule") && is_type(schema, "object"))
                return "{\"action\":\"hold\"}";
        return is_type(schema, "string")    ? "\"a\""
               : is_type(schema, "boolean") ? "false"
               : is_type(schema, "array")   ? "[1]"
               : is_type(schema, "object")  ? "{}"
                                            : "1";
}

// 0, or what it is refused with: *ret_why is freed by the caller. `value`: of `member`; of others stands
// there what may.
static int ask(size_t verb, const char *member, const char *value, char **ret_why) {
        const HttpTarget target = {.resource = HTTP_NEW_JOB};
        HttpWriteHeaders headers = {.key = "key"};
        const char *name = http_write_verb(verb), *other;
        const HttpMember *of;
        _cleanup_free_ char *body = str_printf("{\"verb\":\"%s\"", name);
        Argosy__Request *request = NULL;

        for (size_t k = 0; (of = http_write_member(verb, k)); k++) {
                _cleanup_free_ char *before = body;

                other = of->name;
                body = str_printf("%s,\"%s\":%s", before, other,
                                  member && streq(other, member)
                                          ? value
                                          : sample_of(at(change_of(name), other), other));
        }
        other = body;
        body = str_printf("%s}", other);
        free((char *) other);
        int r = http_write_parse(&target, &headers, body, strlen(body), &request, ret_why);
        message_free(request);
        return r;
}

static void each_verb_takes_what_is_said_that_it_takes(void **state) {
        for (size_t i = 0; http_write_verb(i); i++) {
                _cleanup_free_ char *why = NULL;

                if (ask(i, NULL, NULL, &why) < 0)
                        fail_msg("%s: %s", http_write_verb(i), why);
        }
}

// A member that is of no such type is refused by its name, as each verb reads it.
static void each_member_of_a_verb_is_of_its_type(void **state) {
        static const struct {
                const char *type, *value;
        } others[] = {{"boolean", "true"}, {"integer", "-0.5"}, {"array", "[{}]"}, {"object", "{\"\":[]}"}};
        const HttpMember *of;
        const char *verb;

        for (size_t i = 0; (verb = http_write_verb(i)); i++)
                for (size_t k = 0; (of = http_write_member(i, k)); k++)
                        for (size_t v = 0; v < ELEMENTSOF(others); v++) {
                                _cleanup_free_ char *why = NULL, *quoted = str_printf("'%s'", of->name);
                                const char *member = of->name;

                                if (is_type(at(change_of(verb), member), others[v].type))
                                        continue;
                                if (ask(i, member, others[v].value, &why) == 0 || !strstr(why, quoted))
                                        fail_msg("%s: '%s' is %s: %s", verb, member, others[v].value, why);
                        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_resource_is_there_in_words_with_its_parameters),
                cmocka_unit_test(the_manual_has_each_resource_and_each_parameter),
                cmocka_unit_test(headers_are_told_of_where_they_mean_something),
                cmocka_unit_test(a_change_may_have_been_waited_for),
                cmocka_unit_test(whatever_is_referred_to_is_there),
                cmocka_unit_test(rows_that_are_no_list_of_fields_are_as_they_are_written),
                cmocka_unit_test(a_job_is_as_it_is_written),
                cmocka_unit_test(each_verb_takes_what_is_said_that_it_takes),
                cmocka_unit_test(each_member_of_a_verb_is_of_its_type),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
