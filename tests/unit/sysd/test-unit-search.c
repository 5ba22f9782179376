// SPDX-License-Identifier: LGPL-2.1-or-later
#include "loop.h"
#include "printed.h"
#include "tmpdir.h"

#include "fileio.h"
#include "str.h"
#include "unit-search.h"

enum { N_DIRS = 3, OWN = 1 };

static struct World {
        char *root, *dirs[N_DIRS + 1];
        UnitSearch *search;
        char touched[64];
        bool present, lost, closed;
        unsigned n;
} w;

static void on_touched(const char *name, bool present, void *userdata) {
        snprintf(w.touched, sizeof(w.touched), "%s", name);
        w.present = present;
        w.n++;
}

static void on_lost(void *userdata) {
        w.lost = true;
}

static void on_closed(void *userdata) {
        w.closed = true;
}

static const UnitSearchOps ops = {.touched = on_touched, .lost = on_lost, .closed = on_closed};

FIXTURE(up) {
        assert_int_equal(loop_setup(NULL), 0);
        w = (struct World){};
        assert_int_equal(tmpdir_make((void **) &w.root), 0);
        for (int i = 0; i < N_DIRS; i++) {
                w.dirs[i] = str_printf("%s/%i", w.root, i);
                if (i < 2)
                        assert_int_equal(mkdir(w.dirs[i], 0755), 0);
        }
}

static int down(void **state) {
        if (w.search) {
                unit_search_close(w.search);
                loop_until(w.closed);
        }
        for (int i = 0; i < N_DIRS; i++)
                free(w.dirs[i]);
        assert_int_equal(tmpdir_drop((void **) &w.root), 0);
        return loop_teardown(NULL);
}

static void watch(void) {
        assert_int_equal(unit_search_new(&test_loop, (const char *const *) w.dirs, w.dirs[OWN], &ops, NULL,
                                         &w.search),
                         0);
}

static char *path_of(int dir, const char *name) {
        static char path[4096];

        snprintf(path, sizeof(path), "%s/%s", w.dirs[dir], name);
        return path;
}

static void put(int dir, const char *name, const char *content) {
        assert_int_equal(file_replace(AT_FDCWD, path_of(dir, name), content, strlen(content), 0644, 0), 0);
}

static void mask(int dir, const char *name) {
        assert_int_equal(symlink("/dev/null", path_of(dir, name)), 0);
}

// Few names and many are looked for in different ways.
static Argosy__LoadState search(const char *name) {
        Argosy__LoadState many[100], one;
        char *names[100];

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                names[i] = (char *) name;
        assert_int_equal(unit_search_run((const char *const *) w.dirs, names, 1, &one), 0);
        assert_int_equal(unit_search_run((const char *const *) w.dirs, names, ELEMENTSOF(names), many), 0);
        for (size_t i = 0; i < ELEMENTSOF(many); i++)
                assert_int_equal(many[i], one);
        return one;
}

#define LOADED ARGOSY__LOAD_STATE__LOAD_LOADED
#define MASKED ARGOSY__LOAD_STATE__LOAD_MASKED
#define NOT_FOUND ARGOSY__LOAD_STATE__LOAD_NOT_FOUND

static void the_first_directory_that_has_the_name_counts(void **state) {
        static const struct {
                UnitPresence name[2], template[2];
                bool instance;
                Argosy__LoadState load;
        } rows[] = {
                {{UNIT_ABSENT, UNIT_PRESENT}, {}, false, LOADED},
                {{UNIT_EMPTY, UNIT_PRESENT}, {}, false, MASKED},
                {{UNIT_PRESENT, UNIT_EMPTY}, {}, false, LOADED},
                {{}, {}, false, NOT_FOUND},
                {{}, {UNIT_ABSENT, UNIT_PRESENT}, true, LOADED},
                {{}, {UNIT_EMPTY, UNIT_PRESENT}, true, MASKED},
                {{UNIT_ABSENT, UNIT_PRESENT}, {UNIT_EMPTY}, true, LOADED}, // its own file, wherever
                {{UNIT_ABSENT, UNIT_EMPTY}, {UNIT_PRESENT}, true, MASKED},
                {{}, {}, true, NOT_FOUND},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                assert_int_equal(
                        unit_search_judge(rows[i].name, rows[i].instance ? rows[i].template : NULL, 2),
                        rows[i].load);
}

static void what_is_on_the_disk_is_read_as_systemd_does(void **state) {
        put(OWN, "web.service", "[Service]");
        put(OWN, "w@.service", "[Service]");
        assert_int_equal(search("web.service"), LOADED);
        assert_int_equal(search("w@1.service"), LOADED);
        assert_int_equal(search("other.service"), NOT_FOUND);
        mask(0, "web.service");
        mask(0, "w@1.service");
        assert_int_equal(search("web.service"), MASKED);
        assert_int_equal(search("w@1.service"), MASKED);
        assert_int_equal(search("w@2.service"), LOADED);
        assert_int_equal(unlink(path_of(0, "web.service")), 0);
        put(0, "web.service", "");
        assert_int_equal(search("web.service"), MASKED);
        assert_int_equal(unlink(path_of(0, "web.service")), 0);
        assert_int_equal(symlink("nowhere", path_of(0, "web.service")), 0);
        assert_int_equal(search("web.service"), LOADED);
        assert_int_equal(unlink(path_of(OWN, "w@.service")), 0);
        assert_int_equal(search("w@2.service"), NOT_FOUND);
}

// Somebody else's directory may hold any number of files; few of them are read.
static void a_directory_that_is_too_full_to_list_is_asked(void **state) {
        enum { MORE_THAN_LISTED = 1000 }; // for the names that look() asks for

        for (int i = 0; i < MORE_THAN_LISTED; i++) {
                assert_int_equal(symlink("x", path_of(0, printed("%i", i))), 0);
        }
        put(OWN, "web.service", "[Service]");
        mask(0, "web.service");
        assert_int_equal(search("web.service"), MASKED);
        assert_int_equal(search("other.service"), NOT_FOUND);
}

static void whatever_is_touched_is_named(void **state) {
        watch();
        put(OWN, "web.service", "[Service]"); // as we do ourselves
        loop_until(w.n > 0 && strcmp(w.touched, "web.service") == 0);
        assert_true(w.present);
        mask(0, "web.service");
        loop_until(!w.present);
        assert_string_equal(w.touched, "web.service");
        w.present = true;
        assert_int_equal(unlink(path_of(OWN, "web.service")), 0);
        loop_until(!w.present);
        // What is no unit's name is nobody's business, nor is a directory that is not there before it is.
        w.n = 0;
        put(0, "README", "x");
        assert_int_equal(mkdir(w.dirs[2], 0755), 0);
        unit_search_again(w.search);
        mask(2, "late.service");
        loop_until(strcmp(w.touched, "late.service") == 0);
        assert_int_equal(w.n, 1);
        assert_false(w.lost);
}

static void a_directory_that_goes_is_lost(void **state) {
        watch();
        assert_int_equal(rmdir(w.dirs[0]), 0);
        loop_until(w.lost);
        assert_int_equal(mkdir(w.dirs[0], 0755), 0);
        unit_search_again(w.search);
        mask(0, "web.service");
        loop_until(w.n > 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, up, down)

RUN_TESTS(
        cmocka_unit_test(the_first_directory_that_has_the_name_counts),
        TEST(what_is_on_the_disk_is_read_as_systemd_does),
        TEST(a_directory_that_is_too_full_to_list_is_asked),
        TEST(whatever_is_touched_is_named),
        TEST(a_directory_that_goes_is_lost)
)
