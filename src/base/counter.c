// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A growing list of counters that have labels (families; see counter.h). counter_list_add() for each value
// of the labels -> counters.c of the daemon writes the rows -> counter_list_done(). The list owns its rows,
// not their texts. Without memory the process ends (oom.h).

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
