// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Data of a container that is destroyed: argosy removes no volumes, and whoever destroys the unit is told
// which of them stay, and where. Paths of the host are not named: whoever wrote them knows them. Failures:
// -ENOMEM.

#include <errno.h>

#include "cluster-state.h"
#include "quadlet.h"
#include "planner.h"
#include "response.h"
#include "str.h"
#include "unit-file.h"

typedef struct Words {
        Buf text;
        size_t n;
} Words;

static int add_volume(const char *volume, void *userdata) {
        Words *w = userdata;

        return buf_printf(&w->text, "%s%s", w->n++ > 0 ? ", " : "", volume);
}

static void words_done(Words *w) {
        buf_done(&w->text);
}

int request_tell_volumes(const Planner *p, const UnitEntry *u, Argosy__Response__UnitResult *result) {
        _cleanup_(words_done) Words w = {};
        const Argosy__UnitRecord *record = u ? u->record : NULL;
        const UnitFile *file;
        const char *node;
        int r;

        if (!record || (!record->node && !record->global))
                return 0;
        r = spec_entry_file(u->spec, &file);
        if (r < 0 || !file->container)
                return r == -ENOMEM ? r : 0;
        node = record->node && p->ops->node_name ? p->ops->node_name(record->node, p->userdata) : NULL;
        if (!node && !record->global)
                return 0;
        r = quadlet_volumes(record->name, u->spec->content, u->spec->len, add_volume, &w);
        if (r < 0 || w.n == 0)
                return r;
        return field_printf(&result->message, "%s%s%s stay%s on %s: %.*s", result->message,
                            *result->message ? "; " : "", w.n > 1 ? "its volumes" : "its volume",
                            w.n > 1 ? "" : "s", node ?: "each node", (int) w.text.len,
                            (const char *) w.text.data);
}
