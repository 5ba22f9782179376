// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Contents of unit files, by hash, each once however many units have it. At the end of a batch each is one
// of these:
//
//      in use    a unit has it, or a rollout that is under way leads from or to it
//      former    nobody has it, and a job that is kept names it: so that the job can be read, and undone
//      dropped   neither
//
// Jobs are dropped in the order of their numbers, so of all that name a content only the newest counts:
// nobody has to count jobs, nor to look into those that are dropped. Former contents stand in the order in
// which their last users left them, and go at the old end, by what the log alone says (as do jobs), some in
// each entry: those whose job is dropped, and as many as are beyond cluster_state_history_bytes(). One whose
// newest job is younger than its place says holds up those behind it until then. What goes so is missing in
// jobs that name it, and no more than that.
//
// A content may name others, the files that come with it (carried-files.h). It is linked to them when the
// first unit gets it, and holds them until it is dropped itself: so a former content has all its files, and
// a job can be undone whole or not at all. A file that only former contents hold counts as former, too.
//
// A snapshot sees SpecVersion; of a SpecEntry only what does not change. -ENOMEM: the state is not used any
// more.

#include "cluster-state-private.h"

#include <errno.h>

#include "carried-files.h"

typedef struct SpecFiles {
        size_t n;
        SpecEntry *list[];
} SpecFiles;

