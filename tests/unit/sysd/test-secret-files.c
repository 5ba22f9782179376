// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Values and links on a host: a unit starts with what its order says, keeps that until its next start, and
// leaves nothing behind.
#include <sys/stat.h>

#include "tmpdir.h"

#include "messages.h"
#include "secret-files.h"

static SecretFiles *f;

FIXTURE(setup) {
        assert_int_equal(tmpdir_enter(state), 0);
        assert_int_equal(secret_files_new(".", true, &f), 0);
}

static int teardown(void **state) {
        f = secret_files_free(f);
        return tmpdir_drop(state);
}

static void put(const char *name, uint64_t version, const char *text) {
        Argosy__SecretValue value =
                MESSAGE_OF(secret_value, .name = (char *) name, .version = version,
                           .value = (ProtobufCBinaryData){strlen(text), (uint8_t *) text});

        assert_int_equal(secret_files_put(f, &value), 0);
}

static int want_as(const char *unit, const char *id, const char *name, uint64_t version) {
        Argosy__OrderSecret secret = MESSAGE_OF(order_secret, .id = (char *) id, .name = (char *) name,
                                                .version = version),
                            *list[] = {&secret};

        return secret_files_want(f, unit, list, 1);
}

static void want(const char *unit, const char *name, uint64_t version) {
        assert_int_equal(want_as(unit, "key", name, version), 0);
}

static void want_nothing(const char *unit) {
        assert_int_equal(secret_files_want(f, unit, NULL, 0), 0);
}

static void place(const char *unit) {
        char why[SECRET_FILES_WHY_SIZE] = "";

        assert_int_equal(secret_files_place(f, unit, why), 0);
        assert_string_equal(why, "");
}

static bool is_here(const char *unit, void *userdata) {
        return strcmp(unit, userdata ?: "") == 0;
}

static void sweep(const char *here) {
        secret_files_sweep(f, is_here, (void *) here);
        assert_false(secret_files_is_due(f));
}

// NULL: there is no such file.
static const char *text_of(const char *path) {
        static char text[64];
        _cleanup_buf_ Buf b = {};

        if (file_read(AT_FDCWD, path, sizeof(text) - 1, &b) < 0)
                return NULL;
        memcpy(text, b.data, b.len);
        text[b.len] = 0;
        return text;
}

static void a_unit_starts_with_what_its_order_says(void **state) {
        struct stat st;

        put("db", 1, "hunter2");
        want("a.service", "db", 1);
        assert_null(text_of("units/a.service/key")); // not before it starts
        place("a.service");
        assert_string_equal(text_of("units/a.service/key"), "hunter2");
        assert_int_equal(stat("units/a.service/key", &st), 0);
        assert_int_equal(st.st_mode & 07777, 0444);
        assert_int_equal(stat("units", &st), 0);
        assert_int_equal(st.st_mode & 07777, 0700);
        place("b.service"); // it has none
}

static void it_keeps_that_until_its_next_start(void **state) {
        put("db", 1, "old");
        want("a.service", "db", 1);
        place("a.service");
        put("db", 2, "new");
        want("a.service", "db", 2);
        sweep("a.service");
        assert_null(text_of("values/1-db"));
        assert_string_equal(text_of("units/a.service/key"), "old");
        place("a.service");
        assert_string_equal(text_of("units/a.service/key"), "new");
        place("a.service"); // again
        assert_string_equal(text_of("units/a.service/key"), "new");
        assert_null(text_of("units/a.service/.new"));
}

static void a_version_that_was_away_and_came_again_is_what_it_has(void **state) {
        put("db", 1, "old");
        want("a.service", "db", 1);
        place("a.service");
        put("db", 2, "older");
        want("a.service", "db", 2);
        sweep("a.service");
        assert_false(secret_files_is_placed(f, "a.service"));
        want("a.service", "db", 1);
        assert_false(secret_files_is_placed(f, "a.service")); // it has not come
        put("db", 1, "old");
        assert_true(secret_files_is_placed(f, "a.service"));
        put("db", 3, "ol!");
        want("a.service", "db", 3);
        assert_false(secret_files_is_placed(f, "a.service"));
}

// It was deleted and set again, and nobody has told this host.
static void a_number_that_stands_for_another_value_is_that(void **state) {
        put("db", 1, "before");
        want("a.service", "db", 1);
        place("a.service");
        put("db", 1, "after");
        want("a.service", "db", 1);
        assert_string_equal(text_of("values/1-db"), "after");
        assert_false(secret_files_is_placed(f, "a.service"));
        assert_string_equal(text_of("units/a.service/key"), "before"); // until it is started again
        place("a.service");
        assert_string_equal(text_of("units/a.service/key"), "after");
        put("db", 1, "after and more");
        assert_string_equal(text_of("values/1-db"), "after and more");
        put("db", 1, "after");
        assert_string_equal(text_of("values/1-db"), "after");
}

static void one_value_is_one_file_however_many_have_it(void **state) {
        struct stat a, b;

        put("db", 1, "hunter2");
        want("a.service", "db", 1);
        want("b.service", "db", 1);
        place("a.service");
        place("b.service");
        assert_int_equal(stat("units/a.service/key", &a), 0);
        assert_int_equal(stat("units/b.service/key", &b), 0);
        assert_int_equal(a.st_ino, b.st_ino);
        assert_int_equal(a.st_nlink, 3);
}

