// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Many managers in one agent: fake systemds on socketpairs, and the real helper for their unit files, in
// directories of the test.

#include "agent-rig.h"

#include "agent-private.h"
#include "fake-systemd.h"
#include "manager-helper.h"
#include "manager-name.h"
#include "message.h"
#include "messages.h"

enum { MANY = 80, UID_BASE = 1000, NODE_BASE = 100 };

typedef struct Other { // a manager that is not the system's
        char name[MANAGER_NAME_MAX];
        FakeSystemd *systemd;
        bool down;
} Other;

static FakeSystemd *systemd; // the system's
static Other others[MANY];
static size_t n_others;
static const char *helper[] = {"/proc/self/exe", "--helper", NULL, NULL};
static int detached; // how often, or the error
static unsigned n_detached;

static inline Other *other(const char *name) {
        for (size_t i = 0; i < n_others; i++)
                if (streq(others[i].name, name))
                        return &others[i];
        return NULL;
}

static inline int open_other(const char *name, void *userdata) {
        Other *o = other(name);

        return !o || o->down ? -ECONNREFUSED : fake_systemd_open(o->systemd);
}

static inline void others_up(void) {
        _cleanup_free_ char *why = NULL;
        const char *foreign[] = {w.foreign_dir, NULL};
        AgentConfig config = {.loop = &test_loop,
                              .state_dir = w.dir,
                              .runtime_dir = w.dir,
                              .unit_dir = w.unit_dir,
                              .foreign_dirs = foreign,
                              .systemd = w.systemd,
                              .helper = helper,
                              .open_manager = open_other,
                              .host_name = "one",
                              .port = HOST_PORT};

        if (agent_new(&config, &ops, NULL, &w.agent, &why) < 0)
                fail_msg("%s", why);
}

FIXTURE(world_up) {
        rig_up();
        systemd = fake_systemd_new(&test_loop, w.unit_dir);
        w.systemd.open_socket = fake_systemd_open;
        w.systemd.open_userdata = systemd;
        helper[2] = w.dir;
        n_others = 0;
        n_detached = 0;
        others_up();
}

static inline int world_down(void **state) {
        if (w.agent)
                agent_down();
        fake_systemd_free(systemd);
        for (size_t i = 0; i < n_others; i++)
                fake_systemd_free(others[i].systemd);
        return rig_down();
}

static inline void dir_of(const char *name, char ret[static 512]) {
        assert_true(snprintf(ret, 512, "%s/%s/systemd/user", w.dir, name) < 512);
}

// A manager with its unit directory; not attached yet.
static inline Other *add_other(unsigned i) {
        Other *o = &others[n_others++];
        _cleanup_free_ char *own = NULL;
        char dir[512];

        *o = (Other){};
        snprintf(o->name, sizeof(o->name), "user@%u", UID_BASE + i);
        own = str_printf("%s/%s", w.dir, o->name);
        assert_int_equal(mkdir(own, 0700), 0);
        dir_of(o->name, dir);
        o->systemd = fake_systemd_new(&test_loop, dir);
        return o;
}

static inline void attach(const Other *o) {
        _cleanup_free_ char *why = NULL;

        if (agent_manager_attach(w.agent, o->name, 0, &why) < 0)
                fail_msg("%s", why);
}

static inline const char *state_of(const char *name) {
        AgentManagerInfo infos[MANY + 1];
        size_t n = agent_managers(w.agent, infos, ELEMENTSOF(infos));

        for (size_t i = 0; i < n; i++)
                if (streq(infos[i].manager, name))
                        return infos[i].state;
        return "none";
}

static inline bool all_online(void) {
        for (size_t i = 0; i < n_others; i++)
                if (!streq(state_of(others[i].name), "online"))
                        return false;
        return true;
}

static inline Other *add_online(unsigned i) {
        Other *o = add_other(i);

        attach(o);
        loop_until(all_online());
        return o;
}

static inline void send_welcome_to_all(Argosy__UnitOrder **orders, size_t n, Argosy__Spec **specs,
                                       size_t n_specs) {
        Argosy__NodeRecord records[MANY + 1], *pointers[MANY + 1];

        for (size_t i = 0; i <= n_others; i++) {
                records[i] = (Argosy__NodeRecord)
                        NODE_RECORD_OF(.node = i < n_others ? (uint32_t) (NODE_BASE + i) : NODE,
                                       .manager = i < n_others ? others[i].name : (char *) "system");
                pointers[i] = &records[i];
        }
        Argosy__ToHost__Welcome welcome =
                MESSAGE_OF(to_host__welcome, .seq = w.attach->attach->seq, .generation = w.generation,
                           .term = w.term, .index = w.index++, .lease_ms = 60000, .beat_ms = 1000,
                           .nodes = pointers, .n_nodes = n_others + 1, .orders = orders, .n_orders = n,
                           .specs = specs, .n_specs = n_specs);
        Argosy__ToHost m =
                MESSAGE_OF(to_host, .msg_case = ARGOSY__TO_HOST__MSG_WELCOME, .welcome = &welcome);
        agent_on_message(w.agent, &m);
}

