// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Joining, tokens, removing and roles, with real keys.
#include "batch.h"
#include "clock.h"
#include "feature-level.h"
#include "host-record.h"
#include "identity.h"
#include "join-token.h"
#include "leader-asks.h"
#include "leader-private.h"
#include "member-words.h"
#include "message.h"
#include "messages.h"
#include "str.h"
#include "test.h"
#include "voter-secrets.h"

static Identity joiner;
static Buf csr;
static Argosy__JoinBody ask;
static Argosy__JoinAnswer *answer; // that join_with() was given last
static uint8_t channel[JOIN_CHANNEL_SIZE] = "the connection";

static int setup(void **state) {
        static const uint8_t host_id[16] = "another machine";

        if (begin_with_ca() < 0 || identity_request("n4", &joiner, &csr) < 0)
                return -1;
        argosy__join_body__init(&ask);
        ask.csr = (ProtobufCBinaryData){.data = csr.data, .len = csr.len};
        ask.host_id = (ProtobufCBinaryData){.data = (uint8_t *) host_id, .len = sizeof(host_id)};
        ask.machine_id = "00112233445566778899aabbccddeeff";
        ask.name = "n4";
        ask.port = 7070;
        ask.feature_level = FEATURE_LEVEL;
        return 0;
}

FIXTURE(teardown) {
        end_with_ca();
        message_free(answer);
        answer = NULL;
        identity_done(&joiner);
        buf_done(&csr);
}

static void token_as(Argosy__Request__ClusterToken *m, JoinToken *ret) {
        const char *why;
        RigAnswer *a = rig_ask_and_settle(&g, A_REQUEST(CLUSTER_TOKEN, cluster_token, m));

        assert_true(a->final);
        assert_int_equal(a->responses[0]->status, 0);
        assert_int_equal(join_token_parse(a->responses[0]->token->token, ret, &why), 0);
}

static void new_token(uint32_t ttl_sec, JoinToken *ret) {
        Argosy__Request__ClusterToken m = CLUSTER_TOKEN_OF(.ttl_sec = ttl_sec);

        token_as(&m, ret);
}

static const Argosy__Response *ask_leader(Argosy__JoinRequest *join) {
        Argosy__Request__Join m =
                MESSAGE_OF(request__join, .join = join, .peer_address = "192.0.2.44",
                           .channel = (ProtobufCBinaryData){.data = channel, .len = sizeof(channel)});
        RigAnswer *a = rig_ask_and_settle(&g, A_REQUEST(JOIN, join, &m));

        assert_true(a->final);
        assert_int_equal(a->responses[0]->what_case, ARGOSY__RESPONSE__WHAT_JOIN);
        return a->responses[0];
}

static const Argosy__Response *join_with(const JoinToken *token) {
        Hash hash = join_secret_hash(token), proof;
        uint8_t bytes[4096];

        assert_true(argosy__join_body__get_packed_size(&ask) <= sizeof(bytes));
        Argosy__JoinRequest join = MESSAGE_OF(
                join_request, .token_id = (char *) token->id,
                .body = (ProtobufCBinaryData){.data = bytes, .len = argosy__join_body__pack(&ask, bytes)});
        assert_int_equal(
                join_proof_make(&hash, JOIN_BY_HOST, channel, sizeof(channel), bytes, join.body.len, &proof),
                0);
        join.proof = (ProtobufCBinaryData){.data = proof.bytes, .len = HASH_SIZE};
        const Argosy__Response *r = ask_leader(&join);
        message_free(answer);
        answer = NULL;
        if (r->status == 0) {
                assert_true(join_proof_holds(&hash, JOIN_ANSWER, channel, sizeof(channel),
                                             r->join->answer.data, r->join->answer.len, r->join->proof.data,
                                             r->join->proof.len));
                answer = argosy__join_answer__unpack(NULL, r->join->answer.len, r->join->answer.data);
                assert_non_null(answer);
        }
        return r;
}

static void assert_refused(const Argosy__Response *r, const char *word) {
        size_t n;

        assert_int_not_equal(r->status, 0);
        if (!strstr(r->join->error, word))
                fail_msg("\"%s\" does not say \"%s\"", r->join->error, word);
        (void) cluster_state_hosts(g.state, &n);
        assert_int_equal(n, 3);
}

