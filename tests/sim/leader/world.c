// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See world.h. Steps are played one by one; each ends with a turn at least. What the rig and the checks find
// wrong ends the story.
#include "world.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "access-token.h"
#include "asks.h"
#include "author.h"
#include "checks-log.h"
#include "checks-private.h"
#include "checks.h"
#include "coverage.h"
#include "leader-private.h"
#include "macro.h"
#include "message.h"
#include "process.h"
#include "test.h"
#include "verdict.h"

enum { APART_CPU_MAX_S = 20 }; // as good as endless

World world;
WorldShared world_shared[WORLD_SHARED_MAX];
size_t world_n_shared;
bool (*world_is_told_again)(void);

unsigned world_lease_ms(unsigned quarters) {
        return asks.swarm.lease_ms * quarters / 4;
}

bool world_is_well(void) {
        return world.rig.led && !world.rig.slow && !world.is_failing;
}

bool world_is_member(uint32_t host) {
        return cluster_state_find_host(world.rig.state, host);
}

// --------------------------------------------------------------------------------------------- what happens

static void on_submit(Rig *g) {
        checks_on_decided();
}

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
        for (uint32_t i = 1; i <= asks.swarm.hosts; i++) {
                RigHost *h = rig_host(&world.rig, i);

                if (is_unwelcome(h) &&
                    world.rig.now_us - h->virtual.attach_sent_us >= VIRTUAL_ATTACH_RETRY_MS * UINT64_C(1000))
                        h->attached = false;
        }
}

static void on_turn_begin(Rig *g) {
        checks_on_turn_begin();
}

static void on_turn(Rig *g) {
        checks_on_turn();
        attach_again();
        faults_on_turn();
        disks_on_turn();
}

// While it is asked its answer is not known yet: then it is the newest.
static const WorldAsked *find_asked(const RigAnswer *answer) {
        for (size_t i = asks.n_asked; i > 0; i--)
                if (asks.asked[i - 1].answer == answer)
                        return &asks.asked[i - 1];
        return asks.n_asked > 0 && !asks.asked[asks.n_asked - 1].answer ? &asks.asked[asks.n_asked - 1]
                                                                        : NULL;
}

static void on_answer(Rig *g, const RigAnswer *a, const Argosy__Response *r) {
        const WorldAsked *asked = find_asked(a);
        _cleanup_buf_ Buf packed = {};
        size_t len = argosy__response__get_packed_size(r);

        assert_non_null(buf_reserve(&packed, len));
        argosy__response__pack(r, packed.data);
        story_digest("response", packed.data, len);
        story_event("response", 0, r->id, "%d %s", r->status, r->message);
        if (asked)
                checks_on_answer(asked, r);
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
        unsigned ms = (unsigned) draw_log(d, 1, asks.swarm.time_max_ms);

        if (!world_is_well())
                return;
        story_tell("%u ms pass", ms);
        rig_pass_ms(&world.rig, ms);
        if (world_is_well()) // a leader that was deposed meanwhile
                checks_on_settled();
}

static bool somebody_is_unwelcome(void) {
        for (uint32_t i = 1; i <= asks.swarm.hosts; i++)
                if (is_unwelcome(rig_host(&world.rig, i)))
                        return true;
        return false;
}

// One that has attached too often is not welcomed before time has passed, and asks again then.
static void let_hosts_attach(void) {
        enum { ROUNDS_MAX = 8 };

        rig_settle(&world.rig);
        for (unsigned i = 0; i < ROUNDS_MAX && somebody_is_unwelcome(); i++)
                rig_pass_ms(&world.rig, VIRTUAL_ATTACH_RETRY_MS);
}

static unsigned count_held(void) {
        unsigned n = 0;

        for (uint64_t i = log_truth.first_job; i <= log_truth.n_jobs; i++)
                n += log_truth.jobs[i] && log_truth.jobs[i]->state == ARGOSY__JOB_STATE__JOB_HELD;
        return n;
}

static bool some_unit_is_changing(void) {
        for (uint32_t i = 1; i <= asks.swarm.hosts; i++)
                if (rig_host(&world.rig, i)->up && rig_host(&world.rig, i)->virtual.ends.n > 0)
                        return true;
        return false;
}

// Units that come after each other begin, or end, one after the other: the last one of them waits for all.
static void let_units_come_in_order(void) {
        for (unsigned i = 0; i < asks.n_units && some_unit_is_changing(); i++)
                rig_pass_ms(&world.rig, asks.swarm.start_ms + asks.swarm.stop_ms);
}

// Jobs that a rule lets go one after the other: each goes when the end of the one before is in the log, and
// what the last one has begun comes in its order, too.
static void let_held_jobs_go(void) {
        unsigned before, n = count_held(),
                         ms = asks.swarm.start_ms + asks.swarm.stop_ms +
                              2 * world.rig.leader->limits.job_end_delay_ms;

        do {
                before = n;
                if (n > 0) {
                        rig_pass_ms(&world.rig, ms);
                        let_units_come_in_order();
                }
                n = count_held();
        } while (n < before);
}

