// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The one next step, by rules that are asked in this order: what no record names goes, what was begun is
// finished, one voter more if there are too few, one less if there are too many. If none of them says
// anything, there is nothing to do (an empty step).

#include "membership.h"

#include "macro.h"

static const MembershipMember *find_member(const MembershipView *v, uint32_t raft_id) {
        for (size_t i = 0; raft_id && i < v->n_members; i++)
                if (v->members[i].raft_id == raft_id)
                        return &v->members[i];
        return NULL;
}

static bool is_known(const MembershipView *v, uint32_t raft_id) {
        for (size_t i = 0; i < v->n_hosts; i++)
                if (v->hosts[i].raft_id == raft_id)
                        return true;
        return false;
}

static bool stays_voter(const MembershipHost *h) {
        return h->voter && !h->no_promote;
}

static bool is_candidate(const MembershipHost *h) {
        return !h->voter && !h->no_promote && h->here && !h->raft_id && !h->too_old;
}

static bool is_good_candidate(const MembershipHost *h) {
        return is_candidate(h) && !h->in_vain;
}

// On our order: that of others would be in vain.
static bool has_opened(const MembershipHost *h) {
        return is_candidate(h) && h->opened_id;
}

static bool is_doubtful_candidate(const MembershipHost *h) {
        return is_candidate(h) && h->in_vain;
}

static size_t count(const MembershipView *v, bool (*what)(const MembershipHost *)) {
        size_t n = 0;

        for (size_t i = 0; i < v->n_hosts; i++)
                n += what(&v->hosts[i]);
        return n;
}

static bool may_vote(const MembershipHost *h) {
        return !h->no_promote;
}

unsigned membership_goal(const MembershipView *v) {
        size_t can = MIN_OF(count(v, may_vote), (size_t) v->wanted);

        return can >= 5 ? 5 : can >= 3 ? 3 : 1;
}

bool membership_is_short(const MembershipView *v) {
        return count(v, stays_voter) < membership_goal(v);
}

static MembershipStep step(MembershipAction action, const MembershipHost *h) {
        return (MembershipStep){.action = action, .host = h->host, .raft_id = h->raft_id};
}

// Members of the log's configuration that no record names: what is left of a host that was removed.
static bool plan_strangers(const MembershipView *v, MembershipStep *ret) {
        for (size_t i = 0; i < v->n_members; i++)
                if (!is_known(v, v->members[i].raft_id)) {
                        *ret = (MembershipStep){.action = MEMBERSHIP_DROP, .raft_id = v->members[i].raft_id};
                        return true;
                }
        return false;
}

// It was to go, is still in the log's configuration with its log whole, and is wanted after all.
static bool is_called_off(const MembershipView *v, const MembershipHost *h, const MembershipMember *m) {
        return m && m->voter && !h->no_promote && h->here &&
               (h->host == v->self || h->running_id == h->raft_id) &&
               count(v, stays_voter) + 1 <= membership_goal(v);
}

// Hosts that are between two states already: finished before anything new begins.
static bool plan_unfinished(const MembershipView *v, MembershipStep *ret) {
        for (size_t i = 0; i < v->n_hosts; i++) {
                const MembershipHost *h = &v->hosts[i];
                const MembershipMember *m = find_member(v, h->raft_id);

                if (!h->voter && h->raft_id) {
                        if (is_called_off(v, h, m))
                                *ret = step(MEMBERSHIP_KEEP, h);
                        else if (m && h->host == v->self)
                                *ret = (MembershipStep){.action = MEMBERSHIP_TRANSFER, .host = h->host};
                        else
                                *ret = step(m ? MEMBERSHIP_DROP : MEMBERSHIP_CLOSE, h);
                        return true;
                }
                // It came back with an empty disk: under the old id it could vote twice in one term.
                if (h->voter && m && h->here && h->host != v->self && h->running_id != h->raft_id) {
                        *ret = step(MEMBERSHIP_DEMOTE, h);
                        return true;
                }
        }
        for (size_t i = 0; i < v->n_hosts; i++) {
                const MembershipHost *h = &v->hosts[i];
                const MembershipMember *m = find_member(v, h->raft_id);

                if (!h->voter || (m && m->voter))
                        continue;
                // it, or its disk, died on the way to be one
                if (!h->here || (h->in_vain && h->running_id != h->raft_id))
                        *ret = step(MEMBERSHIP_DEMOTE, h);
                else if (h->running_id != h->raft_id)
                        *ret = step(MEMBERSHIP_OPEN, h);
                else
                        *ret = step(MEMBERSHIP_ADD, h);
                return true;
        }
        return false;
}

static const MembershipHost *first(const MembershipView *v, bool (*what)(const MembershipHost *)) {
        for (size_t i = 0; i < v->n_hosts; i++)
                if (what(&v->hosts[i]))
                        return &v->hosts[i];
        return NULL;
}

static bool plan_promotion(const MembershipView *v, MembershipStep *ret) {
        size_t have = count(v, stays_voter), can = count(v, is_candidate);
        unsigned goal = membership_goal(v);
        const MembershipHost *h;

        if (have >= goal || !can)
                return false;
        if (have >= 1 && have + can < goal) // two voters survive less than one
                return false;
        // Where all are needed, those who could not before begin: two voters survive less than one.
        h = first(v, has_opened);
        if (!h && have + count(v, is_good_candidate) >= goal)
                h = first(v, is_good_candidate);
        if (!h)
                h = first(v, is_doubtful_candidate) ?: first(v, is_candidate);
        *ret = step(h->opened_id ? MEMBERSHIP_ENROL : MEMBERSHIP_OPEN, h);
        ret->raft_id = h->opened_id;
        return true;
}

static bool leaves(const MembershipHost *h) {
        return h->voter && h->no_promote;
}

// The higher, the less the voter is missed. Whether its log answers weighs more than whether its session
// lives: a majority is one of logs.
static int worth_little(const MembershipView *v, const MembershipHost *h) {
        const MembershipMember *m = find_member(v, h->raft_id);

        if (h->host == v->self)
                return 0;
        return 1 + !h->here + 2 * !(m && m->live);
}

// One voter less: those who are to go first, then those beyond the goal; the dead before the living, the
// leader last.
static bool plan_demotion(const MembershipView *v, MembershipStep *ret) {
        size_t have = count(v, stays_voter);
        bool surplus = have > membership_goal(v);
        const MembershipHost *best = NULL;

        for (size_t i = 0; i < v->n_hosts; i++) {
                const MembershipHost *h = &v->hosts[i];

                if (!(leaves(h) && have > 0) &&
                    !(surplus && stays_voter(h) && h->host != v->self && !count(v, leaves)))
                        continue;
                if (!best || worth_little(v, h) > worth_little(v, best))
                        best = h;
        }
        if (!best)
                return false;
        *ret = step(best->host == v->self ? MEMBERSHIP_TRANSFER : MEMBERSHIP_DEMOTE, best);
        if (best->host == v->self)
                ret->raft_id = 0;
        return true;
}

MembershipStep membership_plan(const MembershipView *v) {
        MembershipStep s = {};

        if (plan_strangers(v, &s) || plan_unfinished(v, &s) || plan_promotion(v, &s) || plan_demotion(v, &s))
                return s;
        return (MembershipStep){};
}
