// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buf.h"
#include "fileio.h"
#include "quadlet.h"
#include "str.h"
#include "tmpdir.h"
#include "unit-dir.h"

#define VOLUME "data-volume.service"
#define NETWORK "front-network.service"

static UnitDir *d;

static void open_dir(void) {
        static const char *const foreign[] = {"generator", NULL};

        assert_int_equal(unit_dir_new("units", foreign, &d), 0);
}

FIXTURE(set_up) {
        assert_int_equal(tmpdir_enter(state), 0);
        assert_int_equal(mkdir("generator", 0755), 0);
        open_dir();
}

static int tear_down(void **state) {
        d = unit_dir_free(d);
        return tmpdir_drop(state);
}

// What a container's content came to: its unit, and units of those names of that source.
static void make(Buf *ret, const char *content, const char *source, const char *const *beside) {
        Hash of = hash_of(content, strlen(content)), of_beside = hash_of(source, strlen(source));

        assert_int_equal(quadlet_made_compose(&of, "5.4", content, strlen(content), ret), 0);
        for (; beside && *beside; beside++) {
                _cleanup_buf_ Buf unit = {};

                assert_int_equal(
                        quadlet_made_compose(&of_beside, "5.4", "[Service]\n", strlen("[Service]\n"), &unit),
                        0);
                assert_int_equal(quadlet_made_add(ret, *beside, unit.data, unit.len), 0);
        }
}

static bool replaces; // networks that are there
static bool again;    // UnitDirItem.beside_again

static int write_one(const char *name, const char *content, bool from_template, const char *source,
                     const char *const *beside) {
        _cleanup_buf_ Buf made = {};
        UnitDirItem item = {
                .name = name, .from_template = from_template, .spec = hash_of(content, strlen(content))};

        make(&made, content, source, beside);
        item.content = made.data;
        item.len = quadlet_made_len(made.data, made.len);
        item.made_len = made.len;
        item.replaces = replaces;
        item.beside_again = again;
        unit_dir_apply(d, &item, 1);
        buf_done(&item.touched);
        return item.error;
}

static int remove_one(const char *name) {
        UnitDirItem item = {.name = name, .remove = true};

        unit_dir_apply(d, &item, 1);
        buf_done(&item.touched);
        return item.error;
}

static bool exists(const char *path) {
        struct stat st;

        return lstat(path, &st) == 0;
}

static void assert_gone(const char *name) {
        _cleanup_buf_ Buf gone = {};

        unit_dir_take_gone(d, &gone);
        assert_int_equal(gone.len, name ? strlen(name) + 1 : 0);
        if (name)
                assert_string_equal((const char *) gone.data, name);
}

static const char *const volume[] = {VOLUME, NULL}, *const network[] = {NETWORK, NULL},
                         *const both[] = {VOLUME, NETWORK, NULL};

static void what_stands_beside_goes_with_the_last_one(void **state) {
        assert_int_equal(write_one("web.service", "1", false, "x", both), 0);
        assert_int_equal(write_one("app.service", "2", false, "x", volume), 0);
        assert_true(exists("units/" VOLUME) && exists("units/" NETWORK));
        assert_int_equal(remove_one("web.service"), 0);
        assert_true(exists("units/" VOLUME));
        assert_false(exists("units/" NETWORK) || exists("units/web.service.beside"));
        assert_gone(NETWORK);
        assert_int_equal(write_one("app.service", "3", false, "x", NULL), 0);
        assert_false(exists("units/" VOLUME) || exists("units/app.service.beside"));
        assert_gone(VOLUME);
        assert_gone(NULL);
}

static void the_next_run_knows_who_needs_what(void **state) {
        assert_int_equal(write_one("web.service", "1", false, "x", volume), 0);
        assert_int_equal(write_one("app.service", "1", false, "x", volume), 0);
        unit_dir_free(d);
        open_dir();
        assert_int_equal(unit_dir_adopt(d, "web.service", false, &(Hash){}, NULL) < 0, false);
        assert_int_equal(unit_dir_adopt(d, "app.service", false, &(Hash){}, NULL) < 0, false);
        assert_int_equal(remove_one("web.service"), 0);
        assert_true(exists("units/" VOLUME));
        assert_int_equal(remove_one("app.service"), 0);
        assert_false(exists("units/" VOLUME));
        assert_gone(VOLUME);
}

static void another_content_of_a_name_is_refused(void **state) {
        assert_int_equal(write_one("web.service", "1", false, "x", volume), 0);
        assert_int_equal(write_one("app.service", "2", false, "y", volume), -ENOTUNIQ);
        assert_false(exists("units/app.service"));
        assert_int_equal(write_one(NETWORK, "3", false, "x", NULL), 0);
        assert_int_equal(write_one("app.service", "2", false, "x", both), -ENOTUNIQ); // a unit has that name
        assert_int_equal(remove_one("app.service"), 0);
        assert_int_equal(remove_one("web.service"), 0);
        assert_int_equal(write_one("app.service", "2", false, "y", volume), 0);
        assert_int_equal(write_one(VOLUME, "3", false, "x", NULL), -EEXIST);
}

static ino_t inode_of(const char *path) {
        struct stat st = {};

        assert_int_equal(lstat(path, &st), 0);
        return st.st_ino;
}

