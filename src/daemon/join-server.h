// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A stranger asks to join: two JoinRequest frames, a JoinReply for each, close. The only thing that somebody without
// a pinned key gets processed beyond the handshake, and therefore limited in every direction.

typedef struct Daemon Daemon;
typedef struct JoinServer JoinServer;
typedef struct Stream Stream;

enum {
        JOIN_STREAMS_MAX = 16,  // at a time; more are closed
        JOIN_RATE_PER_SEC = 10, // joiners that are heard, on average
        JOIN_BURST = 30,
        JOIN_TIMEOUT_MS = 15000, // from accept to reply
};

int join_server_new(Daemon *d, JoinServer **ret);
void join_server_accept(JoinServer *j, Stream *stream);
void join_server_close(JoinServer *j);
