// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Whether a text may name a secret: 1 to SECRET_NAME_MAX of letters, digits, '.', '_' and '-'. A name
// becomes a file on hosts and one of systemd's credentials, so it has no character with a meaning in a path,
// a unit file or a shell, and does not begin with '.' (hidden) or '-' (an option). Nothing can fail.

#include "secret-name.h"

#include <string.h>

#include "macro.h"

static bool is_plain(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
               c == '_' || c == '-';
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
