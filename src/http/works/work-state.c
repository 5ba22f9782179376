// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The state document: who asks for it, and of which version it is answered.
//
//      a call -> where the stream is now, for its author -> the client has that version: unchanged
//                                                        -> the version is made: it is sent
//                                                        -> the call waits, with others, until it is made
//      making one    questions for what is new since the last one, as one of the waiting calls -> a worker
//                    -> a version
//
// All authors that may see everything share one copy of the cluster, and its versions. A call whose author
// may not, or that asks what has changed since a cursor, has a copy of its own until it is answered. Rights
// are judged by the leader, for each call: it is asked with its author.
//
// What a copy is doing:
//
//      asking     one of those who wait asks what is new since `text`; answers are kept packed, and the next
// is asked for
//      working    a worker takes what was answered into the copy, and writes a version if that was all
//
// Questions and worker run at the same time, and neither when no call waits. The worker alone touches the
// copy then. The questions are asked as one of the waiting calls, and the next one goes on when that is
// refused; so no call gets what its author could not ask for. A version serves all calls that wanted one
// that is not newer; for the others it begins again.
//
// A copy that fails is dropped, with all who wait for it, and the next call begins with a new one.

#include "work-state.h"

#include <errno.h>
#include <stdlib.h>

#include "array.h"
#include "clock.h"
#include "cluster-copy.h"
#include "http-etag.h"
#include "message-of.h"
#include "message.h"
#include "pool.h"
#include "str.h"
#include "uvx.h"
#include "work-send.h"

enum {
        PARTS_MAX = 64,     // answers that wait for the worker
        QUESTION_MS = 2000, // that there may be no leader
};

typedef struct StateWork {
        HttpPart *parts;
        size_t n_parts;
        bool last; // a version is to be made
        EventCursor cursor;
        int error;
        HttpVersion *made;
} StateWork;

struct HttpState {
        HttpApi *api;
        Account *own; // the account that it is charged to; NULL: all share it
        bool changes;
        bool dropped; // it is freed when the worker has ended
        bool working, paused, all;
        int error; // it failed during a question, and is dropped after the answer; 0: it has not
        EventCursor cursor; // of what was answered
        char text[EVENT_CURSOR_SIZE];
        HttpCall *asking;
        ListNode waiting;
        HttpPart *parts;
        size_t n_parts;
        HttpVersion *newest;
        ClusterCopy *copy; // the worker's, while there is one
        PoolWork work;
        StateWork todo;
};

static void go_on(HttpState *s);

// ---- how much there is

static _Atomic size_t *held_of(HttpApi *a, Account *own) {
        return own ? account_counted(own) : &a->states.held;
}

static size_t most_of(const HttpState *s) {
        return s->own ? account_most(s->own, ACCOUNT_COPY_BYTES) : HTTP_STATE_BYTES_MAX;
}

size_t http_states_bytes(const HttpApi *a) {
        return a->states.held + accounts_counted(a->accounts);
}

// All of them together, and of those that are not shared each for the others.
static bool is_full(const HttpState *s) {
        return http_states_bytes(s->api) > HTTP_STATE_BYTES_MAX ||
               (s->own && account_counted_is_full(s->own));
}

static void drop_parts(HttpState *s, HttpPart **parts, size_t *n) {
        for (size_t i = 0; i < *n; i++)
                *held_of(s->api, s->own) -= (*parts)[i].len;
        http_parts_free(TAKE_PTR(*parts), *n);
        *n = 0;
}

// ---- life

static void give_own(Account *own) {
        account_give(own, ACCOUNT_COPIES, 1);
        account_leave(own);
}

static void state_free(HttpState *s) {
        HttpApi *a = s->api;

        drop_parts(s, &s->parts, &s->n_parts);
        drop_parts(s, &s->todo.parts, &s->todo.n_parts);
        http_version_unref(s->todo.made);
        http_version_unref(s->newest);
        cluster_copy_free(s->copy);
        if (s->own)
                give_own(s->own);
        free(s);
        a->states.n--;
        a->on_ended(a);
}

static void drop(HttpState *s) {
        if (s->api->states.shared == s)
                s->api->states.shared = NULL;
        if (s->working)
                s->dropped = true;
        else
                state_free(s);
}

