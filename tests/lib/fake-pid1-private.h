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
        bool pinned, known;
        bool held;            // by argosy's pin
        SystemdUnit *watched; // or NULL
        unsigned runs;
        unsigned n_wants;
        int guard_sec; // of its drop-ins; -1: none
        struct Job *start; // waits for the end of a one-shot
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
};

struct SystemdManager {
        FakePid1 *pid1;
        SystemdOps ops;
        void *userdata;
        Drain drain;
        ListNode jobs;
        bool connected, synced, asked_stopping;
        void (*closed)(void *userdata);
        void *closed_data;
};

// fake-pid1.c
extern FakePid1 *pid1_current; // the one that connections are opened to
FakeUnit *pid1_unit_get(FakePid1 *p, const char *name);
void pid1_show(FakeUnit *u);
void pid1_notify(FakePid1 *p, FakeUnit *u);
void pid1_run_job(FakePid1 *p, Job *j);

// fake-pid1-manager.c
void pid1_lose_all(SystemdManager *m);
