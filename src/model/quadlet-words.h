// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Values of Quadlet's keys as podman reads them (quadlet-words.c). Pure.
//
//      Image=, ContainerName=, VolumeName= ...    one value; quotation marks around it do not count
//      EnvironmentFile=, Mount=                   words between blanks, with quotation marks and escapes
//      a word of Mount=                           fields between commas: TYPE and SOURCE, and options
//      PodmanArgs=                                words that podman reads: among them are volumes, too
//
// Volume=, Network= and PublishPort= are taken as they stand.

#include <stdbool.h>

// Those of one value. NULL: out of memory.
char *quadlet_plain(const char *value);

// Calls `each` for every word, which it may change. What that returns but 0 ends it and is returned. 0 or
// -ENOMEM.
int quadlet_words(const char *value, int (*each)(char *word, void *userdata), void *userdata);

typedef struct QuadletMount { // points into its word
        const char *type;     // "": not said
        const char *source;   // NULL: none
        bool read_only;
} QuadletMount;

// Of one word of Mount=, which is changed.
QuadletMount quadlet_mount_of(char *word);
// Whether podman is told of a volume or a path of the host, to which the container may write.
bool quadlet_volume_has_data(const char *value);
bool quadlet_mount_has_data(const QuadletMount *mount);

// Calls `each` for every Volume= and Mount= that PodmanArgs= says in podman's own words ("-v data:/data"),
// likewise.
int quadlet_args(const char *value, int (*each)(const char *key, char *word, void *userdata),
                 void *userdata);

// Of every word of Mount=, likewise.
int quadlet_mounts(const char *value, int (*each)(const QuadletMount *mount, void *userdata),
                   void *userdata);
