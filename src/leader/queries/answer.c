// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Answers to reading requests that need one turn: units, unit files, contents. Hosts are in answer-hosts.c.
//
//      answer_units() -> per unit: rows of its nodes -> nodes not heard yet
//          -> nodes where it may still run -> sorted
//
// Rows come from the log's records and from what hosts report. Long lists are made of the same rows in
// slices (listings.c). Without leadership only records are known, and what units do is "unknown". Failure:
// NULL or -ENOMEM.

#include <errno.h>
#include <fnmatch.h>

#include "answer.h"
#include "eligibility.h"
#include "host-marks.h"
#include "lease.h"
#include "message-of.h"
#include "nodes.h"
#include "older-secrets.h"
#include "previous-nodes.h"
#include "registry.h"
#include "response.h"
#include "rollout-controller.h"
#include "scheduler.h"
#include "str.h"
#include "tables.h"
#include "tombstones.h"
#include "unit-file.h"
#include "unit-name.h"
#include "unit-on-node.h"
#include "unit-record.h"
#include "unit-row.h"
#include "unit-state.h"
#include "unit-wanted.h"

enum { LISTED_BY_NAME_MAX = 16 };

bool answer_name_matches(char *const *patterns, size_t n, const char *name) {
        for (size_t i = 0; i < n; i++)
                if (fnmatch(patterns[i], name, FNM_NOESCAPE) == 0)
                        return true;
        return n == 0;
}

int unit_row_fill_notes(Leader *l, const UnitOnNode *s, Argosy__Response__UnitRow *row) {
        char notes[UNIT_NOTES_SIZE];

        unit_on_node_notes(s, scheduler_mismatches(l, s), unit_older_secret(l, s->unit->name), notes);
        return field_set(&row->note, notes);
}

static int fill_seen(Leader *l, const UnitOnNode *s, Argosy__Response__UnitRow *row) {
        UnitSaid said;

        unit_on_node_said(s, scheduler_mismatches(l, s), unit_older_secret(l, s->unit->name), &said);
        row->drift = s->down == ARGOSY__DOWN_CAUSE__DOWN_STOPPED;
        row->file_stale = s->file_stale;
        row->restarts = s->restarts;
        row->since = said.since_us;
        row->looping = s->looping;
        row->pulling = s->pulling;
        return unit_row_set_seen(row, &(UnitRowSeen){.content = said.content,
                                                     .load = s->load,
                                                     .active = s->active,
                                                     .sub = said.sub,
                                                     .error = said.error,
                                                     .note = said.notes});
}

int unit_row_fill_states(Leader *l, const Node *n, const UnitOnNode *s, Argosy__Response__UnitRow *row) {
        if (n && n->reason && field_set(&row->error, n->reason) < 0)
                return -ENOMEM;
        if (!n || !node_is_heard(n))
                return unit_row_set_words(row, "unknown", "unknown", "unknown");
        return unit_on_node_is_shown(s) ? fill_seen(l, s, row)
                                        : unit_row_set_words(row, "-", "inactive", "dead");
}

// ----------------------------------------------------------------------------------------------- list-units

static int fill_node_name(char **field, const Argosy__HostRecord *host, uint32_t node) {
        _cleanup_free_ char *name = host_record_node_name(host, node);

        return name ? field_set(field, name) : -ENOMEM;
}

static int add_row(Leader *l, Argosy__Response__Units *units, const char *name, const UnitEntry *e,
                   const UnitOnNode *s, const Argosy__HostRecord *host, uint32_t node) {
        Argosy__Response__UnitRow *row = unit_row_of(name, e ? e->spec : NULL, host, node);
        const Node *n = NULL;

        if (FIELD_APPEND(units->rows, units->n_rows, row) < 0)
                return -ENOMEM;
        if (!host)
                return unit_row_set_words(row, "-", "inactive", "dead");
        if (l->leading)
                n = s ? s->node : node_find(l, node);
        return unit_row_fill_states(l, n, s, row);
}

