// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See time-limit.h. A timer that fires twice: the first time it only lets the loop go round once more.
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
        uv_timer_start(timer, on_timer, MAX_OF(late_ms, (uint64_t) 1), 0); // at once would be before the loop looks
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
