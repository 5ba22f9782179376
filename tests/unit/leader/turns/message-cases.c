// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What hosts of a large cluster say, and what happens when they, or the leader, are lost.
#include "turn-cases.h"

#include "attach.h"
#include "batch.h"
#include "clock.h"
#include "large-cluster.h"
#include "leader-asks.h"
#include "leader-private.h"
#include "messages.h"
#include "str.h"
#include "test.h"
#include "voter-secrets.h"

enum { HOST = 7, TURNS = 400, MANY = 100 };

static void send_message(uint32_t host, Argosy__ToVoter__MsgCase what, void *message) {
        rig_host_send(rig_host(&large.rig, host), what, message);
        large_cluster_turns(TURNS);
}

// ---- sessions

static void attach_anew(void) {
        rig_host(&large.rig, HOST)->attached = false;
        large_cluster_turns(TURNS);
}

// One host holds what thousands were to hold.
static void attach_with_thousands(void) {
        enum { ENTRIES = 40, UNITS = 200 };
        Hash hash = hash_of(BIG, strlen(BIG));

        for (unsigned i = 0; i < ENTRIES; i++) {
                _cleanup_(batch_done) Batch b = {};

                for (unsigned k = 0; k < UNITS; k++)
                        batch_unit_only(&b, large.fresh[i * UNITS + k], &hash,
                                        (UnitPut){.target = LAUNCHED, .node = HOST, .start = true});
                rig_propose(&large.rig, &b);
                large_cluster_turns(UINT_MAX);
        }
        rig_host(&large.rig, HOST)->attached = false;
        large_cluster_turns(UINT_MAX);
}

// Somebody watches, and whatever was told by the former name is gone.
static void host_of_thousands_has_another_name(void) {
        attach_with_thousands();
        Argosy__Request__Events events = EVENTS_OF(.from_now = true);
        (void) rig_ask(&large.rig, A_REQUEST(EVENTS, events, &events));
        large_cluster_turns(TURNS);
        rig_host(&large.rig, HOST)->name = "another";
        rig_host(&large.rig, HOST)->attached = false;
        large_cluster_turns(UINT_MAX);
}

// As many units in one part as there may be, none of which it was to hold.
static void attach_in_parts(void) {
        RigHost *h = rig_host(&large.rig, HOST);
        Argosy__ToVoter__AttachPart p = ARGOSY__TO_VOTER__ATTACH_PART__INIT;
        static Argosy__UnitReport reports[ATTACH_HELD_MAX], *held[ATTACH_HELD_MAX];

        h->virtual.welcomed = false;
        Argosy__ToVoter__Attach a = ATTACH_OF(.seq = p.seq = ++h->virtual.seq, .parts = true);
        send_message(HOST, ARGOSY__TO_VOTER__MSG_ATTACH, &a);
        for (size_t i = 0; i < ATTACH_HELD_MAX; i++) {
                reports[i] =
                        (Argosy__UnitReport) UNIT_REPORT_OF(.node = HOST, .name = large.fresh[i],
                                                            .active = ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE);
                held[i] = &reports[i];
        }
        p.held = held;
        p.n_held = ATTACH_HELD_MAX;
        p.last = true;
        send_message(HOST, ARGOSY__TO_VOTER__MSG_ATTACH_PART, &p);
}

static void hello(void) {
        Argosy__ToVoter__Hello m =
                HELLO_OF(.host = HOST, .feature_level = rig_host(&large.rig, HOST)->feature_level);

        leader_on_host_link(large.rig.leader, HOST, &m);
        large_cluster_turns(TURNS);
}

static void beat(void) {
        virtual_host_beat(&rig_host(&large.rig, HOST)->virtual, true);
        large_cluster_turns(TURNS);
}

static void lose(uint32_t first, uint32_t n) {
        for (uint32_t i = 0; i < n; i++)
                rig_host_off(&large.rig, first + i);
        large_cluster_pass_ms(RIG_LEASE_MS + 1000);
        large_cluster_turns(UINT_MAX);
}

// As rig_host_on().
static void come_back(uint32_t host, bool forget) {
        RigHost *h = rig_host(&large.rig, host);

        if (forget)
                virtual_host_forget(&h->virtual);
        if (h->linked) {
                rig_host_clear_inbox(h);
                leader_on_host_link(large.rig.leader, host, NULL);
        }
        h->linked = h->was_linked = h->attached = h->virtual.welcomed = false;
        h->up = true;
}

