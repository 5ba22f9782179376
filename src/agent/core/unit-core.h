// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What a unit of this host is; what may be done with it stands in agent-unit.h. A node may hold ten thousand
// of them, and almost all of them are at rest: loaded or running as the leader wants it, with nothing to be
// done and nothing to be told. So there are two objects:
//
//   AgentUnit      as long as the unit is known. What a unit at rest costs: 216 bytes and its name, in one
//                  chunk of 240 for a name of up to 23. Of these, 80 are systemd's side (SystemdUnit), 64
//                  what the ledger has (AgentHeld), 32 for being told that something has happened. That last
//                  part must not fail for lack of memory, so it is there always.
//   AgentUnitWork  from the first thing that is under way about the unit to the last: an order that differs
//                  from what is held, a step, an error, an outcome that the leader does not know. About 450
//                  bytes, which ten thousand units do not all need at a time. Made by agent_unit_work(),
//                  freed by agent_unit_settle(), which looks whether it still says something.
//
// An order that has been carried out is not kept: it is what is held (agent_unit_wanted() says it again).
// Nor is content kept for a unit: it is the AgentSpec's, which all units with the same content share.

#include "buf.h"
#include "carried-files.h"
#include "list.h"
#include "plan.h"
#include "probation.h"
#include "report-pace.h"
#include "restart-loop.h"

typedef struct Agent Agent;
typedef struct AgentNode AgentNode;

// Files that come with a unit.
typedef struct AgentCarried {
        CarriedFiles files;
        FileSource *sources;
        size_t n_sources;
        Argosy__FileChange change; // FileChange=
        bool container;            // its places are in a container, not on this host
        size_t n_named; // of the files, those that are counted: carried-names.c
} AgentCarried;

// One for each content, while a unit wants or holds it.
typedef struct AgentSpec {
        Hash hash;
        unsigned n_refs;
        bool known : 1;          // the rest; else only the record of a unit names it
        bool oneshot : 1;        // Type=oneshot without RemainAfterExit=
        bool simple : 1;         // Type=simple, exec or idle
        bool spreadable : 1;     // no Slice= and no resource weights of its own
        bool cut_off_stop : 1;   // CutOff=stop
        bool rerun_unknown : 1;  // OutcomeUnknown=rerun
        bool secrets : 1;        // has a Secret=
        bool registry_auth : 1;  // has a RegistryAuth=
        bool links : 1;          // has an [Install] section that asks for links
        bool container : 1;      // a container's (quadlet.h): what is written is made of it here
        bool stops_unneeded : 1; // StopWhenUnneeded=
        bool refuses_start : 1;  // RefuseManualStart=
        char *image;          // that podman is to have before it starts; NULL: none that a registry has
        unsigned cut_off_sec; // of cut_off_stop
        char *networks;       // files of networks that it names, blanks between them; NULL: none
        char *bound_to;       // units that systemd stops its units with, blanks between them; NULL: none
        char *needs;          // units that systemd looks for when it starts such a unit, likewise
        char *conflicts;      // [Unit] Conflicts=, likewise
        char *condition, *exec_condition; // what it is skipped for, in words; NULL: its file has none
        char *assertion;      // likewise, what its start fails for
        AgentCarried *carried; // NULL: it has none
        size_t len;
        uint8_t *content;
} AgentSpec;

// The unit's record, as the ledger has it (see LedgerRecord).
typedef struct AgentHeld {
        AgentSpec *spec; // a reference
        uint64_t revision, start_rev, restart_rev, stop_rev;
        uint8_t invocation_id[16];
        uint16_t slice; // slices.h
        uint8_t target : 4, down : 4; // Argosy__Target; Argosy__DownCause, reported
        bool from_template : 1, done : 1, failed : 1, pending : 1, owed : 1, interrupted : 1, unknown : 1,
                taking : 1, unread : 1;
        uint8_t reload : 2; // LedgerReload
} AgentHeld;

typedef enum AgentStartBarrier {
        AGENT_BARRIER_FREE,
        AGENT_BARRIER_FRESH,      // barrier_number: of the order
        AGENT_BARRIER_FOR_ORDERS, // its start waits until all orders up to barrier_number are planned
        AGENT_BARRIER_FOR_FILES,  // and then until all files up to barrier_number are written
        AGENT_BARRIER_FOR_SOCKET, // a service's, until that of its socket is handed to systemd
        AGENT_BARRIER_FOR_NAMED,  // until the files of units that its own file names are written
} AgentStartBarrier;

// The unit that was made here of a container's content (quadlet_made_next()).
typedef struct AgentMade {
        Hash of;
        bool for_template;
        Buf text;
} AgentMade;

