//! What is refused, and in which words.

use std::sync::Arc;

use bytes::Bytes;
use wharf::provider::{
    Announcer,
    wasm::{Limits, LoadError, MAX_FILE_BYTES, Spec},
};

use super::support::{SHORT, SOURCE, compiled, guest, runtime};

async fn refusal(bytes: impl Into<Bytes>) -> LoadError {
    runtime().compile("test", bytes.into()).await.unwrap_err()
}

#[tokio::test]
async fn a_core_module_is_refused_with_the_way_to_make_a_component_of_it() {
    let error = refusal(&b"\0asm\x01\0\0\0"[..]).await;
    assert_eq!(error, LoadError::CoreModule);
    assert!(error.to_string().contains("wharf componentize CORE.wasm -o COMPONENT.wasm"), "{error}");
}

#[tokio::test]
async fn an_empty_component_is_refused() {
    assert_eq!(refusal(&b"\0asm\x0d\0\x01\0"[..]).await, LoadError::Empty);
}

#[tokio::test]
async fn precompiled_code_is_refused() {
    let code = wasmtime::Engine::default().precompile_component(&shaped("nop", "", "")).unwrap();
    assert_eq!(refusal(code).await, LoadError::Precompiled);
}

#[tokio::test]
async fn a_file_cut_off_anywhere_is_refused_without_a_panic() {
    let whole = guest("basic");
    for length in [0, 3, 4, 7, 9, 100, 1000, whole.len() / 2, whole.len() - 1] {
        let error = refusal(whole.slice(..length)).await;
        assert!(matches!(error, LoadError::NotWasm(_) | LoadError::Invalid(_)), "{length} bytes: {error:?}");
    }
}

#[tokio::test]
async fn a_file_over_64_mib_is_refused() {
    assert_eq!(refusal(vec![0; MAX_FILE_BYTES + 1]).await, LoadError::TooLarge(MAX_FILE_BYTES + 1));
}

#[tokio::test]
async fn a_component_that_is_no_provider_is_refused_with_what_it_exports() {
    let error = refusal(renamed("wharf:provider/resources@0.1.0", "wharf:provider/recources@0.1.0")).await;
    assert!(matches!(error, LoadError::NoResources(_)), "{error:?}");
    assert!(error.to_string().contains("wharf:provider/recources@0.1.0"), "{error}");
}

#[tokio::test]
async fn a_component_of_another_version_of_the_contract_is_refused() {
    let error = refusal(renamed("wharf:provider/resources@0.1.0", "wharf:provider/resources@0.2.0")).await;
    assert!(matches!(error, LoadError::NeedsNewer(_)), "{error:?}");
    let said = error.to_string();
    assert!(
        ["wharf:provider/resources@0.2.0", "wharf:provider@0.1.0", "newer Wharf", "wharf wit"].iter().all(|part| said.contains(part)),
        "{said}"
    );
}

#[tokio::test]
async fn a_component_of_another_world_is_refused_with_the_export_that_it_lacks_and_what_it_seems_to_be() {
    for (export, world) in [("wasi:cli/run@0.2.6", "wasi:cli/command"), ("wasi:http/incoming-handler@0.2.6", "wasi:http/proxy")] {
        let other = wat::parse_str(format!(
            r#"(component
                (core module $module (func (export "f")))
                (core instance $core (instantiate $module))
                (func $f (canon lift (core func $core "f")))
                (instance $other (export "f" (func $f)))
                (export "{export}" (instance $other)))"#
        ));
        let error = refusal(other.unwrap()).await;
        let said = error.to_string();
        assert!(matches!(error, LoadError::NoResources(_)), "{error:?}");
        assert!(["wharf:provider/resources@0.1.0", export, world].iter().all(|part| said.contains(part)), "{said}");
    }
}

#[tokio::test]
async fn an_import_that_is_not_served_is_named() {
    let error = refusal(renamed("wharf:provider/settings@0.1.0", "wharf:provider/sittings@0.1.0")).await;
    assert_eq!(error, LoadError::NotInContract("wharf:provider/sittings@0.1.0".into()));
    let error = refusal(renamed("wharf:provider/settings@0.1.0", "wharf:provider/sittings@0.1.4")).await;
    assert_eq!(error, LoadError::NeedsNewer("wharf:provider/sittings@0.1.4".into()));
    let error = refusal(renamed("wasi:cli/stderr@", "acme:cli/stderr@")).await;
    assert!(matches!(&error, LoadError::Import(reason) if reason.contains("acme:cli/stderr@")), "{error:?}");
}

