// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// This host's certificate is renewed over the mesh when fewer than CERT_RENEW_DAYS are left, or it is of a
// CA that is not the cluster's any more. On the first nothing depends: members trust pinned keys, and an
// expired certificate of a pinned key is only warned about. With the second a voter lets this host do
// nothing but that.

#include "argosy.pb-c.h"
#include "buf.h"

typedef struct Daemon Daemon;

// Asks the leader for a new certificate if it is time. Called when a leader has welcomed us, and once a day.
void renew_if_due(Daemon *d);
// Asks it now.
void renew_ask(Daemon *d);
// Tells it which CA our certificate is of.
void renew_report(Daemon *d);
int renew_request(Buf *ret_csr, void *userdata); // MeshOps.renew_request
void renew_on_renewed(Daemon *d, const Argosy__ToHost__Renewed *message);
