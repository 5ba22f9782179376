// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Carries out membership.c's steps, one at a time. Nothing about a step is remembered beyond what keeps two
// from overlapping: after each, and after each failure a little later, the plan is made anew from the log's
// records and the log's configuration.
//
// While there is nothing to do, hosts are not looked at. Whether there is a step follows from the records,
// from what hosts say and from the log's configuration, and not from who answers (membership.h); so it is
// asked again when a record says something else of who votes (DUE_VOTERS), when a host has changed that
// votes or could be made to (HOST_VOTERS), or when the configuration is not what it was (VotersSeen).
//
// A host that does not open its log in time may be a healthy one with a disk that hangs: it beats, and no
// answer comes. Others are asked before it from then on, until its answer comes after all or it attaches
// anew.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "batch-builder.h"
#include "clock.h"
#include "due.h"
#include "host-leases.h"
#include "host-link.h"
#include "host-marks.h"
#include "log.h"
#include "membership.h"
#include "message-of.h"
#include "registry.h"
#include "str.h"
#include "tables.h"
#include "turn.h"
#include "voter-secrets.h"
#include "voters-numbers.h"
#include "voters-view.h"
#include "voters.h"

enum {
        VOTERS_RETRY_US = 1000000,    // after a step that failed, or is not safe
        VOTERS_OPEN_US = 15000000,    // for a host to open its log
        VOTERS_WAIT_US = 50000,       // until a voter may have been heard again; it answers each heartbeat
        VOTERS_PATIENCE_US = 5000000, // for a voter that answers to catch up, before a request is refused
};

// What the plan was made of last, besides hosts.
typedef struct VotersSeen {
        MembershipMember members[STORE_MEMBERS_MAX]; // the log's configuration; who answers does not count
        size_t n_members;
        unsigned wanted;
        uint32_t level; // of the log's features
} VotersSeen;

struct Voters {
        bool is_short; // there were fewer than there should be: who could become one matters
        VotersSeen seen;
        bool busy;              // the log owes us the end of a membership operation
        uint32_t opening;       // host that is opening a log on our order; 0: none
        uint32_t open_id;       // raft id that it is to open
        MembershipStep next;    // the next step, and since when it is that: it goes by what is heard
        uint64_t next_since_us; // later
        bool blocked;           // it was said that it is not safe now
        int error;              // that was complained about last
        char notice[320];       // what it waits for
};

Voters *voters_new(void) {
        return calloc(1, sizeof(Voters));
}

Voters *voters_free(Voters *v) {
        free(v);
        return NULL;
}

void voters_retire(Leader *l) {
        Voters *v = l->voters;

        v->opening = 0;
        v->next = (MembershipStep){};
        v->blocked = false;
}

const char *voters_notice(const Leader *l) {
        return l->voters->notice;
}

// ------------------------------------------------------------------------------------------------ time

void voters_pause(Leader *l, uint64_t until_us) {
        l->voters_pause_us = until_us;
}

void voters_on_time(Leader *l) {
        if (l->voters_wait_us <= leader_now(l))
                l->voters_wait_us = 0; // set again by what still waits
}

static void retry_later(Leader *l) {
        voters_pause(l, leader_now(l) + VOTERS_RETRY_US);
        leader_mark(l);
}

static void set_notice(Leader *l, const char *what, uint32_t host) {
        str_fit(l->voters->notice, sizeof(l->voters->notice), what, voters_name_of(l, host));
}

// ------------------------------------------------------------------------------------------------ requests

static bool answers(const VotersView *v, uint32_t host) {
        for (size_t i = 0; i < v->view.n_members; i++)
                if (voters_view_host_of(v, v->members[i].raft_id) == host)
                        return v->stats.members[i].answers;
        return false;
}

