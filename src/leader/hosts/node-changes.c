// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What owners do with nodes: cordon, drain, maintenance, uncordon, and labels at run time.
//
// A request changes the host's record, and nothing else: what follows from the record is the tables'
// business (nodes.c). Several nodes of one request are changed in one entry, all or none: so nothing moves
// onto a node that is emptied with its own. What drives a global unit out of a node brings its tombstone in
// the same entry. A request that changes nothing is answered at once; one about a host that the batch
// changes already waits for the next batch.
#include "node-changes.h"

#include <errno.h>

#include "batch-builder.h"
#include "clock.h"
#include "host-record.h"
#include "log.h"
#include "message.h"
#include "response.h"
#include "str.h"
#include "pending-requests.h"
#include "tombstones.h"
#include "turn.h"

enum {
        DEADLINE_MAX_SEC = 30 * 24 * 3600, // of a drain
        REASON_LEN_MAX = 200,
        NODES_MAX = 1000, // named in one request
};

// NULL: refused, and if the request names others too, none of them is changed.
static const Argosy__HostRecord *resolve(Leader *l, PendingRequest *t, const char *word, bool others,
                                         uint32_t *ret_node) {
        const Argosy__HostRecord *host;
        bool ambiguous = false;

        *ret_node = 0;
        host = strchr(word, '/') ? cluster_state_resolve_node(l->state, word, ret_node, &ambiguous)
                                 : cluster_state_resolve_host(l->state, word, &ambiguous);
        if (!host)
                request_refuse(t, ENOENT, "%s '%s'%s",
                              ambiguous ? "several nodes are meant by" : "there is no node", word,
                              others ? "; nothing was changed" : "");
        return host;
}

const Argosy__HostRecord *node_request_resolve(Leader *l, PendingRequest *t, const char *word,
                                               uint32_t *ret_node) {
        return resolve(l, t, word, false, ret_node);
}

int node_change_put_host(Leader *l, BatchBuilder *b, Argosy__HostRecord *record) {
        int r = batch_builder_put_host(b, record);

        return r < 0 ? r : tombstones_chunk_with_host(l, b, record);
}

// PLAN_IN_BATCH; or PLAN_SETTLED, since it is so already.
static int put_done(PendingRequest *t, bool changed) {
        Argosy__Response *response = response_new(ARGOSY__RESPONSE__WHAT__NOT_SET);

        if (!changed) {
                request_settle(t, response);
                return PLAN_SETTLED;
        }
        return request_prepare(t, response);
}

static bool mode_is_known(Argosy__NodeMode mode) {
        return mode >= ARGOSY__NODE_MODE__MODE_OPEN && mode <= ARGOSY__NODE_MODE__MODE_MAINTENANCE;
}

// What a request wants of some nodes, and the nodes that it names: those of one host follow each other.
typedef struct ModeChange {
        Argosy__NodeMode mode;
        uint64_t deadline_us;
        const char *reason;
        size_t n;
        struct NamedNode {
                const Argosy__HostRecord *host;
                uint32_t node; // 0: all of the host's
                const char *word;
        } named[];
} ModeChange;

static int by_host(const void *a, const void *b) {
        uint32_t x = ((const struct NamedNode *) a)->host->host,
                 y = ((const struct NamedNode *) b)->host->host;

        return (x > y) - (x < y);
}

// Puts one record for the nodes of one host, which begin at *i, and leaves *i behind them. 0 or
// HOST_RECORD_CHANGED.
static int plan_mode_of_host(Leader *l, BatchBuilder *b, const ModeChange *m, size_t *i) {
        const Argosy__HostRecord *host = m->named[*i].host;
        Argosy__HostRecord *next = message_copy(host);
        bool changed = false;
        int r = next ? 0 : -ENOMEM;

        for (; r >= 0 && *i < m->n && m->named[*i].host == host; ++*i) {
                r = host_record_set_mode(next, m->named[*i].node, m->mode, m->reason, m->deadline_us);
                changed |= r == HOST_RECORD_CHANGED;
                if (r == HOST_RECORD_CHANGED)
                        log_host(LOG_NOTICE, host->name, "%s is %s now.", m->named[*i].word,
                                 m->mode == ARGOSY__NODE_MODE__MODE_OPEN ? "open for units"
                                                                         : node_mode_to_string(m->mode));
        }
        if (r >= 0 && changed)
                r = node_change_put_host(l, b, next);
        message_free(next);
        return r < 0 ? r : changed ? HOST_RECORD_CHANGED : 0;
}

