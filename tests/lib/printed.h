// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "test.h"

// A text for a call or two: the 64th one after it takes its place.
__attribute__((format(printf, 1, 2))) static inline char *printed(const char *format, ...) {
        static char *texts[64];
        static unsigned n;
        char **text = &texts[n++ % 64];
        va_list ap;

        free(*text);
        va_start(ap, format);
        assert_true(vasprintf(text, format, ap) >= 0);
        va_end(ap);
        return *text;
}
