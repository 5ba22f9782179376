// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Check of settings: what a request makes of a host's record, a role, a pool, the queue or a right is what
// it asked for, and nothing else; and one that would leave all as it is does nothing.
//
// Records are copied as the log puts them. When the log has a request, what it makes of them is worked out
// once more, from the copies and from the request as it was asked, and compared with what came with it.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "checks-private.h"
#include "macro.h"
#include "message.h"
#include "str.h"
#include "test.h"

enum { HOSTS_MAX = 64, RECORDS_MAX = 64, PACKED_MAX = 16384 };
enum { FILE_KIB = 512, UNIT_FILES_KIB = 768, FILES_MIB = 64 }; // argosyctl(1), queue limit

static struct {
        Argosy__HostRecord *hosts[HOSTS_MAX + 1];
        Argosy__RoleRecord *roles[RECORDS_MAX];
        Argosy__PoolRecord *pools[RECORDS_MAX];
        Argosy__QueueRecord *queue;
} known;

#define check_asked(is, place, ...)                                                               \
        do {                                                                                      \
                if (!(is)) {                                                                      \
                        char what_[256];                                                          \
                        snprintf(what_, sizeof(what_), __VA_ARGS__);                              \
                        check_fail("settings-are-as-asked", "job %" PRIu64 ": %s", place, what_); \
                }                                                                                 \
        } while (0)

// ---------------------------------------------------------------------------------------- what the log has

static void forget_host(uint32_t host) {
        if (host <= HOSTS_MAX)
                message_free(TAKE_PTR(known.hosts[host]));
}

static void read_host(const Argosy__HostRecord *h) {
        if (!h || h->host > HOSTS_MAX)
                return;
        forget_host(h->host);
        known.hosts[h->host] = message_copy(h);
        assert_non_null(known.hosts[h->host]);
}

static size_t find_role(const char *name) {
        size_t i = 0;

        while (i < RECORDS_MAX && !(known.roles[i] && streq(known.roles[i]->name, name)))
                i++;
        return i;
}

static size_t find_pool(const char *name) {
        size_t i = 0;

        while (i < RECORDS_MAX && !(known.pools[i] && streq(known.pools[i]->name, name)))
                i++;
        return i;
}

static void forget_role(const char *name) {
        size_t i = find_role(name);

        if (i < RECORDS_MAX)
                message_free(TAKE_PTR(known.roles[i]));
}

static void forget_pool(const char *name) {
        size_t i = find_pool(name);

        if (i < RECORDS_MAX)
                message_free(TAKE_PTR(known.pools[i]));
}

static void read_role(const Argosy__RoleRecord *r) {
        size_t i = 0;

        forget_role(r->name);
        while (i < RECORDS_MAX && known.roles[i])
                i++;
        assert_true(i < RECORDS_MAX);
        known.roles[i] = message_copy(r);
}

static void read_pool(const Argosy__PoolRecord *p) {
        size_t i = 0;

        forget_pool(p->name);
        while (i < RECORDS_MAX && known.pools[i])
                i++;
        assert_true(i < RECORDS_MAX);
        known.pools[i] = message_copy(p);
}

static void read_queue(const Argosy__QueueRecord *q) {
        message_free(known.queue);
        known.queue = message_copy(q);
        assert_non_null(known.queue);
}

void settings_end(void) {
        for (uint32_t i = 0; i <= HOSTS_MAX; i++)
                forget_host(i);
        for (size_t i = 0; i < RECORDS_MAX; i++) {
                message_free(TAKE_PTR(known.roles[i]));
                message_free(TAKE_PTR(known.pools[i]));
        }
        message_free(TAKE_PTR(known.queue));
}

void settings_begin(void) {
        const ClusterState *s = world.rig.state;
        size_t n;
        Argosy__RoleRecord *const *roles = cluster_state_roles(s, &n);
        Argosy__PoolRecord *const *pools;

        settings_end();
        for (size_t i = 0; i < n; i++)
                read_role(roles[i]);
        pools = cluster_state_pools(s, &n);
        for (size_t i = 0; i < n; i++)
                read_pool(pools[i]);
        for (const Argosy__HostRecord *h = cluster_state_next_host(s, 0); h;
             h = cluster_state_next_host(s, h->host))
                read_host(h);
        read_queue(cluster_state_queue(s));
}

