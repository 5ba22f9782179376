// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The state as one StateImage message, in pieces. A protobuf message in pieces is the pieces one behind the
// other, as long as no field stands in two of them that is not repeated: so each piece is a StateImage that
// has a part of one table, and tables come in the order of their fields, as they would if the message was
// packed whole.
//
//      first piece    what has no order of its own is sorted: units by name, specs by hash, hosts by number,
//                     tombstones by age, contents that only jobs name by the time at which they became
//                     that. So equal states have equal bytes
//      the others     PIECE_RECORDS records each, or PIECE_BYTES of contents
//
// Everything is only read, so it runs in any thread. -ENOMEM ends it; nothing else can fail.

#include "cluster-encoder.h"

#include <errno.h>

#include "cluster-state-private.h"
#include "message-of.h"

enum { PIECE_RECORDS = 4096, PIECE_BYTES = 1024 * 1024 };

typedef enum Stage {
        STAGE_HEAD,
        STAGE_HOSTS,
        STAGE_SPECS,
        STAGE_UNITS,
        STAGE_SMALL,
        STAGE_TOMBSTONES,
        STAGE_JOBS,
        STAGE_KEYS,
        STAGE_FORMER_SPECS,
        STAGE_STORED,
        STAGE_CLOCK,
        STAGE_SECRETS,
        STAGE_END
} Stage;

struct ClusterEncoder {
        const StateView *view;
        Stage stage;
        size_t at; // in the stage's table

        Argosy__HostRecord **hosts;
        Argosy__UnitRecord **units;
        SpecVersion *specs; // those in use, behind them the former ones
        size_t n_specs;     // in use
        const Tombstone **tombstones;
};

static ClusterEncoder *encoder_new(const StateView *view) {
        ClusterEncoder *e = calloc(1, sizeof *e);

        if (e)
                e->view = view;
        return e;
}

ClusterEncoder *cluster_encoder_new(const ClusterSnapshot *snapshot) {
        return encoder_new(cluster_snapshot_view(snapshot));
}

static void drop_arrays(ClusterEncoder *e) {
        free(TAKE_PTR(e->hosts));
        free(TAKE_PTR(e->units));
        free(TAKE_PTR(e->specs));
        free(TAKE_PTR(e->tombstones));
}

ClusterEncoder *cluster_encoder_free(ClusterEncoder *e) {
        if (!e)
                return NULL;
        drop_arrays(e);
        free(e);
        return NULL;
}

// ------------------------------------------------------------------------------------------------- sorting

static int host_compare(const void *a, const void *b) {
        const Argosy__HostRecord *x = *(Argosy__HostRecord *const *) a,
                                 *y = *(Argosy__HostRecord *const *) b;

        return x->host < y->host ? -1 : x->host > y->host;
}

// `former` of those in use is 0.
static int spec_compare(const void *a, const void *b) {
        const SpecVersion *x = a, *y = b;

        if (x->former != y->former)
                return x->former < y->former ? -1 : 1;
        return memcmp(&x->spec->hash, &y->spec->hash, HASH_SIZE);
}

static int tombstone_compare(const void *a, const void *b) {
        const Tombstone *x = *(const Tombstone *const *) a, *y = *(const Tombstone *const *) b;

        return x->order < y->order ? -1 : x->order > y->order;
}

// The pointers in a table, sorted. NULL: out of memory.
static void *sorted_pointers(const PagedView *v, int (*compare)(const void *a, const void *b)) {
        void **pointers = calloc((size_t) v->n_used + 1, sizeof *pointers);
        void *const *record;
        uint32_t iter = 0;
        size_t n = 0;

        if (!pointers)
                return NULL;
        while ((record = paged_view_next(v, &iter)))
                pointers[n++] = *record;
        qsort(pointers, n, sizeof *pointers, compare);
        return pointers;
}

static Argosy__UnitRecord **sorted_units(const PagedView *v) {
        _cleanup_free_ NameKey *keys = calloc((size_t) v->n_used + 1, sizeof *keys);
        Argosy__UnitRecord **units = calloc((size_t) v->n_used + 1, sizeof *units);
        Argosy__UnitRecord *const *unit;
        uint32_t iter = 0;
        size_t n = 0;

        if (!keys || !units) {
                free(units);
                return NULL;
        }
        while ((unit = paged_view_next(v, &iter)))
                keys[n++] = name_key((*unit)->name, *unit);
        name_keys_sort(keys, n);
        for (size_t i = 0; i < n; i++)
                units[i] = keys[i].thing;
        return units;
}

