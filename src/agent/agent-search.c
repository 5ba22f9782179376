// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Units that systemd has dropped from its memory: what the directories say of their files by now.
//
//   a file is touched, somebody reloads, systemd's state is complete -> names that are ours -> the pool
//   looks -> AgentUnit.hidden, reported if the unit is not loaded
//
// A file of ours that is in place hides nothing, so the events of our own writes are forgotten at once, but
// for units that are hidden. While the pool looks they count: it may have looked before the write. Without
// inotify every reload is still looked after. In the directories of users and containers nothing is opened
// from here: what hides a unit there is seen when systemd loads it.
#include <stdlib.h>

#include "agent-core.h"
#include "agent-nodes.h"
#include "agent-report.h"
#include "agent-search.h"
#include "agent-unit.h"
#include "log.h"
#include "str.h"
#include "unit-name.h"
#include "unit-search.h"

typedef struct SearchJob {
        uv_work_t work;
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

        if (node->closing || (present && !node->looking && !may_be_hidden(node, name)))
                return;
        copy = strdup(name);
        if (!copy || map_add_str(&node->touched, copy, copy) < 0)
                free(copy); // it is there already; or out of memory, and a reload finds it
        drain_mark(&node->agent->drain);
}

void agent_search_all(AgentNode *node) {
        if (!node->search_dirs || node->closing)
                return;
        if (node->search)
                unit_search_again(node->search);
        node->look_at_all = true;
        drain_mark(&node->agent->drain);
}

static void on_lost(void *userdata) {
        agent_search_all(userdata);
}

static bool is_touched(AgentNode *node, const AgentUnit *u) {
        _cleanup_free_ char *template = NULL;

        if (!u->has_held || !u->file_present)
                return false;
        if (node->look_at_all || map_find_str(&node->touched, u->name))
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
        if (node->look_at_all || any_template(node)) {
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

static void run_look(uv_work_t *work) {
        SearchJob *j = CONTAINER_OF(work, SearchJob, work);

        j->error = unit_search_look((const char *const *) j->node->search_dirs, j->names, j->n, j->loads);
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

static void on_looked(uv_work_t *work, int status) {
        SearchJob *j = CONTAINER_OF(work, SearchJob, work);
        AgentNode *node = j->node;

        node->looking = false;
        for (size_t i = 0; i < j->n && j->error == 0 && !node->closing; i++) {
                AgentUnit *u = agent_unit_find(node, j->names[i]);

                if (u && u->has_held && u->file_present)
                        note_load(u, j->loads[i]);
        }
        job_free(j);
        if (!node->closing)
                drain_mark(&node->agent->drain);
        agent_node_close_step(node);
}

void agent_search_drain(AgentNode *node) {
        SearchJob *j;
        size_t max;

        if (node->looking || !node->synced || (!node->look_at_all && node->touched.count == 0))
                return;
        max = node->look_at_all || any_template(node) ? node->n_units : node->touched.count;
        j = calloc(1, sizeof(*j) + max * sizeof(*j->names));
        if (j)
                j->loads = calloc(max + 1, sizeof(*j->loads));
        if (!j || !j->loads) {
                free(j);
                return; // with the next event
        }
        j->node = node;
        take_names(node, j);
        node->look_at_all = false;
        map_done_with(&node->touched, free);
        if (j->n == 0) {
                job_free(j);
                return;
        }
        node->looking = true;
        node->n_open++;
        if (uv_queue_work(node->agent->loop, &j->work, run_look, on_looked) < 0)
                abort(); // only for a NULL callback
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
}

void agent_search_done(AgentNode *node) {
        map_done_with(&node->touched, free);
        dirs_free(node->search_dirs);
}
