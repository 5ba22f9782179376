// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Contents of containers: a tag of one of a few images, and what they write. The registry and what hosts
// have of it are the program's own.

#include "argosy.pb-c.h"
#include "buf.h"
#include "world-units.h"

enum { WORLD_IMAGES = 4, WORLD_NETWORKS = 2, WORLD_SUBNETS = 3 };

void world_images_begin(void);
// Appends the file of a container, and notes in the content what it says.
void world_images_put(Draw *d, Buf *text, WorldContent *c);
// The tag of image `number`, from 1. From the story's memory.
const char *world_image_tag(unsigned number);
// Whether the contents are the same but for the file of the network that both name.
bool world_images_same_but_network(const uint8_t a[HASH_SIZE], const uint8_t b[HASH_SIZE]);
// The content of which one that the log has is a copy with a digest; NULL: it is none.
const WorldContent *world_images_find(const uint8_t hash[HASH_SIZE]);
