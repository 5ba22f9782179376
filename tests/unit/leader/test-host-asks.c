// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Hosts that ask, and do not take what they are answered.
#include <errno.h>

#include "test.h"

#include "accounts.h"
#include "leader-asks.h"
#include "leader-private.h"
#include "leader-rig.h"
#include "message.h"
#include "messages.h"
#include "tables.h"

static Rig g;
static int status; // of the last ForwardReply
static unsigned n_replies, n_acks, n_pieces;
static uint64_t acked; // by the last BeatAck

static void on_host_message(Rig *rig, uint32_t host, const Argosy__ToHost *m) {
        switch (m->msg_case) {
        case ARGOSY__TO_HOST__MSG_FORWARD_REPLY:
                n_replies++;
                status = m->forward_reply->response->status;
                break;
        case ARGOSY__TO_HOST__MSG_BEAT_ACK:
                n_acks++;
                acked = m->beat_ack->seq;
                break;
        case ARGOSY__TO_HOST__MSG_FILE_PIECE:
                n_pieces++;
                break;
        default:
                break;
        }
}

FIXTURE(setup) {
        rig_start(&g, 3);
        g.on_host_message = on_host_message;
        n_replies = n_acks = n_pieces = 0;
        acked = 0;
        rig_host(&g, 2)->full = true;
}

RIG_TEARDOWN

static void say(uint32_t host, Argosy__ToVoter *m) {
        _cleanup_(message_freep) Argosy__ToVoter *copy = message_copy(m);

        leader_on_message(g.leader, host, copy);
}

static void forward_request(uint32_t host, uint64_t id, Argosy__Request *request) {
        Argosy__ToVoter__Forward f = MESSAGE_OF(to_voter__forward, .id = id, .request = request);

        say(host, A_TO_VOTER(FORWARD, forward, &f));
}

static void ask_for_nodes(uint32_t host, uint64_t id) {
        Argosy__Request__ListNodes list = ARGOSY__REQUEST__LIST_NODES__INIT;

        forward_request(host, id, A_REQUEST(LIST_NODES, list_nodes, &list));
}

// A wait for what never comes, which takes so many bytes.
static void wait_long(uint32_t host, uint64_t id, size_t bytes) {
        _cleanup_free_ char *node = calloc(1, bytes + 1);

        assert_non_null(node);
        memset(node, 'n', bytes);
        Argosy__Request__DrainWait wait = MESSAGE_OF(request__drain_wait, .node = node);
        forward_request(host, id, A_REQUEST(DRAIN_WAIT, drain_wait, &wait));
}

static void cancel(uint32_t host, uint64_t id) {
        Argosy__ToVoter__ForwardCancel c = MESSAGE_OF(to_voter__forward_cancel, .id = id);

        say(host, A_TO_VOTER(FORWARD_CANCEL, forward_cancel, &c));
}

static const Host *host_2(void) {
        uint32_t number = 2;

        return map_find(&g.leader->hosts, &number, sizeof(number));
}

static void what_it_asks_waits_until_it_has_taken_the_answers(void **state) {
        ask_for_nodes(2, 1);
        ask_for_nodes(2, 2);
        ask_for_nodes(3, 1);
        rig_turns(&g, 3);
        assert_int_equal(n_replies, 1); // the other host's
        assert_int_equal(host_2()->requests.n_asks, 2);
        rig_host_drain(&g, 2);
        assert_int_equal(n_replies, 3);
        assert_int_equal(status, 0);
        assert_int_equal(host_2()->requests.n_asks, 0);
        assert_int_equal(host_2()->requests.asks_bytes, 0);
        ask_for_nodes(2, 3); // and from then on nothing does
        assert_int_equal(n_replies, 4);
}

static void what_comes_behind_it_does_not_overtake(void **state) {
        ask_for_nodes(2, 1);
        rig_host(&g, 2)->full = false; // and the leader has not gone on yet
        ask_for_nodes(2, 2);
        assert_int_equal(n_replies, 0);
        assert_int_equal(host_2()->requests.n_asks, 2);
        rig_host_drain(&g, 2);
        assert_int_equal(n_replies, 2);
}

static void it_stops_where_it_is_full_again(void **state) {
        ask_for_nodes(2, 1);
        ask_for_nodes(2, 2);
        leader_on_host_drained(g.leader, 2); // for a moment
        rig_turns(&g, 3);
        assert_int_equal(n_replies, 0);
        assert_int_equal(host_2()->requests.n_asks, 2);
        rig_host_drain(&g, 2);
        assert_int_equal(n_replies, 2);
}

