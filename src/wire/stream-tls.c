// SPDX-License-Identifier: LGPL-2.1-or-later
//
// GnuTLS between two buffers: it pulls from wire_in and pushes to wire_out, so it never sees a socket and
// never waits.
//
// A peer that is not welcome gets an alert, and the stream lingers until it has been read: the peer's log
// then says "refused" instead of "connection reset".
#include <errno.h>

#include "stream-internal.h"

enum { RECORD_MAX = 16 * 1024 };

static ssize_t on_push(gnutls_transport_ptr_t ptr, const void *data, size_t len) {
        Stream *s = ptr;

        if (buf_append(&s->wire_out, data, len) < 0) {
                gnutls_transport_set_errno(tls_session_gnutls(s->tls), ENOMEM);
                return -1;
        }
        return (ssize_t) len;
}

static ssize_t on_pull(gnutls_transport_ptr_t ptr, void *data, size_t size) {
        Stream *s = ptr;
        size_t n = MIN_OF(size, s->wire_in.len - s->wire_in_done);

        if (n == 0) {
                gnutls_transport_set_errno(tls_session_gnutls(s->tls), EAGAIN);
                return -1;
        }
        memcpy(data, s->wire_in.data + s->wire_in_done, n);
        s->wire_in_done += n;
        return (ssize_t) n;
}

static int on_pull_timeout(gnutls_transport_ptr_t ptr, unsigned ms) {
        Stream *s = ptr;

        return s->wire_in.len > s->wire_in_done;
}

int stream_tls_start(Stream *s, TlsContext *tls, bool server, const char *alpn) {
        gnutls_session_t session;
        int r;

        r = tls_session_new(tls, server, alpn, &s->tls);
        if (r < 0)
                return r;
        session = tls_session_gnutls(s->tls);
        gnutls_transport_set_ptr(session, s);
        gnutls_transport_set_push_function(session, on_push);
        gnutls_transport_set_pull_function(session, on_pull);
        gnutls_transport_set_pull_timeout_function(session, on_pull_timeout);
        return 0;
}

static void fail_tls(Stream *s, int r, const char *what) {
        gnutls_session_t session = tls_session_gnutls(s->tls);

        if (r == GNUTLS_E_FATAL_ALERT_RECEIVED) {
                gnutls_alert_description_t alert = gnutls_alert_get(session);

                if (alert == GNUTLS_A_CERTIFICATE_REVOKED) {
                        stream_fail(s, -EKEYREVOKED, false,
                                    "the peer says that this host was removed from the cluster");
                        return;
                }
                stream_fail(s, -EACCES, false, "the peer refused us: %s",
                            gnutls_alert_get_name(alert) ?: "unknown alert");
                return;
        }
        if (r == GNUTLS_E_MEMORY_ERROR) {
                stream_fail(s, -ENOMEM, false, "out of memory");
                return;
        }
        (void) gnutls_alert_send_appropriate(session, r);
        stream_fail(s, -EPROTO, true, "%s: %s", what, gnutls_strerror(r));
}

static void judge(Stream *s) {
        const char *why;
        TlsPeer peer;
        int r;

        r = tls_session_judge(s->tls, s->has_expect_pin ? &s->expect_pin : NULL, &peer, &why);
        if (r < 0) {
                (void) gnutls_alert_send(tls_session_gnutls(s->tls), GNUTLS_AL_FATAL,
                                         r == -EKEYREVOKED ? GNUTLS_A_CERTIFICATE_REVOKED
                                                           : GNUTLS_A_ACCESS_DENIED);
                stream_fail(s, r, true, "the peer %s", why);
                return;
        }
        s->peer.pin = peer.pin;
        s->peer.cert_expired = peer.expired;
        s->peer.cert_outdated = peer.outdated;
        snprintf(s->peer.alpn, sizeof(s->peer.alpn), "%s", peer.alpn);
        stream_set_open(s);
}

