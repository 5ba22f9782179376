// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See undo-settings.h. All of them go into one entry, as they came: so nothing moves onto a node that is to
// be closed with its own. Of a host one record is put, of the queue one.
//
// A rule of the queue comes before the one that stood behind it; if that is gone, it is the last one. A
// drain whose time is over is put back without it, since what it would stop now nobody has been asked about.
//
// What cannot be had (its host is gone, units are of a role that was new) says why, and is left.

#include "undo-settings.h"

#include <errno.h>
#include <stdlib.h>

#include "cluster-setting.h"
#include "host-record.h"
#include "message.h"
#include "node-changes.h"
#include "response.h"
#include "roles.h"
#include "setting-words.h"
#include "str.h"
#include "turn.h"

// ------------------------------------------------------------------------------------------------ the list

static UndoSetting *find(const UndoSettings *list, const Argosy__JobSetting *which) {
        for (size_t i = 0; i < list->n; i++)
                if (setting_is_same(list->items[i].first, which))
                        return &list->items[i];
        return NULL;
}

// Each entry of a job has brought one, so of those that are there twice some are near each other, and there
// are few.
int undo_settings_read(UndoSettings *list, const Argosy__JobRecord *job) {
        list->items = calloc(job->n_settings + 1, sizeof(*list->items));
        if (!list->items)
                return -ENOMEM;
        for (size_t i = 0; i < job->n_settings; i++) {
                UndoSetting *s = find(list, job->settings[i]);

                if (!s) {
                        s = &list->items[list->n++];
                        s->first = job->settings[i];
                }
                s->last = job->settings[i];
        }
        return 0;
}

static void forget_values(UndoSetting *s) {
        message_free(TAKE_PTR(s->wanted));
        message_free(TAKE_PTR(s->now));
}

void undo_settings_done(UndoSettings *list) {
        for (size_t i = 0; i < list->n; i++)
                forget_values(&list->items[i]);
        free(list->items);
}

bool undo_setting_is_due(const UndoSetting *s) {
        return s->verdict == UNDO_PUT && !*s->why;
}

// ------------------------------------------------------------------------------------------------ judging

static bool has_set_label(const Argosy__HostRecord *host, const char *key) {
        for (size_t i = 0; i < host->n_set_labels; i++)
                if (streq(host->set_labels[i]->key, key))
                        return true;
        return false;
}

static void check_label(const Leader *l, UndoSetting *s) {
        const Argosy__HostRecord *host = cluster_state_find_host(l->state, s->first->number);

        if (!host)
                str_fit(s->why, sizeof(s->why), "the host is no member any more");
        else if (s->wanted && !has_set_label(host, s->first->name) &&
                 host->n_set_labels >= HOST_SET_LABELS_MAX)
                str_fit(s->why, sizeof(s->why), "the host has as many labels as can be set at run time");
}

// Whether the log has room for what was there.
static void check_room(const Leader *l, UndoSetting *s, const Argosy__LogOp *op) {
        ClusterHeld nothing = {.counted_us = leader_counted(l)};
        ClusterRefusal refusal = cluster_state_judge(l->state, &nothing, op);
        char words[CLUSTER_REFUSAL_SIZE];

        if (refusal)
                str_fit(s->why, sizeof(s->why), "%s", cluster_refusal_words(l->state, refusal, words));
}

static int check_role(Leader *l, UndoSetting *s) {
        Argosy__LogOp op = {.op_case = ARGOSY__LOG_OP__OP_ROLE};
        int r = roles_check_role_back(l, s->first->name, s->wanted ? s->wanted->role : NULL, s->why,
                                      sizeof(s->why));

        if (r < 0 || !s->wanted || !s->wanted->role)
                return r;
        op.role = s->wanted->role;
        check_room(l, s, &op);
        return 0;
}

static void check_pool(const Leader *l, UndoSetting *s) {
        Argosy__LogOp op = {.op_case = ARGOSY__LOG_OP__OP_POOL};

        if (!s->wanted || !s->wanted->pool)
                return;
        op.pool = s->wanted->pool;
        check_room(l, s, &op);
}

static int check_rule(const Leader *l, UndoSetting *s) {
        Argosy__QueueRecord queue = *cluster_state_queue(l->state);
        Argosy__LogOp op = {.op_case = ARGOSY__LOG_OP__OP_QUEUE, .queue = &queue};
        _cleanup_free_ Argosy__QueueRule **rules = NULL;

        if (!s->wanted || s->now)
                return 0;
        rules = calloc(queue.n_rules + 1, sizeof(*rules));
        if (!rules)
                return -ENOMEM;
        for (size_t i = 0; i < queue.n_rules; i++)
                rules[i] = queue.rules[i];
        rules[queue.n_rules++] = s->wanted->rule;
        queue.rules = rules;
        check_room(l, s, &op);
        return 0;
}

