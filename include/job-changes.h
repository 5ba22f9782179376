// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What all jobs between two moments have changed together, each unit and each setting once. Pure: the caller
// takes the next question, has it answered, and gives the answer back, until there is no further question.
//
//      job_changes_begin() -> job_changes_next() -> a question -> its answers -> job_changes_take() ->
//      job_changes_next() ...
//
// It costs what was changed, however many units there are.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "argosy.pb-c.h"
#include "hash.h"
#include "json.h"
#include "map.h"

// A unit at one end. Without a rev there was none.
typedef struct UnitThen {
        char rev[HASH_HEX_SIZE];
        char desired[16];
} UnitThen;

typedef struct UnitChange {
        char *unit;
        UnitThen before, after;
        uint64_t first, last; // revisions that it got by the first and the last of them
} UnitChange;

// A label, a node, a role, a pool, a rule, in words; an empty value is none.
typedef struct SettingChange {
        char *setting, *before, *after;
        uint64_t first, last; // revisions of the first job and of the last one
} SettingChange;

typedef enum JobChangesStage {
        CHANGES_SINCE,   // when the first of the two jobs was done
        CHANGES_UNTIL,   // and the second
        CHANGES_NEWEST,  // jobs by their numbers, newest first
        CHANGES_LATE,    // those with smaller numbers that have gone on behind the first of the two
        CHANGES_LONG,    // jobs of which one answer does not have all units
        CHANGES_ARE_READ,
} JobChangesStage;

// Zero-initialised is empty.
typedef struct JobChanges {
        Map units;            // name -> UnitChange
        Map settings;         // name -> SettingChange
        uint64_t since, until; // numbers, that which was done first as soon as that is known; until 0: up to
                               // now
        bool cut;             // one of the jobs changed more units than it can name
        size_t bytes;         // about so many are in memory
        bool late_left_out;   // so many were under way at its beginning that what the first of them did is
                              // missing
        bool late_forgotten;  // what others of these did may be missing, since they are not kept any more
        // of the reading
        JobChangesStage stage;
        char *unit;                              // of which alone it is asked; NULL: of everything
        uint64_t before;                         // where the next question goes on; 0: there are no older
                                                 // jobs
        uint64_t since_revision, until_revision; // when those jobs were done; 0: up to now
        uint64_t *long_jobs;
        size_t n_long_jobs, long_job; // the next of them
        uint32_t units_seen;          // of that one
        bool answered;                // the question that is asked, by a response that says something
} JobChanges;

// What was changed after job `since` was done, until job `until` was; 0: up to now. Of one unit alone
// (borrowed), or NULL: of everything.
void job_changes_begin(JobChanges *c, char *unit, uint64_t since, uint64_t until);
// Makes the next question; `ret` and `ret_list` borrow from `c`. False: all was read.
bool job_changes_next(JobChanges *c, Argosy__Request *ret, Argosy__Request__ListJobs *ret_list);
// A response to it without an error, of which there may be several. 0 or -ENOMEM.
int job_changes_take(JobChanges *c, const Argosy__Response *r);
void job_changes_done(JobChanges *c);

// What differs between the two ends, as it is to be read from one job to the other, which may be the older
// one.
typedef struct JobDifference {
        uint64_t from, to;  // jobs; 0: now
        bool incomplete;    // what some jobs did is not known
        UnitChange **units; // by name
        size_t n_units;
        SettingChange **settings; // by name
        size_t n_settings;
} JobDifference;

// Borrows from `c`, and turns it around if the first one was done last. 0 or -ENOMEM.
int job_difference(JobChanges *c, uint64_t from, uint64_t to, JobDifference *ret);
void job_difference_done(JobDifference *d);
// For programs: what differs, and by which hashes, not how. The value.
void job_difference_json(const JobDifference *d, Json *j);
