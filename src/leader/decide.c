// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What goes into the next log entry: everything that has become decidable since the last one was proposed.
// Only one entry is on its way at a time, because what is decided here builds on the state as it is applied.
//
// In this order: units whose node is lost or refuses them, those that failed, outcomes, what hosts say about
// themselves, voters, units without a node if something has changed for them, and requests as they came.
// Whatever touches a record that the entry touches already waits.
#include <errno.h>

#include "dry-run.h"
#include "host-record.h"
#include "leader-private.h"
#include "log.h"
#include "message.h"
#include "request.h"
#include "response.h"
#include "str.h"

enum {
        BATCH_SOFT_BYTES = STORE_BATCH_MAX / 2
}; // what we fill by ourselves; one request may go up to STORE_BATCH_MAX

typedef struct Decision {
        Leader *leader;
        Draft batch;
        Placer *placer;       // made when first needed
        Dependencies planned; // of units that the batch puts
} Decision;

static int need_placer(Decision *d) {
        return d->placer ? 0 : placer_new(d->leader, 0, &d->placer);
}

// ------------------------------------------------------------------------------------------------ moving

static bool still_has_to_move(Decision *d, const Unit *u, const UnitEntry *e) {
        Leader *l = d->leader;

        if (!e || e->record->target == ARGOSY__TARGET__TARGET_INACTIVE || e->record->global)
                return false;
        if (!u->node || follow_is_elsewhere(l, &d->batch, u, e))
                return true;
        if (host_is_lost(u->node->host)) // what has finished for good has nothing to do elsewhere
                return !(e->record->target == ARGOSY__TARGET__TARGET_LAUNCHED &&
                         record_final_outcome(e->record, e->record->node));
        if (unit_has_to_leave(u, e) || placer_must_go(l, u))
                return true;
        return unit_exclusion(u, u->node->number);
}

// One that nobody takes stays with a lost node, since it may still be running there and be right when the
// node comes back; and with one that is being drained, until the drain's deadline. A node that refused it
// loses it.
static bool stays_without_other(const Leader *l, const Unit *u) {
        if (!u->node || host_is_lost(u->node->host))
                return true;
        return node_is_emptying(u->node) && !node_deadline_is_over(l, u->node) &&
               !unit_exclusion(u, u->node->number);
}

static void wait_for_a_node(Leader *l, Unit *u) {
        if (list_is_linked(&u->homeless))
                homeless_ask(l, u); // there may be somebody now whom it is to join
        else {
                unit_set_homeless(l, u, true);
                homeless_ask_first(l, u); // it may be its turn before others, or displace somebody
        }
        unit_touch(l, u);
}

// Whether the unit of a lost node is to wait before it moves. 1, 0, or -ENOMEM.
static int moves_later(Decision *d, Unit *u, const UnitEntry *e) {
        uint64_t at_us = failing_moves_at(d->leader, u, e);
        int r;

        if (at_us <= leader_now(d->leader))
                return 0;
        r = failing_delay(d->leader, u, at_us);
        return r < 0 ? r : 1;
}

static int give_node(Decision *d, Unit *u, const UnitEntry *e, uint32_t node) {
        Argosy__UnitRecord next = *e->record;
        int r;

        next.node = node;
        group_take(d->leader, u);
        follow_look_again(d->leader, u->name);
        r = draft_put_unit(&d->batch, &next, 0, e->record->revision);
        if (r >= 0 && !list_is_linked(&u->moving))
                list_append(&d->leader->moved, &u->moving);
        return r;
}

static uint32_t node_of_mates(Decision *d, const Unit *u, const UnitOptions *options) {
        return follow_node(d->leader, &d->batch, u->name, mates_activated(&d->leader->mates, u->name),
                           options);
}

