// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The next step for one unit of this host: a pure function of what is wanted, what is recorded, and what
// systemd does.
//
// The driver calls plan_unit() whenever one of these changed, carries out the one step that it answers, and
// calls again. Nothing is remembered between calls but what the input shows, so a crash between any two
// steps is just another input.
//
// The rules:
//
//   start        start_rev, restart_rev and stop_rev are compared with those of the record ("a start is a
//                number"). A start is written to the record together with `pending` before systemd hears of
//                it, so it is carried out once, whatever crashes.
//   down         launched, our start was carried out, and the unit is inactive now although nobody asked
//                argosy: why is said (down-cause.h), and it is drift only if somebody stopped it. It is left
//                alone; the next explicit start brings it back. A unit that was started by something else
//                while
//                it is only `loaded` (a timer, a dependency) is left alone too.
//   outcome      only a one-shot (Type=oneshot without RemainAfterExit=) ends for good: DONE when it ended
//                without failing, FAILED when it failed (also if somebody has reset that before we looked)
//                or
//                could not begin, UNKNOWN when nobody can tell. Other units that end by themselves run again
//                after a reboot or a move. An end during shutdown, or of a start that somebody cancelled, is
//                no outcome.
//   new content  an active unit is stopped, the file replaced, the unit started again; systemd reads the new
//                file only if it really dropped the unit in between. What stays in its memory (pinned by a
//                timer, a target) needs a reload. A one-shot that is running is left to finish first, unless
//                a restart is asked for. A unit that was stopped by hand stays stopped.
//   secrets      what runs has them in the versions in which they were when it started. A start of what runs
//                does nothing, unless the order names
//                others and a stop that was missed, or comes while that run is about to be up: the cluster
//                took it for stopped, so it is
//                restarted. An undo of new content that systemd refused names others, too, and what runs
//                goes on. One that is about to be up is when it is, a one-shot ends first.
//   dependents   what systemd stops with a unit that is stopped for new content is to come back: those that
//                are up are
//                asked for and recorded right before the stop (PLAN_SURVEY), so that a crash forgets none,
//                and started
//                once the unit is up again (PLAN_BRING_BACK). Only then is the order carried out; the next
//                one does not wait for them. Should the unit not
//                start, those that need it stay recorded and down until it does; the others come back. Of
//                ours, none
//                starts while the unit that it was stopped with is between its stop and its start, and that
//                it is down
//                is neither drift nor an outcome.
//   cut off      a unit with CutOff=stop that is down when the node has been cut off for long enough was
//                stopped by that, not by hand: it starts again when the node is back. Until then it is left
//                alone.
//   pin          a one-shot is started only when its pin (unit-pin.h) is there, which keeps it in systemd's
//                memory until the cluster knows how it ended, and goes before new content comes. So after a
//                crash of ours systemd knows what became of a start: a run that is not the one from before
//                the start was it; pinned without such a run, it did not begin. Should the pin be gone,
//                nobody knows: that is its outcome, and the unit is not run again unless it asks for that
//                (OutcomeUnknown=rerun).
//   links        of [Install], below units of the system's, are there while the unit is to run, so that
//                nothing of the system's starts what is only loaded, or a one-shot that is done. A unit
//                below
//                which links came or went while it was in memory is read again (a reload) before it is
//                started or restarted, and no sooner: that it is up is no reason to stop it.
//   refused      before a unit that is up is stopped for new content, this host's systemd is asked what it
//                would say of that
//                (PLAN_VERIFY). What systemd would refuse stops nothing: the unit runs on with the content
//                that it has, until
//                there is another request. A restart that was asked for has failed with that, and is not
//                made up for. An answer that does not come in time refuses nothing.
//   files        what comes with a new content is here, and may be where it is to be, before anything is
//                stopped, recorded or written for
//                that content (PLAN_FETCH): what runs goes on meanwhile, and also if that fails.
//   networks     a network of which the wanted content has another file is gone before that is written
//                (PLAN_NETWORKS), when the unit itself is down; so go down all that have it.
//   places       paths over which files in place are bound are looked at before each start (PLAN_PLACES). If
//                one is missing on this host the start is refused, since systemd would make it anew there. A
//                stop does not wait for that.
//   files alone  what runs, and gets nothing new but files (FileChange=reload, none), is not stopped for
//                them: they are put in place as it runs.
//                For reload it is then reloaded, which is recorded with the write, so that a crash forgets
//                it not. A reload that fails is reported
//                and not repeated before there is another start; a run that somebody else has begun since
//                has read them. A restart that is asked for makes up for it.
//   failed       a failed start is reported, not repeated; restarting is systemd's Restart=. A failed unit
//                starts again with a new start, or with new content unless it is a one-shot.
//   removal      stop, remove the files, forget. What stays in systemd's memory could be started from there,
//                so that needs a reload, too.
//   foreign      a name with a file that is not ours, or active without being ours, is never touched: the
//                order is refused.
//   taking over  unless this host's configuration says that units which another program left behind may
//                become ours as they run. Whether an active unit is such a one is looked at first, without a
//                trace (PLAN_LOOK). Then
//                its record says `taking`, which it does until systemd has read our file: a crash before the
//                file
//                was there leaves nothing that is ours, one after it a reload that is due. The reload comes
//                before
//                the start counts as carried out, and is not asked for by a unit that is to stop.

