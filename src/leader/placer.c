// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Keeps the Placement (placement.h) as the tables are, and asks it.
//
// Units follow their records (placer_on_unit). Nodes and hosts are looked at when somebody is about to place
// something: one comparison each, and work for those that changed. What is placed in the course of a batch
// counts at once; whether that came true is the log's to say, so when the Placer is freed, all units that it
// touched are again as their records are.
#include <errno.h>

#include "placer-private.h"
#include "rebalance.h"
#include "request.h"
#include "response.h"
#include "str.h"

#define OFFERS_PREFIX "offers/"
enum { OFFERS_MAX = 1000000000 };

typedef struct Guest {
        uint32_t unit;
        char name[];
} Guest;

struct Placer {
        Leader *leader;
        char **touched; // names
        size_t n_touched;
        Unit **released; // recorded units: they live longer
        size_t n_released;
};

// ------------------------------------------------------------------------------------------------ nodes

bool node_takes_units(const Node *n, const char **ret_why) {
        const Host *h = n->host;
        const char *why = NULL;

        if (host_is_lost(h))
                why = h->down ? "the node is shut down" : "the node is lost";
        else if (h->leaving)
                why = "the node is shutting down";
        else if (h->lease.state == LEASE_SUSPECT)
                why = "the node has not been heard of for a while";
        else
                why = n->reason ?: n->closed;
        if (ret_why)
                *ret_why = why;
        return !why;
}

static PlacementState state_of(const Node *n) {
        if (!node_takes_units(n, NULL))
                return host_is_lost(n->host) ? PLACEMENT_LOST : PLACEMENT_CLOSED;
        return n->host->attached ? PLACEMENT_OPEN : PLACEMENT_SECOND; // expected back within its lease
}

static int add_node(Leader *l, Node *n) {
        PlacerTables *t = l->places;
        Host *h = n->host;
        uint32_t number;
        int r = 0;

        if (!h->place) {
                r = placement_host_add(t->placement, &(PlacementVector){}, PLACEMENT_SIZE_ONE, &number);
                if (r < 0)
                        return r;
                h->place = number + 1;
        }
        r = placement_node_add(t->placement, h->place - 1, NULL, 0, &number);
        if (r < 0)
                return r;
        n->place = number + 1;
        n->place_labels = 0;
        if (number >= t->n_nodes) {
                size_t more = 2 * (size_t) number + 8;
                Node **longer = realloc(t->nodes, more * sizeof *longer);

                if (!longer)
                        return -ENOMEM;
                memset(longer + t->n_nodes, 0, (more - t->n_nodes) * sizeof *longer);
                t->nodes = longer;
                t->n_nodes = more;
        }
        t->nodes[number] = n;
        return 0;
}

static int by_number(const void *a, const void *b) {
        const Node *x = *(Node *const *) a, *y = *(Node *const *) b;

        return (x->number > y->number) - (x->number < y->number);
}

// In the order of their numbers, which decides between equals.
static int add_new_nodes(Leader *l) {
        _cleanup_free_ Node **new = calloc(l->nodes.count + 1, sizeof *new);
        size_t n = 0;
        int r = 0;

        if (!new)
                return -ENOMEM;
        map_foreach (slot, &l->nodes)
                if (!((Node *) slot->value)->place)
                        new[n++] = slot->value;
        qsort(new, n, sizeof *new, by_number);
        for (size_t i = 0; i < n && r >= 0; i++)
                r = add_node(l, new[i]);
        if (n > 0)
                l->places->hosts_revision = 0; // they need labels
        return r;
}

static int label_nodes(Leader *l) {
        int r = 0;

        map_foreach (slot, &l->nodes) {
                Node *n = slot->value;
                const Argosy__HostRecord *host = cluster_state_find_host(l->state, n->host->number);

                if (host && n->place && r >= 0)
                        r = placer_label_node(l->places->placement, &l->places->patterns, l->state,
                                              n->place - 1, host, n->manager, &n->place_labels);
        }
        l->places->hosts_revision = cluster_state_hosts_revision(l->state);
        return r;
}

