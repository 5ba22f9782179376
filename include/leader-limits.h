// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// How much the leader does in one turn of its loop, puts into one entry of the log or one message, keeps,
// and takes from others at a time. argosyd leads with the usual values. A story (tests/sim) leads with small
// ones, so that a few units come to what otherwise takes thousands.
//
// Each is at least what anything works with, and at most the usual value: arrays are that long. What is one
// thing by itself (a unit with its files, one record) is done whole, however small the limit is.

#include <stdbool.h>

#include "store.h"

// LIMIT(name, usual value, least value, "what it counts")
#define LEADER_LIMITS(LIMIT)                                                                                \
        LIMIT(build_records, 256, 1,                                                                        \
              "hosts, nodes and units that a leader which begins follows in a turn, at up to 15 us each")   \
        LIMIT(pulled_units, 2048, 1, "marks of units that are followed in a turn, at about 1 us each")      \
        LIMIT(settled_works, 8192, 1, "units of a turn whose working memory may go, at about 50 ns each")   \
        LIMIT(touched_rows, 16384, 1,                                                                       \
              "units on nodes that a turn notes one by one; of more, all are looked at")                    \
        LIMIT(touched_hosts, 2048, 1, "hosts that are noted likewise")                                      \
        LIMIT(expired_units, 4096, 1,                                                                       \
              "units on nodes of lost hosts that a turn walks through, at up to 0.5 us each")               \
        LIMIT(reseal_versions, 64, 1, "versions of secrets that a turn seals anew")                         \
        LIMIT(reseal_bytes, 128 * 1024, 1, "bytes of these; one version is sealed however long it is")      \
        LIMIT(label_work, 4096, 1,                                                                          \
              "work of a turn on hosts whose labels have changed, in units of about 1 us")                  \
        LIMIT(placed_hosts, 4096, 1, "hosts that the Placement is told of in a turn, at about 0.5 us each") \
        LIMIT(outcomes_looked, 2048, 1,                                                                     \
              "outcomes of which a turn finds out whether the log has them, at about 0.2 us each")          \
        LIMIT(orders_made, 512, 1, "orders that a turn makes or walks past, at about 4 us each")            \
        LIMIT(globals_judged, 2048, 1, "global units on nodes that a turn judges, at about 1 us each")      \
        LIMIT(rows_at_once, 16, 1,                                                                          \
              "nodes of a changed unit that are marked at once; more are walked through")                   \
        LIMIT(rows_marked, 1024, 1, "nodes that a turn marks in such a walk, at up to 6 us each")           \
        LIMIT(drained_units, 512, 1,                                                                        \
              "units that a turn orders anew because others have ended, at about 1 us each")                \
        LIMIT(drained_looks, 4096, 1,                                                                       \
              "looks of a turn at units that those which replace others may wait for")                      \
        LIMIT(file_piece_bytes, 64 * 1024, 256, "bytes of a file in one message; beats wait behind it")     \
        LIMIT(file_pieces, 16, 1, "pieces of files that a turn sends: 1 MiB takes the kernel about 2 ms")   \
        LIMIT(undo_looks, 2048, 1, "units of an undo that are listed, or judged, in a turn")                \
        LIMIT(cancel_looks, 4000, 1, "units of jobs to cancel that a turn looks at, at about 0.7 us each")  \
        LIMIT(tie_looks, 2048, 1, "looks of a turn at the names of a large request, at about 1 us each")    \
        LIMIT(held_judged, 64, 1, "held jobs that a turn judges")                                           \
        LIMIT(held_bytes, 512 * 1024, 1, "bytes of held requests that a turn reads")                        \
        LIMIT(held_looks, 2048, 1,                                                                          \
              "units of requests that a turn compares with rules of the queue, at less than 1 us each")     \
        LIMIT(open_jobs_looked, 4096, 1,                                                                    \
              "jobs that a leader which begins looks at in a turn, at about 0.1 us each")                   \
        LIMIT(waits_begun, 1000, 1, "units whose waits a turn begins, of all waits together")               \
        LIMIT(waits_judged, 1000, 1, "waits for units that were touched, of a turn")                        \
        LIMIT(waits_reported, 256, 1, "waits for one unit that are told at once; more are told in turns")   \
        LIMIT(wait_looks, 1024, 1,                                                                          \
              "nodes that a turn looks at for waits for units on thousands of them, at some 2 us each")     \
        LIMIT(nodes_at_once, 1000, 1, "nodes of a list that is made before the question returns")           \
        LIMIT(nodes_listed, 512, 1, "hosts that a turn lists, of all longer lists, at about 1.5 us each")   \
        LIMIT(rows_listed, 1000, 1, "rows of lists that a turn makes, at about 1.5 us each")                \
        LIMIT(rows_freed, 5000, 1, "rows of lists nobody waits for that a turn frees")                      \
        LIMIT(listing_turns, 1000, 1,                                                                       \
              "turns in which a list makes again what was touched; then rows are of different times")       \
        LIMIT(units_at_once, 1000, 1, "rows of a list that is made before the question returns")            \
        LIMIT(compared_at_once, 16000, 1, "names compared with patterns, likewise")                         \
        LIMIT(why_at_once, 2048, 1, "looks of a Why that is answered before the question returns")          \
        LIMIT(why_looks, 1024, 1,                                                                           \
              "looks of a turn of all other Whys; a unit that is on no node is not cut")                    \
        LIMIT(why_share, 256, 1, "looks of one Why in a turn, until the others have had theirs")            \
        LIMIT(status_looks, 2048, 1,                                                                        \
              "nodes that a turn looks at for questions to nodes, at some 1.5 us each")                     \
        LIMIT(status_share, 256, 1, "looks of one such question in a turn, if others wait")                 \
        LIMIT(calls_cancelled, 1024, 1, "questions to nodes that a turn cancels")                           \
        LIMIT(job_show_looks, 512, 1,                                                                       \
              "nodes that a turn looks at for units of jobs that are shown, at some 2 us each")             \
        LIMIT(event_rows, 512, 1, "rows that a turn makes while somebody watches, at less than 2 us each")  \
        LIMIT(event_marks, 4096, 1, "changes that a turn only notes while nobody watches")                  \
        LIMIT(event_units_of_nodes, 4096, 1, "units of nodes that a turn marks, at up to 0.5 us each")      \
        LIMIT(watch_bytes, 1024 * 1024, 4096, "bytes that a turn tells those who watch")                    \
        LIMIT(watch_looks, 16384, 64, "events of the ring, or patterns, that a turn looks at for them")     \
        LIMIT(plan_steps, 1024, 1, "steps of one round of a plan")                                          \
        LIMIT(entry_bytes, STORE_BATCH_MAX / 2, 1024,                                                       \
              "bytes of an entry of the log that the leader fills by itself; a request may go beyond")      \
        LIMIT(entry_units, 256, 1,                                                                          \
              "units of such an entry, at some 20 us to apply each; half of them if requests wait")         \
        LIMIT(requests_units, 384, 1,                                                                       \
              "units of all requests of one entry, and of one turn; one request is taken however large")    \
        LIMIT(change_chunk_units, 256, 1,                                                                   \
              "units of a chunk of a change, planned, applied and followed at about 10 us each")            \
        LIMIT(submit_chunk_units, 512, 1,                                                                   \
              "units of a chunk of a submit: these get no node and no order, so each costs half of that")   \
        LIMIT(change_chunk_bytes, STORE_BATCH_MAX / 2, 1,                                                   \
              "bytes of files of a part, unless it is one unit with its files")                             \
        LIMIT(change_file_bytes, 256 * 1024, 64,                                                            \
              "bytes of files that come along, in one chunk of a change: a turn has time to read so many")  \
        LIMIT(plan_chunk_units, 256, 1, "units of a chunk of a plan, at 10 to 16 us each")                  \
        LIMIT(undo_chunk_units, 256, 1, "units of a chunk of an undo")                                      \
        LIMIT(apply_chunk_units, 256, 1, "units of a chunk of an apply")                                    \
        LIMIT(apply_chunk_bytes, STORE_BATCH_MAX / 2, 1,                                                    \
              "bytes of new contents of a chunk of an apply, but for the first one")                        \
        LIMIT(rollout_changes, 256, 1,                                                                      \
              "units that an entry of a rollout changes, at up to 40 us each: planned and followed")        \
        LIMIT(forgets, 10000, 1,                                                                            \
              "contents that are looked at in a turn to be forgotten, and erased by one entry")             \
        LIMIT(job_ends, 512, 1, "jobs that end in one entry, applied at about 1 us each")                   \
        LIMIT(job_ends_bytes, 256 * 1024, 1, "bytes of what they say, and what one of them has more")       \
        LIMIT(held_ends, 256, 1, "held jobs that end in one entry")                                         \
        LIMIT(held_ends_bytes, 256 * 1024, 1, "bytes of what they say, and what one of them has more")      \
        LIMIT(own_hosts, 64, 1, "hosts whose loss or return one entry tells")                               \
        LIMIT(own_record_bytes, 64 * 1024, 1,                                                               \
              "bytes of a record of what the cluster did by itself; what follows gets another one")         \
        LIMIT(own_groups, 16, 1, "groups of moves of an entry that one more is compared with")              \
        LIMIT(orders_bytes, 1024 * 1024, 1,                                                                 \
              "bytes of one message with orders, and one unit file more: beats wait behind it")             \
        LIMIT(call_names, 256, 1, "names of a plan that a node is asked about in one call")                 \
        LIMIT(call_pairs, 2048, 1, "names on nodes that a plan asks about at a time, at some 2 us each")    \
        LIMIT(jobs_looked, 1000, 1,                                                                         \
              "jobs looked at for one answer, at some 4 us each, and ten times as many of their units")     \
        LIMIT(job_units_listed, 256, 1, "units of one job in one answer, at some 10 us each")               \
        LIMIT(events_gone, 10000, 1,                                                                        \
              "objects that are gone and remembered, for those who have missed that")                       \
        LIMIT(event_jobs, 1000, 1, "of the newest jobs, for those who have missed them")                    \
        LIMIT(trail_jobs, 2048, 1, "beginnings and ends of jobs that are remembered while nobody watches")  \
        LIMIT(spare_works, 256, 0, "units whose working memory is kept for the next")                       \
        LIMIT(listings_kept, 4, 1, "lists of which there are rows: made, and waiting for a slow link")      \
        LIMIT(pending_requests, 4096, 64, "requests that wait for the log, for units or for agents")        \
        LIMIT(pending_requests_others, 3072, 64, "of these, of all but root and whom argosyd runs as")      \
        LIMIT(node_questions, 16, 1,                                                                        \
              "questions to nodes of one user of a host under way; an agent answers AGENT_CALLS_MAX (64)")  \
        LIMIT(node_listeners, 24, 1, "questions but for status to one node under way, of all but root")     \
        LIMIT(wait_items, 200000, 64, "units that are waited for, all clients together")                    \
        LIMIT(watchers, 2000, 1, "who watch at a time; further ones are refused")                           \
        LIMIT(begun, 8, 1, "requests of one author and one kind that have begun and take several turns")    \
        LIMIT(plans_asking, 2, 1, "plans of one author that have asked nodes, at a time")                   \
        LIMIT(plans_asking_others, 8, 1, "of these, of all but root and whom argosyd runs as")              \
        LIMIT(held_going, 64, 1, "held jobs that go on at a time, but for those that ask hosts")            \
        LIMIT(preempted, 16, 1,                                                                             \
              "units that are ending because they were preempted, and those of one round")                  \
        LIMIT(rebalance_flying, 4, 1, "units that a rebalance moves at a time")                             \
        LIMIT(ca_asked, 16, 1,                                                                              \
              "hosts asked at a time to have a new certificate signed, at about 0.2 ms each")               \
        LIMIT(attaches_at_once, 16, 1,                                                                      \
              "Attaches that a host may send at once; further ones wait for attach_every_ms each")          \
        LIMIT(attach_every_ms, 500, 1, "milliseconds")                                                      \
        LIMIT(barrier_retry_ms, 50, 1, "milliseconds until a barrier that the log refused is tried again")  \
        LIMIT(job_end_delay_ms, 1000, 1,                                                                    \
              "milliseconds that the end of a job waits for an entry that is made anyway")                  \
        LIMIT(own_delay_ms, 1000, 1,                                                                        \
              "milliseconds that what the cluster did by itself waits for such an entry")                   \
        LIMIT(own_repeat_sec, 60, 1,                                                                        \
              "seconds within which the same kind of thing is counted by one record")                       \
        LIMIT(events_kept_sec, 10 * 60, 1, "seconds for which events are kept after somebody has watched")

enum {
#define LEADER_LIMIT_USUAL(name, usual, least, what) LEADER_LIMIT_##name = usual,
        LEADER_LIMITS(LEADER_LIMIT_USUAL)
#undef LEADER_LIMIT_USUAL
};

typedef struct LeaderLimits {
#define LEADER_LIMIT_FIELD(name, usual, least, what) unsigned name;
        LEADER_LIMITS(LEADER_LIMIT_FIELD)
#undef LEADER_LIMIT_FIELD
} LeaderLimits;

// Those of argosyd.
extern const LeaderLimits leader_limits_usual;
// Each is between its least and its usual value.
bool leader_limits_are_valid(const LeaderLimits *limits);
