//! What a component has beside the contract: its language's runtime brings it along.

use std::sync::Arc;

use wharf::provider::{Announcer, Provider, wasm::Spec};
use wit_bindgen_core::wit_parser::Resolve;
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};

use super::support::{SOURCE, request, runtime, text};

const CONTRACT: &str = include_str!("../../wit/deps/provider/provider.wit");
/// Sockets, as Python's runtime imports them: far less of it, and of an earlier version than the host's.
const SOCKETS: &str = "package wasi:sockets@0.2.9;
    interface network { resource network; }
    interface instance-network { use network.{network}; instance-network: func() -> network; }";
const HTTP: &str = "package wasi:http@0.2.10;
    interface types { resource fields { constructor(); } }";
/// `exports` is Python's, `init` that of QuickJS.
const WORLD: &str = "package test:extras;
    world extras {
        include wharf:provider/provider@0.1.0;
        import wasi:sockets/instance-network@0.2.9;
        import wasi:http/types@0.2.10;
        export exports: interface { poke: func(); }
        export init: func(script: string);
    }";

/// The minimal fixture, in which all that is extra traps when it is called.
fn component() -> Vec<u8> {
    let minimal = include_str!("../../../tests/guests/minimal.wat");
    let extras = r#"(module
        (import "wasi:sockets/instance-network@0.2.9" "instance-network" (func $network (result i32)))
        (import "wasi:http/types@0.2.10" "[constructor]fields" (func $fields (result i32)))
        (func (export "exports#poke") unreachable)
        (func (export "init") (param i32 i32) unreachable)"#;
    // What preview 1 has is not what is looked at here.
    let module = minimal.replacen("(module", extras, 1);
    let module = module.replace(
        r#"(import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))"#,
        "(func $random (param i32 i32) (result i32) (i32.const 0))",
    );
    let mut module = wat::parse_str(module).unwrap();
    let mut resolve = Resolve::default();
    let mut root = None;
    for (path, source) in [("provider.wit", CONTRACT), ("sockets.wit", SOCKETS), ("http.wit", HTTP), ("world.wit", WORLD)] {
        root = Some(resolve.push_source(path, source).unwrap());
    }
    let world = resolve.select_world(&[root.unwrap()], None).unwrap();
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8, false).unwrap();
    ComponentEncoder::default().validate(true).module(&module).unwrap().encode().unwrap()
}

#[tokio::test]
async fn extra_exports_and_imports_are_accepted_and_never_called() {
    let compiled = runtime().compile("extras", component().into()).await.unwrap();
    assert!(["exports", "init"].iter().all(|extra| compiled.exports().iter().any(|export| export == extra)), "{:?}", compiled.exports());
    assert!(compiled.imports().iter().any(|import| import.starts_with("wasi:sockets/")), "{:?}", compiled.imports());
    let offers = compiled.offers();
    assert!(!offers.live && !offers.subscriptions && !offers.completions && !offers.webhooks);
    let provider = compiled.start(Spec::new("extras"), Announcer::new(SOURCE, Arc::default())).await.unwrap();
    let page = provider.list(None).await.unwrap();
    assert_eq!(&*page.resources[0].uri, "x://hello");
    // Had one of the extras been called, the instance would have died of it.
    assert_eq!(text(&provider.read(request("x://hello")).await.unwrap().unwrap()), "hello");
}