// What it says about cores and memory, and the labels offers/NAME=N about the rest.
static void sync_offers(Leader *l, const Host *h, const Argosy__HostRecord *host) {
        PlacementVector offers = {};
        size_t prefix = strlen(OFFERS_PREFIX);

        offers.of[PLACEMENT_CPU] = (int32_t) MIN_OF(h->cpu_milli, (uint32_t) INT32_MAX);
        offers.of[PLACEMENT_MEMORY] = (int32_t) MIN_OF(h->memory_mib, (uint32_t) INT32_MAX);
        for (size_t i = 0; i < host->n_labels; i++) {
                int resource;
                uint64_t n;

                if (strncmp(host->labels[i]->key, OFFERS_PREFIX, prefix) != 0 ||
                    !parse_u64(host->labels[i]->value, OFFERS_MAX, &n))
                        continue;
                resource = placement_find_resource(l->places->placement, host->labels[i]->key + prefix);
                if (resource >= 0)
                        offers.of[resource] = (int32_t) n;
        }
        placement_host_set(l->places->placement, h->place - 1, &offers, PLACEMENT_SIZE_ONE);
}

static int sync_nodes(Leader *l, uint32_t without_host) {
        Placement *p = l->places->placement;
        int r = add_new_nodes(l);
        bool relabelled = l->places->hosts_revision != cluster_state_hosts_revision(l->state);

        if (r >= 0 && relabelled)
                r = label_nodes(l);
        map_foreach (slot, &l->nodes) {
                const Node *n = slot->value;
                Host *h = n->host;
                const Argosy__HostRecord *host = cluster_state_find_host(l->state, h->number);
                bool out = h->number == without_host || !host;

                if (r < 0 || !n->place)
                        continue;
                if (host && (relabelled || h->offers_changed))
                        sync_offers(l, h, host);
                h->offers_changed = false;
                r = placement_node_set_state(p, n->place - 1, out ? PLACEMENT_CLOSED : state_of(n),
                                             leader_now(l));
                if (r >= 0)
                        r = placement_node_set_others(p, n->place - 1, (uint32_t) n->n_globals);
        }
        return r;
}

void placer_on_node_freed(Leader *l, Node *n) {
        if (!l->places || !n->place)
                return;
        l->places->nodes[n->place - 1] = NULL;
        if (placement_node_remove(l->places->placement, n->place - 1) < 0)
                l->pause_us = leader_now(l);
        n->place = 0;
        if (list_is_empty(&n->host->nodes) || n->of_host.next == n->of_host.prev) {
                bool last = true;

                list_foreach (i, &n->host->nodes)
                        last &= CONTAINER_OF(i, Node, of_host) == n;
                if (last && n->host->place) {
                        placement_host_remove(l->places->placement, n->host->place - 1);
                        n->host->place = 0;
                }
        }
}

bool node_admits(const Leader *l, const Node *n, const UnitOptions *options) {
        const Argosy__HostRecord *host = cluster_state_find_host(l->state, n->host->number);

        return host && placer_admits(l->state, host, n->manager, options);
}

// ------------------------------------------------------------------------------------------------ units

static int tell_hosts_again(Leader *l) {
        map_foreach (slot, &l->hosts) {
                const Host *h = slot->value;
                const Argosy__HostRecord *host = cluster_state_find_host(l->state, h->number);

                if (host && h->place)
                        sync_offers(l, h, host);
        }
        return label_nodes(l);
}

// Makes room for another list of patterns. It goes through all units. 1: there is room now.
static int forget_patterns(Leader *l) {
        bool used[PLACER_PATTERNS_MAX] = {};
        int r = 0;

        map_foreach (slot, &l->units) {
                const UnitEntry *e = cluster_state_find_unit(l->state, ((Unit *) slot->value)->name);
                UnitOptions *options = NULL;

                if (r < 0 || !e || unit_options_of(e, &options) < 0)
                        continue;
                if (options->managers)
                        r = placer_patterns_mark(&l->places->patterns, options->managers, used);
                unit_options_unref(options);
        }
        return r < 0 ? r : placer_patterns_sweep(&l->places->patterns, used);
}

static int class_of(Leader *l, const char *name, const UnitOptions *options, uint32_t *ret) {
        PlacerTables *t = l->places;
        bool new = false;
        int r = placer_class(t->placement, &t->patterns, name, options, ret, &new);

        if (r == -ENOSPC && t->patterns.n == PLACER_PATTERNS_MAX && options->managers) {
                int room = forget_patterns(l);

                if (room < 0)
                        return room;
                if (room)
                        r = placer_class(t->placement, &t->patterns, name, options, ret, &new);
        }
        if (new) {
                int told = tell_hosts_again(l);

                r = r < 0 ? r : told;
        }
        return r;
}