static int sort_specs(ClusterEncoder *e) {
        const PagedView *v = &e->view->specs;
        const SpecVersion *spec;
        uint32_t iter = 0;
        size_t n = 0;

        e->specs = calloc((size_t) v->n_used + 1, sizeof *e->specs);
        if (!e->specs)
                return -ENOMEM;
        while ((spec = paged_view_next(v, &iter))) {
                e->specs[n++] = *spec;
                e->n_specs += spec->former == 0;
        }
        qsort(e->specs, n, sizeof *e->specs, spec_compare);
        return 0;
}

static int sort_all(ClusterEncoder *e) {
        e->hosts = sorted_pointers(&e->view->hosts, host_compare);
        e->tombstones = sorted_pointers(&e->view->tombstones, tombstone_compare);
        e->units = sorted_units(&e->view->units);
        return e->hosts && e->tombstones && e->units ? sort_specs(e) : -ENOMEM;
}

// ------------------------------------------------------------------------------------------------- a piece
//
// Each function fills in a part of the table, packs it, and says whether there is more of it: 0,
// CLUSTER_ENCODER_MORE or -ENOMEM.

static int pack(const Argosy__StateImage *image, Buf *ret) {
        size_t len = argosy__state_image__get_packed_size(image);
        uint8_t *p = buf_reserve(ret, len);

        if (!p)
                return -ENOMEM;
        argosy__state_image__pack(image, p);
        ret->len += len;
        return 0;
}

static int pack_part(ClusterEncoder *e, const Argosy__StateImage *image, size_t n, size_t of, Buf *ret) {
        e->at += n;
        return pack(image, ret) ?: e->at < of ? CLUSTER_ENCODER_MORE : 0;
}

static int encode_head(ClusterEncoder *e, Buf *ret) {
        int r = sort_all(e);

        if (r < 0)
                return r;
        Argosy__StateImage image =
                MESSAGE_OF(state_image, .cluster = e->view->cluster, .revision = e->view->revision,
                           .last_host = e->view->last_host, .last_node = e->view->last_node);
        return pack(&image, ret);
}

static int encode_hosts(ClusterEncoder *e, Buf *ret) {
        Argosy__StateImage image =
                MESSAGE_OF(state_image, .hosts = e->hosts + e->at,
                           .n_hosts = MIN_OF(e->view->hosts.n_used - e->at, (size_t) PIECE_RECORDS));

        return pack_part(e, &image, image.n_hosts, e->view->hosts.n_used, ret);
}

// Encodes `of` contents from `first` on.
static int encode_some_specs(ClusterEncoder *e, const SpecVersion *first, size_t of, bool former, Buf *ret) {
        size_t most = MIN_OF(of - e->at, (size_t) PIECE_RECORDS), bytes = 0, n = 0;
        _cleanup_free_ Argosy__Spec *specs = calloc(most + 1, sizeof *specs);
        _cleanup_free_ Argosy__Spec **pointers = calloc(most + 1, sizeof *pointers);
        Argosy__StateImage image = ARGOSY__STATE_IMAGE__INIT;

        if (!specs || !pointers)
                return -ENOMEM;
        for (; n < most && bytes < PIECE_BYTES; n++) {
                const SpecVersion *from = &first[e->at + n];

                specs[n] = (Argosy__Spec) MESSAGE_OF(
                        spec, .hash = (ProtobufCBinaryData){HASH_SIZE, (uint8_t *) from->spec->hash.bytes},
                        .content = (ProtobufCBinaryData){from->spec->len, from->spec->content},
                        .job = from->job);
                pointers[n] = &specs[n];
                bytes += from->spec->len;
        }
        *(former ? &image.former_specs : &image.specs) = pointers;
        *(former ? &image.n_former_specs : &image.n_specs) = n;
        return pack_part(e, &image, n, of, ret);
}

static int encode_specs(ClusterEncoder *e, Buf *ret) {
        return encode_some_specs(e, e->specs, e->n_specs, false, ret);
}

static int encode_former_specs(ClusterEncoder *e, Buf *ret) {
        return encode_some_specs(e, e->specs + e->n_specs, e->view->specs.n_used - e->n_specs, true, ret);
}