// Finds the unit another node.
static int move_unit(Decision *d, Unit *u, UnitEntry *e) {
        UnitOptions *options = NULL;
        PlacerAnswer place;
        int r;

        r = moves_later(d, u, e);
        if (r != 0)
                return r < 0 ? r : 0;
        if (unit_braked(d->leader, u) || failing_stays(d->leader, u, e)) {
                wait_for_a_node(d->leader, u);
                return 0;
        }
        r = need_placer(d);
        if (r < 0)
                return r;
        r = unit_options_of(e, &options);
        if (r < 0)
                return r == -EINVAL ? 0 : r;
        place = (PlacerAnswer){.node = node_of_mates(d, u, options)};
        if (!place.node && !u->retry && u->node && host_is_lost(u->node->host)) {
                unit_options_unref(options); // in its turn: decide_homeless()
                wait_for_a_node(d->leader, u);
                return 0;
        }
        if (!place.node)
                r = placer_place(d->placer, u->name, options, false, &place);
        unit_options_unref(options);
        if (r == -ENOSPC || r == -EINVAL) // more than can be counted: nobody takes it
                place = (PlacerAnswer){};
        else if (r < 0)
                return r;
        if (!place.node && stays_without_other(d->leader, u)) {
                wait_for_a_node(d->leader, u);
                return 0;
        }
        return give_node(d, u, e, place.node);
}

// Whether it would leave a node that is emptied, but too many of its group are down. Then it waits for them.
static bool waits_for_its_group(Decision *d, Unit *u, const UnitEntry *e) {
        Leader *l = d->leader;

        if (!group_keeps(l, u, e))
                return false;
        unit_set_homeless(l, u, false);
        list_unlink(&u->moving);
        list_append(&u->group->waiting, &u->moving);
        return true;
}

static int decide_moves(Decision *d) {
        Leader *l = d->leader;
        ListNode later = LIST_INIT(later);
        int r = 0;

        while (r >= 0 && !list_is_empty(&l->moving) && d->batch.packed.len < BATCH_SOFT_BYTES) {
                Unit *u = CONTAINER_OF(l->moving.next, Unit, moving);
                UnitEntry *e = cluster_state_find_unit(l->state, u->name);

                list_unlink(&u->moving);
                if (!still_has_to_move(d, u, e) || waits_for_its_group(d, u, e))
                        continue;
                if (draft_has_unit(&d->batch, u->name))
                        list_append(&later, &u->moving);
                else
                        r = move_unit(d, u, e);
                if (r < 0 && !list_is_linked(&u->moving))
                        list_append(&later, &u->moving);
        }
        list_splice(&l->moving, &later);
        return r;
}

// Lets the unit take part in the next round, or gives it at once the node where it is to join another one.
static int offer(Decision *d, Unit *u, const UnitEntry *e) {
        PlacerAnswer place = {};
        UnitOptions *options;
        int r = moves_later(d, u, e);

        if (r != 0)
                return r < 0 ? r : 0;
        if (unit_braked(d->leader, u) || failing_stays(d->leader, u, e))
                return 0;
        r = unit_options_of(e, &options);
        if (r < 0)
                return r == -EINVAL ? 0 : r;
        place.node = node_of_mates(d, u, options);
        if (place.node)
                r = placer_set_aside(d->placer, u);
        else if (u->retry) // not where it has failed, if there is another one: it is asked for by itself
                r = placer_place(d->placer, u->name, options, false, &place);
        unit_options_unref(options);
        if (r < 0)
                return r == -ENOSPC || r == -EINVAL ? 0 : r;
        return place.node ? give_node(d, u, e, place.node) : placer_offer(d->placer, u);
}

// Units without a node, and those that nobody took when they had to leave theirs, in the order of their
// roles and priorities. None of them may be decided about in this batch already, nor is there to be little
// room. Those of which the Placement knows everything wait there for their turn, and are not looked at.
static int decide_homeless(Decision *d) {
        Leader *l = d->leader;
        int r;

        if (!l->retry_homeless || !list_is_empty(&l->moving) ||
            d->batch.packed.len >= BATCH_SOFT_BYTES / 2 || homeless_is_touched(l, &d->batch))
                return 0;
        r = need_placer(d);
        if (r < 0)
                return r;
        l->retry_homeless = false;
        list_foreach_safe (i, &l->asking) {
                Unit *u = CONTAINER_OF(i, Unit, asking);
                UnitEntry *e = cluster_state_find_unit(l->state, u->name);

                l->n_asked++;
                if (!still_has_to_move(d, u, e)) {
                        unit_set_homeless(l, u, false);
                        unit_touch(l, u);
                } else if (!waits_for_its_group(d, u, e))
                        r = offer(d, u, e);
                if (r < 0)
                        return r;
                if (homeless_waits_by_itself(l, u))
                        list_unlink(&u->asking);
        }
        return homeless_decide(l, &d->batch, d->placer);
}

