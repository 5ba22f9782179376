// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The rules of the header as two judgements, and the graph: each unit that has a link in either direction is
// one object, its links are in two lists. A unit's links are replaced as a whole; without memory for the new
// ones it has none left (-ENOMEM).

#include "dependencies.h"

#include <errno.h>

#include "str.h"

// Lives while it has links.
typedef struct Dependent {
        ListNode links; // Link.of_owner: what it says
        ListNode named; // Link.of_other: who names it; those with UNIT_BEFORE stand first
        char name[];
} Dependent;

typedef struct Link {
        Dependent *owner, *other;
        ListNode of_owner, of_other;
        unsigned kinds, line;
} Link;

// ------------------------------------------------------------------------------------------------ the rules

DependencyVerdict dependency_judge_start(unsigned kinds, Standing of_other) {
        if (!(kinds & UNIT_AFTER))
                return DEPENDENCY_GO;
        switch (of_other) {
        case STANDING_UP:
                return DEPENDENCY_GO;
        case STANDING_COMING:
        case STANDING_UNKNOWN:
        case STANDING_CHANGING:
        case STANDING_ENDING:
                return DEPENDENCY_WAIT;
        case STANDING_FINISHED:
                return kinds & UNIT_BINDS_TO ? DEPENDENCY_BLOCKED : DEPENDENCY_GO;
        default:
                return kinds & UNIT_REQUIRES ? DEPENDENCY_BLOCKED : DEPENDENCY_GO;
        }
}

bool dependency_judge_run(unsigned kinds, Standing of_other) {
        switch (of_other) {
        case STANDING_UP:
        case STANDING_UNKNOWN:
        case STANDING_CHANGING:
        case STANDING_RETRYING:
                return false;
        default:
                return kinds & UNIT_BINDS_TO;
        }
}

// ------------------------------------------------------------------------------------------------ the graph

static Dependent *find(const Dependencies *g, const char *name) {
        return g && g->names.count ? map_find_str(&g->names, name) : NULL;
}

static Dependent *get(Dependencies *g, const char *name) {
        Dependent *d = find(g, name);

        if (d)
                return d;
        d = MAP_NEW_STR(&g->names, Dependent, name, name);
        if (!d)
                return NULL;
        list_init(&d->links);
        list_init(&d->named);
        return d;
}

static void drop_if_unused(Dependencies *g, Dependent *d) {
        if (!list_is_empty(&d->links) || !list_is_empty(&d->named))
                return;
        map_take_str(&g->names, d->name);
        free(d);
}

static void link_free(Dependencies *g, Link *k) {
        list_unlink(&k->of_owner);
        list_unlink(&k->of_other);
        if (k->other != k->owner) // the caller, which frees the owner's links, looks at it afterwards
                drop_if_unused(g, k->other);
        free(k);
}

void dependencies_done_all(Dependencies *g) {
        map_foreach (slot, &g->names) {
                Dependent *d = slot->value;

                list_foreach_safe (i, &d->links)
                        free(CONTAINER_OF(i, Link, of_owner));
        }
        map_done_with(&g->names, free);
        *g = (Dependencies){};
}

static int link_new(Dependencies *g, Dependent *owner, const UnitDependency *u) {
        Dependent *other = get(g, u->name);
        Link *k = other ? malloc(sizeof(*k)) : NULL;

        if (!k) {
                if (other)
                        drop_if_unused(g, other);
                return -ENOMEM;
        }
        *k = (Link){.owner = owner, .other = other, .kinds = u->kinds, .line = u->line};
        list_append(&owner->links, &k->of_owner);
        list_insert_before(u->kinds & UNIT_BEFORE ? other->named.next : &other->named, &k->of_other);
        return 0;
}

static void forget(Dependencies *g, ListNode *links) {
        list_foreach_safe (i, links)
                link_free(g, CONTAINER_OF(i, Link, of_owner));
}

int dependencies_set(Dependencies *g, const char *name, const UnitDependency *list, size_t n) {
        Dependent *d = n ? get(g, name) : find(g, name);
        ListNode old = LIST_INIT(old);
        int r = n && !d ? -ENOMEM : 0;

        if (!d)
                return r;
        list_splice(&old, &d->links);
        for (size_t i = 0; i < n && r >= 0; i++)
                r = link_new(g, d, &list[i]);
        forget(g, &old);
        if (r < 0)
                forget(g, &d->links);
        drop_if_unused(g, d);
        return r;
}

void dependencies_forget(Dependencies *g, const char *name) {
        Dependent *d = find(g, name);

        if (!d)
                return;
        forget(g, &d->links);
        drop_if_unused(g, d);
}

bool dependencies_knows(const Dependencies *g, const char *name) {
        return find(g, name);
}

bool dependencies_has(const Dependencies *g, const char *name) {
        const Dependent *d = find(g, name);

        return d && !list_is_empty(&d->links);
}

bool dependencies_each_of(const Dependencies *g, const char *name, DependencyEach each, void *userdata) {
        const Dependent *d = find(g, name);

        if (!d)
                return false;
        list_foreach (i, &d->links) {
                const Link *k = CONTAINER_OF(i, Link, of_owner);

                if (each(&(DependencyPeer){k->other->name, k->kinds, k->line, false}, userdata))
                        return true;
        }
        list_foreach (i, &d->named) {
                const Link *k = CONTAINER_OF(i, Link, of_other);

                if (!(k->kinds & UNIT_BEFORE))
                        return false;
                if (each(&(DependencyPeer){k->owner->name, UNIT_AFTER, k->line, true}, userdata))
                        return true;
        }
        return false;
}

bool dependencies_each_on(const Dependencies *g, const char *name, DependencyEach each, void *userdata) {
        const Dependent *d = find(g, name);

        if (!d)
                return false;
        list_foreach (i, &d->named) {
                const Link *k = CONTAINER_OF(i, Link, of_other);

                if (each(&(DependencyPeer){k->owner->name, k->kinds, k->line, true}, userdata))
                        return true;
        }
        list_foreach (i, &d->links) {
                const Link *k = CONTAINER_OF(i, Link, of_owner);

                if (k->kinds & UNIT_BEFORE &&
                    each(&(DependencyPeer){k->other->name, UNIT_AFTER, k->line, false}, userdata))
                        return true;
        }
        return false;
}