// A mistyped name is not kept until somebody lets the job go, whatever is to be done with that node.
static void what_is_held_back_is_about_nodes_that_there_are(void **state) {
        Argosy__Request__ClusterRole role = ARGOSY__REQUEST__CLUSTER_ROLE__INIT;
        Argosy__Request__NodeChange node = ARGOSY__REQUEST__NODE_CHANGE__INIT,
                                    nodes = ARGOSY__REQUEST__NODE_CHANGE__INIT;
        Argosy__Request__LabelChange label = ARGOSY__REQUEST__LABEL_CHANGE__INIT;
        char *names[] = {"n1", "n9"};
        Argosy__Request requests[5];

        for (size_t i = 0; i < ELEMENTSOF(requests); i++)
                argosy__request__init(&requests[i]);
        Argosy__Request__ClusterRemove removal =
                MESSAGE_OF(request__cluster_remove, .host = role.host = label.node = names[1]);
        node.nodes = &names[1];
        node.n_nodes = 1;
        nodes.nodes = names;
        nodes.n_nodes = 2;
        requests[0].what_case = ARGOSY__REQUEST__WHAT_CLUSTER_REMOVE;
        requests[0].cluster_remove = &removal;
        requests[1].what_case = ARGOSY__REQUEST__WHAT_CLUSTER_ROLE;
        requests[1].cluster_role = &role;
        requests[2].what_case = ARGOSY__REQUEST__WHAT_NODE_CHANGE;
        requests[2].node_change = &node;
        requests[3].what_case = ARGOSY__REQUEST__WHAT_NODE_CHANGE;
        requests[3].node_change = &nodes;
        requests[4].what_case = ARGOSY__REQUEST__WHAT_LABEL_CHANGE;
        requests[4].label_change = &label;
        Argosy__Request__Job job = JOB_OF(.hold = true);
        for (size_t i = 0; i < ELEMENTSOF(requests); i++) {
                uint64_t id[2] = {++g.id, 88}, last = rig_last_job(&g);

                job.id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)};
                requests[i].job = &job;
                RigAnswer *a = rig_ask_and_settle(&g, &requests[i]);
                assert_replies(rig_last(a), ENOENT, "'n9'");
                assert_int_equal(rig_last_job(&g), last);
        }
}

static void a_token_makes_a_stranger_a_member(void **state) {
        JoinToken token;

        new_token(3600, &token);
        const Argosy__Response *r = join_with(&token);
        assert_int_equal(r->status, 0);
        assert_string_equal(r->join->error, "");
        assert_int_equal(answer->host, 4);
        assert_int_equal(answer->n_voters, 3);
        assert_int_equal(answer->n_nodes, 1);
        const Argosy__HostRecord *record = cluster_state_find_host(g.state, 4);
        assert_string_equal(record->address, "192.0.2.44"); // it named none itself
        assert_memory_equal(record->key_pin.data, joiner.pin.bytes, HASH_SIZE);
        assert_int_equal(record->role, ARGOSY__HOST_ROLE__ROLE_SPARE);
        assert_int_equal(identity_install(&joiner, answer->cert.data, answer->cert.len, ca.cert.data,
                                          ca.cert.len),
                         0);
}

static void a_joiner_whose_answer_got_lost_gets_it_again(void **state) {
        JoinToken token;
        uint32_t host;
        size_t n;

        new_token(3600, &token);
        assert_int_equal(join_with(&token)->status, 0);
        host = answer->host;
        assert_int_equal(join_with(&token)->status, 0);
        assert_int_equal(answer->host, host);
        (void) cluster_state_hosts(g.state, &n);
        assert_int_equal(n, 4);
}

static void who_asks_first_hears_whether_it_talks_to_a_member(void **state) {
        JoinToken token;
        size_t n;

        new_token(3600, &token);
        Hash hash = join_secret_hash(&token);
        Argosy__JoinRequest join = MESSAGE_OF(join_request, .token_id = token.id);
        const Argosy__Response *r = ask_leader(&join);
        assert_int_equal(r->status, 0);
        assert_true(join_proof_holds(&hash, JOIN_BY_MEMBER, channel, sizeof(channel), NULL, 0,
                                     r->join->proof.data, r->join->proof.len));
        assert_int_equal(r->join->answer.len, 0);
        channel[0] ^= 1; // it is worth nothing on another connection
        assert_false(join_proof_holds(&hash, JOIN_BY_MEMBER, channel, sizeof(channel), NULL, 0,
                                      r->join->proof.data, r->join->proof.len));
        channel[0] ^= 1;
        (void) cluster_state_hosts(g.state, &n);
        assert_int_equal(n, 3);
        join.token_id = (char *) "00000000";
        assert_refused(ask_leader(&join), "not known here");
}

