// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the leader is made of: its limits and its state. The folder that owns a part of the state declares it
// in a header of its own.

#include "activators.h"
#include "author-turns.h"
#include "cluster-state.h"
#include "companions.h"
#include "deadline-heap.h"
#include "dependencies.h"
#include "binary-heap.h"
#include "job-tally.h"
#include "leader.h"
#include "lease.h"
#include "list.h"
#include "map.h"
#include "mark-queue.h"
#include "name-table.h"
#include "secret-users.h"
#include "stop-dependents.h"
#include "unit-life.h"
#include "uvx.h"
#include "walk-pace.h"
#include "wall-clock.h"

enum {
        // units named in one request that only asks: what follows from it is one turn of the loop
        PLAN_UNITS_MAX = 2000,
        UNITS_PER_NODE_MAX = 50000,   // units that one node may claim to hold
        REASON_MAX = 512,             // bytes of why a manager cannot be used, or a unit not started
        WORD_MAX = 64,                // of what systemd or a version is called; the rest is cut off
};

typedef struct Host Host;
typedef struct Node Node;
typedef struct Unit Unit;
typedef struct UnitOnNode UnitOnNode;
typedef struct PendingRequest PendingRequest;
typedef struct SchedulerTables SchedulerTables;
typedef struct Rollout Rollout;
typedef struct Rebalance Rebalance;
typedef struct RebalanceJob RebalanceJob;
typedef struct Retry Retry;
typedef struct OwnMoves OwnMoves;
typedef struct Listing Listing;
typedef struct WaiterItem WaiterItem;
typedef struct WaitSeen WaitSeen;
typedef struct EventStream EventStream;
typedef struct LogTrail LogTrail;
typedef struct Watcher Watcher;
typedef struct Voters Voters;
typedef struct VoterSecretsController VoterSecretsController;
typedef struct CaController CaController;
typedef struct SecretsKeyController SecretsKeyController;

// Numbers, in no order; one may be there several times.
typedef struct TouchedHosts {
        uint32_t *hosts;
        size_t n, allocated;
        bool all; // they were too many to be noted
} TouchedHosts;

// See walks.h.
typedef struct LeaderWalk { // zero-initialised: one that was not resumed
        WalkPace pace;
        ListNode used_up; // in Walks.used_up: this turn has done all that it might
} LeaderWalk;

// Those of the leader itself. They are resumed in each term.
typedef enum LeaderWalkKind {
        WALK_HOSTS,    // records that its tables are made of
        WALK_NODES,
        WALK_UNITS,
        WALK_JOBS,     // jobs that are running
        WALK_HELD,     // jobs that are held back and may go
        WALK_LEASES,   // hosts that were not heard of
        WALK_MARKS,    // units that were touched
        WALK_GLOBALS,  // where global units run
        WALK_REFUSALS, // refusals, and units that are confined by fleet
        WALK_MOVES,    // units that leave their nodes
        WALK_ORDERS,
        WALK_WAITS,    // of clients that ask the next leader, too
        WALK_WAITED,   // units that these wait for
        WALK_EVENTS,   // what those are told who watch
        LEADER_WALKS
} LeaderWalkKind;

typedef struct Walks {
        LeaderWalk of[LEADER_WALKS];
        ListNode used_up;  // LeaderWalk.used_up
        bool resumed;      // it has not caught up yet
        size_t n_slow;     // that have less than their whole slice, with those of rollouts and requests
        unsigned working;  // walks_work_begin() without its end
        uint64_t from_us, took_us; // CPU time when that began, 0: nobody asks; what the turn has taken so
                                   // far
} Walks;

// Recorded hosts, kept as what is counted of them changes (host_touch()).
typedef struct HostCounts {
        size_t unattached; // within their lease, and have not attached yet since this leader leads
        size_t untold;     // likewise, or what they hold is not known: parts of their Attach are missing
        size_t silent;   // not in session
        size_t awaited;  // of these: within their lease, and not shutting down
        size_t expected; // within their lease, neither shutting down nor in maintenance
        size_t suspect;  // of these
} HostCounts;

