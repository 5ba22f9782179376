// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include <fcntl.h>
#include <unistd.h>

#include "fileio.h"
#include "lease-file.h"
#include "tmpdir.h"

static void a_lease_outlives_the_daemon_that_wrote_it(void **state) {
        LeaseFile *first, *second;

        assert_int_equal(lease_file_open("lease", &first), 0);
        assert_int_equal(atomic_load(&first->until_us), 0);
        atomic_store(&first->until_us, 42);
        assert_int_equal(lease_file_open("lease", &second), 0);
        assert_int_equal(atomic_load(&second->until_us), 42);
        atomic_store(&second->until_us, 43); // the next daemon: a guard that has the file mapped sees it
        assert_int_equal(atomic_load(&first->until_us), 43);
        lease_file_close(first);
        lease_file_close(second);
}

static void what_is_no_lease_buys_nothing(void **state) {
        LeaseFile *f;

        assert_int_equal(file_replace(AT_FDCWD, "lease", "somebody's notes, long", 22, 0600, 0), 0);
        assert_int_equal(lease_file_open("lease", &f), 0);
        assert_int_equal(atomic_load(&f->until_us), 0);
        assert_memory_equal(f->magic, LEASE_FILE_MAGIC, 8);
        lease_file_close(f);
        assert_int_equal(symlink("elsewhere", "link"), 0);
        assert_int_equal(lease_file_open("link", &f), -ELOOP);
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(a_lease_outlives_the_daemon_that_wrote_it, tmpdir_enter,
                                        tmpdir_drop),
        cmocka_unit_test_setup_teardown(what_is_no_lease_buys_nothing, tmpdir_enter, tmpdir_drop)
)
