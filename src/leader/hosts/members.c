// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Who belongs to the cluster: tokens, joining, removing, roles. Each is a request that waits for the log
// like any other.
//
// Removing a host that is a voter takes several entries: first its record says that it is to be no voter,
// voters.c sees to that, and only then is the record removed, together with the moves of its units. A leader
// that dies in between leaves a host that is no voter but still a member, and the command can be given
// again. Nothing is begun unless the log can go on at each step of the way, by what the voters answer since
// the command came; if that changes on the way, the removal waits, and a promotion of the host calls it off.
// The same holds for another number of voters, which the old number calls off.
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
#include "message.h"
#include "registry.h"
#include "response.h"
#include "scheduler.h"
#include "secret-readers.h"
#include "sessions.h"
#include "str.h"
#include "tables.h"
#include "tickets.h"
#include "turn.h"
#include "unit-file.h"
#include "unit-record.h"
#include "voter-secrets-controller.h"
#include "voters.h"

enum {
        TOKEN_TTL_SEC = 24 * 3600,
        TOKEN_TTL_MAX_SEC = 30 * 24 * 3600,
};

// ------------------------------------------------------------------------------------------------ token

int members_plan_token(Leader *l, Ticket *t, BatchBuilder *b) {
        const Argosy__ClusterRecord *cluster = cluster_state_cluster(l->state);
        const Argosy__HostRecord *self = cluster_state_find_host(l->state, l->config.self);
        uint32_t ttl =
                t->request->cluster_token->ttl_sec ? t->request->cluster_token->ttl_sec : TOKEN_TTL_SEC;
        _cleanup_response_ Argosy__Response *r = response_new(ARGOSY__RESPONSE__WHAT_TOKEN);
        Argosy__TokenRecord record = ARGOSY__TOKEN_RECORD__INIT;
        _cleanup_free_ char *text = NULL;
        JoinToken token;
        Hash hash;
        int k;

        if (!r)
                return -ENOMEM;
        if (cluster->ca && cluster->ca->phase == ARGOSY__CA_PHASE__CA_HAND_OUT) {
                ticket_settle(t, response_error(EBUSY, "the cluster's CA is about to change, and tokens with it: `argosyctl cluster status` says how "
                                                       "far that is"));
                return 0;
        }
        if (ttl > TOKEN_TTL_MAX_SEC) {
                ticket_settle(t, response_error(EINVAL, "a token may be valid for 30 days at most"));
                return 0;
        }
        if (*t->request->cluster_token->for_host && !host_name_is_valid(t->request->cluster_token->for_host)) {
                ticket_settle(t, response_error(EINVAL, "no host can have the name that the token is to be for"));
                return 0;
        }
        if (!cluster->ca)
                return -ENOMEM;
        join_token_new(cluster->ca->cert.data, cluster->ca->cert.len, &token);
        hash = join_secret_hash(&token);
        text = join_token_format(&token);
        record.id = token.id;
        record.secret_hash = (ProtobufCBinaryData){.data = hash.bytes, .len = HASH_SIZE};
        record.for_host = t->request->cluster_token->for_host;
        record.once = t->request->cluster_token->once;
        record.ttl_us = ttl * USEC_PER_SEC;
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
        return ticket_prepare(t, TAKE_PTR(r));
}

// ------------------------------------------------------------------------------------------------ join

static int refuse_join(Ticket *t, int status, const char *format, ...) _printf_(3, 4);

