// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The files that a unit file names by [X-Argosy] File=, from the folder in which that stands:
// carried-files.h says what becomes of them.
//
// Only regular files are read, beneath that folder, and no link is followed on the way: root that applies a
// stranger's folder hands in nothing but what is in it. Hidden files in folders do not count, unless File=
// names them.

#include "drop-ins.h"
#include "argosy.pb-c.h"

typedef struct CarriedSources {
        ProtobufCBinaryData *list; // each content once, as NamedFile.files has them
        size_t n, allocated, bytes;
        char **names; // n_names paths beneath the folder, also of the files that a container names
        size_t n_names, names_allocated;
} CarriedSources;

void carried_sources_done(CarriedSources *c);

// Reads them and adds their manifest to `content`, which is the text of the unit or template `name` in that
// folder with its drop-ins; a manifest that it has already goes. What cannot be parsed stays as it is, for
// the parser to report. *ret is to be zeroed, and is to be ended also after an error. 0; a negative errno
// with a sentence appended to `why`; or -ENOMEM.
int carried_sources_read(const DropInFolder *folder, const char *name, Buf *content, CarriedSources *ret,
                         Buf *why);
