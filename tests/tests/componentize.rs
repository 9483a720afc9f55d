//! `wharf componentize` and `wharf bindings`, without a compiler: core modules are written in the text form.

use std::{fs, path::Path};

use anyhow::{Result, ensure};
use wharf_tests::{Output, root, wharf};

const WORLD: &str = "package local:hello;\n\nworld hello {\n  include wharf:provider/provider@0.1.0;\n}\n";

fn minimal() -> Result<String> {
    Ok(fs::read_to_string(root().join("tests/guests/minimal.wat"))?)
}

/// A folder with this core module.
fn folder(module: &str) -> Result<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("core.wasm"), wat::parse_str(module)?)?;
    Ok(folder)
}

/// Puts this world and the contract into `wit/`.
async fn with_world(folder: &Path, world: &str) -> Result<()> {
    wharf(folder, &["wit", "-o", "wit/deps/provider"]).await?.text()?;
    Ok(fs::write(folder.join("wit/world.wit"), world)?)
}

async fn componentize(folder: &Path, more: &[&str]) -> Result<Output> {
    wharf(folder, &[&["componentize", "core.wasm", "-o", "build/hello.wasm"], more].concat()).await
}

/// It fails, says all of that, and leaves no file.
fn refused(folder: &Path, output: &Output, says: &[&str]) -> Result<()> {
    ensure!(output.code == 1 && says.iter().all(|part| output.stderr.contains(part)), "not refused with {says:?}: {output:?}");
    ensure!(!folder.join("build").exists(), "something is written");
    Ok(())
}

#[tokio::test]
async fn what_is_made_of_a_core_module_is_a_provider() -> Result<()> {
    let folder = folder(&minimal()?)?;
    let said = componentize(folder.path(), &[]).await?.text()?;
    ensure!(said.starts_with("build/hello.wasm: ") && said.ends_with(" KiB, world wharf:provider/provider@0.1.0\n"), "{said}");
    let checked = wharf(folder.path(), &["check", "build/hello.wasm"]).await?.text()?;
    ensure!(checked.contains("lists 1 resource") && checked.ends_with("fine\n"), "{checked}");
    ensure!(wharf(folder.path(), &["read", "--plugins", "build", "x://hello"]).await?.text()? == "hello");
    ensure!(fs::read_dir(folder.path().join("build"))?.count() == 1, "nothing else is left there");
    Ok(())
}

#[tokio::test]
async fn the_world_is_the_project_s_own_where_it_has_one() -> Result<()> {
    let folder = folder(&minimal()?)?;
    with_world(folder.path(), WORLD).await?;
    let output = componentize(folder.path(), &["--json"]).await?.json()?;
    ensure!(output["world"] == "local:hello/hello" && output["component"] == "build/hello.wasm", "{output}");
    ensure!(output["bytes"] == fs::metadata(folder.path().join("build/hello.wasm"))?.len(), "{output}");
    let output = componentize(folder.path(), &["--wit", "wit", "--world", "nobody"]).await?;
    ensure!(output.code == 1 && output.stderr.contains("no world nobody") && output.stderr.contains("only hello"), "{output:?}");
    Ok(())
}

#[tokio::test]
async fn a_missing_export_is_named_with_its_interface_and_how_to_make_it() -> Result<()> {
    let folder = folder(&minimal()?.replace("resources@0.1.0#templates", "resources@0.1.0#temples"))?;
    let output = componentize(folder.path(), &[]).await?;
    let says = ["wharf:provider/resources@0.1.0: templates (as `wharf:provider/resources@0.1.0#templates`)", "In Go", "In AssemblyScript"];
    refused(folder.path(), &output, &says)?;
    let live = WORLD.replace("/provider@", "/live-provider@");
    with_world(folder.path(), &live).await?;
    refused(
        folder.path(),
        &componentize(folder.path(), &[]).await?,
        &["subscriptions@0.1.0: subscribe, unsubscribe", "timer-handler@0.1.0: fired"],
    )
}

#[tokio::test]
async fn an_import_of_nobody_s_is_named() -> Result<()> {
    for (module, name, says) in [
        ("acme:things/stuff", "f", "import acme:things/stuff;"),
        ("env", "helper", "nothing that was linked defines it"),
        ("wasi_unstable", "fd_write", "preview 0"),
        ("wasi_snapshot_preview1", "fd_wright", "no such function"),
    ] {
        let import = format!("(module (import \"{module}\" \"{name}\" (func))");
        let folder = folder(&minimal()?.replacen("(module", &import, 1))?;
        refused(folder.path(), &componentize(folder.path(), &[]).await?, &[module, name, says])?;
    }
    Ok(())
}

#[tokio::test]
async fn a_wrong_signature_is_said_with_what_to_do() -> Result<()> {
    let folder = folder(&minimal()?.replace("#list\") (param i32 i32 i32)", "#list\") (param i32 i32)"))?;
    let says = ["wharf:provider/resources@0.1.0", "`list`", "type mismatch", "wharf bindings"];
    refused(folder.path(), &componentize(folder.path(), &[]).await?, &says)
}

