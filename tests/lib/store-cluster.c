// SPDX-License-Identifier: LGPL-2.1-or-later
#include "store-cluster.h"
#include "macro.h"
#include "members.h"
#include "str.h"
#include "stream.h"

// ---- listeners

static void on_refused_closed(Stream *s, int error, void *userdata) {
}
static const StreamOps refused_ops = {.closed = on_refused_closed};

static void on_accepted(Listener *l, Stream *s, void *userdata) {
        StoreServer *server = userdata;

        for (size_t i = 0; i < STORE_CLUSTER_MAX; i++)
                if (hash_equal(&stream_peer(s)->pin, &member[i].pin) && server->node.store) {
                        server->n_accepted++;
                        store_accept(server->node.store, s, i + 1);
                        return;
                }
        stream_set_owner(s, &refused_ops, NULL);
        stream_close(s, 0, false);
}

static void on_listener_closed(Listener *l, void *userdata) {
        ((StoreServer *) userdata)->cluster->n_listeners--;
}

static const ListenerOps listener_ops = {.accepted = on_accepted, .closed = on_listener_closed};

static bool on_resolve(uint32_t raft_id, char *ret_address, size_t size, uint16_t *ret_port, Hash *ret_pin,
                       void *userdata) {
        StoreCluster *c = userdata;

        if (raft_id == 0 || raft_id > STORE_CLUSTER_MAX)
                return false;
        c->servers[raft_id - 1].n_resolved++;
        if (c->servers[raft_id - 1].unreachable)
                return false;
        snprintf(ret_address, size, "127.0.0.1");
        *ret_port = c->servers[raft_id - 1].port;
        *ret_pin = c->servers[raft_id - 1].pin;
        return true;
}

static bool on_retired(uint32_t raft_id, void *userdata) {
        StoreCluster *c = userdata;

        return raft_id > 0 && raft_id <= STORE_CLUSTER_MAX && c->servers[raft_id - 1].retired;
}

// ---- life

StoreCluster *store_cluster_new(void) {
        StoreCluster *c = calloc(1, sizeof(*c));

        assert_non_null(c);
        members_setup(NULL);
        store_dir_make(c->base, sizeof(c->base));
        assert_int_equal(uv_loop_init(&c->loop), 0);
        for (size_t i = 0; i < STORE_CLUSTER_MAX; i++) {
                StoreServer *s = &c->servers[i];
                char dir[300];

                snprintf(dir, sizeof(dir), "%s/%zu", c->base, i + 1);
                store_node_init(&s->node, &c->loop, dir, i + 1);
                s->cluster = c;
                s->pin = member[i].pin;
                s->node.tls = member_tls[i];
                s->node.resolve = on_resolve;
                s->node.retired = on_retired;
                s->node.cluster = c;
                assert_int_equal(
                        listener_new_tcp(&c->loop, 0, member_tls[i], &listener_ops, s, &s->listener), 0);
                s->port = listener_port(s->listener);
                c->n_listeners++;
        }
        return c;
}

static bool no_listeners(void *userdata) {
        return ((StoreCluster *) userdata)->n_listeners == 0;
}

static void print_handle(uv_handle_t *handle, void *userdata) {
        fprintf(stderr, "left open: %s\n", uv_handle_type_name(uv_handle_get_type(handle)));
}

void store_cluster_free(StoreCluster *c) {
        for (size_t i = 0; i < STORE_CLUSTER_MAX; i++)
                store_node_close(&c->servers[i].node);
        for (size_t i = 0; i < STORE_CLUSTER_MAX; i++)
                listener_close(c->servers[i].listener);
        store_run_until(&c->loop, no_listeners, c, STORE_PATIENCE_MS, "closing listeners");
        uv_run(&c->loop, UV_RUN_DEFAULT); // what is still closing
        uv_walk(&c->loop, print_handle, NULL);
        assert_int_equal(uv_loop_close(&c->loop), 0);
        store_dir_remove(c->base);
        members_teardown(NULL);
        free(c);
}

// ---- steps

void store_cluster_bootstrap(StoreCluster *c) {
        store_node_open(&c->servers[0].node, true, NULL, NULL);
        store_node_wait_leader(&c->servers[0].node);
}