// The unit of this name there, made if need be: with a record, named by somebody's options, or a guest.
static int get_unit(Leader *l, const char *name, bool guest, uint32_t *ret) {
        PlacerTables *t = l->places;
        const Guest *known = map_find_str(&t->guests, name);
        Unit *u = unit_find(l, name);
        uint32_t number;
        Guest *g;
        int r;

        if (u && u->place) {
                *ret = u->place - 1;
                return 0;
        }
        if (known) {
                *ret = known->unit;
                return 0;
        }
        if (!guest) {
                u = unit_get(l, name);
                if (!u)
                        return -ENOMEM;
                r = placement_unit_add(t->placement, u->name, t->anything, t->role, 0, ret);
                if (r >= 0)
                        u->place = *ret + 1;
                for (const Exclusion *x = u->exclusions; x && r >= 0; x = x->next)
                        r = placer_on_exclusion(l, u, x->node, true);
                return r;
        }
        g = calloc(1, sizeof *g + strlen(name) + 1);
        if (!g)
                return -ENOMEM;
        strcpy(g->name, name);
        r = placement_unit_add(t->placement, g->name, t->anything, t->role, 0, &number);
        if (r >= 0)
                r = map_add_str(&t->guests, g->name, g);
        if (r < 0) {
                free(g);
                return r;
        }
        *ret = g->unit = number;
        return 0;
}

static int set_mates(Leader *l, const char *name, uint32_t unit, char **mates) {
        Placement *p = l->places->placement;
        int r = 0;

        placement_unit_unfollow(p, unit);
        for (char **m = mates; m && *m && r >= 0; m++) {
                uint32_t target;
                Unit *mate;

                if (streq(*m, name))
                        continue;
                r = get_unit(l, *m, false, &target);
                mate = unit_find(l, *m);
                if (mate)
                        mate->followed = true;
                if (r >= 0)
                        r = placement_unit_follow(p, unit, target);
        }
        return r == -ELOOP || r == -E2BIG ? 0 : r; // then it is as if it named fewer
}

// Gives the unit the class that its options mean.
static int set_options(Leader *l, const char *name, uint32_t unit, const UnitOptions *options) {
        Placement *p = l->places->placement;
        uint32_t class, role = placer_role_of(l->places, options);
        int r = class_of(l, name, options, &class);

        if (r < 0)
                return r;
        placement_unit_set_preemptible(p, unit, options->preemptible);
        if (placement_unit_class(p, unit) != class || placement_unit_role(p, unit) != role ||
            placement_unit_priority(p, unit) != options->priority)
                r = placement_unit_change(p, unit, class, role, options->priority);
        placement_class_unref(p, class);
        return r < 0 ? r : set_mates(l, name, unit, options->same_node);
}

static int put_unit(Leader *l, const Unit *u, const UnitEntry *e) {
        Placement *p = l->places->placement;
        const Argosy__UnitRecord *r = e ? e->record : NULL;
        bool placed = r && r->target != ARGOSY__TARGET__TARGET_INACTIVE && !r->global;
        const Node *n = placed && r->node ? node_find(l, r->node) : NULL;
        int error;

        if (!placed)
                return placement_unit_want(p, u->place - 1, false);
        if (n && !n->place) {
                error = add_new_nodes(l);
                error = error < 0 ? error : label_nodes(l);
                if (error < 0)
                        return error;
        }
        error = placement_unit_put(p, u->place - 1, n ? n->place - 1 : PLACEMENT_NONE);
        return error < 0 ? error : placement_unit_want(p, u->place - 1, true);
}

// What a unit is whose options cannot be had is not known: it counts, and demands nothing.
int placer_on_unit(Leader *l, Unit *u, const UnitEntry *e) {
        UnitOptions *options = NULL;
        uint32_t unit;
        int r;

        if (!e && !u->place)
                return 0;
        if (map_find_str(&l->places->guests, u->name))
                return 0; // a Placer has it; looked at again when that is freed
        r = get_unit(l, u->name, false, &unit);
        r = r < 0 ? r : placement_unit_release(l->places->placement, unit, false);
        if (r >= 0 && e && unit_options_of(e, &options) >= 0) // also of global ones: who conflicts with them
                r = set_options(l, u->name, unit, options);
        unit_options_unref(options);
        if (r == -ENOSPC || r == -EINVAL)
                r = 0;
        r = r < 0 ? r : put_unit(l, u, e);
        if (r >= 0 && !e && !u->followed) {
                placement_unit_remove(l->places->placement, unit);
                u->place = 0;
        }
        return r;
}

