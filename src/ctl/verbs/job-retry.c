// SPDX-License-Identifier: LGPL-2.1-or-later
//
// job retry: asks again for the units of a job that did not end well. How each ended is fixed once the job
// is over, so what is asked for is the same whenever it is, and --key makes it one job. Then it goes as the
// verb itself does, with its waiting, its rights and the rules of the queue.
//
// What is no verb of units, is not over, or has nothing to be asked for again, is refused in a sentence
// (job-retry.h). A unit that is not there any more is the leader's to refuse.

#include "job-retry.h"

#include <errno.h>
#include <inttypes.h>

#include "change.h"
#include "ctl-jobs.h"
#include "ctl.h"
#include "str.h"
#include "verbs.h"

static int on_job(Ctl *ctl, const Argosy__Response *response, void *userdata) {
        return job_retry_take(userdata, response);
}

static int read_job(Ctl *ctl, JobRetry *r) {
        Argosy__Request__ListJobs list;
        Argosy__Request request;
        int code = EXIT_OK;

        while (code == EXIT_OK && job_retry_next(r, &request, &list)) {
                code = ctl_ask(ctl, &request, 0, on_job, r);
                if (code == EXIT_OK && !r->answered)
                        break; // it is judged as one of which nothing is said
        }
        return code;
}

static int retry(Ctl *ctl, uint64_t number) {
        _cleanup_(job_retry_done) JobRetry r = {};
        char why[JOB_RETRY_WHY_SIZE];
        Argosy__Verb verb;
        int code, e;

        job_retry_begin(&r, number);
        code = read_job(ctl, &r);
        if (code != EXIT_OK)
                return code;
        e = job_retry_judge(&r, &verb, why);
        if (e == -EINVAL)
                return ctl_fail(ctl, "%s", why);
        if (e < 0 || ctl_jobs_retry(ctl, number, r.bad.names, r.bad.n) < 0)
                return ctl_oom(ctl);
        return change_again(ctl, verb, r.bad.names, r.bad.n);
}

int verb_job_retry(Ctl *ctl, char **words, size_t n) {
        int code = EXIT_OK;

        for (size_t i = 0; i < n && (code == EXIT_OK || code == CTL_HELD); i++) {
                uint64_t number;
                int one;

                if (!parse_u64(words[i], INT64_MAX, &number) || number == 0)
                        return ctl_usage(ctl, "'%s' is not the number of a job", words[i]);
                one = retry(ctl, number);
                code = one == EXIT_OK ? code : one;
        }
        return code;
}
