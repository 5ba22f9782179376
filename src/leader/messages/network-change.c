// SPDX-License-Identifier: LGPL-2.1-or-later
//
//      content and next content of a unit -> the networks that differ -> for each other unit that has the
//      former one: its own content with those lines -> a content of the entry
//
// What one of the two names alone is no change: it is made beside what is there, or stays where it is. The
// same two contents, the other way round, give the way back, so nothing of a change has to be remembered.
// Failures: as of batch_put_content().

#include "network-change.h"

#include <errno.h>

#include "array.h"
#include "batch-content.h"
#include "quadlet.h"
#include "str.h"
#include "unit-name.h"

int network_change_add_once(NetworkChange *c, const ChangedNetwork *w) {
        char *copy;

        for (size_t i = 0; i < c->n; i++)
                if (streq(c->list[i].file, w->file) && hash_equal(&c->list[i].of, &w->of) &&
                    hash_equal(&c->list[i].before, &w->before))
                        return 0;
        copy = strdup(w->file);
        if (!copy || ARRAY_GROW(c->list, c->allocated, c->n + 1) < 0) {
                free(copy);
                return -ENOMEM;
        }
        c->list[c->n] = *w;
        c->list[c->n++].file = copy;
        return 0;
}

typedef struct Adding {
        NetworkChange *to;
        const void *content; // of before
        size_t len;
} Adding;

static int add(const char *file, const UnitPart *part, void *userdata) {
        const Adding *a = userdata;
        ChangedNetwork w = {.file = (char *) file, .part = *part, .of = quadlet_beside_hash(part)};
        UnitPart before;

        if (quadlet_beside_find(a->content, a->len, file, &before))
                w.before = quadlet_beside_hash(&before);
        return network_change_add_once(a->to, &w);
}

// Its container is called otherwise with the next content.
static int add_name(const char *unit, const void *content, size_t len, const void *next, size_t next_len,
                    NetworkChange *ret) {
        _cleanup_free_ char *before = NULL, *after = NULL, *file = NULL;
        UnitPart own;
        UnitParts p;
        int r;

        if (unit_name_kind(unit, NULL) != UNIT_NAME_PLAIN || !quadlet_is(content, len) ||
            !quadlet_is(next, next_len))
                return 0;
        r = quadlet_container_name(unit, content, len, &before)
                    ?: quadlet_container_name(unit, next, next_len, &after);
        if (r < 0 || !before || !after || streq(before, after))
                return r;
        file = quadlet_file(unit);
        unit_parts_begin(&p, next, next_len);
        return file && unit_parts_next(&p, &own) ? add(file, &own, &(Adding){ret}) : -ENOMEM;
}

int network_change_of(const char *unit, const void *content, size_t len, const void *next, size_t next_len,
                      NetworkChange *ret) {
        *ret = (NetworkChange){};
        return quadlet_networks_changed(content, len, next, next_len, add, &(Adding){ret, content, len})
                       ?: add_name(unit, content, len, next, next_len, ret);
}

int network_change_each_named(const char *names, const void *content, size_t len, const SpecEntry *before,
                              int (*each)(const NamedNetwork *n, void *userdata), void *userdata) {
        const char *name;
        size_t name_len;
        int r = 0;

        while (r == 0 && quadlet_beside_names_next(&names, &name, &name_len)) {
                _cleanup_free_ char *file = strndup(name, name_len);
                NamedNetwork n = {.file = file};
                UnitPart part;

                if (!file)
                        return -ENOMEM;
                if (!str_has_suffix(file, QUADLET_NETWORK) ||
                    !quadlet_beside_find(content, len, file, &n.part))
                        continue;
                n.is_new = !before || !quadlet_beside_find(before->content, before->len, file, &part);
                r = each(&n, userdata);
        }
        return r;
}

void network_change_done(NetworkChange *c) {
        for (size_t i = 0; i < c->n; i++)
                free(c->list[i].file);
        free(c->list);
        *c = (NetworkChange){};
}

static bool has(const char *file, const Hash *of, const void *content, size_t len) {
        UnitPart part;
        Hash hash;

        if (!quadlet_beside_find(content, len, file, &part))
                return false;
        hash = quadlet_beside_hash(&part);
        return hash_equal(&hash, of);
}

static bool has_former(const ChangedNetwork *w, const void *content, size_t len) {
        return hash_is_zero(&w->before) ? quadlet_beside_is_other(content, len, w->file, &w->of)
                                        : has(w->file, &w->before, content, len);
}

bool network_change_concerns(const NetworkChange *c, const SpecEntry *spec) {
        for (size_t i = 0; i < c->n; i++)
                if (has_former(&c->list[i], spec->content, spec->len))
                        return true;
        return false;
}

bool network_change_has(const NetworkChange *c, const SpecEntry *spec) {
        for (size_t i = 0; i < c->n; i++)
                if (has(c->list[i].file, &c->list[i].of, spec->content, spec->len))
                        return true;
        return false;
}

int network_change_text(const NetworkChange *c, const SpecEntry *spec, Buf *ret) {
        int r = buf_append(ret, spec->content, spec->len);

        for (size_t i = 0; i < c->n && r == 0; i++) {
                Buf next = {};

                if (!has_former(&c->list[i], ret->data, ret->len))
                        continue;
                r = quadlet_beside_put(ret->data, ret->len, c->list[i].file, &c->list[i].part, &next);
                buf_done(ret);
                *ret = next;
        }
        return r;
}

int network_change_put(const NetworkChange *c, BatchBuilder *b, const ClusterState *state,
                       const SpecEntry *spec, Hash *ret, char **ret_why) {
        _cleanup_buf_ Buf text = {};
        int r = network_change_text(c, spec, &text);

        if (r < 0)
                return r;
        *ret = hash_of(text.data, text.len);
        return batch_put_content(b, state, &(SentFiles){}, ret, text.data, text.len, ret_why);
}

char *network_change_names(const NetworkChange *c, const char *between) {
        Buf text = {};
        int r = 0;

        for (size_t i = 0; i < c->n && r == 0; i++)
                r = buf_printf(&text, "%s%s", i > 0 ? between : "", c->list[i].file);
        if (r < 0)
                buf_done(&text);
        return r < 0 ? NULL : buf_take_string(&text);
}
