// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See sim-world.h.
//
//      next = min(next event, next turn of each loop) -> the clock -> that event, or one turn
//      (UV_RUN_NOWAIT) -> next
//
// A host ends in the middle of its own turn by a jump out of it (process_end()): nothing of it is put in
// order, as when a process ends.
#include "sim-world.h"

#include <poll.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "array.h"
#include "hash.h"
#include "machine.h"
#include "macro.h"
#include "process-end.h"
#include "random.h"

#define NEVER UINT64_MAX
// To the libraries; the compiler hides what no header shows.
#define EXPORTED __attribute__((visibility("default")))

struct SimHost {
        uint32_t number;
        SimClocks clocks;
        uv_loop_t *loop;     // NULL: it is down
        uint64_t life;       // of events that are for it: how often it was started
        unsigned boots;
        uint64_t turns;
        uint64_t due_us;     // when its loop is to be run
        uint64_t busy_us;    // until when its last turn takes
        Draw chance;
        jmp_buf out;
        bool in_turn;
        int status;
};

typedef struct Event {
        uint64_t at_us, tie, number;
        SimHost *host; // NULL: the world's
        uint64_t life;
        void (*run)(void *data);
        void *data;
} Event;

static struct {
        uint64_t now_us;
        Draw draw;
        SimHost *hosts[SIM_HOSTS_MAX];
        SimHost *current;
        Event *events; // a heap
        size_t n_events, room;
        uint64_t n_asked;
        void (*ended)(SimHost *h, int status);
        bool kernel;         // hosts write to themselves
        uint64_t stalled_us; // what goes on now has taken longer by that
        SimFigures figures;
} world;

// ------------------------------------------------------------------------------------------------ the queue

static bool is_before(const Event *a, const Event *b) {
        if (a->at_us != b->at_us)
                return a->at_us < b->at_us;
        return a->tie != b->tie ? a->tie < b->tie : a->number < b->number;
}

static void swap(Event *a, Event *b) {
        Event c = *a;

        *a = *b;
        *b = c;
}

static void queue_add(Event e) {
        size_t i = world.n_events++;

        if (ARRAY_GROW(world.events, world.room, world.n_events) < 0)
                abort();
        world.events[i] = e;
        for (; i > 0 && is_before(&world.events[i], &world.events[(i - 1) / 2]); i = (i - 1) / 2)
                swap(&world.events[i], &world.events[(i - 1) / 2]);
}

static Event queue_take(void) {
        Event first = world.events[0];
        size_t i = 0, least;

        world.events[0] = world.events[--world.n_events];
        for (;;) {
                least = i;
                for (size_t child = 2 * i + 1; child <= 2 * i + 2; child++)
                        if (child < world.n_events && is_before(&world.events[child], &world.events[least]))
                                least = child;
                if (least == i)
                        return first;
                swap(&world.events[i], &world.events[least]);
                i = least;
        }
}

void sim_at(uint64_t at_us, SimHost *h, void (*run)(void *data), void *data) {
        queue_add((Event){.at_us = MAX_OF(at_us, world.now_us),
                          .tie = draw_word(&world.draw),
                          .number = world.n_asked++,
                          .host = h,
                          .life = h ? h->life : 0,
                          .run = run,
                          .data = data});
}

// ------------------------------------------------------------------------------------------------ hosts

void sim_begin(uint64_t word) {
        memset(&world, 0, sizeof(world));
        world.draw = draw_from(word);
}

uint64_t sim_now_us(void) {
        return world.now_us;
}

const uint64_t *sim_clock(void) {
        return &world.now_us;
}

Draw *sim_draw(void) {
        return &world.draw;
}

SimFigures sim_figures(void) {
        return world.figures;
}

void sim_on_end(void (*ended)(SimHost *h, int status)) {
        world.ended = ended;
}

SimHost *sim_host_new(uint32_t number, const SimClocks *clocks) {
        SimHost *h = calloc(1, sizeof(*h));

        if (!h || number == 0 || number >= SIM_HOSTS_MAX || world.hosts[number])
                abort();
        h->number = number;
        h->clocks = *clocks;
        h->due_us = NEVER;
        h->chance = draw_from(draw_word(&world.draw));
        world.hosts[number] = h;
        return h;
}

SimHost *sim_host(uint32_t number) {
        return number < SIM_HOSTS_MAX ? world.hosts[number] : NULL;
}

uint32_t sim_host_number(const SimHost *h) {
        return h->number;
}

