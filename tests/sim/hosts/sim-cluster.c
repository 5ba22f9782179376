// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How a cluster of whole hosts begins and ends (sim-host.h).
//
//      sim_cluster_begin(): a directory, the CA, a machine for each host with configuration, identity and
//          peers -> the log's first entry, which names all members -> sim_cluster_end()
//
// What cannot be made ends the process.
#include "sim-host-private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "argosy.pb-c.h"
#include "ca.h"
#include "fake-pid1.h"
#include "feature-level.h"
#include "fileio.h"
#include "identity.h"
#include "map.h"
#include "oom.h"
#include "paths.h"
#include "random.h"
#include "sim-addresses.h"
#include "sim-disk.h"
#include "sim-store.h"
#include "sim-users.h"
#include "sim-x509.h"
#include "state-dir.h"
#include "str.h"
#include "voter-secrets.h"

// How hosts know it, whose words, some of which enter the log, name files: the same in each process.
#define HERE "/proc/self/cwd"

struct SimCluster sim_cluster;

void sim_check(int r, const char *what) {
        if (r >= 0)
                return;
        fprintf(stderr, "%s: %s\n", what, strerror(-r));
        abort();
}

// As if the CA had signed its request: nothing of it is drawn.
static void make_identity(uint32_t number, Identity *ret) {
        _cleanup_buf_ Buf csr = {};
        char name[32];

        *ret = (Identity){};
        str_fit(name, sizeof(name), "of host %u", number);
        sim_x509_key(name, &ret->key);
        str_fit(name, sizeof(name), "n%u", number);
        sim_check(identity_renew(ret, name, &csr), "identity");
        sim_check(ca_sign(&sim_cluster.ca, csr.data, csr.len, name, &ret->cert, &ret->pin), "identity");
        sim_check(buf_append(&ret->ca_cert, sim_cluster.ca.cert.data, sim_cluster.ca.cert.len), "identity");
}

// ------------------------------------------------------------------------------- the beginning of a cluster

char *sim_machine_path(const SimMachine *m, const char *name) {
        return oom_checked(str_printf("%s/%s", m->dir, name));
}

static void write_config(const Member *b) {
        _cleanup_free_ char *file = sim_machine_path(&b->machine, "etc/argosy.conf"), *text = NULL;

        text = oom_checked(
                str_printf("[Node]\nName=n%u\n%s%s\nPort=%i\n[Http]\nListen=none\n[Log]\nLevel=3\n%s",
                           b->machine.number, b->machine.settings.finds_address ? "" : "Address=",
                           b->machine.settings.finds_address ? "" : b->address, SIM_PORT,
                           b->machine.settings.more ?: ""));
        sim_check(file_replace(AT_FDCWD, file, text, strlen(text), 0600, 0), file);
}

static void make_options(Member *b) {
        Paths *p = &b->options.paths;

        p->state_dir = sim_machine_path(&b->machine, "state");
        p->runtime_dir = sim_machine_path(&b->machine, "run");
        p->config_dirs = oom_checked(calloc(2, sizeof(char *)));
        p->config_dirs[0] = sim_machine_path(&b->machine, "etc");
        p->manager.socket = sim_machine_path(&b->machine, "private");
        p->manager.unit_dir = sim_machine_path(&b->machine, "units");
        p->manager.search_dirs = oom_checked(calloc(3, sizeof(char *)));
        p->manager.search_dirs[0] = sim_machine_path(&b->machine, "foreign");
        p->manager.search_dirs[1] = sim_machine_path(&b->machine, "units");
        p->runtime_mode = 0755;
        p->socket_mode = 0660;
}

static void make_member(uint32_t number, const SimSettings *settings) {
        static const char *const dirs[] = {"", "/state", "/run", "/etc", "/units", "/foreign"};
        Member *b = &sim_cluster.members[number];
        SimMachine *m = &b->machine;

        *m = (SimMachine){.number = number,
                          .powered = true,
                          .dir = oom_checked(str_printf(HERE "/%u", number)),
                          .settings = settings ? settings[number - 1] : (SimSettings){}};
        m->socket = sim_machine_path(m, "run/argosy.sock");
        for (size_t i = 0; i < ELEMENTSOF(dirs); i++) {
                _cleanup_free_ char *dir = oom_checked(str_printf("%s%s", m->dir, dirs[i]));

                sim_check(mkdir(dir, 0755) < 0 ? -errno : 0, dir);
        }
        str_fit(b->address, sizeof(b->address), "10.0.0.%u", number);
        m->host =
                sim_host_new(number, &(SimClocks){.boot_us = draw_below(sim_draw(), 1000000000),
                                                  .monotonic_us = draw_below(sim_draw(), 1000000000),
                                                  .wall_us = SIM_WALL_US + draw_below(sim_draw(), 2000000)});
        sim_net_set_address(m->host, b->address);
        sim_addresses_changed(m->host, 0);
        write_config(b);
        make_options(b);
        if (number <= sim_cluster.n_members) {
                make_identity(number, &b->identity);
                sim_check(identity_save(b->options.paths.state_dir, &b->identity), "identity");
                m->pin = b->identity.pin;
                m->in_cluster = true;
        }
        if (number <= sim_cluster.n_voters)
                sim_check(voter_secrets_save(b->options.paths.state_dir, &sim_cluster.secrets), "secrets");
        sim_machine_make_pid1(m);
        sim_user_log_in(m);
}

