// SPDX-License-Identifier: LGPL-2.1-or-later

// Many random histories of the replicated state, each told by its seed. Whatever the history:
//
//      - two states that applied the same batches have the same image
//      - a state that went through an image at some point ends like one that did not
//      - following the dirty units is enough to know all units
//      - each unit is listed once, at its node or among the global ones
//      - each tombstone is on a node of a host, at its name, and behind the older ones of its node
//      - a snapshot has the image that the state had when it was taken, whatever came after

#include "printed.h"
#include "test.h"

#include "batch.h"
#include "cluster-encoder.h"
#include "cluster-snapshot.h"
#include "random-numbers.h"
#include "str.h"

enum { HISTORIES = 60, BATCHES = 60, NAMES = 24, MIRROR_NAME_MAX = 32 };

static uint64_t below(uint64_t *seed, uint64_t n) {
        return xorshift64(seed) % n;
}

// ------------------------------------------------------------------------------------------- random batches

static void random_name(uint64_t *seed, char ret[MIRROR_NAME_MAX]) {
        snprintf(ret, MIRROR_NAME_MAX, "u@%u.service", (unsigned) below(seed, NAMES));
}

static void random_unit(Batch *b, const ClusterState *s, uint64_t *seed) {
        char name[MIRROR_NAME_MAX], content[32];
        UnitPut how = {
                .target = (Argosy__Target) below(seed, 3),
                .node = (uint32_t) below(seed, 6),
                .global = below(seed, 5) == 0,
                .start = below(seed, 4) == 0,
                .restart = below(seed, 8) == 0,
                .stop = below(seed, 8) == 0,
        };

        random_name(seed, name);
        snprintf(content, sizeof content, "[Unit]\n# %u", (unsigned) below(seed, 5));
        UnitEntry *u = cluster_state_find_unit(s, name);
        if (below(seed, 4) == 0)
                how.if_revision = u && below(seed, 2) ? u->record->revision : below(seed, 50);
        if (below(seed, 3) > 0) {
                batch_unit(b, name, content, how);
        } else { // perhaps of a spec that is not there
                Hash hash = hash_of(content, strlen(content));

                batch_unit_only(b, name, &hash, how);
        }
}

static void random_outcome(Batch *b, const ClusterState *s, uint64_t *seed) {
        char name[MIRROR_NAME_MAX];

        random_name(seed, name);
        UnitEntry *u = cluster_state_find_unit(s, name);
        batch_outcome(b, name, (uint32_t) below(seed, 6),
                      u && below(seed, 4) ? u->record->start_rev : below(seed, 9),
                      (Argosy__Outcome__Kind) below(seed, 3));
}

static void random_host(Batch *b, const ClusterState *s, uint64_t *seed) {
        uint32_t number = (uint32_t) below(seed, 6);
        const Argosy__HostRecord *before = cluster_state_find_host(s, number);
        Argosy__HostRecord *h =
                batch_host(b, number, printed("h%u", (unsigned) below(seed, 8)), below(seed, 3));

        for (size_t i = 0; before && i < h->n_nodes && i < before->n_nodes; i++)
                h->nodes[i]->node = before->nodes[i]->node;
        if (below(seed, 3) == 0)
                h->raft_id = cluster_state_next_raft_id(s) + (uint32_t) below(seed, 3) - 1;
}

// Between contents that there may be at the time, or not; or one that has ended.
static void random_rollout(Batch *b, const char *name, uint64_t *seed) {
        static const char *const contents[] = {"[Service]\nExecStart=/bin/one\n",
                                               "[Service]\nExecStart=/bin/two\n"};
        uint64_t i = below(seed, 3);

        if (i < 2)
                (void) batch_spec(b, contents[below(seed, 2)]);
        (void) batch_rollout(b, name, i < 2 ? contents[i] : NULL, contents[below(seed, 2)]);
}

// Of users at any host, or at one that there may be.
static void random_right(Batch *b, const char *name, uint64_t *seed) {
        Argosy__GrantRecord *grant = BATCH_NEW(b, Argosy__GrantRecord, argosy__grant_record__init);

        grant->right = (Argosy__Right) (1 + below(seed, 4));
        *(below(seed, 2) ? &grant->user : &grant->group) = batch_own(b, strdup(name));
        grant->host = *grant->user ? (uint32_t) below(seed, 4) : 0;
        batch_op(b, below(seed, 3) ? ARGOSY__LOG_OP__OP_GRANT : ARGOSY__LOG_OP__OP_GRANT_REMOVE)->grant =
                grant;
}

