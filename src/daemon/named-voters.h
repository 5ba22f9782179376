// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Voters of whom our log does not know yet, as others name them.

#include <stddef.h>
#include <stdint.h>

#include "argosy.pb-c.h"
#include "hash.h"

typedef struct Daemon Daemon;

// Somebody whom we dial as a voter has named them. Without a log of our own nothing is kept.
void named_voters_add(Daemon *d, Argosy__Voter *const *voters, size_t n);
// This host has no log any more.
void named_voters_forget(Daemon *d);
// One with a raft id that our log does not know yet. NULL: none. Valid until the loop runs on.
const Argosy__Voter *named_voters_find_pin(const Daemon *d, const Hash *pin);
const Argosy__Voter *named_voters_find_raft_id(const Daemon *d, uint32_t raft_id);
