//! Repositories that lie. Each costs an error that names what is wrong.

use std::{fs, io::Write, path::PathBuf};

use flate2::{Compression, write::ZlibEncoder};
use sha1::{Digest, Sha1};

use super::fixture::Fixture;
use crate::{Error, MAX_OBJECT_BYTES, ObjectId, Repository};

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Puts these bytes where the object of this id is looked for.
fn put(fixture: &Fixture, id: &ObjectId, file: &[u8]) {
    let hex = id.to_string();
    let folder = fixture.path.join(".git/objects").join(&hex[..2]);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(&hex[2..]), file).unwrap();
}

fn loose(fixture: &Fixture, kind: &str, content: &[u8]) -> ObjectId {
    let id = ObjectId::of(kind, content);
    put(fixture, &id, &zlib(&[format!("{kind} {}\0", content.len()).as_bytes(), content].concat()));
    id
}

fn damage(error: Error, why: &str) {
    assert!(matches!(&error, Error::Damaged { .. }) && error.to_string().contains(why), "{error}");
}

#[test]
fn a_circle_of_symbolic_references_ends() {
    let fixture = Fixture::new();
    fixture.commit("c");
    fs::write(fixture.path.join(".git/refs/heads/a"), "ref: refs/heads/b\n").unwrap();
    fs::write(fixture.path.join(".git/refs/heads/b"), "ref: refs/heads/a\n").unwrap();
    let repository = fixture.open();
    damage(repository.revision("a").unwrap_err(), "circle");
    assert_eq!(repository.references("refs/heads/").unwrap().len(), 1, "the others are listed all the same");
}

#[test]
fn a_reference_leads_to_no_other_file() {
    let fixture = Fixture::new();
    fixture.commit("c");
    fs::write(fixture.root.path().join("secret"), "0123456789012345678901234567890123456789\n").unwrap();
    fs::write(fixture.path.join(".git/refs/heads/a"), "ref: refs/../../../secret\n").unwrap();
    damage(fixture.open().revision("a").unwrap_err(), "no reference's name");
    fs::write(fixture.path.join(".git/refs/heads/b"), "x".repeat(1 << 20)).unwrap();
    assert!(matches!(fixture.open().revision("b"), Err(Error::TooLarge { .. })));
    fs::write(fixture.path.join(".git/refs/heads/c"), "not an id\n").unwrap();
    damage(fixture.open().revision("c").unwrap_err(), "no id");
}

#[test]
fn an_object_that_claims_four_gigabytes_is_refused_before_it_is_inflated() {
    let fixture = Fixture::new();
    let id = ObjectId::of("blob", b"never");
    put(&fixture, &id, &zlib(b"blob 4294967296\0and so on"));
    let error = fixture.open().object(&id).unwrap_err();
    assert!(matches!(error, Error::TooLarge { bytes: 4_294_967_296, limit: MAX_OBJECT_BYTES, .. }), "{error}");
    assert_eq!(fixture.open().size(&id).unwrap(), Some(1 << 32), "it can be told how large it says it is");
}

#[test]
fn a_bomb_goes_off_at_the_size_it_claims() {
    let fixture = Fixture::new();
    let id = ObjectId::of("blob", b"bomb");
    put(&fixture, &id, &zlib(&[&b"blob 100\0"[..], &vec![0; 100 << 20]].concat()));
    damage(fixture.open().object(&id).unwrap_err(), "longer than it says");
    put(&fixture, &id, &zlib(b"blob 100\0short"));
    damage(fixture.open().object(&id).unwrap_err(), "shorter than it says");
}

#[test]
fn an_object_under_another_ones_name_is_not_taken_for_it() {
    let fixture = Fixture::new();
    let id = ObjectId::of("blob", b"the good one");
    put(&fixture, &id, &zlib(b"blob 7\0the bad"));
    damage(fixture.open().object(&id).unwrap_err(), "another one's");
    for (file, why) in
        [(&b"junk"[..], "inflated"), (&zlib(b"blob"), "header"), (&zlib(b"blub 1\0x"), "kind"), (&zlib(b"blob x\0x"), "size")]
    {
        put(&fixture, &id, file);
        damage(fixture.open().object(&id).unwrap_err(), why);
    }
}

