// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What GnuTLS gives back is overwritten before anybody else may have it: at once, or when the thread that
// keeps records says so.
#include "test.h"

#include <gnutls/gnutls.h>
#include <malloc.h>
#include <string.h>

#include "tls-memory.h"

enum { RECORD = 17000, SMALL = 100 };

void __real_free(void *p);
void __wrap_free(void *p);

static const void *watched;
static size_t n_freed;

// The watched block must have nothing in it when it goes.
void __wrap_free(void *p) {
        if (p && p == watched) {
                for (size_t i = 0, n = malloc_usable_size(p); i < n; i++)
                        assert_int_equal(((const unsigned char *) p)[i], 0);
                watched = NULL;
                n_freed++;
        }
        __real_free(p);
}

static void *filled(size_t size) {
        void *p = gnutls_malloc(size);

        assert_non_null(p);
        memset(p, 's', size);
        watched = p;
        n_freed = 0;
        return p;
}

FIXTURE(setup) {
        tls_memory_wipe();
}

static void a_thread_that_keeps_nothing_overwrites_at_once(void **state) {
        gnutls_free(filled(RECORD));
        assert_int_equal(n_freed, 1);
        assert_false(tls_memory_has_records());
}

static void a_record_is_where_the_last_one_was_until_it_is_overwritten(void **state) {
        tls_memory_keep_records();
        void *p = filled(RECORD);
        gnutls_free(p);
        assert_int_equal(n_freed, 0);
        assert_true(tls_memory_has_records());
        assert_ptr_equal(gnutls_malloc(RECORD), p);
        assert_false(tls_memory_has_records());
        gnutls_free(p);
        tls_memory_wipe_records();
        assert_int_equal(n_freed, 1);
        assert_false(tls_memory_has_records());
}

static void what_is_no_record_is_overwritten_at_once(void **state) {
        tls_memory_keep_records();
        gnutls_free(filled(SMALL));
        assert_int_equal(n_freed, 1);
        gnutls_free(filled(4 * RECORD));
        assert_int_equal(n_freed, 1);
        assert_false(tls_memory_has_records());
}

static void no_more_is_kept_than_a_record_needs(void **state) {
        void *blocks[3];

        tls_memory_keep_records();
        for (size_t i = 0; i < 3; i++)
                blocks[i] = filled(RECORD);
        gnutls_free(blocks[0]);
        gnutls_free(blocks[1]);
        assert_int_equal(n_freed, 0);
        gnutls_free(blocks[2]); // the one that is watched
        assert_int_equal(n_freed, 1);
        tls_memory_wipe_records();
}

static void what_grows_leaves_nothing_behind(void **state) {
        void *p = filled(SMALL), *next = gnutls_realloc(p, RECORD);

        assert_int_equal(n_freed, 1);
        assert_int_equal(((const char *) next)[SMALL - 1], 's');
        gnutls_free(next);
        tls_memory_wipe_records();
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_thread_that_keeps_nothing_overwrites_at_once), // before one keeps any
                cmocka_unit_test(a_record_is_where_the_last_one_was_until_it_is_overwritten),
                cmocka_unit_test(what_is_no_record_is_overwritten_at_once),
                cmocka_unit_test(no_more_is_kept_than_a_record_needs),
                cmocka_unit_test(what_grows_leaves_nothing_behind),
        };

        return cmocka_run_group_tests(tests, setup, NULL);
}
