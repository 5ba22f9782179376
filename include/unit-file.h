// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What argosy needs to know about a unit file: its own options in [X-Argosy] and [X-Fleet], and the few of
// systemd's that change how it is run. Everything else is systemd's business and passes through untouched.
// Pure; one thread.
//
// A UnitFile is what all units with this content share and is parsed once per content. Options may hold
// specifiers, so what they mean is a question about one name: unit_file_expand() answers it. A file without
// specifiers in its own options (nearly every file) has one answer for all names, made once and shared by
// reference.
//
//      [X-Argosy] and [X-Fleet]        both may be present; they count as one section
//      MachineID=ID                    32 hex digits: only the machine with this id. Given twice, the first
//                                      counts in [X-Fleet], and two different ones are refused in [X-Argosy]
//      MachineMetadata=KEY=VALUE ...   values of one key: any of them; different keys: all of them; lines do
//                                      not matter. Words may be quoted: "a=b" "c=d"
//      Global=BOOLEAN                  on every machine that fits; not together with MachineID=
//      Manager=NAME ...                managers that may run it: system, user@UID, container@NAME, or globs
//                                      over these; any of them. Without it only system managers
//      NodeLost=, NodeLostDelaySec=, CutOff=, CutOffSec=, RestartElsewhere=, RestartElsewhereDecaySec=
//                                      see failing-options.h; not in [X-Fleet]
//      MachineOf=, SameNodeAs=UNIT ... on the node where these are. Not with Global=, MachineID=
//      Conflicts=GLOB ...              not on a node with a unit whose name matches; holds in both
//                                      directions. Not with MachineID=. In [X-Argosy] it may not match the
//                                      unit itself
//      Replaces=GLOB ...               units whose name matches are not where this one is: they leave the
//                                      node that it is given. Not with Conflicts=, Global=, MachineID=; may
//                                      not match the unit itself
//      Host=NAME ...                   hosts by name or machine id; any of them
//      RequireLabel=EXPR ...           KEY=VALUE[|VALUE...], KEY!=VALUE[|VALUE...], KEY (exists), !KEY; all
//      Pool=NAME ...                   like RequireLabel=pool=NAME|...
//      PreferLabel=EXPR[:WEIGHT] ...   better there, up to a difference in load of WEIGHT (1..1000; 100)
//      SpreadOver=KEY[:SKEW]           units of one template no further apart in number than SKEW (1)
//                                      between the values of this label; "host" for single hosts
//      PreferSpreadOver=KEY            as far apart as possible
//      Packing=BOOLEAN                 the fullest node that has room instead of the emptiest
//      ReserveCPU=CORES or N%, ReserveMemory=BYTES (K M G T), ReserveResource=NAME:N ...
//      Role=NAME                       whose it is (argosyctl role); "default" without it
//      Priority=N                      -1000 to 1000 (0): in its role the higher one goes first
//      Preemptible=BOOLEAN             whether it gives way to units of higher priority that find no room;
//                                      without it those with a negative priority do. None of these three
//                                      with Global=
//      MaxUnavailable=N or N%          of the units of one template, how many may be down because of us
//                                      (drains, rollouts); 1 and more
//      After=, Before=, Requires=, BindsTo=, Wants=, PartOf=UNIT ...
//                                      order and need among units on any nodes; not in [X-Fleet]
//      File=SOURCE[:DESTINATION] ...   files, folders and patterns that come with the unit: carried-files.h;
//                                      not in
//                                      [X-Fleet]
//      Secret=NAME[:ID] ...            secrets of the cluster that its program finds in
//                                      $CREDENTIALS_DIRECTORY/ID;
//                                      services on systems' own managers only, and not in [X-Fleet]
//      VolumeLoss=accept               of a container (quadlet.h): it may run where its data is not; not in
// [X-Fleet]
//      RegistryAuth=NAME               of a container: a secret, USER:PASSWORD, which the registry of its
//                                      image is shown (agent/rules/registry-auth.h); not in [X-Fleet]
//      ImagePin=NAME@DIGEST            of a container: the image that Image=NAME was resolved to
//                                      (content-image.h);
//                                      argosy writes it. Not in [X-Fleet]
//      X-Condition{MachineID,MachineMetadata,MachineOf}=, X-Conflicts=   [X-Fleet] only, old names
//
// An empty assignment undoes the ones before it. Specifiers in all of them but Global=: %n (name), %N
// (name without its type), %p (part before '@'), %j (the end of that, behind its last '-'), %i (instance),
// %%; any other is refused. Any other key in these two sections is refused too.

