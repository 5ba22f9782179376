// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The limits of HTTP, by name. Who needs them alone need not know what an HttpApi is.

#include <assert.h>
#include <stddef.h>

enum {
        // Connections, each with one request at a time; those of one user; those of all but root and whom this process runs
        // as; and of each of these two. Who is one too many is told so when he asks; of those who have not asked yet there are so many
        // beside the others, and further ones are closed without a word.
        HTTP_CONNECTIONS_MAX = 2048,
        HTTP_CONNECTIONS_PER_USER = 64,
        HTTP_CONNECTIONS_OTHERS_MAX = 768,
        HTTP_CONNECTIONS_PER_OWNER = HTTP_CONNECTIONS_MAX - HTTP_CONNECTIONS_OTHERS_MAX, // root's, and whom this process runs as
        HTTP_CONNECTIONS_REFUSED_MAX = 64,
        // Over TCP, where nobody says who he is before he has asked: beside those above, of all listeners; of one; and from one
        // address, or one /64 of IPv6. Who is one too many of these is closed without a word.
        HTTP_TCP_CONNECTIONS_MAX = 1024,
        HTTP_TCP_PER_LISTENER = 512,
        HTTP_TCP_PER_ADDRESS = 64,
        // Bytes of bodies that have come so and were not read yet: a part of HTTP_HELD_OTHERS_MAX, since nobody knows whose they are.
        HTTP_TCP_UPLOADS_MAX = 32 * 1024 * 1024 + 1024 * 1024,
        // Of a longer body nothing is read before the leader has said that there is such a token: strangers together take no more than half
        // of that.
        HTTP_TCP_UNJUDGED_MAX = 16 * 1024,
        HTTP_TCP_BEGIN_SEC = 10,      // from a connection to the last header of its first request, with the handshake of TLS
        HTTP_TCP_UNANSWERED_SEC = 30, // until a client whose kernel takes nothing is given up
        HTTP_TCP_SILENT_SEC = 15,     // without a byte either way, until his kernel is asked whether it is there
        HTTP_HEADER_MAX = 8 * 1024, // bytes of a request's line and headers, kept for each connection
        HTTP_IDLE_SEC = 30,          // without a byte from or to a client that is not waited for
        HTTP_COMMENT_SEC = 15,       // without an event, until the client of a stream is told that it goes on
        HTTP_BATCH_MS = 20,          // from one answer to streams to the next: what happens meanwhile is told together
        HTTP_BEGIN_MS = 3000,        // until a journal begins whose node says nothing
        HTTP_JOB_UNITS_MAX = 5000,   // of one job in one answer, at least: what is behind the part that reaches it is counted only
        HTTP_AGAIN_MS = 1000,        // until a stream asks again when no leader could be reached
        HTTP_JOURNAL_WINDOW = 64 * 1024, // bytes of a journal's lines under way; as many more may wait until their client reads
        HTTP_END_MS = 500,           // at the end of argosyd, for what has begun to be told so
        HTTP_BODY_SEC = 60,          // from a request's headers to the last byte of its body
        // Bytes of bodies, as they come, and of answers that were not read yet, as the loop handed them over; beyond them requests are refused.
        // Of these all have who are neither root nor whom this process runs as; and one of them, or one token.
        HTTP_HELD_MAX = 128 * 1024 * 1024,
        HTTP_HELD_OTHERS_MAX = 88 * 1024 * 1024,
        HTTP_HELD_PER_USER = HTTP_HELD_OTHERS_MAX / 2,
        // A copy of the cluster, of which state documents are made, is dropped when nobody has asked for one for so long.
        HTTP_STATE_KEPT_SEC = 60,
        // Questions for a state document at a time that need a copy of their own: what has changed, or who may not see everything. Of these
        // all have who are neither root nor whom this process runs as; and one of them, or one token. Users who have any, or read them yet.
        HTTP_STATE_OWN_MAX = 16,
        HTTP_STATE_OWN_OTHERS_MAX = 12,
        HTTP_STATE_OWN_PER_USER = 4,
        HTTP_STATE_OWN_USERS_MAX = 64,
};
static_assert(2 * HTTP_TCP_CONNECTIONS_MAX * HTTP_TCP_UNJUDGED_MAX <= HTTP_TCP_UPLOADS_MAX, "strangers leave room");

// Bytes of all copies and of the documents that are being sent, together: beyond them there is no newer one. And of those that have a copy
// of their own: they leave room for the one that the others share; of one of them who is not root or whom this process runs as.
#define HTTP_STATE_BYTES_MAX ((size_t) 2 << 30)
#define HTTP_STATE_OWN_BYTES_MAX ((size_t) 1 << 30)
#define HTTP_STATE_OWN_BYTES_PER_USER (HTTP_STATE_OWN_BYTES_MAX / 2)
