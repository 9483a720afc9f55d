//! How messages travel.
