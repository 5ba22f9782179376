// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

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
        dev_t device;

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                char *found = mount_point_find(table, rows[i][0], &device);

                assert_non_null(found);
                assert_string_equal(found, rows[i][1]);
                free(found);
        }
}

static void where_nothing_is_mounted_there_is_no_answer(void **state) {
        dev_t device;

        assert_null(mount_point_find("", "/srv", &device));
        assert_null(mount_point_find("\n\n30 22 0:26 / /srv\n30 22", "/etc", &device));
        assert_null(mount_point_find("30 22 0:26 / srv rw", "/srv", &device));
        assert_int_equal(device, 0);
}

// Of two mounts at one place it is that of the upper one.
static void the_device_is_that_of_what_is_seen_there(void **state) {
        dev_t device;

        free(mount_point_find(table, "/srv/web", &device));
        assert_int_equal(device, makedev(0, 26));
        free(mount_point_find(table, "/etc/web", &device));
        assert_int_equal(device, makedev(254, 1));
        free(mount_point_find("30 22 0:26 / /srv rw\n34 30 0:31 / /srv rw\n", "/srv/web", &device));
        assert_int_equal(device, makedev(0, 31));
        free(mount_point_find("30 22 x:26 / /srv rw\n", "/srv/web", &device));
        assert_int_equal(device, 0);
}

static void the_table_of_this_process_is_read(void **state) {
        _cleanup_buf_ Buf text = {};
        dev_t device;
        struct stat st;

        assert_int_equal(mount_table_read(&text), 0);
        assert_int_equal(stat("/proc", &st), 0);
        _cleanup_free_ char *found =
                mount_point_find((const char *) text.data, "/proc/self/status", &device);
        assert_non_null(found);
        assert_string_equal(found, "/proc");
        assert_int_equal(device, st.st_dev);
}

RUN_TESTS(
        cmocka_unit_test(a_path_lies_on_the_innermost_mount_above_it),
        cmocka_unit_test(where_nothing_is_mounted_there_is_no_answer),
        cmocka_unit_test(the_device_is_that_of_what_is_seen_there),
        cmocka_unit_test(the_table_of_this_process_is_read)
)
