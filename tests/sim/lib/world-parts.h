// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What a unit's content has besides its own file: drop-ins, and files that come with it (File=).

#include "buf.h"
#include "world-units.h"

// Appends the lines that name files, in some stories with places beneath /etc, and notes them in the
// content.
void world_parts_name_files(Draw *d, Buf *lines, WorldContent *c, const WorldUnit *u);
// Appends what the client adds to a text whose files it has read.
void world_parts_put_manifest(Buf *text, const WorldContent *c, const char *name);
// Appends drop-ins: in systemd's order, or out of it, so that some are mere comments.
void world_parts_put_drop_ins(Draw *d, Buf *text, WorldContent *c, const WorldUnit *u);
