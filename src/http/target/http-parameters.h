// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What may stand in a target besides its fixed words: parameters of a query, and names in a path. One table
// of each, which the parser and the description read. Pure; a client's bytes.

#include "http-resource.h"

// The shape of a value, in the OpenAPI description.
typedef enum HttpShape {
        SHAPE_ANY,
        SHAPE_BOOL,
        SHAPE_NUMBER,
        SHAPE_NUMBER_OR_NULL,
        SHAPE_NUMBER_OR_TEXT,
        SHAPE_NUMBERS,
        SHAPE_OBJECT,
        SHAPE_OBJECTS,
        SHAPE_TEXT,
        SHAPE_TEXT_OR_NULL,
        SHAPE_TEXTS,
        SHAPE_TEXTS_BY_NAME, // an object
        SHAPE_FILES_BY_NAME, // likewise, of texts or objects
} HttpShape;

typedef struct HttpParameter {
        const char *name;
        unsigned takes;   // of a query: the bit of HttpResourceRow.takes
        const char *kind; // of a path: as it stands there in braces; `name` is how people see it
        bool is_encoded;  // of a path: its value may have percent signs
        bool is_needed;   // of a query: it may not be left out
        HttpShape shape;  // TEXTS: it may be there several times
        const char *words;
        uint64_t least, most; // of a number; most 0: no more is said of it
        // What it keeps of the value it takes out of *value. 0; -EINVAL, -E2BIG or -ENOENT, and *ret_why
        // (borrowed) says more; -ENOMEM.
        int (*read)(HttpTarget *t, char **value, const char **ret_why);
        const char *refusal; // of a path: of a value that cannot be decoded
} HttpParameter;

// The i-th parameter, in the order of the description; NULL: there are no more.
const HttpParameter *http_parameter(size_t i);
// That the resource takes, of that name; NULL: it takes none.
const HttpParameter *http_parameter_find(HttpResource r, const char *name, size_t len);
// At that place of a path, which is behind the brace. Never NULL.
const HttpParameter *http_parameter_of_path(const char *kind);
// As `since` has it: a cursor, @JOB, or 0 for all there is. False: none of these, and nothing was changed.
bool http_target_set_place(HttpTarget *t, const char *place);
