// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Reads the log for the checks (checks-log.h): a second, small applier of the operations about units, jobs
// and rights. Each entry is read once, before other checks look at it. What it has come to must be what the
// records of the state say.
#include "checks-log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "request-kind.h"
#include "test.h"

LogTruth log_truth;

static LogUnit unit_of_record(const Argosy__UnitRecord *r) {
        LogUnit u = {.exists = true,
                     .global = r->global,
                     .target = r->target,
                     .node = r->node,
                     .revision = r->revision};

        u.start_rev = r->start_rev;
        u.restart_rev = r->restart_rev;
        u.stop_rev = r->stop_rev;
        if (r->spec.len == HASH_SIZE)
                memcpy(u.spec.bytes, r->spec.data, HASH_SIZE);
        return u;
}

void log_begin(void) {
        const ClusterState *s = asks.port->state();

        memset(&log_truth, 0, sizeof(log_truth));
        log_truth.n_jobs = cluster_state_last_job(s);
        log_truth.first_job = log_truth.n_jobs + 1;
        log_truth.revision = cluster_state_revision(s);
        log_truth.time_us = cluster_state_time_us(s);
        log_truth.grants[0] = (LogGrant){.right = ARGOSY__RIGHT__RIGHT_ADMIN, .group = "argosy"};
        log_truth.n_grants = 1;
}

void log_end(void) {
        for (uint64_t i = 0; i <= log_truth.n_jobs && i < LOG_JOBS_MAX; i++)
                free(log_truth.jobs[i]);
        memset(&log_truth, 0, sizeof(log_truth));
}

uint64_t log_place(uint64_t number) {
        uint64_t last = UINT64_MAX;

        for (size_t i = log_truth.n_gaps; i > 0; i--) {
                uint64_t before = log_truth.gaps[i - 1].number, place = log_truth.gaps[i - 1].place;

                if (number > before)
                        return number - before <= last - place ? number - before + place : 0;
                last = place;
        }
        return number <= last ? number : 0;
}

// What is there when the cluster is recovered has a revision that no entry can have given that was lost.
static void on_cluster(const Argosy__ClusterRecord *r) {
        size_t n = log_truth.n_gaps;

        for (size_t i = 0; r->revision_floor > log_truth.revision && i < asks.n_units; i++)
                if (log_truth.units[i].exists)
                        log_truth.units[i].revision = r->revision_floor;
        if (r->job_floor == 0 || (n > 0 && log_truth.gaps[n - 1].number >= r->job_floor))
                return;
        assert_true(n < LOG_GAPS_MAX);
        log_truth.gaps[n].number = r->job_floor;
        log_truth.gaps[n].place = log_truth.n_jobs;
        log_truth.n_gaps++;
}

static uint64_t last_number(void) {
        size_t n = log_truth.n_gaps;

        return n == 0 ? log_truth.n_jobs
                      : log_truth.n_jobs - log_truth.gaps[n - 1].place + log_truth.gaps[n - 1].number;
}

// -------------------------------------------------------------------------------------- requests and rights

const uint8_t *log_request_id(const Argosy__Request *q) {
        const RequestJob *job = request_job(q);
        const ProtobufCBinaryData *id = job && job->id ? job->id(q) : NULL;

        return id && id->len == LOG_ID_SIZE ? id->data : NULL;
}

const WorldAsked *log_asked_as(const uint8_t *id) {
        for (size_t i = asks.n_asked; i > 0; i--) {
                const uint8_t *of = log_request_id(asks.asked[i - 1].request);

                if (of && memcmp(of, id, LOG_ID_SIZE) == 0)
                        return &asks.asked[i - 1];
        }
        return NULL;
}

const WorldAsked *log_asked_of(const LogJob *j) {
        return j->has_id ? log_asked_as(j->id) : NULL;
}

uint64_t log_job_of(const uint8_t *id) {
        for (uint64_t i = log_truth.n_jobs; i >= log_truth.first_job; i--)
                if (log_truth.jobs[i] && log_truth.jobs[i]->has_id &&
                    memcmp(log_truth.jobs[i]->id, id, LOG_ID_SIZE) == 0)
                        return i;
        return 0;
}

// The number in the log of the host where that one asks.
static uint32_t host_of(WorldAuthor author) {
        uint32_t number = world_author_host(author);

        return asks.port->host ? asks.port->host(number) : number;
}

