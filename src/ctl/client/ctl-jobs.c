// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Every request that changes the cluster is a job there. What the person named goes with it as it was typed,
// with
// --reason and --key, and an id by which the cluster knows it when it comes again.
//
// With --key the id is made of that, and of how many such requests of this run came before: so a command
// that is given again with the same key sends the same ids in the same order, from whichever host. Without
// one it is random.

#include <errno.h>
#include <inttypes.h>

#include "array.h"
#include "clock.h"
#include "ctl-jobs.h"
#include "json.h"
#include "random.h"
#include "request-key.h"
#include "request-kind.h"
#include "str.h"

// ---- what was typed

int ctl_jobs_init(Ctl *ctl) {
        if (!ctl->opt.verb || !verb_takes(ctl->opt.verb, OPT_KEY))
                return 0;
        ctl->n_targets = ctl->opt.n_args;
        for (; ctl->n_words < CTL_WORDS_MAX && ctl->n_words < ctl->opt.n_args; ctl->n_words++) {
                ctl->words[ctl->n_words] = strdup(ctl->opt.args[ctl->n_words]);
                if (!ctl->words[ctl->n_words])
                        return -ENOMEM;
        }
        return 0;
}

int ctl_jobs_retry(Ctl *ctl, uint64_t job, char **names, size_t n) {
        while (ctl->n_words > 0)
                free(ctl->words[--ctl->n_words]);
        ctl->retries = job;
        ctl->n_targets = n;
        for (; ctl->n_words < CTL_WORDS_MAX && ctl->n_words < n; ctl->n_words++) {
                ctl->words[ctl->n_words] = strdup(names[ctl->n_words]);
                if (!ctl->words[ctl->n_words])
                        return -ENOMEM;
        }
        return 0;
}

int ctl_job_note_held(Ctl *ctl, const Argosy__Response *r) {
        if (ARRAY_RESERVE(ctl->held, ctl->n_held + 1) < 0)
                return -ENOMEM;
        ctl->held[ctl->n_held++] = r->job;
        return 0;
}

void ctl_job_json_held(Json *j, const Argosy__Response *r) {
        json_begin(j, '{');
        json_member_u64(j, "job", r->job);
        json_member_bool(j, "held", true);
        json_member_string(j, "message", r->message);
        json_end(j, '}');
}

void ctl_jobs_done(Ctl *ctl) {
        free(ctl->held);
        while (ctl->n_words > 0)
                free(ctl->words[--ctl->n_words]);
}

// Whether the request keeps the reason itself: a node's reason is shown where it refuses units.
static bool keeps_reason_itself(const Verb *verb) {
        return streq(verb->name, "cordon") || streq(verb->name, "drain") || streq(verb->name, "maintenance");
}

int ctl_jobs_check(Ctl *ctl) {
        static const Option of_jobs[] = {OPT_KEY, OPT_IF_REVISION, OPTIONS_HELD};
        bool needs_job = ctl->opt.given[OPT_REASON] && !keeps_reason_itself(ctl->opt.verb);

        for (size_t i = 0; i < ELEMENTSOF(of_jobs); i++)
                needs_job |= ctl->opt.given[of_jobs[i]];
        if (!needs_job)
                return EXIT_OK;
        if (ctl->opt.given[OPT_LOCAL])
                return ctl_usage(ctl,
                                 "with --local units are stopped without the cluster, which keeps no job of "
                                 "that: it does "
                                 "not go with --reason, --key, --if-revision, --hold, --after or --queue");
        if (ctl->opt.given[OPT_FORCE] && streq(ctl->opt.verb->name, "cluster leave"))
                return ctl_usage(ctl, "with --force a host leaves without the cluster, which keeps no job "
                                      "of that: it does not go "
                                      "with --reason or --if-revision");
        return EXIT_OK;
}

// ---- ids

