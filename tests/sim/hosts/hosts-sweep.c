// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See hosts-sweep.h. A script asks, and waits for what it asked to be so; it asks again what failed, as
// somebody at a terminal would. The fault is one, and over soon, so what the script wanted comes to pass
// within the time that any story has; and it stays so, with all checks on, when everything is well.
#include "hosts-sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "daemon.h"
#include "fake-pid1.h"
#include "hosts-checks.h"
#include "hosts-faults.h"
#include "hosts-members.h"
#include "hosts-recover.h"
#include "hosts-story.h"
#include "macro.h"
#include "sim-client.h"
#include "sim-disk.h"
#include "sim-host.h"
#include "sim-store.h"
#include "str.h"
#include "test.h"
#include "verdict.h"

#define UNIT "swept.service"
#define CONTENT(n) "[Unit]\nDescription=" n "\n[Service]\nExecStart=/bin/sleep 1000\n"
#define BACK_US USEC_PER_SEC
#define LATE_US (10 * USEC_PER_SEC)
#define PATIENCE_US (60 * USEC_PER_SEC) // of whoever asks, until the same is asked again
#define TRUE_US (180 * USEC_PER_SEC)
enum { FRESH = 4, TRIES = 8 };

const char *const sweep_fault_names[_SWEEP_FAULTS] = {
        [SWEEP_NONE] = "none", [SWEEP_CRASH] = "crash", [SWEEP_OUTAGE] = "outage", [SWEEP_PAIR] = "pair",
        [SWEEP_OLD] = "old",   [SWEEP_LOST] = "lost",   [SWEEP_BEHIND] = "behind", [SWEEP_LATE] = "late",
};

static struct {
        SweepPoint point;
        uint64_t changes[SWEEP_HOSTS]; // before it begins
        uint64_t n_messages;
        bool on;
        SimHost *from, *to; // of the message
} sweep;

// ------------------------------------------------------------------------------------------------ the fault

static void set_clogged(bool clogged) {
        SimWay way = sim_net_way(sweep.from, sweep.to);

        way.clogged = clogged;
        sim_net_set_way(sweep.from, sweep.to, way);
}

static void on_late(void *data) {
        set_clogged(false);
}

static void on_lost(void *data) {
        sim_net_reset(sweep.from, sweep.to);
}

static void on_message(SimHost *from, SimHost *to) {
        if (!sweep.on || ++sweep.n_messages != sweep.point.n || sweep.point.fault < SWEEP_LOST)
                return;
        sweep.from = from;
        sweep.to = to;
        story_tell("message %llu, from n%u to n%u, is %s", (unsigned long long) sweep.n_messages,
                   sim_host_number(from), sim_host_number(to), sweep_fault_names[sweep.point.fault]);
        hosts_faults_touch(sim_host_number(from));
        hosts_faults_touch(sim_host_number(to));
        if (sweep.point.fault == SWEEP_LOST)
                sim_at(sim_now_us(), NULL, on_lost, NULL);
        else if (sweep.point.fault == SWEEP_BEHIND)
                sim_net_lose_behind_next(from, to);
        else {
                set_clogged(true);
                sim_at(sim_now_us() + LATE_US, NULL, on_late, NULL);
        }
}

static void begin_fault(void) {
        const SweepPoint *p = &sweep.point;

        sweep.on = true;
        for (uint32_t i = 1; i <= sim_cluster_size(); i++)
                sweep.changes[i] = sim_disk_changes(i);
        if (p->fault == SWEEP_NONE)
                sim_disk_count();
        if (p->fault == SWEEP_PAIR)
                sim_disk_lose(p->host, p->lost[0], p->lost[1]);
        if (p->fault == SWEEP_OLD) {
                sim_disk_remember(p->host, p->host == FRESH);
                sim_disk_bring_back(p->host);
                sim_disk_lose(p->host, 0, 0);
        }
        if (p->fault != SWEEP_NONE && p->fault <= SWEEP_OLD)
                sim_machine_die_at(sim_machine(p->host), (unsigned) p->n, p->fault != SWEEP_CRASH, BACK_US);
}

static void count_unsynced(uint32_t host, SweepCounts *ret) {
        for (uint64_t n = 1; n <= ret->changes[host] && n < SWEEP_CHANGES; n++)
                ret->unsynced[host][n] = (uint8_t) MIN_OF(sim_disk_unsynced(host, sweep.changes[host] + n),
                                                          (unsigned) UINT8_MAX);
}

