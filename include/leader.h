// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The cluster: who is alive, what units do, and every decision. Exists on every voter, idle unless
// leader_set_leading(true).
//
// All decisions of one turn of the loop go into one log batch; while a batch is on its way nothing else is
// decided, so no decision builds on one that may be rolled back. What is decided is pure and has files of
// its own: placement.h (where), lease.c (who is lost), request.c (what a request means), wait-condition.c
// (what is done), membership.c (who votes).
//
// What it needs of a host, in this order: leader_on_host_link(hello), Attach; then Beats and Reports as they
// come. It answers an Attach by one Welcome, after a barrier of the log that was proposed later, and from
// then on sends Orders. A host that it cannot tell something it drops; when that host attaches again both
// know everything.
//
// What lasts is only said while no other leader can have been elected: acknowledged beats, orders, answers
// to changes and waits. A leader that is not sure of that (it was frozen, or cut off) keeps everything until
// it is, or leads no more.
//
// Runs on the loop's thread. No callback of LeaderOps comes from inside a call into the leader, with three
// exceptions that come at once: answers to reading requests and refusals (see leader_request()), BeatAck,
// and everything that leader_set_leading() and leader_close() end.

#include <stdbool.h>
#include <uv.h>

#include "argosy.pb-c.h"
#include "cluster-state.h"
#include "counter.h"
#include "leader-limits.h"
#include "store.h"
#include "time-histogram.h"

typedef struct Accounts Accounts;
typedef struct Leader Leader;
struct EventCursor;

typedef struct LeaderOps {
        // Borrows the message. -ENOTCONN: no link, nothing is lost. -EMSGSIZE: it is longer than a frame may
        // be, and nothing else is wrong. Any other error: the host is dropped.
        int (*to_host)(uint32_t host, const Argosy__ToHost *message, void *userdata);
        // Whether it has still to take much of what it was sent; leader_on_host_drained() follows then.
        bool (*host_is_full)(uint32_t host, void *userdata);
        // Ends the host's session after what was sent to it; leader_on_host_link(NULL) follows later.
        void (*drop_host)(uint32_t host, void *userdata);
        // The voters' secrets that are on the disk of this host. Borrowed until the call returns.
        const struct VoterSecrets *(*secrets)(void *userdata);
        // The log: see store.h. A `done` that was taken over must be called, whatever happens; before
        // leader_close() can end, so close the store first.
        int (*member_add)(uint32_t raft_id, StoreMemberDone done, void *done_data, void *userdata);
        int (*member_remove)(uint32_t raft_id, StoreMemberDone done, void *done_data, void *userdata);
        int (*transfer)(uint32_t raft_id, StoreMemberDone done, void *done_data, void *userdata);
        int (*submit)(const void *data, size_t len, StoreDone done, void *done_data, void *userdata);
        int (*barrier)(StoreDone done, void *done_data, void *userdata);
        void (*stats)(StoreStats *ret, void *userdata);
        // Until when no other leader can have been elected, see store.h; leader_on_authority() follows when
        // it was asked in vain.
        uint64_t (*authority_until)(void *userdata);
        // The tables are whole, and it leads from now on; see leader_set_leading().
        void (*leads)(void *userdata);
        // Where the stream of events is now, for who may see everything by rights of that revision, and
        // until when (boot clock) that is true if it is not called again; NULL: not known. Before anything
        // is answered that came of it. May be NULL.
        void (*present)(const struct EventCursor *cursor, uint64_t access_revision, uint64_t until_us,
                        void *userdata);
} LeaderOps;

typedef struct LeaderConfig {
        uv_loop_t *loop;
        Accounts *accounts;  // borrowed: of those whose requests other hosts forward
        ClusterState *state; // borrowed; its owner applies batches to it
        uint32_t self;       // host number
        bool user;           // of a cluster of users' managers: hosts of the other kind cannot join
        // A host is suspect after half a lease without a beat, lost after all of it.
        unsigned lease_ms, beat_ms;
        // more hosts than this lost at once: nothing is moved. 0: the default, 50
        unsigned mass_loss_percent;
        // of the newest events that are kept while somebody watches. 0: the default, 16 MiB
        size_t events_bytes;
        const LeaderLimits *limits; // copied; NULL: the usual ones. Valid ones: leader_limits_are_valid()
        // Boot and own wall clock in microseconds; NULL: the real ones. They get the userdata of the ops.
        uint64_t (*now_us)(void *userdata);
        uint64_t (*cpu_us)(void *userdata); // CPU time of this thread; NULL: the kernel's
        uint64_t (*wall_us)(void *userdata);
} LeaderConfig;

