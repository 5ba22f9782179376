// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A content and its files in an entry of the log: what is looked at for that, which somebody else has sent.
// hash_of() is counted.
#include "batch-content.h"

#include <errno.h>

#include "buf.h"
#include "carried-files.h"
#include "test.h"

enum { FILES = 200, SIZE = 1000 };

static ClusterState *cluster;
static BatchBuilder b;
static unsigned n_hashed;
static uint8_t bytes[FILES + 60][SIZE];
static ProtobufCBinaryData files[FILES + 60];
static Buf content;

Hash __real_hash_of(const void *data, size_t len);
Hash __wrap_hash_of(const void *data, size_t len);
Hash __wrap_hash_of(const void *data, size_t len) {
        n_hashed++;
        return __real_hash_of(data, len);
}

// All files have the same size.
FIXTURE(setup) {
        cluster = cluster_state_new();
        assert_non_null(cluster);
        b = (BatchBuilder){.state = cluster};
        content = (Buf){};
        assert_int_equal(buf_printf(&content, "[Service]\nExecStart=/bin/true\n[X-Argosy]\nFile=f\n\n# "
                                              "a.service.d/~argosy.conf\n[Service]\n"
                                              "Environment=ARGOSY_FILES=/run/argosy/units/%%n\n\n# mode, "
                                              "bytes, SHA-256 and name of each file\n"),
                         0);
        for (size_t i = 0; i < ELEMENTSOF(files); i++) {
                char hex[HASH_HEX_SIZE];

                memset(bytes[i], 0, SIZE);
                memcpy(bytes[i], &i, sizeof(i));
                files[i] = (ProtobufCBinaryData){SIZE, bytes[i]};
                Hash hash = hash_of(bytes[i], SIZE);
                hash_hex(&hash, HASH_SIZE, hex);
                if (i < FILES)
                        assert_int_equal(buf_printf(&content, "# 0444 %d %s f/%03zu\n", SIZE, hex, i), 0);
        }
        n_hashed = 0;
}

FIXTURE(teardown) {
        batch_builder_done(&b);
        buf_done(&content);
        cluster = cluster_state_free(cluster);
}

// `own`: they came with the content, and else with another one.
static int put(size_t n_files, bool own, char **ret_why) {
        Argosy__NamedFile file = ARGOSY__NAMED_FILE__INIT, other = ARGOSY__NAMED_FILE__INIT,
                          *list[] = {&other, &file};
        const SentFiles sent = {list, 2};
        Hash hash = __real_hash_of(content.data, content.len);

        file.content = other.content = (ProtobufCBinaryData){content.len, content.data};
        other.content.data = bytes[0];
        (own ? &file : &other)->files = files;
        (own ? &file : &other)->n_files = n_files;
        return batch_put_content(&b, cluster, &sent, &hash, content.data, content.len, ret_why);
}

static void each_file_that_came_is_hashed_once(void **state) {
        _cleanup_free_ char *why = NULL;

        assert_int_equal(put(FILES, true, &why), 0);
        assert_int_equal(b.n_ops, FILES + 1);
        assert_int_equal(n_hashed, FILES);
}

static void more_files_than_a_unit_may_have_are_not_looked_at(void **state) {
        _cleanup_free_ char *why = NULL;

        assert_int_equal(put(CARRIED_FILES_MAX + 1, true, &why), -EINVAL);
        assert_string_equal(why, "more files came with it than a unit may have");
        assert_int_equal(n_hashed, 0);
}

static void files_of_others_are_not_looked_at(void **state) {
        _cleanup_free_ char *why = NULL;

        assert_int_equal(put(FILES, false, &why), -EINVAL);
        assert_non_null(strstr(why, "did not come along"));
        assert_int_equal(n_hashed, 0);
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(each_file_that_came_is_hashed_once, setup, teardown),
        cmocka_unit_test_setup_teardown(more_files_than_a_unit_may_have_are_not_looked_at, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(files_of_others_are_not_looked_at, setup, teardown)
)
