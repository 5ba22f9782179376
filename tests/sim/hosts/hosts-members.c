// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See hosts-members.h.
#include "hosts-members.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asks.h"
#include "clock.h"
#include "daemon.h"
#include "fake-pid1.h"
#include "hosts-addresses.h"
#include "hosts-checks.h"
#include "hosts-faults.h"
#include "hosts-recover.h"
#include "hosts-story.h"
#include "macro.h"
#include "sim-host.h"
#include "story.h"
#include "str.h"
#include "test.h"
#include "unit-state.h"
#include "verdict.h"

enum { ASKED_MAX = 1024, TOKENS_MAX = 256, ROUNDS_MAX = 32, OPEN_JOBS_MAX = 10000 };
#define CALM_US (180 * USEC_PER_SEC) // by then what must come true has
#define ALIVE_US (30 * USEC_PER_SEC)
#define ENDS_US (60 * USEC_PER_SEC) // since a host without a fault, removed, has nothing that runs

typedef struct Token {
        char *text; // as long as the process
        bool once;
        uint32_t for_machine; // 0: any
        Hash used_by;         // by whom, of those that are used once
        unsigned n_used;
} Token;

typedef struct Asked {
        const SimAsk *at_host;
        const char *what;
        uint32_t machine; // that it is about
        uint32_t joins;   // of a token: the machine that is to join with it; 0: none
        uint32_t server;  // at whose address
        unsigned token;   // of a join: its number; of a request for one: the number that it gets
        bool discard;
} Asked;

static struct {
        Asked asked[ASKED_MAX];
        size_t n_asked;
        Token tokens[TOKENS_MAX];
        unsigned n_tokens;
        unsigned joins_with[SIM_CLUSTER_MAX + 1];  // the token of the machine's last join
        unsigned let_in_with[SIM_CLUSTER_MAX + 1]; // that was answered well, since it was none; 0: none was
        bool was_in[SIM_CLUSTER_MAX + 1];          // by itself
        uint64_t gone_us[SIM_CLUSTER_MAX + 1];     // when its record went; 0: it has one, or never had
        bool had[SIM_CLUSTER_MAX + 1];             // a record
        bool was_alive[SIM_CLUSTER_MAX + 1];       // when its record went, so that the leader has waited for
                                                   // its units
        uint64_t n_ids;
} members;

// ----------------------------------------------------------------------------------------------- who is one

uint32_t members_machine_of(uint32_t host) {
        const Argosy__HostRecord *r = host ? cluster_state_find_host(hosts_story.truth, host) : NULL;
        unsigned number;

        return r && sscanf(r->name, "n%u", &number) == 1 && sim_machine(number) ? number : 0;
}

const Argosy__HostRecord *members_record(uint32_t machine) {
        size_t n;
        const HostEntry *hosts = cluster_state_hosts(hosts_story.truth, &n);
        char name[16];

        snprintf(name, sizeof(name), "n%u", machine);
        for (size_t i = 0; i < n; i++)
                if (streq(hosts[i].record->name, name))
                        return hosts[i].record;
        return NULL;
}

bool members_is_in(uint32_t machine) {
        const SimMachine *m = sim_machine(machine);
        const Argosy__HostRecord *r = members_record(machine);

        return m->in_cluster && r && r->key_pin.len == HASH_SIZE &&
               memcmp(r->key_pin.data, m->pin.bytes, HASH_SIZE) == 0;
}

uint32_t members_or_next(uint32_t machine) {
        uint32_t n = (uint32_t) sim_cluster_size();

        for (uint32_t i = 0; i < n; i++) {
                uint32_t at = 1 + (machine - 1 + i) % n;

                if (members_is_in(at))
                        return at;
        }
        return 0;
}

// -------------------------------------------------------------------------------------------- what is asked

static Argosy__Request__Job *make_job(Argosy__Request__Job *job, uint64_t id[2]) {
        argosy__request__job__init(job);
        id[0] = ++members.n_ids;
        id[1] = 31;
        job->id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = 2 * sizeof(*id)};
        return job;
}