static int refuse_join(Ticket *t, int status, const char *format, ...) {
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
        // Its name is a stranger's bytes; its address is not.
        log_notice("Refused a host that wants to join from %s: %s.", t->request->join->peer_address, why);
        ticket_settle(t, TAKE_PTR(r));
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

// NULL: it may go on.
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

// NULL, and *ret_why: it opens nothing.
static const Argosy__TokenRecord *find_token(Leader *l, const char *id, const char **ret_why) {
        const Argosy__TokenRecord *token = cluster_state_find_token(l->state, id);

        *ret_why = "the token has expired: make a new one with `argosyctl cluster token`";
        if (!token || token->secret_hash.len != HASH_SIZE)
                *ret_why = "the token is not known here (mistyped, used up, expired long ago, or dropped when a host was removed): make a "
                           "new one with `argosyctl cluster token`";
        else if (!token_record_is_over(token, (AccessTime){.wall_us = leader_wall(l), .counted_us = leader_counted(l)}))
                return token;
        return NULL;
}

// The first of its two requests: whoever serves it shows that it can ask us. This changes nothing, and holds on that one
// connection only.
static int show_membership(Ticket *t) {
        const Argosy__Request__Join *q = t->request->join;
        _cleanup_response_ Argosy__Response *r = response_new(ARGOSY__RESPONSE__WHAT_JOIN);
        Hash proof;

        if (!r)
                return -ENOMEM;
        if (join_proof_make(&t->secret_hash, JOIN_BY_MEMBER, q->channel.data, q->channel.len, NULL, 0, &proof) < 0)
                return refuse_join(t, EBADMSG, "the member that it asked sent nothing of their connection");
        if (bytes_set(&r->join->proof, proof.bytes, HASH_SIZE) < 0)
                return -ENOMEM;
        ticket_settle(t, TAKE_PTR(r));
        return 0;
}

// Takes the body apart, once. NULL: it is none.
static Argosy__JoinBody *take_body(Argosy__Request__Join *q) {
        message_free(q->host);
        q->host = (Argosy__JoinBody *) frame_unpack(&argosy__join_body__descriptor, q->join->body.data, q->join->body.len);
        return q->host;
}

// A member with the same host id or name, other than the one with this key. The host id is made of the
// machine id, for users of one machine also of their uids.
static const Argosy__HostRecord *find_double(Leader *l, const Argosy__JoinBody *j,
                                             const Argosy__HostRecord *same, bool *ret_machine) {
        const Argosy__HostRecord *other = cluster_state_other_by_id(l->state, j->host_id.data, j->host_id.len, same);

        *ret_machine = other;
        return other ?: cluster_state_other_by_name(l->state, j->name, same);
}

static int refuse_double(Leader *l, Ticket *t, const Argosy__HostRecord *other, bool machine) {
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
        if (h && !h->attached) // it may have become a member a moment ago, and died before it knew
                return refuse_join(t, EEXIST,
                                   "duplicate machine id: host %s (%s), which is not heard at present, has it; if "
                                   "this is that machine, run `argosyctl cluster remove %s` first",
                                   other->name, host_record_place(other), other->name);
        return refuse_join(t, EEXIST,
                           "duplicate machine id: host %s (%s) has it; two machines with one id (copied "
                           "disks?) cannot both be "
                           "members",
                           other->name, host_record_place(other));
}

// As it says, else whence it came: what others could not use is not written down, and found out when it
// attaches.
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

// By whoever comes with this key, who may have to ask again.
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

static int fill_answer(Leader *l, Ticket *t, Argosy__JoinAnswer *reply) {
        const Argosy__ClusterRecord *cluster = cluster_state_cluster(l->state);
        const Argosy__HostRecord *host = cluster_state_find_host_by_pin(l->state, &t->pin);
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
            bytes_set(&reply->cert, t->cert.data, t->cert.len) < 0)
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

// The answer as bytes, and the proof of it.
static int answer_joiner(Leader *l, Ticket *t, Argosy__JoinReply *reply) {
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
                r = join_proof_make(&t->secret_hash, JOIN_ANSWER, q->channel.data, q->channel.len, bytes, len, &proof);
        }
        message_free(answer);
        if (r >= 0)
                r = bytes_set(&reply->answer, bytes, len);
        return r < 0 ? r : bytes_set(&reply->proof, proof.bytes, HASH_SIZE);
}

void members_forget_join(Ticket *t) {
        buf_done(&t->cert);
}

static void on_joined(Leader *l, Ticket *t) {
        int r = answer_joiner(l, t, t->response->join);

        if (r >= 0) {
                log_notice("Host %s joined from %s.", t->request->join->host->name, t->request->join->peer_address);
                return;
        }
        t->response->status = -r;
        (void) field_set(&t->response->join->error, "the host could not be made a member");
}