// What is broken works again, and so much time passes that whatever waits for it has happened.
void world_calm_down(void) {
        unsigned ms = 2 * asks.swarm.lease_ms + asks.swarm.start_ms + asks.swarm.stop_ms;

        story_tell("everything works again");
        faults_heal();
        coverage_note_calm();
        let_hosts_attach();
        rig_pass_ms(&world.rig, ms);
        let_units_come_in_order();
        let_held_jobs_go();
        faults_healed();
        checks_on_settled();
        checks_on_calm();
}

// A plan waits for what nodes say of its names for so long, also for nodes that say nothing.
static void let_plans_end(void) {
        enum { PLAN_ANSWERED_MS = 5000 };

        for (size_t i = 0; i < asks.n_asked; i++) {
                const WorldAsked *a = &asks.asked[i];

                if (a->request->what_case == ARGOSY__REQUEST__WHAT_CHANGE && a->request->change->preview &&
                    !a->called_off && !a->answer->error && !a->answer->final) {
                        rig_pass_ms(&world.rig, PLAN_ANSWERED_MS);
                        return;
                }
        }
}

// Some hosts have no power any more, for good; everything else works again. What must come to be in spite of
// them has so much time.
static void heal_core(const StoryPlan *plan) {
        Draw d = draw_from(plan->chance ^ 8);

        story_tell("what is left of the cluster works again");
        faults_heal();
        for (uint32_t i = 2; i <= asks.swarm.hosts; i++)
                if (draw_one_in(&d, 3)) {
                        story_tell("n%u has no power any more", i);
                        rig_host_off(&world.rig, i);
                }
        let_hosts_attach();
        rig_pass_ms(&world.rig, 4 * asks.swarm.lease_ms + asks.swarm.start_ms + asks.swarm.stop_ms);
        let_plans_end();
        let_held_jobs_go();
        checks_on_settled();
        checks_on_end();
}

// In a process of its own, with the hosts that are left: nobody asks, and nothing changes any more.
static void rest(void) {
        uint64_t n = log_truth.n_entries;

        rig_pass_ms(&world.rig, 2 * asks.swarm.lease_ms + asks.swarm.start_ms + asks.swarm.stop_ms);
        if (log_truth.n_entries == n && world_is_well())
                pace_at_rest();
}

static bool is_tried(const Step *s) {
        Draw d = draw_from(s->word ^ UINT64_C(0x7472696564));

        return asks.swarm.tried > 0 && draw_one_in(&d, asks.swarm.tried);
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
                if (is_tried(s))
                        world_play_apart(trials_play);
                return;
        default:
                world_calm_down();
                return;
        }
        rig_turns(&world.rig, draw_below(&d, 3));
}

// ------------------------------------------------------------------------------------------------ who asks

static const Argosy__Author *author_of(const WorldAsked *asked) {
        static Argosy__Author author;
        static Hash proof;
        char **groups;

        if (asked->author == AUTHOR_ROOT)
                return NULL;
        if (asked->author == AUTHOR_TOKEN) {
                proof = asks_token_proof(asked->token);
                if (asked->wrong == WRONG_PROOF)
                        proof = access_token_hash(&proof);
                author = author_of_token(&proof);
                author.host = world_author_host(AUTHOR_TOKEN);
                return &author;
        }
        argosy__author__init(&author);
        author.host = world_author_host(asked->author);
        author.uid = WORLD_UID(asked->author);
        author.user = (char *) world_authors[asked->author];
        author.n_groups = world_author_groups(asked->author, &groups);
        author.groups = groups;
        return &author;
}

static uint64_t now_us(void) {
        return world.rig.now_us;
}

static uint64_t wall_us(void) {
        return world.rig.wall_us;
}

static const ClusterState *state(void) {
        return world.rig.state;
}

static void send_to_rig(WorldAsked *a, Draw *d) {
        world.rig.author = author_of(a);
        a->answer = rig_ask(&world.rig, a->request);
        world.rig.author = NULL;
}

static void call_off(WorldAsked *a) {
        rig_cancel(&world.rig, a->answer);
}

static int error_of(const WorldAsked *a) {
        return a->answer ? a->answer->error : -EAGAIN;
}

static bool is_final(const WorldAsked *a) {
        return a->answer->final;
}

static const Argosy__Response *last_response(const WorldAsked *a) {
        return a->answer && a->answer->n > 0 ? a->answer->responses[a->answer->n - 1] : NULL;
}

static uint64_t job_of(const WorldAsked *a) {
        return a->answer && a->answer->n > 0 ? a->answer->responses[0]->job : 0;
}

static const AsksPort port = {.now_us = now_us,
                              .wall_us = wall_us,
                              .state = state,
                              .send = send_to_rig,
                              .call_off = call_off,
                              .error = error_of,
                              .is_final = is_final,
                              .last_response = last_response,
                              .job = job_of};

// ------------------------------------------------------------------------------------------------ a story

