// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Which units of a command are not finished. It is what makes a wait safe to repeat: the request is built
// anew from what is still open, on whichever connection, and a result that arrives a second time changes
// nothing. Pure.

#include "argosy.pb-c.h"
#include "buf.h"
#include "map.h"
#include "wait-end.h"

typedef struct WaitItem {
        char *name;
        uint64_t revision;
        uint64_t job; // that asked for it; 0: none
        bool done;
        char *note; // what is to be said of it if its end is not waited for; NULL: nothing
} WaitItem;

typedef struct WaitSet {
        WaitItem **items;
        size_t n_items, allocated;
        size_t n_done, n_failed; // of items; failed ones are also done
        Map by_name;
} WaitSet;

void wait_set_done(WaitSet *w);
#define _cleanup_wait_set_ _cleanup_(wait_set_done)

// 0, -EEXIST, -ENOMEM. Copies the name.
int wait_set_add(WaitSet *w, const char *name, uint64_t revision, uint64_t job);
uint64_t wait_set_job(const WaitSet *w, const char *name);
// Takes the note over.
void wait_set_note(WaitSet *w, const char *name, char *note);
// A unit has reached its end. True if that is news.
bool wait_set_finish(WaitSet *w, const char *name, bool failed);
static inline size_t wait_set_open(const WaitSet *w) {
        return w->n_items - w->n_done;
}
// "the cluster goes on with 3 units (see argosyctl job wait 7)", of all the sets of a command; if no job is
// known, the list of units is named. Not `connected`: what became of them is not known here. 0 or -ENOMEM.
int wait_sets_append_open(const WaitSet *sets, size_t n, bool connected, Buf *text);
// What to ask for: one protobuf item for each open one, all in one block that the caller frees; names are
// borrowed from `w`. NULL: out of memory.
Argosy__Request__Wait__Item **wait_set_request(const WaitSet *w, size_t *ret_n);

// What it means for what is open that the answers to a Wait have ended; the arguments are those of a
// WaitEnd.
WaitStep wait_set_next(const WaitSet *w, bool lost, int error, int status, bool no_leader);
