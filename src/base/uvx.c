// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "uvx.h"

int uvx_errno(int status) {
        if (status >= 0)
                return 0;
        if (status == UV_EOF)
                return -ECONNRESET;
        if (status <= UV_EAI_ADDRFAMILY &&
            status >= UV_EAI_SOCKTYPE) // the name look-up block, -3000 ... -3014
                return -EADDRNOTAVAIL;
        return status; // on Linux UV_Exxx is -Exxx
}

static void on_no_work(uv_work_t *work) {
}

static void on_no_work_done(uv_work_t *work, int status) {
}

int uvx_start_pool(void) {
        sigset_t all, before;
        uv_work_t work;
        uv_loop_t loop;
        int r;

        r = uv_loop_init(&loop);
        if (r < 0)
                return uvx_errno(r);
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        r = uv_queue_work(&loop, &work, on_no_work, on_no_work_done);
        if (r >= 0)
                uv_run(&loop, UV_RUN_DEFAULT);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        uv_loop_close(&loop);
        return uvx_errno(r);
}

static void on_idle(uv_idle_t *idle) {
        Drain *d = idle->data;

        uv_idle_stop(idle);
        d->marked = false;
        d->run(d->userdata);
}

int drain_init(Drain *d, uv_loop_t *loop, void (*run)(void *userdata), void *userdata) {
        *d = (Drain){.run = run, .userdata = userdata};
        d->idle.data = d;
        return uvx_errno(uv_idle_init(loop, &d->idle));
}

void drain_mark(Drain *d) {
        if (d->marked || uv_is_closing((uv_handle_t *) &d->idle))
                return;
        d->marked = true;
        uv_idle_start(&d->idle, on_idle);
}

void drain_unmark(Drain *d) {
        d->marked = false;
        uv_idle_stop(&d->idle);
}

void drain_close(Drain *d, uv_close_cb closed) {
        d->marked = false;
        uv_close((uv_handle_t *) &d->idle, closed);
}
