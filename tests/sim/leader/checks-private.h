// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The functions of the table in checks.c that are about a leader in its rig; the others are in
// lib/checks-log.h.

#include "checks-log.h"
#include "world.h"

// checks-state.c
void voters_begin(void);
void voters_on_entry(const Argosy__LogBatch *batch);
void voters_on_calm(void);
void voters_end(void);
// checks-state-read.c: what it knows, as text, to be freed
char *state_read(const ClusterState *s);
void limits_on_entry(const Argosy__LogBatch *batch);

// checks-stops.c
void heard_begin(void);
void heard_on_heard(uint32_t host, const Argosy__ToVoter *m);
void heard_on_decided(void);
// Whether whoever leads may call that host lost: it was silent for a lease, or has said goodbye, or is none
// any more.
bool heard_may_be_lost(uint32_t host);
void fence_on_order(uint32_t host, const Argosy__ToHost *m);
void orders_on_order(uint32_t host, const Argosy__ToHost *m);
void two_places_on_order(uint32_t host, const Argosy__ToHost *m);
void stops_on_order(uint32_t host, const Argosy__ToHost *m);
void moves_on_entry(const Argosy__LogBatch *batch);
void losses_on_entry(const Argosy__LogBatch *batch);

// It was heard within a quarter of a lease.
bool heard_is_lively(uint32_t host);
// It was silent for two leases of this leader.
bool heard_is_silent(uint32_t host);
// Whether a host has said that the unit failed there, or that its name is somebody else's.
bool heard_has_failed(unsigned unit);
// A guard (CutOff=stop) has ended this run of the unit: virtual hosts have none, so it is up there.
bool heard_guard_has_ended(uint32_t host, unsigned unit, const VirtualUnit *v);
bool heard_was_refused(unsigned unit);

// checks-images.c
void digests_on_entry(const Argosy__LogBatch *batch);
void pulled_on_entry(const Argosy__LogBatch *batch);
void data_on_entry(const Argosy__LogBatch *batch);

// checks-networks.c
void networks_on_calm(void);

// checks-places.c
uint32_t places_host_of(uint32_t node); // 0: no host has it
// What the node's host says is not true (lies.c): no check is about what follows from that.
bool places_lies(uint32_t node);
void places_begin(void);
void conflicts_on_calm(void);
void places_on_entry(const Argosy__LogBatch *batch);
// What is there, or was said of it, may keep it from nodes.
bool places_are_barred(unsigned unit);
// A node is up and open.
bool places_any_open(void);
// Hosts that have no power.
unsigned places_n_down(void);

// The host of the node has told what it has, and can use its managers.
bool places_is_in_session(uint32_t node);
// The node is emptied by a time after which budgets do not count.
bool places_has_deadline(uint32_t node);
bool places_is_emptied(uint32_t node); // whether by a time or not

// Of the host's label "zone", as the log has it behind the last entry, and as it had it before that entry,
// when it was decided; NULL or "": the host had none.
const char *places_zone_of(uint32_t host);
const char *places_former_zone_of(uint32_t host);
// For some time its first node has been heard, open, and the same.
bool places_is_certain(uint32_t host);

// checks-sequence.c
void sequence_begin(void);
void sequence_on_heard(uint32_t host, const Argosy__ToVoter *m);
void sequence_on_order(uint32_t host, const Argosy__ToHost *m);
void sequence_on_calm(void);

// checks-waiting.c
void waiting_on_calm(void);
bool waiting_any_rollout(void); // one is under way

// checks-room.c
void room_on_entry(const Argosy__LogBatch *batch);

// checks-budgets.c
void budgets_begin(void);
void budgets_on_decided(void);
void budgets_on_heard(uint32_t host, const Argosy__ToVoter *m);
void budgets_on_entry(const Argosy__LogBatch *batch);

// checks-end.c
void answered_on_end(void);
void queues_on_end(void);
void reached_on_end(void);
void stays_on_end(void);
// NULL: it is as it is to be, or whoever broke it knows why not.
const char *world_why_not_reached(unsigned unit);

// checks-units.c
void one_place_on_calm(void);

// checks-words.c
void lists_on_calm(void);
void words_on_answer(const WorldAsked *a, const Argosy__Response *r);

// checks-roles.c
void unit_rights_begin(void);
void unit_rights_on_entry(const Argosy__LogBatch *batch);
void unit_rights_on_answer(const WorldAsked *a, const Argosy__Response *r);

