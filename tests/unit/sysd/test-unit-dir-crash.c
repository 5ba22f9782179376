// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A batch that ends at any of its system calls, as in a crash. What is on the disk then must not let any
// unit start with a content that it never had and was not about to get, nor without its settings; and the
// next run repairs the rest from the ledger's intentions.

#include "printed.h"
#include "tmpdir.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "buf.h"
#include "macro.h"
#include "str.h"
#include "unit-dir.h"

// ---- the calls that change the directory, in the process that is to crash

static int calls_left = -1;

static void count_call(void) {
        if (calls_left == 0)
                _exit(7);
        if (calls_left > 0)
                calls_left--;
}

int __real_renameat(int olddir, const char *old, int newdir, const char *new);
int __wrap_renameat(int olddir, const char *old, int newdir, const char *new);
int __wrap_renameat(int olddir, const char *old, int newdir, const char *new) {
        count_call();
        return __real_renameat(olddir, old, newdir, new);
}

int __real_linkat(int olddir, const char *old, int newdir, const char *new, int flags);
int __wrap_linkat(int olddir, const char *old, int newdir, const char *new, int flags);
int __wrap_linkat(int olddir, const char *old, int newdir, const char *new, int flags) {
        count_call();
        return __real_linkat(olddir, old, newdir, new, flags);
}

int __real_unlinkat(int dir, const char *path, int flags);
int __wrap_unlinkat(int dir, const char *path, int flags);
int __wrap_unlinkat(int dir, const char *path, int flags) {
        count_call();
        return __real_unlinkat(dir, path, flags);
}

int __real_mkdirat(int dir, const char *path, mode_t mode);
int __wrap_mkdirat(int dir, const char *path, mode_t mode);
int __wrap_mkdirat(int dir, const char *path, mode_t mode) {
        count_call();
        return __real_mkdirat(dir, path, mode);
}

int __real_symlinkat(const char *text, int dir, const char *path);
int __wrap_symlinkat(const char *text, int dir, const char *path);
int __wrap_symlinkat(const char *text, int dir, const char *path) {
        count_call();
        return __real_symlinkat(text, dir, path);
}

ssize_t __real_write(int fd, const void *data, size_t len);
ssize_t __wrap_write(int fd, const void *data, size_t len);
ssize_t __wrap_write(int fd, const void *data, size_t len) {
        count_call();
        return __real_write(fd, data, len);
}

// ---- the story

static const char *cwd; // of the second one

typedef struct Unit {
        const char *name;
        bool from_template;
        const char *before, *after; // content, NULL: not there
        const char *slice;
} Unit;

static const Unit units[] = {
        {"web@5.service", true, "odd", "new", NULL}, // first: the last of a batch names the template
        {"web@1.service", true, "old", "new", "argosy-01.slice"},
        {"web@2.service", true, "old", "old", NULL}, // not in the batch: must keep what it has
        {"web@3.service", true, "old", "old", "argosy-01.slice"},
        {"web@4.service", true, NULL, "new", "argosy-02.slice"},
        {"plain.service", false, "one", "two", "argosy-01.slice"},
        {"fresh.service", false, NULL, "three", NULL},
        {"gone.service", false, "four", NULL, "argosy-01.slice"},
        {"old@1.service", true, "five", NULL, NULL},
        {"home@1.service", true, "six", "six", NULL},
        {"linked.service", false, "[Install]\nWantedBy=a.target\nAlias=x.service\n",
         "[Install]\nWantedBy=b.target\nRequiredBy=c.target\n", NULL},
        {"unlinked.service", false, "[Install]\nWantedBy=d.target\nAlias=y.service\n", NULL, NULL},
};

static UnitDirItem item_of(const Unit *u, const char *content) {
        return (UnitDirItem){
                .name = u->name,
                .remove = !content,
                .from_template = u->from_template,
                .content = content,
                .len = content ? strlen(content) : 0,
                .spec = content ? hash_of(content, strlen(content)) : (Hash){},
                .slice = u->slice,
        };
}

static void apply(UnitDir *d, bool after) {
        UnitDirItem items[ELEMENTSOF(units)];
        size_t n = 0;

        for (size_t i = 0; i < ELEMENTSOF(units); i++) {
                const char *content = after ? units[i].after : units[i].before;

                if (content || units[i].before)
                        items[n++] = item_of(&units[i], content);
        }
        unit_dir_apply(d, items, n);
        for (size_t i = 0; i < n; i++) {
                buf_done(&items[i].touched);
                assert_int_equal(items[i].error, 0);
        }
}

static UnitDir *open_dir(void) {
        static const char *const none[] = {NULL};
        UnitDir *d;

        assert_int_equal(unit_dir_new("units", none, &d), 0);
        return d;
}

static char *read_file(const char *path) {
        _cleanup_buf_ Buf b = {};

        return file_read(AT_FDCWD, path, 4096, &b) < 0 ? NULL : buf_take_string(&b);
}

