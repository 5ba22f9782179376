// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A leader for one agent: it sends what the test tells it to and keeps the newest report of every unit. Unit
// files, ledger and fence are real, in a directory of the test. The test says whom the agent is connected to
// (w.systemd) before agent_up().

#include "feature-level.h"
#include "loop.h"
#include "tmpdir.h"

#include "agent.h"
#include "clock.h"
#include "fence.h"
#include "hash.h"
#include "log.h"
#include "map.h"
#include "str.h"

enum { NODE = 7, HOST_PORT = 7402 };

typedef struct Seen { // the newest report of a unit
        Argosy__UnitReport *report;
        char name[];
} Seen;

typedef struct World {
        char *dir, *unit_dir, *foreign_dir;
        const char *cgroup_root; // NULL: none is known
        const char *take_from;   // NULL: what others have left behind is refused
        SystemdConfig systemd;   // whom the agent is connected to
        Agent *agent;
        uint64_t unanswered_us; // AgentOps.beat
        bool watched;           // AgentOps.leader_is_watched
        bool verifies;           // contents are looked at before they replace what runs
        bool attaches_again;     // a manager that has gone, at once
        bool closed, cut, attached, stopping, cleared;
        Map seen;
        Argosy__ToVoter *attach, *goodbye, *fleet_units, *admits; // the newest ones
        uint32_t beat_ms;                  // of the next Welcome; 0: 20
        uint64_t reports_us,
                reports_gap_us; // boot time of the last message with reports; the shortest time between two
        uint32_t offers_cpu_milli; // that its next Attach says
        unsigned n_parts; // behind the last Attach
        size_t n_held;    // units that these name
        bool last_part;   // nothing more follows
        unsigned n_attaches, n_beats, n_report_messages, n_node_reports;
        uint64_t last_beat, reported_ms; // reported_ms: of the last beat
        bool quiet;                  // it was
        unsigned n_quiet;            // beats that were
        uint64_t wall_ms;            // of the last beat that said one
        unsigned n_walls;            // beats that did
        uint64_t lived_ms;           // of the last reports that have it
        Hash file_asked;         // of the newest FileAsk
        uint64_t file_asked_from;
        char file_asked_for[256]; // unit
        unsigned n_file_asks, n_admits;
        Argosy__ToVoter *call_reply;
        unsigned n_call_replies, n_call_errors;
        const char *secrets_dir; // NULL: it has no place for secrets
        // what the next orders carry
        uint64_t generation, term, index;
        Argosy__SecretValue **secret_values;
        size_t n_secret_values;
} World;

static World w;

// ---- the leader's side

static inline void note_report(const Argosy__UnitReport *report) {
        size_t len = argosy__unit_report__get_packed_size(report);
        uint8_t *bytes = malloc(len + 1);
        Seen *seen = map_find_str(&w.seen, report->name);

        argosy__unit_report__pack(report, bytes);
        if (!seen) {
                seen = calloc(1, sizeof(*seen) + strlen(report->name) + 1);
                strcpy(seen->name, report->name);
                assert_int_equal(map_add_str(&w.seen, seen->name, seen), 0);
        } else {
                argosy__unit_report__free_unpacked(seen->report, NULL);
        }
        seen->report = argosy__unit_report__unpack(NULL, len, bytes);
        free(bytes);
}

static inline Argosy__ToVoter *copy(const Argosy__ToVoter *m) {
        size_t len = argosy__to_voter__get_packed_size(m);
        uint8_t *bytes = malloc(len + 1);

        argosy__to_voter__pack(m, bytes);
        Argosy__ToVoter *ret = argosy__to_voter__unpack(NULL, len, bytes);
        free(bytes);
        return ret;
}

static inline void keep(Argosy__ToVoter **where, const Argosy__ToVoter *m) {
        if (*where)
                argosy__to_voter__free_unpacked(*where, NULL);
        *where = copy(m);
}

