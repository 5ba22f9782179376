// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See sim-host.h. What the daemon asks the machine for is answered in sim-facts.c.
#include "sim-host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "argosy.pb-c.h"
#include "ca.h"
#include "clock.h"
#include "daemon-listen.h"
#include "daemon.h"
#include "fake-pid1.h"
#include "feature-level.h"
#include "fileio.h"
#include "identity.h"
#include "lease-file.h"
#include "map.h"
#include "oom.h"
#include "paths.h"
#include "random.h"
#include "run-private.h"
#include "run.h"
#include "sim-addresses.h"
#include "sim-disk.h"
#include "sim-store.h"
#include "sim-users.h"
#include "sim-x509.h"
#include "state-dir.h"
#include "str.h"
#include "tls-context.h"
#include "unit-state.h"
#include "voter-secrets.h"

// How hosts know it, whose words, some of which enter the log, name files: the same in each process.
#define HERE "/proc/self/cwd"

typedef struct Member {
        SimMachine machine;
        RunOptions options;
        Identity identity;
        char address[16];
} Member;

static struct {
        char dir[64];
        Member members[SIM_CLUSTER_MAX + 1];
        size_t n, n_members, n_voters; // machines; of these members at first, and voters
        uint8_t cluster_id[16];
        Ca ca;
        VoterSecrets secrets;
        SimEndings endings;
        void (*changed)(SimMachine *m, const char *name, Argosy__ActiveState was, Argosy__ActiveState is);
} cluster;

static void check(int r, const char *what) {
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
        check(identity_renew(ret, name, &csr), "identity");
        check(ca_sign(&cluster.ca, csr.data, csr.len, name, &ret->cert, &ret->pin), "identity");
        check(buf_append(&ret->ca_cert, cluster.ca.cert.data, cluster.ca.cert.len), "identity");
}

// ------------------------------------------------------------------------------------------------ guards

// As argosy-guard reads it; 0: there is none.
static uint64_t read_lease(const SimMachine *m) {
        _cleanup_free_ char *file = oom_checked(str_printf("%s/run/lease", m->dir));
        _cleanup_buf_ Buf content = {};
        const LeaseFile *lease;

        if (file_read(AT_FDCWD, file, 4096, &content) < 0 || content.len < sizeof(*lease))
                return 0;
        lease = (const LeaseFile *) content.data;
        return memcmp(lease->magic, LEASE_FILE_MAGIC, sizeof(lease->magic)) == 0
                       ? atomic_load(&lease->until_us)
                       : 0;
}

static void look_at_guards(void *data);

// Guards look when their time is over, by the lease as it is now.
static void set_guard(SimMachine *m) {
        int sec = pid1_least_guard_sec(m->pid1);
        uint64_t over_us = read_lease(m) + (uint64_t) MAX_OF(sec, 0) * USEC_PER_SEC,
                 now_us = sim_host_boot_us(m->host);
        uint64_t at_us = sim_now_us() + (over_us > now_us ? over_us - now_us : 0);

        if (sec < 0 || (m->guard_us > 0 && m->guard_us <= at_us && m->guard_us >= sim_now_us()))
                return;
        m->guard_us = at_us;
        sim_at(at_us, NULL, look_at_guards, m);
}

typedef struct GuardsEnd {
        FakePid1 *pid1;
        int sec;
} GuardsEnd;

static void run_guards_end(void *data) {
        const GuardsEnd *e = data;

        pid1_guards_fail(e->pid1, e->sec);
}

static void look_at_guards(void *data) {
        SimMachine *m = data;
        uint64_t until_us = read_lease(m), now_us = sim_host_boot_us(m->host);
        GuardsEnd e = {m->pid1, 0};

        if (m->guard_us != sim_now_us())
                return;
        m->guard_us = 0;
        if (!m->powered || pid1_least_guard_sec(m->pid1) < 0)
                return;
        if (until_us <= now_us) {
                e.sec = (int) ((now_us - until_us) / USEC_PER_SEC);
                sim_machine_do(m, run_guards_end, &e);
        }
        set_guard(m);
}

