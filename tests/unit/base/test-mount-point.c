// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "macro.h"
#include "mount-point.h"

static const char table[] = "22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n"
                            "30 22 0:26 / /srv rw - nfs4 server:/ rw\n"
                            "no mount at all\n"
                            "31 30 0:27 / /srv/deep/er rw - tmpfs tmpfs rw\n"
                            "32 22 0:28 / /mnt/with\\040a\\134blank rw - fuse f rw\n"
                            "33 22 0:29 / /odd\\9 rw - tmpfs tmpfs rw";

static void a_path_lies_on_the_innermost_mount_above_it(void **state) {
        static const char *const rows[][2] = {
                {"/", "/"},
                {"/etc/web.conf", "/"},
                {"/srv", "/srv"},
                {"/srv/web", "/srv"},
                {"/srvx/web", "/"},
                {"/srv/deep", "/srv"},
                {"/srv/deep/er/web", "/srv/deep/er"},
                {"/mnt/with a\\blank/web", "/mnt/with a\\blank"},
                {"/odd\\9/web", "/odd\\9"}, // no escape
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                char *found = mount_point_find(table, rows[i][0]);

                assert_non_null(found);
                assert_string_equal(found, rows[i][1]);
                free(found);
        }
}

static void where_nothing_is_mounted_there_is_no_answer(void **state) {
        assert_null(mount_point_find("", "/srv"));
        assert_null(mount_point_find("\n\n30 22 0:26 / /srv\n30 22", "/etc"));
        assert_null(mount_point_find("30 22 0:26 / srv rw", "/srv"));
}

static void the_table_of_this_process_is_read(void **state) {
        char *found = mount_point_of("/proc/self/status");

        assert_non_null(found);
        assert_string_equal(found, "/proc");
        free(found);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_path_lies_on_the_innermost_mount_above_it),
                cmocka_unit_test(where_nothing_is_mounted_there_is_no_answer),
                cmocka_unit_test(the_table_of_this_process_is_read),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
