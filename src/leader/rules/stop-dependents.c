// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which units are stopped with which, as a map of names with links from the one to the other. Each link
// belongs to the unit whose file says so, and goes when that file does. A name is there as long as a link
// leads to it or from it, or belongs to it.
//
// Cost: a unit whose file has none of these lines costs a look-up of its name when its record changes.
//
// Failures: without memory the unit at hand has no links.

#include "stop-dependents.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "list.h"
#include "str.h"

typedef struct StopUnit {
        ListNode dependents; // StopLink.of_origin
        ListNode origins;    // StopLink.of_dependent
        ListNode declared;   // StopLink.of_owner
        size_t n_links;      // in which it is anything
        size_t n_dependents;
        char name[];
} StopUnit;

typedef struct StopLink {
        StopUnit *origin, *dependent, *owner;
        ListNode of_origin, of_dependent, of_owner;
} StopLink;

static StopUnit *get(StopDependents *m, const char *name) {
        StopUnit *u = map_find_str(&m->names, name);

        if (u)
                return u;
        u = MAP_NEW_STR(&m->names, StopUnit, name, name);
        if (!u)
                return NULL;
        list_init(&u->dependents);
        list_init(&u->origins);
        list_init(&u->declared);
        return u;
}

static void drop_if_unused(StopDependents *m, StopUnit *u) {
        if (!u || u->n_links > 0)
                return;
        map_take_str(&m->names, u->name);
        free(u);
}

static void unlink_unit(StopDependents *m, StopUnit *u) {
        u->n_links--;
        drop_if_unused(m, u);
}

// What follows it among those of its origin; NULL: nothing.
static StopLink *link_after(const StopLink *link) {
        return link->of_origin.next == &link->origin->dependents
                       ? NULL
                       : CONTAINER_OF(link->of_origin.next, StopLink, of_origin);
}

static void drop_link(StopDependents *m, StopLink *link) {
        StopUnit *units[] = {link->origin, link->dependent, link->owner};

        for (StopWalk *w = m->walks; w; w = w->next)
                if (w->at == link)
                        w->at = link_after(link);
        link->origin->n_dependents--;
        list_unlink(&link->of_origin);
        list_unlink(&link->of_dependent);
        list_unlink(&link->of_owner);
        free(link);
        for (size_t i = 0; i < ELEMENTSOF(units); i++)
                unlink_unit(m, units[i]);
}

static void drop_declared(StopDependents *m, const char *name) {
        StopUnit *owner;

        while ((owner = map_find_str(&m->names, name)) && !list_is_empty(&owner->declared))
                drop_link(m, CONTAINER_OF(owner->declared.next, StopLink, of_owner));
}

static int add_link(StopDependents *m, const char *origin, const char *dependent, const char *owner) {
        StopUnit *units[] = {get(m, origin), get(m, dependent), get(m, owner)};
        StopLink *link = units[0] && units[1] && units[2] ? calloc(1, sizeof(*link)) : NULL;

        if (!link) { // each name once
                drop_if_unused(m, map_find_str(&m->names, origin));
                drop_if_unused(m, map_find_str(&m->names, dependent));
                drop_if_unused(m, map_find_str(&m->names, owner));
                return -ENOMEM;
        }
        *link = (StopLink){.origin = units[0], .dependent = units[1], .owner = units[2]};
        list_append(&link->origin->dependents, &link->of_origin);
        list_append(&link->dependent->origins, &link->of_dependent);
        list_append(&link->owner->declared, &link->of_owner);
        for (size_t i = 0; i < ELEMENTSOF(units); i++)
                units[i]->n_links++;
        link->origin->n_dependents++;
        for (StopWalk *w = m->walks; w; w = w->next)
                if (!w->at && streq(w->name, origin))
                        w->at = link;
        return 0;
}

