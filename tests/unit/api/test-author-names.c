// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Who a user is, asked of accounts that answer when the test says so.
#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <unistd.h>

#include "test.h"

#include "author-names.h"
#include "author.h"
#include "log.h"
#include "message.h"
#include "str.h"

enum {
        ASKERS = 8,
        GATES = 4, // of users from GATED on
        GATED = 1000,
        SOON_MS = 1,
        NEVER_MS = 3600 * 1000,
};

static struct World {
        uv_loop_t loop;
        AuthorNames *names;
        AccountSource source;
        sem_t gates[GATES]; // each lets one lookup of its user go on
        bool gated;
        atomic_uint n_begun, n_users; // that the accounts were asked for; that they have answered
        atomic_bool ill;              // they answer nothing of use
        struct Asker {
                AuthorQuestion question;
                unsigned n;
                int error;
                bool again; // asks once more when it is told
                Argosy__Author *author;
        } askers[ASKERS];
} w;

static int find_user(uid_t uid, char **ret) {
        w.n_begun++;
        if (w.gated && uid >= GATED && uid < GATED + GATES)
                while (sem_wait(&w.gates[uid - GATED]) < 0)
                        ;
        w.n_users++;
        if (uid == 404)
                return -ENOENT;
        if (uid == 500 || (w.ill && uid < GATED + GATES))
                return -EIO;
        *ret = str_printf("u%u", (unsigned) uid);
        return *ret ? 0 : -ENOMEM;
}

static int find_group(gid_t gid, char **ret) {
        if (gid == 404)
                return -ENOENT;
        if (gid == 500 || w.ill)
                return -EIO;
        if (gid >= 100000)
                *ret = str_printf("a-group-with-a-name-that-is-long-and-of-a-directory-%u", (unsigned) gid);
        else
                *ret = gid == 666 ? strdup("g\n666") : str_printf("g%u", (unsigned) gid);
        return *ret ? 0 : -ENOMEM;
}

static int begin(void **state) {
        memset(&w, 0, sizeof(w));
        w.source = (AccountSource){find_user, find_group, .hangs_ms = NEVER_MS, .limit_ms = NEVER_MS,
                                   .fresh_ms = NEVER_MS};
        for (size_t i = 0; i < GATES; i++)
                assert_int_equal(sem_init(&w.gates[i], 0, 0), 0);
        assert_int_equal(uv_loop_init(&w.loop), 0);
        return author_names_new(&w.loop, &w.source, &w.names);
}

static void let_go(uid_t uid) {
        assert_int_equal(sem_post(&w.gates[uid - GATED]), 0);
}

static int end(void **state) {
        if (w.names)
                author_names_close(w.names);
        for (uid_t i = 0; i < GATES; i++)
                let_go(GATED + i);
        (void) uv_run(&w.loop, UV_RUN_NOWAIT); // who was answered at once has stopped it
        assert_int_equal(uv_run(&w.loop, UV_RUN_DEFAULT), 0);
        assert_int_equal(uv_loop_close(&w.loop), 0);
        for (size_t i = 0; i < ASKERS; i++)
                message_free(w.askers[i].author);
        for (size_t i = 0; i < GATES; i++)
                sem_destroy(&w.gates[i]);
        return 0;
}

static void ask_again(struct Asker *a);

static void on_answered(const Argosy__Author *author, int error, void *userdata) {
        struct Asker *a = userdata;

        uv_stop(&w.loop); // a turn whose timer did this sleeps then
        a->n++;
        a->error = error;
        message_free(a->author);
        a->author = author ? message_copy(author) : NULL;
        if (a->again)
                ask_again(a);
}

static void ask(size_t i, uid_t uid, gid_t gid, const gid_t *groups, size_t n) {
        w.askers[i].question = (AuthorQuestion){.answered = on_answered, .userdata = &w.askers[i]};
        author_names_ask(w.names, uid, gid, groups, n, false, &w.askers[i].question);
}

