//! A cursor, as a client sends it.

use wharf::catalog::Caller;

use crate::world::World;

pub fn run(data: &[u8]) {
    let Ok(cursor) = std::str::from_utf8(data) else { return };
    World::with(|world| {
        let catalog = world.host.catalog();
        for answer in [
            world.block_on(catalog.resources(&Caller::anyone(), Some(cursor))).map(|page| page.list.resources.len()),
            world.block_on(catalog.templates(&Caller::anyone(), Some(cursor))).map(|page| page.list.templates.len()),
        ] {
            assert!(answer.is_err(), "a cursor that was never given: {cursor:?}");
        }
    });
}
