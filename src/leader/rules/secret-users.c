// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The units that have one version of a secret are a group; a link between a unit and a group says that it
// has it. A secret has a short list of groups, since most units have one version and the log keeps few of
// any. What nobody is linked with is not there.
//
//      link      is in one list of its group: `links`, or `recalled`, while its unit is to be looked at
//                since there is a newer version
//      group     is in SecretUsers.due as long as some of its links are recalled
//
// Cost: a unit without secrets costs a look-up of its name when its record changes, and nothing while no
// unit has any. To recall thousands costs as much as to recall one.
//
// Failures: without memory the unit at hand has no links.

#include "secret-users.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "list.h"
#include "str.h"

typedef struct Secret {
        ListNode groups; // SecretGroup.of_secret
        size_t n_links;
        char name[];
} Secret;

typedef struct SecretGroup SecretGroup;
struct SecretGroup {
        ListNode of_secret;
        SecretGroup *next_due;
        bool is_due; // it is in SecretUsers.due
        ListNode links, recalled; // SecretLink.of_group
        Secret *secret;
        uint64_t version;
        size_t n;
};

typedef struct SecretUnit {
        ListNode links; // SecretLink.of_unit
        char name[];
} SecretUnit;

typedef struct SecretLink {
        ListNode of_group, of_unit;
        SecretGroup *group;
        SecretUnit *unit;
} SecretLink;

static SecretGroup *find_group(const Secret *s, uint64_t version) {
        list_foreach (i, &s->groups) {
                SecretGroup *g = CONTAINER_OF(i, SecretGroup, of_secret);

                if (g->version == version)
                        return g;
        }
        return NULL;
}

static Secret *get_secret(SecretUsers *m, const char *name) {
        Secret *s = map_find_str(&m->secrets, name);

        if (s)
                return s;
        s = MAP_NEW_STR(&m->secrets, Secret, name, name);
        if (s)
                list_init(&s->groups);
        return s;
}

static SecretUnit *get_unit(SecretUsers *m, const char *name) {
        SecretUnit *u = map_find_str(&m->units, name);

        if (u)
                return u;
        u = MAP_NEW_STR(&m->units, SecretUnit, name, name);
        if (u)
                list_init(&u->links);
        return u;
}

static void drop_secret_if_unused(SecretUsers *m, Secret *s) {
        if (!s || !list_is_empty(&s->groups))
                return;
        map_take_str(&m->secrets, s->name);
        free(s);
}

static void leave_due(SecretUsers *m, const SecretGroup *g) {
        for (SecretGroup **at = &m->due; *at; at = &(*at)->next_due)
                if (*at == g) {
                        *at = g->next_due;
                        return;
                }
}

static void drop_group_if_unused(SecretUsers *m, SecretGroup *g) {
        if (g->n > 0)
                return;
        if (g->is_due)
                leave_due(m, g);
        list_unlink(&g->of_secret);
        drop_secret_if_unused(m, g->secret);
        free(g);
}

static void drop_link(SecretUsers *m, SecretLink *link, bool *freed) {
        SecretGroup *g = link->group;

        *freed |= --g->n == 0;
        g->secret->n_links--;
        list_unlink(&link->of_group);
        list_unlink(&link->of_unit);
        drop_group_if_unused(m, g);
        free(link);
}

static void drop_unit(SecretUsers *m, const char *name, bool *freed) {
        SecretUnit *u = map_find_str(&m->units, name);

        if (!u)
                return;
        while (!list_is_empty(&u->links))
                drop_link(m, CONTAINER_OF(u->links.next, SecretLink, of_unit), freed);
        map_take_str(&m->units, u->name);
        free(u);
}

static SecretGroup *get_group(Secret *s, uint64_t version) {
        SecretGroup *g = find_group(s, version);

        if (g)
                return g;
        g = calloc(1, sizeof(*g));
        if (!g)
                return NULL;
        g->secret = s;
        g->version = version;
        list_init(&g->links);
        list_init(&g->recalled);
        list_append(&s->groups, &g->of_secret);
        return g;
}

static bool is_linked(const SecretUnit *u, const Secret *s) {
        list_foreach (n, &u->links)
                if (CONTAINER_OF(n, SecretLink, of_unit)->group->secret == s)
                        return true;
        return false;
}

static int add_link(SecretUsers *m, SecretUnit *u, const SecretUse *use) {
        Secret *s = get_secret(m, use->name);
        SecretGroup *g;
        SecretLink *link;

        if (!s)
                return -ENOMEM;
        if (is_linked(u, s))
                return 0;
        g = get_group(s, use->version);
        link = g ? calloc(1, sizeof(*link)) : NULL;
        if (!link) {
                if (g)
                        drop_group_if_unused(m, g);
                else
                        drop_secret_if_unused(m, s);
                return -ENOMEM;
        }
        *link = (SecretLink){.group = g, .unit = u};
        list_append(&g->links, &link->of_group);
        list_append(&u->links, &link->of_unit);
        g->n++;
        s->n_links++;
        return 0;
}

