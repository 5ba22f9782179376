// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Files of units with a whole leader: each host that lacks one asks for it, and however many ask at once, a
// turn answers some.
#include <errno.h>

#include "carried-files.h"
#include "file-pieces.h"
#include "leader-asks.h"
#include "leader-private.h"
#include "log.h"
#include "messages.h"

enum { HOSTS = 50, BYTES = 3 * LEADER_LIMIT_file_piece_bytes + 10 };

#define TEXT "[Service]\nExecStart=/bin/sleep 1000\n[X-Argosy]\nGlobal=yes\nFile=data\n"

static Rig g;
static uint8_t bytes[BYTES];
static Buf content;
static unsigned in_turn, most, n_pieces, n_absent;

static void on_host_message(Rig *rig, uint32_t host, const Argosy__ToHost *m) {
        if (m->msg_case != ARGOSY__TO_HOST__MSG_FILE_PIECE)
                return;
        n_pieces++;
        n_absent += !m->file_piece->there;
        in_turn++;
        most = MAX_OF(most, in_turn);
}

static void on_turn(Rig *rig) {
        in_turn = 0;
}

FIXTURE(setup) {
        _cleanup_carried_files_ CarriedFiles files = {};
        _cleanup_(unit_file_freep) UnitFile *file = NULL;
        _cleanup_free_ char *why = NULL;

        for (size_t i = 0; i < BYTES; i++)
                bytes[i] = (uint8_t) (i + i / 256);
        Hash hash = hash_of(bytes, BYTES);
        content = (Buf){};
        assert_int_equal(buf_append(&content, TEXT, strlen(TEXT)), 0);
        assert_int_equal(unit_file_parse("all.service", TEXT, strlen(TEXT), &file, &why), 0);
        assert_int_equal(carried_files_add(&files, "data", false, BYTES, &hash), 0);
        assert_int_equal(carried_files_compose("all.service", file, &files, &content, &why), 0);
        assert_int_equal(buf_append(&content, "", 1), 0);
        rig_start(&g, HOSTS);
        in_turn = most = n_pieces = n_absent = 0;
        g.on_host_message = on_host_message;
        g.on_turn = on_turn;
}

FIXTURE(teardown) {
        rig_stop(&g);
        buf_done(&content);
}

// Nothing is waited for.
static void start(void) {
        ProtobufCBinaryData sent = {BYTES, bytes};

        g.sent = &sent;
        g.n_sent = 1;
        (void) rig_change_with(&g, ARGOSY__VERB__VERB_START, "all.service", (char *) content.data, false,
                               NULL);
        g.n_sent = 0;
}

static unsigned n_running(void) {
        return rig_count_running(&g, "all.service");
}

static void all_hosts_get_it_some_in_each_turn(void **state) {
        start();
        rig_settle(&g);
        assert_int_equal(n_running(), HOSTS);
        assert_int_equal(n_pieces, HOSTS * 4);
        assert_int_equal(n_absent, 0);
        assert_int_equal(most, LEADER_LIMIT_file_pieces);
        for (uint32_t i = 1; i <= HOSTS; i++)
                assert_int_equal(rig_host(&g, i)->virtual.n_files, 1);
}

// A host that takes no more has its piece when it does again, and others have theirs meanwhile.
static void a_host_that_is_full_when_its_piece_is_to_leave_gets_it_later(void **state) {
        start();
        while (!host_has_mark(host_find(g.leader, 40), HOST_FILE_QUESTION))
                rig_turn(&g);
        rig_host(&g, 40)->full = true;
        rig_settle(&g);
        assert_int_equal(n_running(), HOSTS - 1);
        assert_int_equal(n_pieces, (HOSTS - 1) * 4);
        rig_host_drain(&g, 40);
        assert_int_equal(n_running(), HOSTS);
        assert_int_equal(n_pieces, HOSTS * 4);
}

// A host that is lost meanwhile costs the others nothing, and gets the rest when it is back.
static void who_goes_meanwhile_goes_on_when_it_is_back(void **state) {
        start();
        while (n_pieces < HOSTS)
                rig_turn(&g);
        rig_host_off(&g, 7);
        rig_settle(&g);
        assert_int_equal(n_running(), HOSTS - 1);
        rig_pass_ms(&g, 2 * RIG_LEASE_MS);
        rig_host_on(&g, 7, false);
        assert_int_equal(n_running(), HOSTS);
        assert_in_range(n_pieces, HOSTS * 4, HOSTS * 4 + 1); // one was on its way
}

static void another_leader_goes_on_with_what_one_began(void **state) {
        start();
        while (n_pieces < 2 * HOSTS)
                rig_turn(&g);
        rig_depose(&g);
        rig_turns(&g, 3);
        rig_elect(&g);
        assert_int_equal(n_running(), HOSTS);
        assert_true(n_pieces <= HOSTS * 5); // at most one of each was lost
}

