// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The leader's own tables, shared by the files of this room only.
//
//   leader.c       life, the drain, sending batches to the log
//   registry.c     tables below: what exists, and what is seen of it
//   sessions.c     hosts: links, attach and welcome, beats, losing a host
//   forwards.c     requests that other hosts forward
//   orders.c       records -> orders for agents
//   decide.c       what goes into the next batch; decide-moves.c: who gets another node; decide-changes.c:
//                  what clients want of units
//   placer.c       keeps the Placement (placement.h), and questions to it; what it must know of nodes and
//                  units: placer-nodes.c, placer-units.c; of many units at once: placer-rounds.c
//   placer-roles.c roles there, and what they have
//   placer-spec.c  options and records in its words
//   roles.c        requests about roles and pools
//   follow.c       units that need each other on one node
//   ordering.c     units that start after each other, on whatever node; ordering-why.c: in words
//   waits.c        clients that wait for units
//   answer.c       reading verbs
//   why.c          why a unit is not as it should be
//   calls.c        verbs that an agent answers (status, journal, top)
//   losses.c       the brake on moving when many hosts are lost
//   failing.c      units of lost nodes that do not move at once
//   homeless.c     who waits for a node: whose turn it is, and who makes room
//   retries.c      units that systemd has given up, started again
//   homes.c        nodes that a unit has left and may still run on
//   tombstones.c   and what the log knows of those that no record names
//   nodes.c        cordon, drain, labels
//   groups.c       units that stand in for each other, and how many of them may be down
//   rebalances.c   carries out rebalance.c's moves when an owner asks
//   rollouts.c     carries out rollout.c's steps: new content or a restart, a few units at a time
//   members.c      joining, tokens, removing, roles
//   voters.c       carries out membership.c's steps
//   features.c     raises the feature level as feature-policy.c says
//
// Lifetimes:
//   Host    while the log has its record, or its link is up
//   Node    while the log has its record; dies with its host
//   Unit    while the log has its record, or a node is seen to hold it, or a client waits for it
//   Site    one unit on one node: from the first order or report until the agent reports it gone, its guard
//           has certainly ended it on a lost host, or the host attaches anew or is removed
//   Group   while it has units, or a rollout is under way
//   Rollout while the log has it running or returning
//   Ticket  from a request's arrival to its final response

#include <uv.h>

#include "clock.h"
#include "dependencies.h"
#include "draft.h"
#include "due.h"
#include "leader.h"
#include "lease.h"
#include "mates.h"
#include "membership.h"
#include "replacers.h"
#include "retries.h"
#include "unit-file.h"
#include "uvx.h"
#include "wait.h"

enum {
        TICKETS_MAX = 4096,           // requests that wait for the log, for units or for agents
        FORWARDS_PER_HOST_MAX = 1024, // of these, from one host
        WAIT_ITEMS_MAX = 200000,      // units that are waited for, all clients together
        CHANGE_UNITS_MAX = 20000,     // units named in one request
        SITES_PER_NODE_MAX = 50000,   // units that one node may claim to hold
        REASON_MAX = 512,             // bytes of why a manager cannot be used, or a unit not started
        WORD_MAX = 64,                // of what systemd or a version is called; the rest is cut off
        // Of one message with orders, and one unit file: far below FRAME_MAX, and beats are not held up long
        // behind it.
        ORDERS_PIECE_BYTES = 1024 * 1024,
};

typedef struct Host Host;
typedef struct Node Node;
typedef struct Unit Unit;
typedef struct Site Site;
typedef struct Ticket Ticket;
typedef struct PlacerTables PlacerTables;
typedef struct Rollout Rollout;
typedef struct Rebalance Rebalance;

// What ordering.c makes of the order for a site.
typedef enum SiteHold {
        HOLD_NOT,
        HOLD_START,   // its start waits for what is on its way
        HOLD_BLOCKED, // its start waits for what is not
        HOLD_BOUND,   // it runs, and is to be down as long as what it is bound to is
        HOLD_STOP,    // its stop waits for those that come after it
} SiteHold;

// A unit file that was sent to a host in this session, for as long as an order there names it. (What a host
// installed in an earlier session is not counted: it is asked to install nothing from its own copies.)
typedef struct HostSpec {
        Hash hash;
        size_t users; // sites
} HostSpec;

