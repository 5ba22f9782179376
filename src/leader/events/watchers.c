// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Questions for events. Each is one response, given in the turn in which there is something for it, and nothing is kept
// for whoever asked: where he is stands in his cursor.
//
// The happy path: he is up to date, waits in `watchers_idle`, and each turn with news looks from where he stands. Events
// that are not for him are passed by. Whoever has fallen behind the ring goes by the order of last changes instead, an
// object at a time, newest states, until there is nothing more in it; then he is told that it is complete, and is in
// the ring again. A cursor of another leader's term, or one so old that gone objects may be forgotten, begins with all
// of the state, and is told so.
//
// A turn spends so many bytes and looks at so many events and objects, whoever asks; the others go on in the next.
// Out of memory a question ends without an answer of ours, which the ticket says.

#include "watchers.h"

#include <errno.h>
#include <stdlib.h>

#include "answer.h"
#include "array.h"
#include "authorization.h"
#include "event-cursor.h"
#include "event-stream.h"
#include "message.h"
#include "registry.h"
#include "response.h"
#include "str.h"
#include "tickets.h"
#include "turn.h"
#include "unit-on-node.h"

enum {
        TURN_BYTES = 1024 * 1024,
        TURN_LOOKS = 16384,   // at events of the ring, or patterns that they are compared with
        ROW_LOOKS = 32,       // as many as making a row takes
        BYTES_MIN = 1024,
        WORD_BYTES = 64, // that are left for a word at the end
};

struct Watcher {
        Ticket *ticket;
        ListNode all; // in Leader.watchers or .watchers_idle
        EventCursor cursor;
        bool begins;     // he is to be told that the whole state follows
        uint32_t anew;   // of these kinds, a set; 0: of all
        uint64_t access_revision; // by which it was judged what he may see (cursor.scope)
        bool from_now;   // he is told where he is, and nothing else
        uint32_t kinds;  // 1 << EventKind
        Argosy__Response *answer;
        size_t bytes; // of its events
};

typedef struct Turn {
        size_t bytes, looks; // left
} Turn;

// ------------------------------------------------------------------------------------------------ who asks

// `index`: of the log, until where he was told everything; 0: he was not.
static void begin_anew(const Leader *l, Watcher *w, EventCursorMode mode, uint64_t index) {
        w->anew = event_stream_kinds_anew(l, index);
        w->cursor.mode = mode;
        w->cursor.seq = 0;
        w->cursor.index = w->anew != 0 ? index : 0;
        w->begins = true;
}

// NULL: it is one.
static Argosy__Response *take_cursor(const Leader *l, Watcher *w, const Argosy__Request__Events *q) {
        EventCursor given;

        w->cursor = event_stream_cursor(l);
        w->cursor.scope = authorization_scope(l, w->ticket->author);
        w->access_revision = cluster_state_access_revision(l->state);
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
        if (l->n_watchers > WATCHERS_MAX)
                return response_error(EBUSY, "%d others watch already", WATCHERS_MAX);
        if (q->n_patterns > EVENT_PATTERNS_MAX)
                return response_error(E2BIG, "at most %d patterns can be watched", EVENT_PATTERNS_MAX);
        return take_cursor(l, w, q);
}

int watcher_start(Leader *l, Ticket *t) {
        Watcher *w = calloc(1, sizeof(*w));
        Argosy__Response *refusal;

        if (!w)
                return -ENOMEM;
        w->ticket = t;
        t->watcher = w;
        l->n_watchers++;
        list_append(&l->watchers, &w->all);
        w->kinds = kinds_of(t->request->events);
        refusal = refuse(l, w, t->request->events);
        if (refusal)
                ticket_settle(t, refusal);
        else
                event_stream_keep(l);
        leader_mark(l);
        return 0;
}

void watcher_free(Leader *l, Watcher *w) {
        l->n_watchers--;
        if (l->events)
                l->events->until_us = leader_now(l) + EVENTS_KEPT_US;
        list_unlink(&w->all);
        message_free(w->answer);
        w->ticket->watcher = NULL;
        free(w);
}

// ------------------------------------------------------------------------------------------------ what is for him

static bool has_kind(const Watcher *w, Argosy__EventKind kind) {
        return w->kinds & event_kind_bit(kind);
}

// Of others no part is a unit's: they are for who may see everything.
static bool is_for_some(Argosy__EventKind kind) {
        return event_kind_info(kind)->of_units || kind == ARGOSY__EVENT_KIND__EVENT_STREAM ||
               kind == ARGOSY__EVENT_KIND__EVENT_LEADER || kind == ARGOSY__EVENT_KIND__EVENT_JOB;
}