// An order that works, or what to wait for.
static void describe_way_out(const Leader *l, const VotersView *v, const MembershipVerdict *verdict,
                             const char *verb, char *ret, size_t size) {
        char names[160] = "";
        bool dead = true;

        for (size_t i = 0; i < verdict->n_first; i++) {
                voters_add_name(names, sizeof(names), voters_name_of(l, verdict->first[i]), i,
                                verdict->n_first);
                dead &= !answers(v, verdict->first[i]);
        }
        if (verdict->n_first)
                str_fit(ret, size, "first %s %s, which %s not %s", verb, names,
                        verdict->n_first == 1 ? "does" : "do", dead ? "answer" : "keep up");
        else {
                voters_view_name_silent(l, v, names, sizeof(names));
                str_fit(ret, size, "wait until %s answer%s", *names ? names : "the others",
                        strchr(names, ' ') || !*names ? "" : "s");
        }
}

typedef struct VotersGoal {
        uint32_t host; // is to be no voter; 0: so many are wanted
        unsigned wanted;
} VotersGoal;

static int judge_view(const VotersView *v, VotersGoal goal, MembershipVerdict *ret) {
        return goal.host ? membership_judge(&v->view, goal.host, ret)
                         : membership_judge_wanted(&v->view, goal.wanted, ret);
}

static int judge(Leader *l, VotersGoal goal, uint64_t since_us, const char *verb, char *ret, size_t size) {
        _cleanup_(voters_view_done) VotersView v = voters_view_of_log(l);
        MembershipVerdict verdict;
        int r;

        r = voters_view_add_hosts(l, &v);
        if (r < 0)
                return r;
        voters_view_set_live(l, &v, since_us, false);
        r = judge_view(&v, goal, &verdict);
        if (r < 0 || verdict.safe)
                return r < 0 ? r : VOTERS_SAFE;
        if (leader_now(l) < since_us + VOTERS_PATIENCE_US) {
                MembershipVerdict hopeful;

                voters_view_set_live(l, &v, since_us, true);
                r = judge_view(&v, goal, &hopeful);
                if (r < 0)
                        return r;
                if (hopeful.safe) {
                        l->voters_wait_us = leader_now(l) + VOTERS_WAIT_US;
                        return VOTERS_UNANSWERED;
                }
                verdict = hopeful;
        }
        describe_way_out(l, &v, &verdict, verb, ret, size);
        return VOTERS_UNSAFE;
}

int voters_judge(Leader *l, uint32_t host, uint64_t since_us, const char *verb, char *ret_why, size_t size) {
        char way_out[256];
        int r = judge(l, (VotersGoal){.host = host}, since_us, verb, way_out, sizeof(way_out));

        if (r == VOTERS_UNSAFE)
                str_fit(ret_why, size, "without %s no majority of the voters would answer: %s",
                        voters_name_of(l, host), way_out);
        return r;
}

int voters_judge_wanted(Leader *l, unsigned wanted, uint64_t since_us, char *ret_why, size_t size) {
        char way_out[256];
        int r = judge(l, (VotersGoal){.wanted = wanted}, since_us, "remove", way_out, sizeof(way_out));

        if (r == VOTERS_UNSAFE)
                str_fit(ret_why, size,
                        "on the way to that number no majority of the voters would answer: %s; nothing was "
                        "changed",
                        way_out);
        return r;
}

// ------------------------------------------------------------------------------------------------ steps

static int put_role(Leader *l, BatchBuilder *b, uint32_t host, Argosy__HostRole role, uint32_t raft_id) {
        const Argosy__HostRecord *record = cluster_state_find_host(l->state, host);
        Argosy__HostRecord next;

        if (!record || batch_builder_has_host(b, host))
                return 0; // in the next batch
        next = *record;
        next.role = role;
        next.raft_id = raft_id;
        return batch_builder_put_host(b, &next);
}

