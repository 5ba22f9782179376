// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What this machine is: its ids, host name, processors and memory. In a container they are the container's.
// machine_ids() reads the ids that systemd sets up before it starts a service, and derives the host's own
// from them. Failures: machine_ids() returns sd-id128's errno; machine_name() false without a name; nothing
// blocks.

#include "machine.h"

#include <string.h>
#include <systemd/sd-id128.h>
#include <unistd.h>

#include "macro.h"

int machine_ids(const uint8_t application[MACHINE_ID_SIZE], MachineIds *ret) {
        sd_id128_t id, machine, boot, host;
        int r;

        _Static_assert(sizeof(id.bytes) == MACHINE_ID_SIZE, "an id is an id");
        memcpy(id.bytes, application, sizeof(id.bytes));
        r = sd_id128_get_machine(&machine);
        if (r >= 0)
                r = sd_id128_get_machine_app_specific(id, &host);
        if (r >= 0)
                r = sd_id128_get_boot(&boot);
        if (r < 0)
                return r;
        memcpy(ret->machine, machine.bytes, sizeof(ret->machine));
        memcpy(ret->boot, boot.bytes, sizeof(ret->boot));
        memcpy(ret->host, host.bytes, sizeof(ret->host));
        return 0;
}

bool machine_name(char ret[MACHINE_NAME_SIZE]) {
        memset(ret, 0, MACHINE_NAME_SIZE); // gethostname() does not terminate a name that it cuts
        return gethostname(ret, MACHINE_NAME_SIZE - 1) == 0 && *ret;
}

uint64_t machine_processors(void) {
        long n = sysconf(_SC_NPROCESSORS_ONLN);

        return (uint64_t) MAX_OF(n, 1L);
}

uint64_t machine_memory_bytes(void) {
        long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

        return (uint64_t) MAX_OF(pages, 0L) * (uint64_t) MAX_OF(size, 0L);
}
