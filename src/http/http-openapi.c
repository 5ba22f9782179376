// SPDX-License-Identifier: LGPL-2.1-or-later
//
//      tables -> paths, with parameters, bodies and answers by name -> what stands behind these names
//
// What the tables do not know stands here: what each thing is in words, and of what shape a parameter or a member is. A test compares
// the two (tests/unit/http/test-openapi.c), and another one all of it with a cluster (tests/integration/http-api.py).

#include "http-openapi.h"

#include <string.h>

#include "event-kind.h"
#include "http-body.h"
#include "http-target.h"
#include "http-write.h"
#include "json.h"
#include "macro.h"
#include "row-fields.h"
#include "str.h"

enum { NAME_SIZE = 96 };

typedef enum Shape {
        SHAPE_ANY,
        SHAPE_BOOL,
        SHAPE_NUMBER,
        SHAPE_NUMBER_OR_NULL,
        SHAPE_NUMBER_OR_TEXT,
        SHAPE_NUMBERS,
        SHAPE_OBJECT,
        SHAPE_OBJECTS,
        SHAPE_TEXT,
        SHAPE_TEXT_OR_NULL,
        SHAPE_TEXTS,
        SHAPE_TEXTS_BY_NAME, // an object
} Shape;

// ---- what the tables do not know

static const struct {
        HttpResource resource;
        const char *words;
} things[] = {
        {HTTP_HEALTHZ, "This argosyd does its work"},
        {HTTP_READYZ, "And it knows who leads"},
        {HTTP_UNITS, "What nodes say of units, whole or a page at a time"},
        {HTTP_UNIT, "What nodes say of one unit, and why it is as it is"},
        {HTTP_UNIT_FILES, "What is wanted of units, whole or a page at a time"},
        {HTTP_UNIT_FILE, "What is wanted of one unit, and its file"},
        {HTTP_PUT_UNIT_FILE, "Submits the file of a unit"},
        {HTTP_DELETE_UNIT_FILE, "Destroys a unit"},
        {HTTP_NODES, "Nodes"},
        {HTTP_JOBS, "Jobs, the newest first, a page at a time"},
        {HTTP_PLAN, "What a change would do; nothing is changed"},
        {HTTP_NEW_JOB, "Asks for a change, or for thousands, one on a line"},
        {HTTP_JOB, "One job, when it has ended or so many seconds are over"},
        {HTTP_HOSTS, "Members of the cluster"},
        {HTTP_ROLES, "Roles, with what they are guaranteed and use"},
        {HTTP_POOLS, "Pools"},
        {HTTP_QUEUE, "The queue of jobs and its rules"},
        {HTTP_ACCESS, "Who may do what"},
        {HTTP_TOKENS, "Tokens by which programs are let in"},
        {HTTP_EVENTS, "What the cluster comes to be, as a stream"},
        {HTTP_STATE, "Everything as it is at one moment, or what has changed"},
        {HTTP_JOURNAL, "What a unit has written, as a stream if it is followed"},
        {HTTP_USAGE, "What units use"},
        {HTTP_DIFF, "What jobs have changed together"},
        {HTTP_HISTORY, "Jobs that have changed a unit, the newest first, a page at a time"},
        {HTTP_METRICS, "What this argosyd has counted"},
        {HTTP_LOGIN, "Begins the session of a browser"},
        {HTTP_LOGOUT, "Ends the session of a browser"},
        {HTTP_OPENAPI, "This document"},
};

static const struct {
        const char *name;
        Shape shape; // TEXTS: it may be there several times
        const char *words;
} parameters[] = {
        {"pattern", SHAPE_TEXTS, "Only units of that name; *, ? and [] as in the shell"},
        {"state", SHAPE_TEXTS, "Only what is in that state"},
        {"node", SHAPE_TEXTS, "Only what is on that node"},
        {"label", SHAPE_TEXTS, "KEY=VALUE: only nodes with that label, or what is on them; with all of them, if there are several"},
        {"author", SHAPE_TEXT, "Only jobs of USER, or USER@HOST; a pattern"},
        {"limit", SHAPE_NUMBER, "At most so many rows"},
        {"page", SHAPE_TEXT, "What the page before has as its next"},
        {"wait", SHAPE_NUMBER, "Seconds until an answer, if the job has not ended by then"},
        {"since", SHAPE_TEXT, "What is behind that cursor; of events also @JOB, and 0 for everything"},
        {"kind", SHAPE_TEXTS, "Only events of that kind"},
        {"from", SHAPE_NUMBER, "The job behind which changes count"},
        {"to", SHAPE_NUMBER, "The last job whose changes count; without it: up to now"},
        {"at", SHAPE_NUMBER, "As it was when that job was done; of the past only the required fields are known"},
        {"lines", SHAPE_NUMBER, "So many of the newest lines"},
        {"follow", SHAPE_BOOL, "Also what comes from now on"},
};