static inline int on_send(const Argosy__ToVoter *m, void *userdata) {
        if (w.cut)
                return -ENOTCONN;
        switch (m->msg_case) {
        case ARGOSY__TO_VOTER__MSG_ATTACH:
                keep(&w.attach, m);
                w.n_attaches++;
                w.n_parts = w.n_held = 0;
                w.last_part = !m->attach->parts;
                break;
        case ARGOSY__TO_VOTER__MSG_ATTACH_PART:
                assert_int_equal(m->attach_part->seq, w.attach->attach->seq);
                w.n_parts++;
                w.n_held += m->attach_part->n_held;
                w.last_part = m->attach_part->last;
                break;
        case ARGOSY__TO_VOTER__MSG_GOODBYE:
                keep(&w.goodbye, m);
                break;
        case ARGOSY__TO_VOTER__MSG_BEAT:
                w.n_beats++;
                w.last_beat = m->beat->seq;
                w.reported_ms = m->beat->reported_ms;
                w.quiet = m->beat->quiet;
                w.n_quiet += m->beat->quiet;
                w.n_walls += m->beat->wall_ms > 0;
                w.wall_ms = m->beat->wall_ms ?: w.wall_ms;
                break;
        case ARGOSY__TO_VOTER__MSG_REPORTS:
                w.n_report_messages++;
                w.reports_gap_us = MIN_OF(w.reports_gap_us, clock_boot_us() - w.reports_us);
                w.reports_us = clock_boot_us();
                w.lived_ms = m->reports->lived_ms ?: w.lived_ms;
                for (size_t i = 0; i < m->reports->n_reports; i++)
                        note_report(m->reports->reports[i]);
                break;
        case ARGOSY__TO_VOTER__MSG_NODE_REPORTS:
                w.n_node_reports++;
                break;
        case ARGOSY__TO_VOTER__MSG_FLEET_UNITS:
                keep(&w.fleet_units, m);
                break;
        case ARGOSY__TO_VOTER__MSG_FILE_ASK:
                assert_true(hash_from_bytes(m->file_ask->hash.data, m->file_ask->hash.len, &w.file_asked));
                w.file_asked_from = m->file_ask->from;
                str_fit(w.file_asked_for, sizeof(w.file_asked_for), "%s", m->file_ask->unit);
                w.n_file_asks++;
                break;
        case ARGOSY__TO_VOTER__MSG_ADMITS:
                keep(&w.admits, m);
                w.n_admits++;
                break;
        case ARGOSY__TO_VOTER__MSG_CALL_REPLY:
                keep(&w.call_reply, m);
                w.n_call_replies++;
                w.n_call_errors += m->call_reply->response && m->call_reply->response->status != 0;
                break;
        default:
                fail_msg("unexpected message %i", (int) m->msg_case);
        }
        return 0;
}

static inline void on_attached(bool attached, void *userdata) {
        w.attached = attached;
}

static inline void on_beat(uint64_t unanswered_us, void *userdata) {
        w.unanswered_us = unanswered_us;
}

static inline bool leader_is_watched(void *userdata) {
        return w.watched;
}

static inline void on_stopping(void *userdata) {
        w.stopping = true;
}

static inline void on_manager_gone(const char *manager, void *userdata) {
        char *why = NULL;

        if (w.attaches_again && agent_manager_attach(w.agent, manager, 0, &why) < 0)
                fail_msg("%s", why);
}

static inline void on_fatal(const char *why, void *userdata) {
        fail_msg("%s", why);
}

static inline void on_attaching(AgentSelf *ret, void *userdata) {
        *ret = (AgentSelf){.address = "192.0.2.1", .address_name = "", .cpu_milli = w.offers_cpu_milli};
}

static const AgentOps ops = {.send = on_send,
                             .attaching = on_attaching,
                             .fatal = on_fatal,
                             .attached = on_attached,
                             .beat = on_beat,
                             .leader_is_watched = leader_is_watched,
                             .stopping = on_stopping,
                             .manager_gone = on_manager_gone};

// One order; what is not named is as for a unit that is launched once.
typedef struct Order {
        const char *name, *content;
        bool from_template, loaded_only, remove, stay;
        uint64_t revision, start, restart, stop;
        Argosy__Outcome__Kind outcome;
        Argosy__OrderSecret **secrets;
        size_t n_secrets;
} Order;

typedef struct Parcel {
        Argosy__Spec specs[1024], *spec_list[1024];
        Argosy__UnitOrder orders[1024], *order_list[1024];
        Argosy__Outcome outcomes[1024];
        Hash hashes[1024];
} Parcel;

