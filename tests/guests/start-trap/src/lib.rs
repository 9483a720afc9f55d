//! Traps while it is instantiated, before any export is called.

wit_bindgen::generate!({ path: "../../../wit", world: "wharf:provider/provider" });

use exports::wharf::provider::resources::{Guest, ReadRequest, Reading};
use wharf::provider::types::{Error, ResourcePage, TemplateInfo};

struct StartTrap;
export!(StartTrap);

extern "C" fn trap() {
    panic!("at the start")
}

#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = trap;

impl Guest for StartTrap {
    fn list(_cursor: Option<String>) -> Result<ResourcePage, Error> {
        Err(Error::NotFound)
    }

    fn templates() -> Result<Vec<TemplateInfo>, Error> {
        Err(Error::NotFound)
    }

    fn read(_request: ReadRequest) -> Result<Option<Reading>, Error> {
        Err(Error::NotFound)
    }
}
