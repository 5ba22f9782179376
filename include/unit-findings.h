// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What systemd says of unit files before anything is started: the lines that it ignores, and why it would
// refuse a file. Read from what `systemd-analyze verify` prints (unit-analysis.h), which may be about
// hostile files. Pure; one thread.

#include <stdbool.h>
#include <stddef.h>

#include "macro.h"

enum {
        UNIT_FINDINGS_MAX = 100,     // of one unit; behind them only reasons to refuse it are kept
        UNIT_FINDING_TEXT_MAX = 300, // bytes
};

typedef enum UnitFindingKind {
        UNIT_FINDING_WARNING, // a line that is ignored, or that means something else than it says
        UNIT_FINDING_REFUSED, // why systemd does not take the file
        UNIT_FINDING_MISSING, // a program that is not there
} UnitFindingKind;

typedef struct UnitFinding {
        unsigned line; // 0: about the file as a whole
        UnitFindingKind kind;
        char *text; // printable, without a dot at the end
} UnitFinding;

typedef struct UnitFindings {
        UnitFinding *list; // in the order in which systemd says them
        size_t n, allocated;
        bool refused; // then there is one of UNIT_FINDING_REFUSED
} UnitFindings;

void unit_findings_done(UnitFindings *f);
#define _cleanup_unit_findings_ _cleanup_(unit_findings_done)
int unit_findings_copy(const UnitFindings *from, UnitFindings *ret);
// 0 or -ENOMEM. `text` is made printable and cut.
int unit_findings_add(UnitFindings *f, unsigned line, UnitFindingKind kind, const char *text, size_t len);

typedef struct UnitFindingsOf {
        const char *unit; // no template
        const char *file; // in the directory: its own name, or its template's
} UnitFindingsOf;

// `units`: each unit and each file once; the files are in `dir`. What is said of other files and units is
// left out. rets[i], zeroed by the caller, is about units[i]. 0, -EEXIST or -ENOMEM; the caller ends them
// also then.
int unit_findings_parse(const char *dir, const UnitFindingsOf *units, size_t n, const char *output,
                        size_t len, UnitFindings *rets) _warn_unused_;
// Whether another instance of the template could get another answer: what is said is about lines with
// specifiers.
bool unit_findings_are_of_instance(const UnitFindings *f, const void *content, size_t len);
// Drops, for a template that was checked as one of its instances, findings about lines of that instance.
void unit_findings_drop_instance(UnitFindings *f, const void *content, size_t len);
// The first reason why systemd refuses the file; NULL: it does not.
const UnitFinding *unit_findings_refusal(const UnitFindings *f);

// "warning", "refused", "missing".
const char *unit_finding_kind_to_string(UnitFindingKind kind);
