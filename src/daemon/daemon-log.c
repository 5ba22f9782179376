// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The replicated log of this host, where it is a voter.
//
//   committed batch -> apply() -> ClusterState -> Leader (which turns what is dirty into orders)
//   role(LEADER)    -> [first batch of a new or recovered cluster] -> leader; when its tables are whole
//                   mesh,
//                      then by the mesh the agent
//
// How this host becomes a voter and ceases to be one is in daemon-log-voter.c, the log's snapshot in
// daemon-log-snapshot.c.

#include <errno.h>
#include <fcntl.h>

#include "clock.h"
#include "cluster-state-limits.h"
#include "cluster-state.h"
#include "daemon-ca.h"
#include "daemon-log.h"
#include "daemon-secrets.h"
#include "daemon.h"
#include "event-cursor.h"
#include "feature-level.h"
#include "http-api.h"
#include "leader.h"
#include "log.h"
#include "mesh.h"
#include "message-of.h"
#include "message.h"
#include "named-voters.h"
#include "paths.h"
#include "port.h"
#include "router.h"
#include "socket-access.h"
#include "str.h"

// A year of 30,000 changes a second.
#define REVISIONS_LOST_MAX (UINT64_C(1) << 40)
enum { JOBS_LOST_MAX = 1000000, RAFT_IDS_LOST_MAX = 100000 };

static void lead_if_ready(Daemon *d);

// ---- what the log says about hosts, told to those who must know

void daemon_update_peers(Daemon *d, Argosy__Voter *const *voters, size_t n_voters, uint64_t generation) {
        Argosy__PeersFile next = *d->peers;
        _cleanup_free_ uint8_t *a = NULL, *b = NULL;
        size_t a_len, b_len;
        Argosy__PeersFile *kept;

        next.voters = (Argosy__Voter **) voters;
        next.n_voters = n_voters;
        next.generation = MAX_OF(generation, d->peers->generation);
        if (d->state && cluster_state_cluster(d->state))
                next.feature_level = cluster_state_feature_level(d->state);
        a_len = argosy__peers_file__get_packed_size(d->peers);
        b_len = argosy__peers_file__get_packed_size(&next);
        a = malloc(a_len + 1);
        b = malloc(b_len + 1);
        if (!a || !b) {
                daemon_fail(d, strerror(ENOMEM));
                return;
        }
        argosy__peers_file__pack(d->peers, a);
        argosy__peers_file__pack(&next, b);
        if (a_len == b_len && memcmp(a, b, a_len) == 0)
                return;
        kept = argosy__peers_file__unpack(NULL, b_len, b);
        if (!kept) {
                daemon_fail(d, strerror(ENOMEM));
                return;
        }
        argosy__peers_file__free_unpacked(d->peers, NULL);
        d->peers = kept;
        state_writer_save_peers(d); // not waited for: the old list is only less fresh
        mesh_set_generation(d->mesh, kept->generation);
}

static bool is_member(uint32_t host, const Hash *pin, void *userdata) {
        Daemon *d = userdata;
        const Argosy__HostRecord *h = cluster_state_find_host_by_pin(d->state, pin);

        return h && h->host == host;
}

// Hosts and tokens are what decides whether anybody has a reason to connect.
static void open_port(Daemon *d) {
        _cleanup_free_ char *why = NULL;
        int r = port_open_if_wanted(d, &why);

        if (r < 0)
                daemon_fail(d, why ?: strerror(-r));
}

// Wishes about the cluster are in its log: a file of one host only says how a new cluster begins. Said once
// for each number that the cluster has meanwhile.
static void warn_of_voters(Daemon *d) {
        uint32_t wanted = cluster_state_cluster(d->state)->voters_wanted;

        if (d->voters_warned == wanted)
                return;
        d->voters_warned = wanted;
        if (d->config.voters_given && d->config.voters != wanted)
                log_warning(
                        "Voters=%u in this host's configuration counts for nothing: the cluster has %u, and "
                        "'argosyctl cluster voters' changes that.",
                        (unsigned) d->config.voters, wanted);
}

