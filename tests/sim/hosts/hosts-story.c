// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See hosts-story.h.
#include "hosts-story.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "asks.h"
#include "checks.h"
#include "clock.h"
#include "coverage.h"
#include "daemon.h"
#include "fake-pid1.h"
#include "hosts-addresses.h"
#include "hosts-at.h"
#include "hosts-checks.h"
#include "hosts-faults.h"
#include "hosts-members.h"
#include "hosts-recover.h"
#include "log.h"
#include "macro.h"
#include "message.h"
#include "request-kind.h"
#include "sim-client.h"
#include "sim-host.h"
#include "sim-store.h"
#include "test.h"
#include "verdict.h"

enum { ONESHOT_SECONDS = 8 }; // that one takes on average
#define LOOK_US USEC_PER_SEC
#define SETTLE_US (5 * USEC_PER_SEC)
#define REST_US (120 * USEC_PER_SEC) // in which all that has begun ends by itself

HostsStory hosts_story;

// ------------------------------------------------------------------------------------------------ words

void __wrap_log_write(int level, const char *file, int line, const char *field, const char *value,
                      const char *format, ...) _printf_(6, 7);

// What a host would write to its journal is a line of the story.
void __wrap_log_write(int level, const char *file, int line, const char *field, const char *value,
                      const char *format, ...) {
        char message[LOG_MESSAGE_MAX];
        va_list ap;

        if (level > LOG_NOTICE)
                return;
        va_start(ap, format);
        vsnprintf(message, sizeof(message), format, ap);
        va_end(ap);
        if (sim_current())
                hosts_at_on_log(sim_host_number(sim_current()), message);
        if (level > LOG_ERR)
                return;
        story_tell("n%u: %s", sim_current() ? sim_host_number(sim_current()) : 0, message);
}

// ------------------------------------------------------------------------------------------------ the truth

void hosts_story_catch_up(void) {
        HostsStory *h = &hosts_story;

        while (h->truth_index < sim_store_committed()) {
                const SimEntry *e = sim_store_entry(++h->truth_index);
                Argosy__LogBatch *batch;

                if (!e->data)
                        continue;
                batch = argosy__log_batch__unpack(NULL, e->len, e->data);
                assert_non_null(batch);
                assert_int_equal(cluster_state_apply(h->truth, batch), 0);
                message_free(batch);
                story_digest("entry", e->data, e->len);
                story_event("entry", 0, h->truth_index, "%zu", e->len);
                if (h->truth_index > 1) // the first one makes the cluster
                        checks_on_entry(e->data, e->len);
        }
}

static void on_applied(uint32_t host, uint64_t index) {
        hosts_story_catch_up();
        hosts_checks_on_applied(host, index);
}

// ------------------------------------------------------------------------------------------------ who asks

// Groups are numbered as they stand here.
static const char *const groups[] = {"dev", "ops"};
enum { FIRST_GROUP = 2000, NOBODYS_GROUP = 2999 };

static const SimAccount accounts[] = {
        {WORLD_UID(AUTHOR_ALICE), false, "alice"},
        {WORLD_UID(AUTHOR_CAROL), false, "carol"},
        {WORLD_UID(AUTHOR_STRANGER), false, "stranger"},
        {FIRST_GROUP, true, "dev"},
        {FIRST_GROUP + 1, true, "ops"},
};

static SimUser user_of(WorldAuthor who) {
        SimUser user = {.uid = WORLD_UID(who), .gid = NOBODYS_GROUP};

        for (size_t i = 0; i < ELEMENTSOF(groups); i++)
                if (world_author_is_in(who, groups[i]))
                        user.groups[user.n_groups++] = FIRST_GROUP + (gid_t) i;
        return user;
}

