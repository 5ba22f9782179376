// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See hosts-at.h. What a host's argosy.conf says is known here as it was written, and as it was when argosyd
// last began; what counts from a reload and what from a restart is worked out from argosy.conf(5), not from
// the product's table.
#include "hosts-at.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asks.h"
#include "checks.h"
#include "clock.h"
#include "daemon.h"
#include "fake-pid1.h"
#include "fileio.h"
#include "hosts-checks.h"
#include "hosts-members.h"
#include "hosts-story.h"
#include "macro.h"
#include "sim-client.h"
#include "sim-users.h"
#include "str.h"
#include "test.h"
#include "verdict.h"

#define CALM_US (180 * USEC_PER_SEC) // by then what must come true has
enum { CHANCES = 64, WORDS_SIZE = 256, TEXT_SIZE = 640 };

// Those that count from a restart, each of [Cluster].
typedef enum Late { LATE_LEASE, LATE_HEARTBEAT, LATE_ELECTION, LATE_MASS_LOSS, LATE_EVENTS, _LATES } Late;

static const char *const late_keys[_LATES] = {"LeaseSec", "HeartbeatSec", "ElectionTimeoutSec",
                                              "MassLossPercent", "EventsMiB"};
// The first is what it is if nothing is said. What follows from a lease ends before a host without a fault
// counts as in order (ORDER_US of the checks).
static const char *const late_values[_LATES][4] = {{"5", "1", "2.5", "10"},
                                                   {"1", "0.2", "0.5", "1.5"},
                                                   {"0.6", "0.3", "0.6", "1"},
                                                   {"50", "100", "50", "100"},
                                                   {"16", "1", "4", "16"}};

typedef struct Conf {
        unsigned late[_LATES];                                 // of late_values
        const char *zone;                                      // label; NULL: none
        unsigned site;                                         // likewise; 0: none
        unsigned keep_cpu, over_cpu, keep_memory, over_memory; // 0: nothing is said of the latter of each
        bool manager;                                          // Managers= has the user's
} Conf;

static struct {
        Conf written[SIM_CLUSTER_MAX + 1], begun[SIM_CLUSTER_MAX + 1];
        unsigned begun_with[SIM_CLUSTER_MAX + 1]; // SimMachine.n_starts then
        char text[SIM_CLUSTER_MAX + 1][TEXT_SIZE];
        bool differ;        // hosts' configurations, other than in LeaseSec=
        bool unread;        // one was written, and nothing told argosyd
        uint32_t reads;     // which host's argosyd reads it now; 0: none
        bool named[_LATES]; // what it says then that a restart is needed for
} at;

// ---------------------------------------------------------------------------------------------- argosy.conf

static void append(char *text, const char *format, ...) _printf_(2, 3);
static void append(char *text, const char *format, ...) {
        size_t len = strlen(text);
        va_list ap;

        va_start(ap, format);
        vsnprintf(text + len, TEXT_SIZE - len, format, ap);
        va_end(ap);
}

static void compose(const Conf *c, char *ret) {
        *ret = 0;
        append(ret, "[Node]\n");
        if (c->zone || c->site)
                append(ret, "Labels=%s%s", c->zone ? "zone=" : "", c->zone ?: "");
        if (c->site)
                append(ret, "%ssite=s%u", c->zone ? " " : "", c->site);
        append(ret, "\n");
        if (c->keep_cpu)
                append(ret, "KeepCPUPercent=%u\n", c->keep_cpu);
        if (c->over_cpu)
                append(ret, "OvercommitCPUPercent=%u\n", c->over_cpu);
        if (c->keep_memory)
                append(ret, "KeepMemoryPercent=%u\n", c->keep_memory);
        if (c->over_memory)
                append(ret, "OvercommitMemoryPercent=%u\n", c->over_memory);
        if (c->manager)
                append(ret, "Managers=" SIM_USER_MANAGER "\n");
        append(ret, "[Cluster]\n");
        for (unsigned i = 0; i < _LATES; i++)
                if (c->late[i] > 0)
                        append(ret, "%s=%s\n", late_keys[i], late_values[i][c->late[i]]);
}

static void draw_early(Draw *d, Conf *c) {
        static const unsigned keep[] = {0, 0, 10, 50, 100}, over[] = {0, 0, 50, 200};

        c->zone = draw_below(d, 3) ? DRAW_PICK(d, world_zones) : NULL;
        c->site = draw_below(d, 4);
        c->keep_cpu = DRAW_PICK(d, keep);
        c->over_cpu = DRAW_PICK(d, over);
        c->keep_memory = DRAW_PICK(d, keep);
        c->over_memory = DRAW_PICK(d, over);
}

