// SPDX-License-Identifier: LGPL-2.1-or-later
//
//      batches of the plan -> contents by their hashes -> beside those that the units have now: what runs on
//      with new files (PreviewUnit.file_change), and networks that are made anew (.networks)
//
// What a unit would have need not be in a batch: the cluster may have it already, of the template or of
// another unit. Failures: -ENOMEM alone.

#include "preview-contents.h"

#include <errno.h>
#include <stdlib.h>

#include "carried-files.h"
#include "network-change.h"
#include "ordering.h"
#include "unit-file.h"
#include "unit-record.h"

void preview_contents_done(PreviewContents *c) {
        map_done(&c->brought);
}

int preview_contents_take(PreviewContents *c, void *const *batches, size_t n) {
        int r = 0;

        if (c->brought.count)
                return 0;
        for (size_t i = 0; i < n; i++) {
                const Argosy__LogBatch *batch = batches[i];

                for (size_t k = 0; k < batch->n_ops && r >= 0; k++) {
                        const Argosy__Spec *spec = batch->ops[k]->spec;

                        if (batch->ops[k]->op_case != ARGOSY__LOG_OP__OP_SPEC)
                                continue;
                        r = map_add(&c->brought, spec->hash.data, spec->hash.len, (void *) &spec->content);
                        r = r == -EEXIST ? 0 : r;
                }
        }
        return r;
}

bool preview_contents_find(const PreviewContents *c, const ClusterState *state, const PreviewUnit *u,
                           ProtobufCBinaryData *ret) {
        const ProtobufCBinaryData hash = u->record->spec,
                                  *content = map_find(&c->brought, hash.data, hash.len);
        const SpecEntry *spec = NULL;
        Hash h;

        if (!content && hash_from_bytes(hash.data, hash.len, &h))
                spec = cluster_state_find_spec(state, &h);
        if (content)
                *ret = *content;
        else if (spec)
                *ret = (ProtobufCBinaryData){spec->len, spec->content};
        return content || spec;
}

// Contents that were compared last: instances of a template have the same.
typedef struct Compared {
        const SpecEntry *now;
        const uint8_t *next;
        Argosy__FileChange change;
} Compared;

static int compare_contents(const char *name, const SpecEntry *now, const ProtobufCBinaryData *next,
                            Compared *c) {
        _cleanup_(unit_file_freep) UnitFile *file = NULL;
        int r;

        if (c->now == now && c->next == next->data)
                return 0;
        *c = (Compared){now, next->data, ARGOSY__FILE_CHANGE__FILE_CHANGE_RESTART};
        if (!carried_files_same_settings(now->content, now->len, next->data, next->len))
                return 0;
        r = unit_file_parse(name, next->data, next->len, &file, NULL);
        if (r == 0)
                c->change = file->file_change;
        return r == -ENOMEM ? r : 0;
}

static int note_networks(PreviewUnit *u, const SpecEntry *now, const ProtobufCBinaryData *next) {
        NetworkChange change;
        int r = network_change_of(u->record->name, now->content, now->len, next->data, next->len, &change);

        if (r == 0 && change.n > 0) {
                free(u->networks);
                u->networks = network_change_names(&change, ", ");
                r = u->networks ? 0 : -ENOMEM;
        }
        network_change_done(&change);
        return r;
}

// What runs, and gets nothing new but files, may go on with them.
static int compare(const PreviewContents *c, const Leader *l, PreviewUnit *u, Compared *last) {
        const char *name = u->record->name;
        const UnitEntry *e = cluster_state_find_unit(l->state, name);
        ProtobufCBinaryData content;
        int r = 0;

        if (!e || record_has_spec_of(e->record, u->record) ||
            !preview_contents_find(c, l->state, u, &content))
                return 0;
        if (ordering_standing(l, name) == STANDING_UP) {
                r = compare_contents(name, e->spec, &content, last);
                u->file_change = last->change;
        }
        return r ?: note_networks(u, e->spec, &content);
}

int preview_contents_compare(const PreviewContents *c, const Leader *l, PreviewUnit *const *units,
                             size_t n) {
        Compared last = {};
        int r = 0;

        for (size_t i = 0; i < n && r >= 0; i++)
                r = compare(c, l, units[i], &last);
        return r;
}