#include <stdbool.h>

#include "argosy.pb-c.h"
#include "ledger.h"
#include "systemd-manager.h"

enum {
        PLAN_UNLOAD_GRACE_US =
                250 * 1000, // how long an inactive unit may stay in memory before we call it pinned
};

typedef enum PlanStep {
        PLAN_NOTHING, // until something changes
        PLAN_WAIT,    // until wait_until_us, or until something changes
        PLAN_LOOK,    // see whether it is active and left behind by somebody else; nothing is recorded
        PLAN_VERIFY,  // ask what systemd would say of the wanted content; nothing is recorded
        PLAN_FETCH,   // see that its files are here and may be where they are to be; nothing is recorded
        PLAN_PLACES,  // see that what its files in place are bound over is there; nothing is recorded
        PLAN_NETWORKS, // remove networks that were made of other files; what is stopped for that is recorded
        PLAN_WRITE,   // record and write the wanted content
        PLAN_LINK,    // make the links under units of the system's, or take them away
        PLAN_LOAD,    // let systemd parse it
        PLAN_RESET_FAILED,
        PLAN_RELOAD_UNIT, // let it read the files that came with it anew
        PLAN_RELOAD,  // daemon-reload: the unit is pinned with old content, or with old links
        PLAN_PIN,     // let nothing make systemd forget it
        PLAN_UNPIN,
        PLAN_START,   // record all numbers of the order and `pending`, then start
        PLAN_RESTART, // same, restart
        PLAN_STOP,
        // ask which units systemd would stop with it, and record those that are to come back
        PLAN_SURVEY,
        PLAN_BRING_BACK, // start these again, as far as they do not need it while it is down
        PLAN_REMOVE,    // remove the files
        PLAN_FORGET,    // drop the record, report `gone`
} PlanStep;

// What systemd would say of the wanted content.
typedef enum PlanVerdict {
        PLAN_VERDICT_NONE, // it has not been asked
        PLAN_VERDICT_TAKEN, // it would take it, or nobody can tell
        PLAN_VERDICT_REFUSED,
} PlanVerdict;

// A UnitOrder, decoded.
typedef struct PlanWanted {
        bool remove;
        Argosy__Target target;
        Hash spec;
        uint64_t revision, start_rev, restart_rev, stop_rev;
        Argosy__Outcome__Kind outcome; // of the run start_rev, as far as the cluster knows
} PlanWanted;

