// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A target is a path, and perhaps a query behind a question mark; nothing is decoded before it was taken apart, so an encoded
// slash is no slash. What was decoded must be text: %00 and bytes that are no UTF-8 are refused, as is a name that no unit can
// have, and with it all of "..". A parameter that is not known is an error, for one that is mistyped would otherwise filter
// nothing.

#include "http-target.h"

#include <errno.h>
#include <strings.h>

#include "event-cursor.h"
#include "http-filter.h"
#include "job-state.h"
#include "macro.h"
#include "secret-name.h"
#include "state-words.h"
#include "str.h"
#include "unit-name.h"

enum {
        TAKES_PATTERN = 1,
        TAKES_STATE = 2,
        TAKES_NAME = 4,
        TAKES_NUMBER = 8,
        TAKES_AUTHOR = 16,
        TAKES_PAGE = 32,
        TAKES_WAIT = 64,
        TAKES_EVENTS = 128,
        TAKES_SINCE = 256,
        TAKES_NODE = 512,
        TAKES_JOURNAL = 1024,
        TAKES_LABEL = 2048,
        TAKES_JOBS = 4096,
        TAKES_FILE = 8192,
        TAKES_AT = 16384,
};

static const struct {
        HttpMethod method;
        const char *path; // with TAKES_NAME, TAKES_NUMBER or TAKES_FILE: what stands before that
        HttpResource resource;
        unsigned takes;
        const char *tail; // behind the number; NULL: nothing
} resources[] = {
        {HTTP_GET, "/healthz", HTTP_HEALTHZ, 0},
        {HTTP_GET, "/readyz", HTTP_READYZ, 0},
        {HTTP_GET, "/v1/units", HTTP_UNITS, TAKES_PATTERN | TAKES_STATE | TAKES_NODE | TAKES_LABEL | TAKES_PAGE},
        {HTTP_GET, "/v1/units/", HTTP_UNIT, TAKES_NAME},
        {HTTP_GET, "/v1/unit-files", HTTP_UNIT_FILES, TAKES_PATTERN | TAKES_STATE | TAKES_NODE | TAKES_LABEL | TAKES_PAGE},
        {HTTP_GET, "/v1/unit-files/", HTTP_UNIT_FILE, TAKES_NAME | TAKES_AT},
        {HTTP_PUT, "/v1/unit-files/", HTTP_PUT_UNIT_FILE, TAKES_NAME | TAKES_WAIT},
        {HTTP_DELETE, "/v1/unit-files/", HTTP_DELETE_UNIT_FILE, TAKES_NAME | TAKES_WAIT},
        {HTTP_GET, "/v1/nodes", HTTP_NODES, TAKES_STATE | TAKES_NODE | TAKES_LABEL},
        {HTTP_GET, "/v1/jobs", HTTP_JOBS, TAKES_PATTERN | TAKES_STATE | TAKES_NODE | TAKES_AUTHOR | TAKES_PAGE},
        {HTTP_POST, "/v1/jobs", HTTP_NEW_JOB, TAKES_WAIT},
        {HTTP_POST, "/v1/plan", HTTP_PLAN, 0},
        {HTTP_POST, "/v1/verify", HTTP_VERIFY, 0},
        {HTTP_GET, "/v1/jobs/", HTTP_JOB, TAKES_NUMBER | TAKES_WAIT},
        {HTTP_GET, "/v1/jobs/", HTTP_JOB_TARGETS, TAKES_NUMBER, "/targets"},
        {HTTP_GET, "/v1/hosts", HTTP_HOSTS, TAKES_STATE | TAKES_NODE},
        {HTTP_GET, "/v1/roles", HTTP_ROLES, 0},
        {HTTP_GET, "/v1/pools", HTTP_POOLS, 0},
        {HTTP_GET, "/v1/queue", HTTP_QUEUE, 0},
        {HTTP_GET, "/v1/access", HTTP_ACCESS, 0},
        {HTTP_GET, "/v1/tokens", HTTP_TOKENS, 0},
        {HTTP_GET, "/v1/secrets", HTTP_SECRETS, 0},
        {HTTP_PUT, "/v1/secrets/", HTTP_PUT_SECRET, TAKES_NAME | TAKES_WAIT},
        {HTTP_DELETE, "/v1/secrets/", HTTP_DELETE_SECRET, TAKES_NAME | TAKES_WAIT},
        {HTTP_GET, "/v1/events", HTTP_EVENTS, TAKES_PATTERN | TAKES_EVENTS},
        {HTTP_GET, "/v1/journal/", HTTP_JOURNAL, TAKES_NAME | TAKES_NODE | TAKES_JOURNAL},
        {HTTP_GET, "/v1/state", HTTP_STATE, TAKES_SINCE},
        {HTTP_GET, "/v1/history/", HTTP_HISTORY, TAKES_NAME | TAKES_AUTHOR | TAKES_PAGE},
        {HTTP_GET, "/v1/diff", HTTP_DIFF, TAKES_JOBS},
        {HTTP_GET, "/v1/usage", HTTP_USAGE, TAKES_PATTERN | TAKES_NODE},
        {HTTP_GET, "/metrics", HTTP_METRICS, 0},
        {HTTP_GET, "/v1/openapi.json", HTTP_OPENAPI, 0},
        {HTTP_POST, "/v1/login", HTTP_LOGIN, 0},
        {HTTP_POST, "/v1/logout", HTTP_LOGOUT, 0},
        // for people, and so the last
        {HTTP_GET, "/", HTTP_STATIC, 0},
        {HTTP_GET, "/dashboard/", HTTP_STATIC, TAKES_FILE},
};