void placer_on_unit_freed(Leader *l, Unit *u) {
        if (l->places && u->place)
                placement_unit_remove(l->places->placement, u->place - 1);
        u->place = 0;
}

int placer_on_exclusion(Leader *l, const Unit *u, uint32_t node, bool excluded) {
        const Node *n = node ? node_find(l, node) : NULL;

        if (!l->places || !u->place || (node && (!n || !n->place)))
                return 0;
        if (!excluded)
                return placement_unit_readmit(l->places->placement, u->place - 1,
                                              n ? n->place - 1 : PLACEMENT_NONE);
        return placement_unit_exclude(l->places->placement, u->place - 1, n->place - 1, PLACEMENT_NEVER);
}

bool placer_may_conflict(const Leader *l, const Unit *u) {
        return l->places && u->place && placement_may_conflict(l->places->placement, u->place - 1);
}

bool placer_conflict_on(const Leader *l, const Unit *u, const Node *n) {
        return placer_may_conflict(l, u) && n->place &&
               placement_conflict_on(l->places->placement, u->place - 1, n->place - 1);
}

bool placer_conflict_between(const Leader *l, const Unit *a, const Unit *b) {
        return a->place && b->place &&
               placement_conflict_between(l->places->placement, a->place - 1, b->place - 1);
}

bool placer_must_go(const Leader *l, const Unit *u) {
        return u->place && placement_unit_must_go(l->places->placement, u->place - 1);
}

bool placer_is_replaced(const Leader *l, const Unit *u) {
        return u->place && placement_unit_replaced(l->places->placement, u->place - 1);
}

static void drive_out(Leader *l, Unit *u) {
        if (placer_is_replaced(l, u) && !list_is_linked(&u->moving))
                list_append(&l->moving, &u->moving);
}

void placer_drive_out(Leader *l, Unit *u, const UnitEntry *e) {
        const UnitFile *file;

        if (!u->node)
                return;
        drive_out(l, u);
        if (spec_entry_file(e->spec, &file) < 0 || !file->replaces)
                return;
        list_foreach (i, &u->node->placed)
                drive_out(l, CONTAINER_OF(i, Unit, placed));
}

void placer_look_at_followers(Leader *l, const char *name) {
        const Unit *target = unit_find(l, name);
        uint32_t unit = PLACEMENT_NONE, i = 0;

        if (!target || !target->place)
                return;
        while (placement_unit_follower(l->places->placement, target->place - 1, i++, &unit)) {
                Unit *u = unit_find(l, placement_unit_name(l->places->placement, unit));

                if (u && u->recorded && !list_is_linked(&u->moving) && !list_is_linked(&u->homeless))
                        list_append(&l->moving, &u->moving);
                else if (u && list_is_linked(&u->homeless))
                        l->retry_homeless = true;
        }
}

// ------------------------------------------------------------------------------------------------ placing

static int touch(Placer *p, const char *name) {
        char **longer = realloc(p->touched, (p->n_touched + 1) * sizeof *longer);

        if (!longer)
                return -ENOMEM;
        p->touched = longer;
        longer[p->n_touched] = strdup(name);
        return longer[p->n_touched++] ? 0 : -ENOMEM;
}

int placer_new(Leader *l, uint32_t without_host, Placer **ret) {
        _cleanup_(placer_freep) Placer *p = calloc(1, sizeof *p);
        int r = p ? sync_nodes(l, without_host) : -ENOMEM;

        if (r < 0)
                return r;
        p->leader = l;
        *ret = TAKE_PTR(p);
        return 0;
}

