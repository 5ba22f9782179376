// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A systemd that is played: its units, what is told of them, and what is asked. Private to its three files.

#include <stdint.h>
#include <systemd/sd-bus.h>

#include "fake-systemd.h"
#include "list.h"
#include "map.h"

#define NAME "org.freedesktop.systemd1"
#define PATH "/org/freedesktop/systemd1"

typedef struct FakeUnit {
        ListNode waiting; // in FakeSystemd.waiting: has something to tell
        bool exists, loaded, pinned, is_new, is_changed;
        FakeBehaviour behaviour;
        char active[16], sub[24], result[24];
        uint8_t invocation[16];
        uint64_t since_us, changed_us; // down or up, and of the last change of state
        uint64_t file;                 // that it was loaded from, 0: none
        uint32_t job;                  // 0: none
        uint32_t n_restarts;           // told of services
        char job_type[16];
        uint64_t skipped_us; // when its conditions were not met, since its last run
        unsigned order;
        struct {
                char property[32], names[128];
        } lists[3];
        char name[256];
} FakeUnit;

typedef struct Count {
        unsigned n;
        char member[64];
} Count;

struct FakeSystemd {
        uv_loop_t *loop;
        char *dir;
        Map units, counts;
        sd_bus *bus;
        uv_poll_t *poll; // of this connection
        uv_prepare_t prepare;
        uv_idle_t again;
        int n_handles;
        bool lose, only_jobs, job_first, early, stall, refuse, reloading, stopping, cut, drop, busy, mute;
        size_t complaint_bytes;
        uint64_t serial; // of the last message of this connection
        ListNode waiting;
        uint64_t fate_seed; // 0: signals simply leave
        FakeFate fate;
        sd_bus_message *late[64];
        size_t n_late;
        char *cgroups;
        int cut_after;
        uint32_t last_job;
        unsigned n_jobs, jobs_peak;
        uint64_t last_invocation;
        FakeBehaviour (*judge)(const char *name, void *userdata); // NULL: nobody says
        void (*changed)(const char *name, const char *was, const char *is, void *userdata);
        void *on_data;
};

// fake-systemd.c
void fake_must(int r);
void fake_systemd_send(FakeSystemd *f, sd_bus_message *message);
void fake_systemd_notify(FakeSystemd *f, sd_bus_message *message);

// fake-systemd-units.c
sd_bus_message *fake_signal_new(FakeSystemd *f, const char *path, const char *interface, const char *member);
char *fake_unit_path(const char *name);
void fake_emit_waiting(FakeSystemd *f, FakeUnit *u);
void fake_emit_new(FakeSystemd *f, FakeUnit *u);
void fake_emit_removed(FakeSystemd *f, FakeUnit *u);
void fake_emit_job(FakeSystemd *f, uint32_t id, const char *unit, const char *member, const char *result);
void fake_emit_reloading(FakeSystemd *f, int on);
FakeUnit *fake_unit_get(FakeSystemd *f, const char *name);
uint64_t fake_unit_file(FakeSystemd *f, const char *name);
const char *fake_unit_load_word(FakeSystemd *f, const FakeUnit *u);
void fake_unit_load(FakeSystemd *f, FakeUnit *u);
void fake_unit_read(FakeSystemd *f, FakeUnit *u);
void fake_unit_collect(FakeSystemd *f, FakeUnit *u);
void fake_unit_change(FakeSystemd *f, FakeUnit *u, const char *active, const char *sub, const char *result);
void fake_unit_job_end(FakeSystemd *f, FakeUnit *u, const char *result);
void fake_unit_run_job(FakeSystemd *f, FakeUnit *u);

// fake-systemd-calls.c
int fake_on_message(sd_bus_message *call, void *userdata, sd_bus_error *error);
