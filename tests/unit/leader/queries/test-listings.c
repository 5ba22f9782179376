// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Lists of thousands of units: made and given in turns of the loop, and nevertheless as everything was at one moment,
// whatever happens meanwhile.
#include <errno.h>

#include "answer.h"
#include "author.h"
#include "buf.h"
#include "leader-asks.h"
#include "leader-private.h"
#include "leader-rig-private.h"
#include "leader-rig.h"
#include "list-tag.h"
#include "listings.h"
#include "message.h"
#include "response.h"
#include "str.h"
#include "test.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define GLOBAL SERVICE "[X-Argosy]\nGlobal=yes\n"
#define START ARGOSY__VERB__VERB_START
#define STOP ARGOSY__VERB__VERB_STOP
#define DESTROY ARGOSY__VERB__VERB_DESTROY

enum {
        UNITS = 2500,
        MADE_MAX = 1000, // MADE_PER_TURN
        COMPARED_MAX = 16 * MADE_MAX,
        ROWS_MAX = 2003, // GIVEN_PER_TURN, and a global unit is on three nodes
        MANY_HOSTS = 100,
        GLOBALS = 20,
        NAMED = 60, // of all units, in one question
        STALE_PARTS_MAX = 8,
        MOMENTS = 256,
        ROUNDS = 12, // of all units; and then of some
        ROUNDS_OF_SOME = 6,
};

static Rig g;
static char names[UNITS][32], *pointers[UNITS];
static uint64_t listed, most_listed, rows, most_rows, compared, most_compared, n_ids;
static char **asked; // patterns of the list; NULL: all units
static size_t n_asked;
static Argosy__ListFilter filter; // of pages
static char *moments[MOMENTS]; // the list as it was before and after each turn, made at once
static size_t n_moments;
static bool looks; // whether these are kept
static bool hosts_change; // in each turn

// ---- asking

static RigAnswer *change(Argosy__Verb verb, char **which, size_t n) {
        Argosy__Request__Change change = ARGOSY__REQUEST__CHANGE__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        uint64_t words[2] = {++n_ids, 78};

        change.id = (ProtobufCBinaryData){.data = (uint8_t *) words, .len = sizeof(words)};
        change.verb = verb;
        change.names = which;
        change.n_names = n;
        request.what_case = ARGOSY__REQUEST__WHAT_CHANGE;
        request.change = &change;
        return rig_ask(&g, &request);
}

static RigAnswer *list(bool parts) {
        Argosy__Request__ListUnits list = ARGOSY__REQUEST__LIST_UNITS__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;

        list.parts = parts;
        list.patterns = asked;
        list.n_patterns = n_asked;
        request.what_case = ARGOSY__REQUEST__WHAT_LIST_UNITS;
        request.list_units = &list;
        return rig_ask(&g, &request);
}

// The same for a client of another host.
static void forward_list(uint32_t host, uint64_t id) {
        Argosy__ToVoter m = ARGOSY__TO_VOTER__INIT, *copy;
        Argosy__ToVoter__Forward f = ARGOSY__TO_VOTER__FORWARD__INIT;
        Argosy__Request__ListUnits list = ARGOSY__REQUEST__LIST_UNITS__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        Argosy__Author author = author_of_host(host);

        list.parts = true;
        request.what_case = ARGOSY__REQUEST__WHAT_LIST_UNITS;
        request.list_units = &list;
        f.id = id;
        f.request = &request;
        f.author = &author;
        m.msg_case = ARGOSY__TO_VOTER__MSG_FORWARD;
        m.forward = &f;
        copy = message_copy(&m);
        leader_on_message(g.leader, host, copy);
        message_free(copy);
}

static void on_stale(const Argosy__Response *response, void *userdata) {
        RigAnswer *a = userdata;

        assert_false(a->final);
        assert_true(response->no_leader || response->status != 0);
        assert_true(a->n < STALE_PARTS_MAX);
        a->responses[a->n++] = message_copy(response);
        a->final = response->final;
}

// Of a voter that does not lead.
static void list_stale(RigAnswer *a) {
        static Argosy__Response *responses[STALE_PARTS_MAX];
        Argosy__Request__ListUnits list = ARGOSY__REQUEST__LIST_UNITS__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;

        *a = (RigAnswer){.rig = &g, .responses = responses};
        list.parts = true;
        request.what_case = ARGOSY__REQUEST__WHAT_LIST_UNITS;
        request.list_units = &list;
        leader_answer_stale(g.leader, NULL, &request, on_stale, a, &a->cancel);
}

