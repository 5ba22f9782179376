// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// One request of one client: what is common to all of them, and rows of functions for what is not. Private
// to src/http.
//
// thread        who has a call        fields that it uses
// HTTP thread   from its first line   all but those that say that they are the loop's
// loop          posted -> answered    all but `connection`'s own state: that is suspended, so it stays
// HTTP thread   answered -> completed
//
// A call of a stream goes to and fro: it is posted again when its client has read what there was, and
// answered when there is more. So nothing is ever queued for a client, and a slow client costs nothing. Of a
// journal the loop has a part that it keeps meanwhile (HttpJournalCall).
//
// Handing over is a mutex each time (ours on the way to the loop, libmicrohttpd's on the way back), so
// nobody sees half of one. The thread calls no function that is the loop's, and the loop calls of
// libmicrohttpd only what resumes a connection and what ends all.

#include <microhttpd.h>
#include <pthread.h>
#include <uv.h>

#include "accounts.h"
#include "answers-memo.h"
#include "author-names.h"
#include "author.h"
#include "buf.h"
#include "deadline-heap.h"
#include "event-cursor.h"
#include "events-memo.h"
#include "fleet-call.h"
#include "hash.h"
#include "http-api.h"
#include "http-auth.h"
#include "http-body.h"
#include "http-bulk.h"
#include "http-limits.h"
#include "http-pace.h"
#include "http-peer.h"
#include "http-problem.h"
#include "http-stream-format.h"
#include "http-target.h"
#include "http-version.h"
#include "job-changes.h"
#include "job-retry.h"
#include "list.h"
#include "map.h"
#include "unit-name.h"

typedef struct HttpStep HttpStep;
typedef struct HttpWork HttpWork;
typedef struct HttpState HttpState; // work-state.c
typedef struct HttpAlike HttpAlike; // work-alike.c

typedef enum HttpStage {
        HTTP_CALL_NEW,     // its first line has come
        HTTP_CALL_JUDGED,  // its headers have; before its body comes the leader is asked about its token
        HTTP_CALL_READ,    // and its body is coming, if it has one
        HTTP_CALL_DROPS,   // its body is coming, and nobody wants it
        HTTP_CALL_READY,   // it has come whole, and is posted in the next turn
        HTTP_CALL_ASKED,   // it was posted
        HTTP_CALL_REFUSED, // it is answered without
} HttpStage;

// What is done for one kind of call. NULL: nothing.
struct HttpWork {
        // Called by the loop.
        void (*begin)(HttpCall *call, const Argosy__Author *author); // it is known who asks, and that it may
        void (*go_on)(HttpCall *call);                               // its client has read what there was
        // True: the call goes on, or was answered.
        bool (*fail)(HttpCall *call, int status, const char *message);
        bool (*may_be_done)(const HttpCall *call); // what changes something was asked for, and not answered
        void (*leave)(HttpCall *call);             // it is given back
        // Called by the thread.
        enum MHD_Result (*send)(HttpCall *call); // its answer, also if it has failed
        // Called when the call is freed.
        void (*done)(HttpCall *call);
        // The loop has something of it also while the thread has it, until it was posted for the last time.
        bool is_kept;
};

// One question that is asked for a call. By the loop.
struct HttpStep {
        Argosy__Request *(*request)(HttpCall *call); // NULL: out of memory; or the work asks by itself
        void (*respond)(HttpCall *call, const Argosy__Response *response);
        void (*on_due)(HttpCall *call); // its deadline is over
        bool is_repeated;               // it may ask more than once
};

enum { HTTP_STEPS_MAX = 4 };

// State of a call that is answered with rows, or that asks for a change (work-rows.c). The loop's until the
// call is answered.
typedef struct HttpRowsCall {
        size_t n_rows, n_refused; // of these
        int refusal;              // status of the first that was refused
        char *unit, *node;        // what a problem is about
        unsigned line;            // of the unit's file; 0: none
        uint64_t job;             // that the request has become; 0: none
        bool waited, under_way;   // for that job; and it is not done yet
        char *tag;                // of a list; NULL: it has none
        bool unchanged;           // and its client has it
        bool no_leader;           // said so
        HttpPart *asides;         // what stands in the document behind the rows
        size_t n_asides, aside_bytes;
        JobChanges *changes;  // what jobs have changed; NULL: nothing was asked yet
        size_t changes_bytes; // that count for them
        JobRetry *retry;      // what became of a job's units; NULL: the same
        UnitThen then;        // of a unit file as it was
        bool then_is_now;     // and has been since
} HttpRowsCall;

