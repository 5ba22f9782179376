// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A document that many clients get: it is written once, as pieces that the versions before and after it
// share, and libmicrohttpd sends it from there to each of them. Made by a worker, handed out by the loop,
// sent by the HTTP thread; its users are counted, and the last one frees it.

#include <microhttpd.h>
#include <stdbool.h>

#include "event-cursor.h"
#include "text-chunk.h"

typedef struct HttpVersion HttpVersion;

// that are sent as they are; libmicrohttpd keeps 16 bytes of each for a connection
enum { HTTP_VERSION_PIECES_MAX = 128 };

// Takes the pieces, also when it fails: NULL, out of memory. `cursor` is what it is the document of.
HttpVersion *http_version_new(const EventCursor *cursor, TextPiece *pieces, size_t n);
HttpVersion *http_version_ref(HttpVersion *v);
HttpVersion *http_version_unref(HttpVersion *v); // NULL, and takes NULL
const EventCursor *http_version_cursor(const HttpVersion *v);
// Called by the HTTP thread. has_room: there is room for what libmicrohttpd keeps of so many pieces.
enum MHD_Result http_version_send(HttpVersion *v, struct MHD_Connection *connection, bool has_room);
