//! The mount that holds a path, from `/proc/self/mountinfo` (proc_pid_mountinfo(5)).

/// The file that lists the mounts of this process.
pub(super) const MOUNTS: &str = "/proc/self/mountinfo";

/// File systems whose content another host keeps.
pub(super) const NETWORK: &[&str] = &[
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "ceph",
    "glusterfs",
    "9p",
    "afs",
    "lustre",
    "gpfs",
    "beegfs",
    "virtiofs",
];

/// One mounted file system.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Mount<'a> {
    id: &'a str,
    /// The mount that it is mounted on.
    parent: &'a str,
    /// `major:minor` of the device, or a number of the file system's own.
    pub(super) number: &'a str,
    pub(super) point: String,
    pub(super) fs_type: &'a str,
    pub(super) source: &'a str,
    mount_options: &'a str,
    super_options: &'a str,
}

/// The mount that holds an absolute path, looked up as the kernel does: from the root, the first place on the way at which
/// something is mounted on what was reached so far. A mount hidden by a later one over a directory above it is never reached,
/// however long its mount point.
pub(super) fn of<'a>(text: &'a str, path: &str) -> Option<Mount<'a>> {
    let mounts: Vec<Mount<'a>> = text.lines().filter_map(parse).collect();
    let holds = |mount: &Mount<'_>| {
        let point = mount.point.trim_end_matches('/');
        path == mount.point
            || path.strip_prefix(point).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    // What one whose parent is not listed is mounted on lies outside of what this process sees (a changed root directory).
    let is_first =
        |mount: &&Mount<'_>| mount.parent == mount.id || !mounts.iter().any(|other| other.id == mount.parent);
    // The nearest one on the way; of several at the same place the last, which covers the others.
    let nearest = |candidates: Vec<&Mount<'a>>| {
        candidates
            .into_iter()
            .rev()
            .filter(|mount| holds(mount))
            .min_by_key(|mount| mount.point.len())
            .cloned()
    };
    let mut reached = nearest(mounts.iter().filter(is_first).collect())?;
    // Each step goes to another mount; a list that leads in a circle is no list of the kernel's.
    for _ in 0..mounts.len() {
        let is_on = |mount: &&Mount<'_>| mount.parent == reached.id && mount.id != reached.id;
        let is_beside = |mount: &&Mount<'_>| {
            is_first(&&reached) && is_first(mount) && mount.point.len() > reached.point.len()
        };
        match nearest(mounts.iter().filter(|mount| is_on(mount) || is_beside(mount)).collect()) {
            Some(next) => reached = next,
            None => break,
        }
    }
    Some(reached)
}

/// `36 35 98:0 /root /point rw,noatime master:1 - ext4 /dev/root rw,errors=continue`: between the mount's options and
/// the hyphen stand any number of tags.
fn parse(line: &str) -> Option<Mount<'_>> {
    let (mount, file_system) = line.split_once(" - ")?;
    let mut words = mount.split(' ');
    let (id, parent) = (words.next()?, words.next()?);
    let (number, _root, point, mount_options) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let mut words = file_system.split(' ');
    let (fs_type, source, super_options) = (words.next()?, words.next()?, words.next().unwrap_or_default());
    Some(Mount { id, parent, number, point: unescape(point), fs_type, source, mount_options, super_options })
}

/// Space, tab, newline and backslash are written as three octal digits after a backslash.
fn unescape(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) => {
                plain.push(char::from(code));
                plain.push_str(&part[3..]);
            }
            None => {
                plain.push('\\');
                plain.push_str(part);
            }
        }
    }
    plain
}

impl Mount<'_> {
    /// Options of the mount and of the file system, each once; without those that name addresses, directories, users
    /// or security labels.
    pub(super) fn options(&self) -> Vec<String> {
        let mut options: Vec<String> = Vec::new();
        for option in self.mount_options.split(',').chain(self.super_options.split(',')) {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            let names_something = value.contains(['/', ':', '@'])
                || PRIVATE.contains(&name)
                || (value.contains('.') && value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'));
            if !option.is_empty() && !names_something && !options.iter().any(|known| known == option) {
                options.push(option.to_owned());
            }
        }
        options
    }

    /// The directory that an overlay writes to.
    pub(super) fn upper_directory(&self) -> Option<&str> {
        self.option("upperdir")
    }

    /// The value of one of the file system's options.
    pub(super) fn option(&self, name: &str) -> Option<&str> {
        self.super_options.split(',').find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
    }
}

