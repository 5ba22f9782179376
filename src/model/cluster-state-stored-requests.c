// SPDX-License-Identifier: LGPL-2.1-or-later

// Requests of jobs that are held back, and the rules of the queue that may hold them.
//
// A request comes with the record of its job, in one operation, and is kept whole, with who asked for it. It
// goes with the last entry of what it asks for, or when its job ends without: so no change of leader can
// lose it, nor have it carried out twice. Which of them may begin is for the leader to find out; here they
// are only kept.
//
// The bounds are the log's own: so many, so large one, so large all. A job whose request does not fit is
// cancelled as it comes, so that the numbers of jobs stay what the leader foretold.
//
// A job that another one waits for is not dropped when its place in the ring is needed, nor when it ends
// beside that (cluster-state-job-ends.c): how it ended decides about the one that waits. Waiting jobs are
// counted under the number of the job that they wait for, so no walk over all held jobs is needed.

#include <errno.h>

#include "array.h"
#include "cluster-state-private.h"
#include "message.h"
#include "sorted.h"

// The number of jobs that wait for this one; in a map by its number.
typedef struct AwaitedJob {
        uint64_t number;
        size_t n;
} AwaitedJob;

Argosy__StoredRequest *const *cluster_state_stored_requests(const ClusterState *s, size_t *ret_n) {
        *ret_n = s->stored.n;
        return s->stored.requests;
}

// Index of the job's, or where it would stand.
static size_t find(const StoredTable *t, uint64_t job) {
        return SORTED_COUNT(t->n, i, t->requests[i]->job < job);
}

const Argosy__StoredRequest *cluster_state_find_stored_request(const ClusterState *s, uint64_t job) {
        size_t i = find(&s->stored, job);

        return i < s->stored.n && s->stored.requests[i]->job == job ? s->stored.requests[i] : NULL;
}

bool cluster_state_stores_request(const ClusterState *s, size_t n_more, size_t bytes_more, size_t bytes) {
        return bytes <= CLUSTER_STORED_REQUEST_MAX &&
               s->stored.n + n_more < s->refused.limits[REFUSAL_STORED_REQUESTS] &&
               s->stored.bytes + bytes_more + bytes <= s->refused.limits[REFUSAL_STORED_BYTES];
}

// ---------------------------------------------------------------------------------------- who is waited for

static int await_job(ClusterState *s, uint64_t number) {
        AwaitedJob *a = map_find(&s->stored.awaited, &number, sizeof number);

        if (!a) {
                a = malloc(sizeof *a);
                if (!a)
                        return -ENOMEM;
                *a = (AwaitedJob){.number = number};
                if (map_add(&s->stored.awaited, &a->number, sizeof a->number, a) < 0) {
                        free(a);
                        return -ENOMEM;
                }
        }
        a->n++;
        return 0;
}

static void stop_awaiting_job(ClusterState *s, uint64_t number) {
        AwaitedJob *a = map_find(&s->stored.awaited, &number, sizeof number);

        if (!a || --a->n > 0)
                return;
        map_take(&s->stored.awaited, &number, sizeof number);
        free(a);
        state_unhold_job(s, number);
}

static void stop_awaiting(ClusterState *s, const Argosy__StoredRequest *m) {
        for (size_t i = 0; i < m->n_after; i++)
                stop_awaiting_job(s, m->after[i]);
}

static int await(ClusterState *s, const Argosy__StoredRequest *m) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < m->n_after; i++)
                r = await_job(s, m->after[i]);
        return r;
}

bool state_job_is_awaited(const ClusterState *s, uint64_t number) {
        return map_find(&s->stored.awaited, &number, sizeof number);
}

// ------------------------------------------------------------------------------------------------ kept

static size_t bytes_of(const Argosy__StoredRequest *m) {
        return m->request.len;
}

// It waits for jobs that came before it, so nothing can go in a cycle.
static bool fits(const ClusterState *s, const Argosy__StoredRequest *m, uint64_t job) {
        for (size_t i = 0; i < m->n_after; i++)
                if (m->after[i] == 0 || m->after[i] >= job)
                        return false;
        return m->n_after <= CLUSTER_STORED_AFTER_MAX && cluster_state_stores_request(s, 0, 0, bytes_of(m));
}

bool state_request_fits(const ClusterState *s, const Argosy__StoredRequest *m) {
        return fits(s, m, s->jobs.last + 1);
}

