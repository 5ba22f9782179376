// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Units that nobody but the test owns: watched, and unwatched, by name.

#include "systemd-manager.h"

typedef struct TestUnit {
        SystemdUnit unit;
        char name[];
} TestUnit;

static inline int watch_unit(SystemdManager *m, const char *name) {
        if (systemd_manager_find(m, name))
                return 0;
        TestUnit *t = calloc(1, SIZE_WITH_NAME(TestUnit, strlen(name)));
        strcpy(t->name, name);
        int r = systemd_manager_watch(m, &t->unit, t->name);
        if (r < 0)
                free(t);
        return r;
}

static inline void unwatch_unit(SystemdManager *m, const char *name) {
        SystemdUnit *u = systemd_manager_find(m, name);

        if (!u)
                return;
        systemd_manager_unwatch(m, u);
        free(CONTAINER_OF(u, TestUnit, unit));
}

static inline void unwatch_all_units(SystemdManager *m) {
        SystemdUnit *u;

        for (size_t i = 0; (u = systemd_manager_next(m, &i));) {
                systemd_manager_unwatch(m, u);
                free(CONTAINER_OF(u, TestUnit, unit));
        }
}

// NULL if it is not watched.
static inline const UnitRuntime *watched_unit(const SystemdManager *m, const char *name) {
        const SystemdUnit *u = systemd_manager_find(m, name);

        return u ? &u->runtime : NULL;
}
