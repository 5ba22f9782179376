// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What [Install] asks for, filled in for one name: each word becomes a link or a unit that is loaded too,
// once, however often it is said. For a template words that depend on the instance are left to the
// instances. A word is judged as `systemctl enable` judges it: the first one that it refuses refuses the
// file, with its line; one that it takes and argosy cannot do is left out, and noted in UnitInstall.ignored.

#include "unit-install.h"

#include <errno.h>
#include <stdio.h>

#include "specifier.h"
#include "str.h"
#include "unit-options-private.h"

typedef enum Verdict { TAKE, IGNORE, REFUSE } Verdict;

// One word, for one unit.
typedef struct Word {
        UnitInstallKind kind;
        char *text; // expanded
} Word;

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

static bool is_pull(UnitInstallKind kind) {
        return kind == UNIT_INSTALL_WANTED_BY || kind == UNIT_INSTALL_REQUIRED_BY;
}

// What systemd takes as a unit's name. Units of some types are made from no file, so argosy has none of
// these, but they may have directories of links.
static bool is_name_for_systemd(const char *name) {
        const char *suffix = unit_name_suffix(name);
        char stem[UNIT_NAME_MAX + 1];

        if (!suffix || strlen(name) > UNIT_NAME_MAX)
                return false;
        snprintf(stem, sizeof stem, "%.*s.slice", (int) (suffix - name), name);
        for (char *at = stem; (at = strchr(at, '@')) && at > stem; at++) // no templates of slices
                *at = '-';
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

static Verdict judge_alias(const char *alias, const char *name, const char **ret_why) {
        const char *suffix = unit_name_suffix(name);
        UnitNameKind kind, of;

        *ret_why = "units of this type have one name only";
        if (!suffix || !has_aliases(suffix))
                return IGNORE;
        kind = unit_name_kind(alias, ret_why);
        if (kind == UNIT_NAME_INVALID)
                return REFUSE;
        *ret_why = "an alias is of the same type as the unit";
        if (!streq(unit_name_suffix(alias), suffix))
                return REFUSE;
        of = unit_name_kind(name, NULL);
        *ret_why = "an instance is called by the name of an instance, as in Alias=NAME@%i.service, and only "
                   "that";
        if ((kind == UNIT_NAME_PLAIN) != (of == UNIT_NAME_PLAIN))
                return REFUSE;
        *ret_why = unit_name_reserved(alias);
        if (*ret_why)
                return IGNORE;
        *ret_why = "it is an alias of another instance";
        return of != UNIT_NAME_INSTANCE || is_same_instance(alias, name) ? TAKE : IGNORE;
}

static Verdict judge_pull(const char *name, const char **ret_why) {
        if (unit_name_kind(name, ret_why) == UNIT_NAME_INVALID && !is_name_for_systemd(name))
                return REFUSE;
        *ret_why =
                "the name ends in '-', and systemd takes links below it for all units whose names begin so";
        if (unit_name_is_of_many(name))
                return IGNORE;
        *ret_why = "the name is too long for a directory of links";
        return strlen(name) > UNIT_NAME_MAX - strlen(".requires") ? REFUSE : TAKE;
}

static Verdict judge_also(const char *name, const char **ret_why) {
        UnitNameKind kind = unit_name_kind(name, ret_why);

        if (kind == UNIT_NAME_INVALID)
                return is_name_for_systemd(name) ? IGNORE : REFUSE;
        *ret_why = "a template cannot be loaded, only an instance of it";
        return kind == UNIT_NAME_TEMPLATE ? IGNORE : TAKE;
}

static Verdict judge(const Word *w, const char *name, const char **ret_why) {
        if (is_pull(w->kind))
                return judge_pull(w->text, ret_why);
        return w->kind == UNIT_INSTALL_ALIAS ? judge_alias(w->text, name, ret_why)
                                             : judge_also(w->text, ret_why);
}

// What can be said before specifiers are filled in. NULL: nothing.
static char *why_never(const RawOption *raw) {
        const char *of_node, *bad;

        if (raw->kind == RAW_UPHELD_BY)
                return strdup("Restart=always is what argosy's units have for it");
        if (raw->broken)
                return strdup("a quotation does not end");
        (void) specifier_check_install(raw->word, &of_node, &bad);
        return of_node ? str_printf("%.2s is known on the node only", of_node) : NULL;
}

static int ignore(UnitInstall *i, const RawOption *raw, const char *path, const char *word,
                  const char *why) {
        char *all = str_printf("%s%s%s:%u: %s=%s is ignored: %s", i->ignored ?: "", i->ignored ? ";\n" : "",
                               path, raw->line, option_kind(raw->kind)->name, word, why);

        if (!all)
                return -ENOMEM;
        free(i->ignored);
        i->ignored = all;
        return 0;
}

// "Alias=X.wants/NAME" is "WantedBy=X". False: it is neither that nor X.requires/NAME.
static bool take_link(Word *w, const char *name) {
        static const struct {
                const char *suffix;
                UnitInstallKind kind;
        } dirs[] = {{".wants", UNIT_INSTALL_WANTED_BY}, {".requires", UNIT_INSTALL_REQUIRED_BY}};
        char *slash = strchr(w->text, '/');

        if (!streq(slash + 1, name))
                return false;
        for (size_t i = 0; i < ELEMENTSOF(dirs); i++) {
                size_t len = strlen(dirs[i].suffix);
                char *end = slash - len;

                if (end <= w->text || memcmp(end, dirs[i].suffix, len) != 0)
                        continue;
                *end = 0;
                w->kind = dirs[i].kind;
                return true;
        }
        return false;
}

// "NAME@.service" of an instance is what that instance is called.
static int take_instance(Word *w, const char *name) {
        size_t prefix_len, len;
        const char *prefix, *instance;
        char *alias;

        if (unit_name_kind(w->text, NULL) != UNIT_NAME_TEMPLATE ||
            unit_name_kind(name, NULL) != UNIT_NAME_INSTANCE)
                return 0;
        prefix = unit_name_prefix(w->text, &prefix_len);
        instance = unit_name_instance(name, &len);
        alias = str_printf("%.*s@%.*s%s", (int) prefix_len, prefix, (int) len, instance,
                           unit_name_suffix(w->text));
        if (!alias)
                return -ENOMEM;
        free(w->text);
        w->text = alias;
        return 0;
}

static bool is_known(const UnitInstall *i, UnitInstallKind kind, const char *word) {
        for (size_t k = 0; k < i->n; k++)
                if (i->entries[k].kind == kind && streq(i->entries[k].name, word))
                        return true;
        return false;
}

static int add_word(UnitInstall *i, Word *w, const RawOption *raw, const char *path, const char *name,
                    char **ret_why) {
        bool template = unit_name_kind(name, NULL) == UNIT_NAME_TEMPLATE;
        Verdict verdict = REFUSE;
        const char *why = "it is neither a name nor X.wants/NAME or X.requires/NAME of this unit";
        int r = 0;

        if (w->kind != UNIT_INSTALL_ALIAS || !strchr(w->text, '/') || take_link(w, name)) {
                r = w->kind == UNIT_INSTALL_ALIAS ? take_instance(w, name) : 0;
                if (r < 0)
                        return r;
                verdict = judge(w, name, &why);
        }
        if (verdict == REFUSE)
                return option_refuse(ret_why, path, raw->line, "%s=%s: %s", option_kind(raw->kind)->name,
                                     w->text, why);
        if (verdict == IGNORE)
                return ignore(i, raw, path, w->text, why);
        if (is_known(i, w->kind, w->text) || (!is_pull(w->kind) && streq(w->text, name)) ||
            (w->kind == UNIT_INSTALL_ALIAS && template))
                return 0;
        i->entries[i->n++] = (UnitInstallEntry){.kind = w->kind, .name = TAKE_PTR(w->text)};
        return 0;
}

static bool is_for_instances(const RawOption *raw, const char *name) {
        const char *bad;
        bool depends = false;

        (void) specifier_check(raw->word, &depends, &bad);
        return depends && unit_name_kind(name, NULL) == UNIT_NAME_TEMPLATE;
}

static int add(UnitInstall *i, const RawOption *raw, const char *path, const char *name, char **ret_why) {
        _cleanup_free_ char *never = why_never(raw);
        Word w = {.kind = kind_of(raw->kind)};
        int r;

        if (never)
                return ignore(i, raw, path, raw->word, never);
        if (is_for_instances(raw, name))
                return 0;
        w.text = specifier_expand(raw->word, name);
        r = w.text ? add_word(i, &w, raw, path, name, ret_why) : -ENOMEM;
        free(w.text);
        return r;
}

// Checks DefaultInstance=: systemctl refuses an invalid instance name for a template; for an instance it
// ignores the line.
static int check_default_instance(const UnitFile *f, const char *path, const char *name, char **ret_why) {
        const char *value = f->default_instance, *of_node, *bad;
        char instance[UNIT_NAME_MAX + 1];
        _cleanup_free_ char *word = NULL;

        if (!value || unit_name_kind(name, NULL) != UNIT_NAME_TEMPLATE)
                return 0;
        if (specifier_check_install(value, &of_node, &bad) == 0) {
                word = specifier_expand(value, name);
                if (!word)
                        return -ENOMEM;
                snprintf(instance, sizeof instance, "x@%.*s.service", UNIT_NAME_MAX - 16, word);
                if (of_node || unit_name_kind(instance, NULL) == UNIT_NAME_INSTANCE || !*word)
                        return 0;
        }
        return option_refuse(ret_why, path, f->default_instance_line,
                             "DefaultInstance=%.64s is not what an instance may be called", value);
}

int unit_install_expand(const UnitFile *f, const char *path, const char *name, UnitInstall *ret,
                        char **ret_why) {
        UnitInstall i = {};
        int r = check_default_instance(f, path, name, ret_why);

        if (r < 0)
                return r;
        i.entries = calloc(f->n_install ?: 1, sizeof *i.entries);
        if (!i.entries)
                return -ENOMEM;
        for (size_t k = 0; k < f->n_install && r == 0; k++)
                r = add(&i, &f->install[k], path, name, ret_why);
        if (r < 0)
                unit_install_done(&i);
        else
                *ret = i;
        return r;
}

void unit_install_done(UnitInstall *i) {
        for (size_t k = 0; k < i->n; k++)
                free(i->entries[k].name);
        free(i->entries);
        free(i->ignored);
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
