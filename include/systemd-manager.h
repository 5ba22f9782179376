// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// One connection to one systemd manager over its private socket: what its units are doing, and orders to it.
//
// The cache is fed by signals (PropertiesChanged of watched units, UnitNew, UnitRemoved); what a signal says
// is what was true when it was sent, so messages applied in their order never go backwards. One ListUnits at
// connect and after each gap (reload, re-exec, reconnect, messages found missing by their numbers) makes it
// true again. A slow rolling check finds what was lost without a trace: ListUnitsByNames over watched,
// loaded units, and for the others the control groups, systemd-manager-check.c has the details. A name that
// is not loaded is never queried, since that would make systemd load it, drop it and tell everybody.
//
// After a gap `synced` says that load, active and sub states are true. That a unit which is up again has had
// a new run meanwhile may be found a little later; it is a unit_changed of its own then.
//
// Only units that were watched are reported. No callback is ever called from inside one of these functions,
// all come from the loop. In one turn of the loop they come in this order: unit_changed and unit_unloaded of
// each unit that changed; reloaded; synced; then the ends of jobs, loads, reloads and inspections. Changes
// of one unit within a turn are one unit_changed. Every function may be called from every callback.
//
// The connection is made again by itself for ever, after 20 ms, then twice as long each time up to a second.

#include <stdbool.h>
#include <uv.h>

#include "argosy.pb-c.h"
#include "counter.h"
#include "macro.h"

typedef struct SystemdManager SystemdManager;

enum {
        SYSTEMD_JOBS_MAX = 8, // jobs in flight; a slot is free again at the unit's first transition or after
                              // SYSTEMD_JOB_SLOT_MS
        SYSTEMD_JOB_SLOT_MS = 100,
        SYSTEMD_UNFINISHED_MAX = 256,    // starts whose end we still wait for, and as many stops
        SYSTEMD_UNFINISHED_OF_ONE = 192, // of these, of one request
        SYSTEMD_READ_BUDGET = 32,        // messages per turn of the loop
        SYSTEMD_READ_SHARED = 256,       // of all managers that share a loop, once so many have more to say
        SYSTEMD_READ_MIN = 4,            // but so many of each
        SYSTEMD_CHECK_CHUNK = 100,       // names per ListUnitsByNames
        SYSTEMD_MESSAGE_MAX = 8 * 1024 * 1024, // bytes of a message of a user's or a container's manager: a
                                               // list of 30,000 units
        SYSTEMD_QUERIES_MAX = 64,              // questions about single units in flight
        SYSTEMD_ROWS_PER_TURN =
                1000,            // rows of a ListUnits reply taken in per turn of the loop, about 1 us each
        SYSTEMD_SETTLE_MS = 100, // how long the end of a job waits for its unit's change before it asks
        SYSTEMD_CHECK_PERIOD_S = 600,
        SYSTEMD_DEPENDENTS_MAX = 4096, // units that a stop may spread to, for systemd_manager_stopped_with()
        SYSTEMD_CHECK_ANSWER_S = 120, // a busy systemd may well take half a minute
};

// How a unit came to be down, of which the last thing before was seen.
typedef enum UnitEnd {
        UNIT_END_UNSEEN,
        UNIT_END_BY_ITSELF, // while systemd had no job for it but ours
        UNIT_END_BY_JOB,    // by a job that was not ours
} UnitEnd;

