// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The network of a world: what streams promise, and that each fault does what it says.
#include "test.h"

#include "argosy.pb-c.h"
#include "clock.h"
#include "frame.h"
#include "identity.h"
#include "sim-net.h"
#include "story.h"
#include "stream.h"
#include "tls-context.h"

typedef struct Side {
        SimHost *host;
        TlsContext *tls;
        Stream *stream;
        unsigned n_opened, n_closed, n_drained;
        int error;
        uint64_t closed_us;
        uint64_t n_messages;
        bool pauses; // when it has the next one
} Side;

static Side a, b; // a dials
static Listener *listener;
static TlsVerdict verdict;
static unsigned n_refused, n_listener_closed;

static void on_opened(Stream *s, void *userdata) {
        ((Side *) userdata)->n_opened++;
}

static int on_message(Stream *s, ProtobufCMessage *message, void *userdata) {
        const Argosy__ToVoter *m = (const Argosy__ToVoter *) message;
        Side *side = userdata;

        assert_ptr_equal(sim_current(), side->host);
        assert_int_equal(m->msg_case, ARGOSY__TO_VOTER__MSG_STORE_OPENED);
        assert_int_equal(m->store_opened->raft_id, ++side->n_messages); // in their order
        story_digest("message", &(uint64_t[]){side->n_messages, sim_now_us()}, 2 * sizeof(uint64_t));
        if (side->pauses)
                stream_pause(s, true);
        return 0;
}

static void on_drained(Stream *s, void *userdata) {
        ((Side *) userdata)->n_drained++;
}

static void on_closed(Stream *s, int error, void *userdata) {
        Side *side = userdata;

        side->n_closed++;
        side->error = error;
        side->closed_us = sim_now_us();
        side->stream = NULL;
}

static const StreamOps ops = {
        .opened = on_opened, .message = on_message, .drained = on_drained, .closed = on_closed};

static void on_accepted(Listener *l, Stream *s, void *userdata) {
        assert_null(b.stream);
        b.stream = s;
        stream_set_owner(s, &ops, &b);
        stream_set_messages(s, &argosy__to_voter__descriptor, FRAME_MAX);
}

static void on_refused(Listener *l, const StreamPeer *peer, const char *why, void *userdata) {
        assert_string_equal(peer->address, "10.0.0.1");
        n_refused++;
}

static void on_listener_closed(Listener *l, void *userdata) {
        n_listener_closed++;
}

static const ListenerOps listener_ops = {
        .accepted = on_accepted, .refused = on_refused, .closed = on_listener_closed};

static TlsVerdict judge(const Hash *pin, const char *alpn, void *userdata) {
        const Side *other = userdata == &a ? &b : &a;

        assert_string_equal(alpn, ALPN_MESH);
        assert_int_equal(pin->bytes[0], sim_host_number(other->host));
        return userdata == &b ? verdict : TLS_MEMBER;
}

static void make_side(Side *side, uint32_t number, const char *address) {
        Identity identity = {.pin = {.bytes = {(uint8_t) number}}};

        *side = (Side){.host = sim_host_new(number, &(SimClocks){.boot_us = number * 1000000,
                                                                 .monotonic_us = number * 777777})};
        sim_host_start(side->host);
        sim_net_set_address(side->host, address);
        assert_int_equal(tls_context_new(&identity, judge, side, &side->tls), 0);
}

static void listen_at(Side *side) {
        sim_enter(side->host);
        assert_int_equal(
                listener_new_tcp(sim_host_loop(side->host), 7867, side->tls, &listener_ops, NULL, &listener),
                0);
        sim_leave();
}

static void dial(const char *address, uint16_t port) {
        sim_enter(a.host);
        assert_int_equal(stream_dial(sim_host_loop(a.host), address, port, a.tls, ALPN_MESH, NULL, &ops, &a,
                                     &a.stream),
                         0);
        stream_set_messages(a.stream, &argosy__to_voter__descriptor, FRAME_MAX);
        sim_leave();
}

