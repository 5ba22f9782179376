// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Changes of units: request.c says what they mean, and asks here for what it has to know of the cluster
// (ChangeOps).
//
//      decide_change() -> parts, or decide_units() -> change_plan() with change_ops
//          -> a response, an entry of the log
//
// A request that was carried out already is answered as repeated. -EBUSY: its units are in this batch
// already, or the entry is full; an entry above STORE_BATCH_MAX is refused with E2BIG; -ENOMEM.

#include "decide-changes.h"

#include <errno.h>

#include "activation-affinity.h"
#include "activators.h"
#include "batch-builder.h"
#include "content-image.h"
#include "decide-bound.h"
#include "decide-complete.h"
#include "decide-chunks.h"
#include "decide-repeats.h"
#include "data-nodes.h"
#include "decision.h"
#include "dependencies.h"
#include "disruption-budget.h"
#include "fleet-units.h"
#include "group-contents.h"
#include "host-marks.h"
#include "image-pulls.h"
#include "log-chunks.h"
#include "message.h"
#include "node-loss-controller.h"
#include "nodes.h"
#include "ordering.h"
#include "registry.h"
#include "request.h"
#include "response.h"
#include "retry-controller.h"
#include "scheduler-roles.h"
#include "scheduler-units.h"
#include "scheduler.h"
#include "rollout-networks.h"
#include "str.h"
#include "tables.h"
#include "pending-requests.h"
#include "turn.h"
#include "unit-file.h"
#include "unit-name.h"

// A node that takes both units; *ret has node 0 if there is none.
static int place_for_both(Decision *d, const char *name, const UnitOptions *options, const UnitOptions *mate,
                          ChangePlace *ret) {
        SchedulerAnswer place;
        int r = scheduler_place_for_both(d->scheduler, name, options, mate, &place);

        if (r < 0)
                return r;
        *ret = (ChangePlace){.node = place.node, .possible = place.possible};
        return 0;
}

// The unit has a node, which may have its data and cannot run what is asked for; no other node has the data.
static bool is_kept_by_data(Leader *l, const char *name, char *ret, size_t size) {
        const Unit *u = unit_find(l, name);
        char why[128];

        if (!u || !u->node || !data_node_bound(l, name) || !scheduler_data_why(l, u, why, sizeof why))
                return false;
        str_fit(ret, size,
                "%s, which does not take it: VolumeLoss=accept would let it begin without that "
                "elsewhere",
                why);
        return true;
}

// Where what it activates is, or what activates it, by the options that it is to have.
static uint32_t node_of_partner(Decision *d, const char *name, const char *activates,
                                const UnitOptions *options) {
        if (!activates && !activators_has_any(&d->leader->activators, name))
                return 0;
        scheduler_know(d->scheduler, name, options);
        return activation_affinity_node(d->leader, &d->batch, name, activates, options);
}

static int on_place(const char *name, const char *activates, const UnitOptions *options,
                    const UnitOptions *mate, ChangePlace *ret, void *userdata) {
        Decision *d = userdata;
        SchedulerAnswer place;
        int r;

        if (fleet_units_unknown(d->leader, ret->elsewhere, sizeof ret->elsewhere))
                return 0;
        decision_need_scheduler(d);
        ret->node = node_of_partner(d, name, activates, options);
        ret->possible = ret->node;
        if (!ret->node && activates)
                scheduler_keep_with(d->scheduler, name, options, activates);
        if (ret->node) {
                scheduler_put(d->scheduler, name, options, ret->node);
                return 0;
        }
        r = mate ? place_for_both(d, name, options, mate, ret) : 0;
        if (r < 0 || ret->node)
                return r;
        r = scheduler_place(d->scheduler, name, options, true, &place);
        if (r < 0) {
                scheduler_take_back(d->scheduler, name);
                return r;
        }
        if (place.too_many_tied) { // placed without some of its ties, it would break the request
                scheduler_take_back(d->scheduler, name);
                scheduler_answer_done(&place);
                return -E2BIG;
        }
        if (!place.node && (fleet_units_why(d->leader, name, ret->elsewhere, sizeof ret->elsewhere) ||
                            is_kept_by_data(d->leader, name, ret->elsewhere, sizeof ret->elsewhere))) {
                scheduler_take_back(d->scheduler, name);
                scheduler_answer_done(&place);
                return 0;
        }
        *ret = (ChangePlace){
                .node = place.node,
                .possible = place.possible,
                .refusals = place.refusals,
                .n_refusals = place.n_refusals,
        };
        if (*place.why)
                str_fit(ret->why, sizeof ret->why, "%s", place.why);
        return 0;
}

