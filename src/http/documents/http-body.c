// SPDX-License-Identifier: LGPL-2.1-or-later
//
//      http_body_read() -> what is left of the last step, and as many steps as there is room for
//
// A step writes what stands before the rows, some ROWS_PER_STEP rows, or what stands behind them. One part of the answer at a time is
// unpacked; it is freed before the next one. A part that cannot be read, or is of another kind than was asked for, ends the
// document in the middle, which its reader is told.

#include "http-body.h"

#include <errno.h>

#include "access.h"
#include "http-filter.h"
#include "message.h"
#include "row-fields.h"
#include "row-json.h"
#include "str.h"

enum {
        ROWS_PER_STEP = 64,
        ERROR_SIZE = 512, // the rest is cut
};

typedef struct Rows {
        const char *key;     // in the document
        const Field *fields; // NULL: `write` knows
        size_t n_fields;
        void (*write)(const void *row, Json *j);
        void *const *rows;
        size_t n;
} Rows;

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

// Of a plan: a unit that would move, as it is told of one that a start would move.
static void move_json(const void *row, Json *j) {
        const Argosy__Response__Rebalance__Move *move = row;
        Argosy__Response__UnitResult unit = ARGOSY__RESPONSE__UNIT_RESULT__INIT;

        unit.name = move->unit;
        unit.from = move->from;
        unit.node = move->to;
        unit.message = move->why;
        fields_json(unit_result_fields, UNIT_RESULT_FIELDS, &unit, j);
}

static const Argosy__Response__JobRow *job_of(const Argosy__Response *r) {
        return r && r->what_case == ARGOSY__RESPONSE__WHAT_JOBS && r->jobs->n_rows == 1 ? r->jobs->rows[0] : NULL;
}

static void name_json(const void *row, Json *j) {
        json_string(j, row);
}

static void unit_name_json(const void *row, Json *j) {
        json_string(j, ((const Argosy__Response__JobUnitRow *) row)->unit);
}

// The units that a job is about, whatever their number; of one without any, what it was asked for.
static Rows targets_of(const Argosy__Response__JobRow *job) {
        bool units = job && job->n_units > 0;

        return (Rows){"targets", NULL, 0, units ? unit_name_json : name_json,
                      !job    ? NULL
                      : units ? (void *const *) job->units
                              : (void *const *) job->targets,
                      !job ? 0 : units ? job->n_units : job->n_targets};
}

