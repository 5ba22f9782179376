// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tokens as texts, and who is let in by one.

#include <errno.h>

#include "test.h"

#include "access-token.h"
#include "author.h"
#include "macro.h"
#include "messages.h"

#define VIEW ARGOSY__RIGHT__RIGHT_VIEW
#define OPERATE ARGOSY__RIGHT__RIGHT_OPERATE

static const uint8_t zeros[ACCESS_TOKEN_SECRET_SIZE];

// A list of one token, made at 100 and good until 200, and whoever shows it.
typedef struct World {
        char text[ACCESS_TOKEN_TEXT_LEN + 1], id[ACCESS_TOKEN_ID_LEN + 1], user[ACCESS_TOKEN_NAME_MAX + 16];
        Hash proof, hash;
        Argosy__AccessTokenRecord token, *tokens[1];
        AccessList list;
        Argosy__Author shown;
} World;

static void set_up(World *w) {
        *w = (World){.token = ARGOSY__ACCESS_TOKEN_RECORD__INIT};
        access_token_text(zeros, w->text);
        assert_true(access_token_proof(w->text, &w->proof));
        w->hash = access_token_hash(&w->proof);
        access_token_id(&w->hash, w->id);
        w->token.id = w->id;
        w->token.name = (char *) "ci";
        w->token.hash = (ProtobufCBinaryData){HASH_SIZE, w->hash.bytes};
        w->token.right = OPERATE;
        w->token.created_us = 100;
        w->token.expires_us = 200;
        w->token.created_counted_us = 1000;
        w->tokens[0] = &w->token;
        w->list = (AccessList){
                .tokens = w->tokens, .n_tokens = 1, .now = {.wall_us = 150, .counted_us = 1050}};
        w->shown = author_of_token(&w->proof);
        w->shown.host = 3;
}

