// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// systemd-manager.h without systemd: a PID 1 in memory that reads unit files from a directory and runs
// nothing. Linked before the sysd room it takes the place of the real connection. For tests of what the
// agent does; what the real one does is tested elsewhere.
//
// A unit is read when something loads it and leaves memory when it is inactive (as systemd's garbage
// collection does), unless it is pinned. Content decides: Type=oneshot stays activating until pid1_finish(),
// "/bin/false" fails, "ExecReload=false" fails to reload, "Requires=nobody.service" does not start,
// "[Broken" cannot be loaded. A timer whose service has no file does not start. What has "Requires=NAME" or
// "PartOf=NAME" is stopped with NAME; the former also starts NAME, and not without it. Lines of sections
// that begin with X- are nothing to systemd. NAME.wants/ is looked at when NAME is loaded, and never again.
// The FakePid1 outlives the SystemdManager that is connected to it, as PID 1 outlives argosyd.

#include <stdbool.h>
#include <stdint.h>

#include "argosy.pb-c.h"

typedef struct FakePid1 FakePid1;
struct SystemdConfig;

// The next systemd_manager_new() connects to this one.
FakePid1 *pid1_new(const char *unit_dir);
FakePid1 *pid1_free(FakePid1 *p);
// Likewise, of several.
void pid1_use(FakePid1 *p);
// Whoever is connected is gone without a word, and its memory with it, perhaps. The units stay as they are.
void pid1_abandon(FakePid1 *p);

// Which one a connection is to. NULL: that of pid1_use(), and it is there at once. Else one that has an
// open_socket is made when its owner has handed over a socket (systemd_manager_take_socket()), if that one
// runs then.
void pid1_on_connection(FakePid1 *(*find)(const struct SystemdConfig *config));
// A user's manager ends, in order or killed, and all that it runs; it is begun again with nothing.
void pid1_end(FakePid1 *p, bool in_order);
void pid1_begin(FakePid1 *p);
int pid1_socket(FakePid1 *p); // a new one that leads to it
bool pid1_is_reachable(const FakePid1 *p); // it runs, and neither reads its files nor executes itself again
// A unit of the system's own, of which no file matters: it is up, or down.
void pid1_set_active(FakePid1 *p, const char *name, bool active);

// Units: what somebody at the machine does, and what happened.
void pid1_start(FakePid1 *p, const char *name);
void pid1_stop(FakePid1 *p, const char *name);
void pid1_finish(FakePid1 *p, const char *name, bool well); // the main process ends
void pid1_reset_failed(FakePid1 *p, const char *name);
void pid1_pin(FakePid1 *p, const char *name);               // stays in memory when inactive
// What argosy pins, see systemd_manager_pin(). Pins do not wait for pid1_hold_jobs().
bool pid1_is_held(FakePid1 *p, const char *name);
void pid1_lose_pin(FakePid1 *p, const char *name);
void pid1_refuse_pins(FakePid1 *p);
void pid1_shut_down(FakePid1 *p);
void pid1_boot(FakePid1 *p);                       // again, in the same memory
unsigned pid1_runs(FakePid1 *p, const char *name); // how often it was started
bool pid1_is_active(FakePid1 *p, const char *name);
Argosy__ActiveState pid1_active_state(FakePid1 *p, const char *name);
const char *pid1_content(FakePid1 *p,
                         const char *name); // what it has in memory; NULL: not in memory
// with what it was started, as long as it is not down; else NULL
const char *pid1_running(FakePid1 *p, const char *name);

// It says of every unit that its control group is /told/NAME; how often it was asked by itself.
unsigned pid1_n_groups(FakePid1 *p);
unsigned pid1_wants(FakePid1 *p, const char *name); // links in NAME.wants/ when it was loaded

// Jobs wait until they are let go.
void pid1_hold_jobs(FakePid1 *p, bool hold);
unsigned pid1_n_held(FakePid1 *p);
unsigned pid1_n_jobs(FakePid1 *p); // ever asked for
unsigned pid1_n_reloads(FakePid1 *p);
unsigned pid1_n_surveys(FakePid1 *p); // how often it was asked what a stop stops
// Who is told of each change of a unit, while it happens: that one changes nothing. NULL: nobody.
void pid1_on_change(FakePid1 *p,
                    void (*changed)(const char *name, Argosy__ActiveState was, Argosy__ActiveState is,
                                    void *userdata),
                    void *userdata);
// The SECONDS of argosy-guard@SECONDS.target, to which a unit that does not rest was bound by its drop-in
// when it was loaded; -1: to none.
int pid1_guard_sec(FakePid1 *p, const char *name);
// The least of all of them; -1: there is none.
int pid1_least_guard_sec(FakePid1 *p);
// The guards of so many seconds, and fewer, have failed: systemd stops what is bound to them.
void pid1_guards_fail(FakePid1 *p, int sec);
// The connection breaks; unfinished jobs are lost. pid1_reconnect() brings it back.
void pid1_disconnect(FakePid1 *p);
void pid1_reconnect(FakePid1 *p);

// Troubles that a real systemd makes (fake-pid1-troubles.c). What is left to chance in them is drawn: a
// number below `n`.
void pid1_set_chance(FakePid1 *p, unsigned (*below)(unsigned n));
// Somebody has it read its files again. Until that has ended it answers nothing and tells nothing.
void pid1_reload(FakePid1 *p, bool begins);
// Likewise it executes itself again: the connection is lost, and made again when that has ended.
void pid1_reexecute(FakePid1 *p, bool begins);
// So many of its signals are lost from now on. pid1_hear(): the rolling check finds that some were.
void pid1_lose_signals(FakePid1 *p, unsigned percent);
void pid1_hear(FakePid1 *p);
// Units that are started or stopped from now on are activating, or deactivating, until pid1_pass_on() has
// chosen them.
void pid1_take_time(FakePid1 *p, bool takes);
bool pid1_pass_on(FakePid1 *p); // one of them; false: there is none
bool pid1_is_passing(FakePid1 *p, const char *name);
// One of the jobs that pid1_hold_jobs() holds is begun. False: there is none that may be.
bool pid1_let_go(FakePid1 *p);
// Whoever is connected is about to be abandoned: some of the jobs that it has asked for are carried out all
// the same, now.
void pid1_read_what_was_sent(FakePid1 *p);
