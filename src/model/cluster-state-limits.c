// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which operations of the log are carried out: see cluster-state-limits.h. A row for each kind of operation,
// also for those that nothing can stand against; what is done to the state is in cluster-state-apply.c and
// asks here first.
//
// What changes nothing since it is so already (a unit that is removed twice, a right that is given again) is
// not refused, and neither is what is about something that has gone on meanwhile (if_revision, the outcome
// of an earlier start).

#include "cluster-state-limits.h"

#include <string.h>

#include "access-token.h"
#include "author.h"
#include "cluster-state-private.h"
#include "str.h"
#include "unit-options.h"

typedef struct Row {
        ClusterRefusal (*judge)(const ClusterState *s, const ClusterHeld *held, const Argosy__LogOp *op);
        // What one more of them changes; NULL: nothing that is counted.
        void (*count)(const ClusterState *s, const Argosy__LogOp *op, int64_t more[CLUSTER_REFUSALS]);
} Row;

static ClusterRefusal taken(const ClusterState *s, const ClusterHeld *held, const Argosy__LogOp *op) {
        return REFUSAL_NONE;
}

// What the cluster has set for itself is no more than that.
static size_t max_of(const ClusterState *s, ClusterRefusal limit) {
        size_t max = s->refused.limits[limit];

        return limit == REFUSAL_FILES_BYTES ? MIN_OF(max, cluster_state_files_limit(s)) : max;
}

// Whether `n` more fit beside those that are there.
static ClusterRefusal room(const ClusterState *s, const ClusterHeld *held, ClusterRefusal limit,
                           size_t there, size_t n) {
        int64_t all = (int64_t) there + held->more[limit] + (int64_t) n;

        return all > (int64_t) max_of(s, limit) ? limit : REFUSAL_NONE;
}

// ------------------------------------------------------------------------------------------------ units

static bool is_name(const char *name) {
        size_t len = strlen(name);

        return len > 0 && len <= UNIT_NAME_MANAGED_MAX;
}

// What an entry brings has its files before it, in that entry or in the state. *ret: as it is in the state;
// NULL: it is not.
static bool find_content(const ClusterState *s, const ClusterHeld *held, const ProtobufCBinaryData *field,
                         const SpecEntry **ret) {
        Hash hash;

        *ret = NULL;
        if (!hash_from_bytes(field->data, field->len, &hash))
                return false;
        *ret = cluster_state_find_spec(s, &hash);
        return (*ret && cluster_state_has_files_of(s, *ret)) ||
               (held->has_spec && held->has_spec(&hash, held->userdata));
}

static bool has_content(const ClusterState *s, const ClusterHeld *held, const ProtobufCBinaryData *field) {
        const SpecEntry *spec;

        return find_content(s, held, field, &spec);
}

static size_t file_bytes(const ClusterState *s, const Argosy__LogOp *op) {
        Hash hash;

        return op->spec->file && hash_from_bytes(op->spec->hash.data, op->spec->hash.len, &hash) &&
                               !cluster_state_find_spec(s, &hash)
                       ? op->spec->content.len
                       : 0;
}

static ClusterRefusal judge_spec(const ClusterState *s, const ClusterHeld *held, const Argosy__LogOp *op) {
        if (op->spec->hash.len != HASH_SIZE)
                return REFUSAL_CONTENT;
        return room(s, held, REFUSAL_FILES_BYTES, cluster_state_files_bytes(s), file_bytes(s, op));
}

static void count_spec(const ClusterState *s, const Argosy__LogOp *op, int64_t more[CLUSTER_REFUSALS]) {
        more[REFUSAL_FILES_BYTES] += (int64_t) file_bytes(s, op);
}

// What is about one that was there is skipped without it.
static bool is_new_unit(const ClusterState *s, const Argosy__LogOp *op) {
        return op->unit->if_revision == 0 && !cluster_state_find_unit(s, op->unit->unit->name);
}