static void goodbye(void) {
        virtual_host_goodbye(&rig_host(&large.rig, HOST)->virtual, true);
        large_cluster_turns(TURNS);
        virtual_host_goodbye(&rig_host(&large.rig, HOST)->virtual, false);
        rig_host(&large.rig, HOST)->up = false;
        large_cluster_pass_ms(RIG_LEASE_MS + 1000);
}

static void goodbye_and_nothing_is_known(void) {
        Argosy__ToVoter__Goodbye__Running running = ARGOSY__TO_VOTER__GOODBYE__RUNNING__INIT,
                                          *rows = &running;
        Argosy__ToVoter__Goodbye m = MESSAGE_OF(to_voter__goodbye, .running = &rows, .n_running = 1);

        running.node = HOST;
        running.all = true;
        send_message(HOST, ARGOSY__TO_VOTER__MSG_GOODBYE, &m);
        rig_host(&large.rig, HOST)->up = false;
        large_cluster_pass_ms(RIG_LEASE_MS + 1000);
}

// ---- reports

static void report_all_of(uint32_t host, Argosy__ActiveState active, Argosy__Outcome__Kind outcome) {
        RigHost *h = rig_host(&large.rig, host);

        map_foreach (slot, &h->virtual.units)
                rig_host_report(&large.rig, h, slot->value, active, outcome);
}

static void units_fail(void) {
        for (uint32_t i = HOST; i < HOST + MANY; i++)
                report_all_of(i, ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, ARGOSY__OUTCOME__KIND__FAILED);
        large_cluster_turns(TURNS);
}

// More than may be down have failed, so one that would take the place of another waits for somebody who
// comes back.
static void unit_waits_for_those_it_replaces(void) {
        Argosy__Request__Change change = ARGOSY__REQUEST__CHANGE__INIT;
        Argosy__Request request = REQUEST_OF(CHANGE, change, &change);
        uint64_t id[2] = {++large.rig.id, 66};
        char *name = (char *) "taker.service";

        for (uint32_t i = 1; i <= large.n_hosts / 8; i++)
                report_all_of(i + large.n_hosts / 2, ARGOSY__ACTIVE_STATE__ACTIVE_FAILED,
                              ARGOSY__OUTCOME__KIND__FAILED);
        large_cluster_turns(UINT_MAX);
        Argosy__NamedFile file = MESSAGE_OF(named_file, .name = name, .path = name,
                                            .content.data = (uint8_t *) SLEEPS
                                            "[X-Argosy]\nReplaces=big@1.service\n"),
                          *files = &file;
        file.content.len = strlen((char *) file.content.data);
        change.id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)};
        change.verb = ARGOSY__VERB__VERB_START;
        change.names = &name;
        change.n_names = 1;
        change.files = &files;
        change.n_files = 1;
        (void) rig_ask(&large.rig, &request);
        large_cluster_turns(TURNS);
        report_all_of(HOST, ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, ARGOSY__OUTCOME__KIND__FAILED);
        large_cluster_turns(TURNS);
}

static void units_flap(void) {
        report_all_of(HOST, ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING, 0);
        large_cluster_turns(TURNS);
        report_all_of(HOST, ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE, 0);
        large_cluster_turns(TURNS);
}

// Of what it was to hold, and has lost: what it holds is its own.
static void name_is_refused(void) {
        virtual_host_forget(&rig_host(&large.rig, HOST)->virtual);
        rig_host(&large.rig, HOST)->refuses = true;
        attach_anew();
}

// All that it has refused.
static void names_are_admitted(void) {
        char *names[1024];

        name_is_refused();
        rig_host(&large.rig, HOST)->refuses = false;
        Argosy__ToVoter__Admits m = MESSAGE_OF(
                to_voter__admits, .node = rig_host(&large.rig, HOST)->virtual.node, .units = names);
        list_foreach (i, &large.rig.leader->excluded)
                if (m.n_units < ELEMENTSOF(names))
                        names[m.n_units++] = CONTAINER_OF(i, UnitWork, excluded)->unit->name;
        assert_true(m.n_units > 0);
        send_message(HOST, ARGOSY__TO_VOTER__MSG_ADMITS, &m);
}

static void node_is_down(void) {
        Argosy__NodeReport node = MESSAGE_OF(node_report, .manager = (char *) "system",
                                             .reason = (char *) "it does not answer"),
                           *nodes = &node;
        Argosy__ToVoter__NodeReports m = MESSAGE_OF(to_voter__node_reports, .nodes = &nodes, .n_nodes = 1);

        send_message(HOST, ARGOSY__TO_VOTER__MSG_NODE_REPORTS, &m);
        node.reason = (char *) "";
        send_message(HOST, ARGOSY__TO_VOTER__MSG_NODE_REPORTS, &m);
}

