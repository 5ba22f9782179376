// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   systemd-run --wait --pipe -> both outputs are read -> they end, and systemd-run does -> done
//           '-> over the limit, too much output, or cancelled: systemd-run is ended -> systemctl stop ->
//           done
//
// Stopping takes two steps: systemd-run is ended first, so that it asks for no service any more, and then
// the service is stopped, if it was asked for. systemd has the limit as well (RuntimeMaxSec=), for a service
// that argosyd has forgotten in a crash. Of what is said on the second output only the end is kept, since a
// program ends with its reason.

#include "transient-command.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "str.h"
#include "time-limit.h"
#include "uvx.h"

enum {
        ARGS_MAX = 48,
        READ_BYTES = 16 * 1024,
        GRACE_SEC = 5, // for systemd to keep the limit itself
};

struct TransientCommand {
        uv_process_t process, stopper;
        uv_pipe_t out, err;
        TimeLimit limit;
        char *unit;
        size_t output_max;
        Buf output, said;
        TransientDone *done;
        void (*heard)(void *userdata);
        void *userdata;
        void (*closed)(void *userdata);
        void *closed_data;
        unsigned n_open;  // handles
        bool is_service; // else a test runs it
        bool exited, out_ended, err_ended, ending, closing;
        int result;
        char chunk[READ_BYTES];
};

static char *const environment_of_ours[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};

// ------------------------------------------------------------------------------------------------ the end

static void close_step(TransientCommand *c) {
        if (--c->n_open > 0)
                return;
        if (c->closed)
                c->closed(c->closed_data);
        buf_done(&c->output);
        buf_done(&c->said);
        free(c->unit);
        free(c);
}

static void on_handle_closed(uv_handle_t *h) {
        close_step(h->data);
}

static void on_timer_closed(uv_handle_t *h) {
        close_step(CONTAINER_OF((uv_timer_t *) h, TransientCommand, limit.timer));
}

static void close_handle(TransientCommand *c, uv_handle_t *h) {
        c->n_open++;
        uv_close(h, on_handle_closed);
}

static void close_all(TransientCommand *c) {
        if (c->closing)
                return;
        c->closing = true;
        c->n_open++; // until the end of this function
        close_handle(c, (uv_handle_t *) &c->process);
        close_handle(c, (uv_handle_t *) &c->out);
        close_handle(c, (uv_handle_t *) &c->err);
        c->n_open++;
        time_limit_close(&c->limit, on_timer_closed);
        close_step(c);
}

static void finish(TransientCommand *c) {
        TransientDone *done = c->done;

        if (c->closing || !c->exited || (!c->ending && (!c->out_ended || !c->err_ended)))
                return;
        c->done = NULL;
        if (done)
                done(c->result, &c->output, &c->said, c->userdata);
        close_all(c);
}

static void on_stopped(uv_process_t *process, int64_t status, int signal) {
        uv_close((uv_handle_t *) process, on_handle_closed);
}

// Whether there is such a service or not.
static void stop_service(TransientCommand *c) {
        char *args[] = {"systemctl", "stop", "--no-block", "--quiet", c->unit, NULL};
        uv_process_options_t options = {
                .exit_cb = on_stopped, .file = args[0], .args = args, .env = (char **) environment_of_ours};

        c->stopper.data = c;
        c->n_open++;
        if (uv_spawn(c->process.loop, &c->stopper, &options) < 0)
                uv_close((uv_handle_t *) &c->stopper, on_handle_closed);
}

static void end(TransientCommand *c, int result) {
        if (c->ending || c->exited)
                return;
        c->ending = true;
        c->result = result;
        (void) uv_process_kill(&c->process, SIGKILL);
}

static void on_over(void *userdata) {
        end(userdata, -ETIMEDOUT);
}

static void on_exit_of_runner(uv_process_t *process, int64_t status, int signal) {
        TransientCommand *c = process->data;

        c->exited = true;
        time_limit_stop(&c->limit);
        if (c->ending && c->is_service)
                stop_service(c);
        else if (!c->ending && (status != 0 || signal != 0))
                c->result = uv_now(process->loop) >= c->limit.due_ms - GRACE_SEC * 1000 ? -ETIMEDOUT : -EIO;
        finish(c);
}

// ------------------------------------------------------------------------------------------------ outputs

static void on_room(uv_handle_t *h, size_t suggested, uv_buf_t *ret) {
        TransientCommand *c = h->data;

        *ret = uv_buf_init(c->chunk, sizeof(c->chunk)); // it is emptied before the next read
}

