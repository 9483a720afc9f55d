//! What there is to be known of a core module before a component is made of it.

use anyhow::{Context, Result, bail};
use wasmparser::{Encoding, KnownCustom, Parser, Payload, Validator, WasmFeatures};
use wit_bindgen_core::wit_parser::decoding;

use super::contract::name_of;

/// How the name of a section begins that holds the type of the component to be made (wit-component, metadata.rs).
const COMPONENT_TYPE: &str = "component-type";
/// What linkers leave in files that are still to be linked (tool conventions, Linking.md).
const LINKING: [&str; 2] = ["linking", "dylink.0"];
/// Interfaces that only providers export which live from reload to reload.
const LIVE: [&str; 2] = ["wharf:provider/subscriptions@", "wharf:provider/timer-handler@"];

/// A valid core module.
pub(super) struct CoreModule<'a> {
    pub bytes: &'a [u8],
    /// Module and name.
    pub imports: Vec<(&'a str, &'a str)>,
    pub exports: Vec<&'a str>,
    /// The world that is written in it, in full: by C objects of bindings, for instance.
    pub world: Option<String>,
    /// The languages it was written in, as its compilers call them.
    pub languages: Vec<String>,
}

impl<'a> CoreModule<'a> {
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        check_header(bytes)?;
        let mut module = Self { bytes, imports: Vec::new(), exports: Vec::new(), world: None, languages: Vec::new() };
        for payload in Parser::new(0).parse_all(bytes) {
            match payload.context("it is cut off or broken")? {
                Payload::ImportSection(section) => {
                    for import in section.into_imports() {
                        let import = import?;
                        module.imports.push((import.module, import.name));
                    }
                }
                Payload::ExportSection(section) => {
                    for export in section {
                        module.exports.push(export?.name);
                    }
                }
                Payload::CustomSection(section) if LINKING.contains(&section.name()) => {
                    bail!("it is an object file or a library, which is still to be linked: give the linker's output");
                }
                Payload::CustomSection(section) if section.name().starts_with(COMPONENT_TYPE) => {
                    let (resolve, world) = decoding::decode_world(section.data()).with_context(|| {
                        format!("its section {} is not as this version writes it: make the bindings anew", section.name())
                    })?;
                    // Libraries bring worlds of their own, which only import.
                    if module.world.is_none() || !resolve.worlds[world].exports.is_empty() {
                        module.world = Some(name_of(&resolve, world));
                    }
                }
                Payload::CustomSection(section) => {
                    if let KnownCustom::Producers(fields) = section.as_known() {
                        for field in fields.into_iter().flatten().filter(|field| field.name == "language") {
                            module.languages.extend(field.values.into_iter().flatten().map(|value| value.name.to_owned()));
                        }
                    }
                }
                _ => {}
            }
        }
        Validator::new_with_features(WasmFeatures::all()).validate_all(bytes).context("it is not a valid module")?;
        Ok(module)
    }

    /// Whether it exports what only a provider has that lives from reload to reload.
    pub fn lives(&self) -> bool {
        self.exports.iter().any(|export| LIVE.iter().any(|interface| export.contains(interface)))
    }
}

fn check_header(bytes: &[u8]) -> Result<()> {
    if bytes.is_empty() {
        bail!("it is empty");
    }
    if bytes.trim_ascii_start().starts_with(b"(") {
        bail!("it looks like the text form: make a binary of it with `wasm-tools parse` or `wat2wasm`");
    }
    if bytes.starts_with(b"!<arch>") {
        bail!("it is an archive of object files, which are still to be linked: give the linker's output");
    }
    match Parser::new(0).parse_all(bytes).next() {
        Some(Ok(Payload::Version { encoding: Encoding::Module, .. })) => Ok(()),
        Some(Ok(Payload::Version { encoding: Encoding::Component, .. })) => {
            bail!("it is a component already, so there is nothing to do: `wharf check` says whether it is a provider")
        }
        _ => bail!("it is not a WebAssembly file: give what the compiler has made for a wasm32-wasi target"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(bytes: &[u8]) -> String {
        format!("{:#}", CoreModule::parse(bytes).err().unwrap())
    }

    #[test]
    fn what_is_no_core_module_is_refused_with_what_it_is() {
        assert!(error(b"").contains("empty"));
        assert!(error(b"\x7fELF").contains("not a WebAssembly file"));
        assert!(error(b"\0asm").contains("not a WebAssembly file"));
        assert!(error(b"  (module)").contains("text form"));
        assert!(error(b"!<arch>\n").contains("linked"));
        assert!(error(b"\0asm\x0d\0\x01\0").contains("a component already"));
        let object = wat::parse_str("(module (@custom \"linking\" \"\\02\"))").unwrap();
        assert!(error(&object).contains("object file"));
        let whole = wat::parse_str("(module (func (export \"f\")))").unwrap();
        assert!(error(&whole[..whole.len() - 1]).contains("cut off"));
        let wrong = wat::parse_str("(module (func (export \"f\") (result i32)))").unwrap();
        assert!(error(&wrong).contains("not a valid module"));
    }

    #[test]
    fn imports_exports_and_languages_are_told() {
        let bytes = wat::parse_str(
            r#"(module (import "a" "b" (func)) (func (export "wharf:provider/subscriptions@0.1.0#subscribe"))
                (@producers (language "C11" "")))"#,
        )
        .unwrap();
        let module = CoreModule::parse(&bytes).unwrap();
        assert_eq!((&*module.imports, &*module.languages), (&[("a", "b")][..], &["C11".to_owned()][..]));
        assert!(module.lives() && module.world.is_none());
    }
}
