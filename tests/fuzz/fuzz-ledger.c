// SPDX-License-Identifier: LGPL-2.1-or-later

// Whatever the bytes of the file: it is refused untouched, or what was read from it can be read again,
// record by record, after something was added.

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "ledger.h"
#include "unit-name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct Sum {
        size_t n;
        uint64_t revisions;
} Sum;

static int add(const LedgerRecord *record, void *userdata) {
        Sum *sum = userdata;
        size_t len = strlen(record->name);

        if (len == 0 || len > UNIT_NAME_MAX || !memchr(record->slice, 0, sizeof(record->slice)))
                abort();
        sum->n += !streq(record->name, "added.service");
        sum->revisions += streq(record->name, "added.service") ? 0 : record->revision;
        return 0;
}

static int add_return(const LedgerReturn *back, void *userdata) {
        Sum *sum = userdata;

        if (!*back->name || strlen(back->name) > UNIT_NAME_MAX || !*back->with ||
            strlen(back->with) > UNIT_NAME_MAX || !*back->through || strlen(back->through) > UNIT_NAME_MAX)
                abort();
        sum->n += !streq(back->name, "back.service");
        return 0;
}

// The file is rewritten if it is mostly history: then it has what was added.
static int put_all(Ledger *l, void *userdata) {
        Sum *sum = userdata;

        *sum = (Sum){};
        return 0;
}

static void write_file(const char *path, const uint8_t *data, size_t size) {
        FILE *f = fopen(path, "we");

        if (!f || (size > 0 && fwrite(data, size, 1, f) != 1) || fclose(f) != 0)
                abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        Sum before = {}, after = {};
        char path[64];
        Ledger *l;
        int r;

        snprintf(path, sizeof(path), "/tmp/argosy-fuzz-ledger-%d", (int) getpid());
        write_file(path, data, size);
        r = ledger_open(path, add, add_return, put_all, &before, &l);
        if (r < 0 && r != -EBADMSG)
                abort();
        if (r == 0) {
                LedgerRecord record = {.name = "added.service"};

                LedgerReturn back = {.name = "back.service",
                                     .with = "added.service",
                                     .through = "other.service",
                                     .needs = true};

                if (ledger_put(l, &record) < 0 || ledger_put_return(l, &back) < 0 || ledger_flush(l) < 0)
                        abort();
                ledger_close(l);
                if (ledger_open(path, add, add_return, put_all, &after, &l) < 0 || after.n != before.n ||
                    after.revisions != before.revisions)
                        abort();
                ledger_close(l);
        }
        unlink(path);
        return 0;
}
