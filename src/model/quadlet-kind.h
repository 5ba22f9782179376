// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Kinds of files that a container names and that go with it (quadlet.c). Pure.

#include <stddef.h>

typedef struct QuadletKind {
        const char *suffix; // of the file's name
        const char *unit;   // what stands in its place in the name of the unit that is made of it
        const char *is;     // what a node has one of under that name; NULL: a container, which is placed
} QuadletKind;

// Of a file's name of len bytes; NULL: of none of them.
const QuadletKind *quadlet_kind(const char *name, size_t len);