// Whether the host votes, or its record gives it a log.
static bool is_of_the_log(const Argosy__HostRecord *record) {
        return record->role == ARGOSY__HOST_ROLE__ROLE_VOTER || record->raft_id > 0;
}

// Voters as the replicated state names them: to the mesh (whom to dial, whom to tell others of) and to the
// peers file.
static void publish_voters(Daemon *d) {
        size_t n_hosts, n = 0;
        const HostEntry *hosts = cluster_state_hosts(d->state, &n_hosts);
        _cleanup_free_ MeshPeer *peers = calloc(n_hosts + 1, sizeof(*peers));
        _cleanup_free_ Argosy__Voter *voters = calloc(n_hosts + 1, sizeof(*voters));
        _cleanup_free_ Argosy__Voter **pointers = calloc(n_hosts + 1, sizeof(*pointers));

        if (!peers || !voters || !pointers) {
                daemon_fail(d, strerror(ENOMEM));
                return;
        }
        for (size_t i = 0; i < n_hosts; i++) {
                const Argosy__HostRecord *h = hosts[i].record;

                if (!is_of_the_log(h)) // it votes until the log's configuration is without it (membership.h)
                        continue;
                voters[n] = (Argosy__Voter) MESSAGE_OF(voter, .host = h->host, .address = h->address,
                                                       .port = h->port, .key_pin = h->key_pin,
                                                       .raft_id = h->raft_id, .name = h->address_name,
                                                       .host_name = h->name);
                if (!mesh_peer_from_voter(&voters[n], &peers[n]))
                        continue;
                pointers[n] = &voters[n];
                n++;
        }
        d->hosts_revision = cluster_state_hosts_revision(d->state);
        open_port(d);
        if (n == 0)
                return; // before the first batch
        warn_of_voters(d);
        daemon_ca_update(d);
        if (!d->log_is_complete) {
                // told when it is: until then the voters of the peers file, which may be newer, are those
                // who elect a leader
                d->hosts_revision = 0;
                return;
        }
        daemon_secrets_drop_old(d);
        if (d->store) // a demotion or a removal ends what its log had with ours, at once
                store_recheck(d->store);
        (void) mesh_set_voters(d->mesh, peers, n);
        daemon_update_peers(d, pointers, n, cluster_state_cluster(d->state)->generation);
        if (!d->leading) // the leader has to tell them why first
                mesh_recheck(d->mesh, is_member, d);
}

static bool has_news(const Daemon *d) {
        return d->hosts_revision != cluster_state_hosts_revision(d->state) ||
               d->access_revision != cluster_state_access_revision(d->state);
}

// The list of hosts is passed on when everything that is known to be committed has been applied, not before:
// a log that is replayed after a restart passes through every membership that the cluster ever had, and each
// would end the links to hosts that came later. The same holds for the list of rights.
void daemon_log_on_hosts(void *userdata) {
        Daemon *d = userdata;
        StoreStats stats = {};

        if (!d->store || d->store_closing || !has_news(d))
                return;
        store_stats(d->store, &stats);
        if (stats.applied_index < stats.commit_index) {
                drain_mark(&d->hosts_drain); // the rest is being applied by the turns of this loop
                return;
        }
        if (d->hosts_revision != cluster_state_hosts_revision(d->state))
                publish_voters(d);
        if (d->access_revision != cluster_state_access_revision(d->state)) {
                socket_access_update(d);
                if (d->router) // it ends before the log
                        router_on_access_changed(d->router);
        }
}

// ---- StoreOps

// An entry that this build cannot read is not readable after a restart either. At run time the process ends
// here; while the log is being opened its opener gets the error.
static int log_failed(Daemon *d, int error) {
        if (error != -EPROTONOSUPPORT)
                return error;
        free(d->log_unreadable);
        d->log_unreadable = str_printf("The log in %s cannot be read: %s.", d->log_dir,
                                       cluster_state_unreadable(d->state));
        if (d->store)
                daemon_fail_for_good(d, d->log_unreadable ?: strerror(ENOMEM));
        return error;
}