static void on_output(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf) {
        TransientCommand *c = stream->data;

        if (n < 0) {
                uv_read_stop(stream);
                c->out_ended = true;
                finish(c);
        } else if (c->output.len + (size_t) n > c->output_max) {
                end(c, -EFBIG);
        } else if (n > 0 && buf_append(&c->output, buf->base, (size_t) n) < 0) {
                end(c, -ENOMEM);
        }
}

static void on_said(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf) {
        TransientCommand *c = stream->data;

        if (n < 0) {
                uv_read_stop(stream);
                c->err_ended = true;
                finish(c);
        } else if (n > 0 && buf_append(&c->said, buf->base, (size_t) n) == 0) {
                if (c->said.len > TRANSIENT_SAID_MAX) {
                        memmove(c->said.data, c->said.data + c->said.len - TRANSIENT_SAID_MAX,
                                TRANSIENT_SAID_MAX);
                        c->said.len = TRANSIENT_SAID_MAX;
                }
                if (c->heard && c->done && !c->ending)
                        c->heard(c->userdata);
        }
}

const Buf *transient_command_said(const TransientCommand *c) {
        return &c->said;
}

// ------------------------------------------------------------------------------------------------ the begin

typedef struct Args {
        char *list[ARGS_MAX];
        size_t n;
        bool failed;
} Args;

static void args_done(Args *a) {
        for (size_t i = 0; i < a->n; i++)
                free(a->list[i]);
}

static void add(Args *a, char *word) {
        if (!word || a->n + 1 == ARGS_MAX) {
                free(word);
                a->failed = true;
                return;
        }
        a->list[a->n++] = word;
}

static void compose(const TransientConfig *config, Args *a) {
        static const char *const options[] = {"--quiet",
                                              "--wait",
                                              "--pipe",
                                              "--collect",
                                              "--property=PartOf=argosyd.service",
                                              "--property=TimeoutStopSec=5"};

        add(a, strdup(config->runner ?: "systemd-run"));
        for (size_t i = 0; i < ELEMENTSOF(options); i++)
                add(a, strdup(options[i]));
        add(a, str_printf("--unit=%s", config->unit));
        add(a, str_printf("--description=%s", config->description));
        add(a, str_printf("--property=RuntimeMaxSec=%u", config->limit_sec));
        for (size_t i = 0; config->environment && config->environment[i]; i++)
                add(a, str_printf("--setenv=%s", config->environment[i]));
        add(a, strdup("--"));
        for (size_t i = 0; config->args[i]; i++)
                add(a, strdup(config->args[i]));
}

static int spawn(TransientCommand *c, const TransientConfig *config, Args *args) {
        uv_stdio_container_t stdio[] = {
                {.flags = UV_IGNORE},
                {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *) &c->out},
                {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *) &c->err},
        };
        uv_process_options_t options = {.exit_cb = on_exit_of_runner,
                                        .file = args->list[0],
                                        .args = args->list,
                                        .env = (char **) environment_of_ours,
                                        .cwd = "/",
                                        .stdio = stdio,
                                        .stdio_count = ELEMENTSOF(stdio)};

        (void) uv_pipe_init(config->loop, &c->out, 0); // cannot fail
        (void) uv_pipe_init(config->loop, &c->err, 0);
        time_limit_init(&c->limit, config->loop, c);
        c->process.data = c->out.data = c->err.data = c;
        return uvx_errno(uv_spawn(config->loop, &c->process, &options));
}

int transient_command_start(const TransientConfig *config, TransientDone *done, void *userdata,
                            TransientCommand **ret) {
        _cleanup_(args_done) Args args = {};
        TransientCommand *c;
        int r;

        if (access(config->args[0], X_OK) < 0)
                return -ENOENT;
        compose(config, &args);
        c = args.failed ? NULL : calloc(1, sizeof(*c));
        if (c)
                c->unit = strdup(config->unit);
        if (!c || !c->unit) {
                free(c);
                return -ENOMEM;
        }
        c->output_max = config->output_max;
        c->heard = config->heard;
        c->is_service = !config->runner;
        r = spawn(c, config, &args);
        if (r < 0) { // also then libuv's handles have to be closed
                c->exited = true;
                close_all(c);
                return r;
        }
        c->done = done;
        c->userdata = userdata;
        time_limit_start(&c->limit, (uint64_t) (config->limit_sec + GRACE_SEC) * 1000, on_over);
        uv_read_start((uv_stream_t *) &c->out, on_room, on_output);
        uv_read_start((uv_stream_t *) &c->err, on_room, on_said);
        *ret = c;
        return 0;
}

void transient_command_cancel(TransientCommand *c, void (*closed)(void *userdata), void *userdata) {
        c->done = NULL;
        c->closed = closed;
        c->closed_data = userdata;
        end(c, -ECANCELED);
        finish(c);
}
