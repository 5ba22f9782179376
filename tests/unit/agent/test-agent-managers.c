// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Many managers in one agent: they come and go, are away or loud, and nobody else notices.

#include "managers-words.h"
#include "messages.h"
#include "str.h"

#include <dirent.h>
#include <malloc.h>

// ---- the leader's side: number NODE_BASE + i for others[i]

static bool other_has_file(const Other *o, const char *name) {
        char dir[512];
        _cleanup_free_ char *path = NULL;

        dir_of(o->name, dir);
        path = str_printf("%s/%s", dir, name);
        return access(path, F_OK) == 0;
}

static size_t n_fds(void) {
        DIR *d = opendir("/proc/self/fd");
        size_t n = 0;

        while (readdir(d))
                n++;
        closedir(d);
        return n;
}

// ---- tests

static void one_that_says_too_much_at_once_is_alone_with_it(void **state) {
        Other *loud = add_other(0), *quiet = add_other(1);

        attach(loud);
        attach(quiet);
        loop_until(all_online());
        fake_systemd_send_long(loud->systemd, SYSTEMD_MESSAGE_MAX);
        loop_until(fake_systemd_calls(loud->systemd, "ListUnits") == 2); // cut off, and tried again
        loop_until(all_online());
        assert_int_equal(fake_systemd_calls(quiet->systemd, "ListUnits"), 1);
        assert_int_equal(fake_systemd_calls(systemd, "ListUnits"), 1);
}

static void eighty_managers_run_their_units_in_one_agent(void **state) {
        for (unsigned i = 0; i < MANY; i++)
                attach(add_other(i));
        loop_until(all_online());
        meet();
        assert_int_equal(w.attach->attach->n_managers, MANY + 1);
        order_everywhere("u%i.service", 5, web);
        for (int i = 0; i < MANY; i++) {
                _cleanup_free_ char *name = str_printf("u%i.service", i);

                loop_until(answered(name, 5));
                assert_string_equal(report_of(name)->error, "");
                assert_int_equal(report_of(name)->node, NODE_BASE + i);
                assert_true(runs_on(&others[i], name));
                assert_true(other_has_file(&others[i], name));
                assert_false(has_file(name));
        }
        detach(&others[7], false);
        assert_null(fake_systemd_active(others[7].systemd, "u7.service"));
        assert_false(other_has_file(&others[7], "u7.service"));
        assert_string_equal(state_of(others[7].name), "none");
        assert_true(runs_on(&others[8], "u8.service"));
}

#define HAS_NOT_FALLEN(name, help) assert_true(after.name >= before.name);
#define MAY_FALL(name, help)

// Programs take a counter that falls for one that began anew, and what is left of it for an increase.
static void what_was_counted_of_a_manager_that_goes_is_not_taken_back(void **state) {
        SystemdStats before, after;
        Other *o = add_online(0);

        agent_systemd_stats(w.agent, &before);
        assert_int_equal(before.connects, 2);
        detach(o, false);
        agent_systemd_stats(w.agent, &after);
        SYSTEMD_COUNTERS(HAS_NOT_FALLEN, MAY_FALL)
        attach(o);
        loop_until(all_online());
        agent_systemd_stats(w.agent, &after);
        assert_int_equal(after.connects, 3);
}

static void attaching_and_detaching_leaves_nothing_behind(void **state) {
        Other *o = add_other(0);
        size_t before = 0;

        for (int round = 0; round < 200; round++) {
                attach(o);
                loop_until(all_online());
                detach(o, round % 2);
                for (int i = 0; i < 3; i++) // handles close in the next turns
                        uv_run(&test_loop, UV_RUN_NOWAIT);
                fake_systemd_cut(o->systemd);
                if (round == 10)
                        before = n_fds();
        }
        loop_until(n_fds() <= before);
        assert_int_equal(agent_managers(w.agent, NULL, 0), 1);
}

// argosy.conf may name it again before it has gone.
static void a_manager_that_has_gone_can_be_attached_again_at_once(void **state) {
        Other *o = add_online(0);

        meet();
        order_everywhere("u%i.service", 5, web);
        loop_until(answered("u0.service", 5) && runs_on(o, "u0.service"));
        w.attaches_again = true;
        detach(o, false);
        assert_null(fake_systemd_active(o->systemd, "u0.service"));
        loop_until(all_online() && agent_managers(w.agent, NULL, 0) == 2);
        assert_int_equal(w.attach->attach->n_managers, 2);
}