static void the_proof_is_of_what_is_asked_on_this_connection(void **state) {
        JoinToken token;
        uint8_t bytes[4096];
        Hash hash, proof;

        new_token(3600, &token);
        hash = join_secret_hash(&token);
        Argosy__JoinRequest join = MESSAGE_OF(
                join_request, .token_id = token.id,
                .body = (ProtobufCBinaryData){.data = bytes, .len = argosy__join_body__pack(&ask, bytes)},
                .proof = (ProtobufCBinaryData){.data = proof.bytes, .len = HASH_SIZE});
        assert_int_equal(
                join_proof_make(&hash, JOIN_BY_HOST, channel, sizeof(channel), bytes, join.body.len, &proof),
                0);
        ask.name = "n5"; // somebody else's name instead
        argosy__join_body__pack(&ask, bytes);
        assert_refused(ask_leader(&join), "the token is wrong");
        ask.name = "n4";
        argosy__join_body__pack(&ask, bytes);
        channel[0] ^= 1;
        assert_refused(ask_leader(&join), "the token is wrong");
        channel[0] ^= 1;
        assert_int_equal(
                join_proof_make(&hash, JOIN_ANSWER, channel, sizeof(channel), bytes, join.body.len, &proof),
                0);
        assert_refused(ask_leader(&join), "the token is wrong"); // what a member would answer
        assert_int_equal(join_proof_make(&hash, JOIN_BY_HOST, channel, sizeof(channel), "x", 1, &proof), 0);
        join.body = (ProtobufCBinaryData){.data = (uint8_t *) "x", .len = 1};
        assert_refused(ask_leader(&join), "cannot be read");
}

static void a_token_may_be_for_one_host_and_for_one_use(void **state) {
        Argosy__Request__ClusterToken m = MESSAGE_OF(request__cluster_token, .for_host = (char *) "n9");
        JoinToken token;

        token_as(&m, &token);
        assert_refused(join_with(&token), "for a host of another name");
        m.for_host = (char *) "n4";
        m.once = true;
        token_as(&m, &token);
        assert_int_equal(join_with(&token)->status, 0);
        assert_int_equal(join_with(&token)->status, 0); // its answer did not come
        assert_int_equal(answer->host, 4);
        identity_done(&joiner);
        buf_done(&csr);
        assert_int_equal(identity_request("n5", &joiner, &csr), 0);
        ask.csr = (ProtobufCBinaryData){.data = csr.data, .len = csr.len};
        ask.host_id.data = (uint8_t *) "a third machine ";
        assert_string_equal(join_with(&token)->join->error,
                            "the token was for one host, which has joined with it: make a new one with "
                            "`argosyctl cluster token`");
        m.for_host = (char *) "";
        token_as(&m, &token);
        ask.name = "n5";
        assert_int_equal(join_with(&token)->status, 0);
        assert_int_equal(answer->host, 5);
        identity_done(&joiner);
        buf_done(&csr);
        assert_int_equal(identity_request("n6", &joiner, &csr), 0);
        ask.csr = (ProtobufCBinaryData){.data = csr.data, .len = csr.len};
        ask.name = "n6";
        ask.host_id.data = (uint8_t *) "a fourth machine";
        assert_string_equal(join_with(&token)->join->error,
                            "the token was for one host, which has joined with it: make a new one with "
                            "`argosyctl cluster token`");
}

static void a_removal_drops_the_open_tokens_and_says_so(void **state) {
        JoinToken one, two;

        new_token(3600, &one);
        new_token(3600, &two);
        RigAnswer *a = cluster_remove("n3");
        rig_settle(&g);
        assert_true(a->final);
        assert_string_equal(a->responses[a->n - 1]->message, "the 2 open join tokens were dropped");
        assert_non_null(strstr(join_with(&one)->join->error, "not known here"));
        assert_non_null(strstr(join_with(&two)->join->error, "not known here"));
}

static void a_wrong_or_expired_token_opens_nothing(void **state) {
        JoinToken token, wrong;

        new_token(3600, &token);
        wrong = token;
        wrong.secret[15] ^= 1;
        assert_refused(join_with(&wrong), "wrong");
        wrong = token;
        wrong.id[0] = wrong.id[0] == '0' ? '1' : '0';
        assert_refused(join_with(&wrong), "not known");
        rig_age(&g, 3601 * USEC_PER_SEC);
        assert_refused(join_with(&token), "expired");
}