static void fleet_units(void) {
        Argosy__FleetUnits units = ARGOSY__FLEET_UNITS__INIT;

        for (uint32_t i = HOST; i < HOST + 3; i++) {
                units.directory = (char *) "/run/fleet/units";
                units.units = large.big;
                units.n_units = 300;
                send_message(i, ARGOSY__TO_VOTER__MSG_FLEET_UNITS, &units);
        }
}

static void file_ask(void) {
        Hash hash = hash_of(BIG, strlen(BIG));
        Argosy__ToVoter__FileAsk m = FILE_ASK_OF(.hash = (ProtobufCBinaryData){HASH_SIZE, hash.bytes});

        for (unsigned i = 0; i < 3; i++)
                send_message(HOST + i, ARGOSY__TO_VOTER__MSG_FILE_ASK, &m);
}

// ---- requests of another host

static void forward(void) {
        Argosy__Request *q = malloc(sizeof(*q));
        Argosy__Author *author = malloc(sizeof(*author));
        Argosy__Request__ListUnits *list = malloc(sizeof(*list));

        argosy__request__init(q);
        argosy__author__init(author);
        argosy__request__list_units__init(list);
        author->host = HOST;
        author->owner = true;
        list->parts = true;
        q->what_case = ARGOSY__REQUEST__WHAT_LIST_UNITS;
        q->list_units = list;
        Argosy__ToVoter__Forward m = MESSAGE_OF(to_voter__forward, .id = 1, .request = q, .author = author);
        send_message(HOST, ARGOSY__TO_VOTER__MSG_FORWARD, &m);
}

static void forward_and_cancel(void) {
        Argosy__ToVoter__ForwardCancel m = MESSAGE_OF(to_voter__forward_cancel, .id = 1);

        forward();
        send_message(HOST, ARGOSY__TO_VOTER__MSG_FORWARD_CANCEL, &m);
}

static void forward_taken(void) {
        Argosy__ToVoter__ForwardTaken m = MESSAGE_OF(to_voter__forward_taken, .id = 1, .mark = 1);

        send_message(HOST, ARGOSY__TO_VOTER__MSG_FORWARD_TAKEN, &m);
}

static void call_reply(void) {
        Argosy__Response response = RESPONSE_WITH(.final = true);
        Argosy__ToVoter__CallReply m = MESSAGE_OF(to_voter__call_reply, .id = 1, .response = &response);

        send_message(HOST, ARGOSY__TO_VOTER__MSG_CALL_REPLY, &m);
}

// ---- members

static void store_opened(void) {
        Argosy__ToVoter__StoreOpened m = STORE_OPENED_OF(.raft_id = 99);

        send_message(HOST, ARGOSY__TO_VOTER__MSG_STORE_OPENED, &m);
}

static void renew(void) {
        static uint8_t csr[16];
        Argosy__ToVoter__Renew m =
                MESSAGE_OF(to_voter__renew, .csr = (ProtobufCBinaryData){sizeof(csr), csr});

        send_message(HOST, ARGOSY__TO_VOTER__MSG_RENEW, &m);
}

// All hosts have another CA than the log has, as after a recovery.
static void hosts_have_another_ca(void) {
        static uint8_t hash[HASH_SIZE] = {1};
        Argosy__ToVoter__Certified m =
                MESSAGE_OF(to_voter__certified, .ca_hash = (ProtobufCBinaryData){HASH_SIZE, hash});

        for (uint32_t host = 1; host <= large.n_hosts; host++)
                send_message(host, ARGOSY__TO_VOTER__MSG_CERTIFIED, &m);
}

static void voter_secrets_kept(void) {
        Argosy__ToVoter__VoterSecretsKept__Kept rows[VOTER_SECRETS_MAX], *pointers[VOTER_SECRETS_MAX];

        for (size_t i = 0; i < VOTER_SECRETS_MAX; i++) {
                rows[i] = (Argosy__ToVoter__VoterSecretsKept__Kept) MESSAGE_OF(
                        to_voter__voter_secrets_kept__kept, .name = (char *) VOTER_SECRET_CA,
                        .number = (uint32_t) i + 2);
                pointers[i] = &rows[i];
        }
        Argosy__ToVoter__VoterSecretsKept m =
                MESSAGE_OF(to_voter__voter_secrets_kept, .raft_id = 1, .secrets = pointers,
                           .n_secrets = VOTER_SECRETS_MAX);
        // the leader itself has lost its key, it says
        send_message(1, ARGOSY__TO_VOTER__MSG_VOTER_SECRETS_KEPT, &m);
}

