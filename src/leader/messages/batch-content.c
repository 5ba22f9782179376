// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A content that the cluster has is put nowhere, and neither is a file of it: units share them by their hashes. What came is found by its size
// first, so that of hundreds of files only those are hashed that may be meant. A file that is missing, or larger than the cluster has set, ends it, and
// the caller takes back what was put.

#include "batch-content.h"

#include <errno.h>
#include <string.h>

#include "carried-files.h"
#include "str.h"

static bool is_meant(const ProtobufCBinaryData *bytes, const CarriedFile *file) {
        Hash hash;

        if (bytes->len != file->size)
                return false;
        hash = hash_of(bytes->data, bytes->len);
        return hash_equal(&hash, &file->hash);
}

static const ProtobufCBinaryData *find_sent(const SentFiles *sent, const CarriedFile *file) {
        for (size_t i = 0; i < sent->n; i++)
                for (size_t k = 0; k < sent->list[i]->n_files; k++)
                        if (is_meant(&sent->list[i]->files[k], file))
                                return &sent->list[i]->files[k];
        return NULL;
}

static int put_file(BatchBuilder *b, const SentFiles *sent, const CarriedFile *file, char **ret_why) {
        const ProtobufCBinaryData *bytes = find_sent(sent, file);

        if (bytes)
                return batch_builder_put_file(b, &file->hash, bytes->data, bytes->len);
        return str_refuse(ret_why, "its file %s did not come along, and the cluster does not have it", file->name);
}

// What the cluster has set for itself: what a content itself may have at most is judged where that is read.
static int check_sizes(const ClusterState *state, size_t len, const CarriedFiles *files, char **ret_why) {
        size_t file_max = cluster_state_file_limit(state), unit_max = cluster_state_unit_files_limit(state), bytes = len + carried_files_bytes(files);

        for (size_t i = 0; i < files->n; i++)
                if (files->list[i].size > file_max)
                        return str_refuse(ret_why, "its file %s has %zu KiB, and may have %zu (argosyctl files limit): larger things are images or packages",
                                          files->list[i].name, (files->list[i].size + 1023) / 1024, file_max / 1024);
        if (files->n > 0 && bytes > unit_max)
                return str_refuse(ret_why, "it has %zu KiB with its files, and may have %zu (argosyctl files limit): larger things are images or packages",
                                  (bytes + 1023) / 1024, unit_max / 1024);
        return 0;
}

int batch_put_content(BatchBuilder *b, const ClusterState *state, const SentFiles *sent, const Hash *hash, const void *content, size_t len,
                      char **ret_why) {
        const SpecEntry *there = cluster_state_find_spec(state, hash);
        _cleanup_carried_files_ CarriedFiles files = {};
        int r;

        if (batch_builder_has_spec(b, hash) || (there && cluster_state_has_files_of(state, there)))
                return 0;
        r = carried_files_read(content, len, &files);
        if (r == 0)
                r = check_sizes(state, len, &files, ret_why);
        for (size_t i = 0; r == 0 && i < files.n; i++)
                if (!batch_builder_has_spec(b, &files.list[i].hash) && !cluster_state_find_spec(state, &files.list[i].hash))
                        r = put_file(b, sent, &files.list[i], ret_why);
        return r < 0 ? r : batch_builder_put_spec(b, hash, content, len);
}

size_t sent_file_bytes(const Argosy__NamedFile *file) {
        size_t bytes = file->content.len;

        for (size_t i = 0; i < file->n_files; i++)
                bytes += file->files[i].len;
        return bytes;
}
