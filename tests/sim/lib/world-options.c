// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What units demand: each option of [X-Argosy] and [X-Fleet] has a row, which a test compares with the
// product's own table. What a row writes is noted in the content as plain facts. Rows know what excludes
// each other and say nothing then, but for a careless author.
#include "world-options.h"

#include <stdio.h>
#include <string.h>

#include "asks.h"
#include "batch.h"
#include "macro.h"
#include "str.h"
#include "test.h"
#include "unit-file.h"
#include "world-parts.h"

// Options that have to do with each other. A story with a theme says most often those of it, so that units
// meet in what they say (Swarm.theme).
typedef enum Theme {
        ROOM = 1 << 0,     // there is too little of it, and somebody gives way
        COMPANY = 1 << 1,  // who is on one node with whom
        WHERE = 1 << 2,    // rather here than there, and as far apart as may be
        ORDER = 1 << 3,    // what comes after what
        TROUBLE = 1 << 4,  // what becomes of units that fail, or are lost
        CARRIED = WORLD_THEME_CARRIED, // what comes with the file of a unit
        GIVES_WAY = WORLD_THEME_CONTENTION, // groups with budgets, and who takes their places
} Theme;

typedef struct Options {
        Buf text;
        WorldContent *c;
        const WorldUnit *u;
        bool careless; // says also what excludes each other
        bool fleet;    // the section is [X-Fleet]
        bool manager;  // there is a Manager=
        bool spread;   // or one of the two that spread
        bool kept;     // NodeLost= is not move
        bool label;    // there is a label that it requires
} Options;

typedef struct Row {
        const char *name;
        bool (*put)(Draw *d, Options *o); // false: it says nothing
        unsigned demands;                 // WorldDemands
        unsigned themes;
        bool not_with_global, not_with_machine;
} Row;

