// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Several hosts on one loop, with real TLS between them. What happens to a host is written into its story, a
// line of words that the tests compare. Shared by the tests of its facets.

#include "loop.h"
#include "members.h"

#include "buf.h"
#include "feature-level.h"
#include "frame.h"
#include "localhost.h"
#include "mesh-private.h"
#include "messages.h"
#include "str.h"
#include "stream.h"

typedef struct Host {
        uint32_t number; // 1 ...
        Mesh *mesh;
        Listener *listener;
        char story[4096];
        unsigned n_reported;  // voters_announced()
        uint32_t named;       // a bit of each host: voters_named()
        uint32_t announced[8]; // the last list
        size_t n_voters_announced;
        char failed[256]; // last link_failed()
        unsigned n_failed;
        unsigned n_drained;
        uint32_t drained;                   // the last host_drained()
        unsigned n_leader_drained;
        bool reply_to_attach;               // as a leader would
        bool follow_announced;              // takes over the voters that it is told
        bool does_not_renew;                // it asks nobody for a certificate
        bool give_up;                       // leaves all voters when a link fails
        bool guides;                        // keeps no log
        uint32_t raft_ids[MEMBERS_MAX + 1]; // by host, as its last Hello said
        uint32_t levels[MEMBERS_MAX + 1];   // likewise
        uint32_t feature_level;             // 0: of this build
} Host;

static Host host[MEMBERS_MAX];
static Ca next_ca; // empty: there is none
static const uint8_t cluster_id[16] = "the cluster's id";

static void record(Host *h, const char *format, ...) __attribute__((format(printf, 2, 3)));
static inline void record(Host *h, const char *format, ...) {
        size_t len = strlen(h->story);
        va_list ap;

        va_start(ap, format);
        vsnprintf(h->story + len, sizeof(h->story) - len, format, ap);
        va_end(ap);
}

static inline void on_leader_changed(uint32_t leader, uint64_t term, void *userdata) {
        record(userdata, "leader=%u@%u ", leader, (unsigned) term);
}

static inline void on_to_host(const Argosy__ToHost *m, void *userdata) {
        if (m->msg_case == ARGOSY__TO_HOST__MSG_WELCOME)
                record(userdata, "welcome(%u) ", (unsigned) m->welcome->seq);
        else if (m->msg_case == ARGOSY__TO_HOST__MSG_BEAT_ACK)
                record(userdata, "ack(%u) ", (unsigned) m->beat_ack->seq);
        else if (m->msg_case == ARGOSY__TO_HOST__MSG_REMOVED)
                record(userdata, "removed(%s) ", m->removed->why);
}

static inline int send_welcome(Host *h, uint32_t to, uint64_t seq) {
        Argosy__ToHost__Welcome welcome = MESSAGE_OF(to_host__welcome, .seq = seq);
        Argosy__ToHost message =
                MESSAGE_OF(to_host, .msg_case = ARGOSY__TO_HOST__MSG_WELCOME, .welcome = &welcome);

        return mesh_to_host(h->mesh, to, &message);
}

static inline int send_ack(Host *h, uint32_t to, uint64_t seq) {
        Argosy__ToHost__BeatAck ack = MESSAGE_OF(to_host__beat_ack, .seq = seq);
        Argosy__ToHost message =
                MESSAGE_OF(to_host, .msg_case = ARGOSY__TO_HOST__MSG_BEAT_ACK, .beat_ack = &ack);

        return mesh_to_host(h->mesh, to, &message);
}

static inline void on_to_leader(uint32_t from, Argosy__ToVoter *m, void *userdata) {
        Host *h = userdata;

        if (m->msg_case == ARGOSY__TO_VOTER__MSG_ATTACH) {
                record(h, "%u:attach(%u) ", from, (unsigned) m->attach->seq);
                if (h->reply_to_attach)
                        assert_int_equal(send_welcome(h, from, m->attach->seq), 0);
        } else if (m->msg_case == ARGOSY__TO_VOTER__MSG_BEAT)
                record(h, "%u:beat(%u) ", from, (unsigned) m->beat->seq);
}

