// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the two files of the model have of each other.

#include "queue-model.h"

#define HELD ARGOSY__JOB_STATE__JOB_HELD
#define RUNNING ARGOSY__JOB_STATE__JOB_RUNNING
#define DONE ARGOSY__JOB_STATE__JOB_DONE
#define FAILED ARGOSY__JOB_STATE__JOB_FAILED
#define CANCELLED ARGOSY__JOB_STATE__JOB_CANCELLED
#define OVERTAKEN ARGOSY__JOB_STATE__JOB_OVERTAKEN
#define UNKNOWN ARGOSY__JOB_STATE__JOB_UNKNOWN

#define fail_job(m, a, ...)                                                                          \
        do {                                                                                         \
                char what_[256];                                                                     \
                snprintf(what_, sizeof(what_), __VA_ARGS__);                                         \
                fail_msg("seed %u: job %" PRIu64 " (%s): %s", (m)->seed, (a)->job, model_verb_of(a), \
                         what_);                                                                     \
        } while (0)

// queue-model.c
const char *model_verb_of(const ModelAsk *a);
const char *model_text_of(ModelVerdict v);
ModelAsk *model_job_find(Model *m, uint64_t number);
const ModelRule *model_rule_find(const Model *m, uint32_t number);
size_t model_n_running(const Model *m, uint32_t rule);
size_t model_n_waiting(const Model *m, uint32_t rule);
bool model_is_another_update_running(const Model *m, const ModelAsk *a);
bool model_is_beside_update(const Model *m, const ModelAsk *a);
bool model_is_forbidden(const Model *m, const ModelAsk *a);
bool model_is_stale(const Model *m, const ModelAsk *a);
ModelVerdict model_judge_all_but_limits(const Model *m, const ModelAsk *a, bool is_new, uint32_t *ret_rule);
bool model_is_limit(const Model *m, uint32_t number);
ModelSeen model_look(const Model *m, size_t unit);
bool model_brings_file(Argosy__Verb verb);