// own: NULL for the shared one; when this succeeds it gives that back in the end.
static HttpState *state_new(HttpApi *a, Account *own, const char *since) {
        HttpState *s = calloc(1, sizeof(*s));

        if (!s)
                return NULL;
        s->copy = cluster_copy_new(since, held_of(a, own));
        if (!s->copy) {
                free(s);
                return NULL;
        }
        s->api = a;
        s->own = own;
        s->changes = since;
        s->work.work.data = s;
        list_init(&s->waiting);
        if (since)
                (void) str_copy(s->text, sizeof(s->text), since); // it was parsed
        a->states.n++;
        return s;
}

static void on_idle(uv_timer_t *timer) {
        HttpApi *a = timer->data;
        HttpState *s = a->states.shared;

        if (s && list_is_empty(&s->waiting))
                drop(s);
}

// The copy is dropped after a while without calls; a new call before that begins the time anew.
static void keep_for_a_while(HttpApi *a) {
        (void) uv_timer_start(&a->states.idle, on_idle, (uint64_t) HTTP_STATE_KEPT_SEC * 1000, 0);
}

// ---- who is answered

// Called when the leader has judged the author, and not when the document is sent later.
static void note_sees_all(HttpCall *call, const EventCursor *told) {
        const HttpPresent *p = &call->api->present; // nobody else writes it

        if (told->scope == 0 && p->known && call->state.sees_all_by == 0)
                call->state.sees_all_by = p->access_revision + 1;
}

static void serve(HttpCall *call, HttpVersion *v) {
        HttpApi *a = call->api;

        call->state.version = http_version_ref(v);
        if (a->states.shared)
                keep_for_a_while(a);
        http_call_give_back(call);
}

static bool serves(const HttpVersion *v, const EventCursor *wanted) {
        const EventCursor *c = http_version_cursor(v);

        return c->generation != wanted->generation ? c->generation > wanted->generation
               : c->term != wanted->term           ? c->term > wanted->term
                                                   : c->seq >= wanted->seq;
}

static void serve_all(HttpState *s) {
        if (s->own) {
                if (!list_is_empty(&s->waiting))
                        serve(CONTAINER_OF(s->waiting.next, HttpCall, state.waiting),
                              s->newest); // it drops this one
                return;
        }
        list_foreach_safe (n, &s->waiting) {
                HttpCall *call = CONTAINER_OF(n, HttpCall, state.waiting);

                if (serves(s->newest, &call->state.wanted))
                        serve(call, s->newest);
        }
        go_on(s);
}

static const char *why_failed(int error) {
        return error == EBUSY    ? "too many documents wait to be read"
               : error == E2BIG  ? "the cluster is too large for one document: ask for lists, or for events"
               : error == EAGAIN ? "what you may see has changed in the middle: ask again"
                                 : "the state could not be made";
}

static void fail_all(HttpState *s, int error) {
        ListNode calls = LIST_INIT(calls);

        list_splice(&calls, &s->waiting);
        list_foreach (n, &calls)
                CONTAINER_OF(n, HttpCall, state.waiting)->state.of = NULL;
        drop(s);
        while (!list_is_empty(&calls)) {
                HttpCall *call = CONTAINER_OF(calls.next, HttpCall, state.waiting);

                list_unlink(&call->state.waiting);
                http_call_fail(call, error, why_failed(error));
        }
}

// ---- the worker

static int take_part(ClusterCopy *copy, const HttpPart *p) {
        Argosy__Response *response;
        int r = message_unpack(&argosy__response__descriptor, p->data, p->len, (void **) &response);

        if (r < 0)
                return r;
        for (size_t i = 0; i < response->events->n_events && r == 0; i++)
                r = cluster_copy_take_packed(copy, &response->events->events[i]);
        message_free(response);
        return r;
}

static int make_version(HttpState *s) {
        char text[EVENT_CURSOR_SIZE];
        TextPiece *pieces;
        size_t n;
        int r;

        event_cursor_format(&s->todo.cursor, text);
        r = cluster_copy_write(s->copy, text, &pieces, &n);
        if (r < 0)
                return r;
        s->todo.made = http_version_new(&s->todo.cursor, pieces, n);
        return s->todo.made ? 0 : -ENOMEM;
}

static int judge_size(const HttpState *s) {
        return cluster_copy_bytes(s->copy) > most_of(s) ? -E2BIG : is_full(s) ? -EBUSY : 0;
}

static void run(PoolWork *work) {
        HttpState *s = work->work.data;
        int r = judge_size(s);

        for (size_t i = 0; i < s->todo.n_parts && r == 0; i++) {
                r = take_part(s->copy, &s->todo.parts[i]);
                if (r == 0)
                        r = judge_size(s);
        }
        if (r == 0 && s->todo.last)
                r = make_version(s);
        s->todo.error = r;
}

