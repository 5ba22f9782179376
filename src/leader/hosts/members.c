// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How hosts come into the cluster: join tokens, joining, renewed certificates.
//
//      cluster_token -> a record and the token's text
//      join without a body -> proof of membership     join with one -> proof, form, certificate
//          -> a host record
//          -> on_joined(): the answer and its proof
//
// Each is a request that waits for the log. A joiner's bytes are a stranger's: refusals are responses and
// log lines. -EBUSY: again in the next batch; -ENOMEM. Hosts leave in host-removal.c; voters are chosen in
// host-roles.c.

#include <ctype.h>
#include <errno.h>
#include <gnutls/crypto.h>
#include <stdarg.h>
#include <stdio.h>

#include "batch-builder.h"
#include "ca.h"
#include "clock.h"
#include "feature-controller.h"
#include "frame.h"
#include "host-address.h"
#include "host-link.h"
#include "host-marks.h"
#include "host-record.h"
#include "identity.h"
#include "join-token.h"
#include "log.h"
#include "members.h"
#include "message-of.h"
#include "message.h"
#include "pending-requests.h"
#include "registry.h"
#include "response.h"
#include "str.h"
#include "tables.h"
#include "turn.h"
#include "voter-secrets-controller.h"

enum {
        TOKEN_TTL_SEC = 24 * 3600,
        TOKEN_TTL_MAX_SEC = 30 * 24 * 3600,
};

// ------------------------------------------------------------------------------------------------ token

int members_plan_token(Leader *l, PendingRequest *t, BatchBuilder *b) {
        const Argosy__ClusterRecord *cluster = cluster_state_cluster(l->state);
        const Argosy__HostRecord *self = cluster_state_find_host(l->state, l->config.self);
        uint32_t ttl =
                t->request->cluster_token->ttl_sec ? t->request->cluster_token->ttl_sec : TOKEN_TTL_SEC;
        _cleanup_response_ Argosy__Response *r = response_new(ARGOSY__RESPONSE__WHAT_TOKEN);
        _cleanup_free_ char *text = NULL;
        JoinToken token;
        Hash hash;
        int k;

        if (!r)
                return -ENOMEM;
        if (cluster->ca && cluster->ca->phase == ARGOSY__CA_PHASE__CA_HAND_OUT) {
                request_refuse(t, EBUSY,
                              "the cluster's CA is about to change, and tokens with it: `argosyctl cluster "
                              "status` says how "
                              "far that is");
                return 0;
        }
        if (ttl > TOKEN_TTL_MAX_SEC) {
                request_refuse(t, EINVAL, "a token may be valid for 30 days at most");
                return 0;
        }
        if (*t->request->cluster_token->for_host &&
            !host_name_is_valid(t->request->cluster_token->for_host)) {
                request_refuse(t, EINVAL, "no host can have the name that the token is to be for");
                return 0;
        }
        if (!cluster->ca)
                return -ENOMEM;
        join_token_new(cluster->ca->cert.data, cluster->ca->cert.len, &token);
        hash = join_secret_hash(&token);
        text = join_token_format(&token);
        Argosy__TokenRecord record =
                MESSAGE_OF(token_record, .id = token.id,
                           .secret_hash = (ProtobufCBinaryData){.data = hash.bytes, .len = HASH_SIZE},
                           .for_host = t->request->cluster_token->for_host,
                           .once = t->request->cluster_token->once, .ttl_us = ttl * USEC_PER_SEC);
        record.expires_us = leader_wall(l) + record.ttl_us;
        r->token->expires_us = record.expires_us;
        r->token->port = self ? self->port : 0;
        if (self && field_set(&r->token->address, host_record_place(self)) < 0)
                return -ENOMEM;
        if (!text || field_set(&r->token->token, text) < 0)
                return -ENOMEM;
        k = batch_builder_put_token(b, &record);
        if (k < 0)
                return k;
        return request_prepare(t, TAKE_PTR(r));
}

// ------------------------------------------------------------------------------------------------ join

static int refuse_join(PendingRequest *t, int status, const char *format, ...) _printf_(3, 4);

static int refuse_join(PendingRequest *t, int status, const char *format, ...) {
        _cleanup_response_ Argosy__Response *r = response_new(ARGOSY__RESPONSE__WHAT_JOIN);
        _cleanup_free_ char *why = NULL;
        va_list ap;
        int n;

        va_start(ap, format);
        n = vasprintf(&why, format, ap);
        va_end(ap);
        if (!r || n < 0 || field_set(&r->join->error, why) < 0 || field_set(&r->message, why) < 0)
                return -ENOMEM;
        r->status = status;
        // The log names the address only, as the name is a stranger's bytes.
        log_notice("Refused a host that wants to join from %s: %s.", t->request->join->peer_address, why);
        request_settle(t, TAKE_PTR(r));
        return 0;
}

