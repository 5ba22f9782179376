// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A batch as packed bytes, with the set of what it touches. A mark and batch_builder_rollback() take back
// everything since then, bytes and touches alike, so what does not fit or goes wrong in the middle leaves no
// trace.
// Whether an operation makes sense is its caller's to know; whether there is room for it, and it would be
// carried out at all, is judged here, by what will be asked when it is applied.

#include <errno.h>

#include "array.h"
#include "batch-builder.h"
#include "feature-level.h"
#include "log-format.h"
#include "message-of.h"

// What can be touched; the first byte of a key.
typedef enum KeyKind {
        KEY_UNIT,         // by its name, as all without another word
        KEY_DEPENDENCIES, // of a unit
        KEY_ROLLOUT,
        KEY_ROLE,
        KEY_ROLE_USED, // a unit that is put is of that role
        KEY_POOL,
        KEY_HOST, // by its number
        KEY_SPEC, // by its hash
        KEY_CLUSTER,
        KEY_ACCESS,
        KEY_QUEUE,
        KEY_SECRET,
        KEY_SECRET_USED, // a unit that is put has it
        KEY_CLAIM,   // a word
} KeyKind;

// The operations on records that are put as they are, and on those that are removed by their name.
static const struct {
        Argosy__LogOp__OpCase put, remove;
} operations[] = {
        [KEY_ROLLOUT] = {.put = ARGOSY__LOG_OP__OP_ROLLOUT},
        [KEY_ROLE] = {.put = ARGOSY__LOG_OP__OP_ROLE, .remove = ARGOSY__LOG_OP__OP_ROLE_REMOVE},
        [KEY_POOL] = {.put = ARGOSY__LOG_OP__OP_POOL, .remove = ARGOSY__LOG_OP__OP_POOL_REMOVE},
        [KEY_SECRET] = {.remove = ARGOSY__LOG_OP__OP_SECRET_REMOVE},
        [KEY_HOST] = {.put = ARGOSY__LOG_OP__OP_HOST},
        [KEY_SPEC] = {.put = ARGOSY__LOG_OP__OP_SPEC},
        [KEY_CLUSTER] = {.put = ARGOSY__LOG_OP__OP_CLUSTER},
};

typedef struct Key {
        size_t position; // in KeySet.keys
        bool put;        // a unit is put, with these
        Argosy__Target target;
        uint32_t node;
        size_t at, packed; // a content: where its operation is, and how long
        size_t len;
        uint8_t bytes[];
} Key;

enum {
        KEY_MAX = 512, // a kind and a unit name, hash or number
        HOSTS_LIKE_A_UNIT = 512, // looked at by the placement, at some 20 ns each
};

size_t batch_units_of_content(const ClusterState *state) {
        return cluster_state_n_hosts(state) / HOSTS_LIKE_A_UNIT;
}

static size_t units_of_kind(const BatchBuilder *b, KeyKind kind) {
        if (kind == KEY_SPEC)
                return b->state ? batch_units_of_content(b->state) : 0;
        return kind == KEY_UNIT;
}

static size_t key_make(uint8_t *ret, KeyKind kind, const void *data, size_t len) {
        assert(len < KEY_MAX);
        ret[0] = (uint8_t) kind;
        if (len > 0) // of what there is one only, nobody says which
                memcpy(ret + 1, data, len);
        return len + 1;
}

static Key *touched(const BatchBuilder *b, KeyKind kind, const void *data, size_t len) {
        uint8_t bytes[KEY_MAX];

        if (len >= KEY_MAX)
                return NULL;
        return map_find(&b->touched.map, bytes, key_make(bytes, kind, data, len));
}

