// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Check of the cursor of an answer: who reads events from there is told of the change that was answered.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "checks-private.h"
#include "event-asks.h"
#include "test.h"

enum { CURSOR_BYTES = 65536, CURSOR_ANSWERS = 64 };

static size_t looked; // requests that were looked at

void cursors_begin(void) {
        looked = 0;
}

// The newest change that was carried out, of those that came since the last look.
static const Argosy__Response *find_change(uint64_t *ret_job) {
        size_t since = looked;

        looked = asks.n_asked;
        for (size_t i = asks.n_asked; i > since; i--) {
                const WorldAsked *a = &asks.asked[i - 1];
                const Argosy__Response *r = a->answer ? asks_last_response(a) : NULL;

                *ret_job = r ? asks.port->job(a) : 0;
                if (r && r->final && r->status == 0 && !r->held && *r->cursor && !a->again_of &&
                    *ret_job >= log_truth.first_job && *ret_job <= log_truth.n_jobs &&
                    log_truth.jobs[*ret_job] && log_truth.jobs[*ret_job]->entry > a->asked_at)
                        return r;
        }
        return NULL;
}

// False: there is no room for him, or nobody leads.
static bool pull(Asked *asked) {
        enum { TURNS = 40 };

        asked_ask(&world.rig, asked);
        for (unsigned i = 0; i < TURNS && !asked->answered; i++)
                rig_turn(&world.rig);
        asked_cancel(&world.rig, asked);
        return asked->answered && asked->status == 0;
}

// He is told of the job, or that jobs are told anew: of these the leader keeps the newest, and the next one
// only those that its voter has seen. Who asks for jobs alone is not told that, so he asks for words, too.
static bool is_told(Asked *asked, uint64_t job) {
        char name[24];

        snprintf(name, sizeof(name), "%" PRIu64, job);
        for (unsigned i = 0; i < CURSOR_ANSWERS; i++) {
                if (!pull(asked))
                        return asked->status != EINVAL; // a cursor that the leader has given is one
                for (size_t k = 0; k < asked->n; k++)
                        if (event_begins(asked->events[k], ARGOSY__EVENT_KIND__EVENT_JOB))
                                return true;
                if (asked_find(asked, ARGOSY__EVENT_KIND__EVENT_JOB, name))
                        return true;
                if (asked->all)
                        return false;
        }
        return true; // there is more than is read here
}

void cursors_on_settled(void) {
        Draw d = draw_from(world.plan.chance ^ UINT64_C(0x637572736f72) ^ asks.n_asked);
        uint64_t job;
        const Argosy__Response *r = draw_one_in(&d, 3) ? find_change(&job) : NULL;
        Asked asked = {.no_wait = true,
                       .kind = ARGOSY__EVENT_KIND__EVENT_JOB,
                       .words = true,
                       .max_bytes = CURSOR_BYTES};

        if (!r || strlen(r->cursor) >= sizeof(asked.cursor))
                return;
        check_says("cursors-miss-nothing");
        strcpy(asked.cursor, r->cursor);
        if (!is_told(&asked, job))
                check_fail("cursors-miss-nothing",
                           "who reads from the answer's cursor is not told of job %" PRIu64, job);
        asked_forget(&asked);
}
