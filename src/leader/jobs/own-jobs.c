// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the cluster does by itself becomes a record for people: units that were moved, started again, or
// given a node that they waited for; hosts that are lost, and heard again; another leader.
//
//   a unit of our own accord is put into the entry -> own_jobs_on_move()   its nodes, and why
//   a host is lost or attaches                     -> Leader.own_hosts     marked by hosts/sessions.c
//   we lead                                        -> own_jobs_begin()
//   the entry is whole                             -> own_jobs_decide()    one JobPut for each cause, behind
//                                                                          all others
//
// What is moved is told in the entry that moves it. The rest waits up to limits.own_delay_ms for an entry
// that is made anyway.
//
// One cause is one record: what a lost host had is a part of the record of its loss, whenever it moves. Of
// the same host, or the same kind of thing, within limits.own_repeat_sec it is one record, which counts the
// times. What the log has says which that is, so the next leader goes on with it. A record that has become
// long is followed by another one.
//
// Failures: without memory an entry has no record, and what it does is done. An entry that the log did not
// take is decided again: what is to be moved is found again, and hosts are told then.
#include "own-jobs.h"

#include <errno.h>

#include "array.h"
#include "clock.h"
#include "host-complaints.h"
#include "host-marks.h"
#include "host-news.h"
#include "nodes.h"
#include "oom.h"
#include "registry.h"
#include "retry-controller.h"
#include "str.h"
#include "tables.h"
#include "turn.h"
#include "unit-on-node.h"
#include "unit-work.h"

enum {
        OWN_REASON_SIZE = 160,
};

static const char *const verbs[OWN_CAUSES] = {
        [ARGOSY__OWN_CAUSE__OWN_LEADER] = "leader",       [ARGOSY__OWN_CAUSE__OWN_LOST] = "host lost",
        [ARGOSY__OWN_CAUSE__OWN_BACK] = "host back",      [ARGOSY__OWN_CAUSE__OWN_MOVED] = "move",
        [ARGOSY__OWN_CAUSE__OWN_RESTARTED] = "try again", [ARGOSY__OWN_CAUSE__OWN_PLACED] = "place",
};

// Units of one cause that went the same way.
struct OwnMoves {
        Argosy__OwnCause cause;
        uint32_t host, from, to; // the last two are nodes
        char reason[OWN_REASON_SIZE];
        const char **names; // of the tables
        size_t n, allocated;
};

// ------------------------------------------------------------------------------------------------ moves

static bool is_restart(const Unit *u, unsigned bump) {
        return (bump & BATCH_BUMP_START) || (u && retry_controller_takes(u));
}

// `before`: the node that the log has named so far, 0: none. `from`: it; NULL: its host is not in the
// cluster any more.
static Argosy__OwnCause cause_of(const Unit *u, uint32_t before, const Node *from, unsigned bump) {
        if (from && host_is_lost(from->host))
                return ARGOSY__OWN_CAUSE__OWN_LOST;
        if (is_restart(u, bump))
                return ARGOSY__OWN_CAUSE__OWN_RESTARTED;
        return before > 0 ? ARGOSY__OWN_CAUSE__OWN_MOVED : ARGOSY__OWN_CAUSE__OWN_PLACED;
}

static void say_failure(const Unit *u, const Node *from, char ret[OWN_REASON_SIZE]) {
        const UnitOnNode *s = u && from ? unit_on_node_find(u, from) : NULL;
        const char *result = s ? unit_on_node_bad_result(s) : NULL;

        str_fit(ret, OWN_REASON_SIZE, "it failed%s%s%s%s%s", from ? " on " : "", from ? from->name : "",
                result ? " (" : "", result ?: "", result ? ")" : "");
}

static void say_why(Argosy__OwnCause cause, const Argosy__UnitRecord *next, const Unit *u, const Node *from,
                    char ret[OWN_REASON_SIZE]) {
        const char *why = u && from ? unit_exclusion(u, from->number) : NULL;

        *ret = 0;
        if (cause == ARGOSY__OWN_CAUSE__OWN_LOST)
                str_fit(ret, OWN_REASON_SIZE, "%s is lost", from->name);
        else if (cause == ARGOSY__OWN_CAUSE__OWN_PLACED)
                str_fit(ret, OWN_REASON_SIZE, "it waited for a node");
        else if (cause == ARGOSY__OWN_CAUSE__OWN_RESTARTED)
                say_failure(u, from, ret);
        else if (!from)
                str_fit(ret, OWN_REASON_SIZE, "its node is not in the cluster any more");
        else if (!next->node && *next->displaced_by)
                str_fit(ret, OWN_REASON_SIZE, "%s takes its place on %s", next->displaced_by, from->name);
        else if (why)
                str_fit(ret, OWN_REASON_SIZE, "%s refuses it: %s", from->name, why);
        else if (node_is_emptying(from))
                str_fit(ret, OWN_REASON_SIZE, "%s is being emptied", from->name);
        else
                str_fit(ret, OWN_REASON_SIZE, "%s is not a node for it any more", from->name);
}

