//! What fuzzing found, and what it began with: each input is read once more.

use std::{fs, path::Path};

use wharf_fuzz::TARGETS;

#[test]
fn every_input_of_the_corpus_keeps_its_promise() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for target in &TARGETS {
        let folder = corpus.join(target.name);
        let mut inputs = 0;
        for entry in fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.expect("an entry").path();
            eprintln!("{}", path.display());
            (target.run)(&fs::read(&path).expect("a file"));
            inputs += 1;
        }
        assert!(inputs > 0, "{} has no inputs", target.name);
    }
}
