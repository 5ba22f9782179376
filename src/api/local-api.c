// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The local socket.
//
//   accepted -> Client -> its author is known -> frame -> ApiCall -> ops->request ... api_call_respond() ->
//   frame to
//                                                                                                   the
//                                                                                                   client
//
// lifetime      born                         dies
// Client        accepted                     its stream's `closed`
// ApiCall       a frame with a request       final response, cancel, or with its Client
//
// The socket's mode and group decide who may connect; the kernel's credentials of the other end, when it
// connected, say who it is. Nothing is read before the names of that user and its groups are known
// (author-names.h); root needs no names, so it never waits for a directory service. Then ops->admits()
// decides: the socket may be open to users that have no right at all, and these take no place of others.
//
// Each user with a right has an account (accounts.h), which is charged beforehand: a place, the bytes of a
// frame as they come, the memory of its message, the request until its last answer, and long answers until
// the client has read them. An answer for which the account has no room is replaced by an error, and if it
// was one of several, the connection is cut behind it. A frame that has begun has API_FRAME_MS. A user that
// may not bring content may not send long frames.

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#include <unistd.h>

#include "accounts.h"
#include "author-names.h"
#include "author.h"
#include "error-response.h"
#include "frame.h"
#include "list.h"
#include "local-api.h"
#include "log.h"
#include "message.h"
#include "pool.h"
#include "str.h"
#include "stream.h"

// bytes of a message with so many parts that the pool frees it, at the least
enum { API_RETIRED_MIN = 64 * 1024 };

typedef struct Client {
        LocalApi *api;
        Stream *stream;
        Account *account;
        AccountHolding holding;
        ListNode link;    // in LocalApi.clients
        ListNode evicted; // in LocalApi.evicted
        ListNode calls;
        size_t n_calls;
        size_t held;     // bytes of a frame that has begun
        size_t coming;   // and that the message takes which comes next
        size_t unread;   // and of answers, if they are long together
        bool may_submit;
        bool leaving; // made room for another one
        Argosy__Author *author; // NULL: not known yet
        AuthorQuestion question;
} Client;

struct ApiCall {
        Client *client;
        ListNode link;
        uint64_t id;
        size_t bytes; // of its request
        void *data;
};

struct LocalApi {
        uv_loop_t *loop;
        const LocalApiOps *ops;
        void *userdata;
        Accounts *accounts;
        Listener *listener;
        AuthorNames *names;
        ListNode clients;
        size_t n_clients;
        uv_async_t eviction;
        pthread_mutex_t lock; // of `evicted`: others than the loop may want a place
        ListNode evicted;
        bool closing;
        unsigned n_handles; // listener and eviction, not closed yet
        void (*closed)(void *userdata);
        void *closed_data;
};

// A client that has not read a long answer yet is not idle.
static void judge_idle(Client *c) {
        if (c->n_calls > 0 || c->coming > 0 || stream_queued(c->stream) > STREAM_LOW_WATER)
                account_holding_busy(c->api->accounts, &c->holding);
        else
                account_holding_idle(c->api->accounts, &c->holding);
}

// The charge of a long request: the pool frees its memory (message_retire()), and the charge ends after
// that.
typedef struct Returned {
        PoolWork work;
        Account *account;
        size_t bytes;
} Returned;

static void on_returned(PoolWork *w) {
        Returned *r = CONTAINER_OF(w, Returned, work);

        account_give(r->account, ACCOUNT_BYTES, r->bytes);
        free(r);
}

static void give_bytes(Client *c, size_t bytes) {
        Returned *r = bytes > API_RETIRED_MIN ? calloc(1, sizeof(*r)) : NULL;

        if (!r) {
                account_give(c->account, ACCOUNT_BYTES, bytes);
                return;
        }
        r->account = c->account; // which is there as long as it has these bytes
        r->bytes = bytes;
        pool_after_releases(c->api->loop, &r->work, on_returned);
}

static void call_free(ApiCall *call) {
        Client *c = call->client;

        list_unlink(&call->link);
        c->n_calls--;
        account_give(c->account, ACCOUNT_REQUESTS, 1);
        give_bytes(c, call->bytes);
        judge_idle(c);
        free(call);
}