struct Host {
        uint32_t number;
        bool recorded;    // the log knows it
        bool linked;      // its session to this voter is up
        bool attached;    // said what it holds, in this session
        bool welcoming;   // is being told what it is to hold, in parts
        bool welcomed;    // and was told all of it: from now on orders go out
        bool unwelcome;   // it cannot be told: its nodes say why (Node.reason)
        char *complaint;  // what it said of itself that was not taken; NULL: nothing
        bool heard;       // attached at least once since this leader leads
        bool leaving;     // its machine is shutting down: takes nothing new
        bool down;        // said goodbye for good
        uint64_t lingers_until_us; // what it said may still run there (Site.lingers) is waited for until then
        bool barrier_due; // its Attach waits for a barrier to be proposed
        bool barrier_flying;
        uint64_t attach_seq, barrier_seq;
        uint32_t welcome_parts; // sent of the Welcome so far
        uint64_t beat_seq;      // of a beat that is not acknowledged yet, for want of authority; 0: none
        uint32_t running_id;    // raft server that it runs, as it said
        uint32_t raft_id_known; // by its record when last looked at
        uint32_t opened_id;     // raft server that it opened on our order, not in its record yet
        char *version;
        uint32_t feature_level; // that it understands, as it said last; FEATURE_BASE: also if never heard
        Lease lease;
        Map specs;       // HostSpec by hash
        ListNode orders; // Site.order: to be sent
        Argosy__HostRecord
                *wish;    // what its Attach said its record should say, until the log has it; NULL: as it is
        uint64_t lost_us; // when it was lost, by our clock
        bool braked;      // it is one of those for which the brake is on
        bool wish_due;    // to be put into the next batch
        char *name_later; // its Address=, a name, which the log cannot say yet; NULL: nothing
        Map forwards;     // Forward by id: its requests that are under way
        ListNode nodes;   // Node.of_host
        bool nodes_due;   // to be told the numbers of its nodes
        uint32_t cpu_milli, memory_mib; // what it offers, as it said last
        bool offers_changed;            // since the Placement was told
        uint32_t place;                 // its number in the Placement + 1; 0: not there yet
        ListNode tombstones_due; // in Leader.tombstones_due: some of its tombstones may be cleared
};

struct Node {
        uint32_t number;
        Host *host;
        ListNode of_host; // in host->nodes
        char *name;       // for people
        char *manager;
        char *reason;    // why its manager cannot be used, as the host says; NULL: it can
        ListNode placed; // Unit.placed
        size_t n_placed;
        ListNode sites; // Site.by_node
        size_t n_sites;
        size_t n_globals; // global units that run here
        // What a drain waits for, kept as records and reports come.
        size_t n_to_leave; // of the placed ones: if the node is emptied, they have to leave
        size_t n_stuck;    // of these, in Leader.homeless: no other node takes them
        size_t n_leaving;  // sites that are to end here
        Argosy__NodeMode mode;
        uint64_t deadline_us;  // wall clock, of its drain; 0: none
        bool deadline_done;    // it is over, and what had not left was put into Leader.moving for it
        char *closed;          // why it takes no new units, by its mode; NULL: it is open
        uint32_t place;        // its number in the Placement + 1; 0: not there yet
        uint64_t place_labels; // hash of what it was told there
        const Tombstone *open; // the first of its tombstones that is not over; NULL: not looked for
};

// Why one node may not have the unit although its options admit it. Forgotten with the host's session.
typedef struct Exclusion {
        struct Exclusion *next;
        uint32_t node;
        char reason[];
} Exclusion;

// The instances of one template (those that are not global), or a unit that a rollout is about.
typedef struct Group {
        char *name;        // of the template or the unit
        ListNode units;    // Unit.of_group
        size_t n_launched; // of these: wanted up, and not done for good
        size_t n_down;     // of the launched ones: not up (Site.up)
        size_t n_taken;    // and those that the batch in the making takes down
        uint64_t batch;    // that n_taken is about
        ListNode waiting;  // Unit.moving: would leave their nodes if the budget allowed
        Rollout *rollout;  // NULL: none is under way
} Group;

struct Rollout {
        Group *group;
        ListNode all;                      // in Leader.rollouts
        bool due;                          // to be looked at
        uint64_t next_us;                  // when time alone moves it; 0: never
        size_t left, n_items, n_down, max; // as of the last look
};

struct Unit {
        char *name;
        ListNode sites;    // Site.by_unit
        ListNode waits;    // WaitItem.by_unit
        Node *node;        // by its record; NULL: none, global, or no such node
        ListNode placed;   // in node->placed
        ListNode global;   // in Leader.globals
        ListNode moving;   // in Leader.moving: the next batch finds it another node
        ListNode homeless; // in Leader.homeless: no node takes it, or it is stranded on a lost one
        ListNode asking;   // in Leader.asking, too: more than room decides about it
        ListNode
                untried; // in Leader.untried, too: no round has looked for a node since it lost its last one
        ListNode touched; // in Leader.touched: waits are to look at it again
        Due due;          // in Leader.dues: it is put into Leader.moving when its time comes
        Retry *retry;     // NULL: it has not failed, or is not started again for it
        Exclusion *exclusions;
        ListNode excluded; // in Leader.excluded while there are any
        uint32_t place;    // its number in the Placement + 1; 0: not there
        bool followed;     // somebody's options name it: it stays in the tables
        Group *group;      // NULL: it stands alone
        ListNode of_group;
        bool counted, down; // in its group's numbers
        ListNode parting;   // in Leader.parting: it has to leave nodes that its record does not name
        ListNode order_due; // in Leader.ordering
        Standing standing;  // as those who depend on it were told last
        bool recorded;
        bool leaves;        // in its node's n_to_leave
        bool judging;       // its waits are being walked over
        Unit *makes_room;   // unit that it was displaced by, as long as that is known; NULL: none
        ListNode giver;     // in that one's list
        ListNode displaced; // in Leader.displaced, while makes_room is set
        ListNode givers;    // Unit.giver: units that it displaced
};

struct Site {
        Unit *unit;
        Node *node;
        ListNode by_unit, by_node, order;
        HostSpec *spec;    // counted; NULL: none was sent for it in this session
        bool ordered;      // an order went out in this session
        ListNode awaiting; // in Leader.awaiting: its order waits until the unit has ended on another node
        SiteHold hold;     // what its order waits for besides
        bool remove;       // and it was to remove
        uint64_t ordered_revision;
        ListNode outcome_due;     // in Leader.outcomes
        Argosy__Outcome *outcome; // owned; to be put into the log