static void a_duplicate_machine_id_is_refused_and_names_who_has_it(void **state) {
        const Argosy__HostRecord *n2 = cluster_state_find_host(g.state, 2);
        JoinToken token;

        new_token(3600, &token);
        ask.machine_id = n2->machine_id;
        ask.host_id = n2->host_id;
        const Argosy__Response *r = join_with(&token);
        assert_refused(r, "duplicate machine id");
        assert_refused(r, "n2");
        // A reinstalled machine: its former self has to be removed first.
        rig_host_off_for(&g, 2, RIG_LEASE_MS + RIG_BEAT_MS);
        assert_refused(join_with(&token), "cluster remove n2");
}

// Its power went before it had put its new identity on the disk: the next attempt comes with another key.
static void who_joined_and_does_not_know_it_hears_the_way_out(void **state) {
        _cleanup_(identity_done) Identity again = {};
        JoinToken token;
        _cleanup_buf_ Buf other = {};
        size_t n;

        new_token(3600, &token);
        assert_int_equal(join_with(&token)->status, 0);
        rig_add_host(&g, false, 0);
        assert_int_equal(identity_request("n4", &again, &other), 0);
        ask.csr = (ProtobufCBinaryData){.data = other.data, .len = other.len};
        assert_non_null(strstr(join_with(&token)->join->error, "not heard at present"));
        (void) cluster_state_hosts(g.state, &n);
        assert_int_equal(n, 4);
        RigAnswer *removal = cluster_remove("n4");
        assert_false(removal->final); // it may be back any moment, until it is lost
        rig_pass_ms(&g, RIG_LEASE_MS + RIG_BEAT_MS);
        assert_true(removal->final);
        assert_int_equal(removal->responses[0]->status, 0);
        new_token(3600, &token);
        assert_string_equal(join_with(&token)->join->error, "");
}

// Their host ids differ, as those of two users of one machine do.
static void hosts_of_one_machine_may_all_join(void **state) {
        const Argosy__HostRecord *n2 = cluster_state_find_host(g.state, 2);
        JoinToken token;

        new_token(3600, &token);
        ask.machine_id = n2->machine_id;
        assert_string_equal(join_with(&token)->join->error, "");
}

static void users_and_machines_do_not_mix(void **state) {
        JoinToken token;

        new_token(3600, &token);
        ask.user = true;
        assert_refused(join_with(&token), "cluster of machines");
        g.leader->config.user = true;
        ask.user = false;
        assert_refused(join_with(&token), "argosyctl --user");
        ask.user = true;
        assert_string_equal(join_with(&token)->join->error, "");
}

// Nothing that means somebody else on other machines gets into the log, whoever says it.
static void a_host_that_knows_no_address_takes_the_place_of_no_other(void **state) {
        static const char *const useless[] = {"127.0.0.1", "::1", "0.0.0.0", "fe80::1", "", "n9"};
        _cleanup_(message_freep) Argosy__HostRecord *r = message_copy(cluster_state_find_host(g.state, 2));
        _cleanup_free_ char *before = strdup(r->address);

        for (size_t i = 0; i < ELEMENTSOF(useless); i++) {
                assert_int_equal(host_record_set_address(r, useless[i], NULL, false), 0);
                assert_string_equal(r->address, before);
        }
        assert_int_equal(host_record_set_address(r, "127.0.0.1", NULL, true), 0);
        assert_string_equal(r->address, "127.0.0.1");
        assert_int_equal(host_record_set_address(r, "10.0.0.9", NULL, false), 0);
        assert_string_equal(r->address, "10.0.0.9");
        assert_string_equal(host_record_place(r), "10.0.0.9");
        assert_int_equal(host_record_set_address(r, "", "n9.example", false), 0);
        assert_string_equal(r->address, "10.0.0.9");
        assert_string_equal(host_record_place(r), "n9.example");
        assert_int_equal(host_record_set_address(r, "", "", false), 0); // no longer configured
        assert_string_equal(host_record_place(r), "10.0.0.9");
}

static void a_token_comes_with_the_address_to_join_at(void **state) {
        Argosy__Request__ClusterToken m = ARGOSY__REQUEST__CLUSTER_TOKEN__INIT;
        const Argosy__HostRecord *self = cluster_state_find_host(g.state, 1);
        RigAnswer *a = rig_ask_and_settle(&g, A_REQUEST(CLUSTER_TOKEN, cluster_token, &m));

        assert_string_equal(a->responses[0]->token->address, self->address);
        assert_int_equal(a->responses[0]->token->port, self->port);
        assert_true(self->port > 0);
}