// What is due of a host: view/host-marks.h.
typedef enum HostMark {
        HOST_ORDERS,          // there may be something to send
        HOST_GLOBALS,         // which global units its nodes run is to be judged
        HOST_NODES,           // it is to be told the numbers of its nodes
        HOST_FILE_QUESTION,   // it waits for a piece of a file
        HOST_PLACE,           // the Placement is to hear of it
        HOST_LABELS,          // likewise, by its record or the pools
        HOST_OFFERS,          // likewise, what it offers
        HOST_VOTERS,          // whether it could vote may have changed
        HOST_TOMBSTONES,      // some of its tombstones may be cleared
        HOST_LIVED,           // it has said that processes have lived longer, which somebody waits for
        HOST_SESSION_BEGUN,   // it was welcomed
        HOST_SESSION_ENDED,
        HOST_BEAT,            // its beat is to be acknowledged when there is authority
        HOST_BARRIER,         // its Attach waits for the next barrier
        HOST_BARRIER_FLYING,  // for the one that is on its way
        HOST_NEWS,            // people are to be told that it was lost, or is back
        HOST_NEWS_FLYING,     // the entry that is on its way says so
        HOST_MARKS
} HostMark;

// Where a unit that waits for a node is on its way to a round that gives nodes out: view/schedule-queue.h.
typedef enum ScheduleStage {
        SCHEDULE_NEW,   // more than room decides about it: it is to be judged
        SCHEDULE_DUE,   // before the next round
        SCHEDULE_LAST,  // likewise, last of all: it needs that round's Scheduler
        SCHEDULE_LATER, // it was, and is again before the round after that
        SCHEDULE_STAGES
} ScheduleStage;

typedef enum UnitDeadline { // view/unit-deadlines.h
        UNIT_MOVES, // it is delayed, unless it stays for good
        UNIT_ENDS,  // it has ended on the first of the nodes that it has left
        UNIT_DEADLINES
} UnitDeadline;

typedef enum NodeMark { // see view/nodes.h
        NODE_TOUCHED, // whether anybody knows what its units do has changed
        NODE_NEW,     // the Placement does not know it yet
        NODE_RENAMED, // watchers know it by another name
        NODE_GONE,    // the log knows it no more
        NODE_MARKS
} NodeMark;

typedef enum NodeState { // zero-initialised: unheard
        NODE_UNHEARD,
        NODE_ONLINE,
        NODE_OFFLINE, // its host is online, its manager cannot be used
        NODE_SUSPECT,
        NODE_LEAVING,
        NODE_LOST,
        NODE_DOWN,
        NODE_STATES,
} NodeState;

enum {
        UNIT_STATES = ARGOSY__ACTIVE_STATE__ACTIVE_REFRESHING + 1,
        NODE_MODES = ARGOSY__NODE_MODE__MODE_MAINTENANCE + 1
};

// How many there are in which state (view/tallies.h).
typedef struct Tallies {
        size_t lives[LIFE_STATES]; // recorded units, by Unit.life
        size_t seen[UNIT_STATES];  // units on nodes, by what is known of them
        size_t looping;            // of these, on nodes that are heard
        size_t nodes[NODE_STATES], modes[NODE_MODES];
        JobTally jobs;
} Tallies;

// Objects with news for watchers, until the stream of this term has pulled them.
typedef struct EventNews {
        MarkQueue due;      // EventObject.due: something of it may have changed
        ListNode rows_gone; // GoneObject.row, the newest first: looked at before all that is due
        ListNode nodes;     // Node.units_due: something of each of its units may have changed
        ListNode gone;      // GoneObject.kept
        MarkQueue rows;     // UnitOnNode.event_due: it may say something else than it did
        uint64_t *jobs;     // numbers of jobs that have ended, and are not told of yet
        size_t n_jobs, jobs_allocated;
        bool kept; // there are watchers, or were a short while ago
} EventNews;

typedef struct WatcherLists {
        ListNode due, idle; // Watcher.all: to be looked at; told of everything
        ListNode behind;    // of those who have missed more than the ring has, or come from nothing
        size_t n;           // in all three
} WatcherLists;

