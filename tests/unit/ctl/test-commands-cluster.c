// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Commands about the cluster: roles and pools, managers, joining.
#include <unistd.h>

#include "command-words.h"
#include "messages.h"

// ---- hosts that are not heard

static void expect_manager(FakeDaemon *d, Argosy__Request__WhatCase what) {
        _cleanup_request_ Argosy__Request *q = fake_read(d);

        assert(q->what_case == what);
}

static void attaches_both(FakeDaemon *d) {
        fake_accept(d);
        for (int i = 0; i < 2; i++) { // all of them first
                expect_manager(d, ARGOSY__REQUEST__WHAT_MANAGER_ATTACH);
                reply_error(d, 0, "", false);
        }
        for (int i = 0; i < 2; i++) {
                expect_manager(d, ARGOSY__REQUEST__WHAT_MANAGER_WAIT);
                reply_error(d, 0, "", false);
        }
}

static void attaches_only_here(FakeDaemon *d) {
        fake_accept(d);
        expect_manager(d, ARGOSY__REQUEST__WHAT_MANAGER_ATTACH);
        reply_error(d, 0, "", false);
}

static void detaches_what_the_cluster_keeps(FakeDaemon *d) {
        fake_accept(d);
        expect_manager(d, ARGOSY__REQUEST__WHAT_MANAGER_DETACH);
        reply_error(d, 0, "", false);
        _cleanup_request_ Argosy__Request *q = fake_read(d);
        assert(q->what_case == ARGOSY__REQUEST__WHAT_MANAGER_WAIT && q->manager_wait->detached);
        assert(streq(q->manager_wait->manager, "user@1001"));
        reply_error(d, EINVAL, "it has 20000 labels", false);
}

static void what_the_host_has_done_with_a_manager_is_said_apart(void **state) {
        _cleanup_outcome_ Outcome a = run(attaches_both, "manager attach user@1001 user@1002"),
                                  b = run(attaches_only_here, "manager attach --no-block user@1001"),
                                  c = run(detaches_what_the_cluster_keeps, "manager detach user@1001");

        assert_warns(a, 0, "");
        assert_int_equal(b.code, 0);
        assert_warns(c, 1, "argosyctl: user@1001 is detached on this host, but the cluster may still "
                           "show it: it has 20000 labels\n");
}

// ---- roles and pools

static void assert_amount(const Argosy__Amount *a, const char *resource, uint64_t amount, bool unset) {
        assert(streq(a->resource, resource));
        assert(a->amount == amount);
        assert(a->unset == unset);
}

static void takes_a_role(FakeDaemon *d) {
        Argosy__Response r = RESPONSE_WITH(.final = true);
        _cleanup_request_ Argosy__Request *q = fake_take(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_ROLE_CHANGE);
        const Argosy__Request__RoleChange *m = q->role_change;
        assert(streq(m->name, "web") && m->weight == 3 && !m->remove);
        assert(m->n_guarantee == 1 && m->n_limit == 4);
        assert_amount(m->guarantee[0], "cpu", 1500, false);
        assert_amount(m->limit[0], "memory", 2048, false);
        assert_amount(m->limit[1], "gpu", 2, false);
        assert_amount(m->limit[2], "cpu", 0, true);
        assert_amount(m->limit[3], "fan", 0, true);
        fake_reply_last(d, &r);
}

static void settings_of_a_role_are_named_as_options_of_units_are(void **state) {
        _cleanup_outcome_ Outcome o =
                run(takes_a_role, "role set web Weight=3 GuaranteeCPU=150% LimitMemory=2G "
                                  "LimitResource=gpu:2 LimitCPU= LimitResource=fan:");

        assert_string_equal(o.err, "");
        assert_int_equal(o.code, 0);
}

static void what_is_no_setting_never_reaches_the_daemon(void **state) {
        static const char *const bad[] = {
                "role set web Weight=0",       "role set web Weight=10001",
                "role set web LimitCPU=-1",    "role set web Limit=3",
                "role set web LimitCPUs=3",    "role set web cpu=3",
                "role set web LimitMemory=1X", "role set web LimitResource=gpu:x",
        };

        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                _cleanup_outcome_ Outcome o = run_at("/nonexistent", bad[i]);

                assert_warns_of(o, 2, "is none of Weight=");
        }
}

