// SPDX-License-Identifier: LGPL-2.1-or-later

// Whatever the word: expanding it stays within its limit, and a valid name is made of its parts.

#include <stdio.h>

#include "unit-name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { NAMES_MAX = 50 };

static void check_parts(const char *name, UnitNameKind kind) {
        size_t prefix, instance;
        const char *p = unit_name_prefix(name, &prefix), *i = unit_name_instance(name, &instance),
                   *suffix = unit_name_suffix(name);
        char again[UNIT_NAME_MAX + 1];

        if (!suffix || prefix == 0)
                abort();
        snprintf(again, sizeof again, "%.*s%s%.*s%s", (int) prefix, p, kind == UNIT_NAME_PLAIN ? "" : "@",
                 (int) instance, i, suffix);
        if (!streq(again, name) || (kind == UNIT_NAME_INSTANCE) != (instance > 0))
                abort();
        if (kind == UNIT_NAME_INSTANCE) {
                _cleanup_free_ char *template = unit_name_template(name);

                if (!template || unit_name_kind(template, NULL) != UNIT_NAME_TEMPLATE)
                        abort();
        }
}

static int on_name(void *userdata, const char *name) {
        _cleanup_free_ char *mangled = unit_name_mangle(name);
        const char *why = NULL;
        UnitNameKind kind;

        if (++*(int *) userdata > NAMES_MAX || !mangled)
                abort();
        kind = unit_name_kind(mangled, &why);
        if (kind == UNIT_NAME_INVALID ? !why : !!why)
                abort();
        if (kind != UNIT_NAME_INVALID)
                check_parts(mangled, kind);
        (void) unit_name_reserved(mangled);
        return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_free_ char *word = strndup((const char *) data, size);
        int n = 0;

        if (word)
                (void) unit_name_expand(word, NAMES_MAX, on_name, &n);
        return 0;
}
