// SPDX-License-Identifier: LGPL-2.1-or-later

// See fleet-units.h. A name has a list of the hosts that run it, mostly one.
//
// Happy path: a host names what it runs -> the Placement confines those names to it
// (scheduler_sync_refusals()) -> a start goes to the host, which takes the unit over and names it no more.
//
// A host that names more than FLEET_UNITS_MAX, or what is no name of a unit, is believed as far as that.

#include "fleet-units.h"

#include <stdlib.h>
#include <string.h>

#include "host-complaints.h"
#include "host-marks.h"
#include "oom.h"
#include "registry.h"
#include "str.h"
#include "unit-name.h"

typedef struct FleetUnit {
        ListNode holders; // Holder.of_name
        char name[];
} FleetUnit;

typedef struct Holder {
        ListNode of_name, of_host;
        FleetUnit *unit;
        Host *host;
        bool named; // by the message that is read
} Holder;

static FleetUnit *find(const Leader *l, const char *name) {
        return map_find_str(&l->fleet_units, name);
}

static void mark(Leader *l, const char *name) {
        Unit *u = unit_find(l, name);

        if (u)
                unit_mark_refusals(l, u);
}

static void drop(Leader *l, Holder *x, bool marks) {
        FleetUnit *f = x->unit;

        list_unlink(&x->of_name);
        list_unlink(&x->of_host);
        free(x);
        if (marks)
                mark(l, f->name);
        if (!list_is_empty(&f->holders))
                return;
        map_take_str(&l->fleet_units, f->name);
        free(f);
}

static void drop_all(Leader *l, Host *h, bool marks) {
        list_foreach_safe (i, &h->fleet.units)
                drop(l, CONTAINER_OF(i, Holder, of_host), marks);
        free(h->fleet.directory);
        h->fleet.directory = NULL;
}

// Marks the unit if the name is new there, or if `marks`. `known`: Holder by name, of this host; thousands
// may name the unit.
static void add(Leader *l, Host *h, Map *known, const char *name, bool marks) {
        Holder *x = map_find_str(known, name);
        FleetUnit *f;

        if (x) {
                x->named = true;
                if (marks)
                        mark(l, name);
                return;
        }
        if (unit_name_kind(name, NULL) == UNIT_NAME_INVALID)
                return;
        f = find(l, name);
        if (!f) {
                f = oom_checked(MAP_NEW_STR(&l->fleet_units, FleetUnit, name, name));
                list_init(&f->holders);
        }
        x = oom_checked(calloc(1, sizeof *x));
        x->unit = f;
        x->host = h;
        x->named = true;
        list_append(&f->holders, &x->of_name);
        list_append(&h->fleet.units, &x->of_host);
        oom_check(map_add_str(known, f->name, x));
        mark(l, name);
}

static void drop_unnamed(Leader *l, Host *h) {
        list_foreach_safe (i, &h->fleet.units) {
                Holder *x = CONTAINER_OF(i, Holder, of_host);

                if (!x->named)
                        drop(l, x, true);
        }
}

static void set_unknown(Leader *l, Host *h, bool unknown) {
        l->n_fleet_unknown += unknown - h->fleet.unknown;
        h->fleet.unknown = unknown;
}

void fleet_units_set(Leader *l, Host *h, const Argosy__FleetUnits *said) {
        Map known = {};
        bool marks;

        set_unknown(l, h, said && !*said->directory);
        if (h->fleet.unknown)
                return;
        if (!said || said->n_units == 0) {
                drop_all(l, h, true);
                return;
        }
        marks = h->fleet.taken_over != said->taken_over || h->fleet.runs != said->fleet_runs;
        free(h->fleet.directory);
        h->fleet.directory = oom_checked(strndup(said->directory, REASON_MAX));
        h->fleet.taken_over = said->taken_over;
        h->fleet.runs = said->fleet_runs;
        list_foreach (i, &h->fleet.units) {
                Holder *x = CONTAINER_OF(i, Holder, of_host);

                x->named = false;
                oom_check(map_add_str(&known, x->unit->name, x));
        }
        for (size_t i = 0; i < said->n_units && i < FLEET_UNITS_MAX; i++)
                add(l, h, &known, said->units[i], marks);
        map_done(&known);
        drop_unnamed(l, h);
}

void fleet_units_mark(Leader *l, const Host *h) {
        list_foreach (i, &h->fleet.units)
                mark(l, CONTAINER_OF(i, Holder, of_host)->unit->name);
}

void fleet_units_retire(Leader *l) {
        map_foreach (slot, &l->hosts) {
                set_unknown(l, slot->value, false);
                drop_all(l, slot->value, false);
        }
}

bool fleet_units_has(const Leader *l, const char *name) {
        return l->fleet_units.count > 0 && find(l, name);
}

static bool takes_over(const Host *h) {
        return h->fleet.taken_over && !h->fleet.runs;
}

static const Node *system_node(const Host *h) {
        list_foreach (i, &h->nodes)
                if (streq(CONTAINER_OF(i, Node, of_host)->manager, "system"))
                        return CONTAINER_OF(i, Node, of_host);
        return NULL;
}

FleetUnitNodes fleet_units_nodes(const Leader *l, const char *name) {
        const FleetUnit *f = find(l, name);

        return f ? (FleetUnitNodes){f->holders.next, &f->holders} : (FleetUnitNodes){};
}

const Node *fleet_units_next_node(FleetUnitNodes *nodes) {
        while (nodes->at != nodes->end) {
                const Host *h = CONTAINER_OF(nodes->at, const Holder, of_name)->host;
                const Node *n = takes_over(h) ? system_node(h) : NULL;

                nodes->at = nodes->at->next;
                if (n)
                        return n;
        }
        return NULL;
}

bool fleet_units_bars(const Leader *l, const char *name, const Node *n) {
        const FleetUnit *f = find(l, name);

        if (!f)
                return false;
        list_foreach (i, &f->holders) {
                const Host *h = CONTAINER_OF(i, Holder, of_name)->host;

                if (h == n->host && streq(n->manager, "system"))
                        return !takes_over(h);
        }
        return true;
}

bool fleet_units_unknown(const Leader *l, char *ret, size_t size) {
        if (l->n_fleet_unknown == 0)
                return false;
        map_foreach (slot, &l->hosts) {
                const Host *h = slot->value;

                if (!h->fleet.unknown || host_is_lost(h))
                        continue;
                str_fit(ret, size,
                        "%s has not found out yet which units it runs from the directory of fleet: start it "
                        "again in a moment",
                        host_name(l, h));
                return true;
        }
        return false;
}

bool fleet_units_why(const Leader *l, const char *name, char *ret, size_t size) {
        const FleetUnit *f = find(l, name);
        const Host *h = f ? CONTAINER_OF(f->holders.next, Holder, of_name)->host : NULL;
        const char *what = NULL, *who;

        if (!h)
                return false;
        who = host_name(l, h);
        if (!h->attached)
                what = "and that host is not heard: only it can take the unit over";
        else if (h->fleet.runs)
                what = "and fleetd still runs there: end it on all hosts as argosy-fleet(7) says, then "
                       "start the unit again";
        else if (!h->fleet.taken_over)
                what = "and does not take it over: set TakeOver= in section [Fleet] there and reload "
                       "argosyd, or stop the unit there with systemctl";
        else
                what = "where alone it can be taken over, and that node does not take it";
        str_fit(ret, size, "%s runs it from %s, %s", who, h->fleet.directory, what);
        return true;
}