static void has_a_role(FakeDaemon *d) {
        done(fake_take(d));
        Argosy__Response__RoleUse cpu = MESSAGE_OF(response__role_use, .resource = "cpu", .used = 1500,
                                                   .total = 6000, .has_limit = true, .limit = 4000),
                                  *uses = &cpu;
        Argosy__Response__RoleRow row = MESSAGE_OF(response__role_row, .name = "web", .weight = 2,
                                                   .share_permille = 250, .units = 3, .waiting = 1,
                                                   .uses = &uses, .n_uses = 1),
                                  *rows = &row;
        Argosy__Response__Roles roles = MESSAGE_OF(response__roles, .rows = &rows, .n_rows = 1);
        fake_reply_last(d, A_RESPONSE(ROLES, roles, &roles, .final = true));
}

static void roles_are_shown_for_people_and_programs(void **state) {
        _cleanup_outcome_ Outcome table = run(has_a_role, "role show"),
                                  json = run(has_a_role, "role show --json=short");

        assert_string_equal(table.out, "ROLE WEIGHT SHARE UNITS WAITING USED    GUARANTEE LIMIT\n"
                                       "web  2      25.0% 3     1       cpu=1.5 -         cpu=4\n");
        assert_string_equal(json.out, "[{\"role\":\"web\",\"weight\":2,\"share_permille\":250,\"units\":3,"
                                      "\"waiting\":1,\"resources\":[{\"resource\":\"cpu\",\"used\":1500,"
                                      "\"total\":6000,\"guarantee\":null,\"limit\":4000}]}]\n");
}

// ---- rights

static void takes_a_right(FakeDaemon *d) {
        Argosy__Response r = RESPONSE_WITH(.final = true);
        _cleanup_request_ Argosy__Request *q = fake_take(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_ACCESS_CHANGE);
        const Argosy__Request__AccessChange *m = q->access_change;
        assert(m->right == ARGOSY__RIGHT__RIGHT_OPERATE && streq(m->user, "alice") && streq(m->host, "n2"));
        assert(!*m->group && streq(m->role, "web"));
        fake_reply_last(d, &r);
}

static void a_right_is_given_and_taken_back_in_the_same_words(void **state) {
        _cleanup_outcome_ Outcome give = run(takes_a_right,
                                             "access grant operate to user:alice@n2 on role web"),
                                  take = run(takes_a_right,
                                             "access revoke operate from user:alice@n2 on role web");

        assert_string_equal(give.err, "");
        assert_int_equal(give.code, 0);
        assert_string_equal(take.err, "");
        assert_int_equal(take.code, 0);
}

static void what_is_no_right_never_reaches_the_daemon(void **state) {
        static const char *const bad[] = {
                "access grant start to user:alice",
                "access grant view user:alice x",
                "access grant view to alice",
                "access grant view to user:",
                "access grant view to user:alice role web",
                "access grant view to user:alice on role",
                "access grant view to user:alice on pool web",
        };

        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                _cleanup_outcome_ Outcome o = run_at("/nonexistent", bad[i]);

                assert_int_equal(o.code, 2);
        }
}

