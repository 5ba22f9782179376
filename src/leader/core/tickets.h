// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Requests from their arrival to their final response.

#include "event-cursor.h"
#include "leader-core.h"

typedef struct Waiter Waiter;
typedef struct ChangeParts ChangeParts;
typedef struct LogParts LogParts;
typedef struct PlanTurns PlanTurns;
typedef struct Listing Listing;
typedef struct JobShow JobShow;
typedef struct UndoWork UndoWork;
typedef struct CancelWork CancelWork;
typedef struct QueueLook QueueLook;
typedef struct ImagePinning ImagePinning;
typedef struct ImagePulls ImagePulls;

// What is said by who plans what a ticket asks for (Handler.plan and decide), and by each step on the way there; or it is a
// negative errno, -EBUSY for the next batch.
enum {
        PLAN_SETTLED = 0,  // the ticket was answered, or it waits on: for a later turn, or for somebody else
        PLAN_IN_BATCH = 1, // what it asks for, or a part of that
        STEP_PASSED = 1,   // of a step that is not the last: the next one may follow
};
enum { CHECK_REFUSED = 1 }; // of a check that is 0 otherwise, or a negative errno: the ticket was answered

// How far a Why is with a unit that runs on all nodes.
typedef struct WhyPlace {
        bool begun;    // it was told what is said of the unit itself
        bool any;      // something of a node
        uint32_t host; // the last that was looked at; 0: none yet
} WhyPlace;

// Lists in which a pending request waits, one per part of the leader that works on it.
typedef enum TicketList {
        TICKET_WAIT,      // Leader.drains, .manager_waiters or .removals, OpenJob.tickets, HeldJob.tickets
        TICKET_ROLLOUT,   // Leader.rollout_waiters
        TICKET_REBALANCE, // Leader.rebalance_waiters, once it is under way
        TICKET_TURN,      // Leader.asking, .node_lists or .job_shows
        TICKET_WHY,       // Leader.whys_due
        TICKET_LISTS
} TicketList;

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
        ListNode queue;           // in Leader.queue, .dry_runs or .verifies, or .flying while its batch is on the way
        AuthorTurn *turn;         // of its author, in the former three, once it has waited there
        bool orphaned;  // its client was gone before anything of it was in the log
        AuthorBegun begun; // ticket_begins()
        bool again;     // back into the queue when the batch is committed
        bool made;      // the log has what it asked for
        bool told;      // what is said of its Change, or the part at hand, is what the record of its job says
        ListNode outbox; // in Leader.outbox while there is something to be said at the end of the turn
        ListNode responses; // that, in its order (tickets.c)
        bool ended;      // nothing comes after that
        Argosy__Response *response;              // what will be said when the batch is committed
        TicketCommitted committed;               // finishes `response`; NULL: nothing to add
        Waiter *waiter;
        Listing *listing; // of a list that is made in turns; NULL: none
        JobShow *show;    // of a question about one job that takes long; NULL: it does not
        Watcher *watcher; // of a question for events; NULL: it is none
        ChangeParts *parts; // of a Change that goes into the log in parts; NULL: it does not
        LogParts *log_parts; // of what goes into the log in parts, once it is begun: a Change, an Apply, an Undo or a JobCancel
        UndoWork *undo;     // of an Undo, once it is begun
        CancelWork *cancel; // of a JobCancel, once it is begun
        char *rolls;        // of an Undo or an Apply: name of the rollout that it begins; owned; NULL: it begins none
        const uint64_t *cancels; // jobs that are running, of which its next entry calls off what has not begun
        size_t n_cancels;
        size_t n_kept;      // units that these have changed in the log
        struct {
                uint64_t revision;    // of the state against which it is asked; 0: it was not looked at yet
                uint64_t if_revision; // that it is bound to; 0: to none
                size_t n_looks;       // at jobs, to find out who has changed what
        } asked; // of what goes into the log in parts (changed-since.h)
        struct {
                size_t at, end; // revs that were looked at; and with the entry that is on its way
                size_t n_now;   // contents that units have
        } forget; // of a Forget
        PlanTurns *plan;    // of a Change that is only asked about, over many turns; NULL: none has begun
        EventCursor before;  // where the stream was when the first entry of what it asked for went to the log
        bool has_before;     // else it has put nothing there
        uint64_t job;        // number of its job, once the log has a part of it; 0: it has none
        uint64_t job_flying; // that of the entry that is on its way
        const char *job_failed; // with this entry that job fails, why: constant; NULL: it does not
        struct HeldJob *held; // the held job whose request it is; NULL: of a client
        QueueLook *look;      // what the rules of the queue say of it, if that takes more than a turn; NULL: it does not
        struct {
                uint32_t *nodes; // of an update: those that could not pull its image; owned by `pulls`
                size_t n;
                const char *why; // the words of the last of them
        } without;
        ImagePulls *pulls;    // likewise, of an update whose hosts are asked to have its image; NULL: they are not
        ImagePinning *images; // of what brings containers, while they get their digests, and then; NULL: it does not
        uint32_t limited_by;  // number of the rule that its job counts for; 0: none
        uint64_t content;    // job_request_content()
        bool has_content;
        struct AuthorQuestions *questions; // the author's counter; NULL: nodes are not asked
        const struct NodeQuestion *question; // the row of its kind, if nodes are asked
        ListNode calls;   // NodeCall.by_ticket
        ListNode marks;   // of lines of journals, that were not taken yet
        uint64_t last_mark;
        uint32_t window; // of each call of a journal; 0: there is none
        size_t n_calls;
        uint32_t n_could_be_asked; // of a Verify: nodes
        uint32_t n_readings; // parts of those of a Top, or of a Verify, that were passed on
        ListNode in[TICKET_LISTS];
        size_t n_asked;      // units of a Status about which nodes were asked, or that were answered; of a Why that were told
        bool asks_hosts;     // one after the other
        uint32_t asked_host; // the last of these, or that was listed; 0: none yet
        size_t n_said;       // of a Status: nodes of which something is said of the unit that is at hand
        struct {
                uint32_t n_told; // reasons
                size_t bytes;    // of these
                WhyPlace at;     // in the unit that is at hand
        } why;               // of a Why that is answered in turns
        uint64_t asked_us;   // when it arrived, by our clock
        uint32_t removing;   // host number, for ClusterRemove
        bool removal_begun;  // its record says that it is to be no voter
        uint64_t removal_until_us; // what was told to stop there has certainly ended then, since the host was lost; 0: it says so
        bool removal_empties; // its nodes are in maintenance, or about to be, and what runs there is waited for
        Argosy__Response__Removal *readable; // the secrets that it could read; NULL: not looked at yet
        uint32_t drain_left; // of a drain or a job, as it was told last
        uint32_t rollout_left; // likewise, of a rollout or a rebalance
        size_t n_reported;   // of its moves
        Hash pin;            // of a joining host
        Hash secret_hash;    // of its token
        Buf cert;            // of a joining host
};