static void bad_requests_to_join_are_refused_with_the_reason(void **state) {
        JoinToken token;

        new_token(3600, &token);
        ask.name = "n2";
        assert_refused(join_with(&token), "host named n2");
        ask.name = "a b\n";
        assert_refused(join_with(&token), "host name");
        ask.name = "n4";
        ask.machine_id = "zz";
        assert_refused(join_with(&token), "machine id");
        ask.machine_id = "00112233445566778899aabbccddeeff";
        ask.csr.len -= 3;
        assert_refused(join_with(&token), "certificate request");
        ask.csr.len += 3;
        ask.port = 70000;
        assert_refused(join_with(&token), "port");
}

static void a_certificate_is_renewed_only_for_the_pinned_key(void **state) {
        _cleanup_(identity_done) Identity thief = {};
        _cleanup_buf_ Buf theirs = {};
        JoinToken token;

        new_token(3600, &token);
        assert_int_equal(join_with(&token)->status, 0);
        rig_add_host(&g, true, FEATURE_LEVEL);
        rig_settle(&g);
        Argosy__ToVoter__Renew renew = MESSAGE_OF(to_voter__renew, .csr = ask.csr);
        Argosy__ToVoter m = TO_VOTER_OF(RENEW, renew, &renew);
        leader_on_message(g.leader, 4, &m);
        rig_settle(&g);
        assert_true(g.hosts[3].renewed.len > 0);
        buf_done(&g.hosts[3].renewed);
        assert_int_equal(identity_request("n4", &thief, &theirs), 0);
        renew.csr = (ProtobufCBinaryData){.data = theirs.data, .len = theirs.len};
        leader_on_message(g.leader, 4, &m);
        rig_settle(&g);
        assert_int_equal(g.hosts[3].renewed.len, 0);
}

static void a_removed_host_is_told_and_its_units_move(void **state) {
        rig_change(&g, ARGOSY__VERB__VERB_START, "a.service", SERVICE);
        rig_change(&g, ARGOSY__VERB__VERB_START, "b.service", SERVICE);
        assert_int_equal(rig_record(&g, "b.service")->node, 2);
        RigAnswer *a = cluster_remove("n2");
        assert_true(a->final);
        assert_int_equal(a->responses[0]->status, 0);
        assert_true(rig_host(&g, 2)->removed);
        assert_null(cluster_state_find_host(g.state, 2));
        assert_int_not_equal(rig_record(&g, "b.service")->node, 2);
        assert_int_equal(rig_count_running(&g, "b.service"), 1);
        assert_int_equal(cluster_remove("n2")->responses[0]->status, ENOENT);
}

static void the_last_host_cannot_be_removed(void **state) {
        cluster_remove("n2");
        cluster_remove("n3");
        assert_int_equal(cluster_remove("n1")->responses[0]->status, EEXIST);
}

static void a_leader_that_is_to_go_hands_over_first(void **state) {
        RigAnswer *a = cluster_remove("n1");

        assert_false(a->final); // until another leads and does it
        assert_true(g.transferred > 0);
        assert_non_null(cluster_state_find_host(g.state, 1));
        rig_depose(&g);
        assert_true(a->final);
        assert_true(a->responses[0]->no_leader);
        rig_elect(&g);
}

static void a_spare_replaces_a_voter_that_is_demoted(void **state) {
        Argosy__Request__ClusterRole m = MESSAGE_OF(request__cluster_role, .host = "n3");
        JoinToken token;

        new_token(3600, &token);
        assert_int_equal(join_with(&token)->status, 0);
        rig_add_host(&g, true, FEATURE_LEVEL);
        rig_settle(&g);
        RigAnswer *a = rig_ask_and_settle(&g, A_REQUEST(CLUSTER_ROLE, cluster_role, &m));
        rig_pass_ms(&g, 3 * RIG_BEAT_MS);
        assert_int_equal(a->responses[0]->status, 0);
        assert_int_equal(g.n_members, 3);
        assert_int_equal(cluster_state_find_host(g.state, 3)->role, ARGOSY__HOST_ROLE__ROLE_SPARE);
        assert_int_equal(cluster_state_find_host(g.state, 3)->raft_id, 0);
        assert_int_equal(cluster_state_find_host(g.state, 4)->role, ARGOSY__HOST_ROLE__ROLE_VOTER);
        assert_true(rig_host(&g, 3)->closed);
}

