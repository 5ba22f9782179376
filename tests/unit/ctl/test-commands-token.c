// SPDX-License-Identifier: LGPL-2.1-or-later
//
// token create, revoke, list.
#include <errno.h>

#include "command-words.h"

#include <gnutls/gnutls.h>

#include "access-token.h"
#include "macro.h"
#include "messages.h"

// What the daemon was asked for last.
static struct Asked {
        uint8_t hash[HASH_SIZE];
        Argosy__Right right;
        char name[64], role[64];
        uint64_t ttl_sec;
} asked;

static void takes_a_token(FakeDaemon *d) {
        _cleanup_request_ Argosy__Request *q = fake_take(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_TOKEN_CREATE);
        assert(q->token_create->hash.len == HASH_SIZE);
        memcpy(asked.hash, q->token_create->hash.data, HASH_SIZE);
        asked.right = q->token_create->right;
        asked.ttl_sec = q->token_create->ttl_sec;
        snprintf(asked.name, sizeof(asked.name), "%s", q->token_create->name);
        snprintf(asked.role, sizeof(asked.role), "%s", q->token_create->role);
        Argosy__AccessTokenRecord token =
                ACCESS_TOKEN_RECORD_OF(.id = (char *) "0123abcd", .name = q->token_create->name,
                                       .right = q->token_create->right, .created_by = (char *) "root@n1",
                                       .created_us = 1000000, .expires_us = 2000000);
        Argosy__Response__TokenRow row = MESSAGE_OF(response__token_row, .token = &token,
                                                    .state = (char *) "active"),
                                   *rows[] = {&row};
        Argosy__Response__Tokens tokens = MESSAGE_OF(response__tokens, .rows = rows, .n_rows = 1);
        fake_reply(d, A_RESPONSE(TOKENS, tokens, &tokens, .final = true));
}

// The daemon was sent nothing that could be shown again.
static void assert_is_secret_of(const char *text) {
        Hash proof, hash;

        assert_true(access_token_proof(text, &proof));
        hash = access_token_hash(&proof);
        assert_memory_equal(hash.bytes, asked.hash, HASH_SIZE);
}

static void the_secret_is_printed_and_not_sent(void **state) {
        _cleanup_outcome_ Outcome o =
                run(takes_a_token, "token create --right operate --name ci --ttl 30d on role web");
        char first[ACCESS_TOKEN_TEXT_LEN + 1];

        assert_string_equal(o.err, "");
        assert_int_equal(o.code, 0);
        assert_int_equal(strlen(o.out), ACCESS_TOKEN_TEXT_LEN + 1);
        o.out[ACCESS_TOKEN_TEXT_LEN] = 0;
        assert_is_secret_of(o.out);
        assert_int_equal(asked.right, ARGOSY__RIGHT__RIGHT_OPERATE);
        assert_string_equal(asked.name, "ci");
        assert_string_equal(asked.role, "web");
        assert_int_equal(asked.ttl_sec, 30 * 86400);
        memcpy(first, o.out, sizeof(first));
        {
                _cleanup_outcome_ Outcome other =
                        run(takes_a_token, "token create --right view --name other");

                assert_int_equal(asked.ttl_sec, 0); // the leader knows
                assert_string_equal(asked.role, "");
                other.out[ACCESS_TOKEN_TEXT_LEN] = 0;
                assert_string_not_equal(first, other.out);
        }
}

static void it_is_printed_as_json(void **state) {
        _cleanup_outcome_ Outcome o = run(takes_a_token, "token create --right view --name ci --json=short");
        char text[ACCESS_TOKEN_TEXT_LEN + 1] = "";

        assert_int_equal(strncmp(o.out, "{\"token\":\"", 10), 0);
        memcpy(text, o.out + 10, ACCESS_TOKEN_TEXT_LEN);
        assert_is_secret_of(text);
        assert_string_equal(
                o.out + 10 + ACCESS_TOKEN_TEXT_LEN,
                "\",\"id\":\"0123abcd\",\"name\":\"ci\",\"right\":\"view\",\"role\":null,\"created_by\":"
                "\"root@n1\","
                "\"created_us\":1000000,\"expires_us\":2000000,\"used_us\":null,\"revoked_us\":null,"
                "\"revoked_by\":null,\"state\":\"active\"}\n");
}

static void a_certificate_is_printed_with_its_key(void **state) {
        _cleanup_outcome_ Outcome o =
                run(takes_a_token, "token create --right deploy --name fleet --certificate");
        gnutls_datum_t pem = {(unsigned char *) o.out, (unsigned) strlen(o.out)}, der = {};

        assert_string_equal(o.err, "");
        assert_int_equal(o.code, 0);
        assert_int_equal(gnutls_pem_base64_decode2("CERTIFICATE", &pem, &der), 0);
        Hash proof = access_token_certificate_proof(der.data, der.size);
        Hash hash = access_token_hash(&proof);
        assert_memory_equal(hash.bytes, asked.hash, HASH_SIZE);
        gnutls_free(der.data);
        assert_ptr_equal(strstr(o.out, "-----BEGIN CERTIFICATE-----"), o.out);
        assert_non_null(strstr(o.out, "-----END CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----"));
        assert_int_equal(asked.right, ARGOSY__RIGHT__RIGHT_DEPLOY);
}

static void a_certificate_is_printed_as_json_too(void **state) {
        _cleanup_outcome_ Outcome o =
                run(takes_a_token, "token create --right deploy --name fleet --certificate --json=short");

        assert_ptr_equal(strstr(o.out, "{\"certificate\":\"-----BEGIN CERTIFICATE-----\\n"), o.out);
        assert_non_null(strstr(o.out, "\",\"key\":\"-----BEGIN PRIVATE KEY-----\\n"));
        assert_null(strstr(o.out, "\"token\""));
}

