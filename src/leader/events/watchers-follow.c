// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a watcher is told, from its place on: events in the ring, or by the order of last changes, an object
// at a time. Passed by is what it does not watch, what the log has told it before, and what its author may
// not see: an author that may see units of some roles only gets these, hears of a unit that changes its role
// that it comes or goes, and gets jobs as list-jobs would show them; of one whose units he may not see any
// more he hears that it is gone when it has ended.
//
// An answer has so many bytes; what was too much for it comes with the next one. Without memory there is
// none.

#include "watchers-private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "array.h"
#include "authorization.h"
#include "event-stream.h"
#include "job-state.h"
#include "message.h"
#include "registry.h"
#include "response.h"
#include "str.h"
#include "pending-requests.h"
#include "unit-on-node.h"

enum {
        ROW_LOOKS = 32, // as many as making a row takes
        BYTES_MIN = 1024,
        WORD_BYTES = 64, // that are left for a word at the end
        FRAME_BYTES = 4, // of each event in an answer, besides its own
};

// --------------------------------------------------------------------------------- what a watcher is to see

static bool has_kind(const Watcher *w, Argosy__EventKind kind) {
        return w->kinds & event_kind_bit(kind);
}

// Whether events of this kind are for authors that may see some units only; other kinds are about no unit.
static bool is_for_some(Argosy__EventKind kind) {
        return event_kind_info(kind)->of_units || kind == ARGOSY__EVENT_KIND__EVENT_STREAM ||
               kind == ARGOSY__EVENT_KIND__EVENT_LEADER || kind == ARGOSY__EVENT_KIND__EVENT_JOB;
}

static bool is_for(const Watcher *w, Argosy__EventKind kind, const char *name) {
        const Argosy__Request__Events *q = w->pending->request->events;
        const EventKindInfo *info = event_kind_info(kind);

        if (!has_kind(w, kind))
                return false; // also a kind without a row
        if (w->cursor.scope != 0 && !is_for_some(kind))
                return false;
        return !info->of_units || answer_name_matches(q->patterns, q->n_patterns, name);
}

static size_t bytes_max(const Watcher *w) {
        uint32_t asked = w->pending->request->events->max_bytes;

        if (asked == 0 || asked > EVENTS_BYTES_MAX)
                return EVENTS_BYTES_MAX - WORD_BYTES;
        return MAX_OF(asked, (uint32_t) BYTES_MIN) - WORD_BYTES;
}

static size_t n_events(const Watcher *w) {
        return w->answer ? w->answer->events->n_events : 0;
}

int watcher_need_answer(Watcher *w) {
        if (!w->answer)
                w->answer = response_new(ARGOSY__RESPONSE__WHAT_EVENTS);
        return w->answer ? 0 : -ENOMEM;
}

static void count_bytes(Watcher *w, Turn *turn, size_t first) {
        const Argosy__Response__Events *events = w->answer->events;

        for (size_t i = first; i < events->n_events; i++) {
                w->bytes += events->events[i].len + FRAME_BYTES;
                turn->bytes -= MIN_OF(turn->bytes, events->events[i].len);
        }
}

static int add_draft(Leader *l, Watcher *w, int r, EventDraft *d, Argosy__EventMark mark, uint64_t seq) {
        if (r == 0 && (r = watcher_need_answer(w)) == 0)
                r = event_stream_append(l, w->answer->events, d, mark, seq, w->cursor.index);
        event_draft_done(d);
        return r;
}

Argosy__EventMark watcher_mark(EventCursorMode mode) {
        return mode == EVENT_CURSOR_STATE ? ARGOSY__EVENT_MARK__EVENT_WHOLE
                                          : ARGOSY__EVENT_MARK__EVENT_MISSED;
}

