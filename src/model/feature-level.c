// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The feature level of this build, alone in its file: tests link a daemon of the next level from the same
// libraries by giving the linker another definition first (tests/lib/feature-level-next.c). A constant: it
// cannot fail, and a level that is not in FEATURE_BASE to FEATURE_NEWEST stops the build.

#include "build-level.h"
#include "feature-level.h"

const uint32_t feature_level_of_build = BUILD_LEVEL;

_Static_assert((int) BUILD_LEVEL >= FEATURE_BASE && (int) BUILD_LEVEL <= FEATURE_NEWEST,
               "there is no such feature level");
