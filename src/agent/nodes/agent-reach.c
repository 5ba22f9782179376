// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Reaching managers of users and containers, and saying why one cannot be reached.
//
//   the connection wants a socket -> is the manager there? -> a helper connects (manager-helper.h) -> socket
//   -> synced: no reason any more
//
// The helper is needed because the way to the socket leads through directories of the manager's owner, and
// because a container's systemd talks only to processes that it can see. Whether a user's manager runs, the
// system's own systemd tells (user@UID.service); a container's init is found in what systemd-machined keeps
// in /run/systemd/machines, or was named at `attach`. What fails is tried again after 100 ms,
// then twice as long each time, up to ten seconds.
//
// A manager that is another process than last time has stopped all its units when it ended, and may have
// lost their files: it is treated like a machine after a reboot, except that the ledger tells what was
// there.

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>

#include "agent-core.h"
#include "agent-reach.h"
#include "agent-unit.h"
#include "agent-writer.h"
#include "buf.h"
#include "clock.h"
#include "fileio.h"
#include "log.h"
#include "manager-name.h"
#include "message-of.h"
#include "process-birth.h"
#include "str.h"
#include "unit-state.h"

enum {
        MACHINE_FILE_MAX = 16 * 1024, // bytes of systemd-machined's record
};

static const uint64_t reach_first_us = 100 * USEC_PER_MSEC, reach_slow_us = 10 * USEC_PER_SEC;

// ---- reasons

void agent_node_set_reason(AgentNode *node, const char *reason) {
        if (streq(node->reason ?: "", reason ?: ""))
                return;
        free(node->reason);
        node->reason = reason ? strdup(reason) : NULL;
        node->reason_news = true;
        drain_mark(&node->agent->drain);
}

size_t agent_node_reports(Agent *a, bool only_news, Argosy__NodeReport *reports, Argosy__NodeReport **list) {
        size_t n = 0;

        agent_foreach_node (node, a) {
                if (only_news ? !node->reason_news : !node->reason)
                        continue;
                argosy__node_report__init(&reports[n]);
                reports[n].manager = node->manager;
                if (node->reason)
                        reports[n].reason = node->reason;
                list[n] = &reports[n];
                n++;
        }
        return n;
}

void agent_node_reports_drain(Agent *a) {
        _cleanup_free_ Argosy__NodeReport *reports = NULL;
        _cleanup_free_ Argosy__NodeReport **list = NULL;
        Argosy__ToVoter__NodeReports body = ARGOSY__TO_VOTER__NODE_REPORTS__INIT;
        Argosy__ToVoter message = TO_VOTER_OF(NODE_REPORTS, node_reports, &body);
        bool news = false;

        agent_foreach_node (node, a)
                news |= node->reason_news;
        if (!news || !a->attached)
                return; // the next Attach says all of it
        reports = calloc(a->n_nodes, sizeof(*reports));
        list = calloc(a->n_nodes, sizeof(*list));
        if (!reports || !list)
                return;
        body.nodes = list;
        body.n_nodes = agent_node_reports(a, true, reports, list);
        if (a->ops.send(&message, a->userdata) < 0)
                return;
        agent_foreach_node (node, a)
                node->reason_news = false;
}

static void failed(AgentNode *node, const char *reason) {
        uint64_t pause_us = MIN_OF(reach_first_us << MIN_OF(node->reach_failures, 10U), reach_slow_us);

        if (!streq(node->reason ?: "", reason))
                log_notice("Manager %s cannot be used: %s", node->manager, reason);
        node->reach_failures++;
        node->reach_retry_us = clock_boot_us() + pause_us;
        agent_node_set_reason(node, reason);
        drain_mark(&node->agent->drain); // arms the timer
}

// ---- is it there?

// Reads the leader's pid from /run/systemd/machines/NAME, which is root's: lines NAME=VALUE.
static pid_t lookup_leader(const char *machine) {
        _cleanup_free_ char *path = str_printf("/run/systemd/machines/%s", machine);
        _cleanup_buf_ Buf text = {};
        const char *line;
        uint64_t pid;
        char digits[16] = {};

        if (!path || file_read(AT_FDCWD, path, MACHINE_FILE_MAX, &text) < 0 || buf_append(&text, "", 1) < 0)
                return 0;
        line = strstr((const char *) text.data, "\nLEADER=");
        if (!line)
                return 0;
        line += strlen("\nLEADER=");
        memcpy(digits, line, MIN_OF(strcspn(line, "\n"), sizeof(digits) - 1));
        return parse_u64(digits, INT32_MAX, &pid) ? (pid_t) pid : 0;
}

// NULL: it may be; else why not.
static const char *is_missing(AgentNode *node) {
        const char *machine = manager_name_machine(node->manager);
        const UnitRuntime *gate = NULL;

        if (node->gate_unit.name && node->agent->system->synced)
                gate = &node->gate_unit.runtime;
        if (!machine)
                return gate && active_state_is_down(gate->active)
                               ? "the user's manager is not running (nobody is logged in, and it does not "
                                 "linger)"
                               : NULL;
        if (!node->leader_given) {
                node->leader = lookup_leader(machine);
                node->leader_born = node->leader ? process_birth(node->leader) : 0;
        }
        return node->leader_born == 0 || process_birth(node->leader) != node->leader_born
                       ? "the container is not running"
                       : NULL;
}

int agent_reach_watch_gate(AgentNode *node) {
        int r = systemd_manager_watch(node->agent->system->systemd, &node->gate_unit, node->gate);

        node->gate_unit.other = r >= 0;
        return r;
}

static void unwatch_gate(AgentNode *node) {
        if (node->gate_unit.name)
                systemd_manager_unwatch(node->agent->system->systemd, &node->gate_unit);
}