// State of a call with a body of many operations (work-bulk.c).
typedef struct HttpBulkCall {
        HttpBulk *body;
        size_t step; // that is asked for, or whose job is waited for
        bool waits;
} HttpBulkCall;

// State of a stream, as the thread writes it (work-stream.c).
typedef struct HttpStreamCall {
        bool begun; // its answer has
        bool over;  // and so has its end
        // It was silent for so long that its client is to be told that we are there, or we that it is not.
        bool comment;
        HttpStreamFormat format;
        Buf out;                        // text that is being read
        TextChunk *shared;              // or this one, that others read, too; NULL: `out`
        size_t out_at, part;            // the next that is read, and that is written
        char cursor[EVENT_CURSOR_SIZE]; // the stream goes on after this event
} HttpStreamCall;

// State of a stream of events. The loop's.
typedef struct HttpEventsCall {
        uint64_t pull_from_us; // not to be asked before
        bool knows_nobody;     // its client was told last that nobody leads
        HttpAlike *of;         // it waits with these; NULL: for nothing, or alone
        ListNode link;         // of those that have not asked
        Buf wanted;            // what it has in common with others, but for the cursor
} HttpEventsCall;

// State of a journal's stream. The loop's, also while the thread has the call: what comes meanwhile is kept
// here.
typedef struct HttpJournalCall {
        ListNode link;      // in HttpApi.journals
        bool away;          // the thread has the call
        bool began;         // its answer has, or can
        bool lost;          // and its client was told why nothing comes at present
        bool ended;         // nothing more comes
        int status;         // why, or why nothing has come; positive errno value
        char *message;      // and in words
        uint64_t again_us;  // by the loop's clock: it is asked for again; 0: it is not
        uint64_t silent_us; // and so long nothing need be said
        HttpPart *parts;    // that the thread has not got yet
        size_t n_parts, n_bytes;
} HttpJournalCall;

// State of a call for the state document. The thread fills in the condition before it posts the call, and
// reads the last three when it has the call back.
typedef struct HttpStateCall {
        char *condition; // If-None-Match; NULL: none
        HttpState *of;   // it waits for this one
        ListNode waiting;
        EventCursor wanted; // this or a newer one
        HttpVersion *version;
        bool unchanged;       // `wanted` is what its client has
        uint64_t sees_all_by; // HttpPeer
} HttpStateCall;

// State of a call of fleet's API (work-fleet.c).
typedef struct HttpFleetCall {
        FleetCall *call;
        char method[8];
} HttpFleetCall;

// What streams of one thread were told of, each event and all together; NULL: nothing yet.
typedef struct HttpMemos {
        EventsMemo *events;
        AnswersMemo *answers;
} HttpMemos;

struct HttpCall {
        HttpApi *api;
        HttpMemos *memos; // of the thread by which it came
        ListNode link;    // in HttpApi.arrived, or `asked`
        struct MHD_Connection *connection;
        HttpPeer *peer; // the thread's; its names are the loop's to read
        HttpStage stage;
        char *text; // its target, as it came
        HttpMethod method;
        HttpTarget target;
        const HttpWork *work; // NULL: it is not known yet what is asked for
        bool lines;           // its body has an operation on each
        bool keyed;           // asked again it is done once
        Buf upload;           // its body, so far
        size_t upload_length; // that it is to have
        unsigned drop_status; // HTTP_CALL_DROPS: what is answered behind it
        const char *drop_why; // borrowed for as long as the call lives
        AuthorQuestion question;
        HttpPrincipal principal; // of one who came over TCP
        Principal from;          // the peer, until the token's owner is known
        bool secure;             // the client speaks TLS, perhaps to a proxy in front
        Account *user;           // the account of its bytes; NULL: not known yet
        size_t held;             // bytes that are counted there
        size_t body_bytes;       // of these, of its body, until what was made of it is gone
        uint64_t announced;      // bytes of its body, before it is read
        bool proves;   // its question needs a right, so an answer means that the client is known
        bool is_known; // there was one
        bool gone;     // the thread has it no more, and nobody else: it is to be freed
        // what is asked; the loop's
        Argosy__Request *request; // of what changes something: made by the thread
        Argosy__Author *author;   // of a call that asks more than once
        void *route;              // of what is asked now; NULL: nothing is, or it has no more answers
        const HttpStep *step;     // of which that is; NULL: nothing was asked yet
        const HttpStep *steps[HTTP_STEPS_MAX]; // one after the other; NULL: the end
        size_t n_steps;                        // that were begun
        Deadline
                // by the loop's clock: a wait that is long enough, a question that is due, a stream
                // that is silent
                deadline;
        // the answer
        int status; // 0, or a positive errno
        char *message;
        HttpPart *parts;
        size_t n_parts, n_bytes;
        // of its kind
        HttpRowsCall rows;
        HttpBulkCall bulk;
        HttpFleetCall fleet;
        HttpStreamCall stream;
        union {
                HttpEventsCall events;
                HttpJournalCall journal;
                HttpStateCall state;
        };
};

