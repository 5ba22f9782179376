// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Events of objects: the values of their fields as list-unit-files, list-units, list-nodes and list-jobs
// would show them now, in the order of the table (event-kind.h). A unit is there as long as the log has it
// or a node that lists it; a unit on a node as long as list-units has a row for it. Without memory the draft
// is of no use, and is only done.

#include "event-maker.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "answer-jobs.h"
#include "answer-hosts.h"
#include "answer.h"
#include "clock.h"
#include "host-record.h"
#include "message-of.h"
#include "message.h"
#include "nodes.h"
#include "older-secrets.h"
#include "response.h"
#include "scheduler.h"
#include "str.h"
#include "tombstones.h"
#include "unit-on-node.h"
#include "unit-state.h"
#include "unit-work.h"

// ------------------------------------------------------------------------------------------------ values

void event_draft_begin(EventDraft *d, Argosy__EventKind kind) {
        *d = (EventDraft){.kind = kind, .info = event_kind_info(kind), .present = true};
        d->n_fields = event_kind_n_fields(d->info);
        argosy__response__unit_files__init(&d->files);
        argosy__response__nodes__init(&d->nodes);
        for (size_t i = 0; i < d->n_fields; i++)
                d->values[i] = "";
}

void event_draft_done(EventDraft *d) {
        for (size_t i = 0; i < d->files.n_rows; i++)
                message_free(d->files.rows[i]);
        for (size_t i = 0; i < d->nodes.n_rows; i++)
                message_free(d->nodes.rows[i]);
        free(d->files.rows);
        free(d->nodes.rows);
        message_free(d->job);
        buf_done(&d->text);
}

int event_draft_printf(EventDraft *d, size_t *ret_at, const char *format, ...) {
        char text[128];
        va_list args;

        va_start(args, format);
        str_vfit(text, sizeof(text), format, args);
        va_end(args);
        *ret_at = event_draft_here(d);
        return buf_append(&d->text, text, strlen(text) + 1);
}

// The only text of its kind.
static const char *number(EventDraft *d, uint64_t n) {
        size_t at;

        return event_draft_printf(d, &at, "%" PRIu64, n) < 0 ? NULL : event_draft_text(d, at);
}

int event_draft_set(EventDraft *d, const char *const *values, size_t n) {
        for (size_t i = 0; i < n; i++) {
                if (!values[i])
                        return -ENOMEM;
                d->values[i] = values[i];
        }
        return 0;
}

static const char *text(const char *s) {
        return s ? s : "";
}

// ------------------------------------------------------------------------------------------------ objects

int event_draft_stream(EventDraft *d, const char *word, uint32_t kinds) {
        size_t at = 0;

        event_draft_begin(d, ARGOSY__EVENT_KIND__EVENT_STREAM);
        for (unsigned k = 0; k < EVENT_KINDS; k++)
                if (kinds & event_kind_bit((Argosy__EventKind) k) &&
                    buf_printf(&d->text, "%s%s", d->text.len > 0 ? " " : "",
                               event_kind_info((Argosy__EventKind) k)->name) < 0)
                        return -ENOMEM;
        if (event_draft_end_text(d) < 0)
                return -ENOMEM;
        return EVENT_DRAFT_SET(d, word, event_draft_text(d, at));
}

int event_draft_leader(Leader *l, EventDraft *d) {
        const Argosy__HostRecord *host = cluster_state_find_host(l->state, l->config.self);

        event_draft_begin(d, ARGOSY__EVENT_KIND__EVENT_LEADER);
        return EVENT_DRAFT_SET(d, host ? host->name : "", number(d, l->term));
}

static const Argosy__NodeRecord *find_node_record(const Argosy__HostRecord *host, uint32_t node) {
        for (size_t i = 0; host && i < host->n_nodes; i++)
                if (host->nodes[i]->node == node)
                        return host->nodes[i];
        return NULL;
}

static const char *labels_text(EventDraft *d, const Argosy__Response__NodeRow *row) {
        for (size_t i = 0; i < row->n_labels; i++)
                if (buf_printf(&d->text, "%s%s=%s", i > 0 ? " " : "", row->labels[i]->key,
                               row->labels[i]->value) < 0)
                        return NULL;
        return buf_append(&d->text, "", 1) < 0 ? NULL : (const char *) d->text.data;
}

int event_draft_node(Leader *l, const Node *n, EventDraft *d) {
        const Argosy__HostRecord *host = cluster_state_find_host(l->state, n->host->number);
        const Argosy__NodeRecord *node = find_node_record(host, n->number);
        const Argosy__Response__NodeRow *row;

        event_draft_begin(d, ARGOSY__EVENT_KIND__EVENT_NODE);
        d->present = node;
        if (!node)
                return EVENT_DRAFT_SET(d, n->name);
        if (answer_add_node(l, &d->nodes, host, node, l->config.self) < 0)
                return -ENOMEM;
        row = d->nodes.rows[0];
        return EVENT_DRAFT_SET(d, row->node, row->state, row->role, row->mode, row->mode_reason, row->reason,
                               row->address, labels_text(d, row), number(d, n->state_since_us));
}

