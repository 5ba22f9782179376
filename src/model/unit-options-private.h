// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Private to the model: the options of a unit file as written, between reading them and asking what they
// mean for a name.

#include "buf.h"
#include "unit-name.h"
#include "unit-options.h"

typedef enum RawKind {
        RAW_MACHINE_ID, // one id
        RAW_METADATA,   // one "key=value"
        RAW_MANAGER,    // one glob over names of managers
        RAW_SAME_NODE,  // one unit
        RAW_CONFLICTS,  // one glob
        RAW_REPLACES,   // one glob
        RAW_HOST,       // the rest: see unit-options-demands.c
        RAW_REQUIRE_LABEL,
        RAW_POOL,
        RAW_PREFER_LABEL,
        RAW_SPREAD,
        RAW_PREFER_SPREAD,
        RAW_PACKING,
        RAW_CPU,
        RAW_MEMORY,
        RAW_RESOURCE,
        RAW_ROLE,
        RAW_PRIORITY,
        RAW_PREEMPTIBLE,
        RAW_AFTER, // one unit each: see unit-options-dependencies.c
        RAW_BEFORE,
        RAW_REQUIRES,
        RAW_BINDS_TO,
        RAW_WANTS,
        RAW_PART_OF,
        RAW_CLAIM,  // what a container has on its node alone (quadlet-parser.h)
        RAW_SECRET, // NAME[:ID]: see unit-options-secrets.c

        // In UnitFile.install, one name each:
        RAW_WANTED_BY,
        RAW_REQUIRED_BY,
        RAW_ALIAS,
        RAW_ALSO,
        RAW_UPHELD_BY,
        RAW_KINDS,
} RawKind;

typedef struct RawOption {
        RawKind kind;
        bool fleet; // from [X-Fleet]
        bool broken; // of [Install]: the rest of a line whose quotation does not end
        unsigned line;
        char *word; // specifiers not expanded
} RawOption;

// What is the same for all words of a kind. One row for each, whatever it may be called in a file.
typedef struct OptionKind {
        const char *name;                // in messages
        bool not_with_global, not_with_id; // Global=, MachineID=
        unsigned dependency;             // UnitDependency.kinds; 0: it is about nodes
} OptionKind;

const OptionKind *option_kind(RawKind kind);

// -EINVAL and *ret_why = "PATH:LINE: reason" where it holds memory for it; `ret_why` may be NULL.
int unit_options_new(const RawOption *raw, size_t n_raw, bool global, const char *path, const char *name,
                     UnitOptions **ret, char **ret_why);
// unit-options-demands.c: the kinds from RAW_SAME_NODE to RAW_PREEMPTIBLE. `word` is expanded.
int demands_add(UnitOptions *o, const RawOption *raw, const char *path, const char *word, char **ret_why);
// When all are added.
void demands_finish(UnitOptions *o);
int demands_key(const UnitOptions *o, Buf *key);
// What a name may not have: a conflict with itself, itself as the unit that it is to be with.
int demands_check(const UnitOptions *o, const char *path, const char *name, char **ret_why);
// unit-options-labels.c: what no host can have. `o->labels` are sorted.
int labels_check(const UnitOptions *o, const RawOption *raw, size_t n_raw, const char *path, char **ret_why);
void demands_done(UnitOptions *o);
// unit-options-dependencies.c: the kinds from RAW_AFTER on. `of_template`: the name is that of a template,
// for which not every word is a unit's name yet.
int dependencies_add(UnitOptions *o, const RawOption *raw, const char *path, const char *word,
                     bool of_template, char **ret_why);
void dependencies_finish(UnitOptions *o); // when all are added
int dependencies_check(const UnitOptions *o, const char *path, const char *name, char **ret_why);
void dependencies_done(UnitOptions *o);
// unit-options-secrets.c
int secrets_add(UnitOptions *o, const RawOption *raw, const char *path, const char *word, char **ret_why);
int secrets_check(const UnitOptions *o, const char *path, const char *name, char **ret_why);
void secrets_done(UnitOptions *o);
void label_match_done(LabelMatch *m);
bool parse_boolean(const char *word, bool *ret);
// Fills *ret_why and returns -EINVAL, or -ENOMEM.
int option_refuse(char **ret_why, const char *path, unsigned line, const char *format, ...) _printf_(4, 5);
