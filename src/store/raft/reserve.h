// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Room on the disk that is kept for the moment at which a log is opened.

enum { RESERVE_BYTES = 64 * 1024 };

// If the disk has less than that left, what is kept there is given back. `dir`: of the log.
void reserve_give(const char *dir);
// It is kept, from now on, unless the disk has no room for it.
void reserve_keep(const char *dir);