typedef struct PlanInput {
        const PlanWanted *wanted;   // NULL: no leader has said anything yet; nothing is done, only looked at
        const LedgerRecord *held;   // NULL: not ours so far
        const UnitRuntime *runtime; // NULL: not in systemd's memory
        bool file_present;          // the files that the record names are in place
        bool files_removed;         // nothing of it is left; if neither, there may be older ones
        bool stale;                 // systemd has the content from before the last write in memory
        uint64_t stale_since_us;    // boot time of that write
        bool parsed;                // systemd has answered for the installed content
        bool links;                 // the installed content asks for links
        bool enabled;               // those under units of the system's are made
        bool links_stale;           // links below the unit changed after systemd loaded it
        uint64_t links_stale_since_us; // boot time
        bool oneshot;                  // Type=oneshot without RemainAfterExit=
        bool rerun_unknown;            // OutcomeUnknown=rerun
        bool pinned;                   // systemd keeps it in memory for us
        bool pin_failed;               // and it cannot: the start goes without
        bool unwatched;                // a pending run may have ended while we were not there to see it
        bool may_take;                 // what others have left behind becomes ours as it runs
        bool left_behind;              // a PLAN_LOOK that has just ended says that this is such a one
        PlanVerdict verdict;
        // those that come with the wanted content were not looked at yet (PLAN_FETCH)
        bool lacks_files;
        bool networks_due; // networks of before are in the way of the wanted content
        // what those in place are bound over was not looked at for the next start (PLAN_PLACES)
        bool places_unseen;
        bool secrets_differ;           // what is in place, and what runs has, is not what the order names
        bool superseded;               // another start was asked for while the one that it runs by was under
                                       // way
        Argosy__FileChange file_change; // what its wanted content asks for if what it has in place differs
                                        // in its files alone; else RESTART
        bool stopping;                 // the manager is shutting down
        bool cut_off;                  // systemd has stopped it by CutOff=stop, or would at once
        bool was_cut_off;              // that was so a moment ago: news of its end may still be on the way
        Argosy__DownCause down;        // as was found before, since it is down
        bool skipped, was_reset, signalled; // UnitRuntime, also of what has left systemd's memory since
        UnitEnd end;
        bool stops_unneeded; // StopWhenUnneeded=
        bool conflicts;                // a unit that conflicts with it was started, or is
        bool goes_along;               // we stop, or have stopped, what systemd stops it with
        bool surveyed;                 // what the next stop takes along is recorded
        bool brings_back;              // units were stopped with it and are to come back
        bool brings_back_anyway;       // some of them do not need it for that
        bool comes_back;               // it is one itself, of another unit
        bool held_back;                // and that one is being replaced
        PlanStep busy;                 // the step under way; PLAN_NOTHING: none
        uint64_t retry_us; // boot time before which nothing is tried again after a failed step; 0: free
        uint64_t now_us;   // boot time
} PlanInput;

typedef struct PlanResult {
        PlanStep step;
        uint64_t wait_until_us;
        bool in_place;  // with PLAN_WRITE: it runs meanwhile, and goes on
        bool owe_reload; // likewise, and record that it is to be reloaded then
        bool reread;    // it has begun anew since its files were replaced: record that no reload is due
        bool owe_run;   // with PLAN_STOP: record `pending` first, the unit is to come back with new content
        bool fulfilled; // the pending run was seen: record that
        bool failed;    // and it had failed, which somebody has reset since: record that, too
        bool not_begun; // systemd never heard of the pending run: record that it is owed
        bool unknown;   // nobody can tell what became of the pending run: record that
        bool again;     // plan again when that is recorded
        bool joined;    // a start that was asked for meanwhile is the one under way: record its number
        bool superseded; // a start that was asked for meanwhile is not the one under way: keep that until
                         // the next start
        bool leaves_off; // the step under way ends as far as it has come, since the order asks for more
        // the restart that the order asks for is answered with a failure: record its number
        bool turned_down;
        bool settled;   // all that the order asks was carried out: record its numbers, report its revision
        bool answered;  // report its revision (settled, or an error that is being retried)
        bool cut_short; // its run ended because the node was cut off: record that it is not launched any
                        // more
        Argosy__DownCause down; // why it is down, or about to be
        bool file_stale;               // what runs differs from what is wanted
        bool refused;                  // the name is active here and not ours: the node is not eligible
        bool judged;                   // `outcome` says something; otherwise keep what was known
        Argosy__Outcome__Kind outcome; // how the recorded run ended for good: record that
} PlanResult;

PlanResult plan_unit(const PlanInput *in);
// Whether the unit is to have links under units of the system's. `held` may be NULL.
bool plan_enables(const PlanWanted *wanted, const LedgerRecord *held);

// Back-off of a unit whose steps fail: 1 s, doubled for each failure up to a minute.
uint64_t plan_backoff_us(unsigned failures);
const char *plan_step_to_string(PlanStep step);