static Rows rows_of(HttpResource resource, const Argosy__Response *r) {
        Rows rows = {};

        switch (resource) {
        case HTTP_UNITS:
        case HTTP_UNIT:
                rows = (Rows){"units", unit_row_fields, UNIT_ROW_FIELDS, NULL, NULL, 0};
                if (r && r->what_case == ARGOSY__RESPONSE__WHAT_UNITS) {
                        rows.rows = (void *const *) r->units->rows;
                        rows.n = r->units->n_rows;
                }
                break;
        case HTTP_UNIT_FILES:
        case HTTP_UNIT_FILE:
                rows = (Rows){"unit_files", unit_file_row_fields, UNIT_FILE_ROW_FIELDS, NULL, NULL, 0};
                if (r && r->what_case == ARGOSY__RESPONSE__WHAT_UNIT_FILES) {
                        rows.rows = (void *const *) r->unit_files->rows;
                        rows.n = r->unit_files->n_rows;
                }
                break;
        case HTTP_NODES:
                rows = (Rows){"nodes", node_row_fields, NODE_ROW_FIELDS, NULL, NULL, 0};
                if (r && r->what_case == ARGOSY__RESPONSE__WHAT_NODES) {
                        rows.rows = (void *const *) r->nodes->rows;
                        rows.n = r->nodes->n_rows;
                }
                break;
        case HTTP_JOB: // its units: the row itself is written before them
                rows = (Rows){"jobs", job_row_fields, JOB_ROW_FIELDS, job_unit_json, NULL, 0};
                if (job_of(r)) {
                        rows.rows = (void *const *) job_of(r)->units;
                        rows.n = job_of(r)->n_units;
                }
                break;
        case HTTP_JOB_TARGETS:
                rows = targets_of(job_of(r));
                break;
        case HTTP_HISTORY:
        case HTTP_JOBS:
                rows = resource == HTTP_HISTORY
                               ? (Rows){"history", history_row_fields, HISTORY_ROW_FIELDS, NULL, NULL, 0}
                               : (Rows){"jobs", job_row_fields, JOB_ROW_FIELDS, NULL, NULL, 0};
                if (r && r->what_case == ARGOSY__RESPONSE__WHAT_JOBS) {
                        rows.rows = (void *const *) r->jobs->rows;
                        rows.n = r->jobs->n_rows;
                }
                break;
        case HTTP_ROLES:
                rows = (Rows){"roles", NULL, 0, role_json, NULL, 0};
                if (r && r->what_case == ARGOSY__RESPONSE__WHAT_ROLES) {
                        rows.rows = (void *const *) r->roles->rows;
                        rows.n = r->roles->n_rows;
                }
                break;
        case HTTP_POOLS:
                rows = (Rows){"pools", NULL, 0, pool_json, NULL, 0};
                if (r && r->what_case == ARGOSY__RESPONSE__WHAT_POOLS) {
                        rows.rows = (void *const *) r->pools->rows;
                        rows.n = r->pools->n_rows;
                }
                break;
        case HTTP_QUEUE:
                rows = (Rows){"rules", NULL, 0, queue_rule_json, NULL, 0};
                if (r && r->what_case == ARGOSY__RESPONSE__WHAT_QUEUE) {
                        rows.rows = (void *const *) r->queue->rows;
                        rows.n = r->queue->n_rows;
                }
                break;
        case HTTP_ACCESS:
                rows = (Rows){"access", NULL, 0, grant_json, NULL, 0};
                if (r && r->what_case == ARGOSY__RESPONSE__WHAT_ACCESS) {
                        rows.rows = (void *const *) r->access->rows;
                        rows.n = r->access->n_rows;
                }
                break;
        case HTTP_TOKENS:
                rows = (Rows){"tokens", NULL, 0, token_json, NULL, 0};
                if (r && r->what_case == ARGOSY__RESPONSE__WHAT_TOKENS) {
                        rows.rows = (void *const *) r->tokens->rows;
                        rows.n = r->tokens->n_rows;
                }
                break;
        case HTTP_SECRETS:
                rows = (Rows){"secrets", NULL, 0, secret_json, NULL, 0};
                if (r && r->what_case == ARGOSY__RESPONSE__WHAT_SECRETS) {
                        rows.rows = (void *const *) r->secrets->rows;
                        rows.n = r->secrets->n_rows;
                }
                break;
        case HTTP_HOSTS:
                rows = (Rows){"hosts", NULL, 0, member_json, NULL, 0};
                if (r && r->what_case == ARGOSY__RESPONSE__WHAT_CLUSTER_STATUS) {
                        rows.rows = (void *const *) r->cluster_status->members;
                        rows.n = r->cluster_status->n_members;
                }
                break;
        case HTTP_USAGE:
                rows = (Rows){"usage", NULL, 0, NULL, NULL, 0};
                if (r && r->what_case == ARGOSY__RESPONSE__WHAT_USAGE) {
                        rows.rows = (void *const *) r->usage->rows;
                        rows.n = r->usage->n_rows;
                }
                break;
        case HTTP_VERIFY:
                rows = (Rows){"files", NULL, 0, NULL, NULL, 0};
                if (r && r->what_case == ARGOSY__RESPONSE__WHAT_VERIFY) {
                        rows.rows = (void *const *) r->verify->files;
                        rows.n = r->verify->n_files;
                }
                break;
        case HTTP_NEW_JOB:
        case HTTP_PLAN:
        case HTTP_PUT_UNIT_FILE:
        case HTTP_DELETE_UNIT_FILE:
        case HTTP_PUT_SECRET:
        case HTTP_DELETE_SECRET:
                rows = (Rows){"units", unit_result_fields, UNIT_RESULT_FIELDS, NULL, NULL, 0};
                if (r && r->what_case == ARGOSY__RESPONSE__WHAT_CHANGE) {
                        rows.rows = (void *const *) r->change->units;
                        rows.n = r->change->n_units;
                } else if (r && r->what_case == ARGOSY__RESPONSE__WHAT_REBALANCE) {
                        rows.write = move_json;
                        rows.rows = (void *const *) r->rebalance->moves;
                        rows.n = r->rebalance->n_moves;
                }
                break;
        case HTTP_METRICS:
        case HTTP_OPENAPI:
        case HTTP_DIFF:
        case HTTP_EVENTS:
        case HTTP_LOGIN:
        case HTTP_LOGOUT:
        case HTTP_STATE:
        case HTTP_JOURNAL:
        case HTTP_HEALTHZ:
        case HTTP_READYZ:
        case HTTP_STATIC:
                break;
        }
        return rows;
}

