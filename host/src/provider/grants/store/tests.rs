use std::{
    process::{Command, Stdio},
    thread,
};

use tempfile::TempDir;

use super::*;

const QUOTA: u64 = 1 << 20;

struct Kept {
    folder: TempDir,
    stores: Stores,
    owner: Owner,
}

fn owner(scope: &str, provider: &str) -> Owner {
    Owner { scope: scope.into(), provider: provider.into() }
}

fn kept() -> Kept {
    let folder = tempfile::tempdir().unwrap();
    let stores = Stores::new(Some(folder.path().join("state")), "/srv/wharf.toml");
    let owner = stores.owner(&"ci".into());
    Kept { folder, stores, owner }
}

impl Kept {
    fn again(&self) -> Stores {
        Stores::new(Some(self.folder.path().join("state")), "/srv/wharf.toml")
    }

    fn set(&self, key: &str, value: &[u8]) -> Result<Answer, StoreError> {
        self.stores.patiently(&self.owner, QUOTA, &Operation::Set(key.into(), value.into()))
    }

    fn get(&self, key: &str) -> Option<Vec<u8>> {
        value(&self.stores, &self.owner, key)
    }

    fn log_bytes(&self) -> u64 {
        std::fs::metadata(self.folder.path().join("state/store.db-wal")).unwrap().len()
    }

    fn keys(&self, prefix: &str) -> Vec<String> {
        match self.stores.patiently(&self.owner, QUOTA, &Operation::Keys(prefix.into())) {
            Ok(Answer::Keys(keys)) => keys,
            other => panic!("{other:?}"),
        }
    }
}

