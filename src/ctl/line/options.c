// SPDX-License-Identifier: LGPL-2.1-or-later
//
// getopt's letters become options by one table, and are checked against the verb: an option that it does not
// take, or a number of arguments that it cannot use, is refused before any daemon hears of it, in one
// sentence. Letters that mean different things to different verbs are kept until the verb is known.

#include <errno.h>
#include <getopt.h>
#include <stddef.h>

#include "clock.h"
#include "options.h"
#include "request-key.h"
#include "str.h"

enum { LONG_BASE = 256, OPTIONS_MAX = 96 };

static int bad(Buf *why, const char *option, const char *value, const char *expected) {
        (void) buf_printf(why, "--%s: '%s' is not %s", option, value, expected);
        return -EINVAL;
}

// "7", "7,9".
static bool read_jobs(const char *value, uint64_t *ret, size_t *ret_n) {
        *ret_n = 0;
        for (;;) {
                size_t len = strcspn(value, ",");
                char word[32];

                if (len >= sizeof(word) || *ret_n == AFTER_MAX)
                        return false;
                memcpy(word, value, len);
                word[len] = 0;
                if (!parse_u64(word, INT64_MAX, &ret[*ret_n]) || ret[(*ret_n)++] == 0)
                        return false;
                if (!value[len])
                        return true;
                value += len + 1;
        }
}

static bool read_after(CtlOptions *o, const char *value) {
        return read_jobs(value, o->after, &o->n_after);
}

static bool read_share(CtlOptions *o, const char *value) {
        return unit_share_parse(value, &o->max_unavailable);
}

static bool read_order(CtlOptions *o, const char *value) {
        return top_order_from_string(value, &o->order);
}

static bool read_json(CtlOptions *o, const char *value) {
        static const struct {
                const char *word;
                JsonMode json;
        } words[] = {{"off", JSON_OFF}, {"short", JSON_SHORT}, {"pretty", JSON_PRETTY}};

        for (size_t i = 0; i < ELEMENTSOF(words); i++)
                if (streq(value, words[i].word)) {
                        o->json = words[i].json;
                        return true;
                }
        return false;
}

static bool read_restart(CtlOptions *o, const char *value) {
        o->restart_rolling = value && streq(value, "rolling");
        return !value || o->restart_rolling;
}

static bool is_word(const char *value) {
        return *value;
}

// Where the value of an option goes: a text as it is, a number or a time span within bounds, or what a
// function of its own makes of it. Options without a row have no value, or one that is kept until the verb
// is known.
typedef struct ValueRow {
        Option option;
        const char *expected; // in words, for a value that is none; NULL: every text is one
        size_t offset, size;  // of its field in CtlOptions
        bool (*is_valid)(const char *value); // of a text; NULL: any
        bool is_number;                      // an unsigned field of `size`
        uint64_t min, max, unit_us;          // of a number; unit_us: of a time span, else 0
        bool (*read)(CtlOptions *o, const char *value); // else
} ValueRow;

#define FIELD(name) .offset = offsetof(CtlOptions, name), .size = sizeof(((CtlOptions *) NULL)->name)
#define TEXT(option, name, valid, what) {option, what, FIELD(name), .is_valid = (valid)}
#define NUMBER(option, name, from, to, what) \
        { option, what, FIELD(name), .is_number = true, .min = (from), .max = (to) }
#define SPAN(option, name, unit, from, to, what) \
        {option, what, FIELD(name), .is_number = true, .min = (from), .max = (to), .unit_us = (unit)}
#define OTHER(option, function, what) {option, what, .read = (function)}

