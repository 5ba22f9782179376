// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Apply: the units of a set are made what a folder says, as one job. What becomes of each is
// apply-policy.c's to say; decide-aims.c brings it there, chunk by chunk.
//
//      1. somebody asks what would be done. The answer has a fingerprint: a hash of what the folder says and
//      of how all units
//         that it is about, and all of the set, are at that moment
//      2. the client asks for it, with the fingerprint. If that is another one by now, nothing is done, and
//         neither if the folder wants what belongs to others, is empty, or would take most of the set away
//      3. units that are to go, then those that are named; also one that the log has as it is to be, and
//      that has failed or was
//         stopped on its node (apply-seen.h), is started again. How units are is judged in the turn in which
//         that is decided:
//         what has failed since the plan is started, too. As long as nothing is in the log the fingerprint
//         is compared in
//         each turn
//      4. of more than one entry: what somebody has changed since the first one is left, named, and fails
//      the job; so it is
//         under the next leader, too, but for one that asks with the fingerprint of how all is by then
//
// With `rolling` all is brought there by one rollout, if what differs is the file of one template, or of one
// unit, and nothing else; it gets the files of all units of a template, so a folder that does not name all
// of them is refused. What is only to be started again is started with that.
//
// What the cluster itself does (where units are, what became of them) is no part of the fingerprint.

#include "decide-apply.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "apply-list.h"
#include "apply-networks.h"
#include "array.h"
#include "batch-builder.h"
#include "buf.h"
#include "changed-since.h"
#include "decide-aims.h"
#include "decide-complete.h"
#include "decide-rolling.h"
#include "disruption-budget.h"
#include "group-contents.h"
#include "log-chunks.h"
#include "message.h"
#include "registry.h"
#include "response.h"
#include "set-file.h"
#include "str.h"
#include "tables.h"
#include "turn.h"
#include "unit-name.h"
#include "unit-state.h"
#include "why.h"

enum {
        REASONS_MAX = 256,       // units of a plan of which it is said why they are as they are
        NAMED_BYSTANDERS = 2048, // instances that are looked at for one to be named
};

// ------------------------------------------------------------------------------------------ a few at a time

// What is only started again needs no rollout.
static bool is_started_again(const AimItem *item) {
        return item->aimed && apply_list_item(item)->verdict == APPLY_START;
}

// Whether something is to be done about the item, also if its content has still to be sent.
static bool is_due(const ApplyItem *item) {
        return item->to.aimed || item->lost;
}

static bool is_about_content_only(const ApplyList *list, const ApplyItem *item) {
        const ApplyUnit *u = &item->unit;

        return item->verdict == APPLY_CHANGE && u->now.target == u->target &&
               streq(u->now.set, list->m->set);
}

static int add_to_rollout(ApplyList *list, const ApplyItem *item, const char **ret_why) {
        const UnitEntry *u = item->entry;

        if (!is_about_content_only(list, item)) {
                *ret_why = "is new, goes, or is to be something else, too";
                return -EINVAL;
        }
        return rollout_group_add(&list->rolls, item->to.name,
                                 u->record->from_template && item->wanted->from_template, u->record->global,
                                 &item->unit.spec, ret_why);
}

// Those of the group that get the file, and that the folder names as about to get it.
static size_t count_named(const ApplyList *list, const DisruptionBudget *g) {
        size_t n = 0;

        for (size_t i = 0; i < list->aims.n; i++) {
                const ApplyItem *item = &list->items[i];

                n += item->entry && item->entry->record->from_template && is_due(item) &&
                     item->sight.group == g && !hash_equal(&item->entry->spec->hash, &list->rolls.spec);
        }
        return n;
}

// The first that is found; or the template, whose instances are too many to look at each.
static const char *name_bystander(const ApplyList *list, const DisruptionBudget *g) {
        unsigned n = 0;

        list_foreach (i, &g->units) {
                const UnitEntry *u =
                        cluster_state_find_unit(list->leader->state, CONTAINER_OF(i, Unit, of_budget)->name);
                const AimItem *named = u ? map_find_str(&list->aims.by_name, u->record->name) : NULL;

                if (u && u->record->from_template && !hash_equal(&u->spec->hash, &list->rolls.spec) &&
                    !(named && is_due(apply_list_item(named))))
                        return u->record->name;
                if (++n == NAMED_BYSTANDERS)
                        break;
        }
        return list->rolls.name;
}

