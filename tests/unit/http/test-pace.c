// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "http-limits.h"
#include "http-pace.h"
#include "macro.h"

#define SEC(n) ((n) * (uint64_t) USEC_PER_SEC)

static HttpPace pace;

// One connection of them, and its other end.
static struct {
        HttpPaced paced;
        int ours, theirs;
} c[2];

FIXTURE(begin) {
        int fds[2];

        pace = (HttpPace){};
        http_pace_init(&pace);
        for (size_t i = 0; i < ELEMENTSOF(c); i++) {
                assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
                c[i].ours = fds[0];
                c[i].theirs = fds[1];
        }
}

FIXTURE(end) {
        assert_true(list_is_empty(&pace.all));
        assert_false(http_pace_is_due(&pace));
        http_pace_done(&pace);
        for (size_t i = 0; i < ELEMENTSOF(c); i++) {
                close(c[i].ours);
                close(c[i].theirs);
        }
}

static bool has_ended(size_t i) {
        struct pollfd p = {.fd = c[i].theirs, .events = POLLIN};
        char byte;

        return poll(&p, 1, 0) == 1 && read(p.fd, &byte, 1) == 0;
}

// Whether it is ended at that time, and not before.
static bool is_due_at(size_t i, uint64_t us) {
        (void) http_pace_end_late(&pace, us - 1);
        if (has_ended(i))
                return false;
        (void) http_pace_end_late(&pace, us);
        return has_ended(i);
}

static void a_head_has_its_time(void **state) {
        (void) http_pace_begin(&pace, &c[0].paced, c[0].ours, 1000);
        (void) http_pace_begin(&pace, &c[1].paced, c[1].ours, 1000);
        http_pace_on_head(&pace, &c[1].paced);
        assert_true(is_due_at(0, 1000 + SEC(HTTP_HEAD_SEC)));
        assert_false(has_ended(1)); // it waits for us

        // and so has the next one, of whoever was answered
        (void) http_pace_on_answer(&pace, &c[1].paced, 5000);
        assert_true(is_due_at(1, 5000 + SEC(HTTP_IDLE_SEC)));
        http_pace_end(&pace, &c[0].paced);
        http_pace_end(&pace, &c[1].paced);
}

// From when it is wanted, however long the leader had to be asked about it before.
static void a_body_has_its_time(void **state) {
        for (size_t i = 0; i < ELEMENTSOF(c); i++) {
                (void) http_pace_begin(&pace, &c[i].paced, c[i].ours, 0);
                http_pace_on_head(&pace, &c[i].paced);
                assert_false(http_pace_on_body(&pace, &c[i].paced, SEC(100))); // the loop looks already
        }
        http_pace_on_request(&pace, &c[1].paced);
        assert_true(is_due_at(0, SEC(100 + HTTP_BODY_SEC)));
        assert_false(has_ended(1));
        http_pace_end(&pace, &c[0].paced);
        http_pace_end(&pace, &c[1].paced);
}

// Once: from then on it looks until there is nobody.
static void the_loop_is_told_to_look(void **state) {
        assert_true(http_pace_begin(&pace, &c[0].paced, c[0].ours, 0));
        assert_false(http_pace_begin(&pace, &c[1].paced, c[1].ours, 0));
        http_pace_on_head(&pace, &c[0].paced);
        http_pace_on_head(&pace, &c[1].paced);
        assert_false(http_pace_on_answer(&pace, &c[0].paced, 0)); // it has not looked since
        http_pace_on_head(&pace, &c[0].paced);
        assert_false(http_pace_is_due(&pace));
        assert_false(http_pace_end_late(&pace, 1));
        assert_true(http_pace_on_answer(&pace, &c[0].paced, 0));
        assert_true(http_pace_is_due(&pace));
        assert_true(http_pace_end_late(&pace, 1));
        assert_false(http_pace_on_answer(&pace, &c[1].paced, 0));
        http_pace_end(&pace, &c[0].paced);
        http_pace_end(&pace, &c[1].paced);
        assert_false(http_pace_end_late(&pace, UINT64_MAX));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

RUN_TESTS(
        TEST(a_head_has_its_time),
        TEST(a_body_has_its_time),
        TEST(the_loop_is_told_to_look)
)
