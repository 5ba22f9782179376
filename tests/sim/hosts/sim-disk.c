// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See sim-disk.h. Of each file that is kept: its content as of the last sync, and the writes since. Of each
// directory: its names as they are, as of its last sync, and in the host's list the changes of names since,
// in order. What becomes of these is said by sim-disk-cut.c, sim-disk-losses.c and sim-disk-old.c.
#include "sim-disk-nodes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array.h"
#include "buf.h"
#include "fileio.h"
#include "macro.h"
#include "str.h"

enum { OPEN_MAX_FD = 65536, CONTENT_MAX = 64 * 1024 * 1024 };

SimDisks sim_disks;

// ------------------------------------------------------------------------------------------------ names

void *sim_disk_checked(void *p) {
        if (!p) {
                perror("disk of a host");
                abort();
        }
        return p;
}

void sim_disk_must(int r, const char *what) {
        if (r >= 0)
                return;
        fprintf(stderr, "%s: %s\n", what, strerror(-r));
        abort();
}

char *sim_disk_state_of(uint32_t number) {
        return sim_disk_checked(str_printf("%s/%u/state", sim_disks.dir, number));
}

static Named *names_find(const Names *names, const char *name) {
        for (size_t i = 0; i < names->n; i++)
                if (streq(names->list[i].name, name))
                        return &names->list[i];
        return NULL;
}

static void names_put(Names *names, const char *name, Node *node) {
        Named *there = names_find(names, name);

        if (there) {
                there->node = node;
                return;
        }
        if (ARRAY_GROW(names->list, names->room, names->n + 1) < 0)
                abort();
        names->list[names->n++] = (Named){sim_disk_checked(strdup(name)), node};
}

// If it is that one's.
static void names_drop(Names *names, const char *name, const Node *node) {
        Named *there = names_find(names, name);

        if (!there || there->node != node)
                return;
        free(there->name);
        *there = names->list[--names->n];
}

static void names_done(Names *names) {
        for (size_t i = 0; i < names->n; i++)
                free(names->list[i].name);
        free(names->list);
        *names = (Names){};
}

void sim_disk_copy_names(Names *to, const Names *from) {
        names_done(to);
        for (size_t i = 0; i < from->n; i++)
                names_put(to, from->list[i].name, from->list[i].node);
}

static Node *node_new(Disk *d, bool is_dir) {
        Node *n = sim_disk_checked(calloc(1, sizeof(*n)));

        n->is_dir = is_dir;
        n->next = d->all;
        d->all = n;
        return n;
}

void sim_disk_forget_writes(Node *n) {
        for (size_t i = 0; i < n->n_writes; i++)
                free(n->writes[i].data);
        n->n_writes = 0;
}

void sim_disk_forget_change(NameChange *c) {
        free(c->name);
        free(c->to_name);
}

void sim_disk_apply_name_change(const NameChange *c) {
        switch (c->what) {
        case MADE:
                names_put(&c->dir->synced_names, c->name, c->node);
                break;
        case REMOVED:
                names_drop(&c->dir->synced_names, c->name, c->node);
                break;
        case RENAMED:
                names_drop(&c->dir->synced_names, c->name, c->node);
                names_put(&c->to_dir->synced_names, c->to_name, c->node);
                break;
        }
}

static void add_change(Disk *d, NameChange c) {
        if (!sim_current()) { // from outside: it is synced
                sim_disk_apply_name_change(&c);
                sim_disk_forget_change(&c);
                return;
        }
        if (ARRAY_GROW(d->changes, d->room, d->n_changes + 1) < 0)
                abort();
        c.number = ++d->n_operations;
        d->changes[d->n_changes++] = c;
}

void sim_disk_clear(Disk *d) {
        for (Node *n = d->all, *next; n; n = next) {
                next = n->next;
                sim_disk_forget_writes(n);
                free(n->writes);
                buf_done(&n->synced);
                names_done(&n->names);
                names_done(&n->synced_names);
                free(n);
        }
        for (size_t i = 0; i < d->n_changes; i++)
                sim_disk_forget_change(&d->changes[i]);
        free(d->changes);
        free(d->unsynced);
        *d = (Disk){};
}

void sim_disk_begin(const char *dir) {
        memset(&sim_disks, 0, sizeof(sim_disks));
        str_fit(sim_disks.dir, sizeof(sim_disks.dir), "%s", dir);
        sim_disks.files = sim_disk_checked(calloc(OPEN_MAX_FD, sizeof(*sim_disks.files)));
}

void sim_disk_end(void) {
        for (size_t i = 0; i < SIM_HOSTS_MAX; i++)
                sim_disk_clear(&sim_disks.disks[i]);
        free(sim_disks.files);
        memset(&sim_disks, 0, sizeof(sim_disks));
}

