// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The last step of a helper that parses what strangers have written: from now on it reads files, talks on
// the descriptors that it has, and ends; all other system calls are as if the kernel did not know them.
// There is no way back. After enter_container() or the like, which has forbidden new rights.
//
// -EOPNOTSUPP: not on this kind of machine.
int helper_sandbox_enter(void);