typedef struct UnitRuntime {
        uint8_t invocation_id[16]; // of the last run seen; zero if none
        uint64_t since_us;         // wall clock of the last change of `active`, 0: before we looked
        uint64_t exec_us;          // wall clock at which the main process of a service began with its
                                   // program; 0: not yet, or systemd does not tell
        const char *sub;           // these two live as long as the manager
        const char *result;        // last Result seen, empty if none
        uint8_t load;   // Argosy__LoadState, UNKNOWN if not in memory or not said: systemd does not tell
                        // when it changes, every resync and check does
        uint8_t active; // Argosy__ActiveState; UNKNOWN: just watched, the answer is under way
        bool loaded : 1;         // in systemd's memory (else active=inactive)
        bool was_reset : 1;      // inactive, and not since its run has ended: it had failed, and that was
                                 // reset
        bool skipped : 1;        // a condition was not met when they were looked at last
        bool signalled : 1;      // the main process of a service was ended by a signal, not by itself
        bool restarts_known : 1; // systemd has said `n_restarts`; else it may be more
        // the main process of a service has not begun with its program yet, as systemd tells since version
        // 256
        bool before_exec : 1;
        uint8_t end : 2;         // UnitEnd, of what is down
        uint8_t stop_s;      // likewise: seconds for which it went down before, 255: or more
        uint32_t changed_ms; // boot time at which that change of `active`, or that run, was seen, modulo 49
                             // days; 0: never
        uint32_t n_restarts; // systemd's count of its own restarts (NRestarts), of services
        bool run_failed;     // the run that is up, or was up last, has failed as far as was told
        uint16_t n_failed_restarts; // restarts that were seen to follow a failure; counts on, modulo its
                                    // size
} UnitRuntime;

// All that the manager keeps of a unit at rest. It is a part of what its owner keeps of it, so that there is
// one object for a unit, one name, and one table in which to find it. Zero until it is watched; only
// `name`, `runtime` and `pinned` are for others to read, and `other` is the owner's.
typedef struct SystemdUnit {
        const char *name; // the owner's, NULL: not watched
        UnitRuntime runtime;
        struct SystemdUnitWork *work; // what is under way about it; NULL: nothing
        uint32_t cgroup;              // as last seen there, 0: not seen
        bool known : 1;               // `runtime` says something
        bool listed : 1;              // by the ListUnits that is being taken in
        bool renewed : 1;             // came into memory while it was believed to be there
        bool checked : 1;             // in this round of the check if equal to check_round
        bool later : 1;               // its run is to be looked at when nothing else is to be asked
        bool detailed : 1;            // what nothing waits for was asked for on this connection
        bool pinned : 1;              // see systemd_manager_pin()
        bool pin_listed : 1;          // its pin, by the ListUnits that is being taken in
        bool other : 1;               // the owner's: not the kind of thing that it mostly watches
} SystemdUnit;

typedef enum SystemdJobResult {
        SYSTEMD_JOB_DONE,
        SYSTEMD_JOB_CANCELED,
        SYSTEMD_JOB_TIMEOUT,
        SYSTEMD_JOB_FAILED,
        SYSTEMD_JOB_DEPENDENCY,
        SYSTEMD_JOB_SKIPPED,
        SYSTEMD_JOB_REFUSED, // systemd did not accept it: see error text
        SYSTEMD_JOB_NO_UNIT, // likewise, because it finds no file of the unit, or of one that this requires
        SYSTEMD_JOB_LOST,    // its end was not told, mostly because the connection broke; look at the unit's
                             // state after `synced`
} SystemdJobResult;

// What is said of a start whose Assert...= does not hold.
#define SYSTEMD_JOB_ASSERT_TEXT "an Assert...= of the unit does not hold"

typedef enum SystemdJobKind {
        SYSTEMD_START,
        SYSTEMD_STOP,
        SYSTEMD_RESTART,
        SYSTEMD_RESET_FAILED,
        SYSTEMD_RELOAD, // of the unit: it reads anew what it was configured with
} SystemdJobKind;

