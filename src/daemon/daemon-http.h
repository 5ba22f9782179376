// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The sockets for HTTP, and the certificate that is shown at those over TCP.

typedef struct Daemon Daemon;

// Beside the local socket, which is open. A host that cannot have it goes on without, and says so.
void daemon_http_open(Daemon *d);
// What may have changed: the configuration was read again, or time has gone by.
void daemon_http_update(Daemon *d);