static const ValueRow values[] = {
        TEXT(OPT_SOCKET, socket, is_word, "a path"),
        TEXT(OPT_RIGHT, right, NULL, NULL),
        TEXT(OPT_NAME, name, NULL, NULL),
        TEXT(OPT_FILE, file, NULL, NULL),
        TEXT(OPT_FOR, for_what, is_word, "a word"),
        TEXT(OPT_REASON, reason, NULL, NULL),
        TEXT(OPT_KEY, key, request_key_is_valid, "a text of 1 to 64 characters"),
        TEXT(OPT_SET, set, set_name_is_valid,
             "1 to 63 letters, digits and -_., beginning with one of the first two"),
        TEXT(OPT_UNIT, unit, is_word, "a pattern"),
        TEXT(OPT_AUTHOR, author, is_word, "a pattern"),
        TEXT(OPT_SINCE, since, is_word, "a time or a cursor"),
        TEXT(OPT_KINDS, kinds, NULL, NULL),
        TEXT(OPT_CURSOR_FILE, cursor_file, is_word, "a file"),
        TEXT(OPT_EXEC, exec, is_word, "a program"),
        TEXT(OPT_FIELDS, fields, NULL, NULL),
        TEXT(OPT_STATE, states, NULL, NULL),
        TEXT(OPT_LABEL, labels, is_word, "labels, KEY=VALUE, separated by commas"),
        TEXT(OPT_NODE, node, is_word, "a node"),
        SPAN(OPT_TIMEOUT, timeout_us, 1, 1, UINT64_MAX, "a time span like 30s or 5min"),
        SPAN(OPT_TTL, ttl_sec, USEC_PER_SEC, 1, TTL_SEC_MAX,
             "a time span between 1s and 5 years, like 12h or 30d"),
        SPAN(OPT_DEADLINE, deadline_sec, USEC_PER_SEC, 1, DEADLINE_SEC_MAX,
             "a time span between 1s and 30 days"),
        SPAN(OPT_HEALTH, health_us, 1, 0, (HEALTH_SEC_MAX + 1) * USEC_PER_SEC - 1, "a time span up to 1h"),
        SPAN(OPT_DELAY, delay_ms, USEC_PER_MSEC, DELAY_MS_MIN, DELAY_MS_MAX,
             "a time span between 100ms and 1h"),
        NUMBER(OPT_MAX_MOVES, max_moves, 1, MAX_MOVES_MAX, "a number from 1 to 1000"),
        NUMBER(OPT_IF_REVISION, if_revision, 1, INT64_MAX, "a revision"),
        NUMBER(OPT_AT, at, 1, INT64_MAX, "the number of a job"),
        NUMBER(OPT_LIMIT, limit, 1, LINES_MAX, "a number from 1 on"),
        NUMBER(OPT_PORT, port, 1, UINT16_MAX, "a port from 1 to 65535"),
        NUMBER(OPT_LEADER, leader, 2, INT32_MAX, "a process"),
        NUMBER(OPT_LINES, lines, 0, LINES_MAX, "a number of lines"),
        NUMBER(OPT_ITERATIONS, iterations, 1, ITERATIONS_MAX, "a number from 1 on"),
        OTHER(OPT_MAX_UNAVAILABLE, read_share, "a number from 1 on, or a percentage"),
        OTHER(OPT_AFTER, read_after, "numbers of up to 100 jobs, separated by commas"),
        OTHER(OPT_JSON, read_json, "one of short, pretty and off"),
        OTHER(OPT_RESTART, read_restart, "'rolling', or nothing"),
        OTHER(OPT_ORDER, read_order, "one of path, cpu, memory, tasks and io"),
};

static void put_number(void *field, size_t size, uint64_t n) {
        switch (size) {
        case sizeof(uint16_t):
                *(uint16_t *) field = (uint16_t) n;
                return;
        case sizeof(uint32_t):
                *(uint32_t *) field = (uint32_t) n;
                return;
        default:
                *(uint64_t *) field = n;
        }
}

static bool read_number(const ValueRow *row, const char *value, void *field) {
        uint64_t unit = row->unit_us ?: 1, n;
        bool is_one = row->unit_us ? parse_span_us(value, &n) : parse_u64(value, row->max, &n);

        if (!is_one || n < row->min * unit || n / unit > row->max)
                return false;
        put_number(field, row->size, n / unit);
        return true;
}

static int read_value(CtlOptions *o, const OptionInfo *info, const char *value, Buf *why) {
        for (const ValueRow *row = values; row < values + ELEMENTSOF(values); row++) {
                void *field = (char *) o + row->offset;
                bool good = true;

                if (row->option != info->option)
                        continue;
                if (row->read)
                        good = row->read(o, value);
                else if (row->is_number)
                        good = read_number(row, value, field);
                else {
                        good = !row->is_valid || row->is_valid(value);
                        *(const char **) field = value;
                }
                return good ? 0 : bad(why, info->name, value, row->expected);
        }
        return 0;
}

// The option of that letter that the verb takes, or else the first one.
static const OptionInfo *info_of(int c, const Verb *verb) {
        const OptionInfo *first = NULL;

        if (c >= LONG_BASE)
                return &option_table[c - LONG_BASE];
        for (size_t i = 0; i < n_options; i++) {
                const OptionInfo *info = &option_table[i];

                if (c == 0 || info->letter != c)
                        continue;
                if (verb && verb_takes(verb, info->option))
                        return info;
                first = first ?: info;
        }
        return first;
}

static int complain(char **argv, int c, Buf *why) {
        const OptionInfo *info = optopt ? info_of(optopt, NULL) : NULL;

        if (c == ':' && info)
                (void) buf_printf(why, "--%s needs a value: %s", info->name, info->arg);
        else if (info && !info->arg)
                (void) buf_printf(why, "--%s takes no value", info->name);
        else if (optopt > 0 && optopt < LONG_BASE)
                (void) buf_printf(why, "unknown option '-%c'", optopt);
        else
                (void) buf_printf(why, "unknown option '%s'", argv[optind - 1]);
        return -EINVAL;
}

