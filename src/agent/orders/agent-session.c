// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The session with the leader: Attach with all that is held, Welcome with all that is wanted (both in parts
// if it is much), then beats.
//
// A session is begun when a leader is known and systemd's state is complete, and begun anew when the leader
// changes, when our lease runs out (the leader may have called us lost), or when orders could not be kept.
// Losing the leader stops nothing here.
//
// The lease runs from the moment at which the beat that was acknowledged was sent, on the boot-time clock,
// so that a suspended machine never believes longer than the leader does.

#include <errno.h>

#include "agent-core.h"
#include "agent-fence.h"
#include "agent-fleet.h"
#include "agent-image-asks.h"
#include "agent-images.h"
#include "agent-names.h"
#include "agent-podman.h"
#include "agent-reach.h"
#include "agent-remote.h"
#include "agent-report.h"
#include "agent-session.h"
#include "agent-unit.h"
#include "beat-pace.h"
#include "clock.h"
#include "log.h"
#include "message-of.h"

enum {
        ATTACH_RETRY_US =
                2 * 1000 * 1000, // unanswered Attach; the leader answers after one barrier of the log
        ATTACH_DOUBLINGS = 4,    // an answer may take longer than that, and each Attach makes the one before
                                 // void
        BEAT_DEFAULT_MS = 1000,  // until a Welcome says better
};

static bool lease_is_over(const Agent *a, uint64_t now_us) {
        return now_us >= a->lease_from_us + a->lease_ms * USEC_PER_MSEC;
}

static void set_attached(Agent *a, bool attached) {
        if (a->attached == attached)
                return;
        a->attached = attached;
        if (a->ops.attached)
                a->ops.attached(attached, a->userdata);
}

static void note_unanswered(Agent *a, uint64_t since_us) {
        if (a->unanswered_us == since_us)
                return;
        a->unanswered_us = since_us;
        if (a->ops.beat)
                a->ops.beat(since_us, a->userdata);
}

// ---- Attach

static uint64_t attach_patience_us(const Agent *a) {
        return (uint64_t) ATTACH_RETRY_US << MIN_OF(a->n_unanswered, (unsigned) ATTACH_DOUBLINGS);
}

// As it is when the leader hears of it; half of a round trip from now, if one was measured.
static uint64_t wall_on_arrival_us(const Agent *a) {
        return clock_wall_us() + a->beat_trip_us / 2;
}

static int send_attach(Agent *a, Argosy__UnitReport **held, size_t n_held, bool last) {
        Argosy__ToVoter__Attach attach = ARGOSY__TO_VOTER__ATTACH__INIT;
        Argosy__ToVoter message = TO_VOTER_OF(ATTACH, attach, &attach);
        _cleanup_free_ char **managers = calloc(a->n_nodes + 1, sizeof(*managers));
        _cleanup_free_ Argosy__NodeReport *reports = calloc(a->n_nodes + 1, sizeof(*reports));
        _cleanup_free_ Argosy__NodeReport **list = calloc(a->n_nodes + 1, sizeof(*list));
        _cleanup_free_ char **fleet_units = NULL;
        Argosy__FleetUnits fleet;
        AgentSelf self;
        _cleanup_free_ Argosy__Label **labels = NULL;
        size_t n = 0;

        if (!managers || !reports || !list || agent_podman_labels(a, &labels, &attach.n_labels) < 0)
                return -ENOMEM;
        a->ops.attaching(&self, a->userdata);
        agent_foreach_node (node, a)
                managers[n++] = node->manager;
        attach.nodes = list;
        attach.n_nodes = agent_node_reports(a, false, reports, list);
        attach.seq = a->attach_seq;
        attach.name = a->host_name;
        attach.address = (char *) self.address;
        attach.address_name = (char *) self.address_name;
        attach.address_configured = self.address_configured;
        attach.voters_configured = self.voters_configured;
        attach.port = a->port;
        attach.labels = labels;
        attach.cpu_milli = self.cpu_milli;
        attach.memory_mib = self.memory_mib;
        attach.managers = managers;
        attach.n_managers = n;
        attach.held = held;
        attach.n_held = n_held;
        attach.parts = !last;
        attach.sent_us = a->attach_sent_us;
        attach.wall_us = wall_on_arrival_us(a);
        a->wall_reported_us = (int64_t) (clock_wall_us() - clock_boot_us());
        a->beats_to_wall = 1; // the second beat knows the round trip of the first
        if (agent_fleet_report(a, &fleet, &fleet_units))
                attach.fleet_units = &fleet;
        else if (a->fleet.units.count > 0)
                return -ENOMEM;
        return a->ops.send(&message, a->userdata);
}