static void read_op(const Argosy__LogOp *op) {
        switch (op->op_case) {
        case ARGOSY__LOG_OP__OP_HOST:
                read_host(op->host);
                break;
        case ARGOSY__LOG_OP__OP_HOST_REMOVE:
                forget_host(op->host_remove->host);
                break;
        case ARGOSY__LOG_OP__OP_ROLE:
                read_role(op->role);
                break;
        case ARGOSY__LOG_OP__OP_ROLE_REMOVE:
                forget_role(op->role_remove->name);
                break;
        case ARGOSY__LOG_OP__OP_POOL:
                read_pool(op->pool);
                break;
        case ARGOSY__LOG_OP__OP_POOL_REMOVE:
                forget_pool(op->pool_remove->name);
                break;
        case ARGOSY__LOG_OP__OP_QUEUE:
                read_queue(op->queue);
                break;
        default:
                break;
        }
}

// What the applier has filled in.
static void read_hosts_anew(const Argosy__LogBatch *batch) {
        for (size_t i = 0; i < batch->n_ops; i++)
                if (batch->ops[i]->op_case == ARGOSY__LOG_OP__OP_HOST) {
                        for (const Argosy__HostRecord *h = cluster_state_next_host(world.rig.state, 0); h;
                             h = cluster_state_next_host(world.rig.state, h->host))
                                read_host(h);
                        return;
                }
}

// --------------------------------------------------------------------------------------------- comparing

// The operations of one request.
typedef struct Done {
        uint64_t place; // of its job
        const Argosy__Request *request;
        Argosy__LogOp **ops;
        size_t n;
} Done;

static bool are_equal(const void *a, const void *b) {
        static uint8_t packed[2][PACKED_MAX];
        const ProtobufCMessage *x = a, *y = b;
        size_t n = protobuf_c_message_get_packed_size(x);

        if (n > PACKED_MAX || n != protobuf_c_message_get_packed_size(y))
                return false;
        protobuf_c_message_pack(x, packed[0]);
        protobuf_c_message_pack(y, packed[1]);
        return memcmp(packed[0], packed[1], n) == 0;
}

// NULL: it has none of that kind.
static const Argosy__LogOp *only_op(const Done *done, Argosy__LogOp__OpCase kind) {
        const Argosy__LogOp *found = NULL;

        for (size_t i = 0; i < done->n; i++)
                if (done->ops[i]->op_case == kind) {
                        check_asked(!found, done->place, "its request comes to two operations of a kind");
                        found = done->ops[i];
                }
        return found;
}

// ------------------------------------------------------------------------------------------------ hosts

// 0: no host is called so, or it is not known by its name.
static uint32_t host_named(const char *name) {
        for (uint32_t i = 1; i <= HOSTS_MAX; i++)
                if (known.hosts[i] && streq(known.hosts[i]->name, name))
                        return i;
        return 0;
}

static const Argosy__HostRecord *put_of(const Done *done, uint32_t host) {
        for (size_t i = 0; i < done->n; i++)
                if (done->ops[i]->op_case == ARGOSY__LOG_OP__OP_HOST && done->ops[i]->host->host == host)
                        return done->ops[i]->host;
        return NULL;
}

// Nothing else of the record is another one. `put`: what the log has got of it; NULL: nothing.
static void judge_host(const Done *done, Argosy__HostRecord *wanted, const Argosy__HostRecord *put) {
        const Argosy__HostRecord *is = put ?: known.hosts[wanted->host];

        check_says("settings-are-as-asked");
        check_asked(wanted->n_nodes == is->n_nodes, done->place, "%s has other nodes", wanted->name);
        for (size_t i = 0; i < wanted->n_nodes; i++) {
                const Argosy__NodeRecord *w = wanted->nodes[i], *n = is->nodes[i];

                check_asked(w->mode == n->mode && streq(w->mode_reason, n->mode_reason) &&
                                    w->mode_deadline_us == n->mode_deadline_us,
                            done->place, "%s is in mode %d '%s' until %" PRIu64 ", and not %d '%s' %" PRIu64,
                            wanted->name, (int) n->mode, n->mode_reason, n->mode_deadline_us, (int) w->mode,
                            w->mode_reason, w->mode_deadline_us);
        }
        check_asked(are_equal(wanted, is), done->place, "of %s something else is changed, or is not",
                    wanted->name);
}

