// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Lists of thousands of units: made and given in turns of the loop, and nevertheless as everything was at
// one moment, whatever happens meanwhile.
#include <errno.h>

#include "author.h"
#include "leader-rig-private.h"
#include "listing-asks.h"
#include "listing-question.h"
#include "listings.h"
#include "messages.h"

// The same for a client of another host.
static void forward_list(uint32_t host, uint64_t id) {
        Argosy__ToVoter m = MESSAGE_OF(to_voter, .msg_case = ARGOSY__TO_VOTER__MSG_FORWARD), *copy;
        Argosy__Request__ListUnits list = MESSAGE_OF(request__list_units, .parts = true);
        Argosy__Request request = REQUEST_OF(LIST_UNITS, list_units, &list);
        Argosy__Author author = author_of_host(host);
        Argosy__ToVoter__Forward f =
                MESSAGE_OF(to_voter__forward, .id = id, .request = &request, .author = &author);

        m.forward = &f;
        copy = message_copy(&m);
        leader_on_message(g.leader, host, copy);
        message_free(copy);
}

// Few units that stand for many rows.
FIXTURE(setup_globals) {
        rig_start(&g, MANY_HOSTS);
        for (size_t i = 0; i < GLOBALS; i++) {
                snprintf(names[i], sizeof(names[i]), "everywhere-%zu.service", i);
                pointers[i] = names[i];
                assert_int_equal(rig_change(&g, START, names[i], GLOBAL)->status, 0);
        }
        rig_settle(&g);
        count_from_here();
        ask_for(NULL, 0);
}

static void a_long_list_is_made_and_given_in_turns(void **state) {
        _cleanup_free_ char *all = text_at_once(), *text = NULL;
        RigAnswer *a = list(true);

        assert_int_equal(a->n, 0);
        finish(a);
        text = text_of(a);
        assert_string_equal(text, all);
        assert_in_range(most_listed, 1, MADE_MAX);
        assert_true(a->n > 1);
        for (size_t i = 0; i < a->n; i++)
                assert_in_range(a->responses[i]->units->n_rows, 1, ROWS_MAX);
}

static void who_takes_no_parts_hears_one_answer(void **state) {
        _cleanup_free_ char *all = text_at_once(), *text = NULL;
        RigAnswer *a = list(false);

        finish(a);
        assert_int_equal(a->n, 1);
        text = text_of(a);
        assert_string_equal(text, all);
        assert_in_range(most_listed, 1, MADE_MAX);
}

static void unit_files_are_listed_likewise(void **state) {
        Argosy__Request__ListUnitFiles files = MESSAGE_OF(request__list_unit_files, .parts = true);
        Argosy__Request request = REQUEST_OF(LIST_UNIT_FILES, list_unit_files, &files);
        _cleanup_response_ Argosy__Response *whole = NULL;
        size_t n = 0;
        RigAnswer *a = rig_ask(&g, &request);

        finish(a);
        whole = answer_unit_files(g.leader, &request);
        for (size_t i = 0; i < a->n; i++) {
                const Argosy__Response__UnitFiles *part = a->responses[i]->unit_files;

                assert_int_equal(part->first, n);
                for (size_t k = 0; k < part->n_rows; k++, n++) {
                        assert_string_equal(part->rows[k]->unit, whole->unit_files->rows[n]->unit);
                        assert_string_equal(part->rows[k]->state, whole->unit_files->rows[n]->state);
                }
        }
        assert_int_equal(n, whole->unit_files->n_rows);
        assert_in_range(most_listed, 1, MADE_MAX);
}

static void a_list_shows_one_moment_whatever_happens_while_it_is_made(void **state) {
        static char *some[] = {"load@1*", "all.service", "load@2.service", "load@[3-5]*"};

        for (unsigned round = 0; round < ROUNDS + ROUNDS_OF_SOME; round++) {
                bool of_all = round < ROUNDS, of_patterns = round % 2;
                _cleanup_free_ char *text = NULL;

                ask_for(of_patterns ? some : pointers, of_all ? 0 : of_patterns ? ELEMENTSOF(some) : NAMED);
                srand(round);
                looks = true;
                keep_moment();
                RigAnswer *a = list(round % 2);
                for (unsigned i = 0; i < 4; i++) {
                        meddle(round + i);
                        keep_moment();
                        rig_turn(&g);
                }
                finish(a);
                text = text_of(a);
                if (!was_a_moment(text))
                        fail_msg("round %u: the list is of no moment", round);
                forget_moments();
                rig_settle(&g);
        }
}

