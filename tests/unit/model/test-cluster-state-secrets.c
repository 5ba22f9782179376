// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Secrets, as the log has them: versions come, go when the leader says so, and are sealed with another key.

#include "cluster-state-limits.h"
#include "cluster-words.h"
#include "messages.h"

static void put(ClusterState *s, const char *name, uint64_t version, const char *sealed) {
        Argosy__SecretVersion v =
                MESSAGE_OF(secret_version, .version = version, .key = 1, .by = (char *) "root@one",
                           .sealed = (ProtobufCBinaryData){strlen(sealed), (uint8_t *) sealed});
        Batch b = {0};
        Argosy__LogOp__SecretPut op = MESSAGE_OF(log_op__secret_put, .name = (char *) name, .version = &v);

        batch_op(&b, ARGOSY__LOG_OP__OP_SECRET)->secret = &op;
        apply(s, &b);
}

static void reseal(ClusterState *s, const char *name, uint64_t version, const char *sealed) {
        Argosy__SecretVersion v = ARGOSY__SECRET_VERSION__INIT, *versions[] = {&v};
        Batch b = {0};

        v.version = version;
        v.key = 2;
        v.sealed = (ProtobufCBinaryData){strlen(sealed), (uint8_t *) sealed};
        Argosy__LogOp__SecretReseal op = MESSAGE_OF(log_op__secret_reseal, .name = (char *) name,
                                                    .versions = versions, .n_versions = 1);
        batch_op(&b, ARGOSY__LOG_OP__OP_SECRET_RESEAL)->secret_reseal = &op;
        apply(s, &b);
}

static void assert_version(const ClusterState *s, const char *name, size_t i, uint32_t key,
                           const char *sealed) {
        const Argosy__SecretVersion *v = cluster_state_find_secret(s, name)->versions[i];

        assert_int_equal(v->key, key);
        assert_int_equal(v->sealed.len, strlen(sealed));
        assert_memory_equal(v->sealed.data, sealed, v->sealed.len);
}

static void a_version_is_sealed_anew_and_stays_what_it_is(void **state) {
        uint64_t revision;

        put(g.s, "db", 1, "one");
        put(g.s, "db", 2, "two");
        revision = cluster_state_find_secret(g.s, "db")->versions[0]->revision;
        reseal(g.s, "db", 1, "ONE");
        assert_version(g.s, "db", 0, 2, "ONE");
        assert_version(g.s, "db", 1, 1, "two");
        const Argosy__SecretVersion *v = cluster_state_find_secret(g.s, "db")->versions[0];
        assert_int_equal(v->revision, revision); // whoever has that one goes on having it
        assert_string_equal(v->by, "root@one");
        assert_int_equal(cluster_state_secrets_bytes(g.s), 6);
        assert_null(cluster_state_next_refused(g.s));
}

static void assert_refused(ClusterState *s) {
        const ClusterRefused *refused = cluster_state_next_refused(s);

        assert_non_null(refused);
        assert_int_equal(refused->refusal, REFUSAL_CONTENT);
}

static void what_is_not_there_is_not_sealed_anew(void **state) {
        put(g.s, "db", 1, "one");
        reseal(g.s, "db", 2, "two");
        assert_refused(g.s);
        reseal(g.s, "none", 1, "one");
        assert_refused(g.s);
        reseal(g.s, "db", 1, "another length");
        assert_refused(g.s);
        assert_version(g.s, "db", 0, 1, "one");
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(a_version_is_sealed_anew_and_stays_what_it_is, make_state,
                                        free_state),
        cmocka_unit_test_setup_teardown(what_is_not_there_is_not_sealed_anew, make_state,
                                        free_state)
)