// *ret (may be NULL): the key, which lives as long as nothing takes it back. Most are new: nothing is looked
// up for those.
static int touch(BatchBuilder *b, KeyKind kind, const void *data, size_t len, Key **ret) {
        KeySet *set = &b->touched;
        _cleanup_free_ Key *key = NULL;
        Key *there;
        int r;

        if (len >= KEY_MAX)
                return -EINVAL;
        if (ARRAY_GROW(set->keys, set->allocated, set->n + 1) < 0)
                return -ENOMEM;
        key = malloc(sizeof(*key) + len + 1);
        if (!key)
                return -ENOMEM;
        *key = (Key){.position = set->n};
        key->len = key_make(key->bytes, kind, data, len);
        r = map_add(&set->map, key->bytes, key->len, key);
        if (r < 0 && r != -EEXIST)
                return r;
        if (r == 0) {
                there = set->keys[set->n++] = TAKE_PTR(key);
                b->n_units += units_of_kind(b, kind);
        } else
                there = map_find(&set->map, key->bytes, key->len);
        if (ret)
                *ret = there;
        return 0;
}

static void forget_since(BatchBuilder *b, size_t n) {
        KeySet *set = &b->touched;

        while (set->n > n) {
                Key *key = set->keys[--set->n];

                b->n_units -= units_of_kind(b, (KeyKind) key->bytes[0]);
                map_take(&set->map, key->bytes, key->len);
                free(key);
        }
}

void batch_builder_done(BatchBuilder *b) {
        forget_since(b, 0);
        map_done(&b->touched.map);
        free(b->touched.keys);
        buf_done(&b->packed);
        *b = (BatchBuilder){};
}

void batch_builder_rollback(BatchBuilder *b, BatchBuilderMark mark) {
        forget_since(b, mark.n_touched);
        b->packed.len = mark.len;
        b->n_ops = mark.n_ops;
        b->held = mark.held;
}

static bool has_room(const BatchBuilder *b) {
        return b->soft_bytes == 0 || b->packed.len < b->soft_bytes;
}

size_t batch_builder_units_left(const BatchBuilder *b) {
        size_t most = b->soft_units ?: SIZE_MAX;

        return b->n_units < most ? most - b->n_units : 0;
}

bool batch_builder_takes_more(const BatchBuilder *b) {
        return has_room(b) && batch_builder_units_left(b) > 0;
}

bool batch_builder_takes_request(const BatchBuilder *b, size_t n_units) {
        return has_room(b) &&
               (b->n_units == 0 || b->most_units == 0 || b->n_units + n_units <= b->most_units);
}

static int append(BatchBuilder *b, const Argosy__LogBatch *part) {
        size_t n = argosy__log_batch__get_packed_size(part);
        uint8_t *p = buf_reserve(&b->packed, n);

        if (!p)
                return -ENOMEM;
        b->packed.len += argosy__log_batch__pack(part, p);
        return 0;
}

static bool has_spec(const Hash *hash, void *userdata) {
        return touched(userdata, KEY_SPEC, hash->bytes, HASH_SIZE);
}

// Where a unit may still run the leader remembers of its own accord, too, so that is always judged.
static bool is_judged(const BatchBuilder *b, const Argosy__LogOp *op) {
        return b->judges || op->op_case == ARGOSY__LOG_OP__OP_TOMBSTONE ||
               op->op_case == ARGOSY__LOG_OP__OP_UNIT_REMOVE;
}

static int judge(BatchBuilder *b, const Argosy__LogOp *op) {
        if (!b->state)
                return 0;
        b->held.has_spec = has_spec;
        b->held.userdata = b;
        b->refusal = is_judged(b, op) ? cluster_state_judge(b->state, &b->held, op) : REFUSAL_NONE;
        if (b->refusal)
                return -EDQUOT;
        cluster_held_add(&b->held, b->state, op);
        return 0;
}

static int append_op(BatchBuilder *b, Argosy__LogOp *op) {
        int r = judge(b, op);

        if (r < 0)
                return r;
        if (b->feature_level && b->feature_level < FEATURE_LEVEL &&
            log_format_check(&op->base, b->feature_level, NULL) < 0)
                return -EPROTONOSUPPORT;
        Argosy__LogBatch part = MESSAGE_OF(log_batch, .ops = &op, .n_ops = 1);
        b->n_ops++;
        return append(b, &part);
}

