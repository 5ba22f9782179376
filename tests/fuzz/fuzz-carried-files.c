// SPDX-License-Identifier: LGPL-2.1-or-later

// Whatever the bytes: a list that can be read has valid names in order and no more than there may be, it
// lies behind the text, and a content that is taken is what composing its text and its list makes.

#include <errno.h>

#include "carried-files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_list(const CarriedFiles *c) {
        if (c->n > CARRIED_FILES_MAX)
                abort();
        for (size_t i = 0; i < c->n; i++) {
                const CarriedFile *f = &c->list[i];

                if (!carried_file_name_is_valid(f->name) || f->size > CARRIED_FILE_MAX ||
                    (i > 0 && strcmp(c->list[i - 1].name, f->name) >= 0) ||
                    carried_files_find(c, f->name) != f)
                        abort();
        }
}

// The content as it is to be, of a unit of the name that the manifest says.
static void check_taken(const uint8_t *data, size_t size, const UnitFile *file, CarriedFiles *c) {
        size_t len = carried_files_text_len(data, size);
        const char *head = (const char *) data + len + strlen("\n# ");
        _cleanup_free_ char *name =
                strndup(head, (size_t) ((const char *) memmem(head, size - len, ".d/~", 4) - head));
        _cleanup_buf_ Buf again = {};
        char *why = NULL;

        if (!name || buf_append(&again, data, len) < 0 ||
            carried_files_compose(name, file, c, &again, &why) < 0)
                abort();
        if (again.len != size || memcmp(again.data, data, size) != 0)
                abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_carried_files_ CarriedFiles c = {};
        _cleanup_(unit_file_freep) UnitFile *file = NULL;
        _cleanup_free_ char *why = NULL;
        int r = carried_files_read(data, size, &c);

        if (r != 0 && r != -EBADMSG)
                abort();
        if (r == 0)
                check_list(&c);
        if (carried_files_text_len(data, size) > size)
                abort();
        if (unit_file_parse("web.service", data, size, &file, NULL) < 0)
                return 0;
        r = carried_files_check("web.service", "web@.service", data, size, file, &why);
        if ((r == -EINVAL) != (why != NULL) || (r != 0 && r != -EINVAL))
                abort();
        if (r == 0 && c.n > 0)
                check_taken(data, size, file, &c);
        return 0;
}