// NULL: it may be a member, as far as its token and its form say.
static const char *judge_joiner(Ticket *t, const Argosy__TokenRecord *token) {
        Argosy__Request__Join *q = t->request->join;
        const Argosy__JoinRequest *j = q->join;
        const Argosy__JoinBody *body;

        if (!join_proof_holds(&t->secret_hash, JOIN_BY_HOST, q->channel.data, q->channel.len, j->body.data, j->body.len, j->proof.data,
                              j->proof.len))
                return "the token is wrong";
        body = take_body(q);
        if (!body)
                return "the request cannot be read";
        if (*token->for_host && !streq(token->for_host, body->name))
                return "the token is for a host of another name";
        return join_form_error(body);
}

// With the CA that the log names. -ENOKEY: this host lacks its key; else as ca_sign().
static int sign(Leader *l, ProtobufCBinaryData csr, const char *name, Buf *ret_cert, Hash *ret_pin) {
        return ca_record_sign(cluster_state_cluster(l->state)->ca, l->ops.secrets(l->userdata), csr, name, ret_cert, ret_pin);
}

int members_plan_join(Leader *l, Ticket *t, BatchBuilder *b) {
        const Argosy__JoinRequest *asked = t->request->join->join;
        const Argosy__TokenRecord *token = NULL;
        const Argosy__HostRecord *same, *other;
        const char *why = "the request is empty";
        Argosy__JoinBody *j;
        bool machine;
        int r;

        if (asked)
                token = find_token(l, asked->token_id, &why);
        if (token)
                memcpy(t->secret_hash.bytes, token->secret_hash.data, HASH_SIZE);
        if (token && asked->body.len == 0)
                return show_membership(t);
        if (token)
                why = judge_joiner(t, token);
        if (why)
                return refuse_join(t, EACCES, "%s", why);
        j = t->request->join->host;
        if (batch_builder_has_cluster(b))
                return -EBUSY; // its level may rise in this batch
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
        t->cert.len = 0; // planned before, in a batch that was full
        r = sign(l, j->csr, j->name, &t->cert, &t->pin);
        if (r == -ENOMEM)
                return r;
        if (r == -ENOKEY)
                return refuse_join(t, ENOKEY, "the leader lacks the key of the cluster's CA; try again when another voter leads");
        if (r < 0)
                return refuse_join(t, EBADMSG, "its certificate request cannot be signed");
        if (token->used_by.len == HASH_SIZE && memcmp(token->used_by.data, t->pin.bytes, HASH_SIZE) != 0)
                return refuse_join(t, EACCES, "the token was for one host, which has joined with it: make a new one with `argosyctl cluster token`");
        same = cluster_state_find_host_by_pin(l->state, &t->pin);
        other = find_double(l, j, same, &machine);
        if (other)
                return refuse_double(l, t, other, machine);
        if (ticket_prepare(t, response_new(ARGOSY__RESPONSE__WHAT_JOIN)) < 0)
                return -ENOMEM;
        ticket_when_committed(t, on_joined, false);
        if (same) { // its answer got lost
                on_joined(l, t);
                ticket_settle(t, t->response);
                return 0;
        }
        r = batch_builder_claim(b, t->pin.bytes, HASH_SIZE);
        if (r >= 0 && token->once)
                r = batch_builder_claim(b, token->id, strlen(token->id));
        if (r >= 0)
                r = batch_builder_claim(b, j->host_id.data, j->host_id.len);
        if (r >= 0)
                r = batch_builder_claim(b, j->name, strlen(j->name));
        if (r < 0)
                return r; // another joiner of this batch looks too much like it: it is judged when that one
                          // is a member
        r = put_joiner(l, b, j, &t->pin, joiners_address(j, t->request->join->peer_address));
        if (r >= 0 && token->once)
                r = use_up(b, token, &t->pin);
        if (r == -EDQUOT) {
                char words[CLUSTER_REFUSAL_SIZE];

                return refuse_join(t, ENOSPC, "%s", cluster_refusal_words(b->state, b->refusal, words));
        }
        return r < 0 ? r : PLAN_IN_BATCH;
}

// A certificate that runs out is renewed for the same key.
void members_on_renew(Leader *l, Host *h, const Argosy__ToVoter__Renew *renew) {
        const Argosy__HostRecord *record = cluster_state_find_host(l->state, h->number);
        Argosy__ToHost__Renewed renewed = ARGOSY__TO_HOST__RENEWED__INIT;
        Argosy__ToHost m = ARGOSY__TO_HOST__INIT;
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
        m.msg_case = ARGOSY__TO_HOST__MSG_RENEWED;
        m.renewed = &renewed;
        leader_to_host(l, h, &m);
}