#include <stdbool.h>

#include "argosy.pb-c.h"
#include "failing-options.h"
#include "unit-name.h"
#include "unit-options.h"

enum {
        UNIT_FILE_MAX = 256 * 1024, // bytes; larger files are refused
        UNIT_FILE_VALUES_MAX =
                256, // values of MachineID= and MachineMetadata= in one file, and of [Install]
};

// A number of units, or a percentage of them (rounded down, but at least one unit).
typedef struct UnitShare {
        uint32_t value; // 0: not given
        bool percent;
} UnitShare;

typedef struct UnitFile {
        bool global;               // Global=
        UnitShare max_unavailable; // MaxUnavailable=
        bool stays;                // Rebalance=no
        bool oneshot;           // [Service] is Type=oneshot, also when only implied by having neither Type=,
                                // ExecStart= nor BusName=
        bool simple;            // it is active before its program has done anything: Type=simple, exec or
                                // idle, also when only implied
        bool remain;            // [Service] RemainAfterExit=
        bool has_slice;         // Slice= is set
        bool has_weights;       // CPU or IO weights (or the shares of old) are set
        // there is a [Container] section (quadlet.h): what systemd reads a node's generator makes of it
        bool container;
        bool made;              // it is what a generator made of such a one
        bool replaces;          // Replaces= is given
        bool has_install;       // there is an [Install] section
        bool accepts;           // [Socket] Accept=: each connection gets an instance of its own
        bool several_conditions, several_asserts, several_exec_conditions;
        bool stops_unneeded;    // [Unit] StopWhenUnneeded=
        bool refuses_start;     // [Unit] RefuseManualStart=
        bool reloads;           // [Service] ExecReload= is set, or Type=notify-reload
        uint8_t file_change;    // Argosy__FileChange: FileChange=
        char *activates;        // Unit= of a timer or path, Service= of a socket, as written; NULL: see
                                // unit_file_activates()
        char *bound_to;         // [Unit] Requires=, Requisite=, BindsTo=, PartOf=, StopPropagatedFrom=, as
                                // written,
                                // behind each other; NULL: none. Systemd stops the unit with these
        char *needs;            // [Unit] Requires=, Requisite=, BindsTo=, Wants=, Upholds= and After=
                                // likewise: systemd looks for these when the unit starts
        char *networks;         // files that a container names for its network ("front.network",
                                // "db.container"), likewise; their units stand in `bound_to`, too
        char *stops;            // [Unit] PropagatesStopTo= likewise. Systemd stops these with the unit
        char *conflicts;        // [Unit] Conflicts= likewise. Systemd stops these when the unit starts, and
                                // the other way round
        char *sockets;          // [Service] Sockets= likewise; NULL: none
        char *ends;             // [Unit] OnFailure= and OnSuccess= likewise; NULL: none
        char *conditions;       // [Unit] Condition...= as written, ", " between them; NULL: none
        char *asserts;          // likewise [Unit] Assert...=
        char *exec_conditions;  // likewise [Service] ExecCondition=
        char *default_instance; // [Install] DefaultInstance= as written, NULL if none; unit-install.h judges
                                // it
        FailingOptions failing; // what happens when things go wrong
        struct FileSource *file_sources; // File=, see file-sources.h
        size_t n_file_sources;
        // beside a DESTINATION that depends on the instance: settings with paths that PID 1 reads
        // (carried-settings.h); NULL: none
        char *file_settings;
        char *registry_auth;    // RegistryAuth=; NULL: none
        unsigned default_instance_line, registry_auth_line;
        char *description;      // [Unit] Description= as written, "" if none; see unit_file_describe()

        // Private: options as written, and their meaning if it is the same for all names.
        struct RawOption *raw;
        size_t n_raw;
        struct RawOption *install; // of [Install], see unit-install.h
        size_t n_install;
        UnitOptions *common; // NULL: depends on the name
} UnitFile;

