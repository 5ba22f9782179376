# SPDX-License-Identifier: LGPL-2.1-or-later
"""The testbed's network: a bridge in the keeper's network namespace, one namespace per node, one subnet.

Nothing outside the testbed can see it, so every testbed uses the same addresses: n1 is 10.77.0.1, n2 is 10.77.0.2, and
the keeper itself, for clients outside all nodes, is 10.77.0.254.
"""

from .keeper import WORK

SUBNET = "10.77.0"
MAX_NODES = 250
OUTSIDE = f"{SUBNET}.254"

# What a partition drops. The node still reaches itself.
PARTITION = {
    "in": ["chain in { type filter hook input priority -300; iif lo accept; drop; }"],
    "out": ["chain out { type filter hook output priority -300; oif lo accept; drop; }"],
}
PARTITION["both"] = PARTITION["in"] + PARTITION["out"]
NO_PARTITION = "table inet partition {}\ndelete table inet partition\n"  # creating it first makes the deletion right also when there was none


def address(number):
    return f"{SUBNET}.{number}"


def create_bridge(keeper):
    keeper.script(f"""
        ip link add bed type bridge
        ip address add {OUTSIDE}/24 dev bed
        ip link set bed up
    """)


def namespace(name):
    return f"{WORK}/{_file_of(name)}"


def _file_of(name):
    """The namespace's file below WORK."""
    return f"{name}/net"


def create_namespace(keeper, name, number):
    """A network namespace that outlives the node's reboots, with eth0 on the bridge."""
    net = namespace(name)
    keeper.script(f"""
        touch {net}
        unshare --net={net} true
        ip link add v{number} type veth peer name eth0 netns {net}
        ip link set v{number} master bed up
        nsenter --net={net} sh -e -c '
                ip link set lo up
                ip address add {address(number)}/24 dev eth0
                ip link set eth0 up'
    """)


def power_off(keeper, name):
    """Nothing leaves a node whose power is about to be cut: its kernel is the host's, which would end each connection politely."""
    rules = "\n".join(PARTITION["both"])
    _nft(keeper, name, f"table inet off {{\n{rules}\n}}\n")


def forget_connections(keeper, name):
    """What the kernel would go on to send for processes that are no more, as soon as the node has its network again."""
    keeper.run(["ss", "--tcp", "--all", "--kill"], network=_file_of(name))


def power_on(keeper, name):
    """The end of power_off(), also if there was none. Bridges and rules that the node has made went with its power."""
    _nft(keeper, name, "table inet off {}\ndelete table inet off\n")
    keeper.run(["sh", "-e"], network=_file_of(name), input="""
        ip -o link show type bridge | while IFS=': ' read -r number link rest; do ip link delete "$link"; done
        nft list tables | grep -vx 'table inet partition' | while read -r table; do nft delete $table; done
    """)


def partition(keeper, name, direction):
    """Drops what goes "in", "out" or "both" ways, in place of an earlier partition."""
    _partition(keeper, name, "\n".join(PARTITION[direction]))


def cut(keeper, name, others):
    """Drops what goes to and comes from these nodes, in place of an earlier partition."""
    peers = ", ".join(address(number) for number in others)
    _partition(keeper, name, f"""
        chain in {{ type filter hook input priority -300; ip saddr {{ {peers} }} drop; }}
        chain out {{ type filter hook output priority -300; ip daddr {{ {peers} }} drop; }}
    """)


def slow_down(keeper, name, number, rate):
    """What goes to the node and what comes from it has so much of a link, e.g. "10mbit", each way; what waits longer than 50 ms is lost."""
    shape = f"root tbf rate {rate} burst 32kb latency 50ms"
    keeper.script(f"""
        tc qdisc replace dev v{number} {shape}
        nsenter --net={namespace(name)} tc qdisc replace dev eth0 {shape}
    """)


def heal(keeper, name, number):
    """The end of partition(), cut() and slow_down(), also if there was none."""
    _nft(keeper, name, NO_PARTITION)
    keeper.script(f"""
        tc qdisc del dev v{number} root 2>/dev/null || true
        nsenter --net={namespace(name)} tc qdisc del dev eth0 root 2>/dev/null || true
    """)


def _partition(keeper, name, chains):
    _nft(keeper, name, f"{NO_PARTITION}table inet partition {{\n{chains}\n}}\n")


def _nft(keeper, name, rules):
    keeper.run(["nft", "-f", "-"], network=_file_of(name), input=rules)