// ------------------------------------------------------------------------------------------------ remove

static int refuse(Ticket *t, int status, const char *why) {
        ticket_settle(t, response_error(status, "%s", why));
        return 0;
}

static int refuse_unknown(Ticket *t, const char *word, bool ambiguous) {
        ticket_settle(t,
                      response_error(ENOENT,
                                     ambiguous ? "several hosts are meant by '%s'" : "there is no host '%s'",
                                     word));
        return 0;
}

static bool is_voter(const Leader *l, const Argosy__HostRecord *r) {
        return r->role == ARGOSY__HOST_ROLE__ROLE_VOTER || r->raft_id;
}

// No other host may vote, so this one stays a voter: others have gone since its removal began, or are going.
static bool is_last_to_vote(const Leader *l, const Argosy__HostRecord *record) {
        size_t n;
        const HostEntry *hosts = cluster_state_hosts(l->state, &n);

        for (size_t i = 0; i < n; i++)
                if (hosts[i].record != record && !hosts[i].record->no_promote)
                        return false;
        return true;
}

bool members_removal_ready(Leader *l, Ticket *t) {
        const Argosy__HostRecord *r = cluster_state_find_host(l->state, t->removing);

        return !t->removal_begun || !r || !is_voter(l, r) || !r->no_promote || is_last_to_vote(l, r);
}

// Whether the log has or can get a voter without this host.
static bool can_do_without(Leader *l, const Argosy__HostRecord *leaving) {
        size_t n;
        const HostEntry *hosts = cluster_state_hosts(l->state, &n);

        for (size_t i = 0; i < n; i++) {
                const Host *h = host_find(l, hosts[i].record->host);

                if (hosts[i].record != leaving && !hosts[i].record->no_promote && h && h->attached &&
                    !host_is_lost(h))
                        return true;
        }
        return false;
}

// STEP_PASSED: the voter may go. PLAN_SETTLED: not now; the ticket may wait until they all had time to answer.
static int may_stop_voting(Leader *l, Ticket *t, const Argosy__HostRecord *record, const char *verb) {
        char why[512];
        int r;

        if (!can_do_without(l, record))
                return refuse(t, EEXIST, "no other host can keep the cluster's log at present: nothing was changed");
        r = voters_judge(l, record->host, t->asked_us, verb, why, sizeof(why));
        if (r == VOTERS_UNSAFE)
                return refuse(t, EEXIST, why);
        return r < 0 ? r : r == VOTERS_SAFE ? STEP_PASSED : PLAN_SETTLED;
}

static int mark_leaving(const Argosy__HostRecord *record, BatchBuilder *b) {
        Argosy__HostRecord next = *record;

        next.no_promote = true;
        return batch_builder_put_host(b, &next);
}

static int refuse_last(Ticket *t, const Argosy__HostRecord *record) {
        ticket_settle(t, response_error(EEXIST,
                                        "no other host is to keep the cluster's log any more, so %s stays a voter; "
                                        "to call its removal off: argosyctl cluster promote %s",
                                        record->name, record->name));
        return 0;
}

enum { MOVES_MORE = 0, MOVES_ALL = 1 };

// Moves what the host has. MOVES_ALL: all of it is in the batch; MOVES_MORE: there is more than one entry is to have.
static int move_all(Leader *l, const Argosy__HostRecord *record, BatchBuilder *b) {
        _cleanup_(scheduler_freep) Scheduler *p = NULL;
        size_t n = 0;
        int r = 0;

        p = scheduler_new(l, record->host);
        for (size_t i = 0; r >= 0 && i < record->n_nodes; i++) {
                const ListNode *units = cluster_state_units_on(l->state, record->nodes[i]->node, NULL);

                if (!units)
                        continue;
                list_foreach (k, units) {
                        UnitEntry *e = CONTAINER_OF(k, UnitEntry, placed);
                        Argosy__UnitRecord next = *e->record;
                        UnitOptions *options;
                        SchedulerAnswer place = {};

                        if (batch_builder_has_unit(b, next.name))
                                return -EBUSY;
                        if (n++ == l->limits.entry_units || b->packed.len > l->limits.entry_bytes)
                                return MOVES_MORE;
                        if (unit_options_of(e, &options) >= 0) {
                                r = scheduler_place(p, next.name, options, false, &place);
                                unit_options_unref(options);
                        }
                        if (r < 0)
                                return r;
                        next.node = place.node;
                        r = batch_builder_put_unit(b, &next, 0, e->record->revision);
                        if (r < 0)
                                return r;
                }
        }
        return r < 0 ? r : MOVES_ALL;
}