static bool is_for(const Watcher *w, Argosy__EventKind kind, const char *name) {
        const Argosy__Request__Events *q = w->ticket->request->events;
        const EventKindInfo *info = event_kind_info(kind);

        if (!has_kind(w, kind))
                return false; // also a kind without a row
        if (w->cursor.scope != 0 && !is_for_some(kind))
                return false;
        return !info->of_units || answer_name_matches(q->patterns, q->n_patterns, name);
}

static size_t bytes_max(const Watcher *w) {
        uint32_t asked = w->ticket->request->events->max_bytes;

        if (asked == 0 || asked > EVENTS_BYTES_MAX)
                return EVENTS_BYTES_MAX - WORD_BYTES;
        return MAX_OF(asked, (uint32_t) BYTES_MIN) - WORD_BYTES;
}

static size_t n_events(const Watcher *w) {
        return w->answer ? w->answer->events->n_events : 0;
}

static int need_answer(Watcher *w) {
        if (!w->answer)
                w->answer = response_new(ARGOSY__RESPONSE__WHAT_EVENTS);
        return w->answer ? 0 : -ENOMEM;
}

static void count_bytes(Watcher *w, Turn *turn, size_t first) {
        const Argosy__Response__Events *events = w->answer->events;

        for (size_t i = first; i < events->n_events; i++) {
                w->bytes += events->events[i].len;
                turn->bytes -= MIN_OF(turn->bytes, events->events[i].len);
        }
}

static int add_draft(Leader *l, Watcher *w, int r, EventDraft *d, Argosy__EventMark mark, uint64_t seq) {
        if (r == 0 && (r = need_answer(w)) == 0)
                r = event_stream_append(l, w->answer->events, d, mark, seq, w->cursor.index);
        event_draft_done(d);
        return r;
}

static Argosy__EventMark mark_of(EventCursorMode mode) {
        return mode == EVENT_CURSOR_STATE ? ARGOSY__EVENT_MARK__EVENT_WHOLE : ARGOSY__EVENT_MARK__EVENT_MISSED;
}

static int add_word(Leader *l, Watcher *w, const char *word, uint32_t kinds, Argosy__EventMark mark, uint64_t seq) {
        EventDraft d;
        int r;

        if (!has_kind(w, ARGOSY__EVENT_KIND__EVENT_STREAM))
                return 0;
        r = add_draft(l, w, event_draft_stream(&d, word, kinds), &d, mark, seq);
        if (r == 0)
                w->bytes += w->answer->events->events[n_events(w) - 1].len;
        return r;
}

// Of what he watches, that is.
static int add_begins(Leader *l, Watcher *w) {
        uint32_t anew = w->anew & w->kinds;

        if (w->anew != 0 && anew == 0) // all of it goes on where it was
                return 0;
        return add_word(l, w, EVENT_STREAM_BEGINS, anew, mark_of(w->cursor.mode), 0);
}

// ------------------------------------------------------------------------------------------------ the order

// Where to go on behind an event of an object: only behind its last one it is not told of again. Who is in the ring is told
// of it instead of the next event there.
static uint64_t resume_seq(const Watcher *w, const EventObject *o, bool last) {
        return last && w->cursor.mode != EVENT_CURSOR_RING ? o->seq : w->cursor.seq;
}

static UnitOnNode *next_listed(Leader *l, const Unit *u, ListNode *at) {
        const UnitEntry *e = cluster_state_find_unit(l->state, u->name);

        for (at = at->next; at != &u->on_nodes; at = at->next)
                if (unit_on_node_is_listed(l, e, CONTAINER_OF(at, UnitOnNode, by_unit)))
                        return CONTAINER_OF(at, UnitOnNode, by_unit);
        return NULL;
}

// The unit and whatever nodes say of it. The unit comes first: what was known of nodes that do not follow counts no more.
static int add_unit(Leader *l, Watcher *w, Unit *u, Argosy__EventMark mark) {
        UnitOnNode *s = has_kind(w, ARGOSY__EVENT_KIND__EVENT_STATE) ? next_listed(l, u, &u->on_nodes) : NULL;
        unsigned before;
        EventDraft d;
        int r = 0;

        (void) event_roles_note(l, u, &before);

        if (has_kind(w, ARGOSY__EVENT_KIND__EVENT_UNIT)) {
                r = event_draft_unit(l, u, &d);
                if (r == 0)
                        event_stream_note_told(l, &u->event, &u->event.told, &d);
                r = add_draft(l, w, r, &d, mark, resume_seq(w, &u->event, !s));
        }
        while (r == 0 && s) {
                UnitOnNode *next = next_listed(l, u, &s->by_unit);

                r = event_draft_state(l, s, &d);
                if (r == 0)
                        event_stream_note_told(l, &u->event, &s->told, &d);
                r = add_draft(l, w, r, &d, mark, resume_seq(w, &u->event, !next));
                s = next;
        }
        return r;
}

