// SPDX-License-Identifier: LGPL-2.1-or-later

// What a committed batch does to the replicated state. Each operation is judged first
// (cluster-state-limits.h): one that is refused changes nothing, the same on every voter, and is noted. One
// that is not raises the revision by one, unless it changes nothing; include/cluster-state.h says which do
// not. Functions return 0, and -ENOMEM.

#include <errno.h>

#include "cluster-state-private.h"
#include "message.h"

static void hosts_changed(ClusterState *s) {
        s->hosts_revision = ++s->revision;
}

static int mark_dirty(ClusterState *s, UnitEntry *u) {
        if (u->dirty)
                return 0;
        u->node_before = u->record->node;
        u->global_before = u->record->global;
        u->existed = true;
        return state_note_dirty(s, u);
}

// ------------------------------------------------------------------------------------------------ units

// The record as it was put, with what the applier fills in, but without name and outcomes. NULL: out of
// memory.
static Argosy__UnitRecord *make_record(const Argosy__LogOp__UnitPut *put, const Argosy__UnitRecord *before,
                                       uint64_t revision) {
        Argosy__UnitRecord record = *put->unit; // borrows what that points to
        Argosy__UnitExtra extra = ARGOSY__UNIT_EXTRA__INIT;

        record.revision = revision;
        record.start_rev = put->bump_start ? revision : before ? before->start_rev : 0;
        record.restart_rev = put->bump_restart ? revision : before ? before->restart_rev : 0;
        record.stop_rev = put->bump_stop ? revision : before ? before->stop_rev : 0;
        if (record.global)
                record.node = 0;
        if (put->bump_secrets) {
                if (record.extra)
                        extra = *record.extra;
                extra.secrets = revision;
                record.extra = &extra;
        }
        if (before)
                record.name = (char *) protobuf_c_empty_string; // it has that one's
        record.outcomes = NULL;
        record.n_outcomes = 0;
        return message_copy(&record);
}

static int put_unit(ClusterState *s, const Argosy__LogOp__UnitPut *put) {
        UnitEntry *u = cluster_state_find_unit(s, put->unit->name);
        Argosy__UnitRecord *record;
        SpecEntry *spec;
        Hash hash;
        int r;

        if (put->if_revision > 0 && (!u || u->record->revision != put->if_revision))
                return 0; // on purpose: it is about what was there
        (void) hash_from_bytes(put->unit->spec.data, put->unit->spec.len, &hash);
        spec = cluster_state_find_spec(s, &hash);

        record = make_record(put, u ? u->record : NULL, s->revision + 1);
        if (!record)
                return -ENOMEM;
        s->revision++;
        if (u) {
                r = mark_dirty(s, u);
                if (r < 0) {
                        message_free(record);
                        return r;
                }
                return state_replace_unit(s, u, record,
                                          !put->bump_start && u->record->global == record->global, spec);
        }
        r = state_add_unit(s, record, spec, &u);
        if (r < 0) {
                message_free(record);
                return r;
        }
        return state_note_dirty(s, u);
}

static int remove_unit(ClusterState *s, const Argosy__LogOp__UnitRemove *remove) {
        UnitEntry *u = cluster_state_find_unit(s, remove->name);
        Argosy__UnitRecord *last;
        int r;

        if (!u)
                return 0;
        r = state_put_tombstones(s, remove->name, remove->nodes, remove->n_nodes, remove->fence_us,
                                 s->revision + 1);
        if (r == 0)
                r = mark_dirty(s, u);
        last = r < 0 ? NULL : state_make_twin(u);
        if (!last)
                return -ENOMEM;
        last->target = ARGOSY__TARGET__TARGET_INACTIVE;
        // which is the content's, and that may be gone before the entry
        last->spec = (ProtobufCBinaryData){};
        last->revision = ++s->revision;
        r = state_put_twin(s, u, last);
        if (r == 0)
                r = state_take_unit(s, u);
        if (r < 0)
                return r;
        u->removed = true;
        return 0;
}

static int put_tombstones(ClusterState *s, const Argosy__LogOp__TombstonePut *put) {
        s->revision++;
        return state_put_tombstones(s, put->name, put->nodes, put->n_nodes, put->fence_us, s->revision);
}

