// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// store.h again for a world: the voters' logs are in memory, and what they say to each other goes over the
// ways of the network (sim-net.h), with delays that are drawn; it is lost where a way is cut or clogged, or
// a host is down. Linked before the room store it takes libraft's place.
//
// The rules are Raft's, with votes that are asked for beforehand and a leader that steps down when it hears
// no majority: so who is cut off learns nothing, a leader without a majority has no authority soon, and what
// was on its way then is kept or lost as the others have it. Members come and go one at a time, by entries
// of the log that hold from when they are written. Whom a voter sends to it asks its host for
// (StoreOps.resolve), and it hears nobody whose key its host does not know as that of a voter.
//
// What a disk has (term, vote, entries) outlives its host; a disk loses nothing and is never full. In the
// log's directory there is one file, which names the log: whoever empties the directory has none any more.
// Left out: snapshots.
//
// A log is of one cluster: that of the story, of which checks hear, or that of a host by itself.

#include <stddef.h>
#include <stdint.h>

#include "sim-world.h"

// Of all voters of the story's cluster, raft ids 1 to n, on the hosts of these numbers. Each log begins with
// that entry.
void sim_store_begin(const uint32_t *hosts, size_t n, const void *entry, size_t len);
void sim_store_end(void);
// With libraft, of stores that are opened or apply something from now on: after how many entries a snapshot
// is taken, and how many are kept behind it.
void sim_store_keep(unsigned snapshot_after, unsigned trailing);

// What an entry is, for checks: the state of no store is asked. All of this is of the story's cluster.
typedef struct SimEntry {
        uint64_t term;
        const uint8_t *data; // NULL: none that is applied
        size_t len;
        const struct SimConfig *config; // NULL: it changes no members
} SimEntry;
// That has been committed by anybody; they are all that is ever committed at these indices. Index from 1 on.
uint64_t sim_store_committed(void);
const SimEntry *sim_store_entry(uint64_t index);
// The host that leads in the newest term; 0: none does.
uint32_t sim_store_leader(void);
uint64_t sim_store_applied(uint32_t host); // on the store that is open; 0: none is
uint64_t sim_store_written(uint32_t host); // what the host's disk has of that: a slow or full disk is behind
// What a host's log says of itself, for people.
void sim_store_describe(uint32_t host, char *ret, size_t size);
// Who looks at each entry that a host's store has applied. NULL: nobody.
void sim_store_on_applied(void (*applied)(uint32_t host, uint64_t index));
// A rule of the log itself was broken, in words; NULL: none was.
const char *sim_store_broken(void);
