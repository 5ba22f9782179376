// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Checks of where units run: in the middle of a story against faults, and when all is mended against the
// log.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "daemon.h"
#include "fake-pid1.h"
#include "hash.h"
#include "hosts-checks.h"
#include "hosts-faults.h"
#include "hosts-members.h"
#include "hosts-story.h"
#include "sim-host.h"
#include "sim-store.h"
#include "str.h"
#include "test.h"
#include "unit-state.h"

#define ORDER_US (30 * USEC_PER_SEC) // a host without a fault for so long is in order
#define CALM_US (180 * USEC_PER_SEC) // by then what must come true has
#define STAYS_US (5 * USEC_PER_SEC)

// When each unit was last to run everywhere: copies end one after the other.
static uint64_t global_us[WORLD_UNITS_MAX];

// Which may end by themselves until that has been looked at.
static bool may_end[WORLD_UNITS_MAX];

static void look_at_begun(void *data);

static bool may_be_everywhere(unsigned i) {
        return (log_truth.units[i].exists && log_truth.units[i].global) ||
               (global_us[i] > 0 && sim_now_us() < global_us[i] + ORDER_US);
}

// At any moment, whatever is broken. A copy that began when its content did not ask for a guard is none that
// the cluster waits for.
static void on_unit(SimMachine *m, const char *name, Argosy__ActiveState was, Argosy__ActiveState is) {
        int i = world_unit_index(name);

        if (i < 0 || active_state_is_down(was) == active_state_is_down(is))
                return;
        hosts_story.n_transitions++;
        story_event(active_state_is_down(is) ? "ends" : "begins", m->number, (uint64_t) i, "%s", name);
        if (!active_state_is_down(is))
                sim_at(sim_now_us(), NULL, look_at_begun, (void *) (uintptr_t) i);
}

void places_begin(void) {
        memset(global_us, 0, sizeof(global_us));
        sim_cluster_on_unit(on_unit);
}

void places_on_entry(const Argosy__LogBatch *batch) {
        for (size_t i = 0; i < log_truth.n_touched; i++)
                if (log_truth.touched[i].before.global || log_truth.touched[i].after.global)
                        global_us[log_truth.touched[i].unit] = sim_now_us() + 1;
}

// Or is about to begin or to end there.
static uint32_t places_of(unsigned i) {
        uint32_t bits = 0;

        sim_foreach_place(place) {
                FakePid1 *p = sim_place_pid1(place);

                if (p && !active_state_is_down(pid1_active_state(p, asks.units[i].name)))
                        bits |= 1u << place;
        }
        return bits;
}

// -------------------------------------------------------------------------------------------- in the middle

static bool is_in_order(uint32_t number) {
        const SimMachine *m = sim_machine(number);

        return m->daemon && m->daemon->attached && members_is_in(number) &&
               sim_now_us() >= hosts_faults_last_us(number) + ORDER_US;
}

static void look_at(unsigned i) {
        uint32_t bits = places_of(i), first = 0;

        if (may_be_everywhere(i))
                return;
        sim_foreach_place(place) {
                if (!(bits & 1u << place) || !is_in_order(sim_place_number(place)))
                        continue;
                check_says("two-places");
                if (first)
                        check_fail("two-places", "%s runs on %s and on %s, which are in order",
                                   asks.units[i].name, sim_place_name(first), sim_place_name(place));
                first = place;
        }
}

void places_on_look(void) {
        for (unsigned i = 0; i < asks.n_units; i++)
                look_at(i);
}

// It has begun somewhere, in this moment.
static void look_at_begun(void *data) {
        unsigned i = (unsigned) (uintptr_t) data;
        uint32_t first = 0;

        hosts_story_catch_up();
        look_at(i);
        for (uint32_t n = 1; n <= sim_cluster_size(); n++) {
                const SimMachine *m = sim_machine(n);

                if (!m->powered || pid1_guard_sec(m->pid1, asks.units[i].name) < 0 || may_be_everywhere(i))
                        continue;
                // Whoever removes a lost host, or another one by force, says that nothing of these runs
                // there any more (argosy-unit(5), CutOff=).
                if (!members_record(n) && !members_left_alive(n))
                        continue;
                check_says("never-in-two-places");
                if (first)
                        check_fail("never-in-two-places",
                                   "%s, which has CutOff=stop, runs on n%u and on n%u", asks.units[i].name,
                                   first, n);
                first = n;
        }
}

// ----------------------------------------------------------------------------------------------- in the end

static bool is_users(const Argosy__NodeRecord *n) {
        return !streq(n->manager, "system");
}

