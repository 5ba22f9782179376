// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What jobs have replaced can be read again: contents that no unit has any more stay as long as a job names
// them, and no longer; within their bytes; and the same ones on every voter.
#include "jobs-words.h"

#define DAY (UINT64_C(86400) * 1000000)

enum { BIG = 64 * 1024 };

// A unit's new content, as a job.
static void put(ClusterState *s, const char *name, const char *content, uint64_t at_us) {
        Batch b = {};

        batch_unit(&b, name, content, (UnitPut){.target = LAUNCHED});
        batch_job(&b, (JobPut){.n_ops = 2});
        batch_set_time(&b, s, at_us);
        apply(s, &b);
}

static SpecEntry *find(ClusterState *s, const char *content) {
        Hash hash = hash_of(content, strlen(content));

        return cluster_state_find_spec(s, &hash);
}

static bool is_kept(ClusterState *s, const char *content) {
        SpecEntry *spec = find(s, content);

        assert_true(!spec ||
                    (spec->len == strlen(content) && memcmp(spec->content, content, spec->len) == 0));
        return spec && spec_entry_is_former(spec);
}

static void a_job_says_what_became(void **state) {
        Hash web = hash_of(WEB, strlen(WEB)), web2 = hash_of(WEB2, strlen(WEB2));

        begin(g.s, 1);
        put(g.s, "a.service", WEB, 1);
        _cleanup_(message_freep) Argosy__JobRecord *record = job(g.s, 1);
        assert_int_equal(record->units[0]->spec.len, 0);
        assert_memory_equal(record->units[0]->spec_after.data, &web, HASH_SIZE);
        assert_int_equal(record->units[0]->target_after, LAUNCHED);
        message_free(record);

        put(g.s, "a.service", WEB2, 1);
        record = job(g.s, 2);
        assert_memory_equal(record->units[0]->spec.data, &web, HASH_SIZE);
        assert_memory_equal(record->units[0]->spec_after.data, &web2, HASH_SIZE);
        message_free(record);

        batch_unit_only(&g.b, "a.service", &web2, (UnitPut){.target = LOADED})->from_template = true;
        batch_job(&g.b, (JobPut){.n_ops = 1});
        apply(g.s, &g.b);
        record = job(g.s, 3);
        assert_int_equal(record->units[0]->spec_after.len, 0); // the same
        assert_int_equal(record->units[0]->target_after, LOADED);
        assert_false(record->units[0]->from_template);
        message_free(record);

        batch_unit_remove(&g.b, "a.service");
        batch_job(&g.b, (JobPut){.n_ops = 1});
        apply(g.s, &g.b);
        record = job(g.s, 4);
        assert_true(record->units[0]->gone);
        assert_true(record->units[0]->from_template);
        assert_int_equal(record->units[0]->spec_after.len, 0);
}

static void what_a_job_replaced_stays(void **state) {
        begin(g.s, 1);
        put(g.s, "a.service", WEB, 1);
        assert_false(is_kept(g.s, WEB)); // it is in use
        put(g.s, "a.service", WEB2, 1);
        assert_true(is_kept(g.s, WEB));
        batch_unit_remove(&g.b, "a.service");
        batch_job(&g.b, (JobPut){.n_ops = 1});
        apply(g.s, &g.b);
        assert_true(is_kept(g.s, WEB));
        assert_true(is_kept(g.s, WEB2));
        assert_int_equal(cluster_state_former_specs_bytes(g.s),
                         strlen(WEB) + strlen(WEB2) + 2 * CLUSTER_FORMER_SPEC_EXTRA);
        pass_through_image(g.s);
        assert_true(is_kept(g.s, WEB));
        assert_true(is_kept(g.s, WEB2));
        assert_int_equal(cluster_state_former_specs_bytes(g.s),
                         strlen(WEB) + strlen(WEB2) + 2 * CLUSTER_FORMER_SPEC_EXTRA);
}

static void what_no_job_names_goes_at_once(void **state) {
        begin(g.s, 1);
        batch_unit(&g.b, "a.service", WEB, (UnitPut){.target = LAUNCHED});
        apply(g.s, &g.b);
        batch_unit(&g.b, "a.service", WEB2, (UnitPut){.target = LAUNCHED});
        apply(g.s, &g.b);
        assert_null(find(g.s, WEB));
        assert_int_equal(cluster_state_former_specs_bytes(g.s), 0);
}

static void it_can_be_used_again(void **state) {
        Hash web = hash_of(WEB, strlen(WEB));

        begin(g.s, 1);
        put(g.s, "a.service", WEB, 1);
        put(g.s, "a.service", WEB2, 1);
        batch_unit_only(&g.b, "b.service", &web, (UnitPut){.target = LAUNCHED}); // without being sent again
        apply(g.s, &g.b);
        assert_non_null(cluster_state_find_unit(g.s, "b.service"));
        assert_false(is_kept(g.s, WEB));
        assert_int_equal(cluster_state_former_specs_bytes(g.s), 0);
        batch_unit_remove(&g.b, "b.service");
        apply(g.s, &g.b);
        assert_true(is_kept(g.s, WEB)); // jobs 1 and 2 name it
}

