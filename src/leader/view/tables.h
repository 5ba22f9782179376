// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What exists and what is seen of it: hosts, nodes, units, and units on nodes.
//
// Lifetimes:
//   Host    while the log has its record, or its link is up
//   Node    while the log has its record; dies with its host
//   Unit    while the log has its record, or a node is seen to hold it, or a client waits for it
//   UnitWork   from the first that is under way about a unit until the end of a turn in which nothing is
//   UnitOnNode    one unit on one node: from the first order or report until the agent reports it gone, its
//                 guard
//           has certainly ended it on a lost host, or the host attaches anew or is removed
//   DisruptionBudget   while it has units, or a rollout is under way
//   Rollout while the log has it running or returning
//   Pending request  from a request's arrival to its final response
//
// What only one folder works with stands in a struct of its own there (orders-state.h and its like): nobody
// else goes into it, and this folder only makes it, ends it and passes the places of its walks. tools/rooms
// --fields counts who does.

#include "events-state.h"
#include "fencing-state.h"
#include "hosts-state.h"
#include "leader-core.h"
#include "leader-state.h"
#include "orders-state.h"
#include "queries-state.h"
#include "rollout-members.h"
#include "scheduler-state.h"
#include "unit-life.h"
#include "unit-on-node-life.h"

// What ordering.c makes of the order for a unit on a node.
typedef enum OrderHold {
        HOLD_NOT,
        HOLD_START,   // its start waits for what is on its way
        HOLD_BLOCKED, // its start waits for what is not
        HOLD_BOUND,   // it runs, and is to be down as long as what it is bound to is
        HOLD_STOP,    // its stop waits for those that come after it
} OrderHold;

// What the stream of events knows of an object (events/event-stream.c), which alone reads it.
typedef struct EventObject {
        uint32_t *reported; // hashes of what was told of it last; owned. NULL: nothing
        uint64_t seq;       // of its last change; 0: it has none yet
        QueueMark due;           // in EventNews.due: it is to be looked at
        // of a unit or a rollout: whose it was when it was told of last (event-stream-roles.c); 0: not known
        uint16_t role;
        uint8_t kind; // Argosy__EventKind
        bool gone;    // it is a GoneObject
} EventObject;

// A unit file that was sent to a host in this session, for as long as an order there names it. (What a host
// installed in an earlier session is not counted: it is asked to install nothing from its own copies.)
typedef struct HostSpec {
        Hash hash;
        size_t users; // units on nodes
} HostSpec;

struct Host {
        uint32_t number;
        bool recorded;    // the log knows it
        bool linked;      // its session to this voter is up
        bool attached;    // said what it holds, in this session
        bool welcomed;    // and was told all that it is to hold: from now on orders go out
        char *complaint;  // what it said of itself that was not taken; NULL: nothing
        bool ever_attached; // attached at least once since this leader leads
        // what it had said was dropped when it began to say it anew, and that has not come whole
        bool half_reported;
        bool leaving;     // its machine is shutting down: takes nothing new
        bool down;        // said goodbye for good
        uint32_t lease_reported_ms; // in this session; 0: not yet
        uint64_t attach_seq;
        uint64_t reported_ms;   // on its own clock: what it has seen until then was told; 0: not said yet
        uint64_t lived_ms;      // Reports.lived_ms, as it said last in this session; 0: not yet
        ListNode probations;    // WaiterItem.probation: who waits for that, by UnitOnNode.probation_ms
        struct {                // its wall clock, since this leader leads: host-clocks.c alone
                bool known, reported_off;
                int64_t offset_us;       // what it is ahead of our boot clock
                int64_t dates_offset_us; // what it was when it attached
                int64_t dates_ahead_us;  // its dates, of the cluster's time
        } clock;
        uint32_t running_id;    // raft server that it runs, as it said
        uint32_t raft_id_known; // by its record when last looked at
        bool voter_known, no_promote_known; // likewise
        uint32_t n_raft_ids;                // how often its record has got another one
        char *version;
        uint32_t feature_level; // that it understands, as it said last; FEATURE_BASE: also if never heard
        Lease lease;
        Map specs; // HostSpec by hash
        // What its Attach said its record should say, until the log has it; NULL: as it is.
        Argosy__HostRecord *pending_record;
        uint64_t lost_us;               // when it was lost, by our clock
        ListNode pending_record_queue;  // in Leader.pending_records_due, or .pending_records_flying while an
                                        // entry has it
        ListNode nodes;                 // Node.of_host
        uint32_t cpu_milli, memory_mib; // what it offers, as it said last
        uint32_t voters_configured;     // Voters= there, as it said last; 0: not set
        struct {                        // what it runs of fleet's: fleet-units.c alone
                ListNode units;
                char *directory;
                bool taken_over, runs;  // TakeOver= says so; fleetd does
                bool unknown;           // it does not know yet, and says so
        } fleet;
        ListNode lost;      // in Leader.lost_hosts, while it is recorded and lost
        ListNode marks[HOST_MARKS]; // in Leader.host_marks: host-marks.c alone
        struct {                    // what people are told of it: host-news.c alone
                bool lost, back, lost_flying, back_flying;
                uint64_t silent_us; // before it was lost; 0: it said that it goes
        } news;
        HostCounts counted; // its part of Leader.n_hosts
        // What other folders keep, each alone.
        HostScheduling scheduling;
        HostFencing fencing;
        HostOrdering ordering;
        HostMembership membership;
        HostRequests requests;
};

