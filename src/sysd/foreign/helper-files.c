// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Unit files of a manager that is not the system's, request by request (helper-files.h).
//
//      is anything to be written? -> the directory, made then -> what is ours is adopted
//      -> names that others have -> unit_dir_apply() of the rest -> a result for each
//
// Failures: a directory that cannot be opened without following links is said in words, and ends the helper;
// what concerns one unit is an error of that unit.

#include "helper-files.h"

#include <errno.h>

#include "manager-enter.h"
#include "str.h"

enum { FOREIGN_MAX = 300 };

// `make`: something is to be written, so missing directories are made. Without it nothing is changed.
static int open_dir(HelperFiles *f, bool make) {
        const char *const names[] = {"systemd", f->below, NULL};
        _cleanup_free_ char *path = str_printf("%s/systemd/%s", f->base, f->below);
        int fd;

        if (f->dir && (f->made || !make))
                return 0;
        fd = enter_open_dir(f->base, names, f->owner, make);
        if (fd < 0 && (make || fd != -ENOENT))
                return fd;
        f->made = fd >= 0;
        f->dir = unit_dir_free(f->dir);
        return unit_dir_new_at(f->made ? fd : -1, path ?: "", f->search_dirs, &f->dir);
}

static void adopt_all(UnitDir *d, const Argosy__HelperRequest *q) {
        for (size_t i = 0; i < q->n_adopt; i++) {
                const Argosy__HelperUnit *u = q->adopt[i];
                Hash spec;

                if (hash_from_bytes(u->spec.data, u->spec.len, &spec))
                        (void) unit_dir_adopt(d, u->name, u->from_template, &spec, u->slice);
        }
}

static int fill_item(const Argosy__HelperRequest *q, const Argosy__HelperItem *i, UnitDirItem *ret) {
        *ret = (UnitDirItem){.name = i->name,
                             .remove = i->remove,
                             .from_template = i->from_template,
                             .enable = i->enable};
        if (i->remove)
                return 0;
        if (i->content >= q->n_contents)
                return i->only_look ? 0 : -EBADMSG;
        ret->content = q->contents[i->content].data;
        ret->len = q->contents[i->content].len;
        if (i->only_look)
                return 0;
        if (!hash_from_bytes(i->spec.data, i->spec.len, &ret->spec))
                return -EBADMSG;
        ret->slice = *i->slice ? i->slice : NULL;
        return 0;
}

// Units whose name a foreign file has already are left out of the batch and reported as foreign.
static int apply_all(UnitDir *d, const Argosy__HelperRequest *q, Argosy__HelperResult *results) {
        _cleanup_free_ UnitDirItem *items = calloc(q->n_items + 1, sizeof(*items));
        _cleanup_free_ size_t *origin = calloc(q->n_items + 1, sizeof(*origin));
        size_t n = 0;

        if (!items || !origin)
                return -ENOMEM;
        for (size_t i = 0; i < q->n_items; i++) {
                char *foreign;

                if (fill_item(q, q->items[i], &items[n]) < 0)
                        return -EBADMSG;
                foreign = q->items[i]->look ? unit_dir_foreign_or_alias(d, items[n].name, items[n].content,
                                                                        items[n].len)
                                            : NULL;
                if (foreign) {
                        foreign[strnlen(foreign, FOREIGN_MAX)] = 0;
                        results[i].foreign = foreign;
                } else if (!q->items[i]->only_look)
                        origin[n++] = i;
        }
        unit_dir_apply(d, items, n);
        for (size_t k = 0; k < n; k++) {
                results[origin[k]].error = items[k].error;
                results[origin[k]].touched =
                        (ProtobufCBinaryData){.len = items[k].touched.len, .data = items[k].touched.data};
        }
        return 0;
}

static void forget_results(HelperFiles *f) {
        for (size_t i = 0; i < f->n; i++) {
                if (f->results[i].foreign != (char *) protobuf_c_empty_string)
                        free(f->results[i].foreign);
                free(f->results[i].touched.data);
        }
        free(f->results);
        free(f->pointers);
        f->results = NULL;
        f->pointers = NULL;
        f->n = 0;
}

static int make_results(HelperFiles *f, size_t n) {
        forget_results(f);
        f->results = calloc(n + 1, sizeof(*f->results));
        f->pointers = calloc(n + 1, sizeof(*f->pointers));
        if (!f->results || !f->pointers)
                return -ENOMEM;
        f->n = n;
        for (size_t i = 0; i < n; i++) {
                argosy__helper_result__init(&f->results[i]);
                f->pointers[i] = &f->results[i];
        }
        return 0;
}

static bool writes(const Argosy__HelperRequest *q) {
        for (size_t i = 0; i < q->n_items; i++)
                if (!q->items[i]->only_look)
                        return true;
        return q->n_adopt > 0;
}

int helper_files_answer(const Argosy__HelperRequest *q, HelperFiles *f, Argosy__HelperReply *reply) {
        int r = make_results(f, q->n_items);

        reply->error = r;
        if (r < 0)
                return r;
        r = open_dir(f, writes(q));
        if (r < 0) {
                str_fit(f->why, sizeof(f->why), "cannot open %s/systemd/%s without following links: %s",
                        f->base, f->below, strerror(-r));
                reply->why = f->why;
                return reply->error = r;
        }
        adopt_all(f->dir, q);
        r = apply_all(f->dir, q, f->results);
        reply->error = r;
        reply->results = f->pointers;
        reply->n_results = r < 0 ? 0 : f->n;
        return 0;
}

void helper_files_done(HelperFiles *f) {
        forget_results(f);
        f->dir = unit_dir_free(f->dir);
}
