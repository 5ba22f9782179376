// SPDX-License-Identifier: LGPL-2.1-or-later
#include "macro.h"
#include "membership.h"
#include "test.h"

// Hosts in words: "A* B c- d": capital = voter with a raft id that is its number and a member of the log,
// '*' = the leader,
// '-' = not here and silent, '?' = here, but its log is silent, '!' = is to be no voter, '~' = cannot read
// the log, '%' = could not open one. Numbers follow the letters: a = 1.
typedef struct Scene {
        MembershipHost hosts[16];
        MembershipMember members[16];
        MembershipView view;
} Scene;

static Scene *scene(const char *text) {
        static Scene s;

        s = (Scene){.view = {.wanted = 3}};
        for (const char *p = text; *p; p++) {
                MembershipHost *h = &s.hosts[s.view.n_hosts - (s.view.n_hosts > 0)];

                if (*p == ' ')
                        continue;
                if (*p == '*')
                        s.view.self = h->host;
                else if (*p == '-') {
                        h->here = false;
                        h->running_id = 0;
                        if (h->voter)
                                s.members[s.view.n_members - 1].live = false;
                } else if (*p == '?')
                        s.members[s.view.n_members - 1].live = false;
                else if (*p == '!')
                        h->no_promote = true;
                else if (*p == '~')
                        h->too_old = true;
                else if (*p == '%')
                        h->in_vain = true;
                else {
                        h = &s.hosts[s.view.n_hosts++];
                        h->host = (uint32_t) ((*p | 32) - 'a' + 1);
                        h->here = true;
                        if (*p >= 'a')
                                continue;
                        h->voter = true;
                        h->raft_id = h->running_id = h->host;
                        s.members[s.view.n_members++] = (MembershipMember){h->raft_id, true, true};
                }
        }
        s.view.hosts = s.hosts;
        s.view.members = s.members;
        return &s;
}

static void assert_step(const MembershipView *v, MembershipAction action, uint32_t host) {
        MembershipStep s = membership_plan(v);

        assert_int_equal(s.action, action);
        assert_int_equal(s.host, host);
}

static void assert_plan(const char *text, MembershipAction action, uint32_t host) {
        assert_step(&scene(text)->view, action, host);
}

static void two_hosts_keep_one_voter(void **state) {
        assert_plan("A*", MEMBERSHIP_NOTHING, 0);
        assert_plan("A* b", MEMBERSHIP_NOTHING, 0);
}

static void a_third_host_makes_two_voters_more_one_after_the_other(void **state) {
        assert_plan("A* b c", MEMBERSHIP_OPEN, 2);
        assert_plan("A* B c", MEMBERSHIP_OPEN, 3);
        assert_plan("A* B C", MEMBERSHIP_NOTHING, 0);
        assert_plan("A* B C d e", MEMBERSHIP_NOTHING, 0);
}

// Two voters survive less than one.
static void nobody_is_promoted_unless_three_can_be_reached(void **state) {
        assert_plan("A* b c-", MEMBERSHIP_NOTHING, 0);
        assert_plan("A* b c!", MEMBERSHIP_NOTHING, 0);
}

static void who_cannot_read_the_log_gets_no_copy_of_it(void **state) {
        assert_plan("A* b~ c d", MEMBERSHIP_OPEN, 3);
        assert_plan("A* b c~", MEMBERSHIP_NOTHING, 0); // two voters survive less than one
        assert_plan("A* B C! d~", MEMBERSHIP_DEMOTE, 3);
}

// Its disk may be full for a long time.
static void who_could_not_open_a_log_keeps_nobody_from_voting(void **state) {
        assert_plan("A* b% c d", MEMBERSHIP_OPEN, 3);
        assert_plan("A* b% C d", MEMBERSHIP_OPEN, 4);
        assert_plan("A* b% C D", MEMBERSHIP_NOTHING, 0);
        assert_plan("A* b c%", MEMBERSHIP_OPEN, 3); // without it there would be two
        assert_plan("A* B c%", MEMBERSHIP_OPEN, 3);
        assert_plan("A* b% c%", MEMBERSHIP_OPEN, 2);
}

// It is a voter by its record, and came back with an empty disk before the log counted it as one.
static void who_does_not_open_its_log_again_makes_room_for_another(void **state) {
        Scene *s = scene("A* B C d");

        s->view.n_members = 2;
        s->hosts[2].running_id = 0;
        assert_step(&s->view, MEMBERSHIP_OPEN, 3);
        s->hosts[2].in_vain = true;
        assert_step(&s->view, MEMBERSHIP_DEMOTE, 3);
        s->hosts[2].running_id = 3;
        assert_step(&s->view, MEMBERSHIP_ADD, 3);
}

