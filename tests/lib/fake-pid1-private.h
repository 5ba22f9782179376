// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A PID 1 in memory: its units and jobs, and the connection to it. Private to its two files.

#include "fake-pid1.h"
#include "list.h"
#include "map.h"
#include "systemd-manager.h"
#include "uvx.h"

typedef struct FakeUnit {
        UnitRuntime rt;
        char *content;
        char *running; // the content with which it was started last
        bool pinned, known;
        bool unheard;          // what it is now was not told
        bool passing;          // it activates or deactivates until pid1_pass()
        bool foreign_stop;     // and by somebody else's job
        bool held;            // by argosy's pin
        SystemdUnit *watched; // or NULL
        unsigned runs;
        unsigned n_wants;
        int guard_sec; // of its drop-ins; -1: none
        struct Job *start; // waits for the end of a one-shot, or until it is up
        ListNode stops;    // jobs that wait until it is down
        char name[];
} FakeUnit;

typedef enum JobKind {
        JOB_START,
        JOB_STOP,
        JOB_RESTART,
        JOB_RESET,
        JOB_RELOAD_UNIT,
        JOB_LOAD,
        JOB_RELOAD,
        JOB_INSPECT,
        JOB_GROUP,
        JOB_OUTDATED,
        JOB_SURVEY,
        JOB_PIN,
        JOB_UNPIN
} JobKind;

typedef struct Job {
        ListNode link;
        JobKind kind;
        union {
                SystemdJobDone job;
                SystemdLoaded load;
                SystemdReloaded reload;
                SystemdInspected inspect;
                SystemdControlGroup group;
                SystemdOutdated outdated;
                SystemdStoppedWith stopped_with;
        } done;
        void *userdata;
        SystemdJobKind ended; // of one in SystemdManager.unheard
        SystemdJobResult result;
        char name[];
} Job;

struct FakePid1 {
        char *dir;
        Map units;
        SystemdManager *manager;
        bool hold, stopping, refuse_pins;
        unsigned n_jobs, n_reloads, n_groups, n_surveys;
        uint64_t last_invocation;
        void (*changed)(const char *name, Argosy__ActiveState was, Argosy__ActiveState is, void *userdata);
        void *changed_data;
        bool foreign_job; // what happens now is the doing of somebody else
        // Troubles.
        unsigned (*below)(unsigned n);
        unsigned lost_percent; // of signals
        bool takes_time;
        // it reads its files again, or executes itself: nothing is answered, and nothing told
        bool away;
        bool ended; // a user's, see pid1_end()
};

struct SystemdManager {
        FakePid1 *pid1;
        SystemdOps ops;
        void *userdata;
        Drain drain;
        ListNode jobs;
        ListNode unheard; // jobs that have ended, and nobody was told
        bool connected, synced, asked_stopping;
        int (*open)(void *userdata); // NULL: it is connected without
        void *open_data;
        bool opening;                      // a socket is owed
        bool reloading, announce_reloaded; // it was told of a reload that has begun; that is to be announced
        uint64_t reload_since_us;
        void (*closed)(void *userdata);
        void *closed_data;
};

// fake-pid1.c
extern FakePid1 *pid1_current; // the one that connections are opened to
FakeUnit *pid1_unit_get(FakePid1 *p, const char *name);
void pid1_show(FakeUnit *u);
void pid1_notify(FakePid1 *p, FakeUnit *u);
void pid1_run_job(FakePid1 *p, Job *j);
void pid1_carry_out(FakePid1 *p, SystemdJobKind kind, const char *name); // for nobody
void pid1_set_state(FakePid1 *p, FakeUnit *u, Argosy__ActiveState active, const char *sub,
                    const char *result);
void pid1_load_unit(FakePid1 *p, FakeUnit *u);
void pid1_collect(FakePid1 *p, FakeUnit *u);
void pid1_job_ended(FakePid1 *p, Job *j, SystemdJobKind kind, SystemdJobResult result);

// fake-pid1-troubles.c
bool pid1_hears(FakePid1 *p);                 // drawn: whether the signal that is sent now is heard
void pid1_tell(FakePid1 *p, FakeUnit *u);     // what was not told of it
void pid1_pass(FakePid1 *p, FakeUnit *u);     // it is up, or down, now
void pid1_read_again(FakePid1 *p);            // the files of all that is in memory
void pid1_find_unheard(FakePid1 *p);          // units; the manager is synced
void pid1_end_unheard(FakePid1 *p, bool lost); // jobs

// fake-pid1-manager.c
void pid1_lose_all(SystemdManager *m);
void pid1_lose(Job *j); // nobody will know how it ended
