// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What may break in a story of whole hosts. A new fault gets its row here and its branch in hosts-faults.c.

#include "swarm.h"

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
        F(disk_slow, "a disk is slow")                                              \
        F(rot, "a host goes down, and one bit of a file on its disk rots")         \
        F(manager_reload, "a host's systemd reads its files again")                 \
        F(manager_reexec, "a host's systemd executes itself again")                 \
        F(manager_deaf, "signals of a host's systemd are lost for a while")         \
        F(manager_slow, "a host's systemd is slow, and so are units that begin and end") \
        F(address, "a host gets another address")                                   \
        F(no_network, "a host has no address for a while")                          \
        F(user_leaves, "a host's user logs out, and what he runs ends; perhaps he lingers no more") \
        F(user_killed, "a user's service manager is killed, and begins again")      \
        F(user_stuck, "what argosyd's helpers want of a user hangs")

typedef enum HostsFault {
#define HOSTS_FAULT_NUMBER(name, what) HOSTS_FAULT_##name,
        HOSTS_FAULTS(HOSTS_FAULT_NUMBER)
#undef HOSTS_FAULT_NUMBER
        _HOSTS_FAULTS,
} HostsFault;

void hosts_faults_begin(void);
// Something breaks, drawn by the swarm's weights; and an event of the world ends it.
void hosts_faults_step(Draw *d);
// All is mended: nothing is cut or slow, and every host runs.
void hosts_faults_mend(void);
// Something has happened to that host just now.
void hosts_faults_touch(uint32_t number);
// When a fault was the host's last; 0: none was.
uint64_t hosts_faults_last_us(uint32_t number);
// Its disk is in trouble, or was a while ago: what that has done may show late.
bool hosts_faults_disk_was_in_trouble(uint32_t number);
uint64_t hosts_faults_count(void);
