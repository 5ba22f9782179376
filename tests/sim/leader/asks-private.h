// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The functions of the table in asks.c. `message`: of the kind that its row names, initialised.

#include "asks.h"

// asks-units.c
bool ask_change(Draw *d, void *message);
bool ask_change_several(Draw *d, void *message);
bool ask_list_units(Draw *d, void *message);
bool ask_undo(Draw *d, void *message);

// asks-nodes.c
bool ask_node_change(Draw *d, void *message);
bool ask_label_change(Draw *d, void *message);