static int add_words(StopDependents *m, const char *name, const char *words, bool stops) {
        _cleanup_free_ char *copy = words ? strdup(words) : NULL;
        char *rest = copy, *word;
        int r = words && !copy ? -ENOMEM : 0;

        while (r == 0 && (word = strsep(&rest, " \t")))
                if (*word && !streq(word, name))
                        r = stops ? add_link(m, name, word, name) : add_link(m, word, name, name);
        return r;
}

int stop_dependents_set(StopDependents *m, const char *name, const char *bound_to, const char *stops) {
        int r;

        drop_declared(m, name);
        r = add_words(m, name, bound_to, false);
        if (r == 0)
                r = add_words(m, name, stops, true);
        if (r < 0)
                drop_declared(m, name);
        return r;
}

bool stop_dependents_has(const StopDependents *m, const char *name) {
        const StopUnit *u = map_find_str(&m->names, name);

        return u && !list_is_empty(&u->dependents);
}

bool stop_dependents_has_origin(const StopDependents *m, const char *name) {
        const StopUnit *u = map_find_str(&m->names, name);

        return u && !list_is_empty(&u->origins);
}

const char *stop_dependents_find(const StopDependents *m, const char *name, const char *but) {
        const StopUnit *u = map_find_str(&m->names, name);

        if (u)
                list_foreach (i, &u->dependents) {
                        const char *dependent = CONTAINER_OF(i, const StopLink, of_origin)->dependent->name;

                        if (!streq(dependent, but))
                                return dependent;
                }
        return NULL;
}

size_t stop_dependents_count(const StopDependents *m, const char *name) {
        const StopUnit *u = map_find_str(&m->names, name);

        return u ? u->n_dependents : 0;
}

bool stop_dependents_links(const StopDependents *m, const char *name, const char *dependent) {
        const StopUnit *u = map_find_str(&m->names, dependent);

        if (!u)
                return false;
        list_foreach (i, &u->origins)
                if (streq(CONTAINER_OF(i, const StopLink, of_dependent)->origin->name, name))
                        return true;
        return false;
}

void stop_dependents_each(const StopDependents *m, const char *name,
                          void (*each)(const char *name, void *userdata), void *userdata) {
        const StopUnit *u = map_find_str(&m->names, name);

        if (!u)
                return;
        list_foreach (i, &u->dependents)
                each(CONTAINER_OF(i, const StopLink, of_origin)->dependent->name, userdata);
}

void stop_dependents_each_origin(const StopDependents *m, const char *name,
                                 void (*each)(const char *name, void *userdata), void *userdata) {
        const StopUnit *u = map_find_str(&m->names, name);

        if (!u)
                return;
        list_foreach (i, &u->origins)
                each(CONTAINER_OF(i, const StopLink, of_dependent)->origin->name, userdata);
}

// ---- walks

void stop_walk_begin(StopWalk *w, StopDependents *m, const char *name) {
        const StopUnit *u = map_find_str(&m->names, name);

        *w = (StopWalk){.of = m, .name = name, .next = m->walks};
        if (u && !list_is_empty(&u->dependents))
                w->at = CONTAINER_OF(u->dependents.next, StopLink, of_origin);
        m->walks = w;
}

void stop_walk_end(StopWalk *w) {
        StopWalk **at = w->of ? &w->of->walks : NULL;

        while (at && *at && *at != w)
                at = &(*at)->next;
        if (at && *at)
                *at = w->next;
        *w = (StopWalk){};
}

const char *stop_walk_next(StopWalk *w) {
        const StopLink *link = w->at;

        if (!link)
                return NULL;
        w->at = link_after(link);
        return link->dependent->name;
}

static void stop_unit_free(void *unit) {
        StopUnit *u = unit;

        while (!list_is_empty(&u->declared)) {
                StopLink *link = CONTAINER_OF(u->declared.next, StopLink, of_owner);

                list_unlink(&link->of_owner);
                free(link);
        }
        free(u);
}

void stop_dependents_done(StopDependents *m) {
        map_done_with(&m->names, stop_unit_free);
        *m = (StopDependents){};
}
