use std::fs;

use rcgen::{CertificateParams, KeyPair};
use tempfile::TempDir;

use super::*;

/// A certificate for this name and its key, in files.
fn put(folder: &TempDir, name: &str) -> TlsFiles {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec![name.to_owned()]).unwrap().self_signed(&key).unwrap();
    let files = TlsFiles { certificate: folder.path().join("cert.pem"), key: folder.path().join("key.pem") };
    fs::write(&files.certificate, certificate.pem()).unwrap();
    fs::write(&files.key, key.serialize_pem()).unwrap();
    files
}

fn refused(files: &TlsFiles) -> String {
    Tls::read(files).map(drop).unwrap_err().to_string()
}

#[test]
fn what_is_no_pair_is_refused_with_the_file_and_what_is_wrong_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let good = put(&folder, "a.example");
    Tls::read(&good).unwrap();
    let written = |number: usize, text: &str| {
        let path = folder.path().join(format!("other-{number}.pem"));
        fs::write(&path, text).unwrap();
        path
    };
    let with_key = |number, text: &str| TlsFiles { key: written(number, text), ..good.clone() };
    let with_certificate = |number, text: &str| TlsFiles { certificate: written(number, text), ..good.clone() };
    let key_of_another = KeyPair::generate().unwrap().serialize_pem();
    let garbage = |what: &str| format!("-----BEGIN {what}-----\nAAAA\n-----END {what}-----\n");
    for (files, word) in [
        (with_key(1, &key_of_another), "not the key of the certificate"),
        (with_key(2, ""), "no private key in it"),
        (with_key(3, &garbage("PRIVATE KEY")), "other-"),
        (with_key(4, &garbage("ENCRYPTED PRIVATE KEY")), "openssl pkey"),
        (with_key(5, &fs::read_to_string(&good.certificate).unwrap()), "no private key in it"),
        (with_key(6, &" ".repeat(usize::try_from(FILE_BYTES).unwrap() + 1)), "more than"),
        (TlsFiles { key: folder.path().join("none.pem"), ..good.clone() }, "none.pem"),
    ] {
        let error = refused(&files);
        assert!(error.contains(word) && error.contains("[server] tls"), "{word}: {error}");
        assert!(!error.contains("AAAA"), "{error}");
    }
    for (files, word) in [
        (with_certificate(7, ""), "no certificate in it"),
        (with_certificate(8, &garbage("CERTIFICATE")), "cannot be read"),
        (with_certificate(9, "-----BEGIN CERTIFICATE-----\nAA"), "other-"),
        (TlsFiles { certificate: folder.path().to_owned(), ..good.clone() }, "not a file"),
    ] {
        let error = refused(&files);
        assert!(error.contains(word), "{word}: {error}");
    }
}

#[test]
fn a_pair_is_replaced_by_one_that_can_be_used_and_by_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let files = put(&folder, "a.example");
    let tls = Tls::read(&files).unwrap();
    assert!(tls.is_for("a.example") && !tls.is_for("b.example") && !tls.is_for("127.0.0.1") && !tls.is_for("not a name"));
    assert_eq!(tls.read_again(), Ok(false), "the same as before");
    let key = fs::read(&files.key).unwrap();
    put(&folder, "b.example");
    let new_key = fs::read(&files.key).unwrap();
    fs::write(&files.key, key).unwrap();
    assert!(tls.read_again().unwrap_err().to_string().contains("not the key"), "half of it is replaced");
    assert!(tls.is_for("a.example"));
    fs::write(&files.key, new_key).unwrap();
    assert_eq!(tls.read_again(), Ok(true));
    assert!(tls.is_for("b.example") && !tls.is_for("a.example"));
}

#[cfg(unix)]
#[test]
fn a_key_that_every_user_may_read_is_noticed() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let files = put(&folder, "a.example");
    let tls = Tls::read(&files).unwrap();
    for (mode, exposed) in [(0o600, false), (0o640, false), (0o644, true), (0o604, true)] {
        fs::set_permissions(&files.key, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(tls.is_exposed(), exposed, "{mode:o}");
    }
}
