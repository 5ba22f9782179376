// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What becomes of a removal that a host hears of while it joins another cluster. The test brings the
// resolver, the connection to a member, the certificate, the agent and the disk.
#include "messages.h"
#include "test.h"

#include <errno.h>
#include <netdb.h>

#include "agent.h"
#include "daemon.h"
#include "hash.h"
#include "host-lookup.h"
#include "join-token.h"
#include "join.h"
#include "paths.h"
#include "peers.h"
#include "state-dir.h"
#include "stream.h"

#define CA "ca"

static struct World {
        Daemon d;
        Paths paths;
        Argosy__PeersFile peers;
        char *token;
        Hash secret_hash; // of the token
        const StreamOps *stream;
        int disk_error; // of a new member's files
        HostLookupDone *found;
        void *join;
        void (*cleared)(void *userdata);
        void *reset;
        unsigned n_resets, n_replaced, n_forgotten, n_answers;
        int status; // of the join's answer
} w;

int host_lookup_new(uv_loop_t *loop, const char *name, unsigned timeout_ms, HostLookupDone *done,
                    void *userdata, HostLookup **ret) {
        w.found = done;
        w.join = userdata;
        *ret = (HostLookup *) &w;
        return 0;
}

void host_lookup_cancel(HostLookup *l) {
}

void agent_clear(Agent *a, void (*done)(void *userdata), void *userdata) {
        w.n_resets++;
        w.cleared = done;
        w.reset = userdata;
}

PeersVerdict peers_verdict(const Daemon *d) {
        return PEERS_REMOVED;
}

int state_dir_replace(const char *dir, const Identity *identity, const Argosy__PeersFile *peers) {
        if (identity)
                return w.disk_error;
        w.n_replaced++;
        return 0;
}

// In the place of what join.c calls; the compiler compares them.
typeof(stream_dial) __wrap_stream_dial;
typeof(stream_set_frames) __wrap_stream_set_frames;
typeof(stream_set_deadline) __wrap_stream_set_deadline;
typeof(stream_channel) __wrap_stream_channel;
typeof(stream_local_address) __wrap_stream_local_address;
typeof(stream_send) __wrap_stream_send;
typeof(stream_close) __wrap_stream_close;
typeof(identity_install) __wrap_identity_install;

int __wrap_stream_dial(uv_loop_t *loop, const char *address, uint16_t port, TlsContext *tls,
                       const char *alpn, const Hash *expect_pin, const StreamOps *ops, void *userdata,
                       Stream **ret) {
        w.stream = ops;
        *ret = (Stream *) &w;
        return 0;
}

void __wrap_stream_set_frames(Stream *s, size_t max) {
}

void __wrap_stream_set_deadline(Stream *s, unsigned ms) {
}

int __wrap_stream_channel(const Stream *s, uint8_t ret[static STREAM_CHANNEL_SIZE]) {
        memset(ret, 1, STREAM_CHANNEL_SIZE);
        return 0;
}

bool __wrap_stream_local_address(const Stream *s, char ret[STREAM_ADDRESS_SIZE]) {
        return false;
}

int __wrap_stream_send(Stream *s, const ProtobufCMessage *message) {
        return 0;
}

void __wrap_stream_close(Stream *s, int error, bool flush) {
        assert_int_equal(error, 0);
}

int __wrap_identity_install(Identity *i, const void *cert, size_t cert_len, const void *ca_cert,
                            size_t ca_cert_len) {
        return 0;
}

OwnAddress address_find(const Daemon *d, const char *from) {
        return (OwnAddress){};
}

void daemon_fail(Daemon *d, const char *why) {
        fail_msg("%s", why);
}

static void on_identity_replaced(Daemon *d) {
        d->end = DAEMON_RESTART;
}

static void on_joined(const Argosy__Response *response, void *userdata) {
        w.n_answers++;
        w.status = response->status;
}

static void on_forgotten(const Argosy__Response *response, void *userdata) {
        assert_int_equal(response->status, 0);
        w.n_forgotten++;
}

FIXTURE(begin) {
        JoinToken token;

        memset(&w, 0, sizeof(w));
        argosy__peers_file__init(&w.peers);
        w.d.peers = &w.peers;
        w.d.paths = &w.paths;
        w.d.config.name = (char *) "n4";
        w.d.identity_replaced = on_identity_replaced;
        join_token_new(CA, strlen(CA), &token);
        w.secret_hash = join_secret_hash(&token);
        w.token = join_token_format(&token);
        assert_non_null(w.token);
}

static int end(void **state) {
        free(w.token);
        identity_done(&w.d.join_key.identity);
        buf_done(&w.d.join_key.csr);
        return 0;
}

static void begin_to_join(void) {
        Argosy__Request__ClusterJoin join =
                MESSAGE_OF(request__cluster_join, .address = (char *) "n1.example", .token = w.token);

        join_start(&w.d, &join, on_joined, &w);
        assert_non_null(w.found);
}

static void removed_meanwhile(void) {
        join_reset(&w.d, "removed while it was away", on_forgotten, &w.d);
        assert_int_equal(w.n_resets, 0);
}

