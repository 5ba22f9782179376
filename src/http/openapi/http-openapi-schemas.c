// SPDX-License-Identifier: LGPL-2.1-or-later
//
//      tables -> schemas, headers and answers, each under the name by which paths refer to it
//
// A schema names every member that there can be, those that are always there as required. What rows have is
// http-openapi-rows.c's, what a change takes http-write.h's; of what is written by hand elsewhere
// (http-bulk-answer.c, job-difference.c, cluster-copy.c) the shape stands here again, and
// tests/integration/http-described.py finds it out if the two differ.

#include <string.h>

#include "cluster-copy.h"
#include "event-kind.h"
#include "http-body.h"
#include "http-openapi-private.h"
#include "http-write.h"
#include "macro.h"

void http_openapi_shape(Json *j, HttpShape s) {
        switch (s) {
        case SHAPE_BOOL:
                text(j, "type", "boolean");
                break;
        case SHAPE_NUMBER:
                text(j, "type", "integer");
                break;
        case SHAPE_NUMBER_OR_NULL:
                list(j, "type", (const char *const[]){"number", "null"}, 2);
                break;
        case SHAPE_NUMBER_OR_TEXT:
                list(j, "type", (const char *const[]){"integer", "string"}, 2);
                break;
        case SHAPE_TEXT:
                text(j, "type", "string");
                break;
        case SHAPE_TEXT_OR_NULL:
                list(j, "type", (const char *const[]){"string", "null"}, 2);
                break;
        case SHAPE_OBJECT:
                text(j, "type", "object");
                break;
        case SHAPE_TEXTS_BY_NAME:
                text(j, "type", "object");
                begin(j, "additionalProperties");
                text(j, "type", "string");
                end(j);
                break;
        case SHAPE_FILES_BY_NAME:
                text(j, "type", "object");
                begin(j, "additionalProperties");
                list(j, "type", (const char *const[]){"string", "object"}, 2);
                end(j);
                break;
        case SHAPE_TEXTS:
        case SHAPE_NUMBERS:
        case SHAPE_OBJECTS:
                text(j, "type", "array");
                begin(j, "items");
                text(j, "type", s == SHAPE_TEXTS ? "string" : s == SHAPE_NUMBERS ? "integer" : "object");
                end(j);
                break;
        case SHAPE_ANY:
                break;
        }
}

// ---- names

// The name of the schema of a resource's answer.
const char *http_openapi_schema(HttpResource r) {
        const HttpResourceRow *of = http_resource(r);

        return of->schema ?: of->key ?: "";
}

// ---- schemas

// What stands beside the rows of what is read, if there is something to say.
static void write_beside(Json *j, const Row *beside) {
        property(j, "no_leader", SHAPE_BOOL);
        property(j, "stale_ms", SHAPE_NUMBER);
        property(j, "message", SHAPE_TEXT);
        for (size_t i = 0; beside && i < beside->n; i++)
                http_openapi_field(j, &beside->fields[i]);
}

static void write_beside_of_a_job(Json *j) {
        property(j, "job", SHAPE_NUMBER_OR_NULL);
        property(j, "cursor", SHAPE_TEXT);
        property(j, "rule", SHAPE_NUMBER);
        property(j, "held", SHAPE_BOOL);
        property(j, "message", SHAPE_TEXT);
}

static void write_aside(Json *j, HttpResource r) {
        static const HttpShape shapes[HTTP_ASIDES] = {
                [HTTP_ASIDE_WHY] = SHAPE_OBJECTS,
                [HTTP_ASIDE_FILE] = SHAPE_TEXT_OR_NULL,
                [HTTP_ASIDE_ERRORS] = SHAPE_TEXTS,
        };

        if (http_body_aside(r))
                property(j, http_body_aside(r), shapes[http_resource(r)->aside]);
}

static void write_document(Json *j, HttpResource r) {
        const HttpResourceRow *of = http_resource(r);
        bool of_a_job = of->is & HTTP_IS_OF_A_JOB;
        const char *aside = http_body_aside(r);

        begin(j, http_openapi_schema(r));
        text(j, "type", "object");
        begin(j, "properties");
        if (of_a_job)
                write_beside_of_a_job(j);
        else
                write_beside(j, of->beside);
        if (of->takes & TAKES_PAGE)
                property(j, "next", SHAPE_TEXT);
        begin(j, of->key);
        text(j, "type", "array");
        begin(j, "items");
        if (of->row)
                http_openapi_row(j, of->row);
        else
                http_openapi_shape(j, SHAPE_TEXT);
        end(j);
        end(j);
        write_aside(j, r);
        end(j);
        list(j, "required", (const char *const[]){of_a_job ? "job" : "no_leader", of->key, aside},
             aside ? 3 : 2);
        end(j);
}

