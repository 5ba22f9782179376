// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// This host's certificate is renewed over the mesh when fewer than CERT_RENEW_DAYS are left. Nothing depends
// on it: members trust pinned keys, and an expired certificate of a pinned key is only warned about.

#include "argosy.pb-c.h"

typedef struct Daemon Daemon;

// Asks the leader for a new certificate if it is time. Called when a leader has welcomed us, and once a day.
void renew_if_due(Daemon *d);
void renew_on_renewed(Daemon *d, const Argosy__ToHost__Renewed *message);
