// SPDX-License-Identifier: LGPL-2.1-or-later

// What authority.h needs of libraft, and what it rests on:
//
//   leader    each frame to a voter carries our clock (transport.c); what the voter hands back of it becomes
//             its witness
//   follower  its election timer starts when a message is taken, not when this turn of the loop began, which
//             may be long ago: libraft's clock is the loop's, so that is set anew before each message.
//             A voter that has just started does not know whom it has promised what, so it votes for nobody
//             before its first election timeout is over
//             Guard 22: a part of a long message of the leader that it follows counts as one: over a slow
//             link an entry of the log may take longer than
//             an election. It says so to the leader at once, by marks alone, since libraft answers the whole
//             only; and the leader takes that
//             for libraft's last answer said again (raft_disk_say_again()), or it would give up the lead for
//             want of answers
//   handover  who is told to take over may disturb the leader, as libraft calls it, in the next term only:
//             libraft would let it go on in later ones. The leader's authority ends with telling. If nothing
//             comes of it, one more entry makes the message void (its log must end where it says); a voter
//             that does not take that entry either, since it hangs, is not waited for: another is told
//
// Tests: store/authority (the rules), store/cluster, integration/old-leader.

#include <errno.h>
#include <string.h>

#include "clock.h"
#include "log.h"
#include "raft-store.h"

// ---- the leader: witnesses

static size_t find_voters(const RaftStore *s, AuthorityVoter ret[static STORE_MEMBERS_MAX]) {
        const struct raft_configuration *c = &s->raft.configuration;
        size_t n = 0;

        for (unsigned i = 0; i < c->n && n < STORE_MEMBERS_MAX; i++) {
                raft_index match = 0;

                if (c->servers[i].role != RAFT_VOTER)
                        continue;
                if (raft_match_index((struct raft *) &s->raft, c->servers[i].id, &match) != 0)
                        match = 0;
                ret[n++] = (AuthorityVoter){(uint32_t) c->servers[i].id, match};
        }
        return n;
}

// False: we do not lead.
static bool authority_view(const RaftStore *s, AuthorityVoter voters[static STORE_MEMBERS_MAX],
                           AuthorityView *ret) {
        struct raft *raft = (struct raft *) &s->raft; // its getters take it without const

        if (s->closing || raft_state(raft) != RAFT_LEADER)
                return false;
        *ret = (AuthorityView){
                .self = s->raft_id,
                .term = raft_current_term(raft),
                .voters = voters,
                .n_voters = find_voters(s, voters),
        };
        return true;
}

uint64_t raft_store_authority_until(Store *store) {
        RaftStore *s = raft_store(store);
        AuthorityVoter voters[STORE_MEMBERS_MAX];
        AuthorityView view;
        uint64_t until = authority_view(s, voters, &view) ? authority_until(&s->authority, &view) : 0;

        // A later caller may be another one and get an answer: raft_authority_refresh() tells the first.
        if (until <= clock_boot_us())
                s->asked_in_vain = true;
        return until;
}

static void on_answer(uint32_t raft_id, uint64_t term, uint64_t sent_us, uint32_t promise_ms,
                      void *userdata) {
        RaftStore *s = userdata;

        if (sent_us <= clock_boot_us()) // else it is not a mark of ours
                authority_on_answer(&s->authority, raft_id, term, sent_us,
                                    MIN_OF(promise_ms, s->election_ms) * USEC_PER_MSEC);
}

// ---- long messages

static void on_part(uint32_t raft_id, void *userdata) {
        RaftStore *s = userdata;
        uint64_t term = raft_current_term(&s->raft);

        if (s->closing || s->raft_closing || !raft_authority_obeys(s, raft_id, term))
                return;
        uv_update_time(s->loop);
        s->raft.election_timer_start = uv_now(s->loop);
        transport_note_obeyed(&s->transport, raft_id, term);
        transport_say_marks(&s->transport, raft_id);
}

static void on_takes(uint32_t raft_id, uint64_t term, void *userdata) {
        RaftStore *s = userdata;

        if (!s->closing && !s->raft_closing && raft_state(&s->raft) == RAFT_LEADER &&
            term == raft_current_term(&s->raft))
                raft_disk_say_again(s, raft_id);
}