static const struct {
        const char *name, *verb; // verb NULL: of all that have it
        Shape shape;
} members[] = {
        {"rule", "queue rule add", SHAPE_OBJECT},
        {"limit", "role set", SHAPE_OBJECT},
        {"action", NULL, SHAPE_TEXT},
        {"after", NULL, SHAPE_NUMBERS},
        {"before", NULL, SHAPE_NUMBER},
        {"deadline", NULL, SHAPE_TEXT},
        {"file", NULL, SHAPE_TEXT},
        {"files", NULL, SHAPE_TEXTS_BY_NAME},
        {"force", NULL, SHAPE_BOOL},
        {"guarantee", NULL, SHAPE_OBJECT},
        {"hash", NULL, SHAPE_TEXT},
        {"health", NULL, SHAPE_TEXT},
        {"hold", NULL, SHAPE_BOOL},
        {"job", NULL, SHAPE_NUMBER},
        {"jobs", NULL, SHAPE_NUMBERS},
        {"labels", NULL, SHAPE_TEXTS_BY_NAME},
        {"max-moves", NULL, SHAPE_NUMBER},
        {"max-unavailable", NULL, SHAPE_NUMBER_OR_TEXT},
        {"name", NULL, SHAPE_TEXT},
        {"node", NULL, SHAPE_TEXT},
        {"nodes", NULL, SHAPE_TEXTS},
        {"number", NULL, SHAPE_NUMBER},
        {"only-untouched", NULL, SHAPE_BOOL},
        {"patterns", NULL, SHAPE_TEXTS},
        {"plan", NULL, SHAPE_BOOL},
        {"pool", NULL, SHAPE_TEXT},
        {"queue", NULL, SHAPE_BOOL},
        {"reason", NULL, SHAPE_TEXT},
        {"replace", NULL, SHAPE_BOOL},
        {"revs", NULL, SHAPE_TEXTS},
        {"right", NULL, SHAPE_TEXT},
        {"role", NULL, SHAPE_TEXT},
        {"rolling", NULL, SHAPE_BOOL},
        {"rule", NULL, SHAPE_NUMBER},
        {"set", NULL, SHAPE_TEXTS_BY_NAME},
        {"tokens", NULL, SHAPE_TEXTS},
        {"ttl", NULL, SHAPE_TEXT},
        {"unit", NULL, SHAPE_TEXT},
        {"units", NULL, SHAPE_TEXTS},
        {"unset", NULL, SHAPE_TEXTS},
        {"weight", NULL, SHAPE_NUMBER},
        {"who", NULL, SHAPE_TEXT},
};

static const char *words_of(HttpResource resource) {
        for (size_t i = 0; i < ELEMENTSOF(things); i++)
                if (things[i].resource == resource)
                        return things[i].words;
        return "";
}

static Shape shape_of_member(const char *verb, const char *name) {
        for (size_t i = 0; i < ELEMENTSOF(members); i++)
                if (streq(members[i].name, name) && (!members[i].verb || streq(members[i].verb, verb)))
                        return members[i].shape;
        return SHAPE_ANY;
}

static Shape shape_of_field(FieldType type) {
        switch (type) {
        case FIELD_STRING:
        case FIELD_HASH:
        case FIELD_ROLE:
        case FIELD_STATE:
                return SHAPE_TEXT;
        case FIELD_BOOL:
        case FIELD_OK:
                return SHAPE_BOOL;
        case FIELD_U32:
        case FIELD_U64:
        case FIELD_TIME:
                return SHAPE_NUMBER;
        case FIELD_COUNT:
        case FIELD_BYTES:
        case FIELD_PERMILLE:
        case FIELD_USEC:
                return SHAPE_NUMBER_OR_NULL;
        case FIELD_LABELS:
                return SHAPE_TEXTS_BY_NAME;
        case FIELD_TARGETS:
        case FIELD_MAY_RUN:
                return SHAPE_TEXTS;
        case FIELD_CHANGE:
        case FIELD_REFUSALS:
                return SHAPE_OBJECTS;
        }
        return SHAPE_ANY;
}

// ---- JSON

static void text(Json *j, const char *key, const char *value) {
        json_strings(j, (const char *const[][2]){{key, value}}, 1);
}

