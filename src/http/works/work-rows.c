// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is answered with rows, and what asks for a change. Most calls ask once; the order of steps of the
// others is chosen in one place (choose_steps()):
//
//      of one thing       what stands behind its rows (work-pieces.c), then the rows: so these are no older
//      a unit file ?at=   what there is now, what jobs have changed since, and the text (work-past.c)
//      job retry          what became of the job's units (work-retry.c), then the change
//      ?wait=             then, until the job has ended or the time is over; and what became of it, or how
// far it is
//      usage, verify      piece by piece (work-pieces.c)
//
// A job of thousands of units comes in several answers, each of which is asked for. A list whose leader went
// away in the middle begins again with its first part; nothing of it was sent by then. So the status that is
// answered is true of the whole.

#include "work-rows.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "macro.h"
#include "message-of.h"
#include "message.h"
#include "work-changes.h"
#include "work-past.h"
#include "work-pieces.h"
#include "work-retry.h"
#include "work-rows-answer.h"

// Where the rows of this response stand in the list, and how many there are.
static size_t count_rows(const Argosy__Response *r, size_t *ret_first) {
        *ret_first = 0;
        switch (r->what_case) {
        case ARGOSY__RESPONSE__WHAT_UNITS:
                *ret_first = r->units->first;
                return r->units->n_rows;
        case ARGOSY__RESPONSE__WHAT_UNIT_FILES:
                *ret_first = r->unit_files->first;
                return r->unit_files->n_rows;
        case ARGOSY__RESPONSE__WHAT_NODES:
                return r->nodes->n_rows;
        case ARGOSY__RESPONSE__WHAT_JOBS:
                return r->jobs->n_rows;
        case ARGOSY__RESPONSE__WHAT_CHANGE:
                *ret_first = r->change->first;
                return r->change->n_units;
        default:
                return 0;
        }
}

// 0, -EAGAIN: one before it is missing, or as http_part_pack().
static int keep_part(HttpCall *call, const Argosy__Response *response, size_t first, size_t n_rows) {
        int r;

        if (first != call->rows.n_rows)
                return -EAGAIN;
        r = http_call_keep(call, response);
        if (r == 0)
                call->rows.n_rows += n_rows;
        return r;
}

static void http_rows_drop(HttpCall *call) {
        http_call_drop_parts(call);
        call->rows.n_rows = call->rows.n_refused = 0;
}

// A file's line, if that is what a message about it begins with: "web.service:3: ...".
static unsigned line_of(const char *message, const char *unit) {
        size_t len = strlen(unit);
        unsigned line = 0;

        if (strncmp(message, unit, len) != 0 || message[len] != ':')
                return 0;
        return sscanf(message + len, ":%8u:", &line) == 1 ? line : 0;
}

// Notes the results. If nothing of a change was done, the call fails with the first reason.
static void note_results(HttpCall *call, const Argosy__Response *r) {
        for (size_t i = 0; r->what_case == ARGOSY__RESPONSE__WHAT_CHANGE && i < r->change->n_units; i++) {
                const Argosy__Response__UnitResult *u = r->change->units[i];

                if (u->status == 0 ||
                    u->repeated) // it was taken when it was asked for first, whatever has become of it
                        continue;
                if (call->rows.n_refused++ > 0)
                        continue;
                free(call->rows.unit);
                free(call->rows.node);
                http_call_set_message(call, strdup(u->message));
                call->rows.unit = strdup(u->name);
                call->rows.node = *u->node ? strdup(u->node) : NULL;
                call->rows.refusal = u->status;
                call->rows.line = line_of(u->message, u->name);
        }
}

// Without memory for it the list has none.
static void note_tag(HttpCall *call, const Argosy__Response *last) {
        if (!http_target_is(&call->target, HTTP_IS_TAGGED) || !*last->tag)
                return;
        free(call->rows.tag);
        call->rows.tag = strdup(last->tag);
        call->rows.unchanged = last->unchanged && call->rows.tag;
}

// What became of the units behind those that have come. True: it is asked for, or the client has gone.
static bool asks_for_more_units(HttpCall *call, const Argosy__Response *last) {
        const Argosy__Response__JobRow *job =
                http_target_is(&call->target, HTTP_IS_JOB) ? http_resource_job(last) : NULL;

        if (!job || job->n_units == 0 || job->more_units == 0 ||
            (call->target.resource == HTTP_JOB &&
             call->target.first_unit + job->n_units >= HTTP_JOB_UNITS_MAX))
                return false;
        http_call_skip_units(call, job->n_units);
        call->rows.no_leader = last->no_leader;
        if (http_peer_is_gone(call->peer))
                http_call_fail(call, ECONNRESET, "its client has gone");
        else
                http_call_ask(call, call->step, call->author);
        return true;
}

// The job was accepted as a whole; its end is asked for with the job's author.
static bool waits_for_job(HttpCall *call, const Argosy__Response *last) {
        if (call->step != &http_rows_step)
                return false;
        http_api_release_body(call); // what was made of it was carried out
        call->rows.job = http_target_is(&call->target, HTTP_IS_WRITTEN) ? last->job : 0;
        if (call->rows.job == 0 || call->target.wait_sec == 0)
                return false;
        http_call_show_job(call, call->rows.job);
        http_rows_drop(call);
        return true;
}

