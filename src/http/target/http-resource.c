// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What each resource is asked for, and where the rows of its answer are: functions by which
// http-resource-rows.h names it, and the table that is made of these rows. A question is the Request that
// argosyctl would send. Failures: out of memory there is no Request; an answer of another kind has no rows.

#include "http-resource.h"

#include <string.h>

#include "http-filter.h"
#include "http-limits.h"
#include "job-state.h"
#include "macro.h"
#include "message-of.h"
#include "message.h"

// ---- questions

static char **names_of(const HttpTarget *t, size_t *ret_n) {
        *ret_n = t->name ? 1 : t->n_patterns;
        return t->name ? (char **) &t->name : (char **) t->patterns;
}

static Argosy__Request *ask_for_units(const HttpTarget *t) {
        Argosy__Request__ListUnits m = ARGOSY__REQUEST__LIST_UNITS__INIT;
        Argosy__Request q = REQUEST_OF(LIST_UNITS, list_units, &m);
        HttpFilter f = {};

        m.filter = http_filter_of(t, &f);
        m.patterns = names_of(t, &m.n_patterns);
        m.parts = true;
        return message_copy(&q);
}

static Argosy__Request *ask_for_files(const HttpTarget *t) {
        Argosy__Request__ListUnitFiles m = ARGOSY__REQUEST__LIST_UNIT_FILES__INIT;
        Argosy__Request q = REQUEST_OF(LIST_UNIT_FILES, list_unit_files, &m);
        HttpFilter f = {};

        m.filter = http_filter_of(t, &f);
        m.patterns = names_of(t, &m.n_patterns);
        m.parts = true;
        return message_copy(&q);
}

static Argosy__Request *ask_for_nodes(const HttpTarget *t) {
        Argosy__Request__ListNodes m = ARGOSY__REQUEST__LIST_NODES__INIT;
        Argosy__Request q = REQUEST_OF(LIST_NODES, list_nodes, &m);
        HttpFilter f = {};

        m.filter = http_filter_of(t, &f);
        return message_copy(&q);
}

static Argosy__Request *ask_for_jobs(const HttpTarget *t) {
        Argosy__Request__ListJobs m = ARGOSY__REQUEST__LIST_JOBS__INIT;
        Argosy__Request q = REQUEST_OF(LIST_JOBS, list_jobs, &m);
        Argosy__JobState states[HTTP_STATES_MAX];

        for (size_t i = 0; i < t->n_states; i++)
                (void) job_state_from_string(t->states[i], strlen(t->states[i]), &states[i]); // it is one
        m.states = states;
        m.n_states = t->n_states;
        m.nodes = (char **) t->nodes;
        m.n_nodes = t->n_nodes;
        m.patterns = names_of(t, &m.n_patterns);
        m.changes = t->resource == HTTP_HISTORY;
        if (t->author)
                m.author = t->author;
        m.limit = t->limit;
        m.before = t->page.before;
        m.number = t->job;
        m.first_unit = t->first_unit;
        return message_copy(&q);
}

// What has no members.
static Argosy__Request *ask_for_all(Argosy__Request__WhatCase what) {
        const ProtobufCFieldDescriptor *field =
                protobuf_c_message_descriptor_get_field(&argosy__request__descriptor, what);
        const ProtobufCMessageDescriptor *type = field->descriptor;
        _cleanup_free_ ProtobufCMessage *m = malloc(type->sizeof_message);

        if (!m)
                return NULL;
        protobuf_c_message_init(type, m);
        Argosy__Request q = MESSAGE_OF(request, .what_case = what);
        *(void **) ((char *) &q + field->offset) = m;
        return message_copy(&q);
}

Argosy__Request *http_resource_events(const HttpTarget *t, const char *cursor,
                                      Argosy__Request__Events__Lead lead) {
        Argosy__Request__Events m =
                MESSAGE_OF(request__events, .cursor = (char *) (*cursor ? cursor : t->cursor));
        Argosy__Request q = REQUEST_OF(EVENTS, events, &m);

        m.from_now = !*m.cursor && t->place == EVENTS_FROM_NOW;
        m.since_job = !*m.cursor && t->place == EVENTS_FROM_JOB ? t->job : 0;
        m.patterns = (char **) t->patterns;
        m.n_patterns = t->n_patterns;
        m.kinds = (Argosy__EventKind *) t->kinds;
        m.n_kinds = t->n_kinds;
        m.no_wait = lead == ARGOSY__REQUEST__EVENTS__LEAD__UNSAID;
        m.lead = lead;
        return message_copy(&q);
}

static Argosy__Request *ask_for_events(const HttpTarget *t) {
        return http_resource_events(t, "", ARGOSY__REQUEST__EVENTS__LEAD__UNSAID);
}

// A question that the leader alone answers, to any client with some right.
static Argosy__Request *ask_whether_known(const HttpTarget *t) {
        Argosy__Request__Events m = ARGOSY__REQUEST__EVENTS__INIT;
        Argosy__Request q = REQUEST_OF(EVENTS, events, &m);

        m.from_now = m.no_wait = true;
        return message_copy(&q);
}

