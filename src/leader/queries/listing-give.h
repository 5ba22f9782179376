// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Gives the rows of a list that was made (listings.c).

#include "listings-private.h"

// All its names are sorted in runs of LISTING_RUN. 0 or -ENOMEM.
int listing_give_begin(Listing *g);
// What one turn takes; the list may be gone when it returns. 0 or -ENOMEM.
int listing_give_some(Listing *g);