static void it_is_forgotten(void) {
        assert_int_equal(w.n_resets, 1);
        w.cleared(w.reset);
        assert_int_equal(w.n_replaced, 1);
        assert_int_equal(w.n_forgotten, 1);
        assert_int_equal(w.d.end, DAEMON_RESTART);
        assert_null(w.d.joining);
}

static void reply(JoinProof kind, ProtobufCBinaryData answer) {
        Argosy__JoinReply r = ARGOSY__JOIN_REPLY__INIT;
        uint8_t channel[STREAM_CHANNEL_SIZE], bytes[512];
        Hash proof;

        memset(channel, 1, sizeof(channel));
        assert_int_equal(join_proof_make(&w.secret_hash, kind, channel, sizeof(channel), answer.data,
                                         answer.len, &proof),
                         0);
        r.answer = answer;
        r.proof = (ProtobufCBinaryData){HASH_SIZE, proof.bytes};
        assert_true(argosy__join_reply__get_packed_size(&r) <= sizeof(bytes));
        assert_int_equal(w.stream->frame((Stream *) &w, bytes, argosy__join_reply__pack(&r, bytes), w.join),
                         0);
}

// Up to the moment in which nothing of the former host runs any more.
static void is_taken_in(void) {
        Argosy__JoinAnswer answer = ARGOSY__JOIN_ANSWER__INIT;
        Argosy__Voter voter = ARGOSY__VOTER__INIT, *voters[] = {&voter};
        struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM}, *found;
        uint8_t cluster_id[16] = {1}, bytes[256];

        assert_int_equal(getaddrinfo("127.0.0.1", NULL, &hints, &found), 0);
        w.found(0, NULL, found, w.join);
        w.stream->opened((Stream *) &w, w.join);
        reply(JOIN_BY_MEMBER, (ProtobufCBinaryData){});
        answer.ca_cert = (ProtobufCBinaryData){strlen(CA), (uint8_t *) CA};
        answer.cert = (ProtobufCBinaryData){1, (uint8_t *) "c"};
        answer.host = 4;
        answer.cluster_id = (ProtobufCBinaryData){sizeof(cluster_id), cluster_id};
        answer.n_voters = 1;
        answer.voters = voters;
        reply(JOIN_ANSWER, (ProtobufCBinaryData){argosy__join_answer__pack(&answer, bytes), bytes});
        w.stream->closed((Stream *) &w, 0, w.join);
        assert_int_equal(w.n_resets, 1);
        w.n_resets = 0;
}

static void likewise_when_the_new_identity_cannot_be_written(void **state) {
        begin_to_join();
        removed_meanwhile();
        is_taken_in();
        w.disk_error = -EIO;
        w.cleared(w.reset);
        assert_int_equal(w.n_answers, 1);
        assert_int_equal(w.status, EIO);
        assert_int_equal(w.d.end, DAEMON_RUNNING); // until that is done
        it_is_forgotten();
}

static void who_was_not_removed_begins_anew_as_who_it_was(void **state) {
        begin_to_join();
        is_taken_in();
        w.disk_error = -EIO;
        w.cleared(w.reset);
        assert_int_equal(w.status, EIO);
        assert_int_equal(w.n_resets, 0);
        assert_int_equal(w.n_replaced, 0);
        assert_int_equal(w.d.end, DAEMON_RESTART);
}

static void who_was_removed_while_he_joined_in_vain_forgets_the_cluster(void **state) {
        begin_to_join();
        removed_meanwhile();
        removed_meanwhile(); // by another way
        w.found(-EADDRNOTAVAIL, "no such host", NULL, w.join);
        assert_int_equal(w.n_answers, 1);
        assert_int_equal(w.status, EADDRNOTAVAIL);
        it_is_forgotten();
}

static void likewise_when_nobody_waits_for_the_join_any_more(void **state) {
        begin_to_join();
        removed_meanwhile();
        join_abandon(&w.d, &w);
        assert_int_equal(w.n_answers, 0);
        it_is_forgotten();
}

static void a_join_in_vain_alone_forgets_nothing(void **state) {
        begin_to_join();
        w.found(-EADDRNOTAVAIL, "no such host", NULL, w.join);
        assert_int_equal(w.n_resets, 0);
        assert_null(w.d.joining);
}

// The agent is closed in that turn, and voters say so again when argosyd is back.
static void who_ends_meanwhile_begins_nothing(void **state) {
        begin_to_join();
        removed_meanwhile();
        w.d.end = DAEMON_EXIT;
        join_close(&w.d);
        assert_int_equal(w.n_resets, 0);
        assert_null(w.d.joining);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)

RUN_TESTS(
        CASE(who_was_removed_while_he_joined_in_vain_forgets_the_cluster),
        CASE(likewise_when_nobody_waits_for_the_join_any_more),
        CASE(likewise_when_the_new_identity_cannot_be_written),
        CASE(who_was_not_removed_begins_anew_as_who_it_was),
        CASE(a_join_in_vain_alone_forgets_nothing),
        CASE(who_ends_meanwhile_begins_nothing)
)
