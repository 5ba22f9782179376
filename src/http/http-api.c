// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The loop's side. A call arrives (on_async) -> is answered here (/healthz, /readyz), or
//                  -> who asks is found out -> he is admitted -> ops->request() -> responses, packed, until the final one
//                  -> the thread has it back
//
// Responses are kept packed, as the local socket would send them: that is all that the loop does for a list, and JSON is made by the
// thread. A list whose leader went away in the middle begins again with its first part; nothing of it was sent by then. So the
// status that is answered is true of the whole, and a program needs to read no document to know that it failed.
//
// Nothing is lost when it ends: calls that arrived are answered 503, those of which a leader may have heard as http-outcome.h says, streams
// get a problem and their last chunk, and for HTTP_END_MS the thread may send that. Only then it is stopped.

#include "http-api.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "array.h"
#include "author.h"
#include "clock.h"
#include "http-filter.h"
#include "http-outcome.h"
#include "http-private.h"
#include "http-tls.h"
#include "log.h"
#include "message.h"
#include "str.h"
#include "uvx.h"

// Of what is said about a call that fails, the rest is cut.
enum { MESSAGE_SIZE = AUTHOR_TEXT_SIZE + 128 };

enum { LATE_MS = 1000 }; // between two looks at who is late

// ---- the way back

void http_call_give_back(HttpCall *call) {
        http_state_leave(call);
        list_unlink(&call->link);
        author_names_forget(&call->question);
        http_steps_end(call);
        http_api_release_body(call);
        http_thread_take_back(call);
}

void http_call_drop_parts(HttpCall *call) {
        http_api_release(call, call->n_bytes);
        http_parts_free(call->parts, call->n_parts);
        call->parts = NULL;
        call->n_parts = call->n_rows = call->n_bytes = call->n_refused = 0;
}

void http_call_set_route(HttpCall *call, void *route) {
        call->route = route;
}

void http_call_fail(HttpCall *call, int status, const char *message) {
        ListNode others = LIST_INIT(others);

        if (call->journal.open && !call->api->ending) {
                http_journal_fail(call, status, message);
                return;
        }
        if (call->bulk && call->author) {
                http_bulk_fail(call, status, message);
                return;
        }
        if (!call->api->ending)
                http_alike_take(call, &others);
        while (!list_is_empty(&others)) {
                HttpCall *other = CONTAINER_OF(others.next, HttpCall, alike.link);

                list_unlink(&other->alike.link);
                http_call_fail(other, status, message);
        }
        if (http_steps_again(call, status))
                return;
        http_call_drop_parts(call);
        http_pieces_drop(call);
        call->status = http_outcome_status(status, call->keyed || http_target_only_asks(&call->target));
        free(call->message);
        call->message = message ? strdup(message) : NULL;
        http_call_give_back(call);
}

bool http_call_enter(HttpCall *call) {
        Principal of = http_peer_principal(call->peer, &call->pass.proof, &call->from);

        call->user = account_enter(call->api->accounts, &of);
        if (call->user && account_take(call->user, ACCOUNT_REQUESTS, 1))
                return true;
        account_leave(TAKE_PTR(call->user));
        return false;
}

void http_call_leave(HttpCall *call) {
        if (!call->user)
                return;
        account_give(call->user, ACCOUNT_REQUESTS, 1);
        account_leave(TAKE_PTR(call->user));
}

bool http_api_hold(HttpCall *call, size_t bytes) {
        bool fits = account_take(call->user, ACCOUNT_BYTES, bytes);

        call->held += fits ? bytes : 0;
        return fits;
}

void http_api_release(HttpCall *call, size_t bytes) {
        if (bytes == 0)
                return;
        call->held -= bytes;
        account_give(call->user, ACCOUNT_BYTES, bytes);
}

// Whoever sends many bodies that are as long as they may be without the right to bring content has a part of what a user has.
bool http_api_hold_body(HttpCall *call, size_t bytes) {
        bool many = call->announced > HTTP_SHORT_BODY_MAX && call->announced <= HTTP_SMALL_BODY_MAX && !call->peer->owner;
        bool fits = account_take_within(call->user, ACCOUNT_BYTES, bytes, many ? (size_t) HTTP_SMALL_HELD_MAX : SIZE_MAX);

        call->held += fits ? bytes : 0;
        call->body_bytes += fits ? bytes : 0;
        return fits;
}

