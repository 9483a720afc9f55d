use std::{
    fs,
    time::{Duration, SystemTime},
};

use tempfile::TempDir;

use super::*;

fn entry(name: &str, token: &str) -> Entry {
    Entry { name: name.into(), sha256: hash(token), providers: None, created: SystemTime::now(), expires: None }
}

/// A file with a token of each of these names.
fn with(names: &[&str]) -> (TempDir, TokenFile, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let file = TokenFile::at(folder.path().join("tokens.toml"));
    let made = names.iter().map(|name| {
        let token = generate().unwrap();
        file.add(entry(name, &token)).unwrap();
        token
    });
    let made = made.collect();
    (folder, file, made)
}

#[test]
fn a_token_is_found_by_its_hash_and_the_file_does_not_have_it() {
    let (_folder, file, made) = with(&["laptop", "ci"]);
    let text = fs::read_to_string(file.path()).unwrap();
    assert!(made.iter().all(|token| !text.contains(&token[PREFIX.len()..]) && token.len() == TOKEN_LENGTH), "{text}");
    let tokens = Tokens::read(file.path().into()).unwrap();
    assert_eq!(tokens.identify(&made[0]).unwrap(), Caller::named("laptop", View::Everything));
    for wrong in ["", PREFIX, &made[0][1..], &format!("{}a", made[0]), &generate().unwrap(), &made[0].to_uppercase()] {
        assert_eq!(tokens.identify(wrong), Err(UNKNOWN), "{wrong}");
    }
}

#[test]
fn a_token_sees_the_providers_it_names_and_no_others() {
    let (_folder, file, _) = with(&[]);
    let token = generate().unwrap();
    file.add(Entry { providers: Some(vec!["git".into()]), ..entry("ci", &token) }).unwrap();
    let tokens = Tokens::read(file.path().into()).unwrap();
    let caller = tokens.identify(&token).unwrap();
    assert!(caller.view().shows("git") && !caller.view().shows("docs"));
    assert!(tokens.is_valid("ci", &caller));
    assert!(!tokens.is_valid("ci", &Caller::named("ci", View::Everything)), "whoever sees something else is somebody else");
}

#[test]
fn a_token_that_has_expired_lets_nobody_in() {
    let (_folder, file, _) = with(&[]);
    let [old, new] = [(); 2].map(|()| generate().unwrap());
    let now = SystemTime::now();
    file.add(Entry { expires: Some(now - Duration::from_secs(2)), ..entry("old", &old) }).unwrap();
    file.add(Entry { expires: Some(now + Duration::from_secs(3600)), ..entry("new", &new) }).unwrap();
    let tokens = Tokens::read(file.path().into()).unwrap();
    assert_eq!(tokens.identify(&old), Err(EXPIRED));
    assert!(!tokens.is_valid("old", &Caller::named("old", View::Everything)));
    assert!(tokens.identify(&new).is_ok());
}

#[test]
fn who_is_revoked_is_named_and_one_of_the_same_name_is_another() {
    let (_folder, file, made) = with(&["laptop", "ci"]);
    let tokens = Tokens::read(file.path().into()).unwrap();
    assert_eq!(tokens.read_again().unwrap(), None, "all is as it was");
    assert!(file.remove("laptop").unwrap() && !file.remove("laptop").unwrap());
    let fresh = generate().unwrap();
    file.add(entry("laptop", &fresh)).unwrap();
    assert_eq!(tokens.read_again().unwrap().unwrap(), [Caller::named("laptop", View::Everything)]);
    assert_eq!(tokens.identify(&made[0]), Err(UNKNOWN));
    assert!(tokens.identify(&fresh).is_ok() && tokens.identify(&made[1]).is_ok());
}

