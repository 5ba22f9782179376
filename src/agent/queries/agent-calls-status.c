// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is said of units: status calls (systemd's properties, resource use and the newest journal lines), and
// the list of what this host holds.
//
// A status call goes through its names one by one: properties, resource use, lines, then one response. One
// helper reads the lines of all its units of a container, and if it fails, no other is tried for them.
// Without its use or its lines the rest of a unit is still worth showing.

#include <errno.h>

#include "agent-calls-journal.h"
#include "agent-calls-status.h"
#include "agent-cgroups.h"
#include "agent-core.h"
#include "agent-down.h"
#include "agent-loops.h"
#include "agent-unit.h"
#include "agent-usage.h"
#include "array.h"
#include "clock.h"
#include "message-of.h"
#include "str.h"
#include "unit-state.h"

enum { STATUS_LINES_MAX = 1000 };

static void reset(Call *c) {
        for (size_t i = 0; i < c->n_properties; i++) {
                free(c->properties[i]->key);
                free(c->properties[i]->value);
                free(c->properties[i]);
        }
        free(c->properties);
        c->properties = NULL;
        c->n_properties = 0;
        for (size_t i = 0; i < c->n_log; i++)
                free(c->lines[i]);
        free(c->lines);
        c->lines = NULL;
        c->n_log = 0;
        c->has_usage = false;
}

static void release(Call *c) {
        if (c->reading && c->agent->usage)
                cgroup_usage_cancel(c->agent->usage, c->reading);
        call_drop_reader(c);
        reset(c);
}

static void status_next(Call *c);

// Why a unit does not do what is wanted, in one sentence; empty if it does.
static const char *why_not(const AgentUnit *u, char phrase[static DOWN_PHRASE_SIZE]) {
        const AgentUnitWork *work = agent_unit_doing(u);

        if (work->error)
                return work->error;
        if (u->node->stopping)
                return !agent_node_is_users(u->node) ? "the machine is shutting down"
                                                      : "its user's systemd is shutting down";
        if (agent_unit_is_looping(u))
                return UNIT_LOOPING_TEXT;
        if (agent_unit_down(u) == ARGOSY__DOWN_CAUSE__DOWN_BOUND && u->comes_back)
                return "it was stopped with a unit that gets a new file, and starts again once that has "
                       "started";
        if (agent_unit_down(u) != ARGOSY__DOWN_CAUSE__DOWN_NOT) {
                down_cause_phrase(agent_unit_down(u), agent_unit_down_by(u), phrase);
                return phrase;
        }
        if (work->outcome == ARGOSY__OUTCOME__KIND__DONE)
                return "it has finished";
        if (work->outcome == ARGOSY__OUTCOME__KIND__FAILED)
                return "it has failed and is not run again by itself";
        if (work->outcome == ARGOSY__OUTCOME__KIND__UNKNOWN)
                return OUTCOME_UNKNOWN_TEXT "; `start` runs it again";
        return "";
}

static void fill_row(const AgentUnit *u, Argosy__Response__UnitRow *row) {
        const UnitRuntime *rt = &u->watch.runtime;
        const char *note = down_cause_to_string(agent_unit_down(u));
        bool loaded = rt->loaded;

        row->unit = (char *) u->name;
        row->node = u->node->name;
        row->load = (char *) load_state_to_string(agent_unit_load(u));
        row->active = (char *) (loaded ? active_state_to_string(rt->active) : "inactive");
        row->sub = (char *) (loaded ? rt->sub : "dead");
        row->drift = agent_unit_down(u) == ARGOSY__DOWN_CAUSE__DOWN_STOPPED;
        row->note = (char *) (agent_unit_is_looping(u) ? "looping"
                              : *note                  ? note
                              : u->file_stale          ? "stale"
                                                       : "");
        row->restarts = rt->n_restarts;
        row->since = rt->since_us;
        row->looping = agent_unit_is_looping(u);
        row->file_stale = u->file_stale;
        if (agent_unit_doing(u)->error)
                row->error = u->work->error;
}

