// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is a unit name, of which kind, and its parts. The table says which types there are, and of those that
// argosy does not run why not. Letters are those of ASCII whatever the locale says. A name that is none has
// a reason in *ret_why (static); the functions for parts take any text and return what there is.

#include "unit-name.h"

#include "quadlet.h"
#include "str.h"

// What systemd knows, or knew once (busname, snapshot): a name that ends so is complete and gets no
// ".service".
static const struct UnitType {
        const char *suffix;
        const char *why_not; // NULL: argosy manages such units
        bool templates;
} types[] = {
        {".service", NULL, true},
        {".socket", NULL, true},
        {".target", NULL, true},
        {".timer", NULL, true},
        {".path", NULL, true},
        {".mount", NULL, false},
        {".automount", NULL, false},
        {".swap", NULL, false},
        {".slice", NULL, false},
        {".scope", "scopes are made by programs, not from unit files", false},
        {".device", "devices are made by the kernel, not from unit files", false},
        {".snapshot", "systemd has no snapshots any more", false},
        {".busname", "systemd has no bus name units any more", false},
};

// The unit's type by its suffix; *ret_dot: where that begins.
static const struct UnitType *type_of(const char *name, const char **ret_dot) {
        const char *dot = *ret_dot = strrchr(name, '.');

        for (size_t i = 0; dot && i < ELEMENTSOF(types); i++)
                if (streq(dot, types[i].suffix))
                        return &types[i];
        return NULL;
}

const char *unit_name_activated_type(const char *name) {
        static const struct {
                const char *suffix, *activated;
        } activators[] = {
                {".timer", ".service"},
                {".path", ".service"},
                {".socket", ".service"},
                {".automount", ".mount"},
        };
        const char *suffix = unit_name_suffix(name);

        for (size_t i = 0; suffix && i < ELEMENTSOF(activators); i++)
                if (streq(suffix, activators[i].suffix))
                        return activators[i].activated;
        return NULL;
}

// systemd's characters in a name, '@' included. Not isalnum(): that asks the locale.
enum { NO_NAME_CHAR, NAME_CHAR, NAME_AT };
static const uint8_t char_kinds[UINT8_MAX + 1] = {
        ['a' ... 'z'] = NAME_CHAR, ['A' ... 'Z'] = NAME_CHAR, ['0' ... '9'] = NAME_CHAR,
        [':'] = NAME_CHAR,         ['-'] = NAME_CHAR,         ['_'] = NAME_CHAR,
        ['.'] = NAME_CHAR,         ['\\'] = NAME_CHAR,        ['@'] = NAME_AT,
};

static UnitNameKind invalid(const char **ret_why, const char *why) {
        if (ret_why)
                *ret_why = why;
        return UNIT_NAME_INVALID;
}

UnitNameKind unit_name_kind(const char *name, const char **ret_why) {
        const struct UnitType *type;
        const char *at = NULL, *dot;
        size_t n = 0;

        for (uint8_t kind; n <= UNIT_NAME_MAX && (kind = char_kinds[(uint8_t) name[n]]); n++)
                if (kind == NAME_AT && !at)
                        at = name + n;
        if (n == 0 && !*name)
                return invalid(ret_why, "a unit name cannot be empty");
        if (strnlen(name + n, UNIT_NAME_MAX + 1 - n) == UNIT_NAME_MAX + 1 - n)
                return invalid(ret_why, "a unit name has at most 255 characters");
        if (name[n])
                return invalid(ret_why, "a unit name consists of letters, digits and :-_.\\@");
        type = type_of(name, &dot);
        if (!type)
                return invalid(ret_why, "the name does not end in a unit type such as .service");
        if (type->why_not)
                return invalid(ret_why, type->why_not);
        if (at == name || dot == name)
                return invalid(ret_why, "there is nothing before the '@' or the unit type");
        if (!at)
                return UNIT_NAME_PLAIN;
        if (!type->templates)
                return invalid(ret_why, "units of this type have no templates or instances");
        return at + 1 == dot ? UNIT_NAME_TEMPLATE : UNIT_NAME_INSTANCE;
}

const char *unit_name_suffix(const char *name) {
        const char *dot;

        return type_of(name, &dot) ? dot : NULL;
}

static size_t stem_len(const char *name) {
        const char *suffix = unit_name_suffix(name);

        return suffix ? (size_t) (suffix - name) : strlen(name);
}

const char *unit_name_prefix(const char *name, size_t *ret_len) {
        size_t stem = stem_len(name);
        const char *at = memchr(name, '@', stem);

        *ret_len = at ? (size_t) (at - name) : stem;
        return name;
}

const char *unit_name_instance(const char *name, size_t *ret_len) {
        size_t stem = stem_len(name);
        const char *at = memchr(name, '@', stem);

        *ret_len = at ? stem - (size_t) (at - name) - 1 : 0;
        return at ? at + 1 : name + stem;
}

char *unit_name_template(const char *name) {
        const char *suffix = unit_name_suffix(name), *at;
        size_t prefix, suffix_len;
        char *template;

        assert(suffix);
        at = memchr(name, '@', (size_t) (suffix - name));
        prefix = (size_t) ((at ?: suffix) - name);
        suffix_len = strlen(suffix);
        template = malloc(prefix + 1 + suffix_len + 1);
        if (!template)
                return NULL;
        memcpy(template, name, prefix);
        template[prefix] = '@';
        memcpy(template + prefix + 1, suffix, suffix_len + 1);
        return template;
}

bool unit_name_is_instance_of(const char *name, const char *template) {
        const char *at = strchr(template, '@'), *suffix = at ? at + 1 : NULL;
        size_t prefix = at ? (size_t) (suffix - template) : 0, len;

        if (!at || strncmp(name, template, prefix) != 0 || unit_name_suffix(suffix) != suffix)
                return false;
        len = strlen(name + prefix);
        return len > strlen(suffix) && str_has_suffix(name + prefix, suffix);
}

char *unit_name_mangle(const char *arg) {
        if (quadlet_is_container(arg))
                return quadlet_unit(arg);
        return unit_name_suffix(arg) ? strdup(arg) : str_printf("%s.service", arg);
}
