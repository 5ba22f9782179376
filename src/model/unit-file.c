// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A unit file is read line by line: argosy's own options become RawOptions, with their lines, of systemd's
// settings only the few are noted that change what argosy does, and at the end it is judged what excludes
// each other. What the options mean for one name is answered later (unit-options-evaluation.c), since they
// may hold specifiers.
//
// What cannot work is refused with file and line: -EINVAL and a sentence in *ret_why. Keys of systemd's that
// are not known here pass. Nothing of a refused file is kept.

#include "unit-file.h"

#include <errno.h>

#include "array.h"
#include "carried-files.h"
#include "carried-settings.h"
#include "failing-parser.h"
#include "ini-reader.h"
#include "quadlet-parser.h"
#include "quadlet.h"
#include "secret-name.h"
#include "specifier.h"
#include "str.h"
#include "unit-options-private.h"
#include "unit-parts.h"

enum { WORD_MAX = 256 }; // bytes of one word as written, more than any valid one needs

typedef struct Parser {
        UnitFile *file;
        const char *path;
        const IniLine *line;
        char **ret_why;

        unsigned global_line;    // of the Global= that holds
        unsigned rebalance_line; // of Rebalance=; 0: none
        unsigned file_change_line; // of FileChange=; 0: none
        unsigned refuses_stop_line; // of the RefuseManualStop= that holds
        bool refuses_stop;
        bool has_service, has_type, has_exec_start, has_exec_reload, has_bus_name, type_oneshot, type_simple,
                type_reload;
        unsigned weights; // bit per entry of weight_keys
        FailingParser failing;
        QuadletParser quadlet;
} Parser;

typedef int (*OptionParser)(Parser *p, bool fleet);

// ------------------------------------------------------------------------------------- argosy's own options

// Frees the raw options of one kind, or of all with -1.
static void drop_raw(RawOption *raw, size_t *n, int kind) {
        size_t kept = 0;

        for (size_t i = 0; i < *n; i++)
                if (kind < 0 || (int) raw[i].kind == kind)
                        free(raw[i].word);
                else
                        raw[kept++] = raw[i];
        *n = kept;
}

static int append_raw(RawOption **raw, size_t *n, const RawOption *option) {
        RawOption *last;

        if (ARRAY_RESERVE(*raw, *n + 1) < 0)
                return -ENOMEM;
        last = &(*raw)[*n];
        *last = *option;
        last->word = strdup(option->word);
        if (!last->word)
                return -ENOMEM;
        ++*n;
        return 0;
}

static bool is_install(RawKind kind) {
        return option_kind(kind)->section == OPTION_INSTALL;
}

// Amounts of CPU end in a '%' that is no specifier.
static char *escape_percent(const char *word) {
        char *text = malloc(2 * strlen(word) + 1), *out = text;

        for (; text && *word; word++) {
                if (*word == '%')
                        *out++ = '%';
                *out++ = *word;
        }
        if (text)
                *out = 0;
        return text;
}

// systemctl ignores a line that it cannot split, and refuses a word with a specifier that it does not know.
// Those that it knows and argosy does not are ignored (unit-install.c).
static int check_word(Parser *p, const RawOption *option) {
        const char *bad = NULL, *of_node;
        bool depends;
        int r = 0;

        if (strlen(option->word) > WORD_MAX)
                return option_refuse(p->ret_why, p->path, p->line->line,
                                     "a word in %s= is longer than %d bytes", p->line->key, WORD_MAX);
        if (!is_install(option->kind))
                r = specifier_check(option->word, &depends, &bad);
        else if (!option->broken && option->kind != RAW_UPHELD_BY)
                r = specifier_check_install(option->word, &of_node, &bad);
        if (r < 0)
                return option_refuse(
                        p->ret_why, p->path, p->line->line,
                        "\"%.2s\" in %s= is not a specifier known here (%%n %%N %%p %%j %%i %%%%)", bad,
                        p->line->key);
        return 0;
}

