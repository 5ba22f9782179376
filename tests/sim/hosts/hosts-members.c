// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Who is a member of the cluster, and what a story asks for about that (hosts-members.h).
#include "hosts-members-private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hosts-story.h"
#include "macro.h"
#include "story.h"
#include "str.h"

Members members;

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

Asked *members_ask(uint32_t at, Argosy__Request *request, const char *what, uint32_t machine) {
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

void members_ask_removal(uint32_t at, uint32_t machine, bool force) {
        Argosy__Request__ClusterRemove remove = ARGOSY__REQUEST__CLUSTER_REMOVE__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        char name[16];

        snprintf(name, sizeof(name), "n%u", machine);
        remove.host = name;
        remove.force = force;
        request.what_case = ARGOSY__REQUEST__WHAT_CLUSTER_REMOVE;
        request.cluster_remove = &remove;
        (void) members_ask(at, &request, force ? "remove by force" : "remove", machine);
}

void members_ask_leave(uint32_t machine, bool force) {
        Argosy__Request__ClusterLeave leave = ARGOSY__REQUEST__CLUSTER_LEAVE__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;

        leave.force = force;
        request.what_case = ARGOSY__REQUEST__WHAT_CLUSTER_LEAVE;
        request.cluster_leave = &leave;
        (void) members_ask(machine, &request, force ? "leave by force" : "leave", machine);
}

void members_ask_role(uint32_t at, uint32_t machine, bool promote) {
        Argosy__Request__ClusterRole role = ARGOSY__REQUEST__CLUSTER_ROLE__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        char name[16];

        snprintf(name, sizeof(name), "n%u", machine);
        role.host = name;
        role.promote = promote;
        request.what_case = ARGOSY__REQUEST__WHAT_CLUSTER_ROLE;
        request.cluster_role = &role;
        (void) members_ask(at, &request, promote ? "promote" : "demote", machine);
}

static void ask_voters(uint32_t at, unsigned n) {
        Argosy__Request__ClusterVoters voters = ARGOSY__REQUEST__CLUSTER_VOTERS__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;

        voters.wanted = n;
        request.what_case = ARGOSY__REQUEST__WHAT_CLUSTER_VOTERS;
        request.cluster_voters = &voters;
        if (members_ask(at, &request, "voters", 0))
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
        a = members_ask(machine, &request, "join", machine);
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
        a = members_ask(at, &request, "token for", joins);
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
                members_ask_leave(machine, false);
        else if (what < 11)
                members_ask_removal(at, machine, draw_one_in(d, 4));
        else if (what < 13)
                members_ask_role(at, machine, draw_below(d, 2));
        else if (what < 15)
                ask_voters(at, DRAW_PICK(d, numbers));
        else if (members_is_in(machine) && may_leave_by_force(machine))
                members_ask_leave(machine, true);
}

void members_begin(void) {
        memset(&members, 0, sizeof(members));
        for (uint32_t i = 1; i <= sim_cluster_size(); i++)
                members.was_in[i] = sim_machine(i)->in_cluster;
}