// Each Attach has its answer (agent-rig.h, welcome_until).
static inline void welcome_all(Argosy__UnitOrder **orders, size_t n, Argosy__Spec **specs, size_t n_specs) {
        unsigned answered;

        do {
                answered = w.n_attaches;
                send_welcome_to_all(orders, n, specs, n_specs);
                loop_until(!w.agent->attach_sent || w.n_attaches > answered);
        } while (w.agent->attach_sent);
        assert_true(w.attached);
}

typedef struct Everywhere { // one unit in each manager
        char names[MANY][64];
        Argosy__UnitOrder orders[MANY], *pointers[MANY];
        Argosy__Spec spec, *specs;
        Hash hash;
} Everywhere;

// `format` gets the number of the manager.
static inline void fill_everywhere(Everywhere *e, const char *format, uint64_t revision,
                                   const char *content) {
        *e = (Everywhere){.spec = ARGOSY__SPEC__INIT, .specs = &e->spec};
        e->hash = hash_of(content, strlen(content));
        e->spec.hash = (ProtobufCBinaryData){HASH_SIZE, e->hash.bytes};
        e->spec.content = (ProtobufCBinaryData){strlen(content), (uint8_t *) content};
        for (size_t i = 0; i < n_others; i++) {
                argosy__unit_order__init(&e->orders[i]);
                snprintf(e->names[i], sizeof(e->names[i]), format, (int) i);
                e->orders[i].node = (uint32_t) (NODE_BASE + i);
                e->orders[i].name = e->names[i];
                e->orders[i].spec = e->spec.hash;
                e->orders[i].target = ARGOSY__TARGET__TARGET_LAUNCHED;
                e->orders[i].revision = e->orders[i].start_rev = revision;
                e->pointers[i] = &e->orders[i];
        }
}

static inline void order_everywhere(const char *format, uint64_t revision, const char *content) {
        static Everywhere e;

        fill_everywhere(&e, format, revision, content);
        Argosy__ToHost__Orders o =
                MESSAGE_OF(to_host__orders, .generation = w.generation, .term = w.term, .index = w.index++,
                           .orders = e.pointers, .n_orders = n_others, .specs = &e.specs, .n_specs = 1);
        agent_on_message(w.agent, A_TO_HOST(ORDERS, orders, &o));
}

static inline void meet(void) {
        unsigned before = w.n_attaches;

        agent_on_leader(w.agent, 1, ++w.term);
        loop_until(w.n_attaches > before);
        welcome_all(NULL, 0, NULL, 0);
}

static inline bool runs_on(const Other *o, const char *name) {
        const char *active = fake_systemd_active(o->systemd, name);

        return active && streq(active, "active");
}

static inline void on_detached(int error, void *userdata) {
        detached = error;
        n_detached++;
}

static inline void detach(const Other *o, bool force) {
        unsigned before = n_detached;

        assert_int_equal(agent_manager_detach(w.agent, o->name, force, on_detached, NULL), 0);
        loop_until(n_detached > before);
        assert_int_equal(detached, 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, world_up, world_down)

// What the agent executes to have unit files written or looked at: DIR MODE MANAGER LEADER BORN.
static inline int helper_main(char **argv) {
        static const uint8_t empty_reply[4] = {};
        _cleanup_free_ char *base = str_printf("%s/%s", argv[0], argv[2]), *own = str_printf("%s/own", base),
                            *dir = str_printf("%s/systemd/user", base), *liar = str_printf("%s/liar", base),
                            *stuck = str_printf("%s/stuck", base);
        const char *dirs[] = {own, dir, NULL};

        // of one helper; that it is gone says that it does
        if (streq(argv[1], "write") && unlink(stuck) == 0)
                return pause();
        if (streq(argv[1], "write"))
                return manager_helper_write(base, "user", getuid(), dirs);
        if (access(liar, F_OK) < 0)
                return manager_helper_search(dirs);
        return write(STDIN_FILENO, empty_reply, sizeof(empty_reply)) > 0 ? pause() : EXIT_FAILURE;
}