// With one group; `limit_ms`: how long it waits.
static void ask_for(size_t i, uid_t uid, unsigned limit_ms) {
        w.source.limit_ms = limit_ms;
        ask(i, uid, 5, NULL, 0);
}

static void ask_again(struct Asker *a) {
        a->again = false;
        ask_for((size_t) (a - w.askers), GATED + 1, NEVER_MS);
}

#define RUN_UNTIL(condition) \
        while (!(condition)) \
        uv_run(&w.loop, UV_RUN_ONCE)

// From another user namespace he may be anybody.
static void the_number_of_all_who_are_not_known_here_is_nobody_s(void **state) {
        const gid_t groups[] = {65534, 7};

        ask(0, 65534, 65534, groups, ELEMENTSOF(groups));
        RUN_UNTIL(w.askers[0].n);
        assert_int_equal(w.askers[0].error, 0);
        assert_string_equal(w.askers[0].author->user, "");
        assert_int_equal(w.askers[0].author->uid, 65534);
        assert_int_equal(w.askers[0].author->n_groups, 1);
        assert_string_equal(w.askers[0].author->groups[0], "g7");
}

static void a_user_comes_with_the_names_of_his_groups(void **state) {
        const gid_t groups[] = {7, 5, 404, 7, 666};

        ask(0, 1000, 5, groups, ELEMENTSOF(groups));
        RUN_UNTIL(w.askers[0].n);
        assert_int_equal(w.askers[0].error, 0);
        assert_string_equal(w.askers[0].author->user, "u1000");
        assert_int_equal(w.askers[0].author->uid, 1000);
        assert_false(w.askers[0].author->owner);
        // each once; one has no name, one none that can be shown
        assert_int_equal(w.askers[0].author->n_groups, 2);
        assert_string_equal(w.askers[0].author->groups[0], "g5");
        assert_string_equal(w.askers[0].author->groups[1], "g7");
}

static void who_has_no_name_is_a_number(void **state) {
        ask(0, 404, 404, NULL, 0);
        RUN_UNTIL(w.askers[0].n);
        assert_string_equal(w.askers[0].author->user, "");
        assert_int_equal(w.askers[0].author->n_groups, 0);
}

static void a_group_that_cannot_be_named_is_left_out(void **state) {
        const gid_t groups[] = {500, 7};

        ask(0, 1000, 5, groups, ELEMENTSOF(groups));
        RUN_UNTIL(w.askers[0].n);
        assert_int_equal(w.askers[0].error, 0);
        assert_int_equal(w.askers[0].author->n_groups, 2);
        assert_string_equal(w.askers[0].author->groups[0], "g5");
        assert_string_equal(w.askers[0].author->groups[1], "g7");
}

static void who_is_in_more_groups_than_there_may_be_has_the_first(void **state) {
        static gid_t groups[2 * AUTHOR_GROUPS_MAX];

        for (size_t i = 0; i < ELEMENTSOF(groups); i++)
                groups[i] = (gid_t) (90000 - i);
        ask(0, 1000, 5, groups, ELEMENTSOF(groups));
        RUN_UNTIL(w.askers[0].n);
        assert_int_equal(w.askers[0].error, 0);
        assert_int_equal(w.askers[0].author->n_groups, AUTHOR_GROUPS_MAX);
        assert_string_equal(w.askers[0].author->groups[0], "g5");
        for (size_t i = 0; i < ELEMENTSOF(groups); i++)
                groups[i] += 100000; // their names together are too long
        ask(0, 1000, 5, groups, ELEMENTSOF(groups));
        RUN_UNTIL(w.askers[0].n == 2);
        assert_int_equal(w.askers[0].error, 0);
        assert_in_range(w.askers[0].author->n_groups, 2, AUTHOR_GROUPS_MAX - 1);
        assert_string_equal(w.askers[0].author->groups[0], "g5");
}

static void what_fails_is_not_kept(void **state) {
        ask(0, 500, 5, NULL, 0);
        RUN_UNTIL(w.askers[0].n);
        assert_null(w.askers[0].author);
        assert_int_equal(w.askers[0].error, -EIO);
        ask(0, 500, 5, NULL, 0);
        RUN_UNTIL(w.askers[0].n == 2);
        assert_int_equal(w.n_users, 2);
}

