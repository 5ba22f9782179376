// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See sim-disk.h. Of each file that is kept: its content as of the last sync, and the writes since. Of each
// directory: its names as they are, as of its last sync, and in the host's list the changes of names since,
// in order. A power cut draws which of them there were, and makes the files anew from that.
#include "sim-disk-private.h"

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

typedef struct Written { // since the last sync, or cut to that size (data NULL)
        uint64_t offset;
        size_t len;
        uint8_t *data;
        bool lost; // by a sync that failed
        uint64_t number; // in Disk.n_operations
} Written;

typedef struct Named {
        char *name;
        Node *node;
} Named;

typedef struct Names {
        Named *list;
        size_t n, room;
} Names;

struct Node {
        Node *next; // of all that this host has ever had
        bool is_dir;
        Buf synced;
        uint64_t size; // of `synced`, with zeros behind it
        Written *writes;
        size_t n_writes, room;
        Names names, synced_names; // of a directory
};

typedef enum Renaming { MADE, REMOVED, RENAMED } Renaming;

typedef struct NameChange {
        Renaming what;
        Node *node, *dir, *to_dir;
        char *name, *to_name;
        uint64_t number; // in Disk.n_operations
} NameChange;

typedef struct Disk {
        Node *all, *root;
        NameChange *changes;
        size_t n_changes, room;
        SimDiskTrouble trouble;
        unsigned dies_in;
        uint64_t n_begun; // changes
        bool dying;
        uint64_t n_operations; // of those that were not synced at once
        unsigned *unsynced;    // by n_begun
        size_t unsynced_room;
        bool loses; // what `lose` says
        unsigned lose[2];
        bool remembers, brings_back, with_log, is_of_before; // the copy of sim_disk_remember()
} Disk;

static struct {
        char dir[128];
        Disk disks[SIM_HOSTS_MAX];
        OpenFile *files;
        bool forgives;
        bool counts; // what is not synced
        int last_file; // none is open behind it
        SimDiskFigures figures;
} all;

// ------------------------------------------------------------------------------------------------ names

static void *checked(void *p) {
        if (!p) {
                perror("disk of a host");
                abort();
        }
        return p;
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
        names->list[names->n++] = (Named){checked(strdup(name)), node};
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

static void names_copy(Names *to, const Names *from) {
        names_done(to);
        for (size_t i = 0; i < from->n; i++)
                names_put(to, from->list[i].name, from->list[i].node);
}

static Node *node_new(Disk *d, bool is_dir) {
        Node *n = checked(calloc(1, sizeof(*n)));

        n->is_dir = is_dir;
        n->next = d->all;
        d->all = n;
        return n;
}

static void forget_writes(Node *n) {
        for (size_t i = 0; i < n->n_writes; i++)
                free(n->writes[i].data);
        n->n_writes = 0;
}

static void forget_change(NameChange *c) {
        free(c->name);
        free(c->to_name);
}

static void apply_name_change(const NameChange *c) {
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
                apply_name_change(&c);
                forget_change(&c);
                return;
        }
        if (ARRAY_GROW(d->changes, d->room, d->n_changes + 1) < 0)
                abort();
        c.number = ++d->n_operations;
        d->changes[d->n_changes++] = c;
}

static void clear(Disk *d) {
        for (Node *n = d->all, *next; n; n = next) {
                next = n->next;
                forget_writes(n);
                free(n->writes);
                buf_done(&n->synced);
                names_done(&n->names);
                names_done(&n->synced_names);
                free(n);
        }
        for (size_t i = 0; i < d->n_changes; i++)
                forget_change(&d->changes[i]);
        free(d->changes);
        free(d->unsynced);
        *d = (Disk){};
}

void sim_disk_begin(const char *dir) {
        memset(&all, 0, sizeof(all));
        str_fit(all.dir, sizeof(all.dir), "%s", dir);
        all.files = checked(calloc(OPEN_MAX_FD, sizeof(*all.files)));
}

