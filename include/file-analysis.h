// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What this machine says of unit files and containers' files: podman's generator makes units of the latter
// (quadlet-generator.h), then systemd is asked (unit-analysis.h). Blocks.

#include "buf.h"
#include "unit-analysis.h"

// rets[i] and made[i], zeroed by the caller, which also ends them after an error, are about files[i].
// made[i]: the unit that was made of a container's file, with what stands beside it (quadlet_made_next());
// empty: it is none, or is refused (UNIT_FINDING_REFUSED), or there is no generator here
// (UNIT_FINDING_MISSING). What systemd says of a unit that was made has no line. `timeout_ms`: for all of
// it. 0; -ENOENT: there is no systemd-analyze, and files that are no containers'; -ETIMEDOUT; -E2BIG;
// -ENOMEM; other negative errno.
int file_analysis(const UnitAnalysisFile *files, size_t n, bool user, unsigned timeout_ms,
                  UnitFindings *rets, Buf *made) _warn_unused_;
