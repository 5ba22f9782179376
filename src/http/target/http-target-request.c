// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a target becomes: the Request that argosyctl would send. What has no parameters is one of a kind; what changes something
// is made of its body (http-write.h), and what takes several questions by who asks them, a file for each (http-api-*.c).

#include "http-target.h"

#include <string.h>

#include "http-filter.h"
#include "http-limits.h"
#include "job-state.h"
#include "message.h"

static Argosy__Request *ask_for_units(const HttpTarget *t, char **names, size_t n) {
        Argosy__Request q = ARGOSY__REQUEST__INIT;
        Argosy__Request__ListUnits m = ARGOSY__REQUEST__LIST_UNITS__INIT;
        HttpFilter f = {};

        m.filter = http_filter_of(t, &f);
        m.patterns = names;
        m.n_patterns = n;
        m.parts = true;
        q.what_case = ARGOSY__REQUEST__WHAT_LIST_UNITS;
        q.list_units = &m;
        return message_copy(&q);
}

static Argosy__Request *ask_for_files(const HttpTarget *t, char **names, size_t n) {
        Argosy__Request q = ARGOSY__REQUEST__INIT;
        Argosy__Request__ListUnitFiles m = ARGOSY__REQUEST__LIST_UNIT_FILES__INIT;
        HttpFilter f = {};

        m.filter = http_filter_of(t, &f);
        m.patterns = names;
        m.n_patterns = n;
        m.parts = true;
        q.what_case = ARGOSY__REQUEST__WHAT_LIST_UNIT_FILES;
        q.list_unit_files = &m;
        return message_copy(&q);
}

static Argosy__Request *ask_for_nodes(const HttpTarget *t) {
        Argosy__Request q = ARGOSY__REQUEST__INIT;
        Argosy__Request__ListNodes m = ARGOSY__REQUEST__LIST_NODES__INIT;
        HttpFilter f = {};

        m.filter = http_filter_of(t, &f);
        q.what_case = ARGOSY__REQUEST__WHAT_LIST_NODES;
        q.list_nodes = &m;
        return message_copy(&q);
}

static Argosy__Request *ask_for_jobs(const HttpTarget *t) {
        Argosy__Request q = ARGOSY__REQUEST__INIT;
        Argosy__Request__ListJobs m = ARGOSY__REQUEST__LIST_JOBS__INIT;
        Argosy__JobState states[HTTP_STATES_MAX];

        for (size_t i = 0; i < t->n_states; i++)
                (void) job_state_from_string(t->states[i], strlen(t->states[i]), &states[i]); // it is one
        m.states = states;
        m.n_states = t->n_states;
        m.nodes = (char **) t->nodes;
        m.n_nodes = t->n_nodes;
        m.patterns = t->name ? (char **) &t->name : (char **) t->patterns;
        m.n_patterns = t->name ? 1 : t->n_patterns;
        m.changes = t->resource == HTTP_HISTORY;
        if (t->author)
                m.author = t->author;
        m.limit = t->limit;
        m.before = t->page.before;
        m.number = t->job;
        m.first_unit = t->first_unit;
        q.what_case = ARGOSY__REQUEST__WHAT_LIST_JOBS;
        q.list_jobs = &m;
        return message_copy(&q);
}

