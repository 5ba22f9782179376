// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which files may come with a unit, and that a content has the manifest of just these. In the log: they are
// there as long as a content names them which is there, whole or not at all.
#include "cluster-words.h"

#include <errno.h>

#include "carried-files.h"
#include "cluster-state-limits.h"
#include "feature-level.h"
#include "str.h"

#define SERVICE "[Service]\nExecStart=/bin/web\n"
#define FILE_OF(value) SERVICE "[X-Argosy]\nFile=" value "\n"

// ------------------------------------------------------------------------------------------------ words

static UnitFile *parse(const char *text) {
        _cleanup_free_ char *why = NULL;
        UnitFile *file = NULL;

        if (unit_file_parse("web.service", text, strlen(text), &file, &why) < 0)
                fail_msg("%s", why);
        return file;
}

static void assert_no_value(const char *value, const char *expected) {
        _cleanup_free_ char *text = str_printf(FILE_OF("%s"), value), *why = NULL;
        UnitFile *file = NULL;

        assert_int_equal(unit_file_parse("web.service", text, strlen(text), &file, &why), -EINVAL);
        if (!strstr(why, expected) || !str_has_prefix(why, "web.service:4: File=: "))
                fail_msg("\"%s\" does not say \"%s\"", why, expected);
}

static void a_source_lies_beneath_the_folder_of_the_unit_file(void **state) {
        assert_no_value("/etc/shadow", "not beneath");
        assert_no_value("../web.conf", "as it is to be written");
        assert_no_value("a/../b", "as it is to be written");
        assert_no_value("./a", "as it is to be written");
        assert_no_value("a//b", "as it is to be written");
        assert_no_value("a/", "as it is to be written");
        assert_no_value("a%n", "other characters");
        assert_no_value("a\\x2fb", "other characters");
        assert_no_value("*/web.conf", "only the last part");
        assert_no_value(":/etc/web", "other characters");
}

static void a_destination_is_a_plain_path_that_is_a_units_to_change(void **state) {
        assert_no_value("a:etc/web", "not a path as a destination has it");
        assert_no_value("a:/etc//web", "not a path as a destination has it");
        assert_no_value("a:/etc/web/", "not a path as a destination has it");
        assert_no_value("a:/etc/../web", "not a path as a destination has it");
        assert_no_value("a:/etc/a:b", "not a path as a destination has it");
        assert_no_value("a:/", "not a path as a destination has it");
        assert_no_value("a:/etc/%H", "no specifier but %i");
        assert_no_value("a:/etc/%", "no specifier but %i");
        assert_no_value("a:/usr/lib/web", "/usr is not a unit's to change");
        assert_no_value("a:/proc/1", "/proc is not");
        assert_no_value("a:/run/argosy/units", "/run/argosy is not");
        assert_no_value("a:/var/run/argosy/units", "/var/run is not"); // /run by another name
        assert_no_value("a:/var/run/systemd/system", "/var/run is not");
        assert_no_value("a:/etc", "is not a unit's to change"); // in which systemd's own is
        assert_no_value("a:/etc/systemd/system/x", "/etc/systemd is not");
        assert_no_value("a:/tmp/x", "/tmp is not"); // argosyd sees another one
}

static void a_source_is_a_file_a_folder_or_a_pattern(void **state) {
        FileSource file = {.source = (char *) "web.d"}, pattern = {.source = (char *) "web.d/*.conf"};

        assert_true(file_source_covers(&file, "web.d"));
        assert_true(file_source_covers(&file, "web.d/a/b"));
        assert_false(file_source_covers(&file, "web.db"));
        assert_true(file_source_covers(&pattern, "web.d/a.conf"));
        assert_false(file_source_covers(&pattern, "web.d/.a.conf"));
        assert_false(file_source_covers(&pattern, "web.d/a/b.conf"));
        assert_false(file_source_covers(&pattern, "a.conf"));
}

static void only_system_managers_run_units_with_files(void **state) {
        static const char text[] = FILE_OF("a") "Manager=user@1000\n";
        _cleanup_free_ char *why = NULL;
        UnitFile *file = NULL;

        assert_int_equal(unit_file_parse("web.service", text, strlen(text), &file, &why), -EINVAL);
        assert_string_equal(why, "web.service:5: File= and Manager= exclude each other: only system "
                                 "managers run units with files");
}

static void an_empty_line_takes_back_those_before(void **state) {
        _cleanup_(unit_file_freep) UnitFile *file = parse(FILE_OF("a b:/etc/b\nFile=\nFile=c"));

        assert_int_equal(file->n_file_sources, 1);
        assert_string_equal(file->file_sources[0].source, "c");
}

static void no_instance_binds_two_at_one_place(void **state) {
        _cleanup_(unit_file_freep) UnitFile *file = parse(FILE_OF("a:/etc/web/%i b:/etc/web/b c:/etc/c"));
        _cleanup_free_ char *why = NULL;

        assert_int_equal(carried_files_check_name(file, "web@a.service", &why), 0);
        assert_int_equal(carried_files_check_name(file, "web@b.service", &why), -EINVAL);
        assert_non_null(strstr(why, "/etc/web/b and /etc/web/b cannot both be bound"));
}