static void maybe_closed(LocalApi *a) {
        if (!a->closing || a->n_handles > 0 || a->n_clients > 0)
                return;
        if (a->closed)
                a->closed(a->closed_data);
        pthread_mutex_destroy(&a->lock);
        free(a);
}

static void cancel_call(ApiCall *call) {
        LocalApi *a = call->client->api;

        if (!a->closing)
                a->ops->cancelled(call, a->userdata);
        call_free(call);
}

// What waits to be read, with `more` that is to. Less than STREAM_LOW_WATER does not count: nobody hears
// when that has been read. False: the user has no room for it.
static bool count_unread(Client *c, size_t more) {
        size_t queued = stream_queued(c->stream) + more;
        size_t bytes = queued > STREAM_LOW_WATER ? queued : 0;

        if (bytes > c->unread && !account_take(c->account, ACCOUNT_BYTES, bytes - c->unread))
                return false;
        if (bytes < c->unread)
                account_give(c->account, ACCOUNT_BYTES, c->unread - bytes);
        c->unread = bytes;
        return true;
}

// The answering side cannot be stopped from here: further answers are dropped with the connection.
static void say_no_room(Client *c, const Argosy__Response *response, size_t bytes, int error) {
        Argosy__Response instead;
        char why[256];

        str_fit(why, sizeof(why),
                "the answer takes %zu bytes, for which there is no room: %s; what was asked for may have "
                "been done",
                bytes,
                error == -ENOBUFS ? "too many answers on this connection have not been read"
                                  : "the requests of this user, and answers that have not been read, take "
                                    "as much memory as one user may have, or all together");
        instead = error_response(EBUSY, why);
        instead.id = response->id;
        (void) stream_send(c->stream, &instead.base);
        if (!response->final || !count_unread(c, 0))
                stream_close(c->stream, error, true);
}

static void client_send(Client *c, const Argosy__Response *response) {
        Argosy__Response instead =
                error_response(E2BIG, "the answer is too long for one frame: ask about fewer");
        size_t bytes = argosy__response__get_packed_size(response);
        bool too_many = stream_queued(c->stream) > API_QUEUE_MAX;
        int r;

        if (too_many || !count_unread(c, bytes)) {
                say_no_room(c, response, bytes, too_many ? -ENOBUFS : -EDQUOT);
                return;
        }
        r = stream_send(c->stream, &response->base);
        if (r == -EMSGSIZE) {
                instead.id = response->id;
                r = stream_send(c->stream, &instead.base);
        }
        // perhaps less than that; any error means that it is closing: `closed` follows
        (void) count_unread(c, 0);
}

void api_call_respond(ApiCall *call, Argosy__Response *response) {
        response->id = call->id;
        client_send(call->client, response);
        if (response->final)
                call_free(call);
}

void api_call_fail(ApiCall *call, int status, const char *format, ...) {
        Argosy__Response response;
        char message[1024];
        va_list ap;

        va_start(ap, format);
        str_vfit(message, sizeof(message), format, ap);
        va_end(ap);
        response = error_response(status, message);
        api_call_respond(call, &response);
}

bool api_call_is_full(const ApiCall *call) {
        return stream_queued(call->client->stream) > STREAM_LOW_WATER;
}

void api_call_set_data(ApiCall *call, void *data) {
        call->data = data;
}

void *api_call_data(const ApiCall *call) {
        return call->data;
}

const Argosy__Author *api_call_author(const ApiCall *call) {
        return call->client->author;
}

static void on_cancel_request(Client *c, uint64_t id) {
        list_foreach_safe (n, &c->calls) {
                ApiCall *call = CONTAINER_OF(n, ApiCall, link);

                if (call->id == id) {
                        cancel_call(call);
                        return;
                }
        }
}

static int refuse(Client *c, uint64_t id, int status, const char *why) {
        Argosy__Response response = error_response(status, why);

        response.id = id;
        client_send(c, &response);
        return 0;
}

// Root, and the user of this process, which could do all of it without us.
static bool is_owner(uid_t uid) {
        return uid == 0 || uid == geteuid();
}

