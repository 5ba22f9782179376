// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Who may do what, as the log has it.

#include "author.h"
#include "cluster-words.h"
#include "messages.h"
#include "printed.h"

#define VIEW ARGOSY__RIGHT__RIGHT_VIEW
#define ADMIN ARGOSY__RIGHT__RIGHT_ADMIN

static void change(ClusterState *s, bool remove, Argosy__Right right, const char *user, const char *group,
                   uint32_t host) {
        Argosy__GrantRecord grant = GRANT_RECORD_OF(.right = right, .user = (char *) user,
                                                    .group = (char *) group, .host = host);
        Batch b = {0};

        batch_op(&b, remove ? ARGOSY__LOG_OP__OP_GRANT_REMOVE : ARGOSY__LOG_OP__OP_GRANT)->grant = &grant;
        apply(s, &b);
}

static size_t count(const ClusterState *s) {
        return cluster_state_access(s).n;
}

static void the_first_change_keeps_what_a_new_cluster_has(void **state) {
        assert_int_equal(count(g.s), 1);
        assert_string_equal(cluster_state_access(g.s).grants[0]->group, ACCESS_GROUP);
        change(g.s, false, VIEW, "alice", "", 0);
        assert_int_equal(count(g.s), 2);
        assert_string_equal(cluster_state_access(g.s).grants[0]->user, "alice"); // no group comes first
        assert_string_equal(cluster_state_access(g.s).grants[1]->group, ACCESS_GROUP);
        assert_int_equal(cluster_state_access_revision(g.s), cluster_state_revision(g.s));
}

static void what_a_new_cluster_has_can_be_taken_back(void **state) {
        change(g.s, true, ADMIN, "", ACCESS_GROUP, 0);
        assert_int_equal(count(g.s), 0);
}

static void what_changes_nothing_is_skipped(void **state) {
        char name[AUTHOR_NAME_MAX + 2];

        change(g.s, false, VIEW, "alice", "", 0);
        uint64_t before = cluster_state_revision(g.s);
        memset(name, 'a', sizeof name - 1);
        name[sizeof name - 1] = 0;
        change(g.s, false, VIEW, "alice", "", 0);
        change(g.s, false, ADMIN, "", ACCESS_GROUP, 0);
        change(g.s, true, VIEW, "bob", "", 0);
        change(g.s, false, VIEW, "", "", 0);
        change(g.s, false, VIEW, "alice", "staff", 0);
        change(g.s, false, VIEW, name, "", 0);
        change(g.s, false, VIEW, "alice", "", 3); // there is no such host
        assert_int_equal(cluster_state_revision(g.s), before);
        assert_int_equal(count(g.s), 2);
}

static void there_are_only_so_many(void **state) {
        for (unsigned i = 0; i <= CLUSTER_GRANTS_MAX; i++) {
                change(g.s, false, VIEW, printed("u%u", i), "", 0);
        }
        assert_int_equal(count(g.s), CLUSTER_GRANTS_MAX);
}

static void users_of_a_host_lose_what_they_have_with_it(void **state) {
        Argosy__LogOp__HostRemove remove = MESSAGE_OF(log_op__host_remove, .host = 2);

        batch_host(&g.b, 0, "one", 1);
        batch_host(&g.b, 0, "two", 1);
        apply(g.s, &g.b);
        change(g.s, false, VIEW, "alice", "", 1);
        change(g.s, false, VIEW, "alice", "", 2);
        change(g.s, false, VIEW, "bob", "", 2);
        assert_int_equal(count(g.s), 4);
        batch_op(&g.b, ARGOSY__LOG_OP__OP_HOST_REMOVE)->host_remove = &remove;
        apply(g.s, &g.b);
        assert_int_equal(count(g.s), 2);
        assert_int_equal(cluster_state_access(g.s).grants[0]->host, 1);
        assert_int_equal(cluster_state_access_revision(g.s), cluster_state_revision(g.s));
}

static void rights_are_part_of_the_image(void **state) {
        ClusterState *s = *state, *t = cluster_state_new();
        _cleanup_buf_ Buf none = {0}, first = {0}, second = {0};

        assert_int_equal(cluster_state_encode(s, &none), 0);
        change(s, true, ADMIN, "", ACCESS_GROUP, 0);
        assert_int_equal(cluster_state_encode(s, &first), 0);
        assert_int_equal(cluster_state_restore(t, first.data, first.len), 0);
        assert_int_equal(count(t), 0); // and not those of a new cluster
        change(s, false, VIEW, "", "web", 0);
        change(s, false, VIEW, "alice", "", 0);
        buf_done(&first);
        assert_int_equal(cluster_state_encode(s, &first), 0);
        assert_int_equal(cluster_state_restore(t, first.data, first.len), 0);
        assert_int_equal(cluster_state_encode(t, &second), 0);
        assert_int_equal(first.len, second.len);
        assert_memory_equal(first.data, second.data, first.len);
        assert_int_equal(count(t), 2);
        assert_int_equal(cluster_state_restore(t, none.data, none.len), 0);
        assert_int_equal(count(t), 1);
        cluster_state_free(t);
}

static void an_image_that_contradicts_itself_is_refused(void **state) {
        Argosy__GrantRecord one = ARGOSY__GRANT_RECORD__INIT, two = ARGOSY__GRANT_RECORD__INIT,
                            *both[] = {&one, &two};
        Argosy__StateImage image =
                MESSAGE_OF(state_image, .grants = both, .n_grants = 2, .access_set = true);
        uint8_t bytes[256];

        one.right = two.right = VIEW;
        one.user = "bob";
        two.user = "alice"; // comes before the other one
        size_t len = argosy__state_image__pack(&image, bytes);
        assert_int_equal(cluster_state_restore(g.s, bytes, len), -EBADMSG);
        two.user = "carol";
        len = argosy__state_image__pack(&image, bytes);
        assert_int_equal(cluster_state_restore(g.s, bytes, len), 0);
        image.access_set = false;
        len = argosy__state_image__pack(&image, bytes);
        assert_int_equal(cluster_state_restore(g.s, bytes, len), -EBADMSG);
        image.access_set = true;
        two.host = 9;
        len = argosy__state_image__pack(&image, bytes);
        assert_int_equal(cluster_state_restore(g.s, bytes, len), -EBADMSG);
}

RUN_TESTS(
        TEST(the_first_change_keeps_what_a_new_cluster_has),
        TEST(what_a_new_cluster_has_can_be_taken_back),
        TEST(what_changes_nothing_is_skipped),
        TEST(there_are_only_so_many),
        TEST(users_of_a_host_lose_what_they_have_with_it),
        TEST(rights_are_part_of_the_image),
        TEST(an_image_that_contradicts_itself_is_refused)
)
