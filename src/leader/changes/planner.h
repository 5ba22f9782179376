// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A Change that is being planned, and what the files that plan it have of each other: request.c (one unit),
// request-load-with.c (what belongs to it), and one for each sort of option.

#include "batch-builder.h"
#include "change-ops.h"
#include "map.h"
#include "replace-cycles.h"
#include "unit-file.h"

// The contents of a unit.
typedef struct ContentStep {
        Hash before; // zero: it is new
        Hash next;
} ContentStep;

// An instance that is refused because of those that share its networks.
typedef struct Unshared {
        int status; // 0: none was
        char *message;
        ContentStep step;
        size_t n_along; // Planner.n_along before it
} Unshared;

// A unit that got a network along with another one, as the node where it is was told.
typedef struct ToldSharer {
        char *name;
        struct UnitOptions *options;
        uint32_t node;
} ToldSharer;

typedef struct Planner {
        ClusterState *state;
        const Argosy__Request__Change *change;
        BatchBuilder *batch;
        const ChangeOps *ops;
        void *userdata;
        UnitFile **parsed;         // of change->files, as far as needed
        Hash *hashes;              // likewise
        Map named;                 // change->names, once somebody asked
        BatchBuilderMark start;    // of this request
        char *sibling_of;          // the template whose instances were looked at last; NULL: none yet
        SpecEntry *sibling_spec;   // what they have
        ToldSharer *told;
        size_t n_told, told_allocated;
        ContentStep shared;        // of an instance whose networks others have by now; or zero
        Unshared unshared;         // of the last one of which others cannot have the networks
        int sibling_found;         // as ChangeOps.siblings() said
        unsigned depth;            // of units that bring others along
        struct Planning *planning; // innermost unit that is being planned
        Map files;                 // change->files: their numbers, from 1
        Map ordered;         // Ordered by name (request-dependencies.c): units that get other dependencies
        Map cycles;          // Refusal by name (there, too): those whose order goes in a cycle, and why
        unsigned n_judged;   // times that there were such
        size_t n_along;      // units that go along with those that are named
        size_t n_along_before; // with those that had their turn before the one that is being planned
        bool too_many_along; // with the one that is being planned
        Map contents;        // of the units that were planned (request-affinity.c)
        Map mates;           // Mate by name (request-mates.c): units that are activated, and by whom
        ReplaceCycles replacers; // of this request, and whom they replace in the state
        bool replacers_planned;
        size_t placed_bytes; // contents in which a line was looked for
} Planner;

// A unit's content as this request would have it.
typedef struct Source {
        const UnitFile *file;
        Hash hash;
        const void *content; // NULL: the log has it already
        size_t len;
        const char *path; // for messages
        bool from_template;
        bool changes; // the record gets another content
        const char *set; // that the unit belongs to from now on; NULL: as it is
} Source;

// What is said by who plans a unit, or takes a step on the way there: 0, this, or a negative errno (-EBUSY
// for the next batch).
enum { UNIT_REFUSED = 1 }; // the result has an error: what was put into the batch of the unit is to be taken
                           // back

// planner.c
int unit_result_fail(Argosy__Response__UnitResult *result, int status, const char *message);
bool request_needs_file(Argosy__Verb verb);
// Whether a file that comes with it is taken, and looked at as any other that comes in.
bool request_takes_file(const Argosy__Request__Change *change);
// Whether the request names the unit, or -ENOMEM.
int request_names(Planner *p, const char *name);
// What of an update or restart that is under way the unit is a part of: 1 and *ret_of has the name, which is
// that of its template or its own; 0: of none; -ENOMEM. *ret_of: the caller's.
int request_is_rolled_out(const Planner *p, const UnitEntry *u, char **ret_of);

// request.c
// The unit is refused: what the mark has not seen goes from the batch, and the unit is where it was before.
void request_take_back(Planner *p, const char *name, BatchBuilderMark mark);
// Plans a unit. 0, UNIT_REFUSED, -EBUSY, -ENOMEM.
int request_plan_unit(Planner *p, const char *name, Argosy__Response__UnitResult *result);

// request-source.c
int request_number_files(Planner *p); // before all others: 0 or -ENOMEM
// The text of the content. False: neither has it come nor does the cluster have it.
bool request_find_text(const Planner *p, const Source *source, ChangeContent *ret);
// The number of the file that the client sent under that name, or -ENOENT.
int request_find_file(const Planner *p, const char *name);
// The same of the unit, or else of its template: or -ENOMEM.
int request_find_file_of(const Planner *p, const char *name);
// The content that the verb, or its aim, gives the unit. u: as it is, NULL: it is new. 0, UNIT_REFUSED,
// -ENOMEM.
int request_find_source(Planner *p, const char *name, UnitEntry *u, Source *ret,
                        Argosy__Response__UnitResult *result);
int request_find_aimed(Planner *p, const UnitEntry *u, const ChangeAim *aim, Source *ret,
                       Argosy__Response__UnitResult *result);

// request-load-with.c
// Plans another unit as if that verb had been asked for. UNIT_REFUSED: that cannot be had, *ret (freed by
// the caller) says why, and the batch is as before.
int request_plan_other(Planner *p, const char *name, Argosy__Verb verb, Argosy__Response__UnitResult **ret);
// Loads what the unit needs and is not loaded, before the unit itself is planned. What cannot be had is a
// warning.
int request_bring_along(Planner *p, const char *name, const Source *source,
                        Argosy__Response__UnitResult *result);
