// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Units of a story and their contents, and what is known of them because they were made so.

#include <stdbool.h>

#include "argosy.pb-c.h"
#include "choices.h"
#include "hash.h"

// Contents: one for each unit in each of the steps that are drawn at most (swarm.c).
enum {
        WORLD_UNITS_MAX = 32,
        WORLD_CONTENTS_MAX = 1600 * WORLD_UNITS_MAX,
        WORLD_CONTENT_BUCKETS = 1 << 12,
        WORLD_HOSTS_MAX = 16,
        WORLD_NAME_SIZE = 16
};
enum { WORLD_CROWD_MAX = 600 };
// of each host
enum { WORLD_FILES_MAX = 2, WORLD_BODIES = 4, WORLD_CPU_MILLI = 4000, WORLD_MEMORY_MIB = 8192 };

typedef struct WorldUnit {
        char name[48], file[48]; // file: itself, or its template
} WorldUnit;

// A content of a unit, and what is known of it because it was made so: the product has no part in this.
// What an option may keep its unit from. Each of ours says it (world-options.c).
typedef enum WorldDemands {
        DEMANDS_NOTHING = 1 << 0, // from no host, at no time
        DEMANDS_HOSTS = 1 << 1,   // from hosts that are not as it wants them, or that others are on
        DEMANDS_MORE = 1 << 2,    // from hosts without room, or until others run
} WorldDemands;

typedef struct WorldContent {
        char *text;
        Hash hash;
        bool bad;               // units with it fail
        unsigned image;         // of a container: its number, from 1 (world-images.h)
        size_t own; // of a container: bytes before the file of the network that it names; 0: it names none
        bool global;
        bool picky;             // it has any demand on a node, or another unit
        unsigned demands;       // which
        bool activates;         // it is a timer's, a socket's or a path's
        bool careless;          // its author may have written what excludes each other: then it is refused
        bool data;              // of a container: what it writes stays on its node, and it there
        bool oneshot, machine, stays, cut_off_stop, rerun_unknown; // machine: `hosts` is by MachineID=;
                                                                   // stays: Rebalance=no
        unsigned hosts;         // Host=, MachineID=: bit N-1 of each that may have it; 0: any
        const char *zone;       // RequireLabel=zone=, MachineMetadata=zone=; NULL: any
        // Each NULL or 0 if nothing is said.
        const char *other_label, *pool, *managers, *spread, *role, *node_lost, *secret, *file_change;
        // bit of each unit
        unsigned conflicts, replaces, same_node, after, before, requires, binds_to, wants, part_of;
        unsigned spread_skew, cpu_milli, memory_mib, gpus, max_unavailable, delay_sec, restart_elsewhere;
        bool max_unavailable_percent;
        int priority, preemptible;        // preemptible: 1 is yes, -1 is no
        unsigned files[WORLD_FILES_MAX], n_files; // numbers of bodies (world_body()) of what it carries
        unsigned executable;                      // bit of each of these
        const WorldUnit *of; // whose file it is, if it is of no use to others; NULL: of any
        uint32_t next; // the next one of its bucket (asks.by_hash), from 1
} WorldContent;

// Units of a story, but for the crowd: instances of one template, whose contents say nothing of nodes and
// other units. There may be hundreds,
// and checks that follow each unit know nothing of them: they are what makes lists, entries, turns and walks
// long.

// Names that requests and contents of units have in common.
extern const char *const world_zones[2], *const world_roles[3], *const world_pools[2],
                                                                        *const world_secrets[2];

void world_units_begin(Draw *d);
const WorldUnit *world_unit_draw(Draw *d);
bool world_unit_activates(const WorldUnit *u); // it is a timer, a socket or a path
int world_unit_partner(unsigned i); // what it activates, or what activates it; -1: neither
const WorldContent *world_content_draw(Draw *d, const WorldUnit *u);
const WorldContent *world_content_find(const uint8_t hash[HASH_SIZE]); // NULL: none of ours
// Likewise, but none that has got digests of images.
const WorldContent *world_content_written(const uint8_t hash[HASH_SIZE]);
const WorldContent *world_content_sent(const Argosy__NamedFile *file); // what it brings
ProtobufCBinaryData world_body(unsigned number);                       // of a file that units carry
int world_unit_index(const char *name);                                // -1: none of ours