// `extra` with what the record has, that fence and that node; NULL if there is nothing in it.
static Argosy__UnitExtra *complete_extra(Argosy__UnitExtra *extra, const Argosy__UnitRecord *r,
                                         uint64_t former_fence_us, uint32_t data_node) {
        if (r->extra)
                *extra = *r->extra;
        else
                argosy__unit_extra__init(extra);
        extra->former_fence_us = former_fence_us;
        extra->data_node = data_node;
        return extra->trial || extra->secrets || former_fence_us || data_node ? extra : NULL;
}

int batch_builder_put_unit(BatchBuilder *b, Argosy__UnitRecord *record, unsigned bump,
                           uint64_t if_revision) {
        Argosy__LogOp__UnitPut put = ARGOSY__LOG_OP__UNIT_PUT__INIT;
        Argosy__LogOp op = LOG_OP_OF(UNIT, unit, &put);
        Argosy__UnitRecord full = *record;
        _cleanup_free_ uint32_t *left = NULL;
        uint64_t former_fence_us;
        Argosy__UnitExtra extra;
        ClusterHeld held;
        bool is_again;
        Key *key;
        int r;

        if (b->previous_nodes) {
                r = b->previous_nodes(b, record, &left, &full.n_left, &former_fence_us);
                if (r < 0)
                        return r;
                full.left = left;
                full.extra = complete_extra(&extra, record, former_fence_us,
                                            b->data_node ? b->data_node(record, b->userdata) : 0);
        }
        if (record->node || record->global || record->target == ARGOSY__TARGET__TARGET_INACTIVE)
                full.displaced_by = (char *) ""; // it has a place again, or wants none
        put.unit = &full;
        put.bump_start = bump & BATCH_BUMP_START;
        put.bump_restart = bump & BATCH_BUMP_RESTART;
        put.bump_stop = bump & BATCH_BUMP_STOP;
        put.bump_secrets = bump & BATCH_BUMP_SECRETS;
        put.if_revision = if_revision;
        r = touch(b, KEY_UNIT, record->name, strlen(record->name), &key);
        if (r < 0)
                return r;
        is_again = key->put;
        key->put = true;
        key->target = record->target;
        key->node = record->global ? 0 : record->node;
        held = b->held;
        r = append_op(b, &op);
        if (is_again)
                b->held = held; // it is counted
        return r == 0 && b->moved && !record->global ? b->moved(record, bump, b->userdata) : r;
}

int batch_builder_remove_unit(BatchBuilder *b, const char *name) {
        Argosy__LogOp__UnitRemove remove = ARGOSY__LOG_OP__UNIT_REMOVE__INIT;
        Argosy__LogOp op = LOG_OP_OF(UNIT_REMOVE, unit_remove, &remove);
        _cleanup_free_ uint32_t *nodes = NULL;
        BatchBuilderRemoval removal = {};
        int r = b->removed ? b->removed(name, &removal, b->userdata) : 0;

        if (r < 0)
                return r;
        nodes = removal.nodes;
        remove.name = (char *) name;
        remove.nodes = nodes;
        remove.n_nodes = removal.n_nodes;
        remove.fence_us = removal.n_nodes ? removal.fence_us : 0;
        r = touch(b, KEY_UNIT, name, strlen(name), NULL);
        return r < 0 ? r : append_op(b, &op);
}

int batch_builder_put_tombstone(BatchBuilder *b, const char *name, const uint32_t *nodes, size_t n,
                                uint64_t fence_us) {
        Argosy__LogOp__TombstonePut put = MESSAGE_OF(log_op__tombstone_put, .name = (char *) name);
        Argosy__LogOp op = LOG_OP_OF(TOMBSTONE, tombstone, &put);

        put.nodes = (uint32_t *) nodes; // only read
        put.n_nodes = n;
        put.fence_us = fence_us;
        return append_op(b, &op);
}