// Nothing comes here that the leader has judged (batch-builder.c).
static void tell_refused(Daemon *d) {
        const ClusterRefused *refused;
        char why[CLUSTER_REFUSAL_SIZE];

        while ((refused = cluster_state_next_refused(d->state)))
                log_error("An operation of the log was not carried out, here as on all voters (%s): %s.",
                          refused->what, cluster_refusal_words(d->state, refused->refusal, why));
}

// `secret rotate-key` waits for a snapshot of what has come until then.
static bool wants_snapshot(const Daemon *d, const Argosy__LogBatch *batch) {
        const Argosy__ClusterRecord *cluster = cluster_state_cluster(d->state);

        if (!cluster || !cluster->secrets_key ||
            cluster->secrets_key->phase != ARGOSY__SECRETS_KEY_PHASE__SECRETS_KEY_COMPACT)
                return false;
        for (size_t i = 0; i < batch->n_ops; i++)
                if (batch->ops[i]->op_case == ARGOSY__LOG_OP__OP_CLUSTER)
                        return d->compacted != cluster->secrets_key->number;
        return false;
}

static int on_apply(uint64_t index, const uint8_t *data, size_t len, void *userdata) {
        Daemon *d = userdata;
        Argosy__LogBatch *batch;
        bool compact;
        void *message;
        int r = message_unpack_in(&d->applied, &argosy__log_batch__descriptor, data, len, &message);

        if (r < 0)
                return r;
        batch = message;
        r = cluster_state_apply(d->state, batch); // which copies what it keeps
        heap_keeper_note(&d->heap, batch->n_ops);
        compact = r == 0 && wants_snapshot(d, batch);
        arena_reset(&d->applied);
        if (r < 0)
                return log_failed(d, r);
        tell_refused(d);
        if (has_news(d))
                drain_mark(&d->hosts_drain);
        leader_on_applied(d->leader, index);
        return compact ? STORE_APPLY_COMPACT : 0;
}

static int on_restore(const uint8_t *data, size_t len, void *userdata) {
        Daemon *d = userdata;
        int r;

        r = cluster_state_restore(d->state, data, len);
        if (r < 0)
                return log_failed(d, r);
        leader_on_restored(d->leader);
        daemon_secrets_on_compacted(d, daemon_secrets_only_key(d)); // it is on the disk, too
        drain_mark(&d->hosts_drain);
        return 0;
}

static uint32_t host_of_raft_id(Daemon *d, uint32_t raft_id) {
        size_t n;
        const HostEntry *hosts = cluster_state_hosts(d->state, &n);

        for (size_t i = 0; i < n; i++)
                if (raft_id > 0 && hosts[i].record->raft_id == raft_id)
                        return hosts[i].record->host;
        return 0;
}

static void stop_leading(Daemon *d, uint64_t term, uint32_t leader_host) {
        bool was = d->leading || d->leader_builds;

        d->leading = d->leader_builds = false;
        if (was)
                (void) leader_set_leading(d->leader, false, term);
        mesh_set_leading(d->mesh, false, term, leader_host);
}

static void on_role(StoreRole role, StoreLeader leader, void *userdata) {
        Daemon *d = userdata;

        d->store_role = role;
        d->store_term = leader.term;
        if (role == STORE_LEADER)
                lead_if_ready(d);
        else
                stop_leading(d, leader.term,
                             role == STORE_FOLLOWER ? host_of_raft_id(d, leader.raft_id) : 0);
        daemon_status(d);
}

static bool on_retired(uint32_t raft_id, void *userdata) {
        return cluster_state_raft_id_is_retired(((Daemon *) userdata)->state, raft_id);
}

static void on_complete(void *userdata) {
        Daemon *d = userdata;

        d->log_is_complete = true;
        drain_mark(&d->hosts_drain);
}

static void on_authority(void *userdata) {
        Daemon *d = userdata;

        if (d->leading)
                leader_on_authority(d->leader);
}

static void on_fatal(const char *why, void *userdata) {
        daemon_fail(userdata, why);
}

