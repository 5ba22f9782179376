// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// This host's units: compares what the leader wants with what systemd does, acts, and reports. Decisions are
// in src/agent/rules/plan.h (pure); this object drives them. It talks to the leader only by messages, all
// from the loop.
//
// A session: Attach (everything held, once a leader is known and systemd's state is complete) - Welcome
// (everything wanted; what else is held is removed) - Beats, Orders, Reports. It is begun anew when the
// leader changes, when no beat was acknowledged for the length of the lease, when the labels or the address
// change, and when orders could not be taken over (a spec was not sent, too many messages waited for the
// fence). Losing the leader stops nothing.
//
// What a report says, besides systemd's state:
//
//      revision    newest record revision that was finished: carried out, or failed with `error`. An error
//                  may be followed by a report of the same revision without one: failed writes, stops and
//                  reloads are tried again (1 s, doubling up to a minute); failed starts are not. A start is
//                  finished when its systemd job has ended, for a one-shot when the one-shot has.
//      refused     the name belongs to somebody else here (`error` says to whom), nothing was done; with the
//                  revision
//      gone        no longer held (answer to an order with `remove`); also for names that never were
//      outcome     the run `start_rev` of a one-shot ended for good. Repeated in every report until an order
//                  shows it; with `error` if nobody can tell how, and only that to a leader who knows no
//                  such outcome
//      drift       launched, its start was carried out, and it is inactive although nobody asked argosy
//      file_stale  what runs is not what is wanted; over when the revision is reported, also if that comes
//                  with an error, since
//                  systemd would refuse what is wanted
//
// Reports of one turn of the loop travel together, one per unit with all of its state. A unit that changes
// state again and again by itself is reported about once a second after the first ten times; nobody else's
// reports wait for that. Orders whose {generation, term, index} is older than the newest that was accepted
// are ignored; the fence is synced before anything newer is acted on.

#include <stdbool.h>
#include <uv.h>

#include "argosy.pb-c.h"
#include "counter.h"
#include "systemd-manager.h"
#include "time-histogram.h"

typedef struct Agent Agent;

typedef struct AgentSelf { // what an Attach says about this host; nothing is NULL
        const char *address, *address_name; // where others reach it
        bool address_configured;
        uint32_t voters_configured; // Voters=; 0: not set
        uint32_t cpu_milli, memory_mib; // offered to units that reserve some
} AgentSelf;

typedef struct AgentOps {
        // Hands a message to the leader (mesh_to_leader()); not kept. Negative errno: no link; the agent
        // waits for agent_on_leader() or the end of the lease.
        int (*send)(const Argosy__ToVoter *message, void *userdata);
        // An Attach is being written: what it is to say. Valid until the next call.
        void (*attaching)(AgentSelf *ret, void *userdata);
        // The agent cannot go on. Not used by anything that a retry may cure.
        void (*fatal)(const char *why, void *userdata);
        // A Welcome was obeyed (true), or the session ended (false). May be NULL.
        void (*attached)(bool attached, void *userdata);
        // A sign of life was sent or answered: when the oldest one that lacks its answer was sent, by the
        // boot clock; 0: none does. May be NULL.
        void (*beat)(uint64_t unanswered_us, void *userdata);
        // Somebody is to know soon if the leader falls silent, so each sign of life asks for an answer.
        // NULL: nobody ever is.
        bool (*leader_is_watched)(void *userdata);
        // The machine is shutting down; the leader was told. Once. May be NULL.
        void (*stopping)(void *userdata);
        void (*resumed)(void *userdata); // that was cancelled. May be NULL
        // So many units came to rest in this turn of the loop: what was under way about them is freed. May
        // be NULL.
        void (*rested)(size_t n, void *userdata);
        // A manager was detached, and can be attached again from now on. May be NULL.
        void (*manager_gone)(const char *manager, void *userdata);
} AgentOps;