static void forget_stale(RigAnswer *a) {
        while (a->n > 0)
                message_free(a->responses[--a->n]);
}

static void ask_for(char **patterns, size_t n) {
        asked = patterns;
        n_asked = n;
}

// ---- looking

enum { FORWARDS = 4 };

static unsigned n_parts[FORWARDS]; // by id
static bool is_over[FORWARDS];

static void on_host_message(Rig *rig, uint32_t host, const Argosy__ToHost *m) {
        if (m->msg_case != ARGOSY__TO_HOST__MSG_FORWARD_REPLY)
                return;
        assert_int_equal(m->forward_reply->response->status, 0);
        n_parts[m->forward_reply->id]++;
        is_over[m->forward_reply->id] = m->forward_reply->response->final;
}

static void append_rows(Buf *text, const Argosy__Response__Units *units) {
        for (size_t i = 0; i < units->n_rows; i++) {
                const Argosy__Response__UnitRow *row = units->rows[i];

                assert_int_equal(buf_printf(text, "%s %s %s %s %s %s\n", row->unit, row->node, row->load, row->active,
                                            row->sub, row->error),
                                 0);
        }
}

static char *text_at_once(void) {
        Argosy__Request__ListUnits list = ARGOSY__REQUEST__LIST_UNITS__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        _cleanup_response_ Argosy__Response *r = NULL;
        _cleanup_buf_ Buf text = {};

        list.patterns = asked;
        list.n_patterns = n_asked;
        request.what_case = ARGOSY__REQUEST__WHAT_LIST_UNITS;
        request.list_units = &list;
        r = answer_units(g.leader, &request);
        assert_non_null(r);
        append_rows(&text, r->units);
        return buf_take_string(&text);
}

static char *text_of(const RigAnswer *a) {
        _cleanup_buf_ Buf text = {};
        size_t n = 0;

        for (size_t i = 0; i < a->n; i++) {
                assert_int_equal(a->responses[i]->status, 0);
                assert_int_equal(a->responses[i]->final, i + 1 == a->n);
                assert_int_equal(a->responses[i]->units->first, n);
                append_rows(&text, a->responses[i]->units);
                n += a->responses[i]->units->n_rows;
        }
        return buf_take_string(&text);
}

static void keep_moment(void) {
        if (looks && n_moments < MOMENTS)
                moments[n_moments++] = text_at_once();
}

// In the middle of a turn, when the leader has done its part: a list of some names is made in one.
static void on_voter_message(Rig *rig, uint32_t host, const Argosy__ToVoter *m) {
        if (n_asked > 0 || filter.limit > 0)
                keep_moment();
}

// What was done since the last call.
static uint64_t since(uint64_t *counted, uint64_t now) {
        uint64_t n = now - *counted;

        *counted = now;
        return n;
}

static void on_turn(Rig *rig) {
        uint64_t n_listed = since(&listed, rig->leader->n_listed), n_rows = since(&rows, rig->leader->n_listed_rows),
                 n_compared = since(&compared, rig->leader->n_compared);

        most_listed = MAX_OF(most_listed, n_listed);
        most_rows = MAX_OF(most_rows, n_rows);
        most_compared = MAX_OF(most_compared, n_compared);
        rig->leader->n_host_changes += hosts_change;
        keep_moment();
}

static void count_from_here(void) {
        g.on_turn = on_turn;
        g.on_voter_message = on_voter_message;
        listed = g.leader->n_listed;
        rows = g.leader->n_listed_rows;
        compared = g.leader->n_compared;
        most_listed = most_rows = most_compared = 0;
}

static void forget_moments(void) {
        while (n_moments > 0)
                free(moments[--n_moments]);
        looks = false;
}

static bool was_a_moment(const char *text) {
        for (size_t i = 0; i < n_moments; i++)
                if (streq(moments[i], text))
                        return true;
        return false;
}

static void finish(const RigAnswer *a) {
        for (unsigned i = 0; i < 200 && !a->final; i++)
                rig_turn(&g);
        assert_true(a->final);
}

