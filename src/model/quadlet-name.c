// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What podman calls the container of a unit:
//
//      ContainerName=db         -> "db", specifiers filled in
//      web.container            -> "systemd-web"
//      work@.container, for 7   -> "systemd-work_7"
//
// The last ContainerName= counts, and an empty one undoes those before it. A name with a specifier that only
// a node fills in is not known here. Nothing fails but for memory.

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ini-reader.h"
#include "quadlet-words.h"
#include "quadlet.h"
#include "specifier.h"
#include "str.h"
#include "unit-name.h"
#include "unit-parts.h"

static int read_name(const void *content, size_t len, char **ret) {
        _cleanup_(ini_reader_done) IniReader reader = {};
        IniLine line;
        int r = ini_reader_init(&reader, content, unit_parts_own_len(content, len)), more = 0;

        *ret = NULL;
        while (r >= 0 && (more = ini_reader_next(&reader, &line)) > 0) {
                if (line.kind != INI_ASSIGNMENT || !streq(line.section, "Container") ||
                    !streq(line.key, "ContainerName"))
                        continue;
                free(*ret);
                *ret = quadlet_plain(line.value);
                r = *ret ? 0 : -ENOMEM;
        }
        return r == -ENOMEM || more == -ENOMEM ? -ENOMEM : 0; // what cannot be read is refused elsewhere
}

int quadlet_container_name(const char *unit, const void *content, size_t len, char **ret) {
        bool is_instance = unit_name_kind(unit, NULL) == UNIT_NAME_INSTANCE, depends;
        _cleanup_free_ char *word = NULL;
        const char *bad;
        int r = read_name(content, len, &word);

        *ret = NULL;
        if (r < 0 || (word && specifier_check(word, &depends, &bad) < 0))
                return r;
        *ret = specifier_expand(word && *word ? word : is_instance ? "systemd-%p_%i" : "systemd-%N", unit);
        return *ret ? 0 : -ENOMEM;
}