static void set_mode(Argosy__NodeRecord *node, const Argosy__Request__NodeChange *m, uint64_t deadline_us) {
        if (m->deadline_sec > 0)
                node->mode_deadline_us = deadline_us;
        else if (node->mode != m->mode)
                node->mode_deadline_us = 0;
        node->mode = m->mode;
        assert_int_equal(field_set(&node->mode_reason, m->reason), 0);
}

// Of a drain with a time the log says until when.
static uint64_t deadline_of(const Done *done, const Argosy__Request__NodeChange *m) {
        uint64_t least = 0;

        for (size_t i = 0; i < done->n; i++)
                for (size_t k = 0;
                     done->ops[i]->op_case == ARGOSY__LOG_OP__OP_HOST && k < done->ops[i]->host->n_nodes;
                     k++)
                        least = MAX_OF(least, done->ops[i]->host->nodes[k]->mode_deadline_us);
        check_asked(m->deadline_sec == 0 || least > 0, done->place, "it has no deadline");
        return least;
}

static void judge_node_change(const Done *done, const Argosy__Request__NodeChange *m) {
        uint64_t deadline_us = m->deadline_sec > 0 ? deadline_of(done, m) : 0;
        bool differs = false;

        check_asked(m->deadline_sec == 0 || m->mode >= ARGOSY__NODE_MODE__MODE_DRAINING, done->place,
                    "nothing leaves the node, by a time");
        for (size_t i = 0; i < m->n_nodes; i++)
                if (!host_named(m->nodes[i]))
                        return;
        for (size_t i = 0; i < m->n_nodes; i++) {
                uint32_t host = host_named(m->nodes[i]);
                Argosy__HostRecord *wanted = message_copy(known.hosts[host]);

                assert_non_null(wanted);
                for (size_t k = 0; k < wanted->n_nodes; k++)
                        set_mode(wanted->nodes[k], m, deadline_us);
                differs |= !are_equal(wanted, known.hosts[host]);
                judge_host(done, wanted, put_of(done, host));
                message_free(wanted);
        }
        check_asked(differs, done->place, "it is what was so before");
}

static bool has_label(Argosy__Label *const *labels, size_t n, const Argosy__Label *label) {
        for (size_t i = 0; i < n; i++)
                if (streq(labels[i]->key, label->key) && streq(labels[i]->value, label->value))
                        return true;
        return false;
}

static bool has_key(Argosy__Label *const *labels, size_t n, const char *key) {
        for (size_t i = 0; i < n; i++)
                if (streq(labels[i]->key, key))
                        return true;
        return false;
}

static void judge_label(const Done *done, const Argosy__HostRecord *put, const char *key,
                        const char *value) {
        Argosy__Label label = ARGOSY__LABEL__INIT;

        label.key = (char *) key;
        label.value = (char *) value;
        check_asked(has_label(put->set_labels, put->n_set_labels, &label), done->place,
                    "%s has no label %s=%s that is set", put->name, key, value);
}

// What is set at run time counts before what the host says of itself.
static void judge_merged(const Done *done, const Argosy__HostRecord *h) {
        size_t n = h->n_set_labels;

        for (size_t i = 0; i < h->n_own_labels; i++)
                if (!has_key(h->set_labels, h->n_set_labels, h->own_labels[i]->key)) {
                        n++;
                        check_asked(has_label(h->labels, h->n_labels, h->own_labels[i]), done->place,
                                    "%s has lost its own label %s", h->name, h->own_labels[i]->key);
                }
        for (size_t i = 0; i < h->n_set_labels; i++)
                check_asked(has_label(h->labels, h->n_labels, h->set_labels[i]), done->place,
                            "%s has not got the label %s", h->name, h->set_labels[i]->key);
        check_asked(n == h->n_labels, done->place, "%s has %zu labels, and not %zu", h->name, h->n_labels,
                    n);
}

