// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A run that nobody watched. A one-shot that ran while argosyd was down has left systemd's memory when
// argosyd is back, exactly like one that was never started. systemd notes each start in the journal, with
// the unit and the invocation id; that tells them apart. A user's manager does so under its uid, with field
// names of its own.

#include <errno.h>
#include <stdio.h>
#include <systemd/sd-id128.h>
#include <systemd/sd-journal.h>
#include <systemd/sd-messages.h>

#include "journal.h"
#include "str.h"

static int match(sd_journal *j, const char *field, const char *value) {
        _cleanup_free_ char *text = str_printf("%s=%s", field, value);

        return text ? sd_journal_add_match(j, text, 0) : -ENOMEM;
}

static int match_boot(sd_journal *j) {
        char text[SD_ID128_STRING_MAX];
        sd_id128_t id;
        int r;

        r = sd_id128_get_boot(&id);
        return r < 0 ? r : match(j, "_BOOT_ID", sd_id128_to_string(id, text));
}

static int match_starts(sd_journal *j, uid_t manager, const char *unit) {
        bool system = manager == JOURNAL_SYSTEM;
        char uid[16];
        int r;

        snprintf(uid, sizeof(uid), "%u", (unsigned) manager);
        r = match_boot(j);
        if (r >= 0)
                r = system ? match(j, "_PID", "1") : match(j, "_UID", uid);
        if (r >= 0)
                r = match(j, system ? "UNIT" : "USER_UNIT", unit);
        if (r >= 0)
                r = match(j, "MESSAGE_ID", SD_MESSAGE_UNIT_STARTING_STR);
        return r;
}

static bool is_invocation(sd_journal *j, uid_t manager, const uint8_t id[16]) {
        const char *field = manager == JOURNAL_SYSTEM ? "INVOCATION_ID" : "USER_INVOCATION_ID";
        size_t len, skip = strlen(field) + 1;
        char text[SD_ID128_STRING_MAX] = {};
        const void *data;
        sd_id128_t found;

        if (sd_journal_get_data(j, field, &data, &len) < 0 || len != skip + 32)
                return false;
        memcpy(text, (const char *) data + skip, 32);
        return sd_id128_from_string(text, &found) >= 0 && memcmp(found.bytes, id, 16) == 0;
}

// A journal that holds nothing at all of this boot proves nothing.
static int journal_is_kept(sd_journal *j) {
        int r;

        r = match_boot(j);
        if (r >= 0)
                r = sd_journal_seek_head(j);
        if (r >= 0)
                r = sd_journal_next(j);
        sd_journal_flush_matches(j);
        return r == 0 ? -ENODATA : r;
}

static int find_start(sd_journal *j, uid_t manager, const char *unit, uint64_t since_us,
                      const uint8_t before[16]) {
        int r;

        r = journal_is_kept(j);
        if (r >= 0)
                r = match_starts(j, manager, unit);
        if (r >= 0)
                r = sd_journal_seek_realtime_usec(j, since_us);
        while (r >= 0 && (r = sd_journal_next(j)) > 0) {
                uint64_t at_us = 0;

                if (sd_journal_get_realtime_usec(j, &at_us) >= 0 && at_us >= since_us &&
                    !is_invocation(j, manager, before))
                        return 1;
        }
        return r;
}

int journal_find_start(uid_t manager, const char *unit, uint64_t since_us, const uint8_t before[16]) {
        sd_journal *j = NULL;
        int r;

        r = sd_journal_open(&j, SD_JOURNAL_LOCAL_ONLY);
        if (r < 0)
                return r;
        r = find_start(j, manager, unit, since_us, before);
        sd_journal_close(j);
        return r;
}