static void spec_entry_free(void *p) {
        SpecEntry *spec = p;

        unit_file_free(spec->lazy_file);
        free(spec->files);
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

Argosy__FileChange spec_entry_change(const SpecEntry *now, SpecEntry *next) {
        const UnitFile *file;

        if (carried_files_text_len(next->content, next->len) == next->len ||
            spec_entry_file(next, &file) != 0)
                return ARGOSY__FILE_CHANGE__FILE_CHANGE_RESTART;
        return carried_files_change(now->content, now->len, file->file_change, next->content, next->len);
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

static bool is_former_file(const SpecEntry *spec) {
        return spec->former_users > 0 && spec->users == spec->former_users;
}

// What counts of it in the sums, from now on or no longer.
static void count(ClusterState *s, const SpecEntry *spec, bool more) {
        size_t sign = more ? 1 : SIZE_MAX;

        if (is_former_file(spec))
                s->former_specs_bytes += sign * bytes_of(spec);
        else if (spec->is_file && spec->users > 0)
                s->files_bytes += sign * spec->len;
}

static void change_users(ClusterState *s, SpecEntry *spec, int users, int former_users) {
        count(s, spec, false);
        spec->users += (size_t) users;
        spec->former_users += (uint32_t) former_users;
        count(s, spec, true);
}

static void change_former_users(ClusterState *s, const SpecEntry *spec, int by) {
        for (size_t i = 0; spec->files && i < spec->files->n; i++)
                change_users(s, spec->files->list[i], 0, by);
}

static void leave_former(ClusterState *s, SpecEntry *spec) {
        s->former_specs_bytes -= bytes_of(spec);
        spec->former = 0;
        change_former_users(s, spec, -1);
}

static int hold(ClusterState *s, SpecEntry *spec) {
        change_users(s, spec, 1, 0);
        list_unlink(&spec->idle);
        if (spec->former == 0)
                return 0;
        leave_former(s, spec);
        return put_version(s, spec);
}

static void let_go(ClusterState *s, SpecEntry *spec) {
        assert(spec->users > 0);
        change_users(s, spec, -1, 0);
        if (spec->users == 0)
                list_append(&s->idle, &spec->idle);
}

// ------------------------------------------------------------------------------------------------ files

static int hold_file(ClusterState *s, SpecFiles *files, const Hash *hash) {
        SpecEntry *file = cluster_state_find_spec(s, hash);
        int r = file ? hold(s, file) : -EBADMSG;

        if (r < 0)
                return r;
        count(s, file, false);
        file->is_file = true;
        count(s, file, true);
        files->list[files->n++] = file;
        return 0;
}

static int link_files(ClusterState *s, SpecEntry *spec) {
        _cleanup_carried_files_ CarriedFiles named = {};
        int r = carried_files_read(spec->content, spec->len, &named);

        if (r == 0 && named.n > 0) {
                spec->files = calloc(1, sizeof(*spec->files) + named.n * sizeof(*spec->files->list));
                r = spec->files ? 0 : -ENOMEM;
        }
        for (size_t i = 0; r == 0 && i < named.n; i++)
                r = hold_file(s, spec->files, &named.list[i].hash);
        spec->is_linked = r == 0;
        return r;
}

static void unlink_files(ClusterState *s, SpecEntry *spec) {
        for (size_t i = 0; spec->files && i < spec->files->n; i++)
                let_go(s, spec->files->list[i]);
        if (spec->files)
                spec->files->n = 0;
        spec->is_linked = false;
}

bool spec_entry_names(const SpecEntry *spec, const SpecEntry *file) {
        for (size_t i = 0; spec->files && i < spec->files->n; i++)
                if (spec->files->list[i] == file)
                        return true;
        return false;
}

bool cluster_state_has_files_of(const ClusterState *s, const SpecEntry *spec) {
        _cleanup_carried_files_ CarriedFiles named = {};
        bool all = spec->is_linked || carried_files_read(spec->content, spec->len, &named) == 0;

        for (size_t i = 0; all && i < named.n; i++)
                all = cluster_state_find_spec(s, &named.list[i].hash);
        return all;
}

size_t cluster_state_files_bytes(const ClusterState *s) {
        return s->files_bytes;
}

size_t cluster_state_files_bytes_to_come(const ClusterState *s, const SpecEntry *spec) {
        size_t bytes = 0;

        for (size_t i = 0; spec->files && spec->users == 0 && i < spec->files->n; i++)
                bytes += is_former_file(spec->files->list[i]) ? spec->files->list[i]->len : 0;
        return bytes;
}

int state_use_spec(ClusterState *s, SpecEntry *spec) {
        int r = spec->is_linked ? 0 : link_files(s, spec);

        return r < 0 ? r : hold(s, spec);
}

void state_unuse_spec(ClusterState *s, SpecEntry *spec) {
        let_go(s, spec);
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
        unlink_files(s, spec);
        map_take(&s->specs, &spec->hash, sizeof spec->hash);
        retire(s, spec);
        return 0;
}

static int keep(ClusterState *s, SpecEntry *spec) {
        spec->former = ++s->last_former_spec;
        list_append(&s->former_specs, &spec->idle);
        s->former_specs_bytes += bytes_of(spec);
        change_former_users(s, spec, 1);
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
                if (is_named(s, oldest))
                        s->jobs.undo_from = MAX_OF(s->jobs.undo_from, oldest->job + 1);
                list_unlink(&oldest->idle);
                leave_former(s, oldest);
                r = drop(s, oldest);
        }
        return r;
}

// Drops contents that are not used, and their files.
static int settle_idle(ClusterState *s, size_t *ret_n) {
        int r = 0;

        for (*ret_n = 0; r == 0 && !list_is_empty(&s->idle); ++*ret_n) {
                SpecEntry *spec = CONTAINER_OF(s->idle.next, SpecEntry, idle);

                list_unlink(&spec->idle);
                r = is_named(s, spec) ? keep(s, spec) : drop(s, spec);
        }
        return r;
}

int state_settle_specs(ClusterState *s) {
        size_t n_idle, n_files;
        int r = settle_idle(s, &n_idle);

        if (r == 0)
                r = drop_former(s, n_idle);
        return r < 0 ? r : settle_idle(s, &n_files);
}

int state_load_former_spec(ClusterState *s, const Hash *hash, uint64_t job) {
        SpecEntry *spec = cluster_state_find_spec(s, hash);
        int r = link_files(s, spec);

        list_unlink(&spec->idle);
        spec->job = job;
        return r < 0 ? r : keep(s, spec);
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
