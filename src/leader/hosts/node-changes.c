// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What owners do with nodes: cordon, drain, maintenance, uncordon, and labels at run time.
//
// A request changes the host's record, and nothing else: what follows from the record is the tables' business (nodes.c).
// What drives a global unit out of a node brings its tombstone in the same entry. A request that changes nothing is
// answered at once; one about a host that the batch changes already waits for the next batch.
#include "node-changes.h"

#include <errno.h>

#include "clock.h"
#include "draft.h"
#include "host-record.h"
#include "log.h"
#include "message.h"
#include "response.h"
#include "str.h"
#include "tickets.h"
#include "tombstones.h"
#include "turn.h"

enum {
        DEADLINE_MAX_SEC = 30 * 24 * 3600, // of a drain
        REASON_LEN_MAX = 200,
};

static int refuse(Ticket *t, int status, const char *format, const char *word) {
        ticket_settle(t, response_error(status, format, word));
        return 0;
}

const Argosy__HostRecord *node_request_resolve(Leader *l, Ticket *t, const char *word, uint32_t *ret_node) {
        const Argosy__HostRecord *host;
        bool ambiguous = false;

        *ret_node = 0;
        host = strchr(word, '/') ? cluster_state_resolve_node(l->state, word, ret_node, &ambiguous)
                                 : cluster_state_resolve_host(l->state, word, &ambiguous);
        if (!host)
                refuse(t, ENOENT, ambiguous ? "several nodes are meant by '%s'" : "there is no node '%s'",
                       word);
        return host;
}

static int put_host(Leader *l, Draft *b, Argosy__HostRecord *record) {
        int r = draft_put_host(b, record);

        return r < 0 ? r : tombstones_part_with_host(l, b, record);
}

// The record is as it was, or goes into the batch. `r` 1: it changed.
static int put_changed(Ticket *t, Draft *b, Argosy__HostRecord *record, int r) {
        Argosy__Response *response;

        if (r == 1)
                r = put_host(t->leader, b, record);
        else if (r == 0) {
                response = response_new(ARGOSY__RESPONSE__WHAT__NOT_SET);
                ticket_settle(t, response);
                return 0;
        }
        if (r < 0)
                return r;
        message_free(t->response);
        t->response = response_new(ARGOSY__RESPONSE__WHAT__NOT_SET);
        return t->response ? 1 : -ENOMEM;
}

static bool mode_is_known(Argosy__NodeMode mode) {
        return mode >= ARGOSY__NODE_MODE__MODE_OPEN && mode <= ARGOSY__NODE_MODE__MODE_MAINTENANCE;
}

int nodes_plan_mode(Leader *l, Ticket *t, Draft *b) {
        const Argosy__Request__NodeChange *m = t->request->node_change;
        const Argosy__HostRecord *host;
        Argosy__HostRecord *next;
        uint64_t deadline_us = 0;
        uint32_t node;
        int r;

        if (!mode_is_known(m->mode) || strlen(m->reason) > REASON_LEN_MAX ||
            m->deadline_sec > DEADLINE_MAX_SEC)
                return refuse(t, EINVAL, "%s",
                              "the mode is unknown, the reason longer than 200 bytes, or the deadline "
                              "beyond 30 days");
        host = node_request_resolve(l, t, m->node, &node);
        if (!host)
                return 0;
        if (draft_has_host(b, host->host))
                return -EBUSY;
        if (m->deadline_sec)
                deadline_us = leader_wall(l) + m->deadline_sec * USEC_PER_SEC;
        next = message_copy(host);
        if (!next)
                return -ENOMEM;
        r = put_changed(t, b, next, host_record_set_mode(next, node, m->mode, m->reason, deadline_us));
        if (r == 1)
                log_host(LOG_NOTICE, host->name, "%s is %s now.", m->node,
                         m->mode == ARGOSY__NODE_MODE__MODE_OPEN ? "open for units"
                                                                 : node_mode_to_string(m->mode));
        message_free(next);
        return r;
}

static int change_labels(Argosy__HostRecord *next, const Argosy__Request__LabelChange *m) {
        int r = 0;

        for (size_t i = 0; i < m->n_unset; i++)
                (void) host_record_unset_label(next, m->unset[i]);
        for (size_t i = 0; r >= 0 && i < m->n_set; i++)
                r = host_record_set_label(next, m->set[i]->key, m->set[i]->value);
        return r < 0 ? r : host_record_merge_labels(next);
}

int nodes_plan_labels(Leader *l, Ticket *t, Draft *b) {
        const Argosy__Request__LabelChange *m = t->request->label_change;
        const Argosy__HostRecord *host;
        Argosy__HostRecord *next;
        uint32_t node;
        int r;

        for (size_t i = 0; i < m->n_set; i++)
                if (!label_is_valid(m->set[i]->key) || !label_is_valid(m->set[i]->value)) {
                        ticket_settle(t, response_no_label(m->set[i]));
                        return 0;
                }
        host = node_request_resolve(l, t, m->node, &node);
        if (!host)
                return 0;
        if (node)
                return refuse(t, EINVAL, "labels belong to hosts, and '%s' is one node of a host", m->node);
        if (draft_has_host(b, host->host))
                return -EBUSY;
        next = message_copy(host);
        if (!next)
                return -ENOMEM;
        r = change_labels(next, m);
        if (r == -E2BIG)
                r = refuse(t, E2BIG, "%s", "a host can have 64 labels that are set at run time");
        else if (r >= 0)
                r = put_changed(t, b, next, 1);
        message_free(next);
        return r;
}