static void a_dead_voter_is_not_replaced_by_itself(void **state) {
        assert_plan("A* B C- d e", MEMBERSHIP_NOTHING, 0);
}

static void a_voter_that_is_to_go_is_replaced_first(void **state) {
        assert_plan("A* B C-! d", MEMBERSHIP_OPEN, 4);
        assert_plan("A* B C-! D", MEMBERSHIP_DEMOTE, 3);
        assert_plan("A* B C!", MEMBERSHIP_DEMOTE, 3); // nobody to replace it
        assert_plan("A*! b", MEMBERSHIP_OPEN, 2);     // the last voter waits for another
        assert_plan("A*! B", MEMBERSHIP_TRANSFER, 1); // and a leader cannot demote itself
        assert_plan("A! B*", MEMBERSHIP_DEMOTE, 1);
}

static void of_two_hosts_that_are_left_one_stays_voter(void **state) {
        assert_plan("A* B", MEMBERSHIP_DEMOTE, 2);
        assert_plan("A B*", MEMBERSHIP_DEMOTE, 1);
}

static void a_cluster_may_want_only_one_voter(void **state) {
        Scene *s = scene("A* b c");

        s->view.wanted = 1;
        assert_step(&s->view, MEMBERSHIP_NOTHING, 0);
        s = scene("A* B C");
        s->view.wanted = 1;
        assert_step(&s->view, MEMBERSHIP_DEMOTE, 2);
}

// A majority is one of logs, so it is their answers that count.
static void of_several_the_one_that_is_missed_least_is_demoted(void **state) {
        static const struct {
                const char *text;
                uint32_t host;
        } cases[] = {
                {"A* B C-", 3},  {"A* B C?", 3},   {"A* B? C-", 3},
                {"A* B- C?", 2}, {"A* B! C?!", 3}, {"A- B! C* D? E", 2},
        };
        Scene *s;

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                s = scene(cases[i].text);
                s->view.wanted = 1;
                assert_step(&s->view, MEMBERSHIP_DEMOTE, cases[i].host);
        }
        s = scene("A* B C?");
        s->hosts[1].here = false; // it answers, and only its session is down
        s->view.wanted = 1;
        assert_step(&s->view, MEMBERSHIP_DEMOTE, 3);
}

static void five_voters_are_made_of_five_hosts_only(void **state) {
        static const struct {
                const char *text;
                MembershipAction action;
                uint32_t host;
        } cases[] = {
                {"A* B C d", MEMBERSHIP_NOTHING, 0},     {"A* B C d e", MEMBERSHIP_OPEN, 4},
                {"A* B C D e", MEMBERSHIP_OPEN, 5},      {"A* B C D E", MEMBERSHIP_NOTHING, 0},
                {"A* B C d e-", MEMBERSHIP_NOTHING, 0}, // four survive no more than three
                {"A* B C D E f", MEMBERSHIP_NOTHING, 0}, {"A* B C D- E!", MEMBERSHIP_DEMOTE, 5},
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                Scene *s = scene(cases[i].text);

                s->view.wanted = 5;
                assert_step(&s->view, cases[i].action, cases[i].host);
        }
}

static void a_promotion_goes_through_its_steps(void **state) {
        Scene *s = scene("A* b c");

        s->hosts[1].opened_id = 17;
        MembershipStep step = membership_plan(&s->view);
        assert_int_equal(step.action, MEMBERSHIP_ENROL);
        assert_int_equal(step.raft_id, 17);
        s->hosts[1].voter = true;
        s->hosts[1].raft_id = s->hosts[1].running_id = 17;
        step = membership_plan(&s->view);
        assert_int_equal(step.action, MEMBERSHIP_ADD);
        assert_int_equal(step.raft_id, 17);
        s->members[s->view.n_members++] = (MembershipMember){17, false}; // catching up
        assert_step(&s->view, MEMBERSHIP_ADD, 2);
        s->members[1].voter = true;
        assert_step(&s->view, MEMBERSHIP_OPEN, 3);
}

