// SPDX-License-Identifier: LGPL-2.1-or-later

// What a client of fleet's API sends. The first byte says what it is: a target, a unit, patches, or a unit
// file. What is taken as options is read again as the same options.

#include <stdlib.h>
#include <string.h>

#include "fleet-call.h"
#include "macro.h"
#include "message.h"
#include "str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_options(const FleetOptions *o) {
        _cleanup_buf_ Buf text = {};
        FleetOptions again;

        if (fleet_options_write(o, &text) < 0 ||
            fleet_options_read((const char *) text.data, text.len, &again) < 0 ||
            fleet_options_equal(o, &again) != 1)
                abort();
        fleet_options_done(&again);
}

static void read_target(const char *text) {
        static const char *const methods[] = {"GET", "PUT", "DELETE", "PATCH", "POST"};
        const char *why;

        for (size_t i = 0; i < ELEMENTSOF(methods); i++) {
                FleetCall *c = fleet_call_new();
                Argosy__Request *q;

                if (fleet_call_parse(c, text, methods[i], &why) == 0 && !fleet_target_has_body(&c->target) &&
                    fleet_call_next(c, &q) > 0)
                        message_free(q);
                fleet_call_free(c);
        }
}

static void read_body(const char *target, const char *method, const char *text) {
        FleetCall *c = fleet_call_new();
        cJSON *body = cJSON_Parse(text);
        const char *no;
        char *why = NULL;

        if (fleet_call_parse(c, target, method, &no) != 0)
                abort();
        if (body && (cJSON_IsArray(body) || c->target.method == FLEET_PUT)) {
                if (fleet_call_read(c, body, &why) == 0)
                        check_options(&c->unit.options);
                else if (!why)
                        abort();
        }
        free(why);
        cJSON_Delete(body);
        fleet_call_free(c);
}

static void read_file(const char *text, size_t len) {
        FleetOptions o;
        char hash[FLEET_HASH_SIZE];

        if (fleet_options_read(text, len, &o) < 0 || fleet_options_hash(&o, hash) < 0)
                abort();
        fleet_options_done(&o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_free_ char *text = size > 0 ? strndup((const char *) data + 1, size - 1) : NULL;

        if (!text)
                return 0;
        switch (data[0]) {
        case 't':
                read_target(text);
                break;
        case 'u':
                read_body("/fleet/v1/units/a.service", "PUT", text);
                break;
        case 'p':
                read_body("/fleet/v1/machines", "PATCH", text);
                break;
        default:
                read_file((const char *) data + 1, size - 1);
        }
        return 0;
}