// Members stand by the folder that owns them, in the order of the folders; "alone" says that no other folder
// uses them. Marks stand with the folder that sets them, lists of what is due with the one that pulls them.
struct Leader {
        LeaderConfig config;
        LeaderLimits limits;
        LeaderOps ops;
        void *userdata;
        ClusterState *state; // borrowed
        Drain drain;
        uv_timer_t timer;
        uint64_t timer_due_us; // 0: not armed
        bool timer_deferred;   // it is due, and the loop takes once more what has come
        int n_handles;         // open uv handles while closing
        size_t n_outside;      // completions that the log and the pool still owe us
        size_t n_retired;      // of these: what the pool frees, tables of terms that are over
        bool closing;
        void (*closed)(void *userdata);
        void *closed_data;
        // What core owes to those above it, given when the leader is made.
        void (*on_outside_done)(Leader *l); // one of n_outside has come
        void (*on_answer)(PendingRequest *t, Argosy__Response *response); // it is about to be said
        // A unit of a running job is to be judged.
        void (*on_job_waited)(Leader *l, WaiterItem *item, const WaitSeen *seen);

        bool leading;
        bool building; // it is to lead when its tables are whole
        uint64_t term, index;
        uint64_t leads_us; // since when it leads

        unsigned due; // LeaderDue: core/due.h alone
        // For tests: steps are called without work, too, unless marks alone say that they have any.
        bool all_due;
        Walks walks;  // core/walks.c

        // ---- core: what time it is (turn.c alone)
        WallClock wall_clock;     // of this term
        uint64_t voters_revision; // cluster_state_voters_revision() when they were noted
        uint64_t log_from_us;     // boot time that belongs to the two times of the log
        uint64_t counted_us;      // cluster_state_counted_us() when that was noted

        // ---- jobs: what the cluster does by itself, for people (jobs/own-jobs.c alone)
        OwnMoves *own_moves;                  // of the entry that is made
        size_t n_own_moves, own_moves_allocated;
        bool own_leads, own_leads_flying; // that we lead is to be told
        uint64_t own_leads_due_us;        // in an entry of its own; 0: at once

        // ---- core: pending requests
        Map pending_requests_by_id;
        Map pending_requests_by_key; // by job_request_id(): one of those that are the same
        ListNode pending_requests;  // PendingRequest.all
        AuthorTurns queue;    // PendingRequest.queue: those that are to be decided
        AuthorTurns previews; // PendingRequest.queue: Changes that are only asked about; and of these
        PendingRequest *preview;      // the one that is being planned, in several turns; NULL: none is
        bool previews_had;    // the last turn was theirs
        ListNode
                previews_asking; // PendingRequest.queue: those that wait for what nodes say, in the order of
                                 // their deadlines
        DeadlineHeap request_deadlines; // RequestDeadline.at
        size_t n_plans_asking;    // that have asked nodes, of all but root and whom argosyd runs as
        size_t n_plans_kept;      // of these, those that are kept as they are with their copy of the
                                  // Placement
        AuthorTurns verifies; // PendingRequest.queue: of a Verify, contents that nodes are yet to get
        ListNode flying;   // PendingRequest.queue: of the entry that is on its way
        ListNode outbox;   // PendingRequest.outbox
        size_t n_pending_requests;
        uint64_t last_pending_request;
        Map author_questions; // by who asks nodes something (AuthorQuestions)

        ListNode
                // Host.requests.asks_due: hosts whose messages waited until they took more (host-asks.c
                // alone)
                asks_due;