static void send_open(Leader *l, uint32_t host, uint32_t raft_id) {
        const VoterSecrets *secrets = l->ops.secrets(l->userdata);
        Argosy__VoterSecret values[VOTER_SECRETS_MAX], *pointers[VOTER_SECRETS_MAX];
        Argosy__ToHost__StoreOpen open = ARGOSY__TO_HOST__STORE_OPEN__INIT;
        Argosy__ToHost m = TO_HOST_OF(STORE_OPEN, store_open, &open);
        Host *h = host_find(l, host);

        open.raft_id = raft_id ? raft_id : voters_number_of(l, h);
        open.generation = cluster_state_cluster(l->state)->generation;
        if (secrets) {
                voter_secrets_to_message(secrets, values);
                open.secrets = pointers;
                open.n_secrets = secrets->n;
        }
        for (size_t i = 0; i < open.n_secrets; i++)
                pointers[i] = &values[i];
        l->voters->opening = host;
        l->voters->open_id = open.raft_id;
        l->voters_pause_us = leader_now(l) + VOTERS_OPEN_US;
        leader_to_host(l, h, &m);
}

static void send_close(Leader *l, uint32_t host, uint32_t raft_id) {
        Argosy__ToHost__StoreClose close = MESSAGE_OF(to_host__store_close, .raft_id = raft_id);
        Argosy__ToHost m = TO_HOST_OF(STORE_CLOSE, store_close, &close);
        Host *h = host_find(l, host);

        if (h)
                leader_to_host(l, h, &m); // one that is not here is told when it attaches
}

// Logs each kind of trouble once, not once a second.
static void complain(Leader *l, int error) {
        if (l->voters->error != error)
                log_warning("Cannot change the voters: %s. It will be tried again.", strerror(-error));
        l->voters->error = error;
}

static void on_member_done(int error, void *userdata) {
        Leader *l = userdata;

        l->voters->busy = false;
        leader_set_due(l, DUE_MEMBERS);
        if (error == 0) {
                l->voters->error = 0;
                // the one that is gone may have been a host that no record names
                leader_set_due(l, DUE_FEATURES);
        }
        if (error < 0) {
                complain(l, error);
                l->voters_pause_us = leader_now(l) + VOTERS_RETRY_US;
        }
        leader_mark(l);
        leader_outside_done(l);
}

static void call_log(Leader *l, int (*what)(uint32_t, StoreMemberDone, void *, void *), uint32_t raft_id) {
        int r = what(raft_id, on_member_done, l, l->userdata);

        if (r == -EEXIST || r == -ENOENT) { // it is so already
                leader_set_due(l, DUE_MEMBERS);
                retry_later(l);
                return;
        }
        if (r < 0) {
                complain(l, r);
                retry_later(l);
                return;
        }
        l->voters->busy = true;
        leader_outside_begun(l);
}

bool voters_may_hand_over(const Leader *l) {
        return !l->voters->busy && l->voters_pause_us <= leader_now(l);
}

void voters_hand_over(Leader *l, uint32_t raft_id) {
        call_log(l, l->ops.transfer, raft_id);
}

// A log is opened by a number that the log has.
static bool needs_number(Leader *l, const MembershipStep *s) {
        return s->action == MEMBERSHIP_OPEN && s->raft_id == 0 &&
               !voters_number_of(l, host_find(l, s->host));
}

static bool is_for_the_batch(Leader *l, const MembershipStep *s) {
        return s->action == MEMBERSHIP_ENROL || s->action == MEMBERSHIP_DEMOTE ||
               s->action == MEMBERSHIP_KEEP || s->action == MEMBERSHIP_CLOSE || needs_number(l, s);
}

