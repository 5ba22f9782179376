// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// %n %N %p %j %i %% in argosy's own options and in [Install]. No escaping rules: what stands in the name is
// what comes out.

#include <stdbool.h>

#include "macro.h"

// Whether `text` depends on the name. -EINVAL: a '%' that begins none of the six; *ret_bad points at it.
int specifier_check(const char *text, bool *ret_depends, const char **ret_bad);
// What systemd's [Install] has besides these: the first of the specifiers that stand for something of the
// node, or of who runs the manager (%H, %m, %u, ...), in *ret; NULL: none. -EINVAL: as specifier_check().
int specifier_check_install(const char *text, const char **ret, const char **ret_bad);
// A new string with the specifiers of `name` filled in; unknown ones stay as they are. NULL: out of memory.
char *specifier_expand(const char *text, const char *name);
