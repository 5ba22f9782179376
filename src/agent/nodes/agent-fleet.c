// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Units that systemd runs from the directory of fleet, found and told.
//
//   files may have changed -> the pool reads both directories -> each name is watched -> those that are up
//   go to the leader, with each
//   Attach and whenever they change
//
// fleet links each of its files into systemd's directory; so a name is fleet's as long as its link is there.
// Without such a directory a search is one look for it, and nothing is watched. A search that fails for want
// of memory leaves what was known.
//
// An Attach waits for the search, but not for one that hangs: after AGENT_FLEET_LATE_MS it says that it is
// not known what runs (a FleetUnits without a directory), and the leader starts nothing new until it is.

#include "agent-fleet.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent-unit.h"
#include "array.h"
#include "clock.h"
#include "log.h"
#include "message-of.h"
#include "pool.h"
#include "process-name.h"
#include "str.h"
#include "unit-name.h"
#include "unit-state.h"

enum {
        NAMES_MAX = 4096, // more are not told; the leader takes no more of one host
        TARGET_MAX = 4096,
};

// Where fleet keeps them unless its units_directory= says otherwise (fleet's fleet.conf.sample).
static const char default_directory[] = "/run/fleet/units";

typedef struct Search {
        PoolWork work;
        AgentNode *node;
        char *from, *unit_dir; // fleet's directory, and systemd's
        char **names;
        size_t n_names;
        bool runs;
        int error;
} Search;

// ---- in the pool

static bool is_linked(int dir, const char *name, const char *from) {
        char target[TARGET_MAX];
        size_t len = strlen(from);
        ssize_t n = readlinkat(dir, name, target, sizeof target - 1);

        if (n <= 0)
                return false;
        target[n] = 0;
        return strncmp(target, from, len) == 0 && target[len] == '/' && streq(target + len + 1, name);
}

static int add_name(Search *s, const char *name) {
        if (ARRAY_RESERVE(s->names, s->n_names + 1) < 0)
                return -ENOMEM;
        s->names[s->n_names] = strdup(name);
        return s->names[s->n_names++] ? 0 : -ENOMEM;
}

static bool is_unit(const char *name) {
        UnitNameKind kind = unit_name_kind(name, NULL);

        return kind == UNIT_NAME_PLAIN || kind == UNIT_NAME_INSTANCE;
}

static int read_names(Search *s, DIR *stream, int dir) {
        const struct dirent *entry;
        int r = 0;

        while (r == 0 && s->n_names < NAMES_MAX && (entry = readdir(stream)))
                if (is_unit(entry->d_name) && is_linked(dir, entry->d_name, s->from))
                        r = add_name(s, entry->d_name);
        return r;
}

