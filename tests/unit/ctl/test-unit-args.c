// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"
#include "array.h"

#include "fileio.h"
#include "str.h"
#include "unit-args.h"

// All users, in place of the name service's: one at most, who is of root's group.
static bool has_operator;
static unsigned n_listed;

void setpwent(void) {
        n_listed = 0;
}

struct passwd *getpwent(void) {
        static struct passwd users[] = {{.pw_name = (char *) "root"},
                                        {.pw_name = (char *) "operator", .pw_uid = 11}};

        return n_listed < 1U + has_operator ? &users[n_listed++] : NULL;
}

void endpwent(void) {
}

typedef struct Fixture {
        char dir[32];
        int fd;
} Fixture;

static Fixture g;

static void write_text(const char *name, const char *text) {
        assert_int_equal(file_replace(g.fd, name, text, strlen(text), 0600, 0), 0);
}

FIXTURE(setup) {
        g = (Fixture){};
        strcpy(g.dir, "/tmp/argosy-test-XXXXXX");
        assert_non_null(mkdtemp(g.dir));
        g.fd = open(g.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(mkdirat(g.fd, "sub", 0700), 0);
        assert_int_equal(mkdirat(g.fd, "dir.service", 0700), 0);
        write_text("web@.service", "template");
        write_text("web@7.service", "seven");
        write_text("sub/db.service", "db");
        write_text("db.service", "other");
        write_text("sub/web@.service", "template");
}

FIXTURE(teardown) {
        dir_empty(AT_FDCWD, g.dir);
        close(g.fd);
        rmdir(g.dir);
}

static void take(UnitArgs *a, const char *word) {
        _cleanup_buf_ Buf why = {};
        int r = unit_args_add(a, word, UNIT_ARGS_READ_FILES, g.fd, &why);

        if (r < 0)
                fail_msg("%s: %.*s", word, (int) why.len, (const char *) why.data);
}

static void refuse(UnitArgs *a, const char *word, int error, const char *text) {
        _cleanup_buf_ Buf why = {};
        _cleanup_free_ char *got = NULL;

        assert_int_equal(unit_args_add(a, word, UNIT_ARGS_READ_FILES, g.fd, &why), error);
        got = buf_take_string(&why);
        assert_non_null(strstr(got, text));
}

static const UnitArgsFile *found(const UnitArgs *a, const char *path) {
        for (size_t i = 0; i < a->n_files; i++)
                if (!a->files[i]->missing && strcmp(a->files[i]->path, path) == 0)
                        return a->files[i];
        return NULL;
}

static size_t n_found(const UnitArgs *a) {
        size_t n = 0;

        for (size_t i = 0; i < a->n_files; i++)
                n += !a->files[i]->missing;
        return n;
}

static void a_bare_name_needs_no_file(void **state) {
        _cleanup_unit_args_ UnitArgs a = {};

        take(&a, "unheard-of");
        assert_int_equal(a.n_names, 1);
        assert_string_equal(a.names[0], "unheard-of.service");
        assert_null(a.names[1]);
        assert_int_equal(n_found(&a), 0);
}

// They would be left out in silence.
static void drop_ins_without_their_file_are_noticed(void **state) {
        _cleanup_unit_args_ UnitArgs none = {}, own = {}, templates = {}, known = {};

        assert_int_equal(mkdirat(g.fd, "alone.service.d", 0700), 0);
        write_text("alone.service.d/README", "x");
        take(&none, "alone");
        assert_int_equal(none.n_alone, 0);
        write_text("alone.service.d/10.conf", "x");
        take(&own, "unheard-of");
        take(&own, "alone");
        assert_int_equal(own.n_alone, 1);
        assert_string_equal(own.alone, "alone.service.d");
        assert_int_equal(n_found(&own), 0);
        assert_int_equal(mkdirat(g.fd, "some@.service.d", 0700), 0);
        write_text("some@.service.d/10.conf", "x");
        take(&templates, "some@1");
        assert_int_equal(templates.n_alone, 1);
        assert_string_equal(templates.alone, "some@.service.d");
        assert_int_equal(mkdirat(g.fd, "db.service.d", 0700), 0);
        write_text("db.service.d/10.conf", "[Unit]");
        take(&known, "db");
        assert_int_equal(known.n_alone, 0);
}

static void add_drop_in(const char *directory) {
        _cleanup_free_ char *path = str_printf("%s/10.conf", directory);

        assert_int_equal(mkdirat(g.fd, directory, 0700), 0);
        write_text(path, "[Unit]");
}

// As a folder that is handed in says it, but only of those that systemd or podman would have count.
static void drop_ins_of_several_units_are_noticed(void **state) {
        static const char *const shared[] = {"service.d", "several-.service.d", "several-box-.service.d",
                                             "container.d", "several-.container.d"};
        _cleanup_unit_args_ UnitArgs a = {}, container = {};

        for (size_t i = 0; i < ELEMENTSOF(shared); i++)
                add_drop_in(shared[i]);
        add_drop_in("timer.d");
        add_drop_in("other-.service.d");
        write_text("several-box-1.service", "[Service]\nExecStart=/bin/x\n");
        write_text("several-box-2.service", "[Service]\nExecStart=/bin/x\n");
        write_text("several-1.container", "[Container]\nImage=localhost/x\n");
        take(&a, "several-box-1");
        take(&a, "several-box-2");
        assert_int_equal(a.n_shared, 3);
        for (size_t i = 0; i < a.n_shared; i++)
                assert_string_equal(a.shared[i], shared[i]);
        take(&container, "several-1.container");
        assert_int_equal(container.n_shared, 4);
        assert_string_equal(container.shared[0], "container.d");
        assert_string_equal(container.shared[1], "several-.container.d");
        for (size_t i = 0; i < ELEMENTSOF(shared); i++) {
                _cleanup_free_ char *path = str_printf("%s/10.conf", shared[i]);

                assert_int_equal(unlinkat(g.fd, path, 0), 0);
                assert_int_equal(unlinkat(g.fd, shared[i], AT_REMOVEDIR), 0);
        }
}

static void a_bare_name_takes_the_file_beside_it(void **state) {
        _cleanup_unit_args_ UnitArgs a = {};

        take(&a, "db");
        assert_memory_equal(found(&a, "db.service")->content.data, "other", 5);
}

static void a_path_is_a_file_and_its_last_part_the_name(void **state) {
        _cleanup_unit_args_ UnitArgs a = {};

        take(&a, "sub/db.service");
        assert_string_equal(a.names[0], "db.service");
        const UnitArgsFile *file = found(&a, "sub/db.service");
        assert_string_equal(file->name, "db.service");
        assert_memory_equal(file->content.data, "db", 2);
        refuse(&a, "sub/none.service", -ENOENT, "there is no sub/none.service");
        refuse(&a, "nowhere/x@1", -ENOENT, "there is no folder nowhere/");
        refuse(&a, "sub/x@1", -ENOENT, "neither sub/x@1.service nor sub/x@.service");
}

static void an_instance_prefers_its_own_file_to_the_template(void **state) {
        _cleanup_unit_args_ UnitArgs a = {};

        take(&a, "web@7");
        assert_int_equal(n_found(&a), 1);
        assert_non_null(found(&a, "web@7.service"));
        take(&a, "web@8");
        assert_int_equal(n_found(&a), 2);
        assert_string_equal(found(&a, "web@.service")->name, "web@.service");
}

static void a_thousand_instances_read_their_template_once(void **state) {
        _cleanup_unit_args_ UnitArgs a = {};

        take(&a, "sub/web@{1..1000}");
        assert_int_equal(a.n_names, 1000);
        assert_string_equal(a.names[999], "web@1000.service");
        assert_int_equal(n_found(&a), 1);
        assert_int_equal(a.files_bytes, 8);
}

static void a_unit_named_twice_counts_once(void **state) {
        _cleanup_unit_args_ UnitArgs a = {};

        take(&a, "web@{1..3}");
        take(&a, "web@2.service");
        assert_int_equal(a.n_names, 3);
        take(&a, "sub/web@4"); // same name and content from two places: no question which is meant
        assert_int_equal(n_found(&a), 2);
        take(&a, "db");
        refuse(&a, "sub/db", -EINVAL,
               "db.service and sub/db.service are both named db.service but differ");
}

static void an_own_file_and_a_template_for_one_instance_must_say_the_same(void **state) {
        _cleanup_unit_args_ UnitArgs a = {}, b = {}, c = {};

        take(&a, "web@7"); // its own
        refuse(&a, "sub/web@7", -EINVAL,
               "web@7.service is named with two files that differ: web@7.service and sub/web@.service");
        take(&b, "sub/web@7"); // the template's
        refuse(&b, "web@7", -EINVAL,
               "web@7.service is named with two files that differ: sub/web@.service and web@7.service");
        write_text("sub/web@8.service", "template");
        take(&c, "web@8");
        take(&c, "sub/web@8");
        assert_int_equal(c.n_names, 1);
}

static void expect_content(const UnitArgs *a, const char *unit, const char *path, const char *content) {
        const UnitArgsFile *f = map_find_str(&a->files_by_unit, unit);

        assert_non_null(f);
        assert_string_equal(f->path, path);
        assert_int_equal(f->content.len, strlen(content));
        assert_memory_equal(f->content.data, content, strlen(content));
}

static void a_file_comes_with_the_drop_ins_beside_it(void **state) {
        _cleanup_(unit_args_done) UnitArgs a = {};

        assert_int_equal(mkdirat(g.fd, "db.service.d", 0700), 0);
        assert_int_equal(mkdirat(g.fd, "sub/web@.service.d", 0700), 0);
        assert_int_equal(mkdirat(g.fd, "sub/web@2.service.d", 0700), 0);
        assert_int_equal(mkdirat(g.fd, "sub/web@3.service.d", 0700), 0);
        write_text("db.service.d/1.conf", "[Unit]");
        write_text("sub/web@.service.d/1.conf", "[Unit]");
        write_text("sub/web@2.service.d/2.conf", "[Install]");
        take(&a, "db");
        take(&a, "sub/web@{1..3}");
        take(&a, "sub/web@2");
        expect_content(&a, "db.service", "db.service", "other\n\n# db.service.d/1.conf\n[Unit]");
        expect_content(&a, "web@1.service", "sub/web@.service",
                       "template\n\n# web@.service.d/1.conf\n[Unit]");
        expect_content(&a, "web@2.service", "sub/web@.service",
                       "template\n\n# web@.service.d/1.conf\n[Unit]\n\n# web@2.service.d/2.conf\n[Install]");
        expect_content(&a, "web@3.service", "sub/web@.service",
                       "template\n\n# web@.service.d/1.conf\n[Unit]"); // its folder is empty
        assert_string_equal(((UnitArgsFile *) map_find_str(&a.files_by_unit, "web@2.service"))->name,
                            "web@2.service");
        assert_string_equal(((UnitArgsFile *) map_find_str(&a.files_by_unit, "web@3.service"))->name,
                            "web@.service");
}

static void drop_ins_of_a_bare_name_are_the_callers_own(void **state) {
        _cleanup_(unit_args_done) UnitArgs bare = {}, named = {};

        assert_int_equal(mkdirat(g.fd, "db.service.d", 0700), 0);
        write_text("db.service.d/1.conf", "[Unit]");
        assert_int_equal(fchmodat(g.fd, "db.service.d", 0777, 0), 0);
        refuse(&bare, "db", -EPERM, "there is a folder db.service.d here, and others may write to ");
        take(&named, "./db");
        assert_int_equal(fchmodat(g.fd, "db.service.d", 0700, 0), 0);
        assert_int_equal(fchmodat(g.fd, "db.service.d/1.conf", 0666, 0), 0);
        unit_args_done(&bare);
        refuse(&bare, "db", -EPERM,
               "there is a folder db.service.d here, and others may write to 1.conf");
        assert_int_equal(unlinkat(g.fd, "db.service.d/1.conf", 0), 0);
        assert_int_equal(symlinkat("../web@.service", g.fd, "db.service.d/1.conf"), 0);
        unit_args_done(&bare);
        refuse(&bare, "db", -EISDIR, "db.service.d/1.conf is not a regular file; links are not followed");
}

static void a_directory_is_no_unit_file(void **state) {
        _cleanup_unit_args_ UnitArgs a = {};

        take(&a, "dir"); // as a name it may be known to the cluster
        assert_int_equal(n_found(&a), 0);
        refuse(&a, "./dir", -EISDIR, "./dir.service is not a regular file");
}

static void bad_words_are_refused_with_a_reason(void **state) {
        _cleanup_unit_args_ UnitArgs a = {};

        refuse(&a, "a b", -EINVAL, "'a b' is not a unit name");
        refuse(&a, "@1.service", -EINVAL, "is not a unit name");
        refuse(&a, "", -EINVAL, "is not a unit name");
        refuse(&a, "web@{1..999999}", -E2BIG, "makes more than 100000 units");
}

static void a_file_that_is_too_large_is_refused(void **state) {
        _cleanup_unit_args_ UnitArgs a = {};
        _cleanup_free_ char *big = calloc(1, 300 * 1024);

        assert_int_equal(file_replace(g.fd, "big.service", big, 300 * 1024, 0600, 0), 0);
        refuse(&a, "big", -EFBIG, "big.service is larger than 256 KiB");
}

static void each_part_of_a_request_takes_its_files_along(void **state) {
        _cleanup_unit_args_ UnitArgs a = {};
        _cleanup_free_ const UnitArgsFile **files = NULL, **fewer = NULL;
        size_t n;

        take(&a, "web@{7..9}");
        take(&a, "db");
        assert_int_equal(unit_args_files_of(&a, a.names, a.n_names, &files, &n), 0);
        assert_int_equal(n, 3); // web@7, the template, db
        assert_int_equal(unit_args_files_of(&a, a.names + 1, 2, &fewer, &n), 0);
        assert_int_equal(n, 1);
        assert_string_equal(fewer[0]->name, "web@.service");
}

static void without_files_a_directory_is_cut_off(void **state) {
        _cleanup_unit_args_ UnitArgs a = {};
        _cleanup_buf_ Buf why = {};

        assert_int_equal(unit_args_add(&a, "nowhere/web@{1,2}", 0, g.fd, &why), 0);
        assert_int_equal(a.n_names, 2);
        assert_string_equal(a.names[1], "web@2.service");
        assert_int_equal(a.n_files, 0);
        assert_int_equal(unit_args_add(&a, "db-*", UNIT_ARGS_KEEP_GLOBS, g.fd, &why), 0);
        assert_string_equal(a.names[2], "db-*");
}

#define BOX "[Container]\nImage=localhost/box:1\n"

static void a_containers_file_is_that_of_its_service(void **state) {
        _cleanup_unit_args_ UnitArgs a = {}, bare = {}, without = {};
        _cleanup_buf_ Buf why = {};

        write_text("sub/box.container", BOX);
        write_text("sub/work@.container", BOX);
        write_text("own.container", BOX);
        assert_int_equal(mkdirat(g.fd, "sub/box.container.d", 0700), 0);
        write_text("sub/box.container.d/10.conf", "[Container]\nExec=x\n");
        assert_int_equal(mkdirat(g.fd, "sub/work@7.container.d", 0700), 0);
        write_text("sub/work@7.container.d/10.conf", "[Container]\nExec=7\n");
        take(&a, "sub/box.container");
        take(&a, "sub/work@{1,7}.container");
        assert_string_equal(a.names[0], "box.service");
        assert_string_equal(a.names[1], "work@1.service");
        assert_string_equal(found(&a, "sub/box.container")->name, "box.service");
        assert_non_null(memmem(found(&a, "sub/box.container")->content.data,
                               found(&a, "sub/box.container")->content.len, "\n# box.container.d/10.conf\n",
                               strlen("\n# box.container.d/10.conf\n")));
        assert_string_equal(found(&a, "sub/work@.container")->name, "work@.service");
        assert_int_equal(n_found(&a), 3); // the seventh has a content of its own
        take(&bare, "own.container");
        assert_string_equal(found(&bare, "own.container")->name, "own.service");
        assert_int_equal(unit_args_add(&without, "nowhere/box.container", 0, g.fd, &why), 0);
        assert_string_equal(without.names[0], "box.service");
        refuse(&a, "sub/none.container", -ENOENT, "there is no sub/none.container");
}

static void what_a_container_names_is_part_of_it(void **state) {
        static const char expected[] = BOX "Volume=data.volume:/data\n"
                                           "\n# db.container.d/10.conf\n[Container]\nNetwork=front.network\n"
                                           "\n# data.volume\n[Volume]\nLabel=a=b\n"
                                           "\n[Volume]\nLabel=c=d\n\n[Volume]\nUser=7\n"
                                           "\n# front.network\n[Network]\n";
        _cleanup_unit_args_ UnitArgs a = {}, again = {};

        write_text("sub/db.container", BOX "Volume=data.volume:/data\n");
        assert_int_equal(mkdirat(g.fd, "sub/db.container.d", 0700), 0);
        write_text("sub/db.container.d/10.conf", "[Container]\nNetwork=front.network\n");
        refuse(&a, "sub/db.container", -ENOENT,
               "sub/db.container names data.volume, and there is no sub/data.volume");
        write_text("sub/data.volume", "[Volume]\nLabel=a=b\n");
        assert_int_equal(symlinkat("/etc/hostname", g.fd, "sub/front.network"), 0);
        refuse(&a, "sub/db.container", -ELOOP, "is not a regular file");
        assert_int_equal(unlinkat(g.fd, "sub/front.network", 0), 0);
        write_text("sub/front.network", "[Network]\n");
        assert_int_equal(mkdirat(g.fd, "sub/data.volume.d", 0700), 0);
        write_text("sub/data.volume.d/20.conf", "[Volume]\nUser=7\n");
        write_text("sub/data.volume.d/10.conf", "[Volume]\nLabel=c=d\n");
        take(&a, "sub/db.container");
        const UnitArgsFile *file = found(&a, "sub/db.container");
        assert_int_equal(file->content.len, strlen(expected));
        assert_memory_equal(file->content.data, expected, strlen(expected));
        write_text("sub/copy.container", expected); // what `cat` has shown
        take(&again, "sub/copy.container");
        assert_int_equal(found(&again, "sub/copy.container")->content.len, strlen(expected));
}

static void a_file_is_of_the_kind_that_it_is_called(void **state) {
        _cleanup_unit_args_ UnitArgs a = {};

        write_text("sub/a.service", BOX);
        write_text("sub/b.container", "[Service]\nExecStart=/bin/b\n");
        write_text("sub/box.container", BOX);
        write_text("sub/box.service", "[Service]\nExecStart=/bin/b\n");
        refuse(&a, "sub/a.service", -EINVAL, "sub/a.service has a section [Container]");
        refuse(&a, "sub/b.container", -EINVAL, "sub/b.container has no section [Container]");
        take(&a, "sub/box.container");
        refuse(&a, "sub/box.service", -EINVAL, "differ");
}

static void a_timer_brings_the_container_that_it_starts(void **state) {
        _cleanup_unit_args_ UnitArgs a = {};
        _cleanup_buf_ Buf why = {};

        write_text("sub/box.container", BOX);
        write_text("sub/box.timer", "[Timer]\nOnActiveSec=1h\n");
        take(&a, "sub/box.timer");
        assert_int_equal(unit_args_add_besides(&a, g.fd, &why), 0);
        assert_non_null(found(&a, "sub/box.container"));
}

static void what_is_no_unit_file_is_called_what_it_is(void **state) {
        static const struct {
                const char *file, *word, *text;
        } rows[] = {
                {"blog.pod", "./blog.pod", "./blog.pod is a Quadlet file of podman, not a unit file; "},
                {"blog.pod", "blog.pod", "podman makes blog-pod.service of this one"},
                {"10-x.conf", "./10-x.conf", "is a drop-in"},
                {"compose.yaml", "./compose.yaml", "is YAML"},
                {"plain", "./plain",
                 "./plain is not a unit file: the name of one ends in its type, .service"},
                {"notes.txt", "./notes.txt", "./notes.txt is not a unit file"},
        };
        _cleanup_unit_args_ UnitArgs a = {};

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                write_text(rows[i].file, "x");
                refuse(&a, rows[i].word, -EINVAL, rows[i].text);
        }
}