// ----------------------------------------------------------------------------------------- what scripts say

static bool is_final(void *data) {
        return ((const SimAsk *) data)->final;
}

// Whether it was answered well.
static bool is_well(SimAsk *ask) {
        const Argosy__Response__UnitResult *result;

        if (!sim_run_until(is_final, ask, PATIENCE_US) || ask->error < 0 || !ask->last ||
            ask->last->status != 0)
                return false;
        result = sim_client_result(ask);
        return !result || result->status == 0;
}

// Not whoever leads, so that there is a way to it; and somebody else when the one does not answer.
static uint32_t next_at(unsigned try) {
        return members_or_next(1 + (sim_store_leader() + try) % 3);
}

static void change_until_well(Argosy__Verb verb, const char *content) {
        const char *why = "nobody could be asked";

        for (unsigned i = 0; i < TRIES; i++) {
                uint32_t at = next_at(i);
                SimAsk *ask = at ? sim_client_change(at, verb, UNIT, content) : NULL;

                if (ask && is_well(ask))
                        return;
                if (ask && ask->last)
                        why = sim_client_result(ask) ? sim_client_result(ask)->message : ask->last->message;
                sim_run_for(USEC_PER_SEC);
        }
        check_fail("sweep", "%s is not done after %d times: %s", UNIT, TRIES, why);
}

static unsigned count_running(const char *content) {
        unsigned n = 0;

        for (uint32_t i = 1; i <= sim_cluster_size(); i++) {
                const SimMachine *m = sim_machine(i);
                const char *has =
                        m->powered && pid1_is_active(m->pid1, UNIT) ? pid1_content(m->pid1, UNIT) : NULL;

                n += has && (!content || streq(has, content));
        }
        return n;
}

static bool runs_once(void *content) {
        return count_running(content) == 1 && count_running(NULL) == 1;
}

static void must_come(bool (*is_so)(void *data), void *data, const char *what) {
        if (sim_run_until(is_so, data, TRUE_US))
                return;
        members_tell();
        check_fail("sweep", "%s does not come to pass", what);
}

// ---------------------------------------------------------------------------------------------- the stories

static void play_start(void) {
        change_until_well(ARGOSY__VERB__VERB_START, CONTENT("one"));
}

static void end_start(void) {
        must_come(runs_once, (void *) CONTENT("one"), UNIT " as it was started");
}

static void before_update(void) {
        play_start();
        end_start();
}

static void play_update(void) {
        change_until_well(ARGOSY__VERB__VERB_START, CONTENT("two"));
}

static void end_update(void) {
        must_come(runs_once, (void *) CONTENT("two"), UNIT " with its new content");
}

static const char *make_token(uint32_t at) {
        Argosy__Request__ClusterToken token = ARGOSY__REQUEST__CLUSTER_TOKEN__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        Argosy__Request__Job job = ARGOSY__REQUEST__JOB__INIT;
        uint64_t id[2] = {draw_word(sim_draw()), draw_word(sim_draw())};
        SimAsk *ask;

        job.id = (ProtobufCBinaryData){sizeof(id), (uint8_t *) id};
        request.job = &job;
        request.what_case = ARGOSY__REQUEST__WHAT_CLUSTER_TOKEN;
        request.cluster_token = &token;
        ask = sim_client_send(at, NULL, &request);
        return is_well(ask) && ask->last->what_case == ARGOSY__RESPONSE__WHAT_TOKEN ? ask->last->token->token
                                                                                    : NULL;
}

static bool is_up(void *data) {
        const SimMachine *m = sim_machine(FRESH);

        return m->daemon && m->daemon->attached;
}

static bool has_joined(void *data) {
        hosts_story_catch_up();
        return is_up(NULL) && members_is_in(FRESH);
}

static void join_once(uint32_t at, const char *token) {
        Argosy__Request__ClusterJoin join = ARGOSY__REQUEST__CLUSTER_JOIN__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;

        join.address = (char *) sim_machine_address(sim_machine(at));
        join.token = (char *) token;
        request.what_case = ARGOSY__REQUEST__WHAT_CLUSTER_JOIN;
        request.cluster_join = &join;
        (void) is_well(sim_client_send(FRESH, NULL, &request));
}