static void guard_soon(void *data) {
        SimMachine *m = data;

        if (m->powered)
                set_guard(m);
}

static void on_unit(const char *name, Argosy__ActiveState was, Argosy__ActiveState is, void *userdata) {
        SimMachine *m = userdata;

        if (active_state_is_down(was) && !active_state_is_down(is))
                sim_at(sim_now_us(), NULL, guard_soon, m);
        if (cluster.changed)
                cluster.changed(m, name, was, is);
}

void sim_cluster_on_unit(void (*changed)(SimMachine *m, const char *name, Argosy__ActiveState was,
                                         Argosy__ActiveState is)) {
        cluster.changed = changed;
}

static unsigned draw_for_pid1(unsigned n) {
        return draw_below(sim_draw(), n);
}

static void look_on(SimMachine *m, FakePid1 *p) {
        pid1_on_change(p, on_unit, m);
        pid1_set_chance(p, draw_for_pid1);
}

static void make_pid1(SimMachine *m) {
        _cleanup_free_ char *units = oom_checked(str_printf("%s/units", m->dir));

        m->pid1 = pid1_new(units);
        m->guard_us = 0;
        look_on(m, m->pid1);
        sim_user_make(m);
        if (m->user.pid1)
                look_on(m, m->user.pid1);
}

// ------------------------------------------------------------------------------------------------ places

uint32_t sim_next_place(uint32_t place) {
        uint32_t number = sim_place_number(place);

        if (number > 0 && place < SIM_USER_PLACE && sim_machine(number)->user.pid1)
                return number + SIM_USER_PLACE;
        return number < cluster.n ? number + 1 : 0;
}

SimMachine *sim_place_machine(uint32_t place) {
        return sim_machine(sim_place_number(place));
}

FakePid1 *sim_place_pid1(uint32_t place) {
        const SimMachine *m = sim_place_machine(place);

        if (!m || !m->powered)
                return NULL;
        return place >= SIM_USER_PLACE ? m->user.pid1 : m->pid1;
}

const char *sim_place_name(uint32_t place) {
        static char names[8][32];
        static unsigned next;
        char *ret = names[next++ % ELEMENTSOF(names)];

        str_fit(ret, sizeof(names[0]), "n%u%s", sim_place_number(place),
                place >= SIM_USER_PLACE ? "/" SIM_USER_MANAGER : "");
        return ret;
}

void sim_machine_do(const SimMachine *m, void (*run)(void *data), void *data) {
        if (m->daemon)
                (void) sim_host_do(m->host, run, data);
        else
                run(data);
}

// ------------------------------------------------------------------------------- the beginning of a cluster

static char *path(const SimMachine *m, const char *name) {
        return oom_checked(str_printf("%s/%s", m->dir, name));
}

static void write_config(const Member *b) {
        _cleanup_free_ char *file = path(&b->machine, "etc/argosy.conf"), *text = NULL;

        text = oom_checked(
                str_printf("[Node]\nName=n%u\n%s%s\nPort=%i\n[Http]\nListen=none\n[Log]\nLevel=3\n%s",
                           b->machine.number, b->machine.settings.finds_address ? "" : "Address=",
                           b->machine.settings.finds_address ? "" : b->address, SIM_PORT,
                           b->machine.settings.more ?: ""));
        check(file_replace(AT_FDCWD, file, text, strlen(text), 0600, 0), file);
}

static void make_options(Member *b) {
        Paths *p = &b->options.paths;

        p->state_dir = path(&b->machine, "state");
        p->runtime_dir = path(&b->machine, "run");
        p->config_dirs = oom_checked(calloc(2, sizeof(char *)));
        p->config_dirs[0] = path(&b->machine, "etc");
        p->manager.socket = path(&b->machine, "private");
        p->manager.unit_dir = path(&b->machine, "units");
        p->manager.search_dirs = oom_checked(calloc(3, sizeof(char *)));
        p->manager.search_dirs[0] = path(&b->machine, "foreign");
        p->manager.search_dirs[1] = path(&b->machine, "units");
        p->runtime_mode = 0755;
        p->socket_mode = 0660;
}

