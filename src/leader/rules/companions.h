// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Templates that are to stand on a node beside units which systemd may start instances of them for: the
// template that OnFailure= or OnSuccess= names, that of a socket with Accept=yes. Counted by node, so that a
// template is there as long as one unit on the node needs it. Pure.

#include <stdbool.h>
#include <stdint.h>

#include "map.h"

enum { COMPANIONS_EVERYWHERE = 0 }; // as a node: those of units that run on all nodes

typedef struct Companions {
        Map users; // private: by name of the unit
        Map nodes; // private: by number of the node
} Companions;      // zero-initialised: nothing

void companions_done(Companions *c);
// The unit is on this node and needs these `n` templates there; n 0: none (any more). Calls `changed` for
// each node that needs others than before. 0 or -ENOMEM (then it needs none).
int companions_set(Companions *c, const char *name, uint32_t node, char *const *templates, size_t n,
                   void (*changed)(uint32_t node, void *userdata), void *userdata) _warn_unused_;
bool companions_is_empty(const Companions *c); // no unit needs any
// Calls `each` for every template that the node needs.
void companions_foreach(const Companions *c, uint32_t node,
                        void (*each)(const char *template, void *userdata), void *userdata);
// Calls `each` for every node that needs the template.
void companions_foreach_node(const Companions *c, const char *template,
                             void (*each)(uint32_t node, void *userdata), void *userdata);
