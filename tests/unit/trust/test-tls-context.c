// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Two sessions in one process, each pushing into the other's buffer: who is let in, and why not.
#include "members.h"

#include "buf.h"
#include "x509.h"

typedef struct Side {
        TlsSession *session;
        gnutls_session_t gnutls; // of the session, or of somebody who is not us
        Buf in;
        struct Side *peer;
        TlsPeer saw;
        const char *why;
} Side;

static Side client, server;

static ssize_t on_push(gnutls_transport_ptr_t ptr, const void *data, size_t len) {
        Side *s = ptr;

        return buf_append(&s->peer->in, data, len) < 0 ? -1 : (ssize_t) len;
}

static ssize_t on_pull(gnutls_transport_ptr_t ptr, void *data, size_t size) {
        Side *s = ptr;
        size_t n = MIN_OF(size, s->in.len);

        if (n == 0) {
                gnutls_transport_set_errno(s->gnutls, EAGAIN);
                return -1;
        }
        memcpy(data, s->in.data, n);
        buf_consume(&s->in, n);
        return (ssize_t) n;
}

static int on_pull_timeout(gnutls_transport_ptr_t ptr, unsigned ms) {
        return ((Side *) ptr)->in.len > 0;
}

static void wire(Side *s, Side *peer) {
        if (s->session)
                s->gnutls = tls_session_gnutls(s->session);
        s->peer = peer;
        gnutls_transport_set_ptr(s->gnutls, s);
        gnutls_transport_set_push_function(s->gnutls, on_push);
        gnutls_transport_set_pull_function(s->gnutls, on_pull);
        gnutls_transport_set_pull_timeout_function(s->gnutls, on_pull_timeout);
}

static void begin(TlsContext *client_context, TlsContext *server_context, const char *alpn) {
        assert_int_equal(tls_session_new(client_context, false, alpn, &client.session), 0);
        assert_int_equal(tls_session_new(server_context, true, NULL, &server.session), 0);
        wire(&client, &server);
        wire(&server, &client);
}

// A client that is not ours: these priorities, and this protocol or none.
static gnutls_certificate_credentials_t stranger;
static void begin_stranger(const char *priorities, const char *alpn) {
        assert_int_equal(gnutls_certificate_allocate_credentials(&stranger), 0);
        assert_int_equal(gnutls_init(&client.gnutls, GNUTLS_CLIENT | GNUTLS_NONBLOCK), 0);
        assert_int_equal(gnutls_priority_set_direct(client.gnutls, priorities, NULL), 0);
        assert_int_equal(gnutls_credentials_set(client.gnutls, GNUTLS_CRD_CERTIFICATE, stranger), 0);
        if (alpn)
                gnutls_alpn_set_protocols(client.gnutls,
                                          &(gnutls_datum_t){(unsigned char *) alpn, (unsigned) strlen(alpn)},
                                          1, 0);
        assert_int_equal(tls_session_new(member_tls[0], true, NULL, &server.session), 0);
        wire(&client, &server);
        wire(&server, &client);
}

// 0, or the error of the side that failed first.
static int shake(void) {
        int c = GNUTLS_E_AGAIN, s = GNUTLS_E_AGAIN;

        for (int i = 0; i < 10 && (c == GNUTLS_E_AGAIN || s == GNUTLS_E_AGAIN); i++) {
                if (c == GNUTLS_E_AGAIN)
                        c = gnutls_handshake(client.gnutls);
                if (s == GNUTLS_E_AGAIN)
                        s = gnutls_handshake(server.gnutls);
                if (s < 0 && s != GNUTLS_E_AGAIN)
                        return s;
                if (c < 0 && c != GNUTLS_E_AGAIN)
                        return c;
        }
        return c < 0 ? c : s;
}

static int judge(Side *s, const Hash *expect) {
        return tls_session_judge(s->session, expect, &s->saw, &s->why);
}

FIXTURE(setup) {
        for (size_t i = 0; i < MEMBERS_MAX; i++)
                member_trusted[i] = true;
        members_judged = 0;
        client = server = (Side){};
}

