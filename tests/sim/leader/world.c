// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See world.h. Steps are played one by one; each ends with a turn at least. What the rig and the checks find wrong ends the story.
#include "world.h"

#include <inttypes.h>
#include <string.h>

#include "asks.h"
#include "checks.h"
#include "coverage.h"
#include "leader-private.h"
#include "message.h"
#include "process.h"
#include "test.h"

World world;

const char *const world_authors[WORLD_AUTHORS] = {"root", "alice", "carol", "stranger", "a token"};

bool world_is_well(void) {
        return world.rig.led && !world.rig.slow && !world.is_failing;
}

bool world_is_member(uint32_t host) {
        return cluster_state_find_host(world.rig.state, host);
}

// ------------------------------------------------------------------------------------------------ what happens

static void on_entry(Rig *g) {
        story_digest("entry", g->entry, g->entry_len);
        story_event("entry", 0, g->entry_index, "%zu", g->entry_len);
        checks_on_entry(g->entry, g->entry_len);
        faults_on_entry();
}

static bool is_unwelcome(const RigHost *h) {
        return h->up && h->linked && h->attached && !h->virtual.welcomed;
}

// As an agent does that is not welcomed, for which there may be reasons (sessions.c).
static void attach_again(void) {
        for (uint32_t i = 1; i <= world.swarm.hosts; i++) {
                RigHost *h = rig_host(&world.rig, i);

                if (is_unwelcome(h) && world.rig.now_us - h->virtual.attach_sent_us >= VIRTUAL_ATTACH_RETRY_MS * UINT64_C(1000))
                        h->attached = false;
        }
}

static void on_turn(Rig *g) {
        attach_again();
        faults_on_turn();
        disks_on_turn();
}

static void on_answer(Rig *g, const RigAnswer *a, const Argosy__Response *r) {
        _cleanup_buf_ Buf packed = {};
        size_t len = argosy__response__get_packed_size(r);

        assert_non_null(buf_reserve(&packed, len));
        argosy__response__pack(r, packed.data);
        story_digest("response", packed.data, len);
        story_event("response", 0, r->id, "%d %s", r->status, r->message);
        checks_on_answer(a, r);
}

static void on_host_message(Rig *g, uint32_t host, const Argosy__ToHost *m) {
        story_event("to-host", host, m->msg_case, "%zu", argosy__to_host__get_packed_size(m));
        checks_on_order(host, m);
        disks_on_host_message(host, m);
}

static void on_voter_message(Rig *g, uint32_t host, const Argosy__ToVoter *m) {
        if (m->msg_case == ARGOSY__TO_VOTER__MSG_REPORTS)
                world.n_transitions += m->reports->n_reports;
        faults_on_voter_message(host, m);
        story_event("from-host", host, m->msg_case, "%zu", argosy__to_voter__get_packed_size(m));
        checks_on_heard(host, m);
}

// ------------------------------------------------------------------------------------------------ steps

static void settle(void) {
        if (world_is_well()) {
                rig_settle(&world.rig);
                if (world_is_well())
                        checks_on_settled();
        } else
                rig_turns(&world.rig, 4);
}

static void pass_time(Draw *d) {
        unsigned ms = (unsigned) draw_log(d, 1, world.swarm.time_max_ms);

        if (!world_is_well())
                return;
        story_tell("%u ms pass", ms);
        rig_pass_ms(&world.rig, ms);
        if (world_is_well()) // a leader that was deposed meanwhile
                checks_on_settled();
}

static bool somebody_is_unwelcome(void) {
        for (uint32_t i = 1; i <= world.swarm.hosts; i++)
                if (is_unwelcome(rig_host(&world.rig, i)))
                        return true;
        return false;
}

// What is broken works again, and so much time passes that whatever waits for it has happened.
static void calm_down(void) {
        unsigned ms = 2 * world.swarm.lease_ms + world.swarm.start_ms + world.swarm.stop_ms;

        story_tell("everything works again");
        faults_heal();
        coverage_note_calm();
        if (somebody_is_unwelcome())
                rig_pass_ms(&world.rig, 2 * VIRTUAL_ATTACH_RETRY_MS);
        rig_pass_ms(&world.rig, ms);
        faults_healed();
        checks_on_settled();
        checks_on_calm();
}