static void handshake(Stream *s) {
        int r;

        do
                r = gnutls_handshake(tls_session_gnutls(s->tls));
        while (r == GNUTLS_E_INTERRUPTED || r == GNUTLS_E_WARNING_ALERT_RECEIVED);
        if (r == GNUTLS_E_AGAIN)
                return;
        if (r < 0)
                fail_tls(s, r, "TLS handshake failed");
        else
                judge(s);
}

// One record. Returns whether there may be more. It is decrypted where all streams have theirs decrypted,
// and kept in as much memory as it needs: most are a hundredth of what a record may be.
static bool receive(Stream *s) {
        static _Thread_local uint8_t shared[RECORD_MAX];
        size_t done = s->wire_in_done;
        ssize_t n = gnutls_record_recv(tls_session_gnutls(s->tls), shared, sizeof(shared));

        if (n > 0) {
                int r;

                s->plain_in.secret = true; // what comes may be secret
                r = buf_append(&s->plain_in, shared, (size_t) n);
                explicit_bzero(shared, (size_t) n);
                if (r >= 0)
                        return true;
                stream_fail(s, -ENOMEM, false, "out of memory");
                return false;
        }
        if (n == GNUTLS_E_INTERRUPTED || n == GNUTLS_E_WARNING_ALERT_RECEIVED)
                return true;
        if (n == GNUTLS_E_AGAIN && s->wire_in_done > done && s->wire_in_done < s->wire_in.len)
                // a message of TLS itself, such as a session ticket that a peer offers: behind it stands
                // what came with it
                return true;
        if (n == 0)
                s->eof = true;
        else if (n != GNUTLS_E_AGAIN)
                fail_tls(s, (int) n, "TLS failed");
        return false;
}

// GnuTLS pulls no byte behind the record that it is at: to ask it once more for nothing costs a tenth of
// what a short record does.
static bool has_input(const Stream *s) {
        return s->wire_in_done < s->wire_in.len ||
               gnutls_record_check_pending(tls_session_gnutls(s->tls)) > 0;
}

void stream_tls_step(Stream *s) {
        if (s->state == STREAM_HANDSHAKING)
                handshake(s);
        while (s->state == STREAM_OPEN && has_input(s) && receive(s))
                ;
        buf_consume(&s->wire_in, s->wire_in_done);
        s->wire_in_done = 0;
        if (s->wire_in.len == 0)
                buf_done(&s->wire_in);
        if (s->plain_in.len == 0)
                buf_done(&s->plain_in);
        if (s->wire_out.len > 0)
                drain_mark(&s->drain);
}

int stream_tls_encrypt(Stream *s) {
        size_t end = s->queue_done + MIN_OF(s->queue.len - s->queue_done, (size_t) STREAM_WRITE_CHUNK);

        while (s->queue_done < end) {
                ssize_t n = gnutls_record_send(tls_session_gnutls(s->tls), s->queue.data + s->queue_done,
                                               end - s->queue_done);

                if (n == GNUTLS_E_INTERRUPTED)
                        continue;
                if (n < 0)
                        return n == GNUTLS_E_MEMORY_ERROR ? -ENOMEM : -EPROTO;
                s->queue_done += (size_t) n;
        }
        return 0;
}

int stream_channel(const Stream *s, uint8_t ret[static STREAM_CHANNEL_SIZE]) {
        static const char label[] = "EXPORTER-argosy-channel";

        if (!s->tls || s->state != STREAM_OPEN ||
            gnutls_prf_rfc5705(tls_session_gnutls(s->tls), strlen(label), label, 0, NULL,
                               STREAM_CHANNEL_SIZE, (char *) ret) < 0)
                return -ENOTCONN;
        return 0;
}

void stream_tls_bye(Stream *s) {
        (void) gnutls_bye(tls_session_gnutls(s->tls), GNUTLS_SHUT_WR);
}