#[test]
fn a_tree_with_names_that_lead_elsewhere_is_refused() {
    let fixture = Fixture::new();
    let blob = loose(&fixture, "blob", b"x");
    for name in ["..", ".", "a/b", ".git", ".GIT", ""] {
        let tree = loose(&fixture, "tree", &[format!("100644 {name}\0").as_bytes(), blob.bytes()].concat());
        damage(fixture.open().tree(&tree).unwrap_err(), &format!("an entry named {name:?}"));
    }
    for (content, why) in
        [(&b"100644 a\0short"[..], "cut off"), (b"1006449 a\0", "mode"), (b"100644 a", "does not end"), (b"100644", "without a mode")]
    {
        let tree = loose(&fixture, "tree", content);
        damage(fixture.open().tree(&tree).unwrap_err(), why);
    }
}

#[test]
fn folders_in_folders_end_somewhere() {
    let fixture = Fixture::new();
    let mut tree = loose(&fixture, "tree", b"");
    for _ in 0..300 {
        tree = loose(&fixture, "tree", &[&b"40000 a\0"[..], tree.bytes()].concat());
    }
    let repository = fixture.open();
    let file = loose(&fixture, "tree", &[&b"100644 b\0"[..], loose(&fixture, "blob", b"x").bytes()].concat());
    damage(repository.changes(Some(&file), Some(&tree), 100).unwrap_err(), "folders in each other");
}

#[test]
fn commits_and_tags_that_are_none_are_named() {
    let fixture = Fixture::new();
    let no_tree = loose(&fixture, "commit", b"author A <a> 1 +0000\n\nx");
    damage(fixture.open().commit(&no_tree).unwrap_err(), "no tree");
    let blob = loose(&fixture, "blob", b"x");
    damage(fixture.open().commit(&blob).unwrap_err(), "it is a blob, and is used as a commit");
    let mut tag = loose(&fixture, "tag", format!("object {blob}\n\n").as_bytes());
    for _ in 0..20 {
        tag = loose(&fixture, "tag", format!("object {tag}\n\n").as_bytes());
    }
    damage(fixture.open().peel(&tag).unwrap_err(), "too many tags");
    let odd =
        loose(&fixture, "commit", format!("tree {blob}\nauthor no address\ncommitter X <x> 99999999999999999999 +99999\n\n").as_bytes());
    assert_eq!(fixture.open().commit(&odd).unwrap().committer.when(), "1970-01-01T00:00:00+00:00");
}

#[test]
fn what_is_long_is_cut_where_there_may_be_many() {
    let fixture = Fixture::new();
    let tree = loose(&fixture, "tree", b"");
    let (name, message) = ("n".repeat(1 << 20), "ü".repeat(1 << 20));
    let id =
        loose(&fixture, "commit", format!("tree {tree}\nauthor {name} <{name}> 1 +0000\ncommitter x <x> 1 +0000\n\n{message}").as_bytes());
    let repository = fixture.open();
    let commit = repository.commit(&id).unwrap();
    assert_eq!((commit.author.name.len(), commit.author.email.len(), commit.subject().len()), (256, 256, 512));
    assert_eq!(commit.message.len(), 2 << 20, "one alone is whole");
    assert_eq!(repository.log(&id, None, 10).unwrap().commits[0].1.message.len(), 4 << 10);
}

#[test]
fn a_path_that_no_file_system_has_is_refused() {
    let fixture = Fixture::new();
    let blob = loose(&fixture, "blob", b"x");
    let long = loose(&fixture, "tree", &[format!("100644 {}\0", "n".repeat(5000)).as_bytes(), blob.bytes()].concat());
    damage(fixture.open().tree(&long).unwrap_err(), "longer than any path");
    let mut tree = loose(&fixture, "tree", &[&b"100644 f\0"[..], blob.bytes()].concat());
    for _ in 0..50 {
        tree = loose(&fixture, "tree", &[format!("40000 {}\0", "n".repeat(100)).as_bytes(), tree.bytes()].concat());
    }
    damage(fixture.open().changes(None, Some(&tree), 10).unwrap_err(), "a path that is longer");
    let commit = loose(&fixture, "commit", format!("tree {tree}\n\nx").as_bytes());
    fs::write(fixture.path.join(".git/refs/heads/main"), format!("{commit}\n")).unwrap();
    damage(fixture.open().status().unwrap_err(), "a path that is longer");
}