static void world_begin(uint64_t word) {
        sim_begin(word);
        sim_net_begin();
        story_begin((StoryOutput){}, sim_clock());
        n_refused = 0;
        verdict = TLS_MEMBER;
        make_side(&a, 1, "10.0.0.1");
        make_side(&b, 2, "10.0.0.2");
        listen_at(&b);
}

static void begin(uint64_t word) {
        world_begin(word);
        dial("10.0.0.2", 7867);
        sim_run_for(USEC_PER_SEC);
        assert_int_equal(a.n_opened, 1);
        assert_non_null(b.stream);
}

static void end(void) {
        sim_net_end();
        sim_end();
        tls_context_unref(a.tls);
        tls_context_unref(b.tls);
}

// A message with that number, and so many bytes more.
static int say(Side *side, uint32_t number, size_t len) {
        Argosy__ToVoter m = ARGOSY__TO_VOTER__INIT;
        Argosy__ToVoter__StoreOpened opened = ARGOSY__TO_VOTER__STORE_OPENED__INIT;
        char *text = calloc(1, len + 1);
        int r;

        memset(text, 'x', len);
        opened.raft_id = number;
        opened.error = text;
        m.msg_case = ARGOSY__TO_VOTER__MSG_STORE_OPENED;
        m.store_opened = &opened;
        sim_enter(side->host);
        r = stream_send(side->stream, &m.base);
        sim_leave();
        free(text);
        return r;
}

static void pause_reading(Side *side, bool pause) {
        sim_enter(side->host);
        stream_pause(side->stream, pause);
        sim_leave();
}

static void cut(const Side *from, const Side *to, bool is_cut) {
        SimWay way = sim_net_way(from->host, to->host);

        way.cut = is_cut;
        sim_net_set_way(from->host, to->host, way);
}

static uint64_t exchange(uint64_t word) {
        uint64_t digest;

        begin(word);
        for (uint32_t i = 1; i <= 200; i++) {
                assert_int_equal(say(&a, i, i * 37 % 5000), 0);
                assert_int_equal(say(&b, i, i * 91 % 9000), 0);
                sim_run_for(draw_log(sim_draw(), 10, 100000));
        }
        sim_run_for(USEC_PER_SEC);
        assert_int_equal(a.n_messages, 200);
        assert_int_equal(b.n_messages, 200);
        assert_int_equal(a.n_closed + b.n_closed, 0);
        assert_true(sim_net_figures().pieces > 500); // frames come in pieces
        digest = story_digest_value();
        end();
        return digest;
}

static void messages_come_whole_and_in_their_order(void **state) {
        assert_int_equal(exchange(1), exchange(1));
        assert_int_not_equal(exchange(1), exchange(2));
}

static void who_is_not_welcome_is_told(void **state) {
        static const struct {
                TlsVerdict verdict;
                int error;
        } rows[] = {{TLS_STRANGER, -EACCES}, {TLS_REMOVED, -EKEYREVOKED}};

        for (size_t i = 0; i < 2; i++) {
                world_begin(1);
                verdict = rows[i].verdict;
                dial("10.0.0.2", 7867);
                sim_run_for(USEC_PER_SEC);
                assert_int_equal(a.error, rows[i].error);
                assert_int_equal(a.n_opened, 1); // as in TLS 1.3
                assert_int_equal(n_refused, 1);
                assert_null(b.stream);
                end();
        }
}

static void who_dials_nobody_is_told(void **state) {
        world_begin(1);
        dial("10.0.0.2", 7868);
        sim_run_for(USEC_PER_SEC);
        assert_int_equal(a.error, -ECONNREFUSED);
        dial("10.0.0.9", 7867);
        sim_run_for(4900 * USEC_PER_MSEC);
        assert_int_equal(a.n_closed, 1);
        sim_run_for(USEC_PER_SEC);
        assert_int_equal(a.error, -ETIMEDOUT);
        end();
}

