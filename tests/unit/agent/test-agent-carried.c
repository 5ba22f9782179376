// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The agent and the files that come with units: asked of the leader piece by piece, of another leader from
// where the first one stopped, and nothing that runs is touched before all of them are here. What they are
// bound over: test-agent-places.c.
#include "carried-words.h"

#include <sys/stat.h>

#include "agent-jobs.h"
#include "disk-room.h"

static uint8_t large[LARGE];

static void a_file_comes_piece_by_piece_and_the_unit_starts_behind_the_last(void **state) {
        _cleanup_(carried_done) Carried c = carried("web.service", large, LARGE);

        meet_leader(NULL, 0);
        order(&c, 5);
        for (unsigned i = 0; i < 3; i++) {
                await_ask(i + 1);
                assert_int_equal(w.file_asked_from, i * PIECE);
                assert_string_equal(w.file_asked_for, "web.service");
                assert_false(has_file("web.service"));
                assert_int_equal(pid1_runs(pid1, "web.service"), 0);
                answer(&c);
        }
        loop_until(answered("web.service", 5));
        assert_int_equal(w.n_file_asks, 3);
        assert_true(is_there("units/web.service/data") && store_has(&c));
        assert_true(pid1_is_active(pid1, "web.service"));
}

static void another_leader_is_asked_for_the_rest(void **state) {
        _cleanup_(carried_done) Carried c = carried("web.service", large, LARGE);

        meet_leader(NULL, 0);
        order(&c, 5);
        await_ask(1);
        answer(&c);
        await_ask(2); // which nobody answers any more
        w.cut = true;
        agent_on_leader(w.agent, 0, 0);
        w.cut = false;
        meet(&c, 5);
        await_ask(3);
        assert_int_equal(w.file_asked_from, PIECE);
        answer_all(&c, 5);
        assert_true(pid1_is_active(pid1, "web.service"));
}

// Attached to, and not answered yet.
static void next_leader(void) {
        unsigned attaches = w.n_attaches;

        agent_on_leader(w.agent, 1, ++w.term);
        loop_until(w.n_attaches > attaches);
}

// It would begin as soon as its file is here, and who leads by then has to know that.
static void what_waits_for_its_file_is_told_to_the_next_leader(void **state) {
        _cleanup_(carried_done) Carried c = carried("web.service", large, LARGE);

        meet_leader(NULL, 0);
        order(&c, 5);
        await_ask(1);
        next_leader();
        assert_int_equal(w.attach->attach->n_held, 1);
        assert_string_equal(w.attach->attach->held[0]->name, "web.service");
        welcome_until(NULL, 0, is_gone("web.service")); // it is elsewhere by now
        assert_int_equal(pid1_runs(pid1, "web.service"), 0);
}

// It is tried again in a while, unless nobody wants it any more.
static void what_could_not_get_its_file_is_told_to_the_next_leader(void **state) {
        _cleanup_(carried_done) Carried c = carried("web.service", large, LARGE);

        meet_leader(NULL, 0);
        order(&c, 5);
        await_ask(1);
        send_piece(&c.hash, w.file_asked_from, LARGE + 1, large, PIECE, true);
        await_failure("web.service", 1, "its file data: what came is not what it is to be");
        next_leader();
        assert_int_equal(w.attach->attach->n_held, 1);
        welcome_until(NULL, 0, is_gone("web.service"));
}

// An answer that was on its way when the next leader was attached to.
static void what_the_former_leader_says_late_is_passed_over(void **state) {
        _cleanup_(carried_done) Carried c = carried("web.service", large, LARGE);

        meet_leader(NULL, 0);
        order(&c, 5);
        await_ask(1);
        answer(&c);
        await_ask(2);
        Order o = {.name = "web.service",
                   .content = (const char *) c.content.data,
                   .revision = 5,
                   .start = 5};
        next_leader();
        answer(&c);
        welcome_until(&o, 1, w.n_file_asks == 3);
        assert_int_equal(w.file_asked_from, PIECE);
        answer_all(&c, 5);
        assert_true(is_there("units/web.service/data"));
}

