// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Options that say on which nodes a unit may run and with which rank: labels, affinity, spread,
// reservations, role.
//
//      demands_add() per word -> demands_finish() -> demands_check() for one unit -> demands_key()
//
// demands_key() names the placement class. Lists are sorted: the order in the file means nothing. Limits:
// UNIT_PREFERENCES_MAX, UNIT_RESERVES_MAX and the maxima below. Failures: -EINVAL with file and line in
// *ret_why, -ENOMEM.

#include <errno.h>
#include <fnmatch.h>

#include "array.h"
#include "buf.h"
#include "str.h"
#include "unit-options-private.h"

enum { WEIGHT_DEFAULT = 100, WEIGHT_MAX = 1000, SKEW_MAX = 1000, CPU_MAX = 100000, RESERVE_MAX = 1000000 };

// ------------------------------------------------------------------------------------------------ lists

static size_t count(char **list) {
        size_t n = 0;

        while (list && list[n])
                n++;
        return n;
}

// Inserts `word` into a sorted list without duplicates. 1: it is new, at *ret_at; 0: it was there at
// *ret_at.
static int list_insert(char ***list, const char *word, size_t *ret_at) {
        size_t n = count(*list), at = 0;
        char **place, *copy;

        while (at < n && strcmp((*list)[at], word) < 0)
                at++;
        *ret_at = at;
        if (at < n && streq((*list)[at], word))
                return 0;
        copy = strdup(word);
        if (!copy || ARRAY_RESERVE(*list, n + 2) < 0) {
                free(copy);
                return -ENOMEM;
        }
        place = &(*list)[at];
        memmove(place + 1, place, (n - at) * sizeof *place);
        *place = copy;
        (*list)[n + 1] = NULL;
        return 1;
}

static int list_add(char ***list, const char *word) {
        size_t at;
        int r = list_insert(list, word, &at);

        return MIN_OF(r, 0);
}

// Like list_add(), with the line of each word in a list beside it.
static int list_add_with_line(char ***list, unsigned **lines, const char *word, unsigned line) {
        size_t n = count(*list), at;
        unsigned *place;
        int r = ARRAY_RESERVE(*lines, n + 1);

        if (r >= 0)
                r = list_insert(list, word, &at);
        if (r < 0)
                return r;
        place = &(*lines)[at];
        if (r == 1) {
                memmove(place + 1, place, (n - at) * sizeof *place);
                *place = line;
        } else
                *place = MAX_OF(*place, line);
        return 0;
}

static void list_done(char **list) {
        for (char **w = list; w && *w; w++)
                free(*w);
        free(list);
}

void label_match_done(LabelMatch *m) {
        free(m->key);
        list_done(m->values);
        *m = (LabelMatch){};
}

// ------------------------------------------------------------------------------------------------ labels

// KEY=VALUE|VALUE, KEY!=VALUE|VALUE, KEY, !KEY. -EINVAL: none of these.
static int match_parse(const char *text, LabelMatch *ret) {
        _cleanup_free_ char *copy = strdup(text);
        char *key = copy, *equals = copy ? strchr(copy, '=') : NULL;
        LabelMatch m = {.op = LABEL_EXISTS};
        int r = 0;

        if (!copy)
                return -ENOMEM;
        if (equals) {
                m.op = equals > copy && equals[-1] == '!' ? LABEL_NOT_IN : LABEL_IN;
                equals[m.op == LABEL_NOT_IN ? -1 : 0] = 0;
                for (char *v = equals + 1, *next; v && r >= 0; v = next) {
                        next = strchr(v, '|');
                        if (next)
                                *next++ = 0;
                        r = label_is_valid(v) ? list_add(&m.values, v) : -EINVAL;
                }
        } else if (*key == '!') {
                m.op = LABEL_ABSENT;
                key++;
        }
        if (r >= 0 && !label_is_valid(key))
                r = -EINVAL;
        m.key = r >= 0 ? strdup(key) : NULL;
        if (r >= 0 && !m.key)
                r = -ENOMEM;
        if (r < 0) {
                label_match_done(&m);
                return r;
        }
        *ret = m;
        return 0;
}

static int refuse_label(const RawOption *raw, const char *path, const char *word, char **ret_why) {
        return option_refuse(
                ret_why, path, raw->line,
                "\"%s\" is not KEY=VALUE, KEY=VALUE|VALUE, KEY!=VALUE, KEY or !KEY, each 1 to %d letters, "
                "digits and ._/-",
                word, LABEL_MAX);
}