// An update gives the file to all that is made from a template, and a folder is about what it names only.
// NULL: nobody.
static const char *find_bystander(const ApplyList *list) {
        const DisruptionBudget *g = disruption_budget_find(list->leader, list->rolls.name);

        if (!g || unit_name_kind(list->rolls.name, NULL) != UNIT_NAME_TEMPLATE)
                return NULL;
        return group_contents_count_others(g, &list->rolls.spec) > count_named(list, g)
                       ? name_bystander(list, g)
                       : NULL;
}

// The first of those that are started again beside the rollout for which its entry has no room. NULL: it has
// room for all.
static const char *find_left_out(const ApplyList *list) {
        size_t n = 0;

        for (size_t i = 0; i < list->aims.n; i++) {
                n += is_started_again(&list->items[i].to);
                if (n > list->leader->limits.apply_chunk_units)
                        return list->items[i].to.name;
        }
        return NULL;
}

// What is to be done is what one rollout does. 0; -EINVAL: it is not, of *ret_unit because of *ret_why;
// -ENOMEM.
static int find_rollout(ApplyList *list, const char **ret_unit, const char **ret_why) {
        int r = 0;

        rollout_group_done(&list->rolls);
        for (size_t i = 0; r == 0 && i < list->aims.n; i++) {
                const ApplyItem *item = &list->items[i];

                *ret_unit = item->to.name;
                if (is_due(item) && !is_started_again(&item->to))
                        r = add_to_rollout(list, item, ret_why);
        }
        if (r < 0 || !list->rolls.name)
                return r;
        *ret_unit = find_left_out(list);
        *ret_why = "is not up, and neither are more than can be started again beside an update";
        if (*ret_unit)
                return -EINVAL;
        *ret_unit = find_bystander(list);
        *ret_why = *ret_unit == list->rolls.name
                           ? "has instances that the folder does not name, and that would get the file, too"
                           : "is an instance that the folder does not name, and would get the file, too";
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

// The content that came along, or that the cluster has. False: neither.
static bool find_content(const ApplyList *list, Argosy__NamedFile *ret) {
        const SpecEntry *spec = cluster_state_find_spec(list->leader->state, &list->rolls.spec);

        if (spec)
                ret->content = (ProtobufCBinaryData){spec->len, spec->content};
        for (size_t i = 0; !spec && i < list->aims.n; i++) {
                const ApplyItem *item = &list->items[i];

                if (!item->wanted || item->wanted->file == 0 ||
                    !hash_equal(&item->unit.spec, &list->rolls.spec))
                        continue;
                *ret = *list->m->files[item->wanted->file - 1];
                return true;
        }
        return spec;
}

// ------------------------------------------------------------------------------------------------ refusing

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

        if (r < 0 || b->len > 0)
                return r;
        return list->m->rolling ? phrase_rolling(list, b) : apply_networks_refuse(list, b);
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

// Fills in why nodes refuse the unit, for the first units only, as it may look at each node.
static int fill_why(const ApplyList *list, const ApplyItem *item, Argosy__Response__ApplyRow *row) {
        const UnitEntry *e = cluster_state_find_unit(list->leader->state, item->to.name);
        _cleanup_free_ char *why = NULL;
        int r = why_phrase(list->leader, e, item->sight.node, &why);

        return r < 0 ? r : field_set(&row->why, why);
}

static int fill_state(const ApplyList *list, const ApplyItem *item, size_t n_rows,
                      Argosy__Response__ApplyRow *row) {
        int r = field_set(&row->state, apply_seen_word(item->sight.seen));

        row->starts = item->to.aimed && apply_starts(&item->unit);
        row->wrong = apply_seen_is_wrong(item->sight.seen);
        if (r == 0 && item->sight.node)
                r = field_set(&row->node, item->sight.node->name);
        return r < 0 || n_rows > REASONS_MAX ? r : fill_why(list, item, row);
}

static int fill_row(const ApplyList *list, const ApplyItem *item, Argosy__Response__ApplyRow *row) {
        const ApplyUnit *u = &item->unit;
        int r = field_set(&row->unit, item->to.name);

        row->made = !u->now.exists;
        row->removed = item->verdict == APPLY_REMOVE;
        row->adopted = u->now.exists && !streq(u->now.set, list->m->set) && !u->brought;
        row->need = item->lost || item->to.aim.file > 0;
        if (r == 0 && u->now.exists)
                r = set_hex(&u->now.spec, &row->rev)
                            ?: field_set(&row->desired, target_to_string(u->now.target))
                            ?: field_set(&row->set, u->now.set);
        if (r == 0 && u->named)
                r = set_hex(&u->spec, &row->rev_after)
                            ?: field_set(&row->desired_after, target_to_string(u->target));
        return r;
}

static int add_row(const ApplyList *list, const ApplyItem *item, Argosy__Response__ApplyPlan *plan,
                   size_t *allocated) {
        Argosy__Response__ApplyRow *row;
        int r;

        if (item->verdict == APPLY_LEAVE)
                return 0;
        plan->same += item->unit.named && (item->verdict == APPLY_SAME || item->verdict == APPLY_START);
        if (item->verdict == APPLY_SAME && item->sight.seen == APPLY_SEEN_WELL)
                return 0;
        row = ARRAY_GROW(plan->rows, *allocated, plan->n_rows + 1) < 0 ? NULL : malloc(sizeof(*row));
        if (!row)
                return -ENOMEM;
        argosy__response__apply_row__init(row);
        plan->rows[plan->n_rows++] = row;
        r = fill_row(list, item, row);
        return r == 0 && item->sight.seen != APPLY_SEEN_WELL ? fill_state(list, item, plan->n_rows, row) : r;
}

// NULL: out of memory.
static Argosy__Response *tell_plan(ApplyList *list, const ClusterState *state) {
        _cleanup_response_ Argosy__Response *response = response_new(ARGOSY__RESPONSE__WHAT_APPLY_PLAN);
        Argosy__Response__ApplyPlan *plan = response ? response->apply_plan : NULL;
        _cleanup_buf_ Buf refusal = {};
        size_t allocated = 0;

        for (size_t i = 0; plan && i < list->aims.n; i++)
                if (add_row(list, &list->items[i], plan, &allocated) < 0)
                        return NULL;
        if (!plan || apply_networks_tell(list, plan) < 0 || phrase_refusal(list, &refusal) < 0 ||
            apply_list_fingerprint(list, &plan->plan) < 0 ||
            field_printf(&plan->refusal, "%.*s", (int) refusal.len, (const char *) refusal.data) < 0)
                return NULL;
        plan->left = (uint32_t) list->n_left;
        plan->named = (uint32_t) list->counts.named;
        plan->revision = cluster_state_revision(state);
        return TAKE_PTR(response);
}

// -------------------------------------------------------------------------------------------- what was done

// The verb for a unit that an earlier entry has changed: its present state is the wanted one.
static Argosy__Verb verb_of_done(const ApplyUnit *u) {
        if (!u->now.exists)
                return ARGOSY__VERB__VERB_DESTROY;
        return u->now.target == ARGOSY__TARGET__TARGET_LAUNCHED ? ARGOSY__VERB__VERB_START
               : u->now.target == ARGOSY__TARGET__TARGET_LOADED ? ARGOSY__VERB__VERB_LOAD
                                                                : ARGOSY__VERB__VERB_NONE;
}

static int on_describe(const Leader *l, const PendingRequest *t, const AimList *aims,
                       const AimItem *aim_item, Argosy__Response__UnitResult *ret) {
        const ApplyList *list = CONTAINER_OF(aims, const ApplyList, aims);
        const ApplyItem *item = apply_list_item(aim_item);
        int r;

        if (item->lost) {
                ret->status = ENODATA; // log_chunk_is_left()
                r = field_set(&ret->message,
                              "the cluster does not have its content any more; apply the folder again");
                return r < 0 ? r : AIM_SAID;
        }
        if (item->verdict == APPLY_OTHERS) {
                ret->status = ESTALE; // log_chunk_is_left(): else all of it was refused
                r = field_printf(&ret->message, "it belongs to %s%s by now",
                                 *item->unit.now.set ? "the set " : "no set", item->unit.now.set);
                return r < 0 ? r : AIM_SAID;
        }
        if (item->changed) {
                ChangedPhrase phrase;

                changed_since_phrase(l->state, changed_since_by(l, list->pending, item->to.name), phrase);
                ret->status = ESTALE; // log_chunk_is_left()
                r = field_printf(&ret->message, "it %s, and stays as it is", phrase);
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

// All that is in the log this pending request has put there, so it is about nothing that is to come: neither
// an earlier leader has, nor the same request that came again.
static bool is_of_request_alone(const Argosy__JobRecord *job, const PendingRequest *t) {
        size_t n = 0;

        for (size_t g = 0; g < job->n_units; g++)
                n += job->units[g]->n_names;
        return log_chunk_of(t) && !log_chunk_of(t)->resumed && n == t->n_kept;
}

static int read_job(ApplyList *list, const ClusterState *state, const PendingRequest *t) {
        int r = cluster_state_read_job(state, t->job, &list->job);

        if (r < 0) // it may be forgotten: then nothing is waited for
                return r == -ENOENT ? 0 : r;
        if (is_of_request_alone(list->job, t))
                return 0;
        for (size_t g = 0; g < list->job->n_units; g++)
                for (size_t i = 0; i < list->job->units[g]->n_names; i++) {
                        char *name = list->job->units[g]->names[i];

                        if (map_add_str(&list->done, name, name) == -ENOMEM)
                                return -ENOMEM;
                }
        return 0;
}

// ---------------------------------------------------------------------------------------------- the request

static Argosy__Response *refuse_unit(const Argosy__Request__Apply *m,
                                     const Argosy__Request__Apply__Unit *u) {
        bool has_spec = u->spec.len == HASH_SIZE || (u->brought && u->spec.len == 0 && u->file == 0);

        if (!has_spec || u->file > m->n_files || u->target > ARGOSY__TARGET__TARGET_LAUNCHED)
                return response_error(EINVAL, "the request does not say what a unit is to be");
        if (u->from_template && unit_name_kind(u->name, NULL) != UNIT_NAME_INSTANCE)
                return response_error(
                        EINVAL,
                        "the request gives a unit the file of a template, of which it is no instance");
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

static int settle_twice(PendingRequest *t) {
        return request_refuse(t, EINVAL, "the request names a unit twice");
}

// STEP_PASSED: it may be done.
static int check_plan(ApplyList *list, const ClusterState *state, PendingRequest *t) {
        _cleanup_buf_ Buf why = {};
        uint64_t plan = 0;
        int r = apply_list_fingerprint(list, &plan);

        if (r < 0)
                return r;
        if (plan != list->m->plan)
                return request_settle(t, refuse_stale(list, state));
        r = phrase_refusal(list, &why);
        if (r < 0 || why.len == 0)
                return r < 0 ? r : STEP_PASSED;
        return request_refuse(t, EEXIST, "%.*s; nothing was changed", (int) why.len,
                              (const char *) why.data);
}

// A leader goes on with what an earlier one has begun: whether somebody has planned it anew since.
static int renew(Decision *d, PendingRequest *t) {
        _cleanup_(apply_list_done)
                ApplyList list = {.m = t->request->apply, .leader = d->leader, .pending = t};
        uint64_t plan = 0;
        int r;

        list.options = (ApplyOptions){list.m->set, list.m->prune, list.m->force, list.m->adopt};
        r = apply_list_fill_all(&list);
        if (r < 0)
                return r == -EEXIST ? settle_twice(t) : r;
        apply_list_judge(&list);
        r = apply_list_fingerprint(&list, &plan);
        if (r == 0 && plan == list.m->plan)
                changed_since_renew(d->leader, t);
        return r < 0 ? r : STEP_PASSED;
}

// Against what it is asked, as long as nothing of it is in the log: how all is in this turn. STEP_PASSED.
static int begin(Decision *d, PendingRequest *t) {
        bool is_first = t->asked.revision == 0;
        int r = changed_since_begin(d->leader, t);

        if (r < 0)
                return r;
        if (t->job > 0)
                return is_first && request_has_open_job(t) ? renew(d, t) : STEP_PASSED;
        changed_since_renew(d->leader, t);
        return STEP_PASSED;
}

// To say what is made here takes as long as to make it: the next turn does that, and nothing else is decided
// in this one.
static int make_plan(ApplyList *list, const ClusterState *state, PendingRequest *t) {
        if (request_prepare(t, tell_plan(list, state)) < 0)
                return -ENOMEM;
        leader_mark(list->leader);
        return -EBUSY;
}

// As it is now. STEP_PASSED: it is still what was asked about, and may be done.
static int compare(ApplyList *list, const ClusterState *state, PendingRequest *t) {
        int r;

        list->options.prune = list->m->prune;
        r = apply_list_fill_all(list);
        if (r < 0)
                return r == -EEXIST ? settle_twice(t) : r;
        apply_list_judge(list);
        return list->m->preview ? make_plan(list, state, t) : check_plan(list, state, t);
}

// Whether the answer is about all units; else about those of the next entry.
static bool is_about_all(const PendingRequest *t) {
        return t->job == 0 || !log_chunk_of(t) || request_was_carried_out(t);
}

// What the request names: the set may have had others when it was compared. If it had not, the list is that
// one, and is judged.
static int fill_asked(ApplyList *list, const ClusterState *state, const PendingRequest *t) {
        int r;

        if (list->items && list->m->n_gone == 0 && list->aims.n == list->m->n_units)
                return 0;
        apply_list_clear(list);
        list->options.prune = true; // what is to go is named
        r = is_about_all(t) ? apply_list_fill_asked(list) : apply_list_fill_rest(list, log_chunk_of(t)->at);
        if (r == 0 && t->job > 0)
                r = read_job(list, state, t);
        if (r == 0 && is_about_all(t))
                apply_list_judge(list);
        return r;
}

// All of it is in the log; what has become of it since is nobody's wish to undo.
static int tell_done(Decision *d, PendingRequest *t, ApplyList *list) {
        _cleanup_response_ Argosy__Response *response = response_new(ARGOSY__RESPONSE__WHAT_CHANGE);
        int r = response ? 0 : -ENOMEM;

        for (size_t i = 0; i < list->aims.n; i++)
                list->items[i].to.aimed = false;
        r = r < 0 ? r : decide_aims_describe(d->leader, t, &list->aims, response);
        if (r < 0)
                return r;
        decide_complete(d->leader, t, response);
        return request_settle(t, TAKE_PTR(response));
}

// What has failed is started again beside the rollout, in the same entry.
static int begin_rollout(Decision *d, PendingRequest *t, const ApplyList *list,
                         Argosy__Request__Rollout *m) {
        DecisionMark mark = decision_mark(d);
        int r = decide_aims_put(d, &list->aims, is_started_again);

        if (r == 0)
                r = decide_rolling_begin(d, t, m);
        if (r != PLAN_IN_BATCH)
                decision_rollback(d, mark);
        return r;
}

// Begins, in one entry, a rollout that does all of it. One that was begun is never begun again.
static int decide_rolling(Decision *d, PendingRequest *t, const ApplyList *list) {
        Argosy__Request__Rollout m = ARGOSY__REQUEST__ROLLOUT__INIT;
        Argosy__NamedFile file = ARGOSY__NAMED_FILE__INIT;

        if (!find_content(list, &file))
                return request_refuse(
                        t, ENODATA,
                        "the cluster does not have the file of %s any more; apply the folder again",
                        list->rolls.name);
        file.name = list->rolls.name;
        file.path = (char *) "";
        m.name = list->rolls.name;
        m.file = &file;
        m.max_unavailable = list->m->max_unavailable;
        m.percent = list->m->percent;
        m.health_us = list->m->health_us;
        return begin_rollout(d, t, list, &m);
}

static int decide_at_once(Decision *d, PendingRequest *t, ApplyList *list) {
        return request_was_carried_out(t) ? tell_done(d, t, list) : decide_aims(d, t, &list->aims);
}

static int decide_judged(Decision *d, PendingRequest *t, ApplyList *list) {
        const char *unit, *why;
        int r;

        if (list->m->rolling && t->job > 0 && (!list->job || *list->job->rollout))
                return request_settle(t, decide_rolling_response(d->leader, t));
        if (!list->m->rolling || t->job > 0) // it was begun so
                return decide_at_once(d, t, list);
        r = find_rollout(list, &unit, &why);
        if (r == -EINVAL)
                return request_refuse(t, EINVAL, "%s %s: nothing was changed", unit, why);
        if (r < 0)
                return r;
        if (list->rolls.name)
                return decide_rolling(d, t, list);
        return decide_at_once(d, t, list);
}

int decide_apply(Decision *d, PendingRequest *t) {
        const ClusterState *state = d->leader->state;
        _cleanup_(apply_list_done)
                ApplyList list = {.m = t->request->apply,
                                  .leader = d->leader,
                                  .pending = t,
                                  .aims = {.item = apply_list_at, .describe = on_describe}};
        bool is_planned = t->request->apply->preview && t->response;
        int r = is_planned ? request_settle(t, t->response) : begin(d, t);

        list.options = (ApplyOptions){list.m->set, true, list.m->force, list.m->adopt};
        list.aims.files = list.m->files;
        list.aims.n_files = list.m->n_files;
        if (r == STEP_PASSED && t->job == 0)
                r = compare(&list, state, t);
        if (r != STEP_PASSED)
                return r;
        r = fill_asked(&list, state, t);
        if (r < 0)
                return r == -EEXIST ? settle_twice(t) : r;
        return decide_judged(d, t, &list);
}
