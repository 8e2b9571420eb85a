failed=0

say() { printf '%s\n' "$*" >&2; }

# One blank between words; of a list of choices the one in brackets; a mask of processors without commas and leading zeros.
plain() {
    case $2 in
        */rps_cpus | */xps_cpus) printf '%s' "$1" | tr -d ', \t\n' | sed 's/^0*\(.\)/\1/' ;;
        *) printf '%s' "$1" | tr -s ' \t\n' '   ' | sed -e 's/.*\[\([^]]*\)\].*/\1/' -e 's/^ //' -e 's/ $//' ;;
    esac
}

file_is() { [ "$(plain "$(cat "$1")" "$1")" = "$(plain "$2" "$1")" ]; }

# set_file PATH VALUE
set_file() {
    [ -e "$1" ] || { say "$1: not on this host"; return 1; }
    if file_is "$1" "$2"; then return 0; fi
    printf '%s' "$2" > "$1" || { say "$1: $2 is not taken"; return 1; }
    file_is "$1" "$2" || { say "$1: reads $(plain "$(cat "$1")" "$1"), expected $2"; return 1; }
}

# The name that ethtool prints for a key of a group.
label() {
    case $1:$2 in
        rings:rx | channels:rx | pause:rx) echo RX ;;
        rings:tx | channels:tx | pause:tx) echo TX ;;
        rings:rx-mini) echo 'RX Mini' ;;
        rings:rx-jumbo) echo 'RX Jumbo' ;;
        channels:other) echo Other ;;
        channels:combined) echo Combined ;;
        pause:autoneg) echo Autonegotiate ;;
        features:rx | features:rx-checksum) echo rx-checksumming ;;
        features:tx) echo tx-checksumming ;;
        features:sg) echo scatter-gather ;;
        features:tso) echo tcp-segmentation-offload ;;
        features:gso | features:tx-generic-segmentation) echo generic-segmentation-offload ;;
        features:gro | features:rx-gro) echo generic-receive-offload ;;
        features:lro | features:rx-lro) echo large-receive-offload ;;
        features:ntuple | features:rx-ntuple-filter) echo ntuple-filters ;;
        features:rxhash | features:rx-hashing) echo receive-hashing ;;
        features:rx-vlan-hw-parse) echo rx-vlan-offload ;;
        features:tx-vlan-hw-insert) echo tx-vlan-offload ;;
        *) printf '%s\n' "$2" ;;
    esac
}

# driver_reads INTERFACE GROUP KEY
driver_reads() {
    case $2:$3 in
        coalesce:adaptive-rx) ethtool -c "$1" | sed -n 's/^Adaptive RX: *\([^ ]*\).*/\1/p' ;;
        coalesce:adaptive-tx) ethtool -c "$1" | sed -n 's/^Adaptive RX:.*TX: *\([^ ]*\).*/\1/p' ;;
        *)
            case $2 in
                rings) ethtool -g "$1" ;;
                channels) ethtool -l "$1" ;;
                coalesce) ethtool -c "$1" ;;
                pause) ethtool -a "$1" ;;
                features) ethtool -k "$1" ;;
            esac | awk -v label="$(label "$2" "$3")" -v group="$2" '
                /^Current/ { now = 1 }
                {
                    line = $0
                    sub(/^[ \t]+/, "", line)
                    if (index(line, label ":") != 1 || ((group == "rings" || group == "channels") && !now)) next
                    value = substr(line, length(label) + 2)
                    # A feature that is wanted and waits for another one: "off [requested on]".
                    if (value ~ /\[requested on\]/) value = "on"
                    if (value ~ /\[requested off\]/) value = "off"
                    split(value, words, /[ \t]+/)
                    print words[1] == "" ? words[2] : words[1]
                    exit
                }'
            ;;
    esac
}