static bool is_named(const Argosy__Request__LabelChange *m, const char *key) {
        for (size_t i = 0; i < m->n_unset; i++)
                if (streq(m->unset[i], key))
                        return true;
        return has_key(m->set, m->n_set, key);
}

static void judge_label_change(const Done *done, const Argosy__Request__LabelChange *m) {
        uint32_t host = host_named(m->node);
        const Argosy__HostRecord *put = host ? put_of(done, host) : NULL, *before;

        if (!put)
                return;
        before = known.hosts[host];
        check_says("settings-are-as-asked");
        for (size_t i = 0; i < m->n_set; i++)
                judge_label(done, put, m->set[i]->key, m->set[i]->value);
        for (size_t i = 0; i < m->n_unset; i++)
                check_asked(has_key(m->set, m->n_set, m->unset[i]) ||
                                    !has_key(put->set_labels, put->n_set_labels, m->unset[i]),
                            done->place, "%s has still the label %s", put->name, m->unset[i]);
        for (size_t i = 0; i < before->n_set_labels; i++)
                if (!is_named(m, before->set_labels[i]->key))
                        judge_label(done, put, before->set_labels[i]->key, before->set_labels[i]->value);
        for (size_t i = 0; i < put->n_set_labels; i++)
                check_asked(
                        is_named(m, put->set_labels[i]->key) ||
                                has_key(before->set_labels, before->n_set_labels, put->set_labels[i]->key),
                        done->place, "%s has a label %s, for which nobody asked", put->name,
                        put->set_labels[i]->key);
        judge_merged(done, put);
}

// ----------------------------------------------------------------------------------------- roles and pools

static const Argosy__Amount *find_amount(Argosy__Amount *const *list, size_t n, const char *resource) {
        for (size_t i = n; i > 0; i--)
                if (streq(list[i - 1]->resource, resource))
                        return list[i - 1];
        return NULL;
}

static void judge_amounts(const Done *done, Argosy__Amount *const *is, size_t n,
                          Argosy__Amount *const *before, size_t n_before, Argosy__Amount *const *asked,
                          size_t n_asked) {
        for (size_t i = 0; i < n; i++) {
                const Argosy__Amount *a = find_amount(asked, n_asked, is[i]->resource),
                                     *was = find_amount(before, n_before, is[i]->resource);

                check_asked(a ? !a->unset && a->amount == is[i]->amount
                              : was && was->amount == is[i]->amount,
                            done->place, "the role has %" PRIu64 " of %s", (uint64_t) is[i]->amount,
                            is[i]->resource);
        }
        for (size_t i = 0; i < n_before; i++)
                check_asked(find_amount(asked, n_asked, before[i]->resource) ||
                                    find_amount(is, n, before[i]->resource),
                            done->place, "the role has lost its %s", before[i]->resource);
        for (size_t i = 0; i < n_asked; i++)
                check_asked(find_amount(asked, n_asked, asked[i]->resource)->unset ||
                                    find_amount(is, n, asked[i]->resource),
                            done->place, "the role has not got its %s", asked[i]->resource);
}

static void judge_role_change(const Done *done, const Argosy__Request__RoleChange *m) {
        const Argosy__LogOp *put = only_op(done, ARGOSY__LOG_OP__OP_ROLE),
                            *gone = only_op(done, ARGOSY__LOG_OP__OP_ROLE_REMOVE);
        static Argosy__RoleRecord none = ARGOSY__ROLE_RECORD__INIT;
        size_t at = find_role(m->name);
        const Argosy__RoleRecord *before = at < RECORDS_MAX ? known.roles[at] : &none, *is;

        check_says("settings-are-as-asked");
        check_asked(m->remove ? gone && !put && streq(gone->role_remove->name, m->name)
                              : put && !gone && streq(put->role->name, m->name),
                    done->place, "the role %s is not %s", m->name, m->remove ? "removed" : "put");
        if (m->remove)
                return;
        is = put->role;
        check_asked(is->weight == (m->weight         ? m->weight
                                   : before == &none ? 1
                                                     : before->weight),
                    done->place, "the role has the weight %u", is->weight);
        judge_amounts(done, is->guarantee, is->n_guarantee, before->guarantee, before->n_guarantee,
                      m->guarantee, m->n_guarantee);
        judge_amounts(done, is->limit, is->n_limit, before->limit, before->n_limit, m->limit, m->n_limit);
}

