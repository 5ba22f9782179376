// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A link to one voter: dial -> Hello out -> Leader in (up) -> messages -> lost -> wait -> dial, for as long
// as the voter is named. The delay grows with failures in a row and starts again once a link was up: a voter
// that accepts and closes, or refuses us, is as bad as one that does not answer. Where it is when it is not
// where the log says is finder.c's business. A peer with the voter's key is the voter, welcome or not, so
// the search ends with the handshake; and a place that was found in vain is dialled at the pace of any
// other.
#include "link.h"

#include <errno.h>
#include <stdio.h>

#include "decide.h"
#include "frame.h"
#include "message-of.h"
#include "random.h"
#include "str.h"
#include "tls-context.h"

static void report(Link *l, const char *why) {
        if (l->abandoned || strncmp(l->reported_why, why, sizeof(l->reported_why) - 1) == 0)
                return;
        str_fit(l->reported_why, sizeof(l->reported_why), "%s", why);
        l->config.ops->failed(l, why, l->config.userdata);
}

static void on_timer_closed(uv_handle_t *handle) {
        Link *l = handle->data;

        l->config.ops->closed(l, l->config.userdata);
        free(l);
}

// An abandoned link goes when its streams have gone.
static void finish(Link *l) {
        if (!l->stream && !finder_is_busy(&l->finder) && !uv_is_closing((uv_handle_t *) &l->timer))
                uv_close((uv_handle_t *) &l->timer, on_timer_closed);
}

static void on_timer(uv_timer_t *timer) {
        link_dial(timer->data);
}

static void dial_later(Link *l) {
        unsigned delay_ms = 0;
        uint32_t random;

        if (!l->dial_now) {
                random_bytes(&random, sizeof(random));
                delay_ms = decide_redial_ms(l->failures++, l->config.redial_min_ms, l->config.redial_max_ms,
                                            random);
        }
        l->dial_now = false;
        uv_timer_start(&l->timer, on_timer, delay_ms, 0);
}

static void on_opened(Stream *s, void *userdata) {
        Argosy__ToVoter__Hello hello = ARGOSY__TO_VOTER__HELLO__INIT;
        Argosy__ToVoter message = TO_VOTER_OF(HELLO, hello, &hello);
        Link *l = userdata;

        l->reached = true;
        mesh_self_hello(l->config.self, &hello);
        stream_set_deadline(s, MESH_HELLO_MS);
        if (stream_send(s, &message.base) == -ENOMEM)
                stream_close(s, -ENOMEM, false);
}

static void come_up(Link *l) {
        l->up = true;
        uv_timer_stop(&l->timer);
        finder_rest(&l->finder, true);
        l->failures = 0;
        l->found_in_vain = false;
        l->refusal = MESH_NOT_REFUSED;
        *l->reported_why = 0;
        stream_set_deadline(l->stream, 0);
        l->config.ops->up(l, l->config.userdata);
}

// Asks a voter that does not trust our certificate's CA any more for a new certificate.
static int ask_for_certificate(Link *l) {
        Argosy__ToVoter__Renew renew = ARGOSY__TO_VOTER__RENEW__INIT;
        Argosy__ToVoter message = TO_VOTER_OF(RENEW, renew, &renew);
        _cleanup_buf_ Buf csr = {};
        int r = l->config.ops->renew_request(l, &csr, l->config.userdata);

        if (r < 0)
                return r;
        renew.csr = (ProtobufCBinaryData){csr.len, csr.data};
        l->renewing = true;
        return stream_send(l->stream, &message.base);
}

// A voter that does not serve us: only the leader and the voters that it names are of use.
static void on_guide(Link *l, const Argosy__ToHost__Leader *f) {
        l->refusal = MESH_REFUSED_GUIDED;
        report(l, f->refusal);
        if (l->abandoned)
                return;
        l->config.ops->guided(l, f, l->config.userdata);
        if (!l->abandoned)
                stream_close(l->stream, 0, false);
}

