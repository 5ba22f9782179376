// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Settings that name a path which PID 1 reads, of units with files: see carried-settings.c.

#include "file-sources.h"

// The path in the value of such a setting. NULL: it is none.
const char *carried_setting_path(const char *key, const char *value);
// Whether that path is beneath no DESTINATION of the unit, which has these `n` files. 0; -EINVAL and
// *ret_why, a clause; -ENOMEM.
int carried_setting_check(const FileSource *sources, size_t n, const char *unit, const char *key,
                          const char *value, char **ret_why) _warn_unused_;
// Those of the text of a unit with a DESTINATION that depends on the instance, as lines KEY=PATH, which the
// caller frees; NULL: there are none. 0 or -ENOMEM.
int carried_settings_keep(const FileSource *sources, size_t n, const void *text, size_t len,
                          char **ret) _warn_unused_;
// Whether what is kept may be for a unit of that name, which is no template. As carried_setting_check().
int carried_settings_check(const FileSource *sources, size_t n, const char *kept, const char *name,
                           char **ret_why) _warn_unused_;