typedef struct AgentConfig { // everything is copied
        uv_loop_t *loop;
        const char *state_dir;           // /var/lib/argosy: fence
        const char *runtime_dir;         // /run/argosy: ledger
        const char *unit_dir;            // /run/systemd/system
        const char *secrets_dir;         // SECRET_FILES_DIR; NULL: units here have none
        bool secrets_any_fs;             // see secret_files_new()
        const char *const *foreign_dirs; // see unit_dir_new()
        const char *take_from; // see unit_dir_take_from(); "": what others have left behind is refused
        SystemdConfig systemd;
        bool user; // it is the manager of the user that this process runs as, not the machine's
        const char *cgroup_root; // below which the manager's units have their control groups; NULL: found by
                                 // the manager's own
        const char *const *helper; // see HelperConfig.command; not copied
        const char *runner; // TransientConfig.runner, of what images of containers need; not copied
        bool verifies; // contents that would replace what runs are looked at by a helper first
        // NULL, or instead of a helper that connects: a connected socket of that manager, or negative errno.
        int (*open_manager)(const char *manager, void *userdata);
        void *open_manager_data;
        const char *host_name;
        uint16_t port;
        const Argosy__Label *const *labels;
        size_t n_labels;
        Argosy__NodeRecord *const
                *nodes; // this host's managers as last told (the peers file), for the first Attach
        size_t n_nodes;
} AgentConfig;

// Reads fence and ledger, which blocks on small files. Negative errno and *ret_why (malloc'd, may be NULL):
// nothing is left but handles that close when the loop runs next. -EBADMSG: a file is damaged, *ret_why says
// which and what to do.
int agent_new(const AgentConfig *config, const AgentOps *ops, void *userdata, Agent **ret, char **ret_why);
// Stops, removes and writes nothing: the next agent takes over as after a crash. `closed` (may be NULL)
// fires from the loop, after it nothing does. Open calls end without another reply.
void agent_close(Agent *a, void (*closed)(void *userdata), void *userdata);

// From the mesh: who leads now (0: nobody), and its messages: Welcome, BeatAck, Orders,
// Call, CallCancel, CallTaken; others are ignored.
void agent_on_leader(Agent *a, uint32_t leader, uint64_t term);
void agent_on_message(Agent *a, const Argosy__ToHost *message);

// TakeOver= has: from the next batch of files on. Copied.
void agent_set_take_from(Agent *a, const char *directory);
// The labels of the configuration have changed: told to the leader with a new Attach. Copied.
void agent_set_labels(Agent *a, const Argosy__Label *const *labels, size_t n);
// What AgentOps.attaching says is news: the leader is told with a new Attach.
void agent_attach_again(Agent *a);
// The sums over all managers of the agent.
void agent_systemd_stats(const Agent *a, SystemdStats *ret);

// What an agent counts itself, since it was made. What an Attach tells is not among the `reports`.
#define AGENT_COUNTERS(COUNTER, GAUGE)                                                                   \
        COUNTER(reports, "changes of units that leaders were told")                                      \
        COUNTER(beats, "signs of life that were sent to leaders")                                        \
        GAUGE(lease_left_ms,                                                                             \
              "milliseconds until this host's lease ends, unless a sign of life is answered")            \
        GAUGE(journals_read, "journals that are being read on this host now")                            \
        GAUGE(journals_held, "of these, that wait until somebody takes their lines")                     \
        GAUGE(agent_units_bytes, "memory of the units that this host holds")                             \
        COUNTER(searches, "times that unit files were looked for, since somebody else may have changed " \
                          "them")

typedef struct AgentStats {
        AGENT_COUNTERS(COUNTER_FIELD, COUNTER_FIELD)
} AgentStats;
AgentStats agent_stats(const Agent *a);
// How long leaders took to answer a sign of life, there and back.
TimeHistogram agent_beat_times(const Agent *a);

// ---- managers of users and containers (names: manager-name.h), each a node of its own

