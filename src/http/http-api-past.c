// SPDX-License-Identifier: LGPL-2.1-or-later
//
// /v1/unit-files/NAME?at=JOB: the unit file as it was when that job was done, as argosyctl cat --at finds it.
//
//      what there is now -> what jobs have changed since (http-api-changes.c) -> the text of that hash
//
// In this order: what is changed in between stands among the changes. The answer is what it is of now (http-body.c), with what is known of
// the past alone; a text that is not kept any more is null. What has not changed since is asked for as what it is now, since of that the
// rows know only the beginning of the hash.

#include <errno.h>
#include <inttypes.h>

#include "http-private.h"
#include "message.h"
#include "str.h"

enum { WHY_SIZE = 128 };

void http_past_on_now(HttpCall *call, const Argosy__Response *last) {
        const Argosy__Response__UnitFiles *files =
                last->what_case == ARGOSY__RESPONSE__WHAT_UNIT_FILES ? last->unit_files : NULL;

        call->then = (UnitThen){};
        if (files && files->n_rows == 1) {
                str_fit(call->then.rev, sizeof(call->then.rev), "%s", files->rows[0]->rev);
                str_fit(call->then.desired, sizeof(call->then.desired), "%s", files->rows[0]->desired);
        }
        http_call_drop_parts(call);
        call->step = HTTP_STEP_CHANGES;
        http_steps_read_on(call);
}

// 0, -EBUSY or -ENOMEM.
static int keep_row(HttpCall *call) {
        Argosy__Response r = ARGOSY__RESPONSE__INIT;
        Argosy__Response__UnitFiles files = ARGOSY__RESPONSE__UNIT_FILES__INIT;
        Argosy__Response__UnitFileRow row = ARGOSY__RESPONSE__UNIT_FILE_ROW__INIT, *rows[] = {&row};
        int e;

        row.unit = call->target.name;
        row.rev = call->then.rev;
        row.desired = call->then.desired;
        files.rows = rows;
        files.n_rows = 1;
        r.final = true;
        r.what_case = ARGOSY__RESPONSE__WHAT_UNIT_FILES;
        r.unit_files = &files;
        call->parts = malloc(sizeof(*call->parts));
        if (!call->parts)
                return -ENOMEM;
        e = http_part_pack(call, &r, call->parts);
        if (e < 0)
                return e;
        call->n_parts = call->n_rows = 1;
        call->n_bytes = call->parts[0].len;
        return 0;
}

void http_past_on_changes(HttpCall *call) {
        const UnitChange *u = map_find_str(&call->changes->units, call->target.name);
        char why[WHY_SIZE];
        int r;

        call->then_is_now = !u;
        if (u)
                call->then = u->before;
        if (!*call->then.rev) {
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
        call->step = HTTP_STEP_ASIDE;
        http_steps_read_on(call);
}

// Of what it is now: it may have changed since the changes were read, or be gone.
int http_past_judge(const HttpCall *call, const Argosy__Response *text) {
        char hex[HASH_HEX_SIZE];
        Hash hash;

        if (!call->then_is_now)
                return 0;
        if (text->status != 0 || text->what_case != ARGOSY__RESPONSE__WHAT_CAT)
                return -EAGAIN;
        hash = hash_of(text->cat->content.data, text->cat->content.len);
        hash_hex(&hash, HASH_SIZE, hex);
        return strncmp(hex, call->then.rev, strlen(call->then.rev)) == 0 ? 0 : -EAGAIN;
}

Argosy__Request *http_past_request(const HttpCall *call) {
        Argosy__Request q = ARGOSY__REQUEST__INIT;
        Argosy__Request__Cat cat = ARGOSY__REQUEST__CAT__INIT;
        char *name = call->target.name, *rev = (char *) call->then.rev;

        cat.names = &name;
        cat.revs = &rev;
        cat.n_names = 1;
        cat.n_revs = !call->then_is_now;
        q.what_case = ARGOSY__REQUEST__WHAT_CAT;
        q.cat = &cat;
        return message_copy(&q);
}
