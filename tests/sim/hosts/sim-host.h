// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Whole hosts in a world: the daemon below run.c as it is, on a loop of its own, with a PID 1 in memory, and
// a state directory and configuration of its own in a directory of the world. Some are members of one
// cluster from the beginning, the first of them its voters; who leads they find out. Others are fresh, and
// each makes a cluster of itself. Whoever joins or leaves executes argosyd again, as argosyd would: it
// begins anew when it has ended in order.
//
//      real        mesh, agent, leader, model, router, local socket, unit files, fence, ledger, peers and
//                  identity files
//      played      loop, clocks, pool, chance, network, disks (sim-disk.h), the log (sim-store.h), systemd
//                  (fake-pid1.h), this machine's facts
//                  guards of units with CutOff=stop: processes of PID 1's, which look at the lease's file
//                  when it should be over
//      left out    HTTP, helpers (systemd-analyze says of every file that it is well), the kernel's news of
//                  addresses and directories

#include <stdbool.h>

#include "argosy.pb-c.h"
#include "hash.h"
#include "sim-net.h"
#include "sim-world.h"

typedef struct Daemon Daemon;
typedef struct FakePid1 FakePid1;

enum {
        SIM_CLUSTER_MAX = 7,
        SIM_PORT = 7867,
        SIM_RESTART_US = 200000,
        SIM_EXECUTE_US = 2000,
        SIM_LEASE_MS = 5000
};

// How a machine and its argosy.conf differ from others. All false: it has Address=, and nothing but that.
typedef struct SimSettings {
        bool finds_address; // there is no Address=
        bool has_bridge;    // one of its addresses is SIM_BRIDGE_ADDRESS
        bool hears_nothing; // its kernel says nothing of addresses that come and go
        bool has_user;      // with a service manager of his own (sim-users.h)
        const char *more;   // lines of its argosy.conf. NULL: none. Borrowed
} SimSettings;

typedef struct SimUserManager {
        FakePid1 *pid1; // NULL: there is none
        bool runs;      // his manager
        bool lingers;   // it begins with the machine
        bool stuck;     // what argosyd's helpers want there hangs
        uint64_t run;   // how often it has begun
} SimUserManager;

typedef struct SimMachine {
        uint32_t number; // of the host in the cluster, in the world, and of its log
        SimHost *host;
        FakePid1 *pid1;
        Daemon *daemon;  // NULL: none runs
        bool powered;
        char *dir, *socket;
        unsigned n_starts, n_ends, n_refusals; // refusals: it did not come up, and said why
        bool dies_with_power;                  // at what sim_machine_die_at() says
        uint64_t back_us;                      // how long it is away then
        uint64_t start_us;                     // when it is to be started; 0: not by itself
        bool held;                             // somebody keeps it down: sim_machine_start() does nothing
        SimSettings settings;
        SimUserManager user;
        // when its guards of units with CutOff=stop look at the lease; 0: there are none
        uint64_t guard_us;
        Hash pin;                              // of the key that it had last; zero: it has none yet
        bool in_cluster;                       // by that, it is a member of the story's cluster
} SimMachine;

// In a new directory. `word`: of everything that is drawn. The first `n_voters` of `n` vote; behind these
// there are `n_fresh` machines which are nobody's members yet. `settings`: of each of them. NULL: the usual
// ones.
void sim_cluster_begin(uint64_t word, size_t n, size_t n_voters, size_t n_fresh,
                       const SimSettings *settings);
void sim_cluster_end(void);
// In the middle of it, by who is about to end the process: what lies in its directory is removed.
void sim_cluster_remove(void);
size_t sim_cluster_size(void); // machines
const char *sim_machine_address(const SimMachine *m); // that it has, or had last
// From now on; empty: none. `route_us`: until it has a route. Address=, if it is configured, stays as it
// was.
void sim_machine_set_address(SimMachine *m, const char *address, uint64_t route_us);
// Somebody writes its argosy.conf anew, by the address that it has, and has argosyd read it if it runs.
void sim_machine_configure(SimMachine *m);
void sim_machine_write_config(SimMachine *m); // only that: it is read when argosyd starts again
// Whether its argosyd, which runs, lets whoever has that key speak to its log.
bool sim_machine_knows_voter(const SimMachine *m, const Hash *pin);
SimMachine *sim_machine(uint32_t number); // from 1 on
// Where units run: a machine's own systemd, by the machine's number, or its user's (SIM_USER_PLACE more).
#define SIM_USER_PLACE 16u
#define sim_foreach_place(place) \
        for (uint32_t place = sim_next_place(0); place > 0; place = sim_next_place(place))
uint32_t sim_next_place(uint32_t place); // 0: the first one, or there is none behind it
static inline uint32_t sim_place_number(uint32_t place) {
        return place & (SIM_USER_PLACE - 1);
}
SimMachine *sim_place_machine(uint32_t place);
FakePid1 *sim_place_pid1(uint32_t place); // NULL: the machine has no power
// "n1", or "n1/user@1000". Valid until it was called eight times more.
const char *sim_place_name(uint32_t place);
// What does something to a systemd: as in a turn of its argosyd, if one runs.
void sim_machine_do(const SimMachine *m, void (*run)(void *data), void *data);
// argosyd is started, as by its service.
void sim_machine_start(SimMachine *m);
// argosyd is killed: its connections are closed by the kernel, and units run on.
void sim_machine_kill(SimMachine *m);
// argosyd is told to end, as by SIGTERM, and is down when it has; sim_machine_start() may follow then.
void sim_machine_stop(SimMachine *m);
// The power is gone, and with it what ran, what was in /run, and what the disk had not synced (sim-disk.h).
// sim_machine_start() switches it on again.
void sim_machine_power_off(SimMachine *m);
// What its disk had of argosyd is gone, as with a new disk. It must be down.
void sim_machine_empty(SimMachine *m);
// `cluster recover`, on a machine that is down. 1: it died in the middle of it, by sim_machine_die_at().
// Else 0 or negative errno, and what it said (malloc'd).
int sim_machine_recover(SimMachine *m, char **ret_said);
// At the n-th change of its disk from now on argosyd is killed, or the power fails; after `back_us` it is
// started again.
void sim_machine_die_at(SimMachine *m, unsigned n, bool power, uint64_t back_us);
// Who is told when a unit of a machine changes; it changes nothing itself.
void sim_cluster_on_unit(void (*changed)(SimMachine *m, const char *name, Argosy__ActiveState was,
                                         Argosy__ActiveState is));
// Who is told of what has ended. It is started again, after SIM_RESTART_US if nothing else was said. NULL:
// nobody.
typedef struct SimEndings {
        void (*ended)(SimMachine *m, int status);         // argosyd ended itself
        void (*died)(SimMachine *m);                      // by sim_machine_die_at(); what was synced is all
                                                          // that is left, if that was its power
        void (*refused)(SimMachine *m, const char *why);  // it does not start; `why` is NULL if it did not
                                                          // say
        void (*executes)(SimMachine *m);                  // itself again: it has become another host. May be
                                                          // NULL
} SimEndings;
void sim_cluster_on_end(const SimEndings *endings);