// 0 or negative errno. Copies both structs.
int leader_new(const LeaderConfig *config, const LeaderOps *ops, void *userdata, Leader **ret);
// Answers what is open, then fires `closed`, later, when its handles are closed and neither the log nor the
// pool owes it anything.
void leader_close(Leader *l, void (*closed)(void *userdata), void *userdata);

// Begins to lead in this term (everything that was committed before has been applied), or stops: then every
// open request is answered with EAGAIN and no_leader set, at once, and sending it again is safe.
// False: its tables are of so many units that making them takes some turns of the loop. Until
// LeaderOps.leads it is as if it did not lead, so tell nobody before; entries may be applied meanwhile, and
// it may be stopped.
bool leader_set_leading(Leader *l, bool leading, uint64_t term);
// Does everything that is due by the clock: the leader's own timer calls it, and tests with a clock of
// theirs.
void leader_on_time(Leader *l);
// The two times, leading or not, for others that judge or date by them. What time it is in the cluster: the
// median of the voters' clocks as this leader has heard them, if most agree within a minute; of a cluster
// with one voter, the clock of this host; else the log's time and what has passed since by the boot clock.
// And how long leaders have counted (cluster_state_counted_us()), up to now.
uint64_t leader_wall(const Leader *l);
uint64_t leader_counted(const Leader *l);
// There is authority again: what waited for it goes on.
void leader_on_authority(Leader *l);
// Raft id of the voter to whom leadership is best handed: it answers, has caught up and is not shutting
// down. 0: there is none, or we do not lead.
uint32_t leader_successor(const Leader *l);
// After each batch that was applied to the state, on followers too.
void leader_on_applied(Leader *l, uint64_t index);
// After the state was replaced by an image.
void leader_on_restored(Leader *l);

// Borrows the message, but what is in it may be taken (then it is empty): of a long request, and of what
// waits until the host has taken answers. Ignored from hosts that are no members, and while not leading.
void leader_on_message(Leader *l, uint32_t host, Argosy__ToVoter *message);
// A host's session to this voter, leading or not; `hello` NULL: it is lost.
void leader_on_host_link(Leader *l, uint32_t host, const Argosy__ToVoter__Hello *hello);
// A host that was full (LeaderOps.host_is_full) has taken what it was sent.
void leader_on_host_drained(Leader *l, uint32_t host);

// What a leader counts, in all terms of this process; of a host that does not lead now the gauges are 0.
#define LEADER_COUNTERS(COUNTER, GAUGE)                                                                 \
        COUNTER(beats_acknowledged, "signs of life of hosts that this host answered while it led")      \
        COUNTER(placements, "times that this host found a node for a unit while it led")                \
        COUNTER(nodes_not_remembered, "times that the log had no room for where a unit may still run")  \
        GAUGE(leads, "1 while this host leads the cluster")                                             \
        GAUGE(units, "units and templates of the cluster, as its leader has them")                      \
        GAUGE(units_pending, "of these, units that wait for a node")                                    \
        GAUGE(units_looping,                                                                            \
              "units on nodes that fail again and again, and that systemd restarts each time")          \
        GAUGE(hosts, "members of the cluster, as its leader has them")                                  \
        GAUGE(hosts_clock_off,                                                                          \
              "of these, those whose clock differs from the cluster's time by more than 2 s")           \
        GAUGE(clocks_agree, "1 while the clocks of most voters agree within a minute")                  \
        GAUGE(jobs_open, "jobs that are under way")                                                     \
        GAUGE(requests_open, "requests that this leader has taken and not answered to their end")       \
        GAUGE(waits, "units for which clients wait")                                                    \
        GAUGE(events_bytes, "memory of the newest events, for those who watch")                         \
        GAUGE(leader_tables_bytes,                                                                      \
              "memory of what this leader has seen of units, nodes and hosts, without names and texts") \
        GAUGE(placement_bytes, "memory of the tables by which it places units, without texts")          \
        GAUGE(watchers, "questions for events that wait for the next one; streams of a host that are "  \
                        "alike share one")

