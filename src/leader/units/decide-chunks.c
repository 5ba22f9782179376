// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A Change of thousands of units is several entries of the log, so that no turn of the loop is long: not
// that of the leader that plans it, nor those of the voters that apply it, nor those of the hosts that get
// the orders.
//
//      1. its names and files are looked at, limits.tie_looks a turn: whether the units have to do with each
//         other
//         (request-ties.h). If they have, it is one entry like a small one, or refused if they are too many
//         for that. One that is named
//         twice has one turn.
//      2. limits.change_chunk_units after limits.change_chunk_units is planned and committed (of a submit
//         limits.submit_chunk_units, change_chunk_units()). What
//         others ask for meanwhile goes in between. A unit that was changed after the revision to which the
//         request is bound
//         refuses it as long as nothing is in the log; behind that it is left, named, and fails the job.
//      3. the client is answered about each chunk as the log has it (log-chunks.c)
//
// The log remembers the request by its id, and while not all of it is there, how far it has come
// (LogOp.JobPut.done). So a client that repeats the request, since a leader has died in the middle, has
// applied what was missing and nothing twice, however many others have asked for something since. What was
// begun in chunks is gone on with in chunks.
//
// A request that fails in the middle is answered with the number of units that were changed by then
// (PendingRequest.n_kept).
#include "batch-content.h"
#include "decide-chunks.h"

#include <errno.h>
#include <stdlib.h>

#include "changed-since.h"
#include "decide-bound.h"
#include "decide-changes.h"
#include "log-chunks.h"
#include "message.h"
#include "request-ties.h"
#include "response.h"
#include "turn.h"

enum {
        FILE_WORK = 4,           // of a chunk: a unit that has a file of its own, as so many that share one
};

typedef struct ChangeChunks {
        RequestWork work;
        RequestTies ties;
} ChangeChunks;

static void parts_free(PendingRequest *t, RequestWork *work) {
        ChangeChunks *p = CONTAINER_OF(work, ChangeChunks, work);

        request_ties_done(&p->ties);
        free(p);
}

static const RequestWorkKind parts_kind = {parts_free};

// Of a Change that goes into the log in chunks; NULL: it does not, or was answered.
static ChangeChunks *chunks_of(const PendingRequest *t) {
        RequestWork *work = request_work(t, &parts_kind);

        return work ? CONTAINER_OF(work, ChangeChunks, work) : NULL;
}

size_t change_chunk_units(const Leader *l, const Argosy__Request__Change *change) {
        return change->verb == ARGOSY__VERB__VERB_SUBMIT ? l->limits.submit_chunk_units
                                                         : l->limits.change_chunk_units;
}

// The units of a Change that count for the size of chunks; one chunk has change_chunk_units().
static size_t content_units(const Leader *l, const Argosy__Request__Change *change) {
        return batch_units_of_content(l->state) * change_chunk_units(l, change) /
               l->limits.change_chunk_units;
}

static bool is_whole(const Leader *l, const Argosy__Request__Change *change) {
        return change->n_names + change->n_files * content_units(l, change) <= change_chunk_units(l, change);
}

// Names whose chunks are in the log. A chunk that had nothing to store counts when one behind it is there.
static uint32_t names_done(const Leader *l, const Argosy__Request__Change *change) {
        RequestKey key;

        return cluster_state_find_key(l->state, change->id.data, &key) && key.more ? key.done : 0;
}

// At once, if one turn has time for it.
static int judge_tied(PendingRequest *t) {
        const Argosy__Request__Change *change = t->request->change;

        if (change->n_names <= REQUEST_TIED_MAX)
                return CHANGE_WHOLE;
        request_settle(t, request_ties_too_many(change));
        return PLAN_SETTLED;
}

// 0: in chunks, or it was refused; CHANGE_WHOLE; REQUEST_TIES_MORE; -ENOMEM.
static int judge(Decision *d, PendingRequest *t) {
        const Argosy__Request__Change *change = t->request->change;
        RequestTies *ties = &chunks_of(t)->ties;
        bool is_begun = t->job > 0 && names_done(d->leader, change) > 0; // in chunks
        int r = request_ties_check(ties, d->leader->state, change, d->leader->limits.tie_looks, is_begun,
                                   decide_change_ops(), d);

        if (r != 0 || is_begun)
                return r;
        if (ties->tied)
                return judge_tied(t);
        return ties->ranked && change->n_names <= REQUEST_TIED_MAX ? CHANGE_WHOLE : 0;
}

// ------------------------------------------------------------------------------------------------ chunks

// Files that are read, and go to the log, cost more than names that have the same one. What is done, and
// what is not, are chunks of their own, however long those were that are in the log: else some of it would
// be done twice.
static size_t part_size(const Leader *l, const PendingRequest *t, size_t at) {
        const Argosy__Request__Change *change = t->request->change;
        size_t done = names_done(l, change), file_work = FILE_WORK + content_units(l, change);
        size_t end = at < done ? MIN_OF(change->n_names, done) : change->n_names;
        LogChunkRoom room = {.most_work = log_chunk_slice(log_chunk_of(t), change_chunk_units(l, change)),
                            .most_bytes = l->limits.change_chunk_bytes,
                            .enough_bytes = l->limits.change_file_bytes};

        while (at + room.n < end) {
                const Argosy__NamedFile *file =
                        request_ties_file(&chunks_of(t)->ties, change->names[at + room.n]);

                if (!log_chunk_takes(&room, file ? file_work : 1, file ? sent_file_bytes(file) : 0))
                        break;
        }
        return room.n;
}

