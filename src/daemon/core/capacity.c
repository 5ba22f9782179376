// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   cores, memory, limits of the root control group -> what is there -> what is kept back, what is promised
//   beyond -> what is offered
//
// The kernel says for how many microseconds of CPU in a period the processes of a group may run, and how
// many bytes they may have ("max": as they like). A machine's root group has no such file, so what is
// missing, or is no number, limits nothing.

#include "capacity.h"

#include <fcntl.h>
#include <string.h>

#include "buf.h"
#include "fileio.h"
#include "machine.h"
#include "str.h"

enum { LIMIT_MAX = 64, MIB_SHIFT = 20 };

static bool read_number(const char *text, uint64_t *ret) {
        char word[24];

        str_fit(word, sizeof(word), "%.*s", (int) MIN_OF(strcspn(text, " \n"), sizeof(word) - 1), text);
        return parse_u64(word, UINT64_MAX, ret);
}

// "150000 100000": one and a half cores.
static uint64_t cpu_limit_milli(const char *text) {
        const char *behind = strchr(text, ' ');
        uint64_t quota, period;

        if (!behind || !read_number(text, &quota) || !read_number(behind + 1, &period) || period == 0 ||
            quota > UINT64_MAX / 1000)
                return UINT64_MAX;
        return quota * 1000 / period;
}

static uint32_t clamp(uint64_t n) {
        return (uint32_t) MIN_OF(n, (uint64_t) INT32_MAX);
}

Capacity capacity_within(uint64_t cores, uint64_t bytes, const char *cpu_max, const char *memory_max) {
        uint64_t limit;

        if (read_number(memory_max, &limit))
                bytes = MIN_OF(bytes, limit);
        return (Capacity){.cpu_milli = clamp(MIN_OF(MIN_OF(cores, (uint64_t) INT32_MAX) * 1000,
                                                    cpu_limit_milli(cpu_max))),
                          .memory_mib = clamp(bytes >> MIB_SHIFT)};
}

static uint32_t offered(uint64_t whole, uint64_t keep_percent, uint64_t overcommit_percent) {
        return clamp(whole * (100 - keep_percent) / 100 * overcommit_percent / 100);
}

Capacity capacity_offered(const Capacity *whole, const Config *c) {
        return (Capacity){
                .cpu_milli = offered(whole->cpu_milli, c->keep_cpu_percent, c->overcommit_cpu_percent),
                .memory_mib =
                        offered(whole->memory_mib, c->keep_memory_percent, c->overcommit_memory_percent)};
}

static void read_limit(const char *cgroup, const char *name, char ret[LIMIT_MAX]) {
        _cleanup_free_ char *path = str_printf("%s/%s", cgroup, name);
        _cleanup_buf_ Buf text = {};

        *ret = 0;
        if (path && file_read(AT_FDCWD, path, LIMIT_MAX - 1, &text) >= 0)
                str_fit(ret, LIMIT_MAX, "%.*s", (int) text.len, (const char *) text.data);
}

Capacity capacity_read(const char *cgroup, const Config *config) {
        char cpu[LIMIT_MAX], memory[LIMIT_MAX];
        Capacity whole;

        read_limit(cgroup, "cpu.max", cpu);
        read_limit(cgroup, "memory.max", memory);
        whole = capacity_within(machine_processors(), machine_memory_bytes(), cpu, memory);
        return capacity_offered(&whole, config);
}

bool capacity_equal(const Capacity *a, const Capacity *b) {
        return a->cpu_milli == b->cpu_milli && a->memory_mib == b->memory_mib;
}