static Asked *ask(uint32_t at, Argosy__Request *request, const char *what, uint32_t machine) {
        Argosy__Request__Job job;
        uint64_t id[2];
        Asked *a;

        if (members.n_asked == ASKED_MAX)
                return NULL;
        request->job = make_job(&job, id);
        a = &members.asked[members.n_asked++];
        *a = (Asked){.what = what, .machine = machine};
        story_tell("at n%u: %s n%u", at, what, machine);
        story_event("member", at, machine, "%s", what);
        a->at_host = sim_client_send(at, NULL, request);
        return a;
}

static void ask_removal(uint32_t at, uint32_t machine, bool force) {
        Argosy__Request__ClusterRemove remove = ARGOSY__REQUEST__CLUSTER_REMOVE__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        char name[16];

        snprintf(name, sizeof(name), "n%u", machine);
        remove.host = name;
        remove.force = force;
        request.what_case = ARGOSY__REQUEST__WHAT_CLUSTER_REMOVE;
        request.cluster_remove = &remove;
        (void) ask(at, &request, force ? "remove by force" : "remove", machine);
}

static void ask_leave(uint32_t machine, bool force) {
        Argosy__Request__ClusterLeave leave = ARGOSY__REQUEST__CLUSTER_LEAVE__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;

        leave.force = force;
        request.what_case = ARGOSY__REQUEST__WHAT_CLUSTER_LEAVE;
        request.cluster_leave = &leave;
        (void) ask(machine, &request, force ? "leave by force" : "leave", machine);
}

static void ask_role(uint32_t at, uint32_t machine, bool promote) {
        Argosy__Request__ClusterRole role = ARGOSY__REQUEST__CLUSTER_ROLE__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        char name[16];

        snprintf(name, sizeof(name), "n%u", machine);
        role.host = name;
        role.promote = promote;
        request.what_case = ARGOSY__REQUEST__WHAT_CLUSTER_ROLE;
        request.cluster_role = &role;
        (void) ask(at, &request, promote ? "promote" : "demote", machine);
}

static void ask_voters(uint32_t at, unsigned n) {
        Argosy__Request__ClusterVoters voters = ARGOSY__REQUEST__CLUSTER_VOTERS__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;

        voters.wanted = n;
        request.what_case = ARGOSY__REQUEST__WHAT_CLUSTER_VOTERS;
        request.cluster_voters = &voters;
        if (ask(at, &request, "voters", 0))
                story_tell("    %u of them", n);
}

// ---- a join: a token, and with it the machine's own daemon

static void ask_join(uint32_t machine, uint32_t server, unsigned token, bool discard) {
        Argosy__Request__ClusterJoin join = ARGOSY__REQUEST__CLUSTER_JOIN__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        Asked *a;

        join.address = (char *) sim_machine_address(sim_machine(server));
        join.token = members.tokens[token].text;
        join.discard = discard;
        request.what_case = ARGOSY__REQUEST__WHAT_CLUSTER_JOIN;
        request.cluster_join = &join;
        members.joins_with[machine] = token;
        a = ask(machine, &request, "join", machine);
        if (a)
                a->token = token;
        story_tell("    by n%u, with token %u", server, token);
}

static void on_token(void *data) {
        const Asked *a = data;

        if (a->joins)
                ask_join(a->joins, a->server, a->token, a->discard);
}

void members_on_response(const SimAsk *at_host, const Argosy__Response *r) {
        for (size_t i = 0; i < members.n_asked; i++) {
                Asked *a = &members.asked[i];

                if (a->at_host != at_host)
                        continue;
                story_tell("%s n%u is answered: %d %s", a->what, a->machine, r->status, r->message);
                if (r->status == 0 && r->final && streq(a->what, "join"))
                        members.let_in_with[a->machine] = a->token;
                if (r->status == 0 && r->what_case == ARGOSY__RESPONSE__WHAT_TOKEN) {
                        members.tokens[a->token].text = strdup(r->token->token);
                        sim_at(sim_now_us(), NULL, on_token, a);
                }
        }
}