static int plan_modes(Leader *l, PendingRequest *t, BatchBuilder *b, char *const *words, ModeChange *m) {
        bool changed = false;
        int r = 0;

        for (size_t i = 0; i < m->n; i++) {
                m->named[i].word = words[i];
                m->named[i].host = resolve(l, t, words[i], m->n > 1, &m->named[i].node);
                if (!m->named[i].host)
                        return 0;
        }
        for (size_t i = 0; i < m->n; i++)
                if (batch_builder_has_host(b, m->named[i].host->host))
                        return -EBUSY;
        qsort(m->named, m->n, sizeof(*m->named), by_host);
        for (size_t i = 0; r >= 0 && i < m->n;) {
                r = plan_mode_of_host(l, b, m, &i);
                changed |= r == HOST_RECORD_CHANGED;
        }
        return r < 0 ? r : put_done(t, changed);
}

int nodes_plan_modes(Leader *l, PendingRequest *t, BatchBuilder *b) {
        const Argosy__Request__NodeChange *change = t->request->node_change;
        _cleanup_free_ ModeChange *m = NULL;

        if (!mode_is_known(change->mode) || strlen(change->reason) > REASON_LEN_MAX ||
            change->deadline_sec > DEADLINE_MAX_SEC)
                return request_refuse(t, EINVAL, "%s",
                              "the mode is unknown, the reason longer than 200 bytes, or the deadline "
                              "beyond 30 days");
        if (change->deadline_sec > 0 && change->mode < ARGOSY__NODE_MODE__MODE_DRAINING)
                return request_refuse(t, EINVAL, "%s",
                                      "only a drain and a maintenance have a deadline: nothing has to leave "
                                      "a node that is cordoned or open");
        if (!str_is_plain(change->reason))
                return request_refuse(t, EINVAL, "%s",
                                     "the reason has characters that are no text, or that turn text around");
        if (change->n_nodes == 0 || change->n_nodes > NODES_MAX)
                return request_refuse(t, EINVAL, "%s", "the request names no node, or more than 1000");
        m = calloc(1, sizeof(*m) + change->n_nodes * sizeof(*m->named));
        if (!m)
                return -ENOMEM;
        m->mode = change->mode;
        m->reason = change->reason;
        m->n = change->n_nodes;
        m->deadline_us = change->deadline_sec ? leader_wall(l) + change->deadline_sec * USEC_PER_SEC
                                              : HOST_DEADLINE_KEEP;
        return plan_modes(l, t, b, change->nodes, m);
}

static int change_labels(Argosy__HostRecord *next, const Argosy__Request__LabelChange *m) {
        int r = 0;

        for (size_t i = 0; i < m->n_unset; i++)
                (void) host_record_unset_label(next, m->unset[i]);
        for (size_t i = 0; r >= 0 && i < m->n_set; i++)
                r = host_record_set_label(next, m->set[i]->key, m->set[i]->value);
        return r < 0 ? r : host_record_merge_labels(next);
}

int nodes_plan_labels(Leader *l, PendingRequest *t, BatchBuilder *b) {
        const Argosy__Request__LabelChange *m = t->request->label_change;
        const Argosy__HostRecord *host;
        Argosy__HostRecord *next;
        uint32_t node;
        int r;

        for (size_t i = 0; i < m->n_set; i++)
                if (!label_is_valid(m->set[i]->key) || !label_is_valid(m->set[i]->value)) {
                        request_settle(t, response_no_label(m->set[i]));
                        return 0;
                }
        host = node_request_resolve(l, t, m->node, &node);
        if (!host)
                return 0;
        if (node)
                return request_refuse(t, EINVAL, "labels belong to hosts, and '%s' is one node of a host",
                                     m->node);
        if (batch_builder_has_host(b, host->host))
                return -EBUSY;
        next = message_copy(host);
        if (!next)
                return -ENOMEM;
        r = change_labels(next, m);
        if (r == -E2BIG)
                r = request_refuse(t, E2BIG, "%s", "a host can have 64 labels that are set at run time");
        else {
                r = r < 0 ? r : node_change_put_host(l, b, next);
                r = r < 0 ? r : put_done(t, true);
        }
        message_free(next);
        return r;
}