static void status_respond(Call *c) {
        Argosy__Response__Status status = ARGOSY__RESPONSE__STATUS__INIT;
        Argosy__Response response = RESPONSE_OF(STATUS_REPLY, status_reply, &status);
        Argosy__Response__UnitRow row = ARGOSY__RESPONSE__UNIT_ROW__INIT;
        Argosy__Response__UsageRow usage = ARGOSY__RESPONSE__USAGE_ROW__INIT;
        const AgentUnit *u = agent_unit_find(c->node, c->names[c->at]);
        PlanWanted buffer;
        const PlanWanted *wanted = u ? agent_unit_wanted(u, &buffer) : NULL;
        LedgerRecord held;
        char spec[HASH_HEX_SIZE], phrase[DOWN_PHRASE_SIZE];

        if (u) {
                fill_row(u, &row);
                agent_unit_fill_record(u, &held);
                hash_hex(&held.spec, HASH_SIZE, spec);
                if (!hash_is_zero(&held.spec)) // else it has none yet: it waits for an image, or for room
                        row.spec = spec;
                status.desired =
                        (char *) target_to_string(wanted ? wanted->target : (Argosy__Target) held.target);
                status.revision = agent_unit_answered(u);
                status.why = (char *) why_not(u, phrase);
                status.outcome = (char *) outcome_to_string(agent_unit_doing(u)->outcome);
        } else {
                row.unit = c->names[c->at];
                row.load = (char *) "-";
                row.active = (char *) "inactive";
                row.sub = (char *) "dead";
                status.why = (char *) "this node does not hold it";
        }
        status.row = &row;
        if (c->has_usage) {
                agent_fill_usage(&c->usage, c->names[c->at], &usage);
                status.usage = &usage;
        }
        status.properties = c->properties;
        status.n_properties = c->n_properties;
        status.log = c->lines;
        status.n_log = c->n_log;
        response.final = c->at + 1 == c->n_names;
        c->reply(&response, c->userdata);
}

static void status_finish_one(Call *c) {
        uint64_t number = c->number;
        Agent *a = c->agent;

        if (call_node_has_journal(c->node))
                call_drop_reader(c);
        status_respond(c);
        c = call_find(a, number); // the reply may have cancelled it
        if (!c)
                return;
        reset(c);
        c->at++;
        if (c->at == c->n_names)
                call_free(c);
        else
                status_next(c);
}

static void on_status_lines(char **lines, size_t n, void *userdata) {
        Call *c = userdata;

        if (ARRAY_RESERVE(c->lines, c->n_log + n) < 0)
                return;
        for (size_t i = 0; i < n && c->n_log < STATUS_LINES_MAX; i++) {
                char *copy = strdup(lines[i]);

                if (copy)
                        c->lines[c->n_log++] = copy;
        }
}

static void on_status_lines_end(int error, void *userdata) {
        Call *c = userdata;
        _cleanup_free_ char *note = error == -EACCES || (error < 0 && !call_node_has_journal(c->node))
                                            ? call_why_no_lines(c, error)
                                            : NULL;

        c->reads = call_node_has_journal(c->node) ? NULL : c->node;
        c->unread = MIN_OF(error, 0);
        if (note)
                on_status_lines(&note, 1, c);
        status_finish_one(c); // without a journal the rest is still worth showing
}

static const JournalOps status_journal_ops = {.lines = on_status_lines, .ended = on_status_lines_end};

static int copy_properties(Call *c, Argosy__Response__Property *const *properties, size_t n) {
        c->properties = calloc(n ?: 1, sizeof(*c->properties));
        if (!c->properties)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                Argosy__Response__Property *p = malloc(sizeof(*p));

                if (!p)
                        return -ENOMEM;
                argosy__response__property__init(p);
                c->properties[c->n_properties++] = p;
                p->key = strdup(properties[i]->key);
                p->value = strdup(properties[i]->value);
                if (!p->key || !p->value)
                        return -ENOMEM;
        }
        return 0;
}

static void status_read_lines(Call *c) {
        int r;

        if (c->n_lines == 0 && !call_node_has_journal(c->node)) {
                status_finish_one(c); // a process for nothing
                return;
        }
        if (c->reads == c->node && c->unread < 0) {
                on_status_lines_end(c->unread, c);
                return;
        }
        r = call_read_lines(c, c->names[c->at], c->n_lines, false, &status_journal_ops);
        if (r < 0)
                call_end(c, r, NULL);
}

