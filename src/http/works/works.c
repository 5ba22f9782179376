// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which kind of call (HttpWork) a resource of HTTP is.
// http_work_of(): a row of the table, else http_rows_work, so a resource of rows needs nothing here.
// It never fails or returns NULL.

#include "works.h"

#include "work-changes.h"
#include "work-events.h"
#include "work-journal.h"
#include "work-rows.h"
#include "work-state.h"
#include "work-texts.h"

const HttpWork *http_work_of(HttpResource r) {
        static const HttpWork *const others[HTTP_RESOURCES] = {
                [HTTP_HEALTHZ] = &http_open_work,    [HTTP_READYZ] = &http_open_work,
                [HTTP_METRICS] = &http_metrics_work, [HTTP_OPENAPI] = &http_openapi_work,
                [HTTP_LOGIN] = &http_login_work,     [HTTP_DIFF] = &http_diff_work,
                [HTTP_EVENTS] = &http_events_work,   [HTTP_JOURNAL] = &http_journal_work,
                [HTTP_STATE] = &http_state_work,
        };

        return others[r] ?: &http_rows_work;
}