static void what_a_drop_in_says_of_files_counts(void **state) {
        _cleanup_(unit_file_freep) UnitFile *file =
                parse(SERVICE "\n# web.service.d/10-files.conf\n[X-Argosy]\nFile=a\n");

        assert_int_equal(file->n_file_sources, 1);
        assert_int_equal(file->file_sources[0].line, 6);
}

static void only_services_have_files(void **state) {
        _cleanup_(unit_file_freep) UnitFile *file = parse(FILE_OF("a:/etc/web/%i"));
        char *why = NULL;

        assert_int_equal(carried_files_check_name(file, "web@1.service", &why), 0);
        assert_int_equal(carried_files_check_name(file, "web@.service", &why), 0);
        assert_int_equal(carried_files_check_name(file, "web@1.timer", &why), -EINVAL);
        free(why);
        assert_int_equal(carried_files_check_name(file, "web@...service", &why), -EINVAL); // whose %i is ..
        free(why);
}

// --------------------------------------------------------------------------------------------- the manifest

static void add_file(CarriedFiles *c, const char *name, const char *bytes) {
        Hash hash = hash_of(bytes, strlen(bytes));

        assert_int_equal(carried_files_add(c, name, str_has_suffix(name, ".sh"), strlen(bytes), &hash), 0);
}

// The content of that text, with these files of the one word each.
static char *compose(const char *text, const char *const *names) {
        _cleanup_carried_files_ CarriedFiles c = {};
        _cleanup_buf_ Buf content = {};
        UnitFile *file = parse(text);
        char *why = NULL;

        for (; *names; names++)
                add_file(&c, *names, *names);
        assert_int_equal(buf_append(&content, text, strlen(text)), 0);
        assert_int_equal(carried_files_compose("web.service", file, &c, &content, &why), 0);
        unit_file_free(file);
        return buf_take_string(&content);
}
#define COMPOSE(text, ...) compose(text, (const char *const[]){__VA_ARGS__, NULL})

static char *check_as(const char *name, const char *content) {
        UnitFile *file = parse(content);
        char *why = NULL;
        int r = carried_files_check("web.service", name, content, strlen(content), file, &why);

        assert_int_equal(r, why ? -EINVAL : 0);
        unit_file_free(file);
        return why;
}

static void assert_checked_as(const char *name, const char *content, const char *expected) {
        _cleanup_free_ char *why = check_as(name, content);

        if (!expected != !why || (why && !strstr(why, expected)))
                fail_msg("\"%s\", not \"%s\", is said of\n%s", why ?: "nothing", expected ?: "nothing",
                         content);
}

static void assert_checked(const char *content, const char *expected) {
        assert_checked_as("web.service", content, expected);
}

static char *replaced(const char *text, const char *from, const char *to) {
        const char *at = strstr(text, from);

        assert_non_null(at);
        return str_printf("%.*s%s%s", (int) (at - text), text, to, at + strlen(from));
}

static void a_manifest_has_what_systemd_is_to_do_and_the_list(void **state) {
        _cleanup_free_ char *content = COMPOSE(FILE_OF("conf:/etc/web x.sh"), "x.sh", "conf/b", "conf/a");
        _cleanup_carried_files_ CarriedFiles c = {};
        Hash b = hash_of("conf/b", 6);

        assert_non_null(strstr(
                content,
                "\n# web.service.d/~argosy.conf\n[Service]\nEnvironment=ARGOSY_FILES=/run/argosy/units/%n\n"
                "BindReadOnlyPaths=/run/argosy/units/%n/conf:/etc/web\nTemporaryFileSystem=/dev/"
                "argosy:mode=0700\n"
                "BindReadOnlyPaths=/etc/web:/dev/argosy/0:norbind\n[Unit]\nAssertPathIsDirectory=/etc/"
                "web\n\n# "));
        assert_int_equal(carried_files_text_len(content, strlen(content)),
                         strlen(FILE_OF("conf:/etc/web x.sh")));
        assert_int_equal(carried_files_read(content, strlen(content), &c), 0);
        assert_int_equal(c.n, 3);
        assert_string_equal(c.list[0].name, "conf/a");
        assert_true(hash_equal(&carried_files_find(&c, "conf/b")->hash, &b));
        assert_true(carried_files_find(&c, "x.sh")->executable);
        assert_int_equal(carried_files_bytes(&c), 16);
        assert_checked(content, NULL);
}

// Where systemd is to bind over it is a source, too, and before that: a source has to be there, and is never
// made.
static void what_is_bound_over_is_a_source_before_that(void **state) {
        _cleanup_free_ char *content =
                                    COMPOSE(FILE_OF("conf:/srv/web x.sh y:/etc/y"), "x.sh", "conf/b", "y"),
                            *none = COMPOSE(FILE_OF("conf"), "conf/b");
        const char *guards = strstr(content, "TemporaryFileSystem=/dev/argosy:mode=0700\nBindReadOnlyPaths=/"
                                             "srv/web:/dev/argosy/0:norbind\n"
                                             "BindReadOnlyPaths=/etc/y:/dev/argosy/1:norbind\n");

        assert_non_null(guards);
        assert_null(strstr(none, "/dev/argosy"));
}