static int check_verb(CtlOptions *o, const VerbList *verbs, char **words, size_t n, Buf *why) {
        size_t taken;

        if (n == 0) {
                (void) buf_printf(why, "no verb was given");
                return -EINVAL;
        }
        o->verb = verb_list_find(verbs, words, n, &taken);
        if (!o->verb && n == 1 && o->given[OPT_HELP] && verb_list_family(verbs, words[0])) {
                o->family = words[0];
                return 0;
        }
        if (!o->verb) {
                if (!verb_list_family(verbs, words[0]))
                        (void) buf_printf(why, "unknown verb '%s'", words[0]);
                else if (n < 2)
                        (void) buf_printf(why, "%s needs a second word, e.g. %s", words[0],
                                          verb_list_family(verbs, words[0])->name);
                else
                        (void) buf_printf(why, "unknown verb '%s %s'", words[0], words[1]);
                return -EINVAL;
        }
        o->args = words + taken;
        o->n_args = n - taken;
        if (o->given[OPT_HELP])
                return 0;
        for (size_t i = 0; i < n_options; i++)
                if (o->given[option_table[i].option] && !verb_takes(o->verb, option_table[i].option)) {
                        (void) buf_printf(why, "%s does not take --%s", o->verb->name, option_table[i].name);
                        return -EINVAL;
                }
        if (o->n_args < o->verb->min_args || o->n_args > o->verb->max_args) {
                (void) buf_printf(why, "%s takes %s", o->verb->name,
                                  *o->verb->args ? o->verb->args : "no arguments");
                return -EINVAL;
        }
        return 0;
}

static int take_option(CtlOptions *o, const OptionInfo *info, const char *value, Buf *why) {
        o->given[info->option] = true;
        return read_value(o, info, value, why);
}

// Letters whose meaning the verb decides are kept until that is known.
typedef struct Letter {
        char letter;
        const char *value;
} Letter;
enum { LETTERS_MAX = 64 };

static bool is_shared(int c) {
        size_t n = 0;

        for (size_t i = 0; c < LONG_BASE && i < n_options; i++)
                n += option_table[i].letter == c;
        return n > 1;
}

static int take_letters(CtlOptions *o, const VerbList *verbs, const Letter *letters, size_t n, char **words,
                        size_t n_words, Buf *why) {
        size_t taken;
        const Verb *verb = verb_list_find(verbs, words, n_words, &taken);
        int r = 0;

        for (size_t i = 0; i < n && r == 0; i++)
                r = take_option(o, info_of(letters[i].letter, verb), letters[i].value, why);
        return r;
}

int options_parse(const VerbList *verbs, int argc, char **argv, CtlOptions *ret, Buf *why) {
        struct option longs[OPTIONS_MAX] = {};
        char shorts[2 * OPTIONS_MAX + 2], *s = shorts;
        Letter letters[LETTERS_MAX];
        size_t n_letters = 0;
        int c, r;

        *ret = (CtlOptions){.lines = LINES_DEFAULT, .limit = LIMIT_DEFAULT,
                             .delay_ms = DELAY_MS_DEFAULT, .order = TOP_BY_CPU};
        assert(n_options < OPTIONS_MAX);
        *s++ = ':'; // tell a missing value from an unknown option
        for (size_t i = 0; i < n_options; i++) {
                longs[i] = (struct option){option_table[i].name,
                                           option_needs_value(&option_table[i]) ? required_argument
                                           : option_table[i].arg              ? optional_argument
                                                                              : no_argument, NULL,
                                           LONG_BASE + (int) i};
                if (!option_table[i].letter || memchr(shorts, option_table[i].letter, (size_t) (s - shorts)))
                        continue; // those that share a letter all take a value, or none does
                *s++ = option_table[i].letter;
                if (option_table[i].arg)
                        *s++ = ':';
        }
        *s = 0;
        optind = 0; // glibc: start anew
        opterr = 0;
        while ((c = getopt_long(argc, argv, shorts, longs, NULL)) >= 0) {
                if (c == '?' || c == ':')
                        return complain(argv, c, why);
                if (is_shared(c) && n_letters < LETTERS_MAX) {
                        letters[n_letters++] = (Letter){(char) c, optarg};
                        continue;
                }
                r = take_option(ret, info_of(c, NULL), optarg, why);
                if (r < 0)
                        return r;
        }
        r = take_letters(ret, verbs, letters, n_letters, argv + optind, (size_t) (argc - optind), why);
        if (r < 0)
                return r;
        if (ret->given[OPT_VERSION] || (ret->given[OPT_HELP] && optind == argc))
                return 0;
        return check_verb(ret, verbs, argv + optind, (size_t) (argc - optind), why);
}
