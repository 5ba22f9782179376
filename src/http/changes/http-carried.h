// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Files that come with units, among the files of a body (carried-files.h):
// {"web.service":"...","conf/a.conf":"..."}. What is no text is {"content":"...","encoding":"base64"}, a
// program has "executable":true.

#include <cjson/cJSON.h>

#include "argosy.pb-c.h"
#include "carried-files.h"

typedef struct HttpCarriedFile {
        const char *name; // borrowed from the body
        ProtobufCBinaryData bytes; // likewise, or `decoded`
        uint8_t *decoded;
        bool executable, used;
        Hash hash;
} HttpCarriedFile;

typedef struct HttpCarried {
        HttpCarriedFile *list;
        size_t n, allocated;
        Buf *composed; // contents that unit files got
        ProtobufCBinaryData **lists; // NamedFile.files of these
        size_t n_composed, composed_allocated, lists_allocated;
} HttpCarried;

void http_carried_done(HttpCarried *c);
// Whether a file of that name is neither a unit's nor a drop-in, and could come with one.
bool http_carried_is_one(const char *name);
// Notes one. 0; -EINVAL and *ret_why; -ENOMEM.
int http_carried_add(HttpCarried *c, const cJSON *value, char **ret_why);
// When all are noted: gives each unit file those that it names, with their manifest. Contents are valid
// until `c` is ended. Errors as above.
int http_carried_take(HttpCarried *c, Argosy__NamedFile *files, size_t n_files, char **ret_why);
// One that no unit file names then: it is to be refused. NULL: there is none.
const char *http_carried_unused(const HttpCarried *c);