static int add_job(Leader *l, Watcher *w, uint64_t number, Argosy__EventMark mark, uint64_t seq) {
        EventDraft d;
        int r = w->cursor.scope == 0 ? event_draft_job(l, number, &d)
                                     : event_draft_job_for(l, w->ticket->author, number, &d);

        if (r == 0 && w->cursor.scope != 0 && !d.present) { // it is not for him
                event_draft_done(&d);
                return 0;
        }
        return add_draft(l, w, r, &d, mark, seq);
}

static int add_object(Leader *l, Watcher *w, EventObject *o) {
        Argosy__EventMark mark = mark_of(w->cursor.mode);
        EventDraft d;
        int r;

        if (o->gone)
                r = event_draft_gone(CONTAINER_OF(o, GoneObject, event), &d);
        else if (o->kind == ARGOSY__EVENT_KIND__EVENT_UNIT)
                return add_unit(l, w, CONTAINER_OF(o, Unit, event), mark);
        else if (o->kind == ARGOSY__EVENT_KIND__EVENT_NODE)
                r = event_draft_node(l, CONTAINER_OF(o, Node, event), &d);
        else if (o->kind == ARGOSY__EVENT_KIND__EVENT_DRAIN)
                r = event_draft_drain(l, CONTAINER_OF(o, Node, drain), &d);
        else if (o->kind == ARGOSY__EVENT_KIND__EVENT_JOB)
                return add_job(l, w, CONTAINER_OF(o, JobObject, event)->number, mark, o->seq);
        else if (event_tables_have((Argosy__EventKind) o->kind))
                r = event_draft_record(l, CONTAINER_OF(o, RecordObject, event), &d);
        else
                r = event_draft_leader(l, &d);
        if (r == 0 && !o->gone &&
            (o->kind == ARGOSY__EVENT_KIND__EVENT_NODE || event_tables_have((Argosy__EventKind) o->kind)))
                event_stream_note_told(l, o, &o->told, &d);
        return add_draft(l, w, r, &d, mark, o->seq);
}

// What patterns are compared with.
static const char *name_of(const EventObject *o) {
        if (o->gone)
                return CONTAINER_OF(o, const GoneObject, event)->name;
        if (o->kind == ARGOSY__EVENT_KIND__EVENT_UNIT)
                return CONTAINER_OF(o, const Unit, event)->name;
        return event_tables_have((Argosy__EventKind) o->kind) ? CONTAINER_OF(o, const RecordObject, event)->name : "";
}

static bool is_object_for(const Watcher *w, const EventObject *o) {
        const char *name = name_of(o);

        if (w->cursor.index > 0 && event_object_index(o) <= w->cursor.index)
                return false; // he has been told that before

        if (o->kind == ARGOSY__EVENT_KIND__EVENT_UNIT)
                return is_for(w, ARGOSY__EVENT_KIND__EVENT_UNIT, name) || is_for(w, ARGOSY__EVENT_KIND__EVENT_STATE, name);
        return is_for(w, (Argosy__EventKind) o->kind, name);
}

static bool may_see(const Leader *l, const Watcher *w, unsigned role) {
        const char *name = event_role_name(&l->events->roles, role);

        return name && authorization_may_view_role(l, w->ticket->author, name);
}

// Who may see some units only: the file of each is looked at.
static bool may_see_object(Leader *l, const Watcher *w, EventObject *o) {
        unsigned before;

        if (w->cursor.scope == 0)
                return true;
        if (o->kind == ARGOSY__EVENT_KIND__EVENT_ROLLOUT)
                return !o->gone && authorization_may_view_group(l, w->ticket->author, name_of(o));
        if (o->kind != ARGOSY__EVENT_KIND__EVENT_UNIT)
                return true;
        return may_see(l, w, o->gone ? (unsigned) o->role : event_roles_note(l, CONTAINER_OF(o, Unit, event), &before));
}

// What was added last was too much: it comes with the next answer.
static void take_back(Watcher *w, size_t n) {
        Argosy__Response__Events *events = w->answer->events;

        while (events->n_events > n)
                free(events->events[--events->n_events].data);
}

static size_t added_bytes(const Watcher *w, size_t first) {
        size_t bytes = 0;

        for (size_t i = first; i < n_events(w); i++)
                bytes += w->answer->events->events[i].len;
        return bytes;
}

