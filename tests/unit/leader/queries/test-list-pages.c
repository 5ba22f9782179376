// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Lists page by page, of rows that are chosen, and by tags: who has the list is not given it again. Each
// page is of one moment and costs what it has.
#include "list-tag.h"
#include "listing-asks.h"
#include "listings.h"
#include "messages.h"

enum { PAGE = 100, PAGES_MAX = UNITS / PAGE + 8 };

static RigAnswer *ask_filtered(void) {
        Argosy__Request__ListUnits list = MESSAGE_OF(request__list_units, .parts = true, .patterns = asked,
                                                     .n_patterns = n_asked, .filter = &filter);
        RigAnswer *a = rig_ask(&g, A_REQUEST(LIST_UNITS, list_units, &list));

        finish(a);
        assert_int_equal(a->n, 1); // no page has more rows than a part
        assert_int_equal(a->responses[0]->status, 0);
        return a;
}

// Where the page behind that one begins. False: there is none.
static bool go_behind(const Argosy__Response__Units *page) {
        static char unit[UNIT_NAME_MAX + 1], node[64];

        if (!page->more)
                return false;
        assert_int_equal(page->n_rows, filter.limit);
        assert_true(str_copy(unit, sizeof(unit), page->rows[page->n_rows - 1]->unit));
        assert_true(str_copy(node, sizeof(node), page->rows[page->n_rows - 1]->node));
        filter.after = unit;
        filter.after_node = node;
        return true;
}

static void begin_pages(uint32_t limit) {
        filter = (Argosy__ListFilter) ARGOSY__LIST_FILTER__INIT;
        filter.limit = limit;
}

// All pages, one behind the other.
static char *text_of_pages(uint32_t limit, void (*between)(unsigned page)) {
        _cleanup_buf_ Buf text = {};
        bool more = true;

        begin_pages(limit);
        for (unsigned i = 0; more; i++) {
                RigAnswer *a = ask_filtered();

                assert_in_range(i, 0, 2 * UNITS);
                assert_true(a->responses[0]->units->n_rows <= limit);
                append_rows(&text, a->responses[0]->units);
                more = go_behind(a->responses[0]->units);
                if (between)
                        between(i);
        }
        return buf_take_string(&text);
}

static void pages_make_up_the_list(void **state) {
        static char *some[] = {"load@1*", "all.service", "load@2.service", "load@[3-5]*"};
        static const uint32_t limits[] = {1, 2, 3, PAGE, 999};

        for (size_t i = 0; i < ELEMENTSOF(limits); i++)
                for (unsigned k = 0; k < 3; k++) {
                        _cleanup_free_ char *all = NULL, *text = NULL;

                        if (limits[i] < PAGE && k == 0)
                                continue; // too many questions
                        ask_for(k == 1 ? some : pointers, k == 0 ? 0 : k == 1 ? ELEMENTSOF(some) : NAMED);
                        if (limits[i] < PAGE && k == 1)
                                n_asked = 3;
                        all = text_at_once();
                        text = text_of_pages(limits[i], NULL);
                        assert_string_equal(text, all);
                }
}

static void a_page_costs_what_it_has(void **state) {
        uint64_t before = g.leader->n_listed;

        begin_pages(PAGE);
        filter.after = "load@500.service";
        (void) ask_filtered();
        assert_in_range(g.leader->n_listed - before, PAGE, PAGE + 1);
        assert_in_range(most_listed, 1, PAGE + 1);
}

// One of the last units on n2.
static void touch_behind(unsigned nth) {
        for (size_t i = 999; i > 900; i--) {
                VirtualUnit *u = rig_unit_on(&g, 2, names[i]);

                if (!u || nth-- > 0)
                        continue;
                rig_host_report(&g, rig_host(&g, 2), u, ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, 0);
                return;
        }
}

// Of n2, in several turns. How many units were looked at.
static uint64_t look_at_a_page(bool touched) {
        static char *n2 = "n2";
        uint64_t before = g.leader->n_listed;

        begin_pages(400);
        filter.nodes = &n2;
        filter.n_nodes = 1;
        Argosy__Request__ListUnits list = MESSAGE_OF(request__list_units, .filter = &filter);
        RigAnswer *a = rig_ask(&g, A_REQUEST(LIST_UNITS, list_units, &list));
        for (unsigned i = 0; touched && i < 3; i++) {
                touch_behind(i);
                rig_turn(&g);
        }
        finish(a);
        assert_int_equal(a->responses[0]->units->n_rows, 400);
        return g.leader->n_listed - before;
}

static void what_is_touched_behind_a_page_costs_it_nothing(void **state) {
        uint64_t n = look_at_a_page(false);

        assert_true(n > MADE_MAX);
        assert_int_equal(look_at_a_page(true), n);
}

