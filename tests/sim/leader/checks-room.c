// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Checks of room: what units reserve on a host is there when one is placed on it, and instances that are to
// be spread are.
//
// Both are about what an entry places, by the contents as they were written (world-options.c). A unit that
// gets another content where it is stays there, whatever that reserves.
#include <stdio.h>
#include <string.h>

#include "checks-private.h"
#include "test.h"

static bool is_placed(const struct LogTouched *t) {
        const LogUnit *u = &log_truth.units[t->unit];

        return u->exists && u->node > 0 && !u->global &&
               (!t->before.exists || t->before.node != u->node || t->before.global);
}

// --------------------------------------------------------------------------------------------- reservations

typedef struct Room {
        unsigned cpu_milli, memory_mib;
} Room;

static unsigned least(unsigned a, unsigned b) {
        return a < b ? a : b;
}

static Room room_of(unsigned i) {
        const LogUnit *u = &log_truth.units[i], *was = &log_truth.units_before[i];
        const WorldContent *c = u->global ? NULL : log_content(u), *former = log_content(was);

        if (!c)
                return (Room){};
        // Another content may have come to it by the same entry, behind what is placed.
        if (former && was->node == u->node)
                return (Room){least(c->cpu_milli, former->cpu_milli),
                              least(c->memory_mib, former->memory_mib)};
        return (Room){c->cpu_milli, c->memory_mib};
}

static Room reserved_on(uint32_t host) {
        Room sum = {};

        for (unsigned i = 0; i < asks.n_units; i++)
                if (log_truth.units[i].exists && log_truth.units[i].node > 0 &&
                    places_host_of(log_truth.units[i].node) == host) {
                        sum.cpu_milli += room_of(i).cpu_milli;
                        sum.memory_mib += room_of(i).memory_mib;
                }
        return sum;
}

static void one_room(const struct LogTouched *t) {
        const LogUnit *u = &log_truth.units[t->unit];
        const WorldContent *c = log_content(u);
        uint32_t host = places_host_of(u->node);
        const RigHost *h = host > 0 && host <= asks.swarm.hosts ? rig_host(&world.rig, host) : NULL;
        Room sum;

        if (!c || (!c->cpu_milli && !c->memory_mib) || !h || h->cpu_milli == 0 || h->lies)
                return;
        check_says("room-is-there");
        sum = reserved_on(host);
        if (c->cpu_milli && sum.cpu_milli > h->cpu_milli)
                check_fail("room-is-there",
                           "%s is placed on n%u, whose units reserve %u thousandths of a core then, of %u",
                           asks.units[t->unit].name, host, sum.cpu_milli, h->cpu_milli);
        if (c->memory_mib && sum.memory_mib > h->memory_mib)
                check_fail("room-is-there", "%s is placed on n%u, whose units reserve %u MiB then, of %u",
                           asks.units[t->unit].name, host, sum.memory_mib, h->memory_mib);
}

// ------------------------------------------------------------------------------------------------ spread

static const char *host_domain(uint32_t host) {
        static char names[2][WORLD_NAME_SIZE];
        static unsigned at;

        at = !at;
        snprintf(names[at], WORLD_NAME_SIZE, "%u", host);
        return names[at];
}

// The value of the label by which it is spread, behind the entry or before it: whoever decides sees the
// former, and may change it in the same entry. NULL: the host has none.
static const char *domain_of(const WorldContent *c, uint32_t host, bool former) {
        const char *zone;

        if (strcmp(c->spread, "host") == 0)
                return host_domain(host);
        zone = former ? places_former_zone_of(host) : places_zone_of(host);
        return zone && *zone ? zone : NULL;
}

static bool is_in(const WorldContent *c, const LogUnit *u, const char *domain, bool former) {
        uint32_t host = u->exists && !u->global ? places_host_of(u->node) : 0;
        const char *of = host ? domain_of(c, host, former) : NULL;

        return of && strcmp(of, domain) == 0;
}

static bool is_of_template(unsigned i, unsigned k) {
        return strcmp(asks.units[i].file, asks.units[k].file) == 0;
}

// Instances that are spread in the same way and are there for certain.
static unsigned count_least(unsigned of, const WorldContent *c, const char *domain) {
        unsigned n = 0;

        for (unsigned k = 0; k < asks.n_units; k++) {
                const LogUnit *u = &log_truth.units[k];
                const WorldContent *other = log_content(u);

                n += is_of_template(of, k) && other && other->spread &&
                     strcmp(other->spread, c->spread) == 0 && is_in(c, u, domain, false) &&
                     is_in(c, u, domain, true);
        }
        return n;
}

// Instances that are there after the entry, or were before it.
static unsigned count_most(unsigned of, const WorldContent *c, const char *domain) {
        unsigned n = 0;

        for (unsigned k = 0; k < asks.n_units; k++) {
                const LogUnit *u = &log_truth.units[k], *was = &log_truth.units_before[k];

                n += is_of_template(of, k) && (is_in(c, u, domain, false) || is_in(c, u, domain, true) ||
                                               is_in(c, was, domain, false) || is_in(c, was, domain, true));
        }
        return n;
}

// It has no other demand that could keep it from a host.
static bool is_spread_alone(const WorldContent *c) {
        return c->spread && !c->careless && !(c->demands & DEMANDS_HOSTS);
}

static bool has_another(const LogUnit *u, const WorldContent *c) {
        return u->exists && log_content(u) != c;
}

// Placed with another content, and so perhaps by other rules; it may get this one in the same entry, behind
// those that are placed by it.
static bool has_other_contents(unsigned of, const WorldContent *c) {
        for (unsigned k = 0; k < asks.n_units; k++)
                if (is_of_template(of, k) &&
                    (has_another(&log_truth.units[k], c) || has_another(&log_truth.units_before[k], c)))
                        return true;
        return false;
}

// Others are no group: a unit that stands alone is where it is.
static bool is_instance(unsigned i) {
        return strcmp(asks.units[i].file, asks.units[i].name) != 0;
}

static void one_spread(const struct LogTouched *t) {
        const WorldContent *c = log_content(&log_truth.units[t->unit]);
        uint32_t host = places_host_of(log_truth.units[t->unit].node);
        const char *domain = c && c->spread && host ? domain_of(c, host, true) : NULL;
        unsigned n;

        if (!c || !c->spread || !host || places_lies(log_truth.units[t->unit].node) || !is_instance(t->unit))
                return;
        if (!domain && !domain_of(c, host, false))
                check_fail("spread-is-kept", "%s is placed on n%u, which has no label '%s'",
                           asks.units[t->unit].name, host, c->spread);
        if (!domain || !is_spread_alone(c) || has_other_contents(t->unit, c) || places_are_barred(t->unit))
                return;
        check_says("spread-is-kept");
        n = count_least(t->unit, c, domain);
        for (uint32_t k = 1; k <= asks.swarm.hosts; k++) {
                const char *other = places_is_certain(k) ? domain_of(c, k, true) : NULL;

                if (other && n > count_most(t->unit, c, other) + c->spread_skew)
                        check_fail(
                                "spread-is-kept",
                                "%s is placed on n%u, where %u instances are then, and %u are where n%u is",
                                asks.units[t->unit].name, host, n, count_most(t->unit, c, other), k);
        }
}

void room_on_entry(const Argosy__LogBatch *batch) {
        if (!asks.swarm.loads[LOAD_options])
                return;
        for (size_t i = 0; i < log_truth.n_touched; i++)
                if (is_placed(&log_truth.touched[i])) {
                        one_room(&log_truth.touched[i]);
                        one_spread(&log_truth.touched[i]);
                }
}