static void run_search(PoolWork *work) {
        Search *s = CONTAINER_OF(work, Search, work);
        DIR *stream = opendir(s->from);
        int dir = stream ? open(s->unit_dir, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

        if (dir >= 0) {
                s->error = read_names(s, stream, dir);
                s->runs = s->n_names > 0 && process_name_runs("fleetd");
                close(dir);
        }
        if (stream)
                closedir(stream);
}

// ---- back in the loop

static void search_free(Search *s) {
        for (size_t i = 0; i < s->n_names; i++)
                free(s->names[i]);
        free(s->names);
        free(s->from);
        free(s->unit_dir);
        free(s);
}

static void watch(AgentNode *node, AgentFleetUnit *f) {
        if (f->watch.name || agent_unit_find(node, f->name))
                return;
        f->watch.other = systemd_manager_watch(node->systemd, &f->watch, f->name) >= 0;
        if (!f->watch.other)
                f->watch = (SystemdUnit){};
}

static bool is_up(AgentNode *node, const AgentFleetUnit *f) {
        const AgentUnit *u = f->watch.name ? NULL : agent_unit_find(node, f->name);
        const UnitRuntime *now = f->watch.name ? &f->watch.runtime : u ? &u->watch.runtime : NULL;

        return now && !active_state_is_down(now->active);
}

static void note_up(Agent *a, AgentFleetUnit *f) {
        bool up = is_up(a->system, f);

        if (up == f->up)
                return;
        f->up = up;
        a->fleet.news = true;
        drain_mark(&a->drain);
}

static int take_name(AgentNode *node, const char *name) {
        AgentFleet *fleet = &node->agent->fleet;
        AgentFleetUnit *f = map_find_str(&fleet->units, name);

        if (!f) {
                f = MAP_NEW_STR(&fleet->units, AgentFleetUnit, name, name);
                if (!f)
                        return -ENOMEM;
                list_append(&fleet->list, &f->link);
                fleet->news = true;
        }
        f->listed = true;
        watch(node, f);
        note_up(node->agent, f);
        return 0;
}

static void drop_unlisted(AgentNode *node, bool all) {
        AgentFleet *fleet = &node->agent->fleet;

        list_foreach_safe (i, &fleet->list) {
                AgentFleetUnit *f = CONTAINER_OF(i, AgentFleetUnit, link);

                if (!all && f->listed) {
                        f->listed = false;
                        continue;
                }
                agent_fleet_drop(node, f);
                fleet->news = true;
        }
}

static void take(Search *s) {
        AgentFleet *fleet = &s->node->agent->fleet;
        int r = s->error;

        for (size_t i = 0; r == 0 && i < s->n_names; i++)
                r = take_name(s->node, s->names[i]);
        if (r < 0) {
                log_warning("Cannot look for the units of fleet: %s", strerror(-r));
                return;
        }
        drop_unlisted(s->node, false);
        fleet->news |= fleet->runs != s->runs || !streq(fleet->directory ?: "", s->from);
        fleet->runs = s->runs;
        agent_fleet_watch_program(s->node->agent, s->runs);
        free(fleet->directory);
        fleet->directory = TAKE_PTR(s->from);
}

static void has_ended(Agent *a) {
        AgentFleet *fleet = &a->fleet;

        if (!fleet->search_due)
                fleet->late_us = 0;
        fleet->news |= fleet->unsaid;
        fleet->unsaid = false;
}

static void on_searched(PoolWork *work) {
        Search *s = CONTAINER_OF(work, Search, work);
        AgentNode *node = s->node;

        node->agent->fleet.searching = false;
        if (!node->closing)
                take(s);
        has_ended(node->agent);
        search_free(s);
        drain_mark(&node->agent->drain);
        agent_node_close_step(node);
}

// What takes no time is done at once: most hosts have never had a fleet.
static bool finds_nothing(Agent *a, Search *s) {
        if (access(s->from, F_OK) == 0)
                return false;
        take(s);
        search_free(s);
        has_ended(a);
        return true;
}

void agent_fleet_drain(Agent *a) {
        AgentFleet *fleet = &a->fleet;
        Search *s;

        if (!fleet->search_due || !a->system->synced)
                return;
        if (!fleet->late_us)
                fleet->late_us = clock_boot_us() + AGENT_FLEET_LATE_MS * USEC_PER_MSEC;
        if (fleet->searching)
                return;
        s = calloc(1, sizeof *s);
        if (s)
                *s = (Search){.node = a->system,
                              .from = strdup(*a->take_from ? a->take_from : default_directory),
                              .unit_dir = strdup(a->system->dir_path)};
        if (!s || !s->from || !s->unit_dir) {
                if (s)
                        search_free(s);
                return; // at the next event
        }
        fleet->search_due = false;
        if (finds_nothing(a, s))
                return;
        fleet->searching = true;
        a->system->n_open++;
        pool_add(a->loop, &s->work, POOL_CLUSTER, run_search, on_searched);
}

bool agent_fleet_is_known(const Agent *a) {
        return a->fleet.directory && !a->fleet.searching && !a->fleet.search_due;
}

bool agent_fleet_is_late(const Agent *a, uint64_t now_us) {
        return a->fleet.late_us > 0 && a->fleet.late_us <= now_us;
}

void agent_fleet_on_unit(Agent *a, const char *name) {
        AgentFleetUnit *f = a->fleet.units.count > 0 ? map_find_str(&a->fleet.units, name) : NULL;

        if (a->fleet.program.name && streq(name, AGENT_FLEET_PROGRAM))
                agent_fleet_search(a);
        if (f)
                note_up(a, f);
}

void agent_fleet_done(AgentNode *system) {
        drop_unlisted(system, true);
        agent_fleet_watch_program(system->agent, false);
        map_done(&system->agent->fleet.units);
        free(system->agent->fleet.directory);
        system->agent->fleet.directory = NULL;
}

// ---- for the leader

bool agent_fleet_report(Agent *a, Argosy__FleetUnits *ret, char ***ret_names) {
        size_t n = 0;

        argosy__fleet_units__init(ret);
        *ret_names = NULL;
        if (!agent_fleet_is_known(a)) {
                a->fleet.unsaid = true;
                return true;
        }
        ret->directory = a->fleet.directory;
        *ret_names = a->fleet.units.count > 0 ? calloc(a->fleet.units.count, sizeof **ret_names) : NULL;
        if (!*ret_names)
                return false;
        list_foreach (i, &a->fleet.list) {
                AgentFleetUnit *f = CONTAINER_OF(i, AgentFleetUnit, link);

                if (f->up)
                        (*ret_names)[n++] = f->name;
        }
        ret->units = *ret_names;
        ret->n_units = n;
        ret->taken_over = *a->take_from;
        ret->fleet_runs = a->fleet.runs;
        return true;
}

void agent_fleet_report_drain(Agent *a) {
        Argosy__FleetUnits said;
        Argosy__ToVoter message = TO_VOTER_OF(FLEET_UNITS, fleet_units, &said);
        _cleanup_free_ char **names = NULL;

        if (!a->fleet.news || !a->attached || !agent_fleet_is_known(a))
                return; // the next Attach says all of it, or the end of a search
        if (!agent_fleet_report(a, &said, &names) && a->fleet.units.count > 0)
                return; // without memory nothing is said, which is not that there are none
        if (a->ops.send(&message, a->userdata) >= 0)
                a->fleet.news = false;
}
