//! Host and path to what answers them.

pub mod custom_hostnames;
pub mod gateway;
pub mod hosts;

pub use custom_hostnames::{CustomHostnames, HostnameSite};
pub use gateway::GatewayPath;
pub use hosts::Hosts;
