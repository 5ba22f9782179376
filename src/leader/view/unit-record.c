// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Questions about a unit's record and file that need no table: options, outcome, trial, failing options.
// Each function reads the record when asked; nothing is kept, and texts are borrowed from the record.
// Failures: unit_options_of() returns -EINVAL or -ENOMEM; a file that cannot be read has no failing options.

#include "unit-record.h"

int unit_options_of(const UnitEntry *e, UnitOptions **ret) {
        const UnitFile *file;
        int r;

        r = spec_entry_file(e->spec, &file);
        return r < 0 ? r : unit_file_expand(file, e->record->name, e->record->name, ret, NULL);
}

bool record_is_on_trial(const Argosy__UnitRecord *r) {
        const Argosy__Trial *trial = unit_record_trial(r);

        return trial && trial->failed == 0;
}

bool record_has_spec_of(const Argosy__UnitRecord *r, const Argosy__UnitRecord *other) {
        return r->spec.len == other->spec.len && memcmp(r->spec.data, other->spec.data, r->spec.len) == 0;
}

const Argosy__Outcome *record_final_outcome(const Argosy__UnitRecord *r, uint32_t node) {
        for (size_t i = 0; i < r->n_outcomes; i++)
                if (r->outcomes[i]->start_rev == r->start_rev &&
                    (!r->global || r->outcomes[i]->node == node))
                        return r->outcomes[i];
        return NULL;
}

const FailingOptions *failing_options_of(const UnitEntry *e) {
        static const FailingOptions none;
        const UnitFile *file;

        return spec_entry_file(e->spec, &file) == 0 ? &file->failing : &none;
}

// Whether the unit is a one-shot that does not remain active: a run that ended well is what was wanted.
bool entry_ends_by_itself(const UnitEntry *e) {
        const UnitFile *file;

        return spec_entry_file(e->spec, &file) == 0 && file->oneshot && !file->remain;
}