static void it_goes_with_the_last_job_that_names_it(void **state) {
        begin(g.s, DAY);
        put(g.s, "a.service", WEB, DAY);
        put(g.s, "a.service", WEB2, 5 * DAY);
        put(g.s, "b.service", WEB2, (CLUSTER_JOB_DAYS_MAX + 2) * DAY); // the first job is too old by now
        assert_int_equal(cluster_state_first_job(g.s), 2);
        assert_true(is_kept(g.s, WEB));
        pass_through_image(g.s);
        batch_unit_remove(&g.b, "b.service");
        batch_set_time(&g.b, g.s, (CLUSTER_JOB_DAYS_MAX + 6) * DAY);
        apply(g.s, &g.b);
        assert_int_equal(cluster_state_first_job(g.s), 3);
        assert_null(find(g.s, WEB));
        assert_non_null(find(g.s, WEB2));
}

static void big(char ret[BIG + 1], unsigned i) {
        memset(ret, 'x', BIG);
        ret[BIG] = 0;
        snprintf(ret, 16, "# %u", i);
        ret[strlen(ret)] = '\n';
}

static void they_take_no_more_than_they_may(void **state) {
        enum { TOO_MANY = CLUSTER_HISTORY_MIB_DEFAULT * 1024 * 1024 / BIG + 20 };
        static char content[BIG + 1];

        begin(g.s, 1);
        for (unsigned i = 0; i < TOO_MANY; i++) {
                big(content, i);
                put(g.s, "a.service", content, 1);
        }
        assert_true(cluster_state_former_specs_bytes(g.s) <= cluster_state_history_bytes(g.s));
        assert_true(cluster_state_former_specs_bytes(g.s) > cluster_state_history_bytes(g.s) - 2 * BIG);
        big(content, 0);
        assert_null(find(g.s, content)); // the oldest one
        big(content, TOO_MANY - 2);
        assert_true(is_kept(g.s, content));
        assert_int_equal(cluster_state_first_job(g.s), 1); // the jobs stay
}

static void what_is_forgotten_is_gone(void **state) {
        Hash web = hash_of(WEB, strlen(WEB));

        begin(g.s, 1);
        put(g.s, "a.service", WEB, 1);
        put(g.s, "a.service", WEB2, 1);
        uint64_t before = cluster_state_revision(g.s);
        batch_spec_forget(&g.b, WEB2); // in use
        apply(g.s, &g.b);
        assert_non_null(find(g.s, WEB2));
        assert_int_equal(cluster_state_revision(g.s), before);
        batch_spec_forget(&g.b, WEB);
        batch_unit_only(&g.b, "b.service", &web, (UnitPut){.target = LAUNCHED}); // wanted again by then
        apply(g.s, &g.b);
        assert_non_null(find(g.s, WEB));
        put(g.s, "b.service", WEB2, 1);
        assert_true(is_kept(g.s, WEB)); // by a job of its own
        batch_spec_forget(&g.b, WEB);
        apply(g.s, &g.b);
        assert_null(find(g.s, WEB));
        assert_int_equal(cluster_state_former_specs_bytes(g.s), 0);
        pass_through_image(g.s);
}

static void an_image_is_looked_at(void **state) {
        Hash web = hash_of(WEB, strlen(WEB));
        uint8_t packed[256];
        Argosy__Spec spec = MESSAGE_OF(spec, .hash = (ProtobufCBinaryData){HASH_SIZE, web.bytes},
                                       .content = (ProtobufCBinaryData){strlen(WEB), (uint8_t *) WEB},
                                       .job = 2),
                     *specs = &spec;
        Argosy__StateImage image =
                MESSAGE_OF(state_image, .last_job = 1, .former_specs = &specs, .n_former_specs = 1);

        assert_int_equal(cluster_state_restore(g.s, packed, argosy__state_image__pack(&image, packed)),
                         -EBADMSG);
        spec.job = 0;
        assert_int_equal(cluster_state_restore(g.s, packed, argosy__state_image__pack(&image, packed)),
                         -EBADMSG);
        spec.job = 1;
        assert_int_equal(cluster_state_restore(g.s, packed, argosy__state_image__pack(&image, packed)), 0);
        assert_true(is_kept(g.s, WEB));
        web.bytes[0] ^= 1;
        assert_int_equal(cluster_state_restore(g.s, packed, argosy__state_image__pack(&image, packed)),
                         -EBADMSG);
}

RUN_TESTS(
        TEST(a_job_says_what_became),
        TEST(what_a_job_replaced_stays),
        TEST(what_no_job_names_goes_at_once),
        TEST(it_can_be_used_again),
        TEST(it_goes_with_the_last_job_that_names_it),
        TEST(they_take_no_more_than_they_may),
        TEST(what_is_forgotten_is_gone),
        TEST(an_image_is_looked_at)
)