static void a_network_is_made_anew_by_who_has_removed_it(void **state) {
        assert_int_equal(write_one("web.service", "1", false, "x", both), 0);
        assert_int_equal(write_one("app.service", "2", false, "x", both), 0);
        assert_int_equal(write_one("web.service", "3", false, "y", network), -EUCLEAN);
        assert_true(inode_of("units/" NETWORK) == inode_of("units/web.service.beside/" NETWORK));
        replaces = true;
        assert_int_equal(write_one("app.service", "4", false, "y", volume), -ENOTUNIQ); // its data stays
        assert_int_equal(write_one("web.service", "3", false, "y", network), 0);
        replaces = false;
        assert_true(inode_of("units/" NETWORK) == inode_of("units/web.service.beside/" NETWORK));
        assert_true(inode_of("units/" NETWORK) != inode_of("units/app.service.beside/" NETWORK));
        assert_int_equal(write_one("app.service", "5", false, "y", network), 0);
        assert_true(inode_of("units/" NETWORK) == inode_of("units/app.service.beside/" NETWORK));
        assert_int_equal(remove_one("web.service"), 0);
        assert_true(exists("units/" NETWORK));
        assert_int_equal(remove_one("app.service"), 0);
        assert_false(exists("units/" NETWORK));
}

// Its content is what it was, and the file beside it is another unit's.
static void what_another_unit_has_replaced_is_put_there_again(void **state) {
        static const char *const units[] = {"web.service", "work@1.service"},
                                *const folders[] = {"web.service", "work@.service"};

        for (size_t i = 0; i < ELEMENTSOF(units); i++) {
                _cleanup_free_ char *link = str_printf("units/%s.beside/" NETWORK, folders[i]);
                bool instance = i == 1;

                assert_int_equal(write_one(units[i], "1", instance, "x", network), 0);
                replaces = true;
                assert_int_equal(write_one("app.service", "2", false, "y", network), 0);
                replaces = false;
                assert_true(unit_dir_has_beside(d, units[i], NETWORK));
                assert_false(unit_dir_has_beside(d, units[i], VOLUME));
                assert_true(inode_of("units/" NETWORK) != inode_of(link));
                assert_int_equal(write_one(units[i], "1", instance, "x", network), 0);
                again = true;
                assert_int_equal(write_one(units[i], "1", instance, "x", network), -EUCLEAN);
                replaces = true;
                assert_int_equal(write_one(units[i], "1", instance, "x", network), 0);
                again = replaces = false;
                assert_true(inode_of("units/" NETWORK) == inode_of(link));
                assert_int_equal(remove_one("app.service"), 0);
                assert_int_equal(remove_one(units[i]), 0);
                assert_false(exists("units/" NETWORK));
        }
}

static void what_the_host_has_by_itself_is_used(void **state) {
        assert_int_equal(file_replace(AT_FDCWD, "generator/" VOLUME, "[Service]\n", 10, 0644, 0), 0);
        assert_int_equal(file_replace(AT_FDCWD, "units/" NETWORK, "[Service]\n", 10, 0644, 0), 0);
        assert_int_equal(write_one("web.service", "1", false, "x", volume), 0);
        assert_false(exists("units/" VOLUME));
        assert_int_equal(remove_one("web.service"), 0);
        assert_true(exists("generator/" VOLUME) && exists("units/" NETWORK));
        assert_gone(NULL);
}

static void an_instance_that_keeps_the_old_file_keeps_what_that_needs(void **state) {
        assert_int_equal(write_one("work@1.service", "1", true, "x", volume), 0);
        assert_int_equal(write_one("work@2.service", "1", true, "x", volume), 0);
        assert_int_equal(write_one("work@2.service", "2", true, "x", NULL), 0);
        assert_true(exists("units/" VOLUME) && exists("units/work@1.service.beside/" VOLUME));
        assert_false(exists("units/work@.service.beside"));
        assert_int_equal(write_one("work@1.service", "2", true, "x", NULL), 0);
        assert_false(exists("units/" VOLUME));
        assert_gone(VOLUME);
        assert_int_equal(write_one("work@1.service", "3", true, "x", volume), 0);
        assert_int_equal(remove_one("work@1.service"), 0);
        assert_int_equal(remove_one("work@2.service"), 0);
        assert_false(exists("units/" VOLUME) || exists("units/work@.service.beside") ||
                     exists("units/work@2.service.beside"));
}

static void a_container_has_its_secrets_by_its_own_mount(void **state) {
        static const char unit[] = "[X-Argosy]\nSecret=token\n[X-Container]\nImage=x\n[Service]\n";
        _cleanup_buf_ Buf text = {};

        assert_int_equal(write_one("web.service", unit, false, "x", volume), 0);
        assert_int_equal(file_read(AT_FDCWD, "units/web.service.d/50-argosy.conf", 4096, &text), 0);
        assert_null(memmem(text.data, text.len, "LoadCredential", strlen("LoadCredential")));
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(what_another_unit_has_replaced_is_put_there_again, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_stands_beside_goes_with_the_last_one, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_next_run_knows_who_needs_what, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_content_of_a_name_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_network_is_made_anew_by_who_has_removed_it, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_the_host_has_by_itself_is_used, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_container_has_its_secrets_by_its_own_mount, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_instance_that_keeps_the_old_file_keeps_what_that_needs,
                                        set_up, tear_down)
)