void agent_reach_unwatch_gates(AgentNode *closing) {
        unwatch_gate(closing);
        if (closing != closing->agent->system)
                return;
        agent_foreach_node (node, closing->agent)
                unwatch_gate(node);
}

// ---- one connection

static char *run_path(const AgentNode *node) {
        return str_printf("%s/run", node->own_dir);
}

static uint64_t load_run(const AgentNode *node) {
        _cleanup_free_ char *path = run_path(node);
        _cleanup_buf_ Buf text = {};

        if (!path || file_read(AT_FDCWD, path, 64, &text) < 0 || buf_append(&text, "", 1) < 0)
                return 0;
        return strtoull((const char *) text.data, NULL, 10);
}

// It has begun anew since we saw it last: nothing of ours runs, nothing of ours may be on its disk.
static void note_new_run(AgentNode *node) {
        agent_foreach_unit(u, node) {
                if (!u->has_held)
                        continue;
                u->file_present = u->files_removed = u->parsed = false;
                u->half_written = true;
                if (!u->held.done && !u->held.failed) {
                        agent_unit_keep_order(u);
                        u->held.target = ARGOSY__TARGET__TARGET_INACTIVE;
                        u->held.pending = false;
                        agent_unit_record(u);
                }
                agent_unit_mark(u);
        }
        agent_writer_abort(node, -ECONNRESET); // what it knows is about a directory that may be gone
}

static void note_run(AgentNode *node, int fd) {
        _cleanup_free_ char *path = run_path(node);
        struct ucred peer = {};
        socklen_t size = sizeof(peer);
        uint64_t run, before = node->run ?: load_run(node);
        char text[32];

        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
                return;
        run = process_birth(peer.pid);
        node->run = run;
        node->stopping = false;
        if (run == before || run == 0)
                return;
        if (before != 0)
                note_new_run(node);
        snprintf(text, sizeof(text), "%llu\n", (unsigned long long) run);
        if (path)
                (void) file_replace(AT_FDCWD, path, text, strlen(text), 0600, 0);
}

static void drop_connector(AgentNode *node) {
        HelperLink *connector = TAKE_PTR(node->connector);

        if (connector)
                helper_link_close(connector);
}

static void take_socket(AgentNode *node, int fd) {
        node->socket_wanted = false;
        note_run(node, fd);
        (void) systemd_manager_take_socket(node->systemd, fd); // if not, it asks again
}

static void on_connected(const Argosy__HelperReply *reply, int fd, void *userdata) {
        AgentNode *node = userdata;
        _cleanup_free_ char *why = str_printable(reply->why, AGENT_ERROR_MAX);

        drop_connector(node);
        if (fd >= 0)
                take_socket(node, fd);
        else
                failed(node, why && *why ? why : "its private socket does not lead to its systemd");
}

static void on_connector_ended(int error, void *userdata) {
        AgentNode *node = userdata;

        drop_connector(node);
        failed(node, error == -ETIMEDOUT ? "connecting to its systemd takes too long"
                                         : "connecting to its systemd failed");
}

static void on_connector_closed(void *userdata) {
        agent_node_close_step(userdata);
}

static int start(AgentNode *node) {
        static const HelperOps ops = {
                .reply = on_connected, .ended = on_connector_ended, .closed = on_connector_closed};
        HelperConfig config = {.loop = node->agent->loop,
                               .command = (const char *const *) node->agent->helper,
                               .manager = node->manager,
                               .leader = node->leader,
                               .born = node->leader_born,
                               .mode = HELPER_CONNECT};
        int r = helper_link_new(&config, &ops, node, &node->connector);

        if (r >= 0)
                node->n_open++;
        return r;
}

static void reach_directly(AgentNode *node) {
        int fd = node->agent->open_manager(node->manager, node->agent->open_manager_data);

        if (fd < 0)
                failed(node, strerror(-fd));
        else
                take_socket(node, fd);
}

void agent_reach(AgentNode *node) {
        const char *missing;

        if (!node->socket_wanted || node->connector || node->closing ||
            clock_boot_us() < node->reach_retry_us)
                return;
        missing = is_missing(node);
        if (node->agent->open_manager) {
                reach_directly(node);
        } else if (missing) {
                node->reach_failures = 10; // slowly: what tells us of its return does not wait for it
                failed(node, missing);
        } else if (start(node) < 0)
                failed(node, "no process can be started to connect to its systemd");
}

int agent_reach_open(void *userdata) {
        AgentNode *node = userdata;

        // The socket is taken only after this has returned: by the wake timer.
        node->socket_wanted = true;
        node->reach_retry_us = MAX_OF(node->reach_retry_us, UINT64_C(1));
        drain_mark(&node->agent->drain);
        return -EINPROGRESS;
}

// ---- what happens to it

static void reach_now(AgentNode *node) {
        node->reach_failures = 0;
        node->reach_retry_us = 0;
        agent_reach(node);
}

void agent_reach_on_unit(Agent *a, const char *name) {
        agent_foreach_node (node, a)
                if (node->gate && streq(node->gate, name))
                        reach_now(node);
}

void agent_reach_synced(AgentNode *node) {
        node->reach_failures = 0;
        if (node->detaching)
                return;
        if (node->reason)
                log_info("Manager %s can be used.", node->manager);
        agent_node_set_reason(node, NULL);
}

void agent_reach_lost(AgentNode *node, const char *why) {
        char text[AGENT_ERROR_MAX];

        str_fit(text, sizeof(text), "the connection to its systemd is lost: %s", why);
        agent_node_set_reason(node, text);
}

void agent_reach_close(AgentNode *node) {
        drop_connector(node);
}
