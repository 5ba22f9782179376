// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// One bit of a file on a disk is another one: of the fence, the peers, the secrets of voters, or of the log.
// Whoever reads it at the next start is to say so in words, naming the file, and to do nothing by it. One
// host at a time has such a file, and no log of a cluster's only voter, so most voters have all of it. An
// administrator does what the words say: gives back what the file was, or removes it where they say so.

#include <stdbool.h>
#include <stdint.h>

#include "choices.h"

void hosts_rot_begin(void);
// The host is down. False: there is nothing of it that could rot now.
bool hosts_rot(uint32_t number, Draw *d);
// It does not start, and says why. Whether that is its rotten file, which is mended then.
bool hosts_rot_is_refused(uint32_t number, const char *why);
bool hosts_rot_is_pending(void); // a file is rotten, and was not read yet
void hosts_rot_on_look(void);
void hosts_rot_on_calm(void);
