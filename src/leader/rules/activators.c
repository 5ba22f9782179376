// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which unit activates which (timer -> service, ...), as a map of names with links in both directions.
// activators_set() per unit -> activators_activated(), activators_find(). A name is in the map while it
// activates a unit or is activated by one. -ENOMEM: the unit activates what it did before.

#include "activators.h"

#include <errno.h>

#include "list.h"

// One name; freed when it activates no unit and no unit activates it.
typedef struct Activation {
        struct Activation *activates;
        ListNode sibling; // in activates->activators
        ListNode activators;
        char name[];
} Activation;

static Activation *find(const Activators *m, const char *name) {
        return map_find_str(&m->names, name);
}

static Activation *get(Activators *m, const char *name) {
        Activation *a = find(m, name);

        if (a)
                return a;
        a = MAP_NEW_STR(&m->names, Activation, name, name);
        if (!a)
                return NULL;
        list_init(&a->sibling);
        list_init(&a->activators);
        return a;
}

static void drop_if_unused(Activators *m, Activation *a) {
        if (!a || a->activates || !list_is_empty(&a->activators))
                return;
        map_take_str(&m->names, a->name);
        free(a);
}

void activators_done(Activators *m) {
        map_done_with(&m->names, free);
        *m = (Activators){};
}

int activators_set(Activators *m, const char *name, const char *activates) {
        Activation *a = activates ? get(m, name) : find(m, name),
                   *next = activates ? get(m, activates) : NULL, *before = a ? a->activates : NULL;

        if (activates && (!a || !next)) {
                drop_if_unused(m, a);
                return -ENOMEM;
        }
        if (!a || next == before)
                return 0;
        list_unlink(&a->sibling);
        a->activates = next;
        if (next)
                list_append(&next->activators, &a->sibling);
        drop_if_unused(m, before);
        if (a != before)
                drop_if_unused(m, a);
        return 0;
}

const char *activators_activated(const Activators *m, const char *name) {
        const Activation *a = find(m, name);

        return a && a->activates ? a->activates->name : NULL;
}

bool activators_has_any(const Activators *m, const char *name) {
        const Activation *a = find(m, name);

        return a && !list_is_empty(&a->activators);
}

const char *activators_find(const Activators *m, const char *name,
                            bool (*each)(const char *name, void *userdata), void *userdata) {
        const Activation *a = find(m, name);

        if (!a)
                return NULL;
        list_foreach (n, &a->activators) {
                const Activation *activator = CONTAINER_OF(n, Activation, sibling);

                if (each(activator->name, userdata))
                        return activator->name;
        }
        return NULL;
}