static int clear_tombstones(ClusterState *s, const Argosy__LogOp__TombstoneClear *clear) {
        const Argosy__HostRecord *host = cluster_state_find_host(s, clear->host);
        size_t n = 0;
        int r = 0;

        for (size_t i = 0; r == 0 && host && i < host->n_nodes; i++)
                r = state_clear_tombstones(s, host->nodes[i]->node, clear->revision, clear->fence_us, &n);
        s->revision += n > 0;
        return r;
}

static int put_outcome(ClusterState *s, const Argosy__LogOp__OutcomePut *put) {
        UnitEntry *u = cluster_state_find_unit(s, put->name);
        int r;

        if (!u || !put->outcome || put->outcome->start_rev != u->record->start_rev ||
            (u->record->global && !cluster_state_find_host_by_node(s, put->outcome->node)))
                return 0;
        r = mark_dirty(s, u);
        s->revision++;
        return r < 0 ? r : state_put_outcome(s, u, put->outcome);
}

// 1: it is not the content that its hash says.
static int put_spec(ClusterState *s, const Argosy__Spec *spec) {
        Hash hash, actual = hash_of(spec->content.data, spec->content.len);
        uint8_t *content;
        int r;

        if (!hash_from_bytes(spec->hash.data, spec->hash.len, &hash) || !hash_equal(&hash, &actual))
                return 1;
        if (cluster_state_find_spec(s, &hash))
                return 0;
        content = malloc(spec->content.len + 1);
        if (!content)
                return -ENOMEM;
        memcpy(content, spec->content.data ?: (const uint8_t *) "", spec->content.len);
        r = state_add_spec(s, &hash, content, spec->content.len);
        if (r < 0)
                free(content);
        else
                s->revision++;
        return r;
}

static int forget_specs(ClusterState *s, const Argosy__LogOp__SpecForget *forget) {
        size_t n = 0;
        int r = 0;

        for (size_t i = 0; r == 0 && i < forget->n_hashes; i++) {
                Hash hash;

                if (hash_from_bytes(forget->hashes[i].data, forget->hashes[i].len, &hash))
                        r = state_forget_spec(s, &hash, &n);
        }
        s->revision += n > 0;
        return r;
}

// ------------------------------------------------------------------------------------------------ hosts

static bool has_node(const Argosy__HostRecord *record, uint32_t node) {
        for (size_t i = 0; record && i < record->n_nodes; i++)
                if (record->nodes[i]->node == node)
                        return true;
        return false;
}

// What ran on nodes that the host has no more is gone with them. `next` NULL: it is removed.
static int drop_tombstones_of(ClusterState *s, const Argosy__HostRecord *before,
                              const Argosy__HostRecord *next) {
        size_t n = 0;
        int r = 0;

        for (size_t i = 0; r == 0 && i < before->n_nodes; i++)
                if (!has_node(next, before->nodes[i]->node))
                        r = state_clear_tombstones(s, before->nodes[i]->node, UINT64_MAX, 0, &n);
        return r;
}

static bool votes(const Argosy__HostRecord *host) {
        return host && host->role == ARGOSY__HOST_ROLE__ROLE_VOTER;
}

static bool gets_log(const Argosy__HostRecord *host) {
        return votes(host) || (host && host->raft_id > 0);
}

static void note_vote(ClusterState *s, bool changed) {
        if (changed)
                s->voters_revision = s->revision;
}

static int put_host(ClusterState *s, const Argosy__HostRecord *host) {
        const Argosy__HostRecord *before = cluster_state_find_host(s, host->host);
        Argosy__HostRecord *record;
        int r;

        record = message_copy(host);
        if (!record)
                return -ENOMEM;
        for (size_t i = 0; i < record->n_nodes; i++)
                if (record->nodes[i]->node == 0)
                        record->nodes[i]->node = ++s->last_node;
        s->last_raft_id = MAX_OF(s->last_raft_id, record->raft_id);
        hosts_changed(s);
        note_vote(s, votes(before) != votes(record));
        record->log_until = gets_log(record)   ? 0
                            : gets_log(before) ? s->revision
                            : before           ? before->log_until
                                               : 0;
        if (before) {
                r = drop_tombstones_of(s, before, record);
                if (r < 0)
                        message_free(record);
                else
                        r = state_replace_host(s, record);
        } else {
                record->host = ++s->last_host;
                r = state_former_joins(s, record);
                if (r < 0)
                        message_free(record);
                else
                        r = state_append_host(s, record);
        }
        return r < 0 ? r : state_mark_host(s, record->host);
}

