// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a command still waits for, by name. A name is in it once, and a result that comes a second time
// changes nothing. wait_set_next() says what follows an answer or a loss: all is finished, dial again, ask
// again, or give up; an answer that leaves units without a result is no daemon's of ours, and is given up.

#include <errno.h>
#include <inttypes.h>

#include "array.h"
#include "wait-set.h"

void wait_set_done(WaitSet *w) {
        for (size_t i = 0; i < w->n_items; i++) {
                free(w->items[i]->name);
                free(w->items[i]->note);
                free(w->items[i]);
        }
        free(w->items);
        map_done(&w->by_name);
        *w = (WaitSet){};
}

uint64_t wait_set_job(const WaitSet *w, const char *name) {
        const WaitItem *item = map_find_str(&w->by_name, name);

        return item ? item->job : 0;
}

int wait_set_add(WaitSet *w, const char *name, uint64_t revision, uint64_t job) {
        _cleanup_free_ WaitItem *item = NULL;
        _cleanup_free_ char *copy = NULL;
        int r;

        if (map_find_str(&w->by_name, name))
                return -EEXIST;
        if (ARRAY_GROW(w->items, w->allocated, w->n_items + 1) < 0)
                return -ENOMEM;
        item = malloc(sizeof(WaitItem));
        copy = strdup(name);
        if (!item || !copy)
                return -ENOMEM;
        *item = (WaitItem){.name = copy, .revision = revision, .job = job};
        r = map_add_str(&w->by_name, copy, item);
        if (r < 0)
                return r;
        TAKE_PTR(copy);
        w->items[w->n_items++] = TAKE_PTR(item);
        return 0;
}

void wait_set_note(WaitSet *w, const char *name, char *note) {
        WaitItem *item = map_find_str(&w->by_name, name);

        if (!item) {
                free(note);
                return;
        }
        free(item->note);
        item->note = note;
}

bool wait_set_finish(WaitSet *w, const char *name, bool failed) {
        WaitItem *item = map_find_str(&w->by_name, name);

        if (!item || item->done)
                return false;
        item->done = true;
        w->n_done++;
        w->n_failed += failed;
        return true;
}

enum { JOBS_NAMED = 10 };

// Those of what is open, each once, as they come. Returns how many; more than JOBS_NAMED: not all are in
// `ret`.
static size_t jobs_of_open(const WaitSet *sets, size_t n, uint64_t ret[JOBS_NAMED]) {
        size_t found = 0;

        for (size_t s = 0; s < n; s++)
                for (size_t i = 0; i < sets[s].n_items && found <= JOBS_NAMED; i++) {
                        const WaitItem *item = sets[s].items[i];
                        size_t k = 0;

                        if (item->done || item->job == 0)
                                continue;
                        while (k < found && ret[k] != item->job)
                                k++;
                        if (k == found && found++ < JOBS_NAMED)
                                ret[k] = item->job;
                }
        return found;
}

int wait_sets_append_open(const WaitSet *sets, size_t n, bool connected, Buf *text) {
        uint64_t jobs[JOBS_NAMED];
        size_t open = 0, n_jobs = jobs_of_open(sets, n, jobs);
        int r;

        for (size_t i = 0; i < n; i++)
                open += wait_set_open(&sets[i]);
        r = buf_printf(text, "%s%zu unit%s%s (see argosyctl ", connected ? "the cluster goes on with " : "",
                       open, open == 1 ? "" : "s", connected ? "" : " may have come to an end since");
        if (r < 0)
                return r;
        if (n_jobs == 0 || n_jobs > JOBS_NAMED)
                return buf_printf(text, n_jobs == 0 ? "list-units)" : "list-jobs)");
        r = buf_printf(text, "job wait");
        for (size_t i = 0; r >= 0 && i < n_jobs; i++)
                r = buf_printf(text, " %" PRIu64, jobs[i]);
        return r < 0 ? r : buf_printf(text, ")");
}

Argosy__Request__Wait__Item **wait_set_request(const WaitSet *w, size_t *ret_n) {
        size_t open = wait_set_open(w), n = 0;
        Argosy__Request__Wait__Item **pointers, *items;

        pointers = calloc(open + 1, sizeof(*pointers) + sizeof(*items));
        if (!pointers)
                return NULL;
        items = (Argosy__Request__Wait__Item *) (pointers + open + 1);
        for (size_t i = 0; i < w->n_items; i++) {
                if (w->items[i]->done)
                        continue;
                items[n] = (Argosy__Request__Wait__Item) ARGOSY__REQUEST__WAIT__ITEM__INIT;
                items[n].name = w->items[i]->name;
                items[n].revision = w->items[i]->revision;
                pointers[n] = &items[n];
                n++;
        }
        *ret_n = n;
        return pointers;
}

WaitStep wait_set_next(const WaitSet *w, bool lost, int error, int status, bool no_leader) {
        if (wait_set_open(w) == 0) // also if the last word was cut off
                return WAIT_FINISHED;
        if (error < 0)
                return lost ? WAIT_REDIAL : WAIT_GIVE_UP;
        if (no_leader || status == ETIMEDOUT || status == EAGAIN || status == EHOSTUNREACH)
                return status != 0 ? WAIT_ASK_AGAIN : WAIT_GIVE_UP;
        return WAIT_GIVE_UP; // also when units are left without a result: that is no daemon of ours
}
