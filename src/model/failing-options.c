// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What [X-Argosy] says of failures: NodeLost=, CutOff=, RestartElsewhere=, OutcomeUnknown=. The lines of a
// file go by one after the other (failing_on_option, failing_on_service); what only all of them together can
// tell is judged at the end (failing_finish): options that mean nothing without each other, and with
// CutOff=stop settings of [Service] under which nobody can say when the unit has certainly stopped.
//
// Refused is with file and line (-EINVAL and a sentence). An empty value brings the default back.

#include "failing-parser.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <strings.h>

#include "clock.h"
#include "str.h"
#include "unit-options-private.h"

typedef enum Key {
        KEY_NODE_LOST,
        KEY_NODE_LOST_DELAY,
        KEY_CUT_OFF,
        KEY_CUT_OFF_SEC,
        KEY_RESTART_ELSEWHERE,
        KEY_RESTART_DECAY,
        KEY_OUTCOME_UNKNOWN,
} Key;

static const FailingOptions defaults = {
        .cut_off_sec = CUT_OFF_DEFAULT_SEC,
        .restart_decay_us = RESTART_DECAY_DEFAULT_SEC * USEC_PER_SEC,
};

void failing_init(FailingParser *f) {
        *f = (FailingParser){.options = defaults};
}

// ------------------------------------------------------------------------------------------------ values

static bool parse_word(const char *value, const char *const *words, size_t n, unsigned *ret) {
        for (size_t i = 0; i < n; i++)
                if (streq(value, words[i])) {
                        *ret = (unsigned) i;
                        return true;
                }
        return false;
}

static bool parse_span(const char *value, uint64_t max_sec, uint64_t *ret_us) {
        return parse_span_us(value, ret_us) && *ret_us <= max_sec * USEC_PER_SEC;
}

static int parse_node_lost(FailingOptions *o, const char *path, const IniLine *line, char **ret_why) {
        static const char *const words[] = {"move", "keep", "never"};
        unsigned word = o->node_lost;

        if (!parse_word(line->value, words, ELEMENTSOF(words), &word))
                return option_refuse(ret_why, path, line->line,
                                     "NodeLost=%.64s is none of move, keep, never", line->value);
        o->node_lost = word;
        return 0;
}

static int parse_delay(FailingOptions *o, const char *path, const IniLine *line, char **ret_why) {
        if (!parse_span(line->value, NODE_LOST_DELAY_MAX_SEC, &o->node_lost_delay_us))
                return option_refuse(
                        ret_why, path, line->line,
                        "NodeLostDelaySec=%.64s is not a time span of at most 30 days, like 90s or "
                        "5min",
                        line->value);
        return 0;
}

static int parse_cut_off(FailingOptions *o, const char *path, const IniLine *line, char **ret_why) {
        static const char *const words[] = {"keep", "stop"};
        unsigned word = o->cut_off_stop;

        if (!parse_word(line->value, words, ELEMENTSOF(words), &word))
                return option_refuse(ret_why, path, line->line, "CutOff=%.64s is neither keep nor stop",
                                     line->value);
        o->cut_off_stop = word;
        return 0;
}

// Whole seconds, since they name the guard.
static int parse_cut_off_sec(FailingOptions *o, const char *path, const IniLine *line, char **ret_why) {
        uint64_t us;

        if (!parse_span(line->value, CUT_OFF_MAX_SEC, &us) || us % USEC_PER_SEC)
                return option_refuse(
                        ret_why, path, line->line,
                        "CutOffSec=%.64s is not a time span of whole seconds and at most a day, like "
                        "30s",
                        line->value);
        o->cut_off_sec = (unsigned) (us / USEC_PER_SEC);
        return 0;
}

static int parse_restart(FailingOptions *o, const char *path, const IniLine *line, char **ret_why) {
        uint64_t n;

        if (!parse_u64(line->value, RESTART_ELSEWHERE_MAX, &n) || n == 0)
                return option_refuse(ret_why, path, line->line,
                                     "RestartElsewhere=%.64s is not a number of failures from 1 to %d",
                                     line->value, RESTART_ELSEWHERE_MAX);
        o->restart_elsewhere = (unsigned) n;
        return 0;
}

static int parse_restart_decay(FailingOptions *o, const char *path, const IniLine *line, char **ret_why) {
        if (!parse_span(line->value, RESTART_DECAY_MAX_SEC, &o->restart_decay_us) ||
            o->restart_decay_us < USEC_PER_SEC)
                return option_refuse(
                        ret_why, path, line->line,
                        "RestartElsewhereDecaySec=%.64s is not a time span from 1s to 30 days, like "
                        "10min",
                        line->value);
        return 0;
}

