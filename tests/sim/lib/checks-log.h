// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the log says of units, jobs and rights, read by the checks alone from one entry after the other. They
// compare with it what the leader says and does.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "argosy.pb-c.h"
#include "asks.h"
#include "checks.h"
#include "hash.h"

enum {
        LOG_ID_SIZE = 16,
        LOG_JOBS_MAX = 32768,
        LOG_GRANTS_MAX = 512,
        LOG_TOUCHED_MAX = 1024, // a burst of requests, each about all units, may be one entry
        LOG_ROLLOUTS_MAX = 16,
        LOG_TOKENS_MAX = 64,
        LOG_WAITS_MAX = 8,
        LOG_GAPS_MAX = 16
};

// A unit as the log wants it.
typedef struct LogUnit {
        bool exists, global;
        Hash spec;
        Argosy__Target target;
        uint32_t node;
        uint64_t revision, start_rev, restart_rev, stop_rev;
        uint64_t made; // its first revision: what had the name before was another unit
} LogUnit;

typedef struct LogJob {
        uint8_t id[LOG_ID_SIZE];
        bool has_id, parted; // parted: more entries than one
        Argosy__OwnCause own;
        uint64_t entry; // in which it came, by LogTruth.n_entries
        uint64_t begun; // likewise, in which it began; one that is held has not
        char user[24], verb[24];
        char rollout[48]; // that it has begun; "": none
        uint32_t host, uid;
        Argosy__JobState state;
        bool resumed; // it goes on behind its end
        // Of one that is held: for a person, and for these jobs.
        bool by_hand;
        uint64_t waits_for[LOG_WAITS_MAX];
        size_t n_waits_for;
        // Of the units that it changed: as they were before, and as it left them. Bits of asks.units.
        uint32_t touched;
        uint64_t touched_first[WORLD_UNITS_MAX], touched_at[WORLD_UNITS_MAX]; // at first and last, by
                                                                              // LogTruth.n_put; 0: not
        LogUnit before[WORLD_UNITS_MAX], after[WORLD_UNITS_MAX];
} LogJob;

typedef struct LogGrant {
        Argosy__Right right;
        char user[24], group[24], role[24];
        uint32_t host;
} LogGrant;

typedef struct LogRollout {
        char name[48], secret[24]; // secret: of a restart, which is of units with an older version of it
        Argosy__RolloutKind kind;
        Argosy__RolloutPhase phase;
        bool percent;
        unsigned max_unavailable;
        Hash spec, spec_before;
        uint64_t health_us, began; // began: its entry, by LogTruth.n_entries
} LogRollout;

// An access token of the author AUTHOR_TOKEN.
typedef struct LogToken {
        Argosy__Right right; // RIGHT_NONE: there is none, or not any more
        char role[24];
} LogToken;

typedef struct LogTruth {
        uint64_t n_entries, revision, time_us;
        LogUnit units[WORLD_UNITS_MAX];
        LogJob *jobs[LOG_JOBS_MAX]; // by number
        uint64_t n_put;             // parts of jobs, in the order of the log
        // Places of jobs: their numbers, but for those that a recovery of the cluster has skipped. Behind
        // `number` comes the one behind `place`.
        struct {
                uint64_t number, place;
        } gaps[LOG_GAPS_MAX];
        size_t n_gaps;
        // the last number, and that behind the ones that were there when the story began
        uint64_t n_jobs, first_job;
        LogGrant grants[LOG_GRANTS_MAX];
        size_t n_grants;
        // Of the entry that came last: what it touched, and how that was before. `asked`: by a request, and
        // not by the cluster itself; `job`: which.
        size_t n_touched;
        struct LogTouched {
                unsigned unit;
                LogUnit before, after;
                bool asked, goes_on; // goes_on: the job has begun before this entry
                uint64_t job;
        } touched[LOG_TOUCHED_MAX];
        // Moves that jobs of the cluster's own in this entry tell of.
        size_t n_moves;
        struct LogMove {
                unsigned unit;
                char from[16], to[16], reason[160];
                Argosy__OwnCause cause;
                uint32_t host;
        } moves[LOG_TOUCHED_MAX];
        // Jobs whose end it tells.
        uint64_t ended[LOG_TOUCHED_MAX];
        size_t n_ended;
        // Rights, units and rollouts as they were before it.
        LogGrant grants_before[LOG_GRANTS_MAX];
        size_t n_grants_before;
        LogUnit units_before[WORLD_UNITS_MAX];
        LogRollout rollouts[LOG_ROLLOUTS_MAX], rollouts_before[LOG_ROLLOUTS_MAX];
        size_t n_rollouts; // that have a name
        bool queue_is_closed, queue_has_rules; // rules: that may hold something
        LogToken tokens[LOG_TOKENS_MAX + 1]; // by number (WorldAsked.token)
} LogTruth;

extern LogTruth log_truth;

// The request's id; NULL: it has none.
const uint8_t *log_request_id(const Argosy__Request *q);
// The newest request of that id, or that the job is of; NULL: none was asked in this story.
const WorldAsked *log_asked_as(const uint8_t *id);
const WorldAsked *log_asked_of(const LogJob *j);
// The job that the log has of a request with that id; 0: none.
uint64_t log_job_of(const uint8_t *id);
// Whether somebody has that right, of all units or, with a role, of those of that role too, by these grants.
bool log_has_right(const LogGrant *grants, size_t n, WorldAuthor author, Argosy__Right right,
                   const char *role);
// One of some role at least.
bool log_has_some_right(const LogGrant *grants, size_t n, WorldAuthor author, Argosy__Right right);
// NULL: it does not exist, or has a content that is none of ours.
const WorldContent *log_content(const LogUnit *u);
// Whether another job has changed the unit behind the last change that this one made of it. One that was
// held has an older number.
bool log_was_touched_since(uint64_t job, unsigned unit);
// Where log_truth.jobs has it; 0: no job has that number.
uint64_t log_place(uint64_t number);
// The rollout of the unit that is under way in this table; NULL: none is.
const LogRollout *log_rollout_of(const LogRollout *rollouts, unsigned unit);

// ---- checks that need nothing else: functions of a table of checks (checks.h)

// checks-log.c; the first, since the others look at what it has read
void log_begin(void);
void log_on_entry(const Argosy__LogBatch *batch);
void log_end(void);

// checks-counters.c
void counters_on_entry(const Argosy__LogBatch *batch);

// checks-answers.c
void acknowledged_on_answer(const WorldAsked *a, const Argosy__Response *r);
void once_on_answer(const WorldAsked *a, const Argosy__Response *r);
void refused_on_answer(const WorldAsked *a, const Argosy__Response *r);
void refused_on_entry(const Argosy__LogBatch *batch);
void author_on_answer(const WorldAsked *a, const Argosy__Response *r);
void wrong_on_answer(const WorldAsked *a, const Argosy__Response *r);

// checks-rights.c
void rights_begin(void);
void rights_on_entry(const Argosy__LogBatch *batch);
void own_on_answer(const WorldAsked *a, const Argosy__Response *r);
void rights_on_answer(const WorldAsked *a, const Argosy__Response *r);
void undo_on_answer(const WorldAsked *a, const Argosy__Response *r);
void undo_on_calm(void);
void dry_on_answer(const WorldAsked *a, const Argosy__Response *r);
