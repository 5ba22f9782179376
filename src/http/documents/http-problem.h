// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Errors as programs get them: problem documents (RFC 9457). Pure.

typedef struct Json Json;

// Borrowed; what is NULL or 0 is not said.
typedef struct HttpProblem {
        unsigned status;
        const char *detail; // for people
        const char *unit, *node;
        unsigned line; // of the unit's file
} HttpProblem;

// The status of HTTP that says what a positive errno value means here.
unsigned http_status_of(int error);
// The document. NULL: out of memory.
char *http_problem(const HttpProblem *problem);
// What stands in it, as members of an object that has begun.
void http_problem_members(const HttpProblem *problem, Json *j);