static int decide_outcomes(Decision *d) {
        Leader *l = d->leader;
        ListNode later = LIST_INIT(later);
        int r = 0;

        while (r >= 0 && !list_is_empty(&l->outcomes) && d->batch.packed.len < BATCH_SOFT_BYTES) {
                Site *s = CONTAINER_OF(l->outcomes.next, Site, outcome_due);
                const UnitEntry *e = cluster_state_find_unit(l->state, s->unit->name);

                list_unlink(&s->outcome_due);
                if (!e || e->record->start_rev != s->outcome->start_rev ||
                    record_final_outcome(e->record, s->node->number))
                        continue;
                if (draft_has_unit(&d->batch, s->unit->name))
                        list_append(&later, &s->outcome_due);
                else
                        r = draft_put_outcome(&d->batch, s->unit->name, s->outcome);
        }
        list_splice(&l->outcomes, &later);
        return r;
}

// What others say about the host may have changed since the wish was made.
static int decide_hosts(Decision *d) {
        map_foreach (slot, &d->leader->hosts) {
                Host *h = slot->value;
                const Argosy__HostRecord *now = cluster_state_find_host(d->leader->state, h->number);
                int r;

                if (!h->wish_due || !now || draft_has_host(&d->batch, h->number))
                        continue;
                r = host_record_keep(h->wish, now);
                if (r >= 0)
                        r = draft_put_host(&d->batch, h->wish);
                if (r < 0)
                        return r;
                h->wish_due = false;
        }
        return 0;
}

// ------------------------------------------------------------------------------------------------ changes

static int on_place(const char *name, const char *activates, const UnitOptions *options, ChangePlace *ret,
                    void *userdata) {
        Decision *d = userdata;
        PlacerAnswer place;
        int r;

        ret->node = follow_node(d->leader, &d->batch, name, activates, options);
        ret->possible = ret->node;
        if (ret->node)
                return 0;
        r = need_placer(d);
        if (r < 0)
                return r;
        r = placer_place(d->placer, name, options, true, &place);
        if (r < 0)
                return r;
        *ret = (ChangePlace){
                .node = place.node,
                .possible = place.possible,
                .refusals = place.refusals,
                .n_refusals = place.n_refusals,
        };
        snprintf(ret->why, sizeof ret->why, "%s", place.why);
        return 0;
}

static bool on_may_stay(uint32_t node, const UnitOptions *options, void *userdata) {
        Decision *d = userdata;
        const Node *n = node_find(d->leader, node);

        return n && !host_is_lost(n->host) && !node_is_emptying(n) && node_admits(d->leader, n, options);
}

static bool on_waits(const char *name, void *userdata) {
        const Decision *d = userdata;
        const Unit *u = unit_find(d->leader, name);
        const UnitEntry *e = cluster_state_find_unit(d->leader->state, name);

        return u && e && failing_moves_at(d->leader, u, e) > leader_now(d->leader);
}

static const char *on_find_activator(const char *name, bool (*counts)(const char *name, void *userdata),
                                     void *counts_data, void *userdata) {
        Decision *d = userdata;

        return mates_find_activator(&d->leader->mates, name, counts, counts_data);
}

// 1, 0, or -EBUSY: that changes in this batch.
static int on_role_known(const char *name, void *userdata) {
        Decision *d = userdata;
        int r;

        if (streq(name, ROLE_DEFAULT))
                return 1;
        if (draft_has_role(&d->batch, name))
                return -EBUSY;
        if (!cluster_state_find_role(d->leader->state, name))
                return 0;
        r = draft_use_role(&d->batch, name);
        return r < 0 ? r : 1;
}

static const char *node_name(uint32_t node, void *userdata) {
        const Node *n = node_find(userdata, node);

        return n ? n->name : NULL;
}

static void on_change_committed(Leader *l, Ticket *t) {
        change_complete(l->state, t->response, node_name, l);
}

// An explicit order to start is a reason to ask again the nodes that refused the name.
static void forget_refusals(Leader *l, const Argosy__Request__Change *change) {
        if (change->verb != ARGOSY__VERB__VERB_START && change->verb != ARGOSY__VERB__VERB_LOAD)
                return;
        for (size_t i = 0; i < change->n_names; i++) {
                Unit *u = unit_find(l, change->names[i]);

                if (u && !u->node) {
                        unit_forget_exclusions(l, u, 0);
                        retries_forget(l, u);
                }
        }
}

