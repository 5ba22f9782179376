// SPDX-License-Identifier: LGPL-2.1-or-later
#include <unistd.h>

#include "cgroup-path.h"
#include "macro.h"
#include "test.h"

static const char *path_of(const char *root, const char *slice, const char *unit) {
        static char path[CGROUP_PATH_MAX];

        assert_int_equal(cgroup_unit_path(root, slice, unit, path, sizeof(path)), 0);
        return path;
}

static const char *slice_of(const char *unit, bool user) {
        static char slice[300];

        assert_int_equal(cgroup_default_slice(unit, user, slice, sizeof(slice)), 0);
        return slice;
}

static const char *escaped(const char *unit) {
        static char name[300];

        assert_int_equal(cgroup_escape(unit, name, sizeof(name)), 0);
        assert_string_equal(cgroup_unescape(name), unit);
        return name;
}

static void test_slices_nest_by_their_names(void **state) {
        assert_string_equal(path_of("/sys/fs/cgroup", "system.slice", "web.service"),
                            "/sys/fs/cgroup/system.slice/web.service");
        assert_string_equal(path_of("/sys/fs/cgroup", "argosy-01.slice", "web@1.service"),
                            "/sys/fs/cgroup/argosy.slice/argosy-01.slice/web@1.service");
        assert_string_equal(path_of("/r", "a-b-c.slice", "x.socket"),
                            "/r/a.slice/a-b.slice/a-b-c.slice/x.socket");
        assert_string_equal(path_of("/r", "-.slice", "x.service"), "/r/x.service");
        assert_string_equal(path_of("/", "-.slice", "x.service"), "/x.service");
        assert_string_equal(path_of("", "a.slice", "x.service"), "/a.slice/x.service");
        assert_string_equal(path_of("/r", "ignored", "a-b.slice"), "/r/a.slice/a-b.slice");
}

static void test_names_of_the_kernel_are_escaped(void **state) {
        assert_string_equal(escaped("web.service"), "web.service");
        assert_string_equal(escaped("memory.service"), "_memory.service");
        assert_string_equal(escaped("cpu.socket"), "_cpu.socket");
        assert_string_equal(escaped("io.mount"), "_io.mount");
        assert_string_equal(escaped("iota.service"), "iota.service");
        assert_string_equal(escaped("cgroup.service"), "_cgroup.service");
        assert_string_equal(escaped("cgroups.service"), "cgroups.service");
        assert_string_equal(escaped("_web.service"), "__web.service");
        assert_string_equal(escaped("tasks.service"), "tasks.service");
        assert_string_equal(path_of("/r", "pids.slice", "memory.service"), "/r/_pids.slice/_memory.service");
}

static void test_a_unit_without_a_slice(void **state) {
        assert_string_equal(slice_of("web.service", false), "system.slice");
        assert_string_equal(slice_of("web@7.service", false), "system-web.slice");
        assert_string_equal(slice_of("my-web@a-b.service", false), "system-my\\x2dweb.slice");
        assert_string_equal(slice_of("a_b:c.d@7.service", false), "system-a_b:c.d.slice");
        assert_string_equal(slice_of("web.service", true), "app.slice");
        assert_string_equal(slice_of("web@7.service", true), "app-web.slice");
        assert_string_equal(path_of("/r", slice_of("my-web@1.service", false), "my-web@1.service"),
                            "/r/system.slice/system-my\\x2dweb.slice/my-web@1.service");
}

static void test_only_some_types_have_one(void **state) {
        assert_true(cgroup_is_for("a.service") && cgroup_is_for("a.socket") && cgroup_is_for("a.mount") &&
                    cgroup_is_for("a.swap") && cgroup_is_for("a.slice") && cgroup_is_for("a.scope"));
        assert_false(cgroup_is_for("a.target") || cgroup_is_for("a.timer") || cgroup_is_for("a.path") ||
                     cgroup_is_for("a.device") || cgroup_is_for("a.automount") || cgroup_is_for("service"));
}

static void test_the_root_of_a_manager(void **state) {
        static const struct {
                const char *text, *root;
        } cases[] = {
                {"0::/init.scope\n", ""},
                {"0::/\n", ""},
                {"0::/init.scope", ""},
                {"2:name=systemd:/x/init.scope\n1:cpu:/\n0::/init.scope\n", ""},
                {"0::/user.slice/user-1000.slice/user@1000.service/init.scope\n",
                 "/user.slice/user-1000.slice/user@1000.service"},
                {"1:name=systemd:/a\n0::/machine.slice/c1/payload/init.scope\n2:cpu:/b\n",
                 "/machine.slice/c1/payload"},
                {"0::/bare\n", "/bare"},
        };
        char root[CGROUP_PATH_MAX];

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                assert_int_equal(cgroup_root_of_text(cases[i].text, root, sizeof(root)), 0);
                assert_string_equal(root, cases[i].root);
        }
        assert_int_equal(cgroup_root_of_text("", root, sizeof(root)), -ENOENT);
        assert_int_equal(cgroup_root_of_text("3:cpu:/a\n0:\n10::/b\n", root, sizeof(root)), -ENOENT);
        assert_int_equal(cgroup_root_of_text("0::/0123456789\n", root, 8), -ENAMETOOLONG);
}

