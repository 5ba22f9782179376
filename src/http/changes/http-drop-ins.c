// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Drop-ins that come with a change, and what containers name: composed with the unit files of the same
// request.
//
//      http_drop_ins_add() per drop-in
//          -> http_drop_ins_take(): each file is replaced by its composed content
//
// The leader and the log see only composed contents and know no drop-ins. The composed bytes are owned by
// HttpDropIns. Limits: HTTP_FILES_MAX, HTTP_COMPOSED_MAX bytes. Failures: -EINVAL and *ret_why, also for a
// drop-in without a file, as a change would do nothing about it; -ENOMEM.

#include "http-drop-ins.h"

#include <errno.h>

#include "array.h"
#include "carried-files.h"
#include "http-write.h"
#include "quadlet.h"
#include "str.h"
#include "unit-name.h"

void http_drop_ins_done(HttpDropIns *d) {
        for (size_t i = 0; i < d->n_composed; i++)
                buf_done(&d->composed[i]);
        free(d->composed);
        free(d->list);
        *d = (HttpDropIns){};
}

bool http_drop_ins_is_one(const char *name) {
        const char *slash = strchr(name, '/');
        _cleanup_free_ char *directory = slash ? strndup(name, (size_t) (slash - name)) : NULL;

        if (!slash)
                return quadlet_is_beside(name, strlen(name)) && !quadlet_is_container(name);
        return directory && unit_drop_in_directory_is_valid(directory) &&
               unit_drop_in_name_is_valid(slash + 1);
}

int http_drop_ins_add(HttpDropIns *d, char *path, char *content, char **ret_why) {
        if (str_has_suffix(path, "/" CARRIED_FILES_DROP_IN))
                return str_refuse(ret_why, "%.300s is argosy's own: it makes the list of a unit's files",
                                  path);
        if (d->n == HTTP_FILES_MAX)
                return str_refuse(ret_why, "a request brings at most %i drop-ins", (int) HTTP_FILES_MAX);
        if (ARRAY_RESERVE(d->list, d->n + 1) < 0)
                return -ENOMEM;
        d->list[d->n++] = (UnitPart){
                .path = path, .path_len = strlen(path), .content = content, .len = strlen(content)};
        return 0;
}

static int compose(HttpDropIns *d, const UnitPart *list, size_t n, Argosy__NamedFile *file,
                   ProtobufCBinaryData content, char **ret_why) {
        _cleanup_buf_ Buf why = {};
        size_t bytes = content.len;
        Buf *composed;
        int r;

        for (size_t i = 0; i < n; i++)
                bytes += list[i].len + list[i].path_len;
        d->bytes += bytes;
        if (d->bytes > d->most)
                return str_refuse(ret_why,
                                  "with their drop-ins these files are more than %zu KiB: bring fewer "
                                  "instances at once",
                                  d->most / 1024);
        r = ARRAY_GROW(d->composed, d->composed_allocated, d->n_composed + 1);

        if (r < 0)
                return r;
        composed = &d->composed[d->n_composed++];
        *composed = (Buf){};
        r = unit_parts_compose(content.data, content.len, list, n, composed, &why);
        if (why.len > 0)
                return str_refuse(ret_why, "%.*s", (int) why.len, (const char *) why.data);
        file->content = (ProtobufCBinaryData){composed->len, composed->data};
        return r;
}

// The drop-ins of the unit and of its template; *ret_own: some are the unit's own. Marks them in `used`.
static size_t pick(const HttpDropIns *d, const char *unit, UnitPart *ret, uint8_t *used, bool *ret_own) {
        _cleanup_free_ char *template =
                unit_name_kind(unit, NULL) == UNIT_NAME_INSTANCE ? unit_name_template(unit) : NULL;
        size_t n = unit_parts_pick(d->list, d->n, unit, template, ret, used);

        *ret_own = false;
        for (size_t i = 0; i < n; i++)
                *ret_own |= unit_part_is_of(&ret[i], unit);
        return n;
}

// What came.
typedef struct Came {
        const HttpDropIns *d;
        const Argosy__NamedFile *files;
        const ProtobufCBinaryData *originals; // contents of n files
        size_t n;
        Arena *arena;
        UnitPart *room; // for drop-ins and files
        uint8_t *used;  // one for each drop-in
} Came;

typedef struct Named {
        const Came *came;
        size_t n; // in came->room
} Named;

static size_t find_file(const Argosy__NamedFile *files, size_t n, const char *name) {
        size_t i = 0;

        while (i < n && !streq(files[i].name, name))
                i++;
        return i;
}

// Another container is also a unit: its file is among these.
static int take_container(const Came *c, const char *file, UnitPart *ret) {
        _cleanup_free_ char *unit = quadlet_unit(file);
        char *path = arena_alloc(c->arena, strlen(file) + 1);
        size_t of;

        if (!unit || !path)
                return -ENOMEM;
        of = find_file(c->files, c->n, unit);
        if (of == c->n || !quadlet_is_container(file))
                return 0;
        memcpy(path, file, strlen(file) + 1);
        *ret = (UnitPart){.path = path,
                          .path_len = strlen(path),
                          .content = (char *) c->originals[of].data,
                          .len = c->originals[of].len};
        return 1;
}