uv_loop_t *sim_host_loop(const SimHost *h) {
        return h->loop;
}

bool sim_host_is_up(const SimHost *h) {
        return h->loop != NULL;
}

uint64_t sim_host_life(const SimHost *h) {
        return h->life;
}

uint64_t sim_host_turns(const SimHost *h) {
        return h->turns;
}

SimHost *sim_current(void) {
        return world.current;
}

SimHost *sim_host_of_loop(const uv_loop_t *loop) {
        for (size_t i = 0; i < SIM_HOSTS_MAX; i++)
                if (world.hosts[i] && world.hosts[i]->loop == loop)
                        return world.hosts[i];
        return NULL;
}

// The head of a ring of handles: two pointers, in a struct of their own since libuv 1.46, and before in an
// array.
static bool waits_for_others(const uv_loop_t *loop) {
        const void *first;

        memcpy(&first, &loop->watcher_queue, sizeof(first));
        return first != &loop->watcher_queue;
}

// The kernel has something for it: what it wrote to itself; or it has not yet told the kernel what it waits
// for.
static bool kernel_has_news(uv_loop_t *loop) {
        struct pollfd fd = {.fd = uv_backend_fd(loop), .events = POLLIN};

        return waits_for_others(loop) || poll(&fd, 1, 0) > 0;
}

// When its loop has something to do, if nothing comes from outside.
static void look_at(SimHost *h) {
        int ms = uv_loop_alive(h->loop) ? uv_backend_timeout(h->loop) : -1;

        if (ms < 0)
                h->due_us = NEVER;
        else if (ms == 0)
                h->due_us = world.now_us;
        else
                h->due_us = (uv_now(h->loop) + (uint64_t) ms) * 1000 - h->clocks.monotonic_us;
        if (world.kernel && kernel_has_news(h->loop))
                h->due_us = world.now_us;
        h->due_us = MAX_OF(h->due_us, h->busy_us);
}

void sim_wake(SimHost *h) {
        if (h->loop)
                h->due_us = MIN_OF(h->due_us, MAX_OF(world.now_us, h->busy_us));
}

void sim_enter(SimHost *h) {
        if (world.current || !h->loop)
                abort();
        world.current = h;
        uv_update_time(h->loop);
}

void sim_leave(void) {
        SimHost *h = world.current;

        world.current = NULL;
        if (h->loop)
                look_at(h);
}

uv_loop_t *sim_host_start(SimHost *h) {
        int r;

        if (h->loop)
                abort();
        h->loop = calloc(1, sizeof(*h->loop));
        if (!h->loop)
                abort();
        h->life++;
        world.current = h;
        r = uv_loop_init(h->loop);
        if (r < 0) {
                fprintf(stderr, "A loop cannot be made: %s\n", uv_strerror(r));
                abort();
        }
        world.current = NULL;
        h->busy_us = 0;
        look_at(h);
        return h->loop;
}

static void close_fd(int fd) {
        if (fd >= 0)
                close(fd);
}

static void close_polled(uv_handle_t *handle, void *data) {
        uv_os_fd_t fd;

        if ((handle->type == UV_POLL || handle->type == UV_NAMED_PIPE) && uv_fileno(handle, &fd) == 0)
                close_fd(fd);
}

// Descriptors are few; all else of the loop is somebody's who may look at it still.
static void close_loop(uv_loop_t *loop) {
        uv_walk(loop, close_polled, NULL);
        close_fd(loop->async_io_watcher.fd);
        close_fd(loop->signal_pipefd[0]);
        close_fd(loop->signal_pipefd[1]);
        close_fd(uv_backend_fd(loop));
}

static void let_go(SimHost *h) {
        if (uv_loop_close(h->loop) == 0)
                free(h->loop);
        else
                close_loop(h->loop);
        h->loop = NULL;
        h->due_us = NEVER;
        h->life++;
}

void sim_host_kill(SimHost *h) {
        if (world.current == h)
                abort();
        if (h->loop)
                let_go(h);
}

uint64_t sim_host_boot_us(const SimHost *h) {
        return h->clocks.boot_us + world.now_us;
}

void sim_host_set_wall(SimHost *h, uint64_t wall_us) {
        h->clocks.wall_us = wall_us - world.now_us;
}

void sim_host_jump_wall(SimHost *h, int64_t by_us) {
        h->clocks.wall_us += (uint64_t) by_us;
}

