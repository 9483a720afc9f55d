//! Against repositories that git itself makes, and what git itself says of them.

mod fixture;
mod hostile;
mod random;
mod reading;
mod status;
