// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A content that brings another file of a network has that made anew on its node (agent-networks.h), which
// takes down all that have it. So podman is asked before, in PLAN_FETCH:
//
//      only containers of argosy's have it -> the step goes on, and says whether it is to be made anew
//      somebody else has it -> what runs goes on with the file that it has; what does not run is refused,
//      and goes to another node
//
// A podman that says nothing of networks stops nobody: the start will tell. Failures: -ENOMEM fails the
// step.

#include "agent-network-users.h"

#include <errno.h>
#include <string.h>

#include "agent-barred.h"
#include "agent-network-look.h"
#include "agent-unit.h"
#include "agent-verify.h"
#include "quadlet.h"

static bool has_networks(const AgentUnitWork *work) {
        return agent_made_next(work->made, QUADLET_NETWORK_UNIT, &(size_t){0}, &(QuadletMade){});
}

// The unit in place came with another file of it.
static bool had_other(const AgentUnit *u, const Network *w) {
        const AgentSpec *before = agent_unit_content(u);

        return before && before->content &&
               quadlet_beside_is_other(before->content, before->len, w->file, &w->of);
}

// As in agent-verify.c: what runs goes on, what is not ours does not become ours.
static void refuse(AgentUnit *u, const char *why) {
        if (u->has_held && !agent_unit_is_down(u)) {
                agent_verify_run_on(u, "its network is not changed", why);
                return;
        }
        if (!u->has_held)
                agent_barred_refuse(u);
        agent_unit_report(u);
        agent_step_done(u, why);
}

bool agent_network_users_is_due(const AgentUnit *u) {
        const AgentUnitWork *work = agent_unit_doing(u);

        return agent_verify_is_to_write(u) && !work->networks_seen && has_networks(work);
}

static void judge(AgentUnit *u, const NetworkLook *look, const Buf *output) {
        _cleanup_free_ char *why = NULL;
        bool stale = false;
        int r = 0;

        for (size_t i = 0; i < look->n && r == 0 && !why; i++) {
                NetworkSeen seen = network_look_find(output, look->list[i].podman);
                bool other = agent_network_is_other(&look->list[i], &seen);

                stale |= other;
                if (other || (seen.there && had_other(u, &look->list[i])))
                        r = agent_network_find_others(u, &look->list[i], &seen, &why);
        }
        if (r < 0 || why) {
                refuse(u, r < 0 ? strerror(-r) : why);
                return;
        }
        u->work->networks_seen = true;
        u->work->network_stale = stale;
        agent_step_prepared(u);
}

static void on_seen(int result, const Buf *output, const Buf *said, void *userdata) {
        static const Buf nothing;
        NetworkLook *look = userdata;
        AgentUnit *u = agent_step_find(look->call->node, look->call->name, look->call->number);

        if (u)
                judge(u, look, result == 0 ? output : &nothing);
        drain_mark(&look->agent->drain);
        agent_network_look_free(look);
}

void agent_network_users_see(AgentUnit *u) {
        NetworkLook *look = NULL;
        int r = agent_network_look_new(u, &look);

        if (r == 0 && look->n > 0)
                r = agent_network_look_ask(look, NETWORK_LOOK_SCRIPT, NETWORK_LOOK_SEC, true, on_seen);
        if (r == 0 && look->n > 0) {
                list_append(&u->node->agent->networks.looks, &look->link);
                return;
        }
        if (look)
                agent_network_look_free(look);
        u->work->networks_seen = r != -ENOMEM;
        if (r == -ENOMEM)
                agent_step_done(u, strerror(ENOMEM));
        else
                agent_step_prepared(u);
}
