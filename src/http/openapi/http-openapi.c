// SPDX-License-Identifier: LGPL-2.1-or-later
//
//      tables -> paths, with parameters, bodies and answers by name -> what stands behind these names (http-openapi-schemas.c)
//
// What the tables do not know stands here: what each thing is in words, and of what shape a parameter is. A test compares
// the two (tests/unit/http/test-openapi.c), and another one all of it with a cluster (tests/integration/http-described.py).

#include "http-openapi.h"

#include "event-kind.h"
#include "http-body.h"
#include "http-openapi-private.h"
#include "http-write.h"
#include "macro.h"

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
        {HTTP_VERIFY, "What the systemd of nodes ignores in unit files, or refuses; nothing is changed"},
        {HTTP_NEW_JOB, "Asks for a change, or for thousands, one on a line"},
        {HTTP_JOB, "One job, when it has ended or so many seconds are over"},
        {HTTP_JOB_TARGETS, "The names of all units that a job is about"},
        {HTTP_HOSTS, "Members of the cluster"},
        {HTTP_ROLES, "Roles, with what they are guaranteed and use"},
        {HTTP_POOLS, "Pools"},
        {HTTP_QUEUE, "The queue of jobs and its rules"},
        {HTTP_ACCESS, "Who may do what"},
        {HTTP_TOKENS, "Tokens by which programs are let in"},
        {HTTP_SECRETS, "Secrets, who has which version, and never a value"},
        {HTTP_PUT_SECRET, "Gives units another secret"},
        {HTTP_DELETE_SECRET, "Forgets a secret that no unit names"},
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

typedef struct Parameter {
        const char *name;
        HttpShape shape; // TEXTS: it may be there several times
        const char *words;
        uint64_t least, most; // of a number; most 0: no more is said of it
} Parameter;

static const Parameter parameters[] = {
        {"pattern", SHAPE_TEXTS, "Only units of that name; *, ? and [] as in the shell", 0, 0},
        {"state", SHAPE_TEXTS, "Only what is in that state: of units the load, active or sub state, of unit files the desired one or how far that is, of nodes also the mode", 0, 0},
        {"node", SHAPE_TEXTS, "Only what is on that node, or the node itself; of jobs those whose records name it", 0, 0},
        {"label", SHAPE_TEXTS, "KEY=VALUE: only nodes with that label, or what is on them; with all of them, if there are several", 0, 0},
        {"author", SHAPE_TEXT, "Only jobs of USER, or USER@HOST; a pattern", 0, 0},
        {"limit", SHAPE_NUMBER, "At most so many rows", 1, HTTP_LIMIT_MAX},
        {"page", SHAPE_TEXT, "What the page before has as its next", 0, 0},
        {"wait", SHAPE_NUMBER, "Seconds until an answer, if the job has not ended by then", 1, HTTP_WAIT_SEC_MAX},
        {"since", SHAPE_TEXT, "What is behind that cursor; of events also @JOB, and 0 for everything", 0, 0},
        {"kind", SHAPE_TEXTS, "Only events of that kind", 0, 0},
        {"from", SHAPE_NUMBER, "The job behind which changes count", 1, INT64_MAX},
        {"to", SHAPE_NUMBER, "The last job whose changes count; without it: up to now", 1, INT64_MAX},
        {"at", SHAPE_NUMBER, "As it was when that job was done; of the past only the required fields are known", 1, INT64_MAX},
        {"rev", SHAPE_TEXT, "The content, or the file that comes with the unit, of that SHA-256 in its place; not together with at", 0, 0},
        {"lines", SHAPE_NUMBER, "So many of the newest lines", 0, HTTP_JOURNAL_LINES_MAX},
        {"follow", SHAPE_BOOL, "Also what comes from now on", 0, 0},
};

static bool writes(HttpResource resource) {
        return http_target_writes(&(HttpTarget){.resource = resource});
}

static bool may_be_a_job(HttpResource resource) {
        return writes(resource) && resource != HTTP_VERIFY;
}

// Some only ask.
static bool changes(HttpResource resource) {
        return writes(resource) && !http_target_only_asks(&(HttpTarget){.resource = resource});
}

