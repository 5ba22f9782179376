// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What argosyctl exits with; systemctl's codes where it has one.

enum {
        EXIT_OK = 0,
        EXIT_FAILED = 1,
        EXIT_USAGE = 2,
        EXIT_INACTIVE = 3,
        EXIT_UNKNOWN = 4,
        EXIT_MAY_RUN = 5,    // stopped or destroyed as far as hosts can be reached
        EXIT_DIFFERS = 5,    // apply --plan: there is something to do
        EXIT_RESTARTS = 6,   // apply --plan: only to start again what has failed since the last apply
        EXIT_WARNINGS = 7,   // verify: nothing but warnings
        EXIT_DETACHED = 130, // 128 + SIGINT
};