static bool put(Options *o, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool put(Options *o, const char *format, ...) {
        char line[512];
        va_list ap;

        va_start(ap, format);
        assert_in_range(vsnprintf(line, sizeof(line), format, ap), 0, sizeof(line) - 1);
        va_end(ap);
        assert_int_equal(buf_printf(&o->text, "%s\n", line), 0);
        return true;
}

// Another unit, of another file. Where it is about who is beside whom that may be another instance of the
// same template.
static int draw_other(Draw *d, const Options *o) {
        unsigned i = draw_below(d, (unsigned) asks.n_units);
        bool same = asks.swarm.theme & COMPANY && strcmp(asks.units[i].name, o->u->name) != 0;

        return o->careless || same || strcmp(asks.units[i].file, o->u->file) != 0 ? (int) i : -1;
}

// ---------------------------------------------------------------------------------------------- which nodes

static unsigned draw_hosts(Draw *d) {
        unsigned bits = 0;

        for (unsigned n = 1 + draw_below(d, 3); n > 0; n--)
                bits |= 1u << draw_below(d, asks.swarm.hosts);
        return bits;
}

static bool put_host(Draw *d, Options *o) {
        if (o->c->hosts)
                return false;
        o->c->hosts = draw_hosts(d);
        for (unsigned i = 0; i < asks.swarm.hosts; i++)
                if (o->c->hosts >> i & 1)
                        (void) put(o, "Host=n%u", i + 1);
        return true;
}

static bool machine(Draw *d, Options *o, const char *option) {
        unsigned host = draw_below(d, asks.swarm.hosts);
        char name[16], hex[HASH_HEX_SIZE];
        Hash hash;

        if (o->c->hosts ||
            ((o->c->global || o->c->same_node || o->c->conflicts || o->c->replaces) && !o->careless))
                return false;
        // as batch_host() has it
        hash = hash_of(name, (size_t) snprintf(name, sizeof(name), "n%u", host + 1));
        hash_hex(&hash, 16, hex);
        o->c->hosts = 1u << host;
        o->c->machine = true;
        return put(o, "%s=%s", option, hex);
}

static bool put_machine_id(Draw *d, Options *o) {
        return machine(d, o, "MachineID");
}

static bool put_condition_machine_id(Draw *d, Options *o) {
        return machine(d, o, "X-ConditionMachineID");
}

static bool zone(Draw *d, Options *o, const char *option) {
        if (o->label)
                return false;
        o->label = true;
        o->c->zone = DRAW_PICK(d, world_zones);
        return put(o, "%s=zone=%s", option, o->c->zone);
}

static bool put_metadata(Draw *d, Options *o) {
        return zone(d, o, "MachineMetadata");
}

static bool put_condition_metadata(Draw *d, Options *o) {
        return zone(d, o, "X-ConditionMachineMetadata");
}

static bool put_require_label(Draw *d, Options *o) {
        static const char *const others[] = {"!disk", "disk", "zone!=a", "disk=fast|slow"};

        if (draw_below(d, 3) > 0)
                return zone(d, o, "RequireLabel");
        if (o->label)
                return false;
        o->label = true;
        o->c->other_label = DRAW_PICK(d, others);
        return put(o, "RequireLabel=%s", o->c->other_label);
}

static bool put_pool(Draw *d, Options *o) {
        o->c->pool = DRAW_PICK(d, world_pools);
        return put(o, "Pool=%s", o->c->pool);
}

static bool put_manager(Draw *d, Options *o) {
        static const char *const managers[] = {"system", "user@*", "* system"};

        if ((o->c->secret || o->c->n_files > 0 || o->c->cut_off_stop) && !o->careless)
                return false;
        o->manager = true;
        o->c->managers = DRAW_PICK(d, managers);
        return put(o, "Manager=%s", o->c->managers);
}

static bool put_global(Draw *d, Options *o) {
        return false; // comes before all others
}

// ------------------------------------------------------------------------------------------------ with whom

static bool same_node(Draw *d, Options *o, const char *option) {
        int other = draw_other(d, o);

        if (other < 0 || o->c->same_node ||
            ((o->c->conflicts | o->c->replaces) >> other & 1 && !o->careless))
                return false;
        o->c->same_node |= 1u << other;
        return put(o, "%s=%s", option, asks.units[other].name);
}

static bool put_machine_of(Draw *d, Options *o) {
        return same_node(d, o, "MachineOf");
}

static bool put_same_node_as(Draw *d, Options *o) {
        return same_node(d, o, "SameNodeAs");
}

static bool put_condition_machine_of(Draw *d, Options *o) {
        return same_node(d, o, "X-ConditionMachineOf");
}

// Of siblings all at once, by a pattern: bits of them; 0: by its name.
static unsigned draw_siblings(Draw *d, const Options *o, int other) {
        unsigned bits = 0;

        if (asks.swarm.siblings == 0 || other < 0 || streq(o->u->file, "t0@.service") ||
            !streq(asks.units[other].file, "t0@.service") || draw_one_in(d, 3))
                return 0;
        for (unsigned i = 0; i < asks.n_units; i++)
                bits |= (unsigned) streq(asks.units[i].file, "t0@.service") << i;
        return bits;
}

static bool conflicts(Draw *d, Options *o, const char *option) {
        int other = draw_other(d, o);

        if (other < 0 || ((o->c->replaces || o->c->same_node >> other & 1) && !o->careless))
                return false;
        o->c->conflicts |= 1u << other;
        return put(o, "%s=%s", option, asks.units[other].name);
}

static bool put_conflicts(Draw *d, Options *o) {
        return conflicts(d, o, "Conflicts");
}

static bool put_x_conflicts(Draw *d, Options *o) {
        return conflicts(d, o, "X-Conflicts");
}

static bool put_replaces(Draw *d, Options *o) {
        int other = draw_other(d, o);
        unsigned all;

        if (other < 0 || ((o->c->conflicts || o->c->same_node) && !o->careless))
                return false;
        all = draw_siblings(d, o, other);
        o->c->replaces |= all ?: 1u << other;
        return put(o, "Replaces=%s", all ? "t0@*.service" : asks.units[other].name);
}

static bool depend(Draw *d, Options *o, const char *option, unsigned *bits) {
        int other = draw_other(d, o);

        if (other < 0)
                return false;
        *bits |= 1u << other;
        return put(o, "%s=%s", option, asks.units[other].name);
}

static bool put_after(Draw *d, Options *o) {
        return depend(d, o, "After", &o->c->after);
}

static bool put_before(Draw *d, Options *o) {
        return depend(d, o, "Before", &o->c->before);
}

static bool put_requires(Draw *d, Options *o) {
        return depend(d, o, "Requires", &o->c->requires);
}

static bool put_binds_to(Draw *d, Options *o) {
        return depend(d, o, "BindsTo", &o->c->binds_to);
}

static bool put_wants(Draw *d, Options *o) {
        return depend(d, o, "Wants", &o->c->wants);
}

static bool put_part_of(Draw *d, Options *o) {
        return depend(d, o, "PartOf", &o->c->part_of);
}

// --------------------------------------------------------------------------------------------- rather where

static bool put_prefer_label(Draw *d, Options *o) {
        return put(o, "PreferLabel=zone=%s:%u", DRAW_PICK(d, world_zones), 1 + draw_below(d, 1000));
}

static bool put_spread(Draw *d, Options *o) {
        if (o->spread)
                return false;
        o->spread = true;
        o->c->spread = draw_one_in(d, 2) ? "zone" : "host";
        o->c->spread_skew = 1 + draw_below(d, 3);
        return put(o, "SpreadOver=%s:%u", o->c->spread, o->c->spread_skew);
}

static bool put_prefer_spread(Draw *d, Options *o) {
        if (o->spread)
                return false;
        o->spread = true;
        return put(o, "PreferSpreadOver=%s", draw_one_in(d, 2) ? "zone" : "host");
}

static bool put_packing(Draw *d, Options *o) {
        return put(o, "Packing=%s", draw_one_in(d, 2) ? "yes" : "no");
}

static bool put_rebalance(Draw *d, Options *o) {
        o->c->stays = draw_one_in(d, 2);
        return put(o, "Rebalance=%s", o->c->stays ? "no" : "yes");
}

// ----------------------------------------------------------------------------------- how much, and for whom

// So much that few units fill a host; without that theme any amount.
static unsigned draw_share(Draw *d, unsigned all) {
        return asks.swarm.theme & (ROOM | GIVES_WAY) ? all * (2 + draw_below(d, 7)) / 8
                                                     : (unsigned) draw_log(d, 1, all);
}

static bool put_cpu(Draw *d, Options *o) {
        o->c->cpu_milli = draw_share(d, WORLD_CPU_MILLI);
        return put(o, "ReserveCPU=%u.%03u", o->c->cpu_milli / 1000, o->c->cpu_milli % 1000);
}

static bool put_memory(Draw *d, Options *o) {
        o->c->memory_mib = draw_share(d, WORLD_MEMORY_MIB);
        return put(o, "ReserveMemory=%uM", o->c->memory_mib);
}

static bool put_resource(Draw *d, Options *o) {
        o->c->gpus = 1 + draw_below(d, 2);
        return put(o, "ReserveResource=gpu:%u", o->c->gpus);
}

static bool put_role(Draw *d, Options *o) {
        o->c->role = DRAW_PICK(d, world_roles);
        return put(o, "Role=%s", o->c->role);
}

static bool put_priority(Draw *d, Options *o) {
        o->c->priority = (int) draw_below(d, 11) - 5;
        return put(o, "Priority=%d", o->c->priority);
}

static bool put_preemptible(Draw *d, Options *o) {
        o->c->preemptible = draw_one_in(d, 2) ? 1 : -1;
        return put(o, "Preemptible=%s", o->c->preemptible > 0 ? "yes" : "no");
}

static bool put_max_unavailable(Draw *d, Options *o) {
        o->c->max_unavailable = 1 + draw_below(d, 3);
        o->c->max_unavailable_percent = draw_one_in(d, 3);
        if (!o->c->max_unavailable_percent)
                return put(o, "MaxUnavailable=%u", o->c->max_unavailable);
        o->c->max_unavailable = 1 + draw_below(d, 100);
        return put(o, "MaxUnavailable=%u%%", o->c->max_unavailable);
}

// ------------------------------------------------------------------------------------- when things go wrong

static bool put_node_lost(Draw *d, Options *o) {
        static const char *const words[] = {"move", "keep", "never"};

        if (o->kept || ((o->c->delay_sec || o->c->restart_elsewhere) && !o->careless))
                return false;
        o->c->node_lost = DRAW_PICK(d, words);
        o->kept = !streq(o->c->node_lost, "move");
        return put(o, "NodeLost=%s", o->c->node_lost);
}

static bool put_node_lost_delay(Draw *d, Options *o) {
        if (o->kept && !o->careless)
                return false;
        o->c->delay_sec = 1 + draw_below(d, 5);
        return put(o, "NodeLostDelaySec=%u", o->c->delay_sec);
}

static bool put_cut_off(Draw *d, Options *o) {
        if (o->manager && !o->careless)
                return false;
        o->c->cut_off_stop = draw_below(d, 4) > 0;
        return put(o, "CutOff=%s", o->c->cut_off_stop ? "stop" : "keep");
}

static bool put_cut_off_sec(Draw *d, Options *o) {
        if (!o->c->cut_off_stop && !o->careless)
                return false;
        return put(o, "CutOffSec=%u", 1 + draw_below(d, 5));
}

static bool put_restart(Draw *d, Options *o) {
        if ((o->kept || o->c->oneshot) && !o->careless)
                return false;
        o->c->restart_elsewhere = 1 + draw_below(d, 3);
        return put(o, "RestartElsewhere=%u", o->c->restart_elsewhere);
}

static bool put_restart_decay(Draw *d, Options *o) {
        if (!o->c->restart_elsewhere && !o->careless)
                return false;
        return put(o, "RestartElsewhereDecaySec=%u", 1 + draw_below(d, 10));
}

static bool put_outcome_unknown(Draw *d, Options *o) {
        if (!o->c->oneshot && !o->careless)
                return false;
        o->c->rerun_unknown = draw_one_in(d, 2);
        return put(o, "OutcomeUnknown=%s", o->c->rerun_unknown ? "rerun" : "keep");
}

// --------------------------------------------------------------------------------------- what comes with it

static bool put_secret(Draw *d, Options *o) {
        if (o->manager && !o->careless)
                return false;
        o->c->secret = DRAW_PICK(d, world_secrets);
        return put(o, draw_one_in(d, 2) ? "Secret=%s" : "Secret=%s:key", o->c->secret);
}

static bool put_file(Draw *d, Options *o) {
        if (o->manager && !o->careless)
                return false;
        world_parts_name_files(d, &o->text, o->c, o->u);
        return true;
}

static bool put_file_change(Draw *d, Options *o) {
        static const char *const words[] = {"restart", "reload", "none"};

        if (o->c->n_files == 0 && !o->careless)
                return false;
        o->c->file_change = DRAW_PICK(d, words);
        return put(o, "FileChange=%s", o->c->file_change);
}

static bool put_boot_id(Draw *d, Options *o) {
        return o->careless && put(o, "X-ConditionMachineBootID=00000000000000000000000000000001");
}

// ------------------------------------------------------------------------------------------------ the table

static const Row rows[] = {
        {"MachineID", put_machine_id, DEMANDS_HOSTS, 0, true},
        {"MachineMetadata", put_metadata, DEMANDS_HOSTS, 0},
        {"MachineOf", put_machine_of, DEMANDS_HOSTS, COMPANY, true, true},
        {"Conflicts", put_conflicts, DEMANDS_HOSTS, COMPANY, false, true},
        {"Global", put_global, DEMANDS_MORE, 0},
        {"Replaces", put_replaces, DEMANDS_HOSTS, COMPANY | GIVES_WAY, true, true},
        {"Manager", put_manager, DEMANDS_HOSTS, 0},
        {"MaxUnavailable", put_max_unavailable, DEMANDS_NOTHING, ROOM | COMPANY | CARRIED | GIVES_WAY},
        {"Rebalance", put_rebalance, DEMANDS_NOTHING, WHERE, true},
        {"File", put_file, DEMANDS_HOSTS, CARRIED},
        {"FileChange", put_file_change, DEMANDS_NOTHING, CARRIED},
        {"Host", put_host, DEMANDS_HOSTS, ROOM | COMPANY | ORDER | TROUBLE},
        {"RequireLabel", put_require_label, DEMANDS_HOSTS, WHERE},
        {"Pool", put_pool, DEMANDS_HOSTS, WHERE},
        {"PreferLabel", put_prefer_label, DEMANDS_NOTHING, WHERE, true},
        {"SameNodeAs", put_same_node_as, DEMANDS_HOSTS, COMPANY, true, true},
        {"SpreadOver", put_spread, DEMANDS_MORE, WHERE, true},
        {"PreferSpreadOver", put_prefer_spread, DEMANDS_NOTHING, WHERE, true},
        {"Packing", put_packing, DEMANDS_NOTHING, ROOM | WHERE, true},
        {"ReserveCPU", put_cpu, DEMANDS_MORE, ROOM, true},
        {"ReserveMemory", put_memory, DEMANDS_MORE, ROOM | GIVES_WAY, true},
        {"ReserveResource", put_resource, DEMANDS_MORE, ROOM, true},
        {"Role", put_role, DEMANDS_MORE, ROOM, true},
        {"Priority", put_priority, DEMANDS_NOTHING, ROOM | COMPANY | GIVES_WAY, true},
        {"Preemptible", put_preemptible, DEMANDS_NOTHING, ROOM | GIVES_WAY, true},
        {"After", put_after, DEMANDS_MORE, ORDER},
        {"Before", put_before, DEMANDS_MORE, ORDER},
        {"Requires", put_requires, DEMANDS_MORE, ORDER},
        {"BindsTo", put_binds_to, DEMANDS_MORE, ORDER},
        {"Wants", put_wants, DEMANDS_MORE, ORDER},
        {"PartOf", put_part_of, DEMANDS_MORE, ORDER},
        {"Secret", put_secret, DEMANDS_HOSTS, CARRIED},
        {"NodeLost", put_node_lost, DEMANDS_NOTHING, TROUBLE, true},
        {"NodeLostDelaySec", put_node_lost_delay, DEMANDS_NOTHING, TROUBLE, true},
        {"CutOff", put_cut_off, DEMANDS_NOTHING, TROUBLE},
        {"CutOffSec", put_cut_off_sec, DEMANDS_NOTHING, TROUBLE},
        {"RestartElsewhere", put_restart, DEMANDS_NOTHING, TROUBLE, true},
        {"RestartElsewhereDecaySec", put_restart_decay, DEMANDS_NOTHING, TROUBLE, true},
        {"OutcomeUnknown", put_outcome_unknown, DEMANDS_NOTHING, TROUBLE},
        {"X-ConditionMachineID", put_condition_machine_id, DEMANDS_HOSTS, 0, true},
        {"X-ConditionMachineMetadata", put_condition_metadata, DEMANDS_HOSTS, 0},
        {"X-ConditionMachineOf", put_condition_machine_of, DEMANDS_HOSTS, 0, true, true},
        {"X-ConditionMachineBootID", put_boot_id, DEMANDS_NOTHING, 0},
        {"X-Conflicts", put_x_conflicts, DEMANDS_HOSTS, 0, false, true},
};

// Of the names that both sections know those that fleet had.
static bool is_of_fleet(const char *name) {
        return str_has_prefix(name, "X-") || streq(name, "MachineID") || streq(name, "MachineMetadata") ||
               streq(name, "MachineOf") || streq(name, "Conflicts");
}

// Of services alone.
static bool is_of_services(const char *name) {
        static const char *const names[] = {"File",      "FileChange", "Secret",         "CutOff",
                                            "CutOffSec", "Manager",    "OutcomeUnknown", "RestartElsewhere"};

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (streq(name, names[i]))
                        return true;
        return false;
}

static bool is_reported(const Options *o, const Row *row) {
        if (o->c->activates && is_of_services(row->name))
                return false;
        if (o->fleet ? !is_of_fleet(row->name) : str_has_prefix(row->name, "X-"))
                return false;
        return o->careless ||
               !((row->not_with_global && o->c->global) || (row->not_with_machine && o->c->machine));
}

const char *world_options_missing(void) {
        for (size_t i = 0; unit_file_option(i); i++) {
                size_t k = 0;

                // of containers, whose options world-options.c does not draw
                if (streq(unit_file_option(i), "VolumeLoss") || streq(unit_file_option(i), "ImagePin") ||
                    streq(unit_file_option(i), "RegistryAuth"))
                        continue;

                while (k < ELEMENTSOF(rows) && !streq(rows[k].name, unit_file_option(i)))
                        k++;
                if (k == ELEMENTSOF(rows) || rows[k].demands == 0)
                        return unit_file_option(i);
        }
        return NULL;
}

unsigned world_options_draw_theme(Draw *d) {
        return 1u << draw_below(d, WORLD_THEMES);
}

static size_t draw_row(Draw *d, const Options *o) {
        size_t i;

        if (o->fleet && asks.swarm.fleet > 0) {
                do
                        i = draw_below(d, ELEMENTSOF(rows));
                while (!is_of_fleet(rows[i].name));
                return i;
        }
        if (asks.swarm.theme == 0 || draw_one_in(d, 6))
                return draw_below(d, ELEMENTSOF(rows));
        do
                i = draw_below(d, ELEMENTSOF(rows));
        while (!(rows[i].themes & asks.swarm.theme));
        return i;
}

// Each at most once.
void world_options_put(Draw *d, Buf *text, WorldContent *c, const WorldUnit *u) {
        Options o = {.c = c, .u = u, .careless = draw_one_in(d, 24), .fleet = draw_one_in(d, 10)};
        bool said[ELEMENTSOF(rows)] = {};

        o.fleet |= asks.swarm.fleet > 0 && draw_below(d, 64) < asks.swarm.fleet;
        c->picky = true;
        c->careless = o.careless;
        c->global = draw_one_in(d, 6) && put(&o, "Global=yes");
        for (unsigned n = 1 + draw_below(d, 5); n > 0; n--) {
                size_t i = draw_row(d, &o);

                if (!said[i] && is_reported(&o, &rows[i]))
                        said[i] = rows[i].put(d, &o);
                if (said[i])
                        c->demands |= rows[i].demands;
        }
        assert_int_equal(buf_printf(text, "[%s]\n%.*s", o.fleet ? "X-Fleet" : "X-Argosy", (int) o.text.len,
                                    o.text.len > 0 ? (char *) o.text.data : ""),
                         0);
        buf_done(&o.text);
}