static int on_request(Client *c, Argosy__Request *request) {
        LocalApi *a = c->api;
        ApiCall *call;

        if (request->what_case == ARGOSY__REQUEST__WHAT__NOT_SET) {
                if (request->cancel_id == 0)
                        return refuse(c, request->id, EOPNOTSUPP,
                                      "this daemon does not know that request; is it older than argosyctl?");
                on_cancel_request(c, request->cancel_id);
                return 0;
        }
        if (c->n_calls >= API_CALLS_MAX)
                return refuse(c, request->id, EBUSY, "too many unanswered requests on this connection");
        if (!account_take(c->account, ACCOUNT_REQUESTS, 1))
                return refuse(c, request->id, EBUSY, "too many unanswered requests of this user");
        call = calloc(1, sizeof(*call));
        if (!call) {
                account_give(c->account, ACCOUNT_REQUESTS, 1);
                return -ENOMEM;
        }
        call->client = c;
        call->id = request->id;
        call->bytes = c->coming;
        c->coming = 0;
        list_append(&c->calls, &call->link);
        c->n_calls++;
        account_holding_busy(a->accounts, &c->holding);
        a->ops->request(call, request, a->userdata);
        return 0;
}

static int on_message(Stream *s, ProtobufCMessage *message, void *userdata) {
        Client *c = userdata;
        int r = on_request(c, (Argosy__Request *) message);

        give_bytes(c, c->coming); // it became no request
        c->coming = 0;
        judge_idle(c);
        return r;
}

// ---- bytes, before they are there

static void turn_away(Stream *s, int status, const char *why);

static bool take_bytes(Client *c, size_t n) {
        return account_take_within(c->account, ACCOUNT_BYTES, n,
                                   c->may_submit ? SIZE_MAX : API_SMALL_HELD_MAX);
}

static int refuse_bytes(Client *c) {
        turn_away(c->stream, EBUSY, "the requests of this user take as much memory as one user may have");
        return -EBUSY;
}

static int on_holds(Stream *s, size_t bytes, void *userdata) {
        Client *c = userdata;

        if (bytes < c->held)
                account_give(c->account, ACCOUNT_BYTES, c->held - bytes);
        else if (!take_bytes(c, bytes - c->held))
                return refuse_bytes(c);
        c->held = bytes;
        return 0;
}

static int on_unpacks(Stream *s, size_t bytes, void *userdata) {
        Client *c = userdata;

        if (bytes > (c->may_submit ? account_most(c->account, ACCOUNT_BYTES) : API_SMALL_COST_MAX)) {
                turn_away(s, E2BIG,
                          c->may_submit ? "the request is too long; split it into several"
                                        : "the request is too long for somebody who may not bring content; "
                                          "split it into several");
                return -E2BIG;
        }
        if (!take_bytes(c, bytes))
                return refuse_bytes(c);
        c->coming = bytes;
        if (bytes > API_SMALL_COST_MAX) // it takes its time until it is a message
                account_holding_busy(c->api->accounts, &c->holding);
        return 0;
}

static void on_drained(Stream *s, void *userdata) {
        Client *c = userdata;
        LocalApi *a = c->api;

        (void) count_unread(c, 0); // which is nothing
        judge_idle(c);
        if (a->closing || !a->ops->drained)
                return;
        list_foreach_safe (n, &c->calls)
                a->ops->drained(CONTAINER_OF(n, ApiCall, link), a->userdata);
}

static void client_free(Client *c) {
        LocalApi *a = c->api;

        account_holding_close(a->accounts, &c->holding);
        pthread_mutex_lock(&a->lock); // no thread queues it any more
        list_unlink(&c->evicted);
        pthread_mutex_unlock(&a->lock);
        give_bytes(c, c->coming);
        account_give(c->account, ACCOUNT_BYTES, c->held + c->unread);
        account_leave(c->account);
        list_unlink(&c->link);
        author_names_forget(&c->question);
        message_free(c->author);
        a->n_clients--;
        free(c);
}

static void on_closed(Stream *s, int error, void *userdata) {
        Client *c = userdata;
        LocalApi *a = c->api;

        if (error == -EBADMSG || error == -EMSGSIZE)
                log_warning("A local client (pid %i, uid %u) sent something that is not a request; its "
                            "connection was closed.",
                            (int) stream_peer(s)->pid, (unsigned) stream_peer(s)->uid);
        else if (error == -ENOBUFS)
                log_warning("A local client (pid %i) does not read its answers; its connection was closed.",
                            (int) stream_peer(s)->pid);
        else if (error == -EDQUOT)
                log_warning("Clients of uid %u do not read their answers, which take as much memory as one "
                            "user may have, or all together; the connection of "
                            "pid %i was closed.",
                            (unsigned) stream_peer(s)->uid, (int) stream_peer(s)->pid);
        list_foreach_safe (n, &c->calls)
                cancel_call(CONTAINER_OF(n, ApiCall, link));
        client_free(c);
        maybe_closed(a);
}

