// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the facets of the manager share:
//
//   systemd-manager.c          the object, its connection, the turn of the loop
//   systemd-manager-signals.c  what systemd tells by itself
//   systemd-manager-sync.c     ListUnits after a gap, questions about single units, the rolling check
//   systemd-manager-jobs.c     the job window
//   systemd-manager-calls.c    load, reload, inspect
//
// A turn: messages change units and move jobs and calls to the lists of what is finished; manager_flush()
// then calls back in a fixed order; manager_pump() sends what may be sent. Handlers of messages never call
// back themselves.
//
// Lifetimes:
//   Watched          watch to unwatch; questions about it name it by name, never by pointer
//   Query            from sending to its reply, or the end of the connection
//   Job              from systemd_manager_job() to its `done`; it outlives connections
//   LoadItem, ...    likewise
//   BusLink          one connection

#include "bus-link.h"
#include "list.h"
#include "map.h"
#include "systemd-manager.h"
#include "systemd-message.h"
#include "unit-runtime.h"
#include "uvx.h"

// Questions about one unit that are not answered yet, in the order in which they are asked.
typedef enum Want {
        WANT_LOADED = 1 << 0, // GetUnit: is it in memory?
        WANT_STATE = 1 << 1,  // ListUnitsByNames, only if it is
        WANT_INVOCATION = 1 << 2,
        WANT_RESULT = 1 << 3,
} Want;

typedef struct Watched {
        UnitRuntime runtime;
        ListNode ring;       // all, in the order of the rolling check
        ListNode dirty;      // linked while something is to be told
        ListNode fetch;      // linked while `want` is not empty and nothing is asked
        ListNode suspect;    // the check found it changed, and no signal has told so since
        uint32_t generation; // of the last ListUnits that had it
        uint8_t want;
        uint8_t asked;          // the one bit of `want` that is under way
        bool known;             // `runtime` says something
        bool changed, unloaded; // what is to be told
        uint8_t checked;        // in this round of the check if equal to check_round
        char name[];
} Watched;

typedef struct Query {
        ListNode link;
        SystemdManager *manager;
        Want want;
        char name[];
} Query;

typedef enum JobState {
        JOB_QUEUED,
        JOB_SENT,     // no reply yet
        JOB_RUNNING,  // systemd has it as `id`
        JOB_ORPHAN,   // was sent or running when the connection broke
        JOB_SETTLING, // ended, the unit's change is still to come
        JOB_FINISHED, // to be told
} JobState;

typedef struct Job {
        ListNode link; // in jobs_queued, jobs_active or jobs_finished
        SystemdManager *manager;
        SystemdJobKind kind;
        JobState state;
        SystemdJobResult result;
        bool slot, verifying;
        uint32_t id;
        uint32_t early_id; // a JobRemoved for the unit that came before the reply
        char early_word[16];
        uint64_t deadline_ms; // of the slot, or of settling
        uint8_t before[16];   // the unit's invocation id when it was sent
        char *error;
        SystemdJobDone done;
        void *userdata;
        char name[];
} Job;

typedef struct LoadItem {
        ListNode link; // in loads_waiting, loads_sent, loads_finished
        SystemdManager *manager;
        Argosy__LoadState load;
        char *error;
        SystemdLoaded each;
        void *userdata;
        char name[];
} LoadItem;

typedef struct ReloadWaiter {
        ListNode link; // in reloads_waiting, reloads_running, reloads_finished
        SystemdReloaded done;
        void *userdata;
        int error;
} ReloadWaiter;

typedef struct Inspection {
        ListNode link; // in inspections_waiting, inspections_sent, inspections_finished
        SystemdManager *manager;
        int error;
        sd_bus_message *reply;
        SystemdInspected done;        // all properties, or
        SystemdControlGroup done_one; // only ControlGroup
        void *userdata;
        char name[];
} Inspection;

enum { RETRY_MIN_MS = 20 };

typedef enum CloseState { OPEN, CLOSING, CLOSED } CloseState;

struct SystemdManager {
        uv_loop_t *loop;
        char *socket_path;
        int (*open_socket)(void *userdata);
        void *open_userdata;
        SystemdOps ops;
        void *userdata;

