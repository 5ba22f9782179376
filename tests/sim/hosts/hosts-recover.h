// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Most voters of a story are lost for ever, and an administrator makes one of those that are left the
// cluster, as argosyctl(1) says (`cluster recover`).
//
//      the other voters      lose their power in one moment. Some lose their disks, too, and are started as
//                            machines that nobody knows; some come back later with what they had, too few to
//                            be most of the former voters. A few may stay up
//      the one that is left  has all that was committed. argosyd is stopped there, `argosyd --recover` runs,
//                            again if it dies in the middle, and argosyd is started
//
// A survivor that lacks committed entries is left out, so the log goes on where it was.

#include <stdbool.h>
#include <stdint.h>

#include "argosy.pb-c.h"
#include "choices.h"

void hosts_recover_begin(void);
void hosts_recover_step(Draw *d);
// Likewise without chance: `survivor` is the one, `comes_back` (0: none) comes back with its disk `back_us`
// later, all others lose theirs.
void hosts_recover(uint32_t survivor, uint32_t comes_back, uint64_t back_us, Draw *d);
// All machines may be started.
void hosts_recover_mend(void);
bool hosts_recover_was(void); // in this story

// Checks.
void recover_on_entry(const Argosy__LogBatch *batch);
void recover_on_calm(void);
