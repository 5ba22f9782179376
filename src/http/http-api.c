// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The loop's side. A call arrives (on_async) -> is answered here (/healthz, /readyz), or
//                  -> the author is found out and admitted -> ops->request()
//                      -> responses, packed, until the final one
//                  -> the thread has it back
//
// What is done for a call is its work's (works/works.h). Responses are kept packed, as the local socket
// would send them: that is all that the loop does for a list, and JSON is made by the thread.
//
// Nothing is lost when it ends: calls that arrived are answered 503, those of which a leader may have heard
// as http-outcome.h says, streams get a problem and their last chunk, and for HTTP_END_MS the thread may
// send that. Only then it is stopped.

#include "http-api.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "author.h"
#include "clock.h"
#include "http-outcome.h"
#include "http-thread.h"
#include "http-tls.h"
#include "log.h"
#include "str.h"
#include "uvx.h"
#include "work-events.h"
#include "work-journal.h"
#include "work-state.h"
#include "work-token.h"

// The message of a failed call; longer ones are cut.
enum { MESSAGE_SIZE = AUTHOR_TEXT_SIZE + 128 };

enum { LATE_MS = 1000 }; // between two looks at who is late

// ---- what is asked

static void on_author(const Argosy__Author *author, int error, void *userdata) {
        HttpCall *call = userdata;
        HttpApi *a = call->api;
        char who[AUTHOR_TEXT_SIZE], why[MESSAGE_SIZE];

        if (!author) {
                str_fit(why, sizeof(why), "who uid %u is could not be found out: %s",
                        (unsigned) call->peer->uid, strerror(error ? -error : ENOMEM));
                http_call_fail(call, EBUSY, why);
                return;
        }
        // An author with a token is always admitted here: the leader judges tokens.
        if (!a->ops->admits(author, a->userdata)) {
                str_fit(why, sizeof(why), "%s has no rights in this cluster", author_text(author, who));
                http_call_fail(call, EACCES, why);
                return;
        }
        if (call->step)
                http_call_ask(call, call->step, author); // its token, before its body has come
        else
                call->work->begin(call, author);
}

// What it was asked for goes on, or its client has gone.
static bool goes_on(HttpCall *call) {
        if (!call->step || call->step == &http_token_step)
                return false;
        call->work->go_on(call);
        return true;
}

static void begin(HttpCall *call) {
        HttpApi *a = call->api;
        const HttpPeer *peer = call->peer;
        Argosy__Author root = author_of_host(0), bearer = author_of_token(&call->principal.proof);

        if (call->gone) {
                http_call_free(call);
                return;
        }
        list_append(&a->asked, &call->link);
        if (goes_on(call))
                return;
        if (http_target_is(&call->target, HTTP_IS_OPEN)) {
                call->work->begin(call, NULL);
                return;
        }
        call->question = (AuthorQuestion){.answered = on_author, .userdata = call};
        if (peer->over_tcp)
                on_author(&bearer, 0, call);
        else if (peer->uid == 0)
                on_author(&root, 0, call);
        else
                author_names_ask(a->names, peer->uid, peer->gid, peer->groups, peer->n_groups,
                                 peer->owner, &call->question);
}

static void take_arrived(HttpApi *a, ListNode *to) {
        uint64_t since_us;

        pthread_mutex_lock(&a->lock);
        list_splice(to, &a->arrived);
        since_us = a->arrived_us;
        a->arrived_us = 0;
        pthread_mutex_unlock(&a->lock);
        if (since_us > 0)
                time_histogram_add(&a->lag, clock_boot_us() - since_us);
}

// They are the first ones of the next turn.
static void put_back(HttpApi *a, ListNode *arrived) {
        pthread_mutex_lock(&a->lock);
        list_splice_front(&a->arrived, arrived);
        a->arrived_us = clock_boot_us();
        pthread_mutex_unlock(&a->lock);
        uv_async_send(&a->async);
}

static void begin_arrived(HttpApi *a) {
        ListNode arrived = LIST_INIT(arrived);

        take_arrived(a, &arrived);
        for (unsigned i = 0; i < HTTP_CALLS_IN_A_TURN && !list_is_empty(&arrived); i++) {
                HttpCall *call = CONTAINER_OF(arrived.next, HttpCall, link);

                list_unlink(&call->link);
                begin(call);
        }
        if (!list_is_empty(&arrived))
                put_back(a, &arrived);
}

// Ends the streams of sessions that have logged out.
static void end_sessions(HttpApi *a) {
        bool ended;

        pthread_mutex_lock(&a->lock);
        ended = a->sessions_ended;
        a->sessions_ended = false;
        pthread_mutex_unlock(&a->lock);
        if (!ended)
                return;
        http_events_on_logout(a);
        http_journals_on_logout(a);
}

