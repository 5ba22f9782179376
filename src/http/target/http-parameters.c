// SPDX-License-Identifier: LGPL-2.1-or-later
//
//      name -> its row -> its function: what the target keeps of the value, or why that is none
//
// A parameter that may be there once is refused when it comes again, for nobody knows which of them was
// meant.

#include "http-parameters.h"

#include <errno.h>

#include "event-cursor.h"
#include "job-state.h"
#include "macro.h"
#include "quadlet.h"
#include "secret-name.h"
#include "state-words.h"
#include "str.h"
#include "unit-name.h"
#include "unit-options.h"

// Takes the value when it succeeds.
static int add_value(char **list, size_t *n, size_t max, char **value, const char *too_many,
                     const char **ret_why) {
        if (*n == max) {
                *ret_why = too_many;
                return -E2BIG;
        }
        list[(*n)++] = TAKE_PTR(*value);
        return 0;
}

static int add_pattern(HttpTarget *t, char **value, const char **ret_why) {
        return add_value(t->patterns, &t->n_patterns, HTTP_PATTERNS_MAX, value, "too many patterns",
                         ret_why);
}

static int add_node(HttpTarget *t, char **value, const char **ret_why) {
        size_t most = t->resource == HTTP_JOURNAL ? 1 : HTTP_STATES_MAX;

        return add_value(t->nodes, &t->n_nodes, most, value, "too many nodes", ret_why);
}

static int add_label(HttpTarget *t, char **value, const char **ret_why) {
        _cleanup_free_ char *key = NULL, *of_it = NULL;
        int r = label_parse(*value, &key, &of_it);

        if (r == 0)
                return add_value(t->labels, &t->n_labels, HTTP_LABELS_MAX, value, "too many labels",
                                 ret_why);
        *ret_why = "a label is KEY=VALUE";
        return r;
}

static int add_state(HttpTarget *t, char **value, const char **ret_why) {
        static const char *const refusals[STATE_WORDS_LISTS] = {
                [STATE_WORDS_OF_UNITS] = "there is no such state of a unit",
                [STATE_WORDS_OF_FILES] = "there is no such state of a unit file",
                [STATE_WORDS_OF_NODES] = "there is no such state of a node",
                [STATE_WORDS_OF_JOBS] = "there is no such state of a job",
        };
        const HttpResourceRow *r = http_resource(t->resource);

        if (r->has_states && !state_word_is_known(r->states, *value, strlen(*value))) {
                *ret_why = refusals[r->states];
                return -EINVAL;
        }
        return add_value(t->states, &t->n_states, HTTP_STATES_MAX, value, "too many states", ret_why);
}

static int set_author(HttpTarget *t, char **value, const char **ret_why) {
        if (t->author) {
                *ret_why = "there is more than one author";
                return -EINVAL;
        }
        t->author = TAKE_PTR(*value);
        return 0;
}

// It is read when the whole question is known of which it is a page.
static int set_page(HttpTarget *t, char **value, const char **ret_why) {
        if (t->page_text) {
                *ret_why = "there is more than one page";
                return -EINVAL;
        }
        t->page_text = TAKE_PTR(*value);
        return 0;
}

bool http_target_set_place(HttpTarget *t, const char *place) {
        EventCursor cursor;
        uint64_t job = 0;

        if (streq(place, "0"))
                t->place = EVENTS_FROM_STATE;
        else if (*place == '@' && parse_u64(place + 1, INT64_MAX, &job) && job > 0)
                t->place = EVENTS_FROM_JOB;
        else if (event_cursor_parse(place, &cursor) && str_copy(t->cursor, sizeof(t->cursor), place))
                t->place = EVENTS_FROM_CURSOR;
        else
                return false;
        t->job = job;
        return true;
}

static int read_since(HttpTarget *t, char **value, const char **ret_why) {
        EventCursor cursor;

        if (t->resource == HTTP_EVENTS) {
                if (t->place == EVENTS_FROM_NOW && http_target_set_place(t, *value))
                        return 0;
                *ret_why = "since is a cursor, @ and the number of a job, or 0";
                return -EINVAL;
        }
        if (!t->since && event_cursor_parse(*value, &cursor)) {
                t->since = TAKE_PTR(*value);
                return 0;
        }
        *ret_why = "since is one cursor, as another answer has it";
        return -EINVAL;
}

