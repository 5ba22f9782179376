// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The open files of one control group, and one reading of them. Blocks (for microseconds): for the pool. One
// thread at a time per CgroupFiles.

#include "cgroup-usage.h"

enum {
        CGROUP_DEPTH_MAX = 8, // of groups below a unit's own whose threads are counted
        CGROUP_BELOW_MAX = 256,
        CGROUP_AGAIN_SEC = 10, // a file that was missing is looked for again after this time
};

typedef struct CgroupFiles {
        int dir;                    // -1: nothing is open
        int cpu, memory, io, tasks; // -1: missing
        bool by_threads;            // `tasks` is cgroup.threads, for want of pids.current
        uint64_t run;
        uint64_t searched_us; // when missing files were last looked for
} CgroupFiles;

#define CGROUP_FILES_CLOSED ((CgroupFiles){.dir = -1, .cpu = -1, .memory = -1, .io = -1, .tasks = -1})

// Opens what is not open, and reads.
void cgroup_files_read(CgroupFiles *f, const char *path, UnitUsage *ret);
void cgroup_files_close(CgroupFiles *f);
