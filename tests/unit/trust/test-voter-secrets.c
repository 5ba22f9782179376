// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tmpdir.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fileio.h"
#include "messages.h"
#include "str.h"
#include "voter-secrets.h"

static VoterSecrets set;

static int setup(void **state) {
        voter_secrets_done(&set);
        return tmpdir_make(state);
}

static int teardown(void **state) {
        voter_secrets_done(&set);
        return tmpdir_drop(state);
}

static void put(const char *name, uint32_t number, const char *value) {
        assert_int_equal(voter_secrets_put(&set, name, number, value, strlen(value)), 0);
}

static void assert_value(const VoterSecrets *s, const char *name, uint32_t number, const char *value) {
        const SecretBytes *found = voter_secrets_find(s, name, number);

        assert_non_null(found);
        assert_int_equal(found->len, strlen(value));
        assert_memory_equal(found->data, value, found->len);
}

static void a_secret_is_found_by_name_and_number(void **state) {
        put("ca", 1, "one");
        put("ca", 2, "two");
        put("key", 1, "three");
        put("ca", 1, "another one");
        assert_int_equal(set.n, 3);
        assert_value(&set, "ca", 1, "another one");
        assert_value(&set, "ca", 2, "two");
        assert_value(&set, "key", 1, "three");
        assert_null(voter_secrets_find(&set, "key", 2));
        voter_secrets_drop(&set, "ca", 1);
        assert_null(voter_secrets_find(&set, "ca", 1));
        assert_value(&set, "key", 1, "three");
}

static void what_is_no_secret_is_not_taken(void **state) {
        static const uint8_t long_value[VOTER_SECRET_VALUE_MAX + 1];
        char long_name[VOTER_SECRET_NAME_MAX + 2];

        memset(long_name, 'n', sizeof(long_name) - 1);
        long_name[sizeof(long_name) - 1] = '\0';
        assert_int_equal(voter_secrets_put(&set, "", 1, "x", 1), -EINVAL);
        assert_int_equal(voter_secrets_put(&set, long_name, 1, "x", 1), -EINVAL);
        assert_int_equal(voter_secrets_put(&set, "ca", 0, "x", 1), -EINVAL);
        assert_int_equal(voter_secrets_put(&set, "ca", 1, "", 0), -EINVAL);
        assert_int_equal(voter_secrets_put(&set, "ca", 1, long_value, sizeof(long_value)), -EINVAL);
        assert_int_equal(set.n, 0);
        assert_int_equal(voter_secrets_put(&set, long_name + 1, 1, long_value, sizeof(long_value) - 1), 0);
        for (uint32_t i = 2; i <= VOTER_SECRETS_MAX; i++)
                put("ca", i, "x");
        assert_int_equal(voter_secrets_put(&set, "ca", 99, "x", 1), -ENOSPC);
        put("ca", 2, "in its place");
}

static Argosy__VoterSecretRecord record_of(const char *name, uint32_t number, const char *value,
                                           Hash *hash) {
        *hash = hash_of(value, strlen(value));
        return (Argosy__VoterSecretRecord) MESSAGE_OF(
                voter_secret_record, .name = (char *) name, .number = number,
                .fingerprint = (ProtobufCBinaryData){HASH_SIZE, hash->bytes});
}

// A number may have been given twice, by leaders of which one did not get it into the log.
static void the_secret_that_the_log_means_is_known_by_its_fingerprint(void **state) {
        Hash hash, other;
        Argosy__VoterSecretRecord record = record_of("ca", 1, "one", &hash),
                                  another = record_of("ca", 1, "two", &other);

        put("ca", 1, "one");
        assert_true(voter_secrets_has(&set, &record));
        assert_false(voter_secrets_has(&set, &another));
        record.fingerprint.len = 5;
        assert_false(voter_secrets_has(&set, &record));
}