static void random_token(Batch *b, uint64_t *seed) {
        Argosy__AccessTokenRecord *token =
                BATCH_NEW(b, Argosy__AccessTokenRecord, argosy__access_token_record__init);
        Argosy__LogOp__AccessTokenEnd *end =
                BATCH_NEW(b, Argosy__LogOp__AccessTokenEnd, argosy__log_op__access_token_end__init);
        char id[16];

        snprintf(id, sizeof(id), "%08x", (unsigned) below(seed, 8));
        token->id = end->id = batch_own(b, strdup(id));
        token->name = (char *) "ci";
        token->hash = batch_bytes(b, "0123456789abcdef0123456789abcdef", HASH_SIZE);
        token->expires_us = below(seed, 100);
        end->at_us = below(seed, 100);
        if (below(seed, 3))
                batch_op(b, ARGOSY__LOG_OP__OP_ACCESS_TOKEN)->access_token = token;
        else
                batch_op(b, ARGOSY__LOG_OP__OP_ACCESS_TOKEN_END)->access_token_end = end;
}

static void random_role_or_pool(Batch *b, const char *name, uint64_t *seed) {
        Argosy__RoleRecord *role = BATCH_NEW(b, Argosy__RoleRecord, argosy__role_record__init);
        Argosy__PoolRecord *pool = BATCH_NEW(b, Argosy__PoolRecord, argosy__pool_record__init);
        Argosy__LogOp__NameRemove *gone =
                BATCH_NEW(b, Argosy__LogOp__NameRemove, argosy__log_op__name_remove__init);

        role->name = pool->name = gone->name = batch_own(b, strdup(name));
        role->weight = (uint32_t) below(seed, 5);
        switch (below(seed, 4)) {
        case 0:
                batch_op(b, ARGOSY__LOG_OP__OP_ROLE)->role = role;
                break;
        case 1:
                batch_op(b, ARGOSY__LOG_OP__OP_ROLE_REMOVE)->role_remove = gone;
                break;
        case 2:
                batch_op(b, ARGOSY__LOG_OP__OP_POOL)->pool = pool;
                break;
        default:
                batch_op(b, ARGOSY__LOG_OP__OP_POOL_REMOVE)->pool_remove = gone;
        }
}

static void random_tombstones(Batch *b, const ClusterState *s, const char *name, uint64_t *seed) {
        uint32_t nodes[] = {(uint32_t) below(seed, 6), (uint32_t) below(seed, 6)};
        uint64_t fence_us = below(seed, 3) * 10;

        switch (below(seed, 4)) {
        case 0:
                batch_tombstone(b, name, nodes, below(seed, 3), fence_us);
                break;
        case 1:
                batch_tombstone_clear(b, (uint32_t) below(seed, 6),
                                      below(seed, cluster_state_revision(s) + 9), fence_us);
                break;
        default:
                batch_unit_remove_from(b, name, nodes, ELEMENTSOF(nodes), fence_us);
        }
}

// Perhaps of more operations than there are, or going on with one that there is not.
static void random_job(Batch *b, const ClusterState *s, uint64_t *seed) {
        uint8_t id[16];

        memset(id, (int) below(seed, 40), sizeof id);
        batch_job(b, (JobPut){.n_ops = (uint32_t) below(seed, 5),
                              .number = below(seed, 3) ? 0 : below(seed, cluster_state_last_job(s) + 3),
                              .more = below(seed, 4) == 0,
                              .content = below(seed, 3),
                              .id = below(seed, 3) ? id : NULL});
}

static void random_time_set(Batch *b, uint64_t *seed) {
        Argosy__LogOp__TimeSet *set = BATCH_NEW(b, Argosy__LogOp__TimeSet, argosy__log_op__time_set__init);

        set->to_us = below(seed, 100);
        batch_op(b, ARGOSY__LOG_OP__OP_TIME_SET)->time_set = set;
}

static void random_op(Batch *b, const ClusterState *s, uint64_t *seed) {
        char name[MIRROR_NAME_MAX], content[32];
        unsigned kind = (unsigned) below(seed, 30);

        random_name(seed, name);
        if (kind < 9)
                random_unit(b, s, seed);
        else if (kind < 12)
                batch_unit_remove(b, name);
        else if (kind < 15)
                random_outcome(b, s, seed);
        else if (kind < 17)
                random_host(b, s, seed);
        else if (kind == 17)
                batch_host_remove(b, (uint32_t) below(seed, 6));
        else if (kind == 18 && below(seed, 2))
                batch_token(b, name, below(seed, 100));
        else if (kind == 18)
                batch_token_remove(b, name);
        else if (kind == 19)
                random_role_or_pool(b, name, seed);
        else if (kind == 28)
                (void) (below(seed, 2) ? random_right(b, name, seed) : random_token(b, seed));
        else if (kind == 29) {
                // as units have them
                snprintf(content, sizeof content, "[Unit]\n# %u", (unsigned) below(seed, 5));
                batch_spec_forget(b, content);
        } else if (kind > 23)
                random_job(b, s, seed);
        else if (kind > 20)
                random_tombstones(b, s, name, seed);
        else if (below(seed, 2))
                random_rollout(b, name, seed);
        else if (below(seed, 4) == 0)
                random_time_set(b, seed);
        else
                batch_cluster(b, below(seed, 9));
}

