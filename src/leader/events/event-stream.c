// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What was marked becomes changes with sequences; see event-stream.h.
//
// The happy path, once per turn: the leader of a new term, new jobs, then the marked objects in the order of
// their marks. While nobody watches, an object only moves to the end of the order: that costs 0.1 us. Else
// what is so of it is compared with what was told last, by hashes of the fields, and each difference is an
// event and a sequence of its own: one for the unit, one for its content, one for each node that says
// something of it. An event has the whole state of its object, so it does not matter whether the log or a
// report has changed it, or both in one turn.
//
// The order has units, not their nodes. A watcher that gets a unit from there gets all its nodes, and
// forgets others; so a node that does not report the unit any more moves the unit in the order, too.
//
// Without memory the process ends (oom.h), or a watcher would never learn that its last news of an object is
// outdated.

#include "event-stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "array.h"
#include "cluster-state.h"
#include "due.h"
#include "event-marks.h"
#include "log-trail.h"
#include "message.h"
#include "nodes.h"
#include "oom.h"
#include "registry.h"
#include "response.h"
#include "scheduler.h"
#include "str.h"
#include "turn.h"
#include "unit-on-node.h"
#include "walks.h"

// ------------------------------------------------------------------------------------------------ life

static bool is_kept(const Leader *l) {
        return l->watchers.n > 0 || leader_now(l) < l->events->until_us;
}

void event_stream_begin(Leader *l) {
        EventStream *s = oom_checked(calloc(1, sizeof(*s)));

        s->ring.bytes_max = l->config.events_bytes ? l->config.events_bytes : (size_t) EVENT_RING_BYTES;
        s->tables = oom_checked(calloc(1, sizeof(*s->tables)));
        s->jobs = oom_checked(calloc(1, sizeof(*s->jobs)));
        s->roles = oom_checked(calloc(1, sizeof(*s->roles)));
        s->leader.kind = ARGOSY__EVENT_KIND__EVENT_LEADER;
        list_init(&s->gone);
        list_init(&s->draining);
        l->events = s;
        leader_set_due(l, DUE_EVENTS);
        event_marks_keep(l, false);
        event_jobs_begin(l);
        event_mark(l, &s->leader);
}

// Marks of units and nodes go with their tables.
void event_stream_retire(Leader *l) {
        EventStream *s = l->events;

        if (!s)
                return;
        if (l->ops.present)
                l->ops.present(NULL, 0, 0, l->userdata);
        list_foreach_safe (i, &l->event_news.gone)
                gone_object_free(CONTAINER_OF(i, GoneObject, kept));
        list_foreach_safe (k, &s->gone)
                gone_object_free(CONTAINER_OF(k, GoneObject, kept));
        event_jobs_done(s->jobs);
        event_unmark(l, &s->leader);
        free(s->leader.reported);
        list_foreach_safe (i, &s->draining)
                list_unlink(i);
        event_tables_done(s->tables);
        event_roles_done(s->roles);
        free(s->jobs);
        free(s->tables);
        free(s->roles);
        change_order_done(&s->order);
        event_ring_done(&s->ring);
        free(s);
        l->events = NULL;
}

static void stop_keeping(Leader *l) {
        event_marks_keep(l, false);
        event_ring_clear(&l->events->ring, l->events->last_seq + 1);
}

void event_stream_keep(Leader *l) {
        EventStream *s = l->events;

        s->until_us = leader_now(l) + l->limits.events_kept_sec * USEC_PER_SEC;
        if (l->event_news.kept)
                return;
        event_marks_keep(l, true);
        s->tables->compared = false; // whose each rollout is was not noted
        s->epoch++;
        event_ring_clear(&s->ring, s->last_seq + 1);
}

// ------------------------------------------------------------------------------------------------ objects

static void end_draft(int r, EventDraft *d) {
        event_draft_done(d);
        (void) oom_check(r);
}

static void drain_leader(Leader *l) {
        EventDraft d;
        int r = event_draft_leader(l, &d);

        if (r == 0)
                event_stream_follow(l, &l->events->leader, &d);
        end_draft(r, &d);
}

// What is left on nodes that are emptied is counted in many places, and there are few such nodes: they are
// looked at in each turn.
static void mark_drains(Leader *l) {
        list_foreach (i, &l->events->draining) {
                Node *n = CONTAINER_OF(i, Node, stream.draining);

                if (n->stream.drain_left != n->n_to_leave + n->n_leaving ||
                    n->stream.drain_stuck != n->n_stuck)
                        event_mark(l, &n->event);
        }
}