static void a_folder_is_called_a_folder(void **state) {
        _cleanup_unit_args_ UnitArgs a = {};

        refuse(&a, "./sub", -EINVAL, "./sub is a folder; `argosyctl apply ./sub` takes");
        refuse(&a, "sub/", -EINVAL, "named as sub/NAME.service");
        refuse(&a, ".", -EINVAL, ". is a folder");
        take(&a, "sub"); // a unit may be called so
        assert_string_equal(a.names[0], "sub.service");
}

static void a_slip_is_answered_with_the_file_that_was_meant(void **state) {
        _cleanup_unit_args_ UnitArgs a = {};

        refuse(&a, "sub/bd.servcie", -ENOENT,
               "there is neither sub/bd.servcie nor sub/bd.servcie.service");
        refuse(&a, "sub/db.servic", -ENOENT,
               "there is neither sub/db.servic nor sub/db.servic.service; did you mean sub/db.service?");
        refuse(&a, "/dev/null", -EINVAL, "/dev/null is not a unit file");
        refuse(&a, "./wbe@7.service", -ENOENT, "did you mean ./web@");
        refuse(&a, "sub/db.timer", -ENOENT,
               "there is no sub/db.timer; did you mean sub/db.service?");
}

static void a_path_behind_an_at_sign_is_escaped(void **state) {
        _cleanup_unit_args_ UnitArgs a = {};
        _cleanup_buf_ Buf why = {};

        refuse(&a, "web@/srv/data", -EINVAL, "say 'web@srv-data.service'");
        assert_int_equal(unit_args_add(&a, "web@/srv/data", 0, g.fd, &why), -EINVAL); // not data.service
        assert_int_equal(mkdirat(g.fd, "v@2", 0700), 0);
        write_text("v@2/db.service", "db");
        take(&a, "v@2/db.service"); // that is a folder
}