#[tokio::test]
async fn what_is_no_core_module_is_refused_with_what_it_is() -> Result<()> {
    let folder = folder("(component)")?;
    refused(folder.path(), &componentize(folder.path(), &[]).await?, &["core.wasm", "a component already"])?;
    fs::write(folder.path().join("core.wasm"), "int main() {}")?;
    refused(folder.path(), &componentize(folder.path(), &[]).await?, &["not a WebAssembly file"])?;
    fs::remove_file(folder.path().join("core.wasm"))?;
    refused(folder.path(), &componentize(folder.path(), &[]).await?, &["cannot read core.wasm"])
}

#[tokio::test]
async fn a_core_module_where_a_component_is_wanted_is_refused_with_the_command() -> Result<()> {
    let folder = folder(&minimal()?)?;
    let output = wharf(folder.path(), &["check", "core.wasm"]).await?;
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), output.stderr);
    ensure!(output.code == 1 && said.contains("wharf componentize"), "{output:?}");
    Ok(())
}

#[tokio::test]
async fn a_mistake_in_the_wit_is_shown_with_file_and_line() -> Result<()> {
    let folder = folder(&minimal()?)?;
    with_world(folder.path(), &WORLD.replace("include", "inklude")).await?;
    refused(folder.path(), &componentize(folder.path(), &[]).await?, &["wit/world.wit:4"])?;
    let output = wharf(folder.path(), &["bindings", "--lang", "c", "-o", "gen"]).await?;
    ensure!(output.code == 1 && output.stderr.contains("world.wit:4") && !folder.path().join("gen").exists(), "{output:?}");
    fs::write(folder.path().join("wit/world.wit"), WORLD)?;
    fs::remove_dir_all(folder.path().join("wit/deps"))?;
    refused(folder.path(), &componentize(folder.path(), &[]).await?, &["world.wit:4", "wharf wit -o wit/deps/provider"])
}

#[tokio::test]
async fn bindings_are_written_once_and_again_only_where_they_change() -> Result<()> {
    let folder = folder("(module)")?;
    with_world(folder.path(), WORLD).await?;
    let bindings = |more: &[&str]| {
        let args = [&["bindings", "-o", "gen", "--json"], more].concat().into_iter().map(String::from).collect::<Vec<_>>();
        let folder = folder.path().to_owned();
        async move { wharf(&folder, &args.iter().map(|arg| &**arg).collect::<Vec<_>>()).await?.json() }
    };
    for (language, expected) in [
        ("c", &["hello.h", "hello.c", "hello_component_type.o"][..]),
        ("cpp", &["hello_cpp.h", "hello.cpp", "wit.h"]),
        ("go", &["go.mod", "wit_exports.go", "wharf_provider_resources/wit_bindings.go", "go.bytecodealliance.org/pkg/LICENSE"]),
    ] {
        let first = bindings(&["--lang", language]).await?;
        ensure!(first["world"] == "local:hello/hello", "{first}");
        for file in expected {
            ensure!(first["files"].as_array().is_some_and(|files| files.contains(&format!("gen/{file}").into())), "no {file}: {first}");
            ensure!(folder.path().join("gen").join(file).is_file(), "{file}");
        }
        ensure!(first["changed"] != 0 && bindings(&["--lang", language]).await?["changed"] == 0, "{language}");
    }
    let manifest = folder.path().join("gen/go.mod");
    ensure!(fs::read_to_string(&manifest)?.contains("replace go.bytecodealliance.org/pkg => ./go.bytecodealliance.org/pkg\n"));
    fs::write(&manifest, "module mine\n")?;
    bindings(&["--lang", "go"]).await?;
    ensure!(fs::read_to_string(&manifest)? == "module mine\n", "the author's own stays");
    Ok(())
}

#[tokio::test]
async fn the_type_that_c_objects_carry_is_that_of_the_component() -> Result<()> {
    let folder = folder(&minimal()?)?;
    with_world(folder.path(), WORLD).await?;
    wharf(folder.path(), &["bindings", "--lang", "c", "-o", "gen"]).await?.text()?;
    // What a linker does with the object: it takes over the section.
    let object = fs::read(folder.path().join("gen/hello_component_type.o"))?;
    let section = component_type(&object).expect("it carries the type");
    let core = folder.path().join("core.wasm");
    fs::write(&core, [&*fs::read(&core)?, section].concat())?;
    fs::remove_dir_all(folder.path().join("wit"))?;
    let said = componentize(folder.path(), &[]).await?.text()?;
    ensure!(said.ends_with("world local:hello/hello\n"), "{said}");
    ensure!(wharf(folder.path(), &["read", "--plugins", "build", "x://hello"]).await?.text()? == "hello");
    Ok(())
}

/// The custom section whose name begins with `component-type`, with its header.
fn component_type(object: &[u8]) -> Option<&[u8]> {
    let mut at = 8;
    while at < object.len() {
        let (size, length) = leb128(&object[at + 1..]);
        let (body, end) = (at + 1 + length, at + 1 + length + size);
        let (_, name_at) = leb128(&object[body..]);
        if object[at] == 0 && object[body + name_at..end].starts_with(b"component-type") {
            return Some(&object[at..end]);
        }
        at = end;
    }
    None
}

/// A number and how many bytes it takes.
fn leb128(bytes: &[u8]) -> (usize, usize) {
    let length = bytes.iter().take_while(|byte| **byte >= 0x80).count() + 1;
    let number = bytes[..length].iter().rev().fold(0, |number, byte| number << 7 | usize::from(byte & 0x7f));
    (number, length)
}
