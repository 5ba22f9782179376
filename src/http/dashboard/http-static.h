// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The files of the dashboard. They are the same on every host and say nothing of any cluster, so anybody may
// have them, who may ask for anything at all. Compiled in: tools/lib/static-files.py makes a table of what
// dashboard/meson.build lists.

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HTTP_STATIC_BYTES_MAX = 150 * 1024 }; // all together

typedef struct HttpStatic {
        const char *name, *type;
        const char *tag; // quoted, as ETag has it
        const uint8_t *bytes;
        size_t len;
} HttpStatic;

extern const HttpStatic http_static_files[]; // the last one has no name

// Finds a file by its name of `len` bytes; "": what stands at /. NULL: there is none.
const HttpStatic *http_static_find(const char *name, size_t len);
// Pure: whether one of the tags of an If-None-Match is that of the file. "*" is any.
bool http_static_is_known(const HttpStatic *f, const char *header);
// Whole, or that it is as the client has it; known: its If-None-Match, or NULL.
enum MHD_Result http_static_send(const HttpStatic *f, struct MHD_Connection *connection, const char *known);
