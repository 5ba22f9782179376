// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A unit may have, or get back, the file that it had while the network is another one's: an order was taken
// back before its turn. So before each start it is looked of which file the network was written last
// (MadeNetwork). Of two files that of the later order counts; who has the other one runs with that network,
// so that no two go on making it anew.
//
//      PLAN_WRITE      -> agent_network_made_written()
//      PLAN_PLACES     -> is what is there another one's? then the unit is written again, with what makes
//                         them
//                      -> has systemd read what makes them? else daemon-reload
//
// Nothing of it is kept: a new argosyd asks systemd alone. Failures: a reload that fails fails the step;
// what cannot be asked says nothing.

#include "agent-network-made.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent-network-look.h"
#include "agent-step.h"
#include "agent-unit.h"
#include "quadlet.h"

// What was written last.
typedef struct MadeNetwork {
        Hash of;
        uint64_t revision; // of the order that brought it
        char unit[];
} MadeNetwork;

bool agent_network_made_is_unread(const AgentUnit *u) {
        const AgentSpec *content = agent_unit_content(u);

        return content && content->networks && !agent_unit_doing(u)->networks_read && agent_unit_is_down(u);
}

// What makes its networks, one name behind the other. NULL: no more, or out of memory.
static char *nth_unit(const AgentSpec *content, size_t n) {
        const char *at = content->networks, *file;
        size_t len;

        while (quadlet_beside_names_next(&at, &file, &len)) {
                char *unit = quadlet_beside_unit(file, len); // NULL: of a container, whose file is its own

                if (unit && n-- == 0)
                        return unit;
                free(unit);
        }
        return NULL;
}

static void note_made(AgentNode *node, const QuadletMade *made, uint64_t revision) {
        MadeNetwork *m = map_find_str(&node->networks, made->name);
        size_t size = strlen(made->name) + 1;
        Hash of;

        if (!quadlet_made_of(made->unit, made->len, &of))
                return;
        if (!m) {
                m = calloc(1, sizeof(*m) + size);
                if (!m)
                        return; // nobody is told then, and starts with what is there
                memcpy(m->unit, made->name, size);
                if (map_add_str(&node->networks, m->unit, m) < 0) {
                        free(m);
                        return;
                }
        }
        m->revision = hash_equal(&m->of, &of) ? MAX_OF(m->revision, revision) : revision;
        m->of = of;
}

void agent_network_made_written(const AgentUnit *u, const AgentMade *made) {
        QuadletMade m;
        size_t at = 0;

        while (agent_made_next(made, QUADLET_NETWORK_UNIT, &at, &m))
                note_made(u->node, &m, u->work->wanted.revision);
}

void agent_network_made_gone(AgentNode *node, const char *unit) {
        free(map_take_str(&node->networks, unit));
}

// An older order than that of this unit has had one of its networks made of another file.
static bool has_other_made(const AgentUnit *u) {
        const AgentSpec *content = agent_unit_content(u);
        const char *at = content ? content->networks : NULL, *name;
        size_t len;

        while (quadlet_beside_names_next(&at, &name, &len)) {
                _cleanup_free_ char *unit = quadlet_beside_unit(name, len), *file = strndup(name, len);
                const MadeNetwork *m = unit && file ? map_find_str(&u->node->networks, unit) : NULL;

                if (m && m->revision < u->work->wanted.revision &&
                    quadlet_beside_is_other(content->content, content->len, file, &m->of))
                        return true;
        }
        return false;
}

static void ask_next(AgentUnit *u, size_t n);

static void on_reloaded(int error, void *userdata) {
        _cleanup_free_ AgentStepCall *call = userdata;
        AgentUnit *u = agent_step_find(call->node, call->name, call->number);

        if (!u)
                return;
        if (error < 0) {
                agent_network_fail(u, "daemon-reload failed", "", strerror(-error));
                return;
        }
        u->work->networks_read = true; // of all
        agent_step_prepared(u);
}

typedef struct ReadCall {
        AgentStepCall *call;
        size_t n;
} ReadCall;

static void on_outdated(int outdated, void *userdata) {
        _cleanup_free_ ReadCall *read = userdata;
        AgentStepCall *call = read->call;
        AgentUnit *u = agent_step_find(call->node, call->name, call->number);
        int r;

        if (u && outdated > 0) {
                r = systemd_manager_reload(u->node->systemd, on_reloaded, call);
                if (r >= 0)
                        return;
                agent_network_fail(u, "daemon-reload failed", "", strerror(-r));
        } else if (u && outdated == -ECONNRESET) {
                agent_step_prepared(u);
        } else if (u) {
                ask_next(u, read->n + 1);
        }
        free(call);
}

static void ask_next(AgentUnit *u, size_t n) {
        const AgentSpec *content = agent_unit_content(u);
        _cleanup_free_ char *unit = content && content->networks ? nth_unit(content, n) : NULL;
        ReadCall *read;

        if (!unit) {
                u->work->networks_read = true;
                agent_step_prepared(u);
                return;
        }
        read = calloc(1, sizeof(*read));
        if (read) {
                read->n = n;
                read->call = agent_step_call_new(u);
        }
        if (read && read->call && systemd_manager_outdated(u->node->systemd, unit, on_outdated, read) >= 0)
                return;
        if (read)
                free(read->call);
        free(read);
        u->work->networks_read = true; // who cannot be asked says nothing
        agent_step_prepared(u);
}

void agent_network_made_read(AgentUnit *u) {
        if (!has_other_made(u)) {
                ask_next(u, 0);
                return;
        }
        agent_unit_doubt_file(u); // it is written again, with what makes them
        agent_step_prepared(u);
}

void agent_network_made_forget(AgentNode *node) {
        map_done_with(&node->networks, free);
}
