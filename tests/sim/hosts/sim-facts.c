// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the daemon asks its machine for, and neither sim-world.h nor sim-net.h answers: the lock of its
// directory, news of directories, names, what it has to offer, and what systemd-analyze says of unit files.
// Its addresses are in sim-addresses.c.
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>

#include "capacity.h"
#include "machine.h"
#include "oom.h"
#include "sim-host.h"
#include "state-dir.h"
#include "unit-verifier.h"

#define EXPORTED __attribute__((visibility("default")))

int __wrap_state_dir_lock(const char *dir);
Capacity __wrap_capacity_read(const char *cgroup, const Config *config);

// A host that was killed has it still, in this process.
int __wrap_state_dir_lock(const char *dir) {
        return 0;
}

// Nobody but argosy writes unit files here, so there is no news of directories; and of real ones a user has
// few, so that it would depend on others whether a host has one.
EXPORTED int inotify_init1(int flags) {
        return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

EXPORTED int inotify_add_watch(int fd, const char *where, uint32_t mask) {
        static int n;

        return ++n;
}

// Names are not looked up; an address is one.
EXPORTED int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                         struct addrinfo **ret) {
        struct {
                struct addrinfo info;
                struct sockaddr_in address;
        } *found = oom_checked(calloc(1, sizeof(*found)));

        found->address.sin_family = AF_INET;
        if (inet_pton(AF_INET, node, &found->address.sin_addr) != 1) {
                free(found);
                return EAI_NONAME;
        }
        found->info = (struct addrinfo){.ai_family = AF_INET,
                                        .ai_socktype = SOCK_STREAM,
                                        .ai_addrlen = sizeof(found->address),
                                        .ai_addr = (struct sockaddr *) &found->address};
        *ret = &found->info;
        return 0;
}

EXPORTED void freeaddrinfo(struct addrinfo *found) {
        free(found);
}

int uv_getaddrinfo(uv_loop_t *loop, uv_getaddrinfo_t *request, uv_getaddrinfo_cb done, const char *node,
                   const char *service, const struct addrinfo *hints) {
        return UV_ENOSYS;
}

// Its control group limits nothing; this machine's may.
Capacity __wrap_capacity_read(const char *cgroup, const Config *config) {
        Capacity whole = capacity_within(machine_processors(), machine_memory_bytes(), "", "");

        return capacity_offered(&whole, config);
}

// systemd-analyze finds nothing wrong, after a while.
typedef struct Question {
        uint64_t number;
        size_t n;
        UnitVerified *done;
        void *userdata;
        struct Question *next;
} Question;

struct UnitVerifier {
        SimHost *host;
        uint64_t n_asked;
        Question *questions;
};

int unit_verifier_new(uv_loop_t *loop, const char *const *command, UnitVerifier **ret) {
        UnitVerifier *v = oom_checked(calloc(1, sizeof(*v)));

        v->host = sim_host_of_loop(loop);
        *ret = v;
        return 0;
}

static void on_verified(void *data) {
        UnitVerifier *v = data;
        Question *q = v->questions;
        UnitFindings *findings;
        Buf *made;

        if (!q)
                return;
        v->questions = q->next;
        findings = oom_checked(calloc(q->n + 1, sizeof(*findings)));
        made = oom_checked(calloc(q->n + 1, sizeof(*made)));
        q->done(0,
                &(UnitVerdict){.systemd = "systemd 252",
                               .podman = "",
                               .findings = findings,
                               .made = made,
                               .n = q->n},
                q->userdata);
        free(findings);
        free(made);
        free(q);
}

int unit_verifier_ask(UnitVerifier *v, const UnitAnalysisFile *files, size_t n, bool user,
                      unsigned patience_ms, UnitVerified *done, void *userdata, uint64_t *ret) {
        Question *q = oom_checked(malloc(sizeof(*q))), **last = &v->questions;

        *q = (Question){.number = ++v->n_asked, .n = n, .done = done, .userdata = userdata};
        while (*last)
                last = &(*last)->next;
        *last = q;
        *ret = q->number;
        sim_at(sim_now_us() + draw_log(sim_draw(), 1000, 300000), v->host, on_verified, v);
        return 0;
}

int unit_verifier_ask_podman(UnitVerifier *v, unsigned patience_ms, UnitVerified *done, void *userdata,
                             uint64_t *ret) {
        return -ENOENT; // no host of the simulator has podman
}

void *unit_verifier_cancel(UnitVerifier *v, uint64_t number) {
        for (Question **q = &v->questions; *q; q = &(*q)->next)
                if ((*q)->number == number) {
                        Question *found = *q;
                        void *userdata = found->userdata;

                        *q = found->next;
                        free(found);
                        return userdata;
                }
        return NULL;
}

typedef struct Closing {
        void (*closed)(void *userdata);
        void *userdata;
} Closing;

static void on_verifier_closed(void *data) {
        Closing *c = data;

        if (c->closed)
                c->closed(c->userdata);
        free(c);
}

void unit_verifier_close(UnitVerifier *v, void (*closed)(void *userdata), void *userdata) {
        Closing *c = oom_checked(malloc(sizeof(*c)));

        *c = (Closing){closed, userdata};
        v->questions = NULL;
        sim_at(sim_now_us(), v->host, on_verifier_closed, c);
}
