// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A leader that has a CA, and who asks for other members.

#include "ca.h"
#include "leader-asks.h"
#include "leader-private.h"
#include "messages.h"
#include "voter-secrets.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"

static Rig g;
static Ca ca;
static VoterSecrets secrets; // of the leader

static inline int begin_with_ca(void) {
        rig_start(&g, 3);
        if (ca_create(&ca) < 0)
                return -1;
        rig_give_ca(&g, &ca, &secrets);
        return 0;
}

static inline void end_with_ca(void) {
        rig_stop(&g);
        ca_done(&ca);
        voter_secrets_done(&secrets);
}

static inline RigAnswer *cluster_remove(const char *host) {
        Argosy__Request__ClusterRemove m = MESSAGE_OF(request__cluster_remove, .host = (char *) host);
        uint64_t id[2] = {++g.id, 88};
        Argosy__Request__Job job = JOB_OF(
                .id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)});
        RigAnswer *a = rig_ask(&g, A_REQUEST(CLUSTER_REMOVE, cluster_remove, &m, .job = &job));

        if (g.slow)
                rig_turns(&g, 10);
        else
                rig_settle(&g);
        return a;
}

static inline RigAnswer *cluster_voters(uint32_t wanted) {
        Argosy__Request__ClusterVoters m = MESSAGE_OF(request__cluster_voters, .wanted = wanted);
        Argosy__Request request =
                MESSAGE_OF(request, .what_case = ARGOSY__REQUEST__WHAT_CLUSTER_VOTERS, .cluster_voters = &m);
        RigAnswer *a = rig_ask_and_settle(&g, &request);

        assert_true(a->final);
        return a;
}
