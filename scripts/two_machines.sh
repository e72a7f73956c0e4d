#!/usr/bin/env bash
# Run one dsgrl command on two "machines": two network namespaces of this machine,
# joined by a virtual cable. Needs root and iproute2.
#
#   scripts/two_machines.sh FOLDER_1 FOLDER_2 embed edges.csv --nodes nodes.csv -o z.parquet
#
# Each machine runs in its own folder, with its own copy of the data. Neither has a
# network besides the cable. Exit code: 77 if namespaces are not allowed here, otherwise
# that of the first machine, or of the second if the first one succeeded.
set -u
if [ $# -lt 3 ]; then
    echo "usage: $0 FOLDER_1 FOLDER_2 COMMAND..." >&2
    exit 2
fi
first=$1 second=$2
shift 2
python=${PYTHON:-python}
# Short: names of network interfaces have 15 letters at most.
id=$$
a=dsgrl-a-$id b=dsgrl-b-$id
port=29500

clean() {
    ip netns del "$a" 2>/dev/null
    ip netns del "$b" 2>/dev/null
}
trap clean EXIT

forbidden() {
    echo "two_machines: network namespaces are not allowed here: $1" >&2
    exit 77
}

set_up() {
    ip netns add "$a" && ip netns add "$b" &&
        ip link add "va$id" netns "$a" type veth peer name "vb$id" netns "$b" &&
        ip -n "$a" addr add 10.77.0.1/24 dev "va$id" &&
        ip -n "$b" addr add 10.77.0.2/24 dev "vb$id" &&
        ip -n "$a" link set "va$id" up && ip -n "$b" link set "vb$id" up &&
        ip -n "$a" link set lo up && ip -n "$b" link set lo up
}
error=$(set_up 2>&1) || forbidden "$error"

# What a user types on each machine, but for "ip netns exec".
run() { # namespace, interface, number of the machine, folder, command...
    local space=$1 interface=$2 number=$3 folder=$4
    shift 4
    cd "$folder" || exit 2
    GLOO_SOCKET_IFNAME=$interface exec ip netns exec "$space" \
        "$python" -m torch.distributed.run \
        --nnodes 2 --node-rank "$number" --nproc-per-node 1 \
        --master-addr 10.77.0.1 --master-port "$port" -m dsgrl "$@"
}

(run "$b" "vb$id" 1 "$second" "$@") > >(sed 's/^/machine 2: /') \
    2> >(sed 's/^/machine 2: /' >&2) &
other=$!
(run "$a" "va$id" 0 "$first" "$@")
code=$?
wait "$other"
late=$?
[ "$code" -ne 0 ] || code=$late
sent=$(ip -n "$a" -s link show "va$id" | tail -1 | awk '{print $1}')
echo "two_machines: machine 1 sent $sent bytes over the cable" >&2
exit "$code"
