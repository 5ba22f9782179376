// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Questions for events. Each is one response, given in the turn in which there is something for it, and
// nothing is kept for a client: its place stands in its cursor.
//
// The happy path: a watcher is up to date, waits in WatcherLists.idle, and each turn with news looks from
// its place on. Events that are not for it are passed by. A watcher that has fallen behind the ring goes by
// the order of last changes instead, an object at a time, newest states, until there is nothing more in it;
// then it is told that this is complete, and is in the ring again. A cursor of another leader's term begins
// with all that nodes say, and of what the log says with what has come since (event-stream-log.c); one so
// old that gone objects may be forgotten, or of an author with another view, with all of the state.
// watchers-follow.c has what a watcher is told.
//
// A turn spends so many bytes and looks at so many events and objects, for all watchers together; the others
// go on in the next. Watchers that wait for news come first, since they need little: they do not wait for
// others that are sent all of a large cluster, a part in each turn.
// Out of memory a question ends without an answer of ours, which the pending request says.

#include "watchers.h"

#include <errno.h>
#include <stdlib.h>

#include "answer-jobs.h"
#include "authorization.h"
#include "event-cursor.h"
#include "event-stream.h"
#include "message.h"
#include "name-patterns.h"
#include "response.h"
#include "pending-requests.h"
#include "turn.h"
#include "watchers-private.h"

// One of BEHIND_PART of a turn's bytes and looks is reserved for watchers that go by the order.
enum { BEHIND_PART = 4 };

// ------------------------------------------------------------------------------------------------ who asks

// `index`: of the log, up to which the watcher was told everything; 0: it was not.
static void begin_anew(const Leader *l, Watcher *w, EventCursorMode mode, uint64_t index) {
        w->anew = event_stream_kinds_anew(l, index, w->cursor.scope != 0);
        w->cursor.mode = mode;
        w->cursor.seq = 0;
        w->cursor.index = w->anew != 0 ? index : 0;
        w->begins = true;
}

// It may have been another leader's; then what has come into the log since is told, and what nodes say.
static Argosy__Response *take_job(const Leader *l, Watcher *w, uint64_t number) {
        EventCursor c = event_stream_cursor_of_job(l, number);

        if (number > cluster_state_last_job(l->state) || number < cluster_state_first_job(l->state))
                return answer_no_such_job(l, number);
        c.scope = w->cursor.scope;
        if (c.term == l->term)
                w->cursor = c;
        else
                begin_anew(l, w, EVENT_CURSOR_MISSED, c.index);
        return NULL;
}

// NULL: it is one.
static Argosy__Response *take_cursor(const Leader *l, Watcher *w, const Argosy__Request__Events *q) {
        EventCursor given;

        w->cursor = event_stream_cursor(l);
        w->cursor.scope = authorization_scope(l, w->pending->author);
        w->access_revision = cluster_state_access_revision(l->state);
        if (!*q->cursor && q->since_job > 0)
                return take_job(l, w, q->since_job);
        w->from_now = !*q->cursor && q->from_now;
        if (!*q->cursor && !q->from_now)
                begin_anew(l, w, EVENT_CURSOR_STATE, 0);
        if (!*q->cursor)
                return NULL;
        if (!event_cursor_parse(q->cursor, &given))
                return response_error(EINVAL, "that is no cursor");
        if (memcmp(given.cluster, w->cursor.cluster, EVENT_CURSOR_CLUSTER) != 0)
                return response_error(EINVAL, "the cursor is one of another cluster");
        if (given.generation != w->cursor.generation || given.scope != w->cursor.scope)
                begin_anew(l, w, EVENT_CURSOR_MISSED, 0);
        else if (given.term != w->cursor.term)
                begin_anew(l, w, EVENT_CURSOR_MISSED, given.index);
        else if (given.seq > l->events->last_seq)
                return response_error(EINVAL, "the cursor is one of events that there have not been");
        else
                w->cursor = given;
        return NULL;
}

static uint32_t kinds_of(const Argosy__Request__Events *q) {
        uint32_t kinds = q->n_kinds == 0 ? event_kind_bit(ARGOSY__EVENT_KIND__EVENT_STREAM) : 0;

        for (size_t i = 0; i < q->n_kinds; i++)
                if (event_kind_info(q->kinds[i]))
                        kinds |= event_kind_bit(q->kinds[i]);
        for (unsigned k = 0; q->n_kinds == 0 && k < EVENT_KINDS; k++) {
                const EventKindInfo *info = event_kind_info((Argosy__EventKind) k);

                if (info && (q->n_patterns == 0 || info->of_units))
                        kinds |= event_kind_bit((Argosy__EventKind) k);
        }
        return kinds;
}

