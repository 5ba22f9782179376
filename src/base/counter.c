// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See counter.h.

#include "counter.h"

#include <stdlib.h>

#include "array.h"
#include "oom.h"

void counter_list_add(CounterList *list, Counter row) {
        (void) oom_check(ARRAY_GROW(list->rows, list->allocated, list->n + 1));
        list->rows[list->n++] = row;
}

void counter_list_done(CounterList *list) {
        free(list->rows);
        *list = (CounterList){};
}