int batch_builder_clear_tombstones(BatchBuilder *b, uint32_t host, uint64_t revision, uint64_t fence_us) {
        Argosy__LogOp__TombstoneClear clear = MESSAGE_OF(log_op__tombstone_clear, .host = host,
                                                         .revision = revision, .fence_us = fence_us);
        Argosy__LogOp op = LOG_OP_OF(TOMBSTONE_CLEAR, tombstone_clear, &clear);

        return append_op(b, &op);
}

// An operation on what these bytes name.
static int append_on(BatchBuilder *b, KeyKind kind, const void *key, size_t len, Argosy__LogOp *op) {
        int r = touch(b, kind, key, len, NULL);

        return r < 0 ? r : append_op(b, op);
}

// A LogOp has one place for the pointer to whatever it is about.
static_assert(offsetof(Argosy__LogOp, role) == offsetof(Argosy__LogOp, spec));
static_assert(offsetof(Argosy__LogOp, grant) == offsetof(Argosy__LogOp, grant_remove));
static_assert(offsetof(Argosy__LogOp, role_remove) == offsetof(Argosy__LogOp, pool_remove));

static int append_record(BatchBuilder *b, KeyKind kind, const void *key, size_t len, void *record) {
        Argosy__LogOp op = MESSAGE_OF(log_op, .op_case = operations[kind].put, .role = record);

        return append_on(b, kind, key, len, &op);
}

static int append_named(BatchBuilder *b, KeyKind kind, const char *name, void *record) {
        return append_record(b, kind, name, strlen(name), record);
}

static int append_removal(BatchBuilder *b, KeyKind kind, const char *name) {
        Argosy__LogOp__NameRemove remove = MESSAGE_OF(log_op__name_remove, .name = (char *) name);
        Argosy__LogOp op = MESSAGE_OF(log_op, .op_case = operations[kind].remove, .role_remove = &remove);

        return append_on(b, kind, name, strlen(name), &op);
}

static bool has_name(const BatchBuilder *b, KeyKind kind, const char *name) {
        return touched(b, kind, name, strlen(name));
}

bool batch_builder_has_spec(const BatchBuilder *b, const Hash *hash) {
        return touched(b, KEY_SPEC, hash->bytes, HASH_SIZE);
}

static int put_spec(BatchBuilder *b, const Hash *hash, const void *content, size_t len, bool file) {
        Argosy__Spec spec = ARGOSY__SPEC__INIT;
        size_t at = b->packed.len;
        Key *key;
        int r;

        if (batch_builder_has_spec(b, hash))
                return 0;
        spec.file = file;
        spec.hash = (ProtobufCBinaryData){.data = (uint8_t *) hash->bytes, .len = HASH_SIZE};
        spec.content = (ProtobufCBinaryData){.data = (uint8_t *) content, .len = len};
        r = append_record(b, KEY_SPEC, hash->bytes, HASH_SIZE, &spec);
        if (r < 0)
                return r;
        key = touched(b, KEY_SPEC, hash->bytes, HASH_SIZE);
        key->at = at;
        key->packed = b->packed.len - at;
        return 0;
}

int batch_builder_read_spec(const BatchBuilder *b, const Hash *hash, Argosy__LogBatch **ret) {
        const Key *key = touched(b, KEY_SPEC, hash->bytes, HASH_SIZE);

        *ret = key ? argosy__log_batch__unpack(NULL, key->packed, b->packed.data + key->at) : NULL;
        return key && !*ret ? -ENOMEM : 0;
}

int batch_builder_put_spec(BatchBuilder *b, const Hash *hash, const void *content, size_t len) {
        return put_spec(b, hash, content, len, false);
}

// The limit of files is a rule of the queue, and one that the same entry changes was not judged by.
int batch_builder_put_file(BatchBuilder *b, const Hash *hash, const void *content, size_t len) {
        if (batch_builder_has_queue(b))
                return -EBUSY;
        return put_spec(b, hash, content, len, true);
}