// Who has a raft id of which the log does not say anything yet: by the word of others, or by the peers file.
static const Argosy__Voter *voter_to_come(const Daemon *d, uint32_t raft_id) {
        const Argosy__Voter *v = named_voters_find_raft_id(d, raft_id);

        for (size_t i = 0; !v && i < d->peers->n_voters; i++)
                if (d->peers->voters[i]->raft_id == raft_id)
                        v = d->peers->voters[i];
        return v;
}

// The key is the log's; where it is, the mesh knows best: it looks for voters whose address has changed.
static bool on_resolve(uint32_t raft_id, char *ret_address, size_t size, uint16_t *ret_port, Hash *ret_pin,
                       void *userdata) {
        Daemon *d = userdata;
        const Argosy__HostRecord *h = cluster_state_find_host(d->state, host_of_raft_id(d, raft_id));
        const Argosy__Voter *v = h ? NULL : voter_to_come(d, raft_id);
        MeshAddress at = {};
        MeshPeer peer;

        if (h) {
                at.port = (uint16_t) h->port;
                if (!hash_from_bytes(h->key_pin.data, h->key_pin.len, ret_pin) ||
                    (!mesh_where(d->mesh, h->host, &at) && !str_copy(at.text, sizeof(at.text), h->address)))
                        return false;
        } else if (v && mesh_peer_from_voter(v, &peer)) {
                *ret_pin = peer.pin;
                at.port = peer.port;
                if (!mesh_where(d->mesh, peer.host, &at))
                        (void) str_copy(at.text, sizeof(at.text), peer.address); // it had no other one
        }
        *ret_port = at.port;
        return *at.text && str_copy(ret_address, size, at.text);
}

static const StoreOps store_ops = {
        .apply = on_apply,
        .snapshot = daemon_log_snapshot,
        .snapshot_encode = daemon_log_snapshot_encode,
        .snapshot_is_cut = daemon_log_snapshot_is_cut,
        .snapshot_release = daemon_log_snapshot_release,
        .snapshot_written = daemon_log_snapshot_written,
        .restore = on_restore,
        .role = on_role,
        .complete = on_complete,
        .authority = on_authority,
        .fatal = on_fatal,
        .resolve = on_resolve,
        .retired = on_retired,
};

// ---- the batch that comes before leading: a new cluster's first, or a recovered one's new generation

static void init_cluster(Daemon *d, Argosy__ClusterRecord *c, Argosy__CaRecord *ca) {
        *c = (Argosy__ClusterRecord) MESSAGE_OF(
                cluster_record, .cluster_id = d->peers->cluster_id, .generation = d->peers->generation,
                .feature_level = FEATURE_LEVEL, .ca = ca, .voters_wanted = (uint32_t) d->config.voters,
                .lease_ms = (uint32_t) (d->config.lease_us / USEC_PER_MSEC));
}

static int submit_batch(Daemon *d, Argosy__LogOp **ops, size_t n, StoreDone done) {
        Argosy__LogBatch batch = MESSAGE_OF(log_batch, .ops = ops, .n_ops = n);
        _cleanup_free_ uint8_t *packed = NULL;
        size_t len;

        batch.at_us = leader_wall(d->leader);
        batch.counted_us = leader_counted(d->leader) - cluster_state_counted_us(d->state);
        len = argosy__log_batch__get_packed_size(&batch);
        packed = malloc(len);
        if (!packed)
                return -ENOMEM;
        argosy__log_batch__pack(&batch, packed);
        return store_submit(d->store, packed, len, done, d);
}

static void on_init_done(StoreOutcome outcome, uint64_t index, void *userdata) {
        Daemon *d = userdata;

        d->init_in_flight = false;
        if (outcome == STORE_COMMITTED)
                lead_if_ready(d);
        else if (outcome == STORE_NO_SPACE)
                log_error("The disk under %s has no room for the log: this host cannot lead.",
                          d->paths->state_dir);
}

