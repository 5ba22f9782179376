// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// JSON, written as it comes: into a buffer, and from there to a file if there is one, row by row. Nothing
// else is kept, so a list of a million rows costs no memory.
//
// Strings are made valid UTF-8 on the way (each byte that is not becomes U+FFFD). Errors of the file are
// for the caller to see with ferror() at the end.

#include <stdbool.h>
#include <stdio.h>

#include "buf.h"
#include "macro.h"

enum { JSON_DEPTH_MAX = 16 };

// Zero-initialised is one that keeps its text, on one line.
typedef struct Json {
        FILE *f;     // borrowed: where the text goes; NULL: it stays in `text`, for the caller
        bool pretty; // one member a line, indented; else all on one line
        bool failed; // there was no memory for `text`, and something is missing; never with a file
        bool after_key;
        unsigned depth;
        bool used[JSON_DEPTH_MAX]; // something stands at this depth already
        Buf text;
} Json;

void json_begin(Json *j, char bracket); // '[' or '{'
void json_end(Json *j, char bracket);   // ']' or '}'
void json_key(Json *j, const char *key);
void json_string(Json *j, const char *value);
void json_strings(Json *j, const char *const pairs[][2], size_t n); // keys and values
void json_u64(Json *j, uint64_t value);
void json_i64(Json *j, int64_t value);
void json_bool(Json *j, bool value);
void json_null(Json *j);
// Members of an object: a key and its value.
void json_member_begin(Json *j, const char *key, char bracket);
void json_member_string(Json *j, const char *key, const char *value);
void json_member_u64(Json *j, const char *key, uint64_t value);
void json_member_bool(Json *j, const char *key, bool value);
void json_u64_or_null(Json *j, const char *key, uint64_t value, bool known);
void json_tenths(Json *j, uint64_t tenths); // 125 as 12.5
// The newline behind the outermost value. With a file everything is in it now, and nothing is left to be
// freed.
void json_finish(Json *j);
void json_done(Json *j); // frees the text; of one without a file
