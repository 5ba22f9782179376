// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What a request is kept by as a job: its id, why and for what it was asked, and how old it is when it is
// sent again.

#include "ctl.h"

// Lives as long as the request points to it.
typedef struct CtlJob {
        Argosy__Request__Job message;
        uint8_t id[REQUEST_ID_SIZE];
        uint64_t sent_us; // first; 0: not yet
} CtlJob;

// Keeps the words that were typed, before a verb changes them. 0 or -ENOMEM.
int ctl_jobs_init(Ctl *ctl);
// What is asked for from here on are these units, of that job again (0: of none). 0 or -ENOMEM.
int ctl_jobs_retry(Ctl *ctl, uint64_t job, char **names, size_t n);
void ctl_jobs_done(Ctl *ctl);
// Whether what was typed goes with what becomes no job. EXIT_OK, or the code after a complaint.
int ctl_jobs_check(Ctl *ctl);

// Makes it a part of the request, if that is one that becomes a job.
void ctl_job_attach(Ctl *ctl, CtlJob *job, Argosy__Request *request);
// Each time before it is sent.
void ctl_job_sent(CtlJob *job);
// The cluster has it and holds it back, as this response says. 0 or -ENOMEM.
int ctl_job_note_held(Ctl *ctl, const Argosy__Response *r);
// An object: what such a response says.
void ctl_job_json_held(Json *j, const Argosy__Response *r);
// The cluster has it, under this number; 0: it has none. Printed for who waits for nothing, said to who
// wants to know more.
void ctl_job_print(Ctl *ctl, uint64_t number);