static void it_goes_with_its_last_unit(void **state) {
        put("db", 1, "hunter2");
        want("a.service", "db", 1);
        want("b.service", "db", 1);
        place("a.service");
        sweep("a.service");
        want_nothing("a.service");
        sweep("b.service");
        assert_string_equal(text_of("units/a.service/key"), "hunter2"); // it may still run, and start again
        secret_files_drop(f, "a.service");
        assert_int_equal(access("units/a.service", F_OK), -1);
        assert_non_null(text_of("values/1-db"));
        secret_files_drop(f, "a.service"); // it has none
        want_nothing("b.service");
        assert_true(secret_files_is_due(f));
        sweep("");
        assert_null(text_of("values/1-db"));
}

static void a_value_that_has_not_come_is_named(void **state) {
        char why[SECRET_FILES_WHY_SIZE];

        want("a.service", "db", 3);
        assert_int_equal(secret_files_place(f, "a.service", why), -ENOENT);
        assert_string_equal(why, "it waits for its secret db (version 3), which no leader has sent");
        want("a.service", "db", 0);
        assert_true(secret_files_place(f, "a.service", why) < 0);
        assert_string_equal(why, "there is no secret db");
}

static void a_new_daemon_finds_what_is_there(void **state) {
        put("db", 1, "hunter2");
        want("a.service", "db", 1);
        place("a.service");
        want("gone.service", "db", 1);
        place("gone.service");
        f = secret_files_free(f);
        assert_int_equal(secret_files_new(".", true, &f), 0);
        assert_string_equal(text_of("units/a.service/key"), "hunter2");
        want("a.service", "db", 1); // no value comes with it
        sweep("a.service");
        place("a.service");
        assert_string_equal(text_of("values/1-db"), "hunter2");
        assert_int_equal(access("units/gone.service", F_OK), -1);
}

static void a_secret_that_it_has_no_more_leaves_its_folder(void **state) {
        put("db", 1, "hunter2");
        want("a.service", "db", 1);
        place("a.service");
        assert_int_equal(want_as("a.service", "other", "db", 1), 0);
        place("a.service");
        assert_null(text_of("units/a.service/key"));
        assert_string_equal(text_of("units/a.service/other"), "hunter2");
}

static void names_that_lead_elsewhere_are_refused(void **state) {
        Argosy__SecretValue value = MESSAGE_OF(secret_value, .version = 1, .name = (char *) "../x");

        assert_int_equal(secret_files_put(f, &value), -EINVAL);
        value.name = (char *) "x";
        value.version = 0;
        assert_int_equal(secret_files_put(f, &value), -EINVAL);
        assert_int_equal(want_as("a.service", "../key", "db", 1), -EINVAL);
        assert_int_equal(want_as("a.service", "key", ".db", 1), -EINVAL);
}

static void a_place_that_is_no_ramfs_takes_none(void **state) {
        SecretFiles *none = NULL;

        assert_int_equal(secret_files_new(".", false, &none), -EMEDIUMTYPE);
        assert_null(none);
        assert_int_equal(secret_files_new("missing", true, &none), -ENOENT);
}

#define FILES(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

static void what_a_registry_is_to_see_is_no_link_of_the_unit(void **state) {
        Argosy__OrderSecret list[2] = {ARGOSY__ORDER_SECRET__INIT, ARGOSY__ORDER_SECRET__INIT},
                            *pointers[] = {&list[0], &list[1]};
        char why[SECRET_FILES_WHY_SIZE] = "";
        SecretBytes value = {};

        list[0].id = (char *) "key";
        list[0].name = (char *) "db";
        list[1].name = (char *) "reg";
        list[0].version = list[1].version = 1;
        put("db", 1, "one");
        assert_int_equal(secret_files_want(f, "a.service", pointers, 2), 0);
        assert_int_equal(secret_files_registry_auth(f, "a.service", &value, why), -ENOENT);
        assert_string_equal(why, "it waits for its secret reg (version 1), which no leader has sent");
        put("reg", 1, "me:pass");
        place("a.service");
        sweep("a.service");
        assert_string_equal(text_of("units/a.service/key"), "one");
        assert_int_equal(secret_files_registry_auth(f, "a.service", &value, why), 0);
        assert_int_equal(value.len, 7);
        assert_memory_equal(value.data, "me:pass", 7);
        secret_bytes_done(&value);
        put("reg", 2, "me:other");
        list[1].version = 2;
        assert_int_equal(secret_files_want(f, "a.service", pointers, 2), 0);
        assert_true(secret_files_is_placed(f, "a.service")); // it runs with what it is to run with
        want_nothing("a.service");
        assert_int_equal(secret_files_registry_auth(f, "a.service", &value, why), -ENOENT);
        sweep("a.service");
        assert_null(text_of("values/2-reg"));
}

RUN_TESTS(
        FILES(a_unit_starts_with_what_its_order_says),
        FILES(what_a_registry_is_to_see_is_no_link_of_the_unit),
        FILES(it_keeps_that_until_its_next_start),
        FILES(a_version_that_was_away_and_came_again_is_what_it_has),
        FILES(a_number_that_stands_for_another_value_is_that),
        FILES(one_value_is_one_file_however_many_have_it),
        FILES(it_goes_with_its_last_unit),
        FILES(a_value_that_has_not_come_is_named),
        FILES(a_new_daemon_finds_what_is_there),
        FILES(a_secret_that_it_has_no_more_leaves_its_folder),
        FILES(names_that_lead_elsewhere_are_refused),
        FILES(a_place_that_is_no_ramfs_takes_none)
)
