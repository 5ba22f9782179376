// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Which managers of users and containers this host serves: those of Managers= in the configuration, and
// those that `argosyctl manager attach` has added, which STATE_DIR/managers keeps until they are detached,
// one name per line. Blocks on that small file when one comes or goes.

#include <stdbool.h>

#include "argosy.pb-c.h"

typedef struct Daemon Daemon;

// At the start: attaches all of them. What cannot be attached is logged, it keeps the host from nothing.
void managers_open(Daemon *d);
// The configuration was read again; `before` is the old one's.
void managers_on_config(Daemon *d, char *const *before, size_t n_before);
// It was detached. One that the configuration names again by now is attached.
void managers_on_gone(Daemon *d, const char *manager);
// ManagerAttach, ManagerDetach, ManagerList. `done` fires once, perhaps before return.
void managers_request(Daemon *d, const Argosy__Request *request,
                      void (*done)(const Argosy__Response *response, void *userdata), void *userdata);
// The client has gone: `done` of that userdata does not fire any more. What was begun goes on.
void managers_abandon(Daemon *d, void *userdata);
