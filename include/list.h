// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Intrusive doubly linked ring. A ListNode is both the head of a list and a member of one; an unlinked
// member points at itself.

#include <stdbool.h>

#include "macro.h"

typedef struct ListNode {
        struct ListNode *prev, *next;
} ListNode;

#define LIST_INIT(head) ((ListNode){&(head), &(head)})

static inline void list_init(ListNode *n) {
        n->prev = n->next = n;
}

static inline bool list_is_empty(const ListNode *head) {
        return head->next == head;
}

static inline bool list_is_linked(const ListNode *n) {
        return n->next && n->next != n;
}

static inline void list_insert_before(ListNode *where, ListNode *n) {
        n->prev = where->prev;
        n->next = where;
        where->prev->next = n;
        where->prev = n;
}

static inline void list_append(ListNode *head, ListNode *n) {
        list_insert_before(head, n);
}

static inline void list_unlink(ListNode *n) {
        if (!n->next)
                return;
        n->prev->next = n->next;
        n->next->prev = n->prev;
        list_init(n);
}

// A walk over the list comes to `n` next, and n is about to leave it.
static inline void list_cursor_pass(ListNode **next, const ListNode *n) {
        if (*next == n)
                *next = n->next;
}

// Moves all members of `from` to the end of `to`; `from` is empty afterwards.
static inline void list_splice(ListNode *to, ListNode *from) {
        if (list_is_empty(from))
                return;
        from->next->prev = to->prev;
        to->prev->next = from->next;
        from->prev->next = to;
        to->prev = from->prev;
        list_init(from);
}

// The same to the beginning of `to`.
static inline void list_splice_front(ListNode *to, ListNode *from) {
        list_splice(from, to);
        list_splice(to, from);
}

#define list_foreach(n, head) for (ListNode *n = (head)->next; n != (head); n = n->next)
// `n` may be unlinked or freed in the body; nothing else may.
#define list_foreach_safe(n, head) \
        for (ListNode *n = (head)->next, *n##_next = n->next; n != (head); n = n##_next, n##_next = n->next)