int batch_builder_put_host(BatchBuilder *b, Argosy__HostRecord *record) {
        Argosy__LogOp op = LOG_OP_OF(HOST, host, record);

        if (record->host)
                return append_record(b, KEY_HOST, &record->host, sizeof(record->host), record);
        return append_op(b, &op);
}

int batch_builder_remove_host(BatchBuilder *b, uint32_t host) {
        Argosy__LogOp__HostRemove remove = MESSAGE_OF(log_op__host_remove, .host = host);
        Argosy__LogOp op = LOG_OP_OF(HOST_REMOVE, host_remove, &remove);

        return append_on(b, KEY_HOST, &host, sizeof(host), &op);
}

int batch_builder_put_token(BatchBuilder *b, Argosy__TokenRecord *record) {
        Argosy__LogOp op = LOG_OP_OF(TOKEN, token, record);

        return append_op(b, &op);
}

int batch_builder_put_outcome(BatchBuilder *b, const char *name, Argosy__Outcome *outcome) {
        Argosy__LogOp__OutcomePut put = MESSAGE_OF(log_op__outcome_put, .name = (char *) name);
        Argosy__LogOp op = LOG_OP_OF(OUTCOME, outcome, &put);

        put.outcome = outcome;
        return append_on(b, KEY_UNIT, name, strlen(name), &op);
}

int batch_builder_put_rollout(BatchBuilder *b, Argosy__RolloutRecord *record) {
        return append_named(b, KEY_ROLLOUT, record->name, record);
}

bool batch_builder_has_rollout(const BatchBuilder *b, const char *name) {
        return has_name(b, KEY_ROLLOUT, name);
}

int batch_builder_put_cluster(BatchBuilder *b, Argosy__ClusterRecord *record) {
        return batch_builder_has_cluster(b) ? -EBUSY : append_record(b, KEY_CLUSTER, NULL, 0, record);
}

bool batch_builder_has_cluster(const BatchBuilder *b) {
        return touched(b, KEY_CLUSTER, NULL, 0);
}

int batch_builder_put_role(BatchBuilder *b, Argosy__RoleRecord *record) {
        return append_named(b, KEY_ROLE, record->name, record);
}

int batch_builder_remove_role(BatchBuilder *b, const char *name) {
        return append_removal(b, KEY_ROLE, name);
}

bool batch_builder_has_role(const BatchBuilder *b, const char *name) {
        return has_name(b, KEY_ROLE, name);
}

int batch_builder_use_role(BatchBuilder *b, const char *name) {
        return touch(b, KEY_ROLE_USED, name, strlen(name), NULL);
}

bool batch_builder_uses_role(const BatchBuilder *b, const char *name) {
        return has_name(b, KEY_ROLE_USED, name);
}

int batch_builder_put_pool(BatchBuilder *b, Argosy__PoolRecord *record) {
        return append_named(b, KEY_POOL, record->name, record);
}

int batch_builder_remove_pool(BatchBuilder *b, const char *name) {
        return append_removal(b, KEY_POOL, name);
}

bool batch_builder_has_pool(const BatchBuilder *b, const char *name) {
        return has_name(b, KEY_POOL, name);
}

int batch_builder_change_access(BatchBuilder *b, Argosy__GrantRecord *grant, bool revoke) {
        Argosy__LogOp op = MESSAGE_OF(
                log_op, .op_case = revoke ? ARGOSY__LOG_OP__OP_GRANT_REMOVE : ARGOSY__LOG_OP__OP_GRANT,
                .grant = grant);

        return append_on(b, KEY_ACCESS, NULL, 0, &op);
}

bool batch_builder_has_access(const BatchBuilder *b) {
        return touched(b, KEY_ACCESS, NULL, 0);
}

int batch_builder_put_access_token(BatchBuilder *b, Argosy__AccessTokenRecord *token) {
        Argosy__LogOp op = LOG_OP_OF(ACCESS_TOKEN, access_token, token);

        return append_on(b, KEY_ACCESS, NULL, 0, &op);
}