// Within the turns that it takes, not when an Attach that was not answered would be repeated.
static bool attaches_at_once(unsigned before) {
        for (int i = 0; i < 3; i++)
                uv_run(&test_loop, UV_RUN_NOWAIT);
        return w.n_attaches > before;
}

static void the_leader_hears_at_once_of_managers_that_come_and_go(void **state) {
        Other *o = add_other(0);

        meet();
        attach(o);
        assert_true(attaches_at_once(w.n_attaches));
        assert_int_equal(w.attach->attach->n_managers, 2);
        welcome_all(NULL, 0, NULL, 0);
        loop_until(all_online());
        detach(o, false);
        assert_true(attaches_at_once(w.n_attaches - (w.attach->attach->n_managers == 1)));
        assert_int_equal(w.attach->attach->n_managers, 1);
}

static void a_restart_finds_what_managers_hold(void **state) {
        static Everywhere e;
        Other *o = add_other(0);
        unsigned before;

        attach(o);
        loop_until(all_online());
        meet();
        order_everywhere("web.service", 5, web);
        loop_until(answered("web.service", 5));
        agent_down();
        others_up();
        attach(o);
        loop_until(all_online());
        before = w.n_attaches;
        agent_on_leader(w.agent, 1, ++w.term);
        loop_until(w.n_attaches > before);
        assert_int_equal(w.attach->attach->n_held, 1);
        fill_everywhere(&e, "web.service", 5, web);
        argosy__unit_report__free_unpacked(((Seen *) map_find_str(&w.seen, "web.service"))->report, NULL);
        free(map_take_str(&w.seen, "web.service"));
        welcome_all(e.pointers, 1, &e.specs, 1);
        loop_until(answered("web.service", 5) && report_of("web.service")->spec.len == HASH_SIZE);
        assert_true(runs_on(o, "web.service"));
        assert_int_equal(fake_systemd_calls(o->systemd, "StartUnit"), 1);
        assert_int_equal(fake_systemd_calls(o->systemd, "StopUnit"), 0);
}

static Argosy__Response *answer;

static void on_answer(const Argosy__Response *response, void *userdata) {
        if (answer)
                argosy__response__free_unpacked(answer, NULL);
        answer = message_copy(response);
}

// What is asked of the host, since nobody leads, is about whichever of its nodes holds the unit.
static bool is_nobodys(const char *name) {
        return streq(state_of(name), "none");
}

// Its line in argosy.conf has gone while argosyd was down. What the cluster has started elsewhere meanwhile
// would run twice.
static void what_a_manager_runs_that_nobody_names_any_more_is_stopped(void **state) {
        Other *left = add_other(0), *forced = add_other(1);

        attach(left);
        attach(forced);
        loop_until(all_online());
        meet();
        order_everywhere("u%i.service", 5, web);
        loop_until(answered("u0.service", 5) && answered("u1.service", 5));
        detach(forced, true);
        agent_down();
        others_up();
        agent_managers_let_go(w.agent);
        assert_string_equal(state_of(left->name), "detaching");
        assert_true(is_nobodys(forced->name));
        loop_until(is_nobodys(left->name));
        assert_false(runs_on(left, "u0.service"));
        assert_false(other_has_file(left, "u0.service"));
        assert_true(runs_on(forced, "u1.service"));

        agent_down();
        others_up();
        agent_managers_let_go(w.agent);
        assert_true(is_nobodys(left->name) && is_nobodys(forced->name));
        attach(forced); // by hand: it is served again, and argosy's
        agent_down();
        others_up();
        agent_managers_let_go(w.agent);
        loop_until(is_nobodys(forced->name));
        assert_false(runs_on(forced, "u1.service"));
}