/// A pack of these entries, each with its header and zlib stream, and an index that says it holds these ids.
fn pack(fixture: &Fixture, entries: &[(ObjectId, Vec<u8>)]) -> Vec<u64> {
    let mut data = b"PACK\0\0\0\x02".to_vec();
    data.extend((entries.len() as u32).to_be_bytes());
    let mut places = Vec::new();
    for (_, entry) in entries {
        places.push(data.len() as u64);
        data.extend(entry);
    }
    data.extend(Sha1::digest(&data));
    let mut sorted: Vec<_> = entries.iter().map(|(id, _)| *id).zip(places.iter().copied()).collect();
    sorted.sort();
    let mut index = b"\xfftOc\0\0\0\x02".to_vec();
    for first in 0..=255 {
        index.extend((sorted.iter().filter(|(id, _)| id.bytes()[0] <= first).count() as u32).to_be_bytes());
    }
    sorted.iter().for_each(|(id, _)| index.extend(id.bytes()));
    index.extend(vec![0; 4 * sorted.len()]);
    sorted.iter().for_each(|(_, place)| index.extend((*place as u32).to_be_bytes()));
    index.extend([0; 40]);
    let folder = fixture.path.join(".git/objects/pack");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("pack-1.pack"), data).unwrap();
    fs::write(folder.join("pack-1.idx"), index).unwrap();
    places
}

/// The head of an entry.
fn head(kind: u8, mut size: u64) -> Vec<u8> {
    let mut head = vec![kind << 4 | (size & 15) as u8];
    size >>= 4;
    while size > 0 {
        *head.last_mut().unwrap() |= 0x80;
        head.push((size & 0x7f) as u8);
        size >>= 7;
    }
    head
}

fn id(n: u32) -> ObjectId {
    ObjectId::of("blob", &n.to_be_bytes())
}

#[test]
fn a_chain_of_ten_thousand_deltas_is_refused() {
    let fixture = Fixture::new();
    // Base of one byte, result of one byte: copy it.
    let delta = zlib(&[1, 1, 0x91, 0, 1]);
    let mut entries = vec![(id(0), [head(3, 1), zlib(b"x")].concat())];
    for n in 1..10_000 {
        entries.push((id(n), [head(7, 5), id(n - 1).bytes().to_vec(), delta.clone()].concat()));
    }
    pack(&fixture, &entries);
    damage(fixture.open().object(&id(9_999)).unwrap_err(), "4095 deltas");
}

#[test]
fn deltas_of_each_other_end() {
    let fixture = Fixture::new();
    let delta = zlib(&[1, 1, 0x91, 0, 1]);
    let of = |n| [head(7, 5), id(n).bytes().to_vec(), delta.clone()].concat();
    pack(&fixture, &[(id(0), of(1)), (id(1), of(0)), (id(2), of(77))]);
    damage(fixture.open().object(&id(0)).unwrap_err(), "4095 deltas");
    damage(fixture.open().object(&id(2)).unwrap_err(), "which is not in the pack");
}

#[test]
fn entries_of_a_pack_that_cannot_be_are_named() {
    let fixture = Fixture::new();
    pack(
        &fixture,
        &[
            (id(0), [head(3, 1 << 32), zlib(b"x")].concat()),
            (id(1), [head(6, 5), vec![0x7f], zlib(&[1, 1])].concat()),
            (id(2), head(5, 1)),
            (id(3), vec![0xff; 30]),
            (id(4), [head(6, 5), vec![0xff; 20]].concat()),
            (id(5), [head(3, 10), vec![0; 50]].concat()),
            (id(6), [head(6, 5), vec![0]].concat()),
        ],
    );
    let repository = fixture.open();
    assert!(matches!(repository.object(&id(0)), Err(Error::TooLarge { bytes: 4_294_967_296, .. })));
    for (n, why) in
        [(1, "before the pack"), (2, "known kind"), (3, "no file has"), (4, "before the pack"), (5, "inflated"), (6, "before the pack")]
    {
        damage(repository.object(&id(n)).unwrap_err(), why);
    }
}

#[test]
fn a_delta_that_would_make_gigabytes_is_refused() {
    let fixture = Fixture::new();
    // 4 GiB of copies of the same 64 KiB.
    let delta: Vec<u8> = [&[0x80, 0x80, 4, 0x80, 0x80, 0x80, 0x80, 0x10][..], &[0x80].repeat(65536)].concat();
    pack(
        &fixture,
        &[
            (id(0), [head(3, 65536), zlib(&[b'x'; 65536])].concat()),
            (id(1), [head(7, delta.len() as u64), id(0).bytes().to_vec(), zlib(&delta)].concat()),
        ],
    );
    assert!(matches!(fixture.open().object(&id(1)), Err(Error::TooLarge { bytes: 4_294_967_296, .. })));
}

