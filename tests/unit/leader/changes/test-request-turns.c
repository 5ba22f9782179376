// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The order in which the units of a Change are placed.
#include "request-words.h"

static struct {
        char names[16][32]; // in the order in which they were placed
        size_t n;
        unsigned placed[3]; // of each role
} turns;

static int on_place_in_turn(const char *name, const char *activates, const UnitOptions *options,
                            const UnitOptions *mate, ChangePlace *ret, void *userdata) {
        snprintf(turns.names[turns.n++], sizeof(turns.names[0]), "%s", name);
        turns.placed[options->role ? atoi(options->role) : 0] += options->cpu_milli;
        *ret = (ChangePlace){.node = 1, .possible = true};
        return 0;
}

static void on_rank(const UnitOptions *options, ChangeRank *ret, void *userdata) {
        *ret = (ChangeRank){.role = options->role ? (uint32_t) atoi(options->role) : 0,
                            .share = options->cpu_milli};
}

static bool on_role_before(uint32_t a, uint32_t b, void *userdata) {
        return turns.placed[a] != turns.placed[b] ? turns.placed[a] < turns.placed[b] : a < b;
}

// Starts units whose files have these options, and says who was placed when.
static const char *placed_in_turns(Argosy__Verb verb, const char *const *names, const char *const *options,
                                   size_t n) {
        static const ChangeOps in_turns = {
                .place = on_place_in_turn, .rank = on_rank, .role_before = on_role_before};
        static char said[512];
        char contents[8][256];
        File files[8];

        turns.n = 0;
        memset(turns.placed, 0, sizeof(turns.placed));
        for (size_t i = 0; i < n; i++) {
                snprintf(contents[i], sizeof(contents[i]), SERVICE "[X-Argosy]\n%s\n", options[i]);
                files[i] = (File){names[i], contents[i]};
        }
        w.ops = &in_turns;
        (void) change_all(verb, names, n, files, n, false);
        w.ops = NULL;
        for (size_t i = 0; i < n; i++) {
                assert_int_equal(w.response->change->units[i]->status, 0);
                assert_string_equal(w.response->change->units[i]->name, names[i]);
        }
        said[0] = 0;
        for (size_t i = 0; i < turns.n; i++)
                (void) strcat(strcat(said, i ? " " : ""), turns.names[i]);
        return said;
}

static void the_units_of_a_request_have_their_turns_as_in_a_round(void **state) {
        static const char *const names[] = {"a.service", "b.service", "c.service", "d.service", "e.service"};

        assert_string_equal(
                placed_in_turns(ARGOSY__VERB__VERB_START, names,
                                (const char *const[]){"ReserveCPU=1", "ReserveCPU=4", "Priority=5",
                                                      "ReserveCPU=2\nPriority=-1", "ReserveCPU=4"},
                                5),
                "c.service b.service e.service a.service d.service");
}

// Who asks for many things in one body finds what became of each by its place.
static void answers_stand_in_the_order_of_the_names(void **state) {
        static const char *const names[] = {"a.timer", "b.service"};

        assert_string_equal(
                placed_in_turns(ARGOSY__VERB__VERB_START, names, (const char *const[]){"", ""}, 2),
                "b.service a.timer");
}

// The first of role 2 is placed, then role 1 has less until it has as much.
static void the_role_that_has_the_least_goes_first(void **state) {
        static const char *const names[] = {"a.service", "b.service", "c.service", "d.service", "e.service"};

        assert_string_equal(
                placed_in_turns(ARGOSY__VERB__VERB_LOAD, names,
                                (const char *const[]){"Role=2\nReserveCPU=1", "Role=2\nReserveCPU=1",
                                                      "Role=2\nReserveCPU=1", "Role=1\nReserveCPU=2",
                                                      "Role=1\nReserveCPU=1\nPriority=1"},
                                5),
                "e.service a.service d.service b.service c.service");
}

static void who_goes_where_others_are_comes_after_them(void **state) {
        static const char *const names[] = {"a.service", "b.service", "c.timer"};

        assert_string_equal(
                placed_in_turns(ARGOSY__VERB__VERB_START, names,
                                (const char *const[]){"MachineOf=b.service\nPriority=9\nReserveCPU=9",
                                                      "Priority=-9", "Priority=10"},
                                3),
                "b.service a.service c.timer");
}

RUN_TESTS(
        REQUEST_TEST(the_units_of_a_request_have_their_turns_as_in_a_round),
        REQUEST_TEST(answers_stand_in_the_order_of_the_names),
        REQUEST_TEST(the_role_that_has_the_least_goes_first),
        REQUEST_TEST(who_goes_where_others_are_comes_after_them)
)
