//! Functions that wait for something the host was asked for, by name: of a timer, a watch, a fetch.
//!
//! Invariants: a name has one function, the newest; none is called while the table is borrowed, so a function may start and end others,
//! and itself.

use std::{
    any::{Any, TypeId},
    cell::{Cell, RefCell},
    rc::Rc,
    thread::LocalKey,
};

use crate::error::{Error, Result};

/// What is called: it is given the provider's state and what came.
pub(crate) type Callback<S, A> = Rc<dyn Fn(&mut S, A)>;

/// The functions of one kind. What each is of is known to who put it there; here there are many types, and one in fact.
pub(crate) type Table = RefCell<Vec<(String, Box<dyn Any>)>>;

thread_local! {
    /// What the provider's state is.
    static STATE: Cell<Option<TypeId>> = const { Cell::new(None) };
}

/// From now on functions that take another state are refused.
pub(crate) fn expect<S: 'static>() {
    STATE.set(Some(TypeId::of::<S>()));
}

/// The function waits under this name once `start` has succeeded.
pub(crate) fn put<S: 'static, A: 'static>(
    table: &'static LocalKey<Table>,
    name: &str,
    start: impl FnOnce() -> Result<()>,
    callback: impl Fn(&mut S, A) + 'static,
) -> Result<()> {
    if STATE.get().is_some_and(|state| state != TypeId::of::<S>()) {
        return Err(Error::failed(format!("the function for {name:?} takes another state than this provider's")));
    }
    start()?;
    let callback: Callback<S, A> = Rc::new(callback);
    table.with_borrow_mut(|table| {
        table.retain(|(known, _)| known != name);
        table.push((name.to_owned(), Box::new(callback)));
    });
    Ok(())
}

/// The function of this name; `once`: it does not wait any more.
pub(crate) fn get<S: 'static, A: 'static>(
    table: &'static LocalKey<Table>,
    name: &str,
    once: impl FnOnce(&str) -> bool,
) -> Option<Callback<S, A>> {
    table.with_borrow_mut(|table| {
        let at = table.iter().position(|(known, _)| known == name)?;
        let callback = table[at].1.downcast_ref::<Callback<S, A>>().cloned();
        if once(name) {
            table.swap_remove(at);
        }
        callback
    })
}

/// Nothing waits under this name any more.
pub(crate) fn remove(table: &'static LocalKey<Table>, name: &str) {
    table.with_borrow_mut(|table| table.retain(|(known, _)| known != name));
}
