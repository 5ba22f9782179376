// SPDX-License-Identifier: LGPL-2.1-or-later

// The state out of one StateImage message (which cluster-encoder.c writes). Reading checks everything that
// applying batches would have guaranteed, since a state that contradicts itself would spread: better to
// refuse the snapshot than to lead a cluster with it.

#include <errno.h>

#include "cluster-state-private.h"
#include "message.h"

// ------------------------------------------------------------------------------------------------ reading
//
// Each function moves one table out of the image into an empty state: 0, -EBADMSG or -ENOMEM. What was moved
// is NULL in the image.

static int load_hosts(ClusterState *s, Argosy__StateImage *image) {
        uint32_t last = 0;

        if (image->n_hosts > CLUSTER_HOSTS_MAX)
                return -EBADMSG;
        for (size_t i = 0; i < image->n_hosts; i++) {
                Argosy__HostRecord *h = image->hosts[i];
                int r;

                if (h->host <= last || h->host > s->last_host || h->raft_id > s->last_raft_id)
                        return -EBADMSG;
                last = h->host;
                for (size_t k = 0; k < h->n_nodes; k++)
                        if (h->nodes[k]->node == 0 || h->nodes[k]->node > s->last_node)
                                return -EBADMSG;
                r = state_append_host(s, TAKE_PTR(image->hosts[i]));
                if (r < 0)
                        return r == -EEXIST ? -EBADMSG : r;
        }
        return 0;
}

static int load_spec(ClusterState *s, const Argosy__StateImage *image, Argosy__Spec *spec, Hash *ret) {
        Hash actual = hash_of(spec->content.data, spec->content.len);
        int r;

        if (!hash_from_bytes(spec->hash.data, spec->hash.len, ret) || !hash_equal(ret, &actual) ||
            spec->job > image->last_job)
                return -EBADMSG;
        r = state_add_spec(s, ret, spec->content.data, spec->content.len);
        if (r < 0)
                return r == -EEXIST ? -EBADMSG : r;
        spec->content = (ProtobufCBinaryData){0};
        return 0;
}