static int add_match(UnitOptions *o, const LabelMatch *m) {
        if (ARRAY_RESERVE(o->labels, o->n_labels + 1) < 0)
                return -ENOMEM;
        o->labels[o->n_labels++] = *m;
        return 0;
}

static int add_required(UnitOptions *o, const RawOption *raw, const char *path, const char *word,
                        char **ret_why) {
        LabelMatch m;
        int r = match_parse(word, &m);

        if (r == -EINVAL)
                return refuse_label(raw, path, word, ret_why);
        r = r < 0 ? r : add_match(o, &m);
        if (r < 0)
                label_match_done(&m);
        return r;
}

static int add_pool(UnitOptions *o, const RawOption *raw, const char *path, const char *word,
                    char **ret_why) {
        LabelMatch m = {.op = LABEL_IN};

        if (!label_is_valid(word))
                return option_refuse(ret_why, path, raw->line, "Pool=%s is no name of a pool", word);
        for (size_t i = 0; i < o->n_labels; i++)
                if (streq(o->labels[i].key, "pool") && o->labels[i].op == LABEL_IN)
                        return list_add(&o->labels[i].values, word);
        m.key = strdup("pool");
        if (!m.key || list_add(&m.values, word) < 0 || add_match(o, &m) < 0) {
                label_match_done(&m);
                return -ENOMEM;
        }
        return 0;
}

// A number from 1 to `max` and nothing else.
static bool parse_number(const char *text, unsigned long max, unsigned long *ret) {
        char *end;

        if (*text < '0' || *text > '9')
                return false;
        errno = 0;
        *ret = strtoul(text, &end, 10);
        return !errno && !*end && *ret >= 1 && *ret <= max;
}

// Cuts ":NUMBER" off the end of `text`, if there is a colon. False: what is there is no such number.
static bool cut_number(char *text, unsigned long max, unsigned long *number) {
        char *colon = strrchr(text, ':');

        if (!colon)
                return true;
        *colon = 0;
        return parse_number(colon + 1, max, number);
}

static int add_preference(UnitOptions *o, const RawOption *raw, const char *path, const char *word,
                    char **ret_why) {
        _cleanup_free_ char *text = strdup(word);
        unsigned long weight = WEIGHT_DEFAULT;
        LabelMatch m;
        int r;

        if (!text)
                return -ENOMEM;
        if (o->n_preferences == UNIT_PREFERENCES_MAX)
                return option_refuse(ret_why, path, raw->line,
                                     "more than %d PreferLabel=", UNIT_PREFERENCES_MAX);
        if (!cut_number(text, WEIGHT_MAX, &weight))
                return option_refuse(ret_why, path, raw->line, "the weight of PreferLabel=%s is not 1 to %d",
                                     word, WEIGHT_MAX);
        r = match_parse(text, &m);
        if (r < 0)
                return r == -EINVAL ? refuse_label(raw, path, word, ret_why) : r;
        if (ARRAY_RESERVE(o->preferences, o->n_preferences + 1) < 0) {
                label_match_done(&m);
                return -ENOMEM;
        }
        o->preferences[o->n_preferences++] = (LabelPreference){m, (uint16_t) weight};
        return 0;
}

static int set_spread(UnitOptions *o, const RawOption *raw, const char *path, const char *word,
                      char **ret_why) {
        _cleanup_free_ char *text = strdup(word);
        bool soft = raw->kind == RAW_PREFER_SPREAD;
        unsigned long skew = 1;

        if (!text)
                return -ENOMEM;
        if (o->spread)
                return option_refuse(ret_why, path, raw->line,
                                     "units are spread over one label only, and it is %s", o->spread);
        if ((!soft && !cut_number(text, SKEW_MAX, &skew)) || !label_is_valid(text))
                return option_refuse(ret_why, path, raw->line, "%s=%s is not KEY%s",
                                     soft ? "PreferSpreadOver" : "SpreadOver", word,
                                     soft ? "" : " or KEY:SKEW");
        o->spread = TAKE_PTR(text);
        o->spread_soft = soft;
        o->spread_skew = (uint16_t) skew;
        return 0;
}

// ------------------------------------------------------------------------------------------------ affinity

