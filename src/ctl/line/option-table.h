// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The options that can be typed: one table, from which the parser, `--help`, the completions and the
// check "does this option belong to this verb" come. What a value means stands in options.c. Pure.

#include <stdbool.h>
#include <stddef.h>

typedef enum Option {
        OPT_NONE, // ends a list of options
        // for every verb
        OPT_HELP,
        OPT_VERSION,
        OPT_SOCKET,
        OPT_TIMEOUT,
        OPT_QUIET,
        OPT_USER,
        _OPT_GLOBAL_MAX,
        // for some
        OPT_JSON = _OPT_GLOBAL_MAX,
        OPT_NO_PAGER,
        OPT_NO_LEGEND,
        OPT_FULL,
        OPT_FIELDS,
        OPT_REPLACE,
        OPT_UNPINNED,
        OPT_PULL,
        OPT_NO_BLOCK,
        OPT_VERBOSE,
        OPT_LOCAL,
        OPT_LINES,
        OPT_FOLLOW,
        OPT_NODE,
        OPT_FORCE,
        OPT_DISCARD,
        OPT_TTL,
        OPT_YES,
        OPT_STATE,
        OPT_DEADLINE,
        OPT_REASON,
        OPT_LEADER,
        OPT_ITERATIONS,
        OPT_DELAY,
        OPT_BATCH,
        OPT_ORDER,
        OPT_CERTIFICATE,
        OPT_FILE,
        OPT_ALL,
        OPT_SINCE,
        OPT_MAX_UNAVAILABLE,
        OPT_HEALTH,
        OPT_ROLLING,
        OPT_ABORT,
        OPT_AT,
        OPT_ONLY_UNTOUCHED,
        OPT_PLAN,
        OPT_SET,
        OPT_PRUNE,
        OPT_ADOPT,
        OPT_DRY_RUN,
        OPT_MAX_MOVES,
        OPT_KEY,
        OPT_IF_REVISION,
        OPT_LIMIT,
        OPT_UNIT,
        OPT_AUTHOR,
        OPT_FOR,
        OPT_ONCE,
        OPT_HOLD,
        OPT_AFTER,
        OPT_QUEUE,
        OPT_RIGHT,
        OPT_NAME,
        OPT_PORT,
        OPT_KINDS,
        OPT_CURSOR_FILE,
        OPT_EXEC,
        OPT_LABEL,
        OPT_FINISH,
        OPT_RESTART,
        _OPT_MAX
} Option;

// A list of options for a row of a table: OPTIONS(OPT_JSON, OPTIONS_JOB). It ends with OPT_NONE.
#define OPTIONS(...) ((const Option[]){__VA_ARGS__, OPT_NONE})
// What belongs together, within such a list.
#define OPTIONS_LIST OPT_JSON, OPT_NO_PAGER, OPT_NO_LEGEND, OPT_FULL, OPT_FIELDS
#define OPTIONS_WAITING OPT_NO_BLOCK, OPT_VERBOSE, OPT_JSON
#define OPTIONS_HELD OPT_HOLD, OPT_AFTER, OPT_QUEUE
#define OPTIONS_CHANGES OPT_REASON, OPT_IF_REVISION // whatever changes the cluster
#define OPTIONS_JOB OPTIONS_CHANGES, OPT_KEY, OPTIONS_HELD

typedef struct OptionInfo {
        Option option;
        const char *name;
        char letter;     // 0: none; where several have it, the verb says which is meant
        const char *arg; // NULL: takes none; in brackets: may have one, behind '='
        const char *help;
} OptionInfo;

extern const OptionInfo option_table[];
extern const size_t n_options;

// Whether it cannot be given without a value.
static inline bool option_needs_value(const OptionInfo *info) {
        return info->arg && *info->arg != '[';
}
bool option_is_global(Option option); // every verb takes it