static void write_peers(void) {
        Argosy__Voter voters[SIM_CLUSTER_MAX], *pointers[SIM_CLUSTER_MAX];
        Argosy__NodeRecord node = ARGOSY__NODE_RECORD__INIT, *nodes[] = {&node};

        node.manager = (char *) "system";
        for (uint32_t i = 0; i < sim_cluster.n_voters; i++) {
                Member *b = &sim_cluster.members[i + 1];

                argosy__voter__init(&voters[i]);
                voters[i].host = voters[i].raft_id = i + 1;
                voters[i].address = b->address;
                voters[i].port = SIM_PORT;
                voters[i].key_pin = (ProtobufCBinaryData){HASH_SIZE, b->identity.pin.bytes};
                pointers[i] = &voters[i];
        }
        for (uint32_t i = 1; i <= sim_cluster.n_members; i++) {
                Argosy__PeersFile peers = ARGOSY__PEERS_FILE__INIT;

                node.node = i;
                peers.cluster_id =
                        (ProtobufCBinaryData){sizeof(sim_cluster.cluster_id), sim_cluster.cluster_id};
                peers.generation = 1;
                peers.host = i;
                peers.raft_id = i <= sim_cluster.n_voters ? i : 0;
                peers.voters = pointers;
                peers.n_voters = sim_cluster.n_voters;
                peers.nodes = nodes;
                peers.n_nodes = 1;
                sim_check(state_dir_save_peers(sim_cluster.members[i].options.paths.state_dir, &peers),
                          "peers");
        }
}

static void fill_host(uint32_t number, Argosy__HostRecord *h, uint8_t id[16], char hex[33],
                      Argosy__NodeRecord *const *node) {
        const Member *b = &sim_cluster.members[number];
        char name[16];
        Hash hash;

        argosy__host_record__init(h);
        memset(id, (int) number, 16);
        // as units of stories name them
        hash = hash_of(name, (size_t) snprintf(name, sizeof(name), "n%u", number));
        hash_hex(&hash, 16, hex);
        h->host_id = (ProtobufCBinaryData){16, id};
        h->machine_id = hex;
        h->name = (char *) oom_checked(str_printf("n%u", number)); // as long as the process
        h->address = (char *) b->address;
        h->port = SIM_PORT;
        h->key_pin = (ProtobufCBinaryData){HASH_SIZE, (uint8_t *) b->identity.pin.bytes};
        h->role = number <= sim_cluster.n_voters ? ARGOSY__HOST_ROLE__ROLE_VOTER
                                                 : ARGOSY__HOST_ROLE__ROLE_SPARE;
        h->nodes = (Argosy__NodeRecord **) node;
        h->n_nodes = 1;
        h->raft_id = number <= sim_cluster.n_voters ? number : 0;
}

