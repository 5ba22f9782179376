// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Joining, on the joiner's side:
//
//   check (not yet a member of anything bigger, token well formed) -> new key and signing request -> look up
//   ADDRESS -> TLS to the first of its addresses that answers, whose CA the token names -> the token's id ->
//   it proves that it
//   is a member (join-token.h) -> the request and our proof -> the answer and its proof -> [--discard: stop
//   and remove our
//   units] -> state_dir_replace() -> answer -> restart
//
// A host that was removed has a certificate of the CA, too. It cannot prove anything, and is told nothing
// but the token's id.
//
// Nothing of the old identity is touched before state_dir_replace(), so any failure before leaves a working
// one-node cluster; where that one fails, argosyd begins anew as who it was, or, if it heard meanwhile that
// its cluster has removed it, forgets that cluster.
//
// A host that has asked and has not received the answer may be a member: the next attempt comes with the
// same key, by which the cluster recognises it.

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "agent.h"
#include "cluster-state.h"
#include "daemon.h"
#include "error-response.h"
#include "feature-level.h"
#include "frame.h"
#include "host-address.h"
#include "host-lookup.h"
#include "join-token.h"
#include "join.h"
#include "log.h"
#include "message-of.h"
#include "message.h"
#include "paths.h"
#include "peers.h"
#include "state-dir.h"
#include "str.h"
#include "stream.h"
#include "tls-context.h"

enum {
        // with who answers, from the handshake on; a member gives it up before that
        JOIN_PATIENCE_MS = 20000,
        JOIN_NAME_SEC = 15,       // with the resolver
};

typedef struct Reset {
        char *why; // NULL: there is none
        JoinDone done;
        void *userdata;
} Reset;

_Static_assert((int) JOIN_CHANNEL_SIZE == (int) STREAM_CHANNEL_SIZE, "what proofs are made over");

struct Join {
        Daemon *daemon;
        JoinDone done;
        void *userdata;
        JoinToken token;
        Identity identity;
        Buf csr;
        char host[256];
        uint16_t port;
        HostLookup *lookup; // NULL: none is under way
        struct addrinfo *found, *next; // all of ADDRESS; those that were not tried yet
        TlsContext *tls;
        Stream *stream;
        uint8_t channel[STREAM_CHANNEL_SIZE]; // of the stream
        Hash secret_hash;                     // of the token
        Argosy__JoinAnswer *reply;
        char *refusal; // what the member said instead, or what is wrong with it
        char *reset_why;
        Reset follows; // of a join: what this host heard meanwhile, and does if nothing comes of the join
        bool opened;  // the stream was
        bool proven;  // the other end is a member
        bool answered;
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
        uv_freeaddrinfo(j->found);
        free(j->reset_why);
        free(j->follows.why);
        free(j->refusal);
        message_free(j->reply);
        if (j->daemon->joining == j)
                j->daemon->joining = NULL;
        free(j);
}

