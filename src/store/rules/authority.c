// SPDX-License-Identifier: LGPL-2.1-or-later

// Until when a leader may act alone: voters promise with each answer not to elect another one for a while
// (authority.h).
//
//      authority_on_answer() per voter -> authority_until(): the time until which a majority has promised
//      authority_on_timeout_now(): a handover was asked for -> 0 as long as that voter may obey it
//
// Times are in microseconds of the leader's boot clock, less a margin for the voters' clocks
// (AUTHORITY_MARGIN). Pure functions that cannot fail. Tests: store/authority (the rule, and a cluster of
// models that freeze and restart).

#include "authority.h"
#include "macro.h"

static const Witness *find(const Authority *a, uint32_t raft_id) {
        for (size_t i = 0; i < ELEMENTSOF(a->witnesses); i++)
                if (a->witnesses[i].raft_id == raft_id)
                        return &a->witnesses[i];
        return NULL;
}

static uint64_t newest_term(const Witness *w) {
        return MAX_OF(w->term, w->timeout_now_term);
}

// Raft ids are never used again: the witness with the oldest term makes room for a new one.
static Witness *get(Authority *a, uint32_t raft_id) {
        Witness *w = (Witness *) find(a, raft_id);

        if (w)
                return w;
        w = &a->witnesses[0];
        for (size_t i = 1; i < ELEMENTSOF(a->witnesses) && w->raft_id != 0; i++) {
                Witness *other = &a->witnesses[i];

                if (other->raft_id == 0 || newest_term(other) < newest_term(w) ||
                    (newest_term(other) == newest_term(w) && other->until_us < w->until_us))
                        w = other;
        }
        *w = (Witness){.raft_id = raft_id};
        return w;
}

void authority_on_answer(Authority *a, uint32_t raft_id, uint64_t term, uint64_t sent_us,
                         uint64_t promise_us) {
        Witness *w = get(a, raft_id);
        uint64_t until_us = sent_us + promise_us - promise_us / AUTHORITY_MARGIN;

        if (term < w->term)
                return;
        w->until_us = term > w->term ? until_us : MAX_OF(w->until_us, until_us);
        w->term = term;
}

void authority_on_timeout_now(Authority *a, uint32_t raft_id, uint64_t term, uint64_t index) {
        Witness *w = get(a, raft_id);

        w->timeout_now_index = w->timeout_now_term == term ? MAX_OF(w->timeout_now_index, index) : index;
        w->timeout_now_term = term;
}

static const AuthorityVoter *find_voter(const AuthorityView *view, uint32_t raft_id) {
        for (size_t i = 0; i < view->n_voters; i++)
                if (view->voters[i].raft_id == raft_id)
                        return &view->voters[i];
        return NULL;
}

// Whether this voter may still obey a TimeoutNow of this term. One that is no voter in our view may not know
// that yet.
static bool may_obey(const Witness *w, const AuthorityView *view) {
        const AuthorityVoter *v;

        if (w->raft_id == 0 || w->timeout_now_term != view->term)
                return false;
        v = find_voter(view, w->raft_id);
        return !v || v->match_index <= w->timeout_now_index;
}

bool authority_is_given_away(const Authority *a, const AuthorityView *view) {
        for (size_t i = 0; i < ELEMENTSOF(a->witnesses); i++)
                if (may_obey(&a->witnesses[i], view))
                        return true;
        return false;
}

static uint64_t witness_until(const Authority *a, uint32_t raft_id, uint64_t term) {
        const Witness *w = find(a, raft_id);

        return w && w->term == term ? w->until_us : 0;
}

// The latest time until which at least `wanted` other voters have promised.
static uint64_t until_of(const Authority *a, const AuthorityView *view, size_t wanted) {
        uint64_t best = 0;

        for (size_t i = 0; i < view->n_voters; i++) {
                uint64_t until = witness_until(a, view->voters[i].raft_id, view->term);
                size_t with_us = 0;

                for (size_t k = 0; k < view->n_voters; k++)
                        with_us += view->voters[k].raft_id != view->self &&
                                   witness_until(a, view->voters[k].raft_id, view->term) >= until;
                if (view->voters[i].raft_id != view->self && with_us >= wanted)
                        best = MAX_OF(best, until);
        }
        return best;
}

uint64_t authority_until(const Authority *a, const AuthorityView *view) {
        size_t majority = view->n_voters / 2 + 1, wanted;

        if (authority_is_given_away(a, view))
                return 0;
        wanted = majority - (find_voter(view, view->self) != NULL);
        return wanted == 0 ? AUTHORITY_ALWAYS : until_of(a, view, wanted);
}

uint32_t authority_other_heir(const Authority *a, const AuthorityView *view, uint64_t now_us) {
        const AuthorityVoter *best = NULL;

        for (size_t i = 0; i < view->n_voters; i++) {
                const AuthorityVoter *v = &view->voters[i];
                const Witness *w = find(a, v->raft_id);

                if (v->raft_id == view->self || !w || may_obey(w, view) ||
                    witness_until(a, v->raft_id, view->term) <= now_us)
                        continue;
                if (!best || v->match_index > best->match_index)
                        best = v;
        }
        return best ? best->raft_id : 0;
}
