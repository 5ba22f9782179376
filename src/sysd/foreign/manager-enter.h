// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A process turns into somebody of whom nothing good is to be expected: a user, or the inside of a
// container. There is no way back, and what it could do before, it can do no more. Only for the helper
// (manager-helper.h), which does nothing else.
//
// It dies with its parent. If the parent was gone before that could be set the result is -ECANCELED: then
// descriptor 0, the helper's link, has no other end.

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "macro.h"

enum {
        ENTER_TO_BE_SEEN = 1 << 0, // children are born into all its namespaces; it is for them to be careful
};

// No new rights, no core file, no ptrace by the same user, and it ends with its parent. The functions below
// do the same at their end.
int enter_lock_down(void);
// The uid, its groups, no capabilities. *ret_home: malloc'd. -ESRCH: no such user.
int enter_user(uid_t uid, char **ret_home);
// The mount namespace (and the user namespace, if it has one) of the container whose init is `leader`, a pid
// here, which was born then (process_birth()); root there, without capabilities. -ESRCH: there is none, or
// another one that has got its number; -EINVAL: that process is no container's.
int enter_container(pid_t leader, uint64_t born, unsigned flags);
// The directory `names` (NULL-terminated) below `base`, opened for reading; where it is missing it is made,
// or, without `make`, that is -ENOENT. No symbolic link is followed anywhere, and the last one must belong
// to `owner` (-EPERM).
int enter_open_dir(const char *base, const char *const *names, uid_t owner, bool make);
