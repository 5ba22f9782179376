// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What jobs change besides units and can be put back: labels that were set on hosts, what owners let nodes
// do, roles, pools, rules of the queue, and whether that is closed. Pure.

#include <stdbool.h>

#include "argosy.pb-c.h"
#include "macro.h"

typedef struct ClusterState ClusterState;

// What it is now, to be freed by message_free(). NULL: there is no such thing. 0 or -ENOMEM.
int cluster_setting_read(const ClusterState *s, const Argosy__JobSetting *which,
                         Argosy__SettingValue **ret) _warn_unused_;
// NULL is what there is not. 0 or -ENOMEM.
int setting_value_compare(const Argosy__SettingValue *a, const Argosy__SettingValue *b,
                          bool *ret_equal) _warn_unused_;
// Whether both are about the same thing.
bool setting_is_same(const Argosy__JobSetting *a, const Argosy__JobSetting *b);

// How much is kept of the past: "64M", "1G". A number alone is none, since nobody means bytes by it.
bool history_size_parse(const char *word, uint32_t *ret_mib);
// How much files of units may have: "file" and "unit" with "256K" or "1M", "all" with "64M". False: no such
// key or size.
bool files_limit_parse(const char *key, const char *value, Argosy__Request__QueueChange *ret);