static ClusterRefusal judge_unit(const ClusterState *s, const ClusterHeld *held, const Argosy__LogOp *op) {
        const Argosy__UnitRecord *record = op->unit->unit;
        const SpecEntry *spec;
        ClusterRefusal full;
        size_t bytes;

        if (!record)
                return REFUSAL_EMPTY;
        if (!is_name(record->name) || strlen(record->set) > CLUSTER_SET_NAME_MAX)
                return REFUSAL_LENGTH;
        if (!find_content(s, held, &record->spec, &spec))
                return REFUSAL_CONTENT;
        // one of before, which is to be a unit's again
        bytes = spec ? cluster_state_files_bytes_to_come(s, spec) : 0;
        if (bytes > 0 &&
            room(s, held, REFUSAL_FILES_BYTES, cluster_state_files_bytes(s), bytes) != REFUSAL_NONE)
                return REFUSAL_FILES_BYTES;
        full = room(s, held, REFUSAL_UNITS, s->units.count, 1);
        return full != REFUSAL_NONE && is_new_unit(s, op) ? full : REFUSAL_NONE; // mostly there is room
}

static void count_unit(const ClusterState *s, const Argosy__LogOp *op, int64_t more[CLUSTER_REFUSALS]) {
        more[REFUSAL_UNITS] += is_new_unit(s, op);
}

static ClusterRefusal judge_unit_remove(const ClusterState *s, const ClusterHeld *held,
                                        const Argosy__LogOp *op) {
        return cluster_state_find_unit(s, op->unit_remove->name)
                       ? room(s, held, REFUSAL_TOMBSTONES, cluster_state_n_tombstones(s),
                              op->unit_remove->n_nodes)
                       : REFUSAL_NONE;
}

static void count_unit_remove(const ClusterState *s, const Argosy__LogOp *op,
                              int64_t more[CLUSTER_REFUSALS]) {
        if (!cluster_state_find_unit(s, op->unit_remove->name))
                return;
        more[REFUSAL_UNITS]--;
        more[REFUSAL_TOMBSTONES] += (int64_t) op->unit_remove->n_nodes;
}

static ClusterRefusal judge_tombstone(const ClusterState *s, const ClusterHeld *held,
                                      const Argosy__LogOp *op) {
        return is_name(op->tombstone->name) ? room(s, held, REFUSAL_TOMBSTONES,
                                                   cluster_state_n_tombstones(s), op->tombstone->n_nodes)
                                            : REFUSAL_LENGTH;
}

static void count_tombstone(const ClusterState *s, const Argosy__LogOp *op, int64_t more[CLUSTER_REFUSALS]) {
        more[REFUSAL_TOMBSTONES] += (int64_t) op->tombstone->n_nodes;
}

// ------------------------------------------------------------------------------------------------ hosts

// The node number was given to this host before (`before` NULL: a new host), or is to be given now; and
// stands there once.
static bool node_fits(const Argosy__HostRecord *record, size_t i, const Argosy__HostRecord *before) {
        uint32_t node = record->nodes[i]->node;
        bool known = false;

        if (node == 0)
                return true;
        for (size_t k = 0; before && k < before->n_nodes; k++)
                known |= before->nodes[k]->node == node;
        for (size_t k = 0; k < i; k++)
                known &= record->nodes[k]->node != node;
        return known;
}

static bool host_fits(const ClusterState *s, const Argosy__HostRecord *record,
                      const Argosy__HostRecord *before) {
        const Argosy__HostRecord *same_pin = NULL;

        if (record->host > 0 ? !before : s->last_host == UINT32_MAX)
                return false;
        if (record->n_nodes > UINT32_MAX - s->last_node)
                return false;
        for (size_t i = 0; i < record->n_nodes; i++)
                if (!node_fits(record, i, before))
                        return false;
        if (record->key_pin.len == HASH_SIZE)
                same_pin = map_find(&s->pins, record->key_pin.data, HASH_SIZE);
        if (same_pin && same_pin != before)
                return false;
        return record->raft_id == 0 || record->raft_id > s->last_raft_id ||
               (before && record->raft_id == before->raft_id);
}

