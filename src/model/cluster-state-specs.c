// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Contents of unit files, by hash, each once however many units have it. At the end of a batch each is one of these:
//
//      in use    a unit has it, or a rollout that is under way leads from or to it
//      former    nobody has it, and a job that is kept names it: so that the job can be read, and undone
//      dropped   neither
//
// Jobs are dropped in the order of their numbers, so of all that name a content only the newest counts: nobody has to
// count jobs, nor to look into those that are dropped. Former contents stand in the order in which their last users
// left them, and go at the old end, by what the log alone says (as do jobs), some in each entry: those whose job is
// dropped, and as many as are beyond cluster_state_history_bytes(). One whose newest job is younger than its place
// says holds up those behind it until then. What goes so is missing in jobs that name it, and no more than that.
//
// A snapshot sees SpecVersion; of a SpecEntry only what does not change. -ENOMEM: the state is not used any more.

#include "cluster-state-private.h"

#include <errno.h>

static void spec_entry_free(void *p) {
        SpecEntry *spec = p;

        unit_file_free(spec->lazy_file);
        free(spec->content);
        free(spec);
}

static int put_version(ClusterState *s, SpecEntry *spec) {
        return paged_table_set(&s->spec_entries, spec->number,
                               &(SpecVersion){spec, spec->job, spec->former});
}

int state_add_spec(ClusterState *s, const Hash *hash, uint8_t *content, size_t len) {
        SpecEntry *spec = calloc(1, sizeof *spec);
        int r;

        if (!spec)
                return -ENOMEM;
        spec->hash = *hash;
        r = map_add(&s->specs, &spec->hash, sizeof spec->hash, spec);
        if (r < 0) {
                free(spec);
                return r;
        }
        r = paged_table_add(&s->spec_entries, &(SpecVersion){.spec = spec}, &spec->number);
        if (r < 0) {
                map_take(&s->specs, &spec->hash, sizeof spec->hash);
                free(spec);
                return r;
        }
        spec->content = content;
        spec->len = len;
        list_append(&s->idle, &spec->idle);
        return 0;
}

SpecEntry *cluster_state_find_spec(const ClusterState *s, const Hash *hash) {
        return map_find(&s->specs, hash, sizeof *hash);
}

int spec_entry_file(SpecEntry *spec, const UnitFile **ret) {
        int r = 0;

        if (!spec->lazy_file)
                r = unit_file_parse("stored unit file", spec->content, spec->len, &spec->lazy_file, NULL);
        if (r == 0)
                *ret = spec->lazy_file;
        return r;
}

static void retire(ClusterState *s, SpecEntry *spec) {
        snapshot_clock_retire(s->clock, spec, spec_entry_free, sizeof *spec + spec->len);
}

void state_specs_done(ClusterState *s) {
        map_foreach (slot, &s->specs)
                retire(s, slot->value);
        map_done(&s->specs);
        paged_table_done(&s->spec_entries);
}

// ------------------------------------------------------------------------------------------------ in use

static size_t bytes_of(const SpecEntry *spec) {
        return spec->len + CLUSTER_FORMER_SPEC_EXTRA;
}

static void leave_former(ClusterState *s, SpecEntry *spec) {
        s->former_specs_bytes -= bytes_of(spec);
        spec->former = 0;
}

int state_use_spec(ClusterState *s, SpecEntry *spec) {
        spec->users++;
        list_unlink(&spec->idle);
        if (spec->former == 0)
                return 0;
        leave_former(s, spec);
        return put_version(s, spec);
}

void state_unuse_spec(ClusterState *s, SpecEntry *spec) {
        assert(spec->users > 0);
        if (--spec->users == 0)
                list_append(&s->idle, &spec->idle);
}

// ------------------------------------------------------------------------------------------------ former

int state_name_spec(ClusterState *s, const Hash *hash, uint64_t job) {
        SpecEntry *spec = cluster_state_find_spec(s, hash);

        if (!spec || spec->job >= job)
                return 0;
        spec->job = job;
        return put_version(s, spec);
}

// Nobody has it, and it is in no list.
static int drop(ClusterState *s, SpecEntry *spec) {
        int r = paged_table_remove(&s->spec_entries, spec->number);

        if (r < 0)
                return r;
        map_take(&s->specs, &spec->hash, sizeof spec->hash);
        retire(s, spec);
        return 0;
}

static int keep(ClusterState *s, SpecEntry *spec) {
        spec->former = ++s->last_former_spec;
        list_append(&s->former_specs, &spec->idle);
        s->former_specs_bytes += bytes_of(spec);
        return put_version(s, spec);
}

static bool is_named(const ClusterState *s, const SpecEntry *spec) {
        return spec->job > 0 && spec->job >= cluster_state_first_job(s);
}

static int drop_former(ClusterState *s, size_t n_idle) {
        size_t most = MAX_OF((size_t) CLUSTER_JOBS_DROPPED, 2 * n_idle);
        int r = 0;

        while (r == 0 && most-- > 0 && !list_is_empty(&s->former_specs)) {
                SpecEntry *oldest = CONTAINER_OF(s->former_specs.next, SpecEntry, idle);

                if (is_named(s, oldest) && s->former_specs_bytes <= cluster_state_history_bytes(s))
                        break;
                list_unlink(&oldest->idle);
                leave_former(s, oldest);
                r = drop(s, oldest);
        }
        return r;
}

int state_settle_specs(ClusterState *s) {
        size_t n_idle = 0;

        list_foreach_safe (i, &s->idle) {
                SpecEntry *spec = CONTAINER_OF(i, SpecEntry, idle);
                int r;

                list_unlink(i);
                r = is_named(s, spec) ? keep(s, spec) : drop(s, spec);
                if (r < 0)
                        return r;
                n_idle++;
        }
        return drop_former(s, n_idle);
}

int state_load_former_spec(ClusterState *s, const Hash *hash, uint64_t job) {
        SpecEntry *spec = cluster_state_find_spec(s, hash);

        list_unlink(&spec->idle);
        spec->job = job;
        return keep(s, spec);
}

// The end of the batch drops it, unless somebody has it again by then.
int state_forget_spec(ClusterState *s, const Hash *hash, size_t *ret_n) {
        SpecEntry *spec = cluster_state_find_spec(s, hash);

        if (!spec || spec->former == 0)
                return 0;
        list_unlink(&spec->idle);
        leave_former(s, spec);
        spec->job = 0;
        list_append(&s->idle, &spec->idle);
        ++*ret_n;
        return put_version(s, spec);
}

uint64_t cluster_state_spec_revision(const ClusterState *s, const SpecEntry *spec) {
        return cluster_state_job_revision(s, spec->job);
}

size_t cluster_state_former_specs_bytes(const ClusterState *s) {
        return s->former_specs_bytes;
}
