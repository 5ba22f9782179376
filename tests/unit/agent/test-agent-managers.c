// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Many managers in one agent: fake systemds on socketpairs, and the real helper for their unit files, in
// directories of the test.
#include "agent-rig.h"

#include <dirent.h>
#include <malloc.h>

#include "agent-private.h"
#include "fake-systemd.h"
#include "message.h"
#include "manager-helper.h"
#include "manager-name.h"

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

static Other *other(const char *name) {
        for (size_t i = 0; i < n_others; i++)
                if (streq(others[i].name, name))
                        return &others[i];
        return NULL;
}

static int open_other(const char *name, void *userdata) {
        Other *o = other(name);

        return !o || o->down ? -ECONNREFUSED : fake_systemd_open(o->systemd);
}

static void others_up(void) {
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

static int world_up(void **state) {
        rig_up();
        systemd = fake_systemd_new(&test_loop, w.unit_dir);
        w.systemd.open_socket = fake_systemd_open;
        w.systemd.open_userdata = systemd;
        helper[2] = w.dir;
        n_others = 0;
        n_detached = 0;
        others_up();
        return 0;
}

static int world_down(void **state) {
        if (w.agent)
                agent_down();
        fake_systemd_free(systemd);
        for (size_t i = 0; i < n_others; i++)
                fake_systemd_free(others[i].systemd);
        return rig_down();
}

static void dir_of(const char *name, char ret[static 512]) {
        assert_true(snprintf(ret, 512, "%s/%s/systemd/user", w.dir, name) < 512);
}

// A manager with its unit directory; not attached yet.
static Other *add_other(unsigned i) {
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

static void attach(const Other *o) {
        _cleanup_free_ char *why = NULL;

        if (agent_manager_attach(w.agent, o->name, 0, &why) < 0)
                fail_msg("%s", why);
}

static const char *state_of(const char *name) {
        AgentManagerInfo infos[MANY + 1];
        size_t n = agent_managers(w.agent, infos, ELEMENTSOF(infos));

        for (size_t i = 0; i < n; i++)
                if (streq(infos[i].manager, name))
                        return infos[i].state;
        return "none";
}

static bool all_online(void) {
        for (size_t i = 0; i < n_others; i++)
                if (!streq(state_of(others[i].name), "online"))
                        return false;
        return true;
}

// ---- the leader's side: number NODE_BASE + i for others[i]

static void welcome_all(Argosy__UnitOrder **orders, size_t n, Argosy__Spec **specs, size_t n_specs) {
        Argosy__ToHost m = ARGOSY__TO_HOST__INIT;
        Argosy__ToHost__Welcome welcome = ARGOSY__TO_HOST__WELCOME__INIT;
        Argosy__NodeRecord records[MANY + 1], *pointers[MANY + 1];

        for (size_t i = 0; i <= n_others; i++) {
                argosy__node_record__init(&records[i]);
                records[i].node = i < n_others ? (uint32_t) (NODE_BASE + i) : NODE;
                records[i].manager = i < n_others ? others[i].name : (char *) "system";
                pointers[i] = &records[i];
        }
        welcome.seq = w.attach->attach->seq;
        welcome.generation = w.generation;
        welcome.term = w.term;
        welcome.index = w.index++;
        welcome.lease_ms = 60000;
        welcome.beat_ms = 1000;
        welcome.nodes = pointers;
        welcome.n_nodes = n_others + 1;
        welcome.orders = orders;
        welcome.n_orders = n;
        welcome.specs = specs;
        welcome.n_specs = n_specs;
        m.msg_case = ARGOSY__TO_HOST__MSG_WELCOME;
        m.welcome = &welcome;
        agent_on_message(w.agent, &m);
}

typedef struct Everywhere { // one unit in each manager
        char names[MANY][64];
        Argosy__UnitOrder orders[MANY], *pointers[MANY];
        Argosy__Spec spec, *specs;
        Hash hash;
} Everywhere;

// `format` gets the number of the manager.
static void fill_everywhere(Everywhere *e, const char *format, uint64_t revision, const char *content) {
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

static void order_everywhere(const char *format, uint64_t revision, const char *content) {
        static Everywhere e;
        Argosy__ToHost m = ARGOSY__TO_HOST__INIT;
        Argosy__ToHost__Orders o = ARGOSY__TO_HOST__ORDERS__INIT;

        fill_everywhere(&e, format, revision, content);
        o.generation = w.generation;
        o.term = w.term;
        o.index = w.index++;
        o.orders = e.pointers;
        o.n_orders = n_others;
        o.specs = &e.specs;
        o.n_specs = 1;
        m.msg_case = ARGOSY__TO_HOST__MSG_ORDERS;
        m.orders = &o;
        agent_on_message(w.agent, &m);
}

static void meet(void) {
        unsigned before = w.n_attaches;

        agent_on_leader(w.agent, 1, ++w.term, FEATURE_NEWEST);
        loop_until(w.n_attaches > before);
        welcome_all(NULL, 0, NULL, 0);
        loop_until(w.attached);
}

static bool runs_on(const Other *o, const char *name) {
        const char *active = fake_systemd_active(o->systemd, name);

        return active && streq(active, "active");
}

static bool other_has_file(const Other *o, const char *name) {
        char dir[512];
        _cleanup_free_ char *path = NULL;

        dir_of(o->name, dir);
        path = str_printf("%s/%s", dir, name);
        return access(path, F_OK) == 0;
}

static void on_detached(int error, void *userdata) {
        detached = error;
        n_detached++;
}

static void detach(const Other *o, bool force) {
        unsigned before = n_detached;

        assert_int_equal(agent_manager_detach(w.agent, o->name, force, on_detached, NULL), 0);
        loop_until(n_detached > before);
        assert_int_equal(detached, 0);
}

static size_t n_fds(void) {
        DIR *d = opendir("/proc/self/fd");
        size_t n = 0;

        while (readdir(d))
                n++;
        closedir(d);
        return n;
}

// ---- tests

static void one_that_says_too_much_at_once_is_alone_with_it(void **state) {
        Other *loud = add_other(0), *quiet = add_other(1);

        attach(loud);
        attach(quiet);
        loop_until(all_online());
        fake_systemd_say_long(loud->systemd, SYSTEMD_MESSAGE_MAX);
        loop_until(fake_systemd_calls(loud->systemd, "ListUnits") == 2); // cut off, and tried again
        loop_until(all_online());
        assert_int_equal(fake_systemd_calls(quiet->systemd, "ListUnits"), 1);
        assert_int_equal(fake_systemd_calls(systemd, "ListUnits"), 1);
}

static void eighty_managers_run_their_units_in_one_agent(void **state) {
        for (unsigned i = 0; i < MANY; i++)
                attach(add_other(i));
        loop_until(all_online());
        meet();
        assert_int_equal(w.attach->attach->n_managers, MANY + 1);
        order_everywhere("u%i.service", 5, web);
        for (int i = 0; i < MANY; i++) {
                char name[64];

                snprintf(name, sizeof(name), "u%i.service", i);
                loop_until(answered(name, 5));
                assert_string_equal(report_of(name)->error, "");
                assert_int_equal(report_of(name)->node, NODE_BASE + i);
                assert_true(runs_on(&others[i], name));
                assert_true(other_has_file(&others[i], name));
                assert_false(has_file(name));
        }
        detach(&others[7], false);
        assert_null(fake_systemd_active(others[7].systemd, "u7.service"));
        assert_false(other_has_file(&others[7], "u7.service"));
        assert_string_equal(state_of(others[7].name), "none");
        assert_true(runs_on(&others[8], "u8.service"));
}

static void attaching_and_detaching_leaves_nothing_behind(void **state) {
        Other *o = add_other(0);
        size_t before = 0;

        for (int round = 0; round < 200; round++) {
                attach(o);
                loop_until(all_online());
                detach(o, round % 2);
                for (int i = 0; i < 3; i++) // handles close in the next turns
                        uv_run(&test_loop, UV_RUN_NOWAIT);
                fake_systemd_cut(o->systemd);
                if (round == 10)
                        before = n_fds();
        }
        loop_until(n_fds() <= before);
        assert_int_equal(agent_managers(w.agent, NULL, 0), 1);
}

// Within the turns that it takes, not when an Attach that was not answered would be repeated.
static bool attaches_at_once(unsigned before) {
        for (int i = 0; i < 3; i++)
                uv_run(&test_loop, UV_RUN_NOWAIT);
        return w.n_attaches > before;
}

static void the_leader_hears_at_once_of_managers_that_come_and_go(void **state) {
        Other *o = add_other(0);

        meet();
        attach(o);
        assert_true(attaches_at_once(w.n_attaches));
        assert_int_equal(w.attach->attach->n_managers, 2);
        welcome_all(NULL, 0, NULL, 0);
        loop_until(all_online());
        detach(o, false);
        assert_true(attaches_at_once(w.n_attaches - (w.attach->attach->n_managers == 1)));
        assert_int_equal(w.attach->attach->n_managers, 1);
}

static void a_restart_finds_what_managers_hold(void **state) {
        static Everywhere e;
        Other *o = add_other(0);
        unsigned before;

        attach(o);
        loop_until(all_online());
        meet();
        order_everywhere("web.service", 5, web);
        loop_until(answered("web.service", 5));
        agent_down();
        others_up();
        attach(o);
        loop_until(all_online());
        before = w.n_attaches;
        agent_on_leader(w.agent, 1, ++w.term, FEATURE_NEWEST);
        loop_until(w.n_attaches > before);
        assert_int_equal(w.attach->attach->n_held, 1);
        fill_everywhere(&e, "web.service", 5, web);
        argosy__unit_report__free_unpacked(((Seen *) map_find_str(&w.seen, "web.service"))->report, NULL);
        free(map_take_str(&w.seen, "web.service"));
        welcome_all(e.pointers, 1, &e.specs, 1);
        loop_until(answered("web.service", 5) && report_of("web.service")->spec.len == HASH_SIZE);
        assert_true(runs_on(o, "web.service"));
        assert_int_equal(fake_systemd_calls(o->systemd, "StartUnit"), 1);
        assert_int_equal(fake_systemd_calls(o->systemd, "StopUnit"), 0);
}

static Argosy__Response *answer;

static void on_answer(const Argosy__Response *response, void *userdata) {
        if (answer)
                argosy__response__free_unpacked(answer, NULL);
        answer = message_copy(response);
}

// What is asked of the host, since nobody leads, is about whichever of its nodes holds the unit.
static void the_host_answers_for_the_units_of_all_its_managers(void **state) {
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        Argosy__Request__Status status = ARGOSY__REQUEST__STATUS__INIT;
        Argosy__Request__Journal journal = ARGOSY__REQUEST__JOURNAL__INIT;
        char *names[] = {(char *) "web.service"};
        uint64_t cancel;

        attach(add_other(0));
        loop_until(all_online());
        meet();
        order_everywhere("web.service", 5, web);
        loop_until(answered("web.service", 5));
        agent_on_leader(w.agent, 0, 0, FEATURE_NEWEST);
        status.names = names;
        status.n_names = 1;
        request.what_case = ARGOSY__REQUEST__WHAT_STATUS;
        request.status = &status;
        assert_int_equal(agent_call(w.agent, 0, &request, on_answer, NULL, &cancel), 0);
        loop_until(answer && answer->final);
        assert_int_equal(answer->status, 0);
        assert_string_equal(answer->status_reply->row->active, "active");

        journal.name = (char *) "nobody.service"; // systemd may have one
        request.what_case = ARGOSY__REQUEST__WHAT_JOURNAL;
        request.journal = &journal;
        assert_int_equal(agent_call(w.agent, 0, &request, on_answer, NULL, &cancel), 0);
        loop_until(answer->final);
        assert_int_equal(answer->status, EHOSTUNREACH);
        assert_string_equal(answer->message, "nobody.service: this host does not hold it");
        argosy__response__free_unpacked(answer, NULL);
        answer = NULL;
}

static void a_manager_that_is_away_hinders_nobody_and_says_why(void **state) {
        Other *away = add_other(0), *there = add_other(1);

        away->down = true;
        attach(away);
        attach(there);
        loop_until(streq(state_of(there->name), "online"));
        meet();
        loop_until(w.attach->attach->n_nodes == 1);
        assert_string_equal(w.attach->attach->nodes[0]->manager, away->name);
        order_everywhere("u%i.service", 5, web);
        loop_until(answered("u1.service", 5));
        send_order((Order){.name = "plain.service", .content = web, .revision = 6, .start = 6});
        loop_until(answered("plain.service", 6));
        assert_false(answered("u0.service", 5));
        // It cannot be stopped what does not run: detaching waits for nothing.
        detach(away, false);
        assert_true(runs_on(there, "u1.service"));
}

static void a_manager_that_comes_back_gets_its_units(void **state) {
        Other *o = add_other(0);

        o->down = true;
        attach(o);
        loop_until(streq(state_of(o->name), "offline"));
        meet();
        order_everywhere("web.service", 5, web);
        o->down = false;
        loop_until(answered("web.service", 5));
        assert_true(runs_on(o, "web.service"));
}

// As many signals of one manager as take NOISY_TURNS turns to read, and the system's still has its turn.
enum { NOISY_TURNS = 1000 };

static void a_manager_that_talks_without_end_delays_nobody(void **state) {
        Other *loud = add_other(0);

        attach(loud);
        loop_until(all_online());
        meet();
        for (int i = 0; i < NOISY_TURNS * SYSTEMD_READ_BUDGET; i++)
                fake_systemd_set(loud->systemd, "noise.service", i % 2 ? "active" : "inactive",
                                 i % 2 ? "running" : "dead", "success");
        send_order((Order){.name = "plain.service", .content = web, .revision = 6, .start = 6});
        for (int turns = 0; !answered("plain.service", 6); turns++) {
                uv_run(&test_loop, UV_RUN_ONCE);
                if (turns > NOISY_TURNS / 2)
                        fail_msg("the unit of the system's manager starved");
        }
}

// ---- everything at once

enum {
        FLOOD = 1000,                   // units that are not ours, each with words of its own
        FLOOD_AT_A_TIME = 60,           // more than are read in a turn
        FLOOD_MAX = 1500,               // what waits in the other's queue has an end, too
        FLOOD_MESSAGE = 1024 * 1024,    // bytes
        FLOOD_GROWTH = 1024 * 1024,     // bytes that the first leaves: interned words, buffers, the other's tables
        FLOOD_GROWTH_AGAIN = 32 * 1024, // and each other one
};

static void noise_name(unsigned i, char ret[static 64]) {
        snprintf(ret, 64, "noise-%u.service", i % FLOOD);
}

// Units, words, jobs that are refused with long reasons, long messages, files: all that it can say.
static void flood_on(Other *loud, unsigned round, unsigned *i) {
        char name[64], word[24];

        for (unsigned end = MIN_OF(*i + FLOOD_AT_A_TIME, (unsigned) FLOOD_MAX); *i < end; ++*i) {
                noise_name(*i, name);
                snprintf(word, sizeof(word), "%u-%u", round, *i);
                fake_systemd_set(loud->systemd, name, "active", word, word);
                fake_systemd_set(loud->systemd, "mine-0.service", *i % 2 ? "active" : "failed", word, word);
                fake_systemd_set(loud->systemd, name, "inactive", "dead", "success");
                if (*i % 100 == 0)
                        fake_systemd_files_changed(loud->systemd);
                if (*i % FLOOD == 0)
                        fake_systemd_say_long(loud->systemd, FLOOD_MESSAGE);
        }
}

// The other's own queue has then been longer than any flood makes it: how much memory it keeps for that depends on how
// slowly it is read, and is not what is measured.
static void fill_queue(Other *loud) {
        char name[64];

        for (unsigned i = 0; i < 2 * FLOOD_MAX; i++) {
                noise_name(i, name);
                fake_systemd_set(loud->systemd, name, "active", "running", "success");
                fake_systemd_set(loud->systemd, name, "inactive", "dead", "success");
        }
}

static size_t bytes_in_use(void) {
        return mallinfo2().uordblks;
}

// What is left when it has been read to its end, and others' units were started meanwhile.
static size_t after_flood(Other *loud, unsigned round) {
        uint64_t revision = 10 * (round + 1);
        unsigned i = 0;
        const Argosy__UnitReport *refused;

        while (i < FLOOD)
                flood_on(loud, round, &i);
        order_everywhere("plain-%d.service", revision, web);
        send_order((Order){.name = "plain.service", .content = web, .revision = revision, .start = revision});
        while (!answered("plain.service", revision) || !answered("plain-1.service", revision)) {
                flood_on(loud, round, &i); // it is never read to its end meanwhile
                uv_run(&test_loop, UV_RUN_ONCE);
        }
        order_everywhere("refused-%d.service", revision + 1, web);
        loop_until(answered("plain-0.service", revision));
        loop_until((refused = report_of("refused-0.service")) && refused->revision == revision + 1);
        assert_in_range(strlen(refused->error), 1, AGENT_ERROR_MAX);
        while (i < FLOOD_MAX)
                flood_on(loud, round, &i);
        fake_systemd_set(loud->systemd, "plain-0.service", "failed", "failed", "signal"); // the last that it says
        loop_until(report_of("plain-0.service")->active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED);
        assert_true(all_online());
        return bytes_in_use();
}

static void a_manager_that_does_everything_at_once_leaves_nothing_behind(void **state) {
        Other *loud = add_other(0), *quiet = add_other(1);
        size_t before, first, again;
        char name[64];

        fake_systemd_behave(loud->systemd, "refused-0.service", FAKE_REFUSES);
        fake_systemd_complain_long(loud->systemd, FLOOD_MESSAGE);
        for (unsigned i = 0; i < FLOOD; i++) { // its own memory is not what is measured
                noise_name(i, name);
                (void) fake_systemd_active(loud->systemd, name);
        }
        attach(loud);
        attach(quiet);
        loop_until(all_online());
        meet();
        order_everywhere("mine-%d.service", 5, web);
        loop_until(answered("mine-0.service", 5) && answered("mine-1.service", 5));
        fill_queue(loud);
        fake_systemd_set(loud->systemd, "mine-0.service", "failed", "failed", "signal");
        loop_until(report_of("mine-0.service")->active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED);
        before = bytes_in_use();
        first = after_flood(loud, 1);
        assert_in_range(first, 0, before + FLOOD_GROWTH);
        (void) after_flood(loud, 2);
        again = after_flood(loud, 3);
        assert_in_range(again, 0, first + 2 * FLOOD_GROWTH_AGAIN);
        assert_true(runs_on(quiet, "mine-1.service"));
        assert_int_equal(fake_systemd_calls(quiet->systemd, "ListUnits"), 1);
}

static void a_name_of_the_user_s_own_is_refused(void **state) {
        Other *o = add_other(0);
        char dir[512];
        _cleanup_free_ char *path = NULL, *link = NULL;

        attach(o);
        loop_until(all_online());
        meet();
        order_everywhere("first.service", 5, web); // makes the directory
        loop_until(answered("first.service", 5));
        dir_of(o->name, dir);
        path = str_printf("%s/mine.service", dir);
        assert_int_equal(file_replace(AT_FDCWD, path, "[Service]\n", 10, 0644, 0), 0);
        order_everywhere("mine.service", 6, web);
        loop_until(report_of("mine.service") && report_of("mine.service")->refused);
        link = str_printf("%s/link.service", dir);
        assert_int_equal(symlink("/etc/hostname", link), 0);
        order_everywhere("link.service", 7, web);
        loop_until(report_of("link.service") && report_of("link.service")->refused);
}

static void a_drop_in_directory_that_is_a_link_is_not_followed(void **state) {
        Other *o = add_other(0);
        char dir[512];
        _cleanup_free_ char *link = NULL, *trap = str_printf("%s/50-argosy.conf", w.foreign_dir);

        attach(o);
        loop_until(all_online());
        meet();
        order_everywhere("first.service", 5, web); // makes the directory
        loop_until(answered("first.service", 5));
        dir_of(o->name, dir);
        link = str_printf("%s/trap.service.d", dir);
        assert_int_equal(symlink(w.foreign_dir, link), 0);
        order_everywhere("trap.service", 6, web);
        loop_until(report_of("trap.service") && *report_of("trap.service")->error);
        assert_int_not_equal(access(trap, F_OK), 0);
}

static void a_directory_that_is_a_link_is_not_followed(void **state) {
        Other *o = add_other(0);
        _cleanup_free_ char *systemd_dir = str_printf("%s/%s/systemd", w.dir, o->name);

        assert_int_equal(symlink(w.foreign_dir, systemd_dir), 0);
        attach(o);
        loop_until(all_online());
        meet();
        order_everywhere("web.service", 5, web);
        loop_until(report_of("web.service") && *report_of("web.service")->error);
        assert_non_null(strstr(report_of("web.service")->error, "cannot write its file"));
        _cleanup_free_ char *trap = str_printf("%s/user", w.foreign_dir);
        assert_int_not_equal(access(trap, F_OK), 0);
}

// What else its owner has, before the directory that we write to.
static char *own_path(const Other *o, const char *name) {
        static char path[512];
        _cleanup_free_ char *dir = str_printf("%s/%s/own", w.dir, o->name);

        assert_true(mkdir(dir, 0700) == 0 || errno == EEXIST);
        assert_true(snprintf(path, sizeof(path), "%s/%s", dir, name) < (int) sizeof(path));
        return path;
}

static void mask(const Other *o, const char *name) {
        assert_int_equal(symlink("/dev/null", own_path(o, name)), 0);
        fake_systemd_files_changed(o->systemd);
}

static void unmask(const Other *o, const char *name) {
        assert_int_equal(unlink(own_path(o, name)), 0);
        fake_systemd_files_changed(o->systemd);
}

static void remove_file(const Other *o, const char *name) {
        char dir[512];
        _cleanup_free_ char *path = NULL;

        dir_of(o->name, dir);
        path = str_printf("%s/%s", dir, name);
        assert_int_equal(unlink(path), 0);
}

static bool is_shown_as(const char *name, Argosy__LoadState load) {
        return report_of(name) && report_of(name)->load == load;
}

static Argosy__UnitOrder *stopped_order(Everywhere *e, const char *name, uint64_t revision) {
        fill_everywhere(e, name, revision, web);
        e->orders[0].target = ARGOSY__TARGET__TARGET_LOADED;
        e->orders[0].start_rev = 5;
        e->orders[0].stop_rev = revision;
        return &e->orders[0];
}

static void order_one(Argosy__UnitOrder *order) {
        Argosy__ToHost m = ARGOSY__TO_HOST__INIT;
        Argosy__ToHost__Orders o = ARGOSY__TO_HOST__ORDERS__INIT;

        o.generation = w.generation;
        o.term = w.term;
        o.index = w.index++;
        o.orders = &order;
        o.n_orders = 1;
        m.msg_case = ARGOSY__TO_HOST__MSG_ORDERS;
        m.orders = &o;
        agent_on_message(w.agent, &m);
}

// One manager with units that were started and stopped, and that its systemd has dropped.
static Other *with_units_that_are_down(const char *const *names, size_t n) {
        static Everywhere e;
        Other *o = add_other(0);

        attach(o);
        loop_until(all_online());
        meet();
        for (size_t i = 0; i < n; i++) {
                order_everywhere(names[i], 5, web);
                loop_until(answered(names[i], 5) && runs_on(o, names[i]));
        }
        for (size_t i = 0; i < n; i++) {
                order_one(stopped_order(&e, names[i], 6));
                loop_until(answered(names[i], 6) && !fake_systemd_active(o->systemd, names[i]));
        }
        for (size_t i = 0; i < n; i++)
                assert_int_equal(report_of(names[i])->load, ARGOSY__LOAD_STATE__LOAD_LOADED);
        return o;
}

// What hides it, or took it away, while systemd does not have it in memory.
static void a_file_that_is_hidden_or_gone_is_seen_by_a_helper(void **state) {
        static const char *const names[] = {"web.service", "other.service"};
        Other *o = with_units_that_are_down(names, ELEMENTSOF(names));
        unsigned before = fake_systemd_calls(o->systemd, "ListUnitsByNames");

        mask(o, "web.service");
        loop_until(is_shown_as("web.service", ARGOSY__LOAD_STATE__LOAD_MASKED));
        unmask(o, "web.service");
        loop_until(is_shown_as("web.service", ARGOSY__LOAD_STATE__LOAD_LOADED));
        remove_file(o, "web.service");
        fake_systemd_reload_begin(o->systemd); // by somebody else
        fake_systemd_reload_end(o->systemd);
        loop_until(is_shown_as("web.service", ARGOSY__LOAD_STATE__LOAD_NOT_FOUND));
        assert_true(is_shown_as("other.service", ARGOSY__LOAD_STATE__LOAD_LOADED));
        assert_int_equal(fake_systemd_calls(o->systemd, "ListUnitsByNames"), before);
        assert_int_equal(fake_systemd_calls(o->systemd, "LoadUnit"), 0);
}

// Nobody watches there, so what we write ourselves over a file that was gone is to be remembered.
static void a_file_that_was_gone_and_is_written_again_is_there(void **state) {
        static const char *const names[] = {"web.service"};
        static Everywhere e;
        Other *o = with_units_that_are_down(names, ELEMENTSOF(names));

        remove_file(o, "web.service");
        fake_systemd_files_changed(o->systemd);
        loop_until(is_shown_as("web.service", ARGOSY__LOAD_STATE__LOAD_NOT_FOUND));
        order_everywhere("web.service", 7, web);
        loop_until(answered("web.service", 7) && runs_on(o, "web.service"));
        order_one(stopped_order(&e, "web.service", 8));
        loop_until(answered("web.service", 8));
        loop_until(is_shown_as("web.service", ARGOSY__LOAD_STATE__LOAD_LOADED));
}

static bool nobody_is_to_look(const Other *o) {
        const AgentNode *node = agent_node_by_name(w.agent, o->name);

        return !node->looking && agent_search_due(node) == 0;
}

static void our_own_batches_start_nobody_who_looks(void **state) {
        static const char *const names[] = {"web.service", "other.service"};
        Other *o = with_units_that_are_down(names, ELEMENTSOF(names));

        assert_true(nobody_is_to_look(o));
        assert_int_equal(agent_n_searches(w.agent), 0);
        mask(o, "web.service");
        loop_until(is_shown_as("web.service", ARGOSY__LOAD_STATE__LOAD_MASKED));
        order_everywhere("more.service", 7, web);
        loop_until(answered("more.service", 7));
        assert_true(nobody_is_to_look(o));
        assert_int_equal(agent_n_searches(w.agent), 1);
}

static char *mark_of_a_liar(const Other *o) {
        static char path[512];

        assert_true(snprintf(path, sizeof(path), "%s/%s/liar", w.dir, o->name) < (int) sizeof(path));
        return path;
}

static void an_answer_about_other_units_is_none(void **state) {
        static const char *const names[] = {"web.service"};
        Other *o = with_units_that_are_down(names, ELEMENTSOF(names));

        assert_int_equal(mkdir(mark_of_a_liar(o), 0700), 0);
        mask(o, "web.service");
        loop_until(agent_n_searches(w.agent) == 1 && nobody_is_to_look(o));
        assert_true(is_shown_as("web.service", ARGOSY__LOAD_STATE__LOAD_LOADED));
        assert_int_equal(rmdir(mark_of_a_liar(o)), 0);
        fake_systemd_files_changed(o->systemd);
        loop_until(is_shown_as("web.service", ARGOSY__LOAD_STATE__LOAD_MASKED));
}

static void whoever_looks_goes_with_his_manager(void **state) {
        static const char *const names[] = {"web.service"};
        Other *o = with_units_that_are_down(names, ELEMENTSOF(names));

        mask(o, "web.service");
        loop_until(agent_n_searches(w.agent) == 1);
        detach(o, true);
        loop_until(agent_managers(w.agent, NULL, 0) == 1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, world_up, world_down)

// What the agent executes to have unit files written or looked at: DIR MODE MANAGER LEADER BORN.
static int helper_main(char **argv) {
        static const uint8_t empty_reply[4] = {};
        _cleanup_free_ char *base = str_printf("%s/%s", argv[0], argv[2]), *own = str_printf("%s/own", base),
                            *dir = str_printf("%s/systemd/user", base), *liar = str_printf("%s/liar", base);
        const char *dirs[] = {own, dir, NULL};

        if (streq(argv[1], "write"))
                return manager_helper_write(base, "user", getuid(), NULL);
        if (access(liar, F_OK) < 0)
                return manager_helper_look(dirs);
        return write(STDIN_FILENO, empty_reply, sizeof(empty_reply)) > 0 ? pause() : EXIT_FAILURE;
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                T(one_that_says_too_much_at_once_is_alone_with_it),
                T(eighty_managers_run_their_units_in_one_agent),
                T(attaching_and_detaching_leaves_nothing_behind),
                T(the_leader_hears_at_once_of_managers_that_come_and_go),
                T(a_restart_finds_what_managers_hold),
                T(the_host_answers_for_the_units_of_all_its_managers),
                T(a_manager_that_is_away_hinders_nobody_and_says_why),
                T(a_manager_that_comes_back_gets_its_units),
                T(a_manager_that_talks_without_end_delays_nobody),
                T(a_manager_that_does_everything_at_once_leaves_nothing_behind),
                T(a_name_of_the_user_s_own_is_refused),
                T(a_directory_that_is_a_link_is_not_followed),
                T(a_drop_in_directory_that_is_a_link_is_not_followed),
                T(a_file_that_is_hidden_or_gone_is_seen_by_a_helper),
                T(a_file_that_was_gone_and_is_written_again_is_there),
                T(our_own_batches_start_nobody_who_looks),
                T(an_answer_about_other_units_is_none),
                T(whoever_looks_goes_with_his_manager),
        };

        if (argc == 7 && streq(argv[1], "--helper"))
                return helper_main(argv + 2);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