static void a_cut_in_one_direction_ends_both(void **state) {
        begin(1);
        cut(&a, &b, true);
        assert_int_equal(say(&a, 1, 100), 0);
        assert_int_equal(say(&b, 1, 100), 0);
        sim_run_for(2 * USEC_PER_SEC);
        assert_int_equal(b.n_messages, 0);
        assert_int_equal(a.n_messages, 1); // the other direction is whole
        assert_int_equal(a.n_closed + b.n_closed, 0);
        sim_run_for(4 * USEC_PER_SEC);
        assert_int_equal(a.error, -ETIMEDOUT);
        assert_int_equal(b.error, -ETIMEDOUT);
        assert_int_equal(b.n_messages, 0);
        end();
}

static void a_cut_that_is_mended_loses_nothing(void **state) {
        begin(1);
        cut(&a, &b, true);
        for (uint32_t i = 1; i <= 10; i++)
                assert_int_equal(say(&a, i, 100), 0);
        sim_run_for(2 * USEC_PER_SEC);
        cut(&a, &b, false);
        sim_run_for(60 * USEC_PER_SEC);
        assert_int_equal(b.n_messages, 10);
        assert_int_equal(a.n_closed + b.n_closed, 0);
        end();
}

static void what_is_clogged_comes_later(void **state) {
        SimWay way;

        begin(1);
        way = sim_net_way(a.host, b.host);
        way.clogged = true;
        sim_net_set_way(a.host, b.host, way);
        for (uint32_t i = 1; i <= 10; i++)
                assert_int_equal(say(&a, i, 100), 0);
        sim_run_for(60 * USEC_PER_SEC);
        assert_int_equal(b.n_messages, 0);
        assert_int_equal(a.n_closed + b.n_closed, 0);
        way.clogged = false;
        sim_net_set_way(a.host, b.host, way);
        sim_run_for(USEC_PER_SEC);
        assert_int_equal(b.n_messages, 10);
        end();
}

static void a_slow_way_takes_its_time(void **state) {
        SimWay way;

        begin(1);
        way = sim_net_way(a.host, b.host);
        way.bytes_per_s = 10000;
        sim_net_set_way(a.host, b.host, way);
        for (uint32_t i = 1; i <= 10; i++)
                assert_int_equal(say(&a, i, 10000), 0);
        sim_run_for(5500 * USEC_PER_MSEC);
        assert_in_range(b.n_messages, 4, 6);
        sim_run_for(6 * USEC_PER_SEC);
        assert_int_equal(b.n_messages, 10);
        end();
}

static void a_host_without_power_says_nothing(void **state) {
        uint64_t gone_us;

        begin(1);
        gone_us = sim_now_us();
        sim_host_kill(b.host);
        sim_net_host_gone(b.host, true);
        b.stream = NULL;
        sim_run_for(2900 * USEC_PER_MSEC);
        assert_int_equal(a.n_closed, 0);
        sim_run_for(2200 * USEC_PER_MSEC);
        assert_int_equal(a.error, -ETIMEDOUT);
        assert_in_range(a.closed_us - gone_us, 3 * USEC_PER_SEC, 5 * USEC_PER_SEC + 1000);
        end();
}

static void a_cut_that_is_mended_brings_nobody_back(void **state) {
        begin(1);
        cut(&a, &b, true);
        sim_host_kill(b.host);
        sim_net_host_gone(b.host, true);
        b.stream = NULL;
        sim_run_for(USEC_PER_SEC);
        cut(&a, &b, false);
        sim_run_for(6 * USEC_PER_SEC);
        assert_int_equal(a.error, -ETIMEDOUT);
        end();
}

