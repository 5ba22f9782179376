// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the facets of the agent share. One Agent per host, one AgentNode per systemd manager on it, one
// AgentUnit per unit that is wanted or held there.
//
// A turn of the loop (agent_drain() in agent.c): orders whose fence is on the disk are taken over, dirty
// units are planned, the ledger is written once, then files, loads and jobs are handed out, then reports are
// sent. Nothing is told to systemd before the record of it is in the ledger.
//
// Lifetimes:
//   AgentUnit   see agent-unit.h; steps under way name it by (node, name, step number), never by pointer
//   AgentNode   the system's as long as the Agent; another manager's from its attaching to its detaching,
//               see agent-nodes.c

#include "agent-unit.h"
#include "agent.h"
#include "buf.h"
#include "cgroup-usage.h"
#include "fence.h"
#include "lease-file.h"
#include "ledger.h"
#include "list.h"
#include "manager-helper.h"
#include "map.h"
#include "plan.h"
#include "report-pace.h"
#include "slab.h"
#include "slices.h"
#include "str.h"
#include "unit-dir.h"
#include "uvx.h"

enum {
        AGENT_GUARD_NEWS_US = 5 * 1000 * 1000, // what systemd may need to tell that a guard's units go down
        AGENT_SHUTDOWN_NEWS_US = 2 * 1000 * 1000, // from the beginning of a shutdown until we hear of it
        AGENT_PLANS_PER_TURN =
                512, // units planned in one turn of the loop, about 1 us each; all nodes together
        AGENT_FILES_PER_BATCH = 512,      // unit files written by one job of the pool, about 50 us each
        AGENT_FILES_PACE_US = 20000,      // from the end of one batch to the next, if that is not full
        AGENT_FILES_BUSY_PACE_US = 60000, // the same while jobs are under way
        AGENT_REPORTS_PER_MESSAGE = 512,
        AGENT_BATCHES_MAX = 1024, // messages from the leader that wait for the fence; beyond that we start
                                  // over with Attach
        AGENT_BEATS_KEPT = 64,    // sent beats whose time is remembered
        AGENT_CALLS_MAX = 64,     // status, journal and top calls at a time
        AGENT_ERROR_MAX = 512,    // bytes of an error text
};

typedef struct AgentNode {
        struct Agent *agent;
        ListNode in_agent; // in Agent.nodes; unlinked once it closes
        char *manager;     // "system", "user@1000", ...
        char *name;        // for people: HOST, or HOST/MANAGER
        uid_t uid;         // whose user manager it is; JOURNAL_SYSTEM: the machine's
        uint32_t number;   // node number, 0 until a leader told it
        SystemdManager *systemd;
        UnitDir *dir;
        char *dir_path;
        Ledger *ledger;
        size_t n_units; // watched by `systemd`, and found there
        Slices slices;  // of the held units
        ListNode dirty, waiting, calls;
        ListNode writes; // AgentFileItem: to be written or removed by the next batch
        size_t n_writes;
        uint64_t n_orders; // number of the last order taken over
        uint64_t files_queued,
                files_done;      // numbers of the last one queued, of the last one written or failed
        ListNode fresh;          // units that were ordered and not planned since, in that order
        ListNode held_back;      // units whose start waits for files
        bool writing;            // a batch is with the pool; it alone uses `dir`
        uint64_t files_began_us; // boot time at which the last batch began
        uint64_t read_again_us;  // and at which systemd last was seen to have read all files again
        uint64_t files_ended_us; // boot time at which the last batch ended, 0: none yet
        size_t n_jobs;           // given to systemd and not ended
        char *shutdown_mark;     // path: systemd stops or has stopped all units, whatever the ledger says
        bool units_were_stopped;
        bool synced; // the manager's state was complete once
        bool stopping;
        uint64_t stopping_since_us; // wall clock, as systemd stamps what happens to units
        uint64_t last_step;
        bool closing;
        unsigned n_open;   // connection, helpers and pool jobs that still use it
        char *cgroup_root; // NULL: not known
        int cgroup_pid;    // of the manager that it is the root of; 0: it was configured
        char **search_dirs;        // where systemd looks for unit files; NULL: a helper would have to look
        struct UnitSearch *search; // watches them; NULL: it cannot
        Map touched;               // names of files there that were touched, to be looked for
        bool look_at_all, looking; // all units are to be looked for; the pool looks
        size_t n_hidden;           // units with AgentUnit.hidden
        Map told;          // ToldGroup by name: control groups that are not where the rule says
        unsigned n_asking; // questions for them under way

        // Only managers that are not the system's; these have no `dir`: agent-reach.c, agent-writer.c.
        char *own_dir;         // below the runtime directory: its ledger, and which run of it we saw last
        char *gate;            // unit of the system's manager that runs it
        SystemdUnit gate_unit; // watched there
        pid_t leader;          // init of a container
        bool leader_given;     // by whoever attached it; else it is looked up
        uint64_t leader_born;  // its number may be another process's when it is gone; 0: it is
        HelperLink *connector, *writer;
        bool socket_wanted; // the connection waits for a socket
        uint64_t reach_retry_us;
        unsigned reach_failures;
        uint64_t run;        // which process the manager is: its start time, 0: not known
        char *reason;        // why it cannot be used; NULL: it can
        bool reason_news;    // the leader is to be told
        unsigned n_adopting; // replies that come before that to the batch
        void (*written)(int error, const Argosy__HelperReply *reply, void *userdata); // NULL: no batch
        void *written_data;
        bool force;     // without stopping anything
        bool detaching; // it goes when its last unit has gone
        void (*detached)(int error, void *userdata);
        void *detached_data;
} AgentNode;

