// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Managers of users and containers come and go while the agent lives.
//
//   attach   ledger of its own -> connection (agent-reach.c) -> Attach, which names it -> its number
//   detach   every unit is to be removed -> the last one is gone -> ledger removed, node closed -> Attach
//            without it
//   left     an earlier argosyd has served it, and nobody names it any more -> attached and detached, since
//            what runs there the cluster would start elsewhere, too
//
// What one of them costs while nothing happens: its node, its connection, an empty ledger; no thread, no
// timer that runs, no process.

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent-adopt.h"
#include "agent-core.h"
#include "agent-managers.h"
#include "agent-nodes.h"
#include "agent-reach.h"
#include "agent-unit.h"
#include "agent-wanted.h"
#include "fileio.h"
#include "log.h"
#include "manager-name.h"
#include "process-birth.h"
#include "str.h"

// ---- attach

// A manager that was let go by force is not served, and its units go on running.
static char *forced_path(const char *own_dir) {
        return str_printf("%s/forced", own_dir);
}

static int make_dirs(AgentNode *node) {
        _cleanup_free_ char *all = str_printf("%s/managers", node->agent->runtime_dir), *forced = NULL;

        node->own_dir = all ? str_printf("%s/%s", all, node->manager) : NULL;
        forced = node->own_dir ? forced_path(node->own_dir) : NULL;
        if (!forced)
                return -ENOMEM;
        if ((mkdir(all, 0700) < 0 && errno != EEXIST) || (mkdir(node->own_dir, 0700) < 0 && errno != EEXIST))
                return -errno;
        return unlink(forced) < 0 && errno != ENOENT ? -errno : 0;
}

static int name_places(AgentNode *node) {
        uid_t uid = manager_name_uid(node->manager);

        node->uid = uid;
        if (uid == (uid_t) -1) {
                node->dir_path = str_printf("/run/systemd/system of container %s",
                                            manager_name_machine(node->manager));
                return node->dir_path ? 0 : -ENOMEM;
        }
        node->dir_path = str_printf("/run/user/%u/systemd/user", (unsigned) uid);
        node->gate = str_printf("user@%u.service", (unsigned) uid);
        if (!node->dir_path || !node->gate)
                return -ENOMEM;
        return agent_reach_watch_gate(node);
}

static int open_manager(AgentNode *node, char **ret_why) {
        SystemdConfig config = {.loop = node->agent->loop,
                                .open_socket = agent_reach_open,
                                .open_userdata = node,
                                .message_max = SYSTEMD_MESSAGE_MAX};
        _cleanup_free_ char *ledger_path = NULL;
        int r = make_dirs(node);

        if (r >= 0)
                r = name_places(node);
        if (r < 0)
                return agent_complain(r, ret_why, "cannot prepare %s: %s", node->manager, strerror(-r));
        ledger_path = str_printf("%s/ledger", node->own_dir);
        r = ledger_path ? agent_node_open_systemd(node, &config) : -ENOMEM;
        if (r >= 0)
                r = agent_node_adopt(node, ledger_path);
        if (r < 0)
                return agent_complain(r, ret_why, "cannot read %s: %s", ledger_path ?: "a ledger",
                                      r == -EBADMSG ? "it is no ledger" : strerror(-r));
        return 0;
}

int agent_manager_attach(Agent *a, const char *manager, pid_t leader, char **ret_why) {
        ManagerKind kind = manager_name_kind(manager);
        AgentNode *node;
        int r;

        if (kind != MANAGER_USER && kind != MANAGER_CONTAINER)
                return agent_complain(-EINVAL, ret_why, "%s is neither user@UID nor container@NAME",
                                      manager);
        if (agent_node_by_name(a, manager))
                return agent_complain(-EEXIST, ret_why, "%s is attached already", manager);
        if (a->n_nodes >= MANAGERS_PER_HOST)
                return agent_complain(-E2BIG, ret_why, "%d managers are attached already",
                                      MANAGERS_PER_HOST);
        if (!a->system)
                return agent_complain(-ESHUTDOWN, ret_why, "argosyd is ending");
        node = agent_node_new(a, manager);
        if (!node)
                return agent_complain(-ENOMEM, ret_why, "out of memory");
        node->leader = leader;
        node->leader_given = leader > 0;
        node->leader_born = leader > 0 ? process_birth(leader) : 0;
        agent_node_set_reason(node, MANAGER_NOT_REACHED);
        r = open_manager(node, ret_why);
        if (r < 0) {
                agent_node_close(node);
                return r;
        }
        agent_attach_now(a);
        return 0;
}

// ---- detach

static void notify_detached(AgentNode *node, int error) {
        void (*detached)(int, void *) = TAKE_PTR(node->detached);

        if (detached)
                detached(error, node->detached_data);
}