static bool are_alike(const OwnMoves *a, const OwnMoves *b) {
        return a->cause == b->cause && a->host == b->host && a->from == b->from && a->to == b->to &&
               streq(a->reason, b->reason);
}

// The newest that it belongs to, or a new one. NULL: out of memory.
static OwnMoves *moves_for(Leader *l, const OwnMoves *like) {
        for (size_t i = l->n_own_moves; i > 0 && l->n_own_moves - i < l->limits.own_groups; i--)
                if (are_alike(&l->own_moves[i - 1], like))
                        return &l->own_moves[i - 1];
        if (ARRAY_GROW(l->own_moves, l->own_moves_allocated, l->n_own_moves + 1) < 0)
                return NULL;
        l->own_moves[l->n_own_moves] = *like;
        return &l->own_moves[l->n_own_moves++];
}

int own_jobs_on_move(const Argosy__UnitRecord *next, unsigned bump, void *leader) {
        Leader *l = leader;
        const UnitEntry *e = cluster_state_find_unit(l->state, next->name);
        const Unit *u = unit_find(l, next->name);
        const Node *from = e && e->record->node ? node_find(l, e->record->node) : NULL;
        OwnMoves like = {.to = next->node}, *moves;

        if (!e || !u || (e->record->node == next->node && !(bump & BATCH_BUMP_START)))
                return 0;
        like.cause = cause_of(u, e->record->node, from, bump);
        like.from = e->record->node;
        if (from &&
            (like.cause == ARGOSY__OWN_CAUSE__OWN_LOST || like.cause == ARGOSY__OWN_CAUSE__OWN_MOVED))
                like.host = from->host->number;
        say_why(like.cause, next, u, from, like.reason);
        moves = moves_for(l, &like);
        if (!moves || ARRAY_GROW(moves->names, moves->allocated, moves->n + 1) < 0)
                return -ENOMEM;
        moves->names[moves->n++] = u->name;
        return 0;
}

static void drop_moves(Leader *l) {
        while (l->n_own_moves > 0)
                free(l->own_moves[--l->n_own_moves].names);
}

// ----------------------------------------------------------------------------------------------- one record

// What one JobPut says, and where it goes on.
typedef struct OwnRecord {
        Argosy__OwnCause cause;
        uint32_t host;
        bool happened; // itself, and not only what follows from it
        char reason[OWN_REASON_SIZE];
} OwnRecord;

static bool is_recent(const Leader *l, const OwnJob *job) {
        return leader_counted(l) - job->counted_us < l->limits.own_repeat_sec * USEC_PER_SEC;
}

// What follows from the loss of a host belongs to it for as long as it is lost.
static bool goes_on(const Leader *l, const OwnRecord *r, const OwnJob *job) {
        if (job->bytes > l->limits.own_record_bytes ||
            (job->host != r->host && r->cause != ARGOSY__OWN_CAUSE__OWN_LEADER))
                return false;
        if (r->cause == ARGOSY__OWN_CAUSE__OWN_LOST && !r->happened)
                return cluster_state_host_was_lost(l->state, r->host);
        return is_recent(l, job);
}

static const char *node_name(const Leader *l, uint32_t number) {
        const Node *n = number ? node_find(l, number) : NULL;

        return n ? n->name : "";
}

static bool is_of(const OwnMoves *m, const OwnRecord *r) {
        return m->cause == r->cause && m->host == r->host;
}

