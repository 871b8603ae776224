//! The bare Pingora proxy with the allocator of Portcullis.

#[path = "bare_pingora.rs"]
mod bare_pingora;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    bare_pingora::main();
}