static void a_promotion_that_its_host_does_not_survive_is_taken_back(void **state) {
        Scene *s = scene("A* b c");

        s->hosts[1].voter = true;
        s->hosts[1].raft_id = 17;
        s->hosts[1].running_id = 0; // restarted before it was added: it opens the log again
        assert_step(&s->view, MEMBERSHIP_OPEN, 2);
        s->hosts[1].here = false;
        assert_step(&s->view, MEMBERSHIP_DEMOTE, 2);
        s->hosts[1].voter = false;
        assert_step(&s->view, MEMBERSHIP_CLOSE, 2);
}

static void a_demotion_goes_through_its_steps(void **state) {
        Scene *s = scene("A* B C");

        s->hosts[2].voter = false;
        s->hosts[2].no_promote = true;
        assert_step(&s->view, MEMBERSHIP_DROP, 3);
        s->view.n_members = 2;
        assert_step(&s->view, MEMBERSHIP_CLOSE, 3);
        s->hosts[2].raft_id = 0;
        assert_step(&s->view, MEMBERSHIP_DEMOTE, 2); // only two may vote now, so one does
}

// Under its old id it could vote twice in one term.
static void a_voter_that_came_back_with_an_empty_disk_is_demoted(void **state) {
        Scene *s = scene("A* B C");

        s->hosts[2].running_id = 0;
        assert_step(&s->view, MEMBERSHIP_DEMOTE, 3);
        s->hosts[2].here = false; // not before it says so itself
        assert_step(&s->view, MEMBERSHIP_NOTHING, 0);
}

// What was dropped already does not come back under its old id, and what is one too many goes.
static void a_demotion_can_be_called_off_until_its_voter_is_dropped(void **state) {
        Scene *s = scene("A* B C");

        s->hosts[2].voter = false;
        s->hosts[2].no_promote = true;
        assert_step(&s->view, MEMBERSHIP_DROP, 3);
        s->hosts[2].no_promote = false;
        assert_step(&s->view, MEMBERSHIP_KEEP, 3);
        s->hosts[2].running_id = 0; // its disk is empty
        assert_step(&s->view, MEMBERSHIP_DROP, 3);
        s->hosts[2].running_id = 3;
        s->view.wanted = 1;
        assert_step(&s->view, MEMBERSHIP_DROP, 3);
        s->view.wanted = 3;
        s->view.n_members = 2;
        assert_step(&s->view, MEMBERSHIP_CLOSE, 3);
}

static void what_is_left_of_a_removed_host_is_dropped(void **state) {
        Scene *s = scene("A* B C");

        s->members[s->view.n_members++] = (MembershipMember){99, true};
        MembershipStep step = membership_plan(&s->view);
        assert_int_equal(step.action, MEMBERSHIP_DROP);
        assert_int_equal(step.raft_id, 99);
}

static bool majority_is_live(const MembershipView *v) {
        size_t n = 0, live = 0;

        for (size_t i = 0; i < v->n_members; i++) {
                n += v->members[i].voter;
                live += v->members[i].voter && v->members[i].live;
        }
        return live > n / 2;
}

typedef void (*BeforeStep)(Scene *s);

// Carries every step out on the scene until there is nothing to do, or one is not safe; whoever leads hands
// over when told to. Whether it came to the end.
static bool carry_out_as_far_as_safe(Scene *s, BeforeStep before) {
        for (int i = 0; i < 100; i++) {
                MembershipStep step = membership_plan(&s->view);

                if (before) {
                        before(s);
                        step = membership_plan(&s->view);
                }
                if (!membership_is_safe(&s->view, &step))
                        return false;
                MembershipHost *h = step.host ? &s->hosts[step.host - 1] : NULL;
                switch (step.action) {
                case MEMBERSHIP_NOTHING:
                        return true;
                case MEMBERSHIP_KEEP:
                        h->voter = true;
                        break;
                case MEMBERSHIP_OPEN:
                        if (h->raft_id)
                                h->running_id = h->raft_id;
                        else
                                h->opened_id = h->running_id = 50 + (uint32_t) i;
                        break;
                case MEMBERSHIP_ENROL:
                        h->voter = true;
                        h->raft_id = step.raft_id;
                        h->opened_id = 0;
                        break;
                case MEMBERSHIP_ADD:
                        assert_true(h->here);
                        s->members[s->view.n_members++] = (MembershipMember){step.raft_id, true, true};
                        break;
                case MEMBERSHIP_DEMOTE:
                        assert_int_not_equal(step.host, s->view.self);
                        h->voter = false;
                        break;
                case MEMBERSHIP_DROP:
                        for (size_t k = 0; k < s->view.n_members; k++)
                                if (s->members[k].raft_id == step.raft_id)
                                        s->members[k] = s->members[--s->view.n_members];
                        break;
                case MEMBERSHIP_TRANSFER:
                        for (size_t k = 0; k < s->view.n_hosts; k++)
                                if (s->hosts[k].voter && s->hosts[k].here && s->hosts[k].host != step.host)
                                        s->view.self = s->hosts[k].host;
                        assert_int_not_equal(s->view.self, step.host);
                        break;
                case MEMBERSHIP_CLOSE:
                        h->raft_id = h->running_id = 0;
                        break;
                }
                assert_true(s->view.n_members > 0); // never without a voter
                assert_true(majority_is_live(&s->view));
        }
        fail_msg("the plan does not come to an end");
        return false;
}

