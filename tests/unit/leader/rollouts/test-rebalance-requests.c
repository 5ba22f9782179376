// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a rebalance would do is thought of by the pool, and the world goes on meanwhile. Here the pool has
// one thread, which a test may keep busy: what it is given then waits for as long as the test likes.
#include "printed.h"
#include "rebalance-words.h"
#include "rig-pool.h"

enum { UNITS = 9, MOVES = 3, MANY_UNITS = 1200, ASKED_AT_ONCE = 1000 };

// The pool is kept from an answer that was asked for.
static RigAnswer *ask_in_vain(Wish w) {
        rig_pool_hold(&g);
        RigAnswer *a = ask(w);
        assert_false(a->final);
        assert_true(g.leader->searching);
        return a;
}

static void go_on(void) {
        rig_pool_let_go(&g);
        rig_settle(&g);
        assert_false(g.leader->searching);
}

static bool names(const RigAnswer *a, const char *unit) {
        const Argosy__Response__Rebalance *r = rig_last(a)->rebalance;

        for (size_t i = 0; i < r->n_moves; i++)
                if (streq(r->moves[i]->unit, unit))
                        return true;
        return false;
}

// ------------------------------------------------------------------------------------------------ meanwhile

static void meanwhile_others_are_answered_and_a_unit_that_is_gone_is_not_in_the_answer(void **state) {
        start_on_two(UNITS, SERVICE);
        RigAnswer *a = ask_in_vain((Wish){.preview = true});
        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "web@1.service", NULL)->status, 0);
        assert_null(rig_record(&g, "web@1.service"));
        go_on();
        assert_final(a, 0);
        assert_int_equal(n_moved(a), MOVES - 1);
        assert_false(names(a, "web@1.service"));
}

// Its number in the Placement is all that a search knows of a unit.
static void who_comes_in_the_place_of_one_that_is_gone_is_not_taken_for_it(void **state) {
        uint32_t place;

        start_on_two(UNITS, SERVICE);
        place = unit_find(g.leader, "web@1.service")->scheduling.place;
        RigAnswer *a = ask_in_vain((Wish){.preview = true});
        rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "web@1.service", NULL);
        (void) rig_set_mode(&g, "n3", ARGOSY__NODE_MODE__MODE_CORDONED, 0, "");
        rig_change(&g, START, "db.service", SERVICE);
        (void) rig_set_mode(&g, "n3", ARGOSY__NODE_MODE__MODE_OPEN, 0, "");
        assert_int_equal(unit_find(g.leader, "db.service")->scheduling.place, place);
        assert_int_equal(rig_record(&g, "db.service")->node, 1);
        go_on();
        assert_int_equal(n_moved(a), MOVES - 1);
        assert_false(names(a, "db.service"));
}

static void nobody_is_said_to_go_to_a_node_that_was_closed_meanwhile(void **state) {
        start_on_two(UNITS, SERVICE);
        RigAnswer *a = ask_in_vain((Wish){.preview = true});
        (void) rig_set_mode(&g, "n3", ARGOSY__NODE_MODE__MODE_CORDONED, 0, "");
        go_on();
        assert_final(a, 0);
        assert_int_equal(n_moved(a), 0);
}

static void what_has_become_needless_meanwhile_is_not_in_the_answer(void **state) {
        start_on_two(UNITS, SERVICE);
        RigAnswer *a = ask_in_vain((Wish){.preview = true});
        for (unsigned i = 1; i <= 4; i++) { // they go where there is nobody
                rig_change(&g, START, printed("db-%u.service", i), SERVICE);
        }
        assert_int_equal(units_on(3), 4);
        go_on();
        assert_true(a->final);
        assert_int_equal(n_moved(a), 0);
}

static void a_host_that_goes_away_for_a_moment_meanwhile_is_waited_for(void **state) {
        start_on_two(UNITS, SERVICE);
        RigAnswer *a = ask_in_vain((Wish){.preview = true});
        rig_host_off(&g, 2);
        rig_host(&g, 2)->linked = false;
        rig_turns(&g, 4);
        go_on();
        assert_false(a->final);
        rig_host_on(&g, 2, false);
        assert_true(a->final);
        assert_int_equal(n_moved(a), MOVES);
}

// ------------------------------------------------------------------------------------------------ no answer

static void who_asks_and_goes_away_is_forgotten_and_the_next_one_is_answered(void **state) {
        start_on_two(UNITS, SERVICE);
        RigAnswer *a = ask_in_vain((Wish){.preview = true});
        leader_cancel(g.leader, a->cancel);
        assert_null(g.leader->rebalance_asked);
        RigAnswer *b = ask((Wish){.preview = true});
        assert_false(b->final); // one search at a time, also if nobody wants the other one
        go_on();
        assert_int_equal(a->n, 0);
        assert_true(b->final);
        assert_int_equal(n_moved(b), MOVES);
}