// Whoever the log has, and has not heard of it, is removed before the next attempt, as the refusal says.
static void remove_lost(uint32_t at) {
        Argosy__Request__ClusterRemove removal = ARGOSY__REQUEST__CLUSTER_REMOVE__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        Argosy__Request__Job job = ARGOSY__REQUEST__JOB__INIT;
        uint64_t id[2] = {draw_word(sim_draw()), draw_word(sim_draw())};

        hosts_story_catch_up();
        if (!members_record(FRESH) || members_is_in(FRESH))
                return;
        job.id = (ProtobufCBinaryData){sizeof(id), (uint8_t *) id};
        request.job = &job;
        removal.host = (char *) "n4";
        request.what_case = ARGOSY__REQUEST__WHAT_CLUSTER_REMOVE;
        request.cluster_remove = &removal;
        (void) is_well(sim_client_send(at, NULL, &request));
}

static void play_join(void) {
        for (unsigned i = 0; i < TRIES && !has_joined(NULL); i++) {
                uint32_t at = next_at(i);
                const char *token = at ? make_token(at) : NULL;

                if (token && sim_run_until(is_up, NULL, PATIENCE_US))
                        join_once(at, token);
                if (!sim_run_until(has_joined, NULL, 10 * USEC_PER_SEC) && at)
                        remove_lost(at);
        }
}

static void end_join(void) {
        must_come(has_joined, NULL, "that n4 is a member");
}

static bool has_left(void *data) {
        hosts_story_catch_up();
        return is_up(NULL) && !sim_machine(FRESH)->in_cluster && !members_record(FRESH);
}

static void before_leave(void) {
        play_join();
        end_join();
}

static void play_leave(void) {
        for (unsigned i = 0; i < TRIES && !has_left(NULL); i++) {
                Argosy__Request__ClusterLeave leave = ARGOSY__REQUEST__CLUSTER_LEAVE__INIT;
                Argosy__Request request = ARGOSY__REQUEST__INIT;
                Argosy__Request__Job job = ARGOSY__REQUEST__JOB__INIT;
                uint64_t id[2] = {draw_word(sim_draw()), draw_word(sim_draw())};

                job.id = (ProtobufCBinaryData){sizeof(id), (uint8_t *) id};
                request.job = &job;
                request.what_case = ARGOSY__REQUEST__WHAT_CLUSTER_LEAVE;
                request.cluster_leave = &leave;
                if (members_is_in(FRESH) && sim_run_until(is_up, NULL, PATIENCE_US))
                        (void) is_well(sim_client_send(FRESH, NULL, &request));
                (void) sim_run_until(has_left, NULL, 10 * USEC_PER_SEC);
        }
}

static void end_leave(void) {
        must_come(has_left, NULL, "that n4 is a host of its own");
}

static bool all_vote(void *data) {
        hosts_story_catch_up();
        for (uint32_t i = 1; i <= 3; i++) {
                const Argosy__HostRecord *r = members_record(i);

                if (!r || r->role != ARGOSY__HOST_ROLE__ROLE_VOTER ||
                    sim_store_applied(i) < sim_store_committed())
                        return false;
        }
        return true;
}

static bool ask_until_well(uint32_t at, Argosy__Request *request) {
        Argosy__Request__Job job = ARGOSY__REQUEST__JOB__INIT;
        uint64_t id[2] = {draw_word(sim_draw()), draw_word(sim_draw())};
        bool well;

        job.id = (ProtobufCBinaryData){sizeof(id), (uint8_t *) id};
        request->job = &job;
        well = at && is_well(sim_client_send(at, NULL, request));
        request->job = NULL;
        return well;
}

// ---- a host that is to leave has a unit that must not run twice: it is started while no other node takes
// it

#define GUARDED CONTENT("one") "TimeoutStopSec=5\n[X-Argosy]\nCutOff=stop\nCutOffSec=5\n"

static const char *guarded_name(void) {
        return asks.units[0].name; // one that checks look at
}

static void set_modes(Argosy__NodeMode mode) {
        static char *names[] = {(char *) "n1", (char *) "n2", (char *) "n3"};

        for (unsigned i = 0; i < TRIES; i++) {
                Argosy__Request__NodeChange modes = ARGOSY__REQUEST__NODE_CHANGE__INIT;
                Argosy__Request request = ARGOSY__REQUEST__INIT;

                modes.nodes = names;
                modes.n_nodes = ELEMENTSOF(names);
                modes.mode = mode;
                request.what_case = ARGOSY__REQUEST__WHAT_NODE_CHANGE;
                request.node_change = &modes;
                if (ask_until_well(next_at(i), &request))
                        return;
                sim_run_for(USEC_PER_SEC);
        }
}

