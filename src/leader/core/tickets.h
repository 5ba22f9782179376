// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Requests from their arrival to their final response.

#include <stdint.h>

#include "event-cursor.h"
#include "leader-core.h"

// What is said by who plans what a ticket asks for (Handler.plan and decide), and by each step on the way
// there; or it is a negative errno, -EBUSY for the next batch.
enum {
        PLAN_SETTLED = 0,  // the ticket was answered, or it waits on: for a later turn, or for somebody else
        PLAN_IN_BATCH = 1, // what it asks for, or a part of that
        STEP_PASSED = 1,   // of a step that is not the last: the next one may follow
};
enum { CHECK_REFUSED = 1 }; // of a check that is 0 otherwise, or a negative errno: the ticket was answered

// What a folder keeps of a pending request while it works on it: a struct of that folder begins with this,
// and nobody else knows the rest. A request has at most one of each kind.
typedef struct TicketWork TicketWork;
typedef struct TicketWorkKind {
        // Nobody works on the request any more, or the folder has dropped the work.
        void (*free)(Ticket *t, TicketWork *w);
} TicketWorkKind;
struct TicketWork {
        const TicketWorkKind *kind;
        TicketWork *next; // of the same request
};

// Lists in which a pending request waits, one per part of the leader that works on it.
typedef enum TicketList {
        TICKET_WAIT,      // Leader.waits or .removals, OpenJob.tickets, HeldJob.tickets
        TICKET_REBALANCE, // Leader.rebalance_waiters, once it is under way
        TICKET_TURN,      // Leader.asking, .node_lists or .job_shows
        TICKET_WHY,       // Leader.whys_due
        TICKET_LISTS
} TicketList;

#define TICKET_REPORTED_NOTHING UINT64_MAX

typedef void (*TicketCommitted)(Leader *l, Ticket *t);

struct Ticket {
        uint64_t id;
        Leader *leader;
        LeaderRespond respond; // NULL: nobody listens any more
        void *userdata;
        Argosy__Request *request; // owned, but
        bool lent;                // then it is the asker's, and there as long as the ticket
        Argosy__Author *author;   // owned
        ListNode all;             // in Leader.tickets
        ListNode queue;           // in Leader.queue, .dry_runs or .verifies, or .flying while its batch is
                                  // on the way
        AuthorTurn *turn;         // of its author, in the former three, once it has waited there
        bool orphaned;  // its client was gone before anything of it was in the log
        AuthorBegun begun; // ticket_begins()
        bool again;     // back into the queue when the batch is committed
        bool made;      // the log has what it asked for
        bool told;      // what is said of its Change, or the part at hand, is what the record of its job
                        // says
        ListNode outbox; // in Leader.outbox while there is something to be said at the end of the turn
        ListNode responses; // that, in its order (tickets.c)
        bool ended;      // nothing comes after that
        Argosy__Response *response;              // what will be said when the batch is committed
        TicketCommitted committed;               // finishes `response`; NULL: nothing to add
        TicketWork *works;                       // of those who work on it, the newest first; owned
        uint64_t
                // of one that waits: how much remained, or was done, when it was told last;
                // TICKET_REPORTED_NOTHING
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
        uint64_t job;        // number of its job, once the log has a part of it; 0: it has none
        uint64_t job_flying; // that of the entry that is on its way
        const char *job_failed; // with this entry that job fails, why: constant; NULL: it does not
        struct HeldJob *held; // the held job whose request it is; NULL: of a client
        struct {
                uint32_t *nodes; // of an update: those that could not pull its image; owned by `pulls`
                size_t n;
                const char *why; // the words of the last of them
        } without;
        uint32_t limited_by;  // number of the rule that its job counts for; 0: none
        uint64_t content;    // job_request_content()
        bool has_content;
        ListNode in[TICKET_LISTS];
        bool has_digests;  // of the images of containers that it brings; there may be none (image-pinning.h)
        bool images_untaken; // it brings one more, which counts if its unit is gone when it is decided
        uint64_t asked_us; // when it arrived, by our clock
};

