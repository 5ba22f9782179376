// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What podman and skopeo read to show a registry who asks (containers-auth.json(5)). Pure.

#include "secret-bytes.h"

#define REGISTRY_AUTH_BAD_TEXT "the secret of its RegistryAuth= is not USER:PASSWORD in one line"

// Of "USER:PASSWORD", with a line end or without, for the registry that has the image
// ("reg.example:5000/box:1"). 0; -EINVAL: it is none of these; -ENOMEM.
int registry_auth_compose(const char *image, const SecretBytes *value, SecretBytes *ret) _warn_unused_;