static int send_part(Agent *a, Argosy__UnitReport **held, size_t n_held, bool last) {
        Argosy__ToVoter__AttachPart part = MESSAGE_OF(to_voter__attach_part, .seq = a->attach_seq,
                                                      .held = held, .n_held = n_held, .last = last);
        Argosy__ToVoter message = TO_VOTER_OF(ATTACH_PART, attach_part, &part);

        return a->ops.send(&message, a->userdata);
}

// The answer to the Attach is waited for from its last part on.
static void send_parts(Agent *a) {
        for (unsigned n = 0; n < AGENT_MESSAGES_PER_TURN && a->attach_in_parts; n++) {
                if (agent_held_send(a, send_part) < 0) {
                        a->attach_sent = a->attach_in_parts = false;
                        a->attach_wanted = true; // at attach_retry_us, or with the next leader
                        return;
                }
                a->attach_in_parts = !list_is_empty(&a->held_due);
                a->attach_retry_us = clock_boot_us() + attach_patience_us(a);
        }
        if (a->attach_in_parts)
                drain_mark(&a->drain);
}

void agent_attach(Agent *a) {
        int r;

        agent_podman_look(a);
        agent_fence_drop(a); // what still waits there answers an older Attach, and all of it will come again
        a->attach_seq++;
        a->welcome_parts = 0;
        a->lived_reported_ms = 0;
        a->attach_sent_us = clock_boot_us();
        a->attach_retry_us = a->attach_sent_us + attach_patience_us(a);
        agent_held_begin(a);
        r = agent_held_send(a, send_attach);
        a->attach_sent = r >= 0;
        a->n_unanswered += r >= 0;
        a->attach_in_parts = r >= 0 && !list_is_empty(&a->held_due);
        if (a->attach_in_parts)
                drain_mark(&a->drain);
        if (r >= 0)
                agent_foreach_node (node, a)
                        node->reason_news = a->fleet.news = false;
        a->attach_wanted = r < 0; // tried again at attach_retry_us, or with the next leader
}

static bool is_ready(const Agent *a) {
        return a->system->synced && (agent_fleet_is_known(a) || agent_fleet_is_late(a, clock_boot_us())) &&
               a->leader != 0 && !a->clearing; // the others come when they come
}

// What it waits for besides (systemd, the look for fleet's units) is an event, or takes too long at some
// time.
uint64_t agent_session_next_wake(const Agent *a) {
        if (!a->attach_wanted || a->leader == 0 || a->clearing || !a->system->synced)
                return 0;
        return is_ready(a) ? a->attach_retry_us : a->fleet.late_us;
}

// Judged behind what has come by then, which may be the answer.
static bool is_unanswered(const Agent *a, uint64_t now_us) {
        return a->attach_sent && now_us >= a->attach_retry_us;
}

void agent_session_drain(Agent *a) {
        uint64_t now_us;

        if (a->attach_in_parts && !a->attach_wanted)
                send_parts(a);
        now_us = clock_boot_us();
        if (!(a->attach_wanted || is_unanswered(a, now_us)) || !is_ready(a) || now_us < a->attach_retry_us)
                return;
        agent_attach(a);
        if (a->attach_sent && agent_is_stopping(a))
                a->stopping_unsent = true; // this leader has not heard it
}

static void notify_guards(Agent *a) {
        atomic_store(&a->lease->until_us, a->lease_from_us + a->lease_ms * USEC_PER_MSEC);
}