static const StreamOps client_ops = {.message = on_message,
                                     .holds = on_holds,
                                     .unpacks = on_unpacks,
                                     .drained = on_drained,
                                     .closed = on_closed};

static void on_turned_away(Stream *s, int error, void *userdata) {
}
static const StreamOps turned_away_ops = {.closed = on_turned_away};

static void turn_away(Stream *s, int status, const char *why) {
        Argosy__Response response = error_response(status, why);

        (void) stream_send(s, &response.base);
        stream_close(s, -status, true);
}

// Called from any thread when another connection gets the place.
static void on_evict(AccountHolding *h) {
        Client *c = CONTAINER_OF(h, Client, holding);
        LocalApi *a = c->api;

        pthread_mutex_lock(&a->lock);
        list_append(&a->evicted, &c->evicted);
        uv_async_send(&a->eviction); // which is open as long as there are clients
        pthread_mutex_unlock(&a->lock);
}

// A client whose user is not known yet has sent no request; put out without a word it would connect again at
// once and put out the next one.
static void put_out(Client *c) {
        c->leaving = true;
        author_names_forget(&c->question);
        if (c->author)
                stream_close(c->stream, -EBUSY, true); // it may not have read its last answer
        else
                turn_away(c->stream, EBUSY, "too many requests are under way");
}

static void on_eviction(uv_async_t *async) {
        LocalApi *a = CONTAINER_OF(async, LocalApi, eviction);
        ListNode evicted = LIST_INIT(evicted);

        pthread_mutex_lock(&a->lock);
        list_splice(&evicted, &a->evicted);
        pthread_mutex_unlock(&a->lock);
        list_foreach_safe (n, &evicted) {
                list_unlink(n);
                put_out(CONTAINER_OF(n, Client, evicted));
        }
}

// What it may do, as it is now; false: nothing at all.
static bool judge_rights(Client *c) {
        const LocalApi *a = c->api;
        LocalApiAdmission may =
                a->ops->admits ? a->ops->admits(c->author, a->userdata) : LOCAL_API_MAY_SUBMIT;

        c->may_submit = may == LOCAL_API_MAY_SUBMIT;
        stream_set_messages(c->stream, &argosy__request__descriptor,
                            c->may_submit ? FRAME_MAX_LOCAL : API_SMALL_FRAME_MAX);
        return may != LOCAL_API_MAY_NOTHING;
}

static void show_out(Client *c) {
        char why[AUTHOR_TEXT_SIZE + 64], who[AUTHOR_TEXT_SIZE];

        c->leaving = true;
        str_fit(why, sizeof(why), "%s has no rights in this cluster", author_text(c->author, who));
        turn_away(c->stream, EACCES, why);
}

static void on_author(const Argosy__Author *author, int error, void *userdata) {
        Client *c = userdata;
        char why[128];

        c->author = author ? message_copy(author) : NULL;
        if (c->author) {
                stream_pause(c->stream, false);
                if (judge_rights(c))
                        account_holding_is_known(c->api->accounts, &c->holding);
                else
                        show_out(c);
                return;
        }
        str_fit(why, sizeof(why), "who uid %u is could not be found out: %s",
                (unsigned) stream_peer(c->stream)->uid,
                error == -EINVAL      ? "it is in too many groups, or one has no proper name"
                : error == -EBUSY     ? "too many others are being looked up"
                : error == -ETIMEDOUT ? "the accounts of this host do not answer"
                                      : strerror(error ? -error : ENOMEM));
        stream_pause(c->stream, false); // or its end is not noticed
        turn_away(c->stream, EBUSY, why);
}

