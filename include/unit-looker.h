// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// unit_search_look() by a helper: what the directories of a user's or a container's manager, of which nothing
// is opened from here, say of some units. One look, one helper.

#include "helper-link.h"

typedef struct UnitLooker UnitLooker;

// `names` and `loads` stay the caller's until `done`, which fires once, not before return: the helper's
// process is gone then, and so is the looker. 0: `loads` is filled in. -ETIMEDOUT, -EBADMSG, ...: nothing is
// known. config->mode is HELPER_LOOK, and n > 0.
int unit_looker_new(const HelperConfig *config, char *const *names, size_t n, Argosy__LoadState *loads,
                    void (*done)(int error, void *userdata), void *userdata, UnitLooker **ret);
// Ends it early: `done` follows, with -ECANCELED unless it had come to its end. Not in `done`.
void unit_looker_close(UnitLooker *l);