static ClusterRefusal judge_host(const ClusterState *s, const ClusterHeld *held, const Argosy__LogOp *op) {
        if (!host_fits(s, op->host, cluster_state_find_host(s, op->host->host)))
                return REFUSAL_HOST;
        return op->host->host > 0 ? REFUSAL_NONE : room(s, held, REFUSAL_HOSTS, s->n_hosts, 1);
}

static void count_host(const ClusterState *s, const Argosy__LogOp *op, int64_t more[CLUSTER_REFUSALS]) {
        more[REFUSAL_HOSTS] += op->host->host == 0;
}

static void count_host_remove(const ClusterState *s, const Argosy__LogOp *op,
                              int64_t more[CLUSTER_REFUSALS]) {
        more[REFUSAL_HOSTS] -= cluster_state_find_host(s, op->host_remove->host) != NULL;
}

static ClusterRefusal judge_join_token(const ClusterState *s, const ClusterHeld *held,
                                       const Argosy__LogOp *op) {
        size_t n = cluster_state_n_tokens_kept(s, held->counted_us);

        return cluster_state_find_token(s, op->token->id) ? REFUSAL_NONE
                                                          : room(s, held, REFUSAL_JOIN_TOKENS, n, 1);
}

static void count_join_token(const ClusterState *s, const Argosy__LogOp *op,
                             int64_t more[CLUSTER_REFUSALS]) {
        more[REFUSAL_JOIN_TOKENS] += !cluster_state_find_token(s, op->token->id);
}

// --------------------------------------------------------------------------------------------- small tables

static ClusterRefusal judge_rollout(const ClusterState *s, const ClusterHeld *held,
                                    const Argosy__LogOp *op) {
        const Argosy__RolloutRecord *r = op->rollout;
        size_t n = 0;

        if (!is_name(r->name))
                return REFUSAL_LENGTH;
        if ((r->spec.len > 0 && !has_content(s, held, &r->spec)) ||
            (r->spec_before.len > 0 && !has_content(s, held, &r->spec_before)))
                return REFUSAL_CONTENT;
        if (cluster_state_find_rollout(s, r->name) ||
            !room(s, held, REFUSAL_ROLLOUTS, s->n_rollouts, 1)) // others go for it that have ended
                return REFUSAL_NONE;
        for (size_t i = 0; i < s->n_rollouts; i++)
                n += rollout_is_under_way(s->rollouts[i]);
        return room(s, held, REFUSAL_ROLLOUTS, n, 1);
}

static void count_rollout(const ClusterState *s, const Argosy__LogOp *op, int64_t more[CLUSTER_REFUSALS]) {
        const Argosy__RolloutRecord *before = cluster_state_find_rollout(s, op->rollout->name);

        more[REFUSAL_ROLLOUTS] +=
                (int64_t) rollout_is_under_way(op->rollout) - (int64_t) rollout_is_under_way(before);
}

static bool is_word(const char *name) {
        size_t len = strlen(name);

        return len > 0 && len <= LABEL_MAX;
}

static ClusterRefusal judge_role(const ClusterState *s, const ClusterHeld *held, const Argosy__LogOp *op) {
        if (!is_word(op->role->name))
                return REFUSAL_LENGTH;
        return cluster_state_find_role(s, op->role->name) ? REFUSAL_NONE
                                                          : room(s, held, REFUSAL_ROLES, s->n_roles, 1);
}

static void count_role(const ClusterState *s, const Argosy__LogOp *op, int64_t more[CLUSTER_REFUSALS]) {
        more[REFUSAL_ROLES] += !cluster_state_find_role(s, op->role->name);
}

