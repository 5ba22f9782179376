// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The sockets for HTTP, and the certificate that is shown at those over TCP.

typedef struct Daemon Daemon;

// Beside the local socket, which is open. A host that cannot have it goes on without, and says so.
void daemon_http_open(Daemon *d);
// What may have changed: the configuration was read again, this host has another address, or time has gone
// by. Asks for the full name of this machine again, too.
void daemon_http_update(Daemon *d);
// Sets the names by which this host is asked over HTTP to those known now.
void daemon_http_update_names(Daemon *d);
