// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a unit file says of one unit of its name: options, the unit that it activates, companions,
// description. Words of the file may have specifiers, which are filled in here for `name`; shares
// (MaxUnavailable=) are counted.
//
//      unit_file_check_name() -> unit_file_expand(): options, shared by all units if no specifier is in them
//
// Results are the caller's. Failures: -EINVAL and *ret_why for a unit that the file refuses, -ENOMEM or
// NULL.

#include "unit-file.h"

#include <errno.h>

#include "array.h"
#include "carried-files.h"
#include "specifier.h"
#include "str.h"
#include "unit-options-private.h"

int unit_file_check_name(const UnitFile *f, const char *name, char **ret_why) {
        if (f->container && !str_has_suffix(name, ".service"))
                return str_refuse(ret_why, "[Container] makes a service, and %s is none", name);
        return carried_files_check_name(f, name, ret_why);
}

char *unit_file_fill_in(const char *text, const char *name) {
        return specifier_expand(text, name);
}

bool unit_file_rank_varies(const UnitFile *f) {
        for (size_t i = 0; i < f->n_raw; i++)
                if ((f->raw[i].kind == RAW_ROLE || f->raw[i].kind == RAW_PRIORITY) &&
                    strchr(f->raw[i].word, '%'))
                        return true;
        return false;
}

int unit_file_expand(const UnitFile *f, const char *path, const char *name, UnitOptions **ret,
                     char **ret_why) {
        UnitOptions *o = f->common;
        int r = 0;

        if (o)
                o->refs++;
        else
                r = unit_options_new(f->raw, f->n_raw, f->global, path, name, &o, ret_why);
        if (r >= 0)
                o->has_data = f->failing.has_data;
        if (r >= 0)
                r = demands_check(o, path, name, ret_why);
        if (r >= 0)
                r = dependencies_check(o, path, name, ret_why);
        if (r >= 0)
                r = secrets_check(o, path, name, ret_why);
        if (r < 0) {
                unit_options_unref(o);
                return r;
        }
        *ret = o;
        return 0;
}

bool unit_file_has_secrets(const UnitFile *f) {
        if (f->common) // `raw` is empty: `common` has its words
                return f->common->n_secrets > 0;
        for (size_t i = 0; i < f->n_raw; i++)
                if (f->raw[i].kind == RAW_SECRET)
                        return true;
        return false;
}

int unit_file_activates(const UnitFile *f, const char *name, char **ret) {
        const char *suffix = unit_name_suffix(name), *type = unit_name_activated_type(name);
        _cleanup_free_ char *found = NULL;

        *ret = NULL;
        if (!type || (f->accepts && streq(suffix, ".socket")))
                return 0;
        if (f->activates && !streq(suffix, ".automount"))
                found = specifier_expand(f->activates, name);
        else
                found = str_printf("%.*s%s", (int) (suffix - name), name, type);
        if (!found)
                return -ENOMEM;
        if (unit_name_kind(found, NULL) != UNIT_NAME_INVALID)
                *ret = TAKE_PTR(found);
        return 0;
}

static bool has_word(const char *words, const char *word) {
        size_t len = strlen(word);

        for (const char *p = words; (p = strstr(p, word)); p++)
                if ((p == words || p[-1] == ' ') && (!p[len] || p[len] == ' '))
                        return true;
        return false;
}

static int names_unit(const char *text, const char *name, const char *unit) {
        _cleanup_free_ char *words = text ? specifier_expand(text, name) : NULL;

        return !text ? 0 : words ? has_word(words, unit) : -ENOMEM;
}

int unit_file_own_socket(const UnitFile *f, const char *name, char **ret) {
        _cleanup_free_ char *socket = NULL;
        const char *suffix;
        int r;

        *ret = NULL;
        if (!f->bound_to && !f->sockets)
                return 0;
        suffix = unit_name_suffix(name);
        if (!suffix || !streq(suffix, ".service"))
                return 0;
        socket = str_printf("%.*s.socket", (int) (suffix - name), name);
        if (!socket)
                return -ENOMEM;
        r = names_unit(f->bound_to, name, socket);
        if (r == 0)
                r = names_unit(f->sockets, name, socket);
        if (r > 0)
                *ret = TAKE_PTR(socket);
        return MIN_OF(r, 0);
}