static void on_late(uv_timer_t *timer);
static void finish_if_sent(HttpApi *a);

static void on_async(uv_async_t *async) {
        HttpApi *a = async->data;

        if (a->ending) {
                finish_if_sent(a);
                return;
        }
        if (!uv_is_active((uv_handle_t *) &a->late) && http_pace_is_due(&a->pace))
                uv_timer_start(&a->late, on_late, LATE_MS, LATE_MS);

        begin_arrived(a);
        end_sessions(a);
}

HttpStats http_api_stats(HttpApi *a) {
        HttpStats stats;

        pthread_mutex_lock(&a->lock);
        stats = (HttpStats){.http_requests = a->n_begun, .http_requests_open = a->n_calls};
        pthread_mutex_unlock(&a->lock);
        stats.http_held_bytes = accounts_have(a->accounts, ACCOUNT_BYTES);
        stats.http_state_bytes = http_states_bytes(a);
        return stats;
}

TimeHistogram http_api_loop_lag(const HttpApi *a) {
        return a->lag;
}

// ---- who is late, and who is let in over TCP

static void on_late(uv_timer_t *timer) {
        HttpApi *a = timer->data;

        if (!http_pace_end_late(&a->pace, clock_boot_us()))
                uv_timer_stop(timer);
}

void http_api_set_names(HttpApi *a, const HttpNames *names, bool own_addresses) {
        http_auth_set_names(&a->auth, names, own_addresses);
}

void http_api_set_proxies(HttpApi *a, const HttpProxies *proxies) {
        http_auth_set_proxies(&a->auth, proxies);
}

void http_api_set_present(HttpApi *a, const EventCursor *cursor, uint64_t access_revision,
                          uint64_t until_us) {
        if (!http_api_is_running(a))
                return;
        pthread_mutex_lock(&a->lock);
        a->present.known = cursor;
        if (cursor)
                a->present = (HttpPresent){true, *cursor, access_revision, until_us};
        pthread_mutex_unlock(&a->lock);
}

// ---- life

// The first connection; from here on the thread accepts.
static void on_first(uv_poll_t *poll, int status, int events) {
        HttpListener *listener = poll->data;
        int r = http_thread_start(listener, &listener->thread);

        uv_poll_stop(poll);
        if (r == 0)
                return;
        log_warning("HTTP is not answered until argosyd begins anew, there can be no thread for it: %s.",
                    strerror(-r));
        (void) shutdown(listener->fd, SHUT_RDWR); // new connections are refused at once
}

bool http_api_is_running(const HttpApi *a) {
        for (size_t i = 0; i < a->n_listeners; i++)
                if (a->listeners[i]->thread)
                        return true;
        return false;
}

static int add_listener(HttpApi *a, int fd, bool tcp, bool tls) {
        HttpListener *listener = calloc(1, sizeof(*listener));
        int r;

        if (!listener)
                return -ENOMEM;
        *listener = (HttpListener){.api = a, .fd = fd, .tcp = tcp, .tls = tls};
        r = uvx_errno(uv_poll_init(a->async.loop, &listener->first, fd));
        if (r < 0) {
                free(listener);
                return r;
        }
        listener->first.data = listener;
        (void) uv_poll_start(&listener->first, UV_READABLE, on_first);
        a->listeners[a->n_listeners++] = listener;
        return 0;
}

int http_api_listen_fleet(HttpApi *a, int fd) {
        int r = a->n_listeners == ELEMENTSOF(a->listeners) ? -E2BIG : add_listener(a, fd, false, false);

        if (r == 0)
                a->listeners[a->n_listeners - 1]->fleet = true;
        return r;
}

static int listen_tcp(HttpApi *a, const HttpListen *at, bool tls) {
        int fd, r;

        if (a->n_listeners == ELEMENTSOF(a->listeners))
                return -E2BIG;
        if (tls && !http_tls_is_possible())
                return -EOPNOTSUPP;
        r = http_listen_open(at, &fd);
        if (r < 0)
                return r;
        r = add_listener(a, fd, true, tls);
        if (r < 0)
                close(fd);
        return r;
}

int http_api_listen(HttpApi *a, const HttpListen *at, bool tls) {
        return listen_tcp(a, at, tls);
}

int http_api_listen_fleet_tcp(HttpApi *a, const HttpListen *at) {
        int r = listen_tcp(a, at, true);

        if (r == 0)
                a->listeners[a->n_listeners - 1]->fleet = true;
        return r;
}

static void free_api(HttpApi *a) {
        http_pace_done(&a->pace);
        http_auth_done(&a->auth);
        pthread_mutex_destroy(&a->lock);
        free(a);
}