// systemd binds in the order of places, component by component.
static void what_would_be_bound_before_the_guards_is_called_by_a_path_behind_them(void **state) {
        static const struct {
                const char *destination;
                bool before;
        } rows[] = {{"/data", true},     {"/boot/web.conf", true}, {"/de", true},
                    {"/Web", true},      {"/%i/web", true},        {"/x%i", true},
                    {"/devices", false}, {"/etc/data", false},     {"/srv/a-%i", false}};

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_free_ char *text = str_printf(FILE_OF("conf:%s"), rows[i].destination),
                                    *content = COMPOSE(text, "conf/b"),
                                    *expected = str_printf(
                                            "\nBindReadOnlyPaths=/run/argosy/units/%%n/conf:%s%s\n",
                                            rows[i].before ? "/proc/self/root" : "", rows[i].destination),
                                    *guard = str_printf("\nBindReadOnlyPaths=%s:/dev/argosy/0:norbind\n",
                                                        rows[i].destination);

                assert_non_null(strstr(content, expected));
                assert_non_null(strstr(content, guard));
                assert_checked(content, NULL);
        }
}

// It is systemd's first process that looks for it: where it reads itself, and nowhere else.
static void what_lies_in_etc_is_there_or_systemd_does_not_start_the_unit(void **state) {
        _cleanup_free_ char *content = COMPOSE("[Service]\nExecStart=/bin/web\n[X-Argosy]\nFile=a:/etc/"
                                               "web-%i.conf b/*:/etc/b c/d:/srv/etc/d c\n",
                                               "a", "b/e", "c/d", "c/f");
        const char *unit = strstr(content, "\n[Unit]\n");

        assert_non_null(unit);
        assert_non_null(strstr(content, "/srv/etc/d:/dev/argosy/2:norbind\n[Unit]\nAssertPathExists=/etc/"
                                        "web-%i.conf\n[Unit]\nAssertPathIsDirectory=/etc/b\n\n# "));
        assert_checked(content, NULL);
}

static void a_content_without_files_is_its_text(void **state) {
        _cleanup_carried_files_ CarriedFiles c = {};

        assert_int_equal(carried_files_read(SERVICE, strlen(SERVICE), &c), 0);
        assert_int_equal(c.n, 0);
        assert_int_equal(carried_files_text_len(SERVICE, strlen(SERVICE)), strlen(SERVICE));
        assert_checked(SERVICE, NULL);
}

static void nothing_of_a_manifest_is_written_by_hand(void **state) {
        _cleanup_free_ char *content = COMPOSE(FILE_OF("a:/etc/a"), "a"),
                            *other = replaced(content, "/etc/a\n\n#", "/etc/shadow\n\n#"),
                            *more = replaced(content, "[Service]\nEnv", "[Service]\nUser=root\nEnv"),
                            *size = replaced(content, "0444 1 ", "0444 01 "),
                            *bare = replaced(content, "File=a:/etc/a\n", "");

        assert_checked(other, "argosy's own");
        assert_checked(more, "argosy's own");
        assert_checked(size, "argosy's own");
        assert_checked(bare, "no File= names");
        assert_checked(SERVICE "\n# web.service.d/~argosy.conf\n[Service]\n", "argosy's own");
        assert_checked(SERVICE
                       "\n# web.service.d/~argosy.conf\n[Service]\n\n# web.service.d/~b.conf\n[Service]\n",
                       "argosy's own");
}

static void each_file_is_named_and_each_name_has_its_file(void **state) {
        _cleanup_free_ char *one = COMPOSE(FILE_OF("a b"), "a"), *two = COMPOSE(FILE_OF("a"), "a", "b"),
                            *both = COMPOSE(FILE_OF("a"), "a", "a/b");

        assert_checked(FILE_OF("a"), "File=a did not come");
        assert_checked(one, "File=b did not come");
        assert_checked(two, "no File= names");
        assert_checked(both, "a file and as a folder");
}

static void no_two_are_bound_at_one_place(void **state) {
        _cleanup_free_ char *same = COMPOSE(FILE_OF("a:/etc/x b:/etc/x"), "a", "b"),
                            *within = COMPOSE(FILE_OF("a:/etc/x b:/etc/x/y"), "a", "b"),
                            *beside = COMPOSE(FILE_OF("a:/etc/x b:/etc/xy"), "a", "b");

        assert_checked(same, "cannot both be bound");
        assert_checked(within, "cannot both be bound");
        assert_checked(beside, NULL);
}

