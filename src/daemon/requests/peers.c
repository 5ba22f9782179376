// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the mesh's links say of the voters: for notices, `cluster status` without a leader, and `cluster
// peers`.
//
//      peers_verdict(), peers_notice(), peers_answer_status(): what links say
//      peers_try(): the mesh dials addresses that a person gave
//
// Nothing is asked over the network, so these answer at any time. A notice is the caller's; NULL: none, or
// no memory. peers_try(): -EINVAL and *ret_why for an address that is none, or for more than PEERS_GIVEN_MAX
// of them.

#include <errno.h>

#include "buf.h"
#include "cluster-state.h"
#include "daemon.h"
#include "host-address.h"
#include "mesh.h"
#include "message-of.h"
#include "peers.h"
#include "str.h"

typedef char NameText[64];

static const char *name_of(const Daemon *d, const MeshLinkInfo *l, NameText buf) {
        return *l->peer->host_name ? l->peer->host_name
                                   : daemon_host_name((Daemon *) d, l->host, buf, sizeof(NameText));
}

static int append_peer(const Daemon *d, Buf *text, const MeshLinkInfo *l) {
        NameText name;
        int r;

        r = buf_printf(text, "%s (", name_of(d, l, name));
        if (r == 0 && *l->peer->name)
                r = buf_printf(text, "%s, ", l->peer->name);
        if (r == 0 && *l->peer->address)
                r = buf_printf(text, "%s, ", l->peer->address);
        return r < 0 ? r
                     : buf_printf(text, "port %u: %s)", l->peer->port, *l->why ? l->why : "being dialled");
}

static PeersVerdict judge(const MeshLinkInfo *links, size_t n) {
        size_t count[MESH_REFUSED_REMOVED + 1] = {};

        for (size_t i = 0; i < n; i++) {
                if (links[i].up)
                        return PEERS_SILENT;
                count[links[i].refusal]++;
        }
        if (count[MESH_REFUSED_REMOVED] > 0)
                return PEERS_REMOVED;
        return 2 * count[MESH_REFUSED_UNKNOWN] > n ? PEERS_UNKNOWN : PEERS_SILENT;
}

PeersVerdict peers_verdict(const Daemon *d) {
        MeshLinkInfo links[MESH_VOTERS_MAX];

        return judge(links, mesh_links(d->mesh, links, ELEMENTSOF(links)));
}

// Appends the names of the voters that refuse this host for that reason.
static int append_names(const Daemon *d, Buf *text, const MeshLinkInfo *links, size_t n,
                        MeshRefusal refusal) {
        const char *separator = "";
        NameText name;
        int r = 0;

        for (size_t i = 0; r == 0 && i < n; i++) {
                if (links[i].refusal != refusal)
                        continue;
                r = buf_printf(text, "%s%s", separator, name_of(d, &links[i], name));
                separator = ", ";
        }
        return r;
}

#define WAYS_OUT                                                                                    \
        "`argosyctl cluster join ADDRESS TOKEN` makes it a member again, `argosyctl cluster leave " \
        "--force` makes it a host "                                                                 \
        "of its own; both stop the units that it has from the cluster"

static char *removal_notice(const Daemon *d, const MeshLinkInfo *links, size_t n, PeersVerdict verdict) {
        _cleanup_buf_ Buf text = {};
        int r;

        if (verdict == PEERS_REMOVED) {
                r = buf_printf(&text, "this host was removed from the cluster, says ");
                if (r == 0)
                        r = append_names(d, &text, links, n, MESH_REFUSED_REMOVED);
                if (r == 0)
                        r = buf_printf(&text, ": " WAYS_OUT);
        } else {
                r = append_names(d, &text, links, n, MESH_REFUSED_UNKNOWN);
                if (r == 0)
                        r = buf_printf(&text, " refused this host, whose key they do not know: if it was "
                                              "removed from the cluster, " WAYS_OUT);
        }
        return r < 0 ? NULL : str_printf("%.*s", (int) text.len, (const char *) text.data);
}

