// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The leader's table of requests against the one that everybody uses.
#include "test.h"

#include "handlers.h"
#include "request-kind.h"

enum { FIELDS_MAX = 1024 }; // more than any field of a Request has

static void each_kind_that_the_leader_answers_has_a_row_there(void **state) {
        for (unsigned what = 0; what < FIELDS_MAX; what++) {
                const RequestKind *kind = request_kind((Argosy__Request__WhatCase) what);
                bool leaders = kind && (kind->by == REQUEST_BY_LEADER || kind->by == REQUEST_BY_NODES);

                if (leaders != (handler_find((Argosy__Request__WhatCase) what) != NULL))
                        fail_msg("%s: the leader %s", kind ? kind->name : "no kind of request",
                                 leaders ? "has no row" : "has a row");
        }
}

static void its_function_is_of_the_sort_that_the_kind_needs(void **state) {
        for (unsigned what = 0; what < FIELDS_MAX; what++) {
                const Handler *h = handler_find((Argosy__Request__WhatCase) what);
                const RequestKind *kind = request_kind((Argosy__Request__WhatCase) what);

                if (!h)
                        continue;
                bool at_once = kind->by == REQUEST_BY_LEADER && kind->effect == REQUEST_READS;
                bool later = kind->by == REQUEST_BY_NODES || kind->effect == REQUEST_WAITS;
                bool log = kind->effect == REQUEST_CHANGES;
                if (at_once != (h->answer || h->answer_to || h->answer_each) ||
                    later != (h->begin != NULL) || log != (h->plan || h->decide))
                        fail_msg("%s has a function of another sort", kind->name);
                if (!!h->answer + !!h->answer_to + !!h->answer_each + !!h->begin + !!h->plan + !!h->decide !=
                    1)
                        fail_msg("%s has more than one function", kind->name);
                if (!h->is_long != !h->begin_long || (h->is_long && !at_once))
                        fail_msg("%s: at once, or in turns?", kind->name);
                if (((h->answer || h->answer_to) && kind->streams) || (h->answer_each && !kind->streams))
                        fail_msg("%s: one response, or several?", kind->name);
        }
}

static void what_goes_into_the_log_says_how(void **state) {
        for (unsigned what = 0; what < FIELDS_MAX; what++) {
                const Handler *h = handler_find((Argosy__Request__WhatCase) what);
                bool log = h && (h->plan || h->decide);

                if (h && (log != !!h->log.entry || log != !!h->log.bound || log != !!h->log.again))
                        fail_msg("the row of %s does not say how it goes into the log",
                                 request_kind((Argosy__Request__WhatCase) what)->name);
        }
}

RUN_TESTS(
        cmocka_unit_test(each_kind_that_the_leader_answers_has_a_row_there),
        cmocka_unit_test(what_goes_into_the_log_says_how),
        cmocka_unit_test(its_function_is_of_the_sort_that_the_kind_needs)
)