static unsigned count_guarded(uint32_t on) {
        unsigned n = 0;

        for (uint32_t i = 1; i <= sim_cluster_size(); i++)
                n += (on == 0 || on == i) && sim_machine(i)->powered &&
                     pid1_is_active(sim_machine(i)->pid1, guarded_name());
        return n;
}

static bool is_on_fresh(void *data) {
        return count_guarded(FRESH) == 1;
}

static void before_empty(void) {
        before_leave();
        set_modes(ARGOSY__NODE_MODE__MODE_CORDONED);
        for (unsigned i = 0; i < TRIES && count_guarded(0) == 0; i++) {
                uint32_t at = next_at(i);

                if (at)
                        (void) is_well(
                                sim_client_change(at, ARGOSY__VERB__VERB_START, guarded_name(), GUARDED));
        }
        must_come(is_on_fresh, NULL, "that the unit runs on n4");
        set_modes(ARGOSY__NODE_MODE__MODE_OPEN);
}

static bool has_moved(void *data) {
        return has_left(NULL) && count_guarded(FRESH) == 0 && count_guarded(0) == 1;
}

static void end_empty(void) {
        must_come(has_moved, NULL, "that the unit runs on another host, and n4 has left");
}

// ---- a host is off while the only voter is replaced by another one, and stays a member

static bool another_votes(void *data) {
        const Argosy__HostRecord *first = members_record(1);
        unsigned n = 0;

        hosts_story_catch_up();
        for (uint32_t i = 2; i <= 3; i++) {
                const Argosy__HostRecord *r = members_record(i);

                n += r && r->role == ARGOSY__HOST_ROLE__ROLE_VOTER &&
                     sim_store_applied(i) >= sim_store_committed();
        }
        return first && first->role != ARGOSY__HOST_ROLE__ROLE_VOTER && first->raft_id == 0 && n == 1 &&
               sim_machine(1)->daemon &&
               sim_machine(1)->daemon->peers->raft_id == 0; // and its own log is gone
}

static void replace_voter(void) {
        for (unsigned i = 0; i < TRIES && !another_votes(NULL); i++) {
                Argosy__Request__ClusterRole role = ARGOSY__REQUEST__CLUSTER_ROLE__INIT;
                Argosy__Request request = ARGOSY__REQUEST__INIT;

                role.host = (char *) "n1";
                request.what_case = ARGOSY__REQUEST__WHAT_CLUSTER_ROLE;
                request.cluster_role = &role;
                (void) ask_until_well(next_at(i), &request);
                (void) sim_run_until(another_votes, NULL, 10 * USEC_PER_SEC);
        }
        must_come(another_votes, NULL, "that another host votes instead of n1");
}

static void before_away(void) {
        before_leave();
        sim_machine_power_off(sim_machine(FRESH));
        replace_voter();
}

static void play_away(void) {
        sim_machine_start(sim_machine(FRESH));
}

static bool is_back(void *data) {
        const SimMachine *m = sim_machine(FRESH);

        return has_joined(NULL) && m->daemon->known_leader != 0;
}

static void end_away(void) {
        must_come(is_back, NULL, "that n4 finds the leader");
}

static void play_vote(void) {
        for (unsigned i = 0; i < TRIES && !all_vote(NULL); i++) {
                Argosy__Request__ClusterVoters voters = ARGOSY__REQUEST__CLUSTER_VOTERS__INIT;
                Argosy__Request request = ARGOSY__REQUEST__INIT;
                Argosy__Request__Job job = ARGOSY__REQUEST__JOB__INIT;
                uint64_t id[2] = {draw_word(sim_draw()), draw_word(sim_draw())};
                uint32_t at = next_at(i);

                job.id = (ProtobufCBinaryData){sizeof(id), (uint8_t *) id};
                request.job = &job;
                voters.wanted = 3;
                request.what_case = ARGOSY__REQUEST__WHAT_CLUSTER_VOTERS;
                request.cluster_voters = &voters;
                if (at && is_well(sim_client_send(at, NULL, &request)))
                        return;
                sim_run_for(USEC_PER_SEC);
        }
}

static void end_vote(void) {
        must_come(all_vote, NULL, "that all three vote");
}