static int check(Leader *l, UndoSetting *s) {
        *s->why = 0;
        if (s->verdict != UNDO_PUT)
                return 0;
        switch (s->first->kind) {
        case ARGOSY__SETTING_KIND__SETTING_LABEL:
                check_label(l, s);
                return 0;
        case ARGOSY__SETTING_KIND__SETTING_NODE:
                if (!s->now || !s->wanted)
                        str_fit(s->why, sizeof(s->why), "there is no such node any more");
                return 0;
        case ARGOSY__SETTING_KIND__SETTING_ROLE:
                return check_role(l, s);
        case ARGOSY__SETTING_KIND__SETTING_POOL:
                check_pool(l, s);
                return 0;
        case ARGOSY__SETTING_KIND__SETTING_RULE:
                return check_rule(l, s);
        case ARGOSY__SETTING_KIND__SETTING_QUEUE:
                return 0;
        default:
                str_fit(s->why, sizeof(s->why), "this version does not know how");
                return 0;
        }
}

static int read_values(Leader *l, UndoSetting *s) {
        forget_values(s);
        if (s->first->before && !(s->wanted = message_copy(s->first->before)))
                return -ENOMEM;
        if (s->wanted && s->wanted->deadline_us > 0 && s->wanted->deadline_us <= leader_wall(l))
                s->wanted->deadline_us = 0;
        return cluster_setting_read(l->state, s->first, &s->now);
}

static int judge(Leader *l, UndoSetting *s, bool force) {
        bool is_before, is_after;
        int r = read_values(l, s);

        if (r == 0)
                r = setting_value_compare(s->now, s->wanted, &is_before);
        if (r == 0)
                r = setting_value_compare(s->now, s->last->after, &is_after);
        if (r < 0)
                return r;
        s->verdict = undo_judge_setting(is_before, is_after, force);
        return check(l, s);
}

int undo_settings_judge(UndoSettings *list, Leader *l, bool force) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < list->n; i++)
                r = judge(l, &list->items[i], force);
        return r;
}

// ------------------------------------------------------------------------------------------------ hosts

// The host whose record has it; 0: it is no matter of a host.
static uint32_t host_of(const Leader *l, const UndoSetting *s) {
        const Argosy__HostRecord *host;

        if (s->first->kind == ARGOSY__SETTING_KIND__SETTING_LABEL)
                return s->first->number;
        if (s->first->kind != ARGOSY__SETTING_KIND__SETTING_NODE)
                return 0;
        host = cluster_state_find_host_by_node(l->state, s->first->number);
        return host ? host->host : 0;
}

static int change_host(Argosy__HostRecord *next, const UndoSetting *s) {
        int r;

        if (s->first->kind == ARGOSY__SETTING_KIND__SETTING_NODE) {
                r = host_record_set_mode(next, s->first->number, s->wanted->mode, s->wanted->text,
                                         s->wanted->deadline_us);
                return MIN_OF(r, 0);
        }
        if (s->wanted)
                r = host_record_set_label(next, s->first->name, s->wanted->text);
        else {
                (void) host_record_unset_label(next, s->first->name);
                r = 0;
        }
        return r < 0 ? r : host_record_merge_labels(next);
}

// All that is due of the host, if the first of it stands at this place.
static int put_host(const UndoSettings *list, size_t at, Leader *l, BatchBuilder *b) {
        uint32_t number = host_of(l, &list->items[at]);
        const Argosy__HostRecord *host = cluster_state_find_host(l->state, number);
        Argosy__HostRecord *next;
        int r = 0;

        for (size_t i = 0; i < at; i++)
                if (undo_setting_is_due(&list->items[i]) && host_of(l, &list->items[i]) == number)
                        return 0;
        next = host ? message_copy(host) : NULL;
        if (!next)
                return -ENOMEM;
        for (size_t i = at; r >= 0 && i < list->n; i++)
                if (undo_setting_is_due(&list->items[i]) && host_of(l, &list->items[i]) == number)
                        r = change_host(next, &list->items[i]);
        if (r >= 0)
                r = node_change_put_host(l, b, next);
        message_free(next);
        return r;
}

// ------------------------------------------------------------------------------------------------ the queue

static size_t find_rule(const Argosy__QueueRecord *queue, uint32_t number) {
        for (size_t i = 0; i < queue->n_rules; i++)
                if (queue->rules[i]->number == number)
                        return i;
        return queue->n_rules;
}

static void remove_rule(Argosy__QueueRecord *queue, uint32_t number) {
        size_t at = find_rule(queue, number);

        if (at == queue->n_rules)
                return;
        message_free(queue->rules[at]);
        memmove(&queue->rules[at], &queue->rules[at + 1], (--queue->n_rules - at) * sizeof(*queue->rules));
}

static int insert_rule(Argosy__QueueRecord *queue, const UndoSetting *s) {
        size_t at = find_rule(queue, s->first->next_rule);
        Argosy__QueueRule *copy = message_copy(s->wanted->rule);

        if (FIELD_APPEND(queue->rules, queue->n_rules, copy) < 0)
                return -ENOMEM;
        memmove(&queue->rules[at + 1], &queue->rules[at], (queue->n_rules - 1 - at) * sizeof(*queue->rules));
        queue->rules[at] = copy;
        return 0;
}

