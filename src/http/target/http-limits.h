// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The limits of HTTP, by name, for code that needs nothing else of HTTP.

#include <stddef.h>

enum {
        // Connections that are one too many (accounts.h) and are told so when they ask; further ones are
        // closed without a word.
        HTTP_CONNECTIONS_REFUSED_MAX = 64,
        // Over TCP nothing is read of a longer body before the leader has said that there is such a token;
        // and of one that is longer than the other before it has said that the client may bring content.
        HTTP_TCP_UNJUDGED_MAX = 16 * 1024,
        HTTP_SMALL_BODY_MAX = 1024 * 1024,
        // beyond it all bodies of a user that need no right to bring content
        HTTP_SHORT_BODY_MAX = 64 * 1024,
        // have so many bytes together with whatever else is held for it
        HTTP_SMALL_HELD_MAX = 16 * 1024 * 1024,
        HTTP_TCP_UNANSWERED_SEC = 30, // until a client whose kernel takes nothing is given up
        HTTP_TCP_SILENT_SEC = 15,     // without a byte either way, until the client's kernel is probed
        HTTP_HEADER_MAX = 8 * 1024, // bytes of a request's line and headers, kept for each connection
        HTTP_HEAD_SEC = 10,          // from a connection to the end of the head of its first request, with
                                     // the handshake of TLS
        HTTP_IDLE_SEC = 30,          // from an answer to the end of the next head; and without a byte from
                                     // or to a client that is not waited for
        HTTP_COMMENT_SEC = 15,       // without an event, until the client of a stream is told that it goes
                                     // on
        HTTP_BATCH_MS = 20,          // from one answer to streams to the next: what happens meanwhile is
                                     // told together
        HTTP_BEGIN_MS = 3000,        // until a journal begins whose node says nothing
        HTTP_JOB_UNITS_MAX = 5000,   // of one job in one answer, at least: what is behind the part that
                                     // reaches it is counted only
        HTTP_AGAIN_MS = 1000,        // until a stream asks again when no leader could be reached
        HTTP_JOURNAL_WINDOW = 64 * 1024, // bytes of a journal's lines under way; as many more may wait until
                                         // their client reads
        HTTP_END_MS = 500,           // at the end of argosyd, for what has begun to be told so
        HTTP_CALLS_IN_A_TURN = 64,   // of the loop, at some 50 us each
        HTTP_BODY_SEC = 60,          // from when its body is wanted to its last byte
        // A copy of the cluster, of which state documents are made, is dropped when nobody has asked for one
        // for so long.
        HTTP_STATE_KEPT_SEC = 60,
};
// Bytes of all copies and of the documents that are being sent, together: beyond them there is no newer one.
// Those that have a copy of their own have room in their accounts (ACCOUNT_COPIES), and leave some for the
// one that the others share.
#define HTTP_STATE_BYTES_MAX ((size_t) 2 << 30)
