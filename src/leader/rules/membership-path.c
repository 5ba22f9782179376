// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Whether the log can go on while its voters change: see membership.h. The way to a goal is walked on a copy
// of the view, as if every host did at once what it is asked to, until nothing is left to do or a step leads
// to a configuration in which no majority answers. What can differ when it is walked in earnest, a host that
// dies meanwhile, is found by the same rule before each step.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "macro.h"
#include "membership.h"

enum {
        STEPS_MAX = 64, // more than any way has: a voter comes in three steps, goes in four
        MEMBERS_MAX = 16,
};

typedef struct Path {
        MembershipHost *hosts;
        MembershipMember members[MEMBERS_MAX];
        MembershipView view;
} Path;

typedef struct PathGoal {
        uint32_t host; // is to be no voter; 0: nobody
        unsigned wanted;
} PathGoal;

static MembershipHost *path_host(const MembershipView *v, uint32_t host) {
        for (size_t i = 0; i < v->n_hosts; i++)
                if (v->hosts[i].host == host)
                        return (MembershipHost *) &v->hosts[i];
        return NULL;
}

static MembershipMember *path_member(const MembershipView *v, uint32_t raft_id) {
        for (size_t i = 0; i < v->n_members; i++)
                if (v->members[i].raft_id == raft_id)
                        return (MembershipMember *) &v->members[i];
        return NULL;
}

// ------------------------------------------------------------------------------------------------ one step

// The voter that the log's configuration loses by this step, or by the one that it is for. 0: none.
static uint32_t loses(const MembershipView *v, const MembershipStep *s) {
        const MembershipHost *self = path_host(v, v->self);
        const MembershipMember *m;
        uint32_t id = 0;

        if (s->action == MEMBERSHIP_DEMOTE || s->action == MEMBERSHIP_DROP)
                id = s->raft_id;
        else if (s->action == MEMBERSHIP_TRANSFER && self)
                id = self->raft_id;
        m = path_member(v, id);
        return m && m->voter ? id : 0;
}

static bool majority_answers(const MembershipView *v, uint32_t without) {
        size_t n = 0, live = 0;

        for (size_t i = 0; i < v->n_members; i++) {
                const MembershipMember *m = &v->members[i];

                if (!m->voter || m->raft_id == without)
                        continue;
                n++;
                live += m->live;
        }
        return live > n / 2;
}

// A new voter is one more that answers: the log takes it when it has caught up.
bool membership_is_safe(const MembershipView *v, const MembershipStep *s) {
        uint32_t id = loses(v, s);

        return id == 0 || majority_answers(v, id);
}

// ------------------------------------------------------------------------------------------------ the way

static void path_done(Path *p) {
        free(p->hosts);
}

static int path_copy(Path *p, const MembershipView *v) {
        *p = (Path){.view = *v};
        p->hosts = calloc(v->n_hosts + 1, sizeof(*p->hosts));
        if (!p->hosts)
                return -ENOMEM;
        if (v->n_hosts)
                memcpy(p->hosts, v->hosts, v->n_hosts * sizeof(*p->hosts));
        p->view.n_members = MIN_OF(v->n_members, (size_t) MEMBERS_MAX);
        memcpy(p->members, v->members, p->view.n_members * sizeof(*p->members));
        p->view.hosts = p->hosts;
        p->view.members = p->members;
        return 0;
}

// Raft ids that nobody has.
static uint32_t fresh_id(const Path *p) {
        uint32_t id = 0;

        for (size_t i = 0; i < p->view.n_hosts; i++)
                id = MAX_OF(id, MAX_OF(p->hosts[i].raft_id, p->hosts[i].running_id));
        for (size_t i = 0; i < p->view.n_members; i++)
                id = MAX_OF(id, p->members[i].raft_id);
        return id + 1;
}

static bool add_member(Path *p, uint32_t raft_id) {
        MembershipMember *m = path_member(&p->view, raft_id);

        if (!m && p->view.n_members >= MEMBERS_MAX)
                return false;
        if (!m)
                m = &p->members[p->view.n_members++];
        *m = (MembershipMember){.raft_id = raft_id, .voter = true, .live = true};
        return true;
}

static void drop_member(Path *p, uint32_t raft_id) {
        MembershipMember *m = path_member(&p->view, raft_id);

        if (m)
                *m = p->members[--p->view.n_members];
}

