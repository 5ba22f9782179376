// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What a request's target asks for: method, path and query, as they stand in its first line. One table of resources, with the
// method and the parameters that each takes. Pure; it reads a client's bytes.

#include <stdbool.h>

#include "event-cursor.h"
#include "event-kind.h"
#include "hash.h"
#include "http-page.h"
#include "http-static.h"

typedef enum HttpResource {
        HTTP_HEALTHZ,
        HTTP_READYZ,
        HTTP_UNITS,
        HTTP_UNIT, // one of them, by name
        HTTP_UNIT_FILES,
        HTTP_UNIT_FILE,
        HTTP_NODES,
        HTTP_JOBS,
        HTTP_JOB, // one of them, by number
        HTTP_JOB_TARGETS, // and the names of all that it is about
        HTTP_METRICS,
        HTTP_EVENTS,
        HTTP_ROLES,
        HTTP_POOLS,
        HTTP_QUEUE,
        HTTP_ACCESS,
        HTTP_TOKENS,
        HTTP_SECRETS,
        HTTP_PUT_SECRET, // which is never answered
        HTTP_DELETE_SECRET,
        HTTP_HOSTS,
        HTTP_NEW_JOB,
        HTTP_PUT_UNIT_FILE,
        HTTP_DELETE_UNIT_FILE,
        HTTP_STATE, // all there is, or what has changed
        HTTP_LOGIN,
        HTTP_LOGOUT,
        HTTP_JOURNAL, // of a unit, by name
        HTTP_OPENAPI, // what there is, for programs that make clients of it
        HTTP_USAGE,   // what units use
        HTTP_HISTORY, // of a unit, by name
        HTTP_DIFF,    // what jobs have changed together
        HTTP_PLAN,    // what a change would do
        HTTP_VERIFY,  // what systemd says of unit files
        HTTP_STATIC,  // a file of the dashboard
} HttpResource;

// Bits.
typedef enum HttpMethod {
        HTTP_GET = 1 << 0, // and HEAD
        HTTP_POST = 1 << 1,
        HTTP_PUT = 1 << 2,
        HTTP_DELETE = 1 << 3,
} HttpMethod;

enum {
        HTTP_PATTERNS_MAX = 64,
        HTTP_STATES_MAX = 16,
        HTTP_LIMIT_MAX = 1000,       // rows that may be asked for at once
        HTTP_LABELS_MAX = 16,
        HTTP_JOURNAL_LINES = 10,     // of a journal, as argosyctl has it
        HTTP_JOURNAL_LINES_MAX = 100000,
        HTTP_WAIT_SEC_MAX = 60,      // until a job has ended; who wants to wait longer asks again
};

// Where a stream of events begins.
typedef enum EventPlace {
        EVENTS_FROM_NOW,
        EVENTS_FROM_CURSOR,
        EVENTS_FROM_JOB,   // HttpTarget.job
        EVENTS_FROM_STATE, // the whole state comes first
} EventPlace;

// Zeroed is empty.
typedef struct HttpTarget {
        HttpResource resource;
        char *name; // of one of the things; else NULL
        char *patterns[HTTP_PATTERNS_MAX];
        size_t n_patterns;
        char *states[HTTP_STATES_MAX]; // any of load, active and sub state; none: all
        size_t n_states;
        char *nodes[HTTP_STATES_MAX]; // where a unit is; none: anywhere
        size_t n_nodes;
        char *labels[HTTP_LABELS_MAX]; // KEY=VALUE, of the node where a unit is, or of nodes; it has all of them
        size_t n_labels;
        uint64_t job;      // of HTTP_JOB; of HTTP_DIFF: from which on; of HTTP_UNIT_FILE: as it was then; 0: now
        uint64_t to_job;   // of HTTP_DIFF; 0: up to now
        char rev[HASH_HEX_SIZE]; // of HTTP_UNIT_FILE: the content of that hash; empty: what the unit has
        uint32_t first_unit; // of HTTP_JOB: so many of its units have come (http-api-steps.c)
        char *since;       // of HTTP_STATE: a cursor; NULL: all there is
        char *author;      // pattern of who asked for jobs; NULL: anybody
        uint32_t limit;    // rows; 0: as many as one answer takes
        char *page_text;   // as it came; NULL: the first page
        HttpPage page;     // and as it was read, when everything else was
        char *known;       // tags of the list that the client has, as the leader knows them; NULL: none
        uint32_t wait_sec; // for the job to end; 0: not at all
        Argosy__EventKind kinds[EVENT_KINDS];
        size_t n_kinds;                 // of events; none: all
        EventPlace place;               // where events begin
        char cursor[EVENT_CURSOR_SIZE]; // EVENTS_FROM_CURSOR
        bool follow, says_follow;       // of a journal; says: the parameter was there
        uint32_t lines;                 // and the newest so many come first
        bool says_lines;
        const HttpStatic *file;         // of HTTP_STATIC
} HttpTarget;