static void what_systemd_itself_reads_is_named_where_it_sees_it(void **state) {
        static const char *const lines[] = {
                "EnvironmentFile=-/etc/web/env",   "LoadCredential=x:/etc/web/key",
                "LoadCredential=x:/etc/web",       "LoadCredentialEncrypted=x:/etc/web/key",
                "EnvironmentFile=/etc//web/./env", "EnvironmentFile=/etc/web/",
                "EnvironmentFile=-/etc/./web"};

        for (size_t i = 0; i < ELEMENTSOF(lines); i++) {
                _cleanup_free_ char *text = str_printf("[Service]\n%s\n[X-Argosy]\nFile=conf:/etc/web\n",
                                                       lines[i]),
                                    *content = COMPOSE(text, "conf/env");

                assert_checked(content, "/run/argosy/units/%n/conf");
        }
        _cleanup_free_ char *
                condition = COMPOSE("[Unit]\nConditionPathExists=|!/etc/web/on\n" FILE_OF("conf:/etc/web"),
                                    "conf/on"),
               *beside = COMPOSE("[Service]\nEnvironmentFile=/etc/website\n[X-Argosy]\nFile=conf:/etc/web\n",
                                 "conf/a");

        _cleanup_free_ char *
                assertion = COMPOSE("[Unit]\nAssertPathIsReadWrite=/etc//web/on\n" FILE_OF("conf:/etc/web"),
                                    "conf/on"),
               *pattern = COMPOSE(
                       "[Service]\nEnvironmentFile=/etc/web/a.conf\n[X-Argosy]\nFile=conf/*.conf:/etc/web\n",
                       "conf/a.conf"),
               *root = COMPOSE("[Service]\nRootDirectory=/srv/root\n[X-Argosy]\nFile=conf:/etc/web\n",
                               "conf/a"),
               *image = COMPOSE("[Service]\nRootImage=/srv/image\n[X-Argosy]\nFile=conf\n", "conf/a");

        assert_checked(condition, "/run/argosy/units/%n/conf/on");
        assert_checked(assertion, "AssertPathIsReadWrite=/etc/web/on before the unit's files are in their "
                                  "place: say /run/argosy/units/%n/conf/on");
        assert_checked(pattern, "/run/argosy/units/%n/conf/a.conf");
        assert_checked(root, "web.service:2: beside RootDirectory= argosy binds nothing, and File=conf is "
                             "to be at /etc/web: name no place there, and bind it by hand "
                             "with BindReadOnlyPaths=/run/argosy/units/%n/conf:/etc/web");
        assert_checked(image, NULL);
        assert_checked(beside, NULL);
}

// As for the unit at hand, or for all instances of the template.
static void what_systemd_itself_reads_may_have_specifiers(void **state) {
        static const struct {
                const char *name, *setting, *destination, *said; // said: NULL: it is beneath none
        } rows[] = {
                {"web.service", "EnvironmentFile=-/etc/%p/env", "/etc/web",
                 "EnvironmentFile=/etc/web/env before the unit's files are in their place: say "
                 "/run/argosy/units/%n/conf/env"},
                {"web.service", "EnvironmentFile=/etc/%N/env", "/etc/web", "/run/argosy/units/%n/conf/env"},
                {"web.service", "LoadCredential=x:/etc/%n/key", "/etc/web.service",
                 "/run/argosy/units/%n/conf/key"},
                {"a-web.service", "EnvironmentFile=/etc/%j/env", "/etc/web",
                 "/run/argosy/units/%n/conf/env"},
                {"web.service", "EnvironmentFile=%E/web/env", "/etc/web", "/run/argosy/units/%n/conf/env"},
                {"web.service", "EnvironmentFile=-%S/web/env", "/var/lib/web",
                 "/run/argosy/units/%n/conf/env"},
                {"web.service", "EnvironmentFile=/etc/%%p/env", "/etc/web", NULL},
                {"web.service", "EnvironmentFile=/etc/%p", "/etc/web/a", NULL},
                {"web.service", "EnvironmentFile=/etc/%m/env", "/etc/web", NULL}, // of the node
                {"web.service", "EnvironmentFile=/etc/web%", "/etc/web", NULL},
                {"web@7.service", "EnvironmentFile=/etc/web-%i/env", "/etc/web-%i",
                 "EnvironmentFile=/etc/web-7/env before the unit's files are in their place: say "
                 "/run/argosy/units/%n/conf/env"},
                {"web@7.service", "EnvironmentFile=/etc/web-7/env", "/etc/web-%i",
                 "/run/argosy/units/%n/conf/env"},
                {"web@.service", "EnvironmentFile=/etc/web-%i/env", "/etc/web-%i",
                 "EnvironmentFile=/etc/web-%i/env before"},
                {"web@.service", "EnvironmentFile=/etc/%p-%i/%i.env", "/etc/web-%i",
                 "/run/argosy/units/%n/conf/%i.env"},
                {"web@.service", "EnvironmentFile=/etc/web-7/env", "/etc/web-%i", NULL}, // of one of them
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_free_ char *text = str_printf("[Service]\n%s\n[X-Argosy]\nFile=conf:%s\n",
                                                       rows[i].setting, rows[i].destination),
                                    *content = COMPOSE(text, "conf/env");

                assert_checked_as(rows[i].name, content, rows[i].said);
        }
}