typedef struct AgentUnitWork {
        struct AgentUnit *unit;
        ListNode waiting, call; // linked while waiting, waiting for the ledger
        ListNode start_barrier; // in AgentNode.fresh or .held_back
        uint64_t barrier_number;
        AgentStartBarrier barrier_phase;

        PlanWanted wanted;  // if AgentUnit.has_wanted
        bool from_template; // of that order
        AgentSpec *spec;    // of that order, a reference; NULL without one or with a removal
        uint64_t request;   // number of the message that it came with: those take turns
        uint32_t restarts_before; // systemd's count when the start under way was asked for

        ListNode probation; // in Agent.probations, while probation_start.waits
        ProbationStart probation_start;

        AgentSpec *before; // `replacing`: what is still in place, a reference; NULL: none, or not known any
                           // more
        bool replacing;    // the record names content that is not written yet
        bool new_content;  // of the write under way: other than what systemd may have in memory
        bool claims;       // likewise: with it the name becomes ours
        bool takes_over;   // likewise: and it runs meanwhile
        bool left_behind;  // it runs, left behind by the program that started it: we have just looked
        uint64_t stale_since_us, links_stale_since_us;
        uint64_t cut_off_until_us; // boot time until which it may turn out that a guard stopped it

        // its image was there before the wanted content is written, before the next start
        bool image_ready, image_seen;
        bool volumes_seen; // those that are here do for the wanted content
        bool networks_seen, networks_read; // likewise; systemd has read what makes those in place
        bool network_stale, network_in_way; // one was made of another file; its unit has another file
        bool network_turn, network_free;    // it makes them anew now, and no other unit; they are gone
        uint32_t network_then;              // Agent.networks.n_made as it came to be in the way
        ListNode network_wait;              // in Agent.networks.waiting, for its turn
        bool name_seen; // likewise, that no other container has its name (agent-container-names.c)
        bool places_seen; // what its files are bound over was there when it was looked at for the next start
        bool superseded;  // PlanInput
        bool files_ready; // the files of the wanted content were looked at, and are here
        bool surveyed;    // what its next stop takes along is recorded
        ListNode files_wanted; // in Agent.carried_waiting, while they come
        AgentMade *made; // of a container's content, to be written; NULL: none
        char *not_back; // of that, what did not start again, and why; NULL: nothing so far

        PlanStep busy;
        uint64_t step_number; // of the step under way; an answer with another number is too late
        // of the step after which it was asked what content runs; 0: no answer is due
        uint64_t verify_number;
        PlanVerdict verdict; // on `judged`; not NONE only then
        Hash judged;         // the content
        unsigned failures;
        uint64_t retry_us, wait_until_us;

        // What is reported.
        uint64_t report_from_us; // boot time until which what the order comes to is not worth a report of
                                 // its own
        char *error;
        uint64_t answered; // revision
        Argosy__Outcome__Kind outcome;
        uint64_t outcome_at_us;
        const char *outcome_result; // lives as long as the connection to systemd
        const char *never_began;    // how systemd ended the job of a start that never began; NULL: it did
} AgentUnitWork;

typedef struct AgentUnit {
        SystemdUnit watch; // by node->systemd
        AgentNode *node;
        AgentUnitWork *work;    // NULL: at rest
        struct AgentLoop *loop; // NULL: it was not restarted for a failure lately (agent-loops.h)
        // linked while to be planned; to be reported: in Agent.report, .paced or .held_due
        ListNode dirty, report;
        ReportPace pace;
        AgentHeld held;

        uint16_t failed_restarts; // of UnitRuntime.n_failed_restarts: those that were looked at
        uint8_t load;   // what systemd made of the content in place, see load_state_of_file()
        uint8_t hidden; // MASKED or NOT_FOUND, by what is in the directories; 0: systemd finds the file
        bool has_held : 1;
        bool has_wanted : 1;        // a leader has said what it is to be
        uint8_t wanted_outcome : 2; // of the order, if there is no work
        uint8_t probation : 3;      // Argosy__Probation of the last start that was asked for; reported
        bool content_known : 1;     // that of held.spec is in place, or was
        bool file_present : 1, files_removed : 1;
        bool stale : 1;       // systemd has the content from before the last write in memory
        bool links_stale : 1; // links below it changed after systemd loaded it
        bool read_again : 1;  // somebody reloaded about when `stale` began: before our own reload we ask
        bool parsed : 1, unwatched : 1, enabled : 1;
        bool to_verify : 1; // it replaced other content: that it is what runs is asked after the next start
        // a helper that wrote its files did not say how that ended, or wrote them for the content of before:
        // what is there is ours, whatever it is
        bool half_written : 1;
        bool load_retried : 1; // at its files, since the last request
        bool pin_failed : 1;   // likewise: systemd does not take its pin
        bool file_stale : 1, refused : 1, gone : 1; // reported
        bool displaced : 1; // a unit whose file says that it conflicts was started since this one was
        // it was stopped with a unit that gets new content, and starts again after that; reported
        bool comes_back : 1;
        bool brings_back : 1; // such units wait for this one
        bool paced : 1;      // `report` is linked in Agent.paced
        bool in_welcome : 1; // mark while a Welcome is taken over

        char name[];
} AgentUnit;