FIXTURE(teardown) {
        if (!client.session && client.gnutls)
                gnutls_deinit(client.gnutls);
        tls_session_free(client.session);
        tls_session_free(server.session);
        if (stranger)
                gnutls_certificate_free_credentials(stranger);
        stranger = NULL;
        buf_done(&client.in);
        buf_done(&server.in);
}

static void members_see_each_others_pins(void **state) {
        begin(member_tls[1], member_tls[2], ALPN_RAFT);
        assert_int_equal(shake(), 0);
        assert_int_equal(gnutls_protocol_get_version(client.gnutls), GNUTLS_TLS1_3);
        assert_int_equal(judge(&client, &member[2].pin), 0);
        assert_int_equal(members_judged, 0); // the dialler knew whom to expect
        assert_int_equal(judge(&server, NULL), 0);
        assert_int_equal(members_judged, 1);
        assert_memory_equal(&client.saw.pin, &member[2].pin, sizeof(Hash));
        assert_memory_equal(&server.saw.pin, &member[1].pin, sizeof(Hash));
        assert_string_equal(server.saw.alpn, ALPN_RAFT);
        assert_false(server.saw.expired);
}

static void the_judge_decides_without_an_expected_pin(void **state) {
        begin(member_tls[1], member_tls[2], ALPN_MESH);
        assert_int_equal(shake(), 0);
        member_trusted[1] = member_trusted[2] = false;
        assert_int_equal(judge(&client, NULL), -EACCES);
        assert_int_equal(judge(&server, NULL), -EACCES);
        assert_string_equal(server.why, "has a key that is not known as a member's");
        assert_int_equal(judge(&client, &member[3].pin), -EACCES);
        assert_string_equal(client.why, "has another key than the one known for it");
}

// Our CA signing somebody is not enough: only the key counts.
static void a_certificate_of_our_ca_alone_opens_nothing(void **state) {
        begin(member_tls[3], member_tls[0], ALPN_MESH);
        member_trusted[3] = false; // removed from the cluster, its certificate still good
        assert_int_equal(shake(), 0);
        assert_int_equal(judge(&server, NULL), -EACCES);
}

static void make_expired(Identity *i) {
        _cleanup_(gnutls_x509_privkey_deinitp) gnutls_x509_privkey_t ca_key = NULL, key = NULL;
        _cleanup_(gnutls_x509_crt_deinitp) gnutls_x509_crt_t ca = NULL;
        _cleanup_(gnutls_pubkey_deinitp) gnutls_pubkey_t pubkey = NULL;
        _cleanup_buf_ Buf csr = {}, cert = {};

        assert_int_equal(identity_request("late", i, &csr), 0);
        assert_int_equal(x509_key_read(i->key.data, i->key.len, &key), 0);
        assert_int_equal(x509_key_public(key, &pubkey), 0);
        assert_int_equal(x509_cert_read(member[0].ca_cert.data, member[0].ca_cert.len, &ca), 0);
        assert_int_equal(x509_key_read(member_ca.key.data, member_ca.key.len, &ca_key), 0);
        assert_int_equal(
                x509_cert_sign(&(X509Template){.common_name = "late", .days = 0}, pubkey, ca, ca_key, &cert),
                0);
        assert_int_equal(
                identity_install(i, cert.data, cert.len, member[0].ca_cert.data, member[0].ca_cert.len), 0);
        assert_true(identity_days_left(i, (uint64_t) INT32_MAX * 1000000) < 0);
}

static void an_expired_certificate_of_a_pinned_key_is_welcome(void **state) {
        _cleanup_(identity_done) Identity late = {};
        _cleanup_(tls_context_unrefp) TlsContext *context = NULL;

        make_expired(&late);
        assert_int_equal(tls_context_new(&late, members_judge, NULL, &context), 0);
        begin(context, member_tls[0], ALPN_MESH);
        assert_int_equal(shake(), 0);
        member[MEMBERS_MAX - 1].pin = late.pin; // the log's word
        assert_int_equal(judge(&server, NULL), 0);
        assert_true(server.saw.expired);
        assert_int_equal(judge(&client, &member[0].pin), 0);
        assert_false(client.saw.expired);
}