// Nothing is read before it is known who asks.
static void find_author(Client *c) {
        const StreamPeer *peer = stream_peer(c->stream);
        _cleanup_free_ gid_t *groups = NULL;
        Argosy__Author root = author_of_host(0);
        size_t n = 0;
        int r;

        c->question = (AuthorQuestion){.answered = on_author, .userdata = c};
        stream_pause(c->stream, true);
        if (peer->uid == 0) {
                on_author(&root, 0, c);
                return;
        }
        r = stream_peer_groups(c->stream, &groups, &n);
        if (r < 0)
                on_author(NULL, r == -E2BIG ? -EINVAL : r, c);
        else
                author_names_ask(c->api->names, peer->uid, peer->gid, groups, n, is_owner(peer->uid),
                                 &c->question);
}

// NULL: there is no place for it, or no memory.
static Client *client_new(LocalApi *a, Stream *s) {
        uid_t uid = stream_peer(s)->uid;
        Principal of = principal_of_user(0, uid, is_owner(uid));
        Client *c = calloc(1, sizeof(*c));

        if (!c)
                return NULL;
        c->api = a;
        c->stream = s;
        c->holding = (AccountHolding){.evict = on_evict, .kept = true};
        list_init(&c->evicted);
        c->account = account_enter(a->accounts, &of);
        if (!c->account || !account_holding_open(a->accounts, &c->holding, &of)) {
                account_leave(c->account);
                free(c);
                return NULL;
        }
        list_init(&c->calls);
        list_append(&a->clients, &c->link);
        a->n_clients++;
        return c;
}

static void on_accepted(Listener *l, Stream *s, void *userdata) {
        Client *c = client_new(userdata, s);

        if (!c) {
                stream_set_owner(s, &turned_away_ops, NULL);
                turn_away(s, EBUSY, "too many requests are under way");
                return;
        }
        stream_set_owner(s, &client_ops, c);
        stream_set_messages(s, &argosy__request__descriptor, API_SMALL_FRAME_MAX);
        stream_set_frame_deadline(s, API_FRAME_MS);
        stream_set_sender(s, c->account, account_is_owner(c->account) ? API_SMALL_COST_MAX : 0);
        find_author(c);
}

static void on_listener_closed(Listener *l, void *userdata) {
        LocalApi *a = userdata;

        a->n_handles--;
        maybe_closed(a);
}

static const ListenerOps listener_ops = {.accepted = on_accepted, .closed = on_listener_closed};

int local_api_new(uv_loop_t *loop, int fd, Accounts *accounts, const LocalApiOps *ops, void *userdata,
                  LocalApi **ret) {
        LocalApi *a = calloc(1, sizeof(*a));
        int r;

        if (!a)
                return -ENOMEM;
        a->ops = ops;
        a->userdata = userdata;
        a->loop = loop;
        a->accounts = accounts;
        a->n_handles = 2;
        list_init(&a->clients);
        list_init(&a->evicted);
        r = author_names_new(loop, &account_source_system, &a->names);
        if (r < 0) {
                free(a);
                return r;
        }
        r = listener_new_unix(loop, fd, &listener_ops, a, &a->listener);
        if (r < 0) {
                author_names_close(a->names);
                free(a);
                return r;
        }
        pthread_mutex_init(&a->lock, NULL);
        (void) uv_async_init(loop, &a->eviction, on_eviction); // the loop has one already
        *ret = a;
        return 0;
}

AuthorNames *local_api_names(LocalApi *a) {
        return a->names;
}

void local_api_recheck(LocalApi *a) {
        list_foreach_safe (n, &a->clients) {
                Client *c = CONTAINER_OF(n, Client, link);

                if (c->author && !c->leaving && !judge_rights(c))
                        show_out(c);
        }
}

static void on_eviction_closed(uv_handle_t *handle) {
        LocalApi *a = CONTAINER_OF((uv_async_t *) handle, LocalApi, eviction);

        a->n_handles--;
        maybe_closed(a);
}

void local_api_close(LocalApi *a, void (*closed)(void *userdata), void *userdata) {
        a->closing = true;
        a->closed = closed;
        a->closed_data = userdata;
        author_names_close(a->names);
        list_foreach_safe (n, &a->clients)
                stream_close(CONTAINER_OF(n, Client, link)->stream, 0, true);
        listener_close(a->listener);
        uv_close((uv_handle_t *) &a->eviction, on_eviction_closed);
}