static int add_raw(Parser *p, RawKind kind, bool fleet, bool broken, char *given) {
        _cleanup_free_ char *word = kind == RAW_CPU ? escape_percent(given) : strdup(given);
        RawOption option = {
                .kind = kind, .fleet = fleet, .broken = broken, .line = p->line->line, .word = word};
        UnitFile *f = p->file;
        int r = word ? check_word(p, &option) : -ENOMEM;

        if (r < 0)
                return r;
        if ((is_install(kind) ? f->n_install : f->n_raw) == UNIT_FILE_VALUES_MAX)
                return option_refuse(p->ret_why, p->path, p->line->line, "more than %d values of %s options",
                                     UNIT_FILE_VALUES_MAX, is_install(kind) ? "[Install]" : "placement");
        return is_install(kind) ? append_raw(&f->install, &f->n_install, &option)
                                : append_raw(&f->raw, &f->n_raw, &option);
}

// Splits at blanks outside of quotes and adds each word, without its quotes.
static int add_words(Parser *p, RawKind kind, bool fleet) {
        _cleanup_free_ char *copy = strdup(p->line->value);
        char *from = copy;

        if (!copy)
                return -ENOMEM;
        while (*(from += strspn(from, " \t\n\r"))) {
                char *out = from, *word = from, quote = 0;
                bool last;
                int r;

                for (; *from && (quote || !strchr(" \t\n\r", *from)); from++)
                        if (quote ? *from == quote : (*from == '"' || *from == '\''))
                                quote = quote ? 0 : *from;
                        else
                                *out++ = *from;
                if (quote && !is_install(kind))
                        return option_refuse(p->ret_why, p->path, p->line->line,
                                             "a quotation in %s= does not end", p->line->key);
                last = !*from;
                *out = 0;
                r = add_raw(p, kind, fleet, quote, word);
                if (r < 0 || last)
                        return r;
                from++;
        }
        return 0;
}

static int parse_words(Parser *p, RawKind kind, bool fleet) {
        UnitFile *f = p->file;

        if (*p->line->value)
                return add_words(p, kind, fleet);
        if (is_install(kind))
                drop_raw(f->install, &f->n_install, (int) kind);
        else
                drop_raw(f->raw, &f->n_raw, (int) kind);
        return 0;
}

static int parse_global(Parser *p, bool fleet) {
        bool yes = false;

        if (*p->line->value && !parse_boolean(p->line->value, &yes))
                return option_refuse(p->ret_why, p->path, p->line->line,
                                     "Global=%.64s is neither yes nor no", p->line->value);
        p->file->global = yes;
        p->global_line = p->line->line;
        return 0;
}

static int parse_max_unavailable(Parser *p, bool fleet) {
        p->file->max_unavailable = (UnitShare){};
        if (*p->line->value && !unit_share_parse(p->line->value, &p->file->max_unavailable))
                return option_refuse(p->ret_why, p->path, p->line->line,
                                     "MaxUnavailable=%.64s is neither a number from 1 on nor a percentage",
                                     p->line->value);
        return 0;
}

static int parse_rebalance(Parser *p, bool fleet) {
        bool yes = true;

        if (*p->line->value && !parse_boolean(p->line->value, &yes))
                return option_refuse(p->ret_why, p->path, p->line->line,
                                     "Rebalance=%.64s is neither yes nor no", p->line->value);
        p->file->stays = !yes;
        p->rebalance_line = *p->line->value ? p->line->line : 0;
        return 0;
}

static int parse_files(Parser *p, bool fleet) {
        UnitFile *f = p->file;
        _cleanup_free_ char *why = NULL;
        int r;

        if (!*p->line->value)
                file_sources_drop(f->file_sources, &f->n_file_sources);
        r = file_sources_parse(p->line->value, p->line->line, f->container || f->made, &f->file_sources,
                               &f->n_file_sources, &why);
        return r == -EINVAL ? option_refuse(p->ret_why, p->path, p->line->line, "File=: %s", why ?: "") : r;
}

static int parse_file_change(Parser *p, bool fleet) {
        const char *value = p->line->value;

        p->file->file_change = ARGOSY__FILE_CHANGE__FILE_CHANGE_RESTART;
        p->file_change_line = *value ? p->line->line : 0;
        for (int i = ARGOSY__FILE_CHANGE__FILE_CHANGE_RESTART;
             *value && i <= ARGOSY__FILE_CHANGE__FILE_CHANGE_NONE; i++)
                if (streq(value, file_change_to_string((Argosy__FileChange) i)))
                        p->file->file_change = (Argosy__FileChange) i;
        if (*value && !streq(value, file_change_to_string(p->file->file_change)))
                return option_refuse(p->ret_why, p->path, p->line->line,
                                     "FileChange=%.64s is neither restart, reload nor none", value);
        return 0;
}