static void on_removed(Leader *l, Ticket *t) {
        Argosy__ToHost__Removed removed = ARGOSY__TO_HOST__REMOVED__INIT;
        Argosy__ToHost m = ARGOSY__TO_HOST__INIT;

        removed.why = "the host was removed from the cluster";
        m.msg_case = ARGOSY__TO_HOST__MSG_REMOVED;
        m.removed = &removed;
        leader_to_host_in_passing(l, t->removing, &m); // a dead one does not hear it
        if (t->removing != l->config.self)
                l->ops.drop_host(t->removing, l->userdata);
}

// There is nothing left to do. What the log has of it has to say that it is done.
static int end_removal(Ticket *t) {
        if (!ticket_has_open_job(t))
                return refuse(t, 0, "");
        return ticket_prepare(t, response_new(ARGOSY__RESPONSE__WHAT__NOT_SET));
}

// They go with the host, whose people may have seen them.
static int tell_dropped_tokens(Leader *l, char **ret) {
        size_t n = cluster_state_n_tokens_open(l->state, (AccessTime){.wall_us = leader_wall(l), .counted_us = leader_counted(l)});

        *ret = n == 0   ? strdup("")
               : n == 1 ? strdup("the open join token was dropped")
                        : str_printf("the %zu open join tokens were dropped", n);
        return *ret ? 0 : -ENOMEM;
}

// What is worth nothing any more, and what only other values make so.
static int fill_removal(Leader *l, Ticket *t, const Argosy__HostRecord *record) {
        _cleanup_free_ char *tokens = NULL, *secrets = secret_readers_words(t->readable, record->name);

        if (ticket_prepare(t, response_new(ARGOSY__RESPONSE__WHAT_REMOVAL)) < 0 || !secrets ||
            tell_dropped_tokens(l, &tokens) < 0)
                return -ENOMEM;
        message_free(t->response->removal);
        t->response->removal = message_copy(t->readable); // the entry may be taken back, and this said again
        if (!t->response->removal)
                return -ENOMEM;
        return field_printf(&t->response->message, "%s%s%s", tokens, *tokens && *secrets ? "; " : "", secrets);
}

int members_plan_removal(Leader *l, Ticket *t, BatchBuilder *b) {
        const char *word = t->request->cluster_remove->host;
        const Argosy__HostRecord *record;
        bool ambiguous = false;
        size_t n_hosts;
        int r;

        record = t->removing ? cluster_state_find_host(l->state, t->removing)
                             : cluster_state_resolve_host(l->state, word, &ambiguous);
        if (!record && (t->removing || (!ambiguous && ticket_has_open_job(t)))) // somebody else's command did it
                return end_removal(t);
        if (!record)
                return refuse_unknown(t, word, ambiguous);
        (void) cluster_state_hosts(l->state, &n_hosts);
        if (n_hosts == 1)
                return refuse(t, EEXIST, "it is the only host of the cluster");
        if (batch_builder_has_host(b, record->host))
                return -EBUSY;
        t->removing = record->host;
        if (!t->readable)
                t->readable = secret_readers_of(l, record);
        if (!t->readable)
                return -ENOMEM;
        if (is_voter(l, record)) {
                if (record->no_promote && is_last_to_vote(l, record))
                        return refuse_last(t, record);
                if (record->no_promote) { // waits in the queue until it is no voter
                        t->removal_begun = true;
                        return 0;
                }
                if (t->removal_begun)
                        return refuse(t, ECANCELED,
                                      "the removal was called off (cluster promote): the host stays a voter");
                r = may_stop_voting(l, t, record, "remove");
                if (r <= 0)
                        return r;
                r = mark_leaving(record, b);
                if (r < 0)
                        return r;
                t->removal_begun = true;
                ticket_when_committed(t, NULL, true);
                return PLAN_IN_BATCH;
        }
        if (batch_builder_gives_host(b, l->state, record->host)) // that would be on a node that nobody has
                return -EBUSY;
        r = move_all(l, record, b);
        if (r < 0)
                return r;
        if (r == MOVES_MORE) {
                ticket_when_committed(t, NULL, true);
                return PLAN_IN_BATCH;
        }
        r = batch_builder_remove_host(b, record->host);
        if (r < 0)
                return r;
        ticket_when_committed(t, on_removed, false);
        if (secret_readers_add(l, record, t->readable) < 0) // until a moment ago it may have been sent the log
                return -ENOMEM;
        return fill_removal(l, t, record) >= 0 ? PLAN_IN_BATCH : -ENOMEM;
}

