// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A leader with everything around it in one process: the log in memory, a clock that only tests move, and
// hosts that are virtual (virtual-host.h). A host obeys orders at once, as an agent would once systemd is
// done; tests can make it silent, deaf, forgetful or refusing.
//
// What the leader must never say to a host fails the test. So does the start of a unit that runs on another
// host, unless the leader called that one lost.

#include "accounts.h"
#include "buf.h"
#include "leader.h"
#include "virtual-host.h"

enum { RIG_HOSTS_MAX = 16384, RIG_LEASE_MS = 4000, RIG_BEAT_MS = 1000 };

typedef struct Rig Rig;
struct Batch;

struct Ca;

typedef struct RigHost {
        Rig *rig;
        VirtualHost virtual;
        uint32_t number;
        bool up; // beats and obeys
        bool linked, was_linked;
        bool deaf;                    // beats, but takes and says nothing
        const char *name;             // its own; NULL: as its record has it
        Argosy__Label label, *labels; // its own; NULL: as its record has them
        const char *podman;           // label of that name besides; NULL: none
        Argosy__Label podman_label, *with_podman[16];
        Argosy__Label **many_labels;  // instead; the test's
        size_t n_many_labels;
        const char *address_name; // Address=, if that is a name; NULL: none
        // of its wall clock, of Rig.wall_us; that of host 1 is what the leader sees as its own
        int64_t clock_ahead_us;
        bool attached;            // sent Attach in this session
        uint64_t attached_us;     // when
        bool lazy;                // obeys, but reports nothing until told to (rig_host_report)
        bool sound;               // units with Rig.bad run here
        bool refuses;             // every name belongs to somebody else here
        const char *const *others; // names that belong to somebody else here, behind the last NULL; NULL:
                                   // none
        bool mute;                // does not answer questions about names, images and files
        bool lies;                // says what its key allows, whatever is true: nothing that follows from
                                  // its words is held against the leader
        bool fetch_hangs;         // takes no pieces of files
        bool delayed;             // what it says is on its way until it is not
        Argosy__ToVoter **outbox; // that
        size_t n_outbox;
        bool attaches;            // an Attach is among it
        const char *reason;       // why its second manager cannot be used, told with the next Attach; NULL:
                                  // it can
        char *managers[2];        // of an Attach
        Argosy__NodeReport report, *reports;
        uint32_t cpu_milli, memory_mib; // that it offers; 0: it does not say
        bool full; // takes no more; rig_host_drain()
        Argosy__ToHost **inbox;
        size_t n_inbox;
        Buf renewed;         // certificate
        bool disk_hangs;     // it is asked to open a log, and nothing follows
        unsigned opens;      // StoreOpen messages
        uint32_t asked_open; // raft id of the last of them
        uint32_t opened;  // raft id of the StoreOpen that it obeyed
        uint32_t raft_id; // that it opened last, closed or not
        bool closed, removed;
        unsigned calls; // Call messages
        uint64_t last_call;
        uint32_t window;  // of the last call for a journal
        uint64_t taken;   // mark of the last CallTaken, for that call
        unsigned n_taken; // CallTaken messages
        uint32_t feature_level; // that its Hello names; 0: none
} RigHost;

typedef struct RigAnswer { // of one request
        Rig *rig;
        Argosy__Response **responses;
        size_t n;
        char awaits[256]; // the newest, which is none of the responses; "": none
        unsigned n_awaits;
        bool final;
        Argosy__Request *lent; // to the leader, of a Wait; NULL: none, or not any more
        uint64_t cancel;
        int error; // of leader_request() itself
} RigAnswer;

