//! The protocol without a transport.