static bool goes_with(const UnitArgs *a, char *name, const char *file) {
        const UnitArgsFile **files;
        bool found = false;
        size_t n;

        assert_int_equal(unit_args_files_of(a, &name, 1, &files, &n), 0);
        for (size_t i = 0; i < n; i++)
                found |= strcmp(files[i]->path, file) == 0;
        free(files);
        return found;
}

static void what_a_unit_starts_or_needs_is_read_beside_it(void **state) {
        static const struct {
                const char *file, *text, *word;
                char *name;
                const char *beside;
        } rows[] = {
                {"sub/db.timer", "[Timer]\n", "sub/db.timer", "db.timer", "sub/db.service"},
                {"web@.socket", "[Socket]\n", "./web@7.socket", "web@7.socket", "./web@7.service"},
                {"web@.timer", "[Timer]\n", "web@8.timer", "web@8.timer", "web@.service"},
                {"s.service", "[Unit]\nRequires=s.socket\n", "s", "s.service", "s.socket"},
                {"s.socket", "[Socket]\n", "s", "s.service", "s.socket"},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                write_text(rows[i].file, rows[i].text);
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_unit_args_ UnitArgs a = {};
                _cleanup_buf_ Buf why = {};

                take(&a, rows[i].word);
                assert_false(goes_with(&a, rows[i].name, rows[i].beside));
                assert_int_equal(unit_args_add_besides(&a, g.fd, &why), 0);
                assert_int_equal(a.n_names, 1);
                assert_true(goes_with(&a, rows[i].name, rows[i].beside));
        }
}

