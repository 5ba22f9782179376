// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "decide.h"
#include "messages.h"

static const uint8_t cluster[16] = "the cluster's id", other[16] = "somebody else's ";

static uint32_t leader_of(const LeaderClaim *claims, size_t n, uint64_t *newest) {
        const LeaderClaim *c = decide_leader(claims, n, newest);

        return c ? c->host : 0;
}

static void nobody_leads_without_a_claim(void **state) {
        const LeaderClaim claims[] = {{1, false, 5}, {2, false, 9}};
        uint64_t newest = 0;

        assert_int_equal(leader_of(claims, 2, &newest), 0);
        assert_int_equal(leader_of(claims, 0, &newest), 0);
        assert_int_equal(newest, 0); // a term that nobody leads in says nothing
}

static void the_newest_term_wins(void **state) {
        const LeaderClaim claims[] = {{1, true, 5}, {2, true, 7}, {3, true, 6}};
        uint64_t newest = 0;

        assert_int_equal(leader_of(claims, 3, &newest), 2);
        assert_int_equal(newest, 7);
}

static void an_old_claim_is_not_believed_when_the_newer_leader_is_gone(void **state) {
        const LeaderClaim before[] = {{1, true, 5}, {2, true, 7}}, gone[] = {{1, true, 5}},
                          after[] = {{1, true, 8}};
        uint64_t newest = 0;

        assert_int_equal(leader_of(before, 2, &newest), 2);
        assert_int_equal(leader_of(gone, 1, &newest), 0);
        assert_int_equal(leader_of(after, 1, &newest), 1);
}

static void the_same_leader_is_believed_again(void **state) {
        const LeaderClaim claims[] = {{2, true, 7}};
        uint64_t newest = 7;

        assert_int_equal(leader_of(claims, 1, &newest), 2);
}

static void delays_double_up_to_the_longest(void **state) {
        static const unsigned most[] = {100, 200, 400, 800, 1600, 2000, 2000};

        for (unsigned i = 0; i < 7; i++) {
                assert_int_equal(decide_redial_ms(i, 100, 2000, 0), most[i] / 2);
                assert_in_range(decide_redial_ms(i, 100, 2000, UINT32_MAX), most[i] - 1, most[i]);
        }
        assert_int_equal(decide_redial_ms(4000000000, 100, 2000, 0), 1000);
}

static void only_members_of_this_cluster_may_talk(void **state) {
        Argosy__ToVoter__Hello hello = HELLO_OF(.host = 3, .generation = 2);

        assert_string_equal(decide_hello(&hello, 3, cluster, 2), "it belongs to another cluster");
        hello.cluster_id = (ProtobufCBinaryData){15, (uint8_t *) cluster};
        assert_string_equal(decide_hello(&hello, 3, cluster, 2), "it belongs to another cluster");
        hello.cluster_id = (ProtobufCBinaryData){16, (uint8_t *) other};
        assert_string_equal(decide_hello(&hello, 3, cluster, 2), "it belongs to another cluster");
        hello.cluster_id.data = (uint8_t *) cluster;
        assert_null(decide_hello(&hello, 3, cluster, 2));
        assert_non_null(strstr(decide_hello(&hello, 4, cluster, 2), "another host"));
        assert_non_null(strstr(decide_hello(&hello, 3, cluster, 1), "recovered without this voter"));
        assert_null(decide_hello(&hello, 3, cluster, 3)); // it learns the new generation here
}

RUN_TESTS(
        cmocka_unit_test(nobody_leads_without_a_claim),
        cmocka_unit_test(the_newest_term_wins),
        cmocka_unit_test(an_old_claim_is_not_believed_when_the_newer_leader_is_gone),
        cmocka_unit_test(the_same_leader_is_believed_again),
        cmocka_unit_test(delays_double_up_to_the_longest),
        cmocka_unit_test(only_members_of_this_cluster_may_talk)
)