fn value(stores: &Stores, owner: &Owner, key: &str) -> Option<Vec<u8>> {
    match stores.patiently(owner, QUOTA, &Operation::Get(key.into())) {
        Ok(Answer::Value(value)) => value,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_set_is_there_for_the_next_host_and_for_nobody_else() {
    let kept = kept();
    assert_eq!(kept.get("a"), None);
    kept.set("a", b"1").unwrap();
    kept.set("a", b"2").unwrap();
    kept.set("b\0c", &[0, 255]).unwrap();
    let again = kept.again();
    assert_eq!((value(&again, &kept.owner, "a"), value(&again, &kept.owner, "b\0c")), (Some(b"2".into()), Some(vec![0, 255])));
    for other in [owner("/srv/wharf.toml", "other"), owner("/other/wharf.toml", "ci"), owner("", "")] {
        assert_eq!(value(&again, &other, "a"), None, "{other:?}");
    }
    again.patiently(&kept.owner, QUOTA, &Operation::Remove("a".into())).unwrap();
    again.patiently(&kept.owner, QUOTA, &Operation::Remove("a".into())).unwrap();
    assert_eq!(kept.get("a"), None);
}

#[test]
fn a_value_is_replaced_only_if_it_is_as_expected() {
    let kept = kept();
    let replace = |expected: Option<&[u8]>, value: Option<&[u8]>| {
        let operation = Operation::Replace("a".into(), expected.map(Into::into), value.map(Into::into));
        kept.stores.patiently(&kept.owner, QUOTA, &operation).unwrap() == Answer::Replaced(true)
    };
    assert!(!replace(Some(b""), Some(b"1")));
    assert!(replace(None, Some(b"")));
    assert!(!replace(None, Some(b"1")));
    assert!(replace(Some(b""), Some(b"1")));
    assert!(replace(Some(b"1"), None));
    assert!(replace(None, None));
    assert_eq!(kept.keys(""), [""; 0]);
}

#[test]
fn keys_come_in_the_order_of_their_bytes_and_a_prefix_is_no_pattern() {
    let kept = kept();
    for key in ["b", "a%", "a_b", "aé", "a", "a\u{10ffff}z", "B", "a\0"] {
        kept.set(key, b"").unwrap();
    }
    assert_eq!(kept.keys(""), ["B", "a", "a\0", "a%", "a_b", "aé", "a\u{10ffff}z", "b"]);
    assert_eq!(kept.keys("a"), ["a", "a\0", "a%", "a_b", "aé", "a\u{10ffff}z"]);
    assert_eq!(kept.keys("a%"), ["a%"]);
    assert_eq!(kept.keys("a\u{10ffff}"), ["a\u{10ffff}z"]);
}

#[test]
fn a_key_has_one_byte_at_least_and_1024_at_most() {
    let kept = kept();
    kept.set(&"é".repeat(MAX_KEY_BYTES / 2), b"").unwrap();
    for key in [String::new(), "a".repeat(MAX_KEY_BYTES + 1)] {
        assert_eq!(kept.set(&key, b""), Err(StoreError::Key));
        assert_eq!(kept.stores.at_once(&kept.owner, QUOTA, &Operation::Get(key)), Err(StoreError::Key));
    }
}

#[test]
fn keys_and_values_have_the_bytes_that_are_granted_and_not_one_more() {
    let kept = kept();
    let set = |quota: u64, key: &str, length: usize| {
        kept.stores.patiently(&kept.owner, quota, &Operation::Set(key.into(), vec![0; length])).map(drop)
    };
    set(100, "key", 97).unwrap();
    assert_eq!(set(100, "k", 0), Err(StoreError::Full(101)));
    set(100, "key", 90).unwrap();
    set(100, "k", 6).unwrap();
    assert_eq!(set(100, "k", 7), Err(StoreError::Full(101)));
    assert_eq!(kept.get("k").map(|value| value.len()), Some(6), "what was there is there");
    // Less is granted than there is: it may shrink.
    set(10, "key", 80).unwrap();
    assert_eq!(set(10, "key", 81), Err(StoreError::Full(91)));
    kept.stores.patiently(&kept.owner, 10, &Operation::Remove("key".into())).unwrap();
    set(10, "k", 9).unwrap();
    // Another owner's bytes are not counted.
    kept.stores.patiently(&owner("x", "y"), 10, &Operation::Set("k".into(), vec![0; 9])).unwrap();
}

#[test]
fn two_hosts_on_one_file_lose_nothing() {
    const EACH: u32 = 200;
    let kept = kept();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                // Each has a connection of its own, as processes have.
                let stores = kept.again();
                for _ in 0..EACH {
                    loop {
                        let before = value(&stores, &kept.owner, "count");
                        let count: u32 = before.as_deref().map_or(0, |count| std::str::from_utf8(count).unwrap().parse().unwrap());
                        let operation = Operation::Replace("count".into(), before, Some((count + 1).to_string().into_bytes()));
                        match stores.patiently(&kept.owner, QUOTA, &operation) {
                            Ok(Answer::Replaced(true)) => break,
                            Ok(Answer::Replaced(false)) | Err(StoreError::Busy) => {}
                            other => panic!("{other:?}"),
                        }
                    }
                }
            });
        }
    });
    assert_eq!(kept.get("count").unwrap(), (2 * EACH).to_string().into_bytes());
}

#[test]
fn a_busy_file_is_said_to_be_at_once_and_waited_for_only_by_who_can() {
    let kept = kept();
    kept.set("a", b"1").unwrap();
    let other = rusqlite::Connection::open(path(&kept.folder.path().join("state"))).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let set = Operation::Set("a".into(), b"2".into());
    assert_eq!(kept.stores.at_once(&kept.owner, QUOTA, &set), Err(StoreError::Busy));
    assert_eq!(kept.stores.patiently(&kept.owner, QUOTA, &set), Err(StoreError::Busy));
    assert_eq!(
        kept.stores.at_once(&kept.owner, QUOTA, &Operation::Get("a".into())),
        Ok(Answer::Value(Some(b"1".into()))),
        "readers need not wait"
    );
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(kept.stores.at_once(&kept.owner, QUOTA, &set), Ok(Answer::Done));
}

#[test]
fn the_first_call_opens_the_file_and_so_is_not_made_at_once() {
    let kept = kept();
    assert_eq!(kept.stores.at_once(&kept.owner, QUOTA, &Operation::Get("a".into())), Err(StoreError::Busy));
    assert_eq!(kept.get("a"), None);
    assert_eq!(kept.stores.at_once(&kept.owner, QUOTA, &Operation::Get("a".into())), Ok(Answer::Value(None)));
}

