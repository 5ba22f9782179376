// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What every part of the daemon may need: its status for systemd, the name of a host, the end when it cannot
// go on. daemon_status() after a change -> sd_notify(). daemon_fail() logs, tells systemd and ends the
// process at once, as the disk or memory may be what failed; systemd starts it again, except after
// daemon_fail_for_good() (EX_CONFIG). An orderly end begins elsewhere (run-end.c).

#include "daemon.h"

#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>
#include <systemd/sd-daemon.h>

#include "agent.h"
#include "cluster-state.h"
#include "log.h"
#include "process-end.h"
#include "str.h"

const char *daemon_host_name(Daemon *d, uint32_t host, char *buf, size_t size) {
        const Argosy__HostRecord *h = d->state ? cluster_state_find_host(d->state, host) : NULL;

        if (h)
                str_fit(buf, size, "%s", h->name);
        else
                (void) snprintf(buf, size, "host %u", host);
        return buf;
}

void daemon_status(Daemon *d) {
        const char *role = d->store ? "Voter" : "Spare";
        char name[64], units[48];
        size_t n_hosts = 0;

        if (d->state)
                (void) cluster_state_hosts(d->state, &n_hosts);
        d->notified_units = agent_n_units(d->agent);
        d->notified_hosts = n_hosts;
        snprintf(units, sizeof(units), "%zu unit%s here", d->notified_units,
                 d->notified_units == 1 ? "" : "s");
        if (d->leading)
                (void) sd_notifyf(0, "STATUS=Leading %zu host%s, term %llu; %s", n_hosts,
                                  n_hosts == 1 ? "" : "s", (unsigned long long) d->store_term, units);
        else if (d->known_leader)
                (void) sd_notifyf(0, "STATUS=%s, the leader is %s; %s", role,
                                  daemon_host_name(d, d->known_leader, name, sizeof(name)), units);
        else
                (void) sd_notifyf(0, "STATUS=%s, no leader can be reached; %s", role, units);
}

static _Noreturn void fail(Daemon *d, const char *why, int status) {
        log_error("Fatal: %s", why);
        (void) sd_notifyf(0, "STATUS=Failed: %s", why);
        if (d->end == DAEMON_RUNNING)
                d->end = DAEMON_FAILED;
        process_end(status); // no orderly end: what failed may be the disk or memory itself
}

void daemon_fail(Daemon *d, const char *why) {
        fail(d, why, EXIT_FAILURE); // systemd starts us again
}

void daemon_fail_for_good(Daemon *d, const char *why) {
        fail(d, why, EX_CONFIG);
}