// The next argosyd leaves it alone, too.
static int mark_forced(const AgentNode *node) {
        _cleanup_free_ char *path = forced_path(node->own_dir);

        return path ? file_replace(AT_FDCWD, path, "", 0, 0600, 0) : -ENOMEM;
}

int agent_manager_detach(Agent *a, const char *manager, bool force, void (*done)(int error, void *userdata),
                         void *userdata) {
        AgentNode *node = agent_node_by_name(a, manager);
        int r;

        if (!node)
                return -ENOENT;
        if (node == a->system)
                return -EINVAL;
        r = force ? mark_forced(node) : 0;
        if (r < 0)
                return r;
        notify_detached(node, -ECANCELED);
        node->detached = done;
        node->detached_data = userdata;
        node->force |= force;
        node->detaching = true;
        agent_node_set_reason(node, "the manager is being detached");
        if (!node->force)
                agent_foreach_unit(u, node) agent_unit_unwant(u);
        drain_mark(&a->drain);
        return 0;
}

// Its units ended with it, or nobody can tell: there is nothing that could be stopped.
static bool is_out_of_reach(const AgentNode *node) {
        return !systemd_manager_is_synced(node->systemd) && node->reach_failures > 0;
}

static void remove_own_dir(const AgentNode *node) {
        static const char *const names[] = {"ledger", "run", "forced"};

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                _cleanup_free_ char *path = str_printf("%s/%s", node->own_dir, names[i]);

                if (path)
                        (void) unlink(path);
        }
        (void) rmdir(node->own_dir);
}

static void finish_detaching(AgentNode *node) {
        Agent *a = node->agent;
        char manager[MANAGER_NAME_MAX + 1];

        str_fit(manager, sizeof(manager), "%s", node->manager);
        if (!node->force)
                remove_own_dir(node);
        log_info("Manager %s is detached.", manager);
        notify_detached(node, 0);
        agent_node_close(node);
        agent_attach_now(a);
        if (a->ops.manager_gone)
                a->ops.manager_gone(manager, a->userdata);
}

static bool is_ready_to_go(AgentNode *node) {
        if (!node->detaching)
                return false;
        agent_node_drop_gone(node);
        return node->force || node->n_units == 0 || is_out_of_reach(node);
}

// While the host leaves its cluster nothing waits for a manager that is not there.
static void forget_out_of_reach(AgentNode *node) {
        if (node->agent->clearing && node != node->agent->system && is_out_of_reach(node))
                agent_foreach_unit(u, node) {
                        (void) ledger_forget(node->ledger, u->name);
                        agent_unit_free(u);
                }
}

void agent_managers_drain(Agent *a) {
        list_foreach_safe (n, &a->nodes) {
                AgentNode *node = CONTAINER_OF(n, AgentNode, in_agent);

                forget_out_of_reach(node);
                if (is_ready_to_go(node))
                        finish_detaching(node);
        }
}

// ---- left

static bool is_left(const Agent *a, const char *manager, const char *all) {
        ManagerKind kind = manager_name_kind(manager);
        _cleanup_free_ char *own = str_printf("%s/%s", all, manager),
                            *forced = own ? forced_path(own) : NULL;

        return (kind == MANAGER_USER || kind == MANAGER_CONTAINER) && !agent_node_by_name(a, manager) &&
               forced && access(forced, F_OK) < 0;
}

static void let_go(Agent *a, const char *manager) {
        _cleanup_free_ char *why = NULL;

        if (agent_manager_attach(a, manager, 0, &why) < 0) {
                log_error("Manager %s is served no more, and what argosy holds there cannot be stopped: %s",
                          manager, why ?: "out of memory");
                return;
        }
        log_notice("Manager %s is served no more: what argosy holds there is stopped.", manager);
        (void) agent_manager_detach(a, manager, false, NULL, NULL);
}

void agent_managers_let_go(Agent *a) {
        _cleanup_free_ char *all = str_printf("%s/managers", a->runtime_dir);
        DIR *dir = all ? opendir(all) : NULL;

        if (!dir)
                return;
        for (const struct dirent *e; (e = readdir(dir));)
                if (is_left(a, e->d_name, all))
                        let_go(a, e->d_name);
        closedir(dir);
}

// ---- list

size_t agent_managers(const Agent *a, AgentManagerInfo *ret, size_t max) {
        size_t n = 0;

        agent_foreach_node (node, a) {
                if (n < max)
                        ret[n] = (AgentManagerInfo){
                                .manager = node->manager,
                                .state = node->detaching ? "detaching"
                                         : node->reason || !systemd_manager_is_synced(node->systemd)
                                                 ? "offline"
                                                 : "online",
                                .reason = node->reason,
                                .n_units = node->n_units,
                                .leader = node->leader,
                        };
                n++;
        }
        return n;
}
