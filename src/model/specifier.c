// SPDX-License-Identifier: LGPL-2.1-or-later
//
// systemd's specifiers in argosy's own options: %n, %N, %p, %j, %i and %%. specifier_check() when the file
// is read -> specifier_expand() for one unit, which the caller frees. Failures: -EINVAL and where the
// unknown specifier stands; an unknown one is left as it is by expand; NULL: no memory.

#include "specifier.h"

#include <errno.h>

#include "buf.h"
#include "unit-name.h"

int specifier_check(const char *text, bool *ret_depends, const char **ret_bad) {
        *ret_depends = false;
        for (const char *p = strchr(text, '%'); p; p = strchr(p + 2, '%')) {
                if (!p[1] || !strchr("nNpji%", p[1])) {
                        *ret_bad = p;
                        return -EINVAL;
                }
                if (p[1] != '%')
                        *ret_depends = true;
        }
        return 0;
}

int specifier_check_install(const char *text, const char **ret, const char **ret_bad) {
        *ret = NULL;
        for (const char *p = strchr(text, '%'); p; p = strchr(p + 2, '%')) {
                bool of_node = p[1] && strchr("aAbBHlqmMovwWuUgG", p[1]);

                if (!of_node && (!p[1] || !strchr("nNpji%", p[1]))) {
                        *ret_bad = p;
                        return -EINVAL;
                }
                if (of_node && !*ret)
                        *ret = p;
        }
        return 0;
}

// The last part of the prefix: "b" of "a-b@1.service".
static const char *last_part(const char *name, size_t *ret_len) {
        const char *prefix = unit_name_prefix(name, ret_len), *end = prefix + *ret_len, *from = end;

        while (from > prefix && from[-1] != '-')
                from--;
        *ret_len = (size_t) (end - from);
        return from;
}

// What stands for the specifier `c`, or NULL if there is no such.
static const char *value_of(char c, const char *name, size_t *ret_len) {
        const char *suffix = unit_name_suffix(name);

        switch (c) {
        case 'n':
                *ret_len = strlen(name);
                return name;
        case 'N':
                *ret_len = suffix ? (size_t) (suffix - name) : strlen(name);
                return name;
        case 'p':
                return unit_name_prefix(name, ret_len);
        case 'j':
                return last_part(name, ret_len);
        case 'i':
                return unit_name_instance(name, ret_len);
        case '%':
                *ret_len = 1;
                return "%";
        default:
                return NULL;
        }
}

char *specifier_expand(const char *text, const char *name) {
        _cleanup_buf_ Buf out = {0};

        while (*text) {
                size_t len = strcspn(text, "%"), value_len;
                const char *value = text[len] == '%' ? value_of(text[len + 1], name, &value_len) : NULL;

                if (!value && text[len] == '%') // keep it
                        len++;
                if (buf_append(&out, text, len) < 0 || (value && buf_append(&out, value, value_len) < 0))
                        return NULL;
                text += value ? len + 2 : len;
        }
        return buf_take_string(&out);
}
