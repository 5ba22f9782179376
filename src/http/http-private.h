// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the loop and the thread of an HttpApi share, and how a call goes to and fro. Private to src/http.
//
// thread        who has a call        fields that it uses
// HTTP thread   from its first line   all but `data`
// loop          posted -> answered    all but `connection`'s own state: that is suspended, so it does not go away
// HTTP thread   answered -> completed
//
// One that streams events goes to and fro: it is posted again when its client has read what there was, and answered when there is more.
// So nothing is ever queued for a client, and who is slow costs nothing. Of a journal the loop has a part that it keeps meanwhile
// (http-api-journal.h).
//
// Handing over is a mutex each time (ours on the way to the loop, libmicrohttpd's on the way back), so nobody sees half of
// one. The thread never calls the loop's functions, the loop of libmicrohttpd's only those that resume a connection and that end all.

#include <microhttpd.h>
#include <pthread.h>

#include "accounts.h"
#include "answers-memo.h"
#include "author-names.h"
#include "buf.h"
#include "events-memo.h"
#include "author.h"
#include "fleet-call.h"
#include "hash.h"
#include "deadline-heap.h"
#include "http-api-alike.h"
#include "http-api-journal.h"
#include "http-api-state.h"
#include "http-api.h"
#include "http-body.h"
#include "http-bulk.h"
#include "http-events.h"
#include "http-gate.h"
#include "http-limits.h"
#include "http-listen.h"
#include "http-pace.h"
#include "http-peer.h"
#include "http-target.h"
#include "job-changes.h"
#include "job-retry.h"
#include "list.h"
#include "unit-name.h"

typedef struct HttpThread HttpThread;

typedef enum HttpStage {
        HTTP_CALL_NEW,     // its first line has come
        HTTP_CALL_JUDGED,  // they have; before its body comes the leader is asked about its token
        HTTP_CALL_READ,    // and its headers, and its body is coming, if it has one
        HTTP_CALL_DROPS,   // its body is coming, and nobody wants it
        HTTP_CALL_READY,   // it has come whole, and is posted in the next turn
        HTTP_CALL_ASKED,   // it was posted
        HTTP_CALL_REFUSED, // it is answered without
} HttpStage;

// What the loop asks for a call, one after the other: most calls are the first of them alone (http-api-steps.c).
typedef enum HttpStep {
        HTTP_STEP_ASK,    // what it is about
        HTTP_STEP_TOKEN,  // before its body has come: whether there is such a token
        HTTP_STEP_ASIDE,  // before that: what stands behind the rows
        HTTP_STEP_WAIT,   // behind it: until the job has ended
        HTTP_STEP_JOB,    // what became of it
        HTTP_STEP_CHANGES, // what jobs have changed, a page of them after the other
        HTTP_STEP_RETRY,  // before it is asked for again: what became of a job's units
        HTTP_STEP_EVENTS, // what is newer than the cursor, again and again
} HttpStep;

