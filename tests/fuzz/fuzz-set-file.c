// SPDX-License-Identifier: LGPL-2.1-or-later

// Whatever stands in an argosy.set: it is refused with a sentence, or names units that can be, each once and
// not too many.

#include <stdlib.h>

#include "macro.h"
#include "map.h"
#include "set-file.h"
#include "unit-name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const SetFile *f) {
        _cleanup_(map_done) Map names = {};

        if (f->n > SET_FILE_UNITS_MAX || (f->set && !set_name_is_valid(f->set)))
                abort();
        for (size_t i = 0; i < f->n; i++) {
                UnitNameKind kind = unit_name_kind(f->units[i].name, NULL);

                if (kind == UNIT_NAME_INVALID || kind == UNIT_NAME_TEMPLATE || f->units[i].line == 0 ||
                    map_add_str(&names, f->units[i].name, f->units[i].name) < 0)
                        abort();
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_set_file_ SetFile f = {};
        _cleanup_buf_ Buf why = {};
        int r = set_file_parse("argosy.set", data, size, &f, &why);

        if (r == 0)
                check(&f);
        if ((r < 0) != (why.len > 0))
                abort();
        return 0;
}
