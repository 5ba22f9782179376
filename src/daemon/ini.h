// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// systemd's configuration file syntax, as argosy's own files use it: [Section], Key=value, comments with # and ;, a backslash at the end
// of a line continues it. Pure. What a repeated key or an empty assignment means is the callback's business.

#include <stddef.h>

// Called for each assignment; `value` has no blanks around it. Negative errno stops.
typedef int (*IniAssign)(const char *path, unsigned line, const char *section, const char *key, const char *value, void *userdata);
// Called for lines that are neither section, assignment, comment nor empty, and for assignments before the first section.
typedef void (*IniWarn)(const char *path, unsigned line, const char *what, void *userdata);

int ini_parse(const char *path, const char *text, size_t len, IniAssign assign, IniWarn warn, void *userdata);