SimDiskFigures sim_disk_figures(void) {
        return sim_disks.figures;
}

uint64_t sim_disk_changes(uint32_t number) {
        return sim_disks.disks[number].n_begun;
}

// ------------------------------------------------------------------------------------------------ places

// The part of a path up to a slash; returns what is behind it.
static const char *take_part(const char *path, char ret[static NAME_MAX + 1]) {
        size_t len = strcspn(path, "/");

        snprintf(ret, NAME_MAX + 1, "%.*s", (int) MIN_OF(len, (size_t) NAME_MAX), path);
        path += len;
        while (*path == '/')
                path++;
        return path;
}

// Below a directory that is kept. False: there is no such directory.
static bool walk(Node *dir, const char *path, Place *ret) {
        char part[NAME_MAX + 1];

        ret->dir = ret->node = dir;
        ret->name = ".";
        while (*path) {
                const char *rest = take_part(path, part);
                Named *there;

                if (!ret->node || !ret->node->is_dir)
                        return false;
                if (!streq(part, ".")) {
                        there = names_find(&ret->node->names, part);
                        ret->dir = ret->node;
                        ret->node = there ? there->node : NULL;
                        ret->name = path;
                }
                path = rest;
        }
        return true;
}

static bool find_absolute(const char *path, Place *ret) {
        size_t len = strlen(sim_disks.dir);
        char part[NAME_MAX + 1];
        unsigned number;

        if (len == 0 || strncmp(path, sim_disks.dir, len) != 0 || path[len] != '/')
                return false;
        path = take_part(path + len + 1, part);
        number = (unsigned) strtoul(part, NULL, 10);
        if (number == 0 || number >= SIM_HOSTS_MAX)
                return false;
        ret->number = number;
        path = take_part(path, part);
        ret->kept = streq(part, "state") && sim_disks.disks[number].root;
        return !ret->kept || walk(sim_disks.disks[number].root, path, ret);
}

bool sim_disk_find(int dirfd, const char *path, Place *ret) {
        OpenFile *f = sim_disk_file(dirfd);

        *ret = (Place){};
        if (*path == '/')
                return find_absolute(path, ret);
        if (!f)
                return false;
        ret->number = f->number;
        ret->kept = f->kept && f->node;
        return !ret->kept || walk(f->node, path, ret);
}

// By the names that are on the disk.
static const Node *find_synced(const Node *dir, const char *path) {
        char part[NAME_MAX + 1];

        while (dir && *path) {
                const Named *there;

                path = take_part(path, part);
                there = names_find(&dir->synced_names, part);
                dir = there ? there->node : NULL;
        }
        return dir;
}

// After a sync that failed what is read may be another content than that of the disk.
bool sim_disk_is_synced(uint32_t number, const char *name) {
        _cleanup_free_ char *dir = sim_disk_state_of(number),
                            *path = sim_disk_checked(str_printf("%s/%s", dir, name));
        const Node *n = find_synced(sim_disks.disks[number].root, name);
        _cleanup_buf_ Buf now = {};
        Place p;

        if (!n || !sim_disk_find(AT_FDCWD, path, &p) || p.node != n || n->n_writes > 0)
                return false;
        sim_disk_must(file_read(AT_FDCWD, path, n->size, &now), path);
        for (size_t i = n->synced.len; i < now.len; i++)
                if (now.data[i] != 0)
                        return false;
        return now.len == n->size && memcmp(now.data, n->synced.data, MIN_OF(now.len, n->synced.len)) == 0;
}

OpenFile *sim_disk_file(int fd) {
        return sim_disks.files && fd >= 0 && fd < OPEN_MAX_FD && sim_disks.files[fd].number > 0
                       ? &sim_disks.files[fd]
                       : NULL;
}

void sim_disk_opened(int fd, const Place *p) {
        if (fd >= OPEN_MAX_FD)
                abort();
        sim_disks.files[fd] = (OpenFile){.number = p->number, .kept = p->kept, .node = p->node};
        sim_disks.last_file = MAX_OF(sim_disks.last_file, fd);
}

void sim_disk_closed(int fd) {
        if (sim_disks.files && fd >= 0 && fd < OPEN_MAX_FD)
                sim_disks.files[fd] = (OpenFile){};
}

void sim_disk_let_go(uint32_t number) {
        for (int fd = 0; fd <= sim_disks.last_file; fd++)
                if (sim_disks.files[fd].number == number && !sim_disks.files[fd].stream)
                        close(fd);
}

// ------------------------------------------------------------------------------------------ what goes wrong