// Warns if it is somewhere else than what it activates. Afterwards.
int request_warn_apart(Planner *p, const char *name, const Source *source,
                       Argosy__Response__UnitResult *result);
// Warns if systemd may start something for it that is not on its node, and is not brought there. For who
// sends the file.
int request_warn_ends(Planner *p, const char *name, const Source *source,
                      Argosy__Response__UnitResult *result);
// Warns if it is about to go, or to stop, and something may activate it all the same.
int request_warn_activated(Planner *p, const char *name, Argosy__Response__UnitResult *result);

// request-mates.c
// This unit of the request is about to be placed, after what it activates. 0 or -ENOMEM.
int request_note_mate(Planner *p, const char *name, const UnitFile *file, const UnitOptions *options);
// Borrowed: the options of who activates the unit and is about to be placed; NULL: nobody whose options are
// about nodes.
const UnitOptions *request_mate(const Planner *p, const char *name);
void request_mates_done(Planner *p);

// request-affinity.c
// Before its record is put: that those that it is to be with do not lead back to it. 0, UNIT_REFUSED,
// -EBUSY, -ENOMEM.
int request_check_affinity(Planner *p, const char *name, const Source *source, const UnitOptions *options,
                           Argosy__Response__UnitResult *result);
// The unit does not get the content with which it was checked.
void request_content_take_back(Planner *p, const char *name);
void request_contents_done(Planner *p); // none does

// request-dependencies.c
// All of these: 0, UNIT_REFUSED, -EBUSY, -ENOMEM.
// Before the unit is planned: that what it needs is known, and is started with it.
int request_bring_dependencies(Planner *p, const char *name, const Source *source,
                               Argosy__Response__UnitResult *result);
// Before its record is put: that is the order that it is going to have. u: as it is; NULL: it is new, and if
// its own file orders nothing, no order changes. 0 or -ENOMEM.
int request_note_order(Planner *p, const char *name, const UnitEntry *u, const Source *source,
                       const UnitOptions *options);
// When all units are planned: whether their order goes in a cycle. PLAN_ALL_AGAIN: so it does, who is on one
// is known, and everything is to be planned again from the beginning, without those. Each time at least one
// unit more is refused, and only a few times one by one.
enum { PLAN_ALL_AGAIN = 1 };
int request_judge_order(Planner *p);
// Stops or restarts the units that depend on it.
int request_take_along(Planner *p, const char *name, Argosy__Response__UnitResult *result);
// UNIT_REFUSED: it was found to be part of a cycle.
int request_refuse_cycle(const Planner *p, const char *name, Argosy__Response__UnitResult *result);
void request_cycles_take_back(Planner *p); // those who are on one
void request_cycles_done(Planner *p);

// request-secrets.c
// Before its record is put: that the secrets of what is to run are there. 0, UNIT_REFUSED, -EBUSY, -ENOMEM.
int request_check_secrets(Planner *p, const Source *source, const UnitOptions *options,
                          Argosy__Target target, Argosy__Response__UnitResult *result);
// What of BatchBump it needs beside `bump`: whether it gets the newest versions with this, and is not what a
// host may have of that name. u: as it is; NULL: it is new. next: as it is to be. keeps: it is only put
// back.
unsigned request_bump_secrets(const Planner *p, const UnitEntry *u, const Source *source,
                              const UnitOptions *options, const Argosy__UnitRecord *next, unsigned bump,
                              bool keeps);

// request-volumes.c
// The unit, as it is, is about to be destroyed: which of its volumes stay where. 0 or -ENOMEM.
int request_tell_volumes(const Planner *p, const UnitEntry *u, Argosy__Response__UnitResult *result);

// request-networks.c
// Before the unit, which is `u` so far (NULL: it is new), is placed with that content: whoever has a network
// that changes for it gets that, too. 0, UNIT_REFUSED, -EBUSY, -ENOMEM.
int request_share_networks(Planner *p, const UnitEntry *u, const Source *source, const UnitOptions *options,
                           Argosy__Response__UnitResult *result);
enum { REQUEST_MET_SIZE = 384 };
// It was said to be on its node. ret_met: which other one there has another volume or network of a name that
// it has, too, so that it needs another node; or "", also if it `stays` as it is. 0; UNIT_REFUSED: that one
// has it by the same request; -EBUSY: by another one of the entry.
int request_meet_others(Planner *p, const char *name, bool stays, char ret_met[static REQUEST_MET_SIZE],
                        Argosy__Response__UnitResult *result);
// Whether all that the batch has of the unit is a network that an earlier one of the request has brought.
bool request_has_only_shared(const Planner *p, const char *name);
// The batch was rolled back, for that unit or all of them (NULL): those that share with it are placed as the
// batch has them.
void request_sharers_take_back(Planner *p, const char *name);
void request_sharers_done(Planner *p);

// request-replaces.c
// Before its record is put: that no cycle of units replaces it. 0, UNIT_REFUSED, -EBUSY, -ENOMEM.
int request_check_replaces(Planner *p, const char *name, const Source *source, UnitOptions *options,
                           Argosy__Response__UnitResult *result);
