// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Where a unit may run, and with which others: what the options of its file (unit-file.h) mean for one name.
// Shared by all units for which they mean the same. Pure; one thread.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "label-op.h"
#include "macro.h"

enum {
        UNIT_PREFERENCES_MAX = 3,      // PreferLabel= of one unit
        UNIT_RESERVES_MAX = 6,    // kinds of ReserveResource= in one unit
        LABEL_MAX = 63,           // bytes of a label's key, and of its value
        UNIT_PRIORITY_MAX = 1000, // and as far below 0
};

// Begins no unit's name. What follows one unit of a node may have.
#define UNIT_CLAIM '@'
// Likewise. What follows, up to its '=', a node has once: other units there have the same behind the '='.
#define UNIT_SHARED_CLAIM '&'

typedef struct LabelMatch { // one key; any of the values will do, or none of them may be there
        LabelOp op;
        char *key;
        char **values; // NULL-terminated, at least one, no two equal; of LABEL_EXISTS and _ABSENT none
} LabelMatch;

typedef struct LabelPreference {
        LabelMatch match;
        uint16_t weight;
} LabelPreference;

typedef struct UnitReserve { // of a counted resource
        char *name;
        uint32_t amount;
} UnitReserve;

enum {                        // UnitDependency.kinds
        UNIT_AFTER = 1 << 0,  // started after it, stopped before it
        UNIT_BEFORE = 1 << 1, // the other way round; never both, nor with UNIT_BINDS_TO
        UNIT_REQUIRES = 1 << 2,
        UNIT_BINDS_TO = 1 << 3, // comes with UNIT_REQUIRES
        UNIT_WANTS = 1 << 4,
        UNIT_PART_OF = 1 << 5,
};

// What the unit has to do with another one, wherever that is. UNIT_REQUIRES comes with UNIT_AFTER, unless
// UNIT_BEFORE is there.
typedef struct UnitDependency {
        char *name; // of a template only in the options of a template
        unsigned kinds;
        unsigned line; // where the file names it first
} UnitDependency;

typedef struct UnitSecret {
        char *name, *id; // of the secret, and by which the program finds it
        unsigned line;
} UnitSecret;

// Where a unit may run.
typedef struct UnitOptions {
        unsigned refs;
        bool global;
        bool has_data; // as FailingOptions has it
        char *machine_id;   // 32 hex digits in lower case, or NULL
        LabelMatch *labels; // all must match; sorted by key, values too
        size_t n_labels;
        char **managers; // globs, sorted, NULL-terminated; NULL: only system managers
        char **hosts;    // names of hosts or machine ids, sorted; NULL: any
        LabelPreference *preferences;
        size_t n_preferences;                            // at most UNIT_PREFERENCES_MAX
        char **same_node;                           // units
        char **conflicts; // globs, and claims: UNIT_CLAIM "port 8080/tcp", of a container, or
                          // UNIT_SHARED_CLAIM "volume data=HASH"
        unsigned *same_node_lines, *conflict_lines; // of each; 0: of a conflict in [X-Fleet], where a unit
                                                    // may match its own
        char **replaces;                            // globs
        unsigned replaces_line;                     // of the first; 0: none
        char *spread;                               // key of a label, or "host"; NULL: no spread
        bool spread_soft;
        uint16_t spread_skew;
        bool pack;
        uint32_t cpu_milli, memory_mib; // reserved
        UnitReserve *reserves;
        size_t n_reserves;
        char *role;         // NULL: "default"
        unsigned role_line; // of Role=
        int16_t priority;
        bool preemptible, preemptible_given;
        UnitDependency *dependencies; // sorted by name, each once
        size_t n_dependencies;
        UnitSecret *secrets; // sorted by id, no two of one
        size_t n_secrets;
        char *key; // equal for options that admit the same machines; "" if they admit every one. Says
                   // nothing about `global`
} UnitOptions;

// one more owner of the same, who changes nothing either
UnitOptions *unit_options_ref(const UnitOptions *o);
UnitOptions *unit_options_unref(UnitOptions *o);
DEFINE_CLEANUP(UnitOptions *, unit_options_unref)

// "1.5" or "150%" of a core, in thousandths. False: it is neither, or none of what a host could have.
bool cpu_parse(const char *word, uint32_t *ret_milli);
// "512M", "2G" (K M G T, or bytes), in MiB and rounded up. False as above.
bool memory_parse(const char *word, uint32_t *ret_mib);

// [A-Za-z0-9._/-]{1,63}
bool label_is_valid(const char *key_or_value);
// "key=value" -> both parts (malloc'd). -EINVAL: no '=', or a part is not valid. -ENOMEM.
int label_parse(const char *word, char **ret_key, char **ret_value) _warn_unused_;