// Some hosts have no power any more, for good; everything else works again. What must come to be in spite of them has so much time.
static void heal_core(const StoryPlan *plan) {
        Draw d = draw_from(plan->chance ^ 8);

        story_tell("what is left of the cluster works again");
        faults_heal();
        for (uint32_t i = 2; i <= world.swarm.hosts; i++)
                if (draw_one_in(&d, 3)) {
                        story_tell("n%u has no power any more", i);
                        rig_host_off(&world.rig, i);
                }
        rig_pass_ms(&world.rig, 4 * world.swarm.lease_ms + world.swarm.start_ms + world.swarm.stop_ms);
        checks_on_settled();
        checks_on_end();
}

static void step(const Step *s) {
        Draw d = draw_from(s->word);

        story_event("step", 0, world.step, "%s", step_kind_names[s->kind]);
        switch (s->kind) {
        case STEP_ASK:
                asks_step(&d);
                break;
        case STEP_FAULT:
                faults_step(&d);
                break;
        case STEP_TIME:
                pass_time(&d);
                return;
        case STEP_SETTLE:
                settle();
                return;
        default:
                calm_down();
                return;
        }
        rig_turns(&world.rig, draw_below(&d, 3));
}

// ------------------------------------------------------------------------------------------------ a story

static void begin(const StoryPlan *plan) {
        Draw d = draw_from(plan->chance ^ 3);
        Swarm s = plan->swarm;

        world.plan = *plan;
        world.swarm = s;
        world.n_contents = world.n_units = world.n_asked = world.n_tokens = 0;
        world.n_transitions = 0;
        world.step = 0;
        world.is_failing = false;
        process_begin(plan->chance, &world.rig.now_us, &world.rig.wall_us);
        rig_start_with(&world.rig, (RigSetup){.n_hosts = s.hosts, .lease_ms = s.lease_ms, .mass_loss_percent = s.mass_loss_percent});
        world.rig.start_ms = s.start_ms;
        world.rig.stop_ms = s.stop_ms;
        world.rig.batch_max = s.batch_max;
        world_units_begin(&d);
        faults_begin();
}

static bool is_bad(const Hash *spec) {
        const WorldContent *c = world_content_find(spec->bytes);

        return c && c->bad;
}

// What hosts have for units that reserve something; they say so when they attach, which they do anew.
static void offer(void) {
        world.rig.is_bad = is_bad;
        if (!world.swarm.loads[LOAD_options])
                return;
        for (uint32_t i = 1; i <= world.swarm.hosts; i++) {
                RigHost *h = rig_host(&world.rig, i);

                h->cpu_milli = WORLD_CPU_MILLI;
                h->memory_mib = WORLD_MEMORY_MIB;
                h->attached = false;
        }
        rig_settle(&world.rig);
}

static void end(void) {
        coverage_note_asked();
        rig_stop(&world.rig);
        disks_end();
        faults_end();
        for (size_t i = 0; i < world.n_asked; i++)
                message_free(world.asked[i].request);
        for (size_t i = 0; i < world.n_contents; i++)
                free(world.contents[i].text);
        checks_end();
        arena_reset(&world.arena);
}

void world_play(const StoryPlan *plan, StoryOutput output) {
        Draw d = draw_from(plan->chance ^ 4);

        begin(plan);
        story_begin(output, &world.rig.now_us);
        checks_begin();
        world.rig.on_entry = on_entry;
        world.rig.on_turn = on_turn;
        world.rig.on_answer = on_answer;
        world.rig.on_host_message = on_host_message;
        world.rig.on_voter_message = on_voter_message;
        disks_begin();
        offer();
        asks_begin(&d);
        for (; world.step < plan->n_steps; world.step++) {
                if (output.until == world.step + 1)
                        process_stop_for_debugger();
                step(&plan->steps[world.step]);
        }
        heal_core(plan);
        calm_down();
        end();
}
