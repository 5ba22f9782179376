// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See secret-name.h. A name is that of a file on hosts, and what a unit finds it by is one of systemd's credentials: so neither has
// anything that means something in a path, in a unit file or in a shell, nor on a command line, where what begins with '-' is an option.

#include "secret-name.h"

#include <string.h>

#include "macro.h"

static bool is_plain(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

bool secret_name_is_valid(const char *name) {
        size_t len = strnlen(name, SECRET_NAME_MAX + 1);

        if (len == 0 || len > SECRET_NAME_MAX || *name == '.' || *name == '-')
                return false;
        for (size_t i = 0; i < len; i++)
                if (!is_plain(name[i]))
                        return false;
        return true;
}
