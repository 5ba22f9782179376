// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What hosts keep beside the log: secrets of the voters, and certificates. A voter says what it has in the
// turn after it was told, and has a snapshot without former keys in the turn after the log asked for one; a
// host that is asked to has a certificate of the CA that signs then. One that is down does none of it, and
// says what it has when it is welcomed; one that is deaf, later.
#include <string.h>

#include "ca.h"
#include "leader-private.h"
#include "message.h"
#include "random.h"
#include "test.h"
#include "voter-secrets.h"
#include "world.h"

typedef struct Disk {
        VoterSecrets secrets;
        Hash ca;            // that has signed its certificate
        uint32_t compacted; // number of the key that seals all that its snapshot has
        bool due, asked;    // to say what it has; to get a certificate
} Disk;

static Disk disks[WORLD_HOSTS_MAX + 1]; // by host
static Ca ca;

// GnuTLS would draw the key by itself. Nobody looks into what a CA is here (joins are nonsense), so it is as
// many bytes of the story.
int __wrap_ca_create(Ca *ret);

int __wrap_ca_create(Ca *ret) {
        uint8_t bytes[64];

        random_bytes(bytes, sizeof(bytes));
        assert_int_equal(buf_append(&ret->cert, bytes, 32), 0);
        assert_int_equal(buf_append(&ret->key, bytes + 32, 32), 0);
        return 0;
}

static const Argosy__ClusterRecord *cluster(void) {
        return cluster_state_cluster(world.rig.state);
}

static Hash hash_of_ca(void) {
        return cluster()->ca ? hash_of(cluster()->ca->cert.data, cluster()->ca->cert.len) : (Hash){};
}

void disks_begin(void) {
        assert_true(asks.swarm.hosts <= WORLD_HOSTS_MAX);
        memset(disks, 0, sizeof(disks));
        world.rig.secrets = &disks[1].secrets;
        if (!asks.swarm.loads[LOAD_members])
                return;
        assert_int_equal(ca_create(&ca), 0);
        rig_give_ca(&world.rig, &ca, &disks[1].secrets);
        for (uint32_t i = 1; i <= asks.swarm.hosts; i++) {
                disks[i].ca = hash_of_ca();
                disks[i].due = true;
        }
}

void disks_end(void) {
        for (uint32_t i = 1; i <= asks.swarm.hosts; i++)
                voter_secrets_done(&disks[i].secrets);
        ca_done(&ca);
}

static bool hears(uint32_t host) {
        const RigHost *h = rig_host(&world.rig, host);

        return h->up && !h->deaf;
}

void disks_on_host_message(uint32_t host, const Argosy__ToHost *m) {
        Disk *disk = &disks[host];
        bool changed;

        if (!rig_host(&world.rig, host)->up) // one that is deaf finds it later
                return;
        switch (m->msg_case) {
        case ARGOSY__TO_HOST__MSG_STORE_OPEN:
                assert_int_equal(voter_secrets_put_all(&disk->secrets, m->store_open->secrets,
                                                       m->store_open->n_secrets, &changed),
                                 0);
                break;
        case ARGOSY__TO_HOST__MSG_VOTER_SECRETS:
                assert_int_equal(voter_secrets_put_all(&disk->secrets, m->voter_secrets->secrets,
                                                       m->voter_secrets->n_secrets, &changed),
                                 0);
                disk->due = true;
                break;
        case ARGOSY__TO_HOST__MSG_WELCOME:
                disk->due = true;
                break;
        case ARGOSY__TO_HOST__MSG_RENEW_ASKED:
                disk->asked = true;
                break;
        default:
                break;
        }
}

static void say(uint32_t host, Argosy__ToVoter__MsgCase what, void *message) {
        Argosy__ToVoter m = ARGOSY__TO_VOTER__INIT;

        m.msg_case = what;
        m.hello = message;
        leader_on_message(world.rig.leader, host, &m);
}

static void say_kept(uint32_t host) {
        Argosy__ToVoter__VoterSecretsKept m = ARGOSY__TO_VOTER__VOTER_SECRETS_KEPT__INIT;
        Argosy__ToVoter__VoterSecretsKept__Kept rows[VOTER_SECRETS_MAX], *pointers[VOTER_SECRETS_MAX];
        const Disk *disk = &disks[host];

        for (size_t i = 0; i < disk->secrets.n; i++) {
                argosy__to_voter__voter_secrets_kept__kept__init(&rows[i]);
                rows[i].name = (char *) disk->secrets.list[i].name;
                rows[i].number = disk->secrets.list[i].number;
                rows[i].fingerprint = (ProtobufCBinaryData){
                        HASH_SIZE, (uint8_t *) disk->secrets.list[i].fingerprint.bytes};
                pointers[i] = &rows[i];
        }
        m.raft_id = cluster_state_find_host(world.rig.state, host)->raft_id;
        m.secrets = pointers;
        m.n_secrets = disk->secrets.n;
        m.compacted = disk->compacted;
        say(host, ARGOSY__TO_VOTER__MSG_VOTER_SECRETS_KEPT, &m);
}

static void say_certified(uint32_t host) {
        Argosy__ToVoter__Certified m = ARGOSY__TO_VOTER__CERTIFIED__INIT;

        if (!cluster()->ca)
                return;
        m.ca_hash = (ProtobufCBinaryData){HASH_SIZE, disks[host].ca.bytes};
        say(host, ARGOSY__TO_VOTER__MSG_CERTIFIED, &m);
}

static void host_turn(uint32_t host) {
        const Argosy__SecretsKeyRecord *key = cluster()->secrets_key;
        Disk *disk = &disks[host];

        (void) voter_secrets_drop_old(&disk->secrets, cluster()->voter_secrets, cluster()->n_voter_secrets);
        if (key && key->phase == ARGOSY__SECRETS_KEY_PHASE__SECRETS_KEY_COMPACT &&
            disk->compacted != key->number) {
                disk->compacted = key->number;
                disk->due = true;
        }
        if (disk->asked) {
                disk->ca = hash_of_ca();
                disk->asked = false;
                disk->due = true;
        }
        if (!disk->due)
                return;
        disk->due = false;
        say_kept(host);
        say_certified(host);
}

void disks_on_turn(void) {
        if (!world.rig.led || !world.rig.leader->leading)
                return;
        for (uint32_t i = 1; i <= asks.swarm.hosts; i++)
                if (hears(i) && rig_host(&world.rig, i)->attached && world_is_member(i))
                        host_turn(i);
}