static void make_member(uint32_t number, const SimSettings *settings) {
        static const char *const dirs[] = {"", "/state", "/run", "/etc", "/units", "/foreign"};
        Member *b = &cluster.members[number];
        SimMachine *m = &b->machine;

        *m = (SimMachine){.number = number,
                          .powered = true,
                          .dir = oom_checked(str_printf(HERE "/%u", number)),
                          .settings = settings ? settings[number - 1] : (SimSettings){}};
        m->socket = path(m, "run/argosy.sock");
        for (size_t i = 0; i < ELEMENTSOF(dirs); i++) {
                _cleanup_free_ char *dir = oom_checked(str_printf("%s%s", m->dir, dirs[i]));

                check(mkdir(dir, 0755) < 0 ? -errno : 0, dir);
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
        if (number <= cluster.n_members) {
                make_identity(number, &b->identity);
                check(identity_save(b->options.paths.state_dir, &b->identity), "identity");
                m->pin = b->identity.pin;
                m->in_cluster = true;
        }
        if (number <= cluster.n_voters)
                check(voter_secrets_save(b->options.paths.state_dir, &cluster.secrets), "secrets");
        make_pid1(m);
        sim_user_log_in(m);
}

static void write_peers(void) {
        Argosy__Voter voters[SIM_CLUSTER_MAX], *pointers[SIM_CLUSTER_MAX];
        Argosy__NodeRecord node = ARGOSY__NODE_RECORD__INIT, *nodes[] = {&node};

        node.manager = (char *) "system";
        for (uint32_t i = 0; i < cluster.n_voters; i++) {
                Member *b = &cluster.members[i + 1];

                argosy__voter__init(&voters[i]);
                voters[i].host = voters[i].raft_id = i + 1;
                voters[i].address = b->address;
                voters[i].port = SIM_PORT;
                voters[i].key_pin = (ProtobufCBinaryData){HASH_SIZE, b->identity.pin.bytes};
                pointers[i] = &voters[i];
        }
        for (uint32_t i = 1; i <= cluster.n_members; i++) {
                Argosy__PeersFile peers = ARGOSY__PEERS_FILE__INIT;

                node.node = i;
                peers.cluster_id = (ProtobufCBinaryData){sizeof(cluster.cluster_id), cluster.cluster_id};
                peers.generation = 1;
                peers.host = i;
                peers.raft_id = i <= cluster.n_voters ? i : 0;
                peers.voters = pointers;
                peers.n_voters = cluster.n_voters;
                peers.nodes = nodes;
                peers.n_nodes = 1;
                check(state_dir_save_peers(cluster.members[i].options.paths.state_dir, &peers), "peers");
        }
}

static void fill_host(uint32_t number, Argosy__HostRecord *h, uint8_t id[16], char hex[33],
                      Argosy__NodeRecord *const *node) {
        const Member *b = &cluster.members[number];
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
        h->role = number <= cluster.n_voters ? ARGOSY__HOST_ROLE__ROLE_VOTER : ARGOSY__HOST_ROLE__ROLE_SPARE;
        h->nodes = (Argosy__NodeRecord **) node;
        h->n_nodes = 1;
        h->raft_id = number <= cluster.n_voters ? number : 0;
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
        for (uint32_t i = 0; i <= cluster.n_members; i++) {
                argosy__log_op__init(&ops[i]);
                pointers[i] = &ops[i];
        }
        for (uint32_t i = 0; i < cluster.n_members; i++) {
                numbers[i] = i + 1;
                fill_host(i + 1, &hosts[i], ids[i], hex[i], nodes);
                ops[i + 1].op_case = ARGOSY__LOG_OP__OP_HOST;
                ops[i + 1].host = &hosts[i];
        }
        ca.cert = (ProtobufCBinaryData){cluster.ca.cert.len, cluster.ca.cert.data};
        ca.number = 1;
        key.name = (char *) VOTER_SECRET_CA;
        key.number = 1;
        key.fingerprint = (ProtobufCBinaryData){HASH_SIZE, cluster.secrets.list[0].fingerprint.bytes};
        key.kept_by = numbers;
        key.n_kept_by = cluster.n_voters;
        record.cluster_id = (ProtobufCBinaryData){sizeof(cluster.cluster_id), cluster.cluster_id};
        record.generation = 1;
        record.feature_level = FEATURE_LEVEL;
        record.ca = &ca;
        record.voters_wanted = (uint32_t) cluster.n_voters;
        record.lease_ms = SIM_LEASE_MS;
        record.voter_secrets = keys;
        record.n_voter_secrets = 1;
        ops[0].op_case = ARGOSY__LOG_OP__OP_CLUSTER;
        ops[0].cluster = &record;
        batch.ops = pointers;
        batch.n_ops = cluster.n_members + 1;
        batch.at_us = SIM_WALL_US;
        len = argosy__log_batch__get_packed_size(&batch);
        packed = oom_checked(malloc(len));
        argosy__log_batch__pack(&batch, packed);
        sim_store_begin(numbers, cluster.n_voters, packed, len);
        free(packed);
        for (size_t i = 0; i < cluster.n_members; i++)
                free(hosts[i].name);
}

// Nothing but the last word about it counts.
static void start_again(void *data) {
        SimMachine *m = data;

        if (m->start_us == sim_now_us() && !m->daemon)
                sim_machine_start(m);
}

static void start_later(SimMachine *m, uint64_t us) {
        m->start_us = sim_now_us() + us;
        sim_at(m->start_us, NULL, start_again, m);
}

// argosyd of it runs no more, and all that was its own is closed.
static void forget_daemon(SimMachine *m, bool silent) {
        sim_net_host_gone(m->host, silent);
        sim_user_abandon(m);
        sim_disk_let_go(m->number);
        sim_disk_die_at(m->number, 0);
        if (!silent) // its kernel has sent what it was given
                pid1_read_what_was_sent(m->pid1);
        if (!silent && m->user.pid1)
                pid1_read_what_was_sent(m->user.pid1);
        pid1_abandon(m->pid1);
        if (m->user.pid1)
                pid1_abandon(m->user.pid1);
        m->daemon = NULL;
}

static void on_died(SimMachine *m) {
        if (m->dies_with_power)
                sim_machine_power_off(m);
        if (cluster.endings.died)
                cluster.endings.died(m);
        start_later(m, m->back_us);
}

static void on_end(SimHost *h, int status) {
        SimMachine *m = sim_machine(sim_host_number(h));

        if (!m)
                return;
        forget_daemon(m, status == SIM_DIED && m->dies_with_power);
        if (status == SIM_DIED) {
                on_died(m);
                return;
        }
        m->n_ends++;
        if (cluster.endings.ended)
                cluster.endings.ended(m, status);
        start_later(m, SIM_RESTART_US);
}

void sim_cluster_on_end(const SimEndings *endings) {
        cluster.endings = *endings;
}

size_t sim_cluster_size(void) {
        return cluster.n;
}

const char *sim_machine_address(const SimMachine *m) {
        return cluster.members[m->number].address;
}

void sim_machine_set_address(SimMachine *m, const char *address, uint64_t route_us) {
        Member *b = &cluster.members[m->number];

        if (*address)
                str_fit(b->address, sizeof(b->address), "%s", address);
        sim_net_set_address(m->host, address);
        sim_addresses_changed(m->host, route_us);
}

// As SIGHUP has it done.
static void run_hangup(void *data) {
        run_reload(((SimMachine *) data)->daemon);
}

void sim_machine_write_config(SimMachine *m) {
        write_config(&cluster.members[m->number]);
}

void sim_machine_configure(SimMachine *m) {
        sim_machine_write_config(m);
        if (m->daemon && m->daemon->end == DAEMON_RUNNING)
                (void) sim_host_do(m->host, run_hangup, m);
}

bool sim_machine_knows_voter(const SimMachine *m, const Hash *pin) {
        return m->daemon && daemon_listen_judge(pin, ALPN_RAFT, m->daemon) == TLS_MEMBER;
}

SimMachine *sim_machine(uint32_t number) {
        return number > 0 && number <= cluster.n ? &cluster.members[number].machine : NULL;
}

void sim_cluster_begin(uint64_t word, size_t n, size_t n_voters, size_t n_fresh,
                       const SimSettings *settings) {
        static const uint8_t map_seed[16] = "whole hosts";

        map_set_seed(map_seed);
        sim_begin(word);
        sim_net_begin();
        sim_on_end(on_end);
        sim_users_begin();
        memset(&cluster, 0, sizeof(cluster));
        cluster.n_members = n;
        cluster.n_voters = n_voters;
        // Where a sync costs nothing, if there is such a place.
        str_fit(cluster.dir, sizeof(cluster.dir), "%s/argosy-sim-XXXXXX",
                access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        if (!mkdtemp(cluster.dir) || chdir(cluster.dir) < 0)
                abort();
        sim_disk_begin(HERE);
        random_bytes(cluster.cluster_id, sizeof(cluster.cluster_id));
        sim_x509_ca("of the CA", &cluster.ca);
        check(voter_secrets_put(&cluster.secrets, VOTER_SECRET_CA, 1, cluster.ca.key.data,
                                cluster.ca.key.len),
              "secret");
        for (uint32_t i = 1; i <= n + n_fresh; i++)
                make_member(i, settings);
        cluster.n = n + n_fresh;
        write_peers();
        begin_log();
        for (uint32_t i = 1; i <= cluster.n; i++)
                sim_disk_adopt(i);
}

// ------------------------------------------------------------------------------------------------ machines

typedef struct Stopping {
        SimMachine *machine;
        unsigned start; // of the daemon that ends
} Stopping;

enum { STOPPING_LOOK_US = 5000 };

static void look_if_stopped(void *data);

static bool has_ended(const Daemon *d) {
        return d->closing == 0 && d->end != DAEMON_RUNNING && (d->cut_short || run_is_over(d));
}

static void look_when_ended(SimMachine *m) {
        Stopping *s = oom_checked(malloc(sizeof(*s)));

        *s = (Stopping){m, m->n_starts};
        sim_at(sim_now_us() + STOPPING_LOOK_US, NULL, look_if_stopped, s);
}

static void end_stopped(SimMachine *m) {
        bool again = m->daemon->end == DAEMON_RESTART;

        sim_machine_kill(m);
        if (!again)
                return;
        if (cluster.endings.executes)
                cluster.endings.executes(m);
        start_later(m, SIM_EXECUTE_US);
}

static void look_if_stopped(void *data) {
        Stopping *s = data;
        SimMachine *m = s->machine;
        bool is_it = m->daemon && m->n_starts == s->start;

        if (is_it && !has_ended(m->daemon)) {
                sim_at(sim_now_us() + STOPPING_LOOK_US, NULL, look_if_stopped, s);
                return;
        }
        if (is_it)
                end_stopped(m);
        free(s);
}

typedef struct Starting {
        SimMachine *machine;
        int error;
        char *why;
} Starting;

static void note_identity(SimMachine *m) {
        const Daemon *d = m->daemon;

        if (d->identity.key.len > 0)
                m->pin = d->identity.pin;
        if (!d->peers) // it could not read who it is, and is it still
                return;
        m->in_cluster =
                d->peers->cluster_id.len == sizeof(cluster.cluster_id) &&
                memcmp(d->peers->cluster_id.data, cluster.cluster_id, sizeof(cluster.cluster_id)) == 0;
}

static void on_identity_replaced(Daemon *d) {
        run_on_identity_replaced(d);
        look_when_ended(sim_machine(sim_host_number(sim_current())));
}

static void run_start(void *data) {
        Starting *s = data;
        const Member *b = &cluster.members[s->machine->number];
        Daemon *d = s->machine->daemon;

        s->error = daemon_start(d, sim_host_loop(s->machine->host), &b->options, &s->why);
        d->identity_replaced = on_identity_replaced;
        note_identity(s->machine);
}

static void on_refused(SimMachine *m, const Starting *s) {
        m->n_refusals++;
        sim_host_kill(m->host);
        forget_daemon(m, false);
        if (cluster.endings.refused)
                cluster.endings.refused(m, s->why);
        else {
                fprintf(stderr, "host%u does not start: %s\n", m->number, s->why ?: strerror(-s->error));
                abort();
        }
        start_later(m, SIM_RESTART_US);
}

void sim_machine_start(SimMachine *m) {
        Starting s = {.machine = m};

        if (m->held)
                return;
        if (!m->powered)
                sim_user_boot(m);
        m->powered = true;
        m->start_us = 0;
        m->n_starts++;
        m->daemon = oom_checked(calloc(1, sizeof(*m->daemon)));
        pid1_use(m->pid1);
        sim_host_start(m->host);
        if (sim_host_do(m->host, run_start, &s) && s.error < 0)
                on_refused(m, &s);
        free(s.why);
}

void sim_machine_die_at(SimMachine *m, unsigned n, bool power, uint64_t back_us) {
        m->dies_with_power = power;
        m->back_us = back_us;
        sim_disk_die_at(m->number, n);
}

void sim_machine_kill(SimMachine *m) {
        if (!m->daemon)
                return;
        sim_host_kill(m->host);
        forget_daemon(m, false);
}

static void run_stop(void *data) {
        SimMachine *m = data;

        run_end(m->daemon, DAEMON_EXIT);
}

void sim_machine_stop(SimMachine *m) {
        if (m->daemon && sim_host_do(m->host, run_stop, m))
                look_when_ended(m);
}

static void empty(const SimMachine *m, const char *name) {
        _cleanup_free_ char *dir = path(m, name);

        check(dir_empty(AT_FDCWD, dir), dir);
}

void sim_machine_empty(SimMachine *m) {
        empty(m, "state");
        m->in_cluster = false;
        m->pin = (Hash){};
}

typedef struct Recovering {
        const RunOptions *options;
        int r;
        char *said;
} Recovering;

static void run_recover(void *data) {
        Recovering *r = data;

        r->r = recover_here(r->options, &r->said);
}

int sim_machine_recover(SimMachine *m, char **ret_said) {
        Recovering r = {.options = &cluster.members[m->number].options};

        *ret_said = NULL;
        m->powered = true;
        sim_host_start(m->host);
        if (!sim_host_do(m->host, run_recover, &r))
                return 1;
        sim_host_kill(m->host);
        sim_disk_let_go(m->number);
        *ret_said = r.said;
        return r.r;
}

void sim_machine_power_off(SimMachine *m) {
        if (m->daemon) {
                sim_host_kill(m->host);
                forget_daemon(m, true);
        }
        sim_host_boot(m->host);
        sim_disk_cut(m->number);
        m->powered = false;
        sim_user_free(m);
        pid1_free(m->pid1);
        make_pid1(m);
        empty(m, "run");
        empty(m, "units");
}

void sim_cluster_remove(void) {
        if (!*cluster.dir)
                return;
        (void) dir_empty(AT_FDCWD, cluster.dir);
        if (chdir("/") == 0)
                (void) rmdir(cluster.dir);
}

void sim_cluster_end(void) {
        for (uint32_t i = 1; i <= cluster.n; i++) {
                Member *b = &cluster.members[i];

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
        voter_secrets_done(&cluster.secrets);
        ca_done(&cluster.ca);
        sim_cluster_remove();
}
