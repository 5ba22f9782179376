// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// How a host says what it holds when a session with the leader begins (ToVoter.Attach): so many units in the
// Attach itself, and, if that are not all, so many in each AttachPart behind it. So a message costs its
// reader the same whatever the host holds, and its length has a limit that no host meets.

enum { ATTACH_HELD_MAX = 512 }; // units of a message
