// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See apply-list.h. The happy path: each unit that the folder names is looked at in the log and in what is
// seen of it, apply-policy.c says what becomes of it, and it gets an aim if it is to be changed or started
// again.
//
// What is brought along (a timer's service) is a unit of the request like others, but the folder says less
// of it: it has the file of its template, or keeps the one that it has; it is loaded, if it is less than
// that; and if it belongs to others it stays theirs. Where neither the folder nor the cluster has a file for
// it nothing is made, as at a start.
//
// How units are is judged in each turn in which it is put into an entry. One that the job has started again
// already is not started once more, however it ended. Once a chunk of it is in the log, what somebody has
// changed since it was asked for stays as it is (changed-since.h), and so does what the job has brought
// there before and somebody has changed again.

#include "batch-content.h"
#include "apply-list.h"

#include <errno.h>
#include <stdlib.h>

#include "batch-builder.h"
#include "buf.h"
#include "changed-since.h"
#include "image-pinning.h"
#include "message.h"
#include "registry.h"
#include "str.h"
#include "tables.h"
#include "unit-name.h"

void apply_list_clear(ApplyList *list) {
        map_done(&list->aims.by_name);
        free(list->items);
        list->items = NULL;
        list->aims.n = list->from = list->n_listed = 0;
        list->counts = (ApplyCounts){};
        list->n_left = 0;
}

void apply_list_done(ApplyList *list) {
        apply_list_clear(list);
        map_done(&list->done);
        rollout_group_done(&list->rolls);
        message_free(list->job);
}

const ApplyItem *apply_list_item(const AimItem *item) {
        return CONTAINER_OF(item, const ApplyItem, to);
}

// Whether the plan was made anew since the job began: its author has seen what the job did, and what became
// of that.
static bool is_asked_anew(const ApplyList *list) {
        return list->job && list->pending->asked.revision > list->job->asked_revision;
}

static void leave_changed(const ApplyList *list, ApplyItem *item) {
        bool is_done = map_find_str(&list->done, item->to.name) && !is_asked_anew(list);

        item->looked = true;
        if (!item->to.aimed || list->pending->job == 0)
                return;
        item->changed = !is_done && changed_since(list->leader, list->pending, item->to.name);
        item->to.aimed = !is_done && !item->changed;
}

// ---------------------------------------------------------------------------------------------- which units

static int add_item(ApplyList *list, const char *name, const Argosy__Request__Apply__Unit *wanted) {
        ApplyItem *item = &list->items[list->aims.n];
        int r;

        *item = (ApplyItem){.to.name = name, .wanted = wanted};
        r = map_add_str(&list->aims.by_name, name, &item->to);
        list->aims.n += r == 0;
        list->n_listed = list->aims.n;
        return r;
}

static int add_named(ApplyList *list) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < list->m->n_units; i++)
                r = add_item(list, list->m->units[i]->name, list->m->units[i]);
        return r;
}

static int compare_names(const void *a, const void *b) {
        return strcmp(*(const char *const *) a, *(const char *const *) b);
}

// Those of the set that are not named.
static int add_members(ApplyList *list, const Map *members) {
        _cleanup_free_ const char **names = calloc(members->count + 1, sizeof(*names));
        size_t n = 0;
        int r = names ? 0 : -ENOMEM;

        map_foreach (slot, members) {
                const UnitEntry *u = slot->value;

                if (names && !map_find_str(&list->aims.by_name, u->record->name))
                        names[n++] = u->record->name;
        }
        if (n > 0)
                qsort(names, n, sizeof(*names), compare_names);
        for (size_t i = 0; r == 0 && i < n; i++)
                r = add_item(list, names[i], NULL);
        return r;
}

int apply_list_fill_all(ApplyList *list) {
        const Map *members = cluster_state_units_of_set(list->leader->state, list->m->set);
        int r;

        list->items = calloc(list->m->n_units + (members ? members->count : 0) + 1, sizeof(*list->items));
        r = list->items ? add_named(list) : -ENOMEM;
        return r == 0 && members ? add_members(list, members) : r;
}

// The first that was not.
static void list_next(ApplyList *list) {
        size_t at = list->from + list->n_listed, n_gone = list->m->n_gone;
        const Argosy__Request__Apply__Unit *wanted = at < n_gone ? NULL : list->m->units[at - n_gone];

        list->items[list->n_listed++] =
                (ApplyItem){.to.name = wanted ? wanted->name : list->m->gone[at], .wanted = wanted};
}

