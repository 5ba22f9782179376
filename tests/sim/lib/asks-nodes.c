// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Requests about nodes, what they are called and who may use them, and about members of the cluster.
#include "asks-private.h"

static const Argosy__NodeMode modes[] = {ARGOSY__NODE_MODE__MODE_OPEN, ARGOSY__NODE_MODE__MODE_OPEN,
                                         ARGOSY__NODE_MODE__MODE_CORDONED, ARGOSY__NODE_MODE__MODE_DRAINING,
                                         ARGOSY__NODE_MODE__MODE_MAINTENANCE};

bool ask_node_change(Draw *d, void *message) {
        Argosy__Request__NodeChange *m = message;

        m->nodes = asks_alloc(sizeof(*m->nodes));
        m->nodes[m->n_nodes++] = (char *) asks_node(d);
        m->mode = DRAW_PICK(d, modes);
        m->deadline_sec = draw_one_in(d, 4) ? (uint32_t) draw_log(d, 1, 60) : 0;
        m->reason = (char *) (draw_one_in(d, 2) ? "new disks" : "");
        return true;
}

// Each once.
bool ask_node_change_several(Draw *d, void *message) {
        unsigned hosts = asks.swarm.hosts, n = 1 + draw_below(d, hosts), from = draw_below(d, hosts);
        Argosy__Request__NodeChange *m = message;

        m->nodes = asks_alloc(n * sizeof(*m->nodes));
        for (unsigned i = 0; i < n; i++)
                m->nodes[m->n_nodes++] = asks_printf("n%u", 1 + (from + i) % hosts);
        if (draw_one_in(d, 16))
                m->nodes[0] = (char *) "nobody";
        m->mode = draw_one_in(d, 2) ? ARGOSY__NODE_MODE__MODE_OPEN : DRAW_PICK(d, modes);
        m->deadline_sec = draw_one_in(d, 4) ? (uint32_t) draw_log(d, 1, 60) : 0;
        return true;
}

bool ask_label_change(Draw *d, void *message) {
        Argosy__Request__LabelChange *m = message;

        m->node = (char *) asks_node(d);
        if (draw_one_in(d, 3)) {
                m->unset = asks_alloc(sizeof(*m->unset));
                m->unset[m->n_unset++] = asks_label(d)->key;
                return true;
        }
        m->set = asks_alloc(sizeof(*m->set));
        m->set[m->n_set++] = asks_label(d);
        return true;
}

// ------------------------------------------------------------------------------------------ roles and pools

static Argosy__Amount **draw_amounts(Draw *d, size_t *ret_n) {
        static const char *const resources[] = {"cpu", "memory", "gpu"};
        Argosy__Amount **amounts = asks_alloc(sizeof(*amounts));

        if (draw_one_in(d, 2))
                return NULL;
        amounts[0] = ASKS_NEW(Argosy__Amount, argosy__amount__init);
        amounts[0]->resource = (char *) DRAW_PICK(d, resources);
        amounts[0]->unset = draw_one_in(d, 4);
        amounts[0]->amount = amounts[0]->unset ? 0 : draw_log(d, 1, 8000);
        *ret_n = 1;
        return amounts;
}

bool ask_role_change(Draw *d, void *message) {
        Argosy__Request__RoleChange *m = message;

        m->name = (char *) asks_role(d);
        m->remove = draw_one_in(d, 5);
        if (m->remove)
                return true;
        m->weight = draw_below(d, 5);
        m->guarantee = draw_amounts(d, &m->n_guarantee);
        m->limit = draw_amounts(d, &m->n_limit);
        return true;
}

static const char *draw_host(Draw *d) {
        return asks_node(d);
}

bool ask_pool_change(Draw *d, void *message) {
        Argosy__Request__PoolChange *m = message;

        m->name = (char *) asks_pool(d);
        m->remove = draw_one_in(d, 6);
        if (m->remove)
                return true;
        m->hosts = asks_words(d, &m->n_hosts, 4, draw_host);
        m->labels = asks_labels(d, &m->n_labels, 2);
        return true;
}

// ------------------------------------------------------------------------------------------------ members

bool ask_cluster_remove(Draw *d, void *message) {
        Argosy__Request__ClusterRemove *m = message;

        m->host = (char *) asks_node(d);
        m->force = draw_one_in(d, 2);
        return true;
}

bool ask_cluster_role(Draw *d, void *message) {
        Argosy__Request__ClusterRole *m = message;

        m->host = (char *) asks_node(d);
        m->promote = draw_one_in(d, 2);
        return true;
}

bool ask_cluster_voters(Draw *d, void *message) {
        static const uint32_t wanted[] = {1, 3, 5, 3, 4, 0};
        Argosy__Request__ClusterVoters *m = message;

        m->wanted = DRAW_PICK(d, wanted);
        return true;
}

bool ask_cluster_rotate_ca(Draw *d, void *message) {
        Argosy__Request__ClusterRotateCa *m = message;

        m->finish = draw_one_in(d, 3);
        return true;
}

bool ask_cluster_set_time(Draw *d, void *message) {
        Argosy__Request__ClusterSetTime *m = message;

        m->to_us = draw_one_in(d, 2) ? 0
                                     : asks.port->wall_us() + draw_log(d, 1, UINT64_C(86400) * 1000000) -
                                               draw_log(d, 1, UINT64_C(86400) * 1000000);
        return true;
}

bool ask_cluster_token(Draw *d, void *message) {
        Argosy__Request__ClusterToken *m = message;

        m->ttl_sec = draw_one_in(d, 2) ? (uint32_t) draw_log(d, 1, 86400) : 0;
        m->once = draw_one_in(d, 2);
        m->for_host = (char *) (draw_one_in(d, 3) ? asks_node(d) : "");
        return true;
}

// Nobody who could join says this.
bool ask_join(Draw *d, void *message) {
        Argosy__Request__Join *m = message;
        uint8_t *body = asks_alloc(32);

        for (unsigned i = 0; i < 32; i++)
                body[i] = (uint8_t) draw_word(d);
        m->join = ASKS_NEW(Argosy__JoinRequest, argosy__join_request__init);
        m->peer_address = (char *) "192.0.2.9";
        m->channel = (ProtobufCBinaryData){32, body};
        if (draw_one_in(d, 2))
                m->join->body = (ProtobufCBinaryData){draw_below(d, 33), body};
        return true;
}