void sim_host_boot(SimHost *h) {
        sim_host_kill(h);
        h->boots++;
        h->clocks.boot_us = h->clocks.monotonic_us = 0 - world.now_us; // they begin with 0
}

void sim_end(void) {
        for (size_t i = 0; i < SIM_HOSTS_MAX; i++) {
                if (!world.hosts[i])
                        continue;
                sim_host_kill(world.hosts[i]);
                free(world.hosts[i]);
        }
        free(world.events);
        memset(&world, 0, sizeof(world));
}

// ------------------------------------------------------------------------------------------------ time

// In a host: by its loop, or by what the world does for it. It may end meanwhile.
static void inside(SimHost *h, void (*run)(void *data), void *data) {
        world.current = h;
        world.stalled_us = 0;
        h->in_turn = true;
        if (setjmp(h->out) == 0) {
                if (run) {
                        uv_update_time(h->loop);
                        run(data);
                } else
                        (void) uv_run(h->loop, UV_RUN_NOWAIT);
                h->in_turn = false;
                world.current = NULL;
                if (world.stalled_us > 0)
                        h->busy_us = MAX_OF(h->busy_us, world.now_us) + world.stalled_us;
                look_at(h);
                return;
        }
        h->in_turn = false;
        world.current = NULL;
        let_go(h);
        if (world.ended)
                world.ended(h, h->status);
}

bool sim_host_do(SimHost *h, void (*run)(void *data), void *data) {
        uint64_t life = h->life;

        if (world.current || !h->loop)
                abort();
        inside(h, run, data);
        return h->life == life;
}

void sim_watch_kernel(void) {
        world.kernel = true;
}

void sim_stall(uint64_t us) {
        world.stalled_us += us;
}

static void run_event(void) {
        Event e = queue_take();

        world.figures.events++;
        if (!e.host)
                e.run(e.data);
        else if (e.host->loop && e.host->life == e.life)
                inside(e.host, e.run, e.data);
}

static void run_turn(SimHost *h) {
        world.figures.turns++;
        h->turns++;
        h->busy_us = world.now_us + draw_log(&world.draw, SIM_TURN_MIN_US, SIM_TURN_MAX_US);
        inside(h, NULL, NULL);
}

static SimHost *next_host(void) {
        SimHost *ret = NULL;
        unsigned n = 0;

        for (size_t i = 0; i < SIM_HOSTS_MAX; i++) {
                SimHost *h = world.hosts[i];

                if (!h || h->due_us == NEVER)
                        continue;
                if (!ret || h->due_us < ret->due_us) {
                        ret = h;
                        n = 1;
                } else if (h->due_us == ret->due_us && draw_below(&world.draw, ++n) == 0)
                        ret = h;
        }
        return ret;
}

// The next thing that happens, if that is not later than `until_us`. False: nothing.
static bool step(uint64_t until_us) {
        SimHost *h = next_host();
        uint64_t turn_us = h ? h->due_us : NEVER,
                 event_us = world.n_events > 0 ? world.events[0].at_us : NEVER;

        if (MIN_OF(turn_us, event_us) > until_us || MIN_OF(turn_us, event_us) == NEVER)
                return false;
        world.now_us = MAX_OF(world.now_us, MIN_OF(turn_us, event_us));
        if (turn_us < event_us || (turn_us == event_us && draw_below(&world.draw, 2) == 0))
                run_turn(h);
        else
                run_event();
        return true;
}

bool sim_run_for(uint64_t us) {
        uint64_t until_us = world.now_us + us;

        while (step(until_us))
                ;
        if (world.n_events == 0 && !next_host())
                return false;
        world.now_us = until_us;
        return true;
}

bool sim_run_until(bool (*is_so)(void *data), void *data, uint64_t max_us) {
        uint64_t until_us = world.now_us + max_us;

        while (!is_so(data))
                if (!step(until_us)) {
                        world.now_us = until_us;
                        return false;
                }
        return true;
}

// ------------------------------------------------------------------------------------------------ clocks

EXPORTED int clock_gettime(clockid_t id, struct timespec *ret) {
        static const SimClocks none = {};
        const SimClocks *c = world.current ? &world.current->clocks : &none;
        uint64_t us;

        switch (id) {
        case CLOCK_PROCESS_CPUTIME_ID: // for measuring the world itself
                return (int) syscall(SYS_clock_gettime, id, ret);
        case CLOCK_REALTIME:
        case CLOCK_REALTIME_COARSE:
                us = c->wall_us;
                break;
        case CLOCK_BOOTTIME:
                us = c->boot_us;
                break;
        default: // a thread's CPU time, too: a turn takes none
                us = c->monotonic_us;
        }
        us += world.now_us;
        *ret = (struct timespec){.tv_sec = (time_t) (us / 1000000), .tv_nsec = (long) (us % 1000000 * 1000)};
        return 0;
}