static void drain_emptying(Leader *l, Node *n) {
        bool was = list_is_linked(&n->stream.draining);
        EventDraft d;
        int r;

        if (!was && !node_is_emptying(n))
                return;
        n->stream.drain_left = n->n_to_leave + n->n_leaving;
        n->stream.drain_stuck = n->n_stuck;
        if (node_is_emptying(n) && !was)
                list_append(&l->events->draining, &n->stream.draining);
        else if (!node_is_emptying(n))
                list_unlink(&n->stream.draining);
        r = event_draft_drain(l, n, &d);
        if (r == 0)
                event_stream_follow(l, &n->drain, &d);
        end_draft(r, &d);
}

static void drain_node(Leader *l, Node *n) {
        EventStream *s = l->events;
        EventDraft d;
        int r;

        if (!l->event_news.kept) {
                event_stream_move_to_end(l, &n->event, ++s->last_seq);
                drain_emptying(l, n);
                return;
        }
        scheduler_follow_labels(l, n->host); // rows that this makes others are marked
        r = event_draft_node(l, n, &d);
        if (r == 0)
                event_stream_follow(l, &n->event, &d);
        end_draft(r, &d);
        drain_emptying(l, n);
}

static void drain_state(Leader *l, UnitOnNode *on_node) {
        unsigned before;
        EventDraft d;
        int r = event_draft_state(l, on_node, &d);

        on_node->mismatch_reported = d.mismatch;
        on_node->older_secret_reported = d.older_secret;
        l->events->n_rows++;
        if (on_node->unit->event.role == 0) // what is said of the unit itself may come later
                (void) event_roles_note(l, on_node->unit, &before);
        d.role = d.role_before = on_node->unit->event.role;
        if (r == 0 && event_stream_notify(l, &on_node->reported, &d))
                event_stream_move_to_end(l, &on_node->unit->event, l->events->last_seq);
        end_draft(r, &d);
}

// Of a node that is heard only its reports count, and taking them marks the unit. Of other nodes the state
// may have to be taken back, or become unknown.
static void mark_unheard(Leader *l, Unit *u) {
        if (!event_take_rows_due(u) || !l->event_news.kept) // whoever comes is told of the whole unit
                return;
        list_foreach (i, &u->on_nodes) {
                UnitOnNode *on_node = CONTAINER_OF(i, UnitOnNode, by_unit);

                if (!unit_on_node_is_heard(on_node))
                        event_mark_unit_on_node(l, on_node);
        }
}

static void drain_content(Leader *l, Unit *u, unsigned role_before) {
        EventDraft d;
        int r = event_draft_content(l, u, &d);

        d.role = (uint16_t) u->event.role;
        d.role_before = (uint16_t) role_before;
        if (r == 0 && event_stream_notify(l, &u->content_reported, &d))
                event_stream_move_to_end(l, &u->event, l->events->last_seq);
        end_draft(r, &d);
}

// Whether watchers hear of the unit; else it is only a name that was asked about, perhaps of a unit that is
// gone, which has to be told as that.
static bool is_reported_of(const Unit *u) {
        return u->recorded || !list_is_empty(&u->on_nodes) || u->event.seq > 0;
}

static void drain_unit(Leader *l, Unit *u) {
        EventStream *s = l->events;
        unsigned before;
        EventDraft d;
        int r;

        mark_unheard(l, u);
        if (!is_reported_of(u))
                return;
        if (!l->event_news.kept) {
                event_stream_move_to_end(l, &u->event, ++s->last_seq);
                return;
        }
        r = event_draft_unit(l, u, &d);
        d.role = (uint16_t) event_roles_note(l, u, &before);
        d.role_before = (uint16_t) before;
        if (!u->recorded) // nor in its group
                event_roles_mark_group(l, u->name);
        if (r == 0 && event_stream_notify(l, &u->event.reported, &d))
                event_stream_move_to_end(l, &u->event, s->last_seq);
        end_draft(r, &d);
        drain_content(l, u, before);
}

// NULL: there is nothing to say of it by that name of the node.
static UnitOnNode *find_row_again(const Leader *l, const GoneObject *g) {
        const Unit *u = unit_find(l, g->name);
        const Node *n = node_find(l, g->node);
        UnitOnNode *on_node = u && n && streq(n->name, g->node_name) ? unit_on_node_find(u, n) : NULL;

        return on_node && unit_on_node_is_listed(l, cluster_state_find_unit(l->state, g->name), on_node)
                       ? on_node
                       : NULL;
}

