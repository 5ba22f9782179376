// SPDX-License-Identifier: LGPL-2.1-or-later
//
// getopt's letters become options by one table, and are checked against the verb: an option that it does not
// take, or a number of arguments that it cannot use, is refused before any daemon hears of it, in one
// sentence. Letters that mean different things to different verbs are kept until the verb is known.

#include <errno.h>
#include <getopt.h>

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

static int read_value(CtlOptions *o, const OptionInfo *info, const char *value, Buf *why) {
        uint64_t n;

        switch (info->bit) {
        case OPT_SOCKET:
                o->socket = value;
                return *value ? 0 : bad(why, info->name, value, "a path");
        case OPT_TIMEOUT:
                if (!parse_span_us(value, &o->timeout_us) || o->timeout_us == 0)
                        return bad(why, info->name, value, "a time span like 30s or 5min");
                return 0;
        case OPT_TTL:
                if (!parse_span_us(value, &n) || n < USEC_PER_SEC || n / USEC_PER_SEC > TTL_SEC_MAX)
                        return bad(why, info->name, value, "a time span between 1s and 5 years, like 12h or 30d");
                o->ttl_sec = (uint32_t) (n / USEC_PER_SEC);
                return 0;
        case OPT_RIGHT:
                o->right = value;
                return 0;
        case OPT_NAME:
                o->name = value;
                return 0;
        case OPT_DEADLINE:
                if (!parse_span_us(value, &n) || n < USEC_PER_SEC || n / USEC_PER_SEC > DEADLINE_SEC_MAX)
                        return bad(why, info->name, value, "a time span between 1s and 30 days");
                o->deadline_sec = (uint32_t) (n / USEC_PER_SEC);
                return 0;
        case OPT_MAX_UNAVAILABLE:
                return unit_share_parse(value, &o->max_unavailable)
                               ? 0
                               : bad(why, info->name, value, "a number from 1 on, or a percentage");
        case OPT_HEALTH:
                if (!parse_span_us(value, &o->health_us) || o->health_us / USEC_PER_SEC > HEALTH_SEC_MAX)
                        return bad(why, info->name, value, "a time span up to 1h");
                return 0;
        case OPT_MAX_MOVES:
                if (!parse_u64(value, MAX_MOVES_MAX, &n) || n == 0)
                        return bad(why, info->name, value, "a number from 1 to 1000");
                o->max_moves = (uint32_t) n;
                return 0;
        case OPT_REASON:
                o->reason = value;
                return 0;
        case OPT_KEY:
                o->key = value;
                return request_key_is_valid(value)
                               ? 0
                               : bad(why, info->name, value, "a text of 1 to 64 characters");
        case OPT_IF_REVISION:
                return parse_u64(value, INT64_MAX, &o->if_revision) && o->if_revision > 0
                               ? 0
                               : bad(why, info->name, value, "a revision");
        case OPT_AFTER:
                return read_jobs(value, o->after, &o->n_after)
                               ? 0
                               : bad(why, info->name, value, "numbers of up to 100 jobs, separated by commas");
        case OPT_SET:
                o->set = value;
                return set_name_is_valid(value)
                               ? 0
                               : bad(why, info->name, value, "1 to 63 letters, digits and -_., beginning with one of the first two");
        case OPT_AT:
                return parse_u64(value, INT64_MAX, &o->at) && o->at > 0 ? 0
                                                                        : bad(why, info->name, value, "the number of a job");
        case OPT_LIMIT:
                if (!parse_u64(value, LINES_MAX, &n) || n == 0)
                        return bad(why, info->name, value, "a number from 1 on");
                o->limit = n;
                return 0;
        case OPT_PORT:
                if (!parse_u64(value, UINT16_MAX, &n) || n == 0)
                        return bad(why, info->name, value, "a port from 1 to 65535");
                o->port = (uint16_t) n;
                return 0;
        case OPT_UNIT:
                o->unit = value;
                return *value ? 0 : bad(why, info->name, value, "a pattern");
        case OPT_AUTHOR:
                o->author = value;
                return *value ? 0 : bad(why, info->name, value, "a pattern");
        case OPT_FOR:
                return unit_goal_from_string(value, &o->goal)
                               ? 0
                               : bad(why, info->name, value, "one of active, inactive, failed and gone");
        case OPT_SINCE:
                o->since = value;
                return *value ? 0 : bad(why, info->name, value, "a time or a cursor");
        case OPT_KINDS:
                o->kinds = value;
                return 0;
        case OPT_CURSOR_FILE:
                o->cursor_file = value;
                return *value ? 0 : bad(why, info->name, value, "a file");
        case OPT_EXEC:
                o->exec = value;
                return *value ? 0 : bad(why, info->name, value, "a program");
        case OPT_JSON:
                if (streq(value, "off"))
                        o->json = JSON_OFF;
                else if (streq(value, "short"))
                        o->json = JSON_SHORT;
                else if (streq(value, "pretty"))
                        o->json = JSON_PRETTY;
                else
                        return bad(why, info->name, value, "one of short, pretty and off");
                return 0;
        case OPT_LEADER:
                if (!parse_u64(value, INT32_MAX, &n) || n < 2)
                        return bad(why, info->name, value, "a process");
                o->leader = (uint32_t) n;
                return 0;
        case OPT_LINES:
                if (!parse_u64(value, LINES_MAX, &n))
                        return bad(why, info->name, value, "a number of lines");
                o->lines = (unsigned) n;
                return 0;
        case OPT_ITERATIONS:
                if (!parse_u64(value, ITERATIONS_MAX, &n) || n == 0)
                        return bad(why, info->name, value, "a number from 1 on");
                o->iterations = (unsigned) n;
                return 0;
        case OPT_DELAY:
                if (!parse_span_us(value, &n) || n < DELAY_MS_MIN * USEC_PER_MSEC ||
                    n > DELAY_MS_MAX * USEC_PER_MSEC)
                        return bad(why, info->name, value, "a time span between 100ms and 1h");
                o->delay_ms = (uint32_t) (n / USEC_PER_MSEC);
                return 0;
        case OPT_ORDER:
                return top_order_from_string(value, &o->order)
                               ? 0
                               : bad(why, info->name, value, "one of path, cpu, memory, tasks and io");
        case OPT_FIELDS:
                o->fields = value;
                return 0;
        case OPT_STATE:
                o->states = value;
                return 0;
        case OPT_LABEL:
                o->labels = value;
                return *value ? 0 : bad(why, info->name, value, "labels, KEY=VALUE, separated by commas");
        case OPT_NODE:
                o->node = value;
                return *value ? 0 : bad(why, info->name, value, "a node");
        default:
                return 0;
        }
}

