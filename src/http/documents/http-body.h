// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The document that is answered, written piece by piece as its reader takes it: however long it is, no more
// than a few rows of it are in memory as JSON. Rows are those of row-fields.h.
//
//      {"no_leader":false,"units":[{...},...]}
//      {"no_leader":false,"units":[{...},...],"why":[{...},...]}  of one unit
//      {"no_leader":false,"unit_files":[{...}],"file":"..."}      of one
//      {"no_leader":false,"usage":[{...},...],"errors":["...",...]}
//      {"job":17,"cursor":"...","units":[{...},...]}              of what changes something
//
// "stale_ms", "message", "held", and "next" of a list of which there is another page, are there only if
// there is something to say. Pure.

#include <sys/types.h>

#include "http-target.h"

// A Response, packed.
typedef struct HttpPart {
        uint8_t *data;
        size_t len;
} HttpPart;

typedef struct HttpBody HttpBody;

// How is called what stands behind the rows of such a document; NULL: nothing does.
const char *http_body_aside(HttpResource resource);
// Takes both kinds of parts, and what is in `target`, also when it fails (NULL: out of memory). asides: what
// stands behind the rows; each an answer to Why or Cat, or of a node that could not be read.
HttpBody *http_body_new(HttpTarget *target, HttpPart *parts, size_t n_parts, HttpPart *asides,
                        size_t n_asides);
// Where the next page begins, if there is one: before anything was read.
bool http_body_next(HttpBody *b, char ret[HTTP_PAGE_SIZE]);
void http_body_free(HttpBody *b);
// How many bytes were written to `buf`; 0: that was all of it; -ENOMEM or -EBADMSG: what was read so far is
// not to be used.
ssize_t http_body_read(HttpBody *b, char *buf, size_t max);
void http_parts_free(HttpPart *parts, size_t n_parts);
