// SPDX-License-Identifier: LGPL-2.1-or-later
//
// An entry of the log in the making: which operations it gets, what it knows that it touches, and that what
// is taken back leaves no trace.
#include "batch-builder.h"
#include "test.h"
#include "messages.h"

static BatchBuilder b;

FIXTURE(setup) {
        b = (BatchBuilder){};
}

FIXTURE(teardown) {
        batch_builder_done(&b);
}

static Argosy__LogBatch *unpacked(void) {
        Argosy__LogBatch *batch = argosy__log_batch__unpack(NULL, b.packed.len, b.packed.data);

        assert_non_null(batch);
        assert_int_equal(batch->n_ops, b.n_ops);
        return batch;
}

static void put_one_of_each(void) {
        Argosy__RolloutRecord rollout = ROLLOUT_RECORD_OF(.name = (char *) "rolled@.service");
        Argosy__RoleRecord role = MESSAGE_OF(role_record, .name = (char *) "role");
        Argosy__PoolRecord pool = MESSAGE_OF(pool_record, .name = (char *) "pool");
        Argosy__HostRecord host = HOST_RECORD_OF(.host = 7);
        Argosy__ClusterRecord cluster = ARGOSY__CLUSTER_RECORD__INIT;
        Hash hash = hash_of("content", 7);

        assert_int_equal(batch_builder_put_rollout(&b, &rollout), 0);
        assert_int_equal(batch_builder_put_role(&b, &role), 0);
        assert_int_equal(batch_builder_remove_role(&b, "old role"), 0);
        assert_int_equal(batch_builder_put_pool(&b, &pool), 0);
        assert_int_equal(batch_builder_remove_pool(&b, "old pool"), 0);
        assert_int_equal(batch_builder_put_host(&b, &host), 0);
        assert_int_equal(batch_builder_remove_host(&b, 8), 0);
        assert_int_equal(batch_builder_put_cluster(&b, &cluster), 0);
        assert_int_equal(batch_builder_put_spec(&b, &hash, "content", 7), 0);
}

static void each_record_has_operations_of_its_own(void **state) {
        static const Argosy__LogOp__OpCase expected[] = {
                ARGOSY__LOG_OP__OP_ROLLOUT,     ARGOSY__LOG_OP__OP_ROLE,
                ARGOSY__LOG_OP__OP_ROLE_REMOVE, ARGOSY__LOG_OP__OP_POOL,
                ARGOSY__LOG_OP__OP_POOL_REMOVE, ARGOSY__LOG_OP__OP_HOST,
                ARGOSY__LOG_OP__OP_HOST_REMOVE, ARGOSY__LOG_OP__OP_CLUSTER,
                ARGOSY__LOG_OP__OP_SPEC,
        };

        put_one_of_each();
        Argosy__LogBatch *batch = unpacked();
        assert_int_equal(batch->n_ops, sizeof(expected) / sizeof(expected[0]));
        for (size_t i = 0; i < batch->n_ops; i++)
                assert_int_equal(batch->ops[i]->op_case, expected[i]);
        assert_string_equal(batch->ops[0]->rollout->name, "rolled@.service");
        assert_string_equal(batch->ops[1]->role->name, "role");
        assert_string_equal(batch->ops[2]->role_remove->name, "old role");
        assert_string_equal(batch->ops[3]->pool->name, "pool");
        assert_string_equal(batch->ops[4]->pool_remove->name, "old pool");
        assert_int_equal(batch->ops[5]->host->host, 7);
        assert_int_equal(batch->ops[6]->host_remove->host, 8);
        argosy__log_batch__free_unpacked(batch, NULL);
}

static void what_has_the_same_name_is_not_the_same(void **state) {
        Argosy__RoleRecord role = MESSAGE_OF(role_record, .name = (char *) "web");

        assert_int_equal(batch_builder_put_role(&b, &role), 0);
        assert_true(batch_builder_has_role(&b, "web"));
        assert_false(batch_builder_uses_role(&b, "web"));
        assert_false(batch_builder_has_pool(&b, "web"));
        assert_false(batch_builder_has_rollout(&b, "web"));
        assert_false(batch_builder_has_unit(&b, "web"));
        assert_false(batch_builder_has_order(&b, "web"));
        assert_int_equal(batch_builder_use_role(&b, "web"), 0);
        assert_true(batch_builder_uses_role(&b, "web"));
        assert_int_equal(batch_builder_note_order(&b, "web"), 0);
        assert_int_equal(batch_builder_note_order(&b, "web"), 0);
        assert_true(batch_builder_has_order(&b, "web"));
        assert_int_equal(batch_builder_claim(&b, "web", 3), 0);
        assert_int_equal(batch_builder_claim(&b, "web", 3), -EBUSY);
        assert_false(batch_builder_has_unit(&b, "web"));
        assert_int_equal(b.n_ops, 1);
}

static void what_is_taken_back_leaves_no_trace(void **state) {
        Argosy__ClusterRecord cluster = ARGOSY__CLUSTER_RECORD__INIT;
        Argosy__UnitRecord unit = UNIT_RECORD_OF(.name = (char *) "a.service");
        size_t len;

        assert_int_equal(batch_builder_put_unit(&b, &unit, 0, 0), 0);
        BatchBuilderMark mark = batch_builder_mark(&b);
        len = b.packed.len;
        put_one_of_each();
        assert_true(batch_builder_has_pool(&b, "old pool"));
        assert_int_equal(batch_builder_put_cluster(&b, &cluster), -EBUSY);
        batch_builder_rollback(&b, mark);
        assert_int_equal(b.packed.len, len);
        assert_int_equal(b.n_ops, 1);
        assert_true(batch_builder_has_unit(&b, "a.service"));
        assert_false(batch_builder_has_pool(&b, "old pool"));
        assert_false(batch_builder_has_host(&b, 7));
        assert_false(batch_builder_has_cluster(&b));
        assert_int_equal(batch_builder_put_cluster(&b, &cluster), 0);
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(each_record_has_operations_of_its_own, setup, teardown),
        cmocka_unit_test_setup_teardown(what_has_the_same_name_is_not_the_same, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_taken_back_leaves_no_trace, setup, teardown)
)
