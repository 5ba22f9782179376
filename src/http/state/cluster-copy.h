// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The cluster, made of nothing but events: after each event in its order this copy is as the leader's at
// every `complete`, and after each event that follows. From it comes the state document, a list of pieces of
// which those are made anew that something has changed in; and, of one that has begun at a cursor, what has
// changed since. Pure.
//
//      {"cursor":"...","leader":{...},"queue":{...},"nodes":[{...},...],...,
//       "unit_files":[...],"units":[...]}
//
//      {"cursor":"...","missed":false,"anew":{"lists":[],"units":[]},
//       "gone":{"units":[{"unit":...,"node":...}]},"units":[...]}
//
// A row has the fields of its event (event-kind.h), in their order. In the second one `anew` is what was
// told completely: of these lists, and in "units" of these units, whatever stands in no row is gone. Jobs
// that have ended stand in the second one only.

#include <stdbool.h>
#include <stddef.h>

#include "argosy.pb-c.h"
#include "text-chunk.h"

typedef struct ClusterCopy ClusterCopy;

// The list that rows of that kind belong to; NULL: none.
const char *cluster_copy_list(Argosy__EventKind kind);
// changes: it has begun at a cursor, and keeps what is gone. held: of it and its documents, bytes that there
// are; it outlives both (text-chunk.h). NULL: out of memory.
ClusterCopy *cluster_copy_new(bool changes, _Atomic size_t *held);
ClusterCopy *cluster_copy_free(ClusterCopy *c); // NULL, and takes NULL
// 0; -EBADMSG: that is no event that there can be; -ENOMEM. After an error it is of no use any more. Kinds
// that this build does not know are left out.
int cluster_copy_take(ClusterCopy *c, const Argosy__Event *event);
// A packed one.
int cluster_copy_take_packed(ClusterCopy *c, const ProtobufCBinaryData *packed);
// The document, to be freed with text_pieces_free(). 0 or -ENOMEM.
int cluster_copy_write(ClusterCopy *c, const char *cursor, TextPiece **ret, size_t *ret_n);
// That it has in memory, with the pieces of the newest document.
size_t cluster_copy_bytes(const ClusterCopy *c);
