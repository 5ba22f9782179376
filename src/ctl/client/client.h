// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The command line's end of the local socket: one request at a time, blocking, with deadlines. It has no
// loop: a command line waits for exactly one thing, and poll() does that.
//
// A Client is embedded and reconnects when it is asked to: client_send() dials if there is no connection.
// All times are CLOCK_BOOTTIME microseconds (clock_boot_us()); CLIENT_NEVER is no deadline.

#include <signal.h>
#include <stdbool.h>

#include "argosy.pb-c.h"
#include "buf.h"

#define CLIENT_NEVER UINT64_MAX

typedef struct Client {
        const char *path; // of the socket; borrowed
        const volatile sig_atomic_t
                *interrupt; // when it becomes non-zero, waiting ends with -EINTR; may be NULL
        bool user;          // it is a user's argosyd; for `why`
        int fd;             // -1: not connected
        int wake_fd;        // when it becomes readable, waiting for answers ends with -EALREADY; -1: none
        bool was_connected; // at least once
        Buf in;
        uint64_t last_id;
        char why[256]; // what went wrong last, a sentence for people
} Client;

// Borrows `path` and `interrupt`.
void client_init(Client *c, const char *path, const volatile sig_atomic_t *interrupt);
void client_done(Client *c);

// Connects if need be, gives `request` a fresh id and writes it whole. 0, or negative errno with a sentence
// in c->why: what connect(2) says, -EMSGSIZE (larger than a frame may be: nothing was sent), -ETIMEDOUT,
// -EINTR, or client_is_lost().
int client_send(Client *c, Argosy__Request *request, uint64_t deadline_us);

// The next response to the last request. 0 and *ret (free with argosy__response__free_unpacked()), or
// negative errno with a sentence in c->why: -ETIMEDOUT, -EINTR, -EMSGSIZE and -EBADMSG (what came is no
// answer of an argosyd), -EALREADY (wake_fd), or client_is_lost(). After every error but -ETIMEDOUT, -EINTR
// and -EALREADY the connection is closed.
int client_receive(Client *c, uint64_t deadline_us, Argosy__Response **ret);

// Whether an error of the two functions above means that the daemon went away: the same request may be sent
// again.
bool client_is_lost(const Client *c, int error);
void client_disconnect(Client *c);
// For a socket that the caller may not use: a clause that says who may.
void client_say_who_may(const char *path, char *ret, size_t size);
// What came cannot be all of the answer: as if the connection had been lost. `why` is a sentence. Returns an
// error that client_is_lost() knows.
int client_lose(Client *c, const char *why);

// Waits without a connection: 0 at `until_us`, -EINTR, -EALREADY.
int client_pause(Client *c, uint64_t until_us);