        bool up;             // runs as its record says, as far as is seen (groups.c); kept for groups only
        uint64_t up_flip_us; // since when `up` is what it is, by our clock
        uint64_t run_us;     // since_us of the run that is up

        bool reported;
        uint64_t revision, since_us;
        Hash seen; // spec
        Argosy__LoadState load;
        Argosy__ActiveState active;
        char *sub, *result, *error; // owned; NULL: empty
        bool drift, file_stale, went_along;
        bool leaving; // it is being removed, and not begun again
        bool lingers; // its host is down, and said that the unit may still run there
        bool counted; // in its node's n_leaving
};

typedef struct Wait Wait;

struct Ticket {
        uint64_t id;
        Leader *leader;
        LeaderRespond respond; // NULL: nobody listens any more
        void *userdata;
        Argosy__Request *request; // owned
        ListNode all;             // in Leader.tickets
        ListNode queue; // in Leader.queue, .flying while its batch is on the way, .settled when `response`
                        // may go out
        bool again;     // back into the queue when the batch is committed
        bool made;      // the log has what it asked for
        Argosy__Response *response;              // what will be said when the batch is committed
        void (*committed)(Leader *l, Ticket *t); // finishes `response`; NULL: nothing to add
        Wait *wait;
        ListNode calls;   // Call.by_ticket
        ListNode sayings; // answers that wait for the end of the turn (calls.c)
        ListNode marks;   // of lines of journals, that were not taken yet
        uint64_t last_mark;
        uint32_t window; // of each call of a journal; 0: there is none
        ListNode talking; // in Leader.talking while there are any
        size_t n_calls;
        uint64_t asked_us;   // when it arrived, by our clock
        uint32_t removing;   // host number, for ClusterRemove
        bool removal_begun;  // its record says that it is to be no voter
        ListNode drain;      // in Leader.drains, for DrainWait, or in .manager_waits
        uint32_t drain_left; // as it was told last
        ListNode rollout;    // in Leader.rollout_waits, for RolloutWait
        ListNode rebalance;  // in Leader.rebalance_waits, once it is under way
        size_t n_told;       // of its moves
        Hash pin;            // of a joining host
        Buf cert;            // of a joining host
};

typedef struct Call {
        uint64_t id;
        Ticket *ticket;
        Node *node;
        ListNode by_ticket, all;
        char *unit;
        unsigned n_marks; // of its lines, that were not taken yet
} Call;

struct Leader {
        LeaderConfig config;
        LeaderOps ops;
        void *userdata;
        ClusterState *state; // borrowed
        Drain drain;
        uv_timer_t timer;
        uint64_t timer_due_us; // 0: not armed
        int n_handles;         // open uv handles while closing
        size_t n_outside;      // completions that the log still owes us
        bool closing;
        void (*closed)(void *userdata);
        void *closed_data;

        bool leading;
        uint64_t term, index;
        uint64_t hosts_revision; // of the hosts as the tables have them

        Map hosts;   // by number
        Map nodes;   // by number
        Map units;   // by name
        Map groups;  // by name
        Mates mates; // which recorded unit activates which
        Dependencies dependencies;
        ListNode ordering; // Unit.order_due: those who depend on it are to be looked at
        LeaseTable leases;
        PlacerTables *places;
        ListNode moved; // Unit.moving: the batch in flight moves them, or says that nobody takes them
        ListNode globals, moving, homeless, touched, outcomes, excluded;
        ListNode awaiting;                             // Site.awaiting
        bool homes_due;                                // a host was heard, lost or removed: they may go on
        ListNode tombstones_due;                       // Host.tombstones_due
        uint64_t tombstones_due_us;                    // when the next guard has ended one; 0: none
        ListNode parting;                              // Unit.parting
        DueHeap dues;                                  // Unit.due
        DueHeap retry_dues;                            // Retry.due
        ListNode retries, retries_held, retries_stuck; // Retry.queue
        bool one_by_one;                               // an entry was too long: whose fault was it?
        bool retry_homeless;                           // a node came or changed: somebody may take them now
        ListNode asking, untried, displaced;           // Unit.*, of those in Leader.homeless
        uint64_t n_asked;                              // that decide_homeless() looked at one by one
        bool globals_changed;
        bool braked;      // so many hosts were lost at once that their units stay where they are
        bool brake_due;   // that is to be judged again
        bool waits_all;   // every wait is to be judged again
        size_t n_unheard; // recorded hosts within their lease that have not attached yet

        Map tickets_by_id, calls_by_id;
        ListNode tickets, queue, flying, settled, talking, waits, calls, drains, manager_waits;
        size_t n_tickets, n_wait_items;
        uint64_t last_ticket, last_call;
        bool batch_flying, barrier_flying;
        bool beats_wait; // Host.beat_seq of some host
        uint64_t n_acknowledged;
        ListNode rollouts, rollout_waits;
        Rebalance *rebalance; // NULL: none is under way
        ListNode rebalance_waits;
        uint64_t rollouts_revision; // of the records as the tables have them
        uint64_t rollout_due_us;    // when time alone moves one of them; 0: never
        uint64_t rebalance_due_us;  // the same of the rebalance
        uint64_t n_batches;         // that were begun
        uint64_t drain_due_us;      // boot time of the next drain's deadline; 0: none
        uint64_t pause_us;          // the log's disk is full: nothing of our own accord before this time