static int take_named(const char *file, void *userdata) {
        Named *named = userdata;
        const Came *c = named->came;
        int r;

        for (size_t i = 0; i < c->d->n; i++)
                if (streq(c->d->list[i].path, file)) {
                        c->room[named->n++] = c->d->list[i];
                        c->used[i] = 1;
                        return 0;
                }
        r = take_container(c, file, &c->room[named->n]);
        named->n += r > 0;
        return MIN_OF(r, 0);
}

static int compare(const void *a, const void *b) {
        return unit_drop_in_compare(a, b);
}

// The files that a container names, in its file and in the n drop-ins in `room`, behind these.
static int pick_beside(const Came *c, ProtobufCBinaryData content, size_t *n) {
        _cleanup_buf_ Buf text = {};
        UnitPart *room = c->room;
        Named named = {c, *n};
        int r = quadlet_is(content.data, content.len) ? buf_append(&text, content.data, content.len)
                                                      : -ENODATA;

        for (size_t i = 0; i < *n && r == 0; i++)
                r = buf_printf(&text, "\n\n%.*s", (int) room[i].len, room[i].content);
        if (r == 0)
                r = quadlet_beside_each(text.data, text.len, take_named, &named);
        *n = named.n;
        if (*n > 1)
                qsort(room, *n, sizeof(*room), compare);
        return r == -ENODATA ? 0 : r;
}

static int take_file(HttpDropIns *d, const Came *c, Argosy__NamedFile *file, char **ret_why) {
        bool own;
        size_t n = pick(d, file->name, c->room, c->used, &own);
        int r = pick_beside(c, file->content, &n);

        return r < 0 ? r : n > 0 ? compose(d, c->room, n, file, file->content, ret_why) : 0;
}

// The name of the drop-in's unit, in `arena`. NULL: out of memory.
static char *unit_of(const UnitPart *part, Arena *arena) {
        size_t len = (size_t) ((const char *) memchr(part->path, '/', part->path_len) - part->path) -
                     strlen(".d");
        char *name = arena_alloc(arena, len + 1);

        if (name) {
                memcpy(name, part->path, len);
                name[len] = 0;
                quadlet_unit_in_place(name);
        }
        return name;
}

// Adds a file for an instance that has only drop-ins here, made from its template's file.
static int add_instance(HttpDropIns *d, Came *c, char *name, Argosy__NamedFile **files, size_t *n_files,
                        char **ret_why) {
        _cleanup_free_ char *template =
                unit_name_kind(name, NULL) == UNIT_NAME_INSTANCE ? unit_name_template(name) : NULL;
        size_t of = template ? find_file(*files, c->n, template) : c->n, n;
        Argosy__NamedFile *file;
        bool own;
        int r;

        if (of == c->n)
                return 0;
        if (*n_files == HTTP_FILES_MAX)
                return str_refuse(ret_why, "a request brings at most %i files", (int) HTTP_FILES_MAX);
        if (ARRAY_RESERVE(*files, *n_files + 1) < 0)
                return -ENOMEM;
        file = &(*files)[(*n_files)++];
        *file = (Argosy__NamedFile) ARGOSY__NAMED_FILE__INIT;
        file->name = file->path = name;
        c->files = *files; // it may have moved
        n = pick(d, name, c->room, c->used, &own);
        r = pick_beside(c, c->originals[of], &n);
        return r < 0 ? r : compose(d, c->room, n, file, c->originals[of], ret_why);
}

static size_t find_most(const HttpDropIns *d, const Argosy__NamedFile *files, size_t n_files) {
        size_t came = 0;

        for (size_t i = 0; i < n_files; i++)
                came += files[i].content.len;
        for (size_t i = 0; i < d->n; i++)
                came += d->list[i].len + d->list[i].path_len;
        return MIN_OF(MAX_OF(came * HTTP_COMPOSED_TIMES, (size_t) HTTP_COMPOSED_FEW),
                      (size_t) HTTP_COMPOSED_MAX);
}

int http_drop_ins_take(HttpDropIns *d, Arena *arena, Argosy__NamedFile **files, size_t *n_files,
                       char **ret_why) {
        size_t n_came = *n_files;
        _cleanup_free_ ProtobufCBinaryData *originals = calloc(n_came + 1, sizeof(*originals));
        _cleanup_free_ UnitPart *room = calloc(d->n + n_came + 1, sizeof(*room));
        _cleanup_free_ uint8_t *used = calloc(d->n + 1, 1);
        Came c = {d, *files, originals, n_came, arena, room, used};
        int r = originals && room && used ? 0 : -ENOMEM;

        d->most = find_most(d, *files, n_came);
        for (size_t i = 0; r == 0 && i < n_came; i++)
                originals[i] = (*files)[i].content;
        for (size_t i = 0; r == 0 && i < n_came; i++)
                r = take_file(d, &c, &(*files)[i], ret_why);
        for (size_t i = 0; r == 0 && i < d->n; i++) {
                char *name;

                if (unit_part_is_beside(&d->list[i]))
                        continue;
                name = unit_of(&d->list[i], arena);
                if (!name)
                        return -ENOMEM;
                if (find_file(*files, *n_files, name) == *n_files)
                        r = add_instance(d, &c, name, files, n_files, ret_why);
        }
        for (size_t i = 0; r == 0 && i < d->n; i++)
                if (!used[i])
                        r = str_refuse(
                                ret_why,
                                unit_part_is_beside(&d->list[i])
                                        ? "no container in 'files' names '%.128s'"
                                        : "'%.128s' is a drop-in, and its unit's file is not in 'files'",
                                d->list[i].path);
        return r;
}
