// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Drop-ins among the files of a body: {"web.service":"...","web.service.d/10-limits.conf":"..."} brings one
// content (unit-parts.h). An instance's unit file, and its own drop-ins beside its template's file, are as
// in a folder.

#include "arena.h"
#include "argosy.pb-c.h"
#include "unit-parts.h"

// A template's file and its drop-ins are copied for each instance that has drop-ins of its own. The client's
// account knows of the bytes that came. So all that is composed has so many times these bytes at most, or a
// few if little came.
enum {
        HTTP_COMPOSED_TIMES = 8,
        HTTP_COMPOSED_FEW = 64 * 1024,
        HTTP_COMPOSED_MAX = 4 * 1024 * 1024,
};

typedef struct HttpDropIns {
        UnitPart *list; // borrowed from the body
        size_t n;
        Buf *composed; // contents that files got
        size_t n_composed, composed_allocated;
        size_t bytes, most; // of these
} HttpDropIns;

void http_drop_ins_done(HttpDropIns *d);
// Whether a file of that name is a drop-in.
bool http_drop_ins_is_one(const char *name);
// Notes one. 0; -EINVAL and *ret_why; -ENOMEM.
int http_drop_ins_add(HttpDropIns *d, char *path, char *content, char **ret_why);
// When all are noted: gives each file what belongs to it, and each instance that only has drop-ins a file of
// its own behind them, for which `files` grows. Contents are valid until `d` is ended, names of such
// instances as long as the arena. Errors as above.
int http_drop_ins_take(HttpDropIns *d, Arena *arena, Argosy__NamedFile **files, size_t *n_files,
                       char **ret_why);
