// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The loop in which every waiting command waits.
//
// The happy path: ask, take answers until the last one, judge that it is finished. A progress line is drawn
// meanwhile, and taken away before anything is said. When the answers end too early and the judgement is to
// ask again, that happens after a pause that grows; news make it short again. Lost daemons and missing
// leaders are counted apart, since the one has an end and the other, for some, has none. Ctrl-C ends only
// our waiting: the cluster knows nothing of it.

#include <errno.h>
#include <stdio.h>

#include "clock.h"
#include "wait-loop.h"

typedef struct WaitLoop {
        const WaitKind *kind;
        void *userdata;
        WaitEnd end;
        bool news; // since the request was sent
} WaitLoop;

static void draw(Ctl *ctl, const WaitLoop *l) {
        ProgressState state = {};

        if (!l->kind->count)
                return;
        l->kind->count(l->userdata, &state);
        progress_draw(&ctl->term, &state);
}

static void note_status(WaitEnd *end, const Argosy__Response *r) {
        end->status = r->status;
        end->no_leader = r->no_leader;
        snprintf(end->message, sizeof(end->message), "%s", status_text(r->status, r->message));
}

static int on_response(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        WaitLoop *l = userdata;
        int e = 0;

        if (r && r->status != 0)
                note_status(&l->end, r);
        l->end.heard |= r && !r->no_leader;
        if (r && l->kind->take)
                e = l->kind->take(ctl, r, l->userdata);
        if (e < 0)
                return e;
        l->news |= e == WAIT_NEWS;
        if (!r || !r->final)
                draw(ctl, l);
        return 0;
}

// 0: l->end says how it ended. WAIT_ENOUGH.
static int ask_once(Ctl *ctl, WaitLoop *l, Argosy__Request *request) {
        unsigned flags =
                l->kind->flags | CALL_PATIENT | (l->kind->count && ctl->term.err_tty ? CALL_TICK : 0);
        int r = l->kind->ask ? l->kind->ask(ctl, request, l->userdata) : 0;

        if (r == WAIT_ENOUGH)
                return r;
        l->end = (WaitEnd){};
        l->news = false;
        draw(ctl, l);
        if (r == 0)
                r = ctl_call(ctl, request, flags, on_response, l);
        progress_clear(&ctl->term);
        l->end.error = r;
        l->end.lost = client_is_lost(&ctl->client, r);
        return 0;
}

const char *wait_loop_reason(const Ctl *ctl, const WaitEnd *end) {
        if (end->error == -ETIMEDOUT)
                return "timed out waiting";
        if (end->error == 0 && end->status == 0)
                return "argosyd stopped reporting";
        return end->error < 0 ? ctl->client.why : end->message;
}

static int leave(Ctl *ctl, const WaitLoop *l) {
        _cleanup_buf_ Buf text = {};

        if (l->end.error == -ENOMEM)
                return ctl_oom(ctl);
        if (l->end.error != -EINTR)
                return l->kind->leave(ctl, &l->end, l->userdata);
        if (l->kind->detach && l->kind->detach(&l->end, l->userdata, &text) == 0)
                fprintf(ctl->term.err, "argosyctl: detached; %.*s\n", (int) text.len,
                        (const char *) text.data);
        return EXIT_DETACHED;
}

int wait_loop_run(Ctl *ctl, const WaitKind *kind, Argosy__Request *request, void *userdata) {
        WaitLoop l = {.kind = kind, .userdata = userdata};
        Patience lost = {}, leaderless = {};

        progress_begin(&ctl->term);
        while (ask_once(ctl, &l, request) != WAIT_ENOUGH) {
                bool again = false;

                if (l.news)
                        lost = leaderless = (Patience){};
                switch (kind->judge(ctl, &l.end, userdata)) {
                case WAIT_FINISHED:
                        return EXIT_OK;
                case WAIT_REDIAL:
                        lost.warned |= kind->silent;
                        again = ctl_try_again(ctl, &lost, &l.end.error);
                        break;
                case WAIT_ASK_AGAIN:
                        leaderless.lost_us = clock_boot_us(); // so that this has no end
                        again = ctl_try_again(ctl, &leaderless, &l.end.error);
                        break;
                case WAIT_GIVE_UP:
                        break;
                }
                if (!again)
                        return leave(ctl, &l);
        }
        return EXIT_OK;
}
