// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Hosts have the images that a request gives to what runs there before it is decided. See image-pulls.c.

#include "pending-requests.h"

typedef struct ImageWish {
        const char *image;         // as content_image_of() says
        const char *registry_auth; // of the file (image-auth.h); NULL: none
} ImageWish;

// Of units that are changed at once, while they are planned. The host of `node` is to have that image. 0;
// *ret_why: why it cannot have it, good until the pending request ends; NULL: it can, or nobody knows yet.
// Or -ENOMEM.
int image_pulls_want(PendingRequest *t, uint32_t node, const ImageWish *wish, const char **ret_why);
// Whether hosts are yet to answer, so that what was planned is not to be done. Asks some of them. 1, 0 or
// -ENOMEM.
int image_pulls_ask(PendingRequest *t);
// Images on hosts that were wanted so far, and of these one after the other that cannot be had (*at begins
// with 0): why; NULL: there are no more.
size_t image_pulls_count(const PendingRequest *t);
const char *image_pulls_next_failed(const PendingRequest *t, size_t *at, uint32_t *ret_node);
