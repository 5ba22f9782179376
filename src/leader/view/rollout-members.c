// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See rollout-members.h. Marked -> due -> put: its old part leaves the sums and its queue, the new one
// enters. A unit that leaves the group takes its part along. Members come out of chunks, so that the end of
// a rollout does not free a million of objects one by one. Out of memory ends the process: sums that miss a
// unit would take down too many.

#include "rollout-members.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "oom.h"
#include "tables.h"

enum { CHUNK = 256 };

// ---- queues

static bool is_before(const RolloutMember *a, const RolloutMember *b) {
        return strverscmp(a->unit->name, b->unit->name) < 0;
}

static void queue_set(RolloutQueue *q, size_t place, RolloutMember *member) {
        q->heap[place - 1] = member;
        member->place = place;
}

static void queue_rise(RolloutQueue *q, RolloutMember *member) {
        size_t place = member->place;

        for (; place > 1 && is_before(member, q->heap[place / 2 - 1]); place /= 2)
                queue_set(q, place, q->heap[place / 2 - 1]);
        queue_set(q, place, member);
}

static void queue_sink(RolloutQueue *q, RolloutMember *member) {
        size_t place = member->place;

        for (;;) {
                size_t child = 2 * place;

                if (child < q->n && is_before(q->heap[child], q->heap[child - 1]))
                        child++;
                if (child > q->n || !is_before(q->heap[child - 1], member))
                        break;
                queue_set(q, place, q->heap[child - 1]);
                place = child;
        }
        queue_set(q, place, member);
}

static void queue_add(RolloutQueue *q, RolloutMember *member) {
        (void) oom_check(ARRAY_GROW(q->heap, q->allocated, q->n + 1));
        queue_set(q, ++q->n, member);
        queue_rise(q, member);
}

static void queue_remove(RolloutQueue *q, RolloutMember *member) {
        RolloutMember *last = q->heap[--q->n];

        if (last != member) {
                queue_set(q, member->place, last);
                queue_rise(q, last);
                queue_sink(q, last);
        }
        member->place = 0;
}

static void leave_queue(RolloutMembers *m, RolloutMember *member) {
        if (member->turn != ROLLOUT_TURN_NONE)
                queue_remove(&m->queues[member->turn], member);
        member->turn = ROLLOUT_TURN_NONE;
}

// ---- members

static RolloutMember *member_new(RolloutMembers *m, Unit *u) {
        RolloutMember *member = m->free;

        if (!member) {
                RolloutMember *chunk = oom_checked(calloc(CHUNK, sizeof(*chunk)));

                (void) oom_check(ARRAY_GROW(m->chunks, m->chunks_allocated, m->n_chunks + 1));
                m->chunks[m->n_chunks++] = chunk;
                for (size_t i = CHUNK; i-- > 0; m->free = &chunk[i])
                        chunk[i].next_free = m->free;
                member = m->free;
        }
        m->free = member->next_free;
        *member = (RolloutMember){.unit = u, .turn = ROLLOUT_TURN_NONE};
        list_init(&member->due);
        list_init(&member->failed);
        (void) oom_check(map_add(&m->by_unit, &member->unit, sizeof(member->unit), member));
        m->kinds[0]++;
        return member;
}

RolloutMember *rollout_members_find(const RolloutMembers *m, const Unit *u) {
        return map_find(&m->by_unit, &u, sizeof(u));
}

static RolloutMember *member_get(RolloutMembers *m, Unit *u) {
        return rollout_members_find(m, u) ?: member_new(m, u);
}

static void drop_part(RolloutMembers *m, RolloutMember *member) {
        m->sums.wanted -= member->wanted;
        m->sums.down -= member->down;
        m->sums.on_way -= member->on_way;
        m->sums.left -= member->left;
        m->sums.unplaced -= member->unplaced;
        m->sums.unseen -= member->unseen;
        m->kinds[member->kind]--;
        member->kind = 0;
        m->kinds[0]++;
        member->wanted = member->down = member->on_way = member->left = member->unplaced = member->unseen =
                0;
        leave_queue(m, member);
        list_unlink(&member->failed);
        deadline_heap_clear(&m->deadlines, &member->deadline);
}

