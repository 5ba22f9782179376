// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The value of one setting of the cluster (label, node's mode, role, pool, rule, queue), read and compared
// for undo.
//
//      cluster_setting_read() before and after a job -> setting_value_compare(): packed bytes are equal
//
// A value is a copy of the record; only the amounts of a role have no order of their own, so they are sorted
// first. Failures: -ENOMEM; a setting that does not exist is NULL and 0. The parsers of sizes return false.

#include "cluster-setting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cluster-state.h"
#include "message.h"
#include "unit-options.h"

static int by_resource(const void *a, const void *b) {
        const Argosy__Amount *x = *(Argosy__Amount *const *) a, *y = *(Argosy__Amount *const *) b;

        return strcmp(x->resource, y->resource);
}

static void sort(Argosy__Amount **list, size_t n) {
        if (n > 0)
                qsort(list, n, sizeof(Argosy__Amount *), by_resource);
}

// A deep copy of `value`, whose members are borrowed. Amounts of a role are sorted by resource.
static int copy(const Argosy__SettingValue *value, Argosy__SettingValue **ret) {
        Argosy__SettingValue *made = message_copy(value);

        if (!made)
                return -ENOMEM;
        if (made->role) {
                sort(made->role->guarantee, made->role->n_guarantee);
                sort(made->role->limit, made->role->n_limit);
        }
        *ret = made;
        return 0;
}

static bool read_label(const Argosy__HostRecord *host, const char *key, Argosy__SettingValue *ret) {
        for (size_t i = 0; host && i < host->n_set_labels; i++)
                if (streq(host->set_labels[i]->key, key)) {
                        ret->text = host->set_labels[i]->value;
                        return true;
                }
        return false;
}

static bool read_node(const Argosy__HostRecord *host, uint32_t number, Argosy__SettingValue *ret) {
        for (size_t i = 0; host && i < host->n_nodes; i++)
                if (host->nodes[i]->node == number) {
                        ret->mode = host->nodes[i]->mode;
                        ret->text = host->nodes[i]->mode_reason;
                        ret->deadline_us = host->nodes[i]->mode_deadline_us;
                        return true;
                }
        return false;
}

static bool read_rule(const Argosy__QueueRecord *queue, uint32_t number, Argosy__SettingValue *ret) {
        for (size_t i = 0; i < queue->n_rules; i++)
                if (queue->rules[i]->number == number) {
                        ret->rule = queue->rules[i];
                        return true;
                }
        return false;
}

static bool read_value(const ClusterState *s, const Argosy__JobSetting *which, Argosy__SettingValue *ret) {
        const Argosy__QueueRecord *queue = cluster_state_queue(s);

        switch (which->kind) {
        case ARGOSY__SETTING_KIND__SETTING_LABEL:
                return read_label(cluster_state_find_host(s, which->number), which->name, ret);
        case ARGOSY__SETTING_KIND__SETTING_NODE:
                return read_node(cluster_state_find_host_by_node(s, which->number), which->number, ret);
        case ARGOSY__SETTING_KIND__SETTING_ROLE:
                ret->role = (Argosy__RoleRecord *) cluster_state_find_role(s, which->name);
                return ret->role;
        case ARGOSY__SETTING_KIND__SETTING_POOL:
                ret->pool = (Argosy__PoolRecord *) cluster_state_find_pool(s, which->name);
                return ret->pool;
        case ARGOSY__SETTING_KIND__SETTING_RULE:
                return read_rule(queue, which->number, ret);
        case ARGOSY__SETTING_KIND__SETTING_QUEUE:
                ret->closed = queue->closed;
                ret->open_max = queue->open_max;
                ret->history_mib = queue->history_mib;
                ret->file_kib = queue->file_kib;
                ret->unit_files_kib = queue->unit_files_kib;
                ret->files_mib = queue->files_mib;
                ret->text = queue->reason;
                return true;
        default:
                return false;
        }
}

int cluster_setting_read(const ClusterState *s, const Argosy__JobSetting *which,
                         Argosy__SettingValue **ret) {
        Argosy__SettingValue value = ARGOSY__SETTING_VALUE__INIT;

        *ret = NULL;
        return read_value(s, which, &value) ? copy(&value, ret) : 0;
}

int setting_value_compare(const Argosy__SettingValue *a, const Argosy__SettingValue *b, bool *ret_equal) {
        _cleanup_free_ uint8_t *bytes = NULL;
        size_t len;

        *ret_equal = a == b;
        if (!a || !b)
                return 0;
        len = argosy__setting_value__get_packed_size(a);
        if (len != argosy__setting_value__get_packed_size(b))
                return 0;
        bytes = malloc(2 * len + 1);
        if (!bytes)
                return -ENOMEM;
        argosy__setting_value__pack(a, bytes);
        argosy__setting_value__pack(b, bytes + len);
        *ret_equal = memcmp(bytes, bytes + len, len) == 0;
        return 0;
}

bool setting_is_same(const Argosy__JobSetting *a, const Argosy__JobSetting *b) {
        return a->kind == b->kind && a->number == b->number && streq(a->name, b->name);
}

// "256K" or "1M", at most 6 digits, as KiB. False: it is neither, or 0.
static bool parse_kib(const char *value, uint32_t *ret) {
        size_t len = strspn(value, "0123456789");
        uint32_t n = 0, factor = value[len] == 'K' ? 1 : value[len] == 'M' ? 1024 : 0;

        if (len == 0 || len > 6 || factor == 0 || value[len + 1])
                return false;
        for (size_t i = 0; i < len; i++)
                n = 10 * n + (uint32_t) (value[i] - '0');
        *ret = n * factor;
        return n > 0;
}

bool files_limit_parse(const char *key, const char *value, Argosy__Request__QueueChange *ret) {
        uint32_t *kib = streq(key, "file")   ? &ret->file_kib
                        : streq(key, "unit") ? &ret->unit_files_kib
                                             : NULL;

        return kib ? parse_kib(value, kib) : streq(key, "all") && history_size_parse(value, &ret->files_mib);
}

bool history_size_parse(const char *word, uint32_t *ret_mib) {
        size_t len = strlen(word);

        return len > 0 && strchr("MG", word[len - 1]) && memory_parse(word, ret_mib);
}