// What a guard has stopped may start again.
static void release_cut_off(Agent *a) {
        uint64_t now_us = clock_boot_us();

        agent_foreach_node (node, a)
                agent_foreach_unit(u, node) {
                        const AgentSpec *content = agent_unit_content(u);

                        if (!content || !content->cut_off_stop)
                                continue;
                        if (agent_is_cut_off(u, now_us) && agent_unit_work(u))
                                u->work->cut_off_until_us = now_us + AGENT_GUARD_NEWS_US;
                        agent_unit_mark(u);
                }
}

void agent_session_welcome(Agent *a, const Argosy__ToHost__Welcome *w) {
        if (w->beat_ms != a->beat_ms && w->beat_ms > 0) {
                a->beat_ms = w->beat_ms;
                uv_timer_set_repeat(&a->beat, a->beat_ms);
                uv_timer_again(&a->beat);
        }
        a->lease_ms = w->lease_ms;
        a->welcomed_seq = w->seq;
        a->lease_from_us = MAX_OF(a->lease_from_us, a->attach_sent_us); // the Attach counts as a beat
        release_cut_off(a);
        notify_guards(a);
        a->attach_sent = false;
        a->n_unanswered = 0;
        a->welcome_parts = 0;
        note_unanswered(a, 0);
        set_attached(a, true);
}

// ---- beats

// The leader goes on by itself from what it was told: again every so many beats, for clocks drift, and when
// ours was set.
static uint64_t wall_to_say_ms(Agent *a, uint64_t now_us) {
        int64_t offset_us = (int64_t) (clock_wall_us() - now_us), moved_us = offset_us - a->wall_reported_us;

        if (a->beats_to_wall > 0 && moved_us < AGENT_WALL_SET_US && moved_us > -AGENT_WALL_SET_US) {
                a->beats_to_wall--;
                return 0;
        }
        a->beats_to_wall = AGENT_WALL_BEATS;
        a->wall_reported_us = offset_us;
        return wall_on_arrival_us(a) / USEC_PER_MSEC;
}

// The next beat says what the wall clock is, and by then a round trip is to be known.
static bool is_answer_needed(const Agent *a) {
        return !a->attached || a->unanswered_us > 0 || a->beats_to_wall == 0 || a->n_cut_off_specs > 0 ||
               (a->ops.leader_is_watched && a->ops.leader_is_watched(a->userdata));
}

static bool is_quiet(const Agent *a, uint64_t now_us) {
        BeatPace p = {
                .lease_us = a->lease_ms * USEC_PER_MSEC,
                .lease_until_us = a->lease_from_us + a->lease_ms * USEC_PER_MSEC,
                .beat_us = a->beat_ms * USEC_PER_MSEC,
                .n_quiet = a->n_quiet,
                .needed = is_answer_needed(a),
        };

        return beat_is_quiet(&p, now_us);
}

static void note_asked(Agent *a, uint64_t seq, uint64_t now_us) {
        a->n_quiet = 0;
        a->beat_asked = seq;
        if (a->attached && a->unanswered_us == 0)
                note_unanswered(a, now_us);
}

// reported_us: as in Beat.reported_ms; 0: nothing is said of that.
static void send_beat(Agent *a, uint64_t now_us, uint64_t reported_us) {
        Argosy__ToVoter__Beat beat = ARGOSY__TO_VOTER__BEAT__INIT;
        Argosy__ToVoter message = TO_VOTER_OF(BEAT, beat, &beat);

        beat.seq = ++a->beat_seq;
        beat.reported_ms = reported_us / USEC_PER_MSEC;
        beat.wall_ms = wall_to_say_ms(a, now_us);
        beat.quiet = is_quiet(a, now_us);
        a->beat_sent_us[beat.seq % AGENT_BEATS_KEPT] = now_us;
        a->stats.beats++;
        if (beat.quiet)
                a->n_quiet++;
        else
                note_asked(a, beat.seq, now_us);
        (void) a->ops.send(&message,
                           a->userdata); // without a link the lease runs out, and that is the answer
}

