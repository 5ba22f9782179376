// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the facets of the manager share:
//
//   systemd-manager.c          the object, its connection, the turn of the loop
//   systemd-manager-signals.c  what systemd tells by itself
//   systemd-manager-sync.c     ListUnits after a gap, questions about single units
//   systemd-manager-check.c    the rolling check
//   systemd-manager-jobs.c     the job window
//   systemd-manager-calls.c    load, reload, inspect
//   systemd-manager-stops.c    which units a stop would stop
//
// A turn: messages change units and move jobs and calls to the lists of what is finished; manager_flush()
// then calls back in a fixed order, and manager_pump_queries(), _jobs() and _calls() send what may be sent.
// Handlers of messages never call back themselves.
//
// Lifetimes:
//   SystemdUnit      watch to unwatch; questions about it name it by name, never by pointer
//   SystemdUnitWork  while something is to be told, asked or explained about its unit
//   Query            from sending to its reply, or the end of the connection
//   Job              from systemd_manager_job() to its `done`; it outlives connections
//   LoadItem, ...    likewise
//   BusLink          one connection

#include "pool.h"
#include "bus-link.h"
#include "fair-queue.h"
#include "list.h"
#include "map.h"
#include "name-table.h"
#include "property-format.h"
#include "string-interner.h"
#include "systemd-manager.h"
#include "systemd-message.h"
#include "systemd-signal.h"
#include "unit-cgroups.h"
#include "unit-runtime.h"
#include "uvx.h"

// Questions about one unit that are not answered yet, in the order in which they are asked.
typedef enum Want {
        WANT_LOADED = 1 << 0, // GetUnit: is it in memory?
        WANT_STATE = 1 << 1,  // ListUnitsByNames, only if it is
        WANT_INVOCATION = 1 << 2,
        WANT_RESULT = 1 << 3,
        WANT_ENTERED = 1 << 4, // of what is inactive: since when
        WANT_CHANGED = 1 << 5, // and whether that is all that has happened to it
        WANT_RESTARTS = 1 << 6, // of a service
        WANT_SINCE = 1 << 7,    // of what was up when it was seen first: since when
} Want;

typedef struct SystemdUnitWork {
        SystemdUnit *unit;
        ListNode dirty;   // linked while something is to be told
        ListNode fetch;   // linked while `want` is not empty and nothing is asked
        ListNode suspect; // the check found it changed, and no signal has told so since
        uint8_t want;
        uint8_t asked;          // the one bit of `want` that is under way
        bool checking;          // the check caused what is asked
        bool changed, unloaded; // what is to be told
} SystemdUnitWork;

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
        ListNode link; // in jobs_active or jobs_finished
        FairItem fair; // in `queue` until it is finished
        FairQueue *queue;
        SystemdManager *manager;
        SystemdJobKind kind;
        JobState state;
        SystemdJobResult result;
        bool slot, verifying;
        bool listed;  // the listing that is being taken in names it
        bool end_missed; // the listing did not: its end was not told
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
        SystemdInspected done;         // all properties, or
        SystemdOutdated done_outdated; // only NeedDaemonReload, or
        SystemdControlGroup done_one;  // only ControlGroup
        void *userdata;
        char name[];
} Inspection;

// One look at the control groups, in the pool.
typedef struct CheckWalk {
        PoolWork work;
        SystemdManager *manager;
        char *root; // NULL: that of process `pid`
        int pid, error;
        uint64_t took_us;
        UnitCgroups found;
} CheckWalk;

enum {
        RETRY_MIN_MS = 20,
        FOREIGN_JOBS = 64, // that are remembered
};

// The end of a job of a unit that is not watched, as systemd may have forgotten it by the time of a
// question.
typedef struct ForeignJob {
        uint64_t unit;  // map_hash() of its name
        uint64_t at_us; // CLOCK_MONOTONIC
} ForeignJob;

typedef enum CloseState { OPEN, CLOSING, CLOSED } CloseState;

struct SystemdManager {
        uv_loop_t *loop;
        char *socket_path;
        uint64_t message_max; // 0: trusted
        int (*open_socket)(void *userdata);
        void *open_userdata;
        SystemdShare *share;
        SystemdOps ops;
        void *userdata;