static inline void on_host_link(uint32_t from, const Argosy__ToVoter__Hello *hello, void *userdata) {
        record(userdata, "%u:%s ", from, hello ? "up" : "down");
        if (hello) {
                assert_int_equal(hello->host, from);
                ((Host *) userdata)->raft_ids[from] = hello->raft_id;
                ((Host *) userdata)->levels[from] = hello->feature_level;
        }
}

static int point_at(Host *h, const uint32_t *numbers, size_t n);

static inline void on_voters_announced(Argosy__Voter *const *voters, size_t n, void *userdata) {
        Host *h = userdata;

        h->n_reported++;
        h->n_voters_announced = n;
        for (size_t i = 0; i < n && i < 8; i++)
                h->announced[i] = voters[i]->host;
        if (h->follow_announced)
                point_at(h, h->announced, n);
}

static inline void on_voters_named(Argosy__Voter *const *voters, size_t n, void *userdata) {
        Host *h = userdata;

        for (size_t i = 0; i < n; i++)
                h->named |= 1U << voters[i]->host;
}

static inline void on_link_failed(uint32_t to, const char *why, void *userdata) {
        Host *h = userdata;

        h->n_failed++;
        snprintf(h->failed, sizeof(h->failed), "%u: %s", to, why);
        if (h->give_up)
                assert_int_equal(mesh_set_voters(h->mesh, NULL, 0), 0);
}

static inline void on_host_drained(uint32_t to, void *userdata) {
        Host *h = userdata;

        h->n_drained++;
        h->drained = to;
}

static inline void on_leader_drained(void *userdata) {
        ((Host *) userdata)->n_leader_drained++;
}

static inline void on_removed(void *userdata) {
        record(userdata, "removed ");
}

// By the second CA of the tests, if there is one.
static inline int on_sign(uint32_t from, const Argosy__ToVoter__Renew *renew, Buf *ret_cert,
                          Buf *ret_ca_cert, void *userdata) {
        record(userdata, "%u:renew ", from);
        if (next_ca.key.len == 0)
                return -ENOKEY;
        assert_int_equal(ca_sign(&next_ca, renew->csr.data, renew->csr.len, "member", ret_cert, NULL), 0);
        return buf_append(ret_ca_cert, next_ca.cert.data, next_ca.cert.len);
}

static inline int on_renew_request(Buf *ret_csr, void *userdata) {
        const Host *h = userdata;

        return h->does_not_renew ? -EBUSY : identity_renew(&member[h->number - 1], "member", ret_csr);
}

static inline void on_renewed(const Argosy__ToHost__Renewed *m, void *userdata) {
        const Host *h = userdata;
        Identity *i = &member[h->number - 1];

        record(userdata, "renewed ");
        assert_int_equal(identity_install(i, m->cert.data, m->cert.len, m->ca_cert.data, m->ca_cert.len), 0);
        assert_int_equal(tls_context_set_identity(member_tls[h->number - 1], i), 0);
}

static const MeshOps ops = {.leader_changed = on_leader_changed,
                            .to_host = on_to_host,
                            .to_leader = on_to_leader,
                            .host_link = on_host_link,
                            .voters_announced = on_voters_announced,
                            .voters_named = on_voters_named,
                            .host_drained = on_host_drained,
                            .leader_drained = on_leader_drained,
                            .link_failed = on_link_failed,
                            .removed = on_removed,
                            .sign = on_sign,
                            .renew_request = on_renew_request,
                            .renewed = on_renewed};

static inline void on_accepted(Listener *l, Stream *s, void *userdata) {
        Host *h = userdata;

        if (h->guides) {
                mesh_guide(h->mesh, s);
                return;
        }
        for (size_t i = 0; i < MEMBERS_MAX; i++)
                if (hash_equal(&stream_peer(s)->pin, &member[i].pin) && h->mesh)
                        mesh_accept(h->mesh, s, (uint32_t) i + 1);
}