static int parse_volume_loss(Parser *p, bool fleet) {
        return quadlet_on_volume_loss(&p->quadlet, p->path, p->line, p->ret_why);
}

static int parse_image_pin(Parser *p, bool fleet) {
        return content_image_on_pin(&p->quadlet, p->path, p->line, p->ret_why);
}

static int parse_registry_auth(Parser *p, bool fleet) {
        const char *name = p->line->value;

        free(TAKE_PTR(p->file->registry_auth));
        if (!*name)
                return 0;
        if (!secret_name_is_valid(name))
                return option_refuse(p->ret_why, p->path, p->line->line,
                                     "RegistryAuth=%.64s is not the name of a secret: " SECRET_NAME_RULE,
                                     name, SECRET_NAME_MAX);
        p->file->registry_auth = strdup(name);
        p->file->registry_auth_line = p->line->line;
        return p->file->registry_auth ? 0 : -ENOMEM;
}

static int parse_boot_id(Parser *p, bool fleet) {
        return option_refuse(
                p->ret_why, p->path, p->line->line,
                "%s= is not supported, a boot id ends with the boot; use MachineID=", p->line->key);
}

// Options with a parser of their own, and further names of those whose value is words (OPTION_KINDS). Names
// follow systemd's habits; what fleet has is called as there.
static const struct {
        const char *key;
        OptionParser parse; // NULL: words of this kind
        RawKind kind;
        bool fleet_only, argosy_only;
} options[] = {
        {"Global", parse_global, 0, false, false},
        {"MaxUnavailable", parse_max_unavailable, 0, false, true},
        {"Rebalance", parse_rebalance, 0, false, true},
        {"File", parse_files, 0, false, true},
        {"FileChange", parse_file_change, 0, false, true},
        {"VolumeLoss", parse_volume_loss, 0, false, true},
        {"ImagePin", parse_image_pin, 0, false, true},
        {"RegistryAuth", parse_registry_auth, 0, false, true},
        {"SameNodeAs", NULL, RAW_SAME_NODE, false, true},
        {"X-ConditionMachineID", NULL, RAW_MACHINE_ID, true, false},
        {"X-ConditionMachineMetadata", NULL, RAW_METADATA, true, false},
        {"X-ConditionMachineOf", NULL, RAW_SAME_NODE, true, false},
        {"X-ConditionMachineBootID", parse_boot_id, 0, true, false},
        {"X-Conflicts", NULL, RAW_CONFLICTS, true, false},
};

const char *unit_file_option(size_t i) {
        if (i < ELEMENTSOF(options))
                return options[i].key;
        i -= ELEMENTSOF(options);
        for (RawKind kind = 0; kind < RAW_KINDS; kind++) {
                const OptionKind *k = option_kind(kind);

                if ((k->section == OPTION_ARGOSY || k->section == OPTION_FLEET) && i-- == 0)
                        return k->name;
        }
        return failing_option(i);
}

static int on_own_line(Parser *p, bool fleet) {
        RawKind kind;
        int r;

        if (p->line->kind == INI_GARBAGE)
                return option_refuse(p->ret_why, p->path, p->line->line,
                                     "this line in [%s] is not KEY=VALUE", p->line->section);
        for (size_t i = 0; i < ELEMENTSOF(options); i++)
                if (streq(p->line->key, options[i].key) &&
                    !(fleet ? options[i].argosy_only : options[i].fleet_only))
                        return options[i].parse ? options[i].parse(p, fleet)
                                                : parse_words(p, options[i].kind, fleet);
        kind = option_find(p->line->key, fleet ? OPTION_FLEET : OPTION_ARGOSY);
        if (kind < RAW_KINDS)
                return parse_words(p, kind, fleet);
        r = fleet ? 1 : failing_on_option(&p->failing, p->path, p->line, p->ret_why);
        if (r <= 0)
                return r;
        return option_refuse(p->ret_why, p->path, p->line->line, "unknown option %.64s= in [%s]",
                             p->line->key, p->line->section);
}

// ------------------------------------------------------------------------------------------------ [Install]

static int set_text(char **where, const char *value) {
        char *copy = *value ? strdup(value) : NULL;

        if (*value && !copy)
                return -ENOMEM;
        free(*where);
        *where = copy;
        return 0;
}

