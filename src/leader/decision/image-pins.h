// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// For which images of a request a registry is to be asked. See image-pins.c.

#include "image-files.h"

enum { IMAGE_PINS_MAX = 256 }; // of one request

// Lists them, once. 0; -E2BIG: these are more than IMAGE_PINS_MAX; -EOPNOTSUPP: instances with images of
// their own would get one file; -ENOMEM.
int image_pins_list(PendingRequest *t);