static void on_leader_frame(Link *l, const Argosy__ToHost__Leader *f) {
        if (f->guide && *f->refusal && f->host == l->peer.host && !l->up) {
                on_guide(l, f);
                return;
        }
        if (*f->refusal || f->host != l->peer.host) {
                report(l, *f->refusal ? f->refusal : "another host answers there");
                if (!f->renew || f->host != l->peer.host || l->up || l->renewing ||
                    ask_for_certificate(l) < 0)
                        stream_close(l->stream, 0, false);
                return;
        }
        if (!l->up)
                come_up(l);
        l->leading = f->leading;
        l->term = f->term;
        l->config.ops->announced(l, f, l->config.userdata);
}

static int on_message(Stream *s, ProtobufCMessage *base, void *userdata) {
        Argosy__ToHost *message = (Argosy__ToHost *) base;
        Link *l = userdata;
        int r = 0;

        if (l->abandoned)
                return 0;
        if (message->msg_case == ARGOSY__TO_HOST__MSG_LEADER)
                on_leader_frame(l, message->leader);
        else if (l->renewing && message->msg_case == ARGOSY__TO_HOST__MSG_RENEWED) {
                l->config.ops->renewed(l, message->renewed, l->config.userdata);
                stream_close(l->stream, 0, false);
        } else if (!l->up)
                r = -EPROTO;
        else if (message->msg_case != ARGOSY__TO_HOST__MSG__NOT_SET)
                l->config.ops->message(l, message, l->config.userdata);
        return r;
}

// Nobody who could be it answers there.
static void on_not_there(Link *l) {
        finder_forget(&l->finder);
        finder_start(&l->finder);
}

// The voter itself has refused us, as its key was seen. The refusal holds while the voter cannot be reached.
static void note_refusal(Link *l, int error) {
        if (l->reached && error == -EKEYREVOKED)
                l->refusal = MESH_REFUSED_REMOVED;
        else if (l->reached && error == -EACCES)
                l->refusal = MESH_REFUSED_UNKNOWN;
}

static void on_closed(Stream *s, int error, void *userdata) {
        Link *l = userdata;
        bool was_up = l->up;

        l->stream = NULL;
        l->up = l->leading = l->renewing = false;
        if (l->abandoned) {
                finish(l);
                return;
        }
        finder_rest(&l->finder, false);
        if (error < 0)
                report(l, *stream_error_text(s) ? stream_error_text(s) : strerror(-error));
        if (l->abandoned)
                return;
        if (!was_up) {
                note_refusal(l, error);
                l->found_in_vain = l->found_in_vain || l->to_found;
                if (error < 0 && !l->reached)
                        on_not_there(l);
        }
        if (!l->stream)
                dial_later(l);
        l->config.ops->down(l, l->config.userdata);
}

static void on_drained(Stream *s, void *userdata) {
        Link *l = userdata;

        if (l->up && !l->abandoned)
                l->config.ops->drained(l, l->config.userdata);
}

static const StreamOps link_ops = {
        .opened = on_opened, .message = on_message, .drained = on_drained, .closed = on_closed};

// An address that nobody has any more does not answer for seconds.
static void on_slow(uv_timer_t *timer) {
        Link *l = timer->data;

        if (l->stream && !l->up)
                finder_start(&l->finder);
}

MeshAddress link_where(const Link *l) {
        MeshAddress at = finder_where(&l->finder);

        if (l->up) {
                snprintf(at.text, sizeof(at.text), "%s", stream_peer(l->stream)->address);
                at.port = stream_peer(l->stream)->port;
        }
        return at;
}

void link_dial(Link *l) {
        MeshAddress at = finder_where(&l->finder);
        int r = -EDESTADDRREQ;

        l->reached = false;
        l->to_found = finder_has_found(&l->finder);
        if (*at.text)
                r = stream_dial(l->config.loop, at.text, at.port, l->config.tls, ALPN_MESH, &l->peer.pin,
                                &link_ops, l, &l->stream);
        if (r == 0) {
                stream_set_messages(l->stream, &argosy__to_host__descriptor, FRAME_MAX);
                uv_timer_start(&l->timer, on_slow, FINDER_PATIENCE_MS, 0);
                return;
        }
        l->stream = NULL;
        // Told from the loop: we may be inside a call of the owner.
        if (*at.text)
                snprintf(l->pending_why, sizeof(l->pending_why), "cannot dial %.60s: %s", at.text,
                         strerror(-r));
        else
                snprintf(l->pending_why, sizeof(l->pending_why), "its address is not known");
        on_not_there(l);
        dial_later(l);
        l->config.ops->pending(l, l->config.userdata);
}

