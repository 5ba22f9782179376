// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// unit_search_run() by a helper: what the directories of a user's or a container's manager, of which nothing
// is opened from here, say of some units. One search, one helper.

#include "helper-link.h"

typedef struct ForeignSearch ForeignSearch;

// `names` and `loads` stay the caller's until `done`, which fires once, not before return: the helper's
// process is gone then, and so is the search. 0: `loads` is filled in. -ETIMEDOUT, -EBADMSG, ...: nothing is
// known. config->mode is HELPER_SEARCH, and n > 0.
int foreign_search_new(const HelperConfig *config, char *const *names, size_t n, Argosy__LoadState *loads,
                       void (*done)(int error, void *userdata), void *userdata, ForeignSearch **ret);
// Ends it early: `done` follows, with -ECANCELED unless it had come to its end. Not in `done`.
void foreign_search_close(ForeignSearch *l);
