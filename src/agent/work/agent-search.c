// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Units that systemd has dropped from its memory: what the directories say of their files by now.
//
//   a file is touched, or somebody else had systemd change files or read them again -> names that are ours
//   -> the pool looks -> AgentUnit.hidden, reported if the unit is not loaded
//
// A file of ours that is in place hides nothing, so the events of our own writes are forgotten at once, but
// for units that are hidden. While the pool looks they count: it may have looked before the write.
//
// In the directories of users and containers nothing is opened from here. A helper looks (foreign-search.h),
// and nobody watches: what systemd says is all that one hears of changes, and that says no names, so all
// units are looked for. The same holds here without inotify.
#include <stdlib.h>

#include "agent-core.h"
#include "agent-load.h"
#include "agent-search.h"
#include "agent-unit.h"
#include "clock.h"
#include "foreign-search.h"
#include "log.h"
#include "pool.h"
#include "str.h"
#include "unit-name.h"
#include "unit-search.h"

typedef struct SearchJob {
        PoolWork work;
        AgentNode *node;
        size_t n;
        Argosy__LoadState *loads;
        int error;
        char *names[];
} SearchJob;

static void job_free(SearchJob *j) {
        for (size_t i = 0; i < j->n; i++)
                free(j->names[i]);
        free(j->loads);
        free(j);
}

// ---- what was touched

static void ask(AgentNode *node) {
        search_pace_ask(&node->search_pace, clock_boot_us());
        drain_mark(&node->agent->drain);
}

// Whether a file in place could be news.
static bool may_be_hidden(AgentNode *node, const char *name) {
        const AgentUnit *u;

        if (node->n_hidden == 0 || unit_name_kind(name, NULL) == UNIT_NAME_TEMPLATE)
                return node->n_hidden > 0;
        u = agent_unit_find(node, name);
        return u && u->hidden;
}

static void on_touched(const char *name, bool present, void *userdata) {
        AgentNode *node = userdata;
        char *copy;

        if (node->closing || (present && !node->searching && !may_be_hidden(node, name)))
                return;
        copy = strdup(name);
        if (!copy || map_add_str(&node->touched, copy, copy) < 0)
                free(copy); // it is there already; or out of memory, and a reload finds it
        ask(node);
}

void agent_search_name(AgentNode *node, const char *name) {
        on_touched(name, false, node);
}

void agent_search_all(AgentNode *node) {
        if (node->closing)
                return;
        if (node->search)
                unit_search_again(node->search);
        if (node->n_units == 0)
                return;
        node->search_all = true;
        ask(node);
}

void agent_search_written(AgentNode *node, const char *name, bool from_template) {
        _cleanup_free_ char *template = NULL;

        if (node->search || (node->n_hidden == 0 && !node->searching))
                return; // the watch sees it; or there is no news in it
        template = from_template ? unit_name_template(name) : NULL;
        on_touched(name, true, node);
        if (template)
                on_touched(template, true, node);
}

static void on_lost(void *userdata) {
        agent_search_all(userdata);
}

static bool is_touched(AgentNode *node, const AgentUnit *u) {
        _cleanup_free_ char *template = NULL;

        if (!u->has_held || !u->file_present)
                return false;
        if (node->search_all || map_find_str(&node->touched, u->name))
                return true;
        if (unit_name_kind(u->name, NULL) != UNIT_NAME_INSTANCE)
                return false;
        template = unit_name_template(u->name);
        return template && map_find_str(&node->touched, template);
}

static bool any_template(AgentNode *node) {
        map_foreach (slot, &node->touched)
                if (unit_name_kind(slot->value, NULL) == UNIT_NAME_TEMPLATE)
                        return true;
        return false;
}

static void take_name(SearchJob *j, const AgentUnit *u) {
        j->names[j->n] = strdup(u->name);
        j->n += j->names[j->n] != NULL;
}

// A template's name means its instances, which only a walk over all units finds.
static void take_names(AgentNode *node, SearchJob *j) {
        if (node->search_all || any_template(node)) {
                agent_foreach_unit(u, node) if (is_touched(node, u)) take_name(j, u);
                return;
        }
        map_foreach (slot, &node->touched) {
                const AgentUnit *u = agent_unit_find(node, slot->value);

                if (u && is_touched(node, u))
                        take_name(j, u);
        }
}

// ---- looking

static void run_search(PoolWork *work) {
        SearchJob *j = CONTAINER_OF(work, SearchJob, work);

        j->error = unit_search_run((const char *const *) j->node->search_dirs, j->names, j->n, j->loads);
}

static void note_load(AgentUnit *u, Argosy__LoadState load) {
        uint8_t hidden = load == ARGOSY__LOAD_STATE__LOAD_LOADED ? 0 : (uint8_t) load;

        if (u->hidden == hidden)
                return;
        u->node->n_hidden += (hidden != 0) - (u->hidden != 0);
        u->hidden = hidden;
        if (!u->watch.runtime.loaded)
                agent_unit_report_state(u);
}

