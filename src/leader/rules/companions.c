// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which templates are needed on which nodes by the units there (OnFailure=x@%n and the like), counted by
// users.
//
//      companions_set(unit, node, templates): former needs are given back, new ones taken -> changed(node)
//
// Two tables: the needs of each unit, and the number of users of each template per node. changed() is called
// for a node whose set has changed, before return. Failure: -ENOMEM, and the unit needs less than it was set
// to.

#include "companions.h"
#include "str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct User {
        uint32_t node;
        char **templates;
        size_t n;
        char name[];
} User;

typedef struct Need {
        size_t n_users;
        char name[];
} Need;

typedef struct Bucket {
        uint32_t node;
        Map needs; // Need by name of the template
} Bucket;

static void user_free(void *p) {
        User *u = p;

        for (size_t i = 0; i < u->n; i++)
                free(u->templates[i]);
        free(u->templates);
        free(u);
}

static void bucket_free(void *p) {
        Bucket *b = p;

        map_done_with(&b->needs, free);
        free(b);
}

void companions_done(Companions *c) {
        map_done_with(&c->users, user_free);
        map_done_with(&c->nodes, bucket_free);
        *c = (Companions){};
}

static Bucket *bucket_get(Companions *c, uint32_t node) {
        Bucket *b = map_find(&c->nodes, &node, sizeof(node));

        if (b)
                return b;
        b = calloc(1, sizeof(*b));
        if (!b)
                return NULL;
        b->node = node;
        if (map_add(&c->nodes, &b->node, sizeof(b->node), b) < 0) {
                free(b);
                return NULL;
        }
        return b;
}

// 1: the template is new on this node.
static int take(Companions *c, uint32_t node, const char *template) {
        Bucket *b = bucket_get(c, node);
        Need *n = b ? map_find_str(&b->needs, template) : NULL;

        if (n) {
                n->n_users++;
                return 0;
        }
        n = b ? MAP_NEW_STR(&b->needs, Need, name, template) : NULL;
        if (!n)
                return -ENOMEM;
        n->n_users = 1;
        return 1;
}

// 1: no unit on this node needs the template any more.
static int give_back(Companions *c, uint32_t node, const char *template) {
        Bucket *b = map_find(&c->nodes, &node, sizeof(node));
        Need *n = b ? map_find_str(&b->needs, template) : NULL;

        if (!n || --n->n_users > 0)
                return 0;
        map_take_str(&b->needs, template);
        free(n);
        if (b->needs.count == 0) {
                map_take(&c->nodes, &b->node, sizeof(b->node));
                bucket_free(b);
        }
        return 1;
}

static User *user_new(const char *name, uint32_t node, char *const *templates, size_t n) {
        User *u = NEW_WITH_TEXT(User, name, name);

        if (!u)
                return NULL;
        u->node = node;
        u->templates = calloc(n, sizeof(*u->templates));
        for (; u->templates && u->n < n && (u->templates[u->n] = strdup(templates[u->n])); u->n++)
                ;
        if (u->templates && u->n == n)
                return u;
        user_free(u);
        return NULL;
}

static bool is_same(const User *u, uint32_t node, char *const *templates, size_t n) {
        if (u->node != node || u->n != n)
                return false;
        for (size_t i = 0; i < n; i++)
                if (strcmp(u->templates[i], templates[i]) != 0)
                        return false;
        return true;
}

int companions_set(Companions *c, const char *name, uint32_t node, char *const *templates, size_t n,
                   void (*changed)(uint32_t node, void *userdata), void *userdata) {
        User *before = map_find_str(&c->users, name), *now = NULL;
        int r = 0;

        if (before ? is_same(before, node, templates, n) : n == 0)
                return 0;
        now = n > 0 ? user_new(name, node, templates, n) : NULL;
        if (before) {
                map_take_str(&c->users, name);
                for (size_t i = 0; i < before->n; i++)
                        if (give_back(c, before->node, before->templates[i]))
                                changed(before->node, userdata);
                user_free(before);
        }
        if (!now)
                return n > 0 ? -ENOMEM : 0;
        if (map_add_str(&c->users, now->name, now) < 0) {
                user_free(now);
                return -ENOMEM;
        }
        for (size_t i = 0; i < n && r >= 0; i++) {
                r = take(c, node, now->templates[i]);
                if (r > 0)
                        changed(node, userdata);
        }
        return r < 0 ? r : 0;
}

bool companions_is_empty(const Companions *c) {
        return c->users.count == 0;
}

void companions_foreach(const Companions *c, uint32_t node,
                        void (*each)(const char *template, void *userdata), void *userdata) {
        const Bucket *b = map_find(&c->nodes, &node, sizeof(node));

        if (b)
                map_foreach (slot, &b->needs)
                        each(((const Need *) slot->value)->name, userdata);
}

void companions_foreach_node(const Companions *c, const char *template,
                             void (*each)(uint32_t node, void *userdata), void *userdata) {
        map_foreach (slot, &c->nodes) {
                const Bucket *b = slot->value;

                if (map_find_str(&b->needs, template))
                        each(b->node, userdata);
        }
}
