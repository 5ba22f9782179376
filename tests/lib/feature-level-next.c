// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Linked before the libraries, this makes a program of the next feature level out of them: for tests of
// upgrades.
#include "feature-level.h"

const uint32_t feature_level_of_build = FEATURE_SYNTHETIC;
