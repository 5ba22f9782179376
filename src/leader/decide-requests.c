// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See decide-requests.h. Requests that wait are served by authors in turn (author-turns.h), as many units of
// them in a turn of the loop as limits.requests_units says, whether that puts anything into the entry or
// not.
//
// A request that cannot be planned is refused, and has put nothing into the batch; one that has to wait for
// the next entry holds up those behind it, and one that waits for something else does not.
#include "decide-requests.h"

#include <errno.h>
#include <string.h>

#include "answer-cursor.h"
#include "authorization.h"
#include "batch-builder.h"
#include "batch-content.h"
#include "container-check.h"
#include "preview-turns.h"
#include "decide-jobs.h"
#include "decide-chunks.h"
#include "decide-queue.h"
#include "handlers.h"
#include "host-removal.h"
#include "held-jobs.h"
#include "image-pinning.h"
#include "request-asks.h"
#include "request-repeats.h"
#include "response.h"
#include "rollout-images.h"
#include "turn.h"

enum { PLANNED_UNITS = 500 }; // in one turn, by all who only ask; or one request of more

// ------------------------------------------------------------------------------------------------ failures

static Argosy__Response *unplaceable_response(const PendingRequest *t, int error) {
        DecideExtent text;

        if (error == -EUSERS)
                return response_error(EAGAIN,
                                      "as many requests are carried out in several entries of the log as it "
                                      "remembers at once: "
                                      "%s; ask again later",
                                      decide_extent(t, text));
        if (error == -ENOSPC)
                return response_error(
                        ENOSPC, "there are as many kinds of resources, patterns of conflicts and lists "
                                "of managers in this cluster as it can count: %s",
                        decide_extent(t, text));
        return response_error(-error, "%s: %s", decide_extent(t, text), strerror(-error));
}

static Argosy__Response *refused_response(const PendingRequest *t, const BatchBuilder *b) {
        char why[CLUSTER_REFUSAL_SIZE];
        DecideExtent text;

        return response_error(ENOSPC, "%s: %s", cluster_refusal_words(b->state, b->refusal, why),
                              decide_extent(t, text));
}

static Argosy__Response *failed_to_plan(const PendingRequest *t, const BatchBuilder *b, int error) {
        const Handler *h = handler_find(t->request->what_case);
        Argosy__Response *response;

        if (error == -ENOMEM)
                return NULL;
        if (error == -EDQUOT)
                return refused_response(t, b);
        response = h->failed ? h->failed(t, error) : NULL;
        return response ?: unplaceable_response(t, error);
}

// -------------------------------------------------------------------------------------------- who only asks

// True: it goes on in a later turn.
static bool answer_preview(Decision *d, PendingRequest *t) {
        Leader *l = d->leader;
        int r = decide_preview(d, t);

        l->preview = r == PREVIEW_GOES_ON ? t : NULL;
        if (r < 0)
                request_settle(t, failed_to_plan(t, &d->batch, r));
        return l->preview;
}

// Those of which the turn takes no more units than it has time for. False: none may be begun.
static bool answer_some_previews(Decision *d) {
        Leader *l = d->leader;
        ListNode *next;
        size_t n = 0;

        while ((next = author_turns_next(&l->previews))) {
                PendingRequest *t = CONTAINER_OF(next, PendingRequest, queue);
                size_t n_units = MAX_OF(t->request->change->n_names, (size_t) 1);

                if (!preview_may_begin(t))
                        continue;
                if (n > 0 && n + n_units > PLANNED_UNITS)
                        break;
                n += n_units;
                author_turn_charge(t->turn, n_units);
                if (answer_preview(d, t))
                        break;
        }
        author_turns_end(&l->previews);
        return n > 0;
}

bool decide_previews(Decision *d) {
        Leader *l = d->leader;
        bool had_the_last = l->previews_had;

        l->previews_had = false;
        if (!l->preview && author_turns_are_empty(&l->previews))
                return true;
        if (!l->preview && had_the_last) {
                leader_mark(l);
                return true;
        }
        if (l->preview)
                (void) answer_preview(d, l->preview);
        else if (!answer_some_previews(d))
                return true; // until one of those that wait for nodes is over
        l->previews_had = true;
        leader_mark(l);
        return false;
}

// ---------------------------------------------------------------------------------------------- for the log

// The bytes of files that came along, as far as one chunk has room for them.
static size_t file_bytes(const Argosy__Request__Change *change, size_t most) {
        size_t bytes = 0;

        for (size_t i = 0; i < change->n_files && bytes < most; i++)
                bytes += sent_file_bytes(change->files[i]);
        return MIN_OF(bytes, most);
}

// What it puts into one entry. What is submitted gets no node and no order, and counts half; files that are
// read count as much as the leader fills by itself if there are as many of them as one chunk has.
static size_t units_of(const PendingRequest *t, const Handler *h) {
        const LeaderLimits *limits = &t->leader->limits;
        const Argosy__Request__Change *change = t->request->change;
        size_t units, files, most = limits->change_file_bytes;

        switch (h->log.entry) {
        case ENTRY_UNITS:
                units = MIN_OF(change->n_names, change_chunk_units(t->leader, change));
                if (change->verb == ARGOSY__VERB__VERB_SUBMIT)
                        units /= 2;
                files = file_bytes(change, most) * limits->entry_units / most;
                return MAX_OF(MAX_OF(units, files), (size_t) 1);
        case ENTRY_FULL:
                return MAX_OF(MAX_OF(limits->undo_chunk_units, limits->apply_chunk_units),
                              limits->entry_units);
        case ENTRY_SMALL:
                break;
        }
        return 1;
}

