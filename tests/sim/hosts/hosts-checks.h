// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What must be so in a story of whole hosts. A check that fails says why, and the story ends there (hosts-sim.c).
//
//      log-is-one             no two voters have another entry at one index, no term has two leaders, what is committed stays
//      voters-are-equal       the states of all voters at one index are equal, byte by byte
//      acknowledged-is-kept   what was answered with 0 is in the state: the unit's record is that revision, or a newer one
//      answered-as-it-is      what was answered with 0 as of a revision: at that revision the log wants of the unit what was asked for
//      once                   no two jobs in the log are of one request
//      one-place              nothing runs on two hosts that have been in order for a while; and in the end what is to run does, at one place
//      nobody-ends            argosyd does not end by itself, unless its disk is in trouble
//      comes-up               argosyd comes up; with a disk in trouble it may say instead why not
//      fence-is-kept          what a host was to obey last before it went down it still knows when it is up again
//      units-are-whole        a unit file in a unit directory has the whole content of one that the log has, at any moment
//      all-is-answered        in the end, who asked has an answer, or lost the connection
//      all-find-the-leader    in the end, every host is attached to one and the same leader, and its log has all that is committed

#include <stddef.h>
#include <stdint.h>

#define HOSTS_CHECKS(C)           \
        C(log_is_one)             \
        C(voters_are_equal)       \
        C(acknowledged_is_kept)   \
        C(answered_as_it_is)      \
        C(once)                   \
        C(one_place)              \
        C(nobody_ends)            \
        C(comes_up)               \
        C(fence_is_kept)          \
        C(units_are_whole)        \
        C(all_is_answered)        \
        C(all_find_the_leader)

typedef enum HostsCheck {
#define HOSTS_CHECK_NUMBER(name) HOSTS_CHECK_##name,
        HOSTS_CHECKS(HOSTS_CHECK_NUMBER)
#undef HOSTS_CHECK_NUMBER
        _HOSTS_CHECKS,
} HostsCheck;

extern const char *const hosts_check_names[_HOSTS_CHECKS];

void hosts_checks_begin(unsigned n_units);
void hosts_checks_end(void);
// In the middle of a story, each second of it.
void hosts_checks_look(void);
// All has been mended: lets time pass until what must come true has, or ends the story.
void hosts_checks_calm(void);
// hosts-checks-disk.c: what argosyd leaves on its disk, and what becomes of it.
void hosts_checks_disk_begin(void);
void hosts_checks_disk_end(void);
void hosts_checks_disk_look(void);
void hosts_checks_count(HostsCheck check); // it has something to say
// How often the check has had something to say.
uint64_t hosts_checks_said(HostsCheck check);
// How it is that the story is red; returns to nobody.
_Noreturn void hosts_check_fail(HostsCheck check, const char *format, ...) __attribute__((format(printf, 2, 3)));
void hosts_checks_unit_name(unsigned unit, char ret[static 64]);