// The one that stays, if there is one.
static bool hand_over(Path *p) {
        const MembershipHost *best = NULL;

        for (size_t i = 0; i < p->view.n_hosts; i++) {
                const MembershipHost *h = &p->hosts[i];
                const MembershipMember *m = path_member(&p->view, h->raft_id);

                if (m && m->voter && m->live && h->host != p->view.self && (!best || best->no_promote))
                        best = h;
        }
        if (best)
                p->view.self = best->host;
        return best;
}

static bool walk(Path *p, const MembershipStep *s) {
        MembershipHost *h = path_host(&p->view, s->host);

        if (s->action == MEMBERSHIP_DROP)
                drop_member(p, s->raft_id);
        else if (s->action == MEMBERSHIP_TRANSFER)
                return hand_over(p);
        else if (s->action == MEMBERSHIP_ADD)
                return add_member(p, s->raft_id);
        else if (s->action == MEMBERSHIP_DEMOTE)
                h->voter = false;
        else if (s->action == MEMBERSHIP_KEEP)
                h->voter = true;
        else if (s->action == MEMBERSHIP_CLOSE)
                h->raft_id = h->running_id = 0;
        else if (s->action == MEMBERSHIP_OPEN && h->raft_id)
                h->running_id = h->raft_id;
        else if (s->action == MEMBERSHIP_OPEN)
                h->opened_id = h->running_id = fresh_id(p);
        else { // ENROL
                h->voter = true;
                h->raft_id = s->raft_id;
                h->opened_id = 0;
        }
        return true;
}

// Whether the way can be gone to its end.
static bool path_walk(Path *p) {
        for (int i = 0; i < STEPS_MAX; i++) {
                MembershipStep s = membership_plan(&p->view);

                if (s.action == MEMBERSHIP_NOTHING)
                        return true;
                if (!membership_is_safe(&p->view, &s) || !walk(p, &s))
                        return false;
        }
        return false;
}

static int way_to(const MembershipView *v, PathGoal goal, Path *ret, bool *ret_safe) {
        MembershipHost *h;
        int r = path_copy(ret, v);

        if (r < 0)
                return r;
        h = path_host(&ret->view, goal.host);
        if (h)
                h->no_promote = true;
        ret->view.wanted = goal.wanted;
        *ret_safe = path_walk(ret);
        return 0;
}

// Takes out those that do not answer, as long as that is safe, until the goal is, too.
static int judge_orders(const MembershipView *v, PathGoal goal, MembershipVerdict *ret) {
        _cleanup_(path_done) Path now = {};
        bool safe = false;
        int r = path_copy(&now, v);

        for (size_t i = 0; r >= 0 && i < v->n_hosts && !safe && ret->n_first < MEMBERSHIP_FIRST_MAX; i++) {
                const MembershipHost *h = &v->hosts[i];
                const MembershipMember *m = path_member(v, h->raft_id);
                _cleanup_(path_done) Path end = {};
                Path next;

                if (h->host == goal.host || !m || !m->voter || m->live)
                        continue;
                r = way_to(&now.view, (PathGoal){h->host, v->wanted}, &next, &safe);
                if (r < 0 || !safe) {
                        path_done(&next);
                        continue;
                }
                path_done(&now);
                now = next;
                now.view.members = now.members;
                ret->first[ret->n_first++] = h->host;
                r = way_to(&now.view, goal, &end, &safe);
        }
        if (!safe)
                ret->n_first = 0;
        return r < 0 ? r : 0;
}

static int judge(const MembershipView *v, PathGoal goal, MembershipVerdict *ret) {
        _cleanup_(path_done) Path p = {};
        int r;

        *ret = (MembershipVerdict){};
        r = way_to(v, goal, &p, &ret->safe);
        if (r < 0 || ret->safe)
                return r;
        return judge_orders(v, goal, ret);
}

int membership_judge(const MembershipView *v, uint32_t host, MembershipVerdict *ret) {
        return judge(v, (PathGoal){host, v->wanted}, ret);
}

int membership_judge_wanted(const MembershipView *v, unsigned wanted, MembershipVerdict *ret) {
        return judge(v, (PathGoal){0, wanted}, ret);
}
