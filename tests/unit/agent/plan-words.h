// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The rules of plan.h as tables. Every row is one situation and the step that it must lead to. The defaults
// are those of the quiet case: the order's numbers are revision 10, start 7, restart 5, stop 3, the record
// knows all of them, the content is the wanted one, the unit is active with a run that the record knows.

#include "test.h"

#include "clock.h"
#include "plan.h"

typedef enum Is {
        ACTIVE,
        GONE,
        DEAD,
        FAILED,
        STARTING,
        STOPPING,
        AUTO_RESTART
} Is; // GONE: not in systemd's memory; DEAD: inactive, but loaded

typedef struct Row {
        const char *story;
        // the order
        bool no_order, remove, loaded_only, new_content, over;
        unsigned start, restart, stop; // 0: the default
        // the record
        bool no_record, was_loaded_only, written_only, done, failed_before, pending, interrupted, owed,
                outcome_unknown, reload_due, reload_failed;
        // the world
        Is is;
        bool other_run; // the run in systemd's memory is not the recorded one
        bool links, enabled, links_stale;
        bool no_file, removed, stale, pinned_long, not_parsed, oneshot, unwatched, shutdown, failing;
        bool pinned, pin_failed, rerun, was_reset;
        bool cut_off, was_cut_off, drifted, goes_along, skipped, by_itself, unseen, stops_unneeded,
                conflicts, may_take, left_behind, taking, unfound, not_asked, would_refuse, lacks_files,
                unseen_places, other_secrets, was_superseded, may_reload, may_go_on;
        bool not_surveyed, brings_back, brings_back_anyway, comes_back, held_back;
        PlanStep busy;
        // what must come out
        PlanStep step;
        bool owe_run, turned_down, leaves_off, joined, superseded, fulfilled, failed, not_begun, unknown,
                in_place, owe_reload, reread, again, settled, answered, file_stale, refused, cut_short;
        Argosy__DownCause down;
        Argosy__Outcome__Kind outcome;
} Row;

#define STOPPED ARGOSY__DOWN_CAUSE__DOWN_STOPPED
#define BOUND ARGOSY__DOWN_CAUSE__DOWN_BOUND
#define DONE ARGOSY__OUTCOME__KIND__DONE
#define LOST ARGOSY__OUTCOME__KIND__FAILED

static const uint64_t now_us = 1000 * USEC_PER_SEC;

static inline UnitRuntime runtime_of(const Row *row) {
        static const struct {
                Argosy__ActiveState active;
                const char *sub;
        } states[] = {
                [ACTIVE] = {ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE, "running"},
                [GONE] = {ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE, "dead"},
                [DEAD] = {ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE, "dead"},
                [FAILED] = {ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, "failed"},
                [STARTING] = {ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING, "start"},
                [STOPPING] = {ARGOSY__ACTIVE_STATE__ACTIVE_DEACTIVATING, "stop-sigterm"},
                [AUTO_RESTART] = {ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING, "auto-restart"},
        };
        UnitRuntime rt = {.load = row->unfound ? ARGOSY__LOAD_STATE__LOAD_NOT_FOUND
                                               : ARGOSY__LOAD_STATE__LOAD_LOADED,
                          .active = states[row->is].active,
                          .sub = states[row->is].sub,
                          .result = "",
                          .was_reset = row->was_reset,
                          .loaded = row->is != GONE};

        if (rt.loaded)
                memset(rt.invocation_id, row->other_run ? 2 : 1, 16);
        return rt;
}

