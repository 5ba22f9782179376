// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// To which level the log's feature level may rise (feature-level.h). Pure.
//
// A log at level N is readable for builds of level N or more, so every host that has a copy of it, or may
// get one without being asked, must have said that much. A host that is not heard counts as one of the first
// level: it may come back with any build. Not counted: hosts that were removed, and those that were demoted
// by hand, since promoting one asks for its level again.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct FeatureHost {
        uint32_t host;  // 0: a member of the log's configuration that no record names
        bool counts;    // holds a copy of the log, or may become a voter by itself
        uint32_t level; // as it said in this session; 0: it has none
} FeatureHost;

// The level that the log, at `now`, should have; `own` is that of the leader. Never below `now`.
uint32_t feature_policy_level(const FeatureHost *hosts, size_t n, uint32_t now, uint32_t own);
// Whether the log stays below `level` because of this host.
bool feature_policy_holds(const FeatureHost *host, uint32_t level);
