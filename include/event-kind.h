// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What events are about: one table of kinds and their fields. The leader fills in the values in this order,
// argosyctl prints them by it, the manual is compared with it. A field is only ever added at the end of its
// kind. Pure.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "argosy.pb-c.h"

enum {
        EVENTS_BYTES_MAX = 64 * 1024, // of one answer; one object is given whole, however long
        EVENT_FIELDS_MAX = 13,
        // one more than the greatest that has a row; as many as a set of 32 bits has room for
        EVENT_KINDS = 15,
        EVENT_PATTERNS_MAX = 64,
};

typedef enum EventFieldType { EVENT_TEXT, EVENT_NUMBER, EVENT_BOOL, EVENT_TIME } EventFieldType;

typedef struct EventField {
        const char *name;
        EventFieldType type; // a number in decimal, a bool as "1" or "", a time in microseconds since 1970
        const char *what;
} EventField;

typedef struct EventKindInfo {
        const char *name, *what;
        bool of_units;     // its first field is the name of a unit, or of a template
        bool of_log;       // the log alone says it: after a change of leader it goes on where it was
        unsigned n_names;  // so many of the first fields name the object
        EventField fields[EVENT_FIELDS_MAX]; // up to the first without a name
} EventKindInfo;

// Indices of fields that are filled in and read by name.
enum {
        EVENT_STREAM_WORD = 0,
        EVENT_STREAM_KINDS = 1,
        EVENT_LEADER_NAME = 0,
        EVENT_LEADER_TERM = 1,
        EVENT_LEADER_REASON = 2,
        EVENT_LEADER_FIELDS = 3,
        EVENT_UNIT_NAME = 0,
        EVENT_STATE_UNIT = 0,
        EVENT_STATE_NODE = 1,
};

// Of an EVENT_STREAM: the whole state follows, and what was known before counts no more, but for objects of
// kinds that are not named where some are; everything has been told, and from here on only what is new.
#define EVENT_STREAM_BEGINS "begins"
#define EVENT_STREAM_COMPLETE "complete"

// NULL: no kind that this build knows.
const EventKindInfo *event_kind_info(Argosy__EventKind kind);
size_t event_kind_n_fields(const EventKindInfo *info);
// EVENT_NONE: no such word.
Argosy__EventKind event_kind_from_string(const char *word);
// A kind in a set of them.
static inline uint32_t event_kind_bit(Argosy__EventKind kind) {
        return UINT32_C(1) << kind;
}