static void a_renewed_certificate_counts_for_new_sessions(void **state) {
        _cleanup_(identity_done) Identity late = {}, broken = {};
        _cleanup_(tls_context_unrefp) TlsContext *context = NULL;
        _cleanup_buf_ Buf csr = {}, cert = {};

        make_expired(&late);
        assert_int_equal(tls_context_new(&late, members_judge, NULL, &context), 0);
        begin(context, member_tls[0], ALPN_MESH); // still with the old one
        assert_int_equal(identity_renew(&late, "late", &csr), 0);
        assert_int_equal(ca_sign(&member_ca, csr.data, csr.len, "late", &cert, NULL), 0);
        assert_int_equal(identity_install(&late, cert.data, cert.len, NULL, 0), 0);
        assert_int_equal(tls_context_set_identity(context, &late), 0);
        assert_int_equal(tls_context_set_identity(context, &broken), -EBADMSG); // changes nothing
        assert_int_equal(shake(), 0);
        assert_int_equal(judge(&server, &late.pin), 0);
        assert_true(server.saw.expired);
        teardown(NULL);

        client = server = (Side){};
        begin(context, member_tls[0], ALPN_MESH);
        assert_int_equal(shake(), 0);
        assert_int_equal(judge(&server, &late.pin), 0);
        assert_false(server.saw.expired);
}

static void assert_outdated(bool outdated, const char *alpn, int verdict) {
        begin(member_tls[1], member_tls[0], alpn);
        assert_int_equal(shake(), 0);
        assert_int_equal(judge(&server, NULL), verdict);
        if (verdict == 0)
                assert_int_equal(server.saw.outdated, outdated);
        teardown(NULL);
        client = server = (Side){};
}

// Its key is a member's: it may get another one, and that is the mesh's business. The log's connections are
// for who has a good one.
static void a_certificate_of_a_ca_that_is_not_ours_is_seen(void **state) {
        _cleanup_(ca_done) Ca other = {};
        Buf cas[TLS_CAS_MAX + 1] = {};

        assert_int_equal(ca_create(&other), 0);
        assert_outdated(false, ALPN_MESH, 0); // whoever it is of
        cas[0] = other.cert;
        assert_int_equal(tls_context_set_cas(member_tls[0], cas, 1), 0);
        assert_outdated(true, ALPN_MESH, 0);
        assert_outdated(true, ALPN_RAFT, -EACCES);
        cas[1] = member_ca.cert;
        assert_int_equal(tls_context_set_cas(member_tls[0], cas, 2), 0);
        assert_outdated(false, ALPN_MESH, 0);
        assert_outdated(false, ALPN_RAFT, 0);
        assert_int_equal(tls_context_set_cas(member_tls[0], cas, TLS_CAS_MAX + 1), -E2BIG);
        cas[1] = (Buf){.data = (uint8_t *) "rubbish", .len = 7};
        assert_int_equal(tls_context_set_cas(member_tls[0], cas, 2), -EBADMSG); // changes nothing
        assert_outdated(false, ALPN_MESH, 0);
        assert_int_equal(tls_context_set_cas(member_tls[0], NULL, 0), 0);
}

static TlsVerdict judge_as_guest(const Hash *pin, const char *alpn, void *userdata) {
        return TLS_GUEST;
}

static int let_in_by(TlsContext *context, TlsContext *guest) {
        begin(guest, context, ALPN_MESH);
        assert_int_equal(shake(), 0);
        int r = judge(&server, NULL);
        client.session = tls_session_free(client.session);
        server.session = tls_session_free(server.session);
        buf_done(&client.in);
        buf_done(&server.in);
        client = server = (Side){};
        return r;
}