static void what_was_known_counts_while_the_accounts_are_ill(void **state) {
        w.source.fresh_ms = 0;
        ask(0, 1000, 5, NULL, 0);
        ask(1, 5000, 5, NULL, 0);
        RUN_UNTIL(w.askers[0].n && w.askers[1].n);
        w.ill = true;
        ask(0, 1000, 5, NULL, 0); // its name is not told, and of the other one that of its group
        ask(1, 5000, 5, NULL, 0);
        RUN_UNTIL(w.askers[0].n == 2 && w.askers[1].n == 2);
        for (size_t i = 0; i < 2; i++) {
                assert_int_equal(w.askers[i].error, 0);
                assert_int_equal(w.askers[i].author->n_groups, 1);
        }
        assert_string_equal(w.askers[0].author->user, "u1000");
        w.ill = false;
        w.gated = true;
        w.source.hangs_ms = SOON_MS;
        ask(0, 1000, 5, NULL, 0);
        RUN_UNTIL(w.askers[0].n == 3); // though it hangs
        assert_string_equal(w.askers[0].author->user, "u1000");
        ask(0, 1000, 5, NULL, 0); // from now on at once
        assert_int_equal(w.askers[0].n, 4);
        assert_string_equal(w.askers[0].author->user, "u1000");
}

static void many_connections_of_one_user_ask_once(void **state) {
        const gid_t one[] = {7, 9}, other[] = {9, 7, 7};

        w.gated = true;
        ask(0, 1000, 5, one, ELEMENTSOF(one));
        ask(1, 1000, 5, other, ELEMENTSOF(other));
        ask(2, 1000, 5, one, 1); // not the same groups
        let_go(1000);
        RUN_UNTIL(w.askers[0].n && w.askers[1].n);
        assert_int_equal(w.askers[2].n, 0);
        let_go(1000);
        RUN_UNTIL(w.askers[2].n);
        assert_int_equal(w.n_users, 2);
        ask(3, 1000, 5, other, ELEMENTSOF(other)); // kept: at once
        assert_int_equal(w.askers[3].n, 1);
        assert_int_equal(w.n_users, 2);
}

static void one_is_asked_for_at_a_time(void **state) {
        unsigned n = 0;

        w.gated = true;
        for (size_t i = 0; i < GATES; i++)
                ask(i, GATED + (uid_t) i, 5, NULL, 0);
        for (size_t i = 0; i < GATES; i++) { // in the order in which they came
                let_go(GATED + (uid_t) i);
                RUN_UNTIL(w.askers[i].n);
                n++;
                assert_int_equal(w.n_users, n);
                for (size_t k = i + 1; k < GATES; k++)
                        assert_int_equal(w.askers[k].n, 0);
        }
}

static void who_hangs_keeps_nobody_else_waiting(void **state) {
        w.gated = true;
        w.source.hangs_ms = SOON_MS;
        ask_for(0, 1000, SOON_MS);
        ask_for(1, 2000, NEVER_MS);
        RUN_UNTIL(w.askers[1].n);
        assert_int_equal(w.askers[1].error, 0);
        RUN_UNTIL(w.askers[0].n);
        assert_int_equal(w.askers[0].error, -ETIMEDOUT);
        let_go(1000);
        ask_for(0, 1000, NEVER_MS); // joins what hangs
        RUN_UNTIL(w.askers[0].n == 2);
        assert_int_equal(w.askers[0].error, 0);
        assert_int_equal(w.n_begun, 2);
}

