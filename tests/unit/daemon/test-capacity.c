// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a host offers: of its cores and memory, or of what a container may use.
#include "capacity.h"
#include "printed.h"
#include "str.h"
#include "tmpdir.h"

enum { GIB = 1024 };

static void assert_within(uint64_t cores, uint64_t gib, const char *cpu, const char *memory,
                          uint32_t cpu_milli, uint32_t memory_mib) {
        Capacity c = capacity_within(cores, gib << 30, cpu, memory);

        assert_int_equal(c.cpu_milli, cpu_milli);
        assert_int_equal(c.memory_mib, memory_mib);
}

static void a_machine_has_what_it_has(void **state) {
        assert_within(8, 16, "", "", 8000, 16 * GIB);
        assert_within(8, 16, "max 100000\n", "max\n", 8000, 16 * GIB);
        assert_within(8, 16, "nonsense", "-1", 8000, 16 * GIB);
        assert_within(8, 16, "100000 0", "", 8000, 16 * GIB);
        assert_within(UINT64_MAX, 16, "", "", INT32_MAX, 16 * GIB);
}

static void a_container_has_no_more_than_its_limits(void **state) {
        assert_within(8, 16, "150000 100000\n", "2147483648\n", 1500, 2 * GIB);
        assert_within(8, 16, "50000 100000\n", "max\n", 500, 16 * GIB);
        assert_within(2, 1, "800000 100000\n", "68719476736\n", 2000, GIB); // more than there is
}

static void a_part_is_kept_back_and_more_may_be_promised(void **state) {
        const Capacity whole = {8000, 10 * GIB};
        Config config = {.keep_cpu_percent = 0,
                         .keep_memory_percent = 10,
                         .overcommit_cpu_percent = 200,
                         .overcommit_memory_percent = 100};
        Capacity c = capacity_offered(&whole, &config);

        assert_int_equal(c.cpu_milli, 16000);
        assert_int_equal(c.memory_mib, 9 * GIB);
        assert_true(capacity_equal(&c, &c));
        assert_false(capacity_equal(&c, &whole));
}

static void write_limit(const char *dir, const char *name, const char *text) {
        assert_int_equal(file_replace(AT_FDCWD, printed("%s/%s", dir, name), text, strlen(text), 0600, 0),
                         0);
}

static void limits_are_read_anew_each_time(void **state) {
        const Config config = {.overcommit_cpu_percent = 100, .overcommit_memory_percent = 100};
        Capacity without = capacity_read(*state, &config), c;

        assert_true(without.cpu_milli >= 1000 && without.memory_mib > 3);
        write_limit(*state, "cpu.max", "10000 100000\n");
        write_limit(*state, "memory.max", "3145728\n");
        c = capacity_read(*state, &config);
        assert_int_equal(c.cpu_milli, 100);
        assert_int_equal(c.memory_mib, 3);
        write_limit(*state, "cpu.max", "max 100000\n");
        write_limit(*state, "memory.max", "max\n");
        c = capacity_read(*state, &config);
        assert_true(capacity_equal(&c, &without));
}

RUN_TESTS(
        cmocka_unit_test(a_machine_has_what_it_has),
        cmocka_unit_test(a_container_has_no_more_than_its_limits),
        cmocka_unit_test(a_part_is_kept_back_and_more_may_be_promised),
        cmocka_unit_test_setup_teardown(limits_are_read_anew_each_time, tmpdir_make, tmpdir_drop)
)
