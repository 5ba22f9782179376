// SPDX-License-Identifier: LGPL-2.1-or-later
#include "loop.h"

#include "work-queue.h"

typedef struct Piece {
        WorkItem item;
        WorkQueue *queue;
        char name;
        bool unwanted;
        WorkItem *then; // is added when it is done
} Piece;

static char story[64];
static uv_sem_t may_run;

static void tell(char what, const Piece *p) {
        size_t len = strlen(story);

        assert_true(len + 2 < sizeof(story));
        story[len] = what;
        story[len + 1] = p->name;
}

static bool on_begin(WorkItem *item) {
        Piece *p = CONTAINER_OF(item, Piece, item);

        if (!p->unwanted)
                tell('<', p);
        return !p->unwanted;
}

static void on_run(WorkItem *item) {
        uv_sem_wait(&may_run);
        tell('-', CONTAINER_OF(item, Piece, item));
}

static void on_done(WorkItem *item) {
        Piece *p = CONTAINER_OF(item, Piece, item);

        tell('>', p);
        if (p->then)
                work_queue_add(p->queue, TAKE_PTR(p->then));
}

static void one_begins_when_the_one_before_is_done(void **state) {
        const Piece piece = {.item = {.begin = on_begin, .run = on_run, .done = on_done}};
        Piece a = piece, b = piece, c = piece;
        uv_loop_t loop;
        WorkQueue q;

        assert_int_equal(uv_loop_init(&loop), 0);
        assert_int_equal(uv_sem_init(&may_run, 0), 0);
        work_queue_init(&q, &loop);
        assert_false(work_queue_is_busy(&q));
        a.queue = &q;
        a.name = 'a';
        b.name = 'b';
        c.name = 'c';
        c.unwanted = true;
        a.then = &a.item;
        work_queue_add(&q, &a.item);
        work_queue_add(&q, &c.item);
        work_queue_add(&q, &b.item);
        work_queue_add(&q, &b.item);
        assert_true(work_queue_is_busy(&q));
        uv_run(&loop, UV_RUN_NOWAIT);
        assert_string_equal(story, "<a");
        for (int i = 0; i < 3; i++)
                uv_sem_post(&may_run);
        uv_run(&loop, UV_RUN_DEFAULT);
        assert_string_equal(story, "<a-a>a<b-b>b<a-a>a");
        assert_false(work_queue_is_busy(&q));
        uv_sem_destroy(&may_run);
        assert_int_equal(uv_loop_close(&loop), 0);
}

RUN_TESTS(cmocka_unit_test(one_begins_when_the_one_before_is_done))
