// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// One connection to one systemd manager over its private socket: what its units are doing, and orders to it.
//
// The cache is fed by signals only (PropertiesChanged of watched units, JobRemoved). One ListUnits at connect and after each gap
// (reload, re-exec, reconnect) makes it true again; a slow rolling ListUnitsByNames check of watched, loaded units counts what signals missed.
// Figures: shared facts, "State queries"; see src/sysd/README of the files for which call is used when and why.
//
// Only units that were watched are reported. Callbacks come from the loop, never from inside a call.

#include <stdbool.h>
#include <uv.h>

#include "argosy.pb-c.h"
#include "macro.h"

typedef struct SystemdManager SystemdManager;

enum {
        SYSTEMD_JOBS_MAX = 8,            // jobs in flight; a slot is free again at the unit's first transition or after SYSTEMD_JOB_SLOT_MS
        SYSTEMD_JOB_SLOT_MS = 100,
        SYSTEMD_UNFINISHED_MAX = 256,    // jobs whose end we still wait for
        SYSTEMD_READ_BUDGET = 32,        // messages per turn of the loop
        SYSTEMD_CHECK_CHUNK = 100,       // names per ListUnitsByNames
};

typedef struct UnitRuntime {
        Argosy__LoadState load;
        Argosy__ActiveState active;
        char sub[24];
        char result[24];             // last Result seen, empty if none
        uint8_t invocation_id[16];   // zero if never started
        uint64_t since_us;           // wall clock of the last change of `active` seen or reported by systemd
        bool loaded;                 // in systemd's memory (else load=STUB or what was known last, active=inactive)
        bool need_reload;            // NeedDaemonReload, as far as known
} UnitRuntime;

typedef enum SystemdJobResult {
        SYSTEMD_JOB_DONE, SYSTEMD_JOB_CANCELED, SYSTEMD_JOB_TIMEOUT, SYSTEMD_JOB_FAILED, SYSTEMD_JOB_DEPENDENCY, SYSTEMD_JOB_SKIPPED,
        SYSTEMD_JOB_REFUSED,  // systemd did not accept it: see error text
        SYSTEMD_JOB_LOST,     // the connection broke; look at the unit's state after `synced`
} SystemdJobResult;

typedef enum SystemdJobKind { SYSTEMD_START, SYSTEMD_STOP, SYSTEMD_RESTART, SYSTEMD_RESET_FAILED } SystemdJobKind;

typedef struct SystemdOps {
        void (*unit_changed)(const char *name, const UnitRuntime *now, void *userdata);
        // A watched unit has left systemd's memory (UnitRemoved outside of a reload).
        void (*unit_unloaded)(const char *name, void *userdata);
        // The whole cache is true now: after connect and after each gap, once all unit_changed for it were called.
        void (*synced)(void *userdata);
        void (*disconnected)(const char *why, void *userdata); // it reconnects by itself
        void (*stopping)(void *userdata);                       // the machine (or user session) is shutting down
} SystemdOps;

typedef struct SystemdConfig {
        uv_loop_t *loop;
        const char *socket_path;   // NULL: /run/systemd/private
        uint64_t check_period_us;  // rolling check: one full round in this time; 0: default 10 min
        int fd;                    // tests: a connected socket instead of a path; -1 otherwise
} SystemdConfig;

int systemd_manager_new(const SystemdConfig *config, const SystemdOps *ops, void *userdata, SystemdManager **ret);
void systemd_manager_close(SystemdManager *m, void (*closed)(void *userdata), void *userdata);
bool systemd_manager_is_synced(const SystemdManager *m);

int systemd_manager_watch(SystemdManager *m, const char *name);
void systemd_manager_unwatch(SystemdManager *m, const char *name);
// NULL if not watched. Valid until the loop runs on.
const UnitRuntime *systemd_manager_find(const SystemdManager *m, const char *name);

// Fires exactly once. `error` is systemd's text or empty. RESET_FAILED is a call, not a job; "not loaded" counts as DONE for it and STOP.
typedef void (*SystemdJobDone)(const char *name, SystemdJobKind kind, SystemdJobResult result, const char *error, void *userdata);
int systemd_manager_job(SystemdManager *m, SystemdJobKind kind, const char *name, SystemdJobDone done, void *userdata);
// Makes systemd read the files of these units (LoadUnit), in chunks; one `done` with, per unit, load state and error text.
typedef void (*SystemdLoaded)(const char *name, Argosy__LoadState load, const char *error, void *userdata);
int systemd_manager_load(SystemdManager *m, const char *const *names, size_t n, SystemdLoaded each, void *userdata);
// One daemon-reload for all who ask until it runs.
typedef void (*SystemdReloaded)(int error, void *userdata);
int systemd_manager_reload(SystemdManager *m, SystemdReloaded done, void *userdata);
// All properties of one unit, for `status`; not for hot paths. Values are formatted as `systemctl show` prints them.
typedef void (*SystemdInspected)(int error, Argosy__Response__Property *const *properties, size_t n, void *userdata);
int systemd_manager_inspect(SystemdManager *m, const char *name, SystemdInspected done, void *userdata);
// Where systemd would find a file of that name that is not ours: FragmentPath outside of our directory, or empty string when free.
typedef void (*SystemdForeign)(const char *name, const char *fragment_path, void *userdata);

typedef struct SystemdStats {
        uint64_t calls, signals, resyncs, check_rounds, discrepancies, jobs;
} SystemdStats;
void systemd_manager_stats(const SystemdManager *m, SystemdStats *ret);