        BusLink *link; // NULL: not connected
        uv_timer_t retry, tick, check;
        Drain drain;
        uint64_t retry_ms;
        bool opening;    // open_socket owes us a socket
        bool complained; // about not being able to connect, once
        CloseState closing;
        int n_handles; // ours and the links', until the last is closed
        void (*closed)(void *userdata);
        void *closed_userdata;

        NameTable units;
        StringInterner words;            // sub-states and results
        ListNode dirty, fetch, suspects; // of SystemdUnitWork
        size_t n_later, later_at;        // units that have `later`, and how far in `units`
        bool unnoted_change;             // something changed and there was no memory to note what
        ListNode queries;
        size_t n_queries;
        uint64_t n_sent, n_received; // calls of this connection and replies to them
        uint64_t asked_ms;        // since then a call waits; each reply begins it anew
        uint64_t asked_signals;   // stats.signals then

        bool reloading; // between Reloading(true) and Reloading(false)
        uint64_t reload_since_us;
        unsigned reloads_begun; // by anybody, since ours was asked for
        bool syncing, synced, announce_synced, announce_reloaded, announce_files;
        bool sync_full, sync_again, sync_again_full;
        bool sync_listed;        // the listing is taken in, single questions may be open
        bool after_loss;         // a loss caused this sync
        unsigned vain_losses;    // that turned out to be none, in a row
        unsigned sync_changes;   // that the listing found
        uint64_t sync_since_us;  // boot time: asked, or if just connected, the first answer
        sd_bus_message *listing; // a ListUnits reply that is being taken in
        bool stopping, announce_stopping, announce_resumed;
        bool stopping_suspected; // a job for shutdown.target, and no answer yet
        unsigned stopping_questions; // without an answer yet
        bool stopping_awaited;       // until the last one is answered
        bool announce_stopping_known;

        uint64_t check_period_us, check_answer_us, check_due_ms;
        uint64_t judge_ms;                    // when a suspect has had its time
        uint64_t judge_read_us;               // boot time: what was sent by then is read before that
        bool check_round;                     // false, true, false, ...
        size_t check_at;                      // in `units`
        bool check_found;                     // since that was 0: a unit of this round
        unsigned check_open;                  // questions of the check without an answer
        uint64_t check_sent_us, check_number; // of the last one, counted as n_sent
        bool check_rest;                      // the round's last part is under way
        sd_bus_message *resting;              // a reply of it that is being taken in
        CheckWalk *walk;                      // with the pool, or being taken in
        bool walked;
        size_t walk_at;
        char *cgroup_root;
        bool no_cgroups;

        FairQueue starts, stops; // starts and restarts; stops and resets
        bool stops_turn;
        Map jobs_queued; // the newest queued Job by unit
        ListNode jobs_active, jobs_finished;
        unsigned n_slots, n_settling;

        ListNode loads_waiting, loads_sent, loads_finished;
        unsigned n_load_calls;
        ListNode reloads_waiting, reloads_running, reloads_finished;
        bool reload_replied;
        ListNode inspections_waiting, inspections_sent, inspections_finished;
        ListNode surveys_waiting, surveys_sent, surveys_finished;
        ForeignJob foreign_jobs[FOREIGN_JOBS]; // a ring of the last that have ended
        unsigned foreign_job;                  // the oldest, which the next one replaces

        SystemdStats stats;
};

// systemd-manager.c
void manager_ref(SystemdManager *m);
void manager_unref(SystemdManager *m);
// Sends a call without a time limit; `handler` gets the reply, unless the connection breaks before. Owns
// `call`.
int manager_send(SystemdManager *m, sd_bus_message *call, sd_bus_message_handler_t handler, void *userdata);
// The same, and frees `userdata` after the reply or with the connection. If it fails that is still the
// caller's.
int manager_send_owned(SystemdManager *m, sd_bus_message *call, sd_bus_message_handler_t handler,
                       void *userdata);
// Every reply handler begins with this.
void manager_received(SystemdManager *m);
int manager_new_call(SystemdManager *m, const char *member, sd_bus_message **ret);
// ListUnitsByNames: a row for each name, in their order. systemd loads what it does not have in memory.
int manager_new_list_call(SystemdManager *m, const char *const *names, size_t n, sd_bus_message **ret);
int manager_new_property_call(SystemdManager *m, const char *unit, const char *interface,
                              const char *property, sd_bus_message **ret);