static void on_ran(PoolWork *work) {
        HttpState *s = work->work.data;

        s->working = false;
        drop_parts(s, &s->todo.parts, &s->todo.n_parts);
        if (s->dropped)
                state_free(s);
        else if (s->todo.error < 0) {
                s->error = -s->todo.error;
                go_on(s);
        } else if (s->todo.made) {
                http_version_unref(s->newest);
                s->newest = TAKE_PTR(s->todo.made);
                serve_all(s);
        } else
                go_on(s);
}

static void ask(HttpState *s);

static void hand_over(HttpState *s) {
        s->todo.parts = TAKE_PTR(s->parts);
        s->todo.n_parts = s->n_parts;
        s->n_parts = 0;
        s->todo.last = s->all;
        s->todo.cursor = s->cursor;
        s->all = false;
        s->working = true;
        pool_add(s->api->async.loop, &s->work, POOL_GUESTS, run, on_ran);
        if (s->paused) {
                s->paused = false;
                ask(s);
        }
}

// ---- questions

static void send_question(HttpCall *call, const char *cursor, bool from_now) {
        Argosy__Request__Events m = MESSAGE_OF(request__events, .cursor = (char *) cursor,
                                               .from_now = from_now, .no_wait = true);
        Argosy__Request q = REQUEST_OF(EVENTS, events, &m);

        q.timeout_ms = QUESTION_MS;
        http_call_send(call, message_copy(&q), call->author);
}

static void ask(HttpState *s) {
        send_question(s->asking, s->text, false);
}

static void go_on(HttpState *s) {
        if (s->working)
                return;
        if (s->error != 0) {
                if (!s->asking || s->paused)
                        fail_all(s, s->error);
        } else if (s->n_parts > 0 || s->all)
                hand_over(s);
        else if (!s->asking && !list_is_empty(&s->waiting) && !s->api->ended) {
                s->asking = CONTAINER_OF(s->waiting.next, HttpCall, state.waiting);
                ask(s);
        }
}

// 0 or -ENOMEM.
static int keep(HttpState *s, const Argosy__Response *response) {
        size_t len = argosy__response__get_packed_size(response);
        uint8_t *data;

        if (response->events->n_events == 0)
                return 0;
        if (ARRAY_RESERVE(s->parts, s->n_parts + 1) < 0 || !(data = malloc(len)))
                return -ENOMEM;
        s->parts[s->n_parts++] = (HttpPart){data, argosy__response__pack(response, data)};
        *held_of(s->api, s->own) += len;
        return 0;
}

static void on_news(HttpState *s, const Argosy__Response *response, const EventCursor *cursor) {
        bool more;

        if (!s->own && cursor->scope != 0) { // what the author may see has changed: the next call asks
                http_call_fail(s->asking, EAGAIN, why_failed(EAGAIN));
                return;
        }
        if (s->own)
                note_sees_all(s->asking, cursor);
        if (s->error == 0)
                s->error = -keep(s, response);
        s->cursor = *cursor;
        event_cursor_format(cursor, s->text);
        s->all = response->events->all;
        s->paused = !s->all && (s->n_parts >= PARTS_MAX || s->error != 0);
        more = !s->all && !s->paused;
        if (s->all)
                s->asking = NULL;
        go_on(s); // without more, it may be the last that is heard of it
        if (more)
                ask(s);
}

// ---- calls

static void join(HttpState *s, HttpCall *call) {
        if (!s) {
                http_call_fail(call, ENOMEM, "this host has no memory for the state");
                return;
        }
        call->state.of = s;
        list_append(&s->waiting, &call->state.waiting);
        go_on(s);
}

static void join_own(HttpCall *call) {
        Account *own = call->user;
        HttpState *s;

        if (!account_take(own, ACCOUNT_COPIES, 1)) {
                http_call_fail(call, EBUSY,
                               account_has(own, ACCOUNT_COPIES) >= account_most(own, ACCOUNT_COPIES)
                                       ? "as many documents as one user may have are made for you alone: "
                                         "ask again when one has come"
                                       : "too many others ask for what has changed");
                return;
        }
        s = state_new(call->api, account_ref(own), call->target.since);
        if (!s)
                give_own(own);
        join(s, call);
}