// What a node is counted as.
typedef struct NodeTally {
        bool counted, heard; // whether it is, and whether anybody knows what its units do
        NodeState state;
        Argosy__NodeMode mode;
} NodeTally;

struct Node {
        uint32_t number;
        Host *host;
        ListNode of_host; // in host->nodes
        char *name;       // for people
        char *manager;
        char *reason;    // why its manager cannot be used, as the host says; NULL: it can
        uint64_t state_since_us; // when tally.state became what it is, or when this leader heard of the
                                 // node; by leader_wall()
        ListNode placed; // Unit.placed
        size_t n_placed;
        size_t n_unfinished; // of these: they have not ended there for good
        ListNode units_on_node; // UnitOnNode.by_node
        size_t n_units_on_node;
        ListNode emptying;      // in Leader.nodes_emptying
        ListNode *empty_placed; // Unit.placed that hears next of its being emptied; NULL: that is over
        size_t n_globals;       // global units that run here
        // What a drain waits for, kept as records and reports come.
        size_t n_to_leave; // of the placed ones: if the node is emptied, they have to leave
        size_t n_stuck;    // of these, stranded: no other node takes them
        size_t n_leaving;  // units on nodes that are to end here
        Argosy__NodeMode mode;
        uint64_t deadline_us;  // wall clock, of its drain; 0: none
        bool deadline_done;    // it is over, and what had not left was put into Leader.moving for it
        ListNode deadline;     // in Leader.drain_deadlines, while it is being emptied and has one
        char *closed;          // why it takes no new units, by its mode; NULL: it is open
        EventObject event, drain;        // the second of its being emptied
        ListNode marks[NODE_MARKS];      // in Leader.node_marks: nodes.c alone
        char *former_name; // the name that watchers know, until told that it is gone; NULL: its name
        ListNode units_due;                // in EventNews.nodes, while its units are marked for the stream:
        ListNode *mark_placed, *mark_held; // Unit.placed and UnitOnNode.by_node that come next
        Tallies *all; // of its leader
        NodeTally tally;
        size_t seen[UNIT_STATES]; // of its units, by what its host said last
        size_t n_looping;         // of these
        // What other folders keep, each alone.
        NodeScheduling scheduling;
        NodeFencing fencing;
        NodeOrdering ordering;
        NodeQuestions questions;
        NodeStream stream;
};

// Why one node may not have the unit although its options admit it. Forgotten with the host's session.
typedef struct Exclusion {
        struct Exclusion *next;
        uint32_t node;
        char reason[];
} Exclusion;

// The instances of one template (those that are not global), or a unit that a rollout is about.
typedef struct GroupContent GroupContent;

typedef struct DisruptionBudget {
        char *name;        // of the template or the unit
        ListNode units;    // Unit.of_budget
        size_t n_launched; // of these: wanted up, and not done for good
        size_t n_down;     // of the launched ones: not up (UnitOnNode.up)
        size_t n_taken;    // and those that the batch in the making takes down
        uint64_t batch;    // that n_taken is about
        uint64_t plan;     // the plan that the two below are about
        ptrdiff_t planned_launched, planned_down; // by how much n_launched and n_down would be other ones
        ListNode waiting;  // Unit.queue of those that would leave their nodes if the budget allowed
        Rollout *rollout;  // NULL: none is under way
        RolloutMembers *survey; // of a rollout that is asked for (rollouts/rollout-survey.c); NULL: none is
        Map contents;      // GroupContent by what it is, of those that its units have (group-contents.h)
        uint64_t revision; // the newest that a unit has had in it, or with which it has left
        size_t n_recovering;      // units that will be up, or gone, by themselves (orders/recovering.c)
        bool recovering_known;    // that is so; else there may be others
        ListNode recovering_walk; // in Leader.recovering_walks, while that is looked for
        ListNode *recovering_at;  // Unit.of_budget that the walk is at
} DisruptionBudget;