static void ask_token(uint32_t at, uint32_t joins, uint32_t server, Draw *d) {
        Argosy__Request__ClusterToken token = ARGOSY__REQUEST__CLUSTER_TOKEN__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        bool once = draw_below(d, 2), discard = draw_below(d, 2);
        char name[16];
        Asked *a;

        if (members.n_tokens + 1 == TOKENS_MAX)
                return;
        token.once = once;
        token.ttl_sec = draw_one_in(d, 4) ? (uint32_t) draw_log(d, 1, 3600) : 0;
        if (draw_one_in(d, 4)) {
                snprintf(name, sizeof(name), "n%u",
                         draw_one_in(d, 4) ? 1 + draw_below(d, (unsigned) sim_cluster_size()) : joins);
                token.for_host = name;
        }
        request.what_case = ARGOSY__REQUEST__WHAT_CLUSTER_TOKEN;
        request.cluster_token = &token;
        a = ask(at, &request, "token for", joins);
        if (!a)
                return;
        a->joins = joins;
        a->server = server;
        a->discard = discard;
        a->token = ++members.n_tokens;
        members.tokens[a->token] = (Token){.once = once};
}

static bool is_asked(uint32_t machine, const char *what) {
        for (size_t i = 0; i < members.n_asked; i++) {
                const Asked *a = &members.asked[i];

                if (!a->at_host->final && (a->machine == machine || a->joins == machine) &&
                    (!what || streq(a->what, what)))
                        return true;
        }
        return false;
}

// Any that somebody was given; 0: none.
static unsigned draw_known_token(Draw *d) {
        unsigned from = members.n_tokens ? draw_below(d, members.n_tokens) : 0;

        for (unsigned i = 0; i < members.n_tokens; i++) {
                unsigned token = 1 + (from + i) % members.n_tokens;

                if (members.tokens[token].text)
                        return token;
        }
        return 0;
}

static void join(uint32_t at, uint32_t machine, Draw *d) {
        uint32_t server = members_or_next(1 + draw_below(d, (unsigned) sim_cluster_size()));
        bool again = draw_one_in(d, 4);
        unsigned token = draw_known_token(d);

        if (members_is_in(machine) || !sim_machine(machine)->daemon || is_asked(machine, NULL))
                return;
        if (again && token)
                ask_join(machine, server, token, draw_below(d, 2));
        else
                ask_token(at, machine, server, d);
}

// So that whoever leaves does not take the majority away that the others need: it does not vote, and is not
// made to.
static bool may_leave_by_force(uint32_t machine) {
        const Argosy__HostRecord *r = members_record(machine);

        return r && r->role != ARGOSY__HOST_ROLE__ROLE_VOTER && r->raft_id == 0 && r->no_promote &&
               !is_asked(machine, "promote");
}

void members_step(Draw *d) {
        static const unsigned numbers[] = {1, 3, 5};
        unsigned what = draw_below(d, 16);
        uint32_t n = (uint32_t) sim_cluster_size(), machine = 1 + draw_below(d, n),
                 at = members_or_next(1 + draw_below(d, n));

        if (at == 0)
                return;
        for (uint32_t i = 0; what < 6 && i < n && members_is_in(machine); i++)
                machine = 1 + machine % n;
        if (what < 6)
                join(at, machine, d);
        else if (what < 8 && members_is_in(machine))
                ask_leave(machine, false);
        else if (what < 11)
                ask_removal(at, machine, draw_one_in(d, 4));
        else if (what < 13)
                ask_role(at, machine, draw_below(d, 2));
        else if (what < 15)
                ask_voters(at, DRAW_PICK(d, numbers));
        else if (members_is_in(machine) && may_leave_by_force(machine))
                ask_leave(machine, true);
}

void members_begin(void) {
        memset(&members, 0, sizeof(members));
        for (uint32_t i = 1; i <= sim_cluster_size(); i++)
                members.was_in[i] = sim_machine(i)->in_cluster;
}

// -------------------------------------------------------------------------------------------- in the middle

// Whoever leads has heard it: it runs, and nothing has been wrong with it for longer than a lease.
static bool is_alive(uint32_t machine) {
        const SimMachine *m = sim_machine(machine);

        return m->daemon && m->daemon->attached && sim_now_us() >= hosts_faults_last_us(machine) + ALIVE_US;
}

static bool is_asked_by_force(uint32_t machine) {
        for (size_t i = 0; i < members.n_asked; i++)
                if (members.asked[i].machine == machine && streq(members.asked[i].what, "remove by force"))
                        return true;
        return false;
}