// What these lines mean for a unit is unit-install.h's. Keys that systemd does not know do nothing there
// either.
static int on_install(Parser *p) {
        RawKind kind = option_find(p->line->key, OPTION_INSTALL);

        if (kind < RAW_KINDS)
                return parse_words(p, kind, false);
        if (!streq(p->line->key, "DefaultInstance"))
                return 0;
        p->file->default_instance_line = p->line->line;
        return set_text(&p->file->default_instance, p->line->value);
}

// ------------------------------------------------------------------------------------------------ systemd's

static const char *const weight_keys[] = {"CPUWeight",       "StartupCPUWeight",    "IOWeight",
                                          "StartupIOWeight", "CPUShares",           "StartupCPUShares",
                                          "BlockIOWeight",   "StartupBlockIOWeight"};

static void on_type(Parser *p, const char *value) {
        static const char *const known[] = {"simple", "exec",   "forking",       "oneshot",
                                            "dbus",   "notify", "notify-reload", "idle"};

        if (!*value)
                p->has_type = false;
        for (size_t i = 0; i < ELEMENTSOF(known); i++) // systemd ignores the others
                if (streq(value, known[i])) {
                        p->has_type = true;
                        p->type_oneshot = streq(value, "oneshot");
                        p->type_reload = streq(value, "notify-reload");
                        p->type_simple =
                                streq(value, "simple") || streq(value, "exec") || streq(value, "idle");
                }
}

static void on_service(Parser *p, const char *key, const char *value) {
        if (streq(key, "Type"))
                on_type(p, value);
        else if (streq(key, "ExecStart"))
                p->has_exec_start = *value;
        else if (streq(key, "ExecReload"))
                p->has_exec_reload = *value;
        else if (streq(key, "BusName"))
                p->has_bus_name = *value;
        else if (streq(key, "RemainAfterExit"))
                parse_boolean(value, &p->file->remain);
}

// Settings of units with processes of their own.
static void on_resources(Parser *p, const char *key, const char *value) {
        if (streq(key, "Slice"))
                p->file->has_slice = *value;
        for (unsigned i = 0; i < ELEMENTSOF(weight_keys); i++)
                if (streq(key, weight_keys[i]))
                        p->weights = *value ? p->weights | 1U << i : p->weights & ~(1U << i);
}

// Words of several lines stand behind each other. An empty value takes them back, unless systemd says
// otherwise.
static int add_text(char **where, const char *value, bool clears) {
        char *text;

        if (!*value) {
                if (clears)
                        free(TAKE_PTR(*where));
                return 0;
        }
        text = str_printf("%s%s%s", *where ?: "", *where ? " " : "", value);
        if (!text)
                return -ENOMEM;
        free(*where);
        *where = text;
        return 0;
}

// Names of units, in which a container's file may have those of other such files.
static int add_units(Parser *p, char **where, const char *value) {
        _cleanup_buf_ Buf units = {};
        int r = p->quadlet.is_container && *value ? quadlet_units(value, &units) : 0;

        if (r == 0 && units.len > 0)
                r = buf_append(&units, "", 1);
        return r ?: add_text(where, units.len > 0 ? (char *) units.data : value, false);
}

// An empty value takes back all that were there.
static int add_condition(char **list, bool *several, const char *key, const char *value) {
        _cleanup_free_ char *before = TAKE_PTR(*list);

        *several = *value && before;
        if (!*value)
                return 0;
        *list = str_printf("%s%s%s=%s", before ?: "", before ? ", " : "", key, value);
        return *list ? 0 : -ENOMEM;
}

static bool stops_with(const char *key) {
        static const char *const keys[] = {"Requires", "Requisite", "BindsTo", "PartOf",
                                           "StopPropagatedFrom"};

        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                if (streq(key, keys[i]))
                        return true;
        return false;
}

// systemd looks for such units when this one starts.
static bool is_needed(const char *key) {
        static const char *const keys[] = {"Requires", "Requisite", "BindsTo", "Wants", "Upholds", "After"};

        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                if (streq(key, keys[i]))
                        return true;
        return false;
}

