// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dependencies.h"

#include <errno.h>
#include <stdio.h>

#include "str.h"

// Lives while it has links.
typedef struct Dependent {
        ListNode links; // Link.of_owner: what it says
        ListNode named; // Link.of_other: who names it
        char name[];
} Dependent;

typedef struct Link {
        Dependent *owner, *other;
        ListNode of_owner, of_other;
        unsigned kinds;
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
        size_t size = strlen(name) + 1;
        Dependent *d = find(g, name);

        if (d)
                return d;
        d = malloc(sizeof(*d) + size);
        if (!d)
                return NULL;
        memcpy(d->name, name, size);
        list_init(&d->links);
        list_init(&d->named);
        if (map_add_str(&g->names, d->name, d) < 0) {
                free(d);
                return NULL;
        }
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
        *k = (Link){.owner = owner, .other = other, .kinds = u->kinds};
        list_append(&owner->links, &k->of_owner);
        list_append(&other->named, &k->of_other);
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

                if (each(&(DependencyPeer){k->other->name, k->kinds}, userdata))
                        return true;
        }
        list_foreach (i, &d->named) {
                const Link *k = CONTAINER_OF(i, Link, of_other);

                if (k->kinds & UNIT_BEFORE && each(&(DependencyPeer){k->owner->name, UNIT_AFTER}, userdata))
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

                if (each(&(DependencyPeer){k->owner->name, k->kinds}, userdata))
                        return true;
        }
        list_foreach (i, &d->links) {
                const Link *k = CONTAINER_OF(i, Link, of_owner);

                if (k->kinds & UNIT_BEFORE && each(&(DependencyPeer){k->other->name, UNIT_AFTER}, userdata))
                        return true;
        }
        return false;
}

// ------------------------------------------------------------------------------------------------ cycles

// A walk from the unit along what it comes after, nearest first, each unit once. It has a list of its own,
// since a chain may be as long as there are units.
typedef struct Step {
        const char *name;
        size_t from;   // step from which it was found
        unsigned line; // of `list`, where the way to it begins
} Step;

typedef struct Walk {
        const DependencyCheck *check;
        const char *goal;
        Step *steps;
        size_t n, allocated;
        Map seen;
        size_t at; // step that is looked at
        bool found;
        int error;
} Walk;

static bool is_planned(const DependencyCheck *c, const char *name) {
        return c->planned && c->counts && c->counts(name, c->userdata);
}

static bool push(Walk *w, const char *name, unsigned line) {
        if (map_find_str(&w->seen, name))
                return false;
        if (w->n == w->allocated) {
                size_t more = w->allocated ? 2 * w->allocated : 32;
                Step *longer = reallocarray(w->steps, more, sizeof *longer);

                if (!longer)
                        return w->error = -ENOMEM, true;
                w->steps = longer;
                w->allocated = more;
        }
        w->steps[w->n++] = (Step){.name = name, .from = w->at, .line = line};
        if (map_add_str(&w->seen, name, (void *) name) < 0)
                return w->error = -ENOMEM, true;
        return w->found = streq(name, w->goal);
}

static bool on_peer(const DependencyPeer *peer, void *userdata) {
        Walk *w = userdata;

        return peer->kinds & UNIT_AFTER && push(w, peer->name, w->steps[w->at].line);
}

// What the links of `g` say that the unit comes after, without what those say who are judged by another
// graph.
static bool expand(Walk *w, const Dependencies *g, const char *name, bool overlay) {
        const Dependent *d = find(g, name);

        if (!d)
                return false;
        list_foreach (i, &d->links) {
                const Link *k = CONTAINER_OF(i, Link, of_owner);

                if (k->kinds & UNIT_AFTER && !streq(name, w->goal) &&
                    is_planned(w->check, name) == overlay &&
                    on_peer(&(DependencyPeer){k->other->name, UNIT_AFTER}, w))
                        return true;
        }
        list_foreach (i, &d->named) {
                const Link *k = CONTAINER_OF(i, Link, of_other);

                if (k->kinds & UNIT_BEFORE && !streq(k->owner->name, w->goal) &&
                    is_planned(w->check, k->owner->name) == overlay &&
                    on_peer(&(DependencyPeer){k->owner->name, UNIT_AFTER}, w))
                        return true;
        }
        return false;
}

// The unit itself may be found from whoever it says that it is before.
static bool expand_goal(Walk *w, const UnitDependency *list, size_t n, const char *name) {
        for (size_t i = 0; i < n; i++)
                if (list[i].kinds & UNIT_BEFORE && streq(list[i].name, name) &&
                    push(w, w->goal, w->steps[w->at].line ?: list[i].line))
                        return true;
        return false;
}

static void tell(const Walk *w, char *ret, size_t size) {
        const DependencyCheck *c = w->check;
        size_t len = 0, i = w->n - 1, hops = 1;
        const char **path;

        for (size_t k = i; k; k = w->steps[k].from)
                hops++;
        path = calloc(hops, sizeof *path);
        if (size)
                ret[0] = 0;
        for (size_t k = i, at = hops; path && at > 0; k = w->steps[k].from)
                path[--at] = w->steps[k].name;
        for (size_t k = 0; path && k < hops; k++) {
                if (c->member && k + 1 < hops)
                        c->member(path[k], c->userdata);
                if (len < size)
                        len += (size_t) snprintf(ret + len, size - len, "%s%s", k ? " after " : "", path[k]);
        }
        free(path);
}

static bool comes_after(const DependencyPeer *peer, void *userdata) {
        return peer->kinds & UNIT_AFTER;
}

// Nobody comes after most units, and those close no circle.
static bool may_close(const DependencyCheck *c, const char *name, const UnitDependency *list, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (list[i].kinds & UNIT_BEFORE)
                        return true;
        return dependencies_each_on(c->current, name, comes_after, NULL) ||
               (c->planned && dependencies_each_on(c->planned, name, comes_after, NULL));
}

int dependencies_check_cycle(const DependencyCheck *c, const char *name, const UnitDependency *list,
                             size_t n, char *ret, size_t size, unsigned *ret_line) {
        Walk w = {.check = c, .goal = name};
        unsigned line;

        if (!may_close(c, name, list, n))
                return 0;
        // Step 0 is the unit; it is not in `seen`, so that the walk may come back to it.
        w.steps = calloc(32, sizeof *w.steps);
        if (!w.steps)
                return -ENOMEM;
        w.allocated = 32;
        w.steps[w.n++] = (Step){.name = name};
        for (size_t i = 0; i < n && !w.found && !w.error; i++)
                if (list[i].kinds & UNIT_AFTER)
                        push(&w, list[i].name, list[i].line);
        // Who says that it is before this unit.
        if (!w.found && !w.error && !expand(&w, c->planned, name, true))
                expand(&w, c->current, name, false);
        for (w.at = 1; w.at < w.n && !w.found && !w.error; w.at++) {
                const char *next = w.steps[w.at].name;

                if (!expand_goal(&w, list, n, next) && !expand(&w, c->planned, next, true))
                        expand(&w, c->current, next, false);
        }
        line = w.steps[w.n - 1].line;
        if (w.found)
                tell(&w, ret, size);
        map_done(&w.seen);
        free(w.steps);
        if (w.error < 0)
                return w.error;
        if (!w.found)
                return 0;
        *ret_line = line ?: n ? list[0].line : 1;
        return -ELOOP;
}