// A unit that was stopped, and whose client has not looked at it since.
typedef struct HttpFleetStop {
        char name[UNIT_NAME_MAX + 1];
        uint64_t until_us;
} HttpFleetStop;

// Where a page of a list of fleet's ended: the next one begins there, for clients that have read this one. A
// client that may see less has other pages.
typedef struct HttpFleetPage {
        Hash who;
        FleetResource resource;
        uint16_t next;
        FleetPlace behind;
        uint64_t until_us;
} HttpFleetPage;

// What fleet's clients were told. The loop's.
typedef struct HttpFleetMemory {
        HttpFleetStop stops[64];
        size_t n_stops; // ever
        HttpFleetPage pages[16];
        size_t n_pages; // ever
} HttpFleetMemory;

// State documents. The loop's.
typedef struct HttpStates {
        HttpState *shared; // NULL: nobody has asked for a while
        size_t n;          // all of them, also those that a worker has yet
        uv_timer_t idle;   // from when nobody waits for the shared one any more
        // Bytes of the shared copy, of answers that wait to be taken into it, and of documents until the
        // last client has read them; workers and the thread count, too. Those of others are in their
        // accounts (account_counted()).
        _Atomic size_t held;
} HttpStates;

// Where the stream of events is now.
typedef struct HttpPresent {
        bool known;
        EventCursor cursor;
        uint64_t access_revision, until_us;
} HttpPresent;

struct HttpApi {
        const HttpApiOps *ops;
        void *userdata;
        Accounts *accounts;
        AuthorNames *names;
        uv_async_t async; // calls have arrived, or somebody is waited for who may be late
        HttpStates states;
        struct HttpListener *listeners[2 + 2 * HTTP_LISTENERS_MAX];
        size_t n_listeners;
        HttpPace pace;
        HttpAuth auth;
        HttpFleetMemory fleet;
        uv_timer_t late;        // looks at who is
        ListNode asked;         // calls that the loop has
        ListNode journals;      // HttpJournalCall.link
        Map alike;              // HttpAlike
        uv_timer_t timer;       // for the first of
        DeadlineHeap deadlines; // HttpCall.deadline
        TimeHistogram lag;      // from when a call has arrived until the loop took it
        bool ending, finished;  // finished: the thread is to be gone, or has
        int closing;            // handles that are still open
        void (*closed)(void *userdata);
        void *closed_data;
        void (*on_ended)(HttpApi *a); // something has that has to before it is gone

        pthread_mutex_t lock; // of what follows
        ListNode arrived;     // one of each connection at most
        bool ended;           // no calls are taken any more
        uint64_t arrived_us;  // when the first of these did; 0: there is none
        size_t n_calls;       // calls whose answers were not sent yet
        uint64_t n_begun;     // and those that were
        HttpPresent present;
        bool sessions_ended; // of browsers: who listens with one is to go
};

// ---- by the thread