static void two_at_most_hang(void **state) {
        w.gated = true;
        w.source.fresh_ms = 0;
        ask_for(3, 2000, NEVER_MS);
        RUN_UNTIL(w.askers[3].n);
        w.source.hangs_ms = SOON_MS;
        ask_for(0, 1000, NEVER_MS);
        ask_for(1, 1001, NEVER_MS);
        while (w.n_begun < 3)
                uv_run(&w.loop, UV_RUN_NOWAIT);
        author_names_forget(&w.askers[1].question);
        ask_for(4, 1001, 2 * SOON_MS); // later than it began, so it hangs by then
        ask_for(2, 3000, 2 * SOON_MS);
        RUN_UNTIL(w.askers[4].n && w.askers[2].n);
        assert_int_equal(w.askers[2].error, -ETIMEDOUT);
        assert_int_equal(w.n_begun, 3);
        ask_for(3, 2000, NEVER_MS); // who was known waits for nobody
        assert_int_equal(w.askers[3].n, 2);
        assert_string_equal(w.askers[3].author->user, "u2000");
        ask_for(2, 3000, NEVER_MS);
        let_go(1001); // one of them is enough
        RUN_UNTIL(w.askers[2].n == 2);
        assert_int_equal(w.askers[2].error, 0);
        assert_int_equal(w.askers[0].n, 0);
}

static void who_has_only_just_come_waits_on(void **state) {
        w.gated = true;
        ask_for(0, 1000, SOON_MS);
        ask_for(1, 1000, NEVER_MS);
        ask_for(2, 1001, NEVER_MS);
        RUN_UNTIL(w.askers[0].n);
        assert_int_equal(w.askers[0].error, -ETIMEDOUT);
        assert_int_equal(w.askers[1].n + w.askers[2].n, 0);
        let_go(1000);
        let_go(1001);
        RUN_UNTIL(w.askers[1].n && w.askers[2].n);
        assert_int_equal(w.askers[1].error, 0);
        assert_int_equal(w.askers[2].error, 0);
}

static void who_is_told_may_ask_again(void **state) {
        w.gated = true;
        w.askers[1].again = true;
        ask_for(0, 1000, NEVER_MS);
        ask_for(1, GATED + 1, SOON_MS);
        RUN_UNTIL(w.askers[1].n);
        assert_int_equal(w.askers[1].error, -ETIMEDOUT);
        let_go(1000);
        let_go(1001);
        RUN_UNTIL(w.askers[1].n == 2);
        assert_int_equal(w.askers[1].error, 0);
}

static void who_waits_may_go(void **state) {
        w.gated = true;
        ask(0, 1000, 5, NULL, 0);
        ask(1, 1001, 5, NULL, 0);
        ask(2, 1002, 5, NULL, 0);
        author_names_forget(&w.askers[0].question);
        author_names_forget(&w.askers[1].question);
        let_go(1000);
        let_go(1002);
        RUN_UNTIL(w.askers[2].n);
        assert_int_equal(w.askers[0].n + w.askers[1].n, 0);
        assert_int_equal(w.n_begun, 2); // nobody is asked for whom nobody waits for
}

static void the_end_waits_for_no_directory(void **state) {
        w.gated = true;
        ask(0, 1000, 5, NULL, 0);
        ask(1, 1001, 5, NULL, 0);
        author_names_close(TAKE_PTR(w.names));
        let_go(1000);
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
        let_go(1000);
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
                CASE(the_number_of_all_who_are_not_known_here_is_nobody_s),
                CASE(a_user_comes_with_the_names_of_his_groups),
                CASE(who_has_no_name_is_a_number),
                CASE(a_group_that_cannot_be_named_is_left_out),
                CASE(who_is_in_more_groups_than_there_may_be_has_the_first),
                CASE(what_fails_is_not_kept),
                CASE(what_was_known_counts_while_the_accounts_are_ill),
                CASE(many_connections_of_one_user_ask_once),
                CASE(one_is_asked_for_at_a_time),
                CASE(who_hangs_keeps_nobody_else_waiting),
                CASE(two_at_most_hang),
                CASE(who_has_only_just_come_waits_on),
                CASE(who_is_told_may_ask_again),
                CASE(who_waits_may_go),
                CASE(the_end_waits_for_no_directory),
                CASE(users_who_wait_have_a_limit),
                CASE(the_accounts_of_this_machine_know_root),
        };

        log_set_level(-1);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