int secret_users_set(SecretUsers *m, const char *unit, const SecretUse *uses, size_t n, bool *ret_freed) {
        bool freed = false;
        SecretUnit *u;
        int r = 0;

        drop_unit(m, unit, &freed);
        if (ret_freed)
                *ret_freed = freed;
        if (n == 0)
                return 0;
        u = get_unit(m, unit);
        for (size_t i = 0; u && r == 0 && i < n; i++)
                r = add_link(m, u, &uses[i]);
        if (!u || r < 0)
                drop_unit(m, unit, &freed);
        return u ? r : -ENOMEM;
}

size_t secret_users_count(const SecretUsers *m, const char *secret) {
        const Secret *s = map_find_str(&m->secrets, secret);

        return s ? s->n_links : 0;
}

size_t secret_users_count_of(const SecretUsers *m, const char *secret, uint64_t version) {
        const Secret *s = map_find_str(&m->secrets, secret);
        const SecretGroup *g = s ? find_group(s, version) : NULL;

        return g ? g->n : 0;
}

static bool each_in(const ListNode *links, SecretUserFn each, void *userdata) {
        list_foreach (i, links) {
                const SecretLink *link = CONTAINER_OF(i, SecretLink, of_group);

                if (!each(link->unit->name, link->group->version, userdata))
                        return false;
        }
        return true;
}

void secret_users_each_before(const SecretUsers *m, const char *secret, uint64_t version, SecretUserFn each,
                              void *userdata) {
        const Secret *s = map_find_str(&m->secrets, secret);

        if (!s)
                return;
        list_foreach (i, &s->groups) {
                const SecretGroup *g = CONTAINER_OF(i, SecretGroup, of_secret);

                if (g->version > 0 && g->version < version &&
                    (!each_in(&g->links, each, userdata) || !each_in(&g->recalled, each, userdata)))
                        return;
        }
}

void secret_users_each(const SecretUsers *m, const char *secret, SecretUserFn each, void *userdata) {
        const Secret *s = map_find_str(&m->secrets, secret);

        if (!s)
                return;
        list_foreach (i, &s->groups) {
                const SecretGroup *g = CONTAINER_OF(i, SecretGroup, of_secret);

                if (!each_in(&g->links, each, userdata) || !each_in(&g->recalled, each, userdata))
                        return;
        }
}

void secret_users_recall_before(SecretUsers *m, const char *secret, uint64_t version) {
        Secret *s = map_find_str(&m->secrets, secret);

        if (!s)
                return;
        list_foreach (i, &s->groups) {
                SecretGroup *g = CONTAINER_OF(i, SecretGroup, of_secret);

                if (g->version >= version)
                        continue;
                if (!g->is_due) {
                        g->is_due = true;
                        g->next_due = m->due;
                        m->due = g;
                }
                list_splice(&g->recalled, &g->links);
        }
}

const char *secret_users_next_recalled(SecretUsers *m) {
        SecretLink *link;

        while (m->due && list_is_empty(&m->due->recalled)) {
                m->due->is_due = false;
                m->due = m->due->next_due;
        }
        if (!m->due)
                return NULL;
        link = CONTAINER_OF(m->due->recalled.next, SecretLink, of_group);
        list_unlink(&link->of_group);
        list_append(&m->due->links, &link->of_group);
        return link->unit->name;
}

void secret_users_each_of_unit(const SecretUsers *m, const char *unit, SecretUserFn each, void *userdata) {
        const SecretUnit *u = map_find_str(&m->units, unit);

        if (!u)
                return;
        list_foreach (n, &u->links) {
                const SecretLink *link = CONTAINER_OF(n, SecretLink, of_unit);

                if (!each(link->group->secret->name, link->group->version, userdata))
                        return;
        }
}

// Links go with their unit, groups with their secret; nothing looks at either any more.
static void unit_free(void *unit) {
        SecretUnit *u = unit;

        while (!list_is_empty(&u->links)) {
                SecretLink *link = CONTAINER_OF(u->links.next, SecretLink, of_unit);

                list_unlink(&link->of_unit);
                free(link);
        }
        free(u);
}

static void secret_free(void *secret) {
        Secret *s = secret;

        while (!list_is_empty(&s->groups)) {
                SecretGroup *g = CONTAINER_OF(s->groups.next, SecretGroup, of_secret);

                list_unlink(&g->of_secret);
                free(g);
        }
        free(s);
}

void secret_users_done(SecretUsers *m) {
        map_done_with(&m->units, unit_free);
        map_done_with(&m->secrets, secret_free);
        *m = (SecretUsers){};
}
