// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a manager in the hands of its user may send as a signal: nothing outside of the message is read, and
// what is taken from it lies inside.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bus-signal.h"
#include "systemd-signal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(x)                                                                 \
        do {                                                                    \
                if (!(x)) {                                                     \
                        fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); \
                        abort();                                                \
                }                                                               \
        } while (0)

static void must_be_inside(const char *text, const uint8_t *data, size_t size) {
        MUST((const uint8_t *) text >= data && (const uint8_t *) text + strlen(text) < data + size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        BusSignal signal, again;
        UnitFacts facts;
        BusHead head;

        if (size < BUS_HEAD_BYTES || bus_head_read(data, &head) < 0 || head.total != size)
                return 0;
        if (bus_signal_read(&head, data, &signal) < 0)
                return 0;
        must_be_inside(signal.path, data, size);
        must_be_inside(signal.interface, data, size);
        must_be_inside(signal.member, data, size);
        MUST(signal.body.at <= signal.body.len);
        again = signal;
        bus_skip(&again.body, again.signature);
        MUST(again.body.at <= again.body.len);
        if (signal_read_changes(&signal, &facts) < 0)
                return 0;
        if (facts.has & UNIT_FACT_SUB)
                must_be_inside(facts.sub, data, size);
        if (facts.has & UNIT_FACT_RESULT)
                must_be_inside(facts.result, data, size);
        return 0;
}