// The CA's, that this host has made with its identity. False: it is lost already.
static bool init_key(Daemon *d, Argosy__VoterSecretRecord *ret) {
        for (size_t i = 0; i < d->secrets.n; i++) {
                VoterSecret *s = &d->secrets.list[i];

                if (!streq(s->name, VOTER_SECRET_CA))
                        continue;
                ret->name = s->name;
                ret->number = s->number;
                ret->fingerprint = (ProtobufCBinaryData){HASH_SIZE, s->fingerprint.bytes};
                ret->kept_by = &d->peers->raft_id;
                ret->n_kept_by = 1;
                return true;
        }
        return false;
}

// A fresh cluster: its record and this host.
static int submit_first_batch(Daemon *d) {
        Argosy__ClusterRecord cluster;
        Argosy__CaRecord ca = MESSAGE_OF(
                ca_record, .cert = (ProtobufCBinaryData){d->identity.ca_cert.len, d->identity.ca_cert.data},
                .number = 1);
        Argosy__VoterSecretRecord key = ARGOSY__VOTER_SECRET_RECORD__INIT, *keys[] = {&key};
        Argosy__HostRecord host = ARGOSY__HOST_RECORD__INIT;
        Argosy__NodeRecord node = ARGOSY__NODE_RECORD__INIT, *nodes[] = {&node};
        Argosy__LogOp op_cluster = ARGOSY__LOG_OP__INIT, op_host = ARGOSY__LOG_OP__INIT,
                      *ops[] = {&op_cluster, &op_host};

        init_cluster(d, &cluster, &ca);
        if (init_key(d, &key)) {
                cluster.voter_secrets = keys;
                cluster.n_voter_secrets = 1;
        }
        op_cluster.op_case = ARGOSY__LOG_OP__OP_CLUSTER;
        op_cluster.cluster = &cluster;
        node.manager = (char *) "system";
        host.host_id = (ProtobufCBinaryData){sizeof(d->host_id), d->host_id};
        host.machine_id = d->machine_id_hex;
        host.name = d->config.name;
        host.address = d->own.text;
        host.port = d->port;
        host.key_pin = (ProtobufCBinaryData){HASH_SIZE, d->identity.pin.bytes};
        host.role = ARGOSY__HOST_ROLE__ROLE_VOTER;
        host.n_labels = d->config.n_labels;
        host.labels = d->config.labels;
        host.n_nodes = 1;
        host.nodes = nodes;
        host.raft_id = d->peers->raft_id;
        op_host.op_case = ARGOSY__LOG_OP__OP_HOST;
        op_host.host = &host;
        return submit_batch(d, ops, 2, on_init_done);
}

// The entries that were lost gave revisions that hosts may have obeyed, and what is compared with a revision
// must not mistake a new one for one of them. How many were lost nobody knows; so many no cluster makes. The
// clock keeps two recoveries apart that began from different copies of one log: a revision takes more than a
// microsecond.
static uint64_t recovered_revision(const Daemon *d) {
        return MAX_OF(cluster_state_revision(d->state) + REVISIONS_LOST_MAX, clock_wall_us());
}

// The same of numbers of jobs, which people have written down. Round, so that it shows where it happened.
static uint64_t recovered_job(const Daemon *d) {
        return (cluster_state_last_job(d->state) / JOBS_LOST_MAX + 2) * JOBS_LOST_MAX;
}

// And of raft ids: hosts have made logs by those that lost entries gave.
static uint32_t recovered_raft_id(const Daemon *d) {
        return (cluster_state_next_raft_id(d->state) / RAFT_IDS_LOST_MAX + 2) * RAFT_IDS_LOST_MAX;
}

// This host is the only voter, also if it was to vote no more; whether it may be one for long is said by the
// rest of its record. Every other host that had a log is a spare.
static bool is_of_the_recovery(const Daemon *d, const Argosy__HostRecord *h) {
        return h->host == d->peers->host
                       ? h->role != ARGOSY__HOST_ROLE__ROLE_VOTER || h->raft_id != d->peers->raft_id
                       : is_of_the_log(h);
}