static int setup(void **state) {
        RigAnswer *a;

        rig_start(&g, 3);
        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "load@.service", SERVICE)->status, 0);
        assert_int_equal(rig_change(&g, START, "all.service", GLOBAL)->status, 0);
        for (size_t i = 0; i < UNITS; i++) {
                snprintf(names[i], sizeof(names[i]), "load@%zu.service", i);
                pointers[i] = names[i];
        }
        a = change(START, pointers, UNITS);
        rig_settle(&g);
        assert_true(a->final);
        count_from_here();
        ask_for(NULL, 0);
        memset(n_parts, 0, sizeof(n_parts));
        memset(is_over, 0, sizeof(is_over));
        filter = (Argosy__ListFilter) ARGOSY__LIST_FILTER__INIT;
        return 0;
}

static int teardown(void **state) {
        hosts_change = false;
        forget_moments();
        rig_stop(&g);
        return 0;
}

// Few units that stand for many rows.
static int setup_globals(void **state) {
        rig_start(&g, MANY_HOSTS);
        for (size_t i = 0; i < GLOBALS; i++) {
                snprintf(names[i], sizeof(names[i]), "everywhere-%zu.service", i);
                pointers[i] = names[i];
                assert_int_equal(rig_change(&g, START, names[i], GLOBAL)->status, 0);
        }
        rig_settle(&g);
        count_from_here();
        ask_for(NULL, 0);
        return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

// ---- stories

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
        Argosy__Request__ListUnitFiles files = ARGOSY__REQUEST__LIST_UNIT_FILES__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        _cleanup_response_ Argosy__Response *whole = NULL;
        RigAnswer *a;
        size_t n = 0;

        files.parts = true;
        request.what_case = ARGOSY__REQUEST__WHAT_LIST_UNIT_FILES;
        request.list_unit_files = &files;
        a = rig_ask(&g, &request);
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

// What happens to a few of them while the list is made, another thing in each turn.
static void meddle(unsigned round) {
        char **one = &pointers[(size_t) rand() % UNITS], **tenth = &pointers[(size_t) rand() % (UNITS - 10)];
        VirtualUnit *u;

        switch (round % 6) {
        case 0:
                (void) change(STOP, one, 1);
                break;
        case 1:
                (void) change(DESTROY, tenth, 10);
                break;
        case 2:
                for (uint32_t h = 1; h <= 3; h++)
                        if ((u = rig_unit_on(&g, h, *one)))
                                rig_host_report(&g, rig_host(&g, h), u, ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, 0);
                break;
        case 3:
                (void) change(START, tenth, 10);
                break;
        case 4:
                rig_host_on(&g, 2, false); // its link is a new one
                break;
        default:
                if (rig_host(&g, 3)->up)
                        rig_host_off(&g, 3);
                else
                        rig_host_on(&g, 3, false);
                break;
        }
}

static void a_list_shows_one_moment_whatever_happens_while_it_is_made(void **state) {
        static char *some[] = {"load@1*", "all.service", "load@2.service", "load@[3-5]*"};

        for (unsigned round = 0; round < ROUNDS + ROUNDS_OF_SOME; round++) {
                bool of_all = round < ROUNDS, of_patterns = round % 2;
                _cleanup_free_ char *text = NULL;
                RigAnswer *a;

                ask_for(of_patterns ? some : pointers, of_all ? 0 : of_patterns ? ELEMENTSOF(some) : NAMED);
                srand(round);
                looks = true;
                keep_moment();
                a = list(round % 2);
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
        RigAnswer *a;

        g.leader->listing_turns_max = 10;
        hosts_change = true;
        a = list(true);
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
                RigAnswer *a;

                looks = true;
                keep_moment();
                a = list(true);
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
        RigAnswer *a;

        for (size_t i = 0; i < UNITS; i++)
                wanted[2 * i] = wanted[2 * i + 1] = pointers[i]; // each of them twice
        wanted[2 * UNITS] = "nobody.service";
        ask_for(wanted, ELEMENTSOF(wanted));
        a = list(true);
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
        RigAnswer *a;

        for (size_t i = 0; i < LISTED_GLOBS_MAX; i++) {
                snprintf(patterns[i], sizeof(patterns[i]), "no-%zu-*", i);
                wanted[i] = patterns[i];
        }
        wanted[7] = "load@1*";
        wanted[LISTED_GLOBS_MAX] = "load@2.service";
        ask_for(wanted, ELEMENTSOF(wanted));
        all = text_at_once();
        a = list(true);
        assert_int_equal(a->n, 0);
        finish(a);
        text = text_of(a);
        assert_string_equal(text, all);
        assert_in_range(most_compared, 1, COMPARED_MAX + LISTED_GLOBS_MAX);
}

static void too_many_patterns_are_refused(void **state) {
        static char *wanted[LISTED_GLOBS_MAX + 1], longest[LISTED_GLOB_MAX + 2], *one = longest;
        RigAnswer *a;

        for (size_t i = 0; i < ELEMENTSOF(wanted); i++)
                wanted[i] = "load@1*";
        ask_for(wanted, ELEMENTSOF(wanted));
        a = list(true);
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
        RigAnswer *a;

        g.on_host_message = on_host_message;
        forward_list(2, 1);
        for (unsigned i = 0; i < 20 && n_parts[1] == 0; i++)
                rig_turn(&g);
        rig_host(&g, 2)->full = true;
        forward_list(2, 2);
        rig_settle(&g); // nobody is busy with them
        assert_int_equal(n_parts[1], 1);
        assert_int_equal(n_parts[2], 0);
        a = list(true);
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
        rig_settle(&g);
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

// ---- pages

enum { PAGE = 100, PAGES_MAX = UNITS / PAGE + 8 };

static RigAnswer *ask_filtered(void) {
        Argosy__Request__ListUnits list = ARGOSY__REQUEST__LIST_UNITS__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        RigAnswer *a;

        list.parts = true;
        list.patterns = asked;
        list.n_patterns = n_asked;
        list.filter = &filter;
        request.what_case = ARGOSY__REQUEST__WHAT_LIST_UNITS;
        request.list_units = &list;
        a = rig_ask(&g, &request);
        finish(a);
        assert_int_equal(a->n, 1); // no page has more rows than a part
        assert_int_equal(a->responses[0]->status, 0);
        assert_true(a->responses[0]->units->filtered);
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
        Argosy__Request__ListUnits list = ARGOSY__REQUEST__LIST_UNITS__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        RigAnswer *a;

        begin_pages(400);
        filter.nodes = &n2;
        filter.n_nodes = 1;
        list.filter = &filter;
        request.what_case = ARGOSY__REQUEST__WHAT_LIST_UNITS;
        request.list_units = &list;
        a = rig_ask(&g, &request);
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
                rig_depose(&g);
                rig_elect(&g);
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
                Argosy__Request__ListUnits list = ARGOSY__REQUEST__LIST_UNITS__INIT;
                Argosy__Request request = ARGOSY__REQUEST__INIT;
                _cleanup_free_ char *text = NULL;
                RigAnswer *a;

                srand(round);
                looks = true;
                begin_pages(round % 2 ? 400 : 700);
                filter.nodes = &n2;
                filter.n_nodes = 1;
                list.filter = &filter;
                request.what_case = ARGOSY__REQUEST__WHAT_LIST_UNITS;
                request.list_units = &list;
                keep_moment();
                a = rig_ask(&g, &request);
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
        RigAnswer *a;

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
        a = ask_filtered();
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
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        struct {
                char **states;
                size_t least, most;
        } cases[] = {{&failed, 1, 1}, {&launched, 2, PAGE}, {&neither, 0, 0}};
        size_t i = 0;

        while (!rig_unit_on(&g, 2, names[i]))
                i++;
        rig_host_report(&g, rig_host(&g, 2), rig_unit_on(&g, 2, names[i]), ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, 0);
        rig_settle(&g);
        list.filter = &filter;
        request.what_case = ARGOSY__REQUEST__WHAT_LIST_UNIT_FILES;
        request.list_unit_files = &list;
        for (size_t k = 0; k < ELEMENTSOF(cases); k++) {
                const Argosy__Response__UnitFiles *files;
                RigAnswer *a;

                begin_pages(PAGE);
                filter.states = cases[k].states;
                filter.n_states = 1;
                a = rig_ask(&g, &request);
                finish(a);
                files = a->responses[0]->unit_files;
                assert_true(files->filtered && files->n_rows >= cases[k].least && files->n_rows <= cases[k].most);
                for (size_t r = 0; r < files->n_rows; r++)
                        assert_true(streq(files->rows[r]->desired, *cases[k].states) || streq(files->rows[r]->state, *cases[k].states));
        }
}

static void labels_choose_nodes_and_what_is_on_them(void **state) {
        Argosy__Label ssd = ARGOSY__LABEL__INIT, *labels[] = {&ssd};
        Argosy__Request__ListNodes nodes = ARGOSY__REQUEST__LIST_NODES__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        RigAnswer *a;

        ssd.key = "disk";
        ssd.value = "ssd";
        (void) rig_label(&g, "n2", "disk", "ssd");
        (void) rig_label(&g, "n3", "disk", "hdd");
        begin_pages(PAGE);
        filter.labels = labels;
        filter.n_labels = 1;
        a = ask_filtered();
        assert_int_equal(a->responses[0]->units->n_rows, PAGE);
        for (size_t i = 0; i < PAGE; i++)
                assert_string_equal(a->responses[0]->units->rows[i]->node, "n2");
        request.what_case = ARGOSY__REQUEST__WHAT_LIST_NODES;
        request.list_nodes = &nodes;
        nodes.filter = &filter;
        a = rig_ask(&g, &request);
        assert_true(a->responses[0]->nodes->filtered);
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
        VirtualUnit *u = rig_unit_on(&g, 2, names[7]) ?: rig_unit_on(&g, 2, names[8]) ?: rig_unit_on(&g, 2, names[9]);

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
        rig_host_off(&g, 3);
        rig_pass_ms(&g, RIG_LEASE_MS + RIG_BEAT_MS);
}

static void find_it_again(void) {
        rig_host_on(&g, 3, false);
}

static void set_a_label(void) {
        (void) rig_label(&g, "n2", "disk", "ssd");
}

static void change_the_leader(void) {
        rig_depose(&g);
        rig_elect(&g);
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

// Asked at once, in the turn in which it happens, and in those that follow: who is told that nothing has changed has the list.
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
        Argosy__Request__ListUnits list = ARGOSY__REQUEST__LIST_UNITS__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        char known[LIST_TAG_SIZE];
        RigAnswer a = {.rig = &g, .responses = responses};

        begin_pages(PAGE);
        assert_true(str_copy(known, sizeof(known), tag_now()));
        rig_depose(&g);
        rig_settle(&g);
        filter.known = known;
        list.filter = &filter;
        request.what_case = ARGOSY__REQUEST__WHAT_LIST_UNITS;
        request.list_units = &list;
        leader_answer_stale(g.leader, NULL, &request, on_stale, &a, &a.cancel);
        finish(&a);
        assert_int_equal(a.responses[0]->units->n_rows, PAGE);
        assert_false(a.responses[0]->unchanged);
        assert_string_equal(a.responses[0]->tag, "");
        forget_stale(&a);
        rig_elect(&g);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_long_list_is_made_and_given_in_turns),
                TEST(who_takes_no_parts_hears_one_answer),
                TEST(unit_files_are_listed_likewise),
                TEST(a_list_shows_one_moment_whatever_happens_while_it_is_made),
                TEST(a_list_that_hosts_make_stale_again_and_again_ends),
                TEST(a_list_shows_global_units_as_they_give_way),
                TEST(thousands_of_names_are_found_and_not_compared),
                TEST(names_and_patterns_are_looked_for_in_turns),
                TEST(too_many_patterns_are_refused),
                cmocka_unit_test_setup_teardown(a_few_global_units_are_many_rows, setup_globals, teardown),
                TEST(a_list_waits_for_a_slow_link_and_others_do_not),
                TEST(who_asks_for_a_few_by_name_does_not_wait),
                TEST(without_a_leader_a_list_is_made_in_turns),
                TEST(a_list_without_a_leader_ends_when_the_log_goes_on),
                TEST(a_leader_that_ends_leaves_the_list_to_the_next),
                TEST(who_goes_away_makes_room_for_the_next),
                TEST(pages_make_up_the_list),
                TEST(a_page_costs_what_it_has),
                TEST(what_is_touched_behind_a_page_costs_it_nothing),
                TEST(pages_neither_skip_nor_repeat_what_stays),
                TEST(a_page_is_of_one_moment),
                TEST(destroyed_units_that_may_run_are_in_pages),
                TEST(rows_are_filtered_before_they_count),
                TEST(unit_files_are_chosen_by_their_states),
                TEST(labels_choose_nodes_and_what_is_on_them),
                TEST(a_list_is_unchanged_until_anything_of_it_is_not),
                TEST(nobody_keeps_a_list_that_has_changed),
                TEST(a_list_with_what_is_destroyed_has_no_tag),
                TEST(without_a_leader_a_list_has_no_tag),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
