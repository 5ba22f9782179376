// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Two ends of a stream, and a listener between them.

#include "loop.h"
#include "members.h"

#include <sys/stat.h>
#include <unistd.h>

#include "argosy.pb-c.h"
#include "frame.h"
#include "host-address.h"
#include "localhost.h"
#include "messages.h"
#include "pool.h"
#include "stream-internal.h"

enum { LONG_ONE = 1000000 };

// One end of a connection, and what happened to it.
typedef struct End {
        Stream *stream; // NULL when closed
        unsigned n_opened, n_closed, n_drained;
        int error;
        char why[200];
        Buf got; // payloads or bytes, one behind the other
        unsigned n_frames;
        bool close_on_frame, close_on_open, pause_on_frame;
        uint64_t seqs[64]; // of its messages: of a Beat, or LONG_ONE + how many units a Wait is for
        unsigned n_messages;
        int answer; // what frame() returns
        unsigned busy_us; // with each message
} End;

static End dialler, acceptor, second; // `second`: of whoever is accepted beside the first
static End *awaited;                  // whoever is accepted next, if it is to be none of these
static Listener *listener;
static bool listener_gone;
static unsigned n_refused;
static char refused_why[200];

static inline void end_opened(Stream *s, void *userdata) {
        End *e = userdata;

        e->n_opened++;
        if (e->close_on_open)
                stream_close(s, 0, false);
}

static inline int end_frame(Stream *s, const uint8_t *payload, size_t len, void *userdata) {
        End *e = userdata;

        e->n_frames++;
        assert_int_equal(buf_append(&e->got, payload, len), 0);
        if (e->close_on_frame)
                stream_close(s, -ECANCELED, false);
        if (e->pause_on_frame)
                stream_pause(s, true);
        return e->answer;
}

static inline int end_data(Stream *s, const uint8_t *data, size_t len, void *userdata) {
        return end_frame(s, data, len, userdata);
}

static inline void be_busy(unsigned us) {
        uint64_t until_ns = uv_hrtime() + us * UINT64_C(1000);

        while (uv_hrtime() < until_ns)
                ;
}

static inline int end_message(Stream *s, ProtobufCMessage *message, void *userdata) {
        const Argosy__ToVoter *m = (const Argosy__ToVoter *) message;
        End *e = userdata;

        be_busy(e->busy_us);

        assert_true(e->n_messages < ELEMENTSOF(e->seqs));
        e->seqs[e->n_messages++] = m->msg_case == ARGOSY__TO_VOTER__MSG_BEAT ? m->beat->seq
                                   : m->forward->request->what_case == ARGOSY__REQUEST__WHAT_WAIT
                                           ? LONG_ONE + m->forward->request->wait->n_items
                                           : 0;
        if (e->close_on_frame)
                stream_close(s, -ECANCELED, false);
        if (e->pause_on_frame)
                stream_pause(s, true);
        return e->answer;
}

static inline void end_drained(Stream *s, void *userdata) {
        ((End *) userdata)->n_drained++;
}

static inline void end_closed(Stream *s, int error, void *userdata) {
        End *e = userdata;

        e->n_closed++;
        e->error = error;
        snprintf(e->why, sizeof(e->why), "%s", stream_error_text(s));
        e->stream = NULL;
}

static const StreamOps end_ops = {.opened = end_opened,
                                  .frame = end_frame,
                                  .message = end_message,
                                  .data = end_data,
                                  .drained = end_drained,
                                  .closed = end_closed};

static inline void on_accepted(Listener *l, Stream *s, void *userdata) {
        End *e = awaited ?: acceptor.stream ? &second : &acceptor;

        assert_null(e->stream);
        e->stream = s;
        stream_set_owner(s, &end_ops, e);
        stream_set_frames(s, FRAME_MAX);
        if (e->close_on_open)
                stream_close(s, 0, false);
}

static inline void on_refused(Listener *l, const StreamPeer *peer, const char *why, void *userdata) {
        n_refused++;
        snprintf(refused_why, sizeof(refused_why), "%s", why);
}