static Argosy__Response *refuse(Leader *l, Watcher *w, const Argosy__Request__Events *q) {
        const char *error = name_patterns_error(q->patterns, q->n_patterns);

        if (error)
                return response_error(E2BIG, "%s", error);
        if (l->watchers.n > l->limits.watchers)
                return response_error(EBUSY, "%u others watch already", l->limits.watchers);
        if (q->n_patterns > EVENT_PATTERNS_MAX)
                return response_error(E2BIG, "at most %d patterns can be watched", EVENT_PATTERNS_MAX);
        return take_cursor(l, w, q);
}

// There is something for the watcher, or it has not been looked at.
static void enqueue(Leader *l, Watcher *w) {
        bool is_behind = !w->from_now && w->cursor.mode != EVENT_CURSOR_RING;

        list_unlink(&w->all);
        list_append(is_behind ? &l->watchers.behind : &l->watchers.due, &w->all);
}

static void watcher_free(PendingRequest *t, RequestWork *work) {
        Watcher *w = CONTAINER_OF(work, Watcher, work);
        Leader *l = t->leader;

        l->watchers.n--;
        if (l->events)
                l->events->until_us = leader_now(l) + l->limits.events_kept_sec * USEC_PER_SEC;
        list_unlink(&w->all);
        message_free(w->answer);
        free(w);
}

static const RequestWorkKind watcher_kind = {watcher_free};

int watcher_start(Leader *l, PendingRequest *t) {
        Watcher *w = calloc(1, sizeof(*w));
        Argosy__Response *refusal;

        if (!w)
                return -ENOMEM;
        w->pending = t;
        request_add_work(t, &watcher_kind, &w->work);
        l->watchers.n++;
        list_init(&w->all);
        w->kinds = kinds_of(t->request->events);
        refusal = refuse(l, w, t->request->events);
        enqueue(l, w);
        if (refusal)
                request_settle(t, refusal);
        else
                event_stream_keep(l);
        leader_mark(l);
        return 0;
}

// ------------------------------------------------------------------------------------------------ answers

static bool has_missed(const Leader *l, const Watcher *w) {
        return w->cursor.mode == EVENT_CURSOR_RING &&
               w->cursor.seq < event_ring_complete_from(&l->events->ring);
}

// For an author that may see some units only the order does not tell which units have changed their role
// meanwhile.
static uint64_t order_complete_from(const Leader *l, const Watcher *w) {
        const EventStream *s = l->events;

        return w->cursor.scope == 0 ? s->complete_from_seq
                                    : MAX_OF(s->complete_from_seq, s->roles->changed_seq);
}

// The place of a watcher that was told everything that it may see.
static EventCursor place_of(const Leader *l, const Watcher *w) {
        EventCursor c = event_stream_cursor(l);

        c.scope = w->cursor.scope;
        c.forgotten = order_complete_from(l, w);
        return c;
}

// In the ring it may be told of a unit as if it went by the order, before its place has come to what is
// forgotten. A client that goes on behind that event begins anew.
static uint64_t forgotten_at_place(const Watcher *w, uint64_t forgotten) {
        return w->cursor.mode == EVENT_CURSOR_RING ? MIN_OF(w->cursor.seq, forgotten) : forgotten;
}

// The watcher goes by the order from its place, or from the beginning if an object that it knows may be gone
// and forgotten: since it was told everything, or since it went by the order.
static void note_missed(const Leader *l, Watcher *w) {
        uint64_t forgotten = order_complete_from(l, w);

        if (has_missed(l, w) && w->cursor.seq >= forgotten)
                w->cursor.mode = EVENT_CURSOR_MISSED;
        else if (has_missed(l, w) ||
                 (w->cursor.mode != EVENT_CURSOR_RING && w->cursor.forgotten != forgotten))
                begin_anew(l, w,
                           w->cursor.mode == EVENT_CURSOR_STATE ? EVENT_CURSOR_STATE : EVENT_CURSOR_MISSED,
                           0);
        w->cursor.forgotten = forgotten_at_place(w, forgotten);
}

// The author's rights may have changed while the watcher waited.
static void note_scope(const Leader *l, Watcher *w) {
        uint64_t revision = cluster_state_access_revision(l->state);
        uint32_t scope;

        if (w->access_revision == revision)
                return;
        w->access_revision = revision;
        scope = authorization_scope(l, w->pending->author);
        if (scope == w->cursor.scope)
                return;
        w->cursor.scope = scope;
        begin_anew(l, w, EVENT_CURSOR_MISSED, 0);
}