// A row of a destroyed unit on a node whose host is not heard.
static int add_silent_row(Leader *l, Argosy__Response__Units *units, const char *name, const Unit *u,
                          const Node *n) {
        const Argosy__HostRecord *host = cluster_state_find_host(l->state, n->host->number);
        int r;

        if (!host || !previous_node_is_silent(l, name, u, NULL, n))
                return 0;
        r = add_row(l, units, name, NULL, NULL, host, n->number);
        return r < 0 ? r
                     : field_printf(&units->rows[units->n_rows - 1]->error,
                                    "%s; it may still run until the host is heard",
                                    tombstones_word(l, name));
}

// Like add_silent_row(), for a tombstone of the log whose unit this leader has never seen on the node.
static int add_unseen_silent_row(Leader *l, Argosy__Response__Units *units, const Tombstone *t) {
        const Node *n = l->leading ? node_find(l, t->node) : NULL;
        const Unit *u = unit_find(l, t->name);

        if (!n || (u && unit_on_node_find(u, n)) || cluster_state_find_unit(l->state, t->name))
                return 0;
        return add_silent_row(l, units, t->name, u, n);
}

static int add_silent_rows_of(Leader *l, Argosy__Response__Units *units, const char *name) {
        const ListNode *tombs = cluster_state_tombstones_of(l->state, name);
        int r = 0;

        if (tombs)
                list_foreach (i, tombs)
                        if (r >= 0)
                                r = add_unseen_silent_row(l, units,
                                                          CONTAINER_OF(i, const Tombstone, by_name));
        return r;
}

static int add_silent_rows_on(Leader *l, Argosy__Response__Units *units,
                              const Argosy__Request__ListUnits *m, const Node *n) {
        const ListNode *tombs = cluster_state_tombstones_on(l->state, n->number);
        int r = 0;

        if (tombs && !n->host->attached)
                list_foreach (i, tombs) {
                        const Tombstone *t = CONTAINER_OF(i, const Tombstone, on_node);

                        if (r >= 0 && answer_name_matches(m->patterns, m->n_patterns, t->name))
                                r = add_unseen_silent_row(l, units, t);
                }
        return r;
}

// On a host that the log has.
static bool is_listed(const Leader *l, const UnitEntry *e, const UnitOnNode *s) {
        const Node *n = s->node;

        if (e)
                return unit_wanted_on(l, s->unit, e, n) ||
                       (unit_on_node_is_shown(s) && !host_is_lost(n->host));
        return unit_on_node_is_shown(s) || previous_node_is_silent(l, s->unit->name, s->unit, NULL, n);
}

bool unit_on_node_is_listed(const Leader *l, const UnitEntry *e, const UnitOnNode *s) {
        return cluster_state_find_host(l->state, s->node->host->number) && is_listed(l, e, s);
}

static int add_seen_row(Leader *l, Argosy__Response__Units *units, const char *name, const UnitEntry *e,
                        const UnitOnNode *s, size_t *n) {
        const Argosy__HostRecord *host = cluster_state_find_host(l->state, s->node->host->number);

        if (!host || !is_listed(l, e, s))
                return 0;
        if (!e && !unit_on_node_is_shown(s))
                return add_silent_row(l, units, name, s->unit, s->node);
        (*n)++;
        return add_row(l, units, name, e, s, host, s->node->number);
}

static int add_rows_of_node(Leader *l, Argosy__Response__Units *units, const char *name, const UnitEntry *e,
                            const Unit *u, size_t *n) {
        list_foreach (i, &u->on_nodes)
                if (add_seen_row(l, units, name, e, CONTAINER_OF(i, UnitOnNode, by_unit), n) < 0)
                        return -ENOMEM;
        return 0;
}

// Whether a global unit belongs on this node. Without a Node (this host does not lead) only its options say
// so.
static bool wants_global(Leader *l, const Unit *u, const UnitEntry *e, const Argosy__HostRecord *host,
                         const char *manager, const Node *node) {
        UnitOptions *options;
        bool admits;

        if (node)
                return unit_wanted_on(l, u, e, node);
        if (unit_options_of(e, &options) < 0)
                return false;
        admits = eligibility_admits(l->state, host, manager, options);
        unit_options_unref(options);
        return admits;
}