static void count_role_remove(const ClusterState *s, const Argosy__LogOp *op,
                              int64_t more[CLUSTER_REFUSALS]) {
        more[REFUSAL_ROLES] -= cluster_state_find_role(s, op->role_remove->name) != NULL;
}

static ClusterRefusal judge_pool(const ClusterState *s, const ClusterHeld *held, const Argosy__LogOp *op) {
        if (!is_word(op->pool->name))
                return REFUSAL_LENGTH;
        return cluster_state_find_pool(s, op->pool->name) ? REFUSAL_NONE
                                                          : room(s, held, REFUSAL_POOLS, s->n_pools, 1);
}

static void count_pool(const ClusterState *s, const Argosy__LogOp *op, int64_t more[CLUSTER_REFUSALS]) {
        more[REFUSAL_POOLS] += !cluster_state_find_pool(s, op->pool->name);
}

static void count_pool_remove(const ClusterState *s, const Argosy__LogOp *op,
                              int64_t more[CLUSTER_REFUSALS]) {
        more[REFUSAL_POOLS] -= cluster_state_find_pool(s, op->pool_remove->name) != NULL;
}

// ------------------------------------------------------------------------------------------------ rights

static ClusterRefusal judge_grant(const ClusterState *s, const ClusterHeld *held, const Argosy__LogOp *op) {
        const Argosy__GrantRecord *g = op->grant;

        if (!*g->user == !*g->group)
                return REFUSAL_EMPTY;
        if (strlen(g->user) > AUTHOR_NAME_MAX || strlen(g->group) > AUTHOR_NAME_MAX ||
            strlen(g->role) > LABEL_MAX)
                return REFUSAL_LENGTH;
        if (g->host > 0 && !cluster_state_find_host(s, g->host))
                return REFUSAL_HOST;
        return state_has_grant(s, g) ? REFUSAL_NONE
                                     : room(s, held, REFUSAL_GRANTS, cluster_state_access(s).n, 1);
}

static void count_grant(const ClusterState *s, const Argosy__LogOp *op, int64_t more[CLUSTER_REFUSALS]) {
        more[REFUSAL_GRANTS] += !state_has_grant(s, op->grant);
}

static void count_grant_remove(const ClusterState *s, const Argosy__LogOp *op,
                               int64_t more[CLUSTER_REFUSALS]) {
        more[REFUSAL_GRANTS] -= state_has_grant(s, op->grant_remove);
}

static ClusterRefusal judge_access_token(const ClusterState *s, const ClusterHeld *held,
                                         const Argosy__LogOp *op) {
        size_t n = 0;

        if (!state_access_token_fits(op->access_token))
                return REFUSAL_LENGTH;
        if (state_has_access_token(s, op->access_token->id))
                return REFUSAL_TWICE;
        if (!room(s, held, REFUSAL_ACCESS_TOKENS, s->n_access_tokens, 1)) // others go for it that are over
                return REFUSAL_NONE;
        for (size_t i = 0; i < s->n_access_tokens; i++)
                n += access_token_end_counted_us(s->access_tokens[i]) > held->counted_us;
        return room(s, held, REFUSAL_ACCESS_TOKENS, n, 1);
}

static void count_access_token(const ClusterState *s, const Argosy__LogOp *op,
                               int64_t more[CLUSTER_REFUSALS]) {
        more[REFUSAL_ACCESS_TOKENS]++;
}

static ClusterRefusal judge_access_token_end(const ClusterState *s, const ClusterHeld *held,
                                             const Argosy__LogOp *op) {
        if (op->access_token_end->at_us == 0)
                return REFUSAL_EMPTY;
        return strlen(op->access_token_end->by) > CLUSTER_ACCESS_TOKEN_BY_MAX ? REFUSAL_LENGTH
                                                                              : REFUSAL_NONE;
}

