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

typedef struct QuadletParser {
        bool is_container;
        bool was_container;               // what a generator made of one is read: [X-Argosy] is as it was
        unsigned image_line, rootfs_line; // of what holds; 0: not given
        unsigned data_line;               // of the first Volume= or Mount= with data that stays on a node
        unsigned shares_line;             // of Network=container:NAME
        unsigned volume_loss_line;        // of VolumeLoss=accept
        QuadletClaim *claims;             // what it has on its node alone: "port 8080/tcp", "container db"
        size_t n_claims, claims_allocated;
} QuadletParser;

void quadlet_parser_done(QuadletParser *q);

// A section's begin, a line of [Container], and VolumeLoss=. 0, -EINVAL and *ret_why as option_refuse(), or
// -ENOMEM.
int quadlet_on_section(QuadletParser *q, const char *path, const IniLine *line, char **ret_why);
int quadlet_on_container(QuadletParser *q, const char *path, const IniLine *line, char **ret_why);
int quadlet_on_volume_loss(QuadletParser *q, const char *path, const IniLine *line, char **ret_why);

// What [X-Argosy] beside it says.
typedef struct QuadletOptions {
        const RawOption *raw;
        size_t n_raw;
        unsigned file_line; // of the first File=; 0: none
        bool global;        // Global=
} QuadletOptions;

// When all lines are known: what a container cannot have beside it, and what follows from its data: in
// `failing`, and *stays as by Rebalance=no, which is else left as it is. Results likewise.
int quadlet_finish(const QuadletParser *q, const char *path, const QuadletOptions *options,
                   FailingParser *failing, bool *stays, char **ret_why);
