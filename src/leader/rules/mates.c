// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Who activates whom, as a map of names with links in both directions. A name is there as long as a link
// leads to it or from it. Without memory the unit activates what it did before.

#include "mates.h"

#include <errno.h>

#include "list.h"

// Lives while it activates somebody or is activated by somebody.
typedef struct Mate {
        struct Mate *activates;
        ListNode sibling; // in activates->activators
        ListNode activators;
        char name[];
} Mate;

static Mate *find(const Mates *m, const char *name) {
        return map_find_str(&m->names, name);
}

static Mate *get(Mates *m, const char *name) {
        size_t size = strlen(name) + 1;
        Mate *mate = find(m, name);

        if (mate)
                return mate;
        mate = calloc(1, sizeof(*mate) + size);
        if (!mate)
                return NULL;
        memcpy(mate->name, name, size);
        list_init(&mate->sibling);
        list_init(&mate->activators);
        if (map_add_str(&m->names, mate->name, mate) < 0) {
                free(mate);
                return NULL;
        }
        return mate;
}

static void drop_if_unused(Mates *m, Mate *mate) {
        if (!mate || mate->activates || !list_is_empty(&mate->activators))
                return;
        map_take_str(&m->names, mate->name);
        free(mate);
}

void mates_done(Mates *m) {
        map_done_with(&m->names, free);
        *m = (Mates){};
}

int mates_set(Mates *m, const char *name, const char *activates) {
        Mate *mate = activates ? get(m, name) : find(m, name), *next = activates ? get(m, activates) : NULL,
             *before = mate ? mate->activates : NULL;

        if (activates && (!mate || !next)) {
                drop_if_unused(m, mate);
                return -ENOMEM;
        }
        if (!mate || next == before)
                return 0;
        list_unlink(&mate->sibling);
        mate->activates = next;
        if (next)
                list_append(&next->activators, &mate->sibling);
        drop_if_unused(m, before);
        if (mate != before)
                drop_if_unused(m, mate);
        return 0;
}

const char *mates_activated(const Mates *m, const char *name) {
        const Mate *mate = find(m, name);

        return mate && mate->activates ? mate->activates->name : NULL;
}

const char *mates_find_activator(const Mates *m, const char *name,
                                 bool (*each)(const char *name, void *userdata), void *userdata) {
        const Mate *mate = find(m, name);

        if (!mate)
                return NULL;
        list_foreach (n, &mate->activators) {
                const Mate *activator = CONTAINER_OF(n, Mate, sibling);

                if (each(activator->name, userdata))
                        return activator->name;
        }
        return NULL;
}
