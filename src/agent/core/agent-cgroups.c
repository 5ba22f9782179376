// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where a unit's control group is: that follows from its slice and its name. Units that are somewhere else
// (a Slice= in a file or a drop-in of somebody) are found out the first time that they are missed, by one
// question to systemd per run of the unit, and then remembered.

#include <errno.h>
#include <stdio.h>

#include "agent-cgroups.h"
#include "agent-core.h"
#include "agent-unit.h"
#include "cgroup-path.h"
#include "unit-name.h"

enum {
        AGENT_USAGE_ASKS_MAX = 16, // questions to systemd for control groups at a time
};

typedef struct ReportedGroup {
        uint8_t invocation_id[16]; // of the run that was asked for
        char *path;                // NULL: no answer yet, or it has none
        char name[];
} ReportedGroup;

typedef struct Question { // userdata of what cannot be cancelled
        AgentNode *node;
        char name[];
} Question;

const char *agent_cgroup_root(AgentNode *node) {
        char root[CGROUP_PATH_MAX];
        int pid;

        if (node->cgroup_root && node->cgroup_pid == 0)
                return node->cgroup_root;
        pid = node->systemd ? systemd_manager_pid(node->systemd) : -ENOTCONN;
        if (pid < 0 || pid == node->cgroup_pid)
                return node->cgroup_root;
        free(TAKE_PTR(node->cgroup_root));
        node->cgroup_pid = pid; // also if it has none: that does not change while it runs
        if (cgroup_manager_root(pid, root, sizeof(root)) == 0)
                node->cgroup_root = strdup(root);
        return node->cgroup_root;
}

static void reported_group_free(void *value) {
        ReportedGroup *t = value;

        free(t->path);
        free(t);
}

// What was told about the present run.
static ReportedGroup *reported_group_find(const AgentUnit *u) {
        const UnitRuntime *rt = agent_unit_runtime(u);
        ReportedGroup *t = map_find_str(&u->node->reported_groups, u->name);

        return t && rt && memcmp(t->invocation_id, rt->invocation_id, 16) == 0 ? t : NULL;
}

void agent_cgroup_forget(AgentUnit *u) {
        ReportedGroup *t = map_take_str(&u->node->reported_groups, u->name);

        if (t)
                reported_group_free(t);
}

void agent_cgroups_done(AgentNode *node) {
        map_done_with(&node->reported_groups, reported_group_free);
        free(TAKE_PTR(node->cgroup_root));
}

char *agent_cgroup_resolve(AgentNode *node, const char *control_group) {
        const char *root = agent_cgroup_root(node);
        char path[CGROUP_PATH_MAX];

        if (!root || cgroup_resolve_path(root, control_group, path, sizeof(path)) < 0)
                return NULL;
        return strdup(path);
}

int agent_unit_cgroup(const AgentUnit *u, const char *root, char *ret, size_t size) {
        char slice_of_ours[LEDGER_SLICE_SIZE];
        const char *slice = slice_of_ours;
        const ReportedGroup *group = reported_group_find(u);
        char by_default[UNIT_NAME_MAX * 4];

        if (group && group->path)
                return (size_t) snprintf(ret, size, "%s", group->path) < size ? 0 : -ENAMETOOLONG;
        if (!root)
                return -ENOENT;
        slice_name(u->held.slice, slice_of_ours);
        if (!*slice) {
                if (cgroup_default_slice(u->name, agent_node_is_users(u->node), by_default,
                                         sizeof(by_default)) < 0)
                        return -ENOENT;
                slice = by_default;
        }
        return cgroup_unit_path(root, slice, u->name, ret, size);
}

static void on_control_group(int error, const char *control_group, void *userdata) {
        _cleanup_free_ Question *q = userdata;
        ReportedGroup *t = map_find_str(&q->node->reported_groups, q->name);

        q->node->n_asking--;
        if (!t)
                return;
        if (error < 0) { // asked again at the next miss
                map_take_str(&q->node->reported_groups, q->name);
                reported_group_free(t);
                return;
        }
        free(t->path);
        t->path = *control_group ? agent_cgroup_resolve(q->node, control_group) : NULL;
}

static ReportedGroup *reported_group_new(AgentUnit *u, const UnitRuntime *rt) {
        ReportedGroup *t;

        agent_cgroup_forget(u);
        t = MAP_NEW_STR(&u->node->reported_groups, ReportedGroup, name, u->name);
        if (t)
                memcpy(t->invocation_id, rt->invocation_id, 16);
        return t;
}

void agent_cgroup_missed(AgentUnit *u) {
        const UnitRuntime *rt = agent_unit_runtime(u);
        size_t len = strlen(u->name) + 1;
        Question *q;

        if (!rt || streq(rt->sub, "exited") || reported_group_find(u) ||
            u->node->n_asking >= AGENT_USAGE_ASKS_MAX)
                return;
        q = malloc(sizeof(*q) + len);
        if (!q || !reported_group_new(u, rt)) {
                free(q);
                return;
        }
        q->node = u->node;
        memcpy(q->name, u->name, len);
        if (systemd_manager_control_group(u->node->systemd, q->name, on_control_group, q) < 0) {
                free(q);
                agent_cgroup_forget(u);
                return;
        }
        u->node->n_asking++;
}
