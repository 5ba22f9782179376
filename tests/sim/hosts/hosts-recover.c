// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See hosts-recover.h. What comes of it besides the checks here: the log stays one (`log-is-one`), nobody
// obeys an older authority (`fence-is-kept`), and in the end whoever lost its disk is removed, and all
// others are members of one cluster (`members-are-one`).
#include "hosts-recover.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "daemon.h"
#include "hosts-checks.h"
#include "hosts-faults.h"
#include "hosts-members.h"
#include "hosts-rot.h"
#include "hosts-story.h"
#include "sim-disk.h"
#include "sim-host.h"
#include "sim-store.h"
#include "test.h"

#define STOPS_US (60 * USEC_PER_SEC) // that argosyd has for its end
#define CALM_US (180 * USEC_PER_SEC)
enum { TRIES = 8 };

static struct {
        unsigned n;          // recoveries
        uint64_t generation; // that the last one made
        uint64_t index;      // of the log, then
        bool is_said;        // the log has had that generation
} recovery;

void hosts_recover_begin(void) {
        memset(&recovery, 0, sizeof(recovery));
}

bool hosts_recover_was(void) {
        return recovery.n > 0;
}

// ---------------------------------------------------------------------------------------------- who is lost

static bool votes(uint32_t number) {
        const Argosy__HostRecord *r = members_record(number);

        return r && r->role == ARGOSY__HOST_ROLE__ROLE_VOTER && members_is_in(number);
}

// It votes, or has a log and is about to, or is to vote no more.
static bool has_log(uint32_t number) {
        const Argosy__HostRecord *r = members_record(number);

        return r && (r->raft_id > 0 || r->role == ARGOSY__HOST_ROLE__ROLE_VOTER) && members_is_in(number);
}

static uint64_t generation_of(uint32_t number) {
        const Daemon *d = sim_machine(number)->daemon;

        return d && d->peers ? d->peers->generation : 0;
}

// It has all that anybody was told, on its disk, and is of the cluster that was recovered last: a host
// that has not heard of that yet would be recovered as a second cluster.
static bool may_be_recovered(uint32_t number) {
        const SimMachine *m = sim_machine(number);

        return has_log(number) && m->daemon && m->daemon->end == DAEMON_RUNNING &&
               sim_store_written(number) >= sim_store_committed() &&
               generation_of(number) >= recovery.generation;
}

static uint32_t draw_survivor(Draw *d) {
        uint32_t n = (uint32_t) sim_cluster_size(), from = draw_below(d, n);

        hosts_story_catch_up();
        for (uint32_t i = 0; i < n; i++)
                if (may_be_recovered(1 + (from + i) % n))
                        return 1 + (from + i) % n;
        return 0;
}

typedef enum Loss { LOSS_NONE, LOSS_OF_POWER, LOSS_OF_DISK } Loss;

static void lose(uint32_t number, Loss loss) {
        SimMachine *m = sim_machine(number);

        if (loss == LOSS_NONE)
                return;
        hosts_faults_touch(number);
        sim_machine_die_at(m, 0, false, 0);
        sim_machine_power_off(m);
        if (loss == LOSS_OF_DISK)
                sim_machine_empty(m);
        m->held = true;
        story_tell("n%u is lost%s", number, loss == LOSS_OF_DISK ? ", and its disk with it" : "");
}

static void come_back(void *data) {
        SimMachine *m = sim_machine((uint32_t) (uintptr_t) data);

        if (!m->held)
                return;
        m->held = false;
        story_tell("n%u comes back", m->number);
        hosts_faults_touch(m->number);
        if (!m->daemon)
                sim_machine_start(m);
}

static void come_back_later(uint32_t number, uint64_t us) {
        sim_at(sim_now_us() + us, NULL, come_back, (void *) (uintptr_t) number);
}

// ---------------------------------------------------------------------------------------- the administrator

static bool is_down(void *data) {
        return !((const SimMachine *) data)->daemon;
}

