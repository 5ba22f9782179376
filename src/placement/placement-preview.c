// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is only thought of. Between the begin and the end of a preview units are placed, let go and put as
// ever; then the caller puts them back where they are, and the end makes good what no put can: since when
// each of them waits, where it was last, how many were given room since the first of a queue was refused,
// and what is kept free for whom. So a question does not change who is next, and where.
//
// Happy path: the begin notes the queues whose first unit was passed by; who changes a unit's turn, the node
// that it goes back to, or what decides which host is kept free, notes it before; the end goes back through
// all of it. Cost: the kinds of units that wait, twice, and what changed.
#include "placement-private.h"

static void note(Placement *p, int what, uint32_t number, uint64_t before) {
        PreviewWork *d = &p->preview;

        if (!d->on)
                return;
        table_grow(&d->notes, &d->notes_allocated, d->n_notes + 1, sizeof *d->notes);
        d->notes[d->n_notes++] = (PreviewNote){.what = what, .number = number, .before = before};
}

void preview_note_turn(Placement *p, uint32_t unit) {
        note(p, NOTE_TURN, unit, p->units[unit].seq);
}

void preview_note_home(Placement *p, uint32_t unit) {
        note(p, NOTE_HOME, unit, p->units[unit].home);
}

void preview_note_left(Placement *p, uint32_t host) {
        note(p, NOTE_LEFT, host, p->hosts[host].left_at);
}

void preview_note_tried(Placement *p, uint32_t host) {
        note(p, NOTE_TRIED, host, p->hosts[host].tried_for);
}

void placement_preview_begin(Placement *p) {
        assert(!p->preview.on);
        p->preview = (PreviewWork){.on = true, .n_grants = p->n_grants, .reservation = p->reservation};
        for (uint32_t i = 0; i < p->queue_slots.n; i++)
                if (p->queue_slots.used[i] && p->queues[i].passed_from != 0)
                        note(p, NOTE_PASSED, p->queues[i].first, p->queues[i].passed_from);
}

// A unit that waits and did not before keeps the turn that it has now.
static void turn_back(Placement *p, uint32_t unit, uint64_t seq) {
        bool waits;

        if (!slots_has(&p->unit_slots, unit))
                return;
        waits = p->units[unit].queue != PLACEMENT_NONE;
        if (waits && seq == 0)
                return;
        wait_take(p, unit);
        p->units[unit].seq = seq;
        if (waits)
                wait_add(p, unit);
}

static void put_back(Placement *p, const PreviewNote *n) {
        uint32_t queue;

        switch (n->what) {
        case NOTE_PASSED:
                queue = p->units[n->number].queue;
                if (queue != PLACEMENT_NONE && p->queues[queue].first == n->number)
                        p->queues[queue].passed_from = n->before;
                return;
        case NOTE_TURN:
                turn_back(p, n->number, n->before);
                return;
        case NOTE_HOME:
                if (slots_has(&p->unit_slots, n->number))
                        p->units[n->number].home = (uint32_t) n->before;
                return;
        case NOTE_LEFT:
                p->hosts[n->number].left_at = n->before;
                return;
        case NOTE_TRIED:
                p->hosts[n->number].tried_for = (uint32_t) n->before;
                return;
        }
}

void placement_preview_end(Placement *p) {
        PreviewWork d = p->preview;

        assert(d.on);
        p->preview = (PreviewWork){};
        for (uint32_t i = 0; i < p->queue_slots.n; i++)
                if (p->queue_slots.used[i])
                        p->queues[i].passed_from = 0;
        while (d.n_notes > 0) // the queues' come last, when every unit is in its own again
                put_back(p, &d.notes[--d.n_notes]);
        reservation_end(p);
        p->reservation = d.reservation;
        p->n_grants = d.n_grants;
        table_free(d.notes, d.notes_allocated, sizeof *d.notes);
}