static void assert_name_checked(const UnitFile *file, const char *name, const char *said) {
        _cleanup_free_ char *why = NULL;

        assert_int_equal(carried_files_check_name(file, name, &why), said ? -EINVAL : 0);
        if (said)
                assert_string_equal(why, said);
}

// What of a template is written out is one instance's: all others may have it.
static void what_systemd_itself_reads_may_be_one_instances(void **state) {
        _cleanup_free_ char
                *text = COMPOSE("[Unit]\nConditionPathExists=/etc/web/8/on\n[Service]\nEnvironmentFile=-/"
                                "etc/web//7/env\nLoadCredential=x:/etc/%p/9/key\n"
                                "[X-Argosy]\nFile=conf:/etc/web/%i\n",
                                "conf/env"),
                *plain = COMPOSE(
                        "[Service]\nEnvironmentFile=/etc/web/7/env\n[X-Argosy]\nFile=conf:/etc/conf\n",
                        "conf/env");
        UnitFile *file = NULL;

        assert_checked_as("web@.service", text, NULL);
        assert_int_equal(unit_file_parse("web@.service", text, strlen(text), &file, NULL), 0);
        assert_name_checked(file, "web@.service", NULL);
        assert_name_checked(file, "web@6.service", NULL);
        assert_name_checked(file, "web@7.service",
                            "systemd reads EnvironmentFile=/etc/web/7/env before the unit's files are in "
                            "their place: say /run/argosy/units/%n/conf/env");
        assert_name_checked(file, "web@8.service",
                            "systemd reads ConditionPathExists=/etc/web/8/on before the unit's files are in "
                            "their place: say /run/argosy/units/%n/conf/on");
        assert_name_checked(file, "web@9.service",
                            "systemd reads LoadCredential=/etc/web/9/key before the unit's files are in "
                            "their place: say /run/argosy/units/%n/conf/key");
        unit_file_free(file);
        assert_int_equal(unit_file_parse("web@.service", plain, strlen(plain), &file, NULL), 0);
        assert_null(file->file_settings); // all of it was judged for all instances
        unit_file_free(file);
}

#define RELOADS(more)                                          \
        "[Service]\nExecStart=/bin/web\nExecReload=/bin/kill " \
        "$MAINPID\n[X-Argosy]\nFile=conf:/etc/web\nFileChange=reload\n" more

static void what_runs_goes_on_when_nothing_but_its_files_has_changed(void **state) {
        _cleanup_free_ char *one = COMPOSE(RELOADS(""), "conf/a"),
                            *two = COMPOSE(RELOADS(""), "conf/a", "conf/b"),
                            *other = COMPOSE(RELOADS("[Service]\nUser=web\n"), "conf/a");
        const Argosy__FileChange reload = ARGOSY__FILE_CHANGE__FILE_CHANGE_RELOAD,
                                 restart = ARGOSY__FILE_CHANGE__FILE_CHANGE_RESTART;

        assert_int_equal(carried_files_change(one, strlen(one), reload, two, strlen(two)), reload);
        assert_int_equal(carried_files_change(one, strlen(one), restart, two, strlen(two)), restart);
        assert_int_equal(carried_files_change(one, strlen(one), reload, other, strlen(other)), restart);
        assert_int_equal(carried_files_change(RELOADS(""), strlen(RELOADS("")), reload, one, strlen(one)),
                         restart); // there were none before
        assert_int_equal(carried_files_change(one, strlen(one), reload, RELOADS(""), strlen(RELOADS(""))),
                         restart);
}

static void assert_refused(const char *text, const char *expected) {
        _cleanup_free_ char *why = NULL;
        UnitFile *file = NULL;

        assert_int_equal(unit_file_parse("web.service", text, strlen(text), &file, &why), -EINVAL);
        assert_string_equal(why, expected);
}

static void a_reload_needs_to_be_one_and_a_folder(void **state) {
        _cleanup_free_ char *folder = COMPOSE(RELOADS("File=one\n"), "conf/a", "one"),
                            *file = COMPOSE(RELOADS("File=one:/etc/one\n"), "conf/a", "one"),
                            *dots = COMPOSE(RELOADS(""), "conf/..data"),
                            *kept = COMPOSE(FILE_OF("one:/etc/one") "FileChange=none\n", "one");

        assert_checked(folder, NULL); // what is bound nowhere is read where it is
        assert_checked(kept, NULL);
        assert_checked(file, "web.service:7: with FileChange=reload only folders are bound, and one is a "
                             "file: put it into one");
        assert_checked(dots, "conf/..data: beside FileChange= no name may begin with two dots");
        assert_refused(FILE_OF("a") "FileChange=reload\n",
                       "web.service:5: FileChange=reload needs ExecReload= in [Service]");
        assert_refused(RELOADS("[Service]\nExecReload=\n"),
                       "web.service:6: FileChange=reload needs ExecReload= in [Service]");
        assert_refused(RELOADS("File=\n"),
                       "web.service:6: FileChange= says something of files, and no File= names one");
        assert_refused(FILE_OF("a") "FileChange=later\n",
                       "web.service:5: FileChange=later is neither restart, reload nor none");
}