static int follow_order(Leader *l, Watcher *w, Turn *turn, bool *ret_full) {
        uint64_t seq;
        EventObject *o;

        while ((o = change_order_next(&l->events->order, w->cursor.seq, &seq))) {
                size_t before = n_events(w);

                *ret_full = turn->looks == 0 || turn->bytes == 0;
                if (*ret_full)
                        return 0;
                turn->looks -= MIN_OF(turn->looks, (size_t) 1);
                if (is_object_for(w, o)) {
                        if (may_see_object(l, w, o) && add_object(l, w, o) < 0)
                                return -ENOMEM;
                        turn->looks -= MIN_OF(turn->looks, MAX_OF(n_events(w) - before, (size_t) (w->cursor.scope != 0)) * ROW_LOOKS);
                        if (before > 0 && w->bytes + added_bytes(w, before) > bytes_max(w)) {
                                take_back(w, before);
                                *ret_full = true;
                                return 0;
                        }
                        if (w->answer)
                                count_bytes(w, turn, before);
                }
                w->cursor.seq = seq;
        }
        return 0;
}

// ------------------------------------------------------------------------------------------------ the ring

static int copy_entry(Watcher *w, const EventEntry *e) {
        Argosy__Response__Events *events;
        uint8_t *bytes;

        if (need_answer(w) < 0)
                return -ENOMEM;
        events = w->answer->events;
        if (ARRAY_RESERVE(events->events, events->n_events + 1) < 0 || !(bytes = malloc(e->len)))
                return -ENOMEM;
        memcpy(bytes, e->bytes, e->len);
        events->events[events->n_events++] = (ProtobufCBinaryData){e->len, bytes};
        return 0;
}

// A unit has come to be of another role: who sees one of the two only is told of it as if it came or went.
static int tell_unit(Leader *l, Watcher *w, const EventEntry *e) {
        bool sees = may_see(l, w, e->role), saw = e->role_before == 0 ? sees : may_see(l, w, e->role_before);
        Unit *u = sees && !saw ? unit_find(l, e->name) : NULL;
        EventDraft d;

        if (u)
                return add_unit(l, w, u, ARGOSY__EVENT_MARK__EVENT_MISSED);
        if (!sees && saw)
                return add_draft(l, w, event_draft_no_unit(e->name, &d), &d, ARGOSY__EVENT_MARK__EVENT_MISSED, w->cursor.seq);
        return sees ? copy_entry(w, e) : 0;
}

// Who may see some units only is told of these, and of jobs what list-jobs would show him.
static int tell_some(Leader *l, Watcher *w, const EventEntry *e) {
        uint64_t number;

        switch (e->kind) {
        case ARGOSY__EVENT_KIND__EVENT_UNIT:
                return tell_unit(l, w, e);
        case ARGOSY__EVENT_KIND__EVENT_STATE:
                return may_see(l, w, e->role) ? copy_entry(w, e) : 0;
        case ARGOSY__EVENT_KIND__EVENT_ROLLOUT:
                return authorization_may_view_group(l, w->ticket->author, e->name) ? copy_entry(w, e) : 0;
        case ARGOSY__EVENT_KIND__EVENT_JOB:
                return parse_u64(e->name, UINT64_MAX, &number)
                               ? add_job(l, w, number, ARGOSY__EVENT_MARK__EVENT_NEW, w->cursor.seq + 1)
                               : 0;
        default:
                return copy_entry(w, e);
        }
}

// 0: he has been told of all, or as much as there is room for; -ENOMEM.
static int follow_ring(Leader *l, Watcher *w, Turn *turn, bool *ret_full) {
        const size_t n_patterns = w->ticket->request->events->n_patterns, looks = w->cursor.scope != 0 ? ROW_LOOKS : 1;
        const EventEntry *e;

        while ((e = event_ring_find(&l->events->ring, w->cursor.seq + 1))) {
                size_t before = n_events(w);

                *ret_full = turn->looks == 0 || turn->bytes == 0;
                if (*ret_full)
                        return 0;
                turn->looks -= MIN_OF(turn->looks, looks + n_patterns);
                if (is_for(w, e->kind, e->name)) {
                        *ret_full = before > 0 && w->bytes + e->len > bytes_max(w);
                        if (*ret_full)
                                return 0;
                        if ((w->cursor.scope == 0 ? copy_entry(w, e) : tell_some(l, w, e)) < 0)
                                return -ENOMEM;
                        *ret_full = before > 0 && w->bytes + added_bytes(w, before) > bytes_max(w);
                        if (*ret_full) {
                                take_back(w, before);
                                return 0;
                        }
                        if (w->answer)
                                count_bytes(w, turn, before);
                }
                w->cursor.seq++;
                w->cursor.index = e->index;
        }
        w->cursor.index = l->events->index;
        return 0;
}