Placer *placer_free(Placer *p) {
        Leader *l = p ? p->leader : NULL;

        for (size_t i = 0; p && i < p->n_touched; i++) { // guests go first: others may follow them
                Guest *g = map_take_str(&l->places->guests, p->touched[i]);

                if (g)
                        placement_unit_remove(l->places->placement, g->unit);
                free(g);
        }
        for (size_t i = 0; p && i < p->n_touched; i++) {
                Unit *u = unit_find(l, p->touched[i]);

                if (u && (retries_bar(l, u, RETRY_BAR_NONE) < 0 ||
                          placer_on_unit(l, u, cluster_state_find_unit(l->state, u->name)) < 0))
                        l->pause_us = leader_now(l);
                free(p->touched[i]);
        }
        for (size_t i = 0; p && i < p->n_released; i++)
                if (p->released[i]->place &&
                    placement_unit_release(l->places->placement, p->released[i]->place - 1, false) < 0)
                        l->pause_us = leader_now(l);
        if (p) {
                free(p->touched);
                free(p->released);
        }
        free(p);
        return NULL;
}

static int explain(Placer *p, uint32_t unit, const char *name, PlacerAnswer *result) {
        Leader *l = p->leader;
        PlacementRefusal *refusals;
        size_t n;
        int r = placement_why(l->places->placement, unit, &refusals, &n);

        for (size_t i = 0; r >= 0 && i < n; i++) {
                const Node *node = l->places->nodes[refusals[i].node];
                const Unit *u = unit_find(l, name);
                const char *why = NULL;
                char failed[64];

                if (refusals[i].kind == PLACEMENT_REASON_EXCLUDED && u && node) {
                        why = unit_exclusion(u, node->number);
                        if (!why && retries_refusal(l, u, node->number, failed, sizeof failed))
                                why = failed;
                } else if (refusals[i].kind == PLACEMENT_REASON_STATE && node)
                        (void) node_takes_units(node, &why);
                r = FIELD_APPEND(result->refusals, result->n_refusals,
                                 refusal_new(node ? node->name : "?", why ?: refusals[i].reason));
        }
        if (r >= 0)
                placement_refusals_free(refusals, n);
        return r;
}

void placer_answer_done(PlacerAnswer *p) {
        for (size_t i = 0; i < p->n_refusals; i++)
                message_free(p->refusals[i]);
        free(p->refusals);
        *p = (PlacerAnswer){};
}

static int prepare(Placer *p, const char *name, const UnitOptions *options, uint32_t *ret) {
        int r = get_unit(p->leader, name, true, ret);

        r = r < 0 ? r : touch(p, name);
        return r < 0 ? r : set_options(p->leader, name, *ret, options);
}

// Where it has failed only if it would be on no node otherwise.
static int find_node(Leader *l, const char *name, uint32_t unit, uint32_t *ret) {
        const Unit *u = unit_find(l, name);
        int r;

        for (RetryBar bar = retries_first_bar(u);; bar++) {
                r = retries_bar(l, u, bar);
                r = r < 0 ? r : placement_move(l->places->placement, unit, leader_now(l), ret);
                if (r < 0 || *ret != PLACEMENT_NONE || bar == retries_last_bar(u))
                        return r;
        }
}

void placer_penalise(Leader *l, const Node *n, uint32_t points, uint64_t half_us) {
        if (n->host->place && placement_host_penalise(l->places->placement, n->host->place - 1, points,
                                                      half_us, leader_now(l)) < 0)
                l->pause_us = leader_now(l);
}

int placer_place(Placer *p, const char *name, const UnitOptions *options, bool want_reasons,
                 PlacerAnswer *ret) {
        Leader *l = p->leader;
        PlacerAnswer result = {};
        uint32_t unit, node;
        int r = prepare(p, name, options, &unit);

        r = r < 0 ? r : placement_unit_want(l->places->placement, unit, true);
        r = r < 0 ? r : find_node(l, name, unit, &node);
        if (r < 0)
                return r;
        if (node != PLACEMENT_NONE) {
                result.node = l->places->nodes[node]->number;
                placer_look_at_followers(l, name);
        }
        result.possible = placement_class_possible(l->places->placement,
                                                   placement_unit_class(l->places->placement, unit));
        if (!result.node && want_reasons) {
                (void) placer_role_refuses(l, unit, result.why, sizeof result.why);
                r = explain(p, unit, name, &result);
                if (r < 0) {
                        placer_answer_done(&result);
                        return r;
                }
        }
        *ret = result;
        return 0;
}

// ------------------------------------------------------------------------------------------------
// rebalancing

typedef struct Question {
        Leader *leader;
        bool (*may_move)(Unit *u, void *userdata);
        void *userdata;
} Question;