void rollout_members_mark(RolloutMembers *m, Unit *u) {
        RolloutMember *member = member_get(m, u);

        if (!list_is_linked(&member->due))
                list_append(&m->due, &member->due);
}

static Unit *first_of(const ListNode *at, const ListNode *group) {
        return at == group ? NULL : CONTAINER_OF(at, Unit, of_budget);
}

void rollout_members_forget(RolloutMembers *m, Unit *u) {
        RolloutMember *member;

        if (m->at == u)
                m->at = first_of(u->of_budget.next, m->group);
        member = map_take(&m->by_unit, &u, sizeof(u));
        if (!member)
                return;
        drop_part(m, member);
        m->kinds[0]--;
        list_unlink(&member->due);
        member->next_free = m->free;
        m->free = member;
}

// ---- looking

RolloutMember *rollout_members_next_due(RolloutMembers *m, uint64_t now_us) {
        Deadline *d;
        Unit *u;

        if (!list_is_empty(&m->due))
                return CONTAINER_OF(m->due.next, RolloutMember, due);
        d = deadline_heap_pop(&m->deadlines, now_us);
        if (d)
                return CONTAINER_OF(d, RolloutMember, deadline);
        if (!m->at)
                return NULL;
        u = m->at;
        m->at = first_of(u->of_budget.next, m->group);
        return member_get(m, u);
}

void rollout_members_put(RolloutMembers *m, RolloutMember *member, const RolloutSums *counts,
                         RolloutTurn turn, bool failed, uint64_t wake_us) {
        drop_part(m, member);
        list_unlink(&member->due);
        member->wanted = (uint8_t) counts->wanted;
        member->down = (uint8_t) counts->down;
        member->on_way = (uint8_t) counts->on_way;
        member->left = (uint8_t) counts->left;
        member->unplaced = (uint8_t) counts->unplaced;
        member->unseen = (uint8_t) counts->unseen;
        m->sums.wanted += member->wanted;
        m->sums.down += member->down;
        m->sums.on_way += member->on_way;
        m->sums.left += member->left;
        m->sums.unplaced += member->unplaced;
        m->sums.unseen += member->unseen;
        member->turn = (uint8_t) turn;
        if (turn != ROLLOUT_TURN_NONE)
                queue_add(&m->queues[turn], member);
        if (failed)
                list_append(&m->failed, &member->failed);
        if (wake_us)
                (void) oom_check(deadline_heap_set(&m->deadlines, &member->deadline, wake_us));
}

void rollout_members_set_kind(RolloutMembers *m, RolloutMember *member, unsigned kind) {
        m->kinds[member->kind]--;
        member->kind = (uint8_t) kind;
        m->kinds[kind]++;
}

RolloutMember *rollout_members_take(RolloutMembers *m, RolloutTurn turn) {
        RolloutMember *member = m->queues[turn].n > 0 ? m->queues[turn].heap[0] : NULL;

        if (!member)
                return NULL;
        leave_queue(m, member);
        if (!list_is_linked(&member->due))
                list_append(&m->due, &member->due);
        return member;
}

// ---- life

void rollout_members_init(RolloutMembers *m, ListNode *group) {
        *m = (RolloutMembers){.group = group};
        list_init(&m->due);
        list_init(&m->failed);
        m->at = first_of(group->next, group);
}

void rollout_members_done(RolloutMembers *m) {
        for (size_t i = 0; i < m->n_chunks; i++)
                free(m->chunks[i]);
        free(m->chunks);
        for (unsigned i = 0; i < ROLLOUT_TURNS; i++)
                free(m->queues[i].heap);
        deadline_heap_done(&m->deadlines);
        map_done(&m->by_unit);
        *m = (RolloutMembers){};
}

void rollout_members_restart(RolloutMembers *m) {
        ListNode *group = m->group;

        rollout_members_done(m);
        rollout_members_init(m, group);
}