#[tokio::test]
async fn a_function_that_only_a_later_version_has_is_named_with_the_version() {
    let import = r#"(import "wharf:provider/settings@0.1.7" (instance (export "forget" (func))))"#;
    let error = refusal(shaped("nop", "", import)).await;
    let said = error.to_string();
    assert!(matches!(error, LoadError::NeedsNewer(_)), "{error:?}");
    assert!(["wharf:provider/settings@0.1.7", "forget", "wharf:provider@0.1.0"].iter().all(|part| said.contains(part)), "{said}");
}

/// A component with exports of the right names and the type of `func()`, around a core module that starts with this, and with more in it.
fn shaped(start: &str, in_module: &str, in_component: &str) -> Vec<u8> {
    wat::parse_str(format!(
        r#"(component
            (core module $module (func $start {start}) (start $start) (func (export "f")) {in_module})
            (core instance $core (instantiate $module))
            {in_component}
            (func $f (canon lift (core func $core "f")))
            (instance $resources (export "list" (func $f)) (export "templates" (func $f)) (export "read" (func $f)))
            (export "wharf:provider/resources@0.1.0" (instance $resources)))"#
    ))
    .unwrap()
}

async fn start_error(bytes: Vec<u8>, limits: Limits) -> LoadError {
    let spec = Spec { limits, ..Spec::new("test") };
    let compiled = runtime().compile("test", bytes.into()).await.unwrap();
    compiled.start(spec, Announcer::new(SOURCE, Arc::default())).await.err().unwrap()
}

#[tokio::test]
async fn an_export_of_the_right_name_and_the_wrong_type_is_refused_by_name() {
    let error = start_error(shaped("nop", "", ""), Limits::default()).await;
    assert!(matches!(error, LoadError::WrongType { interface: "resources", .. }), "{error:?}");
    assert!(error.to_string().contains("wharf:provider/resources"), "{error}");
}

#[tokio::test]
async fn a_component_that_traps_or_loops_at_its_start_is_refused() {
    let error = start_error(shaped("unreachable", "", ""), Limits::default()).await;
    assert!(matches!(&error, LoadError::Start(how) if how.contains("unreachable")), "{error:?}");
    let error = start_error(shaped("loop br 0 end", "", ""), Limits { deadline: SHORT, ..Limits::default() }).await;
    assert!(matches!(&error, LoadError::Start(how) if how.contains("200ms")), "{error:?}");
}

#[tokio::test]
async fn a_component_that_wants_more_memory_than_it_may_have_is_refused_with_the_setting() {
    let mut spec = Spec::new("basic");
    spec.limits.memory = 1 << 20;
    let error = compiled("basic").await.start(spec, Announcer::new(SOURCE, Arc::default())).await.err().unwrap();
    assert!(matches!(&error, LoadError::Start(how) if how.contains("[provider.limits] memory")), "{error:?}");
}

/// The basic fixture, with a name in it replaced by another of the same length.
fn renamed(old: &str, new: &str) -> Vec<u8> {
    assert_eq!(old.len(), new.len());
    let mut bytes = guest("basic").to_vec();
    let mut found = 0;
    for at in 0..=bytes.len() - old.len() {
        if &bytes[at..at + old.len()] == old.as_bytes() {
            bytes[at..at + old.len()].copy_from_slice(new.as_bytes());
            found += 1;
        }
    }
    assert!(found > 0, "{old} is not in it");
    bytes
}

#[tokio::test]
async fn core_instances_tables_and_memories_are_limited() {
    let instance = "(core instance (instantiate $module))";
    for (in_module, in_component, fits) in [
        (String::new(), instance.repeat(255), true),
        (String::new(), instance.repeat(256), false),
        ("(memory 1)".repeat(32), String::new(), true),
        ("(memory 1)".repeat(33), String::new(), false),
        ("(table 1 funcref)".repeat(64), instance.repeat(3), true),
        ("(table 1 funcref)".repeat(64), instance.repeat(4), false),
        ("(table 200000 funcref)".into(), String::new(), true),
        ("(table 100001 funcref)(table 100000 funcref)".into(), String::new(), false),
    ] {
        let error = start_error(shaped("nop", &in_module, &in_component), Limits::default()).await;
        // What fits is refused for its types only.
        assert_eq!(matches!(error, LoadError::WrongType { .. }), fits, "{error:?}");
        assert_eq!(matches!(error, LoadError::Start(_)), !fits, "{error:?}");
    }
}
