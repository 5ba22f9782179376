// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What owners change in a host's record: labels set at run time, and the modes of its nodes. Pure. All work
// on a copy of the record (message_copy()) that then goes into the log.
//
// A record has three lists of labels: own_labels, as the host's own configuration says; set_labels, which
// `argosyctl label` set; and labels, which is what counts: own_labels, but for each key of set_labels that
// one alone. A key may have several values in own_labels.

#include <stdbool.h>
#include <stdint.h>

#include "argosy.pb-c.h"

enum {
        HOST_SET_LABELS_MAX = 64,
        HOST_OWN_LABELS_MAX = 64, // of its configuration
        HOST_NAME_LEN_MAX = 64,
        HOST_ADDRESS_LEN_MAX = 63,
        HOST_FLEET_BYTES_MAX = 64 * 1024, // names of fleet's units
};

// A host's own name: what a host name may consist of.
bool host_name_is_valid(const char *name);
// Whether what a host says of itself may stand in its record. Else *ret_why is a sentence without a full
// stop.
bool host_attach_is_sound(const Argosy__ToVoter__Attach *a, char *ret_why, size_t size);

// Makes `labels` follow from the two others. 0 or -ENOMEM.
int host_record_merge_labels(Argosy__HostRecord *r);
// Both change set_labels only. -E2BIG: HOST_SET_LABELS_MAX are set; -ENOMEM.
int host_record_set_label(Argosy__HostRecord *r, const char *key, const char *value);
bool host_record_unset_label(Argosy__HostRecord *r, const char *key); // whether it was set
bool host_records_equal(const Argosy__HostRecord *a, const Argosy__HostRecord *b);
// What a host wishes its record to say keeps what others have made of that since: its nodes' numbers
// (another one would be another node, and a record that names one which is gone would be skipped), and
// set_labels, modes and role, which are the owners'. 0 or -ENOMEM.
int host_record_keep(Argosy__HostRecord *pending_record, const Argosy__HostRecord *now);

// Where the host says that it is. What others could not use (host-address.h) changes nothing: what is known
// stays, rather than be replaced by nothing. `name` NULL: names are not understood by everybody yet. 0 or
// -ENOMEM.
int host_record_set_address(Argosy__HostRecord *r, const char *address, const char *name, bool configured);

// What it says of fleet's units; NULL or none: it runs none. While it does not know, what it said before
// stays. 0 or -ENOMEM.
int host_record_set_fleet(Argosy__HostRecord *r, const Argosy__FleetUnits *said);

// For people: its name, if it was configured with one, or its address; empty: not known.
const char *host_record_place(const Argosy__HostRecord *r);

// Sets the mode of the node with this number, or of all with 0. HOST_RECORD_CHANGED; 0: no change; or
// -ENOMEM. HOST_DEADLINE_KEEP: a node that is in this mode already keeps its deadline.
#define HOST_DEADLINE_KEEP UINT64_MAX
enum { HOST_RECORD_CHANGED = 1 };
int host_record_set_mode(Argosy__HostRecord *r, uint32_t node, Argosy__NodeMode mode, const char *reason,
                         uint64_t deadline_us);
// "cordoned"; empty for an open node.
const char *node_mode_to_string(Argosy__NodeMode mode);
