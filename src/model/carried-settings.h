// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Settings that name a path which PID 1 reads, of units with files: see carried-settings.c.

#include "unit-file.h"

// The path in the value of such a setting. NULL: it is none.
const char *carried_setting_path(const char *key, const char *value);
// Whether that path is beneath no DESTINATION of the unit. 0; -EINVAL and *ret_why, a clause; -ENOMEM.
int carried_setting_check(const UnitFile *file, const char *unit, const char *key, const char *value, char **ret_why) _warn_unused_;
// Keeps those of a file whose DESTINATION depends on the instance, as lines KEY=PATH. 0 or -ENOMEM.
int carried_settings_keep(UnitFile *file, const void *content, size_t len) _warn_unused_;
// Whether what is kept may be for a unit of that name, which is no template. As carried_setting_check().
int carried_settings_check(const UnitFile *file, const char *name, char **ret_why) _warn_unused_;