static void has_rights(FakeDaemon *d) {
        Argosy__GrantRecord grants[3] = {ARGOSY__GRANT_RECORD__INIT, ARGOSY__GRANT_RECORD__INIT,
                                         ARGOSY__GRANT_RECORD__INIT};
        Argosy__Response__AccessRow rows[4] = {ARGOSY__RESPONSE__ACCESS_ROW__INIT,
                                               ARGOSY__RESPONSE__ACCESS_ROW__INIT,
                                               ARGOSY__RESPONSE__ACCESS_ROW__INIT,
                                               ARGOSY__RESPONSE__ACCESS_ROW__INIT},
                                    *pointers[] = {&rows[0], &rows[1], &rows[2], &rows[3]};
        Argosy__Response__Access access = ARGOSY__RESPONSE__ACCESS__INIT;
        Argosy__Response r = RESPONSE_OF(ACCESS, access, &access, .final = true);

        done(fake_take(d));
        grants[0].right = ARGOSY__RIGHT__RIGHT_OPERATE;
        grants[0].user = "alice";
        grants[0].host = 2;
        grants[0].role = "web";
        rows[0].host = "n2";
        grants[1].right = ARGOSY__RIGHT__RIGHT_VIEW;
        grants[1].user = "al@example.org";
        grants[2].right = ARGOSY__RIGHT__RIGHT_ADMIN;
        grants[2].group = "argosy";
        for (size_t i = 0; i < ELEMENTSOF(grants); i++) // the last row says nothing
                rows[i].grant = &grants[i];
        access.rows = pointers;
        access.n_rows = ELEMENTSOF(pointers);
        fake_reply_last(d, &r);
}

static void rights_are_shown_as_they_are_typed(void **state) {
        _cleanup_outcome_ Outcome table = run(has_rights, "access list"),
                                  json = run(has_rights, "access list --json=short");

        assert_string_equal(table.out, "RIGHT   WHO                  ON ROLE\n"
                                       "operate user:alice@n2        web\n"
                                       "view    user:al@example.org@ -\n"
                                       "admin   group:argosy         -\n");
        assert_string_equal(
                json.out,
                "[{\"right\":\"operate\",\"user\":\"alice\",\"group\":null,\"host\":\"n2\",\"role\":\"web\"}"
                ","
                "{\"right\":\"view\",\"user\":\"al@example.org\",\"group\":null,\"host\":null,\"role\":null}"
                ","
                "{\"right\":\"admin\",\"user\":null,\"group\":\"argosy\",\"host\":null,\"role\":null}]\n");
}

static void takes_a_pool(FakeDaemon *d) {
        Argosy__Response r = RESPONSE_WITH(.final = true);
        _cleanup_request_ Argosy__Request *q = fake_take(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_POOL_CHANGE);
        assert(streq(q->pool_change->name, "fast"));
        assert(q->pool_change->n_hosts == 2 && streq(q->pool_change->hosts[1], "n2"));
        assert(q->pool_change->n_labels == 1 && streq(q->pool_change->labels[0]->key, "disk") &&
               streq(q->pool_change->labels[0]->value, "ssd"));
        fake_reply_last(d, &r);
}

static void a_pool_is_made_of_nodes_and_labels(void **state) {
        _cleanup_outcome_ Outcome o = run(takes_a_pool, "pool set fast n1 disk=ssd n2");

        assert_int_equal(o.code, 0);
}

static void joins_and_dies(FakeDaemon *d) {
        _cleanup_request_ Argosy__Request *q = fake_take(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_CLUSTER_JOIN);
        assert(streq(q->cluster_join->address, "10.0.0.1:99") && streq(q->cluster_join->token, "secret"));
        assert(q->cluster_join->discard);
        fake_hang_up(d);
}

static void a_join_is_asked_once(void **state) {
        _cleanup_outcome_ Outcome o = run(joins_and_dies, "cluster join 10.0.0.1:99 secret --discard");

        assert_warns_of(o, 1, "the connection to argosyd was lost");
}

RUN_TESTS(
        cmocka_unit_test(settings_of_a_role_are_named_as_options_of_units_are),
        cmocka_unit_test(what_is_no_setting_never_reaches_the_daemon),
        cmocka_unit_test(roles_are_shown_for_people_and_programs),
        cmocka_unit_test(a_right_is_given_and_taken_back_in_the_same_words),
        cmocka_unit_test(what_is_no_right_never_reaches_the_daemon),
        cmocka_unit_test(rights_are_shown_as_they_are_typed),
        cmocka_unit_test(a_pool_is_made_of_nodes_and_labels),
        cmocka_unit_test(what_the_host_has_done_with_a_manager_is_said_apart),
        cmocka_unit_test(a_join_is_asked_once)
)