static void a_text_is_what_it_was_made_of(void **state) {
        uint8_t secret[ACCESS_TOKEN_SECRET_SIZE];
        char text[ACCESS_TOKEN_TEXT_LEN + 1], hex[HASH_HEX_SIZE];
        World w;

        set_up(&w);
        assert_string_equal(w.text, "argosy_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
        for (size_t i = 0; i < sizeof(secret); i++)
                secret[i] = (uint8_t) (0xff - i);
        access_token_text(secret, text); // as `base64 | tr +/ -_` has it
        assert_string_equal(text, "argosy___79_Pv6-fj39vX08_Lx8O_u7ezr6uno5-bl5OPi4eA");
        hash_hex(&w.proof, HASH_SIZE, hex); // as `sha256sum` has it
        assert_string_equal(hex, "23f5343e2ba7a14fa3769b641981b669fa2b472042b1e61aa85c5a52c619972c");
        hash_hex(&w.hash, ACCESS_TOKEN_ID_LEN / 2, hex);
        assert_string_equal(w.id, hex);
}

static void what_does_not_look_like_a_token_is_none(void **state) {
        const char *bad[] = {"",
                             "argosy_",
                             "argosy_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
                             "argosy_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
                             "argosy-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
                             "argosy_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA+",
                             "argosy_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="};
        Hash proof;

        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                assert_false(access_token_proof(bad[i], &proof));
}

static void a_name_is_one_that_people_can_read(void **state) {
        char long_name[66] = "";

        memset(long_name, 'n', 65);
        assert_true(access_token_name_is_valid("ci"));
        assert_true(access_token_name_is_valid("night shift, B\xc3\xbcro"));
        assert_false(access_token_name_is_valid(""));
        assert_false(access_token_name_is_valid("a\nb"));
        assert_false(access_token_name_is_valid(long_name));
        assert_false(access_token_name_is_valid("0123abcd")); // could be an id
        assert_true(access_token_name_is_valid("0123abcg"));
}

static void whoever_shows_it_is_let_in_as_long_as_it_lasts(void **state) {
        char why[ACCESS_TOKEN_WHY_SIZE];
        World w;

        set_up(&w);
        assert_true(access_has(w.list, &w.shown, OPERATE, NULL));
        assert_true(access_has(w.list, &w.shown, VIEW, "web"));
        assert_false(access_has(w.list, &w.shown, ARGOSY__RIGHT__RIGHT_DEPLOY, NULL));
        assert_int_equal(access_token_error(w.list, &w.shown, why), 0);
        w.list.now.wall_us = 199;
        assert_true(access_has(w.list, &w.shown, OPERATE, NULL));
        w.list.now.wall_us = 200;
        assert_false(access_has(w.list, &w.shown, VIEW, NULL));
        assert_false(access_has_some(w.list, &w.shown, VIEW));
        assert_int_equal(access_token_error(w.list, &w.shown, why), EKEYEXPIRED);
        assert_string_equal(why, "this token has expired at 1970-01-01 00:00:00 UTC");
}

// Its dates say that it lasts, as they would if the clocks of the voters went back.
static void one_that_was_there_as_long_as_it_was_to_be_lets_nobody_in(void **state) {
        char why[ACCESS_TOKEN_WHY_SIZE];
        World w;

        set_up(&w);
        w.list.now.wall_us = 120;
        w.list.now.counted_us = 1099;
        assert_true(access_has(w.list, &w.shown, OPERATE, NULL));
        assert_int_equal(access_token_left_us(&w.token, w.list.now), 1);
        w.list.now.counted_us = 1100;
        assert_false(access_has(w.list, &w.shown, OPERATE, NULL));
        assert_int_equal(access_token_error(w.list, &w.shown, why), EKEYEXPIRED);
        assert_string_equal(why, "this token has expired: it was there as long as it was to be");
}

static void a_revoked_one_lets_nobody_in(void **state) {
        char why[ACCESS_TOKEN_WHY_SIZE];
        World w;

        set_up(&w);
        w.token.revoked_us = UINT64_C(1795449600000000);
        assert_false(access_has(w.list, &w.shown, VIEW, NULL));
        assert_int_equal(access_token_error(w.list, &w.shown, why), EKEYREVOKED);
        assert_non_null(strstr(why, "was revoked at 1970-01-01 00:00:00 UTC")); // it had expired before
        w.token.expires_us = UINT64_MAX;
        assert_int_equal(access_token_error(w.list, &w.shown, why), EKEYREVOKED);
        assert_non_null(strstr(why, "was revoked at 2026-11-23 16:00:00 UTC"));
}

static void an_unknown_one_is_refused_by_that(void **state) {
        char why[ACCESS_TOKEN_WHY_SIZE];
        World w;

        set_up(&w);
        w.proof.bytes[0] ^= 1;
        assert_false(access_has(w.list, &w.shown, VIEW, NULL));
        assert_int_equal(access_token_error(w.list, &w.shown, why), EKEYREJECTED);
        assert_string_equal(why, "this token is not known");
        Argosy__Author known = access_token_author(w.list, &w.shown, w.user);
        assert_false(access_has(w.list, &known, VIEW, NULL));
        assert_int_equal(access_token_error(w.list, &known, why), EKEYREJECTED);
}

// Neither a proof nor a hash of one lets anybody in again: what is kept of who asked is the id alone.
static void the_proof_is_not_kept(void **state) {
        World w;

        set_up(&w);
        Argosy__Author known = access_token_author(w.list, &w.shown, w.user);
        assert_string_equal(known.user, "token:ci");
        assert_string_equal(known.token, w.id);
        assert_int_equal(known.token_proof.len, 0);
        assert_int_equal(known.host, 3);
        assert_int_equal(known.uid, UINT32_MAX);
        assert_true(access_has(w.list, &known, OPERATE, NULL));
        w.token.revoked_us = 120;
        assert_false(access_has(w.list, &known, VIEW, NULL)); // judged anew each time
        w.shown = author_of_token(&w.hash);                   // what the log has is no proof
        w.token.revoked_us = 0;
        assert_false(access_has(w.list, &w.shown, VIEW, NULL));
}

static void a_role_narrows_it(void **state) {
        World w;

        set_up(&w);
        w.token.role = (char *) "web";
        assert_true(access_has(w.list, &w.shown, OPERATE, "web"));
        assert_false(access_has(w.list, &w.shown, OPERATE, "db"));
        assert_false(access_has(w.list, &w.shown, OPERATE, NULL));
        assert_true(access_has_some(w.list, &w.shown, OPERATE));
        assert_false(access_has_some(w.list, &w.shown, ARGOSY__RIGHT__RIGHT_ADMIN));
}

// Whatever somebody may call a user.
static void what_users_were_given_is_not_a_tokens(void **state) {
        Argosy__GrantRecord grant = GRANT_RECORD_OF(.right = ARGOSY__RIGHT__RIGHT_ADMIN,
                                                    .user = (char *) "token:ci"),
                            *grants[] = {&grant};
        World w;

        set_up(&w);
        w.list.grants = grants;
        w.list.n = 1;
        Argosy__Author known = access_token_author(w.list, &w.shown, w.user);
        assert_false(access_has(w.list, &known, ARGOSY__RIGHT__RIGHT_ADMIN, NULL));
        assert_true(access_has(w.list, &known, OPERATE, NULL));
        assert_false(grant_is_of(&grant, &known));
}

static void a_name_finds_the_one_that_can_be_used(void **state) {
        Argosy__AccessTokenRecord old = ARGOSY__ACCESS_TOKEN_RECORD__INIT, *both[2];
        World w;

        set_up(&w);
        old.id = (char *) "00000000";
        old.name = (char *) "ci";
        old.expires_us = 100;
        both[0] = &old;
        both[1] = &w.token;
        w.list.tokens = both;
        w.list.n_tokens = 2;
        assert_ptr_equal(access_token_resolve(w.list, "ci"), &w.token);
        assert_ptr_equal(access_token_resolve(w.list, "00000000"), &old);
        assert_ptr_equal(access_token_resolve(w.list, w.id), &w.token);
        assert_null(access_token_resolve(w.list, "cd"));
        w.list.now.wall_us = 200;
        assert_null(access_token_resolve(w.list, "ci"));
}

RUN_TESTS(
        cmocka_unit_test(a_text_is_what_it_was_made_of),
        cmocka_unit_test(what_does_not_look_like_a_token_is_none),
        cmocka_unit_test(a_name_is_one_that_people_can_read),
        cmocka_unit_test(whoever_shows_it_is_let_in_as_long_as_it_lasts),
        cmocka_unit_test(one_that_was_there_as_long_as_it_was_to_be_lets_nobody_in),
        cmocka_unit_test(a_revoked_one_lets_nobody_in),
        cmocka_unit_test(an_unknown_one_is_refused_by_that),
        cmocka_unit_test(the_proof_is_not_kept),
        cmocka_unit_test(a_role_narrows_it),
        cmocka_unit_test(what_users_were_given_is_not_a_tokens),
        cmocka_unit_test(a_name_finds_the_one_that_can_be_used)
)