        BusLink *link; // NULL: not connected
        uv_timer_t retry, tick, check;
        Drain drain;
        uint64_t retry_ms;
        bool complained; // about not being able to connect, once
        CloseState closing;
        int n_handles; // ours and the links', until the last is closed
        void (*closed)(void *userdata);
        void *closed_userdata;

        Map units;
        ListNode ring, dirty, fetch, suspects;
        ListNode queries;
        size_t n_queries;

        bool reloading; // between Reloading(true) and Reloading(false)
        uint64_t reload_since_us;
        bool syncing, synced, announce_synced, announce_reloaded;
        bool sync_full, sync_again, sync_again_full;
        bool sync_listed;       // the listing is taken in, single questions may be open
        uint64_t sync_since_us; // boot time: asked, or if just connected, the first answer
        uint32_t generation;
        sd_bus_message *listing; // a ListUnits reply that is being taken in
        bool stopping, announce_stopping;
        bool stopping_suspected; // a job for shutdown.target, and no answer yet

        uint64_t check_period_us;
        bool check_sent;
        uint8_t check_round; // 0, 1, 0, ...

        ListNode jobs_queued, jobs_active, jobs_finished;
        unsigned n_active, n_slots, n_settling;

        ListNode loads_waiting, loads_sent, loads_finished;
        unsigned n_load_calls;
        ListNode reloads_waiting, reloads_running, reloads_finished;
        bool reload_replied;
        ListNode inspections_waiting, inspections_sent, inspections_finished;

        SystemdStats stats;
};

// systemd-manager.c
// Sends a call without a time limit; `handler` gets the reply, unless the connection breaks before. Owns
// `call`.
int manager_send(SystemdManager *m, sd_bus_message *call, sd_bus_message_handler_t handler, void *userdata);
int manager_new_call(SystemdManager *m, const char *member, sd_bus_message **ret);
int manager_new_property_call(SystemdManager *m, const char *unit, const char *interface,
                              const char *property, sd_bus_message **ret);
Watched *manager_find(const SystemdManager *m, const char *name);
// Applies what is true of the unit now; tells if that is new.
bool manager_apply(SystemdManager *m, Watched *w, const UnitFacts *facts);
void manager_apply_unloaded(SystemdManager *m, Watched *w);
void manager_note_change(SystemdManager *m, Watched *w, bool changed);
void manager_set_known(SystemdManager *m, Watched *w);
// An error of ours (out of memory) while talking: only a new connection makes everything true again.
void manager_fail(SystemdManager *m, int error);
void manager_flush(SystemdManager *m);
void manager_arm_tick(SystemdManager *m, uint64_t deadline_ms);

// systemd-manager-signals.c
int manager_on_message(sd_bus_message *message, void *userdata);

// systemd-manager-sync.c
void manager_sync(SystemdManager *m, bool full);
void manager_sync_lost(SystemdManager *m);
void manager_sync_step(SystemdManager *m);
void manager_want(SystemdManager *m, Watched *w, unsigned want);
void manager_pump_queries(SystemdManager *m);
void manager_on_check(uv_timer_t *timer);
void manager_arm_check(SystemdManager *m);
void manager_ask_stopping(SystemdManager *m);

// systemd-manager-jobs.c
void manager_jobs_removed(SystemdManager *m, uint32_t id, const char *unit, const char *word);
void manager_jobs_transition(SystemdManager *m, const Watched *w);
void manager_jobs_found(SystemdManager *m, uint32_t id); // a job that systemd still has after a reconnect
void manager_jobs_lost(SystemdManager *m);
void manager_jobs_synced(SystemdManager *m);
void manager_jobs_tick(SystemdManager *m, uint64_t now_ms);
void manager_jobs_settle(SystemdManager *m);
void manager_jobs_tell(SystemdManager *m);
void manager_jobs_abandon(SystemdManager *m);
void manager_pump_jobs(SystemdManager *m);

// systemd-manager-calls.c
void manager_calls_lost(SystemdManager *m);
void manager_calls_synced(SystemdManager *m);
void manager_calls_tell(SystemdManager *m);
void manager_calls_abandon(SystemdManager *m);
void manager_pump_calls(SystemdManager *m);

// property-format.c
// All properties in a reply to GetAll, as `systemctl show` prints them.
int properties_format(sd_bus_message *reply, Argosy__Response__Property ***ret, size_t *ret_n);
void properties_free(Argosy__Response__Property **properties, size_t n);
