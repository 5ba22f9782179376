// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Which beats need no answer. The leader's answer is more than half of what a beat costs it (one write, and
// what TCP does in it), and all that most hosts do with it is to go on. So of three beats only one asks, as
// long as
//
//   the lease stays long     a third of it is left when the next beat is due, which can ask then, and others
//                            behind it
//   everything is answered   from the first beat without an answer on each one asks
//   nobody waits for it      a unit here that is stopped when the host is cut off has all of the lease that
//                            there can be; who
//                            follows events here is told within two seconds that no leader answers
//
// What is safe does not change: the leader counts its lease from each beat, the host its own from those that
// were answered, so the host's ends first as ever. Pure; times are of the boot clock.

#include <stdbool.h>
#include <stdint.h>

enum { BEAT_QUIET_MAX = 2 }; // in a row

typedef struct BeatPace {
        uint64_t lease_until_us, lease_us; // when it ends if no other beat is answered; how long it is
        uint64_t beat_us;                  // until the next beat
        unsigned n_quiet;                  // beats in a row until now that asked for no answer
        bool needed;                       // somebody waits for the answer, or another one has not come
} BeatPace;

bool beat_is_quiet(const BeatPace *p, uint64_t now_us);