void sim_disk_end(void) {
        for (size_t i = 0; i < SIM_HOSTS_MAX; i++)
                clear(&all.disks[i]);
        free(all.files);
        memset(&all, 0, sizeof(all));
}

SimDiskFigures sim_disk_figures(void) {
        return all.figures;
}

uint64_t sim_disk_changes(uint32_t number) {
        return all.disks[number].n_begun;
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
        size_t len = strlen(all.dir);
        char part[NAME_MAX + 1];
        unsigned number;

        if (len == 0 || strncmp(path, all.dir, len) != 0 || path[len] != '/')
                return false;
        path = take_part(path + len + 1, part);
        number = (unsigned) strtoul(part, NULL, 10);
        if (number == 0 || number >= SIM_HOSTS_MAX)
                return false;
        ret->number = number;
        path = take_part(path, part);
        ret->kept = streq(part, "state") && all.disks[number].root;
        return !ret->kept || walk(all.disks[number].root, path, ret);
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

OpenFile *sim_disk_file(int fd) {
        return all.files && fd >= 0 && fd < OPEN_MAX_FD && all.files[fd].number > 0 ? &all.files[fd] : NULL;
}

void sim_disk_opened(int fd, const Place *p) {
        if (fd >= OPEN_MAX_FD)
                abort();
        all.files[fd] = (OpenFile){.number = p->number, .kept = p->kept, .node = p->node};
        all.last_file = MAX_OF(all.last_file, fd);
}

void sim_disk_closed(int fd) {
        if (all.files && fd >= 0 && fd < OPEN_MAX_FD)
                all.files[fd] = (OpenFile){};
}

void sim_disk_let_go(uint32_t number) {
        for (int fd = 0; fd <= all.last_file; fd++)
                if (all.files[fd].number == number && !all.files[fd].stream)
                        close(fd);
}

// ------------------------------------------------------------------------------------------ what goes wrong

void sim_disk_die_at(uint32_t number, unsigned n) {
        all.disks[number].dies_in = n;
        all.disks[number].dying = false;
}

void sim_disk_lose(uint32_t number, unsigned first, unsigned second) {
        Disk *d = &all.disks[number];

        d->loses = first != LOSE_ANY;
        d->lose[0] = first;
        d->lose[1] = second;
}

unsigned sim_disk_unsynced(uint32_t number, uint64_t n) {
        const Disk *d = &all.disks[number];

        return n <= d->n_begun && n < d->unsynced_room ? d->unsynced[n] : 0;
}

static void note_unsynced(Disk *d) {
        size_t n = d->n_changes, room = d->unsynced_room;

        for (const Node *node = d->all; node; node = node->next)
                n += node->n_writes;
        if (ARRAY_GROW(d->unsynced, d->unsynced_room, d->n_begun + 1) < 0)
                abort();
        memset(d->unsynced + room, 0, (d->unsynced_room - room) * sizeof(*d->unsynced));
        d->unsynced[d->n_begun] = (unsigned) n;
}

void sim_disk_trouble(uint32_t number, SimDiskTrouble trouble) {
        all.disks[number].trouble = trouble;
}

void sim_disk_forgive(void) {
        all.forgives = true;
}

bool sim_disk_is_well(uint32_t number) {
        const SimDiskTrouble *t = &all.disks[number].trouble;

        return !t->write_fails && !t->sync_fails && !t->disk_full && !t->run_full;
}

bool sim_disk_has_no_room(uint32_t number, bool kept) {
        return kept ? all.disks[number].trouble.disk_full : all.disks[number].trouble.run_full;
}

// Only what a host does by itself.
static Disk *of_running(uint32_t number) {
        SimHost *h = sim_current();

        return h && sim_host_number(h) == number && sim_host_can_die() ? &all.disks[number] : NULL;
}

static _Noreturn void die(Disk *d) {
        d->dies_in = 0;
        d->dying = false;
        all.figures.deaths++;
        sim_host_die();
}

int sim_disk_begin_change(uint32_t number, bool kept, Change change, bool grows) {
        Disk *d = of_running(number);
        SimDiskTrouble *t;

        if (!d)
                return 0;
        t = &d->trouble;
        all.figures.changes++;
        d->n_begun++;
        if (kept)
                sim_stall(change == CHANGE_SYNC ? t->sync_us : t->change_us);
        if (grows && (kept ? t->disk_full : t->run_full)) {
                all.figures.refusals++;
                return -ENOSPC;
        }
        if (kept && (change == CHANGE_SYNC ? t->sync_fails : t->write_fails)) {
                all.figures.failures++;
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
        all.figures.cut_short += part < len;
        return part;
}

void sim_disk_end_change(uint32_t number) {
        Disk *d = of_running(number);

        if (!d)
                return;
        if (all.counts)
                note_unsynced(d);
        if (d->dying)
                die(d);
}

// ------------------------------------------------------------------------------------------------ changes

void sim_disk_note_made(Place *p, bool is_dir) {
        Disk *d = &all.disks[p->number];

        if (!p->kept || p->node)
                return;
        p->node = node_new(d, is_dir);
        sim_disk_note_named(p);
}

Node *sim_disk_note_unnamed(const Place *p) {
        return p->kept ? node_new(&all.disks[p->number], false) : NULL;
}

void sim_disk_note_named(const Place *p) {
        Disk *d = &all.disks[p->number];
        char name[NAME_MAX + 1];

        (void) take_part(p->name, name);
        names_put(&p->dir->names, name, p->node);
        add_change(d, (NameChange){
                              .what = MADE, .node = p->node, .dir = p->dir, .name = checked(strdup(name))});
}

void sim_disk_note_removed(const Place *p) {
        char name[NAME_MAX + 1];

        if (!p->kept || !p->node)
                return;
        (void) take_part(p->name, name);
        names_drop(&p->dir->names, name, p->node);
        add_change(&all.disks[p->number],
                   (NameChange){
                           .what = REMOVED, .node = p->node, .dir = p->dir, .name = checked(strdup(name))});
}

void sim_disk_note_renamed(const Place *from, const Place *to) {
        char name[NAME_MAX + 1], to_name[NAME_MAX + 1];

        if (!from->kept || !to->kept || !from->node)
                return;
        (void) take_part(from->name, name);
        (void) take_part(to->name, to_name);
        names_drop(&from->dir->names, name, from->node);
        names_put(&to->dir->names, to_name, from->node);
        add_change(&all.disks[from->number], (NameChange){.what = RENAMED,
                                                          .node = from->node,
                                                          .dir = from->dir,
                                                          .to_dir = to->dir,
                                                          .name = checked(strdup(name)),
                                                          .to_name = checked(strdup(to_name))});
}

static void content_reach(Buf *b, size_t size) {
        if (size > CONTENT_MAX)
                abort();
        if (size > b->len) {
                memset(checked(buf_reserve(b, size - b->len)), 0, size - b->len);
                b->len = size;
        }
}

static void content_put(Node *n, uint64_t offset, const uint8_t *data, size_t len) {
        content_reach(&n->synced, (size_t) offset + len);
        memcpy(n->synced.data + offset, data, len);
        n->size = MAX_OF(n->size, offset + len);
}

// What is reserved takes no room here.
static void content_cut(Node *n, uint64_t size) {
        n->synced.len = MIN_OF(n->synced.len, (size_t) size);
        n->size = size;
}

static void apply_write(Node *n, const Written *w) {
        if (w->data)
                content_put(n, w->offset, w->data, w->len);
        else
                content_cut(n, w->offset);
}

static void add_write(Node *n, Written w) {
        SimHost *h = sim_current();

        if (!h) {
                apply_write(n, &w);
                free(w.data);
                return;
        }
        if (ARRAY_GROW(n->writes, n->room, n->n_writes + 1) < 0)
                abort();
        w.number = ++all.disks[sim_host_number(h)].n_operations;
        n->writes[n->n_writes++] = w;
}

void sim_disk_note_written(Node *n, uint64_t offset, const void *data, size_t len) {
        uint8_t *copy;

        if (!n || len == 0)
                return;
        copy = checked(malloc(len));
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
                        apply_name_change(&d->changes[i]);
                        forget_change(&d->changes[i]);
                } else
                        d->changes[n++] = d->changes[i];
        d->n_changes = n;
}

void sim_disk_note_synced(uint32_t number, Node *n) {
        if (!n)
                return;
        if (n->is_dir) {
                sync_names(&all.disks[number], n);
                return;
        }
        for (size_t i = 0; i < n->n_writes; i++)
                if (!n->writes[i].lost)
                        apply_write(n, &n->writes[i]);
        forget_writes(n);
}

void sim_disk_note_sync_failed(uint32_t number, Node *n) {
        if (n && !n->is_dir && !all.forgives)
                for (size_t i = 0; i < n->n_writes; i++)
                        n->writes[i].lost |= draw_below(sim_draw(), 2);
}

// ------------------------------------------------------------------------------------------ the power fails

typedef enum Mercy { KEEP_ALL, KEEP_NONE, KEEP_FIRST, KEEP_ANY, _MERCIES } Mercy;

// How much of what was not synced is there. First: what came before something drawn.
typedef struct Fate {
        Mercy mercy;
        bool over;
} Fate;

static bool is_kept(Fate *f) {
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

static Fate draw_fate(void) {
        return (Fate){.mercy = (Mercy) draw_below(sim_draw(), _MERCIES)};
}

// `unseen`: what was reserved up to there is lost. A write within that does not say that the file is longer,
// so nothing of it is seen behind the file's end.
static void cut_write(Node *n, const Written *w, Fate *f, uint64_t *unseen) {
        uint64_t at = w->offset, end = w->offset + w->len, seen;

        if (!w->data) {
                if (is_kept(f))
                        apply_write(n, w);
                else if (w->offset > n->size)
                        *unseen = MAX_OF(*unseen, w->offset);
                return;
        }
        seen = end <= *unseen ? n->size : end;
        while (at < end) {
                uint64_t next = MIN_OF((at / SIM_SECTOR + 1) * SIM_SECTOR, end);

                if (is_kept(f) && at < seen)
                        content_put(n, at, w->data + (at - w->offset), (size_t) (MIN_OF(next, seen) - at));
                else
                        all.figures.sectors_lost++;
                at = next;
        }
}

// Of the operations that were not synced, in their order, those that are lost by sim_disk_lose(): 0, there
// is no such.
typedef struct Losses {
        uint64_t number[2];
} Losses;

static int by_number(const void *a, const void *b) {
        uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

        return (x > y) - (x < y);
}

static Losses find_losses(const Disk *d) {
        uint64_t *numbers = NULL;
        size_t n = d->n_changes, room = 0, k = 0;
        Losses losses = {};

        for (const Node *node = d->all; node; node = node->next)
                n += node->n_writes;
        if (ARRAY_GROW(numbers, room, n + 1) < 0)
                abort();
        for (size_t i = 0; i < d->n_changes; i++)
                numbers[k++] = d->changes[i].number;
        for (const Node *node = d->all; node; node = node->next)
                for (size_t i = 0; i < node->n_writes; i++)
                        numbers[k++] = node->writes[i].number;
        qsort(numbers, n, sizeof(*numbers), by_number);
        for (size_t i = 0; i < ELEMENTSOF(losses.number); i++)
                if (d->lose[i] > 0 && d->lose[i] <= n)
                        losses.number[i] = numbers[n - d->lose[i]];
        free(numbers);
        return losses;
}

static bool is_lost(const Losses *l, uint64_t number) {
        return number == l->number[0] || number == l->number[1];
}

// A write into room whose reservation is lost is as little seen as elsewhere (cut_write()): it is whole, and
// so is what makes the file longer.
static void lose_operations(Disk *d) {
        Losses losses = find_losses(d);

        for (Node *n = d->all; n; n = n->next) {
                uint64_t unseen = 0;

                for (size_t i = 0; i < n->n_writes; i++) {
                        Fate f = {.mercy = is_lost(&losses, n->writes[i].number) ? KEEP_NONE : KEEP_ALL};

                        if (!n->writes[i].lost)
                                cut_write(n, &n->writes[i], &f, &unseen);
                }
                forget_writes(n);
        }
        for (size_t i = 0; i < d->n_changes; i++) {
                if (is_lost(&losses, d->changes[i].number))
                        all.figures.names_lost++;
                else
                        apply_name_change(&d->changes[i]);
                forget_change(&d->changes[i]);
        }
        d->n_changes = 0;
        d->loses = false;
}

static void cut_content(Node *n) {
        Fate f = draw_fate();
        uint64_t unseen = 0;

        for (size_t i = 0; i < n->n_writes; i++)
                if (!n->writes[i].lost)
                        cut_write(n, &n->writes[i], &f, &unseen);
        forget_writes(n);
}

static void cut_names(Disk *d) {
        Fate f = draw_fate();

        for (size_t i = 0; i < d->n_changes; i++) {
                if (is_kept(&f))
                        apply_name_change(&d->changes[i]);
                else
                        all.figures.names_lost++;
                forget_change(&d->changes[i]);
        }
        d->n_changes = 0;
}

static void must(int r, const char *what) {
        if (r >= 0)
                return;
        fprintf(stderr, "%s: %s\n", what, strerror(-r));
        abort();
}

static void make_again(Node *dir, const char *path) {
        names_copy(&dir->names, &dir->synced_names);
        for (size_t i = 0; i < dir->names.n; i++) {
                Node *n = dir->names.list[i].node;
                _cleanup_free_ char *below = checked(str_printf("%s/%s", path, dir->names.list[i].name));

                if (n->is_dir) {
                        must(mkdir(below, 0700) < 0 ? -errno : 0, below);
                        make_again(n, below);
                } else {
                        must(file_replace(AT_FDCWD, below, n->synced.data, n->synced.len, 0600, 0), below);
                        must(n->size > n->synced.len && truncate(below, (off_t) n->size) < 0 ? -errno : 0,
                             below);
                }
        }
}

static char *state_of(uint32_t number) {
        return checked(str_printf("%s/%u/state", all.dir, number));
}

static void bring_back(uint32_t number);

void sim_disk_cut(uint32_t number) {
        _cleanup_free_ char *path = state_of(number);
        Disk *d = &all.disks[number];
        Node *root = d->root;

        all.figures.cuts++;
        if (d->loses)
                lose_operations(d);
        else {
                for (Node *n = d->all; n; n = n->next)
                        cut_content(n);
                cut_names(d);
        }
        sim_disk_die_at(number, 0);
        d->root = NULL; // what follows is not the host's
        must(dir_empty(AT_FDCWD, path), path);
        make_again(root, path);
        d->root = root;
        if (d->brings_back)
                bring_back(number);
}

static void adopt(Disk *d, Node *dir, const char *path) {
        DIR *stream = checked(opendir(path));

        for (struct dirent *e; (e = readdir(stream));) {
                _cleanup_free_ char *below = checked(str_printf("%s/%s", path, e->d_name));
                struct stat st;
                Node *n;

                if (streq(e->d_name, ".") || streq(e->d_name, ".."))
                        continue;
                must(lstat(below, &st) < 0 ? -errno : 0, below);
                n = node_new(d, S_ISDIR(st.st_mode));
                names_put(&dir->names, e->d_name, n);
                if (n->is_dir)
                        adopt(d, n, below);
                else
                        must(file_read(AT_FDCWD, below, CONTENT_MAX, &n->synced), below);
                n->size = n->synced.len;
        }
        closedir(stream);
        names_copy(&dir->synced_names, &dir->names);
}

void sim_disk_adopt(uint32_t number) {
        _cleanup_free_ char *path = state_of(number);
        Disk *d = &all.disks[number];
        Node *root = node_new(d, true);

        adopt(d, root, path);
        d->root = root;
}

// -------------------------------------------------------------------------------------------- an older view

static bool is_left(const char *name, bool log) {
        return streq(name, ".") || streq(name, "..") || (!log && streq(name, "log"));
}

static void copy_all(const char *from, const char *to, bool log) {
        DIR *stream = checked(opendir(from));

        for (struct dirent *e; (e = readdir(stream));) {
                _cleanup_free_ char *a = checked(str_printf("%s/%s", from, e->d_name)),
                                    *b = checked(str_printf("%s/%s", to, e->d_name));
                _cleanup_buf_ Buf content = {};
                struct stat st;

                if (is_left(e->d_name, log))
                        continue;
                must(lstat(a, &st) < 0 ? -errno : 0, a);
                if (S_ISDIR(st.st_mode)) {
                        must(mkdir(b, 0700) < 0 && errno != EEXIST ? -errno : 0, b);
                        copy_all(a, b, log);
                        continue;
                }
                must(file_read(AT_FDCWD, a, CONTENT_MAX, &content), a);
                must(file_replace(AT_FDCWD, b, content.data, content.len, 0600, 0), b);
        }
        closedir(stream);
}

static void remove_all(const char *dir, bool log) {
        DIR *stream = checked(opendir(dir));

        for (struct dirent *e; (e = readdir(stream));) {
                _cleanup_free_ char *below = checked(str_printf("%s/%s", dir, e->d_name));
                struct stat st;

                if (is_left(e->d_name, log))
                        continue;
                must(lstat(below, &st) < 0 ? -errno : 0, below);
                if (S_ISDIR(st.st_mode))
                        must(dir_empty(AT_FDCWD, below), below);
                must((S_ISDIR(st.st_mode) ? rmdir(below) : unlink(below)) < 0 ? -errno : 0, below);
        }
        closedir(stream);
}

static char *remembered_of(uint32_t number) {
        return checked(str_printf("%s/%u/remembered", all.dir, number));
}

// What is kept of the disk is made anew from the files; nothing of the host runs.
static void adopt_again(uint32_t number) {
        Disk before = all.disks[number], *d = &all.disks[number];

        clear(d);
        d->trouble = before.trouble;
        d->n_begun = before.n_begun;
        d->n_operations = before.n_operations;
        d->is_of_before = true;
        sim_disk_adopt(number);
}

void sim_disk_remember(uint32_t number, bool log) {
        _cleanup_free_ char *state = state_of(number), *to = remembered_of(number);
        Disk *d = &all.disks[number];
        Node *root = d->root;

        d->root = NULL;
        must(mkdir(to, 0700) < 0 && errno != EEXIST ? -errno : 0, to);
        must(dir_empty(AT_FDCWD, to), to);
        copy_all(state, to, log);
        d->root = root;
        d->remembers = true;
        d->with_log = log;
}

void sim_disk_bring_back(uint32_t number) {
        all.disks[number].brings_back = all.disks[number].remembers;
}

bool sim_disk_is_of_before(uint32_t number) {
        return all.disks[number].is_of_before;
}

static void bring_back(uint32_t number) {
        _cleanup_free_ char *state = state_of(number), *from = remembered_of(number);
        bool log = all.disks[number].with_log;

        all.disks[number].root = NULL;
        remove_all(state, log);
        copy_all(from, state, log);
        adopt_again(number);
}

void sim_disk_count(void) {
        all.counts = true;
}
