// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The highest level that nobody holds back, and never less than the log has. A host that has not said its
// level, or that nobody knows, has the first.

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
