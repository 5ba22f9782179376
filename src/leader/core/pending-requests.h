// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Requests from their arrival to their final response.

#include <stdint.h>

#include "buf.h"
#include "event-cursor.h"
#include "leader-core.h"

// What is said by who plans what a pending request asks for (Handler.plan and decide), and by each step on
// the way there; or it is a negative errno, -EBUSY for the next batch.
enum {
        PLAN_SETTLED = 0,  // it was answered, or it waits on: for a later turn, or for somebody else
        PLAN_IN_BATCH = 1, // what it asks for, or a chunk of that
        STEP_PASSED = 1,   // of a step that is not the last: the next one may follow
};
enum {
        CHECK_REFUSED = 1
}; // of a check that is 0 otherwise, or a negative errno: the pending request was answered

// What a folder keeps of a pending request while it works on it: a struct of that folder begins with this,
// and nobody else knows the rest. A request has at most one of each kind.
typedef struct RequestWork RequestWork;
typedef struct RequestWorkKind {
        // Nobody works on the request any more, or the folder has dropped the work.
        void (*free)(PendingRequest *t, RequestWork *w);
        // Whether hosts are asked, as request_asks() says it; NULL: they are asked for nothing.
        bool (*asks)(const PendingRequest *t, const RequestWork *w, Buf *what);
} RequestWorkKind;
struct RequestWork {
        const RequestWorkKind *kind;
        RequestWork *next; // of the same request
};

// Lists in which a pending request waits, one per part of the leader that works on it.
typedef enum RequestList {
        PENDING_WAIT,      // Leader.waits or .removals, OpenJob.pending_requests, HeldJob.pending_requests
        PENDING_REBALANCE, // Leader.rebalance_waiters, once it is under way
        PENDING_TURN,      // Leader.asking, .node_lists or .job_shows
        PENDING_WHY,       // Leader.whys_due
        PENDING_LISTS
} RequestList;

#define REQUEST_REPORTED_NOTHING UINT64_MAX

typedef void (*RequestCommitted)(Leader *l, PendingRequest *t);

struct PendingRequest {
        uint64_t id;
        Leader *leader;
        LeaderRespond respond; // NULL: nobody listens any more
        void *userdata;
        Argosy__Request *request; // owned, but
        bool lent;                // then it is the asker's, and there as long as the pending request
        Argosy__Author *author;   // owned
        ListNode all;             // in Leader.pending_requests
        ListNode same;            // a ring of all whose job_request_id() is this one's
        ListNode queue;           // in Leader.queue, .previews or .verifies, or .flying while its batch is
                                  // on the way
        AuthorTurn *turn;         // of its author, in the former three, once it has waited there
        bool orphaned;  // its client was gone before anything of it was in the log
        AuthorBegun begun; // request_begins()
        bool again;     // back into the queue when the batch is committed
        bool made;      // the log has what it asked for
        // what is said of its Change, or the chunk at hand, is what the record of its job says
        bool recorded;
        ListNode outbox; // in Leader.outbox while there is something to be said at the end of the turn
        ListNode responses; // that, in its order (pending-requests.c)
        bool ended;      // nothing comes after that
        Argosy__Response *response;              // what will be said when the batch is committed
        RequestCommitted committed;               // finishes `response`; NULL: nothing to add
        RequestWork *works;                       // of those who work on it, the newest first; owned
        uint64_t
                // of one that waits: how much remained, or was done, when it was told last;
                // REQUEST_REPORTED_NOTHING
                reported;
        bool under_way; // what it asks for has begun: it is not judged anew, and goes on without its client
        // of an Undo or an Apply: name of the rollout that it begins; owned; NULL: it begins none
        char *rolls;
        // jobs that are running, of which its next entry calls off what has not begun
        const uint64_t *cancels;
        size_t n_cancels;
        size_t n_kept;      // units that these have changed in the log
        struct {
                uint64_t revision;    // of the state against which it is asked; 0: it was not looked at yet
                uint64_t if_revision; // that it is bound to; 0: to none
                size_t n_looks;       // at jobs, to find out who has changed what
        } asked;                      // of what goes into the log in parts (changed-since.h)
        EventCursor before;  // where the stream was when the first entry of what it asked for went to the
                             // log
        bool has_before;     // else it has put nothing there
        uint64_t job;        // number of its job, once the log has a chunk of it; 0: it has none
        uint64_t job_flying; // that of the entry that is on its way
        const char *job_failed; // with this entry that job fails, why: constant; NULL: it does not
        struct HeldJob *held; // the held job whose request it is; NULL: of a client
        struct {
                // of an update: those that could not pull its image; owned by the work of rollout-images.c
                uint32_t *nodes;
                size_t n;
                const char *why; // the words of the last of them
        } without;
        uint32_t limited_by;  // number of the rule that its job counts for; 0: none
        uint64_t content;    // job_request_content()
        bool has_content;
        ListNode in[PENDING_LISTS];
        bool has_digests;  // of the images of containers that it brings; there may be none (image-pinning.h)
        bool brings_nothing; // of its own: the files that it has were put there by the leader
        bool images_untaken; // it brings one more, which counts if its unit is gone when it is decided
        uint64_t asked_us; // when it arrived, by our clock
};