// Nothing has come of it, so this host is who it was, perhaps a member that was removed meanwhile. That is
// said once.
static void end_in_vain(Join *j) {
        Daemon *d = j->daemon;
        Reset next = j->follows;

        j->follows.why = NULL;
        join_free(j);
        if (next.why && d->end == DAEMON_RUNNING)
                join_reset(d, next.why, next.done, next.userdata);
        free(next.why);
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
                end_in_vain(j);
                // As who it was, unless it was removed meanwhile: the agent has nothing any more, and gets
                // it again when it begins anew.
                if (!d->joining)
                        d->identity_replaced(d);
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

// A join that succeeds replaces the identity as well.
static void reset_behind(Join *j, const char *why, JoinDone done, void *userdata) {
        if (j->reset_why || j->follows.why)
                return;
        j->follows = (Reset){.why = strdup(why), .done = done, .userdata = userdata};
        if (!j->follows.why)
                daemon_fail(j->daemon, strerror(ENOMEM));
}

void join_reset(Daemon *d, const char *why, JoinDone done, void *userdata) {
        Join *j;

        if (d->joining) {
                reset_behind(d->joining, why, done, userdata);
                return;
        }
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

static int send_body(Join *j, Stream *s) {
        Daemon *d = j->daemon;
        _cleanup_free_ uint8_t *bytes = NULL;
        AddressText local;
        OwnAddress own = address_find(d, stream_local_address(s, local) ? local : NULL);
        Hash proof;
        int r;

        Argosy__JoinBody body =
                MESSAGE_OF(join_body, .csr = (ProtobufCBinaryData){j->csr.len, j->csr.data},
                           .host_id = (ProtobufCBinaryData){sizeof(d->host_id), d->host_id},
                           .machine_id = d->machine_id_hex, .name = d->config.name, .address = own.text,
                           .address_configured = own.configured, .address_name = own.name, .port = d->port,
                           .n_labels = d->config.n_labels, .labels = d->config.labels,
                           .feature_level = FEATURE_LEVEL, .user = d->paths->user);
        Argosy__JoinRequest q = MESSAGE_OF(join_request, .token_id = j->token.id,
                                           .body.len = argosy__join_body__get_packed_size(&body));
        q.body.data = bytes = malloc(q.body.len + 1);
        if (!bytes)
                return -ENOMEM;
        argosy__join_body__pack(&body, bytes);
        r = join_proof_make(&j->secret_hash, JOIN_BY_HOST, j->channel, sizeof(j->channel), q.body.data,
                            q.body.len, &proof);
        if (r < 0)
                return r;
        q.proof = (ProtobufCBinaryData){HASH_SIZE, proof.bytes};
        r = stream_send(s, &q.base);
        j->asked = r >= 0;
        return r;
}

static void on_opened(Stream *s, void *userdata) {
        Join *j = userdata;
        int r = stream_channel(s, j->channel);

        j->opened = true;
        stream_set_deadline(s, JOIN_PATIENCE_MS);
        Argosy__JoinRequest q = MESSAGE_OF(join_request, .token_id = j->token.id);
        if (r == 0)
                r = stream_send(s, &q.base);
        if (r < 0)
                stream_close(s, r, false);
}

static int refuse(Join *j, const char *why) {
        j->refusal = strdup(why);
        return j->refusal ? 0 : -ENOMEM;
}

static bool holds(const Join *j, JoinProof kind, const Argosy__JoinReply *r) {
        return join_proof_holds(&j->secret_hash, kind, j->channel, sizeof(j->channel), r->answer.data,
                                r->answer.len, r->proof.data, r->proof.len);
}

static bool answer_is_whole(const Join *j, const Argosy__JoinAnswer *a) {
        Hash ca_hash = hash_of(a->ca_cert.data, a->ca_cert.len);

        return a->host > 0 && a->cert.len > 0 && a->cluster_id.len == 16 && a->n_voters > 0 &&
               hash_equal(&ca_hash, &j->token.ca_hash);
}

// What is to be installed. Only what the proof covers counts.
static int take_answer(Join *j, const Argosy__JoinReply *r) {
        if (!holds(j, JOIN_ANSWER, r))
                return refuse(j, "it does not prove that its answer is the cluster's");
        j->reply = (Argosy__JoinAnswer *) frame_unpack(&argosy__join_answer__descriptor, r->answer.data,
                                                       r->answer.len);
        if (j->reply && answer_is_whole(j, j->reply))
                return 0;
        message_free(j->reply);
        j->reply = NULL;
        return refuse(j, "its answer is incomplete");
}

static int on_reply(Join *j, Stream *s, const Argosy__JoinReply *r) {
        if (*r->error)
                return refuse(j, r->error);
        if (j->proven)
                return take_answer(j, r);
        if (r->answer.len > 0 || !holds(j, JOIN_BY_MEMBER, r))
                return refuse(j, "it does not prove that it is a member (was it removed?), and was told "
                                 "nothing of the token: "
                                 "ask another one");
        j->proven = true;
        return send_body(j, s);
}

static int on_frame(Stream *s, const uint8_t *payload, size_t len, void *userdata) {
        Join *j = userdata;
        Argosy__JoinReply *r;
        int k;

        if (j->reply || j->refusal)
                return -EBADMSG;
        r = (Argosy__JoinReply *) frame_unpack(&argosy__join_reply__descriptor, payload, len);
        if (!r)
                return -EBADMSG;
        k = on_reply(j, s, r);
        message_free(r);
        if (k >= 0 && (j->reply || j->refusal))
                stream_close(s, 0, false);
        return k;
}

static void dial_next(Join *j, const char *why, int error);

// A host that does not answer was sent nothing secret, so another address is as good.
static void on_unanswered(Join *j, Stream *s, int error) {
        const char *why = stream_error_text(s);

        if (!why || !*why)
                why = error ? strerror(-error) : "the connection was closed without an answer";
        if (!j->opened && j->done && j->next) {
                dial_next(j, why, error);
                return;
        }
        fail(j, error ? -error : ECONNRESET, "%s port %u: %s", j->host, j->port, why);
        end_in_vain(j);
}

static void on_closed(Stream *s, int error, void *userdata) {
        Join *j = userdata;

        j->stream = NULL;
        if (j->refusal) {
                j->asked = false;
                fail(j, EACCES, "%s refused: %s", j->host, j->refusal);
                end_in_vain(j);
                return;
        }
        if (!j->reply) {
                on_unanswered(j, s, error);
                return;
        }
        if (j->daemon->end != DAEMON_RUNNING) {
                fail(j, ECANCELED, "argosyd is ending");
                end_in_vain(j);
                return;
        }
        error = identity_install(&j->identity, j->reply->cert.data, j->reply->cert.len,
                                 j->reply->ca_cert.data, j->reply->ca_cert.len);
        if (error < 0) {
                fail(j, -error, "%s sent a certificate that cannot be used: %s", j->host, strerror(-error));
                end_in_vain(j);
                return;
        }
        agent_clear(j->daemon->agent, on_cleared, j);
}

static const StreamOps join_ops = {.opened = on_opened, .frame = on_frame, .closed = on_closed};

static int dial(Join *j, const struct addrinfo *a) {
        char address[STREAM_ADDRESS_SIZE];
        int r;

        (void) stream_address_text(a->ai_addr, address);
        r = stream_dial(j->daemon->loop, address, j->port, j->tls, ALPN_JOIN, NULL, &join_ops, j,
                        &j->stream);
        if (r == 0)
                stream_set_frames(j->stream, FRAME_MAX_JOIN);
        return r;
}

// The one before, if any, failed for that reason.
static void dial_next(Join *j, const char *why, int error) {
        while (j->next) {
                const struct addrinfo *a = j->next;

                j->next = a->ai_next;
                error = dial(j, a);
                if (error == 0)
                        return;
                why = strerror(-error);
        }
        fail(j, -error, "%s port %u: %s", j->host, j->port, why);
        end_in_vain(j);
}

static void on_lookup(int error, const char *why, struct addrinfo *found, void *userdata) {
        Join *j = userdata;

        j->lookup = NULL;
        j->found = j->next = found;
        if (error == -ETIMEDOUT)
                fail(j, ETIMEDOUT,
                     "cannot find the address of %s: the name service has not answered for %d seconds",
                     j->host, JOIN_NAME_SEC);
        else if (error < 0)
                fail(j, EADDRNOTAVAIL, "cannot find the address of %s: %s", j->host, why);
        if (error < 0) {
                end_in_vain(j);
                return;
        }
        dial_next(j, "it has no address", -EADDRNOTAVAIL);
}

// Whether this host may give up what it is. NULL: yes; else why not.
static const char *why_not_join(Daemon *d, bool discard, char *buf, size_t size) {
        size_t n_hosts = 0, n_units;

        if (peers_verdict(d) == PEERS_REMOVED)
                return NULL; // it is nobody's member any more
        if (!d->state || d->peers->n_voters > 1)
                return "this host is a member of a cluster already; run 'argosyctl cluster leave' first, "
                       "with --force if that "
                       "cluster cannot be reached";
        (void) cluster_state_hosts(d->state, &n_hosts);
        if (n_hosts > 1)
                return "this host is a member of a cluster with other hosts already; run 'argosyctl cluster "
                       "leave' first, with "
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
                end_in_vain(j);
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
        else if (host_address_is_of_a_link(j->host))
                fail(j, EINVAL, "'%s': " HOST_ADDRESS_LINK_WORDS, request->address);
        else if ((r = take_key(j)) < 0 ||
                 (r = tls_context_new_joiner(&j->token.ca_hash, &j->tls)) < 0)
                fail(j, -r, "cannot make a key: %s", strerror(-r));
        j->secret_hash = join_secret_hash(&j->token);
        if (j->answered) {
                end_in_vain(j);
                return;
        }
        r = host_lookup_new(d->loop, j->host, JOIN_NAME_SEC * 1000, on_lookup, j, &j->lookup);
        if (r < 0) {
                fail(j, -r, "cannot find the address of %s: %s", j->host, strerror(-r));
                end_in_vain(j);
        }
}

// True: nothing comes back to it any more.
static bool give_up(Join *j) {
        bool looks_up = j->lookup;

        j->done = NULL;
        host_lookup_cancel(TAKE_PTR(j->lookup));
        if (j->stream && !j->reply)
                stream_close(j->stream, -ECANCELED, false);
        return looks_up;
}

void join_abandon(Daemon *d, void *userdata) {
        Join *j = d->joining;

        if (j && j->userdata == userdata && give_up(j))
                end_in_vain(j);
}

void join_close(Daemon *d) {
        Join *j = d->joining;

        if (!j)
                return;
        (void) give_up(j);
        if (!j->stream) // waits for the agent, which says nothing more
                end_in_vain(j);
}