        bool features_due;        // whether the log's feature level may rise is to be judged again
        bool voters_busy;         // the log owes us the end of a membership operation
        uint32_t voters_opening;  // host that is opening a log on our order; 0: none
        uint32_t voters_open_id;  // raft id that it is to open
        uint64_t voters_pause_us; // no next step before this time
        MembershipStep voters_next;    // the next step, and since when it is that: it goes by what is heard
        uint64_t voters_next_since_us; // later
        bool voters_blocked;           // it was said that it is not safe now
        uint64_t voters_look_us;       // a request waits to hear of the voters until then; 0: none
        int voters_error;              // that was complained about last
        char voters_notice[320];       // what it waits for
};

uint64_t leader_now(const Leader *l);
// Whether nobody else can lead at this moment. Asked before anything is said that lasts.
bool leader_has_authority(Leader *l);
uint64_t leader_wall(const Leader *l);
// Everything that is due by the clock; the timer calls it, and tests with a clock of their own.
void leader_on_time(Leader *l);
void leader_mark(Leader *l);
// The log (or the disk) has answered one of our calls: last thing that its callback does, since `l` may be
// gone afterwards.
void leader_outside_done(Leader *l);
// What to_host() returned. A host to which it cannot be told is dropped, unless it is the message that is
// too long (-EMSGSIZE): whoever sends what may be says so to somebody.
int leader_to_host(Leader *l, Host *h, Argosy__ToHost *message);

// registry.c
int registry_build(Leader *l);
void registry_clear(Leader *l);
void registry_sync_hosts(Leader *l);
int registry_on_unit(Leader *l, UnitEntry *e);
Host *host_find(const Leader *l, uint32_t number);
Host *host_get(Leader *l, uint32_t number); // makes it; NULL: out of memory
void host_drop_if_unused(Leader *l, Host *h);
Node *node_find(const Leader *l, uint32_t number);
Unit *unit_find(const Leader *l, const char *name);
Unit *unit_get(Leader *l, const char *name);
void unit_drop_if_unused(Leader *l, Unit *u);
void unit_touch(Leader *l, Unit *u);
void unit_exclude(Leader *l, Unit *u, uint32_t node, const char *reason);
const char *unit_exclusion(const Unit *u, uint32_t node);       // why it refused the name; NULL: it did not
void unit_forget_exclusions(Leader *l, Unit *u, uint32_t node); // 0: all
void host_forget_exclusions(Leader *l, const Host *h);
Site *site_find(const Unit *u, const Node *n);
Site *site_get(Leader *l, Unit *u, Node *n);
void site_free(Leader *l, Site *s);
int site_need_spec(Site *s, const Hash *hash, bool *ret_new);
void site_drop_spec(Site *s);
int site_report(Site *s, const Argosy__UnitReport *report);
// Whether the log wants this unit on this node now.
bool unit_wanted_on(const Leader *l, const Unit *u, const UnitEntry *e, const Node *n);
// Whether a unit that runs on all nodes leaves out this one although its options admit it, and why.
typedef enum LeftOut {
        LEFT_OUT_NOT,
        LEFT_OUT_REFUSED,  // the node refuses the name
        LEFT_OUT_GAVE_WAY, // to one that it conflicts with
} LeftOut;
LeftOut unit_left_out(const Leader *l, const Unit *u, const UnitEntry *e, const Node *n, char *ret_why,
                      size_t size);
const Argosy__Outcome *record_final_outcome(const Argosy__UnitRecord *r, uint32_t node);
// Whether the log may have an outcome of that kind.
bool outcome_fits_log(const Leader *l, const Argosy__Outcome *o);
// A one-shot has ended here, and the log does not say yet how.
bool site_is_unsettled(const Leader *l, const Site *s, const UnitEntry *e);
bool host_is_lost(const Host *h);

// sessions.c
void session_on_attach(Leader *l, Host *h, const Argosy__ToVoter__Attach *attach);
void session_on_beat(Leader *l, Host *h, const Argosy__ToVoter__Beat *beat);
// What waited for authority.
void sessions_acknowledge(Leader *l);
void session_on_goodbye(Leader *l, Host *h, const Argosy__ToVoter__Goodbye *goodbye);
void session_on_node_reports(Leader *l, Host *h, Argosy__NodeReport *const *reports, size_t n);
void session_on_reports(Leader *l, Host *h, const Argosy__ToVoter__Reports *reports);
void session_on_link_lost(Leader *l, Host *h);
void sessions_on_time(Leader *l, uint64_t now_us);
void sessions_count_unheard(Leader *l);
void sessions_on_level(Leader *l); // the log's feature level may have risen
void sessions_start_barrier(Leader *l);
void host_lose(Leader *l, Host *h);
// It said of itself what is not taken; its row says so until it says something else.
void host_complain(Leader *l, Host *h, const char *format, ...) _printf_(3, 4);
// It is in session and cannot be told what it is to run: its nodes say why and take no units.
void host_refuse(Leader *l, Host *h, const char *why);
const char *host_name(const Leader *l, const Host *h);
bool node_takes_units(const Node *n, const char **ret_why);
// Nobody knows what its units do: the host is lost or its manager cannot be used.
bool node_is_dark(const Node *n);