static void on_unplace(const char *name, void *userdata) {
        Decision *d = userdata;

        if (d->scheduler)
                scheduler_take_back(d->scheduler, name);
}

static void on_rank(const UnitOptions *options, ChangeRank *ret, void *userdata) {
        Decision *d = userdata;

        decision_need_scheduler(d);
        *ret = (ChangeRank){
                .role = scheduler_role(d->scheduler, options),
                .share = scheduler_share(d->scheduler, options),
        };
}

static bool on_role_before(uint32_t a, uint32_t b, void *userdata) {
        const Decision *d = userdata;

        return scheduler_role_before(d->scheduler, a, b);
}

static bool on_may_stay(uint32_t node, const UnitOptions *options, void *userdata) {
        Decision *d = userdata;
        const Node *n = node_find(d->leader, node);

        if (!n || host_is_lost(n->host))
                return false;
        return !options || (!node_is_emptying(n) && node_admits(d->leader, n, options));
}

static void on_stays(const char *name, const UnitOptions *options, uint32_t node, void *userdata) {
        Decision *d = userdata;

        decision_need_scheduler(d);
        scheduler_put(d->scheduler, name, options, node);
}

static void on_leaves(const char *name, void *userdata) {
        Decision *d = userdata;

        decision_need_scheduler(d);
        scheduler_want(d->scheduler, name, false);
}

static const char *on_node_name(uint32_t node, void *userdata) {
        const Decision *d = userdata;
        const Node *n = node_find(d->leader, node);

        return n ? n->name : NULL;
}

static bool on_waits(const char *name, void *userdata) {
        const Decision *d = userdata;
        const Unit *u = unit_find(d->leader, name);
        const UnitEntry *e = cluster_state_find_unit(d->leader->state, name);

        return u && e && node_loss_moves_at(d->leader, u, e) > leader_now(d->leader);
}

static const char *on_find_activator(const char *name, bool (*counts)(const char *name, void *userdata),
                                     void *counts_data, void *userdata) {
        Decision *d = userdata;

        return activators_find(&d->leader->activators, name, counts, counts_data);
}

// Whether the role exists. -EBUSY: this batch changes it.
static int on_role_known(const char *name, void *userdata) {
        Decision *d = userdata;
        int r;

        if (streq(name, ROLE_DEFAULT))
                return true;
        if (batch_builder_has_role(&d->batch, name))
                return -EBUSY;
        if (!cluster_state_find_role(d->leader->state, name))
                return false;
        r = batch_builder_use_role(&d->batch, name);
        return r < 0 ? r : true;
}

// Notes the content of an instance that follows the template. -ENOTUNIQ: instances have several.
static int note_sibling(const UnitEntry *e, const char *template, SpecEntry **spec) {
        _cleanup_free_ char *own = NULL;

        if (!e || !e->record->from_template)
                return 0;
        own = unit_name_template(e->record->name);
        if (!own)
                return -ENOMEM;
        if (!streq(own, template))
                return 0;
        if (*spec && *spec != e->spec)
                return -ENOTUNIQ;
        *spec = e->spec;
        return 0;
}

static int on_siblings(const char *template, SpecEntry **ret, void *userdata) {
        const Decision *d = userdata;
        const ClusterState *state = d->leader->state;
        const DisruptionBudget *g = disruption_budget_find(d->leader, template);
        const ListNode *globals = cluster_state_global_units(state, NULL);
        bool several = false;
        SpecEntry *spec = g ? group_contents_common(d->leader, g, &several) : NULL;
        int r = several ? -ENOTUNIQ : 0;

        if (globals) // global units are in no group
                list_foreach (i, globals) {
                        if (r < 0)
                                break;
                        r = note_sibling(CONTAINER_OF(i, UnitEntry, placed), template, &spec);
                }
        *ret = spec;
        return r < 0 ? r : spec != NULL;
}

static void on_change_committed(Leader *l, PendingRequest *t) {
        decide_complete(l, t, t->response);
}

static bool asks_for_nodes(const Argosy__Request__Change *change) {
        return change->verb == ARGOSY__VERB__VERB_START || change->verb == ARGOSY__VERB__VERB_LOAD;
}