void http_api_release_body(HttpCall *call) {
        http_api_release(call, call->body_bytes);
        call->body_bytes = 0;
}

// Where there is no room in the token's account, it stays in that of the address.
void http_call_note_known(HttpCall *call) {
        Principal of = principal_of_token(0, &call->pass.proof);
        Account *u;

        if (!call->peer->over_tcp || call->is_known || !call->proves)
                return;
        call->is_known = true;
        u = account_enter(call->api->accounts, &of);
        if (!u || u == call->user || !account_take(u, ACCOUNT_REQUESTS, 1)) {
                account_leave(u);
                return;
        }
        if (!account_take(u, ACCOUNT_BYTES, call->held)) {
                account_give(u, ACCOUNT_REQUESTS, 1);
                account_leave(u);
                return;
        }
        account_give(call->user, ACCOUNT_BYTES, call->held);
        http_call_leave(call);
        call->user = u;
}

// Where the rows of this response stand in the list, and how many there are.
static size_t count_rows(const Argosy__Response *r, size_t *ret_first) {
        *ret_first = 0;
        switch (r->what_case) {
        case ARGOSY__RESPONSE__WHAT_UNITS:
                *ret_first = r->units->first;
                return r->units->n_rows;
        case ARGOSY__RESPONSE__WHAT_UNIT_FILES:
                *ret_first = r->unit_files->first;
                return r->unit_files->n_rows;
        case ARGOSY__RESPONSE__WHAT_NODES:
                return r->nodes->n_rows;
        case ARGOSY__RESPONSE__WHAT_JOBS:
                return r->jobs->n_rows;
        case ARGOSY__RESPONSE__WHAT_CHANGE:
                *ret_first = r->change->first;
                return r->change->n_units;
        default:
                return 0;
        }
}

int http_part_pack(HttpCall *call, const Argosy__Response *response, HttpPart *ret) {
        size_t len = argosy__response__get_packed_size(response);
        uint8_t *data;

        if (!http_api_hold(call, len))
                return call->n_bytes + len > account_most(call->user, ACCOUNT_BYTES) ? -E2BIG : -EBUSY;
        data = malloc(MAX_OF(len, (size_t) 1));
        if (!data) {
                http_api_release(call, len);
                return -ENOMEM;
        }
        *ret = (HttpPart){data, argosy__response__pack(response, data)};
        return 0;
}

// 0, -EAGAIN: one before it is missing, or as http_part_pack().
static int keep_part(HttpCall *call, const Argosy__Response *response, size_t first, size_t n_rows) {
        int r;

        if (first != call->n_rows)
                return -EAGAIN;
        if (ARRAY_RESERVE(call->parts, call->n_parts + 1) < 0)
                return -ENOMEM;
        r = http_part_pack(call, response, &call->parts[call->n_parts]);
        if (r < 0)
                return r;
        call->n_bytes += call->parts[call->n_parts++].len;
        call->n_rows += n_rows;
        return 0;
}

const char *http_why_not_kept(int status) {
        return status == EAGAIN  ? "the leader changed in the middle of the list: ask again"
               : status == EBUSY ? "too many long answers wait to be read"
               : status == E2BIG ? "the answer is too long for one: ask for pages of it, or for less"
                                 : "this host has no memory for the answer";
}

// A file's line, if that is what a message about it begins with: "web.service:3: ...".
static unsigned line_of(const char *message, const char *unit) {
        size_t len = strlen(unit);
        unsigned line = 0;

        if (strncmp(message, unit, len) != 0 || message[len] != ':')
                return 0;
        return sscanf(message + len, ":%8u:", &line) == 1 ? line : 0;
}

// Of a change nothing of which was done the first reason is what there is to say.
static void note_results(HttpCall *call, const Argosy__Response *r) {
        for (size_t i = 0; r->what_case == ARGOSY__RESPONSE__WHAT_CHANGE && i < r->change->n_units; i++) {
                const Argosy__Response__UnitResult *u = r->change->units[i];

                if (u->status == 0 || u->repeated) // it was taken when it was asked for first, whatever has become of it
                        continue;
                if (call->n_refused++ > 0)
                        continue;
                free(call->message);
                free(call->unit);
                free(call->node);
                call->message = strdup(u->message);
                call->unit = strdup(u->name);
                call->node = *u->node ? strdup(u->node) : NULL;
                call->refusal = u->status;
                call->line = line_of(u->message, u->name);
        }
}

