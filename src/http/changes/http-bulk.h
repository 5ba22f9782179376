// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Many operations in one body, one on each line (NDJSON), and a line of answer for each.
//
//      the thread   http_bulk_parse()     body -> operations -> steps
//      the loop     work-bulk.c       each step in its order: Request -> Responses
//      the thread   http_bulk_answer()    steps -> lines
//
// A step is one Request, which is one job. Operations that follow each other, do the same to units that the
// others do not name and say the same for the job are one step: a thousand lines are one entry of the log,
// as one operation that names a thousand units is. Which operations make a step follows from the body alone,
// and the id of a step from the key and its place. So who sends a body again under its key has nothing done
// twice, wherever it was interrupted. Pure; it reads a client's bytes.

#include "event-cursor.h"
#include "http-body.h"
#include "http-write.h"

enum {
        HTTP_LINES_BYTES_MAX = 32 * 1024 * 1024, // of such a body
        HTTP_LINES_MAX = 20000,
        HTTP_STEP_BYTES = 4 * 1024 * 1024, // of unit files, beyond which no more operations join a step
};

typedef struct HttpBulkStep {
        Argosy__Request *request; // until it is sent
        size_t n_names;           // of a change of units
        // how it was answered
        bool answered;
        int status; // 0, or a positive errno
        char *message;
        uint64_t job; // 0: none
        bool held;
        char cursor[EVENT_CURSOR_SIZE];
        HttpPart *parts; // of Changes
        size_t n_parts, n_units;
        HttpPart end; // the row of the job, which has ended; data NULL: it has not, or nobody waited
} HttpBulkStep;

// One line of the body. An operation on units has the names [first, first + n_names) of its step.
typedef struct HttpOperation {
        size_t line, step, first, n_names;
} HttpOperation;

typedef struct HttpBulk {
        HttpBulkStep *steps;
        size_t n_steps, steps_allocated;
        HttpOperation *operations;
        size_t n_operations, operations_allocated;
} HttpBulk;

// body[len] is 0; lines are cut out of it. 0; or -EINVAL, -E2BIG, -ENOMEM, *ret_why as http_write_parse(),
// and *ret_line where (0: nowhere).
int http_bulk_parse(const HttpTarget *t, const HttpWriteHeaders *headers, char *body, size_t len,
                    HttpBulk **ret, char **ret_why, unsigned *ret_line);
void http_bulk_free(HttpBulk *b); // NULL is fine

// The lines, and how many bytes. NULL: out of memory, or an answer that cannot be read.
char *http_bulk_answer(const HttpBulk *b, size_t *ret_len);