// Takes `template`.
static int add_companion(char *template, char ***list, size_t *n) {
        for (size_t i = 0; i < *n; i++)
                if (streq((*list)[i], template)) {
                        free(template);
                        return 0;
                }
        if (ARRAY_RESERVE(*list, *n + 1) < 0) {
                free(template);
                return -ENOMEM;
        }
        (*list)[(*n)++] = template;
        return 0;
}

// Adds the templates (or the plain names, if `plain`) of `words`, the value of OnFailure= and OnSuccess=
// after expansion.
static int add_ends(char *words, bool plain, char ***list, size_t *n) {
        char *rest = words, *word;
        int r = 0;

        while (r == 0 && (word = strsep(&rest, " \t"))) {
                UnitNameKind kind = unit_name_kind(word, NULL);
                char *name;

                if (kind == UNIT_NAME_INVALID || (kind == UNIT_NAME_PLAIN) != plain)
                        continue;
                name = kind == UNIT_NAME_INSTANCE ? unit_name_template(word) : strdup(word);
                r = name ? add_companion(name, list, n) : -ENOMEM;
        }
        return r;
}

static void drop_list(char **list, size_t n) {
        while (n > 0)
                free(list[--n]);
        free(list);
}

int unit_file_ends(const UnitFile *f, const char *name, char ***ret, size_t *ret_n) {
        _cleanup_free_ char *words = f->ends ? specifier_expand(f->ends, name) : NULL;
        int r = f->ends && !words ? -ENOMEM : 0;

        *ret = NULL;
        *ret_n = 0;
        if (r == 0 && words)
                r = add_ends(words, true, ret, ret_n);
        if (r < 0)
                drop_list(*ret, *ret_n);
        return r;
}

int unit_file_companions(const UnitFile *f, const char *name, char ***ret, size_t *ret_n) {
        const char *suffix, *prefix;
        _cleanup_free_ char *words = NULL;
        size_t prefix_len;
        char **list = NULL, *own = NULL;
        size_t n = 0;
        int r;

        *ret = NULL;
        *ret_n = 0;
        if (!f->ends && !f->accepts) // nearly all files
                return 0;
        suffix = unit_name_suffix(name);
        prefix = unit_name_prefix(name, &prefix_len);
        words = f->ends ? specifier_expand(f->ends, name) : NULL;
        r = f->ends && !words ? -ENOMEM : 0;
        if (r == 0 && words)
                r = add_ends(words, false, &list, &n);
        if (r == 0 && f->accepts && suffix && streq(suffix, ".socket")) {
                own = str_printf("%.*s@.service", (int) prefix_len, prefix);
                r = own ? add_companion(own, &list, &n) : -ENOMEM;
        }
        if (r < 0) {
                drop_list(list, n);
                return r;
        }
        *ret = list;
        *ret_n = n;
        return 0;
}

char *unit_file_describe(const UnitFile *f, const char *name) {
        return specifier_expand(f->description, name);
}

bool unit_share_parse(const char *word, UnitShare *ret) {
        char *end;
        unsigned long n;

        if (*word < '1' || *word > '9')
                return false;
        errno = 0;
        n = strtoul(word, &end, 10);
        *ret = (UnitShare){.value = (uint32_t) n, .percent = streq(end, "%")};
        return errno == 0 && n <= (ret->percent ? 100 : UINT32_MAX) && (ret->percent || !*end);
}

size_t unit_share_of(UnitShare share, size_t n) {
        if (share.value == 0)
                return SIZE_MAX;
        return share.percent ? MAX_OF(n * share.value / 100, (size_t) 1) : share.value;
}
