// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// One member of a change as JSON has it: how it is read, into which field of a message, and what the
// description says of it. One row says all three, so they cannot differ. Pure; a client's bytes.

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "http-parameters.h"

typedef struct HttpMember HttpMember;

// What is read is borrowed from the JSON and the arena.
typedef struct HttpReading {
        Arena *arena;
        char **ret_why;
} HttpReading;

// One kind of value. `read` gets NULL if a member is required and not there, and refuses that; it is NULL if
// somebody else reads such members. 0; or -EINVAL, and *ret_why, a new text that names the member, says
// more; -ENOMEM.
typedef struct HttpMemberKind {
        HttpShape shape;
        int (*read)(HttpReading *g, const HttpMember *m, const cJSON *value, void *message);
} HttpMemberKind;

struct HttpMember {
        const char *name; // NULL: the end of a list
        const HttpMemberKind *kind;
        bool required;
        size_t at;    // offset of the field
        size_t other; // of the second one, of kinds that have two
        uint64_t max; // of numbers, and of spans in seconds
};

// The kinds, and the type of the field `at`, and of `other` where there is one:
extern const HttpMemberKind http_member_text;        // char *; never empty
extern const HttpMemberKind http_member_flag;        // protobuf_c_boolean
extern const HttpMemberKind http_member_number;      // uint64_t, from 1 to max
extern const HttpMemberKind http_member_number32;    // uint32_t, likewise
extern const HttpMemberKind http_member_numbers;     // uint64_t *, size_t; not empty, from 1 to
                                                     // HTTP_NUMBER_MAX
extern const HttpMemberKind http_member_texts;       // char **, size_t; not empty if required
extern const HttpMemberKind http_member_span_us;     // uint64_t, "30s"
extern const HttpMemberKind http_member_span_sec;    // uint64_t, likewise, in seconds
extern const HttpMemberKind http_member_span_sec32;  // uint32_t, likewise
extern const HttpMemberKind http_member_share;       // uint32_t, protobuf_c_boolean: 3, or "25%"
extern const HttpMemberKind http_member_labels;      // Argosy__Label **, size_t: {"zone": "a"}
extern const HttpMemberKind http_member_amounts;     // Argosy__Amount **, size_t: {"cpu": "1.5", "memory":
                                                     // "2G", "disks": 3}; null: none
extern const HttpMemberKind http_member_right;       // Argosy__Right: "view", "operate", "deploy", "admin"

#define HTTP_NUMBER_MAX UINT64_C(9007199254740992) // 2^53, beyond which not each number is one in JSON

// Reads those that `body` has, in the order of the list; whether it has others is the caller's to look at.
int http_members_read(HttpReading *g, const HttpMember *list, const cJSON *body, void *message);
// NULL: there is none of that name. `list` may be NULL.
const HttpMember *http_members_find(const HttpMember *list, const char *name);
bool http_value_is_text(const cJSON *value);                       // and not empty; NULL: no
bool http_value_is_number(const cJSON *value, uint64_t max);       // whole, from 1 on
void *http_reading_alloc(HttpReading *g, size_t n, size_t size);   // zeroed; NULL: no memory