// For a global unit that is being rolled out: nodes that were touched, in no order, as long as the rollout
// takes them out.
typedef struct RolloutRows {
        uint32_t *touched; // numbers; one may be there several times
        size_t n, allocated;
        bool kept; // the rollout does
        bool all;  // all of them were
} RolloutRows;

struct Rollout {
        DisruptionBudget *budget;
        RolloutRows rows;
        // of a global unit, once it was looked at (rollouts/rollout-nodes.h); NULL: of none
        struct RolloutNodes *nodes;
        ListNode all;                      // in Leader.rollouts
        bool due;                          // to be looked at
        bool held; // another budget has no room for what would go down with its units
        bool in_place; // it brings nothing new but files, for which no unit is restarted
        uint64_t next_us;                  // when time alone moves it; 0: never
        size_t left, n_items, n_down, max; // as of the last look
        RolloutMembers members;  // of a group of units; of a global unit there are none
        uint64_t revision;       // of the record by which these were looked at; 0: by none yet
        bool returning;          // and its way
        LeaderWalk walk;               // through the members
        // units that share networks which it changes (rollouts/rollout-sharers.h), once they were looked at;
        // NULL: it changes none
        struct RolloutSharers *sharers;
        uint64_t shares_as_of; // as `revision` and `returning`, of the sharers
        bool shares_back;
};

// The units that a unit has preempted, and the one by which it was preempted, as long as that is known
// (pending.c).
typedef struct Preemption {
        Unit *unit;         // the owner
        Unit *by;           // NULL: it was not preempted
        ListNode victim;    // in the victims of that one
        ListNode preempted; // in Leader.preempted, while `by` is set
        ListNode victims;   // Preemption.victim: units that it preempted
} Preemption;

// What is under way about a unit: the lists of a Leader that it stands in for that, and what is kept until
// it is over. A unit at rest has none. view/unit-work.h: who makes it, and when it goes.
typedef struct UnitWork {
        Unit *unit;
        ListNode looked_at; // in Leader.works: whether it may go is judged at the end of the turn
        ListNode waiters;   // WaiterItem.by_unit
        ListNode queue;     // in the list that follows from its life (unit-event.c)
        BinaryHeapItem moving;    // in Leader.moving: unit-event.c alone
        DisruptionBudget
                *held_by;     // while it is held: its own budget, or that of units which go down with it
        ListNode schedule;    // in one of Leader.schedule: schedule-queue.c alone
        ListNode enqueued;    // in Leader.enqueued or .offered: it waits in the Placement as if it had no
                              // node
        ListNode unscheduled; // in Leader.unscheduled: likewise, and no round has looked for a node since it
                              // became so
        ListNode touched, released, refusals_due, unused; // in the lists of Leader of these names
        // in Leader.waited while who waits is to be told how the unit is, else in .waiting, as long as
        // anybody waits
        ListNode waited;
        Deadline deadlines[UNIT_DEADLINES]; // unit-deadlines.c alone
        ListNode parting;   // in Leader.parting: it has to leave nodes that its record does not name
        ListNode order_due; // in Leader.ordering
        ListNode excluded;  // in Leader.excluded while there are any:
        Exclusion *exclusions;
        Retry *retry;           // NULL: it has not failed, or is not started again for it
        Preemption *preemption; // NULL: none
        // Leader.wait_round when `waited` came into .waiting; 0: it is in .waited
        uint32_t judged_round;
        // while it waits for a node: since when, as far as this leader knows; by leader_wall()
        uint32_t pending_since_sec;
} UnitWork;

// There may be a million: what stands here each of them pays for. What few of them need at a time is in
// UnitWork.
struct Unit {
        ListNode on_nodes; // UnitOnNode.by_unit
        Map *rows;         // these by the node's number, of one that was on many; NULL: they are few
        UnitWork *work;    // owned; view/unit-work.h alone reads this. NULL: it is at rest
        Node *node;        // by its record; NULL: none, global, or no such node
        ListNode placed;   // in node->placed
        DisruptionBudget *budget; // NULL: it stands alone
        ListNode of_budget;
        GroupContent *content; // that it has, of those of its budget; NULL: it has none
        UnitScheduling scheduling;
        UnitLife life : 8;      // changed by unit_event() alone
        UnitOrdering ordering;
        // the options of another unit name it, so it stays in the tables without a record, too
        bool followed : 1;
        bool counted : 1, down : 1, recovering : 1; // in its budget's numbers
        bool recorded : 1;
        bool leaves : 1;        // in its node's n_to_leave
        bool unfinished : 1;    // in its node's n_unfinished
        bool touched_itself : 1; // for lists: it was, not only where it is on some nodes
                                 // (Leader.touched_hosts)
        bool rows_due : 1;      // for the stream: whatever nodes say of it is to be looked at, not only what
                                // is marked
        EventObject event;
        uint32_t *content_reported; // as EventObject.reported; owned
        char name[];
};

