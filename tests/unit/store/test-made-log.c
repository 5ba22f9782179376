// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A log that was made is on the disk before anything else says that there is one.
#include "test.h"

#include <stdio.h>

#include "store-node.h"
#include "sync-trace.h"

static void a_log_that_was_made_is_on_the_disk_with_its_name(void **state) {
        _cleanup_free_ char *why = NULL;
        char base[256], dir[300];

        store_dir_make(base, sizeof(base));
        snprintf(dir, sizeof(dir), "%s/log", base);
        sync_trace_clear();
        assert_int_equal(store_make(dir, 2, &why), 0);
        size_t len = strlen(sync_trace());
        assert_true(len >= 2);
        assert_string_equal(sync_trace() + len - 2, "dd"); // its files' names, and its own
        assert_true(store_exists(dir));
        store_dir_remove(base);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_log_that_was_made_is_on_the_disk_with_its_name)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
