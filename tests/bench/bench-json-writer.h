// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Rows that several writers of JSON write; also for the one that is C++.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { JSON_ROW_STRINGS = 7 };

typedef struct JsonRow {
        const char *strings[JSON_ROW_STRINGS];
        bool drift;
        uint64_t since;
} JsonRow;

extern const char *const json_row_keys[JSON_ROW_STRINGS];

// How many bytes were written; 0: it was not there when this was built.
size_t rapidjson_write(const JsonRow *rows, size_t n);

#ifdef __cplusplus
}
#endif
