// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Contents of units, one object for all units that have the same: made when the first names it, freed when nobody
// does any more. A record of the ledger may name a content that nobody has sent yet; it is then known by its hash
// alone.

#include <errno.h>

#include "agent-core.h"
#include "agent-spec.h"
#include "str.h"
#include "unit-file.h"

// Without memory it is only not named.
static char *condition_phrase(const char *conditions, bool several) {
        return conditions ? str_printf("%s%s", several ? "one of " : "", conditions) : NULL;
}

static void spec_inspect(AgentSpec *s, const char *name) {
        _cleanup_(unit_file_freep) UnitFile *file = NULL;

        // The leader refuses what cannot be parsed; should one slip through, systemd has the last word on
        // it.
        if (unit_file_parse(name, s->content, s->len, &file, NULL) < 0)
                return;
        s->oneshot = file->oneshot && !file->remain;
        s->simple = file->simple;
        s->spreadable = !file->has_slice && !file->has_weights;
        s->rerun_unknown = file->failing.rerun_unknown;
        s->links = file->n_install > 0;
        s->cut_off_stop = file->failing.cut_off_stop;
        s->cut_off_sec = file->failing.cut_off_sec;
        s->bound_to = TAKE_PTR(file->bound_to);
        s->conflicts = TAKE_PTR(file->conflicts);
        s->stops_unneeded = file->stops_unneeded;
        s->refuses_start = file->refuses_start;
        s->condition = condition_phrase(file->conditions, file->several_conditions);
        s->assertion = condition_phrase(file->asserts, file->several_asserts);
        s->exec_condition = condition_phrase(file->exec_conditions, file->several_exec_conditions);
}

AgentSpec *agent_spec_find(Agent *a, const Hash *hash) {
        AgentSpec *s = map_find(&a->specs, hash->bytes, HASH_SIZE);

        return s && s->known ? s : NULL;
}

AgentSpec *agent_spec_ref(AgentSpec *s) {
        if (s)
                s->n_refs++;
        return s;
}

void agent_spec_unref(Agent *a, AgentSpec *s) {
        if (!s || --s->n_refs > 0)
                return;
        map_take(&a->specs, s->hash.bytes, HASH_SIZE);
        a->n_cut_off_specs -= s->cut_off_stop;
        free(s->content);
        free(s->bound_to);
        free(s->conflicts);
        free(s->condition);
        free(s->exec_condition);
        free(s->assertion);
        free(s);
}

AgentSpec *agent_spec_name(Agent *a, const Hash *hash) {
        AgentSpec *s = map_find(&a->specs, hash->bytes, HASH_SIZE);

        if (s)
                return agent_spec_ref(s);
        s = calloc(1, sizeof(*s));
        if (!s)
                return NULL;
        s->hash = *hash;
        s->n_refs = 1;
        if (map_add(&a->specs, s->hash.bytes, HASH_SIZE, s) < 0) {
                free(s);
                return NULL;
        }
        return s;
}

int agent_spec_get(Agent *a, const Hash *hash, const void *content, size_t len, const char *name,
                   AgentSpec **ret) {
        AgentSpec *s = agent_spec_find(a, hash);
        Hash actual;

        if (s) {
                *ret = agent_spec_ref(s);
                return 0;
        }
        actual = hash_of(content, len);
        if (!hash_equal(&actual, hash))
                return -EBADMSG;
        s = agent_spec_name(a, hash);
        if (!s)
                return -ENOMEM;
        s->content = malloc(len ?: 1);
        if (!s->content) {
                agent_spec_unref(a, s);
                return -ENOMEM;
        }
        memcpy(s->content, content, len);
        s->len = len;
        s->known = true;
        spec_inspect(s, name);
        a->n_cut_off_specs += s->cut_off_stop;
        *ret = s;
        return 0;
}
