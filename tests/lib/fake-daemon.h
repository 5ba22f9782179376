// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// An argosyd that plays a script: a thread that listens on a unix socket in a directory of its own and does,
// step by step, what a test says. A step that does not find what it expects aborts the test program.
//
// The script runs in a thread where SIGINT is blocked, so that a Ctrl-C of the test reaches the one who
// waits.

#include <pthread.h>
#include <stdbool.h>

#include "argosy.pb-c.h"
#include "buf.h"

typedef struct FakeDaemon FakeDaemon;
typedef void (*FakeScript)(FakeDaemon *d);

struct FakeDaemon {
        char dir[32], path[64];
        int listener, fd;
        Buf in;
        uint64_t last_id; // of the last request read
        unsigned accepted;
        pthread_t thread;
        FakeScript script;
        uint8_t memory[64]; // for the script
};

// Starts the script; the socket's path is d->path. Where it ends with a connection that it has not hung up,
// the peer does so without having said anything more.
void fake_daemon_start(FakeDaemon *d, FakeScript script);
// Waits until the script has ended; removes everything.
void fake_daemon_stop(FakeDaemon *d);

// ---- for scripts
void fake_accept(FakeDaemon *d);
void fake_hang_up(FakeDaemon *d);
// The next request, freed by the caller; the peer must not have hung up.
Argosy__Request *fake_read(FakeDaemon *d);
Argosy__Request *fake_take(FakeDaemon *d); // the first one of a connection that is accepted
// Waits for the peer to hang up without having said anything more.
void fake_expect_end(FakeDaemon *d);
// Sends a response to the last request, or raw bytes.
void fake_reply(FakeDaemon *d, Argosy__Response *r);
void fake_reply_last(FakeDaemon *d, Argosy__Response *r); // and waits for the peer to hang up
void fake_send(FakeDaemon *d, const void *data, size_t len);