static bool on_is_up(const char *name, void *userdata) {
        const Decision *d = userdata;

        return ordering_standing(d->leader, name) == STANDING_UP;
}

static bool on_each_dependent(const char *name, DependencyEach each, void *each_data, void *userdata) {
        const Decision *d = userdata;

        return dependencies_each_on(&d->leader->dependencies, name, each, each_data);
}

static int on_order(const char *name, const UnitDependency *list, size_t n, void *userdata) {
        Decision *d = userdata;
        int r = draft_note_order(&d->batch, name);

        return r < 0 ? r : dependencies_set(&d->planned, name, list, n);
}

static bool is_planned(const char *name, void *userdata) {
        const Decision *d = userdata;

        return draft_has_order(&d->batch, name);
}

static int on_circles(const char *const *names, size_t n, CircleFound found, void *found_data,
                      void *userdata) {
        Decision *d = userdata;
        CircleSearch s = {.current = &d->leader->dependencies,
                          .planned = &d->planned,
                          .counts = is_planned,
                          .userdata = d,
                          .found = found,
                          .found_data = found_data};

        return circles_find(&s, names, n);
}

static const ChangeOps change_ops = {.place = on_place,
                                     .may_stay = on_may_stay,
                                     .waits = on_waits,
                                     .role_known = on_role_known,
                                     .find_activator = on_find_activator,
                                     .is_up = on_is_up,
                                     .each_dependent = on_each_dependent,
                                     .order = on_order,
                                     .circles = on_circles};

// With a placer of its own, since what that one places counts for the rest of the batch.
static int describe_change(Leader *l, Ticket *t) {
        _cleanup_response_ Argosy__Response *response = NULL;
        Decision alone = {.leader = l};
        void *batch = NULL;
        int r;

        r = change_plan(l->state, t->request->change, &alone.batch, &change_ops, &alone, &response);
        if (r >= 0)
                r = message_unpack(&argosy__log_batch__descriptor, alone.batch.packed.data,
                                   alone.batch.packed.len, &batch);
        if (r >= 0)
                r = dry_run_describe(l->state, batch, response, node_name, l);
        message_free(batch);
        draft_done(&alone.batch);
        placer_free(alone.placer);
        dependencies_done_all(&alone.planned);
        if (r < 0)
                return r;
        ticket_settle(t, TAKE_PTR(response));
        return 0;
}

// 1: in the batch; 0: answered; -EBUSY: next batch.
static int plan_change(Decision *d, Ticket *t) {
        Leader *l = d->leader;
        const Argosy__Request__Change *change = t->request->change;
        DraftMark mark = draft_mark(&d->batch);
        _cleanup_response_ Argosy__Response *response = NULL;
        uint64_t revision;
        bool repeated;
        int r;

        if (change->dry_run)
                return describe_change(l, t);
        if (draft_has_request(&d->batch, change->id.data, change->id.len))
                return -EBUSY;
        repeated = cluster_state_was_applied(l->state, change->id.data, &revision);
        if (!repeated)
                forget_refusals(l, change);
        r = change_plan(l->state, change, &d->batch, &change_ops, d, &response);
        if (r < 0)
                return r;
        if (repeated) {
                draft_rollback(&d->batch, mark);
                change_repeat(change, response);
        }
        if (d->batch.packed.len > STORE_BATCH_MAX - 256) {
                size_t bytes = d->batch.packed.len - mark.len;

                draft_rollback(&d->batch, mark);
                if (mark.n_ops)
                        return -EBUSY;
                ticket_settle(t, response_error(E2BIG,
                                                "the request makes %zu bytes of log, more than the %d that "
                                                "one entry may have: "
                                                "name fewer units at once",
                                                bytes, STORE_BATCH_MAX));
                return 0;
        }
        if (d->batch.n_ops == mark.n_ops) { // nothing to store
                change_complete(l->state, response, node_name, l);
                ticket_settle(t, TAKE_PTR(response));
                return 0;
        }
        r = draft_add_request(&d->batch, change->id.data, change->id.len);
        if (r < 0)
                return r;
        t->response = TAKE_PTR(response);
        t->committed = on_change_committed;
        return 1;
}

static Argosy__Response *unplaceable_response(int error) {
        if (error == -ENOSPC)
                return response_error(
                        ENOSPC, "there are as many kinds of resources, patterns of conflicts and lists "
                                "of managers in this cluster as it can count: nothing was changed");
        return response_error(-error, "nothing was changed: %s", strerror(-error));
}