// The moves of the record; the arrays are to be freed, what they point to is borrowed. 0 or -ENOMEM.
static int fill_moves(const Leader *l, const OwnRecord *r, Argosy__JobMove **ret_moves,
                      Argosy__JobRecord *record) {
        Argosy__JobMove *moves = calloc(l->n_own_moves + 1, sizeof(*moves));

        record->moves = calloc(l->n_own_moves + 1, sizeof(*record->moves));
        *ret_moves = moves;
        if (!moves || !record->moves)
                return -ENOMEM;
        for (size_t i = 0; i < l->n_own_moves; i++) {
                OwnMoves *m = &l->own_moves[i];
                Argosy__JobMove *move = &moves[record->n_moves];

                if (!is_of(m, r))
                        continue;
                argosy__job_move__init(move);
                move->from = (char *) node_name(l, m->from);
                move->to = (char *) node_name(l, m->to);
                move->names = (char **) m->names;
                move->n_names = m->n;
                move->at_us = leader_wall(l);
                move->reason = m->reason;
                record->moves[record->n_moves++] = move;
        }
        return 0;
}

// The reason of the record: of a loss what happened to the host; else why the first of the units went.
static const char *reason_of(const Leader *l, const OwnRecord *r) {
        if (r->happened)
                return r->reason;
        for (size_t i = 0; i < l->n_own_moves && r->cause != ARGOSY__OWN_CAUSE__OWN_LOST; i++)
                if (is_of(&l->own_moves[i], r))
                        return l->own_moves[i].reason;
        return "";
}

static int put(Decision *d, const OwnRecord *r) {
        Argosy__LogOp__JobPut job = ARGOSY__LOG_OP__JOB_PUT__INIT;
        Argosy__JobRecord record = ARGOSY__JOB_RECORD__INIT;
        _cleanup_free_ Argosy__JobMove *moves = NULL;
        const Leader *l = d->leader;
        const Argosy__HostRecord *host = cluster_state_find_host(l->state, r->host);
        char *target = host ? host->name : NULL;
        OwnJob before = {};
        bool again =
                cluster_state_last_own_job(l->state, r->cause, r->host, &before) && goes_on(l, r, &before);
        int e = fill_moves(l, r, &moves, &record);

        if (e == 0) {
                record.own = r->cause;
                record.own_host = r->host;
                record.verb = (char *) verbs[r->cause];
                record.reason = (char *) reason_of(l, r);
                record.times = r->happened ? (again ? before.times : 0) + 1 : 0;
                record.targets = &target;
                record.n_targets = target ? 1 : 0;
                job.job = &record;
                job.number = again ? before.number : 0;
                e = batch_builder_put_job(&d->batch, &job);
        }
        free(record.moves);
        return e;
}

// ---------------------------------------------------------------------------------------- what has happened

static void say_span(uint64_t us, char *buf, size_t size) {
        uint64_t sec = (us + USEC_PER_SEC / 2) / USEC_PER_SEC;

        if (sec < 120)
                str_fit(buf, size, "%llu s", (unsigned long long) sec);
        else if (sec < 7200)
                str_fit(buf, size, "%llu min", (unsigned long long) (sec / 60));
        else
                str_fit(buf, size, "%llu h", (unsigned long long) (sec / 3600));
}

static void say_lost(const Leader *l, const Host *h, char ret[OWN_REASON_SIZE]) {
        char span[32];

        say_span(h->news.silent_us, span, sizeof(span));
        if (h->news.silent_us == 0)
                str_fit(ret, OWN_REASON_SIZE, "%s was shut down", host_name(l, h));
        else
                str_fit(ret, OWN_REASON_SIZE, "%s was not heard of for %s", host_name(l, h), span);
}

static void say_back(const Leader *l, const Host *h, char ret[OWN_REASON_SIZE]) {
        uint64_t now = leader_wall(l);
        char span[32];
        OwnJob lost;

        if (!cluster_state_last_own_job(l->state, ARGOSY__OWN_CAUSE__OWN_LOST, h->number, &lost) ||
            lost.at_us > now) {
                str_fit(ret, OWN_REASON_SIZE, "%s is heard again", host_name(l, h));
                return;
        }
        say_span(now - lost.at_us, span, sizeof(span));
        str_fit(ret, OWN_REASON_SIZE, "%s is heard again after %s", host_name(l, h), span);
}

static void say_leader(const Leader *l, char ret[OWN_REASON_SIZE]) {
        const Argosy__HostRecord *self = cluster_state_find_host(l->state, l->config.self), *other = NULL;
        OwnJob before;

        if (cluster_state_last_own_job(l->state, ARGOSY__OWN_CAUSE__OWN_LEADER, 0, &before) &&
            before.host != l->config.self)
                other = cluster_state_find_host(l->state, before.host);
        str_fit(ret, OWN_REASON_SIZE, "%s leads the cluster now%s%s", self ? self->name : "?",
                other ? ", before it " : "", other ? other->name : "");
}

