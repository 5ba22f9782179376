// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Folders: what is read out of one, what is wrong with one, and at random that a set which was written is
// read again as it was, over all that the folder has been before.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "printed.h"
#include "test.h"

#include "fileio.h"
#include "folder-drop-ins.h"
#include "folder-export.h"
#include "macro.h"
#include "quadlet.h"
#include "str.h"
#include "unit-args.h"
#include "unit-file.h"
#include "unit-folder.h"
#include "unit-name.h"

#define SLEEPER "[Service]\nExecStart=/bin/sleep 9\n"

typedef struct Fixture {
        char dir[64];
        int fd;
} Fixture;

static Fixture g;

FIXTURE(setup) {
        g = (Fixture){};
        strcpy(g.dir, "/tmp/argosy-test-XXXXXX");
        assert_non_null(mkdtemp(g.dir));
        g.fd = open(g.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

FIXTURE(teardown) {
        dir_empty(AT_FDCWD, g.dir);
        close(g.fd);
        rmdir(g.dir);
}

static void put(const char *name, const char *text) {
        assert_int_equal(file_replace(g.fd, name, text, strlen(text), 0600, 0), 0);
}

typedef struct Named {
        const char *name, *text;
} Named;

static void put_all(const Named *files) {
        for (; files->name; files++)
                put(files->name, files->text);
}

#define PUT(...) put_all((const Named[]){__VA_ARGS__, {}})

static bool has(const char *name) {
        struct stat st;

        return fstatat(g.fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

// ---- read

static void take(UnitFolder *ret) {
        _cleanup_buf_ Buf why = {};
        int r = unit_folder_read(g.dir, ret, &why);

        if (r < 0)
                fail_msg("%d: %.*s", r, (int) why.len, (const char *) why.data);
}

static void refuse(int error, const char *text) {
        _cleanup_unit_folder_ UnitFolder folder = {};
        _cleanup_buf_ Buf why = {};
        _cleanup_free_ char *got = NULL;

        assert_int_equal(unit_folder_read(g.dir, &folder, &why), error);
        got = buf_take_string(&why);
        if (!strstr(got, text))
                fail_msg("'%s' is not in: %s", text, got);
}

static void expect(const UnitFolderUnit *u, const char *name, const char *file, Argosy__Target target) {
        assert_string_equal(u->name, name);
        assert_string_equal(u->file->name, file);
        assert_int_equal(u->target, target);
        assert_int_equal(u->from_template, !streq(name, file));
}

static void units_are_what_files_and_the_set_file_say(void **state) {
        _cleanup_unit_folder_ UnitFolder folder = {};

        PUT(
            {"web@.service", SLEEPER},
            {"web@2.service", SLEEPER "# its own\n"},
            {"a\\x2db.service", SLEEPER},
            {"old.service", SLEEPER},
            {"argosy.set", "set shop\nlaunched web@1 web@2\ninactive old\n"});
        take(&folder);
        assert_string_equal(folder.set_file.set, "shop");
        assert_int_equal(folder.n_units, 5);
        expect(&folder.units[0], "a\\x2db.service", "a\\x2db.service", ARGOSY__TARGET__TARGET_LAUNCHED);
        expect(&folder.units[1], "old.service", "old.service", ARGOSY__TARGET__TARGET_INACTIVE);
        expect(&folder.units[2], "web@.service", "web@.service", ARGOSY__TARGET__TARGET_INACTIVE);
        expect(&folder.units[3], "web@1.service", "web@.service", ARGOSY__TARGET__TARGET_LAUNCHED);
        expect(&folder.units[4], "web@2.service", "web@2.service", ARGOSY__TARGET__TARGET_LAUNCHED);
}

static void a_containers_file_is_that_of_its_service(void **state) {
        _cleanup_unit_folder_ UnitFolder folder = {};

        put("box@.container", "[Container]\nImage=localhost/box:1\n");
        put("one.container", "[Container]\nImage=localhost/box:1\n");
        assert_int_equal(mkdirat(g.fd, "one.container.d", 0700), 0);
        put("one.container.d/10.conf", "[Container]\nExec=x\n");
        assert_int_equal(mkdirat(g.fd, "one.service.d", 0700), 0);
        put("argosy.set", "launched box@1.container box@2\n");
        take(&folder);
        assert_int_equal(folder.n_units, 4);
        expect(&folder.units[1], "box@1.service", "box@.service", ARGOSY__TARGET__TARGET_LAUNCHED);
        assert_string_equal(folder.units[3].name, "one.service");
        assert_non_null(memmem(folder.units[3].file->content.data, folder.units[3].file->content.len,
                               "# one.container.d/10.conf", 25));
        assert_int_equal(folder.n_ignored, 1); // of another file's kind
        assert_string_equal(folder.ignored[0], "one.service.d");
}

static void a_unit_is_of_one_kind(void **state) {
        put("box.container", SLEEPER);
        refuse(-EINVAL, "box.container has no section [Container]");
        put("box.container", "[Container]\nImage=localhost/box:1\n");
        put("box.service", SLEEPER);
        refuse(-EEXIST, "has two files for box.service");
        put("box.service", "[Container]\nImage=localhost/box:1\n");
        refuse(-EINVAL, "box.service has a section [Container]");
}

// As loading them would bring it; by a path that activates a timer, too.
static void what_units_bring_along_is_a_part_of_the_folder(void **state) {
        _cleanup_unit_folder_ UnitFolder folder = {};

        PUT(
            {"sweep@.timer", "[Timer]\nOnActiveSec=1h\n"},
            {"sweep@.service", SLEEPER "[Install]\nAlso=mop@%i.socket sweep@b.service\n"},
            {"see.path", "[Path]\nUnit=sweep@c.timer\n"},
            {"argosy.set", "launched sweep@a.timer\ninactive sweep@b.service\n"});
        take(&folder);
        assert_int_equal(folder.n_units, 11);
        assert_int_equal(folder.n_brought, 6);
        assert_string_equal(folder.units[0].name, "mop@a.socket");
        assert_true(folder.units[0].brought && !folder.units[0].file);
        assert_int_equal(folder.units[0].target, ARGOSY__TARGET__TARGET_LOADED);
        assert_string_equal(folder.units[1].name, "mop@b.socket");
        // it is the one of a unit that is not to be
        assert_int_equal(folder.units[1].target, ARGOSY__TARGET__TARGET_INACTIVE);
        assert_string_equal(folder.units[2].name, "mop@c.socket");
        assert_string_equal(folder.units[3].name, "see.path");
        expect(&folder.units[6], "sweep@a.service", "sweep@.service", ARGOSY__TARGET__TARGET_LOADED);
        assert_true(folder.units[6].brought);
        expect(&folder.units[8], "sweep@b.service", "sweep@.service", ARGOSY__TARGET__TARGET_INACTIVE);
        assert_false(folder.units[8].brought); // the folder says what it is to be
        expect(&folder.units[10], "sweep@c.timer", "sweep@.timer", ARGOSY__TARGET__TARGET_LOADED);
}

// A backup does not begin because its folder is applied; what somebody enables, or argosy.set names, does.
static void what_a_unit_of_the_folder_activates_is_loaded(void **state) {
        _cleanup_unit_folder_ UnitFolder folder = {};

        PUT(
            {"backup.timer", "[Timer]\nOnCalendar=daily\n[Install]\nWantedBy=timers.target\n"},
            {"backup.service", SLEEPER},
            {"zap.path", "[Path]\nPathExists=/a\nUnit=backup.service\n"},
            {"named.socket", "[Socket]\nListenStream=/run/named\n"},
            {"named.service", SLEEPER},
            {"on.timer", "[Timer]\nOnCalendar=daily\n"},
            {"on.service", SLEEPER "[Install]\nWantedBy=multi-user.target\n"},
            {"other.service", SLEEPER},
            {"off.timer", "[Timer]\nOnCalendar=daily\n"},
            {"off.service", SLEEPER},
            {"argosy.set", "launched named.service\ninactive off.timer\ninactive zap.path\n"});
        take(&folder);
        assert_int_equal(folder.n_units, 10);
        expect(&folder.units[0], "backup.service", "backup.service", ARGOSY__TARGET__TARGET_LOADED);
        expect(&folder.units[1], "backup.timer", "backup.timer", ARGOSY__TARGET__TARGET_LAUNCHED);
        expect(&folder.units[2], "named.service", "named.service", ARGOSY__TARGET__TARGET_LAUNCHED);
        expect(&folder.units[4], "off.service", "off.service", ARGOSY__TARGET__TARGET_INACTIVE);
        expect(&folder.units[6], "on.service", "on.service", ARGOSY__TARGET__TARGET_LAUNCHED);
        expect(&folder.units[8], "other.service", "other.service", ARGOSY__TARGET__TARGET_LAUNCHED);
}

static void what_is_no_unit_is_named_or_does_not_count(void **state) {
        _cleanup_unit_folder_ UnitFolder folder = {};

        PUT(
            {"web.service", SLEEPER},
            {"README.md", "read"},
            {"LICENSE", "free"},
            {".hidden.service", "[nonsense"},
            {"Makefile", "all:\n"});
        assert_int_equal(mkdirat(g.fd, ".git", 0700), 0);
        assert_int_equal(mkdirat(g.fd, "service.d", 0700), 0); // of all services
        take(&folder);
        assert_int_equal(folder.n_units, 1);
        assert_int_equal(folder.n_ignored, 2); // in the order of the directory
        assert_true(streq(folder.ignored[0], "Makefile") || streq(folder.ignored[1], "Makefile"));
        assert_true(streq(folder.ignored[0], "service.d") || streq(folder.ignored[1], "service.d"));
}

// It would be destroyed by --prune otherwise.
static void a_unit_is_one_whatever_it_is_called(void **state) {
        _cleanup_unit_folder_ UnitFolder folder = {};

        put("README-mails.service", SLEEPER);
        put("LICENSE@.service", SLEEPER);
        take(&folder);
        assert_int_equal(folder.n_units, 2);
}

static void a_link_to_a_file_is_that_file(void **state) {
        _cleanup_unit_folder_ UnitFolder folder = {};

        put("one.service", SLEEPER);
        assert_int_equal(symlinkat("one.service", g.fd, "two.service"), 0);
        take(&folder);
        assert_int_equal(folder.n_units, 2);
        assert_true(hash_equal(&folder.files[0]->hash, &folder.files[1]->hash));
}

static void what_cannot_be_a_unit_ends_it(void **state) {
        _cleanup_free_ char *huge = malloc(UNIT_FILE_MAX + 2);

        assert_int_equal(mkdirat(g.fd, "web.service", 0700), 0);
        refuse(-EISDIR, "/web.service is not a regular file");
        assert_int_equal(unlinkat(g.fd, "web.service", AT_REMOVEDIR), 0);

        assert_int_equal(mkfifoat(g.fd, "web.service", 0600), 0); // and it is not waited for
        refuse(-EISDIR, "/web.service is not a regular file");
        assert_int_equal(unlinkat(g.fd, "web.service", 0), 0);

        assert_int_equal(symlinkat("nowhere", g.fd, "web.service"), 0);
        refuse(-ENOENT, "cannot read ");
        assert_int_equal(unlinkat(g.fd, "web.service", 0), 0);

        memset(huge, '#', UNIT_FILE_MAX + 1);
        huge[UNIT_FILE_MAX + 1] = 0;
        put("web.service", huge);
        refuse(-EFBIG, "/web.service is larger than 256 KiB");

        put("web.service", "[Service\n");
        refuse(-EINVAL, "/web.service:1");
        put("web.service", "");
        refuse(-EINVAL, "/web.service");
        put("web.service", SLEEPER);
        put("argosy.set", "set shop\n\nlaunched db\n");
        refuse(-ENOENT, "argosy.set:3: db.service has no file in the folder");
        put("argosy.set", "launched db@1\n");
        refuse(-ENOENT,
               "argosy.set:1: db@1.service has no file in the folder, and neither has db@.service");
        put("argosy.set", "\nlaunch web\n");
        refuse(-EINVAL, "argosy.set:2: 'launch' is none of");
}

static void make(const char *name) {
        assert_int_equal(mkdirat(g.fd, name, 0700), 0);
}

static void expect_content(const UnitFolderUnit *u, const char *expected) {
        assert_int_equal(u->file->content.len, strlen(expected));
        assert_memory_equal(u->file->content.data, expected, strlen(expected));
}

static void drop_ins_are_part_of_the_content(void **state) {
        _cleanup_unit_folder_ UnitFolder folder = {};

        PUT(
            {"db.service", SLEEPER},
            {"web@.service", SLEEPER},
            {"web@2.service", SLEEPER "# its own\n"},
            {"argosy.set", "launched web@{1..3}\n"});
        for (size_t i = 0; i < 6; i++)
                make((const char *[]){"db.service.d", "web@.service.d", "web@2.service.d",
                                         "web@3.service.d", "web@4.service.d", "none.service.d"}[i]);
        PUT(
            {"db.service.d/20-b.conf", "[Service]\nNice=2\n"},
            {"db.service.d/10-a.conf", "[Service]\nNice=1\n"},
            {"db.service.d/README", "of these"},
            {"db.service.d/.hidden.conf", "[Service]\n"},
            {"web@.service.d/10-a.conf", "[Service]\nNice=1\n"},
            {"web@.service.d/20-b.conf", "[Service]\nNice=2\n"},
            {"web@2.service.d/10-a.conf", "[Service]\nNice=3\n"}, // instead of the template's
            {"web@3.service.d/30-c.conf", "[Service]\nNice=4\n"},
            {"web@4.service.d/30-c.conf", "[Service]\nNice=4\n"}); // of an instance that nothing names
        take(&folder);
        assert_int_equal(folder.n_units, 5);
        expect(&folder.units[0], "db.service", "db.service", ARGOSY__TARGET__TARGET_LAUNCHED);
        expect_content(&folder.units[0], SLEEPER "\n# db.service.d/10-a.conf\n[Service]\nNice=1\n"
                                                 "\n# db.service.d/20-b.conf\n[Service]\nNice=2\n");
        expect(&folder.units[2], "web@1.service", "web@.service", ARGOSY__TARGET__TARGET_LAUNCHED);
        expect_content(&folder.units[2], SLEEPER "\n# web@.service.d/10-a.conf\n[Service]\nNice=1\n"
                                                 "\n# web@.service.d/20-b.conf\n[Service]\nNice=2\n");
        expect(&folder.units[3], "web@2.service", "web@2.service", ARGOSY__TARGET__TARGET_LAUNCHED);
        expect_content(&folder.units[3],
                       SLEEPER "# its own\n\n# web@2.service.d/10-a.conf\n[Service]\nNice=3\n"
                               "\n# web@.service.d/20-b.conf\n[Service]\nNice=2\n");
        expect(&folder.units[4], "web@3.service", "web@3.service", ARGOSY__TARGET__TARGET_LAUNCHED);
        expect_content(&folder.units[4], SLEEPER "\n# web@.service.d/10-a.conf\n[Service]\nNice=1\n"
                                                 "\n# web@.service.d/20-b.conf\n[Service]\nNice=2\n"
                                                 "\n# web@3.service.d/30-c.conf\n[Service]\nNice=4\n");
        assert_int_equal(folder.n_ignored, 2); // of none.service, and of web@4.service
}

#define BOX "[Container]\nImage=localhost/b:1\n"

static void what_containers_name_is_no_unit(void **state) {
        _cleanup_unit_folder_ UnitFolder folder = {};

        put("db.container", BOX "Volume=data.volume:/data\n");
        put("data.volume", "[Volume]\n");
        assert_int_equal(unit_folder_entry("data.volume.d"), UNIT_FOLDER_ENTRY_NONE);
        assert_int_equal(unit_folder_entry("db.container.d"), UNIT_FOLDER_ENTRY_DROP_INS);
        put("idle.network", "[Network]\n");
        take(&folder);
        assert_int_equal(folder.n_units, 1);
        expect_content(&folder.units[0], BOX "Volume=data.volume:/data\n\n# data.volume\n[Volume]\n");
        assert_int_equal(folder.n_ignored, 1);
        assert_string_equal(folder.ignored[0], "idle.network");
}

static void drop_ins_lead_nowhere_else(void **state) {
        put("db.service", SLEEPER);
        assert_int_equal(symlinkat("/etc", g.fd, "db.service.d"), 0);
        refuse(-ENOTDIR, "db.service.d is not a folder of drop-ins; links are not followed");
        assert_int_equal(unlinkat(g.fd, "db.service.d", 0), 0);
        make("db.service.d");
        assert_int_equal(symlinkat("/etc/passwd", g.fd, "db.service.d/a.conf"), 0);
        refuse(-ELOOP, "db.service.d/a.conf is not a regular file; links are not followed");
        assert_int_equal(unlinkat(g.fd, "db.service.d/a.conf", 0), 0);
        assert_int_equal(mkfifoat(g.fd, "db.service.d/a.conf", 0600), 0);
        refuse(-EISDIR, "db.service.d/a.conf is not a regular file");
        assert_int_equal(unlinkat(g.fd, "db.service.d/a.conf", 0), 0);
        put("db.service.d/a.conf", "[Service]\nNice=1\n[X-Argosy]\nNone=1\n");
        refuse(-EINVAL, "db.service.d/a.conf:4: ");
        put("db.service.d/a.conf", "Nice=1\n");
        refuse(-EINVAL, "db.service.d/a.conf does not begin with a section");
}

static void a_folder_that_is_none_is_said(void **state) {
        _cleanup_unit_folder_ UnitFolder folder = {};
        _cleanup_buf_ Buf why = {};

        assert_int_equal(unit_folder_read("/nonexistent", &folder, &why), -ENOENT);
        assert_true(why.len > 0);
}

static void there_is_an_end_to_files(void **state) {
        for (int i = 0; i <= SET_FILE_UNITS_MAX; i++) {
                put(printed("u%d.service", i), SLEEPER);
        }
        refuse(-E2BIG, "has more than 4096 unit files");
}

// ---- written

enum { POOL = 25, CONTENTS = 10 };

// Escapes, words of argosy.set, and what looks like a part of the folder and not of the set.
static const char *const pool[POOL] = {"LICENSE.service",  "README-mails.service",
                                       "a-b.service",      "a.service",
                                       "a@.service",       "a@1.service",
                                       "a@2.service",      "a@x:y.service",
                                       "a@z@z.service",    "a\\x2db.service",
                                       "b.service",        "b.timer",          "b@.timer",
                                       "b@1.timer",        "b@2.timer",
                                       "c@9.service",      "incomplete.service",
                                       "inactive.service", "launched.service",
                                       "loaded.service",   "set.service",
                                       "web@.service",     "web@\\x2f.service",
                                       "web@a.service",    "z_.service"};

static int compare_units(const void *a, const void *b) {
        return strcmp(((const FolderExportUnit *) a)->name, ((const FolderExportUnit *) b)->name);
}

static int append_part(Buf *text, const char *unit, const char *name, unsigned which) {
        return buf_printf(text, "\n# %s.d/%s\n[Unit]\nDescription=%u\n", unit, name, which);
}

static char *box_of(const char *unit, unsigned which) {
        _cleanup_free_ char *template =
                unit_name_kind(unit, NULL) == UNIT_NAME_INSTANCE ? unit_name_template(unit) : strdup(unit);
        _cleanup_free_ char *file = quadlet_file(unit), *shared = quadlet_file(template);
        Buf text = {};
        int r = buf_printf(&text, "[Container]\nImage=localhost/box:%u\n", which);

        if (r == 0 && which >= 8)
                r = append_part(&text, shared, "10-a.conf", 0);
        if (r == 0 && which == 9)
                r = append_part(&text, file, "20-b.conf", which);
        assert_int_equal(r, 0);
        return buf_take_string(&text);
}

// Plain ones; some with drop-ins of the template's folder (or the unit's own, if it is no instance), which
// may be alike or not; one with those of another unit, which the folder cannot split. The last ones are of
// containers, if the unit is a service.
static char *content_of(const char *unit, unsigned which) {
        bool container = which >= 7 && str_has_suffix(unit, ".service");
        _cleanup_free_ char *box = container ? box_of(unit, which) : NULL;
        _cleanup_free_ char *template =
                unit_name_kind(unit, NULL) == UNIT_NAME_INSTANCE ? unit_name_template(unit) : strdup(unit);
        Buf text = {};

        if (container)
                return TAKE_PTR(box);
        int r = streq(unit_name_suffix(unit), ".timer")
                        ? buf_printf(&text, "[Timer]\nOnBootSec=%u\n", which)
                        : buf_printf(&text, "[Service]\nExecStart=/bin/sleep %u\n", which);

        if (r == 0 && which >= 3 && which < 7)
                r = append_part(&text, which == 6 ? "other.service" : template, "10-a.conf", which == 5);
        if (r == 0 && which == 4)
                r = append_part(&text, unit, "20-b.conf", which);
        assert_int_equal(r, 0);
        return buf_take_string(&text);
}

static Hash hash_of_content(const char *unit, unsigned which) {
        _cleanup_free_ char *text = content_of(unit, which);

        return hash_of(text, strlen(text));
}

// Half of the pool; instances have their template's content as often as not.
static size_t make_set(unsigned *seed, FolderExportUnit units[POOL]) {
        size_t n = 0;

        for (size_t i = 0; i < POOL; i++) {
                bool is_template = unit_name_kind(pool[i], NULL) == UNIT_NAME_TEMPLATE;
                unsigned content = (unsigned) rand_r(seed) % CONTENTS;

                if (rand_r(seed) % 2)
                        continue;
                units[n++] = (FolderExportUnit){pool[i], hash_of_content(pool[i], content),
                                                is_template ? ARGOSY__TARGET__TARGET_INACTIVE
                                                            : (Argosy__Target) (rand_r(seed) % 3)};
        }
        qsort(units, n, sizeof(*units), compare_units);
        return n;
}

static void fill_in(FolderExport *e) {
        for (size_t i = 0; i < e->n_files; i++) {
                FolderExportFile *file = &e->files[i];

                for (unsigned which = 0; file->differs && file->content.len == 0 && which < CONTENTS;
                     which++) {
                        _cleanup_free_ char *text = content_of(file->name, which);
                        Hash hash = hash_of(text, strlen(text));

                        if (hash_equal(&hash, &file->hash))
                                assert_int_equal(buf_append(&file->content, text, strlen(text)), 0);
                }
        }
}

static int begin(FolderExport *e, const FolderExportUnit *units, size_t n, Buf *why) {
        e->set = "shop";
        e->units = units;
        e->n_units = n;
        int r = folder_export_lay_out(e, why);
        return r < 0 ? r : folder_export_compare(e, g.dir, why);
}

static void write_set(const FolderExportUnit *units, size_t n) {
        _cleanup_folder_export_ FolderExport e = {};
        _cleanup_buf_ Buf why = {};
        int r = begin(&e, units, n, &why);
        bool more = true;

        while (more) {
                fill_in(&e);
                assert_int_equal(folder_drop_ins_spread(&e, &more), 0);
        }
        assert_int_equal(folder_drop_ins_decide(&e), 0);
        if (r == 0)
                r = folder_export_write(&e, g.dir, &why);
        if (r < 0)
                fail_msg("%d: %.*s", r, (int) why.len, (const char *) why.data);
}

static void expect_set(const FolderExportUnit *units, size_t n) {
        _cleanup_unit_folder_ UnitFolder folder = {};
        _cleanup_folder_export_ FolderExport again = {};
        _cleanup_buf_ Buf why = {};

        take(&folder);
        assert_int_equal(folder.n_units, n + folder.n_brought);
        if (folder.n_ignored > 0)
                fail_msg("%s was left", folder.ignored[0]);
        assert_string_equal(folder.set_file.set, "shop");
        for (size_t i = 0, k = 0; i < folder.n_units; i++) {
                const UnitFolderUnit *u = &folder.units[i];

                if (u->brought)
                        continue;
                assert_string_equal(u->name, units[k].name);
                assert_int_equal(u->target, units[k].target);
                assert_true(hash_equal(&u->file->hash, &units[k++].spec));
        }
        assert_int_equal(begin(&again, units, n, &why), 0);
        assert_true(folder_export_is_there(&again));
}

// Each over what the one before it has left.
static void what_is_written_is_read_again(void **state) {
        FolderExportUnit units[POOL];
        unsigned seed = 9;

        for (int round = 0; round < 200; round++) {
                size_t n = make_set(&seed, units);

                write_set(units, n);
                expect_set(units, n);
        }
}

static void drop_ins_are_files_of_their_own(void **state) {
        const FolderExportUnit units[] = {
                {"a@.service", hash_of_content("a@.service", 4), ARGOSY__TARGET__TARGET_INACTIVE},
                {"a@1.service", hash_of_content("a@1.service", 4), ARGOSY__TARGET__TARGET_LAUNCHED},
                {"b.timer", hash_of_content("b.timer", 3), ARGOSY__TARGET__TARGET_LAUNCHED},
                {"b@.timer", hash_of_content("b@.timer", 6), ARGOSY__TARGET__TARGET_INACTIVE}};
        FolderExportUnit without[] = {
                units[0],
                {"a@1.service", hash_of_content("a@1.service", 3), ARGOSY__TARGET__TARGET_LAUNCHED}};

        write_set(units, 4);
        assert_true(has("b.timer.d/10-a.conf"));
        // no folder of that name would be read again
        assert_false(has("b@.timer.d") || has("other.service.d"));
        assert_true(has("a@.service.d/10-a.conf") && has("a@.service.d/20-b.conf"));
        assert_true(has("a@1.service.d/20-b.conf")); // in the place of the template's
        assert_false(has("a@1.service.d/10-a.conf"));
        write_set(without, 2);
        // 20-b.conf of the template's would be the instance's
        assert_false(has("a@.service.d") || has("a@1.service.d"));
        assert_false(has("b.timer.d"));
}

static void nothing_is_written_through_a_link(void **state) {
        const FolderExportUnit unit = {"b.timer", hash_of_content("b.timer", 3),
                                       ARGOSY__TARGET__TARGET_LAUNCHED};
        _cleanup_folder_export_ FolderExport e = {};
        _cleanup_buf_ Buf why = {};

        assert_int_equal(mkdirat(g.fd, "elsewhere", 0700), 0);
        put("elsewhere/50-x.conf", "[Unit]\n");
        put("argosy.set", "# argosyctl export of the set shop\nset shop\n");
        assert_int_equal(symlinkat("elsewhere", g.fd, "b.timer.d"), 0);
        assert_int_equal(begin(&e, &unit, 1, &why), 0);
        fill_in(&e);
        assert_int_equal(folder_drop_ins_decide(&e), 0);
        assert_int_equal(folder_export_write(&e, g.dir, &why), -ENOTDIR);
        assert_true(has("elsewhere/50-x.conf"));
        assert_false(has("elsewhere/10-a.conf"));
}

static ino_t inode(const char *name) {
        struct stat st;

        assert_int_equal(fstatat(g.fd, name, &st, 0), 0);
        return st.st_ino;
}

static void only_what_differs_is_touched(void **state) {
        const FolderExportUnit before[] = {{"a.service", hash_of_content("a.service", 1),
                                            ARGOSY__TARGET__TARGET_LAUNCHED},
                                           {"b.service", hash_of_content("b.service", 1),
                                            ARGOSY__TARGET__TARGET_LAUNCHED}},
                               after[] = {{"b.service", hash_of_content("b.service", 1),
                                           ARGOSY__TARGET__TARGET_LOADED}};

        put("README.md", "of the shop");
        assert_int_equal(mkdirat(g.fd, ".git", 0700), 0);
        write_set(before, 2);
        put("Makefile", "all:\n"); // somebody has added it
        ino_t was = inode("b.service");
        ino_t set_was = inode("argosy.set");
        write_set(before, 2);
        assert_int_equal(inode("argosy.set"), set_was);
        write_set(after, 1);
        assert_int_equal(inode("b.service"), was);
        assert_false(has("a.service"));
        assert_true(has("README.md") && has(".git") && has("Makefile"));
}

static void refuse_export(const FolderExportUnit *u, int error, const char *text) {
        _cleanup_folder_export_ FolderExport e = {};
        _cleanup_buf_ Buf why = {};
        _cleanup_free_ char *got = NULL;

        assert_int_equal(begin(&e, u, 1, &why), error);
        got = buf_take_string(&why);
        if (!strstr(got, text))
                fail_msg("'%s' is not in: %s", text, got);
}

static void a_folder_of_somebody_else_is_left_alone(void **state) {
        const FolderExportUnit unit = {"a.service", hash_of_content("a.service", 1),
                                       ARGOSY__TARGET__TARGET_LAUNCHED};
        static const char *const theirs[] = {"argosy.set", "b.service", "Makefile"};

        for (size_t i = 0; i < ELEMENTSOF(theirs); i++) {
                put(theirs[i], "set shop\n");
                refuse_export(&unit, -ENOTEMPTY, "is not empty, and not an export of the set shop");
                assert_int_equal(unlinkat(g.fd, theirs[i], 0), 0);
        }
        put("argosy.set", "# argosyctl export of the set shopping\nset shopping\n");
        refuse_export(&unit, -ENOTEMPTY, "is not empty");
}

static void names_that_a_folder_would_not_show_are_refused(void **state) {
        char longest[UNIT_NAME_MAX + 1];
        FolderExportUnit unit = {".a.service", {}, ARGOSY__TARGET__TARGET_LAUNCHED};

        refuse_export(&unit, -EINVAL,
                      ".a.service cannot be exported: the name of its file would be hidden");
        memset(longest, 'a', UNIT_NAME_MAX);
        strcpy(longest + UNIT_NAME_MAX - strlen(".service"), ".service");
        unit.name = longest;
        refuse_export(&unit, -EINVAL, "would be too long");
}

static void an_export_in_the_middle_is_not_applied_and_goes_on(void **state) {
        const FolderExportUnit unit = {"a.service", hash_of_content("a.service", 1),
                                       ARGOSY__TARGET__TARGET_LAUNCHED};
        _cleanup_folder_export_ FolderExport e = {};
        _cleanup_buf_ Buf why = {};
        _cleanup_free_ char *set = NULL;

        assert_int_equal(mkdirat(g.fd, "a.service", 0700), 0);
        put("argosy.set", "# argosyctl export of the set shop\nset shop\n");
        assert_int_equal(begin(&e, &unit, 1, &why), 0);
        fill_in(&e);
        assert_int_equal(folder_export_write(&e, g.dir, &why), -EISDIR);
        assert_int_equal(unlinkat(g.fd, "a.service", AT_REMOVEDIR), 0);
        refuse(-EINVAL,
               "argosy.set:3: 'incomplete' is what an export leaves that has not come to its end");
        assert_int_equal(folder_export_find_set(g.dir, &set), 0);
        assert_string_equal(set, "shop");
        write_set(&unit, 1);
        expect_set(&unit, 1);
}

static void a_folder_is_made(void **state) {
        const FolderExportUnit unit = {"a.service", hash_of_content("a.service", 1),
                                       ARGOSY__TARGET__TARGET_LAUNCHED};
        const Fixture outer = g;

        str_fit(g.dir, sizeof(g.dir), "%s/new", outer.dir);
        write_set(&unit, 1);
        expect_set(&unit, 1);
        g = outer;
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(
        CASE(units_are_what_files_and_the_set_file_say),
        CASE(a_containers_file_is_that_of_its_service),
        CASE(a_unit_is_of_one_kind),
        CASE(what_units_bring_along_is_a_part_of_the_folder),
        CASE(what_a_unit_of_the_folder_activates_is_loaded),
        CASE(what_is_no_unit_is_named_or_does_not_count),
        CASE(a_unit_is_one_whatever_it_is_called),
        CASE(a_link_to_a_file_is_that_file),
        CASE(what_cannot_be_a_unit_ends_it),
        CASE(a_folder_that_is_none_is_said),
        CASE(there_is_an_end_to_files),
        CASE(what_is_written_is_read_again),
        CASE(drop_ins_are_part_of_the_content),
        CASE(drop_ins_lead_nowhere_else),
        CASE(what_containers_name_is_no_unit),
        CASE(drop_ins_are_files_of_their_own),
        CASE(nothing_is_written_through_a_link),
        CASE(only_what_differs_is_touched),
        CASE(a_folder_of_somebody_else_is_left_alone),
        CASE(names_that_a_folder_would_not_show_are_refused),
        CASE(an_export_in_the_middle_is_not_applied_and_goes_on),
        CASE(a_folder_is_made)
)
