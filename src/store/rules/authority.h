// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Until when a leader may say anything that lasts: that a lease is renewed, that a unit is to start. Pure;
// the time is an argument.
//
// A leader that was frozen, or whose answers are late, may be led by another long since and not know it. So
// it does not ask whether it leads, but until when nobody else can have been elected. What it needs for that
// is a majority of voters of whom each has heard of it, in this term, lately:
//
//   leader, term T          voter V
//     mark = its clock  ->    takes an AppendEntries of T, or a part of one from the leader that it
//                             follows, while it holds this mark: its election timer starts anew, and before
//                             `promise` has passed on it V neither calls an
//                             election nor votes for anybody
//     witness until     <-    {T, mark, promise}
//     mark + 9/10 promise
//
// The mark is the leader's own boot-time clock, which V hands back as it came. So an answer counts from when
// its question was sent, however long either lay in a buffer, and no two clocks are compared. Neither
// question nor answer waits for a disk: libraft answers a heartbeat at once, also while entries wait to be
// written.
//
// Proof. Let N be the first leader of a term T' > T that is elected after L (term T) got its evidence. The
// majorities of N and L share a voter V.
//   V is L itself: it votes in the loop that asks for authority, and leads no more when it has.
//   V is another, and had no leader when it voted: it heard L at some time p, not before the mark, and
//   answered
//     in T, so it voted later than p. It lost L as its leader by the end of its election timer, `promise`
//     after p, or by starting anew, but then it votes for nobody in its first election timeout
//     (raft-authority.c). Either is after mark + promise.
//   V had a leader, and N was allowed to disturb it: only who was told to take over is allowed that, only by
//     the leader of the term before, and only in the term after (raft-authority.c). That leader is L, since
//     N is the first; and L gave its authority away when it told N.
// It rests on: libraft's voters refuse everybody while they have a leader (0.22, recv_request_vote.c), their
// timer starts when a message is taken and not before (raft-authority.c), memberships change by one voter at
// a time, and no clock runs more than a tenth faster than another. Suspending a voter stops its timer, which
// is on the safe side; suspending the leader does not stop its clock.
//
// A leader that told a voter to take over and still leads may be believed again when that voter's log has
// grown beyond the index in the message: then the voter does not obey any more, however late the message
// arrives.
//
// A lease that is acknowledged by this rule ends, at the agent, before its guard does at the successor: it
// runs from when the beat was sent, which is before the acknowledgement, which is before the successor was
// elected, which is when the successor begins to count.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store.h"

// a tenth of what a voter promises is not counted: clocks run at different rates
enum { AUTHORITY_MARGIN = 10 };

#define AUTHORITY_ALWAYS UINT64_MAX // for a leader that needs no vote but its own

typedef struct Witness {
        uint32_t raft_id; // 0: free
        uint64_t term;    // the newest that it answered for
        uint64_t until_us;
        // Was told, in this term, to take over with a log that ends there.
        uint64_t timeout_now_term, timeout_now_index;
} Witness;

typedef struct Authority {
        Witness witnesses[STORE_MEMBERS_MAX];
} Authority;

typedef struct AuthorityVoter {
        uint32_t raft_id;
        uint64_t match_index;
} AuthorityVoter;

typedef struct AuthorityView { // the leader and the voters
        uint32_t self;
        uint64_t term;
        const AuthorityVoter *voters; // of the newest configuration, ourselves included if we vote
        size_t n_voters;
} AuthorityView;

// A voter answered, in this term, a message that was sent then.
void authority_on_answer(Authority *a, uint32_t raft_id, uint64_t term, uint64_t sent_us,
                         uint64_t promise_us);
// A voter is being told to take over from the leader of this term.
void authority_on_timeout_now(Authority *a, uint32_t raft_id, uint64_t term, uint64_t index);

// Whether a voter may still take over in the next term because it was told to.
bool authority_is_given_away(const Authority *a, const AuthorityView *view);
// Boot-time clock; 0: there is none.
uint64_t authority_until(const Authority *a, const AuthorityView *view);
// The voter that a leader asks next to take over after a failed handover: one that has answered lately and
// was not asked yet, with the longest log. 0: none.
uint32_t authority_other_heir(const Authority *a, const AuthorityView *view, uint64_t now_us);
