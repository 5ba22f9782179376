// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A directory of its own for a test: setup makes it (its path is *state), teardown removes it with
// everything inside.

#include <fcntl.h>
#include <unistd.h>

#include "fileio.h"
#include "test.h"

static inline int tmpdir_make(void **state) {
        char *dir = strdup("/tmp/argosy-test-XXXXXX");

        assert_non_null(dir);
        assert_non_null(mkdtemp(dir));
        *state = dir;
        return 0;
}

// The test runs in it.
static inline int tmpdir_enter(void **state) {
        return tmpdir_make(state) == 0 ? chdir(*state) : -1;
}

static inline int tmpdir_drop(void **state) {
        assert_int_equal(dir_empty(AT_FDCWD, *state), 0);
        assert_int_equal(rmdir(*state), 0);
        free(*state);
        return 0;
}