static void what_nobody_asked_for_is_passed_over(void **state) {
        _cleanup_(carried_done) Carried c = carried("web.service", large, LARGE);
        Hash other = hash_of("x", 1);

        meet_leader(NULL, 0);
        send_piece(&c.hash, 0, c.len, large, PIECE, true); // of no order
        order(&c, 5);
        await_ask(1);
        send_piece(&other, 0, 1, (const uint8_t *) "x", 1, true);
        send_piece(&c.hash, PIECE, c.len, large + PIECE, PIECE, true);
        send_piece(&(Hash){}, 0, 0, NULL, 0, false);
        assert_int_equal(w.n_file_asks, 1);
        answer(&c);
        await_ask(2);
        assert_int_equal(w.file_asked_from, PIECE);
        answer_all(&c, 5);
}

// The unit runs on with what it has, says why, and gets its file when the right one comes.
static void a_file_with_another_hash_stops_nothing(void **state) {
        _cleanup_(carried_done) Carried c = carried("web.service", large, LARGE);
        static uint8_t wrong[LARGE];

        memcpy(wrong, large, LARGE);
        wrong[LARGE - 1] ^= 1;
        meet_leader(NULL, 0);
        order_and_wait((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        order(&c, 6);
        for (unsigned i = 1; i <= 3; i++) {
                await_ask(i);
                send_piece(&c.hash, w.file_asked_from, LARGE, wrong + w.file_asked_from,
                           MIN_OF(LARGE - w.file_asked_from, (size_t) PIECE), true);
        }
        await_failure("web.service", 1, "its file data: what came is not what it is to be");
        assert_false(store_has(&c) || is_there("units/web.service"));
        assert_int_equal(pid1_runs(pid1, "web.service"), 1);
        assert_string_equal(pid1_content(pid1, "web.service"), web);
        try_again_now("web.service");
        await_ask(4);
        assert_int_equal(w.file_asked_from, 0);
        answer_all(&c, 6);
        loop_until(pid1_runs(pid1, "web.service") == 2 && !*error_of("web.service"));
        assert_true(pid1_is_active(pid1, "web.service"));
}

static void a_file_of_another_size_is_not_taken(void **state) {
        static const struct {
                uint64_t size, len;
        } wrong[] = {{LARGE + 1, PIECE}, {PIECE, PIECE}, {LARGE, 0}, {LARGE, LARGE + 1}};
        static uint8_t longer[LARGE + 1];
        _cleanup_(carried_done) Carried c = carried("web.service", large, LARGE);

        meet_leader(NULL, 0);
        order(&c, 5);
        for (unsigned i = 0; i < ELEMENTSOF(wrong); i++) {
                if (i > 0)
                        try_again_now("web.service");
                await_ask(i + 1);
                send_piece(&c.hash, 0, wrong[i].size, longer, wrong[i].len, true);
                await_failure("web.service", i + 1, "its file data: what came is not what it is to be");
        }
        assert_false(has_file("web.service"));
}

static void what_the_cluster_does_not_have_any_more_is_said(void **state) {
        _cleanup_(carried_done) Carried c = carried("web.service", large, LARGE);

        meet_leader(NULL, 0);
        order(&c, 5);
        await_ask(1);
        send_piece(&c.hash, 0, 0, NULL, 0, false);
        await_failure("web.service", 1, "its file data: the unit does not have it any more");
}

// PID 1 needs room in /run. What runs there runs on, and there is no part of the file.
static void a_host_without_room_says_so_and_goes_on_when_there_is_some(void **state) {
        _cleanup_(carried_done) Carried c = carried("web.service", large, LARGE);

        meet_leader(NULL, 0);
        order_and_wait((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        disk_room_free = 250000 + LARGE / 4096; // one block less than it needs
        order(&c, 6);
        await_failure("web.service", 1,
                      "its files: a quarter of the memory of /run has to stay free on this node");
        assert_int_equal(w.n_file_asks, 0);
        disk_room_free++;
        try_again_now("web.service");
        for (unsigned i = 1; i <= 3; i++) {
                await_ask(i);
                disk_room_free -= i == 3; // somebody else has taken it meanwhile
                answer(&c);
        }
        loop_until(find("web.service")->work->failures == 2);
        loop_until(streq(error_of("web.service"),
                         "its file data: a quarter of the memory of /run has to stay free on this node"));
        assert_true(pid1_is_active(pid1, "web.service") && pid1_runs(pid1, "web.service") == 1);
        assert_false(store_has(&c) || is_there("units/web.service"));
        disk_room_free++;
        try_again_now("web.service");
        await_ask(4);
        answer_all(&c, 6);
        loop_until(pid1_runs(pid1, "web.service") == 2 && !*error_of("web.service"));
}

// The unit that waits for it can be stopped and removed, and holds up no other one.
static void a_piece_that_never_comes_holds_up_nothing_else(void **state) {
        _cleanup_(carried_done) Carried c = carried("web.service", large, LARGE),
                                        other = carried("other.service", small, sizeof(small) - 1);

        meet_leader(NULL, 0);
        order_and_wait((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        order(&c, 6);
        await_ask(1);
        order_and_wait((Order){.name = "plain.service", .content = web2, .revision = 7, .start = 7});
        assert_true(pid1_is_active(pid1, "web.service"));
        send_order((Order){
                .name = "web.service", .content = web, .loaded_only = true, .revision = 8, .stop = 8});
        loop_until(answered("web.service", 8));
        assert_false(pid1_is_active(pid1, "web.service"));
        order(&c, 9);
        send_order((Order){.name = "web.service", .remove = true, .revision = 10});
        loop_until(is_gone("web.service"));
        // It comes after all, for nobody: the rest is not asked for, and what others wait for is.
        order(&other, 11);
        assert_int_equal(w.n_file_asks, 1);
        answer(&c);
        await_ask(2);
        assert_string_equal(w.file_asked_for, "other.service");
        answer_all(&other, 11);
        assert_false(store_has(&c) || is_there("units/web.service"));
        assert_true(store_has(&other));
}

static void a_content_is_fetched_once_for_all_who_wait_for_it(void **state) {
        _cleanup_(carried_done) Carried a = carried("a.service", large, LARGE),
                                        b = carried("b.service", large, LARGE);

        meet_leader(NULL, 0);
        order(&a, 5);
        order(&b, 6);
        await_ask(1);
        answer_all(&a, 5);
        loop_until(answered("b.service", 6));
        assert_int_equal(w.n_file_asks, 3); // the pieces of one
        send_order((Order){.name = "a.service", .remove = true, .revision = 7});
        loop_until(is_gone("a.service"));
        assert_true(store_has(&a) && is_there("units/b.service/data"));
        send_order((Order){.name = "b.service", .remove = true, .revision = 8});
        loop_until(is_gone("b.service"));
        assert_false(store_has(&b));
}

static bool waits_for_files(const char *unit) {
        const AgentUnit *u = find(unit);

        return u && u->work && list_is_linked(&u->work->files_wanted);
}

// The leader answers for the unit in whose name the piece was asked for. The others go on with what has
// come.
static void a_refusal_for_one_unit_is_none_for_another_that_waits(void **state) {
        _cleanup_(carried_done) Carried a = carried("a.service", large, LARGE),
                                        b = carried("b.service", large, LARGE),
                                        c = carried("c.service", large, LARGE);

        meet_leader(NULL, 0);
        order(&a, 5);
        await_ask(1);
        order(&b, 6);
        loop_until(waits_for_files("b.service"));
        order(&c, 7);
        loop_until(waits_for_files("c.service"));
        answer(&a);
        await_ask(2);
        assert_string_equal(w.file_asked_for, "a.service");
        send_piece(&a.hash, PIECE, 0, NULL, 0, false);
        await_ask(3);
        await_failure("a.service", 1, "its file data: the unit does not have it any more");
        assert_string_equal(w.file_asked_for, "b.service");
        assert_int_equal(w.file_asked_from, PIECE);
        send_order((Order){.name = "b.service", .remove = true, .revision = 8});
        loop_until(is_gone("b.service"));
        send_piece(&b.hash, PIECE, 0, NULL, 0, false);
        await_ask(4);
        assert_string_equal(w.file_asked_for, "c.service");
        answer_all(&c, 7);
        assert_string_equal(error_of("c.service"), "");
}

// What the last unit leaves and the next one is about to get stays.
static void a_file_that_one_leaves_and_another_gets_stays(void **state) {
        _cleanup_(carried_done) Carried a = carried("a.service", large, LARGE),
                                        b = carried("b.service", large, LARGE);

        meet_leader(NULL, 0);
        order(&a, 5);
        await_ask(1);
        answer_all(&a, 5);
        unsigned n = w.n_file_asks;
        for (uint64_t revision = 6; revision < 26; revision += 4) { // the pool may be faster or slower
                order(&b, revision);
                send_order((Order){.name = "a.service", .remove = true, .revision = revision + 1});
                loop_until(answered("b.service", revision) && is_gone("a.service"));
                order(&a, revision + 2);
                send_order((Order){.name = "b.service", .remove = true, .revision = revision + 3});
                loop_until(answered("a.service", revision + 2) && is_gone("b.service"));
                assert_string_equal(error_of("a.service"), "");
                forget_reports();
        }
        assert_int_equal(w.n_file_asks, n);
}

static void a_new_run_of_argosyd_asks_from_the_beginning_and_keeps_what_is_whole(void **state) {
        _cleanup_(carried_done) Carried a = carried("a.service", small, sizeof(small) - 1),
                                        b = carried("b.service", large, LARGE);
        const Order both[] = {
                {.name = "a.service", .content = (const char *) a.content.data, .revision = 5, .start = 5},
                {.name = "b.service", .content = (const char *) b.content.data, .revision = 6, .start = 6}};

        meet_leader(NULL, 0);
        order(&a, 5);
        await_ask(1);
        answer_all(&a, 5);
        order(&b, 6);
        await_ask(2);
        answer(&b);
        await_ask(3);
        agent_restart();
        w.term++;
        meet_leader(both, 2);
        await_ask(4);
        assert_int_equal(w.file_asked_from, 0);
        answer_all(&b, 6);
        assert_int_equal(pid1_runs(pid1, "a.service"), 1);
        assert_true(is_there("units/a.service/data") && is_there("units/b.service/data"));
}

// As an earlier run leaves it that has removed the unit and not lived to record that. The unit is not
// touched.
static void a_folder_that_has_gone_while_argosyd_was_down_is_made_again(void **state) {
        _cleanup_(carried_done) Carried a = carried("a.service", small, sizeof(small) - 1);
        _cleanup_free_ char *data = str_printf("%s/units/a.service/data", w.dir),
                            *folder = str_printf("%s/units/a.service", w.dir);

        meet_leader(NULL, 0);
        order(&a, 5);
        await_ask(1);
        answer_all(&a, 5);
        agent_down();
        assert_int_equal(unlink(data), 0);
        assert_int_equal(rmdir(folder), 0);
        agent_up();
        meet(&a, 5);
        await_ask(2);
        answer_all(&a, 5);
        loop_until(is_there("units/a.service/data"));
        assert_int_equal(pid1_runs(pid1, "a.service"), 1);
}

#define CHANGES(line, change) \
        "[Service]\nExecStart=/bin/sleep 3\n" line "[X-Argosy]\nFile=data\nFileChange=" change "\n"

// As one that finds no more room in /run.
static void files_that_could_not_be_put_in_place_go_back_without_a_stop(void **state) {
        _cleanup_(carried_done)
                Carried a = carried_beside("web.service", CHANGES("", "none"), small, sizeof(small) - 1),
                        b = carried_beside("web.service", CHANGES("", "none"), large, LARGE);
        _cleanup_free_ char *in_the_way = str_printf("%s/units/web.service/..next", w.dir);

        meet_leader(NULL, 0);
        order(&a, 5);
        await_ask(1);
        answer_all(&a, 5);
        assert_int_equal(mkdir(in_the_way, 0755), 0);
        order(&b, 6);
        for (unsigned i = 2; i <= 4; i++) {
                await_ask(i);
                answer(&b);
        }
        loop_until(find("web.service")->work && find("web.service")->work->failures == 1 &&
                   str_has_suffix(error_of("web.service"), ": Is a directory"));
        assert_int_equal(rmdir(in_the_way), 0);
        order(&a, 7);
        loop_until(answered("web.service", 7) && !*error_of("web.service"));
        assert_true(pid1_is_active(pid1, "web.service"));
        assert_int_equal(pid1_runs(pid1, "web.service"), 1);
        assert_true(is_there("units/web.service/data"));
}

static void start_anew(const char *unit) {
        pid1_stop(pid1, unit);
        pid1_start(pid1, unit);
        loop_until(find(unit)->watch.runtime.active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE);
}

// Whoever starts the unit anew, with Restart= or by hand, makes it read them; that it had been started so
// before does not.
static void files_that_a_failed_reload_did_not_read_are_read_by_the_next_run(void **state) {
        _cleanup_(carried_done)
                Carried a = carried_beside("web.service", CHANGES("ExecReload=false\n", "reload"), small,
                                           sizeof(small) - 1),
                        b = carried_beside("web.service", CHANGES("ExecReload=false\n", "reload"), large,
                                           LARGE);

        meet_leader(NULL, 0);
        order(&a, 5);
        await_ask(1);
        answer_all(&a, 5);
        start_anew("web.service");
        order(&b, 6);
        for (unsigned i = 2; i <= 4; i++) {
                await_ask(i);
                answer(&b);
        }
        loop_until(str_has_prefix(error_of("web.service"), AGENT_RELOAD_FAILED_TEXT ": "));
        agent_restart();
        meet(&b, 6);
        loop_until(streq(error_of("web.service"), AGENT_RELOAD_FAILED_TEXT));
        assert_int_equal(find("web.service")->held.reload, LEDGER_RELOAD_FAILED);
        start_anew("web.service");
        loop_until(find("web.service")->held.reload == LEDGER_RELOAD_NONE);
        loop_until(!*error_of("web.service"));
        assert_int_equal(pid1_runs(pid1, "web.service"), 3);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                WORLD_TEST(a_file_comes_piece_by_piece_and_the_unit_starts_behind_the_last),
                WORLD_TEST(another_leader_is_asked_for_the_rest),
                WORLD_TEST(what_waits_for_its_file_is_told_to_the_next_leader),
                WORLD_TEST(what_could_not_get_its_file_is_told_to_the_next_leader),
                WORLD_TEST(what_the_former_leader_says_late_is_passed_over),
                WORLD_TEST(what_nobody_asked_for_is_passed_over),
                WORLD_TEST(a_file_with_another_hash_stops_nothing),
                WORLD_TEST(a_file_of_another_size_is_not_taken),
                WORLD_TEST(what_the_cluster_does_not_have_any_more_is_said),
                WORLD_TEST(a_host_without_room_says_so_and_goes_on_when_there_is_some),
                WORLD_TEST(a_piece_that_never_comes_holds_up_nothing_else),
                WORLD_TEST(a_content_is_fetched_once_for_all_who_wait_for_it),
                WORLD_TEST(a_refusal_for_one_unit_is_none_for_another_that_waits),
                WORLD_TEST(a_file_that_one_leaves_and_another_gets_stays),
                WORLD_TEST(a_folder_that_has_gone_while_argosyd_was_down_is_made_again),
                WORLD_TEST(files_that_could_not_be_put_in_place_go_back_without_a_stop),
                WORLD_TEST(files_that_a_failed_reload_did_not_read_are_read_by_the_next_run),
                WORLD_TEST(a_new_run_of_argosyd_asks_from_the_beginning_and_keeps_what_is_whole),
        };

        for (size_t i = 0; i < LARGE; i++)
                large[i] = (uint8_t) (i * 7 + i / 251);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