// Systemd's own dependencies cannot be taken back by an empty value.
static int on_unit(Parser *p, const char *key, const char *value) {
        UnitFile *f = p->file;
        char *text;

        if (streq(key, "Description")) {
                text = strdup(value);
                if (!text)
                        return -ENOMEM;
                free(f->description);
                f->description = text;
                return 0;
        }
        if (streq(key, "StopWhenUnneeded"))
                parse_boolean(value, &f->stops_unneeded);
        if (streq(key, "RefuseManualStart"))
                parse_boolean(value, &f->refuses_start);
        if (streq(key, "RefuseManualStop")) {
                parse_boolean(value, &p->refuses_stop);
                p->refuses_stop_line = p->line->line;
        }
        if (str_has_prefix(key, "Condition"))
                return add_condition(&f->conditions, &f->several_conditions, key, value);
        if (str_has_prefix(key, "Assert"))
                return add_condition(&f->asserts, &f->several_asserts, key, value);
        if (streq(key, "OnFailure") || streq(key, "OnSuccess"))
                return add_units(p, &f->ends, value);
        if (streq(key, "PropagatesStopTo"))
                return add_units(p, &f->stops, value);
        if (streq(key, "Conflicts"))
                return add_units(p, &f->conflicts, value);
        if (is_needed(key) && add_units(p, &f->needs, value) < 0)
                return -ENOMEM;
        return stops_with(key) ? add_units(p, &f->bound_to, value) : 0;
}

static int on_assignment(Parser *p) {
        const char *section = p->line->section, *key = p->line->key, *value = p->line->value;

        if (streq(section, "Unit"))
                return on_unit(p, key, value);
        if (streq(section, "Install"))
                return on_install(p);
        if (streq(section, "Container"))
                return quadlet_on_container(&p->quadlet, p->path, p->line, p->ret_why);
        if (((streq(section, "Timer") || streq(section, "Path")) && streq(key, "Unit")) ||
            (streq(section, "Socket") && streq(key, "Service")))
                return set_text(&p->file->activates, value);
        if (streq(section, "Socket") && streq(key, "Accept"))
                parse_boolean(value, &p->file->accepts);
        if (streq(section, "Service") && streq(key, "Sockets"))
                return add_text(&p->file->sockets, value, true);
        if (streq(section, "Service") && streq(key, "ExecCondition"))
                return add_condition(&p->file->exec_conditions, &p->file->several_exec_conditions, key,
                                     value);
        if (streq(section, "Service")) {
                on_service(p, key, value);
                failing_on_service(&p->failing, p->line);
        }
        if (streq(section, "Service") || streq(section, "Socket") || streq(section, "Mount") ||
            streq(section, "Swap") || streq(section, "Slice"))
                on_resources(p, key, value);
        return 0;
}

// ------------------------------------------------------------------------------------------------ the file

static int on_line(Parser *p) {
        const char *section = p->line->section;

        if (p->line->kind == INI_SECTION) {
                p->has_service |= streq(section, "Service");
                p->file->has_install |= streq(section, "Install");
                return quadlet_on_section(&p->quadlet, p->path, p->line, p->ret_why);
        }
        if (streq(section, "X-Argosy") || streq(section, "X-Fleet"))
                return on_own_line(p, streq(section, "X-Fleet"));
        return p->line->kind == INI_ASSIGNMENT ? on_assignment(p) : 0;
}

static int read_lines(Parser *p, const void *content, size_t len) {
        _cleanup_(ini_reader_done) IniReader reader = {0};
        IniLine line = {0};
        int r = ini_reader_init(&reader, content, unit_parts_own_len(content, len));

        if (r < 0)
                return r;
        p->line = &line;
        p->file->container = p->quadlet.is_container = quadlet_is(content, len);
        p->file->made = quadlet_is_made(content, len);
        p->has_service = p->has_exec_start = p->file->container; // which the generator makes
        while ((r = ini_reader_next(&reader, &line)) > 0) {
                r = on_line(p);
                if (r < 0)
                        return r;
        }
        if (r == -EBADMSG)
                return option_refuse(p->ret_why, p->path, line.line,
                                     "this section header does not end with ']'");
        return r < 0 || !p->file->container
                       ? r
                       : quadlet_take_beside(&p->quadlet, p->path, content, len, p->ret_why);
}

static int finish_failing(Parser *p) {
        UnitFile *f = p->file;
        FailingContext file = {
                .service = p->has_service, .ends = f->oneshot && !f->remain, .global = f->global};
        int r;

        for (size_t i = 0; i < f->n_raw; i++)
                file.managers |= f->raw[i].kind == RAW_MANAGER;
        r = failing_finish(&p->failing, p->path, &file, p->ret_why);
        f->failing = p->failing.options;
        return r;
}