static inline PlanResult outcome_of(const Row *row) {
        UnitRuntime rt = runtime_of(row);
        PlanWanted wanted = {
                .remove = row->remove,
                .target = row->loaded_only ? ARGOSY__TARGET__TARGET_LOADED : ARGOSY__TARGET__TARGET_LAUNCHED,
                .spec.bytes = {row->new_content ? 2 : 1},
                .revision = 10,
                .start_rev = row->start ?: 7,
                .restart_rev = row->restart ?: 5,
                .stop_rev = row->stop ?: 3,
                .outcome = row->over ? DONE : ARGOSY__OUTCOME__KIND__NONE,
        };
        LedgerRecord held = {
                .name = "web.service",
                .spec.bytes = {1},
                .revision = 9,
                .start_rev = 7,
                .restart_rev = 5,
                .stop_rev = 3,
                .target = row->was_loaded_only ? ARGOSY__TARGET__TARGET_LOADED
                                               : ARGOSY__TARGET__TARGET_LAUNCHED,
                .done = row->done,
                .failed = row->failed_before,
                .pending = row->pending,
                .interrupted = row->interrupted,
                .owed = row->owed,
                .unknown = row->outcome_unknown,
        };
        PlanInput in = {
                .wanted = row->no_order ? NULL : &wanted,
                .held = row->no_record ? NULL : &held,
                .runtime = row->is == GONE ? NULL : &rt,
                .file_present = !row->no_file && !row->no_record,
                .files_removed = row->removed,
                .stale = row->stale,
                .stale_since_us = row->pinned_long ? now_us - PLAN_UNLOAD_GRACE_US : now_us - 1000,
                .links = row->links,
                .enabled = row->enabled,
                .links_stale = row->links_stale,
                .links_stale_since_us = row->pinned_long ? now_us - PLAN_UNLOAD_GRACE_US : now_us - 1000,
                .parsed = !row->not_parsed && !row->no_record,
                .oneshot = row->oneshot,
                .rerun_unknown = row->rerun,
                .pinned = row->pinned,
                .pin_failed = row->pin_failed,
                .unwatched = row->unwatched,
                .may_take = row->may_take,
                .left_behind = row->left_behind,
                .lacks_files = row->lacks_files,
                .places_unseen = row->unseen_places,
                .secrets_differ = row->other_secrets,
                .superseded = row->was_superseded,
                .file_change = row->may_reload  ? ARGOSY__FILE_CHANGE__FILE_CHANGE_RELOAD
                               : row->may_go_on ? ARGOSY__FILE_CHANGE__FILE_CHANGE_NONE
                                                : ARGOSY__FILE_CHANGE__FILE_CHANGE_RESTART,
                .verdict = row->not_asked      ? PLAN_VERDICT_NONE
                           : row->would_refuse ? PLAN_VERDICT_REFUSED
                                               : PLAN_VERDICT_TAKEN,
                .stopping = row->shutdown,
                .surveyed = !row->not_surveyed,
                .brings_back = row->brings_back,
                .brings_back_anyway = row->brings_back_anyway,
                .comes_back = row->comes_back,
                .held_back = row->held_back,
                .busy = row->busy,
                .cut_off = row->cut_off,
                .was_cut_off = row->was_cut_off,
                .down = row->drifted ? STOPPED : ARGOSY__DOWN_CAUSE__DOWN_NOT,
                .skipped = row->skipped,
                .stops_unneeded = row->stops_unneeded,
                .conflicts = row->conflicts,
                .was_reset = row->was_reset,
                .end = row->unseen      ? UNIT_END_UNSEEN
                       : row->by_itself ? UNIT_END_BY_ITSELF
                                        : UNIT_END_BY_JOB,
                .goes_along = row->goes_along,
                .retry_us = row->failing ? now_us + 5 : 0,
                .now_us = now_us,
        };

        memset(held.invocation_id, 1, 16);
        if (row->written_only)
                held = (LedgerRecord){.name = "web.service", .spec.bytes = {1}};
        held.taking = row->taking;
        held.reload = row->reload_due      ? LEDGER_RELOAD_DUE
                      : row->reload_failed ? LEDGER_RELOAD_FAILED
                                           : LEDGER_RELOAD_NONE;
        return plan_unit(&in);
}

static inline void check_row(const Row *row) {
        PlanResult res = outcome_of(row);

        if (res.step != row->step)
                fail_msg("%s: %s instead of %s", row->story, plan_step_to_string(res.step),
                         plan_step_to_string(row->step));
#define CHECK(field)                 \
        if (res.field != row->field) \
        fail_msg("%s: " #field " is %i", row->story, (int) res.field)
        CHECK(owe_run);
        CHECK(turned_down);
        CHECK(leaves_off);
        CHECK(not_begun);
        CHECK(unknown);
        CHECK(in_place);
        CHECK(owe_reload);
        CHECK(reread);
        CHECK(again);
        CHECK(cut_short);
        CHECK(joined);
        CHECK(superseded);
        CHECK(fulfilled);
        CHECK(failed);
        CHECK(settled);
        CHECK(down);
        CHECK(file_stale);
        CHECK(refused);
        CHECK(outcome);
#undef CHECK
        if (res.answered != (row->settled || row->answered))
                fail_msg("%s: answered is %i", row->story, res.answered);
}

#define CHECK_ROWS(rows)                              \
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) \
        check_row(&(rows)[i])
