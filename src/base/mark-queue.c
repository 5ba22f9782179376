// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Places in an array, of which each set mark knows its own. Places that were taken stay in front until there
// is no room behind the last one: if they are half of all, the others move to the front, else the array
// grows. So each is moved once, on the average. An array of many is given back when it is empty. Without
// memory the process ends (oom.h).

#include "mark-queue.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "oom.h"

enum { KEPT = 1024 }; // places of an empty queue

void mark_queue_done(MarkQueue *q) {
        free(q->marks);
        *q = (MarkQueue){};
}

void mark_queue_reset(MarkQueue *q) {
        q->n = q->n_taken = 0;
        if (q->allocated > KEPT)
                mark_queue_done(q);
}

static void move_to_front(MarkQueue *q) {
        size_t n = mark_queue_length(q);

        memmove(q->marks, q->marks + q->n_taken, n * sizeof *q->marks);
        q->n = n;
        q->n_taken = 0;
        for (size_t i = 0; i < n; i++)
                if (q->marks[i])
                        *q->marks[i] = (QueueMark) i + 1;
}

void mark_queue_make_room(MarkQueue *q) {
        if (q->n_taken > 0 && q->n_taken >= q->n / 2)
                move_to_front(q);
        else
                (void) oom_check(ARRAY_GROW(q->marks, q->allocated, q->n + 1));
}