typedef struct SystemdOps {
        void (*unit_changed)(const char *name, const UnitRuntime *now, void *userdata);
        // A watched unit has left systemd's memory, whatever it is now: the next use reads its files.
        void (*unit_unloaded)(const char *name, void *userdata);
        // May be NULL. Somebody made systemd read all unit files again (reload, re-exec). What was written
        // before `since_us` (boot time) was read for certain; what was written later maybe not.
        void (*reloaded)(uint64_t since_us, void *userdata);
        // The whole cache is true now: after connect and after each gap, once all unit_changed for it were
        // called.
        void (*synced)(void *userdata);
        // May be NULL. Somebody else may have changed what systemd finds in its directories: by systemd
        // itself (systemctl mask), by a reload of all files, or while we were not connected. It is not
        // called for our own reloads and files.
        void (*files_changed)(void *userdata);
        void (*disconnected)(const char *why, void *userdata); // once per loss; it reconnects by itself
        void (*stopping)(void *userdata); // the machine (or user session) is shutting down
        // May be NULL. It is not, after all: somebody has cancelled that. What was stopped stays down.
        void (*resumed)(void *userdata);
        // May be NULL. What systemd_manager_ask_stopping() asked is known, after `stopping` or `resumed` if
        // it is new; or nobody can tell, since the connection is lost.
        void (*stopping_known)(void *userdata);
} SystemdOps;

// Shared by all managers on one loop, so that many that talk at once leave time for each other and for the
// rest of the loop. Zero-initialised; outlives them.
typedef struct SystemdShare {
        unsigned n_busy; // that had more to read than they may in one turn
} SystemdShare;

typedef struct SystemdConfig {
        uv_loop_t *loop;
        const char *socket_path;  // NULL: /run/systemd/private
        uint64_t check_period_us; // rolling check: one full round in this time; 0: SYSTEMD_CHECK_PERIOD_S
        // After so long without an answer to the check its reply was lost; 0: SYSTEMD_CHECK_ANSWER_S, or the
        // period if that is longer.
        uint64_t check_answer_us;
        const char *cgroup_root; // of the manager, see cgroup-path.h; NULL: that of the process behind the
                                 // socket
        // NULL, or called instead of connecting to socket_path: a connected stream socket that the manager
        // will own, or negative errno. -EINPROGRESS: systemd_manager_take_socket() brings it later.
        int (*open_socket)(void *userdata);
        void *open_userdata;
        SystemdShare *share; // NULL: alone
        // For a manager that is not trusted: bytes of one message. A longer one ends the connection with
        // -EMSGSIZE. 0: what sd-bus takes.
        uint64_t message_max;
} SystemdConfig;

// Connects from the loop, not before it returns. `config` and `ops` are copied, strings too.
int systemd_manager_new(const SystemdConfig *config, const SystemdOps *ops, void *userdata,
                        SystemdManager **ret);
// Every job, load, reload and inspection that is not done yet gets its callback (JOB_LOST, -ECANCELED) from
// the loop, then `closed`; nothing else.
void systemd_manager_close(SystemdManager *m, void (*closed)(void *userdata), void *userdata);
// The socket that open_socket is still owed; owned by the manager after this, unless it does not wait for
// one (-EALREADY; then it is closed).
int systemd_manager_take_socket(SystemdManager *m, int fd);
bool systemd_manager_is_synced(const SystemdManager *m);
// Takes what has come by now, from outside of its callbacks; they may be called. Whether that was all of it.
bool systemd_manager_catch_up(SystemdManager *m);
// Has the state of all units asked for anew, unless it is being asked for at the moment; synced() follows,
// or disconnected(). False: there is no connection, and nothing follows.
bool systemd_manager_refresh(SystemdManager *m);
// From the `stopping` callback on, until `resumed`.
bool systemd_manager_is_stopping(const SystemdManager *m);
// Asks whether the machine is shutting down: systemd's own word of that may be on its way, or was never
// heard since we have only just connected. `stopping_known` follows. False: there is no connection, and
// nothing follows.
bool systemd_manager_ask_stopping(SystemdManager *m);

