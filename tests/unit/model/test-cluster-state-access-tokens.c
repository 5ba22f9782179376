// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tokens, as the log has them: one is made, revoked, used, and forgotten when it has been over for long
// enough.

#include "access-token.h"
#include "clock.h"
#include "cluster-words.h"
#include "feature-level.h"
#include "messages.h"

#define DAY (UINT64_C(24) * 3600 * USEC_PER_SEC)
#define START (UINT64_C(20000) * DAY)

static uint64_t now;

static int begin(void **state) {
        Batch b = {0};

        if (make_state(state) < 0)
                return -1;
        Argosy__ClusterRecord cluster = MESSAGE_OF(cluster_record, .feature_level = FEATURE_LEVEL);
        batch_op(&b, ARGOSY__LOG_OP__OP_CLUSTER)->cluster = &cluster;
        apply(*state, &b);
        now = START;
        return 0;
}

#define TOKENS(f) cmocka_unit_test_setup_teardown(f, begin, free_state)

static void apply_now(ClusterState *s, Batch *b) {
        batch_set_time(b, s, now);
        apply(s, b);
}

// Its id is made of the number.
static void make(ClusterState *s, unsigned number, uint64_t ttl_us) {
        uint8_t hash[HASH_SIZE] = {(uint8_t) number, (uint8_t) (number >> 8)};
        char id[16], name[16];
        Batch b = {0};

        snprintf(id, sizeof(id), "%08x", number);
        snprintf(name, sizeof(name), "t%u", number);
        Argosy__AccessTokenRecord token =
                ACCESS_TOKEN_RECORD_OF(.id = id, .name = name,
                                       .hash = (ProtobufCBinaryData){sizeof(hash), hash},
                                       .right = ARGOSY__RIGHT__RIGHT_VIEW, .created_us = now,
                                       .expires_us = now + ttl_us);
        batch_op(&b, ARGOSY__LOG_OP__OP_ACCESS_TOKEN)->access_token = &token;
        apply_now(s, &b);
}

static void revoke_token(ClusterState *s, const char *id) {
        Argosy__LogOp__AccessTokenEnd end = MESSAGE_OF(log_op__access_token_end, .id = (char *) id,
                                                       .at_us = now, .by = (char *) "root@one");
        Batch b = {0};

        batch_op(&b, ARGOSY__LOG_OP__OP_ACCESS_TOKEN_END)->access_token_end = &end;
        apply_now(s, &b);
}

static void use(ClusterState *s, const char *id, uint64_t at_us) {
        Argosy__LogOp__AccessTokenUse use = MESSAGE_OF(log_op__access_token_use, .id = (char *) id,
                                                       .at_us = at_us),
                                      *uses[] = {&use};
        Argosy__LogOp__AccessTokenUses all =
                MESSAGE_OF(log_op__access_token_uses, .uses = uses, .n_uses = 1);
        Batch b = {0};

        batch_op(&b, ARGOSY__LOG_OP__OP_ACCESS_TOKEN_USES)->access_token_uses = &all;
        apply_now(s, &b);
}

static void nothing(ClusterState *s) {
        Batch b = {.log = ARGOSY__LOG_BATCH__INIT};

        apply_now(s, &b);
}

static const Argosy__AccessTokenRecord *find(const ClusterState *s, const char *id) {
        return access_token_find(cluster_state_access(s), id);
}

static size_t count(const ClusterState *s) {
        return cluster_state_access(s).n_tokens;
}

static void one_is_made_revoked_and_used(void **state) {
        make(g.s, 2, DAY);
        make(g.s, 1, DAY);
        make(g.s, 1, 2 * DAY); // of that id there is one
        assert_int_equal(count(g.s), 2);
        assert_string_equal(find(g.s, "00000001")->name, "t1");
        assert_int_equal(find(g.s, "00000001")->expires_us, now + DAY);
        assert_int_equal(cluster_state_access_revision(g.s), cluster_state_revision(g.s));
        assert_true(cluster_state_grants_revision(g.s) < cluster_state_access_revision(g.s));
        uint64_t revision = cluster_state_revision(g.s);
        use(g.s, "00000002", now + 5);
        use(g.s, "00000002", now + 4); // comes late
        assert_int_equal(find(g.s, "00000002")->used_us, now + 5);
        assert_int_equal(cluster_state_revision(g.s), revision); // nobody's wish
        revoke_token(g.s, "00000002");
        assert_int_equal(find(g.s, "00000002")->revoked_us, now);
        assert_string_equal(find(g.s, "00000002")->revoked_by, "root@one");
        assert_int_equal(find(g.s, "00000002")->used_us, now + 5);
        assert_int_equal(find(g.s, "00000001")->revoked_us, 0);
        assert_int_equal(cluster_state_access_revision(g.s), revision + 1);
        now += 1;
        revoke_token(g.s, "00000002"); // it was
        revoke_token(g.s, "00000003");
        assert_int_equal(find(g.s, "00000002")->revoked_us, now - 1);
        assert_int_equal(cluster_state_revision(g.s), revision + 1);
}

