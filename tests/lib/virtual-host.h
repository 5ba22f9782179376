// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A host of a cluster without a machine: it sends what an agent sends to the leader, and does with its
// orders what an agent does with them, but no systemd carries them out. A state machine: messages and time
// go in, messages come out; sockets, clocks and chance belong to whoever drives it. Three do:
//
//      leader-rig-host.c            a leader alone, messages handed over as they are, a clock that only
//                                   tests move
//      ../sim/virtual-hosts.c       a process with thousands of them, at a real cluster, by the mesh
//      ../sim/test-virtual-host.c   the test of this file, which is the leader itself
//
// Who drives it by time and messages needs these:
//
//      virtual_host_on_leader()     a leader can be talked to, or none can       -> Attach
//      virtual_host_on_message()    the leader has sent something                -> units change, Reports,
//                                   CallReply
//      virtual_host_on_time()       it is virtual_host_next_us(), or later       -> starts and stops end,
//                                   Beats, Attach again
//
// Who wants to say himself when what is sent uses the steps below these instead. Everything is sent from
// inside a call, by VirtualHostOps.send().
//
// A start takes as long as VirtualHostOps says, and fails if it says so; a stop likewise; a removal is done
// at once. A unit never changes by itself: virtual_host_report() is what happens to it. It has no one-shots,
// keeps no log, and forgets everything only when it is told to (virtual_host_forget()). A real agent that
// hears the same must come to the same answers: ../unit/leader/test-rig-agent.c.

#include "argosy.pb-c.h"
#include "deadline-heap.h"
#include "hash.h"
#include "list.h"
#include "map.h"

enum {
        VIRTUAL_REPORTS_PER_MESSAGE = 256,
        VIRTUAL_BEATS_KEPT = 16,      // whose acknowledgement still counts
        VIRTUAL_QUIET_BEATS = 2,      // that need no answer, in a row
        VIRTUAL_ATTACH_RETRY_MS = 2000, // without an answer
        VIRTUAL_WALL_BEATS = 16,        // of which one says what its wall clock is
};

typedef struct VirtualOrder { // what it was told last to do with one unit
        uint64_t revision, start_rev, restart_rev;
        Hash spec;
        uint32_t node;
        Argosy__Target target;
        Argosy__Outcome__Kind outcome;
        bool stay;
} VirtualOrder;

typedef struct VirtualUnit {
        VirtualOrder order;
        Deadline ending;   // of the start or stop that is under way
        ListNode awaits;   // in VirtualHost.awaiting, while files of its content are on their way
        VirtualOrder before; // the one that it goes by meanwhile
        ListNode due;      // to be told: in VirtualHost.changed, or in .final_reports, which then owns it
        uint64_t answered; // while one is under way: revision that it has finished acting on
        // when its state changed last, by the wall clock and by that of now_us()
        uint64_t since_us, changed_us;
        unsigned starts, restarts;     // restarts: also those that new content made
        Argosy__ActiveState active;
        Argosy__Outcome__Kind
                // how its run has ended for good: told with each report and Attach; NONE: it has not
                outcome;
        bool ordered;                  // there was an order
        bool stays;                    // `answered` is an order to stay
        bool stopping;                 // what is under way is a stop
        bool named;                    // by the Welcome, or a part of it
        bool gone, refused;            // its last word
        Argosy__Probation probation;   // what is said of its start
        uint32_t n_restarts, failed_restarts; // systemd's own, as they are told
        bool looping;
        bool drift;                    // while it is down: somebody else stopped it
        bool given_up;                 // whoever drives the host may note that this unit may be started
                                       // elsewhere
        char name[];
} VirtualUnit;

typedef struct VirtualHostOps {
        // The clock of its machine, which stands still for nobody, and the one that people read. The second
        // one is asked whenever a unit's state changes.
        uint64_t (*now_us)(void *userdata);
        uint64_t (*wall_us)(void *userdata);
        uint64_t (*clock_us)(void *userdata); // what it says its wall clock is; NULL: nothing
        // What its messages call that time of now_us(), in milliseconds; 0: they say nothing of it.
        uint64_t (*reported_ms)(uint64_t at_us, void *userdata);
        // A message to the leader, to be looked at during the call. Negative errno: it was not taken;
        // reports are sent again later.
        int (*send)(Argosy__ToVoter *message, void *userdata);
        // What the Attach says of the host itself; what it holds is filled in.
        void (*attaching)(Argosy__ToVoter__Attach *ret, void *userdata);
        // Who else has that name on the host, in words; NULL: nobody.
        const char *(*foreign)(const char *name, void *userdata);
        // What its registry says of an image: the digest, or NULL and why it has none; *ret_here: the host
        // cannot ask. NULL: of each image the same digest for all time.
        const char *(*image)(const char *image, const char **ret_why, bool *ret_here, void *userdata);
        // Why it cannot have an image that it is asked to pull; NULL: it has it. NULL: so has it all.
        const char *(*pull)(const char *image, void *userdata);
        // A start, or a stop, begins: how long will it take? 0: it is done at once.
        uint64_t (*takes_us)(VirtualUnit *u, bool stop, void *userdata);
        // A start comes to its end: badly?
        bool (*fails)(const VirtualUnit *u, void *userdata);
        // If so: is that the end of its run, as of a one-shot? NULL: it is not.
        bool (*ends)(const VirtualUnit *u, void *userdata);
        // The leader has ordered what no agent could carry out, or what is older than what it has ordered
        // before. It was left undone.
        void (*violation)(const char *why, void *userdata);
} VirtualHostOps;