// After `cluster recover`: the new generation, revisions that no host has seen; every other host that had a
// log is a spare until it is made a voter again. All others are left as they are: an entry has no room for
// every host.
static int submit_recovery(Daemon *d) {
        size_t n_hosts, n = 0;
        const HostEntry *hosts = cluster_state_hosts(d->state, &n_hosts);
        _cleanup_free_ Argosy__LogOp *ops = calloc(n_hosts + 1, sizeof(*ops));
        _cleanup_free_ Argosy__LogOp **pointers = calloc(n_hosts + 1, sizeof(*pointers));
        _cleanup_free_ Argosy__HostRecord *records = calloc(n_hosts + 1, sizeof(*records));
        Argosy__ClusterRecord cluster = *cluster_state_cluster(d->state);

        if (!ops || !pointers || !records)
                return -ENOMEM;
        cluster.generation = d->peers->generation;
        cluster.revision_floor = recovered_revision(d);
        cluster.job_floor = recovered_job(d);
        cluster.raft_id_floor = recovered_raft_id(d);
        ops[0] = (Argosy__LogOp) MESSAGE_OF(log_op, .op_case = ARGOSY__LOG_OP__OP_CLUSTER,
                                            .cluster = &cluster);
        pointers[n++] = &ops[0];
        for (size_t i = 0; i < n_hosts; i++) {
                bool is_self = hosts[i].record->host == d->peers->host;

                if (!is_of_the_recovery(d, hosts[i].record))
                        continue;
                records[n] = *hosts[i].record;
                records[n].role = is_self ? ARGOSY__HOST_ROLE__ROLE_VOTER : ARGOSY__HOST_ROLE__ROLE_SPARE;
                records[n].raft_id = is_self ? d->peers->raft_id : 0;
                ops[n] = (Argosy__LogOp) MESSAGE_OF(log_op, .op_case = ARGOSY__LOG_OP__OP_HOST,
                                                    .host = &records[n]);
                pointers[n] = &ops[n];
                n++;
        }
        log_notice("Raising the cluster generation to %llu: this host was recovered alone.",
                   (unsigned long long) cluster.generation);
        return submit_batch(d, pointers, n, on_init_done);
}

static void on_leads(void *userdata) {
        Daemon *d = userdata;

        d->leader_builds = false;
        d->leading = true;
        mesh_set_leading(d->mesh, true, d->store_term, d->peers->host);
        daemon_status(d);
}

static void lead_if_ready(Daemon *d) {
        const Argosy__ClusterRecord *cluster = cluster_state_cluster(d->state);
        int r;

        if (d->store_role != STORE_LEADER || d->leading || d->leader_builds || d->init_in_flight ||
            d->store_closing)
                return;
        if (!cluster)
                r = submit_first_batch(d);
        else if (cluster->generation < d->peers->generation)
                r = submit_recovery(d);
        else {
                if (d->hosts_revision != cluster_state_hosts_revision(d->state))
                        publish_voters(d);
                d->leader_builds = !leader_set_leading(d->leader, true, d->store_term);
                if (!d->leader_builds)
                        on_leads(d);
                return;
        }
        d->init_in_flight = r == 0;
        if (r < 0 && r != -EAGAIN)
                daemon_fail(d, strerror(-r));
}

// ---- the leader's way out

static int leader_to_host(uint32_t host, const Argosy__ToHost *message, void *userdata) {
        return mesh_to_host(((Daemon *) userdata)->mesh, host, message);
}

static bool leader_host_is_full(uint32_t host, void *userdata) {
        return mesh_host_is_full(((Daemon *) userdata)->mesh, host);
}

static void leader_drop_host(uint32_t host, void *userdata) {
        mesh_drop_host(((Daemon *) userdata)->mesh, host);
}

static const VoterSecrets *leader_secrets(void *userdata) {
        return &((Daemon *) userdata)->secrets;
}

static int leader_member_add(uint32_t raft_id, StoreMemberDone done, void *data, void *userdata) {
        return store_member_add(((Daemon *) userdata)->store, raft_id, done, data);
}

static int leader_member_remove(uint32_t raft_id, StoreMemberDone done, void *data, void *userdata) {
        return store_member_remove(((Daemon *) userdata)->store, raft_id, done, data);
}

static int leader_transfer(uint32_t raft_id, StoreMemberDone done, void *data, void *userdata) {
        return store_transfer(((Daemon *) userdata)->store, raft_id, done, data);
}