// A row of a node that could run a global unit but is left out, with the reason.
static int add_left_out_row(Leader *l, Argosy__Response__Units *units, const UnitEntry *e, const Unit *u,
                            const Argosy__HostRecord *host, const Node *node, size_t *n) {
        Argosy__Response__UnitRow *row;
        char why[512];

        if ((u && unit_on_node_find(u, node)) || !unit_left_out(l, u, e, node, why, sizeof(why)))
                return 0;
        if (add_row(l, units, e->record->name, e, NULL, host, node->number) < 0)
                return -ENOMEM;
        (*n)++;
        row = units->rows[units->n_rows - 1];
        return unit_row_set_words(row, "-", "inactive", "dead") < 0 ? -ENOMEM : field_set(&row->error, why);
}

static int add_unseen_global(Leader *l, Argosy__Response__Units *units, const UnitEntry *e, const Unit *u,
                             const Argosy__HostRecord *host, const Argosy__NodeRecord *on, size_t *n) {
        const Node *node = node_find(l, on->node);

        if (node && add_left_out_row(l, units, e, u, host, node, n) < 0)
                return -ENOMEM;
        if ((u && node && unit_on_node_find(u, node)) || !wants_global(l, u, e, host, on->manager, node))
                return 0;
        (*n)++;
        return add_row(l, units, e->record->name, e, NULL, host, on->node);
}

static int add_unseen_globals(Leader *l, Argosy__Response__Units *units, const UnitEntry *e, const Unit *u,
                              size_t *n) {
        size_t n_hosts;
        const HostEntry *hosts = cluster_state_hosts(l->state, &n_hosts);

        for (size_t i = 0; i < n_hosts; i++)
                for (size_t k = 0; k < hosts[i].record->n_nodes; k++)
                        if (add_unseen_global(l, units, e, u, hosts[i].record, hosts[i].record->nodes[k],
                                              n) < 0)
                                return -ENOMEM;
        return 0;
}

static bool is_on(const Unit *u, uint32_t node) {
        list_foreach (i, &u->on_nodes)
                if (CONTAINER_OF(i, UnitOnNode, by_unit)->node->number == node)
                        return true;
        return false;
}

// Rows of nodes that are to run the unit and have not reported it yet.
static int add_unseen_rows(Leader *l, Argosy__Response__Units *units, const UnitEntry *e, const Unit *u,
                           size_t *n) {
        const Argosy__UnitRecord *r = e->record;
        const Argosy__HostRecord *host;

        if (r->global)
                return add_unseen_globals(l, units, e, u, n);
        if (r->node == 0 || (u && is_on(u, r->node)))
                return 0;
        host = cluster_state_find_host_by_node(l->state, r->node);
        if (!host)
                return 0;
        (*n)++;
        return add_row(l, units, r->name, e, NULL, host, r->node);
}

static int add_unit_rows(Leader *l, Argosy__Response__Units *units, const UnitEntry *e) {
        const char *name = e->record->name;
        const Unit *u = unit_find(l, name);
        size_t n = 0;

        if (u && add_rows_of_node(l, units, name, e, u, &n) < 0)
                return -ENOMEM;
        if (e->record->target != ARGOSY__TARGET__TARGET_INACTIVE && add_unseen_rows(l, units, e, u, &n) < 0)
                return -ENOMEM;
        if (n)
                return 0;
        if (add_row(l, units, name, e, NULL, NULL, 0) < 0)
                return -ENOMEM;
        units->rows[units->n_rows - 1]->waits =
                e->record->target != ARGOSY__TARGET__TARGET_INACTIVE && !e->record->global;
        return 0;
}

static int row_compare(const void *a, const void *b) {
        const Argosy__Response__UnitRow *x = *(Argosy__Response__UnitRow *const *) a,
                                        *y = *(Argosy__Response__UnitRow *const *) b;
        int r = strcmp(x->unit, y->unit);

        return r ? r : strcmp(x->node, y->node);
}

// Rows of a unit of the log, or of a destroyed one that is not gone from all nodes.
static int add_named_rows(Leader *l, Argosy__Response__Units *units, const char *name) {
        const UnitEntry *e = cluster_state_find_unit(l->state, name);
        const Unit *u = unit_find(l, name);
        size_t k = 0;

        if (e) // a template is never on a node
                return unit_name_kind(name, NULL) == UNIT_NAME_TEMPLATE ? 0 : add_unit_rows(l, units, e);
        if (u && add_rows_of_node(l, units, name, NULL, u, &k) < 0)
                return -ENOMEM;
        return add_silent_rows_of(l, units, name);
}

