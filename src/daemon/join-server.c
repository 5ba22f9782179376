// SPDX-License-Identifier: LGPL-2.1-or-later
//
// accept -> one JoinRequest within the rate -> Request.Join through the router to the leader -> JoinReply ->
// close
//
// Whatever goes wrong on the way, the stream's `closed` or its deadline ends it; nothing here survives
// JOIN_TIMEOUT_MS.

#include <errno.h>

#include "clock.h"
#include "cluster-state.h"
#include "daemon.h"
#include "frame.h"
#include "join-server.h"
#include "list.h"
#include "log.h"
#include "message.h"
#include "refusal-log.h"
#include "router.h"
#include "stream.h"

typedef struct Joiner {
        JoinServer *server;
        Stream *stream;
        ListNode link;
        Route *route;
        bool asked;
} Joiner;

struct JoinServer {
        Daemon *daemon;
        ListNode joiners;
        size_t n_joiners;
        double allowance; // token bucket
        uint64_t allowance_us;
        bool closing;
};

static void maybe_free(JoinServer *server) {
        if (server->closing && server->n_joiners == 0)
                free(server);
}

static bool within_rate(JoinServer *j, uint64_t now) {
        j->allowance += (double) (now - j->allowance_us) / (double) USEC_PER_SEC * JOIN_RATE_PER_SEC;
        j->allowance_us = now;
        if (j->allowance > JOIN_BURST)
                j->allowance = JOIN_BURST;
        if (j->allowance < 1)
                return false;
        j->allowance -= 1;
        return true;
}

static void reply(Joiner *j, Argosy__JoinReply *message) {
        (void) stream_send(j->stream, &message->base);
        stream_close(j->stream, 0, true);
}

static void refuse(Joiner *j, const char *why) {
        Argosy__JoinReply message = ARGOSY__JOIN_REPLY__INIT;
        const char *address = stream_peer(j->stream)->address;

        message.error = (char *) why;
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

static int on_frame(Stream *s, const uint8_t *payload, size_t len, void *userdata) {
        Joiner *j = userdata;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        Argosy__Request__Join join = ARGOSY__REQUEST__JOIN__INIT;
        const char *why;
        int r;

        if (j->asked)
                return -EBADMSG;
        j->asked = true;
        why = why_not(j->server->daemon);
        if (why) {
                refuse(j, why);
                return 0;
        }
        if (!within_rate(j->server, clock_boot_us())) {
                refuse(j, "too many join requests at the moment; try again in some seconds");
                return 0;
        }
        join.join = (Argosy__JoinRequest *) frame_unpack(&argosy__join_request__descriptor, payload, len);
        if (!join.join)
                return -EBADMSG;
        join.peer_address = (char *) stream_peer(s)->address;
        request.what_case = ARGOSY__REQUEST__WHAT_JOIN;
        request.join = &join;
        r = router_submit(j->server->daemon->router, message_copy(&request), NULL, on_answer, j, &j->route);
        argosy__join_request__free_unpacked(join.join, NULL);
        return r;
}

static void on_closed(Stream *s, int error, void *userdata) {
        Joiner *j = userdata;
        JoinServer *server = j->server;

        if ((error == -EBADMSG || error == -EMSGSIZE) &&
            refusal_log_allows(server->daemon, stream_peer(s)->address, "it sent no join request"))
                log_notice("A host at %s sent something that is not a join request; its connection was closed.",
                           stream_peer(s)->address);
        if (j->route)
                router_cancel(j->route);
        list_unlink(&j->link);
        server->n_joiners--;
        free(j);
        maybe_free(server);
}

static const StreamOps joiner_ops = {.frame = on_frame, .closed = on_closed};

void join_server_accept(JoinServer *server, Stream *stream) {
        Joiner *j = NULL;

        if (server->n_joiners < JOIN_STREAMS_MAX)
                j = calloc(1, sizeof(*j));
        if (!j) {
                stream_close(stream, -EBUSY, false);
                return;
        }
        j->server = server;
        j->stream = stream;
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
        server->allowance = JOIN_BURST;
        server->allowance_us = clock_boot_us();
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