// A host asks for what no content names, for the text of one, for what is no hash, from beyond the end, and
// twice.
static void what_is_no_file_is_not_given_out(void **state) {
        Argosy__ToVoter__FileAsk ask = MESSAGE_OF(to_voter__file_ask, .unit = (char *) "all.service");
        Argosy__ToVoter m = TO_VOTER_OF(FILE_ASK, file_ask, &ask);
        Hash none = hash_of("none", 4), text = hash_of(content.data, content.len - 1),
             file = hash_of(bytes, BYTES);

        const struct {
                const Hash *hash;
                size_t len;
                uint64_t from;
        } asked[] = {{&none, HASH_SIZE, 0},
                     {&text, HASH_SIZE, 0},
                     {&file, HASH_SIZE - 1, 0},
                     {&file, HASH_SIZE, BYTES + 1},
                     {&file, HASH_SIZE, UINT64_MAX}};
        unsigned before;

        start();
        rig_settle(&g);
        before = n_pieces;
        for (unsigned i = 0; i < ELEMENTSOF(asked); i++) {
                ask.hash = (ProtobufCBinaryData){asked[i].len, (uint8_t *) asked[i].hash->bytes};
                ask.from = asked[i].from;
                leader_on_message(g.leader, 3, &m);
                leader_on_message(g.leader, 3, &m);
                rig_settle(&g);
                assert_int_equal(n_absent, i + 1);
        }
        assert_int_equal(n_pieces, before + ELEMENTSOF(asked)); // once each
}

static void ask_for(uint32_t host, const char *unit, unsigned n, unsigned absent) {
        Hash file = hash_of(bytes, BYTES);
        Argosy__ToVoter__FileAsk ask =
                MESSAGE_OF(to_voter__file_ask, .hash = (ProtobufCBinaryData){HASH_SIZE, file.bytes},
                           .unit = (char *) unit);

        leader_on_message(g.leader, host, A_TO_VOTER(FILE_ASK, file_ask, &ask));
        rig_settle(&g);
        assert_int_equal(n_pieces, n);
        assert_int_equal(n_absent, absent);
}

// Whoever knows the hash, or guesses the content.
static void a_host_gets_files_of_its_own_units_alone(void **state) {
        char *at = strstr((char *) content.data, "Global=yes\n");
        unsigned n = 4;

        memcpy(at, "Host=n7   \n", strlen("Host=n7   \n"));
        start();
        (void) rig_change(&g, ARGOSY__VERB__VERB_START, "plain.service",
                          "[Service]\nExecStart=/bin/true\n[X-Argosy]\nHost=n3\n");
        rig_settle(&g);
        assert_int_equal(n_pieces, n);
        ask_for(7, "all.service", ++n, 0); // twice is no matter
        ask_for(3, "all.service", ++n, 1);
        ask_for(3, "plain.service", ++n, 2);
        ask_for(3, "none.service", ++n, 3);
        ask_for(3, "", ++n, 4);
        rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "all.service", NULL);
        rig_settle(&g);
        ask_for(7, "all.service", ++n, 5);
}

// The log goes on between the questions and the last answers.
static void what_a_host_is_not_to_have_any_more_is_not_sent_in_a_later_turn(void **state) {
        Hash file = hash_of(bytes, BYTES);
        unsigned before;

        start();
        rig_settle(&g);
        before = n_pieces;
        Argosy__ToVoter__FileAsk ask =
                MESSAGE_OF(to_voter__file_ask, .hash = (ProtobufCBinaryData){HASH_SIZE, file.bytes},
                           .unit = (char *) "all.service");
        Argosy__ToVoter m = TO_VOTER_OF(FILE_ASK, file_ask, &ask);
        for (uint32_t host = 1; host <= HOSTS; host++)
                leader_on_message(g.leader, host, &m);
        (void) rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "all.service", NULL);
        rig_settle(&g);
        assert_int_equal(n_pieces, before + HOSTS);
        assert_in_range(n_absent, 1, HOSTS);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                RIG_TEST(all_hosts_get_it_some_in_each_turn),
                RIG_TEST(a_host_that_is_full_when_its_piece_is_to_leave_gets_it_later),
                RIG_TEST(who_goes_meanwhile_goes_on_when_it_is_back),
                RIG_TEST(another_leader_goes_on_with_what_one_began),
                RIG_TEST(what_is_no_file_is_not_given_out),
                RIG_TEST(a_host_gets_files_of_its_own_units_alone),
                RIG_TEST(what_a_host_is_not_to_have_any_more_is_not_sent_in_a_later_turn),
        };

        log_set_level(LOG_CRIT);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
