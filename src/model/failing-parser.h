// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Private to the model: FailingOptions while the lines of a file go by.

#include "failing-options.h"
#include "ini-reader.h"
#include "macro.h"

enum { FAILING_KEYS = 7 };

typedef struct FailingParser {
        FailingOptions options;
        unsigned lines[FAILING_KEYS]; // of the assignment that holds; 0: not set
        unsigned timeout_line;
        char timeout[32];                      // TimeoutStopSec= as written, cut short
        unsigned n_stop;                       // commands of ExecStop=
        unsigned n_post;                       // of ExecStopPost=
        unsigned no_kill_line, kill_mode_line; // of what lets processes outlive the stop; 0: nothing does
} FailingParser;

const char *failing_option(size_t i); // the i-th key; NULL: there are not so many
void failing_init(FailingParser *f);
// A line of [X-Argosy]. 1: not one of these keys; 0; -EINVAL and *ret_why as option_refuse(); -ENOMEM.
int failing_on_option(FailingParser *f, const char *path, const IniLine *line, char **ret_why);
// A line of [Service].
void failing_on_service(FailingParser *f, const IniLine *line);
// Whether an option so far asks for a start on another node.
bool failing_moves(const FailingParser *f);
// What the rest of the file says.
typedef struct FailingContext {
        bool service; // there is a [Service] section
        bool ends;    // a one-shot that ends for good
        bool global, managers;
} FailingContext;

// When all lines are known. 0, -EINVAL, -ENOMEM.
int failing_finish(FailingParser *f, const char *path, const FailingContext *file, char **ret_why);
