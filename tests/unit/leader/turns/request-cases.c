// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Requests about nodes, roles, pools, members, rights and secrets of a large cluster, each about as much as
// one may be about.
#include "turn-cases.h"

#include <errno.h>

#include "batch.h"
#include "clock.h"
#include "event-kind.h"
#include "large-cluster.h"
#include "messages.h"
#include "request-kind.h"
#include "request-rights.h"
#include "request-ties.h"
#include "secret-name.h"
#include "str.h"
#include "test.h"
#include "turn-asks.h"

enum { NODES_MAX = 1000 };

// ---- nodes, roles, pools

static void set_mode(Argosy__NodeMode mode) {
        Argosy__Request__NodeChange m = NODE_CHANGE_OF(.nodes = (char *[]){(char *) "n7"}, .n_nodes = 1,
                                                       .mode = mode);

        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_NODE_CHANGE, &m));
        large_cluster_turns(UINT_MAX);
}

static void drain_node(void) {
        set_mode(ARGOSY__NODE_MODE__MODE_DRAINING);
}

static void cordon_node(void) {
        set_mode(ARGOSY__NODE_MODE__MODE_CORDONED);
        set_mode(ARGOSY__NODE_MODE__MODE_OPEN);
}

static void maintain_node(void) {
        set_mode(ARGOSY__NODE_MODE__MODE_MAINTENANCE);
        set_mode(ARGOSY__NODE_MODE__MODE_OPEN);
}

static void set_modes(size_t n, Argosy__NodeMode mode) {
        char **nodes = calloc(n, sizeof(*nodes));

        for (size_t i = 0; i < n; i++)
                assert_non_null(nodes[i] = str_printf("n%zu", i + 1));
        Argosy__Request__NodeChange m = NODE_CHANGE_OF(.nodes = nodes, .n_nodes = n, .mode = mode);
        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_NODE_CHANGE, &m));
}

static void cordon_many(void) {
        set_modes(NODES_MAX, ARGOSY__NODE_MODE__MODE_CORDONED);
        set_modes(NODES_MAX, ARGOSY__NODE_MODE__MODE_OPEN);
}

static void drain_many(void) {
        set_modes(NODES_MAX, ARGOSY__NODE_MODE__MODE_DRAINING);
}

static void wait_for_drain(void) {
        Argosy__Request__DrainWait m = MESSAGE_OF(request__drain_wait, .node = (char *) "n7");

        drain_node();
        (void) ask_and_turn(ARGOSY__REQUEST__WHAT_DRAIN_WAIT, &m);
}

static void wait_for_manager(void) {
        Argosy__Request__ManagerWait m =
                MESSAGE_OF(request__manager_wait, .host = (char *) "n7", .manager = (char *) "user:joe");

        (void) ask_and_turn(ARGOSY__REQUEST__WHAT_MANAGER_WAIT, &m);
}

static void label_node(void) {
        Argosy__Label label = MESSAGE_OF(label, .key = (char *) "zone", .value = (char *) "b"),
                      *labels = &label;
        Argosy__Request__LabelChange m =
                MESSAGE_OF(request__label_change, .node = (char *) "n7", .set = &labels, .n_set = 1);

        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_LABEL_CHANGE, &m));
        large_cluster_turns(UINT_MAX);
}

static void list_nodes(void) {
        Argosy__Request__ListNodes m = ARGOSY__REQUEST__LIST_NODES__INIT;

        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_LIST_NODES, &m));
}

static void change_role(void) {
        Argosy__Amount amount = MESSAGE_OF(amount, .resource = (char *) "cpu", .amount = 1000),
                       *amounts = &amount;
        Argosy__Request__RoleChange m = MESSAGE_OF(request__role_change, .name = (char *) "crew",
                                                   .weight = 7, .limit = &amounts, .n_limit = 1);

        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_ROLE_CHANGE, &m));
}

