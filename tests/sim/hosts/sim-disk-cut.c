// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See sim-disk.h: what a power cut leaves. Of what was not synced it draws for each file, and for all names,
// whether everything, nothing, what came first, or any part is there, or takes what a sweep says
// (sim-disk-losses.c), and makes the files anew from that.
#include "sim-disk-nodes.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fileio.h"
#include "macro.h"
#include "str.h"

static bool is_kept(SimFate *f) {
        switch (f->mercy) {
        case KEEP_ALL:
                return true;
        case KEEP_FIRST:
                f->over |= draw_below(sim_draw(), 3) == 0;
                return !f->over;
        case KEEP_ANY:
                return draw_below(sim_draw(), 2);
        default:
                return false;
        }
}

static SimFate draw_fate(void) {
        return (SimFate){.mercy = (SimMercy) draw_below(sim_draw(), _SIM_MERCIES)};
}

// `unseen`: what was reserved up to there is lost. A write within that does not say that the file is longer,
// so nothing of it is seen behind the file's end.
void sim_disk_cut_write(Node *n, const Written *w, SimFate *f, uint64_t *unseen) {
        uint64_t at = w->offset, end = w->offset + w->len, seen;

        if (!w->data) {
                if (is_kept(f))
                        sim_disk_apply_write(n, w);
                else if (w->offset > n->size)
                        *unseen = MAX_OF(*unseen, w->offset);
                return;
        }
        seen = end <= *unseen ? n->size : end;
        while (at < end) {
                uint64_t next = MIN_OF((at / SIM_SECTOR + 1) * SIM_SECTOR, end);

                if (is_kept(f) && at < seen)
                        sim_disk_put_content(n, at, w->data + (at - w->offset),
                                             (size_t) (MIN_OF(next, seen) - at));
                else
                        sim_disks.figures.sectors_lost++;
                at = next;
        }
}

static void cut_content(Node *n) {
        SimFate f = draw_fate();
        uint64_t unseen = 0;

        for (size_t i = 0; i < n->n_writes; i++)
                if (!n->writes[i].lost)
                        sim_disk_cut_write(n, &n->writes[i], &f, &unseen);
        sim_disk_forget_writes(n);
}

static void cut_names(Disk *d) {
        SimFate f = draw_fate();

        for (size_t i = 0; i < d->n_changes; i++) {
                if (is_kept(&f))
                        sim_disk_apply_name_change(&d->changes[i]);
                else
                        sim_disks.figures.names_lost++;
                sim_disk_forget_change(&d->changes[i]);
        }
        d->n_changes = 0;
}

static void make_again(Node *dir, const char *path) {
        sim_disk_copy_names(&dir->names, &dir->synced_names);
        for (size_t i = 0; i < dir->names.n; i++) {
                Node *n = dir->names.list[i].node;
                _cleanup_free_ char *below =
                        sim_disk_checked(str_printf("%s/%s", path, dir->names.list[i].name));

                if (n->is_dir) {
                        sim_disk_must(mkdir(below, 0700) < 0 ? -errno : 0, below);
                        make_again(n, below);
                } else {
                        sim_disk_must(file_replace(AT_FDCWD, below, n->synced.data, n->synced.len, 0600, 0),
                                      below);
                        sim_disk_must(
                                n->size > n->synced.len && truncate(below, (off_t) n->size) < 0 ? -errno : 0,
                                below);
                }
        }
}

void sim_disk_cut(uint32_t number) {
        _cleanup_free_ char *path = sim_disk_state_of(number);
        Disk *d = &sim_disks.disks[number];
        Node *root = d->root;

        sim_disks.figures.cuts++;
        if (d->loses)
                sim_disk_lose_operations(d);
        else {
                for (Node *n = d->all; n; n = n->next)
                        cut_content(n);
                cut_names(d);
        }
        sim_disk_die_at(number, 0);
        d->root = NULL; // what follows is not the host's
        sim_disk_must(dir_empty(AT_FDCWD, path), path);
        make_again(root, path);
        d->root = root;
        if (d->brings_back)
                sim_disk_be_of_before(number);
}
