// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The daemon's life in three files: run.c begins it, run-handles.c has what the loop asks for meanwhile,
// run-end.c ends it.

#include "config.h"
#include "daemon.h"

// run-handles.c
void run_open_handles(Daemon *d);
// Before that, and only of the daemon that has the process for itself. Nothing comes of them until the loop
// runs.
void run_watch_signals(Daemon *d, uv_loop_t *loop);
void run_close_handles(Daemon *d);
int run_load_config(const Daemon *d, Config *ret); // as config_load()
// the configuration is read again; one that cannot be read leaves the one that there is
void run_reload(Daemon *d);

// run-end.c
void run_end(Daemon *d, DaemonEnd how); // once; later calls do nothing but make a new beginning an end
// The loop, from when all is being closed until that is done and what was to be written is, or the deadline
// of the end. False: there is something left, in the pool perhaps, which may take minutes: nothing may be
// freed, and exit() would join the pool's threads.
bool run_out(Daemon *d);
// After run_end(): all is closed, and what was to be written is. For a caller that runs the loop itself.
bool run_is_over(const Daemon *d);
void run_on_identity_replaced(Daemon *d); // the join, or the reset, that was under way has put it in place
// The machine shuts down: goes on with what can be done by now.
void run_shut_down_on(Daemon *d);
// False: there is nothing to hand over, or nobody to take it.
bool run_hand_over(Daemon *d);