// Whichever turn it is that is asked in, while the log takes that web.service has a place, or none.
// It is not of one moment then, and no turn makes more of it than any other.
static void a_list_that_hosts_make_stale_again_and_again_ends(void **state) {
        _cleanup_free_ char *all = text_at_once(), *text = NULL;

        g.leader->limits.listing_turns = 10;
        hosts_change = true;
        RigAnswer *a = list(true);
        finish(a);
        text = text_of(a);
        assert_string_equal(text, all);
        assert_in_range(most_listed, 1, MADE_MAX);
}

static void a_list_shows_global_units_as_they_give_way(void **state) {
        assert_int_equal(rig_change(&g, DESTROY, "all.service", NULL)->status, 0);
        assert_int_equal(rig_change(&g, START, "all.service", GLOBAL "Conflicts=web*\n")->status, 0);
        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "web.service", SERVICE)->status, 0);
        for (unsigned delay = 0; delay < 8; delay++) {
                _cleanup_free_ char *text = NULL;
                char *web = "web.service";

                looks = true;
                keep_moment();
                RigAnswer *a = list(true);
                for (unsigned i = 0; i < delay / 2; i++)
                        rig_turn(&g);
                (void) change(delay % 2 ? ARGOSY__VERB__VERB_UNLOAD : START, &web, 1);
                keep_moment();
                finish(a);
                text = text_of(a);
                if (!was_a_moment(text))
                        fail_msg("after %u turns the list is of no moment", delay / 2);
                forget_moments();
                rig_settle(&g);
        }
}

static void thousands_of_names_are_found_and_not_compared(void **state) {
        static char *wanted[2 * UNITS + 1];
        _cleanup_free_ char *all = text_at_once(), *text = NULL;

        for (size_t i = 0; i < UNITS; i++)
                wanted[2 * i] = wanted[2 * i + 1] = pointers[i]; // each of them twice
        wanted[2 * UNITS] = "nobody.service";
        ask_for(wanted, ELEMENTSOF(wanted));
        RigAnswer *a = list(true);
        finish(a);
        text = text_of(a);
        assert_true(str_has_prefix(all, "all.service"));
        assert_string_equal(text, strstr(all, "load@"));
        assert_int_equal(most_compared, 0);
        assert_in_range(most_listed, 1, MADE_MAX);
}

static void names_and_patterns_are_looked_for_in_turns(void **state) {
        static char patterns[LISTED_GLOBS_MAX][16], *wanted[LISTED_GLOBS_MAX + 1];
        _cleanup_free_ char *all = NULL, *text = NULL;

        for (size_t i = 0; i < LISTED_GLOBS_MAX; i++) {
                snprintf(patterns[i], sizeof(patterns[i]), "no-%zu-*", i);
                wanted[i] = patterns[i];
        }
        wanted[7] = "load@1*";
        wanted[LISTED_GLOBS_MAX] = "load@2.service";
        ask_for(wanted, ELEMENTSOF(wanted));
        all = text_at_once();
        RigAnswer *a = list(true);
        assert_int_equal(a->n, 0);
        finish(a);
        text = text_of(a);
        assert_string_equal(text, all);
        assert_in_range(most_compared, 1, COMPARED_MAX + LISTED_GLOBS_MAX);
}

static void too_many_patterns_are_refused(void **state) {
        static char *wanted[LISTED_GLOBS_MAX + 1], longest[LISTED_GLOB_MAX + 2], *one = longest;

        for (size_t i = 0; i < ELEMENTSOF(wanted); i++)
                wanted[i] = "load@1*";
        ask_for(wanted, ELEMENTSOF(wanted));
        RigAnswer *a = list(true);
        assert_true(a->final);
        assert_int_equal(a->responses[0]->status, E2BIG);
        memset(longest, '*', sizeof(longest) - 1);
        ask_for(&one, 1);
        a = list(true);
        assert_true(a->final);
        assert_int_equal(a->responses[0]->status, EINVAL);
}

static void a_few_global_units_are_many_rows(void **state) {
        _cleanup_free_ char *all = text_at_once(), *text = NULL;
        RigAnswer *a = list(true);

        assert_int_equal(a->n, 0);
        finish(a);
        text = text_of(a);
        assert_string_equal(text, all);
        assert_in_range(most_rows, 1, MADE_MAX + MANY_HOSTS);
        for (size_t i = 0; i < a->n; i++)
                assert_in_range(a->responses[i]->units->n_rows, 1, ROWS_MAX + MANY_HOSTS);
        ask_for(pointers, 12); // these, too
        a = list(true);
        assert_int_equal(a->n, 0);
        finish(a);
}