static int parse_outcome_unknown(FailingOptions *o, const char *path, const IniLine *line, char **ret_why) {
        static const char *const words[] = {"keep", "rerun"};
        unsigned word = o->rerun_unknown;

        if (!parse_word(line->value, words, ELEMENTSOF(words), &word))
                return option_refuse(ret_why, path, line->line,
                                     "OutcomeUnknown=%.64s is neither keep nor rerun", line->value);
        o->rerun_unknown = word;
        return 0;
}

// One row for each Key: what it is called, how its value is read, and where that is stored.
#define STORED(field) offsetof(FailingOptions, field), sizeof(((FailingOptions *) NULL)->field)
static const struct {
        const char *name;
        int (*parse)(FailingOptions *o, const char *path, const IniLine *line, char **ret_why);
        size_t at, size;
} options[] = {
        [KEY_NODE_LOST] = {"NodeLost", parse_node_lost, STORED(node_lost)},
        [KEY_NODE_LOST_DELAY] = {"NodeLostDelaySec", parse_delay, STORED(node_lost_delay_us)},
        [KEY_CUT_OFF] = {"CutOff", parse_cut_off, STORED(cut_off_stop)},
        [KEY_CUT_OFF_SEC] = {"CutOffSec", parse_cut_off_sec, STORED(cut_off_sec)},
        [KEY_RESTART_ELSEWHERE] = {"RestartElsewhere", parse_restart, STORED(restart_elsewhere)},
        [KEY_RESTART_DECAY] = {"RestartElsewhereDecaySec", parse_restart_decay, STORED(restart_decay_us)},
        [KEY_OUTCOME_UNKNOWN] = {"OutcomeUnknown", parse_outcome_unknown, STORED(rerun_unknown)},
};
#undef STORED
_Static_assert(ELEMENTSOF(options) == FAILING_KEYS, "one row for each key");

const char *failing_option(size_t i) {
        return i < FAILING_KEYS ? options[i].name : NULL;
}

static void set_default(FailingOptions *o, size_t key) {
        memcpy((char *) o + options[key].at, (const char *) &defaults + options[key].at, options[key].size);
}

int failing_on_option(FailingParser *f, const char *path, const IniLine *line, char **ret_why) {
        size_t key = 0;

        while (key < FAILING_KEYS && !streq(line->key, options[key].name))
                key++;
        if (key == FAILING_KEYS)
                return 1;
        if (!*line->value) {
                set_default(&f->options, key);
                f->lines[key] = 0;
                return 0;
        }
        f->lines[key] = line->line;
        return options[key].parse(&f->options, path, line, ret_why);
}

// ------------------------------------------------------------------------------------------------ systemd's

// "a ; b" is two commands.
static unsigned count_commands(const char *value, unsigned before) {
        unsigned n = before + 1;

        if (!*value)
                return 0;
        while ((value = strstr(value, " ; "))) {
                n++;
                value += 3;
        }
        return n;
}

static bool is_no(const char *value) {
        static const char *const no[] = {"0", "no", "n", "false", "f", "off"};

        for (size_t i = 0; i < ELEMENTSOF(no); i++)
                if (strcasecmp(value, no[i]) == 0)
                        return true;
        return false;
}

void failing_on_service(FailingParser *f, const IniLine *line) {
        const char *key = line->key, *value = line->value;

        if (streq(key, "TimeoutStopSec") || streq(key, "TimeoutSec")) {
                snprintf(f->timeout, sizeof f->timeout, "%s", value);
                f->timeout_line = *value ? line->line : 0;
        } else if (streq(key, "ExecStop"))
                f->n_stop = count_commands(value, f->n_stop);
        else if (streq(key, "ExecStopPost"))
                f->n_post = count_commands(value, f->n_post);
        else if (streq(key, "SendSIGKILL"))
                f->no_kill_line = is_no(value) ? line->line : 0;
        else if (streq(key, "KillMode"))
                f->kill_mode_line = streq(value, "none") || streq(value, "process") ? line->line : 0;
}

bool failing_moves(const FailingParser *f) {
        return (f->lines[KEY_NODE_LOST] && f->options.node_lost != NODE_LOST_NEVER) ||
               f->options.restart_elsewhere > 0;
}

// ------------------------------------------------------------------------------------------------ the end