int event_draft_drain(Leader *l, const Node *n, EventDraft *d) {
        const Argosy__HostRecord *host = cluster_state_find_host(l->state, n->host->number);
        const Argosy__NodeRecord *node = find_node_record(host, n->number);
        size_t left, stuck, deadline;

        event_draft_begin(d, ARGOSY__EVENT_KIND__EVENT_DRAIN);
        d->present = node && node_is_emptying(n);
        if (!d->present)
                return EVENT_DRAFT_SET(d, n->name);
        if (event_draft_printf(d, &left, "%zu", n->n_to_leave + n->n_leaving) < 0 ||
            event_draft_printf(d, &stuck, "%zu", n->n_stuck) < 0 ||
            event_draft_printf(d, &deadline, "%" PRIu64, n->deadline_us) < 0)
                return -ENOMEM;
        return EVENT_DRAFT_SET(d, n->name, node_mode_to_string(n->mode), event_draft_text(d, left),
                               event_draft_text(d, stuck),
                               n->deadline_us > 0 ? event_draft_text(d, deadline) : "", node->mode_reason);
}

static bool is_left_anywhere(const Leader *l, const Unit *u) {
        list_foreach (i, &u->on_nodes)
                if (unit_on_node_is_listed(l, NULL, CONTAINER_OF(i, UnitOnNode, by_unit)))
                        return true;
        return false;
}

int event_draft_unit(Leader *l, const Unit *u, EventDraft *d) {
        const UnitEntry *e = cluster_state_find_unit(l->state, u->name);
        uint64_t since_sec = unit_work_seen(u)->pending_since_sec;
        const Argosy__Response__UnitFileRow *row;

        event_draft_begin(d, ARGOSY__EVENT_KIND__EVENT_UNIT);
        if (!e) {
                d->present = is_left_anywhere(l, u);
                return EVENT_DRAFT_SET(d, u->name, d->present ? tombstones_word(l, u->name) : "");
        }
        if (answer_add_unit_files(l, u->name, &d->files) < 0)
                return -ENOMEM;
        row = d->files.rows[0];
        return EVENT_DRAFT_SET(
                d, row->unit, row->desired, row->state, row->node, row->rev, number(d, e->record->revision),
                row->description, row->set, since_sec > 0 ? number(d, since_sec * USEC_PER_SEC) : "");
}

int event_draft_content(Leader *l, const Unit *u, EventDraft *d) {
        const UnitEntry *e = cluster_state_find_unit(l->state, u->name);
        char hex[HASH_HEX_SIZE];
        size_t hash, bytes;

        event_draft_begin(d, ARGOSY__EVENT_KIND__EVENT_CONTENT);
        d->present = e != NULL;
        if (!e)
                return EVENT_DRAFT_SET(d, u->name);
        hash_hex(&e->spec->hash, HASH_SIZE, hex);
        if (event_draft_printf(d, &hash, "%s", hex) < 0 ||
            event_draft_printf(d, &bytes, "%zu", e->spec->len) < 0)
                return -ENOMEM;
        return EVENT_DRAFT_SET(d, u->name, event_draft_text(d, hash), event_draft_text(d, bytes));
}

int event_draft_state(Leader *l, const UnitOnNode *s, EventDraft *d) {
        const UnitEntry *e = cluster_state_find_unit(l->state, s->unit->name);
        char notes[UNIT_NOTES_SIZE];
        size_t since, note, restarts;

        event_draft_begin(d, ARGOSY__EVENT_KIND__EVENT_STATE);
        d->present = unit_on_node_is_listed(l, e, s);
        if (!d->present)
                return EVENT_DRAFT_SET(d, s->unit->name, s->node->name);
        if (!node_is_heard(s->node))
                return EVENT_DRAFT_SET(d, s->unit->name, s->node->name, "unknown", "unknown", "unknown", "",
                                       text(s->node->reason));
        if (!unit_on_node_is_reported(s))
                return EVENT_DRAFT_SET(d, s->unit->name, s->node->name, "-", "inactive", "dead");
        d->mismatch = scheduler_mismatches(l, s);
        d->older_secret = unit_older_secret(l, s->unit->name);
        unit_on_node_notes(s, d->mismatch, d->older_secret, notes);
        if (event_draft_printf(d, &since, "%" PRIu64, unit_on_node_since_us(s)) < 0 ||
            event_draft_printf(d, &restarts, "%" PRIu32, s->restarts) < 0 ||
            (*notes && event_draft_printf(d, &note, "%s", notes) < 0))
                return -ENOMEM;
        return EVENT_DRAFT_SET(d, s->unit->name, s->node->name, load_state_to_string(s->load),
                               active_state_to_string(s->active), unit_on_node_sub(s),
                               unit_on_node_result(s), unit_on_node_error(s),
                               s->down == ARGOSY__DOWN_CAUSE__DOWN_STOPPED ? "1" : "",
                               s->file_stale ? "1" : "", s->since_us > 0 ? event_draft_text(d, since) : "",
                               *notes ? event_draft_text(d, note) : "",
                               s->restarts > 0 ? event_draft_text(d, restarts) : "", s->looping ? "1" : "");
}