typedef struct Folders {
        Buf text;
} Folders;

static int add_folder(const char *folder, size_t len, void *userdata) {
        return buf_printf(&((Folders *) userdata)->text, "[%.*s]", (int) len, folder);
}

static void what_is_bound_stays_and_so_do_the_folders_above_it(void **state) {
        _cleanup_carried_files_ CarriedFiles files = {};
        _cleanup_(unit_file_freep) UnitFile *file =
                parse(FILE_OF("a/b/c:/etc/c d/*.conf:/etc/d *.x:/etc/x one:/etc/one e"));
        Folders f = {};

        add_file(&files, "one", "1");
        assert_int_equal(
                carried_folders_that_stay(file->file_sources, file->n_file_sources, &files, add_folder, &f),
                0);
        assert_int_equal(buf_append(&f.text, "", 1), 0);
        assert_string_equal((const char *) f.text.data, "[][a][a/b][a/b/c][d]");
        buf_done(&f.text);
}

static void a_drop_in_that_would_be_last_is_refused(void **state) {
        const char *text = FILE_OF("a") "\n# web.service.d/~b.conf\n[Service]\nNice=1\n";
        _cleanup_carried_files_ CarriedFiles c = {};
        _cleanup_free_ char *why = NULL;
        _cleanup_buf_ Buf content = {};
        _cleanup_(unit_file_freep) UnitFile *file = parse(text);

        add_file(&c, "a", "a");
        assert_int_equal(buf_append(&content, text, strlen(text)), 0);
        assert_int_equal(carried_files_compose("web.service", file, &c, &content, &why), -EINVAL);
        assert_non_null(strstr(why, "sort behind"));
}

static void larger_things_are_images_or_packages(void **state) {
        _cleanup_carried_files_ CarriedFiles c = {};
        _cleanup_buf_ Buf content = {};
        _cleanup_(unit_file_freep) UnitFile *file = parse(FILE_OF("a b"));
        Hash hash = hash_of("a", 1);

        assert_int_equal(carried_files_add(&c, "a", false, CARRIED_FILE_MAX, &hash), 0);
        // the text is more than that
        assert_int_equal(carried_files_add(&c, "b", false, CARRIED_FILE_MAX / 2, &hash), 0);
        assert_int_equal(buf_append(&content, FILE_OF("a b"), strlen(FILE_OF("a b"))), 0);
        assert_int_equal(carried_files_compose("web.service", file, &c, &content, NULL), 0);
        assert_int_equal(buf_append(&content, "", 1), 0);
        assert_checked((const char *) content.data, "images or packages");
}

// ------------------------------------------------------------------------------------------------ the log

static void put_bytes(Batch *b, const char *bytes) {
        batch_spec(b, bytes);
        b->log.ops[b->log.n_ops - 1]->spec->file = true;
}

// A unit that gets this content, in a job.
static void put(ClusterState *s, const char *name, const char *content) {
        Batch b = {};

        batch_unit(&b, name, content, (UnitPut){.target = LAUNCHED});
        batch_job(&b, (JobPut){.n_ops = 2});
        batch_set_time(&b, s, 1);
        apply(s, &b);
}

static void send(ClusterState *s, const char *bytes, const char *name, const char *content) {
        Batch b = {};

        put_bytes(&b, bytes);
        batch_unit(&b, name, content, (UnitPut){.target = LAUNCHED});
        batch_job(&b, (JobPut){.n_ops = 3});
        batch_set_time(&b, s, 1);
        apply(s, &b);
}

static void begin(ClusterState *s) {
        Batch b = {};

        batch_cluster(&b, 1);
        b.log.ops[0]->cluster->feature_level = FEATURE_LEVEL;
        batch_set_time(&b, s, 1);
        apply(s, &b);
}

static bool is_there(ClusterState *s, const char *bytes) {
        Hash hash = hash_of(bytes, strlen(bytes));

        return cluster_state_find_spec(s, &hash);
}