static bool is_earlier_name(char *const *names, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (streq(names[i], names[n]))
                        return true;
        return false;
}

bool answer_is_glob(const char *pattern) {
        return strpbrk(pattern, "*?[");
}

bool answer_is_of_few_names(char *const *patterns, size_t n) {
        if (n == 0 || n > LISTED_BY_NAME_MAX)
                return false;
        for (size_t i = 0; i < n; i++)
                if (answer_is_glob(patterns[i]))
                        return false;
        return true;
}

static int add_rows_of_names(Leader *l, Argosy__Response__Units *units,
                             const Argosy__Request__ListUnits *m) {
        for (size_t i = 0; i < m->n_patterns; i++)
                if (!is_earlier_name(m->patterns, i) && add_named_rows(l, units, m->patterns[i]) < 0)
                        return -ENOMEM;
        return 0;
}

static int add_matching_rows(Leader *l, Argosy__Response__Units *list, const Argosy__Request__ListUnits *m) {
        size_t k = 0;

        cluster_state_foreach_unit(e, l->state)
                if (answer_name_matches(m->patterns, m->n_patterns, e->record->name) &&
                    unit_name_kind(e->record->name, NULL) != UNIT_NAME_TEMPLATE && // never on a node
                    add_unit_rows(l, list, e) < 0)
                        return -ENOMEM;
        name_table_foreach(unit, &l->units) { // destroyed units that are not gone from all nodes
                const Unit *u = unit;

                if (!u->recorded && answer_name_matches(m->patterns, m->n_patterns, u->name) &&
                    add_rows_of_node(l, list, u->name, NULL, u, &k) < 0)
                        return -ENOMEM;
        }
        map_foreach (slot, &l->nodes)
                if (add_silent_rows_on(l, list, m, slot->value) < 0)
                        return -ENOMEM;
        return 0;
}

static void sort_rows(Argosy__Response__Units *units) {
        if (units->n_rows > 1)
                qsort(units->rows, units->n_rows, sizeof(*units->rows), row_compare);
}

int answer_add_units(Leader *l, const char *name, Argosy__Response__Units *units) {
        int r = add_named_rows(l, units, name);

        sort_rows(units);
        return r;
}

static int add_rows_on_host(Leader *l, Argosy__Response__Units *units, const char *name, const UnitEntry *e,
                            const Unit *u, const Argosy__HostRecord *host) {
        size_t n = 0;
        int r = 0;

        for (size_t k = 0; r >= 0 && k < host->n_nodes; k++) {
                const Node *node = u ? node_find(l, host->nodes[k]->node) : NULL;
                const UnitOnNode *s = node ? unit_on_node_find(u, node) : NULL;

                if (s)
                        r = add_seen_row(l, units, name, e, s, &n);
                if (r >= 0 && e && e->record->target != ARGOSY__TARGET__TARGET_INACTIVE)
                        r = add_unseen_global(l, units, e, u, host, host->nodes[k], &n);
        }
        return r;
}

// Rows of nodes on which only the log says that the unit may still run.
static int add_silent_rows_within(Leader *l, Argosy__Response__Units *units, const char *name,
                                  HostRange range) {
        const ListNode *tombs = cluster_state_tombstones_of(l->state, name);
        int r = 0;

        if (tombs)
                list_foreach (i, tombs) {
                        const Tombstone *t = CONTAINER_OF(i, const Tombstone, by_name);
                        const Node *n = node_find(l, t->node);

                        if (r >= 0 && n && n->host->number >= range.first && n->host->number <= range.last)
                                r = add_unseen_silent_row(l, units, t);
                }
        return r;
}