static void write_documents(Json *j) {
        for (HttpResource r = 0; r < HTTP_RESOURCES; r++) {
                bool written = !http_resource(r)->key;

                for (HttpResource before = 0; before < r; before++)
                        written |= streq(http_openapi_schema(before), http_openapi_schema(r));
                if (!written)
                        write_document(j, r);
        }
}

static void write_change(Json *j, size_t verb) {
        const HttpMember *member;

        json_begin(j, '{');
        text(j, "type", "object");
        begin(j, "properties");
        begin(j, "verb");
        text(j, "const", http_write_verb(verb));
        end(j);
        for (size_t k = 0; (member = http_write_member(verb, k)); k++)
                property(j, member->name, member->kind->shape);
        end(j);
        begin_list(j, "required");
        json_string(j, "verb");
        for (size_t k = 0; (member = http_write_member(verb, k)); k++)
                if (member->required)
                        json_string(j, member->name);
        json_end(j, ']');
        json_member_bool(j, "additionalProperties", false);
        end(j);
}

static bool has_plan(size_t verb) {
        const HttpMember *member;

        for (size_t k = 0; (member = http_write_member(verb, k)); k++)
                if (streq(member->name, "plan"))
                        return true;
        return false;
}

// plans: only those of which there is a plan.
static void write_changes(Json *j, const char *name, bool plans) {
        begin(j, name);
        begin_list(j, "oneOf");
        for (size_t i = 0; http_write_verb(i); i++)
                if (!plans || has_plan(i))
                        write_change(j, i);
        json_end(j, ']');
        end(j);
}

static void write_login(Json *j) {
        begin(j, "login");
        text(j, "type", "object");
        begin(j, "properties");
        property(j, "token", SHAPE_TEXT);
        end(j);
        list(j, "required", (const char *const[]){"token"}, 1);
        json_member_bool(j, "additionalProperties", false);
        end(j);
}

static void write_contents(Json *j) {
        begin(j, "contents");
        text(j, "type", "object");
        begin(j, "properties");
        property(j, "files", SHAPE_FILES_BY_NAME);
        property(j, "node", SHAPE_TEXT);
        end(j);
        list(j, "required", (const char *const[]){"files"}, 1);
        json_member_bool(j, "additionalProperties", false);
        end(j);
}

static void write_rows_of(Json *j, const char *key, const EventKindInfo *info) {
        char name[HTTP_OPENAPI_NAME_SIZE];

        str_fit(name, sizeof(name), "event_%s", info->name);
        begin(j, key);
        if (info->n_names > 0) {
                text(j, "type", "array");
                refer_by(j, "items", "schemas", name);
        } else {
                begin_list(j, "anyOf"); // there is one, or nobody has said anything yet
                refer_one(j, name);
                json_begin(j, '{');
                text(j, "type", "null");
                json_end(j, '}');
                json_end(j, ']');
        }
        end(j);
}

static void write_lists(Json *j) {
        for (unsigned k = 0; k < EVENT_KINDS; k++)
                if (cluster_copy_list((Argosy__EventKind) k))
                        write_rows_of(j, cluster_copy_list((Argosy__EventKind) k),
                                      event_kind_info((Argosy__EventKind) k));
}

static void write_state(Json *j) {
        begin(j, "state");
        text(j, "type", "object");
        begin(j, "properties");
        property(j, "cursor", SHAPE_TEXT);
        write_lists(j);
        end(j);
        begin_list(j, "required");
        json_string(j, "cursor");
        for (unsigned k = 0; k < EVENT_KINDS; k++)
                if (cluster_copy_list((Argosy__EventKind) k))
                        json_string(j, cluster_copy_list((Argosy__EventKind) k));
        json_end(j, ']');
        end(j);
}

static void write_state_changes(Json *j) {
        begin(j, "state_changes");
        text(j, "type", "object");
        begin(j, "properties");
        property(j, "cursor", SHAPE_TEXT);
        property(j, "missed", SHAPE_BOOL);
        begin(j, "anew");
        text(j, "type", "object");
        begin(j, "properties");
        property(j, "lists", SHAPE_TEXTS);
        property(j, "units", SHAPE_TEXTS);
        end(j);
        list(j, "required", (const char *const[]){"lists", "units"}, 2);
        end(j);
        begin(j, "gone"); // rows that have their names alone
        text(j, "type", "object");
        begin(j, "properties");
        write_lists(j);
        end(j);
        end(j);
        write_lists(j);
        end(j);
        list(j, "required", (const char *const[]){"cursor", "missed", "anew", "gone"}, 4);
        end(j);
}

