// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   an address came or went (address-watch.h) -> links that are down, or come from an address that is no
//   longer ours, are dialled at once -> what we announce is chosen anew -> if it is another: Attach
//   a link came up, the configuration was read again -> the same without the dialling
//
// The agent asks before each Attach, so what the leader hears is never older than the session.
#include <stdio.h>
#include <sys/socket.h>

#include "address.h"
#include "address-watch.h"
#include "agent.h"
#include "daemon.h"
#include "log.h"
#include "machine-addresses.h"
#include "mesh.h"

enum { INTERFACE_ADDRESSES_MAX = 256, LINKS_MAX = 8 };

OwnAddress address_find(const Daemon *d, const char *from) {
        AddressText links[LINKS_MAX + 1], others[INTERFACE_ADDRESSES_MAX];
        bool is_name = host_address_kind(d->config.address) == HOST_ADDRESS_NAME;
        AddressFacts facts = {
                .configured = is_name ? "" : d->config.address,
                .links = links,
                .others = others,
                .before = d->own.text,
        };
        OwnAddress own = {.configured = *facts.configured};

        if (from)
                snprintf(links[facts.n_links++], sizeof(*links), "%s", from);
        if (d->mesh)
                facts.n_links += mesh_local_addresses(d->mesh, links + facts.n_links, LINKS_MAX);
        if (!own.configured) {
                machine_addresses_route(AF_INET, facts.routed[0]);
                machine_addresses_route(AF_INET6, facts.routed[1]);
                facts.n_others = machine_addresses_list(others, INTERFACE_ADDRESSES_MAX);
        }
        snprintf(own.text, sizeof(own.text), "%s", address_choose(&facts));
        if (is_name)
                snprintf(own.name, sizeof(own.name), "%s", d->config.address);
        return own;
}

static bool equal(const OwnAddress *a, const OwnAddress *b) {
        return streq(a->text, b->text) && streq(a->name, b->name) && a->configured == b->configured;
}

void address_check(Daemon *d) {
        OwnAddress now = address_find(d, NULL);

        if (equal(&now, &d->own))
                return;
        if (*now.text || *now.name)
                log_info("Others reach this host at %s.", *now.name ? now.name : now.text);
        else
                log_notice("This host has no address at which others could reach it.");
        d->own = now;
        if (d->agent)
                agent_attach_again(d->agent);
        d->address_changed(d);
}

typedef struct OurAddresses {
        AddressText list[INTERFACE_ADDRESSES_MAX];
        size_t n;
} OurAddresses;

static bool is_ours(const char *address, void *userdata) {
        const OurAddresses *ours = userdata;

        for (size_t i = 0; i < ours->n; i++)
                if (streq(ours->list[i], address))
                        return true;
        return ours->n == 0 || ours->n == INTERFACE_ADDRESSES_MAX; // then nobody knows
}

static void on_changed(void *userdata) {
        Daemon *d = userdata;
        OurAddresses ours;

        if (d->end != DAEMON_RUNNING)
                return;
        ours.n = machine_addresses_list(ours.list, ELEMENTSOF(ours.list));
        mesh_on_network(d->mesh, is_ours, &ours);
        address_check(d);
}

void address_open(Daemon *d) {
        int r = address_watch_new(d->loop, on_changed, d, &d->address_watch);

        if (r < 0)
                log_warning("Cannot follow the addresses of this machine: %s", strerror(-r));
}

static void on_closed(void *userdata) {
        ((Daemon *) userdata)->closing--;
}

void address_close(Daemon *d) {
        if (!d->address_watch)
                return;
        d->closing++;
        address_watch_close(TAKE_PTR(d->address_watch), on_closed, d);
}