char *peers_notice(const Daemon *d) {
        MeshLinkInfo links[MESH_VOTERS_MAX];
        size_t n = mesh_links(d->mesh, links, ELEMENTSOF(links)), n_down = 0;
        PeersVerdict verdict = judge(links, n);
        _cleanup_buf_ Buf text = {};

        if (verdict != PEERS_SILENT)
                return removal_notice(d, links, n, verdict);

        for (size_t i = 0; i < n; i++) {
                if (links[i].up)
                        continue;
                if (buf_printf(&text, n_down++ ? ", " : "voters that this host does not find: ") < 0 ||
                    append_peer(d, &text, &links[i]) < 0)
                        return NULL;
        }
        if (n_down == 0)
                return NULL;
        if (buf_printf(&text, "; if %s under another address now: argosyctl cluster peers ADDRESS...",
                       n_down == 1 ? "it is" : "they are") < 0)
                return NULL;
        if (n_down == n && !(d->state && cluster_state_cluster(d->state)) &&
            buf_printf(&text, ". If the cluster has other voters by now, and none of these hosts is a "
                              "member of it any more, this host cannot "
                              "find it: " WAYS_OUT) < 0)
                return NULL;
        return str_printf("%.*s", (int) text.len, (const char *) text.data);
}

static void fill_member(const Daemon *d, const Argosy__Voter *v,
                        Argosy__Response__ClusterStatus__Member *ret) {
        MeshLinkInfo links[MESH_VOTERS_MAX];
        size_t n = mesh_links(d->mesh, links, ELEMENTSOF(links));

        argosy__response__cluster_status__member__init(ret);
        ret->host = v->host;
        ret->raft_id = v->raft_id;
        ret->name = *v->host_name ? v->host_name : "?";
        ret->address = *v->name ? v->name : v->address;
        ret->role = "voter";
        ret->state = "not found";
        for (size_t i = 0; i < n; i++)
                if (links[i].host == v->host && (links[i].up || links[i].refusal != MESH_NOT_REFUSED))
                        ret->state = links[i].up                                ? "found"
                                     : links[i].refusal == MESH_REFUSED_GUIDED ? "no voter"
                                                                               : "refuses";
}

void peers_answer_status(const Daemon *d, void (*respond)(const Argosy__Response *response, void *userdata),
                         void *userdata) {
        Argosy__Response__ClusterStatus status = ARGOSY__RESPONSE__CLUSTER_STATUS__INIT;
        Argosy__Response response = RESPONSE_OF(CLUSTER_STATUS, cluster_status, &status);
        Argosy__Response__ClusterStatus__Member members[MESH_VOTERS_MAX], *list[MESH_VOTERS_MAX];
        char hex[2 * 16 + 1];

        hex_encode(d->peers->cluster_id.data, 16, hex);
        for (size_t i = 0; i < d->peers->n_voters && i < ELEMENTSOF(members); i++) {
                fill_member(d, d->peers->voters[i], &members[i]);
                list[status.n_members++] = &members[i];
        }
        status.members = list;
        status.cluster_id = hex;
        status.generation = d->peers->generation;
        status.role = "spare";
        response.final = true;
        respond(&response, userdata);
}

int peers_try(Daemon *d, char *const *addresses, size_t n, char **ret_why) {
        MeshLinkInfo links[MESH_VOTERS_MAX];
        MeshAddress given[PEERS_GIVEN_MAX] = {};
        size_t n_links = mesh_links(d->mesh, links, ELEMENTSOF(links)), n_down = 0;

        if (n == 0 || n > PEERS_GIVEN_MAX) {
                *ret_why = str_printf("one to %u addresses at a time", PEERS_GIVEN_MAX);
                return -EINVAL;
        }
        for (size_t i = 0; i < n; i++) {
                given[i].port = ARGOSY_PORT;
                if (host_address_split(addresses[i], given[i].text, sizeof(given[i].text), &given[i].port) &&
                    host_address_may_be_configured(given[i].text))
                        continue;
                *ret_why = str_printf("'%.100s'%s", addresses[i],
                                      host_address_is_of_a_link(given[i].text)
                                              ? ": " HOST_ADDRESS_LINK_WORDS
                                              : " is not an address (HOST, HOST:PORT or [IPV6]:PORT)");
                return -EINVAL;
        }
        for (size_t i = 0; i < n_links; i++)
                n_down += !links[i].up;
        mesh_try_addresses(d->mesh, given, n);
        *ret_why = n_down == 0 ? str_printf("this host finds all other voters that it knows of already")
                               : str_printf("looking there for %zu voter%s; see `argosyctl cluster status`",
                                            n_down, n_down == 1 ? "" : "s");
        return 0;
}