static void write_texts(Json *j, const char *name, const char *const *words, size_t n) {
        begin(j, name);
        text(j, "type", "array");
        begin(j, "items");
        text(j, "type", "object");
        begin(j, "properties");
        for (size_t i = 0; i < n; i++)
                property(j, words[i], SHAPE_TEXT);
        end(j);
        list(j, "required", words, n);
        end(j);
        end(j);
}

// As job-difference.c has it.
static void write_diff(Json *j) {
        static const char *const setting[] = {"setting", "change", "before", "after"},
                                 *const unit[] = {"unit",      "change",  "rev",
                                                  "rev_after", "desired", "desired_after"};

        begin(j, "diff");
        text(j, "type", "object");
        begin(j, "properties");
        property(j, "from", SHAPE_NUMBER);
        property(j, "to", SHAPE_NUMBER_OR_NULL);
        property(j, "incomplete", SHAPE_BOOL);
        write_texts(j, "settings", setting, ELEMENTSOF(setting));
        write_texts(j, "units", unit, ELEMENTSOF(unit));
        end(j);
        list(j, "required", (const char *const[]){"from", "to", "incomplete", "settings", "units"}, 5);
        end(j);
}

static void write_problem_members(Json *j) {
        property(j, "type", SHAPE_TEXT);
        property(j, "title", SHAPE_TEXT);
        property(j, "status", SHAPE_NUMBER);
        property(j, "detail", SHAPE_TEXT);
        property(j, "unit", SHAPE_TEXT);
        property(j, "node", SHAPE_TEXT);
        property(j, "line", SHAPE_NUMBER);
}

static void write_problem(Json *j) {
        begin(j, "problem");
        text(j, "type", "object");
        begin(j, "properties");
        write_problem_members(j);
        end(j);
        list(j, "required", (const char *const[]){"type", "title", "status"}, 3);
        end(j);
}

// ---- lines, each of an answer that has many

static void write_line_of_an_operation(Json *j) {
        begin(j, "line_of_an_operation");
        begin_list(j, "oneOf");
        json_begin(j, '{');
        text(j, "type", "object");
        begin(j, "properties");
        property(j, "line", SHAPE_NUMBER);
        property(j, "status", SHAPE_NUMBER);
        property(j, "job", SHAPE_NUMBER_OR_NULL);
        property(j, "state", SHAPE_TEXT);
        property(j, "cursor", SHAPE_TEXT);
        property(j, "held", SHAPE_BOOL);
        property(j, "message", SHAPE_TEXT);
        begin(j, "units");
        text(j, "type", "array");
        begin(j, "items");
        text(j, "type", "object");
        begin(j, "properties");
        for (size_t i = 0; i < UNIT_RESULT_FIELDS; i++)
                http_openapi_field(j, &unit_result_fields[i]);
        property(j, "end", SHAPE_TEXT);
        property(j, "end_message", SHAPE_TEXT);
        end(j);
        end(j);
        end(j);
        end(j);
        list(j, "required", (const char *const[]){"line", "status", "job", "units"}, 4);
        json_end(j, '}');
        json_begin(j, '{');
        refer(j, "schemas", "problem");
        list(j, "required", (const char *const[]){"line"}, 1);
        json_end(j, '}');
        json_end(j, ']');
        end(j);
}

static void write_line_of_a_journal(Json *j) {
        static const char *const words[] = {"unit", "node", "line"};

        begin(j, "line_of_a_journal");
        begin_list(j, "oneOf");
        json_begin(j, '{');
        text(j, "type", "object");
        begin(j, "properties");
        for (size_t i = 0; i < ELEMENTSOF(words); i++)
                property(j, words[i], SHAPE_TEXT);
        end(j);
        list(j, "required", (const char *const[]){"unit", "line"}, 2);
        json_end(j, '}');
        refer_one(j, "problem");
        json_end(j, ']');
        end(j);
}

static HttpShape shape_of_event_field(EventFieldType type) {
        return type == EVENT_TEXT ? SHAPE_TEXT : type == EVENT_BOOL ? SHAPE_BOOL : SHAPE_NUMBER_OR_NULL;
}

