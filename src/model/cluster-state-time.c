// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The two times of the log. Both are in the entries, so all voters have the same, and neither looks at a
// clock.
//
//      time_us      what time it is, for people: dates of jobs and tokens. A leader says it
//                   (LogBatch.at_us), and it may be wrong
//      counted_us   how long leaders have counted: the sum of the boot time between entries. Never more than
//                   has passed, since a
//                   boot clock cannot be set; less, if all voters were off. What is deleted by age goes by
//                   this alone
//
// The first goes back by a TimeSet alone. The dates of before, which lie ahead then, are not written anew:
// up to 100,000 packed jobs would be one turn of the loop. The state remembers that what was written up to
// that counted time is not dated later than that time (a correction), and readers of a date apply that.
// Tokens are few, and are written anew. A correction goes when nothing is kept that is as old; one that a
// later one implies goes at once.

#include <errno.h>

#include "cluster-state-private.h"
#include "macro.h"
#include "message.h"

uint64_t cluster_state_time_us(const ClusterState *s) {
        return s->time_us;
}

uint64_t cluster_state_counted_us(const ClusterState *s) {
        return s->counted_us;
}

// A leader that is behind the log's time does not make it stand still: it goes on as that leader's time
// does.
static uint64_t time_after(const ClusterState *s, uint64_t at_us) {
        uint64_t passed = s->clock_us > 0 && at_us > s->clock_us ? at_us - s->clock_us : 0;

        return at_us >= s->time_us ? at_us : s->time_us + MIN_OF(passed, UINT64_MAX - s->time_us);
}

// Counted time tells any two entries apart.
void state_pass_time(ClusterState *s, const Argosy__LogBatch *batch) {
        s->time_us = time_after(s, batch->at_us);
        s->clock_us = batch->at_us;
        s->counted_us += MIN_OF(MAX_OF(batch->counted_us, UINT64_C(1)), UINT64_MAX - s->counted_us);
}

// ---------------------------------------------------------------------------------------------- corrections

uint64_t state_correct_date(const ClusterState *s, uint64_t counted_us, uint64_t date_us) {
        for (size_t i = s->corrections.n; i-- > 0 && s->corrections.list[i].counted_us >= counted_us;)
                date_us = MIN_OF(date_us, s->corrections.list[i].to_us);
        return date_us;
}

// Jobs that are as old are not kept but for those that are still open.
static void drop_old(ClusterState *s) {
        TimeCorrections *c = &s->corrections;
        size_t n = 0;

        while (n < c->n && s->counted_us - c->list[n].counted_us > JOB_AGE_MAX_US)
                n++;
        for (size_t i = n; i < c->n; i++)
                c->list[i - n] = c->list[i];
        c->n -= n;
}

bool cluster_state_takes_time_set(const ClusterState *s, uint64_t to_us) {
        ClusterState copy = {.counted_us = s->counted_us, .corrections = s->corrections};

        drop_old(&copy);
        return copy.corrections.n < CLUSTER_TIME_SETS_MAX ||
               copy.corrections.list[copy.corrections.n - 1].to_us >= to_us;
}

int state_set_time(ClusterState *s, const Argosy__LogOp__TimeSet *set) {
        TimeCorrections *c = &s->corrections;

        if (set->to_us == 0 || !cluster_state_takes_time_set(s, set->to_us)) // the writer has asked, too
                return 0;
        drop_old(s);
        while (c->n > 0 &&
               (c->list[c->n - 1].to_us >= set->to_us || c->list[c->n - 1].counted_us == s->counted_us))
                c->n--;
        c->list[c->n++] = (TimeCorrection){.counted_us = s->counted_us, .to_us = set->to_us};
        s->time_us = s->clock_us = set->to_us;
        s->revision++;
        return state_correct_access_tokens(s, set->to_us) ?: state_correct_tokens(s, set->to_us);
}

// ------------------------------------------------------------------------------------------ tokens of hosts

uint64_t token_record_end_counted_us(const Argosy__TokenRecord *token) {
        return token->counted_us + MIN_OF(token->ttl_us, UINT64_MAX - token->counted_us);
}

bool token_record_is_over(const Argosy__TokenRecord *token, AccessTime now) {
        return token->expires_us < now.wall_us || token_record_end_counted_us(token) < now.counted_us;
}

size_t cluster_state_n_tokens_kept(const ClusterState *s, uint64_t counted_us) {
        size_t n = 0;

        for (size_t i = 0; i < s->n_tokens; i++)
                n += token_record_end_counted_us(s->tokens[i]) >= counted_us;
        return n;
}

size_t cluster_state_n_tokens_open(const ClusterState *s, AccessTime now) {
        size_t n = 0;

        for (size_t i = 0; i < s->n_tokens; i++)
                n += !token_record_is_over(s->tokens[i], now) && s->tokens[i]->used_by.len == 0;
        return n;
}

int state_correct_tokens(ClusterState *s, uint64_t to_us) {
        for (size_t i = 0; i < s->n_tokens; i++) {
                uint64_t end_us = token_record_end_counted_us(s->tokens[i]),
                         left_us = end_us > s->counted_us ? end_us - s->counted_us : 0;
                Argosy__TokenRecord changed = *s->tokens[i], *copy;

                if (left_us >= UINT64_MAX - to_us || changed.expires_us <= to_us + left_us)
                        continue;
                changed.expires_us = to_us + left_us;
                copy = message_copy(&changed);
                if (!copy)
                        return -ENOMEM;
                state_retire_message(s, s->tokens[i]);
                s->tokens[i] = copy;
        }
        return 0;
}

// ------------------------------------------------------------------------------------------------ the image

int state_load_time(ClusterState *s, const Argosy__StateImage *image) {
        TimeCorrections *c = &s->corrections;

        if (image->clock_us > image->time_us || image->n_corrections > CLUSTER_TIME_SETS_MAX)
                return -EBADMSG;
        s->time_us = image->time_us;
        s->clock_us = image->clock_us;
        s->counted_us = image->counted_us;
        for (size_t i = 0; i < image->n_corrections; i++) {
                const Argosy__TimeCorrection *t = image->corrections[i];

                if (t->counted_us > s->counted_us || (i > 0 && (t->counted_us <= c->list[i - 1].counted_us ||
                                                                t->to_us <= c->list[i - 1].to_us)))
                        return -EBADMSG;
                c->list[c->n++] = (TimeCorrection){.counted_us = t->counted_us, .to_us = t->to_us};
        }
        return 0;
}