// Reads `content` (need not be NUL-terminated). `path` is for messages: a file's path or a unit's name.
// 0 and *ret (free with unit_file_free()); -EINVAL and, if wanted, *ret_why = "PATH:LINE: reason"
// (malloc'd); -ENOMEM.
//
// Refused: empty content (systemd takes that for masked), more than UNIT_FILE_MAX bytes, a NUL byte, a
// section header without its
// ']' (systemd refuses the file too), and what is wrong inside argosy's own sections. Other lines that
// systemd would only warn about are left to systemd.
int unit_file_parse(const char *path, const void *content, size_t len, UnitFile **ret,
                    char **ret_why) _warn_unused_;
// Whether a file that comes in has a section that can only be a misspelt [X-Argosy] or [X-Fleet]: systemd
// ignores such a section without a word. `content` has been parsed. 0; -EINVAL and *ret_why as above;
// -ENOMEM.
int unit_file_check_sections(const char *path, const void *content, size_t len,
                             char **ret_why) _warn_unused_;
// "X-Argosy" or "X-Fleet", if `section` is neither but next to it; NULL: it is one of them, or far from
// both.
const char *unit_file_section_meant(const char *section);
// The i-th option of [X-Argosy] or [X-Fleet] that is known, by its name; NULL: there are not so many.
const char *unit_file_option(size_t i);
// Whether a unit of that name can have the file. 0; -EINVAL and *ret_why, a clause; -ENOMEM.
int unit_file_check_name(const UnitFile *f, const char *name, char **ret_why) _warn_unused_;
// What was kept as written, for one name: a new string with its specifiers filled in. NULL: out of memory.
char *unit_file_fill_in(const char *text, const char *name);
UnitFile *unit_file_free(UnitFile *f);
DEFINE_CLEANUP(UnitFile *, unit_file_free)

// What the file's options mean for the unit `name` (any valid name; %i is empty for templates and plain
// names). `path` as above. 0 and a reference in *ret; -EINVAL and, if wanted, *ret_why, only if the file has
// specifiers; -ENOMEM.
int unit_file_expand(const UnitFile *f, const char *path, const char *name, UnitOptions **ret,
                     char **ret_why) _warn_unused_;
// Whether it has a Secret=.
bool unit_file_has_secrets(const UnitFile *f);
// Whether units with this file may differ in Role= or Priority=, since these have specifiers.
bool unit_file_rank_varies(const UnitFile *f);
// The unit that systemd starts on behalf of the unit `name` with this file: the one that a timer, a path or
// a socket names, or else the service of the same name; the mount of an automount. A new string in *ret,
// NULL there if the unit activates nothing that has a name (other types, Accept=yes, what is no unit name).
// 0 or -ENOMEM.
int unit_file_activates(const UnitFile *f, const char *name, char **ret) _warn_unused_;

// The socket of the same name that a service needs by [Unit] or Sockets=: a new string in *ret, NULL: it
// needs none, or `name` is no service. 0 or -ENOMEM.
int unit_file_own_socket(const UnitFile *f, const char *name, char **ret) _warn_unused_;

// The templates of which systemd may start instances for the unit `name`: those of OnFailure= and
// OnSuccess=, that of a socket with Accept=yes. An array of new strings, each once; NULL: none. 0 or
// -ENOMEM.
int unit_file_companions(const UnitFile *f, const char *name, char ***ret, size_t *ret_n) _warn_unused_;
// The same for the units that OnFailure= and OnSuccess= name and that are of no template.
int unit_file_ends(const UnitFile *f, const char *name, char ***ret, size_t *ret_n) _warn_unused_;

// The description with the specifiers above expanded and everything else as written. A new string; NULL: out
// of memory.
char *unit_file_describe(const UnitFile *f, const char *name);

// "3" or "25%". False: neither, 0, or more than 100%.
bool unit_share_parse(const char *word, UnitShare *ret);
// How many of `n` units that is; SIZE_MAX if it was not given.
size_t unit_share_of(UnitShare share, size_t n);