static int read_limit(HttpTarget *t, char **value, const char **ret_why) {
        uint64_t n;

        if (t->limit > 0 || !parse_u64(*value, HTTP_LIMIT_MAX, &n) || n == 0) {
                *ret_why = "limit is a number from 1 to 1000";
                return -EINVAL;
        }
        t->limit = (uint32_t) n;
        return 0;
}

static int read_rev(HttpTarget *t, char **value, const char **ret_why) {
        Hash hash;

        if (!*t->rev && strlen(*value) == HASH_HEX_SIZE - 1 && hex_decode(*value, hash.bytes, HASH_SIZE)) {
                hash_hex(&hash, HASH_SIZE, t->rev);
                return 0;
        }
        *ret_why = *t->rev ? "a parameter is there twice" : "rev is a hash of 64 hexadecimal digits";
        return -EINVAL;
}

static int add_kind(HttpTarget *t, char **value, const char **ret_why) {
        Argosy__EventKind kind = event_kind_from_string(*value);

        if (kind == ARGOSY__EVENT_KIND__EVENT_NONE || t->n_kinds == EVENT_KINDS) {
                *ret_why = "there is no such kind of events";
                return -EINVAL;
        }
        t->kinds[t->n_kinds++] = kind;
        return 0;
}

static int read_wait(HttpTarget *t, char **value, const char **ret_why) {
        uint64_t n;

        if (t->wait_sec > 0 || !parse_u64(*value, HTTP_WAIT_SEC_MAX, &n) || n == 0) {
                *ret_why = "wait is a number of seconds from 1 to 60";
                return -EINVAL;
        }
        t->wait_sec = (uint32_t) n;
        return 0;
}

static int parse_job(uint64_t *job, const char *value, const char **ret_why) {
        if (*job == 0 && parse_u64(value + (*value == '@'), INT64_MAX, job) && *job > 0)
                return 0;
        *ret_why = "at, from and to are each the number of one job";
        return -EINVAL;
}

static int read_follow(HttpTarget *t, char **value, const char **ret_why) {
        bool again = t->says_follow;

        t->follow = streq(*value, "1") || streq(*value, "true");
        t->says_follow = true;
        if (!again && (t->follow || streq(*value, "0") || streq(*value, "false")))
                return 0;
        *ret_why = "follow is true or false";
        return -EINVAL;
}

static int read_lines(HttpTarget *t, char **value, const char **ret_why) {
        uint64_t n;

        if (t->says_lines || !parse_u64(*value, HTTP_JOURNAL_LINES_MAX, &n)) {
                *ret_why = "lines is a number from 0 to 100000";
                return -EINVAL;
        }
        t->lines = (uint32_t) n;
        t->says_lines = true;
        return 0;
}

static int read_at(HttpTarget *t, char **value, const char **ret_why) {
        return parse_job(&t->job, *value, ret_why);
}

static int read_to(HttpTarget *t, char **value, const char **ret_why) {
        return parse_job(&t->to_job, *value, ret_why);
}

// ---- names in a path

static int take_name(HttpTarget *t, char **value, bool is_valid, const char *refusal, const char **ret_why) {
        if (!is_valid) {
                *ret_why = refusal;
                return -EINVAL;
        }
        t->name = TAKE_PTR(*value);
        return 0;
}

static const char no_unit[] = "this is no name of a unit", no_secret[] = "this is no name of a secret",
                  no_job[] = "this is no number of a job";

static int read_unit(HttpTarget *t, char **value, const char **ret_why) {
        quadlet_unit_in_place(*value);
        return take_name(t, value, unit_name_kind(*value, NULL) != UNIT_NAME_INVALID, no_unit, ret_why);
}

static int read_secret(HttpTarget *t, char **value, const char **ret_why) {
        return take_name(t, value, secret_name_is_valid(*value), no_secret, ret_why);
}

static int read_job(HttpTarget *t, char **value, const char **ret_why) {
        if (parse_u64(*value, UINT64_MAX, &t->job) && t->job > 0)
                return 0;
        *ret_why = no_job;
        return -EINVAL;
}

// As it stands there: no name of ours is ever encoded.
static int read_file(HttpTarget *t, char **value, const char **ret_why) {
        t->file = http_static_find(*value, strlen(*value));
        if (t->file)
                return 0;
        *ret_why = "there is no such thing here";
        return -ENOENT;
}

// ---- the tables