static void join_shared(HttpCall *call) {
        HttpStates *states = &call->api->states;

        if (!states->shared)
                states->shared = state_new(call->api, NULL, NULL);
        if (states->shared && states->shared->newest && serves(states->shared->newest, &call->state.wanted))
                serve(call, states->shared->newest);
        else
                join(states->shared, call);
}

static void on_place(HttpCall *call, const EventCursor *cursor) {
        HttpStateCall *c = &call->state;

        c->wanted = *cursor;
        note_sees_all(call, cursor);
        if (c->condition && http_etag_matches(c->condition, cursor)) {
                c->unchanged = true;
                http_call_give_back(call);
        } else if (cursor->scope == 0)
                join_shared(call);
        else
                join_own(call);
}

static void respond(HttpCall *call, const Argosy__Response *response) {
        HttpState *s = call->state.of;
        EventCursor cursor;

        if (response->status != 0)
                http_call_fail(call, response->status, response->message);
        else if (response->what_case != ARGOSY__RESPONSE__WHAT_EVENTS ||
                 !event_cursor_parse(response->events->cursor, &cursor))
                http_call_fail(call, EPROTO, "the leader's answer is none");
        else if (s)
                on_news(s, response, &cursor);
        else
                on_place(call, &cursor);
}

static void begin(HttpCall *call, const Argosy__Author *author) {
        static const HttpStep step = {.respond = respond};

        list_init(&call->state.waiting);
        http_call_set_step(call, &step);
        if (!http_call_keep_author(call, author))
                return;
        if (call->target.since)
                join_own(call);
        else
                send_question(call, "", true);
}

// It is answered, or failed: it waits for nothing any more.
static void leave(HttpCall *call) {
        HttpState *s = call->state.of;
        bool was_asking;

        if (!s)
                return;
        call->state.of = NULL;
        list_unlink(&call->state.waiting);
        was_asking = s->asking == call;
        if (was_asking) {
                s->asking = NULL;
                s->paused = false;
        }
        if (s->own) {
                drop(s);
                return;
        }
        if (list_is_empty(&s->waiting))
                keep_for_a_while(s->api); // also one that was made by half
        if (was_asking)
                go_on(s); // the next one asks
}

int http_states_init(HttpApi *a, uv_loop_t *loop) {
        int r = uvx_errno(uv_timer_init(loop, &a->states.idle));

        a->states.idle.data = a;
        return r;
}

void http_states_close(HttpApi *a, uv_close_cb closed) {
        if (a->states.shared)
                drop(a->states.shared);
        uv_close((uv_handle_t *) &a->states.idle, closed);
}

// ---- what is known without asking

bool http_state_is_unchanged(HttpApi *a, const HttpPeer *peer, const char *condition, EventCursor *ret) {
        HttpPresent p;

        if (peer->sees_all_by == 0)
                return false;
        pthread_mutex_lock(&a->lock);
        p = a->present;
        pthread_mutex_unlock(&a->lock);
        *ret = p.cursor;
        return p.known && peer->sees_all_by == p.access_revision + 1 && clock_boot_us() < p.until_us &&
               http_etag_matches(condition, &p.cursor);
}

enum MHD_Result http_state_send_unchanged(HttpCall *call) {
        char tag[HTTP_ETAG_SIZE];

        http_etag_format(&call->state.wanted, tag);
        return http_send_nothing(call, MHD_HTTP_NOT_MODIFIED, "ETag", tag);
}

// A connection has memory for its header, and what else libmicrohttpd keeps of it.
static bool has_room(const HttpCall *call) {
        const union MHD_ConnectionInfo *header =
                MHD_get_connection_info(call->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

        static_assert(16 * HTTP_VERSION_PIECES_MAX <= HTTP_HEADER_MAX / 4,
                      "there is room beside half of it");
        return header && header->header_size <= HTTP_HEADER_MAX / 2;
}

static enum MHD_Result send_state(HttpCall *call) {
        HttpStateCall *c = &call->state;

        if (call->status != 0)
                return http_send_failure(call);
        // Over TCP each request has its own token.
        call->peer->sees_all_by = call->peer->over_tcp ? 0 : c->sees_all_by;
        if (c->unchanged)
                return http_state_send_unchanged(call);
        return http_version_send(c->version, call->connection, has_room(call));
}

static void done(HttpCall *call) {
        http_version_unref(call->state.version);
        free(call->state.condition);
}

const HttpWork http_state_work = {.begin = begin, .leave = leave, .send = send_state, .done = done};