// From now on it is served; what the ledger says was held there before is held again. Whether it can be
// reached shows later, in agent_managers(). `leader`: pid of a container's init; 0: as systemd-machined
// knows it. -EINVAL, -EEXIST, -E2BIG (MANAGERS_PER_HOST), -EBADMSG (its ledger is damaged), others of the
// file system.
int agent_manager_attach(Agent *a, const char *manager, pid_t leader, char **ret_why);
// Stops and removes its units and then forgets it; `force`: forgets it at once, units go on running and are
// held again if it is attached again. Units of a manager that cannot be reached are forgotten, they ended
// with it. `done` fires from the loop, once. -ENOENT: not attached; -EINVAL: the system's.
// Detaching it twice: the first `done` gets -ECANCELED.
int agent_manager_detach(Agent *a, const char *manager, bool force, void (*done)(int error, void *userdata),
                         void *userdata);

// All that are to be served are attached. Those that an earlier argosyd has served and nobody has attached
// since are detached, but for those that were detached by force.
void agent_managers_let_go(Agent *a);

typedef struct AgentManagerInfo { // valid until the loop runs on
        const char *manager;
        const char *state;  // "online", "offline", "detaching"
        const char *reason; // NULL: it can be used
        size_t n_units;
        pid_t leader;
} AgentManagerInfo;
// Writes at most `max` managers, the system's first. Returns how many there are.
size_t agent_managers(const Agent *a, AgentManagerInfo *ret, size_t max);

// ---- local answers that need no leader

// Rows of this host's units. What `ret` then points to belongs to the agent and is valid until the next call
// or the loop runs on.
void agent_local_units(Agent *a, Argosy__Response *ret);

// `response` is borrowed; its last one has `final`, and no other follows.
typedef void (*AgentReply)(const Argosy__Response *response, void *userdata);
// Handles Request.local_stop and what nodes are asked (REQUEST_BY_NODES) for this host (`node` 0: its system
// manager, or, for .status and .journal, whichever of its nodes holds the unit). 0: replies come, perhaps
// before return; *ret_cancel is for agent_cancel(), 0 if all is said. -EBUSY: too many calls; -ENXIO: no
// such node; -EOPNOTSUPP: another request; -E2BIG: too many names or patterns; -EINVAL, -ENOMEM: no reply
// follows. What is asked with the same `asker` reads one journal at a time; 0: nobody in particular.
int agent_call(Agent *a, uint64_t asker, uint32_t node, const Argosy__Request *request, AgentReply reply,
               void *userdata, uint64_t *ret_cancel);
// No reply after this. Numbers of calls that have ended are ignored.
void agent_cancel(Agent *a, uint64_t cancel);
// The asker of a journal with a window has got rid of the lines up to that mark (Response.Journal.mark).
// Also from inside a reply.
void agent_taken(Agent *a, uint64_t cancel, uint64_t mark);

// ---- end of a membership or of the process

// Before exec or exit: tells the leader what is known and says Goodbye. `shutdown` only if the machine is
// going down (the agent does it by itself when systemd says so); then it names what may still run.
void agent_goodbye(Agent *a, bool shutdown);
// Before that: asks systemd whether the machine is going down, since systemd's word of that may not have
// come yet. `done` fires from the loop, and then agent_is_stopping() says it; also if systemd cannot be
// asked; never if the agent is closed before.
void agent_ask_stopping(Agent *a, void (*done)(void *userdata), void *userdata);
// Then, if it is: asks systemd what has ended. `done` as above; one of the two at a time.
void agent_refresh_before_goodbye(Agent *a, void (*done)(void *userdata), void *userdata);
// Removed from the cluster: stops and removes everything that is owned, then calls `done` from the loop. The
// fence stays as long as this host is who it is: it goes when the host's identity is replaced (state-dir.h),
// and should that not come to pass, no older leader is obeyed.
void agent_clear(Agent *a, void (*done)(void *userdata), void *userdata);
bool agent_is_stopping(const Agent *a);
size_t agent_n_units(const Agent *a); // held or wanted
