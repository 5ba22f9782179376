// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Which secrets a host could read that is to be removed: what it may have kept is worth nothing only when
// they have other values.

#include "leader-core.h"

// To be asked before anything moves away from the host, and before it stops being a voter for this. NULL:
// out of memory.
Argosy__Response__Removal *secret_readers_of(const Leader *l, const Argosy__HostRecord *host);
// What has come since then: to be asked when the host's record goes, and any number of times. -ENOMEM: some
// may have been added.
int secret_readers_add(const Leader *l, const Argosy__HostRecord *host, Argosy__Response__Removal *removal);
// In words, for people; "": none. To be freed; NULL: out of memory.
char *secret_readers_words(const Argosy__Response__Removal *removal, const char *host);
