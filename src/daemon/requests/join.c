// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Joining, on the joiner's side:
//
//   check (not yet a member of anything bigger, token well formed) -> new key and signing request -> look up
//   ADDRESS -> TLS to a member whose CA the token names -> JoinRequest -> JoinReply -> [--discard: stop and
//   remove our units] -> state_dir_replace() -> answer -> restart
//
// Nothing of the old identity is touched before state_dir_replace(), so any failure before leaves a working
// one-node cluster.
//
// Whoever has asked and has not heard the answer may be a member: the next attempt comes with the same key, by
// which the cluster knows it again.

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "agent.h"
#include "cluster-state.h"
#include "daemon.h"
#include "error-response.h"
#include "feature-level.h"
#include "frame.h"
#include "join.h"
#include "log.h"
#include "paths.h"
#include "peers.h"
#include "state-dir.h"
#include "str.h"
#include "stream.h"
#include "tls-context.h"

struct Join {
        Daemon *daemon;
        JoinDone done;
        void *userdata;
        JoinToken token;
        Identity identity;
        Buf csr;
        char host[256];
        uint16_t port;
        uv_getaddrinfo_t lookup;
        TlsContext *tls;
        Stream *stream;
        Argosy__JoinReply *reply;
        char *reset_why;
        bool answered;
        bool looking_up;
        bool asked;  // with this key, and neither refused nor done
        bool before; // it was asked with this key before, and the answer did not come
};

static void join_key_done(JoinKey *k) {
        identity_done(&k->identity);
        buf_done(&k->csr);
}

// A new key, or that of an attempt whose answer did not come.
static int take_key(Join *j) {
        JoinKey *kept = &j->daemon->join_key;

        if (kept->csr.len == 0)
                return identity_request(j->daemon->config.name, &j->identity, &j->csr);
        j->identity = kept->identity;
        j->csr = kept->csr;
        j->before = true;
        *kept = (JoinKey){};
        return 0;
}

static void drop_key(Join *j) {
        JoinKey mine = {.identity = j->identity, .csr = j->csr};

        if (j->asked || j->before) {
                join_key_done(&j->daemon->join_key);
                j->daemon->join_key = mine;
        } else
                join_key_done(&mine);
}

static void join_free(Join *j) {
        drop_key(j);
        tls_context_unref(j->tls);
        free(j->reset_why);
        if (j->reply)
                argosy__join_reply__free_unpacked(j->reply, NULL);
        if (j->daemon->joining == j)
                j->daemon->joining = NULL;
        free(j);
}

static void answer(Join *j, int status, const char *message) {
        Argosy__Response response = error_response(status, message);

        j->answered = true;
        if (j->done)
                j->done(&response, j->userdata);
        j->done = NULL;
}

static void fail(Join *j, int status, const char *format, ...) _printf_(3, 4);
static void fail(Join *j, int status, const char *format, ...) {
        char message[1024];
        va_list ap;

        va_start(ap, format);
        str_vfit(message, sizeof(message), format, ap);
        va_end(ap);
        log_warning("Not joined: %s", message);
        answer(j, status, message);
}

// ---- the end: put the new identity in place

static void on_cleared(void *userdata) {
        Join *j = userdata;
        Daemon *d = j->daemon;
        Argosy__PeersFile peers = ARGOSY__PEERS_FILE__INIT;
        int r;

        if (j->reply) {
                peers.cluster_id = j->reply->cluster_id;
                peers.generation = j->reply->generation;
                peers.host = j->reply->host;
                peers.n_voters = j->reply->n_voters;
                peers.voters = j->reply->voters;
                peers.n_nodes = j->reply->n_nodes;
                peers.nodes = j->reply->nodes;
                r = state_dir_replace(d->paths->state_dir, &j->identity, &peers);
        } else
                r = state_dir_replace(d->paths->state_dir, NULL, NULL);
        if (r < 0) {
                fail(j, -r, "cannot write the new identity to %s: %s", d->paths->state_dir, strerror(-r));
                join_free(j);
                return;
        }
        if (j->reply)
                log_notice("Joined the cluster of %s as host %u; starting again as its member.", j->host,
                           j->reply->host);
        else
                log_notice("Forgot the cluster (%s); starting again as a fresh host.", j->reset_why);
        j->asked = j->before = false;
        answer(j, 0, "");
        join_free(j);
        d->identity_replaced(d);
}

