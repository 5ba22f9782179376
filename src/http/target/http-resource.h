// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What there is over HTTP: one row per resource (http-resource-rows.h), which parser, writer and description
// read. Pure.

#include <stdbool.h>
#include <stddef.h>

#include "argosy.pb-c.h"
#include "event-cursor.h"
#include "event-kind.h"
#include "hash.h"
#include "http-page.h"
#include "http-static.h"
#include "row-json.h"
#include "state-words.h"

typedef enum HttpResource {
#define RESOURCE(name, ...) HTTP_##name,
#include "http-resource-rows.h"
        HTTP_RESOURCES,
} HttpResource;

// Bits.
typedef enum HttpMethod {
        HTTP_GET = 1 << 0, // and HEAD
        HTTP_POST = 1 << 1,
        HTTP_PUT = 1 << 2,
        HTTP_DELETE = 1 << 3,
} HttpMethod;

// Bits: parameters of a query.
enum {
        TAKES_PATTERN = 1 << 0,
        TAKES_STATE = 1 << 1,
        TAKES_NODE = 1 << 2,
        TAKES_LABEL = 1 << 3,
        TAKES_AUTHOR = 1 << 4,
        TAKES_PAGE = 1 << 5,
        TAKES_WAIT = 1 << 6,
        TAKES_EVENTS = 1 << 7,
        TAKES_SINCE = 1 << 8,
        TAKES_JOURNAL = 1 << 9,
        TAKES_JOBS = 1 << 10,
        TAKES_AT = 1 << 11,
};

// Bits.
typedef enum HttpTrait {
        HTTP_IS_OPEN = 1 << 0,     // it says how this process is and nothing else, so anybody may know
        HTTP_IS_PUBLIC = 1 << 1,   // no token is wanted
        HTTP_IS_TAGGED = 1 << 2,   // its answer has a tag, and need not be sent to who has that
        HTTP_IS_ONE = 1 << 3,      // it is about one thing, which may not be there
        HTTP_IS_JOB = 1 << 4,      // one job, or what that is about
        HTTP_IS_STREAM = 1 << 5,   // its answer goes on, for as long as the client wants
        HTTP_IS_WRITTEN = 1 << 6,  // its Request is made of body and headers (http-write.h)
        HTTP_IS_OF_A_JOB = 1 << 7, // of these: it is answered as a change is
        HTTP_CHANGES = 1 << 8,     // of these: something is changed; without it, only asked
        HTTP_IS_CHANGE = HTTP_IS_WRITTEN | HTTP_IS_OF_A_JOB | HTTP_CHANGES,
} HttpTrait;

enum {
        HTTP_PATTERNS_MAX = 64,
        HTTP_STATES_MAX = 16,
        HTTP_LIMIT_MAX = 1000,       // rows that may be asked for at once
        HTTP_LABELS_MAX = 16,
        HTTP_METHODS_SIZE = 32,
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

// What is asked for, as http-target.h reads it. Zeroed is empty.
typedef struct HttpTarget {
        HttpResource resource;
        char *name; // of one of the things; else NULL
        char *patterns[HTTP_PATTERNS_MAX];
        size_t n_patterns;
        char *states[HTTP_STATES_MAX]; // any of load, active and sub state; none: all
        size_t n_states;
        char *nodes[HTTP_STATES_MAX]; // where a unit is; none: anywhere
        size_t n_nodes;
        // KEY=VALUE, of the node where a unit is, or of nodes; it has all of them
        char *labels[HTTP_LABELS_MAX];
        size_t n_labels;
        // of HTTP_JOB; of HTTP_DIFF: from which on; of HTTP_UNIT_FILE: as it was then; 0: now
        uint64_t job;
        uint64_t to_job;   // of HTTP_DIFF; 0: up to now
        char rev[HASH_HEX_SIZE]; // of HTTP_UNIT_FILE: the content of that hash; empty: what the unit has
        uint32_t first_unit; // of HTTP_JOB: so many of its units have come (work-rows.c)
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
        const HttpStatic *file;         // of the dashboard
} HttpTarget;

// What stands behind the rows of a document.
typedef enum HttpAside {
        HTTP_ASIDE_NOTHING,
        HTTP_ASIDE_WHY,    // why a unit is as it is, on each node
        HTTP_ASIDE_FILE,   // the file of a unit, or null
        HTTP_ASIDE_ERRORS, // nodes that could not be read
        HTTP_ASIDES,
} HttpAside;

// The rows of a response; borrowed. write: NULL: as the resource's `row` has it.
typedef struct HttpRows {
        void *const *rows;
        size_t n;
        void (*write)(const void *row, const Argosy__Response *of, Json *j);
} HttpRows;

typedef struct HttpResourceRow {
        HttpMethod method; // one
        const char *path;
        unsigned takes;
        const char *words;
        unsigned is;
        Argosy__Request *(*ask)(const HttpTarget *t); // NULL: it asks nothing, or otherwise
        Argosy__Request__WhatCase request;            // of a question that has no members
        bool has_states;                              // ?state= means `states`; else a row may be in any
        StateWordsOf states;
        // the document; key NULL: it is none of rows
        const char *key; // of the rows
        const Row *row;  // what each has; NULL: it is a text
        Argosy__Response__WhatCase response;
        size_t in_response,
                in_list; // where the list stands, and in that the number of rows; the rows are behind it
        void (*find)(const Argosy__Response *r, HttpRows *ret); // otherwise
        void (*write)(const void *row, const Argosy__Response *of, Json *j);
        bool (*wants)(const HttpTarget *t, const void *row, const Argosy__Response *of); // NULL: every row
        const Row *beside; // what stands beside the rows, of the list's message
        HttpAside aside;
        const char *schema; // its name in the description; NULL: as the rows are called
        // what comes with it
        const char *body,
                // type, and its name in the description; NULL: it has no body, or may be anything of
                // that type
                *body_schema;
} HttpResourceRow;

// All rows are one array.
const HttpResourceRow *http_resource(HttpResource r);
static inline bool http_resource_is(HttpResource r, HttpTrait trait) {
        return http_resource(r)->is & trait;
}
// For people, and not told of: the page of the dashboard.
static inline bool http_resource_is_page(HttpResource r) {
        return r >= HTTP_DASHBOARD;
}
// What is to be asked, as argosyctl would; to be freed. NULL: out of memory. Not of what changes something
// (http-write.h), and what asks nothing or several questions.
Argosy__Request *http_resource_request(const HttpTarget *t);
// Those of a response; none, if it is of another kind.
HttpRows http_resource_rows(HttpResource r, const Argosy__Response *response);
// What stands beside these, of `beside`; NULL: nothing does.
const void *http_resource_beside(HttpResource r, const Argosy__Response *response);
// Its one job; NULL: it has none, or many.
const Argosy__Response__JobRow *http_resource_job(const Argosy__Response *r);

// What there is of HTTP_EVENTS behind the cursor; "": where the target says. lead: what its client was told
// of the leader; UNSAID: it is answered at once, also if there is nothing. To be freed; NULL: out of memory.
Argosy__Request *http_resource_events(const HttpTarget *t, const char *cursor,
                                      Argosy__Request__Events__Lead lead);
// What stands behind the rows of one thing: why a unit is as it is, or its file. To be freed; NULL: out of
// memory.
Argosy__Request *http_resource_aside(const HttpTarget *t);
// The lines of HTTP_JOURNAL. again: only those that are written from now on. To be freed; NULL: out of
// memory.
Argosy__Request *http_resource_journal(const HttpTarget *t, bool again);
