// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   Companions of a Welcome or of Orders -> AgentNode.companions -> the files, now or after the batch that
//   is with the pool
//
// A batch has the directory for itself, so what comes meanwhile waits for its end; units that come with the
// same message are written by a later batch, and find their templates there. Which files are ours the files
// say, so after a restart the first set takes away what nobody needs any more. There are few of them and
// they are small: they are written in the loop.
//
// New content of a file that systemd has in memory, as what a unit's OnFailure= pins, needs one reload.

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent-companions.h"
#include "companion-file.h"
#include "log.h"
#include "str.h"
#include "unit-name.h"

typedef struct Companion {
        bool wanted; // by the last set
        size_t len;
        uint8_t *content;
        char name[];
} Companion;

static void companion_free(void *p) {
        Companion *c = p;

        free(c->content);
        free(c);
}

void agent_companions_done(AgentNode *node) {
        map_done_with(&node->companions, companion_free);
}

static void on_reloaded(int error, void *userdata) {
        if (error < 0)
                log_warning("Templates beside units have new content, and systemd does not read it: %s",
                            strerror(-error));
}

static void drop(AgentNode *node, Companion *c) {
        int r = companion_file_drop(node->dir_path, c->name);

        if (r < 0)
                log_unit(LOG_WARNING, c->name, "Cannot remove %s/%s: %s", node->dir_path, c->name,
                         strerror(-r));
        map_take_str(&node->companions, c->name);
        companion_free(c);
}

// After a batch only what is not there is of interest: one question for each.
static bool is_there(const AgentNode *node, const Companion *c) {
        char path[PATH_MAX];

        return str_fit(path, sizeof(path), "%s/%s", node->dir_path, c->name) > 0 && access(path, F_OK) == 0;
}

static bool write_all(AgentNode *node, bool changed) {
        bool replaced = false;

        map_foreach (slot, &node->companions) {
                const Companion *c = slot->value;
                int r;

                if (!changed && is_there(node, c))
                        continue;
                r = companion_file_put(node->dir_path, (const char *const *) node->search_dirs, c->name,
                                       c->content, c->len);
                if (r < 0)
                        log_unit(LOG_WARNING, c->name, "Cannot write %s/%s: %s", node->dir_path, c->name,
                                 strerror(-r));
                replaced |= r == COMPANION_REPLACED;
        }
        return replaced;
}

void agent_companions_look(AgentNode *node) {
        bool changed = node->companions_due;

        if (node->writing || !node->dir || (node->companions.count == 0 && !changed))
                return;
        node->companions_due = false;
        map_foreach (slot, &node->companions)
                if (!((Companion *) slot->value)->wanted)
                        drop(node, slot->value);
        if (write_all(node, changed) && node->systemd &&
            systemd_manager_reload(node->systemd, on_reloaded, NULL) < 0)
                log_warning("systemd cannot be asked to read templates beside units again.");
}

// 0 or -ENOMEM.
static int want(AgentNode *node, const char *name, const void *content, size_t len) {
        Companion *c = map_find_str(&node->companions, name);
        uint8_t *copy = malloc(len + 1);

        if (copy && !c)
                c = MAP_NEW_STR(&node->companions, Companion, name, name);
        if (!copy || !c) {
                free(copy);
                return -ENOMEM;
        }
        if (len > 0)
                memcpy(copy, content, len);
        free(c->content);
        c->content = copy;
        c->len = len;
        c->wanted = true;
        return 0;
}

// One that an earlier process has left, until the set says that it is wanted.
static void on_left(const char *name, void *userdata) {
        AgentNode *node = userdata;

        if (want(node, name, "", 0) == 0)
                ((Companion *) map_find_str(&node->companions, name))->wanted = false;
}

static void begin(AgentNode *node) {
        if (!node->companions_known)
                (void) companion_files_foreach(node->dir_path, on_left, node);
        node->companions_known = true;
        map_foreach (slot, &node->companions)
                ((Companion *) slot->value)->wanted = false;
        node->companions_due = true;
}

void agent_companions_obey(Agent *a, const Argosy__Companions *m) {
        agent_foreach_node (each, a)
                if (each->dir)
                        begin(each);
        for (size_t i = 0; i < m->n_list; i++) {
                const Argosy__Companion *c = m->list[i];
                AgentNode *node = c->node ? agent_node_find(a, c->node) : a->system;

                if (!node || !node->dir || unit_name_kind(c->name, NULL) != UNIT_NAME_TEMPLATE ||
                    unit_name_reserved(c->name))
                        continue;
                if (want(node, c->name, c->content.data, c->content.len) < 0)
                        a->attach_wanted = true; // the Welcome has everything again
        }
        agent_foreach_node (each, a) agent_companions_look(each);
}

void agent_companions_clear(Agent *a) {
        const Argosy__Companions none = ARGOSY__COMPANIONS__INIT;

        agent_companions_obey(a, &none);
}
