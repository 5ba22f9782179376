// SPDX-License-Identifier: LGPL-2.1-or-later
//
// One member of the cluster: its links to the voters carry what its virtual host says, and bring what the
// leader says. Whoever has heard something has its turn at the end of the turn of the loop, whoever waits
// for a time when that has come; one timer serves all. So what a host has to say about the orders of one
// turn goes in one message.
//
// Nobody dials these hosts and they never lead, so of the mesh they need only the half that dials.
#include "virtual-hosts.h"

#include <errno.h>
#include <stdio.h>

#include "clock.h"
#include "feature-level.h"
#include "log.h"
#include "mesh.h"
#include "message.h"
#include "oom.h"
#include "tls-context.h"

enum { CPU_MILLI = 64000, MEMORY_MIB = 256 * 1024 };

static void mark(Member *m) {
        if (!list_is_linked(&m->marked))
                list_append(&m->all->marked, &m->marked);
        drain_mark(&m->all->drain);
}

bool member_is_here(const Member *m) {
        return m->mesh && !m->lost && !m->over;
}

// ---- what its virtual host is driven by

static uint64_t now_us(void *userdata) {
        return clock_boot_us();
}

static uint64_t wall_us(void *userdata) {
        return clock_wall_us();
}

static uint64_t reported_ms(uint64_t at_us, void *userdata) {
        return at_us / USEC_PER_MSEC;
}

static int send_to_leader(Argosy__ToVoter *message, void *userdata) {
        Member *m = userdata;

        return member_is_here(m) ? mesh_to_leader(m->mesh, message) : -ENOTCONN;
}

static void attaching(Argosy__ToVoter__Attach *ret, void *userdata) {
        static char *managers[] = {"system"};
        Member *m = userdata;

        ret->name = m->name;
        ret->port = MEMBER_PORT;
        ret->managers = managers;
        ret->n_managers = ELEMENTSOF(managers);
        ret->labels = m->all->labels;
        ret->n_labels = m->all->n_labels;
        ret->cpu_milli = CPU_MILLI;
        ret->memory_mib = MEMORY_MIB;
}

static uint64_t takes_us(VirtualUnit *u, bool stop, void *userdata) {
        const Member *m = userdata;
        const Span *span = stop ? &m->all->options.stop : &m->all->options.start;

        return virtual_hosts_draw(m->all, u->name, u->order.revision, span->min_us, span->max_us);
}

static bool fails(const VirtualUnit *u, void *userdata) {
        const Member *m = userdata;

        return m->all->options.fail_permille > 0 &&
               virtual_hosts_draw(m->all, u->name, ~u->order.revision, 0, 999) <
                       m->all->options.fail_permille;
}

static void violation(const char *why, void *userdata) {
        Member *m = userdata;

        m->all->n_violations++;
        log_error("%s: %s", m->name, why);
}

static const VirtualHostOps virtual_ops = {
        .now_us = now_us,
        .wall_us = wall_us,
        .clock_us = wall_us,
        .reported_ms = reported_ms,
        .send = send_to_leader,
        .attaching = attaching,
        .takes_us = takes_us,
        .fails = fails,
        .violation = violation,
};

// ---- its links

static void on_leader_changed(uint32_t leader, uint64_t term, void *userdata) {
        Member *m = userdata;

        if (!member_is_here(m))
                return;
        virtual_host_on_leader(&m->virtual, leader != 0);
        mark(m);
}

static void close_mesh(Member *m);

static void on_to_host(const Argosy__ToHost *message, void *userdata) {
        Member *m = userdata;

        if (!member_is_here(m))
                return;
        if (message->msg_case == ARGOSY__TO_HOST__MSG_REMOVED) {
                m->over = true;
                close_mesh(m);
                return;
        }
        virtual_host_on_message(&m->virtual, message);
        mark(m);
}

static void set_voters(Member *m, Argosy__Voter *const *voters, size_t n) {
        MeshPeer *peers = oom_checked(calloc(n + 1, sizeof(*peers)));
        size_t n_peers = 0;

        for (size_t i = 0; i < n; i++)
                n_peers += mesh_peer_from_voter(voters[i], &peers[n_peers]);
        (void) oom_check(mesh_set_voters(m->mesh, peers, n_peers));
        free(peers);
}

static void on_voters_announced(Argosy__Voter *const *voters, size_t n, void *userdata) {
        Member *m = userdata;

        if (member_is_here(m) && n > 0)
                set_voters(m, voters, n);
}

static void on_link_failed(uint32_t host, const char *why, void *userdata) {
        log_warning("%s: link to host %u: %s", ((Member *) userdata)->name, host, why);
}

static const MeshOps mesh_ops = {
        .leader_changed = on_leader_changed,
        .to_host = on_to_host,
        .voters_announced = on_voters_announced,
        .link_failed = on_link_failed,
};

