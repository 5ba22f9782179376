// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What else is to be known of a kind that goes into the log. All of it is chosen for each of them (a test
// compares).
typedef struct HandlerLog {
        // How much room an entry needs for it.
        enum {
                ENTRY_SMALL = 1, // as for one unit
                ENTRY_UNITS,     // for those that it names, or a part of them
                ENTRY_FULL,      // as much as the leader fills by itself
        } entry;
        // What must not have changed since the revision that it is bound to (Request.Job.if_revision).
        enum {
                BOUND_UNITS = 1, // those that it names
                BOUND_GROUP,     // that unit or template, and its instances
                BOUND_FOLDER,    // what the folder is about
                BOUND_CLUSTER,   // hosts, pools and the cluster
                BOUND_ROLES,
                BOUND_QUEUE,
                BOUND_RIGHTS,    // and tokens of programs
                BOUND_SECRETS,
                BOUND_JOBS,      // those that it names
                BOUND_CONTENTS,  // the same: jobs that have brought or replaced them
                BOUND_LATER,     // the plan says so, once the record is read
        } bound;
        // What is done with it when the log has it already, by its id.
        enum {
                AGAIN_ANSWERED = 1, // a repeated request is told that it was done
                AGAIN_PLANNED,      // once more, for the answer
                AGAIN_CURRENT,      // the same, if it is what is under way still
        } again;
} HandlerLog;