bool members_left_alive(uint32_t machine) {
        return !members_record(machine) && members.was_alive[machine];
}

void members_on_entry(const Argosy__LogBatch *batch) {
        for (uint32_t i = 1; i <= sim_cluster_size(); i++) {
                bool has = members_record(i);

                if (members.had[i] && !has) {
                        members.gone_us[i] = sim_now_us();
                        members.was_alive[i] = is_alive(i) && !is_asked_by_force(i);
                }
                if (has)
                        members.gone_us[i] = 0;
                members.had[i] = has;
        }
}

static unsigned first_unit_on(const SimMachine *m) {
        sim_foreach_place(place) {
                FakePid1 *p = sim_place_machine(place) == m ? sim_place_pid1(place) : NULL;

                for (unsigned i = 0; p && i < asks.n_units; i++)
                        if (!active_state_is_down(pid1_active_state(p, asks.units[i].name)))
                                return i;
        }
        return asks.n_units;
}

// It has become a member by itself.
static void look_at_joined(uint32_t machine) {
        unsigned number = members.let_in_with[machine] ?: members.joins_with[machine];
        Token *t = &members.tokens[number];
        const Hash *pin = &sim_machine(machine)->pin;

        members.let_in_with[machine] = 0;
        if (number == 0 || !t->once)
                return;
        check_says("tokens-are-used-once");
        if (t->n_used++ > 0 && !hash_equal(&t->used_by, pin))
                check_fail("tokens-are-used-once",
                           "n%u has joined with token %u, with which another host had joined", machine,
                           number);
        t->used_by = *pin;
}

static uint64_t last_fault_us(void) {
        uint64_t last = 0;

        for (uint32_t i = 1; i <= sim_cluster_size(); i++)
                last = MAX_OF(last, hosts_faults_last_us(i));
        return last;
}

// A member that finds nobody itself, since all others are elsewhere by now, can tell nobody of anything.
static bool knows_the_cluster(uint32_t machine) {
        const Daemon *d = members_is_in(machine) ? sim_machine(machine)->daemon : NULL;

        return d && d->attached;
}

// Whether the voters that it knows can tell it, or, if they vote no more, name one that can: a host believes
// its removal if one says so and most of those that it knows do not want it (mesh_is_removed()). Else it
// waits for somebody who gives it up (`cluster leave --force`).
static bool can_hear_of_it(const SimMachine *m) {
        const Argosy__PeersFile *peers = m->daemon ? m->daemon->peers : NULL;
        size_t n = 0, n_members = 0;

        for (size_t i = 0; peers && i < peers->n_voters; i++) {
                const Argosy__HostRecord *r =
                        cluster_state_find_host(hosts_story.truth, peers->voters[i]->host);

                if (peers->voters[i]->host == peers->host)
                        continue;
                n++;
                n_members += r && knows_the_cluster(members_machine_of(r->host)) &&
                             hosts_addresses_is_at(peers->voters[i]);
        }
        return 2 * n_members > n;
}

static void look_at_removed(uint32_t machine) {
        const SimMachine *m = sim_machine(machine);
        unsigned unit;

        if (members.gone_us[machine] == 0 ||
            sim_now_us() < MAX_OF(members.gone_us[machine], last_fault_us()) + ENDS_US)
                return;
        if (m->in_cluster && !can_hear_of_it(m))
                return;
        check_says("removed-run-nothing");
        unit = first_unit_on(m);
        if (unit < asks.n_units)
                check_fail("removed-run-nothing", "%s runs on n%u, which was removed %" PRIu64 " ms ago",
                           asks.units[unit].name, machine,
                           (sim_now_us() - members.gone_us[machine]) / USEC_PER_MSEC);
        if (!m->in_cluster)
                return;
        members_tell();
        check_fail("removed-run-nothing",
                   "n%u takes itself for a member, and was removed %" PRIu64 " ms ago", machine,
                   (sim_now_us() - members.gone_us[machine]) / USEC_PER_MSEC);
}