static void what_cannot_be_one_is_skipped(void **state) {
        uint8_t hash[HASH_SIZE] = {1};
        char long_role[LABEL_MAX + 2] = "";

        memset(long_role, 'r', sizeof(long_role) - 1);
        Argosy__AccessTokenRecord token = ACCESS_TOKEN_RECORD_OF(.expires_us = now + DAY);
        for (unsigned i = 0; i < 5; i++) {
                Batch b = {0};

                token.id = (char *) (i == 0 ? "0123" : "01234567");
                token.hash = (ProtobufCBinaryData){i == 1 ? 31 : HASH_SIZE, hash};
                token.name = (char *) (i == 2 ? "" : "ci");
                token.role = i == 3 ? long_role : (char *) "";
                batch_op(&b, ARGOSY__LOG_OP__OP_ACCESS_TOKEN)->access_token = &token;
                apply_now(g.s, &b);
                assert_int_equal(count(g.s), i == 4);
        }
}

static void one_that_is_over_is_shown_for_a_while(void **state) {
        make(g.s, 1, DAY);
        make(g.s, 2, 100 * DAY);
        make(g.s, 3, 100 * DAY);
        revoke_token(g.s, "00000003");
        now += CLUSTER_ACCESS_TOKEN_DAYS * DAY - 1;
        nothing(g.s);
        assert_int_equal(count(g.s), 3);
        now += 1;
        nothing(g.s);
        assert_int_equal(count(g.s), 2);
        assert_null(find(g.s, "00000003"));
        now += DAY;
        nothing(g.s);
        assert_int_equal(count(g.s), 1);
        assert_non_null(find(g.s, "00000002"));
}

// However many are due, an entry is about so many.
static void an_entry_drops_some(void **state) {
        const unsigned n = CLUSTER_ACCESS_TOKENS_DROPPED + 10;

        for (unsigned i = 1; i <= n; i++)
                make(g.s, i, DAY);
        now += (CLUSTER_ACCESS_TOKEN_DAYS + 1) * DAY;
        nothing(g.s);
        assert_int_equal(count(g.s), 10);
        nothing(g.s);
        assert_int_equal(count(g.s), 0);
        nothing(g.s);
        make(g.s, 1, DAY);
        assert_int_equal(count(g.s), 1);
}

static void those_that_are_over_make_room(void **state) {
        make(g.s, 1, 2 * DAY);
        make(g.s, 2, DAY);
        for (unsigned i = 3; i <= CLUSTER_ACCESS_TOKENS_MAX; i++)
                make(g.s, i, 100 * DAY);
        make(g.s, 5000, DAY);
        assert_int_equal(count(g.s), CLUSTER_ACCESS_TOKENS_MAX);
        assert_null(find(g.s, "00001388"));
        now += 3 * DAY;
        make(g.s, 5000, DAY);
        assert_non_null(find(g.s, "00001388"));
        assert_null(find(g.s, "00000002")); // over for longer than the other
        assert_non_null(find(g.s, "00000001"));
        make(g.s, 5001, DAY);
        assert_null(find(g.s, "00000001"));
        make(g.s, 5002, DAY);
        assert_null(find(g.s, "0000138a"));
        assert_int_equal(count(g.s), CLUSTER_ACCESS_TOKENS_MAX);
}

static void an_image_has_them(void **state) {
        ClusterState *s = *state, *other = cluster_state_new();
        _cleanup_buf_ Buf image = {}, again = {};

        make(s, 2, DAY);
        make(s, 1, 100 * DAY);
        revoke_token(s, "00000002");
        use(s, "00000001", now);
        assert_int_equal(cluster_state_encode(s, &image), 0);
        assert_int_equal(cluster_state_restore(other, image.data, image.len), 0);
        assert_int_equal(count(other), 2);
        assert_int_equal(find(other, "00000001")->used_us, now);
        assert_int_equal(find(other, "00000002")->revoked_us, now);
        assert_int_equal(cluster_state_encode(other, &again), 0);
        assert_int_equal(again.len, image.len);
        assert_memory_equal(again.data, image.data, image.len);
        now += (CLUSTER_ACCESS_TOKEN_DAYS + 1) * DAY; // and whoever has read it drops what the others drop
        nothing(other);
        assert_int_equal(count(other), 1);
        cluster_state_free(other);
}

RUN_TESTS(
        TOKENS(one_is_made_revoked_and_used),          TOKENS(what_cannot_be_one_is_skipped),
        TOKENS(one_that_is_over_is_shown_for_a_while), TOKENS(an_entry_drops_some),
        TOKENS(those_that_are_over_make_room),         TOKENS(an_image_has_them)
)
