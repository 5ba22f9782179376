// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What differs between two contents of a unit, of which the image of a container is said in one line.

#include "buf.h"
#include "diff.h"

// Appends the difference of the two, as diff_append(), but for the digest of a container's image, which is
// no line of somebody's file: that is said behind it. `pending`: `to` has come from a disk, and its tag is
// yet to be resolved. 0 or -ENOMEM.
int image_diff_append(const char *unit, const DiffSide *from, const DiffSide *to, bool pending,
                      const TextStyle *style, bool clean, Buf *out);
