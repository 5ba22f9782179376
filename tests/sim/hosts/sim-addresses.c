// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See sim-addresses.h. A route may come after the address that it needs, and of that nobody is told: it is
// the same with a real kernel, where addresses are what is followed.
#include "sim-addresses.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "address-watch.h"
#include "clock.h"
#include "machine-addresses.h"
#include "oom.h"
#include "sim-host.h"
#include "sim-net.h"
#include "str.h"

#define MOMENT_US (100 * USEC_PER_MSEC) // for which a watch waits for more

struct AddressWatch {
        SimHost *host;
        void (*changed)(void *userdata);
        void (*closed)(void *userdata);
        void *userdata, *closed_data;
        bool pending;
};

static struct {
        AddressWatch *watch; // of the host's daemon; one that was killed is never told
        uint64_t life;       // whose it is
        uint64_t route_us;   // from when on there is a route
} addresses[SIM_HOSTS_MAX];

void machine_addresses_route(int family, AddressText ret) {
        SimHost *h = sim_current();
        bool has = family == AF_INET && sim_now_us() >= addresses[sim_host_number(h)].route_us;

        str_fit(ret, sizeof(AddressText), "%s", has ? sim_net_address(h) : "");
}

size_t machine_addresses_list(AddressText *ret, size_t max) {
        SimHost *h = sim_current();
        size_t n = 0;

        str_fit(ret[n++], sizeof(AddressText), "127.0.0.1");
        if (sim_machine(sim_host_number(h))->settings.has_bridge)
                str_fit(ret[n++], sizeof(AddressText), SIM_BRIDGE_ADDRESS);
        if (*sim_net_address(h))
                str_fit(ret[n++], sizeof(AddressText), "%s", sim_net_address(h));
        return n;
}

int address_watch_new(uv_loop_t *loop, void (*changed)(void *userdata), void *userdata, AddressWatch **ret) {
        SimHost *h = sim_host_of_loop(loop);
        AddressWatch *w;

        if (sim_machine(sim_host_number(h))->settings.hears_nothing)
                return -EPERM;
        w = oom_checked(calloc(1, sizeof(*w)));
        *w = (AddressWatch){.host = h, .changed = changed, .userdata = userdata};
        addresses[sim_host_number(h)].watch = w;
        addresses[sim_host_number(h)].life = sim_host_life(h);
        *ret = w;
        return 0;
}

static void on_closed(void *data) {
        AddressWatch *w = data;

        w->closed(w->closed_data);
        free(w);
}

void address_watch_close(AddressWatch *w, void (*closed)(void *userdata), void *userdata) {
        addresses[sim_host_number(w->host)].watch = NULL;
        w->changed = NULL;
        w->closed = closed;
        w->closed_data = userdata;
        if (!w->pending)
                sim_at(sim_now_us(), w->host, on_closed, w);
}

static void on_moment(void *data) {
        AddressWatch *w = data;

        w->pending = false;
        if (w->changed)
                w->changed(w->userdata);
        else
                on_closed(w);
}

void sim_addresses_changed(SimHost *h, uint64_t route_us) {
        uint32_t number = sim_host_number(h);
        AddressWatch *w = addresses[number].watch;

        addresses[number].route_us = sim_now_us() + route_us;
        if (!sim_host_is_up(h) || !w || addresses[number].life != sim_host_life(h) || w->pending)
                return;
        w->pending = true;
        sim_at(sim_now_us() + MOMENT_US, h, on_moment, w);
}
