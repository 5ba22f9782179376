// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a unit file names is read from its folder, and nothing else is, whoever has made that folder.
#include "printed.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include "carried-files.h"
#include "carried-sources.h"
#include "fileio.h"
#include "str.h"

#define SERVICE "[Service]\nExecStart=/bin/web\n[X-Argosy]\nFile="

typedef struct Fixture {
        char dir[64];
        int fd;
} Fixture;

static Fixture g;

// What the next file that is read meets: somebody appends to x.sh of that folder behind the first byte; or
// an error.
static int change = -1, error;

int __real_file_read_fd(int fd, size_t max, Buf *ret);
int __wrap_file_read_fd(int fd, size_t max, Buf *ret);

int __wrap_file_read_fd(int fd, size_t max, Buf *ret) {
        int dir = change, failed = error,
            writer = dir >= 0 ? openat(dir, "x.sh", O_WRONLY | O_APPEND | O_CLOEXEC) : -1, r;
        struct stat ours, theirs;

        error = 0;
        if (failed < 0)
                return failed;
        r = __real_file_read_fd(fd, max, ret);
        if (writer >= 0 && fstat(fd, &ours) == 0 && fstat(writer, &theirs) == 0 &&
            ours.st_ino == theirs.st_ino) {
                change = -1;
                assert_int_equal(write(writer, "y", 1), 1);
        }
        if (writer >= 0)
                close(writer);
        return r;
}

static void put(const char *path, const char *text) {
        assert_int_equal(
                file_replace(g.fd, path, text, strlen(text), str_has_suffix(path, ".sh") ? 0755 : 0644, 0),
                0);
}

FIXTURE(setup) {
        g = (Fixture){};
        strcpy(g.dir, "/tmp/argosy-test-XXXXXX");
        assert_non_null(mkdtemp(g.dir));
        g.fd = open(g.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(mkdirat(g.fd, "conf", 0755), 0);
        assert_int_equal(mkdirat(g.fd, "conf/deep", 0755), 0);
        put("conf/a.conf", "a");
        put("conf/deep/b.conf", "b");
        put("conf/.hidden", "h");
        put("x.sh", "x");
}

static int teardown(void **state) {
        int r = system(printed("rm -rf %s", g.dir));

        close(g.fd);
        return r;
}

// The names that File= brings, blanks between them; or what is said of it.
static char *read_of(const char *value, bool *ret_refused) {
        _cleanup_free_ char *text = str_printf(SERVICE "%s\n", value);
        DropInFolder folder = {.dirfd = g.fd, .dir = "", .shown = "dir/"};
        _cleanup_carried_files_ CarriedFiles files = {};
        _cleanup_buf_ Buf content = {}, why = {};
        CarriedSources sources = {};
        Buf names = {};

        assert_int_equal(buf_append(&content, text, strlen(text)), 0);
        int r = carried_sources_read(&folder, "web.service", &content, &sources, &why);
        *ret_refused = r < 0;
        assert_int_equal(r < 0, why.len > 0);
        if (r == 0)
                assert_int_equal(carried_files_read(content.data, content.len, &files), 0);
        for (size_t i = 0; i < files.n; i++)
                assert_int_equal(buf_printf(&names, "%s%s", i > 0 ? " " : "", files.list[i].name), 0);
        carried_sources_done(&sources);
        return r < 0 ? buf_take_string(&why) : buf_take_string(&names);
}

static void assert_read(const char *value, const char *expected) {
        bool refused;
        _cleanup_free_ char *names = read_of(value, &refused);

        assert_string_equal(names, expected);
        assert_false(refused);
}

static void assert_refused(const char *value, const char *expected) {
        bool refused;
        _cleanup_free_ char *why = read_of(value, &refused);

        if (!refused || !strstr(why, expected))
                fail_msg("\"%s\" does not say \"%s\"", why, expected);
}

static void files_folders_and_patterns_are_read(void **state) {
        assert_read("x.sh", "x.sh");
        assert_read("conf", "conf/a.conf conf/deep/b.conf");
        assert_read("conf/*.conf", "conf/a.conf");
        assert_read("conf/* conf/a.conf", "conf/a.conf"); // once; folders fit no pattern
        assert_read("conf/.hidden", "conf/.hidden");
        assert_read("*.sh:/etc/x", "x.sh");
}

static void no_link_is_followed_and_nothing_special_is_read(void **state) {
        assert_int_equal(symlinkat("/etc/passwd", g.fd, "link"), 0);
        assert_int_equal(symlinkat("/etc", g.fd, "folder"), 0);
        assert_int_equal(mkfifoat(g.fd, "fifo", 0600), 0);
        assert_refused("link", "dir/link leads through a link");
        assert_refused("folder/passwd", "leads through a link");
        assert_refused("fifo", "dir/fifo is not a regular file");
        assert_refused("li*", "leads through a link");
        assert_int_equal(symlinkat("../x.sh", g.fd, "conf/inner"), 0);
        assert_refused("conf", "dir/conf/inner leads through a link");
}

// As root also what leads to hardware, wherever that may be opened at all.
static void sockets_and_devices_are_not_opened(void **state) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", g.dir);
        assert_int_equal(bind(fd, (struct sockaddr *) &address, sizeof(address)), 0);
        assert_refused("socket", "dir/socket is not a regular file");
        close(fd);
        if (mknodat(g.fd, "device", S_IFCHR | 0600, makedev(1, 3)) == 0) { // /dev/null
                put("z", "z");
                assert_refused("z device", "dir/device");
        }
}