// What comes and goes between two pages, but not these units: each of them is there once.
static void meddle_with_others(unsigned page) {
        char others[2][32], *one = others[0];

        snprintf(others[0], sizeof(others[0]), "load@%u-x.service", page * 97 % UNITS);
        snprintf(others[1], sizeof(others[1]), "load@%u-x.service", (page * 97 + 31) % UNITS);
        (void) change(START, &one, 1);
        if (page % 2)
                (void) rig_change(&g, DESTROY, others[0], NULL);
        if (page % 3 == 0) {
                rig_elect_anew(&g);
        }
        rig_settle(&g);
}

static size_t count_of(const char *text, const char *name) {
        size_t n = 0, len = strlen(name);

        for (const char *p = text; (p = strstr(p, name)); p += len)
                n += (p == text || p[-1] == '\n') && p[len] == ' ';
        return n;
}

static void pages_neither_skip_nor_repeat_what_stays(void **state) {
        _cleanup_free_ char *text = text_of_pages(PAGE, meddle_with_others);

        for (size_t i = 0; i < UNITS; i++)
                if (count_of(text, names[i]) != 1)
                        fail_msg("%s is there %zu times", names[i], count_of(text, names[i]));
        assert_int_equal(count_of(text, "all.service"), 3);
}

// The first rows of that list that are on n2.
static char *text_of_page(const char *all, size_t limit) {
        _cleanup_buf_ Buf text = {};

        for (const char *line = all, *end; limit > 0 && (end = strchr(line, '\n')); line = end + 1) {
                const char *node = strchr(line, ' ');

                if (strncmp(node, " n2 ", 4) != 0)
                        continue;
                assert_int_equal(buf_append(&text, line, (size_t) (end + 1 - line)), 0);
                limit--;
        }
        return buf_take_string(&text);
}

static bool was_a_page(const char *text) {
        for (size_t i = 0; i < n_moments; i++) {
                _cleanup_free_ char *page = text_of_page(moments[i], filter.limit);

                if (streq(page, text))
                        return true;
        }
        return false;
}

// One that takes several turns: units go, come, and are touched meanwhile, before it and behind it.
static void a_page_is_of_one_moment(void **state) {
        static char *n2 = "n2";

        for (unsigned round = 0; round < ROUNDS; round++) {
                _cleanup_free_ char *text = NULL;

                srand(round);
                looks = true;
                begin_pages(round % 2 ? 400 : 700);
                filter.nodes = &n2;
                filter.n_nodes = 1;
                Argosy__Request__ListUnits list = MESSAGE_OF(request__list_units, .filter = &filter);
                keep_moment();
                RigAnswer *a = rig_ask(&g, A_REQUEST(LIST_UNITS, list_units, &list));
                for (unsigned i = 0; i < 4; i++) {
                        if (round % 3 > 0)
                                meddle(round + i);
                        touch_behind(i);
                        keep_moment();
                        rig_turn(&g);
                }
                finish(a);
                text = text_of(a);
                if (!was_a_page(text))
                        fail_msg("round %u: the page is of no moment", round);
                forget_moments();
                rig_settle(&g);
        }
}

static void destroyed_units_that_may_run_are_in_pages(void **state) {
        _cleanup_free_ char *all = NULL, *text = NULL;

        rig_host_off(&g, 3);
        rig_settle(&g);
        (void) change(DESTROY, pointers, 40);
        rig_settle(&g);
        rig_pass_ms(&g, RIG_LEASE_MS + RIG_BEAT_MS);
        all = text_at_once();
        assert_non_null(strstr(all, "destroyed; it may still run"));
        text = text_of_pages(PAGE, NULL);
        assert_string_equal(text, all);
}

static void rows_are_filtered_before_they_count(void **state) {
        char *failed = "failed", *n2 = "n2", *nowhere = "nowhere";
        size_t n = 0;

        for (size_t i = 0; i < UNITS && n < 3; i++) {
                VirtualUnit *u = rig_unit_on(&g, 2, names[i]);

                if (!u)
                        continue;
                rig_host_report(&g, rig_host(&g, 2), u, ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, 0);
                n++;
        }
        rig_settle(&g);
        begin_pages(2);
        filter.states = &failed;
        filter.n_states = 1;
        RigAnswer *a = ask_filtered();
        assert_int_equal(a->responses[0]->units->n_rows, 2);
        assert_true(go_behind(a->responses[0]->units));
        a = ask_filtered();
        assert_int_equal(a->responses[0]->units->n_rows, 1);
        assert_string_equal(a->responses[0]->units->rows[0]->active, "failed");
        assert_false(a->responses[0]->units->more);

        begin_pages(PAGE);
        filter.nodes = &n2;
        filter.n_nodes = 1;
        a = ask_filtered();
        assert_int_equal(a->responses[0]->units->n_rows, PAGE);
        for (size_t i = 0; i < PAGE; i++)
                assert_string_equal(a->responses[0]->units->rows[i]->node, "n2");
        filter.nodes = &nowhere;
        a = ask_filtered();
        assert_int_equal(a->responses[0]->units->n_rows, 0);
        assert_false(a->responses[0]->units->more);
}