EXPORTED time_t time(time_t *ret) {
        struct timespec ts;

        (void) clock_gettime(CLOCK_REALTIME, &ts);
        if (ret)
                *ret = ts.tv_sec;
        return ts.tv_sec;
}

uint64_t uv_hrtime(void) {
        struct timespec ts;

        (void) clock_gettime(CLOCK_MONOTONIC, &ts);
        return (uint64_t) ts.tv_sec * UINT64_C(1000000000) + (uint64_t) ts.tv_nsec;
}

uint64_t sim_cpu_ns(void) {
        struct timespec ts;

        (void) clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
        return (uint64_t) ts.tv_sec * UINT64_C(1000000000) + (uint64_t) ts.tv_nsec;
}

// ------------------------------------------------------------------------------------------------ chance

static Draw *chance(void) {
        return world.current ? &world.current->chance : &world.draw;
}

void random_bytes(void *data, size_t len) {
        for (size_t i = 0; i < len; i++)
                ((uint8_t *) data)[i] = (uint8_t) draw_word(chance());
}

uint32_t random_below(uint32_t n) {
        return draw_below(chance(), n);
}

// ------------------------------------------------------------------------------------------------ the pool

static void on_work_reported(void *data) {
        uv_work_t *work = data;

        work->after_work_cb(work, 0);
}

static uint64_t later_us(void) {
        return world.now_us + draw_log(&world.draw, SIM_WORK_MIN_US, SIM_WORK_MAX_US);
}

// By a thread: it sees the same clocks.
static void on_work(void *data) {
        uv_work_t *work = data;

        world.figures.work++;
        work->work_cb(work);
        sim_at(later_us() + world.stalled_us, world.current, on_work_reported, work);
        world.stalled_us = 0; // the loop went on meanwhile
}

int uv_queue_work(uv_loop_t *loop, uv_work_t *work, uv_work_cb run, uv_after_work_cb done) {
        SimHost *h = sim_host_of_loop(loop);

        work->loop = loop;
        work->work_cb = run;
        work->after_work_cb = done;
        sim_at(later_us(), h, on_work, work); // that of a loop of nobody's is the world's
        return 0;
}

// Whatever is under way comes to its end; nobody asks for less.
int uv_cancel(uv_req_t *req) {
        return UV_EBUSY;
}

// ------------------------------------------------------------------------------ the process and the machine

static _Noreturn void leave(int status) {
        SimHost *h = world.current;

        if (!h || !h->in_turn) {
                fprintf(stderr, "The process ends outside of all hosts, with status %i.\n", status);
                abort();
        }
        h->status = status;
        longjmp(h->out, 1);
}

void process_end(int status) {
        leave(status);
}

void process_abort(const char *why) {
        fprintf(stderr, "Host %u: %s\n", world.current ? world.current->number : 0, why);
        leave(SIM_ABORTED);
}

void sim_host_die(void) {
        leave(SIM_DIED);
}

bool sim_host_can_die(void) {
        return world.current && world.current->in_turn;
}

int machine_ids(const uint8_t application[MACHINE_ID_SIZE], MachineIds *ret) {
        SimHost *h = world.current;
        char name[16];
        // as units of stories name it
        Hash machine = hash_of(name, (size_t) snprintf(name, sizeof(name), "n%u", h->number));

        memset(ret, 0, sizeof(*ret));
        for (size_t i = 0; i < MACHINE_ID_SIZE; i++) {
                ret->machine[i] = machine.bytes[i];
                ret->boot[i] = (uint8_t) (h->number * 16 + 2 + i * h->boots);
                ret->host[i] = (uint8_t) h->number; // as the log of a story begins with it
        }
        return 0;
}

bool machine_name(char ret[MACHINE_NAME_SIZE]) {
        snprintf(ret, MACHINE_NAME_SIZE, "n%u", world.current->number);
        return true;
}

uint64_t machine_processors(void) {
        return 4;
}

uint64_t machine_memory_bytes(void) {
        return UINT64_C(8) << 30;
}