static inline void on_listener_closed(Listener *l, void *userdata) {
        ((Host *) userdata)->listener = NULL;
}

static const ListenerOps listener_ops = {.accepted = on_accepted, .closed = on_listener_closed};

static inline void start_as(uint32_t number, uint16_t port, uint64_t generation, const uint8_t *cluster) {
        Host *h = &host[number - 1];
        MeshConfig config = {
                .loop = &test_loop,
                .self = number,
                .tls = member_tls[number - 1],
                .cluster_id = cluster,
                .generation = generation,
                .redial_min_ms = 2,
                .redial_max_ms = 16,
                .feature_level = h->feature_level,
        };

        h->number = number;
        assert_int_equal(mesh_new(&config, &ops, h, &h->mesh), 0);
        assert_int_equal(
                listener_new_tcp(&test_loop, port, member_tls[number - 1], &listener_ops, h, &h->listener),
                0);
}

static inline void start(uint32_t number) {
        start_as(number, 0, 1, cluster_id);
}

static inline void start_first(uint32_t n) {
        for (uint32_t number = 1; number <= n; number++)
                start(number);
}

static inline void on_mesh_closed(void *userdata) {
        ((Host *) userdata)->mesh = NULL;
}

static inline void stop(uint32_t number) {
        Host *h = &host[number - 1];

        if (h->listener)
                listener_close(h->listener);
        if (h->mesh)
                mesh_close(h->mesh, on_mesh_closed, h);
        loop_until(!h->listener && !h->mesh);
}

static inline int point_at(Host *h, const uint32_t *numbers, size_t n) {
        MeshPeer peers[MEMBERS_MAX] = {};

        for (size_t i = 0; i < n; i++) {
                Host *to = &host[numbers[i] - 1];

                peers[i] = (MeshPeer){.host = numbers[i],
                                      .address = "127.0.0.1",
                                      .pin = member[numbers[i] - 1].pin,
                                      .raft_id = numbers[i]};
                peers[i].port = to->listener ? listener_port(to->listener) : 9; // discard: nobody listens
        }
        return mesh_set_voters(h->mesh, peers, n);
}

#define VOTERS(h, ...)                                                                         \
        assert_int_equal(point_at(&host[(h) -1], (const uint32_t[]){__VA_ARGS__},              \
                                  sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)), \
                         0)

static inline void lead(uint32_t number, uint64_t term) {
        mesh_set_leading(host[number - 1].mesh, true, term, number);
}

static inline void follow(uint32_t number, uint64_t term, uint32_t leader) {
        mesh_set_leading(host[number - 1].mesh, false, term, leader);
}

static inline int attach(uint32_t number, uint64_t seq) {
        Argosy__ToVoter__Attach attach = ATTACH_OF(.seq = seq);
        Argosy__ToVoter message =
                MESSAGE_OF(to_voter, .msg_case = ARGOSY__TO_VOTER__MSG_ATTACH, .attach = &attach);

        return mesh_to_leader(host[number - 1].mesh, &message);
}

static inline bool story_is(uint32_t number, const char *story) {
        return strcmp(host[number - 1].story, story) == 0;
}

static inline bool story_has(uint32_t number, const char *words) {
        return strstr(host[number - 1].story, words) != NULL;
}

static inline void new_story(uint32_t number) {
        *host[number - 1].story = 0;
}

static inline int setup(void **state) {
        memset(host, 0, sizeof(host));
        for (size_t i = 0; i < MEMBERS_MAX; i++) {
                member_trusted[i] = true;
                member_removed[i] = false;
        }
        return loop_setup(state);
}

static inline int teardown(void **state) {
        for (uint32_t i = 1; i <= MEMBERS_MAX; i++)
                stop(i);
        return loop_teardown(state);
}