void ctl_request_id(Ctl *ctl, uint8_t ret[REQUEST_ID_SIZE]) {
        static_assert((size_t) REQUEST_ID_SIZE == REQUEST_KEY_ID_SIZE, "an id is what is made of a key");
        if (ctl->opt.key)
                request_key_id(ctl->opt.key, ctl->n_ids++, ret);
        else
                random_bytes(ret, REQUEST_ID_SIZE);
}

// ---- requests

// What this host asks the leader for on our behalf goes there with what is said of the job.
static bool is_job(const Argosy__Request *request) {
        const RequestKind *kind = request_kind(request->what_case);

        if (request->what_case == ARGOSY__REQUEST__WHAT_CLUSTER_LEAVE)
                return !request->cluster_leave->force;
        return kind && kind->by == REQUEST_BY_LEADER && kind->effect == REQUEST_CHANGES;
}

static bool has_own_id(const Argosy__Request *request) {
        return request->what_case == ARGOSY__REQUEST__WHAT_CHANGE ||
               request->what_case == ARGOSY__REQUEST__WHAT_ROLLOUT ||
               request->what_case == ARGOSY__REQUEST__WHAT_REBALANCE;
}

// Whether the request is about all words; a command that makes a request for each word names only that word.
static bool is_about_all_words(const Argosy__Request *request) {
        switch (request->what_case) {
        case ARGOSY__REQUEST__WHAT_ROLLOUT:
        case ARGOSY__REQUEST__WHAT_APPLY: // the word is a folder of this host; the set is what others know
                return false;
        case ARGOSY__REQUEST__WHAT_ROLE_CHANGE:
                return !request->role_change->remove;
        case ARGOSY__REQUEST__WHAT_POOL_CHANGE:
                return !request->pool_change->remove;
        default:
                return true;
        }
}

void ctl_job_attach(Ctl *ctl, CtlJob *job, Argosy__Request *request) {
        *job = (CtlJob){.message = ARGOSY__REQUEST__JOB__INIT};
        if (!is_job(request))
                return;
        if (!has_own_id(request)) {
                ctl_request_id(ctl, job->id);
                job->message.id = (ProtobufCBinaryData){.data = job->id, .len = sizeof(job->id)};
        }
        job->message.keyed = ctl->opt.key != NULL;
        job->message.reason = (char *) (ctl->opt.reason ?: "");
        job->message.if_revision = ctl->opt.if_revision;
        job->message.hold = ctl->opt.given[OPT_HOLD];
        job->message.queue = ctl->opt.given[OPT_QUEUE];
        job->message.retries = ctl->retries;
        job->message.after = ctl->opt.after;
        job->message.n_after = ctl->opt.n_after;
        if (is_about_all_words(request)) {
                job->message.targets = ctl->words;
                job->message.n_targets = ctl->n_words;
                job->message.more_targets = (uint32_t) (ctl->n_targets - ctl->n_words);
        }
        request->job = &job->message;
}

void ctl_job_sent(CtlJob *job) {
        uint64_t now_us = clock_boot_us();

        if (job->sent_us > 0)
                job->message.age_ms = MAX_OF((now_us - job->sent_us) / USEC_PER_MSEC, UINT64_C(1));
        else
                job->sent_us = now_us;
}

void ctl_job_print(Ctl *ctl, uint64_t number) {
        if (number == 0 || ctl->opt.json != JSON_OFF || ctl->opt.given[OPT_QUIET] ||
            !(ctl->opt.given[OPT_VERBOSE] || ctl->opt.given[OPT_NO_BLOCK]))
                return;
        progress_clear(&ctl->term);
        if (ctl->opt.given[OPT_NO_BLOCK])
                fprintf(ctl->term.out, "%" PRIu64 "\n", number);
        fflush(ctl->term.out);
        if (ctl->opt.given[OPT_VERBOSE])
                fprintf(ctl->term.err, "Job %" PRIu64 ".\n", number);
}