#[test]
fn a_broken_file_leaves_the_last_good_one_and_one_that_is_gone_lets_nobody_in() {
    let (_folder, file, made) = with(&["laptop"]);
    let tokens = Tokens::read(file.path().into()).unwrap();
    let good = fs::read_to_string(file.path()).unwrap();
    let twice = format!("{good}\n{}", good.split_once("[[token]]").map(|(_, rest)| format!("[[token]]{rest}")).unwrap());
    for (broken, says) in [
        ("[[token]", "line 1"),
        ("[[token]]\nname = \"a\"", "sha256"),
        ("[[token]]\nname = \"a b\"\nsha256 = \"00\"", "64 hexadecimal digits"),
        ("[[tokens]]", "unknown field"),
        (&twice, "two tokens named \"laptop\""),
    ] {
        fs::write(file.path(), broken).unwrap();
        let error = tokens.read_again().unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
        assert!(tokens.identify(&made[0]).is_ok());
    }
    fs::write(file.path(), vec![b'#'; (1 << 20) + 1]).unwrap();
    assert!(tokens.read_again().unwrap_err().to_string().contains("more than"));
    fs::remove_file(file.path()).unwrap();
    assert_eq!(tokens.read_again().unwrap().unwrap().len(), 1);
    assert_eq!(tokens.identify(&made[0]), Err(UNKNOWN));
}

#[test]
fn tokens_that_are_made_at_the_same_time_are_all_there() {
    let (_folder, file, _) = with(&[]);
    std::thread::scope(|scope| {
        for number in 0..16 {
            let file = &file;
            scope.spawn(move || file.add(entry(&format!("t{number}"), &generate().unwrap())).unwrap());
        }
    });
    assert_eq!(file.read().unwrap().unwrap().len(), 16);
    let taken = file.add(entry("t1", "other")).unwrap_err();
    assert!(matches!(taken, TokensError::Taken(name) if name == "t1"));
}

#[cfg(unix)]
#[test]
fn a_file_that_others_may_read_or_change_is_refused_with_the_command_that_helps() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let (folder, file, _) = with(&["laptop"]);
    let mode = |mode| fs::set_permissions(file.path(), fs::Permissions::from_mode(mode)).unwrap();
    assert_eq!(fs::metadata(file.path()).unwrap().permissions().mode() & 0o777, 0o600, "as it is written");
    let link = folder.path().join("link.toml");
    symlink(file.path(), &link).unwrap();
    let linked = TokenFile::at(&link);
    for exposed in [0o604, 0o602, 0o650, 0o660, 0o620, 0o644, 0o666, 0o601] {
        mode(exposed);
        for file in [&file, &linked] {
            let error = file.read().unwrap_err().to_string();
            assert!(
                error.contains(&format!("chmod 600 {}", folder.path().canonicalize().unwrap().join("tokens.toml").display())),
                "{error}"
            );
            assert!(file.add(entry("other", "other")).is_err(), "nothing is written over it either");
        }
    }
    for private in [0o600, 0o400] {
        mode(private);
        assert!(file.read().is_ok() && linked.read().is_ok());
    }
    // What is root's, a service can read by its group only; and goes on doing so when a token was added.
    let is_root = rustix::process::geteuid().is_root();
    mode(0o640);
    assert_eq!(file.read().is_ok(), is_root);
    if is_root {
        file.add(entry("service", "service")).unwrap();
        assert_eq!(fs::metadata(file.path()).unwrap().permissions().mode() & 0o777, 0o640);
        file.remove("service").unwrap();
    }
    mode(0o600);
    linked.add(entry("ci", "other")).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink(), "a link stays one");
    assert_eq!(file.read().unwrap().unwrap().len(), 2);
}

#[test]
fn a_file_that_would_be_too_large_to_read_is_not_written() {
    let (_folder, file, _) = with(&["laptop"]);
    let many = Entry { providers: Some(vec!["a".repeat(1 << 20)]), ..entry("large", "large") };
    let error = file.add(many).unwrap_err().to_string();
    assert!(error.contains("revoke tokens"), "{error}");
    assert_eq!(file.read().unwrap().unwrap().len(), 1, "what was there stays");
}

#[cfg(unix)]
#[test]
fn a_link_to_a_file_that_is_not_there_yet_stays_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link.toml");
    fs::create_dir(folder.path().join("secret")).unwrap();
    std::os::unix::fs::symlink("secret/real.toml", &link).unwrap();
    TokenFile::at(&link).add(entry("laptop", "laptop")).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(folder.path().join("secret/real.toml").is_file());
}
