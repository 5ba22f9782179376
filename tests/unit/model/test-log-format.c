// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "batch.h"
#include "cluster-state.h"
#include "feature-level.h"
#include "log-format.h"

#define WEB "[Service]\nExecStart=/bin/sleep 1000\n"

// Appended to a packed message: field 1900, a number, that no version has.
static const uint8_t unknown_field[] = {0xe0, 0x76, 0x05};

static int check_batch(const Batch *b, uint32_t level, char what[LOG_FORMAT_WHAT_MAX]) {
        *what = 0;
        return log_format_check(&b->log.base, level, what);
}

// As it comes out of the log.
static Argosy__LogBatch *decode(const Batch *b) {
        size_t len = argosy__log_batch__get_packed_size(&b->log);
        uint8_t *packed = malloc(len + 1);

        argosy__log_batch__pack(&b->log, packed);
        Argosy__LogBatch *batch = argosy__log_batch__unpack(NULL, len, packed);
        free(packed);
        assert_non_null(batch);
        return batch;
}

// Some of everything that the first level has.
static void fill(Batch *b) {
        batch_cluster(b, 1);
        Argosy__HostRecord *host = batch_host(b, 0, "n1", 1);
        host->role = ARGOSY__HOST_ROLE__ROLE_VOTER;
        batch_unit(b, "a.service", WEB, (UnitPut){.target = LAUNCHED, .node = 1, .start = true});
        batch_outcome(b, "a.service", 1, 4, ARGOSY__OUTCOME__KIND__DONE);
        batch_unit_remove(b, "b.service");
        batch_request(b, 7);
}

static void what_the_first_version_wrote_is_readable_for_ever(void **state) {
        char what[LOG_FORMAT_WHAT_MAX];
        _cleanup_(batch_done) Batch b = {0};

        fill(&b);
        for (uint32_t level = FEATURE_BASE; level <= FEATURE_NEWEST; level++)
                assert_int_equal(check_batch(&b, level, what), 0);
        Argosy__LogBatch *batch = decode(&b);
        assert_int_equal(log_format_check(&batch->base, FEATURE_BASE, NULL), 0);
        argosy__log_batch__free_unpacked(batch, NULL);
}

static void an_unknown_field_is_found_wherever_it_is(void **state) {
        char what[LOG_FORMAT_WHAT_MAX];
        ProtobufCMessageUnknownField field = {
                .tag = 1900, .wire_type = PROTOBUF_C_WIRE_TYPE_VARINT, .len = 1, .data = (uint8_t *) "\5"};
        _cleanup_(batch_done) Batch b = {0};
        ProtobufCMessage *hosts[4];

        fill(&b);
        Argosy__LogBatch *batch = decode(&b);
        hosts[0] = &batch->base;
        hosts[1] = &batch->ops[0]->base;
        hosts[2] = &batch->ops[1]->host->nodes[0]->base; // repeated
        hosts[3] = &batch->ops[3]->unit->unit->base;
        for (size_t i = 0; i < ELEMENTSOF(hosts); i++) {
                hosts[i]->n_unknown_fields = 1;
                hosts[i]->unknown_fields = &field;
                assert_int_equal(log_format_check(&batch->base, FEATURE_NEWEST, what), -EPROTONOSUPPORT);
                assert_memory_equal(what, "field 1900 of ", 14);
                hosts[i]->n_unknown_fields = 0;
                hosts[i]->unknown_fields = NULL;
        }
        assert_int_equal(log_format_check(&batch->base, FEATURE_NEWEST, what), 0);
        argosy__log_batch__free_unpacked(batch, NULL);
}

static void an_unknown_value_is_no_other_value(void **state) {
        char what[LOG_FORMAT_WHAT_MAX];
        _cleanup_(batch_done) Batch b = {0};

        fill(&b);
        b.log.ops[3]->unit->unit->target = 17;
        assert_int_equal(check_batch(&b, FEATURE_NEWEST, what), -EPROTONOSUPPORT);
        assert_string_equal(what, "value 17 of Target");
}

static void what_came_later_needs_its_level(void **state) {
        char what[LOG_FORMAT_WHAT_MAX];
        _cleanup_(batch_done) Batch b = {0};

        fill(&b);
        b.log.ops[0]->cluster->synthetic = true;
        assert_int_equal(check_batch(&b, FEATURE_SYNTHETIC - 1, what), -EPROTONOSUPPORT);
        assert_string_equal(what, "field 1000 of ClusterRecord");
        assert_int_equal(check_batch(&b, FEATURE_SYNTHETIC, what), 0);
        b.log.ops[0]->cluster->synthetic = false; // it is not on the wire
        assert_int_equal(check_batch(&b, FEATURE_BASE, what), 0);
}