static bool is_machine_id(const char *s) {
        uint8_t bytes[16];

        return hex_decode(s, bytes, sizeof(bytes));
}

static bool labels_are_valid(const Argosy__JoinBody *j) {
        for (size_t i = 0; i < j->n_labels; i++)
                if (!label_is_valid(j->labels[i]->key) || !label_is_valid(j->labels[i]->value))
                        return false;
        return j->n_labels <= HOST_OWN_LABELS_MAX;
}

// What is wrong with the body's form; NULL: nothing.
static const char *join_form_error(const Argosy__JoinBody *j) {
        if (j->host_id.len != 16 || !is_machine_id(j->machine_id))
                return "the machine id is not one";
        if (!host_name_is_valid(j->name))
                return "the host name is empty, too long or has strange characters";
        if (!labels_are_valid(j))
                return "a label is not valid";
        if (!j->port || j->port > 65535)
                return "the port is not valid";
        if (!j->csr.len || j->csr.len > IDENTITY_CSR_MAX)
                return "the certificate request is missing or too large";
        return NULL;
}

static int bytes_set(ProtobufCBinaryData *field, const void *data, size_t len) {
        free(field->data);
        field->data = malloc(len + 1);
        if (!field->data) {
                field->len = 0;
                return -ENOMEM;
        }
        if (len)
                memcpy(field->data, data, len);
        field->len = len;
        return 0;
}

// The token's record; NULL and *ret_why if it is not known or has expired.
static const Argosy__TokenRecord *find_token(Leader *l, const char *id, const char **ret_why) {
        const Argosy__TokenRecord *token = cluster_state_find_token(l->state, id);

        *ret_why = "the token has expired: make a new one with `argosyctl cluster token`";
        if (!token || token->secret_hash.len != HASH_SIZE)
                *ret_why = "the token is not known here (mistyped, used up, expired long ago, or dropped "
                           "when a host was removed): make a "
                           "new one with `argosyctl cluster token`";
        else if (!token_record_is_over(
                         token, (AccessTime){.wall_us = leader_wall(l), .counted_us = leader_counted(l)}))
                return token;
        return NULL;
}

// The first of its two requests: whoever serves it shows that it can ask us. This changes nothing, and holds
// on that one connection only.
static int show_membership(PendingRequest *t, const Hash *secret_hash) {
        const Argosy__Request__Join *q = t->request->join;
        _cleanup_response_ Argosy__Response *r = response_new(ARGOSY__RESPONSE__WHAT_JOIN);
        Hash proof;

        if (!r)
                return -ENOMEM;
        if (join_proof_make(secret_hash, JOIN_BY_MEMBER, q->channel.data, q->channel.len, NULL, 0, &proof) <
            0)
                return refuse_join(t, EBADMSG, "the member that it asked sent nothing of their connection");
        if (bytes_set(&r->join->proof, proof.bytes, HASH_SIZE) < 0)
                return -ENOMEM;
        request_settle(t, TAKE_PTR(r));
        return 0;
}

// Unpacks the body into the request. NULL: it cannot be unpacked.
static Argosy__JoinBody *take_body(Argosy__Request__Join *q) {
        message_free(q->host);
        q->host = (Argosy__JoinBody *) frame_unpack(&argosy__join_body__descriptor, q->join->body.data,
                                                    q->join->body.len);
        return q->host;
}

// A member with the same host id or name, other than the one with this key. The host id is made of the
// machine id, for users of one machine also of their uids.
static const Argosy__HostRecord *find_double(Leader *l, const Argosy__JoinBody *j,
                                             const Argosy__HostRecord *same, bool *ret_machine) {
        const Argosy__HostRecord *other =
                cluster_state_other_by_id(l->state, j->host_id.data, j->host_id.len, same);

        *ret_machine = other;
        return other ?: cluster_state_other_by_name(l->state, j->name, same);
}