static const RawOption *find_raw(const UnitFile *f, RawKind kind) {
        for (size_t i = 0; i < f->n_raw; i++)
                if (f->raw[i].kind == kind)
                        return &f->raw[i];
        return NULL;
}

// Options that exclude each other; the later line is told.
static int check_together(Parser *p, const RawOption *raw) {
        const OptionKind *kind = option_kind(raw->kind);
        const RawOption *id = find_raw(p->file, RAW_MACHINE_ID);
        const RawOption *replaces = find_raw(p->file, RAW_REPLACES);

        if (p->file->global && kind->not_with_global)
                return option_refuse(p->ret_why, p->path, MAX_OF(raw->line, p->global_line),
                                     "Global= and %s= exclude each other", kind->name);
        if (id && kind->not_with_id)
                return option_refuse(p->ret_why, p->path, MAX_OF(raw->line, id->line),
                                     "MachineID= and %s= exclude each other", kind->name);
        if (replaces && raw->kind == RAW_CONFLICTS)
                return option_refuse(p->ret_why, p->path, MAX_OF(raw->line, replaces->line),
                                     "Conflicts= and Replaces= exclude each other");
        return 0;
}

static int check_files(Parser *p) {
        UnitFile *f = p->file;

        // systemd binds nothing for a user's, and a container has another /run
        if (f->n_file_sources > 0 && find_raw(f, RAW_MANAGER))
                return option_refuse(
                        p->ret_why, p->path, MAX_OF(f->file_sources[0].line, find_raw(f, RAW_MANAGER)->line),
                        "File= and Manager= exclude each other: only system managers run units with files");
        f->reloads = p->has_exec_reload || (p->has_type && p->type_reload);
        if (f->file_change == ARGOSY__FILE_CHANGE__FILE_CHANGE_RELOAD && !f->reloads)
                return option_refuse(p->ret_why, p->path, p->file_change_line,
                                     "FileChange=reload needs ExecReload= in [Service]");
        if (p->file_change_line > 0 && f->n_file_sources == 0)
                return option_refuse(p->ret_why, p->path, p->file_change_line,
                                     "FileChange= says something of files, and no File= names one");
        return 0;
}

// A container is stopped with the unit that makes its network, or whose network it has.
static int note_networks(Parser *p) {
        const QuadletParser *q = &p->quadlet;
        int r = 0;

        for (size_t i = 0; r == 0 && i < q->n_named; i++)
                if (!str_has_suffix(q->named[i].file, QUADLET_VOLUME))
                        r = add_text(&p->file->networks, q->named[i].file, false) ?:
                            add_units(p, &p->file->bound_to, q->named[i].file) ?:
                            add_units(p, &p->file->needs, q->named[i].file);
        return r;
}

// A container is where podman is.
static int finish_container(Parser *p) {
        RawOption label = {.kind = RAW_REQUIRE_LABEL, .line = 1, .word = (char *) QUADLET_LABEL};
        const QuadletParser *q = &p->quadlet;
        UnitFile *f = p->file;
        QuadletOptions beside = {.raw = f->raw, .n_raw = f->n_raw, .global = f->global};
        int r = quadlet_finish(q, p->path, &beside, &p->failing, &f->stays, p->ret_why);

        if (r == 0 && f->registry_auth && !f->container && !f->made)
                r = option_refuse(p->ret_why, p->path, f->registry_auth_line,
                                  "RegistryAuth= is for containers");
        for (size_t i = 0; i < q->n_claims && r == 0; i++)
                r = append_raw(&f->raw, &f->n_raw,
                               &(RawOption){.kind = RAW_CLAIM,
                                            .line = q->claims[i].line,
                                            .word = q->claims[i].what});
        if (r == 0)
                r = note_networks(p);
        return r == 0 && f->container ? append_raw(&f->raw, &f->n_raw, &label) : r;
}