static inline void pack_order(Parcel *p, size_t i, const Order *o) {
        p->order_list[i] = &p->orders[i];
        p->spec_list[i] = &p->specs[i];
        argosy__unit_order__init(&p->orders[i]);
        argosy__spec__init(&p->specs[i]);
        p->orders[i].node = NODE;
        p->orders[i].name = (char *) o->name;
        p->orders[i].revision = o->revision;
        p->orders[i].stay = o->stay;
        p->orders[i].remove = o->remove;
        if (o->remove)
                return;
        p->hashes[i] = hash_of(o->content, strlen(o->content));
        p->specs[i].hash = p->orders[i].spec = (ProtobufCBinaryData){HASH_SIZE, p->hashes[i].bytes};
        p->specs[i].content = (ProtobufCBinaryData){strlen(o->content), (uint8_t *) o->content};
        p->orders[i].from_template = o->from_template;
        p->orders[i].target =
                o->loaded_only ? ARGOSY__TARGET__TARGET_LOADED : ARGOSY__TARGET__TARGET_LAUNCHED;
        p->orders[i].start_rev = o->start;
        p->orders[i].restart_rev = o->restart;
        p->orders[i].stop_rev = o->stop;
        p->orders[i].secrets = o->secrets;
        p->orders[i].n_secrets = o->n_secrets;
        if (o->outcome != ARGOSY__OUTCOME__KIND__NONE) {
                argosy__outcome__init(&p->outcomes[i]);
                p->outcomes[i].kind = o->outcome;
                p->outcomes[i].start_rev = o->start;
                p->orders[i].outcome = &p->outcomes[i];
        }
}

static inline void send_orders(const Order *orders, size_t n) {
        Argosy__ToHost m = ARGOSY__TO_HOST__INIT;
        Argosy__ToHost__Orders o = ARGOSY__TO_HOST__ORDERS__INIT;
        Parcel *p = calloc(1, sizeof(*p));

        assert_true(n <= ELEMENTSOF(p->orders));
        for (size_t i = 0; i < n; i++)
                pack_order(p, i, &orders[i]);
        o.generation = w.generation;
        o.term = w.term;
        o.index = w.index++;
        o.orders = p->order_list;
        o.specs = p->spec_list;
        o.n_orders = o.n_specs = n;
        o.secrets = w.secret_values;
        o.n_secrets = w.n_secret_values;
        if (n > 0 && orders[0].remove)
                o.n_specs = 0;
        m.msg_case = ARGOSY__TO_HOST__MSG_ORDERS;
        m.orders = &o;
        agent_on_message(w.agent, &m);
        free(p);
}

static inline void send_order(Order o) {
        send_orders(&o, 1);
}

// The Welcome after so many parts; or with `part` one of them.
static inline void send_wanted(const Order *orders, size_t n, uint32_t lease_ms, bool part, uint32_t parts) {
        Argosy__ToHost m = ARGOSY__TO_HOST__INIT;
        Argosy__ToHost__Welcome welcome = ARGOSY__TO_HOST__WELCOME__INIT;
        Argosy__ToHost__WelcomePart p_message = ARGOSY__TO_HOST__WELCOME_PART__INIT;
        Argosy__NodeRecord node = ARGOSY__NODE_RECORD__INIT, *nodes[] = {&node};
        Parcel *p = calloc(1, sizeof(*p));

        for (size_t i = 0; i < n; i++)
                pack_order(p, i, &orders[i]);
        node.node = NODE;
        node.manager = (char *) "system";
        welcome.seq = p_message.seq = w.attach->attach->seq;
        welcome.generation = p_message.generation = w.generation;
        welcome.term = p_message.term = w.term;
        welcome.index = p_message.index = w.index++;
        welcome.lease_ms = lease_ms;
        welcome.beat_ms = w.beat_ms ?: 20;
        welcome.parts = parts;
        welcome.nodes = p_message.nodes = nodes;
        welcome.n_nodes = p_message.n_nodes = 1;
        welcome.orders = p_message.orders = p->order_list;
        welcome.specs = p_message.specs = p->spec_list;
        welcome.n_orders = welcome.n_specs = p_message.n_orders = p_message.n_specs = n;
        welcome.secrets = p_message.secrets = w.secret_values;
        welcome.n_secrets = p_message.n_secrets = w.n_secret_values;
        m.msg_case = part ? ARGOSY__TO_HOST__MSG_WELCOME_PART : ARGOSY__TO_HOST__MSG_WELCOME;
        if (part)
                m.welcome_part = &p_message;
        else
                m.welcome = &welcome;
        agent_on_message(w.agent, &m);
        free(p);
}

static inline void send_welcome(const Order *orders, size_t n, uint32_t lease_ms) {
        send_wanted(orders, n, lease_ms, false, 0);
}

static inline void send_welcome_part(const Order *orders, size_t n) {
        send_wanted(orders, n, 0, true, 0);
}

// ---- the world

static inline void agent_up(void) {
        _cleanup_free_ char *why = NULL;
        const char *foreign[] = {w.foreign_dir, NULL};
        AgentConfig config = {
                .loop = &test_loop,
                .state_dir = w.dir,
                .runtime_dir = w.dir,
                .unit_dir = w.unit_dir,
                .foreign_dirs = foreign,
                .systemd = w.systemd,
                .cgroup_root = w.cgroup_root,
                .take_from = w.take_from,
                .verifies = w.verifies,
                .secrets_dir = w.secrets_dir,
                .secrets_any_fs = true,
                .runner = "/bin/false", // no test asks this machine's systemd for a service
                .host_name = "one",
                .port = HOST_PORT,
        };
        int r = agent_new(&config, &ops, NULL, &w.agent, &why);

        if (r < 0)
                fail_msg("%s", why);
}

