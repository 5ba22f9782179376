// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A setting of the cluster and its value in words, for lists of jobs (setting-words.h). setting_row_new():
// name, value before and value after, in the words in which the setting's verb takes them, in one line.
// Failure: -ENOMEM or NULL. A kind that only a later version knows has no words.

#include "setting-words.h"

#include <errno.h>
#include <inttypes.h>

#include "host-record.h"
#include "queue-policy.h"
#include "response.h"
#include "utc-time.h"

int setting_name_append(const Argosy__JobSetting *s, Buf *out) {
        switch (s->kind) {
        case ARGOSY__SETTING_KIND__SETTING_LABEL:
                return buf_printf(out, "label %s of %s", s->name, s->where);
        case ARGOSY__SETTING_KIND__SETTING_NODE:
                return buf_printf(out, "node %s", s->where);
        case ARGOSY__SETTING_KIND__SETTING_ROLE:
                return buf_printf(out, "role %s", s->name);
        case ARGOSY__SETTING_KIND__SETTING_POOL:
                return buf_printf(out, "pool %s", s->name);
        case ARGOSY__SETTING_KIND__SETTING_RULE:
                return buf_printf(out, "rule %" PRIu32 " of the queue", s->number);
        case ARGOSY__SETTING_KIND__SETTING_QUEUE:
                return buf_printf(out, "the queue");
        default:
                return 0;
        }
}

// Appends "WORD, until TIME (WHY)".
static int append_state(const char *word, const char *why, uint64_t until_us, Buf *out) {
        char when[UTC_TIME_SIZE] = "";

        if (until_us > 0)
                utc_time_format(until_us, when);
        return buf_printf(out, "%s%s%s%s%s%s", word, *when ? ", until " : "", when, *why ? " (" : "", why,
                          *why ? ")" : "");
}

static int append_amount(const char *what, const Argosy__Amount *a, Buf *out) {
        if (streq(a->resource, "cpu"))
                return buf_printf(out, ", %s cpu %" PRIu64 ".%03" PRIu64, what, a->amount / 1000,
                                  a->amount % 1000);
        return buf_printf(out, ", %s %s %" PRIu64 "%s", what, a->resource, a->amount,
                          streq(a->resource, "memory") ? " MiB" : "");
}

static int append_role(const Argosy__RoleRecord *role, Buf *out) {
        int r = buf_printf(out, "weight %" PRIu32, MAX_OF(role->weight, 1U));

        for (size_t i = 0; r == 0 && i < role->n_guarantee; i++)
                r = append_amount("guarantee", role->guarantee[i], out);
        for (size_t i = 0; r == 0 && i < role->n_limit; i++)
                r = append_amount("limit", role->limit[i], out);
        return r;
}

static int append_pool(const Argosy__PoolRecord *pool, Buf *out) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < pool->n_hosts; i++)
                r = buf_printf(out, "%s%s", i ? " " : "", pool->hosts[i]);
        for (size_t i = 0; r == 0 && i < pool->n_labels; i++)
                r = buf_printf(out, "%s%s=%s", i || pool->n_hosts > 0 ? " " : "", pool->labels[i]->key,
                               pool->labels[i]->value);
        return r;
}

static int append_rule(const Argosy__QueueRule *rule, Buf *out) {
        const char *const words[][2] = {{"author", rule->author},
                                        {"verb", rule->verb},
                                        {"unit", rule->unit},
                                        {"role", rule->role},
                                        {"reason", rule->reason}};
        int r = buf_printf(out, "%s", queue_action_to_string(rule->action));

        if (r == 0 && rule->limit > 0)
                r = buf_printf(out, " %" PRIu32, rule->limit);
        if (r == 0 && *rule->text)
                r = buf_printf(out, " '%s'", rule->text);
        for (size_t i = 0; r == 0 && i < ELEMENTSOF(words); i++)
                if (*words[i][1])
                        r = buf_printf(out, " %s=%s", words[i][0], words[i][1]);
        return r;
}

int setting_value_append(Argosy__SettingKind kind, const Argosy__SettingValue *v, Buf *out) {
        int r;

        if (!v)
                return 0;
        switch (kind) {
        case ARGOSY__SETTING_KIND__SETTING_LABEL:
                return buf_printf(out, "%s", v->text);
        case ARGOSY__SETTING_KIND__SETTING_NODE:
                return append_state(v->mode == ARGOSY__NODE_MODE__MODE_OPEN ? "open"
                                                                            : node_mode_to_string(v->mode),
                                    v->text, v->deadline_us, out);
        case ARGOSY__SETTING_KIND__SETTING_ROLE:
                return v->role ? append_role(v->role, out) : 0;
        case ARGOSY__SETTING_KIND__SETTING_POOL:
                return v->pool ? append_pool(v->pool, out) : 0;
        case ARGOSY__SETTING_KIND__SETTING_RULE:
                return v->rule ? append_rule(v->rule, out) : 0;
        case ARGOSY__SETTING_KIND__SETTING_QUEUE:
                r = append_state(v->closed ? "closed" : "open", v->text, 0, out);
                if (r == 0 && v->open_max > 0)
                        r = buf_printf(out, ", %" PRIu32 " open jobs per author", v->open_max);
                if (r == 0 && v->history_mib > 0)
                        r = buf_printf(out, ", %" PRIu32 "M of history", v->history_mib);
                if (r == 0 && v->file_kib > 0)
                        r = buf_printf(out, ", %" PRIu32 "K in a file", v->file_kib);
                if (r == 0 && v->unit_files_kib > 0)
                        r = buf_printf(out, ", %" PRIu32 "K with all files of a unit", v->unit_files_kib);
                return r == 0 && v->files_mib > 0 ? buf_printf(out, ", %" PRIu32 "M of files", v->files_mib)
                                                  : r;
        default:
                return 0;
        }
}

static int set_words(char **field, const Buf *words) {
        return words->len > 0 ? field_printf(field, "%.*s", (int) words->len, (const char *) words->data)
                              : 0;
}

static int fill_row(const Argosy__JobSetting *s, Argosy__Response__JobSettingRow *row) {
        _cleanup_buf_ Buf name = {}, before = {}, after = {};

        if (setting_name_append(s, &name) < 0 || setting_value_append(s->kind, s->before, &before) < 0 ||
            setting_value_append(s->kind, s->after, &after) < 0)
                return -ENOMEM;
        return set_words(&row->setting, &name)
                ?: set_words(&row->before, &before)
                ?: set_words(&row->after, &after);
}

Argosy__Response__JobSettingRow *setting_row_new(const Argosy__JobSetting *s) {
        Argosy__Response__JobSettingRow *row = calloc(1, sizeof(*row));

        if (!row)
                return NULL;
        argosy__response__job_setting_row__init(row);
        if (fill_row(s, row) < 0) {
                message_free(row);
                return NULL;
        }
        return row;
}
