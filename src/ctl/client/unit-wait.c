// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A Wait for the units of a command that are still open, asked again over as many daemons and leaders as it
// takes.
//
//      unit_wait_run() -> what is open, as a request -> ended() of each unit that has come to its end
//          -> until nothing is open
//
// Failures: what ends the waiting before that is said with what goes on without us.
#include "unit-wait.h"

#include <errno.h>

#include "ctl.h"
#include "message-of.h"

static WaitSet *set_of(const UnitWait *w) {
        return &w->sets[w->at];
}

static int ask(Ctl *ctl, Argosy__Request *request, void *userdata) {
        UnitWait *w = userdata;

        free(w->items);
        w->items = w->message.items = wait_set_request(set_of(w), &w->message.n_items);
        return w->items ? 0 : -ENOMEM;
}

static int take(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        UnitWait *w = userdata;
        bool news = false;

        if (r->status != 0 || r->what_case != ARGOSY__RESPONSE__WHAT_PROGRESS)
                return 0;
        for (size_t i = 0; i < r->progress->n_done; i++) {
                const Argosy__Response__UnitResult *u = r->progress->done[i];

                if (!wait_set_finish(set_of(w), u->name, u->status != 0))
                        continue; // told twice
                news = true;
                w->ended(u, w->userdata);
        }
        return news ? WAIT_NEWS : 0;
}

static void count(const void *userdata, ProgressState *ret) {
        const UnitWait *w = userdata;

        *ret = (ProgressState){.verb = w->verb};
        for (size_t i = 0; i < w->n_sets; i++) {
                ret->done += w->sets[i].n_done;
                ret->failed += w->sets[i].n_failed;
                ret->total += w->sets[i].n_items;
        }
}

static WaitStep judge(Ctl *ctl, const WaitEnd *end, void *userdata) {
        return wait_set_next(set_of(userdata), end->lost, end->error, end->status, end->no_leader);
}

static int detach(const WaitEnd *end, const void *userdata, Buf *text) {
        const UnitWait *w = userdata;

        return wait_sets_append_open(w->sets, w->n_sets, wait_end_is_connected(end), text);
}

static int leave(Ctl *ctl, const WaitEnd *end, void *userdata) {
        _cleanup_buf_ Buf text = {};
        UnitWait *w = userdata;
        int code = w->leave ? w->leave(ctl, end, w->userdata) : EXIT_OK;

        if (code != EXIT_OK)
                return code;
        if (detach(end, w, &text) < 0)
                return ctl_oom(ctl);
        return ctl_fail(ctl, "%s; %.*s", wait_loop_reason(ctl, end), (int) text.len,
                        (const char *) text.data);
}

static const WaitKind change_wait = {
        .ask = ask, .take = take, .count = count, .judge = judge, .detach = detach, .leave = leave};
static const WaitKind goal_wait = {.ask = ask, .take = take, .count = count, .judge = judge, .leave = leave};

void unit_wait_init(UnitWait *w, const char *verb, WaitSet *sets, size_t n_sets) {
        *w = (UnitWait){.verb = verb, .sets = sets, .n_sets = n_sets};
        argosy__request__wait__init(&w->message);
}

int unit_wait_run(Ctl *ctl, UnitWait *w) {
        int code;

        if (wait_set_open(set_of(w)) == 0)
                return EXIT_OK;
        Argosy__Request request = REQUEST_OF(WAIT, wait, &w->message);
        code = wait_loop_run(ctl, w->message.goal ? &goal_wait : &change_wait, &request, w);
        free(TAKE_PTR(w->items));
        return code;
}