static const char *const method_names[] = {"GET", "POST", "PUT", "DELETE"}; // by bit

HttpMethod http_method_from_string(const char *text) {
        if (streq(text, "HEAD"))
                return HTTP_GET;
        for (size_t i = 0; i < ELEMENTSOF(method_names); i++)
                if (streq(text, method_names[i]))
                        return (HttpMethod) (1U << i);
        return 0;
}

static bool is_text(const char *s) {
        for (const uint8_t *p = (const uint8_t *) s; *p;) {
                size_t n = str_utf8_len(p);

                if (n == 0 || *p < 0x20 || *p == 0x7f)
                        return false;
                p += n;
        }
        return true;
}

// 0, -EINVAL or -ENOMEM.
static int decode(const char *text, size_t len, char **ret) {
        _cleanup_free_ char *out = NULL;
        int r = percent_decode(text, len, false, &out);

        if (r < 0)
                return r;
        if (!is_text(out))
                return -EINVAL;
        *ret = TAKE_PTR(out);
        return 0;
}

void http_target_done(HttpTarget *t) {
        free(t->name);
        for (size_t i = 0; i < t->n_patterns; i++)
                free(t->patterns[i]);
        for (size_t i = 0; i < t->n_states; i++)
                free(t->states[i]);
        for (size_t i = 0; i < t->n_nodes; i++)
                free(t->nodes[i]);
        for (size_t i = 0; i < t->n_labels; i++)
                free(t->labels[i]);
        free(t->page_text);
        free(t->known);
        free(t->author);
        free(t->since);
        *t = (HttpTarget){};
}

// Takes the value, also when it fails.
static int add_value(char **list, size_t *n, size_t max, char *value, const char *too_many,
                     const char **ret_why) {
        if (*n == max) {
                free(value);
                *ret_why = too_many;
                return -E2BIG;
        }
        list[(*n)++] = value;
        return 0;
}

static bool is_word(const char *text, size_t len, const char *word) {
        return strlen(word) == len && memcmp(text, word, len) == 0;
}

// Takes the value, also when it fails.
static int set_author(HttpTarget *t, char *value, const char **ret_why) {
        if (t->author) {
                free(value);
                *ret_why = "there is more than one author";
                return -EINVAL;
        }
        t->author = value;
        return 0;
}

