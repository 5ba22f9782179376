// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Things that are to be looked at, each once, in the order in which they were marked. For thousands of them
// at rest: what a thing pays for it is a number of 4 bytes, where a member of a list has two pointers.
//
// A thing is known by the address of its mark, which stays where it is as long as it is set. A place of
// which the mark was dropped is kept until its turn comes. Without memory for a place the process ends
// (oom.h).

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "macro.h"

typedef uint32_t QueueMark; // its place in MarkQueue.marks + 1; 0: it is not set

typedef struct MarkQueue {            // zero-initialised: empty
        QueueMark **marks;            // NULL: dropped
        size_t n, allocated, n_taken; // n_taken: of the n, from the first
} MarkQueue;

void mark_queue_make_room(MarkQueue *q); // private: for one more place
void mark_queue_reset(MarkQueue *q);     // private: all places were taken

// Frees the places. Marks that are set stay so, and must not be used with the queue any more.
void mark_queue_done(MarkQueue *q);
// Sets the mark, unless it is set.
static inline void mark_queue_add(MarkQueue *q, QueueMark *mark) {
        if (*mark)
                return;
        if (q->n == q->allocated)
                mark_queue_make_room(q);
        q->marks[q->n++] = mark;
        *mark = (QueueMark) q->n;
}
// One that is not set is fine.
static inline void mark_queue_drop(MarkQueue *q, QueueMark *mark) {
        if (*mark)
                q->marks[*mark - 1] = NULL;
        *mark = 0;
}
// Places whose turn has not come, also of those that were dropped.
static inline size_t mark_queue_length(const MarkQueue *q) {
        return q->n - q->n_taken;
}
// Takes the next place, of which there is one, and its mark, which is not set any more. NULL: it was
// dropped.
static inline QueueMark *mark_queue_take(MarkQueue *q) {
        QueueMark *mark = q->marks[q->n_taken++];

        if (mark)
                *mark = 0;
        if (q->n_taken == q->n)
                mark_queue_reset(q);
        return mark;
}
// The next mark that was not dropped, which stays set; places in front of it are taken. NULL: there is none.
static inline QueueMark *mark_queue_first(MarkQueue *q) {
        for (; q->n_taken < q->n; q->n_taken++)
                if (q->marks[q->n_taken])
                        return q->marks[q->n_taken];
        if (q->n > 0)
                mark_queue_reset(q);
        return NULL;
}
