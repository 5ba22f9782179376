// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// JSON that a client sends: read by cJSON, after a look that says whether that is safe. A client's bytes;
// pure.

#include <cjson/cJSON.h>
#include <stddef.h>

enum {
        HTTP_JSON_DEPTH_MAX = 8,
        HTTP_JSON_VALUES_MAX =
                65536, // numbers, strings, ... in one text: cJSON keeps some 100 bytes for each
};

// An object, to be freed with cJSON_Delete(). text[len] is 0. 0; -EINVAL: it is none, or -E2BIG: too deep or
// too much, and *ret_why (borrowed) says more; -ENOMEM. There is nothing behind it but white space, no text
// in it has a NUL, and no object of it a member twice.
int http_json_parse(const char *text, size_t len, cJSON **ret, const char **ret_why);
// Likewise, an array.
int http_json_parse_list(const char *text, size_t len, cJSON **ret, const char **ret_why);
