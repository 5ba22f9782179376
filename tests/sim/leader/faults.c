// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What breaks, and works again. One function for each row of SWARM_FAULTS (swarm.h).

#include <inttypes.h>
#include <errno.h>

#include "coverage.h"
#include "message.h"
#include "test.h"
#include "world.h"

enum { SAID_MAX = 8, HOSTS_MAX = 16, OTHERS_MAX = 3 };

static struct {
        unsigned entries_left; // until the leader is deposed; 0: it is not
        bool entry_was_last;
        char names[HOSTS_MAX][16];
        struct {
                Argosy__ToVoter *list[SAID_MAX]; // what it said last, in this session or an earlier one
                size_t n;
        } said[HOSTS_MAX];
        const char *others[HOSTS_MAX][OTHERS_MAX + 1];
} faults_state;

bool world_host_lies(uint32_t host) {
        return rig_host(&world.rig, host)->lies;
}

void faults_begin(void) {
        faults_state.entries_left = 0;
        faults_state.entry_was_last = world.clock_was_set = false;
        assert_true(asks.swarm.hosts <= HOSTS_MAX);
        for (uint32_t i = 1; i <= asks.swarm.hosts; i++) {
                snprintf(faults_state.names[i - 1], sizeof(faults_state.names[i - 1]), "n%u", i);
                rig_host(&world.rig, i)->name = faults_state.names[i - 1];
        }
}

void faults_end(void) {
        for (size_t i = 0; i < HOSTS_MAX; i++) {
                for (size_t k = 0; k < faults_state.said[i].n; k++)
                        message_free(faults_state.said[i].list[k]);
                faults_state.said[i].n = 0;
        }
}

void faults_on_voter_message(uint32_t host, const Argosy__ToVoter *m) {
        size_t n = faults_state.said[host - 1].n;
        Argosy__ToVoter **list = faults_state.said[host - 1].list;

        if (!asks.swarm.faults[FAULT_repeat] || m->msg_case == ARGOSY__TO_VOTER__MSG_BEAT)
                return;
        if (n == SAID_MAX) {
                message_free(list[0]);
                memmove(&list[0], &list[1], (--n) * sizeof(*list));
        }
        list[n] = message_copy(m);
        faults_state.said[host - 1].n = n + 1;
}

// The entry that has just been applied is the last one of this leader: what else it has under way it never
// hears of.
void faults_on_entry(void) {
        if (faults_state.entries_left == 0 || --faults_state.entries_left > 0)
                return;
        story_tell("the leader is deposed behind entry %llu", (unsigned long long) world.rig.entry_index);
        store_memory_lead(world.rig.store, false);
        faults_state.entry_was_last = true;
}

void faults_on_turn(void) {
        if (!faults_state.entry_was_last)
                return;
        faults_state.entry_was_last = false;
        if (world.rig.led)
                rig_depose_unknown(&world.rig, false); // what waits for a slow log is lost
}

static RigHost *draw_host(Draw *d) {
        return rig_host(&world.rig, asks_host(d));
}

// That of the leader only ever loses the leadership.
static RigHost *draw_other_host(Draw *d) {
        if (asks.focus_host > 1)
                return rig_host(&world.rig, asks.focus_host);
        return asks.swarm.hosts > 1 ? rig_host(&world.rig, 2 + draw_below(d, asks.swarm.hosts - 1)) : NULL;
}

static void fault_power(Draw *d) {
        RigHost *h = draw_other_host(d);
        bool forget = draw_one_in(d, 2);

        if (!h || (!h->up && !world_is_well()) || !world_is_member(h->number))
                return;
        story_tell("n%u %s", h->number,
                   h->up    ? "loses its power"
                   : forget ? "is switched on"
                            : "is there again, with its units");
        if (h->up)
                rig_host_off(&world.rig, h->number);
        else
                rig_host_on(&world.rig, h->number, forget);
}

static void fault_deaf(Draw *d) {
        RigHost *h = draw_host(d);

        story_tell("n%u %s", h->number, h->deaf ? "listens again" : "does not listen");
        h->deaf = !h->deaf;
}

static void fault_lazy(Draw *d) {
        RigHost *h = draw_host(d);

        story_tell("n%u %s", h->number, h->lazy ? "reports again" : "reports nothing");
        h->lazy = !h->lazy;
}

static void fault_link(Draw *d) {
        RigHost *h = draw_host(d);

        story_tell("the link of n%u breaks", h->number);
        h->linked = false;
}

static void fault_full(Draw *d) {
        RigHost *h = draw_host(d);

        if (h->full && !world_is_well())
                return;
        story_tell("n%u %s", h->number, h->full ? "takes more again" : "takes no more");
        if (h->full)
                rig_host_drain(&world.rig, h->number);
        else
                h->full = true;
}