#[test]
fn what_is_written_goes_into_the_file_itself_now_and_then() {
    let kept = kept();
    let value = vec![7; 64 << 10];
    let mut tidied = 0;
    for _ in 0..200 {
        kept.set("a", &value).unwrap();
        if kept.stores.log() == Log::Long {
            kept.stores.tidy();
            tidied += 1;
        }
    }
    assert!(tidied > 1, "{tidied}");
    let log = kept.log_bytes();
    assert!(log < 3 * CHECKPOINT_BYTES, "{log} bytes of log for {} written", 200 * value.len());
}

#[test]
fn writes_of_nothing_and_removals_fill_the_log_and_so_are_counted() {
    let kept = kept();
    let remove = || kept.stores.patiently(&kept.owner, QUOTA, &Operation::Remove("a".into())).unwrap();
    for _ in 0..1000 {
        kept.set("a", b"").unwrap();
        remove();
        if kept.stores.log() != Log::Short {
            kept.stores.tidy();
        }
    }
    let log = kept.log_bytes();
    assert!(log < 2 * CHECKPOINT_BYTES, "{log} bytes of log for nothing");
}

#[test]
fn a_log_that_is_never_done_with_makes_who_writes_wait() {
    let kept = kept();
    let value = vec![7; 900 << 10];
    let writes = OVERDUE_BYTES.div_ceil(value.len() as u64 + WRITE_BYTES);
    for n in 0..writes {
        assert_ne!(kept.stores.log(), Log::Overdue, "{n}");
        kept.set("a", &value).unwrap();
    }
    assert_eq!((kept.stores.log(), kept.stores.log()), (Log::Overdue, Log::Overdue), "until it is done");
    kept.stores.tidy();
    assert_ne!(kept.stores.log(), Log::Overdue);
    kept.set("a", &value).unwrap();
    let log = kept.log_bytes();
    assert!(log < OVERDUE_BYTES + 3 * CHECKPOINT_BYTES, "it is begun anew: {log}");
}

#[test]
fn one_key_more_than_may_be_given_at_once_is_an_error_that_says_what_to_do() {
    let kept = kept();
    kept.set("a", b"").unwrap();
    let file = rusqlite::Connection::open(kept.folder.path().join("state/store.db")).unwrap();
    let fill = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
                INSERT INTO entry SELECT 1, CAST(printf('k%08d', i) AS BLOB), x'' FROM n";
    file.execute(fill, [MAX_KEYS as i64]).unwrap();
    assert_eq!(kept.keys("k").len(), MAX_KEYS);
    let all = kept.stores.patiently(&kept.owner, QUOTA, &Operation::Keys(String::new()));
    assert_eq!(all, Err(StoreError::Keys));
    assert!(StoreError::Keys.to_string().contains("longer beginnings"));
    // Reading so many takes its time, which no async thread has.
    assert_eq!(kept.stores.at_once(&kept.owner, QUOTA, &Operation::Keys("k".into())), Err(StoreError::Busy));
}

