// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the record of a unit says, for those who would otherwise have to know how it is written.

#include "cluster-state.h"
#include "failing-options.h"
#include "unit-file.h"

// The unit's options by its record; 0 and a reference, or -EINVAL, -ENOMEM.
int unit_options_of(const UnitEntry *e, UnitOptions **ret);
// The outcome of the newest start, on that node if the unit runs on all; NULL: it has not ended for good.
const Argosy__Outcome *record_final_outcome(const Argosy__UnitRecord *r, uint32_t node);
// Its new content has not failed so far: if it does not start, the unit gets the former one again.
bool record_is_on_trial(const Argosy__UnitRecord *r);
// Whether the two are about the same content.
bool record_has_spec_of(const Argosy__UnitRecord *r, const Argosy__UnitRecord *other);
// What its file says about failures. Valid as long as the unit's spec.
const FailingOptions *failing_options_of(const UnitEntry *e);
// Whether it is a one-shot that ends for good.
bool entry_ends_by_itself(const UnitEntry *e);