// Without those that had their turn in it, or in an earlier one: `room` has their names then.
static void leave_repeats(const PendingRequest *t, size_t at, char **room, Argosy__Request__Change *chunk) {
        char **names = chunk->names;
        size_t n = chunk->n_names;

        chunk->names = room;
        chunk->n_names = 0;
        for (size_t i = 0; i < n; i++)
                if (!request_ties_is_repeat(&chunks_of(t)->ties, names[i], at + i))
                        room[chunk->n_names++] = names[i];
}

// Those that may be changed go on in `chunk`, whose names are `room`; what is said of the others goes to
// `left`.
static int leave_changed(const Leader *l, PendingRequest *t, char **room, Argosy__Request__Change *chunk,
                         Argosy__Response__Change *left) {
        char **names = chunk->names;
        size_t n = chunk->n_names;

        chunk->names = room;
        chunk->n_names = 0;
        for (size_t i = 0; i < n; i++) {
                Argosy__Response__UnitResult *result;

                if (cluster_state_find_unit(l->state, names[i]) && !changed_since(l, t, names[i])) {
                        room[chunk->n_names++] = names[i];
                        continue;
                }
                result = unit_result_new(names[i]);
                if (FIELD_APPEND(left->units, left->n_units, result) < 0 ||
                    decide_bound_describe(l, t, names[i], result) < 0)
                        return -ENOMEM;
        }
        return 0;
}

// The chunk with those of its units that were not changed meanwhile. What is said of all of them is in
// LogChunks.chunk then.
static int decide_bound_chunk(Decision *d, PendingRequest *t, Argosy__Request__Change *chunk) {
        _cleanup_response_ Argosy__Response *left = response_new(ARGOSY__RESPONSE__WHAT_CHANGE);
        _cleanup_free_ char **room = calloc(chunk->n_names + 1, sizeof(*room));
        LogChunks *p = log_chunk_of(t);
        int r = left && room ? leave_changed(d->leader, t, room, chunk, left->change) : -ENOMEM;

        if (r < 0)
                return r;
        if (chunk->n_names > 0)
                r = decide_units(d, t, chunk, &p->answer);
        if (r < 0 || !chunks_of(t) || (chunk->n_names > 0 && !p->answer))
                return r;
        if (p->answer)
                return unit_results_move(left->change, p->answer->change);
        p->answer = TAKE_PTR(left);
        return 0;
}

// What is bound to a revision, when a chunk of it is in the log, and this one is not.
static bool is_bound(const Leader *l, const PendingRequest *t) {
        return t->asked.if_revision > 0 && t->job > 0 && !decide_chunk_is_done(l, t);
}

static int decide_chunk(Decision *d, PendingRequest *t) {
        BatchBuilderMark mark = batch_builder_mark(&d->batch);
        Argosy__Request__Change chunk = *t->request->change;
        LogChunks *p = log_chunk_of(t);
        size_t at = p->at, n = part_size(d->leader, t, at);
        _cleanup_free_ char **room = chunks_of(t)->ties.repeats ? calloc(n + 1, sizeof(*room)) : NULL;
        int r;

        if (chunks_of(t)->ties.repeats && !room)
                return -ENOMEM;
        log_chunk_take(p, at + n, at + n == chunk.n_names);
        chunk.names += at;
        chunk.n_names = n;
        if (room)
                leave_repeats(t, at, room, &chunk);
        r = is_bound(d->leader, t) ? decide_bound_chunk(d, t, &chunk)
                                   : decide_units(d, t, &chunk, &p->answer);
        if (r < 0 || !chunks_of(t) ||
            !p->answer) // it was answered, and nothing of it is left; or a later turn has time for it
                return r;
        return log_chunk_put(d, t, mark);
}

uint32_t decide_chunks_end(const PendingRequest *t) {
        return chunks_of(t) ? (uint32_t) log_chunk_of(t)->end : 0;
}

bool decide_chunk_is_done(const Leader *l, const PendingRequest *t) {
        uint32_t end = decide_chunks_end(t);

        return end > 0 && end <= names_done(l, t->request->change);
}

static int parts_new(PendingRequest *t) {
        int r = log_chunk_begin(t);
        ChangeChunks *p;

        if (r < 0)
                return r;
        p = calloc(1, sizeof(*p));
        if (!p)
                return -ENOMEM;
        request_add_work(t, &parts_kind, &p->work);
        return changed_since_begin(t->leader, t);
}

// It stays so, however many hosts there are meanwhile.
static bool is_in_parts(const Leader *l, const PendingRequest *t) {
        return chunks_of(t) || (t->job > 0 && names_done(l, t->request->change) > 0);
}

int decide_chunks(Decision *d, PendingRequest *t) {
        Leader *l = d->leader;
        int r = 0;

        if (!is_in_parts(l, t) && is_whole(l, t->request->change))
                return CHANGE_WHOLE;
        if (!chunks_of(t))
                r = parts_new(t);
        if (r >= 0)
                r = judge(d, t);
        if (r == REQUEST_TIES_MORE) {
                leader_mark(l);
                return PLAN_SETTLED;
        }
        if (r == 0 && !chunks_of(t)) // it was refused
                return PLAN_SETTLED;
        return r != 0 ? r : decide_chunk(d, t);
}