static void what_is_called_off_is_never_begun(void **state) {
        rig_host(&g, 2)->full = false;
        wait_long(2, 1, 10);
        assert_int_equal(g.leader->n_pending_requests, 1);
        rig_host(&g, 2)->full = true;
        wait_long(2, 2, 10);
        cancel(2, 2); // behind it
        cancel(2, 1); // at once: it is under way
        rig_turns(&g, 2);
        assert_int_equal(g.leader->n_pending_requests, 0);
        rig_host_drain(&g, 2);
        assert_int_equal(g.leader->n_pending_requests, 0);
        assert_int_equal(host_2()->requests.forwards.count, 0);
}

// A beat counts at once. That is told with the newest, when whatever is before it was taken.
static void its_beats_are_heard_and_acknowledged_later(void **state) {
        Argosy__ToVoter__Beat beat = ARGOSY__TO_VOTER__BEAT__INIT;
        Argosy__ToVoter m = TO_VOTER_OF(BEAT, beat, &beat);
        uint64_t heard = host_2()->lease.renewed_us;

        g.now_us += 1000;
        for (beat.seq = 1000; beat.seq < 1100; beat.seq++)
                say(2, &m);
        assert_true(host_2()->lease.renewed_us > heard);
        rig_turns(&g, 2);
        assert_int_equal(n_acks, 0);
        rig_host_drain(&g, 2);
        assert_int_equal(n_acks, 1);
        assert_int_equal(acked, 1099);
}

static void pieces_of_files_wait_too(void **state) {
        Argosy__ToVoter__FileAsk ask = ARGOSY__TO_VOTER__FILE_ASK__INIT;
        Argosy__ToVoter m = TO_VOTER_OF(FILE_ASK, file_ask, &ask);

        say(2, &m);
        say(3, &m);
        rig_turns(&g, 1); // in which those are answered who wait for pieces
        assert_int_equal(n_pieces, 1);
        rig_host_drain(&g, 2);
        assert_int_equal(n_pieces, 2);
}

static void long_requests_that_wait_have_a_limit(void **state) {
        enum { KIB = 1024 };

        wait_long(2, 1, 48 * KIB * KIB - 100 * KIB);
        wait_long(2, 2, 200 * KIB);
        assert_int_equal(n_replies, 1);
        assert_int_equal(status, EBUSY);
        assert_int_equal(host_2()->requests.n_asks, 1);
        assert_true(rig_host(&g, 2)->linked);
        for (uint64_t id = 3; id < 2000 && rig_host(&g, 2)->linked; id++)
                wait_long(2, id, 200 * KIB);
        assert_false(rig_host(&g, 2)->linked); // it takes no refusals either
        assert_true(n_replies < 1500);
}

static void requests_that_wait_have_a_limit(void **state) {
        uint64_t id = 1;

        for (; id < 50000 && rig_host(&g, 2)->linked; id++)
                ask_for_nodes(2, id);
        assert_false(rig_host(&g, 2)->linked);
        assert_true(id > 8192); // which is what clients of one host may have under way
        assert_int_equal(n_replies, 0);
        rig_settle(&g);
        assert_int_equal(host_2()->requests.n_asks, 0);
        assert_int_equal(host_2()->requests.asks_bytes, 0);
}

static void nothing_of_it_is_left_when_its_link_is_lost(void **state) {
        ask_for_nodes(2, 1);
        leader_on_host_link(g.leader, 2, NULL);
        assert_int_equal(host_2()->requests.n_asks, 0);
        rig_host_drain(&g, 2);
        assert_int_equal(n_replies, 0);
}

static void nothing_of_it_is_left_when_somebody_else_leads(void **state) {
        ask_for_nodes(2, 1);
        leader_on_host_drained(g.leader, 2);
        leader_set_leading(g.leader, false, g.leader->term);
        assert_int_equal(host_2()->requests.n_asks, 0);
        assert_true(list_is_empty(&g.leader->asks_due));
        assert_int_equal(n_replies, 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(
        CASE(what_it_asks_waits_until_it_has_taken_the_answers),
        CASE(what_comes_behind_it_does_not_overtake),
        CASE(it_stops_where_it_is_full_again),
        CASE(what_is_called_off_is_never_begun),
        CASE(its_beats_are_heard_and_acknowledged_later),
        CASE(pieces_of_files_wait_too),
        CASE(long_requests_that_wait_have_a_limit),
        CASE(requests_that_wait_have_a_limit),
        CASE(nothing_of_it_is_left_when_its_link_is_lost),
        CASE(nothing_of_it_is_left_when_somebody_else_leads)
)
