// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The TCP port: reserved at the start, so that nobody else takes it, and opened when somebody has a reason
// to connect. With Port=0 a free one is chosen and kept in a file; if another program has it meanwhile, a
// new one is chosen, which the others learn with the next Attach. A configured port that is taken is an
// error with the reason.

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "buf.h"
#include "cluster-state.h"
#include "daemon-listen.h"
#include "daemon.h"
#include "fileio.h"
#include "log.h"
#include "paths.h"
#include "port.h"
#include "str.h"
#include "stream.h"

enum { PORT_FILE_MAX = 16 };

// 0 also if there is none, or it is no number: then another one is as good.
static uint16_t load(const char *path) {
        _cleanup_buf_ Buf text = {};
        char digits[PORT_FILE_MAX + 1] = "";
        uint64_t n;

        if (file_read(AT_FDCWD, path, PORT_FILE_MAX, &text) < 0 || text.len == 0)
                return 0;
        memcpy(digits, text.data, text.len);
        digits[strcspn(digits, "\n")] = 0;
        return parse_u64(digits, UINT16_MAX, &n) ? (uint16_t) n : 0;
}

static int save(const char *path, uint16_t port) {
        char text[PORT_FILE_MAX];
        int len = snprintf(text, sizeof(text), "%u\n", (unsigned) port);

        return file_replace(AT_FDCWD, path, text, (size_t) len, 0600, FILE_SYNC);
}

// The kept one, or if another program has taken it a new one: the other members learn it when we attach.
static int reserve_any(Daemon *d, const char *path) {
        uint16_t kept = load(path);
        int r = listener_bind_tcp(kept, &d->port_fd, &d->port);

        if (r == -EADDRINUSE && kept) {
                log_notice("Port %u is in use by another program; choosing a new one.", (unsigned) kept);
                r = listener_bind_tcp(0, &d->port_fd, &d->port);
        }
        if (r < 0 || d->port == kept)
                return r;
        return save(path, d->port);
}

int port_reserve(Daemon *d, char **ret_why) {
        _cleanup_free_ char *path = str_printf("%s/port", d->paths->state_dir);
        int r;

        if (!path)
                return -ENOMEM;
        r = d->config.port ? listener_bind_tcp((uint16_t) d->config.port, &d->port_fd, &d->port)
                           : reserve_any(d, path);
        if (r < 0)
                *ret_why = d->config.port ? str_printf("Cannot listen on port %u: %s",
                                                       (unsigned) d->config.port, strerror(-r))
                                          : str_printf("Cannot get a port: %s", strerror(-r));
        return r;
}

bool port_is_wanted(const PortReasons *r) {
        return r->configured || !r->alone || r->has_tokens;
}

static PortReasons reasons_of(const Daemon *d) {
        const Argosy__PeersFile *p = d->peers;
        bool has_state = d->state && cluster_state_cluster(d->state);
        PortReasons r = {.configured = d->config.port != 0};
        size_t n_hosts = 0;

        // Before the log says who the hosts are, and where there is no log, the peers file does: a spare is
        // not alone.
        r.alone = p->n_voters == 1 && p->voters[0]->host == p->host;
        if (has_state) {
                (void) cluster_state_hosts(d->state, &n_hosts);
                r.alone &= n_hosts <= 1; // either may be older than the other
                r.has_tokens = cluster_state_n_tokens(d->state) > 0;
        }
        return r;
}

int port_open_if_wanted(Daemon *d, char **ret_why) {
        PortReasons reasons = reasons_of(d);

        if (d->port_fd < 0 || d->end != DAEMON_RUNNING)
                return 0;
        return port_is_wanted(&reasons) ? daemon_listen_open(d, ret_why) : 0;
}
