// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What jobs change besides units, in words for people. Pure. 0 or -ENOMEM.

#include "argosy.pb-c.h"
#include "buf.h"

// "label disk of n1", "node n1", "role web", "pool ssd", "rule 3 of the queue", "the queue".
int setting_name_append(const Argosy__JobSetting *s, Buf *out);
// "ssd", "draining (new disks)", "weight 2, limit cpu 1.5"; nothing of what there is not.
int setting_value_append(Argosy__SettingKind kind, const Argosy__SettingValue *v, Buf *out);
// One row of a job. NULL: out of memory.
Argosy__Response__JobSettingRow *setting_row_new(const Argosy__JobSetting *s);
