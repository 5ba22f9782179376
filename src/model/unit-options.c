// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What all files about options share: the table of kinds, words of labels, and how an option is refused.
//
// A reader of a unit file finds the kind of an option by its name, and keeps its words; those who work out
// what the words mean (unit-options-evaluation.c, and a file per sort of option) refuse what cannot be.
//
// Failures: -EINVAL with "PATH:LINE: reason", -ENOMEM.

#include "unit-options-private.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <strings.h>

#include "str.h"

const OptionKind *option_kind(RawKind kind) {
#define OPTION_KIND_ROW(kind, ...) [RAW_##kind] = {__VA_ARGS__},
        static const OptionKind kinds[RAW_KINDS] = {OPTION_KINDS(OPTION_KIND_ROW)};

        return &kinds[kind];
}

RawKind option_find(const char *name, OptionSection section) {
        for (RawKind kind = 0; kind < RAW_KINDS; kind++) {
                const OptionKind *k = option_kind(kind);

                // what fleet's section has is argosy's, too
                if ((k->section == section || (section == OPTION_ARGOSY && k->section == OPTION_FLEET)) &&
                    streq(k->name, name))
                        return kind;
        }
        return RAW_KINDS;
}

int option_refuse(char **ret_why, const char *path, unsigned line, const char *format, ...) {
        char reason[512];
        va_list ap;

        if (!ret_why)
                return -EINVAL;
        va_start(ap, format);
        str_vfit(reason, sizeof reason, format, ap);
        va_end(ap);
        *ret_why = str_printf("%s:%u: %s", path, line, reason);
        return *ret_why ? -EINVAL : -ENOMEM;
}

bool parse_boolean(const char *word, bool *ret) {
        static const char *const yes[] = {"1", "yes", "y", "true", "t", "on"};
        static const char *const no[] = {"0", "no", "n", "false", "f", "off"};

        for (size_t i = 0; i < ELEMENTSOF(yes); i++)
                if (strcasecmp(word, yes[i]) == 0)
                        return *ret = true, true;
        for (size_t i = 0; i < ELEMENTSOF(no); i++)
                if (strcasecmp(word, no[i]) == 0)
                        return *ret = false, true;
        return false;
}

size_t label_span(const char *s) {
        return strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-");
}

bool label_is_valid(const char *s) {
        size_t len = label_span(s);

        return len > 0 && len <= LABEL_MAX && !s[len];
}

int label_parse(const char *word, char **ret_key, char **ret_value) {
        const char *equals = strchr(word, '=');
        _cleanup_free_ char *key = NULL, *value = NULL;

        if (!equals)
                return -EINVAL;
        key = strndup(word, (size_t) (equals - word));
        value = strdup(equals + 1);
        if (!key || !value)
                return -ENOMEM;
        if (!label_is_valid(key) || !label_is_valid(value))
                return -EINVAL;
        *ret_key = TAKE_PTR(key);
        *ret_value = TAKE_PTR(value);
        return 0;
}