static int change_queue(Argosy__QueueRecord *next, const UndoSetting *s) {
        if (s->first->kind == ARGOSY__SETTING_KIND__SETTING_QUEUE) {
                next->closed = s->wanted->closed;
                next->open_max = s->wanted->open_max;
                next->history_mib = s->wanted->history_mib;
                next->file_kib = s->wanted->file_kib;
                next->unit_files_kib = s->wanted->unit_files_kib;
                next->files_mib = s->wanted->files_mib;
                return field_set(&next->reason, s->wanted->text);
        }
        remove_rule(next, s->first->number);
        return s->wanted && s->wanted->rule ? insert_rule(next, s) : 0;
}

static bool is_of_queue(const UndoSetting *s) {
        return s->first->kind == ARGOSY__SETTING_KIND__SETTING_QUEUE ||
               s->first->kind == ARGOSY__SETTING_KIND__SETTING_RULE;
}

// They stand in the order of the rules, so from behind: each finds the one that stood behind it.
static int put_queue(const UndoSettings *list, Leader *l, BatchBuilder *b) {
        Argosy__QueueRecord *next = message_copy(cluster_state_queue(l->state));
        int r = next ? 0 : -ENOMEM;

        for (size_t i = list->n; r == 0 && i-- > 0;)
                if (undo_setting_is_due(&list->items[i]) && is_of_queue(&list->items[i]))
                        r = change_queue(next, &list->items[i]);
        if (r == 0)
                r = batch_builder_put_queue(b, next);
        message_free(next);
        return r;
}

// ------------------------------------------------------------------------------------------------ putting

// Whether the batch has something to do with it already.
static bool is_busy(const UndoSetting *s, const Leader *l, const BatchBuilder *b) {
        switch (s->first->kind) {
        case ARGOSY__SETTING_KIND__SETTING_ROLE:
                return batch_builder_has_role(b, s->first->name) ||
                       (!s->wanted && batch_builder_uses_role(b, s->first->name));
        case ARGOSY__SETTING_KIND__SETTING_POOL:
                return batch_builder_has_pool(b, s->first->name);
        case ARGOSY__SETTING_KIND__SETTING_RULE:
        case ARGOSY__SETTING_KIND__SETTING_QUEUE:
                return batch_builder_has_queue(b);
        default:
                return batch_builder_has_host(b, host_of(l, s));
        }
}

static int put(const UndoSettings *list, size_t i, Leader *l, BatchBuilder *b) {
        const UndoSetting *s = &list->items[i];

        switch (s->first->kind) {
        case ARGOSY__SETTING_KIND__SETTING_ROLE:
                return s->wanted ? batch_builder_put_role(b, s->wanted->role)
                                 : batch_builder_remove_role(b, s->first->name);
        case ARGOSY__SETTING_KIND__SETTING_POOL:
                return roles_put_pool(l, b, s->first->name, s->wanted ? s->wanted->pool : NULL);
        case ARGOSY__SETTING_KIND__SETTING_RULE:
        case ARGOSY__SETTING_KIND__SETTING_QUEUE:
                return 0; // put_queue()
        default:
                return put_host(list, i, l, b);
        }
}

int undo_settings_put(const UndoSettings *list, Leader *l, BatchBuilder *b) {
        bool has_queue = false;
        int r = 0;

        for (size_t i = 0; i < list->n; i++)
                if (undo_setting_is_due(&list->items[i])) {
                        if (is_busy(&list->items[i], l, b))
                                return -EBUSY;
                        has_queue |= is_of_queue(&list->items[i]);
                }
        for (size_t i = 0; r >= 0 && i < list->n; i++)
                if (undo_setting_is_due(&list->items[i]))
                        r = put(list, i, l, b);
        return r >= 0 && has_queue ? put_queue(list, l, b) : r;
}

// ------------------------------------------------------------------------------------------------ in words

static int describe_wanted(const UndoSetting *s, Argosy__Response__UnitResult *ret) {
        _cleanup_buf_ Buf value = {};

        if (!s->wanted)
                return field_set(&ret->message, s->first->kind == ARGOSY__SETTING_KIND__SETTING_LABEL
                                                        ? "is taken back"
                                                        : "is deleted");
        if (setting_value_append(s->first->kind, s->wanted, &value) < 0)
                return -ENOMEM;
        return field_printf(&ret->message, "is %.*s again", (int) value.len, (const char *) value.data);
}

int undo_setting_describe(const UndoSetting *s, Argosy__Response__UnitResult *ret) {
        if (s->verdict == UNDO_DONE)
                return field_set(&ret->message, "it is as it was before already");
        if (!*s->why)
                return describe_wanted(s, ret);
        ret->status = EEXIST;
        return field_printf(&ret->message, "it cannot be put back: %s", s->why);
}

Argosy__Response__UnitResult *undo_setting_result(const UndoSetting *s) {
        Argosy__Response__UnitResult *result;
        _cleanup_free_ char *text = NULL;
        _cleanup_buf_ Buf name = {};

        if (setting_name_append(s->first, &name) < 0 || !(text = buf_take_string(&name)))
                return NULL;
        result = unit_result_new(text);
        if (result)
                result->setting = true;
        return result;
}
