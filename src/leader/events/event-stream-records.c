// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Rows of small tables of the log, as objects of the stream. Each of these tables has a revision, that of
// its last change, and when it is another one all of its rows are compared with what they were: a thousand
// of them at most, in a millisecond, and rarely, since somebody has asked for each of these changes. A row
// that is new or has changed gets a sequence, one that is there no more leaves its name.
//
// A row is known by its name, the first field of its kind; a right, which has none, by how it is given. Out
// of memory the process ends, as everywhere in the stream.

#include "event-stream-records.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "cluster-state.h"
#include "event-core.h"
#include "event-marks.h"
#include "event-stream-roles.h"
#include "log-trail.h"
#include "oom.h"
#include "queue-policy.h"
#include "response.h"

// ------------------------------------------------------------------------------------------------ rows

static const char *phase_word(Argosy__RolloutPhase phase) {
        switch (phase) {
        case ARGOSY__ROLLOUT_PHASE__ROLLOUT_RUNNING:
                return "running";
        case ARGOSY__ROLLOUT_PHASE__ROLLOUT_RETURNING:
                return "returning";
        case ARGOSY__ROLLOUT_PHASE__ROLLOUT_DONE:
                return "done";
        case ARGOSY__ROLLOUT_PHASE__ROLLOUT_RETURNED:
                return "returned";
        case ARGOSY__ROLLOUT_PHASE__ROLLOUT_STOPPED:
                return "stopped";
        default:
                return "";
        }
}

static size_t count_rollouts(const Leader *l) {
        size_t n;

        (void) cluster_state_rollouts(l->state, &n);
        return n;
}

static int draft_rollout(Leader *l, size_t i, EventDraft *d) {
        size_t n, rev, nodes, revision;
        const Argosy__RolloutRecord *r = cluster_state_rollouts(l->state, &n)[i];
        char hash[8];

        spec_short(&r->spec, hash);
        if (event_draft_printf(d, &rev, "%s", hash) < 0 ||
            event_draft_printf(d, &nodes, "%zu", r->n_nodes) < 0 ||
            event_draft_printf(d, &revision, "%" PRIu64, r->revision) < 0)
                return -ENOMEM;
        return EVENT_DRAFT_SET(
                d, r->name, r->kind == ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE ? "update" : "restart",
                phase_word(r->phase), event_draft_text(d, rev),
                r->n_nodes > 0 ? event_draft_text(d, nodes) : "", event_draft_text(d, revision), r->reason);
}

static size_t count_roles(const Leader *l) {
        size_t n;

        (void) cluster_state_roles(l->state, &n);
        return n;
}

static int put_amounts(EventDraft *d, Argosy__Amount *const *amounts, size_t n, size_t *ret_at) {
        *ret_at = event_draft_here(d);
        for (size_t i = 0; i < n; i++)
                if (buf_printf(&d->text, "%s%s=%" PRIu64, i > 0 ? " " : "", amounts[i]->resource,
                               amounts[i]->amount) < 0)
                        return -ENOMEM;
        return event_draft_end_text(d);
}

static int draft_role(Leader *l, size_t i, EventDraft *d) {
        size_t n, weight, guarantee, limit;
        const Argosy__RoleRecord *r = cluster_state_roles(l->state, &n)[i];

        if (event_draft_printf(d, &weight, "%" PRIu32, r->weight > 0 ? r->weight : 1) < 0 ||
            put_amounts(d, r->guarantee, r->n_guarantee, &guarantee) < 0 ||
            put_amounts(d, r->limit, r->n_limit, &limit) < 0)
                return -ENOMEM;
        return EVENT_DRAFT_SET(d, r->name, event_draft_text(d, weight), event_draft_text(d, guarantee),
                               event_draft_text(d, limit));
}

static size_t count_pools(const Leader *l) {
        size_t n;

        (void) cluster_state_pools(l->state, &n);
        return n;
}

static int draft_pool(Leader *l, size_t i, EventDraft *d) {
        size_t n, hosts = event_draft_here(d), labels;
        const Argosy__PoolRecord *r = cluster_state_pools(l->state, &n)[i];

        for (size_t k = 0; k < r->n_hosts; k++)
                if (buf_printf(&d->text, "%s%s", k > 0 ? " " : "", r->hosts[k]) < 0)
                        return -ENOMEM;
        if (event_draft_end_text(d) < 0)
                return -ENOMEM;
        labels = event_draft_here(d);
        for (size_t k = 0; k < r->n_labels; k++)
                if (buf_printf(&d->text, "%s%s=%s", k > 0 ? " " : "", r->labels[k]->key,
                               r->labels[k]->value) < 0)
                        return -ENOMEM;
        if (event_draft_end_text(d) < 0)
                return -ENOMEM;
        return EVENT_DRAFT_SET(d, r->name, event_draft_text(d, hosts), event_draft_text(d, labels));
}