struct HttpCall {
        HttpApi *api;
        HttpThread *thread; // by which it came
        ListNode link; // in HttpApi.arrived, or `asked`
        struct MHD_Connection *connection;
        HttpPeer *peer; // the thread's; its names are the loop's to read
        HttpStage stage;
        char *text; // its target, as it came
        HttpMethod method;
        HttpTarget target;
        bool lines;           // its body has an operation on each
        bool keyed;           // asked again it is done once
        Buf upload;           // its body, so far
        size_t upload_length; // that it is to have
        unsigned drop_status; // HTTP_CALL_DROPS: what is answered behind it
        const char *drop_why; // borrowed for as long as the call lives
        AuthorQuestion question;
        HttpPass pass;      // of one who came over TCP
        Principal from;     // who asks, until it is known whose token that is
        bool secure;        // TLS is spoken with whoever asks, also in front of a proxy
        Account *user;      // whose bytes are counted; NULL: not known yet
        size_t held;        // bytes that are counted there
        size_t body_bytes;  // of these, of its body, until what was made of it is gone
        uint64_t announced; // bytes of its body, before it is read
        bool proves;        // its question needs a right, so that an answer says that whoever asks is known
        bool is_known;      // there was one
        // what is asked
        Argosy__Request *request; // of what changes something: made by the thread
        Argosy__Author *author;   // of a call that asks more than once
        void *route;              // of what is asked now; NULL: nothing is, or it has no more answers
        HttpStep step;
        HttpStateCall state;
        HttpJournalCall journal;
        HttpAlikeCall alike; // of a stream of events
        FleetCall *fleet; // it is one of fleet's API (http-api-fleet.c); NULL: of ours
        char fleet_method[8];
        HttpBulk *bulk;   // it has many operations (http-api-bulk.c); NULL: one
        size_t bulk_step; // that is asked for, or whose job is waited for
        Deadline
                deadline; // by the loop's clock: a wait that is long enough, a question that is due, a stream that is silent
        uint64_t pull_from_us; // of a stream: not to be asked before
        // of a stream
        bool streams; // its answer has begun
        bool over;    // and so has its end
        bool knows_nobody; // its client was told last that nobody leads
        bool comment; // it was silent for so long that its client is to be told that we are there, or we that he is not
        HttpStreamFormat format;
        Buf out; // text that is being read
        TextChunk *shared; // or this one, that others read, too; NULL: `out`
        size_t out_at;
        char cursor[EVENT_CURSOR_SIZE]; // behind that
        // the answer
        int status;                  // 0, or a positive errno
        char *message, *unit, *node; // unit, node: what a problem is about
        unsigned line;               // of the unit's file; 0: none
        uint64_t job;                // that the request has become; 0: none
        bool under_way;              // it is not done yet
        char *tag;                   // of a list; NULL: it has none
        bool unchanged;              // and his client has it
        size_t n_refused;            // of the rows
        int refusal;                 // status of the first of these
        HttpPart *parts;
        size_t n_parts, n_rows, n_bytes;
        HttpPart *asides; // what stands in the document behind the rows (http-api-pieces.c)
        size_t n_asides, aside_bytes;
        bool no_leader; // said so
        JobChanges *changes; // of HTTP_STEP_CHANGES; NULL: nothing was asked yet
        size_t changes_bytes; // that count for them
        JobRetry *retry;     // of HTTP_STEP_RETRY; NULL: the same
        UnitThen then;       // of a unit file as it was
        bool then_is_now;    // and has been since
        size_t part; // of a stream: the next that is written
};

// A socket on which is listened. Each has a thread of its own, so that handshakes of strangers delay nobody on the unix socket.
typedef struct HttpDoor {
        HttpApi *api;
        int fd;
        bool tcp, tls;
        bool fleet; // fleet's API is spoken there; with TLS, clients show a certificate in place of a token
        uv_poll_t first; // somebody connects: there is to be a thread
        HttpThread *thread;
} HttpDoor;

// A unit that was stopped, and whose client has not looked at it since.
typedef struct HttpFleetStop {
        char name[UNIT_NAME_MAX + 1];
        uint64_t until_us;
} HttpFleetStop;

// Where a page of a list of fleet's ended: the next one begins there, for whoever has read this one. Who sees less than that has
// other pages.
typedef struct HttpFleetPage {
        Hash who;
        FleetResource resource;
        uint16_t next;
        FleetPlace behind;
        uint64_t until_us;
} HttpFleetPage;

struct HttpApi {
        const HttpApiOps *ops;
        void *userdata;
        Accounts *accounts;
        AuthorNames *names;
        uv_async_t async; // calls have arrived, or somebody is waited for who may be late
        HttpStates states;
        HttpDoor *doors[2 + 2 * HTTP_LISTENERS_MAX];
        size_t n_doors;
        HttpPace pace;
        HttpGate gate;
        HttpFleetStop fleet_stops[64];
        size_t n_fleet_stops; // ever
        HttpFleetPage fleet_pages[16];
        size_t n_fleet_pages; // ever
        uv_timer_t late; // looks at who is
        ListNode asked;         // calls that the loop has
        ListNode journals;      // HttpJournalCall.link, whoever has them
        Map alike;              // HttpAlike
        uv_timer_t timer;       // for the first of
        DeadlineHeap deadlines; // HttpCall.deadline
        TimeHistogram lag;      // from when a call has arrived until the loop took it
        bool ending, finished;  // finished: the thread is to be gone, or has
        int closing; // handles that are still open
        void (*closed)(void *userdata);
        void *closed_data;