// A request has come, and its answer was sent or will not be: who ends waits for that.
void http_api_call_begins(HttpApi *a);
void http_api_call_ends(HttpApi *a);
// The call is the loop's from here on, or (false) nobody takes it any more.
bool http_api_post(HttpCall *call);
// Somebody has logged out, or a session has given way to another one.
void http_api_on_logout(HttpApi *a);
// The principal is known: from here on bytes may be held for it. False: out of memory, or it has too many
// requests.
bool http_call_enter(HttpCall *call);
// Like http_api_hold(), for the call's body, of which this keeps the count until the owner of what was made
// of it releases it.
bool http_api_hold_body(HttpCall *call, size_t bytes);

// ---- by the thread, and by the loop if it has one that the thread has no more

void http_call_free(HttpCall *call);

// ---- by the current owner of the call

// Whether so many bytes more may be kept for an answer; then they count until they are released.
bool http_api_hold(HttpCall *call, size_t bytes);
void http_api_release(HttpCall *call, size_t bytes);
void http_api_release_body(HttpCall *call);
void http_call_leave(HttpCall *call);
void http_call_drop_parts(HttpCall *call);
// They are the caller's, and count on. NULL: there are none.
HttpPart *http_call_give_parts(HttpCall *call, size_t *ret_n);
// What is answered if nothing else happens; 0: what has come. And in words, from the heap.
void http_call_set_status(HttpCall *call, int status);
void http_call_set_message(HttpCall *call, char *message);
// 0, or -EBUSY; -E2BIG, if `bytes` are more than one answer may have.
int http_call_why_full(const HttpCall *call, size_t bytes);
// A response as the thread gets it, and so long its bytes count. 0; -EBUSY: too much waits to be read,
// -E2BIG: this answer alone is too much of it, or -ENOMEM.
int http_part_pack(HttpCall *call, const Argosy__Response *response, HttpPart *ret);
// The same at the end of a list. Its bytes are added to *bytes.
int http_parts_keep(HttpCall *call, const Argosy__Response *response, HttpPart **parts, size_t *n,
                    size_t *bytes);
// In words, what that has returned. Borrowed.
const char *http_why_not_kept(int status);

// ---- by the loop

// The cluster has answered it, so there is such a token, and what the call has is put down to it.
void http_call_note_known(HttpCall *call);
// It is answered.
void http_call_give_back(HttpCall *call);
// It is answered by that. message: NULL: there is none.
void http_call_end(HttpCall *call, int status, const char *message);
// What is asked of this step, as that author, from now on.
void http_call_ask(HttpCall *call, const HttpStep *step, const Argosy__Author *author);
// Likewise, a Request that is there. NULL: out of memory.
void http_call_send(HttpCall *call, Argosy__Request *request, const Argosy__Author *author);
// What the call is about, as a Request. NULL: out of memory.
Argosy__Request *http_call_request(HttpCall *call);
// The next of `steps`, as that author; behind the last one it is answered.
void http_call_next(HttpCall *call, const Argosy__Author *author);
// The work asks by itself, with http_call_send(), and this is who is answered.
void http_call_set_step(HttpCall *call, const HttpStep *step);
// Part of the answer. As http_part_pack().
int http_call_keep(HttpCall *call, const Argosy__Response *response);
// Parts that were kept elsewhere are its answer; so many of its bytes count.
void http_call_take_parts(HttpCall *call, HttpPart *parts, size_t n, size_t bytes);
// So many bytes more count until its parts are dropped.
void http_call_count(HttpCall *call, size_t bytes);
// Another part of the job that it is about, or the end of one, is asked for and shown.
void http_call_skip_units(HttpCall *call, size_t n);
void http_call_show_job(HttpCall *call, uint64_t job);
// For what asks more than once. False: out of memory, and the call has failed.
bool http_call_keep_author(HttpCall *call, const Argosy__Author *author);
// What is asked now is not to be answered any more.
void http_call_off(HttpCall *call);
uint64_t http_api_now_us(const HttpApi *a); // by the loop's clock
// Its deadline, by that. 0 or -ENOMEM.
int http_call_arm(HttpCall *call, uint64_t at_us);
// The same. False: out of memory, and the call has failed.
bool http_call_set_deadline(HttpCall *call, uint64_t at_us);
void http_call_clear_deadline(HttpCall *call);
// False: the session with which somebody listens has ended.
bool http_call_is_let(HttpCall *call);
void http_api_on_timer(uv_timer_t *timer);
