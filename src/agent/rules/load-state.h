// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What is shown as the load state of a unit. systemd's own word holds only while the unit is in its memory:
// the next use reads the files again. So while it is not, the load state follows from those: what the
// directories have of them, and what systemd said when it last read what is in place now. Pure.

#include "systemd-manager.h"

typedef struct LoadStateInput {
        const UnitRuntime *runtime;
        bool file_present;         // the unit's content is in place
        bool failed;               // what was tried last about the unit failed
        Argosy__LoadState hidden;  // MASKED or NOT_FOUND, by the directories; UNKNOWN: systemd finds the
                                   // file
        Argosy__LoadState of_file; // see load_state_of_file()
} LoadStateInput;

// As `systemctl show` on the node would say. STUB: the file is about to be written.
Argosy__LoadState load_state_shown(const LoadStateInput *in);

// What systemd made of the content that is in place: LOADED, BAD_SETTING, ERROR, or UNKNOWN if it has not
// read it. `before`: what was known so far. `said`: of the unit in memory. `is_of_older`: that is not the
// content in place.
Argosy__LoadState load_state_of_file(Argosy__LoadState before, Argosy__LoadState said,
                                     Argosy__ActiveState active, bool is_of_older);