static bool ask_about(uint32_t unit, void *userdata) {
        const Question *q = userdata;
        Unit *u = unit_find(q->leader, placement_unit_name(q->leader->places->placement, unit));

        return u && u->place == unit + 1 && q->may_move(u, q->userdata);
}

int placer_rebalance(Placer *p, size_t max_moves, size_t max_tries,
                     bool (*may_move)(Unit *u, void *userdata), void *userdata, PlacerMove **ret,
                     size_t *ret_n, bool *ret_more) {
        Leader *l = p->leader;
        Question question = {l, may_move, userdata};
        RebalanceRules rules = {max_moves, max_tries, ask_about, &question};
        _cleanup_free_ RebalanceMove *moves = NULL;
        PlacerMove *result;
        size_t n;
        int r = rebalance_plan(l->places->placement, &rules, &moves, &n, ret_more);

        if (r < 0)
                return r;
        result = calloc(n + 1, sizeof *result);
        if (!result)
                return -ENOMEM;
        for (size_t i = 0; i < n && r >= 0; i++) {
                result[i].unit = unit_find(l, placement_unit_name(l->places->placement, moves[i].unit));
                result[i].from = l->places->nodes[moves[i].from];
                result[i].to = l->places->nodes[moves[i].to];
                result[i].why = rebalance_why_text(&moves[i]);
                r = result[i].why ? 0 : -ENOMEM;
        }
        if (r < 0) {
                for (size_t i = 0; i < n; i++)
                        free(result[i].why);
                free(result);
                return r;
        }
        *ret = result;
        *ret_n = n;
        return 0;
}

int placer_carry_out(Placer *p, const Unit *u, const Node *to) {
        int r;

        if (!u->place || !to->place)
                return 0;
        r = touch(p, u->name);
        return r < 0 ? r : rebalance_carry_out(p->leader->places->placement, u->place - 1, to->place - 1);
}

// ------------------------------------------------------------------------------------------------ rounds

static int note_released(Placer *p, Unit *u) {
        size_t n = p->n_released;
        Unit **longer = p->released;

        if ((n & (n + 1)) == 0) // 0, 1, 3, 7, ...: twice as long
                longer = realloc(p->released, 2 * (n + 1) * sizeof *longer);
        if (!longer)
                return -ENOMEM;
        p->released = longer;
        longer[p->n_released++] = u;
        return 0;
}

int placer_offer(Placer *p, Unit *u) {
        Leader *l = p->leader;
        int r;

        if (!u->place || !u->node) // without a node it waits anyhow
                return 0;
        r = note_released(p, u);
        return r < 0 ? r : placement_unit_release(l->places->placement, u->place - 1, true);
}

int placer_set_aside(Placer *p, Unit *u) {
        int r = touch(p, u->name);

        if (r < 0 || !u->place || u->node)
                return r;
        return placement_unit_want(p->leader->places->placement, u->place - 1, false);
}

static Unit *unit_at(const Leader *l, uint32_t number) {
        return unit_find(l, placement_unit_name(l->places->placement, number));
}

typedef struct Sparing {
        Leader *leader;
        PlacerSpares spares;
        void *userdata;
} Sparing;

static bool spares(uint32_t unit, const uint32_t *taken, uint32_t n, void *userdata) {
        const Sparing *s = userdata;
        const Unit *u = unit_at(s->leader, unit);
        Unit *others[PLACEMENT_VICTIMS_MAX];

        for (uint32_t i = 0; i < n; i++)
                others[i] = unit_at(s->leader, taken[i]); // each was asked about, so it is there
        return u && s->spares(s->leader, u, others, n, s->userdata);
}

static int take_decision(Placer *p, const PlacementDecision *d, PlacerStep *steps, size_t *n) {
        Leader *l = p->leader;
        PlacerStep step = {.unit = unit_at(l, d->unit)};
        int r = step.unit ? touch(p, step.unit->name) : 0;

        if (!step.unit || r < 0)
                return r;
        if (d->kind == PLACEMENT_PREEMPT)
                step.by = unit_at(l, d->unit_for);
        else
                step.node = l->places->nodes[d->to];
        if (step.by || step.node)
                steps[(*n)++] = step;
        return 0;
}