        pthread_mutex_t lock; // of what follows
        ListNode arrived;     // one of each connection at most
        bool ended;           // nobody takes calls any more
        uint64_t arrived_us;  // when the first of these did; 0: there is none
        size_t n_calls;         // whose answers were not sent yet
        uint64_t n_begun;       // and those that were
        HttpPresent present;
        bool sessions_ended; // of browsers: who listens with one is to go
};

// ---- by the thread: http-api.c

// A request has come, and its answer was sent or will not be: who ends waits for that.
void http_api_call_begins(HttpApi *a);
void http_api_call_ends(HttpApi *a);
// The call is the loop's from here on, or (false) nobody takes it any more.
bool http_api_post(HttpCall *call);
// Who asks is known: from here on bytes may be held for him. False: out of memory.
bool http_call_enter(HttpCall *call);
void http_call_leave(HttpCall *call);
// Whether so many bytes more may be kept for an answer; then they count until they are released.
bool http_api_hold(HttpCall *call, size_t bytes);
// They are gone.
void http_api_release(HttpCall *call, size_t bytes);
// The same of its body, of which this keeps the count: until it is released by whoever has what was made of it.
bool http_api_hold_body(HttpCall *call, size_t bytes);
void http_api_release_body(HttpCall *call);
// By the loop: the cluster has answered it, so there is such a token, and what the call has is put down to it.
void http_call_note_known(HttpCall *call);
// Somebody has logged out, or a session has given way to another one.
void http_api_on_logout(HttpApi *a);

// ---- by the thread: http-thread.c

// What its streams were told of, each event and all together; NULL: out of memory, and there is more to do.
EventsMemo *http_thread_memo(HttpThread *t);
AnswersMemo *http_thread_answers(HttpThread *t);

// ---- by the thread: http-thread-answer.c

// It was refused, and perhaps because of its token.
void http_thread_note_refusal(HttpCall *call);
// What it asked for, or why not.
enum MHD_Result http_thread_send_answer(HttpCall *call);
// methods: what may be done instead; NULL: nothing is said of that. last: the connection ends.
enum MHD_Result http_thread_send_problem(struct MHD_Connection *connection, const HttpProblem *problem,
                                         const char *methods, bool last);
enum MHD_Result http_thread_send_logout(HttpCall *call);

// ---- by the thread: http-thread-stream.c

// As the header Accept wants it; NULL: it has no wishes.
void http_thread_choose_stream(HttpCall *call, const char *accept);
// The answer that goes on for as long as there is something. NULL: out of memory.
struct MHD_Response *http_thread_begin_stream(HttpCall *call);

// ---- by the thread, and by the loop if it has one that the thread has no more: http-thread.c

void http_call_free(HttpCall *call);

// ---- by the loop: http-api-steps.c

// Asks for what the call is about, as that author.
void http_steps_begin(HttpCall *call, const Argosy__Author *author);
// The last response of what was asked has come, without an error, and what is to be kept of it is. True: something else was asked.
bool http_steps_next(HttpCall *call, const Argosy__Response *last);
// What is said to HTTP_STEP_TOKEN.
void http_steps_respond_token(HttpCall *call, const Argosy__Response *response);
// False: the session with which somebody listens has ended, and so has the call.
bool http_steps_lets(HttpCall *call);
// The client of a stream has read what there was.
void http_steps_go_on(HttpCall *call);
// What was asked for failed. True: it is asked for again, later.
bool http_steps_again(HttpCall *call, int status);
// Of the last response nothing is to be said: the call goes on with what it is about, or asks for the next page of what it reads.
void http_steps_ask(HttpCall *call);
void http_steps_read_on(HttpCall *call);

// ---- by the loop: http-api-pieces.c

// It is answered by several who do not know of each other, or goes behind the rows.
bool http_pieces_are_asked(const HttpCall *call);
void http_pieces_respond(HttpCall *call, const Argosy__Response *response);
// Also by the thread, when the call is its own.
void http_pieces_drop(HttpCall *call);