static void begin(Json *j, const char *key) {
        json_key(j, key);
        json_begin(j, '{');
}

static void end(Json *j) {
        json_end(j, '}');
}

static void list(Json *j, const char *key, const char *const *words, size_t n) {
        json_key(j, key);
        json_begin(j, '[');
        for (size_t i = 0; i < n; i++)
                json_string(j, words[i]);
        json_end(j, ']');
}

static void refer(Json *j, const char *kind, const char *name) {
        char where[NAME_SIZE];

        str_fit(where, sizeof(where), "#/components/%s/%s", kind, name);
        text(j, "$ref", where);
}

// Keys and values of the schema.
static void shape(Json *j, Shape s) {
        switch (s) {
        case SHAPE_BOOL:
                text(j, "type", "boolean");
                break;
        case SHAPE_NUMBER:
                text(j, "type", "number");
                break;
        case SHAPE_NUMBER_OR_NULL:
                list(j, "type", (const char *const[]){"number", "null"}, 2);
                break;
        case SHAPE_NUMBER_OR_TEXT:
                list(j, "type", (const char *const[]){"number", "string"}, 2);
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
        case SHAPE_TEXTS:
        case SHAPE_NUMBERS:
        case SHAPE_OBJECTS:
                text(j, "type", "array");
                begin(j, "items");
                text(j, "type", s == SHAPE_TEXTS ? "string" : s == SHAPE_NUMBERS ? "number" : "object");
                end(j);
                break;
        case SHAPE_ANY:
                break;
        }
}

static void property(Json *j, const char *name, Shape s) {
        begin(j, name);
        shape(j, s);
        end(j);
}

// ---- paths

static const char *method_name(HttpMethod method) {
        return method == HTTP_GET    ? "get"
               : method == HTTP_POST ? "post"
               : method == HTTP_PUT  ? "put"
                                     : "delete";
}

static void path_of(const HttpRoute *o, char ret[NAME_SIZE]) {
        str_fit(ret, NAME_SIZE, "%s%s", o->path, o->has_name ? "{name}" : o->has_number ? "{number}" : "");
}

// Of the schema of what is answered, and of the answer itself: there is one for each thing.
static void schema_name(const HttpRoute *o, char ret[NAME_SIZE]) {
        const char *rows = http_body_rows(o->resource, NULL, NULL);

        if (o->resource == HTTP_UNIT || o->resource == HTTP_UNIT_FILE)
                str_fit(ret, NAME_SIZE, "%s", o->resource == HTTP_UNIT ? "unit" : "unit_file");
        else if (rows)
                str_fit(ret, NAME_SIZE, "%s%s", rows, o->method == HTTP_GET ? "" : "_of_a_job");
        else
                str_fit(ret, NAME_SIZE, "%s", o->resource == HTTP_STATE ? "state" : "");
}

static void write_parameter(Json *j, const char *where, const char *name, Shape s, const char *words) {
        json_begin(j, '{');
        text(j, "name", name);
        text(j, "in", where);
        if (*words)
                text(j, "description", words);
        json_key(j, "required");
        json_bool(j, streq(where, "path") || streq(name, "from")); // all others may be left out
        begin(j, "schema");
        shape(j, s);
        end(j);
        end(j);
}

static void write_parameters(Json *j, const HttpRoute *o, size_t i) {
        const char *name;

        json_key(j, "parameters");
        json_begin(j, '[');
        if (o->has_name)
                write_parameter(j, "path", "name", SHAPE_TEXT, "The whole name of a unit");
        if (o->has_number)
                write_parameter(j, "path", "number", SHAPE_NUMBER, "The number of a job");
        for (size_t k = 0; (name = http_target_parameter(i, k)); k++)
                for (size_t p = 0; p < ELEMENTSOF(parameters); p++)
                        if (streq(parameters[p].name, name))
                                write_parameter(j, "query", name, parameters[p].shape, parameters[p].words);
        json_end(j, ']');
}

static void write_content(Json *j, const char *type, const char *schema) {
        begin(j, type);
        if (*schema) {
                begin(j, "schema");
                refer(j, "schemas", schema);
                end(j);
        }
        end(j);
}

static void write_body(Json *j, const HttpRoute *o) {
        HttpTarget t = {.resource = o->resource};

        if (!http_target_has_body(&t))
                return;
        begin(j, "requestBody");
        json_key(j, "required");
        json_bool(j, true);
        begin(j, "content");
        write_content(j, http_write_type(&t) ?: "text/plain",
                      o->resource == HTTP_NEW_JOB || o->resource == HTTP_PLAN ? "change"
                      : o->resource == HTTP_LOGIN ? "login"
                                                  : "");
        if (o->resource == HTTP_NEW_JOB)
                write_content(j, "application/x-ndjson", "change");
        end(j);
        end(j);
}