static void carry_out(Scene *s) {
        assert_true(carry_out_as_far_as_safe(s, NULL));
}

static void from_anywhere_the_plan_ends_with_an_odd_number(void **state) {
        const char *scenes[] = {"A*",         "A* b",         "A* b c",     "A* b c d e",   "A* B",
                                "A* B C!",    "A*! B C",      "A*! b",      "A*! b c",      "A*! b c d",
                                "A! B! C*",   "A! B! C* d e", "A* B C D E", "A* B- C",      "A* B-! C d e",
                                "A*! B! c d", "A* b! c!",     "A*! B C d",  "A* b c d e f", "A* B C D E! f"};

        for (size_t i = 0; i < 2 * ELEMENTSOF(scenes); i++) {
                Scene *s = scene(scenes[i / 2]);
                size_t voters = 0;

                s->view.wanted = i % 2 ? 5 : 3;
                carry_out(s);
                for (size_t k = 0; k < s->view.n_hosts; k++)
                        voters += s->hosts[k].voter;
                if (voters % 2 == 0 || voters > s->view.wanted)
                        fail_msg("\"%s\" ends with %zu voters", scenes[i / 2], voters);
                assert_int_equal(voters, s->view.n_members);
        }
}

// ------------------------------------------------------------------------------------------------ safety

static void a_voter_leaves_only_if_a_majority_answers_all_the_way(void **state) {
        static const struct {
                const char *text;
                unsigned wanted;
                uint32_t host;
                bool safe;
                const char *first; // if not: those that are to go before it
        } cases[] = {
                {"A* B C", 3, 3, true, ""},
                {"A* B- C", 3, 3, false, "b"},
                {"A* B- C", 3, 2, true, ""},   // the dead one itself
                {"A* B- C", 3, 1, false, "b"}, // the leader would hand over, and then it would be gone
                {"A* B- C d", 3, 3, true, ""}, // the spare comes first
                {"A* B- C d-", 3, 3, false, "b"},
                {"A* B- C d!", 3, 3, false, "b"},
                {"A* B", 3, 2, true, ""},
                {"A* B", 3, 1, true, ""},
                {"A* b", 3, 1, true, ""},
                {"A* B C D- E", 5, 5, true, ""},
                {"A* B C- D- E", 5, 5, false, "c"}, // then d is one too many, and goes by itself
                {"A* B C- D- E f g", 5, 5, true, ""},
                {"A* B C- D- E f! g!", 5, 2, false, "c"},
                {"A* B C D E", 5, 1, true, ""},
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                MembershipVerdict verdict;
                Scene *s = scene(cases[i].text);
                char first[MEMBERSHIP_FIRST_MAX + 1] = "";

                s->view.wanted = cases[i].wanted;
                assert_int_equal(membership_judge(&s->view, cases[i].host, &verdict), 0);
                for (size_t k = 0; k < verdict.n_first; k++)
                        first[k] = (char) ('a' + verdict.first[k] - 1);
                if (verdict.safe != cases[i].safe || !streq(first, cases[i].first))
                        fail_msg("\"%s\" without %c: safe %d, first \"%s\"", cases[i].text,
                                 (char) ('a' + cases[i].host - 1), verdict.safe, first);
        }
}

