// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The units of a job that is to be undone: what it did to each, what that is now, and what becomes of it.
// Only reads.

#include "changed-since.h"
#include "decide-aims.h"
#include "leader-core.h"
#include "map.h"
#include "request-kind.h"
#include "request.h"
#include "undo-policy.h"
#include "undo-settings.h"

enum {
        UNDO_UNITS_MAX = CHANGE_UNITS_MAX,
        UNDO_LIST_MORE = 1,
        UNDO_JOBS_LOOKED = 1000,           // for all units together, to find out who has changed them since
};

typedef struct UndoItem {
        AimItem to; // name: of the record
        UndoUnit unit;
        UndoVerdict verdict;
        UndoState wanted;
        bool lost; // the content that it is to have again is not kept
        // for that of `wanted`, which is the job's. That of unit.now lives until the next batch
        bool leaves_set;
} UndoItem;

typedef struct UndoList {
        Argosy__JobRecord *job;
        UndoItem *items;
        size_t n;
        size_t group, unit; // of the record, that comes next
        Map by_name;        // -> UndoItem
        size_t n_looked; // of UNDO_JOBS_LOOKED
        UndoSettings settings;
} UndoList;

// Zero-initialised is empty. 0, -ENOENT: no such job is kept; -E2BIG: it has changed more units than can be
// judged; -ENOMEM.
int undo_list_read(UndoList *list, const ClusterState *state, uint64_t job);
// Lists so many more of the job's units, at about 0.2 us each. 0: these were all; UNDO_LIST_MORE; -ENOMEM.
int undo_list_fill(UndoList *list, size_t most);
void undo_list_done(UndoList *list);
// Those between two places, as they are now, at about 0.3 us each; with `force` also what somebody has
// changed since is put back. Their aims are good until the next batch is applied.
void undo_list_judge(UndoList *list, const ClusterState *state, size_t from, size_t to, bool force);
// NULL: the job has not changed it.
UndoItem *undo_list_find(const UndoList *list, const char *name);
size_t undo_list_count(const UndoList *list, UndoVerdict verdict);

// Nothing is done about it, for another reason than its state.
void undo_item_stays(UndoItem *item, UndoVerdict why);

typedef ChangedPhrase UndoPhrase;
// "was changed since by job 7 (stop, alice@n1)"
void undo_phrase_touched(UndoList *list, const ClusterState *state, const UndoItem *item, UndoPhrase ret);
void undo_phrase_setting_touched(UndoList *list, const ClusterState *state, const UndoSetting *s,
                                 UndoPhrase ret);
// What is, or would be, done to it, or why nothing. 0 or -ENOMEM.
int undo_item_describe(UndoList *list, const ClusterState *state, const UndoItem *item,
                       Argosy__Response__UnitResult *ret);