// The fields of a row, of which one that is gone has the names alone.
static void write_event_row(Json *j, const EventKindInfo *info) {
        char name[HTTP_OPENAPI_NAME_SIZE];

        str_fit(name, sizeof(name), "event_%s", info->name);
        begin(j, name);
        text(j, "type", "object");
        text(j, "description", info->what);
        begin(j, "properties");
        for (size_t i = 0; i < event_kind_n_fields(info); i++) {
                begin(j, info->fields[i].name);
                http_openapi_shape(j, shape_of_event_field(info->fields[i].type));
                text(j, "description", info->fields[i].what);
                end(j);
        }
        end(j);
        begin_list(j, "required");
        for (size_t i = 0; i < info->n_names; i++)
                json_string(j, info->fields[i].name);
        json_end(j, ']');
        end(j);
}

static void write_event_of(Json *j, const EventKindInfo *info) {
        char name[HTTP_OPENAPI_NAME_SIZE];

        str_fit(name, sizeof(name), "event_%s", info->name);
        json_begin(j, '{');
        refer(j, "schemas", name);
        begin(j, "properties");
        begin(j, "kind");
        text(j, "const", info->name);
        end(j);
        property(j, "time", SHAPE_NUMBER);
        property(j, "cursor", SHAPE_TEXT);
        property(j, "mark", SHAPE_TEXT);
        property(j, "gone", SHAPE_BOOL);
        property(j, "changed", SHAPE_TEXTS);
        end(j);
        list(j, "required", (const char *const[]){"kind", "time", "cursor", "mark", "gone", "changed"}, 6);
        json_end(j, '}');
}

static void write_events(Json *j) {
        for (unsigned k = 0; k < EVENT_KINDS; k++)
                if (event_kind_info((Argosy__EventKind) k))
                        write_event_row(j, event_kind_info((Argosy__EventKind) k));
        begin(j, "event");
        begin_list(j, "oneOf");
        for (unsigned k = 0; k < EVENT_KINDS; k++)
                if (event_kind_info((Argosy__EventKind) k))
                        write_event_of(j, event_kind_info((Argosy__EventKind) k));
        refer_one(j, "problem"); // the last of a stream
        json_end(j, ']');
        end(j);
}

// ---- headers and answers

static void write_header(Json *j, const char *name, HttpShape s, const char *words) {
        begin(j, name);
        text(j, "description", words);
        property(j, "schema", s);
        end(j);
}

static void write_headers(Json *j) {
        begin(j, "headers");
        write_header(j, "ETag", SHAPE_TEXT, "Which version this is, for If-None-Match");
        write_header(j, "Link", SHAPE_TEXT, "Where the next page is, if there is one");
        write_header(j, "Location", SHAPE_TEXT, "The job, if it has become one");
        write_header(j, "Retry-After", SHAPE_NUMBER, "Seconds after which it may be asked again");
        end(j);
}

static void write_problem_answer(Json *j, const char *name, const char *words, bool again) {
        begin(j, name);
        text(j, "description", words);
        if (again) {
                begin(j, "headers");
                refer_by(j, "Retry-After", "headers", "Retry-After");
                end(j);
        }
        begin(j, "content");
        write_content(j, "application/problem+json", "problem");
        end(j);
        end(j);
}

static void write_responses(Json *j) {
        begin(j, "responses");
        write_problem_answer(j, "problem", "It was refused, or has failed (RFC 9457)", false);
        write_problem_answer(j, "unavailable",
                             "It cannot be answered now; nothing is done twice if it is asked again", true);
        write_problem_answer(j, "unknown", "It may have been carried out, and nobody here can tell", false);
        begin(j, "unchanged");
        text(j, "description", "It is as it was");
        begin(j, "headers");
        refer_by(j, "ETag", "headers", "ETag");
        end(j);
        end(j);
        end(j);
}

void http_openapi_components(Json *j) {
        begin(j, "components");
        begin(j, "securitySchemes");
        begin(j, "token");
        text(j, "type", "http");
        text(j, "scheme", "bearer");
        end(j);
        end(j);
        write_headers(j);
        write_responses(j);
        begin(j, "schemas");
        write_documents(j);
        write_changes(j, "change", false);
        write_changes(j, "planned_change", true);
        write_login(j);
        write_contents(j);
        write_state(j);
        write_state_changes(j);
        write_diff(j);
        write_problem(j);
        write_line_of_an_operation(j);
        write_line_of_a_journal(j);
        write_events(j);
        end(j);
        end(j);
}
