// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// From now on messages of this program go to the journal natively, if stderr is connected to it. For
// daemons: it needs libsystemd and the six libraries that this brings, which take a fifth of the time that
// argosyctl takes to start.
void log_journal_use(void);
