// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Units that are to run and have an older version of a secret than the newest.

#include "leader-core.h"

// The name of such a secret of the unit, as long as the record of that lives; NULL: it has none.
const char *unit_older_secret(const Leader *l, const char *unit);
// An entry has come: units whose secret has got another version since are noted.
void older_secrets_follow(Leader *l);
// A turn: rows of some of them are marked.
void older_secrets_step(Leader *l);
// A new leader: all rows are as they are now.
void older_secrets_begin(Leader *l);
