// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Private to the model: the options of a unit file as written, between reading them and asking what they
// mean for a name.

#include "buf.h"
#include "unit-name.h"
#include "unit-options.h"

// Where a file may have it: nowhere under this name, in [X-Argosy] alone, in [X-Fleet] too, or in [Install].
typedef enum OptionSection { OPTION_NOWHERE, OPTION_ARGOSY, OPTION_FLEET, OPTION_INSTALL } OptionSection;

// Every option whose value is words: its name in files and messages, where, and what excludes it. The
// comments say what one word of it is.
#define OPTION_KINDS(X)                                                                               \
        X(MACHINE_ID, "MachineID", OPTION_FLEET, .not_with_global = true) /* an id */                 \
        X(METADATA, "MachineMetadata", OPTION_FLEET, .demands_label = true) /* "key=value" */         \
        X(MANAGER, "Manager", OPTION_FLEET)                               /* glob of managers */      \
        X(SAME_NODE, "MachineOf", OPTION_FLEET, .not_with_global = true, .not_with_id = true)         \
        X(CONFLICTS, "Conflicts", OPTION_FLEET, .not_with_id = true) /* a glob of units */            \
        X(REPLACES, "Replaces", OPTION_FLEET, .not_with_global = true, .not_with_id = true)           \
        X(HOST, "Host", OPTION_ARGOSY) /* from here on: see unit-options-demands.c */                 \
        X(REQUIRE_LABEL, "RequireLabel", OPTION_ARGOSY, .demands_label = true)                        \
        X(POOL, "Pool", OPTION_ARGOSY)                                                                \
        X(PREFER_LABEL, "PreferLabel", OPTION_ARGOSY, .not_with_global = true)                        \
        X(SPREAD, "SpreadOver", OPTION_ARGOSY, .not_with_global = true)                               \
        X(PREFER_SPREAD, "PreferSpreadOver", OPTION_ARGOSY, .not_with_global = true)                  \
        X(PACKING, "Packing", OPTION_ARGOSY, .not_with_global = true)                                 \
        X(CPU, "ReserveCPU", OPTION_ARGOSY, .not_with_global = true)                                  \
        X(MEMORY, "ReserveMemory", OPTION_ARGOSY, .not_with_global = true)                            \
        X(RESOURCE, "ReserveResource", OPTION_ARGOSY, .not_with_global = true)                        \
        X(ROLE, "Role", OPTION_ARGOSY, .not_with_global = true)                                       \
        X(PRIORITY, "Priority", OPTION_ARGOSY, .not_with_global = true)                               \
        X(PREEMPTIBLE, "Preemptible", OPTION_ARGOSY, .not_with_global = true)                         \
        X(AFTER, "After", OPTION_ARGOSY, .dependency = UNIT_AFTER) /* unit-options-dependencies.c */  \
        X(BEFORE, "Before", OPTION_ARGOSY, .dependency = UNIT_BEFORE)                                 \
        X(REQUIRES, "Requires", OPTION_ARGOSY, .dependency = UNIT_REQUIRES)                           \
        X(BINDS_TO, "BindsTo", OPTION_ARGOSY, .dependency = UNIT_REQUIRES | UNIT_BINDS_TO)            \
        X(WANTS, "Wants", OPTION_ARGOSY, .dependency = UNIT_WANTS)                                    \
        X(PART_OF, "PartOf", OPTION_ARGOSY, .dependency = UNIT_PART_OF)                               \
        X(CLAIM, "PublishPort", OPTION_NOWHERE) /* of a container, on its node (quadlet-parser.h) */  \
        X(SECRET, "Secret", OPTION_ARGOSY)      /* NAME[:ID]: see unit-options-secrets.c */           \
        X(WANTED_BY, "WantedBy", OPTION_INSTALL) /* a name; in UnitFile.install, with those below */  \
        X(REQUIRED_BY, "RequiredBy", OPTION_INSTALL)                                                  \
        X(ALIAS, "Alias", OPTION_INSTALL)                                                             \
        X(ALSO, "Also", OPTION_INSTALL)                                                               \
        X(UPHELD_BY, "UpheldBy", OPTION_INSTALL)

#define OPTION_KIND_ENUM(kind, ...) RAW_##kind,
typedef enum RawKind { OPTION_KINDS(OPTION_KIND_ENUM) RAW_KINDS } RawKind;

typedef struct RawOption {
        RawKind kind;
        bool fleet; // from [X-Fleet]
        bool broken; // of [Install]: the rest of a line whose quotation does not end
        unsigned line;
        char *word; // specifiers not expanded
} RawOption;

typedef struct OptionKind {
        const char *name;
        OptionSection section;
        bool not_with_global, not_with_id; // Global=, MachineID=
        bool demands_label;                // the word begins with its key, or with "!" and that
        unsigned dependency;               // UnitDependency.kinds; 0: it is about nodes
} OptionKind;

const OptionKind *option_kind(RawKind kind);
// By its name, in one of the sections of argosy's or in [Install]. RAW_KINDS: there is none.
RawKind option_find(const char *name, OptionSection section);

// unit-options-evaluation.c. -EINVAL and *ret_why = "PATH:LINE: reason" where it holds memory for it;
// `ret_why` may be NULL.
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
size_t label_span(const char *s); // characters at its beginning that a key or value may have
bool parse_boolean(const char *word, bool *ret);
// Fills *ret_why and returns -EINVAL, or -ENOMEM.
int option_refuse(char **ret_why, const char *path, unsigned line, const char *format, ...) _printf_(4, 5);