static void on_ended(HttpApi *a) {
        if (!a->ended || a->closing > 0 || a->states.n > 0)
                return;
        for (size_t i = 0; i < a->n_listeners; i++) {
                close(a->listeners[i]->fd);
                free(a->listeners[i]);
        }
        deadline_heap_done(&a->deadlines);
        map_done(&a->alike);
        if (a->closed)
                a->closed(a->closed_data);
        free_api(a);
}

int http_api_new(uv_loop_t *loop, int fd, Accounts *accounts, AuthorNames *names, const HttpApiOps *ops,
                 void *userdata, HttpApi **ret) {
        HttpApi *a = calloc(1, sizeof(*a));
        int r;

        if (!a)
                return -ENOMEM;
        a->ops = ops;
        a->userdata = userdata;
        a->accounts = accounts;
        a->names = names;
        a->on_ended = on_ended;
        list_init(&a->asked);
        list_init(&a->arrived);
        list_init(&a->journals);
        pthread_mutex_init(&a->lock, NULL);
        http_pace_init(&a->pace);
        http_auth_init(&a->auth);
        a->async.loop = loop;
        r = fd < 0 ? 0 : add_listener(a, fd, false, false);
        if (r < 0) {
                free_api(a);
                return r;
        }
        r = uvx_errno(uv_async_init(loop, &a->async, on_async));
        if (r == 0)
                r = http_states_init(a, loop);
        assert(r == 0); // it fails only where a loop has none yet, and no descriptor for it: argosyd's has
        (void) uv_timer_init(loop, &a->timer); // that cannot fail
        (void) uv_timer_init(loop, &a->late);
        a->async.data = a->timer.data = a->late.data = a;
        *ret = a;
        return 0;
}

static void on_handle_closed(uv_handle_t *handle) {
        HttpApi *a = handle->data;

        a->closing--;
        on_ended(a);
}

static void on_listener_closed(uv_handle_t *handle) {
        HttpApi *a = ((HttpListener *) handle->data)->api;

        a->closing--;
        on_ended(a);
}

static void close_listeners(HttpApi *a) {
        for (size_t i = 0; i < a->n_listeners; i++) {
                HttpListener *listener = a->listeners[i];

                if (listener->thread)
                        http_thread_stop(TAKE_PTR(listener->thread));
                uv_close((uv_handle_t *) &listener->first, on_listener_closed);
        }
}

// What is asked first (of a token, or of a job) changes nothing.
static bool may_be_done(const HttpCall *call) {
        return http_target_is(&call->target, HTTP_CHANGES) && call->work->may_be_done &&
               call->work->may_be_done(call);
}

static void fail_at_end(HttpCall *call) {
        HttpOutcome o = {http_target_is(&call->target, HTTP_IS_WRITTEN), may_be_done(call), call->keyed,
                         call->rows.job};
        const char *why;
        int status = http_outcome_at_end(&o, &why);

        http_call_fail(call, status, why);
}

static void end_call(HttpCall *call) {
        if (call->gone) {
                list_unlink(&call->link);
                http_call_free(call);
        } else
                fail_at_end(call);
}

static void finish(HttpApi *a) {
        a->finished = true;
        close_listeners(a);
        uv_close((uv_handle_t *) &a->timer, on_handle_closed);
        uv_close((uv_handle_t *) &a->late, on_handle_closed);
        http_states_close(a, on_handle_closed);
        uv_close((uv_handle_t *) &a->async, on_handle_closed);
}

static void on_end_due(uv_timer_t *timer) {
        HttpApi *a = timer->data;

        if (!a->finished)
                finish(a);
}

// Finishes the end when all answers that had begun were sent.
static void finish_if_sent(HttpApi *a) {
        size_t n;

        pthread_mutex_lock(&a->lock);
        n = a->n_calls;
        pthread_mutex_unlock(&a->lock);
        if (n == 0 && !a->finished)
                finish(a);
}

void http_api_close(HttpApi *a, void (*closed)(void *userdata), void *userdata) {
        a->ending = true;
        http_journals_forget(a); // before the thread may free them
        pthread_mutex_lock(&a->lock);
        a->ended = true;
        pthread_mutex_unlock(&a->lock);
        a->closing = 4 + (int) a->n_listeners; // before anything that ends may be the last
        a->closed = closed;
        a->closed_data = userdata;
        take_arrived(a, &a->asked);
        list_foreach_safe (n, &a->asked)
                end_call(CONTAINER_OF(n, HttpCall, link));
        uv_update_time(a->async.loop); // this turn may have been a long one
        uv_timer_start(&a->timer, on_end_due, HTTP_END_MS, 0);
        finish_if_sent(a);
}
