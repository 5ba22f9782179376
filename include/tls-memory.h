// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// From the call on, what the TLS library gives back of its memory in this process is overwritten first: records that it has decrypted, and keys,
// would otherwise be in a core until somebody else needs the memory. To be called once, by main(), before there are threads.
void tls_memory_wipe(void);