// Of options with the same letter the one that the verb takes, or else the first.
static const OptionInfo *info_of(int c, const Verb *verb) {
        const OptionInfo *first = NULL;

        if (c >= LONG_BASE)
                return &option_table[c - LONG_BASE];
        for (size_t i = 0; i < n_options; i++) {
                const OptionInfo *info = &option_table[i];

                if (c == 0 || info->letter != c)
                        continue;
                if (verb && (verb->options & info->bit))
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
        uint64_t wrong;

        if (n == 0) {
                (void) buf_printf(why, "no verb was given");
                return -EINVAL;
        }
        o->verb = verb_list_find(verbs, words, n, &taken);
        if (!o->verb && n == 1 && (o->given & OPT_HELP) && verb_list_family(verbs, words[0])) {
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
        if (o->given & OPT_HELP)
                return 0;
        wrong = o->given & ~(o->verb->options | OPT_GLOBAL);
        if (wrong) {
                (void) buf_printf(why, "%s does not take --%s", o->verb->name,
                                  option_info(wrong & -wrong)->name);
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
        o->given |= info->bit;
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
                                           option_table[i].arg ? required_argument : no_argument, NULL,
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
        if ((ret->given & OPT_VERSION) || ((ret->given & OPT_HELP) && optind == argc))
                return 0;
        return check_verb(ret, verbs, argv + optind, (size_t) (argc - optind), why);
}
