// SPDX-License-Identifier: LGPL-2.1-or-later
//
//      tables -> paths, with parameters, bodies and answers by name -> what stands behind these names
// (http-openapi-schemas.c)
//
// What the tables do not know stands here: headers, and answers that are no document of rows.
// tests/integration/http-described.py compares all of it with a cluster.

#include "http-openapi.h"

#include "http-openapi-private.h"
#include "macro.h"

// ---- headers

static bool may_be_a_job(HttpResource r) {
        return http_resource_is(r, HTTP_IS_OF_A_JOB);
}

// Some only ask.
static bool changes(HttpResource r) {
        return http_resource_is(r, HTTP_CHANGES);
}

static bool has_tag(HttpResource r) {
        return r == HTTP_STATE || http_resource_is(r, HTTP_IS_TAGGED);
}

static bool is_of_events(HttpResource r) {
        return r == HTTP_EVENTS;
}

static const struct {
        HttpParameter parameter;
        bool (*of)(HttpResource r);
} headers[] = {
        {{"Idempotency-Key", .shape = SHAPE_TEXT,
          .words = "1 to 64 characters: what is asked for again under the same key is done once"},
         may_be_a_job},
        {{"If-Match", .shape = SHAPE_TEXT,
          .words = "A revision, in quotes: nothing is changed if what is asked for was changed after it"},
         may_be_a_job},
        {{"If-None-Match", .shape = SHAPE_TEXT,
          .words = "An ETag: what is still that version is not sent again"},
         has_tag},
        {{"Last-Event-ID", .shape = SHAPE_TEXT, .words = "A cursor: counts more than since"}, is_of_events},
};

// ---- paths

static const char *method_name(HttpMethod method) {
        return method == HTTP_GET    ? "get"
               : method == HTTP_POST ? "post"
               : method == HTTP_PUT  ? "put"
                                     : "delete";
}

// With the names of names, as people see them.
static void path_of(HttpResource r, char ret[HTTP_OPENAPI_NAME_SIZE]) {
        const char *path = http_resource(r)->path;
        size_t n = 0;

        while (*path) {
                size_t fixed = strcspn(path, "{");

                str_fit(ret + n, HTTP_OPENAPI_NAME_SIZE - n, "%.*s", (int) fixed, path);
                path += fixed;
                if (*path) {
                        str_fit(ret + n + fixed, HTTP_OPENAPI_NAME_SIZE - n - fixed, "{%s}",
                                http_parameter_of_path(path + 1)->name);
                        path += strcspn(path, "}") + 1;
                }
                n = strlen(ret);
        }
}

static void write_parameter(Json *j, const char *where, const HttpParameter *p) {
        json_begin(j, '{');
        text(j, "name", p->name);
        text(j, "in", where);
        text(j, "description", p->words);
        json_member_bool(j, "required", streq(where, "path") || p->is_needed);
        begin(j, "schema");
        http_openapi_shape(j, p->shape);
        if (p->most > 0) {
                number(j, "minimum", p->least);
                number(j, "maximum", p->most);
        }
        end(j);
        end(j);
}

static void write_parameters(Json *j, HttpResource r) {
        const HttpResourceRow *of = http_resource(r);
        const HttpParameter *p;

        begin_list(j, "parameters");
        for (const char *name = strchr(of->path, '{'); name; name = strchr(name + 1, '{'))
                write_parameter(j, "path", http_parameter_of_path(name + 1));
        for (size_t i = 0; (p = http_parameter(i)); i++)
                if (of->takes & p->takes)
                        write_parameter(j, "query", p);
        for (size_t h = 0; h < ELEMENTSOF(headers); h++)
                if (headers[h].of(r))
                        write_parameter(j, "header", &headers[h].parameter);
        json_end(j, ']');
}

static void write_body(Json *j, HttpResource r) {
        const HttpResourceRow *of = http_resource(r);

        if (!of->body)
                return;
        begin(j, "requestBody");
        json_member_bool(j, "required", true);
        begin(j, "content");
        write_content(j, of->body, of->body_schema ?: "");
        if (r == HTTP_NEW_JOB)
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

// With `wait`: the second one.
static void write_changed(Json *j) {
        write_either(j, "application/json", HTTP_OPENAPI_TAKEN, HTTP_OPENAPI_ENDED);
}

// The schema of an answer; of an answer by lines it is that of each line.
static void write_answer_content(Json *j, HttpResource r) {
        begin(j, "content");
        switch (r) {
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
                write_either(j, "application/json", "state",
                             "state_changes"); // without `since`, and with it
                break;
        case HTTP_NEW_JOB:
                write_changed(j);
                write_content(j, "application/x-ndjson", "line_of_an_operation");
                break;
        default:
                if (changes(r))
                        write_changed(j);
                else
                        write_content(j, "application/json", http_openapi_schema(r));
        }
        end(j);
}

static void write_answer_headers(Json *j, HttpResource r) {
        bool page = http_resource(r)->takes & TAKES_PAGE, tag = has_tag(r), job = changes(r);

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

static void write_answer(Json *j, HttpResource r, const char *status, const char *words) {
        begin(j, status);
        text(j, "description", words);
        write_answer_headers(j, r);
        if (!streq(status, "204"))
                write_answer_content(j, r);
        end(j);
}

// A change that nobody waits for, or not for long enough, is answered with 202.
static void write_answers(Json *j, HttpResource r) {
        bool is_session = r == HTTP_LOGIN || r == HTTP_LOGOUT, becomes_job = changes(r);

        begin(j, "responses");
        write_answer(j, r, is_session ? "204" : "200", http_resource(r)->words);
        if (becomes_job)
                write_answer(j, r, "202", "A job that has not ended");
        if (has_tag(r))
                refer_by(j, "304", "responses", "unchanged");
        if (r != HTTP_HEALTHZ)
                refer_by(j, "503", "responses", "unavailable");
        if (becomes_job)
                refer_by(j, "504", "responses", "unknown");
        refer_by(j, "default", "responses", "problem");
        end(j);
}

static void write_operation(Json *j, HttpResource r) {
        begin(j, method_name(http_resource(r)->method));
        text(j, "summary", http_resource(r)->words);
        write_parameters(j, r);
        write_body(j, r);
        write_answers(j, r);
        if (http_resource_is(r, HTTP_IS_OPEN | HTTP_IS_PUBLIC)) { // no token
                json_member_begin(j, "security", '[');
                json_end(j, ']');
        }
        end(j);
}

static void write_path(Json *j, HttpResource first) {
        const char *shared = http_resource(first)->path;
        char path[HTTP_OPENAPI_NAME_SIZE];

        path_of(first, path);
        begin(j, path);
        for (HttpResource r = first; r < HTTP_RESOURCES; r++)
                if (streq(http_resource(r)->path, shared))
                        write_operation(j, r);
        end(j);
}

static void write_paths(Json *j) {
        begin(j, "paths");
        for (HttpResource r = 0; !http_resource_is_page(r); r++) {
                bool written = false;

                for (HttpResource before = 0; before < r; before++)
                        written |= streq(http_resource(before)->path, http_resource(r)->path);
                if (!written)
                        write_path(j, r);
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
        json_member_begin(&j, "token", '[');
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