// 0, or -ENOMEM. *ret_full: there is more for the watcher.
static int look(Leader *l, Watcher *w, Turn *turn, bool drained, bool *ret_full) {
        EventCursorMode mode;
        int r = 0;

        *ret_full = false;
        note_scope(l, w);
        if (w->begins)
                w->cursor.forgotten = order_complete_from(l, w);
        note_missed(l, w);
        if (w->begins)
                r = watcher_add_begins(l, w);
        w->begins = false;
        mode = w->cursor.mode;
        if (r < 0 || mode == EVENT_CURSOR_RING)
                return r < 0 ? r : watcher_follow_ring(l, w, turn, ret_full);
        r = watcher_follow_order(l, w, turn, ret_full);
        if (r < 0 || *ret_full)
                return r;
        *ret_full = !drained; // what was marked belongs to it
        if (!drained)
                return 0;
        w->cursor.mode = EVENT_CURSOR_RING;
        w->cursor.seq = l->events->last_seq;
        w->cursor.index = l->events->index;
        return watcher_add_word(l, w, EVENT_STREAM_COMPLETE, 0, watcher_mark(mode), w->cursor.seq);
}

static void answer(Watcher *w) {
        Argosy__Response *response = TAKE_PTR(w->answer);
        char text[EVENT_CURSOR_SIZE];

        event_cursor_format(&w->cursor, text);
        if (response)
                response->events->all = w->reported_all;
        if (response && field_set(&response->events->cursor, text) < 0) {
                message_free(response);
                response = NULL;
        }
        request_settle(w->pending, response);
}

// A question that does not wait is answered as soon as there is nothing more; what was marked comes first.
static int answer_at_once(Watcher *w, bool drained, bool *full) {
        if (!w->pending->request->events->no_wait || *full)
                return 0;
        *full = !drained;
        w->reported_all = drained;
        return drained ? watcher_need_answer(w) : 0;
}

static int tell_place(const Leader *l, Watcher *w, bool drained) {
        if (w->pending->request->events->no_wait) {
                note_scope(l, w);
                if (!drained)
                        return 0;
                w->cursor = place_of(l, w);
        }
        return watcher_need_answer(w);
}

// The watcher may be gone afterwards.
static void serve(Leader *l, Watcher *w, Turn *turn, bool drained) {
        bool full = false;
        int r = w->from_now ? tell_place(l, w, drained) : look(l, w, turn, drained, &full);

        if (r == 0)
                r = answer_at_once(w, drained, &full);
        list_unlink(&w->all);
        if (r == 0 && full)
                enqueue(l, w);
        else
                list_append(&l->watchers.idle, &w->all);
        if (r < 0)
                request_settle(w->pending, NULL);
        else if (w->answer)
                answer(w);
}

static void serve_some(Leader *l, ListNode *list, Turn *turn, bool drained) {
        for (size_t n = l->watchers.n; n > 0 && turn->looks > 0 && turn->bytes > 0 && !list_is_empty(list);
             n--)
                serve(l, CONTAINER_OF(list->next, Watcher, all), turn, drained);
}

void watchers_tell_present(Leader *l) {
        EventCursor c = event_stream_cursor(l);

        if (!l->ops.present)
                return;
        l->ops.present(l->events->drained ? &c : NULL, authorization_revision(l),
                       l->ops.authority_until(l->userdata), l->userdata);
}

void watchers_turn(Leader *l) {
        Turn turn = {l->limits.watch_bytes, l->limits.watch_looks};
        uint64_t seq = l->events->last_seq;
        StreamState state = event_stream_drain(l);
        bool drained = state == STREAM_DRAINED;

        if (state == STREAM_MARKING)
                return;
        if (l->events->last_seq != seq)
                list_splice(&l->watchers.due, &l->watchers.idle);
        serve_some(l, &l->watchers.due, &turn, drained);
        turn.bytes = MAX_OF(turn.bytes, (size_t) l->limits.watch_bytes / BEHIND_PART);
        turn.looks = MAX_OF(turn.looks, (size_t) l->limits.watch_looks / BEHIND_PART);
        serve_some(l, &l->watchers.behind, &turn, drained);
        if (!list_is_empty(&l->watchers.due) || !list_is_empty(&l->watchers.behind))
                leader_mark(l);
}
