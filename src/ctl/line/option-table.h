// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The options that can be typed: one table, from which the parser, `--help`, the completions and the
// check "does this option belong to this verb" come. What a value means stands in options.c. Pure.

#include <stddef.h>
#include <stdint.h>

typedef enum Option {
        // for every verb
        OPT_HELP = 1 << 0,
        OPT_VERSION = 1 << 1,
        OPT_SOCKET = 1 << 2,
        OPT_TIMEOUT = 1 << 3,
        OPT_QUIET = 1 << 4,
        OPT_USER = 1 << 30,
        OPT_GLOBAL = OPT_HELP | OPT_VERSION | OPT_SOCKET | OPT_TIMEOUT | OPT_QUIET | OPT_USER,
        // for some
        OPT_JSON = 1 << 5,
        OPT_NO_PAGER = 1 << 6,
        OPT_NO_LEGEND = 1 << 7,
        OPT_FULL = 1 << 8,
        OPT_FIELDS = 1 << 9,
        OPT_REPLACE = 1 << 10,
        OPT_NO_BLOCK = 1 << 11,
        OPT_VERBOSE = 1 << 12,
        OPT_LOCAL = 1 << 13,
        OPT_LINES = 1 << 14,
        OPT_FOLLOW = 1 << 15,
        OPT_NODE = 1 << 16,
        OPT_FORCE = 1 << 17,
        OPT_DISCARD = 1 << 18,
        OPT_TTL = 1 << 19,
        OPT_YES = 1 << 20,
        OPT_STATE = 1 << 21,
        OPT_DEADLINE = 1 << 22,
        OPT_REASON = 1 << 23,
        OPT_LEADER = 1 << 25,
        OPT_ITERATIONS = 1 << 27,
        OPT_DELAY = 1 << 28,
        OPT_BATCH = 1 << 29,
        OPT_ORDER = 1 << 26,
        OPT_CERTIFICATE = 1LL << 36,
        OPT_FILE = 1LL << 37,
        OPT_ALL = 1LL << 38,
        OPT_SINCE = 1LL << 39,
        OPT_MAX_UNAVAILABLE = 1LL << 40,
        OPT_HEALTH = 1LL << 41,
        OPT_ROLLING = 1LL << 42,
        OPT_ABORT = 1LL << 43,
        OPT_AT = 1LL << 44,
        OPT_ONLY_UNTOUCHED = 1LL << 45,
        OPT_PLAN = 1LL << 46,
        OPT_SET = 1LL << 47,
        OPT_PRUNE = 1LL << 48,
        OPT_ADOPT = 1LL << 49,
        OPT_DRY_RUN = 1LL << 50,
        OPT_MAX_MOVES = 1LL << 51,
        OPT_KEY = 1LL << 52,
        OPT_IF_REVISION = 1LL << 53,
        OPT_LIMIT = 1LL << 54,
        OPT_UNIT = 1LL << 55,
        OPT_AUTHOR = 1LL << 56,
        OPT_FOR = 1LL << 57,
        OPT_ONCE = 1 << 24,
        OPT_HOLD = 1LL << 31,
        OPT_AFTER = 1LL << 32,
        OPT_QUEUE = 1LL << 33,
        OPT_RIGHT = 1LL << 34,
        OPT_NAME = 1LL << 35,
        OPT_PORT = 1LL << 58,
        OPT_KINDS = 1LL << 59,
        OPT_CURSOR_FILE = 1LL << 60,
        OPT_EXEC = 1LL << 61,
        OPT_LABEL = 1LL << 62,
        OPT_FINISH = 1ULL << 63, // the last bit that there is
        OPT_LIST = OPT_JSON | OPT_NO_PAGER | OPT_NO_LEGEND | OPT_FULL | OPT_FIELDS,
        OPT_WAITING = OPT_NO_BLOCK | OPT_VERBOSE | OPT_JSON,
        OPT_HELD = OPT_HOLD | OPT_AFTER | OPT_QUEUE,
        OPT_CHANGES = OPT_REASON | OPT_IF_REVISION, // whatever changes the cluster
        OPT_JOB = OPT_CHANGES | OPT_KEY | OPT_HELD,
} Option;

typedef struct OptionInfo {
        Option bit;
        const char *name;
        char letter;     // 0: none; where several have it, the verb says which is meant
        const char *arg; // NULL: takes none
        const char *help;
} OptionInfo;

extern const OptionInfo option_table[];
extern const size_t n_options;

const OptionInfo *option_info(Option bit);