static int decide_requests(Decision *d, ListNode *taken) {
        Leader *l = d->leader;

        list_foreach_safe (i, &l->queue) {
                Ticket *t = CONTAINER_OF(i, Ticket, queue);
                DraftMark mark = draft_mark(&d->batch);
                int r;

                if (t->removing && !members_removal_ready(l, t))
                        continue; // goes on when its host is no voter any more
                if (t->request->what_case == ARGOSY__REQUEST__WHAT_CHANGE)
                        r = plan_change(d, t);
                else if (t->request->what_case == ARGOSY__REQUEST__WHAT_NODE_CHANGE ||
                         t->request->what_case == ARGOSY__REQUEST__WHAT_LABEL_CHANGE)
                        r = nodes_plan(l, t, &d->batch);
                else if (t->request->what_case == ARGOSY__REQUEST__WHAT_ROLE_CHANGE ||
                         t->request->what_case == ARGOSY__REQUEST__WHAT_POOL_CHANGE)
                        r = roles_plan(l, t, &d->batch);
                else if (t->request->what_case == ARGOSY__REQUEST__WHAT_ROLLOUT)
                        r = rollouts_plan(l, t, &d->batch);
                else if (t->request->what_case == ARGOSY__REQUEST__WHAT_REBALANCE)
                        r = rebalance_request(l, t, &d->placer);
                else
                        r = members_plan(l, t, &d->batch);
                if (r == -EBUSY) { // first come, first served
                        draft_rollback(&d->batch, mark);
                        return 0;
                }
                if (r < 0) {
                        draft_rollback(&d->batch, mark);
                        ticket_settle(t, r == -ENOMEM ? NULL : unplaceable_response(r));
                } else if (r == 1) {
                        list_unlink(&t->queue);
                        list_append(taken, &t->queue);
                }
                if (d->batch.packed.len >= BATCH_SOFT_BYTES)
                        return 0;
        }
        return 0;
}

// ------------------------------------------------------------------------------------------------ the batch

static void on_done(StoreOutcome outcome, uint64_t index, void *userdata) {
        Leader *l = userdata;

        if (index > l->index)
                l->index = index;
        decide_done(l, outcome);
        leader_outside_done(l);
}

// The log has no room as long as most voters' disks are full.
static Argosy__Response *no_space_response(const Leader *l) {
        size_t n;
        const HostEntry *hosts = cluster_state_hosts(l->state, &n);
        char names[256] = "";

        for (size_t i = 0; i < n; i++)
                if (hosts[i].record->role == ARGOSY__HOST_ROLE__ROLE_VOTER) {
                        size_t len = strlen(names);

                        snprintf(names + len, sizeof(names) - len, "%s%s", len ? ", " : "",
                                 hosts[i].record->name);
                }
        return response_error(ENOSPC,
                              "the disk under %s is full on most of the voters (%s): nothing "
                              "was changed",
                              l->config.user ? "the state directories" : "/var/lib/argosy", names);
}

static Argosy__Response *failed_response(const Leader *l, StoreOutcome outcome) {
        Argosy__Response *r;

        if (outcome == STORE_NO_SPACE)
                return no_space_response(l);
        r = response_error(EAGAIN, "the leader changed %s; sending the same request again is safe",
                           outcome == STORE_UNKNOWN ? "before it knew whether the change was kept"
                                                    : "before anything was changed");
        if (r)
                r->no_leader = true;
        return r;
}

static void forget_granted_wishes(Leader *l) {
        map_foreach (slot, &l->hosts) {
                Host *h = slot->value;

                if (!h->wish || h->wish_due)
                        continue;
                message_free(h->wish);
                h->wish = NULL;
        }
}

// The log refused the entry: what we decided of our own accord is still to be done, a little later.
static void take_back(Leader *l) {
        if (l->pause_us <= leader_now(l))
                log_error("The disks of most voters are full: nothing can be changed until there is room.");
        l->pause_us = leader_now(l) + USEC_PER_SEC;
        l->retry_homeless = true;
        rollouts_look_again(l);
        retries_take_back(l);
        map_foreach (slot, &l->hosts)
                ((Host *) slot->value)->wish_due = ((Host *) slot->value)->wish;
        map_foreach (slot, &l->nodes) {
                Node *n = slot->value;

                list_foreach (i, &n->sites) {
                        Site *s = CONTAINER_OF(i, Site, by_node);

                        if (s->outcome && !list_is_linked(&s->outcome_due))
                                list_append(&l->outcomes, &s->outcome_due);
                }
                list_foreach (i, &n->placed) {
                        Unit *u = CONTAINER_OF(i, Unit, placed);

                        if ((host_is_lost(n->host) || node_is_emptying(n) || u->exclusions) &&
                            !list_is_linked(&u->moving))
                                list_append(&l->moving, &u->moving);
                }
        }
}