// Takes the value, also when it fails.
static int set_since(HttpTarget *t, char *value, const char **ret_why) {
        EventCursor cursor;

        if (!t->since && event_cursor_parse(value, &cursor)) {
                t->since = value;
                return 0;
        }
        free(value);
        *ret_why = "since is one cursor, as another answer has it";
        return -EINVAL;
}

static int parse_limit(HttpTarget *t, const char *value, const char **ret_why) {
        uint64_t n;

        if (t->limit > 0 || !parse_u64(value, HTTP_LIMIT_MAX, &n) || n == 0) {
                *ret_why = "limit is a number from 1 to 1000";
                return -EINVAL;
        }
        t->limit = (uint32_t) n;
        return 0;
}

static int parse_rev(HttpTarget *t, const char *value, const char **ret_why) {
        Hash hash;

        if (!*t->rev && strlen(value) == HASH_HEX_SIZE - 1 && hex_decode(value, hash.bytes, HASH_SIZE)) {
                hash_hex(&hash, HASH_SIZE, t->rev);
                return 0;
        }
        *ret_why = *t->rev ? "a parameter is there twice" : "rev is a hash of 64 hexadecimal digits";
        return -EINVAL;
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

static int parse_since(HttpTarget *t, const char *value, const char **ret_why) {
        if (t->place == EVENTS_FROM_NOW && http_target_set_place(t, value))
                return 0;
        *ret_why = "since is a cursor, @ and the number of a job, or 0";
        return -EINVAL;
}

static int add_kind(HttpTarget *t, const char *value, const char **ret_why) {
        Argosy__EventKind kind = event_kind_from_string(value);

        if (kind == ARGOSY__EVENT_KIND__EVENT_NONE || t->n_kinds == EVENT_KINDS) {
                *ret_why = "there is no such kind of events";
                return -EINVAL;
        }
        t->kinds[t->n_kinds++] = kind;
        return 0;
}

static int parse_wait(HttpTarget *t, const char *value, const char **ret_why) {
        uint64_t n;

        if (t->wait_sec > 0 || !parse_u64(value, HTTP_WAIT_SEC_MAX, &n) || n == 0) {
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

// Takes the value, also when it fails. It is read when the whole question is known of which it is a page.
static int set_page(HttpTarget *t, char *value, const char **ret_why) {
        if (t->page_text) {
                free(value);
                *ret_why = "there is more than one page";
                return -EINVAL;
        }
        t->page_text = value;
        return 0;
}

static int read_page(HttpTarget *t, const char **ret_why) {
        int r = t->page_text ? http_page_parse(t->page_text, http_filter_question(t), &t->page) : 0;

        if (r == 0)
                return 0;
        *ret_why = r == -ESTALE ? "the page is one of another question: nothing but limit may change from one to the next"
                                : "page is what another page has as its next, and no cursor";
        return -EINVAL;
}

// Takes the value, also when it fails.
static int add_label(HttpTarget *t, char *value, const char **ret_why) {
        _cleanup_free_ char *key = NULL, *of_it = NULL;
        int r = label_parse(value, &key, &of_it);

        if (r == 0)
                return add_value(t->labels, &t->n_labels, HTTP_LABELS_MAX, value, "too many labels", ret_why);
        free(value);
        *ret_why = "a label is KEY=VALUE";
        return r;
}

static int parse_follow(HttpTarget *t, const char *value, const char **ret_why) {
        bool again = t->says_follow;

        t->follow = streq(value, "1") || streq(value, "true");
        t->says_follow = true;
        if (!again && (t->follow || streq(value, "0") || streq(value, "false")))
                return 0;
        *ret_why = "follow is true or false";
        return -EINVAL;
}

static int parse_lines(HttpTarget *t, const char *value, const char **ret_why) {
        uint64_t n;

        if (t->says_lines || !parse_u64(value, HTTP_JOURNAL_LINES_MAX, &n)) {
                *ret_why = "lines is a number from 0 to 100000";
                return -EINVAL;
        }
        t->lines = (uint32_t) n;
        t->says_lines = true;
        return 0;
}

// False: a row of that may be in any state.
static bool words_of(HttpResource resource, StateWordsOf *ret) {
        switch (resource) {
        case HTTP_UNITS:
                *ret = STATE_WORDS_OF_UNITS;
                return true;
        case HTTP_UNIT_FILES:
                *ret = STATE_WORDS_OF_FILES;
                return true;
        case HTTP_NODES:
        case HTTP_HOSTS:
                *ret = STATE_WORDS_OF_NODES;
                return true;
        case HTTP_JOBS:
                *ret = STATE_WORDS_OF_JOBS;
                return true;
        default:
                return false;
        }
}

static int add_state(HttpTarget *t, char *value, const char **ret_why) {
        static const char *const refusals[STATE_WORDS_LISTS] = {
                [STATE_WORDS_OF_UNITS] = "there is no such state of a unit",
                [STATE_WORDS_OF_FILES] = "there is no such state of a unit file",
                [STATE_WORDS_OF_NODES] = "there is no such state of a node",
                [STATE_WORDS_OF_JOBS] = "there is no such state of a job",
        };
        StateWordsOf of;

        if (words_of(t->resource, &of) && !state_word_is_known(of, value, strlen(value))) {
                free(value);
                *ret_why = refusals[of];
                return -EINVAL;
        }
        return add_value(t->states, &t->n_states, HTTP_STATES_MAX, value, "too many states", ret_why);
}

// Takes the value, also when it fails.
static int set_parameter(HttpTarget *t, unsigned what, const char *key, size_t len, char *value,
                         const char **ret_why) {
        int r;

        if (what == TAKES_PATTERN)
                return add_value(t->patterns, &t->n_patterns, HTTP_PATTERNS_MAX, value, "too many patterns",
                                 ret_why);
        if (what == TAKES_STATE)
                return add_state(t, value, ret_why);
        if (what == TAKES_NODE)
                return add_value(t->nodes, &t->n_nodes, t->resource == HTTP_JOURNAL ? 1 : HTTP_STATES_MAX, value,
                                 "too many nodes", ret_why);
        if (what == TAKES_LABEL)
                return add_label(t, value, ret_why);
        if (what == TAKES_PAGE && is_word(key, len, "page"))
                return set_page(t, value, ret_why);
        if (what == TAKES_AUTHOR)
                return set_author(t, value, ret_why);
        if (what == TAKES_SINCE)
                return set_since(t, value, ret_why);
        if (what == TAKES_EVENTS)
                r = is_word(key, len, "kind") ? add_kind(t, value, ret_why) : parse_since(t, value, ret_why);
        else if (what == TAKES_JOURNAL)
                r = is_word(key, len, "lines") ? parse_lines(t, value, ret_why)
                                               : parse_follow(t, value, ret_why);
        else if (what == TAKES_AT)
                r = is_word(key, len, "rev") ? parse_rev(t, value, ret_why) : parse_job(&t->job, value, ret_why);
        else if (what == TAKES_JOBS)
                r = parse_job(is_word(key, len, "from") ? &t->job : &t->to_job, value, ret_why);
        else if (what == TAKES_WAIT)
                r = parse_wait(t, value, ret_why);
        else
                r = parse_limit(t, value, ret_why);
        free(value);
        return r;
}

static const struct {
        const char *key;
        unsigned what;
} parameters[] = {{"pattern", TAKES_PATTERN}, {"state", TAKES_STATE},  {"node", TAKES_NODE}, {"label", TAKES_LABEL},
                  {"author", TAKES_AUTHOR},   {"limit", TAKES_PAGE},   {"page", TAKES_PAGE},
                  {"wait", TAKES_WAIT},       {"since", TAKES_EVENTS}, {"kind", TAKES_EVENTS},
                  {"since", TAKES_SINCE},     {"lines", TAKES_JOURNAL}, {"follow", TAKES_JOURNAL},
                  {"from", TAKES_JOBS},       {"to", TAKES_JOBS},        {"at", TAKES_AT},
                  {"rev", TAKES_AT}};

bool http_target_route(size_t i, HttpRoute *ret) {
        if (i >= ELEMENTSOF(resources) || resources[i].resource == HTTP_STATIC)
                return false;
        *ret = (HttpRoute){resources[i].method, resources[i].path, resources[i].resource,
                               resources[i].takes & TAKES_NAME, resources[i].takes & TAKES_NUMBER, resources[i].tail ?: ""};
        return true;
}

const char *http_target_parameter(size_t i, size_t k) {
        for (size_t p = 0; p < ELEMENTSOF(parameters); p++)
                if ((resources[i].takes & parameters[p].what) && k-- == 0)
                        return parameters[p].key;
        return NULL;
}

// 0: none that this resource takes.
static unsigned find_parameter(const char *key, size_t len, unsigned takes) {
        for (size_t i = 0; i < ELEMENTSOF(parameters); i++)
                if ((takes & parameters[i].what) && is_word(key, len, parameters[i].key))
                        return parameters[i].what;
        return 0;
}

// "key=value"
static int parse_parameter(const char *text, size_t len, unsigned takes, HttpTarget *t,
                           const char **ret_why) {
        const char *equals = memchr(text, '=', len);
        size_t key = equals ? (size_t) (equals - text) : len;
        unsigned what = find_parameter(text, key, takes);
        char *value = NULL;
        int r;

        if (what == 0) {
                *ret_why = "there is no such parameter here";
                return -EINVAL;
        }
        r = equals ? decode(equals + 1, len - key - 1, &value) : -EINVAL;
        if (r == 0 && !*value) {
                free(value);
                r = -EINVAL;
        }
        if (r < 0) {
                *ret_why = "a parameter has no proper value";
                return r;
        }
        return set_parameter(t, what, text, key, value, ret_why);
}

static int parse_query(const char *query, unsigned takes, HttpTarget *t, const char **ret_why) {
        for (const char *p = query;; p++) {
                size_t len = strcspn(p, "&");
                int r = len > 0 ? parse_parameter(p, len, takes, t, ret_why) : 0;

                if (r < 0)
                        return r;
                p += len;
                if (!*p)
                        return 0;
        }
}

static bool is_of_secret(const HttpTarget *t) {
        return t->resource == HTTP_PUT_SECRET || t->resource == HTTP_DELETE_SECRET;
}

static int parse_name(const char *text, size_t len, HttpTarget *t, const char **ret_why) {
        int r = decode(text, len, &t->name);

        if (r == 0 && !(is_of_secret(t) ? secret_name_is_valid(t->name) : unit_name_kind(t->name, NULL) != UNIT_NAME_INVALID))
                r = -EINVAL;
        if (r == -EINVAL)
                *ret_why = is_of_secret(t) ? "this is no name of a secret" : "this is no name of a unit";
        return r;
}

static int parse_number(const char *text, size_t len, HttpTarget *t, const char **ret_why) {
        char digits[24];

        str_fit(digits, sizeof(digits), "%.*s", (int) MIN_OF(len, sizeof(digits)), text);
        if (len < sizeof(digits) && parse_u64(digits, UINT64_MAX, &t->job) && t->job > 0)
                return 0;
        *ret_why = "this is no number of a job";
        return -EINVAL;
}

// As it stands there: no name of ours is ever encoded.
static int parse_file(const char *text, size_t len, HttpTarget *t, const char **ret_why) {
        t->file = http_static_find(text, len);
        if (t->file)
                return 0;
        *ret_why = "there is no such thing here";
        return -ENOENT;
}

static size_t len_of_tail(size_t i) {
        return resources[i].tail ? strlen(resources[i].tail) : 0;
}

// Whether the first `len` bytes of the text are the path of that resource.
static bool is_path(const char *text, size_t len, size_t i) {
        size_t fixed = strlen(resources[i].path), tail = len_of_tail(i);

        if (!(resources[i].takes & (TAKES_NAME | TAKES_NUMBER | TAKES_FILE)))
                return is_word(text, len, resources[i].path);
        return len > fixed + tail && memcmp(text, resources[i].path, fixed) == 0 &&
               !memchr(text + fixed, '/', len - fixed - tail) &&
               (tail == 0 || memcmp(text + len - tail, resources[i].tail, tail) == 0);
}

bool http_target_is_public(const char *text) {
        size_t len = strcspn(text, "?");

        for (size_t i = 0; i < ELEMENTSOF(resources); i++)
                if (is_path(text, len, i))
                        return resources[i].resource == HTTP_LOGIN || resources[i].resource == HTTP_STATIC ||
                               http_target_is_open(&(HttpTarget){.resource = resources[i].resource});
        return false;
}

static unsigned find_methods(const char *text) {
        size_t len = strcspn(text, "?");
        unsigned methods = 0;

        for (size_t i = 0; i < ELEMENTSOF(resources); i++)
                if (is_path(text, len, i))
                        methods |= resources[i].method;
        return methods;
}

const char *http_target_methods(const char *text) {
        switch (find_methods(text)) {
        case HTTP_GET:
                return "GET, HEAD";
        case HTTP_POST:
                return "POST";
        case HTTP_GET | HTTP_POST:
                return "GET, HEAD, POST";
        case HTTP_GET | HTTP_PUT | HTTP_DELETE:
                return "GET, HEAD, PUT, DELETE";
        case HTTP_PUT | HTTP_DELETE:
                return "PUT, DELETE";
        default:
                return "";
        }
}

static int parse_as(const char *text, size_t len, size_t i, HttpTarget *t, const char **ret_why) {
        unsigned takes = resources[i].takes;
        size_t fixed = strlen(resources[i].path);
        int r = 0;

        t->resource = resources[i].resource;
        t->lines = HTTP_JOURNAL_LINES;
        if (takes & TAKES_NAME)
                r = parse_name(text + fixed, len - fixed, t, ret_why);
        else if (takes & TAKES_NUMBER)
                r = parse_number(text + fixed, len - fixed - len_of_tail(i), t, ret_why);
        else if (t->resource == HTTP_STATIC)
                r = parse_file(text + fixed, len - fixed, t, ret_why);
        if (r == 0 && text[len] == '?')
                r = parse_query(text + len + 1, takes, t, ret_why);
        return r == 0 ? read_page(t, ret_why) : r;
}

static int parse(const char *text, HttpMethod method, HttpTarget *t, const char **ret_why) {
        size_t len = strcspn(text, "?");

        for (size_t i = 0; i < ELEMENTSOF(resources); i++)
                if (resources[i].method == method && is_path(text, len, i))
                        return parse_as(text, len, i, t, ret_why);
        if (find_methods(text) > 0) {
                *ret_why = "that is not to be done with this";
                return -EPERM;
        }
        *ret_why = "there is no such thing here";
        return -ENOENT;
}

int http_target_parse(const char *text, HttpMethod method, HttpTarget *ret, const char **ret_why) {
        HttpTarget t = {};
        int r;

        *ret_why = "";
        r = parse(text, method, &t, ret_why);
        if (r == 0 && t.resource == HTTP_DIFF && t.job == 0) {
                *ret_why = "from is missing: the number of the job behind which changes count";
                r = -EINVAL;
        }
        if (r == 0 && t.resource == HTTP_UNIT_FILE && t.job > 0 && *t.rev) {
                *ret_why = "at and rev exclude each other";
                r = -EINVAL;
        }
        if (r < 0)
                http_target_done(&t);
        *ret = t;
        return r;
}

bool http_target_is_open(const HttpTarget *t) {
        return t->resource == HTTP_HEALTHZ || t->resource == HTTP_READYZ;
}

bool http_target_streams(const HttpTarget *t) {
        return t->resource == HTTP_EVENTS || t->resource == HTTP_JOURNAL;
}

bool http_target_only_asks(const HttpTarget *t) {
        return t->resource == HTTP_PLAN || t->resource == HTTP_VERIFY;
}

bool http_target_writes(const HttpTarget *t) {
        return t->resource == HTTP_NEW_JOB || http_target_only_asks(t) || t->resource == HTTP_PUT_UNIT_FILE ||
               t->resource == HTTP_DELETE_UNIT_FILE || is_of_secret(t);
}

bool http_target_has_body(const HttpTarget *t) {
        return t->resource == HTTP_NEW_JOB || http_target_only_asks(t) || t->resource == HTTP_PUT_UNIT_FILE ||
               t->resource == HTTP_PUT_SECRET || t->resource == HTTP_LOGIN;
}

bool http_target_is_tagged(const HttpTarget *t) {
        return t->resource == HTTP_UNITS || t->resource == HTTP_UNIT_FILES;
}

bool http_target_is_one(const HttpTarget *t) {
        return t->resource == HTTP_UNIT || t->resource == HTTP_UNIT_FILE || http_target_is_job(t);
}

bool http_target_is_job(const HttpTarget *t) {
        return t->resource == HTTP_JOB || t->resource == HTTP_JOB_TARGETS;
}

bool http_target_has_aside(const HttpTarget *t) {
        return t->resource == HTTP_UNIT || (t->resource == HTTP_UNIT_FILE && t->job == 0);
}

bool http_target_is_past(const HttpTarget *t) {
        return t->resource == HTTP_UNIT_FILE && t->job > 0;
}

bool http_target_wants_node(const HttpTarget *t, const char *node) {
        for (size_t i = 0; i < t->n_nodes; i++)
                if (streq(node, t->nodes[i]))
                        return true;
        return t->n_nodes == 0;
}

static bool is_asked_for(const HttpTarget *t, const char *node, const char *const states[], size_t n) {
        if (!http_target_wants_node(t, node))
                return false;
        for (size_t i = 0; i < t->n_states; i++)
                for (size_t k = 0; k < n; k++)
                        if (streq(states[k], t->states[i]))
                                return true;
        return t->n_states == 0;
}

bool http_target_wants(const HttpTarget *t, const Argosy__Response__UnitRow *row) {
        if (!http_target_wants_node(t, row->node))
                return false;
        for (size_t i = 0; i < t->n_states; i++)
                if (state_word_fits_unit(t->states[i], row))
                        return true;
        return t->n_states == 0;
}

bool http_target_wants_file(const HttpTarget *t, const Argosy__Response__UnitFileRow *row) {
        const char *const states[] = {row->desired, row->state};

        return is_asked_for(t, row->node, states, ELEMENTSOF(states));
}

bool http_target_wants_row_of_node(const HttpTarget *t, const Argosy__Response__NodeRow *row) {
        const char *const states[] = {row->state, row->mode};

        return is_asked_for(t, row->node, states, ELEMENTSOF(states));
}

bool http_target_wants_host(const HttpTarget *t, const Argosy__Response__ClusterStatus__Member *row) {
        const char *const states[] = {row->state};

        return is_asked_for(t, row->name, states, ELEMENTSOF(states));
}

bool http_origin_is_ours(const char *origin, const char *host) {
        if (!origin)
                return true;
        if (!host)
                return false;
        return (str_has_prefix(origin, "http://") && strcasecmp(origin + strlen("http://"), host) == 0) ||
               (str_has_prefix(origin, "https://") && strcasecmp(origin + strlen("https://"), host) == 0);
}