struct Rig {
        uv_loop_t loop;
        Accounts *accounts;
        ClusterState *state;
        Store *store;
        Leader *leader;
        bool led; // the store's view
        uint64_t term; // likewise, when that was said last
        bool recovers; // the log has still to be told so, and the leader does not lead before
        uint64_t led_since_us; // when it was elected last
        uint64_t now_us, wall_us;
        uint64_t cpu_us, turn_us; // CPU time as the leader sees it, and what each of its turns takes of that
        bool measured;            // or it is the kernel's
        bool timed; // hosts say when their units changed, and until when they have told it; each on a clock
                    // of its own
        size_t batch_max;  // bytes that the log takes; 0: as many as it does
        size_t frame_max;  // bytes of a message to a host; 0: any number
        Hash bad;          // units with this content fail
        bool (*is_bad)(const Hash *spec); // or with one of these; NULL: none
        bool (*is_oneshot)(const Hash *spec); // whose failure is the end of their run; NULL: none
        unsigned stop_ms;  // same for a stop by an order that is no removal
        unsigned n_states; // state changes of units, all together
        unsigned start_ms; // how long a restart takes, while rig_pass_ms() lets time pass
        RigHost *hosts; // room for RIG_HOSTS_MAX
        size_t n_hosts;
        unsigned lease_ms, beat_ms;
        // what is true of all hosts and units is not looked for after each turn: they are too many
        bool unchecked;
        bool steps_checked; // when all is settled two turns more have nothing to do, or both have
        uint64_t id; // of the last Change
        ProtobufCBinaryData *sent; // files that come with unit files which are handed in
        size_t n_sent;
        const Argosy__Author *author; // who asks; NULL: the leader's host
        // what is said of a part of a Change stays a response of its own; else they are joined, as clients
        // do
        bool parts_apart;
        // What the leader did to the log's membership.
        StoreMember members[STORE_MEMBERS_MAX];
        size_t n_members;
        const struct VoterSecrets *secrets; // of the leader's host; NULL: none, and it cannot sign
        StoreMemberDone member_done;     // to be called in the next turn
        void *member_data;
        uint32_t transferred;
        bool lags;               // no member has caught up
        uint32_t members_silent; // raft id of one whose log does not answer, although its session lives
        unsigned batches;        // committed
        bool inspects;           // it looks at the leader's tables itself, which does not count as the
                                 // leader's work
        void (*on_turn_begin)(Rig *g); // before each turn; NULL: nobody looks
        void (*on_turn)(Rig *g); // after each turn; NULL: nobody looks
        // an entry of the log is in the state, and the leader has not heard of it; NULL: nobody looks
        void (*on_entry)(Rig *g);
        const uint8_t *entry;     // it, as long as that lasts
        size_t entry_len;
        uint64_t entry_index;
        // the leader has decided an entry, and gives it to the log; NULL: nobody looks
        void (*on_submit)(Rig *g);
        // What the registry tells a host of an image, as VirtualHostOps.image; NULL: of each image the same
        // for all time.
        const char *(*registry)(Rig *g, uint32_t host, const char *image, const char **ret_why,
                                bool *ret_here);
        // likewise, as VirtualHostOps.pull; NULL: each host has all images
        const char *(*pull)(Rig *g, uint32_t host, const char *image);
        // the test keeps the pool busy: what the leader has given it is not waited for
        bool pool_held;
        void (*on_closing)(Rig *g); // the leader has begun to close; NULL: nobody looks
        // What the leader tells a host, and what that one says, besides; NULL: nobody listens.
        void (*on_host_message)(Rig *g, uint32_t host, const Argosy__ToHost *m);
        void (*on_voter_message)(Rig *g, uint32_t host, const Argosy__ToVoter *m);
        // each response; NULL: nobody looks
        void (*on_answer)(Rig *g, const RigAnswer *a, const Argosy__Response *r);
        // The log takes its time: what the leader gives it stays here until rig_release().
        bool slow;
        struct RigHeld {
                Buf batch;
                bool barrier;
                StoreDone done;
                void *data;
        } held[8];
        size_t n_held;
};

typedef struct RigSetup {
        size_t n_hosts;
        uint32_t feature_level;     // 0: FEATURE_LEVEL
        bool unchecked;
        unsigned lease_ms;          // 0: RIG_LEASE_MS; four beats
        unsigned mass_loss_percent; // 0: 100
        const LeaderLimits *limits; // NULL: the usual ones
        size_t events_bytes;        // 0: as many as usual
} RigSetup;

void rig_start_with(Rig *g, RigSetup setup);
// All hosts up, attached and welcomed; host 1 is the leader's. All of them, and the log, at FEATURE_LEVEL or
// at another one.
void rig_start(Rig *g, size_t n_hosts);
void rig_start_at(Rig *g, size_t n_hosts, uint32_t feature_level);
// The same with thousands of hosts, and `unchecked`.
void rig_start_many(Rig *g, size_t n_hosts);
void rig_stop(Rig *g);
// The rig `g` of a program, and setup() and teardown(), between which each test has one of so many hosts.
#define RIG_OF(n_hosts)                       \
        static Rig g;                         \
                                              \
        static int setup(void **state) {      \
                rig_start(&g, (n_hosts));     \
                return 0;                     \
        }                                     \
                                              \
        RIG_TEARDOWN
#define RIG_TEARDOWN                          \
        static int teardown(void **state) {   \
                rig_stop(&g);                 \
                return 0;                     \
        }
#define RIG_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
// The cluster has that CA, and its key is the first secret of the voters; `secrets` are the leader's, and it
// can sign from now on.
void rig_give_ca(Rig *g, const struct Ca *ca, struct VoterSecrets *secrets);
// The same with a key for units' secrets, made of its number.
void rig_give_secrets_key(Rig *g, struct VoterSecrets *secrets, uint32_t number);
// One host more, which the log knows by the next number.
void rig_add_host(Rig *g, bool up, uint32_t feature_level);
// An entry that nobody asked for.
void rig_propose(Rig *g, struct Batch *b);
// One turn of the loop and of every host. Says whether anything happened.
bool rig_turn(Rig *g);
void rig_turns(Rig *g, unsigned n);
// Hands to the log what waits for it.
void rig_release(Rig *g);
void rig_hurry(Rig *g); // the log takes no time any more, and has what waits for it
// Lets everything happen that happens without time passing.
void rig_settle(Rig *g);
// All clocks are set, and the leader is told.
void rig_set_wall(Rig *g, uint64_t wall_us);
// As if so much had passed by all clocks, and nobody had to be heard meanwhile.
void rig_age(Rig *g, uint64_t us);
// Lets time pass; hosts that are up beat.
void rig_pass_ms(Rig *g, unsigned ms);

