// SPDX-License-Identifier: LGPL-2.1-or-later
//
// accept -> JoinRequest with a token's id, within the rate -> Request.Join through the router to the leader
// -> JoinReply -> JoinRequest with all -> likewise -> JoinReply -> close
//
// What the two prove to each other is the leader's and the joiner's business (join-token.h); this host adds
// the secret of the connection, so that it holds for this one.
//
// Whatever goes wrong on the way, the stream's `closed` or its deadline ends it; nothing here survives
// JOIN_TIMEOUT_MS. Where an address, or all of them, have as many streams as they may, the one that has said
// nothing for longest makes room: so strangers who keep silent keep nobody out.

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "clock.h"
#include "cluster-state.h"
#include "daemon.h"
#include "frame.h"
#include "join-pace.h"
#include "join-server.h"
#include "list.h"
#include "log.h"
#include "message-of.h"
#include "message.h"
#include "refusal-log.h"
#include "router.h"
#include "stream.h"

enum { JOIN_REQUESTS = 2 }; // of one joiner

typedef struct Joiner {
        JoinServer *server;
        Stream *stream;
        ListNode link;
        Principal from; // its address
        Route *route;
        unsigned n_asked; // of JOIN_REQUESTS
        bool leaving;     // it made room for another one
} Joiner;

struct JoinServer {
        Daemon *daemon;
        ListNode joiners; // the oldest first
        size_t n_joiners;
        JoinPace pace;
        bool closing;
};

static void maybe_free(JoinServer *server) {
        if (server->closing && server->n_joiners == 0)
                free(server);
}

static void reply(Joiner *j, Argosy__JoinReply *message) {
        (void) stream_send(j->stream, &message->base);
        if (*message->error || j->n_asked == JOIN_REQUESTS)
                stream_close(j->stream, 0, true);
}

static void refuse(Joiner *j, const char *why) {
        Argosy__JoinReply message = MESSAGE_OF(join_reply, .error = (char *) why);
        const char *address = stream_peer(j->stream)->address;

        if (refusal_log_allows(j->server->daemon, address, why))
                log_notice("A host at %s asked to join and was refused: %s", address, why);
        reply(j, &message);
}

// Whether this host takes joiners: not while it becomes somebody else itself, and not once it knows that it
// was removed.
static const char *why_not(const Daemon *d) {
        if (d->joining)
                return "this host is joining or leaving a cluster itself at the moment: ask another one";
        if (d->state && cluster_state_raft_id_is_retired(d->state, d->peers->raft_id) &&
            !cluster_state_find_host_by_pin(d->state, &d->identity.pin))
                return "this host was removed from its cluster: ask another one";
        return NULL;
}

static void on_answer(const Argosy__Response *response, void *userdata) {
        Joiner *j = userdata;

        j->route = NULL;
        if (response->status != 0 || response->what_case != ARGOSY__RESPONSE__WHAT_JOIN)
                refuse(j, *response->message ? response->message : "the leader gave no answer");
        else if (*response->join->error)
                refuse(j, response->join->error);
        else
                reply(j, response->join);
}

static int ask_leader(Joiner *j, Argosy__JoinRequest *q) {
        Argosy__Request__Join join = ARGOSY__REQUEST__JOIN__INIT;
        Argosy__Request request = REQUEST_OF(JOIN, join, &join);
        uint8_t channel[STREAM_CHANNEL_SIZE];
        int r = stream_channel(j->stream, channel);

        if (r < 0)
                return r;
        join.join = q;
        join.peer_address = (char *) stream_peer(j->stream)->address;
        join.channel = (ProtobufCBinaryData){sizeof(channel), channel};
        return router_submit(j->server->daemon->router, message_copy(&request), NULL, on_answer, j,
                             &j->route);
}

