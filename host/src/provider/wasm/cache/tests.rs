use std::{
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt, chown, symlink},
    path::PathBuf,
};

use super::*;

struct Fixture {
    engine: Engine,
    cache: Cache,
    /// A key, and the code that belongs to it.
    key: Key,
    code: Vec<u8>,
    folder: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::default();
        let cache = Cache::open(folder.path(), "engine").unwrap();
        let code = engine.precompile_component(&wat::parse_str("(component (core module (func (export \"f\"))))").unwrap()).unwrap();
        let key = cache.key(&blake3::hash(b"the component"));
        Self { engine, cache, key, code, folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn store(&self) {
        self.cache.store(&self.key, &self.code).unwrap();
    }

    fn is_there(&self) -> bool {
        self.cache.load(&self.engine, &self.key).is_some()
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = self.cache.folder.list().unwrap().into_iter().map(|file| file.name).collect();
        names.sort();
        names
    }
}

fn set_age(path: &Path, age: Duration) {
    fs::File::options().write(true).open(path).unwrap().set_modified(SystemTime::now() - age).unwrap();
}

#[test]
fn what_was_stored_is_found_by_its_content_and_engine() {
    let it = Fixture::new();
    assert!(!it.is_there());
    it.store();
    assert!(it.is_there());
    let other = Cache::open(it.folder.path(), "another engine").unwrap();
    assert!(other.load(&it.engine, &other.key(&blake3::hash(b"the component"))).is_none());
    assert!(it.cache.load(&it.engine, &it.cache.key(&blake3::hash(b"another component"))).is_none());
    let mode = fs::metadata(it.path(&it.key.code())).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_folder_that_is_made_is_for_this_user_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b");
    Cache::open(&path, "engine").unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(fs::metadata(folder.path().join("a")).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn a_wrong_entry_is_thrown_out_and_can_be_stored_again() {
    let it = Fixture::new();
    type Damage = (&'static str, fn(&Path, &Path));
    let damages: [Damage; 9] = [
        ("a flipped bit", |code, _| {
            let mut bytes = fs::read(code).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fs::write(code, bytes).unwrap();
        }),
        ("cut off", |code, _| fs::File::options().write(true).open(code).unwrap().set_len(1000).unwrap()),
        ("empty", |code, _| fs::write(code, "").unwrap()),
        ("garbage", |code, _| fs::write(code, "garbage").unwrap()),
        ("garbage with the right checksum", |code, sum| {
            fs::write(code, "garbage").unwrap();
            fs::write(sum, format!("{}\n", blake3::hash(b"garbage").to_hex())).unwrap();
        }),
        ("a checksum cut off", |_, sum| fs::write(sum, "123").unwrap()),
        ("a checksum of a megabyte", |_, sum| fs::write(sum, "0".repeat(1 << 20)).unwrap()),
        ("writable by others", |code, _| fs::set_permissions(code, Permissions::from_mode(0o620)).unwrap()),
        ("a folder", |code, _| {
            fs::remove_file(code).unwrap();
            fs::create_dir(code).unwrap();
        }),
    ];
    for (what, damage) in damages {
        it.store();
        assert!(it.is_there(), "before {what}");
        damage(&it.path(&it.key.code()), &it.path(&it.key.sum()));
        assert!(!it.is_there(), "{what}");
        assert!(!it.path(&it.key.code()).exists() && !it.path(&it.key.sum()).exists(), "{what} is still there");
    }
    // What stands in the way when it is stored is replaced, too.
    fs::write(it.path(&it.key.code()), "garbage").unwrap();
    fs::write(it.path(&it.key.sum()), "garbage").unwrap();
    it.store();
    assert!(it.is_there());
}

#[test]
fn an_entry_that_was_made_by_other_settings_is_thrown_out() {
    let it = Fixture::new();
    it.store();
    let other = Engine::new(wasmtime::Config::new().epoch_interruption(true)).unwrap();
    assert!(it.cache.load(&other, &it.key).is_none());
    assert!(!it.is_there());
}

#[test]
fn a_link_or_a_pipe_in_the_place_of_an_entry_is_not_opened() {
    let it = Fixture::new();
    let elsewhere = tempfile::NamedTempFile::new().unwrap();
    fs::write(elsewhere.path(), &it.code).unwrap();
    it.store();
    fs::remove_file(it.path(&it.key.code())).unwrap();
    symlink(elsewhere.path(), it.path(&it.key.code())).unwrap();
    assert!(!it.is_there());
    assert_eq!(fs::read(elsewhere.path()).unwrap(), it.code);
    it.store();
    fs::remove_file(it.path(&it.key.sum())).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, it.path(&it.key.sum()), rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    assert!(!it.is_there());
}

#[test]
fn a_folder_of_someone_else_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        chown(folder.path(), Some(65_534), None).unwrap();
    }
    let path = if is_root { folder.path() } else { Path::new("/usr") };
    let error = Cache::open(path, "engine").err().unwrap();
    assert!(matches!(error, Unusable::Owner(..)), "{error}");
}

#[test]
fn a_folder_that_others_may_write_is_not_used_and_the_message_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    for mode in [0o777, 0o720, 0o702, 0o1777] {
        fs::set_permissions(folder.path(), Permissions::from_mode(mode)).unwrap();
        let error = Cache::open(folder.path(), "engine").err().unwrap().to_string();
        assert!(error.contains("chmod 700"), "{mode:o}: {error}");
    }
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    assert!(Cache::open(folder.path(), "engine").is_ok());
}

#[test]
fn a_folder_that_cannot_be_made_is_not_used() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for path in [file.path().to_owned(), file.path().join("components")] {
        assert!(matches!(Cache::open(&path, "engine").err().unwrap(), Unusable::Open(..)));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_read_only_folder_stores_nothing_and_fails_nothing() {
    // Of this user, and read-only for root as well.
    let mut it = Fixture::new();
    it.cache = Cache::open(Path::new("/proc/self/task"), "engine").unwrap();
    assert!(it.cache.store(&it.key, &it.code).is_err());
    assert!(!it.is_there());
    assert!(it.cache.claim(&it.key).is_some());
    let stamp = Stamp { text: "a file".into(), changed: SystemTime::UNIX_EPOCH };
    it.cache.remember(Path::new("/a"), &stamp, &blake3::hash(b""), SystemTime::now());
    assert_eq!(it.cache.recall(Path::new("/a"), &stamp), None);
}

#[test]
fn a_write_that_fails_leaves_nothing_behind() {
    let it = Fixture::new();
    let full = it.cache.folder.put("a", |file| {
        file.write_all(b"half")?;
        Err(io::ErrorKind::StorageFull.into())
    });
    assert_eq!(full.err().unwrap().kind(), io::ErrorKind::StorageFull);
    assert_eq!(it.names(), [""; 0]);
}

#[test]
fn hosts_that_store_at_the_same_time_do_not_get_into_each_others_way() {
    let it = Fixture::new();
    let keys: Vec<Key> = (0_u8..8).map(|n| it.cache.key(&blake3::hash(&[n]))).collect();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut cache = Cache::open(it.folder.path(), "engine").unwrap();
                // This is about order, not about a slow disk.
                cache.patience = Duration::from_secs(60);
                for key in &keys {
                    cache.store(key, &it.code).unwrap();
                    assert!(cache.load(&it.engine, key).is_some());
                }
            });
        }
    });
    assert_eq!(it.names().iter().filter(|name| name.ends_with(".cwasm")).count(), keys.len());
    assert!(!it.names().iter().any(|name| folder::is_temporary(name)));
}

