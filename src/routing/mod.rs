//! Host and path to what answers them.

pub mod gateway;
pub mod hosts;

pub use gateway::GatewayPath;
pub use hosts::Hosts;