// The rest may take longer than a lease, and longer than an answer to the Attach is waited for.
void agent_session_on_part(Agent *a) {
        uint64_t now_us = clock_boot_us();

        a->attach_retry_us = now_us + attach_patience_us(a);
        send_beat(a, now_us, 0);
}

static void on_beat_timer(uv_timer_t *timer);

// An acknowledgement may have come while we stood still: the loop takes it behind its timers.
static bool lease_has_ended(Agent *a, uint64_t now_us) {
        bool deferred = a->lease_deferred, over = lease_is_over(a, now_us);

        a->lease_deferred = over && !deferred;
        if (a->lease_deferred)
                uv_timer_start(&a->beat, on_beat_timer, 1, a->beat_ms);
        return over && deferred;
}

static void on_beat_timer(uv_timer_t *timer) {
        Agent *a = timer->data;
        uint64_t now_us = clock_boot_us(), reported_us;

        if (a->leader == 0)
                return;
        if (a->attached && lease_has_ended(a, now_us)) {
                log_warning("The leader has not acknowledged a beat for %u ms; units go on running.",
                            a->lease_ms);
                set_attached(a, false);
                a->attach_wanted = true;
        }
        if (a->gather_until_us > 0)
                agent_report_all(a); // what waits for more is no reason to say that less was told
        reported_us = a->attached && agent_has_received_all(a) ? agent_report_sent_us(a, now_us) : 0;
        if (a->attached || a->welcome_parts > 0)
                send_beat(a, now_us, reported_us);
        if (a->attach_wanted || is_unanswered(a, now_us))
                drain_mark(&a->drain);
}

void agent_on_beat_ack(Agent *a, const Argosy__ToHost__BeatAck *ack) {
        if (ack->lease_ms > 0)
                a->lease_ms = ack->lease_ms;
        if (ack->seq == 0 || ack->seq > a->beat_seq || a->beat_seq - ack->seq >= AGENT_BEATS_KEPT)
                return;
        a->lease_from_us = MAX_OF(a->lease_from_us, a->beat_sent_us[ack->seq % AGENT_BEATS_KEPT]);
        if (ack->seq > a->beat_answered) { // an answer may come again
                a->beat_answered = ack->seq;
                a->beat_trip_us = clock_boot_us() - a->beat_sent_us[ack->seq % AGENT_BEATS_KEPT];
                time_histogram_add(&a->beat_times, a->beat_trip_us);
                // From the first that has no answer on each one has asked for it.
                note_unanswered(a, ack->seq < a->beat_asked
                                           ? a->beat_sent_us[(ack->seq + 1) % AGENT_BEATS_KEPT]
                                           : 0);
        }
        notify_guards(a);
}

uint64_t agent_lease_left_ms(const Agent *a) {
        uint64_t end_us = a->lease_from_us + a->lease_ms * USEC_PER_MSEC, now_us = clock_boot_us();

        return a->attached && end_us > now_us ? (end_us - now_us) / USEC_PER_MSEC : 0;
}

// ---- begin and end

int agent_session_init(Agent *a) {
        int r = uvx_errno(uv_timer_init(a->loop, &a->beat));

        if (r < 0)
                return r;
        a->beat.data = a;
        a->beat_ms = BEAT_DEFAULT_MS;
        return uvx_errno(uv_timer_start(&a->beat, on_beat_timer, a->beat_ms, a->beat_ms));
}

void agent_on_leader(Agent *a, uint32_t leader, uint64_t term) {
        if (a->closing)
                return;
        // also for the same leader: its link is new, and has no session
        agent_fence_drop(a); // nobody knows of orders that wait there: their units may begin elsewhere
        a->leader = leader;
        a->leader_term = term;
        a->attach_sent = a->attach_in_parts = false;
        a->n_unanswered = 0;
        a->attach_wanted = leader != 0;
        a->attach_retry_us = 0;
        a->welcome_parts = 0;
        a->refusal_logged = false;
        a->unanswered_us = 0;
        a->n_quiet = 0;
        set_attached(a, false);
        agent_remote_calls_drop(a);
        agent_names_drop(a);
        agent_image_asks_drop(a);
        agent_images_on_cancel(a, 0);
        drain_mark(&a->drain);
}

