// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A page begins with one bit for each of its records that is in use. The place of one that is not holds the
// number of the next such one, so that numbers are given again without another table; only the loop reads
// that.
//
// The root has room for a power of two of directories and is replaced by a larger one when that is not
// enough. It and directories are copied and retired like pages.

#include "paged-table.h"

#include <errno.h>

enum { DIRECTORY_SHIFT = 6, DIRECTORY_PAGES = 1 << DIRECTORY_SHIFT, BITS = 64 };
#define NOTHING_FREED UINT32_MAX

typedef struct PagedNode {
        uint64_t born;
} PagedNode;

typedef struct PagedRoot {
        PagedNode node;
        size_t n_directories; // that there is room for
        PagedNode *directories[];
} PagedRoot;

typedef struct PagedDirectory {
        PagedNode node;
        PagedNode *pages[DIRECTORY_PAGES];
} PagedDirectory;

typedef struct PagedPage {
        PagedNode node;
        uint64_t used[]; // a bit for each record; behind them the records
} PagedPage;

// ---- where things are

static size_t records_per_page(const PagedView *v) {
        return (size_t) 1 << v->shift;
}

static size_t used_words(const PagedView *v) {
        return (records_per_page(v) + BITS - 1) / BITS;
}

static size_t page_size(const PagedView *v) {
        return sizeof(PagedPage) + used_words(v) * sizeof(uint64_t) + records_per_page(v) * v->size;
}

static size_t root_size(size_t n_directories) {
        return sizeof(PagedRoot) + n_directories * sizeof(PagedNode *);
}

static size_t directory_of(const PagedView *v, uint32_t number) {
        return number >> v->shift >> DIRECTORY_SHIFT;
}

static size_t page_in_directory(const PagedView *v, uint32_t number) {
        return (number >> v->shift) % DIRECTORY_PAGES;
}

static size_t place_in_page(const PagedView *v, uint32_t number) {
        return number & (records_per_page(v) - 1);
}

static uint8_t *record_at(const PagedView *v, const PagedPage *page, size_t place) {
        return (uint8_t *) &page->used[used_words(v)] + place * v->size;
}

static const PagedPage *find_page(const PagedView *v, uint32_t number) {
        const PagedRoot *root = CONTAINER_OF(v->root, const PagedRoot, node);
        const PagedDirectory *directory =
                CONTAINER_OF(root->directories[directory_of(v, number)], const PagedDirectory, node);

        return CONTAINER_OF(directory->pages[page_in_directory(v, number)], const PagedPage, node);
}

// ---- reading

const void *paged_view_find(const PagedView *v, uint32_t number) {
        uint32_t iter = number;
        const void *record = paged_view_next(v, &iter);

        return record && iter == number + 1 ? record : NULL;
}

const void *paged_view_next(const PagedView *v, uint32_t *iter) {
        while (*iter < v->n_slots) {
                const PagedPage *page = find_page(v, *iter);
                size_t place = place_in_page(v, *iter), word = place / BITS;
                uint64_t rest = page->used[word] >> place % BITS;

                if (rest) {
                        size_t ahead = (size_t) __builtin_ctzll(rest);

                        *iter += (uint32_t) ahead + 1;
                        return record_at(v, page, place + ahead);
                }
                *iter += (uint32_t) (MIN_OF((word + 1) * BITS, records_per_page(v)) - place);
        }
        return NULL;
}

// ---- writing

void paged_table_init(PagedTable *t, SnapshotClock *clock, size_t size) {
        assert(size >= sizeof(uint32_t) && size <= PAGED_TABLE_PAGE);
        *t = (PagedTable){.clock = clock, .now.size = (uint16_t) size, .freed = NOTHING_FREED};
        while (2 * records_per_page(&t->now) * size <= PAGED_TABLE_PAGE)
                t->now.shift++;
}

static void retire(PagedTable *t, PagedNode *node, size_t size) {
        snapshot_clock_retire(t->clock, node, free, size);
}

// What stands at *at, so that it can be written to: a copy if somebody may read it, a new one if there is
// none. NULL: out of memory.
static PagedNode *own(PagedTable *t, PagedNode **at, size_t size) {
        PagedNode *copy;

        if (*at && !snapshot_clock_may_reach(t->clock, (*at)->born))
                return *at;
        copy = *at ? malloc(size) : calloc(1, size);
        if (!copy)
                return NULL;
        if (*at) {
                memcpy(copy, *at, size);
                retire(t, *at, size);
        }
        copy->born = t->clock->now;
        return *at = copy;
}

