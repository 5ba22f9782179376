// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The feature level of the cluster: the highest that no counting host holds back, and never below the log's.
// feature_policy_level() over all hosts; feature_policy_holds() tells which host holds it back.
// A host that has not said its level has FEATURE_BASE. Pure functions; nothing fails.

#include "feature-policy.h"

#include "feature-level.h"
#include "macro.h"

static uint32_t level_of(const FeatureHost *h) {
        return MAX_OF(h->level, (uint32_t) FEATURE_BASE);
}

bool feature_policy_holds(const FeatureHost *host, uint32_t level) {
        return host->counts && level_of(host) < level;
}

uint32_t feature_policy_level(const FeatureHost *hosts, size_t n, uint32_t now, uint32_t own) {
        uint32_t level = own;

        for (size_t i = 0; i < n; i++)
                if (feature_policy_holds(&hosts[i], level))
                        level = level_of(&hosts[i]);
        return MAX_OF(level, now);
}