// ------------------------------------------------------------------------------------------------ role

static int refuse_too_old(Leader *l, Ticket *t, const Argosy__HostRecord *record) {
        ticket_settle(t, response_error(EPROTONOSUPPORT,
                                        "the argosyd of %s is too old to keep this cluster's log (feature level "
                                        "%u, needed %u): install a newer one there",
                                        record->name, host_find(l, record->host)->feature_level,
                                        cluster_state_feature_level(l->state)));
        return 0;
}

int members_plan_role(Leader *l, Ticket *t, BatchBuilder *b) {
        const Argosy__Request__ClusterRole *m = t->request->cluster_role;
        bool ambiguous = false;
        const Argosy__HostRecord *record = cluster_state_resolve_host(l->state, m->host, &ambiguous);
        Argosy__HostRecord next;
        int r;

        if (!record)
                return refuse_unknown(t, m->host, ambiguous);
        if (batch_builder_has_host(b, record->host))
                return -EBUSY;
        if (!m->promote && is_voter(l, record) && !record->no_promote) {
                r = may_stop_voting(l, t, record, "demote");
                if (r <= 0)
                        return r;
        }
        if (m->promote && feature_controller_host_is_too_old(l, host_find(l, record->host)))
                return refuse_too_old(l, t, record);
        next = *record;
        next.no_promote = !m->promote;
        r = batch_builder_put_host(b, &next);
        if (r < 0)
                return r;
        if (ticket_prepare(t, response_new(ARGOSY__RESPONSE__WHAT__NOT_SET)) < 0)
                return -ENOMEM;
        if (m->promote == is_voter(l, record))
                (void) field_printf(&t->response->message, "%s is %s already", record->name,
                                    m->promote ? "a voter" : "no voter");
        else
                (void) field_printf(&t->response->message,
                                    m->promote ? "%s becomes a voter when the cluster needs one more (see "
                                                 "`argosyctl cluster status`)"
                                               : "%s stops being a voter as soon as the others can do without it",
                                    record->name);
        return PLAN_IN_BATCH;
}

// How many there are to be; membership.c makes it so, step by step.
int members_plan_voters(Leader *l, Ticket *t, BatchBuilder *b) {
        uint32_t wanted = t->request->cluster_voters->wanted;
        Argosy__ClusterRecord cluster = *cluster_state_cluster(l->state);
        char why[512];
        size_t n_hosts;
        int r;

        if (wanted != 1 && wanted != 3 && wanted != 5)
                return refuse(t, EINVAL, "a cluster has 1, 3 or 5 voters");
        if (wanted != cluster.voters_wanted) {
                r = voters_judge_wanted(l, wanted, t->asked_us, why, sizeof(why));
                if (r == VOTERS_UNSAFE)
                        return refuse(t, EEXIST, why);
                if (r != VOTERS_SAFE)
                        return r < 0 ? r : 0; // asked again when they had time to answer
        }
        (void) cluster_state_hosts(l->state, &n_hosts);
        cluster.voters_wanted = wanted;
        r = batch_builder_put_cluster(b, &cluster);
        if (r < 0)
                return r;
        if (ticket_prepare(t, response_new(ARGOSY__RESPONSE__WHAT__NOT_SET)) < 0)
                return -ENOMEM;
        if (wanted > n_hosts)
                (void) field_printf(&t->response->message,
                                    "there are %u as soon as so many hosts can be (`argosyctl cluster status`)",
                                    wanted);
        return PLAN_IN_BATCH;
}