int placer_round(Placer *p, size_t most, size_t displace, PlacerSpares allow, void *userdata,
                 PlacerStep **ret, size_t *ret_n) {
        Leader *l = p->leader;
        Sparing sparing = {l, allow, userdata};
        PlacementBudget budget = {.decisions = most,
                                  .disruptions = displace,
                                  .stay = true,
                                  .spares = spares,
                                  .userdata = &sparing};
        const PlacementDecision *decisions;
        _cleanup_free_ PlacerStep *steps = NULL;
        size_t n;
        int r = placement_round(l->places->placement, leader_now(l), &budget, &decisions, &n);

        *ret_n = 0;
        if (r < 0)
                return r;
        steps = calloc(n + 1, sizeof *steps);
        for (size_t i = 0; i < n && r >= 0; i++)
                r = steps ? take_decision(p, &decisions[i], steps, ret_n) : -ENOMEM;
        if (r < 0)
                return r;
        *ret = TAKE_PTR(steps);
        return 0;
}

int unit_options_of(const UnitEntry *e, UnitOptions **ret) {
        const UnitFile *file;
        int r;

        r = spec_entry_file(e->spec, &file);
        return r < 0 ? r : unit_file_expand(file, e->record->name, e->record->name, ret, NULL);
}

static int why_unplaced(const Leader *l, const UnitEntry *e, char **ret) {
        const Unit *u = unit_find(l, e->record->name);
        char why[PLACER_WHY_SIZE];

        if (u && placer_held_back(l, u, why, sizeof why))
                *ret = strdup(why);
        else if (*e->record->displaced_by)
                *ret = str_printf("%s, which has a higher priority, took its place; no node takes it now",
                                  e->record->displaced_by);
        else
                *ret = strdup("no node takes it at present");
        return *ret ? 0 : -ENOMEM;
}

// It demands something that cannot be counted any more: that is so on every node.
static int explain_uncountable(Leader *l, PlacerAnswer *result) {
        int r = 0;

        for (size_t i = 0; i < l->places->n_nodes && r >= 0; i++)
                if (l->places->nodes[i])
                        r = FIELD_APPEND(result->refusals, result->n_refusals,
                                         refusal_new(l->places->nodes[i]->name, PLACER_UNCOUNTABLE));
        return r;
}

// Why a unit that is to run has no node that it could run on.
int unit_why(Leader *l, const UnitEntry *e, char **ret_why, Argosy__Refusal ***ret, size_t *ret_n) {
        _cleanup_(placer_freep) Placer *p = NULL;
        const Unit *u = unit_find(l, e->record->name);
        UnitOptions *options = NULL;
        PlacerAnswer place = {};
        uint32_t unit;
        int r;

        r = unit_options_of(e, &options);
        if (r >= 0)
                r = placer_new(l, 0, &p);
        if (r >= 0)
                r = prepare(p, e->record->name, options, &unit);
        if (r >= 0 && retries_are_stuck(u))
                r = retries_bar(l, u, RETRY_BAR_LIMIT);
        if (r >= 0)
                r = explain(p, unit, e->record->name, &place);
        unit_options_unref(options);
        if (r == -ENOSPC || r == -EINVAL)
                r = explain_uncountable(l, &place);
        r = r < 0 ? r : why_unplaced(l, e, ret_why);
        if (r < 0) {
                placer_answer_done(&place);
                return r;
        }
        *ret = place.refusals;
        *ret_n = place.n_refusals;
        return 0;
}

// ------------------------------------------------------------------------------------------------ life

int placer_open(Leader *l) {
        PlacerTables *t = calloc(1, sizeof *t);
        int r;

        if (!t)
                return -ENOMEM;
        l->places = t;
        r = placement_new(&t->placement);
        r = r < 0 ? r : placer_sync_roles(l);
        r = r < 0 ? r
                  : placement_class_get(t->placement, &(PlacementSpec){.loss_delay_us = PLACEMENT_NEVER},
                                        &t->anything);
        return r < 0 ? r : sync_nodes(l, 0);
}

void placer_close(Leader *l) {
        if (!l->places)
                return;
        map_foreach (slot, &l->hosts)
                ((Host *) slot->value)->place = 0;
        map_done_with(&l->places->guests, free);
        placement_free(l->places->placement);
        placer_roles_done(l->places);
        placer_patterns_done(&l->places->patterns);
        free(l->places->nodes);
        free(l->places);
        l->places = NULL;
}
