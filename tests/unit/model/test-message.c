// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Copies of messages, and what is taken out of one.
#include "test.h"

#include "argosy.pb-c.h"
#include "message.h"

static Argosy__Request *wait_for(char *const *names, size_t n) {
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        Argosy__Request__Wait wait = ARGOSY__REQUEST__WAIT__INIT;
        Argosy__Request__Wait__Item items[4], *pointers[4];

        assert_true(n <= 4);
        for (size_t i = 0; i < n; i++) {
                argosy__request__wait__item__init(&items[i]);
                items[i].name = names[i];
                items[i].revision = i + 1;
                pointers[i] = &items[i];
        }
        wait.items = pointers;
        wait.n_items = n;
        request.id = 7;
        request.what_case = ARGOSY__REQUEST__WHAT_WAIT;
        request.wait = &wait;
        return message_copy(&request);
}

static void what_is_taken_is_whole_and_leaves_nothing(void **state) {
        char *names[] = {"a.service", "b.service"};
        Argosy__Request *request = wait_for(names, 2), *taken;

        assert_non_null(request);
        taken = message_take(request);
        assert_non_null(taken);
        assert_int_equal(taken->id, 7);
        assert_int_equal(taken->what_case, ARGOSY__REQUEST__WHAT_WAIT);
        assert_int_equal(taken->wait->n_items, 2);
        assert_string_equal(taken->wait->items[1]->name, "b.service");
        assert_int_equal(taken->wait->items[1]->revision, 2);
        assert_int_equal(request->id, 0);
        assert_int_equal(request->what_case, ARGOSY__REQUEST__WHAT__NOT_SET);
        assert_int_equal(argosy__request__get_packed_size(request), 0);
        message_free(request); // each is freed for itself
        message_free(taken);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_is_taken_is_whole_and_leaves_nothing),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