static void host_joins(void) {
        _cleanup_(batch_done) Batch b = {};

        batch_host(&b, 0, "newcomer", 1)->port = 7070;
        rig_add_host(&large.rig, true, rig_host(&large.rig, 1)->feature_level);
        rig_propose(&large.rig, &b);
        large_cluster_turns(TURNS);
}

// With units of fleet's on hosts that were there before.
static void host_joins_beside_fleet(void) {
        fleet_units();
        host_joins();
}

// ---- losses

static void one_host_is_lost(void) {
        lose(HOST, 1);
}

static void host_of_thousands_is_lost(void) {
        attach_with_thousands();
        lose(HOST, 1);
}

// Every wait is judged again.
static void host_is_lost_while_all_wait(void) {
        static Argosy__Request__Wait__Item items[NAMES_MAX], *pointers[NAMES_MAX];
        Argosy__Request__Wait m = ARGOSY__REQUEST__WAIT__INIT;
        Argosy__Request request = REQUEST_OF(WAIT, wait, &m);

        for (size_t i = 0; i < NAMES_MAX; i++) {
                pointers[i] = &items[i];
                argosy__request__wait__item__init(pointers[i]);
                items[i].name = large.big[i];
        }
        m.items = pointers;
        m.n_items = NAMES_MAX;
        m.goal = ARGOSY__UNIT_GOAL__GOAL_INACTIVE;
        for (unsigned i = 0; i < LEADER_LIMIT_wait_items / NAMES_MAX; i++) {
                (void) rig_ask(&large.rig, &request);
                large_cluster_turns(UINT_MAX);
        }
        lose(HOST, 1);
}

static void many_hosts_are_lost(void) {
        lose(HOST, MANY);
}

static void half_of_the_hosts_are_lost(void) {
        lose(large.n_hosts / 2 + 1, large.n_hosts / 2);
}

static void hosts_come_back(void) {
        lose(HOST, MANY);
        for (uint32_t i = HOST; i < HOST + MANY; i++)
                come_back(i, false);
        large_cluster_turns(UINT_MAX);
}

static void host_starts_anew(void) {
        come_back(HOST, true);
        large_cluster_turns(UINT_MAX);
}

static void depose_and_elect(void) {
        rig_depose(&large.rig);
        large_cluster_elect();
}

static void leader_is_lost(void) {
        depose_and_elect();
}

// ---- looks that take longer than is known of any

// a whole slice of them takes four times as long as a turn may
enum { SLOW_LOOKS = 3000, SLOW_LOOK_NS = 170000 };

static unsigned slow_looks;

UnitEntry *__real_cluster_state_walk_next(ClusterState *s);
UnitEntry *__wrap_cluster_state_walk_next(ClusterState *s);
UnitEntry *__wrap_cluster_state_walk_next(ClusterState *s) {
        uint64_t began = clock_thread_ns();

        if (slow_looks > 0) {
                slow_looks--;
                while (clock_thread_ns() - began < SLOW_LOOK_NS)
                        ;
        }
        return __real_cluster_state_walk_next(s);
}

// The next one would lose its lead by that, too, if it did as much in its first turns.
static void leader_is_lost_for_slow_looks(void) {
        large.rig.measured = true;
        slow_looks = SLOW_LOOKS;
        depose_and_elect();
}

static RigAnswer *begin_start(unsigned start_ms) {
        uint64_t id[2] = {++large.rig.id, 55};

        large.rig.start_ms = start_ms;
        Argosy__NamedFile file = MESSAGE_OF(named_file, .name = (char *) "new@.service",
                                            .path = (char *) "new@.service",
                                            .content = (ProtobufCBinaryData){.data = (uint8_t *) BIG,
                                                                             .len = strlen(BIG)}),
                          *files = &file;
        Argosy__Request__Change change = MESSAGE_OF(
                request__change, .id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)},
                .verb = ARGOSY__VERB__VERB_START, .names = large.fresh, .n_names = NAMES_MAX,
                .files = &files, .n_files = 1);
        return rig_ask(&large.rig, A_REQUEST(CHANGE, change, &change));
}

static void leader_is_lost_with_open_jobs(void) {
        (void) begin_start(60000);
        large_cluster_turns(600);
        depose_and_elect();
}