static void open_mesh(Member *m) {
        MeshConfig config = {
                .loop = &m->all->loop,
                .self = m->host,
                .tls = m->tls,
                .cluster_id = m->cluster_id,
                .generation = m->generation,
        };
        int r = mesh_new(&config, &mesh_ops, m, &m->mesh);

        if (r < 0)
                virtual_hosts_fail("%s: no mesh: %s", m->name, strerror(-r));
        set_voters(m, m->joined->voters, m->joined->n_voters);
}

static void on_mesh_closed(void *userdata) {
        Member *m = userdata;

        m->mesh = NULL;
}

static void close_mesh(Member *m) {
        virtual_host_on_leader(&m->virtual, false);
        deadline_heap_clear(&m->all->due, &m->due);
        mesh_close(m->mesh, on_mesh_closed, m);
}

// ---- whose turn it is

static void arm_timer(VirtualHosts *v) {
        uint64_t next_us = deadline_heap_next(&v->due), now = clock_boot_us();

        if (next_us == 0)
                uv_timer_stop(&v->timer);
        else
                uv_timer_start(&v->timer, virtual_hosts_on_timer,
                               (MAX_OF(next_us, now) - now + USEC_PER_MSEC - 1) / USEC_PER_MSEC, 0);
}

static void note_ready(Member *m) {
        VirtualHosts *v = m->all;

        if (m->ready || !m->virtual.welcomed)
                return;
        m->ready = true;
        if (++v->n_ready == v->n_members)
                virtual_hosts_on_ready(v);
}

static void take_turn(Member *m) {
        uint64_t next_us;

        if (!member_is_here(m))
                return;
        note_ready(m);
        if (!member_is_here(m)) // it was lost at that
                return;
        virtual_host_on_time(&m->virtual);
        // what could not be said is due now: not in this turn again
        next_us = virtual_host_next_us(&m->virtual);
        if (next_us == UINT64_MAX)
                deadline_heap_clear(&m->all->due, &m->due);
        else
                (void) oom_check(deadline_heap_set(&m->all->due, &m->due,
                                                   MAX_OF(next_us, clock_boot_us() + USEC_PER_MSEC)));
}

void virtual_hosts_on_turn(void *userdata) {
        VirtualHosts *v = userdata;

        while (!list_is_empty(&v->marked)) {
                Member *m = CONTAINER_OF(v->marked.next, Member, marked);

                list_unlink(&m->marked);
                take_turn(m);
        }
        if (!v->ending)
                arm_timer(v);
}

void virtual_hosts_on_timer(uv_timer_t *timer) {
        VirtualHosts *v = timer->data;
        uint64_t now = clock_boot_us();
        Deadline *d;

        while ((d = deadline_heap_pop(&v->due, now)))
                take_turn(CONTAINER_OF(d, Member, due));
        arm_timer(v);
}

// ---- beginning and end

void member_init(Member *m, VirtualHosts *all, size_t number) {
        *m = (Member){.all = all};
        list_init(&m->marked);
        snprintf(m->name, sizeof(m->name), "%s%zu", all->options.prefix, number);
        virtual_host_init(&m->virtual, &virtual_ops, m);
}

// A dialler names the key that it expects; nobody is judged.
static TlsVerdict judge(const Hash *pin, const char *alpn, void *userdata) {
        return TLS_STRANGER;
}

void member_on_joined(Member *m, Argosy__JoinAnswer *reply) {
        int r = identity_install(&m->identity, reply->cert.data, reply->cert.len, reply->ca_cert.data,
                                 reply->ca_cert.len);

        m->joined = reply;
        m->host = reply->host;
        if (r >= 0 &&
            (reply->cluster_id.len != sizeof(m->cluster_id) || reply->host == 0 || reply->n_nodes == 0))
                r = -EBADMSG;
        if (r >= 0)
                r = tls_context_new(&m->identity, judge, NULL, &m->tls);
        if (r < 0)
                virtual_hosts_fail("%s has joined, and cannot use the answer: %s", m->name, strerror(-r));
        memcpy(m->cluster_id, reply->cluster_id.data, sizeof(m->cluster_id));
        m->generation = reply->generation;
        m->virtual.node = reply->nodes[0]->node;
        open_mesh(m);
}

void member_lose(Member *m) {
        m->lost = true;
        close_mesh(m);
}

void member_return(Member *m) {
        if (!m->lost || m->over || m->mesh)
                return;
        m->lost = false;
        virtual_host_forget(&m->virtual);
        open_mesh(m);
}

void member_leave(Member *m) {
        virtual_host_send_reports(&m->virtual);
        virtual_host_goodbye(&m->virtual, true);
        virtual_host_forget(&m->virtual); // systemd stops what runs before it ends argosyd
        virtual_host_goodbye(&m->virtual, false);
        m->over = true;
        close_mesh(m);
}

void member_done(Member *m) {
        list_unlink(&m->marked);
        virtual_host_done(&m->virtual);
        tls_context_unref(m->tls);
        identity_done(&m->identity);
        message_free(m->joined);
}