static int on_frame(Stream *s, const uint8_t *payload, size_t len, void *userdata) {
        Joiner *j = userdata;
        Argosy__JoinRequest *q;
        const char *why;
        int r = -EBADMSG;

        if (j->route || j->n_asked == JOIN_REQUESTS)
                return -EBADMSG;
        why = why_not(j->server->daemon);
        if (!why && j->n_asked == 0 && !join_pace_takes(&j->server->pace, &j->from, clock_boot_us()))
                why = "too many join requests at the moment; try again in some seconds";
        if (why) {
                refuse(j, why);
                return 0;
        }
        q = (Argosy__JoinRequest *) frame_unpack(&argosy__join_request__descriptor, payload, len);
        if (q && (q->body.len > 0) == (j->n_asked > 0)) { // the id alone, then all
                j->n_asked++;
                r = ask_leader(j, q);
        }
        message_free(q);
        return r;
}

static void on_closed(Stream *s, int error, void *userdata) {
        Joiner *j = userdata;
        JoinServer *server = j->server;

        if ((error == -EBADMSG || error == -EMSGSIZE) &&
            refusal_log_allows(server->daemon, stream_peer(s)->address, "it sent no join request"))
                log_notice(
                        "A host at %s sent something that is not a join request; its connection was closed.",
                        stream_peer(s)->address);
        if (j->route)
                router_cancel(j->route);
        list_unlink(&j->link);
        server->n_joiners--;
        free(j);
        maybe_free(server);
}

static const StreamOps joiner_ops = {.frame = on_frame, .closed = on_closed};

static Principal address_of(const Stream *stream) {
        const char *text = stream_peer(stream)->address;
        struct sockaddr_storage from = {};

        if (uv_ip4_addr(text, 0, (struct sockaddr_in *) &from) < 0)
                (void) uv_ip6_addr(text, 0, (struct sockaddr_in6 *) &from);
        return principal_of_address((struct sockaddr *) &from);
}

static bool is_from(const Joiner *j, const Principal *from) {
        return memcmp(&j->from, from, sizeof(*from)) == 0;
}

// The number of join connections of that address, or of all (NULL).
static size_t count(const JoinServer *server, const Principal *from) {
        size_t n = 0;

        list_foreach (node, &server->joiners) {
                const Joiner *j = CONTAINER_OF(node, Joiner, link);

                n += !j->leaving && (!from || is_from(j, from));
        }
        return n;
}

// The same; for which we do not wait ourselves.
static Joiner *find_silent(const JoinServer *server, const Principal *from) {
        list_foreach (node, &server->joiners) {
                Joiner *j = CONTAINER_OF(node, Joiner, link);

                if (!j->leaving && !j->route && (!from || is_from(j, from)))
                        return j;
        }
        return NULL;
}

static bool make_room(JoinServer *server, const Principal *from) {
        bool own_are_full = count(server, from) >= JOIN_STREAMS_EACH;
        Joiner *j;

        if (!own_are_full && count(server, NULL) < JOIN_STREAMS_MAX)
                return true;
        j = find_silent(server, own_are_full ? from : NULL);
        if (!j)
                return false;
        j->leaving = true;
        stream_close(j->stream, -EBUSY, false);
        return true;
}

void join_server_accept(JoinServer *server, Stream *stream) {
        Principal from = address_of(stream);
        Joiner *j = make_room(server, &from) ? calloc(1, sizeof(*j)) : NULL;

        if (!j) {
                stream_close(stream, -EBUSY, false);
                return;
        }
        j->server = server;
        j->stream = stream;
        j->from = from;
        list_append(&server->joiners, &j->link);
        server->n_joiners++;
        stream_set_owner(stream, &joiner_ops, j);
        stream_set_frames(stream, FRAME_MAX_JOIN);
        stream_set_deadline(stream, JOIN_TIMEOUT_MS);
}

int join_server_new(Daemon *d, JoinServer **ret) {
        JoinServer *server = calloc(1, sizeof(*server));

        if (!server)
                return -ENOMEM;
        server->daemon = d;
        list_init(&server->joiners);
        *ret = server;
        return 0;
}

void join_server_close(JoinServer *server) {
        list_foreach_safe (n, &server->joiners) {
                Joiner *j = CONTAINER_OF(n, Joiner, link);

                j->route = NULL; // the router is closing too
                stream_close(j->stream, 0, false);
        }
        server->closing = true;
        maybe_free(server);
}