static inline void on_closed(void *userdata) {
        w.closed = true;
}

// As kill -9 does it: nobody is told, nothing is waited for.
static inline void agent_down(void) {
        w.closed = false;
        agent_close(w.agent, on_closed, NULL);
        loop_until(w.closed);
        w.agent = NULL;
        w.attached = false;
}

static inline void agent_restart(void) {
        agent_down();
        agent_up();
}

// As a leader does it: each Attach has its answer. On a slow machine one is repeated while its Welcome waits
// for the disk, and that Welcome is void then.
#define welcome_until(orders, n, condition)                                  \
        do {                                                                 \
                unsigned answered_attaches;                                  \
                                                                             \
                do {                                                         \
                        answered_attaches = w.n_attaches;                    \
                        send_welcome(orders, n, 60000);                      \
                        loop_until((condition) || w.n_attaches > answered_attaches); \
                } while (!(condition));                                      \
        } while (0)

static inline void meet_leader(const Order *orders, size_t n) {
        unsigned before = w.n_attaches;

        agent_on_leader(w.agent, 1, w.term);
        loop_until(w.n_attaches > before);
        welcome_until(orders, n, w.attached);
}

static inline int rig_up(void) {
        log_set_level(LOG_ERR);
        assert_int_equal(loop_setup(NULL), 0);
        w = (World){.generation = 1, .term = 1, .index = 10, .systemd = {.loop = &test_loop}};
        assert_int_equal(tmpdir_make((void **) &w.dir), 0);
        w.unit_dir = str_printf("%s/system", w.dir);
        w.foreign_dir = str_printf("%s/etc", w.dir);
        assert_int_equal(mkdir(w.unit_dir, 0755), 0);
        assert_int_equal(mkdir(w.foreign_dir, 0755), 0);
        return 0;
}

static inline void seen_free(void *value) {
        Seen *seen = value;

        argosy__unit_report__free_unpacked(seen->report, NULL);
        free(seen);
}

static inline int rig_down(void) {
        Argosy__ToVoter *kept[] = {w.attach, w.goodbye, w.fleet_units, w.admits, w.call_reply};

        assert_null(w.agent);
        map_done_with(&w.seen, seen_free);
        for (size_t i = 0; i < ELEMENTSOF(kept); i++)
                if (kept[i])
                        argosy__to_voter__free_unpacked(kept[i], NULL);
        free(w.unit_dir);
        free(w.foreign_dir);
        assert_int_equal(tmpdir_drop((void **) &w.dir), 0);
        assert_int_equal(loop_teardown(NULL), 0);
        return 0;
}

static inline const Argosy__UnitReport *report_of(const char *name) {
        Seen *seen = map_find_str(&w.seen, name);

        return seen ? seen->report : NULL;
}

static inline void forget_reports(void) {
        map_done_with(&w.seen, seen_free);
        w.n_attaches = 0;
}

static inline bool answered(const char *name, uint64_t revision) {
        const Argosy__UnitReport *r = report_of(name);

        return r && r->revision == revision;
}

// Until it is answered.
static inline void order_and_wait(Order o) {
        send_order(o);
        loop_until(answered(o.name, o.revision));
}

static inline bool is_gone(const char *name) {
        const Argosy__UnitReport *r = report_of(name);

        return r && r->gone;
}

static inline bool has_file(const char *name) {
        _cleanup_free_ char *path = str_printf("%s/%s", w.unit_dir, name);

        return access(path, F_OK) == 0;
}

static inline void write_foreign(const char *name) {
        _cleanup_free_ char *path = str_printf("%s/%s", w.foreign_dir, name);

        assert_int_equal(file_replace(AT_FDCWD, path, "[Service]\n", 10, 0644, 0), 0);
}

static const char web[] _unused_ = "[Service]\nExecStart=/bin/sleep 1\n",
                        web2[] _unused_ = "[Service]\nExecStart=/bin/sleep 2\n",
                        job[] _unused_ = "[Service]\nType=oneshot\nExecStart=/bin/true\n",
                        bad[] _unused_ = "[Service]\nExecStart=/bin/false\n",
                        broken[] _unused_ = "[Service]\nExecStart=/bin/true\n[Broken\n";