static void begin(const StoryPlan *plan) {
        Draw d = draw_from(plan->chance ^ 3);
        Swarm s = plan->swarm;
        LeaderLimits limits = swarm_limits(&s);

        world.plan = *plan;
        asks.swarm = s;
        world.n_transitions = 0;
        world.step = 0;
        world.is_failing = false;
        process_begin(plan->chance, &world.rig.now_us, &world.rig.wall_us);
        rig_start_with(&world.rig, (RigSetup){.n_hosts = s.hosts,
                                               .lease_ms = s.lease_ms,
                                               .mass_loss_percent = s.mass_loss_percent,
                                               .limits = &limits,
                                               .events_bytes = s.events_bytes});
        world.rig.leader->all_due = world.all_due;
        world.rig.start_ms = s.start_ms;
        world.rig.stop_ms = s.stop_ms;
        world.rig.turn_us = s.turn_us;
        world.rig.timed = s.timed;
        world.rig.batch_max = s.batch_max;
        asks_begin(&port, &s, &d);
        faults_begin();
}

static bool is_bad(const Hash *spec) {
        const WorldContent *c = world_content_find(spec->bytes);

        return c && c->bad;
}

static bool is_oneshot(const Hash *spec) {
        const WorldContent *c = world_content_find(spec->bytes);

        return c && c->oneshot;
}

// What hosts have for units that reserve something, and for containers; they say so when they attach, which
// they do anew.
void world_offer(void) {
        bool options = asks.swarm.loads[LOAD_options], containers = asks.swarm.containers > 0;
        Draw d = draw_from(world.plan.chance ^ 11);

        world.rig.is_bad = is_bad;
        world.rig.is_oneshot = is_oneshot;
        if (!options && !containers)
                return;
        for (uint32_t i = 1; i <= asks.swarm.hosts; i++) {
                RigHost *h = rig_host(&world.rig, i);

                h->cpu_milli = options ? WORLD_CPU_MILLI : 0;
                h->memory_mib = options ? WORLD_MEMORY_MIB : 0;
                h->podman = containers && draw_below(&d, 8) > 0 ? "5.4" : NULL;
                h->attached = false;
        }
        rig_settle(&world.rig);
}

void *world_share(size_t size) {
        void *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        assert_true(data != MAP_FAILED && world_n_shared < ELEMENTSOF(world_shared));
        world_shared[world_n_shared++] = (WorldShared){data, size};
        return data;
}

// In a process of its own: what is asked there is no part of the story. What is red there ends it there, and
// the story with it.
void world_play_apart(void (*play)(void)) {
        static uint64_t *premises; // of both processes
        pid_t pid;
        int status;

        if (!premises)
                premises = world_share(sizeof(check_premises));
        fflush(NULL);
        pid = fork();
        if (pid == 0) {
                struct itimerval limit = {.it_value.tv_sec = APART_CPU_MAX_S};

                (void) setitimer(ITIMER_PROF, &limit, NULL);
                // what it waits with is the other one's, too
                assert_int_equal(uv_loop_fork(&world.rig.loop), 0);
                play();
                memcpy(premises, check_premises, sizeof(check_premises));
                fflush(NULL);
                quick_exit(0); // which faults it came to is told (tools/lib/mutants/schemata.py)
        }
        assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
        if (status != 0)
                _exit(1);
        memcpy(check_premises, premises, sizeof(check_premises));
}

// The log has it by then that a job has ended: it is told so some time after its units have, and one of
// these may have got its former file back before.
static void let_jobs_end(void) {
        enum { ROUNDS = 4 };
        unsigned ms = asks.swarm.start_ms + asks.swarm.stop_ms +
                      2 * world.rig.leader->limits.job_end_delay_ms;
        uint64_t n;

        for (unsigned i = 0; i < ROUNDS; i++) {
                n = log_truth.n_entries;
                rig_pass_ms(&world.rig, ms);
                if (log_truth.n_entries == n)
                        return;
        }
}

void world_finish(void) {
        let_jobs_end();
        world.rig.on_entry = NULL;
        world.rig.on_answer = NULL;
        world.rig.on_host_message = NULL;
        world.rig.on_voter_message = NULL;
        checks_on_finish();
}

static void end(void) {
        coverage_note_asked();
        rig_stop(&world.rig);
        disks_end();
        faults_end();
        checks_end();
        asks_end();
}

void world_play(const StoryPlan *plan, StoryOutput output) {
        Draw d = draw_from(plan->chance ^ 4);

        begin(plan);
        story_begin(output, &world.rig.now_us);
        checks_begin();
        world.rig.on_submit = on_submit;
        world.rig.on_entry = on_entry;
        world.rig.on_turn_begin = on_turn_begin;
        world.rig.on_turn = on_turn;
        world.rig.on_answer = on_answer;
        world.rig.on_host_message = on_host_message;
        world.rig.on_voter_message = on_voter_message;
        disks_begin();
        images_begin();
        world_offer();
        asks_ask_first(&d);
        for (; world.step < plan->n_steps; world.step++) {
                if (output.until == world.step + 1)
                        verdict_stop_for_debugger();
                step(&plan->steps[world.step]);
        }
        heal_core(plan);
        world_play_apart(rest);
        world_calm_down();
        world_play_apart(world_finish);
        end();
}