// Both live until the unit is unwatched, or the manager is closed. The unit's state follows as unit_changed.
// -EEXIST: somebody else watches that name.
int systemd_manager_watch(SystemdManager *m, SystemdUnit *u, const char *name);
// Ends a watch. Allowed also for a unit that is not watched, and after the manager began to close.
void systemd_manager_unwatch(SystemdManager *m, SystemdUnit *u);
// NULL if not watched.
SystemdUnit *systemd_manager_find(const SystemdManager *m, const char *name);
// All that are watched, in no order: *iter begins as 0, NULL ends. The one that was returned may be
// unwatched before the next call, none may be watched.
SystemdUnit *systemd_manager_next(const SystemdManager *m, size_t *iter);

// Queued; at most SYSTEMD_JOBS_MAX are in flight, and none while the cache is not true. `done` fires exactly
// once. `error` is never NULL: systemd's text, or what the result alone does not say, or empty.
//   When it fires the cache shows what the job did: the unit's change is delivered before, or was asked for.
//   START of a one-shot ends when that has finished. A unit that ends at once after a good start gives DONE:
//   look at its state. RESET_FAILED is a call, not a job: when it is done the unit is not failed. A unit
//   that is not loaded counts as DONE for it and for STOP. A job survives a lost connection: if it is still
//   running after the reconnect it goes on. LOST comes after `synced`: look at the unit's state.
typedef void (*SystemdJobDone)(const char *name, SystemdJobKind kind, SystemdJobResult result,
                               const char *error, void *userdata);
int systemd_manager_job(SystemdManager *m, SystemdJobKind kind, const char *name, SystemdJobDone done,
                        void *userdata);
// The same for a job that belongs to a request: requests (any numbers) take turns, and so do starts and
// stops. Jobs of one unit keep their order; a STOP ends a start that is still queued as CANCELED.
int systemd_manager_job_of(SystemdManager *m, uint64_t request, SystemdJobKind kind, const char *name,
                           SystemdJobDone done, void *userdata);

// Keeps a unit in systemd's memory, or lets go of it: a job of its pin (unit-pin.h), as above, and `done`
// gets the pin's name. A unit that is pinned is still there when it has ended, and so is its invocation id,
// whatever becomes of this connection and of this process. SystemdUnit.pinned says whether it is; after a
// gap that is what systemd says. -ENAMETOOLONG: the unit's name is too long for it.
int systemd_manager_pin(SystemdManager *m, uint64_t request, const char *unit, bool pin, SystemdJobDone done,
                        void *userdata);

// Makes systemd read the files of these units, in chunks of SYSTEMD_CHECK_CHUNK. `each` fires once per name:
// its load state and, unless that is LOADED, systemd's reason. Asked again after a lost connection;
// LOAD_UNKNOWN only on close or if systemd refuses the question.
typedef void (*SystemdLoaded)(const char *name, Argosy__LoadState load, const char *error, void *userdata);
int systemd_manager_load(SystemdManager *m, const char *const *names, size_t n, SystemdLoaded each,
                         void *userdata);

// One daemon-reload for all who ask until it begins. `done` comes after the `synced` that follows it.
typedef void (*SystemdReloaded)(int error, void *userdata);
int systemd_manager_reload(SystemdManager *m, SystemdReloaded done, void *userdata);

// The properties of one unit, for `status`; not for hot paths (up to 1.5 ms of systemd). Named and printed
// as `systemctl show` does; those that are lists of structures (ExecStart= and the like) are left out. Valid
// during the call; NULL and 0 on error (-ECONNRESET: connection lost).
typedef void (*SystemdInspected)(int error, Argosy__Response__Property *const *properties, size_t n,
                                 void *userdata);
// Whether a job of a unit that is not watched has been done since then (CLOCK_MONOTONIC), by anybody. Of the
// last few dozens of such jobs: no more are remembered.
bool systemd_manager_job_ended(const SystemdManager *m, const char *unit, uint64_t since_us);
int systemd_manager_inspect(SystemdManager *m, const char *name, SystemdInspected done, void *userdata);

