// SPDX-License-Identifier: LGPL-2.1-or-later
//
// job wait: until jobs of any author, from any host, have ended. One after the other: each is asked
// for until the cluster's log says how it ended, over as many daemons and leaders as that takes, since
// asking again asks for the same. Units that are not as they were to be are named as `start` would, and the
// exit code is that of `start`. A job that there is not, or not any more, ends it; so does --timeout, which
// is for all together.

#include <errno.h>
#include <inttypes.h>

#include "ctl.h"
#include "fields.h"
#include "job-wait.h"
#include "message-of.h"
#include "str.h"
#include "terminal.h"
#include "verbs.h"
#include "wait-loop.h"

typedef struct JobWait {
        uint64_t number;
        uint32_t most, left; // units that have not ended: the most seen, and now
        bool ended;          // its row has come
        bool well;           // as it was to
} JobWait;

static void report_units(Ctl *ctl, const Argosy__Response__JobRow *job) {
        for (size_t i = 0; i < job->n_ends; i++) {
                const Argosy__Response__JobUnitRow *u = job->ends[i];

                ctl_fail(ctl, "%s %s%s%s: %s%s%s", job->verb, u->unit, *u->node ? " on " : "", u->node,
                         u->end, *u->end_message ? ", " : "", u->end_message);
        }
}

static int report(Ctl *ctl, JobWait *w, const Argosy__Response__JobRow *job) {
        _cleanup_buf_ Buf buf = {};
        _cleanup_free_ char *state = NULL;

        if (job_state_append(job, &buf) < 0 || !(state = buf_take_string(&buf)))
                return -ENOMEM;
        w->ended = true;
        w->well = streq(job->state, "done") || !*job->state;
        progress_clear(&ctl->term);
        fflush(ctl->term.out);
        if (!w->well) {
                report_units(ctl, job);
                ctl_fail(ctl, "job %" PRIu64 ": %s", job->job, state);
        } else if (!*job->state)
                ctl_warn(ctl, "job %" PRIu64 ": %s", job->job, state);
        else if (ctl->opt.given[OPT_VERBOSE])
                fprintf(ctl->term.out, "job %" PRIu64 ": %s\n", job->job, state);
        return 0;
}

static int wait_take(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        JobWait *w = userdata;

        if (r->status != 0)
                return 0;
        if (r->what_case == ARGOSY__RESPONSE__WHAT_JOBS && r->jobs->n_rows == 1)
                return report(ctl, w, r->jobs->rows[0]);
        if (r->what_case != ARGOSY__RESPONSE__WHAT_PROGRESS)
                return 0;
        w->left = r->progress->remaining;
        w->most = MAX_OF(w->most, w->left);
        return WAIT_NEWS;
}

static void wait_count(const void *userdata, ProgressState *ret) {
        const JobWait *w = userdata;

        *ret = (ProgressState){.verb = "job wait", .done = w->most - w->left, .total = w->most};
}

static WaitStep wait_judge(Ctl *ctl, const WaitEnd *end, void *userdata) {
        const JobWait *w = userdata;

        return w->ended ? WAIT_FINISHED : wait_end_step(end);
}

static int wait_detach(const WaitEnd *end, const void *userdata, Buf *text) {
        const JobWait *w = userdata;

        return buf_printf(
                text, "job %" PRIu64 " is left as it is (argosyctl job wait %" PRIu64 " waits for it again)",
                w->number, w->number);
}

static int wait_leave(Ctl *ctl, const WaitEnd *end, void *userdata) {
        const JobWait *w = userdata;

        if (end->error == 0 && end->status == 0)
                return ctl_fail(ctl, "argosyd stopped reporting about job %" PRIu64, w->number);
        if (end->error == 0 && !end->no_leader)
                return ctl_fail(ctl, "%s", end->message);
        // It may be held back, have ended since, or not exist.
        return ctl_fail(ctl,
                        "job %" PRIu64 ": %s; its end was not seen (see argosyctl job show %" PRIu64 ")",
                        w->number, wait_loop_reason(ctl, end), w->number);
}

static const WaitKind job_wait = {
        .flags = CALL_NOTE,
        .take = wait_take,
        .count = wait_count,
        .judge = wait_judge,
        .detach = wait_detach,
        .leave = wait_leave,
};

static int wait_for(Ctl *ctl, uint64_t number, bool *ret_well) {
        Argosy__Request__JobWait wait = MESSAGE_OF(request__job_wait, .number = number);
        Argosy__Request request = REQUEST_OF(JOB_WAIT, job_wait, &wait);
        JobWait w = {.number = number};
        int code;

        code = wait_loop_run(ctl, &job_wait, &request, &w);
        *ret_well = w.well;
        return code;
}

static bool is_number(const char *word, uint64_t *ret) {
        return parse_u64(word, INT64_MAX, ret) && *ret > 0;
}

int jobs_wait(Ctl *ctl, const uint64_t *numbers, size_t n) {
        bool all_well = true;
        int code = EXIT_OK;

        ctl_catch_interrupt(ctl);
        for (size_t i = 0; i < n && code == EXIT_OK; i++) {
                bool well = false;

                code = wait_for(ctl, numbers[i], &well);
                all_well &= well;
        }
        return code == EXIT_OK && !all_well ? EXIT_FAILED : code;
}

int verb_job_wait(Ctl *ctl, char **args, size_t n) {
        _cleanup_free_ uint64_t *numbers = calloc(n, sizeof(*numbers));

        if (!numbers)
                return ctl_oom(ctl);
        for (size_t i = 0; i < n; i++)
                if (!is_number(args[i], &numbers[i]))
                        return ctl_usage(ctl, "'%s' is not the number of a job", args[i]);
        return jobs_wait(ctl, numbers, n);
}