int batch_builder_end_access_token(BatchBuilder *b, const char *id, uint64_t at_us, const char *by) {
        Argosy__LogOp__AccessTokenEnd end =
                MESSAGE_OF(log_op__access_token_end, .id = (char *) id, .at_us = at_us, .by = (char *) by);
        Argosy__LogOp op = LOG_OP_OF(ACCESS_TOKEN_END, access_token_end, &end);

        return append_on(b, KEY_ACCESS, NULL, 0, &op);
}

int batch_builder_note_access_token_uses(BatchBuilder *b, Argosy__LogOp__AccessTokenUses *uses) {
        Argosy__LogOp op = LOG_OP_OF(ACCESS_TOKEN_USES, access_token_uses, uses);

        return append_op(b, &op);
}

int batch_builder_put_secret(BatchBuilder *b, const char *name, Argosy__SecretVersion *version) {
        Argosy__LogOp__SecretPut put =
                MESSAGE_OF(log_op__secret_put, .name = (char *) name, .version = version);
        Argosy__LogOp op = LOG_OP_OF(SECRET, secret, &put);

        return append_on(b, KEY_SECRET, name, strlen(name), &op);
}

int batch_builder_remove_secret(BatchBuilder *b, const char *name) {
        return append_removal(b, KEY_SECRET, name);
}

int batch_builder_prune_secret(BatchBuilder *b, const char *name, uint64_t *versions, size_t n) {
        Argosy__LogOp__SecretPrune prune = MESSAGE_OF(log_op__secret_prune, .name = (char *) name,
                                                      .versions = versions, .n_versions = n);
        Argosy__LogOp op = LOG_OP_OF(SECRET_PRUNE, secret_prune, &prune);

        return append_op(b, &op);
}

int batch_builder_reseal_secret(BatchBuilder *b, const char *name, Argosy__SecretVersion **versions,
                                size_t n) {
        Argosy__LogOp__SecretReseal reseal = MESSAGE_OF(log_op__secret_reseal, .name = (char *) name,
                                                        .versions = versions, .n_versions = n);
        Argosy__LogOp op = LOG_OP_OF(SECRET_RESEAL, secret_reseal, &reseal);

        return append_op(b, &op);
}

bool batch_builder_has_secret(const BatchBuilder *b, const char *name) {
        return has_name(b, KEY_SECRET, name);
}

int batch_builder_use_secret(BatchBuilder *b, const char *name) {
        return touch(b, KEY_SECRET_USED, name, strlen(name), NULL);
}

bool batch_builder_uses_secret(const BatchBuilder *b, const char *name) {
        return has_name(b, KEY_SECRET_USED, name);
}

int batch_builder_forget_specs(BatchBuilder *b, ProtobufCBinaryData *hashes, size_t n) {
        Argosy__LogOp__SpecForget forget = MESSAGE_OF(log_op__spec_forget, .hashes = hashes, .n_hashes = n);
        Argosy__LogOp op = LOG_OP_OF(SPEC_FORGET, spec_forget, &forget);

        return append_op(b, &op);
}

int batch_builder_put_job(BatchBuilder *b, Argosy__LogOp__JobPut *put) {
        Argosy__LogOp op = LOG_OP_OF(JOB, job, put);

        return append_op(b, &op);
}

int batch_builder_end_jobs(BatchBuilder *b, Argosy__LogOp__JobEnds *ends) {
        Argosy__LogOp op = LOG_OP_OF(JOB_ENDS, job_ends, ends);

        return append_op(b, &op);
}

int batch_builder_release_request(BatchBuilder *b, uint64_t job, bool past_rules) {
        Argosy__LogOp__StoredRelease release =
                MESSAGE_OF(log_op__stored_release, .job = job, .past_rules = past_rules);
        Argosy__LogOp op = LOG_OP_OF(STORED_RELEASE, stored_release, &release);

        return append_op(b, &op);
}