static void remove_role(void) {
        Argosy__Request__RoleChange m =
                MESSAGE_OF(request__role_change, .name = (char *) "crew", .remove = true);

        (void) ask_and_turn(ARGOSY__REQUEST__WHAT_ROLE_CHANGE,
                            &m); // units are of it: that is found, and said
}

static void change_pool(void) {
        Argosy__Request__PoolList list = ARGOSY__REQUEST__POOL_LIST__INIT;
        Argosy__Label label = MESSAGE_OF(label, .key = (char *) "zone", .value = (char *) "a"),
                      *labels = &label;
        Argosy__Request__PoolChange m =
                MESSAGE_OF(request__pool_change, .name = (char *) "most", .labels = &labels, .n_labels = 1);

        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_POOL_CHANGE, &m));
        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_POOL_LIST, &list));
}

static void list_pools(void) {
        change_pool();
}

static void rebalance(bool preview) {
        drain_node();
        set_mode(ARGOSY__NODE_MODE__MODE_OPEN);
        Argosy__Request__Rebalance m = MESSAGE_OF(request__rebalance, .id = new_id(), .preview = preview);
        (void) ask_and_turn(ARGOSY__REQUEST__WHAT_REBALANCE, &m);
        large_cluster_pass_ms(200);
}

static void rebalance_all(void) {
        rebalance(false);
}

static void plan_rebalance(void) {
        rebalance(true);
}

// ---- members

static void remove_host(void) {
        Argosy__Request__ClusterRemove m =
                MESSAGE_OF(request__cluster_remove, .host = (char *) "n7", .force = true);

        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_CLUSTER_REMOVE, &m));
        large_cluster_turns(UINT_MAX);
}

static void promote_host(void) {
        Argosy__Request__ClusterRole m =
                MESSAGE_OF(request__cluster_role, .host = (char *) "n7", .promote = true);

        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_CLUSTER_ROLE, &m));
}

static void want_voters(void) {
        Argosy__Request__ClusterVoters m = MESSAGE_OF(request__cluster_voters, .wanted = 5);

        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_CLUSTER_VOTERS, &m));
}

static void rotate_ca(void) {
        Argosy__Request__ClusterRotateCa m = ARGOSY__REQUEST__CLUSTER_ROTATE_CA__INIT;

        (void) ask_and_turn(ARGOSY__REQUEST__WHAT_CLUSTER_ROTATE_CA, &m);
}

static void set_time(void) {
        Argosy__Request__ClusterSetTime m = ARGOSY__REQUEST__CLUSTER_SET_TIME__INIT;

        (void) ask_and_turn(ARGOSY__REQUEST__WHAT_CLUSTER_SET_TIME, &m);
}

static void join(void) {
        Argosy__JoinRequest join_request = MESSAGE_OF(join_request, .token_id = (char *) "0123456789abcdef");
        Argosy__Request__Join m = JOIN_OF(.join = &join_request);
        (void) ask_and_turn(ARGOSY__REQUEST__WHAT_JOIN, &m);
}

static void make_join_token(void) {
        Argosy__Request__ClusterToken m = CLUSTER_TOKEN_OF(.ttl_sec = 60);

        (void) ask_and_turn(ARGOSY__REQUEST__WHAT_CLUSTER_TOKEN, &m);
}

// ---- rights

static void make_token(void) {
        static uint8_t hash[32] = {1};
        Argosy__Request__TokenCreate m =
                MESSAGE_OF(request__token_create, .name = (char *) "robot",
                           .hash = (ProtobufCBinaryData){sizeof(hash), hash},
                           .right = ARGOSY__RIGHT__RIGHT_VIEW, .role = (char *) "crew");

        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_TOKEN_CREATE, &m));
}

static void revoke_token(void) {
        char *name = (char *) "robot";

        make_token();
        Argosy__Request__TokenRevoke m = MESSAGE_OF(request__token_revoke, .tokens = &name, .n_tokens = 1);
        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_TOKEN_REVOKE, &m));
}

