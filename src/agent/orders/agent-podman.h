// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Whether this host can run containers (quadlet.h): the leader hears it as a label of the host, with each
// Attach.

#include "agent-core.h"

// At the begin of an Attach: asks which podman there is, if the generator is another one than at the last.
// A new Attach follows if the answer is news.
void agent_podman_look(Agent *a);
void agent_podman_close(Agent *a);
// The host's labels with that one, for the Attach: *ret, an array that the caller frees; what it points to
// is borrowed. 0 or -ENOMEM.
int agent_podman_labels(Agent *a, Argosy__Label ***ret, size_t *ret_n) _warn_unused_;