static bool is_for(const LogGrant *g, WorldAuthor author) {
        if (*g->group)
                return world_author_is_in(author, g->group);
        return strcmp(g->user, world_authors[author]) == 0 &&
               (g->host == 0 || g->host == host_of(author));
}

bool log_has_right(const LogGrant *grants, size_t n, WorldAuthor author, Argosy__Right right,
                   const char *role) {
        bool has = author == AUTHOR_ROOT || right == ARGOSY__RIGHT__RIGHT_NONE;

        for (size_t i = 0; !has && i < n; i++)
                has = is_for(&grants[i], author) && grants[i].right >= right &&
                      (!*grants[i].role || (role && strcmp(grants[i].role, role) == 0));
        return has;
}

bool log_has_some_right(const LogGrant *grants, size_t n, WorldAuthor author, Argosy__Right right) {
        bool has = author == AUTHOR_ROOT || right == ARGOSY__RIGHT__RIGHT_NONE;

        for (size_t i = 0; !has && i < n; i++)
                has = is_for(&grants[i], author) && grants[i].right >= right;
        return has;
}

static LogGrant grant_of(const Argosy__GrantRecord *r) {
        LogGrant g = {.right = r->right, .host = r->host};

        snprintf(g.user, sizeof(g.user), "%s", r->user);
        snprintf(g.group, sizeof(g.group), "%s", r->group);
        snprintf(g.role, sizeof(g.role), "%s", r->role);
        return g;
}

static void on_grant(const Argosy__GrantRecord *r, bool given) {
        LogGrant g = grant_of(r);
        size_t i = 0;

        while (i < log_truth.n_grants && memcmp(&log_truth.grants[i], &g, sizeof(g)) != 0)
                i++;
        if (given && i == log_truth.n_grants && i < LOG_GRANTS_MAX)
                log_truth.grants[log_truth.n_grants++] = g;
        else if (!given && i < log_truth.n_grants)
                log_truth.grants[i] = log_truth.grants[--log_truth.n_grants];
}

// What a host's users have goes with the host.
static void on_host_removed(uint32_t host) {
        for (size_t i = log_truth.n_grants; i > 0; i--)
                if (log_truth.grants[i - 1].host == host)
                        log_truth.grants[i - 1] = log_truth.grants[--log_truth.n_grants];
}

// ------------------------------------------------------------------------------------------------ tokens

static unsigned token_number(const Hash *hash) {
        for (unsigned i = 1; i <= asks.n_tokens && i <= LOG_TOKENS_MAX; i++) {
                Hash proof = asks_token_proof(i), of = hash_of(proof.bytes, HASH_SIZE);

                if (memcmp(&of, hash, HASH_SIZE) == 0)
                        return i;
        }
        return 0;
}

static void on_token(const Argosy__AccessTokenRecord *r) {
        Hash hash = {};
        unsigned number;

        if (r->hash.len == HASH_SIZE)
                memcpy(hash.bytes, r->hash.data, HASH_SIZE);
        number = token_number(&hash);
        log_truth.tokens[number].right = number > 0 ? r->right : ARGOSY__RIGHT__RIGHT_NONE;
        snprintf(log_truth.tokens[number].role, sizeof(log_truth.tokens[number].role), "%s", r->role);
}

// Its id is the beginning of its hash, in hex.
static void on_token_end(const char *id) {
        for (unsigned i = 1; i <= asks.n_tokens && i <= LOG_TOKENS_MAX; i++) {
                Hash proof = asks_token_proof(i), of = hash_of(proof.bytes, HASH_SIZE);
                char hex[HASH_HEX_SIZE];

                hash_hex(&of, HASH_SIZE, hex);
                if (strncmp(hex, id, strlen(id)) == 0)
                        log_truth.tokens[i].right = ARGOSY__RIGHT__RIGHT_NONE;
        }
}

// ------------------------------------------------------------------------------------------------ rollouts