Argosy__Request *http_resource_aside(const HttpTarget *t) {
        Argosy__Request q = ARGOSY__REQUEST__INIT;
        Argosy__Request__Why why = ARGOSY__REQUEST__WHY__INIT;
        Argosy__Request__Cat cat = ARGOSY__REQUEST__CAT__INIT;
        char *rev = (char *) t->rev;

        if (http_resource(t->resource)->aside == HTTP_ASIDE_WHY) {
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
        Argosy__Request__Top m =
                MESSAGE_OF(request__top, .patterns = (char **) t->patterns, .n_patterns = t->n_patterns,
                           .node = (char *) (t->n_nodes == 1 ? t->nodes[0] : ""));
        Argosy__Request q = REQUEST_OF(TOP, top, &m);

        return message_copy(&q);
}

Argosy__Request *http_resource_journal(const HttpTarget *t, bool again) {
        Argosy__Request__Journal m = MESSAGE_OF(
                request__journal, .name = t->name, .lines = again ? 0 : t->lines, .follow = t->follow,
                .says_read = t->follow, .node = (char *) (t->n_nodes > 0 ? t->nodes[0] : ""),
                .window = HTTP_JOURNAL_WINDOW);
        Argosy__Request q = REQUEST_OF(JOURNAL, journal, &m);

        return message_copy(&q);
}

static Argosy__Request *ask_for_journal(const HttpTarget *t) {
        return http_resource_journal(t, false);
}

// ---- rows

const Argosy__Response__JobRow *http_resource_job(const Argosy__Response *r) {
        return r->what_case == ARGOSY__RESPONSE__WHAT_JOBS && r->jobs->n_rows == 1 ? r->jobs->rows[0] : NULL;
}

static void write_name(const void *row, const Argosy__Response *of, Json *j) {
        json_string(j, row);
}

static void write_name_of_unit(const void *row, const Argosy__Response *of, Json *j) {
        json_string(j, ((const Argosy__Response__JobUnitRow *) row)->unit);
}

static void write_unit_of_job(const void *row, const Argosy__Response *of, Json *j) {
        job_unit_json(row, j);
}

static void write_move(const void *row, const Argosy__Response *of, Json *j) {
        move_json(row, j);
}

static void write_usage(const void *row, const Argosy__Response *of, Json *j) {
        usage_json(row, of->usage->node, j);
}

static void write_findings(const void *row, const Argosy__Response *of, Json *j) {
        findings_json(row, of->verify, j);
}

// The job itself is written before them (http-body.c).
static void find_units_of_job(const Argosy__Response *r, HttpRows *ret) {
        const Argosy__Response__JobRow *job = http_resource_job(r);

        if (job)
                *ret = (HttpRows){(void *const *) job->units, job->n_units, write_unit_of_job};
}

// The units that a job is about, whatever their number; of one without any, what it was asked for.
static void find_targets_of_job(const Argosy__Response *r, HttpRows *ret) {
        const Argosy__Response__JobRow *job = http_resource_job(r);

        if (job && job->n_units > 0)
                *ret = (HttpRows){(void *const *) job->units, job->n_units, write_name_of_unit};
        else if (job)
                *ret = (HttpRows){(void *const *) job->targets, job->n_targets, write_name};
}

// What became of each unit, or would.
static void find_results(const Argosy__Response *r, HttpRows *ret) {
        if (r->what_case == ARGOSY__RESPONSE__WHAT_CHANGE)
                *ret = (HttpRows){(void *const *) r->change->units, r->change->n_units, NULL};
        else if (r->what_case == ARGOSY__RESPONSE__WHAT_REBALANCE)
                *ret = (HttpRows){(void *const *) r->rebalance->moves, r->rebalance->n_moves, write_move};
}

// ---- the table

#define JSON "application/json"
#define ASKS(what) .request = ARGOSY__REQUEST__WHAT_##what
#define STATES(what) .has_states = true, .states = STATE_WORDS_OF_##what
#define ROWS(key_, field, upper, type, list, row_)                             \
        .key = key_, .row = &row_, .response = ARGOSY__RESPONSE__WHAT_##upper, \
        .in_response = offsetof(Argosy__Response, field),                      \
        .in_list = offsetof(Argosy__Response__##type, n_##list)
#define RESULTS .key = "units", .row = &unit_result_row, .find = find_results, .schema = "units_of_a_job"

static const HttpResourceRow resources[HTTP_RESOURCES] = {
#define RESOURCE(name_, method_, path_, takes_, words_, ...) \
        [HTTP_##name_] = {.method = method_, .path = path_, .takes = takes_, .words = words_, ##__VA_ARGS__},
#include "http-resource-rows.h"
};

const HttpResourceRow *http_resource(HttpResource r) {
        return &resources[r];
}

Argosy__Request *http_resource_request(const HttpTarget *t) {
        const HttpResourceRow *r = &resources[t->resource];

        return r->ask ? r->ask(t) : r->request > 0 ? ask_for_all(r->request) : NULL;
}

static const void *list_of(const HttpResourceRow *r, const Argosy__Response *response) {
        return r->in_list > 0 && response->what_case == r->response
                       ? *(const void *const *) ((const char *) response + r->in_response)
                       : NULL;
}

const void *http_resource_beside(HttpResource r, const Argosy__Response *response) {
        return resources[r].beside ? list_of(&resources[r], response) : NULL;
}

HttpRows http_resource_rows(HttpResource resource, const Argosy__Response *response) {
        const HttpResourceRow *r = &resources[resource];
        HttpRows found = {.write = r->write};
        const char *list = list_of(r, response);

        if (r->find)
                r->find(response, &found);
        else if (list) {
                found.n = *(const size_t *) (list + r->in_list);
                found.rows = *(void *const *const *) (list + r->in_list + sizeof(size_t));
        }
        return found;
}