void link_report_pending(Link *l) {
        char why[sizeof(l->pending_why)];

        memcpy(why, l->pending_why, sizeof(why));
        *l->pending_why = 0;
        report(l, why);
}

static void dial_now(Link *l) {
        l->dial_now = true;
        if (l->stream)
                stream_close(l->stream, 0, false);
        else
                dial_later(l);
}

void link_dial_anew(Link *l) {
        l->failures = 0;
        l->found_in_vain = false;
        dial_now(l);
}

static bool is_connected_to(const Link *l, const MeshPeer *peer) {
        return l->up && !*peer->name && streq(stream_peer(l->stream)->address, peer->address) &&
               stream_peer(l->stream)->port == peer->port;
}

void link_set_peer(Link *l, const MeshPeer *peer) {
        MeshAddress before = elsewhere_first(&l->peer), now = elsewhere_first(peer);
        bool same = streq(before.text, now.text) && before.port == now.port,
             anew = !hash_equal(&l->peer.pin, &peer->pin) || (!same && !is_connected_to(l, peer));

        l->hint = false;
        if (!hash_equal(&l->peer.pin, &peer->pin))
                l->refusal = MESH_NOT_REFUSED;
        l->peer = *peer;
        if (!same)
                finder_forget(&l->finder);
        if (anew)
                link_dial_anew(l);
}

void link_on_network(Link *l, bool (*is_ours)(const char *address, void *userdata), void *userdata) {
        char local[STREAM_ADDRESS_SIZE];

        if (!l->up || (stream_local_address(l->stream, local) && !is_ours(local, userdata)))
                link_dial_anew(l);
}

// ---- where the voter may be

void link_on_seen(Link *l, const char *address) {
        if (finder_on_seen(&l->finder, address) && !l->stream)
                link_dial_anew(l);
}

void link_on_announced(Link *l, const Argosy__Voter *voter) {
        if (finder_on_announced(&l->finder, voter) && !l->stream)
                link_dial_anew(l);
}

void link_on_given(Link *l, const MeshAddress *addresses, size_t n) {
        if (!l->up)
                link_dial_anew(l);
        finder_on_given(&l->finder, addresses, n);
}

static void on_found(void *userdata) {
        Link *l = userdata;

        if (!l->found_in_vain)
                dial_now(l);
}

static void on_finder_closed(void *userdata) {
        finish(userdata);
}

static const FinderOps finder_ops = {.found = on_found, .closed = on_finder_closed};

// ---- beginning and end

int link_send(Link *l, const ProtobufCMessage *message) {
        return l->up ? stream_send(l->stream, message) : -ENOTCONN;
}

int link_send_frame(Link *l, Buf *frame) {
        return l->up ? stream_send_frame(l->stream, frame) : -ENOTCONN;
}

int link_new(const LinkConfig *config, const MeshPeer *peer, Link **ret) {
        Link *l = calloc(1, sizeof(*l));

        if (!l)
                return -ENOMEM;
        *l = (Link){.config = *config, .peer = *peer};
        finder_init(&l->finder, config->loop, config->tls, &l->peer, &finder_ops, l);
        (void) uv_timer_init(config->loop, &l->timer); // cannot fail
        l->timer.data = l;
        *ret = l;
        return 0;
}

void link_abandon(Link *l, bool flush) {
        l->abandoned = true;
        l->up = l->leading = false;
        uv_timer_stop(&l->timer);
        if (l->stream)
                stream_close(l->stream, 0, flush);
        finder_close(&l->finder);
        finish(l);
}