static int load_specs(ClusterState *s, Argosy__StateImage *image) {
        for (size_t i = 0; i < image->n_specs; i++) {
                Hash hash;
                int r = load_spec(s, image, image->specs[i], &hash);

                if (r == 0)
                        r = state_name_spec(s, &hash, image->specs[i]->job);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int load_former_specs(ClusterState *s, Argosy__StateImage *image) {
        for (size_t i = 0; i < image->n_former_specs; i++) {
                Hash hash;
                int r = image->former_specs[i]->job > 0 ? load_spec(s, image, image->former_specs[i], &hash)
                                                        : -EBADMSG;

                if (r == 0)
                        r = state_load_former_spec(s, &hash, image->former_specs[i]->job);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int load_rollouts(ClusterState *s, Argosy__StateImage *image) {
        if (image->n_rollouts > CLUSTER_ROLLOUTS_MAX)
                return -EBADMSG;
        for (size_t i = 0; i < image->n_rollouts; i++) {
                const Argosy__RolloutRecord *record = image->rollouts[i];
                int r;

                if (record->revision > s->revision || cluster_state_find_rollout(s, record->name))
                        return -EBADMSG;
                r = state_put_rollout(s, image->rollouts[i]);
                if (r < 0)
                        return r == -ENOMEM ? r : -EBADMSG;
                image->rollouts[i] = NULL;
        }
        return 0;
}

static int load_roles(ClusterState *s, Argosy__StateImage *image) {
        int r;

        for (size_t i = 0; i < image->n_roles; i++) {
                if (cluster_state_find_role(s, image->roles[i]->name))
                        return -EBADMSG;
                r = state_put_named(s, &s->roles, &s->n_roles, image->roles[i]);
                if (r < 0)
                        return r == -ENOMEM ? r : -EBADMSG;
                image->roles[i] = NULL;
        }
        for (size_t i = 0; i < image->n_pools; i++) {
                if (cluster_state_find_pool(s, image->pools[i]->name))
                        return -EBADMSG;
                r = state_put_named(s, &s->pools, &s->n_pools, image->pools[i]);
                if (r < 0)
                        return r == -ENOMEM ? r : -EBADMSG;
                image->pools[i] = NULL;
        }
        return 0;
}

static int load_units(ClusterState *s, Argosy__StateImage *image) {
        if (image->n_units > CLUSTER_UNITS_MAX)
                return -EBADMSG;
        for (size_t i = 0; i < image->n_units; i++) {
                Argosy__UnitRecord *record = image->units[i];
                size_t len = strlen(record->name);
                SpecEntry *spec = NULL;
                UnitEntry *u;
                Hash hash;
                int r;

                if (hash_from_bytes(record->spec.data, record->spec.len, &hash))
                        spec = cluster_state_find_spec(s, &hash);
                if (!spec || len == 0 || len > UNIT_NAME_MANAGED_MAX || record->revision > s->revision ||
                    (record->global && record->node > 0) || (!record->global && record->n_outcomes > 1))
                        return -EBADMSG;
                r = state_add_unit(s, record, spec, &u);
                if (r < 0)
                        return r == -EEXIST ? -EBADMSG : r;
                image->units[i] = NULL;
        }
        return 0;
}

static int load_tokens(ClusterState *s, Argosy__StateImage *image) {
        if (image->n_tokens > CLUSTER_TOKENS_MAX)
                return -EBADMSG;
        for (size_t i = 0; i < image->n_tokens; i++) {
                int r;

                if (cluster_state_find_token(s, image->tokens[i]->id))
                        return -EBADMSG;
                r = state_put_named(s, &s->tokens, &s->n_tokens, image->tokens[i]);
                if (r < 0)
                        return r;
                image->tokens[i] = NULL;
        }
        return 0;
}

static int load_former(ClusterState *s, Argosy__StateImage *image) {
        if (image->n_former_hosts > CLUSTER_FORMER_HOSTS_MAX)
                return -EBADMSG;
        for (size_t i = 0; i < image->n_former_hosts; i++) {
                const Argosy__FormerHost *f = image->former_hosts[i];
                int r;

                if (f->host_id.len == 0 ? f->key_pin.len == 0
                                        : !!cluster_state_find_former(s, f->host_id.data, f->host_id.len))
                        return -EBADMSG;
                r = state_add_former(s, image->former_hosts[i]);
                if (r < 0)
                        return r;
                image->former_hosts[i] = NULL;
        }
        return 0;
}

static int load_tombstones(ClusterState *s, const Argosy__StateImage *image) {
        uint64_t last = 0;

        if (image->n_tombstones > CLUSTER_TOMBSTONES_MAX)
                return -EBADMSG;
        for (size_t i = 0; i < image->n_tombstones; i++) {
                const Argosy__TombstoneRecord *record = image->tombstones[i];
                int r;

                if (record->revision < last || record->revision > s->revision)
                        return -EBADMSG;
                last = record->revision;
                r = state_add_tombstone(s, record);
                if (r < 0)
                        return r == -ENOMEM ? r : -EBADMSG;
        }
        return 0;
}

static int load_access(ClusterState *s, Argosy__StateImage *image) {
        if (image->n_grants > CLUSTER_GRANTS_MAX || (image->n_grants > 0 && !image->access_set))
                return -EBADMSG;
        s->access_set = image->access_set;
        for (size_t i = 0; i < image->n_grants; i++) {
                int r = state_load_grant(s, image->grants[i]);

                if (r < 0)
                        return r;
                image->grants[i] = NULL;
        }
        for (size_t i = 0; i < image->n_access_tokens; i++) {
                int r = state_load_access_token(s, image->access_tokens[i]);

                if (r < 0)
                        return r;
                image->access_tokens[i] = NULL;
        }
        return 0;
}

static int load_secrets(ClusterState *s, Argosy__StateImage *image) {
        for (size_t i = 0; i < image->n_secrets; i++) {
                int r = state_load_secret(s, image->secrets[i]);

                if (r < 0)
                        return r;
                image->secrets[i] = NULL;
        }
        return 0;
}

static int load_jobs(ClusterState *s, const Argosy__StateImage *image) {
        if (image->n_jobs > JOBS_RING || image->last_job < image->n_jobs || image->last_job > REVISION_MAX ||
            image->keys_forgotten_us > image->counted_us || image->jobs_complete_from > image->revision ||
            image->undo_from > image->last_job + 1 || state_load_time(s, image) < 0)
                return -EBADMSG;
        for (size_t i = 0; i < image->n_jobs; i++) {
                int r = state_load_job(s, image->jobs[i].data, image->jobs[i].len);

                if (r < 0)
                        return r;
        }
        if (state_load_last_job(s, image->last_job) < 0)
                return -EBADMSG;
        for (size_t i = 0; i < image->n_held_jobs; i++) {
                int r = state_load_held_job(s, image->held_jobs[i].data, image->held_jobs[i].len);

                if (r < 0)
                        return r;
        }
        s->jobs.complete_from = image->jobs_complete_from;
        s->jobs.undo_from = image->undo_from;
        s->keys.forgotten_us = image->keys_forgotten_us;
        for (size_t i = 0; i < image->n_keys; i++) {
                int r = state_load_keys(s, image->keys[i]);

                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < image->n_open_keys; i++) {
                int r = state_load_open_key(s, image->open_keys[i]);

                if (r < 0)
                        return r;
        }
        return 0;
}

static int load_queue(ClusterState *s, Argosy__StateImage *image) {
        int r = image->queue ? state_load_queue(s, image->queue) : 0;

        for (size_t i = 0; r == 0 && i < image->n_stored_requests; i++)
                r = state_load_stored_request(s, TAKE_PTR(image->stored_requests[i]));
        return r < 0 ? r : state_jobs_loaded(s);
}

static int load(ClusterState *s, Argosy__StateImage *image) {
        int r;

        if (image->revision > REVISION_MAX)
                return -EBADMSG;
        s->revision = s->hosts_revision = s->pools_revision = s->voters_revision = s->rollouts_revision =
                s->roles_revision = s->access_revision = s->grants_revision = s->secrets_revision =
                        s->queue_revision = s->left_revision = image->revision;
        s->last_host = image->last_host;
        s->last_node = image->last_node;
        s->last_raft_id = image->last_raft_id;
        s->cluster = TAKE_PTR(image->cluster);
        r = load_hosts(s, image);
        if (r == 0)
                r = load_specs(s, image);
        if (r == 0)
                r = load_rollouts(s, image);
        if (r == 0)
                r = load_roles(s, image);
        if (r == 0)
                r = load_units(s, image);
        if (r == 0)
                r = load_tokens(s, image);
        if (r == 0)
                r = load_former(s, image);
        if (r == 0)
                r = load_tombstones(s, image);
        if (r == 0)
                r = load_jobs(s, image);
        if (r == 0)
                r = load_queue(s, image);
        if (r == 0)
                r = load_access(s, image);
        if (r == 0)
                r = load_secrets(s, image);
        if (r == 0)
                r = load_former_specs(s, image);
        if (r == 0 && !list_is_empty(&s->idle)) // a content that nobody uses
                r = -EBADMSG;
        return r;
}

static void state_donep(ClusterState **s) {
        if (*s)
                state_done(*s);
        free(*s);
}

// Snapshots of what was there before go on: it is retired like all that is replaced.
static void become(ClusterState *s, ClusterState *fresh) {
        fresh->newest = s->newest;
        fresh->version = s->version + 1;
        fresh->build_level = s->build_level;
        fresh->refused = s->refused;
        state_done(s);
        *s = *fresh;
        state_init_lists(s); // their heads have moved; of them only these can have members here
        list_splice(&s->former_specs, &fresh->former_specs);
        list_splice(&s->globals, &fresh->globals);
}

int cluster_state_restore(ClusterState *s, const void *data, size_t len) {
        _cleanup_(state_donep) ClusterState *fresh = malloc(sizeof *fresh);
        void *image = NULL;
        int r;

        if (!fresh)
                return -ENOMEM;
        state_init(fresh, s->clock);
        fresh->build_level = s->build_level;
        r = message_unpack(&argosy__state_image__descriptor, data, len, &image);
        if (r < 0)
                return r;
        r = state_check_readable(s, image);
        if (r == 0)
                r = state_check_level(s, ((const Argosy__StateImage *) image)->cluster);
        if (r == 0)
                r = load(fresh, image);
        message_free(image);
        if (r == -EPROTONOSUPPORT && *fresh->unreadable) // of a job, which stands packed in the image
                memcpy(s->unreadable, fresh->unreadable, sizeof s->unreadable);
        if (r < 0)
                return r;
        become(s, fresh);
        free(TAKE_PTR(fresh)); // hollow now
        return 0;
}
