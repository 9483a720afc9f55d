//! Functions that wait for something the host was asked for, by name: of a timer, a watch, a fetch.
//!
//! Invariants: a name has one function, the newest; none is called while the table is borrowed, so a function may start and end others,
//! and itself.

use std::{
    any::{Any, TypeId},
    cell::{Cell, RefCell},
    mem::ManuallyDrop,
    rc::Rc,
    thread::LocalKey,
};

use crate::error::{Error, Result};

/// What is called: it is given the provider's state and what came.
pub(crate) type Callback<S, A> = Rc<dyn Fn(&mut S, A)>;

/// The functions of one kind. Never dropped: a component ends without ado, and is the smaller for it.
pub(crate) type Table = ManuallyDrop<RefCell<Vec<Waiting>>>;

pub(crate) struct Waiting {
    name: String,
    /// It is called once.
    once: bool,
    /// A [`Callback`]. Of what state is known to who put it there; here there are many types, and one in fact.
    callback: Box<dyn Any>,
}

thread_local! {
    /// What the provider's state is.
    static STATE: Cell<Option<TypeId>> = const { Cell::new(None) };
}

pub(crate) const fn table() -> Table {
    ManuallyDrop::new(RefCell::new(Vec::new()))
}

/// From now on functions that take another state are refused.
pub(crate) fn expect<S: 'static>() {
    STATE.set(Some(TypeId::of::<S>()));
}

/// The function waits under this name once `start` has succeeded.
pub(crate) fn put<S: 'static, A: 'static>(
    table: &'static LocalKey<Table>,
    name: &str,
    once: bool,
    start: impl FnOnce() -> Result<()>,
    callback: impl Fn(&mut S, A) + 'static,
) -> Result<()> {
    if STATE.get().is_some_and(|state| state != TypeId::of::<S>()) {
        return Err(Error::Failed(name.to_owned() + ": its function takes another state than this provider's"));
    }
    start()?;
    remove(table, name);
    let callback: Callback<S, A> = Rc::new(callback);
    let waiting = Waiting { name: name.to_owned(), once, callback: Box::new(callback) };
    table.with(|table| table.borrow_mut().push(waiting));
    Ok(())
}

/// The function of this name. One that is called once does not wait any more.
pub(crate) fn get<S: 'static, A: 'static>(table: &'static LocalKey<Table>, name: &str) -> Option<Callback<S, A>> {
    table.with(|table| {
        let mut table = table.borrow_mut();
        let at = table.iter().position(|waiting| waiting.name == name)?;
        let callback = table[at].callback.downcast_ref::<Callback<S, A>>().cloned();
        if table[at].once {
            table.swap_remove(at);
        }
        callback
    })
}

/// Nothing waits under this name any more.
pub(crate) fn remove(table: &'static LocalKey<Table>, name: &str) {
    table.with(|table| table.borrow_mut().retain(|waiting| waiting.name != name));
}
