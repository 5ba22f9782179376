// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A rig of HOSTS hosts (which the test says before it includes this) whose disks are the test's: a voter
// keeps the secrets that it is told, and says so in the turn after that.

#include "leader-asks.h"
#include "leader-private.h"
#include "messages.h"
#include "voter-secrets-controller.h"

static Rig g;
static VoterSecrets disks[HOSTS + 1]; // by host
static bool keeps[HOSTS + 1];         // what it is told; else its disk hangs
static bool due[HOSTS + 1];           // it has something to say

static inline void put_on_disk(uint32_t host, Argosy__VoterSecret *const *secrets, size_t n) {
        bool changed;

        assert_int_equal(voter_secrets_put_all(&disks[host], secrets, n, &changed), 0);
}

// Rig.on_host_message.
static inline void disk_on_message(Rig *rig, uint32_t host, const Argosy__ToHost *m) {
        if (m->msg_case == ARGOSY__TO_HOST__MSG_STORE_OPEN)
                put_on_disk(host, m->store_open->secrets, m->store_open->n_secrets);
        if (m->msg_case == ARGOSY__TO_HOST__MSG_VOTER_SECRETS && keeps[host]) {
                put_on_disk(host, m->voter_secrets->secrets, m->voter_secrets->n_secrets);
                due[host] = true;
        }
        if (m->msg_case == ARGOSY__TO_HOST__MSG_WELCOME)
                due[host] = true;
}

// What is on its disk; `compacted`: the last key for which it has a snapshot.
static inline void say_kept_and_compacted(uint32_t host, uint32_t compacted) {
        Argosy__ToVoter__VoterSecretsKept__Kept rows[VOTER_SECRETS_MAX], *pointers[VOTER_SECRETS_MAX];
        VoterSecrets *disk = &disks[host];
        Argosy__ToVoter__VoterSecretsKept m = MESSAGE_OF(
                to_voter__voter_secrets_kept, .secrets = pointers, .n_secrets = disk->n,
                .raft_id = cluster_state_find_host(g.state, host)->raft_id, .compacted = compacted);

        for (size_t i = 0; i < disk->n; i++) {
                rows[i] = (Argosy__ToVoter__VoterSecretsKept__Kept) MESSAGE_OF(
                        to_voter__voter_secrets_kept__kept, .name = disk->list[i].name,
                        .number = disk->list[i].number,
                        .fingerprint = {HASH_SIZE, disk->list[i].fingerprint.bytes});
                pointers[i] = &rows[i];
        }
        leader_on_message(g.leader, host, A_TO_VOTER(VOTER_SECRETS_KEPT, voter_secrets_kept, &m));
}

static inline void say_kept(uint32_t host) {
        say_kept_and_compacted(host, 0);
}

// What the log has no more is on no disk of those that are up.
static inline void disks_drop_old(void) {
        const Argosy__ClusterRecord *cluster = cluster_state_cluster(g.state);

        for (uint32_t host = 1; host <= HOSTS; host++)
                if (rig_host(&g, host)->up && g.leader->leading)
                        (void) voter_secrets_drop_old(&disks[host], cluster->voter_secrets,
                                                      cluster->n_voter_secrets);
}

static inline void attach_anew(uint32_t host) {
        leader_on_host_link(g.leader, host, NULL);
        rig_host(&g, host)->linked = rig_host(&g, host)->was_linked = rig_host(&g, host)->attached = false;
}

static inline void pass(void) {
        for (unsigned i = 0; i < 30; i++) {
                rig_settle(&g);
                rig_turns(&g, 2);
        }
}