// ---- by the loop: http-api-retry.c

// It asks for units of a job again. HTTP_STEP_RETRY: its next question; NULL: out of memory.
bool http_retry_is_asked(const HttpCall *call);
Argosy__Request *http_retry_request(HttpCall *call);
void http_retry_respond(HttpCall *call, const Argosy__Response *response);
// Also by the thread, when the call is its own.
void http_retry_drop(HttpCall *call);

// ---- by the loop: http-api-changes.c

// HTTP_STEP_CHANGES. Its next question; NULL: out of memory.
Argosy__Request *http_changes_request(HttpCall *call);
void http_changes_respond(HttpCall *call, const Argosy__Response *response);
// By the thread: the document, to be freed, in place of what was read. 0; -EBUSY, -E2BIG: there is no room for it; -ENOMEM.
int http_changes_document(HttpCall *call, char **ret);
void http_changes_drop(HttpCall *call);

// ---- by the loop: http-api-past.c

// What there is of it now has come: the call's parts.
void http_past_on_now(HttpCall *call, const Argosy__Response *last);
// And what jobs have changed since.
void http_past_on_changes(HttpCall *call);
// For its file; NULL: out of memory.
Argosy__Request *http_past_request(const HttpCall *call);
// What is said to it: 0, or -EAGAIN if that is not what it was then.
int http_past_judge(const HttpCall *call, const Argosy__Response *text);

// ---- by the loop: http-api-steps.c

// Nothing more is to be asked.
void http_steps_end(HttpCall *call);
void http_steps_on_timer(uv_timer_t *timer);
uint64_t http_steps_now_us(const HttpApi *a); // by the loop's clock
int http_steps_arm(HttpCall *call, uint64_t at_us); // its deadline, by that. 0 or -ENOMEM

// For http-api-bulk.c; NULL: out of memory.
Argosy__Request *http_steps_ask_for_end(uint64_t job);
// From now on, for so long as the client wants. False: out of memory, and the call has failed.
bool http_steps_wait_for(HttpCall *call);

// ---- of fleet's API: http-api-fleet.c

// By the thread. Its target, when its method is known; 0, or the status with which it is refused.
unsigned http_fleet_parse(HttpCall *call, const char **ret_why);
// Its body, as it has come, and a NUL behind that.
unsigned http_fleet_read(HttpCall *call, char **ret_why);
// The type that its body must have; NULL: any.
const char *http_fleet_type(const HttpCall *call);
enum MHD_Result http_fleet_send(HttpCall *call);
enum MHD_Result http_fleet_refuse(HttpCall *call, unsigned status, const char *why, bool last);
// By the loop.
void http_fleet_begin(HttpCall *call, const Argosy__Author *author);
void http_fleet_on_due(HttpCall *call); // it has waited for long enough
void http_fleet_respond(HttpCall *call, const Argosy__Response *response);

// ---- by the loop: http-api-bulk.c

void http_bulk_begin(HttpCall *call);
// What http_call_respond() and http_call_fail() say. The call may be gone afterwards.
void http_bulk_respond(HttpCall *call, const Argosy__Response *response);
void http_bulk_fail(HttpCall *call, int status, const char *message);

// ---- by the loop: http-api.c

void http_call_drop_parts(HttpCall *call);
// A response as the thread gets it, and so long its bytes count. 0; -EBUSY: too much waits to be read, -E2BIG: this answer alone is too
// much of it, or -ENOMEM.
int http_part_pack(HttpCall *call, const Argosy__Response *response, HttpPart *ret);
// In words, what that has returned. Borrowed.
const char *http_why_not_kept(int status);
// It is answered.
void http_call_give_back(HttpCall *call);
// What has to end before it has ended.
void http_api_on_ended(HttpApi *a);

// ---- by the loop: http-thread.c

// On the door's socket, of which it uses a copy. 0 or negative errno.
int http_thread_start(HttpDoor *door, HttpThread **ret);
// The call was answered: it is the thread's again.
void http_thread_take_back(HttpCall *call);
// All calls were taken back. Returns when the thread has ended.
void http_thread_stop(HttpThread *t);
