// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See job-show.h. Rows of all units are made at once, and those of units on few nodes say how these are now.
// The others are looked at one after the other, some nodes in each turn, and each is told as it is when it
// has been looked at (wait-seen.h). A unit that is gone by then is told as that. A host that stops leading
// in the middle fails the question, as all questions.
#include "job-show.h"

#include <errno.h>
#include <stdlib.h>

#include "answer-job-units.h"
#include "answer-jobs.h"
#include "authorization.h"
#include "registry.h"
#include "pending-requests.h"
#include "turn.h"
#include "wait-seen.h"

typedef struct JobShow {
        RequestWork work;
        JobLooks looks;
        size_t at;      // of these
        WaitWalk *walk; // through the nodes of that unit; NULL: none was begun
} JobShow;

static void show_free(PendingRequest *t, RequestWork *work) {
        JobShow *s = CONTAINER_OF(work, JobShow, work);

        wait_walk_free(s->walk);
        free(s->looks.looks);
        free(s);
}

static const RequestWorkKind show_kind = {show_free};

static JobShow *show_of(const PendingRequest *t) {
        return CONTAINER_OF(request_work(t, &show_kind), JobShow, work);
}

bool job_show_is_long(const Leader *l, const Argosy__Request *request) {
        return request->list_jobs->number > 0 && l->leading && wait_seen_may_be_wide(l);
}

static void queue(Leader *l, PendingRequest *t) {
        request_join(t, PENDING_TURN, &l->job_shows);
        leader_mark(l);
}

int job_show_start(Leader *l, PendingRequest *t) {
        JobShow *s = calloc(1, sizeof(*s));

        if (!s)
                return -ENOMEM;
        request_add_work(t, &show_kind, &s->work);
        if (request_prepare(t, answer_jobs_with(l, t->author, t->request, &s->looks)) < 0)
                return -ENOMEM;
        queue(l, t);
        return 0;
}

// The unit at hand. 1; 0: not all of its nodes were looked at; or -ENOMEM.
static int look(Leader *l, JobShow *s, size_t *left) {
        const JobLook *at = &s->looks.looks[s->at];
        Unit *u = unit_find(l, at->row->unit);
        const WaitSeen *seen = NULL;
        int r;

        if (u) {
                s->walk = s->walk ?: wait_walk_alone(l, u);
                seen = wait_walk_look(l, s->walk, left);
                if (!seen)
                        return 0;
        }
        r = job_unit_judge(l, at, seen);
        s->walk = wait_walk_free(s->walk);
        s->at++;
        return r < 0 ? r : 1;
}

// As who is told at once hears it.
static void end(const Leader *l, PendingRequest *t) {
        Argosy__Response *r = request_take_prepared(t);

        authorization_filter(l, t->author, r);
        r->no_leader = !l->leading;
        request_settle(t, r);
}

static void go_on(Leader *l, PendingRequest *t, size_t *left) {
        JobShow *s = show_of(t);
        int r = 1;

        while (r > 0 && *left > 0 && s->at < s->looks.n)
                r = look(l, s, left);
        if (r < 0)
                request_settle(t, NULL);
        else if (s->at < s->looks.n)
                queue(l, t);
        else
                end(l, t);
}

void job_shows_turn(Leader *l) {
        size_t left = l->limits.job_show_looks;

        while (left > 0 && !list_is_empty(&l->job_shows)) {
                PendingRequest *t = request_in(l->job_shows.next, PENDING_TURN);

                request_leave(t, PENDING_TURN);
                go_on(l, t, &left);
                left--;
        }
}

void job_shows_on_unit_gone(Leader *l, const Unit *u) {
        list_foreach (i, &l->job_shows) {
                JobShow *s = show_of(request_in(i, PENDING_TURN));

                if (s->walk && wait_walk_is_of(s->walk, u))
                        s->walk = wait_walk_free(s->walk);
        }
}
