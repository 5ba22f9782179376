// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What somebody may have meant by a word that is no unit's name. Pure.

#include <stdbool.h>

#include "unit-name.h"

// A file that is known to be no unit file by how its name ends.
typedef struct UnitNameMistake {
        const char *is;  // fits behind "NAME is ": "a Quadlet file of podman"
        char advice[512]; // a sentence without its full stop
} UnitNameMistake;

// A folder in front of `name` does not count. False: its end says nothing.
bool unit_name_mistake(const char *name, UnitNameMistake *ret);

// "backup@/srv/data" -> "backup@srv-data.service", as systemd-escape --path has it; "backup@a/b.timer" ->
// "backup@a-b.timer". What stands before the last '/' in front of the '@' is kept. *ret is NULL if `word` is
// nothing like that, or the result is no unit's name. 0 or -ENOMEM.
int unit_name_escape(const char *word, char **ret) _warn_unused_;

// How well `name` may have been meant by `typed`, both whole names: 0 is best. -1: it is something else.
int unit_name_distance(const char *typed, const char *name);
