// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Which hosts are voters: compares what the log's host records say with what the log's own configuration is,
// and names the one next step. Pure. Because every step is derived from those two, a new leader continues
// where the old one stopped.
//
// How many: one voter, three once three hosts may be voters (two survive less than one), and five, if five
// are wanted, once five may. A dead voter still counts until somebody removes or demotes it: replacing it by
// itself could take the last good copy out of the majority while it is only rebooting.
//
// The life of a voter, each arrow one step and one fact to compare:
//   spare (role SPARE, raft id 0)
//     -> OPEN       the host opens an empty log under a new raft id
//     -> ENROL      its record says VOTER and names that id
//     -> ADD        the log's configuration has it
//   and back:
//     -> DEMOTE     its record says SPARE, still with the id
//     -> DROP       the log's configuration has it no more
//     -> CLOSE      its record names no raft id; the host empties the log
//   or, if it is to vote after all before it was dropped:
//     -> KEEP       its record says VOTER again
//
// The log obeys a configuration from the moment that it is written, not when most have it: one in which no
// majority answers ends the leadership, and may be the only one that the next leader could have. So a step
// is taken only if most voters of the configuration after it answer (membership_is_safe()), and a way is
// only set out on if that holds for each of its steps (membership_judge()). A way of one voter to three or
// back passes two, both of which must answer; it sets out only if the third is there, and nothing waits in
// between but for one of the two to answer.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct MembershipHost {
        uint32_t host;
        uint32_t raft_id;    // by its record
        uint32_t running_id; // raft id that the host itself said it runs; 0: none, or it is not here
        uint32_t opened_id;  // raft id that it opened on our order and that no record has yet
        bool voter;          // by its record
        bool no_promote;     // it was demoted by request, or is being removed
        bool too_old;        // its build cannot read the log: it is not made a voter
        bool in_vain;        // it did not open a log when it was asked last: others are asked before it
        bool here;           // attached and within its lease
} MembershipHost;

typedef struct MembershipMember {
        uint32_t raft_id;
        bool voter;
        bool live; // answers, and its log has caught up
} MembershipMember;

typedef struct MembershipView {
        const MembershipHost *hosts; // by number
        size_t n_hosts;
        const MembershipMember *members; // the log's configuration
        size_t n_members;
        unsigned wanted; // 1, 3 or 5
        uint32_t self;   // the leader's host
} MembershipView;

typedef enum MembershipAction {
        MEMBERSHIP_NOTHING,
        MEMBERSHIP_OPEN,
        MEMBERSHIP_ENROL,
        MEMBERSHIP_ADD,
        MEMBERSHIP_DEMOTE,
        MEMBERSHIP_KEEP,
        MEMBERSHIP_DROP,
        MEMBERSHIP_TRANSFER, // another voter must lead before this host can go on; raft_id 0: any
        MEMBERSHIP_CLOSE,
} MembershipAction;

typedef struct MembershipStep {
        MembershipAction action;
        uint32_t host; // 0 for a DROP of a member that no record knows
        uint32_t raft_id;
} MembershipStep;

// How many voters this cluster should have now.
unsigned membership_goal(const MembershipView *v);
// Fewer are, and are to stay, than there should be.
bool membership_is_short(const MembershipView *v);
// The next step. Which one it is may follow from who answers; that there is one does not, nor, unless voters
// are short, from spares that come and go: voters.c relies on that.
MembershipStep membership_plan(const MembershipView *v);

// Whether the log can go on after this step, or after the DROP that a DEMOTE or a TRANSFER leads to.
bool membership_is_safe(const MembershipView *v, const MembershipStep *s);

enum { MEMBERSHIP_FIRST_MAX = 8 };
typedef struct MembershipVerdict {
        bool safe; // each step of the way is
        // If not: voters that do not answer and that can be taken out one after the other before this way is
        // safe. None: no order works, it has to wait for one of them.
        uint32_t first[MEMBERSHIP_FIRST_MAX]; // hosts
        size_t n_first;
} MembershipVerdict;

// Whether the host can stop being a voter, by walking the whole way there as it would be planned. 0 or
// -ENOMEM.
int membership_judge(const MembershipView *v, uint32_t host, MembershipVerdict *ret);
// The same if so many voters were wanted.
int membership_judge_wanted(const MembershipView *v, unsigned wanted, MembershipVerdict *ret);