static void the_host_answers_for_the_units_of_all_its_managers(void **state) {
        Argosy__Request__Journal journal = ARGOSY__REQUEST__JOURNAL__INIT;
        char *names[] = {(char *) "web.service"};
        uint64_t cancel;

        attach(add_other(0));
        loop_until(all_online());
        meet();
        order_everywhere("web.service", 5, web);
        loop_until(answered("web.service", 5));
        agent_on_leader(w.agent, 0, 0);
        Argosy__Request__Status status = MESSAGE_OF(request__status, .names = names, .n_names = 1);
        Argosy__Request request = REQUEST_OF(STATUS, status, &status);
        assert_int_equal(agent_call(w.agent, 0, 0, &request, on_answer, NULL, &cancel), 0);
        loop_until(answer && answer->final);
        assert_int_equal(answer->status, 0);
        assert_string_equal(answer->status_reply->row->active, "active");

        journal.name = (char *) "nobody.service"; // systemd may have one
        request.what_case = ARGOSY__REQUEST__WHAT_JOURNAL;
        request.journal = &journal;
        assert_int_equal(agent_call(w.agent, 0, 0, &request, on_answer, NULL, &cancel), 0);
        loop_until(answer->final);
        assert_int_equal(answer->status, EHOSTUNREACH);
        assert_string_equal(answer->message, "nobody.service: this host does not hold it");
        argosy__response__free_unpacked(answer, NULL);
        answer = NULL;
}

static void a_manager_that_is_away_hinders_nobody_and_says_why(void **state) {
        Other *away = add_other(0), *there = add_other(1);

        away->down = true;
        attach(away);
        attach(there);
        loop_until(streq(state_of(there->name), "online"));
        meet();
        loop_until(w.attach->attach->n_nodes == 1);
        assert_string_equal(w.attach->attach->nodes[0]->manager, away->name);
        order_everywhere("u%i.service", 5, web);
        loop_until(answered("u1.service", 5));
        order_and_wait((Order){.name = "plain.service", .content = web, .revision = 6, .start = 6});
        assert_false(answered("u0.service", 5));
        // It cannot be stopped what does not run: detaching waits for nothing.
        detach(away, false);
        assert_true(runs_on(there, "u1.service"));
}

static void a_manager_that_comes_back_gets_its_units(void **state) {
        Other *o = add_other(0);

        o->down = true;
        attach(o);
        loop_until(streq(state_of(o->name), "offline"));
        meet();
        order_everywhere("web.service", 5, web);
        o->down = false;
        loop_until(answered("web.service", 5));
        assert_true(runs_on(o, "web.service"));
}

// As many signals of one manager as take NOISY_TURNS turns to read, and the system's still has its turn.
enum { NOISY_TURNS = 1000 };

static void a_manager_that_talks_without_end_delays_nobody(void **state) {
        Other *loud = add_online(0);

        meet();
        for (int i = 0; i < NOISY_TURNS * SYSTEMD_READ_BUDGET; i++)
                fake_systemd_set(loud->systemd, "noise.service", i % 2 ? "active" : "inactive",
                                 i % 2 ? "running" : "dead", "success");
        send_order((Order){.name = "plain.service", .content = web, .revision = 6, .start = 6});
        for (int turns = 0; !answered("plain.service", 6); turns++) {
                uv_run(&test_loop, UV_RUN_ONCE);
                if (turns > NOISY_TURNS / 2)
                        fail_msg("the unit of the system's manager starved");
        }
}

// ---- everything at once

enum {
        FLOOD = 1000,                   // units that are not ours, each with words of its own
        FLOOD_AT_A_TIME = 60,           // more than are read in a turn
        FLOOD_MAX = 1500,               // what waits in the other's queue has an end, too
        FLOOD_MESSAGE = 1024 * 1024,    // bytes
        FLOOD_GROWTH = 1024 * 1024,     // bytes that the first leaves: interned words, buffers, the other's
                                        // tables
        FLOOD_GROWTH_AGAIN = 32 * 1024, // and each other one
};

static void noise_name(unsigned i, char ret[static 64]) {
        snprintf(ret, 64, "noise-%u.service", i % FLOOD);
}

// Units, words, jobs that are refused with long reasons, long messages, files: all that it can say.
static void flood_on(Other *loud, unsigned round, unsigned *i) {
        char name[64], word[24];

        for (unsigned end = MIN_OF(*i + FLOOD_AT_A_TIME, (unsigned) FLOOD_MAX); *i < end; ++*i) {
                noise_name(*i, name);
                snprintf(word, sizeof(word), "%u-%u", round, *i);
                fake_systemd_set(loud->systemd, name, "active", word, word);
                fake_systemd_set(loud->systemd, "mine-0.service", *i % 2 ? "active" : "failed", word, word);
                fake_systemd_set(loud->systemd, name, "inactive", "dead", "success");
                if (*i % 100 == 0)
                        fake_systemd_files_changed(loud->systemd);
                if (*i % FLOOD == 0)
                        fake_systemd_send_long(loud->systemd, FLOOD_MESSAGE);
        }
}