// Without memory for it the list has none.
static void note_tag(HttpCall *call, const Argosy__Response *last) {
        if (!http_target_is(&call->target, HTTP_IS_TAGGED) || !*last->tag)
                return;
        free(call->tag);
        call->tag = strdup(last->tag);
        call->unchanged = last->unchanged && call->tag;
}

static void end(HttpCall *call, const Argosy__Response *last) {
        note_tag(call, last);
        if (call->status != 0)
                http_call_fail(call, call->status, http_why_not_kept(call->status));
        else if (call->n_refused > 0 && call->n_refused == call->n_rows) {
                http_call_drop_parts(call);
                call->status = call->refusal;
                http_call_give_back(call);
        } else if (http_steps_next(call, last))
                return;
        else if (!http_target_is(&call->target, HTTP_IS_ONE) || call->n_rows + call->n_asides > 0)
                http_call_give_back(call);
        else if (last->no_leader)
                http_call_fail(call, EHOSTUNREACH,
                               "no leader can be reached, and this host knows of no such thing");
        else
                http_call_fail(call, ENOENT, "there is no such thing, or you may not see it");
}

// Who answers goes on to the end, also when the beginning could not be kept: nobody has a way to stop him from in here.
static void respond_one(HttpCall *call, const Argosy__Response *response) {
        size_t first, n = count_rows(response, &first);
        bool goes_on = call->target.first_unit > 0; // with a job whose first units have come

        if (response->final)
                call->route = NULL;
        if (call->step == HTTP_STEP_TOKEN) {
                http_steps_respond_token(call, response);
                return;
        }
        if (call->fleet) {
                http_fleet_respond(call, response);
                return;
        }
        if (call->target.resource == HTTP_STATE) {
                http_state_respond(call, response);
                return;
        }
        if (call->target.resource == HTTP_JOURNAL) {
                http_journal_respond(call, response);
                return;
        }
        if (call->bulk) {
                http_bulk_respond(call, response);
                return;
        }
        if (call->step == HTTP_STEP_RETRY) {
                http_retry_respond(call, response);
                return;
        }
        if (call->step == HTTP_STEP_CHANGES) {
                http_changes_respond(call, response);
                return;
        }
        if (http_pieces_are_asked(call)) {
                http_pieces_respond(call, response);
                return;
        }
        if (response->status != 0) {
                http_call_fail(call, response->status, response->message);
                return;
        }
        if (!response->final && response->what_case == ARGOSY__RESPONSE__WHAT_PROGRESS)
                return; // of a wait, whose end says it all
        if (first == 0 && !goes_on) {
                http_call_drop_parts(call);
                call->status = 0;
        }
        if (goes_on && response->no_leader != call->no_leader)
                call->status = EAGAIN;
        if (call->status == 0)
                call->status = -keep_part(call, response, goes_on ? call->n_rows : first, n);
        if (call->status != 0)
                http_call_drop_parts(call);
        else
                note_results(call, response);
        if (response->final)
                end(call, response);
}

void http_call_respond(HttpCall *call, const Argosy__Response *response) {
        ListNode others = LIST_INIT(others);

        if (response->status == 0)
                http_call_note_known(call);
        if (response->final)
                http_alike_take(call, &others);
        respond_one(call, response);
        while (!list_is_empty(&others)) {
                HttpCall *other = CONTAINER_OF(others.next, HttpCall, alike.link);

                list_unlink(&other->alike.link);
                respond_one(other, response);
        }
}

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
        // Whoever shows a token is: that is the leader's to judge.
        if (!a->ops->admits(author, a->userdata)) {
                str_fit(why, sizeof(why), "%s has no rights in this cluster", author_text(author, who));
                http_call_fail(call, EACCES, why);
                return;
        }
        if (call->fleet && call->step != HTTP_STEP_TOKEN)
                http_fleet_begin(call, author);
        else if (call->target.resource == HTTP_STATE)
                http_state_begin(call, author);
        else if (call->target.resource == HTTP_JOURNAL)
                http_journal_begin(call, author);
        else
                http_steps_begin(call, author);
}

