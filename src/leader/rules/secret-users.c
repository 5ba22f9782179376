// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A link between a unit and a secret has the version; a secret counts how many links have which, in a short list, since most have one
// version and the log keeps few of any. What nobody is linked with is not there.
//
// Cost: a unit without secrets costs a look-up of its name when its record changes, and nothing while no unit has any.
//
// Failures: without memory the unit at hand has no links.

#include "secret-users.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "list.h"
#include "str.h"

typedef struct VersionCount {
        uint64_t version;
        size_t n;
} VersionCount;

typedef struct Secret {
        ListNode links; // SecretLink.of_secret
        size_t n_links;
        VersionCount *counts;
        size_t n_counts;
        char name[];
} Secret;

typedef struct SecretUnit {
        ListNode links; // SecretLink.of_unit
        char name[];
} SecretUnit;

typedef struct SecretLink {
        ListNode of_secret, of_unit;
        Secret *secret;
        SecretUnit *unit;
        uint64_t version;
} SecretLink;

static VersionCount *find_count(const Secret *s, uint64_t version) {
        for (size_t i = 0; i < s->n_counts; i++)
                if (s->counts[i].version == version)
                        return &s->counts[i];
        return NULL;
}

static Secret *get_secret(SecretUsers *m, const char *name) {
        size_t size = strlen(name) + 1;
        Secret *s = map_find_str(&m->secrets, name);

        if (s)
                return s;
        s = calloc(1, sizeof(*s) + size);
        if (!s)
                return NULL;
        memcpy(s->name, name, size);
        list_init(&s->links);
        if (map_add_str(&m->secrets, s->name, s) == 0)
                return s;
        free(s);
        return NULL;
}

static SecretUnit *get_unit(SecretUsers *m, const char *name) {
        size_t size = strlen(name) + 1;
        SecretUnit *u = map_find_str(&m->units, name);

        if (u)
                return u;
        u = calloc(1, sizeof(*u) + size);
        if (!u)
                return NULL;
        memcpy(u->name, name, size);
        list_init(&u->links);
        if (map_add_str(&m->units, u->name, u) == 0)
                return u;
        free(u);
        return NULL;
}

static void secret_free(Secret *s) {
        free(s->counts);
        free(s);
}

static void drop_secret_if_unused(SecretUsers *m, Secret *s) {
        if (!s || s->n_links > 0)
                return;
        map_take_str(&m->secrets, s->name);
        secret_free(s);
}

static void drop_link(SecretUsers *m, SecretLink *link, bool *freed) {
        VersionCount *count = find_count(link->secret, link->version);

        if (--count->n == 0) {
                *count = link->secret->counts[--link->secret->n_counts];
                *freed = true;
        }
        list_unlink(&link->of_secret);
        list_unlink(&link->of_unit);
        link->secret->n_links--;
        drop_secret_if_unused(m, link->secret);
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

static int count_one(Secret *s, uint64_t version) {
        VersionCount *count = find_count(s, version);

        if (!count) {
                if (ARRAY_RESERVE(s->counts, s->n_counts + 1) < 0)
                        return -ENOMEM;
                count = &s->counts[s->n_counts++];
                *count = (VersionCount){.version = version};
        }
        count->n++;
        return 0;
}

static bool is_linked(const SecretUnit *u, const Secret *s) {
        list_foreach (n, &u->links)
                if (CONTAINER_OF(n, SecretLink, of_unit)->secret == s)
                        return true;
        return false;
}

static int add_link(SecretUsers *m, SecretUnit *u, const SecretUse *use) {
        Secret *s = get_secret(m, use->name);
        SecretLink *link;

        if (!s)
                return -ENOMEM;
        if (is_linked(u, s))
                return 0;
        link = calloc(1, sizeof(*link));
        if (!link || count_one(s, use->version) < 0) {
                free(link);
                drop_secret_if_unused(m, s);
                return -ENOMEM;
        }
        *link = (SecretLink){.secret = s, .unit = u, .version = use->version};
        list_append(&s->links, &link->of_secret);
        list_append(&u->links, &link->of_unit);
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
        const VersionCount *count = s ? find_count(s, version) : NULL;

        return count ? count->n : 0;
}

void secret_users_each(const SecretUsers *m, const char *secret,
                       bool (*each)(const char *unit, uint64_t version, void *userdata), void *userdata) {
        const Secret *s = map_find_str(&m->secrets, secret);

        if (!s)
                return;
        list_foreach (n, &s->links) {
                const SecretLink *link = CONTAINER_OF(n, SecretLink, of_secret);

                if (!each(link->unit->name, link->version, userdata))
                        return;
        }
}

void secret_users_each_of_unit(const SecretUsers *m, const char *unit,
                               bool (*each)(const char *secret, uint64_t version, void *userdata), void *userdata) {
        const SecretUnit *u = map_find_str(&m->units, unit);

        if (!u)
                return;
        list_foreach (n, &u->links) {
                const SecretLink *link = CONTAINER_OF(n, SecretLink, of_unit);

                if (!each(link->secret->name, link->version, userdata))
                        return;
        }
}

static void unit_free(void *unit) {
        SecretUnit *u = unit;

        while (!list_is_empty(&u->links)) {
                SecretLink *link = CONTAINER_OF(u->links.next, SecretLink, of_unit);

                list_unlink(&link->of_unit);
                free(link);
        }
        free(u);
}

static void free_secret(void *secret) {
        secret_free(secret);
}

void secret_users_done(SecretUsers *m) {
        map_done_with(&m->units, unit_free);
        map_done_with(&m->secrets, free_secret);
        *m = (SecretUsers){};
}
