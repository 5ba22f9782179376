// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Names of units: "web.service", "web@.service" (template), "web@1.service" (instance). Pure.

#include <stdbool.h>

#include "macro.h"

enum { UNIT_NAME_MAX = 255 }; // bytes without the NUL, systemd's limit (man systemd.unit)

typedef enum UnitNameKind { UNIT_NAME_INVALID, UNIT_NAME_PLAIN, UNIT_NAME_TEMPLATE, UNIT_NAME_INSTANCE } UnitNameKind;

// Whether `name` is a unit name that argosy manages: systemd's characters, a type out of service socket target timer path
// mount automount slice? no: see unit_name_type_ok(). On UNIT_NAME_INVALID *ret_why (may be NULL) is a static sentence.
UnitNameKind unit_name_kind(const char *name, const char **ret_why);
// Names that argosy never touches on any node: argosyd*, argosy.*, argosy-*, systemd-*, dbus*, and user@ and session scopes.
bool unit_name_is_reserved(const char *name);
// "web@1.service" -> "web@.service". `name` must be an instance. NULL: out of memory.
char *unit_name_template(const char *name);
// The part between '@' and the last '.', empty for others. Points into `name`; *ret_len bytes.
const char *unit_name_instance(const char *name, size_t *ret_len);
// The part before '@' or before the suffix. Points into `name`.
const char *unit_name_prefix(const char *name, size_t *ret_len);
// ".service" etc., a pointer into `name`, or NULL.
const char *unit_name_suffix(const char *name);

// Appends ".service" if there is no known suffix, as systemctl does. NULL: out of memory.
char *unit_name_mangle(const char *arg);

// Expands ranges "web@{1..100}" and "{a,b}" as bash does; numbers may be zero-padded. `emit` gets each name and may return
// a negative errno to stop. -E2BIG beyond `max` names, -EINVAL for a malformed range. An argument without '{' is emitted as is.
int unit_name_expand(const char *arg, size_t max, int (*emit)(void *userdata, const char *name), void *userdata);
