// SPDX-License-Identifier: LGPL-2.1-or-later
//
// One request and its answers, over one connection (ctl_call()) or as many as it takes until the first
// answer (ctl_call_until_answered(), and ctl_ask(), which also says what went wrong).
//
// The happy path: send, hand every response over, end with the final one. What the cluster waits for before
// it answers is drawn as progress, and handed to nobody. A daemon that is away is
// dialled again for a minute, with growing pauses, since it may be restarting; who has heard a part of
// the answer asks no second time. The daemon is told how much patience is left, and given a moment more
// to say that it ran out.

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "ctl-jobs.h"
#include "ctl.h"
#include "json.h"
#include "request-kind.h"
#include "str.h"

enum { RETRY_MIN_MS = 100, RETRY_MAX_MS = 1000, RETRY_WARN_MS = 800 };

// Says once per run how old an answer without a leader is.
static void warn_stale(Ctl *ctl, const Argosy__Response *r) {
        _cleanup_buf_ Buf age = {};

        if (!r->no_leader || r->status != 0 || ctl->warned_stale)
                return;
        ctl->warned_stale = true;
        if (r->stale_ms == 0 || text_append_span(&age, r->stale_ms * USEC_PER_MSEC) < 0)
                ctl_warn(ctl, "the cluster has no leader at the moment; this is what this host knows");
        else
                ctl_warn(ctl, "the cluster has no leader at the moment; this is %.*s old", (int) age.len,
                         (const char *) age.data);
}

// The daemon gives up looking for a leader when we do; what it then says is worth a moment more.
static uint64_t answer_deadline(const Ctl *ctl, unsigned flags) {
        uint64_t until = clock_boot_us() + ANSWER_SEC * USEC_PER_SEC;

        if ((flags & CALL_PATIENT) || ctl->deadline_us == CLIENT_NEVER)
                return flags & CALL_PATIENT ? ctl->deadline_us : until;
        return MIN_OF(ctl->deadline_us + ANSWER_GRACE_MS * USEC_PER_MSEC, until);
}

// The daemon's patience with a missing leader ends with ours.
static uint32_t timeout_ms_left(const Ctl *ctl) {
        uint64_t now = clock_boot_us(), left;

        if (ctl->deadline_us == CLIENT_NEVER)
                return 0;
        left = ctl->deadline_us > now ? (ctl->deadline_us - now) / USEC_PER_MSEC : 0;
        return left == 0 ? 1 : left > UINT32_MAX ? UINT32_MAX : (uint32_t) left;
}

// What the cluster waits for before it answers (Response.awaits).
typedef struct Awaited {
        char *what;       // NULL: it has not said it
        uint64_t sent_us; // when the request was
} Awaited;

static void draw_awaited(Ctl *ctl, const Awaited *a) {
        const ProgressState state = {
                .verb = ctl->opt.verb ? ctl->opt.verb->name : "argosyctl",
                .awaits = a->what,
                .since_us = a->sent_us,
        };

        progress_draw(&ctl->term, &state);
}

static void note_awaited(Ctl *ctl, Awaited *a, const Argosy__Response *response) {
        free(a->what);
        a->what = strdup(response->awaits);
        if (a->what)
                draw_awaited(ctl, a);
}

// There is no answer, and somebody else than the leader is late.
static void note_left(Ctl *ctl, const Awaited *a, int error) {
        if (!a->what)
                return;
        str_fit(ctl->awaited, sizeof(ctl->awaited), "%s", a->what);
        if (error == -ETIMEDOUT)
                str_fit(ctl->client.why, sizeof(ctl->client.why),
                        "no answer in time: the cluster waited for %s", ctl->awaited);
}

static void stop_awaiting(Ctl *ctl, Awaited *a) {
        if (a->what)
                progress_begin(&ctl->term);
        free(TAKE_PTR(a->what));
}

static int tick(Ctl *ctl, const Awaited *a, ResponseFn f, void *userdata) {
        if (!a->what)
                return f(ctl, NULL, userdata);
        draw_awaited(ctl, a);
        return 0;
}

static int receive(Ctl *ctl, unsigned flags, const Awaited *a, ResponseFn f, void *userdata,
                   Argosy__Response **ret) {
        uint64_t deadline_us = answer_deadline(ctl, flags);
        int r;

        for (;;) {
                uint64_t tick_us = clock_boot_us() + TICK_MS * USEC_PER_MSEC;

                if ((!(flags & CALL_TICK) && !a->what) || tick_us >= deadline_us)
                        return client_receive(&ctl->client, deadline_us, ret);
                r = client_receive(&ctl->client, tick_us, ret);
                if (r != -ETIMEDOUT)
                        return r;
                r = tick(ctl, a, f, userdata);
                if (r < 0)
                        return r;
        }
}

// Returns what `f` does.
static int take(Ctl *ctl, const Argosy__Response *response, unsigned flags, ResponseFn f, void *userdata) {
        int r = 0;

        warn_stale(ctl, response);
        if (response->status == 0 && *response->message && !(flags & CALL_NOTE))
                ctl_warn(ctl, "%s", response->message);
        if (response->final)
                ctl_job_print(ctl, response->job);
        if (response->final && response->held)
                r = ctl_job_note_held(ctl, response);
        return r < 0 ? r : f(ctl, response, userdata);
}

