// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Secrets on a host: files on a ramfs, which is never swapped out and gone with the boot. systemd reads them
// when it starts a unit (LoadCredential= in argosy's drop-in), so a start by systemd itself needs neither
// argosyd nor a leader.
//
//      DIR/values/VERSION-NAME   0444, the value, in folders of root alone; as long as a unit here is to
//                                have that version
//      DIR/units/UNIT/ID         a hard link to it: what the unit's next start gets, and what it runs with.
//                                It is changed right before a start
//                                or restart that argosy asks for, or else while the unit is down
//
// Everything is done with small writes into memory, at once, by the loop. Nothing is written if DIR is no
// ramfs.

#include <stdbool.h>
#include <stdint.h>

#include "argosy.pb-c.h"
#include "buf.h"
#include "secret-bytes.h"
#include "secret-name.h"

typedef struct SecretFiles SecretFiles;

// What is there already is found again. any_fs: it need be no ramfs (for tests). 0; -EMEDIUMTYPE: it is
// none; others of the file system.
int secret_files_new(const char *dir, bool any_fs, SecretFiles **ret);
SecretFiles *secret_files_free(SecretFiles *f); // the files stay
DEFINE_CLEANUP(SecretFiles *, secret_files_free)

// A value that came: written if it is not there. 0 or negative errno.
int secret_files_put(SecretFiles *f, const Argosy__SecretValue *value);
// What the unit is to have from its next start on, in place of what was said before; n 0: nothing. Its links
// stay until it is placed or dropped: it may run, and systemd may start it again before anything else is
// done about it. 0 or -ENOMEM.
int secret_files_want(SecretFiles *f, const char *unit, Argosy__OrderSecret *const *secrets, size_t n);
// Before it starts: its links are as was said. 0, also if it is to have none; -ENOENT: a value has not come;
// another negative errno: it cannot be linked. `why` is a clause then.
enum { SECRET_FILES_WHY_SIZE = 256 };
int secret_files_place(SecretFiles *f, const char *unit, char why[SECRET_FILES_WHY_SIZE]);
// The value that its registry is to see, which is the secret without an id: no link leads to it. 0; -ENOENT:
// it has not come, or nothing was said of any; other negative errno. `why` is a clause then.
int secret_files_registry_auth(const SecretFiles *f, const char *unit, SecretBytes *ret,
                               char why[SECRET_FILES_WHY_SIZE]);
// Whether the links lead to the bytes that were said, as they do for what runs after place(). Also if
// nothing was said.
bool secret_files_is_placed(const SecretFiles *f, const char *unit);
// It is gone, or has a file that names none: so do its links. Costs nothing for a unit that has none.
void secret_files_drop(SecretFiles *f, const char *unit);
// When all that is wanted here was said: values that no unit is to have any more go, and the first time
// links of units that are not here.
void secret_files_sweep(SecretFiles *f, bool (*is_here)(const char *unit, void *userdata), void *userdata);
// Something has changed since the last sweep.
bool secret_files_is_due(const SecretFiles *f);