// Root asks anywhere, others where they are, as long as that is a member.
static void send_to_host(WorldAsked *a, Draw *d) {
        uint32_t at = a->author == AUTHOR_ROOT ? members_or_next(1 + draw_below(d, asks.swarm.hosts))
                                               : world_author_host(a->author);
        SimUser user = user_of(a->author);

        if (at == 0 || !members_is_in(at)) { // another cluster's by now
                story_tell("    at n%u, where nobody knows of it", at);
                a->at_host = sim_client_lost(at);
                return;
        }
        story_tell("    at n%u", at);
        story_event("ask", at, (uint64_t) (a - asks.asked) + 1, "%s",
                    request_kind(a->request->what_case)->name);
        a->at_host = sim_client_send(at, a->author == AUTHOR_ROOT ? NULL : &user, a->request);
}

static void tell_units(const Argosy__Response *r) {
        for (size_t i = 0; r->what_case == ARGOSY__RESPONSE__WHAT_CHANGE && i < r->change->n_units; i++)
                story_tell("    %s: %d %s, revision %" PRIu64, r->change->units[i]->name,
                           r->change->units[i]->status, r->change->units[i]->message,
                           r->change->units[i]->revision);
}

static void on_response(const SimAsk *ask, const Argosy__Response *r) {
        hosts_story_catch_up();
        for (size_t i = asks.n_asked; i > 0; i--)
                if (asks.asked[i - 1].at_host == ask) {
                        story_tell("request %zu is answered: %d %s", i, r->status, r->message);
                        tell_units(r);
                        checks_on_answer(&asks.asked[i - 1], r);
                        return;
                }
        members_on_response(ask, r);
}

static uint64_t wall_us(void) {
        return cluster_state_time_us(hosts_story.truth);
}

static const ClusterState *state(void) {
        return hosts_story.truth;
}

static void call_off(WorldAsked *a) {
        sim_client_call_off(a->at_host);
}

static int error_of(const WorldAsked *a) {
        return a->at_host ? a->at_host->error : -EAGAIN;
}

static bool is_final(const WorldAsked *a) {
        return a->at_host->final;
}

static const Argosy__Response *last_response(const WorldAsked *a) {
        return a->at_host ? a->at_host->last : NULL;
}

static uint64_t job_of(const WorldAsked *a) {
        return a->at_host ? a->at_host->job : 0;
}

// What a host's systemd and journal say: PID 1 is a fake one, and the journal is this machine's. And who
// joins has no key here.
static bool leaves_out(Argosy__Request__WhatCase what) {
        return what == ARGOSY__REQUEST__WHAT_STATUS || what == ARGOSY__REQUEST__WHAT_JOURNAL ||
               what == ARGOSY__REQUEST__WHAT_TOP;
}

// A machine that has joined anew is another host of the log.
static uint32_t host_of(uint32_t machine) {
        const Argosy__HostRecord *r = members_record(machine);

        return r ? r->host : 0;
}

static const AsksPort port = {
        .now_us = sim_now_us,
        .wall_us = wall_us,
        .state = state,
        .send = send_to_host,
        .call_off = call_off,
        .error = error_of,
        .is_final = is_final,
        .last_response = last_response,
        .job = job_of,
        .leaves_out = leaves_out,
        .no_tokens = true, // they are shown over HTTP
        .host = host_of,
};

// ------------------------------------------------------------------------------------------------ steps

typedef struct Ending {
        FakePid1 *pid1;
        const char *name;
        bool well;
} Ending;

static void run_ending(void *data) {
        const Ending *e = data;

        pid1_finish(e->pid1, e->name, e->well);
}

// What does something once, and is at it on that machine, has done it, well or not.
static void end_oneshots(uint32_t place) {
        FakePid1 *p = sim_place_pid1(place);

        for (size_t i = 0; p && i < asks.n_units; i++) {
                const char *name = asks.units[i].name;
                Ending e;

                if (pid1_active_state(p, name) != ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING ||
                    pid1_is_passing(p, name) || !draw_one_in(sim_draw(), ONESHOT_SECONDS))
                        continue;
                story_tell("%s ends on %s", name, sim_place_name(place));
                e = (Ending){p, name, !draw_one_in(sim_draw(), 4)};
                sim_machine_do(sim_place_machine(place), run_ending, &e);
                p = sim_place_pid1(place);
        }
}

static void on_look(void *data) {
        sim_foreach_place(place) end_oneshots(place);
        hosts_story_catch_up();
        checks_on_look();
        sim_at(sim_now_us() + LOOK_US, NULL, on_look, NULL);
}