// An explicit order to start is a reason to ask again the nodes that refused the name. One that waits for
// the next entry forgets nothing yet: its units would be placed without it, would be in that entry, and be
// refused anew, without end.
bool decide_forgets_refusals(const Argosy__Request__Change *change, const Unit *u) {
        return asks_for_nodes(change) && u && !u->node;
}

static void forget_refusals(Leader *l, const Argosy__Request__Change *change) {
        if (!asks_for_nodes(change))
                return;
        for (size_t i = 0; i < change->n_names; i++) {
                Unit *u = unit_find(l, change->names[i]);

                if (decide_forgets_refusals(change, u)) {
                        unit_forget_exclusions(l, u, 0);
                        retry_controller_forget(l, u);
                }
        }
        scheduler_sync_refusals(l); // before this request is placed
}

static void on_each_sharer(const char *network, void (*each)(const char *name, void *userdata),
                           void *each_data, void *userdata) {
        const Decision *d = userdata;

        stop_dependents_each(&d->leader->network_users, network, each, each_data);
}

static const char *on_find_network_update(const char *network, const Hash *of, void *userdata) {
        const Decision *d = userdata;

        return rollout_networks_update(d->leader, network, of);
}

static const char *on_find_other(const char *name, bool (*counts)(const char *name, void *userdata),
                                 void *counts_data, const char **ret_claim, void *userdata) {
        const Decision *d = userdata;

        return d->scheduler ? scheduler_find_other(d->leader, name, counts, counts_data, ret_claim) : NULL;
}

static bool on_is_up(const char *name, void *userdata) {
        const Decision *d = userdata;

        return ordering_standing(d->leader, name) == STANDING_UP;
}

static bool on_is_unheard(const char *name, void *userdata) {
        const Decision *d = userdata;
        const Unit *u = unit_find(d->leader, name);
        Standing standing = ordering_standing(d->leader, name);

        return standing == STANDING_UNKNOWN ||
               (standing == STANDING_NOWHERE && u && u->node && host_is_lost(u->node->host));
}

static bool on_each_dependent(const char *name, DependencyEach each, void *each_data, void *userdata) {
        const Decision *d = userdata;

        return dependencies_each_on(&d->leader->dependencies, name, each, each_data);
}

static int on_order(const char *name, const UnitDependency *list, size_t n, void *userdata) {
        Decision *d = userdata;
        int r = batch_builder_note_order(&d->batch, name);

        return r < 0 ? r : dependencies_set(&d->planned, name, list, n);
}

static bool is_planned(const char *name, void *userdata) {
        const Decision *d = userdata;

        return batch_builder_has_order(&d->batch, name);
}

static int on_cycles(const char *const *names, size_t n, CycleFound found, void *found_data,
                     void *userdata) {
        Decision *d = userdata;
        DependencyCycleSearch s = {.current = &d->leader->dependencies,
                                   .planned = &d->planned,
                                   .counts = is_planned,
                                   .userdata = d,
                                   .found = found,
                                   .found_data = found_data};

        return dependency_cycles_find(&s, names, n);
}

// Asks a host for an image that is to be there before anything stops.
static int want_image(Decision *d, const Node *n, const ImageWish *wish, char **ret_why) {
        const char *why = NULL;
        int r = n && !*ret_why ? image_pulls_want(d->pulls, n->number, wish, &why) : 0;

        if (r < 0 || !why)
                return r;
        *ret_why = str_printf("%s cannot have its image, so it stays as it is: %s", n->name, why);
        return *ret_why ? 0 : -ENOMEM;
}

static int on_image(const char *name, uint32_t node, const ChangeContent *content, char **ret_why,
                    void *userdata) {
        Decision *d = userdata;
        const Unit *u = d->pulls ? unit_find(d->leader, name) : NULL;
        _cleanup_free_ char *image = NULL;
        int r = u ? content_image_of(name, content->text, content->len, &image) : 0;
        const ImageWish wish = {.image = image, .registry_auth = content->file->registry_auth};

        if (r < 0 || !image)
                return r;
        if (node)
                return want_image(d, node_find(d->leader, node), &wish, ret_why);
        list_foreach (i, &u->on_nodes)
                if (r == 0)
                        r = want_image(d, CONTAINER_OF(i, UnitOnNode, by_unit)->node, &wish, ret_why);
        return r;
}