static void end(HttpCall *call, const Argosy__Response *last) {
        HttpRowsCall *rows = &call->rows;

        note_tag(call, last);
        if (call->status != 0)
                http_call_fail(call, call->status, http_why_not_kept(call->status));
        else if (rows->n_refused > 0 && rows->n_refused == rows->n_rows) {
                http_rows_drop(call);
                http_call_set_status(call, rows->refusal);
                http_call_give_back(call);
        } else if (asks_for_more_units(call, last))
                return;
        else if (waits_for_job(call, last)) {
                if (http_rows_wait_for(call))
                        http_call_next(call, call->author);
        } else if (!http_target_is(&call->target, HTTP_IS_ONE) || rows->n_rows + rows->n_asides > 0)
                http_call_give_back(call);
        else if (last->no_leader)
                http_call_fail(call, EHOSTUNREACH,
                               "no leader can be reached, and this host knows of no such thing");
        else
                http_call_fail(call, ENOENT, "there is no such thing, or you may not see it");
}

// Responses come to the end also when the first ones could not be kept: they cannot be stopped from here.
static void respond(HttpCall *call, const Argosy__Response *response) {
        size_t first, n = count_rows(response, &first);
        bool goes_on = call->target.first_unit > 0; // with a job whose first units have come

        if (response->status != 0) {
                http_call_fail(call, response->status, response->message);
                return;
        }
        if (first == 0 && !goes_on) {
                http_rows_drop(call);
                http_call_set_status(call, 0);
        }
        if (goes_on && response->no_leader != call->rows.no_leader)
                http_call_set_status(call, EAGAIN);
        if (call->status == 0)
                http_call_set_status(call,
                                     -keep_part(call, response, goes_on ? call->rows.n_rows : first, n));
        if (call->status != 0)
                http_rows_drop(call);
        else
                note_results(call, response);
        if (response->final)
                end(call, response);
}

const HttpStep http_rows_step = {.request = http_call_request, .respond = respond};

// ---- until its job has ended

Argosy__Request *http_rows_ask_for_end(uint64_t job) {
        Argosy__Request__JobWait m = MESSAGE_OF(request__job_wait, .number = job);
        Argosy__Request q = REQUEST_OF(JOB_WAIT, job_wait, &m);

        return message_copy(&q);
}

bool http_rows_wait_for(HttpCall *call) {
        return http_call_set_deadline(call, http_api_now_us(call->api) +
                                                    call->target.wait_sec * (uint64_t) USEC_PER_SEC);
}

static Argosy__Request *request_end(HttpCall *call) {
        return http_rows_ask_for_end(call->target.job);
}

static void show_job(HttpCall *call) {
        call->rows.waited = true;
        http_call_clear_deadline(call);
        http_call_next(call, call->author);
}

// What it says while it lasts the end says, too.
static void respond_end(HttpCall *call, const Argosy__Response *response) {
        if (response->status != 0)
                http_call_fail(call, response->status, response->message);
        else if (response->final)
                show_job(call);
}

// The wait for the job is over: shows what is known of it.
static void on_waited(HttpCall *call) {
        http_call_off(call);
        call->rows.under_way = true;
        show_job(call);
}

const HttpStep http_rows_wait_step = {.request = request_end, .respond = respond_end, .on_due = on_waited};
const HttpStep http_rows_job_step = {.request = http_call_request, .respond = respond};

// ---- the order of steps

static void choose_steps(HttpCall *call) {
        const HttpTarget *t = &call->target;
        const HttpStep **next = call->steps;

        if (http_target_is_past(t)) {
                *next++ = &http_past_now_step;
                *next++ = &http_past_changes_step;
                *next++ = &http_past_text_step;
                return;
        }
        if (http_retry_is_asked(call))
                *next++ = &http_retry_step;
        if (http_target_has_aside(t))
                *next++ = &http_aside_step;
        if (http_resource(t->resource)->aside == HTTP_ASIDE_ERRORS)
                *next++ = &http_pieces_step;
        else if (!(http_target_is(t, HTTP_IS_JOB) && t->wait_sec > 0))
                *next++ = &http_rows_step;
        if (t->wait_sec == 0)
                return;
        *next++ = &http_rows_wait_step;
        *next++ = &http_rows_job_step;
}

// A job that is waited for has its time from the beginning, one that is made from when it is.
void http_rows_begin(HttpCall *call, const Argosy__Author *author) {
        const HttpStep *first;

        choose_steps(call);
        first = call->steps[0];
        if ((call->steps[1] || first->is_repeated || http_target_is(&call->target, HTTP_IS_JOB)) &&
            !http_call_keep_author(call, author))
                return;
        if (first == &http_rows_wait_step && !http_rows_wait_for(call))
                return;
        http_call_next(call, author);
}

bool http_rows_fail(HttpCall *call, int status, const char *message) {
        http_rows_drop(call);
        http_asides_drop(call);
        return false;
}

static bool may_be_done(const HttpCall *call) {
        return call->step == &http_rows_step && !call->request;
}

void http_rows_done(HttpCall *call) {
        HttpRowsCall *rows = &call->rows;

        http_asides_drop(call);
        http_retry_drop(call);
        http_changes_drop(call);
        free(rows->tag);
        free(rows->unit);
        free(rows->node);
}

const HttpWork http_rows_work = {.begin = http_rows_begin,
                                 .fail = http_rows_fail,
                                 .may_be_done = may_be_done,
                                 .send = http_rows_send,
                                 .done = http_rows_done};