// NULL: it is gone.
static Unit *find_unit_again(const Leader *l, const GoneObject *g) {
        Unit *u = g->event.kind == ARGOSY__EVENT_KIND__EVENT_UNIT ? unit_find(l, g->name) : NULL;

        return u && is_reported_of(u) ? u : NULL;
}

// What watchers know of the unit is what was told of it before it went. If it goes again before its turn has
// come, that is to be taken back.
static void take_over(Leader *l, Unit *again, GoneObject *g) {
        if (again->event.seq > 0) { // it was told anew
                event_stream_leave_order(l, &g->event);
                return;
        }
        again->event.seq = g->event.seq;
        g->event.seq = 0;
        change_order_replace(&l->events->order, again->event.seq, &again->event);
        if (!again->event.reported)
                again->event.reported = TAKE_PTR(g->event.reported);
        if (!again->content_reported)
                again->content_reported = TAKE_PTR(g->content_reported);
        again->event.role = g->event.role;
        event_mark(l, &again->event);
}

// Whether who sees the unit of that role sees this one.
static bool is_of_role(Leader *l, Unit *u, unsigned role) {
        unsigned before;

        if (u->event.role == 0)
                (void) event_roles_note(l, u, &before);
        return u->event.role == role;
}

// A unit has left a node: the unit has changed, if there is still something of it. A host that attaches anew
// reports all again, and what is as before is no news, but of another unit of that name.
static void drain_state_gone(Leader *l, GoneObject *g) {
        EventStream *s = l->events;
        UnitOnNode *again = find_row_again(l, g);
        Unit *u = unit_find(l, g->name);
        EventDraft d;
        int r = event_draft_gone(g, &d);

        if (again && !again->reported && !is_of_role(l, again->unit, g->event.role))
                again = NULL;
        d.role = d.role_before = g->event.role;
        if (again && !again->reported)
                again->reported = TAKE_PTR(g->event.reported);
        else if (r == 0 && l->event_news.kept && !again && event_stream_notify(l, &g->event.reported, &d) &&
                 u && is_reported_of(u))
                event_stream_move_to_end(l, &u->event, s->last_seq);
        gone_object_free(g);
        end_draft(r, &d);
}

static void remember_gone(Leader *l, GoneObject *g) {
        EventStream *s = l->events;

        list_unlink(&g->kept);
        list_append(&s->gone, &g->kept);
        if (++s->n_gone <= l->limits.events_gone)
                return;
        g = CONTAINER_OF(s->gone.next, GoneObject, kept);
        s->complete_from_seq = MAX_OF(s->complete_from_seq, (uint64_t) g->event.seq);
        event_stream_leave_order(l, &g->event);
        s->n_gone--;
        gone_object_free(g);
}

// True: that is news.
static bool tell_content_gone(Leader *l, GoneObject *g) {
        bool reported = false;
        EventDraft d;
        int r;

        if (g->event.kind != ARGOSY__EVENT_KIND__EVENT_UNIT)
                return false;
        r = event_draft_no_unit(ARGOSY__EVENT_KIND__EVENT_CONTENT, g->name, &d);
        d.role = d.role_before = g->event.role;
        if (r == 0)
                reported = event_stream_notify(l, &g->content_reported, &d);
        end_draft(r, &d);
        return reported;
}

static void drain_gone(Leader *l, GoneObject *g) {
        EventStream *s = l->events;
        Unit *again = find_unit_again(l, g);
        EventDraft d;
        bool news;
        int r;

        if (again) {
                take_over(l, again, g);
                gone_object_free(g);
                return;
        }
        // A row is told in the turn in which it is there again, which may be before this turn.
        if (event_tables_have_again(l, (Argosy__EventKind) g->event.kind, g->name, g->event.role)) {
                event_stream_leave_order(l, &g->event);
                gone_object_free(g);
                return;
        }
        if (g->event.kind == ARGOSY__EVENT_KIND__EVENT_UNIT)
                event_roles_mark_group(l, g->name);
        news = l->event_news.kept && tell_content_gone(l, g);
        r = event_draft_gone(g, &d);
        d.role = d.role_before = g->event.role;
        if (!l->event_news.kept)
                s->last_seq++;
        else if (r == 0)
                news |= event_stream_notify(l, &g->event.reported, &d);
        if (news || !l->event_news.kept)
                event_stream_move_to_end(l, &g->event, s->last_seq);
        end_draft(r, &d);
        remember_gone(l, g);
}

