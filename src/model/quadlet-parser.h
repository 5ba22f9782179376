// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Private to the model: a container's section while the lines of a content go by.

#include <stdbool.h>

#include "failing-parser.h"
#include "ini-reader.h"
#include "unit-options-private.h"

typedef struct QuadletClaim {
        char *what; // specifiers not expanded
        unsigned line;
} QuadletClaim;

typedef struct QuadletNamed {
        char *file;      // "data.volume"
        const char *key; // that names it
        unsigned line;
        bool came;
} QuadletNamed;

typedef struct QuadletParser {
        bool is_container;
        bool was_container;               // what a generator made of one is read: [X-Argosy] is as it was
        unsigned image_line, rootfs_line; // of what holds; 0: not given
        // Of the first Volume=, Mount= and PodmanArgs= with data that stays on a node.
        unsigned volume_data_line, mount_data_line, args_data_line;
        unsigned shares_line;             // of Network=container:NAME
        unsigned volume_loss_line;        // of VolumeLoss=accept
        unsigned pin_line;                // of ImagePin=
        QuadletClaim *claims;             // what it has on its node alone: "port 8080/tcp", "container db"
        size_t n_claims, claims_allocated;
        QuadletNamed *named; // files beside this one
        size_t n_named, named_allocated;
} QuadletParser;

void quadlet_parser_done(QuadletParser *q);

// A section's begin, a line of [Container], and VolumeLoss=. 0, -EINVAL and *ret_why as option_refuse(), or
// -ENOMEM.
int quadlet_on_section(QuadletParser *q, const char *path, const IniLine *line, char **ret_why);
int quadlet_on_container(QuadletParser *q, const char *path, const IniLine *line, char **ret_why);
int quadlet_on_volume_loss(QuadletParser *q, const char *path, const IniLine *line, char **ret_why);
// ImagePin= likewise (content-image.c).
int content_image_on_pin(QuadletParser *q, const char *path, const IniLine *line, char **ret_why);

// Another unit of the node may not have that; takes `what`, NULL: out of memory.
int quadlet_add_claim(QuadletParser *q, unsigned line, char *what);

// A file of len bytes that stands beside the container's is named by that key. Results as above.
int quadlet_named_add(QuadletParser *q, const char *path, const IniLine *line, const char *key,
                      const char *file, size_t len, char **ret_why);
// An empty assignment undoes those of the key; NULL: all.
void quadlet_named_drop(QuadletParser *q, const char *key);
// When all lines are known: the files that are named are those that came. Results likewise.
int quadlet_take_beside(QuadletParser *q, const char *path, const void *content, size_t len, char **ret_why);

// What [X-Argosy] beside it says.
typedef struct QuadletOptions {
        const RawOption *raw;
        size_t n_raw;
        bool global;        // Global=
} QuadletOptions;

// When all lines are known: what a container cannot have beside it, and what follows from its data: in
// `failing`, and *stays as by Rebalance=no, which is else left as it is. Results likewise.
int quadlet_finish(const QuadletParser *q, const char *path, const QuadletOptions *options,
                   FailingParser *failing, bool *stays, char **ret_why);