static void on_rollout(const Argosy__RolloutRecord *r) {
        LogRollout *at;
        size_t i = 0;

        while (i < log_truth.n_rollouts && strcmp(log_truth.rollouts[i].name, r->name) != 0)
                i++;
        if (i == LOG_ROLLOUTS_MAX)
                return;
        at = &log_truth.rollouts[i];
        // Its revision is filled in by the applier when it begins, and is there from then on.
        *at = (LogRollout){.kind = r->kind,
                           .phase = r->phase,
                           .percent = r->percent,
                           .max_unavailable = r->max_unavailable,
                           .health_us = r->health_us,
                           .began = r->revision > 0 ? at->began : log_truth.n_entries};
        log_truth.n_rollouts += i == log_truth.n_rollouts;
        snprintf(at->name, sizeof(at->name), "%s", r->name);
        snprintf(at->secret, sizeof(at->secret), "%s", r->secret);
        if (r->spec.len == HASH_SIZE)
                memcpy(at->spec.bytes, r->spec.data, HASH_SIZE);
        if (r->spec_before.len == HASH_SIZE)
                memcpy(at->spec_before.bytes, r->spec_before.data, HASH_SIZE);
}

const LogRollout *log_rollout_of(const LogRollout *rollouts, unsigned unit) {
        for (size_t i = 0; i < log_truth.n_rollouts; i++)
                if (*rollouts[i].name &&
                    (rollouts[i].phase == ARGOSY__ROLLOUT_PHASE__ROLLOUT_RUNNING ||
                     rollouts[i].phase == ARGOSY__ROLLOUT_PHASE__ROLLOUT_RETURNING) &&
                    (strcmp(rollouts[i].name, asks.units[unit].file) == 0 ||
                     strcmp(rollouts[i].name, asks.units[unit].name) == 0))
                        return &rollouts[i];
        return NULL;
}

// ------------------------------------------------------------------------------------------------ units

static void note_touched(int unit, LogUnit before, LogUnit after) {
        if (log_truth.n_touched == LOG_TOUCHED_MAX)
                return;
        log_truth.touched[log_truth.n_touched++] =
                (struct LogTouched){.unit = (unsigned) unit, .before = before, .after = after};
}

static void on_unit(const Argosy__LogOp__UnitPut *put) {
        int i = world_unit_index(put->unit->name);
        LogUnit before, after;

        if (i < 0)
                return;
        before = log_truth.units[i];
        if (put->if_revision > 0 && (!before.exists || before.revision != put->if_revision))
                return;
        after = unit_of_record(put->unit);
        if (after.global)
                after.node = 0;
        after.made = before.made;
        log_truth.units[i] = after;
        note_touched(i, before, after);
}

static void on_unit_removed(const char *name) {
        int i = world_unit_index(name);

        if (i < 0 || !log_truth.units[i].exists)
                return;
        note_touched(i, log_truth.units[i], (LogUnit){});
        log_truth.units[i] = (LogUnit){};
}

// ------------------------------------------------------------------------------------------------ jobs

static void on_move(const Argosy__JobRecord *r, const Argosy__JobMove *move, const char *name) {
        struct LogMove *m = &log_truth.moves[log_truth.n_moves];
        int unit = world_unit_index(name);

        if (unit < 0 || log_truth.n_moves == LOG_TOUCHED_MAX)
                return;
        *m = (struct LogMove){.unit = (unsigned) unit, .cause = r->own, .host = r->own_host};
        snprintf(m->from, sizeof(m->from), "%s", move->from);
        snprintf(m->to, sizeof(m->to), "%s", move->to);
        snprintf(m->reason, sizeof(m->reason), "%s", move->reason);
        log_truth.n_moves++;
}

static void on_moves(const Argosy__JobRecord *r) {
        for (size_t i = 0; i < r->n_moves; i++)
                for (size_t k = 0; k < r->moves[i]->n_names; k++)
                        on_move(r, r->moves[i], r->moves[i]->names[k]);
}

static void begin_job(const Argosy__LogOp__JobPut *put) {
        LogJob *j = calloc(1, sizeof(*j));
        uint64_t number = ++log_truth.n_jobs, same;

        assert_non_null(j);
        assert_true(number < LOG_JOBS_MAX);
        j->entry = j->begun = log_truth.n_entries;
        j->own = put->job->own;
        j->host = put->job->host;
        j->uid = put->job->uid;
        j->parted = put->more || put->stored;
        j->state = put->job->state;
        for (size_t i = 0; put->stored && i < put->stored->n_after && i < LOG_WAITS_MAX; i++)
                j->waits_for[j->n_waits_for++] = log_place(put->stored->after[i]);
        j->by_hand = put->stored && (put->stored->by_hand || put->stored->n_after > LOG_WAITS_MAX);
        snprintf(j->user, sizeof(j->user), "%s", put->job->user);
        snprintf(j->verb, sizeof(j->verb), "%s", put->job->verb);
        if (put->id.len == LOG_ID_SIZE) {
                same = log_job_of(put->id.data);
                if (same)
                        check_fail("acknowledged-once",
                                   "jobs %" PRIu64 " of entry %" PRIu64 " and %" PRIu64 " of entry %" PRIu64
                                   " are of one request",
                                   same, (uint64_t) log_truth.jobs[same]->entry, number,
                                   (uint64_t) j->entry);
                memcpy(j->id, put->id.data, LOG_ID_SIZE);
                j->has_id = true;
        }
        log_truth.jobs[number] = j;
}

