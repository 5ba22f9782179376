// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Names of units: "web.service" (plain), "web@.service" (template), "web@1.service" (instance of it). Pure.

#include <stdbool.h>

#include "macro.h"

enum {
        UNIT_NAME_MAX = 255,           // bytes without the NUL, systemd's limit (systemd.unit(5))
        // Bytes of the name of a unit that argosy has: names that are made of it must fit systemd
        // (unit-pin.h) and a directory (NAME.d, .#NAME.new). One limit for all that keeps, sends or writes
        // it.
        UNIT_NAME_MANAGED_MAX = UNIT_NAME_MAX - 18,
        UNIT_NAME_ARGUMENT_MAX = 4096, // bytes of one argument with ranges
};

typedef enum UnitNameKind {
        UNIT_NAME_INVALID,
        UNIT_NAME_PLAIN,
        UNIT_NAME_TEMPLATE,
        UNIT_NAME_INSTANCE,
} UnitNameKind;

// What kind of name it is, or UNIT_NAME_INVALID with *ret_why (may be NULL) a static phrase that fits behind
// "NAME: ".
//
// Valid: letters, digits and ":-_.\", one '@' that is not the first character (an instance may hold more of
// them), at most UNIT_NAME_MAX bytes, and a type out of service, socket, target, timer, path, mount,
// automount, swap, slice. Only the first five have templates. Scopes and devices are made by programs and by
// the kernel, not from files.
UnitNameKind unit_name_kind(const char *name, const char **ret_why);
// Why argosy manages a unit of this valid name on no node, a clause; NULL: it does. The name belongs to the
// machine or to argosy itself, means something to systemd by itself, stands for all names that begin so, or
// is longer than UNIT_NAME_MANAGED_MAX.
const char *unit_name_reserved(const char *name);
// Whether directories that are called after it (NAME.d, NAME.wants) count for all units whose names begin
// so: "probe-.service", "probe-@.service".
bool unit_name_is_of_many(const char *name);

// "web@1.service" -> "web@.service". `name` must be an instance. NULL: out of memory.
char *unit_name_template(const char *name);
// Whether `name` is that of an instance of the template, "web@1.service" of "web@.service"; of a `template`
// that is none false.
bool unit_name_is_instance_of(const char *name, const char *template);
// The part between the first '@' and the suffix, empty for a template or a plain name. Points into `name`;
// *ret_len bytes.
const char *unit_name_instance(const char *name, size_t *ret_len);
// The part before the first '@', or before the suffix where there is none. Points into `name`; *ret_len
// bytes.
const char *unit_name_prefix(const char *name, size_t *ret_len);
// ".service" etc. with the dot, a pointer into `name`; NULL if it ends in no type that systemd knows or ever
// knew.
const char *unit_name_suffix(const char *name);

// Of a timer, path, socket or automount: the type of the unit that it activates if its file names none, as
// ".service". NULL: a unit of that type activates none.
const char *unit_name_activated_type(const char *name);

// Appends ".service" if there is no known suffix, as systemctl does; of a container's file (quadlet.h) the
// unit that it makes. Whether the result is valid is not looked at. NULL: out of memory.
char *unit_name_mangle(const char *arg);

// Expands braces as bash does: "web@{1..100}", "{08..10}" (padded), "{a..e}", "{1..9..2}", "{a,b}", nested
// and several. `emit` gets the names in order and may return a negative errno to stop, which is then
// returned. -EINVAL: braces do not match, hold neither ',' nor a range, or the argument is longer than
// UNIT_NAME_ARGUMENT_MAX. -E2BIG: more than `max` names; the first `max` were emitted. After an error names
// may have been emitted already. An argument without braces is emitted as it is.
int unit_name_expand(const char *arg, size_t max, int (*emit)(void *userdata, const char *name),
                     void *userdata);
