// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Apply: the units of a set are made what a folder says, as one job. What becomes of each is apply-policy.c's to say;
// decide-aims.c brings it there, part by part.
//
//      1. somebody asks what would be done. The answer has a fingerprint: a hash of what the folder says and of how all units
//         that it is about, and all of the set, are at that moment
//      2. he asks for it, with the fingerprint. If that is another one by now, nothing is done, and neither if the folder
//         wants what belongs to others, is empty, or would take most of the set away
//      3. units that are to go, then those that are named. A leader that goes on with what another one has begun looks at no
//         fingerprint: what is there already is as the folder says
//
// With `rolling` all is brought there by one rollout, if what differs is the file of one template, or of one unit, and nothing else;
// it gets the files of all units of a template, so a folder that does not name all of them is refused.
//
// What the cluster itself does (where units are, what became of them) is no part of the fingerprint.

#include "decide-apply.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "apply-policy.h"
#include "batch-builder.h"
#include "buf.h"
#include "decide-aims.h"
#include "decide-complete.h"
#include "decide-rolling.h"
#include "disruption-budget.h"
#include "message.h"
#include "registry.h"
#include "response.h"
#include "rollout-group.h"
#include "set-file.h"
#include "str.h"
#include "tables.h"
#include "unit-name.h"
#include "unit-state.h"

typedef struct ApplyItem {
        AimItem to;
        const Argosy__Request__Apply__Unit *wanted; // NULL: it is not named
        ApplyUnit unit;
        ApplyVerdict verdict;
        bool lost; // its content is not there, and did not come either
} ApplyItem;

typedef struct ApplyList {
        AimList aims;
        const Argosy__Request__Apply *m;
        ApplyOptions options;
        ApplyItem *items;
        ApplyCounts counts;
        size_t n_left;
        const Leader *leader;
        RolloutGroup rolls;     // what gets its files a few at a time
        Argosy__JobRecord *job; // of what is in the log already; NULL: nothing is
        Map done;               // names of its units
} ApplyList;

static void list_done(ApplyList *list) {
        map_done(&list->aims.by_name);
        map_done(&list->done);
        free(list->items);
        rollout_group_done(&list->rolls);
        message_free(list->job);
}

static const ApplyItem *apply_item(const AimItem *item) {
        return CONTAINER_OF(item, const ApplyItem, to);
}

static const AimItem *item_at(const AimList *list, size_t i) {
        return &CONTAINER_OF(list, const ApplyList, aims)->items[i].to;
}

// ------------------------------------------------------------------------------------------------ which units

