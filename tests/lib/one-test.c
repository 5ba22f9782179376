// SPDX-License-Identifier: LGPL-2.1-or-later

// In the program of every unit test: with ARGOSY_TEST=FUNCTION in the environment only that function runs (a
// pattern with * and ? names several).

#include "test.h"

__attribute__((constructor)) static void choose_tests(void) {
        cmocka_set_test_filter(getenv("ARGOSY_TEST"));
}
