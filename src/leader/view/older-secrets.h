// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Units that are to run and have an older version of a secret than the newest.

#include "leader-core.h"

// The name of such a secret of the unit, as long as the record of that lives; NULL: it has none.
const char *unit_older_secret(const Leader *l, const char *unit);
// Rows of units whose secret has got another version since are marked.
void older_secrets_follow(Leader *l);