int apply_list_fill_rest(ApplyList *list, size_t from) {
        size_t n = list->m->n_units + list->m->n_gone;

        list->items = malloc((n - from + 1) * sizeof(*list->items));
        if (!list->items)
                return -ENOMEM;
        list->from = from;
        list->aims.n = n;
        return 0;
}

int apply_list_fill_asked(ApplyList *list) {
        int r = 0;

        list->items = calloc(list->m->n_units + list->m->n_gone + 1, sizeof(*list->items));
        if (!list->items)
                return -ENOMEM;
        for (size_t i = 0; r == 0 && i < list->m->n_gone; i++)
                r = add_item(list, list->m->gone[i], NULL);
        return r == 0 ? add_named(list) : r;
}

// -------------------------------------------------------------------------------------- what they are to be

// The cluster's record of the unit's template; NULL: it has none.
static const UnitEntry *find_template(const ApplyList *list, const char *name) {
        _cleanup_free_ char *template = NULL;

        if (unit_name_kind(name, NULL) != UNIT_NAME_INSTANCE)
                return NULL;
        template = unit_name_template(name);
        return template ? cluster_state_find_unit(list->leader->state, template) : NULL;
}

// A new one has the file that came for it, or that of its template, and one of the set that has it has it
// still.
static void want_brought(const ApplyList *list, ApplyItem *item, const UnitEntry *u) {
        bool ours = u && streq(u->record->set, list->m->set);
        const UnitEntry *t = u ? NULL : find_template(list, item->to.name);
        ApplyUnit *unit = &item->unit;
        bool has_file = item->wanted->spec.len > 0 && (!u || (ours && u->record->from_template));

        unit->brought = true;
        unit->from_template = u ? u->record->from_template : has_file ? item->wanted->from_template : true;
        unit->target = u ? MAX_OF(u->record->target, item->wanted->target) : item->wanted->target;
        if (has_file)
                (void) hash_from_bytes(item->wanted->spec.data, item->wanted->spec.len, &unit->spec);
        else if (u)
                unit->spec = u->spec->hash;
        else if (t)
                unit->spec = t->spec->hash;
        unit->named = u || (unit->target != ARGOSY__TARGET__TARGET_INACTIVE && (has_file || t));
}

static void want(const ApplyList *list, ApplyItem *item, const UnitEntry *u) {
        const Argosy__Request__Apply__Unit *wanted = item->wanted;

        if (wanted->brought) {
                want_brought(list, item, u);
                return;
        }
        item->unit.named = true;
        item->unit.from_template = wanted->from_template;
        item->unit.target = wanted->target;
        (void) hash_from_bytes(wanted->spec.data, wanted->spec.len, &item->unit.spec);
}

// A folder knows no digests of images: the content that it means has one.
static void pin(const ApplyList *list, ApplyItem *item, const UnitEntry *u) {
        item->source = item->unit.spec;
        if (item->unit.named && list->pending)
                item->unit.spec = image_pinning_content(list->pending, u ? u->spec : NULL, &item->source);
}

static void look(const ApplyList *list, ApplyItem *item) {
        const UnitEntry *u = cluster_state_find_unit(list->leader->state, item->to.name);

        item->entry = u;
        item->unit = (ApplyUnit){.now.set = ""};
        item->sight = (ApplySight){};
        if (item->wanted)
                want(list, item, u);
        pin(list, item, u);
        if (!u)
                return;
        item->unit.now.exists = true;
        item->unit.now.spec = u->spec->hash;
        item->unit.now.target = u->record->target;
        item->unit.now.set = u->record->set;
        if (!item->unit.named)
                return;
        item->sight = apply_look(list->leader, u);
        item->unit.now.seen = map_find_str(&list->done, item->to.name) ? APPLY_SEEN_WELL : item->sight.seen;
}

// ------------------------------------------------------------------------------------- what becomes of them

// What is only adopted goes on as it is.
static bool is_about_set_only(const ApplyUnit *u) {
        return u->now.exists && hash_equal(&u->now.spec, &u->spec) && u->now.target == u->target &&
               !apply_starts(u);
}

static Argosy__Verb verb_of(const ApplyUnit *u) {
        bool was_launched = u->now.exists && u->now.target == ARGOSY__TARGET__TARGET_LAUNCHED;

        if (is_about_set_only(u))
                return ARGOSY__VERB__VERB_NONE;
        switch (u->target) {
        case ARGOSY__TARGET__TARGET_LAUNCHED:
                return ARGOSY__VERB__VERB_START;
        case ARGOSY__TARGET__TARGET_LOADED:
                return was_launched ? ARGOSY__VERB__VERB_STOP : ARGOSY__VERB__VERB_LOAD;
        default:
                return u->now.exists && u->now.target != ARGOSY__TARGET__TARGET_INACTIVE
                               ? ARGOSY__VERB__VERB_UNLOAD
                               : ARGOSY__VERB__VERB_NONE;
        }
}