static void refuses(FakeDaemon *d) {
        Argosy__Response r = RESPONSE_WITH(.final = true, .status = EEXIST,
                                           .message = (char *) "there is a token called 'ci' already");

        done(fake_take(d));
        fake_reply_last(d, &r);
}

static void what_the_cluster_does_not_take_is_not_printed(void **state) {
        _cleanup_outcome_ Outcome o = run(refuses, "token create --right view --name ci");

        assert_prints(o, 1, "");
        assert_non_null(strstr(o.err, "there is a token called 'ci' already"));
}

static void what_can_be_no_token_never_reaches_the_daemon(void **state) {
        static const char *const bad[] = {
                "token create --name ci",
                "token create --right view",
                "token create --right root --name ci",
                "token create --right view --name 0123abcd",
                "token create --right view --name ci --ttl 1826d",
                "token create --right view --name ci --ttl 0",
                "token create --right view --name ci on role",
                "token create --right view --name ci on pool web",
                "token create --right view --name ci --key again",
                "token revoke",
                "cluster token --ttl 31d",
        };

        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                _cleanup_outcome_ Outcome o = run_at("/nonexistent", bad[i]);

                if (o.code != 2)
                        fail_msg("%s: %d", bad[i], o.code);
        }
}

static void ends_two(FakeDaemon *d) {
        Argosy__Response r = RESPONSE_WITH(.final = true);
        _cleanup_request_ Argosy__Request *q = fake_take(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_TOKEN_REVOKE);
        assert(q->token_revoke->n_tokens == 2 && streq(q->token_revoke->tokens[0], "ci") &&
               streq(q->token_revoke->tokens[1], "0123abcd"));
        fake_reply_last(d, &r);
}

static void some_are_revoked_by_name_and_id(void **state) {
        _cleanup_outcome_ Outcome o = run(ends_two, "token revoke ci 0123abcd");

        assert_string_equal(o.err, "");
        assert_int_equal(o.code, 0);
}

static void has_tokens(FakeDaemon *d) {
        Argosy__AccessTokenRecord used = ARGOSY__ACCESS_TOKEN_RECORD__INIT,
                                  gone = ARGOSY__ACCESS_TOKEN_RECORD__INIT;
        Argosy__Response__TokenRow rows[3] = {ARGOSY__RESPONSE__TOKEN_ROW__INIT,
                                              ARGOSY__RESPONSE__TOKEN_ROW__INIT,
                                              ARGOSY__RESPONSE__TOKEN_ROW__INIT},
                                   *pointers[] = {&rows[0], &rows[1], &rows[2]};

        done(fake_take(d));
        used.id = (char *) "0123abcd";
        used.name = (char *) "ci";
        used.right = ARGOSY__RIGHT__RIGHT_OPERATE;
        used.role = (char *) "web";
        used.created_by = (char *) "root@n1";
        used.expires_us = 1700000000000000;
        used.used_us = 1690000000000000;
        gone.id = (char *) "ffffffff";
        gone.name = (char *) "old";
        gone.right = ARGOSY__RIGHT__RIGHT_ADMIN;
        gone.created_by = (char *) "ann@n2";
        gone.expires_us = 1700000000000000;
        gone.revoked_us = 1600000000000000;
        gone.revoked_by = (char *) "token:ci@n1";
        rows[0].token = &used; // the last row says nothing
        rows[0].state = (char *) "active";
        rows[1].token = &gone;
        rows[1].state = (char *) "revoked";
        Argosy__Response__Tokens tokens =
                MESSAGE_OF(response__tokens, .rows = pointers, .n_rows = ELEMENTSOF(pointers));
        fake_reply_last(d, A_RESPONSE(TOKENS, tokens, &tokens, .final = true));
}

static void they_are_listed(void **state) {
        _cleanup_outcome_ Outcome table = run(has_tokens, "token list"),
                                  json = run(has_tokens, "token list --json=short");

        assert_string_equal(table.out, "ID       NAME RIGHT   ON ROLE CREATED BY EXPIRES                    "
                                       " LAST USED                   STATE\n"
                                       "0123abcd ci   operate web     root@n1    Tue 2023-11-14 22:13:20 "
                                       "UTC Sat 2023-07-22 04:26:40 UTC active\n"
                                       "ffffffff old  admin   -       ann@n2     Tue 2023-11-14 22:13:20 "
                                       "UTC -                           "
                                       "revoked\n");
        assert_non_null(strstr(
                json.out, "\"id\":\"0123abcd\",\"name\":\"ci\",\"right\":\"operate\",\"role\":\"web\""));
        assert_non_null(strstr(
                json.out, "\"used_us\":null,\"revoked_us\":1600000000000000,\"revoked_by\":\"token:ci@n1\","
                          "\"state\":\"revoked\"}]\n"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_secret_is_printed_and_not_sent),
                cmocka_unit_test(a_certificate_is_printed_with_its_key),
                cmocka_unit_test(a_certificate_is_printed_as_json_too),
                cmocka_unit_test(it_is_printed_as_json),
                cmocka_unit_test(what_the_cluster_does_not_take_is_not_printed),
                cmocka_unit_test(what_can_be_no_token_never_reaches_the_daemon),
                cmocka_unit_test(some_are_revoked_by_name_and_id),
                cmocka_unit_test(they_are_listed),
        };

        setenv("TZ", "UTC", 1);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
