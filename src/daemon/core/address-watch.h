// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Says when this machine's addresses have changed: at boot the network may come after us, and later a lease
// may end, a cable move, an interface come.

#include <uv.h>

typedef struct AddressWatch AddressWatch;

// `changed` fires from the loop, once for what changes within a moment. Negative errno: no such news from
// this kernel.
int address_watch_new(uv_loop_t *loop, void (*changed)(void *userdata), void *userdata, AddressWatch **ret);
// `changed` does not fire any more; `closed` does, and the watch is gone.
void address_watch_close(AddressWatch *w, void (*closed)(void *userdata), void *userdata);