// Whether the log has a chunk of what it asks for and waits for more: if there is none, an entry has to say
// so.
bool request_has_open_job(const PendingRequest *t);
// Whether the log has all of it, by its key.
bool request_was_carried_out(const PendingRequest *t);
PendingRequest *request_new(Leader *l, const Argosy__Request *request, LeaderRespond respond,
                            void *userdata);
// The same of a request that is the pending request's from now on, also if there is no pending request;
// NULL: out of memory.
PendingRequest *request_take(Leader *l, Argosy__Request *request, LeaderRespond respond, void *userdata);
// The same of a request that stays the asker's (leader_request_lent()).
PendingRequest *request_borrow(Leader *l, const Argosy__Request *request, LeaderRespond respond,
                               void *userdata);
void request_free(PendingRequest *t);
// The work becomes the request's, which frees it when nobody works on the request any more, also without a
// final response.
void request_add_work(PendingRequest *t, const RequestWorkKind *kind, RequestWork *w);
// NULL: it has none of that kind.
static inline RequestWork *request_work(const PendingRequest *asked, const RequestWorkKind *kind) {
        for (RequestWork *w = asked->works; w; w = w->next)
                if (w->kind == kind)
                        return w;
        return NULL;
}
RequestWork *request_take_work(PendingRequest *t,
                               const RequestWorkKind *kind); // the same, and it is the caller's
void request_drop_work(PendingRequest *t, const RequestWorkKind *kind);         // frees it, if there is one
// What it asks for has begun, before anything of it is in the log.
void request_is_under_way(PendingRequest *t);
// Of one that waits: how much remains, or is done. Whether it was told another figure last, or none; it is
// told this one now.
bool request_report(PendingRequest *t, uint64_t figure);
// Whether the receiver has yet to take earlier responses: of answers that are made in parts, no more is made
// until then. leader_on_host_drained() marks the leader when it has. Clients of this host take answers at
// once.
bool request_taker_is_full(const PendingRequest *t);
// It waits for a turn of its author: in Leader.queue, .previews or .verifies, and always in the same of
// these. 0 or -ENOMEM.
int request_wait(PendingRequest *t, AuthorTurns *turns) _warn_unused_;
// It has its first turn of several, and keeps what it knows or is going to say until the last
// (author_turn_begins()). Once is enough.
void request_begins(PendingRequest *t);
bool request_may_begin(const PendingRequest *t);
// Nothing of its author is planned for it any more.
void request_leave_queue(PendingRequest *t);
// The request waits for another turn of its author: behind the author's other requests, or before them.
void request_wait_again(PendingRequest *t, bool first);
// It waits in that list, which is no queue of authors, until it leaves the queue or waits again.
void request_wait_in(PendingRequest *t, ListNode *list);
// It waits at the end of that list until it leaves it, or nobody works on it any more.
void request_join(PendingRequest *t, RequestList which, ListNode *list);
void request_leave(PendingRequest *t, RequestList which);
PendingRequest *request_in(const ListNode *member,
                           RequestList which); // the pending request of a member of PendingRequest.in
// The job that answers for it, once the log has a chunk of that.
void request_set_job(PendingRequest *t, uint64_t job);
// Its next entry calls off what has not begun of these jobs, which stay the caller's.
void request_calls_off(PendingRequest *t, const uint64_t *jobs, size_t n);
// The entry at hand has it, or a chunk of it: this is said when the log has that, in place of what was to be
// said before; it is taken. PLAN_IN_BATCH; or -ENOMEM, for NULL.
int request_prepare(PendingRequest *t, Argosy__Response *response);
Argosy__Response *request_take_prepared(PendingRequest *t);
// What is done then, before that is said; NULL: nothing. `again`: afterwards it waits for its next entry.
void request_when_committed(PendingRequest *t, RequestCommitted committed, bool again);
void request_on_committed(PendingRequest *t); // the log has it
void request_is_repeated(PendingRequest *t);  // the log has it from before
void request_stop_answering(PendingRequest *t); // the client is gone
// One more response, which is taken; NULL stands for out of memory, and ends the pending request. It goes
// out in responses_flush(): who is told may cancel any pending request, and nobody who walks over pending
// requests has to mind that.
void request_send(PendingRequest *t, Argosy__Response *response);
// What is said until now is all: the last one will be final. Nobody works on the pending request any more.
void request_end(PendingRequest *t);
int request_settle(PendingRequest *t, Argosy__Response *response); // both; PLAN_SETTLED
// The same with an error: a positive errno, and the reason.
int request_refuse(PendingRequest *t, int status, const char *format, ...) _printf_(3, 4);
// Besides the outbox: of what is only shown, which needs no authority. The pending request, and any other,
// may be gone afterwards.
void request_send_now(PendingRequest *t, Argosy__Response *response, bool final);
// It was settled in this turn with an error, which nobody was told yet. Else NULL.
const Argosy__Response *request_refusal(const PendingRequest *t);
// What is still to be said is not said; this is.
void request_fail(PendingRequest *t, Argosy__Response *response);
void responses_flush(Leader *l); // once per turn
