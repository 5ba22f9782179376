// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A right is given, or taken back, as one record of the log. Of two such requests the second one waits for
// the next entry, since it is judged by what the first has made of the records. What is so already is
// answered at once. Nobody can lock a cluster up: root on any member has all rights without a record.

#include "access-changes.h"

#include <errno.h>
#include <string.h>

#include "author.h"
#include "message.h"
#include "node-changes.h"
#include "response.h"
#include "pending-requests.h"

// Why there can be no such record, for people; NULL: there can.
static const char *grant_error(const Argosy__GrantRecord *g) {
        if (g->right < ARGOSY__RIGHT__RIGHT_VIEW || g->right > ARGOSY__RIGHT__RIGHT_ADMIN)
                return "that is no right";
        if (!*g->user == !*g->group)
                return "a right is given to one user or one group";
        if (!author_name_is_valid(*g->user ? g->user : g->group))
                return "no account can have that name";
        if (*g->group && g->host)
                return "members of a group have their rights at any host";
        if (*g->role && g->right > ARGOSY__RIGHT__RIGHT_OPERATE)
                return "only view and operate can be about a role: who brings content is root on every node";
        if (*g->role && !label_is_valid(g->role))
                return "that is no name of a role";
        return NULL;
}

static bool is_given(const Leader *l, const Argosy__GrantRecord *grant) {
        AccessList list = cluster_state_access(l->state);

        for (size_t i = 0; i < list.n; i++)
                if (grant_compare(list.grants[i], grant) == 0)
                        return true;
        return false;
}

static int put(Leader *l, PendingRequest *t, BatchBuilder *b, Argosy__GrantRecord *grant, bool revoke) {
        const char *error = grant_error(grant);
        int r;

        if (error)
                return request_refuse(t, EINVAL, "%s", error);
        if (batch_builder_has_access(b))
                return -EBUSY;
        if (revoke && !is_given(l, grant))
                return request_refuse(t, ENOENT, "that right was not given to %s %s: argosyctl access list",
                                     *grant->user ? "user" : "group",
                                     *grant->user ? grant->user : grant->group);
        if (!revoke && is_given(l, grant))
                return request_settle(t, response_new(ARGOSY__RESPONSE__WHAT__NOT_SET));
        r = batch_builder_change_access(b, grant, revoke);
        if (r < 0)
                return r;
        return request_prepare(t, response_new(ARGOSY__RESPONSE__WHAT__NOT_SET));
}

int access_plan_change(Leader *l, PendingRequest *t, BatchBuilder *b) {
        const Argosy__Request__AccessChange *m = t->request->access_change;
        Argosy__GrantRecord grant = ARGOSY__GRANT_RECORD__INIT;
        const Argosy__HostRecord *host;
        uint32_t node;

        if (*m->host) {
                host = node_request_resolve(l, t, m->host, &node);
                if (!host)
                        return 0;
                grant.host = host->host;
        }
        grant.right = m->right;
        grant.user = m->user;
        grant.group = m->group;
        grant.role = m->role;
        return put(l, t, b, &grant, m->revoke);
}

static int add_row(const Leader *l, Argosy__Response__Access *access, const Argosy__GrantRecord *grant) {
        const Argosy__HostRecord *host = cluster_state_find_host(l->state, grant->host);
        Argosy__Response__AccessRow *row = calloc(1, sizeof(*row));

        if (!row)
                return -ENOMEM;
        argosy__response__access_row__init(row);
        row->grant = message_copy(grant);
        if (FIELD_APPEND(access->rows, access->n_rows, row) < 0 || !row->grant)
                return -ENOMEM;
        return field_set(&row->host, host ? host->name : NULL);
}

Argosy__Response *access_answer_list(Leader *l, const Argosy__Request *request) {
        _cleanup_response_ Argosy__Response *r = response_new(ARGOSY__RESPONSE__WHAT_ACCESS);
        AccessList list = cluster_state_access(l->state);

        for (size_t i = 0; r && i < list.n; i++)
                if (add_row(l, r->access, list.grants[i]) < 0)
                        return NULL;
        return TAKE_PTR(r);
}