// orders.c
void orders_mark(Leader *l, Unit *u, Node *n);
void orders_on_unit(Leader *l, const UnitEntry *e, Unit *u, Node *before);
void orders_flush(Leader *l);
// Puts all that the host is to be told into its list: the next orders_flush() begins to send it.
void orders_welcome(Leader *l, Host *h);
void orders_globals(Leader *l);

// placer.c
//
// The Placement (placement.h) follows the tables: hosts and nodes before something is placed, units with
// their records. A Placer is a time in which what is placed counts although no record says so yet; when it
// is freed, the records count again.
typedef struct Placer Placer;
enum { PLACER_WHY_SIZE = 256 };
typedef struct PlacerAnswer {
        uint32_t node;             // 0: none takes it now
        char why[PLACER_WHY_SIZE]; // if it is its role that keeps it from one, else ""; filled in like
                                   // refusals
        bool possible;             // some member could take it if it were up
        Argosy__Refusal **refusals;
        size_t n_refusals;
} PlacerAnswer;
int placer_open(Leader *l); // begins to follow
void placer_close(Leader *l);
int placer_on_unit(Leader *l, Unit *u, const UnitEntry *e); // its record; NULL: it has none
void placer_on_unit_freed(Leader *l, Unit *u);
void placer_on_node_freed(Leader *l, Node *n);
int placer_on_exclusion(Leader *l, const Unit *u, uint32_t node, bool excluded); // 0: all nodes
// Conflicts= of units that run on every node: with one that is placed on the node; with each other; at all.
bool placer_conflict_on(const Leader *l, const Unit *u, const Node *n);
bool placer_conflict_between(const Leader *l, const Unit *a, const Unit *b);
bool placer_may_conflict(const Leader *l, const Unit *u);
// It is not where those are that it is to be with, or conflicts with somebody there.
bool placer_must_go(const Leader *l, const Unit *u);
// Somebody is there who replaces it.
bool placer_is_replaced(const Leader *l, const Unit *u);
// The unit has a node: puts it, or those that it replaces there, into Leader.moving.
void placer_drive_out(Leader *l, Unit *u, const UnitEntry *e);
// Those who are to be with it are looked at again.
void placer_look_at_followers(Leader *l, const char *name);
// Whether these options admit the node, whoever is there; *ret_why (may be NULL): why not.
bool placer_admits(const ClusterState *state, const Argosy__HostRecord *host, const char *manager,
                   const UnitOptions *options);
int placer_new(Leader *l, uint32_t without_host, Placer **ret);
Placer *placer_free(Placer *p);
DEFINE_CLEANUP(Placer *, placer_free)
// `explain`: fill in the refusals when node is 0.
int placer_place(Placer *p, const char *name, const UnitOptions *options, bool explain, PlacerAnswer *ret);
void placer_answer_done(PlacerAnswer *p);
// Lets a recorded unit take part in rounds as long as the Placer lives, also if it is on a node.
int placer_offer(Placer *p, Unit *u);
int placer_set_aside(Placer *p, Unit *u); // or keeps it from having a turn as long
typedef struct PlacerStep {
        Unit *unit;
        Node *node; // NULL: it is displaced
        Unit *by;   // and by whom
} PlacerStep;
// Whether the unit may be displaced together with those.
typedef bool (*PlacerSpares)(Leader *l, const Unit *u, Unit *const *taken, size_t n, void *userdata);
// What is to be done next for those that wait for a node, in their order; at most `most` steps, of which so
// many displace. *ret: to be freed.
int placer_round(Placer *p, size_t most, size_t displace, PlacerSpares spares, void *userdata,
                 PlacerStep **ret, size_t *ret_n);
// What would be better elsewhere (rebalance.h), in the words of the tables. *ret: the caller's to free;
// units and nodes are borrowed, `why` is to be freed.
typedef struct PlacerMove {
        Unit *unit;
        Node *from, *to;
        char *why;
} PlacerMove;
int placer_rebalance(Placer *p, size_t max_moves, size_t max_tries,
                     bool (*may_move)(Unit *u, void *userdata), void *userdata, PlacerMove **ret,
                     size_t *ret_n, bool *ret_more);
// 1: it is placed there from now on; 0: that is not possible, or not better any more.
int placer_carry_out(Placer *p, const Unit *u, const Node *to);
bool node_admits(const Leader *l, const Node *n, const UnitOptions *options);
// The unit's options by its record; 0 and a reference, or -EINVAL, -ENOMEM.
int unit_options_of(const UnitEntry *e, UnitOptions **ret);

// placer-roles.c
#define ROLE_DEFAULT "default" // of units without Role=; always there
// Follows the records. 0 or -ENOMEM; -ENOSPC: more roles than can be.
int placer_on_roles(Leader *l);
// What a role has: `row` has its name, `record` may be NULL.
int placer_fill_role(const Leader *l, const Argosy__RoleRecord *record, Argosy__Response__RoleRow *row);
size_t placer_role_units(const Leader *l, const char *name); // recorded units of this role
int placer_resource_known(Leader *l, const char *name);      // makes it known. 0, -ENOSPC or -ENOMEM
// Whether it is its role that keeps a unit that is on no node from one, and how.
bool placer_held_back(const Leader *l, const Unit *u, char *ret, size_t size);