static int add_same_node(UnitOptions *o, const RawOption *raw, const char *path, const char *word,
                         char **ret_why) {
        const char *why = NULL;
        UnitNameKind kind = unit_name_kind(word, &why);

        if (kind == UNIT_NAME_INVALID || kind == UNIT_NAME_TEMPLATE)
                return option_refuse(ret_why, path, raw->line,
                                     "\"%s\" is no unit that another one can be with", word);
        return list_add_with_line(&o->same_node, &o->same_node_lines, word, raw->line);
}

// Could match a name: has no characters that no name has, and its brackets end.
static bool is_pattern(const char *word) {
        bool bracket = false;

        for (const char *c = word; *c; c++) {
                if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
                      strchr(":_.\\@-*?[]!^", *c)))
                        return false;
                if (*c == '\\' && !*++c)
                        return false;
                if (*c == '[' && !bracket) {
                        bracket = true;
                        c += c[1] == '!' || c[1] == '^';
                        c += c[1] == ']';
                } else if (*c == ']')
                        bracket = false;
        }
        return *word && *word != UNIT_CLAIM && *word != UNIT_SHARED_CLAIM && strlen(word) <= UNIT_NAME_MAX &&
               !bracket;
}

// Another unit with the same claim conflicts with it, or of those that are shared one with another. It is no
// pattern that a name could match.
static int add_claim(UnitOptions *o, const RawOption *raw, const char *path, const char *word,
                     char **ret_why) {
        _cleanup_free_ char *claim =
                *word == UNIT_SHARED_CLAIM ? strdup(word) : str_printf("%c%s", UNIT_CLAIM, word);

        return claim ? list_add_with_line(&o->conflicts, &o->conflict_lines, claim, raw->line) : -ENOMEM;
}

static int add_conflict(UnitOptions *o, const RawOption *raw, const char *path, const char *word,
                        char **ret_why) {
        if (!is_pattern(word))
                return option_refuse(ret_why, path, raw->line, "\"%s\" is no pattern of unit names", word);
        return list_add_with_line(&o->conflicts, &o->conflict_lines, word, raw->fleet ? 0 : raw->line);
}

static int add_replaced(UnitOptions *o, const RawOption *raw, const char *path, const char *word,
                        char **ret_why) {
        if (!is_pattern(word))
                return option_refuse(ret_why, path, raw->line, "\"%s\" is no pattern of unit names", word);
        if (!o->replaces_line)
                o->replaces_line = raw->line;
        return list_add(&o->replaces, word);
}

// Names and machine ids of hosts are lower case in the whole cluster (config.c).
static int add_host(UnitOptions *o, const RawOption *raw, const char *path, const char *word,
                    char **ret_why) {
        _cleanup_free_ char *name = NULL;

        if (!label_is_valid(word))
                return option_refuse(ret_why, path, raw->line,
                                     "Host=%s is neither a host's name nor a machine id", word);
        name = strdup(word);
        if (!name)
                return -ENOMEM;
        str_lower(name);
        return list_add(&o->hosts, name);
}

static int check_replaced(const UnitOptions *o, const char *path, const char *name, char **ret_why) {
        for (char **g = o->replaces; g && *g; g++) {
                if (fnmatch(*g, name, 0) == 0)
                        return option_refuse(ret_why, path, o->replaces_line,
                                             "Replaces=%s matches %s itself", *g, name);
                for (char **m = o->same_node; m && *m; m++)
                        if (fnmatch(*g, *m, 0) == 0)
                                return option_refuse(ret_why, path, o->replaces_line,
                                                     "Replaces=%s matches %s, which it is to be with", *g,
                                                     *m);
        }
        return 0;
}

int demands_check(const UnitOptions *o, const char *path, const char *name, char **ret_why) {
        for (char **g = o->conflicts; g && *g; g++) {
                unsigned line = o->conflict_lines[g - o->conflicts];

                if (line && fnmatch(*g, name, 0) == 0)
                        return option_refuse(
                                ret_why, path, line,
                                "Conflicts=%s matches %s itself; SpreadOver=host keeps instances of one "
                                "template apart",
                                *g, name);
                for (char **m = o->same_node; m && *m; m++)
                        if (fnmatch(*g, *m, 0) == 0)
                                return option_refuse(
                                        ret_why, path, MAX_OF(line, o->same_node_lines[m - o->same_node]),
                                        "Conflicts=%s matches %s, which it is to be with", *g, *m);
        }
        for (char **m = o->same_node; m && *m; m++)
                if (streq(*m, name))
                        return option_refuse(ret_why, path, o->same_node_lines[m - o->same_node],
                                             "the unit is to be where it is itself (MachineOf=%s)", *m);
        return check_replaced(o, path, name, ret_why);
}

