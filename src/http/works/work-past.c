// SPDX-License-Identifier: LGPL-2.1-or-later
//
// /v1/unit-files/NAME?at=JOB: the unit file as it was when that job was done, as argosyctl cat --at finds
// it.
//
//      what there is now -> what jobs have changed since (work-changes.c) -> the text of that hash
//
// In this order: what is changed in between stands among the changes. The answer is what it is of now
// (http-body.c), with what is known of the past alone; a text that is not kept any more is null. What has
// not changed since is asked for as what it is now, since of that the rows know only the beginning of the
// hash.

#include "work-past.h"

#include <errno.h>
#include <inttypes.h>

#include "message-of.h"
#include "message.h"
#include "str.h"
#include "work-changes.h"
#include "work-pieces.h"

enum { WHY_SIZE = 128 };

static void note_now(HttpCall *call, const Argosy__Response *last) {
        const Argosy__Response__UnitFiles *files =
                last->what_case == ARGOSY__RESPONSE__WHAT_UNIT_FILES ? last->unit_files : NULL;

        call->rows.then = (UnitThen){};
        if (files && files->n_rows == 1) {
                str_fit(call->rows.then.rev, sizeof(call->rows.then.rev), "%s", files->rows[0]->rev);
                str_fit(call->rows.then.desired, sizeof(call->rows.then.desired), "%s",
                        files->rows[0]->desired);
        }
}

static void respond_now(HttpCall *call, const Argosy__Response *response) {
        if (response->status != 0) {
                http_call_fail(call, response->status, response->message);
                return;
        }
        if (!response->final)
                return;
        note_now(call, response);
        http_call_next(call, call->author);
}

const HttpStep http_past_now_step = {.request = http_call_request, .respond = respond_now};

// As http_call_keep().
static int keep_row(HttpCall *call) {
        Argosy__Response__UnitFiles files = ARGOSY__RESPONSE__UNIT_FILES__INIT;
        Argosy__Response r = RESPONSE_OF(UNIT_FILES, unit_files, &files);
        Argosy__Response__UnitFileRow row = ARGOSY__RESPONSE__UNIT_FILE_ROW__INIT, *rows[] = {&row};
        int e;

        row.unit = call->target.name;
        row.rev = call->rows.then.rev;
        row.desired = call->rows.then.desired;
        files.rows = rows;
        files.n_rows = 1;
        r.final = true;
        e = http_call_keep(call, &r);
        if (e == 0)
                call->rows.n_rows = 1;
        return e;
}

static void respond_changes(HttpCall *call, const Argosy__Response *response) {
        const UnitChange *u;
        char why[WHY_SIZE];
        int r;

        if (!http_changes_read(call, response))
                return;
        u = map_find_str(&call->rows.changes->units, call->target.name);
        call->rows.then_is_now = !u;
        if (u)
                call->rows.then = u->before;
        if (!*call->rows.then.rev) {
                str_fit(why, sizeof(why), "there was no such unit when job %" PRIu64 " was done",
                        call->target.job);
                http_call_fail(call, ENOENT, why);
                return;
        }
        r = keep_row(call);
        if (r < 0) {
                http_call_fail(call, -r, http_why_not_kept(-r));
                return;
        }
        http_call_next(call, call->author);
}

const HttpStep http_past_changes_step = {.request = http_changes_request, .respond = respond_changes};

// Judges the present content: it may have changed since the changes were read, or be gone.
static int judge(const HttpCall *call, const Argosy__Response *text) {
        char hex[HASH_HEX_SIZE];
        Hash hash;

        if (!call->rows.then_is_now)
                return 0;
        if (text->status != 0 || text->what_case != ARGOSY__RESPONSE__WHAT_CAT)
                return -EAGAIN;
        hash = hash_of(text->cat->content.data, text->cat->content.len);
        hash_hex(&hash, HASH_SIZE, hex);
        return strncmp(hex, call->rows.then.rev, strlen(call->rows.then.rev)) == 0 ? 0 : -EAGAIN;
}

static Argosy__Request *request_text(HttpCall *call) {
        Argosy__Request__Cat cat = ARGOSY__REQUEST__CAT__INIT;
        Argosy__Request q = REQUEST_OF(CAT, cat, &cat);
        char *name = call->target.name, *rev = (char *) call->rows.then.rev;

        cat.names = &name;
        cat.revs = &rev;
        cat.n_names = 1;
        cat.n_revs = !call->rows.then_is_now;
        return message_copy(&q);
}

static int take_text(HttpCall *call, const Argosy__Response *r) {
        if (r->final && judge(call, r) < 0)
                return -EAGAIN;
        if (r->status != 0 || r->what_case != ARGOSY__RESPONSE__WHAT_CAT)
                return 0;
        http_asides_drop(call);
        return http_asides_keep(call, r);
}

static void respond_text(HttpCall *call, const Argosy__Response *response) {
        if (call->status == 0)
                http_call_set_status(call, -take_text(call, response));
        if (!response->final)
                return;
        if (call->status == EAGAIN)
                http_call_fail(call, EAGAIN, "the unit was changed in the middle: ask again");
        else
                http_asides_end(call, response);
}

const HttpStep http_past_text_step = {.request = request_text, .respond = respond_text};
