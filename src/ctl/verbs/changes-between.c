// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Asks the cluster for all jobs between two moments and adds their changes up (job-changes.h).
// changes_between() -> one question after another -> *ret, which the caller ends by job_changes_done().
// Changes that the cluster does not keep any more are a warning. Failures: an exit code after its message.

#include "changes-between.h"

#include "ctl.h"

static int on_jobs(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        return job_changes_take(userdata, r);
}

static int ask_all(Ctl *ctl, JobChanges *c) {
        Argosy__Request__ListJobs list;
        Argosy__Request request;
        int code = EXIT_OK;

        while (code == EXIT_OK && job_changes_next(c, &request, &list)) {
                code = ctl_ask(ctl, &request, 0, on_jobs, c);
                if (code == EXIT_OK && !c->answered)
                        code = ctl_fail(ctl, "the answer to a question for jobs has none");
        }
        return code;
}

int changes_between(Ctl *ctl, char *unit, uint64_t since, uint64_t until, JobChanges *ret) {
        int code;

        job_changes_begin(ret, unit, since, until);
        code = ask_all(ctl, ret);
        if (code == EXIT_OK && ret->late_left_out)
                ctl_warn(ctl, "so many jobs were under way or held back then that what the first of them "
                              "have done since is left out");
        if (code == EXIT_OK && ret->late_forgotten)
                ctl_warn(ctl, "jobs that were under way or held back then have gone on since and are not "
                              "kept any more: what they did is left out");
        if (code == EXIT_OK && ret->cut)
                ctl_warn(ctl, "one of the jobs changed more units than it can name: what it did to the "
                              "others is left out");
        return code;
}