// Before beats and orders that the host has to hear.
static void a_list_waits_for_a_slow_link_and_others_do_not(void **state) {
        _cleanup_free_ char *all = text_at_once(), *text = NULL;

        g.on_host_message = on_host_message;
        forward_list(2, 1);
        for (unsigned i = 0; i < 20 && n_parts[1] == 0; i++)
                rig_turn(&g);
        rig_host(&g, 2)->full = true;
        forward_list(2, 2);
        rig_settle(&g); // nobody is busy with them
        assert_int_equal(n_parts[1], 1);
        assert_int_equal(n_parts[2], 0);
        RigAnswer *a = list(true);
        finish(a);
        text = text_of(a);
        assert_string_equal(text, all);
        assert_int_equal(n_parts[1], 1);
        rig_host_drain(&g, 2);
        assert_true(is_over[1]);
        assert_true(is_over[2]);
        assert_int_equal(n_parts[1], n_parts[2]);
        assert_int_equal(g.leader->n_listings_kept, 0);
}

static void who_asks_for_a_few_by_name_does_not_wait(void **state) {
        const char *one[] = {"load@7.service"};

        assert_true(str_has_prefix(rig_list_units_matching(&g, one, 1), "load@7.service n"));
}

static void without_a_leader_a_list_is_made_in_turns(void **state) {
        _cleanup_free_ char *all = NULL, *text = NULL;
        RigAnswer a;

        rig_depose(&g);
        rig_settle(&g);
        all = text_at_once();
        count_from_here();
        list_stale(&a);
        assert_int_equal(a.n, 0);
        assert_int_not_equal(a.cancel, 0);
        finish(&a);
        text = text_of(&a);
        assert_string_equal(text, all);
        assert_in_range(most_listed, 1, MADE_MAX);
        forget_stale(&a);
        rig_elect(&g);
}

// Nobody tells it of what changes in the records.
static void a_list_without_a_leader_ends_when_the_log_goes_on(void **state) {
        RigAnswer a;

        rig_depose(&g);
        rig_settle(&g);
        list_stale(&a);
        rig_turn(&g);
        leader_on_applied(g.leader, g.leader->index + 1);
        finish(&a);
        assert_int_equal(a.responses[a.n - 1]->status, EAGAIN);
        forget_stale(&a);
        list_stale(&a);
        rig_turn(&g);
        rig_elect(&g); // looks at all records itself
        assert_true(a.final);
        assert_int_equal(a.responses[a.n - 1]->status, EAGAIN);
        forget_stale(&a);
}

static void a_leader_that_ends_leaves_the_list_to_the_next(void **state) {
        RigAnswer *a = list(true), *b;

        rig_turn(&g);
        rig_depose(&g);
        rig_turns(&g, 3);
        assert_true(a->final);
        assert_int_equal(a->responses[a->n - 1]->status, EAGAIN);
        rig_elect(&g);
        b = list(true);
        finish(b);
        assert_int_equal(b->responses[0]->units->first, 0);
        rig_settle(&g);
        assert_true(list_is_empty(&g.leader->listings));
}

static void who_goes_away_makes_room_for_the_next(void **state) {
        _cleanup_free_ char *all = text_at_once(), *text = NULL;
        RigAnswer *a = list(true), *b = list(true);

        rig_turns(&g, 2);
        leader_cancel(g.leader, a->cancel);
        finish(b);
        assert_false(a->final);
        text = text_of(b);
        assert_string_equal(text, all);
        rig_settle(&g);
        assert_true(list_is_empty(&g.leader->listings));
}

RUN_TESTS(
        LIST_TEST(a_long_list_is_made_and_given_in_turns),
        LIST_TEST(who_takes_no_parts_hears_one_answer),
        LIST_TEST(unit_files_are_listed_likewise),
        LIST_TEST(a_list_shows_one_moment_whatever_happens_while_it_is_made),
        LIST_TEST(a_list_that_hosts_make_stale_again_and_again_ends),
        LIST_TEST(a_list_shows_global_units_as_they_give_way),
        LIST_TEST(thousands_of_names_are_found_and_not_compared),
        LIST_TEST(names_and_patterns_are_looked_for_in_turns),
        LIST_TEST(too_many_patterns_are_refused),
        cmocka_unit_test_setup_teardown(a_few_global_units_are_many_rows, setup_globals, teardown),
        LIST_TEST(a_list_waits_for_a_slow_link_and_others_do_not),
        LIST_TEST(who_asks_for_a_few_by_name_does_not_wait),
        LIST_TEST(without_a_leader_a_list_is_made_in_turns),
        LIST_TEST(a_list_without_a_leader_ends_when_the_log_goes_on),
        LIST_TEST(a_leader_that_ends_leaves_the_list_to_the_next),
        LIST_TEST(who_goes_away_makes_room_for_the_next)
)