// ------------------------------------------------------------------------------------------------ secrets

static ClusterRefusal judge_secret(const ClusterState *s, const ClusterHeld *held, const Argosy__LogOp *op) {
        const Argosy__SecretRecord *there = cluster_state_find_secret(s, op->secret->name);
        ClusterRefusal full = there ? REFUSAL_NONE : room(s, held, REFUSAL_SECRETS, s->n_secrets, 1);

        if (!state_secret_fits(op->secret))
                return REFUSAL_LENGTH;
        if (!state_secret_follows(s, op->secret))
                return REFUSAL_TWICE;
        if (there && there->n_versions >= CLUSTER_SECRET_VERSIONS_MAX)
                return REFUSAL_SECRET_VERSIONS;
        return full
                       ?: room(s, held, REFUSAL_SECRET_BYTES, s->secrets_bytes,
                               op->secret->version->sealed.len);
}

static void count_secret(const ClusterState *s, const Argosy__LogOp *op, int64_t more[CLUSTER_REFUSALS]) {
        more[REFUSAL_SECRETS] += !cluster_state_find_secret(s, op->secret->name);
        more[REFUSAL_SECRET_BYTES] += (int64_t) op->secret->version->sealed.len;
}

static void count_secret_remove(const ClusterState *s, const Argosy__LogOp *op,
                                int64_t more[CLUSTER_REFUSALS]) {
        more[REFUSAL_SECRETS] -= cluster_state_find_secret(s, op->secret_remove->name) != NULL;
}

static ClusterRefusal judge_secret_reseal(const ClusterState *s, const ClusterHeld *held,
                                          const Argosy__LogOp *op) {
        return state_reseal_fits(s, op->secret_reseal) ? REFUSAL_NONE : REFUSAL_CONTENT;
}

// --------------------------------------------------------------------------------------- jobs and the queue

static ClusterRefusal judge_queue(const ClusterState *s, const ClusterHeld *held, const Argosy__LogOp *op) {
        size_t bytes = argosy__queue_record__get_packed_size(op->queue);

        return room(s, held, REFUSAL_QUEUE_RULES, op->queue->n_rules, 0)
                       ?: room(s, held, REFUSAL_QUEUE_BYTES, bytes, 0);
}

static bool is_stored(const Argosy__LogOp__JobPut *put) {
        return put->job && put->number == 0 && put->stored && put->job->state == ARGOSY__JOB_STATE__JOB_HELD;
}

static ClusterRefusal judge_job(const ClusterState *s, const ClusterHeld *held, const Argosy__LogOp *op) {
        const Argosy__LogOp__JobPut *put = op->job;

        if (!put->job)
                return REFUSAL_EMPTY;
        if (!is_stored(put))
                return REFUSAL_NONE;
        if (put->stored->request.len > CLUSTER_STORED_REQUEST_MAX ||
            put->stored->n_after > CLUSTER_STORED_AFTER_MAX)
                return REFUSAL_LENGTH;
        return room(s, held, REFUSAL_STORED_REQUESTS, s->stored.n, 1)
                       ?: room(s, held, REFUSAL_STORED_BYTES, s->stored.bytes, put->stored->request.len);
}

static void count_job(const ClusterState *s, const Argosy__LogOp *op, int64_t more[CLUSTER_REFUSALS]) {
        if (!is_stored(op->job))
                return;
        more[REFUSAL_STORED_REQUESTS]++;
        more[REFUSAL_STORED_BYTES] += (int64_t) op->job->stored->request.len;
}

// ------------------------------------------------------------------------------------------------ the table