typedef struct LeaderStats {
        LEADER_COUNTERS(COUNTER_FIELD, COUNTER_FIELD)
} LeaderStats;
LeaderStats leader_stats(const Leader *l);
// How long it took to look for nodes: for one unit that somebody asks for, or for all that wait.
TimeHistogram leader_placement_times(const Leader *l);

// What it counts by state, verb, role and resource; names of labels stand in the help.
#define LEADER_FAMILIES(COUNTER, GAUGE)                                                                 \
        COUNTER(jobs_ended, "jobs that have ended while this host led, by verb and state")              \
        GAUGE(units_by_placement,                                                                       \
              "units that are wanted somewhere, by how they stand with the nodes (placement)")          \
        GAUGE(units_on_nodes,                                                                           \
              "units on nodes, by the state that systemd there has for them; of nodes that are not "    \
              "heard it is unknown")                                                                    \
        GAUGE(nodes, "nodes by state")                                                                  \
        GAUGE(nodes_by_mode, "nodes by the mode that people gave them")                                 \
        GAUGE(open_jobs, "jobs that have not ended, by verb and state")                                 \
        GAUGE(capacity, "what all hosts that are not lost offer, by resource: cpu in thousandths of a " \
                        "core, memory in "                                                              \
                        "MiB, others as they are counted")                                              \
        GAUGE(reserved, "what units on these hosts have reserved of that, by resource")                 \
        GAUGE(role_units,                                                                               \
              "units that were given a node, by role; of more than 64 roles the rest are (others)")

typedef enum LeaderFamily {
#define LEADER_FAMILY_NUMBER(name, help) LEADER_FAMILY_##name,
        LEADER_FAMILIES(LEADER_FAMILY_NUMBER, LEADER_FAMILY_NUMBER)
#undef LEADER_FAMILY_NUMBER
        LEADER_FAMILY_END,
} LeaderFamily;
extern const CounterFamily leader_families[LEADER_FAMILY_END];
// Those of a host that does not lead: only what only ever grows. Texts are valid until the leader changes
// anything.
void leader_figures(Leader *l, CounterList *to);

// Requests of local clients; those of other hosts arrive as Forward messages. `respond` borrows the
// response, carries the request's id, and fires one or more times, the last time with `final`: Wait, Status,
// Journal and Cat may answer several times. It may fire before leader_request() returns: for ListUnits,
// ListUnitFiles (but those of thousands), ListNodes, Cat, ClusterStatus, and refusals; *ret_cancel is 0
// then.
typedef void (*LeaderRespond)(const Argosy__Response *response, void *userdata);
// 0; -EAGAIN: not leading; -EBUSY: too many units are waited for; -ENOMEM. After an error `respond` never
// fires.
// `author` is who asks, borrowed and believed: author_admit(); NULL: this host itself.
int leader_request(Leader *l, const Argosy__Author *author, const Argosy__Request *request,
                   LeaderRespond respond, void *userdata, uint64_t *ret_cancel);
// The same, but what is in the request may be taken out of it (message_take()), so it is one that was
// unpacked.
int leader_request_take(Leader *l, const Argosy__Author *author, Argosy__Request *request,
                        LeaderRespond respond, void *userdata, uint64_t *ret_cancel);
// The same, but the request stays the asker's, unchanged and in its place until the last response is given
// or leader_cancel() has returned: so it is none for the log, which may outlive its asker (REQUEST_CHANGES).
int leader_request_lent(Leader *l, const Argosy__Author *author, const Argosy__Request *request,
                        LeaderRespond respond, void *userdata, uint64_t *ret_cancel);
// `respond` fires no more. A change that is under way goes on.
void leader_cancel(Leader *l, uint64_t cancel);
// The asker of a journal with a window has got rid of the lines up to that mark (Response.Journal.mark).
// Also from inside `respond`.
void leader_taken(Leader *l, uint64_t cancel, uint64_t mark);
// Reading requests without a leader: from the replicated state alone, with what units do `unknown`. Others
// get EAGAIN. `author`: as leader_request(). At once, and *ret_cancel is 0; but for lists of thousands,
// which come later and may end with EAGAIN, too: there is a leader again.
void leader_answer_stale(Leader *l, const Argosy__Author *author, const Argosy__Request *request,
                         LeaderRespond respond, void *userdata, uint64_t *ret_cancel);
