// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A systemd manager for tests: the peer of a private-socket connection, on the test's own loop, without
// processes.
//
// It answers Subscribe, ListUnits, ListUnitsFiltered, ListUnitsByNames, GetUnit, LoadUnit, StartUnit,
// StopUnit, RestartUnit, ResetFailedUnit, Reload, Get and GetAll as systemd 252 does, and tells of every
// change by the signals that systemd sends, in its order: a type's PropertiesChanged, then the unit's, then
// JobRemoved. Units that are inactive and have no job leave memory at once (UnitRemoved) unless they are
// pinned. The test may change units behind everyone's back, lose signals, swap their order, cut the
// connection and stop answering.
//
// A unit can be loaded if it was declared with fake_systemd_add(), or if its file (or its template's) is in
// the directory given.

#include <stdbool.h>
#include <uv.h>

typedef struct FakeSystemd FakeSystemd;

typedef enum FakeBehaviour {
        FAKE_RUNS,        // a start makes it active
        FAKE_ENDS,        // a one-shot: activating, then inactive, result success
        FAKE_FAILS,       // a start fails, result exit-code
        FAKE_EXITS,       // the start succeeds and the unit ends at once (Type=simple, exit 0)
        FAKE_HANGS,       // starting, stopping and ending wait for fake_systemd_finish()
        FAKE_WAITS,       // a one-shot that is activating until fake_systemd_finish()
        FAKE_SKIPS,       // a condition is not met
        FAKE_REFUSES,     // StartUnit is answered with an error
        FAKE_BAD_SETTING, // its file does not load
} FakeBehaviour;

// dir: where unit files are, NULL: nowhere. loop NULL: there is none yet (fake_systemd_move()).
FakeSystemd *fake_systemd_new(uv_loop_t *loop, const char *dir);
// Closes its handles and runs the loop until they are gone.
void fake_systemd_free(FakeSystemd *f);
// A new connection; for SystemdConfig.open_socket with the FakeSystemd as userdata. The one before is cut.
int fake_systemd_open(void *fake);

// Its next connection is on that loop; the one before is not run any more, and nothing of it is given back.
void fake_systemd_move(FakeSystemd *f, uv_loop_t *loop);
// The loop of its connection is not run any more.
void fake_systemd_abandon(FakeSystemd *f);
// Who is asked how a unit behaves whenever its file is read, and told of each change of its state while it
// happens.
void fake_systemd_on(FakeSystemd *f, FakeBehaviour (*judge)(const char *name, void *userdata),
                     void (*changed)(const char *name, const char *was, const char *is, void *userdata),
                     void *userdata);

void fake_systemd_add(FakeSystemd *f, const char *name, FakeBehaviour behaviour);
// `names`, separated by blanks, are in that list property of the unit ("RequiredBy", "ConsistsOf", ...), and
// units that are in memory.
void fake_systemd_list(FakeSystemd *f, const char *name, const char *property, const char *names);
// Sets how a unit behaves without making it exist.
void fake_systemd_behave(FakeSystemd *f, const char *name, FakeBehaviour behaviour);
void fake_systemd_pin(FakeSystemd *f, const char *name, bool pinned);
// Changes the unit as by somebody else; a new run gets a new invocation id. Loads it if necessary.
void fake_systemd_set(FakeSystemd *f, const char *name, const char *active, const char *sub,
                      const char *result);
// systemd itself has started a service anew, for a run that ended with `result`. Without `told` it says so
// of the new run alone.
void fake_systemd_restart(FakeSystemd *f, const char *name, const char *result, bool told);
// Somebody else has it stopped, by a job.
void fake_systemd_stop(FakeSystemd *f, const char *name);
// Ends the job of a unit that hangs: "done", "failed", "timeout", "canceled", ...
void fake_systemd_finish(FakeSystemd *f, const char *name, const char *result);
// NULL if it is not in memory.
const char *fake_systemd_active(FakeSystemd *f, const char *name);
typedef struct FakeState { // valid until the unit changes
        bool loaded;
        const char *active, *sub, *result;
        const uint8_t *invocation;
} FakeState;
FakeState fake_systemd_state(FakeSystemd *f, const char *name);
// Whether it has the file in memory that is in the directory now. True of what has no file.
bool fake_systemd_is_current(FakeSystemd *f, const char *name);
bool fake_systemd_has_job(FakeSystemd *f, const char *name);

// Signals of units that are sent while this is on are lost for ever, without a trace.
void fake_systemd_lose_signals(FakeSystemd *f, bool lose);
// Everything that is sent while this is on is dropped as systemd drops it when too much waits to be read:
// also replies, and the numbers of the messages are used up.
void fake_systemd_drop(FakeSystemd *f, bool drop);
// While this is on, UnitNew and PropertiesChanged wait, at most one of each for a unit, and say then what is
// true when they leave: systemd does so when it is busy or the connection is full.
void fake_systemd_busy(FakeSystemd *f, bool busy);
// From now on every signal of a unit meets its own fate, chosen from the seed; 0: no more, and what was late
// leaves. The numbers are per cent.
typedef struct FakeFate {
        unsigned lost; // without a trace
        unsigned late; // leaves behind others, in any order
} FakeFate;
void fake_systemd_fate(FakeSystemd *f, uint64_t seed, FakeFate fate);
// A directory in which each unit that is up has one of its own, as with control groups.
void fake_systemd_cgroups(FakeSystemd *f, const char *root);
// Only JobNew and JobRemoved are sent while this is on, the changes of units are lost.
void fake_systemd_only_jobs(FakeSystemd *f, bool only);
// JobRemoved is sent before the PropertiesChanged of the same change.
void fake_systemd_job_first(FakeSystemd *f, bool first);
// The end of a job is announced before the reply to the call that made it.
void fake_systemd_end_before_reply(FakeSystemd *f, bool early);
// Calls are carried out, but their replies do not come.
void fake_systemd_mute(FakeSystemd *f, bool mute);
// Nothing is read or answered.
void fake_systemd_stall(FakeSystemd *f, bool stall);
void fake_systemd_cut(FakeSystemd *f);
// Cuts the connection after so many more messages have been sent; -1: never.
void fake_systemd_cut_after(FakeSystemd *f, int n_messages);
// A signal with a string of that many bytes.
void fake_systemd_send_long(FakeSystemd *f, size_t bytes);
// What it says when it refuses a job gets that many bytes longer.
void fake_systemd_complain_long(FakeSystemd *f, size_t bytes);
// New connections are refused while this is on.
void fake_systemd_refuse(FakeSystemd *f, bool refuse);

// daemon-reload by somebody else, in two halves; what happens between them is up to the test.
void fake_systemd_reload_begin(FakeSystemd *f);
void fake_systemd_reload_end(FakeSystemd *f);
// UnitFilesChanged, as when somebody has had systemd mask or enable a unit.
void fake_systemd_files_changed(FakeSystemd *f);
// daemon-reexec: Reloading(true), UnitRemoved of all, and the connection is gone. Units and jobs stay.
void fake_systemd_reexec(FakeSystemd *f);
// The machine begins to shut down.
void fake_systemd_shutdown(FakeSystemd *f);
void fake_systemd_cancel_shutdown(FakeSystemd *f);

// How often that method was called, since the beginning.
unsigned fake_systemd_calls(FakeSystemd *f, const char *member);
// Most jobs that were ever unfinished at a time.
unsigned fake_systemd_jobs_peak(FakeSystemd *f);