static void depose(void) {
        story_tell("the leader is deposed");
        rig_depose(&world.rig);
}

static void elect(void) {
        if (world.rig.led)
                return;
        story_tell("a leader is elected");
        faults_state.entry_was_last =
                false; // of the leader before, who was deposed for something else meanwhile
        rig_elect(&world.rig);
}

static void log_goes_on(void) {
        if (!world.is_failing && !world.rig.slow)
                return;
        story_tell("the log goes on");
        store_memory_fail(world.rig.store, 0);
        world.is_failing = world.rig.slow = false;
        rig_release(&world.rig);
}

static void fault_leader(Draw *d) {
        if (world.rig.slow || world.is_failing)
                return;
        if (!world.rig.led) {
                elect();
        } else if (draw_one_in(d, 3)) {
                depose();
        } else {
                faults_state.entries_left = (unsigned) draw_log(d, 1, 16);
                story_tell("the leader will be deposed in %u entries", faults_state.entries_left);
        }
}

static void fault_unknown(Draw *d) {
        bool kept = draw_one_in(d, 2);

        if (!world_is_well())
                return;
        world.rig.slow = true;
        rig_turns(&world.rig, 1 + draw_below(d, 6));
        story_tell("the leader is deposed, with %zu on its way, which is %s", world.rig.n_held,
                   kept ? "kept" : "lost");
        rig_depose_unknown(&world.rig, kept);
}

static void fault_slow(Draw *d) {
        if (world.is_failing || !world.rig.led)
                return;
        if (world.rig.slow) {
                story_tell("one entry more");
                rig_release(&world.rig);
                return;
        }
        story_tell("the log takes its time");
        world.rig.slow = true;
}

static void fault_disk(Draw *d) {
        if (!world_is_well()) {
                log_goes_on();
                return;
        }
        story_tell("the log takes nothing");
        world.is_failing = true;
        store_memory_fail(world.rig.store, draw_one_in(d, 2) ? -ENOSPC : -EBUSY);
}

// A unit that runs on the host; NULL: none does.
static VirtualUnit *draw_unit(Draw *d, RigHost *h) {
        size_t first = asks.focus_n > 0 ? asks.focus_first : draw_below(d, (unsigned) asks.n_units);

        for (size_t i = 0; i < asks.n_units; i++) {
                VirtualUnit *u = virtual_host_find(&h->virtual, asks.units[(first + i) % asks.n_units].name);

                if (u && u->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE)
                        return u;
        }
        return NULL;
}

static void fault_unit(Draw *d) {
        RigHost *h = draw_host(d);
        VirtualUnit *u = draw_unit(d, h);
        bool fails = draw_one_in(d, 2);

        if (!u || !h->up)
                return;
        story_tell("%s on n%u %s", u->name, h->number, fails ? "fails" : "ends by itself");
        rig_host_report(&world.rig, h, u,
                        fails ? ARGOSY__ACTIVE_STATE__ACTIVE_FAILED : ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE,
                        fails ? ARGOSY__OUTCOME__KIND__FAILED : ARGOSY__OUTCOME__KIND__DONE);
}

// One that has no Restart= is taken for one that has: no check is about that word.
static void fault_restart(Draw *d) {
        RigHost *h = draw_host(d);
        VirtualUnit *u = draw_unit(d, h);
        bool failed = draw_below(d, 4) > 0, loops = failed && draw_one_in(d, 4);

        if (!u || !h->up)
                return;
        story_tell("systemd of n%u restarts %s %s", h->number, u->name,
                   loops    ? "again and again"
                   : failed ? "since it has failed"
                            : "since it has ended");
        virtual_host_restart(&h->virtual, u, failed, loops);
}

static void fault_foreign(Draw *d) {
        RigHost *h = draw_host(d);
        const char **others = faults_state.others[h->number - 1];

        if (!h->others && draw_one_in(d, 2)) {
                for (unsigned i = 0; i < OTHERS_MAX; i++)
                        others[i] = draw_one_in(d, 2) || i == 0 ? world_unit_draw(d)->name : NULL;
                h->others = others;
                story_tell("n%u has %s of its own", h->number, others[0]);
                return;
        }
        if (h->others) {
                h->others = NULL;
                story_tell("n%u has no such unit of its own any more", h->number);
                return;
        }
        story_tell("n%u %s", h->number,
                   h->refuses ? "has no units of its own any more" : "has units of these names of its own");
        h->refuses = !h->refuses;
}