static void how_many_vote_is_a_wish_in_the_log(void **state) {
        assert_int_equal(cluster_voters(2)->responses[0]->status, EINVAL);
        assert_int_equal(cluster_voters(0)->responses[0]->status, EINVAL);
        assert_int_equal(cluster_state_cluster(g.state)->voters_wanted, 3);
        assert_int_equal(g.n_members, 3);
        assert_int_equal(cluster_voters(1)->responses[0]->status, 0);
        rig_pass_ms(&g, 4 * RIG_BEAT_MS);
        assert_int_equal(cluster_state_cluster(g.state)->voters_wanted, 1);
        // the rest of the record stays
        assert_int_equal(cluster_state_feature_level(g.state), FEATURE_LEVEL);
        assert_int_equal(g.n_members, 1);
        assert_string_not_equal(cluster_voters(5)->responses[0]->message, ""); // three hosts cannot yet
        rig_pass_ms(&g, 4 * RIG_BEAT_MS);
        assert_int_equal(g.n_members, 3);
}

// What a session may be told depends on the peer's build; one that says nothing has the first level.
static void a_spare_that_comes_back_is_the_voter_that_was_missing(void **state) {
        (void) cluster_voters(1);
        rig_pass_ms(&g, 4 * RIG_BEAT_MS);
        rig_host_off_for(&g, 3, 2 * RIG_LEASE_MS);
        (void) cluster_voters(3);
        rig_pass_ms(&g, 4 * RIG_BEAT_MS);
        assert_int_equal(g.n_members, 1); // two would survive less
        rig_host_on(&g, 3, false);
        rig_pass_ms(&g, 4 * RIG_BEAT_MS);
        assert_int_equal(g.n_members, 3);
}

static void a_session_knows_the_level_of_its_host(void **state) {
        assert_int_equal(host_find(g.leader, 2)->feature_level, FEATURE_LEVEL);
        rig_host_off(&g, 2);
        rig_host(&g, 2)->feature_level = 0;
        rig_host_on(&g, 2, true);
        rig_host_off(&g, 3);
        rig_host(&g, 3)->feature_level = FEATURE_LEVEL + 1;
        rig_host_on(&g, 3, true);
        assert_int_equal(host_find(g.leader, 2)->feature_level, FEATURE_BASE);
        assert_int_equal(host_find(g.leader, 3)->feature_level, FEATURE_LEVEL + 1);
        assert_int_equal(cluster_state_feature_level(g.state), FEATURE_LEVEL);
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(what_is_held_back_is_about_nodes_that_there_are, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_token_makes_a_stranger_a_member, setup, teardown),
        cmocka_unit_test_setup_teardown(who_asks_first_hears_whether_it_talks_to_a_member, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_proof_is_of_what_is_asked_on_this_connection, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_token_may_be_for_one_host_and_for_one_use, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_removal_drops_the_open_tokens_and_says_so, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_joiner_whose_answer_got_lost_gets_it_again, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_wrong_or_expired_token_opens_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(hosts_of_one_machine_may_all_join, setup, teardown),
        cmocka_unit_test_setup_teardown(users_and_machines_do_not_mix, setup, teardown),
        cmocka_unit_test_setup_teardown(a_host_that_knows_no_address_takes_the_place_of_no_other,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_token_comes_with_the_address_to_join_at, setup, teardown),
        cmocka_unit_test_setup_teardown(a_duplicate_machine_id_is_refused_and_names_who_has_it,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(who_joined_and_does_not_know_it_hears_the_way_out, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(bad_requests_to_join_are_refused_with_the_reason, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_certificate_is_renewed_only_for_the_pinned_key, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_removed_host_is_told_and_its_units_move, setup, teardown),
        cmocka_unit_test_setup_teardown(the_last_host_cannot_be_removed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_leader_that_is_to_go_hands_over_first, setup, teardown),
        cmocka_unit_test_setup_teardown(a_spare_replaces_a_voter_that_is_demoted, setup, teardown),
        cmocka_unit_test_setup_teardown(how_many_vote_is_a_wish_in_the_log, setup, teardown),
        cmocka_unit_test_setup_teardown(a_spare_that_comes_back_is_the_voter_that_was_missing, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_session_knows_the_level_of_its_host, setup, teardown)
)
