// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The answer to POST /v1/bulk: one JSON line per operation, as the operation alone would have been answered:
//
//      {"line":3,"status":202,"job":17,"cursor":"...","units":[...]}     or the members of a problem
//
//      steps that were carried out -> read_step() -> write_operation() per operation
//          -> the text, which the caller frees
//
// With ?wait= a line has the state in which its job has ended, and how each unit ended that did not end
// well. Failure: NULL without memory, or if a part is no response. An operation that was never asked for is
// a 503 problem.

#include <errno.h>
#include <string.h>

#include "array.h"
#include "http-bulk.h"
#include "http-problem.h"
#include "json.h"
#include "map.h"
#include "message.h"
#include "row-fields.h"

// The unpacked responses to one step.
typedef struct Answer {
        const HttpBulkStep *step; // NULL: none yet
        Argosy__Response **responses;
        size_t n_responses;
        const Argosy__Response__UnitResult **units;
        size_t n_units;
        Argosy__Response *ended;
        const Argosy__Response__JobRow *row; // of the job, if it has ended
        Map ends;                            // of this row, by unit
} Answer;

static void answer_done(Answer *a) {
        for (size_t i = 0; i < a->n_responses; i++)
                message_free(a->responses[i]);
        message_free(a->ended);
        map_done(&a->ends);
        free(a->responses);
        free(a->units);
        *a = (Answer){};
}

static int read_part(Answer *a, const HttpPart *p) {
        Argosy__Response *r;
        int e = message_unpack(&argosy__response__descriptor, p->data, p->len, (void **) &r);

        if (e < 0)
                return e;
        a->responses[a->n_responses++] = r;
        for (size_t i = 0; r->what_case == ARGOSY__RESPONSE__WHAT_CHANGE && i < r->change->n_units; i++)
                a->units[a->n_units++] = r->change->units[i];
        return 0;
}

static int read_end(Answer *a, const HttpPart *p) {
        int r = p->data ? message_unpack(&argosy__response__descriptor, p->data, p->len, (void **) &a->ended)
                        : 0;

        if (r < 0 || !p->data || a->ended->what_case != ARGOSY__RESPONSE__WHAT_JOBS ||
            a->ended->jobs->n_rows != 1)
                return r;
        a->row = a->ended->jobs->rows[0];
        for (size_t i = 0; i < a->row->n_ends; i++) {
                r = map_add_str(&a->ends, a->row->ends[i]->unit, a->row->ends[i]);
                if (r < 0 && r != -EEXIST)
                        return r;
        }
        return 0;
}

static int read_step(Answer *a, const HttpBulkStep *s) {
        int r = 0;

        answer_done(a);
        a->step = s;
        a->responses = calloc(s->n_parts + 1, sizeof(*a->responses));
        a->units = calloc(s->n_units + 1, sizeof(*a->units));
        if (!a->responses || !a->units)
                return -ENOMEM;
        for (size_t i = 0; i < s->n_parts && r == 0; i++)
                r = read_part(a, &s->parts[i]);
        return r < 0 ? r : read_end(a, &s->end);
}

// ---- a line

static void write_unit(const Answer *a, const Argosy__Response__UnitResult *u, Json *j) {
        const Argosy__Response__JobUnitRow *bad = map_find_str(&a->ends, u->name);

        json_begin(j, '{');
        for (size_t i = 0; i < UNIT_RESULT_FIELDS; i++)
                field_json(&unit_result_fields[i], u, j);
        if (bad)
                json_strings(j,
                             (const char *const[][2]){{"end", bad->end}, {"end_message", bad->end_message}},
                             2);
        json_end(j, '}');
}

static void write_job(const Answer *a, unsigned status, Json *j) {
        const HttpBulkStep *s = a->step;

        json_member_u64(j, "status", status);
        json_key(j, "job");
        if (s->job > 0)
                json_u64(j, s->job);
        else
                json_null(j);
        if (a->row)
                json_strings(j, (const char *const[][2]){{"state", a->row->state}}, 1);
        if (*s->cursor)
                json_strings(j, (const char *const[][2]){{"cursor", s->cursor}}, 1);
        if (s->held) {
                json_member_bool(j, "held", true);
        }
        if (s->message && *s->message)
                json_strings(j, (const char *const[][2]){{"message", s->message}}, 1);
}

static void write_problem(int error, const char *detail, const Argosy__Response__UnitResult *u, Json *j) {
        HttpProblem problem = {.status = http_status_of(error), .detail = detail};

        if (u) {
                problem.unit = u->name;
                problem.node = *u->node ? u->node : NULL;
        }
        http_problem_members(&problem, j);
}

static const char *text_of(int error, const char *message) {
        return message && *message ? message : strerror(error);
}

// The first of these units if all of them were refused, whose reason is the operation's; else NULL. A unit
// that was accepted and ended badly was not refused.
static const Argosy__Response__UnitResult *find_refusal(const Answer *a, size_t first, size_t n) {
        for (size_t i = first; i < first + n; i++)
                if (a->units[i]->status == 0 || a->units[i]->repeated)
                        return NULL;
        return n > 0 ? a->units[first] : NULL;
}

// Writes the line of one operation; one without unit names has all units of its step.
static void write_operation(const Answer *a, const HttpOperation *o, Json *j) {
        const HttpBulkStep *s = a->step;
        size_t first = MIN_OF(o->first, a->n_units),
               n = s->n_names > 0 ? MIN_OF(o->n_names, a->n_units - first) : a->n_units;
        const Argosy__Response__UnitResult *refusal = find_refusal(a, first, n);

        json_begin(j, '{');
        json_member_u64(j, "line", o->line);
        if (!s->answered)
                write_problem(
                        EAGAIN,
                        "this was not asked for any more: to what stands before it there was no answer",
                        NULL, j);
        else if (s->status != 0)
                write_problem(s->status, text_of(s->status, s->message), NULL, j);
        else if (refusal)
                write_problem(refusal->status, text_of(refusal->status, refusal->message), refusal, j);
        else {
                write_job(a, s->job > 0 && !a->row ? 202 : 200, j);
                json_member_begin(j, "units", '[');
                for (size_t i = first; i < first + n; i++)
                        write_unit(a, a->units[i], j);
                json_end(j, ']');
        }
        json_end(j, '}');
        json_finish(j);
        j->used[0] = false; // no comma between lines
}

char *http_bulk_answer(const HttpBulk *b, size_t *ret_len) {
        Answer a = {};
        Json j = {};
        char *text = NULL;
        int r = 0;

        for (size_t i = 0; i < b->n_operations && r == 0; i++) {
                const HttpOperation *o = &b->operations[i];

                if (a.step != &b->steps[o->step])
                        r = read_step(&a, &b->steps[o->step]);
                if (r == 0)
                        write_operation(&a, o, &j);
        }
        answer_done(&a);
        *ret_len = j.text.len;
        if (r == 0 && !j.failed)
                text = buf_take_string(&j.text);
        json_done(&j);
        return text;
}