static inline void on_listener_closed(Listener *l, void *userdata) {
        listener_gone = true;
}

static const ListenerOps listener_ops = {on_accepted, on_refused, on_listener_closed};

static inline void listen_as(size_t i) {
        assert_int_equal(listener_new_tcp(&test_loop, 0, member_tls[i], &listener_ops, NULL, &listener), 0);
}

static inline void dial_as(TlsContext *tls, const char *alpn, const Hash *expect) {
        assert_int_equal(stream_dial(&test_loop, "127.0.0.1", listener_port(listener), tls, alpn, expect,
                                     &end_ops, &dialler, &dialler.stream),
                         0);
        stream_set_frames(dialler.stream, FRAME_MAX);
}

FIXTURE(setup) {
        assert_int_equal(loop_setup(state), 0);
        dialler = acceptor = second = (End){};
        listener = NULL;
        n_refused = 0;
        listener_gone = false;
        for (size_t i = 0; i < MEMBERS_MAX; i++)
                member_trusted[i] = true;
}

static inline void close_end(End *e) {
        if (e->stream)
                stream_close(e->stream, 0, false);
        loop_until(!e->stream);
        buf_done(&e->got);
}

static inline int teardown(void **state) {
        if (listener) {
                listener_close(listener);
                loop_until(listener_gone);
        }
        close_end(&dialler);
        close_end(&acceptor);
        close_end(&second);
        return loop_teardown(state);
}

static inline void connect_both(void) {
        listen_as(0);
        dial_as(member_tls[1], ALPN_MESH, &member[0].pin);
        loop_until(dialler.n_opened && acceptor.stream);
}

static inline Argosy__ToVoter beat_of(Argosy__ToVoter__Beat *beat, uint64_t seq) {
        Argosy__ToVoter m = TO_VOTER_OF(BEAT, beat, beat);

        *beat = (Argosy__ToVoter__Beat) MESSAGE_OF(to_voter__beat, .seq = seq);
        return m;
}

static inline void send_beat(Stream *s, uint64_t seq) {
        Argosy__ToVoter__Beat beat;
        Argosy__ToVoter m = beat_of(&beat, seq);

        assert_int_equal(stream_send(s, &m.base), 0);
}

static inline void connect_for_messages(void) {
        connect_both();
        stream_set_messages(acceptor.stream, &argosy__to_voter__descriptor, FRAME_MAX);
}

// A Wait that takes a while to unpack. `packed`: by whoever sends it.
static inline void send_wait(Stream *s, size_t n, bool packed) {
        _cleanup_buf_ Buf frame = {};
        Argosy__Request__Wait__Item item = ARGOSY__REQUEST__WAIT__ITEM__INIT,
                                    **items = calloc(n, sizeof(*items));

        assert_non_null(items);
        item.name = (char *) "a-unit-of-some-length@1.service";
        item.revision = 1;
        for (size_t i = 0; i < n; i++)
                items[i] = &item;
        Argosy__Request__Wait wait = MESSAGE_OF(request__wait, .items = items, .n_items = n);
        Argosy__Request request = REQUEST_OF(WAIT, wait, &wait);
        Argosy__ToVoter__Forward forward = MESSAGE_OF(to_voter__forward, .request = &request);
        Argosy__ToVoter m =
                MESSAGE_OF(to_voter, .msg_case = ARGOSY__TO_VOTER__MSG_FORWARD, .forward = &forward);
        if (packed) {
                assert_int_equal(frame_pack(&m.base, FRAME_MAX, &frame), 0);
                assert_int_equal(frame.allocated, frame.len);
                assert_int_equal(stream_send_frame(s, &frame), 0);
                assert_null(frame.data);
        } else
                assert_int_equal(stream_send(s, &m.base), 0);
        free(items);
}

static inline void send_long(Stream *s, size_t n) {
        send_wait(s, n, false);
}

#define LOOP_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