static int refuse_double(Leader *l, PendingRequest *t, const Argosy__HostRecord *other, bool machine) {
        const Host *h = host_find(l, other->host);

        if (!machine)
                return refuse_join(
                        t, EEXIST,
                        "a host named %s is a member already (%s); give this one another host name",
                        other->name, host_record_place(other));
        if (h && host_is_lost(h))
                return refuse_join(t, EEXIST,
                                   "duplicate machine id: host %s (%s), which is lost, has it; if this is "
                                   "that machine, run "
                                   "`argosyctl cluster remove %s` first",
                                   other->name, host_record_place(other), other->name);
        if (h && !h->attached) // it may have become a member just now, and ended before it knew
                return refuse_join(
                        t, EEXIST,
                        "duplicate machine id: host %s (%s), which is not heard at present, has it; if "
                        "this is that machine, run `argosyctl cluster remove %s` first",
                        other->name, host_record_place(other), other->name);
        return refuse_join(t, EEXIST,
                           "duplicate machine id: host %s (%s) has it; two machines with one id (copied "
                           "disks?) cannot both be "
                           "members",
                           other->name, host_record_place(other));
}

// The address that the joiner gives, else the one that it came from. Neither is recorded if other hosts
// could not use it; then it is found out at the first attach.
static const char *joiners_address(const Argosy__JoinBody *j, const char *seen) {
        if (host_address_may_be_announced(j->address, j->address_configured))
                return j->address;
        return host_address_may_be_announced(seen, false) ? seen : "";
}

// A host that was a member before has the labels that were set then.
static int put_joiner(const Leader *l, BatchBuilder *b, Argosy__JoinBody *j, const Hash *pin,
                      const char *address) {
        const Argosy__FormerHost *former =
                cluster_state_find_former(l->state, j->host_id.data, j->host_id.len);
        Argosy__HostRecord record = ARGOSY__HOST_RECORD__INIT;
        Argosy__NodeRecord node = ARGOSY__NODE_RECORD__INIT, *nodes = &node;
        int r;

        node.manager = "system";
        record.host_id = j->host_id;
        record.machine_id = j->machine_id;
        record.name = j->name;
        record.address = (char *) address;
        record.port = j->port;
        record.key_pin = (ProtobufCBinaryData){.data = (uint8_t *) pin->bytes, .len = HASH_SIZE};
        record.own_labels = j->labels;
        record.n_own_labels = j->n_labels;
        if (former) {
                record.set_labels = former->set_labels;
                record.n_set_labels = former->n_set_labels;
        }
        record.nodes = &nodes;
        record.n_nodes = 1;
        r = host_record_merge_labels(&record);
        if (r >= 0)
                r = batch_builder_put_host(b, &record);
        for (size_t i = 0; i < record.n_labels; i++)
                message_free(record.labels[i]);
        free(record.labels);
        return r;
}

// Binds a token for one host to the joiner's key, so that the same host can repeat its request.
static int use_up(BatchBuilder *b, const Argosy__TokenRecord *token, const Hash *pin) {
        Argosy__TokenRecord used = *token;

        used.used_by = (ProtobufCBinaryData){.data = (uint8_t *) pin->bytes, .len = HASH_SIZE};
        return batch_builder_put_token(b, &used);
}

static Argosy__Voter *voter_new(const Argosy__HostRecord *h) {
        Argosy__Voter *v = calloc(1, sizeof(*v));

        if (!v)
                return NULL;
        argosy__voter__init(v);
        v->host = h->host;
        v->port = h->port;
        v->raft_id = h->raft_id;
        v->key_pin.data = malloc(h->key_pin.len + 1);
        if (!v->key_pin.data || field_set(&v->address, h->address) < 0 ||
            field_set(&v->name, h->address_name) < 0 || field_set(&v->host_name, h->name) < 0) {
                message_free(v);
                return NULL;
        }
        v->key_pin.len = h->key_pin.len;
        memcpy(v->key_pin.data, h->key_pin.data, h->key_pin.len);
        return v;
}

// Of a host that joins.
typedef struct Joining {
        RequestWork work;
        Hash pin;         // of its key
        Hash secret_hash; // of its token
        Buf cert;
} Joining;

static void joining_free(PendingRequest *t, RequestWork *work) {
        Joining *j = CONTAINER_OF(work, Joining, work);

        buf_done(&j->cert);
        free(j);
}

static const RequestWorkKind joining_kind = {joining_free};

static Joining *joining_of(const PendingRequest *t) {
        return CONTAINER_OF(request_work(t, &joining_kind), Joining, work);
}

// The same, made if it is not there. NULL: out of memory.
static Joining *joining_get(PendingRequest *t) {
        Joining *j;

        if (request_work(t, &joining_kind))
                return joining_of(t);
        j = calloc(1, sizeof(*j));
        if (j)
                request_add_work(t, &joining_kind, &j->work);
        return j;
}