static void random_batch(Batch *b, const ClusterState *s, uint64_t *seed) {
        for (uint64_t n = below(seed, 6); n > 0; n--)
                random_op(b, s, seed);
        if (below(seed, 2))
                batch_request(b, (uint8_t) xorshift64(seed));
        if (!b->log.base.descriptor)
                argosy__log_batch__init(&b->log);
        b->log.at_us = below(seed, 100);
        b->log.counted_us = below(seed, 20);
}

// ------------------------------------------------------------------------------------------- what must hold

static void assert_same_image(const ClusterState *a, const ClusterState *b) {
        _cleanup_buf_ Buf image_a = {0}, image_b = {0};

        assert_int_equal(cluster_state_encode(a, &image_a), 0);
        assert_int_equal(cluster_state_encode(b, &image_b), 0);
        assert_int_equal(image_a.len, image_b.len);
        assert_true(image_a.len == 0 || memcmp(image_a.data, image_b.data, image_a.len) == 0);
}

static void pass_through_image(ClusterState *s) {
        _cleanup_buf_ Buf image = {0};

        assert_int_equal(cluster_state_encode(s, &image), 0);
        assert_int_equal(cluster_state_restore(s, image.data, image.len), 0);
        assert_null(cluster_state_next_dirty(s));
}

static size_t count_ring(const ListNode *head, uint32_t node, bool global) {
        size_t n = 0;

        if (head)
                list_foreach (l, head) {
                        const UnitEntry *u = CONTAINER_OF(l, UnitEntry, placed);

                        assert_int_equal(u->record->global, global);
                        assert_int_equal(u->record->node, node);
                        n++;
                }
        return n;
}

static void assert_listed_once(ClusterState *s) {
        size_t n_global, n_units = 0, listed = 0, placed = 0, n;
        const ListNode *head = cluster_state_global_units(s, &n_global);
        const UnitEntry *last = NULL;

        assert_int_equal(count_ring(head, 0, true), n_global);
        for (uint32_t node = 1; node < 6; node++) {
                head = cluster_state_units_on(s, node, &n);
                assert_int_equal(count_ring(head, node, false), n);
                listed += n;
        }
        cluster_state_foreach_unit(u, s) {
                assert_true(!last || strcmp(last->record->name, u->record->name) < 0);
                placed += u->record->node > 0;
                last = u;
                n_units++;
        }
        assert_int_equal(n_units, cluster_state_n_units(s));
        assert_int_equal(listed, placed);
}

static void assert_tombstones_fit(const ClusterState *s) {
        size_t on_nodes = 0, of_names = 0;

        for (uint32_t node = 1; node < 99; node++) {
                const ListNode *head = cluster_state_tombstones_on(s, node);
                uint64_t last = 0;

                if (!head)
                        continue;
                assert_non_null(cluster_state_find_host_by_node(s, node));
                list_foreach (i, head) {
                        const Tombstone *t = CONTAINER_OF(i, const Tombstone, on_node);

                        assert_int_equal(t->node, node);
                        assert_true(t->revision > last && t->revision <= cluster_state_revision(s));
                        assert_true(t->fence_us || t->unguarded);
                        assert_ptr_equal(cluster_state_find_tombstone(s, t->name, node), t);
                        last = t->revision;
                        on_nodes++;
                }
        }
        for (unsigned i = 0; i < NAMES; i++) {
                _cleanup_free_ char *name = str_printf("u@%u.service", i);
                const ListNode *head = cluster_state_tombstones_of(s, name);

                if (head)
                        list_foreach (k, head) {
                                assert_string_equal(CONTAINER_OF(k, const Tombstone, by_name)->name, name);
                                of_names++;
                        }
        }
        assert_int_equal(on_nodes, cluster_state_n_tombstones(s));
        assert_int_equal(of_names, cluster_state_n_tombstones(s));
}

// What somebody knows who only looks at dirty units.
typedef struct Mirror {
        bool exists[NAMES];
        uint32_t node[NAMES];
        bool global[NAMES];
        uint64_t revision[NAMES];
} Mirror;

