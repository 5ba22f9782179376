// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What a build can read. Hosts of one cluster run different builds while they are being upgraded; the
// feature level is what keeps the log and the mesh readable for all of them. There are three:
//
//      FEATURE_LEVEL                     of this build: everything up to it is understood
//      cluster_state_feature_level()     of the log: everything up to it may be written there. It rises when
//                                        all who are or may become voters understand more, and never falls
//      Host.feature_level (leader)       of the peer of a session. A peer that does not name one in its
//                                        first frame has FEATURE_BASE. A leader names its own, too
//
// Each name below is one thing that came later than the first level, with the level that it came with.
// Before a version is tagged nothing needs one.

#include <stdint.h>

enum {
        FEATURE_BASE = 1,
        // No version has it: the next level as tests of upgrades see it. Its one part is
        // ClusterRecord.synthetic, which says nothing and is written once the log has the level.
        FEATURE_SYNTHETIC = 2,
        FEATURE_NEWEST = FEATURE_SYNTHETIC, // that log-format.c knows of
};

// FEATURE_BASE, unless the build option next_feature_level says more: a newer build for tests of upgrades.
#define FEATURE_LEVEL feature_level_of_build
extern const uint32_t feature_level_of_build;