const char *http_body_rows(HttpResource resource, const Field **ret_fields, size_t *ret_n) {
        Rows rows = rows_of(resource, NULL);

        if (ret_fields)
                *ret_fields = rows.fields;
        if (ret_n)
                *ret_n = rows.n_fields;
        return rows.key;
}

// A node that could not be read.
static void error_json(const void *row, Json *j) {
        const Argosy__Response *r = row;
        char text[ERROR_SIZE];

        str_fit(text, sizeof(text), "%s%s", r->usage ? r->usage->node : r->message,
                r->usage ? ": it has gone away" : "");
        json_string(j, text);
}

static Rows asides_of(const HttpBody *b) {
        const Argosy__Response *r = b->response;
        bool is = r->what_case == ARGOSY__RESPONSE__WHAT_STATUS_REPLY && r->status_reply->row;

        if (b->target.resource == HTTP_USAGE || b->target.resource == HTTP_VERIFY)
                return (Rows){NULL, NULL, 0, error_json, (void *const *) &b->response, 1};
        return (Rows){NULL, NULL, 0, why_json, is ? (void *const *) &r->status_reply : NULL, is};
}

const char *http_body_aside(HttpResource resource, HttpAside *ret) {
        static const struct {
                HttpResource resource;
                HttpAside aside;
                const char *key;
        } asides[] = {{HTTP_UNIT, HTTP_ASIDE_OBJECTS, "why"},
                      {HTTP_UNIT_FILE, HTTP_ASIDE_TEXT, "file"},
                      {HTTP_USAGE, HTTP_ASIDE_TEXTS, "errors"},
                      {HTTP_VERIFY, HTTP_ASIDE_TEXTS, "errors"}};

        for (size_t i = 0; i < ELEMENTSOF(asides); i++)
                if (asides[i].resource == resource) {
                        *ret = asides[i].aside;
                        return asides[i].key;
                }
        return NULL;
}

static int unpack(HttpBody *b) {
        const HttpPart *p = &b->parts->parts[b->part];

        return b->response ? 0
                           : message_unpack(&argosy__response__descriptor, p->data, p->len,
                                            (void **) &b->response);
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
        return b->stage == BODY_BEGINS && b->parts->n == 1 && unpack(b) == 0 && format_next(b, b->response, ret);
}

static void write_next(HttpBody *b) {
        char page[HTTP_PAGE_SIZE];

        if (format_next(b, b->response, page))
                json_strings(&b->json, (const char *const[][2]){{"next", page}}, 1);
}

static void write_age(Json *j, const Argosy__Response *r) {
        json_key(j, "no_leader");
        json_bool(j, r->no_leader);
        if (!r->no_leader)
                return;
        json_key(j, "stale_ms");
        json_u64(j, r->stale_ms);
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
        json_key(j, "held");
        json_bool(j, true);
}

static void write_right(Json *j, const char *key, Argosy__Right right) {
        json_key(j, key);
        if (right == ARGOSY__RIGHT__RIGHT_NONE)
                json_null(j);
        else
                json_string(j, right_to_string(right));
}

// What the page of the dashboard offers depends on it.
static void write_own(const Argosy__Response__Access *access, Json *j) {
        write_right(j, "own", access->own);
        write_right(j, "own_of_some", access->own_of_some);
}

// The first part has what is said of the job itself, the last one how many units are behind it.
static int begin_job(HttpBody *b) {
        int r = unpack(b);

        if (r < 0 || !job_of(b->response))
                return r;
        json_begin(&b->json, '{');
        job_json_fields(job_of(b->response), &b->json);
        json_key(&b->json, "units");
        json_begin(&b->json, '[');
        b->in_job = true;
        return 0;
}