// What was an object, for those who have been told of it.
typedef struct GoneObject {
        EventObject event;
        ListNode kept;   // in EventNews.gone
        ListNode row;    // in EventNews.rows_gone
        uint32_t node;   // of a unit on a node
        char *node_name; // its name; owned. NULL: it is no unit on a node
        uint32_t *content_reported; // of a unit; owned
        char name[];
} GoneObject;

// What is under way about a unit on a node. view/unit-on-node-work.h: who makes it, and when it goes.
typedef struct UnitOnNodeWork {
        UnitOnNode *on_node;
        ListNode order;    // in Host.ordering.due: to be sent
        ListNode awaiting; // in Leader.awaiting: its order waits until the unit has ended on another node;
                           // or in
                           // .replacing or .replacing_due: its start waits for units that it
                           // replaces (replacers.c)
        ListNode outcome_due;     // in Leader.outcomes, or .outcomes_flying
        Argosy__Outcome *outcome; // owned; to be put into the log
} UnitOnNodeWork;

// What a host says of a unit in words that few have; each is owned, and NULL if it is empty or, of the first
// two, one of known_words (unit-on-node.c).
typedef struct UnitOnNodeWords {
        char *sub, *result, *error, *down_by, *pull;
        uint64_t pull_ms; // since when, as Host.reported_ms; 0: the image is not pulled yet
} UnitOnNodeWords;

// A content that hosts say they have: kept once for all of them.
typedef struct SeenSpec {
        Hash hash;
        size_t users; // units on nodes
} SeenSpec;

#define HOST_MS_BITS 48   // of a time on a host's clock, in milliseconds: 8,900 years
#define SMALL_UNKNOWN 15U // of what has 4 bits

// As many as units: what few of them need at a time is behind pointers, and small numbers share words. It
// takes 160 bytes, which is a size that allocators have.
struct UnitOnNode {
        Unit *unit;
        Node *node;
        ListNode by_unit, by_node;
        UnitOnNodeWork *work; // owned; unit-on-node-work.h alone reads this. NULL: nothing is under way
        HostSpec *spec;    // counted; NULL: none was sent for it in this session, or it is to let go of it
        uint64_t ordered_revision; // of the last order of this session
        uint64_t had_revision;     // of the last one of these to have it by its record
        uint64_t up_flip_us; // since when `up`, below, is what it is, by our clock

        // What its host said last.
        uint64_t revision, since_us;
        SeenSpec *seen;         // counted; unit_on_node_seen(). NULL: none
        UnitOnNodeWords *words; // owned; unit_on_node_sub() and the like. NULL: it has none of them
        uint32_t *reported;     // as EventObject.reported; owned
        uint64_t changed_ms : HOST_MS_BITS; // on its host's clock, as Host.reported_ms; 0: not said
        // by how much failed_restarts has grown with the last report; of the first nobody knows
        uint64_t new_failures : 16;
        // as changed_ms; PROBATION_ON: its process has lived long enough when Host.lived_ms says so
        uint64_t probation_ms : HOST_MS_BITS;
        // Argosy__LoadState and so on; SMALL_UNKNOWN: one that this leader does not know
        uint64_t load : 4, down : 4, probation : 4;
        uint64_t tallied : 4; // in its node's `seen`: the state, + 1; 0: it is not
        QueueMark event_due;       // in EventNews.rows: it is to be looked at for the stream
        uint32_t restarts, failed_restarts;
        uint32_t active : 4;      // as `load`
        uint32_t sub : 4, result : 4; // the place of known ones in known_words + 1; 0: not one of these
        UnitOnNodeLife life : 3;  // changed by unit_on_node_event() alone
        OrderHold hold : 3;       // what its order waits for besides
        // runs as its record says, as far as is seen (disruption-budget.c); kept for groups, and for units
        // that an update has to do with
        bool up : 1;
        bool run_counted : 1;     // up_flip_us is about the run that began at since_us
        bool restarts_heard : 1;  // there was a report before
        // it was told last to stay as it is, and has acted on no revision since; `revision` is 0
        bool stays : 1;
        bool looping : 1;
        bool pulling : 1; // its image
        bool file_stale : 1, comes_back : 1;
        bool leaving : 1; // it is being removed, and not begun again by any order that it was sent before
        bool lingers : 1; // its host is down, and said that the unit may still run there
        bool counted : 1; // in its node's n_leaving
        bool loop_tallied : 1; // in its node's n_looping
        bool older_secret_reported : 1; // watchers were told that it has an older version of a secret
        bool mismatch_reported : 1;     // and that the node does not meet its file
};
static_assert(sizeof(UnitOnNode) <= 160);