static void mirror_follow(Mirror *m, ClusterState *s) {
        UnitEntry *u;

        while ((u = cluster_state_next_dirty(s))) {
                unsigned i;

                assert_int_equal(sscanf(u->record->name, "u@%u", &i), 1);
                assert_int_equal(u->existed, m->exists[i]);
                if (u->existed) {
                        assert_int_equal(u->node_before, m->node[i]);
                        assert_int_equal(u->global_before, m->global[i]);
                        assert_true(u->record->revision >= m->revision[i]);
                }
                m->exists[i] = !u->removed;
                m->node[i] = u->record->node;
                m->global[i] = u->record->global;
                m->revision[i] = u->record->revision;
                cluster_state_dirty_done(s, u);
        }
}

static void assert_mirrored(const Mirror *m, const ClusterState *s) {
        for (unsigned i = 0; i < NAMES; i++) {
                UnitEntry *u = cluster_state_find_unit(s, printed("u@%u.service", i));

                assert_int_equal(!!u, m->exists[i]);
                if (u) {
                        assert_int_equal(u->record->node, m->node[i]);
                        assert_int_equal(u->record->revision, m->revision[i]);
                }
        }
}

static void tell_history(uint64_t seed) {
        _cleanup_(cluster_state_freep) ClusterState *s = cluster_state_new(), *twin = cluster_state_new(),
                                                    *restored = cluster_state_new();
        Mirror mirror = {0};

        for (int i = 0; i < BATCHES; i++) {
                _cleanup_(batch_done) Batch b = {0};

                random_batch(&b, s, &seed);
                assert_int_equal(cluster_state_apply(s, &b.log), 0);
                assert_int_equal(cluster_state_apply(twin, &b.log), 0); // never asked what is dirty
                assert_int_equal(cluster_state_apply(restored, &b.log), 0);
                if (below(&seed, 5) == 0)
                        pass_through_image(restored);
                if (below(&seed, 3) == 0) {
                        mirror_follow(&mirror, s);
                        assert_mirrored(&mirror, s);
                }
        }
        assert_same_image(s, twin);
        assert_same_image(s, restored);
        assert_listed_once(s);
        assert_listed_once(restored);
        assert_tombstones_fit(s);
        assert_tombstones_fit(restored);
}

// ------------------------------------------------------------------------------------------------ snapshots

typedef struct Taken {
        ClusterSnapshot *snapshot; // NULL: none
        Buf image;                 // as it was then
} Taken;

static void take(Taken *t, ClusterState *s) {
        assert_int_equal(cluster_state_snapshot(s, &t->snapshot), 0);
        assert_int_equal(cluster_state_encode(s, &t->image), 0);
}

static void compare_and_release(Taken *t) {
        _cleanup_(cluster_encoder_freep) ClusterEncoder *e = cluster_encoder_new(t->snapshot);
        _cleanup_buf_ Buf image = {0};
        int r;

        while ((r = cluster_encoder_next(e, &image)) == CLUSTER_ENCODER_MORE)
                continue;
        assert_int_equal(r, 0);
        assert_int_equal(image.len, t->image.len);
        assert_true(image.len == 0 || memcmp(image.data, t->image.data, image.len) == 0);
        buf_done(&t->image);
        cluster_snapshot_unref(TAKE_PTR(t->snapshot));
}

static void tell_history_with_snapshots(uint64_t seed) {
        _cleanup_(cluster_state_freep) ClusterState *s = cluster_state_new();
        Taken taken[CLUSTER_SNAPSHOTS_MAX] = {0};

        for (int i = 0; i < BATCHES; i++) {
                _cleanup_(batch_done) Batch b = {0};
                Taken *t = &taken[below(&seed, ELEMENTSOF(taken))];

                random_batch(&b, s, &seed);
                assert_int_equal(cluster_state_apply(s, &b.log), 0);
                if (below(&seed, 9) == 0)
                        pass_through_image(s);
                if (below(&seed, 4) == 0)
                        cluster_state_drop_dirty(s);
                if (t->snapshot)
                        compare_and_release(t);
                else
                        take(t, s);
                if (below(&seed, 4) == 0)
                        while (cluster_state_reclaim(s))
                                continue;
        }
        for (size_t i = 0; i < ELEMENTSOF(taken); i++)
                if (taken[i].snapshot)
                        compare_and_release(&taken[i]);
}

static void a_snapshot_stays_as_the_state_was(void **state) {
        for (uint64_t i = 1; i <= HISTORIES; i++) {
                print_message("history %llu\n", (unsigned long long) i);
                tell_history_with_snapshots(i * UINT64_C(0x9e3779b97f4a7c15));
        }
}

static void what_holds_for_every_history(void **state) {
        for (uint64_t i = 1; i <= HISTORIES; i++) {
                print_message("history %llu\n", (unsigned long long) i);
                tell_history(i * UINT64_C(0x9e3779b97f4a7c15));
        }
}

RUN_TESTS(
        cmocka_unit_test(what_holds_for_every_history),
        cmocka_unit_test(a_snapshot_stays_as_the_state_was)
)
