// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What owners do with nodes: cordon, drain, maintenance, uncordon, and labels at run time.
//
// A node's mode is in the log, and everything follows from it, also under the next leader: a node that is
// not open takes no new units (placer.c), one that is being emptied has its units in Leader.moving
// (registry.c) until decide.c has found each another node. A unit ends on the old node before it begins on
// the new one (orders.c). A unit that no other node takes stays until one does, or until the drain's
// deadline: then it is taken off the node and waits without one. What has finished for good has nothing to
// do elsewhere and leaves nothing behind.
//
// Waiting for a drain is, like all waiting, a look at the tables: nothing is recorded.
#include <errno.h>

#include "clock.h"
#include "draft.h"
#include "homeless.h"
#include "host-record.h"
#include "log.h"
#include "message.h"
#include "nodes.h"
#include "placer.h"
#include "registry.h"
#include "response.h"
#include "str.h"
#include "tables.h"
#include "tickets.h"
#include "tombstones.h"
#include "turn.h"
#include "unit-file.h"
#include "unit-record.h"

enum {
        STUCK_SHOWN_MAX = 100,             // units named at the end of a drain that cannot go on
        DEADLINE_MAX_SEC = 30 * 24 * 3600, // of a drain
        REASON_LEN_MAX = 200,
};

// ------------------------------------------------------------------------------------------------ modes

bool node_is_emptying(const Node *n) {
        return n->mode >= ARGOSY__NODE_MODE__MODE_DRAINING;
}

bool node_deadline_is_over(const Leader *l, const Node *n) {
        return n->deadline_us && n->deadline_us <= leader_wall(l);
}

bool record_has_to_leave(const Argosy__UnitRecord *r) {
        return r->target != ARGOSY__TARGET__TARGET_INACTIVE &&
               !(r->target == ARGOSY__TARGET__TARGET_LAUNCHED && record_final_outcome(r, r->node));
}

bool unit_has_to_leave(const Unit *u, const UnitEntry *e) {
        return u->node && node_is_emptying(u->node) && e && record_has_to_leave(e->record);
}

static void empty(Leader *l, Node *n) {
        list_foreach (i, &n->placed) {
                Unit *u = CONTAINER_OF(i, Unit, placed);

                if (!u->leaves)
                        continue;
                list_unlink(&u->moving); // it may be waiting for its group, which the deadline ends
                list_append(&l->moving, &u->moving);
        }
}

static const char *mode_phrase(Argosy__NodeMode mode) {
        switch (mode) {
        case ARGOSY__NODE_MODE__MODE_CORDONED:
                return "the node is cordoned";
        case ARGOSY__NODE_MODE__MODE_DRAINING:
                return "the node is being drained";
        case ARGOSY__NODE_MODE__MODE_MAINTENANCE:
                return "the node is in maintenance";
        default:
                return "the node is closed";
        }
}

int node_sync_mode(Leader *l, Node *n, const Argosy__NodeRecord *record) {
        bool changed = n->mode != record->mode || n->deadline_us != record->mode_deadline_us;
        char *closed = NULL;

        if (record->mode != ARGOSY__NODE_MODE__MODE_OPEN) {
                closed = str_printf("%s%s%s", mode_phrase(record->mode), *record->mode_reason ? ": " : "",
                                    record->mode_reason);
                if (!closed)
                        return -ENOMEM;
        }
        free(n->closed);
        n->closed = closed;
        n->mode = record->mode;
        n->deadline_us = record->mode_deadline_us;
        n->deadline_done = changed ? node_deadline_is_over(l, n) : n->deadline_done;
        if (changed)
                list_foreach (i, &n->sites)
                        site_count(CONTAINER_OF(i, Site, by_node));
        if (changed && node_is_emptying(n))
                empty(l, n);
        return 0;
}

// ------------------------------------------------------------------------------------------------ deadlines

// The earliest that was not acted on, as a boot time; 0: none. A wall clock that is set meanwhile is noticed
// then.
uint64_t nodes_next_deadline(const Leader *l) {
        uint64_t next = 0, wall = leader_wall(l);

        map_foreach (slot, &l->nodes) {
                const Node *n = slot->value;

                if (node_is_emptying(n) && n->deadline_us && !n->deadline_done &&
                    (!next || n->deadline_us < next))
                        next = n->deadline_us;
        }
        return next ? leader_now(l) + (next > wall ? next - wall : 0) : 0;
}

void nodes_on_time(Leader *l) {
        map_foreach (slot, &l->nodes) {
                Node *n = slot->value;

                if (!node_is_emptying(n) || n->deadline_done || !node_deadline_is_over(l, n))
                        continue;
                n->deadline_done = true;
                empty(l, n);
        }
}

// ------------------------------------------------------------------------------------------------ requests

static int refuse(Ticket *t, int status, const char *format, const char *word) {
        ticket_settle(t, response_error(status, format, word));
        return 0;
}