#[test]
fn an_index_of_a_pack_that_lies_is_named() {
    let fixture = Fixture::new();
    pack(&fixture, &[(id(0), [head(3, 1), zlib(b"x")].concat())]);
    let path: PathBuf = fixture.path.join(".git/objects/pack/pack-1.idx");
    let good = fs::read(&path).unwrap();
    let open = || Repository::open(&fixture.path).unwrap().begin(super::fixture::TIME).unwrap_err();
    let mut lies = good.clone();
    lies[8 + 4 * 255] = 0xff;
    fs::write(&path, &lies).unwrap();
    damage(open(), "too short for what it says");
    let mut lies = good.clone();
    lies[8] = 0xff;
    fs::write(&path, &lies).unwrap();
    damage(open(), "do not rise");
    fs::write(&path, &good[..50]).unwrap();
    damage(open(), "too short");
    fs::write(&path, vec![0; 2000]).unwrap();
    assert!(matches!(open(), Error::Unsupported(_)));
}

#[test]
fn an_index_of_files_that_lies_is_named() {
    let fixture = Fixture::new();
    fixture.write("file-a", "1");
    fixture.write("file-b", "1");
    fixture.commit("c");
    let path = fixture.path.join(".git/index");
    let good = fs::read(&path).unwrap();
    let error = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good[..good.len() - 20].to_vec();
        change(&mut bytes);
        bytes.extend([0; 20]);
        fs::write(&path, bytes).unwrap();
        fixture.open().status().unwrap_err()
    };
    let at = |name: &[u8]| good.windows(name.len()).position(|window| window == name).unwrap();
    let (first, second) = (at(b"file-a\0"), at(b"file-b\0"));
    damage(error(&|bytes| bytes[first..first + 6].copy_from_slice(b"../a/b")), "leads elsewhere");
    damage(error(&|bytes| bytes[first..first + 6].copy_from_slice(b"x/.git")), "leads elsewhere");
    damage(error(&|bytes| bytes[second..second + 6].copy_from_slice(b"file-a")), "not in order");
    damage(error(&|bytes| bytes[8..12].copy_from_slice(&[0xff; 4])), "too short for what");
    damage(error(&|bytes| bytes.truncate(100)), "cut off");
    damage(error(&|bytes| bytes[12 + 24..12 + 28].copy_from_slice(&[0; 4])), "mode");
    damage(error(&|bytes| bytes[0] = b'X'), "no index");
    assert!(matches!(error(&|bytes| bytes[7] = 9), Error::Unsupported(_)));
    let mut wrong = good.clone();
    wrong[first] = b'F';
    fs::write(&path, wrong).unwrap();
    damage(fixture.open().status().unwrap_err(), "checksum");
}

#[test]
fn garbage_in_any_file_never_panics() {
    let fixture = Fixture::new();
    for n in 0..20 {
        fixture.write("a", format!("{}{n}", "line\n".repeat(300)));
        fixture.commit("c");
    }
    fixture.git(&["tag", "-a", "-m", "t", "v1"]);
    fixture.git(&["gc", "-q"]);
    fixture.write("b", "untracked");
    let mut files = Vec::new();
    collect(&fixture.path.join(".git"), &mut files);
    files.retain(|path| !path.components().any(|part| matches!(part.as_os_str().to_str(), Some("hooks" | "logs" | "info"))));
    let mut random = super::fixture::Random(42);
    for path in files {
        let good = fs::read(&path).unwrap();
        let permissions = fs::metadata(&path).unwrap().permissions();
        let mut writable = permissions.clone();
        std::os::unix::fs::PermissionsExt::set_mode(&mut writable, 0o644);
        fs::set_permissions(&path, writable).unwrap();
        for _ in 0..30 {
            let mut bad = good.clone();
            for _ in 0..=random.below(4) {
                if bad.is_empty() {
                    break;
                }
                let at = random.below(bad.len());
                match random.below(3) {
                    0 => bad.truncate(at),
                    1 => bad[at] ^= 1 << random.below(8),
                    _ => bad[at] = *[0, 0xff, b'/', b'\n'].get(random.below(4)).unwrap(),
                }
            }
            fs::write(&path, bad).unwrap();
            // Whatever comes of it, it comes back.
            if let Ok(repository) = Repository::open(&fixture.path)
                && repository.begin(super::fixture::TIME).is_ok()
            {
                let _ = repository.status();
                let _ = repository.references("refs/");
                let _ = repository.revision("v1").and_then(|id| repository.size(&id));
                let _ = repository.revision("abcd");
                if let Ok(id) = repository.revision_commit("main") {
                    let _ = repository.log(&id, Some(b"a"), 50);
                }
            }
        }
        fs::write(&path, good).unwrap();
    }
    assert_eq!(fixture.open().log(&fixture.id("HEAD"), None, 50).unwrap().commits.len(), 20, "it is whole again");
}

fn collect(folder: &std::path::Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { collect(&path, files) } else { files.push(path) }
    }
}