// What a log of theirs begins with: the cluster, and all of them.
static void begin_log(void) {
        Argosy__LogBatch batch = ARGOSY__LOG_BATCH__INIT;
        Argosy__ClusterRecord record = ARGOSY__CLUSTER_RECORD__INIT;
        Argosy__CaRecord ca = ARGOSY__CA_RECORD__INIT;
        Argosy__VoterSecretRecord key = ARGOSY__VOTER_SECRET_RECORD__INIT, *keys[] = {&key};
        Argosy__HostRecord hosts[SIM_CLUSTER_MAX];
        Argosy__NodeRecord node = ARGOSY__NODE_RECORD__INIT, *nodes[] = {&node};
        Argosy__LogOp ops[SIM_CLUSTER_MAX + 1], *pointers[SIM_CLUSTER_MAX + 1];
        uint32_t numbers[SIM_CLUSTER_MAX];
        uint8_t ids[SIM_CLUSTER_MAX][16], *packed;
        char hex[SIM_CLUSTER_MAX][33];
        size_t len;

        node.manager = (char *) "system";
        for (uint32_t i = 0; i <= sim_cluster.n_members; i++) {
                argosy__log_op__init(&ops[i]);
                pointers[i] = &ops[i];
        }
        for (uint32_t i = 0; i < sim_cluster.n_members; i++) {
                numbers[i] = i + 1;
                fill_host(i + 1, &hosts[i], ids[i], hex[i], nodes);
                ops[i + 1].op_case = ARGOSY__LOG_OP__OP_HOST;
                ops[i + 1].host = &hosts[i];
        }
        ca.cert = (ProtobufCBinaryData){sim_cluster.ca.cert.len, sim_cluster.ca.cert.data};
        ca.number = 1;
        key.name = (char *) VOTER_SECRET_CA;
        key.number = 1;
        key.fingerprint = (ProtobufCBinaryData){HASH_SIZE, sim_cluster.secrets.list[0].fingerprint.bytes};
        key.kept_by = numbers;
        key.n_kept_by = sim_cluster.n_voters;
        record.cluster_id = (ProtobufCBinaryData){sizeof(sim_cluster.cluster_id), sim_cluster.cluster_id};
        record.generation = 1;
        record.feature_level = FEATURE_LEVEL;
        record.ca = &ca;
        record.voters_wanted = (uint32_t) sim_cluster.n_voters;
        record.lease_ms = SIM_LEASE_MS;
        record.voter_secrets = keys;
        record.n_voter_secrets = 1;
        ops[0].op_case = ARGOSY__LOG_OP__OP_CLUSTER;
        ops[0].cluster = &record;
        batch.ops = pointers;
        batch.n_ops = sim_cluster.n_members + 1;
        batch.at_us = SIM_WALL_US;
        len = argosy__log_batch__get_packed_size(&batch);
        packed = oom_checked(malloc(len));
        argosy__log_batch__pack(&batch, packed);
        sim_store_begin(numbers, sim_cluster.n_voters, packed, len);
        free(packed);
        for (size_t i = 0; i < sim_cluster.n_members; i++)
                free(hosts[i].name);
}

void sim_cluster_on_end(const SimEndings *endings) {
        sim_cluster.endings = *endings;
}

size_t sim_cluster_size(void) {
        return sim_cluster.n;
}

const char *sim_machine_address(const SimMachine *m) {
        return sim_cluster.members[m->number].address;
}

void sim_machine_set_address(SimMachine *m, const char *address, uint64_t route_us) {
        Member *b = &sim_cluster.members[m->number];

        if (*address)
                str_fit(b->address, sizeof(b->address), "%s", address);
        sim_net_set_address(m->host, address);
        sim_addresses_changed(m->host, route_us);
}

void sim_machine_write_config(SimMachine *m) {
        write_config(&sim_cluster.members[m->number]);
}

SimMachine *sim_machine(uint32_t number) {
        return number > 0 && number <= sim_cluster.n ? &sim_cluster.members[number].machine : NULL;
}

void sim_cluster_begin(uint64_t word, size_t n, size_t n_voters, size_t n_fresh,
                       const SimSettings *settings) {
        static const uint8_t map_seed[16] = "whole hosts";

        map_set_seed(map_seed);
        sim_begin(word);
        sim_net_begin();
        sim_on_end(sim_machine_on_end);
        sim_users_begin();
        memset(&sim_cluster, 0, sizeof(sim_cluster));
        sim_cluster.n_members = n;
        sim_cluster.n_voters = n_voters;
        // Where a sync costs nothing, if there is such a place.
        str_fit(sim_cluster.dir, sizeof(sim_cluster.dir), "%s/argosy-sim-XXXXXX",
                access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        if (!mkdtemp(sim_cluster.dir) || chdir(sim_cluster.dir) < 0)
                abort();
        sim_disk_begin(HERE);
        random_bytes(sim_cluster.cluster_id, sizeof(sim_cluster.cluster_id));
        sim_x509_ca("of the CA", &sim_cluster.ca);
        sim_check(voter_secrets_put(&sim_cluster.secrets, VOTER_SECRET_CA, 1, sim_cluster.ca.key.data,
                                sim_cluster.ca.key.len),
              "secret");
        for (uint32_t i = 1; i <= n + n_fresh; i++)
                make_member(i, settings);
        sim_cluster.n = n + n_fresh;
        write_peers();
        begin_log();
        for (uint32_t i = 1; i <= sim_cluster.n; i++)
                sim_disk_adopt(i);
}

void sim_cluster_remove(void) {
        if (!*sim_cluster.dir)
                return;
        (void) dir_empty(AT_FDCWD, sim_cluster.dir);
        if (chdir("/") == 0)
                (void) rmdir(sim_cluster.dir);
}

void sim_cluster_end(void) {
        for (uint32_t i = 1; i <= sim_cluster.n; i++) {
                Member *b = &sim_cluster.members[i];

                sim_machine_kill(&b->machine);
                sim_user_free(&b->machine);
                pid1_free(b->machine.pid1);
                free(b->machine.dir);
                free(b->machine.socket);
                identity_done(&b->identity);
                paths_done(&b->options.paths);
        }
        sim_store_end();
        sim_disk_end();
        sim_net_end();
        sim_end();
        voter_secrets_done(&sim_cluster.secrets);
        ca_done(&sim_cluster.ca);
        sim_cluster_remove();
}