// On a busy machine leadership may be lost on the way; then the next leader is asked, who may have it as a
// voter already.
void store_cluster_add(StoreCluster *c, size_t i) {
        store_node_open(&c->servers[i].node, false, NULL, NULL);
        for (;;) {
                StoreNode *leader = store_cluster_leader(c);
                StoreAnswer a = {};
                int r = store_member_add(leader->store, i + 1, store_on_member, &a);

                if (r == -EEXIST)
                        return;
                if (r == 0) {
                        assert_int_equal(store_member_add(leader->store, i + 1, store_on_member, &a),
                                         -EBUSY);
                        store_run_until(&c->loop, store_is_answered, &a, STORE_PATIENCE_MS, "a new member");
                        r = a.error;
                }
                if (r == 0)
                        return;
                assert_true(r == -EAGAIN || r == -EBUSY);
                store_run_for(&c->loop, 10);
        }
}

StoreCluster *store_cluster_of(size_t n) {
        StoreCluster *c = store_cluster_new();

        store_cluster_bootstrap(c);
        for (size_t i = 1; i < n; i++)
                store_cluster_add(c, i);
        return c;
}

static StoreNode *find_leader(StoreCluster *c) {
        for (size_t i = 0; i < STORE_CLUSTER_MAX; i++)
                if (c->servers[i].node.store && c->servers[i].node.role == STORE_LEADER)
                        return &c->servers[i].node;
        return NULL;
}

static bool has_leader(void *userdata) {
        return find_leader(userdata);
}

StoreNode *store_cluster_leader(StoreCluster *c) {
        StoreNode *leader;

        while (!(leader = find_leader(c)))
                store_run_until(&c->loop, has_leader, c, STORE_PATIENCE_MS, "a leader");
        return leader;
}

static bool leads_no_more(void *userdata) {
        return ((StoreNode *) userdata)->role != STORE_LEADER;
}

void store_cluster_hand_over(StoreCluster *c, StoreNode *old) {
        while (old->role == STORE_LEADER) {
                StoreAnswer a = {};

                assert_int_equal(store_transfer(old->store, 0, store_on_member, &a), 0);
                store_run_until(&c->loop, store_is_answered, &a, STORE_PATIENCE_MS, "the end of a handover");
                if (a.error == 0)
                        store_run_until(&c->loop, leads_no_more, old, STORE_PATIENCE_MS, "stepping down");
                else
                        assert_int_equal(a.error, -ETIMEDOUT);
        }
}

static const StoreNode *find_furthest(const StoreCluster *c) {
        const StoreNode *furthest = NULL;

        for (size_t i = 0; i < STORE_CLUSTER_MAX; i++) {
                const StoreNode *n = &c->servers[i].node;

                if (n->store && (!furthest || n->n_applied > furthest->n_applied))
                        furthest = n;
        }
        return furthest;
}

static bool all_agree(void *userdata) {
        const StoreCluster *c = userdata;
        const StoreNode *furthest = find_furthest(c);

        for (size_t i = 0; i < STORE_CLUSTER_MAX; i++) {
                const StoreNode *n = &c->servers[i].node;

                if (n->store &&
                    (n->n_applied != furthest->n_applied || !hash_equal(&n->chain, &furthest->chain)))
                        return false;
        }
        return true;
}

void store_cluster_agree(StoreCluster *c) {
        (void) store_cluster_leader(c); // which has applied everything
        store_run_until(&c->loop, all_agree, c, STORE_PATIENCE_MS, "agreement");
}

void store_cluster_write(StoreCluster *c, unsigned count, size_t len) {
        _cleanup_free_ char *data = malloc(len);
        uint64_t target = store_cluster_leader(c)->n_applied + count;
        StoreNode *leader;

        memset(data, 'd', len);
        // On a busy machine leadership may be lost on the way; a leader has applied everything, so its count
        // says what became of a batch whose outcome is unknown.
        while ((leader = store_cluster_leader(c))->n_applied < target) {
                StoreAnswer a = {};

                memcpy(data, &leader->n_applied, MIN_OF(len, sizeof(leader->n_applied)));
                int r = store_submit(leader->store, data, len, store_on_done, &a);
                if (r < 0) { // it hands over, or has just lost
                        assert_int_equal(r, -EAGAIN);
                        store_run_for(&c->loop, 10);
                } else
                        store_run_until(&c->loop, store_is_answered, &a, STORE_PATIENCE_MS,
                                        "answer to a batch");
        }
}

void store_cluster_write_to_all(StoreCluster *c, unsigned count, size_t len) {
        store_cluster_write(c, count, len);
        store_cluster_agree(c);
}

void store_node_lose_power(StoreCluster *c, StoreNode *n) {
        _cleanup_free_ char *image = str_printf("%s/image", c->base);

        store_dir_copy(n->dir, image);
        store_node_close(n);
        store_dir_replace(n->dir, image);
}

void store_node_crash(StoreCluster *c, StoreNode *n) {
        store_node_lose_power(c, n);
        store_node_open(n, false, NULL, NULL);
}