void sim_disk_die_at(uint32_t number, unsigned n) {
        sim_disks.disks[number].dies_in = n;
        sim_disks.disks[number].dying = false;
}

void sim_disk_trouble(uint32_t number, SimDiskTrouble trouble) {
        sim_disks.disks[number].trouble = trouble;
}

void sim_disk_forgive(void) {
        sim_disks.forgives = true;
}

bool sim_disk_is_well(uint32_t number) {
        const SimDiskTrouble *t = &sim_disks.disks[number].trouble;

        return !t->write_fails && !t->sync_fails && !t->disk_full && !t->run_full;
}

bool sim_disk_has_no_room(uint32_t number, bool kept) {
        return kept ? sim_disks.disks[number].trouble.disk_full : sim_disks.disks[number].trouble.run_full;
}

// Only what a host does by itself.
static Disk *of_running(uint32_t number) {
        SimHost *h = sim_current();

        return h && sim_host_number(h) == number && sim_host_can_die() ? &sim_disks.disks[number] : NULL;
}

static _Noreturn void die(Disk *d) {
        d->dies_in = 0;
        d->dying = false;
        sim_disks.figures.deaths++;
        sim_host_die();
}

int sim_disk_begin_change(uint32_t number, bool kept, Change change, bool grows) {
        Disk *d = of_running(number);
        SimDiskTrouble *t;

        if (!d)
                return 0;
        t = &d->trouble;
        sim_disks.figures.changes++;
        d->n_begun++;
        if (kept)
                sim_stall(change == CHANGE_SYNC ? t->sync_us : t->change_us);
        if (grows && (kept ? t->disk_full : t->run_full)) {
                sim_disks.figures.refusals++;
                return -ENOSPC;
        }
        if (kept && (change == CHANGE_SYNC ? t->sync_fails : t->write_fails)) {
                sim_disks.figures.failures++;
                if (t->once)
                        t->sync_fails = t->write_fails = false;
                return -EIO;
        }
        if (d->dies_in == 0 || --d->dies_in > 0)
                return 0;
        if (!d->loses && draw_below(sim_draw(), 3) == 0)
                die(d);
        d->dying = true;
        return 0;
}

size_t sim_disk_part(uint32_t number, uint64_t offset, size_t len) {
        Disk *d = of_running(number);
        bool torn = d && d->dying && !d->loses;
        uint64_t end =
                torn ? (offset + draw_below(sim_draw(), (unsigned) len + 1)) / SIM_SECTOR * SIM_SECTOR : 0;
        size_t part = torn ? (size_t) MIN_OF(end > offset ? end - offset : 0, (uint64_t) len) : len;

        // Behind it: the last sector need not be a whole one.
        if (torn && draw_below(sim_draw(), 3) == 0)
                part = len;
        sim_disks.figures.cut_short += part < len;
        return part;
}

void sim_disk_end_change(uint32_t number) {
        Disk *d = of_running(number);

        if (!d)
                return;
        if (sim_disks.counts)
                sim_disk_note_unsynced(d);
        if (d->dying)
                die(d);
}

// ------------------------------------------------------------------------------------------------ changes

void sim_disk_note_made(Place *p, bool is_dir) {
        Disk *d = &sim_disks.disks[p->number];

        if (!p->kept || p->node)
                return;
        p->node = node_new(d, is_dir);
        sim_disk_note_named(p);
}

Node *sim_disk_note_unnamed(const Place *p) {
        return p->kept ? node_new(&sim_disks.disks[p->number], false) : NULL;
}

void sim_disk_note_named(const Place *p) {
        Disk *d = &sim_disks.disks[p->number];
        char name[NAME_MAX + 1];

        (void) take_part(p->name, name);
        names_put(&p->dir->names, name, p->node);
        add_change(d, (NameChange){.what = MADE,
                                   .node = p->node,
                                   .dir = p->dir,
                                   .name = sim_disk_checked(strdup(name))});
}

void sim_disk_note_removed(const Place *p) {
        char name[NAME_MAX + 1];

        if (!p->kept || !p->node)
                return;
        (void) take_part(p->name, name);
        names_drop(&p->dir->names, name, p->node);
        add_change(&sim_disks.disks[p->number], (NameChange){.what = REMOVED,
                                                             .node = p->node,
                                                             .dir = p->dir,
                                                             .name = sim_disk_checked(strdup(name))});
}