// ------------------------------------------------------------------------------------------------ amounts

// Digits, with a point between them or without.
bool cpu_parse(const char *word, uint32_t *ret_milli) {
        size_t len = strspn(word, "0123456789");
        double cores;

        if (len > 0 && word[len] == '.' && word[len + 1] >= '0' && word[len + 1] <= '9')
                len += 1 + strspn(word + len + 1, "0123456789");
        if (len == 0 || (word[len] && !streq(word + len, "%")))
                return false;
        cores = strtod(word, NULL);
        if (word[len])
                cores /= 100;
        if (!(cores >= 0.001) || cores > CPU_MAX)
                return false;
        *ret_milli = (uint32_t) (cores * 1000 + 0.5);
        return true;
}

static int set_cpu(UnitOptions *o, const RawOption *raw, const char *path, const char *word,
                   char **ret_why) {
        if (!cpu_parse(word, &o->cpu_milli))
                return option_refuse(ret_why, path, raw->line,
                                     "ReserveCPU=%s is not a number of cores, like 1.5 or 150%%", word);
        return 0;
}

bool memory_parse(const char *word, uint32_t *ret_mib) {
        static const char units[] = "KMGT";
        size_t len = strspn(word, "0123456789");
        const char *unit = len > 0 && word[len] ? strchr(units, word[len]) : NULL;
        unsigned long long bytes;

        if (len == 0 || len > 19 || word[len + (unit != NULL)])
                return false;
        bytes = strtoull(word, NULL, 10); // of 19 digits: cannot overflow
        if (unit && __builtin_mul_overflow(bytes, 1ULL << (10 * (unit - units + 1)), &bytes))
                return false;
        if (bytes == 0 || bytes >> 20 >= INT32_MAX)
                return false;
        *ret_mib = (uint32_t) ((bytes + (1 << 20) - 1) >> 20);
        return true;
}

static int set_memory(UnitOptions *o, const RawOption *raw, const char *path, const char *word,
                      char **ret_why) {
        if (!memory_parse(word, &o->memory_mib))
                return option_refuse(ret_why, path, raw->line,
                                     "ReserveMemory=%s is not a number of bytes, like 512M or 2G", word);
        return 0;
}

static int add_resource(UnitOptions *o, const RawOption *raw, const char *path, const char *word,
                        char **ret_why) {
        _cleanup_free_ char *text = strdup(word);
        unsigned long amount = 1;

        if (!text)
                return -ENOMEM;
        if (!cut_number(text, RESERVE_MAX, &amount) || !label_is_valid(text) || streq(text, "cpu") ||
            streq(text, "memory"))
                return option_refuse(ret_why, path, raw->line,
                                     "ReserveResource=%s is not NAME or NAME:NUMBER", word);
        for (size_t i = 0; i < o->n_reserves; i++)
                if (streq(o->reserves[i].name, text)) {
                        o->reserves[i].amount = (uint32_t) amount;
                        return 0;
                }
        if (o->n_reserves == UNIT_RESERVES_MAX)
                return option_refuse(ret_why, path, raw->line, "more than %d kinds of resources",
                                     UNIT_RESERVES_MAX);
        if (ARRAY_RESERVE(o->reserves, o->n_reserves + 1) < 0)
                return -ENOMEM;
        o->reserves[o->n_reserves++] = (UnitReserve){TAKE_PTR(text), (uint32_t) amount};
        return 0;
}

static int set_packing(UnitOptions *o, const RawOption *raw, const char *path, const char *word,
                       char **ret_why) {
        if (!parse_boolean(word, &o->pack))
                return option_refuse(ret_why, path, raw->line, "Packing=%s is neither yes nor no", word);
        return 0;
}

// ---------------------------------------------------------------------------------------------- whose it is

static int set_role(UnitOptions *o, const RawOption *raw, const char *path, const char *word,
                    char **ret_why) {
        if (!label_is_valid(word))
                return option_refuse(ret_why, path, raw->line, "Role=%s is no name of a role", word);
        if (o->role && !streq(o->role, word))
                return option_refuse(ret_why, path, raw->line,
                                     "Role= names a second role; a unit is of one");
        free(o->role);
        o->role = strdup(word);
        o->role_line = raw->line;
        return o->role ? 0 : -ENOMEM;
}

