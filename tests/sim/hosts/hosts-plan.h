// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What a story of whole hosts may contain, and how often: of each story some faults and verbs are left out first, then a rate is drawn for
// each one that is left (lib/swarm.h says why).

#include "choices.h"

// A new one gets its row here and its function in hosts-faults.c.
#define HOSTS_FAULTS(F)                                                             \
        F(kill, "argosyd is killed, and started again")                             \
        F(restart, "argosyd ends in good order, and is started again")              \
        F(power, "a host loses its power, and gets it back")                        \
        F(cut, "two hosts do not reach each other")                                 \
        F(one_way, "one host does not reach another one, which reaches it")         \
        F(alone, "a host reaches nobody")                                           \
        F(clog, "what a host says to another one comes later")                      \
        F(reset, "the connections between two hosts break")                         \
        F(lose, "a connection is lost behind what was read")                        \
        F(slow, "the way from a host to another one is slow")                       \
        F(wall, "a wall clock jumps")                                               \
        F(crash, "argosyd is killed at a change of a file, or in the middle of it") \
        F(outage, "a host loses its power at a change of a file")                   \
        F(disk_error, "a disk fails, once or for a while")                          \
        F(disk_full, "there is no room on the disk, or in memory")                  \
        F(disk_slow, "a disk is slow")

#define HOSTS_VERBS(F) F(START) F(STOP) F(RESTART) F(LOAD) F(UNLOAD) F(DESTROY)

typedef enum HostsFault {
#define HOSTS_FAULT_NUMBER(name, what) HOSTS_FAULT_##name,
        HOSTS_FAULTS(HOSTS_FAULT_NUMBER)
#undef HOSTS_FAULT_NUMBER
        _HOSTS_FAULTS,
} HostsFault;

typedef enum HostsVerb {
#define HOSTS_VERB_NUMBER(name) HOSTS_VERB_##name,
        HOSTS_VERBS(HOSTS_VERB_NUMBER)
#undef HOSTS_VERB_NUMBER
        _HOSTS_VERBS,
} HostsVerb;

extern const char *const hosts_fault_names[_HOSTS_FAULTS], *const hosts_verb_names[_HOSTS_VERBS];

typedef struct HostsPlan {
        unsigned hosts, units;
        uint64_t length_us;                  // until all is mended
        uint64_t fault_us[_HOSTS_FAULTS];    // between two of a kind, on average; 0: none
        uint64_t ask_us;                     // between two requests, on average
        unsigned verbs[_HOSTS_VERBS];        // weights
        unsigned again_percent;              // of what was not answered is asked again
} HostsPlan;

HostsPlan hosts_plan_draw(uint64_t word);
// One line.
void hosts_plan_print(const HostsPlan *p);
// What breaks, from now on, until `until_us`: events of the world.
void hosts_faults_begin(const HostsPlan *p, uint64_t until_us);
// All is mended: nothing is cut or slow, and every host runs.
void hosts_faults_mend(void);
// Something has happened to that host just now.
void hosts_faults_touch(uint32_t number);
// When a fault was the host's last; 0: none was.
uint64_t hosts_faults_last_us(uint32_t number);
// Its disk is in trouble, or was a while ago: what that has done may show late.
bool hosts_faults_disk_was_in_trouble(uint32_t number);
uint64_t hosts_faults_count(HostsFault fault);