static size_t count_grants(const Leader *l) {
        return cluster_state_access(l->state).n;
}

static int put_grant(EventDraft *d, const Argosy__GrantRecord *g, const char *host) {
        if (buf_printf(&d->text, "%s to %s:%s%s%s", right_to_string(g->right), *g->user ? "user" : "group",
                       *g->user ? g->user : g->group, *host ? "@" : "", host) < 0 ||
            (*g->role && buf_printf(&d->text, " on role %s", g->role) < 0))
                return -ENOMEM;
        return event_draft_end_text(d);
}

static int draft_grant(Leader *l, size_t i, EventDraft *d) {
        const Argosy__GrantRecord *g = cluster_state_access(l->state).grants[i];
        const Argosy__HostRecord *host = g->host ? cluster_state_find_host(l->state, g->host) : NULL;
        size_t at = event_draft_here(d);

        if (put_grant(d, g, host ? host->name : "") < 0)
                return -ENOMEM;
        return EVENT_DRAFT_SET(d, event_draft_text(d, at), right_to_string(g->right), g->user, g->group,
                               host ? host->name : "", g->role);
}

static size_t count_rules(const Leader *l) {
        return cluster_state_queue(l->state)->n_rules;
}

static int draft_rule(Leader *l, size_t i, EventDraft *d) {
        const Argosy__QueueRule *r = cluster_state_queue(l->state)->rules[i];
        size_t number, place, limit;

        if (event_draft_printf(d, &number, "%" PRIu32, r->number) < 0 ||
            event_draft_printf(d, &place, "%zu", i + 1) < 0 ||
            event_draft_printf(d, &limit, "%" PRIu32, r->limit) < 0)
                return -ENOMEM;
        return EVENT_DRAFT_SET(d, event_draft_text(d, number), event_draft_text(d, place),
                               queue_action_to_string(r->action),
                               r->limit > 0 ? event_draft_text(d, limit) : "", r->text, r->author, r->verb,
                               r->unit, r->role, r->reason);
}

static size_t count_queues(const Leader *l) {
        return 1;
}

static int draft_queue(Leader *l, size_t i, EventDraft *d) {
        const Argosy__QueueRecord *queue = cluster_state_queue(l->state);

        return EVENT_DRAFT_SET(d, queue->closed ? "1" : "", queue->reason);
}

// ------------------------------------------------------------------------------------------------ tables

typedef struct TableInfo {
        Argosy__EventKind kind;
        size_t revision; // in ClusterRevisions
        size_t (*count)(const Leader *l);
        int (*draft)(Leader *l, size_t i, EventDraft *d);
} TableInfo;

#define REVISION(table) offsetof(ClusterRevisions, table)

// A change of a pool counts as one of hosts.
static const TableInfo infos[EVENT_TABLES] = {
        {ARGOSY__EVENT_KIND__EVENT_ROLLOUT, REVISION(rollouts), count_rollouts, draft_rollout},
        {ARGOSY__EVENT_KIND__EVENT_ROLE, REVISION(roles), count_roles, draft_role},
        {ARGOSY__EVENT_KIND__EVENT_POOL, REVISION(hosts), count_pools, draft_pool},
        {ARGOSY__EVENT_KIND__EVENT_GRANT, REVISION(grants), count_grants, draft_grant},
        {ARGOSY__EVENT_KIND__EVENT_RULE, REVISION(queue), count_rules, draft_rule},
        {ARGOSY__EVENT_KIND__EVENT_QUEUE, REVISION(queue), count_queues, draft_queue},
};

static const TableInfo *find_info(Argosy__EventKind kind) {
        for (size_t i = 0; i < EVENT_TABLES; i++)
                if (infos[i].kind == kind)
                        return &infos[i];
        return NULL;
}

Argosy__EventKind event_table_kind(size_t table) {
        return infos[table].kind;
}

// Of rights that of hosts, too: the host whose user one is for may get another name.
uint64_t event_table_revision(size_t table, const ClusterRevisions *now) {
        uint64_t of_hosts = infos[table].kind == ARGOSY__EVENT_KIND__EVENT_GRANT ? now->hosts : 0;

        return *(const uint64_t *) ((const char *) now + infos[table].revision) + of_hosts;
}

bool event_tables_have(Argosy__EventKind kind) {
        return find_info(kind) != NULL;
}

static int draft_row(Leader *l, const TableInfo *info, size_t i, EventDraft *d) {
        event_draft_begin(d, info->kind);
        return info->draft(l, i, d);
}