static int encode_units(ClusterEncoder *e, Buf *ret) {
        Argosy__StateImage image =
                MESSAGE_OF(state_image, .units = e->units + e->at,
                           .n_units = MIN_OF(e->view->units.n_used - e->at, (size_t) PIECE_RECORDS));

        return pack_part(e, &image, image.n_units, e->view->units.n_used, ret);
}

// All that is bounded by some thousands, with the fields between those of units and tombstones.
static int encode_small(ClusterEncoder *e, Buf *ret) {
        const StateView *v = e->view;
        Argosy__StateImage image = MESSAGE_OF(
                state_image, .tokens = v->tokens, .n_tokens = v->n_tokens, .last_raft_id = v->last_raft_id,
                .former_hosts = v->former, .n_former_hosts = v->n_former, .rollouts = v->rollouts,
                .n_rollouts = v->n_rollouts, .roles = v->roles, .n_roles = v->n_roles, .pools = v->pools,
                .n_pools = v->n_pools);

        return pack(&image, ret);
}

static int encode_tombstones(ClusterEncoder *e, Buf *ret) {
        size_t n = MIN_OF(e->view->tombstones.n_used - e->at, (size_t) PIECE_RECORDS);
        _cleanup_free_ Argosy__TombstoneRecord *records = calloc(n + 1, sizeof *records);
        _cleanup_free_ Argosy__TombstoneRecord **pointers = calloc(n + 1, sizeof *pointers);

        if (!records || !pointers)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                const Tombstone *from = e->tombstones[e->at + i];

                records[i] = (Argosy__TombstoneRecord) MESSAGE_OF(
                        tombstone_record, .name = (char *) from->name, .node = from->node,
                        .revision = from->revision, .fence_us = from->fence_us,
                        .unguarded = from->unguarded);
                pointers[i] = &records[i];
        }
        Argosy__StateImage image = MESSAGE_OF(state_image, .tombstones = pointers, .n_tombstones = n);
        return pack_part(e, &image, n, e->view->tombstones.n_used, ret);
}

static int encode_jobs(ClusterEncoder *e, Buf *ret) {
        const JobView *v = &e->view->jobs;
        size_t n = MIN_OF(v->n - e->at, (size_t) PIECE_RECORDS);
        _cleanup_free_ ProtobufCBinaryData *jobs = calloc(n + 1, sizeof *jobs);

        if (!jobs)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                const JobEntry *job = job_view_find(v, job_view_number(v, e->at + i));

                jobs[i] = (ProtobufCBinaryData){job->len, (uint8_t *) job->packed};
        }
        Argosy__StateImage image = MESSAGE_OF(state_image, .jobs = jobs, .n_jobs = n);
        return pack_part(e, &image, n, v->n, ret);
}

static ProtobufCBinaryData *held_jobs(const JobView *v) {
        ProtobufCBinaryData *jobs = calloc(v->n_held + 1, sizeof *jobs);

        for (size_t i = 0; jobs && i < v->n_held; i++)
                jobs[i] = (ProtobufCBinaryData){v->held[i]->entry->len, v->held[i]->entry->packed};
        return jobs;
}

// A segment in each piece; the first and the last say the rest about jobs and keys, the last one the rights,
// too.
static int encode_keys(ClusterEncoder *e, Buf *ret) {
        const KeyTable *v = &e->view->keys;
        Argosy__StateImage image = ARGOSY__STATE_IMAGE__INIT;
        Argosy__KeySegment segment, *segments = &segment;
        _cleanup_free_ ProtobufCBinaryData *held = NULL;

        if (e->at == 0) {
                image.last_job = e->view->jobs.last;
                image.time_us = e->view->time_us;
        }
        if (e->at < v->n) {
                segment = key_segment_image(v, e->at);
                image.keys = &segments;
                image.n_keys = 1;
        }
        if (e->at + 1 >= v->n) {
                image.keys_forgotten_us = v->forgotten_us;
                image.open_keys = v->open;
                image.n_open_keys = v->n_open;
                image.grants = e->view->grants;
                image.n_grants = e->view->n_grants;
                image.access_set = e->view->access_set;
                image.access_tokens = e->view->access_tokens;
                image.n_access_tokens = e->view->n_access_tokens;
                held = held_jobs(&e->view->jobs);
                if (!held)
                        return -ENOMEM;
                image.held_jobs = held;
                image.n_held_jobs = e->view->jobs.n_held;
        }
        return pack_part(e, &image, 1, v->n, ret);
}

