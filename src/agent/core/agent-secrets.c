// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Orders bring values and say who is to have which; a start puts them in place. Files are removed when all
// that is wanted here is known, once in a turn.
//
// A host without the ramfs takes no secrets: its units say so when they are to start. It is looked for again
// with each order that names some, so a mount that comes later is enough.

#include "agent-secrets.h"

#include <errno.h>
#include <inttypes.h>

#include "agent-unit.h"
#include "log.h"
#include "secret-files.h"
#include "str.h"

static int open_files(Agent *a) {
        int r = a->secrets       ? 0
                : a->secrets_dir ? secret_files_new(a->secrets_dir, a->secrets_any_fs, &a->secrets)
                                 : -ENOENT;

        if (r < 0)
                a->secrets_error = r;
        return r;
}

void agent_secrets_open(Agent *a, const AgentConfig *config) {
        a->secrets_any_fs = config->secrets_any_fs;
        if (!config->secrets_dir)
                return;
        a->secrets_dir = strdup(config->secrets_dir);
        (void) open_files(a); // said when somebody is to have one
}

void agent_secrets_done(Agent *a) {
        a->secrets = secret_files_free(a->secrets);
        free(TAKE_PTR(a->secrets_dir));
}

void agent_secrets_take(Agent *a, Argosy__SecretValue *const *values, size_t n) {
        if (n == 0 || open_files(a) < 0)
                return;
        for (size_t i = 0; i < n; i++) {
                int r = secret_files_put(a->secrets, values[i]);

                if (r < 0)
                        log_warning("Cannot keep version %" PRIu64 " of the secret %.64s: %s.",
                                    values[i]->version, values[i]->name, strerror(-r));
        }
}

void agent_secrets_ordered(AgentNode *node, const char *unit, const Argosy__UnitOrder *order) {
        Agent *a = node->agent;
        size_t n = order ? order->n_secrets : 0;
        int r;

        if (node != a->system || (n == 0 && !a->secrets) || open_files(a) < 0)
                return;
        r = secret_files_want(a->secrets, unit, n > 0 ? order->secrets : NULL, n);
        if (r < 0)
                log_unit(LOG_WARNING, unit, "Cannot take over which secrets %s has: %s.", unit,
                         strerror(-r));
}

static int no_files(const Agent *a, char why[AGENT_ERROR_MAX]) {
        if (a->secrets_error == -EMEDIUMTYPE)
                str_fit(why, AGENT_ERROR_MAX,
                        "it has secrets, and %s is no ramfs: is run-argosy-secrets.mount active?",
                        a->secrets_dir);
        else
                str_fit(why, AGENT_ERROR_MAX, "it has secrets, and this host has no place for them: %s: %s",
                        a->secrets_dir ?: "no directory", strerror(-a->secrets_error));
        return a->secrets_error;
}

int agent_secrets_place(const AgentUnit *u, char why[AGENT_ERROR_MAX]) {
        const AgentSpec *content = agent_unit_content(u);
        Agent *a = u->node->agent;

        if (u->node != a->system || !content || !content->secrets)
                return 0;
        if (!a->secrets)
                return no_files(a, why);
        static_assert((int) SECRET_FILES_WHY_SIZE <= (int) AGENT_ERROR_MAX);
        return secret_files_place(a->secrets, u->name, why);
}

int agent_secrets_ready(Agent *a, char why[AGENT_ERROR_MAX]) {
        return open_files(a) < 0 ? no_files(a, why) : 0;
}

int agent_secrets_registry_auth(const AgentUnit *u, SecretBytes *ret, char why[AGENT_ERROR_MAX]) {
        Agent *a = u->node->agent;
        int r = agent_secrets_ready(a, why);

        return r < 0 ? r : secret_files_registry_auth(a->secrets, u->name, ret, why);
}

bool agent_secrets_differ(const AgentUnit *u) {
        const AgentSpec *content = agent_unit_content(u);
        const Agent *a = u->node->agent;

        return u->node == a->system && u->has_wanted && content && content->secrets && a->secrets &&
               !secret_files_is_placed(a->secrets, u->name);
}

// For whatever starts it, unless it runs with what is in place; a start of ours says what is missing. What
// is left of a content of before goes also when that was of an earlier run of argosyd, which has ended in
// the middle of replacing it.
void agent_secrets_placed(const AgentUnit *u) {
        const AgentSpec *content = agent_unit_content(u);

        if (content && !content->secrets)
                agent_secrets_gone(u);
        else if (agent_unit_is_down(u))
                (void) agent_secrets_place(u, (char[AGENT_ERROR_MAX]){});
}

void agent_secrets_gone(const AgentUnit *u) {
        if (u->node == u->node->agent->system && u->node->agent->secrets)
                secret_files_drop(u->node->agent->secrets, u->name);
}

void agent_secrets_settled(const AgentUnit *u) {
        const AgentSpec *content = agent_unit_content(u);

        if (content && content->known && !content->secrets)
                agent_secrets_gone(u);
}

void agent_secrets_welcomed(Agent *a) {
        a->secrets_known = true;
}

static bool is_here(const char *unit, void *userdata) {
        const Agent *a = userdata;

        return a->system && agent_unit_find(a->system, unit);
}

void agent_secrets_drain(Agent *a) {
        if (a->secrets && a->secrets_known && secret_files_is_due(a->secrets))
                secret_files_sweep(a->secrets, is_here, a);
}