static const Row rows[] = {
        [ARGOSY__LOG_OP__OP_CLUSTER] = {taken},
        [ARGOSY__LOG_OP__OP_SPEC] = {judge_spec, count_spec},
        [ARGOSY__LOG_OP__OP_UNIT] = {judge_unit, count_unit},
        [ARGOSY__LOG_OP__OP_UNIT_REMOVE] = {judge_unit_remove, count_unit_remove},
        [ARGOSY__LOG_OP__OP_HOST] = {judge_host, count_host},
        [ARGOSY__LOG_OP__OP_HOST_REMOVE] = {taken, count_host_remove},
        [ARGOSY__LOG_OP__OP_TOKEN] = {judge_join_token, count_join_token},
        [ARGOSY__LOG_OP__OP_TOKEN_REMOVE] = {taken},
        [ARGOSY__LOG_OP__OP_OUTCOME] = {taken},
        [ARGOSY__LOG_OP__OP_ROLLOUT] = {judge_rollout, count_rollout},
        [ARGOSY__LOG_OP__OP_ROLE] = {judge_role, count_role},
        [ARGOSY__LOG_OP__OP_ROLE_REMOVE] = {taken, count_role_remove},
        [ARGOSY__LOG_OP__OP_POOL] = {judge_pool, count_pool},
        [ARGOSY__LOG_OP__OP_POOL_REMOVE] = {taken, count_pool_remove},
        [ARGOSY__LOG_OP__OP_TOMBSTONE] = {judge_tombstone, count_tombstone},
        [ARGOSY__LOG_OP__OP_TOMBSTONE_CLEAR] = {taken},
        [ARGOSY__LOG_OP__OP_JOB] = {judge_job, count_job},
        [ARGOSY__LOG_OP__OP_GRANT] = {judge_grant, count_grant},
        [ARGOSY__LOG_OP__OP_GRANT_REMOVE] = {taken, count_grant_remove},
        [ARGOSY__LOG_OP__OP_JOB_ENDS] = {taken},
        [ARGOSY__LOG_OP__OP_SPEC_FORGET] = {taken},
        [ARGOSY__LOG_OP__OP_STORED_RELEASE] = {taken},
        [ARGOSY__LOG_OP__OP_QUEUE] = {judge_queue},
        [ARGOSY__LOG_OP__OP_ACCESS_TOKEN] = {judge_access_token, count_access_token},
        [ARGOSY__LOG_OP__OP_ACCESS_TOKEN_END] = {judge_access_token_end},
        [ARGOSY__LOG_OP__OP_ACCESS_TOKEN_USES] = {taken},
        [ARGOSY__LOG_OP__OP_TIME_SET] = {taken},
        [ARGOSY__LOG_OP__OP_SECRET] = {judge_secret, count_secret},
        [ARGOSY__LOG_OP__OP_SECRET_REMOVE] = {taken, count_secret_remove},
        [ARGOSY__LOG_OP__OP_SECRET_PRUNE] = {taken},
        [ARGOSY__LOG_OP__OP_SECRET_RESEAL] = {judge_secret_reseal},
};

bool cluster_op_is_judged(Argosy__LogOp__OpCase what) {
        return (size_t) what < ELEMENTSOF(rows) && rows[what].judge;
}

ClusterRefusal cluster_state_judge(const ClusterState *s, const ClusterHeld *held, const Argosy__LogOp *op) {
        return cluster_op_is_judged(op->op_case) ? rows[op->op_case].judge(s, held, op) : REFUSAL_EMPTY;
}

void cluster_held_add(ClusterHeld *held, const ClusterState *s, const Argosy__LogOp *op) {
        if (cluster_op_is_judged(op->op_case) && rows[op->op_case].count)
                rows[op->op_case].count(s, op, held->more);
}

// ------------------------------------------------------------------------------------------------ words

#define LIMIT_ROW(NAME, MAX, WHAT) [REFUSAL_##NAME] = {.max = (MAX), .words = WHAT},
#define CONTRADICTION_ROW(NAME, WORDS) [REFUSAL_##NAME] = {.words = WORDS},
static const struct {
        size_t max; // 0: it is no limit
        const char *words;
} refusals[CLUSTER_REFUSALS] = {CLUSTER_LIMITS(LIMIT_ROW) CLUSTER_CONTRADICTIONS(CONTRADICTION_ROW)};