// ------------------------------------------------------------------------------------- whose files they are

enum { STRANGER = 4711 };

static void no_file_is_taken_of_a_directory_that_others_can_write_to(void **state) {
        static const mode_t modes[] = {0777, 01777, 0775, 0702};

        if (geteuid() != 0)
                skip(); // only root can give files away
        for (size_t i = 0; i < ELEMENTSOF(modes); i++) {
                _cleanup_unit_args_ UnitArgs a = {}, named = {}, unknown = {};

                assert_int_equal(fchown(g.fd, 0, STRANGER), 0); // a group that is nobody's alone
                assert_int_equal(fchmod(g.fd, modes[i]), 0);
                refuse(&a, "web@7", -EPERM,
                       "there is a file web@7.service here, and others may write to /tmp/argosy-test-");
                refuse(&a, "web@8", -EPERM, "say ./web@.service to take it all the same");
                take(&named, "./web@7");
                assert_int_equal(n_found(&named), 1);
                take(&unknown, "unheard-of"); // nothing stands there: the cluster may know it
                assert_int_equal(n_found(&unknown), 0);
        }
}

static void a_group_of_ones_own_may_write(void **state) {
        _cleanup_unit_args_ UnitArgs a = {};

        if (geteuid() != 0)
                skip(); // only root can give files away
        assert_int_equal(fchown(g.fd, 0, 0), 0);
        assert_int_equal(fchmod(g.fd, 0775), 0);
        take(&a, "db");
        assert_int_equal(n_found(&a), 1);
}

