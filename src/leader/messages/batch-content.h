// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A unit's content in an entry, with the files that its manifest names (carried-files.h), which come before
// it.

#include "argosy.pb-c.h"
#include "batch-builder.h"
#include "cluster-state.h"

// What came along with a request.
typedef struct SentFiles {
        Argosy__NamedFile *const *list;
        size_t n;
} SentFiles;

// Puts what of it the cluster does not have. 0; -EINVAL and *ret_why, a clause: a file neither came nor is
// there, or it or all of them are larger than the cluster takes; -EDQUOT as batch_builder_put_spec(), with
// BatchBuilder.refusal; -ENOMEM.
int batch_put_content(BatchBuilder *b, const ClusterState *state, const SentFiles *sent, const Hash *hash,
                      const void *content, size_t len, char **ret_why) _warn_unused_;
// Bytes that a file takes in an entry with all that came with it.
size_t sent_file_bytes(const Argosy__NamedFile *file);