// One that answers but whose log is far behind helps nobody yet.
static void the_step_before_the_last_majority_is_not_taken(void **state) {
        Scene *s = scene("A* B C!");

        assert_true(membership_is_safe(&s->view, &(MembershipStep){MEMBERSHIP_DEMOTE, 3, 3}));
        assert_true(membership_is_safe(&s->view, &(MembershipStep){MEMBERSHIP_DROP, 3, 3}));
        s->members[1].live = false;
        assert_false(membership_is_safe(&s->view, &(MembershipStep){MEMBERSHIP_DEMOTE, 3, 3}));
        assert_false(membership_is_safe(&s->view, &(MembershipStep){MEMBERSHIP_DROP, 3, 3}));
        assert_false(membership_is_safe(&s->view, &(MembershipStep){MEMBERSHIP_TRANSFER, 1, 0}));
        assert_true(membership_is_safe(&s->view, &(MembershipStep){MEMBERSHIP_DROP, 2, 2}));
        s->members[2].voter = false; // it has no part in any majority
        assert_true(membership_is_safe(&s->view, &(MembershipStep){MEMBERSHIP_DROP, 3, 3}));
        assert_true(membership_is_safe(&s->view, &(MembershipStep){MEMBERSHIP_CLOSE, 3, 3}));
}

// Voters, of whom `dead` do not answer, then spares; `leader` leads. NULL: nobody could lead that.
static Scene *combination(size_t voters, unsigned dead, size_t spares, size_t leader, unsigned wanted) {
        char text[64] = "";

        if (dead & (1u << leader))
                return NULL;
        for (size_t i = 0; i < voters + spares; i++)
                snprintf(text + strlen(text), sizeof(text) - strlen(text), "%c%s%s",
                         (char) ((i < voters ? 'A' : 'a') + i), dead & (1u << i) ? "-" : "",
                         i == leader ? "*" : "");
        Scene *s = scene(text);
        s->view.wanted = wanted;
        return majority_is_live(&s->view) ? s : NULL;
}

static unsigned n_safe, n_ordered;

static void judge_and_go(size_t voters, unsigned dead, size_t spares, size_t leader, unsigned wanted,
                         size_t leaves) {
        Scene *s = combination(voters, dead, spares, leader, wanted);
        MembershipVerdict verdict;

        if (!s)
                return;
        assert_int_equal(membership_judge(&s->view, (uint32_t) leaves + 1, &verdict), 0);
        if (verdict.safe)
                n_safe++;
        else { // there is always an order that works: the dead first
                assert_true(verdict.n_first > 0);
                n_ordered++;
        }
        for (size_t i = 0; i < verdict.n_first; i++) {
                assert_true(dead & (1u << (verdict.first[i] - 1)));
                s->hosts[verdict.first[i] - 1].no_promote = true;
                carry_out(s);
        }
        s->hosts[leaves].no_promote = true;
        carry_out(s);

        s = combination(voters, dead, spares, leader, wanted); // begun nevertheless, it stops in time
        s->hosts[leaves].no_promote = true;
        assert_int_equal(carry_out_as_far_as_safe(s, NULL), verdict.safe);
        assert_true(majority_is_live(&s->view));
}

static void whoever_leaves_of_up_to_five_voters_a_majority_answers(void **state) {
        static const unsigned wanted[] = {1, 3, 5};

        for (size_t voters = 1; voters <= 5; voters++)
                for (unsigned dead = 0; dead < 1u << voters; dead++)
                        for (size_t spares = 0; spares <= 2; spares++)
                                for (size_t leader = 0; leader < voters; leader++)
                                        for (size_t w = 0; w < ELEMENTSOF(wanted); w++)
                                                for (size_t leaves = 0; leaves < voters; leaves++)
                                                        judge_and_go(voters, dead, spares, leader, wanted[w],
                                                                     leaves);
        assert_true(n_safe > 1000);
        assert_true(n_ordered > 100);
}

// A voter dies or comes back between any two steps, but never so many that nobody could lead.
static uint32_t seed;

static uint32_t roll(uint32_t n) {
        seed = seed * 1664525 + 1013904223;
        return (seed >> 16) % n;
}

static void somebody_dies_or_comes_back(Scene *s) {
        MembershipMember *m = &s->members[roll((uint32_t) s->view.n_members)];

        if (m->raft_id == s->hosts[s->view.self - 1].raft_id || roll(2))
                return;
        m->live = !m->live;
        if (!majority_is_live(&s->view))
                m->live = true;
}

