// SPDX-License-Identifier: LGPL-2.1-or-later
//
//      http_body_read() -> what is left of the last step, and as many steps as there is room for
//
// A step writes what stands before the rows, some ROWS_PER_STEP rows, or what stands behind them. One part
// of the answer at a time is unpacked; it is freed before the next one. A part that cannot be read, or is of
// another kind than was asked for, ends the document in the middle, which its reader is told.

#include "http-body.h"

#include <errno.h>

#include "http-filter.h"
#include "message.h"
#include "row-json.h"
#include "str.h"

enum {
        ROWS_PER_STEP = 64,
        ERROR_SIZE = 512, // the rest is cut
};

typedef enum BodyStage { BODY_BEGINS, BODY_ROWS, BODY_ASIDES, BODY_TEXT, BODY_ENDED } BodyStage;

typedef struct Parts {
        HttpPart *parts;
        size_t n;
} Parts;

struct HttpBody {
        HttpTarget target;
        Parts of_rows, of_asides;
        Parts *parts;               // one of these two
        size_t part, row;           // the next
        Argosy__Response *response; // of `part`, NULL: not unpacked yet
        BodyStage stage;
        bool in_job;         // of HTTP_JOB: its row has begun, and these are its units
        uint32_t more_units; // that do not come
        Json json; // its text: of one step
        size_t given;
};

void http_parts_free(HttpPart *parts, size_t n_parts) {
        for (size_t i = 0; i < n_parts; i++)
                free(parts[i].data);
        free(parts);
}

HttpBody *http_body_new(HttpTarget *target, HttpPart *parts, size_t n_parts, HttpPart *asides,
                        size_t n_asides) {
        HttpBody *b = calloc(1, sizeof(*b));

        if (!b) {
                http_target_done(target);
                http_parts_free(parts, n_parts);
                http_parts_free(asides, n_asides);
                return NULL;
        }
        b->target = *target;
        *target = (HttpTarget){};
        b->of_rows = (Parts){parts, n_parts};
        b->of_asides = (Parts){asides, n_asides};
        b->parts = &b->of_rows;
        return b;
}

void http_body_free(HttpBody *b) {
        if (!b)
                return;
        json_done(&b->json);
        message_free(b->response);
        http_parts_free(b->of_rows.parts, b->of_rows.n);
        http_parts_free(b->of_asides.parts, b->of_asides.n);
        http_target_done(&b->target);
        free(b);
}

// A node that could not be read.
static void error_json(const void *row, Json *j) {
        const Argosy__Response *r = row;
        char text[ERROR_SIZE];

        str_fit(text, sizeof(text), "%s%s", r->usage ? r->usage->node : r->message,
                r->usage ? ": it has gone away" : "");
        json_string(j, text);
}

// The key, and what is said of each response that stands there; NULL: the document is not of rows
// (BODY_TEXT).
static const struct {
        const char *key;
        void (*write)(const void *row, Json *j);
} asides[HTTP_ASIDES] = {
        [HTTP_ASIDE_WHY] = {"why", why_json},
        [HTTP_ASIDE_FILE] = {"file", NULL},
        [HTTP_ASIDE_ERRORS] = {"errors", error_json},
};

static HttpAside aside_of(const HttpBody *b) {
        return http_resource(b->target.resource)->aside;
}

const char *http_body_aside(HttpResource resource) {
        return asides[http_resource(resource)->aside].key;
}

static int unpack(HttpBody *b) {
        const HttpPart *p = &b->parts->parts[b->part];

        return b->response ? 0
                           : message_unpack(&argosy__response__descriptor, p->data, p->len,
                                            (void **) &b->response);
}

static void next_part(HttpBody *b) {
        message_free(TAKE_PTR(b->response));
        b->row = 0;
        b->part++;
}

// What is there of it: none, if nobody has it any more.
static int write_file(HttpBody *b) {
        _cleanup_free_ char *text = NULL;
        const Argosy__Response *r;

        if (b->parts->n == 0) {
                json_null(&b->json);
                return 0;
        }
        if (unpack(b) < 0)
                return -EBADMSG;
        r = b->response;
        if (r->what_case == ARGOSY__RESPONSE__WHAT_CAT &&
            !(text = strndup((const char *) r->cat->content.data ?: "", r->cat->content.len)))
                return -ENOMEM;
        json_string(&b->json, text ?: "");
        message_free(TAKE_PTR(b->response));
        b->part = b->parts->n;
        return 0;
}

static bool format_next(const HttpBody *b, const Argosy__Response *r, char ret[HTTP_PAGE_SIZE]) {
        HttpPage page;

        if (!http_filter_next(r, &page))
                return false;
        http_page_format(&page, http_filter_question(&b->target), ret);
        return true;
}

bool http_body_next(HttpBody *b, char ret[HTTP_PAGE_SIZE]) {
        return b->stage == BODY_BEGINS && b->parts->n == 1 && unpack(b) == 0 &&
               format_next(b, b->response, ret);
}

static void write_next(HttpBody *b) {
        char page[HTTP_PAGE_SIZE];

        if (format_next(b, b->response, page))
                json_strings(&b->json, (const char *const[][2]){{"next", page}}, 1);
}

static void write_age(Json *j, const Argosy__Response *r) {
        json_member_bool(j, "no_leader", r->no_leader);
        if (!r->no_leader)
                return;
        json_member_u64(j, "stale_ms", r->stale_ms);
}