// What may be done with one kind of thing.
typedef struct HttpRoute {
        HttpMethod method; // one
        const char *path;  // up to what stands for one of them
        HttpResource resource;
        bool has_name, has_number; // and then its name, or its number
        const char *tail;          // and what stands behind that; "": nothing
} HttpRoute;

// Of the API, in the order of the table; false: there are no more.
bool http_target_route(size_t i, HttpRoute *ret);
// A parameter that route `i` takes, by number; NULL: there are no more.
const char *http_target_parameter(size_t i, size_t k);

// 0: none that we know.
HttpMethod http_method_from_string(const char *text);
// As the header Allow has them, what may be done with the thing at that path; borrowed. "" if there is no such thing.
const char *http_target_methods(const char *text);

// 0; or -ENOENT: there is no such thing, -EPERM: but this is not how to use it, -EINVAL: it is no proper target, or has a parameter
// that means nothing there, -E2BIG: a parameter is there too often, and *ret_why (borrowed) says more; -ENOMEM. Nothing is in
// *ret then.
int http_target_parse(const char *text, HttpMethod method, HttpTarget *ret, const char **ret_why);
void http_target_done(HttpTarget *t);

// What is to be asked, as argosyctl would; to be freed. NULL: out of memory. Not of /healthz and /readyz, and not of what changes
// something (http-write.h).
Argosy__Request *http_target_request(const HttpTarget *t);
// What there is of HTTP_EVENTS behind the cursor; "": where the target says. lead: what its client was told of the leader; UNSAID: it is
// answered at once, also if there is nothing. To be freed; NULL: out of memory.
Argosy__Request *http_target_events(const HttpTarget *t, const char *cursor, Argosy__Request__Events__Lead lead);
// What stands behind the rows of one thing: why a unit is as it is, or its file. To be freed; NULL: out of memory.
Argosy__Request *http_target_aside(const HttpTarget *t);
// Whether anything does.
bool http_target_has_aside(const HttpTarget *t);
// It is asked how it was when a job was done (http-api-past.c).
bool http_target_is_past(const HttpTarget *t);
// The lines of HTTP_JOURNAL. again: only those that are written from now on. To be freed; NULL: out of memory.
Argosy__Request *http_target_journal(const HttpTarget *t, bool again);
// As `since` has it: a cursor, @JOB, or 0 for all there is. False: none of these, and nothing was changed.
bool http_target_set_place(HttpTarget *t, const char *place);
// Its answer goes on, for as long as the client wants.
bool http_target_streams(const HttpTarget *t);
// It changes something.
bool http_target_writes(const HttpTarget *t);
// Of these: nothing is changed, only asked in a body.
bool http_target_only_asks(const HttpTarget *t);
// It comes with a body.
bool http_target_has_body(const HttpTarget *t);
// It says how this process is and nothing else, so anybody may know.
bool http_target_is_open(const HttpTarget *t);
// The same of a target as it came, whatever else may be wrong with it.
bool http_target_is_public(const char *text);
// Its answer has a tag, and need not be sent to who has that.
bool http_target_is_tagged(const HttpTarget *t);
// Whether it is about one thing, which may not be there.
bool http_target_is_one(const HttpTarget *t);
bool http_target_is_job(const HttpTarget *t); // one job, or what it is about
// Whether something there was asked for.
bool http_target_wants_node(const HttpTarget *t, const char *node);
// Whether a row is in the states, and on the nodes, that were asked for: of units, of unit files, of nodes, of hosts.
bool http_target_wants(const HttpTarget *t, const Argosy__Response__UnitRow *row);
bool http_target_wants_file(const HttpTarget *t, const Argosy__Response__UnitFileRow *row);
bool http_target_wants_row_of_node(const HttpTarget *t, const Argosy__Response__NodeRow *row);
bool http_target_wants_host(const HttpTarget *t, const Argosy__Response__ClusterStatus__Member *row);
// Whether a page of that origin may change things: there is none, or it is ours, as the Host says. Either may be NULL.
bool http_origin_is_ours(const char *origin, const char *host);