void members_on_look(void) {
        for (uint32_t i = 1; i <= sim_cluster_size(); i++) {
                const SimMachine *m = sim_machine(i);

                if (m->in_cluster && !members.was_in[i])
                        look_at_joined(i);
                members.was_in[i] = m->in_cluster;
                look_at_removed(i);
        }
}

// ----------------------------------------------------------------------------------------------- in the end

static bool all_are_answered(void *data) {
        for (size_t i = 0; i < members.n_asked; i++)
                if (!members.asked[i].at_host->final)
                        return false;
        return true;
}

void members_tell(void) {
        for (uint32_t i = 1; i <= sim_cluster_size(); i++) {
                const Argosy__HostRecord *r = members_record(i);

                story_tell("n%u: member by the log %i, as host %u at %s, role %i, raft id %u, not to vote "
                           "%i; by itself %i, at %s",
                           i, r != NULL, r ? r->host : 0, r ? r->address : "", r ? (int) r->role : 0,
                           r ? r->raft_id : 0, r && r->no_promote, sim_machine(i)->in_cluster,
                           sim_machine_address(sim_machine(i)));
                voters_tell_links(i);
        }
}

static void await_answers(void) {
        (void) sim_run_until(all_are_answered, NULL, CALM_US);
}

static bool is_node_of(const Argosy__HostRecord *r, uint32_t node) {
        for (size_t i = 0; i < r->n_nodes; i++)
                if (r->nodes[i]->node == node)
                        return true;
        return false;
}

// Of a group whose others have failed no more may be taken down, and so one that runs there stays, as
// argosy-unit(5) says of MaxUnavailable=.
static bool keeps_one_of_a_group(uint32_t machine) {
        const Argosy__HostRecord *r = members_record(machine);

        for (unsigned i = 0; r && i < asks.n_units; i++) {
                const LogUnit *u = &log_truth.units[i];
                const WorldContent *c =
                        u->exists && is_node_of(r, u->node) ? world_content_find(u->spec.bytes) : NULL;

                if (c && c->max_unavailable > 0)
                        return true;
        }
        return false;
}

// Who is not emptied, for that, is removed by force by somebody.
static void force_out_the_kept(void) {
        size_t n = members.n_asked;

        for (size_t i = 0; i < n; i++) {
                const Asked *a = &members.asked[i];
                uint32_t at = members_or_next(1 + a->machine % (uint32_t) sim_cluster_size());

                if (!a->at_host->final && (streq(a->what, "leave") || streq(a->what, "remove")) &&
                    keeps_one_of_a_group(a->machine) && at != a->machine)
                        ask_removal(at, a->machine, true);
        }
}

// Nobody is lost any more, so nothing is waited for that may yet come back.
static void judge_answers(void) {
        if (sim_run_until(all_are_answered, NULL, CALM_US))
                return;
        members_tell();
        for (size_t i = 0; i < members.n_asked; i++)
                if (!members.asked[i].at_host->final)
                        check_fail("members-are-one",
                                   "nobody has answered: %s n%u, asked at n%u %" PRIu64 " ms ago",
                                   members.asked[i].what, members.asked[i].machine,
                                   members.asked[i].at_host->at,
                                   (sim_now_us() - members.asked[i].at_host->asked_us) / USEC_PER_MSEC);
}

// None of the voters that it knows is a member any more, so nobody tells it who votes; nor does it vote
// itself.
static bool has_lost_all_voters(const SimMachine *m) {
        const Argosy__PeersFile *peers = m->daemon ? m->daemon->peers : NULL;

        for (size_t i = 0; peers && i < peers->n_voters; i++) {
                const Argosy__Voter *v = peers->voters[i];
                const Argosy__HostRecord *r = cluster_state_find_host(hosts_story.truth, v->host);

                if (r && members_is_in(members_machine_of(r->host)) &&
                    (v->host != peers->host || r->raft_id > 0))
                        return false;
        }
        return peers;
}

// A member by the log, or by itself alone, of which nobody can come to hear: somebody gives it up.
static void give_up_the_lost(void) {
        for (uint32_t i = 1; i <= sim_cluster_size(); i++) {
                const SimMachine *m = sim_machine(i);

                if (m->in_cluster && (members_record(i) ? has_lost_all_voters(m) : !can_hear_of_it(m)))
                        ask_leave(i, true);
        }
}

