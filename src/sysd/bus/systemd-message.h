// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// systemd's messages as plain structs. Everything borrows from the message. -EBADMSG and the like: the peer
// is not a systemd that we know.

#include <systemd/sd-bus.h>

#include "unit-name.h"
#include "unit-runtime.h"

#define SYSTEMD_NAME "org.freedesktop.systemd1"
#define SYSTEMD_PATH "/org/freedesktop/systemd1"
#define SYSTEMD_MANAGER "org.freedesktop.systemd1.Manager"
#define SYSTEMD_UNIT "org.freedesktop.systemd1.Unit"
#define SYSTEMD_SERVICE "org.freedesktop.systemd1.Service"
#define SYSTEMD_NO_SUCH_UNIT "org.freedesktop.systemd1.NoSuchUnit"

// One row of ListUnits and ListUnitsByNames.
typedef struct UnitRow {
        const char *name;
        UnitFacts facts;
        const char *load_word;
        uint32_t job; // 0: none
} UnitRow;

// "/org/freedesktop/systemd1/unit/web_2eservice" -> "web.service". False: not the path of a unit.
bool unit_path_decode(const char *path, char ret_name[UNIT_NAME_MAX + 1]);
// malloc'd; NULL: out of memory.
char *unit_path_encode(const char *name);
// "/org/freedesktop/systemd1/job/17" -> 17. False: not the path of a job.
bool job_path_decode(const char *path, uint32_t *ret_id);

// Next row; 1, or 0 at the end of the array that the caller entered.
int message_read_row(sd_bus_message *message, UnitRow *ret);
// The interface that has Result for a unit of that name, or NULL if the type has none.
const char *unit_result_interface(const char *name);
bool interface_has_result(const char *interface);
// The value of a reply to Get of one of our properties ("InvocationID", "Result", "InactiveEnterTimestamp",
// "StateChangeTimestamp").
int message_read_value(sd_bus_message *message, const char *property, UnitFacts *ret);