static void aim(const ApplyList *list, ApplyItem *item) {
        const Argosy__Request__Apply__Unit *wanted = item->wanted;
        const ApplyUnit *u = &item->unit;
        Argosy__Verb verb = verb_of(u);
        bool stays = u->brought && u->now.exists; // where it belongs
        Hash sent;

        item->to.aim = (ChangeAim){.from_template = u->from_template,
                                   .spec = cluster_state_find_spec(list->leader->state, &u->spec),
                                   .hash = u->spec,
                                   .set = stays ? NULL : list->m->set,
                                   .target = u->target};
        if (verb == ARGOSY__VERB__VERB_START)
                item->to.aim.bump = BATCH_BUMP_START;
        else if (verb == ARGOSY__VERB__VERB_STOP)
                item->to.aim.bump = BATCH_BUMP_STOP;
        item->to.verb = verb;
        if (!item->to.aim.spec && wanted->file > 0 &&
            hash_from_bytes(wanted->spec.data, wanted->spec.len, &sent) &&
            hash_equal(&sent, &item->source)) {
                item->to.aim.file = wanted->file;
                item->to.bytes = sent_file_bytes(list->m->files[wanted->file - 1]);
        }
        item->lost = !item->to.aim.spec && item->to.aim.file == 0;
        item->to.aimed = !item->lost;
}

static void judge(ApplyList *list, ApplyItem *item) {
        look(list, item);
        item->judged = true;
        item->verdict = apply_judge(&item->unit, &list->options);
        list->counts.named += item->unit.named;
        list->counts.of_set += item->unit.now.exists && streq(item->unit.now.set, list->m->set);
        list->counts.others += item->verdict == APPLY_OTHERS;
        list->counts.removed += item->verdict == APPLY_REMOVE;
        list->n_left += item->verdict == APPLY_LEAVE;
        if (item->verdict == APPLY_MAKE || item->verdict == APPLY_CHANGE || item->verdict == APPLY_START)
                aim(list, item);
        if (item->verdict == APPLY_REMOVE) {
                item->to.aimed = true;
                item->to.aim.remove = true;
                item->to.verb = ARGOSY__VERB__VERB_DESTROY;
        }
}

const AimItem *apply_list_at(const AimList *aims, size_t i) {
        ApplyList *list = (ApplyList *) CONTAINER_OF(aims, const ApplyList, aims);
        ApplyItem *item = &list->items[i - list->from];

        while (list->n_listed <= i - list->from)
                list_next(list);
        if (!item->judged)
                judge(list, item);
        if (!item->looked)
                leave_changed(list, item);
        return &item->to;
}

void apply_list_judge(ApplyList *list) {
        for (size_t i = 0; i < list->aims.n; i++)
                judge(list, &list->items[i]);
}

enum { PRINTED_BYTES = sizeof(uint64_t) }; // of the hash of a content: as much as the fingerprint has itself

static int add_to_print(const ApplyList *list, const ApplyItem *item, Buf *b) {
        const ApplyUnit *u = &item->unit;
        bool ours = u->now.exists && streq(u->now.set, list->m->set);
        uint8_t head[5 + 2 * PRINTED_BYTES] = {u->named, (uint8_t) u->target, u->now.exists,
                                               (uint8_t) u->now.target, ours};
        int r;

        memcpy(head + 5, item->source.bytes, PRINTED_BYTES);
        memcpy(head + 5 + PRINTED_BYTES, u->now.spec.bytes, PRINTED_BYTES);
        r = buf_append(b, head, sizeof(head));
        if (r == 0)
                r = buf_append(b, item->to.name, strlen(item->to.name) + 1);
        return r < 0 || ours ? r : buf_append(b, u->now.set, strlen(u->now.set) + 1);
}

int apply_list_fingerprint(const ApplyList *list, uint64_t *ret) {
        _cleanup_buf_ Buf b = {};
        int r = buf_printf(&b, "%s %d %d", list->m->set, list->options.prune, list->options.adopt);
        Hash hash;

        for (size_t i = 0; r >= 0 && i < list->aims.n; i++)
                r = add_to_print(list, &list->items[i], &b);
        if (r < 0)
                return r;
        hash = hash_of(b.data, b.len);
        *ret = 0;
        for (size_t i = 0; i < sizeof(*ret); i++)
                *ret |= (uint64_t) hash.bytes[i] << (8 * i);
        return 0;
}