static void take_down(SimMachine *m) {
        sim_disk_trouble(m->number, (SimDiskTrouble){});
        hosts_faults_touch(m->number);
        m->held = true;
        sim_machine_stop(m);
        if (!sim_run_until(is_down, m, STOPS_US))
                sim_machine_kill(m);
}

static void start(SimMachine *m) {
        m->held = false;
        hosts_faults_touch(m->number);
        if (!m->daemon)
                sim_machine_start(m);
}

// It may have died in the middle of the last attempt: argosyd is started then, or not, before the next one.
static void recover(SimMachine *m, Draw *d) {
        for (unsigned i = 0; i < TRIES; i++) {
                char *said;
                int r;

                take_down(m);
                r = sim_machine_recover(m, &said);
                story_tell("n%u is recovered: %d %s", m->number, r,
                           r > 0 ? "it has died in the middle" : said);
                if (r < 0)
                        check_fail("recovery-is-one", "n%u is not recovered: %s", m->number, said);
                free(said);
                if (r == 0) {
                        start(m);
                        return;
                }
                sim_machine_die_at(m, 0, false, 0);
                if (draw_below(d, 2))
                        start(m);
                sim_run_for(draw_log(d, USEC_PER_MSEC, 10 * USEC_PER_SEC));
        }
        check_fail("recovery-is-one", "n%u dies in the middle of each recovery", m->number);
}

static void note_recovered(const SimMachine *m) {
        recovery.n++;
        recovery.generation = m->daemon && m->daemon->peers ? m->daemon->peers->generation : 0;
        recovery.index = sim_store_committed();
        recovery.is_said = false;
}

static void recover_after_losses(uint32_t survivor, const Loss *losses, uint64_t wait_us, Draw *d) {
        SimMachine *m = sim_machine(survivor);

        story_tell("all but n%u%s of most voters are lost", survivor,
                   votes(survivor) ? "" : ", which does not vote,");
        story_event("recover", survivor, recovery.n, "%" PRIu64, sim_store_committed());
        for (uint32_t i = 1; i <= sim_cluster_size(); i++)
                lose(i, losses[i]);
        sim_run_for(wait_us);
        recover(m, d);
        note_recovered(m);
}

void hosts_recover(uint32_t survivor, uint32_t comes_back, uint64_t back_us, Draw *d) {
        Loss losses[SIM_CLUSTER_MAX + 1] = {};

        for (uint32_t i = 1; i <= sim_cluster_size(); i++)
                if (i != survivor && has_log(i))
                        losses[i] = i == comes_back ? LOSS_OF_POWER : LOSS_OF_DISK;
        recover_after_losses(survivor, losses, USEC_PER_SEC, d);
        if (comes_back)
                come_back_later(comes_back, back_us);
}

// `n_voters` of them have voted, the survivor perhaps among them. Without it those that are left and those
// that come back are never most of them; and at first, with it, neither.
static void draw_losses(uint32_t survivor, unsigned n_voters, Loss *losses, Draw *d) {
        unsigned n_left = 0, left_max = n_voters / 2 > 0 ? n_voters / 2 - 1 : 0, n_back = 0,
                 back_max = (n_voters - 1) / 2;

        for (uint32_t i = 1; i <= sim_cluster_size(); i++) {
                unsigned which = draw_below(d, 3);

                if (i == survivor || !has_log(i))
                        continue;
                losses[i] = LOSS_OF_DISK;
                if (which == 0 && n_left < left_max && n_left + n_back < back_max) {
                        losses[i] = LOSS_NONE;
                        n_left++;
                } else if (which == 1 && n_left + n_back < back_max) {
                        losses[i] = LOSS_OF_POWER;
                        n_back++;
                }
        }
}

static bool is_left(uint32_t raft_id, const Loss *losses) {
        for (uint32_t i = 1; i <= sim_cluster_size(); i++) {
                const Daemon *d = sim_machine(i)->daemon;

                if (losses[i] == LOSS_NONE && d && d->store && d->peers->raft_id == raft_id)
                        return true;
        }
        return false;
}

