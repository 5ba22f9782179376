// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   a job stopped the unit -> its properties, which name the units that it is tied to -> those of each,
//   until one explains it
//   -> its cause is noted: for that unit, or by somebody
//
// Only after such a stop, so it may cost: a unit that nothing but systemd's own targets is tied to is one
// question. systemd reads its file for that if it has left memory already, as `systemctl status` makes it
// do.

#include "agent-stop-cause.h"

#include <stdlib.h>

#include "agent-down.h"
#include "agent-unit.h"
#include "clock.h"
#include "log.h"
#include "stop-cause.h"
#include "str.h"
#include "unit-state.h"

enum {
        OTHERS_MAX = 32,
        SLACK_US = 2 * 1000 * 1000, // between the end of a unit and the stop of one that is bound to it
};

typedef struct StopQuery {
        AgentNode *node;
        uint64_t from_us; // CLOCK_MONOTONIC: when the unit began to go down
        struct {
                char *name;
                StopTie tie;
        } others[OTHERS_MAX];
        size_t n, at;
        char name[];
} StopQuery;

static void ask_next(StopQuery *q);

// It may have been started, or ordered, since.
static bool is_still_down(const AgentUnit *u) {
        return u->has_held && u->held.down == ARGOSY__DOWN_CAUSE__DOWN_NOT && !u->held.pending &&
               u->held.target == ARGOSY__TARGET__TARGET_LAUNCHED &&
               agent_unit_doing(u)->busy == PLAN_NOTHING && active_state_is_down(u->watch.runtime.active);
}

static void finish(StopQuery *q, Argosy__DownCause cause, const char *by) {
        AgentUnit *u = agent_unit_find(q->node, q->name);

        map_take_str(&q->node->stop_queries, q->name);
        if (u && is_still_down(u))
                agent_unit_set_down(u, cause, by);
        for (size_t i = 0; i < q->n; i++)
                free(q->others[i].name);
        free(q);
}

// ---- the units that it is tied to

static bool is_listed(const StopQuery *q, const char *name, StopTie tie) {
        for (size_t i = 0; i < q->n; i++)
                if (q->others[i].tie == tie && streq(q->others[i].name, name))
                        return true;
        return false;
}

static void list_those(StopQuery *q, const Argosy__Response__Property *p, StopTie tie) {
        char *save = NULL;

        for (char *name = strtok_r(p->value, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
                if (stop_tie(p->key, name) != tie || q->n == OTHERS_MAX || is_listed(q, name, tie))
                        continue;
                q->others[q->n].name = strdup(name);
                q->others[q->n].tie = tie;
                q->n += q->others[q->n].name != NULL;
        }
}

static void on_own(int error, Argosy__Response__Property *const *properties, size_t n, void *userdata) {
        StopQuery *q = userdata;

        for (StopTie tie = STOP_TIE_NONE + 1; tie < STOP_TIES && error == 0; tie++)
                for (size_t i = 0; i < n; i++)
                        if (stop_tie(properties[i]->key, "") == tie)
                                list_those(q, properties[i], tie);
        ask_next(q);
}

// ---- each of them

static StopOther other_of(StopTie tie, Argosy__Response__Property *const *properties, size_t n) {
        StopOther o = {.tie = tie};

        for (size_t i = 0; i < n; i++) {
                const char *key = properties[i]->key, *value = properties[i]->value;

                if (streq(key, "ActiveState"))
                        o.active = active_state_from_string(value);
                else if (streq(key, "Job"))
                        o.has_job = *value != 0;
                else if (streq(key, "InactiveEnterTimestampMonotonic"))
                        o.down_at_us = strtoull(value, NULL, 10);
        }
        return o;
}

static void on_other(int error, Argosy__Response__Property *const *properties, size_t n, void *userdata) {
        StopQuery *q = userdata;
        StopOther o = other_of(q->others[q->at].tie, properties, n);
        Argosy__DownCause cause = ARGOSY__DOWN_CAUSE__DOWN_NOT;

        o.had_job = systemd_manager_job_ended(q->node->systemd, q->others[q->at].name, q->from_us);
        if (error == 0)
                cause = stop_cause(&o, q->from_us);
        if (cause != ARGOSY__DOWN_CAUSE__DOWN_NOT) {
                finish(q, cause, q->others[q->at].name);
                return;
        }
        q->at++;
        ask_next(q);
}

static void ask_next(StopQuery *q) {
        if (q->at == q->n ||
            systemd_manager_inspect(q->node->systemd, q->others[q->at].name, on_other, q) < 0)
                finish(q, ARGOSY__DOWN_CAUSE__DOWN_STOPPED, NULL);
}

// ---- the question

static uint64_t began_to_end_us(const UnitRuntime *rt) {
        uint64_t wall_us = clock_wall_us(), now_us = clock_monotonic_us(),
                 ago_us = SLACK_US + rt->stop_s * USEC_PER_SEC +
                          (rt->since_us > 0 && rt->since_us < wall_us ? wall_us - rt->since_us : 0);

        return now_us > ago_us ? now_us - ago_us : 0;
}

bool agent_stop_cause_ask(AgentUnit *u) {
        StopQuery *q;

        if (map_find_str(&u->node->stop_queries, u->name))
                return true;
        q = MAP_NEW_STR(&u->node->stop_queries, StopQuery, name, u->name);
        if (!q)
                return false;
        q->node = u->node;
        q->from_us = began_to_end_us(&u->watch.runtime);
        if (systemd_manager_inspect(u->node->systemd, u->name, on_own, q) >= 0)
                return true;
        map_take_str(&u->node->stop_queries, q->name);
        free(q);
        return false;
}