static void fault_clock(Draw *d) {
        RigHost *h = draw_host(d);
        int64_t by = (int64_t) draw_log(d, 1000, UINT64_C(40) * 86400 * 1000000);

        h->clock_ahead_us = draw_one_in(d, 4) ? 0 : draw_one_in(d, 2) ? by : -by;
        world.clock_was_set = true;
        story_tell("the clock of n%u is %lld s ahead", h->number, (long long) h->clock_ahead_us / 1000000);
}

static void fault_labels(Draw *d) {
        RigHost *h = draw_host(d);
        static const char *const zones[] = {"a", "b", "c"};

        if (!world_is_well())
                return;
        story_tell("n%u comes with other labels", h->number);
        rig_host_set_labels(&world.rig, h->number, "zone", DRAW_PICK(d, zones));
}

static void fault_goodbye(Draw *d) {
        RigHost *h = draw_other_host(d);

        if (!h || !h->up || !h->attached || !world.rig.led)
                return;
        switch (draw_below(d, 3)) {
        case 0:
                story_tell("n%u shuts down", h->number);
                rig_host_goodbye(&world.rig, h->number);
                break;
        case 1: // whoever has begun and does not go on says Attach anew
                story_tell("n%u begins to shut down, and does not", h->number);
                virtual_host_goodbye(&h->virtual, true);
                rig_turns(&world.rig, draw_below(d, 4));
                h->attached = false;
                break;
        default:
                story_tell("n%u has shut down", h->number);
                rig_host_goodbye(&world.rig, h->number);
                if (draw_one_in(d, 2))
                        rig_turns(&world.rig, draw_below(d, 4));
                if (world.rig.led && h->linked)
                        rig_host_last_word(&world.rig, h->number);
        }
}

static void fault_delay(Draw *d) {
        RigHost *h = draw_host(d);

        story_tell("what n%u says %s", h->number, h->delayed ? "comes now" : "takes its time");
        h->delayed = !h->delayed;
}

// Questions about images are those of an agent that always answers: it is asked anew in another session.
static void answer_again(RigHost *h) {
        if (h->mute && asks.swarm.containers > 0)
                h->linked = false;
}

static void fault_mute(Draw *d) {
        RigHost *h = draw_host(d);

        if (draw_one_in(d, 2)) {
                story_tell("n%u %s", h->number, h->mute ? "answers again" : "does not answer about names");
                answer_again(h);
                h->mute = !h->mute;
                return;
        }
        story_tell("n%u %s", h->number, h->fetch_hangs ? "takes files again" : "takes no files");
        if (h->fetch_hangs)
                h->linked = false; // it asks anew with its next Attach
        h->fetch_hangs = !h->fetch_hangs;
}

static void fault_manager(Draw *d) {
        RigHost *h = draw_host(d);

        if (!world_is_well() || !h->up || h->deaf)
                return;
        if (h->virtual.manager && h->attached && draw_one_in(d, 2)) {
                const char *reason = h->reason ? NULL : "its manager does not answer";

                story_tell("the second manager of n%u %s", h->number,
                           reason ? "cannot be used" : "can be used again");
                rig_host_send_reason(&world.rig, h->number, reason);
                return;
        }
        story_tell("n%u %s", h->number,
                   h->virtual.manager ? "has no second manager any more" : "has a second manager");
        h->reason = NULL;
        rig_host_set_manager(&world.rig, h->number, h->virtual.manager ? NULL : "alice");
}

static void fault_voter(Draw *d) {
        RigHost *h = draw_host(d);

        switch (draw_below(d, 3)) {
        case 0:
                story_tell("logs that are asked for of n%u %s", h->number,
                           h->disk_hangs ? "open" : "do not open");
                if (h->disk_hangs && h->asked_open && h->up && h->attached && world_is_well())
                        rig_host_open_log(&world.rig, h->number);
                h->disk_hangs = !h->disk_hangs;
                break;
        case 1:
                story_tell("the logs of other voters %s", world.rig.lags ? "have caught up" : "lag");
                world.rig.lags = !world.rig.lags;
                break;
        default:
                world.rig.members_silent = world.rig.members_silent ? 0 : h->raft_id;
                story_tell("the log of %s",
                           world.rig.members_silent ? "a voter does not answer" : "each voter answers");
        }
}

// Whoever has the key of a host says things of that host, and of no other.
static bool may_lie(const RigHost *h) {
        return h && h->up && h->linked && h->attached && world.rig.led;
}

