// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Membership for all of them, over the local socket of one member: a token -> for each host a key of its own
// and a request to join, JOINS_AT_ONCE of them at a time -> its certificate and who votes -> its mesh. These
// are the requests that a member passes on for strangers; the door for strangers, which lets in ten a
// second, is not used. Whatever is refused ends the process.
#include "virtual-hosts.h"

#include <errno.h>
#include <stdio.h>

#include "feature-level.h"
#include "frame.h"
#include "stream.h"

enum {
        JOINS_AT_ONCE = 8, // the leader signs a certificate for each
        TOKEN_TTL_SEC = 3600,
        ID_TOKEN = 1,
        ID_JOIN = 2, // and those that follow: one for each member, in their order
};

static void ask(VirtualHosts *v, uint64_t id, Argosy__Request *q) {
        int r;

        q->id = id;
        r = stream_send(v->socket, &q->base);
        if (r < 0)
                virtual_hosts_fail("%s: %s", v->options.socket, strerror(-r));
}

static void ask_for_token(VirtualHosts *v) {
        Argosy__Request__ClusterToken token = ARGOSY__REQUEST__CLUSTER_TOKEN__INIT;
        Argosy__Request q = ARGOSY__REQUEST__INIT;

        token.ttl_sec = TOKEN_TTL_SEC;
        q.what_case = ARGOSY__REQUEST__WHAT_CLUSTER_TOKEN;
        q.cluster_token = &token;
        ask(v, ID_TOKEN, &q);
}

// Ids like those of a machine, the same for the same name.
static void invent_ids(const Member *m, uint8_t host_id[static 16], char machine_id[static 33]) {
        Hash hash = hash_of(m->name, strlen(m->name));

        memcpy(host_id, hash.bytes, 16);
        for (size_t i = 0; i < 16; i++)
                snprintf(machine_id + 2 * i, 3, "%02x", hash.bytes[16 + i]);
}

static void ask_to_join(Member *m) {
        VirtualHosts *v = m->all;
        static const uint8_t channel[JOIN_CHANNEL_SIZE] = "there is no connection but this";
        Argosy__JoinRequest join = ARGOSY__JOIN_REQUEST__INIT;
        Argosy__JoinBody body = ARGOSY__JOIN_BODY__INIT;
        Argosy__Request__Join passed_on = ARGOSY__REQUEST__JOIN__INIT;
        Argosy__Request q = ARGOSY__REQUEST__INIT;
        _cleanup_free_ uint8_t *bytes = NULL;
        _cleanup_buf_ Buf csr = {};
        Hash hash, proof;
        char machine_id[33];
        uint8_t host_id[16];
        int r = identity_request(m->name, &m->identity, &csr);

        if (r < 0)
                virtual_hosts_fail("%s: cannot make a key: %s", m->name, strerror(-r));
        invent_ids(m, host_id, machine_id);
        body.csr = (ProtobufCBinaryData){csr.len, csr.data};
        body.host_id = (ProtobufCBinaryData){sizeof(host_id), host_id};
        body.machine_id = machine_id;
        body.name = m->name;
        body.port = MEMBER_PORT;
        body.feature_level = FEATURE_LEVEL;
        body.user = v->options.user;
        body.labels = v->labels;
        body.n_labels = v->n_labels;
        join.token_id = v->token.id;
        join.body.len = argosy__join_body__get_packed_size(&body);
        join.body.data = bytes = malloc(join.body.len);
        if (!bytes)
                virtual_hosts_fail("%s: %s", m->name, strerror(ENOMEM));
        argosy__join_body__pack(&body, bytes);
        hash = join_secret_hash(&v->token);
        if (join_proof_make(&hash, JOIN_BY_HOST, channel, sizeof(channel), bytes, join.body.len, &proof) < 0)
                virtual_hosts_fail("%s: cannot prove that it knows the token", m->name);
        join.proof = (ProtobufCBinaryData){HASH_SIZE, proof.bytes};
        passed_on.channel = (ProtobufCBinaryData){sizeof(channel), (uint8_t *) channel};
        passed_on.join = &join;
        q.what_case = ARGOSY__REQUEST__WHAT_JOIN;
        q.join = &passed_on;
        ask(v, ID_JOIN + (uint64_t) (m - v->members), &q);
}

static void ask_for_more(VirtualHosts *v) {
        while (v->n_asked < v->n_members && v->n_asked - v->n_joined < JOINS_AT_ONCE)
                ask_to_join(&v->members[v->n_asked++]);
        if (v->n_joined == v->n_members)
                stream_close(v->socket, 0, false);
}

// ---- answers

static void on_token(VirtualHosts *v, const Argosy__Response *r) {
        const char *why;

        if (r->status != 0 || r->what_case != ARGOSY__RESPONSE__WHAT_TOKEN)
                virtual_hosts_fail("no token: %s", r->message);
        if (join_token_parse(r->token->token, &v->token, &why) < 0)
                virtual_hosts_fail("no token: %s", why);
        ask_for_more(v);
}

static void on_join(VirtualHosts *v, Argosy__Response *r) {
        size_t i = (size_t) (r->id - ID_JOIN);
        Argosy__JoinAnswer *answer;

        if (i >= v->n_asked || v->members[i].host)
                virtual_hosts_fail("an answer to nothing that was asked");
        if (r->status != 0 || r->what_case != ARGOSY__RESPONSE__WHAT_JOIN || *r->join->error)
                virtual_hosts_fail("%s cannot join: %s", v->members[i].name, r->message);
        v->n_joined++;
        answer = argosy__join_answer__unpack(NULL, r->join->answer.len, r->join->answer.data);
        if (!answer)
                virtual_hosts_fail("%s cannot read the answer", v->members[i].name);
        member_on_joined(&v->members[i], answer);
        ask_for_more(v);
}

static void on_opened(Stream *s, void *userdata) {
        ask_for_token(userdata);
}

static int on_frame(Stream *s, const uint8_t *payload, size_t len, void *userdata) {
        Argosy__Response *r = (Argosy__Response *) frame_unpack(&argosy__response__descriptor, payload, len);

        if (!r)
                return -EBADMSG;
        if (r->id == ID_TOKEN)
                on_token(userdata, r);
        else
                on_join(userdata, r);
        argosy__response__free_unpacked(r, NULL);
        return 0;
}

static void on_closed(Stream *s, int error, void *userdata) {
        VirtualHosts *v = userdata;

        v->socket = NULL;
        if (v->n_joined < v->n_members && !v->ending)
                virtual_hosts_fail("%s: %s", v->options.socket, strerror(error ? -error : ECONNRESET));
}

static const StreamOps socket_ops = {.opened = on_opened, .frame = on_frame, .closed = on_closed};

void virtual_hosts_join(VirtualHosts *v) {
        int r = stream_dial_unix(&v->loop, v->options.socket, &socket_ops, v, &v->socket);

        if (r < 0)
                virtual_hosts_fail("%s: %s", v->options.socket, strerror(-r));
        stream_set_frames(v->socket, FRAME_MAX_LOCAL);
}
