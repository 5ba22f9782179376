// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The disks of a world: what argosyd asks the kernel for when it changes a file passes here first (the calls
// are wrapped by the linker; see sim-disk-calls.c). The files are real ones, on a tmpfs: they are what a
// program sees, the page cache. Beside them this keeps what would be left if the power failed now:
//
//      DIR/N/state         on the disk: contents as of their last sync, names as of the last sync of their
//                          directory, and in order what came after
//      DIR/N/ all others   in memory (/run): a power cut takes all of it
//
// A change is a call that makes, writes, syncs, renames or removes something. Whatever is changed from
// outside of all hosts is synced at once.
//
// Whoever dies inside a write leaves whole sectors of it; Linux's writes are whole pages then, or not begun.
//
// A power cut keeps what was synced, and of each later change draws whether it is there: of a write each
// sector of SIM_SECTOR bytes by itself, never half a sector; of names each change by itself, a rename always
// whole. So writes come in any order, files are there without their content, and names are lost while later
// ones are not. If the room that was reserved for a file is lost, nothing is behind the file's end. The sync
// of a file does not keep its name. After a sync that failed, what it was to write may never reach the disk,
// and the next sync does not say so.

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "sim-world.h"

enum { SIM_SECTOR = 512 };

// What is wrong with a disk, for as long as it is.
typedef struct SimDiskTrouble {
        bool write_fails, sync_fails; // EIO
        bool once;                    // the next one only
        bool disk_full, run_full;     // ENOSPC: for state, for all else
        uint64_t sync_us, change_us;  // that a sync and any other change take
} SimDiskTrouble;

typedef struct SimDiskFigures {
        uint64_t changes, deaths, cut_short; // cut_short: deaths inside a write
        uint64_t cuts, sectors_lost, names_lost;
        uint64_t failures, refusals;         // EIO, ENOSPC
} SimDiskFigures;

// Below `dir` are the directories of the hosts, named by their numbers.
void sim_disk_begin(const char *dir);
void sim_disk_end(void);
// From now on the host's disk is kept; what is there is synced.
void sim_disk_adopt(uint32_t number);
// Its argosyd is no more: what it had open is closed.
void sim_disk_let_go(uint32_t number);
// The power fails. Nothing of the host may run.
void sim_disk_cut(uint32_t number);
// Before, in the middle of, or behind the n-th change from now on argosyd ends (sim_host_die()). 0: it does
// not.
void sim_disk_die_at(uint32_t number, unsigned n);
// Its next power cut draws nothing: of what was not synced it loses these, counted from the last one (1),
// and nothing else. 0: none; LOSE_ANY, as at first: it is drawn. An operation is a write, a cut to a size,
// or a change of a name, each whole; and argosyd ends behind the change that sim_disk_die_at() names, not in
// the middle of it.
#define LOSE_ANY UINT_MAX
void sim_disk_lose(uint32_t number, unsigned first, unsigned second);
// From now on sim_disk_unsynced() knows what it is asked for.
void sim_disk_count(void);
// Operations that were not synced when argosyd's n-th change (sim_disk_changes()) was over.
unsigned sim_disk_unsynced(uint32_t number, uint64_t n);
// Its disk as it is, with its log or without, comes back at the next power cut after sim_disk_bring_back().
void sim_disk_remember(uint32_t number, bool log);
void sim_disk_bring_back(uint32_t number);
bool sim_disk_is_of_before(uint32_t number); // it has come back
void sim_disk_trouble(uint32_t number, SimDiskTrouble trouble);
// A power cut would leave that file of its state directory as it is, and by that name.
bool sim_disk_is_synced(uint32_t number, const char *name);
// A sync that failed loses nothing of what it was to write: the next one writes it. Until sim_disk_end().
void sim_disk_forgive(void);
bool sim_disk_is_well(uint32_t number);
SimDiskFigures sim_disk_figures(void);
uint64_t sim_disk_changes(uint32_t number); // that its argosyd has begun
