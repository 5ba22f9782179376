// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Units that are each to be something of their own, as one job: contents, what they are to be, and whether
// they are there at all. The caller (decide-apply.c, decide-undo.c, decide-cancel.c) says so of each unit,
// in a list that is the same each time; how a unit gets there is planned like a Change (ChangeAim).
//
//      1. limits.apply_chunk_units after limits.apply_chunk_units are planned and committed. The caller
//         judges those of a chunk in the turn in which they are planned, so what is as it is to be stays,
//         also what an earlier leader has done
//      2. the client is answered about each chunk as the log has it (log-chunks.c)
//
// A unit that cannot be had has its own error in the answer. What does not fit behind the requests of others
// goes into the next entry.

#include "decide-aims.h"

#include <assert.h>
#include <errno.h>

#include "decide-changes.h"
#include "decision.h"
#include "log-chunks.h"
#include "message-of.h"
#include "message.h"
#include "registry.h"
#include "request.h"
#include "response.h"
#include "retry-controller.h"
#include "tables.h"

// Adds the results of items between two places for which nothing is planned.
static int add_results(const Leader *l, const PendingRequest *t, const AimList *list, size_t from, size_t to,
                       Argosy__Response *ret) {
        Argosy__Response__Change *change = ret->change;
        int r = 0;

        for (size_t i = from; r >= 0 && i < to; i++) {
                const AimItem *item = list->item(list, i);
                Argosy__Response__UnitResult *result;

                if (item->aimed)
                        continue;
                result = unit_result_new(item->name);
                r = result ? list->describe(l, t, list, item, result) : -ENOMEM;
                if (r == AIM_SAID)
                        r = FIELD_APPEND(change->units, change->n_units, result);
                else
                        message_free(result);
        }
        return MIN_OF(r, 0);
}

int decide_aims_describe(const Leader *l, const PendingRequest *t, const AimList *list,
                         Argosy__Response *ret) {
        return add_results(l, t, list, 0, list->n, ret);
}

static const ChangeAim *on_aim(const char *name, void *userdata) {
        const Decision *d = userdata;
        const AimItem *item = map_find_str(&d->aims->by_name, name);

        return item ? &item->aim : NULL;
}

// The new content may have other nodes, and where it failed it was another one.
static void forget_refusals(Leader *l, const char *name, const ChangeAim *aim) {
        Unit *u = unit_find(l, name);

        if (!u || u->node || aim->remove || aim->target == ARGOSY__TARGET__TARGET_INACTIVE)
                return;
        unit_forget_exclusions(l, u, 0);
        retry_controller_forget(l, u);
}

// CHANGE_PULLS. `t`: that asks hosts for images; NULL: nobody does.
static int plan(Decision *d, PendingRequest *t, const AimList *list, char **names, size_t n,
                Argosy__Response **ret) {
        Argosy__Request__Change change =
                MESSAGE_OF(request__change, .verb = ARGOSY__VERB__VERB_SUBMIT, .names = names, .n_names = n,
                           .files = list->files, .n_files = list->n_files);
        ChangeOps ops = *decide_change_ops();
        BatchBuilderMark mark = batch_builder_mark(&d->batch);
        int r;

        ops.aim = on_aim;
        d->aims = list;
        r = decide_pulling(d, t, &change, &ops, ret);
        d->aims = NULL;
        if (r != 0)
                return r;
        change_note_kept(d->leader->state, &d->batch, mark, *ret);
        for (size_t i = 0; i < (*ret)->change->n_units; i++) {
                Argosy__Response__UnitResult *result = (*ret)->change->units[i];
                const AimItem *item = map_find_str(&list->by_name, result->name);

                result->verb = item->verb;
        }
        return 0;
}

// Names of the chunk that begins at the pending request's place. 0 or -ENOMEM.
static int take_part(const Leader *l, AimList *list, LogChunks *p, char *names[static AIMS_CHUNK_UNITS],
                     size_t *ret_n) {
        size_t to = list->looks > 0 ? MIN_OF(list->n, p->at + list->looks) : list->n;
        size_t of_content = batch_units_of_content(l->state), i, end;
        LogChunkRoom room = {.most_work =
                                     log_chunk_slice(p, list->part_units ?: l->limits.apply_chunk_units),
                             .most_bytes = l->limits.apply_chunk_bytes,
                             .enough_bytes = SIZE_MAX};

        for (i = p->at; i < to && !log_chunk_is_full(&room); i++) {
                const AimItem *item = list->item(list, i);

                if (!item->aimed)
                        continue;
                if (!log_chunk_takes(&room, item->bytes > 0 ? 1 + of_content : 1, item->bytes))
                        break;
                if (map_add_str(&list->by_name, item->name, (AimItem *) item) == -ENOMEM)
                        return -ENOMEM;
                names[room.n - 1] = (char *) item->name;
        }
        end = i;
        while (i < to && !list->item(list, i)->aimed)
                i++;
        log_chunk_take(p, i == list->n ? i : end, i == list->n);
        *ret_n = room.n;
        return 0;
}

static int decide_chunk(Decision *d, PendingRequest *t, AimList *list) {
        DecisionMark mark = decision_mark(d);
        char *names[AIMS_CHUNK_UNITS];
        LogChunks *p = log_chunk_of(t);
        size_t n;
        int r = take_part(d->leader, list, p, names, &n);
        bool has_rest = list->put_rest && p->at == 0;

        if (r == 0 && has_rest)
                r = list->put_rest(d, t);
        if (r < 0)
                return r;
        if (decision_touches(d, names, n))
                return -EBUSY;
        for (size_t i = p->at; i < p->end; i++) {
                const AimItem *item = list->item(list, i);

                if (item->aimed)
                        forget_refusals(d->leader, item->name, &item->aim);
        }
        scheduler_sync_refusals(d->leader);
        r = plan(d, t, list, names, n, &p->answer);
        if (r == CHANGE_PULLS) {
                decision_rollback(d, mark);
                return PLAN_SETTLED;
        }
        if (r == 0 && has_rest)
                r = list->describe_rest(d->leader, t, p->answer);
        if (r == 0)
                r = add_results(d->leader, t, list, p->at, p->end, p->answer);
        if (r < 0)
                return r;
        return log_chunk_fit(d, mark.batch) ? log_chunk_put(d, t, mark.batch) : -EBUSY;
}

int decide_aims_put(Decision *d, const AimList *list, bool (*which)(const AimItem *item)) {
        char *names[AIMS_CHUNK_UNITS];
        Argosy__Response *response = NULL;
        size_t n = 0;
        int r;

        for (size_t i = 0; i < list->n; i++) {
                const AimItem *item = list->item(list, i);

                if (!which(item))
                        continue;
                assert(n < d->leader->limits.apply_chunk_units);
                names[n++] = (char *) item->name;
        }
        if (n == 0)
                return 0;
        if (decision_touches(d, names, n))
                return -EBUSY;
        for (size_t i = 0; i < n; i++) {
                const AimItem *item = map_find_str(&list->by_name, names[i]);

                forget_refusals(d->leader, names[i], &item->aim);
        }
        scheduler_sync_refusals(d->leader);
        r = plan(d, NULL, list, names, n, &response);
        message_free(response);
        return r;
}

int decide_aims(Decision *d, PendingRequest *t, AimList *list) {
        int r = log_chunk_begin(t);

        return r < 0 ? r : decide_chunk(d, t, list);
}