// By the configuration of its log, which may be ahead of what the records say.
static bool most_are_lost(uint32_t survivor, const Loss *losses) {
        unsigned n = 0, n_left = 0, raft_id;
        char text[256], *at;
        int len;

        sim_store_describe(survivor, text, sizeof(text));
        at = strstr(text, "members");
        if (!at)
                return false;
        for (at += strlen("members"); sscanf(at, " %u%n", &raft_id, &len) == 1;) {
                at += len;
                if (strncmp(at, " (spare)", 8) == 0) {
                        at += 8;
                        continue;
                }
                n++;
                n_left += is_left(raft_id, losses);
        }
        return 2 * n_left <= n;
}

static bool is_demoted(void *data) {
        uint32_t number = (uint32_t) (uintptr_t) data;

        hosts_story_catch_up();
        return may_be_recovered(number) && !votes(number);
}

// Somebody has just asked that it is to vote no more, and however far that has come, its log is all that is
// left. It has one for a moment only when its record says that it does not vote, so that is looked for.
static void demote_sometimes(uint32_t survivor, Draw *d) {
        uint64_t most_us = draw_log(d, USEC_PER_MSEC, 10 * USEC_PER_SEC);

        if (survivor == 0 || !draw_one_in(d, 3))
                return;
        members_ask_role(survivor, survivor, false);
        (void) sim_run_until(is_demoted, (void *) (uintptr_t) survivor, most_us);
}

void hosts_recover_step(Draw *d) {
        uint32_t survivor = hosts_rot_is_pending() ? 0 : draw_survivor(d);
        Loss losses[SIM_CLUSTER_MAX + 1] = {};
        unsigned n_voters = 0;

        demote_sometimes(survivor, d);
        for (uint32_t i = 1; i <= sim_cluster_size(); i++)
                n_voters += votes(i);
        if (survivor == 0 || !may_be_recovered(survivor) || n_voters < (votes(survivor) ? 2 : 1))
                return;
        draw_losses(survivor, n_voters, losses, d);
        if (!most_are_lost(survivor, losses))
                return;
        recover_after_losses(survivor, losses, draw_log(d, USEC_PER_MSEC, 60 * USEC_PER_SEC), d);
        for (uint32_t i = 1; i <= sim_cluster_size(); i++)
                if (losses[i] != LOSS_NONE)
                        come_back_later(i, draw_log(d, USEC_PER_MSEC, 120 * USEC_PER_SEC));
}

void hosts_recover_mend(void) {
        for (uint32_t i = 1; i <= sim_cluster_size(); i++)
                sim_machine(i)->held = false;
}

// ------------------------------------------------------------------------------------------------ checks

// The first word of the recovered host's own.
void recover_on_entry(const Argosy__LogBatch *batch) {
        for (size_t i = 0; i < batch->n_ops; i++) {
                const Argosy__LogOp *op = batch->ops[i];

                if (op->op_case != ARGOSY__LOG_OP__OP_CLUSTER || op->cluster->generation <= 1)
                        continue;
                recovery.is_said |= op->cluster->generation == recovery.generation;
        }
}

static bool all_know_it(void *data) {
        for (uint32_t i = 1; i <= sim_cluster_size(); i++)
                if (members_is_in(i) && generation_of(i) != recovery.generation)
                        return false;
        return true;
}

void recover_on_calm(void) {
        if (recovery.n == 0)
                return;
        check_says("recovery-is-one");
        if (!recovery.is_said)
                check_fail("recovery-is-one", "the log has never had generation %" PRIu64,
                           recovery.generation);
        if (sim_run_until(all_know_it, NULL, CALM_US))
                return;
        for (uint32_t i = 1; i <= sim_cluster_size(); i++)
                if (members_is_in(i) && generation_of(i) != recovery.generation)
                        check_fail("recovery-is-one",
                                   "n%u is of generation %" PRIu64
                                   ", and the cluster was recovered as %" PRIu64,
                                   i, generation_of(i), recovery.generation);
}
