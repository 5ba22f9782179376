// SPDX-License-Identifier: LGPL-2.1-or-later

// Whatever the bytes: they are refused and change nothing, or become a state whose image leads to itself.
//
// Contents and hashes of specs cannot be guessed, so before the bytes are tried as they are, they are read
// as an image in which every spec gets its true hash, and every unit whose spec is one byte N the hash of
// spec number N.

#include <errno.h>

#include "cluster-state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_fixpoint(ClusterState *s) {
        _cleanup_(cluster_state_freep) ClusterState *again = cluster_state_new();
        _cleanup_buf_ Buf first = {0}, second = {0};
        size_t n = 0;

        if (cluster_state_encode(s, &first) < 0 || cluster_state_restore(again, first.data, first.len) < 0 ||
            cluster_state_encode(again, &second) < 0)
                abort();
        if (first.len != second.len || (first.len > 0 && memcmp(first.data, second.data, first.len) != 0))
                abort();
        cluster_state_foreach_unit(u, again)
                n++;
        if (n != cluster_state_n_units(s) || cluster_state_next_dirty(again))
                abort();
}

static void try_image(const void *data, size_t len) {
        _cleanup_(cluster_state_freep) ClusterState *s = cluster_state_new();
        int r = cluster_state_restore(s, data, len);

        if (r == 0)
                check_fixpoint(s);
        else if ((r != -EBADMSG && r != -EPROTONOSUPPORT) || cluster_state_n_units(s) > 0 ||
                 cluster_state_revision(s) > 0)
                abort();
}

static void set_bytes(ProtobufCBinaryData *field, const Hash *hash) {
        free(field->data);
        field->data = malloc(sizeof *hash);
        if (!field->data)
                abort();
        memcpy(field->data, hash, sizeof *hash);
        field->len = sizeof *hash;
}

static void fill_in_hashes(Argosy__StateImage *image) {
        for (size_t i = 0; i < image->n_specs; i++) {
                Hash hash = hash_of(image->specs[i]->content.data, image->specs[i]->content.len);

                set_bytes(&image->specs[i]->hash, &hash);
        }
        for (size_t i = 0; i < image->n_units; i++) {
                ProtobufCBinaryData *spec = &image->units[i]->spec;

                if (spec->len == 1 && spec->data[0] < image->n_specs)
                        set_bytes(spec, (const Hash *) image->specs[spec->data[0]]->hash.data);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        Argosy__StateImage *image = argosy__state_image__unpack(NULL, size, data);
        _cleanup_buf_ Buf fixed = {0};

        if (image) {
                fill_in_hashes(image);
                if (buf_reserve(&fixed, argosy__state_image__get_packed_size(image)))
                        fixed.len = argosy__state_image__pack(image, fixed.data);
                argosy__state_image__free_unpacked(image, NULL);
                try_image(fixed.data, fixed.len);
        }
        try_image(data, size);
        return 0;
}