static bool has_tag(HttpResource resource) {
        return resource == HTTP_STATE || http_target_is_tagged(&(HttpTarget){.resource = resource});
}

static bool is_of_events(HttpResource resource) {
        return resource == HTTP_EVENTS;
}

static const struct {
        Parameter parameter;
        bool (*of)(HttpResource resource);
} headers[] = {
        {{"Idempotency-Key", SHAPE_TEXT, "1 to 64 characters: what is asked for again under the same key is done once", 0, 0}, may_be_a_job},
        {{"If-Match", SHAPE_TEXT, "A revision, in quotes: nothing is changed if what is asked for was changed after it", 0, 0}, may_be_a_job},
        {{"If-None-Match", SHAPE_TEXT, "An ETag: what is still that version is not sent again", 0, 0}, has_tag},
        {{"Last-Event-ID", SHAPE_TEXT, "A cursor: counts more than since", 0, 0}, is_of_events},
};

static const char *words_of(HttpResource resource) {
        for (size_t i = 0; i < ELEMENTSOF(things); i++)
                if (things[i].resource == resource)
                        return things[i].words;
        return "";
}

// ---- paths

static const char *method_name(HttpMethod method) {
        return method == HTTP_GET    ? "get"
               : method == HTTP_POST ? "post"
               : method == HTTP_PUT  ? "put"
                                     : "delete";
}

static void path_of(const HttpRoute *o, char ret[HTTP_OPENAPI_NAME_SIZE]) {
        str_fit(ret, HTTP_OPENAPI_NAME_SIZE, "%s%s%s", o->path, o->has_name ? "{name}" : o->has_number ? "{number}" : "", o->tail);
}

static void write_parameter(Json *j, const char *where, const Parameter *p) {
        json_begin(j, '{');
        text(j, "name", p->name);
        text(j, "in", where);
        text(j, "description", p->words);
        json_key(j, "required");
        json_bool(j, streq(where, "path") || streq(p->name, "from")); // all others may be left out
        begin(j, "schema");
        http_openapi_shape(j, p->shape);
        if (p->most > 0) {
                number(j, "minimum", p->least);
                number(j, "maximum", p->most);
        }
        end(j);
        end(j);
}

static void write_parameters(Json *j, const HttpRoute *o, size_t i) {
        static const Parameter name_of = {"name", SHAPE_TEXT, "The whole name of a unit", 0, 0},
                               secret_of = {"name", SHAPE_TEXT, "The name of a secret", 0, 0},
                               number_of = {"number", SHAPE_NUMBER, "The number of a job", 1, INT64_MAX};
        const char *name;

        begin_list(j, "parameters");
        if (o->has_name)
                write_parameter(j, "path", str_has_prefix(o->path, "/v1/secrets/") ? &secret_of : &name_of);
        if (o->has_number)
                write_parameter(j, "path", &number_of);
        for (size_t k = 0; (name = http_target_parameter(i, k)); k++)
                for (size_t p = 0; p < ELEMENTSOF(parameters); p++)
                        if (streq(parameters[p].name, name))
                                write_parameter(j, "query", &parameters[p]);
        for (size_t h = 0; h < ELEMENTSOF(headers); h++)
                if (headers[h].of(o->resource))
                        write_parameter(j, "header", &headers[h].parameter);
        json_end(j, ']');
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
                      o->resource == HTTP_NEW_JOB ? "change"
                      : o->resource == HTTP_PLAN  ? "planned_change"
                      : o->resource == HTTP_VERIFY ? "contents"
                      : o->resource == HTTP_LOGIN ? "login"
                                                  : "");
        if (o->resource == HTTP_NEW_JOB)
                write_content(j, "application/x-ndjson", "change");
        end(j);
        end(j);
}

static void write_either(Json *j, const char *type, const char *one, const char *other) {
        begin(j, type);
        begin(j, "schema");
        begin_list(j, "anyOf");
        refer_one(j, one);
        refer_one(j, other);
        json_end(j, ']');
        end(j);
        end(j);
}

