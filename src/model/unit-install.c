// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What [Install] asks for, filled in for one name: each word becomes a link or a unit that is loaded too,
// once, however often it is said. For a template words that depend on the instance are left to the
// instances. The first word that cannot work refuses the file, with its line.

#include "unit-install.h"

#include <errno.h>
#include <stdio.h>

#include "specifier.h"
#include "str.h"
#include "unit-options-private.h"

static UnitInstallKind kind_of(RawKind kind) {
        switch (kind) {
        case RAW_WANTED_BY:
                return UNIT_INSTALL_WANTED_BY;
        case RAW_REQUIRED_BY:
                return UNIT_INSTALL_REQUIRED_BY;
        case RAW_ALIAS:
                return UNIT_INSTALL_ALIAS;
        default:
                return UNIT_INSTALL_ALSO;
        }
}

static const char *key_of(UnitInstallKind kind) {
        static const char *const keys[] = {
                [UNIT_INSTALL_WANTED_BY] = "WantedBy",
                [UNIT_INSTALL_REQUIRED_BY] = "RequiredBy",
                [UNIT_INSTALL_ALIAS] = "Alias",
                [UNIT_INSTALL_ALSO] = "Also",
        };

        return keys[kind];
}

static bool is_pull(UnitInstallKind kind) {
        return kind == UNIT_INSTALL_WANTED_BY || kind == UNIT_INSTALL_REQUIRED_BY;
}

// X of WantedBy=X may be a device too, which is made from no file.
static bool is_device(const char *name) {
        char stem[UNIT_NAME_MAX + 1];
        const char *suffix = unit_name_suffix(name);

        if (!suffix || !streq(suffix, ".device") || strlen(name) > UNIT_NAME_MAX)
                return false;
        snprintf(stem, sizeof stem, "%.*s.mount", (int) (suffix - name), name);
        return unit_name_kind(stem, NULL) == UNIT_NAME_PLAIN;
}

// Types that may be called by other names, as systemd has it.
static bool has_aliases(const char *suffix) {
        static const char *const none[] = {".mount", ".automount", ".swap", ".slice"};

        for (size_t i = 0; i < ELEMENTSOF(none); i++)
                if (streq(suffix, none[i]))
                        return false;
        return true;
}

static bool is_same_instance(const char *a, const char *b) {
        size_t a_len, b_len;
        const char *x = unit_name_instance(a, &a_len), *y = unit_name_instance(b, &b_len);

        return a_len == b_len && memcmp(x, y, a_len) == 0;
}

// NULL: nothing speaks against it.
static const char *why_no_alias(const char *alias, const char *name) {
        const char *suffix = unit_name_suffix(name);

        if (!suffix || !has_aliases(suffix))
                return "units of this type have one name only";
        if (!streq(unit_name_suffix(alias), suffix))
                return "an alias is of the same type as the unit";
        if (unit_name_is_reserved(alias))
                return "this name belongs to the system";
        if ((unit_name_kind(alias, NULL) == UNIT_NAME_PLAIN) !=
            (unit_name_kind(name, NULL) == UNIT_NAME_PLAIN))
                return "an instance is called by the name of an instance, as in Alias=NAME@%i.service, and "
                       "only that";
        return is_same_instance(alias, name) ? NULL : "it is an alias of another instance";
}

static int check(UnitInstallKind kind, const char *word, const char *name, const char **ret_why) {
        UnitNameKind is = unit_name_kind(word, ret_why);

        if (is == UNIT_NAME_INVALID)
                return is_device(word) && is_pull(kind) ? 0 : -EINVAL;
        *ret_why = is == UNIT_NAME_TEMPLATE ? "a template cannot be meant, only an instance of it" : NULL;
        if (!*ret_why && is_pull(kind) && strlen(word) > UNIT_NAME_MAX - strlen(".requires"))
                *ret_why = "the name is too long for a directory of links";
        if (!*ret_why && kind == UNIT_INSTALL_ALIAS)
                *ret_why = why_no_alias(word, name);
        return *ret_why ? -EINVAL : 0;
}

static bool is_known(const UnitInstall *i, UnitInstallKind kind, const char *word) {
        for (size_t k = 0; k < i->n; k++)
                if (i->entries[k].kind == kind && streq(i->entries[k].name, word))
                        return true;
        return false;
}

static int add(UnitInstall *i, const RawOption *raw, const char *path, const char *name, char **ret_why) {
        _cleanup_free_ char *word = specifier_expand(raw->word, name);
        UnitInstallKind kind = kind_of(raw->kind);
        const char *why;

        if (!word)
                return -ENOMEM;
        if (check(kind, word, name, &why) < 0)
                return option_refuse(ret_why, path, raw->line, "%s=%s: %s", key_of(kind), word, why);
        if (is_known(i, kind, word) || (!is_pull(kind) && streq(word, name)))
                return 0;
        i->entries[i->n++] = (UnitInstallEntry){.kind = kind, .name = TAKE_PTR(word)};
        return 0;
}

int unit_install_expand(const UnitFile *f, const char *path, const char *name, UnitInstall *ret,
                        char **ret_why) {
        bool template = unit_name_kind(name, NULL) == UNIT_NAME_TEMPLATE;
        UnitInstall i = {};

        i.entries = calloc(f->n_install ?: 1, sizeof *i.entries);
        if (!i.entries)
                return -ENOMEM;
        for (size_t k = 0; k < f->n_install; k++) {
                const char *bad;
                bool depends;
                int r;

                (void) specifier_check(f->install[k].word, &depends, &bad);
                if (depends && template)
                        continue;
                r = add(&i, &f->install[k], path, name, ret_why);
                if (r < 0) {
                        unit_install_done(&i);
                        return r;
                }
        }
        *ret = i;
        return 0;
}

void unit_install_done(UnitInstall *i) {
        for (size_t k = 0; k < i->n; k++)
                free(i->entries[k].name);
        free(i->entries);
        *i = (UnitInstall){};
}

char *unit_install_link(const UnitInstallEntry *e, const char *name) {
        switch (e->kind) {
        case UNIT_INSTALL_WANTED_BY:
                return str_printf("%s.wants/%s", e->name, name);
        case UNIT_INSTALL_REQUIRED_BY:
                return str_printf("%s.requires/%s", e->name, name);
        default:
                return strdup(e->name);
        }
}
