// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The log's part of the stream, and places in it. Every voter notes what the log's entries are about
// (log-trail.h). So a watcher that got everything up to an index from a former leader gets from the next
// one, of kinds that are the log's own, only what has come behind it; what nodes have said, which the log
// does not know, is sent anew.
//
// A table that was changed behind that index counts as unknown as a whole: which of its rows are gone is not
// noted. So do rollouts for who may see some units only: whose they are follows from these.

#include <string.h>

#include "cluster-state.h"
#include "event-marks.h"
#include "event-stream.h"
#include "log-trail.h"

static_assert((int) EVENT_TABLES <= (int) TRAIL_TABLES_MAX, "each has a place in the trail");

// ------------------------------------------------------------------------------------------------ the trail

static void note_new_jobs(LogTrail *t, const ClusterState *s, bool begun) {
        uint64_t last = cluster_state_last_job(s);

        if (!begun)
                t->last_job = last;
        for (uint64_t job; (job = cluster_state_job_after(s, t->last_job)) > 0; t->last_job = job)
                log_trail_note_job(t, job, true, t->last);
}

void event_stream_on_applied(Leader *l, uint64_t index) {
        LogTrail *t = l->trail;
        bool begun = log_trail_on_entry(t, index);
        ClusterRevisions now = cluster_state_revisions(l->state);
        uint64_t ended;

        for (size_t i = 0; i < EVENT_TABLES; i++)
                log_trail_note_table(t, i, event_table_revision(i, &now));
        note_new_jobs(t, l->state, begun);
        while ((ended = cluster_state_next_ended_job(l->state)) > 0) {
                if (begun)
                        log_trail_note_job(t, ended, false, index);
                if (l->events)
                        event_mark_job(l, ended);
        }
}

// ------------------------------------------------------------------------------------------------ cursors

static EventCursor cursor_of_cluster(const Leader *l) {
        const Argosy__ClusterRecord *cluster = cluster_state_cluster(l->state);
        EventCursor c = {};

        if (cluster && cluster->cluster_id.len >= EVENT_CURSOR_CLUSTER)
                memcpy(c.cluster, cluster->cluster_id.data, EVENT_CURSOR_CLUSTER);
        c.generation = cluster ? cluster->generation : 0;
        return c;
}

EventCursor event_stream_cursor(const Leader *l) {
        EventCursor c = cursor_of_cluster(l);

        c.term = l->term;
        c.mode = EVENT_CURSOR_RING;
        c.seq = l->events->last_seq;
        c.index = l->events->index;
        return c;
}

EventCursor event_stream_cursor_of_job(const Leader *l, uint64_t number) {
        uint64_t index = log_trail_begin_of_job(l->trail, number), seq = event_jobs_before(l, number);
        EventCursor c = cursor_of_cluster(l);

        c.mode = EVENT_CURSOR_MISSED;
        c.index = index > 0 ? index - 1 : 0;
        if (seq == UINT64_MAX)
                return c;
        c.mode = EVENT_CURSOR_RING;
        c.term = l->term;
        c.seq = seq;
        return c;
}

// --------------------------------------------------------------------------------------------- what goes on

static bool goes_on(const Leader *l, Argosy__EventKind kind, uint64_t index, bool some) {
        if (!event_kind_info(kind)->of_log || (some && kind == ARGOSY__EVENT_KIND__EVENT_ROLLOUT))
                return false;
        if (kind == ARGOSY__EVENT_KIND__EVENT_JOB)
                return index >= log_trail_jobs_complete_from(l->trail) &&
                       index >= event_jobs_complete_from_index(l->events->jobs);
        for (size_t i = 0; i < EVENT_TABLES; i++)
                if (event_table_kind(i) == kind)
                        return !log_trail_table_has_changed(l->trail, i, index);
        return false;
}

uint32_t event_stream_kinds_anew(const Leader *l, uint64_t index, bool some) {
        uint32_t kinds = 0;

        if (index == 0 || index < log_trail_complete_from(l->trail) || index > l->trail->last)
                return 0;
        for (unsigned k = 0; k < EVENT_KINDS; k++) {
                Argosy__EventKind kind = (Argosy__EventKind) k;

                if (event_kind_info(kind) && kind != ARGOSY__EVENT_KIND__EVENT_STREAM &&
                    !goes_on(l, kind, index, some))
                        kinds |= event_kind_bit(kind);
        }
        return kinds;
}

// A table that has changed is told anew, all of it: what somebody knew of it before counts no more.
uint64_t event_object_index(const Leader *l, const EventObject *o, bool some) {
        if (o->gone || (some && o->kind == ARGOSY__EVENT_KIND__EVENT_ROLLOUT))
                return UINT64_MAX;
        if (o->kind == ARGOSY__EVENT_KIND__EVENT_JOB)
                return CONTAINER_OF(o, const JobObject, event)->index;
        for (size_t i = 0; i < EVENT_TABLES; i++)
                if (event_table_kind(i) == (Argosy__EventKind) o->kind)
                        return log_trail_table_changed(l->trail, i);
        return UINT64_MAX;
}