static void a_group_that_is_the_first_of_somebody_else_too_may_not(void **state) {
        _cleanup_unit_args_ UnitArgs a = {};

        if (geteuid() != 0)
                skip(); // only root can give files away
        assert_int_equal(fchown(g.fd, 0, 0), 0);
        assert_int_equal(fchmod(g.fd, 0775), 0);
        has_operator = true;
        refuse(&a, "db", -EPERM, "others may write to /tmp/argosy-test-");
        has_operator = false;
}

static void no_file_is_taken_that_a_stranger_owns_or_may_write(void **state) {
        if (geteuid() != 0)
                skip(); // only root can give files away
        assert_int_equal(fchownat(g.fd, "db.service", STRANGER, 0, 0), 0);
        {
                _cleanup_unit_args_ UnitArgs a = {}, named = {};

                refuse(&a, "db", -EPERM, "db.service belongs to the user 4711");
                take(&named, "./db");
                assert_int_equal(n_found(&named), 1);
        }
        assert_int_equal(fchownat(g.fd, "db.service", 0, 0, 0), 0);
        assert_int_equal(fchmodat(g.fd, "db.service", 0666, 0), 0);
        {
                _cleanup_unit_args_ UnitArgs a = {};

                refuse(&a, "db", -EPERM, "others may write to db.service");
        }
}

