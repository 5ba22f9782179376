// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <stddef.h>

typedef struct Ctl Ctl;

enum { CHANGE_NO_VERB = -3 }; // beside exit codes: it is no verb that is asked for unit by unit

// Asks for these units, which the cluster knows, as the verb of that name does; no file of this disk goes with it. Of none
// it only says whether there is such a verb. Returns an exit code.
int change_again(Ctl *ctl, const char *verb, char **names, size_t n);
