// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What control groups use: CPU time, tasks, memory, IO, read from the kernel's files (cgroup version 2) by
// jobs of the pool. Nothing is read unless somebody asks; nothing is held when nobody has asked for a while.
//
// The files of a group stay open from one reading to the next, which saves the walk down the path: each
// reading is a pread(2) per file. A group that was removed and made again (its unit was restarted) says
// ENODEV through the old descriptors and is opened anew.
//
// What a file does not say (its controller is not enabled for that group, or the kernel has none) is
// USAGE_NONE, never 0.

#include <stdbool.h>
#include <uv.h>

#include "macro.h"

#define USAGE_NONE UINT64_MAX

enum {
        USAGE_UNITS_PER_READING = 64, // about 10 us each in the pool
        USAGE_JOBS_MAX = 2,           // in the pool at a time, so its other users go on
        USAGE_READS_MAX = 256,        // readings that wait or are under way, 50 kB each at most
        USAGE_GROUPS_HELD = 2048,     // groups whose files stay open; others are opened for each reading
        USAGE_FDS_PER_GROUP = 5,
        USAGE_HELD_SEC = 60, // how long files stay open that nobody asks for
};

typedef struct UnitUsage {
        bool exists;  // the group is there; if not, nothing else is set
        uint64_t run; // tells this group from an earlier or later one at the same place, whose counters are
                      // others
        uint64_t at_us;    // CLOCK_MONOTONIC of this machine when cpu_us was read
        uint64_t cpu_us;   // CPU time used so far, all tasks, also of groups below
        uint64_t tasks;    // threads at present, also in groups below
        uint64_t memory;   // bytes at present, page cache included
        uint64_t io_read;  // bytes read so far from all block devices
        uint64_t io_write; // and written
} UnitUsage;

typedef struct CgroupUsage CgroupUsage;

// `max_groups` 0: USAGE_GROUPS_HELD, or less if few descriptors are allowed to this process. 0 or -ENOMEM.
int cgroup_usage_new(uv_loop_t *loop, size_t max_groups, CgroupUsage **ret);
// No callback but `closed` (may be NULL) follows, which fires from the loop.
void cgroup_usage_close(CgroupUsage *u, void (*closed)(void *userdata), void *userdata);

// Reads these groups, given by their directories (absolute paths, copied), in one job of the pool. `done`
// fires once, from the loop, never before return, also for no groups at all; samples[i] belongs to paths[i]
// and all are valid during the call only. Readings begin in the order in which they were asked for. *ret_id
// (never 0) is for cgroup_usage_cancel(). -E2BIG: more than USAGE_UNITS_PER_READING, which is what keeps a
// turn of the loop short; -EBUSY: USAGE_READS_MAX; -ENOMEM. After an error `done` never fires.
typedef void (*CgroupUsageDone)(const UnitUsage *samples, size_t n, void *userdata);
int cgroup_usage_read(CgroupUsage *u, const char *const *paths, size_t n, CgroupUsageDone done,
                      void *userdata, uint64_t *ret_id);
// `done` fires no more. Unknown numbers are ignored.
void cgroup_usage_cancel(CgroupUsage *u, uint64_t id);

size_t cgroup_usage_n_held(const CgroupUsage *u); // groups with open files

// ---- the kernel's formats; pure. `text` is NUL-terminated. False: not in it, or not a number.

// "KEY NUMBER" lines (cpu.stat).
bool usage_parse_key(const char *text, const char *key, uint64_t *ret);
// One number and a newline (memory.current, pids.current); "max" is no number.
bool usage_parse_number(const char *text, uint64_t *ret);
// "MAJOR:MINOR KEY=NUMBER ..." lines (io.stat): the sums of rbytes and wbytes over all devices. A file
// without lines is a group that did no IO: zeros. Lines that are not understood are left out; false if that
// leaves none.
bool usage_parse_io(const char *text, uint64_t *ret_read, uint64_t *ret_write);
