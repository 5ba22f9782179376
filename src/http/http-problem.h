// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Errors as programs get them: problem documents (RFC 9457). Pure.

// The status of HTTP that says what a positive errno value means here.
unsigned http_status_of(int error);
// The document; `detail` is for people, NULL: there is nothing more to say. NULL: out of memory.
char *http_problem(unsigned status, const char *detail);
