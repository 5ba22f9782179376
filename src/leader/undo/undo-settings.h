// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What a job that is to be undone changed besides units: labels, nodes, roles, pools, the queue.

#include "batch-builder.h"
#include "leader-core.h"
#include "undo-policy.h"

typedef struct UndoSetting {
        const Argosy__JobSetting *first, *last; // of the record: what was before the job, and what it left
        Argosy__SettingValue *wanted, *now;     // owned; NULL: there is none
        UndoVerdict verdict;
        char why[128]; // it cannot be had; empty: it can
} UndoSetting;

typedef struct UndoSettings {
        UndoSetting *items;
        size_t n;
} UndoSettings;

// Zero-initialised is empty. Lists those of a record, which has to live as long, each once. 0 or -ENOMEM.
int undo_settings_read(UndoSettings *list, const Argosy__JobRecord *job);
void undo_settings_done(UndoSettings *list);
// As they are now; with `force` also what somebody has changed since is put back. 0 or -ENOMEM.
int undo_settings_judge(UndoSettings *list, Leader *l, bool force);
bool undo_setting_is_due(const UndoSetting *s);
// What is due goes into the batch. 0; -EBUSY: next batch; -ENOMEM.
int undo_settings_put(const UndoSettings *list, Leader *l, BatchBuilder *b);
// What is, or would be, done about it. 0 or -ENOMEM.
int undo_setting_describe(const UndoSetting *s, Argosy__Response__UnitResult *ret);
// NULL: out of memory.
Argosy__Response__UnitResult *undo_setting_result(const UndoSetting *s);