// What has no parameters.
static Argosy__Request *ask_for_all(Argosy__Request__WhatCase what) {
        Argosy__Request__Counters counters = ARGOSY__REQUEST__COUNTERS__INIT;
        Argosy__Request__RoleList roles = ARGOSY__REQUEST__ROLE_LIST__INIT;
        Argosy__Request__PoolList pools = ARGOSY__REQUEST__POOL_LIST__INIT;
        Argosy__Request__QueueList queue = ARGOSY__REQUEST__QUEUE_LIST__INIT;
        Argosy__Request__AccessList access = ARGOSY__REQUEST__ACCESS_LIST__INIT;
        Argosy__Request__TokenList tokens = ARGOSY__REQUEST__TOKEN_LIST__INIT;
        Argosy__Request__SecretList secrets = ARGOSY__REQUEST__SECRET_LIST__INIT;
        Argosy__Request__ClusterStatus status = ARGOSY__REQUEST__CLUSTER_STATUS__INIT;
        Argosy__Request q = ARGOSY__REQUEST__INIT;

        q.what_case = what;
        switch (what) {
        case ARGOSY__REQUEST__WHAT_COUNTERS:
                q.counters = &counters;
                break;
        case ARGOSY__REQUEST__WHAT_ROLE_LIST:
                q.role_list = &roles;
                break;
        case ARGOSY__REQUEST__WHAT_POOL_LIST:
                q.pool_list = &pools;
                break;
        case ARGOSY__REQUEST__WHAT_QUEUE_LIST:
                q.queue_list = &queue;
                break;
        case ARGOSY__REQUEST__WHAT_ACCESS_LIST:
                q.access_list = &access;
                break;
        case ARGOSY__REQUEST__WHAT_TOKEN_LIST:
                q.token_list = &tokens;
                break;
        case ARGOSY__REQUEST__WHAT_SECRET_LIST:
                q.secret_list = &secrets;
                break;
        default:
                q.what_case = ARGOSY__REQUEST__WHAT_CLUSTER_STATUS;
                q.cluster_status = &status;
        }
        return message_copy(&q);
}

Argosy__Request *http_target_events(const HttpTarget *t, const char *cursor, Argosy__Request__Events__Lead lead) {
        Argosy__Request q = ARGOSY__REQUEST__INIT;
        Argosy__Request__Events m = ARGOSY__REQUEST__EVENTS__INIT;

        m.cursor = (char *) (*cursor ? cursor : t->cursor);
        m.from_now = !*m.cursor && t->place == EVENTS_FROM_NOW;
        m.since_job = !*m.cursor && t->place == EVENTS_FROM_JOB ? t->job : 0;
        m.patterns = (char **) t->patterns;
        m.n_patterns = t->n_patterns;
        m.kinds = (Argosy__EventKind *) t->kinds;
        m.n_kinds = t->n_kinds;
        m.no_wait = lead == ARGOSY__REQUEST__EVENTS__LEAD__UNSAID;
        m.lead = lead;
        q.what_case = ARGOSY__REQUEST__WHAT_EVENTS;
        q.events = &m;
        return message_copy(&q);
}

// A question that the leader alone answers, and to whoever has any right at all.
static Argosy__Request *ask_whether_he_is_known(void) {
        Argosy__Request q = ARGOSY__REQUEST__INIT;
        Argosy__Request__Events m = ARGOSY__REQUEST__EVENTS__INIT;

        m.from_now = m.no_wait = true;
        q.what_case = ARGOSY__REQUEST__WHAT_EVENTS;
        q.events = &m;
        return message_copy(&q);
}

Argosy__Request *http_target_aside(const HttpTarget *t) {
        Argosy__Request q = ARGOSY__REQUEST__INIT;
        Argosy__Request__Why why = ARGOSY__REQUEST__WHY__INIT;
        Argosy__Request__Cat cat = ARGOSY__REQUEST__CAT__INIT;
        char *rev = (char *) t->rev;

        if (t->resource == HTTP_UNIT) {
                why.names = (char **) &t->name;
                why.n_names = 1;
                q.what_case = ARGOSY__REQUEST__WHAT_WHY;
                q.why = &why;
        } else {
                cat.names = (char **) &t->name;
                cat.n_names = 1;
                cat.revs = &rev;
                cat.n_revs = *t->rev != 0;
                q.what_case = ARGOSY__REQUEST__WHAT_CAT;
                q.cat = &cat;
        }
        return message_copy(&q);
}

