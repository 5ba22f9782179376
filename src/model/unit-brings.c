// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The happy path: a timer brings its service, and a unit without [Install] brings nothing. Loading a unit
// and reading a folder of units both ask here, so that both bring the same.
//
// An [Install] section that is not valid is refused when the file is taken.

#include "unit-brings.h"

#include <errno.h>

#include "unit-install.h"

int unit_brings_each(const UnitFile *file, const char *name, UnitBringsEach each, void *userdata) {
        _cleanup_free_ char *activated = NULL, *socket = NULL;
        UnitInstall install;
        int r = unit_file_activates(file, name, &activated);

        if (r == 0)
                r = unit_file_own_socket(file, name, &socket);
        if (r == 0 && (activated || socket))
                r = each(activated ?: socket, userdata);
        if (r != 0 || file->n_install == 0)
                return r;
        r = unit_install_expand(file, name, name, &install, NULL);
        if (r < 0)
                return r == -EINVAL ? 0 : r;
        for (size_t i = 0; r == 0 && i < install.n; i++)
                if (install.entries[i].kind == UNIT_INSTALL_ALSO)
                        r = each(install.entries[i].name, userdata);
        unit_install_done(&install);
        return r;
}