// By what is wanted of them, or by how far that is.
static void unit_files_are_chosen_by_their_states(void **state) {
        char *failed = "failed", *launched = "launched", *neither = "running";
        Argosy__Request__ListUnitFiles list = ARGOSY__REQUEST__LIST_UNIT_FILES__INIT;
        Argosy__Request request = REQUEST_OF(LIST_UNIT_FILES, list_unit_files, &list);

        struct {
                char **states;
                size_t least, most;
        } cases[] = {{&failed, 1, 1}, {&launched, 2, PAGE}, {&neither, 0, 0}};
        size_t i = 0;

        while (!rig_unit_on(&g, 2, names[i]))
                i++;
        rig_host_report_and_settle(&g, rig_host(&g, 2), rig_unit_on(&g, 2, names[i]),
                                   ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, 0);
        list.filter = &filter;
        for (size_t k = 0; k < ELEMENTSOF(cases); k++) {
                begin_pages(PAGE);
                filter.states = cases[k].states;
                filter.n_states = 1;
                RigAnswer *a = rig_ask(&g, &request);
                finish(a);
                const Argosy__Response__UnitFiles *files = a->responses[0]->unit_files;
                assert_true(files->n_rows >= cases[k].least && files->n_rows <= cases[k].most);
                for (size_t r = 0; r < files->n_rows; r++)
                        assert_true(streq(files->rows[r]->desired, *cases[k].states) ||
                                    streq(files->rows[r]->state, *cases[k].states));
        }
}

static void labels_choose_nodes_and_what_is_on_them(void **state) {
        Argosy__Label ssd = MESSAGE_OF(label, .key = "disk", .value = "ssd"), *labels[] = {&ssd};
        Argosy__Request__ListNodes nodes = ARGOSY__REQUEST__LIST_NODES__INIT;
        Argosy__Request request = REQUEST_OF(LIST_NODES, list_nodes, &nodes);

        (void) rig_label(&g, "n2", "disk", "ssd");
        (void) rig_label(&g, "n3", "disk", "hdd");
        begin_pages(PAGE);
        filter.labels = labels;
        filter.n_labels = 1;
        RigAnswer *a = ask_filtered();
        assert_int_equal(a->responses[0]->units->n_rows, PAGE);
        for (size_t i = 0; i < PAGE; i++)
                assert_string_equal(a->responses[0]->units->rows[i]->node, "n2");
        nodes.filter = &filter;
        a = rig_ask(&g, &request);
        assert_int_equal(a->responses[0]->nodes->n_rows, 1);
        assert_string_equal(a->responses[0]->nodes->rows[0]->node, "n2");
        (void) rig_label(&g, "n2", "disk", "hdd");
        a = ask_filtered();
        assert_int_equal(a->responses[0]->units->n_rows, 0);
}

// ---- tags

static RigAnswer *ask_with(const char *known) {
        static char copy[256];

        (void) str_copy(copy, sizeof(copy), known);
        filter.tagged = true;
        filter.known = copy;
        return ask_filtered();
}

static bool is_unchanged(const char *known) {
        const Argosy__Response *r = ask_with(known)->responses[0];

        assert_true(!r->unchanged || r->units->n_rows == 0);
        assert_true(!r->unchanged || streq(r->tag, known) || strchr(known, ' '));
        return r->unchanged;
}

static const char *tag_now(void) {
        const char *tag;

        rig_settle(&g);
        tag = ask_with("")->responses[0]->tag;
        assert_int_not_equal(strlen(tag), 0);
        return tag;
}

static void touch_one(void) {
        VirtualUnit *u = rig_unit_on(&g, 2, names[7])
                ?: rig_unit_on(&g, 2, names[8])
                ?: rig_unit_on(&g, 2, names[9]);

        assert_non_null(u);
        rig_host_report(&g, rig_host(&g, 2), u, ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, 0);
}

static void stop_one(void) {
        (void) change(STOP, pointers + 20, 1);
}

static void destroy_one(void) {
        (void) change(DESTROY, pointers + 21, 1);
}

static void start_one(void) {
        char *one = "load@9999.service";

        (void) change(START, &one, 1);
}

static void lose_a_host(void) {
        rig_host_off_for(&g, 3, RIG_LEASE_MS + RIG_BEAT_MS);
}

static void find_it_again(void) {
        rig_host_on(&g, 3, false);
}

static void set_a_label(void) {
        (void) rig_label(&g, "n2", "disk", "ssd");
}