static const HttpParameter parameters[] = {
        {"pattern", TAKES_PATTERN, .shape = SHAPE_TEXTS, .read = add_pattern,
         .words = "Only units of that name; *, ? and [] as in the shell"},
        {"state", TAKES_STATE, .shape = SHAPE_TEXTS, .read = add_state,
         .words = "Only what is in that state: of units the load, active or sub state, of unit files the "
                  "desired one or how far that "
                  "is, of nodes also the mode"},
        {"node", TAKES_NODE, .shape = SHAPE_TEXTS, .read = add_node,
         .words = "Only what is on that node, or the node itself; of jobs those whose records name it"},
        {"label", TAKES_LABEL, .shape = SHAPE_TEXTS, .read = add_label,
         .words = "KEY=VALUE: only nodes with that label, or what is on them; with all of them, if there "
                  "are several"},
        {"author", TAKES_AUTHOR, .shape = SHAPE_TEXT, .read = set_author,
         .words = "Only jobs of USER, or USER@HOST; a pattern"},
        {"limit", TAKES_PAGE, .shape = SHAPE_NUMBER, .least = 1, .most = HTTP_LIMIT_MAX, .read = read_limit,
         .words = "At most so many rows"},
        {"page", TAKES_PAGE, .shape = SHAPE_TEXT, .read = set_page,
         .words = "What the page before has as its next"},
        {"wait", TAKES_WAIT, .shape = SHAPE_NUMBER, .least = 1, .most = HTTP_WAIT_SEC_MAX, .read = read_wait,
         .words = "Seconds until an answer, if the job has not ended by then"},
        {"since", TAKES_EVENTS | TAKES_SINCE, .shape = SHAPE_TEXT, .read = read_since,
         .words = "What is behind that cursor; of events also @JOB, and 0 for everything"},
        {"kind", TAKES_EVENTS, .shape = SHAPE_TEXTS, .read = add_kind, .words = "Only events of that kind"},
        {"lines", TAKES_JOURNAL, .shape = SHAPE_NUMBER, .least = 0, .most = HTTP_JOURNAL_LINES_MAX,
         .read = read_lines, .words = "So many of the newest lines"},
        {"follow", TAKES_JOURNAL, .shape = SHAPE_BOOL, .read = read_follow,
         .words = "Also what comes from now on"},
        {"from", TAKES_JOBS, .shape = SHAPE_NUMBER, .least = 1, .most = INT64_MAX, .is_needed = true,
         .read = read_at, .words = "The job behind which changes count"},
        {"to", TAKES_JOBS, .shape = SHAPE_NUMBER, .least = 1, .most = INT64_MAX, .read = read_to,
         .words = "The last job whose changes count; without it: up to now"},
        {"at", TAKES_AT, .shape = SHAPE_NUMBER, .least = 1, .most = INT64_MAX, .read = read_at,
         .words = "As it was when that job was done; of the past only the required fields are known"},
        {"rev", TAKES_AT, .shape = SHAPE_TEXT, .read = read_rev,
         .words = "The content, or the file that comes with the unit, of that SHA-256 in its place; not "
                  "together with at"},
};

static const HttpParameter names[] = {
        {"name", .kind = "unit", .is_encoded = true, .shape = SHAPE_TEXT, .read = read_unit,
         .refusal = no_unit, .words = "The whole name of a unit"},
        {"name", .kind = "secret", .is_encoded = true, .shape = SHAPE_TEXT, .read = read_secret,
         .refusal = no_secret, .words = "The name of a secret"},
        {"number", .kind = "job", .shape = SHAPE_NUMBER, .least = 1, .most = INT64_MAX, .read = read_job,
         .refusal = no_job, .words = "The number of a job"},
        {"file", .kind = "file", .shape = SHAPE_TEXT, .read = read_file, .words = "A file of the dashboard"},
};

const HttpParameter *http_parameter(size_t i) {
        return i < ELEMENTSOF(parameters) ? &parameters[i] : NULL;
}

const HttpParameter *http_parameter_find(HttpResource r, const char *name, size_t len) {
        unsigned takes = http_resource(r)->takes;

        for (size_t i = 0; i < ELEMENTSOF(parameters); i++)
                if ((takes & parameters[i].takes) && strlen(parameters[i].name) == len &&
                    memcmp(parameters[i].name, name, len) == 0)
                        return &parameters[i];
        return NULL;
}

const HttpParameter *http_parameter_of_path(const char *kind) {
        size_t i = 0;

        while (strncmp(names[i].kind, kind, strcspn(kind, "}")) != 0)
                i++; // each path of the table has one of them
        return &names[i];
}
