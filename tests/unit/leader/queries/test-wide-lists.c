// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Lists of units that are on hundreds of hosts: each is made in pieces of some hosts, and nevertheless all
// of it is of one moment, in one order.
#include "leader-rig-private.h"
#include "listing-asks.h"
#include "messages.h"

enum { WIDE_HOSTS = 300, WIDE = 4, PIECE = 64, WIDE_ROUNDS = 12, PAGE = 150 };

FIXTURE(setup_wide) {
        rig_start(&g, WIDE_HOSTS);
        for (size_t i = 0; i < WIDE; i++) {
                snprintf(names[i], sizeof(names[i]), "wide-%zu.service", i);
                pointers[i] = names[i];
                assert_int_equal(rig_change(&g, START, names[i], GLOBAL)->status, 0);
        }
        assert_int_equal(
                rig_change(&g, START, "nowhere.service", GLOBAL "MachineMetadata=zone=none\n")->status, 0);
        assert_int_equal(rig_change(&g, START, "alone.service", SERVICE)->status, 0);
        rig_settle(&g);
        count_from_here();
        ask_for(NULL, 0);
        filter = (Argosy__ListFilter) ARGOSY__LIST_FILTER__INIT;
}

static void report(uint32_t host, const char *name, Argosy__ActiveState active) {
        rig_host_report(&g, rig_host(&g, host), rig_unit_on(&g, host, name), active,
                        ARGOSY__OUTCOME__KIND__NONE);
}

static void no_turn_makes_all_rows_of_a_name(void **state) {
        _cleanup_free_ char *all = text_at_once(), *text = NULL;
        RigAnswer *a = list(true);

        finish(a);
        text = text_of(a);
        assert_string_equal(text, all);
        assert_non_null(strstr(text, "nowhere.service - "));
        assert_in_range(most_rows, 1, MADE_MAX + PIECE);
}

static void what_one_host_says_makes_one_piece_stale(void **state) {
        _cleanup_free_ char *all = NULL, *text = NULL;
        uint64_t before = g.leader->n_listed_rows;
        RigAnswer *a = list(true);

        rig_turn(&g);
        report(WIDE_HOSTS / 2, names[0], ARGOSY__ACTIVE_STATE__ACTIVE_FAILED);
        finish(a);
        text = text_of(a);
        all = text_at_once();
        assert_string_equal(text, all);
        assert_non_null(strstr(text, " failed "));
        assert_in_range(g.leader->n_listed_rows - before, WIDE * WIDE_HOSTS + PIECE,
                        WIDE * WIDE_HOSTS + 2 * PIECE);
}

static void meddle_with_wide(unsigned round) {
        char **one = &pointers[(size_t) rand() % WIDE];
        uint32_t host = 2 + (uint32_t) rand() % (WIDE_HOSTS - 1);

        switch (round % 5) {
        case 0:
                (void) change(STOP, one, 1);
                break;
        case 1:
                if (rig_unit_on(&g, host, *one))
                        report(host, *one, ARGOSY__ACTIVE_STATE__ACTIVE_FAILED);
                break;
        case 2:
                (void) change(START, one, 1);
                break;
        case 3:
                rig_host_off(&g, host);
                break;
        default:
                (void) change(DESTROY, one, 1);
        }
}

static void all_pieces_are_of_one_moment(void **state) {
        for (unsigned round = 0; round < WIDE_ROUNDS; round++) {
                _cleanup_free_ char *text = NULL;

                srand(round);
                looks = true;
                keep_moment();
                RigAnswer *a = list(round % 2);
                for (unsigned i = 0; i < 3; i++) {
                        meddle_with_wide(round + i);
                        keep_moment();
                        rig_turn(&g);
                }
                finish(a);
                text = text_of(a);
                if (!was_a_moment(text))
                        fail_msg("round %u: the list is of no moment", round);
                forget_moments();
                rig_settle(&g);
                for (size_t i = 0; i < WIDE; i++)
                        (void) rig_change(&g, START, names[i], GLOBAL);
                rig_settle(&g);
        }
}

static RigAnswer *list_page(void) {
        Argosy__Request__ListUnits m = MESSAGE_OF(request__list_units, .filter = &filter);
        RigAnswer *a = rig_ask(&g, A_REQUEST(LIST_UNITS, list_units, &m));

        finish(a);
        assert_int_equal(rig_last(a)->status, 0);
        return a;
}

static void pages_go_on_within_a_name(void **state) {
        _cleanup_free_ char *all = text_at_once(), *text = NULL;
        char after[64] = "", after_node[64] = "";
        _cleanup_buf_ Buf pages = {};
        bool more = true;

        filter.limit = PAGE;
        for (unsigned i = 0; more && i < 100; i++) {
                filter.after = after;
                filter.after_node = after_node;
                const Argosy__Response__Units *page = rig_last(list_page())->units;
                assert_in_range(page->n_rows, 1, PAGE);
                append_rows(&pages, page);
                assert_true(str_copy(after, sizeof(after), page->rows[page->n_rows - 1]->unit) &&
                            str_copy(after_node, sizeof(after_node), page->rows[page->n_rows - 1]->node));
                more = page->more;
        }
        text = buf_take_string(&pages);
        assert_string_equal(text, all);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup_wide, teardown)

RUN_TESTS(
        TEST(no_turn_makes_all_rows_of_a_name),
        TEST(what_one_host_says_makes_one_piece_stale),
        TEST(all_pieces_are_of_one_moment),
        TEST(pages_go_on_within_a_name)
)
