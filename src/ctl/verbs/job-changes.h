// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What all jobs between two moments have changed together, each unit and each setting once.

#include "hash.h"
#include "map.h"

typedef struct Ctl Ctl;

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

typedef struct JobChanges {
        Map units;       // name -> UnitChange
        Map settings;    // name -> SettingChange
        uint64_t before; // where the next question goes on; 0: there are no older jobs
        uint64_t since;  // number
        uint64_t since_revision, until_revision; // when those jobs were done; 0: up to now
        uint64_t *long_jobs; // of which one answer does not have all units
        size_t n_long_jobs;
        bool cut; // one of the jobs changed more units than it can name
} JobChanges;

// Zero-initialised is empty. Reads what was changed after job `since`, up to job `until` with it; 0: up to now. Of one unit
// alone, or NULL: of everything. Prints what is wrong and returns an exit code.
int job_changes_read(Ctl *ctl, char *unit, uint64_t since, uint64_t until, JobChanges *ret);
void job_changes_done(JobChanges *c);
