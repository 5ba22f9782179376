// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Who a user is, asked of accounts that answer when the test says so.
#include <errno.h>
#include <semaphore.h>
#include <unistd.h>

#include "test.h"

#include "author-names.h"
#include "message.h"
#include "str.h"

enum { ASKERS = 8 };

static struct World {
        uv_loop_t loop;
        AuthorNames *names;
        sem_t gate; // lets one lookup of a user go on
        bool gated;
        unsigned n_users; // that the accounts were asked for
        struct Asker {
                AuthorQuestion question;
                unsigned n;
                int error;
                Argosy__Author *author;
        } askers[ASKERS];
} w;

static int find_user(uid_t uid, char **ret) {
        if (w.gated)
                while (sem_wait(&w.gate) < 0)
                        ;
        w.n_users++;
        if (uid == 404)
                return -ENOENT;
        if (uid == 500)
                return -EIO;
        *ret = str_printf("u%u", (unsigned) uid);
        return *ret ? 0 : -ENOMEM;
}

static int find_group(gid_t gid, char **ret) {
        if (gid == 404)
                return -ENOENT;
        if (gid == 500)
                return -EIO;
        *ret = gid == 666 ? strdup("g\n666") : str_printf("g%u", (unsigned) gid);
        return *ret ? 0 : -ENOMEM;
}

static const AccountSource source = {.user = find_user, .group = find_group};

static int begin(void **state) {
        memset(&w, 0, sizeof(w));
        assert_int_equal(sem_init(&w.gate, 0, 0), 0);
        assert_int_equal(uv_loop_init(&w.loop), 0);
        return author_names_new(&w.loop, &source, &w.names);
}

static int end(void **state) {
        if (w.names)
                author_names_close(w.names);
        assert_int_equal(uv_run(&w.loop, UV_RUN_DEFAULT), 0);
        assert_int_equal(uv_loop_close(&w.loop), 0);
        for (size_t i = 0; i < ASKERS; i++)
                message_free(w.askers[i].author);
        return sem_destroy(&w.gate);
}

static void on_answered(const Argosy__Author *author, int error, void *userdata) {
        struct Asker *a = userdata;

        a->n++;
        a->error = error;
        message_free(a->author);
        a->author = author ? message_copy(author) : NULL;
}

static void ask(size_t i, uid_t uid, gid_t gid, const gid_t *groups, size_t n) {
        w.askers[i].question = (AuthorQuestion){.answered = on_answered, .userdata = &w.askers[i]};
        author_names_ask(w.names, uid, gid, groups, n, false, &w.askers[i].question);
}

#define RUN_UNTIL(condition) \
        while (!(condition)) \
        uv_run(&w.loop, UV_RUN_ONCE)

static void a_user_comes_with_the_names_of_his_groups(void **state) {
        const gid_t groups[] = {7, 5, 404, 7, 666};

        ask(0, 1000, 5, groups, ELEMENTSOF(groups));
        RUN_UNTIL(w.askers[0].n);
        assert_int_equal(w.askers[0].error, 0);
        assert_string_equal(w.askers[0].author->user, "u1000");
        assert_int_equal(w.askers[0].author->uid, 1000);
        assert_false(w.askers[0].author->owner);
        assert_int_equal(w.askers[0].author->n_groups, 2); // each once; one has no name, one none that can be shown
        assert_string_equal(w.askers[0].author->groups[0], "g5");
        assert_string_equal(w.askers[0].author->groups[1], "g7");
}

static void who_has_no_name_is_a_number(void **state) {
        ask(0, 404, 404, NULL, 0);
        RUN_UNTIL(w.askers[0].n);
        assert_string_equal(w.askers[0].author->user, "");
        assert_int_equal(w.askers[0].author->n_groups, 0);
}

static void nobody_is_judged_by_half_of_his_groups(void **state) {
        const gid_t groups[] = {5, 500};

        ask(0, 1000, 5, groups, ELEMENTSOF(groups));
        ask(1, 500, 5, NULL, 0);
        RUN_UNTIL(w.askers[0].n && w.askers[1].n);
        assert_null(w.askers[0].author);
        assert_int_equal(w.askers[0].error, -EIO);
        assert_int_equal(w.askers[1].error, -EIO);
        ask(0, 500, 5, NULL, 0); // and that is not kept
        RUN_UNTIL(w.askers[0].n == 2);
        assert_int_equal(w.n_users, 3);
}