// Power off and on; `forget`: its units do not survive (a reboot).
void rig_host_off(Rig *g, uint32_t host);
void rig_host_off_for(Rig *g, uint32_t host, unsigned ms); // and so much time passes
// Hosts obey and say nothing of it; or they take nothing. When they are not so any more, all settles.
void rig_set_lazy(Rig *g, bool lazy);
void rig_set_deaf(Rig *g, bool deaf);
void rig_host_on(Rig *g, uint32_t host, bool forget);
void rig_host_drain(Rig *g, uint32_t host); // a full one takes more again
void rig_host_goodbye(Rig *g, uint32_t host);
// Its last word: nothing runs there any more.
void rig_host_last_word(Rig *g, uint32_t host);
// Says that now, whatever is true and whatever it has said. `m`: from the heap, ours from now on.
void rig_host_lie(Rig *g, uint32_t host, Argosy__ToVoter *m);
// Its disk goes on: the log that it was asked for last is open. For rig_settle().
void rig_host_open_log(Rig *g, uint32_t host);
// A second manager, or with NULL none any more; attaches anew.
void rig_host_set_manager(Rig *g, uint32_t host, const char *manager);
// What the host says of it in the middle of a session.
void rig_host_send_reason(Rig *g, uint32_t host, const char *reason);
void rig_host_set_labels(Rig *g, uint32_t host, const char *key, const char *value);
void rig_host_report(Rig *g, RigHost *h, VirtualUnit *u, Argosy__ActiveState active,
                     Argosy__Outcome__Kind outcome);
RigHost *rig_host(Rig *g, uint32_t host);
VirtualUnit *rig_unit_on(Rig *g, uint32_t host, const char *name); // NULL: not held
unsigned rig_count_running(Rig *g, const char *name);          // hosts that are up and run it

// The leader loses and regains leadership; every host attaches again.
void rig_depose(Rig *g);
void rig_elect(Rig *g);
void rig_elect_anew(Rig *g); // both
// While nobody leads: who leads next has that LeaseSec=.
void rig_set_lease(Rig *g, unsigned lease_ms);
// As rig_elect(), when most voters were lost for ever, and the leader's host is the cluster's only voter.
void rig_elect_recovered(Rig *g);
// As rig_depose(), while the log takes its time: the leader never hears what became of the entry that waits
// here, which is in the log (`kept`), or is not.
void rig_depose_unknown(Rig *g, bool kept);

// What the functions of these names do, and then everything happens that happens without time passing.
void rig_hurry_and_settle(Rig *g);
void rig_host_report_and_settle(Rig *g, RigHost *h, VirtualUnit *u, Argosy__ActiveState active,
                                Argosy__Outcome__Kind outcome);

// The newest job that somebody asked for, and not what the cluster did by itself; whether one is that. 0:
// none.
uint64_t rig_last_job(const Rig *g);
bool rig_job_is_own(const Rig *g, uint64_t number);

RigAnswer *rig_ask(Rig *g, const Argosy__Request *request);
const Argosy__Response__Change *rig_change_answered(const RigAnswer *a); // whole, and not refused
void rig_cancel(Rig *g, RigAnswer *a);
// A Change about one unit; `content` NULL: no file. Settles, and returns the result; kept until the rig is
// stopped.
const Argosy__Response__UnitResult *rig_change(Rig *g, Argosy__Verb verb, const char *name,
                                               const char *content);
RigAnswer *rig_change_with(Rig *g, Argosy__Verb verb, const char *name, const char *content, bool replace,
                           const uint8_t id[16]);
RigAnswer *rig_change_with_and_settle(Rig *g, Argosy__Verb verb, const char *name, const char *content,
                                      bool replace, const uint8_t id[16]);
RigAnswer *rig_wait(Rig *g, Argosy__Verb verb, const char *name, uint64_t revision);
const Argosy__UnitRecord *rig_record(Rig *g, const char *name); // NULL: none
bool rig_has_content(Rig *g, const char *name, const char *content); // by its record
const char *rig_node_name(Rig *g, const char *name);             // where it is said to run; "": nowhere
uint32_t rig_host_of(Rig *g, const char *name); // the host of its node; 0: it has none, or there is no such
                                                // unit
// "UNIT NODE LOAD ACTIVE SUB" of every row of list-units, one a line; valid until the next call.
const char *rig_list_units(Rig *g);
const char *rig_list_units_matching(Rig *g, const char *const *patterns, size_t n);