// What can only be said when all lines are known.
static int finish(Parser *p) {
        UnitFile *f = p->file;
        bool depends = false;
        const char *bad;
        int r;

        r = finish_container(p);
        if (r < 0)
                return r;
        f->oneshot =
                p->has_service && (p->has_type ? p->type_oneshot : !p->has_exec_start && !p->has_bus_name);
        f->simple = p->has_service &&
                    (p->has_type ? p->type_simple : p->has_exec_start && !p->has_bus_name && !f->container);
        f->has_weights = p->weights != 0;
        if (f->global && p->rebalance_line)
                return option_refuse(p->ret_why, p->path, MAX_OF(p->rebalance_line, p->global_line),
                                     "Global= and Rebalance= exclude each other");
        // argosy stops a unit also to move it, to replace its file or to destroy it. RefuseManualStart= is
        // allowed, as another unit may start it.
        if (p->refuses_stop)
                return option_refuse(p->ret_why, p->path, p->refuses_stop_line,
                                     "with RefuseManualStop= systemd stops it for nobody who asks, so "
                                     "argosy could never stop it");
        f->replaces = find_raw(f, RAW_REPLACES);
        r = check_files(p) ?: finish_failing(p);
        if (r < 0)
                return r;
        for (size_t i = 0; i < f->n_raw; i++) {
                bool d;

                r = check_together(p, &f->raw[i]);
                if (r < 0)
                        return r;
                specifier_check(f->raw[i].word, &d, &bad);
                depends |= d;
        }
        if (depends)
                return 0;
        r = unit_options_new(f->raw, f->n_raw, f->global, p->path, "", &f->common, p->ret_why);
        drop_raw(f->raw, &f->n_raw, -1); // not needed any more
        return r;
}

static unsigned line_of(const char *content, size_t offset) {
        unsigned line = 1;

        for (size_t i = 0; i < offset; i++)
                line += content[i] == '\n';
        return line;
}

static int check_bytes(const char *path, const char *content, size_t len, char **ret_why) {
        const char *nul;

        if (len == 0)
                return option_refuse(ret_why, path, 1, "the file is empty, which to systemd means masked");
        nul = memchr(content, 0, MIN_OF(len, (size_t) UNIT_FILE_MAX));
        if (nul)
                return option_refuse(ret_why, path, line_of(content, (size_t) (nul - content)),
                                     "a NUL byte: this is not a unit file");
        if (len > UNIT_FILE_MAX)
                return option_refuse(ret_why, path, line_of(content, UNIT_FILE_MAX),
                                     "the file is larger than %d KiB", UNIT_FILE_MAX / 1024);
        return 0;
}

static void parser_done(Parser *p) {
        quadlet_parser_done(&p->quadlet);
}

// Without what a container names, and without the manifest of files.
static size_t text_len(const void *content, size_t len) {
        return MIN_OF(unit_parts_own_len(content, len), carried_files_text_len(content, len));
}

static int parse(const char *path, const void *content, size_t len, UnitFile **ret, char **ret_why) {
        _cleanup_(unit_file_freep) UnitFile *f = NULL;
        _cleanup_(parser_done) Parser p = {};
        int r = check_bytes(path, content, len, ret_why);

        if (r < 0)
                return r;
        f = calloc(1, sizeof *f);
        if (!f)
                return -ENOMEM;
        f->description = strdup("");
        if (!f->description)
                return -ENOMEM;
        p = (Parser){.file = f, .path = path, .ret_why = ret_why};
        failing_init(&p.failing);
        r = read_lines(&p, content, len);
        if (r < 0)
                return r;
        r = finish(&p);
        if (r == 0)
                r = carried_settings_keep(f->file_sources, f->n_file_sources, content,
                                          text_len(content, len), &f->file_settings);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(f);
        return 0;
}

int unit_file_parse(const char *path, const void *content, size_t len, UnitFile **ret, char **ret_why) {
        int r = parse(path, content, len, ret, ret_why);

        return r == -EINVAL && ret_why && unit_parts_place(path, content, len, ret_why) < 0 ? -ENOMEM : r;
}

UnitFile *unit_file_free(UnitFile *f) {
        if (!f)
                return NULL;
        drop_raw(f->raw, &f->n_raw, -1);
        drop_raw(f->install, &f->n_install, -1);
        free(f->raw);
        free(f->install);
        free(f->activates);
        free(f->bound_to);
        free(f->needs);
        free(f->networks);
        free(f->stops);
        free(f->conflicts);
        free(f->sockets);
        free(f->ends);
        free(f->conditions);
        free(f->asserts);
        free(f->exec_conditions);
        free(f->default_instance);
        file_sources_drop(f->file_sources, &f->n_file_sources);
        free(f->file_sources);
        free(f->file_settings);
        free(f->registry_auth);
        free(f->description);
        unit_options_unref(f->common);
        free(f);
        return NULL;
}
