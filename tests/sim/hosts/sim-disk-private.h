// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Between the calls that are wrapped (sim-disk-calls.c) and what a disk keeps (sim-disk.c). Without memory
// these end the process.

#include <stddef.h>
#include <sys/types.h>

#include "sim-disk.h"

typedef struct Node Node; // a file or directory that is on a disk

// Where a path leads.
typedef struct Place {
        uint32_t number; // of the host
        bool kept;       // on the disk; the nodes say where
        Node *dir, *node;
        const char *name; // in that directory
} Place;

typedef struct OpenFile { // of a descriptor
        uint32_t number;  // 0: not one of these
        bool kept, stream; // stream: closedir() closes it
        Node *node;
} OpenFile;

typedef enum Change { CHANGE_MAKE, CHANGE_WRITE, CHANGE_SYNC, CHANGE_NAME } Change;

// False: it is nobody's.
bool sim_disk_find(int dirfd, const char *path, Place *ret);
OpenFile *sim_disk_file(int fd); // NULL: not one of these
void sim_disk_opened(int fd, const Place *p);
void sim_disk_closed(int fd);

// Before a change. Negative: it fails with that errno. `grows`: it needs room. Whoever is to die before it
// does so here.
int sim_disk_begin_change(uint32_t number, bool kept, Change change, bool grows);
// Whoever is to die behind it.
void sim_disk_end_change(uint32_t number);
bool sim_disk_has_no_room(uint32_t number, bool kept);
// Of a write of `len` bytes how many are written before its program dies, at the end of a sector; `len`: it
// does not, or dies behind it.
size_t sim_disk_part(uint32_t number, uint64_t offset, size_t len);

// What has been done to what is kept; nothing if it is not.
void sim_disk_note_made(Place *p, bool is_dir);
// a file (O_TMPFILE) in the directory that the place is; NULL: it is not kept
Node *sim_disk_note_unnamed(const Place *p);
void sim_disk_note_named(const Place *p);    // the node of the place has got that name
void sim_disk_note_removed(const Place *p);
void sim_disk_note_renamed(const Place *from, const Place *to);
void sim_disk_note_written(Node *n, uint64_t offset, const void *data, size_t len);
void sim_disk_note_truncated(Node *n, uint64_t size);
void sim_disk_note_synced(uint32_t number, Node *n);
void sim_disk_note_sync_failed(uint32_t number, Node *n);
