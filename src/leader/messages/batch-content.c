// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A content that the cluster has is put nowhere, and neither is a file of it: units share them by their
// hashes. What came with it is found by its size first, so that of hundreds of files only those are hashed
// that may be meant, and each once. A file that is missing, or larger than the cluster has set, ends it, and
// the caller takes back what was put.

#include "batch-content.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "carried-files.h"
#include "str.h"

// A file that came along.
typedef struct Came {
        const ProtobufCBinaryData *bytes;
        Hash hash;
        bool hashed;
} Came;

typedef struct CameFiles {
        Came *list;
        size_t n;
} CameFiles;

static void came_files_done(CameFiles *c) {
        free(c->list);
}

// What came along with that very content: its files, and no others are looked for. NULL: it did not come
// itself, and has none.
static const Argosy__NamedFile *find_own(const SentFiles *sent, const void *content) {
        for (size_t i = 0; i < sent->n; i++)
                if (sent->list[i]->content.data == content)
                        return sent->list[i];
        return NULL;
}

// More of them than a unit may have are not looked at: each may have to be hashed.
static int came_files_take(CameFiles *c, const Argosy__NamedFile *own, size_t bytes_max, char **ret_why) {
        size_t bytes = 0;

        if (!own || own->n_files == 0)
                return 0;
        for (size_t i = 0; i < own->n_files; i++)
                bytes += own->files[i].len;
        if (own->n_files > CARRIED_FILES_MAX || bytes > bytes_max)
                return str_refuse(ret_why, "more files came with it than a unit may have");
        c->list = calloc(own->n_files, sizeof(*c->list));
        if (!c->list)
                return -ENOMEM;
        for (; c->n < own->n_files; c->n++)
                c->list[c->n].bytes = &own->files[c->n];
        return 0;
}

static bool is_meant(Came *came, const CarriedFile *file) {
        if (came->bytes->len != file->size)
                return false;
        if (!came->hashed)
                came->hash = hash_of(came->bytes->data, came->bytes->len);
        came->hashed = true;
        return hash_equal(&came->hash, &file->hash);
}

static int put_file(BatchBuilder *b, CameFiles *came, const CarriedFile *file, char **ret_why) {
        for (size_t i = 0; i < came->n; i++)
                if (is_meant(&came->list[i], file))
                        return batch_builder_put_file(b, &file->hash, came->list[i].bytes->data,
                                                      came->list[i].bytes->len);
        return str_refuse(ret_why, "its file %s did not come along, and the cluster does not have it",
                          file->name);
}

// What the cluster has set for itself: what a content itself may have at most is judged where that is read.
static int check_sizes(const ClusterState *state, size_t len, const CarriedFiles *files, char **ret_why) {
        size_t file_max = cluster_state_file_limit(state), unit_max = cluster_state_unit_files_limit(state),
               bytes = len + carried_files_bytes(files);

        for (size_t i = 0; i < files->n; i++)
                if (files->list[i].size > file_max)
                        return str_refuse(ret_why,
                                          "its file %s has %zu KiB, and may have %zu (argosyctl files "
                                          "limit): larger things are images or packages",
                                          files->list[i].name, (files->list[i].size + 1023) / 1024,
                                          file_max / 1024);
        if (files->n > 0 && bytes > unit_max)
                return str_refuse(ret_why,
                                  "it has %zu KiB with its files, and may have %zu (argosyctl files limit): "
                                  "larger things are images or packages",
                                  (bytes + 1023) / 1024, unit_max / 1024);
        return 0;
}

int batch_put_content(BatchBuilder *b, const ClusterState *state, const SentFiles *sent, const Hash *hash,
                      const void *content, size_t len, char **ret_why) {
        const SpecEntry *there = cluster_state_find_spec(state, hash);
        _cleanup_(came_files_done) CameFiles came = {};
        _cleanup_carried_files_ CarriedFiles files = {};
        int r;

        if (batch_builder_has_spec(b, hash) || (there && cluster_state_has_files_of(state, there)))
                return 0;
        r = carried_files_read(content, len, &files);
        if (r == 0)
                r = check_sizes(state, len, &files, ret_why);
        if (r == 0)
                r = came_files_take(&came, find_own(sent, content), cluster_state_unit_files_limit(state),
                                    ret_why);
        for (size_t i = 0; r == 0 && i < files.n; i++)
                if (!batch_builder_has_spec(b, &files.list[i].hash) &&
                    !cluster_state_find_spec(state, &files.list[i].hash))
                        r = put_file(b, &came, &files.list[i], ret_why);
        return r < 0 ? r : batch_builder_put_spec(b, hash, content, len);
}

size_t sent_file_bytes(const Argosy__NamedFile *file) {
        size_t bytes = file->content.len;

        for (size_t i = 0; i < file->n_files; i++)
                bytes += file->files[i].len;
        return bytes;
}