static int set_priority(UnitOptions *o, const RawOption *raw, const char *path, const char *word,
                        char **ret_why) {
        char *end;
        long n;

        errno = 0;
        n = strtol(word, &end, 10);
        if (errno || end == word || *end || *word == '+' || n < -UNIT_PRIORITY_MAX || n > UNIT_PRIORITY_MAX)
                return option_refuse(ret_why, path, raw->line, "Priority=%s is not a number from -%d to %d",
                                     word, UNIT_PRIORITY_MAX, UNIT_PRIORITY_MAX);
        o->priority = (int16_t) n;
        return 0;
}

static int set_preemptible(UnitOptions *o, const RawOption *raw, const char *path, const char *word,
                           char **ret_why) {
        if (!parse_boolean(word, &o->preemptible))
                return option_refuse(ret_why, path, raw->line, "Preemptible=%s is neither yes nor no", word);
        o->preemptible_given = true;
        return 0;
}

void demands_finish(UnitOptions *o) {
        if (!o->preemptible_given)
                o->preemptible = o->priority < 0;
}

// ---------------------------------------------------------------------------------------------- all of them

int demands_add(UnitOptions *o, const RawOption *raw, const char *path, const char *word, char **ret_why) {
        static int (*const add[])(UnitOptions *, const RawOption *, const char *, const char *, char **) = {
                [RAW_SAME_NODE] = add_same_node,
                [RAW_CONFLICTS] = add_conflict,
                [RAW_CLAIM] = add_claim,
                [RAW_REPLACES] = add_replaced,
                [RAW_HOST] = add_host,
                [RAW_REQUIRE_LABEL] = add_required,
                [RAW_POOL] = add_pool,
                [RAW_PREFER_LABEL] = add_preference,
                [RAW_SPREAD] = set_spread,
                [RAW_PREFER_SPREAD] = set_spread,
                [RAW_PACKING] = set_packing,
                [RAW_CPU] = set_cpu,
                [RAW_MEMORY] = set_memory,
                [RAW_RESOURCE] = add_resource,
                [RAW_ROLE] = set_role,
                [RAW_PRIORITY] = set_priority,
                [RAW_PREEMPTIBLE] = set_preemptible,
        };

        return (size_t) raw->kind < ELEMENTSOF(add) && add[raw->kind]
                       ? add[raw->kind](o, raw, path, word, ret_why)
                       : -EINVAL;
}

static int key_list(Buf *key, const char *what, char **list) {
        int r = 0;

        for (char **w = list; w && *w && r >= 0; w++)
                r = buf_printf(key, "%s%s\n", what, *w);
        return r;
}

int demands_key(const UnitOptions *o, Buf *key) {
        int r = key_list(key, "@", o->hosts);

        for (size_t i = 0; i < o->n_preferences && r >= 0; i++) {
                const LabelMatch *m = &o->preferences[i].match;

                r = buf_printf(key, "~%u %d %s\n", o->preferences[i].weight, (int) m->op, m->key);
                r = r < 0 ? r : key_list(key, "~", m->values);
        }
        r = r < 0 ? r : key_list(key, "+", o->same_node);
        r = r < 0 ? r : key_list(key, "-", o->conflicts);
        r = r < 0 ? r : key_list(key, "/", o->replaces);
        if (r >= 0 && o->spread)
                r = buf_printf(key, ">%s %d %u\n", o->spread, o->spread_soft, o->spread_skew);
        if (r >= 0 && (o->pack || o->cpu_milli || o->memory_mib))
                r = buf_printf(key, "#%d %u %u\n", o->pack, o->cpu_milli, o->memory_mib);
        for (size_t i = 0; i < o->n_reserves && r >= 0; i++)
                r = buf_printf(key, "#%s %u\n", o->reserves[i].name, o->reserves[i].amount);
        return r;
}

void demands_done(UnitOptions *o) {
        list_done(o->hosts);
        for (size_t i = 0; i < o->n_preferences; i++)
                label_match_done(&o->preferences[i].match);
        free(o->preferences);
        list_done(o->same_node);
        list_done(o->conflicts);
        free(o->same_node_lines);
        free(o->conflict_lines);
        list_done(o->replaces);
        free(o->spread);
        for (size_t i = 0; i < o->n_reserves; i++)
                free(o->reserves[i].name);
        free(o->reserves);
        free(o->role);
}
