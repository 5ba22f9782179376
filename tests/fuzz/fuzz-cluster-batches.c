// SPDX-License-Identifier: LGPL-2.1-or-later

// Whatever the batches: two states agree after them, also if one went through an image half-way.
//
// Input: batches, each behind its length in two bytes (big-endian); the last may be cut short. As hashes
// cannot be guessed, a spec gets its true hash, and a unit whose spec is not 32 bytes long gets the hash of
// the content that stands there.

#include <errno.h>

#include "cluster-state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void set_bytes(ProtobufCBinaryData *field, const Hash *hash) {
        free(field->data);
        field->data = malloc(sizeof *hash);
        if (!field->data)
                abort();
        memcpy(field->data, hash, sizeof *hash);
        field->len = sizeof *hash;
}

static void fill_in_hashes(Argosy__LogBatch *batch) {
        for (size_t i = 0; i < batch->n_ops; i++) {
                Argosy__LogOp *op = batch->ops[i];

                if (op->op_case == ARGOSY__LOG_OP__OP_SPEC) {
                        Hash hash = hash_of(op->spec->content.data, op->spec->content.len);

                        set_bytes(&op->spec->hash, &hash);
                } else if (op->op_case == ARGOSY__LOG_OP__OP_UNIT && op->unit->unit &&
                           op->unit->unit->spec.len != HASH_SIZE) {
                        Hash hash = hash_of(op->unit->unit->spec.data, op->unit->unit->spec.len);

                        set_bytes(&op->unit->unit->spec, &hash);
                }
        }
}

static void check_equal(const ClusterState *a, const ClusterState *b) {
        _cleanup_buf_ Buf image_a = {0}, image_b = {0};

        if (cluster_state_encode(a, &image_a) < 0 || cluster_state_encode(b, &image_b) < 0)
                abort();
        if (image_a.len != image_b.len ||
            (image_a.len > 0 && memcmp(image_a.data, image_b.data, image_a.len) != 0))
                abort();
}

static void pass_through_image(ClusterState *s) {
        _cleanup_buf_ Buf image = {0};

        if (cluster_state_encode(s, &image) < 0 || cluster_state_restore(s, image.data, image.len) < 0)
                abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_(cluster_state_freep) ClusterState *one = cluster_state_new(), *two = cluster_state_new();

        while (size > 2) {
                size_t len = MIN_OF((size_t) (data[0] << 8 | data[1]), size - 2);
                Argosy__LogBatch *batch = argosy__log_batch__unpack(NULL, len, data + 2);

                if (batch) {
                        fill_in_hashes(batch);
                        int r = cluster_state_apply(one, batch);

                        if (cluster_state_apply(two, batch) != r || (r < 0 && r != -EPROTONOSUPPORT))
                                abort();
                        argosy__log_batch__free_unpacked(batch, NULL);
                        pass_through_image(two);
                }
                data += len + 2;
                size -= len + 2;
        }
        check_equal(one, two);
        cluster_state_drop_dirty(one);
        return 0;
}