// What a word names: a host (all of its nodes, *ret_node 0), or one node as HOST/MANAGER. NULL: refused.
static const Argosy__HostRecord *resolve(Leader *l, Ticket *t, const char *word, uint32_t *ret_node) {
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
        host = resolve(l, t, m->node, &node);
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
        host = resolve(l, t, m->node, &node);
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

// ------------------------------------------------------------------------------------------------ counts

// A site that is to end on its node, as far as that is seen.
static bool is_leaving(const Site *s) {
        if (!s->reported || host_is_lost(s->node->host))
                return false;
        if (list_is_linked(&s->unit->global))
                return s->remove || s->node->mode == ARGOSY__NODE_MODE__MODE_MAINTENANCE;
        return s->unit->node != s->node;
}

void site_count(Site *s) {
        bool leaving = is_leaving(s);

        s->node->n_leaving = s->node->n_leaving - s->counted + leaving;
        s->counted = leaving;
}

void unit_set_homeless(Leader *l, Unit *u, bool homeless) {
        if (homeless == list_is_linked(&u->homeless))
                return;
        if (homeless) {
                list_append(&l->homeless, &u->homeless);
                homeless_ask(l, u);
        } else {
                list_unlink(&u->homeless);
                list_unlink(&u->asking);
                list_unlink(&u->untried);
        }
        if (u->node && u->leaves)
                u->node->n_stuck = homeless ? u->node->n_stuck + 1 : u->node->n_stuck - 1;
}

// ------------------------------------------------------------------------------------------------ waiting

int drain_wait_start(Leader *l, Ticket *t) {
        list_append(&l->drains, &t->drain);
        t->drain_left = UINT32_MAX;
        leader_mark(l);
        return 0;
}

typedef struct DrainView {
        size_t left;   // units that are still there
        size_t stuck;  // of these: no other node takes them
        bool emptying; // all of its nodes
        bool ends;     // at a deadline that is to come, or was not acted on yet
} DrainView;

// The nodes that a drain is about: all of the host's, or one.
static bool is_meant(const Node *n, uint32_t node) {
        return node == 0 || n->number == node;
}

static DrainView look(const Leader *l, const Host *h, uint32_t node) {
        DrainView v = {.emptying = true};

        list_foreach (i, &h->nodes) {
                const Node *n = CONTAINER_OF(i, Node, of_host);

                if (!is_meant(n, node))
                        continue;
                v.emptying &= node_is_emptying(n);
                v.left += n->n_to_leave + n->n_leaving;
                v.stuck += n->n_stuck;
                v.ends |= n->deadline_us && !n->deadline_done;
        }
        return v;
}

static int add_stuck(Leader *l, Argosy__Response *r, const Unit *u) {
        const UnitEntry *e = cluster_state_find_unit(l->state, u->name);
        Argosy__Response__UnitResult *result = unit_result_new(u->name);
        _cleanup_free_ char *why = NULL;

        if (FIELD_APPEND(r->progress->done, r->progress->n_done, result) < 0)
                return -ENOMEM;
        result->status = EBUSY;
        if (e && unit_why(l, e, &why, &result->refusals, &result->n_refusals) < 0)
                return -ENOMEM;
        return field_set(&result->message, "no other node takes it");
}

static Argosy__Response *stuck_response(Leader *l, const Host *h, uint32_t node, size_t n_stuck) {
        _cleanup_response_ Argosy__Response *r = response_new(ARGOSY__RESPONSE__WHAT_PROGRESS);

        if (!r)
                return NULL;
        r->status = EBUSY;
        r->progress->remaining = (uint32_t) n_stuck;
        if (field_printf(
                    &r->message,
                    "%zu unit%s cannot leave, since no other node takes %s; they go as soon as one does",
                    n_stuck, n_stuck == 1 ? "" : "s", n_stuck == 1 ? "it" : "them") < 0)
                return NULL;
        list_foreach (k, &h->nodes) {
                const Node *n = CONTAINER_OF(k, Node, of_host);

                if (!is_meant(n, node))
                        continue;
                list_foreach (i, &n->placed) {
                        const Unit *u = CONTAINER_OF(i, Unit, placed);

                        if (list_is_linked(&u->homeless) && r->progress->n_done < STUCK_SHOWN_MAX &&
                            add_stuck(l, r, u) < 0)
                                return NULL;
                }
        }
        return TAKE_PTR(r);
}

static Argosy__Response *progress_response(size_t left) {
        Argosy__Response *r = response_new(ARGOSY__RESPONSE__WHAT_PROGRESS);

        if (r)
                r->progress->remaining = (uint32_t) left;
        return r;
}

// Says what is news of one drain. False: nothing was said; true: ask again from the beginning, since whoever
// is told something may cancel any ticket.
static bool tell(Leader *l, Ticket *t) {
        const char *word = t->request->drain_wait->node;
        const Argosy__HostRecord *host;
        const Host *h;
        DrainView v;
        uint32_t node;

        host = resolve(l, t, word, &node);
        h = host ? host_find(l, host->host) : NULL;
        if (!h) {
                list_unlink(&t->drain); // refused
                return true;
        }
        v = look(l, h, node);
        if (!v.emptying)
                ticket_finish(t, response_error(ECANCELED, "%s is not being drained any more", word));
        else if (v.left == 0)
                ticket_finish(t, progress_response(0));
        else if (v.stuck == v.left && !v.ends && list_is_empty(&l->moving) && !l->batch_flying &&
                 !l->retry_homeless)
                ticket_finish(t, stuck_response(l, h, node, v.stuck));
        else if (t->drain_left != v.left) {
                t->drain_left = (uint32_t) v.left;
                ticket_respond(t, progress_response(v.left));
        } else
                return false;
        return true;
}

void drains_tell(Leader *l) {
        bool again;

        do {
                again = false;
                list_foreach (i, &l->drains) {
                        again = tell(l, CONTAINER_OF(i, Ticket, drain));
                        if (again)
                                break;
                }
        } while (again);
}