#[test]
fn an_entry_that_is_right_is_not_written_again() {
    let it = Fixture::new();
    it.store();
    let inode = |it: &Fixture| std::os::unix::fs::MetadataExt::ino(&fs::metadata(it.path(&it.key.code())).unwrap());
    let before = inode(&it);
    it.store();
    assert_eq!(inode(&it), before);
}

#[test]
fn a_lock_that_stays_taken_is_not_waited_for() {
    let mut it = Fixture::new();
    it.cache.patience = Duration::from_millis(30);
    let other = Cache::open(it.folder.path(), "engine").unwrap();
    let lock = other.lock().unwrap();
    assert_eq!(it.cache.store(&it.key, &it.code).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    drop(lock);
    it.store();
}

#[test]
fn a_component_that_another_host_compiles_is_not_claimed_twice() {
    let it = Fixture::new();
    let other = Cache::open(it.folder.path(), "engine").unwrap();
    let claim = it.cache.claim(&it.key).unwrap();
    assert!(other.claim(&it.key).is_none());
    drop(claim);
    assert!(other.claim(&it.key).is_some());
}

#[test]
fn over_its_size_the_cache_drops_what_was_not_used_for_longest() {
    let mut it = Fixture::new();
    it.cache.max_bytes = 3 * it.code.len() as u64;
    let keys: Vec<Key> = (0_u8..5).map(|n| it.cache.key(&blake3::hash(&[n]))).collect();
    for (key, hours) in keys.iter().zip([5_u32, 4, 3]) {
        it.cache.store(key, &it.code).unwrap();
        set_age(&it.path(&key.code()), hours * ABANDONED);
    }
    // The oldest is used, and so no longer is.
    assert!(it.cache.load(&it.engine, &keys[0]).is_some());
    for key in &keys[3..] {
        it.cache.store(key, &it.code).unwrap();
    }
    let left: Vec<bool> = keys.iter().map(|key| it.cache.load(&it.engine, key).is_some()).collect();
    assert_eq!(left, [true, false, false, true, true]);
    assert_eq!(it.names().iter().filter(|name| name.ends_with(".sum")).count(), 3);
}

#[test]
fn what_killed_hosts_left_behind_is_swept() {
    let mut it = Fixture::new();
    it.cache.max_sources = 2;
    for (name, age) in [
        ("tmp-1", 2 * ABANDONED),
        ("tmp-2", Duration::ZERO),
        ("0-engine.sum", 2 * ABANDONED),
        ("1.src", 3 * ABANDONED),
        ("2.src", Duration::ZERO),
        ("3.src", Duration::ZERO),
        ("something else", 9 * ABANDONED),
    ] {
        fs::write(it.path(name), "").unwrap();
        set_age(&it.path(name), age);
    }
    it.store();
    let mut left = ["2.src", "3.src", &it.key.code(), &it.key.sum(), "lock", "something else", "tmp-2"];
    left.sort_unstable();
    assert_eq!(it.names(), left);
}

#[test]
fn a_file_is_known_again_until_it_changes() {
    let it = Fixture::new();
    let (now, path) = (SystemTime::now(), Path::new("/a.wasm"));
    let stamp = |text: &str, changed| Stamp { text: text.into(), changed };
    let hash = blake3::hash(b"content");
    it.cache.remember(path, &stamp("new", now), &hash, now);
    assert_eq!(it.cache.recall(path, &stamp("new", now)), None, "it may change unseen");
    let old = stamp("old", SystemTime::UNIX_EPOCH);
    it.cache.remember(path, &old, &hash, now);
    assert_eq!(it.cache.recall(path, &old), Some(hash));
    assert_eq!(it.cache.recall(path, &stamp("changed", now)), None);
    assert_eq!(it.cache.recall(Path::new("/b.wasm"), &old), None);
    for garbage in ["", "old\n", "old\n123\n", "old\nold\nold\n"] {
        fs::write(it.path(&source(path)), garbage).unwrap();
        assert_eq!(it.cache.recall(path, &old), None, "{garbage:?}");
    }
}