        // ---- view: what exists, and what is seen of it
        Map hosts;   // by number
        Map nodes;   // by number
        NameTable units;
        Map budgets; // by name
        Map seen_specs; // SeenSpec by hash: view/unit-on-node.c alone
        Map fleet_units; // by name: view/fleet-units.c alone
        size_t n_fleet_unknown; // hosts that do not know yet what they run of fleet's
        Activators activators; // which recorded unit activates which
        StopDependents stop_dependents; // which recorded units systemd stops with which
        StopDependents network_users; // which recorded units and templates name which files of networks
        Companions companions; // which templates stand beside which units
        Dependencies dependencies;
        LeaseTable leases;
        uint64_t lease_change_us; // when the log is to say how long they are for this leader; 0: it says so
        uint32_t hosts_walked; // number of the last that a leader that begins has looked at
        bool hosts_known;      // to one that begins: all of them, and their nodes
        HostCounts n_hosts;
        bool clocks_disagreed;   // people were told: host-clocks.c alone
        int64_t wall_judged_us;  // what leader_wall() was ahead of our boot clock when that was followed
        uint64_t n_host_changes; // of what any of them is like (host_mark_place())
        ListNode lost_hosts;     // Host.lost
        ListNode globals, moved;         // UnitWork.queue: see unit-event.c
        BinaryHeap moving;               // UnitWork.moving, by the units' names: unit-event.c alone
        size_t n_pending;                // units that are pending or stranded
        DeadlineHeap unit_deadlines[UNIT_DEADLINES]; // UnitWork.deadlines: unit-deadlines.c alone
        ListNode schedule[SCHEDULE_STAGES]; // UnitWork.schedule: schedule-queue.c alone
        ListNode unscheduled; // UnitWork.unscheduled, of these
        ListNode excluded;
        ListNode works, works_spare; // UnitWork.looked_at: view/unit-work.c alone
        size_t n_works_spare;
        Tallies tallies;
        ListNode drain_deadlines; // Node.deadline
        uint64_t drain_due_us;    // boot time of the next of them; 0: none
        bool plans;               // a preview is being made
        uint64_t n_plans;         // that were begun
        uint64_t n_plan_dues;     // units that previews looked at because of others
        uint64_t n_planned;       // units that previews planned, one by one
        // Marks: what has happened since reconcile.c looked last.
        ListNode touched;        // Unit.touched: something about it was seen or changed
        ListNode released;       // Unit.released: what waits for its end elsewhere is to be looked at
        Map data_bindings;       // DataBinding by the unit's name: data-nodes.c alone
        ListNode away_from_data; // DataBinding.away: without a node, and confined to that of its data
        ListNode refusals_due;   // Unit.refusals_due: which nodes refuse it is news for the Placement
        ListNode unused;         // Unit.unused: nobody may have a use for it any more
        ListNode host_marks[HOST_MARKS]; // Host.marks: host-marks.c alone
        ListNode node_marks[NODE_MARKS]; // Node.marks: nodes.c alone
        uint64_t host_news_due_us; // host-news.c alone: when an entry of its own tells people; 0: at once
        EventNews event_news;    // view/event-marks.c

        // ---- scheduler
        SchedulerTables *places;
        uint64_t n_placements;         // nodes that were looked for
        TimeHistogram placement_times; // how long that took
        bool searching; // the pool has a copy of the Placement: there is one at a time
        uint64_t n_searched; // that it was asked of whether a rebalance may move them
        uint64_t n_refusals_reported; // units of which the Placement was told where they may not run
        ListNode preempted;        // Preemption.preempted
        uint64_t n_pending_judged; // that decide_pending() looked at one by one
        DeadlineHeap retry_deadlines;                  // Retry.deadline
        ListNode retries, retries_held, retries_stuck; // Retry.queue
        ListNode retries_flying;                       // Retry.flying
        ListNode replacing;        // UnitOnNode.awaiting, of those who wait for whom they replace
        ListNode replacing_due;    // likewise: some of these have left, or their groups are as they were not
        ListNode recovering_walks; // DisruptionBudget.recovering_walk

        // ---- fencing
        uint64_t n_nodes_not_remembered; // on which a unit may run, and the log has no room for that
        bool in_mass_loss;          // so many hosts were lost at once that their units stay where they are
        uint64_t tombstones_due_us; // when the next guard has ended one; 0: none
        ListNode parting;           // Unit.parting