static void each_has_its_turn_who_asks_and_who_moves(void **state) {
        start_on_two(UNITS, SERVICE);
        RigAnswer *a = ask_in_vain((Wish){.preview = true});
        RigAnswer *b = ask((Wish){});
        RigAnswer *c = ask((Wish){.preview = true});
        assert_false(b->final || c->final);
        go_on();
        assert_true(a->final && b->final && c->final);
        assert_int_equal(n_moved(a), MOVES);
        assert_int_equal(n_moved(b), MOVES);
        assert_int_equal(units_on(3), MOVES);
        assert_int_equal(n_moved(ask((Wish){.preview = true})), 0);
}

static void the_end_of_a_rebalance_is_not_the_end_of_a_question(void **state) {
        start_on_two(UNITS, SERVICE);
        RigAnswer *a = ask((Wish){.max_moves = 1, .health = true}); // it has moved one, and waits
        assert_int_equal(units_on(3), 1);
        assert_false(a->final);
        RigAnswer *b = ask_in_vain((Wish){.preview = true});
        rig_pass_ms(&g, 2 * HEALTH_MS); // there is nothing left that it may search for
        assert_true(a->final);
        assert_false(b->final);
        go_on();
        assert_true(b->final);
        assert_int_equal(n_moved(b), MOVES - 1);
}

static void a_leader_that_is_none_any_more_says_so_at_once_and_begins_anew_when_it_leads(void **state) {
        start_on_two(UNITS, SERVICE);
        RigAnswer *a = ask_in_vain((Wish){.preview = true});
        rig_depose(&g);
        assert_true(a->final);
        assert_true(rig_last(a)->no_leader);
        rig_elect(&g);
        RigAnswer *b = ask((Wish){.preview = true});
        assert_false(b->final);
        go_on();
        assert_true(b->final);
        assert_int_equal(n_moved(b), MOVES);
}

static void what_is_ended_before_there_is_a_plan_moves_nothing(void **state) {
        start_on_two(UNITS, SERVICE);
        RigAnswer *a = ask_in_vain((Wish){});
        assert_int_equal(rig_last(ask((Wish){.abort = true}))->status, 0);
        assert_final(a, ECANCELED);
        go_on();
        assert_int_equal(units_on(3), 0);
        assert_null(g.leader->rebalance);
}

static void on_closing(Rig *rig) {
        for (int i = 0; i < 10; i++)
                uv_run(&rig->loop, UV_RUN_NOWAIT);
        assert_non_null(rig->leader); // the pool has something of it
        assert_int_equal(rig->leader->n_outside, 2); // the search, and the tables
        rig_pool_let_go(rig);
}

static void the_end_waits_for_the_pool(void **state) {
        start_on_two(UNITS, SERVICE);
        (void) ask_in_vain((Wish){.preview = true});
        g.on_closing = on_closing; // when the rig stops
}

// ------------------------------------------------------------------------------------------------ many

static uint64_t n_asked, most_asked;

static void count_asked(Rig *rig) {
        most_asked = MAX_OF(most_asked, rig->leader->n_searched - n_asked);
        n_asked = rig->leader->n_searched;
}

static void many_units_are_asked_about_in_many_turns(void **state) {
        start_on_two(MANY_UNITS, SERVICE);
        g.on_turn = count_asked;
        n_asked = most_asked = 0;
        RigAnswer *a = ask((Wish){.preview = true});
        g.on_turn = NULL;
        assert_true(a->final);
        assert_in_range(n_moved(a), MANY_UNITS / 4, MANY_UNITS / 3);
        assert_true(n_asked >= MANY_UNITS);
        assert_in_range(most_asked, 1, ASKED_AT_ONCE);
}

RUN_TESTS(
        RIG_TEST(meanwhile_others_are_answered_and_a_unit_that_is_gone_is_not_in_the_answer),
        RIG_TEST(who_comes_in_the_place_of_one_that_is_gone_is_not_taken_for_it),
        RIG_TEST(nobody_is_said_to_go_to_a_node_that_was_closed_meanwhile),
        RIG_TEST(what_has_become_needless_meanwhile_is_not_in_the_answer),
        RIG_TEST(a_host_that_goes_away_for_a_moment_meanwhile_is_waited_for),
        RIG_TEST(who_asks_and_goes_away_is_forgotten_and_the_next_one_is_answered),
        RIG_TEST(each_has_its_turn_who_asks_and_who_moves),
        RIG_TEST(the_end_of_a_rebalance_is_not_the_end_of_a_question),
        RIG_TEST(a_leader_that_is_none_any_more_says_so_at_once_and_begins_anew_when_it_leads),
        RIG_TEST(what_is_ended_before_there_is_a_plan_moves_nothing),
        RIG_TEST(the_end_waits_for_the_pool),
        RIG_TEST(many_units_are_asked_about_in_many_turns)
)