// The other's own queue has then been longer than any flood makes it: how much memory it keeps for that
// depends on how slowly it is read, and is not what is measured.
static void fill_queue(Other *loud) {
        char name[64];

        for (unsigned i = 0; i < 2 * FLOOD_MAX; i++) {
                noise_name(i, name);
                fake_systemd_set(loud->systemd, name, "active", "running", "success");
                fake_systemd_set(loud->systemd, name, "inactive", "dead", "success");
        }
}

static size_t bytes_in_use(void) {
        return mallinfo2().uordblks;
}

// What is left when it has been read to its end, and others' units were started meanwhile.
static size_t after_flood(Other *loud, unsigned round) {
        uint64_t revision = 10 * (round + 1);
        unsigned i = 0;
        const Argosy__UnitReport *refused;

        while (i < FLOOD)
                flood_on(loud, round, &i);
        order_everywhere("plain-%d.service", revision, web);
        send_order(
                (Order){.name = "plain.service", .content = web, .revision = revision, .start = revision});
        while (!answered("plain.service", revision) || !answered("plain-1.service", revision)) {
                flood_on(loud, round, &i); // it is never read to its end meanwhile
                uv_run(&test_loop, UV_RUN_ONCE);
        }
        order_everywhere("refused-%d.service", revision + 1, web);
        loop_until(answered("plain-0.service", revision));
        loop_until((refused = report_of("refused-0.service")) && refused->revision == revision + 1);
        assert_in_range(strlen(refused->error), 1, AGENT_ERROR_MAX);
        while (i < FLOOD_MAX)
                flood_on(loud, round, &i);
        // the last that it says
        fake_systemd_set(loud->systemd, "plain-0.service", "failed", "failed", "signal");
        loop_until(report_of("plain-0.service")->active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED);
        assert_true(all_online());
        return bytes_in_use();
}

static void a_manager_that_does_everything_at_once_leaves_nothing_behind(void **state) {
        Other *loud = add_other(0), *quiet = add_other(1);
        char name[64];

        fake_systemd_behave(loud->systemd, "refused-0.service", FAKE_REFUSES);
        fake_systemd_complain_long(loud->systemd, FLOOD_MESSAGE);
        for (unsigned i = 0; i < FLOOD; i++) { // its own memory is not what is measured
                noise_name(i, name);
                (void) fake_systemd_active(loud->systemd, name);
        }
        attach(loud);
        attach(quiet);
        loop_until(all_online());
        meet();
        order_everywhere("mine-%d.service", 5, web);
        loop_until(answered("mine-0.service", 5) && answered("mine-1.service", 5));
        fill_queue(loud);
        fake_systemd_set(loud->systemd, "mine-0.service", "failed", "failed", "signal");
        loop_until(report_of("mine-0.service")->active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED);
        size_t before = bytes_in_use();
        size_t first = after_flood(loud, 1);
        assert_in_range(first, 0, before + FLOOD_GROWTH);
        (void) after_flood(loud, 2);
        size_t again = after_flood(loud, 3);
        assert_in_range(again, 0, first + 2 * FLOOD_GROWTH_AGAIN);
        assert_true(runs_on(quiet, "mine-1.service"));
        assert_int_equal(fake_systemd_calls(quiet->systemd, "ListUnits"), 1);
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                T(one_that_says_too_much_at_once_is_alone_with_it),
                T(eighty_managers_run_their_units_in_one_agent),
                T(what_was_counted_of_a_manager_that_goes_is_not_taken_back),
                T(attaching_and_detaching_leaves_nothing_behind),
                T(a_manager_that_has_gone_can_be_attached_again_at_once),
                T(the_leader_hears_at_once_of_managers_that_come_and_go),
                T(a_restart_finds_what_managers_hold),
                T(what_a_manager_runs_that_nobody_names_any_more_is_stopped),
                T(the_host_answers_for_the_units_of_all_its_managers),
                T(a_manager_that_is_away_hinders_nobody_and_says_why),
                T(a_manager_that_comes_back_gets_its_units),
                T(a_manager_that_talks_without_end_delays_nobody),
                T(a_manager_that_does_everything_at_once_leaves_nothing_behind),
        };

        if (argc == 7 && streq(argv[1], "--helper"))
                return helper_main(argv + 2);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