static void the_directories_above_count_too(void **state) {
        _cleanup_(closep) int above = g.fd;

        g.fd = openat(above, "sub", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (geteuid() != 0)
                skip(); // only root can give files away
        {
                _cleanup_unit_args_ UnitArgs a = {};

                take(&a, "db");
                assert_int_equal(n_found(&a), 1);
        }
        assert_int_equal(fchmod(above, 0777), 0);
        {
                _cleanup_unit_args_ UnitArgs a = {};

                refuse(&a, "db", -EPERM, "others may write to /tmp/argosy-test-");
        }
        assert_int_equal(fchmod(above, 01777), 0); // nobody can put another `sub` there
        {
                _cleanup_unit_args_ UnitArgs a = {};

                take(&a, "db");
        }
        assert_int_equal(fchown(above, STRANGER, 0), 0);
        {
                _cleanup_unit_args_ UnitArgs a = {};

                refuse(&a, "db", -EPERM, "belongs to the user 4711");
        }
}

// Each step of a link can be changed by whoever may write there.
static void a_link_is_as_good_as_all_that_it_goes_through(void **state) {
        if (geteuid() != 0)
                skip(); // only root can give files away
        assert_int_equal(symlinkat("sub/db.service", g.fd, "l.service"), 0);
        assert_int_equal(mkdirat(g.fd, "open", 0700), 0);
        assert_int_equal(symlinkat("../sub/db.service", g.fd, "open/db.service"), 0);
        assert_int_equal(symlinkat("open/db.service", g.fd, "m.service"), 0);
        assert_int_equal(symlinkat("none", g.fd, "dangling.service"), 0);
        assert_int_equal(symlinkat("loop.service", g.fd, "loop.service"), 0);
        {
                _cleanup_unit_args_ UnitArgs a = {};

                take(&a, "l");
                take(&a, "m");
                take(&a, "dangling");
                take(&a, "loop");
                assert_int_equal(n_found(&a), 2);
        }
        // in the second one nobody else can replace a link, but put one there first
        static const mode_t modes[] = {0777, 01777};
        for (size_t i = 0; i < ELEMENTSOF(modes); i++) {
                _cleanup_unit_args_ UnitArgs a = {};

                assert_int_equal(fchmodat(g.fd, "open", modes[i], 0), 0);
                take(&a, "l");
                refuse(&a, "m", -EPERM, "/open");
        }
        assert_int_equal(fchownat(g.fd, "sub", STRANGER, 0, 0), 0);
        {
                _cleanup_unit_args_ UnitArgs a = {};

                refuse(&a, "l", -EPERM, "/sub belongs to the user 4711");
        }
}

static void who_calls_sudo_has_files_of_his_own(void **state) {
        _cleanup_unit_args_ UnitArgs a = {}, b = {};

        if (geteuid() != 0)
                skip(); // only root can give files away
        assert_int_equal(fchown(g.fd, STRANGER, STRANGER), 0);
        assert_int_equal(fchownat(g.fd, "db.service", STRANGER, STRANGER, 0), 0);
        assert_int_equal(setenv("SUDO_UID", "4711", true), 0);
        take(&a, "db");
        assert_int_equal(n_found(&a), 1);
        assert_int_equal(setenv("SUDO_UID", "4712", true), 0);
        refuse(&b, "db", -EPERM, "belongs to the user 4711");
        assert_int_equal(unsetenv("SUDO_UID"), 0);
}

// That of what a unit starts is looked for without having been typed.
static void what_stands_beside_is_looked_at_in_the_same_way(void **state) {
        static const char timer[] = "[Timer]\nOnCalendar=daily\n";
        _cleanup_unit_args_ UnitArgs a = {};
        _cleanup_buf_ Buf why = {};

        write_text("job.timer", timer);
        assert_int_equal(file_replace(g.fd, "job.service", "x", 1, 0666, 0), 0);
        take(&a, "job.timer");
        assert_int_equal(unit_args_add_besides(&a, g.fd, &why), -EPERM);
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(no_file_is_taken_of_a_directory_that_others_can_write_to,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_group_of_ones_own_may_write, setup, teardown),
        cmocka_unit_test_setup_teardown(a_group_that_is_the_first_of_somebody_else_too_may_not,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(no_file_is_taken_that_a_stranger_owns_or_may_write, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_directories_above_count_too, setup, teardown),
        cmocka_unit_test_setup_teardown(a_link_is_as_good_as_all_that_it_goes_through, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(who_calls_sudo_has_files_of_his_own, setup, teardown),
        cmocka_unit_test_setup_teardown(what_stands_beside_is_looked_at_in_the_same_way, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_bare_name_needs_no_file, setup, teardown),
        cmocka_unit_test_setup_teardown(drop_ins_without_their_file_are_noticed, setup, teardown),
        cmocka_unit_test_setup_teardown(drop_ins_of_several_units_are_noticed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_bare_name_takes_the_file_beside_it, setup, teardown),
        cmocka_unit_test_setup_teardown(a_path_is_a_file_and_its_last_part_the_name, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(an_instance_prefers_its_own_file_to_the_template, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_thousand_instances_read_their_template_once, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_unit_named_twice_counts_once, setup, teardown),
        cmocka_unit_test_setup_teardown(
                an_own_file_and_a_template_for_one_instance_must_say_the_same, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_comes_with_the_drop_ins_beside_it, setup, teardown),
        cmocka_unit_test_setup_teardown(drop_ins_of_a_bare_name_are_the_callers_own, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_directory_is_no_unit_file, setup, teardown),
        cmocka_unit_test_setup_teardown(bad_words_are_refused_with_a_reason, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_that_is_too_large_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(each_part_of_a_request_takes_its_files_along, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(without_files_a_directory_is_cut_off, setup, teardown),
        cmocka_unit_test_setup_teardown(what_a_unit_starts_or_needs_is_read_beside_it, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_containers_file_is_that_of_its_service, setup, teardown),
        cmocka_unit_test_setup_teardown(what_a_container_names_is_part_of_it, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_is_of_the_kind_that_it_is_called, setup, teardown),
        cmocka_unit_test_setup_teardown(a_timer_brings_the_container_that_it_starts, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_is_no_unit_file_is_called_what_it_is, setup, teardown),
        cmocka_unit_test_setup_teardown(a_folder_is_called_a_folder, setup, teardown),
        cmocka_unit_test_setup_teardown(a_slip_is_answered_with_the_file_that_was_meant, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_path_behind_an_at_sign_is_escaped, setup, teardown)
)