// roles.c
int roles_plan(Leader *l, Ticket *t, Draft *b); // RoleChange, PoolChange; returns what members_plan() does
Argosy__Response *roles_answer(Leader *l, const Argosy__Request *request); // RoleList, PoolList

// homeless.c
// One round over the units that are on no node and those that were offered (placer_offer()): whose turn
// it is goes next, and what it may displace goes. 0 or -ENOMEM.
int homeless_decide(Leader *l, Draft *b, Placer *placer);
// The next turn that gives out nodes looks at the unit by itself, if it has none.
void homeless_ask(Leader *l, Unit *u);
void homeless_ask_first(Leader *l, Unit *u); // and there is to be one, since none has
// Whether the Placement knows all there is to be known about the unit: then it waits there, and a turn in
// which it gets no node has nothing to do with it.
bool homeless_waits_by_itself(Leader *l, const Unit *u);
// Whether the batch touches one of them.
bool homeless_is_touched(Leader *l, const Draft *b);
int homeless_on_unit(Leader *l, Unit *u, const UnitEntry *e); // follows its record. 0 or -ENOMEM
void homeless_forget(Unit *u);
// A unit that was displaced and still ends on this site's host, which is to have its room; NULL: none.
const Unit *homeless_awaited(const Site *s);

// An order that waited for the unit's end elsewhere may go out now, or not yet.
void orders_release(Leader *l, Unit *u);

// losses.c
// After anything that the brake depends on has changed (Leader.brake_due).
void losses_judge(Leader *l);
// Why a unit of a lost host is not moved. NULL: no such reason.
const char *unit_braked(const Leader *l, const Unit *u);

// failing.c
// Valid as long as the unit's spec.
const FailingOptions *failing_options_of(const UnitEntry *e);
// Boot time from which a unit may leave its lost node; 0: its node is not lost, UINT64_MAX: not by itself.
uint64_t failing_moves_at(const Leader *l, const Unit *u, const UnitEntry *e);
// It is not moved now, and whoever attaches or is lost is a reason to look again: a drain does not move what
// says NodeLost=never, unless its deadline is over; and what is to be stopped when cut off is not moved away
// from a host of which this leader does not know yet whether it is cut off.
bool failing_stays(const Leader *l, const Unit *u, const UnitEntry *e);
// It is looked at again then. 0 or -ENOMEM.
int failing_delay(Leader *l, Unit *u, uint64_t at_us);
void failing_on_time(Leader *l);
// Why it has not left its lost node yet; false: no such reason.
bool failing_why(const Leader *l, const Unit *u, const UnitEntry *e, char *ret, size_t size);

// placer.c, for retries.c: the node's host is chosen less for a while.
void placer_penalise(Leader *l, const Node *n, uint32_t points, uint64_t half_us);

// homes.c
// Until when the unit may run on a node that it has left or is to leave: a boot time that is to come,
// OVERLAP_UNTIL_HEARD (overlap.h), or 0: it does not, or nobody waits for it.
uint64_t home_runs_until(const Leader *l, const Unit *u, const UnitEntry *e, const Node *n);
// Whether something of this name may run on the node now; and its host is not heard; and is lost, and nobody
// else can tell when it ends. `e`: its record, NULL: it has none.
typedef bool (*HomeQuestion)(const Leader *l, const char *name, const UnitEntry *e, const Node *n);
bool home_may_run(const Leader *l, const char *name, const UnitEntry *e, const Node *n);
bool home_is_silent(const Leader *l, const char *name, const UnitEntry *e, const Node *n);
bool home_only_host_tells(const Leader *l, const char *name, const UnitEntry *e, const Node *n);
// How long after its host is lost the guard of the unit has certainly ended it; 0: it has none.
uint64_t home_fence_us(const Leader *l, const UnitEntry *e);
// The node that the unit is to end on before it begins on this site, and until when at most; NULL: none.
const Node *home_in_the_way(const Leader *l, const Site *s, uint64_t *ret_until_us);
bool site_is_down(const Site *s);      // as it was seen last
void home_on_lost(Leader *l, Site *s); // its host was lost
// The unit's time has come: what was kept for it goes.
void homes_on_time(Leader *l, Unit *u);
void homes_look_again(Leader *l); // if due
// For Draft.left.
int homes_left(const Argosy__UnitRecord *next, uint32_t **ret, size_t *ret_n, void *userdata);
// For Draft.removed.
int homes_removed(const char *name, DraftRemoval *ret, void *userdata);

// tombstones.c
void tombstones_look(Leader *l, Host *h);      // it may have let go of something
void tombstones_on_applied(Leader *l);         // follows the log
void tombstones_on_time(Leader *l);            // a guard has ended something
void tombstones_on_lost(Leader *l, Host *h);
void tombstones_part(Leader *l, const Site *s); // a unit that runs on all nodes is not wanted on this one
int tombstones_part_decide(Leader *l, Draft *b); // 0 or -ENOMEM
int tombstones_clear_decide(Leader *l, Draft *b);
// Calls `each` for every node on which something of this name may run that its record, if it has one, does
// not want there.
void tombstones_each(const Leader *l, const char *name, const UnitEntry *e,
                     void (*each)(const Node *n, void *userdata), void *userdata);
// Names the nodes of which that is true in the result of this verb. 0 or -ENOMEM.
int tombstones_fill(const Leader *l, Argosy__Response__UnitResult *result, Argosy__Verb verb,
                    HomeQuestion question);