static int leader_submit(const void *bytes, size_t len, StoreDone done, void *data, void *userdata) {
        return store_submit(((Daemon *) userdata)->store, bytes, len, done, data);
}

static int leader_barrier(StoreDone done, void *data, void *userdata) {
        return store_barrier(((Daemon *) userdata)->store, done, data);
}

static void leader_log_stats(StoreStats *ret, void *userdata) {
        store_stats(((Daemon *) userdata)->store, ret);
}

static uint64_t leader_authority_until(void *userdata) {
        return store_authority_until(((Daemon *) userdata)->store);
}

static void on_present(const EventCursor *cursor, uint64_t access_revision, uint64_t until_us,
                       void *userdata) {
        Daemon *d = userdata;

        if (d->http)
                http_api_set_present(d->http, cursor, access_revision, until_us);
}

static const LeaderOps leader_ops = {
        .to_host = leader_to_host,
        .host_is_full = leader_host_is_full,
        .drop_host = leader_drop_host,
        .secrets = leader_secrets,
        .member_add = leader_member_add,
        .member_remove = leader_member_remove,
        .transfer = leader_transfer,
        .submit = leader_submit,
        .barrier = leader_barrier,
        .stats = leader_log_stats,
        .authority_until = leader_authority_until,
        .leads = on_leads,
        .present = on_present,
};

// ---- opening and closing

int daemon_log_open(Daemon *d, bool bootstrap, char **ret_why) {
        StoreConfig config = {
                .loop = d->loop,
                .dir = d->log_dir,
                .raft_id = d->peers->raft_id,
                .bootstrap = bootstrap,
                .election_ms = (unsigned) (d->config.election_us / USEC_PER_MSEC),
                .heartbeat_ms = (unsigned) (d->config.election_us / USEC_PER_MSEC / 3),
                .tls = d->tls,
        };
        LeaderConfig leader = {
                .loop = d->loop,
                .accounts = d->accounts,
                .self = d->peers->host,
                .user = d->paths->user,
                .lease_ms = (unsigned) (d->config.lease_us / USEC_PER_MSEC),
                .mass_loss_percent = (unsigned) d->config.mass_loss_percent,
                .events_bytes = (size_t) d->config.events_mib * 1024 * 1024,
                .beat_ms = (unsigned) (d->config.heartbeat_us / USEC_PER_MSEC),
        };
        int r;

        d->hosts_revision = 0;
        d->log_is_complete = false;
        d->compacted = 0;
        d->state = leader.state = cluster_state_new();
        if (!d->state)
                return -ENOMEM;
        r = leader_new(&leader, &leader_ops, d, &d->leader);
        if (r < 0)
                return r;
        mesh_set_raft_id(d->mesh, d->peers->raft_id);
        r = store_open(&config, &store_ops, d, &d->store, ret_why);
        if (r == -EPROTONOSUPPORT && d->log_unreadable) {
                free(*ret_why);
                *ret_why = TAKE_PTR(d->log_unreadable);
        }
        if (r < 0)
                return r;
        d->store_role = STORE_FOLLOWER;
        return 0;
}

static void on_leader_closed(void *userdata) {
        Daemon *d = userdata;

        d->leader = NULL;
        d->state = cluster_state_free(d->state);
        arena_done(&d->applied);
        d->store_closing = false;
        d->log_closed(d);
}

static void on_store_closed(void *userdata) {
        Daemon *d = userdata;

        d->store = NULL;
        if (d->leader)
                leader_close(d->leader, on_leader_closed, d);
        else
                on_leader_closed(d); // a spare has none
}

void daemon_log_close(Daemon *d, void (*closed)(Daemon *d)) {
        d->log_closed = closed;
        if (d->store_closing) // the daemon ends while the log is being closed for another reason
                return;
        if (d->leading || d->leader_builds)
                stop_leading(d, d->store_term, 0);
        d->store_closing = true;
        if (d->store)
                store_close(d->store, on_store_closed, d);
        else
                on_store_closed(d);
}
