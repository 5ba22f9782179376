// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What disks keep, for the files that share it: sim-disk.c (names, places, changes, syncs), sim-disk-cut.c
// (what a power cut leaves), sim-disk-losses.c (which operations a sweep loses), sim-disk-old.c (a disk of
// before that comes back).

#include "buf.h"
#include "sim-disk-private.h"

typedef struct Written { // since the last sync, or cut to that size (data NULL)
        uint64_t offset;
        size_t len;
        uint8_t *data;
        bool lost;       // by a sync that failed
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

typedef struct SimDisks {
        char dir[128];
        Disk disks[SIM_HOSTS_MAX];
        OpenFile *files;
        bool forgives;
        bool counts;   // what is not synced
        int last_file; // none is open behind it
        SimDiskFigures figures;
} SimDisks;

extern SimDisks sim_disks;

// sim-disk.c
void *sim_disk_checked(void *p); // not NULL, or the process ends
void sim_disk_must(int r, const char *what);
void sim_disk_copy_names(Names *to, const Names *from);
void sim_disk_forget_writes(Node *n);
void sim_disk_forget_change(NameChange *c);
void sim_disk_apply_name_change(const NameChange *c);
void sim_disk_put_content(Node *n, uint64_t offset, const uint8_t *data, size_t len);
void sim_disk_apply_write(Node *n, const Written *w);
void sim_disk_clear(Disk *d);
char *sim_disk_state_of(uint32_t number); // the directory; malloc'd

// sim-disk-cut.c: of a write all that is left, or none; what was reserved up to *unseen is lost
typedef enum SimMercy { KEEP_ALL, KEEP_NONE, KEEP_FIRST, KEEP_ANY, _SIM_MERCIES } SimMercy;

// How much of what was not synced is there. First: what came before something drawn.
typedef struct SimFate {
        SimMercy mercy;
        bool over;
} SimFate;

void sim_disk_cut_write(Node *n, const Written *w, SimFate *f, uint64_t *unseen);

// sim-disk-losses.c
void sim_disk_note_unsynced(Disk *d); // a change is over
void sim_disk_lose_operations(Disk *d);

// sim-disk-old.c: at the end of a power cut
void sim_disk_be_of_before(uint32_t number);