static void a_file_is_there_as_long_as_a_content_names_it(void **state) {
        _cleanup_free_ char *content = COMPOSE(FILE_OF("a"), "a");

        begin(g.s);
        send(g.s, "a", "web.service", content);
        assert_true(is_there(g.s, "a"));
        assert_int_equal(cluster_state_files_bytes(g.s), 1);
        pass_through_image(g.s);
        assert_int_equal(cluster_state_files_bytes(g.s), 1);
        put(g.s, "web.service", WEB); // and a job keeps what was before
        assert_true(is_there(g.s, content) && is_there(g.s, "a"));
        assert_int_equal(cluster_state_files_bytes(g.s), 0);
        assert_int_equal(cluster_state_former_specs_bytes(g.s),
                         strlen(content) + 1 + 2 * CLUSTER_FORMER_SPEC_EXTRA);
        pass_through_image(g.s);
        assert_int_equal(cluster_state_former_specs_bytes(g.s),
                         strlen(content) + 1 + 2 * CLUSTER_FORMER_SPEC_EXTRA);
        put(g.s, "web.service", content); // it has its file again
        assert_int_equal(cluster_state_files_bytes(g.s), 1);
        put(g.s, "web.service", WEB);
        batch_spec_forget(&g.b, content);
        apply(g.s, &g.b);
        assert_false(is_there(g.s, content) || is_there(g.s, "a"));
        assert_int_equal(cluster_state_former_specs_bytes(g.s), 0);
        pass_through_image(g.s);
}

static void a_file_of_two_contents_stays_for_the_other(void **state) {
        _cleanup_free_ char *one = COMPOSE(FILE_OF("a"), "a"), *two = COMPOSE(FILE_OF("a") "# two\n", "a");

        begin(g.s);
        send(g.s, "a", "web.service", one);
        put(g.s, "db.service", two);
        put(g.s, "web.service", WEB);
        assert_int_equal(cluster_state_files_bytes(g.s), 1);
        assert_int_equal(cluster_state_former_specs_bytes(g.s), strlen(one) + CLUSTER_FORMER_SPEC_EXTRA);
        batch_unit_remove(&g.b, "db.service");
        apply(g.s, &g.b);
        assert_int_equal(cluster_state_files_bytes(g.s), 0);
        assert_true(is_there(g.s, "a"));
        pass_through_image(g.s);
}

static void what_nobody_names_is_dropped_with_the_entry(void **state) {
        begin(g.s);
        put_bytes(&g.b, "a");
        apply(g.s, &g.b);
        assert_false(is_there(g.s, "a"));
}

static void a_content_without_its_file_is_no_units(void **state) {
        _cleanup_free_ char *content = COMPOSE(FILE_OF("a"), "a");

        begin(g.s);
        put(g.s, "web.service", content);
        assert_null(cluster_state_find_unit(g.s, "web.service"));
        const ClusterRefused *refused = cluster_state_next_refused(g.s);
        assert_int_equal(refused->refusal, REFUSAL_CONTENT);
}

static void a_file_that_looks_like_a_content_names_nothing(void **state) {
        _cleanup_free_ char *inner = COMPOSE(FILE_OF("a"), "a");
        const char *names[] = {"x", NULL};
        _cleanup_carried_files_ CarriedFiles c = {};
        _cleanup_buf_ Buf content = {};
        UnitFile *file = parse(FILE_OF("x"));

        add_file(&c, *names, inner);
        assert_int_equal(buf_append(&content, FILE_OF("x"), strlen(FILE_OF("x"))), 0);
        assert_int_equal(carried_files_compose("web.service", file, &c, &content, NULL), 0);
        assert_int_equal(buf_append(&content, "", 1), 0);
        unit_file_free(file);
        begin(g.s);
        send(g.s, inner, "web.service", (const char *) content.data);
        assert_non_null(cluster_state_find_unit(g.s, "web.service"));
        pass_through_image(g.s);
        send(g.s, "a", "db.service", inner); // now it is a content, too, and has its file
        assert_non_null(cluster_state_find_unit(g.s, "db.service"));
        pass_through_image(g.s);
}

static void there_are_only_so_many_bytes_of_files(void **state) {
        _cleanup_free_ char *one = COMPOSE(FILE_OF("a"), "a"), *two = COMPOSE(FILE_OF("b"), "b");

        begin(g.s);
        cluster_state_set_limit(g.s, REFUSAL_FILES_BYTES, 1);
        send(g.s, "a", "web.service", one);
        send(g.s, "b", "db.service", two);
        assert_null(cluster_state_find_unit(g.s, "db.service"));
        assert_int_equal(cluster_state_next_refused(g.s)->refusal, REFUSAL_FILES_BYTES);
        put(g.s, "web.service", WEB);
        send(g.s, "b", "db.service", two); // there is room again
        assert_non_null(cluster_state_find_unit(g.s, "db.service"));
        put(g.s, "web.service", one); // of before: as much as if it were sent
        assert_int_equal(cluster_state_files_bytes(g.s), 1);
}

static void limit_files(ClusterState *s, uint32_t files_mib, uint32_t history_mib) {
        Batch b = {};
        Argosy__QueueRecord *queue = BATCH_NEW(&b, Argosy__QueueRecord, argosy__queue_record__init);

        queue->files_mib = files_mib;
        queue->history_mib = history_mib;
        batch_op(&b, ARGOSY__LOG_OP__OP_QUEUE)->queue = queue;
        apply(s, &b);
}

// `n` KiB, ended by a NUL.
static char *large(char letter, size_t n) {
        char *text = malloc(n * 1024 + 1);

        memset(text, letter, n * 1024);
        text[n * 1024] = 0;
        return text;
}