static int remember_host(ClusterState *s, const Argosy__HostRecord *host) {
        Argosy__FormerHost former = ARGOSY__FORMER_HOST__INIT, *copy;
        int r;

        if (host->host_id.len == 0)
                return 0;
        former.host_id = host->host_id;
        former.key_pin = host->key_pin;
        former.set_labels = host->set_labels;
        former.n_set_labels = host->n_set_labels;
        copy = message_copy(&former);
        if (!copy)
                return -ENOMEM;
        r = state_add_former(s, copy);
        if (r < 0)
                message_free(copy);
        return r;
}

static int remove_host(ClusterState *s, uint32_t host) {
        const Argosy__HostRecord *record = cluster_state_find_host(s, host);
        bool grants, voted = votes(record);
        int r;

        if (!record)
                return 0;
        r = remember_host(s, record);
        while (s->n_tokens > 0) // the removed host may have seen them
                state_drop_named(s, &s->tokens, &s->n_tokens, s->n_tokens - 1);
        grants = state_drop_grants_of(s, host);
        if (r >= 0)
                r = state_mark_host(s, host);
        if (r >= 0)
                r = drop_tombstones_of(s, record, NULL);
        if (r >= 0)
                r = state_remove_host(s, host);
        if (r < 0)
                return r;
        hosts_changed(s);
        note_vote(s, voted);
        if (grants)
                s->access_revision = s->grants_revision = s->revision;
        return 0;
}