static void a_guest_has_a_certificate_of_our_own_ca(void **state) {
        _cleanup_(tls_context_unrefp) TlsContext *context = NULL, *foreign = NULL, *bare = NULL;
        Identity of_another = {}, without = member[0];
        _cleanup_(ca_done) Ca other = {};

        assert_int_equal(ca_create(&other), 0);
        assert_int_equal(identity_create("stranger", &other, &of_another), 0);
        assert_int_equal(tls_context_new(&of_another, members_judge, NULL, &foreign), 0);
        assert_int_equal(tls_context_new(&member[0], judge_as_guest, NULL, &context), 0);
        without.ca_cert = (Buf){};
        assert_int_equal(tls_context_new(&without, judge_as_guest, NULL, &bare), 0);
        assert_int_equal(let_in_by(context, member_tls[1]), 0);
        assert_int_equal(let_in_by(context, foreign), -EACCES);
        assert_int_equal(let_in_by(bare, member_tls[1]), -EACCES);
        identity_done(&of_another);
}

static void a_session_outlives_its_context(void **state) {
        _cleanup_(tls_context_unrefp) TlsContext *context = NULL;

        assert_int_equal(tls_context_new(&member[1], members_judge, NULL, &context), 0);
        begin(context, member_tls[0], ALPN_MESH);
        context = tls_context_unref(context);
        assert_int_equal(shake(), 0);
        assert_int_equal(judge(&client, NULL), 0);
}

// ---- joining

static void a_joiner_knows_the_cluster_by_its_ca(void **state) {
        _cleanup_(tls_context_unrefp) TlsContext *joiner = NULL;
        Hash ca = hash_of(member[0].ca_cert.data, member[0].ca_cert.len);

        assert_int_equal(tls_context_new_joiner(&ca, &joiner), 0);
        begin(joiner, member_tls[2], ALPN_JOIN); // any member will do
        assert_int_equal(shake(), 0);
        assert_int_equal(judge(&client, NULL), 0);
        assert_int_equal(judge(&server, NULL), 0);
        assert_true(hash_is_zero(&server.saw.pin));
        assert_int_equal(members_judged, 0);
}

static void nobody_without_certificate_gets_in_otherwise(void **state) {
        static const char *const others[] = {ALPN_MESH, ALPN_RAFT};
        _cleanup_(tls_context_unrefp) TlsContext *joiner = NULL;
        Hash ca = hash_of(member[0].ca_cert.data, member[0].ca_cert.len);

        assert_int_equal(tls_context_new_joiner(&ca, &joiner), 0);
        for (size_t i = 0; i < ELEMENTSOF(others); i++) {
                begin(joiner, member_tls[0], others[i]);
                assert_int_equal(shake(), 0);
                assert_int_equal(judge(&server, NULL), -EACCES);
                assert_string_equal(server.why, "shows no certificate");
                teardown(NULL);
                client = server = (Side){};
        }
}

// Somebody in the middle shows the cluster's CA certificate, which is no secret, and before it one that says
// to be signed by it.
static void a_forged_certificate_before_the_right_ca_is_seen_through(void **state) {
        _cleanup_(gnutls_x509_privkey_deinitp) gnutls_x509_privkey_t key = NULL;
        _cleanup_(gnutls_x509_crt_deinitp) gnutls_x509_crt_t ca = NULL;
        _cleanup_(gnutls_pubkey_deinitp) gnutls_pubkey_t pubkey = NULL;
        _cleanup_(identity_done) Identity imposter = {};
        _cleanup_(tls_context_unrefp) TlsContext *joiner = NULL, *server_context = NULL;
        _cleanup_buf_ Buf csr = {};
        Hash ca_hash = hash_of(member[0].ca_cert.data, member[0].ca_cert.len);

        assert_int_equal(identity_request("imposter", &imposter, &csr), 0);
        assert_int_equal(buf_append(&imposter.ca_cert, member[0].ca_cert.data, member[0].ca_cert.len), 0);
        assert_int_equal(x509_cert_read(imposter.ca_cert.data, imposter.ca_cert.len, &ca), 0);
        assert_int_equal(x509_key_read(imposter.key.data, imposter.key.len, &key), 0);
        assert_int_equal(x509_key_public(key, &pubkey), 0);
        assert_int_equal(
                x509_cert_sign(&(X509Template){"imposter", false, 9}, pubkey, ca, key, &imposter.cert), 0);
        assert_int_equal(tls_context_new(&imposter, members_judge, NULL, &server_context), 0);
        assert_int_equal(tls_context_new_joiner(&ca_hash, &joiner), 0);
        begin(joiner, server_context, ALPN_JOIN);
        assert_int_equal(shake(), 0);
        assert_int_equal(judge(&client, NULL), -EACCES);
        assert_string_equal(client.why, "shows a certificate that the CA of the join token did not sign");
}