void join_reset(Daemon *d, const char *why, JoinDone done, void *userdata) {
        Join *j;

        if (d->joining)
                return; // a join in progress replaces the identity as well
        j = calloc(1, sizeof(*j));
        if (j)
                j->reset_why = strdup(why); // until the units are gone
        if (!j || !j->reset_why) {
                daemon_fail(d, strerror(ENOMEM));
                return;
        }
        d->joining = j;
        j->daemon = d;
        j->done = done;
        j->userdata = userdata;
        agent_clear(d->agent, on_cleared, j);
}

// ---- the exchange

static void on_opened(Stream *s, void *userdata) {
        Join *j = userdata;
        Daemon *d = j->daemon;
        Argosy__JoinRequest q = ARGOSY__JOIN_REQUEST__INIT;
        AddressText local;
        OwnAddress own = address_find(d, stream_local_address(s, local) ? local : NULL);

        q.token_id = j->token.id;
        q.secret = (ProtobufCBinaryData){sizeof(j->token.secret), j->token.secret};
        q.csr = (ProtobufCBinaryData){j->csr.len, j->csr.data};
        q.host_id = (ProtobufCBinaryData){sizeof(d->host_id), d->host_id};
        q.machine_id = d->machine_id_hex;
        q.name = d->config.name;
        q.address = own.text;
        q.address_configured = own.configured;
        q.address_name = own.name;
        q.port = d->port;
        q.n_labels = d->config.n_labels;
        q.labels = d->config.labels;
        q.feature_level = FEATURE_LEVEL;
        q.user = d->paths->user;
        j->asked = stream_send(s, &q.base) >= 0;
}

static int on_frame(Stream *s, const uint8_t *payload, size_t len, void *userdata) {
        Join *j = userdata;

        if (j->reply)
                return -EBADMSG;
        j->reply = argosy__join_reply__unpack(NULL, len, payload);
        if (!j->reply)
                return -EBADMSG;
        stream_close(s, 0, false);
        return 0;
}

static bool reply_is_whole(const Argosy__JoinReply *r) {
        return r->host > 0 && r->cert.len > 0 && r->ca_cert.len > 0 && r->cluster_id.len == 16 &&
               r->n_voters > 0;
}

static void on_closed(Stream *s, int error, void *userdata) {
        Join *j = userdata;

        j->stream = NULL;
        if (!j->reply) {
                const char *why = stream_error_text(s);

                fail(j, error ? -error : ECONNRESET, "%s port %u: %s", j->host, j->port,
                     why && *why ? why
                     : error     ? strerror(-error)
                                 : "the connection was closed without an answer");
                join_free(j);
                return;
        }
        if (j->daemon->end != DAEMON_RUNNING) {
                fail(j, ECANCELED, "argosyd is ending");
                join_free(j);
                return;
        }
        if (*j->reply->error || !reply_is_whole(j->reply)) {
                j->asked = false;
                fail(j, EACCES, "%s refused: %s", j->host,
                     *j->reply->error ? j->reply->error : "its answer is incomplete");
                join_free(j);
                return;
        }
        error = identity_install(&j->identity, j->reply->cert.data, j->reply->cert.len,
                                 j->reply->ca_cert.data, j->reply->ca_cert.len);
        if (error < 0) {
                fail(j, -error, "%s sent a certificate that cannot be used: %s", j->host, strerror(-error));
                join_free(j);
                return;
        }
        agent_clear(j->daemon->agent, on_cleared, j);
}

static const StreamOps join_ops = {.opened = on_opened, .frame = on_frame, .closed = on_closed};

