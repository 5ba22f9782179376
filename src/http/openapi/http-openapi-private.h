// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the parts of the description share: http-openapi.c has paths, http-openapi-schemas.c what they refer
// to by name, and http-openapi-rows.c what lists in that consist of.

#include "http-parameters.h"
#include "json.h"
#include "row-json.h"
#include "str.h"

enum { HTTP_OPENAPI_NAME_SIZE = 96 };

// Names of schemas that are of one kind of answer.
#define HTTP_OPENAPI_TAKEN "units_of_a_job" // of a change, and of a plan
#define HTTP_OPENAPI_ENDED "job"            // of a change that was waited for

// The name of what such a thing is answered with; "": it has none.
const char *http_openapi_schema(HttpResource r);
// Keys and values of a schema.
void http_openapi_shape(Json *j, HttpShape s);
void http_openapi_row(Json *j, const Row *row);
// Key and value.
void http_openapi_field(Json *j, const Field *f);
void http_openapi_components(Json *j);

// ---- JSON

static inline void text(Json *j, const char *key, const char *value) {
        json_strings(j, (const char *const[][2]){{key, value}}, 1);
}

static inline void number(Json *j, const char *key, uint64_t value) {
        json_key(j, key);
        json_u64(j, value);
}

static inline void begin(Json *j, const char *key) {
        json_key(j, key);
        json_begin(j, '{');
}

static inline void end(Json *j) {
        json_end(j, '}');
}

static inline void begin_list(Json *j, const char *key) {
        json_key(j, key);
        json_begin(j, '[');
}

static inline void list(Json *j, const char *key, const char *const *words, size_t n) {
        begin_list(j, key);
        for (size_t i = 0; i < n; i++)
                json_string(j, words[i]);
        json_end(j, ']');
}

static inline void refer(Json *j, const char *kind, const char *name) {
        char where[HTTP_OPENAPI_NAME_SIZE];

        str_fit(where, sizeof(where), "#/components/%s/%s", kind, name);
        text(j, "$ref", where);
}

// One of a list.
static inline void refer_one(Json *j, const char *name) {
        json_begin(j, '{');
        refer(j, "schemas", name);
        json_end(j, '}');
}

static inline void refer_by(Json *j, const char *key, const char *kind, const char *name) {
        begin(j, key);
        refer(j, kind, name);
        end(j);
}

static inline void property(Json *j, const char *name, HttpShape s) {
        begin(j, name);
        http_openapi_shape(j, s);
        end(j);
}

static inline void write_content(Json *j, const char *type, const char *schema) {
        begin(j, type);
        if (*schema)
                refer_by(j, "schema", "schemas", schema);
        end(j);
}