// What systemd would start, or NULL.
static char *effective(const Unit *u) {
        _cleanup_free_ char *own = str_printf("units/%s", u->name), *template = NULL;
        const char *at = strchr(u->name, '@');
        char *content = read_file(own);

        if (content || !at)
                return content;
        template = str_printf("units/%.*s@.service", (int) (at - u->name), u->name);
        return read_file(template);
}

static bool has_settings(const Unit *u) {
        _cleanup_free_ char *own = str_printf("units/%s.d/50-argosy.conf", u->name), *text = read_file(own),
                            *template = NULL;
        const char *at = strchr(u->name, '@');

        if (u->slice)
                return text && strstr(text, u->slice) && strstr(text, "After=argosy.target");
        if (text || !at)
                return text && strstr(text, "After=argosy.target");
        template = str_printf("units/%.*s@.service.d/50-argosy.conf", (int) (at - u->name), u->name);
        free(text);
        text = read_file(template);
        return text && strstr(text, "After=argosy.target");
}

// Files of an instance that is not ours yet, or no longer, are its template's: whatever they are, nobody
// starts it.
static bool is_ours_throughout(const Unit *u) {
        return u->before && u->after;
}

static void check_nothing_wrong_can_start(int n) {
        for (size_t i = 0; i < ELEMENTSOF(units); i++) {
                const Unit *u = &units[i];
                _cleanup_free_ char *content = effective(u);

                if (is_ours_throughout(u) && !content)
                        fail_msg("call %d: %s has no file", n, u->name);
                if (is_ours_throughout(u) && !streq(content, u->before) && !streq(content, u->after))
                        fail_msg("call %d: %s would start '%s'", n, u->name, content);
                if (content && !strchr(u->name, '@') && !streq(content, u->before ?: u->after) &&
                    !streq(content, u->after ?: u->before))
                        fail_msg("call %d: %s would start '%s'", n, u->name, content);
                if (content && (is_ours_throughout(u) || !strchr(u->name, '@')) && !has_settings(u))
                        fail_msg("call %d: %s would start without its settings", n, u->name);
        }
}

// The ledger says what was intended: the new content, or still ours if it was to be removed.
static void repair(void) {
        _cleanup_(unit_dir_freep) UnitDir *d = open_dir();

        for (size_t i = 0; i < ELEMENTSOF(units); i++) {
                const Unit *u = &units[i];
                const char *intended = u->after ?: u->before;
                Hash spec = hash_of(intended, strlen(intended));

                assert_true(unit_dir_adopt(d, u->name, u->from_template, &spec, u->slice) >= 0);
        }
        apply(d, true);
}

static const char *const links_of_before[] = {"a.target.wants/linked.service", "x.service",
                                              "d.target.wants/unlinked.service", "y.service"};

static bool is_link(const char *name) {
        _cleanup_free_ char *path = str_printf("units/%s", name);
        struct stat st;

        return lstat(path, &st) == 0;
}

static void check_all_is_as_wanted(int n) {
        for (size_t i = 0; i < ELEMENTSOF(units); i++) {
                const Unit *u = &units[i];
                _cleanup_free_ char *content = effective(u);

                if (!u->after && !streq(u->name, "old@1.service") && content)
                        fail_msg("call %d: %s is still there", n, u->name);
                if (u->after && (!content || !streq(content, u->after) || !has_settings(u)))
                        fail_msg("call %d: %s was not repaired", n, u->name);
        }
        if (!is_link("b.target.wants/linked.service") || !is_link("c.target.requires/linked.service"))
                fail_msg("call %d: links are missing", n);
        for (size_t i = 0; i < ELEMENTSOF(links_of_before); i++)
                if (is_link(links_of_before[i]))
                        fail_msg("call %d: %s is still there", n, links_of_before[i]);
        assert_int_equal(access("units/a.target.wants", F_OK) | access("units/d.target.wants", F_OK), -1);
        if (access("units/old@.service", F_OK) == 0)
                fail_msg("call %d: old@.service is still there", n);
        assert_int_equal(access("units/old@.service.d", F_OK), -1);
}

// Runs the second batch and crashes at its n-th call. False: it has come to its end.
static bool crash_at(int n) {
        UnitDir *d = open_dir();
        int status;

        assert_int_equal(dir_empty(AT_FDCWD, "units"), 0);
        apply(d, false);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                calls_left = n;
                apply(d, true);
                _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        unit_dir_free(d);
        return WEXITSTATUS(status) == 7;
}

static void a_crash_at_any_call_lets_nothing_wrong_start(void **state) {
        int n = 0;

        assert_int_equal(chdir(*state), 0);
        while (crash_at(n)) {
                check_nothing_wrong_can_start(n);
                repair();
                check_all_is_as_wanted(n);
                n++;
        }
        assert_true(n > 20);
        check_all_is_as_wanted(n);
}