/// Options whose values say who and where somebody is.
const PRIVATE: &[&str] =
    &["user", "username", "domain", "addr", "clientaddr", "mountaddr", "seclabel", "context"];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MOUNTS: &str = "\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard\n\
23 22 0:40 / /srv/a\\040b rw - tmpfs tmpfs rw,size=1k\n\
24 22 259:1 / /srv/log rw,noatime - ext4 /dev/nvme0n1p1 rw\n\
25 24 259:2 / /srv/log rw,noatime master:3 - xfs /dev/nvme0n1p2 rw,attr2\n";

    #[test]
    fn the_last_of_several_mounts_on_one_point_covers_the_others() {
        let mount = of(MOUNTS, "/srv/log/kafka").unwrap();
        assert_eq!((mount.number, mount.fs_type), ("259:2", "xfs"));
        assert_eq!(mount.options(), ["rw", "noatime", "attr2"]);
    }

    #[test]
    fn a_mount_hidden_under_a_later_one_over_the_directory_above_it_is_not_taken() {
        // mount -t tmpfs none /q; mkdir /q/sub; mount --bind /xfs /q/sub; mount -t tmpfs none /q; mkdir /q/sub
        let hidden = "\
22 1 254:0 / / rw - ext4 /dev/vda rw\n\
40 22 0:60 / /q rw - tmpfs none rw\n\
41 40 7:1 / /q/sub rw - xfs /dev/loop1 rw\n\
42 40 0:61 / /q rw - tmpfs none rw,size=9k\n";
        let mount = of(hidden, "/q/sub").unwrap();
        assert_eq!((mount.fs_type, mount.number), ("tmpfs", "0:61"));
        let above = hidden.lines().take(3).collect::<Vec<_>>().join("\n");
        assert_eq!(of(&above, "/q/sub").unwrap().fs_type, "xfs");
        assert_eq!(of(&above, "/q").unwrap().fs_type, "tmpfs");
    }

    #[test]
    fn a_root_mounted_over_the_root_is_reached() {
        let switched = "\
1 1 0:2 / / rw - rootfs none rw\n\
22 1 254:0 / / rw - ext4 /dev/vda rw\n\
30 22 254:16 / /srv rw - xfs /dev/vdb rw\n";
        assert_eq!(of(switched, "/srv/log").unwrap().fs_type, "xfs");
        assert_eq!(of(switched, "/home").unwrap().fs_type, "ext4");
    }

    #[test]
    fn a_directory_whose_name_begins_like_a_mount_point_is_not_below_it() {
        assert_eq!(of(MOUNTS, "/srv/logs").unwrap().point, "/");
        assert_eq!(of(MOUNTS, "/").unwrap().point, "/");
    }

    #[test]
    fn a_mount_point_with_a_space_is_found() {
        assert_eq!(of(MOUNTS, "/srv/a b/c").unwrap().fs_type, "tmpfs");
    }

    #[test]
    fn options_that_say_where_and_who_are_left_out() {
        let line = "9 1 0:50 / /n rw - nfs4 server:/x rw,vers=4.2,addr=10.0.0.1,clientaddr=10.0.0.2,hard";
        let mount = parse(line).unwrap();
        assert_eq!(mount.options(), ["rw", "hard"], "a version in figures and dots looks like an address");
        let overlay = "9 1 0:51 / /o rw - overlay overlay rw,lowerdir=/l1:/l2,upperdir=/up/x,workdir=/w";
        let mount = parse(overlay).unwrap();
        assert_eq!((mount.options(), mount.upper_directory()), (vec!["rw".to_owned()], Some("/up/x")));
    }

    proptest! {
        #[test]
        fn the_parser_never_panics(text in "(?s)([0-9]+ [0-9]+ 8:1 / /[a-z\\\\0-9é]{0,9} rw - ext4 /dev/a rw\n){0,3}.{0,60}", path in "/[a-z]{0,9}") {
            if let Some(mount) = of(&text, &path) {
                let _ = mount.options();
            }
        }
    }
}