// Of this session or an earlier one, and maybe true no more.
static void fault_repeat(Draw *d) {
        RigHost *h = draw_host(d);
        size_t n = faults_state.said[h->number - 1].n, i = n - (n > 0 ? (size_t) draw_log(d, 1, n) : 0);

        if (!may_lie(h) || n == 0)
                return;
        story_tell("n%u says again what it said %zu messages ago: %s", h->number, n - i,
                   protobuf_c_message_descriptor_get_field(
                           &argosy__to_voter__descriptor, faults_state.said[h->number - 1].list[i]->msg_case)
                           ->name);
        rig_host_lie(&world.rig, h->number, message_copy(faults_state.said[h->number - 1].list[i]));
}

static void fault_garbage(Draw *d) {
        RigHost *h = draw_other_host(d);

        for (unsigned n = 1 + draw_below(d, 4); may_lie(h) && n > 0; n--) {
                Argosy__ToVoter *m = lies_draw(d, h);

                const ProtobufCFieldDescriptor *field =
                        protobuf_c_message_descriptor_get_field(&argosy__to_voter__descriptor, m->msg_case);

                story_tell("n%u says what no agent says: %s", h->number, field ? field->name : "nothing");
                rig_host_lie(&world.rig, h->number, m);
        }
}

// What is kept for a time, counted within one, or waits for one to be over.
static void fault_age(Draw *d) {
        enum { DAYS_MAX = 40, LEASES_MAX = 100 };
        uint64_t s = draw_log(d, 1, DAYS_MAX * UINT64_C(86400));
        unsigned leases = (unsigned) draw_log(d, 2, LEASES_MAX);

        if (!world_is_well())
                return;
        if (draw_one_in(d, 2)) {
                story_tell("%" PRIu64 " s have passed by all clocks", s);
                world.clock_was_set = true;
                rig_age(&world.rig, s * UINT64_C(1000000));
                return;
        }
        story_tell("%u leases pass", leases);
        rig_pass_ms(&world.rig, leases * asks.swarm.lease_ms);
}

// ------------------------------------------------------------------------------- who leads, and by what

static bool nobody_leads(void) {
        if (world.rig.led && !world_is_well())
                return false;
        if (world.rig.led)
                depose();
        return true;
}

// None is longer than that of the first leader: who waits for a lease waits for that.
static void fault_lease(Draw *d) {
        static const unsigned quarters[] = {2, 3, 4};
        unsigned ms = world_lease_ms(DRAW_PICK(d, quarters));

        if (!nobody_leads())
                return;
        story_tell("LeaseSec= of who leads next is %u ms", ms);
        rig_set_lease(&world.rig, ms);
        if (draw_below(d, 4) > 0)
                elect();
}

static void fault_recovery(Draw *d) {
        if (!nobody_leads())
                return;
        story_tell("the cluster is recovered, with host n1 alone");
        faults_state.entry_was_last = false;
        rig_elect_recovered(&world.rig);
}

#define FAULT_FUNCTION(name, what) [FAULT_##name] = fault_##name,
static void (*const faults[_FAULTS])(Draw *d) = {SWARM_FAULTS(FAULT_FUNCTION)};

void faults_step(Draw *d) {
        size_t n_reported = story_n_reported();
        unsigned all = 0;
        SwarmFault fault;

        for (unsigned i = 0; i < _FAULTS; i++)
                all += asks.swarm.faults[i];
        if (all == 0)
                return;
        fault = (SwarmFault) draw_weighted(d, asks.swarm.faults, _FAULTS);
        faults[fault](d);
        if (story_n_reported() > n_reported) // else there was nothing that could break
                coverage_note_fault(fault);
}

void faults_heal(void) {
        faults_state.entries_left = 0;
        log_goes_on();
        faults_on_turn();
        world.rig.lags = false;
        world.rig.members_silent = 0;
        elect();
        for (uint32_t i = 1; i <= asks.swarm.hosts; i++) {
                RigHost *h = rig_host(&world.rig, i);

                answer_again(h);
                h->deaf = h->lazy = h->refuses = h->delayed = h->mute = false;
                h->others = NULL;
                if (h->lies || h->fetch_hangs || h->reason)
                        h->linked = false; // it attaches, and says what is true
                h->fetch_hangs = false;
                h->reason = NULL;
                if (h->disk_hangs && h->asked_open && h->up && h->linked)
                        rig_host_open_log(&world.rig, i);
                h->disk_hangs = false;
                h->clock_ahead_us = 0;
                if (h->full)
                        rig_host_drain(&world.rig, i);
                if (!h->up && world_is_member(i))
                        rig_host_on(&world.rig, i, false);
        }
}

void faults_healed(void) {
        for (uint32_t i = 1; i <= asks.swarm.hosts; i++)
                rig_host(&world.rig, i)->lies = false;
}
