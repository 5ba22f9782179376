// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The volumes that a container names, as podman calls them: what stays on a node when the container goes.
//
//      Volume=data.volume:/data      -> VolumeName= of the part data.volume, else "systemd-data"
//      Volume=cache:/cache           -> "cache", specifiers filled in
//      Mount=type=volume,source=x,.. -> likewise
//
// Not these are paths of the host, and volumes without a name, which podman makes for each container. An
// empty assignment drops those above it. Nothing fails but for memory, and by who is called.

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ini-reader.h"
#include "quadlet-parser.h"
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
                *ret = *line.value ? strdup(line.value) : NULL;
                if (*line.value && !*ret)
                        return -ENOMEM;
        }
        return 0;
}

static int add_of_file(Volumes *v, const char *file) {
        char *name;
        int r = read_name(v, file, &name);

        if (r < 0 || name)
                return r < 0 ? r : add(v, name);
        return add(v, str_printf(MADE_PREFIX "%.*s", (int) (strlen(file) - strlen(QUADLET_VOLUME)), file));
}

static int add_source(Volumes *v, const char *source, size_t len) {
        _cleanup_free_ char *name =
                len > 0 && *source != '/' && *source != '.' ? strndup(source, len) : NULL;

        if (len == 0 || *source == '/' || *source == '.')
                return 0;
        if (!name)
                return -ENOMEM;
        if (str_has_suffix(name, QUADLET_VOLUME))
                return add_of_file(v, name);
        return add(v, specifier_expand(name, v->unit));
}

// "type=volume,source=data,destination=/data"
static int add_mount(Volumes *v, const char *value) {
        size_t type_len = 0, len = 0;
        const char *type = quadlet_find_value(value, "type", &type_len),
                   *source = quadlet_find_value(value, "source", &len)
                                     ?: quadlet_find_value(value, "src", &len);

        if (!type || type_len != strlen("volume") || memcmp(type, "volume", type_len) != 0 || !source)
                return 0;
        return add_source(v, source, len);
}

static int take_line(Volumes *v, const IniLine *line) {
        if (line->kind != INI_ASSIGNMENT || !streq(line->section, "Container"))
                return 0;
        if (streq(line->key, "Mount"))
                return add_mount(v, line->value);
        if (!streq(line->key, "Volume"))
                return 0;
        if (!*line->value)
                drop(v);
        return strchr(line->value, ':') ? add_source(v, line->value, strcspn(line->value, ":")) : 0;
}

int quadlet_volumes(const char *unit, const void *content, size_t len,
                    int (*each)(const char *volume, void *userdata), void *userdata) {
        _cleanup_(ini_reader_done) IniReader reader = {};
        Volumes v = {.unit = unit, .content = content, .len = len};
        IniLine line;
        int r = ini_reader_init(&reader, content, unit_parts_own_len(content, len)), more = 0;

        while (r >= 0 && (more = ini_reader_next(&reader, &line)) > 0)
                r = take_line(&v, &line);
        for (size_t i = 0; i < v.n && r >= 0; i++)
                r = each(v.list[i], userdata);
        drop(&v);
        return more == -ENOMEM ? more : MIN_OF(r, 0);
}