static int put_happened(Decision *d, OwnRecord *r, Argosy__OwnCause cause, uint32_t host) {
        r->cause = cause;
        r->host = host;
        r->happened = true;
        return put(d, r);
}

static int put_host(Decision *d, Host *h) {
        OwnRecord r;
        int e = 0;

        if (h->news.lost) {
                say_lost(d->leader, h, r.reason);
                e = put_happened(d, &r, ARGOSY__OWN_CAUSE__OWN_LOST, h->number);
        }
        if (e == 0 && h->news.back) {
                say_back(d->leader, h, r.reason);
                e = put_happened(d, &r, ARGOSY__OWN_CAUSE__OWN_BACK, h->number);
        }
        if (e < 0)
                return e;
        host_news_reported(d->leader, h);
        return 0;
}

static int put_hosts(Decision *d) {
        int e = 0;

        for (unsigned n = 0;
             e == 0 && n < d->leader->limits.own_hosts && hosts_have_mark(d->leader, HOST_NEWS); n++)
                e = put_host(d, host_marked(d->leader, HOST_NEWS));
        return e;
}

static bool is_told_with_its_host(const Leader *l, const OwnMoves *m) {
        const Host *h = m->cause == ARGOSY__OWN_CAUSE__OWN_LOST ? host_find(l, m->host) : NULL;

        return h && h->news.lost_flying;
}

// Puts moves that no host's own record has, one record for each cause.
static int put_rest(Decision *d) {
        const Leader *l = d->leader;
        int e = 0;

        for (size_t i = 0; e == 0 && i < l->n_own_moves; i++) {
                OwnRecord r = {.cause = l->own_moves[i].cause, .host = l->own_moves[i].host};
                size_t k = 0;

                while (k < i && !is_of(&l->own_moves[k], &r))
                        k++;
                if (k == i && !is_told_with_its_host(l, &l->own_moves[i]))
                        e = put(d, &r);
        }
        return e;
}

static int put_leader(Decision *d) {
        OwnRecord r;
        int e;

        if (!d->leader->own_leads)
                return 0;
        say_leader(d->leader, r.reason);
        e = put_happened(d, &r, ARGOSY__OWN_CAUSE__OWN_LEADER, d->leader->config.self);
        d->leader->own_leads_flying = e == 0;
        d->leader->own_leads = e != 0;
        if (e == 0)
                d->leader->own_leads_due_us = 0;
        return e;
}

static bool is_due(const Leader *l, bool goes_anyhow) {
        if (l->n_own_moves > 0)
                return true;
        return (l->own_leads && (goes_anyhow || l->own_leads_due_us <= leader_now(l))) ||
               (hosts_have_mark(l, HOST_NEWS) && (goes_anyhow || l->host_news_due_us <= leader_now(l)));
}

int own_jobs_decide(Decision *d, bool goes_anyhow) {
        Leader *l = d->leader;
        BatchBuilderMark mark = batch_builder_mark(&d->batch);
        int e;

        if (!is_due(l, goes_anyhow))
                return 0;
        e = put_leader(d);
        if (e == 0)
                e = put_hosts(d);
        if (e == 0)
                e = put_rest(d);
        drop_moves(l);
        if (e < 0) {
                batch_builder_rollback(&d->batch, mark);
                own_jobs_landed(l, false);
        }
        return e;
}

// ------------------------------------------------------------------------------------------------ life

void own_jobs_landed(Leader *l, bool committed) {
        if (l->own_leads_flying && !committed)
                l->own_leads = true;
        l->own_leads_flying = false;
        host_news_landed(l, committed);
        drop_moves(l); // of an entry that was not made
}

// A cluster in which nothing was asked for yet has no history, and one host alone has nobody else.
void own_jobs_begin(Leader *l) {
        size_t n_hosts;

        (void) cluster_state_hosts(l->state, &n_hosts);
        l->own_leads = n_hosts > 1 && cluster_state_last_job(l->state) > 0;
        if (l->own_leads)
                l->own_leads_due_us = leader_now(l) + l->limits.own_delay_ms * USEC_PER_MSEC;
}

void own_jobs_retire(Leader *l) {
        drop_moves(l);
        free(l->own_moves);
        l->own_moves = NULL;
        l->own_moves_allocated = 0;
        l->own_leads = l->own_leads_flying = false;
}
