// SPDX-License-Identifier: LGPL-2.1-or-later

// Whatever the bytes: a file is either refused with a reason, or it can be expanded for any name, with a
// reason where that fails.

#include <errno.h>
#include <stdio.h>

#include "unit-install.h"
#include "unit-parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_reason(int r, const char *why) {
        if (r < 0 && (r != -EINVAL || !why || strncmp(why, "x.service:", 10) != 0))
                abort();
}

static void check_options(const UnitOptions *o) {
        bool demands = o->machine_id || o->n_labels || o->managers || o->hosts || o->same_node ||
                       o->conflicts || o->replaces || o->spread || o->n_preferences || o->n_reserves ||
                       o->cpu_milli || o->memory_mib || o->pack;

        for (size_t i = 0; i < o->n_labels; i++) {
                const LabelMatch *m = &o->labels[i];
                bool valued = m->op == LABEL_IN || m->op == LABEL_NOT_IN;

                if (!label_is_valid(m->key) || valued != (m->values && m->values[0]))
                        abort();
                for (char **v = m->values; v && *v; v++)
                        if (!label_is_valid(*v))
                                abort();
        }
        // Options that demand nothing are one class, with an empty key.
        if ((*o->key != 0) != demands || (o->global && o->machine_id))
                abort();
}

// No link may lead out of the unit directory.
static void check_install(const UnitFile *f, const char *name) {
        _cleanup_free_ char *why = NULL, *activated = NULL;
        UnitInstall install;
        int r = unit_install_expand(f, "x.service", name, &install, &why);

        check_reason(r, why);
        if (unit_file_activates(f, name, &activated) < 0)
                abort();
        if (r < 0)
                return;
        for (size_t i = 0; i < install.n; i++) {
                _cleanup_free_ char *link = unit_install_link(&install.entries[i], name);
                bool alias = install.entries[i].kind >= UNIT_INSTALL_ALIAS;

                if (!link || *link == '/' || strncmp(link, "../", 3) == 0 ||
                    (strchr(link, '/') != NULL) == alias)
                        abort();
                if (!alias && (strchr(link, '/') != strrchr(link, '/')))
                        abort();
        }
        unit_install_done(&install);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static const char *const names[] = {"web.service", "web@.service", "web@a.b_c.service"};
        _cleanup_(unit_file_freep) UnitFile *f = NULL;
        _cleanup_free_ char *why = NULL;
        int r = unit_file_parse("x.service", data, size, &f, &why);

        if (r < 0 && unit_parts_has_drop_ins(data, size)) // it may begin with the path of one
                return 0;
        check_reason(r, why);
        for (size_t i = 0; r == 0 && i < ELEMENTSOF(names); i++) {
                _cleanup_(unit_options_unrefp) UnitOptions *o = NULL;
                _cleanup_free_ char *description = unit_file_describe(f, names[i]), *why_not = NULL;
                int k = unit_file_expand(f, "x.service", names[i], &o, &why_not);

                check_reason(k, why_not);
                // What depends on no name fails for none, but for names that their own Conflicts= or
                // dependencies name.
                if (!description || (k < 0 && f->common && !f->common->conflicts && !f->common->replaces &&
                                     !f->common->n_dependencies))
                        abort();
                if (k == 0)
                        check_options(o);
                check_install(f, names[i]);
        }
        return 0;
}