// Guard 22 is over with the lead: who has stepped down would else bind those to whom a long message is on
// its way.
static bool leads(void *userdata) {
        RaftStore *s = userdata;

        return raft_state(&s->raft) == RAFT_LEADER;
}

// ---- messages

bool raft_authority_before(RaftStore *s, const struct raft_message *message) {
        switch (message->type) {
        case RAFT_APPEND_ENTRIES:
                uv_update_time(s->loop);
                return true;
        case RAFT_REQUEST_VOTE:
                return message->request_vote.disrupt_leader ||
                       uv_now(s->loop) >= s->opened_ms + s->election_ms;
        case RAFT_TIMEOUT_NOW:
                s->timeout_now_term = message->timeout_now.term;
                return true;
        default:
                return true;
        }
}

bool raft_authority_obeys(RaftStore *s, uint32_t sender, uint64_t term) {
        const char *address;
        raft_id leader;

        raft_leader(&s->raft, &leader, &address);
        return raft_state(&s->raft) == RAFT_FOLLOWER && leader == sender &&
               raft_current_term(&s->raft) == term;
}

void raft_authority_after(RaftStore *s, int type, uint32_t raft_id, uint64_t term) {
        if (type == RAFT_APPEND_ENTRIES && raft_authority_obeys(s, raft_id, term))
                transport_note_obeyed(&s->transport, raft_id, term);
}

const struct raft_message *raft_authority_send(RaftStore *s, const struct raft_message *message,
                                               struct raft_message *ret_changed) {
        if (message->type == RAFT_TIMEOUT_NOW)
                authority_on_timeout_now(&s->authority, (uint32_t) message->server_id,
                                         message->timeout_now.term, message->timeout_now.last_log_index);
        if (message->type != RAFT_REQUEST_VOTE || !message->request_vote.disrupt_leader ||
            message->request_vote.term == s->timeout_now_term + 1)
                return message;
        *ret_changed = *message;
        ret_changed->request_vote.disrupt_leader = false;
        return ret_changed;
}

// ---- after a handover that came to nothing

static void on_barrier(StoreOutcome outcome, uint64_t index, void *userdata) {
}

static void on_handed_over(int error, void *userdata) {
        if (error < 0 && error != -ECANCELED)
                log_warning("Could not hand leadership to another voter: %s", strerror(-error));
}

static void regain(RaftStore *s, const AuthorityView *view, uint64_t now_ms) {
        uint32_t heir;

        if (raft_transferee(&s->raft) != 0 || s->change) // it is on its way
                return;
        if (s->regain_ms == 0) {
                s->regain_ms = now_ms;
                (void) raft_store_barrier(&s->store, on_barrier, NULL);
                return;
        }
        if (now_ms < s->regain_ms + 2 * s->election_ms)
                return;
        s->regain_ms = now_ms;
        heir = authority_other_heir(&s->authority, view, clock_boot_us());
        if (heir > 0 && raft_store_transfer(&s->store, heir, on_handed_over, s) == 0)
                log_notice("The voter that was to lead does not answer: handing leadership to another "
                           "(raft id %u).",
                           heir);
}

void raft_authority_refresh(RaftStore *s, uint64_t now_ms) {
        AuthorityVoter voters[STORE_MEMBERS_MAX];
        AuthorityView view;

        if (!authority_view(s, voters, &view))
                return;
        if (authority_is_given_away(&s->authority, &view)) {
                regain(s, &view, now_ms);
                return;
        }
        s->regain_ms = 0;
        if (!s->asked_in_vain || authority_until(&s->authority, &view) <= clock_boot_us())
                return;
        s->asked_in_vain = false;
        if (s->store.ops->authority)
                s->store.ops->authority(s->store.userdata);
}

void raft_authority_init(RaftStore *s) {
        uv_update_time(s->loop);
        s->opened_ms = uv_now(s->loop);
        transport_set_marks(&s->transport, s->election_ms, on_answer, on_part, on_takes, leads, s);
}