int watcher_add_word(Leader *l, Watcher *w, const char *word, uint32_t kinds, Argosy__EventMark mark,
                     uint64_t seq) {
        EventDraft d;
        int r;

        if (!has_kind(w, ARGOSY__EVENT_KIND__EVENT_STREAM))
                return 0;
        r = add_draft(l, w, event_draft_stream(&d, word, kinds), &d, mark, seq);
        if (r == 0)
                w->bytes += w->answer->events->events[n_events(w) - 1].len + FRAME_BYTES;
        return r;
}

int watcher_add_begins(Leader *l, Watcher *w) {
        uint32_t anew = w->anew & w->kinds;

        if (w->anew == 0 || (anew & event_kind_bit(ARGOSY__EVENT_KIND__EVENT_JOB)))
                w->jobs_begun = event_jobs_complete_from(l->events->jobs);
        if (w->anew != 0 && anew == 0) // all of it goes on where it was
                return 0;
        return watcher_add_word(l, w, EVENT_STREAM_BEGINS, anew, watcher_mark(w->cursor.mode), 0);
}

// ------------------------------------------------------------------------------------------------ the order

// Where to go on after an event of an object: only after its last one the object is not told again. A
// watcher in the ring gets it instead of the next event there.
static uint64_t resume_seq(const Watcher *w, const EventObject *o, bool last) {
        return last && w->cursor.mode != EVENT_CURSOR_RING ? o->seq : w->cursor.seq;
}

static UnitOnNode *next_listed(Leader *l, const Unit *u, const ListNode *at) {
        const UnitEntry *e = cluster_state_find_unit(l->state, u->name);

        for (at = at->next; at != &u->on_nodes; at = at->next)
                if (unit_on_node_is_listed(l, e, CONTAINER_OF(at, UnitOnNode, by_unit)))
                        return CONTAINER_OF(at, UnitOnNode, by_unit);
        return NULL;
}

static int add_content(Leader *l, Watcher *w, Unit *u, Argosy__EventMark mark, bool last) {
        EventDraft d;
        int r = event_draft_content(l, u, &d);

        if (r == 0)
                event_stream_note_reported(l, u->event.due > 0, &u->content_reported, &d);
        return add_draft(l, w, r, &d, mark, resume_seq(w, &u->event, last));
}

// The unit, its content, and whatever nodes say of it. The unit comes first: what was known of nodes that do
// not follow counts no more.
static int add_unit(Leader *l, Watcher *w, Unit *u, Argosy__EventMark mark) {
        UnitOnNode *s =
                has_kind(w, ARGOSY__EVENT_KIND__EVENT_STATE) ? next_listed(l, u, &u->on_nodes) : NULL;
        bool has_content = has_kind(w, ARGOSY__EVENT_KIND__EVENT_CONTENT);
        EventDraft d;
        int r = 0;

        (void) event_roles_see(l, u);
        if (has_kind(w, ARGOSY__EVENT_KIND__EVENT_UNIT)) {
                r = event_draft_unit(l, u, &d);
                if (r == 0)
                        event_stream_note_reported(l, u->event.due > 0, &u->event.reported, &d);
                r = add_draft(l, w, r, &d, mark, resume_seq(w, &u->event, !s && !has_content));
        }
        if (r == 0 && has_content)
                r = add_content(l, w, u, mark, !s);
        while (r == 0 && s) {
                UnitOnNode *next = next_listed(l, u, &s->by_unit);

                r = event_draft_state(l, s, &d);
                if (r == 0)
                        event_stream_note_reported(l, u->event.due > 0 || s->event_due > 0,
                                               &s->reported, &d);
                r = add_draft(l, w, r, &d, mark, resume_seq(w, &u->event, !next));
                s = next;
        }
        return r;
}

// What patterns are compared with.
static const char *name_of(const EventObject *o) {
        if (o->gone)
                return CONTAINER_OF(o, const GoneObject, event)->name;
        if (o->kind == ARGOSY__EVENT_KIND__EVENT_UNIT)
                return CONTAINER_OF(o, const Unit, event)->name;
        return event_tables_have((Argosy__EventKind) o->kind)
                       ? CONTAINER_OF(o, const RecordObject, event)->name
                       : "";
}