        // ---- orders
        SecretUsers secret_users;  // which recorded units have which secrets, and in which versions
        uint64_t secrets_followed; // revision of the secrets as of which the rows of their units were marked
        ListNode ordering;         // Unit.order_due: those who depend on it are to be looked at
        ListNode ordering_new;     // likewise, and before that whether it is blocked no longer
        uint64_t n_globals_judged; // units on nodes, one by one
        ListNode awaiting;         // UnitOnNode.awaiting

        // ---- hosts
        uint64_t leases_due_us;                 // more of them may have expired by then, and nobody decides
                                                // before that is known; 0: no
        bool barrier_flying;
        uint64_t
                // operations that the log had not taken when the last entry was given to it
                // (cluster-state-limits.h)
                n_refused;
        uint64_t n_beats_acknowledged;
        uint64_t barriers_pause_us;             // no barrier is proposed before then: the log took none
        ListNode pending_records_due, pending_records_flying; // Host.pending_record_queue: for the next
                                                              // entry; of the one on its way
        ListNode outcomes, outcomes_flying; // UnitOnNode.outcome_due: for the next entry; of the one on its
                                            // way
        Voters *voters;           // the steps that make them what they are to be: voters.c alone, with:
        uint64_t voters_pause_us; // no next step before this time
        uint64_t voters_wait_us;  // a request waits to hear of the voters until then; 0: none
        VoterSecretsController *voter_secrets; // that are being made: voter-secrets-controller.c alone
        uint64_t
                // a voter that says that it has not got what it was told is told again; 0: none is
                voter_secrets_due_us;
        bool lacks_voter_secrets; // the log names a secret that is not on this disk
        CaController *ca;         // that is being made: ca-controller.c alone
        uint64_t
                ca_due_us; // hosts that have not answered are asked again for their certificates; 0: none is
        SecretsKeyController *secrets_key; // that is being made: secrets-key-controller.c alone
        uint64_t access_revision; // by which pending requests were judged last
        uint64_t grants_revision; // that hosts are told
        bool grants_due;          // not all of them were, and of these:
        uint32_t grants_host;     // the last one that was
        Map token_uses;           // by the token's id: when it was used last (TokenUse), since this leader
                                  // leads
        bool token_uses_due;      // the log is to hear of some of that
        uint64_t token_expiry_us; // boot time: who listens with a token is to be judged again; 0: never
        uint64_t n_token_expiries; // times that this was so

        // ---- queue: held-jobs.c and the two beside it (held-jobs-private.h), and author-jobs.c
        Map held_jobs;    // by number: those that are held back, or on their way out of that; the lists are
                          // of HeldJob.queue
        Map held_awaited; // by number: jobs that some of them wait for (HeldAwaited)
        Map held_limits;  // by number of the rule: how many run, and who waits (HeldLimit)
        DeadlineHeap held_due; // HeldJob.due: to be judged, in the order of their numbers
        ListNode held_closed, held_by_rules, held_over; // by the closed queue; by rules; have ended
        ListNode held_behind; // what they cannot be done beside, and by no rule
        ListNode held_going;      // have a pending request, and have not begun
        size_t n_held_going;      // pending requests of held jobs, also of those that have begun
        size_t n_held_asking;     // of these, those that wait for what hosts say about images
        size_t n_held_admitted;   // jobs of limits in the entry that is being made
        uint64_t n_held_judged;   // one by one
        uint64_t queue_revision;  // of the rules by which they were judged last
        bool held_put_back_due;   // those that go are to be judged by newer rules, once no entry is on
                                  // its way
        Map queue_names;          // units that were asked about when requests were compared with the rules
                                  // (QueueName)
        size_t n_queue_groups;    // templates among them, whose instances count, once for each who has asked
        ListNode queue_changed;   // QueueWatch.changed: held jobs of whose units that is not so any more
        struct QueueWatch *queue_retired; // that nobody has any more, to be freed in slices; NULL: none
        Map author_jobs;           // by the author's name: how many jobs are open (AuthorJobs)
        ListNode authors_admitted; // AuthorJobs.admitted: of the entry that is being made

