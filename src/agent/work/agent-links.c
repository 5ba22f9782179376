// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Links of [Install] below units of ours. systemd reads app.target.wants/ when it loads app.target and never
// again; and says NeedDaemonReload=no. So we note which units in its memory have not seen their links, and
// plan.c has them read again before they are started.

#include "agent-core.h"
#include "agent-links.h"
#include "agent-unit.h"
#include "clock.h"
#include "unit-install.h"

static void mark(AgentUnit *u) {
        u->links_stale = !u->node->synced ||
                         agent_unit_runtime(u); // before the first sync nobody knows what is in memory
        // Without memory for the time it is as if they had changed long ago: it is read again for certain.
        if (u->links_stale && agent_unit_work(u))
                u->work->links_stale_since_us = clock_boot_us();
}

static void touched(AgentNode *node, const char *name) {
        AgentUnit *u;

        if (unit_name_kind(name, NULL) == UNIT_NAME_TEMPLATE) {
                char *copy = strdup(name);

                if (!copy || map_add_str(&node->links_touched, copy, copy) < 0)
                        free(copy);
                return;
        }
        u = agent_unit_find(node, name);
        if (u)
                mark(u);
}

void agent_links_touched(AgentNode *node, const char *names, size_t len) {
        for (const char *name = names; name && name < names + len; name += strlen(name) + 1)
                touched(node, name);
}

// Links below site@.target are those of all its instances, which only a walk over all units finds: one for a
// batch.
void agent_links_taken(AgentNode *node) {
        if (node->links_touched.count == 0)
                return;
        agent_foreach_unit(u, node) {
                _cleanup_free_ char *template = unit_name_kind(u->name, NULL) == UNIT_NAME_INSTANCE
                                                        ? unit_name_template(u->name)
                                                        : NULL;

                if (template && map_find_str(&node->links_touched, template))
                        mark(u);
        }
        map_done_with(&node->links_touched, free);
}

void agent_links_suspect(AgentUnit *u) {
        _cleanup_(unit_file_freep) UnitFile *file = NULL;
        UnitInstall install;

        const AgentSpec *content = agent_unit_content(u);

        if (!content || !content->links ||
            unit_file_parse(u->name, content->content, content->len, &file, NULL) < 0 ||
            unit_install_expand(file, u->name, u->name, &install, NULL) < 0)
                return;
        for (size_t i = 0; i < install.n; i++)
                if (install.entries[i].kind == UNIT_INSTALL_WANTED_BY ||
                    install.entries[i].kind == UNIT_INSTALL_REQUIRED_BY)
                        touched(u->node, install.entries[i].name);
        unit_install_done(&install);
}