// ---- a voter was off while the others took snapshots: it is sent one, and at once has so many entries
// behind it that it takes one of its own

enum { AWAY = 3, SOON = 3, NEVER = 1000, UPDATES = 5 };

static void update_often(void) {
        for (unsigned i = 0; i < UPDATES; i++)
                change_until_well(ARGOSY__VERB__VERB_START, i % 2 ? CONTENT("one") : CONTENT("three"));
}

static void before_sent(void) {
        must_come(all_vote, NULL, "that all three vote");
        sim_machine_power_off(sim_machine(AWAY));
        sim_store_keep(SOON, 1);
        update_often();
        sim_store_keep(NEVER, 1); // or the one that is sent had them all
        update_often();
        sim_store_keep(SOON, 1);
}

static void play_sent(void) {
        sim_machine_start(sim_machine(AWAY));
        (void) sim_run_until(all_vote, NULL, PATIENCE_US);
        play_update();
}

static void end_sent(void) {
        end_update();
        end_vote();
}

// n2 loses its disk, n3 its power; n3 comes back when n1 is the cluster, and votes again. What ran on n2
// begins elsewhere.
enum { SURVIVOR = 1, COMES_BACK = 3 };

static bool may_recover(void *data) {
        hosts_story_catch_up();
        return sim_machine(SURVIVOR)->daemon && sim_store_written(SURVIVOR) >= sim_store_committed();
}

static void before_recover(void) {
        before_update();
        must_come(may_recover, NULL, "that n1 has all of the log");
}

static void play_recover(void) {
        hosts_recover(SURVIVOR, COMES_BACK, 5 * USEC_PER_SEC, sim_draw());
}

static bool has_recovered(void *data) {
        hosts_story_catch_up();
        return sim_store_leader() > 0 && members_is_in(SURVIVOR) && members_is_in(COMES_BACK) &&
               sim_machine(COMES_BACK)->daemon && sim_machine(COMES_BACK)->daemon->attached;
}

static void end_recover(void) {
        must_come(has_recovered, NULL, "that n1 and n3 are one cluster");
        play_update();
        end_update();
}

static const struct {
        const char *name;
        unsigned voters;
        void (*before)(void); // NULL: nothing
        void (*play)(void), (*end)(void);
} stories[] = {
        {"start", 3, NULL, play_start, end_start},
        {"update", 3, before_update, play_update, end_update},
        {"join", 3, NULL, play_join, end_join},
        {"leave", 3, before_leave, play_leave, end_leave},
        {"empty", 3, before_empty, play_leave, end_empty},
        {"away", 1, before_away, play_away, end_away},
        {"vote", 1, NULL, play_vote, end_vote},
        {"sent", 3, before_sent, play_sent, end_sent},
        {"recover", 3, before_recover, play_recover, end_recover},
};

const char *hosts_sweep_name(unsigned i) {
        return i < ELEMENTSOF(stories) ? stories[i].name : NULL;
}

static size_t find_story(const char *name) {
        size_t i = 0;

        while (i < ELEMENTSOF(stories) && !streq(stories[i].name, name))
                i++;
        return i;
}

bool hosts_sweep_is_known(const char *name) {
        return find_story(name) < ELEMENTSOF(stories);
}

static size_t story;

static void script(void) {
        sim_net_on_message(on_message);
        (void) sim_run_until(is_up, NULL, PATIENCE_US);
        if (stories[story].before)
                stories[story].before();
        begin_fault();
        stories[story].play();
        stories[story].end();
        sweep.on = false;
}

void hosts_sweep_play(const char *name, SweepPoint point, StoryOutput output, SweepCounts *ret) {
        static StoryPlan plan = {.chance = 29,
                                 .swarm = {.hosts = 3, .units = 1, .fresh = 1, .loads = {[LOAD_units] = 1}}};

        memset(&sweep, 0, sizeof(sweep));
        sweep.point = point;
        story = find_story(name);
        plan.swarm.voters = stories[story].voters;
        hosts_story_begin(&plan, output);
        script();
        for (uint32_t i = 1; i <= sim_cluster_size(); i++)
                ret->changes[i] = sim_disk_changes(i) - sweep.changes[i];
        for (uint32_t i = 1; sweep.point.fault == SWEEP_NONE && i <= sim_cluster_size(); i++)
                count_unsynced(i, ret);
        ret->messages = sweep.n_messages;
        hosts_story_calm_down();
        stories[story].end();
        hosts_story_end();
}
