// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Contents that nodes are asked about: what does your systemd say of these files? Each of VERIFY_NODES_MAX
// nodes gets all of them, and a message of 768 KiB takes about a millisecond until the link has it. So who
// is asked is known at once, and the contents follow: a turn sends VERIFY_TURN_BYTES, of the authors in turn
// (author-turns.h), and nothing to a host that has not taken what it was sent before. When it has, the
// leader hears so (leader_on_host_drained()).
//
//      a pending request -> its calls, unsent -> in Leader.verifies until the last of them is sent
//      -> answers, as of any question
//
// Failures: a node that is lost meanwhile has an error as its answer. Without memory the pending request
// ends.

#include <errno.h>

#include "authorization.h"
#include "macro.h"
#include "message.h"
#include "node-calls-private.h"
#include "response.h"
#include "str.h"
#include "tables.h"
#include "pending-requests.h"
#include "turn.h"
#include "unit-name.h"

enum {
        VERIFY_NODES_MAX = 16,
        VERIFY_FILES_MAX = 32, // as many as a node's helper takes at once
        VERIFY_BYTES_MAX = 768 * 1024,
        VERIFY_TURN_BYTES = VERIFY_BYTES_MAX,
        VERIFY_CALL_BYTES = 1024, // what a message costs besides
};

// --------------------------------------------------------------------------------------------- who is asked

// Whether the node can verify: only hosts' own managers. Those of users would say the same, and those of
// containers have another systemd, which is not asked.
static bool can_verify(const Node *n) {
        return node_calls_knows_names(n) && streq(n->manager, "system");
}

static size_t bytes_of(const Argosy__Request__Verify *m) {
        size_t bytes = 0;

        for (size_t i = 0; i < m->n_files; i++)
                bytes += m->files[i]->content.len;
        return bytes;
}

static Argosy__Response *refuse(const Argosy__Request__Verify *m) {
        for (size_t i = 0; i < m->n_files; i++)
                if (unit_name_kind(m->files[i]->name, NULL) == UNIT_NAME_INVALID)
                        return response_error(EINVAL, "'%s' is not a unit name", m->files[i]->name);
        if (m->n_files == 0)
                return response_error(EINVAL, "no file is named");
        if (m->n_files > VERIFY_FILES_MAX || bytes_of(m) > VERIFY_BYTES_MAX)
                return response_error(E2BIG, "more than %d files, or %d KiB of them", VERIFY_FILES_MAX,
                                      VERIFY_BYTES_MAX / 1024);
        return NULL;
}

static int respond(PendingRequest *t, Argosy__Response *r) {
        request_send(t, r);
        return 0;
}

// `number` 0: of all nodes the first ones.
static int begin_calls(Leader *l, PendingRequest *t, uint32_t number) {
        NodeAsking *a = node_asking(t);
        NodeCall *c;
        int r = 0;

        map_foreach (slot, &l->nodes) {
                Node *n = slot->value;

                if (r < 0 || (number ? n->number != number || !node_calls_knows_names(n) : !can_verify(n)))
                        continue;
                a->n_could_be_asked++;
                if (a->n_calls < VERIFY_NODES_MAX)
                        r = node_call_begin(l, t, "", n, &c);
        }
        return r;
}

int verify_calls_ask(Leader *l, PendingRequest *t) {
        const Argosy__Request__Verify *m = t->request->verify;
        Argosy__Response *refused = refuse(m);
        uint32_t number = 0;
        int r;

        if (refused)
                return respond(t, refused);
        if (*m->node && !cluster_state_resolve_node(l->state, m->node, &number, NULL))
                return respond(t, response_error(ENOENT, "%s: no such node", m->node));
        r = begin_calls(l, t, number);
        if (r < 0)
                return r;
        if (node_asking(t)->n_calls > 0)
                return request_wait(t, &l->verifies);
        if (!list_is_empty(&t->responses))
                return 0;
        return respond(t, *m->node ? response_error(EHOSTUNREACH, "node %s cannot be reached", m->node)
                                   : response_error(EHOSTUNREACH, "no node can be reached"));
}

// ---------------------------------------------------------------------------------------- some in each turn

// To a host that is not behind. *ret_more: there are others, or such as wait for their hosts.
static NodeCall *next_of(Leader *l, const PendingRequest *t, bool *ret_more) {
        NodeCall *next = NULL;

        *ret_more = false;
        list_foreach (i, &node_asking(t)->calls) {
                NodeCall *c = CONTAINER_OF(i, NodeCall, by_pending_request);

                if (!c->unsent)
                        continue;
                if (!next && !l->ops.host_is_full(c->node->host->number, l->userdata))
                        next = c;
                else
                        *ret_more = true;
        }
        return next;
}

// False: nothing can be sent at present.
static bool send_next(Leader *l, PendingRequest *t) {
        bool more;
        NodeCall *c = next_of(l, t, &more);

        if (c || !more)
                request_leave_queue(t);
        if (!c)
                return false;
        node_call_send(l, c);
        if (more)
                request_wait_again(t, false);
        return true;
}

void verify_calls_turn(Leader *l) {
        size_t sent = 0;
        ListNode *next;

        while ((next = author_turns_next(&l->verifies))) {
                PendingRequest *t = CONTAINER_OF(next, PendingRequest, queue);
                size_t bytes = VERIFY_CALL_BYTES + bytes_of(t->request->verify);

                if (sent > 0 && sent + bytes > VERIFY_TURN_BYTES) {
                        leader_mark(l);
                        break;
                }
                if (!send_next(l, t))
                        continue;
                author_turn_charge(t->turn, bytes);
                sent += bytes;
        }
        author_turns_end(&l->verifies);
}

// ------------------------------------------------------------------------------------------------ answers

void verify_calls_complete(Leader *l, Argosy__Response *r, NodeCall *c) {
        _cleanup_free_ char *why = NULL;

        if (r->what_case == ARGOSY__RESPONSE__WHAT_VERIFY) {
                (void) field_set(&r->verify->node, c->node->name);
                r->verify->nodes = c->asking->n_could_be_asked;
                r->verify->number = ++c->asking->n_readings;
        } else if (r->status != 0) {
                why = strdup(r->message);
                (void) field_printf(&r->message, "%s: %s", c->node->name, why ?: "");
        }
}