static void a_host_that_is_back_knows_no_old_connection(void **state) {
        begin(1);
        sim_host_kill(b.host);
        sim_net_host_gone(b.host, true);
        b.stream = NULL;
        sim_run_for(USEC_PER_SEC);
        sim_host_start(b.host);
        listen_at(&b);
        assert_int_equal(say(&a, 1, 10), 0);
        sim_run_for(USEC_PER_SEC / 2);
        assert_int_equal(a.error, -ECONNRESET);
        dial("10.0.0.2", 7867);
        sim_run_for(USEC_PER_SEC);
        assert_int_equal(a.n_opened, 2);
        assert_non_null(b.stream);
        end();
}

static void a_killed_process_is_heard_of_at_once(void **state) {
        begin(1);
        sim_host_kill(b.host);
        sim_net_host_gone(b.host, false);
        b.stream = NULL;
        sim_run_for(USEC_PER_SEC / 10);
        assert_int_equal(a.error, -ECONNRESET);
        end();
}

static void the_queue_for_a_slow_reader_grows_and_drains(void **state) {
        begin(1);
        pause_reading(&b, true);
        for (uint32_t i = 1; i <= 100; i++)
                assert_int_equal(say(&a, i, 10000), 0);
        sim_run_for(60 * USEC_PER_SEC);
        assert_int_equal(b.n_messages, 0);
        assert_in_range(stream_queued(a.stream), 1000000 - SIM_NET_WINDOW, 1002000);
        assert_int_equal(a.n_drained, 0);
        pause_reading(&b, false);
        sim_run_for(60 * USEC_PER_SEC);
        assert_int_equal(b.n_messages, 100);
        assert_int_equal(stream_queued(a.stream), 0);
        assert_int_equal(a.n_drained, 1);
        end();
}

static void who_takes_nothing_is_cut(void **state) {
        int r = 0;

        begin(1);
        pause_reading(&b, true);
        for (uint32_t i = 1; i <= 100 && r == 0; i++)
                r = say(&a, i, 1000000);
        assert_int_equal(r, -ENOBUFS);
        sim_run_for(USEC_PER_SEC);
        assert_int_equal(a.error, -ENOBUFS);
        end();
}

static void a_message_may_have_come_although_its_sender_lost_the_connection(void **state) {
        begin(1);
        sim_net_lose_behind_next(a.host, b.host);
        assert_int_equal(say(&a, 1, 1000), 0);
        sim_run_for(USEC_PER_SEC);
        assert_int_equal(a.error, -ECONNRESET);
        assert_int_equal(b.error, -ECONNRESET);
        assert_int_equal(b.n_messages, 1);
        end();
}

static void a_flush_takes_all_along(void **state) {
        begin(1);
        for (uint32_t i = 1; i <= 30; i++)
                assert_int_equal(say(&a, i, 10000), 0);
        sim_enter(a.host);
        stream_close(a.stream, 0, true);
        sim_leave();
        sim_run_for(900 * USEC_PER_MSEC);
        assert_int_equal(b.n_messages, 30);
        assert_int_equal(b.error, -ECONNRESET);
        assert_int_equal(a.n_closed, 1);
        assert_int_equal(a.error, 0);
        end();
}

static void a_paused_reader_gets_one_at_a_time(void **state) {
        begin(1);
        b.pauses = true;
        for (uint32_t i = 1; i <= 5; i++)
                assert_int_equal(say(&a, i, 10), 0);
        for (uint32_t i = 1; i <= 5; i++) {
                sim_run_for(USEC_PER_SEC);
                assert_int_equal(b.n_messages, i);
                pause_reading(&b, false);
        }
        end();
}

static void another_address_is_another_place(void **state) {
        begin(1);
        sim_net_set_address(b.host, "10.0.0.3");
        assert_int_equal(say(&a, 1, 10), 0);
        sim_run_for(6 * USEC_PER_SEC);
        assert_int_equal(a.error, -ETIMEDOUT);
        assert_int_equal(b.error, -ETIMEDOUT);
        assert_int_equal(b.n_messages, 0);
        dial("10.0.0.3", 7867);
        sim_run_for(USEC_PER_SEC);
        assert_int_equal(a.n_opened, 2);
        end();
}