// The queue is closed, perhaps, or has rules.
static void release(void) {
        Argosy__Request__JobRelease release = ARGOSY__REQUEST__JOB_RELEASE__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        const Asked *last = &members.asked[members.n_asked - 1];

        if (!last->at_host->last || !last->at_host->last->held)
                return;
        release.numbers = (uint64_t *) &last->at_host->last->job;
        release.n_numbers = 1;
        request.what_case = ARGOSY__REQUEST__WHAT_JOB_RELEASE;
        request.job_release = &release;
        (void) ask(last->at_host->at, &request, "release the removal of", last->machine);
        await_answers();
}

static void change_queue(Argosy__Request__QueueChange *change, const Asked *last, const char *what) {
        Argosy__Request request = ARGOSY__REQUEST__INIT;

        request.what_case = ARGOSY__REQUEST__WHAT_QUEUE_CHANGE;
        request.queue_change = change;
        (void) ask(last->at_host->at, &request, what, last->machine);
        await_answers();
}

// Whoever asks may have as many open jobs as an author may have.
static void raise_limit(void) {
        Argosy__Request__QueueChange change = ARGOSY__REQUEST__QUEUE_CHANGE__INIT;
        const Asked *last = &members.asked[members.n_asked - 1];

        if (!last->at_host->last || last->at_host->last->status != EDQUOT)
                return;
        change.open_max = OPEN_JOBS_MAX;
        change_queue(&change, last, "a higher limit of jobs, for the removal of");
}

// A rule of the queue refuses it.
static void drop_rule(void) {
        Argosy__Request__QueueChange change = ARGOSY__REQUEST__QUEUE_CHANGE__INIT;
        const Asked *last = &members.asked[members.n_asked - 1];
        const char *rule = last->at_host->last ? strstr(last->at_host->last->message, "(rule ") : NULL;

        if (!rule || last->at_host->last->status != EPERM || sscanf(rule, "(rule %u ", &change.remove) != 1)
                return;
        change_queue(&change, last, "no rule that refuses the removal of");
}

// Whoever the log has, and has another key or another cluster by itself.
static uint32_t find_lost(void) {
        for (uint32_t i = 1; i <= sim_cluster_size(); i++)
                if (members_record(i) && !members_is_in(i))
                        return i;
        return 0;
}

static const char *why_not_one(uint32_t *ret_machine) {
        for (uint32_t i = 1; i <= sim_cluster_size(); i++) {
                const SimMachine *m = sim_machine(i);

                *ret_machine = i;
                if (!m->daemon)
                        return "is down";
                if (m->daemon->end != DAEMON_RUNNING)
                        return "ends";
                if (members_record(i) && !members_is_in(i))
                        return "is a member by the log alone";
                if (!members_record(i) && m->in_cluster)
                        return "is a member by itself alone";
                if (!members_record(i) && first_unit_on(m) < asks.n_units)
                        return "is no member, and has units that run";
        }
        return NULL;
}

static bool are_one(void *data) {
        uint32_t machine;

        hosts_story_catch_up();
        return !why_not_one(&machine);
}

void members_on_calm(void) {
        uint32_t machine;
        const char *why;

        if (members.n_asked == 0 && !hosts_recover_was())
                return;
        await_answers();
        (void) sim_run_until(are_one, NULL, CALM_US);
        give_up_the_lost();
        await_answers();
        (void) sim_run_until(are_one, NULL, CALM_US);
        for (unsigned i = 0; i < ROUNDS_MAX && (machine = find_lost()); i++) {
                uint32_t at = members_or_next(1);

                if (at == 0)
                        check_fail("members-are-one", "no machine is a member any more");
                ask_removal(at, machine, false);
                await_answers();
                release();
                raise_limit();
                drop_rule();
                (void) sim_run_until(are_one, NULL, CALM_US);
        }
        give_up_the_lost(); // of those that were removed just now, too
        force_out_the_kept();
        judge_answers();
        (void) sim_run_until(are_one, NULL, CALM_US);
        why = why_not_one(&machine);
        if (why) {
                members_tell();
                check_fail("members-are-one", "n%u %s", machine, why);
        }
        check_says("members-are-one");
}