int ctl_call(Ctl *ctl, Argosy__Request *request, unsigned flags, ResponseFn f, void *userdata) {
        Awaited awaited = {.sent_us = clock_boot_us()};
        bool last = false;
        int r;

        *ctl->awaited = '\0';
        request->timeout_ms = timeout_ms_left(ctl);
        r = client_send(&ctl->client, request, answer_deadline(ctl, flags));
        while (r == 0 && !last) {
                Argosy__Response *response;

                r = receive(ctl, flags, &awaited, f, userdata, &response);
                if (r < 0) {
                        note_left(ctl, &awaited, r);
                        break;
                }
                last = response->final;
                if (*response->awaits)
                        note_awaited(ctl, &awaited, response);
                else {
                        stop_awaiting(ctl, &awaited);
                        r = take(ctl, response, flags, f, userdata);
                }
                argosy__response__free_unpacked(response, NULL);
        }
        stop_awaiting(ctl, &awaited);
        return r;
}

bool ctl_try_again(Ctl *ctl, Patience *p, int *error) {
        uint64_t now = clock_boot_us();

        if (p->lost_us == 0)
                p->lost_us = now;
        if (p->pause_ms == 0)
                p->pause_ms = RETRY_MIN_MS;
        if (now - p->lost_us >= RECONNECT_SEC * USEC_PER_SEC)
                return false;
        if (now >= ctl->deadline_us) {
                *error = -ETIMEDOUT;
                return false;
        }
        if (!p->warned &&
            p->pause_ms >= RETRY_WARN_MS) { // a restart of argosyd, or an election, passes in silence
                ctl_warn(ctl, "%s; still trying",
                         ctl->client.fd < 0 ? ctl->client.why : "the cluster has no leader at the moment");
                p->warned = true;
        }
        *error = client_pause(&ctl->client, MIN_OF(ctl->deadline_us, now + p->pause_ms * USEC_PER_MSEC));
        p->pause_ms = MIN_OF(2 * p->pause_ms, (uint64_t) RETRY_MAX_MS);
        return *error == 0;
}

typedef struct Attempts {
        ResponseFn f;
        void *userdata;
        bool parts;    // only the last response counts:
        bool answered; // something has been handed over: the question cannot be asked again
} Attempts;

static int note_answer(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        Attempts *a = userdata;
        int e;

        a->answered |= r != NULL && !a->parts;
        if (r)
                ctl_note_unknown(ctl, r);
        e = a->f(ctl, r, a->userdata);
        a->answered |= r != NULL && r->final && e >= 0;
        return e;
}

int ctl_call_until_answered(Ctl *ctl, Argosy__Request *request, unsigned flags, ResponseFn f, void *userdata,
                            Patience *patience) {
        Attempts a = {f, userdata, flags & CALL_PARTS, false};
        CtlJob job;
        int r;

        ctl_job_attach(ctl, &job, request);
        do {
                ctl_job_sent(&job);
                r = ctl_call(ctl, request, flags, note_answer, &a);
        } while (r < 0 && !a.answered && !(flags & CALL_ONCE) && client_is_lost(&ctl->client, r) &&
                 ctl_try_again(ctl, patience, &r));
        request->job = NULL;
        return r;
}

static bool changes_something(const Argosy__Request *request) {
        const RequestKind *kind = request_kind(request->what_case);

        return kind && kind->effect == REQUEST_CHANGES && !(kind->job.asks && kind->job.asks(request));
}

// Nobody calls off what was asked for: a leader that has it goes on without its client.
int ctl_unanswered(Ctl *ctl, const Argosy__Request *request, int error, const Patience *patience) {
        bool changes = changes_something(request);
        const char *may_be = *ctl->awaited ? "it may still carry out the request"
                                           : "the cluster may have taken the request or not";

        if (error == -ENOMEM)
                return ctl_oom(ctl);
        if (error != -EINTR)
                return ctl_fail(ctl, "%s%s%s", ctl->client.why,
                                changes && (patience->lost_us || error == -ETIMEDOUT) ? "; " : "",
                                changes && (patience->lost_us || error == -ETIMEDOUT) ? may_be : "");
        if (changes && *ctl->awaited)
                ctl_fail(ctl, "interrupted while the cluster waited for %s; %s", ctl->awaited, may_be);
        else if (changes)
                ctl_fail(ctl, "interrupted before the cluster answered; %s", may_be);
        return EXIT_DETACHED;
}

typedef struct Ask {
        ResponseFn f;
        void *userdata;
        unsigned flags;
        bool failed; // a response had a status that was printed here
} Ask;

static int on_answer(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        Ask *a = userdata;

        if (r->status != 0 && !(a->flags & CALL_STATUS)) {
                ctl_fail(ctl, "%s", status_text(r->status, r->message));
                a->failed = true;
                return 0;
        }
        return a->f ? a->f(ctl, r, a->userdata) : 0;
}

int ctl_ask(Ctl *ctl, Argosy__Request *request, unsigned flags, ResponseFn f, void *userdata) {
        Patience patience = {};
        Ask a = {f, userdata, flags, false};
        size_t n_held = ctl->n_held;
        int r = ctl_call_until_answered(ctl, request, flags, on_answer, &a, &patience);

        if (r == 0 && ctl->n_held > n_held)
                return CTL_HELD;
        if (r == 0 || r == -ECANCELED)
                return a.failed ? EXIT_FAILED : EXIT_OK;
        return ctl_unanswered(ctl, request, r, &patience);
}

int ctl_ask_for_list(Ctl *ctl, Json *json, Argosy__Request *request, unsigned flags, ResponseFn f,
                     void *userdata) {
        bool is_json = ctl->opt.json != JSON_OFF;
        int code;

        if (is_json)
                json_begin(json, '[');
        code = ctl_ask(ctl, request, flags, f, userdata);
        if (is_json) {
                json_end(json, ']');
                json_finish(json);
        }
        return code;
}
