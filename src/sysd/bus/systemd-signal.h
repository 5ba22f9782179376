// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What systemd tells by itself, as plain structs that borrow from the signal.

#include "bus-signal.h"
#include "unit-runtime.h"

// The body of PropertiesChanged, of the type "sa{sv}as". *ret has what concerns us, has=0 if nothing does. 0
// or -EBADMSG: the peer is not a systemd that we know.
int signal_read_changes(BusSignal *signal, UnitFacts *ret);
