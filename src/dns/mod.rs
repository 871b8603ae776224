//! Names. The authoritative server will live here; so far: what a host name is.

pub mod name;

pub use name::HostName;
