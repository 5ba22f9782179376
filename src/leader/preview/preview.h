// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What a Change would do, and what would follow from that.

#include "preview-units.h"
#include "leader-core.h"
#include "macro.h"

// What becomes of a Change: made (NULL: out of memory), its units planned, all of them at once or one chunk
// after the other, then what follows from it, then its words; and freed, in any case. `in_turns`: each of
// these may be in a turn of its own, as long as it is not outdated and the log says nothing new.
typedef struct Preview Preview;
Preview *preview_new(Leader *l, bool in_turns) _warn_unused_;
Preview *preview_free(Preview *p);
bool preview_is_outdated(const Preview *p);
// Before the units of `change`, or what follows, are planned in a turn; and after, whatever both have
// returned.
int preview_enter(Preview *p, const Argosy__Request__Change *change);
void preview_leave(Preview *p);
int preview_units(Preview *p, const Argosy__Request__Change *change);
// Whether the unit has come where its name is somebody else's, which was not so before: it is excluded there
// from now on. `node` 0: on all nodes, of one that runs on all of them.
typedef bool (*PreviewRefuses)(const char *name, uint32_t node, void *userdata);
int preview_follow(Preview *p, PreviewRefuses refuses, void *userdata); // `refuses` may be NULL
// Each unit that is planned, when it is known what follows, with its content, which is there as long as the
// plan's turn, but not the pointer to it; NULL: that is not known.
typedef int (*PreviewEach)(PreviewUnit *u, const ProtobufCBinaryData *content, void *userdata);
int preview_each(Preview *p, PreviewEach each, void *userdata);
int preview_describe(Preview *p, Argosy__Response **ret);