static void who_has_no_address_reaches_nobody_and_is_not_reached(void **state) {
        begin(1);
        sim_net_set_address(a.host, "");
        sim_run_for(6 * USEC_PER_SEC);
        assert_int_equal(a.error, -ETIMEDOUT);
        dial("10.0.0.2", 7867);
        sim_run_for(USEC_PER_SEC);
        assert_int_equal(a.error, -ENETUNREACH);
        sim_net_set_address(b.host, "");
        sim_net_set_address(a.host, "10.0.0.1");
        dial("10.0.0.2", 7867);
        sim_run_for(6 * USEC_PER_SEC);
        assert_int_equal(a.error, -ETIMEDOUT);
        end();
}

static void a_name_leads_to_where_its_host_is_now(void **state) {
        begin(1);
        assert_null(sim_net_find("n2"));
        sim_net_know_names(true);
        assert_ptr_equal(sim_net_find("n2"), b.host);
        sim_net_set_address(b.host, "10.0.0.3");
        sim_run_for(6 * USEC_PER_SEC); // both have lost each other
        dial("n2", 7867);
        sim_run_for(USEC_PER_SEC);
        assert_int_equal(a.n_opened, 2);
        sim_net_set_address(b.host, "");
        assert_null(sim_net_find("n2"));
        end();
}

static void the_address_of_a_bridge_leads_to_oneself(void **state) {
        begin(1);
        dial(SIM_BRIDGE_ADDRESS, 7867);
        sim_run_for(USEC_PER_SEC);
        assert_int_equal(a.error, -ECONNREFUSED);
        end();
}

static void a_listener_that_closed_is_not_there(void **state) {
        begin(1);
        sim_enter(b.host);
        listener_close(listener);
        sim_leave();
        sim_run_for(USEC_PER_SEC);
        assert_int_equal(n_listener_closed, 1);
        assert_int_equal(a.n_closed, 0); // what it has accepted lives on
        sim_net_reset(a.host, b.host);
        sim_run_for(USEC_PER_SEC);
        assert_int_equal(a.error, -ECONNRESET);
        dial("10.0.0.2", 7867);
        sim_run_for(USEC_PER_SEC);
        assert_int_equal(a.error, -ECONNREFUSED);
        end();
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(messages_come_whole_and_in_their_order),
                cmocka_unit_test(who_is_not_welcome_is_told),
                cmocka_unit_test(who_dials_nobody_is_told),
                cmocka_unit_test(a_cut_in_one_direction_ends_both),
                cmocka_unit_test(a_cut_that_is_mended_loses_nothing),
                cmocka_unit_test(what_is_clogged_comes_later),
                cmocka_unit_test(a_slow_way_takes_its_time),
                cmocka_unit_test(a_host_without_power_says_nothing),
                cmocka_unit_test(a_cut_that_is_mended_brings_nobody_back),
                cmocka_unit_test(a_host_that_is_back_knows_no_old_connection),
                cmocka_unit_test(a_killed_process_is_heard_of_at_once),
                cmocka_unit_test(the_queue_for_a_slow_reader_grows_and_drains),
                cmocka_unit_test(who_takes_nothing_is_cut),
                cmocka_unit_test(a_message_may_have_come_although_its_sender_lost_the_connection),
                cmocka_unit_test(a_flush_takes_all_along),
                cmocka_unit_test(a_paused_reader_gets_one_at_a_time),
                cmocka_unit_test(another_address_is_another_place),
                cmocka_unit_test(who_has_no_address_reaches_nobody_and_is_not_reached),
                cmocka_unit_test(a_name_leads_to_where_its_host_is_now),
                cmocka_unit_test(the_address_of_a_bridge_leads_to_oneself),
                cmocka_unit_test(a_listener_that_closed_is_not_there),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
