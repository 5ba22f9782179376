// SPDX-License-Identifier: LGPL-2.1-or-later
//
//      what was made for the unit -> the units beside it that make networks, and their files
//          -> podman is asked of these by name, in a transient unit -> network-look.h reads the answer
//
// Failures: -ENOMEM; what podman says is for who asked.

#include "agent-network-look.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent-unit.h"
#include "quadlet.h"
#include "str.h"
#include "unit-dir.h"
#include "unit-parts.h"

enum { OUTPUT_MAX = 1 << 16 };

void agent_network_look_free(NetworkLook *look) {
        list_unlink(&look->link);
        for (size_t i = 0; i < look->n; i++) {
                free(look->list[i].unit);
                free(look->list[i].file);
                free(look->list[i].podman);
        }
        free(look->call);
        free(look);
}

static int add_network(NetworkLook *look, const QuadletMade *made) {
        Network *w = &look->list[look->n];
        int stem = (int) (strlen(made->name) - strlen(QUADLET_NETWORK_UNIT)), r;

        if (stem <= 0 || look->n == NETWORKS_MAX || !quadlet_made_of(made->unit, made->len, &w->of))
                return 0;
        r = network_look_name(made->unit, made->len, &w->podman);
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        look->n++;
        w->unit = strdup(made->name);
        w->file = str_printf("%.*s" QUADLET_NETWORK, stem, made->name);
        return w->unit && w->file ? 0 : -ENOMEM;
}

int agent_network_look_new(const AgentUnit *u, NetworkLook **ret) {
        size_t at = 0, size = strlen(u->name) + 1;
        NetworkLook *look = calloc(1, sizeof(*look) + size);
        QuadletMade m;
        int r = look ? 0 : -ENOMEM;

        if (r < 0)
                return r;
        memcpy(look->unit, u->name, size);
        list_init(&look->link);
        look->agent = u->node->agent;
        look->call = agent_step_call_new(u);
        r = look->call ? 0 : -ENOMEM;
        while (r == 0 && agent_made_next(u->work->made, QUADLET_NETWORK_UNIT, &at, &m))
                r = add_network(look, &m);
        if (r < 0)
                agent_network_look_free(look);
        else
                *ret = look;
        return r;
}

int agent_network_look_ask(NetworkLook *look, const char *script, unsigned limit_sec, bool all,
                           TransientDone *done) {
        const char *args[4 + NETWORKS_MAX + 1] = {"/bin/sh", "-c", script, "networks"};
        const AgentCommand command = {.description = "Networks of containers",
                                      .args = args,
                                      .limit_sec = limit_sec,
                                      .output_max = OUTPUT_MAX};
        size_t n = 4;

        for (size_t i = 0; i < look->n; i++)
                if (all || look->list[i].due)
                        args[n++] = look->list[i].podman;
        return agent_command_start(look->agent, &command, done, look, &look->command);
}

// ----------------------------------------------------------------------------------------------- who has it

bool agent_network_is_other(const Network *w, const NetworkSeen *seen) {
        return seen->there && seen->said && !hash_equal(&seen->of, &w->of);
}

// A container that comes down, and comes back, with the unit that makes the network. Of a unit that an
// earlier argosyd has written the content is not known, but what stands beside it.
static bool is_ours(const AgentUnit *u, const Network *w, const NetworkUser *user) {
        _cleanup_free_ char *name = strndup(user->owner, (size_t) user->owner_len);
        const AgentUnit *owner = name ? agent_unit_find(u->node, name) : NULL;
        const AgentSpec *content = owner ? agent_unit_content(owner) : NULL;
        UnitPart part;

        if (owner && owner->has_held && !content)
                return !u->node->dir || unit_dir_has_beside(u->node->dir, name, w->unit);
        return content && content->content &&
               quadlet_beside_find(content->content, content->len, w->file, &part);
}

// What a run has left that never came to its end, as by a power cut between the making of the container and
// its start: its unit does not run here, and starts with another container (`podman run --replace`).
static bool is_left(const AgentUnit *u, const NetworkUser *user) {
        _cleanup_free_ char *name = strndup(user->owner, (size_t) user->owner_len);
        const AgentUnit *owner = name ? agent_unit_find(u->node, name) : NULL;

        return user->down && owner && (!owner->has_held || agent_unit_is_down(owner));
}

int agent_network_find_others(const AgentUnit *u, const Network *w, const NetworkSeen *seen,
                              char **ret_why) {
        const char *at = seen->users;
        NetworkUser user;

        while (network_look_next(seen, &at, &user))
                if (!is_ours(u, w, &user) && !is_left(u, &user)) {
                        *ret_why = str_printf("the network %s would have to be made anew for %s, and the "
                                              "container %.*s on this host, which has it, %s",
                                              w->podman, w->file, user.container_len, user.container,
                                              user.owner_len > 0 ? "is of a unit without that file"
                                                                 : "is not argosy's");
                        return *ret_why ? 0 : -ENOMEM;
                }
        return 0;
}

void agent_network_fail(AgentUnit *u, const char *what, const char *name, const char *why) {
        char text[AGENT_ERROR_MAX];

        str_fit(text, sizeof(text), "%s%s%s%s", what, name, *why ? ": " : "", why);
        agent_step_done(u, text); // the lock goes when it is planned next
}
