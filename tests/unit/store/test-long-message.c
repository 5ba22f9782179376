// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Guard 22: links over which an entry takes longer than an election. Each server is reached through a door
// that passes so many bytes on in each tick.

#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bridge.h"
#include "macro.h"
#include "raft-store.h"
#include "store-cluster.h"

enum {
        ELECTION_MS = 500,
        HEARTBEAT_MS = 100,
        TICK_MS = 10,
        TICK_BYTES = 4000,            // 400 kB/s
        ENTRY_BYTES = 1000 * 1000,    // takes 2.5 s: elections take 0.5 to 1
        LANES_MAX = 64,
};

// ---- doors

typedef struct Way { // one direction of a connection
        int from, to;
        uint8_t bytes[TICK_BYTES];
        size_t n, done; // that were read, and of these passed on
} Way;

typedef struct Lane {
        int fds[2];
        Way there, back;
} Lane;

typedef struct Door {
        int fd;
        uint16_t to;
} Door;

static struct Doors {
        uv_timer_t tick;
        Door doors[3];
        Lane *lanes[LANES_MAX];
        size_t n_lanes;
} doors;

static struct sockaddr_in loopback(uint16_t port) {
        return (struct sockaddr_in){
                .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static Door open_door(uint16_t to, uint16_t *ret_port) {
        Door d = {.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), .to = to};
        struct sockaddr_in sa = loopback(0);
        socklen_t len = sizeof(sa);
        int small = 128 * 1024; // what waits here is not on its way yet

        assert_true(d.fd >= 0);
        assert_int_equal(setsockopt(d.fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
        assert_int_equal(bind(d.fd, (struct sockaddr *) &sa, sizeof(sa)), 0);
        assert_int_equal(listen(d.fd, 10), 0);
        assert_int_equal(getsockname(d.fd, (struct sockaddr *) &sa, &len), 0);
        *ret_port = ntohs(sa.sin_port);
        return d;
}

static void enter(const Door *d) {
        struct sockaddr_in sa = loopback(d->to);
        int fd = accept4(d->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), to;
        Lane *lane;

        if (fd < 0)
                return;
        to = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_true(to >= 0 && doors.n_lanes < LANES_MAX);
        // it is taken when the loop looks
        assert_int_equal(connect(to, (struct sockaddr *) &sa, sizeof(sa)), 0);
        lane = calloc(1, sizeof(*lane));
        assert_non_null(lane);
        *lane = (Lane){.fds = {fd, to}, .there = {.from = fd, .to = to}, .back = {.from = to, .to = fd}};
        doors.lanes[doors.n_lanes++] = lane;
}

// False: one of the ends is closed.
static bool pass(Way *w) {
        ssize_t n;

        if (w->done == w->n) {
                n = recv(w->from, w->bytes, sizeof(w->bytes), MSG_DONTWAIT);
                if (n <= 0)
                        return n < 0 && errno == EAGAIN;
                w->n = (size_t) n;
                w->done = 0;
        }
        n = send(w->to, w->bytes + w->done, w->n - w->done, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0)
                return errno == EAGAIN;
        w->done += (size_t) n;
        return true;
}

static void lane_free(Lane *lane) {
        close(lane->fds[0]);
        close(lane->fds[1]);
        free(lane);
}

static void on_tick(uv_timer_t *t) {
        for (size_t i = 0; i < ELEMENTSOF(doors.doors); i++)
                enter(&doors.doors[i]);
        for (size_t i = 0; i < doors.n_lanes;)
                if (pass(&doors.lanes[i]->there) && pass(&doors.lanes[i]->back))
                        i++;
                else {
                        lane_free(doors.lanes[i]);
                        doors.lanes[i] = doors.lanes[--doors.n_lanes];
                }
}

static StoreCluster *cluster_behind_doors(void) {
        StoreCluster *c = store_cluster_new();

        doors = (struct Doors){};
        for (size_t i = 0; i < 3; i++) {
                StoreServer *s = &c->servers[i];

                doors.doors[i] = open_door(s->port, &s->port);
                s->node.election_ms = ELECTION_MS;
                s->node.heartbeat_ms = HEARTBEAT_MS;
        }
        uv_timer_init(&c->loop, &doors.tick);
        uv_timer_start(&doors.tick, on_tick, TICK_MS, TICK_MS);
        store_cluster_bootstrap(c);
        store_cluster_add(c, 1);
        store_cluster_add(c, 2);
        return c;
}

static void free_behind_doors(StoreCluster *c) {
        for (size_t i = 0; i < 3; i++)
                store_node_close(&c->servers[i].node);
        uv_close((uv_handle_t *) &doors.tick, NULL);
        while (doors.n_lanes > 0)
                lane_free(doors.lanes[--doors.n_lanes]);
        for (size_t i = 0; i < 3; i++)
                close(doors.doors[i].fd);
        store_cluster_free(c);
}

// ---- tests

static uint64_t term_of(StoreCluster *c) {
        StoreStats stats;

        store_stats(store_cluster_leader(c)->store, &stats);
        return stats.term;
}

// A machine that does something else for longer than an election may cost the lead as well, but not each
// time.
static void an_entry_that_takes_longer_than_an_election_costs_no_lead(void **state) {
        static char entry[ENTRY_BYTES];
        StoreCluster *c = cluster_behind_doors();
        unsigned tries = 0;
        uint64_t before;

        do {
                StoreNode *leader = store_cluster_leader(c);
                uint64_t begin = uv_now(&c->loop);
                StoreAnswer a = {};

                before = term_of(c);
                store_cluster_agree(c);
                if (store_submit(leader->store, entry, sizeof(entry), store_on_done, &a) < 0)
                        continue;
                store_run_until(&c->loop, store_is_answered, &a, STORE_PATIENCE_MS, "answer");
                if (a.outcome == STORE_COMMITTED)
                        assert_true(uv_now(&c->loop) - begin > 2 * ELECTION_MS);
        } while (term_of(c) != before && ++tries < 5);
        assert_true(tries < 5);
        free_behind_doors(c);
}

static Bridge *bridge_of(const StoreNode *n, bool accepted) {
        list_foreach (i, &raft_store(n->store)->transport.bridges) {
                Bridge *b = CONTAINER_OF(i, Bridge, node);

                if (b->accepted == accepted && !b->closing)
                        return b;
        }
        return NULL;
}

static bool have_bridges(void *userdata) {
        StoreCluster *c = userdata;

        for (size_t i = 0; i < 2; i++)
                if (!bridge_of(&c->servers[i].node, true) || !bridge_of(&c->servers[i].node, false))
                        return false;
        return true;
}

// Whether a frame of the leader that says this puts off the follower's election.
static bool puts_off(StoreNode *follower, const Marks *marks, size_t len) {
        RaftStore *s = raft_store(follower->store);
        Bridge *b = bridge_of(follower, true);

        assert_non_null(b);
        s->raft.election_timer_start = 0;
        b->ops->piece(b, marks, len, b->userdata);
        return s->raft.election_timer_start > 0;
}

static void a_part_of_a_leaders_long_message_puts_off_the_election_and_nothing_else_does(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(2);
        StoreNode *leader = store_cluster_leader(c);
        StoreNode *follower = leader == &c->servers[0].node ? &c->servers[1].node : &c->servers[0].node;
        Marks leads = {.mark_us = 1}, leads_no_more = {};

        store_cluster_agree(c);
        store_run_until(&c->loop, have_bridges, c, STORE_PATIENCE_MS, "connections both ways");
        assert_true(puts_off(follower, &leads, BRIDGE_LONG_SIZE));
        assert_false(puts_off(follower, &leads, BRIDGE_LONG_SIZE - 1)); // any message may be as short
        assert_false(puts_off(follower, &leads_no_more, BRIDGE_LONG_SIZE));
        assert_false(puts_off(leader, &leads, BRIDGE_LONG_SIZE)); // it follows nobody
        uv_update_time(&c->loop);
        raft_store(follower->store)->raft.election_timer_start =
                raft_store(leader->store)->raft.election_timer_start = uv_now(&c->loop);
}

// What is left of a message of before goes out after the lead was lost.
static void who_does_not_lead_gives_no_mark(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(2);
        StoreNode *leader = store_cluster_leader(c);
        Marks m;

        store_run_until(&c->loop, have_bridges, c, STORE_PATIENCE_MS, "connections both ways");
        for (size_t i = 0; i < 2; i++) {
                StoreNode *n = &c->servers[i].node;
                Bridge *b = bridge_of(n, false);

                b->ops->fill(b, &m, b->userdata);
                assert_int_equal(m.mark_us > 0, n == leader);
        }
}

RUN_TESTS(
        cmocka_unit_test(an_entry_that_takes_longer_than_an_election_costs_no_lead),
        cmocka_unit_test(
                a_part_of_a_leaders_long_message_puts_off_the_election_and_nothing_else_does),
        cmocka_unit_test(who_does_not_lead_gives_no_mark)
)