static int step_in_batch(Leader *l, BatchBuilder *b, const MembershipStep *s) {
        switch (s->action) {
        case MEMBERSHIP_OPEN:
                return voters_number_put(l, b, host_find(l, s->host));
        case MEMBERSHIP_ENROL:
                log_notice("Host %s becomes a voter.", voters_name_of(l, s->host));
                return put_role(l, b, s->host, ARGOSY__HOST_ROLE__ROLE_VOTER, s->raft_id);
        case MEMBERSHIP_DEMOTE:
                log_notice("Host %s stops being a voter.", voters_name_of(l, s->host));
                return put_role(l, b, s->host, ARGOSY__HOST_ROLE__ROLE_SPARE, s->raft_id);
        case MEMBERSHIP_KEEP:
                log_notice("Host %s stays a voter.", voters_name_of(l, s->host));
                return put_role(l, b, s->host, ARGOSY__HOST_ROLE__ROLE_VOTER, s->raft_id);
        default:
                send_close(l, s->host, s->raft_id);
                return put_role(l, b, s->host, ARGOSY__HOST_ROLE__ROLE_SPARE, 0);
        }
}

static void step_beside(Leader *l, const MembershipStep *s) {
        switch (s->action) {
        case MEMBERSHIP_OPEN:
                set_notice(l, "waiting for %s to open its copy of the log", s->host);
                send_open(l, s->host, s->raft_id);
                break;
        case MEMBERSHIP_ADD:
                set_notice(l, "%s is catching up with the log", s->host);
                call_log(l, l->ops.member_add, s->raft_id);
                break;
        case MEMBERSHIP_DROP:
                set_notice(l, "taking %s out of the log's voters", s->host);
                call_log(l, l->ops.member_remove, s->raft_id);
                break;
        case MEMBERSHIP_TRANSFER:
                set_notice(l, "%s hands leadership to another voter", s->host);
                call_log(l, l->ops.transfer, s->raft_id);
                break;
        default:
                break;
        }
}

// Since when the plan wants this step.
static uint64_t next_since(Leader *l, const MembershipStep *s) {
        const MembershipStep *next = &l->voters->next;

        if (next->action != s->action || next->host != s->host || next->raft_id != s->raft_id) {
                l->voters->next = *s;
                l->voters->next_since_us = leader_now(l);
                l->voters->blocked = false;
        }
        return l->voters->next_since_us;
}

// The time for that is over.
static void give_up_opening(Leader *l) {
        Host *h = host_find(l, l->voters->opening);

        l->voters->opening = 0;
        if (!h || h->membership.opened_in_vain)
                return;
        h->membership.opened_in_vain = true;
        log_host(LOG_WARNING, voters_name_of(l, h->number),
                 "Host %s has not opened its copy of the log in %d s.", voters_name_of(l, h->number),
                 VOTERS_OPEN_US / 1000000);
}

// How many voters to want so that nobody has to stop being one. 0: no number helps, so few hosts may vote.
static unsigned enough_voters(const VotersView *v) {
        MembershipView more = v->view;
        size_t n = 0;

        for (size_t i = 0; i < v->view.n_members; i++)
                n += v->members[i].voter;
        more.wanted = n > 3 ? 5 : n > 1 ? 3 : 1;
        return membership_goal(&more) > membership_goal(&v->view) ? more.wanted : 0;
}

// What somebody wants of the host is called off by its name; that there are to be fewer voters, by a number.
static void describe_call_off(const Leader *l, const VotersView *v, uint32_t host, char *ret, size_t size) {
        const Argosy__HostRecord *record = cluster_state_find_host(l->state, host);
        unsigned enough = enough_voters(v);

        *ret = '\0';
        if (record && record->no_promote)
                str_fit(ret, size, "; to call it off: argosyctl cluster promote %s", record->name);
        else if (record && enough)
                str_fit(ret, size, "; to call it off: argosyctl cluster voters %u", enough);
}

static void notice_blocked(Leader *l, const VotersView *v, const MembershipStep *s) {
        uint32_t host = s->host ?: voters_view_host_of(v, s->raft_id);
        char names[160], call_off[160];

        voters_view_name_silent(l, v, names, sizeof(names));
        describe_call_off(l, v, host, call_off, sizeof(call_off));
        str_fit(l->voters->notice, sizeof(l->voters->notice),
                "%s cannot stop being a voter until %s answer%s: no majority would%s",
                voters_name_of(l, host), *names ? names : "the others",
                strchr(names, ' ') || !*names ? "" : "s", call_off);
        if (!l->voters->blocked)
                log_warning("%s", l->voters->notice);
        l->voters->blocked = true;
}

