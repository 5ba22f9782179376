// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Whether key, certificate and CA of an identity belong together. For those who read or make one; see
// identity.h.

#include "identity.h"

// Fills in the pin of an identity with all its parts, and checks that they belong together: -EBADMSG,
// -EKEYREJECTED.
int identity_check(Identity *i);
