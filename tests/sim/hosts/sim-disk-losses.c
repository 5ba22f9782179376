// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See sim-disk.h: which operations a sweep loses. They are counted from the last one that was not synced,
// over all files and names of a disk, in the order in which they were made; at a power cut those that were
// named are lost, and all others are there.
#include "sim-disk-nodes.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "macro.h"

void sim_disk_lose(uint32_t number, unsigned first, unsigned second) {
        Disk *d = &sim_disks.disks[number];

        d->loses = first != LOSE_ANY;
        d->lose[0] = first;
        d->lose[1] = second;
}

unsigned sim_disk_unsynced(uint32_t number, uint64_t n) {
        const Disk *d = &sim_disks.disks[number];

        return n <= d->n_begun && n < d->unsynced_room ? d->unsynced[n] : 0;
}

void sim_disk_note_unsynced(Disk *d) {
        size_t n = d->n_changes, room = d->unsynced_room;

        for (const Node *node = d->all; node; node = node->next)
                n += node->n_writes;
        if (ARRAY_GROW(d->unsynced, d->unsynced_room, d->n_begun + 1) < 0)
                abort();
        memset(d->unsynced + room, 0, (d->unsynced_room - room) * sizeof(*d->unsynced));
        d->unsynced[d->n_begun] = (unsigned) n;
}

// Of the operations that were not synced, in their order, those that are lost by sim_disk_lose(): 0, there
// is no such.
typedef struct Losses {
        uint64_t number[2];
} Losses;

static int by_number(const void *a, const void *b) {
        uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

        return (x > y) - (x < y);
}

static Losses find_losses(const Disk *d) {
        uint64_t *numbers = NULL;
        size_t n = d->n_changes, room = 0, k = 0;
        Losses losses = {};

        for (const Node *node = d->all; node; node = node->next)
                n += node->n_writes;
        if (ARRAY_GROW(numbers, room, n + 1) < 0)
                abort();
        for (size_t i = 0; i < d->n_changes; i++)
                numbers[k++] = d->changes[i].number;
        for (const Node *node = d->all; node; node = node->next)
                for (size_t i = 0; i < node->n_writes; i++)
                        numbers[k++] = node->writes[i].number;
        qsort(numbers, n, sizeof(*numbers), by_number);
        for (size_t i = 0; i < ELEMENTSOF(losses.number); i++)
                if (d->lose[i] > 0 && d->lose[i] <= n)
                        losses.number[i] = numbers[n - d->lose[i]];
        free(numbers);
        return losses;
}

static bool is_lost(const Losses *l, uint64_t number) {
        return number == l->number[0] || number == l->number[1];
}

// A write into room whose reservation is lost is as little seen as elsewhere (sim_disk_cut_write()): it is
// whole, and so is what makes the file longer.
void sim_disk_lose_operations(Disk *d) {
        Losses losses = find_losses(d);

        for (Node *n = d->all; n; n = n->next) {
                uint64_t unseen = 0;

                for (size_t i = 0; i < n->n_writes; i++) {
                        bool lost = is_lost(&losses, n->writes[i].number);
                        SimFate f = {.mercy = lost ? KEEP_NONE : KEEP_ALL};

                        if (!n->writes[i].lost)
                                sim_disk_cut_write(n, &n->writes[i], &f, &unseen);
                }
                sim_disk_forget_writes(n);
        }
        for (size_t i = 0; i < d->n_changes; i++) {
                if (is_lost(&losses, d->changes[i].number))
                        sim_disks.figures.names_lost++;
                else
                        sim_disk_apply_name_change(&d->changes[i]);
                sim_disk_forget_change(&d->changes[i]);
        }
        d->n_changes = 0;
        d->loses = false;
}

void sim_disk_count(void) {
        sim_disks.counts = true;
}
