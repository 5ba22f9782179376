// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Rows of units on nodes (unit-row.h).
//
//      unit_row_of() -> unit_row_set_seen(), or unit_row_set_words() where nothing was said
//
// Each function fills in all that it is given at once, so that whoever makes thousands of rows calls it once
// for each. Out of memory a row may be half filled, and is to be freed.

#include "unit-row.h"

#include <errno.h>
#include <stdlib.h>

#include "content-image.h"
#include "manager-name.h"
#include "message.h"
#include "str.h"
#include "unit-file.h"
#include "unit-state.h"

Argosy__Response__UnitRow *unit_row_new(const char *unit, const char *node) {
        Argosy__Response__UnitRow *w = malloc(sizeof(*w));

        if (!w)
                return NULL;
        argosy__response__unit_row__init(w);
        if (field_set(&w->unit, unit) < 0 || field_set(&w->node, node) < 0) {
                message_free(w);
                return NULL;
        }
        return w;
}

static const char *manager_of(const Argosy__HostRecord *host, uint32_t node) {
        for (size_t i = 0; i < host->n_nodes; i++)
                if (host->nodes[i]->node == node)
                        return host->nodes[i]->manager;
        return "system";
}

char *host_record_node_name(const Argosy__HostRecord *host, uint32_t node) {
        return manager_node_name(host->name, manager_of(host, node));
}

int unit_row_set_host(Argosy__Response__UnitRow *row, const Argosy__HostRecord *host) {
        char hex[2 * 16 + 1] = "";

        if (host->host_id.len == 16)
                hex_encode(host->host_id.data, 16, hex);
        return field_set(&row->host_id, hex);
}

int unit_row_set_image(Argosy__Response__UnitRow *row, const void *content, size_t len) {
        _cleanup_content_image_ ContentImage image = {};
        int r = content_image_read(row->unit, content, len, &image);

        if (r < 0 || image.kind == CONTENT_IMAGE_NONE)
                return r;
        return field_set(&row->image, image.name ?: "") ?: field_set(&row->digest, image.digest);
}

static int set_content(Argosy__Response__UnitRow *row, const Hash *hash) {
        char hex[HASH_HEX_SIZE];

        hash_hex(hash, HASH_SIZE, hex);
        return field_set(&row->spec, hex);
}

static int set_place(Argosy__Response__UnitRow *row, const Argosy__HostRecord *host, uint32_t node) {
        _cleanup_free_ char *name = host_record_node_name(host, node);

        return name && field_set(&row->node, name) == 0 ? unit_row_set_host(row, host) : -ENOMEM;
}

Argosy__Response__UnitRow *unit_row_of(const char *unit, SpecEntry *spec,
                                       const Argosy__HostRecord *host, uint32_t node) {
        Argosy__Response__UnitRow *row = unit_row_new(unit, "-");
        int r = row ? 0 : -ENOMEM;
        const UnitFile *file;

        if (r == 0 && spec)
                r = set_content(row, &spec->hash);
        if (r == 0 && spec && (spec_entry_file(spec, &file) != 0 || file->container))
                r = unit_row_set_image(row, spec->content, spec->len);
        if (r == 0 && host)
                r = set_place(row, host, node);
        if (r == 0)
                return row;
        message_free(row);
        return NULL;
}

int unit_row_set_words(Argosy__Response__UnitRow *row, const char *load, const char *active,
                       const char *sub) {
        return field_set(&row->load, load) ?: field_set(&row->active, active) ?: field_set(&row->sub, sub);
}

int unit_row_set_seen(Argosy__Response__UnitRow *row, const UnitRowSeen *seen) {
        return set_content(row, seen->content)
                ?: field_set(&row->note, seen->note)
                ?: field_set(&row->error, seen->error)
                ?: unit_row_set_words(row, load_state_to_string(seen->load),
                                      active_state_to_string(seen->active), seen->sub);
}