// One of several: none of them is handed in.
static void what_changes_while_it_is_read_is_refused(void **state) {
        change = g.fd;
        assert_refused("conf x.sh", "dir/x.sh was changed while it was read: ask again");
        assert_read("conf x.sh", "conf/a.conf conf/deep/b.conf x.sh");
}

static void what_cannot_be_read_is_said(void **state) {
        error = -EIO;
        assert_refused("x.sh conf", "cannot read dir/x.sh: Input/output error");
        error = -EACCES;
        assert_refused("x.sh", "cannot read dir/x.sh: Permission denied");
        assert_read("x.sh", "x.sh");
}

static void a_name_has_a_limit_and_a_unit_one_for_its_files(void **state) {
        char name[CARRIED_NAME_MAX + 1];
        int fd;

        assert_int_equal(mkdirat(g.fd, "many", 0755), 0);
        for (unsigned i = 0; i < CARRIED_FILES_MAX; i++) {
                put(printed("many/%u", i), "");
        }
        assert_refused("many x.sh", "dir/x.sh is one file more than the 256 that a unit may have");
        memset(name, 'n', sizeof(name) - 1);
        name[sizeof(name) - 1] = 0;
        memcpy(name, "conf/", 5);
        fd = openat(g.fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        close(fd);
        assert_read("conf/n*", name);
        assert_int_equal(renameat(g.fd, "conf", g.fd, "conf2"), 0);
        assert_refused("conf2", "names of letters, digits");
}

static void what_is_missing_or_has_another_name_is_said(void **state) {
        assert_refused("none", "dir/none, which File= names, is not there");
        assert_refused("conf/*.none", "fits no file");
        put("conf/with blank", "");
        assert_refused("conf", "names of letters, digits");
}

static void what_is_too_large_is_not_read(void **state) {
        put("a", "");
        put("b", "");
        for (const char *name = "a\0b\0"; *name; name += 2) {
                int fd = openat(g.fd, name, O_WRONLY | O_CLOEXEC);

                assert_int_equal(ftruncate(fd, CARRIED_FILE_MAX), 0);
                close(fd);
        }
        assert_read("a", "a");
        assert_refused("a b", "more than the unit may still have");
        assert_int_equal(truncate(({
                                          static char path[96];
                                          snprintf(path, sizeof(path), "%s/a", g.dir);
                                          path;
                                  }),
                                  CARRIED_FILE_MAX + 1),
                         0);
        assert_refused("a", "larger than 512 KiB");
}

static void a_manifest_that_is_there_is_made_anew(void **state) {
        DropInFolder folder = {.dirfd = g.fd, .dir = "", .shown = ""};
        _cleanup_buf_ Buf content = {}, why = {};
        _cleanup_(carried_sources_done) CarriedSources sources = {}, again = {};
        _cleanup_free_ char *before = NULL;
        size_t len;

        assert_int_equal(buf_append(&content, SERVICE "x.sh\n", strlen(SERVICE "x.sh\n")), 0);
        assert_int_equal(carried_sources_read(&folder, "web.service", &content, &sources, &why), 0);
        len = content.len;
        before = strndup((const char *) content.data, len);
        assert_int_equal(carried_sources_read(&folder, "web.service", &content, &again, &why), 0);
        assert_int_equal(content.len, len);
        assert_memory_equal(content.data, before, len);
        assert_int_equal(again.n, 1);
        assert_int_equal(again.bytes, 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(
        TEST(files_folders_and_patterns_are_read),
        TEST(no_link_is_followed_and_nothing_special_is_read),
        TEST(sockets_and_devices_are_not_opened),
        TEST(what_changes_while_it_is_read_is_refused),
        TEST(what_cannot_be_read_is_said),
        TEST(a_name_has_a_limit_and_a_unit_one_for_its_files),
        TEST(what_is_missing_or_has_another_name_is_said),
        TEST(what_is_too_large_is_not_read),
        TEST(a_manifest_that_is_there_is_made_anew)
)