static void drain_object(Leader *l, EventObject *o) {
        event_unmark(l, o);
        if (o->gone) {
                GoneObject *g = CONTAINER_OF(o, GoneObject, event);

                if (g->node_name)
                        drain_state_gone(l, g);
                else
                        drain_gone(l, g);
                return;
        }
        switch ((Argosy__EventKind) o->kind) {
        case ARGOSY__EVENT_KIND__EVENT_UNIT:
                drain_unit(l, CONTAINER_OF(o, Unit, event));
                break;
        case ARGOSY__EVENT_KIND__EVENT_NODE:
                drain_node(l, CONTAINER_OF(o, Node, event));
                break;
        case ARGOSY__EVENT_KIND__EVENT_ROLLOUT:
                event_tables_on_marked(l, CONTAINER_OF(o, RecordObject, event));
                break;
        default:
                drain_leader(l);
        }
}

void event_stream_on_unit_gone(Leader *l, Unit *u) {
        event_stream_on_object_gone(l, &u->event, u->name);
}

void event_stream_on_node_gone(Leader *l, Node *n) {
        const char *name = n->former_name ?: n->name;

        list_unlink(&n->stream.draining);
        event_stream_on_object_gone(l, &n->drain, name);
        event_stream_on_object_gone(l, &n->event, name);
}

void event_stream_on_node_renamed(Leader *l, Node *n) {
        event_mark_units_of(l, n);
        if (l->events && n->host->number == l->config.self)
                event_mark(l, &l->events->leader);
}

// Tells that all objects under the node's former name are gone, and tells them anew. It may have that name
// again by now.
static void end_former_name(Leader *l, Node *n) {
        if (!streq(n->former_name, n->name))
                event_stream_on_node_gone(l, n);
        node_forget_former_name(n);
        event_mark(l, &n->event);
}

static bool mark_units_of_nodes(Leader *l, LeaderWalk *walk) {
        size_t left = walk_slice(walk, l->limits.event_units_of_nodes);

        while (!list_is_empty(&l->event_news.nodes)) {
                Node *n = CONTAINER_OF(l->event_news.nodes.next, Node, units_due);

                if (!event_mark_some_units_of(l, n, &left))
                        return false;
                if (n->former_name)
                        end_former_name(l, n);
        }
        return true;
}

// ------------------------------------------------------------------------------------------------ the turn

// Its nodes are looked at, each for a small part of what a mark takes.
static size_t marks_worth(const EventObject *o) {
        const Map *rows = o->kind == ARGOSY__EVENT_KIND__EVENT_UNIT && !o->gone
                                  ? CONTAINER_OF(o, const Unit, event)->rows
                                  : NULL;

        return 1 + (rows ? rows->count / EVENT_NODES_OF_A_MARK : 0);
}

static size_t drain_gone_rows(Leader *l, size_t left) {
        EventObject *o;

        for (; left > 0 && (o = event_marks_next_row_gone(l)); left--)
                drain_object(l, o);
        return left;
}

static size_t drain_due(Leader *l, size_t left, size_t rows) {
        EventObject *o;

        while (left > rows && (o = event_marks_next(l))) {
                left -= MIN_OF(left, marks_worth(o));
                drain_object(l, o);
        }
        return MAX_OF(left, rows);
}

static StreamState drain(Leader *l) {
        LeaderWalk *walk = &l->walks.of[WALK_EVENTS];
        size_t left, rows;

        if (l->event_news.kept && !is_kept(l))
                stop_keeping(l);
        if (!mark_units_of_nodes(l, walk)) {
                walk_sliced(l, walk, 0);
                leader_mark(l);
                return STREAM_MARKING;
        }
        left = walk_slice(walk, l->event_news.kept ? l->limits.event_rows : l->limits.event_marks);
        event_roles_drain(l);
        left -= MIN_OF(left, event_tables_drain(l));
        mark_drains(l);
        left = event_jobs_drain(l, left);
        left = drain_gone_rows(l, left);
        rows = MIN_OF(left / 2, mark_queue_length(&l->event_news.rows));
        // Rows have their share, however many units are marked.
        event_marks_take_rows(l, drain_due(l, left, rows), drain_state);
        if (!event_marks_next_row_gone(l) && !event_marks_next(l) &&
            mark_queue_length(&l->event_news.rows) == 0 && event_jobs_are_drained(l)) {
                l->events->index = l->trail->last;
                return STREAM_DRAINED;
        }
        walk_sliced(l, walk, 0);
        leader_mark(l);
        return STREAM_DRAINING;
}

StreamState event_stream_drain(Leader *l) {
        StreamState state = drain(l);

        (void) leader_take_due(l, DUE_EVENTS);
        if (state != STREAM_DRAINED || !list_is_empty(&l->events->draining))
                leader_set_due(l, DUE_EVENTS);
        l->events->drained = state == STREAM_DRAINED;
        return state;
}