static void write_answer_content(Json *j, const HttpRoute *o) {
        char schema[NAME_SIZE];

        schema_name(o, schema);
        begin(j, "content");
        if (o->resource == HTTP_METRICS)
                write_content(j, "application/openmetrics-text", "");
        else if (o->resource == HTTP_HEALTHZ || o->resource == HTTP_READYZ || o->resource == HTTP_JOURNAL)
                write_content(j, "text/plain", "");
        else
                write_content(j, o->resource == HTTP_EVENTS ? "text/event-stream" : "application/json",
                              schema);
        if (o->resource == HTTP_EVENTS || o->resource == HTTP_NEW_JOB || o->resource == HTTP_JOURNAL)
                write_content(j, "application/x-ndjson", "");
        end(j);
}

// A change that nobody waits for is answered with 202.
static void write_answers(Json *j, const HttpRoute *o) {
        bool is_session = o->resource == HTTP_LOGIN || o->resource == HTTP_LOGOUT;

        begin(j, "responses");
        begin(j, is_session ? "204" : o->method == HTTP_GET ? "200" : "2XX");
        text(j, "description", words_of(o->resource));
        if (!is_session)
                write_answer_content(j, o);
        end(j);
        begin(j, "default");
        refer(j, "responses", "problem");
        end(j);
        end(j);
}

static void write_operation(Json *j, const HttpRoute *o, size_t i) {
        begin(j, method_name(o->method));
        text(j, "summary", words_of(o->resource));
        write_parameters(j, o, i);
        write_body(j, o);
        write_answers(j, o);
        if (http_target_is_public(o->path)) { // no token
                json_key(j, "security");
                json_begin(j, '[');
                json_end(j, ']');
        }
        end(j);
}

static bool is_same_path(const HttpRoute *a, const HttpRoute *b) {
        return streq(a->path, b->path);
}

static void write_paths(Json *j) {
        HttpRoute o, other;
        char path[NAME_SIZE];

        begin(j, "paths");
        for (size_t i = 0; http_target_route(i, &o); i++) {
                bool written = false;

                for (size_t k = 0; k < i && http_target_route(k, &other); k++)
                        written |= is_same_path(&o, &other);
                if (written)
                        continue;
                path_of(&o, path);
                begin(j, path);
                for (size_t k = i; http_target_route(k, &other); k++)
                        if (is_same_path(&o, &other))
                                write_operation(j, &other, k);
                end(j);
        }
        end(j);
}

// ---- schemas

// `always`: so many of them, the first ones, are in each row.
static void write_row(Json *j, const Field *fields, size_t n, size_t always) {
        text(j, "type", "object");
        if (n == 0)
                return;
        begin(j, "properties");
        for (size_t i = 0; i < n; i++)
                property(j, fields[i].name, shape_of_field(fields[i].type));
        end(j);
        json_key(j, "required");
        json_begin(j, '[');
        for (size_t i = 0; i < always; i++)
                json_string(j, fields[i].name);
        json_end(j, ']');
}

static void write_document(Json *j, const HttpRoute *o, const char *name) {
        HttpAside aside;
        const char *asides = http_body_aside(o->resource, &aside), *age = o->method == HTTP_GET ? "no_leader" : "job";
        const Field *fields;
        size_t n;
        const char *rows = http_body_rows(o->resource, &fields, &n);

        begin(j, name);
        text(j, "type", "object");
        begin(j, "properties");
        property(j, age, o->method == HTTP_GET ? SHAPE_BOOL : SHAPE_NUMBER_OR_NULL);
        begin(j, rows);
        text(j, "type", "array");
        begin(j, "items");
        write_row(j, fields, n, o->resource == HTTP_UNIT_FILE ? UNIT_FILE_PAST_FIELDS : n);
        end(j);
        end(j);
        if (asides)
                property(j, asides, aside == HTTP_ASIDE_TEXTS ? SHAPE_TEXTS : aside == HTTP_ASIDE_TEXT ? SHAPE_TEXT_OR_NULL : SHAPE_OBJECTS);
        end(j);
        list(j, "required", (const char *const[]){age, rows, asides}, asides ? 3 : 2);
        end(j);
}

