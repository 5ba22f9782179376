// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The local socket.
//
//   accepted -> Client -> its author is known -> frame -> ApiCall -> ops->request ... api_call_respond() -> frame to
//                                                                                                   the client
//
// lifetime      born                         dies
// Client        accepted                     its stream's `closed`
// ApiCall       a frame with a request       final response, cancel, or with its Client
//
// Whoever may connect is decided by the socket's mode and group; who it is, by what the kernel says of the other end when
// it connected. Nothing is read before the accounts have told the names of that (author-names.h); root has no need of
// them, and never waits for somebody's directory. Then ops->admits() has the word: the socket may be open to users of this
// machine who may do nothing at all, and these take nobody's place. Of those who may do something, root's is kept free.

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include <unistd.h>

#include "author-names.h"
#include "author.h"
#include "error-response.h"
#include "frame.h"
#include "list.h"
#include "local-api.h"
#include "log.h"
#include "message.h"
#include "str.h"
#include "stream.h"

typedef struct Client {
        LocalApi *api;
        Stream *stream;
        ListNode link; // in LocalApi.clients
        ListNode calls;
        size_t n_calls;
        bool leaving; // made room for another one
        Argosy__Author *author; // NULL: not known yet
        AuthorQuestion question;
} Client;

struct ApiCall {
        Client *client;
        ListNode link;
        uint64_t id;
        void *data;
};

struct LocalApi {
        const LocalApiOps *ops;
        void *userdata;
        Listener *listener;
        AuthorNames *names;
        ListNode clients; // who asked or was answered last stands at the end
        size_t n_clients;
        bool closing, listener_closed;
        void (*closed)(void *userdata);
        void *closed_data;
};

static void touch(Client *c) {
        list_unlink(&c->link);
        list_append(&c->api->clients, &c->link);
}

static void call_free(ApiCall *call) {
        list_unlink(&call->link);
        call->client->n_calls--;
        touch(call->client);
        free(call);
}

static void maybe_closed(LocalApi *a) {
        if (!a->closing || !a->listener_closed || a->n_clients > 0)
                return;
        if (a->closed)
                a->closed(a->closed_data);
        free(a);
}

static void cancel_call(ApiCall *call) {
        LocalApi *a = call->client->api;

        if (!a->closing)
                a->ops->cancelled(call, a->userdata);
        call_free(call);
}