// Of lines the schema is that of each.
static void write_answer_content(Json *j, const HttpRoute *o) {
        char schema[HTTP_OPENAPI_NAME_SIZE];

        http_openapi_schema_name(o, schema);
        begin(j, "content");
        switch (o->resource) {
        case HTTP_METRICS:
                write_content(j, "application/openmetrics-text", "");
                break;
        case HTTP_HEALTHZ:
        case HTTP_READYZ:
                write_content(j, "text/plain", "");
                break;
        case HTTP_JOURNAL:
                write_content(j, "text/plain", "");
                write_content(j, "application/x-ndjson", "line_of_a_journal");
                break;
        case HTTP_EVENTS:
                write_content(j, "text/event-stream", "");
                write_content(j, "application/x-ndjson", "event");
                break;
        case HTTP_STATE:
                write_either(j, "application/json", "state", "state_changes"); // without `since`, and with it
                break;
        case HTTP_NEW_JOB:
        case HTTP_PUT_UNIT_FILE:
        case HTTP_DELETE_UNIT_FILE:
        case HTTP_PUT_SECRET:
        case HTTP_DELETE_SECRET:
                write_either(j, "application/json", HTTP_OPENAPI_TAKEN, HTTP_OPENAPI_ENDED); // with `wait`: the second one
                if (o->resource == HTTP_NEW_JOB)
                        write_content(j, "application/x-ndjson", "line_of_an_operation");
                break;
        default:
                write_content(j, "application/json", schema);
        }
        end(j);
}

static bool takes_parameter(size_t route, const char *name) {
        const char *parameter;

        for (size_t k = 0; (parameter = http_target_parameter(route, k)); k++)
                if (streq(parameter, name))
                        return true;
        return false;
}

static void write_answer_headers(Json *j, const HttpRoute *o, size_t i) {
        bool page = takes_parameter(i, "page"), tag = has_tag(o->resource),
             job = changes(o->resource);

        if (!page && !tag && !job)
                return;
        begin(j, "headers");
        if (tag)
                refer_by(j, "ETag", "headers", "ETag");
        if (page)
                refer_by(j, "Link", "headers", "Link");
        if (job)
                refer_by(j, "Location", "headers", "Location");
        end(j);
}

static void write_answer(Json *j, const HttpRoute *o, size_t i, const char *status, const char *words) {
        begin(j, status);
        text(j, "description", words);
        write_answer_headers(j, o, i);
        if (!streq(status, "204"))
                write_answer_content(j, o);
        end(j);
}

// A change that nobody waits for, or not for long enough, is answered with 202.
static void write_answers(Json *j, const HttpRoute *o, size_t i) {
        bool is_session = o->resource == HTTP_LOGIN || o->resource == HTTP_LOGOUT,
             becomes_job = changes(o->resource);

        begin(j, "responses");
        write_answer(j, o, i, is_session ? "204" : "200", words_of(o->resource));
        if (becomes_job)
                write_answer(j, o, i, "202", "A job that has not ended");
        if (has_tag(o->resource))
                refer_by(j, "304", "responses", "unchanged");
        if (o->resource != HTTP_HEALTHZ)
                refer_by(j, "503", "responses", "unavailable");
        if (becomes_job)
                refer_by(j, "504", "responses", "unknown");
        refer_by(j, "default", "responses", "problem");
        end(j);
}

static void write_operation(Json *j, const HttpRoute *o, size_t i) {
        begin(j, method_name(o->method));
        text(j, "summary", words_of(o->resource));
        write_parameters(j, o, i);
        write_body(j, o);
        write_answers(j, o, i);
        if (http_target_is_public(o->path)) { // no token
                json_key(j, "security");
                json_begin(j, '[');
                json_end(j, ']');
        }
        end(j);
}

static bool is_same_path(const HttpRoute *a, const HttpRoute *b) {
        return streq(a->path, b->path) && streq(a->tail, b->tail);
}

static void write_paths(Json *j) {
        HttpRoute o, other;
        char path[HTTP_OPENAPI_NAME_SIZE];

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
        http_openapi_components(&j);
        json_end(&j, '}');
        json_finish(&j);
        document = j.failed ? NULL : buf_take_string(&j.text);
        json_done(&j);
        return document;
}