// One reading of each node, or of one.
static Argosy__Request *ask_for_usage(const HttpTarget *t) {
        Argosy__Request q = ARGOSY__REQUEST__INIT;
        Argosy__Request__Top m = ARGOSY__REQUEST__TOP__INIT;

        m.patterns = (char **) t->patterns;
        m.n_patterns = t->n_patterns;
        m.node = (char *) (t->n_nodes == 1 ? t->nodes[0] : "");
        q.what_case = ARGOSY__REQUEST__WHAT_TOP;
        q.top = &m;
        return message_copy(&q);
}

Argosy__Request *http_target_journal(const HttpTarget *t, bool again) {
        Argosy__Request q = ARGOSY__REQUEST__INIT;
        Argosy__Request__Journal m = ARGOSY__REQUEST__JOURNAL__INIT;

        m.name = t->name;
        m.lines = again ? 0 : t->lines;
        m.follow = m.says_read = t->follow;
        m.node = (char *) (t->n_nodes > 0 ? t->nodes[0] : "");
        m.window = HTTP_JOURNAL_WINDOW;
        q.what_case = ARGOSY__REQUEST__WHAT_JOURNAL;
        q.journal = &m;
        return message_copy(&q);
}

Argosy__Request *http_target_request(const HttpTarget *t) {
        char **names = t->name ? (char **) &t->name : (char **) t->patterns;
        size_t n = t->name ? 1 : t->n_patterns;

        switch (t->resource) {
        case HTTP_UNITS:
        case HTTP_UNIT:
                return ask_for_units(t, names, n);
        case HTTP_UNIT_FILES:
        case HTTP_UNIT_FILE:
                return ask_for_files(t, names, n);
        case HTTP_NODES:
                return ask_for_nodes(t);
        case HTTP_HISTORY:
        case HTTP_JOBS:
        case HTTP_JOB:
        case HTTP_JOB_TARGETS:
                return ask_for_jobs(t);
        case HTTP_METRICS:
                return ask_for_all(ARGOSY__REQUEST__WHAT_COUNTERS);
        case HTTP_EVENTS:
                return http_target_events(t, "", ARGOSY__REQUEST__EVENTS__LEAD__UNSAID);
        case HTTP_JOURNAL:
                return http_target_journal(t, false);
        case HTTP_ROLES:
                return ask_for_all(ARGOSY__REQUEST__WHAT_ROLE_LIST);
        case HTTP_POOLS:
                return ask_for_all(ARGOSY__REQUEST__WHAT_POOL_LIST);
        case HTTP_QUEUE:
                return ask_for_all(ARGOSY__REQUEST__WHAT_QUEUE_LIST);
        case HTTP_ACCESS:
                return ask_for_all(ARGOSY__REQUEST__WHAT_ACCESS_LIST);
        case HTTP_TOKENS:
                return ask_for_all(ARGOSY__REQUEST__WHAT_TOKEN_LIST);
        case HTTP_SECRETS:
                return ask_for_all(ARGOSY__REQUEST__WHAT_SECRET_LIST);
        case HTTP_HOSTS:
                return ask_for_all(ARGOSY__REQUEST__WHAT_CLUSTER_STATUS);
        case HTTP_USAGE:
                return ask_for_usage(t);
        case HTTP_LOGIN:
        case HTTP_OPENAPI: // which anybody may have who may have anything
                return ask_whether_he_is_known();
        case HTTP_DIFF:  // several questions: http-api-changes.c
        case HTTP_STATE: // several questions: http-api-state.c
        case HTTP_LOGOUT:
        case HTTP_HEALTHZ:
        case HTTP_READYZ:
        case HTTP_NEW_JOB:
        case HTTP_PLAN:
        case HTTP_VERIFY:
        case HTTP_PUT_UNIT_FILE:
        case HTTP_DELETE_UNIT_FILE:
        case HTTP_PUT_SECRET:
        case HTTP_DELETE_SECRET:
        case HTTP_STATIC:
                break;
        }
        return NULL;
}
