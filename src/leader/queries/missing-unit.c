// SPDX-License-Identifier: LGPL-2.1-or-later
//
// systemd says "Unit X not found" of what is not on its node, whatever the cluster has. Here it is said what
// the cluster knows of X: on which node it is, that it is only known, or that nobody has it. The words are
// made when somebody asks, so they are true then. An activator whose unit is missing is refused by systemd
// without a name, so that is looked up.
#include <stdio.h>

#include "activators.h"
#include "missing-unit.h"
#include "registry.h"
#include "str.h"
#include "tables.h"
#include "unit-name.h"

#define BEGIN "Unit "
#define END " not found"

// "X" of "... Unit X not found.": false, there is no such.
static bool named_in(const char *text, char ret[static UNIT_NAME_MAX + 1]) {
        const char *end = strstr(text, END), *from = NULL;

        for (const char *p = text; end && (p = strstr(p, BEGIN)) && p < end; p++)
                from = p + strlen(BEGIN);
        if (!from || end - from > UNIT_NAME_MAX)
                return false;
        snprintf(ret, UNIT_NAME_MAX + 1, "%.*s", (int) (end - from), from);
        return unit_name_kind(ret, NULL) != UNIT_NAME_INVALID;
}

static bool is_known(const Leader *l, const char *name) {
        const UnitEntry *e = cluster_state_find_unit(l->state, name);

        return e && !e->removed;
}

static bool has_template(const Leader *l, const char *name) {
        _cleanup_free_ char *template =
                unit_name_kind(name, NULL) == UNIT_NAME_INSTANCE ? unit_name_template(name) : NULL;

        return template && is_known(l, template);
}

static bool is_loaded(const Leader *l, const char *name) {
        return is_known(l, name) &&
               cluster_state_find_unit(l->state, name)->record->target != ARGOSY__TARGET__TARGET_INACTIVE;
}

// Where it is, as a phrase; false: on that node, as far as the cluster knows.
static bool where(const Leader *l, const char *name, const char *node, char *ret, size_t size) {
        const UnitEntry *e = cluster_state_find_unit(l->state, name);
        const Node *n;

        if (!is_known(l, name)) {
                str_fit(ret, size,
                        has_template(l, name) ? "the cluster has the template of %s, which is not loaded"
                                              : "neither the node nor the cluster has %s",
                        name);
                return true;
        }
        if (e->record->target == ARGOSY__TARGET__TARGET_INACTIVE) {
                str_fit(ret, size, "the cluster has %s, which is not loaded", name);
                return true;
        }
        n = e->record->node ? node_find(l, e->record->node) : NULL;
        if (e->record->global || (n && streq(n->name, node)))
                return false;
        str_fit(ret, size, n ? "%s is on %s" : "%s waits for a node", name, n ? n->name : "");
        return true;
}

void missing_unit_explain(const Leader *l, const char *name, const char *node, char *text, size_t size) {
        const char *activated = activators_activated(&l->activators, name), *missing;
        char named[UNIT_NAME_MAX + 1], place[2 * UNIT_NAME_MAX];
        size_t len = strlen(text);
        bool known;

        missing = named_in(text, named) ? named : activated;
        if (!missing || !where(l, missing, node, place, sizeof(place)))
                return;
        while (len > 0 && text[len - 1] == '.')
                len--;
        known = is_known(l, missing) || has_template(l, missing);
        if (!known)
                str_fit(text + len, size - len, "; %s%s%s%s", missing == activated ? "it activates " : "",
                        missing == activated ? missing : "", missing == activated ? ", and " : "", place);
        else
                str_fit(text + len, size - len,
                        "; %s%s: `SameNodeAs=%s` in [X-Argosy] has both on one node%s%s%s", place,
                        is_loaded(l, missing) ? "" : "; load or start it", missing,
                        missing == activated ? "" : "; `Requires=", missing == activated ? "" : missing,
                        missing == activated ? "" : "` there, instead of in [Unit], holds across nodes");
}
