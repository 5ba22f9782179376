// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Whether this host hears a leader: by what other hosts say (one of them leads, or none does) and by the
// answers to this host's signs of life, since a leader that hangs, or whose machine has lost its power, says
// nothing. Pure; times are of the boot clock, in microseconds.

#include <stdbool.h>
#include <stdint.h>

// without a leader, until that is said. With HeartbeatSec=1 it is said within 1.7 s
enum { LEADER_CONTACT_MS = 700 };

typedef struct LeaderContact {
        bool leads;         // a voter says that it leads
        uint64_t silent_us; // since when no leader was heard; 0: one is
} LeaderContact;

// Some host leads, or none does any more.
void leader_contact_on_leader(LeaderContact *c, bool leads, uint64_t now_us);
// unanswered_us: when the oldest sign of life that the leader has not answered was sent; 0: it has answered
// all.
void leader_contact_on_beat(LeaderContact *c, uint64_t unanswered_us);
// When it is to be said that nobody leads, unless one is heard before; 0: one is.
uint64_t leader_contact_due_us(const LeaderContact *c);
bool leader_contact_is_lost(const LeaderContact *c, uint64_t now_us);