// What is said of a manager that has gone meanwhile says nothing.
static void search_ended(SearchJob *j) {
        AgentNode *node = j->node;

        node->searching = false;
        search_pace_end(&node->search_pace, clock_boot_us());
        for (size_t i = 0; i < j->n && j->error == 0 && !node->closing && !node->reason; i++) {
                AgentUnit *u = agent_unit_find(node, j->names[i]);

                if (u && u->has_held && u->file_present)
                        note_load(u, j->loads[i]);
                if (u && agent_unit_is_bad(u) && !u->hidden && !agent_unit_runtime(u))
                        agent_load_look(u); // the change of files may have mended it
        }
        job_free(j);
        if (!node->closing)
                drain_mark(&node->agent->drain);
        agent_node_close_step(node);
}

static void on_searched(PoolWork *work) {
        search_ended(CONTAINER_OF(work, SearchJob, work));
}

static void on_helper_searched(int error, void *userdata) {
        SearchJob *j = userdata;

        j->node->searcher = NULL;
        if (error < 0 && !j->node->closing)
                log_info("Unit files of %s cannot be looked at: %s", j->node->manager, strerror(-error));
        j->error = error;
        search_ended(j);
}

static int start_helper(SearchJob *j) {
        AgentNode *node = j->node;
        HelperConfig config = {.loop = node->agent->loop,
                               .command = (const char *const *) node->agent->helper,
                               .manager = node->manager,
                               .leader = node->leader,
                               .born = node->leader_born,
                               .mode = HELPER_SEARCH};

        return foreign_search_new(&config, j->names, j->n, j->loads, on_helper_searched, j, &node->searcher);
}

static void begin(SearchJob *j) {
        AgentNode *node = j->node;

        node->searching = true;
        node->n_open++;
        node->agent->stats.searches++;
        if (!node->dir) {
                int r = start_helper(j);

                if (r < 0)
                        on_helper_searched(r, j);
                return;
        }
        pool_add(node->agent->loop, &j->work, POOL_CLUSTER, run_search, on_searched);
}

uint64_t agent_search_due(const AgentNode *node) {
        if (node->searching || !node->synced || (!node->search_all && node->touched.count == 0))
                return 0;
        if (node->dir)
                return 1;
        return node->reason ? 0 : search_pace_due(&node->search_pace); // when it is back, all is to be seen
}

// With the names that are to be looked for now. NULL: out of memory; they wait for the next event.
static SearchJob *job_new(AgentNode *node) {
        size_t max = node->search_all || any_template(node) ? node->n_units : node->touched.count;
        SearchJob *j = calloc(1, sizeof(*j) + max * sizeof(*j->names));

        if (j)
                j->loads = calloc(max + 1, sizeof(*j->loads));
        if (!j || !j->loads) {
                free(j);
                return NULL;
        }
        j->node = node;
        take_names(node, j);
        node->search_all = false;
        map_done_with(&node->touched, free);
        return j;
}

void agent_search_drain(AgentNode *node) {
        uint64_t due_us = agent_search_due(node), now_us = clock_boot_us();
        SearchJob *j;

        if (due_us == 0 || now_us < due_us)
                return;
        search_pace_begin(&node->search_pace, now_us);
        j = job_new(node);
        if (j && j->n > 0) {
                begin(j);
                return;
        }
        search_pace_end(&node->search_pace, now_us);
        if (j)
                job_free(j);
}

// ---- begin and end

static void on_closed(void *userdata) {
        agent_node_close_step(userdata);
}

static const UnitSearchOps search_ops = {.touched = on_touched, .lost = on_lost, .closed = on_closed};

static void dirs_free(char **dirs) {
        for (char **d = dirs; d && *d; d++)
                free(*d);
        free(dirs);
}

// Those of the search path, our own among them.
static char **copy_dirs(const char *const *dirs, const char *own) {
        size_t n = 0, k = 0;
        bool has_own = false, full = true;
        char **copy;

        while (dirs && dirs[n])
                n++;
        copy = calloc(n + 2, sizeof(*copy));
        for (size_t i = 0; copy && i < n; i++) {
                has_own |= streq(dirs[i], own);
                copy[k++] = strdup(dirs[i]);
        }
        if (copy && !has_own)
                copy[k++] = strdup(own);
        for (size_t i = 0; i < k; i++)
                full &= copy[i] != NULL;
        if (full)
                return copy;
        for (size_t i = 0; i < k; i++)
                free(copy[i]);
        free(copy);
        return NULL;
}

int agent_search_open(AgentNode *node, const char *const *dirs) {
        int r;

        node->search_dirs = copy_dirs(dirs, node->dir_path);
        if (!node->search_dirs)
                return -ENOMEM;
        r = unit_search_new(node->agent->loop, (const char *const *) node->search_dirs, node->dir_path,
                            &search_ops, node, &node->search);
        if (r < 0)
                log_warning("Cannot watch the directories of unit files (%s): that a unit was masked is "
                            "seen at the next reload of systemd.",
                            strerror(-r));
        else
                node->n_open++;
        return 0;
}

void agent_search_close(AgentNode *node) {
        if (node->search)
                unit_search_close(TAKE_PTR(node->search));
        if (node->searcher)
                foreign_search_close(node->searcher);
}

void agent_search_done(AgentNode *node) {
        map_done_with(&node->touched, free);
        dirs_free(node->search_dirs);
}
