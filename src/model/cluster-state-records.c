// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How the next record of a unit is made out of the one before, which snapshots may still read:
//
//      name        belongs to the unit; all its records share it, so it ends with the unit
//      spec        the hash is that of the content, which nobody drops as long as a record that may be read
//                  has it
//      outcomes    belong to the unit, too: each is shared by the records from the one that brought it to
//                  the last one
//                  that has it, and so is the array
//      the rest    belongs to the record that was put; twins of it, which differ in outcomes or numbers,
//                  share it
//
// So a change of one outcome costs an array of pointers, however many outcomes there are. What is not in the
// newest record any more is retired. -ENOMEM: the state is not used any more.

#include <errno.h>

#include "cluster-state-private.h"
#include "message.h"

Argosy__UnitRecord *state_make_twin(const UnitEntry *u) {
        Argosy__UnitRecord *twin = malloc(sizeof *twin);

        if (twin)
                *twin = *u->record;
        return twin;
}

int state_put_twin(ClusterState *s, UnitEntry *u, Argosy__UnitRecord *twin) {
        int r = paged_table_set(&s->unit_records, u->number, &twin);

        if (r < 0) {
                free(twin);
                return r;
        }
        state_retire(s, u->record, sizeof *u->record);
        u->record = twin;
        return 0;
}

void state_share_hash(Argosy__UnitRecord *record, const SpecEntry *spec) {
        free(record->spec.data);
        record->spec = (ProtobufCBinaryData){.data = (uint8_t *) spec->hash.bytes, .len = HASH_SIZE};
}

static void free_record(void *p) {
        Argosy__UnitRecord *record = p;

        record->name = NULL;
        record->spec = (ProtobufCBinaryData){};
        message_free(record);
}

static void free_body(void *p) {
        Argosy__UnitRecord *record = p;

        record->outcomes = NULL;
        record->n_outcomes = 0;
        free_record(record);
}

enum { BODY_BYTES = sizeof(Argosy__UnitRecord) };

void state_retire_record(ClusterState *s, Argosy__UnitRecord *record) {
        snapshot_clock_retire(s->clock, record, free_record,
                              BODY_BYTES + record->n_outcomes * sizeof(Argosy__Outcome));
}

void state_retire_body(ClusterState *s, Argosy__UnitRecord *record) {
        snapshot_clock_retire(s->clock, record, free_body, BODY_BYTES);
}

void state_retire_outcomes(ClusterState *s, const Argosy__UnitRecord *record) {
        for (size_t i = 0; i < record->n_outcomes; i++)
                state_retire_message(s, record->outcomes[i]);
        state_retire(s, record->outcomes, record->n_outcomes * sizeof *record->outcomes);
}

// For a global unit an outcome replaces that of its node, and those of nodes that are no more.
static bool stays(const ClusterState *s, const Argosy__UnitRecord *record, const Argosy__Outcome *o,
                  uint32_t node) {
        return record->global && o->node != node && cluster_state_find_host_by_node(s, o->node);
}

int state_put_outcome(ClusterState *s, UnitEntry *u, const Argosy__Outcome *outcome) {
        const Argosy__UnitRecord *before = u->record;
        Argosy__Outcome **array = calloc(before->n_outcomes + 1, sizeof *array), *copy = NULL;
        Argosy__UnitRecord *twin = state_make_twin(u);
        size_t n = 0;

        if (outcome->kind != ARGOSY__OUTCOME__KIND__NONE)
                copy = message_copy(outcome);
        if (!array || !twin || (!copy && outcome->kind != ARGOSY__OUTCOME__KIND__NONE)) {
                free(array);
                free(twin);
                message_free(copy);
                return -ENOMEM;
        }
        for (size_t i = 0; i < before->n_outcomes; i++) {
                if (stays(s, before, before->outcomes[i], outcome->node))
                        array[n++] = before->outcomes[i];
                else
                        state_retire_message(s, before->outcomes[i]);
        }
        if (copy)
                array[n++] = copy;
        state_retire(s, before->outcomes, before->n_outcomes * sizeof *array);
        twin->outcomes = array;
        twin->n_outcomes = n;
        return state_put_twin(s, u, twin);
}
