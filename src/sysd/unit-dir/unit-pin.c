// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The name of the target that keeps a one-shot in systemd's memory, from the unit's name and back. A unit
// whose name leaves no room for that has no pin (-ENAMETOOLONG) and is started without. Whether a content
// needs one is asked roughly: the word `oneshot` anywhere in it.

#include "unit-pin.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "str.h"

static const char prefix[] = "argosy-pin@", suffix[] = ".target", word[] = "oneshot";

static_assert(UNIT_NAME_MANAGED_MAX + sizeof(prefix) - 1 + sizeof(suffix) - 1 <= UNIT_NAME_MAX);

int unit_pin_name(const char *unit, char ret[static UNIT_NAME_MAX + 1]) {
        int n = snprintf(ret, UNIT_NAME_MAX + 1, "%s%s%s", prefix, unit, suffix);

        return n > UNIT_NAME_MAX ? -ENAMETOOLONG : 0;
}

bool unit_pin_parse(const char *name, char ret[static UNIT_NAME_MAX + 1]) {
        size_t len = strlen(name), around = strlen(prefix) + strlen(suffix);

        if (len <= around || len > UNIT_NAME_MAX || !str_has_prefix(name, prefix) ||
            !str_has_suffix(name, suffix))
                return false;
        memcpy(ret, name + strlen(prefix), len - around);
        ret[len - around] = 0;
        return true;
}

bool unit_pin_is_due(const void *content, size_t len) {
        return memmem(content, len, word, strlen(word));
}