// ------------------------------------------------------------------------------------------------ the state

static void expect_units(ClusterState *s, size_t n) {
        assert_int_equal(cluster_state_n_units(s), n);
}

static void a_batch_that_cannot_be_read_is_not_applied_in_part(void **state) {
        _cleanup_(cluster_state_freep) ClusterState *s = cluster_state_new();
        Batch b = {0};

        cluster_state_set_build_level(s, FEATURE_BASE);
        fill(&b);
        assert_int_equal(cluster_state_apply(s, &b.log), 0);
        expect_units(s, 1);
        batch_done(&b);
        uint64_t revision = cluster_state_revision(s);

        batch_unit(&b, "c.service", WEB, (UnitPut){.target = LAUNCHED});
        batch_unit(&b, "d.service", WEB, (UnitPut){.target = 17});
        assert_int_equal(cluster_state_apply(s, &b.log), -EPROTONOSUPPORT);
        assert_non_null(strstr(cluster_state_unreadable(s), "value 17 of Target"));
        expect_units(s, 1);
        assert_int_equal(cluster_state_revision(s), revision);
        batch_done(&b);
}

static void a_level_that_the_build_does_not_have_ends_it(void **state) {
        _cleanup_(cluster_state_freep) ClusterState *older = cluster_state_new(),
                                                    *newer = cluster_state_new(),
                                                    *fresh = cluster_state_new();
        Buf image = {};
        Batch b = {0};

        cluster_state_set_build_level(older, FEATURE_BASE);
        cluster_state_set_build_level(newer, FEATURE_BASE + 1);
        cluster_state_set_build_level(fresh, FEATURE_BASE);
        fill(&b);
        b.log.ops[0]->cluster->feature_level = FEATURE_BASE;
        assert_int_equal(cluster_state_apply(older, &b.log), 0);
        assert_int_equal(cluster_state_apply(newer, &b.log), 0);
        assert_int_equal(cluster_state_encode(newer, &image), 0);
        assert_int_equal(cluster_state_restore(fresh, image.data, image.len), 0); // back to the older build
        batch_done(&b);

        batch_cluster(&b, 1);
        b.log.ops[0]->cluster->feature_level = FEATURE_BASE + 1;
        assert_int_equal(cluster_state_apply(newer, &b.log), 0);
        assert_int_equal(cluster_state_apply(older, &b.log), -EPROTONOSUPPORT);
        assert_string_equal(cluster_state_unreadable(older),
                            "the cluster is at feature level 2, this argosyd "
                            "has 1. Install the newer one again");
        buf_done(&image);
        assert_int_equal(cluster_state_encode(newer, &image), 0);
        assert_int_equal(cluster_state_restore(fresh, image.data, image.len), -EPROTONOSUPPORT);
        assert_int_equal(cluster_state_feature_level(fresh), FEATURE_BASE); // as before
        expect_units(fresh, 1);
        buf_done(&image);
        batch_done(&b);
}

static void an_image_that_cannot_be_read_changes_nothing(void **state) {
        _cleanup_(cluster_state_freep) ClusterState *s = cluster_state_new(), *other = cluster_state_new();
        _cleanup_buf_ Buf image = {};
        _cleanup_(batch_done) Batch b = {0};

        fill(&b);
        assert_int_equal(cluster_state_apply(s, &b.log), 0);
        assert_int_equal(cluster_state_encode(s, &image), 0);
        assert_int_equal(cluster_state_restore(other, image.data, image.len), 0);
        assert_true(buf_append(&image, unknown_field, sizeof unknown_field) >= 0);
        assert_int_equal(cluster_state_restore(s, image.data, image.len), -EPROTONOSUPPORT);
        assert_non_null(strstr(cluster_state_unreadable(s), "field 1900 of StateImage"));
        expect_units(s, 1);
}

RUN_TESTS(
        cmocka_unit_test(what_the_first_version_wrote_is_readable_for_ever),
        cmocka_unit_test(an_unknown_field_is_found_wherever_it_is),
        cmocka_unit_test(an_unknown_value_is_no_other_value),
        cmocka_unit_test(what_came_later_needs_its_level),
        cmocka_unit_test(a_batch_that_cannot_be_read_is_not_applied_in_part),
        cmocka_unit_test(a_level_that_the_build_does_not_have_ends_it),
        cmocka_unit_test(an_image_that_cannot_be_read_changes_nothing)
)