// ------------------------------------------------------------------------------------------------ answers

static bool has_missed(const Leader *l, const Watcher *w) {
        return w->cursor.mode == EVENT_CURSOR_RING && w->cursor.seq + 1 < l->events->ring.first;
}

// Who may see some units only cannot be told which have come to be of another role behind his back.
static uint64_t forgotten_seq(const Leader *l, const Watcher *w) {
        const EventStream *s = l->events;

        return w->cursor.scope == 0 ? s->forgotten_seq : MAX_OF(s->forgotten_seq, s->roles.changed_seq);
}

// He goes by the order from where he stands, or from the beginning if something that he knows of may be gone and
// forgotten: since he was told of everything, or since he went by the order.
static void note_missed(const Leader *l, Watcher *w) {
        uint64_t forgotten = forgotten_seq(l, w);

        if (has_missed(l, w) && w->cursor.seq >= forgotten)
                w->cursor.mode = EVENT_CURSOR_MISSED;
        else if (has_missed(l, w) || (w->cursor.mode != EVENT_CURSOR_RING && w->cursor.forgotten != forgotten))
                begin_anew(l, w, w->cursor.mode == EVENT_CURSOR_STATE ? EVENT_CURSOR_STATE : EVENT_CURSOR_MISSED, 0);
        w->cursor.forgotten = forgotten;
}

// His rights may have changed while he waited.
static void note_scope(const Leader *l, Watcher *w) {
        uint64_t revision = cluster_state_access_revision(l->state);
        uint32_t scope;

        if (w->access_revision == revision)
                return;
        w->access_revision = revision;
        scope = authorization_scope(l, w->ticket->author);
        if (scope == w->cursor.scope)
                return;
        w->cursor.scope = scope;
        begin_anew(l, w, EVENT_CURSOR_MISSED, 0);
}

// 0, or -ENOMEM. *ret_full: there is more for him.
static int look(Leader *l, Watcher *w, Turn *turn, bool drained, bool *ret_full) {
        EventCursorMode mode;
        int r = 0;

        *ret_full = false;
        note_scope(l, w);
        if (w->begins)
                w->cursor.forgotten = forgotten_seq(l, w);
        note_missed(l, w);
        if (w->begins)
                r = add_begins(l, w);
        w->begins = false;
        mode = w->cursor.mode;
        if (r < 0 || mode == EVENT_CURSOR_RING)
                return r < 0 ? r : follow_ring(l, w, turn, ret_full);
        r = follow_order(l, w, turn, ret_full);
        if (r < 0 || *ret_full)
                return r;
        *ret_full = !drained; // what was marked belongs to it
        if (!drained)
                return 0;
        w->cursor.mode = EVENT_CURSOR_RING;
        w->cursor.seq = l->events->last_seq;
        w->cursor.index = l->events->index;
        return add_word(l, w, EVENT_STREAM_COMPLETE, 0, mark_of(mode), w->cursor.seq);
}

static void answer(Watcher *w) {
        Argosy__Response *response = TAKE_PTR(w->answer);
        char text[EVENT_CURSOR_SIZE];

        event_cursor_format(&w->cursor, text);
        if (response && field_set(&response->events->cursor, text) < 0) {
                message_free(response);
                response = NULL;
        }
        ticket_settle(w->ticket, response);
}

// The watcher may be gone afterwards.
static void serve(Leader *l, Watcher *w, Turn *turn, bool drained) {
        bool full = false;
        int r = w->from_now ? need_answer(w) : look(l, w, turn, drained, &full);

        list_unlink(&w->all);
        list_append(r == 0 && !w->from_now && full ? &l->watchers : &l->watchers_idle, &w->all);
        if (r < 0)
                ticket_settle(w->ticket, NULL);
        else if (w->answer)
                answer(w);
}

void watchers_turn(Leader *l) {
        Turn turn = {TURN_BYTES, TURN_LOOKS};
        uint64_t seq = l->events->last_seq;
        bool drained = event_stream_drain(l);
        size_t n;

        if (l->events->last_seq != seq)
                list_splice(&l->watchers, &l->watchers_idle);
        n = l->n_watchers;
        while (n-- > 0 && turn.looks > 0 && turn.bytes > 0 && !list_is_empty(&l->watchers))
                serve(l, CONTAINER_OF(l->watchers.next, Watcher, all), &turn, drained);
        if (!list_is_empty(&l->watchers))
                leader_mark(l);
}
