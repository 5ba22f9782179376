// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Images that argosy has pulled and that nothing here needs any more go when the disk gets full. See
// agent-image-removal.c.

#include "agent-core.h"

void agent_image_removal_open(Agent *a); // reads the record
void agent_image_removal_done(Agent *a);
// An image that was not here was pulled; argosy may remove it one day.
void agent_image_removal_pulled(Agent *a, const char *image);
// Whether argosy has pulled it before: if it is not here now, somebody has removed it.
bool agent_image_removal_knows(const Agent *a, const char *image);
// The leader has asked for it, for a unit whose order may be long in coming.
void agent_image_removal_called(Agent *a, const char *image);
// The unit gets another image in place of this one; NULL: it is gone.
void agent_image_removal_replaced(Agent *a, const char *unit, const char *image);
// Where podman keeps its images is known.
void agent_image_removal_store(Agent *a, const char *list);
// A pull has ended, or a content has gone: it is looked whether there is room.
void agent_image_removal_look(Agent *a);
void agent_image_removal_turn(Agent *a);
void agent_image_removal_drop(Agent *a); // ends what is under way