static void end_job(HttpBody *b) {
        json_end(&b->json, ']');
        if (b->more_units > 0) {
                json_key(&b->json, "more_units");
                json_u64(&b->json, b->more_units);
        }
        json_end(&b->json, '}');
        b->in_job = false;
}

// The last part has what is true of all of them.
static int begin(HttpBody *b) {
        Json *j = &b->json;
        int r;

        if (b->parts->n == 0)
                return -EBADMSG;
        b->part = b->parts->n - 1;
        r = unpack(b);
        if (r < 0)
                return r;
        json_begin(j, '{');
        if (http_target_writes(&b->target) && b->target.resource != HTTP_VERIFY)
                write_job(j, b->response);
        else
                write_age(j, b->response);
        if (*b->response->message)
                json_strings(j, (const char *const[][2]){{"message", b->response->message}}, 1);
        write_next(b);
        if (b->response->what_case == ARGOSY__RESPONSE__WHAT_QUEUE && !http_target_writes(&b->target))
                queue_json(b->response->queue, j);
        if (b->response->what_case == ARGOSY__RESPONSE__WHAT_ACCESS)
                write_own(b->response->access, j);
        json_key(j, rows_of(b->target.resource, NULL).key);
        json_begin(j, '[');
        b->more_units = job_of(b->response) ? job_of(b->response)->more_units : 0;
        if (b->parts->n > 1) {
                message_free(b->response);
                b->response = NULL;
        }
        b->part = 0;
        b->stage = BODY_ROWS;
        return b->target.resource == HTTP_JOB ? begin_job(b) : 0;
}

// A leader may be of a version that looks at less.
static bool is_wanted(const HttpTarget *t, const void *row) {
        switch (t->resource) {
        case HTTP_UNITS:
                return http_target_wants(t, row);
        case HTTP_UNIT_FILES:
                return http_target_wants_file(t, row);
        case HTTP_NODES:
                return http_target_wants_row_of_node(t, row);
        case HTTP_HOSTS:
                return http_target_wants_host(t, row);
        default:
                return true;
        }
}

static void write_row(HttpBody *b, const Rows *rows, const void *row) {
        size_t n_fields = http_target_is_past(&b->target) ? UNIT_FILE_PAST_FIELDS : rows->n_fields;

        if (b->stage == BODY_ROWS && !is_wanted(&b->target, row))
                return;
        if (b->stage == BODY_ROWS && b->target.resource == HTTP_USAGE) {
                if (http_target_wants_node(&b->target, b->response->usage->node))
                        usage_json(row, b->response->usage->node, &b->json);
                return;
        }
        if (b->stage == BODY_ROWS && b->target.resource == HTTP_VERIFY) {
                findings_json(row, b->response->verify, &b->json);
                return;
        }
        if (rows->write) {
                rows->write(row, &b->json);
                return;
        }
        fields_json(rows->fields, n_fields, row, &b->json);
}

static int write_rows(HttpBody *b) {
        Rows rows;
        int r = unpack(b);

        if (r < 0)
                return r;
        rows = b->stage == BODY_ASIDES ? asides_of(b) : rows_of(b->target.resource, b->response);
        for (size_t i = 0; i < ROWS_PER_STEP && b->row < rows.n; i++)
                write_row(b, &rows, rows.rows[b->row++]);
        if (b->row < rows.n)
                return 0;
        message_free(b->response);
        b->response = NULL;
        b->row = 0;
        b->part++;
        return 0;
}

static int begin_asides(HttpBody *b, const char *key, HttpAside aside) {
        json_end(&b->json, ']');
        json_key(&b->json, key);
        b->parts = &b->of_asides;
        b->part = 0;
        b->stage = aside == HTTP_ASIDE_TEXT ? BODY_TEXT : BODY_ASIDES;
        if (aside == HTTP_ASIDE_TEXT)
                return write_file(b);
        json_begin(&b->json, '[');
        return 0;
}

static int step(HttpBody *b) {
        const char *key;
        HttpAside aside;
        int r = 0;

        b->json.text.len = b->given = 0;
        if (b->stage == BODY_BEGINS)
                r = begin(b);
        else if (b->part < b->parts->n)
                r = write_rows(b);
        else if (b->stage == BODY_ROWS && (key = http_body_aside(b->target.resource, &aside)))
                r = begin_asides(b, key, aside);
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