static bool has_begun(const PendingRequest *t) {
        return t->job > 0 || t->n_kept > 0 || t->under_way;
}

// The author's rights, or the role of one of the request's units, may have changed while it waited. What has
// begun goes on.
static bool forbid(Leader *l, PendingRequest *t) {
        char why[AUTHORIZATION_WHY_SIZE];

        if (has_begun(t) || !authorization_refuses(l, t->author, t->request, why))
                return false;
        request_refuse(t, authorization_error(l, t->author), "%s", why);
        return true;
}

// Returns what the request's own plan or decide function returns.
static int plan_request(Decision *d, PendingRequest *t, const Handler *h, BatchBuilderMark mark) {
        bool begun = has_begun(t);
        int r = decide_job_admit(d, t, &h->log);

        // It is known again by all that was asked for, also when its author may bring content by then.
        if (r == STEP_PASSED && !begun && authorization_drop_files(d->leader, t)) {
                image_pinning_forget(t);
                container_check_forget(t);
        }
        if (r == STEP_PASSED)
                r = decide_queue_admit(d, t);
        if (r == QUEUE_HOLDS)
                return PLAN_IN_BATCH;
        if (r == STEP_PASSED)
                r = image_pinning_admit(t);
        if (r == STEP_PASSED)
                r = container_check_admit(t);
        if (r == STEP_PASSED && t->request->what_case == ARGOSY__REQUEST__WHAT_ROLLOUT)
                r = rollout_images_admit(t, t->request->rollout);
        if (r != STEP_PASSED)
                return r;
        r = h->decide ? h->decide(d, t) : h->plan(d->leader, t, &d->batch);
        if (r == PLAN_IN_BATCH && container_check_note(t) < 0)
                return -ENOMEM;
        return r == PLAN_IN_BATCH ? decide_job_put(d, t, mark) ?: PLAN_IN_BATCH : r;
}

// Whether hosts are asked for it. Who has asked for a job that is held is told as its job is looked at.
static bool note_asking(PendingRequest *t) {
        bool asks = request_asks(t, NULL);

        held_job_note_asking(t, asks);
        if (asks)
                (void) request_asks_tell(t); // without memory its client only hears nothing of it
        return asks;
}

// False: it waits for the next entry, and those behind it with it, so that nobody overtakes it for good.
static bool decide_request(Decision *d, PendingRequest *t, const Handler *h) {
        DecisionMark mark = decision_mark(d);
        int r = plan_request(d, t, h, mark.batch);

        if (r < 0)
                decision_rollback(d, mark);
        if (r == -EBUSY)
                return false;
        if (r < 0)
                request_settle(t, failed_to_plan(t, &d->batch, r));
        else if (r == PLAN_IN_BATCH) {
                answer_cursor_note(d->leader, t);
                list_unlink(&t->queue);
                list_append(&d->taken, &t->queue);
                // Nothing is placed behind it on a host that goes by this entry.
                return t->request->what_case != ARGOSY__REQUEST__WHAT_CLUSTER_REMOVE;
        } else if (r == QUEUE_PUT_BACK)
                return true;
        else if (list_is_linked(&t->queue)) { // it waits for somebody else
                (void) note_asking(t);
                if (h->log.entry != ENTRY_UNITS) // that was a look
                        d->n_served -= units_of(t, h);
        }
        request_repeats_settle(t);
        return true;
}

// Whether the turn has time for so many units; requests that put nothing into the entry count, too.
static bool has_time(Decision *d, size_t n_units) {
        if (d->n_served == 0 || d->n_served + n_units <= d->leader->limits.requests_units)
                return true;
        leader_mark(d->leader);
        return false;
}

// Whether a request that takes several turns may begin: few of an author are under way at a time, as each
// keeps what it has found out about perhaps thousands of units.
static bool may_begin(Leader *l, const PendingRequest *t, const Handler *h) {
        if (h->log.entry == ENTRY_FULL && !request_may_begin(t))
                return false;
        return !h->may_begin || h->may_begin(l, t);
}

void decide_requests(Decision *d) {
        Leader *l = d->leader;
        bool more = true;
        ListNode *next;

        while (more && (next = author_turns_next(&l->queue))) {
                PendingRequest *t = CONTAINER_OF(next, PendingRequest, queue);
                const Handler *h = handler_find(t->request->what_case); // never NULL: it was taken on
                size_t n_units = units_of(t, h);

                bool asks = note_asking(t);

                if (!may_begin(l, t, h) || asks)
                        continue; // goes on when one of its author has ended, or what it waits for is over
                if (!batch_builder_takes_request(&d->batch, n_units) || !has_time(d, n_units))
                        break;
                d->n_served += n_units;
                author_turn_charge(t->turn, n_units);
                if (h->log.entry == ENTRY_FULL)
                        request_begins(t);
                if (!forbid(l, t))
                        more = decide_request(d, t, h);
        }
        author_turns_end(&l->queue);
}

void decide_requests_wait(ListNode *pending_requests) {
        list_foreach_safe (i, pending_requests) {
                PendingRequest *t = CONTAINER_OF(i, PendingRequest, queue);

                list_unlink(&t->queue);
                if (t->respond || t->author->owner)
                        author_turn_wait(t->turn, &t->queue);
                else // it is on no account, so it has to end before others of the same author begin
                        author_turn_wait_first(t->turn, &t->queue);
        }
}

void decide_requests_take_back(ListNode *pending_requests) {
        while (!list_is_empty(pending_requests)) {
                PendingRequest *t = CONTAINER_OF(pending_requests->prev, PendingRequest, queue);

                list_unlink(&t->queue);
                author_turn_wait_first(t->turn, &t->queue);
        }
}