static bool may_see(const Leader *l, const Watcher *w, unsigned role) {
        return event_roles_may_see(l, w->pending->author, role);
}

// Whether the watcher may have been told that the job runs, and is told by this that it does not. Its author
// may not see any more what he saw, when its units are gone or of other roles. Whose it was when it ended
// under another leader is not known (role 0).
static bool may_have_run_for(const Leader *l, const Watcher *w, uint64_t number, unsigned role) {
        if (w->cursor.mode == EVENT_CURSOR_STATE)
                return false;
        if (w->cursor.scope == 0)
                return true;
        return !job_state_is_open(cluster_state_job_state(l->state, number)) &&
               (role == 0 ? w->cursor.mode == EVENT_CURSOR_MISSED : may_see(l, w, role));
}

// `role`: EventObject.role.
static int add_job(Leader *l, Watcher *w, uint64_t number, unsigned role, Argosy__EventMark mark,
                   uint64_t seq) {
        EventDraft d;
        int r = w->cursor.scope == 0 ? event_draft_job(l, number, &d)
                                     : event_draft_job_for(l, w->pending->author, number, &d);

        // The author may not see it; or the log has forgotten it, and the watcher never knew it.
        if (r == 0 && !d.present && !may_have_run_for(l, w, number, role)) {
                event_draft_done(&d);
                return 0;
        }
        return add_draft(l, w, r, &d, mark, seq);
}

// A watcher that got only the unit's states has to be told that it is gone, too.
static int add_gone_unit(Leader *l, Watcher *w, const char *name, Argosy__EventMark mark, uint64_t seq) {
        bool has_unit =
                has_kind(w, ARGOSY__EVENT_KIND__EVENT_UNIT) || has_kind(w, ARGOSY__EVENT_KIND__EVENT_STATE);
        EventDraft d;
        int r = 0;

        if (has_kind(w, ARGOSY__EVENT_KIND__EVENT_CONTENT))
                r = add_draft(l, w, event_draft_no_unit(ARGOSY__EVENT_KIND__EVENT_CONTENT, name, &d), &d,
                              mark, has_unit ? w->cursor.seq : seq);
        if (r == 0 && has_unit)
                r = add_draft(l, w, event_draft_no_unit(ARGOSY__EVENT_KIND__EVENT_UNIT, name, &d), &d, mark,
                              seq);
        return r;
}

static int add_object(Leader *l, Watcher *w, EventObject *o) {
        Argosy__EventMark mark = watcher_mark(w->cursor.mode);
        EventDraft d;
        int r;

        if (o->gone && o->kind == ARGOSY__EVENT_KIND__EVENT_UNIT)
                return add_gone_unit(l, w, name_of(o), mark, o->seq);
        if (o->gone)
                r = event_draft_gone(CONTAINER_OF(o, GoneObject, event), &d);
        else if (o->kind == ARGOSY__EVENT_KIND__EVENT_UNIT)
                return add_unit(l, w, CONTAINER_OF(o, Unit, event), mark);
        else if (o->kind == ARGOSY__EVENT_KIND__EVENT_NODE)
                r = event_draft_node(l, CONTAINER_OF(o, Node, event), &d);
        else if (o->kind == ARGOSY__EVENT_KIND__EVENT_DRAIN)
                r = event_draft_drain(l, CONTAINER_OF(o, Node, drain), &d);
        else if (o->kind == ARGOSY__EVENT_KIND__EVENT_JOB)
                return add_job(l, w, CONTAINER_OF(o, JobObject, event)->number, o->role, mark, o->seq);
        else if (event_tables_have((Argosy__EventKind) o->kind))
                r = event_draft_record(l, CONTAINER_OF(o, RecordObject, event), &d);
        else
                r = event_draft_leader(l, &d);
        if (r == 0 && !o->gone &&
            (o->kind == ARGOSY__EVENT_KIND__EVENT_NODE || event_tables_have((Argosy__EventKind) o->kind)))
                event_stream_note_reported(l, o->due > 0, &o->reported, &d);
        return add_draft(l, w, r, &d, mark, o->seq);
}

