// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See socket-access.h. The socket is root's and that of the group argosy. Only while somebody else has a
// right in the cluster may all users of this machine connect to it, by its mode. Users without a right are
// disconnected as soon as they are identified, and those that lose their right, at once.
//
// Each request is judged again where it is answered, so a host with an old list lets no user do too much; a
// user with a new right may only have to wait until the host has heard of it. What a host answers alone it
// judges by the newest list that it knows: its copy of the log, or what a leader has sent it. The latter is
// kept in the peers file, since a log that is read again after a restart is old until a leader says how much
// of it counts, and a host without a log had nothing at all: a user whose right was revoked would have it
// back at each start, long enough to take the host into another cluster.

#include "socket-access.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "access-token.h"
#include "cluster-state.h"
#include "daemon.h"
#include "leader.h"
#include "local-api.h"
#include "log.h"
#include "message.h"
#include "paths.h"
#include "state-writer.h"
#include "str.h"

enum { MODE_OTHERS = S_IROTH | S_IWOTH };

static bool knows_by_log(const Daemon *d) {
        const Argosy__ToHost__Access *received = d->peers->access;

        return d->state && cluster_state_cluster(d->state) &&
               (!received || cluster_state_revision(d->state) >= received->revision);
}

AccessList socket_access_list(const Daemon *d) {
        const Argosy__ToHost__Access *received = d->peers->access;

        if (knows_by_log(d)) {
                AccessList list = cluster_state_access(d->state);

                if (d->leader)
                        list.now = (AccessTime){.wall_us = leader_wall(d->leader),
                                                .counted_us = leader_counted(d->leader)};
                return list;
        }
        return received ? (AccessList){.grants = received->grants, .n = received->n_grants}
                        : access_of_new_cluster();
}

LocalApiAdmission socket_access_admits(const Argosy__Author *author, void *userdata) {
        const Daemon *d = userdata;
        Argosy__Author here = *author; // borrows what that points to

        if (author->token_proof.len > 0) // the log of another host may have it
                return LOCAL_API_MAY_ASK;
        here.host = d->peers->host;
        if (access_has_some(socket_access_list(d), &here, ARGOSY__RIGHT__RIGHT_DEPLOY))
                return LOCAL_API_MAY_SUBMIT;
        return access_has_some(socket_access_list(d), &here, ARGOSY__RIGHT__RIGHT_VIEW)
                       ? LOCAL_API_MAY_ASK
                       : LOCAL_API_MAY_NOTHING;
}

// The path of argosyd's socket; "": it has none in the file system.
static void find_path(const Daemon *d, char ret[sizeof(struct sockaddr_un) + 1]) {
        struct sockaddr_un address = {};
        socklen_t len = sizeof(address);

        *ret = 0;
        if (getsockname(d->socket_fd, (struct sockaddr *) &address, &len) < 0 ||
            address.sun_family != AF_UNIX || len <= offsetof(struct sockaddr_un, sun_path))
                return;
        len -= (socklen_t) offsetof(struct sockaddr_un, sun_path);
        memcpy(ret, address.sun_path, len);
        ret[len] = 0;
}

static void set_open(const char *path, bool open, const char *which) {
        struct stat st;
        mode_t mode;

        if (!*path || stat(path, &st) < 0)
                return;
        mode = open ? st.st_mode | MODE_OTHERS : st.st_mode & (mode_t) ~MODE_OTHERS;
        if (mode == st.st_mode)
                return;
        if (chmod(path, mode & 07777) < 0)
                log_warning("The %s socket cannot be %s other users: %s.", which,
                            open ? "opened to" : "closed to", strerror(errno));
        else
                log_notice("The %s socket is %s.", which,
                           open ? "open to all users of this host, since some who are not in the group "
                                  "argosy have rights in the cluster"
                                : "for root and the group argosy only, since nobody else has rights in "
                                  "the cluster");
}

// All sockets that have a path: they have the same mode and group. Those of a user's argosyd are that user's
// alone.
void socket_access_update(Daemon *d) {
        _cleanup_free_ char *http = d->http ? str_printf("%s/http.sock", d->paths->runtime_dir) : NULL;
        char local[sizeof(struct sockaddr_un) + 1];
        const struct {
                const char *path, *which;
        } sockets[] = {
                {local, "local"}, {http ?: "", "HTTP"}, {d->http ? d->config.fleet : "", "fleet API's"}};
        bool open;

        if (d->state)
                d->access_revision = cluster_state_access_revision(d->state);
        if (!d->api || d->user_name)
                return;
        open = access_is_open(socket_access_list(d));
        find_path(d, local);
        for (size_t i = 0; i < ELEMENTSOF(sockets); i++)
                set_open(sockets[i].path, open, sockets[i].which);
        local_api_recheck(d->api);
}

static bool is_same(const Argosy__ToHost__Access *a, const Argosy__ToHost__Access *b) {
        if (!a || a->revision != b->revision || a->n_grants != b->n_grants)
                return false;
        for (size_t i = 0; i < a->n_grants; i++)
                if (grant_compare(a->grants[i], b->grants[i]) != 0)
                        return false;
        return true;
}

void socket_access_on_message(Daemon *d, const Argosy__ToHost__Access *received) {
        Argosy__ToHost__Access *copy;

        if (is_same(d->peers->access, received)) // nearly every session says nothing new
                return;
        copy = message_copy(received);
        if (!copy)
                return;
        message_free(d->peers->access);
        d->peers->access = copy;
        state_writer_save_peers(d);
        socket_access_update(d);
}