static void on_lookup(uv_getaddrinfo_t *lookup, int status, struct addrinfo *found) {
        Join *j = lookup->data;
        char address[INET6_ADDRSTRLEN] = "";
        int r = uvx_errno(status);

        j->looking_up = false;
        if (r == 0 && found->ai_family == AF_INET)
                uv_ip4_name((struct sockaddr_in *) found->ai_addr, address, sizeof(address));
        else if (r == 0)
                uv_ip6_name((struct sockaddr_in6 *) found->ai_addr, address, sizeof(address));
        uv_freeaddrinfo(found);
        if (!j->done) { // abandoned
                join_free(j);
                return;
        }
        if (r < 0) {
                fail(j, EADDRNOTAVAIL, "cannot find the address of %s: %s", j->host, uv_strerror(status));
                join_free(j);
                return;
        }
        r = stream_dial(j->daemon->loop, address, j->port, j->tls, ALPN_JOIN, NULL, &join_ops, j,
                        &j->stream);
        if (r < 0) {
                fail(j, -r, "%s port %u: %s", j->host, j->port, strerror(-r));
                join_free(j);
                return;
        }
        stream_set_frames(j->stream, FRAME_MAX_JOIN);
}

// Whether this host may give up what it is. NULL: yes; else why not.
static const char *why_not_join(Daemon *d, bool discard, char *buf, size_t size) {
        size_t n_hosts = 0, n_units;

        if (peers_verdict(d) == PEERS_REMOVED)
                return NULL; // it is nobody's member any more
        if (!d->state || d->peers->n_voters > 1)
                return "this host is a member of a cluster already; run 'argosyctl cluster leave' first, with --force if that "
                       "cluster cannot be reached";
        (void) cluster_state_hosts(d->state, &n_hosts);
        if (n_hosts > 1)
                return "this host is a member of a cluster with other hosts already; run 'argosyctl cluster leave' first, with "
                       "--force if they cannot be reached";
        n_units = cluster_state_n_units(d->state);
        if (n_units == 0 || discard)
                return NULL;
        snprintf(buf, size,
                 "this host's own one-node cluster holds %zu unit%s; destroy %s, or give %s up with "
                 "--discard",
                 n_units, n_units == 1 ? "" : "s", n_units == 1 ? "it" : "them",
                 n_units == 1 ? "it" : "them");
        return buf;
}

void join_start(Daemon *d, const Argosy__Request__ClusterJoin *request, JoinDone done, void *userdata) {
        struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
        Join *j = calloc(1, sizeof(*j));
        const char *why;
        char text[256];
        int r;

        if (!j) {
                daemon_fail(d, strerror(ENOMEM));
                return;
        }
        j->daemon = d;
        j->done = done;
        j->userdata = userdata;
        j->port = ARGOSY_PORT;
        if (d->joining) {
                fail(j, EBUSY, "another join or leave is going on");
                join_free(j);
                return;
        }
        d->joining = j;
        why = why_not_join(d, request->discard, text, sizeof(text));
        if (why)
                fail(j, EEXIST, "%s", why);
        else if (join_token_parse(request->token, &j->token, &why) < 0)
                fail(j, EINVAL, "the token is not valid: %s", why);
        else if (!host_address_split(request->address, j->host, sizeof(j->host), &j->port))
                fail(j, EINVAL, "'%s' is not an address (HOST, HOST:PORT or [IPV6]:PORT)", request->address);
        else if ((r = take_key(j)) < 0 ||
                 (r = tls_context_new_joiner(&j->token.ca_hash, &j->tls)) < 0)
                fail(j, -r, "cannot make a key: %s", strerror(-r));
        if (j->answered) {
                join_free(j);
                return;
        }
        j->lookup.data = j;
        r = uv_getaddrinfo(d->loop, &j->lookup, on_lookup, j->host, NULL, &hints);
        j->looking_up = r == 0;
        if (r < 0) {
                fail(j, EADDRNOTAVAIL, "cannot find the address of %s: %s", j->host, uv_strerror(r));
                join_free(j);
        }
}

static void give_up(Join *j) {
        j->done = NULL;
        if (j->looking_up) // comes back as a failed look-up, or is already being worked on
                uv_cancel((uv_req_t *) &j->lookup);
        if (j->stream && !j->reply)
                stream_close(j->stream, -ECANCELED, false);
}

void join_abandon(Daemon *d, void *userdata) {
        if (d->joining && d->joining->userdata == userdata)
                give_up(d->joining);
}

void join_close(Daemon *d) {
        Join *j = d->joining;

        if (!j)
                return;
        give_up(j);
        if (!j->looking_up && !j->stream) // waits for the agent, which says nothing more
                join_free(j);
}