// A step that is not safe waits until it is.
static bool may_take(Leader *l, VotersView *v, const MembershipStep *s) {
        uint64_t since = next_since(l, s);

        voters_view_set_live(l, v, since, false);
        if (membership_is_safe(&v->view, s)) {
                l->voters->blocked = false;
                return true;
        }
        voters_view_set_live(l, v, since, true);
        if (membership_is_safe(&v->view, s) && leader_now(l) < since + VOTERS_PATIENCE_US)
                l->voters_wait_us = leader_now(l) + VOTERS_WAIT_US;
        else {
                voters_view_set_live(l, v, since, false);
                notice_blocked(l, v, s);
                retry_later(l);
        }
        return false;
}

// A host whose log is closed lets nobody in and knows no voters. A host that has no link to this leader may
// know no other voter than that one, and is told by it who votes now. Hosts that are lost are not waited
// for, nor is longer than a lease.
static bool may_be_asked_the_way(const Leader *l) {
        return l->n_hosts.awaited > 0 && leader_now(l) < l->voters->next_since_us + host_leases_us(l);
}

uint32_t voters_successor(const Leader *l) {
        const StoreMember *best = NULL;
        const HostEntry *hosts;
        StoreStats stats = {};
        size_t n;

        l->ops.stats(&stats, l->userdata);
        hosts = cluster_state_hosts(l->state, &n);
        for (size_t i = 0; i < stats.n_members; i++) {
                const StoreMember *m = &stats.members[i];
                uint32_t host = 0;

                for (size_t k = 0; k < n; k++)
                        if (hosts[k].record->raft_id == m->raft_id)
                                host = hosts[k].record->host;
                if (m->voter && m->answers && m->caught_up && host && host != l->config.self &&
                    !voters_host_is_leaving(l, host) && (!best || m->match_index > best->match_index))
                        best = m;
        }
        return best ? best->raft_id : 0;
}

// A spare that comes or goes matters while voters are wanting.
static bool concerns_voters(const Leader *l, const Host *h) {
        const Argosy__HostRecord *r = cluster_state_find_host(l->state, h->number);

        return r && (l->voters->is_short || r->role == ARGOSY__HOST_ROLE__ROLE_VOTER || r->raft_id);
}

static bool is_as_seen(const Leader *l, const VotersView *v) {
        const VotersSeen *seen = &l->voters->seen;

        if (seen->n_members != v->view.n_members || seen->wanted != v->view.wanted ||
            seen->level != cluster_state_feature_level(l->state))
                return false;
        for (size_t i = 0; i < seen->n_members; i++)
                if (seen->members[i].raft_id != v->members[i].raft_id ||
                    seen->members[i].voter != v->members[i].voter)
                        return false;
        return true;
}

static bool take_due(Leader *l, const VotersView *v) {
        bool due = leader_take_due(l, DUE_VOTERS);
        Host *h;

        if (leader_take_due(l, DUE_MEMBERS))
                due |= !is_as_seen(l, v);

        while ((h = host_take_marked(l, HOST_VOTERS)))
                due |= concerns_voters(l, h);
        return due;
}

static void note_seen(Leader *l, const VotersView *v) {
        l->voters->is_short = membership_is_short(&v->view);
        l->voters->seen = (VotersSeen){.n_members = v->view.n_members,
                                      .wanted = v->view.wanted,
                                      .level = cluster_state_feature_level(l->state)};
        memcpy(l->voters->seen.members, v->members, sizeof(v->members));
}

