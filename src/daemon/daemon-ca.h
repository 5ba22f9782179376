// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The cluster's CAs, as a voter sees to them: whose certificates are good, and new ones for those who have
// none.

#include "argosy.pb-c.h"
#include "buf.h"

typedef struct Daemon Daemon;

// What the log names, or this host's own certificate is of, has changed.
void daemon_ca_update(Daemon *d);
// MeshOps.sign
int daemon_ca_sign(uint32_t host, const Argosy__ToVoter__Renew *renew, Buf *ret_cert, Buf *ret_ca_cert,
                   void *userdata);
