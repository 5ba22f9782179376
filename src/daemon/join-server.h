// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A stranger asks to join: two JoinRequest frames, a JoinReply for each, close. The only thing that somebody
// without a pinned key gets processed beyond the handshake, and therefore limited in every direction.

typedef struct Daemon Daemon;
typedef struct JoinServer JoinServer;
typedef struct Stream Stream;

enum {
        JOIN_STREAMS_EACH = 16,  // at a time, of one address
        JOIN_STREAMS_MAX = 64,   // of all; how often they are heard: join-pace.h
        JOIN_TIMEOUT_MS = 15000, // from accept to reply
};

int join_server_new(Daemon *d, JoinServer **ret);
void join_server_accept(JoinServer *j, Stream *stream);
void join_server_close(JoinServer *j);