static const char *resolved(const char *root, const char *control_group) {
        static char path[CGROUP_PATH_MAX];

        assert_int_equal(cgroup_resolve_path(root, control_group, path, sizeof(path)), 0);
        return path;
}

static void test_what_a_manager_tells(void **state) {
        const char *user = "/sys/fs/cgroup/user.slice/user-7.slice/user@7.service";
        char path[CGROUP_PATH_MAX];

        assert_string_equal(resolved("/sys/fs/cgroup", "/system.slice/a.service"),
                            "/sys/fs/cgroup/system.slice/a.service");
        assert_string_equal(resolved("/sys/fs/cgroup/unified", "/a.service"),
                            "/sys/fs/cgroup/unified/a.service");
        assert_string_equal(resolved(user, "/user.slice/user-7.slice/user@7.service/app.slice/a.service"),
                            "/sys/fs/cgroup/user.slice/user-7.slice/user@7.service/app.slice/a.service");
        assert_string_equal(resolved("/sys/fs/cgroup/c1/payload", "/system.slice/a.service"),
                            "/sys/fs/cgroup/c1/payload/system.slice/a.service");
        assert_string_equal(resolved("/tmp/tree", "/system.slice/a..b.service"),
                            "/tmp/tree/system.slice/a..b.service");
        assert_int_equal(cgroup_resolve_path("/r", "", path, sizeof(path)), -EINVAL);
        assert_int_equal(cgroup_resolve_path("/r", "a/b", path, sizeof(path)), -EINVAL);
        assert_int_equal(cgroup_resolve_path("/r", "/../a", path, sizeof(path)), -EINVAL);
        assert_int_equal(cgroup_resolve_path("/r", "/a/..", path, sizeof(path)), -EINVAL);
        assert_int_equal(cgroup_resolve_path("/r", "/abc", path, 5), -ENAMETOOLONG);
}

static void test_what_does_not_fit_or_is_no_slice(void **state) {
        static const char *const bad[] = {"web.service", ".slice",    "-a.slice", "a-.slice",
                                          "a--b.slice",  "a/b.slice", ""};
        char ret[32], deep[300];

        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                assert_int_equal(cgroup_unit_path("/r", bad[i], "x.service", ret, sizeof(ret)), -EINVAL);
        assert_int_equal(cgroup_slice_path("-.slice", ret, sizeof(ret)), 0);
        assert_string_equal(ret, "");
        for (size_t size = 1; size <= strlen("/r/a.slice/x.service"); size++)
                assert_int_equal(cgroup_unit_path("/r", "a.slice", "x.service", ret, size), -ENAMETOOLONG);
        assert_int_equal(
                cgroup_unit_path("/r", "a.slice", "x.service", ret, strlen("/r/a.slice/x.service") + 1), 0);
        assert_int_equal(cgroup_default_slice("web@1.service", false, ret, 10), -ENAMETOOLONG);
        // Each level repeats all before it: a short name can mean a path that no kernel takes.
        for (size_t i = 0; i < 240; i += 2)
                memcpy(deep + i, "a-", 3);
        strcpy(deep + 239, ".slice");
        {
                char path[CGROUP_PATH_MAX];

                assert_int_equal(cgroup_slice_path(deep, path, sizeof(path)), -ENAMETOOLONG);
        }
}

static void test_this_process_has_a_root_where_the_kernel_has_version_2(void **state) {
        char root[CGROUP_PATH_MAX];
        int r = cgroup_manager_root(getpid(), root, sizeof(root));

        if (r == -ENOENT)
                skip(); // only version 1 here
        assert_int_equal(r, 0);
        assert_int_equal(strncmp(root, "/sys/fs/cgroup", strlen("/sys/fs/cgroup")), 0);
        assert_int_equal(cgroup_manager_root(-1, root, sizeof(root)), -ENOENT);
}

RUN_TESTS(
        cmocka_unit_test(test_slices_nest_by_their_names),
        cmocka_unit_test(test_names_of_the_kernel_are_escaped),
        cmocka_unit_test(test_a_unit_without_a_slice),
        cmocka_unit_test(test_only_some_types_have_one),
        cmocka_unit_test(test_the_root_of_a_manager),
        cmocka_unit_test(test_what_a_manager_tells),
        cmocka_unit_test(test_what_does_not_fit_or_is_no_slice),
        cmocka_unit_test(test_this_process_has_a_root_where_the_kernel_has_version_2)
)