// The unit's work, made if there is none; NULL: out of memory, and the connection begins anew for it.
SystemdUnitWork *manager_work(SystemdManager *m, SystemdUnit *w);
// Frees it if there is nothing more to do.
void manager_work_done(SystemdUnit *w);
// What is not answered yet.
static inline unsigned manager_wanted(const SystemdUnit *w) {
        return w->work ? w->work->want : 0;
}
#define manager_foreach_unit(w, m)                          \
        for (size_t w##_i = 0, w##_b = 1; w##_b; w##_b = 0) \
                for (SystemdUnit * w; (w = systemd_manager_next((m), &w##_i));)
// Applies what is true of the unit now; tells if that is new.
bool manager_apply(SystemdManager *m, SystemdUnit *w, const UnitFacts *facts);
void manager_apply_unloaded(SystemdManager *m, SystemdUnit *w);
void manager_note_change(SystemdManager *m, SystemdUnit *w, bool changed);
void manager_set_known(SystemdManager *m, SystemdUnit *w);
// An error of ours (out of memory) while talking: only a new connection makes everything true again.
void manager_fail(SystemdManager *m, int error);
void manager_flush(SystemdManager *m);
void manager_arm_tick(SystemdManager *m, uint64_t deadline_ms);

// systemd-manager-signals.c
int manager_on_signal(BusSignal *signal, void *userdata);

// systemd-manager-sync.c
void manager_sync(SystemdManager *m, bool full);
void manager_sync_lost(SystemdManager *m);
void manager_sync_step(SystemdManager *m);
void manager_want(SystemdManager *m, SystemdUnit *w, unsigned want);
// A signal has told of the run.
void manager_want_no_more(SystemdManager *m, SystemdUnit *w);
unsigned manager_wants_of_loaded(const SystemdUnit *w);
void manager_pump_queries(SystemdManager *m);
void manager_pump_later(SystemdManager *m);
void manager_check_losses(SystemdManager *m);
// Asks for a sign of life if many signals came and no call shows how far behind they are.
void manager_probe(SystemdManager *m);
void manager_ask_stopping(SystemdManager *m);
void manager_note_stopping_known(SystemdManager *m);

// systemd-manager-check.c
// A round has more parts now, so the next one is due sooner.
void manager_hasten_check(SystemdManager *m);
void manager_arm_check(SystemdManager *m);
void manager_check_lost(SystemdManager *m);
void manager_check_step(SystemdManager *m);
void manager_walk_free(CheckWalk *walk);
// The check found the unit changed: did a signal say so?
void manager_suspect(SystemdManager *m, SystemdUnit *w);
void manager_clear_suspect(SystemdUnit *w);

// systemd-manager-jobs.c
void manager_jobs_removed(SystemdManager *m, uint32_t id, const char *unit, const char *word);
void manager_jobs_transition(SystemdManager *m, const SystemdUnit *w);
void manager_jobs_found(SystemdManager *m, uint32_t id); // a job that the listing names
// Whether that job of the unit is one that we have asked for.
bool manager_jobs_have(const SystemdManager *m, const char *unit, uint32_t id);
// Whether we wait for a job of the unit that systemd, by this id (0: none), does not have any more.
bool manager_jobs_miss(const SystemdManager *m, const char *unit, uint32_t id);
// Units that are not in memory have no job: those of which we wait for one are suspects.
void manager_jobs_suspect(SystemdManager *m);
void manager_jobs_lost(SystemdManager *m);
void manager_jobs_listed(SystemdManager *m);
void manager_jobs_synced(SystemdManager *m);
void manager_jobs_tick(SystemdManager *m, uint64_t now_ms);
void manager_jobs_settle(SystemdManager *m);
void manager_jobs_notify(SystemdManager *m);
void manager_jobs_abandon(SystemdManager *m);
void manager_pump_jobs(SystemdManager *m);

// systemd-manager-calls.c
void manager_calls_lost(SystemdManager *m);
void manager_calls_synced(SystemdManager *m);
void manager_calls_notify(SystemdManager *m);
void manager_calls_abandon(SystemdManager *m);
void manager_pump_calls(SystemdManager *m);
void manager_note_reload(SystemdManager *m); // systemd begins a reload, ours or another's

// systemd-manager-stops.c
void manager_stops_lost(SystemdManager *m);
void manager_stops_notify(SystemdManager *m);
void manager_stops_abandon(SystemdManager *m);
void manager_pump_stops(SystemdManager *m);