// With a batch: steps that are a change of a record. Without: the others, but not while a batch is on its
// way, which may change the plan.
void voters_step(Leader *l, BatchBuilder *b) {
        _cleanup_(voters_view_done) VotersView v = {};
        MembershipStep s;

        if (l->voters->busy || l->batch_flying || !cluster_state_cluster(l->state) ||
            l->voters_pause_us > leader_now(l))
                return;
        v = voters_view_of_log(l);
        if (!take_due(l, &v))
                return;
        leader_set_due(l, DUE_VOTERS); // until a look at all of them finds nothing to do
        if (v.view.n_members == 0)
                return;
        if (l->voters->opening)
                give_up_opening(l);
        if (voters_view_add_hosts(l, &v) < 0)
                return;
        voters_view_set_live(l, &v, leader_now(l), true);
        s = membership_plan(&v.view);
        note_seen(l, &v);
        if (s.action == MEMBERSHIP_NOTHING) {
                (void) leader_take_due(l, DUE_VOTERS);
                l->voters->notice[0] = '\0';
                return;
        }
        if (!may_take(l, &v, &s))
                return;
        if (s.action == MEMBERSHIP_CLOSE && may_be_asked_the_way(l)) {
                retry_later(l);
                return;
        }
        if (b && is_for_the_batch(l, &s))
                (void) step_in_batch(l, b, &s); // what did not get in is planned again
        else if (!b && !is_for_the_batch(l, &s))
                step_beside(l, &s);
}

// ------------------------------------------------------------------------------------------------ events

// An answer to an order that nobody waits for any more: a log that no record will give it goes.
static void on_opened_late(Leader *l, Host *h, const Argosy__HostRecord *record,
                           const Argosy__ToVoter__StoreOpened *opened) {
        bool in_vain = *opened->error;

        if (h->membership.opened_in_vain != in_vain)
                leader_set_due(l, DUE_VOTERS);
        h->membership.opened_in_vain = in_vain;
        if (!in_vain && l->voters->opening != h->number && opened->raft_id != record->raft_id &&
            opened->raft_id != host_opened_id(h))
                send_close(l, h->number, opened->raft_id);
        leader_mark(l);
}

void voters_on_opened(Leader *l, Host *h, const Argosy__ToVoter__StoreOpened *opened) {
        const Argosy__HostRecord *record = cluster_state_find_host(l->state, h->number);

        if (l->voters->opening != h->number || opened->raft_id != l->voters->open_id) {
                on_opened_late(l, h, record, opened);
                return;
        }
        l->voters->opening = 0;
        leader_set_due(l, DUE_VOTERS);
        h->membership.opened_in_vain = *opened->error;
        if (*opened->error) {
                log_host(LOG_WARNING, record->name, "Host %s cannot become a voter: %.*s.", record->name,
                         (int) str_cut(opened->error, REASON_MAX), opened->error);
                str_fit(l->voters->notice, sizeof(l->voters->notice), "%s cannot become a voter: %s",
                        record->name, opened->error);
                l->voters_pause_us = leader_now(l) + VOTERS_OPEN_US;
                return;
        }
        l->voters_pause_us = 0;
        h->running_id = opened->raft_id;
        if (record->raft_id != opened->raft_id)
                voters_view_note_opened(h, opened->raft_id);
        leader_mark(l);
}

// A host that runs a log which no record gives it: left over from a promotion that an older leader did not
// finish, or from before it was demoted.
void voters_on_attach(Leader *l, Host *h) {
        const Argosy__HostRecord *record = cluster_state_find_host(l->state, h->number);

        h->membership.secrets_reported = 0;
        if (h->membership.opened_in_vain) { // there may be room now
                h->membership.opened_in_vain = false;
                if (!l->voters->opening) // else another has its time
                        l->voters_pause_us = 0;
                leader_set_due(l, DUE_VOTERS);
        }
        if (h->running_id && !record->raft_id) {
                send_close(l, h->number, h->running_id);
                h->running_id = 0;
        }
        if (l->voters->opening == h->number) { // the order went down with the old link
                l->voters->opening = 0;
                l->voters_pause_us = 0;
        }
}
