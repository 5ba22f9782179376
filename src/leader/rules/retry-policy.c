// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Failures of one unit by node, as points that halve with time, in whole numbers: between two halvings they
// fall in a straight line. A run is counted once, by when it began. At most RETRY_NODES_MAX nodes are
// remembered; the one with the fewest points makes room.

#include "retry-policy.h"

#include "clock.h"
#include "macro.h"

static uint32_t points_now(const RetryNode *n, uint64_t half_us, uint64_t now_us) {
        uint64_t age = now_us > n->at_us ? now_us - n->at_us : 0, halves = age / half_us;

        if (halves > 31)
                return 0;
        return (n->points >> halves) - (uint32_t) ((n->points >> halves) / 2 * (age % half_us) / half_us);
}

static unsigned rounded(uint32_t points) {
        return (points + RETRY_POINT / 2) / RETRY_POINT;
}

static RetryNode *find(RetryLog *log, uint32_t node) {
        for (size_t i = 0; i < log->n; i++)
                if (log->nodes[i].node == node)
                        return &log->nodes[i];
        return NULL;
}

// Room for another node, if need be that of the one with the fewest points.
static RetryNode *take_place(RetryLog *log, uint64_t half_us, uint64_t now_us) {
        RetryNode *least = &log->nodes[0];

        if (log->n < RETRY_NODES_MAX)
                return &log->nodes[log->n++];
        for (size_t i = 1; i < log->n; i++)
                if (points_now(&log->nodes[i], half_us, now_us) < points_now(least, half_us, now_us))
                        least = &log->nodes[i];
        return least;
}

bool retry_policy_note(RetryLog *log, uint32_t node, uint64_t since_us, uint64_t half_us, uint64_t now_us) {
        RetryNode *n = find(log, node);

        if (n && n->since_us == since_us)
                return false;
        if (!n) {
                n = take_place(log, half_us, now_us);
                *n = (RetryNode){.node = node};
        }
        n->points = points_now(n, half_us, now_us) + RETRY_POINT;
        n->at_us = now_us;
        n->since_us = since_us;
        return true;
}

void retry_policy_add(RetryLog *log, uint32_t node, unsigned n, uint64_t half_us, uint64_t now_us) {
        RetryNode *of = find(log, node);

        if (!of) {
                of = take_place(log, half_us, now_us);
                *of = (RetryNode){.node = node};
        }
        of->points = points_now(of, half_us, now_us) + MIN_OF(n, (unsigned) RETRY_ADDED_MAX) * RETRY_POINT;
        of->at_us = now_us;
}

unsigned retry_policy_failures(const RetryLog *log, uint32_t node, uint64_t half_us, uint64_t now_us) {
        for (size_t i = 0; i < log->n; i++)
                if (log->nodes[i].node == node)
                        return rounded(points_now(&log->nodes[i], half_us, now_us));
        return 0;
}

unsigned retry_policy_total(const RetryLog *log, uint64_t half_us, uint64_t now_us) {
        uint32_t points = 0;

        for (size_t i = 0; i < log->n; i++)
                points += points_now(&log->nodes[i], half_us, now_us);
        return rounded(points);
}

uint64_t retry_policy_delay_us(unsigned total) {
        unsigned doublings = MIN_OF(total ? total - 1 : 0, 16U);

        return MIN_OF(RETRY_DELAY_MIN_SEC * USEC_PER_SEC << doublings, RETRY_DELAY_MAX_SEC * USEC_PER_SEC);
}

// The first moment at which the node has fewer points than these.
static uint64_t below_us(const RetryNode *n, uint32_t points, uint64_t half_us) {
        uint64_t halves = 0, before, fall;

        while (n->points >> (halves + 1) >= points)
                halves++;
        before = n->points >> halves;
        fall = before / 2;
        return n->at_us + halves * half_us + ((before - points + 1) * half_us + fall - 1) / fall;
}

uint64_t retry_policy_forgiven_us(const RetryLog *log, unsigned limit, uint64_t half_us, uint64_t now_us) {
        uint32_t points = limit * RETRY_POINT - RETRY_POINT / 2;
        uint64_t first = RETRY_NEVER;

        for (size_t i = 0; i < log->n; i++)
                if (points_now(&log->nodes[i], half_us, now_us) >= points)
                        first = MIN_OF(first, below_us(&log->nodes[i], points, half_us));
        return first;
}