static bool has_word(char *const *words, size_t n, const char *word) {
        for (size_t i = 0; i < n; i++)
                if (streq(words[i], word))
                        return true;
        return false;
}

static void judge_pool_change(const Done *done, const Argosy__Request__PoolChange *m) {
        const Argosy__LogOp *put = only_op(done, ARGOSY__LOG_OP__OP_POOL),
                            *gone = only_op(done, ARGOSY__LOG_OP__OP_POOL_REMOVE);

        check_says("settings-are-as-asked");
        check_asked(m->remove ? gone && !put && streq(gone->pool_remove->name, m->name)
                              : put && !gone && streq(put->pool->name, m->name),
                    done->place, "the pool %s is not %s", m->name, m->remove ? "removed" : "put");
        if (m->remove)
                return;
        for (size_t i = 0; i < m->n_hosts; i++)
                check_asked(has_word(put->pool->hosts, put->pool->n_hosts, m->hosts[i]), done->place,
                            "the pool has no %s", m->hosts[i]);
        for (size_t i = 0; i < put->pool->n_hosts; i++)
                check_asked(has_word(m->hosts, m->n_hosts, put->pool->hosts[i]), done->place,
                            "the pool has %s", put->pool->hosts[i]);
        for (size_t i = 0; i < m->n_labels; i++)
                check_asked(has_label(put->pool->labels, put->pool->n_labels, m->labels[i]), done->place,
                            "the pool has no label %s", m->labels[i]->key);
        check_asked(put->pool->n_labels <= m->n_labels, done->place, "the pool has too many labels");
}

// ------------------------------------------------------------------------------------------------ the queue

static void add_rule(Argosy__QueueRecord *q, const Argosy__Request__QueueChange *m) {
        size_t at = q->n_rules;
        Argosy__QueueRule *rule = message_copy(m->add);

        assert_non_null(rule);
        for (size_t i = 0; i < q->n_rules; i++)
                if (m->before > 0 && q->rules[i]->number == m->before)
                        at = i;
        rule->number = ++q->last_number;
        q->rules = realloc(q->rules, (q->n_rules + 1) * sizeof(*q->rules));
        assert_non_null(q->rules);
        memmove(&q->rules[at + 1], &q->rules[at], (q->n_rules - at) * sizeof(*q->rules));
        q->rules[at] = rule;
        q->n_rules++;
}

static void drop_rule(Argosy__QueueRecord *q, uint32_t number) {
        size_t kept = 0;

        for (size_t i = 0; i < q->n_rules; i++)
                if (q->rules[i]->number == number)
                        message_free(q->rules[i]);
                else
                        q->rules[kept++] = q->rules[i];
        q->n_rules = kept;
}

static void set_closed(Argosy__QueueRecord *q, const Argosy__Request *request) {
        bool closed = request->queue_change->close;

        q->closed = closed;
        assert_int_equal(field_set(&q->reason, closed && request->job ? request->job->reason : ""), 0);
}

// As much as that is if nobody has said anything stays unsaid.
static void set_size(uint32_t *size, uint32_t asked, uint32_t usual) {
        if (asked > 0 && (*size ?: usual) != asked)
                *size = asked;
}

