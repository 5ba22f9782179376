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

static void touched(AgentNode *node, const char *name) {
        AgentUnit *u = agent_unit_find(node, name);

        if (!u)
                return;
        u->links_stale = !node->synced ||
                         agent_unit_runtime(u); // before the first sync nobody knows what is in memory
        // Without memory for the time it is as if they had changed long ago: it is read again for certain.
        if (u->links_stale && agent_unit_work(u))
                u->work->links_stale_since_us = clock_boot_us();
}

void agent_links_touched(AgentNode *node, const char *names, size_t len) {
        for (const char *name = names; name && name < names + len; name += strlen(name) + 1)
                touched(node, name);
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