int answer_add_units_within(Leader *l, const char *name, HostRange range, Argosy__Response__Units *units) {
        const UnitEntry *e = cluster_state_find_unit(l->state, name);
        const Unit *u = unit_find(l, name);
        const Argosy__HostRecord *host;
        int r = 0;

        for (uint32_t at = range.first - 1;
             r >= 0 && (host = cluster_state_next_host(l->state, at)) && host->host <= range.last;
             at = host->host)
                r = add_rows_on_host(l, units, name, e, u, host);
        if (r >= 0 && !e)
                r = add_silent_rows_within(l, units, name, range);
        sort_rows(units);
        return r;
}

int answer_add_unit_nowhere(Leader *l, const char *name, Argosy__Response__Units *units) {
        const UnitEntry *e = cluster_state_find_unit(l->state, name);

        return e ? add_row(l, units, name, e, NULL, NULL, 0) : 0;
}

static bool has_many_tombstones(const Leader *l, const char *name, size_t many) {
        const ListNode *tombs = cluster_state_tombstones_of(l->state, name);
        size_t n = 0;

        if (tombs)
                list_foreach (i, tombs)
                        if (++n > many)
                                return true;
        return false;
}

bool answer_is_wide(const Leader *l, const char *name, size_t many) {
        const UnitEntry *e = cluster_state_find_unit(l->state, name);
        const Unit *u = e ? NULL : unit_find(l, name);
        size_t n = 0;

        if (e && e->record->global && unit_name_kind(name, NULL) != UNIT_NAME_TEMPLATE)
                (void) cluster_state_hosts(l->state, &n);
        else if (u && u->rows)
                n = u->rows->count;
        return n > many || (!e && has_many_tombstones(l, name, many));
}

Argosy__Response *answer_units(Leader *l, const Argosy__Request *request) {
        const Argosy__Request__ListUnits *m = request->list_units;
        _cleanup_response_ Argosy__Response *r = response_new(ARGOSY__RESPONSE__WHAT_UNITS);

        if (!r ||
            (answer_is_of_few_names(m->patterns, m->n_patterns) ? add_rows_of_names(l, r->units, m)
                                                                : add_matching_rows(l, r->units, m)) < 0)
                return NULL;
        sort_rows(r->units);
        return TAKE_PTR(r);
}

// ------------------------------------------------------------------------------------------ list-unit-files

static bool unit_on_node_has_failed(const UnitOnNode *s, const Argosy__UnitRecord *r) {
        const Argosy__Outcome *o = record_final_outcome(r, s->node->number);

        return s->active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED || (*unit_on_node_error(s)) ||
               (o && o->kind == ARGOSY__OUTCOME__KIND__FAILED);
}

static bool unit_on_node_outcome_is_unknown(const UnitOnNode *s, const Argosy__UnitRecord *r) {
        const Argosy__Outcome *o = record_final_outcome(r, s->node->number);

        return o && o->kind == ARGOSY__OUTCOME__KIND__UNKNOWN;
}

// How far the unit's target is reached, in the words of targets, or that it failed on a node.
static const char *unit_state_word(const Leader *l, const UnitEntry *e) {
        const Argosy__UnitRecord *r = e->record;
        const Unit *u = unit_find(l, r->name);
        const char *word = "inactive";

        if (!l->leading)
                return r->target == ARGOSY__TARGET__TARGET_INACTIVE ? "inactive" : "unknown";
        if (u)
                list_foreach (i, &u->on_nodes) {
                        const UnitOnNode *s = CONTAINER_OF(i, UnitOnNode, by_unit);

                        if (!unit_wanted_on(l, u, e, s->node))
                                continue;
                        if (!node_is_heard(s->node))
                                return "unknown";
                        if (!unit_on_node_is_reported(s))
                                continue;
                        if (r->target != ARGOSY__TARGET__TARGET_LAUNCHED || s->revision < r->start_rev)
                                word = streq(word, "launched") ? word : "loaded";
                        else if (unit_on_node_outcome_is_unknown(s, r))
                                return "unknown";
                        else if (unit_on_node_has_failed(s, r))
                                return "failed";
                        else
                                word = "launched";
                }
        if (u && u->node && !node_is_heard(u->node))
                return "unknown"; // also before its first report to this leader
        return word;
}

