//! Which folders are on a file system that others change unseen: over a network, or from outside of a virtual machine or container. The
//! system's events tell there of what this machine does, and of nothing else; and they seem to work, so it has to be known beforehand.
//!
//! On Linux the mounts are known (proc_pid_mountinfo(5)); elsewhere none is recognised, and the look now and then has to do.

use std::{
    borrow::Cow,
    ffi::OsStr,
    path::{Path, PathBuf},
};

/// File systems that others write to. Not overlay: what a container writes makes events there, and its lower layers are not to be changed.
const SHARED: [&str; 22] = [
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "ncpfs",
    "afs",
    "coda",
    "ceph",
    "lustre",
    "glusterfs",
    "gpfs",
    "beegfs",
    "orangefs",
    "ocfs2",
    "gfs2",
    "9p",
    "virtiofs",
    "vboxsf",
    "vmhgfs",
    "prl_fs",
    "drvfs",
];
/// Docker Desktop's name for a folder of the machine it runs on.
const DOCKER_DESKTOP: &str = "fakeowner";
/// File systems that are programs, such as `fuse.sshfs`. `fuseblk` is a disk of this machine.
const FUSE: &str = "fuse";

/// The mounts of this process.
pub(super) struct Mounts(Vec<(PathBuf, String)>);

impl Mounts {
    /// Those there are now. Blocks.
    pub fn now() -> Self {
        // Without /proc none is known.
        Self::parse(&std::fs::read("/proc/self/mountinfo").unwrap_or_default())
    }

    fn parse(mountinfo: &[u8]) -> Self {
        Self(mountinfo.split(|byte| *byte == b'\n').filter_map(mount).collect())
    }

    /// The type of the file system that a real path is on, if others change it unseen.
    pub fn shared(&self, path: &Path) -> Option<&str> {
        // Of two at one place the later hides the earlier.
        let on = self.0.iter().filter(|(at, _)| path.starts_with(at)).max_by_key(|(at, _)| at.components().count());
        on.map(|(_, kind)| &**kind).filter(|kind| is_shared(kind))
    }
}

fn is_shared(kind: &str) -> bool {
    let is_fuse = kind == FUSE || kind.strip_prefix(FUSE).is_some_and(|rest| rest.starts_with('.'));
    is_fuse || kind == DOCKER_DESKTOP || SHARED.contains(&kind)
}

/// A line: `36 35 98:0 /root /mount/point rw,noatime master:1 - ext3 /dev/root rw`, with any number of fields before the dash.
fn mount(line: &[u8]) -> Option<(PathBuf, String)> {
    let mut fields = line.split(|byte| *byte == b' ');
    let at = unescaped(fields.nth(4)?);
    let kind = fields.skip_while(|field| *field != b"-").nth(1)?;
    Some((path(&at), String::from_utf8_lossy(kind).into_owned()))
}

#[cfg(unix)]
fn path(bytes: &[u8]) -> PathBuf {
    <OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes).into()
}

#[cfg(not(unix))]
fn path(bytes: &[u8]) -> PathBuf {
    OsStr::new(&*String::from_utf8_lossy(bytes)).into()
}

/// Blanks, ends of lines and backslashes are written as three octal digits.
fn unescaped(field: &[u8]) -> Cow<'_, [u8]> {
    if !field.contains(&b'\\') {
        return field.into();
    }
    let (mut plain, mut rest) = (Vec::with_capacity(field.len()), field);
    while let Some((&first, after)) = rest.split_first() {
        let octal = after.get(..3).and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        match octal.filter(|_| first == b'\\') {
            Some(byte) => {
                plain.push(byte);
                rest = &after[3..];
            }
            None => {
                plain.push(first);
                rest = after;
            }
        }
    }
    plain.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTINFO: &[u8] = b"\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
40 27 0:40 / /home rw,relatime shared:20 - nfs4 server:/home rw,vers=4.2
41 40 0:41 / /home/me/local rw,relatime shared:21 master:1 - xfs /dev/sdb1 rw
42 27 0:42 / /mnt/my\\040share rw - cifs //server/share rw
43 27 0:43 / /workspace rw,relatime - virtiofs workspace rw
44 27 0:44 / /host rw - fuse.sshfs me@there: rw
45 27 8:17 / /usb rw - fuseblk /dev/sdb1 rw
46 27 0:46 / /container rw - overlay overlay rw,lowerdir=/l,upperdir=/u,workdir=/w
47 27 0:47 / /twice rw - 9p there rw
48 27 0:48 / /twice rw - tmpfs tmpfs rw
49 27 0:49 / /box rw - vboxsf box rw
a line that is none
50 27";

    #[test]
    fn a_path_is_on_the_last_mount_on_its_way() {
        let mounts = Mounts::parse(MOUNTINFO);
        let cases = [
            ("/home/me/plugins", Some("nfs4")),
            ("/home", Some("nfs4")),
            ("/homes", None),
            ("/home/me/local/plugins", None),
            ("/mnt/my share/plugins", Some("cifs")),
            ("/workspace/plugins", Some("virtiofs")),
            ("/host/plugins", Some("fuse.sshfs")),
            ("/usb/plugins", None),
            ("/container/plugins", None),
            ("/twice/plugins", None),
            ("/box", Some("vboxsf")),
            ("/", None),
        ];
        for (path, kind) in cases {
            assert_eq!(mounts.shared(Path::new(path)), kind, "{path}");
        }
        assert_eq!(Mounts::parse(b"").shared(Path::new("/home")), None);
    }

    #[test]
    fn what_is_escaped_is_written_plainly() {
        let texts: [(&[u8], &[u8]); 4] = [(b"/a\\040b", b"/a b"), (b"\\134040", b"\\040"), (b"\\04", b"\\04"), (b"a\\999", b"a\\999")];
        for (field, plain) in texts {
            assert_eq!(unescaped(field), plain);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_mounts_of_this_system_are_read() {
        assert!(Mounts::now().0.iter().any(|(at, kind)| at == Path::new("/proc") && kind == "proc"));
    }
}