// ---- what is not spoken

static void a_joiner_cannot_serve(void **state) {
        _cleanup_(tls_context_unrefp) TlsContext *joiner = NULL;
        TlsSession *s;

        assert_int_equal(tls_context_new_joiner(&(Hash){}, &joiner), 0);
        assert_int_equal(tls_session_new(joiner, true, NULL, &s), -EINVAL);
        assert_int_equal(tls_session_new(member_tls[0], true, ALPN_MESH, &s), -EINVAL);
        assert_int_equal(tls_session_new(member_tls[0], false, NULL, &s), -EINVAL);
        assert_int_equal(tls_session_new(member_tls[0], false, "http/1.1", &s), -EINVAL);
}

static void a_client_without_our_protocols_is_refused(void **state) {
        begin_stranger("NORMAL", "http/1.1");
        assert_int_equal(shake(), GNUTLS_E_NO_APPLICATION_PROTOCOL);
}

static void a_client_that_names_no_protocol_is_refused(void **state) {
        begin_stranger("NORMAL", NULL);
        assert_int_equal(shake(), 0); // GnuTLS insists only where the client offers something
        assert_int_equal(judge(&server, NULL), -EACCES);
        assert_string_equal(server.why, "speaks none of our protocols");
}

static void tls_1_2_is_refused(void **state) {
        begin_stranger("NORMAL:-VERS-ALL:+VERS-TLS1.2", ALPN_JOIN);
        assert_true(shake() < 0);
        teardown(NULL);
        client = server = (Side){};
        begin_stranger("NORMAL", ALPN_JOIN);
        assert_int_equal(shake(), 0);
}

static void no_ticket_is_given_for_resuming(void **state) {
        uint8_t byte;

        begin(member_tls[1], member_tls[0], ALPN_MESH);
        assert_int_equal(shake(), 0);
        assert_int_equal(server.in.len, 0);
        assert_int_equal(client.in.len, 0); // a ticket would be waiting here
        assert_int_equal(gnutls_record_recv(client.gnutls, &byte, 1), GNUTLS_E_AGAIN);
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define SIDES_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
                SIDES_TEST(members_see_each_others_pins),
                SIDES_TEST(the_judge_decides_without_an_expected_pin),
                SIDES_TEST(a_certificate_of_our_ca_alone_opens_nothing),
                SIDES_TEST(a_renewed_certificate_counts_for_new_sessions),
                SIDES_TEST(a_certificate_of_a_ca_that_is_not_ours_is_seen),
                SIDES_TEST(a_guest_has_a_certificate_of_our_own_ca),
                SIDES_TEST(a_session_outlives_its_context),
                SIDES_TEST(a_joiner_knows_the_cluster_by_its_ca),
                SIDES_TEST(nobody_without_certificate_gets_in_otherwise),
                SIDES_TEST(a_forged_certificate_before_the_right_ca_is_seen_through),
                SIDES_TEST(a_joiner_cannot_serve),
                SIDES_TEST(a_client_without_our_protocols_is_refused),
                SIDES_TEST(a_client_that_names_no_protocol_is_refused),
                SIDES_TEST(tls_1_2_is_refused),
                SIDES_TEST(no_ticket_is_given_for_resuming),
                SIDES_TEST(an_expired_certificate_of_a_pinned_key_is_welcome),
        };

        return cmocka_run_group_tests(tests, members_setup, members_teardown);
}