static void many_connections_of_one_user_ask_once(void **state) {
        const gid_t one[] = {7, 9}, other[] = {9, 7, 7};

        w.gated = true;
        ask(0, 1000, 5, one, ELEMENTSOF(one));
        ask(1, 1000, 5, other, ELEMENTSOF(other));
        ask(2, 1000, 5, one, 1); // not the same groups
        assert_int_equal(sem_post(&w.gate), 0);
        RUN_UNTIL(w.askers[0].n && w.askers[1].n);
        assert_int_equal(w.askers[2].n, 0);
        assert_int_equal(sem_post(&w.gate), 0);
        RUN_UNTIL(w.askers[2].n);
        assert_int_equal(w.n_users, 2);
        ask(3, 1000, 5, other, ELEMENTSOF(other)); // kept: at once
        assert_int_equal(w.askers[3].n, 1);
        assert_int_equal(w.n_users, 2);
}

static void one_thread_at_a_time_hangs(void **state) {
        unsigned n = 0;

        w.gated = true;
        for (size_t i = 0; i < 4; i++)
                ask(i, 1000 + (uid_t) i, 5, NULL, 0);
        for (size_t i = 0; i < 4; i++) { // in the order in which they came
                assert_int_equal(sem_post(&w.gate), 0);
                RUN_UNTIL(w.askers[i].n);
                n++;
                assert_int_equal(w.n_users, n);
                for (size_t k = i + 1; k < 4; k++)
                        assert_int_equal(w.askers[k].n, 0);
        }
}

static void who_waits_may_go(void **state) {
        w.gated = true;
        ask(0, 1000, 5, NULL, 0);
        ask(1, 1001, 5, NULL, 0);
        author_names_forget(&w.askers[0].question);
        assert_int_equal(sem_post(&w.gate), 0);
        assert_int_equal(sem_post(&w.gate), 0);
        RUN_UNTIL(w.askers[1].n);
        assert_int_equal(w.askers[0].n, 0);
}

static void the_end_waits_for_no_directory(void **state) {
        w.gated = true;
        ask(0, 1000, 5, NULL, 0);
        ask(1, 1001, 5, NULL, 0);
        author_names_close(TAKE_PTR(w.names));
        assert_int_equal(sem_post(&w.gate), 0);
        assert_int_equal(uv_run(&w.loop, UV_RUN_DEFAULT), 0);
        assert_int_equal(w.askers[0].n + w.askers[1].n, 0);
}

static void users_who_wait_have_a_limit(void **state) {
        static struct Asker many[AUTHOR_WAITING_MAX + 2];

        w.gated = true;
        memset(many, 0, sizeof(many));
        for (size_t i = 0; i < ELEMENTSOF(many); i++) { // one is in the pool
                many[i].question = (AuthorQuestion){.answered = on_answered, .userdata = &many[i]};
                author_names_ask(w.names, 1000 + (uid_t) i, 5, NULL, 0, false, &many[i].question);
        }
        assert_int_equal(many[AUTHOR_WAITING_MAX].n, 0);
        assert_int_equal(many[AUTHOR_WAITING_MAX + 1].n, 1);
        assert_int_equal(many[AUTHOR_WAITING_MAX + 1].error, -EBUSY);
        author_names_close(TAKE_PTR(w.names));
        assert_int_equal(sem_post(&w.gate), 0);
}

static void the_accounts_of_this_machine_know_root(void **state) {
        _cleanup_free_ char *user = NULL, *group = NULL;

        if (account_source_system.user(0, &user) == 0) // a build root may have none
                assert_string_equal(user, "root");
        if (account_source_system.group(0, &group) == 0)
                assert_string_equal(group, "root");
        assert_int_equal(account_source_system.user(4023456789u, &user), -ENOENT);
}

int main(void) {
#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)
        const struct CMUnitTest tests[] = {
                CASE(a_user_comes_with_the_names_of_his_groups),
                CASE(who_has_no_name_is_a_number),
                CASE(nobody_is_judged_by_half_of_his_groups),
                CASE(many_connections_of_one_user_ask_once),
                CASE(one_thread_at_a_time_hangs),
                CASE(who_waits_may_go),
                CASE(the_end_waits_for_no_directory),
                CASE(users_who_wait_have_a_limit),
                CASE(the_accounts_of_this_machine_know_root),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
