// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// One name of a list of units or of unit files, with its rows: what a Listing is made of. A unit that may be
// on many hosts is made in pieces, each with the rows of some hosts.

#include "answer.h"
#include "leader-core.h"
#include "row-filter.h"

typedef struct ListedName {
        ListNode stale; // in Listing.stale
        bool asked_for; // else it was only touched, and is compared when its rows are made
        // Its rows; one of them is empty.
        Argosy__Response__Units units;
        Argosy__Response__UnitFiles files;
        size_t n_bytes; // of these
        size_t n_found; // that there were before those that nobody wants were dropped
        size_t n_given; // of the rows
        struct ListedName **pieces; // owned; by their hosts
        size_t n_pieces;            // 0: its rows are its own
        bool is_wide;               // it is in Listing.wide
        struct ListedName *whole;   // the name that this is a piece of; NULL: it is no piece
        HostRange hosts;            // of a piece
        char name[];
} ListedName;

// What tells the two lists apart.
typedef struct ListKind {
        Argosy__Response__WhatCase what;
        int (*make)(Leader *l, ListedName *n);
        void (*drop)(ListedName *n, const RowFilter *f); // the rows that it does not want
        // moves the rows behind those that are in it, until it has so many
        int (*give)(ListedName *n, Argosy__Response *r, size_t max);
        void (*set_place)(Argosy__Response *r, size_t first, bool more); // of what is in it
} ListKind;

extern const ListKind list_kind_units, list_kind_files;

ListedName *listed_name_new(const char *name); // without rows; NULL: out of memory
void listed_name_free(ListedName *n); // with its pieces
// Those of its rows that are wanted, as they are now; what it had is dropped. 0 or -ENOMEM.
int listed_name_make(Leader *l, const ListKind *kind, const RowFilter *f, ListedName *n);
// It has none, as far as who asks may see.
void listed_name_hide(ListedName *n);
size_t listed_name_rows(const ListedName *n);
// What making them took, in rows: a global unit is looked at on each host, also where it has none. At least
// 1.
size_t listed_name_work(const Leader *l, const ListedName *n);

// Whether it is to be made in pieces now.
bool listed_name_is_wide(const Leader *l, const ListKind *kind, const char *name);
// It has one for each LISTED_HOSTS hosts that there are; those that were there keep their rows, and its own
// are gone. 0 or -ENOMEM.
enum { LISTED_HOSTS = 64 };
int listed_name_split(const Leader *l, ListedName *n);
void listed_name_drop_pieces(ListedName *n, size_t kept); // all but the first of them
ListedName *listed_name_piece(const ListedName *n, uint32_t host); // NULL: there is none
// When all of them are made: if it is nowhere, it has that row. 0 or -ENOMEM.
int listed_name_end_pieces(Leader *l, const ListKind *kind, const RowFilter *f, ListedName *n);
