// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Messages from other hosts on their way to leader, agent and router, and what follows when another host
// leads. Each message goes to one of them; what none of them knows is the agent's to ignore. Messages that
// arrive while the daemon ends are dropped: their senders begin anew with the next one.

#include <errno.h>

#include "agent.h"
#include "clock.h"
#include "cluster-state.h"
#include "daemon-ca.h"
#include "daemon-log.h"
#include "daemon-mesh.h"
#include "daemon-secrets.h"
#include "daemon-voters.h"
#include "daemon.h"
#include "join.h"
#include "leader.h"
#include "log.h"
#include "mesh.h"
#include "named-voters.h"
#include "peers.h"
#include "renew.h"
#include "router.h"
#include "router-pack.h"
#include "router-leave.h"
#include "router-dispatch.h"
#include "socket-access.h"

// The mesh ends last, since the log needs it to close. What it hears meanwhile has nobody to go to any more.
static bool is_ending(const Daemon *d) {
        return !d->router;
}

static void on_leader_changed(uint32_t leader, uint64_t term, void *userdata) {
        Daemon *d = userdata;
        char name[64];

        if (is_ending(d))
                return;
        if (leader == 0 && d->known_leader != 0)
                log_warning("No leader can be reached; units go on running.");
        else if (leader != 0 && leader != d->known_leader)
                log_info("The leader is %s (term %llu).", daemon_host_name(d, leader, name, sizeof(name)),
                         (unsigned long long) term);
        if (leader == 0 && d->known_leader != 0)
                d->leader_seen_us = clock_boot_us();
        d->known_leader = leader;
        if (leader != 0)
                d->leader_term = term;
        agent_on_leader(d->agent, leader, term);
        router_on_leader_changed(d->router);
        daemon_status(d);
}

static void on_forgotten(const Argosy__Response *response, void *userdata) {
        router_on_removed(((Daemon *) userdata)->router, response);
}

static void on_to_host(const Argosy__ToHost *m, void *userdata) {
        Daemon *d = userdata;

        if (is_ending(d))
                return;
        switch (m->msg_case) {
        case ARGOSY__TO_HOST__MSG_FORWARD_REPLY:
                if (m->forward_reply->response)
                        router_on_forward_reply(d->router, m->forward_reply->id, m->forward_reply->response);
                break;
        case ARGOSY__TO_HOST__MSG_STORE_OPEN:
                daemon_log_on_store_open(d, m->store_open);
                break;
        case ARGOSY__TO_HOST__MSG_STORE_CLOSE:
                daemon_log_on_store_close(d, m->store_close->raft_id);
                break;
        case ARGOSY__TO_HOST__MSG_REMOVED:
                log_notice("This host was removed from the cluster: %s", m->removed->why);
                join_reset(d, m->removed->why, on_forgotten, d);
                break;
        case ARGOSY__TO_HOST__MSG_WELCOME:
                if (m->welcome->generation > d->peers->generation)
                        daemon_update_peers(d, d->peers->voters, d->peers->n_voters, m->welcome->generation);
                agent_on_message(d->agent, m);
                renew_if_due(d);
                renew_report(d);
                daemon_secrets_report(d);
                break;
        case ARGOSY__TO_HOST__MSG_VOTER_SECRETS:
                daemon_secrets_on_message(d, m->voter_secrets);
                break;
        case ARGOSY__TO_HOST__MSG_ACCESS:
                socket_access_on_message(d, m->access);
                router_on_access_changed(d->router);
                break;
        case ARGOSY__TO_HOST__MSG_RENEW_ASKED:
                renew_ask(d);
                break;
        case ARGOSY__TO_HOST__MSG_RENEWED:
                renew_on_renewed(d, m->renewed);
                break;
        default:
                agent_on_message(d->agent, m);
        }
}

static void on_to_leader(uint32_t host, Argosy__ToVoter *m, void *userdata) {
        Daemon *d = userdata;

        if (d->leading)
                leader_on_message(d->leader, host, m);
}

static void on_host_link(uint32_t host, const Argosy__ToVoter__Hello *hello, void *userdata) {
        Daemon *d = userdata;

        if (!hello)
                heap_keeper_note(&d->heap, HEAP_CONNECTION);
        if (d->leader)
                leader_on_host_link(d->leader, host, hello);
}

static void on_host_drained(uint32_t host, void *userdata) {
        Daemon *d = userdata;

        if (d->leader)
                leader_on_host_drained(d->leader, host);
}

static void on_leader_drained(void *userdata) {
        Daemon *d = userdata;

        if (!is_ending(d))
                router_on_leader_drained(d->router);
}

static void on_voters_announced(Argosy__Voter *const *voters, size_t n, void *userdata) {
        daemon_voters_on_announced(userdata, voters, n);
}

static void on_voters_named(Argosy__Voter *const *voters, size_t n, void *userdata) {
        named_voters_add(userdata, voters, n);
}

static void on_link_failed(uint32_t host, const char *why, void *userdata) {
        char name[64];

        log_host(LOG_INFO, daemon_host_name(userdata, host, name, sizeof(name)), "Link to %s: %s", name,
                 why);
}

// As if the leader had told it, when it was not there.
static void on_removed(void *userdata) {
        Daemon *d = userdata;
        _cleanup_free_ char *notice = peers_notice(d);

        if (is_ending(d))
                return;
        log_notice("This host was removed from the cluster while it could not hear of it.");
        if (d->config.stop_when_removed)
                join_reset(d, "removed while it was away", on_forgotten, d);
        else
                log_warning("Its units go on running (StopWhenRemoved=no): %s.", notice ?: strerror(ENOMEM));
}

static void on_renewed(const Argosy__ToHost__Renewed *renewed, void *userdata) {
        Daemon *d = userdata;

        if (!is_ending(d))
                renew_on_renewed(d, renewed);
}

static void on_links_changed(void *userdata) {
        Daemon *d = userdata;

        if (d->end == DAEMON_RUNNING)
                address_check(d);
}

static const MeshOps mesh_ops = {
        .leader_changed = on_leader_changed,
        .to_host = on_to_host,
        .to_leader = on_to_leader,
        .host_link = on_host_link,
        .voters_announced = on_voters_announced,
        .voters_named = on_voters_named,
        .host_drained = on_host_drained,
        .leader_drained = on_leader_drained,
        .link_failed = on_link_failed,
        .removed = on_removed,
        .sign = daemon_ca_sign,
        .renew_request = renew_request,
        .renewed = on_renewed,
        .links_changed = on_links_changed,
};

int daemon_mesh_open(Daemon *d) {
        MeshConfig config = {
                .loop = d->loop,
                .self = d->peers->host,
                .tls = d->tls,
                .cluster_id = d->peers->cluster_id.data,
                .generation = d->peers->generation,
        };
        int r;

        memcpy(config.boot_id, d->boot_id, sizeof(config.boot_id));
        r = mesh_new(&config, &mesh_ops, d, &d->mesh);
        if (r < 0)
                return r;
        daemon_voters_on_announced(d, d->peers->voters, d->peers->n_voters);
        return 0;
}