// One that is held has nothing that goes on.
static void call_off(uint64_t number) {
        LogJob *j = number <= log_truth.n_jobs ? log_truth.jobs[number] : NULL;

        if (j && j->state == ARGOSY__JOB_STATE__JOB_HELD)
                j->state = ARGOSY__JOB_STATE__JOB_CANCELLED;
}

// What was touched from `first` on is the job's.
static void on_job(const Argosy__LogOp__JobPut *put, size_t first) {
        uint64_t number = log_place(put->number);
        LogJob *j;

        log_truth.n_put++;
        if (put->number == 0) {
                begin_job(put);
                number = log_truth.n_jobs;
        } else if (number <= log_truth.n_jobs && log_truth.jobs[number]) {
                j = log_truth.jobs[number];
                j->parted = true;
                if (j->state == ARGOSY__JOB_STATE__JOB_HELD)
                        j->begun = log_truth.n_entries;
                j->resumed |= j->state != ARGOSY__JOB_STATE__JOB_RUNNING &&
                              j->state != ARGOSY__JOB_STATE__JOB_HELD;
                if (put->job->state != ARGOSY__JOB_STATE__JOB_UNKNOWN)
                        j->state = put->job->state;
        }
        for (size_t i = 0; i < put->n_cancels; i++)
                call_off(log_place(put->cancels[i]));
        j = number <= log_truth.n_jobs ? log_truth.jobs[number] : NULL;
        if (j && *put->job->rollout)
                snprintf(j->rollout, sizeof(j->rollout), "%s", put->job->rollout);
        if (put->job->own != ARGOSY__OWN_CAUSE__OWN_NONE)
                on_moves(put->job);
        for (size_t i = first; j && i < log_truth.n_touched; i++) {
                struct LogTouched *t = &log_truth.touched[i];

                t->asked = j->own == ARGOSY__OWN_CAUSE__OWN_NONE;
                t->job = number;
                t->goes_on = put->number != 0;
                if (!(j->touched & (1u << t->unit))) {
                        j->before[t->unit] = t->before;
                        j->touched_first[t->unit] = log_truth.n_put;
                }
                j->touched |= 1u << t->unit;
                j->touched_at[t->unit] = log_truth.n_put;
                j->after[t->unit] = t->after;
        }
}

static void on_ends(const Argosy__LogOp__JobEnds *m) {
        for (size_t i = 0; i < m->n_ends; i++) {
                uint64_t place = log_place(m->ends[i]->number);
                LogJob *j = place <= log_truth.n_jobs ? log_truth.jobs[place] : NULL;

                if (!j ||
                    (j->state != ARGOSY__JOB_STATE__JOB_RUNNING && j->state != ARGOSY__JOB_STATE__JOB_HELD))
                        continue; // it was said before
                j->state = m->ends[i]->state;
                if (log_truth.n_ended < LOG_TOUCHED_MAX)
                        log_truth.ended[log_truth.n_ended++] = place;
        }
}

// Nobody holds it any more but rules.
static void on_release(uint64_t number) {
        LogJob *j = number <= log_truth.n_jobs ? log_truth.jobs[number] : NULL;

        if (j) {
                j->by_hand = false;
                j->n_waits_for = 0;
        }
}

static void on_queue(const Argosy__QueueRecord *r) {
        log_truth.queue_is_closed = r->closed;
        log_truth.queue_has_rules = false;
        for (size_t i = 0; i < r->n_rules; i++)
                log_truth.queue_has_rules |= r->rules[i]->action != ARGOSY__QUEUE_ACTION__QUEUE_ACCEPT;
}

const WorldContent *log_content(const LogUnit *u) {
        return u->exists ? world_content_find(u->spec.bytes) : NULL;
}