static void change_the_leader(void) {
        rig_elect_anew(&g);
}

// Whatever it is that happens.
static void a_list_is_unchanged_until_anything_of_it_is_not(void **state) {
        static void (*const events[])(void) = {touch_one,   stop_one,      destroy_one, start_one,
                                               lose_a_host, find_it_again, set_a_label, change_the_leader};

        begin_pages(PAGE);
        filter.limit = 999;
        for (size_t i = 0; i < ELEMENTSOF(events); i++) {
                const char *tag = tag_now();
                char known[256];

                assert_true(is_unchanged(tag));
                rig_settle(&g);
                assert_true(is_unchanged(tag)); // asking changes nothing
                str_fit(known, sizeof(known), "another %s", tag);
                assert_true(is_unchanged(known));
                str_fit(known, sizeof(known), "%sx", tag);
                assert_false(is_unchanged(known));
                events[i]();
                if (is_unchanged(tag))
                        fail_msg("event %zu: the list is said to be unchanged", i);
                rig_settle(&g);
                if (is_unchanged(tag))
                        fail_msg("event %zu: the list is said to be unchanged, when all is settled", i);
        }
}

// Asked at once, in the turn in which it happens, and in those that follow: who is told that nothing has
// changed has the list.
static void nobody_keeps_a_list_that_has_changed(void **state) {
        unsigned n_tagged = 0;

        for (unsigned round = 0; round < ROUNDS; round++) {
                _cleanup_free_ char *before = NULL;
                const char *tag;

                srand(round);
                rig_settle(&g);
                begin_pages(999);
                tag = ask_with("")->responses[0]->tag;
                n_tagged += *tag != 0;
                before = text_at_once();
                meddle(round);
                for (unsigned i = 0; i < round % 4; i++)
                        rig_turn(&g);
                for (unsigned i = 0; i < 6; i++) {
                        _cleanup_free_ char *asked_at = text_at_once(), *answered_at = NULL;
                        bool unchanged = is_unchanged(tag);

                        answered_at = text_at_once();
                        if (unchanged && !streq(before, asked_at) && !streq(before, answered_at))
                                fail_msg("round %u, question %u: the list has changed", round, i);
                }
        }
        assert_in_range(n_tagged, ROUNDS / 3, ROUNDS);
}

// It is there no more when its time is over, whether or not anything else happens.
static void a_list_with_what_is_destroyed_has_no_tag(void **state) {
        begin_pages(PAGE);
        (void) tag_now();
        rig_host_off(&g, 3);
        rig_settle(&g);
        (void) change(DESTROY, pointers, 40);
        rig_settle(&g);
        rig_pass_ms(&g, RIG_LEASE_MS + RIG_BEAT_MS);
        assert_string_equal(ask_with("")->responses[0]->tag, "");
        rig_host_on(&g, 3, false);
        (void) tag_now();
}

static void without_a_leader_a_list_has_no_tag(void **state) {
        static Argosy__Response *responses[STALE_PARTS_MAX];
        char known[LIST_TAG_SIZE];
        RigAnswer a = {.rig = &g, .responses = responses};

        begin_pages(PAGE);
        assert_true(str_copy(known, sizeof(known), tag_now()));
        rig_depose(&g);
        rig_settle(&g);
        filter.known = known;
        Argosy__Request__ListUnits list = MESSAGE_OF(request__list_units, .filter = &filter);
        leader_answer_stale(g.leader, NULL, A_REQUEST(LIST_UNITS, list_units, &list), on_stale, &a,
                            &a.cancel);
        finish(&a);
        assert_int_equal(a.responses[0]->units->n_rows, PAGE);
        assert_false(a.responses[0]->unchanged);
        assert_string_equal(a.responses[0]->tag, "");
        forget_stale(&a);
        rig_elect(&g);
}

RUN_TESTS(
        LIST_TEST(pages_make_up_the_list),
        LIST_TEST(a_page_costs_what_it_has),
        LIST_TEST(what_is_touched_behind_a_page_costs_it_nothing),
        LIST_TEST(pages_neither_skip_nor_repeat_what_stays),
        LIST_TEST(a_page_is_of_one_moment),
        LIST_TEST(destroyed_units_that_may_run_are_in_pages),
        LIST_TEST(rows_are_filtered_before_they_count),
        LIST_TEST(unit_files_are_chosen_by_their_states),
        LIST_TEST(labels_choose_nodes_and_what_is_on_them),
        LIST_TEST(a_list_is_unchanged_until_anything_of_it_is_not),
        LIST_TEST(nobody_keeps_a_list_that_has_changed),
        LIST_TEST(a_list_with_what_is_destroyed_has_no_tag),
        LIST_TEST(without_a_leader_a_list_has_no_tag)
)
