// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// This machine's host name in full (FQDN), as hostname(1) --fqdn says it: for the certificate of HTTP, and
// for who asks by that name.

typedef struct Daemon Daemon;

// Asks the resolver, in the pool. When it says another name than before, d->full_name is that and
// daemon_http_update_names() is called, later.
void full_name_look_up(Daemon *d);
// Nothing is heard of it any more.
void full_name_close(Daemon *d);