// What hosts know of entries that are lost was given by smaller numbers than any from here on. A unit's own
// numbers stay: what was carried out is not to be carried out again.
static int raise_revision(ClusterState *s, uint64_t floor) {
        if (floor <= s->revision || floor > REVISION_MAX)
                return 0;
        s->revision = floor;
        name_table_foreach(unit, &s->units) {
                UnitEntry *u = unit;
                Argosy__UnitRecord *twin = state_make_twin(u);

                if (!twin)
                        return -ENOMEM;
                twin->revision = s->revision;
                if (mark_dirty(s, u) < 0) {
                        free(twin);
                        return -ENOMEM;
                }
                if (state_put_twin(s, u, twin) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static uint32_t ca_number(const Argosy__ClusterRecord *cluster) {
        return cluster->ca ? cluster->ca->number : 0;
}

static int put_cluster(ClusterState *s, const Argosy__ClusterRecord *cluster) {
        Argosy__ClusterRecord *record = message_copy(cluster);
        int r;

        if (!record)
                return -ENOMEM;
        if (s->cluster && ca_number(s->cluster) != ca_number(record)) // they have the hash of the former CA
                while (s->n_tokens > 0)
                        state_drop_named(s, &s->tokens, &s->n_tokens, s->n_tokens - 1);
        state_retire_message(s, s->cluster);
        s->cluster = record;
        r = raise_revision(s, record->revision_floor);
        if (r == 0)
                r = state_raise_jobs(s, record->job_floor);
        hosts_changed(s);
        return r;
}

static int put_token(ClusterState *s, const Argosy__TokenRecord *token) {
        const Argosy__TokenRecord *before;
        Argosy__TokenRecord *record;
        int r;

        for (size_t i = s->n_tokens; i-- > 0;)
                if (token_record_end_counted_us(s->tokens[i]) < s->counted_us)
                        state_drop_named(s, &s->tokens, &s->n_tokens, i);
        record = message_copy(token);
        if (!record)
                return -ENOMEM;
        before = cluster_state_find_token(s, token->id);
        record->counted_us = before ? before->counted_us : s->counted_us;
        r = state_put_named(s, &s->tokens, &s->n_tokens, record);
        if (r < 0) {
                message_free(record);
                return r;
        }
        hosts_changed(s);
        return 0;
}

static void remove_token(ClusterState *s, const char *id) {
        if (state_remove_named(s, &s->tokens, &s->n_tokens, id))
                hosts_changed(s);
}

static int put_rollout(ClusterState *s, const Argosy__RolloutRecord *rollout) {
        Argosy__RolloutRecord *record = message_copy(rollout);
        int r;

        if (!record)
                return -ENOMEM;
        if (record->revision == 0)
                record->revision = s->revision + 1;
        for (size_t i = 0; i < record->n_nodes; i++)
                if (record->nodes[i]->revision == 0)
                        record->nodes[i]->revision = s->revision + 1;
        r = state_put_rollout(s, record);
        if (r == 0) {
                s->rollouts_revision = ++s->revision;
                return 0;
        }
        message_free(record);
        return r;
}

static int put_role(ClusterState *s, const Argosy__RoleRecord *role) {
        Argosy__RoleRecord *record = message_copy(role);
        int r = record ? state_put_named(s, &s->roles, &s->n_roles, record) : -ENOMEM;

        if (r == 0) {
                s->roles_revision = ++s->revision;
                return 0;
        }
        message_free(record);
        return r;
}

// Which hosts are in a pool is said by them, too; their records are as they were.
static void pools_changed(ClusterState *s) {
        hosts_changed(s);
        s->pools_revision = s->revision;
}

static int put_pool(ClusterState *s, const Argosy__PoolRecord *pool) {
        Argosy__PoolRecord *record = message_copy(pool);
        int r = record ? state_put_named(s, &s->pools, &s->n_pools, record) : -ENOMEM;

        if (r == 0)
                pools_changed(s);
        else
                message_free(record);
        return r;
}

static int change_access(ClusterState *s, const Argosy__GrantRecord *grant, bool revoke) {
        bool changed = false;
        int r = revoke ? state_remove_grant(s, grant, &changed) : state_put_grant(s, grant, &changed);

        if (changed)
                s->access_revision = s->grants_revision = ++s->revision;
        return r;
}

// ------------------------------------------------------------------------------------------------ the batch

static int carry_out(ClusterState *s, const Argosy__LogOp *op) {
        switch (op->op_case) {
        case ARGOSY__LOG_OP__OP_CLUSTER:
                return put_cluster(s, op->cluster);
        case ARGOSY__LOG_OP__OP_SPEC:
                return put_spec(s, op->spec);
        case ARGOSY__LOG_OP__OP_UNIT:
                return put_unit(s, op->unit);
        case ARGOSY__LOG_OP__OP_UNIT_REMOVE:
                return remove_unit(s, op->unit_remove);
        case ARGOSY__LOG_OP__OP_HOST:
                return put_host(s, op->host);
        case ARGOSY__LOG_OP__OP_HOST_REMOVE:
                return remove_host(s, op->host_remove->host);
        case ARGOSY__LOG_OP__OP_TOKEN:
                return put_token(s, op->token);
        case ARGOSY__LOG_OP__OP_TOKEN_REMOVE:
                remove_token(s, op->token_remove->id);
                return 0;
        case ARGOSY__LOG_OP__OP_OUTCOME:
                return put_outcome(s, op->outcome);
        case ARGOSY__LOG_OP__OP_ROLLOUT:
                return put_rollout(s, op->rollout);
        case ARGOSY__LOG_OP__OP_ROLE:
                return put_role(s, op->role);
        case ARGOSY__LOG_OP__OP_ROLE_REMOVE:
                if (state_remove_named(s, &s->roles, &s->n_roles, op->role_remove->name))
                        s->roles_revision = ++s->revision;
                return 0;
        case ARGOSY__LOG_OP__OP_POOL:
                return put_pool(s, op->pool);
        case ARGOSY__LOG_OP__OP_POOL_REMOVE:
                if (state_remove_named(s, &s->pools, &s->n_pools, op->pool_remove->name))
                        pools_changed(s);
                return 0;
        case ARGOSY__LOG_OP__OP_TOMBSTONE:
                return put_tombstones(s, op->tombstone);
        case ARGOSY__LOG_OP__OP_TOMBSTONE_CLEAR:
                return clear_tombstones(s, op->tombstone_clear);
        case ARGOSY__LOG_OP__OP_GRANT:
                return change_access(s, op->grant, false);
        case ARGOSY__LOG_OP__OP_GRANT_REMOVE:
                return change_access(s, op->grant_remove, true);
        case ARGOSY__LOG_OP__OP_SPEC_FORGET:
                return forget_specs(s, op->spec_forget);
        case ARGOSY__LOG_OP__OP_JOB_ENDS:
                return state_end_jobs(s, op->job_ends);
        case ARGOSY__LOG_OP__OP_STORED_RELEASE:
                return state_release_request(s, op->stored_release);
        case ARGOSY__LOG_OP__OP_QUEUE:
                return state_put_queue(s, op->queue);
        case ARGOSY__LOG_OP__OP_ACCESS_TOKEN:
                return state_put_access_token(s, op->access_token);
        case ARGOSY__LOG_OP__OP_ACCESS_TOKEN_END:
                return state_end_access_token(s, op->access_token_end);
        case ARGOSY__LOG_OP__OP_ACCESS_TOKEN_USES:
                return state_note_access_token_uses(s, op->access_token_uses);
        case ARGOSY__LOG_OP__OP_SECRET:
                return state_put_secret(s, op->secret);
        case ARGOSY__LOG_OP__OP_SECRET_REMOVE:
                state_remove_secret(s, op->secret_remove->name);
                return 0;
        case ARGOSY__LOG_OP__OP_SECRET_PRUNE:
                return state_prune_secret(s, op->secret_prune);
        case ARGOSY__LOG_OP__OP_SECRET_RESEAL:
                return state_reseal_secret(s, op->secret_reseal);
        case ARGOSY__LOG_OP__OP_TIME_SET:
                return state_set_time(s, op->time_set);
        case ARGOSY__LOG_OP__OP_JOB: // apply_ops()
        default: // none at all: nobody writes that, and one of a newer version was refused before
                return 0;
        }
}

// 0, also for what is refused.
static int apply_op(ClusterState *s, const Argosy__LogOp *op, const ClusterHeld *held,
                    ClusterRefusal *ret_refusal) {
        int r;

        *ret_refusal = cluster_state_judge(s, held, op);
        r = *ret_refusal ? 0 : carry_out(s, op);
        if (r == 1)
                *ret_refusal = REFUSAL_CONTENT;
        return MIN_OF(r, 0);
}

// Before anything is applied: what this build cannot read it must not skip, since others do not.
static int check_batch(ClusterState *s, const Argosy__LogBatch *batch) {
        int r = state_check_readable(s, &batch->base);

        for (size_t i = 0; r == 0 && i < batch->n_ops; i++)
                if (batch->ops[i]->op_case == ARGOSY__LOG_OP__OP_CLUSTER)
                        r = state_check_level(s, batch->ops[i]->cluster);
        return r;
}

// What a job's operations change is noted on the way, for its record.
static int apply_ops(ClusterState *s, const Argosy__LogBatch *batch, JobNotes *notes) {
        const ClusterHeld held = {.counted_us = s->counted_us};

        for (size_t i = 0; i < batch->n_ops; i++) {
                const Argosy__LogOp *op = batch->ops[i];
                ClusterRefusal refusal;
                int r;

                r = state_job_note_before(s, notes, op, i);
                if (r < 0)
                        return r;
                r = apply_op(s, op, &held, &refusal);
                if (refusal) {
                        state_note_refused(s, op, refusal);
                        r = r ?: state_job_note_refused(s, notes, op, i, refusal);
                }
                // one that is refused is cancelled as it comes
                if (r == 0 && op->op_case == ARGOSY__LOG_OP__OP_JOB)
                        r = state_put_job(s, op->job, notes, i, batch->at_us);
                if (r == 0)
                        r = state_job_note_after(s, notes, i);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int apply_with_jobs(ClusterState *s, const Argosy__LogBatch *batch) {
        _cleanup_(state_job_notes_done) JobNotes notes = {};
        int r = state_job_notes_init(&notes, batch);

        if (r < 0)
                return r;
        state_pass_time(s, batch);
        r = apply_ops(s, batch, &notes);
        if (r == 0)
                r = state_drop_old_jobs(s, notes.n_jobs);
        state_drop_old_access_tokens(s);
        return r;
}

int cluster_state_apply(ClusterState *s, const Argosy__LogBatch *batch) {
        int r = check_batch(s, batch);

        if (r < 0)
                return r;
        s->version++;
        r = apply_with_jobs(s, batch);
        return r < 0 ? r : state_settle_specs(s);
}