bool log_was_touched_since(uint64_t job, unsigned unit) {
        for (uint64_t i = log_truth.first_job; i <= log_truth.n_jobs; i++)
                if (log_truth.jobs[i] &&
                    log_truth.jobs[i]->touched_at[unit] > log_truth.jobs[job]->touched_at[unit])
                        return true;
        return false;
}

// ------------------------------------------------------------------------------------------------ an entry

// What the applier fills in, from the state; and the rest must be there as it was read.
static void compare(unsigned i) {
        const Argosy__UnitRecord *r = asks_record(asks.units[i].name);
        LogUnit *u = &log_truth.units[i], is;

        if (!r != !u->exists)
                check_fail("records-are-the-log", "%s is %s the cluster, and the log says otherwise",
                           asks.units[i].name, r ? "in" : "not in");
        if (!r)
                return;
        is = unit_of_record(r);
        if (is.target != u->target || is.global != u->global || is.node != u->node ||
            memcmp(&is.spec, &u->spec, sizeof(is.spec)) != 0)
                check_fail("records-are-the-log", "the record of %s is not what the log has put",
                           asks.units[i].name);
        is.made = u->made ? u->made : is.revision;
        *u = is;
}

void log_on_entry(const Argosy__LogBatch *batch) {
        unsigned at[LOG_TOUCHED_MAX + 1]; // operation by which each of the touched was
        size_t first, seen = 0;

        log_truth.n_entries++;
        log_truth.n_touched = log_truth.n_moves = log_truth.n_ended = 0;
        memcpy(log_truth.units_before, log_truth.units, sizeof(log_truth.units));
        memcpy(log_truth.rollouts_before, log_truth.rollouts,
               log_truth.n_rollouts * sizeof(*log_truth.rollouts));
        memcpy(log_truth.grants_before, log_truth.grants, log_truth.n_grants * sizeof(*log_truth.grants));
        log_truth.n_grants_before = log_truth.n_grants;
        for (size_t i = 0; i < batch->n_ops; i++) {
                const Argosy__LogOp *op = batch->ops[i];

                switch (op->op_case) {
                case ARGOSY__LOG_OP__OP_UNIT:
                        on_unit(op->unit);
                        break;
                case ARGOSY__LOG_OP__OP_UNIT_REMOVE:
                        on_unit_removed(op->unit_remove->name);
                        break;
                case ARGOSY__LOG_OP__OP_GRANT:
                        on_grant(op->grant, true);
                        break;
                case ARGOSY__LOG_OP__OP_GRANT_REMOVE:
                        on_grant(op->grant_remove, false);
                        break;
                case ARGOSY__LOG_OP__OP_HOST_REMOVE:
                        on_host_removed(op->host_remove->host);
                        break;
                case ARGOSY__LOG_OP__OP_ACCESS_TOKEN:
                        on_token(op->access_token);
                        break;
                case ARGOSY__LOG_OP__OP_ACCESS_TOKEN_END:
                        on_token_end(op->access_token_end->id);
                        break;
                case ARGOSY__LOG_OP__OP_ROLLOUT:
                        on_rollout(op->rollout);
                        break;
                case ARGOSY__LOG_OP__OP_STORED_RELEASE:
                        on_release(log_place(op->stored_release->job));
                        break;
                case ARGOSY__LOG_OP__OP_QUEUE:
                        on_queue(op->queue);
                        break;
                case ARGOSY__LOG_OP__OP_CLUSTER:
                        on_cluster(op->cluster);
                        break;
                case ARGOSY__LOG_OP__OP_JOB_ENDS:
                        on_ends(op->job_ends);
                        break;
                case ARGOSY__LOG_OP__OP_JOB:
                        first = log_truth.n_touched;
                        while (first > 0 && at[first - 1] + op->job->n_ops >= i &&
                               !log_truth.touched[first - 1].job)
                                first--;
                        on_job(op->job, first);
                        break;
                default:
                        break;
                }
                for (; seen < log_truth.n_touched; seen++)
                        at[seen] = (unsigned) i;
        }
        for (size_t i = 0; i < log_truth.n_touched; i++)
                compare(log_truth.touched[i].unit);
        if (log_truth.n_touched > 0)
                check_says("records-are-the-log");
        if (last_number() != cluster_state_last_job(asks.port->state()))
                check_fail("records-are-the-log",
                           "the last job of the log is %" PRIu64 ", and the state's is %" PRIu64,
                           last_number(), cluster_state_last_job(asks.port->state()));
}