static const ChangeOps change_ops = {.image = on_image,
                                     .place = on_place,
                                     .unplace = on_unplace,
                                     .rank = on_rank,
                                     .role_before = on_role_before,
                                     .node_name = on_node_name,
                                     .may_stay = on_may_stay,
                                     .stays = on_stays,
                                     .leaves = on_leaves,
                                     .waits = on_waits,
                                     .role_known = on_role_known,
                                     .siblings = on_siblings,
                                     .find_activator = on_find_activator,
                                     .each_sharer = on_each_sharer,
                                     .find_network_update = on_find_network_update,
                                     .find_other = on_find_other,
                                     .is_up = on_is_up,
                                     .is_unheard = on_is_unheard,
                                     .each_dependent = on_each_dependent,
                                     .order = on_order,
                                     .cycles = on_cycles};

int decide_pulling(Decision *d, PendingRequest *t, const Argosy__Request__Change *change,
                   const ChangeOps *ops, Argosy__Response **ret) {
        DecisionMark mark = decision_mark(d);
        int r;

        d->pulls = t;
        r = change_plan(d->leader->state, change, &d->batch, ops, d, ret);
        d->pulls = NULL;
        if (r == 0 && t)
                r = image_pulls_ask(t);
        if (r == 0)
                return 0;
        decision_rollback(d, mark);
        message_free(TAKE_PTR(*ret));
        return r < 0 ? r : CHANGE_PULLS;
}

int decision_plan_change(Decision *d, const Argosy__Request__Change *change, Argosy__Response **ret) {
        return change_plan(d->leader->state, change, &d->batch, &change_ops, d, ret);
}

const ChangeOps *decide_change_ops(void) {
        return &change_ops;
}

// Whether the request, or its current chunk, was carried out before.
static bool was_applied(const Leader *l, const PendingRequest *t) {
        return request_was_carried_out(t) || decide_chunk_is_done(l, t);
}

int decide_units(Decision *d, PendingRequest *t, const Argosy__Request__Change *change,
                 Argosy__Response **ret) {
        Leader *l = d->leader;
        DecisionMark mark = decision_mark(d);
        _cleanup_response_ Argosy__Response *response = NULL;
        bool repeated;
        int r;

        *ret = NULL;
        t->recorded = false;
        repeated = was_applied(l, t);
        if (repeated && t->job > 0) {
                request_is_repeated(t);
                t->recorded = true;
                return decide_repeat(d, t, change, ret);
        }
        if (!repeated && log_chunk_of(t) && t->job == 0 &&
            decide_bound_check_units(l, t, change) == PLAN_SETTLED)
                return PLAN_SETTLED;
        if (!repeated && decision_touches(d, change->names, change->n_names))
                return -EBUSY;
        if (!repeated)
                forget_refusals(l, change);
        r = decide_pulling(d, repeated ? NULL : t, change, &change_ops, &response);
        if (r != 0)
                return r < 0 ? r : PLAN_SETTLED;
        change_note_kept(l->state, &d->batch, mark.batch, response);
        if (repeated) {
                decision_rollback(d, mark);
                change_repeat(change, response);
                request_is_repeated(t);
        }
        if (d->batch.packed.len > STORE_BATCH_MAX - ENTRY_SPARE_BYTES) {
                size_t bytes = d->batch.packed.len - mark.batch.len;

                decision_rollback(d, mark);
                if (mark.batch.n_ops)
                        return -EBUSY;
                request_refuse(t, E2BIG,
                              "the request makes %zu bytes of log, more than the %d that "
                              "one entry may have: %s; "
                              "name fewer units at once",
                              bytes, STORE_BATCH_MAX, decide_extent(t, (DecideExtent){}));
                return 0;
        }
        *ret = TAKE_PTR(response);
        return d->batch.n_ops == mark.batch.n_ops ? PLAN_SETTLED : PLAN_IN_BATCH;
}

int decide_change(Decision *d, PendingRequest *t) {
        _cleanup_response_ Argosy__Response *response = NULL;
        int r;

        r = decide_chunks(d, t);
        if (r != CHANGE_WHOLE)
                return r;
        r = decide_units(d, t, t->request->change, &response);
        if (r < 0 || !response)
                return r;
        if (r == 0) {
                decide_complete(d->leader, t, response);
                request_settle(t, TAKE_PTR(response));
                return PLAN_SETTLED;
        }
        request_when_committed(t, on_change_committed, false);
        return request_prepare(t, TAKE_PTR(response));
}
