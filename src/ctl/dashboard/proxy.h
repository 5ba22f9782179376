// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What argosyctl dashboard does once it listens: it passes requests that the door lets through to argosyd's
// HTTP socket, with the rights of the user that runs argosyctl, and the answers back as they come. One
// request a connection; nothing of it is kept.

#include "door.h"

enum {
        PROXY_CONNECTIONS_MAX = 64, // further ones wait to be accepted
        PROXY_HEAD_SEC = 10,        // from a connection to the end of its head
};

// Connects to the socket once. 0 or -errno.
int proxy_try(const char *http_socket);
// On a loopback address; port 0: a free one. *port becomes the one it is. A listening socket, which is the
// caller's, or -errno.
int proxy_listen(uint16_t *port);
// Until SIGINT or SIGTERM, which are blocked meanwhile. 0 or -errno.
int proxy_run(Door *d, int listener, const char *http_socket);
