// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A file that shows a registry who asks, while a program reads it. See agent-registry-auth.c.

#include "agent-core.h"
#include "secret-bytes.h"

// What came with a call; nothing: empty. 0 or -ENOMEM.
int agent_registry_auth_of_call(const Argosy__ToHost__Call *call, SecretBytes *ret);
// Of the value of a RegistryAuth=, for one program: `unit` is its transient service. *ret: "NAME=VALUE" for
// its environment. 0, or a negative errno and a clause in `why`.
int agent_registry_auth_write(Agent *a, const char *unit, const char *image, const SecretBytes *value,
                              char **ret, char why[AGENT_ERROR_MAX]);
// Removes that file, and frees the word; NULL: there is none. Returns NULL.
char *agent_registry_auth_drop(char *environment);
