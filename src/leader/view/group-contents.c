// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which contents the units of a group have, counted (group-contents.h). group_contents_note() per record ->
// group_contents_count_others(), group_contents_common(). A content is kept by its hash, as the log may drop
// the former content before a record is followed. Without memory the process ends (oom.h).

#include "group-contents.h"

#include <stdlib.h>

#include "cluster-state.h"
#include "content-image.h"
#include "oom.h"

static GroupContent *need(DisruptionBudget *g, const Hash *spec, bool from_template) {
        uint8_t key[HASH_SIZE + 1];
        GroupContent *c;

        memcpy(key, spec->bytes, HASH_SIZE);
        key[HASH_SIZE] = from_template;
        c = map_find(&g->contents, key, sizeof(key));
        if (c)
                return c;
        c = oom_checked(calloc(1, sizeof(*c)));
        c->spec = *spec;
        c->from_template = from_template;
        memcpy(c->key, key, sizeof(key));
        (void) oom_check(map_add(&g->contents, c->key, sizeof(c->key), c));
        return c;
}

void group_contents_forget(Unit *u) {
        GroupContent *c = TAKE_PTR(u->content);

        if (!c || --c->n > 0)
                return;
        map_take(&u->budget->contents, c->key, sizeof(c->key));
        free(c);
}

void group_contents_note(Unit *u, const UnitEntry *e) {
        DisruptionBudget *g = u->budget;
        const GroupContent *c = u->content;

        g->revision = MAX_OF(g->revision, e->record->revision);
        if (c && c->from_template == e->record->from_template && hash_equal(&c->spec, &e->spec->hash))
                return;
        group_contents_forget(u);
        u->content = need(g, &e->spec->hash, e->record->from_template);
        u->content->n++;
}

size_t group_contents_count_others(const DisruptionBudget *g, const Hash *spec) {
        size_t n = 0;

        map_foreach (slot, &g->contents) {
                const GroupContent *c = slot->value;

                n += c->from_template && !hash_equal(&c->spec, spec) ? c->n : 0;
        }
        return n;
}

SpecEntry *group_contents_common(const Leader *l, const DisruptionBudget *g, bool *ret_several) {
        const GroupContent *common = NULL;

        *ret_several = false;
        map_foreach (slot, &g->contents) {
                const GroupContent *c = slot->value;

                if (!c->from_template)
                        continue;
                *ret_several = common;
                if (common)
                        return NULL;
                common = c;
        }
        return common ? cluster_state_find_spec(l->state, &common->spec) : NULL;
}

int group_contents_one_source(const Leader *l, const DisruptionBudget *g, SpecEntry **ret) {
        SpecEntry *first = NULL;
        unsigned n = 0;

        *ret = NULL;
        map_foreach (slot, &g->contents) {
                const GroupContent *c = slot->value;
                SpecEntry *spec = c->from_template ? cluster_state_find_spec(l->state, &c->spec) : NULL;
                int same;

                if (!spec)
                        continue;
                if (++n > GROUP_SOURCES_COMPARED)
                        return 0;
                first = first ?: spec;
                same = content_image_same_source(first->content, first->len, spec->content, spec->len);
                if (same <= 0)
                        return same;
        }
        *ret = first;
        return 0;
}

void group_contents_each(const Leader *l, const DisruptionBudget *g,
                         void (*each)(SpecEntry *spec, void *userdata), void *userdata) {
        map_foreach (slot, &g->contents) {
                const GroupContent *c = slot->value;
                SpecEntry *spec = cluster_state_find_spec(l->state, &c->spec);

                if (spec)
                        each(spec, userdata);
        }
}
