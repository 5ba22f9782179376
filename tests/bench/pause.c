// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the units of the benchmarks run: nothing, from a small static binary, so that what is measured is not
// the start of a program.

#include <unistd.h>

int main(void) {
        for (;;)
                pause();
}