int batch_builder_put_time_set(BatchBuilder *b, uint64_t to_us) {
        Argosy__LogOp__TimeSet set = MESSAGE_OF(log_op__time_set, .to_us = to_us);
        Argosy__LogOp op = LOG_OP_OF(TIME_SET, time_set, &set);

        return append_op(b, &op);
}

int batch_builder_put_queue(BatchBuilder *b, Argosy__QueueRecord *record) {
        Argosy__LogOp op = LOG_OP_OF(QUEUE, queue, record);

        return append_on(b, KEY_QUEUE, NULL, 0, &op);
}

bool batch_builder_has_queue(const BatchBuilder *b) {
        return touched(b, KEY_QUEUE, NULL, 0);
}

int batch_builder_claim(BatchBuilder *b, const void *data, size_t len) {
        if (touched(b, KEY_CLAIM, data, len))
                return -EBUSY;
        return touch(b, KEY_CLAIM, data, len, NULL);
}

bool batch_builder_has_claim(const BatchBuilder *b, const void *data, size_t len) {
        return touched(b, KEY_CLAIM, data, len);
}

int batch_builder_note_order(BatchBuilder *b, const char *name) {
        return touch(b, KEY_DEPENDENCIES, name, strlen(name), NULL);
}

bool batch_builder_has_order(const BatchBuilder *b, const char *name) {
        return has_name(b, KEY_DEPENDENCIES, name);
}

int batch_builder_set_time(BatchBuilder *b, uint64_t at_us, uint64_t counted_us) {
        Argosy__LogBatch part = MESSAGE_OF(log_batch, .at_us = at_us, .counted_us = counted_us);

        return append(b, &part);
}

bool batch_builder_gives_host(const BatchBuilder *b, const ClusterState *state, uint32_t host) {
        for (size_t i = 0; i < b->touched.n; i++) {
                const Key *key = b->touched.keys[i];
                const Argosy__HostRecord *given = key->bytes[0] == KEY_UNIT && key->put && key->node
                                                          ? cluster_state_find_host_by_node(state, key->node)
                                                          : NULL;

                if (given && given->host == host)
                        return true;
        }
        return false;
}

bool batch_builder_has_unit(const BatchBuilder *b, const char *name) {
        return has_name(b, KEY_UNIT, name);
}

bool batch_builder_find_unit(const BatchBuilder *b, const char *name, Argosy__Target *ret_target,
                             uint32_t *ret_node) {
        const Key *key = touched(b, KEY_UNIT, name, strlen(name));

        if (!key || !key->put)
                return false;
        *ret_target = key->target;
        *ret_node = key->node;
        return true;
}

bool batch_builder_has_host(const BatchBuilder *b, uint32_t host) {
        return touched(b, KEY_HOST, &host, sizeof(host));
}

bool batch_builder_each_unit(const BatchBuilder *b, bool (*each)(const char *name, void *userdata),
                             void *userdata) {
        for (size_t i = 0; i < b->touched.n; i++) {
                const Key *key = b->touched.keys[i];
                char name[KEY_MAX];

                if (key->bytes[0] != KEY_UNIT)
                        continue;
                memcpy(name, key->bytes + 1, key->len - 1);
                name[key->len - 1] = 0;
                if (each(name, userdata))
                        return true;
        }
        return false;
}

bool batch_builder_has_unit_since(const BatchBuilder *b, const char *name, BatchBuilderMark mark) {
        const Key *key = touched(b, KEY_UNIT, name, strlen(name));

        return key && key->position >= mark.n_touched;
}

size_t batch_builder_units_since(const BatchBuilder *b, BatchBuilderMark mark) {
        size_t n = 0;

        for (size_t i = mark.n_touched; i < b->touched.n; i++) {
                const Key *key = b->touched.keys[i];

                n += key->bytes[0] == KEY_UNIT;
        }
        return n;
}