static void begin(HttpCall *call) {
        HttpApi *a = call->api;
        const HttpPeer *peer = call->peer;
        Argosy__Author root = author_of_host(0), bearer = author_of_token(&call->pass.proof);

        if (call->journal.gone) {
                http_call_free(call);
                return;
        }
        list_append(&a->asked, &call->link);
        if (call->journal.open) {
                http_journal_go_on(call);
                return;
        }
        if (call->streams) {
                http_steps_go_on(call);
                return;
        }
        if (call->target.resource == HTTP_READYZ && !a->ops->is_ready(a->userdata)) {
                http_call_fail(call, EHOSTUNREACH, NULL);
                return;
        }
        if (http_target_is(&call->target, HTTP_IS_OPEN)) {
                http_call_give_back(call);
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

static HttpCall *find_logged_out(HttpApi *a) {
        list_foreach (n, &a->asked) {
                HttpCall *call = CONTAINER_OF(n, HttpCall, link);

                if (call->step == HTTP_STEP_EVENTS && !http_gate_still_lets(&a->gate, &call->pass))
                        return call;
        }
        return NULL;
}

// Who has logged out listens to nothing any more. A stream of events that the thread has is judged when it comes back. Whoever ends may make others
// ask in his place, so this begins anew behind each.
static void end_sessions(HttpApi *a) {
        HttpCall *call;
        bool ended;

        pthread_mutex_lock(&a->lock);
        ended = a->sessions_ended;
        a->sessions_ended = false;
        pthread_mutex_unlock(&a->lock);
        while (ended && (call = find_logged_out(a)))
                (void) http_steps_lets(call);
        if (ended)
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

void http_api_on_logout(HttpApi *a) {
        pthread_mutex_lock(&a->lock);
        a->sessions_ended = true;
        pthread_mutex_unlock(&a->lock);
        uv_async_send(&a->async);
}

bool http_api_post(HttpCall *call) {
        HttpApi *a = call->api;
        bool taken;

        pthread_mutex_lock(&a->lock);
        taken = !a->ended;
        if (taken && list_is_empty(&a->arrived))
                a->arrived_us = clock_boot_us();
        if (taken)
                list_append(&a->arrived, &call->link);
        pthread_mutex_unlock(&a->lock);
        if (taken)
                uv_async_send(&a->async); // it is closed after the thread has ended
        return taken;
}

void http_api_call_begins(HttpApi *a) {
        pthread_mutex_lock(&a->lock);
        a->n_calls++;
        a->n_begun++;
        pthread_mutex_unlock(&a->lock);
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

void http_api_call_ends(HttpApi *a) {
        bool is_awaited;

        pthread_mutex_lock(&a->lock);
        is_awaited = --a->n_calls == 0 && a->ended;
        pthread_mutex_unlock(&a->lock);
        if (is_awaited)
                uv_async_send(&a->async);
}

// ---- who is late, and who is let in over TCP

static void on_late(uv_timer_t *timer) {
        HttpApi *a = timer->data;

        if (!http_pace_end_late(&a->pace, clock_boot_us()))
                uv_timer_stop(timer);
}

void http_api_set_names(HttpApi *a, const HttpNames *names, bool own_addresses) {
        http_gate_set_names(&a->gate, names, own_addresses);
}

void http_api_set_proxies(HttpApi *a, const HttpProxies *proxies) {
        http_gate_set_proxies(&a->gate, proxies);
}

// ---- life

// The first connection; from here on the thread accepts.
static void on_first(uv_poll_t *poll, int status, int events) {
        HttpDoor *door = poll->data;
        int r = http_thread_start(door, &door->thread);

        uv_poll_stop(poll);
        if (r == 0)
                return;
        log_warning("HTTP is not answered until argosyd begins anew, there can be no thread for it: %s.",
                    strerror(-r));
        (void) shutdown(door->fd, SHUT_RDWR); // who connects is refused and does not wait
}

bool http_api_is_running(const HttpApi *a) {
        for (size_t i = 0; i < a->n_doors; i++)
                if (a->doors[i]->thread)
                        return true;
        return false;
}

static int add_door(HttpApi *a, int fd, bool tcp, bool tls) {
        HttpDoor *door = calloc(1, sizeof(*door));
        int r;

        if (!door)
                return -ENOMEM;
        *door = (HttpDoor){.api = a, .fd = fd, .tcp = tcp, .tls = tls};
        r = uvx_errno(uv_poll_init(a->async.loop, &door->first, fd));
        if (r < 0) {
                free(door);
                return r;
        }
        door->first.data = door;
        (void) uv_poll_start(&door->first, UV_READABLE, on_first);
        a->doors[a->n_doors++] = door;
        return 0;
}

int http_api_listen_fleet(HttpApi *a, int fd) {
        int r = a->n_doors == ELEMENTSOF(a->doors) ? -E2BIG : add_door(a, fd, false, false);

        if (r == 0)
                a->doors[a->n_doors - 1]->fleet = true;
        return r;
}

static int listen_tcp(HttpApi *a, const HttpListen *at, bool tls) {
        int fd, r;

        if (a->n_doors == ELEMENTSOF(a->doors))
                return -E2BIG;
        if (tls && !http_tls_is_possible())
                return -EOPNOTSUPP;
        r = http_listen_open(at, &fd);
        if (r < 0)
                return r;
        r = add_door(a, fd, true, tls);
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
                a->doors[a->n_doors - 1]->fleet = true;
        return r;
}

static void free_api(HttpApi *a) {
        http_pace_done(&a->pace);
        http_gate_done(&a->gate);
        pthread_mutex_destroy(&a->lock);
        free(a);
}

int http_api_new(uv_loop_t *loop, int fd, Accounts *accounts, AuthorNames *names, const HttpApiOps *ops, void *userdata,
                 HttpApi **ret) {
        HttpApi *a = calloc(1, sizeof(*a));
        int r;

        if (!a)
                return -ENOMEM;
        a->ops = ops;
        a->userdata = userdata;
        a->accounts = accounts;
        a->names = names;
        list_init(&a->asked);
        list_init(&a->arrived);
        list_init(&a->journals);
        pthread_mutex_init(&a->lock, NULL);
        http_pace_init(&a->pace);
        http_gate_init(&a->gate);
        a->async.loop = loop;
        r = fd < 0 ? 0 : add_door(a, fd, false, false);
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

void http_api_on_ended(HttpApi *a) {
        if (!a->ended || a->closing > 0 || a->states.n > 0)
                return;
        for (size_t i = 0; i < a->n_doors; i++) {
                close(a->doors[i]->fd);
                free(a->doors[i]);
        }
        deadline_heap_done(&a->deadlines);
        map_done(&a->alike);
        if (a->closed)
                a->closed(a->closed_data);
        free_api(a);
}

static void on_handle_closed(uv_handle_t *handle) {
        HttpApi *a = handle->data;

        a->closing--;
        http_api_on_ended(a);
}

static void on_door_closed(uv_handle_t *handle) {
        HttpApi *a = ((HttpDoor *) handle->data)->api;

        a->closing--;
        http_api_on_ended(a);
}

static void close_doors(HttpApi *a) {
        for (size_t i = 0; i < a->n_doors; i++) {
                HttpDoor *door = a->doors[i];

                if (door->thread)
                        http_thread_stop(TAKE_PTR(door->thread));
                uv_close((uv_handle_t *) &door->first, on_door_closed);
        }
}

// What is asked first (LEVEL, RETRY) changes nothing.
static bool may_be_done(const HttpCall *call) {
        if (!http_target_is(&call->target, HTTP_IS_WRITTEN) || http_target_only_asks(&call->target) || call->step != HTTP_STEP_ASK)
                return false;
        return call->bulk ? call->author && !call->bulk->steps[call->bulk_step].request : !call->request;
}

static void fail_at_end(HttpCall *call) {
        HttpOutcome o = {http_target_is(&call->target, HTTP_IS_WRITTEN), may_be_done(call), call->keyed, call->job};
        const char *why;
        int status = http_outcome_at_end(&o, &why);

        http_call_fail(call, status, why);
}

static void end_call(HttpCall *call) {
        if (call->journal.gone) {
                list_unlink(&call->link);
                http_call_free(call);
        } else
                fail_at_end(call);
}

static void finish(HttpApi *a) {
        a->finished = true;
        close_doors(a);
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

// Of the answers that have begun.
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
        a->closing = 4 + (int) a->n_doors; // before anything that ends may be the last
        a->closed = closed;
        a->closed_data = userdata;
        take_arrived(a, &a->asked);
        list_foreach_safe (n, &a->asked)
                end_call(CONTAINER_OF(n, HttpCall, link));
        uv_update_time(a->async.loop); // this turn may have been a long one
        uv_timer_start(&a->timer, on_end_due, HTTP_END_MS, 0);
        finish_if_sent(a);
}