// Whether the log has a part of what it asks for and waits for more: if there is none, an entry has to say so.
bool ticket_has_open_job(const Ticket *t);
// Whether the log has all of it, by its key.
bool ticket_was_carried_out(const Ticket *t);
Ticket *ticket_new(Leader *l, const Argosy__Request *request, LeaderRespond respond, void *userdata);
// The same of a request that is the ticket's from now on, also if there is no ticket; NULL: out of memory.
Ticket *ticket_take(Leader *l, Argosy__Request *request, LeaderRespond respond, void *userdata);
// The same of a request that stays the asker's (leader_request_lent()).
Ticket *ticket_borrow(Leader *l, const Argosy__Request *request, LeaderRespond respond, void *userdata);
void ticket_free(Ticket *t);
// Whether the receiver has yet to take earlier responses: of answers that are made in parts, no more is made
// until then. leader_on_host_drained() marks the leader when it has. Clients of this host take answers at
// once.
bool ticket_taker_is_full(const Ticket *t);
// It waits for a turn of its author: in Leader.queue, .dry_runs or .verifies, and always in the same of these. 0 or -ENOMEM.
int ticket_wait(Ticket *t, AuthorTurns *turns) _warn_unused_;
// It has its first turn of several, and keeps what it knows or is going to say until the last (author_turn_begins()). Once is enough.
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
void ticket_settle(Ticket *t, Argosy__Response *response); // both
// Besides the outbox: of what is only shown, which needs no authority. The ticket, and any other, may be gone afterwards.
void ticket_send_now(Ticket *t, Argosy__Response *response, bool final);
// What is still to be said is not said; this is.
void ticket_fail(Ticket *t, Argosy__Response *response);
void tickets_flush(Leader *l); // once per turn