static void judge_queue_change(const Done *done, const Argosy__Request__QueueChange *m) {
        const Argosy__LogOp *put = only_op(done, ARGOSY__LOG_OP__OP_QUEUE);
        Argosy__QueueRecord *wanted = message_copy(known.queue);

        assert_non_null(wanted);
        check_says("settings-are-as-asked");
        if (m->add)
                add_rule(wanted, m);
        if (m->remove > 0)
                drop_rule(wanted, m->remove);
        if (m->close || m->open)
                set_closed(wanted, done->request);
        wanted->open_max = m->open_max ?: wanted->open_max;
        wanted->history_mib = m->history_mib ?: wanted->history_mib;
        set_size(&wanted->file_kib, m->file_kib, FILE_KIB);
        set_size(&wanted->unit_files_kib, m->unit_files_kib, UNIT_FILES_KIB);
        set_size(&wanted->files_mib, m->files_mib, FILES_MIB);
        check_asked(put && are_equal(wanted, put->queue), done->place,
                    "the queue is not as it was asked to be");
        message_free(wanted);
}

// ------------------------------------------------------------------------------------------------ rights

static void judge_access_change(const Done *done, const Argosy__Request__AccessChange *m) {
        const Argosy__LogOp *put =
                only_op(done, m->revoke ? ARGOSY__LOG_OP__OP_GRANT_REMOVE : ARGOSY__LOG_OP__OP_GRANT);
        const Argosy__GrantRecord *g = put ? put->grant : NULL; // a union: both are grants

        check_says("settings-are-as-asked");
        check_asked(g && done->n == 1, done->place, "it is not one right that is %s",
                    m->revoke ? "taken" : "given");
        check_asked(g->right == m->right && streq(g->user, m->user) && streq(g->group, m->group) &&
                            streq(g->role, m->role) && !g->host == !*m->host &&
                            (!*m->host || g->host == host_named(m->host)),
                    done->place, "it is another right, of '%s%s'", g->user, g->group);
}

// ------------------------------------------------------------------------------------------------ an entry

static void judge(const Done *done) {
        switch (done->request->what_case) {
        case ARGOSY__REQUEST__WHAT_NODE_CHANGE:
                judge_node_change(done, done->request->node_change);
                break;
        case ARGOSY__REQUEST__WHAT_LABEL_CHANGE:
                judge_label_change(done, done->request->label_change);
                break;
        case ARGOSY__REQUEST__WHAT_ROLE_CHANGE:
                judge_role_change(done, done->request->role_change);
                break;
        case ARGOSY__REQUEST__WHAT_POOL_CHANGE:
                judge_pool_change(done, done->request->pool_change);
                break;
        case ARGOSY__REQUEST__WHAT_QUEUE_CHANGE:
                judge_queue_change(done, done->request->queue_change);
                break;
        case ARGOSY__REQUEST__WHAT_ACCESS_CHANGE:
                judge_access_change(done, done->request->access_change);
                break;
        default:
                break;
        }
}

static void on_put(const Argosy__LogOp__JobPut *put, uint64_t place, Argosy__LogOp **ops) {
        const LogJob *j = place > 0 && place <= log_truth.n_jobs ? log_truth.jobs[place] : NULL;
        const WorldAsked *a =
                j && put->job->state != ARGOSY__JOB_STATE__JOB_HELD ? log_asked_of(j) : NULL;

        if (a)
                judge(&(Done){.place = place, .request = a->request, .ops = ops, .n = put->n_ops});
}

void settings_on_entry(const Argosy__LogBatch *batch) {
        uint64_t next = log_truth.n_jobs;
        size_t read = 0;

        for (size_t i = 0; i < batch->n_ops; i++)
                next -= batch->ops[i]->op_case == ARGOSY__LOG_OP__OP_JOB && batch->ops[i]->job->number == 0;
        for (size_t i = 0; i < batch->n_ops; i++) {
                const Argosy__LogOp__JobPut *put =
                        batch->ops[i]->op_case == ARGOSY__LOG_OP__OP_JOB ? batch->ops[i]->job : NULL;

                if (!put || put->n_ops > i)
                        continue;
                for (; read < i - put->n_ops; read++)
                        read_op(batch->ops[read]);
                on_put(put, put->number == 0 ? ++next : log_place(put->number), batch->ops + i - put->n_ops);
        }
        for (; read < batch->n_ops; read++)
                read_op(batch->ops[read]);
        read_hosts_anew(batch);
}