static int add_item(ApplyList *list, const char *name, const Argosy__Request__Apply__Unit *wanted) {
        ApplyItem *item = &list->items[list->aims.n];
        int r;

        *item = (ApplyItem){.to.name = name, .wanted = wanted};
        r = map_add_str(&list->aims.by_name, name, &item->to);
        list->aims.n += r == 0;
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

// All that it is about: for the plan, and to see whether it is still that.
static int fill_all(ApplyList *list, const ClusterState *state) {
        const Map *members = cluster_state_units_of_set(state, list->m->set);
        int r;

        list->items = calloc(list->m->n_units + (members ? members->count : 0) + 1, sizeof(*list->items));
        r = list->items ? add_named(list) : -ENOMEM;
        return r == 0 && members ? add_members(list, members) : r;
}

// What the request says is to be done: the same units in the same order each time.
static int fill_asked(ApplyList *list) {
        int r = 0;

        list->items = calloc(list->m->n_units + list->m->n_gone + 1, sizeof(*list->items));
        if (!list->items)
                return -ENOMEM;
        for (size_t i = 0; r == 0 && i < list->m->n_gone; i++)
                r = add_item(list, list->m->gone[i], NULL);
        return r == 0 ? add_named(list) : r;
}

// ------------------------------------------------------------------------------------------------ what becomes of them

static void look(const ClusterState *state, ApplyItem *item) {
        const UnitEntry *u = cluster_state_find_unit(state, item->to.name);

        item->unit = (ApplyUnit){.named = item->wanted, .now.set = ""};
        if (item->wanted) {
                (void) hash_from_bytes(item->wanted->spec.data, item->wanted->spec.len, &item->unit.spec);
                item->unit.target = item->wanted->target;
        }
        if (!u)
                return;
        item->unit.now.exists = true;
        item->unit.now.spec = u->spec->hash;
        item->unit.now.target = u->record->target;
        item->unit.now.set = u->record->set;
}

// What is only adopted goes on as it is.
static bool is_about_set_only(const ApplyUnit *u) {
        return u->now.exists && hash_equal(&u->now.spec, &u->spec) && u->now.target == u->target;
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

static void aim(const ApplyList *list, const ClusterState *state, ApplyItem *item) {
        const Argosy__Request__Apply__Unit *wanted = item->wanted;
        Argosy__Verb verb = verb_of(&item->unit);

        item->to.aim = (ChangeAim){.from_template = wanted->from_template,
                                   .spec = cluster_state_find_spec(state, &item->unit.spec),
                                   .hash = item->unit.spec,
                                   .set = list->m->set,
                                   .target = wanted->target};
        if (verb == ARGOSY__VERB__VERB_START)
                item->to.aim.bump = BATCH_BUMP_START;
        else if (verb == ARGOSY__VERB__VERB_STOP)
                item->to.aim.bump = BATCH_BUMP_STOP;
        item->to.verb = verb;
        item->lost = !item->to.aim.spec && wanted->file == 0;
        if (!item->to.aim.spec && wanted->file > 0) {
                item->to.aim.file = wanted->file;
                item->to.bytes = list->m->files[wanted->file - 1]->content.len;
        }
        item->to.aimed = !item->lost;
}

static void judge(ApplyList *list, const ClusterState *state, ApplyItem *item) {
        look(state, item);
        item->verdict = apply_judge(&item->unit, &list->options);
        list->counts.named += item->wanted != NULL;
        list->counts.of_set += item->unit.now.exists && streq(item->unit.now.set, list->m->set);
        list->counts.others += item->verdict == APPLY_OTHERS;
        list->counts.removed += item->verdict == APPLY_REMOVE;
        list->n_left += item->verdict == APPLY_LEAVE;
        if (item->verdict == APPLY_MAKE || item->verdict == APPLY_CHANGE)
                aim(list, state, item);
        if (item->verdict == APPLY_REMOVE) {
                item->to.aimed = true;
                item->to.aim.remove = true;
                item->to.verb = ARGOSY__VERB__VERB_DESTROY;
        }
}

static void list_judge(ApplyList *list, const ClusterState *state) {
        for (size_t i = 0; i < list->aims.n; i++)
                judge(list, state, &list->items[i]);
}

static int add_to_print(const ApplyItem *item, Buf *b) {
        const ApplyUnit *u = &item->unit;
        uint8_t words[] = {u->named, (uint8_t) u->target, u->now.exists, (uint8_t) u->now.target};

        if (buf_append(b, item->to.name, strlen(item->to.name) + 1) < 0 ||
            buf_append(b, words, sizeof(words)) < 0 || buf_append(b, &u->spec, HASH_SIZE) < 0 ||
            buf_append(b, &u->now.spec, HASH_SIZE) < 0)
                return -ENOMEM;
        return buf_append(b, u->now.set, strlen(u->now.set) + 1);
}

static int fingerprint(const ApplyList *list, uint64_t *ret) {
        _cleanup_buf_ Buf b = {};
        int r = buf_printf(&b, "%s %d %d", list->m->set, list->options.prune, list->options.adopt);
        Hash hash;

        for (size_t i = 0; r >= 0 && i < list->aims.n; i++)
                r = add_to_print(&list->items[i], &b);
        if (r < 0)
                return r;
        hash = hash_of(b.data, b.len);
        *ret = 0;
        for (size_t i = 0; i < sizeof(*ret); i++)
                *ret |= (uint64_t) hash.bytes[i] << (8 * i);
        return 0;
}

// ------------------------------------------------------------------------------------------------ a few at a time

// Also of what the cluster still has to be sent.
static bool is_due(const ApplyItem *item) {
        return item->to.aimed || item->lost;
}

static bool is_about_content_only(const ApplyList *list, const ApplyItem *item) {
        const ApplyUnit *u = &item->unit;

        return item->verdict == APPLY_CHANGE && u->now.target == u->target &&
               streq(u->now.set, list->m->set);
}

static int add_to_rollout(ApplyList *list, const ApplyItem *item, const char **ret_why) {
        const UnitEntry *u = cluster_state_find_unit(list->leader->state, item->to.name);

        if (!is_about_content_only(list, item)) {
                *ret_why = "is new, goes, or is to be something else, too";
                return -EINVAL;
        }
        return rollout_group_add(&list->rolls, item->to.name,
                                 u->record->from_template && item->wanted->from_template, &item->unit.spec,
                                 ret_why);
}

// An update gives the file to all that is made from a template, and a folder is about what it names only. NULL: nobody.
static const char *find_bystander(const ApplyList *list) {
        const DisruptionBudget *g = disruption_budget_find(list->leader, list->rolls.name);

        if (!g || unit_name_kind(list->rolls.name, NULL) != UNIT_NAME_TEMPLATE)
                return NULL;
        list_foreach (i, &g->units) {
                const UnitEntry *u =
                        cluster_state_find_unit(list->leader->state, CONTAINER_OF(i, Unit, of_budget)->name);
                const AimItem *named = u ? map_find_str(&list->aims.by_name, u->record->name) : NULL;

                if (u && u->record->from_template && !hash_equal(&u->spec->hash, &list->rolls.spec) &&
                    !(named && is_due(apply_item(named))))
                        return u->record->name;
        }
        return NULL;
}

// What is to be done is what one rollout does. 0; -EINVAL: it is not, of *ret_unit because of *ret_why; -ENOMEM.
static int find_rollout(ApplyList *list, const char **ret_unit, const char **ret_why) {
        int r = 0;

        rollout_group_done(&list->rolls);
        for (size_t i = 0; r == 0 && i < list->aims.n; i++) {
                const ApplyItem *item = &list->items[i];

                *ret_unit = item->to.name;
                if (is_due(item))
                        r = add_to_rollout(list, item, ret_why);
        }
        if (r < 0 || !list->rolls.name)
                return r;
        *ret_unit = find_bystander(list);
        *ret_why = "is an instance that the folder does not name, and would get the file, too";
        return *ret_unit ? -EINVAL : 0;
}

static int phrase_rolling(ApplyList *list, Buf *b) {
        const char *unit = "", *why = "";
        int r = find_rollout(list, &unit, &why);

        return r != -EINVAL
                       ? r
                       : buf_printf(
                                 b,
                                 "the set %s cannot be changed a few units at a time, as an update of one "
                                 "template: %s %s",
                                 list->m->set, unit, why);
}

// Of what came along, or of what the cluster has. False: neither.
static bool find_content(const ApplyList *list, ProtobufCBinaryData *ret) {
        const SpecEntry *spec = cluster_state_find_spec(list->leader->state, &list->rolls.spec);

        if (spec)
                *ret = (ProtobufCBinaryData){spec->len, spec->content};
        for (size_t i = 0; !spec && i < list->aims.n; i++) {
                const ApplyItem *item = &list->items[i];

                if (!item->to.aimed || !item->wanted || item->wanted->file == 0)
                        continue;
                *ret = list->m->files[item->wanted->file - 1]->content;
                return true;
        }
        return spec;
}

// ------------------------------------------------------------------------------------------------ refusing

static int settle(Ticket *t, Argosy__Response *response) {
        ticket_settle(t, response);
        return PLAN_SETTLED;
}

static int phrase_others(const ApplyList *list, Buf *b) {
        const ApplyItem *first = NULL;
        int r;

        for (size_t i = 0; !first && i < list->aims.n; i++)
                if (list->items[i].verdict == APPLY_OTHERS)
                        first = &list->items[i];
        r = *first->unit.now.set
                    ? buf_printf(b, "%s belongs to the set %s", first->to.name, first->unit.now.set)
                    : buf_printf(b, "%s is there and belongs to no set", first->to.name);
        if (r == 0 && list->counts.others > 1)
                r = buf_printf(b, ", and %zu more units are not of %s either", list->counts.others - 1,
                               list->m->set);
        return r < 0 ? r : buf_printf(b, "; --adopt takes over what is there");
}

static int phrase_policy(const ApplyList *list, Buf *b) {
        switch (apply_refusal(&list->counts, &list->options)) {
        case APPLY_IS_EMPTY:
                return buf_printf(b, "there are no units in the folder; --force overrules that");
        case APPLY_PRUNES_MOST:
                return buf_printf(b,
                                  "%zu of the %zu units of the set %s would be destroyed, and that is more "
                                  "than half; --force overrules that",
                                  list->counts.removed, list->counts.of_set, list->m->set);
        case APPLY_TAKES_OTHERS:
                return phrase_others(list, b);
        default:
                return 0;
        }
}

// Why it is not done: nothing is appended if it may be.
static int phrase_refusal(ApplyList *list, Buf *b) {
        int r = phrase_policy(list, b);

        return r < 0 || b->len > 0 || !list->m->rolling ? r : phrase_rolling(list, b);
}

// Since the plan was made. The cluster's own moves give units new revisions, too: it is only a hint.
static Argosy__Response *refuse_stale(const ApplyList *list, const ClusterState *state) {
        for (size_t i = 0; i < list->aims.n; i++) {
                const UnitEntry *u = cluster_state_find_unit(state, list->items[i].to.name);

                if (u && u->record->revision > list->m->revision)
                        return response_error(ESTALE,
                                              "%s has changed since the plan was made, at revision %" PRIu64
                                              ": nothing was changed",
                                              u->record->name, list->m->revision);
        }
        return response_error(
                ESTALE,
                "units of the set %s have come or gone since the plan was made, at revision %" PRIu64
                ": nothing was changed",
                list->m->set, list->m->revision);
}

// ------------------------------------------------------------------------------------------------ the plan

static int set_hex(const Hash *hash, char **ret) {
        char hex[2 * HASH_SIZE + 1];

        hash_hex(hash, HASH_SIZE, hex);
        return field_set(ret, hex);
}

static int fill_row(const ApplyList *list, const ApplyItem *item, Argosy__Response__ApplyRow *row) {
        const ApplyUnit *u = &item->unit;
        int r = field_set(&row->unit, item->to.name);

        row->made = !u->now.exists;
        row->removed = item->verdict == APPLY_REMOVE;
        row->adopted = u->now.exists && !streq(u->now.set, list->m->set);
        row->need = item->lost || item->to.aim.file > 0;
        if (r == 0 && u->now.exists)
                r = set_hex(&u->now.spec, &row->rev) ?: field_set(&row->desired, target_to_string(u->now.target)) ?:
                    field_set(&row->set, u->now.set);
        if (r == 0 && u->named)
                r = set_hex(&u->spec, &row->rev_after)
                            ?: field_set(&row->desired_after, target_to_string(u->target));
        return r;
}

static int add_row(const ApplyList *list, const ApplyItem *item, Argosy__Response__ApplyPlan *plan) {
        Argosy__Response__ApplyRow *row;

        if (item->verdict == APPLY_LEAVE)
                return 0;
        if (item->verdict == APPLY_SAME) {
                plan->same += item->unit.named;
                return 0;
        }
        row = malloc(sizeof(*row));
        if (!row)
                return -ENOMEM;
        argosy__response__apply_row__init(row);
        if (FIELD_APPEND(plan->rows, plan->n_rows, row) < 0)
                return -ENOMEM;
        return fill_row(list, item, row);
}

// NULL: out of memory.
static Argosy__Response *tell_plan(ApplyList *list, const ClusterState *state) {
        _cleanup_response_ Argosy__Response *response = response_new(ARGOSY__RESPONSE__WHAT_APPLY_PLAN);
        Argosy__Response__ApplyPlan *plan = response ? response->apply_plan : NULL;
        _cleanup_buf_ Buf refusal = {};

        for (size_t i = 0; plan && i < list->aims.n; i++)
                if (add_row(list, &list->items[i], plan) < 0)
                        return NULL;
        if (!plan || phrase_refusal(list, &refusal) < 0 || fingerprint(list, &plan->plan) < 0 ||
            field_printf(&plan->refusal, "%.*s", (int) refusal.len, (const char *) refusal.data) < 0)
                return NULL;
        plan->left = (uint32_t) list->n_left;
        plan->revision = cluster_state_revision(state);
        return TAKE_PTR(response);
}

// ------------------------------------------------------------------------------------------------ what was done

// Of one that an earlier entry has brought there: what it is now is what it was to come to.
static Argosy__Verb verb_of_done(const ApplyUnit *u) {
        if (!u->now.exists)
                return ARGOSY__VERB__VERB_DESTROY;
        return u->now.target == ARGOSY__TARGET__TARGET_LAUNCHED ? ARGOSY__VERB__VERB_START
               : u->now.target == ARGOSY__TARGET__TARGET_LOADED ? ARGOSY__VERB__VERB_LOAD
                                                                : ARGOSY__VERB__VERB_NONE;
}

static int on_describe(const Leader *l, const Ticket *t, const AimList *aims, const AimItem *aim_item,
                       Argosy__Response__UnitResult *ret) {
        const ApplyList *list = CONTAINER_OF(aims, const ApplyList, aims);
        const ApplyItem *item = apply_item(aim_item);
        int r;

        if (item->lost) {
                ret->status = ENODATA;
                r = field_set(&ret->message,
                              "the cluster does not have its content any more; apply the folder again");
                return r < 0 ? r : AIM_SAID;
        }
        if (item->verdict == APPLY_OTHERS) {
                ret->status = EEXIST;
                r = field_printf(&ret->message, "it belongs to %s%s by now",
                                 *item->unit.now.set ? "the set " : "no set", item->unit.now.set);
                return r < 0 ? r : AIM_SAID;
        }
        if (!map_find_str(&list->done, item->to.name))
                return 0;
        if (item->verdict == APPLY_SAME)
                ret->verb = verb_of_done(&item->unit);
        else if (field_set(&ret->message, "it was changed, and somebody has changed it again since") < 0)
                return -ENOMEM;
        return AIM_SAID;
}

static int read_job(ApplyList *list, const ClusterState *state, uint64_t number) {
        int r = cluster_state_read_job(state, number, &list->job);

        if (r < 0) // it may be forgotten: then nothing is waited for
                return r == -ENOENT ? 0 : r;
        for (size_t g = 0; g < list->job->n_units; g++)
                for (size_t i = 0; i < list->job->units[g]->n_names; i++) {
                        char *name = list->job->units[g]->names[i];

                        if (map_add_str(&list->done, name, name) == -ENOMEM)
                                return -ENOMEM;
                }
        return 0;
}

// ------------------------------------------------------------------------------------------------ the request

static Argosy__Response *refuse_unit(const Argosy__Request__Apply *m,
                                     const Argosy__Request__Apply__Unit *u) {
        if (u->spec.len != HASH_SIZE || u->file > m->n_files || u->target > ARGOSY__TARGET__TARGET_LAUNCHED)
                return response_error(EINVAL, "the request does not say what a unit is to be");
        if (u->file > 0 && m->files[u->file - 1]->content.len > UNIT_FILE_MAX)
                return response_error(E2BIG, "a unit file of more than %d KiB is not applied",
                                      UNIT_FILE_MAX / 1024);
        return NULL;
}

Argosy__Response *decide_apply_refuse(const Argosy__Request *request) {
        const Argosy__Request__Apply *m = request->apply;
        size_t n = m->n_units + m->n_gone;
        Argosy__Response *refused = NULL;

        if (!set_name_is_valid(m->set))
                return response_error(EINVAL, "the set has no name that a set can have");
        if (n > SET_FILE_UNITS_MAX)
                return response_error(E2BIG,
                                      "the folder is about %zu units, more than the %d that a set may have",
                                      n, SET_FILE_UNITS_MAX);
        for (size_t i = 0; !refused && i < m->n_units; i++)
                refused = refuse_unit(m, m->units[i]);
        return refused;
}

static int settle_twice(Ticket *t) {
        return settle(t, response_error(EINVAL, "the request names a unit twice"));
}

// STEP_PASSED: it may be done.
static int check_plan(ApplyList *list, const ClusterState *state, Ticket *t) {
        _cleanup_buf_ Buf why = {};
        uint64_t plan = 0;
        int r = fingerprint(list, &plan);

        if (r < 0)
                return r;
        if (plan != list->m->plan)
                return settle(t, refuse_stale(list, state));
        r = phrase_refusal(list, &why);
        if (r < 0 || why.len == 0)
                return r < 0 ? r : STEP_PASSED;
        return settle(t, response_error(EEXIST, "%.*s; nothing was changed", (int) why.len,
                                        (const char *) why.data));
}

// As it is now. STEP_PASSED: it is still what was asked about, and may be done.
static int compare(Decision *d, Ticket *t) {
        _cleanup_(list_done) ApplyList list = {.m = t->request->apply, .leader = d->leader};
        const ClusterState *state = d->leader->state;
        int r;

        list.options = (ApplyOptions){list.m->set, list.m->prune, list.m->force, list.m->adopt};
        r = fill_all(&list, state);
        if (r < 0)
                return r == -EEXIST ? settle_twice(t) : r;
        list_judge(&list, state);
        return list.m->dry_run ? settle(t, tell_plan(&list, state)) : check_plan(&list, state, t);
}

// All of it is in the log; what has become of it since is nobody's wish to undo.
static int tell_done(Decision *d, Ticket *t, ApplyList *list) {
        _cleanup_response_ Argosy__Response *response = response_new(ARGOSY__RESPONSE__WHAT_CHANGE);
        int r = response ? 0 : -ENOMEM;

        for (size_t i = 0; i < list->aims.n; i++)
                list->items[i].to.aimed = false;
        r = r < 0 ? r : decide_aims_describe(d->leader, t, &list->aims, response);
        if (r < 0)
                return r;
        decide_complete(d->leader, t, response);
        return settle(t, TAKE_PTR(response));
}

// By one entry, which begins a rollout that does all of it. One that was begun is never begun again.
static int decide_rolling(Decision *d, Ticket *t, ApplyList *list) {
        Argosy__Request__Rollout m = ARGOSY__REQUEST__ROLLOUT__INIT;
        Argosy__NamedFile file = ARGOSY__NAMED_FILE__INIT;
        const char *unit, *why;
        int r;

        if (t->job > 0)
                return settle(t, decide_rolling_response(d->leader, t));
        r = find_rollout(list, &unit, &why);
        if (r == -EINVAL)
                return settle(t, response_error(EINVAL, "%s %s: nothing was changed", unit, why));
        if (r < 0 || !list->rolls.name)
                return r < 0 ? r : settle(t, response_new(ARGOSY__RESPONSE__WHAT_CHANGE));
        if (!find_content(list, &file.content))
                return settle(
                        t,
                        response_error(
                                ENODATA,
                                "the cluster does not have the file of %s any more; apply the folder again",
                                list->rolls.name));
        file.name = list->rolls.name;
        m.name = list->rolls.name;
        m.file = &file;
        m.max_unavailable = list->m->max_unavailable;
        m.percent = list->m->percent;
        m.health_us = list->m->health_us;
        return decide_rolling_begin(d, t, &m);
}

int decide_apply(Decision *d, Ticket *t) {
        const ClusterState *state = d->leader->state;
        _cleanup_(list_done) ApplyList list = {.m = t->request->apply,
                                               .leader = d->leader,
                                               .aims = {.item = item_at, .describe = on_describe}};
        int r = STEP_PASSED;

        list.options = (ApplyOptions){list.m->set, true, list.m->force, list.m->adopt};
        if (!t->log_parts && t->job == 0)
                r = compare(d, t);
        if (r == STEP_PASSED)
                r = fill_asked(&list);
        else
                return r;
        if (r == 0 && t->job > 0)
                r = read_job(&list, state, t->job);
        if (r < 0)
                return r == -EEXIST ? settle_twice(t) : r;
        list.aims.files = list.m->files;
        list.aims.n_files = list.m->n_files;
        list_judge(&list, state);
        if (list.m->rolling)
                return decide_rolling(d, t, &list);
        return decide_aims_are_over(d->leader, t) ? tell_done(d, t, &list) : decide_aims(d, t, &list.aims);
}
