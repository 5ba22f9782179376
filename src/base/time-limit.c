// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A timer for a peer's deadline that forgives our own standstill (time-limit.h): it fires twice.
// time_limit_start() -> due: the loop goes round once more, for as long as the timer was late -> due again:
// over(). Nothing fails. time_limit_close() is asynchronous: the memory has to live until `closed` was
// called.

#include "time-limit.h"

#include "macro.h"

static void on_timer(uv_timer_t *timer) {
        TimeLimit *t = timer->data;
        uint64_t late_ms = uv_now(timer->loop) - t->due_ms;

        if (t->extended) {
                t->over(t->userdata);
                return;
        }
        t->extended = true;
        uv_timer_start(timer, on_timer, MAX_OF(late_ms, (uint64_t) 1), 0); // 0 is before the loop polls
}

void time_limit_init(TimeLimit *t, uv_loop_t *loop, void *userdata) {
        *t = (TimeLimit){.userdata = userdata};
        (void) uv_timer_init(loop, &t->timer); // cannot fail
        t->timer.data = t;
}

void time_limit_start(TimeLimit *t, uint64_t ms, void (*over)(void *userdata)) {
        uv_update_time(t->timer.loop);
        t->over = over;
        t->due_ms = uv_now(t->timer.loop) + ms;
        t->extended = false;
        uv_timer_start(&t->timer, on_timer, ms, 0);
}

void time_limit_stop(TimeLimit *t) {
        uv_timer_stop(&t->timer);
}

void time_limit_close(TimeLimit *t, uv_close_cb closed) {
        uv_close((uv_handle_t *) &t->timer, closed);
}
