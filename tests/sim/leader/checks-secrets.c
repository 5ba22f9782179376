// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Check of versions of secrets: a unit has them as of the start that gave them to it, until its next one,
// and the log keeps each version that a unit has. Which versions there were is noted from entry to entry.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "checks-private.h"
#include "macro.h"
#include "str.h"
#include "test.h"

enum { VERSIONS_MAX = 256 };

static struct {
        uint64_t revisions[VERSIONS_MAX]; // of its versions, rising
        size_t n;
        bool unknown; // they were too many
} secrets[ELEMENTSOF(world_secrets)];
// What units have, and whether that was there when they got it: one that goes back to a content of before
// may name a version that is gone, and has the next one.
static struct {
        Hash spec;
        uint64_t as_of;
        bool had;
} units[WORLD_UNITS_MAX];

void secrets_begin(void) {
        memset(secrets, 0, sizeof(secrets));
        memset(units, 0, sizeof(units));
}

static void note(size_t i) {
        const Argosy__SecretRecord *r = cluster_state_find_secret(world.rig.state, world_secrets[i]);
        uint64_t newest = r ? secret_record_newest(r)->revision : 0;

        if (!r)
                secrets[i].n = 0;
        else if (secrets[i].n == VERSIONS_MAX)
                secrets[i].unknown = true;
        else if (secrets[i].n == 0 || secrets[i].revisions[secrets[i].n - 1] != newest)
                secrets[i].revisions[secrets[i].n++] = newest;
}

static bool has_version(const Argosy__SecretRecord *r, uint64_t revision) {
        for (size_t i = 0; i < r->n_versions; i++)
                if (r->versions[i]->revision == revision)
                        return true;
        return false;
}

// The newest one of that time.
static uint64_t version_as_of(size_t i, uint64_t revision) {
        uint64_t found = 0;

        for (size_t k = 0; k < secrets[i].n; k++)
                if (secrets[i].revisions[k] <= revision)
                        found = secrets[i].revisions[k];
        return found;
}

static void is_kept(unsigned k, const WorldContent *c, const Argosy__UnitRecord *record) {
        uint64_t as_of = unit_record_secrets(record), has;
        const Argosy__SecretRecord *r = cluster_state_find_secret(world.rig.state, c->secret);
        size_t i = 0;
        bool is_there;

        if (as_of == 0) { // it has had none
                units[k].had = false;
                return;
        }
        while (!streq(world_secrets[i], c->secret))
                i++;
        has = version_as_of(i, as_of);
        is_there = r && has > 0 && has_version(r, has);
        if (!hash_equal(&units[k].spec, &log_truth.units[k].spec) || units[k].as_of != as_of) {
                units[k].spec = log_truth.units[k].spec;
                units[k].as_of = as_of;
                units[k].had = is_there;
        }
        units[k].had &= r && !secrets[i].unknown; // it may be deleted whoever has it
        if (!units[k].had)
                return;
        check_says("secrets-are-kept");
        if (!is_there)
                check_fail("secrets-are-kept",
                           "%s has %s in the version of revision %" PRIu64 ", which the log has no more",
                           asks.units[k].name, c->secret, has);
}

static bool is_of_rollout(uint64_t job, const char *name) {
        const LogJob *j = job > 0 && job <= log_truth.n_jobs ? log_truth.jobs[job] : NULL;

        return j && streq(j->rollout, name);
}

// A rollout restarts it for a new version of a secret, and it has the newest one, or none. What it has is as
// of the entry before.
static void is_needed(const struct LogTouched *t) {
        const LogRollout *r = log_rollout_of(log_truth.rollouts_before, t->unit);
        const WorldContent *c = log_content(&t->before);
        size_t i = 0;
        uint64_t has;

        if (!r || !*r->secret || r->phase != ARGOSY__ROLLOUT_PHASE__ROLLOUT_RUNNING || !t->goes_on ||
            t->before.global || t->before.restart_rev == log_truth.units[t->unit].restart_rev ||
            !is_of_rollout(t->job, r->name))
                return;
        while (i < ELEMENTSOF(world_secrets) && !streq(world_secrets[i], r->secret))
                i++;
        if (i == ELEMENTSOF(world_secrets) || secrets[i].unknown || secrets[i].n == 0)
                return;
        check_says("restarts-are-for-the-new");
        has = units[t->unit].as_of > 0 ? version_as_of(i, units[t->unit].as_of) : 0;
        if (!c || !c->secret || !streq(c->secret, r->secret))
                check_fail("restarts-are-for-the-new", "%s is restarted for %s, which it has not",
                           asks.units[t->unit].name, r->secret);
        if (has == secrets[i].revisions[secrets[i].n - 1])
                check_fail("restarts-are-for-the-new",
                           "%s is restarted for %s, and has the version of revision %" PRIu64 " already",
                           asks.units[t->unit].name, r->secret, has);
}

void restarts_on_entry(const Argosy__LogBatch *batch) {
        for (size_t i = 0; i < log_truth.n_touched; i++)
                is_needed(&log_truth.touched[i]);
}

void secrets_on_entry(const Argosy__LogBatch *batch) {
        for (size_t i = 0; i < ELEMENTSOF(world_secrets); i++)
                note(i);
        for (unsigned k = 0; k < asks.n_units; k++) {
                const WorldContent *c = log_content(&log_truth.units[k]);
                const Argosy__UnitRecord *record = rig_record(&world.rig, asks.units[k].name);

                if (record && record->target == ARGOSY__TARGET__TARGET_LAUNCHED && c && c->secret)
                        is_kept(k, c, record);
                else
                        units[k].as_of = 0;
        }
}
