// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the agent is made of: its limits and its state. One Agent per host, one AgentNode per systemd manager
// on it, one AgentUnit per unit that is wanted or held there. What may be done with a part of it says the
// header of the file that does it.
//
// A turn of the loop (agent_drain() in agent.c): orders whose fence is on the disk are taken over, dirty
// units are planned, the ledger is written once, then files, loads and jobs are handed out, then reports are
// sent. Nothing is told to systemd before the record of it is in the ledger.
//
// Lifetimes:
//   AgentUnit   see unit-core.h; steps under way name it by (node, name, step number), never by pointer
//   AgentNode   the system's as long as the Agent; another manager's from its attaching to its detaching,
//               see agent-nodes.c

#include "agent.h"
#include "cgroup-usage.h"
#include "fence.h"
#include "fleet-units.h"
#include "helper-link.h"
#include "image-record.h"
#include "lease-file.h"
#include "ledger.h"
#include "list.h"
#include "map.h"
#include "search-pace.h"
#include "slab.h"
#include "slices.h"
#include "unit-core.h"
#include "unit-dir.h"
#include "uvx.h"

enum {
        AGENT_GUARD_NEWS_US = 5 * 1000 * 1000, // what systemd may need to tell that a guard's units go down
        AGENT_SHUTDOWN_NEWS_US = 2 * 1000 * 1000, // from the beginning of a shutdown until we hear of it
        AGENT_PLANS_PER_TURN =
                512, // units planned in one turn of the loop, about 1 us each; all nodes together
        AGENT_ORDERS_PER_TURN = 1024,     // taken over in one turn, about 1 us each; but messages are whole
        AGENT_REPORTS_PER_MESSAGE = 512,
        AGENT_MESSAGES_PER_TURN = 2,      // of reports
        AGENT_BATCHES_MAX = 1024, // messages from the leader that wait for the fence; beyond that we start
                                  // over with Attach
        AGENT_BEATS_KEPT = 64,    // sent beats whose time is remembered
        AGENT_WALL_BEATS = 15,    // that say nothing of the wall clock, between two that do
        AGENT_WALL_SET_US = 100000, // by which it differs from what the last of these said: the next one
                                    // says so
        AGENT_CALLS_MAX = 64,     // requests of REQUEST_BY_NODES at a time
        AGENT_STATUS_CALLS_MAX = 24, // of these, of a leader that asks for status; the others wait
        AGENT_ERROR_MAX = 512,    // bytes of an error text
};