const char *cluster_refusal_words(const ClusterState *s, ClusterRefusal refusal,
                                  char ret[CLUSTER_REFUSAL_SIZE]) {
        if (refusal == REFUSAL_FILES_BYTES)
                str_fit(ret, CLUSTER_REFUSAL_SIZE,
                        "there are as many %s as there may be (%zu, argosyctl files limit): larger things "
                        "are images or packages",
                        refusals[refusal].words, max_of(s, refusal));
        else if (refusals[refusal].max > 0)
                str_fit(ret, CLUSTER_REFUSAL_SIZE, "there are as many %s as there may be (%zu)",
                        refusals[refusal].words, s->refused.limits[refusal]);
        else
                str_fit(ret, CLUSTER_REFUSAL_SIZE, "%s", refusals[refusal].words ?: "");
        return ret;
}

void state_limits_init(ClusterState *s) {
        for (size_t i = 0; i < CLUSTER_REFUSALS; i++)
                s->refused.limits[i] = refusals[i].max;
}

void cluster_state_set_limit(ClusterState *s, ClusterRefusal limit, size_t max) {
        s->refused.limits[limit] = max;
}

// ---------------------------------------------------------------------------- what was refused all the same

const char *cluster_op_subject(const Argosy__LogOp *op) {
        switch (op->op_case) {
        case ARGOSY__LOG_OP__OP_UNIT:
                return op->unit->unit ? op->unit->unit->name : "a unit";
        case ARGOSY__LOG_OP__OP_UNIT_REMOVE:
                return op->unit_remove->name;
        case ARGOSY__LOG_OP__OP_TOMBSTONE:
                return op->tombstone->name;
        case ARGOSY__LOG_OP__OP_ROLLOUT:
                return op->rollout->name;
        case ARGOSY__LOG_OP__OP_ROLE:
                return op->role->name;
        case ARGOSY__LOG_OP__OP_POOL:
                return op->pool->name;
        case ARGOSY__LOG_OP__OP_HOST:
                return op->host->name;
        case ARGOSY__LOG_OP__OP_GRANT:
                return *op->grant->user ? op->grant->user : op->grant->group;
        case ARGOSY__LOG_OP__OP_ACCESS_TOKEN:
                return op->access_token->name;
        case ARGOSY__LOG_OP__OP_SECRET:
                return op->secret->name;
        case ARGOSY__LOG_OP__OP_SECRET_RESEAL:
                return op->secret_reseal->name;
        case ARGOSY__LOG_OP__OP_SPEC:
                return "a file";
        case ARGOSY__LOG_OP__OP_TOKEN:
                return "a join token";
        case ARGOSY__LOG_OP__OP_ACCESS_TOKEN_END:
                return "the end of an access token";
        case ARGOSY__LOG_OP__OP_QUEUE:
                return "the rules of the queue";
        case ARGOSY__LOG_OP__OP_JOB:
                return "a job";
        default:
                return "an operation";
        }
}

void state_note_refused(ClusterState *s, const Argosy__LogOp *op, ClusterRefusal refusal) {
        uint64_t n = s->refused.n++;
        ClusterRefused *at = &s->refused.last[n % REFUSED_KEPT];

        *at = (ClusterRefused){.refusal = refusal};
        str_fit(at->what, sizeof(at->what), "%s", cluster_op_subject(op));
        s->refused.reported = MAX_OF(s->refused.reported, n + 1 > REFUSED_KEPT ? n + 1 - REFUSED_KEPT : 0);
}

const ClusterRefused *cluster_state_next_refused(ClusterState *s) {
        return s->refused.reported < s->refused.n ? &s->refused.last[s->refused.reported++ % REFUSED_KEPT]
                                                  : NULL;
}