static void send_large(ClusterState *s, const char *name, char letter) {
        _cleanup_free_ char *bytes = large(letter, 500);
        _cleanup_carried_files_ CarriedFiles c = {};
        _cleanup_buf_ Buf content = {};
        _cleanup_(unit_file_freep) UnitFile *file = parse(FILE_OF("a"));
        char *why = NULL;

        add_file(&c, "a", bytes);
        assert_int_equal(buf_append(&content, FILE_OF("a"), strlen(FILE_OF("a"))), 0);
        assert_int_equal(carried_files_compose(name, file, &c, &content, &why), 0);
        assert_int_equal(buf_append(&content, "", 1), 0);
        send(s, bytes, name, (const char *) content.data);
}

static void so_many_bytes_are_as_many_as_the_cluster_has_set(void **state) {
        char words[CLUSTER_REFUSAL_SIZE];

        begin(g.s);
        limit_files(g.s, 1, 0);
        send_large(g.s, "a.service", 'a');
        send_large(g.s, "b.service", 'b');
        assert_int_equal(cluster_state_files_bytes(g.s), 1000 * 1024);
        send_large(g.s, "c.service", 'c');
        assert_null(cluster_state_find_unit(g.s, "c.service"));
        assert_int_equal(cluster_state_next_refused(g.s)->refusal, REFUSAL_FILES_BYTES);
        assert_string_equal(cluster_refusal_words(g.s, REFUSAL_FILES_BYTES, words),
                            "there are as many bytes of files that come with units as there may be "
                            "(1048576, argosyctl files limit): larger things are images or packages");
        limit_files(g.s, 64, 0);
        send_large(g.s, "c.service", 'c');
        assert_non_null(cluster_state_find_unit(g.s, "c.service"));
}

// Former ones are no reason to refuse anything: the oldest of them go, and from there on nothing of before
// is there whole.
static void former_files_make_room_and_it_is_known_how_far_an_undo_reaches(void **state) {
        uint64_t first;

        begin(g.s);
        limit_files(g.s, 1, 1);
        send_large(g.s, "web.service", 'a');
        for (char letter = 'b'; letter <= 'd'; letter++) {
                assert_int_equal(cluster_state_undo_from(g.s), 0);
                if (letter == 'd')
                        first = cluster_state_last_job(g.s);
                send_large(g.s, "web.service", letter);
        }
        assert_int_equal(cluster_state_files_bytes(g.s), 500 * 1024);
        assert_true(cluster_state_former_specs_bytes(g.s) <= 1024 * 1024);
        send_large(g.s, "web.service", 'e');
        send_large(g.s, "web.service", 'f');
        assert_true(cluster_state_undo_from(g.s) >= first);
        pass_through_image(g.s);
        assert_true(cluster_state_undo_from(g.s) >= first);
}

RUN_TESTS(
        TEST(a_source_lies_beneath_the_folder_of_the_unit_file),
        TEST(a_destination_is_a_plain_path_that_is_a_units_to_change),
        TEST(a_source_is_a_file_a_folder_or_a_pattern),
        TEST(only_system_managers_run_units_with_files),
        TEST(an_empty_line_takes_back_those_before),
        TEST(no_instance_binds_two_at_one_place),
        TEST(what_a_drop_in_says_of_files_counts),
        TEST(only_services_have_files),
        TEST(a_manifest_has_what_systemd_is_to_do_and_the_list),
        TEST(a_content_without_files_is_its_text),
        TEST(nothing_of_a_manifest_is_written_by_hand),
        TEST(each_file_is_named_and_each_name_has_its_file),
        TEST(no_two_are_bound_at_one_place),
        TEST(what_is_bound_over_is_a_source_before_that),
        TEST(what_would_be_bound_before_the_guards_is_called_by_a_path_behind_them),
        TEST(what_lies_in_etc_is_there_or_systemd_does_not_start_the_unit),
        TEST(what_systemd_itself_reads_is_named_where_it_sees_it),
        TEST(what_systemd_itself_reads_may_have_specifiers),
        TEST(what_systemd_itself_reads_may_be_one_instances),
        TEST(what_runs_goes_on_when_nothing_but_its_files_has_changed),
        TEST(a_reload_needs_to_be_one_and_a_folder),
        TEST(what_is_bound_stays_and_so_do_the_folders_above_it),
        TEST(a_drop_in_that_would_be_last_is_refused),
        TEST(larger_things_are_images_or_packages),
        TEST(a_file_is_there_as_long_as_a_content_names_it),
        TEST(a_file_of_two_contents_stays_for_the_other),
        TEST(what_nobody_names_is_dropped_with_the_entry),
        TEST(a_content_without_its_file_is_no_units),
        TEST(a_file_that_looks_like_a_content_names_nothing),
        TEST(there_are_only_so_many_bytes_of_files),
        TEST(so_many_bytes_are_as_many_as_the_cluster_has_set),
        TEST(former_files_make_room_and_it_is_known_how_far_an_undo_reaches)
)
