// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See hosts-checks.h: what a host that went down finds again. The fence is looked at where argosyd reads and
// writes it; unit files each second, and whenever argosyd died at a change of a file, before anybody could
// mend them.
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "argosy.pb-c.h"
#include "buf.h"
#include "daemon.h"
#include "fence.h"
#include "fileio.h"
#include "hash.h"
#include "hosts-checks.h"
#include "hosts-faults.h"
#include "hosts-rot.h"
#include "hosts-story.h"
#include "map.h"
#include "sim-disk.h"
#include "sim-host.h"
#include "sim-users.h"
#include "story.h"
#include "str.h"
#include "test.h"
#include "unit-file.h"


int __real_fence_save(const char *state_dir, const Fence *f);
int __wrap_fence_save(const char *state_dir, const Fence *f);
int __real_fence_load(const char *state_dir, Fence *ret);
int __wrap_fence_load(const char *state_dir, Fence *ret);

static struct {
        Fence obeyed[SIM_CLUSTER_MAX + 1]; // by each host
        Hash who[SIM_CLUSTER_MAX + 1];     // it was then: the cluster and its number there
        Map contents;                      // Hash: of unit files that the log has had
} disk_checks;

// ------------------------------------------------------------------------------------------------ the fence

// Whoever has become another host begins anew.
static Fence *obeyed_of(const SimHost *h) {
        uint32_t number = sim_host_number(h);
        const Argosy__PeersFile *peers = sim_machine(number)->daemon->peers;
        Hash cluster = hash_of(peers->cluster_id.data, peers->cluster_id.len), who;
        struct {
                Hash cluster;
                uint32_t host;
        } key = {cluster, peers->host};

        who = hash_of(&key, sizeof(key));
        if (!hash_equal(&who, &disk_checks.who[number]))
                disk_checks.obeyed[number] = (Fence){};
        disk_checks.who[number] = who;
        return &disk_checks.obeyed[number];
}

int __wrap_fence_save(const char *state_dir, const Fence *f) {
        int r = __real_fence_save(state_dir, f);
        SimHost *h = sim_current();
        Fence *obeyed = h ? obeyed_of(h) : NULL;

        if (r == 0 && h && fence_compare(f, obeyed) > 0)
                *obeyed = *f;
        return r;
}

int __wrap_fence_load(const char *state_dir, Fence *ret) {
        int r = __real_fence_load(state_dir, ret);
        SimHost *h = sim_current();
        const Fence *obeyed = h ? obeyed_of(h) : NULL;

        if (r < 0 || !h || obeyed->generation == 0)
                return r;
        check_says("fence-is-kept");
        if (fence_compare(ret, obeyed) < 0)
                check_fail("fence-is-kept",
                           "n%u was to obey term %" PRIu64 ", index %" PRIu64 ", and knows of term %" PRIu64
                           ", index %" PRIu64,
                           sim_host_number(h), obeyed->term, obeyed->index, ret->term, ret->index);
        return r;
}

// ----------------------------------------------------------------------------------------------- unit files

static void add_content(const Argosy__LogOp *op) {
        Hash *hash;

        if (op->op_case != ARGOSY__LOG_OP__OP_SPEC)
                return;
        hash = malloc(sizeof(*hash));
        if (!hash)
                abort();
        *hash = hash_of(op->spec->content.data, op->spec->content.len);
        if (map_add(&disk_checks.contents, hash->bytes, HASH_SIZE, hash) < 0)
                free(hash); // known
}

void disk_on_entry(const Argosy__LogBatch *batch) {
        for (size_t i = 0; i < batch->n_ops; i++)
                add_content(batch->ops[i]);
}

static void look_at_file(const SimMachine *m, const char *dir, const char *name) {
        _cleanup_free_ char *path = str_printf("%s/%s", dir, name);
        _cleanup_buf_ Buf content = {};
        Hash hash;

        if (!path || file_read(AT_FDCWD, path, UNIT_FILE_MAX, &content) < 0)
                return; // a link to nothing
        check_says("units-are-whole");
        hash = hash_of(content.data, content.len);
        if (!map_find(&disk_checks.contents, hash.bytes, HASH_SIZE))
                check_fail("units-are-whole", "%s of n%u has %zu bytes, which no unit file of the log is",
                           name, m->number, content.len);
}

// What argosy writes there by other names is none of the log's.
static bool is_unit_of_story(const char *name) {
        for (size_t i = 0; i < asks.n_units; i++)
                if (streq(asks.units[i].name, name) || streq(asks.units[i].file, name))
                        return true;
        return false;
}

static void look_at_dir(const SimMachine *m, const char *dir) {
        DIR *stream = opendir(dir);

        if (!stream)
                return;
        for (const struct dirent *e; (e = readdir(stream));)
                if (is_unit_of_story(e->d_name))
                        look_at_file(m, dir, e->d_name);
        closedir(stream);
}

static void look_at_units(const SimMachine *m) {
        _cleanup_free_ char *dir = str_printf("%s/units", m->dir), *users = sim_user_unit_dir(m);

        look_at_dir(m, dir);
        if (m->user.pid1)
                look_at_dir(m, users);
}

void disk_on_look(void) {
        for (uint32_t i = 1; i <= sim_cluster_size(); i++)
                look_at_units(sim_machine(i));
}

// -------------------------------------------------------------------------------------- who ends, who comes

static void on_end(SimMachine *m, int status) {
        story_tell("n%u: argosyd has ended with status %i", m->number, status);
        if (status == SIM_ABORTED || !hosts_faults_disk_was_in_trouble(m->number))
                check_fail("nobody-ends", "argosyd of n%u has ended by itself, with status %i", m->number,
                           status);
        hosts_faults_touch(m->number);
}

static void on_died(SimMachine *m) {
        story_tell("n%u: %s at a change of a file", m->number,
                   m->dies_with_power ? "the power failed" : "argosyd was killed");
        hosts_faults_touch(m->number);
        hosts_story_catch_up();
        // a backup has an older fence: what it has obeyed since nobody knows any more
        if (sim_disk_is_of_before(m->number))
                disk_fence_is_lost(m->number);
        look_at_units(m);
}

static void on_executes(SimMachine *m) {
        story_tell("n%u: argosyd executes itself again", m->number);
        hosts_faults_touch(m->number);
}

static void on_refused(SimMachine *m, const char *why) {
        story_tell("n%u does not start: %s", m->number, why ?: "");
        hosts_faults_touch(m->number);
        if (hosts_rot_is_refused(m->number, why))
                return;
        check_says("comes-up");
        if (!why || !*why)
                check_fail("comes-up", "n%u does not start and does not say why", m->number);
        if (!hosts_faults_disk_was_in_trouble(m->number))
                check_fail("comes-up", "n%u does not start: %s", m->number, why);
}

void disk_fence_is_lost(uint32_t number) {
        disk_checks.obeyed[number] = (Fence){};
}

void disk_begin(void) {
        memset(&disk_checks, 0, sizeof(disk_checks));
        sim_cluster_on_end(&(SimEndings){
                .ended = on_end, .died = on_died, .refused = on_refused, .executes = on_executes});
}

void disk_end(void) {
        map_done_with(&disk_checks.contents, free);
}
