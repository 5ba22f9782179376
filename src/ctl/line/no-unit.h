// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What a word is that means no unit, so that an error does not name a unit that was not typed.

#include <stdbool.h>

#include "buf.h"

// `word` as typed; relative paths begin at dirfd. `reads`: the verb takes unit files. 0: nothing speaks
// against it, a unit of that name may be there. -EINVAL: it cannot be one, and *why has the sentence.
// -ENOMEM.
int no_unit_check(const char *word, bool reads, int dirfd, Buf *why);
// The unit file in that folder whose name is next to `name`: a new string; NULL: none.
char *no_unit_nearest(const char *dir, const char *name, int dirfd);
// The file dir + name is not there (`dir` ends in '/'), of which `base` was typed: the sentence, with the
// file beside it that may have been meant. 0 or -ENOMEM.
int no_unit_missing(const char *dir, const char *base, const char *name, const char *template, int dirfd,
                    Buf *why);
