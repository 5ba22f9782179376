// SPDX-License-Identifier: LGPL-2.1-or-later

// What the operations of a job change besides units (cluster-setting.h). Before one is applied, each setting
// that it may change is noted as it is; when it is applied, those that have not changed are dropped. So
// nobody has to know what an operation makes of a record, and what it was skipped for leaves nothing.
//
// A host that joins brings its settings, and one that is removed takes them along: that is its membership,
// and noted of neither. Only batches with jobs come by here.

#include <errno.h>

#include "array.h"
#include "cluster-setting.h"
#include "cluster-state-private.h"
#include "manager-name.h"
#include "message.h"

static int note(const ClusterState *s, JobNotes *notes, size_t place, Argosy__JobSetting which) {
        Argosy__JobSetting *setting;
        int r = cluster_setting_read(s, &which, &which.before);

        if (r == 0)
                r = ARRAY_GROW(notes->settings, notes->settings_allocated, notes->n_settings + 1);
        setting = r == 0 ? message_copy(&which) : NULL;
        message_free(which.before);
        if (!setting)
                return -ENOMEM;
        notes->settings[notes->n_settings++] = (SettingNote){.op = place, .setting = setting};
        return 0;
}

static Argosy__JobSetting setting_of(Argosy__SettingKind kind, uint32_t number, const char *name) {
        Argosy__JobSetting setting = ARGOSY__JOB_SETTING__INIT;

        setting.kind = kind;
        setting.number = number;
        setting.name = (char *) name;
        return setting;
}

static int note_label(const ClusterState *s, JobNotes *notes, size_t place, const Argosy__HostRecord *host,
                      const char *key) {
        Argosy__JobSetting setting = setting_of(ARGOSY__SETTING_KIND__SETTING_LABEL, host->host, key);

        setting.where = host->name;
        return note(s, notes, place, setting);
}

static int note_node(const ClusterState *s, JobNotes *notes, size_t place, const Argosy__HostRecord *host,
                     const Argosy__NodeRecord *node) {
        Argosy__JobSetting setting =
                setting_of(ARGOSY__SETTING_KIND__SETTING_NODE, node->node, protobuf_c_empty_string);
        _cleanup_free_ char *name = manager_node_name(host->name, node->manager);

        if (!name)
                return -ENOMEM;
        setting.where = name;
        return note(s, notes, place, setting);
}

static bool has_label(const Argosy__HostRecord *host, const char *key) {
        for (size_t i = 0; i < host->n_set_labels; i++)
                if (streq(host->set_labels[i]->key, key))
                        return true;
        return false;
}

static int note_host(const ClusterState *s, JobNotes *notes, size_t place, const Argosy__HostRecord *next) {
        const Argosy__HostRecord *now = cluster_state_find_host(s, next->host);
        int r = 0;

        for (size_t i = 0; r == 0 && now && i < now->n_set_labels; i++)
                r = note_label(s, notes, place, now, now->set_labels[i]->key);
        for (size_t i = 0; r == 0 && now && i < next->n_set_labels; i++)
                if (!has_label(now, next->set_labels[i]->key))
                        r = note_label(s, notes, place, now, next->set_labels[i]->key);
        for (size_t i = 0; r == 0 && now && i < now->n_nodes; i++)
                r = note_node(s, notes, place, now, now->nodes[i]);
        return r;
}

static bool has_rule(const Argosy__QueueRecord *queue, uint32_t number) {
        for (size_t i = 0; i < queue->n_rules; i++)
                if (queue->rules[i]->number == number)
                        return true;
        return false;
}

static int note_rule(const ClusterState *s, JobNotes *notes, size_t place, uint32_t number,
                     uint32_t next_rule) {
        Argosy__JobSetting setting =
                setting_of(ARGOSY__SETTING_KIND__SETTING_RULE, number, protobuf_c_empty_string);

        setting.next_rule = next_rule;
        return note(s, notes, place, setting);
}

static int note_queue(const ClusterState *s, JobNotes *notes, size_t place,
                      const Argosy__QueueRecord *next) {
        const Argosy__QueueRecord *now = cluster_state_queue(s);
        int r = note(s, notes, place,
                     setting_of(ARGOSY__SETTING_KIND__SETTING_QUEUE, 0, protobuf_c_empty_string));

        for (size_t i = 0; r == 0 && i < now->n_rules; i++)
                r = note_rule(s, notes, place, now->rules[i]->number,
                              i + 1 < now->n_rules ? now->rules[i + 1]->number : 0);
        for (size_t i = 0; r == 0 && i < next->n_rules; i++)
                if (!has_rule(now, next->rules[i]->number))
                        r = note_rule(s, notes, place, next->rules[i]->number, 0);
        return r;
}

int state_settings_note_before(const ClusterState *s, JobNotes *notes, const Argosy__LogOp *op,
                               size_t place) {
        switch (op->op_case) {
        case ARGOSY__LOG_OP__OP_HOST:
                return note_host(s, notes, place, op->host);
        case ARGOSY__LOG_OP__OP_ROLE:
                return note(s, notes, place,
                            setting_of(ARGOSY__SETTING_KIND__SETTING_ROLE, 0, op->role->name));
        case ARGOSY__LOG_OP__OP_ROLE_REMOVE:
                return note(s, notes, place,
                            setting_of(ARGOSY__SETTING_KIND__SETTING_ROLE, 0, op->role_remove->name));
        case ARGOSY__LOG_OP__OP_POOL:
                return note(s, notes, place,
                            setting_of(ARGOSY__SETTING_KIND__SETTING_POOL, 0, op->pool->name));
        case ARGOSY__LOG_OP__OP_POOL_REMOVE:
                return note(s, notes, place,
                            setting_of(ARGOSY__SETTING_KIND__SETTING_POOL, 0, op->pool_remove->name));
        case ARGOSY__LOG_OP__OP_QUEUE:
                return note_queue(s, notes, place, op->queue);
        default:
                return 0;
        }
}

// Whether the operation has changed it: 1 or 0; -ENOMEM.
static int has_changed(const ClusterState *s, Argosy__JobSetting *setting) {
        bool equal;
        int r = cluster_setting_read(s, setting, &setting->after);

        if (r == 0)
                r = setting_value_compare(setting->before, setting->after, &equal);
        return r < 0 ? r : !equal;
}

int state_settings_note_after(const ClusterState *s, JobNotes *notes, size_t place) {
        size_t first = notes->n_settings, kept;
        int r = 0;

        while (first > 0 && notes->settings[first - 1].op == place)
                first--;
        kept = first;
        for (size_t i = first; i < notes->n_settings; i++) {
                int changed = r < 0 ? 0 : has_changed(s, notes->settings[i].setting);

                r = MIN_OF(changed, r);
                if (changed == 1)
                        notes->settings[kept++] = notes->settings[i];
                else
                        message_free(notes->settings[i].setting);
        }
        notes->n_settings = kept;
        return r;
}

void state_settings_drop(JobNotes *notes) {
        for (size_t i = 0; i < notes->n_settings; i++)
                message_free(notes->settings[i].setting);
        notes->n_settings = 0;
}