// nodes.c
bool node_is_emptying(const Node *n);
bool node_deadline_is_over(const Leader *l, const Node *n);
bool unit_has_to_leave(const Unit *u, const UnitEntry *e);
int node_sync_mode(Leader *l, Node *n, const Argosy__NodeRecord *record);
uint64_t nodes_next_deadline(const Leader *l);
void nodes_on_time(Leader *l);
// NodeChange and LabelChange; returns what members_plan() does.
int nodes_plan(Leader *l, Ticket *t, Draft *b);
int drain_wait_start(Leader *l, Ticket *t);
void drains_tell(Leader *l);
// The only ways to change Unit.homeless, and to follow what Node.n_leaving is made of.
void unit_set_homeless(Leader *l, Unit *u, bool homeless);
void site_count(Site *s);
bool record_has_to_leave(const Argosy__UnitRecord *r); // if its node is emptied

// manager-waits.c
int manager_wait_start(Leader *l, Ticket *t);
void manager_waits_tell(Leader *l);

// groups.c
Group *group_find(const Leader *l, const char *name);
Group *group_get(Leader *l, const char *name); // makes it; NULL: out of memory
void group_drop_if_unused(Leader *l, Group *g);
int group_join(Leader *l, Unit *u, const UnitEntry *e);    // that it is of now, if any; 0 or -ENOMEM
int group_on_unit(Leader *l, Unit *u, const UnitEntry *e); // follows its record; 0 or -ENOMEM
void group_leave(Leader *l, Unit *u);
void group_look(Leader *l, Unit *u); // follows what is seen of it
// How many of the group may be down by the units' own options; SIZE_MAX: any number.
size_t group_budget(const Group *g, const UnitEntry *e);
// Whether the unit may be taken down now. If so the group remembers it until the next batch.
bool group_lets_go(Leader *l, Unit *u, const UnitEntry *e);
// Whether the unit is to leave a node that is emptied, and cannot yet for its group's sake.
bool group_keeps(Leader *l, Unit *u, const UnitEntry *e);
void group_ask_again(Leader *l, Unit *u); // whoever waits for its group
void group_take(Leader *l, Unit *u);
size_t group_taken(const Leader *l, const Group *g);
// Whether it would leave its node, and waits for others of its group.
bool group_holds_back(const Unit *u);
// What a site's unit is like: as its record says; seen at all; why it failed (NULL: it did not).
bool site_is_up(const Leader *l, const Site *s, const UnitEntry *e);
bool site_is_dark(const Site *s);
const char *site_failure(const Leader *l, const Site *s, const UnitEntry *e);

// rebalances.c
void rebalance_clear(Leader *l);
int rebalance_decide(Leader *l, Draft *b, Placer **placer);
// Rebalance: returns what members_plan() does.
int rebalance_request(Leader *l, Ticket *t, Placer **placer);
void rebalance_tell(Leader *l);

// rollouts.c
int rollouts_build(Leader *l);
void rollouts_clear(Leader *l);
void rollouts_sync(Leader *l);
void rollouts_on_time(Leader *l);
void rollouts_look_again(Leader *l); // at all of them
int rollouts_decide(Leader *l, Draft *b, Placer **placer);
int rollouts_plan(Leader *l, Ticket *t, Draft *b); // returns what members_plan() does
int rollout_wait_start(Leader *l, Ticket *t);
void rollouts_tell(Leader *l);
// One word about the rollout that this record is about, and a sentence; NULL, false: there is none.
const char *rollout_word(const Leader *l, const char *name);
bool rollout_phrase(const Leader *l, const char *name, char *ret, size_t size);
// What a node is to have of a unit: as its record says, or for a global unit as far as its rollout has come.
typedef struct Content {
        SpecEntry *spec;
        uint64_t revision, restart_rev;
} Content;
Content rollout_content(const Leader *l, const UnitEntry *e, uint32_t node);

// request-replaces.c
// All units with Replaces=. 0 or -ENOMEM; *ret is to be freed also then.
int replacers_of_state(ClusterState *state, Replacers *ret);
// Whether the unit may have these options: 0, -EINVAL and *ret_why, -ENOMEM.
int replacers_check(const Replacers *l, const char *name, const char *path, const UnitOptions *options,
                    char **ret_why);

// follow.c
// The node on which the unit is to join one that activates it or that it activates itself (NULL: none); 0:
// none. `b` is the batch in the making.
uint32_t follow_node(Leader *l, const Draft *b, const char *name, const char *activates,
                     const UnitOptions *options);
// Whether the unit is to move to an activator that is launched on another node.
bool follow_is_elsewhere(Leader *l, const Draft *b, const Unit *u, const UnitEntry *e);
// The launched activator that this unit follows and that is placed on the same node; NULL: none.
const UnitEntry *follow_activator_here(const Leader *l, const UnitEntry *e);
// The activator has moved: puts what it activates into Leader.moving.
void follow_look_again(Leader *l, const char *activator);
// 0 or -ENOMEM
int follow_on_unit(Leader *l, const UnitEntry *e);