static uint32_t place_of(uint32_t node) {
        const Argosy__HostRecord *h = node ? cluster_state_find_host_by_node(hosts_story.truth, node) : NULL;
        uint32_t machine = h ? members_machine_of(h->host) : 0;

        for (size_t i = 0; machine && i < h->n_nodes; i++)
                if (h->nodes[i]->node == node && is_users(h->nodes[i]))
                        return machine + SIM_USER_PLACE;
        return machine;
}

// Of the system's, or of users' managers.
static bool any_is_open(bool users) {
        for (const Argosy__HostRecord *h = cluster_state_next_host(hosts_story.truth, 0); h;
             h = cluster_state_next_host(hosts_story.truth, h->host))
                for (size_t i = 0; i < h->n_nodes; i++)
                        if (is_users(h->nodes[i]) == users &&
                            h->nodes[i]->mode == ARGOSY__NODE_MODE__MODE_OPEN)
                                return true;
        return false;
}

// Another one's content keeps it from nodes.
static bool is_barred(unsigned i) {
        for (unsigned k = 0; k < asks.n_units; k++) {
                const WorldContent *c = log_content(&log_truth.units[k]);

                if (k != i && c && (c->conflicts | c->replaces) & 1u << i)
                        return true;
        }
        return false;
}

// Of nodes, or of others.
static bool has_demands(const WorldContent *c) {
        return c->global || c->demands & (DEMANDS_HOSTS | DEMANDS_MORE);
}

// What it needs is known, and there is nothing of it.
static bool is_plain(unsigned i) {
        const Argosy__UnitRecord *r = asks_record(asks.units[i].name);
        const WorldContent *c = world_content_find(log_truth.units[i].spec.bytes);

        return c && !c->bad && !c->oneshot && !c->careless && !has_demands(c) && r->n_outcomes == 0 &&
               !is_barred(i);
}

// With an older content it may end by itself, if that is one that does something once.
static bool runs_with_another_content(unsigned i) {
        sim_foreach_place(place) {
                FakePid1 *p = sim_place_pid1(place);
                const char *content = p ? pid1_running(p, asks.units[i].name) : NULL;
                Hash hash = content ? hash_of(content, strlen(content)) : (Hash){};

                if (content && !hash_equal(&hash, &log_truth.units[i].spec))
                        return true;
        }
        return false;
}

// NULL: it is as it is to be.
static const char *why_not_reached(unsigned i) {
        const LogUnit *u = &log_truth.units[i];
        uint32_t bits = places_of(i), place;
        const WorldContent *c;

        if (!u->exists || u->target != ARGOSY__TARGET__TARGET_LAUNCHED)
                return bits ? "runs, and is not to" : NULL;
        if (u->global)
                return NULL;
        place = place_of(u->node);
        if (bits & ~(place ? 1u << place : 0))
                return "runs on another node than the one that it is given";
        if (!is_plain(i))
                return NULL;
        c = world_content_find(u->spec.bytes);
        if (place == 0)
                return any_is_open(c->managers != NULL) ? "has no node, and there is one that could have it"
                                                        : NULL;
        return bits || may_end[i] ? NULL : "does not run where it is to run";
}

static const char *first_why(unsigned *ret) {
        const char *why;

        for (*ret = 0; *ret < asks.n_units; ++*ret) {
                why = why_not_reached(*ret);
                if (why)
                        return why;
        }
        return NULL;
}

static bool all_are_reached(void *data) {
        unsigned i;

        return !first_why(&i);
}

static void check_reached(const char *check) {
        unsigned i;
        const char *why = first_why(&i);

        if (why)
                check_fail(check, "%s %s (node %u, places %x)", asks.units[i].name, why,
                           log_truth.units[i].node, places_of(i));
}

void reached_on_calm(void) {
        (void) sim_run_until(all_are_reached, NULL, CALM_US);
        check_reached("wishes-are-reached");
        for (unsigned i = 0; i < asks.n_units; i++)
                if (log_truth.units[i].exists &&
                    log_truth.units[i].target == ARGOSY__TARGET__TARGET_LAUNCHED)
                        check_says("wishes-are-reached");
}

// What goes on by itself (an update, a drain) may pass through what is not reached.
void stays_on_calm(void) {
        uint64_t before = hosts_story.truth_index;

        for (unsigned i = 0; i < asks.n_units; i++)
                may_end[i] = runs_with_another_content(i);
        sim_run_for(STAYS_US);
        hosts_story_catch_up();
        if (hosts_story.truth_index == before) {
                check_says("wishes-stay-reached");
                check_reached("wishes-stay-reached");
        }
        memset(may_end, 0, sizeof(may_end));
        if (hosts_story.truth_index != before)
                return;
        // A host that finds another address of its own attaches anew.
        if (!sim_run_until(hosts_checks_have_leader, NULL, STAYS_US)) {
                members_tell();
                check_fail("wishes-stay-reached", "nothing is broken, and the leader was lost");
        }
}