// Some, of PIECE_BYTES together; the last piece has the rules of the queue.
static int encode_stored(ClusterEncoder *e, Buf *ret) {
        const StateView *v = e->view;
        size_t n = 0, bytes = 0;

        while (e->at + n < v->n_stored && n < PIECE_RECORDS && bytes < PIECE_BYTES)
                bytes += v->stored[e->at + n++]->request.len;
        Argosy__StateImage image =
                MESSAGE_OF(state_image, .stored_requests = v->n_stored > 0 ? v->stored + e->at : NULL,
                           .n_stored_requests = n);
        if (e->at + n == v->n_stored)
                image.queue = v->queue;
        return pack_part(e, &image, n, v->n_stored, ret);
}

static int encode_clock(ClusterEncoder *e, Buf *ret) {
        const TimeCorrections *c = &e->view->corrections;
        Argosy__StateImage image = MESSAGE_OF(
                state_image, .clock_us = e->view->clock_us, .counted_us = e->view->counted_us,
                .jobs_complete_from = e->view->jobs.complete_from, .undo_from = e->view->jobs.undo_from);
        Argosy__TimeCorrection corrections[CLUSTER_TIME_SETS_MAX], *pointers[CLUSTER_TIME_SETS_MAX];

        for (size_t i = 0; i < c->n; i++) {
                corrections[i] = (Argosy__TimeCorrection) MESSAGE_OF(
                        time_correction, .counted_us = c->list[i].counted_us, .to_us = c->list[i].to_us);
                pointers[i] = &corrections[i];
        }
        image.corrections = pointers;
        image.n_corrections = c->n;
        return pack(&image, ret);
}

// Some, of PIECE_BYTES together.
static int encode_secrets(ClusterEncoder *e, Buf *ret) {
        const StateView *v = e->view;
        size_t n = 0, bytes = 0;

        while (e->at + n < v->n_secrets && bytes < PIECE_BYTES)
                bytes += argosy__secret_record__get_packed_size(v->secrets[e->at + n++]);
        Argosy__StateImage image = MESSAGE_OF(
                state_image, .secrets = v->n_secrets > 0 ? v->secrets + e->at : NULL, .n_secrets = n);
        return pack_part(e, &image, n, v->n_secrets, ret);
}

// ------------------------------------------------------------------------------------------------ the whole

static int encode_part(ClusterEncoder *e, Buf *ret) {
        switch (e->stage) {
        case STAGE_HEAD:
                return encode_head(e, ret);
        case STAGE_HOSTS:
                return encode_hosts(e, ret);
        case STAGE_SPECS:
                return encode_specs(e, ret);
        case STAGE_UNITS:
                return encode_units(e, ret);
        case STAGE_SMALL:
                return encode_small(e, ret);
        case STAGE_TOMBSTONES:
                return encode_tombstones(e, ret);
        case STAGE_JOBS:
                return encode_jobs(e, ret);
        case STAGE_KEYS:
                return encode_keys(e, ret);
        case STAGE_FORMER_SPECS:
                return encode_former_specs(e, ret);
        case STAGE_STORED:
                return encode_stored(e, ret);
        case STAGE_CLOCK:
                return encode_clock(e, ret);
        case STAGE_SECRETS:
                return encode_secrets(e, ret);
        case STAGE_END:
                break;
        }
        return 0;
}

// A small state is one piece.
int cluster_encoder_next(ClusterEncoder *e, Buf *ret) {
        size_t begin = ret->len;

        while (e->stage != STAGE_END) {
                int r = encode_part(e, ret);

                if (r < 0)
                        return r;
                if (r == 0) {
                        e->stage++;
                        e->at = 0;
                }
                if (e->stage != STAGE_END && ret->len - begin >= PIECE_BYTES / 2)
                        return CLUSTER_ENCODER_MORE;
        }
        drop_arrays(e); // here, in the pool: the encoder is ended by the loop
        return 0;
}

int cluster_state_encode(const ClusterState *s, Buf *ret) {
        StateView view = state_view(s);
        _cleanup_(cluster_encoder_freep) ClusterEncoder *e = encoder_new(&view);
        int r = e ? CLUSTER_ENCODER_MORE : -ENOMEM;

        while (r == CLUSTER_ENCODER_MORE)
                r = cluster_encoder_next(e, ret);
        return r;
}