// Zero but for ops, userdata and node it is a host that nobody has talked to; the lists need
// virtual_host_init().
typedef struct VirtualHost {
        const VirtualHostOps *ops;
        void *userdata;
        uint32_t node;          // of its own systemd
        const char *manager;    // that it has besides; NULL: none
        uint32_t manager_node;  // its number, once the leader has told it
        bool manager_news;      // which it just has

        Map units;         // VirtualUnit by name
        Map contents;      // VirtualContent by hash: what it was sent in this session
        Map files;         // VirtualFile by hash: what it has, and what is on its way
        ListNode fetches, awaiting; // of these, what is not here yet; units that wait for it
        DeadlineHeap ends; // of units whose start or stop is under way
        ListNode changed, final_reports; // VirtualUnit.due

        uint64_t seq;                     // of the last Attach
        uint64_t generation, term, index; // the newest that it obeyed
        // its units that are up have still to live long enough, until virtual_host_say_lived()
        bool on_probation;
        bool led;                         // there is somebody to talk to
        bool welcomed;
        unsigned parts; // of the Welcome that is coming
        uint64_t attach_due_us, attach_sent_us, beat_due_us; // 0: not
        uint64_t beat_ms, lease_ms;                          // as the Welcome says
        uint64_t lease_from_us;                              // when it sent what the leader has acknowledged
                                                             // last
        uint64_t beat_seq, last_ack;
        unsigned n_quiet; // beats in a row that needed no answer
        bool unanswered;  // the last one needs one
        bool watches;     // each needs one
        uint64_t beats_sent_us[VIRTUAL_BEATS_KEPT];

        // For whoever looks.
        uint64_t n_orders, n_reports;
        uint64_t n_files;      // that have come whole
        unsigned late_acks;    // of beats, that took longer than it is to the next beat
        unsigned welcomes, acks;
        unsigned all_parts; // that ever came
        unsigned specs_received;
        size_t n_active;    // of its units
} VirtualHost;

void virtual_host_init(VirtualHost *h, const VirtualHostOps *ops, void *userdata);
void virtual_host_done(VirtualHost *h);

// A leader can be talked to from now on, another one or the same anew: nothing that was sent to it before
// counts. Or none can.
void virtual_host_on_leader(VirtualHost *h, bool led);
void virtual_host_on_message(VirtualHost *h, const Argosy__ToHost *m);
void virtual_host_on_time(VirtualHost *h);
uint64_t virtual_host_next_us(const VirtualHost *h); // UINT64_MAX: nothing will be due by itself

// ---- the steps

void virtual_host_attach(VirtualHost *h); // the session begins anew
// What is gone or refused, and then what else has changed.
void virtual_host_send_final_reports(VirtualHost *h);
void virtual_host_send_reports(VirtualHost *h);
// of all processes that began until now; negative errno: it was not taken
int virtual_host_say_lived(VirtualHost *h);
void virtual_host_end_due(VirtualHost *h);          // starts and stops whose time has come
void virtual_host_beat(VirtualHost *h, bool told);  // told: nothing that has happened until now is untold
// `stopping`: its systemd has begun to shut down. Else, the last word: nothing runs any more.
void virtual_host_goodbye(VirtualHost *h, bool stopping);

// ---- what happens to it, besides

// All units are gone, and nobody is told: the machine has started anew.
void virtual_host_forget(VirtualHost *h);
// A unit is in another state, whatever was under way; told at once, with how it ended for good if it did.
void virtual_host_report(VirtualHost *h, VirtualUnit *u, Argosy__ActiveState active,
                         Argosy__Outcome__Kind outcome);
// The same, told with the next reports, or with an Attach.
void virtual_host_end(VirtualHost *h, VirtualUnit *u, Argosy__ActiveState active,
                      Argosy__Outcome__Kind outcome);
// systemd has restarted it by itself, for its failure or not; told with the next reports, or with an Attach.
void virtual_host_restart(VirtualHost *h, VirtualUnit *u, bool failed, bool looping);
// What is under way with it is over.
void virtual_host_settle(VirtualHost *h, VirtualUnit *u);
VirtualUnit *virtual_host_find(const VirtualHost *h, const char *name); // NULL: not held
bool virtual_host_has_file(const VirtualHost *h, const Hash *hash);     // whole