static void draw_late(Draw *d, Conf *c) {
        c->late[draw_below(d, _LATES)] = draw_below(d, ELEMENTSOF(late_values[0]));
}

// What was written when argosyd last began.
static Conf *begun_of(const SimMachine *m) {
        if (m->n_starts != at.begun_with[m->number]) {
                at.begun[m->number] = at.written[m->number];
                at.begun_with[m->number] = m->n_starts;
        }
        return &at.begun[m->number];
}

void hosts_at_settings(const StoryPlan *plan, SimSettings settings[SIM_CLUSTER_MAX]) {
        static const unsigned leases[] = {1, 2, 3};
        Draw d = draw_from(plan->chance ^ 6), users = draw_from(plan->chance ^ 7);

        memset(&at, 0, sizeof(at));
        at.differ = plan->swarm.configs > 0;
        for (size_t i = 0; i < SIM_CLUSTER_MAX; i++) {
                Conf *c = &at.written[i + 1];

                if (draw_below(&d, CHANCES) < plan->swarm.leases)
                        c->late[LATE_LEASE] = DRAW_PICK(&d, leases);
                settings[i].has_user = draw_below(&users, CHANCES) < plan->swarm.users;
                c->manager = settings[i].has_user && draw_below(&users, 4) > 0;
                if (draw_below(&users, CHANCES) < plan->swarm.configs)
                        draw_early(&users, c);
                if (draw_below(&users, CHANCES) < plan->swarm.configs)
                        draw_late(&users, c);
                compose(c, at.text[i + 1]);
                settings[i].more = at.text[i + 1];
        }
}

// -------------------------------------------------------------------------------------------- what it reads

void hosts_at_on_log(uint32_t number, const char *message) {
        if (number == 0 || number != at.reads || !strstr(message, "counts from the next restart"))
                return;
        for (unsigned i = 0; i < _LATES; i++)
                at.named[i] |= strstr(message, late_keys[i]) != NULL;
}

static bool is_up(const SimMachine *m) {
        return m->daemon && m->daemon->end == DAEMON_RUNNING;
}

// What argosy.conf(5) says of a HeartbeatSec= that is too long for LeaseSec= included.
static double late_value(const Conf *c, Late which) {
        double value = strtod(late_values[which][c->late[which]], NULL);

        if (which == LATE_HEARTBEAT && value * 2 > late_value(c, LATE_LEASE))
                return late_value(c, LATE_LEASE) / 4;
        return value;
}

static void reload(SimMachine *m) {
        unsigned starts = m->n_starts;
        bool looks = is_up(m);
        const Conf begun = *begun_of(m), *now = &at.written[m->number];

        at.reads = m->number;
        memset(at.named, 0, sizeof(at.named));
        sim_machine_configure(m);
        at.reads = 0;
        if (!looks || !is_up(m) || m->n_starts != starts || hosts_faults_disk_was_in_trouble(m->number))
                return;
        for (unsigned i = 0; i < _LATES; i++) {
                bool waits = late_value(&begun, i) != late_value(now, i);

                if (waits)
                        check_says("reload-names-what-waits");
                if (waits != at.named[i])
                        check_fail("reload-names-what-waits",
                                   "n%u began with %s=%s and reads %s=%s, and says %s of it", m->number,
                                   late_keys[i], late_values[i][begun.late[i]], late_keys[i],
                                   late_values[i][now->late[i]], at.named[i] ? "so" : "nothing");
        }
}

static void write_anew(SimMachine *m, Draw *d) {
        Conf *c = &at.written[m->number];
        unsigned how = draw_below(d, 4);

        (void) begun_of(m);
        if (draw_below(d, 3) > 0)
                draw_early(d, c);
        if (draw_below(d, 3) == 0)
                draw_late(d, c);
        if (m->user.pid1 && draw_below(d, 2))
                c->manager = !c->manager;
        compose(c, at.text[m->number]);
        at.unread |= how == 0;
        story_tell("n%u: argosy.conf is written anew%s", m->number,
                   how == 0   ? ""
                   : how == 1 ? ", and argosyd is restarted"
                              : ", and read");
        if (how <= 1)
                sim_machine_write_config(m);
        else
                reload(m);
        if (how != 1)
                return;
        hosts_faults_touch(m->number);
        sim_machine_stop(m);
}

// ------------------------------------------------------------------------------------------------- managers