// Whether the log has a part of what it asks for and waits for more: if there is none, an entry has to say
// so.
bool ticket_has_open_job(const Ticket *t);
// Whether the log has all of it, by its key.
bool ticket_was_carried_out(const Ticket *t);
Ticket *ticket_new(Leader *l, const Argosy__Request *request, LeaderRespond respond, void *userdata);
// The same of a request that is the ticket's from now on, also if there is no ticket; NULL: out of memory.
Ticket *ticket_take(Leader *l, Argosy__Request *request, LeaderRespond respond, void *userdata);
// The same of a request that stays the asker's (leader_request_lent()).
Ticket *ticket_borrow(Leader *l, const Argosy__Request *request, LeaderRespond respond, void *userdata);
void ticket_free(Ticket *t);
// The work becomes the request's, which frees it when nobody works on the request any more, also without a
// final response.
void ticket_add_work(Ticket *t, const TicketWorkKind *kind, TicketWork *w);
TicketWork *ticket_work(const Ticket *t, const TicketWorkKind *kind); // NULL: it has none of that kind
TicketWork *ticket_take_work(Ticket *t, const TicketWorkKind *kind);  // the same, and it is the caller's
void ticket_drop_work(Ticket *t, const TicketWorkKind *kind);         // frees it, if there is one
// What it asks for has begun, before anything of it is in the log.
void ticket_is_under_way(Ticket *t);
// Of one that waits: how much remains, or is done. Whether it was told another figure last, or none; it is
// told this one now.
bool ticket_report(Ticket *t, uint64_t figure);
// Whether the receiver has yet to take earlier responses: of answers that are made in parts, no more is made
// until then. leader_on_host_drained() marks the leader when it has. Clients of this host take answers at
// once.
bool ticket_taker_is_full(const Ticket *t);
// It waits for a turn of its author: in Leader.queue, .dry_runs or .verifies, and always in the same of
// these. 0 or -ENOMEM.
int ticket_wait(Ticket *t, AuthorTurns *turns) _warn_unused_;
// It has its first turn of several, and keeps what it knows or is going to say until the last
// (author_turn_begins()). Once is enough.
void ticket_begins(Ticket *t);
bool ticket_may_begin(const Ticket *t);
// Nothing of its author is planned for it any more.
void ticket_leave_queue(Ticket *t);
// The request waits for another turn of its author: behind the author's other requests, or before them.
void ticket_wait_again(Ticket *t, bool first);
// It waits in that list, which is no queue of authors, until it leaves the queue or waits again.
void ticket_wait_in(Ticket *t, ListNode *list);
// It waits at the end of that list until it leaves it, or nobody works on it any more.
void ticket_join(Ticket *t, TicketList which, ListNode *list);
void ticket_leave(Ticket *t, TicketList which);
Ticket *ticket_in(const ListNode *member, TicketList which); // the ticket of a member of Ticket.in
// The job that answers for it, once the log has a part of that.
void ticket_set_job(Ticket *t, uint64_t job);
// Its next entry calls off what has not begun of these jobs, which stay the caller's.
void ticket_calls_off(Ticket *t, const uint64_t *jobs, size_t n);
// The entry at hand has it, or a part of it: this is said when the log has that, in place of what was to be
// said before; it is taken. PLAN_IN_BATCH; or -ENOMEM, for NULL.
int ticket_prepare(Ticket *t, Argosy__Response *response);
Argosy__Response *ticket_take_prepared(Ticket *t);
// What is done then, before that is said; NULL: nothing. `again`: afterwards it waits for its next entry.
void ticket_when_committed(Ticket *t, TicketCommitted committed, bool again);
void ticket_on_committed(Ticket *t); // the log has it
void ticket_is_repeated(Ticket *t);  // the log has it from before
void ticket_stop_answering(Ticket *t); // the client is gone
// One more response, which is taken; NULL stands for out of memory, and ends the ticket. It goes out in
// tickets_flush(): who is told may cancel any ticket, and nobody who walks over tickets has to mind that.
void ticket_send(Ticket *t, Argosy__Response *response);
// What is said until now is all: the last one will be final. Nobody works on the ticket any more.
void ticket_end(Ticket *t);
int ticket_settle(Ticket *t, Argosy__Response *response); // both; PLAN_SETTLED
// The same with an error: a positive errno, and the reason.
int ticket_refuse(Ticket *t, int status, const char *format, ...) _printf_(3, 4);
// Besides the outbox: of what is only shown, which needs no authority. The ticket, and any other, may be
// gone afterwards.
void ticket_send_now(Ticket *t, Argosy__Response *response, bool final);
// What is still to be said is not said; this is.
void ticket_fail(Ticket *t, Argosy__Response *response);
void tickets_flush(Leader *l); // once per turn