int event_draft_gone(const GoneObject *g, EventDraft *d) {
        event_draft_begin(d, g->event.kind);
        d->present = false;
        return EVENT_DRAFT_SET(d, g->name, text(g->node_name));
}

// Fills in a job's event; its texts stand behind the number, in the same buffer.
static int fill_job(EventDraft *d, const Argosy__Response__JobRow *row) {
        size_t at;

        if (buf_printf(&d->text, "%" PRIu64, row->job) < 0 || buf_append(&d->text, "", 1) < 0)
                return -ENOMEM;
        at = d->text.len;
        for (size_t i = 0; i < row->n_targets; i++)
                if (buf_printf(&d->text, "%s%s", i > 0 ? " " : "", row->targets[i]) < 0)
                        return -ENOMEM;
        if (row->more_targets > 0 && buf_printf(&d->text, " and %" PRIu32 " more", row->more_targets) < 0)
                return -ENOMEM;
        if (buf_append(&d->text, "", 1) < 0)
                return -ENOMEM;
        return EVENT_DRAFT_SET(d, (const char *) d->text.data, row->author, row->verb,
                               (const char *) d->text.data + at, row->reason, row->state, row->message);
}

int event_draft_job(Leader *l, uint64_t job_number, EventDraft *d) {
        Argosy__JobRecord *job;
        int r;

        event_draft_begin(d, ARGOSY__EVENT_KIND__EVENT_JOB);
        d->present = false;
        r = cluster_state_read_job(l->state, job_number, &job);
        if (r == -ENOENT)
                return EVENT_DRAFT_SET(d, number(d, job_number)); // forgotten since
        if (r < 0)
                return r;
        d->present = true;
        d->job = calloc(1, sizeof(*d->job));
        if (d->job)
                argosy__response__job_row__init(d->job);
        r = d->job ? job_fill_row(d->job, job) : -ENOMEM;
        message_free(job);
        return r < 0 ? r : fill_job(d, d->job);
}

int event_draft_job_for(Leader *l, const Argosy__Author *author, uint64_t job_number, EventDraft *d) {
        _cleanup_response_ Argosy__Response *answer = answer_job_of_log(l, author, job_number);

        event_draft_begin(d, ARGOSY__EVENT_KIND__EVENT_JOB);
        d->present = false;
        if (!answer)
                return -ENOMEM;
        if (answer->status != 0 || answer->jobs->n_rows != 1)
                return EVENT_DRAFT_SET(d, number(d, job_number));
        d->present = true;
        d->job = answer->jobs->rows[0];
        answer->jobs->n_rows = 0;
        return fill_job(d, d->job);
}

int event_draft_no_unit(Argosy__EventKind kind, const char *name, EventDraft *d) {
        event_draft_begin(d, kind);
        d->present = false;
        return EVENT_DRAFT_SET(d, name);
}

// ---------------------------------------------------------------------------------------------- the message

static void fill(const EventDraft *d, const EventMarks *m, Argosy__Event *ret,
                 char *values[EVENT_FIELDS_MAX]) {
        *ret = (Argosy__Event) MESSAGE_OF(event, .kind = d->kind, .mark = m->mark, .gone = !d->present,
                                          .seq = m->seq, .at_us = m->at_us, .index = m->index,
                                          .n_values = d->present ? d->n_fields : d->info->n_names,
                                          .values = values, .changed = m->changed,
                                          .n_changed = m->n_changed);
        for (size_t i = 0; i < ret->n_values; i++)
                values[i] = (char *) d->values[i];
        while (ret->n_values > 0 && !*values[ret->n_values - 1])
                ret->n_values--;
}

size_t event_draft_size(const EventDraft *d, const EventMarks *m) {
        char *values[EVENT_FIELDS_MAX];
        Argosy__Event event;

        fill(d, m, &event, values);
        return argosy__event__get_packed_size(&event);
}

void event_draft_pack(const EventDraft *d, const EventMarks *m, uint8_t *ret) {
        char *values[EVENT_FIELDS_MAX];
        Argosy__Event event;

        fill(d, m, &event, values);
        argosy__event__pack(&event, ret);
}