typedef struct AgentNode {
        struct Agent *agent;
        ListNode in_agent; // in Agent.nodes; unlinked once it closes
        char *manager;     // "system", "user@1000", ...
        char *name;        // for people: HOST, or HOST/MANAGER
        uid_t uid;         // the user of a user manager; (uid_t) -1: of no user
        uint32_t number;   // node number, 0 until a leader told it
        SystemdManager *systemd;
        UnitDir *dir;
        char *dir_path;
        Ledger *ledger;
        size_t n_units; // watched by `systemd`, and found there
        Slices slices;  // of the held units
        ListNode dirty, waiting, calls;
        ListNode verifying; // questions what systemd would say of contents: agent-verify.c
        ListNode writes; // AgentFileItem: to be written or removed by the next batch
        size_t n_writes;
        uint64_t n_orders; // number of the last order taken over
        uint64_t files_queued,
                files_done;      // numbers of the last one queued, of the last one written or failed
        ListNode fresh;          // units that were ordered and not planned since, in that order
        ListNode held_back;      // units whose start waits for files
        bool writing;            // a batch, or a question about names, is with the pool; it alone uses `dir`
        ListNode name_checks;    // questions about names that wait for `dir`
        size_t n_name_checks;
        uint64_t files_began_us; // boot time at which the last batch began
        uint64_t read_again_us;  // and at which systemd last was seen to have read all files again
        uint64_t files_ended_us; // boot time at which the last batch ended, 0: none yet
        bool take_from_due;      // `dir` is to hear of Agent.take_from, when the pool does not use it
        size_t n_jobs;           // given to systemd and not ended
        char *shutdown_mark;     // path: systemd stops or has stopped all units, whatever the ledger says
        bool units_were_stopped;
        bool synced; // the manager's state was complete once
        bool stopping;
        uint64_t stopping_since_us; // wall clock, as systemd stamps what happens to units
        uint64_t last_step;
        bool closing;
        unsigned n_open;   // connection, helpers and pool jobs that still use it
        void (*ended)(struct AgentNode *node); // given when it was made: nothing uses it any more
        char *cgroup_root; // NULL: not known
        int cgroup_pid;    // of the manager that it is the root of; 0: it was configured
        char **search_dirs;        // where systemd looks for unit files; NULL: only a helper sees them
        struct UnitSearch *search; // watches them; NULL: nobody does
        Map companions;            // templates beside units, by name: agent-companions.c alone
        bool companions_due, companions_known; // the files are to be looked at; those of before are in the
                                               // table
        Map links_touched;         // templates whose instances have new links, until the batch is taken in
        Map touched;               // names of files there that were touched, to be looked for
        bool search_all, searching; // all units are to be looked for; the pool searches, or a helper
        SearchPace search_pace;    // of helpers
        struct ForeignSearch *searcher; // the helper that searches
        size_t n_hidden;           // units with AgentUnit.hidden
        Map returns;         // AgentReturn by name: units that come back after others, see agent-returns.h
        Map networks;        // MadeNetwork by the name of the unit that makes it: agent-network-made.c alone
        Map stop_queries;    // StopQuery by name: agent-stop-cause.c alone
        Map down_by;         // AgentDownBy by name: agent-down.c alone
        Map reported_groups; // ReportedGroup by name: control groups that are not where the rule says
        unsigned n_asking; // questions for them under way

        // Only managers that are not the system's; these have no `dir`: agent-reach.c, agent-writer.c.
        char *own_dir;         // below the runtime directory: its ledger, and which run of it we saw last
        char *gate;            // unit of the system's manager that runs it
        SystemdUnit gate_unit; // watched there
        pid_t leader;          // init of a container
        bool leader_given;     // by the user that attached it; else it is looked up
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
        char *take_from; // the loop's; each batch of files is told (agent_node_take_from())
        AgentFleet fleet;
        const char *const *helper;                                // see HelperConfig.command
        struct SecretFiles *secrets; // agent-secrets.c alone; NULL: it has no place for them
        char *secrets_dir;
        int secrets_error;           // why it has none
        bool secrets_any_fs;
        bool secrets_known; // all that is wanted here was said
        struct UnitVerifier *verifier;                            // NULL: nobody is asked about contents
        struct { // agent-podman.c alone
                char version[16]; // "5.4"; "": none, or not known yet
                bool loaded;      // what was known before this argosyd
                bool watched;     // its folder is
                bool changed;     // it is another one than at the last Attach, perhaps of the same version
                bool fresh;       // the next Attach is to tell what it has just said
                uv_fs_event_t watch;
                Argosy__Label label;
        } podman;
        struct { // images of containers: agent-images.c and agent-image-asks.c
                const char *runner; // TransientConfig.runner
                ListNode asks;      // ImageAsk
                unsigned n_asks;
                uint64_t n_commands; // that were begun
                ListNode commands;   // ImageCommand
                unsigned n_running;  // of these
                Map here;            // names of images that podman has, as of
                char *list;          // its list of them, a file; NULL: not known
                ino_t inode;         // of that; 0: what is here is not known
                struct timespec at;  // and its time
                bool auth_swept;     // agent-registry-auth.c
                ListNode looks;      // PodmanLook
                bool listed;         // podman was asked what it has, and where, since argosyd began
                // agent-image-removal.c:
                ImageRecord record;
                bool look, goes_on;  // for room
                struct TransientCommand *removal; // NULL: nothing is removed at present
                char *removed;       // by that
                Map left;            // names of what podman would not remove since the last look
                Map called;          // those that leaders have asked for, from here on
                uint64_t called_us;  // boot time
        } images;
        struct { // agent-networks.c, and of the looks agent-network-users.c
                ListNode looks, waiting;    // NetworkLook; AgentUnitWork.network_wait
                struct NetworkLook *change; // NULL: none is made anew
                uint32_t n_made;            // that were made anew, or tried to be
        } networks;
        bool user; // its own manager is that of a user
        int (*open_manager)(const char *manager, void *userdata); // for tests, else NULL
        void *open_manager_data;
        uint16_t port;
        Argosy__Label **labels; // packed copies
        size_t n_labels;

        ListNode nodes;     // AgentNode.in_agent; the system's is the first
        SystemdShare share; // of the nodes' connections
        AgentNode *system;  // NULL while the agent begins or ends
        size_t n_nodes;
        Map specs;
        // CarriedFetch, AgentUnitWork.files_wanted: agent-carried.c alone
        ListNode carried_fetches, carried_waiting;
        struct { // looks at what files are bound over: agent-places.c alone
                ListNode waiting, late; // PlaceLook
                struct PlaceLook *looking;
                unsigned n_late;
        } places;
        struct { // units that are refused for what may pass: agent-barred.c alone
                Map names;                       // AgentBarred
                ListNode waiting, round, passed; // for the next look, in the one under way, and what the
                                                 // leader is to hear
                struct AgentBarred *looked_at;   // NULL: none, or it was dropped meanwhile
                bool in_round, looking;
                uint64_t due_us; // boot time of the next look; 0: there is nothing to look for
        } barred;
        Map carried_names; // files that contents name: carried-names.c alone
        // a content that is not known has gone, and perhaps files with it: agent-carried-left.c
        bool carried_is_left;
        struct AgentCarriedLeft *carried_left; // NULL: nothing of that is under way
        size_t n_cut_off_specs; // of these, with AgentSpec.cut_off_stop
        Slab slab; // of AgentUnits
        void (*asked)(void *userdata); // NULL: nobody waits for what is asked before the Goodbye
        void *asked_data;
        // systemd's answer is awaited: is the machine going down, what has ended
        bool asking_state, asking_units;
        bool stopping_unsent; // the leader is to hear that the machine is shutting down
        bool stopping_notified; // what AgentOps.stopping and .resumed have said

        ListNode report;
        ListNode paced;        // units that change too often to be told about now
        ListNode held_due;     // AgentUnit.report: units that the Attach is still to name
        ListNode loops;        // AgentLoop.node
        ListNode probations;   // AgentUnitWork.probation, in the order in which these began
        uint64_t lived_ms,
                lived_reported_ms;        // Reports.lived_ms as it is, as this leader was told; 0: nothing
        uint64_t lived_at_ms;             // boot time at which it became that
        AgentStats stats;      // but for gauges, which are filled in when somebody asks
        TimeHistogram beat_times;
        uint64_t beat_answered; // sequence of the last one that these have
        SystemdStats ended_systemd; // what connections to managers counted that are gone
        uint64_t paced_due_us; // boot time of the next look at them, 0: not set
        uint64_t gather_until_us; // boot time until which `report` waits for more of them, 0: it does not
        uint64_t reported_us;     // boot time at which `report` was last sent to its end

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
        uint64_t attach_seq, welcomed_seq; // of the last Attach, and of the last one that was answered
        uint32_t welcome_parts;            // taken over of the answer to the last Attach, so far
        bool attach_wanted, attach_sent, attached;
        bool attach_in_parts; // it was sent, and not all of `held_due`
        uint64_t attach_sent_us, attach_retry_us;
        unsigned n_unanswered; // Attaches that this leader has not answered, in a row
        uint32_t lease_ms, beat_ms;
        uint64_t beat_seq, beat_sent_us[AGENT_BEATS_KEPT];
        uint64_t beat_asked;    // sequence of the last one that needs an answer
        unsigned n_quiet;       // those behind it: beat-pace.h
        uint64_t beat_trip_us;  // from the last one that was answered until the answer; 0: none was
        int64_t wall_reported_us; // what the wall clock was ahead of the boot clock when the leader was told
                                  // last
        unsigned beats_to_wall; // before it is told again
        // boot time at which the oldest beat of this session that lacks its answer was sent; 0: there is
        // none
        uint64_t unanswered_us;
        LeaseFile *lease;       // what guards look at; NULL: not opened
        uint64_t lease_from_us; // boot time at which the newest acknowledged beat was sent
        bool lease_deferred;    // it seems to be over, and the loop takes once more what has come
        bool refusal_logged;    // of this leader
        uint64_t n_refused;     // messages older than the fence
        uint64_t n_obeyed;      // messages that were taken over

        Map calls; // number -> Call
        ListNode calls_list, remote_calls;
        ListNode name_checks;    // questions about names, of the leader
        ListNode remote_waiting; // of the remote calls: not begun, for want of room
        size_t n_remote_waiting;
        size_t n_status_calls;   // of the leader, that have begun
        size_t n_calls;
        uint64_t last_call;
        CgroupUsage *usage;
        ListNode usage_queries; // UsageQuery: calls that ask for resource use
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
        void (*ended)(struct Agent *a); // given when it was made: nothing uses it any more
} Agent;