// All but a few units of one that runs are another one's by now, which runs as well.
static void leader_is_lost_with_jobs_that_overlap(void) {
        enum { LEFT = 100 };
        uint64_t id[2] = {++large.rig.id, 56};

        (void) begin_start(60000);
        large_cluster_turns(600);
        large.rig.stop_ms = 60000;
        Argosy__Request__Change change = MESSAGE_OF(
                request__change, .id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)},
                .verb = ARGOSY__VERB__VERB_STOP, .names = large.fresh + LEFT, .n_names = NAMES_MAX - LEFT);
        (void) rig_ask(&large.rig, A_REQUEST(CHANGE, change, &change));
        large_cluster_turns(600);
        assert_int_equal(large.rig.leader->open_jobs.count, 2);
        depose_and_elect();
        assert_int_equal(large.rig.leader->open_jobs.count, 2);
}

static void leader_is_lost_in_a_large_request(void) {
        (void) begin_start(0);
        large_cluster_turns(20);
        depose_and_elect();
        large_cluster_turns(UINT_MAX);
}

static void begin_update(unsigned max) {
        Argosy__NamedFile file = NAMED_FILE_OF(
                .name = (char *) "big@.service",
                .content = (ProtobufCBinaryData){.data = (uint8_t *) BIG_NEXT, .len = strlen(BIG_NEXT)});
        uint64_t id[2] = {++large.rig.id, 77};
        Argosy__Request__Rollout m =
                ROLLOUT_OF(.id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)},
                           .kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE, .name = (char *) "big@.service",
                           .file = &file, .max_unavailable = max);

        (void) rig_ask(&large.rig, A_REQUEST(ROLLOUT, rollout, &m));
        large_cluster_turns(100);
}

static void leader_is_lost_in_an_update(void) {
        begin_update(0);
        rig_depose(&large.rig);
        store_memory_lead(large.rig.store, true);
        while (!large.rig.led)
                rig_loop_turn(&large.rig);
        large_cluster_turns(TURNS);
}

static void host_is_lost_in_an_update(void) {
        begin_update(1);
        rig_host_off(&large.rig, HOST);
        large_cluster_pass_ms(RIG_LEASE_MS + 1000);
}

static void units_fail_in_an_update(void) {
        begin_update(1);
        units_fail();
}

#define MESSAGE(what, f) \
        { ARGOSY__TO_VOTER__MSG_##what, #f, f }
#define LOSS(f) \
        { 0, #f, f }

const TurnCase message_cases[] = {
        MESSAGE(HELLO, hello),
        MESSAGE(ATTACH, attach_anew),
        MESSAGE(ATTACH, attach_with_thousands),
        MESSAGE(ATTACH, host_of_thousands_has_another_name),
        MESSAGE(ATTACH_PART, attach_in_parts),
        MESSAGE(BEAT, beat),
        MESSAGE(GOODBYE, goodbye),
        MESSAGE(GOODBYE, goodbye_and_nothing_is_known),
        MESSAGE(FORWARD, forward),
        MESSAGE(FORWARD_CANCEL, forward_and_cancel),
        MESSAGE(REPORTS, units_fail),
        MESSAGE(REPORTS, units_flap),
        MESSAGE(REPORTS, unit_waits_for_those_it_replaces),
        MESSAGE(REPORTS, name_is_refused),
        MESSAGE(REPORTS, units_fail_in_an_update),
        MESSAGE(CALL_REPLY, call_reply),
        MESSAGE(STORE_OPENED, store_opened),
        MESSAGE(RENEW, renew),
        MESSAGE(VOTER_SECRETS_KEPT, voter_secrets_kept),
        MESSAGE(CERTIFIED, hosts_have_another_ca),
        MESSAGE(NODE_REPORTS, node_is_down),
        MESSAGE(FORWARD_TAKEN, forward_taken),
        MESSAGE(FLEET_UNITS, fleet_units),
        MESSAGE(FILE_ASK, file_ask),
        MESSAGE(ADMITS, names_are_admitted),
};
const size_t n_message_cases = ELEMENTSOF(message_cases);

const TurnCase loss_cases[] = {
        LOSS(host_joins),
        LOSS(host_joins_beside_fleet),
        LOSS(one_host_is_lost),
        LOSS(host_of_thousands_is_lost),
        LOSS(host_is_lost_while_all_wait),
        LOSS(many_hosts_are_lost),
        LOSS(half_of_the_hosts_are_lost),
        LOSS(hosts_come_back),
        LOSS(host_starts_anew),
        LOSS(host_is_lost_in_an_update),
        LOSS(leader_is_lost),
        LOSS(leader_is_lost_for_slow_looks),
        LOSS(leader_is_lost_with_open_jobs),
        LOSS(leader_is_lost_with_jobs_that_overlap),
        LOSS(leader_is_lost_in_a_large_request),
        LOSS(leader_is_lost_in_an_update),
};
const size_t n_loss_cases = ELEMENTSOF(loss_cases);
