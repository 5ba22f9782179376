// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What hosts show the registry of an image (RegistryAuth=), while the leader asks them. See image-auth.c.

#include "leader-core.h"
#include "secret-bytes.h"

typedef struct ImageAuth { // zero-initialised: nothing
        Argosy__SecretValue *value; // for a message; NULL: the file names none
        Argosy__SecretValue of;
        SecretBytes bytes;
} ImageAuth;

// `name`: of RegistryAuth=, which is to live as long; NULL: none. 0; -EINVAL and *ret_why, a clause: there
// is no such secret, or this leader cannot read it; -ENOMEM. *ret is to be ended, also after an error, and
// is not to be moved.
int image_auth_open(Leader *l, const char *name, ImageAuth *ret, char **ret_why) _warn_unused_;
void image_auth_done(ImageAuth *a);