// ordering.c
// Follows the record. 0 or -ENOMEM.
int ordering_on_unit(Leader *l, Unit *u, const UnitEntry *e);
void ordering_look(Leader *l, Unit *u); // something about it has changed
void ordering_drain(Leader *l);         // marks the orders that may go out now, or are to be taken back
// What the order for the site has to wait for now. `wanted`: the unit is to be there at all; else `e` may be
// NULL.
SiteHold ordering_judge(Leader *l, const Site *s, const UnitEntry *e, bool wanted);
// Notes that. True: nothing is to be sent; else the order is to be adjusted.
bool ordering_hold(Leader *l, Site *s, const UnitEntry *e, bool wanted);
void ordering_adjust(const Site *s, Argosy__UnitOrder *o);
// Whether a unit that the log has could have these options: -EINVAL and *ret_why if its order would go in a
// circle.
int ordering_check(const Leader *l, const char *name, const char *path, const UnitOptions *options,
                   char **ret_why);
Standing ordering_standing(const Leader *l, const char *name);
// Whether the stop of the unit whose peer this is has to wait for the peer; `userdata` is the leader.
bool ordering_ends_first(const DependencyPeer *peer, void *userdata);
// ordering-why.c: what the site's order waits for; false: for nothing.
// Whether it is a one-shot that ends for good.
bool entry_ends_by_itself(const UnitEntry *e);
bool ordering_why(Leader *l, const Site *s, char *ret, size_t size);

// decide.c
void decide(Leader *l);
void decide_done(Leader *l, StoreOutcome outcome);

// tickets (leader.c)
Ticket *ticket_new(Leader *l, const Argosy__Request *request, LeaderRespond respond, void *userdata);
void ticket_free(Ticket *t);
// Sends and, if it is final, ends the ticket. Takes the response; NULL stands for out of memory.
void ticket_respond(Ticket *t, Argosy__Response *response);
void ticket_finish(Ticket *t, Argosy__Response *response); // sets final
// The same at the end of this turn: for callers that walk over tickets, since who is answered may cancel
// others.
void ticket_settle(Ticket *t, Argosy__Response *response);
void tickets_flush(Leader *l);

// forwards.c
void forwards_on_request(Leader *l, Host *h, const Argosy__ToVoter__Forward *forward);
void forwards_on_cancel(Leader *l, Host *h, const Argosy__ToVoter__ForwardCancel *cancel);
void forwards_on_taken(Leader *l, Host *h, const Argosy__ToVoter__ForwardTaken *taken);
void forwards_on_link_lost(Leader *l, Host *h);

// waits.c
int wait_start(Leader *l, Ticket *t);
void wait_free(Leader *l, Wait *w);
void waits_drain(Leader *l);

// answer.c: reading verbs. `l` may be not leading (stale answers).
bool answer_can(const Argosy__Request *request);
void answer(Leader *l, const Argosy__Request *request, LeaderRespond respond, void *userdata);
int unit_why(Leader *l, const UnitEntry *e, char **ret_why, Argosy__Refusal ***ret, size_t *ret_n);
int site_fill_row(const Site *s, Argosy__Response__UnitRow *row); // NULL: nothing is known
int row_fill_host(const Leader *l, const Argosy__HostRecord *host, Argosy__Response__UnitRow *row);

// why.c: answers at once, also not leading.
void why(Leader *l, const Argosy__Request *request, LeaderRespond respond, void *userdata);

// calls.c
int calls_start(Leader *l, Ticket *t);
void calls_on_reply(Leader *l, Host *h, const Argosy__ToVoter__CallReply *reply);
void calls_on_taken(Leader *l, Ticket *t, uint64_t mark);
void calls_on_node_lost(Leader *l, Node *n);
void calls_on_host_welcomed(Leader *l, Host *h); // who watches all nodes watches its nodes too
void calls_drain(Leader *l);
void calls_end(Leader *l, Ticket *t);

// members.c: 1: in the batch, 0: settled or still waiting in the queue, -EBUSY: try in the next batch,
// -ENOMEM
int members_plan(Leader *l, Ticket *t, Draft *b);
void members_on_renew(Leader *l, Host *h, const Argosy__ToVoter__Renew *renew);
// A removal waits until its host is no voter; false: not yet.
bool members_removal_ready(Leader *l, Ticket *t);

// features.c
int features_decide(Leader *l, Draft *b); // 0 or -ENOMEM
// Whether its build has less than the log: it can hold no copy of it.
bool features_host_is_too_old(const Leader *l, const Host *h);
// Which level the log does not have yet although somebody does, and because of whom; *notice stays empty else.
int features_notice(const Leader *l, char **notice);

// voters.c
// Whether the log can go on while this host stops being a voter, by what was heard of the voters since then.
typedef enum VotersJudgement {
        VOTERS_SAFE,
        VOTERS_UNHEARD, // they had no time to answer: to be asked again, for which the clock is set
        VOTERS_UNSAFE,  // ret_why: for people; `verb` is what they asked for
} VotersJudgement;
int voters_judge(Leader *l, uint32_t host, uint64_t since_us, const char *verb, char *ret_why, size_t size);
// The same for so many voters.
int voters_judge_wanted(Leader *l, unsigned wanted, uint64_t since_us, char *ret_why, size_t size);
// Raft id of the voter that leadership is best handed to. 0: none can take it.
uint32_t voters_successor(const Leader *l);
void voters_step(Leader *l, Draft *b); // b NULL: only the steps that need no log entry
void voters_on_opened(Leader *l, Host *h, const Argosy__ToVoter__StoreOpened *opened);
void voters_on_attach(Leader *l, Host *h);