static int add_file_row(Leader *l, Argosy__Response__UnitFiles *files, const UnitEntry *e) {
        Argosy__Response__UnitFileRow *row = calloc(1, sizeof(*row));
        const Argosy__HostRecord *host =
                e->record->node ? cluster_state_find_host_by_node(l->state, e->record->node) : NULL;
        _cleanup_free_ char *description = NULL;
        const UnitFile *file;
        char rev[8];

        if (!row)
                return -ENOMEM;
        argosy__response__unit_file_row__init(row);
        if (FIELD_APPEND(files->rows, files->n_rows, row) < 0)
                return -ENOMEM;
        spec_short(&e->record->spec, rev);
        row->global = e->record->global;
        if (spec_entry_file(e->spec, &file) == 0)
                description = unit_file_describe(file, e->record->name);
        if (field_set(&row->unit, e->record->name) < 0 || field_set(&row->rev, rev) < 0 ||
            field_set(&row->desired, target_to_string(e->record->target)) < 0 ||
            field_set(&row->state, rollout_word(l, e->record->name) ?: unit_state_word(l, e)) < 0 ||
            field_set(&row->set, e->record->set) < 0 || field_set(&row->description, description) < 0)
                return -ENOMEM;
        if (host && !row->global)
                return fill_node_name(&row->node, host, e->record->node);
        return field_set(&row->node, row->global ? "global" : "-");
}

int answer_add_unit_files(Leader *l, const char *name, Argosy__Response__UnitFiles *files) {
        const UnitEntry *e = cluster_state_find_unit(l->state, name);

        return e ? add_file_row(l, files, e) : 0;
}

Argosy__Response *answer_unit_files(Leader *l, const Argosy__Request *request) {
        const Argosy__Request__ListUnitFiles *m = request->list_unit_files;
        _cleanup_response_ Argosy__Response *r = response_new(ARGOSY__RESPONSE__WHAT_UNIT_FILES);

        if (!r)
                return NULL;
        cluster_state_foreach_unit(e, l->state)
                if (answer_name_matches(m->patterns, m->n_patterns, e->record->name) &&
                    add_file_row(l, r->unit_files, e) < 0)
                        return NULL;
        return TAKE_PTR(r);
}

// ------------------------------------------------------------------------------------------------ cat

static void answer_no_name(Leader *l, const Argosy__Request *request, LeaderRespond respond,
                           void *userdata) {
        Argosy__Response out = ARGOSY__RESPONSE__INIT;

        out.id = request->id;
        out.final = true;
        out.no_leader = !l->leading;
        out.status = EINVAL;
        out.message = (char *) "no unit is named";
        respond(&out, userdata);
}

// The unit's content, or the one of revs[i]. NULL: there is none, and `why` says so.
static const SpecEntry *find_content(const Leader *l, const Argosy__Request__Cat *m, size_t i, char *why,
                                     size_t size) {
        const UnitEntry *e = cluster_state_find_unit(l->state, m->names[i]);
        const SpecEntry *spec = NULL;
        Hash hash;

        if (m->n_revs == 0) {
                str_fit(why, size, "%s: no such unit", m->names[i]);
                return e ? e->spec : NULL;
        }
        if (i < m->n_revs && hex_decode(m->revs[i], &hash, HASH_SIZE))
                spec = cluster_state_find_spec(l->state, &hash);
        str_fit(why, size, "%s: its file of then is not kept any more", m->names[i]);
        return spec;
}

void answer_cat(Leader *l, const Argosy__Request *request, LeaderRespond respond, void *userdata) {
        const Argosy__Request__Cat *m = request->cat;

        if (!m->n_names)
                answer_no_name(l, request, respond, userdata);
        for (size_t i = 0; i < m->n_names; i++) {
                char message[UNIT_NAME_MAX + 64];
                const SpecEntry *spec = find_content(l, m, i, message, sizeof(message));
                Argosy__Response__Cat c = ARGOSY__RESPONSE__CAT__INIT;
                Argosy__Response out = RESPONSE_OF(CAT, cat, &c);

                out.id = request->id;
                out.final = i + 1 == m->n_names;
                out.no_leader = !l->leading;
                c.name = m->names[i];
                if (spec)
                        c.content = (ProtobufCBinaryData){.data = spec->content, .len = spec->len};
                else {
                        out.status = ENOENT;
                        out.message = message;
                }
                respond(&out, userdata);
        }
}