// ---- the end

// One of n_open has ended. With the last one `ended` is called, if it is to close.
void agent_close_step(Agent *a);
void agent_node_close_step(AgentNode *node);

// ---- the nodes

static inline AgentNode *agent_node_behind(const Agent *a, const ListNode *n) {
        return n->next == &a->nodes ? NULL : CONTAINER_OF(n->next, AgentNode, in_agent);
}
// No node may be closed in the body.
#define agent_foreach_node(node, a)                                       \
        for (AgentNode *node = agent_node_behind((a), &(a)->nodes); node; \
             node = agent_node_behind((a), &node->in_agent))
static inline bool agent_node_is_users(const AgentNode *node) {
        return node->uid != (uid_t) -1;
}
AgentNode *agent_node_find(const Agent *a, uint32_t number);
// The pool is about to use `dir`, which nobody uses now.
void agent_node_begin_writing(AgentNode *node);
AgentNode *agent_node_by_name(const Agent *a, const char *manager);
// For people: HOST, or HOST/MANAGER. A new string; NULL: out of memory.
char *agent_node_name(const AgentNode *node);

// ---- what is known

// Whether everything that happened here until now is among what was told, or is about to be: what has come
// from systemd while we stood still, or is more than a turn takes, has not been looked at.
bool agent_has_received_all(Agent *a);

// ---- a new session is wanted

// Because there is something new to say in it. What has failed before is paced by attach_retry_us.
void agent_attach_now(Agent *a);

// ---- errors

int agent_complain(int error, char **ret_why, const char *format, ...) _printf_(3, 4);
