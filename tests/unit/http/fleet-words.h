// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A call of fleet's API, and the answers of the cluster that it asks for.

#include "test.h"

#include <stdlib.h>

#include "fleet-call.h"
#include "macro.h"
#include "message.h"
#include "messages.h"
#include "str.h"

typedef struct Talk {
        FleetCall *call;
        Argosy__Request *asked; // NULL: nothing more
} Talk;

static inline void go_on(Talk *t) {
        message_free(TAKE_PTR(t->asked));
        assert_true(fleet_call_next(t->call, &t->asked) >= 0);
}

static inline unsigned begin(Talk *t, const char *method, const char *target, const char *body) {
        _cleanup_free_ char *why = NULL;
        const char *no;
        unsigned status;
        cJSON *json = body ? cJSON_Parse(body) : NULL;

        *t = (Talk){.call = fleet_call_new()};
        assert_int_equal(fleet_call_parse(t->call, target, method, &no), 0);
        status = body ? fleet_call_read(t->call, json, &why) : 0;
        cJSON_Delete(json);
        if (status > 0)
                assert_non_null(why);
        else
                go_on(t);
        return status;
}

static inline void answer(Talk *t, Argosy__Response *r) {
        assert_non_null(t->asked);
        assert_int_equal(fleet_call_take(t->call, r), 0);
        go_on(t);
}

static inline void answer_machines(Talk *t) {
        Argosy__Label rack = ARGOSY__LABEL__INIT, *labels = &rack;
        Argosy__Response__NodeRow rows[4], *list[4];
        Argosy__Response__Nodes nodes = ARGOSY__RESPONSE__NODES__INIT;
        Argosy__Response r = RESPONSE_OF(NODES, nodes, &nodes);

        assert_int_equal(t->asked->what_case, ARGOSY__REQUEST__WHAT_LIST_NODES);
        for (size_t i = 0; i < 4; i++) {
                static const char *const names[] = {"n1", "n2", "n2/user@7", "n3"}, *const ids[] = {
                                                                                            "id1", "id2",
                                                                                            "id2", "id3"};

                rows[i] = (Argosy__Response__NodeRow)
                        NODE_ROW_OF(.node = (char *) names[i], .machine_id = (char *) ids[i],
                                    .manager = (char *) (i == 2 ? "user@7" : ""),
                                    .state = (char *) (i == 3 ? "lost" : "online"),
                                    .address = (char *) (i == 0 ? "10.0.0.1:7" : "[::1]:7"));
                list[i] = &rows[i];
        }
        rack.key = (char *) "rack";
        rack.value = (char *) "a";
        rows[0].labels = &labels;
        rows[0].n_labels = 1;
        nodes.rows = list;
        nodes.n_rows = 4;
        answer(t, &r);
}

static inline void answer_file(Talk *t, const char *name, const char *desired, const char *current,
                               const char *node) {
        Argosy__Response__UnitFileRow row = UNIT_FILE_ROW_OF(.unit = (char *) name,
                                                             .desired = (char *) desired,
                                                             .state = (char *) current,
                                                             .node = (char *) node),
                                      *rows = &row;
        Argosy__Response__UnitFiles files =
                MESSAGE_OF(response__unit_files, .rows = &rows, .n_rows = name != NULL);

        assert_int_equal(t->asked->what_case, ARGOSY__REQUEST__WHAT_LIST_UNIT_FILES);
        answer(t, A_RESPONSE(UNIT_FILES, unit_files, &files));
}

static inline void answer_content(Talk *t, const char *text) {
        assert_int_equal(t->asked->what_case, ARGOSY__REQUEST__WHAT_CAT);
        Argosy__Response__Cat cat =
                MESSAGE_OF(response__cat, .name = t->asked->cat->names[0],
                           .content = (ProtobufCBinaryData){strlen(text), (uint8_t *) text});
        answer(t, A_RESPONSE(CAT, cat, &cat));
}

static inline void end(Talk *t, unsigned status, const char *says) {
        char *text;

        assert_null(t->asked);
        assert_int_equal(fleet_call_answer(t->call, &text), status);
        if (says) {
                assert_non_null(text);
                assert_string_equal(text, says);
        } else
                assert_null(text);
        free(text);
        fleet_call_free(t->call);
}