// Where systemd says that the unit's control group is, as it sees the hierarchy itself; empty while the unit
// has none. About 10 us of systemd: for units that are not where the rule of cgroup-path.h says. Valid
// during the call; NULL on error, which is also that of a unit whose type has no control group
// (-EOPNOTSUPP).
typedef void (*SystemdControlGroup)(int error, const char *control_group, void *userdata);
int systemd_manager_control_group(SystemdManager *m, const char *name, SystemdControlGroup done,
                                  void *userdata);

// Whether systemd has an older version of the unit's files in memory than is on the disk (NeedDaemonReload),
// for about 10 us of systemd: 1 or 0, or negative errno. A unit that is not loaded is loaded for it.
typedef void (*SystemdOutdated)(int outdated, void *userdata);
int systemd_manager_outdated(SystemdManager *m, const char *name, SystemdOutdated done, void *userdata);

// Which units systemd would stop together with this one, which is up: those that require it, are bound to it
// or a part of it, or to which it propagates its stop, and so on from each that is up. 40 us of systemd for
// each that is. Valid during the call. -E2BIG: more than SYSTEMD_DEPENDENTS_MAX; -ECONNRESET: ask again;
// -ECANCELED: it was closed.
typedef struct SystemdDependent {
        const char *name;
        const char *through;        // the unit by whose stop it is stopped
        Argosy__ActiveState active; // what is down already is listed, too
        bool needs;                 // it cannot be started while the unit is down
} SystemdDependent;
typedef void (*SystemdStoppedWith)(int error, const SystemdDependent *list, size_t n, void *userdata);
int systemd_manager_stopped_with(SystemdManager *m, const char *name, SystemdStoppedWith done,
                                 void *userdata);

// The process at the other end of the connection, which is the manager; -ENOTCONN while there is none.
int systemd_manager_pid(const SystemdManager *m);

// What a connection counts. `resync_us` is of the last one, after a new connection from systemd's first
// answer; `check_names` are units that the check asked for or found in the control groups; at most for
// `check_wait_us` systemd was busy with it.
#define SYSTEMD_COUNTERS(COUNTER, GAUGE)                                                               \
        COUNTER(calls, "calls made to systemd")                                                        \
        COUNTER(signals, "signals received from systemd")                                              \
        COUNTER(connects, "connections to systemd")                                                    \
        COUNTER(losses, "times that systemd dropped messages for us, or held too many")                \
        COUNTER(resyncs,                                                                               \
                "times that everything was asked for: after connecting, after a reload, after a loss") \
        GAUGE(resync_us, "microseconds that the last of them took")                                    \
        COUNTER(checks, "rounds of the check for lost signals")                                        \
        COUNTER(check_calls, "calls that it made to systemd")                                          \
        COUNTER(check_names, "units that it looked at")                                                \
        COUNTER(check_us, "microseconds that it took here")                                            \
        COUNTER(check_wait_us, "microseconds until systemd had answered it")                           \
        COUNTER(discrepancies, "changes that it found and no signal had told")                         \
        COUNTER(jobs, "systemd jobs begun")                                                            \
        GAUGE(managers, "systemd managers of this host that units are given to")                       \
        GAUGE(job_slots, "systemd jobs under way; each manager has at most 8 at a time")               \
        GAUGE(job_slots_waiting, "units whose systemd job waits for one of these to end")

typedef struct SystemdStats {
        SYSTEMD_COUNTERS(COUNTER_FIELD, COUNTER_FIELD)
} SystemdStats;
void systemd_manager_stats(const SystemdManager *m, SystemdStats *ret);
// Adds one manager's figures to a sum; of `resync_us` the longest counts.
void systemd_stats_add(SystemdStats *sum, const SystemdStats *more);
// Adds the counters of a manager that ends; its gauges do not count any more.
void systemd_stats_keep(SystemdStats *sum, const SystemdStats *more);
