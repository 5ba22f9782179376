// SPDX-License-Identifier: LGPL-2.1-or-later
//
// ManagerWait: a client that has attached or detached a manager waits until the leader's list of nodes
// agrees, so that later questions on any host have the same answer.
//
//   attached   in the log, with a number -> its host has said whether it can be used -> answered, with the
//              reason if not
//   detached   not in the log any more -> answered
//
// It ends early when the host is no member, or says something that its record cannot take over.
#include <errno.h>

#include "manager-name.h"
#include "manager-waiters.h"
#include "message.h"
#include "registry.h"
#include "response.h"
#include "str.h"
#include "tables.h"
#include "pending-requests.h"

static const Argosy__NodeRecord *find_record(const Argosy__HostRecord *host, const char *manager) {
        for (size_t i = 0; i < host->n_nodes; i++)
                if (streq(host->nodes[i]->manager, manager))
                        return host->nodes[i];
        return NULL;
}

static Argosy__Response *attached_response(const Node *n) {
        Argosy__Response *r = response_new(ARGOSY__RESPONSE__WHAT__NOT_SET);

        if (r && n->reason &&
            field_printf(&r->message, "%s cannot be used at present: %s", n->name, n->reason) < 0) {
                message_free(r);
                return NULL;
        }
        return r;
}

void manager_wait_judge(Leader *l, PendingRequest *t) {
        const Argosy__Request__ManagerWait *q = t->request->manager_wait;
        const Argosy__HostRecord *host = cluster_state_resolve_host(l->state, q->host, NULL);
        const Argosy__NodeRecord *record = host ? find_record(host, q->manager) : NULL;
        const Node *n = record ? node_find(l, record->node) : NULL;
        const Host *h = host ? host_find(l, host->host) : NULL;

        if (!h)
                request_refuse(t, ENOENT, "this host is no member of the cluster any more");
        else if (q->detached && !record)
                request_settle(t, response_new(ARGOSY__RESPONSE__WHAT__NOT_SET));
        else if (!q->detached && n && !streq(n->reason ?: "", MANAGER_NOT_REACHED))
                request_settle(t, attached_response(n));
        else if (h->complaint && (q->detached || !n))
                request_refuse(t, EINVAL, "%s", h->complaint);
}