void sim_disk_note_renamed(const Place *from, const Place *to) {
        char name[NAME_MAX + 1], to_name[NAME_MAX + 1];

        if (!from->kept || !to->kept || !from->node)
                return;
        (void) take_part(from->name, name);
        (void) take_part(to->name, to_name);
        names_drop(&from->dir->names, name, from->node);
        names_put(&to->dir->names, to_name, from->node);
        add_change(&sim_disks.disks[from->number],
                   (NameChange){.what = RENAMED,
                                .node = from->node,
                                .dir = from->dir,
                                .to_dir = to->dir,
                                .name = sim_disk_checked(strdup(name)),
                                .to_name = sim_disk_checked(strdup(to_name))});
}

static void content_reach(Buf *b, size_t size) {
        if (size > CONTENT_MAX)
                abort();
        if (size > b->len) {
                memset(sim_disk_checked(buf_reserve(b, size - b->len)), 0, size - b->len);
                b->len = size;
        }
}

void sim_disk_put_content(Node *n, uint64_t offset, const uint8_t *data, size_t len) {
        content_reach(&n->synced, (size_t) offset + len);
        memcpy(n->synced.data + offset, data, len);
        n->size = MAX_OF(n->size, offset + len);
}

// What is reserved takes no room here.
static void content_cut(Node *n, uint64_t size) {
        n->synced.len = MIN_OF(n->synced.len, (size_t) size);
        n->size = size;
}

void sim_disk_apply_write(Node *n, const Written *w) {
        if (w->data)
                sim_disk_put_content(n, w->offset, w->data, w->len);
        else
                content_cut(n, w->offset);
}

static void add_write(Node *n, Written w) {
        SimHost *h = sim_current();

        if (!h) {
                sim_disk_apply_write(n, &w);
                free(w.data);
                return;
        }
        if (ARRAY_GROW(n->writes, n->room, n->n_writes + 1) < 0)
                abort();
        w.number = ++sim_disks.disks[sim_host_number(h)].n_operations;
        n->writes[n->n_writes++] = w;
}

void sim_disk_note_written(Node *n, uint64_t offset, const void *data, size_t len) {
        uint8_t *copy;

        if (!n || len == 0)
                return;
        copy = sim_disk_checked(malloc(len));
        memcpy(copy, data, len);
        add_write(n, (Written){.offset = offset, .len = len, .data = copy});
}

void sim_disk_note_truncated(Node *n, uint64_t size) {
        if (n)
                add_write(n, (Written){.offset = size});
}

static bool touches(const NameChange *c, const Node *dir) {
        return c->dir == dir || c->to_dir == dir;
}

static void sync_names(Disk *d, const Node *dir) {
        size_t n = 0;

        for (size_t i = 0; i < d->n_changes; i++)
                if (touches(&d->changes[i], dir)) {
                        sim_disk_apply_name_change(&d->changes[i]);
                        sim_disk_forget_change(&d->changes[i]);
                } else
                        d->changes[n++] = d->changes[i];
        d->n_changes = n;
}

void sim_disk_note_synced(uint32_t number, Node *n) {
        if (!n)
                return;
        if (n->is_dir) {
                sync_names(&sim_disks.disks[number], n);
                return;
        }
        for (size_t i = 0; i < n->n_writes; i++)
                if (!n->writes[i].lost)
                        sim_disk_apply_write(n, &n->writes[i]);
        sim_disk_forget_writes(n);
}

void sim_disk_note_sync_failed(uint32_t number, Node *n) {
        if (n && !n->is_dir && !sim_disks.forgives)
                for (size_t i = 0; i < n->n_writes; i++)
                        n->writes[i].lost |= draw_below(sim_draw(), 2);
}

// ------------------------------------------------------------------------------------------ what is there

static void adopt(Disk *d, Node *dir, const char *path) {
        DIR *stream = sim_disk_checked(opendir(path));

        for (struct dirent *e; (e = readdir(stream));) {
                _cleanup_free_ char *below = sim_disk_checked(str_printf("%s/%s", path, e->d_name));
                struct stat st;
                Node *n;

                if (streq(e->d_name, ".") || streq(e->d_name, ".."))
                        continue;
                sim_disk_must(lstat(below, &st) < 0 ? -errno : 0, below);
                n = node_new(d, S_ISDIR(st.st_mode));
                names_put(&dir->names, e->d_name, n);
                if (n->is_dir)
                        adopt(d, n, below);
                else
                        sim_disk_must(file_read(AT_FDCWD, below, CONTENT_MAX, &n->synced), below);
                n->size = n->synced.len;
        }
        closedir(stream);
        sim_disk_copy_names(&dir->synced_names, &dir->names);
}

void sim_disk_adopt(uint32_t number) {
        _cleanup_free_ char *path = sim_disk_state_of(number);
        Disk *d = &sim_disks.disks[number];
        Node *root = node_new(d, true);

        adopt(d, root, path);
        d->root = root;
}