static bool is_object_for(const Leader *l, const Watcher *w, const EventObject *o) {
        const char *name = name_of(o);

        if (w->cursor.index > 0 && event_object_index(l, o, w->cursor.scope != 0) <= w->cursor.index)
                return false; // it was told that before

        if (o->kind == ARGOSY__EVENT_KIND__EVENT_UNIT)
                return is_for(w, ARGOSY__EVENT_KIND__EVENT_UNIT, name) ||
                       is_for(w, ARGOSY__EVENT_KIND__EVENT_CONTENT, name) ||
                       is_for(w, ARGOSY__EVENT_KIND__EVENT_STATE, name);
        return is_for(w, (Argosy__EventKind) o->kind, name);
}

// Whether the author may see the object; for one with some roles only each unit's file is looked at.
static bool may_see_object(Leader *l, const Watcher *w, EventObject *o) {
        if (w->cursor.scope == 0)
                return true;
        if (o->kind == ARGOSY__EVENT_KIND__EVENT_ROLLOUT)
                return may_see(l, w, o->role);
        if (o->kind != ARGOSY__EVENT_KIND__EVENT_UNIT)
                return true;
        return may_see(l, w,
                       o->gone ? (unsigned) o->role : event_roles_see(l, CONTAINER_OF(o, Unit, event)));
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

// Whether the watcher passes the last change of a job that is kept no more, which it may not know.
// UINT64_MAX: there is nothing more.
static bool misses_jobs(const Leader *l, const Watcher *w, uint64_t next_seq) {
        const EventJobs *jobs = l->events->jobs;

        return w->cursor.seq < event_jobs_complete_from(jobs) && event_jobs_complete_from(jobs) < next_seq &&
               w->jobs_begun < event_jobs_complete_from(jobs) &&
               has_kind(w, ARGOSY__EVENT_KIND__EVENT_JOB) &&
               (w->cursor.index == 0 || w->cursor.index < event_jobs_complete_from_index(jobs));
}

// What follows has all that there are.
static int add_jobs_begin(Leader *l, Watcher *w, uint64_t *ret_seq) {
        EventDraft d;

        *ret_seq = event_jobs_complete_from(l->events->jobs);
        if (!has_kind(w, ARGOSY__EVENT_KIND__EVENT_STREAM))
                return 0;
        return add_draft(
                l, w,
                event_draft_stream(&d, EVENT_STREAM_BEGINS, event_kind_bit(ARGOSY__EVENT_KIND__EVENT_JOB)),
                &d, watcher_mark(w->cursor.mode), *ret_seq);
}

// False: it was too much, and the watcher gets it with the next answer.
static bool has_room(Watcher *w, Turn *turn, size_t before) {
        if (n_events(w) == before)
                return true;
        if (before > 0 && w->bytes + added_bytes(w, before) > bytes_max(w)) {
                take_back(w, before);
                return false;
        }
        count_bytes(w, turn, before);
        return true;
}

static int add_next(Leader *l, Watcher *w, EventObject *o, Turn *turn) {
        size_t before = n_events(w);

        if (!is_object_for(l, w, o))
                return 0;
        if (may_see_object(l, w, o) && add_object(l, w, o) < 0)
                return -ENOMEM;
        turn->looks -= MIN_OF(turn->looks,
                              MAX_OF(n_events(w) - before, (size_t) (w->cursor.scope != 0)) * ROW_LOOKS);
        return 0;
}

int watcher_follow_order(Leader *l, Watcher *w, Turn *turn, bool *ret_full) {
        for (;;) {
                size_t before = n_events(w);
                uint64_t seq = UINT64_MAX;
                EventObject *o = change_order_next(&l->events->order, w->cursor.seq, &seq);
                int r = 0;

                if (!o && !misses_jobs(l, w, UINT64_MAX))
                        return 0;
                *ret_full = turn->looks == 0 || turn->bytes == 0;
                if (*ret_full)
                        return 0;
                turn->looks -= MIN_OF(turn->looks, (size_t) 1);
                if (misses_jobs(l, w, o ? seq : UINT64_MAX))
                        r = add_jobs_begin(l, w, &seq);
                else
                        r = add_next(l, w, o, turn);
                if (r < 0)
                        return r;
                *ret_full = !has_room(w, turn, before);
                if (*ret_full)
                        return 0;
                w->cursor.seq = seq;
        }
}

// ------------------------------------------------------------------------------------------------ the ring

static int copy_entry(Watcher *w, const EventEntry *e) {
        Argosy__Response__Events *events;
        uint8_t *bytes;

        if (watcher_need_answer(w) < 0)
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

        // It is told as it is by now, and may be others' again, as what follows says.
        if (u && !may_see(l, w, event_roles_see(l, u)))
                return 0;
        // With the unit comes all of it.
        if (u && e->kind == ARGOSY__EVENT_KIND__EVENT_CONTENT && has_kind(w, ARGOSY__EVENT_KIND__EVENT_UNIT))
                return 0;
        if (u)
                return add_unit(l, w, u, ARGOSY__EVENT_MARK__EVENT_MISSED);
        if (!sees && saw)
                return add_draft(l, w, event_draft_no_unit(e->kind, e->name, &d), &d,
                                 ARGOSY__EVENT_MARK__EVENT_MISSED, w->cursor.seq);
        return sees ? copy_entry(w, e) : 0;
}

// Its units have come to be of other roles, or there are none any more, or again.
static int tell_rollout(Leader *l, Watcher *w, const EventEntry *e) {
        bool sees = may_see(l, w, e->role), saw = may_see(l, w, e->role_before);
        EventDraft d;

        if (!sees && saw)
                return add_draft(l, w, event_draft_no_unit(e->kind, e->name, &d), &d,
                                 ARGOSY__EVENT_MARK__EVENT_MISSED, w->cursor.seq);
        return sees && !(saw && e->of_roles) ? copy_entry(w, e) : 0;
}

// For an author that may see some units only: these units, their rollouts, and jobs as list-jobs would show
// them.
static int tell_some(Leader *l, Watcher *w, const EventEntry *e) {
        uint64_t number;

        switch (e->kind) {
        case ARGOSY__EVENT_KIND__EVENT_UNIT:
        case ARGOSY__EVENT_KIND__EVENT_CONTENT:
                return tell_unit(l, w, e);
        case ARGOSY__EVENT_KIND__EVENT_STATE:
                return may_see(l, w, e->role) ? copy_entry(w, e) : 0;
        case ARGOSY__EVENT_KIND__EVENT_ROLLOUT:
                return tell_rollout(l, w, e);
        case ARGOSY__EVENT_KIND__EVENT_JOB:
                return parse_u64(e->name, UINT64_MAX, &number)
                               ? add_job(l, w, number, e->role, ARGOSY__EVENT_MARK__EVENT_NEW,
                                         w->cursor.seq + 1)
                               : 0;
        default:
                return copy_entry(w, e);
        }
}

static int tell_all(Watcher *w, const EventEntry *e) {
        return e->of_roles ? 0 : copy_entry(w, e);
}

int watcher_follow_ring(Leader *l, Watcher *w, Turn *turn, bool *ret_full) {
        const size_t n_patterns = w->pending->request->events->n_patterns,
                     looks = w->cursor.scope != 0 ? ROW_LOOKS : 1;
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
                        if ((w->cursor.scope != 0 ? tell_some(l, w, e) : tell_all(w, e)) < 0)
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