static int fill_answer(Leader *l, PendingRequest *t, Argosy__JoinAnswer *reply) {
        const Joining *joining = joining_of(t);
        const Argosy__ClusterRecord *cluster = cluster_state_cluster(l->state);
        const Argosy__HostRecord *host = cluster_state_find_host_by_pin(l->state, &joining->pin);
        const HostEntry *hosts;
        size_t n;

        if (!host)
                return -ENOENT;
        reply->host = host->host;
        reply->generation = cluster->generation;
        if (!cluster->ca)
                return -ENOKEY;
        if (bytes_set(&reply->ca_cert, cluster->ca->cert.data, cluster->ca->cert.len) < 0 ||
            bytes_set(&reply->cluster_id, cluster->cluster_id.data, cluster->cluster_id.len) < 0 ||
            bytes_set(&reply->cert, joining->cert.data, joining->cert.len) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < host->n_nodes; i++)
                if (FIELD_APPEND(reply->nodes, reply->n_nodes,
                                 (Argosy__NodeRecord *) message_copy(host->nodes[i])) < 0)
                        return -ENOMEM;
        hosts = cluster_state_hosts(l->state, &n);
        for (size_t i = 0; i < n; i++)
                if (hosts[i].record->role == ARGOSY__HOST_ROLE__ROLE_VOTER &&
                    FIELD_APPEND(reply->voters, reply->n_voters, voter_new(hosts[i].record)) < 0)
                        return -ENOMEM;
        return 0;
}

// Puts the packed answer and its proof into `reply`.
static int answer_joiner(Leader *l, PendingRequest *t, Argosy__JoinReply *reply) {
        Argosy__JoinAnswer *answer = malloc(sizeof(*answer));
        const Argosy__Request__Join *q = t->request->join;
        _cleanup_free_ uint8_t *bytes = NULL;
        Hash proof;
        size_t len;
        int r;

        if (!answer)
                return -ENOMEM;
        argosy__join_answer__init(answer);
        r = fill_answer(l, t, answer);
        len = argosy__join_answer__get_packed_size(answer);
        bytes = malloc(len + 1);
        if (r >= 0 && !bytes)
                r = -ENOMEM;
        if (r >= 0) {
                argosy__join_answer__pack(answer, bytes);
                r = join_proof_make(&joining_of(t)->secret_hash, JOIN_ANSWER, q->channel.data,
                                    q->channel.len, bytes, len, &proof);
        }
        message_free(answer);
        if (r >= 0)
                r = bytes_set(&reply->answer, bytes, len);
        return r < 0 ? r : bytes_set(&reply->proof, proof.bytes, HASH_SIZE);
}

static void on_joined(Leader *l, PendingRequest *t) {
        int r = answer_joiner(l, t, t->response->join);

        if (r >= 0) {
                log_notice("Host %s joined from %s.", t->request->join->host->name,
                           t->request->join->peer_address);
                return;
        }
        t->response->status = -r;
        (void) field_set(&t->response->join->error, "the host could not be made a member");
}

// NULL: it may be a member, as far as its token and its form say.
static const char *judge_joiner(PendingRequest *t, const Hash *secret_hash,
                                const Argosy__TokenRecord *token) {
        Argosy__Request__Join *q = t->request->join;
        const Argosy__JoinRequest *j = q->join;
        const Argosy__JoinBody *body;

        if (!join_proof_holds(secret_hash, JOIN_BY_HOST, q->channel.data, q->channel.len, j->body.data,
                              j->body.len, j->proof.data, j->proof.len))
                return "the token is wrong";
        body = take_body(q);
        if (!body)
                return "the request cannot be read";
        if (*token->for_host && !streq(token->for_host, body->name))
                return "the token is for a host of another name";
        return join_form_error(body);
}

// Signs with the CA of the log. -ENOKEY: this host does not have the CA's key; else as ca_sign().
static int sign(Leader *l, ProtobufCBinaryData csr, const char *name, Buf *ret_cert, Hash *ret_pin) {
        return ca_record_sign(cluster_state_cluster(l->state)->ca, l->ops.secrets(l->userdata), csr, name,
                              ret_cert, ret_pin);
}