static void ask_attach(SimMachine *m, bool attach) {
        Argosy__Request__ManagerAttach in = ARGOSY__REQUEST__MANAGER_ATTACH__INIT;
        Argosy__Request__ManagerDetach out = ARGOSY__REQUEST__MANAGER_DETACH__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;

        in.manager = out.manager = (char *) SIM_USER_MANAGER;
        if (attach) {
                request.what_case = ARGOSY__REQUEST__WHAT_MANAGER_ATTACH;
                request.manager_attach = &in;
        } else {
                request.what_case = ARGOSY__REQUEST__WHAT_MANAGER_DETACH;
                request.manager_detach = &out;
        }
        story_tell("n%u: " SIM_USER_MANAGER " is to be %s", m->number, attach ? "attached" : "detached");
        (void) sim_client_send(m->number, NULL, &request);
}

void hosts_at_step(Draw *d) {
        SimMachine *m = sim_machine(1 + draw_below(d, (uint32_t) sim_cluster_size()));

        if (m->user.pid1 && draw_below(d, 2))
                ask_attach(m, draw_below(d, 2));
        else
                write_anew(m, d);
}

// ------------------------------------------------------------------------------------------------- troubles

uint64_t hosts_at_trouble(HostsFault fault, uint32_t number, Draw *d) {
        SimMachine *m = sim_machine(number);

        if (!m->powered || !m->user.pid1)
                return 0;
        switch (fault) {
        case HOSTS_FAULT_user_leaves:
                m->user.lingers = draw_below(d, 2);
                sim_user_log_out(m, true);
                return draw_log(d, USEC_PER_MSEC, 60 * USEC_PER_SEC);
        case HOSTS_FAULT_user_killed:
                sim_user_log_out(m, false);
                return draw_log(d, USEC_PER_MSEC, 2 * USEC_PER_SEC);
        case HOSTS_FAULT_user_stuck:
                m->user.stuck = true;
                return draw_log(d, 100 * USEC_PER_MSEC, 60 * USEC_PER_SEC);
        default:
                abort();
        }
}

void hosts_at_end_trouble(HostsFault fault, uint32_t number) {
        SimMachine *m = sim_machine(number);

        if (!m->user.pid1)
                return;
        if (fault == HOSTS_FAULT_user_stuck)
                m->user.stuck = false;
        else
                sim_user_log_in(m);
}

void hosts_at_mend(void) {
        for (uint32_t i = 1; i <= sim_cluster_size(); i++) {
                SimMachine *m = sim_machine(i);

                if (m->user.pid1) {
                        m->user.stuck = false;
                        m->user.lingers = true;
                        sim_user_log_in(m);
                }
                if ((at.differ || at.unread) && is_up(m))
                        reload(m);
        }
}

// --------------------------------------------------------------------------------------------------- checks

static unsigned offered(unsigned whole, unsigned keep_percent, unsigned over_percent) {
        return whole * (100 - keep_percent) / 100 * over_percent / 100;
}

static const char *label_of(const Argosy__Response__NodeRow *row, const char *key) {
        for (size_t i = 0; i < row->n_labels; i++)
                if (streq(row->labels[i]->key, key))
                        return row->labels[i]->value;
        return "";
}

static void compare_configured(const SimMachine *m, const Argosy__Response__NodeRow *row, char *ret) {
        const Conf *c = &at.written[m->number];
        unsigned cpu = offered(4000, c->keep_cpu, c->over_cpu ?: 100),
                 memory = offered(8192, c->keep_memory ?: 10, c->over_memory ?: 100);
        char site[16] = "";

        if (c->site)
                snprintf(site, sizeof(site), "s%u", c->site);
        check_says("configured-is-listed");
        if (row->offers_cpu != cpu || row->offers_memory != memory)
                str_fit(ret, WORDS_SIZE,
                        "n%u offers %u of CPU and %u MiB, and the list of nodes says %u and %u", m->number,
                        cpu, memory, (unsigned) row->offers_cpu, (unsigned) row->offers_memory);
        else if (!streq(label_of(row, "site"), site))
                str_fit(ret, WORDS_SIZE, "n%u has site=%s, and the list of nodes says %s", m->number, site,
                        label_of(row, "site"));
}

// Empty: it is true.
static void compare_all(char *ret) {
        const Argosy__Response__Nodes *list = hosts_checks_ask_nodes();

        *ret = 0;
        if (!list)
                str_fit(ret, WORDS_SIZE, "there is no list of nodes");
        for (size_t i = 0; list && i < list->n_rows && !*ret; i++) {
                const SimMachine *m = sim_place_machine(hosts_checks_place_of(list->rows[i]->node));

                if (m && members_is_in(m->number) &&
                    hosts_checks_place_of(list->rows[i]->node) < SIM_USER_PLACE)
                        compare_configured(m, list->rows[i], ret);
        }
}

