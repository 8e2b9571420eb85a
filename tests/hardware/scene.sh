# What the scenes of a virtual machine call. LAB is the folder that scripts/hardware-lab made, PLUMB the program.
# A scene ends at the first command that fails, and its test with it.
set -euo pipefail

export PATH=$LAB/tools/sbin:$LAB/tools/usr/sbin:$LAB/tools/bin:$LAB/tools/usr/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LD_LIBRARY_PATH=$LAB/tools/lib/x86_64-linux-gnu:$LAB/tools/usr/lib/x86_64-linux-gnu
# Nobody answers for udev in here.
export DM_DISABLE_UDEV=1
mkdir -p /lib/modules
ln -s "$LAB/kernel/lib/modules/$(uname -r)" "/lib/modules/$(uname -r)"
# ext4 and btrfs ask for it without saying so.
modprobe -a crc32c_generic ext4

# until_there COMMAND...: devices come when they come.
until_there() {
    local attempt
    for attempt in $(seq 100); do
        "$@" > /dev/null && return
        sleep 0.1
    done
    echo "never: $*" >&2
    return 1
}

# The device with this serial number; the kernel's names depend on who came first.
find_disk() {
    local block
    for block in /sys/block/*; do
        # virtio, NVMe, SATA, and of a USB disk what the plug says.
        if grep -aqs "$1" "$block"/{serial,device/serial,device/vpd_pg80,device/../../../../serial}; then
            echo "/dev/${block##*/}"
            return
        fi
    done
    return 1
}

disk() {
    until_there find_disk "$1"
    find_disk "$1"
}

# A place under /mnt with this name for a file system on this device; options of mount follow.
mounted() {
    local place=/mnt/$1 device=$2
    shift 2
    mkdir -p "$place"
    mount "$@" "$device" "$place"
    # Else the guest's memory would be measured.
    mountpoint -q "$place"
}

# ext4 that is done with making itself, small enough for a slow disk: what it would write later would be measured.
make_ext4() {
    mkfs.ext4 -q -F -b 4096 -J size=8 -E lazy_itable_init=1,lazy_journal_init=1,nodiscard "$@"
}

# plumb NAME ARGUMENT...: the document into NAME.json. A finding is no failure here.
plumb() {
    local name=$1 status=0
    shift
    "$PLUMB" "$@" --output json > "/scene/$name.json" || status=$?
    [ "$status" -le 1 ]
}