// The number 0 is none: nothing had to be changed, or it was only asked what would be.
static void write_job(Json *j, const Argosy__Response *r) {
        json_key(j, "job");
        if (r->job > 0)
                json_u64(j, r->job);
        else
                json_null(j);
        if (*r->cursor)
                json_strings(j, (const char *const[][2]){{"cursor", r->cursor}}, 1);
        if (r->what_case == ARGOSY__RESPONSE__WHAT_QUEUE && r->queue->n_rows == 1 &&
            r->queue->rows[0]->rule) {
                json_key(j, "rule"); // that is new
                json_u64(j, r->queue->rows[0]->rule->number);
        }
        if (!r->held)
                return;
        json_member_bool(j, "held", true);
}

// The first part has what is said of the job itself, the last one how many units are behind it.
static int begin_job(HttpBody *b) {
        int r = unpack(b);

        if (r < 0 || !http_resource_job(b->response))
                return r;
        json_begin(&b->json, '{');
        job_json_fields(http_resource_job(b->response), &b->json);
        json_member_begin(&b->json, "units", '[');
        b->in_job = true;
        return 0;
}

static void end_job(HttpBody *b) {
        json_end(&b->json, ']');
        if (b->more_units > 0) {
                json_member_u64(&b->json, "more_units", b->more_units);
        }
        json_end(&b->json, '}');
        b->in_job = false;
}

// The last part has what is true of all of them.
static int begin(HttpBody *b) {
        const HttpResourceRow *of = http_resource(b->target.resource);
        const Argosy__Response__JobRow *job;
        const void *beside;
        Json *j = &b->json;
        int r;

        if (b->parts->n == 0)
                return -EBADMSG;
        b->part = b->parts->n - 1;
        r = unpack(b);
        if (r < 0)
                return r;
        beside = http_resource_beside(b->target.resource, b->response);
        job = http_resource_job(b->response);
        json_begin(j, '{');
        if (http_target_is(&b->target, HTTP_IS_OF_A_JOB))
                write_job(j, b->response);
        else
                write_age(j, b->response);
        if (*b->response->message)
                json_strings(j, (const char *const[][2]){{"message", b->response->message}}, 1);
        write_next(b);
        if (beside)
                row_fields_json(of->beside, beside, j);
        json_member_begin(j, of->key, '[');
        b->more_units = job ? job->more_units : 0;
        if (b->parts->n > 1) {
                message_free(b->response);
                b->response = NULL;
        }
        b->part = 0;
        b->stage = BODY_ROWS;
        return b->target.resource == HTTP_JOB ? begin_job(b) : 0;
}

static void write_row(HttpBody *b, const HttpRows *rows, const void *row) {
        const HttpResourceRow *of = http_resource(b->target.resource);

        if (of->wants && !of->wants(&b->target, row, b->response))
                return;
        if (rows->write)
                rows->write(row, b->response, &b->json);
        else if (http_target_is_past(&b->target))
                fields_json(of->row->fields, of->row->n_always, row, &b->json);
        else
                row_json(of->row, row, &b->json);
}

static int write_rows(HttpBody *b) {
        HttpRows rows;
        int r = unpack(b);

        if (r < 0)
                return r;
        rows = http_resource_rows(b->target.resource, b->response);
        for (size_t i = 0; i < ROWS_PER_STEP && b->row < rows.n; i++)
                write_row(b, &rows, rows.rows[b->row++]);
        if (b->row < rows.n)
                return 0;
        next_part(b);
        return 0;
}

static int write_aside(HttpBody *b) {
        const Argosy__Response *response;
        HttpAside aside = aside_of(b);
        int r = unpack(b);

        if (r < 0)
                return r;
        response = b->response;
        if (aside != HTTP_ASIDE_WHY)
                asides[aside].write(response, &b->json);
        else if (response->what_case == ARGOSY__RESPONSE__WHAT_STATUS_REPLY && response->status_reply->row)
                asides[aside].write(response->status_reply, &b->json);
        next_part(b);
        return 0;
}

static int begin_asides(HttpBody *b) {
        HttpAside aside = aside_of(b);

        json_end(&b->json, ']');
        json_key(&b->json, asides[aside].key);
        b->parts = &b->of_asides;
        b->part = 0;
        b->stage = aside == HTTP_ASIDE_FILE ? BODY_TEXT : BODY_ASIDES;
        if (aside == HTTP_ASIDE_FILE)
                return write_file(b);
        json_begin(&b->json, '[');
        return 0;
}

static int step(HttpBody *b) {
        int r = 0;

        b->json.text.len = b->given = 0;
        if (b->stage == BODY_BEGINS)
                r = begin(b);
        else if (b->part < b->parts->n)
                r = b->stage == BODY_ASIDES ? write_aside(b) : write_rows(b);
        else if (b->stage == BODY_ROWS && aside_of(b) != HTTP_ASIDE_NOTHING)
                r = begin_asides(b);
        else {
                if (b->in_job)
                        end_job(b);
                if (b->stage != BODY_TEXT)
                        json_end(&b->json, ']');
                json_end(&b->json, '}');
                json_finish(&b->json);
                b->stage = BODY_ENDED;
        }
        return r < 0 ? r : b->json.failed ? -ENOMEM : 0;
}

ssize_t http_body_read(HttpBody *b, char *buf, size_t max) {
        size_t n = 0;

        while (n < max) {
                size_t more = MIN_OF(max - n, b->json.text.len - b->given);
                int r;

                if (more > 0)
                        memcpy(buf + n, b->json.text.data + b->given, more);
                b->given += more;
                n += more;
                if (b->given < b->json.text.len || b->stage == BODY_ENDED)
                        break;
                r = step(b);
                if (r < 0)
                        return r;
        }
        return (ssize_t) n;
}
