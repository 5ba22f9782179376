// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Contents of units, one object for all units that have the same: made when the first names it, freed when
// nobody does any more. A record of the ledger may name a content that nobody has sent yet; it is then known
// by its hash alone.

#include <errno.h>

#include "agent-core.h"
#include "agent-spec.h"
#include "carried-names.h"
#include "content-image.h"
#include "str.h"
#include "unit-file.h"

// Without memory it is only not named.
static char *condition_phrase(const char *conditions, bool several) {
        return conditions ? str_printf("%s%s", several ? "one of " : "", conditions) : NULL;
}

static AgentCarried *carried_free(AgentCarried *c) {
        if (!c)
                return NULL;
        carried_files_done(&c->files);
        file_sources_drop(c->sources, &c->n_sources);
        free(c->sources);
        free(c);
        return NULL;
}

// The leader refuses a list that cannot be read.
static int take_carried(Agent *a, AgentSpec *s, UnitFile *file) {
        int r;

        if (file->n_file_sources == 0)
                return 0;
        s->carried = calloc(1, sizeof(*s->carried));
        if (!s->carried)
                return -ENOMEM;
        s->carried->sources = TAKE_PTR(file->file_sources);
        s->carried->n_sources = file->n_file_sources;
        s->carried->change = file->file_change;
        s->carried->container = file->container;
        file->n_file_sources = 0;
        r = carried_files_read(s->content, s->len, &s->carried->files);
        while (r == 0 && s->carried->n_named < s->carried->files.n) {
                r = carried_name_add(a, &s->carried->files.list[s->carried->n_named]);
                s->carried->n_named += r == 0;
        }
        return r;
}

// As podman lists it.
static int take_image(AgentSpec *s, const char *name) {
        _cleanup_content_image_ ContentImage image = {};
        int r = content_image_read(name, s->content, s->len, &image);

        if (r < 0 || image.kind == CONTENT_IMAGE_NONE || image.kind == CONTENT_IMAGE_LOCAL ||
            image.kind == CONTENT_IMAGE_VARIES)
                return r;
        if (*image.digest)
                s->image = content_image_pulled(image.name, image.digest);
        else
                s->image = str_printf("%s%s", image.name,
                                      strchr(strrchr(image.name, '/') ?: image.name, ':') ? "" : ":latest");
        return s->image ? 0 : -ENOMEM;
}

static void drop_carried(Agent *a, const AgentSpec *s) {
        for (size_t i = 0; s->carried && i < s->carried->n_named; i++)
                carried_name_drop(a, &s->carried->files.list[i]);
}

// A timer, path or socket looks for what it activates, too: of each unit that has the content.
static int take_activated(AgentSpec *s, const UnitFile *file, const char *name) {
        _cleanup_free_ char *activated = NULL, *needs = NULL;
        int r = unit_file_activates(file, name, &activated);

        if (r < 0 || !activated)
                return r;
        needs = TAKE_PTR(s->needs);
        s->needs = str_printf("%s%s%s", needs ?: "", needs ? " " : "", file->activates ?: "%N.service");
        return s->needs ? 0 : -ENOMEM;
}

static int spec_inspect(Agent *a, AgentSpec *s, const char *name) {
        _cleanup_(unit_file_freep) UnitFile *file = NULL;

        // The leader refuses what cannot be parsed; should one slip through, systemd has the last word on
        // it.
        if (unit_file_parse(name, s->content, s->len, &file, NULL) < 0)
                return 0;
        s->oneshot = file->oneshot && !file->remain;
        s->simple = file->simple;
        s->spreadable = !file->has_slice && !file->has_weights;
        s->rerun_unknown = file->failing.rerun_unknown;
        s->links = file->n_install > 0;
        s->container = file->container;
        s->secrets = unit_file_has_secrets(file);
        s->registry_auth = file->registry_auth;
        s->cut_off_stop = file->failing.cut_off_stop;
        s->cut_off_sec = file->failing.cut_off_sec;
        s->networks = TAKE_PTR(file->networks);
        s->bound_to = TAKE_PTR(file->bound_to);
        s->needs = TAKE_PTR(file->needs);
        s->conflicts = TAKE_PTR(file->conflicts);
        s->stops_unneeded = file->stops_unneeded;
        s->refuses_start = file->refuses_start;
        s->condition = condition_phrase(file->conditions, file->several_conditions);
        s->assertion = condition_phrase(file->asserts, file->several_asserts);
        s->exec_condition = condition_phrase(file->exec_conditions, file->several_exec_conditions);
        return (s->container ? take_image(s, name) : 0) ?: take_activated(s, file, name)
                       ?: take_carried(a, s, file);
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
        if (s->image) // the orders for which it was pulled have come
                free(map_take_str(&a->images.called, s->image));
        if (s->image || !s->known) {
                a->images.look = true;
                drain_mark(&a->drain);
        }
        a->carried_is_left |= !s->known;
        a->n_cut_off_specs -= s->cut_off_stop;
        drop_carried(a, s);
        carried_free(s->carried);
        free(s->content);
        free(s->image);
        free(s->networks);
        free(s->bound_to);
        free(s->needs);
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
        int r;

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
        r = spec_inspect(a, s, name);
        a->n_cut_off_specs += s->cut_off_stop;
        if (r < 0) { // as if it had not come
                agent_spec_unref(a, s);
                return r;
        }
        *ret = s;
        return 0;
}