static void client_send(Client *c, const Argosy__Response *response) {
        Argosy__Response instead =
                error_response(E2BIG, "the answer is too long for one frame: ask about fewer");

        if (stream_queued(c->stream) > API_QUEUE_MAX) {
                stream_close(c->stream, -ENOBUFS, false);
                return;
        }
        if (stream_send(c->stream, &response->base) != -EMSGSIZE)
                return; // any other error means that it is closing: `closed` follows
        instead.id = response->id;
        (void) stream_send(c->stream, &instead.base);
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

// Root, and whoever this process runs as, who could do all of it by himself.
static bool is_owner(uid_t uid) {
        return uid == 0 || uid == geteuid();
}

// Whether the user has as many requests under way as one may have.
static bool has_enough(const Client *c) {
        uid_t uid = stream_peer(c->stream)->uid;
        size_t n = 0;

        if (is_owner(uid))
                return false;
        list_foreach (i, &c->api->clients) {
                const Client *other = CONTAINER_OF(i, const Client, link);

                n += stream_peer(other->stream)->uid == uid ? other->n_calls : 0;
        }
        return n >= API_CALLS_PER_USER;
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
        if (has_enough(c))
                return refuse(c, request->id, EBUSY, "too many unanswered requests of this user");
        call = calloc(1, sizeof(*call));
        if (!call)
                return -ENOMEM;
        call->client = c;
        call->id = request->id;
        list_append(&c->calls, &call->link);
        c->n_calls++;
        touch(c);
        a->ops->request(call, request, a->userdata);
        return 0;
}

static int on_message(Stream *s, ProtobufCMessage *message, void *userdata) {
        return on_request(userdata, (Argosy__Request *) message);
}

static void on_drained(Stream *s, void *userdata) {
        Client *c = userdata;
        LocalApi *a = c->api;

        if (a->closing || !a->ops->drained)
                return;
        list_foreach_safe (n, &c->calls)
                a->ops->drained(CONTAINER_OF(n, ApiCall, link), a->userdata);
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
        list_foreach_safe (n, &c->calls)
                cancel_call(CONTAINER_OF(n, ApiCall, link));
        list_unlink(&c->link);
        author_names_forget(&c->question);
        message_free(c->author);
        a->n_clients--;
        free(c);
        maybe_closed(a);
}

static const StreamOps client_ops = {.message = on_message, .drained = on_drained, .closed = on_closed};

static void on_turned_away(Stream *s, int error, void *userdata) {
}
static const StreamOps turned_away_ops = {.closed = on_turned_away};

static void turn_away(Stream *s, int status, const char *why) {
        Argosy__Response response = error_response(status, why);

        (void) stream_send(s, &response.base);
        stream_close(s, -status, true);
}

// Who has not asked yet, since it is not known who he is, asks again by himself when he is put out without a word, and puts out the
// next one.
static void put_out(Client *c) {
        c->leaving = true;
        author_names_forget(&c->question);
        if (c->author)
                stream_close(c->stream, -EBUSY, false);
        else
                turn_away(c->stream, EBUSY, "too many requests are under way");
}

// Whether there is room for another client of that user, perhaps because the longest idle one went. Clients
// that are closing do not count: they are gone with the next turn.
static bool make_room(LocalApi *a, uid_t uid) {
        Client *idlest = NULL, *idlest_of_user = NULL, *idlest_other = NULL;
        size_t n = 0, n_of_user = 0, n_others = 0;
        bool owner = is_owner(uid);

        list_foreach (i, &a->clients) {
                Client *c = CONTAINER_OF(i, Client, link);
                bool of_user = stream_peer(c->stream)->uid == uid, other = !is_owner(stream_peer(c->stream)->uid);

                if (c->leaving)
                        continue;
                n++;
                n_of_user += of_user;
                n_others += other;
                // It waits, or has not read all of its answer.
                if (c->n_calls > 0 || stream_queued(c->stream) > 0)
                        continue;
                // So does this one; only others need not wait for his accounts.
                if (of_user && !c->author)
                        continue;
                idlest = idlest ?: c;
                if (of_user && !idlest_of_user)
                        idlest_of_user = c;
                if (other && !idlest_other)
                        idlest_other = c;
        }
        if (n_of_user < API_CLIENTS_PER_USER && n < API_CLIENTS_MAX && (owner || n_others < API_CLIENTS_OTHERS_MAX))
                return true;
        if (n_of_user >= API_CLIENTS_PER_USER)
                idlest = idlest_of_user;
        else if (!owner && n_others >= API_CLIENTS_OTHERS_MAX)
                idlest = idlest_other;
        if (!idlest)
                return false;
        put_out(idlest);
        return true;
}

static bool is_admitted(const Client *c) {
        const LocalApi *a = c->api;

        return !a->ops->admits || a->ops->admits(c->author, a->userdata);
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
                if (!is_admitted(c))
                        show_out(c);
                return;
        }
        str_fit(why, sizeof(why), "who uid %u is could not be found out: %s", (unsigned) stream_peer(c->stream)->uid,
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
                author_names_ask(c->api->names, peer->uid, peer->gid, groups, n, is_owner(peer->uid), &c->question);
}

static void on_accepted(Listener *l, Stream *s, void *userdata) {
        LocalApi *a = userdata;
        Client *c = NULL;

        if (make_room(a, stream_peer(s)->uid))
                c = calloc(1, sizeof(*c));
        if (!c) {
                stream_set_owner(s, &turned_away_ops, NULL);
                turn_away(s, EBUSY, "too many requests are under way");
                return;
        }
        c->api = a;
        c->stream = s;
        list_init(&c->calls);
        list_append(&a->clients, &c->link);
        a->n_clients++;
        stream_set_owner(s, &client_ops, c);
        stream_set_messages(s, &argosy__request__descriptor, FRAME_MAX_LOCAL);
        find_author(c);
}

static void on_listener_closed(Listener *l, void *userdata) {
        LocalApi *a = userdata;

        a->listener_closed = true;
        maybe_closed(a);
}

static const ListenerOps listener_ops = {.accepted = on_accepted, .closed = on_listener_closed};

int local_api_new(uv_loop_t *loop, int fd, const LocalApiOps *ops, void *userdata, LocalApi **ret) {
        LocalApi *a = calloc(1, sizeof(*a));
        int r;

        if (!a)
                return -ENOMEM;
        a->ops = ops;
        a->userdata = userdata;
        list_init(&a->clients);
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
        *ret = a;
        return 0;
}

AuthorNames *local_api_names(LocalApi *a) {
        return a->names;
}

void local_api_recheck(LocalApi *a) {
        list_foreach_safe (n, &a->clients) {
                Client *c = CONTAINER_OF(n, Client, link);

                if (c->author && !c->leaving && !is_admitted(c))
                        show_out(c);
        }
}

void local_api_close(LocalApi *a, void (*closed)(void *userdata), void *userdata) {
        a->closing = true;
        a->closed = closed;
        a->closed_data = userdata;
        author_names_close(a->names);
        list_foreach_safe (n, &a->clients)
                stream_close(CONTAINER_OF(n, Client, link)->stream, 0, true);
        listener_close(a->listener);
}
