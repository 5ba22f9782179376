// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Several hosts in one process and one thread, in virtual time. Each host has a loop of its own. The world
// runs a loop until it would wait, and moves the clock on to what comes next: a timer of some loop, or an
// event of the world's own queue (the network, the pool).
//
//      sim_begin -> sim_host_new -> sim_host_start -> ... sim_run_for ... -> sim_host_kill -> sim_host_start
//      -> ... -> sim_end
//
// Everything that is left to chance comes from the word that sim_begin() was given, so the same calls give
// the same story. What belongs to the process is defined in the program itself, so that libuv's own calls
// come here too:
//
//      clock_gettime, uv_hrtime, time      of the host whose loop runs; outside all loops, of the world
//      random_bytes, random_below          a stream of each host's own (random.h)
//      uv_queue_work, uv_cancel            work is done at a drawn time, and its end is told at another one
//      process_end, process_abort          only that host ends (process-end.h)
//      machine_*                           facts of that host (machine.h)
//
// The clock stands still during a turn of a loop. A turn takes a drawn time all the same, before which that
// loop is not run again: so nothing that goes round in a loop until something comes keeps the world from
// going on.
//
// A host that is killed is left as it is: its loop is not run any more, and its memory is not given back.

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "choices.h"

enum {
        SIM_HOSTS_MAX = 32,
        SIM_TURN_MIN_US = 2, // that a turn of a loop takes
        SIM_TURN_MAX_US = 60,
        SIM_WORK_MIN_US = 5, // that the pool takes, and again until it is told
        SIM_WORK_MAX_US = 20000,
        SIM_ABORTED = -1,
        SIM_DIED = -2,
};

// Where walls' clocks stand, about, when a story begins.
#define SIM_WALL_US UINT64_C(1790000000000000)

typedef struct SimHost SimHost; // a machine, and whatever loop of it runs now

// What its clocks show when the world begins, in microseconds.
typedef struct SimClocks {
        uint64_t boot_us, monotonic_us, wall_us;
} SimClocks;

void sim_begin(uint64_t word);
// Gives the hosts back. Whatever runs in them is killed.
void sim_end(void);
uint64_t sim_now_us(void); // since it began
const uint64_t *sim_clock(void); // where that is kept

// `number`: 1 to SIM_HOSTS_MAX - 1, each once.
SimHost *sim_host_new(uint32_t number, const SimClocks *clocks);
SimHost *sim_host(uint32_t number); // NULL: there is none
uint32_t sim_host_number(const SimHost *h);
// It has a new, empty loop. It must have none.
uv_loop_t *sim_host_start(SimHost *h);
uv_loop_t *sim_host_loop(const SimHost *h); // NULL: it is down
bool sim_host_is_up(const SimHost *h);
uint64_t sim_host_life(const SimHost *h); // a number of its own from each start to its end
uint64_t sim_host_turns(const SimHost *h); // of its loops, ever
// It is never run again, and nothing that was to come to it does. Not from inside of it: process_end() is
// for that.
void sim_host_kill(SimHost *h);
// The machine begins anew: it has another boot id, and the clocks that count from its boot begin with 0.
void sim_host_boot(SimHost *h);
// From inside of it: it is killed here and now, and whoever sim_on_end() has named hears SIM_DIED.
_Noreturn void sim_host_die(void);
bool sim_host_can_die(void); // some host's turn it is, or work of its pool, or what sim_host_do() runs
// As in a turn of its own, now. False: it has ended meanwhile.
bool sim_host_do(SimHost *h, void (*run)(void *data), void *data);
// Hosts have sockets between parts of themselves: after each turn the kernel is asked whether there is news.
// Until sim_end().
void sim_watch_kernel(void);
// What is being done takes so much longer: the turn of a loop, or work of the pool.
void sim_stall(uint64_t us);
// Who is told when a host has ended itself, and with which exit status; SIM_ABORTED: process_abort(). NULL:
// nobody.
void sim_on_end(void (*ended)(SimHost *h, int status));
uint64_t sim_host_boot_us(const SimHost *h); // since the machine began, on its own clock
// Its wall clock jumps.
void sim_host_set_wall(SimHost *h, uint64_t wall_us);
void sim_host_jump_wall(SimHost *h, int64_t by_us);
// The host whose loop is being run, or whom an event is for. NULL: the world itself.
SimHost *sim_current(void);
SimHost *sim_host_of_loop(const uv_loop_t *loop);
// From outside something has come to it: its loop is run as soon as it has time.
void sim_wake(SimHost *h);
// As if from its loop: its clocks are what counts until sim_leave().
void sim_enter(SimHost *h);
void sim_leave(void);

// At that time; never before what was asked for at an earlier time, and among others of the same time in a
// drawn order. `h` NULL: whoever is up then; else it is for that host, from its loop, and is lost if that
// one has been killed meanwhile.
void sim_at(uint64_t at_us, SimHost *h, void (*run)(void *data), void *data);
// For what the world itself leaves to chance.
Draw *sim_draw(void);

// Lets time pass. False: nothing at all is to come any more, and the clock stands at the last thing that
// came.
bool sim_run_for(uint64_t us);
// Until that is so, or so much time has passed. Says whether it is.
bool sim_run_until(bool (*is_so)(void *data), void *data, uint64_t max_us);

typedef struct SimFigures {
        uint64_t turns, events, work;
} SimFigures;
SimFigures sim_figures(void);
// CPU time of this process in nanoseconds.
uint64_t sim_cpu_ns(void);