// checks-jobs.c
void jobs_begin(void);
void jobs_on_heard(uint32_t host, const Argosy__ToVoter *m);
void jobs_on_entry(const Argosy__LogBatch *batch);
void jobs_on_answer(const WorldAsked *a, const Argosy__Response *r);
void jobs_on_finish(void);
// Whoever waits for the change of that revision is told that the unit has started.
void jobs_on_waited_for(unsigned unit, uint64_t revision);

// checks-waits.c
void waits_begin(void);
void waits_on_heard(uint32_t host, const Argosy__ToVoter *m);
void waits_on_answer(const WorldAsked *a, const Argosy__Response *r);

// checks-nodes.c
void nodes_begin(void);
void nodes_on_entry(const Argosy__LogBatch *batch);
void nodes_on_calm(void);
void nodes_on_answer(const WorldAsked *a, const Argosy__Response *r);

// checks-open.c
void open_on_finish(void);

// checks-follow.c
void follow_begin(void);
void follow_on_settled(void);
void follow_on_look(void);
void follow_on_calm(void);
void follow_end(void);

// checks-cursors.c
void cursors_begin(void);
void cursors_on_settled(void);

// checks-records.c
void records_begin(void);
void records_on_entry(const Argosy__LogBatch *batch);
void records_on_answer(const WorldAsked *a, const Argosy__Response *r);
void records_on_finish(void);

// checks-job-lists.c
void job_lists_on_answer(const WorldAsked *a, const Argosy__Response *r);

// checks-queue.c
void queue_on_entry(const Argosy__LogBatch *batch);
void queue_on_calm(void);
// Jobs about members that are held, or under way; as many of the latter as held jobs may go at a time: no
// other one is judged then.
size_t queue_count_about_members(Argosy__JobState state);
bool queue_is_full_of_members(void);
void queue_end(void);

// checks-next.c
void pages_on_finish(void);
void next_on_finish(void);
// What a leader says of everything when all is at rest, as text, to be freed. `of_all_leaders`: nothing of
// jobs, whose numbers differ where one leader more has noted something.
char *next_said(bool of_all_leaders);

// checks-watch.c
void watch_begin(void);
void watch_on_settled(void);
void watch_on_look(void);
void watch_on_calm(void);
void watch_end(void);

// checks-pace.c
void pace_on_turn_begin(void);
void pace_on_entry(const Argosy__LogBatch *batch);
void pace_on_turn(void);
void pace_on_order(uint32_t host, const Argosy__ToHost *m);
void pace_on_answer(const WorldAsked *a, const Argosy__Response *r);
void room_on_turn(void);
void pace_at_rest(void); // lets time pass

// checks-rest.c
void rest_on_finish(void);

// checks-lists.c
void asked_for_on_answer(const WorldAsked *a, const Argosy__Response *r);

// checks-listed.c
void listed_on_finish(void);

// checks-left.c
void left_on_entry(const Argosy__LogBatch *batch);
void left_on_calm(void);

// checks-order.c
void order_on_entry(const Argosy__LogBatch *batch);

// checks-apply.c
void applied_on_entry(const Argosy__LogBatch *batch);

// checks-files.c
void files_on_order(uint32_t host, const Argosy__ToHost *m);

// checks-bound.c
void bound_begin(void);
void bound_on_entry(const Argosy__LogBatch *batch);
void bound_on_answer(const WorldAsked *a, const Argosy__Response *r);

// checks-tables.c: what the leader has in its tables, as text, to be freed; and that two of them are equal,
// which writes into them.
char *tables_read(void);
void tables_compare(char *before, char *after);
void tables_are_in_order(void);

// checks-told.c
void told_begin(void);
void told_on_heard(uint32_t host, const Argosy__ToVoter *m);
void told_on_order(uint32_t host, const Argosy__ToHost *m);
void told_on_calm(void);
void told_on_entry(const Argosy__LogBatch *batch);

// checks-secrets.c
void secrets_begin(void);
void secrets_on_entry(const Argosy__LogBatch *batch);
void restarts_on_entry(const Argosy__LogBatch *batch); // before it

// checks-settings.c
void settings_begin(void);
void settings_on_entry(const Argosy__LogBatch *batch);
void settings_end(void);

// checks-undone.c
void undone_on_entry(const Argosy__LogBatch *batch);

// checks-own.c
void own_begin(void);
void own_on_entry(const Argosy__LogBatch *batch);

// checks-done.c
void changes_begin(void);
void changes_on_entry(const Argosy__LogBatch *batch);
void done_on_answer(const WorldAsked *a, const Argosy__Response *r);
