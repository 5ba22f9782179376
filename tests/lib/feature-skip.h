// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// For tests of what came with a feature level: a build of an older one (-Dfeature_level=) skips them, and says why.

#include "feature-level.h"
#include "test.h"

#define SKIP_BELOW(level)                                                                                            \
        do {                                                                                                         \
                if (FEATURE_LEVEL < (level)) {                                                                       \
                        print_message("skipped: it tests feature level %u, and this build has %u\n",                 \
                                      (unsigned) (level), (unsigned) FEATURE_LEVEL);                                 \
                        skip();                                                                                      \
                }                                                                                                    \
        } while (0)
