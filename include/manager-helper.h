// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The helper: a process that has become a user, or entered a container, and does there what argosyd must not
// do itself, because whoever owns the place could turn it against the rest of the machine (links, file
// systems that hang). It runs the same program, is started when there is something to do, and ends when that
// is done.
//
//      connect   connects to the manager's private socket, hands the connection over and ends
//      write     keeps a unit directory: one HelperReply to each HelperRequest, until the link is closed
//      look      says what all unit directories have of some names (unit-search.h): likewise
//
// A frame is a 4-byte big-endian length and one message. To argosyd the helper is a stranger, since its user
// may have it do anything: its frames have a limit, it has HELPER_ANSWER_MS for each answer, and a
// connection that it brings must lead to a process of that user, or to the container's init.

#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

#include "argosy.pb-c.h"
#include "macro.h"

enum {
        HELPER_FRAME_MAX = 2 * 1024 * 1024, // bytes of a request
        HELPER_REPLY_MAX = 256 * 1024,      // and of a reply, which a stranger may have made
        HELPER_BATCH_BYTES = 1024 * 1024,   // of unit files in one request, and one file more
        HELPER_UNITS_PER_REQUEST = 512,
        HELPER_NAMES_PER_REQUEST = 4096, // to look for, up to 260 bytes each
        HELPER_ANSWER_MS = 10000, // from starting it, and from each request
        HELPER_IDLE_MS = 2000,    // without a request it is ended
};

typedef enum HelperMode { HELPER_CONNECT, HELPER_WRITE, HELPER_LOOK } HelperMode;

// The whole life of a helper; argv: MODE MANAGER LEADER BORN, the link is descriptor 0. Returns an exit
// status.
int manager_helper_main(int argc, char **argv);

// What `write` does once it has become somebody: in BASE/systemd/BELOW, which must be the owner's, requests
// until the link is closed. Returns an exit status.
int manager_helper_write(const char *base, const char *below, uid_t owner, const char *const *search_dirs);
// And `look`.
int manager_helper_look(const char *const *search_dirs);

// ---- argosyd's side

typedef struct HelperLink HelperLink;

typedef struct HelperOps {
        // To the oldest request; of a connecting helper: what came of it. `fd`: the callee's; -1: none, and
        // never one that was not checked. Borrowed.
        void (*reply)(const Argosy__HelperReply *reply, int fd, void *userdata);
        // It has ended: 0 after it was idle, else negative errno (-ETIMEDOUT, -EBADMSG, -ECONNRESET). Last
        // one but `closed`; the owner closes the link (now or later).
        void (*ended)(int error, void *userdata);
        // The process is gone and the handles are closed.
        void (*closed)(void *userdata);
} HelperOps;

typedef struct HelperConfig {
        uv_loop_t *loop;
        const char *const
                *command;    // what to execute, up to the MODE; NULL: this program with --manager-helper
        const char *manager; // user@UID or container@NAME
        pid_t leader;        // of the container
        uint64_t born;       // its process_birth(): another process that has got its number is not entered
        HelperMode mode;
        unsigned answer_ms;  // 0: HELPER_ANSWER_MS
} HelperConfig;

// No callback fires before return. Everything is copied.
int helper_link_new(const HelperConfig *config, const HelperOps *ops, void *userdata, HelperLink **ret);
// -EMSGSIZE: more than a frame takes. Other negative errno: it will end, or has ended.
int helper_link_send(HelperLink *l, const Argosy__HelperRequest *request);
// Ends the process at once. From any callback but `closed`.
void helper_link_close(HelperLink *l);