#[cfg(unix)]
#[test]
fn the_folder_and_the_files_are_the_users_alone() {
    use std::os::unix::fs::PermissionsExt;
    let kept = kept();
    kept.set("a", b"1").unwrap();
    let folder = kept.folder.path().join("state");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    for file in std::fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

#[test]
fn a_file_that_is_none_of_ours_is_left_alone_and_the_error_says_what_to_do() {
    let kept = kept();
    let folder = kept.folder.path().join("state");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(
        path(&folder),
        "this is a letter, and no store, of more than a hundred bytes, so that no header of anything is in it; really",
    )
    .unwrap();
    assert!(matches!(kept.set("a", b"1"), Err(StoreError::Disk(reason)) if reason.contains("store.db: it is damaged: move it away")));
    std::fs::remove_file(path(&folder)).unwrap();
    kept.set("a", b"1").unwrap();
    rusqlite::Connection::open(path(&folder)).unwrap().pragma_update(None, "user_version", 2).unwrap();
    let newer = kept.again().patiently(&kept.owner, QUOTA, &Operation::Get("a".into()));
    assert!(matches!(newer, Err(StoreError::Disk(reason)) if reason.contains("a newer Wharf")));
    assert_eq!(Stores::new(None, "").patiently(&kept.owner, QUOTA, &Operation::Get("a".into())), Err(StoreError::NoFolder));
}

/// Not a test by itself: what the next two run in a process of their own, where it writes until it is killed, or until it cannot.
#[test]
fn a_process_that_writes() {
    let Some(folder) = std::env::var_os("WHARF_TEST_STORE") else { return };
    let stores = Stores::new(Some(folder.into()), "x");
    let owner = stores.owner(&"p".into());
    let last = value(&stores, &owner, "last").map(|last| String::from_utf8(last).unwrap());
    let next = last.map_or(0, |last| last.split_once(':').unwrap().0.parse::<u64>().unwrap() + 1);
    for n in next.. {
        let value = format!("{n}:").repeat(2000);
        let key = format!("key-{}", n % 50);
        for operation in [Operation::Set(key, value.clone().into()), Operation::Set("last".into(), value.into())] {
            if let Err(error) = stores.patiently(&owner, u64::MAX >> 1, &operation) {
                println!("failed at {n}: {error}");
                // What is there stays readable, and a later write may go well.
                assert!(matches!(stores.patiently(&owner, QUOTA, &Operation::Get("last".into())), Ok(Answer::Value(Some(_)))));
                return;
            }
        }
        println!("wrote {n}");
    }
}

fn writer(folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "provider::grants::store::tests::a_process_that_writes", "--nocapture", "--test-threads=1"]);
    command.env("WHARF_TEST_STORE", folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// Every value is whole, and each is what some call set.
fn check_all(folder: &Path) -> u64 {
    let stores = Stores::new(Some(folder.into()), "x");
    let owner = stores.owner(&"p".into());
    let Answer::Keys(keys) = stores.patiently(&owner, QUOTA, &Operation::Keys(String::new())).unwrap() else { panic!("no keys") };
    let number = |key: &str| -> u64 {
        let text = String::from_utf8(value(&stores, &owner, key).unwrap()).unwrap();
        let (n, _) = text.split_once(':').unwrap();
        assert_eq!(text, format!("{n}:").repeat(2000));
        n.parse().unwrap()
    };
    let last = number("last");
    assert!(keys.iter().all(|key| number(key) <= last + 1));
    let sound: String =
        rusqlite::Connection::open(path(folder)).unwrap().query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
    last
}

#[test]
fn a_process_that_is_killed_while_it_writes_damages_nothing_and_loses_nothing_it_was_told_is_there() {
    use std::io::{BufRead, BufReader};
    let folder = tempfile::tempdir().unwrap();
    let mut before = 0;
    for round in 1..=5 {
        let mut child = writer(folder.path()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut wrote = None;
        // At another place in each round.
        for line in lines.by_ref().take(20 + 7 * round) {
            wrote = line.unwrap().strip_prefix("wrote ").map_or(wrote, |n| n.parse::<u64>().ok());
        }
        child.kill().unwrap();
        child.wait().unwrap();
        before = wrote.unwrap();
        assert!(check_all(folder.path()) >= before, "round {round}");
    }
    assert!(before > 0);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_fails_the_call_and_damages_nothing() {
    // A limit on the size of files is what a test without root can have of a full disk; with root there is a disk of one MiB as well.
    let folder = tempfile::tempdir().unwrap();
    let mut limited = Command::new("sh");
    // In blocks of 512 or 1024 bytes: some MiB either way. A write beyond it is an error, where the signal is ignored.
    limited.args(["-c", "trap '' XFSZ; ulimit -f 2000; exec \"$0\" \"$@\""]);
    let inner = writer(folder.path());
    limited.arg(inner.get_program()).args(inner.get_args()).env("WHARF_TEST_STORE", folder.path());
    let output = limited.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains("failed at "), "{said}");
    check_all(folder.path());

    let disk = tempfile::tempdir().unwrap();
    let mounted =
        Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m", "wharf-test"]).arg(disk.path()).stderr(Stdio::null()).status();
    if !mounted.is_ok_and(|status| status.success()) {
        return;
    }
    let output = writer(&disk.path().join("state")).output().unwrap();
    let sound = std::panic::catch_unwind(|| check_all(&disk.path().join("state")));
    Command::new("umount").arg(disk.path()).status().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains("the disk is full"), "{said}");
    sound.unwrap();
}