typedef struct Agent {
        uv_loop_t *loop;
        AgentOps ops;
        void *userdata;
        char *state_dir, *runtime_dir, *host_name;
        const char *const *helper;                                // see HelperConfig.command
        int (*open_manager)(const char *manager, void *userdata); // for tests, else NULL
        void *open_manager_data;
        uint16_t port;
        Argosy__Label **labels; // packed copies
        uint32_t cpu_milli, memory_mib;
        size_t n_labels;

        ListNode nodes;     // AgentNode.in_agent; the system's is the first
        SystemdShare share; // of the nodes' connections
        AgentNode *system;  // NULL while the agent begins or ends
        size_t n_nodes;
        Map specs;
        Slab slab; // of AgentUnits
        void (*looked)(void *userdata); // NULL: nobody waits for the look before the Goodbye
        void *looked_data;
        bool looking; // systemd's answer is awaited

        ListNode report;
        ListNode paced;        // units that change too often to be told about now
        uint64_t n_reports;    // told to leaders
        uint64_t paced_due_us; // boot time of the next look at them, 0: not set

        Drain drain;
        uv_timer_t wake;      // the earliest wait_until_us
        size_t n_rested;      // units that came to rest in this turn
        uv_timer_t beat;      // also times out an unanswered Attach

        Fence fence;        // the newest that is on the disk
        Fence fence_queued; // the newest that was accepted
        ListNode batches;   // AgentBatch, in the order of arrival
        size_t n_batches;
        bool fence_saving;
        uint64_t fence_retry_us; // boot time; 0: the disk takes it

        uint32_t leader;
        uint64_t leader_term;
        uint32_t leader_level; // what may be said to it, see feature-level.h
        uint64_t attach_seq, welcomed_seq; // of the last Attach, and of the last one that was answered
        uint32_t welcome_parts;            // taken over of the answer to the last Attach, so far
        bool attach_wanted, attach_sent, attached;
        uint64_t attach_sent_us, attach_retry_us;
        uint32_t lease_ms, beat_ms;
        uint64_t beat_seq, beat_sent_us[AGENT_BEATS_KEPT];
        LeaseFile *lease;       // what guards look at; NULL: not opened
        uint64_t lease_from_us; // boot time at which the newest acknowledged beat was sent
        bool refusal_logged;    // of this leader
        uint64_t n_refused;     // messages older than the fence
        uint64_t n_obeyed;      // messages that were taken over

        Map calls; // number -> Call
        ListNode calls_list, remote_calls;
        size_t n_calls;
        uint64_t last_call;
        CgroupUsage *usage;
        ListNode looks; // Look: calls that ask for resource use
        struct {        // what agent_local_units() answered last
                Argosy__Response__Units units;
                Argosy__Response__UnitRow *rows, **pointers;
                size_t n_rows;
        } local;

        void (*cleared)(void *userdata);
        void *cleared_data;
        bool clearing;

        void (*closed)(void *userdata);
        void *closed_data;
        bool closing;
        unsigned n_open; // handles, pool jobs and readers that the close waits for
} Agent;

// agent.c
void agent_close_step(Agent *a); // one of n_open has ended

// agent-nodes.c
static inline AgentNode *agent_node_behind(const Agent *a, const ListNode *n) {
        return n->next == &a->nodes ? NULL : CONTAINER_OF(n->next, AgentNode, in_agent);
}
// No node may be closed in the body.
#define agent_foreach_node(node, a)                                       \
        for (AgentNode *node = agent_node_behind((a), &(a)->nodes); node; \
             node = agent_node_behind((a), &node->in_agent))