void decide_done(Leader *l, StoreOutcome outcome) {
        ListNode flying = LIST_INIT(flying), again = LIST_INIT(again);

        l->batch_flying = false;
        list_splice(&l->moving, &l->moved); // whether they still have to, whatever became of the batch
        list_splice(&flying, &l->flying);
        list_foreach_safe (i, &flying) {
                Ticket *t = CONTAINER_OF(i, Ticket, queue);

                list_unlink(&t->queue);
                if (outcome != STORE_COMMITTED) {
                        ticket_settle(t, failed_response(l, outcome));
                        continue;
                }
                if (t->again) {
                        t->again = false;
                        list_append(&again, &t->queue);
                        continue;
                }
                if (t->committed)
                        t->committed(l, t);
                ticket_settle(t, TAKE_PTR(t->response));
        }
        list_splice(&again, &l->queue); // they were there first
        list_splice(&l->queue, &again);
        if (outcome == STORE_COMMITTED)
                forget_granted_wishes(l);
        else if (outcome == STORE_NO_SPACE && l->leading)
                take_back(l);
        leader_mark(l);
}

// The log did not take the entry, and nobody will tell how it ended.
static void on_not_submitted(Leader *l, int error) {
        if (error == -ENOSPC || error == -EAGAIN || error == -ESHUTDOWN) {
                decide_done(l, error == -ENOSPC ? STORE_NO_SPACE : STORE_NOT_LEADER);
                return;
        }
        log_warning("The log does not take an entry: %s.", strerror(-error));
        l->batch_flying = false;
        list_splice(&l->moving, &l->moved);
        while (!list_is_empty(&l->flying))
                ticket_settle(
                        CONTAINER_OF(l->flying.next, Ticket, queue),
                        response_error(EBUSY, "the log does not take the change now: %s", strerror(-error)));
        take_back(l);
}

static void submit(Decision *d, ListNode *taken) {
        Leader *l = d->leader;
        int r;

        r = draft_set_time(&d->batch, leader_wall(l));
        if (r >= 0)
                r = l->ops.submit(d->batch.packed.data, d->batch.packed.len, on_done, l, l->userdata);
        list_splice(&l->flying, taken);
        l->batch_flying = true;
        if (r >= 0)
                l->n_outside++;
        else
                on_not_submitted(l, r);
}

// What this leader decides of its own accord.
static int decide_ours(Decision *d) {
        int r;

        r = decide_moves(d);
        if (r >= 0)
                r = retries_decide(d->leader, &d->batch, &d->placer);
        if (r >= 0)
                r = decide_outcomes(d);
        if (r >= 0)
                r = decide_hosts(d);
        if (r >= 0)
                r = rollouts_decide(d->leader, &d->batch, &d->placer);
        if (r >= 0)
                r = rebalance_decide(d->leader, &d->batch, &d->placer);
        if (r >= 0)
                voters_step(d->leader, &d->batch);
        return r;
}

void decide(Leader *l) {
        Decision d = {.leader = l, .batch = {.left = homes_left, .userdata = l}};
        ListNode taken = LIST_INIT(taken);
        bool paused = l->pause_us > leader_now(l);
        int r = 0;

        l->n_batches++;

        if (l->batch_flying || !cluster_state_cluster(l->state))
                return;
        if (!paused)
                r = decide_ours(&d);
        if (r >= 0 && !paused) // before requests: they were there first
                r = decide_homeless(&d);
        if (r >= 0)
                r = decide_requests(&d, &taken);
        if (r < 0) // out of memory: a later turn may do better
                l->pause_us = leader_now(l) + USEC_PER_SEC;
        if (d.batch.n_ops || !list_is_empty(&taken))
                submit(&d, &taken);
        draft_done(&d.batch);
        placer_free(d.placer);
        dependencies_done_all(&d.planned);
}