// systemd grants the timeout to each command of ExecStop=, then to what SIGTERM ends, then to each command
// of ExecStopPost= and to what is left of those.
static int find_stop_time(FailingParser *f, const char *path, char **ret_why) {
        uint64_t phases = 1 + f->n_stop + (f->n_post ? f->n_post + 1 : 0), us;

        us = STOP_TIMEOUT_DEFAULT_SEC * USEC_PER_SEC;
        f->options.stop_timeout_is_given = f->timeout_line;
        if (f->timeout_line && (!parse_span(f->timeout, STOP_TIMEOUT_MAX_SEC, &us) || us == 0))
                return option_refuse(
                        ret_why, path, f->timeout_line,
                        "CutOff=stop needs a stop timeout that ends, written as one number with a unit "
                        "and at most a day, not %s",
                        f->timeout);
        f->options.stop_us = us * phases;
        return 0;
}

static int check_cut_off(FailingParser *f, const char *path, const FailingContext *file, char **ret_why) {
        unsigned line = f->lines[KEY_CUT_OFF];

        if (!f->options.cut_off_stop)
                return f->lines[KEY_CUT_OFF_SEC]
                               ? option_refuse(ret_why, path, f->lines[KEY_CUT_OFF_SEC],
                                               "CutOffSec= means nothing without CutOff=stop")
                               : 0;
        if (!file->service)
                return option_refuse(ret_why, path, line, "CutOff=stop is for services");
        if (file->managers)
                return option_refuse(ret_why, path, line,
                                     "CutOff=stop and Manager= exclude each other: the guard belongs to the "
                                     "machine's own systemd");
        if (f->no_kill_line || f->kill_mode_line)
                return option_refuse(ret_why, path, MAX_OF(f->no_kill_line, f->kill_mode_line),
                                     "with %s nobody can say when CutOff=stop has stopped all of the unit",
                                     f->no_kill_line ? "SendSIGKILL=no" : "this KillMode=");
        return find_stop_time(f, path, ret_why);
}

static int check_node_lost(const FailingParser *f, const char *path, bool global, char **ret_why) {
        const FailingOptions *o = &f->options;
        unsigned delay = f->lines[KEY_NODE_LOST_DELAY];

        if (global && (f->lines[KEY_NODE_LOST] || delay))
                return option_refuse(ret_why, path, MAX_OF(f->lines[KEY_NODE_LOST], delay),
                                     "%s= and Global= exclude each other: a global unit never moves",
                                     options[delay ? KEY_NODE_LOST_DELAY : KEY_NODE_LOST].name);
        if (o->node_lost != NODE_LOST_MOVE && delay)
                return option_refuse(ret_why, path, MAX_OF(f->lines[KEY_NODE_LOST], delay),
                                     "NodeLostDelaySec= means nothing unless NodeLost=move");
        return 0;
}

// Of what `NodeLost=never` keeps where it is, of what runs everywhere anyway, and of what has ended for good
// when it fails, nothing can be started elsewhere.
static int check_restart(const FailingParser *f, const char *path, const FailingContext *file,
                         char **ret_why) {
        unsigned line = f->lines[KEY_RESTART_ELSEWHERE], decay = f->lines[KEY_RESTART_DECAY];

        if (!f->options.restart_elsewhere)
                return decay ? option_refuse(
                                       ret_why, path, decay,
                                       "RestartElsewhereDecaySec= means nothing without RestartElsewhere=")
                             : 0;
        if (file->global)
                return option_refuse(
                        ret_why, path, line,
                        "RestartElsewhere= and Global= exclude each other: a global unit never moves");
        if (file->ends)
                return option_refuse(
                        ret_why, path, line,
                        "RestartElsewhere= is not for Type=oneshot: how a one-shot ended is kept, and "
                        "only `start` runs it again");
        if (f->options.node_lost == NODE_LOST_NEVER)
                return option_refuse(
                        ret_why, path, MAX_OF(line, f->lines[KEY_NODE_LOST]),
                        "RestartElsewhere= and NodeLost=never exclude each other: the unit never "
                        "leaves its node");
        return 0;
}

static int check_outcome(const FailingParser *f, const char *path, const FailingContext *file,
                         char **ret_why) {
        unsigned line = f->lines[KEY_OUTCOME_UNKNOWN];

        return line && !file->ends ? option_refuse(ret_why, path, line,
                                                   "OutcomeUnknown= is for Type=oneshot without "
                                                   "RemainAfterExit=: of nothing else "
                                                   "the outcome is kept")
                                   : 0;
}

int failing_finish(FailingParser *f, const char *path, const FailingContext *file, char **ret_why) {
        int r = check_node_lost(f, path, file->global, ret_why);

        r = r ?: check_restart(f, path, file, ret_why);
        r = r ?: check_outcome(f, path, file, ret_why);
        return r ?: check_cut_off(f, path, file, ret_why);
}