static void set_secret(void) {
        static uint8_t value[SECRET_VALUE_MAX];
        Argosy__Request__SecretSet m = MESSAGE_OF(request__secret_set, .name = (char *) "password",
                                                  .value = (ProtobufCBinaryData){sizeof(value), value});

        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_SECRET_SET, &m));
}

static void rotate_secrets_key(void) {
        Argosy__Request__SecretRotateKey m = ARGOSY__REQUEST__SECRET_ROTATE_KEY__INIT;

        set_secret();
        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_SECRET_ROTATE_KEY, &m));
}

static void delete_secret(void) {
        char *name = (char *) "password";

        set_secret();
        Argosy__Request__SecretDelete m = MESSAGE_OF(request__secret_delete, .names = &name, .n_names = 1);
        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_SECRET_DELETE, &m));
}

// A question that says nothing more.
static void ask_plainly(Argosy__Request__WhatCase what) {
        request_kinds_foreach(field, kind) if (field->id == (unsigned) what) {
                EmptyRequest q;

                empty_request(&q, field);
                (void) taken(ask_and_turn(what, q.what));
                empty_request_done(&q);
        }
}

#define PLAIN(name, what)                                  \
        static void name(void) {                           \
                ask_plainly(ARGOSY__REQUEST__WHAT_##what); \
        }
PLAIN(cluster_status, CLUSTER_STATUS)
PLAIN(list_roles, ROLE_LIST)
PLAIN(list_queue, QUEUE_LIST)
PLAIN(list_access, ACCESS_LIST)
PLAIN(list_tokens, TOKEN_LIST)
PLAIN(list_secrets, SECRET_LIST)

static void check_right(void) {
        Argosy__Request__RightCheck m =
                MESSAGE_OF(request__right_check, .right = ARGOSY__RIGHT__RIGHT_ADMIN);

        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_RIGHT_CHECK, &m));
}

const TurnCase request_cases[] = {
        CASE(LIST_NODES, list_nodes),
        CASE(CLUSTER_STATUS, cluster_status),
        CASE(CLUSTER_TOKEN, make_join_token),
        CASE(CLUSTER_REMOVE, remove_host),
        CASE(CLUSTER_ROLE, promote_host),
        CASE(CLUSTER_VOTERS, want_voters),
        CASE(CLUSTER_ROTATE_CA, rotate_ca),
        CASE(CLUSTER_SET_TIME, set_time),
        CASE(JOIN, join),
        CASE(NODE_CHANGE, drain_node),
        CASE(NODE_CHANGE, cordon_node),
        CASE(NODE_CHANGE, maintain_node),
        CASE(NODE_CHANGE, cordon_many),
        CASE(NODE_CHANGE, drain_many),
        CASE(DRAIN_WAIT, wait_for_drain),
        CASE(MANAGER_WAIT, wait_for_manager),
        CASE(LABEL_CHANGE, label_node),
        CASE(REBALANCE, rebalance_all),
        CASE(REBALANCE, plan_rebalance),
        CASE(ROLE_CHANGE, change_role),
        CASE(ROLE_CHANGE, remove_role),
        CASE(ROLE_LIST, list_roles),
        CASE(POOL_CHANGE, change_pool),
        CASE(POOL_LIST, list_pools),
        CASE(QUEUE_LIST, list_queue),
        CASE(ACCESS_CHANGE, change_access),
        CASE(ACCESS_LIST, list_access),
        CASE(TOKEN_CREATE, make_token),
        CASE(TOKEN_REVOKE, revoke_token),
        CASE(TOKEN_LIST, list_tokens),
        CASE(SECRET_SET, set_secret),
        CASE(SECRET_DELETE, delete_secret),
        CASE(SECRET_LIST, list_secrets),
        CASE(SECRET_ROTATE_KEY, rotate_secrets_key),
        CASE(RIGHT_CHECK, check_right),
};
const size_t n_request_cases = ELEMENTSOF(request_cases);