static bool nobody_waits(void *data) {
        for (size_t i = 0; i < asks.n_asked; i++)
                if (!asks.asked[i].at_host->final && !hosts_checks_may_stay_open(&asks.asked[i]))
                        return false;
        return true;
}

void hosts_story_calm_down(void) {
        story_tell("all is mended");
        hosts_faults_mend();
        coverage_note_calm();
        hosts_addresses_tell();
        checks_on_calm();
}

static void step(const Step *s) {
        Draw d = draw_from(s->word);

        story_event("step", 0, hosts_story.step, "%s", step_kind_names[s->kind]);
        switch (s->kind) {
        case STEP_ASK:
                asks_step(&d);
                break;
        case STEP_FAULT:
                hosts_faults_step(&d);
                break;
        case STEP_TIME:
                sim_run_for(draw_log(&d, 1, asks.swarm.time_max_ms) * USEC_PER_MSEC);
                return;
        case STEP_SETTLE:
                (void) sim_run_until(nobody_waits, NULL, SETTLE_US);
                return;
        case STEP_MEMBER:
                members_step(&d);
                break;
        case STEP_RECOVER:
                hosts_recover_step(&d);
                break;
        case STEP_AT:
                hosts_at_step(&d);
                break;
        default:
                hosts_story_calm_down();
                return;
        }
        if (draw_below(&d, 3) > 0)
                sim_run_for(draw_log(&d, 1, asks.swarm.time_max_ms * UINT64_C(50)));
}

// ------------------------------------------------------------------------------------------------ a story

static void begin(const StoryPlan *plan, StoryOutput output) {
        Draw d = draw_from(plan->chance ^ 3);
        SimSettings settings[SIM_CLUSTER_MAX];

        hosts_addresses_settings(plan, settings);
        hosts_at_settings(plan, settings);
        hosts_story = (HostsStory){.plan = *plan, .truth = cluster_state_new()};
        assert_non_null(hosts_story.truth);
        sim_cluster_begin(plan->chance, plan->swarm.hosts,
                          plan->swarm.voters ? MIN_OF(plan->swarm.voters, plan->swarm.hosts)
                                             : plan->swarm.hosts,
                          MIN_OF(plan->swarm.fresh, SIM_CLUSTER_MAX - plan->swarm.hosts), settings);
        story_begin(output, sim_clock());
        sim_client_begin();
        sim_client_set_accounts(accounts, ELEMENTSOF(accounts));
        sim_client_on_response(on_response);
        sim_store_on_applied(on_applied);
        asks_begin(&port, &plan->swarm, &d);
        hosts_faults_begin();
        hosts_addresses_begin(plan);
        members_begin();
        hosts_story_catch_up();
        checks_begin();
        for (uint32_t i = 1; i <= sim_cluster_size(); i++)
                sim_machine_start(sim_machine(i));
        sim_at(sim_now_us(), NULL, on_look, NULL);
}

static void end(void) {
        hosts_story.virtual_us = sim_now_us();
        hosts_story.figures = sim_figures();
        hosts_story.net = sim_net_figures();
        coverage_note_asked();
        checks_end();
        sim_client_end();
        sim_cluster_end();
        asks_end();
        cluster_state_free(hosts_story.truth);
}

void hosts_story_begin(const StoryPlan *plan, StoryOutput output) {
        begin(plan, output);
        sim_run_until(hosts_checks_have_leader, NULL, REST_US);
}

void hosts_story_end(void) {
        checks_on_end();
        end();
}

void hosts_story_play(const StoryPlan *plan, StoryOutput output) {
        Draw d = draw_from(plan->chance ^ 4);

        hosts_story_begin(plan, output);
        asks_ask_first(&d);
        for (; hosts_story.step < plan->n_steps; hosts_story.step++) {
                if (output.until == hosts_story.step + 1)
                        verdict_stop_for_debugger();
                step(&plan->steps[hosts_story.step]);
        }
        hosts_story_calm_down();
        hosts_story_end();
}
