// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See host-news.h. That a host is lost or back is noted here, and jobs/own-jobs.c puts it into the log: with
// an entry that is made anyhow, or in one of its own after NEWS_DELAY_US. News of an entry that failed wait
// no longer.
#include "host-news.h"

#include "clock.h"
#include "host-marks.h"
#include "tables.h"
#include "turn.h"

#define NEWS_DELAY_US USEC_PER_SEC

// What people are told of it already, or will be: by this leader, or one before it.
static bool is_reported_as_lost(const Leader *l, const Host *h) {
        if (h->news.lost || h->news.back)
                return !h->news.back;
        if (h->news.lost_flying || h->news.back_flying)
                return !h->news.back_flying;
        return cluster_state_host_was_lost(l->state, h->number);
}

static void note(Leader *l, Host *h, bool lost) {
        if (!h->recorded || is_reported_as_lost(l, h) == lost)
                return;
        h->news.lost |= lost;
        h->news.back = !lost;
        host_unmark(h, HOST_NEWS);
        host_unmark(h, HOST_NEWS_FLYING);
        host_mark(l, h, HOST_NEWS);
        if (l->host_news_due_us == 0)
                l->host_news_due_us = leader_now(l) + NEWS_DELAY_US;
}

void host_news_lost(Leader *l, Host *h, uint64_t silent_us) {
        h->news.silent_us = silent_us;
        note(l, h, true);
}

void host_news_back(Leader *l, Host *h) {
        note(l, h, false);
}

void host_news_reported(Leader *l, Host *h) {
        h->news.lost_flying = h->news.lost;
        h->news.back_flying = h->news.back;
        h->news.lost = h->news.back = false;
        host_unmark(h, HOST_NEWS);
        host_mark(l, h, HOST_NEWS_FLYING);
        if (!hosts_have_mark(l, HOST_NEWS))
                l->host_news_due_us = 0;
}

void host_news_landed(Leader *l, bool committed) {
        Host *h;

        while ((h = host_take_marked(l, HOST_NEWS_FLYING))) {
                if (!committed) {
                        h->news.lost |= h->news.lost_flying;
                        h->news.back |= h->news.back_flying;
                        host_mark(l, h, HOST_NEWS);
                }
                h->news.lost_flying = h->news.back_flying = false;
        }
}
