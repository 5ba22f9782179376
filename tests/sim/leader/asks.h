// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the leader is asked, of every kind that there is: the test of this table compares it with the kinds of requests that a
// leader answers. Messages are made in World.arena, which is empty again when the request has been handed over.

#include "argosy.pb-c.h"
#include "swarm.h"
#include "world.h"

typedef struct AskKind {
        Argosy__Request__WhatCase what;
        SwarmLoad load;
        unsigned weight; // among those of its load
        // The message, which asks_new() made; false: there is nothing to ask of that kind now.
        bool (*make)(Draw *d, void *message);
} AskKind;

extern const AskKind ask_kinds[];
extern const size_t n_ask_kinds;

// ---- for those who make messages

// Zeroed, and gone with the request.
void *asks_alloc(size_t size);
char *asks_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define ASKS_NEW(type, init)                                   \
        ({                                                     \
                type *new_message_ = asks_alloc(sizeof(type)); \
                init(new_message_);                            \
                new_message_;                                  \
        })
ProtobufCBinaryData asks_id(void); // a new one
Argosy__NamedFile *asks_file(Draw *d, const WorldUnit *u);
const char *asks_node(Draw *d);
uint64_t asks_job(Draw *d); // a number, of any job or of none that there is
