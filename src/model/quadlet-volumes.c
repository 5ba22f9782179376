// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The volumes that a container names, as podman calls them: what stays on a node when the container goes.
//
//      Volume=data.volume:/data      -> VolumeName= of the part data.volume, else "systemd-data"
//      Volume=cache:/cache           -> "cache", specifiers filled in
//      Mount=type=volume,source=x,.. -> likewise
//
// Not these are paths of the host, and volumes without a name, which podman makes for each container. An
// empty assignment drops those of its key above it. Nothing fails but for memory, and by who is called.

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ini-reader.h"
#include "quadlet-words.h"
#include "quadlet.h"
#include "specifier.h"
#include "str.h"
#include "unit-parts.h"

#define MADE_PREFIX "systemd-" // of what a .volume without VolumeName= makes

typedef struct Volumes {
        const char *unit;
        const void *content;
        size_t len;
        char **list;
        size_t n;
} Volumes;

static void drop(Volumes *v) {
        for (size_t i = 0; i < v->n; i++)
                free(v->list[i]);
        free(v->list);
        v->list = NULL;
        v->n = 0;
}

// Takes the name; NULL: out of memory.
static int add(Volumes *v, char *name) {
        char **list = name ? realloc(v->list, (v->n + 1) * sizeof(*list)) : NULL;

        if (!list) {
                free(name);
                return -ENOMEM;
        }
        v->list = list;
        v->list[v->n++] = name;
        return 0;
}

// 0 or -ENOMEM; *ret NULL: it says no name.
static int read_name(const Volumes *v, const char *file, char **ret) {
        _cleanup_(ini_reader_done) IniReader reader = {};
        UnitPart part;
        IniLine line;

        *ret = NULL;
        if (!quadlet_beside_find(v->content, v->len, file, &part) ||
            ini_reader_init(&reader, part.content, part.len) < 0)
                return 0;
        while (ini_reader_next(&reader, &line) > 0) {
                if (line.kind != INI_ASSIGNMENT || !streq(line.section, "Volume") ||
                    !streq(line.key, "VolumeName"))
                        continue;
                free(*ret);
                *ret = quadlet_plain(line.value);
                if (!*ret)
                        return -ENOMEM;
        }
        return 0;
}

static int add_of_file(Volumes *v, const char *file) {
        _cleanup_free_ char *name = NULL;
        int r = read_name(v, file, &name);

        if (r < 0)
                return r;
        if (name && *name)
                return add(v, TAKE_PTR(name));
        return add(v, str_printf(MADE_PREFIX "%.*s", (int) (strlen(file) - strlen(QUADLET_VOLUME)), file));
}

static bool is_path(const char *source) {
        return *source == '/' || *source == '.' || strchr(source, '/');
}

static int add_source(Volumes *v, const char *source) {
        if (!*source || is_path(source))
                return 0;
        if (str_has_suffix(source, QUADLET_VOLUME))
                return add_of_file(v, source);
        return add(v, specifier_expand(source, v->unit));
}

static int add_source_of(Volumes *v, const char *value) {
        _cleanup_free_ char *source = strndup(value, strcspn(value, ":"));

        return source ? add_source(v, source) : -ENOMEM;
}

// "type=volume,source=data,destination=/data"
static int add_mount(const QuadletMount *mount, void *userdata) {
        return streq(mount->type, "volume") && mount->source ? add_source(userdata, mount->source) : 0;
}

static int add_arg(const char *key, char *word, void *userdata) {
        QuadletMount mount;

        if (streq(key, "Volume"))
                return strchr(word, ':') ? add_source_of(userdata, word) : 0;
        mount = quadlet_mount_of(word);
        return add_mount(&mount, userdata);
}

typedef struct Lines { // of each key: an empty assignment drops its own only
        Volumes volume, mount, args;
} Lines;

static int take_line(Lines *l, const IniLine *line) {
        if (line->kind != INI_ASSIGNMENT || !streq(line->section, "Container"))
                return 0;
        if (streq(line->key, "Mount")) {
                if (!*line->value)
                        drop(&l->mount);
                return quadlet_mounts(line->value, add_mount, &l->mount);
        }
        if (streq(line->key, "PodmanArgs")) {
                if (!*line->value)
                        drop(&l->args);
                return quadlet_args(line->value, add_arg, &l->args);
        }
        if (!streq(line->key, "Volume"))
                return 0;
        if (!*line->value)
                drop(&l->volume);
        return strchr(line->value, ':') ? add_source_of(&l->volume, line->value) : 0;
}

static int call_each(const Volumes *v, int (*each)(const char *volume, void *userdata), void *userdata) {
        int r = 0;

        for (size_t i = 0; i < v->n && r >= 0; i++)
                r = each(v->list[i], userdata);
        return r;
}

int quadlet_volumes(const char *unit, const void *content, size_t len,
                    int (*each)(const char *volume, void *userdata), void *userdata) {
        _cleanup_(ini_reader_done) IniReader reader = {};
        Volumes none = {.unit = unit, .content = content, .len = len};
        Lines l = {none, none, none};
        IniLine line;
        int r = ini_reader_init(&reader, content, unit_parts_own_len(content, len)), more = 0;

        while (r >= 0 && (more = ini_reader_next(&reader, &line)) > 0)
                r = take_line(&l, &line);
        if (r >= 0)
                r = call_each(&l.volume, each, userdata);
        if (r >= 0)
                r = call_each(&l.mount, each, userdata);
        if (r >= 0)
                r = call_each(&l.args, each, userdata);
        drop(&l.args);
        drop(&l.volume);
        drop(&l.mount);
        return more == -ENOMEM ? more : MIN_OF(r, 0);
}
