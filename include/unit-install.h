// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the [Install] section of a unit file asks for. Pure; one thread.
//
//      WantedBy=X ..., RequiredBy=X ...   X.wants/NAME and X.requires/NAME: who starts X starts the unit
//      Alias=Y ...                        Y: the unit has this name too
//      Also=Z ...                         Z is to be loaded where this unit is
//      Alias=X.wants/NAME, X.requires/NAME   as WantedBy=X, RequiredBy=X
//      DefaultInstance=I                  in UnitFile.default_instance: what a template is called where it
//                                         is named without an instance
//
// X may be a template: who starts an instance of it starts the unit. Specifiers as in unit-file.h.
//
// Refused, with file and line, is what `systemctl enable` refuses: a word that is no unit name, an alias of
// another type, a specifier that does not exist. What it takes and argosy cannot do is ignored, and the user
// is told: an alias that belongs to the system, an alias of a unit of a type that has none, a specifier that
// stands for something of the node, an Also= that is no unit to be loaded, UpheldBy=.

#include "unit-file.h"

typedef enum UnitInstallKind {
        UNIT_INSTALL_WANTED_BY,
        UNIT_INSTALL_REQUIRED_BY,
        UNIT_INSTALL_ALIAS,
        UNIT_INSTALL_ALSO,
} UnitInstallKind;

typedef struct UnitInstallEntry {
        UnitInstallKind kind;
        char *name; // a plain name or an instance; of those who want or require it, also a template
} UnitInstallEntry;

typedef struct UnitInstall {
        UnitInstallEntry *entries; // no two equal
        size_t n;
        // "PATH:LINE: KEY=WORD is ignored: why" for each, with ";" and a new line between them; NULL:
        // nothing
        char *ignored;
} UnitInstall;

// What the section means for the unit `name`. `path` is for messages. 0; -EINVAL and, if wanted, *ret_why =
// "PATH:LINE: reason" (malloc'd); -ENOMEM. For the name of a template entries with specifiers are left out:
// they mean something for its instances only.
int unit_install_expand(const UnitFile *f, const char *path, const char *name, UnitInstall *ret,
                        char **ret_why) _warn_unused_;
void unit_install_done(UnitInstall *i);

// Where systemd looks for the entry, below a unit directory: "X.wants/NAME", "X.requires/NAME", or "Y". A
// new string; NULL: out of memory. Not for UNIT_INSTALL_ALSO.
char *unit_install_link(const UnitInstallEntry *e, const char *name);