        // ---- rollouts
        struct RolloutSurvey *rollout_survey; // of the rollout that is asked for; NULL: none is
        ListNode rollouts;
        ListNode rollouts_sharing;  // RolloutSharers.all
        uint64_t rollouts_revision; // of the records as the tables have them
        uint64_t rollout_due_us;    // when time alone moves one of them; 0: never
        Rebalance *rebalance;       // NULL: none is under way
        uint64_t rebalance_open;    // the job of a rebalance that has begun last, as far as this leader
                                    // knows; 0: none
        RebalanceJob *rebalance_job; // its job, as long as there may be more of that in the log; NULL: no
                                     // more
        Rebalance *rebalance_asked; // what somebody asks about that one would do; NULL: nobody's turn to be
                                    // answered
        ListNode rebalance_waiters;
        uint64_t rebalance_due_us;  // when time alone moves it; 0: never

        // ---- queries
        ListNode waiters, waiters_due;
        // UnitWork.waited: units that somebody waits for; touched, or judged since they were
        ListNode waited, waiting;
        uint32_t wait_round;       // raised when all of .waiting have come into .waited; never 0
        size_t n_wait_items;
        uint64_t n_waiters_judged; // of units, one by one
        ListNode waits, removals;  // PendingRequest.in[PENDING_WAIT]
        Map calls_by_id;           // questions to nodes
        ListNode node_lists;       // PendingRequest.in[PENDING_TURN]: lists of nodes that are made in turns
        ListNode job_shows; // PendingRequest.in[PENDING_TURN]: jobs whose units are looked at in turns
        ListNode wait_walks;       // WaitWalk.list
        ListNode row_walks;        // RowWalk.list
        ListNode nodes_emptying;   // Node.emptying: whose units hear of it in turns
        ListNode calls_over;       // NodeCall.by_pending_request: without one, to be cancelled
        uint64_t last_call;
        ListNode asking;     // PendingRequest.in[PENDING_TURN]: they have more to ask nodes
        ListNode
                whys_due; // PendingRequest.in[PENDING_WHY]: they name units of which it was not told yet why
                          // they are as they are
        uint64_t n_why_looks;      // at units and nodes for these
        ListNode listings;         // Listing.all: lists that are made in turns
        TouchedHosts touched_hosts; // where units that are on many were, that are touched; noted only while
                                    // there is:
        Listing *listing_made;     // the one of them that is being made; NULL: none
        size_t n_listings_kept;    // of which there are rows
        uint64_t n_list_touches;   // units and nodes of which lists may show something else since
        uint64_t n_listed;         // names whose rows were made for such a list, one by one
        uint64_t n_listed_rows;    // these rows
        uint64_t n_compared;       // patterns that such a list's names were compared with
        Map open_jobs;             // by number: those that are running; the lists below are of
                                   // OpenJob.queue, and .told
        ListNode jobs_watched, jobs_ended, jobs_flying, jobs_reported;
        ListNode jobs_reverting;   // OpenJob.reverts
        uint64_t jobs_due_us;      // when those that have ended get an entry of their own; 0: none has
        bool jobs_urgent;          // or rather at once
        uint64_t jobs_walked;      // number of the last that a leader that begins has looked at
        struct JobWalk *job_walk;  // open-jobs-build.c: its record is being followed; NULL: none is
        uint64_t jobs_resume_us;   // until then it waits for those who have not written all of theirs

        // ---- events
        LogTrail *trail;       // of the log's entries, also while another one leads
        EventStream *events;   // of this term; NULL: it does not lead
        WatcherLists watchers; // watchers.c

        // ---- units
        ListNode enqueued;     // Unit.enqueued: stranded ones that wait in the Placement
        ListNode offered;      // likewise, but only until the round is over for which they are judged
        uint64_t n_considered; // that decide_moves() looked at one by one

        // ---- the top: reconcile.c and decide.c
        uint64_t n_followed;     // entries of the log
        uint64_t hosts_revision, pools_revision; // of these as the tables have them
        uint64_t n_pulled;       // units that were touched, one by one
        bool batch_flying;
        uint64_t n_batches;      // that were begun
        bool one_by_one;         // an entry was too long: whose fault was it?
        uint64_t pause_us;       // the log took nothing: nothing of our own accord before this time
};