// ---- the same with what another program has left behind

static const Unit left[] = {
        {"web@1.service", true, "theirs", "new", NULL},
        {"plain.service", false, "theirs", "[Install]\nWantedBy=a.target\nAlias=www.service\n",
         "argosy-01.slice"},
};

static const char *const left_links[] = {"a.target.wants/web@1.service", "a.target.wants/plain.service",
                                         "www.service"};

static void put_link(const char *name, const char *of) {
        _cleanup_free_ char *path = str_printf("units/%s", name),
                            *target = str_printf("%s/theirs/%s", cwd, of);

        assert_int_equal(symlink(target, path), 0);
}

static void leave_behind(void) {
        assert_int_equal(dir_empty(AT_FDCWD, "units"), 0);
        assert_true(mkdir("theirs", 0755) == 0 || errno == EEXIST);
        assert_int_equal(mkdir("units/a.target.wants", 0755), 0);
        for (size_t i = 0; i < ELEMENTSOF(left); i++) {
                assert_int_equal(
                        file_replace(AT_FDCWD, printed("theirs/%s", left[i].name), "theirs", 6, 0644, 0), 0);
                put_link(left[i].name, left[i].name);
        }
        put_link("a.target.wants/web@1.service", "web@1.service");
        put_link("a.target.wants/plain.service", "plain.service");
        put_link("www.service", "plain.service");
}

static void take(UnitDir *d) {
        UnitDirItem items[ELEMENTSOF(left)];

        for (size_t i = 0; i < ELEMENTSOF(left); i++)
                items[i] = item_of(&left[i], left[i].after);
        unit_dir_apply(d, items, ELEMENTSOF(left));
        for (size_t i = 0; i < ELEMENTSOF(left); i++) {
                buf_done(&items[i].touched);
                assert_int_equal(items[i].error, 0);
        }
}

static UnitDir *open_to_take(void) {
        _cleanup_free_ char *from = str_printf("%s/theirs", cwd);
        UnitDir *d = open_dir();

        assert_int_equal(unit_dir_take_from(d, from), 0);
        return d;
}

static bool crash_while_taking(int n) {
        int status;
        UnitDir *d = open_to_take();

        leave_behind();
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                calls_left = n;
                take(d);
                _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        unit_dir_free(d);
        return WEXITSTATUS(status) == 7;
}

// Each is theirs, which the link says, or ours, with all that belongs to it: nothing is in between.
static void check_whose_they_are(int n) {
        _cleanup_(unit_dir_freep) UnitDir *d = open_to_take();

        for (size_t i = 0; i < ELEMENTSOF(left); i++) {
                const Unit *u = &left[i];
                _cleanup_free_ char *content = effective(u);
                Hash spec = hash_of(u->after, strlen(u->after));
                bool theirs = unit_dir_is_left_behind(d, u->name);

                assert_true(unit_dir_adopt(d, u->name, u->from_template, &spec, u->slice) >= 0);
                if (!content || !streq(content, theirs ? u->before : u->after))
                        fail_msg("call %d: %s would start '%s'", n, u->name, content ?: "nothing");
                if (unit_dir_has_content(d, u->name, &spec) == theirs)
                        fail_msg("call %d: %s is thought to be somebody else's", n, u->name);
                if (!theirs && !has_settings(u))
                        fail_msg("call %d: %s would start without its settings", n, u->name);
        }
        take(d);
}

static void check_all_are_taken(int n) {
        static const char *const text[] = {NULL, "../plain.service", "plain.service"};

        for (size_t i = 0; i < ELEMENTSOF(left); i++) {
                _cleanup_free_ char *content = effective(&left[i]);

                if (!content || !streq(content, left[i].after) || !has_settings(&left[i]))
                        fail_msg("call %d: %s was not repaired", n, left[i].name);
        }
        for (size_t i = 0; i < ELEMENTSOF(left_links); i++) {
                _cleanup_free_ char *path = str_printf("units/%s", left_links[i]);
                char seen[64] = "";

                if (readlink(path, seen, sizeof(seen) - 1) < 0 ? text[i] != NULL
                                                               : !text[i] || !streq(seen, text[i]))
                        fail_msg("call %d: %s leads to '%s'", n, path, seen);
        }
}

static void a_crash_while_taking_over_leaves_theirs_or_ours(void **state) {
        int n = 0;

        assert_int_equal(chdir(*state), 0);
        cwd = *state;
        while (crash_while_taking(n)) {
                check_whose_they_are(n);
                check_all_are_taken(n);
                n++;
        }
        assert_true(n > 8);
        check_all_are_taken(n);
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(a_crash_at_any_call_lets_nothing_wrong_start, tmpdir_make,
                                        tmpdir_drop),
        cmocka_unit_test_setup_teardown(a_crash_while_taking_over_leaves_theirs_or_ours, tmpdir_make,
                                        tmpdir_drop)
)
