// SPDX-License-Identifier: LGPL-2.1-or-later

// Whatever the bytes: a content has parts in order, which lie in it and are the same bytes when they are
// composed again; each line is in one of them. And whatever is composed of a file and a drop-in is refused
// with a sentence, or splits into just these.

#include <errno.h>

#include "unit-parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_drop_in(const UnitPart *before, const UnitPart *part) {
        _cleanup_free_ char *path = strndup(part->path, part->path_len);
        const char *slash = path ? strchr(path, '/') : NULL;

        if (!path || !slash || strlen(path) != part->path_len || !unit_drop_in_name_is_valid(slash + 1))
                abort();
        if (before->path && unit_drop_in_compare(before, part) >= 0)
                abort();
}

static void check_split(const uint8_t *data, size_t size) {
        UnitPart parts[UNIT_DROP_INS_MAX + 1];
        _cleanup_buf_ Buf again = {}, why = {};
        UnitParts p;
        size_t n = 0;

        unit_parts_begin(&p, data, size);
        while (n < ELEMENTSOF(parts) && unit_parts_next(&p, &parts[n])) {
                const char *end = parts[n].content + parts[n].len;

                if ((parts[n].path == NULL) != (n == 0) || parts[n].content < (const char *) data ||
                    end > (const char *) data + size)
                        abort();
                if (n > 0)
                        check_drop_in(&parts[n - 1], &parts[n]);
                n++;
        }
        if (p.at || unit_parts_has_drop_ins(data, size) != (n > 1))
                abort();
        if (unit_parts_compose(parts[0].content, parts[0].len, parts + 1, n - 1, &again, &why) < 0)
                abort();
        if (again.len != size || (size > 0 && memcmp(again.data, data, size) != 0))
                abort();
}

static void check_place(const uint8_t *data, size_t size) {
        char *why = strdup("dir/web.service:7: reason");
        unsigned line;
        UnitPart part;

        for (unsigned i = 1; i < 20; i++) {
                unit_parts_locate(data, size, i, &part, &line);
                if (line == 0 || line > i)
                        abort();
        }
        if (!why || unit_parts_place("dir/web.service", data, size, &why) < 0 ||
            strncmp(why, "dir/", 4) != 0)
                abort();
        free(why);
}

// The first zero byte ends the file.
static void check_compose(const uint8_t *data, size_t size) {
        const uint8_t *end = size > 0 ? memchr(data, 0, size) : NULL;
        size_t len = end ? (size_t) (end - data) : size;
        UnitPart drop_in = {"web.service.d/50-x.conf", strlen("web.service.d/50-x.conf"),
                            end ? (const char *) end + 1 : "", end ? size - len - 1 : 0};
        _cleanup_buf_ Buf content = {}, why = {};
        UnitPart part;
        UnitParts p;
        int r = unit_parts_compose(data, len, &drop_in, 1, &content, &why);

        if ((r == -EINVAL) != (why.len > 0) || (r < 0 && r != -EINVAL))
                abort();
        if (r < 0 || len == 0)
                return;
        unit_parts_begin(&p, content.data, content.len);
        if (!unit_parts_next(&p, &part) || part.len < len || !unit_parts_next(&p, &part) ||
            part.len != drop_in.len || memcmp(part.content, drop_in.content, part.len) != 0 ||
            unit_parts_next(&p, &part))
                abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        check_split(data, size);
        check_place(data, size);
        check_compose(data, size);
        return 0;
}