int agent_node_open_system(Agent *a, const AgentConfig *config, char **ret_why);
// Forgets its units; nothing is stopped or removed. Its memory goes when nothing uses it any more.
void agent_node_close(AgentNode *node);
void agent_node_close_step(AgentNode *node); // one of n_open has ended
AgentNode *agent_node_find(const Agent *a, uint32_t number);
AgentNode *agent_node_by_name(const Agent *a, const char *manager);
// The leader has given (some of) them numbers.
void agent_nodes_number(Agent *a, Argosy__NodeRecord *const *records, size_t n);
// For people: HOST, or HOST/MANAGER. A new string; NULL: out of memory.
char *agent_node_name(const AgentNode *node);
AgentNode *agent_node_new(Agent *a, const char *manager);
int agent_node_open_systemd(AgentNode *node, const SystemdConfig *config);
// Of a node whose units all are to go: forgets those that have gone, nobody is waited for to hear that.
void agent_node_drop_gone(AgentNode *node);
int agent_complain(int error, char **ret_why, const char *format, ...) _printf_(3, 4);

// agent-managers.c
void agent_managers_drain(Agent *a);

// agent-reach.c
int agent_reach_open(void *node);  // for SystemdConfig.open_socket
void agent_reach(AgentNode *node); // tries, if it is time to
void agent_reach_synced(AgentNode *node);
void agent_reach_lost(AgentNode *node, const char *why);
// A unit of the system's manager changed: perhaps the one that runs a manager of ours.
void agent_reach_on_unit(Agent *a, const char *name);
void agent_reach_close(AgentNode *node);
int agent_reach_watch_gate(AgentNode *node);
// The node's, and if it is the system's, everybody's.
void agent_reach_unwatch_gates(AgentNode *closing);
void agent_node_set_reason(AgentNode *node, const char *reason); // NULL: it can be used
void agent_node_reports_drain(Agent *a);
// All that cannot be used, for Attach; `list` has room for n_nodes, what it points to is in `reports`.
size_t agent_node_reports(Agent *a, bool only_news, Argosy__NodeReport *reports, Argosy__NodeReport **list);

// agent-writer.c: unit files by a helper
// One batch at a time. `look`: for which items to look whether the name is somebody else's. `done` fires
// once, later.
int agent_writer_apply(AgentNode *node, const UnitDirItem *items, const bool *look, size_t n,
                       void (*done)(int error, const Argosy__HelperReply *reply, void *userdata),
                       void *userdata);
void agent_writer_close(AgentNode *node);

// agent-units.c
int agent_unit_unwant(AgentUnit *u); // it is to be removed, if it is not yet: 0 or -ENOMEM
int agent_node_adopt(AgentNode *node, const char *ledger_path);
// Takes the orders over. Those that name a spec nobody sent make the agent attach again.
void agent_obey(Agent *a, const Argosy__ToHost *message);

// agent-steps.c
// At most `max` units of it; the rest in the next turn.
void agent_node_plan(AgentNode *node, unsigned max);
void agent_node_wake(AgentNode *node, uint64_t now_us);
uint64_t agent_node_next_wake(const AgentNode *node);
// NULL while the unit is not in systemd's memory.
const UnitRuntime *agent_unit_runtime(const AgentUnit *u);
// Puts the record as it is now; written at the end of the turn.
void agent_unit_record(AgentUnit *u);

// agent-systemd.c
typedef struct AgentStepCall { // userdata of one job or reload
        AgentNode *node;
        uint64_t number;
        char name[];
} AgentStepCall;
// For the step under way; NULL: out of memory. The caller frees it.
AgentStepCall *agent_step_call_new(const AgentUnit *u);
extern const SystemdOps agent_systemd_ops; // userdata: the AgentNode
void agent_on_job_done(const char *name, SystemdJobKind kind, SystemdJobResult result, const char *error,
                       void *userdata);
void agent_on_pin_done(const char *pin, SystemdJobKind kind, SystemdJobResult result, const char *error,
                       void *userdata);
void agent_on_loaded(const char *name, Argosy__LoadState load, const char *error, void *userdata);
// Reloads for the step under way, if that still has a reason; owns `call` unless it fails.
int agent_reload(AgentUnit *u, AgentStepCall *call);
// NULL if the step was overtaken or the unit is gone.
AgentUnit *agent_step_find(AgentNode *node, const char *name, uint64_t number);
// The step of the unit ended. `error` NULL: well. Otherwise it is tried again later.
void agent_step_done(AgentUnit *u, const char *error);
// Its start goes without a pin.
void agent_pin_failed(AgentUnit *u);

// agent-files.c
typedef enum AgentFileJob { AGENT_FILE_WRITE, AGENT_FILE_LINK, AGENT_FILE_REMOVE } AgentFileJob;
int agent_files_queue(AgentUnit *u, AgentFileJob job);
// When agent_files_start() will have something to do (boot time); 0: nothing is queued, or a batch is under
// way.
uint64_t agent_files_due(const AgentNode *node);
void agent_files_start(AgentNode *node);
// What was queued and has not left yet fails with this error.
void agent_files_fail(AgentNode *node, int error);

