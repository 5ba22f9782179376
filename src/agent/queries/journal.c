// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Reads a unit's journal in the pool, in batches.
//
//      journal_reader_new() -> [pool] open, read a batch -> ops.lines() -> [pool] read ... -> ops.ended()
//                              with `follow`: wait for the journal's descriptor -> read on
//
// All readers of one asker have one job in the pool at a time. A container's journal is read by a helper
// (foreign-journal.h). Failures: ops.ended() with -errno. Close: poll handle, then journal, then memory,
// then closed().

#include "journal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "pool.h"
#include "uvx.h"

struct JournalReader {
        PoolWork work;
        uv_poll_t poll;
        uv_loop_t *loop;
        JournalOps ops;
        void *userdata;
        JournalQuestion question; // owns its `unit`

        ForeignJournal *foreign; // NULL: the members below are used
        JournalSource *source;   // by the pool while `working`
        bool working, polling, closing, closed_source;
        bool held, waiting; // waiting: a read is due once `held` ends
        int result;         // of the last job: JournalRead or negative errno
        char **lines;       // the source's
        size_t n;

        void (*closed)(void *userdata);
        void *closed_data;
};

// ---- in the pool

static void run_read(PoolWork *work) {
        JournalReader *r = CONTAINER_OF(work, JournalReader, work);

        r->result = 0;
        r->n = 0;
        if (!r->source)
                r->result = journal_source_open(&r->question, &r->source);
        if (r->result >= 0)
                r->result = journal_source_read(r->source, &r->lines, &r->n);
}

static void run_close(PoolWork *work) {
        JournalReader *r = CONTAINER_OF(work, JournalReader, work);

        r->source = journal_source_close(r->source);
}

// ---- in the loop

static void next_read(JournalReader *r);
static void close_step(JournalReader *r);

static void on_readable(uv_poll_t *poll, int status, int events) {
        JournalReader *r = poll->data;

        uv_poll_stop(poll);
        next_read(r);
}

static int wait_for_more(JournalReader *r) {
        int e;

        if (!r->polling) {
                e = uvx_errno(uv_poll_init(r->loop, &r->poll, journal_source_fd(r->source)));
                if (e < 0)
                        return e;
                r->poll.data = r;
                r->polling = true;
        }
        return uvx_errno(uv_poll_start(&r->poll, UV_READABLE, on_readable));
}

static void on_read(PoolWork *work) {
        JournalReader *r = CONTAINER_OF(work, JournalReader, work);
        int e = r->result;

        r->working = false;
        if (!r->closing && r->n > 0)
                r->ops.lines(r->lines, r->n, r->userdata);
        if (r->source)
                journal_source_drop_lines(r->source);
        if (r->closing) {
                close_step(r);
                return;
        }
        if (e == JOURNAL_MORE) {
                next_read(r);
                return;
        }
        if (e >= 0 && r->question.follow) {
                e = wait_for_more(r);
                if (e >= 0 && r->ops.read)
                        r->ops.read(r->userdata);
                if (e >= 0)
                        return;
        }
        r->ops.ended(MIN_OF(e, 0), r->userdata);
}

static void next_read(JournalReader *r) {
        r->waiting = r->held;
        if (r->held)
                return;
        r->working = true;
        pool_add(r->loop, &r->work, POOL_GUESTS, run_read, on_read);
}

int journal_reader_new(uv_loop_t *loop, const JournalQuestion *q, const JournalOps *ops, void *userdata,
                       JournalReader **ret) {
        JournalReader *r = calloc(1, sizeof(*r));

        if (!r)
                return -ENOMEM;
        *r = (JournalReader){.loop = loop, .ops = *ops, .userdata = userdata, .question = *q};
        r->work.of = (const void *) (uintptr_t) q->asker;
        r->work.alone = true;
        r->question.unit = strdup(q->unit);
        if (!r->question.unit) {
                free(r);
                return -ENOMEM;
        }
        next_read(r);
        *ret = r;
        return 0;
}

int journal_reader_new_foreign(const HelperConfig *config, const JournalQuestion *q, const JournalOps *ops,
                               void *userdata, JournalReader **ret) {
        JournalReader *r = calloc(1, sizeof(*r));
        int e;

        if (!r)
                return -ENOMEM;
        e = foreign_journal_new(config, q, ops, userdata, &r->foreign);
        if (e < 0) {
                free(r);
                return e;
        }
        *ret = r;
        return 0;
}

int journal_reader_again(JournalReader *r, const JournalQuestion *q) {
        return r->foreign ? foreign_journal_again(r->foreign, q) : -EPIPE;
}

void journal_reader_hold(JournalReader *r, bool hold) {
        if (r->foreign) {
                foreign_journal_hold(r->foreign, hold);
                return;
        }
        r->held = hold;
        if (!hold && r->waiting && !r->closing)
                next_read(r);
}

// ---- close: the poll handle, then the journal, then the memory

static void reader_free(JournalReader *r) {
        void (*closed)(void *) = r->closed;
        void *data = r->closed_data;

        free((char *) r->question.unit);
        free(r);
        if (closed)
                closed(data);
}

static void on_poll_closed(uv_handle_t *handle) {
        JournalReader *r = handle->data;

        r->polling = false;
        close_step(r);
}

static void on_source_closed(PoolWork *work) {
        JournalReader *r = CONTAINER_OF(work, JournalReader, work);

        r->working = false;
        close_step(r);
}

static void close_step(JournalReader *r) {
        if (r->working)
                return;
        if (r->polling) {
                if (!uv_is_closing((uv_handle_t *) &r->poll))
                        uv_close((uv_handle_t *) &r->poll, on_poll_closed);
                return;
        }
        if (!r->closed_source) {
                r->closed_source = r->working = true;
                pool_add(r->loop, &r->work, POOL_GUESTS, run_close, on_source_closed);
                return;
        }
        reader_free(r);
}

void journal_reader_close(JournalReader *r, void (*closed)(void *userdata), void *userdata) {
        if (r->foreign) {
                foreign_journal_close(TAKE_PTR(r->foreign), closed, userdata);
                free(r);
                return;
        }
        r->closing = true;
        r->closed = closed;
        r->closed_data = userdata;
        close_step(r);
}