int event_draft_record(Leader *l, const RecordObject *o, EventDraft *d) {
        return draft_row(l, find_info((Argosy__EventKind) o->event.kind), o->at, d);
}

// ------------------------------------------------------------------------------------------------ objects

static void free_object(void *value) {
        RecordObject *o = value;

        free(o->event.reported);
        free(o);
}

void event_tables_done(EventTables *t) {
        for (size_t i = 0; i < EVENT_TABLES; i++)
                map_done_with(&t->tables[i].objects, free_object);
}

static RecordObject *get_object(EventTable *table, const EventDraft *d) {
        const char *name = d->info->n_names > 0 ? d->values[0] : ""; // else there is one of it
        RecordObject *o = map_find_str(&table->objects, name);

        if (o)
                return o;
        o = oom_checked(MAP_NEW_STR(&table->objects, RecordObject, name, name));
        o->event.kind = d->kind;
        return o;
}

static uint64_t hash_of_values(const EventDraft *d) {
        uint64_t hash = 0;

        for (size_t i = 0; i < d->n_fields; i++)
                hash = hash * 31 + map_hash(d->values[i], strlen(d->values[i]));
        return hash;
}

static void follow_row(Leader *l, RecordObject *o, EventDraft *d, bool has_changed) {
        uint64_t last_seq = l->events->last_seq;
        unsigned before;

        if (d->kind == ARGOSY__EVENT_KIND__EVENT_ROLLOUT) {
                d->role = (uint16_t) event_roles_note_group(l, o->name, &o->event, &before);
                d->role_before = (uint16_t) before;
        }
        if (has_changed)
                event_stream_follow(l, &o->event, d);
        if (d->role != d->role_before && l->events->last_seq == last_seq)
                event_stream_tell_roles(l, d);
}

static RecordObject *find_object(const Leader *l, Argosy__EventKind kind, const char *name) {
        const TableInfo *info = find_info(kind);

        return info ? map_find_str(&l->events->tables->tables[info - infos].objects, name) : NULL;
}

void event_tables_mark(Leader *l, Argosy__EventKind kind, const char *name) {
        RecordObject *o = find_object(l, kind, name);

        if (o)
                event_mark(l, &o->event);
}

bool event_tables_have_again(Leader *l, Argosy__EventKind kind, const char *name, unsigned role) {
        RecordObject *o = find_object(l, kind, name);

        if (o && o->event.role != role) { // of a rollout
                o->event.role = role;
                event_mark(l, &o->event);
        }
        return o;
}

void event_tables_on_marked(Leader *l, RecordObject *o) {
        EventDraft d;

        (void) oom_check(event_draft_record(l, o, &d));
        follow_row(l, o, &d, false);
        event_draft_done(&d);
}

static void compare_row(Leader *l, EventTable *table, const TableInfo *info, size_t i) {
        EventDraft d;
        RecordObject *o;
        uint64_t values;

        (void) oom_check(draft_row(l, info, i, &d));
        o = get_object(table, &d);
        values = hash_of_values(&d);
        follow_row(l, o, &d, o->event.seq == 0 || o->values != values);
        o->values = values;
        o->at = i;
        o->pass = l->events->tables->pass;
        event_draft_done(&d);
}

static void drop_missing(Leader *l, EventTable *table) {
        map_foreach (slot, &table->objects) {
                RecordObject *o = slot->value;

                if (o->pass == l->events->tables->pass)
                        continue;
                event_stream_on_object_gone(l, &o->event, o->name);
                map_take_str(&table->objects, o->name);
                free_object(o);
        }
}

static size_t compare_table(Leader *l, size_t number, const ClusterRevisions *now) {
        EventTables *all = l->events->tables;
        EventTable *table = &all->tables[number];
        const TableInfo *info = &infos[number];
        uint64_t revision = event_table_revision(number, now);
        size_t n;

        if (all->compared && table->revision == revision)
                return 0;
        n = info->count(l);
        table->revision = revision;
        all->pass++;
        for (size_t i = 0; i < n; i++)
                compare_row(l, table, info, i);
        if (table->objects.count > n)
                drop_missing(l, table);
        return n;
}

size_t event_tables_drain(Leader *l) {
        EventTables *t = l->events->tables;
        ClusterRevisions now;
        size_t n = 0;

        if (t->compared && t->n_followed == l->n_followed) // no entry has changed them
                return 0;
        now = cluster_state_revisions(l->state);
        for (size_t i = 0; i < EVENT_TABLES; i++)
                n += compare_table(l, i, &now);
        t->compared = true;
        t->n_followed = l->n_followed;
        return n;
}