// Takes it. Numbers of jobs only grow, so it is the last.
static int append(ClusterState *s, Argosy__StoredRequest *m) {
        StoredTable *t = &s->stored;

        if (ARRAY_GROW(t->requests, t->allocated, t->n + 1) < 0) {
                message_free(m);
                return -ENOMEM;
        }
        t->requests[t->n++] = m;
        t->bytes += bytes_of(m);
        return await(s, m);
}

int state_store_request(ClusterState *s, const Argosy__StoredRequest *m, uint64_t job) {
        Argosy__StoredRequest *copy = message_copy(m);

        if (!copy)
                return -ENOMEM;
        copy->job = job;
        return append(s, copy);
}

int state_load_stored_request(ClusterState *s, Argosy__StoredRequest *m) {
        Argosy__JobState state = cluster_state_job_state(s, m->job);
        size_t n = s->stored.n;

        if (m->job == 0 || m->job > s->jobs.last || !fits(s, m, m->job) ||
            (n > 0 && s->stored.requests[n - 1]->job >= m->job) ||
            (state != ARGOSY__JOB_STATE__JOB_HELD && state != ARGOSY__JOB_STATE__JOB_RUNNING)) {
                message_free(m);
                return -EBADMSG;
        }
        return append(s, m);
}

void state_drop_stored_request(ClusterState *s, uint64_t job) {
        StoredTable *t = &s->stored;
        size_t i = find(t, job);
        Argosy__StoredRequest *m;

        if (i == t->n || t->requests[i]->job != job)
                return;
        m = t->requests[i];
        t->bytes -= bytes_of(m);
        memmove(&t->requests[i], &t->requests[i + 1], (--t->n - i) * sizeof *t->requests);
        stop_awaiting(s, m);
        state_retire_message(s, m);
}

static Argosy__StoredRequest *released(const Argosy__StoredRequest *m, bool past_rules, uint64_t revision) {
        Argosy__StoredRequest changed = *m; // borrows what that points to

        changed.by_hand = false;
        changed.after = NULL;
        changed.n_after = 0;
        changed.past_rules |= past_rules;
        changed.revision = revision;
        return message_copy(&changed);
}

int state_release_request(ClusterState *s, const Argosy__LogOp__StoredRelease *release) {
        StoredTable *t = &s->stored;
        size_t i = find(t, release->job);
        Argosy__StoredRequest *before, *after;

        if (i == t->n || t->requests[i]->job != release->job)
                return 0;
        before = t->requests[i];
        after = released(before, release->past_rules, s->revision + 1);
        if (!after)
                return -ENOMEM;
        t->requests[i] = after;
        stop_awaiting(s, before);
        state_retire_message(s, before);
        s->revision++;
        return state_note_job(s, (JobNews){.number = release->job, .only_state = true});
}

static void free_awaited(void *value) {
        free(value);
}

void state_stored_requests_done(ClusterState *s) {
        for (size_t i = 0; i < s->stored.n; i++)
                state_retire_message(s, s->stored.requests[i]);
        free(s->stored.requests);
        map_done_with(&s->stored.awaited, free_awaited);
        state_retire_message(s, s->queue);
}

// ------------------------------------------------------------------------------------------------ the rules

const Argosy__QueueRecord *cluster_state_queue(const ClusterState *s) {
        static const Argosy__QueueRecord none = ARGOSY__QUEUE_RECORD__INIT;

        return s->queue ?: &none;
}

uint64_t cluster_state_queue_revision(const ClusterState *s) {
        return s->queue_revision;
}

static bool queue_fits(const Argosy__QueueRecord *queue) {
        return queue->n_rules <= CLUSTER_QUEUE_RULES_MAX &&
               argosy__queue_record__get_packed_size(queue) <= CLUSTER_QUEUE_BYTES_MAX;
}

int state_put_queue(ClusterState *s, const Argosy__QueueRecord *queue) {
        Argosy__QueueRecord *copy = message_copy(queue);

        if (!copy)
                return -ENOMEM;
        state_retire_message(s, s->queue);
        s->queue = copy;
        s->queue_revision = ++s->revision;
        return 0;
}

int state_load_queue(ClusterState *s, const Argosy__QueueRecord *queue) {
        if (!queue_fits(queue))
                return -EBADMSG;
        s->queue = message_copy(queue);
        return s->queue ? 0 : -ENOMEM;
}
