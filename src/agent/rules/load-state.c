// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A unit in memory has the load state that systemd said of it; of one that came into memory without a word
// it is that of its file. A file that systemd has not read is taken for a good one, since most are; a start
// or a load corrects that.
//
// NOT_FOUND and MASKED say nothing of the content, and neither does ERROR of a unit that is up: systemd says
// that when it looks again for the file of a running unit that it did not find before, and cannot take it
// up.

#include "load-state.h"
#include "unit-state.h"

Argosy__LoadState load_state_shown(const LoadStateInput *in) {
        if (in->runtime->loaded && in->runtime->load != ARGOSY__LOAD_STATE__LOAD_UNKNOWN)
                return in->runtime->load;
        if (!in->file_present)
                return in->failed ? ARGOSY__LOAD_STATE__LOAD_NOT_FOUND : ARGOSY__LOAD_STATE__LOAD_STUB;
        if (in->hidden != ARGOSY__LOAD_STATE__LOAD_UNKNOWN)
                return in->hidden;
        return in->of_file ?: ARGOSY__LOAD_STATE__LOAD_LOADED;
}

Argosy__LoadState load_state_of_file(Argosy__LoadState before, Argosy__LoadState said,
                                     Argosy__ActiveState active, bool is_of_older) {
        bool says_it = said == ARGOSY__LOAD_STATE__LOAD_LOADED ||
                       said == ARGOSY__LOAD_STATE__LOAD_BAD_SETTING ||
                       (said == ARGOSY__LOAD_STATE__LOAD_ERROR && active_state_is_down(active));

        return says_it && !is_of_older ? said : before;
}