static void write_documents(Json *j) {
        char name[NAME_SIZE], before[NAME_SIZE];
        HttpRoute o, other;

        for (size_t i = 0; http_target_route(i, &o); i++) {
                bool written = !http_body_rows(o.resource, NULL, NULL);

                schema_name(&o, name);
                for (size_t k = 0; k < i && http_target_route(k, &other); k++) {
                        schema_name(&other, before);
                        written |= streq(before, name);
                }
                if (!written)
                        write_document(j, &o, name);
        }
}

static void write_change(Json *j, size_t verb) {
        const char *name = http_write_verb(verb), *member;

        json_begin(j, '{');
        text(j, "type", "object");
        begin(j, "properties");
        begin(j, "verb");
        text(j, "const", name);
        end(j);
        for (size_t k = 0; (member = http_write_member(verb, k)); k++)
                property(j, member, shape_of_member(name, member));
        end(j);
        list(j, "required", (const char *const[]){"verb"}, 1);
        json_key(j, "additionalProperties");
        json_bool(j, false);
        end(j);
}

static void write_changes(Json *j) {
        begin(j, "change");
        json_key(j, "oneOf");
        json_begin(j, '[');
        for (size_t i = 0; http_write_verb(i); i++)
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
        json_key(j, "additionalProperties");
        json_bool(j, false);
        end(j);
}

static void write_state(Json *j) {
        begin(j, "state");
        text(j, "type", "object");
        begin(j, "properties");
        property(j, "cursor", SHAPE_TEXT);
        end(j);
        list(j, "required", (const char *const[]){"cursor"}, 1);
        end(j);
}

static void write_problem(Json *j) {
        begin(j, "problem");
        text(j, "type", "object");
        begin(j, "properties");
        property(j, "type", SHAPE_TEXT);
        property(j, "title", SHAPE_TEXT);
        property(j, "status", SHAPE_NUMBER);
        property(j, "detail", SHAPE_TEXT);
        property(j, "unit", SHAPE_TEXT);
        property(j, "node", SHAPE_TEXT);
        property(j, "line", SHAPE_NUMBER);
        end(j);
        list(j, "required", (const char *const[]){"type", "title", "status"}, 3);
        end(j);
}

static void write_event(Json *j, const EventKindInfo *info) {
        char name[NAME_SIZE];

        str_fit(name, sizeof(name), "event_%s", info->name);
        begin(j, name);
        text(j, "type", "object");
        text(j, "description", info->what);
        begin(j, "properties");
        for (size_t i = 0; i < event_kind_n_fields(info); i++) {
                const EventField *f = &info->fields[i];

                begin(j, f->name);
                shape(j, f->type == EVENT_TEXT   ? SHAPE_TEXT
                         : f->type == EVENT_BOOL ? SHAPE_BOOL
                                                 : SHAPE_NUMBER);
                text(j, "description", f->what);
                end(j);
        }
        end(j);
        end(j);
}

static void write_components(Json *j) {
        begin(j, "components");
        begin(j, "securitySchemes");
        begin(j, "token");
        text(j, "type", "http");
        text(j, "scheme", "bearer");
        end(j);
        end(j);
        begin(j, "responses");
        begin(j, "problem");
        text(j, "description", "It was refused, or has failed (RFC 9457)");
        begin(j, "content");
        write_content(j, "application/problem+json", "problem");
        end(j);
        end(j);
        end(j);
        begin(j, "schemas");
        write_documents(j);
        write_changes(j);
        write_login(j);
        write_state(j);
        write_problem(j);
        for (unsigned k = 0; k < EVENT_KINDS; k++)
                if (event_kind_info((Argosy__EventKind) k))
                        write_event(j, event_kind_info((Argosy__EventKind) k));
        end(j);
        end(j);
}

char *http_openapi(void) {
        Json j = {};
        char *document;

        json_begin(&j, '{');
        text(&j, "openapi", "3.1.0");
        begin(&j, "info");
        text(&j, "title", "argosy");
        text(&j, "version", ARGOSY_VERSION);
        text(&j, "description",
             "See argosy-api(7). On the unix socket nobody needs a token: the kernel says who has "
             "connected.");
        end(&j);
        write_paths(&j);
        json_key(&j, "security"); // over TCP
        json_begin(&j, '[');
        json_begin(&j, '{');
        json_key(&j, "token");
        json_begin(&j, '[');
        json_end(&j, ']');
        json_end(&j, '}');
        json_end(&j, ']');
        write_components(&j);
        json_end(&j, '}');
        json_finish(&j);
        document = j.failed ? NULL : buf_take_string(&j.text);
        json_done(&j);
        return document;
}