static size_t root_room(const PagedTable *t) {
        return t->root ? CONTAINER_OF(t->root, PagedRoot, node)->n_directories : 0;
}

static int grow_root(PagedTable *t, size_t need) {
        size_t room = root_room(t), more = MAX_OF(room, (size_t) 1);
        PagedRoot *root;

        while (more < need)
                more *= 2;
        root = calloc(1, root_size(more));
        if (!root)
                return -ENOMEM;
        if (t->root) {
                memcpy(root, t->root, root_size(room));
                retire(t, t->root, root_size(room));
        }
        root->node.born = t->clock->now;
        root->n_directories = more;
        t->root = &root->node;
        return 0;
}

// The page of a number, to be written to. NULL: out of memory.
static PagedPage *own_page(PagedTable *t, uint32_t number) {
        size_t directory = directory_of(&t->now, number);
        PagedNode *node;

        if (directory >= root_room(t) && grow_root(t, directory + 1) < 0)
                return NULL;
        node = own(t, &t->root, root_size(root_room(t)));
        if (node)
                node = own(t, &CONTAINER_OF(node, PagedRoot, node)->directories[directory],
                           sizeof(PagedDirectory));
        if (node)
                node = own(
                        t,
                        &CONTAINER_OF(node, PagedDirectory, node)->pages[page_in_directory(&t->now, number)],
                        page_size(&t->now));
        return node ? CONTAINER_OF(node, PagedPage, node) : NULL;
}

static uint64_t bit_of(size_t place) {
        return UINT64_C(1) << place % BITS;
}

static bool is_used(const PagedPage *page, size_t place) {
        return page->used[place / BITS] & bit_of(place);
}

int paged_table_add(PagedTable *t, const void *record, uint32_t *ret_number) {
        bool again = t->freed != NOTHING_FREED;
        uint32_t number = again ? t->freed : t->now.n_slots;
        size_t place = place_in_page(&t->now, number);
        PagedPage *page = own_page(t, number);

        assert(number < NOTHING_FREED);
        if (!page)
                return -ENOMEM;
        assert(!is_used(page, place));
        if (again)
                memcpy(&t->freed, record_at(&t->now, page, place), sizeof(t->freed));
        else
                t->now.n_slots++;
        memcpy(record_at(&t->now, page, place), record, t->now.size);
        page->used[place / BITS] |= bit_of(place);
        t->now.n_used++;
        *ret_number = number;
        return 0;
}

int paged_table_set(PagedTable *t, uint32_t number, const void *record) {
        size_t place = place_in_page(&t->now, number);
        PagedPage *page = own_page(t, number);

        if (!page)
                return -ENOMEM;
        assert(is_used(page, place));
        memcpy(record_at(&t->now, page, place), record, t->now.size);
        return 0;
}

int paged_table_remove(PagedTable *t, uint32_t number) {
        size_t place = place_in_page(&t->now, number);
        PagedPage *page = own_page(t, number);

        if (!page)
                return -ENOMEM;
        assert(is_used(page, place));
        page->used[place / BITS] &= ~bit_of(place);
        memcpy(record_at(&t->now, page, place), &t->freed, sizeof(t->freed));
        t->freed = number;
        t->now.n_used--;
        return 0;
}

// ---- the end

static void retire_directory(PagedTable *t, PagedDirectory *directory) {
        for (size_t i = 0; i < DIRECTORY_PAGES; i++)
                if (directory->pages[i])
                        retire(t, directory->pages[i], page_size(&t->now));
        retire(t, &directory->node, sizeof(*directory));
}

void paged_table_done(PagedTable *t) {
        PagedRoot *root = t->root ? CONTAINER_OF(t->root, PagedRoot, node) : NULL;

        for (size_t i = 0; i < root_room(t); i++)
                if (root->directories[i])
                        retire_directory(t, CONTAINER_OF(root->directories[i], PagedDirectory, node));
        if (root)
                retire(t, t->root, root_size(root_room(t)));
        paged_table_init(t, t->clock, t->now.size);
}
