// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A command line, read: the verb, its arguments, the options with their values. Pure but for getopt's own
// variables.

#include "buf.h"
#include "option-table.h"
#include "set-file.h"
#include "top-view.h"
#include "unit-file.h"
#include "unit-state.h"
#include "verb-list.h"

typedef enum JsonMode { JSON_OFF, JSON_SHORT, JSON_PRETTY } JsonMode;

enum {
        LINES_DEFAULT = 10,
        LINES_MAX = 1000000,
        TTL_SEC_MAX = 5 * 365 * 86400,
        DEADLINE_SEC_MAX = 30 * 86400,
        HEALTH_SEC_MAX = 3600,
        MAX_MOVES_MAX = 1000,
        AFTER_MAX = 100, // jobs
        LIMIT_DEFAULT = 100,
};
enum {
        ITERATIONS_MAX = 1000000000,
        DELAY_MS_DEFAULT = 1000,
        DELAY_MS_MIN = 100,
        DELAY_MS_MAX = 3600 * 1000
};

typedef struct CtlOptions {
        bool given[_OPT_MAX];
        const char *socket;  // NULL: not given
        uint64_t timeout_us; // 0: none
        JsonMode json;
        const char *fields; // NULL: the verb's default
        const char *states; // NULL: all
        const char *labels; // NULL: not given
        unsigned lines;
        const char *node;      // NULL: not given
        uint32_t ttl_sec;      // 0: the daemon's default
        const char *right, *name; // of a token; NULL: not given
        const char *file;      // of a secret; NULL: not given
        bool restart_rolling;
        uint32_t leader;       // 0: not given
        uint32_t deadline_sec; // 0: none
        const char *reason;    // NULL: none
        const char *key;       // NULL: none
        uint64_t if_revision;  // 0: none
        uint64_t after[AFTER_MAX]; // jobs
        size_t n_after;
        uint64_t at; // a job; 0: not given
        size_t limit;
        uint16_t port; // 0: any that is free
        const char *unit, *author; // NULL: all
        const char *set;           // NULL: not given
        const char *for_what;  // --for: of wait a state, of cluster token a host
        const char *since, *kinds, *cursor_file, *exec; // NULL: not given. What `since` means is the verb's
        UnitShare max_unavailable;
        uint64_t health_us;
        uint32_t max_moves;  // 0: not given
        unsigned iterations; // 0: not given
        uint32_t delay_ms;
        TopOrder order;
        const Verb *verb;   // NULL: none was given
        const char *family; // with OPT_HELP: of verbs, instead of one
        char **args;
        size_t n_args;
} CtlOptions;

// Reorders argv; *ret points into it. 0, or -EINVAL and a sentence appended to `why`. With --help or
// --version in ret->given the verb and its arguments are not checked.
int options_parse(const VerbList *verbs, int argc, char **argv, CtlOptions *ret, Buf *why);
