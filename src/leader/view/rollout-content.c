// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which content a node is to have of a unit. A unit has what its record says; a global unit that is being
// rolled out has one record for all nodes, and its rollout's record lists the nodes that had their turn.
//
// Read off the log's state when somebody asks; nothing is kept. A content that the log does not have is that
// of before.
#include "rollout-content.h"
#include "sorted.h"

SpecEntry *rollout_spec(const Leader *l, const ProtobufCBinaryData *field) {
        Hash hash;

        return hash_from_bytes(field->data, field->len, &hash) ? cluster_state_find_spec(l->state, &hash)
                                                               : NULL;
}

const Argosy__RolloutNode *rollout_turn(const Argosy__RolloutRecord *r, uint32_t node) {
        size_t at = SORTED_COUNT(r->n_nodes, i, r->nodes[i]->node < node);

        return at < r->n_nodes && r->nodes[at]->node == node ? r->nodes[at] : NULL;
}

// Whether only carried files change: then all nodes keep the versions of secrets that they have, and a
// started unit gets the versions of the others.
static bool changes_files_alone(const Argosy__RolloutRecord *r, const SpecEntry *before, SpecEntry *next) {
        return r->kind == ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE &&
               spec_entry_change(before, next) != ARGOSY__FILE_CHANGE__FILE_CHANGE_RESTART;
}

Content rollout_content(const Leader *l, const UnitEntry *e, uint32_t node) {
        Content c = {e->spec, e->record->revision, e->record->restart_rev, unit_record_secrets(e->record)};
        const Argosy__RolloutRecord *r =
                e->record->global ? cluster_state_find_rollout(l->state, e->record->name) : NULL;
        const Argosy__RolloutNode *turn = rollout_is_under_way(r) ? rollout_turn(r, node) : NULL;

        if (!turn)
                return c;
        if (r->kind == ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE && !turn->back)
                c.spec = rollout_spec(l, &r->spec) ?: c.spec;
        c.revision = MAX_OF(c.revision, turn->revision);
        if (!turn->kept)
                c.restart_rev = MAX_OF(c.restart_rev, turn->revision);
        if (!turn->kept && !turn->back && !(c.secrets > 0 && changes_files_alone(r, e->spec, c.spec)))
                c.secrets = MAX_OF(c.secrets, turn->revision);
        return c;
}
