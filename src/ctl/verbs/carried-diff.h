// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What differs between the files that come with a unit (carried-files.h) in two of its contents.

#include "buf.h"
#include "carried-files.h"
#include "diff.h"

typedef struct Ctl Ctl;

// One side: a content of the unit, with its list of files. `name` is what the side is called.
typedef struct CarriedSide {
        const DiffSide *content;
        // The bytes of a file that is not in the cluster yet; NULL: the cluster is asked by its hash. May be
        // NULL.
        const ProtobufCBinaryData *sent;
        size_t n_sent;
} CarriedSide;

// Appends the difference of each file, as `diff -u` prints it; of one that is no text its size and hash.
// What is not kept any more is said. An exit code, after a complaint if it is none of success.
int carried_diff_append(Ctl *ctl, char *unit, const CarriedSide *from, const CarriedSide *to, Buf *out);