static void no_step_is_taken_into_a_configuration_without_a_majority(void **state) {
        unsigned n_waiting = 0;

        for (seed = 1; seed < 20000; seed += 7) {
                uint32_t first = seed, voters = 1 + roll(5), spares = roll(3);
                Scene *s = combination(voters, 0, spares, roll(voters), 1 + 2 * roll(3));

                for (uint32_t i = 0; i < voters + spares; i++)
                        s->hosts[i].no_promote = roll(3) == 0;
                n_waiting += !carry_out_as_far_as_safe(s, somebody_dies_or_comes_back);
                assert_true(majority_is_live(&s->view));
                seed = first;
        }
        assert_true(n_waiting > 50);
}

static void shake_spares(Scene *s) {
        for (size_t i = 0; i < s->view.n_hosts; i++) {
                MembershipHost *h = &s->hosts[i];

                if (h->voter || h->raft_id)
                        continue;
                h->here = roll(2);
                h->running_id = roll(2) * 90;
                h->opened_id = roll(2) * 91;
                h->too_old = roll(3) == 0;
        }
}

// So whoever looked when nothing was to do need not look again for that.
static void whether_there_is_a_step_follows_neither_from_answers_nor_from_spares(void **state) {
        unsigned n_nothing = 0, n_short = 0;

        for (seed = 1; seed < 100000; seed += 7) {
                uint32_t first = seed, voters = 1 + roll(5), spares = roll(5);
                Scene *s = combination(voters, 0, spares, roll(voters), 1 + 2 * roll(3));

                for (uint32_t i = 0; i < voters + spares; i++) {
                        s->hosts[i].no_promote = roll(6) == 0;
                        s->hosts[i].voter ^= roll(12) == 0;
                        s->hosts[i].here = roll(3) > 0;
                        s->hosts[i].running_id *= roll(6) > 0;
                }
                shake_spares(s);
                bool nothing = membership_plan(&s->view).action == MEMBERSHIP_NOTHING;
                for (size_t i = 0; i < s->view.n_members; i++)
                        s->members[i].live = roll(2);
                assert_int_equal(membership_plan(&s->view).action == MEMBERSHIP_NOTHING, nothing);
                n_nothing += nothing;
                n_short += membership_is_short(&s->view);
                if (!membership_is_short(&s->view)) {
                        shake_spares(s);
                        assert_int_equal(membership_plan(&s->view).action == MEMBERSHIP_NOTHING, nothing);
                }
                seed = first;
        }
        assert_true(n_nothing > 100 && n_short > 100);
}

RUN_TESTS(
        cmocka_unit_test(two_hosts_keep_one_voter),
        cmocka_unit_test(a_third_host_makes_two_voters_more_one_after_the_other),
        cmocka_unit_test(nobody_is_promoted_unless_three_can_be_reached),
        cmocka_unit_test(who_cannot_read_the_log_gets_no_copy_of_it),
        cmocka_unit_test(who_could_not_open_a_log_keeps_nobody_from_voting),
        cmocka_unit_test(who_does_not_open_its_log_again_makes_room_for_another),
        cmocka_unit_test(a_dead_voter_is_not_replaced_by_itself),
        cmocka_unit_test(a_voter_that_is_to_go_is_replaced_first),
        cmocka_unit_test(of_two_hosts_that_are_left_one_stays_voter),
        cmocka_unit_test(a_cluster_may_want_only_one_voter),
        cmocka_unit_test(of_several_the_one_that_is_missed_least_is_demoted),
        cmocka_unit_test(five_voters_are_made_of_five_hosts_only),
        cmocka_unit_test(a_promotion_goes_through_its_steps),
        cmocka_unit_test(a_promotion_that_its_host_does_not_survive_is_taken_back),
        cmocka_unit_test(a_demotion_goes_through_its_steps),
        cmocka_unit_test(a_voter_that_came_back_with_an_empty_disk_is_demoted),
        cmocka_unit_test(a_demotion_can_be_called_off_until_its_voter_is_dropped),
        cmocka_unit_test(what_is_left_of_a_removed_host_is_dropped),
        cmocka_unit_test(from_anywhere_the_plan_ends_with_an_odd_number),
        cmocka_unit_test(a_voter_leaves_only_if_a_majority_answers_all_the_way),
        cmocka_unit_test(the_step_before_the_last_majority_is_not_taken),
        cmocka_unit_test(whoever_leaves_of_up_to_five_voters_a_majority_answers),
        cmocka_unit_test(no_step_is_taken_into_a_configuration_without_a_majority),
        cmocka_unit_test(whether_there_is_a_step_follows_neither_from_answers_nor_from_spares)
)
