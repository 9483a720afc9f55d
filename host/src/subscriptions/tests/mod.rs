//! The laws of design §3, each by its name: those that the reducer keeps on the reducer itself, the others through the driver, and all of
//! them together on random histories.

mod alone;
mod driven;
mod history;
mod laws;
mod laws_driven;
mod player;
mod search;
mod views;
mod world;