void configured_on_calm(void) {
        uint64_t until_us = sim_now_us() + CALM_US;
        char words[WORDS_SIZE];

        if (!at.differ)
                return;
        for (compare_all(words); *words && sim_now_us() < until_us; compare_all(words))
                (void) sim_run_for(USEC_PER_SEC);
        if (*words)
                check_fail("configured-is-listed", "%s", words);
}

// By argosy.conf, or by what an attach has left.
static bool is_attached(const SimMachine *m) {
        _cleanup_free_ char *path = str_printf("%s/state/managers", m->dir);
        _cleanup_buf_ Buf text = {};

        if (!m->user.pid1)
                return false;
        if (at.written[m->number].manager)
                return true;
        return path && file_read(AT_FDCWD, path, 4096, &text) >= 0 && buf_append(&text, "", 1) == 0 &&
               strstr((const char *) text.data, SIM_USER_MANAGER "\n");
}

static void compare_users(char *ret) {
        const Argosy__Response__Nodes *list = hosts_checks_ask_nodes();

        *ret = 0;
        if (!list)
                str_fit(ret, WORDS_SIZE, "there is no list of nodes");
        for (uint32_t n = 1; list && n <= sim_cluster_size() && !*ret; n++) {
                const Argosy__Response__NodeRow *row = NULL;
                const SimMachine *m = sim_machine(n);

                if (!members_is_in(n))
                        continue;
                for (size_t i = 0; i < list->n_rows; i++)
                        if (hosts_checks_place_of(list->rows[i]->node) == n + SIM_USER_PLACE)
                                row = list->rows[i];
                if (is_attached(m))
                        check_says("users-are-listed");
                if (is_attached(m) != (row != NULL))
                        str_fit(ret, WORDS_SIZE, "%s is %sattached, and the list of nodes has it%s",
                                sim_place_name(n + SIM_USER_PLACE), row ? "not " : "", row ? "" : " not");
                else if (row && *row->reason)
                        str_fit(ret, WORDS_SIZE, "%s runs, and the list of nodes says: %s",
                                sim_place_name(n + SIM_USER_PLACE), row->reason);
        }
}

void users_on_calm(void) {
        uint64_t until_us = sim_now_us() + CALM_US;
        char words[WORDS_SIZE];

        if (hosts_story.plan.swarm.users == 0)
                return;
        for (compare_users(words); *words && sim_now_us() < until_us; compare_users(words))
                (void) sim_run_for(USEC_PER_SEC);
        if (*words)
                check_fail("users-are-listed", "%s", words);
}

// Zones of hosts as they were before the entry and are behind it: who decides sees the former, and may
// change it in the same entry.
enum { HOSTS_KNOWN = 64, ZONE_SIZE = 16 };
static char before[HOSTS_KNOWN + 1][ZONE_SIZE], now[HOSTS_KNOWN + 1][ZONE_SIZE];

static void read_zones(void) {
        memcpy(before, now, sizeof(before));
        memset(now, 0, sizeof(now));
        for (const Argosy__HostRecord *h = cluster_state_next_host(hosts_story.truth, 0); h;
             h = cluster_state_next_host(hosts_story.truth, h->host))
                for (size_t i = 0; i < h->n_labels && h->host <= HOSTS_KNOWN; i++)
                        if (streq(h->labels[i]->key, "zone"))
                                str_fit(now[h->host], ZONE_SIZE, "%s", h->labels[i]->value);
}

void labelled_begin(void) {
        memset(now, 0, sizeof(now));
        read_zones();
}

void labelled_on_entry(const Argosy__LogBatch *batch) {
        read_zones();
        for (size_t i = 0; i < log_truth.n_touched; i++) {
                const struct LogTouched *t = &log_truth.touched[i];
                const LogUnit *u = &log_truth.units[t->unit];
                const WorldContent *c = log_content(u);
                const Argosy__HostRecord *h =
                        u->node ? cluster_state_find_host_by_node(hosts_story.truth, u->node) : NULL;

                if (!c || !c->zone || !h || h->host > HOSTS_KNOWN ||
                    (t->before.exists && t->before.node == u->node))
                        continue;
                check_says("placed-where-labelled");
                if (!streq(now[h->host], c->zone) && !streq(before[h->host], c->zone))
                        check_fail("placed-where-labelled",
                                   "%s requires zone=%s, and is given host %u, which has zone=%s",
                                   asks.units[t->unit].name, c->zone, h->host, now[h->host]);
        }
}