static void what_the_log_names_no_more_goes_and_what_is_on_its_way_there_stays(void **state) {
        Hash hash;
        Argosy__VoterSecretRecord ca = record_of("ca", 3, "x", &hash), *records[] = {&ca};

        for (uint32_t i = 1; i <= 4; i++)
                put("ca", i, "x");
        put("key", 1, "of which the log says nothing");
        assert_true(voter_secrets_drop_old(&set, records, 1));
        assert_int_equal(set.n, 3);
        assert_value(&set, "ca", 3, "x");
        assert_value(&set, "ca", 4, "x");
        assert_value(&set, "key", 1, "of which the log says nothing");
        assert_false(voter_secrets_drop_old(&set, records, 1));
}

static void what_is_saved_is_loaded(void **state) {
        _cleanup_free_ char *path = str_printf("%s/voter-secrets", (char *) *state), *why = NULL;
        _cleanup_(voter_secrets_done) VoterSecrets loaded = {}, copy = {};
        struct stat st;

        assert_int_equal(voter_secrets_load(*state, &loaded, &why), 0);
        assert_int_equal(loaded.n, 0);
        put("ca", 1, "one");
        put("key", 7, "seven");
        assert_int_equal(voter_secrets_save(*state, &set), 0);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
        assert_int_equal(voter_secrets_load(*state, &loaded, &why), 0);
        assert_int_equal(voter_secrets_copy(&loaded, &copy), 0);
        assert_value(&copy, "ca", 1, "one");
        assert_value(&copy, "key", 7, "seven");
        assert_true(hash_equal(&copy.list[1].fingerprint, &set.list[1].fingerprint));
        assert_int_equal(voter_secrets_save(*state, &(VoterSecrets){}), 0);
        assert_int_equal(stat(path, &st), -1);
        assert_int_equal(voter_secrets_save(*state, &(VoterSecrets){}), 0);
}

static void a_damaged_file_is_named_and_not_overwritten(void **state) {
        _cleanup_free_ char *path = str_printf("%s/voter-secrets", (char *) *state);
        _cleanup_buf_ Buf good = {}, after = {};

        put("ca", 1, "one");
        assert_int_equal(voter_secrets_save(*state, &set), 0);
        assert_int_equal(file_read(AT_FDCWD, path, 65536, &good), 0);
        for (size_t keep = 0; keep <= good.len; keep++) {
                _cleanup_(voter_secrets_done) VoterSecrets loaded = {};
                _cleanup_free_ char *why = NULL;

                good.data[keep < good.len ? keep : 0] ^= 1; // or the first byte of the whole file
                assert_int_equal(file_replace(AT_FDCWD, path, good.data, keep, 0600, 0), 0);
                good.data[keep < good.len ? keep : 0] ^= 1;
                assert_int_equal(voter_secrets_load(*state, &loaded, &why), -EBADMSG);
                assert_true(str_has_prefix(why, path));
                assert_int_equal(loaded.n, 0);
        }
        assert_int_equal(file_read(AT_FDCWD, path, 65536, &after), 0);
        assert_int_equal(after.len, good.len);
}

static void a_file_that_cannot_be_read_is_named(void **state) {
        _cleanup_free_ char *path = str_printf("%s/voter-secrets", (char *) *state), *why = NULL;
        VoterSecrets loaded = {};

        assert_int_equal(mkdir(path, 0700), 0);
        assert_int_equal(voter_secrets_load(*state, &loaded, &why), -EISDIR);
        assert_true(str_has_prefix(why, path));
        assert_int_equal(rmdir(path), 0);
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(a_secret_is_found_by_name_and_number, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_no_secret_is_not_taken, setup, teardown),
        cmocka_unit_test_setup_teardown(the_secret_that_the_log_means_is_known_by_its_fingerprint,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
                what_the_log_names_no_more_goes_and_what_is_on_its_way_there_stays, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_saved_is_loaded, setup, teardown),
        cmocka_unit_test_setup_teardown(a_damaged_file_is_named_and_not_overwritten, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_file_that_cannot_be_read_is_named, setup, teardown)
)
