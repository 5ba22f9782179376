// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The only name that a look-up finds without a network is the one in /etc/hosts. A root file system of
// packages alone has no such file, since none of them owns it: the installer writes it.

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "test.h"

static inline bool has_localhost(void) {
        char line[512];
        bool found = false;
        FILE *f = fopen("/etc/hosts", "re");

        while (f && !found && fgets(line, sizeof(line), f))
                found = line[0] != '#' && strstr(line, "localhost");
        if (f)
                fclose(f);
        return found;
}

#define NEEDS_LOCALHOST()                                         \
        do {                                                      \
                if (!has_localhost()) {                           \
                        print_message("no localhost in /etc/hosts\n"); \
                        skip();                                   \
                }                                                 \
        } while (false)