static void on_status_usage(const UnitUsage *samples, size_t n, void *userdata) {
        Call *c = userdata;

        c->reading = 0;
        c->has_usage = samples[0].exists;
        c->usage = samples[0];
        status_read_lines(c);
}

static void status_read_usage(Call *c) {
        const char *control_group = "";
        _cleanup_free_ char *path = NULL;

        for (size_t i = 0; i < c->n_properties; i++)
                if (streq(c->properties[i]->key, "ControlGroup"))
                        control_group = c->properties[i]->value;
        path = agent_cgroup_resolve(c->node, control_group);
        if (!path || cgroup_usage_read(c->agent->usage, (const char *const[]){path}, 1, on_status_usage, c,
                                       &c->reading) < 0)
                status_read_lines(c); // without it the rest is still worth showing
}

static void on_inspected(int error, Argosy__Response__Property *const *properties, size_t n,
                         void *userdata) {
        _cleanup_free_ CallRef *ref = userdata;
        Call *c = call_find(ref->agent, ref->number);

        if (!c || c->at != ref->at)
                return;
        if (error >= 0)
                error = copy_properties(c, properties, n);
        if (error < 0)
                call_end(c, error, NULL);
        else
                status_read_usage(c);
}

static void status_next(Call *c) {
        CallRef *ref = call_ref(c, c->at);
        int r;

        if (c->anywhere)
                c->node = call_find_holder(c->agent, c->names[c->at]) ?: c->agent->system;
        if (c->reads != c->node)
                call_drop_reader(c);
        r = ref ? systemd_manager_inspect(c->node->systemd, c->names[c->at], on_inspected, ref) : -ENOMEM;
        if (r < 0) {
                free(ref);
                call_end(c, r, NULL);
        }
}

int call_start_status(Agent *a, uint64_t asker, AgentNode *node, const Argosy__Request__Status *q,
                      AgentReply reply, void *userdata, uint64_t *ret) {
        Call *c;
        int r;

        if (q->n_names == 0)
                return -EINVAL;
        r = call_new(a, node, q->names, q->n_names, release, reply, userdata, &c);
        if (r < 0)
                return r;
        c->asker = asker;
        c->n_lines = MIN_OF(q->lines, (unsigned) STATUS_LINES_MAX);
        c->cause_within_us = MIN_OF(q->cause_within_ms, UINT64_MAX / USEC_PER_MSEC) * USEC_PER_MSEC;
        c->anywhere = !node;
        *ret = c->number;
        status_next(c);
        if (!call_find(a, *ret))
                *ret = 0;
        return 0;
}

// ---- what this host holds

static void local_units_free(Agent *a) {
        for (size_t i = 0; i < a->local.n_rows; i++)
                free(a->local.rows[i].spec == (char *) protobuf_c_empty_string ? NULL
                                                                               : a->local.rows[i].spec);
        free(a->local.rows);
        free(a->local.pointers);
        a->local.rows = NULL;
        a->local.pointers = NULL;
        a->local.n_rows = 0;
}

void agent_local_units(Agent *a, Argosy__Response *ret) {
        size_t max = agent_n_units(a), n = 0;

        local_units_free(a);
        argosy__response__units__init(&a->local.units);
        ret->what_case = ARGOSY__RESPONSE__WHAT_UNITS;
        ret->units = &a->local.units;
        a->local.rows = calloc(max ?: 1, sizeof(*a->local.rows));
        a->local.pointers = calloc(max ?: 1, sizeof(*a->local.pointers));
        if (!a->local.rows || !a->local.pointers) {
                ret->status = ENOMEM;
                return;
        }
        agent_foreach_node (node, a)
                agent_foreach_unit(u, node) {
                        Argosy__Response__UnitRow *row = &a->local.rows[n];
                        char *hex = malloc(HASH_HEX_SIZE);

                        if (!u->has_held || !hex) {
                                free(hex);
                                continue;
                        }
                        argosy__response__unit_row__init(row);
                        fill_row(u, row);
                        hash_hex(&u->held.spec->hash, HASH_SIZE, hex);
                        row->spec = hex;
                        a->local.pointers[n++] = row;
                }
        a->local.n_rows = n;
        a->local.units.rows = a->local.pointers;
        a->local.units.n_rows = n;
}

void agent_local_units_drop(Agent *a) {
        local_units_free(a);
}