# True if all keys read so; with "nearly" rings and times may be what a driver rounds them to, at least half and at most twice.
driver_is() {
    how=$1 interface=$2 group=$3
    shift 3
    while [ $# -gt 1 ]; do
        reads=$(driver_reads "$interface" "$group" "$1" 2> /dev/null)
        if [ "$reads" != "$2" ]; then
            case $how:$group:$reads$2 in
                nearly:rings:*[!0-9]* | nearly:coalesce:*[!0-9]*) return 1 ;;
                nearly:rings:* | nearly:coalesce:*)
                    [ -n "$reads" ] && [ $((reads * 2)) -ge "$2" ] && [ "$reads" -le $(($2 * 2)) ] || return 1
                    ;;
                *) return 1 ;;
            esac
        fi
        shift 2
    done
}

# set_driver INTERFACE GROUP KEY VALUE ...: nothing is told to a driver that has it already, as for some that takes the link down.
set_driver() {
    if driver_is exactly "$@"; then return 0; fi
    interface=$1 group=$2
    shift 2
    case $group in
        rings) option=-G ;;
        channels) option=-L ;;
        coalesce) option=-C ;;
        pause) option=-A ;;
        features) option=-K ;;
    esac
    ethtool "$option" "$interface" "$@" > /dev/null || { say "ethtool $option $interface $*: not taken"; return 1; }
    driver_is nearly "$interface" "$group" "$@" || { say "$group of $interface: not as told: $*"; return 1; }
}

# set_spread INTERFACE WORDS ..., set_flow_hash INTERFACE FLOW LETTERS: ethtool prints both in many forms, so that only its answer counts.
set_spread() {
    interface=$1
    shift
    ethtool -X "$interface" "$@" || { say "ethtool -X $interface $*: not taken"; return 1; }
}
set_flow_hash() {
    ethtool -N "$1" rx-flow-hash "$2" "$3" || { say "ethtool -N $1 rx-flow-hash $2 $3: not taken"; return 1; }
}

# A list of processors with each of them named.
cpus() {
    LIST=$1 awk 'BEGIN {
        parts = split(ENVIRON["LIST"], part, ",")
        for (at = 1; at <= parts; at++) {
            ends = split(part[at], end, "-")
            last = end[ends] + 0
            for (cpu = end[1] + 0; cpu <= last && cpu < 65536; cpu++) { has[cpu] = 1; if (cpu > most) most = cpu }
        }
        for (cpu = 0; cpu <= most; cpu++) if (cpu in has) printf "%d ", cpu
    }'
}

# set_interrupt DEVICE NAME PROCESSORS: by its name, as its number is another one after each start.
set_interrupt() {
    numbers=
    for number in $(NAME=$2 awk '$1 ~ /^[0-9]+:$/ && $NF == ENVIRON["NAME"] { sub(/:/, "", $1); print $1 }' /proc/interrupts); do
        msi=/sys/bus/pci/devices/$1/msi_irqs
        if [ ! -d "$msi" ] || [ -e "$msi/$number" ]; then numbers="$numbers $number"; fi
    done
    case $numbers in
        ' '*' '* | '') say "interrupt $2 of $1: not found, or more than one"; return 1 ;;
    esac
    place=/proc/irq/${numbers# }/smp_affinity_list
    if [ "$(cpus "$(cat "$place")")" = "$(cpus "$3")" ]; then return 0; fi
    printf '%s' "$3" > "$place" || { say "interrupt $2 of $1: the kernel places it itself"; return 1; }
    [ "$(cpus "$(cat "$place")")" = "$(cpus "$3")" ] || { say "interrupt $2 of $1: not on $3"; return 1; }
}

# same_device INTERFACE DEVICE DRIVER: whether the name still belongs to what the plan was made for.
same_device() {
    here=/sys/class/net/$1/device
    [ -z "$2" ] || [ "$(basename "$(readlink -f "$here")")" = "$2" ] || { say "$1 is another device, expected $2"; return 1; }
    [ -z "$3" ] || [ "$(basename "$(readlink -f "$here/driver")")" = "$3" ] || { say "$1 has another driver, expected $3"; return 1; }
}

# The rest is done all the same, and the end is a failure.
attempt() { "$@" || failed=1; }
attempt_on() {
    if same_device "$1" "$2" "$3"; then
        shift 3
        attempt "$@"
    else
        failed=1
    fi
}