int members_plan_join(Leader *l, PendingRequest *t, BatchBuilder *b) {
        const Argosy__JoinRequest *asked = t->request->join->join;
        const Argosy__TokenRecord *token = NULL;
        const Argosy__HostRecord *same, *other;
        const char *why = "the request is empty";
        Joining *joining = joining_get(t);
        Argosy__JoinBody *j;
        bool machine;
        int r;

        if (!joining)
                return -ENOMEM;
        if (asked)
                token = find_token(l, asked->token_id, &why);
        if (token)
                memcpy(joining->secret_hash.bytes, token->secret_hash.data, HASH_SIZE);
        if (token && asked->body.len == 0)
                return show_membership(t, &joining->secret_hash);
        if (token)
                why = judge_joiner(t, &joining->secret_hash, token);
        if (why)
                return refuse_join(t, EACCES, "%s", why);
        j = t->request->join->host;
        if (batch_builder_has_cluster(b))
                return -EBUSY; // the feature level may rise in this batch
        if (j->feature_level < cluster_state_cluster(l->state)->feature_level)
                return refuse_join(t, EPROTONOSUPPORT,
                                   "its argosy is too old for this cluster (feature level %u, needed %u)",
                                   j->feature_level, cluster_state_cluster(l->state)->feature_level);
        if (j->user != l->config.user)
                return refuse_join(t, EPERM,
                                   l->config.user
                                           ? "this is a cluster of users' systemd managers: join it with "
                                             "`argosyctl --user`"
                                           : "this is a cluster of machines: a user's argosyd cannot join "
                                             "it");
        joining->cert.len = 0; // planned before, in a batch that was full
        r = sign(l, j->csr, j->name, &joining->cert, &joining->pin);
        if (r == -ENOMEM)
                return r;
        if (r == -ENOKEY)
                return refuse_join(
                        t, ENOKEY,
                        "the leader lacks the key of the cluster's CA; try again when another voter leads");
        if (r < 0)
                return refuse_join(t, EBADMSG, "its certificate request cannot be signed");
        if (token->used_by.len == HASH_SIZE &&
            memcmp(token->used_by.data, joining->pin.bytes, HASH_SIZE) != 0)
                return refuse_join(t, EACCES,
                                   "the token was for one host, which has joined with it: make a new one "
                                   "with `argosyctl cluster token`");
        same = cluster_state_find_host_by_pin(l->state, &joining->pin);
        other = find_double(l, j, same, &machine);
        if (other)
                return refuse_double(l, t, other, machine);
        if (request_prepare(t, response_new(ARGOSY__RESPONSE__WHAT_JOIN)) < 0)
                return -ENOMEM;
        request_when_committed(t, on_joined, false);
        if (same) { // the answer was lost
                on_joined(l, t);
                request_settle(t, t->response);
                return 0;
        }
        r = batch_builder_claim(b, joining->pin.bytes, HASH_SIZE);
        if (r >= 0 && token->once)
                r = batch_builder_claim(b, token->id, strlen(token->id));
        if (r >= 0)
                r = batch_builder_claim(b, j->host_id.data, j->host_id.len);
        if (r >= 0)
                r = batch_builder_claim(b, j->name, strlen(j->name));
        if (r < 0)
                return r; // another joiner of this batch looks too much like it: it is judged when that one
                          // is a member
        r = put_joiner(l, b, j, &joining->pin, joiners_address(j, t->request->join->peer_address));
        if (r >= 0 && token->once)
                r = use_up(b, token, &joining->pin);
        if (r == -EDQUOT) {
                char words[CLUSTER_REFUSAL_SIZE];

                return refuse_join(t, ENOSPC, "%s", cluster_refusal_words(b->state, b->refusal, words));
        }
        return r < 0 ? r : PLAN_IN_BATCH;
}

// Renews a certificate that runs out, for the same key only.
void members_on_renew(Leader *l, Host *h, const Argosy__ToVoter__Renew *renew) {
        const Argosy__HostRecord *record = cluster_state_find_host(l->state, h->number);
        Argosy__ToHost__Renewed renewed = ARGOSY__TO_HOST__RENEWED__INIT;
        Argosy__ToHost m = TO_HOST_OF(RENEWED, renewed, &renewed);
        _cleanup_buf_ Buf cert = {};
        Hash pin;

        if (renew->csr.len > IDENTITY_CSR_MAX)
                return;
        if (sign(l, renew->csr, record->name, &cert, &pin) < 0 ||
            record->key_pin.len != HASH_SIZE || memcmp(record->key_pin.data, pin.bytes, HASH_SIZE) != 0) {
                log_host(LOG_WARNING, record->name,
                         "Host %s asked for a certificate for a key that is not its own.", record->name);
                return;
        }
        renewed.cert = (ProtobufCBinaryData){.data = cert.data, .len = cert.len};
        renewed.ca_cert = cluster_state_cluster(l->state)->ca->cert;
        leader_to_host(l, h, &m);
}