// agent-together.c
void agent_together_ordered(AgentUnit *u);
void agent_together_planned(AgentUnit *u);
// Whether the start of this unit has to wait for files that were ordered with it; then it is planned again
// when they are there.
bool agent_together_hold_back(AgentUnit *u);
void agent_together_release(AgentNode *node);

// agent-links.c
// Links below these units came or went (`names` is a sequence of NUL-terminated words): what of them is ours
// and in systemd's memory has not seen that.
void agent_links_touched(AgentNode *node, const char *names, size_t len);
// The same for all links that the unit's content asks for: what happened to them before we started is not
// known.
void agent_links_suspect(AgentUnit *u);

// agent-fence.c
void agent_on_orders(Agent *a, const Argosy__ToHost *message);
void agent_fence_drain(Agent *a);
void agent_fence_drop(Agent *a);

// agent-session.c
int agent_session_init(Agent *a);
void agent_attach(Agent *a);
void agent_session_drain(Agent *a);
void agent_session_on_part(Agent *a); // of a Welcome that is still to come
// Because there is something new to say in it. What has failed before is paced by attach_retry_us.
void agent_attach_now(Agent *a);
void agent_session_welcome(Agent *a, const Argosy__ToHost__Welcome *welcome);
// The lease is over, and for so long, that the guard has stopped this unit or will not let it start.
bool agent_is_cut_off(const AgentUnit *u, uint64_t now_us);
void agent_on_beat_ack(Agent *a, const Argosy__ToHost__BeatAck *ack);

// agent-goodbye.c
void agent_say_stopping(Agent *a);
// The look before a Goodbye: the node's state is complete, or its systemd is out of reach.
void agent_goodbye_on_looked(AgentNode *node);
void agent_goodbye_drain(Agent *a);

// agent-report.c
void agent_unit_report(AgentUnit *u);
// The same for what the unit does by itself: perhaps later.
void agent_unit_report_state(AgentUnit *u);
void agent_report_wake(Agent *a, uint64_t now_us);
uint64_t agent_report_next_wake(Agent *a);
void agent_report_drain(Agent *a);
// All held units, for Attach. Freed with agent_reports_free().
int agent_reports_held(Agent *a, Argosy__UnitReport ***ret, size_t *ret_n);
void agent_reports_free(Argosy__UnitReport **reports, size_t n);

// agent-calls.c
void agent_calls_drop(Agent *a);
void agent_calls_drop_node(AgentNode *node); // they end with an error
void agent_local_units_drop(Agent *a);

// agent-cgroups.c
const char *agent_cgroup_root(AgentNode *node); // of the manager, while it runs; NULL: not known
// Where the unit's control group should be, below that root. -ENOENT: nobody knows; -ENAMETOOLONG, -EINVAL.
int agent_unit_cgroup(const AgentUnit *u, const char *root, char *ret, size_t size);
void agent_cgroup_missed(AgentUnit *u); // it was not there: systemd is asked, once for each run of the unit
void agent_cgroup_forget(AgentUnit *u); // its name is not used any more
void agent_cgroups_done(AgentNode *node);

// agent-search.c
int agent_search_open(AgentNode *node, const char *const *dirs); // 0 or -ENOMEM
void agent_search_close(AgentNode *node);
void agent_search_done(AgentNode *node);
void agent_search_all(AgentNode *node);   // any file may be another one now
void agent_search_drain(AgentNode *node); // lets the pool look for what was touched
// Where the unit's control group is, from its property. NULL: it has none, the manager's root is not known,
// or out of memory.
char *agent_told_cgroup(AgentNode *node, const char *control_group);

// agent-usage.c
int agent_look_start(Agent *a, AgentNode *node, const Argosy__Request__Top *q, AgentReply reply,
                     void *userdata, uint64_t *ret);
bool agent_look_cancel(Agent *a, uint64_t number); // false: no look has that number
void agent_looks_drop(Agent *a);
void agent_looks_drop_node(AgentNode *node); // they end with an error
// Only what is known; `unit` is borrowed.
void agent_fill_usage(const UnitUsage *sample, const char *unit, Argosy__Response__UsageRow *row);

// agent-remote.c
void agent_on_call(Agent *a, const Argosy__ToHost__Call *call);
void agent_on_call_cancel(Agent *a, const Argosy__ToHost__CallCancel *cancel);
void agent_on_call_taken(Agent *a, const Argosy__ToHost__CallTaken *taken);
void agent_remote_calls_drop(Agent *a);

